"""A wrong robot file shows all its errors at once, each with its line and what was meant."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from deltadyn.commands.common import robot_of
from deltadyn.errors import OldFileWarning, RobotError, RobotFileError
from deltadyn.robot.fields import OF_HALVES, SECTIONS, TEN, TOP, Field, RobotKind, sections
from deltadyn.robot.file import load_robot, robot_from_text, robot_text
from deltadyn.robot.names import PHRASES, SYMBOLS, WORDS, meant
from deltadyn.robot.settings import Drives

MANY = """\
deltadyn: 1
name: tester
geometry:
  R_mm: 200
  platform_radius_mm: -50
  upper_arm_length_mm: 300
  strut_length_mm: 700
rods:
  weight_kg: 0.1
  uniform: true
arm:
  mass_kg: -1
  com_mm: 120
  inertia: 0.01
platform:
  mass_kg: half
drives:
  gear: 33
  inertia_kgm2: 1.2e-4
  rotor_side: middle
friction:
  viscous_Nms_rad: -1
  coulomb_Nm: [1, -2, 3]
limits:
  torque_Nm: 100
  rate_rpm: *fast
  workspace: {radius_mm: 300, z_min_mm: -900}
"""


def errors_of(text: str) -> tuple[RobotFileError, ...]:
    with pytest.raises(RobotFileError) as caught:
        robot_from_text(text, "mine.yaml")
    return (caught.value, *caught.value.others)


def test_all_errors_come_at_once() -> None:
    found = errors_of(MANY.replace("*fast", "fast"))
    places = [(error.line, error.quantity) for error in found]
    assert places == [
        (4, "geometry.R_mm"),
        (5, "geometry.platform_radius_mm"),
        (6, "geometry.upper_arm_length_mm"),
        (8, "rods"),
        (9, "rods.weight_kg"),
        (12, "arm.mass_kg"),
        (14, "arm.inertia"),
        (16, "platform.mass_kg"),
        (18, "drives.gear"),
        (19, "drives.inertia_kgm2"),
        (22, "friction.viscous_Nms_rad"),
        (23, "friction.coulomb_Nm[1]"),
        (25, "limits.torque_Nm"),
        (26, "limits.rate_rpm"),
        (27, "limits.workspace.z_max"),
    ]
    *shown, more = str(found[0]).splitlines()  # whole sentences, as many as a message holds
    assert shown == [error.sentence for error in found[: len(shown)]]
    assert more == f"{len(found) - len(shown)} more errors in this file"
    again = pickle.loads(pickle.dumps(found[0]))
    assert str(again) == str(found[0])
    assert len(again.others) == len(found) - 1


def test_a_file_that_is_no_yaml_has_one_error() -> None:
    (error,) = errors_of(MANY)
    assert "undefined alias" in str(error)
    assert error.line == 26


@pytest.mark.parametrize(
    ("path", "key", "wanted"),
    [
        ("", "rods", ("strut",)),
        ("", "forearm", ("strut",)),
        ("", "lower_arm", ("strut",)),
        ("", "upper_arm", ("arm",)),
        ("", "motors", ("drives",)),
        ("", "gearbox", ("drives",)),
        ("", "end_effector", ("effector",)),
        ("", "workspace", ("limits.workspace",)),
        ("", "spindel", ("spindle",)),
        ("drives", "inertia", ("rotor_inertia_kgm2",)),
        ("drives", "inertia_kgcm2", ("rotor_inertia_kgcm2",)),
        ("drives", "motor_inertia_kgcm2", ("rotor_inertia_kgcm2",)),
        ("drives", "J_motor", ("rotor_inertia_kgm2",)),
        ("drives", "reduction", ("gear_ratio",)),
        ("drives", "i", ("gear_ratio",)),
        ("limits", "torque_Nm", ("torque_peak_Nm", "torque_rms_Nm")),
        ("limits", "max_torque_Nm", ("torque_peak_Nm",)),
        ("limits", "rated_torque_Nm", ("torque_rms_Nm",)),
        ("limits", "max_speed_rpm", ("rate_rpm",)),
        ("limits", "velocity_deg_s", ("rate_deg_s",)),
        ("limits", "q_min_deg", ("angle_min_deg",)),
        ("friction", "torque_Nm", ("coulomb_Nm",)),
        ("friction", "damping_Nms_rad", ("viscous_Nms_rad",)),
        ("geometry", "l1_mm", ("arm_length_mm",)),
        ("geometry", "L2_mm", ("strut_length_mm",)),
        ("geometry", "R_mm", ("base_radius_mm",)),
        ("geometry", "rod_length_mm", ("strut_length_mm",)),
        ("geometry", "lower_arm_length_mm", ("strut_length_mm",)),
        ("geometry", "gear_ratio", ("drives.gear_ratio",)),
        ("arm", "weight_kg", ("mass_kg",)),
        ("arm", "center_of_mass_mm", ("com_mm",)),
        ("arm", "moment_of_inertia_kgm2", ("inertia_kgm2",)),
        ("controller", "direction", ("sign",)),
        ("controller", "zero_deg", ("offset_deg",)),
        ("platform", "colour", ()),
        ("gray_box", "mass_kg", ()),  # of many other sections
    ],
)
def test_what_a_wrong_name_was_meant_for(path: str, key: str, wanted: tuple[str, ...]) -> None:
    assert meant(key, path, SECTIONS[path] if path else TOP) == wanted


@pytest.mark.parametrize(
    ("path", "key", "wanted"),
    [
        ("", "slider", ("carriage", "spindle")),
        ("", "cart", ("carriage",)),
        ("geometry", "l2_mm", ("strut_length_mm",)),
        ("geometry", "diagonal_rod_length_mm", ("strut_length_mm",)),
        ("geometry", "tower_height_mm", ("rail_height_mm",)),
        ("geometry", "L1_mm", ()),  # no arm, and nothing like it
        ("drives", "screw_mm", ("lead_mm",)),
        ("drives", "pulley_mm", ("pulley_radius_mm",)),
        ("limits", "stroke_max_mm", ("position_max_mm",)),
        ("limits", "max_force_N", ("force_peak_N",)),
        ("limits", "velocity_m_s", ("rate_m_s",)),
    ],
)
def test_what_a_wrong_name_on_rails_was_meant_for(
    path: str, key: str, wanted: tuple[str, ...]
) -> None:
    known = sections(RobotKind(linear=True))
    assert meant(key, path, known[path], known) == wanted


@pytest.mark.parametrize(
    ("platform", "key", "wanted"),
    [
        ("articulated", "halves_mass_kg", ("half_mass_kg",)),
        ("articulated", "bars_length_mm", ("bar_length_mm",)),
        ("articulated", "type", ("kind",)),
        ("articulated", "gears_inertia_kgm2", ("gear_inertia_kgm2",)),
        ("helical", "pitch_mm", ("lead_mm",)),
        ("helical", "screw_lead_mm", ("lead_mm",)),
        ("planar", "weight_kg", ("mass_kg",)),
    ],
)
def test_what_a_wrong_name_of_a_platform_was_meant_for(
    platform: str, key: str, wanted: tuple[str, ...]
) -> None:
    known = sections(RobotKind(platform=platform))
    assert meant(key, "platform", known["platform"], known) == wanted


def test_every_word_of_the_tables_leads_to_a_field() -> None:
    rails = sections(RobotKind(linear=True, spindle=True)).values()
    parts = (TOP, TEN, *SECTIONS.values(), *rails, *OF_HALVES.values())
    fields: set[Field] = {field for some in parts for field in some}
    names = {field.name for field in fields}
    words = names | {word for name in names for word in name.split("_")}
    for said, ours in WORDS.items():
        assert set(ours) <= words, f"{said} leads to {ours}"
    assert {word for text in PHRASES.values() for word in text.split("_")} - words <= {"dof"}
    for places in SYMBOLS.values():
        for place in places:
            section, _, name = place.rpartition(".")
            assert name in {field.name for field in (SECTIONS[section] if section else TOP)}


def test_a_wrong_name_does_not_count_as_missing_too() -> None:
    text = MANY.split("rods:")[0]
    found = errors_of(text)
    missing = [error.quantity for error in found if error.problem == "is missing"]
    assert missing == ["arm", "strut", "platform"]
    assert not any(re.match("geometry.*missing", str(error)) for error in found)


def test_errors_that_follow_from_another_are_not_told() -> None:
    """A length that is wrong makes no strut too heavy, and no list of four axes too long."""
    text = """\
