"""Compiled kernels of every kind give what NumPy gives."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.family.robots import KINDS, OTHER_PLATFORMS, make, waves

import deltadyn as dd
from deltadyn import backends
from deltadyn.backends.layout import KINDS as COMPOSITIONS
from deltadyn.backends.layout import PLACES
from deltadyn.backends.limbs import compiled
from deltadyn.dynamics import packed_parameters
from deltadyn.errors import UnreachableError
from deltadyn.identification.information import axis_rows
from deltadyn.identification.parametrisation import widest
from deltadyn.kinematics import State
from deltadyn.kinematics.actuation import actuation, kernel, kernel_name, legs_of, parts_of
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot

# Roundings, amplified by the mass matrix and near the edge of the workspace; of the largest entry.
SAME = 1e-11
SINGLE = 2e-5  # the same in floats

needs_kernels = pytest.mark.skipif(not backends.available(), reason=backends.status())


class Case(NamedTuple):
    robot: Robot
    motion: Motion


@pytest.fixture(scope="module", params=(*KINDS, *OTHER_PLATFORMS))
def case(request: pytest.FixtureRequest) -> Case:
    robot = make(request.param)
    return Case(robot, waves(robot, 0.1))


def quantities(robot: Robot, motion: Motion) -> dict[str, Any]:
    """What kernels give of a motion, of many samples and of one."""
    p, pd, pdd, q, qd, qdd = (
        getattr(motion, name) for name in ("p", "pd", "pdd", "q", "qd", "qdd")
    )
    push = np.linspace(-3.0, 4.0, robot.dof)
    found: dict[str, Any] = {
        "q": dd.inverse_kinematics(robot, p),
        "one q": dd.inverse_kinematics(robot, p[3]),
        "p": dd.forward_kinematics(robot, q),
        "one p": dd.forward_kinematics(robot, q[3]),
    }
    states = {
        "platform": dd.State.from_platform(robot, p, pd, pdd),
        "joints": dd.State.from_joints(robot, q, qd, qdd),
        "one platform": dd.State.from_platform(robot, p[3], pd[3], pdd[3]),
        "one joints": dd.State.from_joints(robot, q[3], qd[3], qdd[3]),
    }
    for name, state in states.items():
        found[f"{name}: torque"] = dd.inverse_dynamics(robot, state)
        found |= {f"{name}: {key}": getattr(state, key) for key in ("p", "pd", "pdd", "qd", "qdd")}
        found[f"{name}: Y"] = dd.regressor(robot, state).Y
    state = states["platform"]
    tau = found["platform: torque"]
    terms = dd.equations_of_motion(robot, state)
    wide = dd.regressor(robot, state, tied=False, com_offset=not robot.linear)
    return found | {
        "pushed": dd.inverse_dynamics(robot, state, friction=False, external_force=push),
        "M": terms.M,
        "C": terms.C,
        "g": terms.g,
        "wide Y": wide.Y,
        "forward": dd.forward_dynamics(robot, q, qd, tau, external_force=push),
        "one forward": dd.forward_dynamics(robot, q[3], qd[3], tau[3]),
    }


@needs_kernels
def test_kernels_give_what_numpy_gives(case: Case) -> None:
    robot, motion = case
    assert compiled(robot)
    found = quantities(robot, motion)
    with backends.switched_off():
        assert not compiled(robot)
        expected = quantities(robot, motion)
    for name, known in expected.items():
        worst = np.abs(found[name] - known).max() / max(np.abs(known).max(), 1e-9)
        assert worst <= SAME, (name, worst)


@needs_kernels
def test_calls_by_packed_numbers(case: Case) -> None:
    robot, m = case
    par = packed_parameters(robot)
    platform, joints = (m.p, m.pd, m.pdd), (m.q, m.qd, m.qdd)
    tau = dd.inverse_dynamics(robot, m)
    size = np.abs(tau).max()
    for call, motion in (
        (backends.inverse_dynamics_platform, platform),
        (backends.inverse_dynamics_joints, joints),
    ):
        np.testing.assert_allclose(call(par, *motion), tau, rtol=0, atol=SAME * size)
        one = call(par, *(rows[5] for rows in motion))
        np.testing.assert_allclose(one, tau[5], rtol=0, atol=SAME * size)
        single = call(par, *(rows.astype(np.float32) for rows in motion))
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, tau, rtol=0, atol=SINGLE * size)
    qdd = backends.forward_dynamics(par, m.q, m.qd, tau)
    np.testing.assert_allclose(qdd, m.qdd, rtol=0, atol=1e-9 * np.abs(m.qdd).max())


def test_packed_numbers_say_the_composition(case: Case) -> None:
    robot, par = case.robot, packed_parameters(case.robot)
    kind = COMPOSITIONS[int(par[PLACES["actuation"]][0])]
    assert kind == actuation(robot)
    assert legs_of(kind) == robot.legs
    assert (par[PLACES["m_x"]] != 0).sum() == robot.legs
    assert kernel(robot, "mass") == kernel_name("mass", kind, robot.dof)
    assert (
        parts_of(kind)[1] in {2: ("planar",), 3: ("",), 4: ("articulated", "helical")}[robot.legs]
    )


def test_out_of_reach_is_nan_or_refused(case: Case) -> None:
    robot, motion = case
    far = motion.p[:3].copy()
    far[1, [0, -1 if robot.planar else 2]] += 9.0
    par = packed_parameters(robot)
    state = dd.State.from_platform(robot, far, unreachable="nan")
    lost = np.isnan(dd.inverse_dynamics(robot, state)).any(axis=1)
    np.testing.assert_array_equal(lost, [False, True, False])
    with pytest.raises(UnreachableError):
        dd.State.from_platform(robot, far)
    if backends.available():
        tau = backends.inverse_dynamics_platform(par, far, 0 * far, 0 * far)
        np.testing.assert_array_equal(np.isnan(tau).all(axis=1), lost)


def test_rows_of_every_axis_with_and_without_kernels(case: Case) -> None:
    """What a fit reads of an axis is what the whole regressor has there, zeros of rails too."""
    robot, motion = case
    tau = dd.inverse_dynamics(robot, motion)
    whole = widest(robot, motion, "exact").Y

    def compare() -> None:
        found = axis_rows(robot, motion, tau, "exact")
        assert found is not None
        Y = np.zeros_like(whole)
        for axis, (rows, places) in enumerate(zip(found.rows, found.places, strict=True)):
            Y[:, axis, places[:-1]] = rows[:-1].T
        np.testing.assert_allclose(Y, whole, rtol=0, atol=SAME * np.abs(whole).max())

    compare()
    with backends.switched_off():
        compare()


@pytest.mark.parametrize("kind", ["heli4", "heli4_rails"])
def test_a_hint_leads_to_poses_that_home_does_not(kind: str) -> None:
    """Screws that have turned several times: the pose of the sample before is near, home is not."""
    robot = make(kind)
    near = home_pose(robot) + np.array([0.02, 0.01, 0.0, 25.0])
    state = State.from_platform(robot, near, [0.1, 0.0, 0.0, 2.0])
    found = State.from_joints(robot, state.q, state.qd, hint=near + np.array([1e-3, 0, 0, 0.1]))
    np.testing.assert_allclose(found.p, state.p, atol=1e-9)
    np.testing.assert_allclose(found.pd, state.pd, atol=1e-8)


def test_a_log_leads_to_poses_that_home_does_not() -> None:
    """A screw that turns six times and back."""
    robot = make("heli4")
    t = np.linspace(0.0, 1.0, 200)
    x = home_pose(robot) + np.zeros((200, 4))
    x[:, 3] = 38.0 * np.sin(np.pi * t)
    q = dd.inverse_kinematics(robot, x)
    np.testing.assert_allclose(dd.forward_kinematics(robot, q), x, atol=1e-9)
