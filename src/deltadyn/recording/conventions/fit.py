"""Fit the base parameters under a convention: the residual, and what the parameters are.

Columns are M_P, m_x, A and G of the exact model in units of the robot's own values, on a robot with
a spindle the spindle's torque as a whole, of two halves what turns with psi, the passive joints'
friction as a whole, all other terms that the robot file gives its drives as a whole, and viscous
and Coulomb friction of each arm. None of these may be negative: a wrong convention often fits with
negative masses. Beside them each axis has terms of either sign with a small price (`AxisTerms`), by
default a constant torque: a current's zero, a spring, oil. An offset of an angle is only what these
do not explain.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.columns import exact_columns, labels_of
from deltadyn.dynamics.friction import friction_torque, passive_friction
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.dynamics.parameters import exact_parameters
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.kinematics.state import State
from deltadyn.recording.conventions.candidates import Candidate
from deltadyn.recording.conventions.samples import Samples
from deltadyn.robot import Robot

HALVES = ("S", "S_s", "h_x", "h_y", "I_psi")  # what turns with psi between two halves
SPREAD = 5.0  # of the parameters over the robot's own: what is usual
SPREAD_COST = 0.03  # per e-fold beyond
LEAST_RATIO = 1e-3  # of a parameter that came out as 0
RIDGE = 1e-7
ROUNDS = 12  # of the active set
PRIOR = 0.01  # of the torque that a parameter costs which vanishes
SMALL = 0.4  # of the median ratio: a parameter below is pulled
TERM_COST = 0.01  # of the torque that a term of an axis costs which is as large as the torque
CONSTANT_USUAL = 0.5  # of the RMS torque: a larger constant of an axis is a sign of another torque
CONSTANT_COST = 0.2  # per RMS torque beyond

#: What each axis has beside the base parameters: nothing, a constant torque, or with the constant
#: all that an offset of its angle can be confused with.
AxisTerms = Literal["none", "constant", "all"]


class Fitted(NamedTuple):
    """RMS residual over RMS torque, the same with penalties, and M_P, A, G over the robot's.

    Penalties are for parameters out of proportion, and for constant torques of unusual size.
    """

    residual: float
    cost: float
    ratios: FloatArray


def inertial(
    robot: Robot, q: FloatArray, qd: FloatArray, qdd: FloatArray, *, friction: bool = True
) -> FloatArray:
    """Columns (n, legs, k) of M_P, A, G, m_x and the spindle, in the scale of the drives.

    With `friction` also those of the passive joints and of the drives' other terms, where the robot
    has them. They are zero where the loop does not close. The spindle's axis stands still: its sign
    and unit are not known yet.
    """
    legs = robot.legs
    if robot.dof > legs:
        q, qd, qdd = (np.pad(array, ((0, 0), (0, robot.dof - legs))) for array in (q, qd, qdd))
    # wrong candidates have no pose at all: they are followed from home once, and not looked for
    home = None if legs < 4 else home_pose(robot)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        state = State.from_joints(robot, q, qd, qdd, unreachable="nan", hint=home)
        Y = exact_columns(robot, state, robot.equal_limbs).Y[:, :legs]
        frictions = _friction_columns(robot, state) if friction else []
    labels = labels_of(robot, robot.equal_limbs, None, False)
    value = dict(zip(labels.names, labels.values.tolist(), strict=True))
    weights = {name: value["M_P"] if name.startswith("m_x") else own for name, own in value.items()}

    def whole(*stems: str) -> FloatArray:
        """The torque of these parameters; those of unequal limbs, such as A1, keep their ratios."""
        total: FloatArray = np.zeros(Y.shape[:2])
        for index, name in enumerate(labels.names):
            if name in stems or name.rstrip("1234") in stems:
                total = total + weights[name] * Y[..., index]
        return total

    blocks = [whole("M_P"), whole("A"), whole("G", "G_s"), whole("m_x")]
    if robot.dof > legs:
        blocks.append(whole("H", "kappa", "mu"))
    elif robot.turns:
        blocks.append(whole(*HALVES))
    columns = np.stack([*blocks, *frictions], axis=-1)
    columns *= np.asarray(robot.sensors.torque_ratio)[:legs, None]
    open_loop = ~np.isfinite(columns).all(axis=(1, 2))
    columns[open_loop] = 0.0
    return columns


def _friction_columns(robot: Robot, state: State) -> list[FloatArray]:
    """Torque (n, legs) of the passive joints, and of all that the file gives the drives otherwise.

    That is the robot's whole friction and ripple less Fv qd and Fc sign(qd), which have columns of
    each arm: offsets, Stribeck, losses with the load, friction by direction, ripple.
    """
    friction, legs, found = robot.friction, robot.legs, []
    passive = passive_friction(robot, state)
    if friction.passive:
        found.append(passive[:, :legs])
    terms = (friction.coulomb_negative, friction.stribeck, friction.thinning, friction.offset)
    losses = (friction.load, friction.motor_load)
    if robot.drives.ripple or any(np.any(x) for x in (*terms, *losses) if x is not None):
        frictionless = inverse_dynamics(robot, state, friction=False)
        frictionless = frictionless / np.asarray(robot.sensors.torque_ratio)
        other = friction_torque(robot, state, frictionless) - passive
        base = robot.with_friction(
            **dict.fromkeys(("stribeck", "stribeck_velocity", "thinning", "thinning_velocity")),
            **dict.fromkeys(("offset", "load", "motor_load", "coulomb_negative")),
            passive=(),
        ).replace(drives=replace(robot.drives, ripple=()))
        other = other - friction_torque(base, state, frictionless)
        found.append(other[:, :legs])
    return found


def moved(
    samples: Samples, candidate: Candidate, offsets: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Angles, rates, accelerations (m * n, legs) under a candidate with offsets (m, legs)."""
    gain = np.asarray(candidate.sign) * candidate.reading.factor
    m = len(offsets)
    q = (samples.x * gain + offsets[:, None]).reshape(-1, samples.arms)
    qd, qdd = (np.tile(array * gain, (m, 1)) for array in (samples.xd, samples.xdd))
    return q, qd, qdd


