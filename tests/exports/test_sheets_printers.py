"""Printers' configurations: each firmware's own formulas give our positions from the file."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.exports.printers import Printer, read_klipper, read_marlin, read_reprap
from tests.family.robots import make

import deltadyn as dd
from deltadyn.errors import DeltadynError
from deltadyn.exports.sheets import README, NotExpressibleError, files
from deltadyn.exports.sheets_printers import klipper_rotary, reprap_rotary
from deltadyn.robot import Robot
from deltadyn.robot.settings import Controller

Array = npt.NDArray[np.float64]
KLIPPER, MARLIN, REPRAP = "klipper-delta.cfg", "marlin-delta.h", "reprapfirmware-delta.g"
KLIPPER_ARMS, REPRAP_ARMS = "klipper-rotary-delta.cfg", "reprapfirmware-rotary-delta.g"
READERS: dict[str, Callable[[str], Printer]] = {
    KLIPPER: read_klipper,
    MARLIN: read_marlin,
    REPRAP: read_reprap,
    KLIPPER_ARMS: read_klipper,
    REPRAP_ARMS: read_reprap,
}
TOP = 0.55  # m: where the end stops are


def printer(kind: str = "vertical", **geometry: Any) -> Robot:
    """A printer with end stops, and other geometry where it is given."""
    robot = make(kind)
    ends: dict[str, Any] = {"angle_min": -0.1, "angle_max": (TOP, TOP - 0.002, TOP - 0.003)}
    if robot.dof == 4:
        ends = {"angle_min": (-0.1,) * 3 + (-3.0,), "angle_max": (*ends["angle_max"], 3.0)}
    own = replace(robot.geometry, rod_spacing=0.04, **geometry)
    return robot.replace(geometry=own, limits=replace(robot.limits, **ends))


def uneven() -> Robot:
    """Rods and towers of their own, numbered clockwise, with rails that begin at heights."""
    return printer(
        strut_length=(0.5, 0.502, 0.499),
        azimuth=tuple(np.radians([40.0, 281.0, 159.0])),
        rail_height=(0.0, 0.01, -0.005),
    )


def arms(**geometry: Any) -> Robot:
    """The NT robot with end stops that differ, and other geometry where it is given."""
    robot = dd.load_robot("nt-robot")
    low = np.radians([-45.0, -44.5, -46.0])
    limits = replace(robot.limits, angle_min=tuple(low))
    return robot.replace(geometry=replace(robot.geometry, **geometry), limits=limits)


CLOCKWISE = tuple(np.radians([40.123456, 281.0, 159.0]))
ROBOTS: dict[str, tuple[Callable[[], Robot], tuple[str, ...]]] = {
    "towers": (printer, (KLIPPER, MARLIN, REPRAP)),
    "uneven towers": (uneven, (KLIPPER, MARLIN, REPRAP)),
    "towers with a spindle": (lambda: printer("vertical_spindle"), (KLIPPER, MARLIN, REPRAP)),
    "towers at other distances": (lambda: printer(base_radius=(0.3, 0.301, 0.3)), (MARLIN,)),
    "arms": (arms, (KLIPPER_ARMS, REPRAP_ARMS)),
    "arms with a spindle": (
        lambda: dd.load_robot("abb-irb360-6-1600"),
        (KLIPPER_ARMS, REPRAP_ARMS),
    ),
    "uneven arms": (
        lambda: arms(arm_length=(0.3423, 0.344, 0.341), strut_length=(0.8, 0.801, 0.7995)),
        (KLIPPER_ARMS,),
    ),
    "clockwise arms": (lambda: arms(azimuth=CLOCKWISE), (KLIPPER_ARMS, REPRAP_ARMS)),
    "arms at heights": (
        lambda: arms(shoulder_height=(0.0, 0.01, -0.005), strut_length=(0.8, 0.801, 0.7995)),
        (REPRAP_ARMS,),
    ),
}
CASES = [(robot, name) for robot, (_, names) in ROBOTS.items() for name in names]


def told(text: str) -> tuple[float, float, list[int]]:
    """Turn (deg), lift (mm) and our limbs in the firmware's order, as a sheet says them."""
    frame = re.search(r"Rz\((\S+) deg\) p \+ \(0, 0, (\S+) mm\)", text)
    order = re.search(r"our (?:limbs|arms) (\d), (\d), (\d)", text)
    assert frame is not None
    assert order is not None
    return float(frame[1]), float(frame[2]), [int(x) - 1 for x in order.groups()]


@pytest.fixture(scope="module")
def written() -> dict[str, tuple[Robot, dict[str, str]]]:
    robots = {name: build() for name, (build, _) in ROBOTS.items()}
    return {name: (robot, files(robot)) for name, robot in robots.items()}


