"""[falezza2020], [falezza2022]: the simplified model M_s = M_KH, eqs. 4-5, and what stands by it.

The paper's frame is ours: z up, the platform below, theta downward (its eq. 2). Its equations are
M (pdd + g) - 2 A lambda = 0 and tau = I thetadd + v - 2 K lambda.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics import inverse_dynamics
from deltadyn.kinematics import LimbGeometry, State
from deltadyn.reproduce.audit.records import (
    AuditItem,
    Cost,
    Figure,
    ModelVariant,
    Note,
    Slip,
    slip_items,
    variant,
)
from deltadyn.reproduce.audit.scene import Stage
from deltadyn.reproduce.ladder import random_states
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot

BOTH = "falezza2020, falezza2022"
HOW = "the mended model with this slip alone"
PAYLOAD = 3.8  # kg, as in [falezza2020] section 6
TORQUE_NOISE = 1.0  # N m, standard deviation in the demonstration of eq. 11
FORGETTING = 0.99  # the paper gives no value


class SimpleSlip(Slip):
    """Slips of eqs. 4-5."""

    RADIUS_IN_A = Note(
        BOTH, "4, a_1i and a_2i", "+ r cos(alpha), + r sin(alpha)", "- r cos(alpha), - r sin(alpha)"
    )
    HEIGHT_IN_A = Note(BOTH, "4, a_3i", "z - l1 sin(theta)", "z + l1 sin(theta)")
    LENGTH_IN_K = Note(BOTH, "5, k_ii", "no factor l1", "a factor l1")
    RADIUS_IN_K = Note(BOTH, "5, k_ii", "(... + r) sin(theta)", "(... - r) sin(theta)")
    HEIGHT_IN_K = Note(BOTH, "5, k_ii", "- z cos(theta)", "+ z cos(theta)")
    ARM_GRAVITY = Note(
        BOTH, "5, v_i", "+ g (m1/2 + m2/2) l1 cos(theta)", "the other sign: theta lowers the arm"
    )
    PLATFORM_GRAVITY = Note("falezza2022", "4, g", "pdd + (0, 0, -g)", "pdd + (0, 0, +g)")


class AngleSlip(Slip):
    """Slips of the inverse kinematics l cos(theta) + p sin(theta) = n of [falezza2020]."""

    RIGHT_SIDE = Note("falezza2020", "2.1, n_i", "n_i on the right-hand side", "-n_i")
    RADIAL_TERM = Note(
        "falezza2020", "2.1, n_i", "+ 2 r x in n_i", "- 2 r x cos(alpha), like the term in y"
    )


ALL_SIMPLE = frozenset(SimpleSlip)
LEFT_WITHOUT_RADIUS_AND_LENGTH = ALL_SIMPLE - {
    SimpleSlip.RADIUS_IN_A,
    SimpleSlip.RADIUS_IN_K,
    SimpleSlip.HEIGHT_IN_A,
    SimpleSlip.LENGTH_IN_K,
}


class Numbers(NamedTuple):
    """The papers' symbols for a robot with equal limbs; m2 is the pair of rods (m, kg, kg m^2)."""

    r: float
    l1: float
    l2: float
    m0: float
    m1: float
    m2: float
    a1: float
    I1: float
    I3: float  # rotor at the output side
    g: float
    alpha: FloatArray


def numbers(robot: Robot) -> Numbers:
    """The papers' symbols of a robot with equal limbs."""
    geometry, arm, strut = robot.geometry, robot.arms[0], robot.struts[0]
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


