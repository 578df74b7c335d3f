"""[telescopic2022]: the telescopic rod (25)-(34) and the legs (35)-(42).

Its positions have z up (the moves are at z = -0.8 m), its eqs. 3, 5 and 38-41 hold with z down.
Here the rod's coordinates are l, theta, phi with tan(theta) = x/w, tan(phi) = y/w and w the depth
below the upper joint.
"""

from __future__ import annotations

from collections.abc import Set
from enum import auto
from functools import partial

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics import inverse_dynamics
from deltadyn.kinematics import (
    LimbGeometry,
    State,
    forward_kinematics,
    spindle_coordinates,
    spindle_jacobian,
)
from deltadyn.kinematics.spindle import spindle_of
from deltadyn.reproduce.audit import jets
from deltadyn.reproduce.audit.jets import Jet
from deltadyn.reproduce.audit.records import (
    AuditItem,
    Cost,
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
from deltadyn.reproduce.result import Paper
from deltadyn.robot import Robot

PAPER = "telescopic2022"
NUMBERS = Paper(PAPER).numbers
ROD_LENGTH = 0.8  # m, between the telescope's joints, where eq. 26 is compared
TILTS = (10.0, 20.0, 30.0)  # deg


class RodSlip(Slip):
    """Slips of the telescopic rod and of the legs."""

    PARALLEL_AXIS = auto()
    PROJECTED_RATES = auto()
    PROJECTED_WEIGHT = auto()
    JACOBIAN = auto()
    PLATFORM_MASS = auto()
    LEG_GRAVITY = auto()
    LEG_ANGLE = auto()


def _rod_coordinates(p: list[Jet], pivot_z: float) -> tuple[Jet, list[Jet], list[Jet]]:
    """Length l, projected angles (theta, phi) and direction v of the rod at p."""
    x, y, depth = p[0], p[1], pivot_z - p[2]
    l = jets.sqrt(x * x + y * y + depth * depth)
    angles = [jets.arctan2(x, depth), jets.arctan2(y, depth)]
    return l, angles, [x / l, y / l, depth / l]


def rod_force(robot: Robot, state: State, slips: Set[Slip] = frozenset()) -> FloatArray:
    """The force (N, 3) that moves the rods, [telescopic2022] eqs. 23-33, in N.

    Of T = I(l)/2 sum yd^2 + m2/2 ld^2 and V = -g (m1 c1 + m2 (l - c2)) cos, with y the projected
    angles or the direction: sum (I y'' + I' y') dy/dp - dI/dp sum y'^2 / 2 + m2 l'' dl/dp + dV/dp.
    """
    spindle = spindle_of(robot)
    values = tuple(state.p.T[:3])
    moving = jets.along(values, tuple(state.pd.T[:3]), tuple(state.pdd.T[:3]))
    inertia, stretch, turning, _ = _rod_energy(robot, moving, slips)
    squares = sum(y.d**2 for y in turning)
    force = np.empty((len(state), 3))
    for k in range(3):
        slope = _rod_energy(robot, jets.by_coordinate(values, k), slips)
        part = spindle.lower.mass * stretch.dd * slope[1].d - 0.5 * slope[0].d * squares
        for y, by_k in zip(turning, slope[2], strict=True):
            part = part + (inertia.v * y.dd + inertia.d * y.d) * by_k.d
        force[:, k] = part + slope[3].d
    if RodSlip.JACOBIAN in slips:
        force = _through_printed_jacobian(robot, state, force)
    return force


def _rod_energy(robot: Robot, p: list[Jet], slips: Set[Slip]) -> tuple[Jet, Jet, list[Jet], Jet]:
    """I(l), l, the coordinates whose rates turn the rod, and V."""
    spindle = spindle_of(robot)
    upper, lower = spindle.upper, spindle.lower
    l, angles, direction = _rod_coordinates(p, spindle.pivot_z)
    inertia = jets.jet(upper.inertia + upper.mass * upper.com**2)
    if RodSlip.PARALLEL_AXIS in slips:
        beyond = l - 2 * lower.com
        inertia = inertia + (lower.inertia + lower.mass * lower.com**2)
    else:
        beyond = l - lower.com
        inertia = inertia + lower.inertia
    inertia = inertia + lower.mass * beyond * beyond
    cosine = jets.cos(angles[0]) if RodSlip.PROJECTED_WEIGHT in slips else direction[2]
    reach = upper.mass * upper.com + lower.mass * (l - lower.com)
    weight = -robot.gravity * reach * cosine
    return inertia, l, angles if RodSlip.PROJECTED_RATES in slips else direction, weight


def _through_printed_jacobian(robot: Robot, state: State, force: FloatArray) -> FloatArray:
    """Generalised forces J^T F of (l, theta, phi), mapped back by J_t2 as printed (eq. 33).

    The third row, dz, is unreadable and taken as right.
    """
    right = spindle_jacobian(spindle_coordinates(robot, state.p), "projected")
    printed = right.copy()
    slope = state.p[:, :2] / (state.p[:, 2:3] - spindle_of(robot).pivot_z)  # -tan
    printed[:, 0] -= slope[:, :1] * right[:, 2]
    printed[:, 1] -= slope[:, 1:] * right[:, 2]
    generalised = contract("nki,nk->ni", right, force)
    mapped = np.linalg.solve(np.swapaxes(printed, 1, 2), generalised[..., None])
    return np.asarray(mapped[..., 0], dtype=np.float64)


def leg_torque(robot: Robot, state: State, slips: Set[Slip] = frozenset()) -> FloatArray:
    """The legs (N, 3), [telescopic2022] eqs. 35-39 without friction (N m)."""
    arm, rod = robot.rotary_arms[0], robot.struts[0].mass
    a, g = robot.rotary.arm_length[0], robot.gravity
    mass = 3 * rod + robot.effector.mass + robot.payload.mass
    if RodSlip.PLATFORM_MASS not in slips:
        mass += robot.platform.mass
    inertia = robot.drives.output_inertia[0] + arm.mass * a**2 / 3 + rod * a**2
    limbs = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
    if RodSlip.LEG_GRAVITY in slips:
        g = -g
    force = mass * (state.pdd[:, :3] + np.array([0.0, 0.0, g]))
    cosine = state.sin_q if RodSlip.LEG_ANGLE in slips else state.cos_q
    torque: FloatArray = contract("nki,nk->ni", limbs.jacobian, force)
    torque += inertia * state.qdd[:, :3] - a * g * (arm.mass / 2 + rod) * cosine
    return torque


def whole_torque(robot: Robot, state: State, slips: Set[Slip] = frozenset()) -> FloatArray:
    """Legs and rods (N, 3), [telescopic2022] eq. 40 (N m)."""
    limbs = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
    rods = contract("nki,nk->ni", limbs.jacobian, rod_force(robot, state, slips))
    return leg_torque(robot, state, slips) + rods


def audit_telescopic2022() -> PaperAudit:
    """The audit of [telescopic2022] on the robot of its simulation and a move of 0.6 s."""
    scenery = stage(PAPER, "telescopic-delta", width=0.4, duration=0.6)
    robot, motion, exact = scenery.robot, scenery.motion, scenery.exact
    states = {
        "as printed": frozenset(RodSlip) - {RodSlip.LEG_ANGLE},  # with the angle of eqs. 6-14
        "rods as printed": frozenset(list(RodSlip)[:4]),
        "rods, projected rates alone": frozenset({RodSlip.PROJECTED_RATES}),
        "corrected": frozenset[RodSlip](),
    }
    torque = partial(whole_torque, robot, motion)
    models = variants(PAPER, "legs and rods (40)", torque, states, exact)
    figures = {
        "PARALLEL_AXIS": _inertia_figures(robot),
        "PROJECTED_RATES": [(100 * projected_energy_error(tilt), 0.0) for tilt in TILTS],
        "LEG_ANGLE": _angle_figures(robot, motion),
    }
    items = slip_items(RodSlip, torque, exact, figures=figures, ROD_LENGTH=ROD_LENGTH, TILTS=TILTS)
    items += [_polar_item(), _friction_item(scenery), _rotor_item(), _legs_item(scenery)]
    return PaperAudit(scenery.scene, models, tuple(items))


def _inertia_figures(robot: Robot) -> list[Pair]:
    lower = spindle_of(robot).lower
    l2, about_com = 2 * lower.com, lower.inertia
    printed = lower.mass * l2**2 / 3 + lower.mass * (ROD_LENGTH - l2) ** 2
    right = about_com + lower.mass * (ROD_LENGTH - lower.com) ** 2
    return [(printed, right), (100 * (printed / right - 1), 0.0)]


def projected_energy_error(tilt_deg: float) -> float:
    """Largest relative error of T by projected rates at a tilt, over azimuths and directions."""
    tilt, azimuth = np.radians(tilt_deg), np.linspace(0.0, np.pi / 2, 91)
    v = np.stack(
        [
            np.sin(tilt) * np.cos(azimuth),
            np.sin(tilt) * np.sin(azimuth),
            np.full_like(azimuth, np.cos(tilt)),
        ],
        axis=-1,
    )
    across = np.stack([-np.sin(azimuth), np.cos(azimuth), np.zeros_like(azimuth)], axis=-1)
    tangent = np.stack([across, np.cross(v, across)], axis=-1)  # (A, 3, 2)
    slope = np.zeros((len(azimuth), 2, 3))  # d(theta, phi)/dv
    for row in range(2):
        square = v[:, row] ** 2 + v[:, 2] ** 2
        slope[:, row, row], slope[:, row, 2] = v[:, 2] / square, -v[:, row] / square
    ratio = np.linalg.svd(slope @ tangent, compute_uv=False) ** 2
    return float(np.abs(ratio - 1).max())


def _angle_figures(robot: Robot, state: State) -> list[Pair]:
    """The platform that eq. 1 finds from angles of eqs. 6-14."""
    q = state.q.copy()
    q[:, :3] = np.pi / 2 - q[:, :3]
    found = forward_kinematics(robot, q, unreachable="nan")
    off = np.linalg.norm(found[:, :3] - state.p[:, :3], axis=1)
    return [(1e3 * np.nanmax(off), 0.0)]


def _polar_item() -> AuditItem:
    l, theta, phi = 0.85, np.radians(20.0), np.radians(np.array([30.0, 45.0]))
    coordinates = np.stack([np.full(2, l), np.full(2, theta), phi], axis=-1)
    right = spindle_jacobian(coordinates, "polar")
    printed = right.copy()
    printed[:, 0, 2] *= -1
    ratio = np.linalg.det(printed) / np.linalg.det(right)
    figures = [(ratio[0], 1.0), (np.round(ratio[1], 12), 1.0)]
    return item_of("POLAR_JACOBIAN", figures=figures)


def _friction_item(scenery: Stage) -> AuditItem:
    qd, table = scenery.motion.qd[:, :3], NUMBERS["table_2"]
    swapped = table["Fc"] * qd + table["Fv"] * np.sign(qd)
    right = table["Fv"] * qd + table["Fc"] * np.sign(qd)
    return item_of("FRICTION_NAMES", costs_of(swapped, right, right))


def _rotor_item() -> AuditItem:
    table = NUMBERS["table_2"]
    arm = (table["arm.m"] / 3 + table["strut.m"]) * NUMBERS["arm_length"] ** 2
    return item_of("ROTOR_INERTIA", figures=[(table["I_u"] - arm, None)])


def _legs_item(scenery: Stage) -> AuditItem:
    """Half of each rod at its ends (eqs. 35-37), against the exact model."""
    robot, motion = scenery.robot, scenery.motion
    model = inverse_dynamics(robot, motion, "projected-rod", friction=False)
    mine = whole_torque(robot, motion, {RodSlip.PROJECTED_RATES})
    cost = Cost.of(whole_torque(robot, motion), scenery.exact)
    same = float(np.abs(model[:, :3] - mine).max())
    return item_of("POINT_MASSES", (cost, cost), [(None, same)])
