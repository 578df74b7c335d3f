"""Search for the convention: a grid of directions and offsets, then refined offsets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.parameters import exact_parameters
from deltadyn.recording.conventions.candidates import (
    SLACK,
    Candidate,
    Pairing,
    Reading,
    directions,
    limits_of,
)
from deltadyn.recording.conventions.fit import (
    RIDGE,
    TERM_COST,
    AxisTerms,
    Fitted,
    Rows,
    fit_rows,
    fitted,
    inertial,
    moved,
    penalties,
)
from deltadyn.recording.conventions.samples import FEW, Samples
from deltadyn.robot import Robot

GRID = math.radians(15.0)
MOST_PLACES = 7  # of an arm's offset on the grid
FEW_OF_FOUR = 12  # samples of the grid of four arms, whose poses have no closed form
STAR = math.radians(25.0)  # steps of one offset of four arms, of which the others are 0
BEST = 6  # candidates that are refined
FOUR = 4  # arms, for which less is tried
STEP = 1e-3  # rad, of the differences
STEPS = 8  # of Gauss-Newton
FARTHEST = math.radians(15.0)  # that an offset moves in a step
ENOUGH = math.radians(0.05)  # a smaller step is the last
PIECE = 60_000  # samples of the grid at a time


class Found(NamedTuple):
    """A refined candidate, its fit, and its offsets' covariance (legs, legs) by noise alone.

    `constants` (legs,) are the constant torques of the axes, in the unit of the log, `parameters`
    the number of all parameters of the fit.
    """

    candidate: Candidate
    fit: Fitted
    covariance: FloatArray
    constants: FloatArray
    parameters: int

    @property
    def cost(self) -> float:
        """The cost by which candidates are compared."""
        return self.fit.cost * self.candidate.reading.doubt


class Point(NamedTuple):
    """A candidate of the grid and its cost."""

    cost: float
    candidate: Candidate


def grid_points(robot: Robot, samples: Samples, reading: Reading, pairing: Pairing) -> list[Point]:
    """The best offsets of every direction, on a grid of 15 degrees inside the joints' limits."""
    few = samples.thinned(FEW if samples.arms < FOUR else FEW_OF_FOUR)
    y = (few.tau[:, list(pairing.order)] * np.asarray(pairing.turn) * few.used).reshape(-1)
    y = np.concatenate([y, np.zeros(samples.arms)])
    common = _Common.of(_common_columns(robot, few, reading.factor), y)
    found = []
    for sign in directions(samples.arms):
        candidate = Candidate(reading, sign, pairing.order, pairing.turn)
        offsets = (_offsets if samples.arms < FOUR else _star)(robot, samples, candidate)
        parts = [offsets[part] for part in _parts(len(offsets), len(few))]
        costs = np.concatenate([_costs(robot, few, candidate, part, common) for part in parts])
        best = int(costs.argmin())
        found.append(Point(float(costs[best]), candidate.shifted(offsets[best])))
    return found


class _Common(NamedTuple):
    """Columns (legs (n + 1), 1 + 3 legs) that no direction and no offset changes, and torque y.

    They are A, friction and a constant of each axis, with rows times the direction s:
    s tau = s Y x + A f xdd + Fv xd + ..., and a row for the price of each constant last. As Q R and
    projected out of all candidates at once, they leave M_P, G and m_x to solve for, and `rest` of
    the torque to explain.
    """

    Q: FloatArray
    R: FloatArray
    y: FloatArray
    rest: FloatArray
    size: float  # of y

    @classmethod
    def of(cls, columns: FloatArray, y: FloatArray) -> _Common:
        """The factors of these columns; an axis that rests leaves its own zero."""
        Q, R = np.linalg.qr(columns)
        R[np.diag_indices_from(R)] += np.where(np.abs(np.diag(R)) < 1e-12, 1.0, 0.0)
        return cls(Q, R, y, y - Q @ (Q.T @ y), math.sqrt(float(y @ y)) or 1.0)


