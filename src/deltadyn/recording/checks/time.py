"""Checks of the clock: gaps, repeated and decreasing times, jitter, rate, length."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.recording.checks.findings import Finding, as_rows, ranges_where, rows_text
from deltadyn.recording.recording import Recording, channel_name

GAP = 1.5  # time steps: from here on a sample is missing
JITTER = 0.05  # of the time step, standard deviation
LOWEST_RATE = 100.0  # Hz; the dynamics of a Delta robot reach some tens of hertz
SLOWEST_STEP = 0.2  # s; no drive is logged so slowly: milliseconds taken as seconds
FASTEST_STEP = 2e-5  # s; no drive is logged so fast: seconds taken as milliseconds
LEAST_SAMPLES = 200
LEAST_DURATION = 1.0  # s


def check_finite(recording: Recording) -> Iterator[Finding]:
    """Values that are NaN or infinite, channel by channel."""
    for name, array in recording.channels().items():
        columns = array[:, None] if array.ndim == 1 else array
        for axis in range(columns.shape[1]):
            bad = ~np.isfinite(columns[:, axis])
            if not bad.any():
                continue
            channel = channel_name(name, None if array.ndim == 1 else axis)
            ranges = ranges_where(bad)
            rows = as_rows(ranges)
            count = int(bad.sum())
            yield Finding(
                "not finite",
                "error",
                channel,
                f"{count} of {len(recording)} values are NaN or infinite, "
                f"{rows_text(rows, len(ranges))}.",
                "Cut these rows out, or interpolate short stretches with "
                "repair(kinds=['not finite']).",
                rows,
                len(ranges),
            )


def check_time(recording: Recording) -> Iterator[Finding]:
    """The order and spacing of the times."""
    t = recording.t
    usual = recording.sample_time
    wrong_unit = usual > SLOWEST_STEP or 0 < usual < FASTEST_STEP
    if not wrong_unit:
        yield from _length(recording)
    if len(t) < 2:
        return
    steps = np.diff(t)
    yield from _repeated(steps, "duplicate time")
    yield from _repeated(steps, "decreasing time")
    if not usual > 0:
        return
    yield from _rate(usual, wrong_unit)
    yield from _gaps(t, usual)
    normal = steps[(steps > 0) & (steps <= GAP * usual)]
    if normal.size > 2 and float(normal.std()) > JITTER * usual:
        spread = float(normal.std()) / usual
        yield Finding(
            "jitter",
            "warning",
            "t",
            f"The time step varies by {100 * spread:.3g} % (standard deviation) around "
            f"{1e3 * usual:.6g} ms.",
            "Log with the drive's own clock; derivatives of positions suffer from it.",
            value=spread,
        )


def _repeated(steps: FloatArray, kind: str) -> Iterator[Finding]:
    same = kind == "duplicate time"
    at = np.flatnonzero(steps == 0 if same else steps < 0)
    if not at.size:
        return
    ranges = np.stack([at + 1, at + 2], axis=1)
    rows = as_rows(ranges)
    what = "equal their predecessor" if same else "are below their predecessor"
    repair = "drop repeated rows" if same else "sort the rows"
    yield Finding(
        kind,
        "error",
        "t",
        f"{at.size} times {what}, {rows_text(rows, at.size)}.",
        f"Look for restarts or merged files; repair(kinds=[{kind!r}]) would {repair}.",
        rows,
        int(at.size),
    )


def _gaps(t: FloatArray, usual: float) -> Iterator[Finding]:
    order = np.argsort(t, kind="stable") if (np.diff(t) < 0).any() else np.arange(len(t))
    steps = np.diff(t[order])
    at = np.flatnonzero((steps > GAP * usual) & np.isfinite(steps))
    if not at.size:
        return
    missing = float(np.round(steps[at] / usual - 1).sum())
    rows = as_rows(np.stack([order[at], order[at] + 2], axis=1))
    yield Finding(
        "gap",
        "warning",
        "t",
        f"{at.size} gaps with some {missing:.0f} missing samples, the longest "
        f"{float(steps[at].max()):.4g} s, {rows_text(rows, at.size)}.",
        "Split the recording there; repair(kinds=['gap']) interpolates gaps of a few samples.",
        rows,
        int(at.size),
        float(steps[at].max()),
    )


def _rate(usual: float, wrong_unit: bool) -> Iterator[Finding]:
    if wrong_unit:
        guess = "milliseconds taken as seconds" if usual > 1e-2 else "seconds taken as milliseconds"
        yield Finding(
            "time unit",
            "error",
            "t",
            f"The time step is {usual:.6g} s: {guess}?",
            "Name the unit in the header (t_ms) or in a column map.",
            value=usual,
        )
    elif usual > 1 / LOWEST_RATE:
        yield Finding(
            "low rate",
            "warning",
            "t",
            f"The rate is {1 / usual:.4g} Hz.",
            f"Log with at least {LOWEST_RATE:g} Hz, better 1 kHz: accelerations are lost below.",
            value=1 / usual,
        )


def _length(recording: Recording) -> Iterator[Finding]:
    count, duration = len(recording), recording.duration
    if count >= LEAST_SAMPLES and not duration < LEAST_DURATION:
        return
    yield Finding(
        "too short",
        "error" if count < 2 else "warning",
        None,
        f"{count} samples over {duration:.4g} s.",
        f"Record at least {LEAST_SAMPLES} samples and {LEAST_DURATION:g} s; "
        "identification wants some 10 s.",
        value=duration,
    )