def place(text: str, p: Array) -> Array:
    """Our points (N, 3) in the firmware's frame, mm."""
    turn, lift, _ = told(text)
    c, s = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    turned = p[:, :3] @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    return np.asarray(turned * 1e3 + [0.0, 0.0, lift])


def motors(robot: Robot, text: str, q: Array, unit: float) -> Array:
    """Our q (N, dof) as the firmware's motors: heights above the bed, or angles upward."""
    _, lift, limbs = told(text)
    if robot.linear:
        up = [frame.shoulder[2] for frame in robot.geometry.frames]
        return ((q[:, :3] + up) * 1e3 + lift)[:, limbs]
    return np.asarray(-np.degrees(q[:, :3]) * unit)[:, limbs]


@pytest.mark.parametrize(("case", "name"), CASES)
def test_a_firmware_that_reads_the_file_is_the_robot(
    case: str, name: str, written: dict[str, tuple[Robot, dict[str, str]]]
) -> None:
    """Tool positions, motors' positions and the home position, to the digits of the file.

    A length has 6 digits of a mm, an angle 6 of a degree, which is 1e-5 mm on 0.8 m.
    """
    robot, texts = written[case]
    text = texts[name]
    assert "nearest here" not in text
    firmware = READERS[name](text)
    space = robot.limits.workspace
    assert space is not None
    rng = np.random.default_rng(2)
    p = np.zeros((20, robot.dof))
    turn, out = rng.uniform(0, 2 * math.pi, 20), space.radius * np.sqrt(rng.uniform(0, 1, 20))
    p[:, 0], p[:, 1] = out * np.cos(turn), out * np.sin(turn)
    p[:, 2] = rng.uniform(space.z_min, space.z_max, 20)
    q = np.asarray(dd.inverse_kinematics(robot, p))
    ours, theirs = motors(robot, text, q, firmware.degrees), place(text, p)
    tools = np.array([firmware.tool(row) for row in ours])
    np.testing.assert_allclose(tools, theirs, atol=3e-5)
    moved = np.array([firmware.motors(row) for row in theirs])
    within = 1e-5 if robot.linear else 3e-6 * firmware.degrees  # mm; deg: 1e-5 mm on 0.3 m
    np.testing.assert_allclose(moved, ours, atol=within)
    ends = np.zeros((1, robot.dof))
    ends[0, :3] = (robot.limits.angle_max if robot.linear else robot.limits.angle_min)[:3]  # type: ignore[index]
    np.testing.assert_allclose(
        firmware.home, motors(robot, text, ends, firmware.degrees)[0], atol=within
    )
    home = place(text, np.asarray(dd.forward_kinematics(robot, ends)))[0]
    np.testing.assert_allclose(firmware.tool(firmware.home), home, atol=3e-5)


def test_check_points_of_arms_are_the_firmwares_own(
    written: dict[str, tuple[Robot, dict[str, str]]],
) -> None:
    number = r"(-?\d+\.\d+)"
    triple = rf"{number}, {number}, {number}"
    for name in (KLIPPER_ARMS, REPRAP_ARMS):
        text = written["clockwise arms"][1][name]
        assert "our arms 1, 3, 2" in text
        firmware = READERS[name](text)
        rows = re.findall(rf"^[#;]\s*{triple}\s+{triple}\s+{triple}$", text, re.M)
        values = np.array(rows, dtype=float)
        assert values.shape == (3, 9)
        for row in values:
            shown = firmware.motors(row[3:6]) / firmware.degrees
            np.testing.assert_allclose(shown, row[6:], atol=2e-5)  # points have 4 digits of a mm


def test_a_printers_drive_and_what_is_not_known() -> None:
    text = files(printer())[KLIPPER]
    way = re.search(r"^rotation_distance: (\S+)$", text, re.M)
    assert way is not None
    assert float(way[1]) == pytest.approx(2 * math.pi * 20.0, abs=1e-5)
    assert "gear_ratio: 21:1" in files(arms())[KLIPPER_ARMS]
    for robot, names, limit in (
        (printer(), (KLIPPER, MARLIN, REPRAP), "position_max"),
        (arms(), (KLIPPER_ARMS, REPRAP_ARMS), "angle_min"),
    ):
        blind = robot.replace(limits=replace(robot.limits, angle_min=None, angle_max=None))
        texts = files(blind)
        for name in names:
            assert f"limits.{limit} of the robot file is not given" in texts[name]
            homing = r"^(position_endstop|#define DELTA_HEIGHT|M666|M669.* A)"
            assert not re.search(homing, texts[name], re.M)


def test_towers_at_other_distances_are_for_marlin_alone(
    written: dict[str, tuple[Robot, dict[str, str]]],
) -> None:
    """The others get the nearest robot that they hold, and say how far off it is."""
    texts = written["towers at other distances"][1]
    for name in (KLIPPER, REPRAP):
        off = re.search(r"nearest here: off by (\S+) mm rms, (\S+) mm worst", texts[name])
        assert off is not None
        assert 0.01 < float(off[1]) < float(off[2]) < 0.5
    assert "Klipper has one delta_radius" in texts[README]