def _parts(count: int, samples: int) -> Iterable[slice]:
    step = max(1, PIECE // samples)
    return [slice(start, start + step) for start in range(0, count, step)]


def _common_columns(robot: Robot, few: Samples, factor: float) -> FloatArray:
    """A in the robot's own value, viscous and Coulomb friction and a constant of each arm."""
    n, arms = len(few), few.arms
    columns = np.zeros((n, arms, 1 + 3 * arms))
    columns[:, :, 0] = few.xdd * (factor * np.asarray(exact_parameters(robot).A))
    for arm in range(arms):
        columns[:, arm, 1 + arm] = few.xd[:, arm]
        columns[:, arm, 1 + arms + arm] = few.friction[:, arm]
        columns[:, arm, 1 + 2 * arms + arm] = 1.0
    columns *= few.used[:, :, None]
    prior = np.zeros((arms, 1 + 3 * arms))
    prior[:, 1 + 2 * arms :] = TERM_COST * math.sqrt(max(1, int(few.used.sum()))) * np.eye(arms)
    return np.concatenate([columns.reshape(n * arms, -1), prior])


def _offsets(robot: Robot, samples: Samples, candidate: Candidate) -> FloatArray:
    """Offsets (m, legs) of a grid for which the arms stay inside their limits."""
    places, grid = [], GRID * robot.radian[0]
    for low, high in zip(*offset_bounds(robot, samples, candidate), strict=True):
        if high <= low:
            places.append(np.array([(low + high) / 2]))
            continue
        step = grid * max(1.0, (high - low) / grid / MOST_PLACES)
        own = step * np.arange(math.ceil(low / step), math.floor(high / step) + 1)
        places.append(own if own.size else np.array([(low + high) / 2]))
    return np.stack(np.meshgrid(*places, indexing="ij"), axis=-1).reshape(-1, samples.arms)


def _star(robot: Robot, samples: Samples, candidate: Candidate) -> FloatArray:
    """Offsets (m, 4) of which one is not 0, or all are the same: a grid of four would be large."""
    low, high = offset_bounds(robot, samples, candidate)
    step = STAR * robot.radian[0]
    middle = np.clip(0.0, np.minimum(low, high), np.maximum(low, high))  # 0 where that is inside
    found = [middle]
    for arms in (*np.eye(FOUR), np.ones(FOUR)):
        for k in (-2, -1, 1, 2):
            moved = middle + k * step * arms
            if np.all((moved >= low) & (moved <= high) | (arms == 0)):
                found.append(moved)
    return np.stack(found)


def offset_bounds(
    robot: Robot, samples: Samples, candidate: Candidate
) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest offsets (legs,) with which the arms stay in their limits, or nearly."""
    (low, high), slack = limits_of(robot), SLACK * robot.radian[0]
    gain = np.asarray(candidate.sign) * candidate.reading.factor
    ends = np.sort(np.stack([samples.low * gain, samples.high * gain]), axis=0)
    return low - slack - ends[0], high + slack - ends[1]


def _costs(
    robot: Robot,
    few: Samples,
    candidate: Candidate,
    offsets: FloatArray,
    common: _Common,
) -> FloatArray:
    """Costs (m,) of offsets (m, legs): residual, negative parameters, spread."""
    Q, R, y, rest, size = common
    m, n = len(offsets), len(few)
    whole = inertial(robot, *moved(few, candidate, offsets), friction=False)
    own = np.delete(whole.reshape(m, n, few.arms, -1), 1, axis=-1)  # A is among the common columns
    own *= (few.used * np.asarray(candidate.sign))[:, :, None]
    Y = own.reshape(m, n * few.arms, -1)
    plain = 1 + 2 * few.arms  # columns whose parameters are not negative
    inside = np.swapaxes(Y, 1, 2) @ Q[: Y.shape[1]]  # (m, k, 10)
    H = np.swapaxes(Y, 1, 2) @ Y - inside @ np.swapaxes(inside, 1, 2)
    g = np.swapaxes(Y, 1, 2) @ rest[: Y.shape[1]]
    length = np.sqrt(np.maximum(np.einsum("mii->mi", np.swapaxes(Y, 1, 2) @ Y), 1e-300))
    H /= length[:, :, None] * length[:, None]
    g /= length
    x = _nonnegative(H, g)
    left = float(rest @ rest) - 2 * np.sum(x * g, axis=1) + np.einsum("mi,mij,mj->m", x, H, x)
    residual = np.sqrt(np.maximum(left, 0.0)) / size
    x = x / length
    shared = np.linalg.solve(R, (Q.T @ y - np.einsum("mkc,mk->mc", inside, x)).T).T
    # what negative inertia and friction would give, as a share of the torque
    lost = np.minimum(shared, 0.0)[:, :plain] * np.sqrt(np.sum((Q @ R) ** 2, axis=0))[:plain]
    negative = np.sqrt(np.sum(lost**2, axis=1)) / size
    ratios = np.stack([x[:, 0], np.maximum(shared[:, 0], 0.0), x[:, 1]], axis=1)
    return np.asarray(residual + negative + penalties(ratios))


def _nonnegative(H: FloatArray, g: FloatArray) -> FloatArray:
    """Solutions (m, k) of H x = g without those that come out negative."""
    k = g.shape[1]
    unit = np.eye(k)
    free = np.ones_like(g, dtype=bool)
    x = g
    for _ in range(k):
        both = free[:, :, None] & free[:, None]
        own = np.where(both, H, 0.0) + (RIDGE + ~free[:, :, None]) * unit
        x = np.linalg.solve(own, (g * free)[..., None])[..., 0]
        bad = free & (x < 0)
        if not bad.any():
            break
        free &= ~bad
    return np.maximum(x, 0.0)


def refine(
    robot: Robot,
    samples: Samples,
    candidate: Candidate,
    free: Sequence[int] | None = None,
    terms: AxisTerms = "constant",
) -> Found:
    """The offsets of the least residual, by variable projection.

    r(b) is the residual of the best parameters at the offsets b; Gauss-Newton steps with damping
    use its differences. Only the offsets of the arms in `free` move, by default all.
    """
    low, high = offset_bounds(robot, samples, candidate)
    middle = (low + high) / 2
    low, high = np.minimum(low, middle), np.maximum(high, middle)
    b = np.asarray(candidate.offset)
    low, high = np.minimum(low, b), np.maximum(high, b)
    damping, rad = 1e-3, robot.radian[0]
    chosen = np.eye(samples.arms)[list(range(samples.arms) if free is None else free)]
    shifts = STEP * rad * chosen

    def fit_at(offsets: FloatArray) -> Rows:
        return fit_rows(robot, samples, candidate, np.vstack([offsets, offsets + shifts]), terms)

    rows = fit_at(b)
    for _ in range(STEPS):
        r = rows.residuals[0]
        J = (rows.residuals[1:] - r).T / (STEP * rad)
        H = J.T @ J
        nearer = False
        for _ in range(4):
            step = -np.linalg.solve(H + damping * np.diag(np.diag(H) + 1e-12), J.T @ r)
            step *= min(1.0, FARTHEST * rad / max(float(np.abs(step).max()), 1e-12))
            trial = np.clip(b + step @ chosen, low, high)
            new = fit_at(trial)
            if float(new.residuals[0] @ new.residuals[0]) < float(r @ r):
                nearer = bool(np.abs(trial - b).max() > ENOUGH * rad)
                b, rows, damping = trial, new, damping / 5
                break
            damping = max(damping, 1e-4) * 10
        if not nearer:
            break
    covariance = chosen.T @ _covariance(samples, rows, rad) @ chosen
    terms_of_axes = rows.residuals.shape[1] - samples.used.size
    parameters = rows.parameters.shape[1] + terms_of_axes + len(chosen)
    return Found(
        candidate.shifted(b), fitted(samples, rows), covariance, rows.constants[0], parameters
    )


def _covariance(samples: Samples, rows: Rows, rad: float) -> FloatArray:
    """Covariance (free, free) of the offsets in rad^2 (m^2), from the residual's differences."""
    r = rows.residuals[0]
    J = (rows.residuals[1:] - r).T / (STEP * rad)
    count = max(1, int(samples.used.sum()) - 12)
    H = J.T @ J
    ridge = 1e-9 * (np.trace(H) + 1e-300)
    return np.asarray(np.linalg.inv(H + ridge * np.eye(len(H))) * (float(r @ r) / count))
