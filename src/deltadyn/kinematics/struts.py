"""Angles of the struts and of the joints at their ends, and the rates of these angles.

In the limb's axes (e_r outward, t = z x e_r along the motor axis, z up) the strut's direction is

    u = cos(gamma) (cos(beta) e_r - sin(beta) z) + sin(gamma) t

so the swing beta counts like the arm angle (0 horizontal and outward, positive downward) and the
sway gamma is the strut's tilt out of the arm's plane.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import (
    FloatArray,
    Unreachable,
    as_samples,
    check_unreachable,
    contract,
    restore,
)
from deltadyn.errors import UnknownNameError
from deltadyn.kinematics.inverse import Elbows, arm_directions, raise_if_unreachable
from deltadyn.kinematics.rates import LimbGeometry
from deltadyn.kinematics.spindle import SpindleGeometry
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.robot.settings import PASSIVE_JOINTS


@dataclass(frozen=True, eq=False)
class StrutAngles:
    """Angles (rad) at both ends of the struts, each (N, 3), one column per limb.

    `ball_joint` is |gamma|: the pins of a pair's ball joints lie along the motor axis t, and a
    socket turns freely about its pin, which is the swing. What a socket's rim stops is the pin's
    tilt in the socket. That is the angle by which pin and rod are off a right angle, and
    sin |gamma| = |u.t|. Platform and elbow pins stay parallel, so both ends tilt by the same angle.
    `margin` is limits.ball_joint_angle - ball_joint, negative beyond the limit and infinite where
    the robot names no limit.
    """

    swing: FloatArray
    sway: FloatArray
    elbow: FloatArray  # beta - theta in (-pi, pi]: 0 where arm and strut are stretched in line
    ball_joint: FloatArray
    margin: FloatArray


@dataclass(frozen=True, eq=False)
class StrutRates:
    """Rates (rad/s) of swing, sway and elbow angle, each (N, 3)."""

    swing: FloatArray
    sway: FloatArray
    elbow: FloatArray


@dataclass(frozen=True, eq=False)
class StrutRateMaps:
    """Row maps from joint rates, each (N, 3, dof): rates of swing, sway, elbow = map @ qd."""

    swing: FloatArray
    sway: FloatArray
    elbow: FloatArray


@dataclass(frozen=True, eq=False)
class LocalStruts:
    """The struts (N, 3) in their limbs' axes, and these axes as rows (3, 3) per limb."""

    radial: FloatArray
    tangential: FloatArray
    z: FloatArray
    e_r: FloatArray
    t: FloatArray

    @classmethod
    def of(cls, robot: Robot, geometry: LimbGeometry) -> LocalStruts:
        """The struts of these limbs."""
        ca, sa = np.cos(robot.geometry.azimuth), np.sin(robot.geometry.azimuth)
        zero = np.zeros(3)
        e_r, t = np.stack([ca, sa, zero], axis=-1), np.stack([-sa, ca, zero], axis=-1)
        radial = contract("nik,ik->ni", geometry.s, e_r)
        tangential = contract("nik,ik->ni", geometry.s, t)
        return cls(radial, tangential, geometry.s[:, :, 2], e_r, t)


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
    turn = swing - theta
    elbow = -np.remainder(np.pi - turn, 2 * np.pi) + np.pi  # in (-pi, pi]
    tilt = np.abs(sway)
    limit = robot.limits.ball_joint_angle
    margin = (np.inf if limit is None else limit) - tilt
    return StrutAngles(*(restore(a, single) for a in (swing, sway, elbow, tilt, margin)))


def strut_rate_maps(robot: Robot, state: State) -> StrutRateMaps:
    """Maps (N, 3, dof) from joint rates to the rates of swing, sway and elbow angle.

    With sd = J qd - E' qd_i: betad = (s_z sd_r - s_r sd_z) / (s_r^2 + s_z^2) and
    gammad = sd_t / sqrt(s_r^2 + s_z^2), because |s| does not change. The row axis is kept for a
    single sample.
    """
    geometry = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
    local = LocalStruts.of(robot, geometry)
    square = local.radial**2 + local.z**2
    with np.errstate(divide="ignore", invalid="ignore"):
        by_swing = local.z[..., None] * local.e_r  # (N, 3, 3), rows d beta / d s
        by_swing[..., 2] -= local.radial
        by_swing /= square[..., None]
        by_sway = local.t / np.sqrt(square)[..., None]
        swing, sway = by_swing @ geometry.jacobian, by_sway @ geometry.jacobian
    own = np.arange(3)
    swing[:, own, own] -= contract("nik,nik->ni", by_swing, geometry.e1)
    elbow = swing.copy()
    elbow[:, own, own] -= 1.0
    return StrutRateMaps(*(_with_psi_column(a, robot.dof) for a in (swing, sway, elbow)))


