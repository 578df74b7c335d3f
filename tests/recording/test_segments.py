"""Moves in a log: known rests, noise, ringing, cut-off ends, wrong calls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.recording.segments import find_moves

RATE = 1000.0
LENGTHS = (0.4, 0.55, 0.35, 0.5)  # s
RESTS = (0.3, 0.2, 0.12, 0.4, 0.25)  # s, before, between and after the moves
WAYS = ((1.0, 0.2), (-0.6, 0.4), (0.05, -0.3), (-0.45, -0.3))  # rad per axis


def quintic(u: FloatArray) -> FloatArray:
    v = np.clip(u, 0.0, 1.0)
    out: FloatArray = v**3 * (10 + v * (-15 + 6 * v))
    return out


def log() -> tuple[FloatArray, FloatArray, list[tuple[float, float]]]:
    """t, q (N, 2) and the times at which moves begin and end."""
    t = np.arange(round((sum(LENGTHS) + sum(RESTS)) * RATE)) / RATE
    q = np.zeros((len(t), 2))
    times, now = [], RESTS[0]
    for length, rest, way in zip(LENGTHS, RESTS[1:], WAYS, strict=True):
        q += quintic((t - now) / length)[:, None] * np.array(way)
        times.append((now, now + length))
        now += length + rest
    return t, q, times


@pytest.fixture(params=[0.0, 1e-5, 1e-4], ids=["exact", "noise", "strong noise"])
def noisy(request: pytest.FixtureRequest) -> tuple[FloatArray, FloatArray]:
    t, q, _ = log()
    return t, q + request.param * np.random.default_rng(0).standard_normal(q.shape)


def test_every_move_is_found_with_its_times(noisy: tuple[FloatArray, FloatArray]) -> None:
    """A quintic reaches 0.2 % of its peak rate after 1.1 % of its time; strong noise hides 5 %."""
    t, q = noisy
    _, _, times = log()
    found = find_moves(t, q)
    assert len(found) == 4
    for move, (start, end), way in zip(found.moves, times, WAYS, strict=True):
        assert move.start == pytest.approx(start, abs=0.06 * (end - start))
        assert move.end == pytest.approx(end, abs=0.06 * (end - start))
        assert move.distance == pytest.approx(np.abs(way), abs=0.01)
        assert move.peak_rate == pytest.approx(1.875 * np.abs(way) / (end - start), rel=0.03)
        assert move.complete
        assert move.duration == move.end - move.start
        assert (t[move.rows][0], t[move.rows][-1]) == (move.start, move.end)
    assert found.status.startswith("4 moves, rest below ")
    assert "from the data" in found.status


def test_ringing_after_a_stop_is_rest() -> None:
    t, q, times = log()
    for _, end in times:
        after = np.maximum(t - end, 0.0)
        ring = 2e-5 * np.exp(-after / 0.05) * np.sin(2 * np.pi * 30 * after)
        q[:, 0] += np.where(t > end, ring, 0.0)
    found = find_moves(t, q + 1e-6 * np.random.default_rng(1).standard_normal(q.shape))
    assert len(found) == 4
    for move, (_, end) in zip(found.moves, times, strict=True):
        assert move.end < end + 0.04


def test_ends_of_the_log_cut_moves_off() -> None:
    t, q, times = log()
    inside = (t > times[0][0] + 0.1) & (t < times[3][1] - 0.2)
    found = find_moves(t[inside], q[inside])
    assert [move.complete for move in found.moves] == [False, True, True, False]
    assert "move 0, 3 is cut off by the log's ends" in found.status
    assert found.table().count("cut off") == 2
    assert len(found.table().splitlines()) == 5


def test_short_rests_and_short_moves() -> None:
    t, q, _ = log()
    joined = find_moves(t, q, min_rest=0.16)  # the rest of 0.12 s looks longer: slow at its ends
    assert len(joined) == 3
    dropped = find_moves(t, q, min_duration=0.45)
    assert len(dropped) == 2
    assert "2 shorter ones dropped" in dropped.status


def test_a_move_back_and_forth_is_one_move() -> None:
    """One axis that turns around is at rest for no more than an instant."""
    t = np.arange(2000) / RATE
    q = quintic((t - 0.3) / 0.5) - quintic((t - 0.8) / 0.5) + 0.0 * t
    turning = quintic((t - 0.3) / 0.5) - 0.5 * quintic((t - 0.5) / 0.6)
    assert len(find_moves(t, turning)) == 1
    assert len(find_moves(t, q)) == 1  # the rate is 0 at 0.8 s, below the threshold for 11 ms


def test_no_move_and_no_rest() -> None:
    t = np.arange(3000) / RATE
    rng = np.random.default_rng(2)
    still = find_moves(t, 1e-5 * rng.standard_normal((3000, 2)))
    assert len(still) == 0
    assert still.status.startswith("no move: all rates rest below ")
    moving = np.stack([np.sin(3 * t), np.cos(4 * t)], axis=1)
    always = find_moves(t, moving + 1e-5 * rng.standard_normal(moving.shape))
    assert always.status.startswith("no rest: the whole log is one move")
    assert find_moves(t, np.zeros(3000)).moves == ()


def test_given_rates_and_thresholds() -> None:
    t, q, times = log()
    qd = np.gradient(q, 1 / RATE, axis=0)
    found = find_moves(t, q, xd=qd, threshold=[0.05, 0.05])
    assert found.threshold.tolist() == [0.05, 0.05]
    assert "as given" in found.status
    assert len(found) == 4
    assert found.moves[0].start == pytest.approx(times[0][0], abs=0.03)
    recording = SimpleNamespace(t=t, q=q)
    assert len(find_moves(recording)) == 4
    assert len(find_moves(t, q[:, 0])) == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threshold": 0.0}, "threshold is 0; allowed: one number above 0 or (2,)"),
        ({"threshold": [1.0, 2.0, 3.0]}, "threshold is [1, 2, 3]; allowed: one number above 0"),
        ({"threshold": "low"}, "threshold is 'low'; allowed: an array of real numbers"),
        ({"min_duration": -1.0}, "min_duration is -1; allowed: a number of at least 0, in s"),
        ({"min_rest": np.inf}, "min_rest is inf; allowed: a number of at least 0, in s"),
        ({"xd": np.zeros((2170, 2))}, "samples of xd is 2170"),
        ({"xd": np.zeros(3070)}, "channels of xd is 1; allowed: 2, as x has"),
        ({"x": None}, "x is None; allowed: an array beside t, or a Recording in place of t, x"),
        ({"t": np.arange(9.0), "x": np.zeros(9)}, "samples of x is 9; allowed: at least 32"),
    ],
)
def test_wrong_calls_are_refused(change: dict[str, Any], message: str) -> None:
    t, q, _ = log()
    assert len(t) == 3070
    call: dict[str, Any] = {"t": t, "x": q} | change
    with pytest.raises(InputError) as caught:
        find_moves(**call)
    assert message in str(caught.value)
