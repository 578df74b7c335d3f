"""Write a robot file by hand, load it, look at its workspace, and see a clear error."""

from pathlib import Path
from tempfile import TemporaryDirectory

import deltadyn as dd

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

with TemporaryDirectory() as folder:
    path = Path(folder) / "my-robot.yaml"
    path.write_text(TEXT)
    robot = dd.load_robot(path)
    print(robot.name, "with rotor inertia", robot.drives.output_inertia[0], "kg m^2 at the output")

    space = dd.kinematics.workspace(robot)
    print(f"reachable volume {space.volume:.3f} m^3")

    path.write_text(TEXT.replace("arm_length_mm: 300", "arm_lenght_mm: 300"))
    try:
        dd.load_robot(path)
    except dd.DeltadynError as error:
        print("error:", error)
