"""[falezza2022] section 3 by its printed derivatives: eqs. 12, 13, 19-28, then 29 and 30.

The formulas stand here as the paper writes them, one line for one of its lines, each slip behind a
switch. They run on arrays, and on the symbols that count operations and are compiled: `xp` has
sqrt, sin, cos, arccos and arcsin. With every slip corrected they are the exact model.

A limb has the coordinates q = (x, y, z, theta); the rates of its passive angles are linear in qd,
so that dpsid/dqd_k is dpsi/dq_k.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from enum import auto
from typing import Any, NamedTuple

import numpy as np

from deltadyn.reproduce.audit.records import Slip
from deltadyn.robot import Robot


class CompleteSlip(Slip):
    """Slips of section 3: the first seven in the energies, the rest in their derivatives."""

    CONSTRAINT = auto()
    ANGLES = auto()
    ANGLE_HEIGHT = auto()
    TANGENT = auto()
    HEIGHT = auto()
    ROD_INERTIA = auto()
    SWAY = auto()
    PLATFORM_INERTIA = auto()
    ARM_INERTIA = auto()
    ARM_MOMENT = auto()
    PLATFORM_WEIGHT = auto()


class DerivativeSlip(Slip):
    """Slips of eqs. 19-28 beside those of `CompleteSlip`."""

    ANGLE_ACCELERATION = auto()
    RATE_BY_POSITION = auto()
    PRODUCT_RULE = auto()
    SWAY_TURN = auto()
    K2_FACTOR = auto()
    K2_COUPLING = auto()
    ARM_SQUARE = auto()
    ARM_TURN = auto()
    K1_BY_RATE = auto()
    K1_SLOPE = auto()
    K2_SLOPE = auto()
    K1_BY_POSITION = auto()
    K2_BY_POSITION = auto()
    PSI_BY_POSITION = auto()
    SWAY_INERTIA = auto()
    SWING_RATE = auto()


Four = tuple[Any, Any, Any, Any]  # a derivative by x, y, z, theta


class Numbers(NamedTuple):
    """The papers' symbols for a robot with equal limbs, numbers or symbols (m, kg, kg m^2).

    m2 is the pair of rods.
    """

    r: Any
    l1: Any
    l2: Any
    m0: Any
    m1: Any
    m2: Any
    a1: Any
    I1: Any
    I3: Any  # rotor at the output side
    g: Any
    alpha: Any


def numbers(robot: Robot) -> Numbers:
    """The papers' symbols of a robot with equal limbs."""
    geometry, arm, strut = robot.rotary, robot.rotary_arms[0], robot.struts[0]
    return Numbers(
        r=geometry.shrunk_radius[0],
        l1=geometry.arm_length[0],
        l2=geometry.strut_length[0],
        m0=robot.platform.mass + robot.effector.mass + robot.payload.mass,
        m1=arm.mass,
        m2=strut.rods * strut.mass,
        a1=arm.com,
        I1=arm.inertia,
        I3=robot.drives.output_inertia[0],
        g=robot.gravity,
        alpha=np.asarray(robot.geometry.azimuth),
    )


class Ratio(NamedTuple):
    """h or n of eq. 12: the cosine or sine of a passive angle, with its derivatives."""

    value: Any
    rate: Any
    acceleration: Any
    by_position: Four
    by_position_rate: Four  # d/dt of these, which is the derivative of `rate` by q


class Angle(NamedTuple):
    """A passive angle with the derivatives of eqs. 13 and 22-24 and those by the positions."""

    value: Any
    rate: Any
    acceleration: Any
    by_position: Four
    rate_by_position: Four
    slope_rate: Four  # d/dt d rate / d qd_k


class Limb(NamedTuple):
    """What the formulas of one limb share."""

    par: Numbers
    ca: Any
    sa: Any
    c: Any  # cos and sin of theta, beta, psi
    s: Any
    cb: Any
    sb: Any
    cp: Any
    sp: Any
    theta_rate: Any
    theta_acceleration: Any
    beta_rate: Any
    beta_acceleration: Any
    psi: Angle
    gamma: Angle
    k1: Any  # eqs. 10 and 11 and their rates
    k2: Any
    k1_rate: Any
    k2_rate: Any


