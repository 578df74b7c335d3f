"""The drawing: rods end at their joints, wherever the platform is."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import deltadyn as dd
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.report.picture import drawn_spacing
from deltadyn.robot import Robot
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


ARMS = [name for name in dd.robot_names() if not dd.load_robot(name).linear]


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
