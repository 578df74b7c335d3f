"""The drawing: rods end at their joints, wherever the platform is."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.family.robots import KINDS, OTHER_PLATFORMS, make

import deltadyn as dd
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.report.picture import bar_hinge, drawn_spacing, rods_apart
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform, HelicalPlatform
from deltadyn.studio.drawing import Place, home, robot_parts, robot_places


def poses(robot: Robot, count: int = 5) -> np.ndarray:
    rng = np.random.default_rng(3)
    cylinder = working_cylinder(robot)
    radius = 0.8 * cylinder.radius * np.sqrt(rng.uniform(size=count))
    around = rng.uniform(0, 2 * np.pi, count)
    z = rng.uniform(cylinder.z_min, cylinder.z_max, count)
    p = np.stack([radius * np.cos(around), radius * np.sin(around), z], axis=-1)
    return np.column_stack([p, rng.uniform(-2, 2, count)])[:, : robot.dof]


def end_of(place: Place, length: float) -> np.ndarray:
    """Where a bar of this length along its own z ends."""
    position, (w, x, y, z) = place
    return position + Rotation.from_quat([x, y, z, w]).apply([0.0, 0.0, length])


CATALOGUE = {name: dd.load_robot(name) for name in dd.robot_names()}
ARMS = [name for name, robot in CATALOGUE.items() if robot.legs == 3 and not robot.linear]


@pytest.mark.parametrize("name", ARMS)
def test_every_robot_of_the_catalogue_is_drawn_joined(name: str) -> None:
    robot = dd.load_robot(name)
    parts = robot_parts(robot)
    g, spacing = robot.rotary, drawn_spacing(robot)
    for p in poses(robot):
        places = robot_places(robot, p)
        assert set(places) == {key for key, part in parts.items() if part.movable}
        q = dd.inverse_kinematics(robot, p)
        for i in range(3):
            radial = np.array([np.cos(g.azimuth[i]), np.sin(g.azimuth[i]), 0.0])
            pin = np.array([-radial[1], radial[0], 0.0])
            out = g.base_radius[i] + g.arm_length[i] * np.cos(q[i])
            elbow = out * radial - [0.0, 0.0, g.arm_length[i] * np.sin(q[i])]
            arm = end_of(places[f"arm {i + 1}"], g.arm_length[i])
            np.testing.assert_allclose(arm, elbow, atol=1e-12)
            for side, letter in ((-0.5, "a"), (0.5, "b")):
                rod = places[f"rod {i + 1}{letter}"]
                joint = p[:3] + g.platform_radius[i] * radial + side * spacing * pin
                np.testing.assert_allclose(rod[0], elbow + side * spacing * pin, atol=1e-12)
                # strut lengths hold to the rounding of the inverse kinematics
                np.testing.assert_allclose(end_of(rod, g.strut_length[i]), joint, atol=1e-9)


def test_both_rods_of_the_telescope_lie_on_one_line_and_overlap() -> None:
    robot = dd.load_robot("abb-irb360-6-1600")
    assert robot.spindle is not None
    assert robot.spindle.upper.length is not None
    assert robot.spindle.lower.length is not None
    for p in poses(robot):
        places = robot_places(robot, p)
        upper, lower = places["spindle upper"], places["spindle lower"]
        total = float(np.linalg.norm(lower[0] - upper[0]))
        np.testing.assert_allclose(end_of(upper, total), lower[0], atol=1e-12)
        np.testing.assert_allclose(end_of(lower, total), upper[0], atol=1e-12)
        assert robot.spindle.upper.length + robot.spindle.lower.length >= total


def test_a_payload_is_drawn_and_turns_with_psi() -> None:
    robot = dd.load_robot("example-delta-4")
    assert "payload" not in robot_parts(robot.with_payload(0.0))
    loaded = robot.with_payload(1.0, (0.1, 0.0, 0.0))
    p = home(loaded)
    p[3] = np.pi / 2
    position, _ = robot_places(loaded, p)["payload"]
    np.testing.assert_allclose((position - p[:3])[:2], [0.0, 0.1], atol=1e-12)


def test_home_is_in_the_middle_of_the_working_cylinder() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    assert robot.limits.workspace is not None
    np.testing.assert_allclose(home(robot), [0.0, 0.0, -0.78])


def near_home(kind: str) -> tuple[Robot, np.ndarray]:
    """A robot of the family off the middle of its workspace, its tool turned."""
    robot = make(kind)
    assert robot.limits.workspace is not None
    p = home(robot)
    p[0] = 0.4 * robot.limits.workspace.radius
    if robot.turns:
        p[3] = 0.7
    return robot, p


@pytest.mark.parametrize("kind", [*KINDS, *OTHER_PLATFORMS])
def test_every_kind_is_drawn_joined(kind: str) -> None:
    robot, p = near_home(kind)
    parts, places = robot_parts(robot), robot_places(robot, p)
    assert set(places) == {key for key, part in parts.items() if part.movable}
    assert all(part.shape.volume > 0 for part in parts.values())  # closed, faces outward
    pose, spacing = dd.kinematics.skeleton(robot, p), drawn_spacing(robot)
    for i, apart in enumerate(rods_apart(robot, pose)):
        if not robot.linear:
            arm = end_of(places[f"arm {i + 1}"], robot.rotary.arm_length[i])
            np.testing.assert_allclose(arm, pose.elbows[i], atol=1e-12)
        for side, letter in ((-0.5, "a"), (0.5, "b")):
            end = end_of(places[f"rod {i + 1}{letter}"], robot.geometry.strut_length[i])
            # strut lengths hold to the rounding of the inverse kinematics
            np.testing.assert_allclose(end, pose.joints[i] + side * spacing * apart, atol=1e-9)
    np.testing.assert_allclose(places["platform"][0], robot.in_space(p), atol=1e-12)


@pytest.mark.parametrize("kind", ["par4", "par4_rails"])
def test_bars_join_the_halves_and_turn_the_tool(kind: str) -> None:
    robot, p = near_home(kind)
    assert isinstance(robot.platform, ArticulatedPlatform)
    places, hinge = robot_places(robot, p), bar_hinge(robot)
    first, second = places["half 1"][0], places["half 2"][0]
    phi = robot.platform.phi0 + p[3] / robot.platform.ratio
    along = robot.platform.bar_length * np.array([np.cos(phi), np.sin(phi), 0.0])
    np.testing.assert_allclose(first - second, along, atol=1e-12)
    for side, name in ((-1, "bar 1"), (1, "bar 2")):
        end = end_of(places[name], robot.platform.bar_length)
        np.testing.assert_allclose((end - first - side * hinge)[:2], 0.0, atol=1e-12)
    w, _, _, z = places["effector"][1]
    np.testing.assert_allclose(2 * np.arctan2(z, w), p[3])


@pytest.mark.parametrize("kind", ["heli4", "heli4_rails"])
def test_the_screw_lifts_one_half_over_the_other(kind: str) -> None:
    robot, p = near_home(kind)
    assert isinstance(robot.platform, HelicalPlatform)
    places = robot_places(robot, p)
    rise = places["half 1"][0] - places["half 2"][0]
    expected = robot.platform.lead * p[3] / (2 * np.pi)
    np.testing.assert_allclose(rise, [0, 0, expected], atol=1e-12)
    np.testing.assert_array_equal(places["platform"][1], places["effector"][1])  # screw and tool


def test_rods_along_the_arms_keep_the_elbows_of_a_planar_robot_level() -> None:
    robot, p = near_home("planar")
    places, pose = robot_places(robot, p), dd.kinematics.skeleton(robot, p)
    for i in range(2):
        above = end_of(places[f"rod {i + 1}c"], robot.rotary.arm_length[i]) - pose.elbows[i]
        np.testing.assert_allclose(above, [0.0, 0.0, drawn_spacing(robot)], atol=1e-12)
    assert not any(name.startswith("bracket") for name in robot_parts(make("planar_rails")))
