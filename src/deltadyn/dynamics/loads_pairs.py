"""The pairs of rods: forces at their ends, couples and axial forces; equations in `loads`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics.loads_platform import carried_loads, cross_rows, resolve, strut_friction
from deltadyn.dynamics.parameters import strut_masses
from deltadyn.kinematics.rates import LimbGeometry
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot


@dataclass(frozen=True, eq=False)
class PairLoads:
    """Forces (N, 3, 3) on the pairs, their couples and axial forces (N, 3), their directions.

    `at_elbow` (N, 3, 3) and `arm_friction` are Edd + g and the moment s x phi_E on the arms;
    `upper` and `lower` are the forces on the spindle's rods at their joints.
    """

    elbow: FloatArray
    platform: FloatArray
    couple: FloatArray
    axial_elbow: FloatArray
    axial_platform: FloatArray
    axial_max: FloatArray
    axial_min: FloatArray
    u: FloatArray  # (N, 3, 3), from elbow to platform
    e_r: FloatArray  # (3, 3), rows per arm
    t: FloatArray
    at_elbow: FloatArray
    arm_friction: FloatArray
    upper: FloatArray | None
    lower: FloatArray | None


def pair_loads(robot: Robot, state: State, external: FloatArray) -> PairLoads:
    """Solve the platform's force and moment balance for the pairs of rods."""
    g = robot.geometry
    limbs = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
    u = limbs.s / np.asarray(g.strut_length)[:, None]
    ca, sa, zero = np.cos(g.azimuth), np.sin(g.azimuth), np.zeros(3)
    e_r, t = np.stack([ca, sa, zero], axis=-1), np.stack([-sa, ca, zero], axis=-1)
    up = np.array([0.0, 0.0, robot.gravity])
    qd, qdd = state.qd[:, :3, None], state.qdd[:, :3, None]
    at_elbow = limbs.e1 * qdd + limbs.e2 * qd**2 + up  # (N, 3, 3), Edd + g
    at_platform = (state.pdd[:, :3] + up)[:, None]  # (N, 1, 3), pdd + g
    m_e, m_x, m_c = _masses(robot)
    phi = strut_friction(robot, state, limbs)
    drag = phi.elbow + phi.platform
    carried = carried_loads(robot, state, limbs, external)
    elbow = m_e * at_elbow + m_x * at_platform - drag
    platform = m_x * at_elbow + m_c * at_platform + drag
    force = platform.sum(axis=1) + carried.force - external[:, :3]
    tie = resolve(limbs.s, force)[..., None] * limbs.s  # lambda s
    elbow, platform = elbow + tie, platform - tie
    joints = np.asarray(g.platform_radius)[:, None] * e_r
    moment = cross_rows(limbs.s, phi.platform) - cross_rows(joints, platform)
    couple = resolve(cross_rows(t, u), moment.sum(axis=1) - carried.moment)
    first, last = -_along(elbow, u), _along(platform, u)
    accelerations = _along(at_elbow, u), _along(at_platform - at_elbow, u)
    return PairLoads(
        elbow,
        platform,
        couple,
        first,
        last,
        *_axial_extremes(robot, first, last, *accelerations),
        u,
        e_r,
        t,
        at_elbow,
        cross_rows(limbs.s, phi.elbow),
        carried.upper,
        carried.lower,
    )


def _masses(robot: Robot) -> tuple[FloatArray, FloatArray, FloatArray]:
    """m_e, m_x, m_c of the pairs as columns (3, 1), in kg."""
    three = strut_masses(robot)
    m_e, m_x, m_c = (
        np.array([[getattr(masses, name)] for masses in three]) for name in ("m_e", "m_x", "m_c")
    )
    return m_e, m_x, m_c


def _along(vectors: FloatArray, u: FloatArray) -> FloatArray:
    return contract("nik,nik->ni", vectors, u)


def _axial_extremes(
    robot: Robot, first: FloatArray, last: FloatArray, a0: FloatArray, a1: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Most and least tension (N, 3) along the struts: at the ends, or inside where N' = 0.

    N(xi) = N(0) + integral of rho (a0 + a1 xi) from elbow (0) to platform (1).
    """
    xi = -a0 / a1
    xi = np.where((xi > 0) & (xi < 1), xi, 0.0)
    r0, r1, r2 = _line_density(robot)
    inside = first + a0 * xi * (r0 + xi * (r1 / 2 + xi * r2 / 3))
    inside += a1 * xi**2 * (r0 / 2 + xi * (r1 / 3 + xi * r2 / 4))
    highest = np.maximum(np.maximum(first, last), inside)
    return highest, np.minimum(np.minimum(first, last), inside)


def _line_density(robot: Robot) -> tuple[FloatArray, FloatArray, FloatArray]:
    """rho = r0 + r1 xi + r2 xi^2 (kg) of the pairs, (3,) each, with their mass, COM and inertia.

    In Legendre polynomials of y = 2 xi - 1: m (1 + 3 E[P1(y)] P1(y) + 5 E[P2(y)] P2(y)).
    """
    struts, length = robot.struts, np.asarray(robot.geometry.strut_length)
    mass = np.array([strut.mass for strut in struts])
    f = np.array([strut.com_fraction for strut in struts])
    about_com = np.array([strut.inertia for strut in struts]) / length**2
    spread = np.divide(about_com, mass, out=np.full(3, 1 / 12), where=mass > 0)
    one = 3 * (2 * f - 1)
    two = 5 * (3 * ((2 * f - 1) ** 2 + 4 * spread) - 1) / 2
    pair = mass * np.array([strut.rods for strut in struts])
    return pair * (1 - one + two), pair * (2 * one - 6 * two), pair * 6 * two
