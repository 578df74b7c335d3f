"""
Leading the robot by hand
=========================

A hand pushes the platform; the estimated force moves the robot, which behaves like a small mass
with drag. Below what friction holds at rest it does not notice the hand.
"""

# %%
# The machine is identified, and an empty run tells the observer its deviation.

import matplotlib.pyplot as plt
import numpy as np

import deltadyn as dd
from deltadyn.force import ForceObserver, Tare
from deltadyn.simulation import HandGuiding, PDFeedforward, simulate

robot = dd.load_robot("sipro-d3-1200")
preset = "industrial"
logs = [
    simulate(robot, motion, preset=preset, seed=seed).recording
    for seed, motion in enumerate((dd.motion.y2(robot), dd.motion.y1(robot)))
]
fit = dd.identify(robot, logs, "base")
empty = [
    simulate(
        robot, dd.motion.y1(robot), PDFeedforward(fit.robot), preset=preset, seed=seed
    ).recording
    for seed in range(10, 16)
]
observer = ForceObserver(fit, Tare.of(fit, empty))

# %%
# The robot waits in its workspace. At rest friction holds a push that is less than the friction of
# an axis over its lever. A force within three deviations of the observer moves nothing either: at
# rest they count what friction may hold, in motion they are smaller.

start = np.array([0.0, 0.0, -0.78])
t = np.arange(1400) / 2000
waiting = dd.Motion.from_platform(robot, t, np.tile(start, (len(t), 1)))
guiding = HandGuiding(fit.robot, observer, mass=4.0, drag=60.0)
x, y, z = guiding.held(start)
print(f"held at rest along x, y, z: {x:.0f}, {y:.0f}, {z:.0f} N")


# %%
# Pushes of half a second along x, from 15 to 60 N.


def push(size: float) -> dd.simulation.Run:
    """The robot while a hand pushes with this force (N) from 0.1 to 0.6 s."""

    def hand(t: float) -> list[float]:
        return [size if 0.1 < t < 0.6 else 0.0, 0.0, 0.0]

    return simulate(robot, waiting, guiding, preset=preset, external_force=hand, seed=3)


runs = {size: push(size) for size in (15.0, 20.0, 30.0, 60.0)}
for size, run in runs.items():
    way = 1e3 * (run.truth.p - start)
    aside = np.abs(way[:, 1:]).max()
    speed = np.abs(np.gradient(run.truth.p[:, 0], t)).max()
    print(f"{size:3.0f} N: {way[-1, 0]:6.1f} mm, {aside:4.1f} mm aside, up to {speed:.2f} m/s")

# %%
# The hand leads the robot at (force - band) / drag, at most 0.5 m/s, and leaves it where it stops.

figure, axes = plt.subplots(figsize=(7.2, 3.6))
for size, run in runs.items():
    axes.plot(t, 1e3 * run.truth.p[:, 0], label=f"{size:.0f} N")
axes.axvspan(0.1, 0.6, color="tab:grey", alpha=0.15, lw=0)
axes.set(xlabel="time (s)", ylabel="mm", title="Way of the platform along x")
axes.legend()
plt.show()
