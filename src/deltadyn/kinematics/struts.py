"""The struts of many samples: Jacobian and its rate, angles of their joints and their rates.

In the limb's axes (e_r outward, t = z x e_r along the motor axis, z up) the strut's direction is

    u = cos(gamma) (cos(beta) e_r - sin(beta) z) + sin(gamma) t

so the swing beta counts like the arm angle (0 horizontal and outward, positive downward) and the
sway gamma is the strut's tilt out of the arm's plane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import (
    Component,
    FloatArray,
    Unreachable,
    as_samples,
    check_unreachable,
    columns,
    contract,
    matching_samples,
    restore,
)
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.kinematics.inverse import (
    Elbows,
    arm_directions,
    elbow_signs,
    inverse_kinematics,
    raise_if_unreachable,
)
from deltadyn.kinematics.limbs import Limb, arm_map, jacobian_columns, limbs, rods_of
from deltadyn.kinematics.platform import POINT, Carrier, telescope
from deltadyn.kinematics.spindle import spindle_of
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.robot.settings import PASSIVE_JOINTS, SPINDLE_JOINTS
from deltadyn.small import Vector, cross, dot, times
from deltadyn.tracing import on_jax

TRAVEL = 3.0  # struts, to both sides of q = 0 on a rail without limits


@dataclass(frozen=True, eq=False)
class LimbGeometry:
    """What the limbs of many samples look like, rows per limb, in the base frame.

    s_i = a_i - E_i, E'_i and E''_i as (N, legs, 3), d_i = s_i . E'_i as (N, legs). `place` is what
    the platform, `carrier`, needs of its pose.
    """

    s: FloatArray
    e1: FloatArray
    e2: FloatArray
    d: FloatArray
    carrier: Carrier = POINT
    place: Any = None

    @classmethod
    def of(cls, robot: Robot, p: FloatArray, c: FloatArray, s: FloatArray) -> LimbGeometry:
        """The limbs at platform points p (N, dof) with arms at cos, sin = c, s (N, legs)."""
        elbow, e1, e2, at = np.empty((4, *np.shape(c), 3))
        legs, x = limbs(robot), columns(p)
        place = legs.carrier.place(np, x)
        for i, limb in enumerate(legs):
            pair = c[:, i], s[:, i]
            ends = limb.elbow(*pair), legs.carrier.attachment(place, i, x)
            parts = (*ends, limb.slope(*pair), limb.slope_rate(*pair, 1.0))
            for array, values in zip((elbow, at, e1, e2), parts, strict=True):
                for k in range(3):
                    array[:, i, k] = values[k]
        rod = at - elbow
        return cls(rod, e1, e2, contract("nik,nik->ni", rod, e1), legs.carrier, place)

    @cached_property
    def s_inverse(self) -> FloatArray:
        """S^-1 (N, legs, legs) in closed form; not finite where the pose is singular."""
        with np.errstate(divide="ignore", invalid="ignore"):
            rods: Any = np.moveaxis(self.s, 0, -1)
            inverse = self.carrier.inverse(self.place, rods)
            return np.stack([np.stack(column) for column in inverse.columns()]).transpose(2, 1, 0)

    @cached_property
    def jacobian(self) -> FloatArray:
        """J = S^-1 diag(d) (N, legs, legs): pd = J qd; not finite where the pose is singular."""
        with np.errstate(invalid="ignore"):
            return self.s_inverse * self.d[:, None, :]

    def jacobian_rate(self, qd: FloatArray) -> FloatArray:
        """Jd = S^-1 (diag(dd) - Sd J) (N, 3, 3) of a platform held by three limbs, for arm rates qd
        (N, >= 3).
        """
        if self.carrier is not POINT:
            allowed = "the point of three limbs: `jacobian_rate` knows the other platforms"
            raise InputError("platform", type(self.carrier).__name__, allowed)
        rates = qd[:, :3]
        with np.errstate(invalid="ignore"):
            pd = contract("nij,nj->ni", self.jacobian, rates)
            sd = pd[:, None, :] - self.e1 * rates[..., None]
            dd = contract("nik,nik->ni", sd, self.e1) + rates * contract(
                "nik,nik->ni", self.s, self.e2
            )
            inner = -sd @ self.jacobian
            index = np.arange(dd.shape[1])
            inner[:, index, index] += dd
            return self.s_inverse @ inner

    def platform_rates(self, qd: FloatArray, qdd: FloatArray) -> tuple[FloatArray, FloatArray]:
        """pd = J qd and pdd = J qdd + Jd qd (N, dof); psi passes through."""
        pd, pdd = qd.copy(), qdd.copy()
        pd[:, :3] = contract("nij,nj->ni", self.jacobian, qd[:, :3])
        pdd[:, :3] = contract("nij,nj->ni", self.jacobian, qdd[:, :3])
        pdd[:, :3] += contract("nij,nj->ni", self.jacobian_rate(qd), qd[:, :3])
        return pd, pdd


def jacobian(robot: Robot, p: npt.ArrayLike, *, elbows: Elbows = "out") -> FloatArray:
    """J (N, dof, dof) with pd = J qd; rows are not finite where the struts lie in one plane."""
    if on_jax(p):
        from deltadyn.backends import jax as traced

        J = traced.jacobian(robot, p, elbow_signs(elbows, robot.legs))
        if not traced.sound(J):
            jacobian(robot, np.asarray(p), elbows=elbows)  # raises for what is out of reach
        return J
    points, single = as_samples(p, robot.dof, "p", coordinates=robot.coordinates)
    if robot.legs != 3:
        return restore(_maps(robot, points, np.zeros_like(points), elbows)[0], single)
    return restore(with_psi(_geometry(robot, points, elbows).jacobian, robot.dof, 1.0), single)


def jacobian_rate(
    robot: Robot, p: npt.ArrayLike, pd: npt.ArrayLike, *, elbows: Elbows = "out"
) -> FloatArray:
    """Jd (N, dof, dof) with pdd = J qdd + Jd qd; rows are not finite at singular poses."""
    if on_jax(p, pd):
        from deltadyn.backends import jax as traced

        Jd = traced.jacobian_rate(robot, p, pd, elbow_signs(elbows, robot.legs))
        if not traced.sound(Jd):
            jacobian_rate(robot, np.asarray(p), np.asarray(pd), elbows=elbows)
        return Jd
    points, single = as_samples(p, robot.dof, "p", coordinates=robot.coordinates)
    speed = matching_samples(pd, points.shape[0], robot.dof, "pd")
    if robot.legs != 3:
        return restore(_maps(robot, points, speed, elbows)[1], single)
    geometry = _geometry(robot, points, elbows)
    with np.errstate(divide="ignore", invalid="ignore"):
        qd = contract("nik,nk->ni", geometry.s, speed[:, :3]) / geometry.d
    return restore(with_psi(geometry.jacobian_rate(qd), robot.dof, 0.0), single)


def _maps(
    robot: Robot, points: FloatArray, speed: FloatArray, elbows: Elbows
) -> tuple[FloatArray, FloatArray]:
    """J and Jd (N, dof, dof) of any platform, through its components."""
    state = State.from_platform(robot, points, speed, elbows=elbows)
    parts = (state.cos_q, state.sin_q, state.qd, state.p, state.pd)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = arm_map(np, limbs(robot), *(columns(part) for part in parts))
    J, Jd = (
        np.stack([np.stack(np.broadcast_arrays(*column), axis=-1) for column in part], axis=-1)
        for part in (found.J, found.Jd)
    )
    return J, Jd


def with_psi(matrix: FloatArray, dof: int, corner: float) -> FloatArray:
    """(N, 3, 3) as (N, dof, dof), with `corner` where psi meets psi."""
    if dof == 3:
        return matrix
    out = np.zeros((matrix.shape[0], dof, dof))
    out[:, :3, :3] = matrix
    out[:, 3, 3] = corner
    return out


def _geometry(robot: Robot, points: FloatArray, elbows: Elbows) -> LimbGeometry:
    c, s = arm_directions(robot, points, elbows)
    raise_if_unreachable(points, c)
    return LimbGeometry.of(robot, points, c, s)


@dataclass(frozen=True, eq=False)
class StrutAngles:
    """Angles (rad) at both ends of the struts, each (N, legs), one column per limb.

    `ball_joint` is |gamma|: the pins of a pair's ball joints lie along the motor axis t, and a
    socket turns freely about its pin, which is the swing. What a socket's rim stops is the pin's
    tilt in the socket. That is the angle by which pin and rod are off a right angle, and
    sin |gamma| = |u.t|. Platform and elbow pins stay parallel, so both ends tilt by the same angle.
    `margin` is limits.ball_joint_angle - ball_joint, negative beyond the limit and infinite where
    the robot names no limit.
    """

    swing: FloatArray
    sway: FloatArray
    elbow: FloatArray  # beta - theta in (-pi, pi]: 0 where arm and strut are in line; beta on rails
    ball_joint: FloatArray
    margin: FloatArray


@dataclass(frozen=True, eq=False)
class StrutRates:
    """Rates (rad/s) of swing, sway and elbow angle, each (N, legs)."""

    swing: FloatArray
    sway: FloatArray
    elbow: FloatArray


@dataclass(frozen=True, eq=False)
class StrutRateMaps:
    """Row maps from joint rates, each (N, legs, dof): rates of swing, sway, elbow = map @ qd."""

    swing: FloatArray
    sway: FloatArray
    elbow: FloatArray


@dataclass(frozen=True, eq=False)
class LocalStruts:
    """The struts (N, legs) in their limbs' axes, and these axes as rows (legs, 3)."""

    radial: FloatArray
    tangential: FloatArray
    z: FloatArray
    e_r: FloatArray
    t: FloatArray
    up: FloatArray

    @classmethod
    def of(cls, robot: Robot, geometry: LimbGeometry) -> LocalStruts:
        """The struts of these limbs."""
        e_r, t = arm_axes(robot)
        up = np.array([frame.z for frame in robot.geometry.frames])
        radial, tangential, z = (contract("nik,ik->ni", geometry.s, axis) for axis in (e_r, t, up))
        return cls(radial, tangential, z, e_r, t, up)


