"""M(q), C(q, qd) and g(q) of the exact model and of its special cases.

Every kinetic energy here is a quadratic form with constant weights W in velocities u = N(q) qd
that are rates of coordinates (elbows, platform, rod direction), so M = N^T W N and
C = N^T W Nd, for which Md - 2C = Nd^T W N - N^T W Nd is skew. The shaft's spin is no such
rate and is treated as a rigid body.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics.parameters import ExactParameters, SpindleParameters
from deltadyn.kinematics.rates import LimbGeometry
from deltadyn.kinematics.spindle import SpindleGeometry
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot


class Terms(NamedTuple):
    """M, C (N, dof, dof) and g (N, dof) with tau = M qdd + C qd + g, without friction."""

    M: FloatArray
    C: FloatArray
    g: FloatArray


class PlatformMap(NamedTuple):
    """pd = J qd for the platform point: J and its rate, each (N, 3, dof)."""

    J: FloatArray
    Jd: FloatArray


def platform_map(robot: Robot, state: State) -> tuple[LimbGeometry, PlatformMap]:
    """The limbs of a state and the map from joint rates to the platform point's velocity."""
    geometry = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
    count, dof = len(state), robot.dof
    J, Jd = np.zeros((count, 3, dof)), np.zeros((count, 3, dof))
    J[:, :, :3] = geometry.jacobian
    Jd[:, :, :3] = geometry.jacobian_rate(state.qd)
    return geometry, PlatformMap(J, Jd)


def exact_terms(robot: Robot, par: ExactParameters, state: State) -> Terms:
    """The terms of the exact model with any parameters; `robot` gives the kinematics."""
    geometry, (J, Jd) = platform_map(robot, state)
    count, dof = len(state), robot.dof
    m_x = np.asarray(par.m_x)
    X, Xd = np.zeros((count, 3, dof)), np.zeros((count, 3, dof))
    X[:, :, :3] = np.swapaxes(geometry.e1 * m_x[:, None], 1, 2)
    Xd[:, :, :3] = np.swapaxes(geometry.e2 * (m_x * state.qd[:, :3])[..., None], 1, 2)
    Jt = np.swapaxes(J, 1, 2)
    XJ = np.swapaxes(X, 1, 2) @ J
    M = par.M_P * (Jt @ J) + XJ + np.swapaxes(XJ, 1, 2)
    C = par.M_P * (Jt @ Jd) + np.swapaxes(X, 1, 2) @ Jd + Jt @ Xd
    index = np.arange(3)
    M[:, index, index] += np.asarray(par.A)
    lift = par.gravity * (par.M_P + m_x.sum())
    g = J[:, 2, :] * lift
    g[:, :3] -= par.gravity * (np.asarray(par.G) * state.cos_q + np.asarray(par.G_s) * state.sin_q)
    if par.spindle is not None:
        spindle = spindle_terms(robot, par.spindle, par.gravity, state, PlatformMap(J, Jd))
        M, C, g = M + spindle.M, C + spindle.C, g + spindle.g
    return Terms(M, C, g)


def spindle_terms(
    robot: Robot, par: SpindleParameters, gravity: float, state: State, platform: PlatformMap
) -> Terms:
    """What rods, shaft, effector and rotor 4 add, beyond the masses that are in M_P."""
    J, Jd = platform
    shaft = SpindleGeometry.of(robot, state.p, state.pd)
    V = shaft.B @ J
    Vd = shaft.B @ Jd + shaft.Bd @ J
    Jt, Vt = np.swapaxes(J, 1, 2), np.swapaxes(V, 1, 2)
    JV = Jt @ V
    M = par.H * (Vt @ V) - par.kappa * (JV + np.swapaxes(JV, 1, 2))
    C = par.H * (Vt @ Vd) - par.kappa * (Jt @ Vd + Vt @ Jd)
    g = gravity * (par.mu - par.kappa) * V[:, 2, :]
    # shaft: omega = v x vd + spin v, inertia I_axial v v^T
    W, Wd = shaft_rotation(shaft, platform)
    along = contract("nk,nkd->nd", shaft.v, W)
    along_d = contract("nk,nkd->nd", shaft.v, Wd)
    omega = contract("nkd,nd->nk", W, state.qd)
    turned = contract("nkd,nk->nd", W, np.cross(omega, shaft.v))
    M += par.I_axial * along[:, :, None] * along[:, None, :]
    C += par.I_axial * (
        along[:, :, None] * along_d[:, None, :] + turned[:, :, None] * along[:, None, :]
    )
    # effector: m (pd + hd)^2 with h turning by psi
    cos_psi, sin_psi = np.cos(state.p[:, 3]), np.sin(state.p[:, 3])
    hx, hy = par.h_x * cos_psi - par.h_y * sin_psi, par.h_x * sin_psi + par.h_y * cos_psi
    cross_term = -hy[:, None] * J[:, 0] + hx[:, None] * J[:, 1]  # (z x h) . pd per psid
    cross_rate = -hy[:, None] * Jd[:, 0] + hx[:, None] * Jd[:, 1]
    centripetal = -state.qd[:, 3, None] * (hx[:, None] * J[:, 0] + hy[:, None] * J[:, 1])
    M[:, 3, :] += cross_term
    M[:, :, 3] += cross_term
    M[:, 3, 3] += par.I_psi
    C[:, 3, :] += cross_rate
    C[:, :, 3] += centripetal
    return Terms(M, C, g)


def shaft_rotation(shaft: SpindleGeometry, platform: PlatformMap) -> tuple[FloatArray, FloatArray]:
    """The map from qd to the shaft's angular velocity v x vd + spin v, and its rate (N, 3, dof)."""
    J, Jd = platform
    V = shaft.B @ J
    Vd = shaft.B @ Jd + shaft.Bd @ J
    n = contract("nk,nkd->nd", shaft.n_p, J)
    nd = contract("nk,nkd->nd", shaft.n_p_rate, J) + contract("nk,nkd->nd", shaft.n_p, Jd)
    n[:, 3] += shaft.n_psi
    nd[:, 3] += shaft.n_psi_rate
    v, vd = shaft.v[:, :, None], shaft.vd[:, :, None]
    W = np.cross(v, V, axis=1) + v * n[:, None, :]
    Wd = np.cross(vd, V, axis=1) + np.cross(v, Vd, axis=1) + vd * n[:, None, :] + v * nd[:, None, :]
    return W, Wd
