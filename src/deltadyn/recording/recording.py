"""A recording: what was measured on a robot over time, where it came from, and its file."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import pairwise
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, as_float
from deltadyn.errors import InputError, RecordingFileError, UnknownNameError, extra_module
from deltadyn.files import replacing
from deltadyn.motion.arguments import is_real
from deltadyn.units import on_axis

#: The channels and their units; but for time and temperature each axis has a column.
UNITS = {
    "t": "s",
    "q": "rad",
    "tau": "N m",
    "current": "A",
    "q_command": "rad",
    "qd": "rad/s",
    "qdd": "rad/s^2",
    "tau_command": "N m",
    "p": "m",
    "temperature": "degC",
}
AXES = 4  # most that a robot has
MIN_SAMPLE_TIME_S, MAX_SAMPLE_TIME_S = 1e-9, 1e6  # medians beyond are no clock of a robot
SINGLE_CHANNELS = ("t", "temperature")
AXIS_CHANNELS = tuple(name for name in UNITS if name not in SINGLE_CHANNELS)


@dataclass(frozen=True)
class ColumnUse:
    """One column of a file and what became of it.

    The value in `unit` is sign * scale * raw + offset; `side` is "motor" where a value still has
    to pass the gear. `axis` counts from 0.
    """

    name: str
    index: int
    quantity: str
    axis: int | None
    unit: str
    scale: float = 1.0
    sign: float = 1.0
    offset: float = 0.0
    side: str | None = None
    torque_constant: float | None = None  # N m/A at the motor side
    assumed: bool = False  # no unit was found: SI was taken

    @property
    def target(self) -> str:
        """The channel it fills: "q1", "t", "tau2_command"."""
        return channel_name(self.quantity, self.axis)


@dataclass(frozen=True)
class Provenance:
    """Where a recording came from and what was done to it.

    `start` is the date and time of the file's first row where its own time stamps tell it, as an
    ISO text: with an offset where the file counts in UTC, else the local time of who wrote it.
    """

    file: str | None = None
    sha256: str | None = None
    reader: str | None = None
    first_row: int = 0  # of the file's data rows
    columns: tuple[ColumnUse, ...] = ()
    ignored: tuple[str, ...] = ()  # columns of the file that nothing was taken from
    notes: tuple[str, ...] = ()  # conversions and what was assumed
    repairs: tuple[str, ...] = ()
    edits: tuple[str, ...] = ()  # slices and joins
    start: str | None = None

    def with_repair(self, text: str) -> Provenance:
        """The same with one more repair."""
        return replace(self, repairs=(*self.repairs, text))

    def with_edit(self, text: str) -> Provenance:
        """The same with one more slice or join."""
        return replace(self, edits=(*self.edits, text))

    def text(self) -> str:
        """All of it, a line each."""
        lines = [f"file      {self.file or '(none)'}"]
        if self.sha256:
            lines.append(f"sha256    {self.sha256}")
        if self.reader:
            lines.append(f"reader    {self.reader}")
        if self.start:
            lines.append(f"start     {self.start}")
        for use in self.columns:
            guess = " (no unit in the file)" if use.assumed else ""
            lines.append(f"column    {use.name!r} -> {use.target} in {use.unit}{guess}")
        for title, texts in (
            ("ignored", self.ignored),
            ("note", self.notes),
            ("repair", self.repairs),
            ("edit", self.edits),
        ):
            lines += [f"{title:<9} {text}" for text in texts]
        return "\n".join(lines)


class _Torque:
    """The field `tau` of a recording: a log may lack it, and to read it is then an error.

    So what needs torques names the log and what it lacks, wherever it reads them.
    """

    def __get__(self, recording: Any, owner: object = None) -> FloatArray:
        if recording is None:
            return cast("FloatArray", None)  # the default: no torques
        value: FloatArray | None = recording.__dict__["tau"]
        if value is None:
            raise _no_torque(recording)
        return value

    def __set__(self, recording: Any, value: FloatArray | None) -> None:
        recording.__dict__["tau"] = value


def _no_torque(recording: Recording) -> InputError:
    allowed = (
        "a log with torques, or with currents and torque_constant=: without them there are times, "
        "angles and what they tell, but no model is fitted or compared"
    )
    unused = ", ".join(map(repr, recording.provenance.ignored[:12]))
    if unused:
        allowed += f". Columns that were not used: {unused}; a column map may name the torques"
    return InputError("tau", None, allowed, where=f"recording {recording.name!r}")


@dataclass(frozen=True, eq=False)
class Recording:
    """t (N,) in s with q (N, dof) in rad and tau (N, dof) in N m, in deltadyn's convention.

    The robot has 2, 3 or 4 axes, of which the first `legs` move limbs; a fourth behind three is a
    spindle's. Where carriages on rails move the limbs (`linear`) their q and tau are in m and N,
    and so are rates and commands.
    tau acts at the output side of the gear; a log may lack it (`has_torque`), and `.tau` is then
    an `InputError`. Optional too: `current` (A, in the drive's own sign),
    `q_command`, measured `qd` and `qdd`, `tau_command`, the platform's pose `p`, all (N, dof);
    `temperature` (N,) in degrees Celsius; the `payload` (kg) that was carried. Values may be NaN
    and times out of order: `check_recording` says so. The arrays cannot be written to.
    """

    t: FloatArray
    q: FloatArray
    tau: _Torque = _Torque()
    current: FloatArray | None = None
    q_command: FloatArray | None = None
    qd: FloatArray | None = None
    qdd: FloatArray | None = None
    tau_command: FloatArray | None = None
    p: FloatArray | None = None
    temperature: FloatArray | None = None
    payload: float | None = None
    name: str = "recording"
    robot: str | None = None  # the robot's name
    linear: bool = False  # whether the limbs' axes are carriages on rails
    legs: int | None = None  # axes that move limbs; left out, 3 of 4 axes, all of fewer
    provenance: Provenance = field(default_factory=Provenance, repr=False)

    def __post_init__(self) -> None:
        t = _channel("t", self.t)
        if t.ndim != 1:
            raise InputError("shape of t", t.shape, "(N,)")
        q = _channel("q", self.q)
        if q.ndim != 2 or q.shape[1] not in (2, 3, 4):
            raise InputError("shape of q", q.shape, "(N, 2), (N, 3) or (N, 4)")
        dof = q.shape[1]
        known = (dof,) if dof < AXES else (3, AXES)
        if self.legs is None:
            object.__setattr__(self, "legs", known[0])
        elif self.legs not in known:
            allowed = " or ".join(map(str, known))
            raise InputError("legs", self.legs, f"{allowed}, since q has {dof} axes")
        for name in UNITS:
            value = self.__dict__[name]
            if value is None:
                continue
            array = _channel(name, value)
            wanted = (len(t),) if name in SINGLE_CHANNELS else (len(t), q.shape[1])
            if array.shape != wanted:
                raise InputError(f"shape of {name}", array.shape, f"{wanted}, as t and q have")
            object.__setattr__(self, name, array)
        if self.payload is not None and not (is_real(self.payload) and self.payload >= 0):
            raise InputError("payload", self.payload, "a mass of at least 0 kg")
        if not isinstance(self.name, str):
            raise InputError("name", self.name, "a text")
        step = self.sample_time
        if step > 0 and not MIN_SAMPLE_TIME_S <= step <= MAX_SAMPLE_TIME_S:
            allowed = f"a median step of {MIN_SAMPLE_TIME_S:g} to {MAX_SAMPLE_TIME_S:g} s"
            raise InputError("sample time", step, allowed, where=f"recording {self.name!r}")

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return f"Recording({self.name!r}, {len(self)} samples, dof {self.dof})"

    @property
    def dof(self) -> int:
        """Degrees of freedom: 2, 3 or 4."""
        return int(self.q.shape[1])

    @property
    def slides(self) -> tuple[bool, ...]:
        """Which axes are carriages on rails (dof,): those of the limbs where `linear`."""
        return tuple(self.linear and axis < (self.legs or 0) for axis in range(self.dof))

    @property
    def spindle(self) -> bool:
        """Whether the last axis turns the tool itself."""
        return self.dof > (self.legs or 0)

    @property
    def has_torque(self) -> bool:
        """Whether there is tau."""
        return self.__dict__["tau"] is not None

    @property
    def duration(self) -> float:
        """From the first sample to the last, in s; 0 without samples."""
        return float(self.t[-1] - self.t[0]) if len(self) else 0.0

    @property
    def sample_time(self) -> float:
        """Median time step in s; NaN with fewer than two samples."""
        if len(self) < 2:
            return math.nan
        steps = np.diff(self.t)
        finite = steps[np.isfinite(steps)]
        return float(np.median(finite)) if finite.size else math.nan

    def channels(self) -> dict[str, FloatArray]:
        """The arrays that the recording has, by name."""
        return {name: self.__dict__[name] for name in UNITS if self.__dict__[name] is not None}

    def columns(self) -> Iterator[tuple[str, int | None, FloatArray]]:
        """Every column: its channel, its axis (None where the channel has one), its values."""
        for name, array in self.channels().items():
            if array.ndim == 1:
                yield name, None, array
            else:
                yield from ((name, axis, array[:, axis]) for axis in range(self.dof))

    def replace(self, **changes: Any) -> Self:
        """The same recording with other fields."""
        return replace(self, **{"tau": self.__dict__["tau"], **changes})

    def rows(self, start: int, stop: int | None = None, step: int = 1) -> Self:
        """The samples start to stop, like a slice of a list."""
        part = slice(start, stop, step)
        low, high, stride = part.indices(len(self))
        if stride < 1:
            raise InputError("step", step, "a whole number of at least 1")
        return self.take(part, f"rows {low} to {high} of {len(self)}, step {stride}")

    def between(self, start: float, stop: float) -> Self:
        """The samples with start <= t < stop, in s."""
        if not start < stop:
            raise InputError("stop", stop, f"above start, {start:g} s")
        with np.errstate(invalid="ignore"):
            inside = np.flatnonzero((self.t >= start) & (self.t < stop))
        if inside.size and inside[-1] - inside[0] + 1 == inside.size:
            part: Any = slice(int(inside[0]), int(inside[-1]) + 1)
        else:
            part = inside
        return self.take(part, f"t from {start:g} s to {stop:g} s")

    def take(self, part: slice | npt.NDArray[np.intp], edit: str) -> Self:
        """The samples of an index into the rows; `edit` goes into the provenance."""
        values: dict[str, Any] = {name: array[part] for name, array in self.channels().items()}
        return self.replace(provenance=self.provenance.with_edit(edit), **values)

    def summary(self) -> str:
        """A few lines: size, rate, ranges of every channel, origin."""
        step = self.sample_time
        rate = f", {1 / step:.6g} Hz" if step > 0 else ""
        lines = [
            f"{self.name}: {len(self)} samples, {self.duration:.6g} s{rate}, {self.dof} axes",
            f"robot {self.robot or '(not named)'}, payload "
            + ("(not given)" if self.payload is None else f"{self.payload:g} kg"),
            f"{'channel':<16}{'unit':<9}{'lowest':>12}{'highest':>12}{'not finite':>12}",
        ]
        for name, axis, values in self.columns():
            unit = self.unit(name, axis)
            lines.append(_range_line(channel_name(name, axis, self.dof), unit, values))
        return "\n".join(lines) + "\n" + self.provenance.text()

    def unit(self, name: str, axis: int | None) -> str:
        """The unit of a column of a channel."""
        return unit_of(name, axis, axis is not None and self.slides[axis])

    def save(self, path: str | PathLike[str]) -> None:
        """Write a CSV or a Parquet file; `read_recording` gives back equal arrays."""
        write_recording(self, path)


def concatenate(recordings: Sequence[Recording], name: str | None = None) -> Recording:
    """Recordings one after the other; refused where they overlap in time or do not match."""
    parts = list(recordings)
    if not parts:
        raise InputError("recordings", [], "at least one recording")
    first = parts[0]
    for number, (before, after) in enumerate(pairwise(parts), 1):
        _check_successor(first, before, after, number)
    values: dict[str, Any] = {
        channel: np.concatenate([getattr(part, channel) for part in parts])
        for channel in first.channels()
    }
    origins = [part.provenance.file or part.name for part in parts]
    provenance = replace(
        first.provenance,
        notes=_unique(note for part in parts for note in part.provenance.notes),
        repairs=_unique(text for part in parts for text in part.provenance.repairs),
        sha256=first.provenance.sha256 if len(parts) == 1 else None,
    ).with_edit(f"joined from {', '.join(origins)}")
    return first.replace(name=name or first.name, provenance=provenance, **values)


def _check_successor(first: Recording, before: Recording, after: Recording, number: int) -> None:
    where = f"recording {number}"
    if after.dof != first.dof:
        raise InputError("axes", after.dof, f"{first.dof}, as the first has", where=where)
    have, want = sorted(after.channels()), sorted(first.channels())
    if have != want:
        raise InputError("channels", have, f"{want}, as the first has", where=where)
    for name in ("payload", "robot", "linear", "legs"):
        mine, theirs = getattr(after, name), getattr(first, name)
        if mine != theirs:
            raise InputError(name, mine, f"{theirs!r}, as the first has", where=where)
    if len(before) and len(after) and not after.t[0] > before.t[-1]:
        raise InputError(
            "t",
            float(after.t[0]),
            f"above {before.t[-1]:g} s, the end of the recording before: they overlap",
            where=f"{where}, row 0",
        )


def channel_name(quantity: str, axis: int | None, dof: int = AXES) -> str:
    """What a column of a channel is called: "q1", "tau2_command", "x"; of 2 axes p is x, z."""
    if axis is None:
        return quantity
    if quantity == "p":
        return (("x", "z") if dof == 2 else ("x", "y", "z", "platform_psi"))[axis]
    word, _, rest = quantity.partition("_")
    return f"{word}{axis + 1}" + (f"_{rest}" if rest else "")


def unit_of(quantity: str, axis: int | None, slides: bool = False) -> str:
    """The unit of a column of a channel; psi of a pose is an angle.

    `slides` tells that the axis is a carriage.
    """
    if quantity == "p":
        return "rad" if axis == 3 else "m"
    return on_axis(UNITS[quantity], slides)


def _channel(name: str, value: npt.ArrayLike) -> FloatArray:
    """A view of the values that cannot be written to."""
    array = as_float(value, name).view()
    array.flags.writeable = False
    return array


def _range_line(label: str, unit: str, values: FloatArray) -> str:
    finite = values[np.isfinite(values)]
    ends = (f"{finite.min():.6g}", f"{finite.max():.6g}") if finite.size else ("-", "-")
    missing = values.size - finite.size
    return f"{label:<16}{unit:<9}{ends[0]:>12}{ends[1]:>12}{missing:>12}"


def _unique(texts: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


@dataclass(frozen=True)
class DataSource:
    """A recording that a fit used; `sha256` is that of its times, angles and torques."""

    name: str
    file: str | None
    sha256: str
    samples: int
    duration: float  # s
    payload: float | None  # kg
    edits: tuple[str, ...] = ()  # rows that were cut out, and repairs

    @classmethod
    def of(cls, recording: Recording) -> DataSource:
        """What identifies a recording."""
        return cls(
            recording.name,
            recording.provenance.file,
            fingerprint(recording),
            len(recording),
            recording.duration,
            recording.payload,
            (*recording.provenance.edits, *recording.provenance.repairs),
        )


def fingerprint(recording: Recording) -> str:
    """SHA-256 of a recording's times, angles and torques."""
    digest = sha256()
    torque = (recording.tau,) if recording.has_torque else ()
    for array in (recording.t, recording.q, *torque):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


# Files: CSV with all digits, or Parquet with units in the metadata.


FORMATS = ("csv", "parquet")
_ROWS = 20_000  # of text in memory at a time


def write_recording(
    recording: Recording, path: str | PathLike[str], *, format: str | None = None
) -> None:
    """Write a CSV or Parquet file, by `format` or by the path's ending; CSV where in doubt.

    The file is written whole or left as it was. Reading it gives back equal arrays, name, robot
    and payload; the provenance is not kept.
    """
    shown = fspath(path)
    if format is not None and format not in FORMATS:
        raise UnknownNameError("format", format, FORMATS)
    kind = format or ("parquet" if Path(shown).suffix in (".parquet", ".pq") else "csv")
    columns = list(_columns(recording))
    try:
        with replacing(shown) as file:
            if kind == "parquet":
                _write_parquet(recording, columns, file)
            else:
                _write_csv(recording, columns, file)
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}"
        allowed = "a path in a folder that can be written"
        raise RecordingFileError.of_file(shown, problem, allowed) from error


