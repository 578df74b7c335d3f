"""The telescope by projected angles [telescopic2022] eqs. 25-34, with inertias mended.

In the paper's second coordinates (l, theta, phi), tan(theta) = x/|z| and tan(phi) = y/|z|, it
takes T = 1/2 I(l) (thetad^2 + phid^2) + 1/2 m2 ld^2, which holds for small tilts only, and
V = -g (m1 c1 + m2 (l - c2)) cos(tilt). Here I(l) = I1 + m1 c1^2 + I2 + m2 (l - c2)^2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics.terms import PlatformMap, Terms
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot


class ProjectedRod(NamedTuple):
    """Coordinates c = (l, theta, phi) with c-rate = B pd, each row of B (N, 3, 3)."""

    length: FloatArray
    B: FloatArray
    Bd: FloatArray


def projected_rod(robot: Robot, state: State) -> ProjectedRod:
    """The rod's coordinates' map from the platform's velocity, and its rate."""
    assert robot.spindle is not None
    x, y = state.p[:, 0], state.p[:, 1]
    h = robot.spindle.pivot_z - state.p[:, 2]  # height of the pivot above the platform point
    xd, yd, hd = state.pd[:, 0], state.pd[:, 1], -state.pd[:, 2]
    length = np.sqrt(x**2 + y**2 + h**2)
    ld = (x * xd + y * yd + h * hd) / length
    B, Bd = np.zeros((len(x), 3, 3)), np.zeros((len(x), 3, 3))
    v = np.stack([x, y, -h], axis=-1) / length[:, None]
    B[:, 0] = v
    Bd[:, 0] = (np.stack([xd, yd, -hd], axis=-1) - v * ld[:, None]) / length[:, None]
    for row, (w, wd) in enumerate(((x, xd), (y, yd)), start=1):
        square, square_d = w**2 + h**2, 2 * (w * wd + h * hd)
        B[:, row, row - 1] = h / square  # d atan(w/h) = (h dw - w dh)/(w^2 + h^2), dh = -dz
        B[:, row, 2] = w / square
        Bd[:, row, row - 1] = hd / square - h * square_d / square**2
        Bd[:, row, 2] = wd / square - w * square_d / square**2
    return ProjectedRod(length, B, Bd)


def rod_inertia(robot: Robot, length: FloatArray, part: str) -> tuple[FloatArray, FloatArray]:
    """I(l) and its derivative by l, of the upper rod, the lower rod or both."""
    assert robot.spindle is not None
    upper, lower = robot.spindle.upper, robot.spindle.lower
    inertia, slope = np.zeros_like(length), np.zeros_like(length)
    if part in ("upper", "both"):
        inertia += upper.inertia + upper.mass * upper.com**2
    if part in ("lower", "both"):
        inertia += lower.inertia + lower.mass * (length - lower.com) ** 2
        slope += 2 * lower.mass * (length - lower.com)
    return inertia, slope


def rod_terms(robot: Robot, state: State, part: str = "both") -> Terms:
    """M, C (N, 3, 3) and g (N, 3) in platform coordinates, with Md - 2C skew."""
    assert robot.spindle is not None
    rod = projected_rod(robot, state)
    upper, lower = robot.spindle.upper, robot.spindle.lower
    inertia, slope = rod_inertia(robot, rod.length, part)
    m2 = lower.mass if part in ("lower", "both") else 0.0
    rates = contract("nij,nj->ni", rod.B, state.pd[:, :3])  # ld, thetad, phid
    W, Cw = np.zeros_like(rod.B), np.zeros_like(rod.B)
    W[:, 0, 0], W[:, 1, 1], W[:, 2, 2] = m2, inertia, inertia
    half = slope / 2
    for row in (1, 2):  # Christoffel symbols of diag(m2, I(l), I(l))
        Cw[:, 0, row] = -half * rates[:, row]
        Cw[:, row, 0] = half * rates[:, row]
        Cw[:, row, row] = half * rates[:, 0]
    Bt = np.swapaxes(rod.B, 1, 2)
    moment = (upper.mass * upper.com if part in ("upper", "both") else 0.0) - m2 * lower.com
    v, over = rod.B[:, 0], 1 / rod.length
    slope_vz = -v * (v[:, 2] * over)[:, None]  # d v_z / dp = (z - v v_z)/l
    slope_vz[:, 2] += over
    g = robot.gravity * moment * slope_vz
    g[:, 2] += robot.gravity * m2
    return Terms(Bt @ W @ rod.B, Bt @ (W @ rod.Bd + Cw @ rod.B), g)


def rod_force(robot: Robot, state: State, part: str = "both") -> FloatArray:
    """The force (N, 3) with which the platform moves the rods [telescopic2022] eqs. 32-33."""
    terms = rod_terms(robot, state, part)
    force = contract("nij,nj->ni", terms.M, state.pdd[:, :3])
    force += contract("nij,nj->ni", terms.C, state.pd[:, :3])
    return force + terms.g


def joint_rod_terms(robot: Robot, state: State, platform: PlatformMap) -> Terms:
    """The rods' terms in joint coordinates (N, dof, dof)."""
    terms = rod_terms(robot, state)
    J, Jd = platform
    Jt = np.swapaxes(J, 1, 2)
    M = Jt @ terms.M @ J
    C = Jt @ (terms.M @ Jd + terms.C @ J)
    return Terms(M, C, contract("nkd,nk->nd", J, terms.g))
