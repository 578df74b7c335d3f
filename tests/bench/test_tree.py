"""The open tree and its closed forms: MuJoCo and Pinocchio give our torques on them."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.cases import Case, standard_case
from benchmarks.peers.engines import ENGINES, Closure, python_peer
from benchmarks.peers.programs import SAME, DifferentTorqueError
from benchmarks.peers.tree import Tree
from tests.dynamics.factory import make_robot
from tests.reference.convert import to_robot
from tests.reference.engines import (
    inverse_dynamics,
    mujoco_engine,
    random_robot,
    random_states,
    starting_points,
)

from deltadyn.arrays import FloatArray
from deltadyn.kinematics import State

NAMES = sorted(ENGINES)
HEADER = 6 + 4 + 9 + 3 * 6 + 10 * 9  # doubles before the states, as in closure.h


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dof", [3, 4])
@pytest.mark.parametrize("equal", [True, False])
def test_an_engine_on_the_tree_gives_our_torques(name: str, dof: int, equal: bool) -> None:
    """Any robot: arms off their line, masses in the elbow, three different limbs, a payload."""
    case = Case.of(make_robot(dof, equal), 50)
    torque = python_peer(name, case)()  # compares too
    ours = case.torque()
    np.testing.assert_allclose(torque, ours, rtol=0, atol=SAME * np.abs(ours).max())


@pytest.mark.parametrize("dof", [3, 4])
def test_the_way_round_the_engine_agrees_with_the_reference_closure(dof: int) -> None:
    """The reference closes its tree by Newton steps and projects with numerical Jacobians."""
    rng = np.random.default_rng(5)
    spec = random_robot(rng, dof, thin=True, equal_limbs=True)
    q, qd, qdd = random_states(spec, rng, 20)
    robot = to_robot(spec, thin=True)
    state = State.from_joints(robot, q, qd, qdd)
    case = Case(robot, state.p, state.pd, state.pdd)
    expected = inverse_dynamics(mujoco_engine(spec), q, qd, qdd)
    # both are roundings away from the truth, times the condition of the struts
    atol = 1e-9 * np.abs(expected).max()
    np.testing.assert_allclose(python_peer("MuJoCo", case)(), expected, rtol=0, atol=atol)
    limbs = Closure.of(Tree.of(robot), case).x[:, :9]
    np.testing.assert_allclose(limbs, starting_points(spec, q)[:, :9], rtol=0, atol=1e-9)


@pytest.mark.parametrize("dof", [3, 4])
def test_rates_and_accelerations_are_derivatives(dof: int) -> None:
    """Central differences of the coordinates along a motion with constant acceleration."""
    case, step = Case.of(make_robot(dof, False), 20), 1e-4
    tree = Tree.of(case.robot)

    def at(t: float) -> FloatArray:
        p = case.p + t * case.pd + t * t / 2 * case.pdd
        return Closure.of(tree, Case(case.robot, p, case.pd + t * case.pdd, case.pdd)).x

    closed, before, after = Closure.of(tree, case), at(-step), at(step)
    rates, accelerations = (after - before) / (2 * step), (after - 2 * closed.x + before) / step**2
    # the error of a difference is h^2 times a higher derivative, and the roundings over h or h^2
    np.testing.assert_allclose(closed.xd, rates, rtol=0, atol=1e-4 * np.abs(rates).max())
    worst = 1e-3 * np.abs(accelerations).max()
    np.testing.assert_allclose(closed.xdd, accelerations, rtol=0, atol=worst)


def test_a_different_robot_is_no_race(monkeypatch: pytest.MonkeyPatch) -> None:
    case = standard_case(3, 10)
    heavy = Tree.of(case.robot.with_payload(0.001))
    monkeypatch.setattr("benchmarks.peers.engines.Tree.of", lambda robot: heavy)
    with pytest.raises(DifferentTorqueError, match="its time is not believed") as raised:
        python_peer("MuJoCo", case)
    assert raised.value.difference > SAME


@pytest.mark.parametrize("dof", [3, 4])
def test_the_numbers_lie_as_the_programs_read_them(dof: int) -> None:
    case = standard_case(dof, 7)
    numbers = Tree.of(case.robot).numbers(case.state)
    assert numbers.shape == (HEADER + 7 * 3 * dof,)
    assert numbers[0] == dof
    assert numbers[1] == 7
    np.testing.assert_array_equal(numbers[HEADER : HEADER + dof], case.p[0])
    np.testing.assert_array_equal(numbers[-dof:], case.pdd[-1])


def test_states_are_seeded_and_inside_the_workspace() -> None:
    case = standard_case(4, 100)
    np.testing.assert_array_equal(case.p, standard_case(4, 100).p)
    room = case.robot.limits.workspace
    assert room is not None
    assert np.hypot(case.p[:, 0], case.p[:, 1]).max() <= room.radius
    assert case.p[:, 2].min() >= room.z_min
    assert np.isfinite(case.torque()).all()
