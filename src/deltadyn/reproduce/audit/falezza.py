"""[falezza2020], [falezza2022]: the simplified model M_s = M_KH and the complete model M_f.

M_s: eqs. 4-5 and what stands by them. The papers' frame is ours: z up, the platform below, theta
downward (eq. 2). The equations are M (pdd + g) - 2 A lambda = 0 and
tau = I thetadd + v - 2 K lambda.

M_f: [falezza2022] section 3, twice. From its energies (9)-(18) and eqs. 29-30: every one of them is
a square of the rate of a coordinate y(q), so the force on a coordinate is sum w dy/dq_k y'' +
dV/dq_k, to rounding. And by its long formulas (19)-(28), in `falezza_derivatives`. With their slips
corrected both are one model, and with all slips corrected they are the exact model of a robot with
uniform rods.
"""

from __future__ import annotations

from collections.abc import Set
from enum import auto
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics import equations_of_motion, inverse_dynamics
from deltadyn.kinematics import LimbGeometry, State, strut_angles
from deltadyn.reproduce.audit import jets
from deltadyn.reproduce.audit.falezza_derivatives import (
    CompleteSlip,
    DerivativeSlip,
    Numbers,
    complete_torques,
    numbers,
)
from deltadyn.reproduce.audit.jets import Jet
from deltadyn.reproduce.audit.operations import TABLE_6
from deltadyn.reproduce.audit.records import (
    AuditItem,
    Cost,
    ModelVariant,
    Pair,
    PaperAudit,
    Slip,
    Stage,
    costs_of,
    item_of,
    slip_items,
    stage,
    variants,
)
from deltadyn.reproduce.ladder import random_states
from deltadyn.reproduce.result import Paper
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot

BOTH = "falezza2020, falezza2022"
PAYLOAD = 3.8  # kg, as in [falezza2020] section 6
TORQUE_NOISE = 1.0  # N m, standard deviation in the demonstration of eq. 11
FORGETTING = 0.99  # the paper gives no value

COMPLETE = "falezza2022"
NUMBERS = Paper(COMPLETE).numbers


def audit_falezza() -> PaperAudit:
    """The audit of [falezza2020] and [falezza2022] on the SIPRO D3-1200."""
    scenery = stage(BOTH, "sipro-d3-1200")
    models = simplified_variants(scenery) + complete_variants(scenery)
    items = (*simplified_items(scenery), *complete_items(scenery))
    return PaperAudit(scenery.scene, models, items)


class SimpleSlip(Slip):
    """Slips of eqs. 4-5."""

    RADIUS_IN_A = auto()
    HEIGHT_IN_A = auto()
    LENGTH_IN_K = auto()
    RADIUS_IN_K = auto()
    HEIGHT_IN_K = auto()
    ARM_GRAVITY = auto()
    PLATFORM_GRAVITY = auto()


class AngleSlip(Slip):
    """Slips of the inverse kinematics l cos(theta) + p sin(theta) = n of [falezza2020]."""

    RIGHT_SIDE = auto()
    RADIAL_TERM = auto()


ALL_SIMPLE = frozenset(SimpleSlip)
LEFT_WITHOUT_RADIUS_AND_LENGTH = ALL_SIMPLE - {
    SimpleSlip.RADIUS_IN_A,
    SimpleSlip.RADIUS_IN_K,
    SimpleSlip.HEIGHT_IN_A,
    SimpleSlip.LENGTH_IN_K,
}


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


class SimplifiedParts(NamedTuple):
    """The torque of M_s in parts, each (N, 3) in N m: arm inertia, arm weight, and the platform."""

    inertia: FloatArray
    weight: FloatArray
    platform: FloatArray


