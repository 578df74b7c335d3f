"""M(q), C(q, qd) and g(q) of the exact model and of its special cases, of many samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltadyn.arrays import Component, FloatArray, contract, map_chunks
from deltadyn.dynamics.compiled import compiled_terms
from deltadyn.dynamics.exact_terms import term_components
from deltadyn.dynamics.parameters import ExactParameters
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
    compiled = compiled_terms(robot, par, state)
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