def strut_forces(
    xp: Any, par: Numbers, directions: Four, q: Four, qd: Four, qdd: Four, slips: Set[Slip]
) -> list[Any]:
    """d/dt dT2/dqd_k - dT2/dq_k + dV2/dq_k of one strut by x, y, z, theta (N, N m).

    `directions` are cos(alpha), sin(alpha), cos(theta) and sin(theta).
    """
    limb = limb_of(xp, par, directions, q, qd, qdd, slips)
    inertia = par.m2 * par.l2 * par.l2 / (3 if CompleteSlip.ROD_INERTIA in slips else 12)
    forces = []
    for k in range(4):
        turn = 1 + limb.gamma.by_position[3] if k == 3 else limb.gamma.by_position[k]
        by_rate, by_position = (
            joint_terms(limb, slips) if k == 3 else cartesian_terms(limb, k, slips)
        )
        force = par.m2 * 0.5 * (by_rate - by_position)
        force = force + inertia * _turning(limb, k, turn, slips)
        lift = turn * limb.cb * limb.cp - limb.sb * limb.psi.by_position[k] * limb.sp
        weight = par.m2 * par.g * (par.l2 * 0.5) * lift
        if k == 3:
            weight = weight + par.m2 * par.g * par.l1 * limb.c
        forces.append(force + weight if CompleteSlip.HEIGHT in slips else force - weight)
    return forces


def limb_of(
    xp: Any, par: Numbers, directions: Four, q: Four, qd: Four, qdd: Four, slips: Set[Slip]
) -> Limb:
    """Eqs. 10-13 of one limb and the rates of k1 and k2."""
    ca, sa, c, s = directions
    if CompleteSlip.ANGLES in slips:
        h, n = printed_ratios(par, directions, q, qd, qdd, slips)
        psi = passive_angle(xp, h, slips, arc=xp.arccos, sign=-1)
        gamma = passive_angle(xp, n, slips, arc=xp.arccos, sign=-1)
    else:  # sin(psi) and cos(beta), so that gamma is what the second has beside theta
        h, n = right_ratios(xp, par, directions, q, qd, qdd)
        psi = passive_angle(xp, h, slips, arc=xp.arcsin, sign=1)
        beta = passive_angle(xp, n, slips, arc=xp.arccos, sign=-1)
        x, y, z, theta = beta.by_position
        gamma = beta._replace(
            value=beta.value - q[3],
            rate=beta.rate - qd[3],
            acceleration=beta.acceleration - qdd[3],
            by_position=(x, y, z, theta - 1),
        )
    angle = q[3] + gamma.value
    sb, cb, sp, cp = xp.sin(angle), xp.cos(angle), xp.sin(psi.value), xp.cos(psi.value)
    a2 = par.l2 * 0.5
    td, tdd = qd[3], qdd[3]
    bd, bdd = td + gamma.rate, tdd + gamma.acceleration
    pd, pdd = psi.rate, psi.acceleration
    k1 = par.l1 * td * s + a2 * (bd * sb * cp + cb * pd * sp)
    k2 = bd * cb * cp - sb * pd * sp
    k1_rate = (
        par.l1 * (tdd * s + td * td * c)
        + a2 * (bdd * sb * cp + bd * bd * cb * cp)
        + a2 * (cb * (pdd * sp + pd * pd * cp) - 2 * bd * sb * pd * sp)
    )
    k2_rate = (
        bdd * cb * cp - bd * bd * sb * cp - 2 * bd * cb * pd * sp - sb * (pdd * sp + pd * pd * cp)
    )
    return Limb(
        par, ca, sa, c, s, cb, sb, cp, sp, td, tdd, bd, bdd, psi, gamma, k1, k2, k1_rate, k2_rate
    )


