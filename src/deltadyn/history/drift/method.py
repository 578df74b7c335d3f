"""Drift of one robot: entries to series, series to changes, changes to words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.history.drift.lines import line_of
from deltadyn.history.drift.options import DriftOptions
from deltadyn.history.drift.result import Change, Drift, Move, OddNight, Track
from deltadyn.history.drift.scan import RAMP
from deltadyn.history.drift.series import Series, series_of
from deltadyn.history.drift.state import Alarm
from deltadyn.history.drift.temperature import UNIT
from deltadyn.history.drift.watch import Watched, watch
from deltadyn.history.drift.words import cause_of, sentence
from deltadyn.history.entry import Entry
from deltadyn.options import merged

BENT = 2.2  # deviations of a ramp's size in those of straight lines: `benchmarks.drift`, seeds 7, 8
BACK = 0.25  # of a change that may be left after a repair
NEAR_ZERO = 3.0  # deviations from 0 within which a size has no percent


def drift(entries: Sequence[Entry], options: DriftOptions | None = None, **keywords: Any) -> Drift:
    """What changed in the parameters of a robot over the entries of its history, and when.

    Fits and logs count, validations do not. The keywords are the fields of `DriftOptions`.
    """
    asked = merged(DriftOptions, options, keywords)
    series = series_of(
        entries,
        parameters=asked.parameters,
        residuals=asked.residuals,
        fewest=asked.burn_in,
    )
    return found_in(series, asked)


def found_in(series: Series, options: DriftOptions) -> Drift:
    """The same from the series of a robot."""
    found = watch(series, options)
    tracks = tuple(_track(found, k) for k in range(len(series.names)))
    return Drift(
        robot=series.robot,
        serial=series.serial,
        zone=series.zone,
        times=tuple(series.when(day) for day in series.days),
        temperature=series.temperature,
        explained=found.warmth.source,
        tracks=tracks,
        changes=tuple(
            sorted((_change(found, alarm) for alarm in found.alarms), key=lambda c: c.date)
        ),
        odd=_odd(found),
        skipped=series.skipped,
        threshold=found.limit,
        years_per_alarm=options.years_per_alarm,
        level=options.level,
        burn_in=options.burn_in,
        left_out=series.left_out,
    )


def _odd(found: Watched) -> tuple[OddNight, ...]:
    series = found.series
    nights = np.flatnonzero(found.odd.any(axis=1))
    return tuple(
        OddNight(
            series.when(series.days[row]),
            tuple(name for k, name in enumerate(series.names) if found.odd[row, k]),
        )
        for row in nights
    )


def _change(found: Watched, alarm: Alarm) -> Change:
    series, place = found.series, alarm.place
    order = sorted(alarm.places, key=lambda k: (k != alarm.parameter, -abs(alarm.places[k].z)))
    moves = tuple(_move(found, alarm, k) for k in order)
    cause = _course(found, alarm, moves[0]) or cause_of(moves)
    date = series.when(series.days[place.row])
    # A step lies between the last night of the old level and the first of the new one; a ramp
    # begins between the nights about its corner.
    low = series.when(series.days[max(place.low - 1, 0)])
    end = min(place.high + (place.kind == RAMP), len(series.days) - 1)
    last = series.when(series.days[-1])
    return Change(
        kind=place.kind,
        date=date,
        low=low,
        high=series.when(series.days[end]),
        raised=series.when(series.days[alarm.raised]),
        until=series.when(series.days[_end(found, alarm, alarm.parameter)]),
        moves=moves,
        cause=cause,
        words=sentence(place.kind, date, last, series.zone, moves, cause),
    )


def _course(found: Watched, alarm: Alarm, move: Move) -> str:
    """ "back" where a change takes back those before it, "ended" where a ramp stops."""
    k = alarm.parameter
    before = [a for a in found.alarms if k in a.places and a.places[k].row < alarm.place.row]
    if not before:
        return ""
    before.sort(key=lambda a: -a.places[k].row)
    total = 0.0
    for earlier in before:  # a ramp and its end are taken back together
        total += _move(found, earlier, k).size
        if abs(total + move.size) < BACK * abs(total):
            return "back"
    last = before[0]
    was = _move(found, last, k).size
    ramps = alarm.place.kind == RAMP == last.places[k].kind
    return "ended" if ramps and abs(move.size) < BACK * abs(was) else ""


def _end(found: Watched, alarm: Alarm, k: int) -> int:
    """The last row of the level that a change began in a parameter."""
    begin = alarm.places[k].row
    rows = [a.places[k].row for a in found.alarms if k in a.places and a.places[k].row > begin]
    return min([len(found.series.days), *rows]) - 1


def _move(found: Watched, alarm: Alarm, k: int) -> Move:
    """The size of a change from the lines of its parameter: at the end of its own level."""
    series, place, line = found.series, alarm.places[k], line_of(found, k)
    shape = line.h[_end(found, alarm, k)] * line.of[place.row]
    size, std = float(shape @ line.beta), float(np.sqrt(shape @ line.covariance @ shape))
    z = size / std if std else 0.0
    std *= BENT if place.kind == RAMP else 1.0
    before = float(line.level[max(place.row - 1, 0)])
    name, unit = series.names[k], series.units[k]
    if series.ratio[k]:
        share = float(np.expm1(size))
        slope = (1 + share) * std  # of exp at the size
        return Move(name, unit, before, before * share, before * slope, 100 * share, 100 * slope, z)
    scatter = float(np.nanmedian(found.noise.sigma(series.s)[:, k]))
    if abs(before) < NEAR_ZERO * scatter:
        return Move(name, unit, before, size, std, None, None, z)
    return Move(name, unit, before, size, std, 100 * size / abs(before), 100 * std / abs(before), z)


def _track(found: Watched, k: int) -> Track:
    series, line = found.series, line_of(found, k)
    values, sigma = series.values[:, k], found.noise.sigma(series.s)[:, k]
    sigma = sigma * values if series.ratio[k] else sigma
    return Track(
        series.names[k],
        series.units[k],
        values,
        np.where(np.isfinite(values), sigma, np.nan),
        line.level,
        line.fitted,
        _per_kelvin(series, k, found.warmth.source, line.beta, np.diag(line.covariance)),
        float(found.noise.phi[k]),
    )


def _per_kelvin(
    series: Series, k: int, source: str, beta: FloatArray, variance: FloatArray
) -> tuple[float, float] | None:
    """The share per kelvin at the mean temperature, and its deviation."""
    if source != "recorded":
        return None
    size = 1.0 if series.ratio[k] else abs(float(np.nanmedian(series.values[:, k])))
    if size == 0:
        return None
    return float(beta[1]) / (UNIT * size), float(np.sqrt(variance[1])) / (UNIT * size)
