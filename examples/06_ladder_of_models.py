"""
The ladder of models
====================

The torque error of each model against the exact one, on your robot and your motion.
"""

# %%
# The ladder runs all models on one motion, without friction, which is the same in all.

import matplotlib.pyplot as plt
import numpy as np

import deltadyn as dd
from deltadyn.reproduce.ladder import ladder, pick_and_place

robots = [dd.load_robot(name) for name in ("sipro-d3-1200", "telescopic-delta")]
rungs = {}
for robot in robots:
    found = ladder(robot, pick_and_place(robot), name="pick-and-place move")
    rungs[robot.name] = found
    print(found, end="\n\n")

# %%
# Errors in per cent of the torque. ``rigid`` agrees to rounding: with thin struts it is the same
# physics in ten parameters per body. The simplified models miss a sixth of the torque on the first
# robot, and more on the second, where they leave out the telescope's rotation.

figure, axes = plt.subplots(figsize=(7.2, 3.6))
names = [rung.model for rung in found.rungs if rung.model != "exact"]
for shift, (robot, color) in enumerate(zip(robots, ("tab:blue", "tab:orange"), strict=True)):
    table = rungs[robot.name]
    errors = [100 * rung.rms_arms / table.torque_rms_arms for rung in table.rungs]
    place = np.arange(len(names)) + 0.38 * (shift - 0.5)
    bars = axes.barh(place, errors[1:], height=0.36, color=color, label=robot.name)
    axes.bar_label(bars, fmt="%.1f", padding=3, fontsize="small")
axes.set_yticks(range(len(names)), names)
axes.invert_yaxis()
axes.set(xlabel="RMS error, % of the RMS torque", title="Each model against the exact one")
axes.margins(x=0.12)
axes.legend(loc="lower right")
plt.show()

# %%
# Both models lack the coupling mass m_x between elbow and platform, and this error grows with the
# acceleration. Half-half also assumes a uniform arm; the error of its weight remains on slow
# motion.

robot = robots[0]
times = np.array([0.25, 0.3, 0.4, 0.6, 0.9, 1.4])
figure, axes = plt.subplots(figsize=(7.2, 3.2))
for name in ("half-half", "virtual-work"):
    error = []
    for duration in times:
        move = pick_and_place(robot, duration=float(duration))
        exact, other = (dd.inverse_dynamics(robot, move, model) for model in ("exact", name))
        error.append(np.sqrt(np.mean((other - exact) ** 2)))
    axes.loglog(times, error, "o-", label=name)
axes.set(xlabel="duration of the move (s)", ylabel="RMS error (N m)")
axes.set_xticks(times, [f"{value:g}" for value in times])
axes.set_xticks([], minor=True)
axes.legend()
plt.show()