def torques(samples: Samples, candidate: Candidate) -> FloatArray:
    """The arms' torques (n, legs) under a candidate, in the log's unit."""
    turn = np.asarray(candidate.sign) * np.asarray(candidate.torque_turn)
    tau: FloatArray = samples.tau[:, list(candidate.torque_order)] * turn
    return tau


class Rows(NamedTuple):
    """Fits at m offsets: residuals (m, legs n + z), parameters (m, p) and the RMS torque.

    `constants` (m, legs) are the constant torques of the axes, 0 where there are none. The last z
    residuals are what the z terms of the axes cost.
    """

    residuals: FloatArray
    parameters: FloatArray
    size: float
    constants: FloatArray


def fit_rows(
    robot: Robot,
    samples: Samples,
    candidate: Candidate,
    offsets: FloatArray,
    terms: AxisTerms = "constant",
) -> Rows:
    """Fits of all samples at offsets (m, legs) of the arms' angles in rad (m)."""
    m, n, arms = len(offsets), len(samples), samples.arms
    Y = inertial(robot, *moved(samples, candidate, offsets)).reshape(m, n, arms, -1)
    k = Y.shape[-1]
    blocks = np.zeros((m, n, arms, k + 2 * arms))
    blocks[..., :k] = Y
    sign = np.asarray(candidate.sign)
    for arm in range(arms):
        blocks[:, :, arm, k + arm] = samples.xd[:, arm] * sign[arm]
        blocks[:, :, arm, k + arms + arm] = samples.friction[:, arm] * sign[arm]
    blocks *= samples.used[:, :, None]
    X = blocks.reshape(m, n * arms, -1)
    y = (torques(samples, candidate) * samples.used).reshape(-1)
    count = max(1, int(samples.used.sum()))
    size = math.sqrt(float(y @ y) / count)
    lengths = np.sqrt(np.einsum("mij,mij->mj", X, X))
    lengths[lengths == 0] = 1.0
    X /= lengths[:, None]
    Z = axis_columns(samples, candidate, Y, terms)
    free = _without(X, np.tile(y, (m, 1)), Z, TERM_COST * math.sqrt(count))
    H = np.swapaxes(free.X, 1, 2) @ free.X
    g = np.einsum("mij,mi->mj", free.X, free.y)
    pull = PRIOR * size * math.sqrt(count)
    x = np.stack([_sensible(H[i], g[i], lengths[i], pull) for i in range(m)])
    residuals = free.y - (free.X @ x[..., None])[..., 0]
    constants = free.terms(x)[:, :arms] if Z.shape[2] else np.zeros((m, arms))
    return Rows(residuals, x / lengths, size, constants)