class _Column(NamedTuple):
    """A column of a file under its default name, in its unit."""

    name: str
    unit: str
    values: FloatArray


def _columns(recording: Recording) -> Iterator[_Column]:
    """Every column of a recording, t_s first: t_s, q1_rad, tau1_Nm, ..."""
    for name, axis, values in recording.columns():
        unit = recording.unit(name, axis).replace(" ", "")
        label = channel_name(name, axis, recording.dof)
        if name == "q" and axis is not None and axis >= (recording.legs or 0):
            label = "psi"
        suffix = unit.replace("/s^2", "_s2").replace("/s", "_s")
        yield _Column(f"{label}_{suffix}", unit, values)


def _labels(recording: Recording) -> dict[str, str]:
    """What a file says about itself; angles and torques are in deltadyn's convention."""
    labels = {"convention": "deltadyn", "name": " ".join(recording.name.split())}
    if recording.robot is not None:
        labels["robot"] = recording.robot
    if recording.legs != 3:
        labels["limbs"] = str(recording.legs)
    if recording.payload is not None:
        labels["payload_kg"] = repr(float(recording.payload))
    return {key: text for key, text in labels.items() if text}


def csv_text(recording: Recording) -> str:
    """A recording as the text of its CSV file."""
    text = io.BytesIO()
    _write_csv(recording, list(_columns(recording)), text)
    return text.getvalue().decode("utf-8")


