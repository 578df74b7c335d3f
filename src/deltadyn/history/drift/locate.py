"""Where a change is: its kind, its first night with an interval, and what moved with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from deltadyn.history.drift.scan import BEFORE, NEAREST, RAMP, STEP, Sums, scan
from deltadyn.history.drift.state import Alarm, Place, State

AFTER = 30  # nights after an alarm that place its change, at least
WITH = 3.5  # |z| of a parameter that moved with another


def locate(
    state: State, k: int, others: Sequence[Alarm], night: int, latest: int | None = None
) -> Place:
    """Kind, first row (`latest` at most) and interval of a parameter's change, from a night."""
    sums = state.sums(others, night + 1)
    begin = max(
        [0, *(a.places[k].row for a in others if k in a.places and a.places[k].row < night)]
    )
    starts = np.arange(begin, night + 1 if latest is None else min(latest, night) + 1)[None]
    begins = np.zeros(state.y.shape[1], dtype=np.int64)
    begins[k] = begin
    best: Place | None = None
    for kind in (STEP, RAMP):
        found = scan(_only(sums, k), kind, np.array([night]), starts, begins[k : k + 1])
        z2 = np.where(found.valid[0, :, 0], found.z[0, :, 0] ** 2, 0.0)
        top = int(np.argmax(z2))
        if best is not None and z2[top] <= best.z**2:
            continue
        # log likelihood ratios of a step's date walk away from their top at random: they stay
        # within x of it with probability (1 - exp(-x))^2; a ramp's are those of one free number.
        fall = -2 * np.log(1 - np.sqrt(state.options.level)) if kind == STEP else _one_free(state)
        inside = np.flatnonzero(found.valid[0, :, 0] & (z2 >= z2[top] - fall))
        ends = (int(inside[0]), int(inside[-1])) if len(inside) else (top, top)
        best = Place(
            kind,
            begin + top,
            begin + ends[0],
            begin + ends[1],
            float(found.z[0, top, 0]),
            float(found.delta[0, top, 0]),
        )
    assert best is not None
    return best


def _one_free(state: State) -> float:
    """The quantile of chi^2 with one degree of freedom."""
    return float(ndtri((1 + state.options.level) / 2) ** 2)


def _only(sums: Sums, k: int) -> Sums:
    """The sums of one parameter."""
    part = slice(k, k + 1)
    return Sums(
        sums.E[:, part],
        sums.first[:, part],
        sums.rows[:, part],
        sums.count[:, part],
        sums.t,
        sums.P[part],
    )


def moved(
    state: State,
    parameter: int,
    place: Place,
    others: Sequence[Alarm],
    later: Sequence[Alarm],
    rows: int,
) -> dict[int, Place]:
    """The change in every parameter that moved with one, seen from the first `rows` nights.

    A parameter with a change of its own afterwards is seen up to that.
    """
    count = state.y.shape[1]
    ends = np.full(count, rows - 1)
    begins = np.zeros(count, dtype=np.int64)
    for k in range(count):
        ends[k] = min([rows, *(x.places[k].row for x in later if k in x.places)]) - 1
        own = (x.places[k].row for x in others if k in x.places)
        begins[k] = max([0, *(row for row in own if row <= ends[k])])
    sums, least, out = state.sums(others, rows), state.least(), {parameter: place}
    for end in np.unique(ends[ends >= place.row]).tolist():
        found = scan(sums, place.kind, np.array([end]), np.array([[place.row]]), begins)
        reach = sums.t[end] - sums.t[place.row] if place.kind == RAMP else 1.0
        for k in np.flatnonzero((ends == end) & (np.arange(count) != parameter)).tolist():
            z, delta = float(found.z[0, 0, k]), float(found.delta[0, 0, k])
            if abs(z) >= WITH and abs(delta * reach) >= least[k]:
                out[k] = replace(place, z=z, delta=delta)
    return out


def placed(state: State, number: int, rows: int) -> Alarm:
    """A change as the first `rows` nights show it, up to the next change of its parameter."""
    alarm = state.alarms[number]
    others = [x for place, x in enumerate(state.alarms) if place != number]
    later = state.alarms[number + 1 :]
    k = alarm.parameter
    last = min([rows, *(x.places[k].row for x in later if k in x.places)]) - 1
    # growth is a straight line for a while only, and other changes may follow unseen
    last = min(last, alarm.raised + max(AFTER, 2 * (alarm.raised - alarm.place.row)))
    if last - alarm.place.row + 1 < NEAREST[STEP]:
        return alarm
    place = locate(state, k, others, last, alarm.raised)
    if abs(place.z) < WITH or place.row <= BEFORE - 1:
        return alarm
    return replace(alarm, places=moved(state, k, place, others, later, rows))
