"""M, C, g and f along a move, a regressor, and forward dynamics that gives the motion back."""

import numpy as np

import deltadyn as dd

robot = dd.load_robot("abb-irb360-6-1600")  # 4-DOF, with spindle and friction
low = robot.limits.workspace.z_min
move = dd.motion.gate_move(
    robot, [-0.2, 0, low + 0.1, 0], [0.2, 0, low + 0.1, 1.5], lift=0.05, duration=0.5
)

eom = dd.equations_of_motion(robot, move)
tau = np.einsum("nij,nj->ni", eom.M, move.qdd) + eom.c + eom.g + eom.f
print("M at the start (kg m^2):\n", eom.M[0].round(4))

reg = dd.regressor(robot, move)
for name, unit, value in zip(reg.names, reg.units, reg.parameters, strict=True):
    print(f"  {name:<14}{value:>10.4f} {unit}")
print("largest |Y parameters - tau|:", f"{np.abs(reg.Y @ reg.parameters - tau).max():.1e} N m")

moving = np.abs(move.qd).min(axis=1) > 0  # where no axis sticks
qdd = dd.forward_dynamics(robot, move.q[moving], move.qd[moving], tau[moving])
print("largest |qdd - given|:", f"{np.abs(qdd - move.qdd[moving]).max():.1e} rad/s^2")