def axis_columns(
    samples: Samples, candidate: Candidate, Y: FloatArray, terms: AxisTerms
) -> FloatArray:
    """Columns (m, legs n, z) of the axes' own terms: first a constant torque of each.

    Of all terms also what its A and G differ from the others', friction that grows with the load,
    and a spring.
    """
    m, n, arms = Y.shape[:3]
    sign = np.asarray(candidate.sign)
    of_axis: list[FloatArray] = []
    if terms != "none":
        of_axis.append(np.ones((1, n, arms)))
    if terms == "all":
        load = np.abs(torques(samples, candidate)) * samples.friction * sign
        centred = samples.x - samples.x.mean(axis=0)
        of_axis += [Y[..., 1], Y[..., 2], load[None], centred[None]]
    Z = np.zeros((m, n, arms, len(of_axis) * arms))
    for kind, values in enumerate(of_axis):
        for arm in range(arms):
            Z[:, :, arm, kind * arms + arm] = values[..., arm]
    Z *= samples.used[:, :, None]
    return Z.reshape(m, n * arms, -1)


class _Projected(NamedTuple):
    """Columns X (m, rows, p) and torques y (m, rows) without what the terms Z explain of them."""

    X: FloatArray
    y: FloatArray
    R: FloatArray  # (m, z, z), of Z = Q R
    shares: tuple[FloatArray, FloatArray]  # Q^T X and Q^T y
    scale: FloatArray  # (m, z), from R's parameters to those of Z

    def terms(self, x: FloatArray) -> FloatArray:
        """The parameters (m, z) of Z beside parameters x (m, p) of X."""
        of_columns, of_torque = self.shares
        right = of_torque - (of_columns @ x[..., None])[..., 0]
        return np.asarray(np.linalg.solve(self.R, right[..., None])[..., 0] * self.scale)


def _without(X: FloatArray, y: FloatArray, Z: FloatArray, weight: float) -> _Projected:
    """X and y projected off Z, with a row below for the price of each column of Z.

    A term whose torque has the mean square s^2 costs (weight s)^2.
    """
    m, rows, z = Z.shape
    length = np.sqrt(np.einsum("mij,mij->mj", Z, Z))
    length[length == 0] = 1.0
    scale = math.sqrt(max(rows, 1)) / length
    whole = np.concatenate([Z * scale[:, None], np.tile(weight * np.eye(z), (m, 1, 1))], axis=1)
    X = np.concatenate([X, np.zeros((m, z, X.shape[2]))], axis=1)
    y = np.concatenate([y, np.zeros((m, z))], axis=1)
    Q, R = np.linalg.qr(whole)
    of_columns = np.swapaxes(Q, 1, 2) @ X
    of_torque = np.einsum("mij,mi->mj", Q, y)
    left = y - (Q @ of_torque[..., None])[..., 0]
    return _Projected(X - Q @ of_columns, left, R, (of_columns, of_torque), scale)


