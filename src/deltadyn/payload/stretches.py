"""A recording on the grid of the front end: residuals and payload columns of all its stretches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.payload.front_end import FrontEnd, Grid, GridSample
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot

GAP = 10.0  # sample times: a longer pause parts the samples


@dataclass(frozen=True, eq=False)
class GridSeries:
    """Residuals r (M, dof), columns c, rates qd and platform speeds; `starts` of stretches.

    `t` (M,) is when a residual was known, `grid.delay` after what it speaks of.
    """

    grid: Grid
    t: FloatArray
    r: FloatArray
    c: FloatArray
    qd: FloatArray
    speed: FloatArray
    starts: tuple[int, ...]


def recorded_grid(
    robot: Robot, recording: Recording, *, rate: float | None = None, form: str = "acceleration"
) -> GridSeries:
    """All residuals of a recording, without those of the filter's first moments.

    `rate` (Hz) is that of the recording where it is left out. Measured rates are used where the
    recording has both; else they come from the angles.
    """
    check_recording_of(robot, recording)
    own = sampling_rate(recording) if rate is None else rate
    grid = Grid.of(own, form)
    front = FrontEnd(robot, grid)
    times: list[float] = []
    samples: list[GridSample] = []
    starts: list[int] = []
    waiting = 0
    for t, row, new in even_rows(recording, grid.rate):
        if new:
            front.reset()
            waiting = grid.warm_up
            starts.append(len(samples))
        sample = front.push(*row)
        if sample is None:
            continue
        if waiting:
            waiting -= 1
            continue
        times.append(t)
        samples.append(sample)
    shape = (-1, robot.dof)
    columns = [np.array([getattr(x, name) for x in samples]) for name in GridSample._fields]
    r, c, qd = (column.reshape(shape) for column in columns[:3])
    kept = tuple(start for start in starts if start < len(samples))
    return GridSeries(grid, np.array(times), r, c, qd, columns[3], kept)


Row = tuple[list[float], list[float] | None, list[float] | None, list[float]]


def even_rows(recording: Recording, rate: float) -> Iterator[tuple[float, Row, bool]]:
    """Time, sample (q, qd, qdd, tau), and whether a stretch begins; missing rows are interpolated.

    Up to ten sample times are bridged by a straight line, as `identify` does.
    """
    measured = recording.qd is not None and recording.qdd is not None
    parts = [recording.q, recording.tau]
    if measured:
        parts += [recording.qd, recording.qdd]  # type: ignore[list-item]
    values = np.concatenate(parts, axis=1)
    dof, last, before = recording.dof, None, None
    for t, row in zip(recording.t.tolist(), values, strict=True):
        new = last is None or t - last > GAP / rate
        if not new and last is not None and before is not None:
            missing = round((t - last) * rate) - 1
            for k in range(1, missing + 1):
                share = k / (missing + 1)
                between = (1 - share) * before + share * row
                yield last + share * (t - last), _split(between, dof, measured), False
        yield t, _split(row, dof, measured), new
        last, before = t, row


def sampling_rate(recording: Recording) -> float:
    """The rate of a recording in Hz, to three digits: clocks jitter."""
    step = recording.sample_time
    if not step > 0:
        raise InputError("sample time", step, "above 0 s", where=recording.name)
    return float(f"{1 / step:.3g}")


def check_recording_of(robot: Robot, recording: object) -> None:
    """A recording of a robot with as many axes, with times that run forward and finite values."""
    if not isinstance(recording, Recording):
        raise InputError("recording", type(recording).__name__, "a Recording")
    if recording.dof != robot.dof:
        allowed = f"{robot.dof}, as robot {robot.name!r} has"
        raise InputError("axes of the recording", recording.dof, allowed)
    bad = np.flatnonzero(~np.isfinite(np.column_stack([recording.t, recording.q, recording.tau])))
    if bad.size:
        row = int(bad[0]) // (1 + 2 * recording.dof)
        raise InputError("recording", "NaN", "finite values", where=f"row {row}")
    back = np.flatnonzero(np.diff(recording.t) <= 0)
    if back.size:
        value = float(recording.t[back[0] + 1])
        raise InputError("t", value, "times that run forward", where=f"row {back[0] + 1}")


def _split(row: FloatArray, dof: int, measured: bool) -> Row:
    x = row.tolist()
    if not measured:
        return x[:dof], None, None, x[dof : 2 * dof]
    return x[:dof], x[2 * dof : 3 * dof], x[3 * dof :], x[dof : 2 * dof]
