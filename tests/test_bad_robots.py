"""Wrong robot files and wrong robots: each is refused with a message that leads to the mistake."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltadyn.errors import InputError, RobotFileError, UnknownNameError
from deltadyn.robot.file import load_robot, robot_from_text, robot_text

GOOD = """\
deltadyn: 1
name: tester
gravity_m_s2: 9.81
geometry:
  base_radius_mm: 200
  platform_radius_mm: 50
  arm_length_mm: [300, 300, 300]
  strut_length_mm: 700
  azimuth_deg: [0, 120, 240]
arm:
  mass_kg: 1
  com_mm: 120
  inertia_kgm2: 0.008
strut:
  rods: 2
  mass_g: 120
  com_fraction: 0.5
  inertia_kgm2: 0.0049
platform:
  mass_kg: {value: 0.5, source: weighed}
spindle:
  upper:
    mass_kg: 0.4
    com_m: 0.25
    inertia_kgm2: 0.0083
    length_mm: 500
  lower:
    ten:
      mass_kg: 0.3
      first_moment_kgm: [0, 0, -0.075]
      inertia_kgm2: [0.025, 0.025, 3.0e-5, 0, 0, 0]
effector:
  com_mm: [20, 10, -30]
drives:
  gear_ratio: [20, 20, 20, 10]
  rotor_side: motor_side
friction:
  viscous_Nms_rad: 0.5
  passive:
    prismatic:
      viscous_Ns_m: 5
limits:
  angle_min_deg: -45
  angle_max_deg: [90, 90, 90, 360]
  workspace:
    radius_mm: 350
    z_min_mm: -700
    z_max_mm: -500
  cycles_per_min: 100
controller:
  sign: [1, 1, 1, -1]
gray_box:
  rho1: 1.1
"""


RAILS = """\
deltadyn: 1
name: tester
actuation: linear
geometry:
  base_radius_mm: 200
  platform_radius_mm: 40
  strut_length_mm: 350
  azimuth_deg: [0, 120, 240]
  rail_pitch_deg: [10, 10, 10]
carriage:
  mass_g: [600, 610, 620]
strut: {mass_g: 40, uniform: true}
platform: {mass_kg: 0.4}
spindle:
  upper: {mass_kg: 0.2, length_mm: 300, uniform: true}
  lower: {mass_kg: 0.2, length_mm: 300, uniform: true}
drives:
  pulley_radius_mm: 12
  rotor_inertia_kgcm2: [0.3, 0.3, 0.3, 0.1]
  rotor_side: motor_side
  ripple:
    - {wavelength_mm: 2, cos_N: 0.5, cos_Nm: 0.01}
friction:
  viscous_Ns_m: 8
  viscous_Nms_rad: 0.01
limits:
  position_min_mm: -100
  position_max_mm: [500, 500, 500]
  angle_min_deg: -360
  angle_max_deg: 360
  force_peak_N: 150
  torque_peak_Nm: 2
controller:
  offset_mm: 3
"""


PAR4 = """\
deltadyn: 1
name: tester
geometry:
  base_radius_mm: 275
  platform_radius_mm: 50
  arm_length_mm: 375
  strut_length_mm: 825
  azimuth_deg: [-45, 45, 135, 225]
arm: {mass_kg: [1.2, 1.2, 1.2, 1.3], uniform: true}
strut: {mass_g: 80, uniform: true}
platform:
  kind: articulated
  half_mass_kg: [0.35, 0.3]
  bar_length_mm: 120
  phi0_deg: 0
  ratio: 2
  tool_fraction: 0.5
friction: {coulomb_Nm: [1, 1, 1.1, 0.9]}
"""

HELI4 = """\
deltadyn: 1
name: tester
actuation: linear
geometry:
  base_radius_mm: 400
  platform_radius_mm: 50
  strut_length_mm: 600
  azimuth_deg: [0, 180, 90, 270]
carriage: {mass_kg: 0.7}
strut: {mass_g: 60, uniform: true}
platform:
  kind: helical
  half_mass_kg: 0.4
  lead_mm: 40
limits:
  force_peak_N: [400, 400, 400, 350]
"""

PLANAR = """\
deltadyn: 1
name: tester
actuation: linear
geometry:
  base_radius_mm: 250
  platform_radius_mm: 50
  strut_length_mm: 500
  azimuth_deg: [0, 180]
  rail_pitch_deg: [90, 90]
