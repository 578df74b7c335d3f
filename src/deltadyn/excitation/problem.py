"""The search problem: from Fourier coefficients to a criterion and limits, with exact slopes.

p, pd, pdd are linear in the coefficients. The regressor and the limits at a sample are functions of
p, pd, pdd at that sample alone, so their slopes come from 3 dof complex steps whatever the number
of harmonics, and the chain rule does the rest:

    dJ/dc = sum_samples (dJ/dM : dM/dY : dY/dx) (dx/dc),     x = (p, pd, pdd)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray, contract, namespace
from deltadyn.dynamics.regressor import regressor
from deltadyn.excitation.columns import Field, Pose, exact_regressor, joint_angles, pose_of
from deltadyn.excitation.criteria import IntArray, criterion_by_name
from deltadyn.kinematics.actuation import levers
from deltadyn.kinematics.state import State
from deltadyn.kinematics.workspace import assembly_sign
from deltadyn.motion.fourier import FourierSeries, fourier_basis
from deltadyn.motion.limits import rod_force
from deltadyn.robot import Robot

# The limits of a robot as smooth rows g <= 1 along a motion, real or complex.
#
# The limits and their meaning are those of `motion.check_motion`; only the form differs, because a
# search needs slopes. Ranges and peaks are squared shares, so that both signs are one row; margins
# are 1 + bound - value. A row over N samples becomes one number by the aggregate of Kreisselmeier
# and Steinhauser,
#
#     KS(g) = max g + log(sum exp(rho (g - max g))) / rho,  max g <= KS(g) <= max g + log(N) / rho


STEP = 1e-30  # of the complex step: no difference is taken, so nothing cancels


class Row(NamedTuple):
    """Rows (k, D, N) of one limit: g <= 1 at every sample, or on average over the samples."""

    name: str
    g: Field
    mean: bool = False


@dataclass(frozen=True)
class Rules:
    """How much of the limits may be used: see `design_excitation`."""

    share: float
    singularity_margin: float  # rad
    struts: bool = True  # whether the force in the struts is looked at


def limit_rows(robot: Robot, pose: Pose, tau: Field, rules: Rules) -> list[Row]:
    """Every limit that the robot names, for poses and torques tau (dof, D, N)."""
    rows = [*_pose_rows(robot, pose, rules), *_pace_rows(robot, pose, tau, rules)]
    if rules.struts and robot.limits.strut_force is not None:
        force = strut_forces(robot, pose) / (rules.share * robot.limits.strut_force)
        rows.append(Row("strut_force", force**2))
    return rows


def _pose_rows(robot: Robot, pose: Pose, rules: Rules) -> list[Row]:
    """Limits that the pose alone decides."""
    limits, geometry, p = robot.limits, robot.geometry, pose.p
    l1, l2 = _column(levers(robot)), _column(geometry.strut_length)
    least = math.sin(rules.singularity_margin)
    xp = namespace(p)
    flat = assembly_sign(robot) * pose.determinant / (pose.breadth * l2)
    towards = -1.0 if robot.linear else 1.0  # the sign of d with arms out, or carriages above
    rows = [
        # also keeps the loop closed
        Row("singularity_margin", 1 + least - towards * pose.d / (l1 * l2)),
        Row("singularity_margin", 1 + least - flat),
    ]
    cylinder = limits.workspace
    if cylinder is not None:
        away = p[0] ** 2 if robot.planar else p[0] ** 2 + p[1] ** 2
        rows.append(Row("workspace_radius", (away / cylinder.radius**2)[None]))
        z = robot.coordinates.index("z")
        rows += _range_rows("workspace_z", p[z : z + 1], (cylinder.z_min,), (cylinder.z_max,))
    rows += _range_rows("angle", joint_angles(robot, pose), limits.angle_min, limits.angle_max)
    ball = limits.ball_joint_angle
    if ball is not None and ball < math.pi / 2:
        rows.append(Row("ball_joint_angle", (pose.sideways / (l2 * math.sin(ball))) ** 2))
    spindle = robot.spindle
    if spindle is not None and spindle.stroke is not None:
        l = xp.sqrt(p[0] ** 2 + p[1] ** 2 + (p[2] - spindle.pivot_z) ** 2)[None]
        rows += _range_rows("spindle_stroke", l, spindle.stroke[:1], spindle.stroke[1:])
    return rows


def _pace_rows(robot: Robot, pose: Pose, tau: Field, rules: Rules) -> list[Row]:
    """Limits on rates, accelerations and torques, of which `share` may be used."""
    limits, share = robot.limits, rules.share
    speed2, push2 = ((x[:3] ** 2).sum(axis=0)[None] for x in (pose.pd, pose.pdd))  # without psi
    rows = []
    for name, value, limit in (
        ("rate", pose.qd, limits.rate),
        ("acceleration", pose.qdd, limits.acceleration),
        ("torque_peak", tau, limits.torque_peak),
    ):
        if limit is not None:
            rows.append(Row(name, (value / (share * _column(limit))) ** 2))
    for name, square, most in (
        ("platform_speed", speed2, limits.platform_speed),
        ("platform_acceleration", push2, limits.platform_acceleration),
    ):
        if most is not None:
            rows.append(Row(name, square / (share * most) ** 2))
    if limits.torque_rms is not None:
        rows.append(Row("torque_rms", (tau / (share * _column(limits.torque_rms))) ** 2, mean=True))
    return rows


def strut_forces(robot: Robot, pose: Pose) -> Field:
    """Largest axial force of one rod per arm (legs, D, N) in N, as in `motion.check_motion`.

    The loads are taken at real states, so a complex step is made from differences.
    """
    return differenced(lambda x: _rod_forces(robot, x).T, pose)


def differenced(function: Callable[[FloatArray], FloatArray], pose: Pose) -> Field:
    """A function of states (3 dof, M) -> (..., M) as a field (..., D, N), like those of complex
    arithmetic.

    The complex step is made from central differences in all directions. They are exact in pdd, in
    which loads and regressors are linear, and in pd where these are quadratic; in p they are exact
    up to (1e-6)^2.
    """
    x = np.real(np.concatenate([pose.p, pose.pd, pose.pdd]))[:, 0]  # (3 dof, N)
    if not np.iscomplexobj(pose.p):
        return function(x)[..., None, :]
    size, samples = x.shape
    step = np.repeat([1e-6, 1e-5, 1e-4], size // 3)
    moved = x[:, None, None] + np.multiply.outer(np.diag(step), [1.0, -1.0])[..., None]
    values = function(np.concatenate([x, moved.reshape(size, -1)], axis=1))
    ends = values[..., samples:].reshape(*values.shape[:-1], size, 2, samples)
    slope = (ends[..., 0, :] - ends[..., 1, :]) / (2 * step[:, None])
    out: Field = values[..., None, :samples] + 1j * STEP * slope
    return out


def _rod_forces(robot: Robot, x: FloatArray) -> FloatArray:
    """Axial forces (M, legs) in N at states x (3 dof, M); infinite where there is no such state."""
    p, pd, pdd = np.split(x, 3)
    state = State.from_platform(robot, p.T, pd.T, pdd.T, unreachable="nan")
    with np.errstate(invalid="ignore", divide="ignore"):
        force = rod_force(robot, state, np.zeros((x.shape[1], robot.dof)))
    return np.where(np.isfinite(force), force, np.inf)


def aggregate(rows: list[Row], sharpness: float) -> tuple[FloatArray, Field]:
    """One number per row and its share of every sample: values (m,), slopes (m, D, N).

    The slopes are d value / d x_D at each sample, from complex rows.
    """
    values: list[FloatArray] = []
    slopes: list[Field] = []
    for row in rows:
        g = np.real(row.g[:, 0])  # (k, N)
        if row.mean:
            values.append(g.mean(axis=1))
            weight = np.full_like(g, 1 / g.shape[1])
        else:
            top = g.max(axis=1, keepdims=True)
            weight = np.exp(sharpness * (g - top))
            total = weight.sum(axis=1, keepdims=True)
            values.append((top + np.log(total) / sharpness)[:, 0])
            weight = weight / total
        slopes.append(weight[:, None] * np.imag(row.g) / STEP)
    return np.concatenate(values), np.concatenate(slopes)


def worst(xp: Any, rows: list[Row]) -> Any:
    """The largest g (D,) of all rows, real ones; infinite where one does not exist."""
    peaks = [(row.g.mean(axis=-1) if row.mean else row.g.max(axis=-1)).max(axis=0) for row in rows]
    most = xp.stack(peaks).max(axis=0)
    return xp.where(xp.isfinite(most), most, xp.inf)


def _range_rows(
    name: str, value: Field, low: tuple[float, ...] | None, high: tuple[float, ...] | None
) -> list[Row]:
    """Rows of a quantity (k, D, N) between bounds, of which either may be missing."""
    if low is not None and high is not None:
        a, b = _column(low), _column(high)
        return [Row(name, ((2 * value - (a + b)) / (b - a)) ** 2)]
    if high is not None:
        return [Row(name, 1 + value - _column(high))]
    if low is not None:
        return [Row(name, 1 + _column(low) - value)]
    return []


def _column(values: tuple[float, ...]) -> FloatArray:
    """(k, 1, 1), to go with rows (k, D, N)."""
    return np.asarray(values, dtype=np.float64)[:, None, None]


# The search problem. Its slopes come from complex steps,
#
#     dY/dx_i = Im Y(x + i h e_i) / h,   h = 1e-30
#
# No difference is taken, so nothing cancels however small h is. The directions e_i are the 3 dof
# entries of x = (p, pd, pdd) at a sample. They are the axis D of every field (..., D, N); in each
# of them the real part is the value itself.


FAR = 25.0  # of a limit's square: five times what is allowed


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
            return float(worst(np, self._rows(pose, Y))[0])

    def broken(self, x: FloatArray) -> tuple[str, ...]:
        """Names of the limits that the motion of x exceeds."""
        pose = pose_of(self.setting.robot, self.motion(x)[:, None])
        rows = self._rows(pose, self.regressor(pose))
        return tuple(dict.fromkeys(row.name for row in rows if not worst(np, [row])[0] <= 1))

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
        rate = float(np.mean(limits.rate[: robot.legs]))
    elif limits.platform_speed is not None:
        rate = limits.platform_speed / robot.geometry.size * robot.radian[0]
    else:
        rate = 5.0 * robot.radian[0]  # 5 rad/s: a fast Delta robot
    return robot.with_friction(smoothing=rate / 60)


def _columns_at(robot: Robot, model: str, tied: bool, x: FloatArray) -> FloatArray:
    """Y (n, dof, M) at states x (3 dof, M); NaN where there is no such state."""
    p, pd, pdd = np.split(x, 3)
    state = State.from_platform(robot, p.T, pd.T, pdd.T, unreachable="nan")
    return regressor(robot, state, model, tied=tied).Y.transpose(2, 1, 0)
