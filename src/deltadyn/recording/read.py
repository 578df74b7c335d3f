"""Read recordings: any format, any columns, in one piece or chunk by chunk."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, RecordingFileError, UnknownNameError
from deltadyn.motion.arguments import check_count, is_real
from deltadyn.options import merged
from deltadyn.recording.column_maps import SIDES, ColumnMap
from deltadyn.recording.columns import COUNTED, RATED, Column, units_of
from deltadyn.recording.corrections import (
    correct_pieces,
    correct_recording,
    repair_kinds,
    time_ranges,
)
from deltadyn.recording.guess import Assignment, ColumnGuess, GuessedColumn, guess
from deltadyn.recording.readers import Table, open_table
from deltadyn.recording.readers.bounded import refuse_many_values
from deltadyn.recording.recording import ColumnUse, Provenance, Recording
from deltadyn.robot import Robot
from deltadyn.robot.checks import each
from deltadyn.robot.convention import Angles, from_controller
from deltadyn.units import on_axis

CHUNK_ROWS = 200_000
CONVENTIONS = ("controller", "deltadyn")
BAD_ROWS = ("raise", "skip")
DECIMALS = (".", ",")


@dataclass(frozen=True, eq=False)
class ReadOptions:
    """How `read_recording` reads a file; every field may be left out."""

    #: Name of a column in the file to "q1_deg" or to {quantity, axis, unit, scale, sign, offset,
    #: side, torque_constant}, as a dictionary or the path of a YAML file; None leaves one out.
    columns: ColumnMap | None = None
    #: "csv", "twincat", "matlab", "parquet", "lerobot", "ros" or "tdms"; left out, the content
    #: says it.
    format: str | None = None
    #: Of the recording; left out, the file's own name.
    name: str | None = None
    #: kg that were carried, where the file does not say it.
    payload: float | None = None
    #: N m/A at the motor side, one for all axes or one each, for files with currents alone.
    torque_constant: npt.ArrayLike | None = None
    #: N m, one for all axes or one each, for torques in percent or per mille.
    rated_torque: npt.ArrayLike | None = None
    #: A, one for all axes or one each, for currents in percent or per mille.
    rated_current: npt.ArrayLike | None = None
    #: One for all axes or one each, for angles in counts (increments) of an encoder.
    counts_per_turn: npt.ArrayLike | None = None
    #: "output", or "motor": angles and rates are divided by the gear ratio; left out, the header or
    #: the range of the values says it.
    angle_side: str | None = None
    #: "output", or "motor": torques are multiplied by the gear ratio.
    torque_side: str = "output"
    #: Of angles and torques: "controller" or "deltadyn"; left out, what the file says, else
    #: "controller".
    convention: str | None = None
    #: s between rows, for a file without a time column.
    sample_time: float | None = None
    #: Between the cells of a text file; "" means blanks. Left out, it is found.
    separator: str | None = None
    #: "." or "," in a text file; left out, it is found.
    decimal: str | None = None
    #: Of a ROS bag with several topics of joint states.
    topic: str | None = None
    #: Of a LeRobot dataset with several episodes.
    episode: int | None = None
    #: Whether channels of other clocks are interpolated at the times of q1.
    interpolate: bool = False
    #: "raise", or "skip": rows that cannot be read are left out and listed.
    bad_rows: str = "raise"
    #: s on the log's own clock: rows before are left out.
    start: float | None = None
    #: s on the log's own clock: rows from here on are left out.
    stop: float | None = None
    #: Pairs of times in s: rows between them are left out.
    exclude: Sequence[tuple[float, float]] = ()
    #: What is repaired when it is read, as `repair` does it: "nan" (short holes), "gap",
    #: "duplicate-time", "decreasing-time", "encoder-wrap".
    repair: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.torque_side not in SIDES:
            raise UnknownNameError("torque_side", self.torque_side, SIDES)
        if self.angle_side is not None and self.angle_side not in SIDES:
            raise UnknownNameError("angle_side", self.angle_side, SIDES)
        if self.convention is not None and self.convention not in CONVENTIONS:
            raise UnknownNameError("convention", self.convention, CONVENTIONS)
        if self.bad_rows not in BAD_ROWS:
            raise UnknownNameError("bad_rows", self.bad_rows, BAD_ROWS)
        if self.decimal is not None and self.decimal not in DECIMALS:
            raise UnknownNameError("decimal", self.decimal, DECIMALS)
        if self.episode is not None:
            check_count("episode", self.episode, 0)
        for name in ("format", "name", "separator", "topic"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise InputError(name, value, "a text")
        if not isinstance(self.interpolate, bool):
            raise InputError("interpolate", self.interpolate, "true or false")
        for name in ("start", "stop"):
            value = getattr(self, name)
            if value is not None and not is_real(value):
                raise InputError(name, value, "a time in s")
        if self.start is not None and self.stop is not None and not self.start < self.stop:
            raise InputError("stop", self.stop, f"above start, {self.start:g} s")
        object.__setattr__(self, "exclude", time_ranges(self.exclude))
        object.__setattr__(self, "repair", repair_kinds(self.repair))
        step = self.sample_time
        if step is not None and not (is_real(step) and step > 0):
            raise InputError("sample_time", self.sample_time, "above 0 s")

    @property
    def cuts(self) -> bool:
        """Whether rows are left out by their time."""
        return self.start is not None or self.stop is not None or bool(self.exclude)

    @property
    def skip(self) -> bool:
        """Whether rows that cannot be read are left out."""
        return self.bad_rows == "skip"


def read_recording(
    path: str | PathLike[str],
    robot: Robot | None = None,
    options: ReadOptions | None = None,
    **keywords: Any,
) -> Recording:
    """A recording from a file: CSV, TwinCAT, MATLAB, Parquet, LeRobot, ROS bag, MCAP or TDMS.

    Columns are known by names such as t_s, q1_rad, tau1_Nm, `theta1 [deg]`, in the words of many
    drives and languages; `guess_columns` shows which. Others need a column map. With a robot,
    angles and torques are taken in its controller's convention unless the file or the options say
    otherwise. The fields of `ReadOptions` are `options`, or keywords:

        columns, format, name, payload, torque_constant, rated_torque, rated_current,
        counts_per_turn, angle_side, torque_side, convention, sample_time, separator, decimal,
        topic, episode, interpolate, bad_rows, start, stop, exclude, repair
    """
    reading = _Reading.of(path, robot, merged(ReadOptions, options, keywords))
    whole = Growing()
    for chunk in reading.chunks(CHUNK_ROWS):
        whole.add(chunk, reading.table.progress())
        refuse_many_values(path, whole.values)
    if not whole.count:
        raise reading.no_rows()
    return correct_recording(reading.recording(whole.channels(), 0), reading.options)


def iter_recording(
    path: str | PathLike[str],
    robot: Robot | None = None,
    options: ReadOptions | None = None,
    *,
    rows: int = CHUNK_ROWS,
    **keywords: Any,
) -> Iterator[Recording]:
    """The same recording in pieces of `rows` samples: memory does not grow with the file.

    The columns are checked at once, the rows while they are read. A piece knows its first row; in
    text files its checksum is empty, since the file was not read to its end.
    """
    check_count("rows", rows, 1)
    reading = _Reading.of(path, robot, merged(ReadOptions, options, keywords))
    return correct_pieces(reading.pieces(rows), reading.options)


def guess_columns(
    path: str | PathLike[str],
    robot: Robot | None = None,
    options: ReadOptions | None = None,
    **keywords: Any,
) -> ColumnGuess:
    """What `read_recording` takes every column of a file for, and why; arguments are the same.

    A file that cannot be read as it is has `problems`, and what was understood is still there.
    `.yaml()` is a column map to edit: a text for `columns.yaml`.
    """
    _check(path, robot)
    given = merged(ReadOptions, options, keywords)
    table = open_table(fspath(path), given)
    found = guess(table, robot, given)
    conversion = Conversion.of(robot, found.assignment, table, given)
    problems = (*found.problems, *conversion.problems())
    columns = tuple(conversion.noted(item) for item in found.columns)
    return replace(found, columns=columns, problems=problems)


def _check(path: object, robot: object) -> None:
    if robot is not None and not isinstance(robot, Robot):
        raise InputError("robot", type(robot).__name__, "a Robot, as load_robot gives it")
    if not isinstance(path, str | PathLike):
        raise InputError("path", path, "the path of a recording")


def recording_excerpts(
    path: str | PathLike[str],
    robot: Robot | None = None,
    options: ReadOptions | None = None,
    *,
    count: int,
    rows: int,
) -> tuple[list[Recording], float] | None:
    """`count` pieces of `rows` samples, spread evenly over a long file, and their share of it.

    None where rows in the middle cannot be read by themselves, or rows are left out or repaired.
    Nothing else of the file is read,
    nor checked; the head is not among the pieces.
    """
    given = merged(ReadOptions, options, {})
    if given.cuts or given.repair:
        return None
    return _Reading.of(path, robot, given).excerpts(count, rows)


@dataclass
class _Reading:
    """One pass over a file: its table, the columns in use, how they are converted."""

    table: Table
    columns: Assignment
    conversion: Conversion
    name: str
    payload: float | None
    options: ReadOptions
    notes: list[str]

    @classmethod
    def of(cls, path: str | PathLike[str], robot: Robot | None, options: ReadOptions) -> _Reading:
        """Look at the file's head: its format, its columns, what has to be converted."""
        _check(path, robot)
        table = open_table(fspath(path), options)
        found = guess(table, robot, options)
        columns = found.assignment
        conversion = Conversion.of(robot, columns, table, options)
        for problem in (*found.problems, *conversion.problems()):
            raise problem
        clocks = 1 + max((column.clock for column in found.table), default=0)
        table = replace(table, columns=found.table, clocks=max(table.clocks, clocks))
        label = table.labels.get("payload_kg")
        payload = options.payload
        if payload is None and label is not None:
            payload = _payload(label, table.path)
        name = options.name or table.labels.get("name") or Path(table.path).stem
        notes = _robot_note(table, robot)
        return cls(table, columns, conversion, name, payload, options, notes)

    def chunks(self, rows: int) -> Iterator[dict[str, FloatArray]]:
        """Converted channels, at most `rows` rows at a time."""
        start = 0
        for raw, time in self._raw(rows):
            channels = self.conversion.channels(raw)
            if time is None:
                count = len(channels["q"])
                step = self.options.sample_time or 0.0
                channels["t"] = np.arange(start, start + count, dtype=np.float64) * step
            else:
                channels["t"] = self.conversion.value(time, raw)
                channels = self._timed(channels, time, start)
            self._take_payload(channels, start)
            # a row of the raw block would keep all of it in memory
            yield {name: x if x.base is None else x.copy() for name, x in channels.items()}
            start += len(channels["t"])

    def pieces(self, rows: int) -> Iterator[Recording]:
        """Recordings of at most `rows` rows."""
        start = 0
        for channels in self.chunks(rows):
            piece = self.recording(channels, start)
            yield piece
            start += len(piece)
        if not start:
            raise self.no_rows()

    def excerpts(self, count: int, rows: int) -> tuple[list[Recording], float] | None:
        """Pieces that are spread over the file, with the share of it that they take."""
        own, read = self.columns.of("t"), self.table.excerpt
        if read is None or not own or self.table.clocks > 1 or self.table.reader == "twincat":
            return None
        used = sorted({use.index for use in self.columns.uses})
        found: list[Recording] = []
        taken, each = 0.0, 0.0
        for k in range(count):
            # the last one ends with the file: starts are spread over what one leaves of it
            block = read((k + 0.5) / count * (1 - each), rows, used)
            if block is None or block[0].shape[1] < rows:
                return None
            raw = dict(zip(used, block[0], strict=True))
            channels = self.conversion.channels(raw)
            channels["t"] = self.conversion.value(own[0], raw)
            channels.pop("payload", None)
            found.append(self.recording(channels, 0))
            each = max(each, block[1])
            taken += block[1]
        return found, taken

    def recording(self, channels: dict[str, FloatArray], first_row: int) -> Recording:
        """A recording of these channels, with its provenance."""
        robot = self.conversion.robot
        provenance = Provenance(
            file=self.table.path,
            sha256=None if self.table.checksum is None else self.table.checksum(),
            reader=self.table.reader,
            first_row=first_row,
            columns=self.columns.uses,
            ignored=self.columns.ignored,
            notes=(*self.table.notes(), *self.conversion.notes(), *self.notes),
            start=self.table.start(),
        )
        return Recording(
            **channels,
            payload=self.payload,
            name=self.name,
            robot=self.table.labels.get("robot") if robot is None else robot.name,
            linear=self.columns.linear,
            legs=self.columns.legs,
            provenance=provenance,
        )

    def no_rows(self) -> RecordingFileError:
        """The error for a file without data."""
        allowed = "at least one row of numbers"
        return RecordingFileError.of_file(self.table.path, "has no rows of data", allowed)

    def _raw(self, rows: int) -> Iterator[tuple[dict[int, FloatArray], ColumnUse | None]]:
        """Raw columns by their index and the time column among them."""
        timed = any(column.is_time for column in self.table.columns)
        clocks = clocks_used(self.table, self.columns) if timed else [0]
        if timed and len(clocks) > 1:
            whole, notes = one_clock(self.table, self.columns, self.options.interpolate)
            self.notes += notes
            first = time_use(self.table.columns, clocks[0])
            for start in range(0, len(whole[first.index]), rows):
                yield {index: array[start : start + rows] for index, array in whole.items()}, first
            return
        own = self.columns.of("t")
        time = own[0] if own else time_use(self.table.columns, clocks[0]) if timed else None
        used = sorted({use.index for use in self.columns.uses} | ({time.index} if time else set()))
        blocks = self.table.blocks(rows, used)
        if time is not None and (self.table.clocks > 1 or self.table.reader == "twincat"):
            blocks = trimmed(blocks, used.index(time.index))
        for block in blocks:
            yield dict(zip(used, block, strict=True)), time

    def _timed(
        self, channels: dict[str, FloatArray], time: ColumnUse, start: int
    ) -> dict[str, FloatArray]:
        """The rows whose time is a finite number; others are refused, or left out on request."""
        known = np.isfinite(channels["t"])
        if known.all():
            return channels
        row = int(np.flatnonzero(~known)[0])
        value = float(channels["t"][row])
        if not self.options.skip:
            raise RecordingFileError(
                "t",
                value,
                'a finite time in every row; bad_rows="skip" leaves others out',
                path=self.table.path,
                column=time.name,
                problem=f"is {value} at data row {start + row}",
            )
        self.notes.append(f"{int((~known).sum())} rows without a finite time left out")
        return {name: array[known] for name, array in channels.items()}

    def _take_payload(self, channels: dict[str, FloatArray], start: int) -> None:
        """A payload column is a label: it must not change."""
        values = channels.pop("payload", None)
        if values is None or not len(values):
            return
        first = float(values[0]) if self.payload is None else self.payload
        changed = np.flatnonzero(values != first)
        if changed.size:
            raise RecordingFileError(
                "payload",
                float(values[changed[0]]),
                "one payload in a recording: split the file, or leave the column out with a column "
                "map that maps it to None",
                path=self.table.path,
                column=self.columns.of("payload")[0].name,
                problem=f"changes from {first:g} to {values[changed[0]]:g} kg at data row "
                f"{start + int(changed[0])}",
            )
        self.payload = first


