"""Wrong calls of dynamics and motions: each is refused at once and says what is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.dynamics.factory import MODELS, make_robot, make_states

from deltadyn import dynamics
from deltadyn.backends.components import packed_torque
from deltadyn.dynamics import (
    equations_of_motion,
    forward_dynamics,
    inverse_dynamics,
    regressor,
)
from deltadyn.errors import DeltadynError, InputError, UnknownNameError, UnreachableError
from deltadyn.kinematics import State
from deltadyn.motion import Motion, gate_move

THREE, FOUR, UNEQUAL = make_robot(3, True), make_robot(4, True), make_robot(3, False)
S3, S4 = make_states(THREE, 5), make_states(FOUR, 5)
T = np.linspace(0.0, 1.0, 10)
P = np.tile([0.0, 0.0, -0.75], (10, 1))
Q = np.tile(S3.q[0], (10, 1))
A, B = np.array([0.0, 0.0, -0.75]), np.array([0.1, 0.0, -0.75])
BROKEN = P.copy()
BROKEN[3, 1] = np.nan
ANYTHING: Any = None  # stands for what a type checker would refuse
TEXTS: Any = ["a", "b", "c"]
MODEL_NAMES = ", ".join(repr(name) for name in MODELS)


def with_time(row: int, value: float) -> Any:
    """The times with one of them replaced."""
    t = T.copy()
    t[row] = value
    return t


class Wrong(NamedTuple):
    """A call, and the error's quantity, value, place and message."""

    call: Callable[[], object]
    quantity: str
    value: Any
    message: str
    where: str | None = None
    kind: type[DeltadynError] = InputError


