"""
Feedforward
===========

Tracking error of the same motion on the same machine with feedback alone, with feedforward of the
data sheet's torque, and with feedforward of the identified model.
"""

# %%
# A fit from one log of the machine, then three controllers with the same gains.

import matplotlib.pyplot as plt
import numpy as np

import deltadyn as dd
from deltadyn.simulation import PD, PDFeedforward, simulate
from deltadyn.validation import predicted_tracking

robot = dd.load_robot("sipro-d3-1200")
log = simulate(robot, dd.motion.y1(robot), preset="industrial", seed=1).recording
fit = dd.identify(robot, log)

motion = dd.motion.adept_cycle(robot, cycles_per_minute=150)
pd = PD(robot)
same = {"stiffness": pd.stiffness, "damping": pd.damping}
controllers = {
    "feedback alone": pd,
    "data sheet": PDFeedforward(robot, **same),
    "identified, half-half": PDFeedforward(fit.robot, "half-half", **same),
    "identified, exact": PDFeedforward(fit.robot, **same),
    "the same, 1 ms early": PDFeedforward(fit.robot, lead=0.001, **same),
}

# %%
# Tracking error of the arms on an Adept cycle at 150 per minute, on the ``industrial`` bench.

runs = {
    name: simulate(robot, motion, law, preset="industrial") for name, law in controllers.items()
}
for name, run in runs.items():
    error = 1e3 * np.sqrt(np.mean(run.tracking_error**2, axis=0))
    print(f"{name:<24}" + "".join(f"{x:8.2f}" for x in error) + "  mrad RMS")

figure, axes = plt.subplots(figsize=(7.2, 3.6))
colors = ("tab:grey", "tab:orange", "tab:green", "tab:blue")
for (name, run), color in zip(runs.items(), colors, strict=False):
    axes.plot(run.truth.t, 1e3 * run.tracking_error[:, 0], color=color, label=name)
axes.set(xlabel="time (s)", ylabel="mrad", title="Tracking error of arm 1")
axes.legend(ncols=2, fontsize="small")
plt.show()

# %%
# Before deployment: the tracking error predicted from the fit and its covariance.

benefit = predicted_tracking(fit, motion, preset="industrial")
print(benefit)
