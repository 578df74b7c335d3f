"""Moves in a long log: from rest to rest, with thresholds from the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, as_float
from deltadyn.errors import InputError
from deltadyn.motion.arguments import is_real
from deltadyn.recording.checks.findings import ranges_where, short_runs
from deltadyn.recording.rates.differentiate import differentiate
from deltadyn.recording.rates.sampling import Samples, Times, samples

FEWEST = 32
NOISE = 6.0  # standard deviations of the rate: exceeded once in 5e8 samples of white noise
EDGE = 0.002  # of the peak rate: below it an axis rests
MOVE = 0.02  # of the peak rate: a move reaches it


@dataclass(frozen=True, eq=False)
class Move:
    """One move: rows first to last (included), times in s, what each axis did (k,).

    `distance` is the way travelled, `peak_rate` the largest |xd|, both in the units of x.
    `complete` is False where the log begins or ends in the middle of it.
    """

    first: int
    last: int
    start: float
    end: float
    distance: FloatArray
    peak_rate: FloatArray
    complete: bool

    @property
    def duration(self) -> float:
        """From start to end, in s."""
        return self.end - self.start

    @property
    def rows(self) -> slice:
        """The rows of the move, to slice arrays with."""
        return slice(self.first, self.last + 1)


@dataclass(frozen=True, eq=False)
class Moves:
    """All moves of a log, the rates (k,) below which an axis rests, and a sentence."""

    moves: tuple[Move, ...]
    threshold: FloatArray
    status: str

    def __len__(self) -> int:
        return len(self.moves)

    def table(self) -> str:
        """One line per move: start, end, duration, longest way and largest rate of an axis."""
        lines = [
            f"{'move':>4}{'start s':>11}{'end s':>11}{'time s':>9}{'distance':>10}{'peak rate':>11}"
        ]
        for number, move in enumerate(self.moves):
            note = "" if move.complete else "  cut off"
            lines.append(
                f"{number:>4}{move.start:>11.4f}{move.end:>11.4f}{move.duration:>9.4f}"
                f"{move.distance.max():>10.4g}{move.peak_rate.max():>11.4g}{note}"
            )
        return "\n".join(lines)


def find_moves(
    t: Times,
    x: npt.ArrayLike | None = None,
    *,
    xd: npt.ArrayLike | None = None,
    threshold: npt.ArrayLike | None = None,
    min_duration: float = 0.05,
    min_rest: float = 0.03,
) -> Moves:
    """The moves in x (N,) or (N, k), or in a recording's q.

    An axis rests below `threshold` (its unit per s, one for all axes or one each): left out, six
    standard deviations of its rate's noise or 0.2 % of its peak rate, whichever is larger. A move
    begins and ends there, and some axis reaches 2 % of its peak rate in it. Rests shorter than
    `min_rest` do not part a move, moves shorter than `min_duration` are dropped; both in s. Rates
    `xd` left out are estimated by the Kalman smoother.
    """
    signal = samples(t, x, FEWEST)
    for name, value in (("min_duration", min_duration), ("min_rest", min_rest)):
        if not is_real(value) or value < 0:
            raise InputError(name, value, "a number of at least 0, in s")
    if xd is None:
        estimate = differentiate(signal.t, signal.x)
        rates, noise = estimate.xd, estimate.std[1]
    else:
        given = samples(signal.t, xd, FEWEST, "xd")
        if given.channels != signal.channels:
            raise InputError("channels of xd", given.channels, f"{signal.channels}, as x has")
        rates, noise = given.x, np.zeros(signal.channels)
    speed = np.abs(rates)
    limit, source = _threshold(speed, noise, threshold)
    moving = np.any(speed > limit, axis=1)
    moving |= short_runs(~moving, round(min_rest / signal.dt))
    runs = [slice(int(start), int(stop)) for start, stop in ranges_where(moving)]
    reach = np.maximum(limit, MOVE * speed.max(axis=0))
    real = [rows for rows in runs if np.any(speed[rows] > reach)]
    long = [rows for rows in real if np.ptp(signal.t[rows]) >= min_duration]
    moves = tuple(_move(signal, speed, rows) for rows in long)
    status = _status(signal, moves, limit, source, len(real) - len(long))
    return Moves(moves, limit, status)


def _threshold(
    speed: FloatArray, noise: FloatArray, given: npt.ArrayLike | None
) -> tuple[FloatArray, str]:
    channels = speed.shape[1]
    if given is None:
        return np.maximum(NOISE * noise, EDGE * speed.max(axis=0)), "from the data"
    value = as_float(given, "threshold")
    if value.shape not in ((), (channels,)) or not np.all(value > 0):
        raise InputError("threshold", given, f"one number above 0 or ({channels},), in units of xd")
    return np.broadcast_to(value, (channels,)).copy(), "as given"


def _move(signal: Samples, speed: FloatArray, rows: slice) -> Move:
    first, last = rows.start, rows.stop - 1
    middle = (speed[rows][1:] + speed[rows][:-1]) / 2
    distance = np.sum(middle * np.diff(signal.t[rows])[:, None], axis=0)
    return Move(
        first,
        last,
        float(signal.t[first]),
        float(signal.t[last]),
        distance,
        speed[rows].max(axis=0),
        first > 0 and last < len(signal) - 1,
    )


def _status(
    signal: Samples, moves: tuple[Move, ...], limit: FloatArray, source: str, dropped: int
) -> str:
    limits = ", ".join(f"{value:.3g}" for value in limit)
    parts = [f"{len(moves)} moves, rest below {limits} per s ({source})"]
    if not moves:
        parts = [f"no move: all rates rest below {limits} per s ({source})"]
    if len(moves) == 1 and moves[0].first == 0 and moves[0].last == len(signal) - 1:
        parts = [f"no rest: the whole log is one move, rest below {limits} per s ({source})"]
    elif any(not move.complete for move in moves):
        cut = ", ".join(str(i) for i, move in enumerate(moves) if not move.complete)
        parts.append(f"move {cut} is cut off by the log's ends")
    if dropped:
        parts.append(f"{dropped} shorter ones dropped")
    return "; ".join(parts)