carriage: {mass_kg: [0.7, 0.8]}
strut: {mass_g: 60, uniform: true}
platform: {kind: planar, mass_kg: 0.6}
"""


def test_the_good_files_of_other_platforms_are_good() -> None:
    par4, heli4, planar = (robot_from_text(text) for text in (PAR4, HELI4, PLANAR))
    assert (par4.dof, par4.legs, par4.arms[3].mass) == (4, 4, 1.3)
    assert par4.friction.coulomb == (1.0, 1.0, 1.1, 0.9)
    assert heli4.limits.torque_peak == (400.0, 400.0, 400.0, 350.0)
    assert (planar.dof, planar.legs) == (2, 2)


def test_the_good_file_on_rails_is_good() -> None:
    robot = robot_from_text(RAILS)
    assert robot.linear
    assert robot.friction.viscous == (8.0, 8.0, 8.0, 0.01)
    assert robot.controller.offset == (0.003, 0.003, 0.003, 0.0)
    assert robot.drives.ripple[0].cos == (0.5, 0.5, 0.5, 0.01)


def test_the_good_file_is_good() -> None:
    robot = robot_from_text(GOOD)
    assert robot.dof == 4
    assert robot.struts[0].mass == 0.12


@dataclass(frozen=True)
class Wrong:
    """One edit of the good file, the field that the error must name and what it must say."""

    old: str
    new: str
    quantity: str
    message: str
    at: str | None = None  # the text of the line that the error points to; else `new` itself


# fmt: off
WRONG_FILES = {
    # names and units
    "unknown field": Wrong(
        "base_radius_mm", "base_radus_mm", "geometry.base_radus_mm",
        r"is not a known field; did you mean 'base_radius_mm'\?; allowed: base_radius_\(m",
    ),
    "nothing near": Wrong(
        "com_mm: 120", "colour: 1", "arm.colour",
        r"is not a known field; allowed: mass_\(kg\|g\), ",
    ),
    "unknown section": Wrong(
        "platform:", "plattform:", "plattform", r"not a known field; did you mean 'platform'\?",
    ),
    "field of another section": Wrong(
        "rho1: 1.1", "mass_kg: 1", "gray_box.mass_kg", "not a known field; allowed: rho1, rho2",
        "  mass_kg: 1#2",
    ),
    "wrong kind of unit": Wrong(
        "base_radius_mm", "base_radius_kg", "geometry.base_radius_kg",
        "has the unit 'kg', which this field cannot have; allowed: base_radius_m or base_radius_mm",
    ),
    "unknown unit": Wrong(
        "base_radius_mm", "base_radius_inch", "geometry.base_radius_inch",
        "has the unit 'inch', which this field cannot have; allowed: base_radius_m",
    ),
    "no unit": Wrong(
        "mass_kg: 1\n", "mass: 1\n", "arm.mass", "has no unit; allowed: mass_kg or mass_g",
        "  mass: 1",
    ),
    "unit of a number": Wrong(
        "com_fraction: 0.5", "com_fraction_m: 0.5", "strut.com_fraction_m",
        "has the unit 'm', which this field cannot have; allowed: com_fraction$",
    ),
    "torque in the prismatic joint": Wrong(
        "viscous_Ns_m", "viscous_Nms_rad", "friction.passive.prismatic.viscous_Nms_rad",
        "has the unit 'Nms_rad', .* allowed: viscous_Ns_m", "      viscous_Nms_rad",
    ),
    "unknown joint": Wrong(
        "prismatic:", "prysmatic:", "friction.passive.prysmatic", r"did you mean 'prismatic'\?",
    ),
    "twice with two units": Wrong(
        "base_radius_mm: 200", "base_radius_mm: 200\n  base_radius_m: 0.2",
        "geometry.base_radius_m", "is the same as base_radius_mm; allowed: one of the two",
        "  base_radius_m: 0.2",
    ),
    "twice with one name": Wrong(
        "base_radius_mm: 200", "base_radius_mm: 200\n  base_radius_mm: 210",
        "geometry.base_radius_mm", "is given twice, first in line 5; allowed: every field once",
        "  base_radius_mm: 210",
    ),
    "section twice": Wrong(
        "platform:\n", "arm:\n", "arm", "is given twice, first in line 10", "arm:#2",
    ),
    # what is missing
    "missing field": Wrong(
        "  arm_length_mm: [300, 300, 300]\n", "", "geometry.arm_length",
        r"is missing; allowed: arm_length_\(m\|mm\|cm\)", "geometry:",
    ),
    "missing section": Wrong(
        "platform:\n  mass_kg: {value: 0.5, source: weighed}\n", "", "platform",
        "is missing; allowed: a section platform", "deltadyn: 1",
    ),
    "missing inertia": Wrong(
        "  inertia_kgm2: 0.008\n", "", "arm.inertia",
        "is missing; allowed: .*, or axis_inertia_kgm2 or uniform: true", "arm:",
    ),
    "missing strut": Wrong(
        "  com_fraction: 0.5\n", "", "strut.com_fraction",
        "is missing; allowed: com_fraction, or com_m, uniform: true or ten", "strut:",
    ),
    "missing rod": Wrong(
        "    com_m: 0.25\n", "", "spindle.upper.com", "is missing; .*uniform: true", "  upper:",
    ),
    "missing half of the spindle": Wrong(
        GOOD[GOOD.index("  lower:") : GOOD.index("effector:")], "", "spindle.lower",
        "is missing; allowed: a section lower", "spindle:",
    ),
    "missing in ten": Wrong(
        "      first_moment_kgm: [0, 0, -0.075]\n", "", "spindle.lower.ten.first_moment",
        "is missing; allowed: first_moment_kgm", "    ten:",
    ),
    "missing name": Wrong("name: tester\n", "", "name", "is missing; allowed: name", "deltadyn: 1"),
    "missing format": Wrong(
        "deltadyn: 1\n", "", "deltadyn", "is missing; allowed: deltadyn: 1, the file's format",
        "name: tester",
    ),
    # values
    "newer format": Wrong(
        "deltadyn: 1", "deltadyn: 2", "deltadyn", "is 2; allowed: 1, the only format",
    ),
    "format in words": Wrong("deltadyn: 1", "deltadyn: one", "deltadyn", "is 'one'; allowed: 1"),
    "text for a number": Wrong(
        "com_mm: 120", "com_mm: long", "arm.com_mm", "is 'long'; allowed: a number$",
    ),
    "number in quotes": Wrong(
        "com_mm: 120", "com_mm: '120'", "arm.com_mm", "is '120'; allowed: a number$",
    ),
    "sexagesimal": Wrong(
        "com_mm: 120", "com_mm: 2:00", "arm.com_mm", "is '2:00'; allowed: a number$",
    ),
    "unit in the value": Wrong(
        "com_mm: 120", "com_mm: 120 mm", "arm.com_mm", "is '120 mm'; allowed: a number$",
    ),
    "bool": Wrong("com_mm: 120", "com_mm: yes", "arm.com_mm", "is True; allowed: a number$"),
    "null": Wrong("com_mm: 120", "com_mm:", "arm.com_mm", "is None; allowed: a number$"),
    "nan": Wrong("com_mm: 120", "com_mm: .nan", "arm.com_mm", "is nan; allowed: a finite number"),
    "inf": Wrong("com_mm: 120", "com_mm: inf", "arm.com_mm", "is inf; allowed: a finite number"),
    "list for a number": Wrong(
        "radius_mm: 350", "radius_mm: [350]", "limits.workspace.radius_mm",
        r"is \[350\]; allowed: one number$",
    ),
    "number for a vector": Wrong(
        "com_mm: [20, 10, -30]", "com_mm: 20", "effector.com_mm",
        "is 20; allowed: a list of 3 numbers$",
    ),
    "two arms": Wrong(
        "arm_length_mm: [300, 300, 300]", "arm_length_mm: [300, 310]", "geometry.arm_length_mm",
        r"is \[300, 310\]; allowed: one number or 3 numbers, one per arm",
    ),
    "three of four axes": Wrong(
        "gear_ratio: [20, 20, 20, 10]", "gear_ratio: [20, 20, 20]", "drives.gear_ratio",
        r"is \[20, 20, 20\]; allowed: one number or 4 numbers, one per axis",
    ),
    "five in ten": Wrong(
        "[0.025, 0.025, 3.0e-5, 0, 0, 0]", "[0.025, 0.025, 3.0e-5, 0, 0]",
        "spindle.lower.ten.inertia_kgm2", "allowed: a list of 6 numbers$",
    ),
    "one azimuth": Wrong(
        "azimuth_deg: [0, 120, 240]", "azimuth_deg: 120", "geometry.azimuth_deg",
        "is 120; allowed: a list of 3 numbers, one per arm",
    ),
    "text in a list": Wrong(
        "[300, 300, 300]", "[300, x, 300]", "geometry.arm_length_mm[1]",
        "is 'x'; allowed: a number$",
    ),
    "section is a number": Wrong(
        "platform:\n  mass_kg: {value: 0.5, source: weighed}", "platform: 0.5", "platform",
        "is 0.5; allowed: a mapping of fields", "platform: 0.5",
    ),
    "section is empty": Wrong(
        "gray_box:\n  rho1: 1.1", "gray_box:", "gray_box", "is None; allowed: a mapping",
    ),
    "two struts": Wrong(
        "strut:\n", "strut: [{rods: 2}, {rods: 2}]\npayload:\n", "strut",
        "allowed: a mapping, or three mappings, one per arm", "strut: [",
    ),
    "name is a number": Wrong(
        "name: tester", "name: 1200", "name", "is 1200; allowed: a text; put it in quotes",
    ),
    "name is empty": Wrong("name: tester", "name: ''", "name", "is ''; allowed: a text$"),
    "rods": Wrong("rods: 2", "rods: 3", "strut.rods", "is 3; allowed: 1 or 2"),
    "half a rod": Wrong("rods: 2", "rods: 1.5", "strut.rods", "is 1.5; allowed: 1 or 2"),
    "uniform is no flag": Wrong(
        "inertia_kgm2: 0.0049", "uniform: 1", "strut.uniform", "is 1; allowed: true or false",
    ),
    # sources
    "source without value": Wrong(
        "{value: 0.5, source: weighed}", "{vaule: 0.5, source: weighed}", "platform.mass_kg",
        r"is \{.*\}; allowed: a value, or a mapping \{value: ..., source: ...\}",
    ),
    "unknown beside value": Wrong(
        "source: weighed", "sauce: weighed", "platform.mass_kg.sauce",
        "is not a known field; allowed: value, source, assumed",
    ),
    "assumed without a reason": Wrong(
        "source: weighed", "assumed: true", "platform.mass_kg.source",
        "is missing; allowed: a text that says why this is assumed",
    ),
    "assumed is no flag": Wrong(
        "source: weighed", "assumed: maybe, source: x", "platform.mass_kg.assumed",
        "is 'maybe'; allowed: true or false",
    ),
    "source is no text": Wrong(
        "source: weighed", "source: 2022", "platform.mass_kg.source",
        "is 2022; allowed: a text; put it in quotes",
    ),
    "source given twice": Wrong(
        "gray_box:\n  rho1: 1.1", "sources:\n  platform.mass: {source: again}",
        "sources.platform.mass", "is given at its field too; allowed: one of the two",
        "  platform.mass: {source: again}",
    ),
    # what no robot can have
    "negative mass": Wrong(
        "mass_kg: 1\n", "mass_kg: -1\n", "arm.mass_kg", "is -1; allowed: at least 0 kg",
        "  mass_kg: -1",
    ),
    "negative length": Wrong(
        "strut_length_mm: 700", "strut_length_mm: -700", "geometry.strut_length_mm",
        "is -700; allowed: above 0 m",
    ),
    "no rod spacing": Wrong(
        "[300, 300, 300]", "[300, 300, 300]\n  rod_spacing_mm: 0", "geometry.rod_spacing_mm",
        "is 0; allowed: above 0 m", "  rod_spacing_mm: 0",
    ),
    "arm too short to close": Wrong(
        "base_radius_mm: 200", "base_radius_mm: 1200", "geometry.arm_length_mm[0]",
        "is 300; allowed: above 0.45 m, or the loop cannot close: base radius 1.2 m",
        "  arm_length_mm",
    ),
    "arms coincide": Wrong(
        "[0, 120, 240]", "[0, 120, 480]", "geometry.azimuth_deg",
        r"is \[0, 120, 480\]; allowed: arms at least 1 deg apart; arms 2 and 3 coincide",
    ),
    "too much strut inertia": Wrong(
        "inertia_kgm2: 0.0049", "inertia_kgm2: 0.5", "strut.inertia_kgm2",
        r"is 0.5; allowed: at most m f \(1 - f\) l2\^2 = 0.0147 kg m\^2",
    ),
    "COM outside the strut": Wrong(
        "com_fraction: 0.5", "com_mm: 900", "strut.com_mm", "is 900; allowed: from 0 to 1",
    ),
    "axis inertia too small": Wrong(
        "inertia_kgm2: 0.008", "axis_inertia_kgm2: 0.01", "arm.axis_inertia_kgm2",
        r"is 0.01; allowed: at least m c\^2 = 0.0144 kg m\^2",
    ),
    "inconsistent ten": Wrong(
        "[0.025, 0.025, 3.0e-5, 0, 0, 0]", "[0.001, 0.025, 3.0e-5, 0, 0, 0]",
        "spindle.lower.ten.inertia_kgm2",
        "a consistent body: its pseudo-inertia must be positive",
    ),
    "lower rod upside down": Wrong(
        "[0, 0, -0.075]", "[0, 0, 0.075]", "spindle.lower.ten.first_moment_kgm[2]",
        "is 0.075; allowed: at most 0 kg m: z runs down the rod",
    ),
    "ten without mass": Wrong(
        GOOD[GOOD.index("      mass_kg: 0.3") : GOOD.index("effector:")],
        "      {mass_kg: 0, first_moment_kgm: [0, 0, 0], inertia_kgm2: [0, 0, 0, 0, 0, 0]}\n",
        "spindle.lower.ten.mass_kg", "is 0; allowed: above 0 kg", "      {mass_kg: 0",
    ),
    "two masses": Wrong(
        "    ten:\n", "    mass_kg: 0.4\n    ten:\n", "spindle.lower.mass_kg",
        "is 0.4; allowed: 0.3 kg, the mass in its ten parameters", "    mass_kg: 0.4#2",
    ),
    "axial inertia": Wrong(
        "    length_mm: 500", "    axial_inertia_kgm2: 1", "spindle.upper.axial_inertia_kgm2",
        "is 1; allowed: at most twice the transverse inertia",
    ),
    "shortcut beside value": Wrong(
        "inertia_kgm2: 0.008", "inertia_kgm2: 0.008\n  uniform: true", "arm.com_mm",
        "is given beside uniform; allowed: one of the two", "  com_mm: 120",
    ),
    "uniform rod without length": Wrong(
        "    com_m: 0.25\n    inertia_kgm2: 0.0083\n    length_mm: 500\n", "    uniform: true\n",
        "spindle.upper.length", r"is missing; allowed: length_\(m\|mm\|cm\)", "  upper:",
    ),
    "negative friction": Wrong(
        "viscous_Nms_rad: 0.5", "viscous_Nms_rad: [0.5, 0.5, -0.5, 0]",
        "friction.viscous_Nms_rad[2]", "is -0.5; allowed: at least 0",
    ),
    "half of Stribeck": Wrong(
        "viscous_Nms_rad: 0.5", "stribeck_Nm: 1", "friction.stribeck_velocity",
        "is missing; allowed: given together with its partner", "friction:",
    ),
    "rotor side": Wrong(
        "motor_side", "motor", "drives.rotor_side",
        "is 'motor'; allowed: motor_side or output_side",
    ),
    "gear ratio": Wrong(
        "[20, 20, 20, 10]", "[20, 20, 20, 0]", "drives.gear_ratio[3]", "is 0; allowed: above 0",
    ),
    "angles the wrong way": Wrong(
        "angle_min_deg: -45", "angle_min_deg: 95", "limits.angle_max_deg[0]",
        "is 90; allowed: above angle_min, 1.65806 rad", "  angle_max_deg",
    ),
    "workspace upside down": Wrong(
        "z_max_mm: -500", "z_max_mm: -800", "limits.workspace.z_max_mm",
        "is -800; allowed: above -0.7",
    ),
    "no cycles": Wrong(
        "cycles_per_min: 100", "cycles_per_min: 0", "limits.cycles_per_min",
        "is 0; allowed: above 0",
    ),
    "sign": Wrong("[1, 1, 1, -1]", "[1, 1, 1, 2]", "controller.sign[3]", "is 2; allowed: 1 or -1"),
    "gravity upwards": Wrong(
        "gravity_m_s2: 9.81", "gravity_m_s2: -9.81", "gravity_m_s2",
        r"is -9.81; allowed: at least 0 m/s\^2",
    ),
    "rho1": Wrong("rho1: 1.1", "rho1: 0", "gray_box.rho1", "is 0; allowed: above 0"),
    # YAML
    "not YAML": Wrong(
        "  com_mm: 120", "  com_mm: [120", "robot file",
        "is not YAML: .*; allowed: a YAML mapping", "  inertia_kgm2: 0.008",
    ),
    "tab": Wrong("  com_mm: 120", "\tcom_mm: 120", "robot file", r"is not YAML: .*'\\t'"),
    "alias": Wrong(
        "com_mm: 120\n  inertia_kgm2: 0.008", "com_mm: &x 120\n  inertia_kgm2: *x",
        "arm.inertia_kgm2", r"is an alias; allowed: values written out, without & and \*",
        "  inertia_kgm2: *x",
    ),
    "tag": Wrong(
        "name: tester", "name: !!python/name:os.system x", "name",
        "has the tag .*; allowed: plain YAML",
    ),
    "key is a list": Wrong(
        "  com_mm: 120", "  [a]: 120", "arm",
        "has a field whose name is not a word; allowed: names",
    ),
    "two documents": Wrong(
        "controller:", "---\ncontroller:", "robot file",
        "is not YAML: but found another document", "---",
    ),
}

WRONG_RAILS = {
    "unknown actuation": Wrong(
        "actuation: linear", "actuation: prismatic", "actuation",
        "is 'prismatic'; allowed: rotary or linear",
    ),
    "no actuation": Wrong(
        "actuation: linear\n", "", "actuation",
        "is missing; allowed: the line 'actuation: linear' where a section carriage is",
        "carriage:",
    ),
    "arm on rails": Wrong(
        "carriage:", "arm:", "arm",
        "is given beside actuation: linear; allowed: a section carriage$",
    ),
    "arm beside a carriage": Wrong(
        "platform:", "arm: {mass_kg: 1}\nplatform:", "arm", "is given beside actuation: linear",
        "arm: {mass_kg: 1}",
    ),
    "word for a carriage": Wrong(
        "carriage:", "cart:", "cart", r"is not a known field; did you mean 'carriage'\?",
    ),
    "arm's length": Wrong(
        "platform_radius_mm: 40", "platform_radius_mm: 40\n  arm_length_mm: 30",
        "geometry.arm_length_mm", r"is a field of a robot with actuation: rotary; allowed: base_ra",
        "  arm_length_mm",
    ),
    "short strut": Wrong(
        "strut_length_mm: 350", "strut_length_mm: 0", "geometry.strut_length_mm",
        "is 0; allowed: above 0 m",
    ),
    "rail out of reach": Wrong(
        "rail_pitch_deg: [10, 10, 10]", "rail_tangential_mm: [0, 400, 0]",
        "geometry.strut_length_mm", "is 350; allowed: above 0.43.* m, the distance of the rail",
        "strut_length",
    ),
    "rails that coincide": Wrong(
        "[0, 120, 240]", "[0, 120, 120]", "geometry.azimuth_deg", "rails 2 and 3 coincide",
    ),
    "rail downward": Wrong(
        "[10, 10, 10]", "[10, 10, 100]", "geometry.rail_pitch_deg[2]",
        "is 100; allowed: a rail along which q counts upward",
    ),
    "negative mass": Wrong(
        "620]", "-620]", "carriage.mass_g[2]", "is -620; allowed: at least 0 kg",
    ),
    "screw and belt": Wrong(
        "pulley_radius_mm: 12", "pulley_radius_mm: 12\n  lead_mm: 5", "drives.pulley_radius_mm",
        "is 12; allowed: none beside drives.lead", "  pulley_radius_mm: 12",
    ),
    "rotor without a screw": Wrong(
        "  pulley_radius_mm: 12\n", "", "drives.lead",
        "is missing; allowed: lead or pulley_radius, where rotors have inertia", "drives:",
    ),
    "no rotor side": Wrong(
        "  rotor_side: motor_side\n", "", "drives.rotor_side",
        "is missing; allowed: the line 'rotor_side: motor_side', with the motors'",
        "  rotor_inertia_kgcm2",
    ),
    "rotor's mass at the motor": Wrong(
        "rotor_inertia_kgcm2: [0.3, 0.3, 0.3, 0.1]", "rotor_inertia_kg: 0.3",
        "drives.rotor_inertia_kg", "has the unit 'kg', .* allowed: rotor_inertia_kgm2 or ",
    ),
    "all rotors in kg m^2 at the output": Wrong(
        "motor_side", "output_side", "drives.rotor_inertia_kgcm2",
        r"is \[0.3, .*\]; allowed: one number, of axis 4", "rotor_inertia_kgcm2",
    ),
    "wave of no length": Wrong(
        "wavelength_mm: 2", "wavelength_mm: 0", "drives.ripple[0].wavelength_mm",
        "is 0; allowed: above 0 m",
    ),
    "wave without length": Wrong(
        "wavelength_mm: 2, ", "", "drives.ripple[0].wavelength",
        r"is missing; allowed: wavelength_\(m\|mm\|cm\), or order", "    - {cos_N",
    ),
    "wave with two lengths": Wrong(
        "wavelength_mm: 2", "wavelength_mm: 2, order: 4", "drives.ripple[0].order",
        "is given beside wavelength; allowed: one of the two",
    ),
    "friction in joints": Wrong(
        "viscous_Ns_m: 8", "passive: {prismatic: {coulomb_N: 4}}", "friction.passive.prismatic",
        "allowed: none on rails",
    ),
    "friction of arms": Wrong(
        "viscous_Ns_m: 8", "coulomb_mN: 8", "friction.coulomb_mN",
        "has the unit 'mN', which this field cannot have; allowed: coulomb_N or coulomb_Nm",
    ),
    "list for axis 4": Wrong(
        "viscous_Nms_rad: 0.01", "viscous_Nms_rad: [8, 8, 8, 0.01]", "friction.viscous_Nms_rad",
        "allowed: one number, of axis 4",
    ),
    "four carriages": Wrong(
        "viscous_Ns_m: 8", "viscous_Ns_m: [8, 8, 8, 8]", "friction.viscous_Ns_m",
        "allowed: one number or 3 numbers, one per carriage",
    ),
    "axis 4 left out": Wrong(
        "  torque_peak_Nm: 2\n", "", "limits.torque_peak",
        "is missing; allowed: torque_peak_Nm, of axis 4", "limits:",
    ),
    "carriages left out": Wrong(
        "  force_peak_N: 150\n", "", "limits.force_peak",
        "is missing; allowed: force_peak_N, of the carriages", "limits:",
    ),
    "wrong torque of axis 4": Wrong(
        "torque_peak_Nm: 2", "torque_peak_Nm: -2", "limits.torque_peak_Nm",
        "is -2; allowed: above 0",
    ),
    "places in the wrong order": Wrong(
        "[500, 500, 500]", "[500, -200, 500]", "limits.position_max_mm[1]",
        "is -200; allowed: above position_min, -0.1 m",
    ),
    "angles in the wrong order": Wrong(
        "angle_max_deg: 360", "angle_max_deg: -400", "limits.angle_max_deg",
        "is -400; allowed: above angle_min, -6.28319 rad",
    ),
}
WRONG_ARMS = {
    "carriage": Wrong(
        "platform:\n", "carriage: {mass_kg: 1}\nplatform:\n", "carriage",
        "is given beside arm; allowed: a section arm, or actuation: linear with rails",
        "carriage: {mass_kg: 1}",
    ),
    "rail": Wrong(
        "  azimuth_deg", "  rail_pitch_deg: 4\n  azimuth_deg", "geometry.rail_pitch_deg",
        "is a field of a robot with actuation: linear; allowed: base_radius_",
        "  rail_pitch_deg: 4",
    ),
    "axis roll": Wrong(
        "  azimuth_deg", "  axis_roll_deg: [1, 2]\n  azimuth_deg", "geometry.axis_roll_deg",
        "allowed: one number or 3 numbers, one per arm", "  axis_roll_deg",
    ),
    "height of a shoulder": Wrong(
        "  azimuth_deg", "  shoulder_height: 1\n  azimuth_deg", "geometry.shoulder_height",
        "has no unit; allowed: shoulder_height_m or", "  shoulder_height",
    ),
    "pulley": Wrong(
        "  rotor_side", "  pulley_radius_mm: 4\n  rotor_side", "drives.pulley_radius_mm",
        "is a field of a robot with actuation: linear; allowed: gear_ratio", "  pulley_radius",
    ),
    "place of an axis": Wrong(
        "angle_min_deg: -45", "position_min_mm: -45", "limits.position_min_mm",
        r"is a field of a robot with actuation: linear; allowed: angle_min_\(rad\|deg\)",
    ),
    "friction of carriages": Wrong(
        "viscous_Nms_rad: 0.5", "viscous_Ns_m: 0.5", "friction.viscous_Ns_m",
        "has the unit 'Ns_m', .* allowed: viscous_Nms_rad", "  viscous_Ns_m",
    ),
}
WRONG_PAR4 = {
    "unknown kind": Wrong(
        "articulated", "par4", "platform.kind",
        "is 'par4'; allowed: translational or planar or articulated or helical", "kind: par4",
    ),
    "no kind": Wrong(
        "  kind: articulated\n", "", "platform.kind",
        "is missing; allowed: the line 'kind: articulated'", "platform:",
    ),
    "no bars": Wrong(
        "  bar_length_mm: 120\n", "", "platform.bar_length", "is missing", "platform:",
    ),
    "no length of the bars": Wrong(
        "bar_length_mm: 120", "bar_length_mm: 0", "platform.bar_length_mm", "allowed: above 0 m",
    ),
    "ratio 0": Wrong("ratio: 2", "ratio: 0", "platform.ratio", "is 0; allowed: not 0"),
    "three halves": Wrong(
        "[0.35, 0.3]", "[0.35, 0.3, 1]", "platform.half_mass_kg",
        "allowed: one number or 2 numbers, one per half",
    ),
    "negative half": Wrong(
        "[0.35, 0.3]", "[0.35, -0.3]", "platform.half_mass_kg[1]", "allowed: at least 0 kg",
    ),
    "three azimuths": Wrong(
        "[-45, 45, 135, 225]", "[0, 120, 240]", "geometry.azimuth_deg",
        "allowed: a list of 4 numbers, one per arm",
    ),
    "opposite pairs": Wrong(
        "[-45, 45, 135, 225]", "[0, 180, 90, 270]", "geometry.azimuth_deg",
        "allowed: neighbours as limbs 1 and 2",
    ),
    "bars across": Wrong(
        "phi0_deg: 0", "phi0_deg: 90", "platform.phi0_deg", "is 90; .* bars that lie across",
    ),
    "mass of one body": Wrong(
        "  ratio: 2\n", "  ratio: 2\n  mass_kg: 1\n", "platform.mass_kg",
        "is a field of a platform of kind: translational; allowed: kind, half_mass", "  mass_kg: 1",
    ),
    "lead": Wrong(
        "ratio: 2", "lead_mm: 2", "platform.lead_mm",
        "is a field of a platform of kind: helical; allowed: kind, half_mass",
    ),
    "spindle": Wrong(
        "friction:", "spindle: {}\nfriction:", "spindle",
        "is given beside a platform of kind articulated; allowed: none there", "spindle: {}",
    ),
    "three frictions": Wrong(
        "[1, 1, 1.1, 0.9]", "[1, 1, 1]", "friction.coulomb_Nm",
        "allowed: one number or 4 numbers, one per axis",
    ),
    "never reached": Wrong(
        "base_radius_mm: 275", "base_radius_mm: 2750", "geometry.strut_length_mm",
        "is 825; allowed: a strut with which limb 1 reaches its half", "strut_length_mm",
    ),
}
WRONG_HELI4 = {
    "lead 0": Wrong("lead_mm: 40", "lead_mm: 0", "platform.lead_mm", "is 0; allowed: not 0"),
    "neighbours": Wrong(
        "[0, 180, 90, 270]", "[-45, 45, 135, 225]", "geometry.azimuth_deg",
        "allowed: opposite limbs as 1 and 2",
    ),
    "two azimuths": Wrong(
        "[0, 180, 90, 270]", "[0, 180]", "geometry.azimuth_deg", "allowed: a list of 4 numbers",
    ),
    "axis 4 is a carriage": Wrong(
        "  force_peak_N:", "  torque_peak_Nm: 2\n  force_peak_N:", "limits.torque_peak_Nm",
        r"is a field of a robot with actuation: rotary; allowed: force_peak_N", "torque_peak_Nm: 2",
    ),
    "rails too far": Wrong(
        "base_radius_mm: 400", "base_radius_mm: 800", "geometry.strut_length_mm",
        "is 600; allowed: a strut with which limb 1 reaches", "strut_length_mm",
    ),
}
WRONG_PLANAR = {
    "out of the plane": Wrong(
        "[0, 180]", "[0, 170]", "geometry.azimuth_deg", "allowed: 0 and 180 deg: limbs",
    ),
    "three azimuths": Wrong(
        "[0, 180]", "[0, 120, 240]", "geometry.azimuth_deg", "allowed: a list of 2 numbers",
    ),
    "parallel rails": Wrong(
        "[90, 90]", "[90, -90]", "geometry.rail_pitch_deg",
        "allowed: rails that do not run side by side: here both struts are parallel",
    ),
    "rails too far": Wrong(
        "500\n  azimuth_deg: [0, 180]\n  rail_pitch_deg: [90, 90]", "190",
        "geometry.strut_length_mm", "is 190; allowed: above 0.2 m", "strut_length_mm",
    ),
    "three carriages": Wrong(
        "[0.7, 0.8]", "[0.7, 0.8, 0.9]", "carriage.mass_kg",
        "allowed: one number or 2 numbers, one per arm",
    ),
}
# fmt: on
CASES = {
    **{f"{name}, par4": (PAR4, case) for name, case in WRONG_PAR4.items()},
    **{f"{name}, heli4": (HELI4, case) for name, case in WRONG_HELI4.items()},
    **{f"{name}, planar": (PLANAR, case) for name, case in WRONG_PLANAR.items()},
    **{name: (GOOD, case) for name, case in {**WRONG_FILES, **WRONG_ARMS}.items()},
    **{f"{name}, rails": (RAILS, case) for name, case in WRONG_RAILS.items()},
}


@pytest.mark.full
@pytest.mark.parametrize(("good", "case"), CASES.values(), ids=list(CASES))
def test_a_wrong_file_is_refused(good: str, case: Wrong) -> None:
    assert case.old in good
    text = good.replace(case.old, case.new, 1)
    with pytest.raises(RobotFileError) as caught:
        robot_from_text(text, "mine.yaml")
    error = caught.value
    assert type(error) is RobotFileError
    line = line_of(text, case.at or case.new)
    assert (error.quantity, error.path, error.line) == (case.quantity, "mine.yaml", line)
    assert str(error).startswith(f"mine.yaml, line {line}: {case.quantity} ")
    assert re.search(case.message, str(error)), str(error)


def line_of(text: str, start: str) -> int:
    """The line that holds `start`; "start#2" means its second occurrence."""
    start, _, count = start.partition("#")
    lines = [number for number, line in enumerate(text.split("\n"), 1) if start in line]
    return lines[int(count or 1) - 1]


def test_there_are_enough_wrong_files() -> None:
    assert len(WRONG_FILES) >= 45


@pytest.mark.full
@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, r"is empty; allowed: a mapping"),
        ("# nothing but a remark\n", None, r"is empty"),
        ("- deltadyn\n- 1\n", 1, r"allowed: a mapping of fields"),
        ("a robot", 1, r"is 'a robot'; allowed: a mapping of fields"),
        ("t_s,q1_rad\n0,0.1\n", 1, r"allowed: a mapping of fields"),
        ("name: \x00", None, r"is not YAML: "),
        ("[" * 2000 + "]" * 2000, None, r"is nested too deeply"),
        ("deltadyn: &a [*a]\n", 1, r"is an alias"),
    ],
    ids=["empty", "remark", "list", "text", "log", "binary", "deep", "endless"],
)
def test_what_is_no_robot_file_at_all(text: str, line: int | None, message: str) -> None:
    with pytest.raises(RobotFileError, match=message) as caught:
        robot_from_text(text, "mine.yaml")
    assert (caught.value.path, caught.value.line) == ("mine.yaml", line)


def test_the_second_of_three_struts_is_named() -> None:
    struts = """strut:
  - {mass_g: 120, uniform: true}
  - {mass_g: 120, com_fraction: 0.5, inertia_kgm2: 1}
  - {mass_g: 120, uniform: true}
