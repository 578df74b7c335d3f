"""What a robot file says before anything is fitted: numbers that follow from it, and findings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.family.robots import OTHER_PLATFORMS, make

import deltadyn as dd
from deltadyn.cli import main
from deltadyn.errors import InputError, RobotFileError
from deltadyn.inspection.robot import KINDS, LARGEST_M, SMALLEST_M, check_robot_file
from deltadyn.kinematics.workspace import WorkspaceRules, workspace
from deltadyn.robot import Robot
from deltadyn.robot.file import robot_text

MINE = """\
deltadyn: 1
name: mine
geometry: {base_radius_mm: 200, platform_radius_mm: 50, arm_length_mm: 300, strut_length_mm: 700}
arm: {mass_kg: 1, uniform: true}
strut: {mass_kg: 0.1, uniform: true}
platform: {mass_kg: 0.5}
drives: {gear_ratio: 33, rotor_inertia_kgm2: 1.2e-4, rotor_side: motor_side}
friction: {coulomb_Nm: 1}
limits:
  torque_rms_Nm: 25
  torque_peak_Nm: 75
  payload_kg: 2
  workspace: {radius_mm: 300, z_min_mm: -750, z_max_mm: -600}
"""
SPINDLE = """\
spindle:
  upper: {mass_kg: 0.4, length_mm: 300, uniform: true}
  lower: {mass_kg: 0.4, length_mm: 250, uniform: true}
"""
STATED = "  workspace: {radius_mm: 300, z_min_mm: -750, z_max_mm: -600}\n"


def checked(folder: Path, text: str) -> dd.inspection.Check:
    path = folder / "mine.yaml"
    path.write_text(text, "utf-8")
    return dd.check(path)


def kinds(found: dd.inspection.Check) -> list[str]:
    return [item.kind for item in found.findings]


def test_a_sound_file_has_numbers_and_no_finding(tmp_path: Path) -> None:
    found = checked(tmp_path, MINE)
    assert kinds(found) == []
    assert (found.grade, found.verdict) == ("good", "mine.yaml can be used.")
    numbers = found.robot.as_dict()["numbers"]
    assert numbers["rotor_inertia_kgm2"] == pytest.approx([33**2 * 1.2e-4] * 3)
    assert 20 < numbers["rotor_share"][0] < 70


def test_numbers_agree_with_the_models_they_come_from(tmp_path: Path) -> None:
    found = checked(tmp_path, MINE)
    robot = found.robot.robot
    assert isinstance(robot, Robot)
    numbers = found.robot.as_dict()["numbers"]
    fine = workspace(robot, rules=WorkspaceRules(singularity=0.2))
    assert numbers["reach_m"][0] == pytest.approx(fine.radius.max(), rel=0.02)
    largest = fine.largest_cylinder()
    assert largest is not None
    # volumes: the largest cylinder is flat about its optimum, its own height and radius are not
    radius, low, high = numbers["largest_cylinder_m"]
    volume = largest.radius**2 * (largest.z_max - largest.z_min)
    assert radius**2 * (high - low) == pytest.approx(volume, rel=0.03)
    rest = np.zeros((1, 3))
    middle = dd.State.from_platform(robot, np.array([[0.0, 0.0, -0.675]]), rest, rest)
    still = dd.inverse_dynamics(robot.with_friction(coulomb=0.0), middle)[0]
    assert numbers["holding_torque_Nm"] == pytest.approx(still.tolist())
    step = dd.State.from_joints(robot, middle.q, rest, np.array([[1.0, 0.0, 0.0]]))
    one = dd.inverse_dynamics(robot.with_friction(coulomb=0.0), step)[0] - still
    assert numbers["inertia_kgm2"][0] == pytest.approx(one[0])
    cycle = dd.motion.adept_cycle(robot, cycles_per_minute=60)
    loads = dd.motion_loads(robot, cycle, payload=2.0)
    assert numbers["adept_torque_rms_Nm"] == pytest.approx(
        loads.drives.torque_rms.tolist(), rel=0.01
    )


@pytest.mark.parametrize(
    ("old", "new", "kind", "severity", "words"),
    [
        ("motor_side", "output_side", "rotor share", "warning", "it would be 0.131"),
        ("mass_kg: 0.5", "mass_kg: 5000", "holding torque", "error", "its limit is 25 N m"),
        ("torque_rms_Nm: 25", "torque_rms_Nm: 5", "torque limits", "warning", "allowed: 5 N m"),
        ("radius_mm: 300", "radius_mm: 900", "workspace", "warning", "larger than"),
        ("friction: {coulomb_Nm: 1}\n", "", "no friction", "info", "no friction"),
        ("  torque_rms_Nm: 25\n", "", "no torque limit", "info", "limit on RMS torque."),
        ("  torque_peak_Nm: 75\n", "", "no torque limit", "info", "limit on peak torque."),
        ("torque_rms_Nm: 25", "torque_rms_Nm: 5", "torque limits", "warning", "165 N m there"),
        ("mass_kg: 0.5", "mass_kg: 50", "holding torque", "error", "would be 825 N m there"),
        ("arm_length_mm: 300", "arm_length_mm: 0.3", "size", "warning", "arm_length is 0.0003 m"),
        ("arm_length_mm: 300", "arm_length_m: 300", "size", "warning", "largest of the catalogue"),
        ("gear_ratio: 33", "gear_ratio: 0.03125", "gear ratio", "warning", "Did you mean 32?"),
        (
            "base_radius_mm: 200, platform_radius_mm: 50",
            "base_radius_mm: 50, platform_radius_mm: 200",
            "radii",
            "warning",
            "base_radius of axis 1, 0.05 m, is below",
        ),
        ("rotor_inertia_kgm2: 1.2e-4", "rotor_inertia_kgm2: 0", "no rotor inertia", "info", "no"),
        ("drives:", "payload: {offset_mm: [9, 0, 0]}\ndrives:", "no effect", "info", "not turn"),
    ],
)
def test_what_an_engineer_would_notice(
    tmp_path: Path, old: str, new: str, kind: str, severity: str, words: str
) -> None:
    assert old in MINE
    found = checked(tmp_path, MINE.replace(old, new, 1))
    item = next(item for item in found.findings if item.kind == kind)
    assert item.severity == severity
    assert words in item.text
    assert item.advice == KINDS[kind][1]
    assert found.ok == (severity != "error")


def test_only_what_is_missing_of_the_limits_is_named(tmp_path: Path) -> None:
    found = checked(tmp_path, MINE.replace("  torque_rms_Nm: 25\n", ""))
    (item,) = [item for item in found.findings if item.kind == "no torque limit"]
    assert item.channel == "limits.torque_rms"
    assert "peak" not in item.text


def test_a_reach_below_the_smallest_of_the_catalogue(tmp_path: Path) -> None:
    """Lengths that are a twentieth of a robot's."""
    small = MINE.replace(STATED, "")
    for length in (200, 50, 300, 700):
        small = small.replace(f"_mm: {length}", f"_mm: {length / 20}", 1)
    found = checked(tmp_path, small)
    fields = [item.channel for item in found.findings if item.kind == "size"]
    assert fields == ["geometry.arm_length", "geometry.strut_length", "reach"]


