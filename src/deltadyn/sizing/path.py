"""The path of a motion by its length, cut where the motion stands.

A stretch leads from one stop to the next. Its parameter s is the length of the way of the platform
point, to which a turn of psi adds as on an arm's length (m):

    ds^2 = |d(x, y, z)|^2 + (l1 d psi)^2,    p' = pd / sd,    p'' = (pdd - p' sdd) / sd^2

with sd, sdd of the motion that was given. The nodes lie closer in bends and at both ends: a motion
that starts with a continuous acceleration has p ~ t^3 there, so the curvature may grow without
bound at a stop, where the speed vanishes with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.friction import friction_torque, reported
from deltadyn.dynamics.inverse import external_wrench, inverse_dynamics
from deltadyn.dynamics.loads import pair_loads
from deltadyn.errors import InputError
from deltadyn.kinematics.state import State
from deltadyn.motion.limits import limb_names
from deltadyn.motion.motion import Motion
from deltadyn.motion.profiles import quintic
from deltadyn.robot import Robot

# Quintic Hermite interpolation: two continuous derivatives through values and derivatives.


class Values(NamedTuple):
    """A curve and its first two derivatives at N places, each (N, k)."""

    y: FloatArray
    y1: FloatArray
    y2: FloatArray


@dataclass(frozen=True, eq=False)
class Quintic:
    """A curve of quintics between knots x (n,); coefficients (6, n - 1, k) on unit intervals."""

    x: FloatArray
    coefficients: FloatArray

    @classmethod
    def through(cls, x: FloatArray, y: FloatArray, y1: FloatArray, y2: FloatArray) -> Quintic:
        """The curve with the values y and the derivatives y1, y2 (n, k) at the knots."""
        h = np.diff(x)[:, None]
        c0, c1, c2 = y[:-1], h * y1[:-1], h**2 * y2[:-1] / 2
        a = y[1:] - c0 - c1 - c2
        b = h * y1[1:] - c1 - 2 * c2
        c = h**2 * y2[1:] - 2 * c2
        c3, c4, c5 = 10 * a - 4 * b + c / 2, -15 * a + 7 * b - c, 6 * a - 3 * b + c / 2
        return cls(x, np.stack([c0, c1, c2, c3, c4, c5]))

    def at(self, x: FloatArray) -> Values:
        """The curve and its derivatives at x (N,) within the knots."""
        which = np.clip(np.searchsorted(self.x, x, side="right") - 1, 0, len(self.x) - 2)
        h = (self.x[which + 1] - self.x[which])[:, None]
        u = (x - self.x[which])[:, None] / h
        c0, c1, c2, c3, c4, c5 = self.coefficients[:, which]
        y = c0 + u * (c1 + u * (c2 + u * (c3 + u * (c4 + u * c5))))
        y1 = c1 + u * (2 * c2 + u * (3 * c3 + u * (4 * c4 + u * 5 * c5)))
        y2 = 2 * c2 + u * (6 * c3 + u * (12 * c4 + u * 20 * c5))
        return Values(y, y1 / h, y2 / h**2)


STILL = 1e-9  # of the largest speed: the motion stands
STOP = 1e-2  # of the largest speed: a minimum below is a stop that no sample has met
NOWHERE = 1e-9  # m: rounding of a motion that stands
NEAR = 1e-4  # of a stretch's time: where the direction at its ends is taken
NEWTON = 6  # steps towards the wanted nodes; where they lie is then known, not wanted
STRAIGHT = 1e-6  # rad: less is no turn
LOOKS = 65  # per turn of the search for a minimum of the speed


@dataclass(frozen=True, eq=False)
class Stretch:
    """A path p(s) between two stops: nodes s (n,) in m, p, dp, ddp (n, dof), then a hold (s)."""

    s: FloatArray
    p: FloatArray
    dp: FloatArray
    ddp: FloatArray
    hold: float

    @property
    def length(self) -> float:
        """From stop to stop, in m."""
        return float(self.s[-1])

    @cached_property
    def curve(self) -> Quintic:
        """The path between the nodes."""
        return Quintic.through(self.s, self.p, self.dp, self.ddp)

    def at(self, s: FloatArray) -> Values:
        """p, p' and p'' at s (N,)."""
        return self.curve.at(s)


@dataclass(frozen=True, eq=False)
class Way:
    """All stretches of a motion, and how long (s) it stands before the first."""

    wait: float
    stretches: tuple[Stretch, ...]

    @property
    def held(self) -> float:
        """Seconds in which the motion stands."""
        return self.wait + sum(item.hold for item in self.stretches)


