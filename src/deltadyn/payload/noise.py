"""What the torque residual of an empty robot looks like: how large, how long it resembles itself.

Per axis, on the grid of the front end: r_k = a1 r_(k-1) + a2 r_(k-2) + e_k with independent e_k of
a given deviation. Around a reversal friction is uncertain and the deviation grows; an axis that
does not move says nothing, because static friction may carry any load.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.payload.events import WINDOWS
from deltadyn.payload.front_end import NARROW, STAGES, Grid, delay_of, recorded_grid
from deltadyn.payload.tare import LoadTare
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot
from deltadyn.simulation.plant.machine import REFERENCE_ACCELERATION, axis_inertia

ORDER = 2  # of the autoregression: low-passed noise with a slow part
LEVEL = 0.02  # of the reference torque: RMS residual where none was measured
CORRELATION = 5e-3  # s, of the same before the filter
FRICTION_SHARE = 0.25  # of Coulomb friction: its uncertainty around a reversal
REVERSAL = 0.4  # rad/s: where that uncertainty has fallen to a quarter
REST = 0.03  # rad/s: a slower axis says nothing
GAIN = 0.02  # of the mass: elastic gears, load friction, torque constants
ZERO = 0.005  # kg: of the platform's mass, where no fit says so
TARE_ERROR = 0.5  # of the tare: how much of it may be other on other motions
SPANS = (0.1, 0.2, 0.4)  # s, over which the deviation of the mass is compared with its formula
LEAST_DISPERSION = 0.5  # a quiet recording does not promise that all will be so quiet
FEWEST = 200  # residuals of a recording that can tell


class Weighed(NamedTuple):
    """What one residual says of the mass: S += s, information += i (1/kg, 1/kg^2)."""

    s: float
    i: float


@dataclass(frozen=True)
class NoiseModel:
    """Noise of a robot's residual on a grid; tuples have one entry per axis.

    `coefficients` (a1, a2) and `deviation` (N m) belong to the autoregression, `friction` (N m) is
    added around a reversal. `dispersion` multiplies all deviations: how much more the mass varied
    in the recording than the autoregression explains; `tails` how much larger its extremes are than
    those of a normal distribution, for the detection of changes. `gain` (share of the mass) and
    `zero` (kg) are errors of the model that no averaging takes away. `radian` is what stands for a
    rad on the limbs' axes: 1, or on rails `Robot.radian` in m. `tare` (kg) is the mass that
    the recording showed beyond what was carried; it is taken off. `level` (N m) is the residual's
    RMS. `bank` is what the recording tells the estimator "bank"; all else belongs to
    "least-squares".
    """

    grid: Grid
    coefficients: tuple[tuple[float, float], ...]
    deviation: tuple[float, ...]
    friction: tuple[float, ...]
    level: tuple[float, ...]
    dispersion: float = 1.0
    tails: float = 1.0
    gain: float = GAIN
    zero: float = ZERO
    tare: float = 0.0
    source: str = "assumed"
    bank: LoadTare | None = None
    radian: float = 1.0

    @classmethod
    def assumed(
        cls,
        robot: Robot,
        *,
        rate: float = 2000.0,
        form: str = "acceleration",
        level: float = LEVEL,
        correlation: float = CORRELATION,
    ) -> NoiseModel:
        """Noise of `level` (share of the torque for 100 rad/s^2) and `correlation` time in s."""
        for name, value in (("level", level), ("correlation", correlation)):
            if not value > 0:
                raise InputError(name, value, "above 0")
        grid = Grid.of(rate, form)
        torque = reference_torque(robot)
        rho = filtered_autocovariance(grid, correlation)
        a = np.linalg.solve([[rho[0], rho[1]], [rho[1], rho[0]]], rho[1:])
        share = math.sqrt(max(1 - float(a @ rho[1:]) / rho[0], 1e-9))
        rms = level * torque
        return cls(
            grid=grid,
            coefficients=((float(a[0]), float(a[1])),) * robot.dof,
            deviation=tuple((share * rms).tolist()),
            friction=_friction(robot, rms),
            level=tuple(rms.tolist()),
            radian=robot.radian[0],
            source=f"assumed: {100 * level:g} % of the reference torque, {1e3 * correlation:g} ms",
        )

    @classmethod
    def of(
        cls,
        model: Any,
        recording: Recording,
        *,
        payload: float | None = None,
        rate: float | None = None,
        form: str = "acceleration",
        estimator: str = "bank",
    ) -> NoiseModel:
        """The noise of a recording without payload, or with a known one (kg).

        `model` is the identified robot, or the fit, whose covariance then gives `zero`. Take an
        empty run of the robot's daily work, or else the recording of the fit. With
        `estimator="least-squares"` the part for the bank is left out.
        """
        robot = getattr(model, "robot", model)
        known = recording.payload if payload is None else payload
        found = recorded_grid(robot, recording, rate=rate, form=form)
        r = found.r - (0.0 if known is None else float(known)) * found.c
        if len(r) < FEWEST:
            allowed = f"at least {FEWEST}, {FEWEST * found.grid.interval:.2g} s after the start"
            raise InputError("residuals of the recording", len(r), allowed)
        zero = _zero(model)
        level = np.sqrt(np.mean(r**2, axis=0))
        if not level.min() > 0:
            raise InputError("residual", 0.0, "above 0 N m: this is the model's own torque")
        first = cls(
            grid=found.grid,
            coefficients=((0.0, 0.0),) * robot.dof,
            deviation=tuple(level.tolist()),
            friction=_friction(robot, level),
            level=tuple(level.tolist()),
            radian=robot.radian[0],
            zero=zero,
            source=f"{recording.name}, {len(r)} residuals",
        )
        fitted = _autoregression(first, r, found.qd, found.starts)
        s, i = fitted.weigh_all(r, found.c, found.qd, found.starts)
        tare = float(s.sum() / i.sum())
        tared = replace(fitted, tare=tare, zero=math.hypot(zero, TARE_ERROR * tare))
        whole = tared._compared(r, found.c, found.qd, found.starts)
        if form != "acceleration" or estimator == "least-squares":
            return whole
        empty = recording if payload is None else recording.replace(payload=payload)
        delay = None if getattr(model, "terms", None) is None else delay_of(model)
        own = LoadTare.of(robot, empty, found.grid.rate, zero=zero, delay=delay)
        return replace(whole, bank=own)

    def _compared(
        self, r: FloatArray, c: FloatArray, qd: FloatArray, starts: Sequence[int]
    ) -> NoiseModel:
        """With the factors by which windows' masses vary more than the formula says."""
        s, i = self.weigh_all(r, c, qd, starts)
        worst = LEAST_DISPERSION
        for span in SPANS:
            z = window_scores(s, i, round(span / self.grid.interval))
            if len(z):
                worst = max(worst, float(np.sqrt(np.mean(z**2))))
        largest = max(float(np.abs(window_scores(s, i, w)).max(initial=0.0)) for w in WINDOWS)
        usual = -NormalDist().inv_cdf(0.5 / (len(s) * len(WINDOWS)))
        return replace(self, dispersion=worst, tails=max(1.0, largest / worst / usual))

    @property
    def summary(self) -> str:
        """One line: level, deviation of the innovations, dispersion."""
        rms = ", ".join(f"{x:.3g}" for x in self.level)
        return (
            f"residual {rms} N m RMS per axis, dispersion {self.dispersion:.2f}, tails "
            f"{self.tails:.2f}, gain {100 * self.gain:g} %, zero {1e3 * self.zero:.1f} g, tare "
            f"{1e3 * self.tare:.1f} g ({self.source})"
        )

    def std(self, information: float, mass: float) -> float:
        """Standard deviation in kg of a mass that rests on this information."""
        if information <= 0:
            return math.inf
        return math.sqrt(1 / information + self.systematic(mass) ** 2)

    def systematic(self, mass: float) -> float:
        """The part of it that more samples do not lower, in kg."""
        return math.hypot(self.gain * mass, self.zero)

    @property
    def rest(self) -> float:
        """Rate in rad/s, or m/s, at and below which an axis says nothing."""
        return REST * self.radian

    @property
    def reversal(self) -> float:
        """Rate at which the uncertainty around a reversal has fallen to a quarter."""
        return REVERSAL * self.radian

    @property
    def variances(self) -> tuple[float, ...]:
        """Of the independent e_k, dispersion included, in (N m)^2."""
        return self._dispersed(self.deviation)

    @property
    def friction_variances(self) -> tuple[float, ...]:
        """What is added to them at a reversal, dispersion included, in (N m)^2."""
        return self._dispersed(self.friction)

    def _dispersed(self, deviations: tuple[float, ...]) -> tuple[float, ...]:
        d2 = self.dispersion**2
        return tuple(d2 * x * x for x in deviations)

    def whitener(self) -> Whitener:
        """Weighs residuals one by one."""
        return Whitener(self)

    def weigh_all(
        self, r: FloatArray, c: FloatArray, qd: FloatArray, starts: Sequence[int] = (0,)
    ) -> tuple[FloatArray, FloatArray]:
        """s and i (M,) of residuals (M, dof), as a `Whitener` gives them one by one."""
        a = np.asarray(self.coefficients)
        told = np.asarray(np.abs(qd) > self.rest)
        variance = np.square(self.deviation) + _reversal(
            np.square(self.friction), qd / self.reversal
        )
        weight = np.where(told, 1 / (variance * self.dispersion**2), 0.0)
        for start in starts:
            weight[start : start + ORDER] = 0.0
        wr, wc = r.copy(), c.copy()
        for k in range(ORDER):
            wr[k + 1 :] -= a[:, k] * r[: -k - 1]
            wc[k + 1 :] -= a[:, k] * c[: -k - 1]
        i: FloatArray = (weight * wc * wc).sum(axis=1)
        return (weight * wc * wr).sum(axis=1) - self.tare * i, i


