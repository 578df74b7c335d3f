"""[falezza2022] section 3: the complete model M_f, from its energies (9)-(18) and eqs. 29-30.

The long formulas (19)-(28) are not transcribed: the energies are differentiated to rounding. Every
one of them is a square of the rate of a coordinate y(q), so the force on a coordinate is
sum w dy/dq_k y'' + dV/dq_k. With all slips mended M_f is the exact model of a robot with uniform
rods.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics import equations_of_motion, inverse_dynamics
from deltadyn.kinematics import State, strut_angles
from deltadyn.reproduce.audit import jets
from deltadyn.reproduce.audit.falezza import (
    Numbers,
    SimpleSlip,
    constraint,
    numbers,
    simplified_torque,
)
from deltadyn.reproduce.audit.jets import Jet
from deltadyn.reproduce.audit.operations import TABLE_6
from deltadyn.reproduce.audit.records import (
    AuditItem,
    Cost,
    Figure,
    ModelVariant,
    Note,
    Slip,
    slip_item,
    slip_items,
    variant,
)
from deltadyn.reproduce.audit.scene import Stage
from deltadyn.reproduce.ladder import random_states
from deltadyn.robot import Robot

PAPER = "falezza2022"
HOW = "the mended M_f with this slip alone"

# Mean errors (N m) of M_f and M_s in tables 3-5: trajectories Y1, Y2, Y3, joints 1, 2, 3.
MEAN_M_F = ((0.63, -2.99, -3.77), (2.41, -1.43, -2.18), (1.46, -3.69, -1.76))
MEAN_M_S = ((10.17, 5.74, 4.85), (12.13, 7.25, 6.02), (11.01, 4.93, 7.36))
LINEAR_COEFFICIENT = 1176  # of n in the complexity of M_f, section 5.2


class CompleteSlip(Slip):
    """Slips of section 3: the first seven in the energies, the rest in their derivatives."""

    CONSTRAINT = Note(
        PAPER, "29", "A and K as in eqs. 4-5, with the same slips", "A and K as mended there"
    )
    ANGLES = Note(
        PAPER,
        "12",
        "Passive angles as arc cosines of products of projections that are not unit vectors, "
        "for all arms on one plane, and without a sign.",
        "Swing and sway of the strut in the arm's own axes.",
    )
    ANGLE_HEIGHT = Note(
        PAPER, "12, n_i", "z - l1 sin(theta), z up", "-z - l1 sin(theta), as in eqs. 6-7"
    )
    TANGENT = Note(
        PAPER,
        "7, second row, and 8",
        "a2 cos(psi) sin(alpha), so the sway of arm 1 (alpha = 0) moves nothing",
        "a2 sin(psi) cos(alpha)",
    )
    HEIGHT = Note(
        PAPER,
        "6, 7, 15, 16",
        "z grows with sin(theta), against the constraint (2): the arms' and rods' weight pulls up.",
        "z falls with sin(theta); the printed derivatives of V have that sign.",
    )
    ROD_INERTIA = Note(
        PAPER,
        "section 3 and 9",
        "I2 = m2 l2^2 / 3, about the rod's end, beside the motion of its COM",
        "m2 l2^2 / 12, about the COM",
    )
    SWAY = Note(PAPER, "9", "I2 betad^2", "I2 betad^2 cos(psi)^2: a swayed rod swings less")
    PLATFORM_INERTIA = Note(PAPER, "19a-c", "no term m0 pdd", "m0 pdd, from T0 of eq. 9")
    ARM_INERTIA = Note(PAPER, "19d", "m1 l1^2 / 4: a1 = l1 / 2", "m1 a1^2")
    ARM_MOMENT = Note(PAPER, "dV/dtheta", "m1 l1 / 2", "m1 a1")
    PLATFORM_WEIGHT = Note(PAPER, "dV/dz", "-m2 g", "+m0 g, from V0 of eq. 17")


IN_ENERGIES = frozenset(
    {
        CompleteSlip.CONSTRAINT,
        CompleteSlip.ANGLES,
        CompleteSlip.ANGLE_HEIGHT,
        CompleteSlip.TANGENT,
        CompleteSlip.HEIGHT,
        CompleteSlip.ROD_INERTIA,
        CompleteSlip.SWAY,
    }
)
IN_DERIVATIVES = frozenset(CompleteSlip) - IN_ENERGIES
SINGULAR = frozenset({CompleteSlip.CONSTRAINT, CompleteSlip.ANGLE_HEIGHT})  # the wildest two


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
    turning = ("angles",) if CompleteSlip.SWAY in slips else ("direction",)
    force = par.m2 * _product(slope.com, motion.com)
    for name in turning:
        force = force + inertia * _product(getattr(slope, name), getattr(motion, name))
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


def complete_variants(stage: Stage) -> tuple[ModelVariant, ...]:
    """M_f as its energies and as its printed derivatives have it, in part mended, and mended."""
    mended = complete_torque(stage.robot, stage.motion)
    printed = (IN_ENERGIES | IN_DERIVATIVES) - {CompleteSlip.HEIGHT}  # dV/dtheta has the right sign
    states = {
        "energies as printed": IN_ENERGIES,
        "energies and eqs. 19 and dV as printed": printed,
        "energies, A, K and the height in n_i mended": IN_ENERGIES - SINGULAR,
        "energies, these and the angles mended": IN_ENERGIES - SINGULAR - {CompleteSlip.ANGLES},
        "mended": frozenset[CompleteSlip](),
    }
    out = []
    for name, slips in states.items():
        torque = complete_torque(stage.robot, stage.motion, slips)
        out.append(variant(PAPER, "M_f", name, torque, mended, stage.exact))
    return tuple(out)


def complete_items(stage: Stage) -> list[AuditItem]:
    """Every slip of section 3 and of what is concluded from it."""
    robot, motion = stage.robot, stage.motion

    def torque(slips: frozenset[CompleteSlip]) -> FloatArray:
        return complete_torque(robot, motion, slips)

    alone = [slip for slip in CompleteSlip if slip is not CompleteSlip.ANGLE_HEIGHT]
    items = slip_items(alone, torque, stage.exact, HOW)
    place = alone.index(CompleteSlip.ANGLES)
    items[place] = replace(items[place], figures=_angle_figures(stage))
    items.insert(place + 1, _angle_height_item(stage))
    return [*items, _mean_item(stage), _compact_item(stage), _complexity_item()]


def _angle_figures(stage: Stage) -> tuple[Figure, ...]:
    """How far the angles of eq. 12, with the height in n_i mended, are from swing and sway."""
    robot, motion = stage.robot, stage.motion
    par, right = numbers(robot), strut_angles(robot, motion)
    found = np.array(
        [
            [
                jet.v
                for jet in strut_coordinates(
                    par, alpha, _still(motion, i), {CompleteSlip.ANGLES}
                ).angles
            ]
            for i, alpha in enumerate(par.alpha)
        ]
    )  # (3 arms, 2, N)
    swing = np.degrees(np.abs(found[:, 0].T - right.swing)).max()
    sway = np.degrees(np.abs(found[:, 1].T - right.sway)).max()
    return (
        Figure("largest error of the swing", float(swing), 0.0, "deg"),
        Figure("largest error of the sway", float(sway), 0.0, "deg"),
    )


def _still(state: State, i: int) -> list[Jet]:
    return [Jet(value) for value in (*state.p.T[:3], state.q[:, i])]


def _angle_height_item(stage: Stage) -> AuditItem:
    slips = frozenset({CompleteSlip.ANGLES, CompleteSlip.ANGLE_HEIGHT})
    torque = complete_torque(stage.robot, stage.motion, slips)
    cost, slip = Cost.of(torque, stage.exact), CompleteSlip.ANGLE_HEIGHT
    how = "the mended M_f with eq. 12 as printed, where its arc cosines exist"
    share = Figure("samples at which the angles exist", cost.share, 1.0, "of all")
    return slip_item(slip, how, cost, cost, (share,))


def _mean_item(stage: Stage) -> AuditItem:
    """Can right rods and arms shift the mean torque as tables 3-5 say?"""
    robot, motion = stage.robot, stage.motion
    published = np.asarray(MEAN_M_S) - np.asarray(MEAN_M_F)  # torque of M_f less that of M_s
    simple = simplified_torque(robot, motion)
    shift = np.mean(stage.exact - simple, axis=0)
    slipped = [
        np.mean(complete_torque(robot, motion, slips) - simple, axis=0)
        for slips in (frozenset({CompleteSlip.HEIGHT}), IN_ENERGIES - SINGULAR)
    ]
    still = State.from_platform(robot, random_states(robot).p)
    static = inverse_dynamics(robot, still) - inverse_dynamics(robot, still, "half-half")
    rows = (
        ("mean shift in tables 3-5 and of the exact model on the move", published, shift),
        ("mean shift on the move with HEIGHT alone", slipped[0], None),
        ("mean shift on the move with all but CONSTRAINT, ANGLE_HEIGHT", slipped[1], None),
    )
    figures = [
        Figure(f"{name}, {kind}", float(choose(first)), _chosen(choose, second), "N m")
        for name, first, second in rows
        for kind, choose in (("smallest", np.min), ("largest", np.max))
    ]
    return AuditItem(
        "MEAN_SHIFT",
        PAPER,
        "tables 3-5",
        "M_f shifts the mean torque of every joint against M_s",
        "right rods shift nothing at rest, for half of their weight is at each end, and a right "
        "arm little; the weight with the wrong sign (HEIGHT) shifts by nearly as much as the "
        "tables",
        "torque of M_f less that of M_s, mean per joint; at rest at 5000 points of the workspace",
        figures=(
            *figures,
            Figure("change at rest, largest", None, float(np.abs(static).max()), "N m"),
        ),
    )


def _chosen(choose: Callable[[FloatArray], Any], values: FloatArray | None) -> float | None:
    return None if values is None else float(choose(values))


def _compact_item(stage: Stage) -> AuditItem:
    eom = equations_of_motion(stage.robot.with_friction(viscous=0.0, coulomb=0.0), stage.motion)
    rest = contract("nij,nj->ni", eom.M, stage.motion.qdd) + eom.c + eom.g - stage.exact
    return AuditItem(
        "COMPACT_FORM",
        PAPER,
        "remark 1",
        "The complete model has no form B(q) qdd + C(q, qd) qd + g(q) in the actuated joints.",
        "It has: a thin rod's energy needs the velocities of its ends, no passive angle.",
        "M qdd + C qd + g of the exact model against its torque",
        figures=(Figure("largest difference", None, float(np.abs(rest).max()), "N m"),),
    )


def _complexity_item() -> AuditItem:
    count = TABLE_6["M_f"]
    right = float(count.add + count.sub)
    return AuditItem(
        "COMPLEXITY",
        PAPER,
        "5.2",
        "The coefficient of n in the complexity of M_f.",
        "The sum of additions and subtractions in table 6.",
        "table 6",
        figures=(Figure("coefficient of n", float(LINEAR_COEFFICIENT), right, ""),),
    )
