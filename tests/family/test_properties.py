"""Laws that hold for every robot of the family: inverses, rates, symmetry, energy, linearity."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import assume, given, settings
from tests.family.random_robots import motions, points, robots, seeds

import deltadyn as dd
from deltadyn import backends
from deltadyn.arrays import FloatArray
from deltadyn.dynamics import energy, power_balance
from deltadyn.kinematics import jacobian_rate
from deltadyn.robot import Robot

BRANCHES = list(product(("out", "in"), repeat=3))
SAMPLES = 4
ROUNDING = 1e-10  # of the largest entry, times the conditioning of poses that are kept
STEP = 1e-5  # s, of differences of fourth order: 1e-20 times a fifth derivative, 1e-11 of rounding
DIFFERENCED = 1e-6


def close(ours: FloatArray, expected: FloatArray, relative: float = ROUNDING) -> None:
    assert ours.shape == expected.shape
    assert np.max(np.abs(ours - expected)) <= relative * max(np.max(np.abs(expected)), 1e-3)


def differenced(values: list[FloatArray]) -> FloatArray:
    """The rate of what was found at -2, -1, 1 and 2 steps."""
    a, b, c, d = values
    rate: FloatArray = (a - 8 * b + 8 * c - d) / (12 * STEP)
    return rate


def moved(state: dd.State) -> list[FloatArray]:
    """Positions before and behind a state on the line of its velocity."""
    return [state.p + k * STEP * state.pd for k in (-2, -1, 1, 2)]


@settings(max_examples=40, deadline=None)
@given(robots, seeds)
def test_joints_of_every_branch_reach_the_point(robot: Robot, seed: int) -> None:
    """Elbows are at l2 from the point in all eight branches, and one assembly gives it back."""
    found = 0
    for elbows in BRANCHES:
        p = points(robot, 2, seed, elbows)
        if not len(p):
            continue
        found += 1
        q = dd.inverse_kinematics(robot, p, elbows=elbows)
        sides = [
            dd.forward_kinematics(robot, q, platform=side, unreachable="nan")
            for side in ("below", "above")
        ]
        apart = np.min([np.linalg.norm(side - p, axis=1) for side in sides], axis=0)
        assert np.max(apart) < 1e-10
    assume(found)


@settings(max_examples=30, deadline=None)
@given(robots, seeds)
def test_rates_and_jacobians_are_differences(robot: Robot, seed: int) -> None:
    state = motions(robot, SAMPLES, seed)
    assume(len(state))
    places = moved(state)
    close(state.qd, differenced([dd.inverse_kinematics(robot, p) for p in places]), DIFFERENCED)
    J = dd.jacobian(robot, state.p)
    close(np.einsum("nij,nj->ni", J, state.qd), state.pd)
    Jd = differenced([dd.jacobian(robot, p) for p in places])
    close(jacobian_rate(robot, state.p, state.pd), Jd, DIFFERENCED)
    bent = np.einsum("nij,nj->ni", J, state.qdd)
    close(bent + np.einsum("nij,nj->ni", Jd, state.qd), state.pdd, DIFFERENCED)


@settings(max_examples=30, deadline=None)
@given(robots, seeds)
def test_mass_matrix_coriolis_and_energy(robot: Robot, seed: int) -> None:
    state = motions(robot, SAMPLES, seed)
    assume(len(state))
    terms = dd.equations_of_motion(robot, state)
    assert np.all(np.linalg.eigvalsh(terms.M) > 0)
    tau = np.einsum("nij,nj->ni", terms.M, state.qdd) + terms.c + terms.g
    close(tau, dd.inverse_dynamics(robot, state))
    along = [dd.State.from_platform(robot, p, state.pd) for p in moved(state)]
    Md = differenced([dd.equations_of_motion(robot, each).M for each in along])
    skew = Md - 2 * terms.C
    assert np.max(np.abs(skew + skew.transpose(0, 2, 1))) < DIFFERENCED * np.max(np.abs(Md))
    kinetic = np.einsum("ni,nij,nj->n", state.qd, terms.M, state.qd) / 2
    close(energy(robot, state).kinetic, kinetic)
    lifted = differenced([energy(robot, each).potential for each in along])
    close(np.einsum("ni,ni->n", state.qd, terms.g), lifted, DIFFERENCED)
    power = power_balance(robot, state)
    assert np.max(np.abs(power.residual)) < ROUNDING * np.max(np.abs(power.drives))


@settings(max_examples=30, deadline=None)
@given(robots, seeds)
def test_regressor_and_forward_dynamics(robot: Robot, seed: int) -> None:
    state = motions(robot, SAMPLES, seed)
    assume(len(state))
    tau = dd.inverse_dynamics(robot, state)
    for tied in (False, True) if robot.equal_limbs else (False,):
        rows = dd.regressor(robot, state, tied=tied)
        close(np.einsum("nij,j->ni", rows.Y, rows.parameters), tau)
    side = dd.forward_kinematics(robot, state.q)
    below = np.linalg.norm(side - state.p, axis=1) < 1e-9  # the assembly that it looks for
    if below.any():
        qdd = dd.forward_dynamics(robot, state.q[below], state.qd[below], tau[below])
        close(qdd, state.qdd[below], 1e-9)
    with backends.switched_off():
        plain = dd.State.from_platform(robot, state.p, state.pd, state.pdd)
        close(dd.inverse_dynamics(robot, plain), tau)
