"""The limits of a robot as smooth rows g <= 1 along a motion, real or complex.

The limits and their meaning are those of `motion.check_motion`; only the form differs, because a
search needs slopes. Ranges and peaks are squared shares, so that both signs are one row; margins
are 1 + bound - value. A row over N samples becomes one number by the aggregate of Kreisselmeier
and Steinhauser,

    KS(g) = max g + log(sum exp(rho (g - max g))) / rho,     max g <= KS(g) <= max g + log(N) / rho
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, namespace
from deltadyn.excitation.columns import Field, Pose
from deltadyn.kinematics.state import State
from deltadyn.kinematics.workspace_rules import assembly_sign
from deltadyn.motion.limits import rod_force
from deltadyn.robot import Robot

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
    l1, l2 = _column(geometry.arm_length), _column(geometry.strut_length)
    least = math.sin(rules.singularity_margin)
    xp = namespace(p)
    length = xp.sqrt(pose.normal[0] ** 2 + pose.normal[1] ** 2 + pose.normal[2] ** 2)
    flat = assembly_sign(robot) * pose.determinant / (length * l2)
    rows = [
        Row("singularity_margin", 1 + least - pose.d / (l1 * l2)),  # also keeps the loop closed
        Row("singularity_margin", 1 + least - flat),
    ]
    cylinder = limits.workspace
    if cylinder is not None:
        rows.append(Row("workspace_radius", ((p[0] ** 2 + p[1] ** 2) / cylinder.radius**2)[None]))
        rows += _range_rows("workspace_z", p[2:3], (cylinder.z_min,), (cylinder.z_max,))
    rows += _range_rows("angle", joint_angles(pose), limits.angle_min, limits.angle_max)
    ball = limits.ball_joint_angle
    if ball is not None and ball < math.pi / 2:
        rows.append(Row("ball_joint_angle", (pose.local[1] / (l2 * math.sin(ball))) ** 2))
    spindle = robot.spindle
    if spindle is not None and spindle.stroke is not None:
        l = xp.sqrt(p[0] ** 2 + p[1] ** 2 + (p[2] - spindle.pivot_z) ** 2)[None]
        rows += _range_rows("spindle_stroke", l, spindle.stroke[:1], spindle.stroke[1:])
    return rows


def _pace_rows(robot: Robot, pose: Pose, tau: Field, rules: Rules) -> list[Row]:
    """Limits on rates, accelerations and torques, of which `share` may be used."""
    limits, share = robot.limits, rules.share
    speed2 = (pose.pd[:3] ** 2).sum(axis=0)[None]
    push2 = (pose.pdd[:3] ** 2).sum(axis=0)[None]
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


def joint_angles(pose: Pose) -> Field:
    """q (dof, D, N) in rad; arctan2 with its complex step, d theta = c ds - s dc."""
    c, s, xp = pose.cos_q, pose.sin_q, namespace(pose.cos_q)
    theta = xp.arctan2(xp.real(s), xp.real(c))
    if xp.iscomplexobj(c):
        size = np.real(c) ** 2 + np.real(s) ** 2
        turn = (np.real(c) * np.imag(s) - np.real(s) * np.imag(c)) / size
        theta = theta + 1j * turn
    q: Field = xp.concatenate([theta, pose.p[3:]])
    return q


def strut_forces(robot: Robot, pose: Pose) -> Field:
    """Largest axial force of one rod per arm (3, D, N) in N, as in `motion.check_motion`.

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
    """Axial forces (M, 3) in N at states x (3 dof, M); infinite where there is no such state."""
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


def worst(rows: list[Row]) -> float:
    """The largest g of all rows; infinite where one does not exist."""
    peaks = [np.real(row.g).mean(axis=-1) if row.mean else np.real(row.g) for row in rows]
    most = max(float(peak.max()) for peak in peaks)
    return most if math.isfinite(most) else math.inf


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