def simplified_parts(
    robot: Robot,
    state: State,
    slips: Set[Slip] = frozenset(),
    *,
    strut_mass: float | None = None,
    angles: FloatArray | None = None,
) -> SimplifiedParts:
    """I qdd, v and -2 K lambda of M_s with these slips: [falezza2022] and [falezza2020] eqs. 4-5.

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
    return SimplifiedParts(inertia * state.qdd[:, :3], v, -k * twice_lambda)


def simplified_torque(
    robot: Robot, state: State, slips: Set[Slip] = frozenset(), **options: Any
) -> FloatArray:
    """M_s (N, 3) with these slips in N m; `options` go to `simplified_parts`."""
    inertia, weight, platform = simplified_parts(robot, state, slips, **options)
    torque: FloatArray = inertia + weight + platform
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
    """M_s as printed in both papers, in part corrected, and corrected."""
    states = {
        "as printed in falezza2022": ALL_SIMPLE,
        "as printed in falezza2020": ALL_SIMPLE - {SimpleSlip.PLATFORM_GRAVITY},
        "r and l1 corrected alone": LEFT_WITHOUT_RADIUS_AND_LENGTH,
        "corrected": frozenset[SimpleSlip](),
    }
    torque = partial(simplified_torque, stage.robot, stage.motion)
    return variants(BOTH, "M_s", torque, states, stage.exact)


def simplified_items(stage: Stage) -> list[AuditItem]:
    """Every slip of eqs. 4-5, of the inverse kinematics and of what [falezza2020] builds on M_s."""
    robot, motion = stage.robot, stage.motion

    def at_angles(slips: Set[AngleSlip]) -> FloatArray:
        return simplified_torque(robot, motion, angles=arm_angles(robot, motion, slips))

    figures = {}
    for slip in AngleSlip:
        off = np.degrees(np.abs(arm_angles(robot, motion, {slip}) - motion.q[:, :3]))
        figures[slip.name] = [(np.nanmax(off, initial=0.0), 0.0)]
    return [
        *slip_items(SimpleSlip, partial(simplified_torque, robot, motion), stage.exact),
        *slip_items(AngleSlip, at_angles, stage.exact, figures=figures),
        _part_item(stage),
        _one_rod_item(stage),
        _recursion_item(stage),
        _pairing_item(stage),
    ]


def _part_item(stage: Stage) -> AuditItem:
    """What is left where only the signs of r and the terms with l1 are corrected."""
    robot, left = stage.robot, LEFT_WITHOUT_RADIUS_AND_LENGTH
    torque = simplified_torque(robot, stage.motion, left)
    states = random_states(robot)
    random = Cost.of(simplified_torque(robot, states, left), simplified_torque(robot, states))
    costs = costs_of(torque, simplified_torque(robot, stage.motion), stage.exact)
    return item_of("PART_MENDED", costs, [(random.rms_Nm, 0.0), (random.peak_Nm, 0.0)])


def _one_rod_item(stage: Stage) -> AuditItem:
    """M_KH counts one rod as m2, M_s the pair: what it costs to take the one for the other."""
    robot, motion = stage.robot, stage.motion
    corrected = simplified_torque(robot, motion)
    mistaken = simplified_torque(robot, motion, strut_mass=2 * numbers(robot).m2)
    same = np.abs(corrected - inverse_dynamics(robot, motion, "half-half", friction=False)).max()
    return item_of("ONE_ROD", costs_of(mistaken, corrected, stage.exact), [(None, same)])


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
    return item_of(
        "RECURSION",
        figures=[(np.abs(wild).max(), one), (beside, 0.0)],
        FORGETTING=FORGETTING,
        PAYLOAD=PAYLOAD,
        TORQUE_NOISE=TORQUE_NOISE,
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
    return item_of("PAIRING", costs_of(swapped, right, right))


# The complete model M_f


IN_ENERGIES = frozenset(list(CompleteSlip)[:7])
SINGULAR = frozenset({CompleteSlip.CONSTRAINT, CompleteSlip.ANGLE_HEIGHT})  # the wildest two
PAPERS_OWN = IN_ENERGIES - SINGULAR
#: All that is printed; the derivatives of V have the right sign, so HEIGHT is not among them.
AS_PRINTED = frozenset[Slip]((*CompleteSlip, *DerivativeSlip)) - {CompleteSlip.HEIGHT}
OWN_ENERGIES = "M_f by its own energies, A, K and the height in n_i corrected, with this slip alone"


class StrutCoordinates(NamedTuple):
    """Coordinates of one strut: its COM, its angles and its direction."""

    com: tuple[Jet, Jet, Jet]
    angles: tuple[Jet, Jet]
    direction: tuple[Jet, Jet, Jet]


def strut_coordinates(
    par: Numbers, alpha: float, q: list[Jet], slips: Set[Slip]
) -> StrutCoordinates:
    """Eqs. 7 and 12 of one limb at q = (x, y, z, theta); z counts downward from the base here."""
    x, y, z, theta = q
    ca, sa = float(np.cos(alpha)), float(np.sin(alpha))
    c, s = jets.cos(theta), jets.sin(theta)
    if CompleteSlip.ANGLES in slips:
        depth = z if CompleteSlip.ANGLE_HEIGHT in slips else -z
        h = c * (x * ca + y * sa - par.r - par.l1 * c) / par.l2
        n = (c * ca * (x - (par.r + par.l1 * c) * ca) + s * (depth - par.l1 * s)) / par.l2
        beta, psi = theta + jets.arccos(n), jets.arccos(h)
    else:
        radial = x * ca + y * sa - par.r - par.l1 * c
        down = -z - par.l1 * s
        beta = jets.arctan2(down, radial)
        psi = jets.arctan2(y * ca - x * sa, jets.sqrt(radial * radial + down * down))
    a2 = par.l2 / 2
    direction = (
        jets.cos(beta) * jets.cos(psi),
        jets.sin(beta) * jets.cos(psi),
        jets.sin(psi),
    )
    reach = par.r + par.l1 * c + a2 * direction[0]
    if CompleteSlip.TANGENT in slips:
        second = reach * sa + a2 * sa * jets.cos(psi)
    else:
        second = reach * sa + a2 * ca * direction[2]
    com = (reach * ca - a2 * sa * direction[2], second, par.l1 * s + a2 * direction[1])
    return StrutCoordinates(com, (beta, psi), direction)


def _strut_force(
    par: Numbers, slope: StrutCoordinates, motion: StrutCoordinates, slips: Set[Slip]
) -> Any:
    """d/dt dT2/dq_k - dT2/dq_k + dV2/dq_k of one strut; `slope` holds the derivatives by q_k."""
    inertia = par.m2 * par.l2**2 / (3 if CompleteSlip.ROD_INERTIA in slips else 12)
    turning = "angles" if CompleteSlip.SWAY in slips else "direction"
    force = par.m2 * _product(slope.com, motion.com)
    force = force + inertia * _product(getattr(slope, turning), getattr(motion, turning))
    return force + _weight_sign(slips) * par.m2 * par.g * slope.com[2].d


def _product(slope: tuple[Jet, ...], motion: tuple[Jet, ...]) -> Any:
    return sum(a.d * b.dd for a, b in zip(slope, motion, strict=True))


def _weight_sign(slips: Set[Slip]) -> float:
    """Potential energy per depth of a COM: the paper's eqs. 15-16 let it grow downward."""
    return 1.0 if CompleteSlip.HEIGHT in slips else -1.0


