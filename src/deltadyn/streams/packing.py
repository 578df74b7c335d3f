"""Samples on a wire: batches as one binary message, or as JSON; docs/live.md has the layout."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.recording.recording import Recording

MAGIC, VERSION = b"DDYN", 1
HEADER = struct.Struct("<4sBBBBIIdd")  # 32 bytes, every field on its natural boundary
FLOAT32, HAS_QD, HAS_QDD, HAS_HOLDING = 1, 2, 4, 8
FLAGS = FLOAT32 | HAS_QD | HAS_QDD | HAS_HOLDING
MOST = 65_536  # samples of a message
AXES = (2, 3, 4)
LARGEST = 1e6  # rad, m, N m, N and so on: no robot has more, and its square is still a number
LATEST = 1e16  # s: whole numbers of samples up to there are still numbers
SEQUENCES = 1 << 32
KEYS = ("t", "q", "tau", "qd", "qdd", "holding", "sample_time", "sequence")


class MalformedError(InputError):
    """A message that is no batch: `quantity` is the field, `value` what it held."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Samples in a row: the first at `t0` (s), one every `sample_time` (s); arrays (N, dof).

    `sample_time` is 0 where a single sample does not tell it. `qd`, `qdd` and the gripper's signal
    `holding` (N,) may be left out. `sequence` counts batches from 0 and wraps after 2**32 - 1.
    """

    t0: float
    sample_time: float
    q: FloatArray
    tau: FloatArray
    qd: FloatArray | None = None
    qdd: FloatArray | None = None
    holding: npt.NDArray[np.bool_] | None = None
    sequence: int | None = None

    def __post_init__(self) -> None:
        for name in ("q", "tau", "qd", "qdd"):
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, np.asarray(values, np.float64))
        if self.holding is not None:
            object.__setattr__(self, "holding", np.asarray(self.holding, bool))
        _check(self)

    def __len__(self) -> int:
        return len(self.q)

    @property
    def dof(self) -> int:
        """Axes of the robot."""
        return int(self.q.shape[1])

    @property
    def t(self) -> FloatArray:
        """Times (N,) in s."""
        return self.t0 + self.sample_time * np.arange(len(self), dtype=np.float64)

    @property
    def end(self) -> float:
        """Time of the last sample in s."""
        return self.t0 + self.sample_time * (len(self) - 1)


def pack(batch: Batch, *, single: bool = False) -> bytes:
    """The binary message of a batch; `single` packs float32, half as long.

    A batch without a sequence number has 0.
    """
    flags = FLOAT32 if single else 0
    columns = [batch.q]
    for bit, values in ((HAS_QD, batch.qd), (HAS_QDD, batch.qdd)):
        if values is not None:
            flags |= bit
            columns.append(values)
    columns.append(batch.tau)
    if batch.holding is not None:
        flags |= HAS_HOLDING
        columns.append(batch.holding[:, None].astype(np.float64))
    head = HEADER.pack(
        MAGIC,
        VERSION,
        batch.dof,
        flags,
        0,
        batch.sequence or 0,
        len(batch),
        batch.t0,
        batch.sample_time,
    )
    return head + np.concatenate(columns, axis=1).astype(_kind(flags)).tobytes()


def unpack(message: object) -> Batch:
    """The batch of a message: packed bytes or JSON; anything else is a MalformedError."""
    if isinstance(message, bytes | bytearray | memoryview):
        data = bytes(message)
        if data.lstrip(b" \t\r\n\xef\xbb\xbf")[:1] == b"{":
            return _from_json(data.decode("utf-8-sig", "replace"))
        return _from_packed(data)
    if isinstance(message, str):
        return _from_json(message)
    raise MalformedError("message", type(message).__name__, "bytes, or text with JSON")


def batches_of(recording: Recording, size: int = 100) -> Iterator[Batch]:
    """A recording as the batches in which a controller would send it, to replay it.

    Times are even within a batch; the last one may be shorter.
    """
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST:
        raise InputError("size", size, f"a whole number from 1 to {MOST}")
    step = recording.sample_time if len(recording) > 1 else 0.0
    for sequence, start in enumerate(range(0, len(recording), size)):
        part = slice(start, start + size)
        yield Batch(
            float(recording.t[start]),
            step,
            recording.q[part],
            recording.tau[part],
            None if recording.qd is None else recording.qd[part],
            None if recording.qdd is None else recording.qdd[part],
            sequence=sequence % SEQUENCES,
        )


def _kind(flags: int) -> np.dtype[Any]:
    return np.dtype("<f4" if flags & FLOAT32 else "<f8")


def _from_packed(data: bytes) -> Batch:
    if len(data) < HEADER.size:
        raise MalformedError("length", len(data), f"at least the header's {HEADER.size} bytes")
    magic, version, dof, flags, reserved, sequence, count, t0, step = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise MalformedError("magic", magic, f"{MAGIC!r}, or JSON that begins with '{{'")
    if version != VERSION:
        raise MalformedError("version", version, f"{VERSION}")
    if dof not in AXES:
        raise MalformedError("dof", dof, "2, 3 or 4")
    if flags & ~FLAGS or reserved:
        name, value = ("flags", flags) if flags & ~FLAGS else ("reserved", reserved)
        raise MalformedError(name, value, f"0 to {FLAGS}" if name == "flags" else "0")
    if not 1 <= count <= MOST:
        raise MalformedError("count", count, f"1 to {MOST}")
    parts = [dof if flags & bit else 0 for bit in (HAS_QD, HAS_QDD)]
    width = 2 * dof + sum(parts) + bool(flags & HAS_HOLDING)
    length = HEADER.size + count * width * _kind(flags).itemsize
    if len(data) != length:
        allowed = f"{length} bytes for {count} samples of {width} {_kind(flags).name} values"
        raise MalformedError("length", len(data), allowed)
    raw = np.frombuffer(data, _kind(flags), offset=HEADER.size).reshape(count, width)
    with np.errstate(invalid="ignore"):  # a signalling NaN; it is refused below
        rows = raw.astype(np.float64)
    q, qd, qdd, tau, last = np.split(rows, np.cumsum([dof, *parts, dof]), axis=1)
    return Batch(
        t0,
        step,
        q,
        tau,
        qd if parts[0] else None,
        qdd if parts[1] else None,
        _signal(last[:, 0]) if last.size else None,
        sequence,
    )


def _from_json(text: str) -> Batch:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedError("message", _short(text), f"JSON ({_short(str(error))})") from None
    if not isinstance(fields, dict):
        raise MalformedError("message", type(fields).__name__, "a JSON object with t, q and tau")
    unknown = sorted(set(fields) - set(KEYS))
    if unknown:
        raise MalformedError("key", _short(unknown[0]), "one of " + ", ".join(KEYS))
    for name in ("t", "q", "tau"):
        if fields.get(name) is None:
            raise MalformedError(name, None, "given in every message")
    q = _rows("q", fields["q"])
    qd, qdd = (
        None if fields.get(name) is None else _rows(name, fields[name]) for name in ("qd", "qdd")
    )
    holding, step = fields.get("holding"), fields.get("sample_time")
    return Batch(
        _number("t", fields["t"]),
        0.0 if step is None else _number("sample_time", step),
        q,
        _rows("tau", fields["tau"]),
        qd,
        qdd,
        None if holding is None else _json_signal(holding),
        fields.get("sequence"),
    )


def _check(batch: Batch) -> None:
    """Refuse what no robot sends; the first wrong value is named with its row and axis."""
    count, dof = batch.q.shape if batch.q.ndim == 2 else (0, 0)
    if dof not in AXES:
        raise MalformedError("shape of q", list(batch.q.shape), "samples of 2, 3 or 4 axes")
    if not 1 <= count <= MOST:
        raise MalformedError("count", count, f"1 to {MOST}")
    given = {"q": batch.q, "qd": batch.qd, "qdd": batch.qdd, "tau": batch.tau}
    for name, values in given.items():
        if values is None:
            continue
        if values.shape != batch.q.shape:
            allowed = f"{list(batch.q.shape)}, as q has"
            raise MalformedError(f"shape of {name}", list(values.shape), allowed)
        bad = np.argwhere(~(np.abs(values) <= LARGEST))  # NaN compares false
        if len(bad):
            row, axis = (int(x) for x in bad[0])
            where = f"row {row}, axis {axis + 1}"
            allowed = f"a number within {LARGEST:g}"
            raise MalformedError(name, float(values[row, axis]), allowed, where=where)
    if batch.qdd is not None and batch.qd is None:
        raise MalformedError("qd", None, "the rates, where accelerations are given")
    if batch.holding is not None and batch.holding.shape != (count,):
        raise MalformedError("holding", list(batch.holding.shape), f"{count} values, one a sample")
    if not abs(batch.t0) <= LATEST:
        raise MalformedError("t", batch.t0, f"a finite number of s, within {LATEST:g}")
    step = batch.sample_time
    if not (0 < step < math.inf or (step == 0 and count == 1)):
        allowed = "above 0 s" if count > 1 else "above 0 s, or 0 for a single sample"
        raise MalformedError("sample_time", step, allowed)
    if batch.t0 + step == batch.t0 and step:
        raise MalformedError("t", batch.t0, f"near enough to 0 to count steps of {step:g} s")
    sequence = batch.sequence
    whole = isinstance(sequence, int) and not isinstance(sequence, bool)
    if sequence is not None and not (whole and 0 <= sequence < SEQUENCES):
        raise MalformedError("sequence", _short(sequence), "a whole number from 0 to 2**32 - 1")


def _signal(values: FloatArray) -> npt.NDArray[np.bool_]:
    """The gripper's signal; only 0 and 1 are one."""
    bad = np.flatnonzero((values != 0) & (values != 1))
    if bad.size:
        raise MalformedError("holding", float(values[bad[0]]), "0 or 1", where=f"row {bad[0]}")
    return values.astype(bool)


