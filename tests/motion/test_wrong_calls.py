"""Wrong calls of the generators and of the check: what each message says."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.motion.cases import END, FOUR, POINTS, START, THREE

from deltadyn.errors import DeltadynError, InputError, UnknownNameError, UnreachableError
from deltadyn.kinematics import State
from deltadyn.motion import (
    Motion,
    adept_cycle,
    check_motion,
    gate_move,
    pick_and_place,
    spindle_turn,
    spline_move,
    stretch,
    telescopic_gate,
    with_turn,
    y1,
    y3,
)
from deltadyn.motion.limits import LimitReport

A, B, P = START[:3], END[:3], POINTS[:, :3]
MOVE: Motion = gate_move(THREE, A, B, lift=0.01)
MOVE4: Motion = gate_move(FOUR, START, END, lift=0.01)
REPORT: LimitReport = check_motion(THREE, MOVE)


class Wrong(NamedTuple):
    """A call and all that its error says."""

    call: Callable[[], Any]
    message: str
    kind: type[DeltadynError] = InputError


WRONG = {
    "lift downwards": Wrong(
        lambda: pick_and_place(THREE, A, B, lift=-0.05), "lift is -0.05; allowed: a number above 0"
    ),
    "rounding beyond the upright": Wrong(
        lambda: pick_and_place(THREE, A, B, lift=0.01, rounding=0.02),
        "rounding is 0.02; allowed: above 0 and at most 0.01 m, the lower upright or half of the "
        "width",
    ),
    "rounding beyond half of the width": Wrong(
        lambda: pick_and_place(THREE, A, A + np.array([0.01, 0, 0]), lift=0.01, rounding=0.006),
        "rounding is 0.006; allowed: above 0 and at most 0.005 m, the lower upright or half of the "
        "width",
    ),
    "no way across": Wrong(
        lambda: pick_and_place(FOUR, START, START + np.array([0, 0, 0, 1])),
        "horizontal distance of start and end is 0; allowed: at least 1e-06 m; to turn psi alone "
        "there is spindle_turn",
    ),
    "unknown profile": Wrong(
        lambda: pick_and_place(THREE, A, B, profile="spline"),
        "profile is 'spline'; allowed: one of 'trapezoid', 's-curve', 'quintic', 'modified-sine'",
        UnknownNameError,
    ),
    "dwell before the beginning": Wrong(
        lambda: pick_and_place(THREE, A, B, dwell=(0.1, -0.2)),
        "dwell at the end is -0.2; allowed: at least 0 s",
    ),
    "three dwells": Wrong(
        lambda: pick_and_place(THREE, A, B, dwell=(0.1, 0.2, 0.3)),  # type: ignore[arg-type]
        "dwell is [0.1, 0.2, 0.3]; allowed: one number of s, or two: at the start and the end",
    ),
    "longer holds than the duration": Wrong(
        lambda: pick_and_place(THREE, A, B, lift=0.01, dwell=0.3, duration=0.5),
        "duration is 0.5; allowed: above the 0.6 s of standing still",
    ),
    "back in words": Wrong(
        lambda: pick_and_place(THREE, A, B, back="yes"),  # type: ignore[arg-type]
        "back is 'yes'; allowed: True or False",
    ),
    "duration in words": Wrong(
        lambda: pick_and_place(THREE, A, B, duration="short"),  # type: ignore[arg-type]
        "duration is 'short'; allowed: a number above 0",
    ),
    "share above one": Wrong(
        lambda: pick_and_place(THREE, A, B, share=1.2),
        "share is 1.2; allowed: a number above 0 and at most 1",
    ),
    "rise beyond half": Wrong(
        lambda: gate_move(THREE, A, B, rise=0.6),
        "rise is 0.6; allowed: a number above 0 and at most 0.5",
    ),
    "no time to cross": Wrong(
        lambda: gate_move(THREE, A, B, rise=0.5, overlap=0.0),
        "overlap is 0; allowed: above 0 with a rise of 0.5, to leave time to cross",
    ),
    "rate below one sample": Wrong(
        lambda: gate_move(THREE, A, B, duration=0.4, rate=2.0),
        "rate is 2; allowed: at least 1 / duration = 2.5 Hz",
    ),
    "start of another robot": Wrong(
        lambda: pick_and_place(FOUR, A, END),
        "shape of start is [3]; allowed: (4,) or (N, 4): robot.coordinates are x, y, z, psi",
    ),
    "one point": Wrong(
        lambda: spline_move(THREE, A), "shape of points is [3]; allowed: (K, 3) with K from 2"
    ),
    "times that stand still": Wrong(
        lambda: spline_move(THREE, P, [0, 1, 1, 2, 3]),
        "times at row 2 is 1; allowed: above its predecessor 1 s",
    ),
    "times that are no numbers": Wrong(
        lambda: spline_move(THREE, P, [0, 1, math.nan, 2, 3]),
        "times at row 2 is nan; allowed: finite numbers",
    ),
    "too few times": Wrong(
        lambda: spline_move(THREE, P, [0, 1, 2]),
        "shape of times is [3]; allowed: (5,), as points has rows",
    ),
    "unknown kind": Wrong(
        lambda: spline_move(THREE, P, kind="linear"),
        "kind is 'linear'; allowed: one of 'quintic', 'cubic'",
        UnknownNameError,
    ),
    "unknown ends": Wrong(
        lambda: spline_move(THREE, P, ends="free"),
        "ends is 'free'; allowed: one of 'rest', 'natural', 'periodic'",
        UnknownNameError,
    ),
    "open periodic spline": Wrong(
        lambda: spline_move(THREE, P[:4], kind="cubic", ends="periodic"),
        "points at row 3, axis 1 is -0.14; allowed: 0.05, as the first of a periodic spline",
    ),
    "short periodic spline": Wrong(
        lambda: spline_move(THREE, P, ends="periodic"),
        "points is 5; allowed: at least 6 for a periodic spline",
    ),
    "a point twice without times": Wrong(
        lambda: spline_move(THREE, P[[0, 1, 1]]),
        "points at row 2 is [0.05, 0.12, -0.69]; allowed: apart from its predecessor, or times for "
        "all points",
    ),
    "duration of a spline in words": Wrong(
        lambda: spline_move(THREE, P, duration="quick"),  # type: ignore[arg-type]
        "duration is 'quick'; allowed: a number above 0, None or 'times'",
    ),
    "a spindle that is not there": Wrong(
        lambda: spindle_turn(THREE, A, 1.0),
        "robot is 'sipro-d3-1200'; allowed: one that turns psi: robot.coordinates are x, y, z",
    ),
    "no turn": Wrong(
        lambda: spindle_turn(FOUR, START, [1.0, 0.0]),
        "turns at row 1 is 0; allowed: finite and not 0 rad",
    ),
    "turns in words": Wrong(
        lambda: spindle_turn(FOUR, START, "half"),
        "turns is 'half'; allowed: a number of rad, or several",
    ),
    "turn after the end": Wrong(
        lambda: with_turn(FOUR, MOVE4, 1.0, end=0.5),
        "end is 0.5; allowed: from 0 to 0.4 s, within the motion",
    ),
    "turn that ends before it begins": Wrong(
        lambda: with_turn(FOUR, MOVE4, 1.0, begin=0.3, end=0.2),
        "end is 0.2; allowed: above begin, 0.3 s",
    ),
    "turn on a motion of another robot": Wrong(
        lambda: with_turn(FOUR, MOVE, 1.0),
        "motion is 'PlannedMotion'; allowed: a Motion of 4 coordinates",
    ),
    "turn of a robot without a spindle": Wrong(
        lambda: adept_cycle(THREE, turn=1.0),
        "turn is 1; allowed: 0 rad: robot 'sipro-d3-1200' has no psi, its robot.coordinates are x, "
        "y, z",
    ),
    "turn in words": Wrong(
        lambda: telescopic_gate(FOUR, turn="half"),  # type: ignore[arg-type]
        "turn is 'half'; allowed: a number of rad",
    ),
    "no cycles": Wrong(
        lambda: adept_cycle(THREE, cycles_per_minute=0.0),
        "cycles_per_minute is 0; allowed: a number above 0",
    ),
    "half a pick": Wrong(
        lambda: y1(THREE, picks=0.5),  # type: ignore[arg-type]
        "picks is 0.5; allowed: a whole number of at least 1",
    ),
    "seed in words": Wrong(
        lambda: y1(THREE, seed="lucky"),  # type: ignore[arg-type]
        "seed is 'lucky'; allowed: a whole number of at least 0",
    ),
    "stops of negative time": Wrong(
        lambda: y3(THREE, dwell=-1.0), "dwell at the end is -1; allowed: at least 0 s"
    ),
    "stretch to nothing": Wrong(
        lambda: stretch(THREE, MOVE, duration=0.0), "duration is 0; allowed: a number above 0"
    ),
    "stretch of one sample": Wrong(
        lambda: stretch(THREE, Motion.from_platform(THREE, [0.0], A[None], A[None], A[None])),
        "samples of motion is 1; allowed: at least 2, to be stretched",
    ),
    "stretch of an array": Wrong(
        lambda: stretch(THREE, P),  # type: ignore[arg-type]
        "motion is 'ndarray'; allowed: a Motion",
    ),
    "check of a state": Wrong(
        lambda: check_motion(THREE, State.from_platform(THREE, A)),  # type: ignore[arg-type]
        "motion is 'State'; allowed: a Motion, which has times",
    ),
    "check of another robot's motion": Wrong(
        lambda: check_motion(FOUR, MOVE),
        "coordinates of the motion is 3; allowed: 4 coordinates, as robot 'example-delta-4' has",
    ),
    "check with a negative margin": Wrong(
        lambda: check_motion(THREE, MOVE, singularity_margin=-0.1),
        "singularity_margin is -0.1; allowed: from 0 to below pi/2 rad",
    ),
    "check with no share": Wrong(
        lambda: check_motion(THREE, MOVE, share=0.0),
        "share is 0; allowed: a number above 0 and at most 1",
    ),
    "check with an unknown model": Wrong(
        lambda: check_motion(THREE, MOVE, model="exakt"),
        "model is 'exakt'; allowed: one of 'exact', 'rigid', 'half-half', 'gray-box', "
        "'virtual-work', 'euler-lagrange', 'projected-rod'",
        UnknownNameError,
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_is_refused(name: str) -> None:
    wrong = WRONG[name]
    with pytest.raises(DeltadynError) as caught:
        wrong.call()
    assert str(caught.value) == wrong.message
    assert type(caught.value) is wrong.kind


def test_a_limit_that_does_not_exist() -> None:
    with pytest.raises(UnknownNameError, match="limit is 'torque'; allowed: one of 'reach', "):
        REPORT["torque"]


def test_a_move_out_of_reach_says_where_and_by_how_much() -> None:
    """Arms 2 and 3 are farthest from a point along x: their elbows' circle by Pythagoras."""
    with pytest.raises(UnreachableError) as caught:
        gate_move(THREE, A, [2.0, 0.0, -0.7])
    error = caught.value
    radial, tangential = -1.0 - 0.15, math.sqrt(3)
    needed = math.hypot(math.hypot(radial, 0.7) - 0.375, tangential)
    assert str(error) == (
        "platform position [2, 0, -0.7] at 0.4 s cannot be reached: arm 2 needs a strut of at "
        f"least {needed:.4g} m and has 0.9 m, {needed - 0.9:.2g} m off; {len(error.rows)} of 801 "
        "samples are out of reach"
    )
    assert isinstance(error.value, np.ndarray)
    np.testing.assert_allclose(error.value, [2.0, 0.0, -0.7], atol=1e-12)