WRONG: dict[str, Wrong] = {
    # models
    "unknown model": Wrong(
        lambda: inverse_dynamics(THREE, S3, "newton"),
        "model",
        "newton",
        f"model is 'newton'; allowed: one of {MODEL_NAMES}",
        kind=UnknownNameError,
    ),
    "model is not a name": Wrong(
        lambda: equations_of_motion(THREE, S3, TEXTS),
        "model",
        ["a", "b", "c"],
        f"model is ['a', 'b', 'c']; allowed: one of {MODEL_NAMES}",
        kind=UnknownNameError,
    ),
    "unknown model of a regressor": Wrong(
        lambda: regressor(THREE, S3, ANYTHING),
        "model",
        None,
        f"model is None; allowed: one of {MODEL_NAMES}",
        kind=UnknownNameError,
    ),
    "capital letter in a model": Wrong(
        lambda: forward_dynamics(THREE, S3.q, S3.qd, S3.qdd, model="Exact"),
        "model",
        "Exact",
        f"model is 'Exact'; allowed: one of {MODEL_NAMES}",
        kind=UnknownNameError,
    ),
    "tied limbs that differ": Wrong(
        lambda: regressor(UNEQUAL, make_states(UNEQUAL, 2), tied=True),
        "tied",
        True,
        "tied is True; allowed: False: the limbs of this robot are not equal",
    ),
    "com_offset of another model": Wrong(
        lambda: regressor(THREE, S3, "rigid", com_offset=True),
        "com_offset",
        True,
        "com_offset is True; allowed: None for models other than 'exact'",
    ),
    # motions handed to the dynamics
    "motion of another robot": Wrong(
        lambda: inverse_dynamics(FOUR, S3),
        "coordinates of the motion",
        3,
        "coordinates of the motion is 3; allowed: 4 coordinates, as robot 'robot 0' has",
    ),
    "terms of another robot": Wrong(
        lambda: equations_of_motion(THREE, S4),
        "coordinates of the motion",
        4,
        "coordinates of the motion is 4; allowed: 3 coordinates, as robot 'robot 0' has",
    ),
    "columns of another robot": Wrong(
        lambda: regressor(THREE, S4),
        "coordinates of the motion",
        4,
        "coordinates of the motion is 4; allowed: 3 coordinates, as robot 'robot 0' has",
    ),
    "an array is no motion": Wrong(
        lambda: inverse_dynamics(THREE, S3.q),  # type: ignore[arg-type]
        "motion",
        "ndarray",
        "motion is 'ndarray'; allowed: a Motion or a State, made by from_platform or from_joints",
    ),
    "None is no motion": Wrong(
        lambda: regressor(THREE, ANYTHING),
        "motion",
        "NoneType",
        "motion is 'NoneType'; allowed: a Motion or a State, made by from_platform or from_joints",
    ),
    # external forces
    "force with two values": Wrong(
        lambda: inverse_dynamics(THREE, S3, external_force=[1.0, 2.0]),
        "shape of external_force",
        (2,),
        "shape of external_force is [2]; allowed: (3,) or (N, 3)",
    ),
    "moment on a robot without psi": Wrong(
        lambda: inverse_dynamics(THREE, S3, external_force=[1.0, 2.0, 3.0, 4.0]),
        "shape of external_force",
        (4,),
        "shape of external_force is [4]; allowed: (3,) or (N, 3)",
    ),
    "force with five values": Wrong(
        lambda: forward_dynamics(FOUR, S4.q, S4.qd, S4.qd, external_force=np.zeros((5, 5))),
        "shape of external_force",
        (5, 5),
        "shape of external_force is [5, 5]; allowed: (3,) or (N, 3), or with 4 values",
    ),
    "force as one number": Wrong(
        lambda: inverse_dynamics(THREE, S3, external_force=5.0),
        "shape of external_force",
        (),
        "shape of external_force is []; allowed: (3,) or (N, 3)",
    ),
    "force with too few rows": Wrong(
        lambda: inverse_dynamics(THREE, S3, external_force=np.zeros((4, 3))),
        "rows of external_force",
        4,
        "rows of external_force is 4; allowed: 5, as its partners have",
    ),
    "force that is not a number": Wrong(
        lambda: inverse_dynamics(THREE, S3, external_force=[0.0, math.nan, 0.0]),
        "external_force",
        math.nan,
        "external_force at row 0, axis 1 is nan; allowed: finite numbers",
        "row 0, axis 1",
    ),
    "force in words": Wrong(
        lambda: inverse_dynamics(THREE, S3, external_force=TEXTS),
        "external_force",
        ["a", "b", "c"],
        "external_force is ['a', 'b', 'c']; allowed: an array of real numbers",
    ),
    "force with uneven rows": Wrong(
        lambda: inverse_dynamics(THREE, S3, external_force=[[1, 2, 3], [1, 2]]),
        "shape of external_force",
        (),
        "shape of external_force is []; allowed: (3,) or (N, 3)",
    ),
    # forward dynamics
    "angles of another robot": Wrong(
        lambda: forward_dynamics(THREE, S4.q, S4.qd, S4.qdd),
        "shape of q",
        (5, 4),
        "shape of q is [5, 4]; allowed: (3,) or (N, 3)",
    ),
    "torques of another robot": Wrong(
        lambda: forward_dynamics(THREE, S3.q, S3.qd, np.zeros(4)),
        "shape of tau",
        (4,),
        "shape of tau is [4]; allowed: (3,) or (N, 3)",
    ),
    "torques with too few rows": Wrong(
        lambda: forward_dynamics(THREE, S3.q, S3.qd, np.zeros((2, 3))),
        "rows of tau",
        2,
        "rows of tau is 2; allowed: 5, as its partners have",
    ),
    "rates with too few rows": Wrong(
        lambda: forward_dynamics(THREE, S3.q, S3.qd[:2], S3.qdd),
        "rows of qd",
        2,
        "rows of qd is 2; allowed: 5, as its partners have",
    ),
    "endless torque": Wrong(
        lambda: forward_dynamics(THREE, S3.q, S3.qd, [0.0, 0.0, math.inf]),
        "tau",
        math.inf,
        "tau at row 0, axis 2 is inf; allowed: finite numbers",
        "row 0, axis 2",
    ),
    # motions over time
    "time stands still": Wrong(
        lambda: Motion.from_platform(THREE, with_time(4, T[3]), P),
        "t",
        T[3],
        "t at row 4 is 0.333333; allowed: above its predecessor 0.333333 s",
        "row 4",
    ),
    "time goes back": Wrong(
        lambda: Motion.from_joints(THREE, with_time(2, -1.0), Q),
        "t",
        -1.0,
        "t at row 2 is -1; allowed: above its predecessor 0.111111 s",
        "row 2",
    ),
    "time is not a number": Wrong(
        lambda: Motion.from_platform(THREE, with_time(6, math.nan), P),
        "t",
        math.nan,
        "t at row 6 is nan; allowed: finite numbers",
        "row 6",
    ),
    "time in words": Wrong(
        lambda: Motion.from_platform(THREE, TEXTS, P[:3]),
        "t",
        ["a", "b", "c"],
        "t is ['a', 'b', 'c']; allowed: an array of real numbers",
    ),
    "time as a column": Wrong(
        lambda: Motion.from_platform(THREE, T[:, None], P),
        "shape of t",
        (10, 1),
        "shape of t is [10, 1]; allowed: (N,), with p as (N, 3)",
    ),
    "time of one sample": Wrong(
        lambda: Motion.from_joints(THREE, 0.0, Q[0]),
        "shape of t",
        (),
        "shape of t is []; allowed: (N,), with q as (N, 3)",
    ),
    "fewer times than points": Wrong(
        lambda: Motion.from_platform(THREE, T[:7], P),
        "samples of t",
        7,
        "samples of t is 7; allowed: 10, as p has",
    ),
    "no samples": Wrong(
        lambda: Motion.from_platform(THREE, [], P[:0], P[:0], P[:0]),
        "samples of t",
        0,
        "samples of t is 0; allowed: at least 1",
    ),
    "accelerations without rates": Wrong(
        lambda: Motion.from_platform(THREE, T, P, pdd=P),
        "pd",
        None,
        "pd is None; allowed: given wherever pdd is given",
    ),
    "joint accelerations without rates": Wrong(
        lambda: Motion.from_joints(THREE, T, Q, qdd=Q),
        "qd",
        None,
        "qd is None; allowed: given wherever qdd is given",
    ),
    "too few samples for a spline": Wrong(
        lambda: Motion.from_platform(THREE, T[:5], P[:5]),
        "samples of p",
        5,
        "samples of p is 5; allowed: at least 6 to estimate rates",
    ),
    "too few rates for a spline": Wrong(
        lambda: Motion.from_joints(THREE, T[:5], Q[:5], Q[:5]),
        "samples of q",
        5,
        "samples of q is 5; allowed: at least 6 to estimate rates",
    ),
    "a point that is not a number": Wrong(
        lambda: Motion.from_platform(THREE, T, BROKEN),
        "p",
        math.nan,
        "p at row 3, axis 1 is nan; allowed: finite numbers",
        "row 3, axis 1",
    ),
    "rates through a missing point": Wrong(
        lambda: Motion.from_platform(THREE, T, BROKEN, unreachable="nan"),
        "p",
        math.nan,
        "p at row 3, axis 1 is nan; allowed: finite numbers where rates are to be estimated",
        "row 3, axis 1",
    ),
    "fewer rates than points": Wrong(
        lambda: Motion.from_platform(THREE, T, P, P[:4]),
        "rows of pd",
        4,
        "rows of pd is 4; allowed: 10, as its partners have",
    ),
    "points of another robot": Wrong(
        lambda: Motion.from_platform(FOUR, T, P),
        "shape of p",
        (10, 3),
        "shape of p is [10, 3]; allowed: (4,) or (N, 4): robot.coordinates are x, y, z, psi",
    ),
    # the gate move
    "no time for a move": Wrong(
        lambda: gate_move(THREE, A, B, duration=0.0),
        "duration",
        0.0,
        "duration is 0; allowed: a number above 0",
    ),
    "duration in words": Wrong(
        lambda: gate_move(THREE, A, B, duration=TEXTS),
        "duration",
        ["a", "b", "c"],
        "duration is ['a', 'b', 'c']; allowed: a number above 0",
    ),
    "rate that is not a number": Wrong(
        lambda: gate_move(THREE, A, B, rate=math.nan),
        "rate",
        math.nan,
        "rate is nan; allowed: a number above 0",
    ),
    "less than one sample": Wrong(
        lambda: gate_move(THREE, A, B, duration=0.5, rate=1.0),
        "rate",
        1.0,
        "rate is 1; allowed: at least 1 / duration = 2 Hz",
    ),
    "lift downwards": Wrong(
        lambda: gate_move(THREE, A, B, lift=-0.05),
        "lift",
        -0.05,
        "lift is -0.05; allowed: a number above 0",
    ),
    "too much overlap": Wrong(
        lambda: gate_move(THREE, A, B, overlap=1.5),
        "overlap",
        1.5,
        "overlap is 1.5; allowed: a number from 0 to 1",
    ),
    "two starts": Wrong(
        lambda: gate_move(THREE, P[:2], B),
        "shape of start",
        (2, 3),
        "shape of start is [2, 3]; allowed: (3,)",
    ),
    "end of another robot": Wrong(
        lambda: gate_move(FOUR, [0.0, 0.0, -0.75, 0.0], B),
        "shape of end",
        (3,),
        "shape of end is [3]; allowed: (4,) or (N, 4): robot.coordinates are x, y, z, psi",
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=list(WRONG))
def test_a_wrong_call_is_refused(wrong: Wrong) -> None:
    with pytest.raises(DeltadynError) as caught:
        wrong.call()
    error = caught.value
    assert type(error) is wrong.kind
    assert isinstance(error, InputError)  # and a ValueError, for callers who know no other
    assert error.quantity == wrong.quantity
    np.testing.assert_equal(error.value, wrong.value)  # NaN equals NaN here
    assert error.where == wrong.where
    assert str(error) == wrong.message
    assert wrong.message.endswith(error.allowed)
    if isinstance(error, UnknownNameError):
        assert error.names == MODELS


def test_angles_at_which_the_loop_is_open() -> None:
    q = S3.q.copy()
    q[2] = [-3.0, 0.0, 0.0]
    with pytest.raises(UnreachableError, match="q at row 2 cannot be reached") as caught:
        forward_dynamics(THREE, q, S3.qd, S3.qdd)
    assert caught.value.quantity == "q"
    assert caught.value.rows == (2,)
    np.testing.assert_array_equal(caught.value.value, [-3.0, 0.0, 0.0])
    assert "closes the loop" in caught.value.reason


def test_right_calls_beside_the_wrong_ones() -> None:
    """The same calls with what is allowed: the refusals above are not of everything."""
    one = State.from_joints(FOUR, S4.q[0], S4.qd[0], S4.qdd[0])
    assert inverse_dynamics(FOUR, one, external_force=np.zeros((1, 4))).shape == (4,)
    assert inverse_dynamics(FOUR, S4, external_force=(1, 2, 3)).shape == (5, 4)
    assert regressor(UNEQUAL, make_states(UNEQUAL, 2), tied=False).Y.shape[:2] == (2, 3)
    assert len(Motion.from_platform(THREE, T[:6], P[:6])) == 6
    assert len(Motion.from_platform(THREE, T, P, A * 0)) == 10  # one rate for all rows
    assert len(Motion.from_platform(THREE, T[:1], P[:1], P[:1], P[:1])) == 1
    hertz: Any = np.int64(100)
    assert len(gate_move(THREE, A, B, duration=1, rate=hertz, overlap=0)) == 101


@pytest.mark.parametrize(
    "call",
    [
        lambda: inverse_dynamics("sipro-d3-1200", S3),  # type: ignore[arg-type]
        lambda: equations_of_motion(None, S3),  # type: ignore[arg-type]
        lambda: forward_dynamics("x", S3.q, S3.qd, S3.qd),  # type: ignore[arg-type]
    ],
)
def test_a_name_is_no_robot(call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=r"robot is .*; allowed: a Robot, as load_robot gives it"):
        call()


def test_forward_dynamics_carries_open_loops_as_nan() -> None:
    q = np.vstack([S3.q[:1], [[3.0, 0.0, 0.0]]])
    with pytest.raises(UnreachableError, match="unreachable='nan'"):
        forward_dynamics(THREE, q, S3.qd[:2], S3.qd[:2])
    qdd = forward_dynamics(THREE, q, S3.qd[:2], S3.qd[:2], unreachable="nan")
    assert np.isfinite(qdd[0]).all()
    assert np.isnan(qdd[1]).all()


def test_names_of_the_kernels_are_found_and_no_others() -> None:
    assert dynamics.__getattr__("packed_torque") is packed_torque
    with pytest.raises(AttributeError, match=r"'deltadyn\.dynamics' has no attribute 'nothing'"):
        dynamics.__getattr__("nothing")
