"""Read recordings: any format, any columns, in one piece or chunk by chunk."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.recording.clocks import clocks_used, one_clock, time_use, trimmed
from deltadyn.recording.column_map import ColumnMap, read_column_map
from deltadyn.recording.columns import Assignment, assign
from deltadyn.recording.convert import CONVENTIONS, SIDES, Conversion
from deltadyn.recording.failures import RecordingFileError
from deltadyn.recording.formats import detect_format
from deltadyn.recording.read_csv import open_csv
from deltadyn.recording.read_matlab import open_matlab
from deltadyn.recording.read_parquet import open_parquet
from deltadyn.recording.read_ros import open_ros
from deltadyn.recording.read_tdms import open_tdms
from deltadyn.recording.read_twincat import open_twincat
from deltadyn.recording.recording import ColumnUse, Provenance, Recording
from deltadyn.recording.table import Growing, Table
from deltadyn.robot import Robot
from deltadyn.robot_checks import each

CHUNK_ROWS = 200_000
BAD_ROWS = ("raise", "skip")


def read_recording(
    path: str | PathLike[str],
    robot: Robot | None = None,
    *,
    columns: ColumnMap | None = None,
    format: str | None = None,
    name: str | None = None,
    payload: float | None = None,
    torque_constant: npt.ArrayLike | None = None,
    rated_torque: npt.ArrayLike | None = None,
    torque_side: str = "output",
    convention: str | None = None,
    sample_time: float | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    topic: str | None = None,
    interpolate: bool = False,
    bad_rows: str = "raise",
) -> Recording:
    """A recording from a file: CSV, TwinCAT Scope, MATLAB, Parquet, ROS bag, MCAP or TDMS.

    Columns are known by names such as t_s, q1_rad, tau1_Nm, `theta1 [deg]`; `columns` maps others:
    name in the file to "q1_deg" or to {quantity, axis, unit, scale, sign, offset, side}. With a
    robot, angles and torques are taken in its controller's convention unless the file or
    `convention="deltadyn"` says otherwise. Currents need `torque_constant` (N m/A); torques in
    percent need `rated_torque` (N m); `torque_side="motor"` multiplies torques by the gear ratio.
    `sample_time` (s) stands for a missing time column, `interpolate` puts channels of several
    clocks on one, `bad_rows="skip"` leaves rows out that cannot be read and lists them.
    """
    options = _Options(
        columns, format, name, payload, torque_constant, rated_torque, torque_side, convention,
        sample_time, separator, decimal, topic, interpolate, bad_rows,
    )  # fmt: skip
    reading = _Reading.of(path, robot, options)
    whole = Growing()
    for chunk in reading.chunks(CHUNK_ROWS):
        whole.add(chunk, reading.table.progress())
    if not whole.count:
        raise reading.no_rows()
    return reading.recording(whole.channels(), 0)


def iter_recording(
    path: str | PathLike[str],
    robot: Robot | None = None,
    *,
    rows: int = CHUNK_ROWS,
    columns: ColumnMap | None = None,
    format: str | None = None,
    name: str | None = None,
    payload: float | None = None,
    torque_constant: npt.ArrayLike | None = None,
    rated_torque: npt.ArrayLike | None = None,
    torque_side: str = "output",
    convention: str | None = None,
    sample_time: float | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    topic: str | None = None,
    interpolate: bool = False,
    bad_rows: str = "raise",
) -> Iterator[Recording]:
    """The same recording in pieces of `rows` samples: memory does not grow with the file.

    The columns are checked at once, the rows while they are read. A piece knows its first row; in
    text files its checksum is empty, since the file was not read to its end.
    """
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise InputError("rows", rows, "a whole number of at least 1")
    options = _Options(
        columns, format, name, payload, torque_constant, rated_torque, torque_side, convention,
        sample_time, separator, decimal, topic, interpolate, bad_rows,
    )  # fmt: skip
    reading = _Reading.of(path, robot, options)
    return reading.pieces(rows)


@dataclass(frozen=True)
class _Options:
    """The keywords of a call, in its order."""

    columns: ColumnMap | None
    format: str | None
    name: str | None
    payload: float | None
    torque_constant: npt.ArrayLike | None
    rated_torque: npt.ArrayLike | None
    torque_side: str
    convention: str | None
    sample_time: float | None
    separator: str | None
    decimal: str | None
    topic: str | None
    interpolate: bool
    bad_rows: str

    def check(self, robot: Robot | None) -> None:
        """Refuse what is no choice."""
        if robot is not None and not isinstance(robot, Robot):
            raise InputError("robot", type(robot).__name__, "a Robot, as load_robot gives it")
        if self.torque_side not in SIDES:
            raise UnknownNameError("torque_side", self.torque_side, SIDES)
        if self.convention is not None and self.convention not in CONVENTIONS:
            raise UnknownNameError("convention", self.convention, CONVENTIONS)
        if self.bad_rows not in BAD_ROWS:
            raise UnknownNameError("bad_rows", self.bad_rows, BAD_ROWS)
        if self.sample_time is not None and not self.sample_time > 0:
            raise InputError("sample_time", self.sample_time, "above 0 s")


@dataclass
class _Reading:
    """One pass over a file: its table, the columns in use, how they are converted."""

    table: Table
    columns: Assignment
    conversion: Conversion
    robot: Robot | None
    name: str
    payload: float | None
    options: _Options
    notes: list[str]

    @classmethod
    def of(cls, path: str | PathLike[str], robot: Robot | None, options: _Options) -> _Reading:
        """Look at the file's head: its format, its columns, what has to be converted."""
        options.check(robot)
        table = _open_table(path, options)
        mapped, dropped = read_column_map(options.columns, table.columns, table.path)
        timed = any(column.is_time for column in table.columns) or options.sample_time is not None
        columns = assign(
            table.columns,
            mapped,
            dropped,
            path=table.path,
            dof=None if robot is None else robot.dof,
            needs_time=not timed,
        )
        own = table.labels.get("convention") == "deltadyn"
        conversion = Conversion(
            robot,
            columns.dof,
            options.convention or ("deltadyn" if own else "controller"),
            _per_axis("torque_constant", options.torque_constant, columns.dof),
            _per_axis("rated_torque", options.rated_torque, columns.dof),
            options.torque_side,
        )
        conversion.check(columns)
        label = table.labels.get("payload_kg")
        payload = options.payload
        if payload is None and label is not None:
            payload = _payload(label, table.path)
        name = options.name or table.labels.get("name") or Path(table.path).stem
        notes = _robot_note(table, robot)
        return cls(table, columns, conversion, robot, name, payload, options, notes)

    def chunks(self, rows: int) -> Iterator[dict[str, FloatArray]]:
        """Converted channels, at most `rows` rows at a time."""
        start = 0
        for raw, time in self._raw(rows):
            channels = self.conversion.channels(raw, self.columns)
            count = len(channels["q"])
            if time is None:
                step = self.options.sample_time or 0.0
                channels["t"] = np.arange(start, start + count, dtype=np.float64) * step
            else:
                channels["t"] = self.conversion.time(time, raw)
            self._take_payload(channels, start)
            yield channels
            start += count

    def pieces(self, rows: int) -> Iterator[Recording]:
        """Recordings of at most `rows` rows."""
        start = 0
        for channels in self.chunks(rows):
            piece = self.recording(channels, start)
            yield piece
            start += len(piece)
        if not start:
            raise self.no_rows()

    def recording(self, channels: dict[str, FloatArray], first_row: int) -> Recording:
        """A recording of these channels, with its provenance."""
        label = self.table.labels.get("robot")
        provenance = Provenance(
            file=self.table.path,
            sha256=self.table.checksum(),
            reader=self.table.reader,
            first_row=first_row,
            columns=self.columns.uses,
            ignored=self.columns.ignored,
            notes=(*self.table.notes(), *self.conversion.notes(self.columns), *self.notes),
        )
        return Recording(
            **channels,
            payload=self.payload,
            name=self.name,
            robot=label if self.robot is None else self.robot.name,
            provenance=provenance,
        )

    def no_rows(self) -> RecordingFileError:
        """The error for a file without data."""
        allowed = "at least one row of numbers"
        path = self.table.path
        return RecordingFileError("file", 0, allowed, path=path, problem="has no rows of data")

    def _raw(self, rows: int) -> Iterator[tuple[dict[int, FloatArray], ColumnUse | None]]:
        """Raw columns by their index and the time column among them."""
        timed = any(column.is_time for column in self.table.columns)
        clocks = clocks_used(self.table, self.columns) if timed else [0]
        if timed and len(clocks) > 1:
            yield from self._merged(rows, clocks[0])
            return
        own = self.columns.of("t")
        time = own[0] if own else time_use(self.table.columns, clocks[0]) if timed else None
        used = sorted({use.index for use in self.columns.uses} | ({time.index} if time else set()))
        blocks = self.table.blocks(rows, used)
        if time is not None and (self.table.clocks > 1 or self.table.reader == "twincat"):
            blocks = trimmed(blocks, used.index(time.index))
        for block in blocks:
            yield dict(zip(used, block, strict=True)), time

    def _merged(
        self, rows: int, clock: int
    ) -> Iterator[tuple[dict[int, FloatArray], ColumnUse | None]]:
        whole, notes = one_clock(self.table, self.columns, interpolate=self.options.interpolate)
        self.notes += notes
        time = time_use(self.table.columns, clock)
        for start in range(0, len(whole[time.index]), rows):
            yield {index: array[start : start + rows] for index, array in whole.items()}, time

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


def _open_table(path: str | PathLike[str], options: _Options) -> Table:
    if not isinstance(path, str | PathLike):
        raise InputError("path", path, "the path of a recording")
    shown = fspath(path)
    kind = detect_format(shown, options.format)
    skip = options.bad_rows == "skip"
    if kind == "csv":
        return open_csv(shown, separator=options.separator, decimal=options.decimal, skip=skip)
    if kind == "twincat":
        return open_twincat(shown, decimal=options.decimal, skip=skip)
    checksum = _checksum(shown)
    if kind in ("matlab", "matlab73"):
        return open_matlab(shown, checksum, hdf5=kind == "matlab73")
    if kind == "parquet":
        return open_parquet(shown, checksum)
    if kind == "tdms":
        return open_tdms(shown, checksum, skip=skip)
    return open_ros(shown, checksum, topic=options.topic)


def _checksum(path: str) -> str | None:
    """SHA-256 of a file; of a bag's folder none."""
    if not Path(path).is_file():
        return None
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _per_axis(name: str, value: npt.ArrayLike | None, dof: int) -> tuple[float, ...] | None:
    return None if value is None else each(name, value, dof)


def _payload(text: str, path: str) -> float:
    try:
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
