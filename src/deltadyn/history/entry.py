"""An entry of a history: what one fit, validation or log said of one robot, and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
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


def deviations(fit: Fit) -> FloatArray:
    """Standard deviations (k,) of a fit, of the intervals where these cover several models."""
    if fit.terms is None:
        return fit.std
    low, high = fit.interval().T
    out: FloatArray = (high - low) / (2 * NORMAL)
    return out