def printed_ratios(
    par: Numbers, directions: Four, q: Four, qd: Four, qdd: Four, slips: Set[Slip]
) -> tuple[Ratio, Ratio]:
    """h and n of eq. 12; the paper does not print their derivatives, which are ours."""
    (ca, sa, c, s), (x, y, z, _), (xd, yd, zd, td) = directions, q, qd
    up = 1 if CompleteSlip.ANGLE_HEIGHT in slips else -1
    double = c * c - s * s
    along = x * ca + y * sa
    h = (c * along - par.r * c - par.l1 * c * c) / par.l2
    h_q = (
        c * ca / par.l2,
        c * sa / par.l2,
        0.0,
        (par.r * s + 2 * par.l1 * c * s - s * along) / par.l2,
    )
    along_rate = xd * ca + yd * sa
    h_turn = par.r * c + 2 * par.l1 * double - c * along
    h_qt = (
        -s * ca * td / par.l2,
        -s * sa * td / par.l2,
        0.0,
        (h_turn * td - s * along_rate) / par.l2,
    )
    n = (x * c * ca - (par.r * c + par.l1 * c * c) * ca * ca + up * z * s - par.l1 * s * s) / par.l2
    slope = (par.r * s + 2 * par.l1 * c * s) * ca * ca - 2 * par.l1 * s * c
    n_q = (c * ca / par.l2, 0.0, up * s / par.l2, (slope - x * s * ca + up * z * c) / par.l2)
    bend = (par.r * c + 2 * par.l1 * double) * ca * ca - 2 * par.l1 * double
    n_turn = bend - x * c * ca - up * z * s
    n_qt = (
        -s * ca * td / par.l2,
        0.0,
        up * c * td / par.l2,
        (n_turn * td - xd * s * ca + up * zd * c) / par.l2,
    )
    return _ratio(h, h_q, h_qt, qd, qdd), _ratio(n, n_q, n_qt, qd, qdd)


def right_ratios(
    xp: Any, par: Numbers, directions: Four, q: Four, qd: Four, qdd: Four
) -> tuple[Ratio, Ratio]:
    """sin(psi) = s_t / l2 and cos(beta) = s_r / (l2 cos(psi)) of the strut s, in the arm's axes."""
    (ca, sa, c, s), (x, y, _, _), (xd, yd, _, td) = directions, q, qd
    tangential, tangential_rate = y * ca - x * sa, yd * ca - xd * sa
    radial = x * ca + y * sa - par.r - par.l1 * c
    radial_rate = xd * ca + yd * sa + par.l1 * s * td
    h_q = (-sa / par.l2, ca / par.l2, 0.0, 0.0)
    h = _ratio(tangential / par.l2, h_q, (0.0, 0.0, 0.0, 0.0), qd, qdd)
    square = par.l2 * par.l2 - tangential * tangential
    length = xp.sqrt(square)
    over = 1 / length
    sway = radial * tangential * over / square
    sway_rate = (
        radial_rate * tangential + radial * tangential_rate
    ) * over / square + 3 * sway * tangential * tangential_rate / square
    stretch = tangential * tangential_rate * over / square  # d/dt of 1 / length
    n_q = (ca * over - sa * sway, sa * over + ca * sway, 0.0, par.l1 * s * over)
    n_qt = (
        ca * stretch - sa * sway_rate,
        sa * stretch + ca * sway_rate,
        0.0,
        par.l1 * (c * td * over + s * stretch),
    )
    return h, _ratio(radial * over, n_q, n_qt, qd, qdd)


def _ratio(value: Any, slope: Four, slope_rate: Four, qd: Four, qdd: Four) -> Ratio:
    """A ratio whose derivatives by q and their rates are known."""
    rate = _sum(slope, qd)
    return Ratio(value, rate, _sum(slope, qdd) + _sum(slope_rate, qd), slope, slope_rate)


def _sum(a: Four, b: Four) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


def passive_angle(xp: Any, ratio: Ratio, slips: Set[Slip], *, arc: Any, sign: int) -> Angle:
    """Eqs. 13 and 22-24 of arc(ratio): `sign` is that of the arc's derivative."""
    n, rate = ratio.value, ratio.rate
    w = 1 - n * n
    root = sign / xp.sqrt(w)
    cube = root / w  # sign / w^(3/2)
    printed_square = DerivativeSlip.ANGLE_ACCELERATION in slips
    twist = rate * rate * rate if printed_square else n * rate * rate
    change = n * n if DerivativeSlip.RATE_BY_POSITION in slips else n * rate

    def four(formula: Any) -> Four:
        pairs = zip(ratio.by_position, ratio.by_position_rate, strict=True)
        x, y, z, theta = (formula(*pair) for pair in pairs)
        return x, y, z, theta

    return Angle(
        arc(n),
        root * rate,
        (ratio.acceleration * w + twist) * cube,
        four(lambda by, _: root * by),
        four(lambda by, by_rate: (by * change + by_rate * w) * cube),
        four(lambda by, by_rate: (by * n * rate + by_rate * w) * cube),
    )