def constraint(
    par: Numbers, state: State, slips: Set[Slip], cos_q: FloatArray, sin_q: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """A (N, 3, 3) of eq. 4, one column per limb, and the diagonal of K (N, 3) of eq. 5."""

    def sign(slip: SimpleSlip) -> float:
        return -1.0 if slip in slips else 1.0

    ca, sa = np.cos(par.alpha), np.sin(par.alpha)
    x, y, z = (state.p[:, k, None] for k in range(3))
    r_a, r_k = (sign(slip) * par.r for slip in (SimpleSlip.RADIUS_IN_A, SimpleSlip.RADIUS_IN_K))
    reach = r_a + par.l1 * cos_q
    a3 = z + sign(SimpleSlip.HEIGHT_IN_A) * par.l1 * sin_q
    k = (x * ca + y * sa - r_k) * sin_q + sign(SimpleSlip.HEIGHT_IN_K) * z * cos_q
    if SimpleSlip.LENGTH_IN_K not in slips:
        k = par.l1 * k
    return np.stack([x - reach * ca, y - reach * sa, a3], axis=1), k


def simplified_torque(
    robot: Robot,
    state: State,
    slips: Set[Slip] = frozenset(),
    *,
    strut_mass: float | None = None,
    angles: FloatArray | None = None,
) -> FloatArray:
    """M_s (N, 3) with these slips: [falezza2022] eqs. 4-5, [falezza2020] eqs. 4-5 (N m).

    `strut_mass` replaces the pair's mass m2, `angles` (N, 3) the arm angles.
    """
    par = numbers(robot)
    m2 = par.m2 if strut_mass is None else strut_mass
    c, s = (state.cos_q, state.sin_q) if angles is None else (np.cos(angles), np.sin(angles))
    A, k = constraint(par, state, slips, c, s)
    M = par.m0 + 1.5 * m2
    force = M * state.pdd[:, :3]
    force[:, 2] += (-1.0 if SimpleSlip.PLATFORM_GRAVITY in slips else 1.0) * M * par.g
    twice_lambda = np.linalg.solve(A, force[..., None])[..., 0]
    v = -0.5 * (par.m1 + m2) * par.g * par.l1 * c
    if SimpleSlip.ARM_GRAVITY in slips:
        v = -v
    inertia = (par.m1 / 3 + m2 / 2) * par.l1**2
    torque: FloatArray = inertia * state.qdd[:, :3] + v - k * twice_lambda
    return torque


def arm_angles(robot: Robot, state: State, slips: Set[Slip] = frozenset()) -> FloatArray:
    """theta (N, 3) by [falezza2020] section 2.1 with these slips, on the branch nearest to q."""
    par = numbers(robot)
    ca, sa = np.cos(par.alpha), np.sin(par.alpha)
    x, y, z = (state.p[:, k, None] for k in range(3))
    l = 2 * par.l1 * (par.r - x * ca - y * sa)
    p = 2 * par.l1 * z
    radial = 2 * par.r * x if AngleSlip.RADIAL_TERM in slips else -2 * par.r * x * ca
    n = radial - 2 * par.r * y * sa + x**2 + y**2 + z**2 + par.l1**2 - par.l2**2 + par.r**2
    right = n if AngleSlip.RIGHT_SIDE in slips else -n
    with np.errstate(invalid="ignore"):
        half = np.arccos(right / np.hypot(l, p))
    branches = np.arctan2(p, l) + np.stack([half, -half])
    off = np.remainder(branches - state.q[:, :3] + np.pi, 2 * np.pi) - np.pi
    nearest = np.argmin(np.where(np.isnan(off), np.inf, np.abs(off)), axis=0)
    angle: FloatArray = state.q[:, :3] + np.take_along_axis(off, nearest[None], axis=0)[0]
    return angle


def simplified_variants(stage: Stage) -> tuple[ModelVariant, ...]:
    """M_s as printed in both papers, in part mended, and mended."""
    robot, motion = stage.robot, stage.motion
    mended = simplified_torque(robot, motion)
    states = {
        "as printed in falezza2022": ALL_SIMPLE,
        "as printed in falezza2020": ALL_SIMPLE - {SimpleSlip.PLATFORM_GRAVITY},
        "r and l1 mended alone": LEFT_WITHOUT_RADIUS_AND_LENGTH,
        "mended": frozenset(),
    }
    return tuple(
        variant(BOTH, "M_s", name, simplified_torque(robot, motion, slips), mended, stage.exact)
        for name, slips in states.items()
    )


def simplified_items(stage: Stage) -> list[AuditItem]:
    """Every slip of eqs. 4-5, of the inverse kinematics and of what [falezza2020] builds on M_s."""
    robot, motion = stage.robot, stage.motion

    def torque(slips: frozenset[SimpleSlip]) -> FloatArray:
        return simplified_torque(robot, motion, slips)

    items = slip_items(SimpleSlip, torque, stage.exact, HOW)
    return [
        *items,
        *_angle_items(stage),
        _part_item(stage),
        _one_rod_item(stage),
        _recursion_item(stage),
        _pairing_item(stage),
    ]


def _angle_items(stage: Stage) -> list[AuditItem]:
    robot, motion = stage.robot, stage.motion

    def torque(slips: frozenset[AngleSlip]) -> FloatArray:
        return simplified_torque(robot, motion, angles=arm_angles(robot, motion, slips))

    how = "M_s mended, at the arm angles that the slip gives (rates as they are)"
    items = slip_items(AngleSlip, torque, stage.exact, how)
    out = []
    for slip, item in zip(AngleSlip, items, strict=True):
        error = np.degrees(arm_angles(robot, motion, {slip}) - motion.q[:, :3])
        largest = float(np.nanmax(np.abs(error), initial=0.0))
        figure = Figure("largest error of an arm angle", largest, 0.0, "deg")
        out.append(replace(item, figures=(figure,)))
    return out


def _part_item(stage: Stage) -> AuditItem:
    """What is left where only the signs of r and the terms with l1 are mended."""
    robot, left = stage.robot, LEFT_WITHOUT_RADIUS_AND_LENGTH
    torque = simplified_torque(robot, stage.motion, left)
    states = random_states(robot)
    random = Cost.of(simplified_torque(robot, states, left), simplified_torque(robot, states))
    return AuditItem(
        "PART_MENDED",
        BOTH,
        "4-5",
        "A partial repair: r and l1 mended, which makes A right, the rest as printed",
        "the signs of z in k_ii, of the arm's weight and of g count as much",
        "the three slips that are left, together; beside it at 5000 random states",
        Cost.of(torque, simplified_torque(robot, stage.motion)),
        Cost.of(torque, stage.exact),
        (
            Figure("RMS at random states", random.rms_Nm, 0.0, "N m"),
            Figure("peak at random states", random.peak_Nm, 0.0, "N m"),
        ),
    )


def _one_rod_item(stage: Stage) -> AuditItem:
    """M_KH counts one rod as m2, M_s the pair: what it costs to take the one for the other."""
    robot, motion = stage.robot, stage.motion
    mended = simplified_torque(robot, motion)
    mistaken = simplified_torque(robot, motion, strut_mass=2 * numbers(robot).m2)
    same = np.abs(mended - inverse_dynamics(robot, motion, "half-half", friction=False)).max()
    return AuditItem(
        "ONE_ROD",
        BOTH,
        "4-5",
        "M_KH has m0 + 3 m2 and m1/3 + m2, M_s has m0 + 3 m2/2 and m1/3 + m2/2",
        "one model: m2 is one rod in 2020 and the pair in 2022",
        "the pair's mass entered into the equations of 2020",
        Cost.of(mistaken, mended),
        Cost.of(mistaken, stage.exact),
        (Figure("mended M_s from the half-half model, peak", None, float(same), "N m"),),
    )


def recursive_payload(
    acceleration: FloatArray, force: FloatArray, *, printed: bool, scalar: bool = False
) -> FloatArray:
    """The payload (kg) that [falezza2020] eq. 11 ends with, for pdd + g z and forces (N, 3).

    A 3x3 matrix as in the paper, or one mass (1, 1); as printed the correction has a minus.
    """
    sign, width = -1.0 if printed else 1.0, 1 if scalar else 3
    mass, P = np.zeros((width, width)), 1e3 * np.eye(width)
    for a, f in zip(acceleration, force, strict=True):
        rows = [(a, f)] if not scalar else [(a[k : k + 1], f[k : k + 1]) for k in range(3)]
        for j, (regressor, target) in enumerate(rows):
            forget = FORGETTING if j == 0 else 1.0
            gain = P @ regressor / (forget + regressor @ P @ regressor)
            mass = mass + sign * np.outer(gain, target - regressor @ mass)
            P = (P - np.outer(gain, regressor @ P)) / forget
    return mass


def _recursion_item(stage: Stage) -> AuditItem:
    robot, motion = stage.robot, stage.motion
    loaded = inverse_dynamics(robot.with_payload(PAYLOAD), motion, friction=False)
    noise = np.random.default_rng(11).normal(0.0, TORQUE_NOISE, loaded.shape)
    limbs = LimbGeometry.of(robot, motion.p, motion.cos_q, motion.sin_q)
    force = contract("nik,ni->nk", limbs.s, (loaded - stage.exact + noise) / limbs.d)
    lifted = motion.pdd[:, :3] + np.array([0.0, 0.0, robot.gravity])
    wild = recursive_payload(lifted, force, printed=True)
    matrix = recursive_payload(lifted, force, printed=False)
    one = float(recursive_payload(lifted, force, printed=False, scalar=True)[0, 0])
    beside = float(np.abs(matrix - np.diag(np.diag(matrix))).max())
    return AuditItem(
        "RECURSION",
        "falezza2020",
        "11",
        "A minus before the gain; a 3x3 matrix for one mass; the gain of step k + 1 on the data of "
        "step k",
        "a plus, one mass, gain and data of the same step",
        f"{PAYLOAD} kg at the end of the move with torque noise of {TORQUE_NOISE:g} N m and "
        f"forgetting {FORGETTING}; steps are matched throughout",
        figures=(
            Figure("largest entry of the estimate", float(np.abs(wild).max()), one, "kg"),
            Figure("largest entry off the diagonal, plus sign", beside, 0.0, "kg"),
        ),
    )


def _pairing_item(stage: Stage) -> AuditItem:
    """Least squares on the columns [rate, sign], with the names [f_c, f_v] on the result."""
    motion = stage.motion
    friction = load_robot("abb-irb360-6-1600").friction
    viscous, coulomb = np.asarray(friction.viscous[:3]), np.asarray(friction.coulomb[:3])
    qd = motion.qd[:, :3]
    right = viscous * qd + coulomb * np.sign(qd)
    swapped = np.empty_like(right)
    for i in range(3):
        columns = np.stack([qd[:, i], np.sign(qd[:, i])], axis=1)
        f_c, f_v = np.linalg.lstsq(columns, right[:, i], rcond=None)[0]
        swapped[:, i] = f_v * qd[:, i] + f_c * np.sign(qd[:, i])
    return AuditItem(
        "PAIRING",
        "falezza2020",
        "4.2",
        "The columns are [rate, sign], their coefficients [f_c, f_v]",
        "[f_v, f_c]",
        "the friction of abb-irb360-6-1600 fitted and entered into eq. 8 under these names",
        Cost.of(swapped, right),
        Cost.of(swapped, right),
    )