def _write_csv(recording: Recording, columns: list[_Column], file: IO[bytes]) -> None:
    lines = [f"# {key}: {text}" for key, text in _labels(recording).items()]
    header = ",".join(column.name for column in columns)
    file.write(("\n".join([*lines, header]) + "\n").encode("utf-8"))
    line = ",".join(["%r"] * len(columns))
    for start in range(0, len(recording), _ROWS):
        part = [column.values[start : start + _ROWS].tolist() for column in columns]
        rows = "\n".join(line % row for row in zip(*part, strict=True))
        file.write((rows + "\n").encode("ascii"))


def _write_parquet(recording: Recording, columns: list[_Column], file: IO[bytes]) -> None:
    pyarrow: Any = extra_module("pyarrow", "a Parquet file", "parquet")
    parquet: Any = extra_module("pyarrow.parquet", "a Parquet file", "parquet")
    fields = [
        pyarrow.field(column.name, pyarrow.float64(), metadata={"unit": column.unit})
        for column in columns
    ]
    labels = {f"deltadyn.{key}": text for key, text in _labels(recording).items()}
    schema = pyarrow.schema(fields, metadata=labels)
    arrays = [pyarrow.array(np.ascontiguousarray(column.values)) for column in columns]
    parquet.write_table(pyarrow.Table.from_arrays(arrays, schema=schema), file)
