"""The compiled kernels give what the NumPy path gives: every robot, every way to call them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import KIND_NAMES, KINDS, full_friction, make_robot, make_states
from tests.kernels.comparison import RELATIVE, both, close, needs_kernels
from tests.kernels.robots import wide_robot

import deltadyn as dd
from deltadyn import backends as kernels
from deltadyn.backends import loader
from deltadyn.backends.kernels import compiled_passive
from deltadyn.dynamics.columns import exact_columns
from deltadyn.dynamics.friction import passive_friction
from deltadyn.errors import InputError, UnreachableError
from deltadyn.reproduce.ladder import random_states
from deltadyn.robot.settings import Friction

pytestmark = needs_kernels

FRICTION = {
    "none": Friction(),
    "viscous": Friction(viscous=0.4),
    "sign": Friction(coulomb=1.5),
    "two directions": Friction(coulomb=1.5, coulomb_negative=0.5),
    "smooth": Friction(coulomb=1.5, coulomb_negative=0.5, smoothing=0.2),
    "stribeck": Friction(coulomb=1.0, stribeck=0.8, stribeck_velocity=0.6),
    "offset": Friction(offset=-0.3),
    "load": Friction(load=0.1, smoothing=0.1),
    "all": Friction(
        viscous=0.4,
        coulomb=1.5,
        coulomb_negative=0.5,
        stribeck=0.8,
        stribeck_velocity=0.6,
        offset=-0.3,
        load=0.1,
    ),
}


def close_states(ours: dd.State, expected: dd.State) -> None:
    assert (ours.single, ours.linear) == (expected.single, expected.linear)
    for item in fields(dd.State):
        if item.name not in ("single", "linear"):
            close(getattr(ours, item.name), getattr(expected, item.name))
    close(ours.q, expected.q)


@pytest.mark.parametrize("name", dd.robot_names())
def test_catalogue_robots(name: str) -> None:
    robot = dd.load_robot(name)
    state = random_states(robot, 300, seed=1)
    p, pd, pdd = state.p, state.pd, state.pdd
    close_states(*both(lambda: dd.State.from_platform(robot, p, pd, pdd)))
    close_states(*both(lambda: dd.State.from_joints(robot, state.q, state.qd, state.qdd)))
    close(*both(lambda: dd.inverse_kinematics(robot, p)))
    close(*both(lambda: dd.forward_kinematics(robot, state.q)))
    close(*both(lambda: dd.inverse_dynamics(robot, state)))


@pytest.mark.parametrize(("dof", "equal"), KINDS, ids=KIND_NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_random_robots(dof: int, equal: bool, seed: int) -> None:
    robot = make_robot(dof, equal, seed=seed, friction=replace(full_friction(dof), passive=()))
    state = make_states(robot, 200, seed=seed)
    close_states(*both(lambda: dd.State.from_platform(robot, state.p, state.pd, state.pdd)))
    close_states(*both(lambda: dd.State.from_joints(robot, state.q, state.qd, state.qdd)))
    close(*both(lambda: dd.inverse_dynamics(robot, state)))
    close(*both(lambda: dd.inverse_dynamics(robot, state, friction=False)))
    force = np.arange(1.0, dof + 1)
    close(*both(lambda: dd.inverse_dynamics(robot, state, external_force=force)))
    many = np.random.default_rng(seed).normal(size=(200, 3))
    close(*both(lambda: dd.inverse_dynamics(robot, state, external_force=many)))


@pytest.mark.parametrize(("dof", "equal"), KINDS, ids=KIND_NAMES)
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("com_offset", [True, False])
def test_columns_of_the_regressor(dof: int, equal: bool, tied: bool, com_offset: bool) -> None:
    robot = make_robot(dof, equal)
    state = make_states(robot, 130)
    ours, expected = both(lambda: exact_columns(robot, state, tied, com_offset))
    assert ours.names == expected.names
    assert ours.units == expected.units
    np.testing.assert_array_equal(ours.values, expected.values)
    for j, name in enumerate(ours.names):
        scale = np.abs(expected.Y[:, :, j]).max()
        assert scale > 0, name
        error = np.abs(ours.Y[:, :, j] - expected.Y[:, :, j]).max()
        assert error <= RELATIVE * scale, name
    if com_offset and (equal or not tied):
        tau = dd.inverse_dynamics(robot, state, friction=False)
        # a sum of terms that are larger than it by up to a hundred times
        np.testing.assert_allclose(
            ours.Y @ ours.values, tau, rtol=0, atol=1e-12 * np.abs(tau).max()
        )


@pytest.mark.parametrize("name", dd.robot_names())
def test_regressor_of_catalogue_robots(name: str) -> None:
    robot = dd.load_robot(name)
    state = random_states(robot, 100, seed=2)
    ours, expected = both(lambda: dd.regressor(robot, state))
    assert ours.names == expected.names
    close(ours.Y.reshape(100, -1), expected.Y.reshape(100, -1))
    nothing = dd.State.from_platform(robot, np.zeros((0, robot.dof)))
    assert dd.regressor(robot, nothing).Y.shape == (0, *ours.Y.shape[1:])


@pytest.mark.parametrize("dof", [3, 4])
@pytest.mark.parametrize("kind", FRICTION)
@pytest.mark.parametrize("tied", [True, False])
def test_a_whole_regressor(dof: int, kind: str, tied: bool) -> None:
    robot = make_robot(dof, True, friction=FRICTION[kind])
    state = make_states(robot, 130)
    qd = state.qd.copy()
    qd[:3] = 0.0  # no direction at rest
    state = dd.State.from_joints(robot, state.q, qd, state.qdd)
    ours, expected = both(lambda: dd.regressor(robot, state, tied=tied))
    assert ours.names == expected.names
    assert ours.units == expected.units
    np.testing.assert_array_equal(ours.parameters, expected.parameters)
    for j, name in enumerate(ours.names):
        scale = np.abs(expected.Y[:, :, j]).max()
        assert np.abs(ours.Y[:, :, j] - expected.Y[:, :, j]).max() <= RELATIVE * scale, name
    tau = dd.inverse_dynamics(robot, state)
    np.testing.assert_allclose(
        ours.Y @ ours.parameters, tau, rtol=0, atol=1e-12 * np.abs(tau).max()
    )
    one = dd.State.from_joints(robot, state.q[9], state.qd[9], state.qdd[9])
    close(dd.regressor(robot, one, tied=tied).Y, ours.Y[9])


def test_a_regressor_with_passive_joints() -> None:
    robot = make_robot(4, False, friction=full_friction(4))
    state = make_states(robot, 60)
    ours, expected = both(lambda: dd.regressor(robot, state))
    assert ours.names == expected.names
    close(ours.Y, expected.Y)


def test_columns_of_unreachable_rows_are_nan() -> None:
    robot = make_robot(4, False)
    p = make_states(robot, 70).p.copy()
    p[[3, 66], 2] = -5.0
    state = dd.State.from_platform(robot, p, unreachable="nan")
    ours, expected = both(lambda: dd.regressor(robot, state).Y)
    for Y in (ours, expected):
        assert np.flatnonzero(np.isnan(Y).any(axis=(1, 2))).tolist() == [3, 66]


@pytest.mark.parametrize("dof", [3, 4])
@pytest.mark.parametrize("kind", FRICTION)
def test_friction_of_the_drives(dof: int, kind: str) -> None:
    robot = make_robot(dof, False, friction=FRICTION[kind])
    state = make_states(robot, 100)
    state.qd[:3] = 0.0  # no direction at rest
    ours, expected = both(lambda: dd.inverse_dynamics(robot, state))
    close(ours, expected)
    without = dd.inverse_dynamics(robot, state, friction=False)
    assert (kind == "none") == bool((ours == without).all())


@pytest.mark.parametrize("smoothing", [None, 0.1])
@pytest.mark.parametrize(("dof", "equal"), KINDS, ids=KIND_NAMES)
def test_friction_in_passive_joints(dof: int, equal: bool, smoothing: float | None) -> None:
    friction = full_friction(dof, smoothing=smoothing)
    for item in (*friction.passive, None):  # each alone, then all of them
        some = friction if item is None else replace(friction, passive=(item,))
        robot = make_robot(dof, equal, friction=some)
        state = make_states(robot, 70)
        ours, expected = both(lambda: dd.inverse_dynamics(robot, state))  # noqa: B023
        close(ours, expected)
        passive = compiled_passive(robot, state)
        assert passive is not None
        close(passive, passive_friction(robot, state))
        drives = robot.replace(friction=replace(friction, passive=()))
        assert np.abs(ours - dd.inverse_dynamics(drives, state)).max() > 0.01
        close(*both(lambda: dd.forward_dynamics(robot, state.q, state.qd, ours)))  # noqa: B023


@pytest.mark.parametrize("elbows", ["in", ("out", "in", "out")])
def test_assembly_modes(elbows: str) -> None:
    robot = make_robot(3, False)
    state = make_states(robot, 60)
    close_states(
        *both(lambda: dd.State.from_platform(robot, state.p, state.pd, state.pdd, elbows=elbows))
    )
    close_states(*both(lambda: dd.State.from_joints(robot, state.q, state.qd, platform="above")))


@pytest.mark.parametrize("dof", [3, 4])
def test_unreachable_platforms_are_nan(dof: int) -> None:
    robot = make_robot(dof, True)
    state = make_states(robot, 150)
    p, pd = state.p.copy(), state.pd.copy()
    p[[0, 70, 149], 2] = -5.0
    p[3, 0], pd[5, dof - 1] = np.nan, np.nan

    def make() -> dd.State:
        return dd.State.from_platform(robot, p, pd, state.pdd, unreachable="nan")

    same_rows(robot, make, [0, 3, 5, 70, 149])
    close(*both(lambda: dd.inverse_kinematics(robot, p, unreachable="nan")))
    said = same_words(lambda: dd.State.from_platform(robot, p[:1]))
    assert "too short or too long" in said


@pytest.mark.parametrize("dof", [3, 4])
def test_open_loops_are_nan(dof: int) -> None:
    robot, q = wide_robot(dof)
    qd = np.random.default_rng(1).normal(size=q.shape)
    q[[2, 99]] = 0.0
    q[7, dof - 1], qd[9, 0] = np.nan, np.nan

    def make() -> dd.State:
        return dd.State.from_joints(robot, q, qd, qd, unreachable="nan")

    same_rows(robot, make, [2, 7, 9, 99])
    close(*both(lambda: dd.forward_kinematics(robot, q, unreachable="nan")))
    assert "closes the loop" in same_words(lambda: dd.State.from_joints(robot, q[2:3]))


def same_rows(robot: dd.Robot, make: Callable[[], dd.State], missing: list[int]) -> None:
    """Both paths give the same state and torques, with NaN in the torques of these rows."""
    ours, expected = both(make)
    close_states(ours, expected)
    tau, reference = both(lambda: dd.inverse_dynamics(robot, ours))
    close(tau, reference)
    assert np.flatnonzero(np.isnan(tau).all(axis=1)).tolist() == missing
    assert np.isnan(tau).sum() == tau.shape[1] * len(missing)


def same_words(call: Callable[[], Any]) -> str:
    """The message of the error that both paths raise."""
    with pytest.raises(UnreachableError) as ours:
        call()
    with kernels.switched_off(), pytest.raises(UnreachableError) as expected:
        call()
    assert str(ours.value) == str(expected.value)
    return str(ours.value)


def test_a_singular_pose_raises_with_the_same_words() -> None:
    robot = make_robot(3, True)
    g = robot.rotary
    geometry = replace(
        g, base_radius=g.platform_radius, arm_length=(0.5,) * 3, strut_length=(1.0,) * 3
    )
    straight = robot.replace(geometry=geometry)
    below = np.array([0.0, 0.0, -1.5])  # no rounding: each arm and its strut hang straight down
    said = same_words(lambda: dd.State.from_platform(straight, below, np.ones(3)))
    assert "singular pose, an arm and its strut are in line" in said


@pytest.mark.parametrize("dof", [3, 4])
def test_one_sample_and_no_sample(dof: int) -> None:
    robot = make_robot(dof, False, friction=Friction(viscous=0.2, coulomb=0.4))
    state = make_states(robot, 1)
    p, pd, pdd = state.p[0], state.pd[0], state.pdd[0]
    ours, expected = both(lambda: dd.State.from_platform(robot, p, pd, pdd))
    close_states(ours, expected)
    tau, reference = both(lambda: dd.inverse_dynamics(robot, ours))
    assert tau.shape == (dof,)
    close(tau, reference)
    nothing = np.zeros((0, dof))
    for made in both(lambda: dd.State.from_platform(robot, nothing, nothing, nothing)):
        assert made.q.shape == made.qdd.shape == (0, dof)
        assert dd.inverse_dynamics(robot, made).shape == (0, dof)
    assert dd.forward_kinematics(robot, nothing).shape == (0, dof)


@pytest.mark.parametrize("count", [1, 2, 7, 8, 63, 64, 65, 128, 200])
def test_every_length_of_the_last_block(count: int) -> None:
    robot = make_robot(3, False)
    state = make_states(robot, count)
    close(*both(lambda: dd.inverse_dynamics(robot, state)))
    close_states(*both(lambda: dd.State.from_platform(robot, state.p, state.pd, state.pdd)))


def test_arrays_with_any_strides() -> None:
    robot = make_robot(4, False)
    state = make_states(robot, 120)
    expected = dd.inverse_dynamics(robot, state)
    wide = np.full((240, 9), np.nan)
    wide[::2, 1::2] = state.p
    reversed_rows = np.ascontiguousarray(state.pd[::-1])[::-1]
    columns = np.asfortranarray(state.pdd)
    arrays = (wide[::2, 1::2], reversed_rows, columns)
    assert not any(array.flags.c_contiguous for array in arrays)
    made = dd.State.from_platform(robot, *arrays)
    close(dd.inverse_dynamics(robot, made), expected)
    par = dd.dynamics.packed_parameters(robot)
    close(kernels.inverse_dynamics_platform(par, *arrays), expected)
    unaligned = np.frombuffer(b"x" + state.p.tobytes(), np.float64, offset=1).reshape(120, 4)
    assert not unaligned.flags.aligned
    close(kernels.inverse_dynamics_platform(par, unaligned, state.pd, state.pdd), expected)


@pytest.mark.parametrize("dof", [3, 4])
def test_a_large_input_goes_over_threads(dof: int, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = make_robot(dof, False, friction=Friction(coulomb=0.4))
    state = make_states(robot, 1000)
    expected = dd.inverse_dynamics(robot, state)
    monkeypatch.setattr(loader, "THREADED", 100)
    monkeypatch.setattr(loader, "PIECE", 77)
    monkeypatch.setattr(loader, "threads", lambda: 3)
    np.testing.assert_array_equal(dd.inverse_dynamics(robot, state), expected)
    far = state.p.copy()
    far[[5, 800], 2] = -9.0
    with pytest.raises(UnreachableError, match="row 5 and 1 more rows"):
        dd.State.from_platform(robot, far)


def test_the_results_are_the_callers_own() -> None:
    """A state does not change with the arrays it came from, nor a torque with the next call."""
    robot = make_robot(3, True)
    state = make_states(robot, 10)
    p = state.p.copy()
    made = dd.State.from_platform(robot, p, state.pd, state.pdd)
    qd, tau = made.qd.copy(), dd.inverse_dynamics(robot, made)
    kept = tau.copy()
    p += 0.01
    dd.inverse_dynamics(robot, dd.State.from_platform(robot, p, state.pd, state.pdd))
    np.testing.assert_array_equal(made.qd, qd)
    np.testing.assert_array_equal(tau, kept)


def test_other_numbers_than_doubles_take_the_numpy_path() -> None:
    robot = make_robot(3, True)
    state = make_states(robot, 10)
    single = replace(state, p=state.p.astype(np.float32))
    assert np.isfinite(dd.inverse_dynamics(robot, single)).all()
    with pytest.raises(InputError, match="p is"):
        dd.State.from_platform(robot, state.p.astype(complex))
