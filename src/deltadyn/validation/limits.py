"""Limits of a user's own for the residual of a model on held-out logs, per axis."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.robot import Robot
from deltadyn.validation.result import Validation

#: What may be limited, and how its size follows from a validation, per axis (dof,).
SIZES = ("rms", "maximum", "mean", "std", "relative")
_LIMIT = re.compile(r"\s*(?P<number>[0-9.]+(?:[eE][+-]?\d+)?)\s*(?P<unit>[A-Za-z% ]*)\s*")


@dataclass(frozen=True, eq=False)
class LimitCheck:
    """A size of the residual (dof,) beside its limits (dof,), in `units` per axis.

    `size` is "rms", "maximum", "mean" or "std" of measured - predicted torque without its sign, or
    "relative": its RMS over that of the measured torque. All are of rows at which the axis moves.
    """

    size: str
    units: tuple[str, ...]
    values: FloatArray
    limits: FloatArray

    @property
    def axes_met(self) -> tuple[bool, ...]:
        """Whether each axis is within its limit; a value that is not known is not."""
        return tuple(
            bool(value <= limit) for value, limit in zip(self.values, self.limits, strict=True)
        )

    @property
    def met(self) -> bool:
        """Whether all axes are."""
        return all(self.axes_met)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "size": self.size,
            "units": list(self.units),
            "values": [float(value) if np.isfinite(value) else None for value in self.values],
            "limits": self.limits.tolist(),
            "axes_met": list(self.axes_met),
            "met": self.met,
        }

    def __str__(self) -> str:
        rows = zip(self.values, self.limits, self.units, self.axes_met, strict=True)
        parts = [
            f"axis {axis}: {value:.3g} {'<=' if met else '>'} {limit:.3g} {unit}".rstrip()
            for axis, (value, limit, unit, met) in enumerate(rows, 1)
        ]
        return f"required {self.size} {'met' if self.met else 'NOT met'}: {', '.join(parts)}"


def check_limits(found: Validation, limits: Mapping[str, npt.ArrayLike]) -> tuple[LimitCheck, ...]:
    """The residual of a validation beside limits by name, one for all axes or one each (dof,).

    Limits are in N m (N on rails); "relative" is a number, 0.05 for 5 %.
    """
    return tuple(_check(found, name, limit) for name, limit in limits.items())


def _check(found: Validation, name: str, limit: npt.ArrayLike) -> LimitCheck:
    if name not in SIZES:
        raise UnknownNameError("required size", name, SIZES)
    dof = found.robot.dof
    given = np.asarray(limit, dtype=np.float64)
    if given.shape not in ((), (1,), (dof,)) or not (np.isfinite(given) & (given > 0)).all():
        raise InputError(f"limit of {name}", limit, f"a number above 0, or {dof} of them")
    limits = np.broadcast_to(given, (dof,)).copy()
    if name == "relative":
        return LimitCheck(name, ("",) * dof, found.shares, limits)
    values = np.abs(getattr(found.metrics, name))
    return LimitCheck(name, tuple(found.robot.axis_units("tau")), values, limits)


def parse_limits(texts: Sequence[str], robot: Robot) -> dict[str, FloatArray]:
    """Limits of texts such as "rms=2Nm", "rms=2,2,3Nm" or "relative=5%"."""
    limits: dict[str, FloatArray] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        example = f"NAME=LIMIT with one of {', '.join(SIZES)}, as rms=2Nm or relative=5%"
        parts = [_LIMIT.fullmatch(part) for part in rest.split(",")]
        if not equals or name not in SIZES or name in limits or not all(parts):
            raise InputError("--require", text, example)
        limits[name] = _numbers(text, name, [match for match in parts if match], robot)
    return limits


def _numbers(text: str, name: str, parts: Sequence[re.Match[str]], robot: Robot) -> FloatArray:
    """The numbers of one limit, whose last one may carry the unit of all."""
    unit = parts[-1]["unit"].replace(" ", "")
    known = {"": 1.0, "%": 0.01} if name == "relative" else dict.fromkeys(_torque_units(robot), 1.0)
    if unit not in known or any(match["unit"].strip() for match in parts[:-1]):
        allowed = f"numbers with the unit {' or '.join(filter(None, known))} behind the last"
        raise InputError("--require", text, allowed)
    try:
        return np.array([known[unit] * float(match["number"]) for match in parts])
    except ValueError:
        raise InputError("--require", text, "numbers") from None


def _torque_units(robot: Robot) -> tuple[str, ...]:
    """Units that a limit of all axes may name: none, and that of the axes where they share it."""
    units = {unit.replace(" ", "") for unit in robot.axis_units("tau")}
    return ("", *units) if len(units) == 1 else ("",)
