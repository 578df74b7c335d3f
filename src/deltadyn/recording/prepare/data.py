"""Recordings made ready for a model: checked, with rates, in stretches without gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare.band import EvenGrid, LowPass, choose_band
from deltadyn.recording.rates.bandwidth import choose_bandwidth
from deltadyn.recording.rates.differentiate import differentiate
from deltadyn.recording.rates.sampling import EVEN
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot

# What no model can use: other axes, values that are not finite, rest, unordered times.


FEWEST = 32  # samples of a recording
STILL = 1e-3  # rad: an axis that moves less stands still


def check_usable(robot: Robot, recording: Recording) -> None:
    """Refuse what no fit can use: other axes, values that are not finite, rest, unordered times."""
    if not isinstance(recording, Recording):
        raise InputError("recording", type(recording).__name__, "a Recording")
    where = repr(recording.name)
    check_axes(robot, recording)
    if len(recording) < FEWEST:
        allowed = f"at least {FEWEST}"
        raise InputError("samples of the recording", len(recording), allowed, where=where)
    check_values(recording)
    travel = np.ptp(recording.q, axis=0)
    if travel.max() < STILL:
        raise InputError(
            "travel of the axes (rad)",
            travel,
            f"at least {STILL:g} rad on one axis: a robot at rest tells gravity alone",
            where=where,
        )


def check_axes(robot: Robot, recording: Recording) -> None:
    """Refuse a recording of a robot with other axes."""
    if recording.dof != robot.dof:
        raise InputError(
            "axes of the recording",
            recording.dof,
            f"{robot.dof}, as robot {robot.name!r} has",
            where=repr(recording.name),
        )


def check_values(recording: Recording, first_row: int = 0, after: float | None = None) -> None:
    """Refuse values that are not finite, and times that do not increase, from `after` (s) on."""
    where = repr(recording.name)
    for name in ("t", "q", "tau"):
        values = getattr(recording, name).reshape(len(recording), -1)
        finite = np.isfinite(values)
        if not finite.all():
            row, axis = (int(index) for index in np.argwhere(~finite)[0])
            place = f"{where}, row {first_row + row} (t {recording.t[row]:g} s)"
            raise InputError(
                name,
                float(values[row, axis]),
                "finite numbers; repair='nan' fills holes of up to 5 samples; leave longer ones "
                "out by start, stop or exclude",
                where=place if name == "t" else f"{place}, axis {axis + 1}",
            )
    t = recording.t if after is None else np.concatenate([[after], recording.t])
    back = np.flatnonzero(np.diff(t) <= 0)
    if back.size:
        row = int(back[0]) + 1
        raise InputError(
            "t",
            float(t[row]),
            f"above its predecessor {t[row - 1]:g} s; repair='decreasing-time' sorts rows",
            where=f"{where}, row {first_row + row - (after is not None)}",
        )


# Parts: stretches without gaps, cut to a size that fits into memory.
#
# A smoother of bandwidth fc forgets its start after some periods of fc. So a part is smoothed
# together with 20 / fc seconds on each side of it, and neighbouring parts have the same rates where
# they overlap, but for rounding. Parts share as many samples as the filter of the band
# takes up, so that none is lost between them.


Rates = Literal["auto", "measured", "kalman"]

CHUNK = 100_000  # samples: some 100 MB of temporaries
GAP = 10.0  # sample times: a longer pause parts the recording
SHORTEST = 8  # samples of a stretch that is used
BANDWIDTH_ROWS = 40_000  # samples from which the bandwidth of long logs is found
SETTLE = 20.0  # periods of the bandwidth after which a smoother has forgotten its start
AT_REST = 3.0  # standard deviations of the rate: below it the direction is not known


@dataclass(frozen=True, eq=False)
class Prepared:
    """Samples of one recording without a gap: state and torque, and the filter of both sides.

    `extra` (kg) is the payload beyond the robot's own. `grid` moves uneven samples to even ones,
    `filter` limits the band and thins out; both are applied by `limited`. `rate_noise` (dof,) is
    the standard deviation of estimated rates, 0 where they were given. `temperature` (N,) is in
    degrees C, where it was recorded.
    """

    name: str
    t: FloatArray
    state: State
    tau: FloatArray
    rate: float
    extra: float = 0.0
    grid: EvenGrid | None = None
    filter: LowPass | None = None
    bandwidth: FloatArray | None = None
    rate_noise: FloatArray | None = None
    temperature: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.t)

    @property
    def band(self) -> float | None:
        """Hz up to which both sides are compared; None: as they are."""
        return None if self.filter is None else self.filter.band

    def limited(self, values: FloatArray) -> FloatArray:
        """Values (N, ...) at the samples as they enter the fit (M, ...), filtered alike."""
        even = values if self.grid is None else self.grid(values)
        return even if self.filter is None else self.filter(even)

    @property
    def times(self) -> FloatArray:
        """The times (M,) of the samples that `limited` gives."""
        even = self.t if self.grid is None else self.grid.t
        return even if self.filter is None else self.filter.times(even)

    @property
    def limited_rate(self) -> float:
        """Samples per second that `limited` gives."""
        return self.rate if self.filter is None else self.rate / self.filter.step

    def with_band(self, band: float | None) -> Prepared:
        """The same samples with another band; refused where the recording is too short for it."""
        if band is None:
            return replace(self, filter=None)
        chosen = LowPass.of(self.rate, band)
        even = len(self.t) if self.grid is None else len(self.grid.t)
        if chosen.length(even) < 2:
            raise too_short(self.name, even / self.rate, chosen)
        return replace(self, filter=chosen)


def too_short(name: str, seconds: float, chosen: LowPass) -> InputError:
    """The error of a recording, or of its longest stretch without a gap, that no band fits in."""
    needed = chosen.shortest / chosen.rate
    allowed = (
        f"at least {needed:.3g} s for a band of {chosen.band:.3g} Hz; take a wider band, or None"
    )
    return InputError(f"duration of {name!r}", seconds, allowed)


def parts_in_band(parts: Iterable[Prepared], band: float | None) -> tuple[Prepared, ...]:
    """The stretches that outlast the filter; the longest one must."""
    every = tuple(parts)
    longest = max(every, key=len).with_band(band)
    kept = [part for part in every if longest.filter is None or _outlasts(part, longest.filter)]
    return tuple(part.with_band(band) for part in kept)


def _outlasts(part: Prepared, chosen: LowPass) -> bool:
    even = len(part) if part.grid is None else len(part.grid.t)
    return chosen.length(even) >= 2


def prepare(
    robot: Robot,
    recording: Recording,
    *,
    band: float | Literal["auto"] | None = "auto",
    rates: Rates = "auto",
    bandwidth: npt.ArrayLike | None = None,
) -> Prepared:
    """One recording made ready as a whole; it must have no gap longer than ten samples.

    `rates` "measured" takes the recording's qd and qdd, "kalman" estimates them, "auto" takes the
    measured ones where both are there. `bandwidth` (Hz) of the estimates comes from the data where
    it is left out. `band` (Hz) is that of the comparison: "auto" is where a rigid model explains
    the torque, None compares the samples as they are.
    """
    parts = list(prepared_parts(robot, recording, rates=rates, bandwidth=bandwidth, size=None))
    if len(parts) > 1:
        where = f"t = {parts[0].t[-1]:.6g} s"
        allowed = f"at most {GAP:g} sample times; cut the recording there"
        gap = float(parts[1].t[0] - parts[0].t[-1])
        raise InputError(f"gap in {recording.name!r}", gap, allowed, where=where)
    only = parts[0]
    if band == "auto":
        return only.with_band(choose_band(robot, [only]))
    return only.with_band(checked_band(band))


def prepared_parts(
    robot: Robot,
    recording: Recording,
    *,
    rates: Rates = "auto",
    bandwidth: npt.ArrayLike | None = None,
    size: int | None = CHUNK,
    overlap: float = 0.0,
) -> Iterator[Prepared]:
    """A recording in stretches without gaps and in parts of at most `size` samples, unfiltered.

    Neighbouring parts share `overlap` seconds, so that a filter of that length loses nothing.
    """
    for make in deferred_parts(
        robot, recording, rates=rates, bandwidth=bandwidth, size=size, overlap=overlap
    ):
        yield make()


def deferred_parts(
    robot: Robot,
    recording: Recording,
    *,
    rates: Rates = "auto",
    bandwidth: npt.ArrayLike | None = None,
    size: int | None = CHUNK,
    overlap: float = 0.0,
    shortest: int = SHORTEST,
) -> Iterator[Callable[[], Prepared]]:
    """The same as functions that prepare a part each, so that threads can call them.

    Stretches of fewer than `shortest` samples are left out.
    """
    check_usable(robot, recording)
    cutting = Cutting.of(robot, recording, rates, bandwidth, size, overlap, shortest)
    window = Window(robot, cutting)
    yield from window.finish(recording)


@dataclass(frozen=True, eq=False)
class Cutting:
    """How a recording is cut into parts of `size` samples that share some with their neighbours."""

    step: float  # s, of the samples
    extra: float  # kg of payload beyond the robot's own
    measured: bool  # whether rates are at hand
    bandwidth: npt.ArrayLike | None  # Hz, of the smoother where they are not
    size: int | None
    shared: int
    shortest: int = SHORTEST  # samples of a stretch that is used

    @classmethod
    def of(
        cls,
        robot: Robot,
        recording: Recording,
        rates: Rates,
        bandwidth: npt.ArrayLike | None,
        size: int | None,
        overlap: float,
        shortest: int = SHORTEST,
    ) -> Cutting:
        """The cutting of a log that is like this recording; it gives the bandwidth, too."""
        extra = 0.0 if recording.payload is None else recording.payload - robot.payload.mass
        step = recording.sample_time
        measured = _use_measured(recording, rates)
        if not measured and bandwidth is None:
            longest = max(stretches(recording.t, step), key=lambda rows: rows[1] - rows[0])
            bandwidth = _found_bandwidth(recording, *longest)
        shared = int(np.ceil(overlap / step))
        return cls(step, extra, measured, bandwidth, size, shared, max(shortest, SHORTEST))

    @property
    def settle(self) -> int:
        """Samples beside a part after which the smoother has forgotten its start."""
        if self.measured:
            return 0
        assert self.bandwidth is not None
        return int(np.ceil(SETTLE / float(np.min(self.bandwidth)) / self.step))

    @property
    def reach(self) -> int:
        """Samples from a part's start on, with which its end and its rates do not change."""
        return 0 if self.size is None else self.size + self.shared + self.size // 4 + self.settle

    def end(self, low: int, stop: int) -> int:
        """Where the part ends that starts at `low`, in a stretch up to `stop`."""
        if self.size is None:
            return stop
        high = low + self.size + self.shared
        return stop if stop - high < self.size // 4 else high  # no crumbs

    def part(
        self, robot: Robot, recording: Recording, rows: tuple[int, int], stretch: tuple[int, int]
    ) -> Prepared:
        """Some rows of a stretch, with rates."""
        low, high = rows
        t, tau = recording.t[low:high], recording.tau[low:high]
        hz, noise = None, None
        if self.measured:
            assert recording.qd is not None
            assert recording.qdd is not None
            q, qd, qdd = (array[low:high] for array in (recording.q, recording.qd, recording.qdd))
        else:
            before, after = max(stretch[0], low - self.settle), min(stretch[1], high + self.settle)
            inner = slice(low - before, high - before)
            found = differentiate(
                recording.t[before:after], recording.q[before:after], bandwidth=self.bandwidth
            )
            q, qd, qdd = found.x[inner], found.xd[inner], found.xdd[inner]
            hz, noise = found.bandwidth, found.std[1]
        state = State.from_joints(robot, q, qd, qdd)
        even = np.abs(np.diff(t) - self.step).max() <= EVEN * self.step
        grid = None if even else EvenGrid.of(t, self.step)
        warmth = None if recording.temperature is None else recording.temperature[low:high]
        return Prepared(
            recording.name, t, state, tau, 1 / self.step, self.extra, grid, None, hz, noise, warmth
        )


