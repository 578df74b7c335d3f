"""The library's robots of the family against closed trees in MuJoCo and Pinocchio.

DELTADYN_FAMILY_STATES sets the number of states of each robot; 1000 is the full comparison.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.reference.engines.spec import Array
from tests.reference.family import Member, States, random_member, states
from tests.reference.family.convert import THREE_LIMBS, Converted, to_robot
from tests.reference.family.stored import stored_states

import deltadyn as dd
from deltadyn import backends
from deltadyn.dynamics import constraint_loads, power_balance
from deltadyn.kinematics import jacobian_rate
from deltadyn.tracing import doubles, installed

STATES = int(os.environ.get("DELTADYN_FAMILY_STATES", "100"))
FULL = STATES > 100
# JAX compiles for seconds: a short run traces all of one kind, and the torque of two others.
TRACED = {"linear any rails": True, "rotary inclined": False, "spindle linear": False}
# Relative, per axis. Both sides solve the same loops in double precision: 1e-13 is usual.
AGREEMENT = 1e-11
CASES = [(kind, seed, equal) for kind in THREE_LIMBS for seed, equal in ((0, False), (1, True))]


class Case(NamedTuple):
    member: Member
    converted: Converted
    drawn: tuple[str, int, bool] = ("", 0, False)  # kind, seed, whether limbs are equal


@pytest.fixture(scope="module", params=CASES, ids=lambda c: f"{c[0]}, {'equal' if c[2] else 'own'}")
def case(request: pytest.FixtureRequest) -> Case:
    kind, seed, equal = request.param
    member = random_member(kind, seed, equal=equal)
    return Case(member, to_robot(member), request.param)


@pytest.fixture(
    scope="module",
    params=["mujoco", "stored", pytest.param("pinocchio", marks=pytest.mark.full)],
)
def reference(request: pytest.FixtureRequest, case: Case) -> States:
    """States by an engine, or those that Pinocchio gave once."""
    if request.param == "stored":
        return stored_states(*case.drawn)
    return states(case.member, STATES, 7, request.param)


@pytest.fixture(scope="module")
def state(case: Case, reference: States) -> dd.State:
    return _state(case, reference)


@pytest.fixture(params=["kernels", "numpy"])
def path(request: pytest.FixtureRequest) -> Iterator[str]:
    """Both ways of computing; a state is made anew where it may keep what a kernel gave."""
    if request.param == "kernels" and not backends.available():
        pytest.skip(f"no compiled kernels: {backends.status()}")
    with nullcontext() if request.param == "kernels" else backends.switched_off():
        yield request.param


def _state(case: Case, given: States, convert: Callable[[Array], Any] = np.asarray) -> dd.State:
    robot, elbows, _ = case.converted
    x, xd, xdd = map(convert, (given.x, given.xd, given.xdd))
    return dd.State.from_platform(robot, x, xd, xdd, elbows=elbows)


def worst(ours: Array, reference: Array) -> float:
    """Largest difference of an axis over its largest value.

    An axis that is zero by construction (gravity on psi, on a horizontal rail) counts against all.
    """
    largest = np.max(np.abs(reference), axis=0)
    scale = np.where(largest > 1e-6 * largest.max(), largest, largest.max())
    return float(np.max(np.abs(ours - reference) / scale))


def test_kinematics(case: Case, reference: States, path: str) -> None:
    robot, elbows, zero = case.converted
    found = _state(case, reference)
    q = reference.q + zero
    difference = found.q - q
    if not robot.linear:  # an angle is found within one turn
        difference -= 2 * np.pi * np.round(difference / (2 * np.pi))
    assert np.max(np.abs(difference)) < 1e-13
    assert worst(found.qd, reference.qd) < AGREEMENT
    assert worst(found.qdd, reference.qdd) < AGREEMENT
    assert worst(dd.jacobian(robot, reference.x, elbows=elbows), reference.J) < AGREEMENT
    assert np.max(np.abs(dd.forward_kinematics(robot, q) - reference.x)) < 1e-12
    back = dd.State.from_joints(robot, q, reference.qd, reference.qdd)
    assert worst(back.pd, reference.xd) < AGREEMENT
    assert worst(back.pdd, reference.xdd) < AGREEMENT
    Jd = jacobian_rate(robot, reference.x, reference.xd, elbows=elbows)
    pdd = np.einsum("nij,nj->ni", reference.J, reference.qdd)
    pdd += np.einsum("nij,nj->ni", Jd, reference.qd)
    assert worst(pdd, reference.xdd) < AGREEMENT


def test_torque_and_terms(case: Case, reference: States, path: str) -> None:
    robot, _, zero = case.converted
    found = _state(case, reference)
    assert worst(dd.inverse_dynamics(robot, found), reference.tau) < AGREEMENT
    terms = dd.equations_of_motion(robot, found)
    assert worst(terms.M, reference.M) < AGREEMENT
    assert worst(terms.c, reference.c) < AGREEMENT
    assert worst(terms.g, reference.g) < AGREEMENT
    qdd = dd.forward_dynamics(robot, reference.q + zero, reference.qd, reference.tau)
    assert worst(qdd, reference.qdd) < AGREEMENT


def test_one_sample(case: Case, reference: States, path: str) -> None:
    """One sample takes kernels of its own."""
    robot, elbows, zero = case.converted
    i = len(reference.q) // 2
    motion = reference.x[i], reference.xd[i], reference.xdd[i]
    largest = np.max(np.abs(reference.tau), axis=0)
    one = dd.State.from_platform(robot, *motion, elbows=elbows)
    tau = dd.inverse_dynamics(robot, one)
    assert np.all(np.abs(tau - reference.tau[i]) < AGREEMENT * largest)
    q = reference.q[i] + zero
    joints = dd.State.from_joints(robot, q, reference.qd[i], reference.qdd[i])
    tau = dd.inverse_dynamics(robot, joints)
    assert np.all(np.abs(tau - reference.tau[i]) < AGREEMENT * largest)
    np.testing.assert_allclose(dd.forward_kinematics(robot, q), reference.x[i], atol=1e-12)
    most = np.max(np.abs(reference.qdd), axis=0)
    qdd = dd.forward_dynamics(robot, q, reference.qd[i], reference.tau[i])
    assert np.all(np.abs(qdd - reference.qdd[i]) < AGREEMENT * most)


def test_regressor(case: Case, reference: States, path: str) -> None:
    robot = case.converted.robot
    found = _state(case, reference)
    # limbs with the same bodies may share parameters, however they stand
    tied = (None, False, True) if robot.equal_limbs else (None,)
    for choice in tied:
        rows = dd.regressor(robot, found, tied=choice)
        tau = np.einsum("nij,j->ni", rows.Y, rows.parameters)
        assert worst(tau, reference.tau) < AGREEMENT


def test_external_force(case: Case, reference: States, path: str) -> None:
    """A force on the platform takes J^T F off the drives."""
    robot = case.converted.robot
    found = _state(case, reference)
    push = np.array([13.0, -7.0, 21.0, 1.5])[: robot.dof]
    tau = dd.inverse_dynamics(robot, found, external_force=push)
    expected = reference.tau - np.einsum("nji,j->ni", reference.J, push)
    assert worst(tau, expected) < AGREEMENT


def test_forces_on_the_struts(case: Case, reference: States, state: dd.State) -> None:
    robot = case.converted.robot
    loads = constraint_loads(robot, state)
    largest = np.max(np.abs(reference.tips))
    assert np.max(np.abs(loads.platform - reference.tips)) < AGREEMENT * largest
    # along the strut the force does not depend on the choice of a pin axis
    along = loads.axial_platform
    assert np.max(np.abs(along)) > 0.1 * largest


def test_energy(case: Case, reference: States, state: dd.State) -> None:
    """Energies are summed body by body: the engine's torques must feed exactly them."""
    robot = case.converted.robot
    power = power_balance(robot, state, reference.tau)
    assert np.max(np.abs(power.residual)) < AGREEMENT * np.max(np.abs(power.drives))
    T = np.einsum("ni,nij,nj->n", reference.qd, reference.M, reference.qd) / 2
    kinetic = dd.dynamics.energy(robot, state).kinetic
    assert np.max(np.abs(kinetic - T)) < AGREEMENT * np.max(T)