def way_of(robot: Robot, motion: Motion, samples: int) -> Way:
    """The stretches of a motion, with `samples` intervals each."""
    weight = np.ones(robot.dof)
    weight[3:] = robot.geometry.size  # psi, where there is one
    scaled = motion.pd * weight
    speed = np.linalg.norm(scaled, axis=1)
    peak = float(speed.max())
    if not peak * motion.duration > NOWHERE:
        allowed = f"above {NOWHERE:g} m: a path leads somewhere"
        raise InputError("length of path", peak * motion.duration, allowed)
    path = Quintic.through(motion.t, motion.p, motion.pd, motion.pdd)
    stops = _stops(path, motion.t, scaled, speed, peak, weight)
    stretches = tuple(
        _stretch(path, motion, weight, leave, arrive, end - arrive, samples)
        for (_, leave), (arrive, end) in pairwise(stops)
    )
    return Way(stops[0][1] - stops[0][0], stretches)


def _stops(
    path: Quintic,
    t: FloatArray,
    velocity: FloatArray,
    speed: FloatArray,
    peak: float,
    weight: FloatArray,
) -> list[tuple[float, float]]:
    """When the motion comes to a stop and when it leaves it, in s; its ends count as stops."""
    still = speed <= STILL * peak
    edges = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]]).astype(int)))
    stops = [(float(t[i]), float(t[j - 1])) for i, j in edges.reshape(-1, 2)]
    low = speed < STOP * peak
    near = still.copy()
    near[1:] |= still[:-1]
    near[:-1] |= still[1:]
    inner = np.zeros(len(t), dtype=bool)
    inner[1:-1] = (speed[1:-1] <= speed[:-2]) & (speed[1:-1] < speed[2:]) & low[1:-1]
    turned = np.einsum("nk,nk->n", velocity[:-1], velocity[1:]) < 0
    inner[:-1] |= turned
    for i in map(int, np.flatnonzero(inner & ~near)):
        at = _slowest(path, t[max(i - 1, 0)], t[min(i + 1, len(t) - 1)], weight)
        if not any(abs(at - a) < 2 * (t[i + 1] - t[i]) for a, _ in stops):
            stops.append((at, at))
    if not still[0]:
        stops.append((float(t[0]), float(t[0])))
    if not still[-1]:
        stops.append((float(t[-1]), float(t[-1])))
    return sorted(stops)


def _slowest(path: Quintic, begin: float, end: float, weight: FloatArray) -> float:
    """The time (s) of the least speed between two samples."""
    for _ in range(4):
        at = np.linspace(begin, end, LOOKS)
        place = int(np.argmin(np.linalg.norm(path.at(at).y1 * weight, axis=1)))
        begin, end = at[max(place - 1, 0)], at[min(place + 1, LOOKS - 1)]
    return float((begin + end) / 2)


def _stretch(
    path: Quintic,
    motion: Motion,
    weight: FloatArray,
    begin: float,
    end: float,
    hold: float,
    samples: int,
) -> Stretch:
    """Nodes along the path from one stop to the next."""
    inside = motion.t[(motion.t > begin) & (motion.t < end)]
    t = np.concatenate([[begin], inside, [end]])
    if len(inside) < 4:
        allowed = "at least 4 samples between two stops"
        raise InputError("samples of path", len(inside), allowed, where=f"{begin:g} to {end:g} s")
    length = _lengths(path, t, weight)
    wanted = _nodes(path, t, length, weight, samples)
    inner, reached = _times(path, t, length, wanted[1:-1], weight)
    off = NEAR * (end - begin)
    _, dp, ddp = _by_length(path.at(np.array([begin + off, *inner, end - off])), weight)
    ddp[[0, -1]] = 0.0  # without effect at a stop, and unbounded there for some paths
    p = path.at(np.array([begin, *inner, end])).y
    return Stretch(np.array([0.0, *reached, length[-1]]), p, dp, ddp, hold)


def _nodes(
    path: Quintic, t: FloatArray, length: FloatArray, weight: FloatArray, samples: int
) -> FloatArray:
    """Where nodes should lie (m): half of them by the way, closer at both ends, half by turns."""
    u = np.linspace(0.0, 1.0, 20 * len(t))
    share = np.interp(length / length[-1], quintic(u)[0], u)
    inner = path.at(t[1:-1]).y1 * weight
    heading = inner / np.linalg.norm(inner, axis=1, keepdims=True)
    turn = np.cumsum(np.linalg.norm(np.diff(heading, axis=0), axis=1))
    if turn[-1] > STRAIGHT:
        share = (share + np.concatenate([[0.0, 0.0], turn, turn[-1:]]) / turn[-1]) / 2
    return np.interp(np.linspace(0.0, 1.0, samples + 1), share, length)


