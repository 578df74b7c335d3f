"""Drift of one robot: entries to series, series to changes, changes to words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.history.drift.options import DriftOptions
from deltadyn.history.drift.result import Change, Drift, Move, OddNight, Track
from deltadyn.history.drift.scan import FLAT, MONTH, RAMP, STEP, sums_of
from deltadyn.history.drift.series import Series, series_of
from deltadyn.history.drift.state import Alarm, Place
from deltadyn.history.drift.temperature import UNIT
from deltadyn.history.drift.watch import Watched, watch
from deltadyn.history.drift.words import cause_of, sentence
from deltadyn.history.entry import Entry
from deltadyn.options import merged

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
    cause = "back" if _is_back(found, alarm) else cause_of(moves)
    date = series.when(series.days[place.row])
    # the fault lies between the last night of the old level and the first of the new one
    low = series.when(series.days[max(place.low - 1, 0)])
    last = series.when(series.days[-1])
    return Change(
        kind=place.kind,
        date=date,
        low=low,
        high=series.when(series.days[place.high]),
        raised=series.when(series.days[alarm.raised]),
        until=series.when(series.days[_end(found, alarm, alarm.parameter)]),
        moves=moves,
        cause=cause,
        words=sentence(place.kind, date, last, series.zone, moves, cause),
    )


def _is_back(found: Watched, alarm: Alarm) -> bool:
    """Whether a step takes back most of the change before it in the same parameter."""
    k = alarm.parameter
    before = [a for a in found.alarms if k in a.places and a.places[k].row < alarm.place.row]
    if not before or alarm.place.kind != STEP:
        return False
    last = max(before, key=lambda a: a.places[k].row)
    was = _move(found, last, k).size
    left = was + _move(found, alarm, k).size
    return abs(left) < BACK * abs(was)


def _end(found: Watched, alarm: Alarm, k: int) -> int:
    """The last row of the level that a change began in a parameter."""
    begin = alarm.places[k].row
    rows = [a.places[k].row for a in found.alarms if k in a.places and a.places[k].row > begin]
    return min([len(found.series.days), *rows]) - 1


def _move(found: Watched, alarm: Alarm, k: int) -> Move:
    series, place = found.series, alarm.places[k]
    reach = 1.0
    if place.kind == RAMP:
        reach = (series.days[_end(found, alarm, k)] - series.days[place.row]) / MONTH
    size, std = place.delta * reach, abs(place.delta * reach / place.z) if place.z else 0.0
    before = float(_track(found, k).level[max(place.row - 1, 0)])
    name, unit = series.names[k], series.units[k]
    if series.ratio[k]:
        share = float(np.expm1(size))
        slope = (1 + share) * std  # of exp at the size
        return Move(
            name, unit, before, before * share, before * slope, 100 * share, 100 * slope, place.z
        )
    scatter = float(np.nanmedian(found.noise.sigma(series.s)[:, k]))
    if abs(before) < NEAR_ZERO * scatter:
        return Move(name, unit, before, size, std, None, None, place.z)
    return Move(
        name, unit, before, size, std, 100 * size / abs(before), 100 * std / abs(before), place.z
    )


def _track(found: Watched, k: int) -> Track:
    """A parameter with its lines, by generalised least squares with the changes' own shapes."""
    series, noise, w = found.series, found.noise, found.warmth
    shapes = _shapes(found, k)
    m = w.columns.shape[1]
    h = np.column_stack([np.ones(len(series.days)), w.columns, *shapes])
    P = np.concatenate([[FLAT], w.prior[:, k] ** -2.0, np.full(len(shapes), FLAT)])
    sigma = noise.sigma(series.s)[:, k]
    y = np.where(found.odd[:, k], np.nan, series.y[:, k])
    sums = sums_of(
        y[:, None],
        h[:, None],
        P[None],
        sigma[:, None],
        noise.phi[k : k + 1],
        series.days,
        series.spacing,
    )
    p = len(P)
    G = sums.E[-1, 0, :p, :p] + np.diag(P)
    beta, spread = np.linalg.solve(G, sums.E[-1, 0, :p, p + 1]), np.linalg.inv(G)
    fitted, level = h @ beta, h @ np.where((np.arange(p) > 0) & (np.arange(p) <= m), 0.0, beta)
    slope = _per_kelvin(series, k, w.source, m, beta, np.diag(spread))
    values = series.values[:, k]
    if series.ratio[k]:
        fitted, level = np.exp(fitted), np.exp(level)
        sigma = sigma * values
    return Track(
        series.names[k],
        series.units[k],
        values,
        np.where(np.isfinite(values), sigma, np.nan),
        level,
        fitted,
        slope,
        float(noise.phi[k]),
    )


def _shapes(found: Watched, k: int) -> list[FloatArray]:
    """A column per change of a parameter: a step, or a ramp up to the next change."""
    t = found.series.days / MONTH
    places: list[Place] = sorted(
        (a.places[k] for a in found.alarms if k in a.places), key=lambda place: place.row
    )
    out = []
    for number, place in enumerate(places):
        after = places[number + 1].row if number + 1 < len(places) else len(t)
        if place.kind == STEP:
            shape = np.zeros(len(t))
            shape[place.row :] = 1.0
        else:
            shape = np.clip(t - t[place.row], 0.0, t[after - 1] - t[place.row])
        out.append(shape)
    return out


def _per_kelvin(
    series: Series, k: int, source: str, m: int, beta: FloatArray, variance: FloatArray
) -> tuple[float, float] | None:
    """The share per kelvin at the mean temperature, and its deviation."""
    if source != "recorded" or m == 0:
        return None
    size = 1.0 if series.ratio[k] else abs(float(np.nanmedian(series.values[:, k])))
    if size == 0:
        return None
    return float(beta[1]) / (UNIT * size), float(np.sqrt(variance[1])) / (UNIT * size)
