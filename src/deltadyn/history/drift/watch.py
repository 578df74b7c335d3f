"""Watching a series night by night: when an alarm is raised, of what, and since when.

Each night only what was known then is used. The noise is estimated from the nights before and
renewed as these grow by 10 %. An alarm is raised on the first night on which a change of any
parameter, at any lag, of either kind, has |z| above the threshold. Then the change is placed: its
kind and its first night are those of the largest likelihood, and other parameters that moved with
it (|z| above `WITH`) belong to it. From there a parameter begins anew, with a level and a trend of
its own; temperature and noise stay what they were, so that a repair is found as well as a fault.
While nights come in, the newest change is placed anew: its date sharpens, its alarm stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.history.drift.locate import locate, moved, placed
from deltadyn.history.drift.noise import Noise
from deltadyn.history.drift.options import DriftOptions
from deltadyn.history.drift.scan import RAMP, STEP, Bools, Ints, lags, scan
from deltadyn.history.drift.series import Series
from deltadyn.history.drift.state import Alarm, Place, State
from deltadyn.history.drift.temperature import Warmth, warmth_of
from deltadyn.history.drift.threshold import with_few

GROWTH = 1.1  # of the nights, after which the noise is estimated anew
TOGETHER = 7  # nights between two dates that may be one change


@dataclass(frozen=True, eq=False)
class Watched:
    """What was found in a series, with the noise of its last night."""

    series: Series
    warmth: Warmth
    noise: Noise
    alarms: tuple[Alarm, ...]
    odd: Bools
    limit: float


def watch(series: Series, options: DriftOptions) -> Watched:
    """Watch a series from its first night to its last."""
    state = State(series, warmth_of(series, options.temperature), options, series.y, series.s)
    n, total = min(options.burn_in, len(series.days)), len(series.days)
    state.learn(n)
    while n < total:
        stop = min(total, max(n + 1, int(n * GROWTH)))
        state.learn(n)
        _sharpen(state, n)
        found = _first(state, n, stop)
        if found is not None and state.alarms:
            _sharpen(state, found + 1)  # a date that was off looks like another change
            found = _first(state, n, stop)
        if found is None:
            n = stop
        else:
            _raise(state, found)
            n = found + 1
    if total:
        state.learn(total)
        for number in range(len(state.alarms)):
            state.alarms[number] = placed(state, number, total)
    return _watched(state)


def _watched(state: State) -> Watched:
    assert state.noise is not None
    assert state.odd is not None
    return Watched(
        state.series, state.warmth, state.noise, tuple(state.alarms), state.odd, state.limit
    )


def strongest(series: Series, options: DriftOptions) -> FloatArray:
    """The largest |z| (n, k) of every night, as if no alarm were ever raised; 0 before burn-in.

    Thresholds are calibrated with it.
    """
    state = State(series, warmth_of(series, options.temperature), options, series.y, series.s)
    out = np.zeros(state.y.shape)
    n, total = options.burn_in, len(series.days)
    while n < total:
        stop = min(total, max(n + 1, int(n * GROWTH)))
        state.learn(n)
        out[n:stop] = _largest(state, np.arange(n, stop))[0]
        n = stop
    return out


def _first(state: State, n: int, stop: int) -> int | None:
    """The first row from n to before stop on which an alarm is due."""
    nights = np.arange(n, stop)
    over = _excess(state, nights).max(axis=1) > 1  # (N,)
    return int(nights[np.argmax(over)]) if over.any() else None


def _excess(state: State, nights: Ints) -> FloatArray:
    """The largest |z| over its limit (N, k) of changes that are large enough."""
    most, count = _largest(state, nights)
    assert state.held is not None
    return np.where(state.held[nights], 0.0, most / with_few(state.limit, count))


def _largest(state: State, nights: Ints) -> tuple[FloatArray, Ints]:
    """The largest |z| (N, k) of changes that are large enough, and the nights behind it."""
    sums = state.sums(state.alarms, int(nights[-1]) + 1)
    starts = nights[:, None] + 1 - lags(int(nights[-1]) + 1)[None]
    begins, count = state.begins(), sums.count[nights + 1]
    most = np.zeros(count.shape)
    for kind in (STEP, RAMP):
        found = scan(sums, kind, nights, starts, begins)
        size = np.abs(found.delta)
        if kind == RAMP:
            size = size * (sums.t[nights][:, None] - sums.t[np.clip(starts, 0, None)])[..., None]
        worth = found.valid & (size >= state.least())
        most = np.maximum(most, np.where(worth, np.abs(found.z), 0.0).max(axis=1))
    return most, count


def _raise(state: State, night: int) -> None:
    """Take up the change that is due on a night: as a new one, or as part of the newest."""
    over = _excess(state, np.array([night]))[0]
    parameter = int(np.argmax(over))
    place = locate(state, parameter, state.alarms, night)
    places = moved(state, parameter, place, state.alarms, (), night + 1)
    for number, alarm in enumerate(state.alarms):
        if parameter not in alarm.places and _near(alarm.place, place):
            new = {k: x for k, x in places.items() if k not in alarm.places}
            state.alarms[number] = replace(alarm, places=alarm.places | new)
            return
    state.alarms.append(Alarm(night, parameter, places))


def _near(a: Place, b: Place) -> bool:
    """Whether two dates may be one."""
    return a.low - TOGETHER <= b.high and b.low - TOGETHER <= a.high


def _sharpen(state: State, rows: int) -> None:
    """Place the newest change anew with the nights that came since."""
    if state.alarms:
        state.alarms[-1] = placed(state, len(state.alarms) - 1, rows)
