"""The information of recordings: triangular factors of [Y tau], one per axis and block of time.

For rows [Y tau] = Q R of an axis and a block of time all that a least-squares estimator can ask is
in R: |Y x - tau|^2 = |R (x, -1)|^2. Factors of parts are put side by side without loss, so memory
and the time of a fit do not grow with the log. Reduced models are column maps on R, weights scale
it, and blocks of time tell how residuals hang together.
"""

from __future__ import annotations

import io
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray, contract
from deltadyn.backends.kernels import (
    compiled_drive_columns,
    compiled_rows,
    drive_columns_compiled,
    inertial_places,
)
from deltadyn.dynamics.base import exciting_states
from deltadyn.dynamics.columns import axis_columns, has_axis_rows
from deltadyn.dynamics.friction import axis_terms
from deltadyn.errors import FileError, InputError
from deltadyn.files import replacing
from deltadyn.identification.extra import Extra
from deltadyn.identification.parametrisation import (
    Parametrisation,
    payload_direction,
    wide_columns,
    widest,
)
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare.band import decimated
from deltadyn.recording.prepare.data import Prepared
from deltadyn.robot import Robot

# [Y tau] of every axis for long logs, without the columns that are zero in any motion.
#
# Rows of an axis come as (columns, N), so that a filter runs along contiguous samples. The compiled
# kernels give them; where these are not in use, `dynamics.columns` does.


IntArray = npt.NDArray[np.int64]


class AxisRows(NamedTuple):
    """Per axis the rows (m, N) of [Y tau] and the wide column of each, `places` (m,), tau's last.

    Places grow. The number m of rows may differ from axis to axis.
    """

    rows: list[FloatArray]
    places: list[IntArray]


def axis_rows(robot: Robot, state: State, tau: FloatArray, source: str) -> AxisRows | None:
    """[Y tau] of every axis for the wide columns of a model; None: take the whole regressor."""
    compiled = source == "exact" and drive_columns_compiled(robot, state)
    if not compiled and not has_axis_rows(robot, source):
        return None
    dof, inertial = robot.dof, inertial_places(robot)
    most = max(len(own) for own in inertial)
    terms = friction_terms(robot)
    # one array for all axes: those with fewer inertial rows begin later
    rows = np.empty((dof, most + terms + 1, len(state)))
    if compiled:
        compiled_rows(
            robot, state, [rows[axis, most - len(own) : most] for axis, own in enumerate(inertial)]
        )
        compiled_drive_columns(robot, state, rows[:, most : most + terms])
    else:
        axis_columns(
            robot, state, [rows[axis, most - len(own) :] for axis, own in enumerate(inertial)]
        )
    if not robot.plain_drives:
        for axis, own in enumerate(inertial):
            rows[axis, most - len(own) : -1] *= robot.sensors.torque_ratio[axis]
    rows[:, -1] = tau.T
    first = 1 + max(column for own in inertial for column in own)
    places = [
        np.array([*own, *(first + dof * k + axis for k in range(terms)), first + dof * terms])
        for axis, own in enumerate(inertial)
    ]
    return AxisRows([rows[axis, most - len(own) :] for axis, own in enumerate(inertial)], places)


def wide_torque(robot: Robot, state: State, x: FloatArray, source: str) -> FloatArray:
    """Torque (N, dof) in N m of wide parameters x (n,), without the whole regressor."""
    known = axis_rows(robot, state, np.zeros((len(state), robot.dof)), source)
    if known is None:
        out: FloatArray = widest(robot, state, source).Y @ x
        return out
    return np.column_stack(
        [x[place[:-1]] @ rows[:-1] for rows, place in zip(known.rows, known.places, strict=True)]
    )


def friction_terms(robot: Robot) -> int:
    """How many columns of its own each drive of the robot's model has."""
    return axis_terms(robot)


BLOCK = 0.2  # s: longer than residuals remember, short enough for many blocks in a minute
TOGETHER = 256  # blocks that are joined at once
MEMORY = 4_000_000  # numbers in all factors: 32 MB; beyond, neighbouring blocks are joined


