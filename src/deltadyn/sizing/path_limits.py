"""The limits of a robot along a path, as rows in sdd and sd^2.

With u = sdd and x = sd^2 along p(s) everything but friction is linear in u and x:

    qd^2 = q'^2 x,   qdd = q' u + q'' x,   pdd = p' u + p'' x,   tau = a u + b x + c + friction

A limit on a rate or on the platform's speed caps x. Torques, joint accelerations and axial forces
of the rods (at both ends of each) are rows |alpha u + beta x + gamma| <= 1, in shares of their
limits. The platform's acceleration is a second-order cone |p' u + p'' x| <= 1. Friction depends on
x and, through the gear, on u; it is put in as its tangent at the last solution, and the solution
repeated until it does not change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.friction import friction_torque, reported
from deltadyn.dynamics.inverse import external_wrench, inverse_dynamics
from deltadyn.dynamics.loads import pair_loads
from deltadyn.errors import InputError
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.sizing.stretches import Stretch

PACE_LIMITS = ("torque_peak", "acceleration", "platform_acceleration", "strut_force")
STEP = 1e-6  # relative, of x: for the slope of the friction
LEAST = 1e-12  # of the largest cap of x: friction takes the sign of the motion also where it starts


class Row(NamedTuple):
    """The limit and the axis or arm that a row stands for."""

    name: str
    axis: str


class Linear(NamedTuple):
    """alpha u + beta x + gamma, each (n, k)."""

    alpha: FloatArray
    beta: FloatArray
    gamma: FloatArray


class _Probes(NamedTuple):
    """The states at (u, x) = (0, 0), (1, 0) and (0, 1); see `path_limits`."""

    rest: State
    pushed: State
    passing: State

    def linear(self, f: Callable[[State], FloatArray]) -> Linear:
        """The coefficients of what is linear in u and x."""
        rest, pushed, passing = (f(state) for state in self)
        return Linear(pushed - rest, passing - rest, rest)


@dataclass(frozen=True, eq=False)
class PathLimits:
    """Rows at the nodes of a stretch: |alpha u + beta x + gamma| <= 1, |cone_u u + cone_x x| <= 1.

    `cap` (n,) is the largest x that rates and the platform's speed allow. Where there is a
    `torque_limit`, the first rows are the torques without friction.
    """

    rows: tuple[Row, ...]
    linear: Linear
    cap: FloatArray
    caps: tuple[Row, ...]  # per column of `cap_each`
    cap_each: FloatArray  # (n, j)
    cone_u: FloatArray | None  # (n, 3)
    cone_x: FloatArray | None
    torque_limit: FloatArray | None  # (dof,)
    torque: Linear  # N m, (n, dof), without friction


def path_limits(robot: Robot, stretch: Stretch, share: float) -> PathLimits:
    """The rows of `share` of the robot's limits along a stretch."""
    limits, axes = robot.limits, robot.axis_names()
    if all(getattr(limits, name) is None for name in PACE_LIMITS):
        allowed = f"a robot that names one of {', '.join(PACE_LIMITS)}"
        raise InputError("limits", f"those of robot {robot.name!r}", allowed)
    p, dp, ddp = stretch.p, stretch.dp, stretch.ddp
    # Three probes. By the chain rule pd = p' sd and pdd = p' sdd + p'' sd^2. Rates enter the model
    # without friction as products of two only, so that a torque or a force f of the motion is
    #
    #     f(p, p' sd, p' u + p'' x) = alpha u + beta x + gamma,    x = sd^2
    #
    # and three evaluations of the model itself give its coefficients at every node:
    #
    #     (u, x) = (0, 0): f(p, 0, 0)      = gamma           the robot rests
    #     (u, x) = (1, 0): f(p, 0, p')     = alpha + gamma   it is pushed from rest
    #     (u, x) = (0, 1): f(p, p', p'')   = beta + gamma    it passes with sd = 1
    #
    # No formula for alpha and beta is written twice, and the model may change without it. The
    # joints of the last probe are q' and q'' themselves: qd = q' sd, qdd = q' u + q'' x.
    rest = State.from_platform(robot, p)
    pushed = State.from_platform(robot, p, None, dp)
    passing = State.from_platform(robot, p, dp, ddp)
    probes = _Probes(rest, pushed, passing)
    torque = probes.linear(lambda state: inverse_dynamics(robot, state, friction=False))
    rows: list[Row] = []
    blocks: list[Linear] = []
    torque_limit = None
    if limits.torque_peak is not None:
        torque_limit = share * np.asarray(limits.torque_peak)
        rows += [Row("torque_peak", axis) for axis in axes]
        blocks.append(_shares(torque, torque_limit))
    if limits.acceleration is not None:
        joint = Linear(passing.qd, passing.qdd, np.zeros_like(passing.qd))
        rows += [Row("acceleration", axis) for axis in axes]
        blocks.append(_shares(joint, share * np.asarray(limits.acceleration)))
    if limits.strut_force is not None:
        forces = probes.linear(lambda state: _rod_forces(robot, state))
        rows += [Row("strut_force", str(1 + k % 3)) for k in range(forces.alpha.shape[1])]
        blocks.append(_shares(forces, share * np.full(forces.alpha.shape[1], limits.strut_force)))
    caps, cap_each = _caps(robot, passing.qd, dp, share)
    cone_u = cone_x = None
    if limits.platform_acceleration is not None:
        most = share * limits.platform_acceleration
        cone_u, cone_x = dp[:, :3] / most, ddp[:, :3] / most
    width = np.zeros((len(p), 0))
    parts = (
        np.concatenate([getattr(block, name) for block in blocks] or [width], axis=1)
        for name in Linear._fields
    )
    cap = cap_each.min(axis=1, initial=(1e3 * stretch.length) ** 2)  # a way in 1 ms is no limit
    return PathLimits(
        tuple(rows), Linear(*parts), cap, caps, cap_each, cone_u, cone_x, torque_limit, torque
    )


