"""Robots and their parts: what they derive, how they change, and what they refuse."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from deltadyn.errors import (
    InputError,
    RobotError,
    RobotFileError,
    UnknownNameError,
    UnreachableError,
)
from deltadyn.robot import Robot
from deltadyn.robot.bodies import (
    Arm,
    Effector,
    Geometry,
    Payload,
    Platform,
    Rod,
    Spindle,
    Strut,
    TenParameters,
)
from deltadyn.robot.fields import value_at
from deltadyn.robot.file import load_robot
from deltadyn.robot.settings import (
    Controller,
    Drives,
    Friction,
    GrayBox,
    Limits,
    PassiveFriction,
    Source,
    Workspace,
)

GEOMETRY = Geometry(0.2, 0.05, 0.3, 0.7)
ARM = Arm(1.0, 0.12, 0.008)
STRUT = Strut.uniform(0.12, 0.7)
ROD = Rod(0.4, 0.25, 0.0083)
TEN = TenParameters(0.3, (0.0, 0.0, -0.075), (0.025, 0.025, 3e-5, 0.0, 0.0, 0.0))


def robot(**changes: Any) -> Robot:
    parts: dict[str, Any] = {
        "name": "tester",
        "geometry": GEOMETRY,
        "arms": ARM,
        "struts": STRUT,
        "platform": Platform(0.5),
    }
    return Robot(**{**parts, **changes})


def test_one_number_stands_for_all() -> None:
    plain = robot(limits=Limits(rate=2.0), drives=Drives(gear_ratio=[10, 10, 11]))
    assert plain.rotary.arm_length == (0.3, 0.3, 0.3)
    assert plain.arms == (ARM, ARM, ARM)
    assert plain.limits.rate == (2.0, 2.0, 2.0)
    assert plain.drives.gear_ratio == (10.0, 10.0, 11.0)
    assert plain.friction.viscous == (0.0, 0.0, 0.0)


def test_a_spindle_makes_the_fourth_axis() -> None:
    lower = Rod.from_ten(TEN, 0.5)
    turning = robot(spindle=Spindle(Rod(0.4, 0.25, 0.0083, length=0.6), lower, 0.1, 0.02))
    assert (robot().dof, turning.dof) == (3, 4)
    assert turning.axis_names() == ("1", "2", "3", "psi")
    assert turning.controller.sign == (1.0,) * 4
    spindle = turning.spindle
    assert spindle is not None
    assert spindle.pivot_z == pytest.approx(0.08, rel=1e-15)
    assert spindle.stroke == (0.6, 1.1)
    assert Spindle(ROD, ROD).stroke is None
    assert (lower.com, lower.axial_inertia) == (0.25, 3e-5)


def test_rotor_inertia_counts_with_the_square_of_the_ratio() -> None:
    geared = robot(drives=Drives(20.0, 1e-4, "motor_side"))
    assert geared.drives.output_inertia == pytest.approx((0.04,) * 3, rel=1e-14)
    assert geared.with_rotor_inertia(0.05).drives.output_inertia == (0.05,) * 3
    four = load_robot("example-delta-4")
    changed = four.with_rotor_inertia(0.05).drives.output_inertia
    assert changed == (0.05, 0.05, 0.05, four.drives.output_inertia[3])
    assert four.with_rotor_inertia([1, 2, 3, 4]).drives.output_inertia == (1.0, 2.0, 3.0, 4.0)


def test_a_thin_rod_has_the_ten_parameters_of_its_two_ends() -> None:
    ten = STRUT.body(0.7)
    assert ten.inertia[1] == pytest.approx(0.12 * 0.7**2 / 3, rel=1e-14)
    again = Strut.from_ten(ten, 0.7)
    assert again.mass == 0.12
    assert again.com_fraction == pytest.approx(0.5, rel=1e-15)
    assert again.inertia == pytest.approx(STRUT.inertia, rel=1e-14)
    assert np.linalg.matrix_rank(ten.pseudo_inertia()) == 2  # all mass on one line


def test_equal_limbs() -> None:
    assert robot().equal_limbs
    assert not robot(arms=(ARM, ARM, Arm(1.1, 0.12, 0.008))).equal_limbs
    assert not robot(drives=Drives(rotor_inertia=[0.0, 0.0, 0.1])).equal_limbs


def test_the_controllers_angle_and_back() -> None:
    own = robot(controller=Controller([1, -1, 1], [0.0, 0.1, -0.2]))
    q = np.array([[0.1, 0.2, 0.3], [0.0, -1.0, 1.0]])
    assert own.to_controller(q)[0] == pytest.approx([0.1, -0.1, 0.1], abs=1e-15)
    assert own.from_controller(own.to_controller(q)) == pytest.approx(q, abs=1e-15)


def test_a_changed_value_loses_its_source() -> None:
    sources = {
        "arm.mass": Source("weighed"),
        "arm.com": Source("CAD"),
        "payload.mass": Source("none"),
        "drives.rotor_inertia": Source("data sheet"),
        "friction.passive.elbow_sway.viscous": Source("test bench"),
        "strut[1].mass": Source("weighed"),
        "note": Source("a remark"),
    }
    friction = Friction(passive=(PassiveFriction("elbow_sway", 0.1),))
    known = robot(sources=sources, friction=friction)
    heavier = known.replace(arms=(ARM, ARM, Arm(1.2, ARM.com, ARM.inertia)))
    assert set(sources) - set(heavier.sources) == {"arm.mass"}
    assert set(sources) - set(known.with_payload(1.0).sources) == {"payload.mass"}
    assert set(sources) - set(known.with_rotor_inertia(0.1).sources) == {"drives.rotor_inertia"}
    assert set(sources) - set(known.with_friction(passive=()).sources) == {
        "friction.passive.elbow_sway.viscous"
    }
    assert known.replace(payload=Payload(1.0), sources=sources).sources == sources


def test_values_are_found_by_the_path_of_their_source() -> None:
    four = load_robot("example-delta-4")
    assert value_at(four, "arm.mass") == (1.0, 1.0, 1.0)
    assert value_at(four, "strut[2].mass") == 0.12
    assert value_at(four, "friction.passive.prismatic.coulomb") == 4.0
    assert value_at(four, "limits.workspace.radius") == 0.35
    assert value_at(four, "spindle.upper.ten.mass") is None
    for path in ("", "arm[9].mass", "arm.colour", "friction.passive.elbow_sway.viscous"):
        value_at(four, path)  # nothing there, and no error


def test_robots_are_values() -> None:
    four = load_robot("example-delta-4")
    assert pickle.loads(pickle.dumps(four)) == four
    assert hash(four) == hash(load_robot("example-delta-4"))
    assert four != four.with_payload(0.1)
    with pytest.raises(TypeError):
        four.sources["x"] = Source("y")  # type: ignore[index]


@pytest.mark.parametrize(
    "error",
    [
        InputError("p", 1.0, "2", where="row 3"),
        RobotFileError("arm.mass_kg", -1, "at least 0 kg", path="mine.yaml", line=3),
        UnknownNameError("robot", "x", ["a", "b"], or_else="a path"),
        UnreachableError("p", [3, 4], [0.0, 0.0, 1.0], "arm 1 is too short"),
    ],
)
def test_errors_come_back_whole_from_other_processes(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


WRONG_ROBOTS: dict[str, tuple[Callable[[], Any], str, object, str]] = {
    "radius": (
        lambda: Geometry(-0.2, 0.05, 0.3, 0.7),
        "geometry.base_radius",
        -0.2,
        "at least 0 m",
    ),
    "one azimuth": (
        lambda: Geometry(0.2, 0.05, 0.3, 0.7, azimuth=1.0),
        "geometry.azimuth",
        1.0,
        "two, three or four angles, one per arm",
    ),
    "two lengths": (
        lambda: Geometry(0.2, 0.05, [0.3, 0.3], 0.7),
        "geometry.arm_length",
        [0.3, 0.3],
        "one number or 3 numbers",
    ),
    "text": (lambda: Arm("1", 0.1, 0.1), "arm.mass", "1", "a number"),  # type: ignore[arg-type]
    "bool": (lambda: Arm(True, 0.1, 0.1), "arm.mass", True, "a number"),
    "nan": (lambda: Arm(math.nan, 0.1, 0.1), "arm.mass", math.nan, "at least 0 kg"),
    "com fraction": (lambda: Strut(0.1, 1.5, 0.0), "strut.com_fraction", 1.5, "from 0 to 1"),
    "rods": (lambda: Strut(0.1, 0.5, 0.0, rods=3), "strut.rods", 3, "1 or 2"),
    "strut with two masses": (
        lambda: Strut(0.1, 0.5, 0.0, ten=TEN),
        "strut.mass",
        0.1,
        "0.3 kg, the mass in its ten parameters",
    ),
    "rod with two masses": (
        lambda: Rod(0.1, 0.5, 0.1, ten=TEN),
        "rod.mass",
        0.1,
        "0.3 kg, the mass in its ten parameters",
    ),
    "upper rod upside down": (
        lambda: Spindle(Rod.from_ten(TEN), ROD),
        "spindle.upper.ten.first_moment[2]",
        -0.075,
        "at least 0 kg m: z runs down the rod",
    ),
    "ten": (
        lambda: TenParameters(1.0, (1.0, 0.0, 0.0), (0.0, 0.1, 0.1, 0.0, 0.0, 0.0)),
        "ten.inertia",
        [0.0, 0.1, 0.1, 0.0, 0.0, 0.0],
        "a consistent body",
    ),
    "platform": (lambda: Platform(-1.0), "platform.mass", -1.0, "at least 0 kg"),
    "effector": (
        lambda: Effector(1.0, (0.0, 0.0)),  # type: ignore[arg-type]
        "effector.com",
        [0.0, 0.0],
        "one number or 3 numbers",
    ),
    "payload": (lambda: Payload(-1.0), "payload.mass", -1.0, "at least 0 kg"),
    "friction of a joint": (
        lambda: PassiveFriction("prismatic", -1.0),
        "friction.passive.prismatic.viscous",
        -1.0,
        "at least 0",
    ),
    "workspace": (lambda: Workspace(0.0, -1.0, 0.0), "limits.workspace.radius", 0.0, "above 0 m"),
    "gray box": (lambda: GrayBox(-1.0), "gray_box.rho1", -1.0, "above 0"),
    "source": (lambda: Source(" "), "source", " ", "a text that says where"),
    "assumed": (lambda: Source("x", 1), "assumed", 1, "True or False"),  # type: ignore[arg-type]
    "name": (lambda: robot(name=" "), "name", " ", "a text"),
    "description": (lambda: robot(description=None), "description", None, "a text"),
    "sources": (
        lambda: robot(sources={"arm.mass": "weighed"}),
        "sources['arm.mass']",
        "weighed",
        "a Source",
    ),
    "two arms": (lambda: robot(arms=(ARM, ARM)), "arms", 2, "three, one per arm"),
    "gravity": (lambda: robot(gravity=-9.81), "gravity", -9.81, "at least 0 m/s^2"),
    "gear": (
        lambda: robot(drives=Drives(gear_ratio=(1, 1))),
        "drives.gear_ratio",
        [1, 1],
        "one number or 3 numbers",
    ),
    "no viscous friction": (
        lambda: robot(friction=Friction(viscous=None)),
        "friction.viscous",
        None,
        "a number",
    ),
    "joint twice": (
        lambda: robot(friction=Friction(passive=(PassiveFriction("elbow_sway"),) * 2)),
        "friction.passive",
        ["elbow_sway"] * 2,
        "each joint once",
    ),
    "load": (lambda: robot(friction=Friction(load=1.0)), "friction.load", 1.0, "from 0 to 0.9"),
    "angles": (
        lambda: robot(limits=Limits(angle_min=1.0, angle_max=0.0)),
        "limits.angle_max[0]",
        0.0,
        "above angle_min, 1 rad",
    ),
    "rate": (lambda: robot(limits=Limits(rate=0.0)), "limits.rate", 0.0, "above 0"),
    "controller": (
        lambda: robot(controller=Controller(sign=0.0)),
        "controller.sign[0]",
        0.0,
        "1 or -1",
    ),
    "strut of one limb": (
        lambda: robot(struts=(STRUT, STRUT, Strut(0.12, 0.5, 1.0))),
        "struts[2].inertia",
        1.0,
        "at most m f (1 - f) l2^2",
    ),
}


@pytest.mark.parametrize(
    ("make", "quantity", "value", "allowed"), WRONG_ROBOTS.values(), ids=list(WRONG_ROBOTS)
)
def test_a_wrong_part_is_refused(
    make: Callable[[], Any], quantity: str, value: object, allowed: str
) -> None:
    with pytest.raises(RobotError) as caught:
        make()
    error = caught.value
    assert type(error) is RobotError
    assert error.quantity == quantity
    assert error.value == value or (value != value and error.value != error.value)
    assert error.allowed.startswith(allowed)
    assert quantity in str(error)
    assert error.allowed in str(error)


def test_an_unknown_joint_lists_the_joints() -> None:
    with pytest.raises(
        UnknownNameError, match=r"'prysmatic'; allowed: one of 'prismatic', "
    ) as caught:
        PassiveFriction("prysmatic")
    assert "elbow_sway" in caught.value.names
