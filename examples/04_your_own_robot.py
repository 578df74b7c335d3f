"""
Your own robot
==============

A robot file by hand, with units in the names of the fields, and the loads of its drives on a move.
"""

# %%
# These fields are all that the models need. Rough values will do: identification replaces them.
# ``deltadyn init my-robot`` makes a folder with such a file; :doc:`/robot-file` explains every
# field.

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt

import deltadyn as dd
from deltadyn.report.picture import drawn_spacing, robot_lines

TEXT = """\
deltadyn: 1
name: my robot
geometry:
  base_radius_mm: 180
  platform_radius_mm: 50
  arm_length_mm: 300
  strut_length_mm: 750
  azimuth_deg: [0, 120, 240]
arm:
  mass_kg: 1.1
  com_mm: 120
  inertia_kgm2: 0.012
strut:
  mass_kg: 0.12      # one of the two rods
  uniform: true
platform:
  mass_kg: 0.6
drives:
  gear_ratio: 20
  rotor_inertia_kgcm2: 0.9
  rotor_side: motor_side
friction:
  viscous_Nms_rad: 0.8
  coulomb_Nm: 2.5
"""

path = Path(mkdtemp()) / "my-robot.yaml"
path.write_text(TEXT)
robot = dd.load_robot(path)
print(
    robot.name, "with rotor inertia", f"{robot.drives.output_inertia[0]:.3f} kg m^2 at the output"
)

# %%
# An error in the file is reported with its place, what was found and what is allowed.

path.write_text(TEXT.replace("arm_length_mm: 300", "arm_lenght_mm: 300"))
try:
    dd.load_robot(path)
except dd.DeltadynError as error:
    print("error:", str(error).replace(str(path.parent), "..."))

# %%
# Draw it to find a wrong radius or azimuth.

space = dd.kinematics.workspace(robot)
middle = float(space.heights.mean())
print(f"reachable volume {space.volume:.3f} m^3")

figure = plt.figure(figsize=(6.4, 4.6))
axes = figure.add_subplot(projection="3d")
pose = dd.kinematics.skeleton(robot, [0.12, 0.05, middle])
widths = {"base": 3.0, "arm": 4.5, "strut": 1.5, "platform": 3.0}
colors = {"base": "grey", "arm": "tab:blue", "strut": "grey", "platform": "tab:orange"}
for part, pieces in robot_lines(robot, pose, drawn_spacing(robot)).items():
    for piece in pieces:
        axes.plot(*piece.T, color=colors[part], lw=widths[part], solid_capstyle="round")
surface = space.vertices
axes.plot_trisurf(*surface.T, triangles=space.faces, color="tab:green", alpha=0.12, lw=0)
axes.set(xlabel="x (m)", ylabel="y (m)", zlabel="z (m)", title="The robot and its workspace")
axes.set_aspect("equal")
axes.set(xticks=[-0.6, 0, 0.6], yticks=[-0.6, 0, 0.6], zticks=[-1, -0.5, 0])
axes.view_init(elev=12, azim=-60)
plt.show()

# %%
# The loads of drives and bearings on a pick-and-place cycle:

move = dd.motion.gate_move(robot, [-0.15, 0, middle], [0.15, 0, middle], lift=0.03, duration=0.35)
loads = dd.sizing.motion_loads(robot, move, payload=1.0)
print("\n".join(loads.text.splitlines()[:11]))