def _per_axis(name: str, value: npt.ArrayLike | None, dof: int) -> tuple[float, ...] | None:
    return None if value is None else each(name, value, dof)


def _payload(text: str, path: str) -> float:
    try:
        if "_" in text:  # Python takes 1_0 for 10
            raise ValueError
        return float(text)
    except ValueError:
        raise RecordingFileError(
            "payload_kg", text, "a number", path=path, problem=f"is {text!r}"
        ) from None


def _robot_note(table: Table, robot: Robot | None) -> list[str]:
    label = table.labels.get("robot")
    if robot is None or label is None or label == robot.name:
        return []
    return [f"the file names the robot {label!r}; it was read as {robot.name!r}"]


class Growing:
    """Channels that grow piece by piece, in arrays that are large enough from the start.

    The room is estimated from the share of the file that was read. What is not written to needs
    no memory, so the peak is hardly more than the arrays themselves.
    """

    def __init__(self) -> None:
        self.count = 0
        self._room = 0
        self._arrays: dict[str, FloatArray] = {}

    def add(self, channels: Mapping[str, FloatArray], progress: float) -> None:
        """Append one piece of every channel."""
        stop = self.count + len(channels["t"])
        if stop > self._room:
            estimate = math.ceil(1.25 * stop / min(max(progress, 1e-4), 1.0))
            self._room = max(estimate, self._room * 3 // 2)
            for name, piece in channels.items():
                grown = np.empty((self._room, *piece.shape[1:]))
                if self.count:
                    grown[: self.count] = self._arrays[name][: self.count]
                self._arrays[name] = grown
        for name, piece in channels.items():
            self._arrays[name][self.count : stop] = piece
        self.count = stop

    @property
    def values(self) -> int:
        """How many numbers were appended."""
        return self.count * sum(math.prod(array.shape[1:]) for array in self._arrays.values())

    def channels(self) -> dict[str, FloatArray]:
        """All that was appended."""
        return {name: array[: self.count] for name, array in self._arrays.items()}


# One clock.
#
# A row of most files is an instant. TwinCAT and TDMS files have several clocks: every group of
# channels has its own column of times t_c, and row k of another group is another instant. The
# clock of q1 is the one to keep. Clocks with |t_c[k] - t_1[k]| below a thousandth of a step are the
# same. A channel x of any other clock is refused, or taken at the times of q1,
#
#     x(t_1) = x_i + (x_{i+1} - x_i) (t_1 - t_i) / (t_{i+1} - t_i),   t_i <= t_1 < t_{i+1}
#
# where all clocks run: nothing is extrapolated.

TOLERANCE = 1e-3  # of a time step, below which two clocks are the same


def time_use(columns: Sequence[Column], clock: int) -> ColumnUse:
    """The use of a clock's time column."""
    for index, column in enumerate(columns):
        if column.is_time and column.clock == clock:
            unit = units_of("t", None).unit(column.unit or "s")
            return ColumnUse(column.name, index, "t", None, "s" if unit is None else unit.name)
    raise LookupError(clock)


def clocks_used(table: Table, columns: Assignment) -> list[int]:
    """The clocks of the columns in use, that of q1 first."""
    ordered = sorted(columns.uses, key=lambda use: (use.quantity != "q", use.axis or 0))
    return list(dict.fromkeys(table.columns[use.index].clock for use in ordered))


def one_clock(
    table: Table, columns: Assignment, interpolate: bool
) -> tuple[dict[int, FloatArray], list[str]]:
    """All used columns on the clock of q1, by their index, and what was done.

    Clocks that are the same are merged. Others are refused, or with `interpolate` their channels
    are taken linearly at the times of q1's clock, as far as all clocks reach.
    """
    clocks = clocks_used(table, columns)
    times = {clock: time_use(table.columns, clock) for clock in clocks}
    used = sorted({use.index for use in (*columns.uses, *times.values())})
    whole = np.concatenate(list(table.blocks(1_000_000, used)), axis=1)
    raw = dict(zip(used, whole, strict=True))
    stamps = {clock: _finite(raw[use.index]) for clock, use in times.items()}
    for clock, stamp in stamps.items():
        if not len(stamp):
            raise _failure(table, stamps, f"clock {clock + 1} has no times")
    base = stamps[clocks[0]]
    out = {times[clocks[0]].index: base}
    different = [clock for clock in clocks if not _same(base, stamps[clock])]
    if different and not interpolate:
        raise _failure(table, stamps, _described(table, columns, stamps))
    low, high = (max(s[0] for s in stamps.values()), min(s[-1] for s in stamps.values()))
    inside = (base >= low) & (base <= high) if different else np.ones(len(base), dtype=bool)
    for use in columns.uses:
        clock = table.columns[use.index].clock
        stamp = stamps[clock]
        values = raw[use.index][: len(stamp)]
        if clock in different:
            values = np.interp(base, stamp, values)
        out[use.index] = values[inside]
    out[times[clocks[0]].index] = base[inside]
    return out, _notes(table, columns, different, int((~inside).sum()))


def trimmed(blocks: Iterator[FloatArray], time_row: int) -> Iterator[FloatArray]:
    """Blocks up to the last time: a shorter group of channels ends with empty cells."""
    for block in blocks:
        if not np.isnan(block[time_row, -1]):
            yield block
            continue
        filled = np.flatnonzero(~np.isnan(block).all(axis=0))
        if filled.size:
            yield block[:, : int(filled[-1]) + 1]


def _finite(times: FloatArray) -> FloatArray:
    """The times up to the last that is a number."""
    known = np.flatnonzero(~np.isnan(times))
    return times[: known[-1] + 1] if known.size else times[:0]


def _same(one: FloatArray, two: FloatArray) -> bool:
    if one is two:
        return True
    if one.size != two.size:
        return False
    step = float(np.median(np.diff(one))) if one.size > 1 else 0.0
    return bool(np.abs(one - two).max(initial=0.0) <= TOLERANCE * abs(step))


def _described(table: Table, columns: Assignment, stamps: dict[int, FloatArray]) -> str:
    """Which channels each clock has, for a message."""
    texts = []
    for clock, stamp in stamps.items():
        names = [u.target for u in columns.uses if table.columns[u.index].clock == clock]
        step = f"{np.median(np.diff(stamp)):g}" if stamp.size > 1 else "?"
        unit = time_use(table.columns, clock).unit
        texts.append(f"{', '.join(names)}: {stamp.size} samples, every {step} {unit}")
    return f"has channels on different clocks ({'; '.join(texts)})"


def _notes(table: Table, columns: Assignment, different: list[int], cut: int) -> list[str]:
    names = [use.target for use in columns.uses if table.columns[use.index].clock in different]
    if not names:
        return []
    end = f"; {cut} rows outside all clocks left out" if cut else ""
    return [f"{', '.join(names)} interpolated linearly at the times of q1{end}"]


def _failure(table: Table, stamps: dict[int, FloatArray], problem: str) -> RecordingFileError:
    return RecordingFileError(
        "time",
        [stamp.size for stamp in stamps.values()],
        "one clock for all channels, or interpolate=True",
        path=table.path,
        problem=problem,
    )


# From the raw columns of a file to channels in SI units and deltadyn's convention.


_ANGLES = ("q", "q_command", "qd", "qdd")
_TORQUES = ("tau", "tau_command")


@dataclass(frozen=True)
class Conversion:
    """What turns the numbers of a file into angles and torques of a robot.

    `torque_constant` (N m/A) holds at the motor side; `rated_torque` (N m) at `torque_side`.
    `rated_current` is in A; a turn of an encoder has `counts_per_turn`.
    """

    robot: Robot | None
    columns: Assignment
    convention: str
    torque_constant: tuple[float, ...] | None = None
    rated_torque: tuple[float, ...] | None = None
    rated_current: tuple[float, ...] | None = None
    counts_per_turn: tuple[float, ...] | None = None
    torque_side: str = "output"

    @classmethod
    def of(
        cls, robot: Robot | None, columns: Assignment, table: Table, options: ReadOptions
    ) -> Conversion:
        """The conversion of a table's columns by the options."""
        own = table.labels.get("convention") == "deltadyn"
        return cls(
            robot,
            columns,
            options.convention or ("deltadyn" if own else "controller"),
            _per_axis("torque_constant", options.torque_constant, columns.dof),
            _per_axis("rated_torque", options.rated_torque, columns.dof),
            _per_axis("rated_current", options.rated_current, columns.dof),
            _per_axis("counts_per_turn", options.counts_per_turn, columns.dof),
            options.torque_side,
        )

    def channels(self, raw: Mapping[int, FloatArray]) -> dict[str, FloatArray]:
        """All channels but t: raw columns by their index, each (n,), as arrays in SI."""
        out: dict[str, FloatArray] = {}
        for name in dict.fromkeys(use.quantity for use in self.columns.uses if use.quantity != "t"):
            uses = self.columns.of(name)
            if uses[0].axis is None:
                out[name] = self.value(uses[0], raw)
                continue
            array = np.empty((len(raw[uses[0].index]), self.columns.dof))
            for use in uses:
                array[:, self.columns.place(use)] = self.value(use, raw)
            out[name] = array
        if "tau" not in out and "current" in out:
            out["tau"] = self._torque_of_current(out["current"])
        self._to_own_convention(out)
        if self._psi_of_joint:
            out["p"][:, 3] = out["q"][:, 3]
        return out

    @property
    def _psi_of_joint(self) -> bool:
        """Whether a pose beside a spindle comes without its psi, which is that of the joint."""
        return self.columns.dof > self.columns.legs and len(self.columns.of("p")) == 3

    def notes(self) -> list[str]:
        """What is converted, in words."""
        notes = []
        for use in self.columns.uses:
            unit = units_of(use.quantity, use.axis, self.columns.slides(use.axis)).si.name
            steps = []
            if use.sign != 1 or use.scale != 1 or use.offset != 0:
                steps.append(f"{use.sign:+g} * {use.scale:g} * raw {use.offset:+g} {use.unit}")
            if use.unit != unit:
                steps.append(f"{use.unit} to {unit}")
            if self._side(use) == "motor":
                steps.append("motor side to output side")
            if steps:
                notes.append(f"{use.target}: {', '.join(steps)}")
        if not self.columns.of("tau"):
            current = self.columns.of("current")
            text = "current * torque constant * gear ratio * sign" if current else "not in the file"
            notes.append(f"tau: {text}")
        robot = self.robot
        if robot is not None and self.convention == "controller" and _has_convention(robot):
            notes.append(
                f"controller's angles and torques to deltadyn's: sign {robot.controller.sign}, "
                f"offset {robot.controller.offset} {robot.axis_unit('q')}"
            )
            orders = [f"{wave.order:g}" for wave in robot.sensors.eccentricity]
            if orders:
                notes.append(f"encoders' eccentricity of order {', '.join(orders)} taken off")
        if self._psi_of_joint:
            notes.append("platform_psi: taken from q4")
        return notes

    def problems(self) -> list[InputError]:
        """What is missing for the columns: gear ratio, torque constant, rated values, counts."""
        found: dict[str, InputError] = {}
        for use in self.columns.uses:
            option, unit = _asked(use)
            if option and getattr(self, option) is None:
                unit = on_axis(unit, self._slides(use))
                text = f"{unit}, since column {use.name!r} is in {use.unit}"
                found.setdefault(option, InputError(option, None, text))
            if self._side(use) == "motor":
                found |= self._unknown_gear(use)
        if self.columns.of("tau"):
            return list(found.values())
        for use in self.columns.of("current"):
            found |= self._unknown_gear(use)
            if use.torque_constant is None and self.torque_constant is None:
                text = (
                    f"N m/A at the motor side, since column {use.name!r} is a current and there "
                    "are no torque columns"
                )
                found.setdefault("torque_constant", InputError("torque_constant", None, text))
        return list(found.values())

    def noted(self, item: GuessedColumn) -> GuessedColumn:
        """A guessed column with what the options say about it: rated values, sides, constants."""
        use = item.use
        if use is None or use.axis is None:
            return item
        option, _ = _asked(use)
        values = getattr(self, option) if option else None
        if values is not None:
            unit, factor = _absolute(use, values[use.axis], self._slides(use))
            use = replace(use, unit=unit, scale=use.scale * factor, offset=use.offset * factor)
        if self._side(use) == "motor":
            use = replace(use, side="motor")
        constant = self.torque_constant
        if use.quantity == "current" and constant is not None and use.torque_constant is None:
            use = replace(use, torque_constant=constant[use.axis or 0])
        return replace(item, use=use)

    def value(self, use: ColumnUse, raw: Mapping[int, FloatArray]) -> FloatArray:
        """The values of one column in SI, at the output side; signs and offsets are the file's."""
        values = raw[use.index]
        factor = use.sign * use.scale
        if factor != 1.0:
            values = values * factor
        if use.offset:
            values = values + use.offset
        unit = units_of(use.quantity, use.axis, None).unit(use.unit)
        if unit is None:
            raise InputError(f"unit of {use.target}", use.unit, "a unit of that quantity")
        values = unit.to_si(values)
        if use.axis is None:
            return values
        if use.quantity in _TORQUES and use.unit in RATED and self.rated_torque is not None:
            values = values * self.rated_torque[use.axis]
        if use.quantity == "current" and use.unit in RATED and self.rated_current is not None:
            values = values * self.rated_current[use.axis]
        if use.unit in COUNTED and self.counts_per_turn is not None:
            values = values / self.counts_per_turn[use.axis]
        if self._side(use) == "motor":
            gear = self._gear(use)
            values = values / gear if use.quantity in _ANGLES else values * gear
        return values

    def _side(self, use: ColumnUse) -> str:
        if use.side is not None:
            return use.side
        return self.torque_side if use.quantity in _TORQUES else "output"

    def _slides(self, use: ColumnUse) -> bool:
        """Whether a column is about a carriage itself."""
        return self.columns.slides(use.axis) and self._side(use) != "motor"

    def _no_robot(self, use: ColumnUse) -> InputError:
        return InputError("robot", None, f"a robot, whose gear ratio column {use.name!r} needs")

    def _unknown_gear(self, use: ColumnUse) -> dict[str, InputError]:
        """What is missing to take a value from the motor to its axis."""
        if self.robot is None:
            return {"robot": self._no_robot(use)}
        drives = self.robot.drives
        if self.robot.linear and drives.lead is None and drives.pulley_radius is None:
            text = f"drives.lead or drives.pulley_radius, which column {use.name!r} needs"
            return {"robot": InputError("robot", self.robot.name, f"one with {text}")}
        return {}

    def _gear(self, use: ColumnUse) -> float:
        """Angle of the motor per rad, or per m, of its axis."""
        if self.robot is None:
            raise self._no_robot(use)
        return float(self.robot.drives.motor_turns[use.axis or 0])

    def _torque_of_current(self, current: FloatArray) -> FloatArray:
        tau = np.empty_like(current)
        for use in self.columns.of("current"):
            axis = use.axis or 0
            constant = use.torque_constant
            if constant is None and self.torque_constant is not None:
                constant = self.torque_constant[axis]
            tau[:, axis] = current[:, axis] * ((constant or 0.0) * self._gear(use))
        return tau

    def _to_own_convention(self, out: dict[str, FloatArray]) -> None:
        if self.robot is None or self.convention == "deltadyn" or not _has_convention(self.robot):
            return
        sign = np.asarray(self.robot.controller.sign)
        names = ("q", "qd", "qdd")
        if "q" in out:
            found = from_controller(self.robot, Angles(*(out.get(name) for name in names)))
            out |= {name: x for name, x in zip(names, found, strict=True) if x is not None}
        if "q_command" in out:
            out["q_command"] = self.robot.from_controller(out["q_command"])
        for name in _TORQUES:
            if name in out:
                out[name] = out[name] * sign


def _asked(use: ColumnUse) -> tuple[str, str]:
    """The option that a column's unit asks for, with its own unit; "" where there is none."""
    if use.unit in COUNTED:
        return "counts_per_turn", "counts of the encoder in a turn"
    if use.unit in RATED:
        return ("rated_current", "A") if use.quantity == "current" else ("rated_torque", "N m")
    return "", ""


def _absolute(use: ColumnUse, value: float, slides: bool) -> tuple[str, float]:
    """The unit without an option that stands for a share of `value` or counts, and the factor."""
    if use.unit in COUNTED:
        return use.unit.replace("counts", "rev"), 1 / value
    quantity = units_of(use.quantity, use.axis, slides)
    share = quantity.unit(use.unit)
    return quantity.si.name, value / (share.divisor if share else 1.0)


def _has_convention(robot: Robot) -> bool:
    """Whether the controller's angles differ from ours."""
    controller = robot.controller
    turned = any(sign != 1 for sign in controller.sign) or any(controller.offset)
    return turned or bool(robot.sensors.eccentricity)
