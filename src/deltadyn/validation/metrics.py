"""The numbers of a validation: how far predicted and measured torque differ, per axis.

Over all samples, and over the parts of a recording in which a model is judged by itself: rest, low
and high speed, near limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.errors import InputError
from deltadyn.recording.alignment import autocorrelation, correlation_factor
from deltadyn.robot import Robot

#: The fields of `Metrics` that are numbers per axis, with their units, in the order of the tables.
FIELDS = {
    "fitness": "1",
    "fitness_measured": "1",
    "r_squared": "1",
    "rms": "N m",
    "mean": "N m",
    "std": "N m",
    "maximum": "N m",
}


@dataclass(frozen=True, eq=False)
class Metrics:
    """Per axis (dof,), of the residual e = measured - predicted over `count` samples.

    fitness           1 - rms / (range of the predicted torque)   [kim2022] eq. 41
    fitness_measured  1 - rms / (range of the measured torque)
    r_squared         1 - sum e^2 / sum (measured - its mean)^2
    rms, mean, std    of e in N m, with rms^2 = mean^2 + std^2
    maximum           largest |e| in N m

    A number that does not exist is NaN: all without samples, the first three where the torque that
    they divide by does not change.
    """

    count: npt.NDArray[np.intp]
    fitness: FloatArray
    fitness_measured: FloatArray
    r_squared: FloatArray
    rms: FloatArray
    mean: FloatArray
    std: FloatArray
    maximum: FloatArray

    def as_dict(self) -> dict[str, Any]:
        """All numbers for JSON; what does not exist is None."""
        values: dict[str, Any] = {name: plain(getattr(self, name)) for name in FIELDS}
        return {"count": self.count.tolist(), **values}


def metrics(
    measured: npt.ArrayLike, predicted: npt.ArrayLike, mask: npt.ArrayLike | None = None
) -> Metrics:
    """Metrics of torques (N, dof) in N m; `mask` (N, dof) picks the samples of each axis."""
    tau, model = _torques(measured, "measured"), _torques(predicted, "predicted")
    if model.shape != tau.shape:
        raise InputError("shape of predicted", model.shape, f"{tau.shape}, as measured has")
    chosen = np.ones(tau.shape, dtype=bool) if mask is None else np.asarray(mask)
    if chosen.dtype != np.bool_ or chosen.shape != tau.shape:
        shown = (str(chosen.dtype), chosen.shape)
        raise InputError("mask", shown, f"truth values of shape {tau.shape}, as measured has")
    rows = [_axis(*columns) for columns in zip(tau.T, model.T, chosen.T, strict=True)]
    count = np.array([row[0] for row in rows], dtype=np.intp)
    return Metrics(count, *(np.array([row[k] for row in rows]) for k in range(1, 8)))


def torque_level(measured: FloatArray, moving: BoolArray) -> FloatArray:
    """RMS (dof,) of torques (M, dof) at the rows that move; 0 where none does."""
    count = np.maximum(moving.sum(axis=0), 1)
    out: FloatArray = np.sqrt((np.where(moving, measured, 0.0) ** 2).sum(axis=0) / count)
    return out


def shares_of(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Parts (dof,) over wholes (dof,), as of a torque; NaN where there is nothing to share."""
    out: FloatArray = np.full(len(whole), np.nan)
    np.divide(part, whole, out=out, where=whole > 0)
    return out