@pytest.mark.full
def test_sizes_are_those_of_the_catalogue() -> None:
    robots = [dd.load_robot(name) for name in dd.robot_names()]
    for name in ("arm_length", "strut_length"):
        lengths = [x for robot in robots for x in getattr(robot.geometry, name, ())]
        assert min(lengths) == pytest.approx(SMALLEST_M[f"geometry.{name}"])
        assert max(lengths) == pytest.approx(LARGEST_M[f"geometry.{name}"])
    reaches = [check_robot_file(name).number("reach_m") for name in dd.robot_names()]
    values = [number.values[0] for number in reaches if number is not None]
    assert min(values) == pytest.approx(SMALLEST_M["reach"], rel=0.02)
    assert max(values) == pytest.approx(LARGEST_M["reach"], rel=0.02)


@pytest.mark.parametrize(
    ("text", "ratio"), [("1:20", "20"), ("20:1", "20"), ("1/20", "20"), ('"3 : 100"', "33.3333")]
)
def test_a_gear_that_is_written_as_two_numbers(tmp_path: Path, text: str, ratio: str) -> None:
    found = checked(tmp_path, MINE.replace("gear_ratio: 33", f"gear_ratio: {text}"))
    assert not found.ok
    assert f"did you mean {ratio}?" in found.findings[0].text
    each = MINE.replace("gear_ratio: 33", f"gear_ratio: [33, 33, {text}]")
    assert f"did you mean {ratio}?" in checked(tmp_path, each).findings[0].text


def test_a_spindle_that_is_too_short(tmp_path: Path) -> None:
    found = checked(tmp_path, MINE + SPINDLE)
    assert "short spindle" in kinds(found)
    assert "0.3 to 0.55 m long; limits.workspace needs 0.6 to" in found.verdict
    assert not found.ok
    longer = SPINDLE.replace("300", "550").replace("250", "500")
    assert "short spindle" not in kinds(checked(tmp_path, MINE + longer))


def test_a_workspace_that_the_spindle_empties(tmp_path: Path) -> None:
    """Today `excite` calls it 'empty'; the check says what empties it."""
    short = SPINDLE.replace("300", "30").replace("250", "25")
    text = MINE.replace(STATED, "") + short
    found = checked(tmp_path, text)
    assert "short spindle" in kinds(found)
    assert "the workspace of the arms needs" in found.verdict
    with pytest.raises(InputError, match="`deltadyn check` says why"):
        dd.design_excitation(dd.load_robot(tmp_path / "mine.yaml"))