def complete_torque(robot: Robot, state: State, slips: Set[Slip] = frozenset()) -> FloatArray:
    """M_f (N, 3) with these slips: [falezza2022] eqs. 9-18, 29, 30 (N m).

    Not a number where the passive angles do not exist.
    """
    par = numbers(robot)
    force = np.zeros((len(state), 3))
    torque = np.zeros((len(state), 3))
    if CompleteSlip.PLATFORM_INERTIA not in slips:
        force += par.m0 * state.pdd[:, :3]
    force[:, 2] += -par.m2 * par.g if CompleteSlip.PLATFORM_WEIGHT in slips else par.m0 * par.g
    arm = par.l1 / 2 if CompleteSlip.ARM_MOMENT in slips else par.a1
    square = par.l1**2 / 4 if CompleteSlip.ARM_INERTIA in slips else par.a1**2
    inertia = par.m1 * square + par.I1 + par.I3
    with np.errstate(invalid="ignore", divide="ignore"):
        for i, alpha in enumerate(par.alpha):
            values = (*state.p.T[:3], state.q[:, i])
            rates = (*state.pd.T[:3], state.qd[:, i])
            second = (*state.pdd.T[:3], state.qdd[:, i])
            motion = strut_coordinates(par, alpha, jets.along(values, rates, second), slips)
            for k in range(4):
                slope = strut_coordinates(par, alpha, jets.by_coordinate(values, k), slips)
                part = _strut_force(par, slope, motion, slips)
                if k < 3:
                    force[:, k] += part
                else:
                    torque[:, i] = part
    torque += inertia * state.qdd[:, :3]
    torque += _weight_sign(slips) * par.m1 * par.g * arm * state.cos_q
    simple = frozenset(SimpleSlip) if CompleteSlip.CONSTRAINT in slips else frozenset()
    A, k_ii = constraint(par, state, simple, state.cos_q, state.sin_q)
    return torque - k_ii * np.linalg.solve(A, force[..., None])[..., 0]


def transcribed_torque(robot: Robot, state: State, slips: Set[Slip] = frozenset()) -> FloatArray:
    """M_f (N, 3) with these slips by its printed derivatives: [falezza2022] eqs. 19-30 (N m).

    Not a number where the passive angles do not exist.
    """
    par = numbers(robot)
    limbs: list[Any] = [
        tuple(
            (*values.T[:3], angle[:, i])
            for values, angle in ((state.p, state.q), (state.pd, state.qd), (state.pdd, state.qdd))
        )
        for i in range(3)
    ]
    azimuths = [(float(np.cos(alpha)), float(np.sin(alpha))) for alpha in par.alpha]
    with np.errstate(invalid="ignore", divide="ignore"):
        torques = complete_torques(np, par, azimuths, limbs, slips)
    return np.stack(torques, axis=1)


