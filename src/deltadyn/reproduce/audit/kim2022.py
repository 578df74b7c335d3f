"""[kim2022]: the Euler-Lagrange model (1)-(2) and the virtual-work model (3)-(29).

The paper says that z points up and measures the arm angle from the x_i axis with the elbow at
+L1 sin(theta) (eq. 11). In that frame theta is ours with the other sign, and so is the torque.
"""

from __future__ import annotations

from collections.abc import Set
from enum import auto
from functools import partial

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics import inverse_dynamics
from deltadyn.kinematics import LimbGeometry, State
from deltadyn.reproduce.audit.records import (
    AuditItem,
    Cost,
    PaperAudit,
    Slip,
    Stage,
    item_of,
    slip_items,
    stage,
    variants,
)
from deltadyn.reproduce.ladder import random_states
from deltadyn.reproduce.result import Paper
from deltadyn.robot import Robot

PAPER = "kim2022"

ARM_COLUMNS = ((1, 2, 3, 5), (6, 7, 8, 9), (10, 11, 12, 13))  # of eq. 40: x, y, z, R - r per arm
EQ_36 = Paper(PAPER).numbers["eq_36"]  # identified values
(_, ARM_GRAVITY_TORQUE, *ARM_INERTIA), VISCOUS, COULOMB = EQ_36.values()


class LagrangeSlip(Slip):
    """Slips of eqs. 1-2."""

    GRAVITY_IN_1 = auto()
    ARM_COM = auto()


class WorkSlip(Slip):
    """Slips of eqs. 3-7 and 22."""

    GRAVITY = auto()
    FRICTION = auto()
    ARM_AS_POINT = auto()
    ARM_MOMENT_AT_ELBOW = auto()
    HALF_ROD = auto()


def lagrange_torque(robot: Robot, state: State, slips: Set[Slip] = frozenset()) -> FloatArray:
    """[kim2022] eqs. 1-2 in the paper's frame, brought to ours (N m): tau = -tau_paper."""
    geometry, arm, rod = robot.rotary, robot.rotary_arms[0], robot.struts[0].mass
    g = -robot.gravity if LagrangeSlip.GRAVITY_IN_1 not in slips else robot.gravity
    L1, R, r = geometry.arm_length[0], geometry.base_radius[0], geometry.platform_radius[0]
    phi, rotor = np.asarray(geometry.azimuth), robot.drives.output_inertia[0]
    theta, theta_dd = -state.q[:, :3], -state.qdd[:, :3]
    c, s = np.cos(theta), np.sin(theta)
    Px, Py, Pz = (state.p[:, k, None] for k in range(3))
    reach = r - R - L1 * c
    rows = (Px + reach * np.cos(phi), Py + reach * np.sin(phi), Pz - L1 * s)
    mass = robot.platform.mass + 3 * rod
    right = mass * (state.pdd[:, :3] - np.array([0.0, 0.0, g])) / 2
    multiplier = np.linalg.solve(np.stack(rows, axis=1), right[..., None])[..., 0]
    inertia = rotor + arm.inertia + L1**2 * rod
    if LagrangeSlip.ARM_COM not in slips:
        inertia += arm.mass * arm.com**2
    k = (Px * np.cos(phi) + Py * np.sin(phi) + r - R) * s - Pz * c
    weight = (arm.mass * arm.com + rod * L1) * g
    torque: FloatArray = inertia * theta_dd - weight * c - 2 * L1 * multiplier * k
    return -torque


def work_torque(
    robot: Robot,
    state: State,
    slips: Set[Slip] = frozenset(),
    friction: tuple[FloatArray, FloatArray] | None = None,
) -> FloatArray:
    """[kim2022] eq. 25 with the values of eqs. 3, 5, 7, brought to our frame (N m).

    `friction` holds the coefficients c_v and c_c per joint. In the paper's frame theta, its rates
    and the torque have the other sign, so that friction looks the same in both.
    """
    arm, rod = robot.rotary_arms[0], robot.struts[0].mass
    L1, rotor = robot.rotary.arm_length[0], robot.drives.output_inertia[0]
    elbow = (0.5 if WorkSlip.HALF_ROD in slips else 1.0) * rod
    inertia = arm.inertia + arm.mass * arm.com**2 + rotor
    if WorkSlip.ARM_AS_POINT in slips:
        inertia = arm.mass * L1**2
    moment = arm.mass * (L1 if WorkSlip.ARM_MOMENT_AT_ELBOW in slips else arm.com)
    g = robot.gravity if WorkSlip.GRAVITY in slips else -robot.gravity  # along +z of the paper
    mass = robot.platform.mass + 3 * rod
    limbs = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
    force = mass * (state.pdd[:, :3] - np.array([0.0, 0.0, g]))
    torque: FloatArray = (inertia + elbow * L1**2) * state.qdd[:, :3]
    torque = torque + contract("nki,nk->ni", limbs.jacobian, force)
    torque = torque + (moment + elbow * L1) * g * state.cos_q
    if friction is not None:
        sign = -1.0 if WorkSlip.FRICTION in slips else 1.0
        rate = state.qd[:, :3]
        torque = torque + sign * (friction[0] * rate + friction[1] * np.sign(rate))
    return torque


