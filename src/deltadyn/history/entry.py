"""An entry of a history: what one fit, validation or log said of one robot, and when."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.history.times import local
from deltadyn.identification.fit import Fit
from deltadyn.identification.terms.intervals import NORMAL

KINDS = ("fit", "validation", "log")


@dataclass(frozen=True, eq=False)
class Entry:
    """One row of the history of the robot `serial`, of the type `robot` (a robot file's name).

    `time` is when the log was recorded, in UTC; `zone` is the plant's (IANA). `values` (k,) are the
    parameters `names` with their `units`; `std` (k,) are the deviations of their intervals, which
    cover the models that remain, infinite where the log does not show a parameter; `covariance`
    (k, k) is that of the one model. `residual` and `torque_level` (dof,) are RMS values in N m, or
    N on rails. `log` is the fingerprint of the samples, `code` that of the program.
    """

    robot: str
    serial: str
    time: datetime
    kind: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: FloatArray
    std: FloatArray
    covariance: FloatArray
    residual: FloatArray
    torque_level: FloatArray
    grade: str = ""
    verdict: str = ""
    method: str = ""
    model: str = ""
    temperature: float | None = None  # degrees Celsius
    zone: str = "UTC"
    log: str = ""
    code: str = ""
    note: str = ""
    payload: float | None = None  # kg that was carried, where the logs say it
    number: int | None = None  # in the store; None before it is there

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError("kind of an entry", self.kind, f"one of {', '.join(KINDS)}")
        if self.time.tzinfo is None:
            raise InputError("time of an entry", self.time, "a time with a zone, such as UTC")
        object.__setattr__(self, "time", self.time.astimezone(UTC))
        count = len(self.names)
        shapes = {"values": (count,), "std": (count,), "covariance": (count, count)}
        for name, shape in shapes.items():
            found = np.asarray(getattr(self, name)).shape
            if found != shape:
                raise InputError(f"shape of {name}", found, f"{shape}, as names has")
        if self.temperature is not None and not math.isfinite(self.temperature):
            raise InputError("temperature", self.temperature, "degrees Celsius, or None")
        if self.payload is not None and not (math.isfinite(self.payload) and self.payload >= 0):
            raise InputError("payload", self.payload, "at least 0 kg, or None")

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; None where a number is not finite."""
        texts = ("robot", "serial", "kind", "zone", "method", "model", "grade", "verdict")
        rows = zip(self.names, self.values, self.std, self.units, strict=True)
        return {
            "number": self.number,
            "time": self.time.isoformat(),
            **{name: getattr(self, name) for name in (*texts, "log", "code", "note")},
            "temperature_degC": self.temperature,
            "payload_kg": self.payload,
            "parameters": [
                {"name": n, "value": _finite(v), "std": _finite(s), "unit": u}
                for n, v, s, u in rows
            ],
            "covariance": [[_finite(v) for v in row] for row in self.covariance],
            "residual_rms": [_finite(v) for v in self.residual],
            "torque_rms": [_finite(v) for v in self.torque_level],
        }

    @property
    def line(self) -> str:
        """The entry in one line of a list."""
        number = "-" if self.number is None else str(self.number)
        warm = "" if self.temperature is None else f"{self.temperature:.1f} degC"
        when = local(self.time, self.zone)
        words = f"{self.kind:<11}{self.method:<12}{self.grade}"
        return f"{number:>6}  {when}  {self.serial:<14} {warm:<10} {words}".rstrip()

    def __str__(self) -> str:
        level = zip(self.residual, self.torque_level, strict=True)
        lines = [
            f"entry {self.number}: {self.kind} of {self.serial} ({self.robot})",
            f"recorded {local(self.time, self.zone)} ({self.zone}), {self.time:%Y-%m-%d %H:%M} UTC",
            *([] if self.temperature is None else [f"at {self.temperature:.1f} degC"]),
            *([] if self.payload is None else [f"with {self.payload:g} kg"]),
            f"method {self.method or '-'}, model {self.model or '-'}, {self.code}",
            f"log {self.log or '-'}",
            *([f"verdict: {self.verdict}"] if self.verdict else []),
            *([f"note: {self.note}"] if self.note else []),
            "residual RMS: " + ", ".join(f"{e:.3g} of {size:.3g}" for e, size in level),
        ]
        if self.names:
            lines.append(f"{'parameter':<14}{'value':>13}{'std':>11}  unit")
        for name, value, std, unit in zip(
            self.names, self.values, self.std, self.units, strict=True
        ):
            lines.append(f"{name:<14}{value:>13.5g}{std:>11.2g}  {unit}")
        return "\n".join(lines)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def deviations(fit: Fit) -> FloatArray:
    """Standard deviations (k,) of a fit, of the intervals where these cover several models."""
    if fit.terms is None:
        return fit.std
    low, high = fit.interval().T
    out: FloatArray = (high - low) / (2 * NORMAL)
    return out