def with_friction(
    robot: Robot, stretch: Stretch, limits: PathLimits, x: FloatArray, u: FloatArray | None
) -> tuple[Linear, bool]:
    """Rows at both ends of all intervals (n - 1, 2, k) with the tangent of friction at x and u.

    Without u, the values for a motion that just begins. The second value tells whether there is
    friction that x or u would change.
    """
    # friction(x, u) ~ value + slope_x (x - x0) + slope_u (u - u0) about the last solution: the
    # slopes, central differences, go to beta and alpha, the constants to gamma
    ends = [at_ends(part) for part in limits.linear]
    count, dof = len(x) - 1, robot.dof
    if limits.torque_limit is None:
        return Linear(*ends), False
    least = LEAST * limits.cap.max()
    at_x = np.maximum(x, least)
    pair_x = at_ends(at_x)
    pair_u = np.zeros_like(pair_x) if u is None else np.repeat(u[:, None], 2, axis=1)

    def friction(at_x: FloatArray, at_u: FloatArray) -> FloatArray:
        return _friction(robot, stretch, limits.torque, at_x, at_u).reshape(count, 2, dof)

    value = friction(pair_x, pair_u)
    slope_x, slope_u = np.zeros_like(value), np.zeros_like(value)
    if u is not None:
        step = STEP * pair_x
        ahead, behind = friction(pair_x + step, pair_u), friction(pair_x - step, pair_u)
        slope_x = (ahead - behind) / (2 * step)[..., None]
        if robot.friction.load is not None or robot.friction.motor_load is not None:
            du = STEP * max(float(np.abs(u).max()), 1.0)
            ahead, behind = friction(pair_x, pair_u + du), friction(pair_x, pair_u - du)
            slope_u = (ahead - behind) / (2 * du)
    constant = value - slope_x * pair_x[..., None] - slope_u * pair_u[..., None]
    for part, added in zip(ends, (slope_u, slope_x, constant), strict=True):
        part[..., :dof] += added / limits.torque_limit
    return Linear(*ends), bool(value.any())


def _friction(
    robot: Robot, stretch: Stretch, torque: Linear, x: FloatArray, u: FloatArray
) -> FloatArray:
    """Friction (2 (n - 1), dof) at the drives, in N m, at both ends of all intervals."""
    p, dp, ddp, a, b, c = (
        at_ends(part).reshape(-1, robot.dof)
        for part in (stretch.p, stretch.dp, stretch.ddp, *torque)
    )
    flat_x, flat_u = x.reshape(-1, 1), u.reshape(-1, 1)
    state = State.from_platform(robot, p, dp * np.sqrt(flat_x), ddp * flat_x + dp * flat_u)
    needed = (a * flat_u + b * flat_x + c) / np.asarray(robot.sensors.torque_ratio)
    return reported(robot, friction_torque(robot, state, needed))


def _rod_forces(robot: Robot, state: State) -> FloatArray:
    """Axial forces (N, 12) of the rods at their elbow and platform ends, without friction."""
    bare = robot.with_friction(passive=())
    with np.errstate(divide="ignore", invalid="ignore"):  # of the extremes inside a rod at rest
        pairs = pair_loads(bare, state, external_wrench(bare, None, len(state)))
    split = np.array([1 / strut.rods for strut in robot.struts])
    spacing = robot.geometry.rod_spacing
    more = pairs.couple / spacing if spacing is not None else np.zeros_like(pairs.couple)
    more = np.where(split < 1, more, 0.0)
    ends = (split * pairs.axial_elbow, split * pairs.axial_platform)
    return np.concatenate([end + side * more for end in ends for side in (1.0, -1.0)], axis=1)


def _caps(
    robot: Robot, dq: FloatArray, dp: FloatArray, share: float
) -> tuple[tuple[Row, ...], FloatArray]:
    """The largest x of each limit on a rate or on the platform's speed, (n, j)."""
    limits = robot.limits
    rows: list[Row] = []
    columns: list[FloatArray] = []
    with np.errstate(divide="ignore"):
        if limits.rate is not None:
            rows += [Row("rate", axis) for axis in robot.axis_names()]
            columns += list(((share * np.asarray(limits.rate)) ** 2 / dq**2).T)
        if limits.platform_speed is not None:
            rows.append(Row("platform_speed", ""))
            pace = np.einsum("nk,nk->n", dp[:, :3], dp[:, :3])
            columns.append((share * limits.platform_speed) ** 2 / pace)
    return tuple(rows), np.stack(columns, axis=1) if columns else np.zeros((len(dp), 0))


def at_ends(values: FloatArray) -> FloatArray:
    """Values at the nodes (n, ...) as those at both ends of all intervals (n - 1, 2, ...)."""
    return np.stack([values[:-1], values[1:]], axis=1)


def _shares(values: Linear, most: FloatArray) -> Linear:
    return Linear(*(part / most for part in values))
