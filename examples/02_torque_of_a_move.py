"""
The torque of a move
====================

Drive torques of a pick-and-place move, by the exact model and by the half-half model that most
controllers use.
"""

# %%
# A gate-shaped move of 0.4 s with one kilogram. A motion holds times, joint angles and platform
# positions with their rates.

import matplotlib.pyplot as plt
import numpy as np

import deltadyn as dd

robot = dd.load_robot("sipro-d3-1200").with_payload(1.0)  # kg
move = dd.motion.gate_move(robot, [-0.2, 0, -0.8], [0.2, 0.1, -0.8], lift=0.05, duration=0.4)

tau = dd.inverse_dynamics(robot, move)  # (N, 3), N m
half = dd.inverse_dynamics(robot, move, model="half-half")

print(f"{robot.name}, {robot.payload.mass} kg, {len(move)} samples in {move.duration} s")
print("peak torque   ", np.abs(tau).max(axis=0).round(2), "N m")
print("RMS torque    ", np.sqrt((tau**2).mean(axis=0)).round(2), "N m")
print("half-half off ", np.sqrt(((half - tau) ** 2).mean(axis=0)).round(2), "N m RMS")

# %%
# The half-half model puts half of each strut's mass at its ends. Mass and centre of mass are
# correct, the strut's inertia is not; this is the difference below.

figure, (above, below) = plt.subplots(2, sharex=True, figsize=(7.2, 4.6), height_ratios=[2, 1])
for axis, color in enumerate(("tab:blue", "tab:orange", "tab:green")):
    above.plot(move.t, tau[:, axis], color=color, label=f"drive {axis + 1}")
    above.plot(move.t, half[:, axis], color=color, ls="--", lw=1)
    below.plot(move.t, half[:, axis] - tau[:, axis], color=color)
above.plot([], [], color="black", ls="--", lw=1, label="half-half")
above.set(ylabel="torque (N m)", title="Exact model, and half-half as dashes")
above.legend(ncols=4, fontsize="small")
below.set(xlabel="time (s)", ylabel="difference (N m)")
plt.show()

# %%
# ``check_motion`` checks the move against every limit of the robot file.

print(dd.motion.check_motion(robot, move))