def _rate(values: Values, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """sd and sdd (N,) of the motion that was given."""
    speed = np.linalg.norm(values.y1 * weight, axis=1)
    along = np.einsum("nk,nk->n", values.y1 * weight, values.y2 * weight)
    slope = np.divide(along, speed, out=np.zeros_like(speed), where=speed > 0)
    return speed, slope


def _lengths(path: Quintic, t: FloatArray, weight: FloatArray) -> FloatArray:
    """s (N,) at times t."""
    return np.concatenate([[0.0], np.cumsum(_gauss(path, t[:-1], t[1:], weight))])


def _gauss(path: Quintic, begin: FloatArray, end: FloatArray, weight: FloatArray) -> FloatArray:
    """Lengths (N,) of the ways from `begin` to `end` (s), by Gauss-Legendre with five points."""
    nodes, weights = np.polynomial.legendre.leggauss(5)
    half = (end - begin) / 2
    at = begin[:, None] + half[:, None] * (nodes + 1)
    speed = _rate(path.at(at.ravel()), weight)[0].reshape(at.shape)
    way: FloatArray = half * (speed @ weights)
    return way


def _times(
    path: Quintic, t: FloatArray, length: FloatArray, wanted: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """When the motion has come about as far as `wanted` (N,), and how far it is then."""
    which = np.clip(np.searchsorted(length, wanted, side="right") - 1, 0, len(t) - 2)
    low, high = t[which].copy(), t[which + 1].copy()
    at = np.interp(wanted, length, t)
    for _ in range(NEWTON):  # or a bisection where the step leaves the bracket
        off = length[which] + _gauss(path, t[which], at, weight) - wanted
        high, low = np.where(off > 0, at, high), np.where(off > 0, low, at)
        slope = _rate(path.at(at), weight)[0]
        new = at - np.divide(off, slope, out=np.full_like(off, np.inf), where=slope > 0)
        at = np.where((new >= low) & (new <= high), new, (low + high) / 2)
    return at, length[which] + _gauss(path, t[which], at, weight)


def _by_length(values: Values, weight: FloatArray) -> Values:
    """p, p' and p'' by s of what is given by time."""
    speed, slope = _rate(values, weight)
    dp = values.y1 / speed[:, None]
    return Values(values.y, dp, (values.y2 - dp * slope[:, None]) / speed[:, None] ** 2)


# The limits of a robot along a path, as rows in sdd and sd^2.
#
# With u = sdd and x = sd^2 along p(s) everything but friction is linear in u and x:
#
#     qd^2 = q'^2 x,   qdd = q' u + q'' x,   pdd = p' u + p'' x,   tau = a u + b x + c + friction
#
# A limit on a rate or on the platform's speed caps x. Torques, joint accelerations and axial forces
# of the rods (at both ends of each) are rows |alpha u + beta x + gamma| <= 1, in shares of their
# limits. The platform's acceleration is a second-order cone |p' u + p'' x| <= 1. Friction depends
# on x and, through the gear, on u; it is put in as its tangent at the last solution, and the
# solution repeated until it does not change.

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
        names = limb_names(robot)
        rows += [Row("strut_force", names[k % len(names)]) for k in range(forces.alpha.shape[1])]
        blocks.append(_shares(forces, share * np.full(forces.alpha.shape[1], limits.strut_force)))
    caps, cap_each = _caps(robot, passing.qd, dp, share)
    cone_u = cone_x = None
    if limits.platform_acceleration is not None:
        most = share * limits.platform_acceleration
        cone_u, cone_x = robot.in_space(dp) / most, robot.in_space(ddp) / most
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

    Without u, the values for a motion that just begins. The second value says whether there is
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
    """Axial forces (N, 4 legs) of the rods at their elbow and platform ends, without friction."""
    bare = robot.with_friction(passive=())
    with np.errstate(divide="ignore", invalid="ignore"):  # of the extremes inside a rod at rest
        pairs = pair_loads(bare, state, external_wrench(bare, None, len(state)))
    split = np.array([1 / strut.rods for strut in robot.struts])
    spacing = robot.geometry.rod_spacing
    more = np.zeros_like(pairs.axial_elbow)
    if spacing is not None and pairs.couple is not None:
        more = np.where(split < 1, pairs.couple / spacing, 0.0)
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
            way = robot.in_space(dp)
            pace = np.einsum("nk,nk->n", way, way)
            columns.append((share * limits.platform_speed) ** 2 / pace)
    return tuple(rows), np.stack(columns, axis=1) if columns else np.zeros((len(dp), 0))


def at_ends(values: FloatArray) -> FloatArray:
    """Values at the nodes (n, ...) as those at both ends of all intervals (n - 1, 2, ...)."""
    return np.stack([values[:-1], values[1:]], axis=1)


def _shares(values: Linear, most: FloatArray) -> Linear:
    return Linear(*(part / most for part in values))