@dataclass(frozen=True, eq=False)
class Information:
    """factors (B, dof, n + 1, n + 1) of [Y tau] for the wide columns `names` (n) of a robot.

    Per block: `rows` (B, dof) that were used of each axis and `left_out` (B, dof) that were not,
    `seconds` (B,), `extra` (B,) payload in kg beyond the robot's own, `recording` (B,) the index
    into `recordings`. `payload` (n,) is what one kg of payload adds to the parameters. The last
    `names` may be columns of the log (`Extra`): `log_names` with `log_units`. `terms` is the record
    (JSON) of the terms of the machine that it was gathered with, "" where none were looked for.
    """

    source: str
    robot: str
    names: tuple[str, ...]
    factors: FloatArray
    rows: IntArray
    left_out: IntArray
    seconds: FloatArray
    extra: FloatArray
    recording: IntArray
    payload: FloatArray
    recordings: tuple[str, ...]
    log_names: tuple[str, ...] = ()
    log_units: tuple[str, ...] = ()
    terms: str = field(default="", repr=False)

    @property
    def dof(self) -> int:
        """Degrees of freedom."""
        return int(self.factors.shape[1])

    @property
    def blocks(self) -> int:
        """Number B of blocks."""
        return len(self.factors)

    @property
    def samples(self) -> int:
        """Instants in all blocks, with the rows that were left out."""
        return int(self.rows[:, 0].sum() + self.left_out[:, 0].sum())

    @property
    def counts(self) -> IntArray:
        """Rows (dof,) of each axis that were used, at least 1: what a mean over rows divides by."""
        counts: IntArray = np.maximum(self.rows.sum(axis=0), 1)
        return counts

    def merge(self, *others: Information) -> Information:
        """The information of all recordings together, exactly."""
        for other in others:
            for name in ("source", "robot", "names", "log_names", "log_units"):
                mine, theirs = getattr(self, name), getattr(other, name)
                if mine != theirs:
                    raise InputError(
                        f"{name} of the information", theirs, f"{mine!r}, as the first"
                    )
            if self.terms != other.terms:
                raise InputError(
                    "terms of the information",
                    "of another search",
                    'those of the first: fit the logs together, or gather with terms="file"',
                )
        found = self
        for other in others:
            shifted = other.recording + len(found.recordings)
            found = _concatenated([found, replace(other, recording=shifted)])
        return found

    def of_recordings(self, chosen: Sequence[int]) -> Information:
        """The blocks of some recordings."""
        return self.of_blocks(np.isin(self.recording, np.asarray(chosen)))

    def of_blocks(self, chosen: npt.NDArray[np.bool_] | IntArray) -> Information:
        """Some blocks, also repeated."""
        return replace(
            self,
            factors=self.factors[chosen],
            rows=self.rows[chosen],
            left_out=self.left_out[chosen],
            seconds=self.seconds[chosen],
            extra=self.extra[chosen],
            recording=self.recording[chosen],
        )

    def reduced(self, par: Parametrisation) -> FloatArray:
        """Factors (B, dof, n + 1, k + 1) of [Y T, tau - Y offset - payload], not triangular."""
        if par.wide_names != self.names or par.source != self.source:
            raise InputError("parametrisation", par.wide_names, f"the columns {self.names}")
        columns = self.factors[..., :-1]
        known = par.offset + self.extra[:, None] * self.payload  # (B, n)
        target = self.factors[..., -1] - contract("bamn,bn->bam", columns, known)
        return np.concatenate([columns @ par.T, target[..., None]], axis=-1)

    def extended(self, par: Parametrisation) -> Parametrisation:
        """A robot's parameters with those of the log behind them, at 0 before the fit."""
        lacking = self.log_names and not par.log_names
        return par.with_extra(self.log_names, self.log_units) if lacking else par

    def factor(self, par: Parametrisation, weights: npt.ArrayLike | None = None) -> FloatArray:
        """Triangular factor (k + 1, k + 1) of all weighted rows; weights (dof,) or (B, dof)."""
        return self.factor_of(self.reduced(par), weights)

    def factor_of(self, reduced: FloatArray, weights: npt.ArrayLike | None = None) -> FloatArray:
        """The same from the result of `reduced`."""
        rows = reduced
        if weights is not None:
            w = np.broadcast_to(np.asarray(weights, dtype=np.float64), (self.blocks, self.dof))
            rows = rows * w[..., None, None]
        return triangle(rows.reshape(-1, reduced.shape[-1]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a NumPy archive; `load_information` gives back equal factors."""
        with replacing(path) as file:  # a path without suffix keeps its name
            file.write(self.archive())

    def archive(self) -> bytes:
        """The bytes of that archive; `information_of` gives back equal factors."""
        file = io.BytesIO()
        np.savez_compressed(
            file,
            text=np.array([self.source, self.robot]),
            names=np.array(self.names),
            recordings=np.array(self.recordings),
            log_names=np.array(self.log_names, dtype=np.str_),
            log_units=np.array(self.log_units, dtype=np.str_),
            terms=np.array(self.terms),
            **{name: getattr(self, name) for name in _ARRAYS},
        )
        return file.getvalue()


_ARRAYS = ("factors", "rows", "left_out", "seconds", "extra", "recording", "payload")
_TEXTS = ("names", "recordings", "log_names", "log_units")


def load_information(path: str | os.PathLike[str]) -> Information:
    """Read what `Information.save` wrote."""
    try:
        with Path(path).open("rb") as opened:
            return _read(opened, str(path))
    except OSError as error:
        allowed = f"a file that can be read ({error.strerror or error})"
        raise FileError("information file", str(path), allowed, path=str(path)) from error


def information_of(archive: bytes, name: str = "archive") -> Information:
    """The information of an archive; `name` stands for it in messages."""
    return _read(io.BytesIO(archive), name)


def _read(opened: IO[bytes], path: str) -> Information:
    try:
        with np.load(opened, allow_pickle=False) as file:
            if sum(item.file_size for item in file.zip.infolist()) > MOST_BYTES:
                raise ValueError(f"more than {MOST_BYTES} bytes when unpacked")
            fields = {name: file[name] for name in file.files}
        source, robot = (str(text) for text in fields.pop("text"))
        if fields["rows"].ndim == 1:  # of 0.1: one count for all axes, and nothing was left out
            shape = fields["factors"].shape[:2]
            fields["rows"] = np.broadcast_to(fields["rows"][:, None], shape).copy()
            fields |= {"left_out": np.zeros(shape, dtype=np.int64)}
            fields |= {"log_names": np.array([], str), "log_units": np.array([], str)}
        terms = str(fields.pop("terms", ""))  # files of 0.1 have none
        names, recordings, log_names, log_units = (
            tuple(str(text) for text in fields.pop(key)) for key in _TEXTS
        )
        _check_arrays(fields, len(names), len(recordings))
        return Information(
            source,
            robot,
            names,
            recordings=recordings,
            log_names=log_names,
            log_units=log_units,
            terms=terms,
            **fields,
        )
    except Exception as error:  # of zip, of its packing, of NumPy's headers, or of the content
        allowed = f"a file that Information.save wrote ({error})"
        raise FileError("information file", path, allowed, path=path) from error


MOST_BYTES = 2**30  # of a saved information when unpacked; `MEMORY` numbers take 32 MB


def _check_arrays(fields: Mapping[str, Any], names: int, recordings: int) -> None:
    """Refuse arrays that do not belong together, and numbers that no log gives."""
    if set(fields) != set(_ARRAYS):
        raise ValueError(f"arrays {sorted(fields)}")
    blocks, axes, *_ = fields["factors"].shape
    shapes = {
        "factors": (blocks, axes, names + 1, names + 1),
        "rows": (blocks, axes),
        "left_out": (blocks, axes),
        "seconds": (blocks,),
        "extra": (blocks,),
        "recording": (blocks,),
        "payload": (names,),
    }
    for key, shape in shapes.items():
        kind = "i" if key in ("rows", "left_out", "recording") else "f"
        values = fields[key]
        if values.shape != shape or values.dtype.kind != kind or not np.isfinite(values).all():
            raise ValueError(f"{key} of shape {values.shape}, or not finite")
    counts = (fields["rows"], fields["left_out"], fields["seconds"])
    if any((values < 0).any() for values in counts):
        raise ValueError("negative counts")
    if blocks and not 0 <= fields["recording"].min() <= fields["recording"].max() < recordings:
        raise ValueError("a recording that has no name")


class _Blocks(NamedTuple):
    """Blocks of one part: factors, rows used and left out, seconds and payload."""

    factors: FloatArray
    rows: IntArray
    left_out: IntArray
    seconds: FloatArray
    extra: FloatArray


Part = Prepared | Callable[[], Prepared]


def gather(
    robot: Robot,
    recordings: Iterable[tuple[str, Iterable[Part]]],
    source: str = "exact",
    *,
    workers: int | None = None,
    extra: Extra | None = None,
) -> Information:
    """The information of prepared recordings (name and parts each), in chunks and threads.

    A part may be a function that prepares it: then it is called in a thread. `extra` corrects the
    parts, adds columns of the log behind the robot's own and leaves rows out.
    """
    names = wide_columns(robot, source).names
    active = _active(robot, source)
    payload = payload_direction(robot, source)
    more, units = ((), ()) if extra is None else (extra.names, extra.units)
    if set(more) & set(names):
        raise InputError("names of extra columns", more, f"none of the robot's own: {names}")
    names, payload = names + more, np.append(payload, np.zeros(len(more)))
    most = max(64, MEMORY // (robot.dof * (len(names) + 1) ** 2))
    labels: list[str] = []
    found: list[Information] = []
    halvings = 0  # of all blocks so far: new ones follow, so that blocks stay of one length
    for index, (label, parts) in enumerate(recordings):
        labels.append(label)
        for part in _mapped(robot, source, active, parts, workers, extra):
            number = np.full(len(part.rows), index, dtype=np.int64)
            new = Information(source, robot.name, names, *part, number, payload, (), more, units)
            for _ in range(halvings):
                new = pair_blocks(new)
            found.append(new)
            if sum(item.blocks for item in found) > 2 * most:
                found = _halved(found, most)
                halvings += 1
    if not any(item.blocks for item in found):
        raise InputError("samples", 0, "recordings longer than the filter of their band")
    return replace(joined(_concatenated(found), most), recordings=tuple(labels))


def joined(information: Information, most: int) -> Information:
    """At most `most` blocks: neighbours of one recording are put together in pairs."""
    while information.blocks > most:
        fewer = pair_blocks(information)
        if fewer.blocks == information.blocks:
            break
        information = fewer
    return information


def _halved(items: list[Information], most: int) -> list[Information]:
    """About half as many blocks in all: within each item, or else in all of them together."""
    for index in range(len(items)):
        items[index] = pair_blocks(items[index])
    if sum(item.blocks for item in items) > 1.5 * most:
        return [joined(_concatenated(items), most)]
    return items


def pair_blocks(information: Information) -> Information:
    """Half as many blocks: those of one recording are put together two by two."""
    # Factors merge without loss: with [R1; R2] = Q R and Q'Q = 1, |R1 v|^2 + |R2 v|^2 = |R v|^2 for
    # every v = (x, -1). Only the time resolution of the blocks gets coarser, never an estimate. The
    # block that comes first, third, ... in its recording stays and takes the next one in.
    recording, index = information.recording, np.arange(information.blocks)
    place = index - np.searchsorted(recording, recording)  # within the recording
    second = np.zeros(len(index), dtype=np.bool_)
    second[1:] = (recording[1:] == recording[:-1]) & (place[1:] % 2 == 1)
    fewer = information.of_blocks(~second)
    target = np.cumsum(~second)[second] - 1  # where the first of each pair went
    sources = np.flatnonzero(second)
    for start in range(0, len(sources), TOGETHER):
        here = target[start : start + TOGETHER]
        more = information.factors[sources[start : start + TOGETHER]]
        both = np.concatenate([fewer.factors[here], more], axis=2)
        fewer.factors[here] = triangle(both)
    fewer.rows[target] += information.rows[second]
    fewer.left_out[target] += information.left_out[second]
    fewer.seconds[target] += information.seconds[second]
    return fewer


def triangle(rows: FloatArray) -> FloatArray:
    """The triangular factor (..., m, m) of rows (..., N, m), with rows of zeros where N < m."""
    R = np.asarray(np.linalg.qr(rows, mode="r"), dtype=np.float64)
    size = rows.shape[-1]
    missing = size - R.shape[-2]
    if missing <= 0:
        return R
    return np.concatenate([R, np.zeros((*R.shape[:-2], missing, size))], axis=-2)


def _concatenated(items: Sequence[Information]) -> Information:
    """Blocks of one gathering, whose recordings are numbered already."""
    if len(items) == 1:
        return items[0]
    return replace(
        items[0],
        factors=np.concatenate([item.factors for item in items]),
        rows=np.concatenate([item.rows for item in items]),
        left_out=np.concatenate([item.left_out for item in items]),
        seconds=np.concatenate([item.seconds for item in items]),
        extra=np.concatenate([item.extra for item in items]),
        recording=np.concatenate([item.recording for item in items]),
        recordings=tuple(name for item in items for name in item.recordings),
    )


def _mapped(
    robot: Robot,
    source: str,
    active: list[BoolArray],
    parts: Iterable[Part],
    workers: int | None,
    extra: Extra | None,
) -> Iterator[_Blocks]:
    """The factors of every part in threads: NumPy lets go of the lock, and the next are read."""

    def work(part: Part) -> _Blocks:
        ready = part if isinstance(part, Prepared) else part()
        return _factors(robot, source, active, ready, extra)

    count = workers or min(4, os.cpu_count() or 1)
    ahead: deque[Future[_Blocks]] = deque()
    with ThreadPoolExecutor(count) as pool:
        for part in parts:
            ahead.append(pool.submit(work, part))
            if len(ahead) > count:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _factors(
    robot: Robot, source: str, active: list[BoolArray], part: Prepared, extra: Extra | None
) -> _Blocks:
    """Factors of a part's blocks, of equal length as far as samples allow."""
    part = part if extra is None else extra.correct(part)
    count = len(part.times)
    blocks = max(1, count // max(1, round(BLOCK * part.limited_rate))) if count else 0
    edges = np.linspace(0, count, blocks + 1).round().astype(np.int64)
    sizes = np.diff(edges)
    used = np.repeat(sizes[:, None], robot.dof, axis=1)
    left_out = np.zeros_like(used)
    more = 0 if extra is None else len(extra.names)
    n = len(active[0]) + more
    out = np.zeros((blocks, robot.dof, n + 1, n + 1))
    found = _limited_rows(robot, source, active, part)
    if extra is not None:
        keep = extra.kept(part)
        found = _with_extra(found, extra.limited_columns(part), keep, len(active[0]))
        if keep is not None and blocks:
            left_out = np.add.reduceat(~keep, edges[:-1], axis=0, dtype=np.int64)
            used = used - left_out
    for axis, (rows, place) in enumerate(found):
        for size in np.unique(sizes):
            same = np.flatnonzero(sizes == size)
            several = triangle(rows[edges[same][:, None] + np.arange(size)])  # (blocks, m, m)
            out[same[:, None, None], axis, np.arange(len(place))[:, None], place] = several
    return _Blocks(out, used, left_out, sizes / part.limited_rate, np.full(blocks, part.extra))


def _with_extra(
    found: Iterable[tuple[FloatArray, IntArray]],
    more: FloatArray,
    keep: BoolArray | None,
    own: int,
) -> Iterator[tuple[FloatArray, IntArray]]:
    """The rows of each axis with the log's columns (M, dof, m) before tau, behind `own` wide ones.

    Rows that are not kept become zeros.
    """
    behind = own + np.arange(more.shape[2] + 1)  # the last is tau's
    for axis, (rows, places) in enumerate(found):
        both = np.column_stack([rows[:, :-1], more[:, axis], rows[:, -1]])
        if keep is not None:
            both[~keep[:, axis]] = 0.0  # a row of zeros adds nothing to R'R
        yield both, np.concatenate([places[:-1], behind])


def _limited_rows(
    robot: Robot, source: str, active: list[BoolArray], part: Prepared
) -> Iterator[tuple[FloatArray, IntArray]]:
    """[Y tau] (M, m) of each axis in the part's band, and the wide columns (m,) that are there."""
    known = axis_rows(robot, part.state, part.tau, source)
    if known is not None:
        for rows, places in zip(*known, strict=True):
            even = rows if part.grid is None else part.grid(rows.T).T
            yield decimated(part.filter, even).T, places
        return
    Y = wide_regressor(robot, part, source)
    for axis, columns in enumerate(active):
        both = np.column_stack([Y[:, axis, columns], part.tau[:, axis]])
        yield part.limited(both), np.append(np.flatnonzero(columns), len(columns))


def wide_regressor(
    robot: Robot, part: Prepared, source: str, extra: Extra | None = None
) -> FloatArray:
    """Y (N, dof, n) of a part's samples, before the filter; `extra` columns come behind."""
    Y = widest(robot, part.state, source).Y
    if extra is None or not extra.names:
        return Y
    return np.concatenate([Y, extra.raw_columns(part)], axis=2)


def _active(robot: Robot, source: str) -> list[BoolArray]:
    """Which columns move the torque of each axis: the others are zero in any motion."""
    Y = widest(robot, exciting_states(robot, 16), source).Y
    return [np.asarray((Y[:, axis] != 0).any(axis=0)) for axis in range(robot.dof)]