def strut_angles(
    robot: Robot,
    p: npt.ArrayLike | State,
    *,
    elbows: Elbows = "out",
    unreachable: Unreachable = "raise",
) -> StrutAngles:
    """Swing, sway, elbow and ball-joint angles at platform positions p (N, dof) or of a state.

    beta = atan2(-s_z, s_r), gamma = atan2(s_t, sqrt(s_r^2 + s_z^2)) of s = p - E, in rad. A state
    brings its own elbows and its own unreachable rows.
    """
    geometry, theta, single = limb_geometry(robot, p, elbows, unreachable)
    local = LocalStruts.of(robot, geometry)
    swing = np.arctan2(-local.z, local.radial)
    sway = np.arctan2(local.tangential, np.hypot(local.radial, local.z))
    turn = swing if robot.linear else swing - theta  # a carriage does not turn
    elbow = -np.remainder(np.pi - turn, 2 * np.pi) + np.pi  # in (-pi, pi]
    tilt = np.abs(sway)
    limit = robot.limits.ball_joint_angle
    margin = (np.inf if limit is None else limit) - tilt
    return StrutAngles(*(restore(a, single) for a in (swing, sway, elbow, tilt, margin)))


def strut_rate_maps(robot: Robot, state: State) -> StrutRateMaps:
    """Maps (N, legs, dof) from joint rates to the rates of swing, sway and elbow angle.

    With sd = J qd - E' qd_i: betad = (s_z sd_r - s_r sd_z) / (s_r^2 + s_z^2) and
    gammad = sd_t / sqrt(s_r^2 + s_z^2), because |s| does not change. The row axis is kept for a
    single sample.
    """
    names = ("platform_swing", "platform_sway", "elbow_swing")
    return StrutRateMaps(*(passive_rate_map(robot, state, name) for name in names))


