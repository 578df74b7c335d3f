"""The designed excitation: a value with its motion, what it will identify, and what binds it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.doors import write_page
from deltadyn.errors import UnknownNameError
from deltadyn.excitation.criteria import Noise, Prediction
from deltadyn.files import replacing
from deltadyn.motion.arguments import check_flag
from deltadyn.motion.fourier import ROUNDING, FourierSeries, fourier_motion
from deltadyn.motion.limits import Limit, LimitReport
from deltadyn.motion.motion import Motion, joint_stems
from deltadyn.robot import Robot
from deltadyn.robot.convention import Angles, to_controller

# The motion as a table for a controller, in its own signs, offsets and units.


Coordinates = Literal["joints", "platform"]

_ANGLES = {"rad": 1.0, "deg": 180 / math.pi}
_LENGTHS = {"m": 1.0, "mm": 1e3}
_SUFFIX = ("", "_s", "_s2")
_DIGITS = 12  # significant digits: a step of 1e-12 of the range is below any encoder


def controller_columns(
    robot: Robot,
    motion: Motion,
    coordinates: Coordinates,
    angle_unit: str,
    length_unit: str,
    derivatives: bool,
) -> tuple[tuple[str, ...], FloatArray]:
    """Names of the columns and their values (N, k): time, positions and, if wanted, derivatives.

    Joint angles are the controller's own, sign * q + offset; psi is the same axis in both
    coordinates. Every column's name ends in its unit: t_s, q1_deg, qd1_deg_s, x_mm, psi_rad. Places
    of carriages have the `length_unit`.
    """
    _check_choice("angle_unit", angle_unit, _ANGLES)
    _check_choice("length_unit", length_unit, _LENGTHS)
    _check_choice("coordinates", coordinates, ("joints", "platform"))
    check_flag("derivatives", derivatives)
    if coordinates == "joints":
        stem, unit = joint_stems(robot), length_unit if robot.linear else angle_unit
        orders = [*to_controller(robot, Angles(motion.q, motion.qd, motion.qdd))]
    else:
        stem, unit = robot.coordinates, length_unit
        orders = [motion.p, motion.pd, motion.pdd]
        if robot.spindle is not None:  # psi is an axis
            turn = slice(3, robot.dof)
            psi = to_controller(robot, Angles(*(x[:, turn] for x in orders)), turn)
            orders = [np.column_stack([x[:, :3], y]) for x, y in zip(orders, psi, strict=True)]
    units = _LENGTHS | _ANGLES
    factor = np.array([units[angle_unit if name == "psi" else unit] for name in stem])
    names, columns = ["t_s"], [motion.t[:, None]]
    for order, values in enumerate(orders if derivatives else orders[:1]):
        columns.append(values * factor)
        for axis in range(robot.dof):
            own = angle_unit if stem[axis] == "psi" else unit
            names.append(f"{_derivative(stem[axis], order)}_{own}{_SUFFIX[order]}")
    return tuple(names), np.concatenate(columns, axis=1)


def _derivative(stem: str, order: int) -> str:
    """q1 -> qd1, qdd1; psi -> psid, psidd."""
    letters = stem.rstrip("1234")
    return letters + "d" * order + stem[len(letters) :]


def _check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise UnknownNameError(name, value, choices)


BINDING = 0.98  # of a limit: a motion that uses this much is bound by it


@dataclass(frozen=True)
class PredictedParameter:
    """One parameter: its value for the robot, and how well the motion will identify it.

    `std` is the predicted standard deviation and `before` that of a typical random motion, both in
    `unit`; `relative` is std / |value|, None where the value is 0.
    """

    name: str
    unit: str
    value: float
    std: float
    before: float

    @property
    def relative(self) -> float | None:
        """std / |value|."""
        return self.std / abs(self.value) if self.value else None


@dataclass(frozen=True, eq=False)
class Excitation:
    """A periodic motion that enters and leaves at rest, designed for identification.

    `motion` holds ramp, `periods` periods and ramp, sampled at `noise.rate` hertz; only the periods
    count in the predictions, and they begin at t = `ramp`. `before` is a typical random motion with
    the same period: the one of `random_motions` whose condition number is the median.
    """

    robot: Robot
    model: str
    criterion: str
    series: FourierSeries
    periods: int
    ramp: float  # s
    motion: Motion
    parameters: tuple[PredictedParameter, ...]
    prediction: Prediction
    before: Prediction
    random_motions: int
    report: LimitReport
    noise: Noise
    weights: FloatArray  # (dof,), 1/(N m)
    unidentifiable: str  # a sentence, empty where every parameter can be identified
    searches: int
    seconds: float
    status: str

    @property
    def condition_number(self) -> float:
        """Of the row-weighted base regressor with columns of unit length."""
        return self.prediction.condition_number

    @property
    def raw_condition_number(self) -> float:
        """Of the base regressor as it is: it depends on the units."""
        return self.prediction.raw_condition_number

    @property
    def paper_condition_number(self) -> float:
        """cond(Y^T Y), the index of [gnad2024] section IV-B."""
        return self.prediction.paper_condition_number

    @property
    def covariance(self) -> FloatArray:
        """Predicted covariance (n, n) of the parameters."""
        return self.prediction.covariance

    @property
    def base_frequency(self) -> float:
        """Base frequency in Hz."""
        return self.series.frequency

    @property
    def duration(self) -> float:
        """Of the whole periods, in s; the ramps come on top."""
        return self.periods * self.series.period

    @property
    def steady(self) -> slice:
        """Rows of `motion` that lie in the whole periods."""
        rate = self.noise.rate
        first = math.ceil((self.ramp - ROUNDING) * rate)
        return slice(first, first + math.floor((self.duration + ROUNDING) * rate))

    @property
    def binding(self) -> tuple[Limit, ...]:
        """The limits of which the motion takes at least 98 %."""
        return tuple(x for x in self.report.limits if x.use is not None and x.use >= BINDING)

    @property
    def skipped(self) -> tuple[str, ...]:
        """Limits that the robot does not name, so that the design could not keep them."""
        return tuple(x.name for x in self.report.limits if x.allowed is None)

    def sampled(self, rate: float) -> Motion:
        """The whole motion at another sample rate (Hz), from the series, not interpolated."""
        return fourier_motion(
            self.robot, self.series, periods=self.periods, rate=rate, ramp=self.ramp
        )

    def save(
        self,
        path: str | PathLike[str],
        *,
        rate: float | None = None,
        coordinates: Coordinates = "joints",
        angle_unit: str = "rad",
        length_unit: str = "m",
        derivatives: bool = False,
    ) -> None:
        """Write the motion as CSV for a controller, in its own signs, offsets and units.

        One row per sample at `rate` hertz (that of `motion` by default): t_s and the positions,
        with `derivatives` also rates and accelerations. `coordinates` is "joints" or "platform",
        `angle_unit` "rad" or "deg", `length_unit` "m" or "mm"; the columns' names say the unit.
        """
        motion = self.motion if rate is None else self.sampled(rate)
        names, columns = controller_columns(
            self.robot, motion, coordinates, angle_unit, length_unit, derivatives
        )
        rows = [",".join(f"{value:.{_DIGITS}g}" for value in row) for row in columns]
        with replacing(path) as file:
            file.write("\n".join([",".join(names), *rows, ""]).encode("utf-8"))

    def page(self, path: str | PathLike[str]) -> Path:
        """Write one HTML page: predicted deviations, limits and the motion, to open offline."""
        return write_page("excitation", self, path)

    def as_dict(self) -> dict[str, Any]:
        """Everything but the samples, for JSON."""
        record = {
            "robot": self.robot.name,
            "model": self.model,
            "criterion": self.criterion,
            "status": self.status,
            "periods": self.periods,
            "base_frequency_Hz": self.base_frequency,
            "duration_s": self.duration,
            "ramp_s": self.ramp,
            "offset": self.series.offset.tolist(),
            "sine": self.series.sine.tolist(),
            "cosine": self.series.cosine.tolist(),
            "condition_number": _pair(self, "condition_number"),
            "raw_condition_number": _pair(self, "raw_condition_number"),
            "paper_condition_number": _pair(self, "paper_condition_number"),
            "noise_std_Nm": self.noise.std.tolist(),
            "noise_correlation_s": self.noise.correlation,
            "rate_Hz": self.noise.rate,
            "parameters": [
                {
                    "name": item.name,
                    "unit": item.unit,
                    "value": item.value,
                    "std": item.std,
                    "std_before": item.before,
                    "relative": item.relative,
                }
                for item in self.parameters
            ],
            "binding": [str(limit) for limit in self.binding],
            "limits_not_named": list(self.skipped),
            "unidentifiable": self.unidentifiable,
            "searches": self.searches,
            "seconds": self.seconds,
        }
        return self.robot.record(record)

    def __str__(self) -> str:
        """The table: condition numbers and standard deviations before and after, limits."""
        period = f"{self.series.period:.4g} s"
        lines = [
            f"excitation of {self.robot.name}: {self.periods} periods of {period} "
            f"(base frequency {self.base_frequency:.4g} Hz, {self.series.harmonics} harmonics), "
            f"{self.ramp:.3g} s to enter and to leave at rest",
            f"{self.status} Model {self.model!r}, criterion {self.criterion!r}.",
            f"before: a typical random motion with this period (the median of "
            f"{self.random_motions} within the limits)",
            "",
            *_condition_lines(self),
            "",
            *_parameter_lines(self),
            "",
            *_limit_lines(self),
        ]
        if self.unidentifiable:
            lines.append(f"left out: {self.unidentifiable}")
        return "\n".join(lines)


def _pair(result: Excitation, name: str) -> dict[str, float]:
    before, after = getattr(result.before, name), getattr(result.prediction, name)
    return {"before": float(before), "after": float(after)}


def _condition_lines(result: Excitation) -> list[str]:
    rows = (
        ("rows weighted, columns normalised", "condition_number"),
        ("raw, depends on units", "raw_condition_number"),
        ("of Y^T Y, as in the paper", "paper_condition_number"),
    )
    lines = [f"{'condition number':<36}{'before':>12}{'after':>12}"]
    for title, name in rows:
        pair = _pair(result, name)
        lines.append(f"  {title:<34}{pair['before']:>12.4g}{pair['after']:>12.4g}")
    return lines


def _parameter_lines(result: Excitation) -> list[str]:
    width = max(len("parameter"), *(len(item.name) for item in result.parameters))
    unit = max(len("unit"), *(len(item.unit) for item in result.parameters))
    std = ", ".join(f"{value:.3g}" for value in result.noise.std)
    torque = result.robot.axis_unit("tau")
    lines = [
        f"predicted standard deviations for residuals of {std} {torque}, correlated over "
        f"{1e3 * result.noise.correlation:.3g} ms",
        f"  {'parameter':<{width}}  {'unit':<{unit}}{'value':>12}{'before':>11}{'after':>11}"
        f"{'of value':>10}",
    ]
    for item in result.parameters:
        share = percent(item.relative)
        lines.append(
            f"  {item.name:<{width}}  {item.unit:<{unit}}{item.value:>12.4g}"
            f"{item.before:>11.2g}{item.std:>11.2g}{share:>10}"
        )
    return lines


def percent(share: float | None) -> str:
    """A predicted deviation over its value, for tables."""
    if share is None:
        return "-"
    return f"{100 * share:.2g} %" if share < 10 else "> 1000 %"


def _limit_lines(result: Excitation) -> list[str]:
    share = result.report.share
    allowed = "" if share == 1 else f" ({100 * share:.3g} % of those on pace and load)"
    lines = [f"limits{allowed}: {result.report.summary}"]
    for limit in result.binding:
        axis = f" of axis {limit.axis}" if limit.axis else ""
        lines.append(
            f"  binds: {limit.name}{axis}, {limit.worst:.4g} of {limit.allowed:.4g} {limit.unit}"
        )
    if result.skipped:
        lines.append(f"  not named by the robot, so not kept: {', '.join(result.skipped)}")
    return lines
