"""Parameter sheets: values, frames, check points and what a transformation cannot express."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

import deltadyn as dd
from deltadyn.errors import DeltadynError, InputError
from deltadyn.exports.sheets import README, Options, files

NAMES = ("sipro-d3-1200", "nt-robot", "usach-delta", "abb-irb360-6-1600", "telescopic-delta")
HAL = "linuxcnc-rotarydeltakins.hal"
CODESYS = "codesys-kin-tripod-rotary.st"
TWINCAT = "twincat-3d-delta-type-1.txt"
BR = "br-3-axis-delta-a.txt"
ROBOT = dd.load_robot("sipro-d3-1200")
Array = npt.NDArray[np.float64]


def settings(text: str) -> dict[str, float]:
    """Names and values of the `setp` lines."""
    return {name: float(value) for name, value in re.findall(r"^setp (\S+) (\S+)$", text, re.M)}


def assignments(text: str) -> dict[str, float]:
    """Names and values of `name = value unit` lines."""
    rows = re.findall(r"^\s*([\w.\[\] ]+?)\s+= (-?[\d.e+-]+) (?:mm|deg|kg)", text, re.M)
    return {name: float(value) for name, value in rows}


def checks(text: str) -> tuple[Array, Array, Array]:
    """Our points, the controller's points and its angles of the three check lines."""
    number = r"(-?\d+\.\d+)"
    triple = rf"{number}, {number}, {number}"
    rows = re.findall(rf"^[#;]?\s*{triple}\s+{triple}\s+{triple}$", text, re.M)
    values = np.array(rows, dtype=float)
    assert values.shape == (3, 9)
    return values[:, :3], values[:, 3:6], values[:, 6:]


def hip_delta(angles: Array, hips: Array, R: float, foot: float, l1: float, l2: float) -> Array:
    """Forward kinematics of a rotary delta with hips at the azimuths `hips`, angles in deg.

    The point lies at l2 from three knees, moved inward by the foot's radius: two differences of
    the sphere equations are linear, and the lower of the two intersections is taken.
    """
    q = np.radians(angles)
    reach = R - foot + l1 * np.cos(q)
    knees = np.stack([reach * np.cos(hips), reach * np.sin(hips), -l1 * np.sin(q)], axis=-1)
    rows = 2 * (knees[1:] - knees[0])
    right = np.sum(knees[1:] ** 2, axis=-1) - np.sum(knees[0] ** 2)
    start = np.linalg.lstsq(rows, right, rcond=None)[0]
    along = np.cross(rows[0], rows[1])
    along /= np.linalg.norm(along)
    along *= -np.sign(along[2])  # downward
    gap = start - knees[0]
    half = gap @ along
    return np.asarray(start + (-half + math.sqrt(half**2 - gap @ gap + l2**2)) * along)