"""
    begin, end = GOOD.index("strut:\n"), GOOD.index("platform:\n")
    with pytest.raises(RobotFileError, match=r"is 1; allowed: at most m f") as caught:
        robot_from_text(GOOD[:begin] + struts + GOOD[end:])
    assert caught.value.quantity == "strut[1].inertia_kgm2"
    assert caught.value.line == 16


def test_one_of_three_values_is_named() -> None:
    text = GOOD.replace("inertia_kgm2: 0.0049", "inertia_kgm2: [0.0049, 0.0049, 0.9]")
    with pytest.raises(RobotFileError, match=r"is 0.9; allowed: at most m f") as caught:
        robot_from_text(text)
    assert caught.value.quantity == "strut.inertia_kgm2[2]"


def test_friction_of_the_spindle_needs_a_spindle() -> None:
    text = robot_text(load_robot("example-delta")) + "\n"
    text = text.replace("friction:\n", "friction:\n  passive: {prismatic: {coulomb_N: 4}}\n")
    with pytest.raises(RobotFileError, match="allowed: only on a robot with a spindle") as caught:
        robot_from_text(text)
    assert caught.value.quantity == "friction.passive.prismatic"
    assert caught.value.line == line_of(text, "prismatic")


def test_an_unknown_robot_lists_the_catalogue() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean 'sipro-d3-1200'") as caught:
        load_robot("sipro-d3-120")
    assert caught.value.value == "sipro-d3-120"
    assert "example-delta" in caught.value.names
    assert "or the path of a robot file" in str(caught.value)


def test_a_robot_is_a_name_or_a_path() -> None:
    for wrong in (5, None, ["sipro-d3-1200"]):
        with pytest.raises(InputError, match=r"a catalogue name or the path of a robot file"):
            load_robot(wrong)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError):
        load_robot("")


JUNK = st.text(alphabet="\n\t :-[]{}&*!|>'\"#%@`0123456789.eE+_abmdegk\u00e9\x07", max_size=6)


@given(
    st.sampled_from([GOOD, RAILS, PAR4, HELI4, PLANAR]), st.floats(0, 1), st.integers(0, 12), JUNK
)
def test_a_garbled_file_is_read_or_refused(good: str, place: float, length: int, junk: str) -> None:
    """Any other exception than the one of robot files would be a defect."""
    start = round(place * len(good))
    with contextlib.suppress(RobotFileError):
        robot_from_text(good[:start] + junk + good[start + length :])


def test_all_errors_of_a_file_on_rails_are_told_at_once() -> None:
    text = RAILS.replace("force_peak_N", "torque_max_Nm").replace("offset_mm", "offset_deg")
    text = text.replace("position_min_mm: -100", "position_min_mm: low").replace("620]", "x]")
    with pytest.raises(RobotFileError) as caught:
        robot_from_text(text)
    found = {error.quantity for error in (caught.value, *caught.value.others)}
    assert {"carriage.mass_g[2]", "limits.position_min_mm", "limits.torque_max_Nm"} <= found
    assert (
        robot_from_text(RAILS.replace("offset_mm", "offset_deg")).controller.offset[:3] == (0,) * 3
    )
