"""M(q), C(q, qd) and g(q) of the exact model and of its special cases, of many samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import Component, FloatArray, columns, contract, map_chunks
from deltadyn.backends import kernels
from deltadyn.dynamics.exact import HalvesSlopes, halves_slopes, platform_force
from deltadyn.dynamics.parameters import ExactParameters, SpindleParameters
from deltadyn.kinematics.limbs import ArmMap, arm_map, limbs
from deltadyn.kinematics.platform import (
    Telescope,
    TelescopeRate,
    spin_map,
    spin_map_rate,
    telescope,
    telescope_rate,
    turned,
)
from deltadyn.kinematics.spindle import SpindleGeometry
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import LimbGeometry
from deltadyn.robot import Robot
from deltadyn.small import Matrix, Vector, cross, dot, times

# M(q), C(q, qd) and g(q) of the exact model, over array components.
#
# Written once, so that the same source runs on NumPy, on JAX arrays and on CasADi symbols. Every
# kinetic energy here is a quadratic form with constant weights W in velocities u = N(q) qd that are
# rates of coordinates (elbows, platform, rod direction), so M = N^T W N and C = N^T W Nd, for which
# Md - 2C = Nd^T W N - N^T W Nd is skew. The shaft's spin is no such rate: there the shaft is a
# rigid body.


class TermComponents(NamedTuple):
    """tau = M qdd + C qd + g: rows of M and C (dof, dof), and g (dof)."""

    M: Matrix
    C: Matrix
    g: list[Component]


def term_components(
    xp: Any,
    par: ExactParameters,
    cos_q: Vector,
    sin_q: Vector,
    qd: Vector,
    p: Vector,
    pd: Vector,
) -> TermComponents:
    """M, C and g of the exact model without friction.

    With the columns J_i of the Jacobian of the platform point and X_i = m_x E'_i:
    M = A + M_P J^T J + X^T J + J^T X,  C = M_P J^T Jd + X^T Jd + J^T Xd [+ spindle].
    """
    dof, legs = len(qd), len(par.limbs)
    arms = arm_map(xp, par.limbs, cos_q, sin_q, qd, p, pd)
    terms = TermComponents(_zeros(dof), _zeros(dof), [0.0] * dof)
    X = [times(e1, m) for e1, m in zip(arms.e1, par.m_x, strict=True)]
    Xd = [times(rate, m) for rate, m in zip(arms.e1_rate, par.m_x, strict=True)]
    J, Jd, K, Kd = arms.J, arms.Jd, arms.K, arms.Kd
    for i, j in _pairs(legs):
        terms.M[i][j] = par.M_P * _along(J[i], J[j]) + dot(X[i], K[i][j]) + dot(K[j][i], X[j])
    for i in range(legs):
        terms.M[i][i] = terms.M[i][i] + par.A[i]
        for j in range(legs):
            moved = dot(X[i], Kd[i][j]) + dot(K[j][i], Xd[j])
            terms.C[i][j] = par.M_P * _along(J[i], Jd[j]) + moved
    lift = platform_force(xp, replace(par, halves=None), None, p, pd, (0.0,) * dof)
    for i in range(legs):
        limb, g = par.limbs[i], par.gravity
        own = limb.gravity(cos_q[i], sin_q[i], g * par.G[i], g * par.G_s[i])
        terms.g[i] = J[i][-1 if legs == 2 else 2] * lift[-1] + own
    if par.halves is not None:
        place = par.limbs.carrier.place(xp, p)
        _add_halves(terms, par, halves_slopes(xp, par, place, p), pd[3], arms)
    if par.spindle is not None:
        cos_psi, sin_psi = xp.cos(p[3]), xp.sin(p[3])
        rod = telescope(xp, par.spindle.pivot_z, p)
        _add_rods_and_shaft(terms, par.spindle, par.gravity, rod, (cos_psi, sin_psi), pd, arms)
        _add_effector(terms, par.spindle, (cos_psi, sin_psi), pd[3], arms)
    for i, j in _pairs(dof):
        terms.M[j][i] = terms.M[i][j]
    return terms


def _along(a: Vector, b: Vector) -> Component:
    """a . b of the translations, of two or three coordinates."""
    if len(a) == 2:
        return a[0] * b[0] + a[1] * b[1]
    return dot(a, b)


def _add_halves(
    terms: TermComponents,
    par: ExactParameters,
    slopes: HalvesSlopes,
    psid: Component,
    arms: ArmMap,
) -> None:
    """M_pl gains [[0, w], [w^T, I_psi]] and C_pl [[0, w' psid], [0, 0]]; psi lifts what rises."""
    assert par.halves is not None
    w, bend, lifted = slopes
    J, Jd, inertia = arms.J, arms.Jd, par.halves.I_psi
    turning = times(bend, psid)
    for i, j in _pairs(4):
        cross_term = dot(w, J[i]) * J[j][3] + dot(w, J[j]) * J[i][3]
        terms.M[i][j] = terms.M[i][j] + cross_term + inertia * (J[i][3] * J[j][3])
    for i in range(4):
        terms.g[i] = terms.g[i] + J[i][3] * (par.gravity * lifted)
        for j in range(4):
            moved = dot(w, J[i]) * Jd[j][3] + dot(w, Jd[j]) * J[i][3]
            moved = moved + dot(turning, J[i]) * J[j][3] + inertia * (J[i][3] * Jd[j][3])
            terms.C[i][j] = terms.C[i][j] + moved


def _add_rods_and_shaft(
    terms: TermComponents,
    par: SpindleParameters,
    gravity: Any,
    rod: Telescope,
    fork: tuple[Component, Component],
    pd: Vector,
    arms: ArmMap,
) -> None:
    """H/2 |vd|^2 - kappa pd.vd with vd = V qd, and I_axial/2 spin^2 with spin = n qd.

    The shaft turns at omega = v x vd + spin v, so C gains I (n_i (nd_j + t_j) - t_i n_j) with
    t = V^T (v x vd).
    """
    rate = telescope_rate(rod, pd)
    J, Jd, v, vd = arms.J, arms.Jd, rod.v, rate.v
    V = [turned(rod, column) for column in J]
    Vd = [_turning(rod, rate, V[j], J[j], Jd[j]) for j in range(3)]
    for i in range(3):
        terms.g[i] = terms.g[i] + gravity * (par.mu - par.kappa) * V[i][2]
        for j in range(3):
            if j >= i:
                moved = dot(J[i], V[j]) + dot(V[i], J[j])
                terms.M[i][j] = terms.M[i][j] + par.H * dot(V[i], V[j]) - par.kappa * moved
            bent = dot(J[i], Vd[j]) + dot(V[i], Jd[j])
            terms.C[i][j] = terms.C[i][j] + par.H * dot(V[i], Vd[j]) - par.kappa * bent
    spin, spin_rate = spin_map(rod, *fork), spin_map_rate(rod, rate, *fork, pd[3])
    n = [dot(spin.n_p, column) for column in J] + [spin.n_psi]
    nd = [dot(spin_rate.n_p, J[j]) + dot(spin.n_p, Jd[j]) for j in range(3)]
    nd.append(spin_rate.n_psi)
    across = cross(v, vd)
    t = [dot(column, across) for column in V] + [0.0]
    for i, j in _pairs(4):
        terms.M[i][j] = terms.M[i][j] + par.I_axial * (n[i] * n[j])
    for i in range(4):
        for j in range(4):
            gain = n[i] * (nd[j] + t[j]) - t[i] * n[j]
            terms.C[i][j] = terms.C[i][j] + par.I_axial * gain


def _add_effector(
    terms: TermComponents,
    par: SpindleParameters,
    fork: tuple[Component, Component],
    psid: Component,
    arms: ArmMap,
) -> None:
    """(z x h).pd psid with h turning by psi, and the inertia about the axis with its rotor."""
    c, s = fork
    hx, hy = par.h_x * c - par.h_y * s, par.h_x * s + par.h_y * c
    for j in range(3):
        J, Jd = arms.J[j], arms.Jd[j]
        terms.M[j][3] = terms.M[j][3] + (hx * J[1] - hy * J[0])
        terms.C[3][j] = terms.C[3][j] + (hx * Jd[1] - hy * Jd[0])
        terms.C[j][3] = terms.C[j][3] - psid * (hx * J[0] + hy * J[1])
    terms.M[3][3] = terms.M[3][3] + par.I_psi


def _turning(rod: Telescope, rate: TelescopeRate, V: Vector, J: Vector, Jd: Vector) -> Vector:
    """B Jd + Bd J with Bd = -(v vd^T + vd v^T + ld B) / l, for one column; V = B J."""
    first, second = dot(rate.v, J), dot(rod.v, J)
    bent = turned(rod, Jd)
    change = tuple(first * rod.v[k] + second * rate.v[k] + rate.l * V[k] for k in range(3))
    return tuple(bent[k] - change[k] * rod.over for k in range(3))


def _zeros(dof: int) -> Matrix:
    return [[0.0] * dof for _ in range(dof)]


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    """Places on and above the diagonal."""
    return ((i, j) for i in range(count) for j in range(i, count))


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
    if robot.legs != 3:
        maps = joint_map(robot, state)
        rows = [0, 2] if robot.planar else [0, 1, 2]
        for out, found in ((J, maps.J), (Jd, maps.Jd)):
            out[:, rows] = side_by_side(found)[:, : len(rows)]
        return geometry, PlatformMap(J, Jd)
    J[:, :, :3] = geometry.jacobian
    Jd[:, :, :3] = geometry.jacobian_rate(state.qd)
    return geometry, PlatformMap(J, Jd)


def joint_map(robot: Robot, state: State) -> ArmMap:
    """The columns of J, and of the attachments' velocities, with their rates, of many samples."""
    parts = (state.cos_q, state.sin_q, state.qd, state.p, state.pd)
    with np.errstate(invalid="ignore", divide="ignore"):
        return arm_map(np, limbs(robot), *(columns(part) for part in parts))


def side_by_side(found: list[Vector]) -> FloatArray:
    """Columns of components as one array (N, rows, columns)."""
    return np.stack([np.stack(np.broadcast_arrays(*column), axis=1) for column in found], axis=2)


def pushed(robot: Robot, state: State, external: FloatArray) -> FloatArray:
    """J^T f (N, dof): what a force and moment (N, dof) on the platform give at the drives."""
    if robot.legs != 3:
        return contract("nkd,nk->nd", side_by_side(joint_map(robot, state).J), external)
    _, (J, _) = platform_map(robot, state)
    out = contract("nkd,nk->nd", J, external[:, :3])
    if robot.spindle is not None:
        out[:, 3] += external[:, 3]
    return out


def exact_terms(robot: Robot, par: ExactParameters, state: State) -> Terms:
    """The terms of the exact model with any parameters; `robot` gives the kinematics."""
    compiled = kernels.compiled_terms(robot, par, state)
    if compiled is not None:
        return Terms(*compiled)

    def core(*components: tuple[Component, ...]) -> list[Component]:
        terms = term_components(np, par, *components)
        return [value for row in (*terms.M, *terms.C, terms.g) for value in row]

    dof = robot.dof
    inputs = (state.cos_q, state.sin_q, state.qd, state.p, state.pd)
    joined = map_chunks(core, inputs, 2 * dof * dof + dof)
    M, C, g = np.split(joined, (dof * dof, 2 * dof * dof), axis=1)
    return Terms(M.reshape(-1, dof, dof), C.reshape(-1, dof, dof), g)


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