class Whitener:
    """The last two residuals; `weigh` says what the next one adds."""

    def __init__(self, noise: NoiseModel) -> None:
        spreads = zip(noise.coefficients, noise.variances, noise.friction_variances, strict=True)
        self.axes = tuple((k, a1, a2, v, f) for k, ((a1, a2), v, f) in enumerate(spreads))
        self.over, self.rest, self.tare = 1 / noise.reversal**2, noise.rest, noise.tare
        self.reset()

    def reset(self) -> None:
        """Forget the residuals."""
        self.history: list[tuple[Sequence[float], Sequence[float]]] = []

    def weigh(self, r: Sequence[float], c: Sequence[float], qd: Sequence[float]) -> Weighed | None:
        """What a residual adds to S and to the information; None for the first two."""
        if len(self.history) < ORDER:
            self.history.append((r, c))
            return None
        (r2, c2), (r1, c1) = self.history
        self.history = [(r1, c1), (r, c)]
        s = i = 0.0
        over, rest = self.over, self.rest
        for k, a1, a2, variance, friction in self.axes:
            rate = qd[k]
            if -rest <= rate <= rest:
                continue
            wc = c[k] - a1 * c1[k] - a2 * c2[k]
            fade = 1.0 + over * rate * rate
            share = wc / (variance + friction / (fade * fade))
            s += share * (r[k] - a1 * r1[k] - a2 * r2[k])
            i += share * wc
        return Weighed(s - self.tare * i, i)