def _turning(limb: Limb, k: int, turn: Any, slips: Set[Slip]) -> Any:
    """The part of eq. 19 and of dT/dq_k that stands beside I2."""
    bd, bdd, psi, gamma = limb.beta_rate, limb.beta_acceleration, limb.psi, limb.gamma
    swing = bdd * turn + bd * gamma.slope_rate[k]
    rate = gamma.rate if k == 3 and DerivativeSlip.SWING_RATE in slips else bd
    back = rate * gamma.rate_by_position[k]
    if CompleteSlip.SWAY not in slips:  # I2 (betad cos(psi))^2
        cp, sp = limb.cp, limb.sp
        swing = cp * cp * swing - 2 * cp * sp * psi.rate * bd * turn
        back = cp * cp * back - cp * sp * psi.by_position[k] * bd * bd
    sway = psi.acceleration * psi.by_position[k] + psi.rate * psi.slope_rate[k]
    back = back + psi.rate * psi.rate_by_position[k]
    if k == 3 and DerivativeSlip.SWAY_INERTIA in slips:
        return swing - back
    return swing + sway - back


def cartesian_terms(limb: Limb, k: int, slips: Set[Slip]) -> tuple[Any, Any]:
    """d/dt d|xd_2i|^2/dxd (25) and d|xd_2i|^2/dx with eqs. 27, for x, y or z."""
    par, c, s, cb, sb, cp, sp = limb[0], limb.c, limb.s, limb.cb, limb.sb, limb.cp, limb.sp
    bd, pd, td, tdd = limb.beta_rate, limb.psi.rate, limb.theta_rate, limb.theta_acceleration
    a2, l1, l2 = par.l2 * 0.5, par.l1, par.l2
    g, p = limb.gamma.by_position[k], limb.psi.by_position[k]
    g_t, p_t = limb.gamma.slope_rate[k], limb.psi.slope_rate[k]
    gd, pd_q = limb.gamma.rate_by_position[k], limb.psi.rate_by_position[k]

    k1_v = a2 * (g * sb * cp + p * cb * sp)
    k2_v = g * cb * cp - p * sb * sp
    k1_vt = a2 * (g_t * sb * cp + g * bd * cb * cp - g * sb * pd * sp) + a2 * (
        p_t * cb * sp - p * bd * sb * sp + p * cb * pd * cp
    )
    k2_vt = (
        g_t * cb * cp
        - g * bd * sb * cp
        - g * cb * pd * sp
        - (p_t * sb * sp + p * bd * cb * sp + p * sb * pd * cp)
    )
    factor = a2 if DerivativeSlip.K2_FACTOR in slips else l2 * l2 * 0.5
    by_rate = (
        2 * (limb.k1_rate * k1_v + limb.k1 * k1_vt)
        + _sway_by_rate(limb, k, k1_v, k1_vt, slips)
        + factor * (limb.k2_rate * k2_v + limb.k2 * k2_vt)
        + l2 * l1 * (tdd * c * k2_v - td * td * s * k2_v + td * c * k2_vt)
    )

    k1_q = a2 * (sb * (gd * cp - bd * p * sp - g * pd * sp)) + a2 * (
        cb * (bd * g * cp + pd_q * sp + pd * p * cp)
    )
    k2_q = -sb * (bd * g * cp + pd_q * sp + pd * p * cp) + cb * (
        gd * cp - bd * p * sp - g * pd * sp
    )
    lever = l1 if DerivativeSlip.K2_COUPLING in slips else 2 * l1 / l2
    by_position = (
        2 * limb.k1 * k1_q
        + l2 * l2 * 0.5 * (k2_q * (limb.k2 + lever * td * c))
        + _sway_by_position(limb, k, k1_q, slips)
    )
    return by_rate, by_position


