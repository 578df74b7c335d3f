"""Fit the base parameters under a convention: the residual, and what the parameters are.

Columns are M_P, m_x, A and G of the exact model in units of the robot's own values, on a robot with
a spindle the spindle's torque as a whole, of two halves what turns with psi, the passive joints'
friction as a whole, and viscous and Coulomb friction of each arm. No parameter may be negative: a
wrong convention often fits with negative masses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.columns import exact_columns, labels_of
from deltadyn.dynamics.friction import passive_friction
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
CONSTANT = 0.01  # of the torque that a constant torque costs which is as large as the torque


class Fitted(NamedTuple):
    """RMS residual over RMS torque, the same with the penalty, and parameters over the robot's.

    `ratios` are those of M_P, A and G; `scale` is their median: the unit of the torque.
    """

    residual: float
    cost: float
    ratios: FloatArray
    scale: float


def inertial(
    robot: Robot, q: FloatArray, qd: FloatArray, qdd: FloatArray, *, joints: bool = True
) -> FloatArray:
    """Columns (n, legs, k) of M_P, A, G, m_x, the spindle and, by default, the passive joints.

    They are zero where the loop does not close.

    The spindle's axis stands still: its sign and unit are not known yet.
    """
    legs = robot.legs
    if robot.dof > legs:
        q, qd, qdd = (np.pad(array, ((0, 0), (0, robot.dof - legs))) for array in (q, qd, qdd))
    # wrong candidates have no pose at all: they are followed from home once, and not looked for
    home = None if legs < 4 else home_pose(robot)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        state = State.from_joints(robot, q, qd, qdd, unreachable="nan", hint=home)
        Y = exact_columns(robot, state, robot.equal_limbs).Y[:, :legs]
        rubbing = passive_friction(robot, state) if joints and robot.friction.passive else None
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

    found = [whole("M_P"), whole("A"), whole("G", "G_s"), whole("m_x")]
    if robot.dof > legs:
        found.append(whole("H", "kappa", "mu"))
    elif robot.turns:
        found.append(whole(*HALVES))
    if rubbing is not None:
        found.append(rubbing[:, :legs])
    columns = np.stack(found, axis=-1)
    open_loop = ~np.isfinite(columns).all(axis=(1, 2))
    columns[open_loop] = 0.0
    return columns


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
    """Fits at m offsets: residuals (m, legs n + legs), parameters (m, p) and the RMS torque.

    `constants` (m, legs) are the constant torques of the axes; their prior's residuals come last.
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
    constant: float = CONSTANT,
    rich: bool = False,
) -> Rows:
    """Fits of all samples at offsets (m, legs) of the arms' angles in rad (m).

    Each axis has a constant torque c: a current's zero, a spring, oil. It does not depend on the
    pose, as what an offset changes does. It costs (constant c)^2 of the torque's mean square: much
    where `constant` is large, and then there is none.
    """
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
    size = math.sqrt(float(y @ y) / max(1, int(samples.used.sum())))
    lengths = np.sqrt(np.einsum("mij,mij->mj", X, X))
    lengths[lengths == 0] = 1.0
    X /= lengths[:, None]
    count = max(1, int(samples.used.sum()))
    Z = _signed(samples, candidate, Y, rich)
    X, y, back = _without(X, y, Z, constant * math.sqrt(count))
    H = np.swapaxes(X, 1, 2) @ X
    g = (np.swapaxes(X, 1, 2) @ y[..., None])[..., 0]
    pull = PRIOR * size * math.sqrt(count)
    x = np.stack([_sensible(H[i], g[i], lengths[i], pull) for i in range(m)])
    residuals = y - (X @ x[..., None])[..., 0]
    return Rows(residuals, x / lengths, size, back(x)[:, :arms])


def _signed(samples: Samples, candidate: Candidate, Y: FloatArray, rich: bool) -> FloatArray:
    """Columns (m, legs n, z) that may be negative: a constant of each axis and, of a `rich` model,
    what each arm's A and G are off the others', friction that grows with the load, and a spring.
    """
    m, n, arms = Y.shape[:3]
    Z = np.zeros((m, n, arms, arms * (5 if rich else 1)))
    load = np.abs(torques(samples, candidate)) * samples.friction * np.asarray(candidate.sign)
    for arm in range(arms):
        Z[:, :, arm, arm] = 1.0
        if rich:
            Z[:, :, arm, arms + arm] = Y[:, :, arm, 1]
            Z[:, :, arm, 2 * arms + arm] = Y[:, :, arm, 2]
            Z[:, :, arm, 3 * arms + arm] = load[:, arm]
            Z[:, :, arm, 4 * arms + arm] = samples.x[:, arm] - samples.x[:, arm].mean()
    Z *= samples.used[:, :, None]
    return Z.reshape(m, n * arms, -1)


def _without(
    X: FloatArray, y: FloatArray, Z: FloatArray, weight: float
) -> tuple[FloatArray, FloatArray, Callable[[FloatArray], FloatArray]]:
    """Columns X and torque y less what Z explains of them, with the rows of Z's prior below.

    A torque of the mean square s^2 costs (weight s)^2. The function gives the parameters of Z.
    """
    m, rows, z = Z.shape
    length = np.sqrt(np.einsum("mij,mij->mj", Z, Z))
    length[length == 0] = 1.0
    scale = math.sqrt(max(rows, 1)) / length
    whole = np.concatenate([Z * scale[:, None], np.tile(weight * np.eye(z), (m, 1, 1))], axis=1)
    X = np.concatenate([X, np.zeros((m, z, X.shape[2]))], axis=1)
    y = np.concatenate([y, np.zeros(z)])
    Q, R = np.linalg.qr(whole)
    inside, own = np.swapaxes(Q, 1, 2) @ X, np.swapaxes(Q, 1, 2) @ y

    def back(x: FloatArray) -> FloatArray:
        found = np.linalg.solve(R, own[..., None] - inside @ x[..., None])[..., 0]
        return np.asarray(found * scale)

    return X - Q @ inside, y - (Q @ own[..., None])[..., 0], back


def fitted(samples: Samples, rows: Rows, index: int = 0) -> Fitted:
    """What one of the fits says."""
    count = max(1, int(samples.used.sum()))
    rest = math.sqrt(float(np.sum(rows.residuals[index] ** 2)) / count)
    residual = rest / rows.size if rows.size > 0 else 1.0
    ratios = rows.parameters[index, :3].copy()
    return Fitted(residual, residual + penalty(ratios), ratios, float(np.median(ratios)))


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