class Window:
    """Rows of a log as they are cut into parts: those that were read and are still needed.

    The parts do not depend on the pieces in which the rows come.
    """

    def __init__(self, robot: Robot, cutting: Cutting) -> None:
        self._robot = robot
        self._cutting = cutting
        self._rows: Recording | None = None
        self._waiting: list[Recording] = []  # pieces that make no part yet
        self._stop = 0  # of all rows, with those that wait
        self._start = 0  # of the stretch, or of as much of it as is still here
        self._low = 0  # of the next part
        self._fresh = True  # no part of this stretch was cut

    def add(self, piece: Recording) -> Iterator[Callable[[], Prepared]]:
        """The parts that are complete with one more piece."""
        self._waiting.append(piece)
        self._stop += len(piece)
        if self._stop - self._low >= self._cutting.reach:
            yield from self._parts(last=False)

    def finish(self, *last: Recording) -> Iterator[Callable[[], Prepared]]:
        """The parts that the end of the log completes, with the last pieces."""
        self._waiting += last
        yield from self._parts(last=True)

    def _parts(self, last: bool) -> Iterator[Callable[[], Prepared]]:
        rows, cutting = self._moved(), self._cutting
        for _, stop in stretches(rows.t, cutting.step):
            if stop <= self._low:
                continue
            ends = last or stop < len(rows)  # whether the stretch ends here
            if ends and self._fresh and stop - self._start < cutting.shortest:
                self._next_stretch(stop)
                continue
            while self._low < stop and (ends or len(rows) - self._low >= cutting.reach):
                high = cutting.end(self._low, stop)
                part = (self._low, high)
                yield partial(cutting.part, self._robot, rows, part, (self._start, stop))
                self._fresh = False
                self._low = stop if high == stop else high - cutting.shared
            if ends:
                self._next_stretch(stop)

    def _next_stretch(self, start: int) -> None:
        self._start = self._low = start
        self._fresh = True

    def _moved(self) -> Recording:
        """The rows with the pieces that waited, without those that no part needs any more."""
        pieces = [*([] if self._rows is None else [self._rows]), *self._waiting]
        first = max(self._start, self._low - self._cutting.settle)
        self._start = max(self._start - first, 0)
        self._low -= first
        self._stop -= first
        self._waiting = []
        if len(pieces) == 1 and not first:
            self._rows = pieces[0]
        else:
            values: dict[str, Any] = {
                name: np.concatenate([getattr(piece, name) for piece in pieces])[first:]
                for name in pieces[0].channels()
            }
            self._rows = pieces[0].replace(**values)
        return self._rows