def strut_rates(robot: Robot, state: State) -> StrutRates:
    """Rates (rad/s) of swing, sway and elbow angle of a moving robot, each (N, 3)."""
    maps = strut_rate_maps(robot, state)
    three = (maps.swing, maps.sway, maps.elbow)
    rates = (contract("nij,nj->ni", a, state.qd) for a in three)
    return StrutRates(*(restore(a, state.single) for a in rates))


def limb_geometry(
    robot: Robot, p: npt.ArrayLike | State, elbows: Elbows, unreachable: Unreachable
) -> tuple[LimbGeometry, FloatArray, bool]:
    """The limbs at p or of a state, their arm angles (N, 3), and whether it was one sample.

    Rows that cannot be reached are NaN throughout where `unreachable` allows them.
    """
    if isinstance(p, State):
        points, c, s, single = p.p, p.cos_q, p.sin_q, p.single
    else:
        check_unreachable(unreachable)
        points, single = as_samples(p, robot.dof, "p", allow_nan=unreachable == "nan")
        c, s = arm_directions(robot, points, elbows)
        if unreachable == "raise":
            raise_if_unreachable(points, c)
        missing = np.isnan(c).any(axis=1)
        c[missing], s[missing] = np.nan, np.nan
    return LimbGeometry.of(robot, points, c, s), np.arctan2(s, c), single


def _with_psi_column(rows: FloatArray, dof: int) -> FloatArray:
    if dof == 3:
        return rows
    return np.concatenate([rows, np.zeros((*rows.shape[:2], dof - 3))], axis=-1)


# Rates of the joints without a drive, as maps from the joint rates [gnad2024] eqs. 6-7.


def passive_rate_map(robot: Robot, state: State, joint: str) -> FloatArray:
    """B (N, k, dof) of a passive joint: its rates are B qd, and its friction f gives B^T f.

    k = 3, one row per limb: "elbow_swing" (betad - qd), "elbow_sway" (gammad), "platform_swing"
    (betad), "platform_sway" (gammad), in rad/s. k = 1: "prismatic" (ld, in m/s) and the spindle's
    "universal_fork" and "universal_cross" (rad/s), which are those of the upper joint; the lower
    joint has the same rates in the opposite sense. The row axis is kept for a single sample.
    """
    if joint not in PASSIVE_JOINTS:
        raise UnknownNameError("joint", joint, PASSIVE_JOINTS)
    if joint in ("prismatic", "universal_fork", "universal_cross"):
        return _spindle_map(robot, state, joint)
    maps = strut_rate_maps(robot, state)
    if joint == "elbow_swing":
        return maps.elbow
    if joint == "platform_swing":
        return maps.swing
    return maps.sway


def passive_rates(robot: Robot, state: State, joint: str) -> FloatArray:
    """Rates (N, k) of a passive joint: B qd."""
    return contract("nkj,nj->nk", passive_rate_map(robot, state, joint), state.qd)


def _spindle_map(robot: Robot, state: State, joint: str) -> FloatArray:
    """Rows of ld = v.pd and of the universal joint's angles.

    The shaft's angular velocity is omega = v x vd + spin v = psid z + e1d a + e2d b, so that
    e1d = omega.a = ((a x v).pd / l + e v_z psid) / (1 - e^2) and
    e2d = (omega - psid z).b = (b x v).pd / l - b_z psid, with e = a.v.
    """
    rod = SpindleGeometry.of(robot, state.p, state.pd)
    with np.errstate(divide="ignore", invalid="ignore"):
        if joint == "prismatic":
            by_p, by_psi = rod.v, np.zeros(len(state))
        elif joint == "universal_fork":
            e = contract("nk,nk->n", rod.a, rod.v)
            by_p = np.cross(rod.a, rod.v) / (rod.l * (1 - e**2))[:, None]
            by_psi = e * rod.n_psi
        else:
            by_p, by_psi = np.cross(rod.b, rod.v) / rod.l[:, None], -rod.b[:, 2]
        limbs = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
        arms = contract("nk,nkj->nj", by_p, limbs.jacobian)
    return np.concatenate([arms, by_psi[:, None]], axis=1)[:, None, :]