def complete_variants(stage: Stage) -> tuple[ModelVariant, ...]:
    """M_f by its energies and by its printed derivatives, in part corrected, and corrected."""
    energies = {
        "energies as printed": IN_ENERGIES,
        "energies, A, K and the height in n_i corrected": PAPERS_OWN,
        "energies, these and the angles corrected": PAPERS_OWN - {CompleteSlip.ANGLES},
    }
    formulas = {
        "eqs. 12 and 19-30 as printed": AS_PRINTED,
        "eqs. 12 and 19-30, A, K and the height in n_i corrected": AS_PRINTED - SINGULAR,
        "eqs. 12 and 19-30 corrected": frozenset[Slip](),
    }
    by_energies, by_formulas = (
        partial(torque, stage.robot, stage.motion)
        for torque in (complete_torque, transcribed_torque)
    )
    return (
        *variants(COMPLETE, "M_f", by_energies, energies, stage.exact),
        *variants(COMPLETE, "M_f", by_formulas, formulas, stage.exact),
    )


def complete_items(stage: Stage) -> list[AuditItem]:
    """Every slip of section 3 and of what is concluded from it."""
    alone = [slip for slip in CompleteSlip if slip is not CompleteSlip.ANGLE_HEIGHT]
    items = slip_items(
        alone,
        partial(complete_torque, stage.robot, stage.motion),
        stage.exact,
        how="the corrected M_f with this slip alone",
        figures={"ANGLES": _angle_figures(stage)},
    )
    items.insert(alone.index(CompleteSlip.ANGLES) + 1, _angle_height_item(stage))
    # Some of these are in terms that vanish with the right passive angles, so they are shown in the
    # paper's own energies.
    derivatives = slip_items(
        DerivativeSlip,
        lambda slips: transcribed_torque(stage.robot, stage.motion, PAPERS_OWN | slips),
        stage.exact,
        how=OWN_ENERGIES,
    )
    return [*items, *derivatives, _mean_item(stage), _compact_item(stage), _complexity_item()]


def _angle_figures(stage: Stage) -> list[Pair]:
    """How far the angles of eq. 12, with the height in n_i corrected, are from swing and sway."""
    robot, motion = stage.robot, stage.motion
    par, right = numbers(robot), strut_angles(robot, motion)
    found = []
    for i, alpha in enumerate(par.alpha):
        still = [Jet(value) for value in (*motion.p.T[:3], motion.q[:, i])]
        found.append(strut_coordinates(par, alpha, still, {CompleteSlip.ANGLES}).angles)
    return [
        (np.degrees(np.abs(np.stack([jet.v for jet in own], axis=1) - angle)).max(), 0.0)
        for own, angle in zip(zip(*found, strict=True), (right.swing, right.sway), strict=True)
    ]


def _angle_height_item(stage: Stage) -> AuditItem:
    slips = frozenset({CompleteSlip.ANGLES, CompleteSlip.ANGLE_HEIGHT})
    cost = Cost.of(complete_torque(stage.robot, stage.motion, slips), stage.exact)
    return item_of("ANGLE_HEIGHT", (cost, cost), [(cost.share, 1.0)])


def _mean_item(stage: Stage) -> AuditItem:
    """Which slips shift the mean torque from M_s to M_f as tables 3-5 say, torques upward?"""
    robot, motion = stage.robot, stage.motion
    tables = NUMBERS["errors"].values()
    published = np.array([np.subtract(table["M_s"][0], table["M_f"][0]) for table in tables])
    signs = frozenset({SimpleSlip.ARM_GRAVITY, SimpleSlip.PLATFORM_GRAVITY})

    def shift(complete: FloatArray, simple: Set[Slip] = frozenset()) -> FloatArray:
        # this library counts a torque positive where it lowers the arm
        return -np.asarray(np.mean(complete - simplified_torque(robot, motion, simple), axis=0))

    right = shift(stage.exact)
    slipped = [
        shift(stage.exact, signs),
        *(
            shift(complete_torque(robot, motion, slips))
            for slips in (frozenset({CompleteSlip.HEIGHT}), PAPERS_OWN)
        ),
    ]
    still = State.from_platform(robot, random_states(robot).p)
    static = inverse_dynamics(robot, still) - inverse_dynamics(robot, still, "half-half")
    ends = (np.min, np.max)
    figures: list[Pair] = [(end(published), end(right)) for end in ends]
    figures += [(end(part), None) for part in slipped for end in ends]
    return item_of("MEAN_SHIFT", figures=[*figures, (None, np.abs(static).max())])


def _compact_item(stage: Stage) -> AuditItem:
    eom = equations_of_motion(stage.robot.with_friction(viscous=0.0, coulomb=0.0), stage.motion)
    rest = contract("nij,nj->ni", eom.M, stage.motion.qdd) + eom.c + eom.g - stage.exact
    return item_of("COMPACT_FORM", figures=[(None, np.abs(rest).max())])


def _complexity_item() -> AuditItem:
    count = TABLE_6["M_f"]
    return item_of("COMPLEXITY", figures=[(NUMBERS["coefficient"], count.add + count.sub)])