def test_a_move_too_near_the_base_is_out_of_reach_too() -> None:
    with pytest.raises(UnreachableError, match=r"needs a strut of at most 0\.\d+ m and has 0.9 m"):
        pick_and_place(THREE, [-0.1, 0, -0.3], [0.1, 0, -0.3], duration=1.0)


def test_a_motion_through_a_singular_pose() -> None:
    """Arm and strut in line: no distance to name, the reason of the kinematics stays."""
    deepest = -math.sqrt(1.275**2 - 0.15**2)
    with pytest.raises(UnreachableError, match="cannot be reached: "):
        spline_move(THREE, [[0, 0, -0.9], [0, 0, deepest], [0, 0, -0.9]], duration=1.0)


def test_right_calls_beside_the_wrong_ones() -> None:
    """The same calls with what is allowed, in the number types that users have."""
    loose: dict[str, Any] = {"lift": np.float32(0.01), "back": np.True_, "dwell": [0, 0.1]}
    assert pick_and_place(THREE, list(A), tuple(B), duration=1, **loose).duration == 1.0
    loose = {"picks": np.int64(1), "seed": np.int32(2), "duration": np.float64(2.0)}
    assert y1(THREE, **loose).duration == 2.0
    assert spindle_turn(FOUR, START, np.array([1, -1]), duration=1).p[-1, 3] == pytest.approx(0.3)
    assert len(spline_move(THREE, P.tolist(), (0, 1, 2, 3, 4), rate=100)) == 401
