"""One sample of the mechanism against the array code, and the tools that make it fast."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import KIND_NAMES, KINDS, full_friction, make_robot, make_states

import deltadyn as dd
import deltadyn.simulation
from deltadyn.dynamics.friction import passive_friction
from deltadyn.robot import Robot
from deltadyn.simulation.drive.drivetrain import Drivetrain, accelerations_with_losses
from deltadyn.simulation.plant.machine import build_machine
from deltadyn.simulation.plant.mechanism import Mechanism
from deltadyn.simulation.plant.numerics import solve_symmetric, times_symmetric
from deltadyn.simulation.presets import Preset
from deltadyn.tape.tape import SCALARS
from deltadyn.tape.write_python import straight_line

ROUNDING = 1e-10  # relative to torques of some 100 N m


@pytest.fixture(params=KINDS, ids=KIND_NAMES)
def robot(request: pytest.FixtureRequest) -> Robot:
    dof, _ = request.param
    return make_robot(*request.param).replace(friction=full_friction(dof, smoothing=0.3))


def rows(array: Any) -> list[tuple[float, ...]]:
    return [tuple(row) for row in array.tolist()]


def test_terms_are_those_of_the_array_code(robot: Robot) -> None:
    state = make_states(robot, 20)
    eom, passive = dd.equations_of_motion(robot, state), passive_friction(robot, state)
    mechanism = Mechanism.of(robot)
    for k, (q, qd) in enumerate(zip(rows(state.q), rows(state.qd), strict=True)):
        terms = mechanism.terms(q, qd, (0.0,) * robot.dof)
        np.testing.assert_allclose(np.tril(eom.M[k]), terms.M, atol=ROUNDING)
        np.testing.assert_allclose(eom.c[k] + eom.g[k], terms.h, atol=ROUNDING)
        np.testing.assert_allclose(passive[k], terms.passive, atol=ROUNDING)
        np.testing.assert_allclose(state.p[k], terms.p, atol=1e-13)
        np.testing.assert_allclose(state.pd[k], terms.pd, atol=1e-12)


def test_wrench_on_the_platform(robot: Robot) -> None:
    state = make_states(robot, 5)
    still = dd.State.from_joints(robot, state.q)
    wrench = np.array([30.0, -20.0, 10.0, 2.0])[: robot.dof]
    expected = dd.inverse_dynamics(robot, still, external_force=wrench, friction=False)
    for k, q in enumerate(rows(state.q)):
        h = Mechanism.of(robot).terms(q, (0.0,) * robot.dof, tuple(wrench.tolist())).h
        np.testing.assert_allclose(h, expected[k], atol=ROUNDING)


def test_friction_of_the_drives_and_gear_losses(robot: Robot) -> None:
    """The bench's own friction code gives the accelerations of forward_dynamics."""
    state = make_states(robot, 20)
    tau = dd.inverse_dynamics(robot, state) + np.random.default_rng(0).normal(0, 20, state.q.shape)
    expected = dd.forward_dynamics(robot, state.q, state.qd, tau)
    mechanism, drives = Mechanism.of(robot), Drivetrain(build_machine(robot, Preset()))
    for k, (q, qd) in enumerate(zip(rows(state.q), rows(state.qd), strict=True)):
        terms = mechanism.terms(q, qd, (0.0,) * robot.dof)
        needed = [a + b for a, b in zip(terms.h, terms.passive, strict=True)]
        given = [a - b for a, b in zip(tau[k].tolist(), drives.friction(qd), strict=True)]
        qdd = accelerations_with_losses(terms.M, needed, given, drives.losses(qd), drives.rotor)
        np.testing.assert_allclose(qdd, expected[k], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [1, 3, 4])
def test_symmetric_solver(n: int) -> None:
    rng = np.random.default_rng(n)
    root, x = rng.normal(size=(n, n)), rng.normal(size=n)
    A = root @ root.T + np.eye(n)
    lower = np.tril(A).tolist()
    np.testing.assert_allclose(solve_symmetric(lower, (A @ x).tolist()), x, atol=1e-12)
    np.testing.assert_allclose(times_symmetric(lower, x.tolist()), A @ x, atol=1e-12)


def test_symmetric_solver_refuses_an_indefinite_matrix() -> None:
    with pytest.raises(ArithmeticError, match="not positive definite"):
        solve_symmetric([[1.0, 0.0], [2.0, 1.0]], [1.0, 1.0])
    with pytest.raises(ArithmeticError, match="not positive definite"):
        solve_symmetric([[math.nan]], [1.0])


def example(x: Sequence[Any]) -> list[Any]:
    a, b, c = x
    unused = SCALARS.sqrt(a * b * c)
    assert unused is not None
    root = SCALARS.sqrt(a * a + 1)
    turned = SCALARS.sin(b) * SCALARS.cos(b) + SCALARS.tanh(c)
    return [
        root,
        (b - a) * (b - a) / root,
        0 * a + 1 * b - 0,
        -1 * c + (2 - c) / 3,
        SCALARS.where(a < b, turned, -turned),
        7.0,
        0 - c,
        0 / c,
        c / 1,
        1 / c,
        SCALARS.exp(-(a * a)) + SCALARS.abs(a),
    ]


def test_straight_line_function_does_what_the_code_does() -> None:
    compiled = straight_line(3, example)
    for x in ((0.5, 0.25, 2.0), (-1.0, 3.0, -0.5)):
        np.testing.assert_allclose(compiled(*x), example(x), rtol=1e-15)


def test_straight_line_keeps_each_step_once_and_only_what_is_needed() -> None:
    compiled = straight_line(
        2, lambda x: [SCALARS.cos(x[0] * x[1]), SCALARS.cos(x[1] * x[0]) + 1, 0 * x[0]]
    )
    steps = compiled.__code__.co_varnames[2:]
    assert len(steps) == 3  # product, cosine, sum
    assert compiled(0.0, 1.0) == (1.0, 2.0, 0.0)


def test_simulation_shares_no_regressor_code() -> None:
    """What identification fits must not be what made the data."""
    folder = Path(deltadyn.simulation.__file__).parent
    names = ("regressor", "columns", "identification")
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                text = f"{node.module} {' '.join(alias.name for alias in node.names)}"
                assert not any(name in text for name in names), f"{path.name} imports {text}"
