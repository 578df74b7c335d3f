"""
The equations of motion
=======================

M, C, g and f along a move of a robot with a spindle, the regressor, and forward dynamics.
"""

# %%
# The ABB IRB 360 of the catalogue has four axes: three arms and a telescopic spindle that turns
# the gripper.

import matplotlib.pyplot as plt
import numpy as np

import deltadyn as dd

robot = dd.load_robot("abb-irb360-6-1600")
low = robot.limits.workspace.z_min
move = dd.motion.gate_move(
    robot, [-0.2, 0, low + 0.1, 0], [0.2, 0.1, low + 0.1, 1.5], lift=0.05, duration=0.5
)

eom = dd.equations_of_motion(robot, move)
tau = np.einsum("nij,nj->ni", eom.M, move.qdd) + eom.c + eom.g + eom.f
print("M at the start (kg m^2):\n", eom.M[0].round(4))

# %%
# The parts of the torque of drive 1. On a fast move inertia is the largest, friction the next.

inertia = np.einsum("nij,nj->ni", eom.M, move.qdd)
figure, axes = plt.subplots(figsize=(7.2, 3.6))
for name, part in (("M qdd", inertia), ("C qd", eom.c), ("g", eom.g), ("friction", eom.f)):
    axes.plot(move.t, part[:, 0], label=name)
axes.plot(move.t, tau[:, 0], color="black", lw=1.8, label="torque")
axes.set(xlabel="time (s)", ylabel="N m", title="Parts of the torque of drive 1")
axes.legend(ncols=5, fontsize="small", loc="upper left")
axes.set_ylim(top=1.6 * tau[:, 0].max())
plt.show()

# %%
# The torque is linear in a few base parameters. Only these are identifiable from a log.

reg = dd.regressor(robot, move)
for name, unit, value in zip(reg.names, reg.units, reg.parameters, strict=True):
    print(f"  {name:<14}{value:>10.4f} {unit}")
print("largest |Y parameters - tau|:", f"{np.abs(reg.Y @ reg.parameters - tau).max():.1e} N m")

# %%
# Forward dynamics gives the accelerations of these torques.

moving = np.abs(move.qd).min(axis=1) > 0  # where no axis sticks
qdd = dd.forward_dynamics(robot, move.q[moving], move.qd[moving], tau[moving])
print("largest |qdd - given|:", f"{np.abs(qdd - move.qdd[moving]).max():.1e} rad/s^2")