def _json_signal(value: Any) -> npt.NDArray[np.bool_]:
    values = value if isinstance(value, list) else [value]
    for row, item in enumerate(values):
        if item not in (0, 1):  # true and false are 1 and 0
            raise MalformedError("holding", _short(item), "true or false", where=f"row {row}")
    return np.array(values, bool)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MalformedError(name, _short(value), "a number of s")
    try:
        return float(value)
    except OverflowError:
        raise MalformedError(name, _short(value), "a finite number of s") from None


def _rows(name: str, value: Any) -> FloatArray:
    """One sample [a, b, c] or several [[a, b, c], ...] as (N, dof)."""
    rows = value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
    for row, sample in enumerate(rows):
        if not isinstance(sample, list) or len(sample) != len(rows[0]):
            raise MalformedError(name, _short(sample), "numbers, one per axis", where=f"row {row}")
        for axis, number in enumerate(sample):
            if isinstance(number, bool) or not isinstance(number, int | float):
                where = f"row {row}, axis {axis + 1}"
                raise MalformedError(name, _short(number), "a number", where=where)
    try:
        return np.array(rows, np.float64).reshape(len(rows), len(rows[0]))
    except OverflowError:
        raise MalformedError(name, "a whole number", f"a number within {LARGEST:g}") from None


def _short(value: Any) -> Any:
    """A value to show; long ones are cut."""
    text = value if isinstance(value, str) else repr(value)
    return value if len(text) <= 60 else f"{text[:57]}..."