def reference_torque(robot: Robot) -> FloatArray:
    """What 100 rad/s^2, or what stands for it on rails, need of every axis (dof,), in N m or N."""
    inertia = axis_inertia(robot) + np.asarray(robot.drives.output_inertia)
    torque: FloatArray = inertia * REFERENCE_ACCELERATION * np.asarray(robot.radian)
    return torque


def window_scores(s: FloatArray, i: FloatArray, width: int) -> FloatArray:
    """S_w / sqrt(I_w) of all windows of so many residuals: standard normal without a payload."""
    S, I = (np.concatenate([[0.0], np.cumsum(x)]) for x in (s, i))
    if len(S) <= width:
        return np.empty(0)
    dS, dI = S[width:] - S[:-width], I[width:] - I[:-width]
    told = dI > 0
    scores: FloatArray = dS[told] / np.sqrt(dI[told])
    return scores


def filtered_autocovariance(grid: Grid, correlation: float) -> FloatArray:
    """Of noise with this correlation time (s) behind the filter: lags 0 to 2 of the grid."""
    rho = math.exp(-1 / (grid.rate * correlation))
    count = 1 << 14
    z = np.exp(-2j * np.pi * np.arange(count) / count)
    a, b = grid.gain, -math.expm1(-2 * math.pi * grid.corner / grid.rate)
    low = (a / (1 - (1 - a) * z)) ** STAGES * (b / (1 - (1 - b) * z)) ** NARROW
    density = np.abs(low) ** 2 / np.abs(1 - rho * z) ** 2
    return np.fft.ifft(density).real[[0, grid.step, 2 * grid.step]]


def _autoregression(
    noise: NoiseModel, r: FloatArray, qd: FloatArray, starts: Sequence[int]
) -> NoiseModel:
    """Least squares over the residuals of moving axes that follow two of the same stretch."""
    inside = np.ones(len(r), bool)
    for start in starts:
        inside[start : start + ORDER] = False
    inside[:ORDER] = False
    rows = np.flatnonzero(inside)
    coefficients, deviation = [], []
    for axis in range(r.shape[1]):
        kept = rows[np.abs(qd[rows, axis]) > noise.rest]
        if len(kept) < FEWEST // 4:
            where = f"axis {axis + 1}"
            raise InputError("residuals in motion", len(kept), f"{FEWEST // 4}", where=where)
        past = np.stack([r[kept - 1, axis], r[kept - 2, axis]], axis=1)
        calm = (
            1 / (1 + (qd[kept, axis] / noise.reversal) ** 2) < 0.5
        )  # reversals have their own term
        a = np.linalg.lstsq(past[calm], r[kept[calm], axis], rcond=None)[0]
        coefficients.append((float(a[0]), float(a[1])))
        deviation.append(float(np.std(r[kept[calm], axis] - past[calm] @ a)))
    return replace(noise, coefficients=tuple(coefficients), deviation=tuple(deviation))


def _reversal(square: FloatArray, rate: FloatArray) -> FloatArray:
    """The variance that friction adds (N m)^2 at these rates, over that of a reversal."""
    fade: FloatArray = 1 + rate**2
    return np.asarray(square) / (fade * fade)


def _friction(robot: Robot, level: FloatArray) -> tuple[float, ...]:
    """A share of Coulomb friction, or half of the residual where the robot names none."""
    coulomb = np.asarray(robot.friction.coulomb)
    return tuple(np.where(coulomb > 0, FRICTION_SHARE * coulomb, level / 2).tolist())


def _zero(model: Any) -> float:
    """The deviation of the platform's mass in a fit, in kg."""
    names, std = getattr(model, "names", ()), getattr(model, "std", None)
    if std is None or "M_P" not in names:
        return ZERO
    return max(float(std[names.index("M_P")]), 1e-4)
