"""
Kinematics, workspace and singular poses
========================================

Inverse and forward kinematics in closed form, the workspace, and the margin to singular poses.
"""

# %%
# Inverse and forward kinematics
# ------------------------------
# A robot is a catalogue name or the path of a robot file. Every function takes one pose or many:
# samples first, coordinates last.

import matplotlib.pyplot as plt
import numpy as np

import deltadyn as dd

robot = dd.load_robot("sipro-d3-1200")

p = np.array([[0.1, -0.2, -0.8], [0.0, 0.3, -0.75]])  # m
q = dd.inverse_kinematics(robot, p)  # rad, 0 is horizontal, positive is down
back = dd.forward_kinematics(robot, q)
print("arm angles, degrees:\n", np.degrees(q).round(2))
print("largest |FK(IK(p)) - p|:", f"{np.abs(back - p).max():.1e} m")
print("J at the first pose, m/rad:\n", dd.jacobian(robot, p[0]).round(3))

# %%
# A pose out of reach raises an error that names it. ``unreachable="nan"`` gives NaN instead.

try:
    dd.inverse_kinematics(robot, [0.0, 0.9, -0.8])
except dd.DeltadynError as error:
    print("error:", error)

# %%
# The workspace
# -------------
# The reachable volume within the limits of the robot file, and the maker's working cylinder.

space = dd.kinematics.workspace(robot)
cylinder = dd.kinematics.working_cylinder(robot)
print(f"reachable volume {space.volume:.3f} m^3")
print(f"cylinder: radius {cylinder.radius} m, z from {cylinder.z_min} to {cylinder.z_max} m")

# %%
# The margin to singular poses
# ----------------------------
# ``margin`` is the smallest rotation of one strut that makes the pose singular. The picture shows
# the plane of arm 1, where arm and strut are stretched at the edge. The working cylinder stays
# away from it.

x, z = np.meshgrid(np.linspace(-1.05, 1.05, 281), np.linspace(-1.25, -0.2, 141))
points = np.stack([x.ravel(), np.zeros(x.size), z.ravel()], axis=-1)
found = dd.kinematics.singularity(robot, points, unreachable="nan")
margin = np.degrees(found.margin).reshape(x.shape)

figure, axes = plt.subplots(figsize=(7.2, 4.2))
shades = axes.contourf(x, z, margin, levels=np.arange(0, 61, 5), cmap="viridis", extend="max")
axes.contour(x, z, margin, levels=[10], colors="white", linewidths=1.2)
left, width = -cylinder.radius, 2 * cylinder.radius
height = cylinder.z_max - cylinder.z_min
box = plt.Rectangle((left, cylinder.z_min), width, height, fill=False, ec="tab:red", lw=2)
axes.add_patch(box)
axes.text(0, cylinder.z_min + 0.02, "working cylinder", color="tab:red", ha="center", weight="bold")
axes.set(xlabel="x (m)", ylabel="z (m)", aspect="equal", title="Margin to singular poses, y = 0")
axes.grid(False)
figure.colorbar(shades, label="degrees; white line: 10°", shrink=0.8)
plt.show()