def strut_rates(robot: Robot, state: State) -> StrutRates:
    """Rates (rad/s) of swing, sway and elbow angle of a moving robot, each (N, legs)."""
    maps = strut_rate_maps(robot, state)
    three = (maps.swing, maps.sway, maps.elbow)
    rates = (contract("nij,nj->ni", a, state.qd) for a in three)
    return StrutRates(*(restore(a, state.single) for a in rates))


def limb_geometry(
    robot: Robot, p: npt.ArrayLike | State, elbows: Elbows, unreachable: Unreachable
) -> tuple[LimbGeometry, FloatArray, bool]:
    """The limbs at p or of a state, their arm angles (N, legs), and whether it was one sample.

    Rows that cannot be reached are NaN throughout where `unreachable` allows them.
    """
    if isinstance(p, State):
        points, c, s, single = p.p, p.cos_q, p.sin_q, p.single
    else:
        check_unreachable(unreachable)
        points, single = as_samples(
            p, robot.dof, "p", allow_nan=unreachable == "nan", coordinates=robot.coordinates
        )
        c, s = arm_directions(robot, points, elbows)
        if unreachable == "raise":
            raise_if_unreachable(points, c)
        missing = np.isnan(c).any(axis=1)
        c[missing], s[missing] = np.nan, np.nan
    theta = limbs(robot)[0].coordinate(np, c, s)  # all limbs count alike
    return LimbGeometry.of(robot, points, c, s), theta, single