def test_what_firmwares_of_arms_do_not_hold_is_said(
    written: dict[str, tuple[Robot, dict[str, str]]],
) -> None:
    readme = written["uneven arms"][1][README]
    assert "Marlin: it has no rotary Delta (2.1.2.4)" in readme
    assert "geometry.arm_length is [0.3423, 0.344, 0.341]" in readme  # RepRapFirmware: nearest
    assert "nearest here" in written["uneven arms"][1][REPRAP_ARMS]
    assert "Klipper has one shoulder_height" in written["arms at heights"][1][README]
    robot = arms()
    assert robot.limits.workspace is not None
    no_bed = robot.replace(limits=replace(robot.limits, workspace=None))
    leaning = arms(shoulder_tangential=(0.0, 0.08, 0.0), axis_yaw=(0.3, 0.0, 0.0))
    deep = replace(robot.limits.workspace, z_min=-1.05, radius=0.3)
    below = robot.replace(limits=replace(robot.limits, workspace=deep))
    inside = arms(base_radius=0.03, platform_radius=0.04)
    high = replace(robot.limits, angle_min=math.radians(-100.0))
    for own, write, reason in (
        (no_bed, klipper_rotary, "limits.workspace is not given"),
        (leaning, klipper_rotary, "geometry.shoulder_tangential is not 0"),
        (below, reprap_rotary, "this firmware, which takes an arc sine, has no angles beyond 90"),
        (inside, klipper_rotary, "base_radius less platform_radius is -10 mm"),
        (robot.replace(limits=high), klipper_rotary, "limits.angle_min is no place above the bed"),
        (make("par4"), reprap_rotary, "the robot has 4 arms, and this firmware has three"),
    ):
        with pytest.raises(NotExpressibleError, match=reason):
            write(own)


def test_a_spindle_on_rails_is_an_axis_of_its_own(
    written: dict[str, tuple[Robot, dict[str, str]]], tmp_path: Path
) -> None:
    robot, texts = written["towers with a spindle"]
    assert "Axis 4: psi is no axis of Klipper's kinematics" in texts[KLIPPER]
    assert "AXIS4_ROTATES" in texts[MARLIN]
    assert "M584 with R1" in texts[REPRAP]
    for name in ("codesys-kin-tripod-linear.st", "twincat-3d-tripod-type-1.txt"):
        assert "psi: an axis of its own in deg" in texts[name]
    done = dd.export(robot, "sheets", tmp_path / "out")
    assert sorted(path.name for path in done.files) == sorted(texts)


def test_inclined_rails_have_no_sheet() -> None:
    with pytest.raises(DeltadynError, match=r"rail_pitch is .* vertical towers alone") as caught:
        files(make("rails"))
    for name in ("Klipper", "Marlin", "RepRapFirmware", "Kin_Tripod_Linear", "3D-Tripod"):
        assert name in str(caught.value)


@pytest.mark.parametrize(("name", "endstop"), [("kossel-2016", 273.0), ("flsun-q5-2020", 220.0)])
def test_a_sheet_agrees_with_its_own_head(name: str, endstop: float) -> None:
    """A carriage stands as high above the bed as its controller counts; so does the end stop."""
    robot = dd.load_robot(name)
    texts = files(robot)
    for sheet in ("klipper-delta.cfg", "marlin-delta.h", "reprapfirmware-delta.g"):
        text = str(texts[sheet])
        offset = re.search(r"offset (\S+), ", text)
        assert offset is not None
        assert told(text)[1] == pytest.approx(1e3 * float(offset[1]), abs=1e-9)
        rows = re.findall(r"((?:-?\d+\.\d{4}(?:, |\s*)){12})$", text, re.M)
        assert len(rows) >= 3
        for row in rows:
            numbers = [float(x) for x in re.findall(r"-?\d+\.\d{4}", row)]
            own = np.array(numbers[3:6]) + 1e3 * np.array(robot.controller.offset)
            np.testing.assert_allclose(numbers[9:], own[told(text)[2]], atol=2e-4)
    stops = re.findall(r"position_endstop: (\S+)", str(texts["klipper-delta.cfg"]))
    np.testing.assert_allclose([float(x) for x in stops], endstop, atol=1e-3)


def test_a_controller_that_counts_otherwise_leaves_the_bed_to_the_workspace() -> None:
    robot = dd.load_robot("kossel-2016")
    for sign, offset in ((1.0, (0.4, 0.41, 0.42)), (-1.0, 0.4), (1.0, 0.0)):
        other = robot.replace(controller=Controller(sign, offset))
        assert told(str(files(other)["klipper-delta.cfg"]))[1] == pytest.approx(479.553)
