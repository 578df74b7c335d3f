"""Reactions in MuJoCo's model of the plant, with exact motion, against the closed forms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.dynamics.factory import any_shape, make_robot, make_states
from tests.family.robots import KINDS, OTHER_PLATFORMS, make, waves

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.dynamics import constraint_loads
from deltadyn.errors import InputError
from deltadyn.kinematics import State
from deltadyn.kinematics.struts import LimbGeometry, arm_axes
from deltadyn.robot import Robot
from deltadyn.simulation import MujocoReactions, mujoco_reactions

pytest.importorskip("mujoco")
# MuJoCo wants 1e-9 kg m^2 about every axis of a body: 1e-8 of a thin rod's inertia remains.
AGREEMENT = 1e-7
SMALL = 1e-3  # of the struts' forces: a reaction below is zero but for that inertia
SPINDLE = ("upper_force", "upper_moment", "slide_force", "slide_moment", "lower_force",
           "lower_moment")  # fmt: skip


def of_family(kind: str) -> tuple[Robot, State]:
    robot = make(kind)
    return robot, waves(robot, 0.2, rate=50.0)


def delta(dof: int, shape: Callable[[Robot], Robot]) -> tuple[Robot, State]:
    robot = shape(make_robot(dof, False))
    return robot, make_states(robot, 8)


def catalogue(name: str) -> tuple[Robot, State]:
    robot = dd.load_robot(name)
    return robot, make_states(robot, 8)


def worst(ours: FloatArray | None, expected: FloatArray | None, natural: float) -> float:
    assert ours is not None
    assert expected is not None
    largest = float(np.max(np.abs(expected)))
    scale = largest if largest > SMALL * natural else natural
    return float(np.max(np.abs(ours - expected))) / scale


def differences(robot: Robot, state: State, model: str) -> dict[str, float]:
    """Largest difference of each reaction over its largest value, or the struts' where it is 0."""
    engine = mujoco_reactions(robot, state)
    loads = constraint_loads(robot, state, friction=False, model=model)  # type: ignore[arg-type]
    force = float(np.max(np.abs(engine.platform)))
    found = {
        name: worst(getattr(loads, name), getattr(engine, name), force)
        for name in ("platform", "elbow", "shoulder_force")
    }
    moment = force * float(np.mean(robot.geometry.strut_length))
    if loads.shoulder_moment is not None and loads.couple is not None:
        limbs = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
        u = limbs.s / np.asarray(robot.geometry.strut_length)[:, None]
        pins = np.broadcast_to(arm_axes(robot)[1], u.shape)
        single = loads.shoulder_moment + loads.couple[..., None] * np.cross(pins, u)
        found["shoulder_moment"] = worst(single, engine.shoulder_moment, moment)
    for name in SPINDLE if loads.spindle is not None else ():
        natural = force if name.endswith("force") else moment
        found[name] = worst(getattr(loads.spindle, name), getattr(engine, name), natural)
    return found


@pytest.mark.parametrize("kind", [*KINDS, *OTHER_PLATFORMS])
def test_every_kind(kind: str) -> None:
    robot, state = of_family(kind)
    assert max(differences(robot, state, "exact").values()) < AGREEMENT


@pytest.mark.parametrize("dof", [3, 4])
def test_bodies_of_any_shape(dof: int) -> None:
    """The rigid model has them to rounding; their thin equivalents are off by some tenths of %."""
    robot, state = delta(dof, any_shape)
    assert max(differences(robot, state, "rigid").values()) < 1e-9
    assert differences(robot, state, "exact")["platform"] > 1e-3


def test_thin_bodies_are_rigid_bodies() -> None:
    robot, state = delta(4, lambda robot: robot)
    for model in ("exact", "rigid"):
        assert max(differences(robot, state, model).values()) < AGREEMENT


def test_the_robot_of_a_paper() -> None:
    robot, state = catalogue("abb-irb360-6-1600")
    assert max(differences(robot, state, "rigid").values()) < AGREEMENT


def test_torque_is_that_of_the_rigid_model() -> None:
    robot, state = delta(4, any_shape)
    tau = dd.inverse_dynamics(robot, state, "rigid")
    engine = mujoco_reactions(robot, state)
    assert np.max(np.abs(engine.tau - tau)) < AGREEMENT * np.max(np.abs(tau))


def test_one_sample_has_no_rows() -> None:
    robot, many = delta(4, any_shape)
    one = State.from_joints(robot, many.q[0], many.qd[0], many.qdd[0])
    row, rows = mujoco_reactions(robot, one), mujoco_reactions(robot, many)
    assert isinstance(row, MujocoReactions)
    np.testing.assert_allclose(row.elbow, rows.elbow[0], rtol=1e-9, atol=1e-9)


def test_what_the_rigid_model_refuses() -> None:
    robot, state = of_family("planar")
    wide = any_shape(make_robot(3, True)).struts[0]
    with pytest.raises(InputError, match="model is 'rigid'"):
        constraint_loads(robot.replace(struts=(wide,) * 2), state, model="rigid")
    with pytest.raises(InputError, match="model is 'half-half'"):
        constraint_loads(robot, state, model="half-half")  # type: ignore[arg-type]