@pytest.mark.full
@pytest.mark.parametrize("kind", THREE_LIMBS)
def test_traced(kind: str) -> None:
    if not installed():
        pytest.skip("JAX is not installed: pip install 'deltadyn[jax]'")
    if not FULL and kind not in TRACED:
        pytest.skip("of the full comparison")
    import jax.numpy as jnp

    member = random_member(kind, 0)
    case = Case(member, to_robot(member))
    robot, elbows, zero = case.converted
    given = states(member, STATES, 7)
    with doubles():
        found = _state(case, given, jnp.asarray)
        assert worst(np.asarray(dd.inverse_dynamics(robot, found)), given.tau) < AGREEMENT
        if not (FULL or TRACED[kind]):
            return
        terms = dd.equations_of_motion(robot, found)
        for ours, expected in ((terms.M, given.M), (terms.c, given.c), (terms.g, given.g)):
            assert worst(np.asarray(ours), expected) < AGREEMENT
        q, qd, tau = (jnp.asarray(row) for row in (given.q + zero, given.qd, given.tau))
        assert worst(np.asarray(dd.forward_dynamics(robot, q, qd, tau)), given.qdd) < AGREEMENT
        J = dd.jacobian(robot, jnp.asarray(given.x), elbows=elbows)
        assert worst(np.asarray(J), given.J) < AGREEMENT
        rows = dd.regressor(robot, found)
        assert worst(np.asarray(rows.Y) @ rows.parameters, given.tau) < AGREEMENT
