"""The NumPy evaluation for long logs equals the common one."""

from collections.abc import Iterator

import numpy as np
import pytest

import deltadyn as dd
from deltadyn import backends as kernels
from deltadyn.arrays import FloatArray
from deltadyn.dynamics import columns
from deltadyn.dynamics.base import exciting_states
from deltadyn.dynamics.columns import has_axis_rows
from deltadyn.errors import InputError, UnreachableError
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare.band import LowPass, decimated
from deltadyn.robot import Robot


def joints(robot: Robot, count: int) -> tuple[State, FloatArray, FloatArray, FloatArray]:
    state = exciting_states(robot, count, 3)
    return state, np.array(state.q), np.array(state.qd), np.array(state.qdd)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Several pieces, the last one shorter; and no kernels, which would answer first."""
    monkeypatch.setattr(columns, "PIECE", 150)
    with kernels.switched_off():
        yield


@pytest.mark.parametrize("name", ["sipro-d3-1200", "abb-irb360-6-1600", "nt-robot"])
def test_states_equal_those_of_the_kernels(name: str) -> None:
    robot = dd.load_robot(name)
    want, q, qd, qdd = joints(robot, 400)
    found = State.from_joints(robot, q, qd, qdd)
    for quantity in ("p", "pd", "pdd", "cos_q", "sin_q", "q", "qd", "qdd"):
        expected = getattr(want, quantity)
        error = np.abs(getattr(found, quantity) - expected).max()
        assert error <= 1e-12 * np.abs(expected).max(), quantity  # rounding in another order


def test_a_state_does_not_change_with_the_arrays_it_came_from() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    _, q, qd, qdd = joints(robot, 10)
    state = State.from_joints(robot, q, qd, qdd)
    before = state.qd.copy()
    qd[:] = 0.0
    np.testing.assert_array_equal(state.qd, before)


def test_what_cannot_be_is_refused_as_elsewhere() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    _, q, qd, qdd = joints(robot, 300)
    q[200] = [3.1, 0.0, 0.0]
    with pytest.raises(UnreachableError, match=r"no platform position closes the loop"):
        State.from_joints(robot, q, qd, qdd)
    q[200] = q[0]
    qdd[250, 1] = np.nan
    with pytest.raises(InputError, match=r"qdd at row 250, axis 1 is nan"):
        State.from_joints(robot, q, qd, qdd)
    with pytest.raises(InputError, match=r"shape of q"):
        State.from_joints(robot, q[:, :2], qd, qdd)


def test_other_models_go_the_common_way() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    assert not has_axis_rows(robot, "rigid")
    four = dd.load_robot("abb-irb360-6-1600")  # with friction in passive joints
    assert not has_axis_rows(four, "exact")
    assert has_axis_rows(four.with_friction(passive=()), "exact")
    assert not has_axis_rows(robot.with_friction(load=(0.1, 0.1, 0.1)), "exact")


@pytest.mark.parametrize("band", [12.0, 40.0, 150.0, 390.0])
@pytest.mark.parametrize("count", [4000, 1601, 300])
def test_decimation_is_the_filter(band: float, count: int) -> None:
    chosen = LowPass.of(1000.0, band)
    x = np.random.default_rng(1).standard_normal((2, 3, count))
    want = np.moveaxis(chosen(np.moveaxis(x, -1, 0)), 0, -1)
    found = decimated(chosen, x)
    assert found.shape == want.shape
    np.testing.assert_allclose(found, want, atol=1e-13)
    assert decimated(None, x) is x
