"""Repair a recording, on request only: every repair is listed in its provenance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.motion.arguments import check_count
from deltadyn.recording.checks.findings import (
    KINDS,
    Findings,
    ranges_where,
    rows_text,
    short_runs,
)
from deltadyn.recording.recording import Recording, channel_name
from deltadyn.recording.stretch import GAP

MOST_MISSING = 5  # samples in a row that may be interpolated

#: What can be repaired, in the order in which it is done.
REPAIRS = ("decreasing time", "duplicate time", "encoder wrap", "not finite", "gap")


def repair(
    recording: Recording,
    findings: Findings,
    kinds: Iterable[str],
    *,
    most_missing: int = MOST_MISSING,
) -> Recording:
    """The recording with the findings of these kinds repaired, as far as they occur.

    "decreasing time" sorts the rows, "duplicate time" drops rows that repeat a time, "encoder
    wrap" adds the turns that the encoder lost, "not finite" and "gap" interpolate linearly up to
    `most_missing` samples in a row; longer ones stay. Everything else must be corrected where it
    came from.
    """
    chosen = [kinds] if isinstance(kinds, str) else list(kinds)
    for kind in chosen:
        if kind not in KINDS:
            raise UnknownNameError("kind of finding", kind, KINDS)
        if kind not in REPAIRS:
            raise InputError(
                "kinds",
                kind,
                f"{', '.join(repr(name) for name in REPAIRS)}; others are corrected by reading the "
                "file again with another column map, or by cutting rows out",
            )
    check_count("most_missing", most_missing, 1)
    present = set(findings.kinds)
    for kind in REPAIRS:
        if kind in chosen and kind in present:
            recording = _DOERS[kind](recording, findings, most_missing)
    return recording


def _sorted(recording: Recording, findings: Findings, most: int) -> Recording:
    order = np.argsort(recording.t, kind="stable")
    moved = int((order != np.arange(len(order))).sum())
    text = f"rows sorted by time: {moved} of {len(order)} moved"
    return _rows(recording, order, text)


def _deduplicated(recording: Recording, findings: Findings, most: int) -> Recording:
    keep = np.concatenate([[True], np.diff(recording.t) != 0])
    dropped = ranges_where(~keep)
    count = int((~keep).sum())
    text = f"{count} rows dropped that repeat a time: {rows_text(dropped)}"
    return _rows(recording, np.flatnonzero(keep), text)


def _unwrapped(recording: Recording, findings: Findings, most: int) -> Recording:
    q = recording.q.copy()
    provenance = recording.provenance
    for finding in findings.of("encoder wrap"):
        axis = int((finding.channel or "q1")[1:]) - 1
        period = finding.value or 2 * np.pi
        steps = np.diff(q[:, axis])
        turns = np.where(np.isfinite(steps), np.round(steps / period), 0.0)
        q[1:, axis] -= period * np.cumsum(turns)
        provenance = provenance.with_repair(
            f"{finding.channel} unwrapped by {period:.6g} {recording.unit('q', axis)} at "
            f"{int(np.count_nonzero(turns))} rows"
        )
    return recording.replace(q=q, provenance=provenance)


def _without_nan(recording: Recording, findings: Findings, most: int) -> Recording:
    changes: dict[str, Any] = {}
    provenance = recording.provenance
    rows = np.arange(len(recording), dtype=np.float64)
    for name, axis, column in recording.columns():
        known = np.isfinite(column)
        bad = short_runs(~known, most)
        if not bad.any():
            continue
        filled = changes.setdefault(name, getattr(recording, name).copy())
        at = bad if axis is None else (bad, axis)
        filled[at] = np.interp(rows[bad], rows[known], column[known])
        provenance = provenance.with_repair(
            f"{channel_name(name, axis, recording.dof)} interpolated at {int(bad.sum())} samples: "
            f"{rows_text(ranges_where(bad))}"
        )
    return recording.replace(provenance=provenance, **changes)


def _without_gaps(recording: Recording, findings: Findings, most: int) -> Recording:
    t = recording.t
    usual = recording.sample_time
    steps = np.diff(t)
    missing = np.zeros(len(steps), dtype=np.intp)
    with np.errstate(invalid="ignore"):
        wide = steps > GAP * usual
        missing[wide] = np.round(steps[wide] / usual).astype(np.intp) - 1
    missing[(missing > most) | (missing < 0)] = 0
    count = int(missing.sum())
    if not count:
        return recording
    old = np.concatenate([[0], np.cumsum(missing + 1)])  # new rows of the old samples
    new = np.arange(old[-1] + 1, dtype=np.float64)
    values: dict[str, Any] = {
        name: _interpolated(new, old, array) for name, array in recording.channels().items()
    }
    added = ranges_where(~np.isin(np.arange(len(new)), old))
    text = f"{count} missing samples interpolated: {rows_text(added)}"
    return recording.replace(provenance=recording.provenance.with_repair(text), **values)


def _interpolated(new: FloatArray, old: FloatArray, array: FloatArray) -> FloatArray:
    if array.ndim == 1:
        return np.interp(new, old, array)
    columns = [np.interp(new, old, array[:, axis]) for axis in range(array.shape[1])]
    return np.stack(columns, axis=1)


def _rows(recording: Recording, rows: Any, text: str) -> Recording:
    values: dict[str, Any] = {name: array[rows] for name, array in recording.channels().items()}
    return recording.replace(provenance=recording.provenance.with_repair(text), **values)


_DOERS: dict[str, Callable[[Recording, Findings, int], Recording]] = {
    "decreasing time": _sorted,
    "duplicate time": _deduplicated,
    "encoder wrap": _unwrapped,
    "not finite": _without_nan,
    "gap": _without_gaps,
}