def audit_kim2022() -> PaperAudit:
    """The audit of [kim2022] on its robot; the length of the struts is an assumption."""
    scenery = stage(PAPER, "nt-robot")
    robot, motion, exact = scenery.robot, scenery.motion, scenery.exact
    friction = np.abs(VISCOUS), np.abs(COULOMB)
    rubbed = exact + friction[0] * motion.qd + friction[1] * np.sign(motion.qd)
    lagrange = partial(lagrange_torque, robot, motion)
    work = partial(work_torque, robot, motion, friction=friction)
    # I_L1 is below m_a L1c^2, so it cannot be about the motor axis.
    arm = robot.rotary_arms[0]
    about = [(arm.inertia, arm.axis_inertia)]
    items = [
        *slip_items(LagrangeSlip, lagrange, exact, figures={"ARM_COM": about}),
        *slip_items(WorkSlip, work, rubbed),
        _values_item(robot),
        _energy_item(scenery),
        _regression_item(robot),
        _fitness_item(scenery),
        _voltage_item(scenery),
    ]
    first = {"as printed": frozenset(LagrangeSlip), "corrected": frozenset[LagrangeSlip]()}
    second = {"as printed": frozenset(WorkSlip), "corrected": frozenset[WorkSlip]()}
    models = variants(PAPER, "Euler-Lagrange (1)-(2)", lagrange, first, exact)
    models += variants(PAPER, "virtual work (3)-(25)", work, second, rubbed)
    return PaperAudit(scenery.scene, models, tuple(items))


def _values_item(robot: Robot) -> AuditItem:
    """The approximations of eqs. 3, 5, 7 beside right values and the identified ones."""
    arm, rod, L1 = robot.rotary_arms[0], robot.struts[0].mass, robot.rotary.arm_length[0]
    equivalent = arm.mass + 0.5 * rod
    inertia = arm.axis_inertia + rod * L1**2 + robot.drives.output_inertia[0]
    moment = robot.gravity * (arm.mass * arm.com + rod * L1)
    return item_of(
        "APPROXIMATIONS",
        figures=[(equivalent * L1**2, inertia), (equivalent * robot.gravity * L1, moment)],
        ARM_GRAVITY_TORQUE=ARM_GRAVITY_TORQUE,
        ARM_INERTIA=ARM_INERTIA,
    )


def _energy_item(scenery: Stage) -> AuditItem:
    """What the identified friction of eq. 36 does, with the signs of eq. 22."""
    motion = scenery.motion
    qd, step = motion.qd[:, :3], motion.duration / (len(motion) - 1)
    viscous = -np.asarray(VISCOUS) * qd
    coulomb = -np.asarray(COULOMB) * np.sign(qd)
    work = [float(np.sum(torque * qd) * step) for torque in (viscous, coulomb)]
    turning = np.abs(COULOMB) / np.asarray(VISCOUS)
    active = np.mean((viscous + coulomb) * qd < 0)
    lost = [(work[0], -work[0]), (work[1], work[1])]
    return item_of("ACTIVE_FRICTION", figures=[*lost, (turning.min(), None), (active, 0.0)])


def regression_columns(state: State) -> FloatArray:
    """[kim2022] eq. 40 (N, 3, 14) in its order, in a frame with z down: theta and z are ours."""
    c, s = state.cos_q, state.sin_q
    x, y, z = (state.p[:, k, None] for k in range(3))
    Y = np.zeros((len(state), 3, 14))
    Y[:, :, 0], Y[:, :, 4] = state.qdd[:, :3], -c
    own = np.stack([-x * s, -y * s, -z * c, s], axis=-1)  # (N, arm, 4)
    for arm, where in enumerate(ARM_COLUMNS):
        Y[:, arm, where] = own[:, arm]
    return Y


def work_columns(robot: Robot, state: State) -> FloatArray:
    """The 11 columns of the virtual-work model: m_P, T_g, I1..3, c_v1..3, c_c1..3."""
    limbs = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
    lifted = state.pdd[:, :3] + np.array([0.0, 0.0, robot.gravity])
    push = contract("nki,nk->ni", limbs.jacobian, lifted)
    rate = state.qd[:, :3]
    own = [part[:, :, None] * np.eye(3) for part in (state.qdd[:, :3], rate, np.sign(rate))]
    return np.concatenate([push[:, :, None], -state.cos_q[:, :, None], *own], axis=2)


def _regression_item(robot: Robot) -> AuditItem:
    """Least squares on eqs. 37-40 and on the 11 columns, of one set of torques."""
    states = random_states(robot, 2000, seed=7)
    torque = inverse_dynamics(robot, states, friction=False)
    torque += np.abs(VISCOUS) * states.qd + np.abs(COULOMB) * np.sign(states.qd)
    left = []
    for Y in (regression_columns(states), work_columns(robot, states)):
        matrix = Y.reshape(-1, Y.shape[-1])
        fit = matrix @ np.linalg.lstsq(matrix, torque.ravel(), rcond=None)[0]
        left.append(Cost.of(fit.reshape(torque.shape), torque))
    arm, L1 = robot.rotary_arms[0], robot.rotary.arm_length[0]
    moment = arm.mass * arm.com + robot.struts[0].mass * L1
    whole = float(np.sqrt(np.mean(torque**2)))
    figures = [(left[0].rms_Nm, left[1].rms_Nm), (moment, moment * robot.gravity)]
    return item_of("MULTIPLIERS_AS_CONSTANTS", (left[0], left[0]), figures, whole=whole)


def fitness(predicted: FloatArray, measured: FloatArray, over: FloatArray) -> float:
    """[kim2022] eq. 41: 1 - RMS error / range of `over`."""
    error = float(np.sqrt(np.mean((predicted - measured) ** 2)))
    return 1 - error / float(np.ptp(over))


def _fitness_item(scenery: Stage) -> AuditItem:
    measured, predicted = scenery.exact[:, 0], 2 * scenery.exact[:, 0]
    pair = [fitness(predicted, measured, over) for over in (predicted, measured)]
    return item_of("FITNESS", figures=[(pair[0], pair[1])])


def _voltage_item(scenery: Stage) -> AuditItem:
    negative = float(np.mean(scenery.exact[:, :3] < 0))
    return item_of("VOLTAGE_SQUARED", figures=[(negative, 0.0)])