@pytest.mark.parametrize("name", NAMES)
def test_rotarydeltakins_of_the_sheet_is_the_robot(name: str) -> None:
    robot = dd.load_robot(name)
    sheet = files(robot)[HAL]
    s = {key.removeprefix("rotarydeltakins."): v for key, v in settings(sheet).items()}
    hips = np.radians([-90.0, 30.0, 150.0])  # joints 0, 1, 2 of rotarydeltakins
    lengths = (s["platformradius"], s["footradius"], s["thighlength"], s["shinlength"])
    # the sheet's own points: angles have 6 digits behind the point, on 1 m of reach that is 2e-5 mm
    _, theirs, angles = checks(sheet)
    for point, angle in zip(theirs, angles, strict=True):
        np.testing.assert_allclose(hip_delta(angle, hips, *lengths), point, atol=1e-3)
    # and any other point, by the stated map p_controller = Rz(turn) p, joints in the stated order
    turn = math.radians(float(re.search(r"Rz\((\S+) deg\)", sheet)[1]))  # type: ignore[index]
    rng = np.random.default_rng(1)
    space = robot.limits.workspace
    assert space is not None
    q = rng.uniform(-0.2, 0.6, (20, robot.dof))
    p = dd.forward_kinematics(robot, q)[:, :3]
    c, s_ = math.cos(turn), math.sin(turn)
    expected = p @ np.array([[c, s_, 0], [-s_, c, 0], [0, 0, 1]])
    for row, point in zip(np.degrees(q[:, :3]), expected, strict=True):
        # lengths have nine digits; the rest is the arithmetic of metres in mm
        np.testing.assert_allclose(hip_delta(row, hips, *lengths), point * 1e3, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_check_points_are_the_robots_own(name: str) -> None:
    robot = dd.load_robot(name)
    for title, text in files(robot).items():
        if title == README:
            continue
        ours, theirs, angles = checks(text)
        if title.startswith(("klipper", "reprap")):
            angles = -angles  # upward
        assert "our arms 1, 2, 3" in text
        full = np.radians(angles)
        if robot.dof == 4:
            full = np.column_stack([full, np.zeros(3)])
        # 6 digits of a degree on 1 m of reach
        np.testing.assert_allclose(dd.forward_kinematics(robot, full)[:, :3] * 1e3, ours, atol=1e-3)
        level = np.hypot(theirs[:, 0], theirs[:, 1])
        np.testing.assert_allclose(level, np.hypot(ours[:, 0], ours[:, 1]), atol=1e-3)


def test_arms_numbered_clockwise_change_places() -> None:
    g = replace(ROBOT.geometry, azimuth=tuple(np.radians([10.0, 250.0, 130.0])))
    robot = ROBOT.replace(geometry=g)
    sheet = files(robot)[HAL]
    assert "our arms 1, 3, 2" in sheet
    _, theirs, angles = checks(sheet)
    hips = np.radians([-90.0, 30.0, 150.0])
    for point, angle in zip(theirs, angles, strict=True):
        lengths = (250.0, 100.0, 375.0, 900.0)
        np.testing.assert_allclose(hip_delta(angle, hips, *lengths), point, atol=1e-3)


def test_linuxcnc_takes_inches() -> None:
    values = settings(files(ROBOT, Options(linear_units="inch"))[HAL])
    assert values["rotarydeltakins.shinlength"] == pytest.approx(900 / 25.4, rel=1e-8)
    with pytest.raises(InputError, match="linear_units is 'cm'; allowed: one of 'mm', 'inch'"):
        files(ROBOT, Options(linear_units="cm"))


def test_codesys_counts_the_tool_plate_by_its_six_joints() -> None:
    text = files(ROBOT)[CODESYS]
    values = assignments(text)
    g = ROBOT.geometry
    assert g.rod_spacing is not None
    joints = [
        (g.platform_radius[0], side * g.rod_spacing / 2) for side in (-1, 1)
    ]  # of one pair, beside the arm's plane
    for joint in joints:
        assert values["dStewartRadius"] == pytest.approx(math.hypot(*joint) * 1e3, rel=1e-8)
    assert values["dArm1Radius"] == 250.0
    assert values["dMaxAngleBallJoint"] == pytest.approx(45.0)
    # the origin: the platform with horizontal arms
    zero = dd.forward_kinematics(ROBOT, [0.0, 0.0, 0.0])[2] * 1e3
    ours, theirs, _ = checks(text)
    np.testing.assert_allclose(theirs[:, 2], ours[:, 2] - zero, atol=1e-3)
    np.testing.assert_allclose(theirs[:, :2], -ours[:, :2], atol=1e-9)  # A0 stands at 180 deg


@pytest.mark.full
def test_codesys_declaration_parses() -> None:
    blark = pytest.importorskip("blark")
    text = files(ROBOT)[CODESYS]
    assert blark.parse_source_code(text) is not None
    assert "NOT VERIFIED against the vendor's manual" in text


def test_twincat_has_geometry_and_masses() -> None:
    values = assignments(files(ROBOT.with_payload(2.0))[TWINCAT])
    arm, strut = ROBOT.rotary_arms[0], ROBOT.struts[0]
    assert values["Inner arm length"] == 375.0
    assert values["Outer arm length"] == 900.0
    assert values["Displacement"] == 250.0
    assert values["TCP displacement"] == 100.0
    about_shoulder = arm.inertia + arm.mass * arm.com**2
    assert values["Inner arm moment of inertia"] == pytest.approx(about_shoulder * 1e6)
    assert values["Outer arm mass"] == pytest.approx(2 * strut.mass)
    assert values["TCP mass"] == pytest.approx(ROBOT.platform.mass)
    assert (
        "payload of the robot file, a parameter of its own there: 2 kg"
        in files(ROBOT.with_payload(2.0))[TWINCAT]
    )


def test_br_describes_every_limb() -> None:
    g = replace(ROBOT.rotary, arm_length=(0.375, 0.38, 0.37), azimuth=(0.0, 2.0, 4.0))
    robot = ROBOT.replace(geometry=g)
    written = files(robot)
    assert sorted(written) == [README, BR, "klipper-rotary-delta.cfg"]
    values = assignments(written[BR])
    assert values["Dimensions.Arms.Arm[1].UpperArmLength"] == 380.0
    angle = values["Dimensions.BasePlatform.ArmLinkPoint[2].Angle"]
    assert angle == pytest.approx(math.degrees(4.0), rel=1e-8)
    assert "geometry.arm_length is [0.375, 0.38, 0.37]" in written[README]
    assert "LinuxCNC rotarydeltakins: " in written[README]


def test_signs_and_offsets_are_told() -> None:
    robot = ROBOT.replace(
        controller=replace(
            ROBOT.controller, sign=(-1.0, 1.0, 1.0), offset=(math.radians(30), 0.0, 0.0)
        )
    )
    for title, text in files(robot).items():
        if title != README:
            assert "axis 1 (arm 1): drive angle = -1 * q +30 deg" in text
    assert "joint axis [0]: ModelCountDirections Inverse" in files(robot)[BR]
    assert "ModelZeroPositionOffsets of size 30 deg" in files(robot)[BR]


def test_the_fourth_axis_is_told() -> None:
    written = files(dd.load_robot("abb-irb360-6-1600"))
    assert "br-4-axis-delta-a.txt" in written
    assert "joint 5" in written[HAL]
    assert "Kin_CAxis" in written[CODESYS]


def test_a_robot_without_rod_spacing_has_no_codesys_sheet() -> None:
    robot = ROBOT.replace(geometry=replace(ROBOT.geometry, rod_spacing=None))
    written = files(robot)
    assert CODESYS not in written
    assert "geometry.rod_spacing is not given" in written[README]


def test_arms_that_cannot_be_horizontal_have_no_codesys_sheet() -> None:
    assert ROBOT.limits.workspace is not None
    g = replace(ROBOT.geometry, strut_length=0.5, platform_radius=0.02)
    space = replace(ROBOT.limits.workspace, z_min=-0.75, radius=0.1)
    limits = replace(ROBOT.limits, workspace=space)
    strut = replace(ROBOT.struts[0], inertia=0.0)
    robot = ROBOT.replace(geometry=g, limits=limits, struts=(strut,) * 3)
    written = files(robot)
    assert CODESYS not in written
    assert "with horizontal arms the loops do not close" in written[README]


def test_no_sheet_at_all_is_an_error() -> None:
    assert ROBOT.limits.workspace is not None
    space = replace(ROBOT.limits.workspace, z_min=-9.0, z_max=-8.0)
    robot = ROBOT.replace(limits=replace(ROBOT.limits, workspace=space))
    with pytest.raises(DeltadynError, match="no sheet can be written for sipro-d3-1200: LinuxCNC"):
        files(robot)