def test_angle_limits_that_leave_nothing(tmp_path: Path) -> None:
    text = MINE.replace(STATED, "  angle_min_deg: 95\n  angle_max_deg: 96\n")
    found = checked(tmp_path, text)
    assert [item.text for item in found.findings if item.kind == "empty workspace"] == [
        "limits.angle_min and angle_max leave no point below the base that the arms reach."
    ]


def test_a_wrong_file_is_a_result(tmp_path: Path) -> None:
    wrong = MINE.replace("arm:", "biceps:").replace("mass_kg: 0.5", "mass_kg: -0.5")
    found = checked(tmp_path, wrong)
    assert found.verdict == "mine.yaml has 2 errors."
    assert [item.value for item in found.findings] == [4, 6]
    assert "did you mean 'arm'?" in found.findings[0].text
    assert found.as_dict()["robot"]["name"] is None
    with pytest.raises(RobotFileError, match="does not exist"):
        dd.check(tmp_path / "none.yaml")


def test_a_file_of_0_1_is_told(tmp_path: Path) -> None:
    robot = dd.load_robot("example-delta").with_rotor_inertia(0.04)
    text = robot_text(robot).replace("  rotor_side: output_side\n", "")
    found = checked(tmp_path, text)
    assert "old file" in kinds(found)


@pytest.mark.full
@pytest.mark.parametrize("name", dd.robot_names())
def test_the_catalogue_gives_no_false_alarm(name: str) -> None:
    found = dd.check(name)
    assert {item.severity for item in found.findings} <= {"info"}
    assert found.ok


@pytest.mark.parametrize("kind", OTHER_PLATFORMS)
def test_numbers_of_other_kinds(kind: str) -> None:
    """They agree with the models, in the units of the axes; nothing is odd about these robots."""
    robot = make(kind)
    found = dd.check(robot)
    assert {item.severity for item in found.findings} <= {"info"}
    record = found.robot.as_dict()
    numbers, cylinder = record["numbers"], robot.limits.workspace
    assert cylinder is not None
    assert (record["dof"], record["ok"]) == (robot.dof, True)
    assert numbers["reach_m"][0] >= cylinder.radius
    still = np.zeros((1, robot.dof))
    still[0, robot.coordinates.index("z")] = (cylinder.z_min + cylinder.z_max) / 2
    rest = np.zeros_like(still)
    smooth = robot.with_friction(viscous=0.0, coulomb=0.0)
    at_rest = dd.State.from_platform(robot, still, rest, rest)
    hold = dd.inverse_dynamics(smooth, at_rest)[0]
    unit = "N" if robot.linear else "Nm"
    assert numbers[f"holding_torque_{unit}"] == pytest.approx(hold.tolist(), abs=1e-9)
    step = dd.State.from_joints(robot, at_rest.q, rest, np.eye(robot.dof)[:1])
    one = dd.inverse_dynamics(smooth, step)[0] - hold
    assert numbers["inertia_kg" if robot.linear else "inertia_kgm2"][0] == pytest.approx(one[0])
    cycle = dd.motion.adept_cycle(robot, cycles_per_minute=60)
    loads = dd.motion_loads(robot, cycle)
    rms = loads.drives.torque_rms.tolist()
    assert numbers[f"adept_torque_rms_{unit}"] == pytest.approx(rms, rel=0.01)
    assert "half width" in found.text if robot.planar else "largest cylinder" in found.text


@pytest.mark.parametrize(
    ("name", "hold"),
    [
        # all that moves hangs on two vertical rails: 0.3 + 2 * 0.12 + 4 * 0.015 kg
        ("klipper-deltesian", 9.81 * 0.6 / 2),
        # on three: 0.25 + 3 * 0.09 + 6 * 0.014 kg
        ("flsun-q5-2020", 9.81 * 0.604 / 3),
    ],
)
def test_vertical_rails_hold_the_weight(name: str, hold: float) -> None:
    number = dd.check(name).robot.number("holding_torque_N")
    assert number is not None
    assert number.values == pytest.approx([hold] * len(number.values), rel=1e-12)


def test_the_command(tmp_path: Path) -> None:
    mine, page = tmp_path / "mine.yaml", tmp_path / "check.html"
    mine.write_text(MINE, "utf-8")
    run = CliRunner().invoke(main, ["check", str(mine), "--out", str(page)])
    assert run.exit_code == 0, run.output
    assert run.stdout.startswith("mine.yaml can be used.\n")
    text = page.read_text("utf-8")
    for words in ("mine.yaml can be used.", "What to do next", "holding torque", "plotly"):
        assert words in text
    mine.write_text(MINE.replace("arm:", "biceps:"), "utf-8")
    run = CliRunner().invoke(main, ["check", str(mine), "--json", "--out", str(page)])
    assert run.exit_code == 1
    record = json.loads(run.stdout)
    assert record["grade"] == "bad"
    assert record["robot"]["findings"][0]["channel"] == "biceps"
    assert "biceps" in page.read_text("utf-8")
    run = CliRunner().invoke(main, ["check", str(tmp_path / "none.yaml")])
    assert run.exit_code == 2
