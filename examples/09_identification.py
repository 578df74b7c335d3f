"""
From a log to a robot
=====================

An excitation, the log of a machine that is not like its data sheet, the fit, and its judgement on a
motion that the fit has not seen.
"""

# %%
# The virtual bench stands in for the machine: elastic gears, ripple, unequal arms, friction that
# nobody told, noise.

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np

import deltadyn as dd
from deltadyn.validation import compare

robot = dd.load_robot("sipro-d3-1200")  # what the data sheet says: no rotors, no friction
exc = dd.design_excitation(robot, duration=4.0, harmonics=3, periods=5, starts=1, jobs=1)


def record(motion: dd.Motion, seed: int) -> dd.Recording:
    """The log of an industrial machine."""
    drive = dd.PDFeedforward(robot)
    run = dd.simulate(robot, motion, controller=drive, preset="industrial", seed=seed)
    return run.recording


training = record(exc.motion, seed=1)
held_out = record(dd.motion.y1(robot), seed=2)

# %%
# The fit says what it found, how sure it is, what it was before, and how it ended. The method is
# the default, the certified optimum over all robots whose bodies can exist.

fit = dd.identify(robot, training, tied="auto", validation=held_out)
print(fit.table)
print(fit.status, fit.uncertainty.status, fit.limbs, sep="\n")

# %%
# On held-out motion. The verdict is in words; the numbers follow.

val = dd.validate(fit, held_out)
print(val)

# %%
# Two models beside each other, and whether the difference is beyond chance.

both = compare({"data sheet": robot, "identified": fit}, held_out)
print(both.verdict)

figure, axes = plt.subplots(2, sharex=True, figsize=(7.2, 4.8), height_ratios=[2, 1])
part = val.t < val.t[0] + 1.5
axes[0].plot(val.t[part], val.measured[part, 0], color="black", lw=2, label="measured")
for name, color in (("data sheet", "tab:orange"), ("identified", "tab:blue")):
    one = both[name]
    axes[0].plot(one.t[part], one.torque[part, 0], color=color, lw=1.2, label=name)
    axes[1].plot(one.t[part], one.residual[part, 0], color=color, lw=1.2)
axes[0].set(ylabel="torque (N m)", title=f"Drive 1 on held-out motion, below {val.band:.0f} Hz")
axes[0].legend(ncols=3, fontsize="small")
axes[1].set(xlabel="time (s)", ylabel="residual (N m)")
plt.show()

# %%
# What a log cannot tell is told before the fit. Parameters with their 95 % intervals, relative to
# their values:

interval = fit.uncertainty.interval(0.95)
width = 100 * (interval - fit.values[:, None]) / np.abs(fit.values[:, None])
figure, axes = plt.subplots(figsize=(7.2, 3.4))
count = range(len(fit.names))
axes.errorbar(count, np.zeros(len(count)), np.abs(width.T), fmt="o", capsize=4, color="tab:blue")
axes.set_xticks(count, fit.names, rotation=45 if len(count) > 12 else 0)
axes.set(ylabel="% of the value", title="95 % intervals")
plt.show()

# %%
# Every other command takes the robot file; the JSON holds all numbers and where they come from.

folder = Path(mkdtemp())
for path in (*fit.save(folder / "identified"), fit.report(folder / "identified.html")):
    print(path.name, f"{path.stat().st_size / 1e3:.0f} kB")
