"""Kinematics and dynamics in C against the package's NumPy path, on 100,000 states."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import make_states
from tests.exports.c_build import COMPILERS, PRECISIONS, ROBOTS, library

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.backends import switched_off
from deltadyn.kinematics import State
from deltadyn.robot import Robot

COUNT = 100_000
PAYLOAD = 2.3  # kg, other than the robots' own
NAMES = ("full-3", "full-4", "plain", "rubbing-3", "rubbing-4", "rich-3", "rich-4")
# Of the largest number of its kind. Rounding of some 500 operations gives 1e-15 and 6e-7 here; the
# rest is left to other compilers and other mathematical libraries.
TOLERANCE = {"double": 1e-13, "float": 1e-5}
cases = pytest.mark.parametrize(
    ("name", "precision", "compiler"),
    [
        *((name, "double", "gcc") for name in NAMES),
        ("full-3", "float", "gcc"),
        ("rubbing-4", "float", "gcc"),
        *(("full-4", precision, "clang") for precision in PRECISIONS),
    ],
)


@lru_cache(maxsize=4)
def states(name: str) -> State:
    with switched_off():
        return make_states(ROBOTS[name], COUNT, seed=3)


def loaded(robot: Robot, payload: float) -> Robot:
    """The robot with another mass of its payload, whose own inertia grows with it."""
    own = robot.payload
    inertia = own.inertia_zz / own.mass * payload if own.mass > 0 else 0.0
    return robot.with_payload(payload, own.offset, inertia)


def outside(robot: Robot, q: FloatArray) -> FloatArray:
    """Angles as the controller has them."""
    own: FloatArray = np.asarray(robot.controller.sign) * q + np.asarray(robot.controller.offset)
    return own


def assert_close(found: Any, expected: FloatArray, precision: str, factor: float = 1.0) -> None:
    scale = float(np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=factor * TOLERANCE[precision] * scale)


@pytest.mark.full
@cases
def test_kinematics(name: str, precision: str, compiler: str) -> None:
    robot, state, code = ROBOTS[name], states(name), library(name, precision, compiler)
    q = outside(robot, state.q)
    status, found, *_ = code.call("inverse_kinematics", state.p)
    assert not status.any()
    assert_close(found, q, precision)
    status, found, *_ = code.call("forward_kinematics", q)
    assert not status.any()
    assert_close(found, state.p, precision)


@cases
def test_rates(name: str, precision: str, compiler: str) -> None:
    robot, state, code = ROBOTS[name], states(name), library(name, precision, compiler)
    sign = np.asarray(robot.controller.sign)
    q, qd, qdd = outside(robot, state.q), sign * state.qd, sign * state.qdd
    status, *found = code.call("joint_rates", state.p, state.pd, state.pdd)
    assert not status.any()
    for x, expected in zip(found, (q, qd, qdd), strict=True):
        assert_close(x, expected, precision)
    status, *found = code.call("platform_rates", q, qd, qdd)
    assert not status.any()
    for x, expected in zip(found, (state.p, state.pd, state.pdd), strict=True):
        assert_close(x, expected, precision)


@cases
def test_torques(name: str, precision: str, compiler: str) -> None:
    robot, state, code = ROBOTS[name], states(name), library(name, precision, compiler)
    sign = np.asarray(robot.controller.sign)
    with switched_off():
        tau = sign * dd.inverse_dynamics(loaded(robot, PAYLOAD), state)
    status, found, *_ = code.call("feedforward", state.p, state.pd, state.pdd, payload=PAYLOAD)
    assert not status.any()
    assert_close(found, tau, precision)
    motion = (outside(robot, state.q), sign * state.qd, sign * state.qdd)
    status, found, *_ = code.call("feedforward_joints", *motion, payload=PAYLOAD)
    assert not status.any()
    assert_close(found, tau, precision)


@pytest.mark.full
@cases
def test_terms_and_accelerations(name: str, precision: str, compiler: str) -> None:
    robot, state, code = ROBOTS[name], states(name), library(name, precision, compiler)
    rows = slice(0, 20_000)  # C(q, qd) of the reference is slow
    sign = np.asarray(robot.controller.sign)
    q, qd, qdd = state.q[rows], state.qd[rows], state.qdd[rows]
    heavy = loaded(robot, PAYLOAD)
    with switched_off():
        part = State.from_joints(robot, q, qd, qdd)
        eom = dd.equations_of_motion(heavy, part)
        tau = sign * dd.inverse_dynamics(heavy, part)
    status, found, *_ = code.call("gravity_torque", outside(robot, q), payload=PAYLOAD)
    assert not status.any()
    assert_close(found, sign * np.asarray(robot.sensors.torque_ratio) * eom.g, precision)
    status, found, *_ = code.call("mass_matrix", outside(robot, q), payload=PAYLOAD)
    assert not status.any()
    matrix = found.reshape(-1, robot.dof, robot.dof)
    assert_close(matrix, sign[:, None] * eom.M * sign, precision)
    status, found, *_ = code.call(
        "forward_dynamics", outside(robot, q), sign * qd, tau, payload=PAYLOAD
    )
    assert not status.any()
    assert_close(found, sign * qdd, precision)


@pytest.mark.full
def test_the_robots_own_payload_gives_the_robots_own_torque() -> None:
    robot, state = ROBOTS["full-4"], states("full-4")
    assert robot.payload.inertia_zz > 0
    sign = np.asarray(robot.controller.sign)
    tau = sign * dd.inverse_dynamics(robot, state)
    code = library("full-4")
    _, found, *_ = code.call(
        "feedforward", state.p, state.pd, state.pdd, payload=robot.payload.mass
    )
    assert_close(found, tau, "double")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_outputs_may_be_the_inputs(compiler: str) -> None:
    state, code = states("full-4"), library("full-4", "double", compiler)
    motion = (state.p, state.pd, state.pdd)
    for kind in ("inverse_kinematics", "joint_rates", "feedforward"):
        apart, together = (code.call(kind, *motion, in_place=flag) for flag in (False, True))
        filled = 3 if kind == "joint_rates" else 1
        for first, second in zip(apart[: 1 + filled], together, strict=False):
            np.testing.assert_array_equal(first, second)


def test_where_nothing_can_be_the_status_says_so_and_outputs_stay() -> None:
    robot, code = ROBOTS["full-4"], library("full-4")
    far = np.array([[0.0, 0.0, -5.0, 0.0], [3.0, 0.0, -0.5, 0.0]])
    status, out, *_ = code.call("inverse_kinematics", far)
    assert status.tolist() == [1, 1]
    assert np.isnan(out).all()  # as they were
    with pytest.raises(dd.errors.UnreachableError):
        dd.inverse_kinematics(robot, far[0])
    zero = np.zeros_like(far)
    for kind in ("joint_rates", "feedforward"):
        status, out, *_ = code.call(kind, far, zero, zero)
        assert status.tolist() == [1, 1]
        assert np.isnan(out).all()
    bad = np.array([[np.nan, 0, -0.6, 0], [0, np.inf, -0.6, 0], [0, 0, -np.inf, 0], [0, 0, 1e7, 0]])
    status, out, *_ = code.call("inverse_kinematics", bad)
    assert status.tolist() == [3, 3, 3, 4]
    assert np.isnan(out).all()


def test_reach_ends_in_c_where_it_ends_in_python() -> None:
    """Random points in a box that is larger than the workspace."""
    robot, code = ROBOTS["full-3"], library("full-3")
    rng = np.random.default_rng(5)
    p = rng.uniform([-1.2, -1.2, -1.4], [1.2, 1.2, 0.2], (COUNT, 3))
    with switched_off():
        q = dd.inverse_kinematics(robot, p, unreachable="nan")
    status, out, *_ = code.call("inverse_kinematics", p)
    inside = ~np.isnan(q[:, 0])
    assert 0.1 < inside.mean() < 0.9  # both sides are tried
    assert ((status == 0) == inside).all()
    assert set(status.tolist()) == {0, 1}
    assert_close(out[inside], outside(robot, q[inside]), "double", 100)  # arms nearly straight
    with switched_off():
        angles = rng.uniform(-np.pi, np.pi, (COUNT, 3))
        point = dd.forward_kinematics(robot, angles, unreachable="nan")
    status, out, *_ = code.call("forward_kinematics", outside(robot, angles))
    closes = ~np.isnan(point[:, 0])
    assert 0.1 < closes.mean() < 0.99
    assert ((status == 0) == closes).all()