# Rates of the joints without a drive [gnad2024] eqs. 6-7.
#
# The rate of a joint at a strut depends on sd = pd - E' qd, that of a joint of the spindle on pd
# and psid. So one slope by p and one number on an axis say all of it, over any components.


class JointSlope(NamedTuple):
    """A passive joint's rate = by_p . pd + own qd[axis], at a strut with its attachment's pd."""

    by_p: Vector
    own: Component
    axis: int


def joint_slopes(
    xp: Any,
    joint: str,
    three: Sequence[Limb],
    pivot_z: Any,
    p: Vector,
    rods: Sequence[Vector],
    e1: Sequence[Vector],
    axes: Sequence[tuple[Vector, Vector, Vector]] | None = None,
) -> list[JointSlope]:
    """The slopes of a joint's rates: one per limb, or one of the spindle.

    `axes` are the limbs' own where their numbers do not hold them.
    """
    if joint in SPINDLE_JOINTS:
        return [_spindle_slope(xp, joint, pivot_z, p)]
    own = [limb.axes() for limb in three] if axes is None else axes
    return [
        _limb_slope(xp, joint, limb.turns, own[i], i, rods[i], e1[i])
        for i, limb in enumerate(three)
    ]


def _limb_slope(
    xp: Any,
    joint: str,
    turns: bool,
    axes: tuple[Vector, Vector, Vector],
    i: int,
    rod: Vector,
    e1: Vector,
) -> JointSlope:
    """Swing betad = (s_z e_r - s_r z).sd / (s_r^2 + s_z^2), sway gammad = t.sd / sqrt(...).

    |s| does not change, so nothing else is needed. The elbow's angle is beta - q, on rails beta.
    """
    e_r, t, up = axes
    radial, high = dot(rod, e_r), dot(rod, up)
    square = radial * radial + high * high
    by_p: Vector
    if joint.endswith("swing"):
        over = 1 / square
        along, down = high * over, radial * over
        by_p = tuple(along * e_r[k] - down * up[k] for k in range(3))
    else:
        by_p = times(t, 1 / xp.sqrt(square))
    own = -dot(by_p, e1) - (1.0 if turns and joint == "elbow_swing" else 0.0)
    return JointSlope(by_p, own, i)


def _spindle_slope(xp: Any, joint: str, pivot_z: Any, p: Vector) -> JointSlope:
    """ld = v.pd, and the rates of the universal joint's angles.

    The shaft's angular velocity is omega = v x vd + spin v = psid z + e1d a + e2d b, so that
    e1d = omega.a = ((a x v).pd / l + e v_z psid) / (1 - e^2) and
    e2d = (omega - psid z).b = (b x v).pd / l - b_z psid, with e = a.v.
    """
    rod = telescope(xp, pivot_z, p)
    v = rod.v
    if joint == "prismatic":
        return JointSlope(v, 0.0, 3)
    a = (xp.cos(p[3]), xp.sin(p[3]), 0.0)
    if joint == "universal_fork":
        e = dot(a, v)
        over = 1 / (1 - e * e)
        return JointSlope(times(cross(a, v), over * rod.over), e * v[2] * over, 3)
    normal = cross(v, a)
    b = times(normal, 1 / xp.sqrt(dot(normal, normal)))
    return JointSlope(times(cross(b, v), rod.over), -b[2], 3)


