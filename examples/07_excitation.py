"""
Excitation
==========

Design the motion that excites the parameters best within all limits of the robot, and predict the
standard deviation of each parameter before the robot moves.
"""

# %%
# A short design for this page: 4 s, three harmonics, one start. For a real robot use the defaults:
# 10 s, five harmonics, four starts per number of periods.

import matplotlib.pyplot as plt
import numpy as np

import deltadyn as dd

robot = dd.load_robot("sipro-d3-1200")
exc = dd.design_excitation(robot, duration=4.0, harmonics=3, periods=5, starts=1, jobs=1)
print(exc)

# %%
# Predicted standard deviations against those of a typical random motion as wide as the limits
# allow.

figure, axes = plt.subplots(figsize=(7.2, 3.4))
names = [item.name for item in exc.parameters]
gain = [item.before / item.std for item in exc.parameters]
bars = axes.bar(names, gain, color="tab:blue")
axes.bar_label(bars, fmt="%.1f", fontsize="small")
axes.axhline(1, color="black", lw=0.8)
axes.set(ylabel="ratio of standard deviations", title="Designed motion against a random one")
plt.show()

# %%
# The motion has whole periods, with ramps from and to rest.

figure, (path, speed) = plt.subplots(1, 2, figsize=(8.6, 3.6), layout="constrained")
m = exc.motion
steady = (m.t >= exc.ramp) & (m.t <= exc.ramp + exc.duration / exc.periods)
path.plot(m.p[:, 0], m.p[:, 1], color="lightgrey", lw=0.8)
path.plot(m.p[steady, 0], m.p[steady, 1], color="tab:blue", lw=1.6)
path.set(xlabel="x (m)", ylabel="y (m)", aspect="equal", title="One period from above")
speed.plot(m.t, np.linalg.norm(m.pd, axis=1), lw=1.2)
speed.axhline(0.9 * robot.limits.platform_speed, color="black", ls=":", lw=1)
speed.set(xlabel="time (s)", ylabel="m/s", title="Speed of the platform; dots: 90 % of its limit")
plt.show()

# %%
# ``exc.save("excite.csv", rate=500, angle_unit="deg")`` writes it in the controller's signs and
# offsets. On the command line: ``deltadyn excite sipro-d3-1200``.
