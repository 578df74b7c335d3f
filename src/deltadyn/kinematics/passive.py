"""Rates of the joints without a drive, as maps from the joint rates [gnad2024] eqs. 6-7."""

from __future__ import annotations

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.errors import UnknownNameError
from deltadyn.kinematics.rates import LimbGeometry
from deltadyn.kinematics.spindle import SpindleGeometry
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import strut_rate_maps
from deltadyn.robot import Robot
from deltadyn.robot_settings import PASSIVE_JOINTS


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
