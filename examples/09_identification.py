"""
Identification
==============

Identify a machine that differs from its data sheet, and validate the fit on a held-out motion.
"""

# %%
# The virtual bench replaces the machine: elastic gears, ripple, unequal arms, unknown friction,
# noise.

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np

import deltadyn as dd
from deltadyn.validation import compare

robot = dd.load_robot("sipro-d3-1200")  # the data sheet: no rotors, no friction
exc = dd.design_excitation(robot, duration=4.0, harmonics=3, periods=5, starts=1, jobs=1)


def record(motion: dd.Motion, seed: int) -> dd.Recording:
    """The log of an industrial machine."""
    drive = dd.PDFeedforward(robot)
    run = dd.simulate(robot, motion, controller=drive, preset="industrial", seed=seed)
    return run.recording


training = record(exc.motion, seed=1)
held_out = record(dd.motion.y1(robot), seed=2)

# %%
# The table has values, deviations and the robot file's values. The default method finds the
# certified optimum over all physically possible robots.

fit = dd.identify(robot, training, tied="auto", validation=held_out)
print(fit.table)
print(fit.status, fit.uncertainty.status, fit.limbs, sep="\n")

# %%
# Validation on held-out motion: the verdict, then the numbers.

val = dd.validate(fit, held_out)
print(val)

# %%
# Compare two models, with a test of whether the difference is significant.

both = compare({"data sheet": robot, "identified": fit}, held_out)
print(both.verdict)

figure, axes = plt.subplots(2, sharex=True, figsize=(7.2, 4.8), height_ratios=[2, 1])
one = both["identified"]
part = one.t < one.t[0] + 1.5
axes[0].plot(one.t[part], one.measured[part, 0], color="black", lw=2, label="measured")
for name, color in (("data sheet", "tab:orange"), ("identified", "tab:blue")):
    one = both[name]
    axes[0].plot(one.t[part], one.torque[part, 0], color=color, lw=1.2, label=name)
    axes[1].plot(one.t[part], one.residual[part, 0], color=color, lw=1.2)
axes[0].set(ylabel="torque (N m)", title=f"Drive 1 on held-out motion, below {one.band:.0f} Hz")
axes[0].legend(ncols=3, fontsize="small")
axes[1].set(xlabel="time (s)", ylabel="residual (N m)")
plt.show()

# %%
# 95 % intervals of the parameters, relative to their values:

interval = fit.uncertainty.interval(0.95)
width = 100 * (interval - fit.values[:, None]) / np.abs(fit.values[:, None])
figure, axes = plt.subplots(figsize=(7.2, 3.4))
count = range(len(fit.names))
axes.errorbar(count, np.zeros(len(count)), np.abs(width.T), fmt="o", capsize=4, color="tab:blue")
axes.set_xticks(count, fit.names, rotation=45 if len(count) > 12 else 0)
axes.set(ylabel="% of the value", title="95 % intervals")
plt.show()

# %%
# Other commands take the robot file; the JSON holds all numbers and their provenance.

folder = Path(mkdtemp())
for path in (*fit.save(folder / "identified"), fit.report(folder / "identified.html")):
    print(path.name, f"{path.stat().st_size / 1e3:.0f} kB")