deltadyn: 1
name: tester
geometry: {base_radius_mm: 200, platform_radius_mm: 50, arm_length_mm: 300, strut_length: 700}
arm: {mass_kg: 1, uniform: true}
strut: {mass_kg: 0.1, com_mm: 350, inertia_kgm2: 0.004}
platform: {mass_kg: 0.5}
spindel:
  upper: {mass_kg: 0.4, length_mm: 500, uniform: true}
  lower: {mass_kg: 0.4, length_mm: 500, uniform: true}
drives: {gear_ratio: [20, 20, 20, 10]}
"""
    assert [error.quantity for error in errors_of(text)] == ["geometry.strut_length", "spindel"]


# The side of a rotor inertia.

GEARED = """\
deltadyn: 1
name: tester
geometry: {base_radius_mm: 200, platform_radius_mm: 50, arm_length_mm: 300, strut_length_mm: 700}
arm: {mass_kg: 1, uniform: true}
strut: {mass_kg: 0.1, uniform: true}
platform: {mass_kg: 0.5}
drives:
  gear_ratio: 33
  rotor_inertia_kgm2: 1.2e-4
"""


def test_a_rotor_behind_a_gear_names_its_side() -> None:
    (error,) = errors_of(GEARED)
    assert (error.quantity, error.line) == ("drives.rotor_side", 9)
    assert "the line 'rotor_side: motor_side'" in str(error)
    assert "1:33 is 0.1307 kg m^2 at the output" in str(error)
    robot = robot_from_text(GEARED + "  rotor_side: motor_side\n")
    assert robot.drives.output_inertia == pytest.approx((33**2 * 1.2e-4,) * 3)
    both = GEARED.replace("mass_kg: 0.5", "mass_kg: -0.5")
    assert [e.quantity for e in errors_of(both)] == ["platform.mass_kg", "drives.rotor_side"]


@pytest.mark.parametrize("line", ["  gear_ratio: 33\n", "  rotor_inertia_kgm2: 1.2e-4\n"])
def test_the_side_is_not_asked_for_where_it_does_not_matter(line: str) -> None:
    robot = robot_from_text(GEARED.replace(line, ""))
    assert robot.drives.rotor_side == "output_side"


def test_drives_made_in_python_name_the_side_too() -> None:
    with pytest.raises(RobotError, match="motor_side or output_side"):
        Drives(33.0, 1.2e-4).checked(3)
    assert Drives(33.0).checked(3).rotor_side == "output_side"


def test_a_file_of_0_1_without_the_side_loads_with_a_warning(tmp_path: Path) -> None:
    """0.1 left the line out where the inertia was at the output side."""
    robot = robot_from_text(GEARED + "  rotor_side: output_side\n")
    text = robot_text(robot)
    assert "  rotor_side: output_side\n" in text
    old = tmp_path / "old.yaml"
    old.write_text(text.replace("  rotor_side: output_side\n", ""), "utf-8")
    with pytest.warns(OldFileWarning, match="as deltadyn 0.1 wrote it: taken as output_side"):
        assert load_robot(old) == robot
    old.write_text(old.read_text("utf-8") + "# mine\n", "utf-8")  # made or changed by hand
    with pytest.raises(RobotFileError, match="rotor_side is missing"):
        load_robot(old)


def test_the_command_line_tells_of_an_old_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    robot = robot_from_text(GEARED + "  rotor_side: output_side\n")
    old = tmp_path / "old.yaml"
    old.write_text(robot_text(robot).replace("  rotor_side: output_side\n", ""), "utf-8")
    assert robot_of(str(old)) == robot
    assert "note: " in (told := capsys.readouterr().err)
    assert "taken as output_side" in told