def _axis(tau: FloatArray, model: FloatArray, chosen: BoolArray) -> tuple[float, ...]:
    tau, model = tau[chosen], model[chosen]
    if not tau.size:
        return (0, *[np.nan] * 7)
    e = tau - model
    square = float(np.mean(e**2))
    rms, mean = float(np.sqrt(square)), float(np.mean(e))
    return (
        tau.size,
        1 - _share(rms, float(np.ptp(model))),
        1 - _share(rms, float(np.ptp(tau))),
        1 - _share(square, float(np.var(tau))),
        rms,
        mean,
        float(np.std(e)),
        float(np.abs(e).max()),
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else np.nan


def _torques(value: npt.ArrayLike, name: str) -> FloatArray:
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or array.ndim != 2:
        raise InputError(name, (str(array.dtype), array.shape), "real numbers of shape (N, dof)")
    array = array.astype(np.float64, copy=False)
    bad = np.argwhere(~np.isfinite(array))
    if bad.size:
        row, axis = (int(index) for index in bad[0])
        place = f"row {row}, axis {axis}"
        raise InputError(name, float(array[row, axis]), "finite numbers", where=place)
    return array


def plain(values: npt.ArrayLike) -> Any:
    """Numbers for JSON, None in place of what is not finite."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0:
        return float(array) if np.isfinite(array) else None
    return [plain(value) for value in array]


# Whether a residual is white noise, and how long it resembles itself.


LONGEST = 0.5  # s: of the lags
LEVEL = 0.01  # probability below which white noise is ruled out


@dataclass(frozen=True, eq=False)
class Whiteness:
    """How a residual (M, dof) resembles itself later; every array has one column per axis.

    `probability` is that of a spectrum as uneven as this one if the noise were white within the
    compared band (Bartlett's test of the cumulated periodogram): filtering and thinning out do not
    disturb it. `autocorrelation` (L, dof) stands at `lags` (L,) in s. `correlation_time` is the
    time in s that one independent value stands for, `effective` the number of independent values.
    """

    probability: FloatArray
    lags: FloatArray
    autocorrelation: FloatArray
    correlation_time: FloatArray
    effective: FloatArray

    @property
    def white(self) -> BoolArray:
        """(dof,): whether white noise is not ruled out at 1 %."""
        return np.asarray(self.probability >= LEVEL)

    def as_dict(self) -> dict[str, Any]:
        """All but the curves, for JSON."""
        return {
            "probability": plain(self.probability),
            "white": self.white.tolist(),
            "correlation_time_s": plain(self.correlation_time),
            "effective_samples": plain(self.effective),
        }


def whiteness(residuals: Sequence[FloatArray], rate: float, band: float | None) -> Whiteness:
    """Of residuals (M, dof) of several stretches at `rate` Hz, white up to `band` Hz or not."""
    centred = [e - e.mean(axis=0) for e in residuals]
    longest = max(centred, key=len)
    count = max(2, min(len(longest) // 4, int(LONGEST * rate)))
    rho = _autocorrelation(longest, count)
    factor = np.maximum(correlation_factor(rho), 1.0)
    total = sum(len(e) for e in centred)
    return Whiteness(
        _probability(centred, rate, band),
        np.arange(count + 1) / rate,
        rho,
        factor / rate,
        total / factor,
    )


def _autocorrelation(e: FloatArray, count: int) -> FloatArray:
    """rho (count + 1, dof); an axis without any residual counts as white."""
    rho = autocorrelation(e, count)
    empty = ~np.isfinite(rho).all(axis=0)
    rho[:, empty] = 0.0
    rho[0, empty] = 1.0
    return rho


def _probability(residuals: list[FloatArray], rate: float, band: float | None) -> FloatArray:
    """(dof,) by the largest distance of the cumulated periodogram from a straight line."""
    from scipy.special import kolmogorov  # takes longer than the rest of the import

    highest = 0.5 * rate if band is None else min(band, 0.5 * rate)
    frequency, power = [], []
    for e in residuals:
        f = np.fft.rfftfreq(len(e), 1 / rate)
        inside = (
            (f > 0) & (f <= highest) & (f < 0.5 * rate)
        )  # the last ordinate is no square of two
        frequency.append(f[inside])
        power.append(np.abs(np.fft.rfft(e, axis=0)[inside]) ** 2 / len(e))
    order = np.argsort(np.concatenate(frequency), kind="stable")
    ordinates = np.concatenate(power)[order]
    count = len(ordinates)
    if count < 2:
        return np.full(ordinates.shape[1], np.nan)
    total = ordinates.sum(axis=0)
    total[total == 0] = np.nan
    line = np.arange(1, count)[:, None] / count
    distance = np.abs(np.cumsum(ordinates, axis=0)[:-1] / total - line).max(axis=0)
    probability: FloatArray = kolmogorov(np.sqrt(count - 1) * distance)
    return np.where(np.isnan(total), 1.0, probability)


# Segments: parts of a recording.

LOW = 0.2  # of the axis's largest rate: below it is low speed
HIGH = 0.5  # of the axis's largest rate: above it is high speed
NEAR = 0.9  # of a limit
MARGIN = 0.05  # of the range of an angle, of the workspace's radius and height


@dataclass(frozen=True, eq=False)
class Segment:
    """A part of a recording: its samples per axis (N, dof), and the model's metrics on them.

    `rule` says in words which samples belong to it.
    """

    name: str
    rule: str
    mask: BoolArray
    metrics: Metrics

    @property
    def share(self) -> float:
        """Share of all samples that belong to it."""
        return float(self.mask.mean()) if self.mask.size else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Rule, share and metrics, for JSON."""
        return {"rule": self.rule, "share": self.share, **self.metrics.as_dict()}


@dataclass(frozen=True, eq=False)
class Mask:
    """Samples (N, dof) of a segment before any model is compared."""

    name: str
    rule: str
    mask: BoolArray


@dataclass(frozen=True, eq=False)
class Course:
    """What the masks look at: times (N,) and angles, rates, platform and torque, each (N, dof)."""

    t: FloatArray
    q: FloatArray
    qd: FloatArray
    qdd: FloatArray
    p: FloatArray
    pd: FloatArray
    pdd: FloatArray
    tau: FloatArray


def segment_masks(robot: Robot, course: Course, moving: BoolArray) -> tuple[Mask, ...]:
    """Rest, low speed, high speed and near limits; `moving` (N, dof) are the rows that are graded.

    Speeds are relative to the largest rate of each axis in the recording, so that every recording
    has a high speed; the limits are the robot's.
    """
    speed = np.abs(course.qd)
    peak = speed.max(axis=0)
    named, near = _near_limits(robot, course)
    return (
        Mask(
            "rest",
            "the axis rests, or turns back, within the reach of the filter: not graded",
            ~moving,
        ),
        Mask(
            "low speed",
            f"moving, the axis below {100 * LOW:g} % of its largest rate",
            moving & (speed < LOW * peak),
        ),
        Mask(
            "high speed",
            f"the axis above {100 * HIGH:g} % of its largest rate",
            moving & (speed > HIGH * peak),
        ),
        Mask("near limits", named, near),
    )


def segments_of(
    masks: tuple[Mask, ...], measured: FloatArray, predicted: FloatArray
) -> tuple[Segment, ...]:
    """The metrics of torques (N, dof) in each segment."""
    return tuple(
        Segment(item.name, item.rule, item.mask, metrics(measured, predicted, item.mask))
        for item in masks
    )


def pooled_masks(parts: list[tuple[Mask, ...]]) -> tuple[Mask, ...]:
    """The masks of several recordings one after the other."""
    return tuple(
        Mask(same[0].name, same[0].rule, np.concatenate([item.mask for item in same]))
        for same in zip(*parts, strict=True)
    )


def _near_limits(robot: Robot, course: Course) -> tuple[str, BoolArray]:
    """Which limits the robot names, in words, and the samples (N, dof) near one of them."""
    limits = robot.limits
    near = np.zeros(course.q.shape, dtype=bool)
    named = []
    low, high = limits.angle_min, limits.angle_max
    if low is not None and high is not None:
        margin = MARGIN * np.subtract(high, low)
        near |= (course.q < low + margin) | (course.q > high - margin)
        named.append(f"angle within {100 * MARGIN:g} % of its range")
    for word, values, bound in (
        ("rate", course.qd, limits.rate),
        ("acceleration", course.qdd, limits.acceleration),
        ("torque", course.tau, limits.torque_peak),
    ):
        if bound is not None:
            near |= np.abs(values) > NEAR * np.asarray(bound)
            named.append(word)
    whole = np.zeros(len(near), dtype=bool)
    for word, values, most in (
        ("platform speed", course.pd, limits.platform_speed),
        ("platform acceleration", course.pdd, limits.platform_acceleration),
    ):
        if most is not None:
            whole |= np.linalg.norm(robot.in_space(values), axis=1) > NEAR * most
            named.append(word)
    cylinder = limits.workspace
    if cylinder is not None:
        height = MARGIN * (cylinder.z_max - cylinder.z_min)
        x, y, z = robot.in_space(course.p).T
        radius = np.hypot(x, y)
        whole |= (z < cylinder.z_min + height) | (z > cylinder.z_max - height)
        whole |= radius > (1 - MARGIN) * cylinder.radius
        named.append("workspace")
    if not named:
        return "the robot names no limits", near
    return f"beyond {100 * NEAR:g} % of a limit ({', '.join(named)})", near | whole[:, None]
