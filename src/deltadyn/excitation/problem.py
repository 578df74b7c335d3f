"""The search problem: from Fourier coefficients to a criterion and limits, with exact slopes.

p, pd, pdd are linear in the coefficients. The regressor and the limits at a sample are functions of
p, pd, pdd at that sample alone, so their slopes come from 3 dof complex steps whatever the number
of harmonics, and the chain rule does the rest:

    dJ/dc = sum_samples (dJ/dM : dM/dY : dY/dx) (dx/dc),     x = (p, pd, pdd)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray, contract
from deltadyn.dynamics.regressor import regressor
from deltadyn.excitation.columns import Field, Pose, exact_regressor, pose_of
from deltadyn.excitation.constraints import (
    STEP,
    Row,
    Rules,
    aggregate,
    differenced,
    limit_rows,
    worst,
)
from deltadyn.excitation.criteria import criterion_by_name
from deltadyn.kinematics.state import State
from deltadyn.motion.fourier import FourierSeries, fourier_basis
from deltadyn.robot import Robot

FAR = 25.0  # of a limit's square: five times what is allowed

IntArray = np.ndarray[tuple[int], np.dtype[np.int64]]


class Evaluation(NamedTuple):
    """The objective (to be minimised) and the limits (each <= 1) with their slopes by x."""

    value: float
    gradient: FloatArray  # (v,)
    limits: FloatArray  # (m,)
    jacobian: FloatArray  # (m, v)


@dataclass(frozen=True, eq=False)
class Setting:
    """What the search keeps fixed, apart from the number of periods."""

    robot: Robot
    model: str
    tied: bool
    duration: float  # s
    harmonics: int
    values: FloatArray  # all parameters of the model, for the torque
    chosen: IntArray  # which of them are to be identified
    scale: FloatArray  # reference value of each chosen parameter
    weights: FloatArray  # (dof,), 1/(N m)
    criterion: str
    velocity_weight: float
    rules: Rules
    centre: FloatArray  # (dof,), of the region where the platform may be
    half: FloatArray  # (dof,), its half widths
    still: tuple[int, ...] = ()  # coordinates that do not move


@dataclass(frozen=True, eq=False)
class Problem:
    """One number of periods: variables x (v,) are coefficients over region half widths.

    A coefficient of harmonic k is half * x / k, so that all variables act alike on the speed.
    """

    setting: Setting
    periods: int
    samples: int
    sharpness: float

    @cached_property
    def frequency(self) -> float:
        """Base frequency in Hz."""
        return self.periods / self.setting.duration

    @cached_property
    def free(self) -> BoolArray:
        """Which entries of (dof, 2 H + 1) are variables."""
        mask = np.ones((self.setting.robot.dof, 2 * self.setting.harmonics + 1), dtype=bool)
        mask[list(self.setting.still)] = False
        return mask

    @cached_property
    def order(self) -> FloatArray:
        """Harmonic of each column of the coefficients (2 H + 1,), 1 for the offset."""
        k = np.arange(1.0, self.setting.harmonics + 1)
        return np.concatenate([[1.0], k, k])

    @cached_property
    def basis(self) -> FloatArray:
        """p, pd, pdd (3, N, 2 H + 1) of unit variables, over one period."""
        t = np.arange(self.samples) / (self.samples * self.frequency)
        return fourier_basis(t, self.frequency, self.setting.harmonics) / self.order

    @cached_property
    def bounds(self) -> FloatArray:
        """Widest sensible variables (v,): offsets inside the region, amplitudes twice as wide."""
        wide = np.broadcast_to(2 * self.order, self.free.shape).copy()
        wide[:, 0] = 1.0
        return wide[self.free]

    def series(self, x: FloatArray) -> FourierSeries:
        """The Fourier series of variables x."""
        c = self._full(x) * self.setting.half[:, None] / self.order
        H = self.setting.harmonics
        return FourierSeries(
            self.frequency, self.setting.centre + c[:, 0], c[:, 1 : H + 1], c[:, H + 1 :]
        )

    def variables(self, series: FourierSeries) -> FloatArray:
        """The variables of a series; its frequency is not looked at."""
        offset = (series.offset - self.setting.centre)[:, None]
        c = np.concatenate([offset, series.sine, series.cosine], axis=1)
        x: FloatArray = (c * self.order / self.setting.half[:, None])[self.free]
        return x

    def scaled(self, x: FloatArray, factor: float) -> FloatArray:
        """The same motion `factor` times as wide about its offset."""
        wide = np.full(self.free.shape, factor)
        wide[:, 0] = 1.0
        scaled: FloatArray = x * wide[self.free]
        return scaled

    def motion(self, x: FloatArray) -> FloatArray:
        """p, pd, pdd on top of each other (3 dof, N)."""
        c = self._full(x) * self.setting.half[:, None]
        z = contract("dnm,am->dan", self.basis, c)
        z[0] += self.setting.centre[:, None]
        return z.reshape(-1, self.samples)

    def use(self, x: FloatArray) -> float:
        """The largest g of the limits at variables x: feasible up to 1."""
        with np.errstate(all="ignore"):
            pose = pose_of(self.setting.robot, self.motion(x)[:, None])
            Y = self.regressor(pose)
            return worst(self._rows(pose, Y))

    def broken(self, x: FloatArray) -> tuple[str, ...]:
        """Names of the limits that the motion of x exceeds."""
        pose = pose_of(self.setting.robot, self.motion(x)[:, None])
        rows = self._rows(pose, self.regressor(pose))
        return tuple(dict.fromkeys(row.name for row in rows if not worst([row]) <= 1))

    def objective(self, x: FloatArray) -> float:
        """Criterion less the velocity term [gnad2024] eq. 9; infinite where there is none."""
        with np.errstate(all="ignore"):
            pose = pose_of(self.setting.robot, self.motion(x)[:, None])
            M = self._information(np.real(self.regressor(pose)[self.setting.chosen, :, 0]))
            if not np.isfinite(M).all() or not np.diag(M).all():
                return math.inf
            criterion = criterion_by_name(self.setting.criterion)
            value = criterion(M, self.setting.scale).value - self._speed(pose)[0]
        return value if math.isfinite(value) else math.inf

    def evaluate(self, x: FloatArray) -> Evaluation | None:
        """Objective, limits and slopes; None where the motion is out of reach or far too fast.

        Near singular poses rates grow without bound, and with them the information: a search that
        steps there must be sent back.
        """
        with np.errstate(all="ignore"):
            z = self.motion(x)
            size = len(z)
            steps = np.repeat(z[:, None].astype(complex), size, axis=1)
            steps[np.arange(size), np.arange(size)] += 1j * STEP
            pose = pose_of(self.setting.robot, steps)
            field = self.regressor(pose)
            limits, slopes = aggregate(self._rows(pose, field), self.sharpness)
            chosen = field[self.setting.chosen]
            Y = np.ascontiguousarray(np.real(chosen[:, :, 0]))
            M = self._information(Y)
            if not (np.isfinite(M).all() and np.diag(M).all() and limits.max() < FAR):
                return None
            found = criterion_by_name(self.setting.criterion)(M, self.setting.scale)
            weight = (self.setting.weights**2)[:, None]
            by_Y = 2 / self.samples * weight * contract("jk,kdn->jdn", found.gradient, Y)
            slope = contract("jdn,jdmn->mn", by_Y, np.imag(chosen) / STEP)
            speed, speed_slope = self._speed(pose)
            slope -= speed_slope
            out = Evaluation(found.value - speed, self._pull(slope), limits, self._pull(slopes))
        finite = np.isfinite(out.gradient).all() and np.isfinite(out.jacobian).all()
        return out if finite and np.isfinite(out.value) else None

    def regressor(self, pose: Pose) -> Field:
        """All columns of the model (n, dof, D, N), with friction."""
        s = self.setting
        if s.model == "exact":
            return exact_regressor(s.robot, pose, tied=s.tied)
        return differenced(lambda x: _columns_at(s.robot, s.model, s.tied, x), pose)

    def _rows(self, pose: Pose, Y: Field) -> list[Row]:
        tau = np.tensordot(self.setting.values, Y, axes=1)
        return limit_rows(self.setting.robot, pose, tau, self.setting.rules)

    def _information(self, Y: FloatArray) -> FloatArray:
        flat = (Y * self.setting.weights[:, None]).reshape(len(Y), -1)
        return flat @ flat.T / self.samples

    def _speed(self, pose: Pose) -> tuple[float, FloatArray]:
        """w ||qd|| of [gnad2024] eq. 9 as a root mean square of rate shares, and its slope."""
        rate, w = self.setting.robot.limits.rate, self.setting.velocity_weight
        if rate is None or w == 0:
            return 0.0, np.zeros(1)
        share = pose.qd / np.asarray(rate)[:, None, None]
        now = np.real(share[:, :1])  # (dof, 1, N)
        size = float(np.sqrt((now**2).mean())) or 1.0
        slope = (now * np.imag(share) / STEP).sum(axis=0) / (size * now.size)
        return w * size, w * slope

    def _full(self, x: FloatArray) -> FloatArray:
        full = np.zeros(self.free.shape)
        full[self.free] = x
        return full

    def _pull(self, slope: FloatArray) -> FloatArray:
        """Slopes by samples (..., 3 dof, N) as slopes by the variables (..., v)."""
        dof = self.setting.robot.dof
        parts = slope.reshape(*slope.shape[:-2], 3, dof, self.samples)
        by_c = np.einsum("...dan,dnm->...am", parts, self.basis) * self.setting.half[:, None]
        pulled: FloatArray = by_c[..., self.free]
        return pulled


def smoothed(robot: Robot) -> Robot:
    """The robot with sharp Coulomb friction rounded off, so that reversals have a slope."""
    if robot.friction.smoothing is not None:
        return robot
    limits = robot.limits
    if limits.rate is not None:
        rate = float(np.mean(limits.rate[:3]))
    elif limits.platform_speed is not None:
        rate = limits.platform_speed / float(np.mean(robot.geometry.arm_length))
    else:
        rate = 5.0  # rad/s: a fast Delta robot
    return robot.with_friction(smoothing=rate / 60)


def _columns_at(robot: Robot, model: str, tied: bool, x: FloatArray) -> FloatArray:
    """Y (n, dof, M) at states x (3 dof, M); NaN where there is no such state."""
    p, pd, pdd = np.split(x, 3)
    state = State.from_platform(robot, p.T, pd.T, pdd.T, unreachable="nan")
    return regressor(robot, state, model, tied=tied).Y.transpose(2, 1, 0)