def torque_scale(robot: Robot, samples: Samples, candidate: Candidate) -> float:
    """The logged torque over the model's with the robot file's masses; nan where nothing shows it.

    One factor of the model's torque as a whole, beside friction and a constant of each arm: single
    parameters may be far off where the motion shows little of them.
    """
    n, arms = len(samples), samples.arms
    Y = inertial(
        robot, *moved(samples, candidate, np.asarray(candidate.offset)[None]), friction=False
    )
    parameters = exact_parameters(robot)
    Y[..., 3] *= float(np.mean(np.asarray(parameters.m_x)) / parameters.M_P)  # was in units of M_P
    columns = np.zeros((n, arms, 1 + 2 * arms))
    columns[..., 0] = Y.sum(axis=-1)
    for arm in range(arms):
        columns[:, arm, 1 + arm] = samples.xd[:, arm]
        columns[:, arm, 1 + arms + arm] = samples.friction[:, arm]
    columns *= samples.used[:, :, None]
    X = columns.reshape(1, n * arms, -1)
    y = (torques(samples, candidate) * samples.used).reshape(1, -1)
    Z = axis_columns(samples, candidate, Y[None], "constant")
    count = max(1, int(samples.used.sum()))
    free = _without(X, y, Z, TERM_COST * math.sqrt(count))
    lengths = np.linalg.norm(free.X[0], axis=0)
    if not lengths[0] > 0:
        return math.nan
    lengths[lengths == 0] = 1.0
    return float(np.linalg.lstsq(free.X[0] / lengths, free.y[0], rcond=1e-8)[0][0] / lengths[0])


def fitted(samples: Samples, rows: Rows, index: int = 0) -> Fitted:
    """What one of the fits says."""
    count = max(1, int(samples.used.sum()))
    rest = math.sqrt(float(np.sum(rows.residuals[index] ** 2)) / count)
    residual = rest / rows.size if rows.size > 0 else 1.0
    ratios = rows.parameters[index, :3].copy()
    largest = float(np.abs(rows.constants[index]).max(initial=0.0)) / max(rows.size, 1e-300)
    unusual = CONSTANT_COST * max(0.0, largest - CONSTANT_USUAL)
    return Fitted(residual, residual + penalty(ratios) + unusual, ratios)


def penalty(ratios: FloatArray) -> float:
    """What a fit pays for parameters (3,) that are out of proportion to the robot's own."""
    return float(penalties(ratios[None])[0])


def penalties(ratios: FloatArray) -> FloatArray:
    """The same for many fits (m, 3)."""
    top = np.max(ratios, axis=1)
    floor = np.maximum(LEAST_RATIO * top, np.finfo(float).tiny)
    low = np.maximum(np.min(ratios, axis=1), floor)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.log(np.maximum(top, low) / low) - math.log(SPREAD)
    found: FloatArray = SPREAD_COST * np.maximum(0.0, spread)
    return found


def _sensible(H: FloatArray, g: FloatArray, lengths: FloatArray, weight: float) -> FloatArray:
    """Parameters >= 0, of which M_P, A and G do not vanish where the samples tell little of them.

    A motion of a few degrees leaves gravity's share open, and 0 would look like a wrong convention.
    With s the median of the three, those far below it get weight^2 (x_k / s - 1)^2.
    """
    x = nonnegative(H, g)
    ratios = x[:3] / lengths[:3]
    s = float(np.median(ratios))
    small = np.flatnonzero(ratios < SMALL * s)
    if not small.size:
        return x
    pull = weight / (s * lengths[small])  # of a scaled column
    H, g = H.copy(), g.copy()
    H[small, small] += pull**2
    g[small] += pull * weight
    return nonnegative(H, g)


def nonnegative(H: FloatArray, g: FloatArray) -> FloatArray:
    """x >= 0 with the least x'Hx/2 - g'x, by an active set."""
    p = len(g)
    free = np.ones(p, dtype=bool)
    damped = H + RIDGE * np.eye(p)
    x = np.zeros(p)
    for _ in range(ROUNDS):
        x = np.zeros(p)
        if free.any():
            x[free] = np.linalg.solve(damped[np.ix_(free, free)], g[free])
        if (x < 0).any():
            free &= x > 0
            continue
        slope = g - damped @ x
        slope[free] = 0.0
        best = int(slope.argmax())
        if slope[best] <= 1e-9 * max(1.0, float(np.abs(g).max())):
            break
        free[best] = True
    return np.maximum(x, 0.0)
