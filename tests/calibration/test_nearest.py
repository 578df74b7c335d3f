"""The nearest robot that a controller can hold."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import deltadyn as dd
from deltadyn.calibration.nearest import nearest_robot
from deltadyn.errors import DeltadynError, InputError
from deltadyn.exports import sheets
from deltadyn.robot import Robot

ROTARY = ("offset",), ("radius", "arm", "strut")


def off_by(name: str, seed: int, **fields: float) -> Robot:
    """A catalogue robot with random errors of these sizes."""
    robot, rng = dd.load_robot(name), np.random.default_rng(seed)
    g = robot.geometry
    changes: dict[str, Any] = {
        field: tuple(np.add(getattr(g, field), rng.normal(0, size, 3)))
        for field, size in fields.items()
    }
    return robot.replace(geometry=replace(g, **changes))


def positions(robot: Robot, shown: np.ndarray) -> np.ndarray:
    """Platform points of the controller's coordinates."""
    return dd.forward_kinematics(robot, np.asarray(robot.from_controller(shown)))[:, :3]


def test_what_a_transformation_holds_is_not_changed() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    found = nearest_robot(robot, *ROTARY)
    assert found.exact
    np.testing.assert_allclose(found.robot.rotary.arm_length, robot.rotary.arm_length)


def test_the_error_that_is_left_is_that_of_its_positions() -> None:
    """And no neighbour of it is nearer: it is the best, not just one that fits."""
    robot = off_by("sipro-d3-1200", 1, arm_length=1e-3, shoulder_height=1e-3, axis_yaw=3e-3)
    found = nearest_robot(robot, *ROTARY)
    rng = np.random.default_rng(2)
    box = robot.limits.workspace
    assert box is not None
    angle, share = rng.uniform(0, 2 * np.pi, 400), np.sqrt(rng.uniform(0, 1, 400))
    p = np.column_stack(
        [
            box.radius * share * np.cos(angle),
            box.radius * share * np.sin(angle),
            rng.uniform(box.z_min, box.z_max, 400),
        ]
    )
    shown = np.asarray(robot.to_controller(dd.inverse_kinematics(robot, p)))

    def rms(other: Robot) -> float:
        return float(np.sqrt(((positions(other, shown) - p) ** 2).sum(axis=1).mean()))

    assert rms(found.robot) == pytest.approx(found.rms, rel=0.15)
    assert found.worst > found.rms > 1e-4
    plain = dd.load_robot("sipro-d3-1200")
    assert rms(found.robot) < 0.8 * rms(plain)
    g = found.robot.geometry
    for change in (-2e-4, 2e-4):
        for field in ("arm_length", "strut_length"):
            longer: dict[str, Any] = {field: tuple(np.add(getattr(g, field), change))}
            assert rms(found.robot.replace(geometry=replace(g, **longer))) > rms(found.robot)


def test_more_numbers_leave_less() -> None:
    robot = off_by("sipro-d3-1200", 3, arm_length=1e-3, strut_length=1e-3, shoulder_height=1e-3)
    each = ("radius", "offset", "arm", "strut")
    few, more = nearest_robot(robot, *ROTARY), nearest_robot(robot, each)
    assert few.rms > 3 * more.rms
    assert nearest_robot(robot, (*each, "height")).exact


def test_a_printer_holds_tangential_places_as_angles() -> None:
    robot = off_by("kossel-2016", 4, strut_length=1e-3, rail_height=1e-3, rail_tangential=1e-3)
    found = nearest_robot(robot, ("height", "strut", "tangential", "radius"), azimuths=True)
    assert found.robot.geometry.rail_tangential == (0.0, 0.0, 0.0)  # type: ignore[union-attr]
    assert found.worst < 2e-5  # of second order: 1 mm aside on 100 mm


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(InputError, match="pitch"):
        nearest_robot(dd.load_robot("sipro-d3-1200"), ("pitch",))


def test_sheets_of_a_calibrated_robot_say_what_is_left() -> None:
    """B&R has heights per arm; the others have one of each length."""
    robot = off_by("sipro-d3-1200", 5, arm_length=1e-3, shoulder_height=1e-3)
    written = sheets.files(robot)
    assert "nearest" not in written["br-3-axis-delta-a.txt"]
    for name in ("linuxcnc-rotarydeltakins.hal", "twincat-3d-delta-type-1.txt"):
        off = re.search(r"nearest here: off by (\S+) mm rms, (\S+) mm worst", written[name])
        assert off is not None
        assert 0.05 < float(off[1]) < float(off[2]) < 3.0
    turned = off_by("sipro-d3-1200", 6, axis_yaw=3e-3)
    assert "nearest here" in sheets.files(turned)["br-3-axis-delta-a.txt"]
    far = off_by("sipro-d3-1200", 7, axis_yaw=0.3, shoulder_height=0.05)
    with pytest.raises(DeltadynError, match="the nearest robot that it holds"):
        sheets.files(far)


def test_heights_of_rails_are_offsets_of_their_axes() -> None:
    robot = off_by("kossel-2016", 8, rail_height=1e-3)
    found = nearest_robot(robot, ("height",), ("radius", "strut"), levelled=True)
    assert found.exact
    assert found.robot.geometry.rail_height == (0.0, 0.0, 0.0)  # type: ignore[union-attr]
