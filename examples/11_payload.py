"""
Payload estimation
==================

The mass of every pick, with its standard deviation, from the angles and torques of the drives.
"""

# %%
# Identify the robot, estimate the noise from an empty run, then record the picks.

import matplotlib.pyplot as plt
import numpy as np

import deltadyn as dd
from deltadyn.payload import NoiseModel, PayloadEstimator, find_picks
from deltadyn.payload.bench import pick_plan

robot = dd.load_robot("sipro-d3-1200")
drive = dd.PDFeedforward(robot)


def record(motion: dd.Motion, seed: int, payload: tuple = ()) -> dd.Recording:
    """A log of the bench's lab machine."""
    return dd.simulate(robot, motion, drive, preset="lab", seed=seed, payload=payload).recording


fit = dd.identify(robot, record(dd.motion.y2(robot), seed=1), "base")
plan = pick_plan(robot, 6, seed=3, masses=(0.3, 3.0))
noise = NoiseModel.of(fit, record(plan.motion, seed=2))
log = record(plan.motion, seed=3, payload=plan.payload)

# %%
# Sample by sample, as in a controller. An update takes some microseconds in Python, and a tenth of
# one in the exported C.

estimator = PayloadEstimator(fit, noise=noise)
mass, std = np.zeros(len(log)), np.zeros(len(log))
for row, (t, q, tau) in enumerate(zip(log.t, log.q, log.tau, strict=True)):
    estimator.update(q, None, None, tau, t=float(t))
    mass[row], std[row] = estimator.mass, estimator.std
    if estimator.event:
        print(f"{t:.3f} s: {estimator.event}, {estimator.mass:.2f} kg +- {estimator.std:.2f}")

# %%
# Estimate and truth. The band is two standard deviations.

truth = np.zeros(len(log))
for cycle in plan.cycles:
    truth[(log.t >= cycle.pick) & (log.t < cycle.end)] = cycle.mass
sure = np.where(std < 1.0, std, np.nan)

figure, axes = plt.subplots(figsize=(7.2, 3.6))
axes.fill_between(log.t, mass - 2 * sure, mass + 2 * sure, color="tab:blue", alpha=0.25, lw=0)
axes.plot(log.t, mass, color="tab:blue", label="estimate")
axes.plot(log.t, truth, color="black", ls="--", lw=1, label="truth")
axes.set(xlabel="time (s)", ylabel="kg", title="Payload of six picks", ylim=(-0.4, None))
axes.legend()
plt.show()

# %%
# The same log off-line, with all samples of each pick:

picks = find_picks(fit, log, noise=noise)
print(picks.table)
print("true:", ", ".join(f"{cycle.mass:.3f}" for cycle in plan.cycles), "kg")
