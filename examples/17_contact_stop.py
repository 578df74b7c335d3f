"""
A stop on contact
=================

The robot runs into a wall. The force observer raises an alarm, the controller brakes along its path
and lets go. This is no safety function: it is not redundant, and a stiff wall is faster.
"""

# %%
# The machine is identified, and an empty run tells the observer what is no contact.

import matplotlib.pyplot as plt
import numpy as np

import deltadyn as dd
from deltadyn.force import ForceObserver, Tare
from deltadyn.simulation import ContactStop, PDFeedforward, Wall, simulate

robot = dd.load_robot("sipro-d3-1200")
preset = "industrial"
logs = [
    simulate(robot, motion, preset=preset, seed=seed).recording
    for seed, motion in enumerate((dd.motion.y2(robot), dd.motion.y1(robot)))
]
fit = dd.identify(robot, logs, "base")
law = PDFeedforward(fit.robot)
empty = [
    simulate(robot, dd.motion.y1(robot), law, preset=preset, seed=seed).recording
    for seed in range(10, 16)
]
observer = ForceObserver(fit, Tare.of(fit, empty))

# %%
# A straight move along x, and a wall in its middle, where the platform has its full speed.


def across(speed: float, length: float = 0.2) -> dd.Motion:
    """Along x with this speed (m/s) in the middle, then 0.15 s of rest."""
    seconds = 1.875 * length / speed
    t = np.arange(round((seconds + 0.15) * 2000)) / 2000
    u = np.clip(t / seconds, 0, 1)
    p = np.zeros((len(t), 3))
    p[:, 0] = length * (10 * u**3 - 15 * u**4 + 6 * u**5 - 0.5)
    p[:, 2] = -0.75
    return dd.Motion.from_platform(robot, t, p)


def wall(stiffness: float) -> Wall:
    """A wall of this stiffness (N/m) at x = 0."""
    return Wall(point=(0, 0, 0), normal=(-1, 0, 0), stiffness=stiffness)


# %%
# With and without the stop: peak force, how deep the platform gets, and what is pressed at the end.

controllers = {
    "no stop": law,
    "stop, hold": ContactStop(law, observer, retreat=0),
    "stop, let go": ContactStop(law, observer),
}
runs = {}
print("wall, speed             controller     alarm ms   peak N   depth mm   end N")
for stiffness, speed in ((10e3, 0.5), (30e3, 1.0), (100e3, 2.0)):
    for name, controller in controllers.items():
        run = simulate(
            robot,
            across(speed),
            controller,
            preset=preset,
            external_force=wall(stiffness),
            seed=5,
        )
        runs[stiffness, name] = run
        force = -run.truth.force[:, 0]
        touch = run.truth.t[np.argmax(force > 0)]
        alarm = "-"
        if name != "no stop" and observer.contact is not None:
            alarm = f"{1e3 * (observer.contact.time - touch):.0f}"
        depth = 1e3 * wall(stiffness).depth(run.truth.p).max()
        row = f"{stiffness / 1e3:4.0f} N/mm, {speed:3.1f} m/s      {name:<14}"
        print(f"{row}{alarm:>9}{force.max():9.0f}{depth:11.1f}{force[-1]:8.0f}")

# %%
# The force on the wall of 30 N/mm at 1 m/s.

figure, axes = plt.subplots(figsize=(7.2, 3.6))
for name, color in zip(controllers, ("tab:grey", "tab:orange", "tab:blue"), strict=True):
    run = runs[30e3, name]
    axes.plot(run.truth.t, -run.truth.force[:, 0], color=color, label=name)
axes.set(xlabel="time (s)", ylabel="N", title="Force on a wall of 30 N/mm, met at 1 m/s")
axes.legend()
plt.show()