def checked_band(band: Any) -> float | None:
    """A band in Hz, or None."""
    if band is None:
        return None
    if isinstance(band, bool) or not isinstance(band, int | float | np.floating) or not band > 0:
        raise InputError("band", band, "'auto', a frequency above 0 Hz, or None")
    return float(band)


def as_recordings(recordings: Recording | Iterable[Recording]) -> tuple[Recording, ...]:
    """One recording or several, as a tuple; names are made unique for messages."""
    given = (recordings,) if isinstance(recordings, Recording) else tuple(recordings)
    if not given:
        raise InputError("recordings", "none", "at least one recording")
    for item in given:
        if not isinstance(item, Recording):
            raise InputError("recordings", type(item).__name__, "recordings")
    return given


def _use_measured(recording: Recording, rates: str) -> bool:
    if rates not in ("auto", "measured", "kalman"):
        raise InputError("rates", rates, "'auto', 'measured' or 'kalman'")
    there = recording.qd is not None and recording.qdd is not None
    if rates == "measured" and not there:
        raise InputError(
            "rates", rates, "'kalman': the recording has no qd and qdd", where=repr(recording.name)
        )
    return there and rates != "kalman"


#: Bandwidths by recording and rows: a fit prepares its logs more than once.
_BANDWIDTHS: WeakKeyDictionary[Recording, dict[tuple[int, int], FloatArray]] = WeakKeyDictionary()


def _found_bandwidth(recording: Recording, start: int, stop: int) -> FloatArray:
    """The smoother's bandwidth per axis from the data, remembered with the recording."""
    known = _BANDWIDTHS.setdefault(recording, {})
    if (start, stop) not in known:
        known[start, stop] = _search_bandwidth(recording, start, stop)
    return known[start, stop].copy()


def _search_bandwidth(recording: Recording, start: int, stop: int) -> FloatArray:
    """The same, of the middle of a long stretch."""
    spare = max(0, stop - start - BANDWIDTH_ROWS) // 2
    rows = slice(start + spare, stop - spare)
    moving = np.ptp(recording.q[rows], axis=0) > STILL
    found = np.full(recording.dof, np.nan)
    found[moving] = choose_bandwidth(recording.t[rows], recording.q[rows][:, moving]).hz
    found[~moving] = np.nanmedian(found)
    return found


def stretches(t: FloatArray, step: float) -> list[tuple[int, int]]:
    """The rows between gaps, as starts and stops."""
    cuts = np.flatnonzero(np.diff(t) > GAP * step) + 1
    return list(pairwise([0, *(int(cut) for cut in cuts), len(t)]))
