"""The drive torques of a pick-and-place move, by the exact model and by a simplified one."""

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
