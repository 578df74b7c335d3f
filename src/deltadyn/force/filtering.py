"""The observer's filter over recordings: two stages y_k = (y_k-1 + 2 K T x_k) / (1 + 2 K T)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.force.rows import WINDOW, ForceRows, force_rows, torque_at
from deltadyn.force.settings import STAGES, ForceOptions
from deltadyn.payload.front_end import check_recording_of, delay_of, even_rows, sampling_rate
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot

SETTLE = 5.0  # over the bandwidth: s after a begin that do not count


@dataclass(frozen=True, eq=False)
class Filtered:
    """An even stretch of a recording after the filter, a row per sample that has one.

    `t` (N,) s is the time of the last sample that a row needs.
    """

    t: FloatArray
    rows: ForceRows


def robot_of(
    robot: Any, recordings: Sequence[Recording], options: ForceOptions | None
) -> tuple[Robot, ForceOptions]:
    """The robot of a fit, and options with the recordings' rate and the fit's delay."""
    own = getattr(robot, "robot", robot)
    if not isinstance(own, Robot):
        raise InputError("robot", type(robot).__name__, "a Robot, or a fit with .robot")
    if not recordings:
        raise InputError("recordings", "none", "at least one")
    for recording in recordings:
        check_recording_of(own, recording)
    rates = {sampling_rate(recording) for recording in recordings}
    if len(rates) > 1:
        raise InputError("rates of the recordings", sorted(rates), "one rate, in Hz")
    chosen = options or ForceOptions(delay=delay_of(robot))
    return own, replace(chosen, rate=rates.pop())


def filtered_rows(robot: Robot, recording: Recording, options: ForceOptions) -> list[Filtered]:
    """The stretches of a recording; gaps of more than ten samples begin a new one.

    A payload that the recording names is part of the model, not a force.
    """
    if recording.payload:
        robot = robot.with_payload(recording.payload, robot.payload.offset)
    late = math.ceil(abs(options.delay) * options.rate)
    least = WINDOW + late + settle(options) + 1
    pieces = [x for x in _even_stretches(recording, options.rate) if len(x[0]) >= least]
    if not pieces:
        seconds, needed = recording.duration, least / options.rate
        raise InputError("recording", f"{seconds:.3f} s", f"at least {needed:.3f} s without a gap")
    return [filter_stretch(robot, *piece, options) for piece in pieces]


def _even_stretches(
    recording: Recording, rate: float
) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """Times, angles and torques of each stretch, at an even rate."""
    if np.all(np.round(np.diff(recording.t) * rate) == 1):
        yield recording.t, recording.q, recording.tau
        return
    rows = list(even_rows(recording, rate))
    starts = [k for k, row in enumerate(rows) if row.new] + [len(rows)]
    for low, high in pairwise(starts):
        part = rows[low:high]
        q = np.array([row.sample.q for row in part])
        tau = np.array([row.sample.tau for row in part])
        yield np.array([row.t for row in part]), q, tau


def filter_stretch(
    robot: Robot, t: FloatArray, q: FloatArray, tau: FloatArray, options: ForceOptions
) -> Filtered:
    """The filter over even samples t (n,), q, tau (n, dof), without the rows in which it settles.

    A row stands at the time of the last sample that it needs.
    """
    interval = 1 / options.rate
    late = options.delay * options.rate
    rows = max(0, len(q) - 3 - max(0, math.ceil(late - 1.5)))  # the last have no torque yet
    own = torque_at(tau, np.arange(rows, dtype=np.float64) + (1.5 + late))
    found = force_rows(robot, q[: rows + 3], own, interval)
    keep = slice(settle(options), rows)
    passed, _ = smoothed(found, (), options.gain)
    return Filtered(t[len(t) - rows :][keep], passed.at(keep))


def smoothed(
    rows: ForceRows, stages: Sequence[ForceRows], gain: float
) -> tuple[ForceRows, list[ForceRows]]:
    """Rows behind the filter, and its stages after the last of them.

    `stages` are those after the row before; none where the rows begin a stretch.
    """
    from scipy.signal import lfilter  # takes longer than the rest of the import

    after: list[ForceRows] = []
    for k in range(STAGES):
        start = stages[k] if stages else rows.at(slice(0, 1))
        pairs = zip(rows.parts, start.parts, strict=True)
        rows = ForceRows(
            *(lfilter([gain], [1.0, gain - 1.0], x, axis=0, zi=(1 - gain) * y)[0] for x, y in pairs)
        )
        after.append(rows.at(slice(-1, None)))
    return rows, after


def settle(options: ForceOptions) -> int:
    """Rows in which the filter settles."""
    return round(SETTLE / options.bandwidth * options.rate)
