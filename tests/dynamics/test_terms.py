"""M(q), C(q, qd), g(q), f: their own laws, and that they add up to the torque."""

from __future__ import annotations

import numpy as np
import pytest
from tests.dynamics.factory import (
    KIND_NAMES,
    KINDS,
    MODELS,
    any_shape,
    full_friction,
    make_robot,
    make_states,
    relative,
)

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import MODELS as ALL_MODELS
from deltadyn.dynamics import equations_of_motion, inverse_dynamics
from deltadyn.kinematics import State
from deltadyn.robot import Robot

ROUNDING = 1e-12  # relative: a few hundred operations on numbers of similar size leave 1e-15

each_model = pytest.mark.parametrize("model", [*MODELS, "rigid, any shape"])


@pytest.fixture(params=KINDS, ids=KIND_NAMES)
def robot(request: pytest.FixtureRequest) -> Robot:
    return make_robot(*request.param)


def chosen(robot: Robot, model: str) -> tuple[Robot, str]:
    """The robot and the model's name; the rigid model also has bodies of any shape."""
    return (any_shape(robot), "rigid") if model == "rigid, any shape" else (robot, model)


def test_the_list_of_models_is_complete() -> None:
    assert set(ALL_MODELS) == set(MODELS)


@each_model
def test_mass_matrix_is_symmetric_and_positive_definite(robot: Robot, model: str) -> None:
    robot, model = chosen(robot, model)
    M = equations_of_motion(robot, make_states(robot, 200), model).M
    assert np.max(np.abs(M - np.swapaxes(M, 1, 2))) < ROUNDING * np.max(np.abs(M))
    # rotors sit on the diagonal of M, so none of its eigenvalues is below the smallest rotor
    assert np.linalg.eigvalsh(M).min() > min(robot.drives.output_inertia)


@each_model
def test_rate_of_the_mass_matrix_less_two_C_is_skew(robot: Robot, model: str) -> None:
    robot, model = chosen(robot, model)
    state = make_states(robot, 50)
    Md = rate_of_mass_matrix(robot, state, model)
    C = equations_of_motion(robot, state, model).C
    N = Md - 2 * C
    assert np.max(np.abs(Md)) > 0.1 * np.max(np.abs(C))  # else M would not change along the motion
    # Steps of 5e-4 rad with fourth order err by 1e-13; rounding of M over h = 1e-4 s leaves
    # 1e-12 |M|, and C is some |qd| = 5 times |M|.
    assert np.max(np.abs(N + np.swapaxes(N, 1, 2))) < 1e-9 * np.max(np.abs(C))


def rate_of_mass_matrix(robot: Robot, state: State, model: str, h: float = 1e-4) -> FloatArray:
    """Md by differences of fourth order along the straight line q + qd t."""
    a, b, c, d = (
        equations_of_motion(
            robot, State.from_joints(robot, state.q + k * h * state.qd, state.qd), model
        ).M
        for k in (-2, -1, 1, 2)
    )
    return (a - 8 * b + 8 * c - d) / (12 * h)


@each_model
def test_torque_is_the_sum_of_the_terms_with_friction(robot: Robot, model: str) -> None:
    robot, model = chosen(robot, model)
    robot = robot.replace(friction=full_friction(robot.dof))
    state = make_states(robot, 200)
    eom = equations_of_motion(robot, state, model)
    total = np.einsum("nij,nj->ni", eom.M, state.qdd) + eom.c + eom.g + eom.f
    assert relative(total, inverse_dynamics(robot, state, model)) < ROUNDING
    assert relative(total - eom.f, inverse_dynamics(robot, state, model, friction=False)) < ROUNDING
    assert np.abs(eom.f).min() > 0.0
    assert np.array_equal(eom.c, np.einsum("nij,nj->ni", eom.C, state.qd))