def joint_terms(limb: Limb, slips: Set[Slip]) -> tuple[Any, Any]:
    """d/dt d|xd_2i|^2/dthetad (26) and d|xd_2i|^2/dtheta (28)."""
    par, c, s, cb, sb, cp, sp = limb[0], limb.c, limb.s, limb.cb, limb.sb, limb.cp, limb.sp
    bd, pd, td, tdd = limb.beta_rate, limb.psi.rate, limb.theta_rate, limb.theta_acceleration
    a2, l1, l2 = par.l2 * 0.5, par.l1, par.l2
    g, p = limb.gamma.by_position[3], limb.psi.by_position[3]
    g_t, p_t = limb.gamma.slope_rate[3], limb.psi.slope_rate[3]
    gd, pd_q = limb.gamma.rate_by_position[3], limb.psi.rate_by_position[3]

    first = sb if DerivativeSlip.K1_BY_RATE in slips else cb
    k1_v = l1 * s + a2 * ((1 + g) * sb * cp + first * p * sp)
    k2_v = (1 + g) * cb * cp - sb * p * sp
    if DerivativeSlip.K1_SLOPE in slips:
        k1_vt = (
            2 * l1 * td * c
            + a2 * ((g_t * sb + 2 * bd * (1 + g) * cb) * cp)
            + a2 * (cb * (p_t * sp + 2 * pd * p * cp))
            - l2 * sb * sp * ((1 + p * pd) * pd + bd * p)
        )
    else:
        k1_vt = (
            l1 * td * c
            + a2 * ((g_t * sb + bd * (1 + g) * cb) * cp)
            + a2 * (cb * (p_t * sp + pd * p * cp))
            - a2 * sb * sp * ((1 + g) * pd + bd * p)
        )
    turn = g if DerivativeSlip.K2_SLOPE in slips else 1 + g
    k2_vt = (
        (g_t * cb - turn * bd * sb) * cp
        - turn * cb * pd * sp
        - (bd * cb * p + sb * p_t) * sp
        - sb * p * pd * cp
    )
    factor = a2 if DerivativeSlip.K2_FACTOR in slips else l2 * l2 * 0.5
    if DerivativeSlip.ARM_SQUARE in slips:
        arm = 2 * l1 * (td * c * c - 2 * td * td * c * s)
    else:
        arm = 2 * l1 * l1 * (tdd * c * c - 2 * td * td * c * s)
    turning = tdd if DerivativeSlip.ARM_TURN in slips else td
    by_rate = (
        2 * (limb.k1_rate * k1_v + limb.k1 * k1_vt)
        + _sway_by_rate(limb, 3, k1_v, k1_vt, slips)
        + factor * (limb.k2_rate * k2_v + limb.k2 * k2_vt)
        + arm
        + l2
        * l1
        * (c * (limb.k2_rate + tdd * k2_v + td * k2_vt) - td * s * (limb.k2 + turning * k2_v))
    )

    swing = g if DerivativeSlip.K1_BY_POSITION in slips else 1 + g
    p_last = pd_q if DerivativeSlip.PSI_BY_POSITION in slips else p
    k1_q = (
        a2 * (sb * (gd * cp - bd * p * sp - (1 + g) * pd * sp))
        + a2 * (cb * (pd_q * sp + bd * swing * cp + p_last * pd * cp))
        + l1 * td * c
    )
    sway = pd_q * sp if DerivativeSlip.K2_BY_POSITION in slips else -pd_q * sp
    k2_q = cb * (gd * cp - bd * p * sp - (1 + g) * pd * sp) + sb * (
        sway - bd * (1 + g) * cp - p_last * pd * cp
    )
    by_position = (
        2 * limb.k1 * k1_q
        + l2 * l2 * 0.5 * (k2_q * limb.k2)
        - 2 * l1 * l1 * td * td * c * s
        + l2 * l1 * td * (c * k2_q - limb.k2 * s)
        + _sway_by_position(limb, 3, k1_q, slips)
    )
    return by_rate, by_position


def _sway_by_rate(limb: Limb, k: int, k1_v: Any, k1_vt: Any, slips: Set[Slip]) -> Any:
    """Lines of eqs. 25 and 26 from the sway's part of |xd_2i|^2."""
    l2, sa, ca, cp, sp = limb.par.l2, limb.sa, limb.ca, limb.cp, limb.sp
    psi = limb.psi
    pd, pdd, p, p_t = psi.rate, psi.acceleration, psi.by_position[k], psi.slope_rate[k]
    if CompleteSlip.TANGENT not in slips:  # a2^2 psid^2 cos(psi)^2 and no product with k1
        return l2 * l2 * 0.5 * (cp * cp * (pdd * p + pd * p_t) - 2 * cp * sp * pd * pd * p)
    turn = pdd if DerivativeSlip.SWAY_TURN in slips else pd
    third = limb.k1 * p_t if DerivativeSlip.PRODUCT_RULE in slips else limb.k1_rate * p
    return (
        l2 * l2 * 0.5 * sa * sa * (pdd * p + pd * p_t)
        + l2 * sa * ((turn * cp * sa - pd * sp * ca) * (k1_v * pd + limb.k1 * p))
        + l2 * sa * ((cp * ca + sp * sa) * (k1_vt * pd + k1_v * pdd + third + limb.k1 * p_t))
    )


