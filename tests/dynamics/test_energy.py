"""Energies and powers: against M and g, along motions, against an independent engine."""

from __future__ import annotations

import numpy as np
import pytest
from tests.dynamics.factory import (
    KIND_NAMES,
    KINDS,
    full_friction,
    make_robot,
    make_states,
    relative,
)
from tests.reference.convert import to_robot
from tests.reference.engines import energy as engine_energy
from tests.reference.engines import mujoco_engine, random_robot, random_states

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import (
    energy,
    equations_of_motion,
    inverse_dynamics,
    power_balance,
)
from deltadyn.errors import InputError
from deltadyn.kinematics import State
from deltadyn.robot import Robot

ROUNDING = 1e-12  # relative to the largest value; some hundred operations leave 1e-15

FORCE = np.array([30.0, -50.0, 20.0])


@pytest.fixture(params=KINDS, ids=KIND_NAMES)
def robot(request: pytest.FixtureRequest) -> Robot:
    return make_robot(*request.param)


def largest_difference(ours: FloatArray, expected: FloatArray) -> float:
    return float(np.max(np.abs(ours - expected)) / np.max(np.abs(expected)))


def test_kinetic_energy_is_that_of_the_mass_matrix(robot: Robot) -> None:
    state = make_states(robot, 200)
    M = equations_of_motion(robot, state).M
    expected = np.einsum("ni,nij,nj->n", state.qd, M, state.qd) / 2
    assert largest_difference(energy(robot, state).kinetic, expected) < ROUNDING


def test_slope_of_the_potential_is_the_gravity_torque(robot: Robot) -> None:
    q, h = make_states(robot, 50).q, 1e-3
    g = equations_of_motion(robot, State.from_joints(robot, q)).g
    slope = np.empty_like(g)
    for axis in range(robot.dof):
        step = h * np.eye(robot.dof)[axis]
        a, b, c, d = (
            energy(robot, State.from_joints(robot, q + k * step)).potential for k in (-2, -1, 1, 2)
        )
        slope[:, axis] = (a - 8 * b + 8 * c - d) / (12 * h)
    # fourth order: h^4 = 1e-12 times fifth derivatives of some 1e3 J/rad^5, and rounding over h
    assert np.max(np.abs(slope - g)) < 1e-8 * np.max(np.abs(g))


@pytest.mark.parametrize("dof", [3, 4])
def test_energies_of_an_engine(dof: int) -> None:
    for seed in range(3):
        rng = np.random.default_rng([dof, seed])
        drawn = random_robot(rng, dof, thin=True, equal_limbs=False)
        q, qd, _ = random_states(drawn, rng, 50)
        robot = to_robot(drawn, thin=True)
        ours = energy(robot, State.from_joints(robot, q, qd))
        expected = engine_energy(mujoco_engine(drawn), q, qd)
        assert largest_difference(ours.kinetic, expected.kinetic) < ROUNDING
        assert largest_difference(ours.potential, expected.potential) < ROUNDING
        assert largest_difference(ours.total, expected.kinetic + expected.potential) < ROUNDING


def test_power_along_a_smooth_motion(robot: Robot) -> None:
    """d(T + V)/dt == qd.(tau - friction) + pd.F_ext, with the rate taken from the energies."""
    robot = robot.with_friction(**vars(full_friction(robot.dof)))
    h = 2e-4
    t = np.arange(0.0, 0.2, h)
    phase = 2 * np.pi * np.outer(t, [4.0, 5.0, 6.0, 7.0][: robot.dof])
    speed = 2 * np.pi * np.array([4.0, 5.0, 6.0, 7.0][: robot.dof])
    size = np.array([0.1, 0.1, 0.08, 1.0][: robot.dof])
    p = size * np.sin(phase) + np.array([0.0, 0.0, -0.75, 0.0][: robot.dof])
    pd, pdd = size * speed * np.cos(phase), -size * speed**2 * np.sin(phase)
    state = State.from_platform(robot, p, pd, pdd)
    total = energy(robot, state).total
    rate = (total[:-4] - 8 * total[1:-3] + 8 * total[3:-1] - total[4:]) / (12 * h)
    tau = inverse_dynamics(robot, state, external_force=FORCE)
    frictionless = inverse_dynamics(robot, state, external_force=FORCE, friction=False)
    given = np.sum(state.qd * frictionless, axis=1) + state.pd[:, :3] @ FORCE
    # fourth order: (7 Hz * 2 pi * 2e-4 s)^4 / 30 = 2e-10 of the rate, more for its overtones
    assert largest_difference(given[2:-2], rate) < 1e-6
    balance = power_balance(robot, state, external_force=FORCE)
    assert largest_difference(balance.stored[2:-2], rate) < 1e-6
    scale = np.max(np.abs(balance.drives))
    assert np.max(np.abs(balance.residual)) < ROUNDING * scale
    assert largest_difference(balance.drives, np.sum(state.qd * tau, axis=1)) < ROUNDING
    assert largest_difference(balance.external, state.pd[:, :3] @ FORCE) < ROUNDING
    lost = np.sum(state.qd * (tau - frictionless), axis=1)
    assert largest_difference(balance.friction, lost) < 1e-10


def test_stored_power_checks_the_model_itself(robot: Robot) -> None:
    state = make_states(robot, 200)
    balance = power_balance(robot, state)
    assert np.max(np.abs(balance.residual)) < ROUNDING * np.max(np.abs(balance.drives))
    assert not balance.friction.any()
    assert not balance.external.any()


def test_the_residual_shows_what_measured_torques_have_too_much(robot: Robot) -> None:
    state = make_states(robot, 20)
    tau = inverse_dynamics(robot, state)
    balance = power_balance(robot, state, tau + 0.5)
    np.testing.assert_allclose(balance.residual, 0.5 * state.qd.sum(axis=1), rtol=0, atol=1e-9)


def test_viscous_and_coulomb_friction_only_take_energy(robot: Robot) -> None:
    state = make_states(robot, 200)
    dragging = robot.with_friction(viscous=0.5, coulomb=1.0)
    balance = power_balance(dragging, state)
    expected = 0.5 * np.sum(state.qd**2, axis=1) + np.sum(np.abs(state.qd), axis=1)
    assert relative(balance.friction[:, None], expected[:, None]) < ROUNDING
    assert (balance.friction > 0).all()


def test_one_sample_and_rows_out_of_reach(robot: Robot) -> None:
    many = make_states(robot, 3)
    one = State.from_joints(robot, many.q[1], many.qd[1], many.qdd[1])
    assert np.shape(energy(robot, one).kinetic) == ()
    np.testing.assert_allclose(energy(robot, one).total, energy(robot, many).total[1], rtol=1e-12)
    stored = power_balance(robot, many).stored[1]
    np.testing.assert_allclose(power_balance(robot, one).stored, stored, rtol=1e-9)
    p = many.p.copy()
    p[1, :3] = [5.0, 0.0, -0.8]
    found = energy(robot, State.from_platform(robot, p, unreachable="nan"))
    np.testing.assert_array_equal(np.isnan(found.kinetic), [False, True, False])
    np.testing.assert_array_equal(np.isnan(found.potential), [False, True, False])


def test_misuse_is_refused(robot: Robot) -> None:
    state = make_states(robot, 3)
    with pytest.raises(InputError, match="motion"):
        energy(robot, state.p)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="tau"):
        power_balance(robot, state, np.zeros((2, robot.dof)))