@each_model
def test_velocity_term_is_zero_at_rest_and_quadratic(robot: Robot, model: str) -> None:
    robot, model = chosen(robot, model)
    moving = make_states(robot, 50)
    rest = equations_of_motion(robot, State.from_joints(robot, moving.q), model)
    once = equations_of_motion(robot, moving, model)
    twice = equations_of_motion(robot, State.from_joints(robot, moving.q, 2 * moving.qd), model)
    assert not rest.C.any()
    assert not rest.c.any()
    assert np.abs(once.c[:, :3]).max() > 1.0
    assert relative(twice.C, 2 * once.C) < ROUNDING
    assert relative(twice.c, 4 * once.c) < ROUNDING
    for term in ("M", "g"):  # neither depends on the rates
        assert np.array_equal(getattr(rest, term), getattr(once, term))


@each_model
def test_one_sample_gives_terms_without_the_row(robot: Robot, model: str) -> None:
    robot, model = chosen(robot, model)
    robot = robot.replace(friction=full_friction(robot.dof))
    many = make_states(robot, 3)
    one = State.from_joints(robot, many.q[1], many.qd[1], many.qdd[1])
    for term in ("M", "C", "c", "g", "f"):
        value = getattr(equations_of_motion(robot, one, model), term)
        expected = getattr(equations_of_motion(robot, many, model), term)[1]
        assert value.shape == expected.shape
        assert np.allclose(value, expected, rtol=ROUNDING, atol=ROUNDING * np.abs(expected).max())
    tau = inverse_dynamics(robot, one, model)
    assert tau.shape == (robot.dof,)
    assert relative(tau, inverse_dynamics(robot, many, model)[1]) < ROUNDING


@pytest.mark.parametrize("model", ["exact", "rigid"])
def test_chunks_do_not_show(model: str) -> None:
    """More samples than one chunk of the array code, against the same samples one by one."""
    robot = make_robot(4, False)
    state = make_states(robot, 2100)
    tau = inverse_dynamics(robot, state, model)
    for row in (0, 2047, 2048, 2099):
        one = State.from_joints(robot, state.q[row], state.qd[row], state.qdd[row])
        assert relative(tau[row], inverse_dynamics(robot, one, model)) < ROUNDING


@each_model
def test_an_external_force_works_through_the_platform(robot: Robot, model: str) -> None:
    """The drives save the power that a force gives: (tau - tau_F).qd = F.pd + M_z psid."""
    robot, model = chosen(robot, model)
    state = make_states(robot, 100)
    wrench = np.random.default_rng(3).uniform(-40.0, 40.0, (100, robot.dof))
    free = inverse_dynamics(robot, state, model)
    pushed = inverse_dynamics(robot, state, model, external_force=wrench)
    saved = np.sum((free - pushed) * state.qd, axis=1)
    # the difference of torques of some 100 N m carries their rounding, 1e-14
    assert np.max(np.abs(saved - np.sum(wrench * state.pd, axis=1))) < 1e-11
    constant = inverse_dynamics(robot, state, model, external_force=wrench[0, :3])
    padded = np.zeros_like(wrench)
    padded[:, :3] = wrench[0, :3]
    same = inverse_dynamics(robot, state, model, external_force=padded)
    assert np.array_equal(constant, same)


@each_model
def test_a_row_out_of_reach_is_nan_and_touches_no_other(robot: Robot, model: str) -> None:
    robot, model = chosen(robot, model)
    robot = robot.replace(friction=full_friction(robot.dof))
    state = make_states(robot, 5)
    p = state.p.copy()
    p[2, 2] = -9.0
    broken = State.from_platform(robot, p, state.pd, state.pdd, unreachable="nan")
    tau, M = inverse_dynamics(robot, broken, model), equations_of_motion(robot, broken, model).M
    assert np.isnan(tau[2, :3]).all()
    assert np.isnan(M[2, :3, :3]).all()
    others = np.arange(5) != 2
    whole = State.from_platform(robot, state.p, state.pd, state.pdd)
    assert np.array_equal(tau[others], inverse_dynamics(robot, whole, model)[others])
    assert np.array_equal(M[others], equations_of_motion(robot, whole, model).M[others])