def _sway_by_position(limb: Limb, k: int, k1_q: Any, slips: Set[Slip]) -> Any:
    """The same of d|xd_2i|^2/dq_k."""
    l2, sa, ca, cp, sp, pd = limb.par.l2, limb.sa, limb.ca, limb.cp, limb.sp, limb.psi.rate
    p, pd_q = limb.psi.by_position[k], limb.psi.rate_by_position[k]
    if CompleteSlip.TANGENT not in slips:
        return l2 * l2 * 0.5 * (cp * cp * pd * pd_q - cp * sp * pd * pd * p)
    return (
        l2 * l2 * 0.5 * (pd_q * pd * sa * sa)
        + l2 * sa * ((k1_q * pd + limb.k1 * pd_q) * (cp * ca + sp * sa))
        + l2 * sa * (limb.k1 * pd * p * (cp * sa - sp * ca))
    )


def complete_torques(
    xp: Any,
    par: Numbers,
    azimuths: Sequence[tuple[Any, Any]],
    limbs: Sequence[tuple[Four, Four, Four]],
    slips: Set[Slip],
) -> list[Any]:
    """Torques of the three drives by eqs. 29 and 30 (N m).

    `azimuths` are (cos, sin) of alpha and `limbs` (q, qd, qdd) of each limb; lambda follows by
    Cramer's rule.
    """
    simple = CompleteSlip.CONSTRAINT in slips
    (x, y, z, _), _, pdd = limbs[0]
    b = [0.0, 0.0, 0.0] if CompleteSlip.PLATFORM_INERTIA in slips else [par.m0 * a for a in pdd[:3]]
    b[2] = b[2] + (-par.m2 if CompleteSlip.PLATFORM_WEIGHT in slips else par.m0) * par.g
    arm = par.l1 * 0.5 if CompleteSlip.ARM_MOMENT in slips else par.a1
    square = par.l1 * par.l1 * 0.25 if CompleteSlip.ARM_INERTIA in slips else par.a1 * par.a1
    columns, levers, torques = [], [], []
    for (ca, sa), (q, qd, qdd) in zip(azimuths, limbs, strict=True):
        c, s = xp.cos(q[3]), xp.sin(q[3])
        force = strut_forces(xp, par, (ca, sa, c, s), q, qd, qdd, slips)
        b = [total + part for total, part in zip(b, force[:3], strict=True)]
        weight = par.m1 * par.g * arm * c
        own = (par.m1 * square + par.I1 + par.I3) * qdd[3] + force[3]
        torques.append(own + weight if CompleteSlip.HEIGHT in slips else own - weight)
        if simple:
            reach = -par.r + par.l1 * c
            columns.append((x - reach * ca, y - reach * sa, z - par.l1 * s))
            levers.append((x * ca + y * sa + par.r) * s - z * c)
        else:
            reach = par.r + par.l1 * c
            columns.append((x - reach * ca, y - reach * sa, z + par.l1 * s))
            levers.append(par.l1 * ((x * ca + y * sa - par.r) * s + z * c))
    twice_lambda = cramer(columns, b)
    return [tau - k * each for tau, k, each in zip(torques, levers, twice_lambda, strict=True)]


def cramer(columns: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """The solution of a 3x3 system given by its columns."""

    def determinant(a: Any, b: Any, c: Any) -> Any:
        return (
            a[0] * (b[1] * c[2] - b[2] * c[1])
            + a[1] * (b[2] * c[0] - b[0] * c[2])
            + a[2] * (b[0] * c[1] - b[1] * c[0])
        )

    whole = determinant(*columns)
    return [
        determinant(*(right if j == i else columns[j] for j in range(3))) / whole for i in range(3)
    ]
