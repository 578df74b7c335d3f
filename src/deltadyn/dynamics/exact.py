"""The exact model: thin struts with any mass distribution, generic arms, rotors, the spindle.

Written once over array components, with arithmetic, `sqrt`, `cos` and `sin` alone, so that the
same source runs on NumPy, on JAX arrays and on CasADi symbols. No passive angle is needed: a
strut's kinetic energy depends on the velocities of its two ends.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from deltadyn.arrays import Component
from deltadyn.dynamics.parameters import ExactParameters, SpindleParameters
from deltadyn.kinematics.limbs import acceleration_of, rods_of
from deltadyn.kinematics.platform import Helical, telescope, telescope_acceleration, telescope_rate
from deltadyn.small import Vector, cross, dot


class SpindleForces(NamedTuple):
    """What spindle, effector and payload ask of the platform (N) and of axis 4 (N m)."""

    force: Vector
    torque: Component


def inverse_dynamics(
    xp: Any,
    par: ExactParameters,
    cos_q: Vector,
    sin_q: Vector,
    qd: Vector,
    qdd: Vector,
    p: Vector,
    pd: Vector,
    pdd: Vector,
    external: Vector = (),
) -> list[Component]:
    """Torque of every axis without friction, in N m.

    F = M_P pdd + sum m_x B^T (E' qdd + E'' qd^2) + g (M_P + sum m_x) z - F_ext [+ spindle, halves]
    tau = A qdd + m_x E'.add + own gravity + d (S^-T F)
    """
    g, carrier = par.gravity, par.limbs.carrier
    rods = rods_of(xp, par.limbs, cos_q, sin_q, p)
    force = platform_force(xp, par, rods.place, p, pd, pdd)
    tau: list[Component] = []
    for i, limb in enumerate(par.limbs):
        c, s, m_x = cos_q[i], sin_q[i], par.m_x[i]
        elbow = limb.elbow_force(m_x, c, s, qd[i], qdd[i])
        pulled = carrier.pull(rods.place, i, elbow)
        force = [a + b for a, b in zip(force, pulled, strict=True)]
        add = acceleration_of(carrier, rods.place, i, pd, pdd)
        own = par.A[i] * qdd[i] + limb.along_slope(m_x, c, s, add)
        tau.append(own + limb.gravity(c, s, g * par.G[i], g * par.G_s[i]))
    if external:
        force = [a - external[k] for k, a in enumerate(force)]
    if par.spindle is not None:
        turning = spindle_forces(xp, par.spindle, g, p, pd, pdd)
        force = [force[k] + turning.force[k] for k in range(3)]
    for i, share in enumerate(rods.inverse.solve_transposed(force)):
        tau[i] = tau[i] + rods.local[i].d * share
    if par.spindle is not None:
        tau.append(turning.torque - external[3] if len(external) == 4 else turning.torque)
    return tau


def platform_force(
    xp: Any, par: ExactParameters, place: Any, p: Vector, pd: Vector, pdd: Vector
) -> list[Component]:
    """What the platform itself, and the weight of the struts' m_x, ask of the carried coordinates.

    M_P (pdd + g z); of halves also w psidd + w' psid^2, and I_psi psidd + w.pdd [+ g S] on psi.
    """
    g, M_P = par.gravity, par.M_P
    weight = M_P
    for m_x in par.m_x:
        weight = weight + m_x
    lift = g * weight
    if par.limbs.carrier.carried == 2:
        return [M_P * pdd[0], M_P * pdd[1] + lift]
    force = [M_P * pdd[0], M_P * pdd[1], M_P * pdd[2] + lift]
    if par.halves is None:
        return force
    w, bend, heavy = halves_slopes(xp, par, place, p)
    turn2 = pd[3] * pd[3]
    force = [force[k] + w[k] * pdd[3] + bend[k] * turn2 for k in range(3)]
    return [*force, par.halves.I_psi * pdd[3] + dot(w, pdd) + g * heavy]


class HalvesSlopes(NamedTuple):
    """w = d(sum m r)/dpsi of all that psi moves, its slope w' by psi, and what of it is lifted."""

    w: Vector
    bend: Vector
    lifted: Component


def halves_slopes(xp: Any, par: ExactParameters, place: Any, p: Vector) -> HalvesSlopes:
    """w and w' of a platform of two halves: bars and gears, or the screw, and the tool's h."""
    own, carrier = par.halves, par.limbs.carrier
    assert own is not None
    c, s = xp.cos(p[3]), xp.sin(p[3])
    turned = (-own.h_x * s - own.h_y * c, own.h_x * c - own.h_y * s)  # h_x t' - h_y t
    inward = (-own.h_x * c + own.h_y * s, -own.h_x * s - own.h_y * c)
    if isinstance(carrier, Helical):
        lifted = own.S
        for i, m_x in enumerate(par.m_x):  # struts that pull at a half which rises
            lifted = lifted + m_x * (carrier.sigma_1 if i < 2 else carrier.sigma_2)
        return HalvesSlopes((*turned, own.S), (*inward, 0.0), lifted)
    n, across, rate = place.n, place.across, carrier.rate  # type: ignore[attr-defined]
    w = tuple(rate * (own.S * across[k] - own.S_s * n[k]) + turned[k] for k in range(2))
    lean = tuple(-rate * rate * (own.S * n[k] + own.S_s * across[k]) + inward[k] for k in range(2))
    return HalvesSlopes((*w, 0.0), (*lean, 0.0), 0.0)


def spindle_forces(
    xp: Any, par: SpindleParameters, gravity: Any, p: Vector, pd: Vector, pdd: Vector
) -> SpindleForces:
    """Forces of T = H/2 |vd|^2 - kappa pd.vd + I_axial/2 spin^2 + effector, V = g (mu - kappa) v_z.

    The lower rod's and the effector's mass are in M_P already. B = dv/dp = (1 - v v^T)/l.
    """
    rod = telescope(xp, par.pivot_z, p)
    rate = telescope_rate(rod, pd)
    v, vdd, over = rod.v, telescope_acceleration(rod, rate, pdd).v, rod.over
    inner = [par.H * vdd[k] - par.kappa * pdd[k] for k in range(3)]
    inner[2] = inner[2] + gravity * (par.mu - par.kappa)
    cos_psi, sin_psi = xp.cos(p[3]), xp.sin(p[3])
    shaft = _shaft_spin(par.I_axial, (cos_psi, sin_psi), v, rate.v, vdd, pd[3], pdd[3])
    inner = [inner[k] + shaft[k] for k in range(3)]
    along = inner[0] * v[0] + inner[1] * v[1] + inner[2] * v[2]
    hx = par.h_x * cos_psi - par.h_y * sin_psi
    hy = par.h_x * sin_psi + par.h_y * cos_psi
    turn2 = pd[3] * pd[3]
    force = (
        (inner[0] - v[0] * along) * over - par.kappa * vdd[0] - hy * pdd[3] - hx * turn2,
        (inner[1] - v[1] * along) * over - par.kappa * vdd[1] + hx * pdd[3] - hy * turn2,
        (inner[2] - v[2] * along) * over - par.kappa * vdd[2],
    )
    torque = par.I_psi * pdd[3] + hx * pdd[1] - hy * pdd[0] + shaft[3]
    return SpindleForces(force, torque)


def _shaft_spin(
    I_axial: Any,
    fork: tuple[Component, Component],
    v: Vector,
    vd: Vector,
    vdd: Vector,
    psid: Component,
    psidd: Component,
) -> tuple[Component, Component, Component, Component]:
    """The shaft's axial inertia: its force on v (three parts) and its torque on axis 4.

    With the fork axis a, e = a.v and w = v x a, spin = (v_z psid - e w.vd) / (1 - e^2); the
    moment d/dt (I spin v) meets d omega = v x dv + d spin v.
    """
    a = (fork[0], fork[1], 0.0)
    ad = (-fork[1] * psid, fork[0] * psid, 0.0)
    e = a[0] * v[0] + a[1] * v[1]
    ed = a[0] * vd[0] + a[1] * vd[1] + ad[0] * v[0] + ad[1] * v[1]
    w = (-v[2] * a[1], v[2] * a[0], v[0] * a[1] - v[1] * a[0])
    wd_by_fork = (-v[2] * ad[1], v[2] * ad[0], v[0] * ad[1] - v[1] * ad[0])
    k, kd = dot(w, vd), dot(w, vdd) + dot(wd_by_fork, vd)
    over = 1 / (1 - e * e)
    spin = (v[2] * psid - e * k) * over
    spind = (vd[2] * psid + v[2] * psidd - ed * k - e * kd + 2 * e * ed * spin) * over
    gyroscopic = cross(vd, v)
    lead = -e * spind * over
    force = tuple(I_axial * (lead * w[j] + spin * gyroscopic[j]) for j in range(3))
    return force[0], force[1], force[2], I_axial * spind * v[2] * over