def passive_rate_map(robot: Robot, state: State, joint: str) -> FloatArray:
    """B (N, k, dof) of a passive joint: its rates are B qd, and its friction f gives B^T f.

    k = legs, one row per limb: "elbow_swing" (betad - qd), "elbow_sway" (gammad), "platform_swing"
    (betad), "platform_sway" (gammad), in rad/s. k = 1: "prismatic" (ld, in m/s) and the spindle's
    "universal_fork" and "universal_cross" (rad/s), which are those of the upper joint; the lower
    joint has the same rates in the opposite sense. The row axis is kept for a single sample.
    """
    if joint not in PASSIVE_JOINTS:
        raise UnknownNameError("joint", joint, PASSIVE_JOINTS)
    pivot_z = spindle_of(robot).pivot_z if joint in SPINDLE_JOINTS else 0.0
    three, c, s, p = limbs(robot), columns(state.cos_q), columns(state.sin_q), columns(state.p)
    own_platform = three.carrier
    frames, pins = robot.geometry.frames, arm_axes(robot)[1].tolist()
    with np.errstate(divide="ignore", invalid="ignore"):
        rods = rods_of(np, three, c, s, p)
        e1 = [limb.slope(c[i], s[i]) for i, limb in enumerate(three)]
        J = jacobian_columns(rods)
        own = [(frame.x, pin, frame.z) for frame, pin in zip(frames, pins, strict=True)]
        slopes = joint_slopes(np, joint, three, pivot_z, p, rods.base, e1, own)
        B = np.zeros((len(state), len(slopes), robot.dof))
        for row, slope in enumerate(slopes):
            for j in range(robot.legs):
                B[:, row, j] = dot(slope.by_p, own_platform.velocity(rods.place, row, J[j]))
            B[:, row, slope.axis] += slope.own
    return B


def passive_rates(robot: Robot, state: State, joint: str) -> FloatArray:
    """Rates (N, k) of a passive joint: B qd."""
    return contract("nkj,nj->nk", passive_rate_map(robot, state, joint), state.qd)


# The joint centres of a pose, for drawings.


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Joint centres per limb (legs, 3) in m: shoulders, elbows and the platform's joints.

    `pins` are the tangential directions along which the two rods of a strut lie apart, `pivot` and
    `spindle_end` the ends of the telescope where there is one.
    """

    shoulders: FloatArray
    elbows: FloatArray
    joints: FloatArray
    pins: FloatArray
    platform: FloatArray
    pivot: FloatArray | None
    spindle_end: FloatArray | None


def rail_ends(robot: Robot) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest joint centres (legs, 3) of carriages on rails, on the true radii (m).

    A rail without limits reaches TRAVEL struts to both sides of q = 0.
    """
    frames, limits = robot.geometry.frames, robot.limits
    starts = np.array([frame.shoulder for frame in frames]) + attachments_of(robot)
    along = np.array([frame.z for frame in frames])
    far = TRAVEL * np.asarray(robot.geometry.strut_length)
    legs = robot.legs
    low = -far if limits.angle_min is None else np.asarray(limits.angle_min[:legs])
    high = far if limits.angle_max is None else np.asarray(limits.angle_max[:legs])
    return starts + along * low[:, None], starts + along * high[:, None]


def attachments_of(robot: Robot) -> FloatArray:
    """The platform's joints from its point (legs, 3), which the shrunk base has taken off (m)."""
    g = robot.geometry
    outward = np.stack([np.cos(g.azimuth), np.sin(g.azimuth), np.zeros(g.legs)], axis=-1)
    found: FloatArray = outward * np.asarray(g.platform_radius)[:, None]
    return found


def arm_axes(robot: Robot) -> tuple[FloatArray, FloatArray]:
    """Unit vectors (legs, 3) of the arms: radial, and tangential along the motor axis."""
    frames = robot.geometry.frames
    radial, up = (np.array([getattr(frame, name) for frame in frames]) for name in "xz")
    return radial, np.cross(up, radial)


def skeleton(robot: Robot, p: npt.ArrayLike, *, elbows: Elbows = "out") -> Skeleton:
    """The joint centres with the platform at p (dof,), on the robot's true radii."""
    (x,), _ = as_samples(p, robot.dof, "p", coordinates=robot.coordinates)
    coordinates = inverse_kinematics(robot, x, elbows=elbows)
    legs, attached = limbs(robot), attachments_of(robot)
    _, pins = arm_axes(robot)
    shoulders = np.array([frame.shoulder for frame in robot.geometry.frames]) + attached
    pairs = [limb.pair(np, coordinates[i]) for i, limb in enumerate(legs)]
    at_elbow = np.array([limb.elbow(*pairs[i]) for i, limb in enumerate(legs)]) + attached
    place = legs.carrier.place(np, x)
    ends = [legs.carrier.attachment(place, i, tuple(x))[:3] for i in range(len(legs))]
    point = np.array([x[0], 0.0, x[1]]) if robot.dof == 2 else x[:3]
    pivot = end = None
    if robot.spindle is not None:
        pivot = np.array([0.0, 0.0, robot.spindle.upper_joint_z])
        end = point + np.array([0.0, 0.0, robot.spindle.lower_joint_z])
    return Skeleton(shoulders, at_elbow, np.array(ends) + attached, pins, point, pivot, end)
