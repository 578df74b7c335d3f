"""How much a move would add to the information of logs, and the shortest that adds enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.identification.data import Prepared
from deltadyn.identification.identifiability import shown_sizes
from deltadyn.identification.information import Information, gather
from deltadyn.identification.parametrisation import Parametrisation
from deltadyn.identification.uncertainty import covariance
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot

FEW = (1, 2, 3, 4, 6, 8, 12, 16)  # repeats of two moves that are tried one after the other
FAR = 1e6  # times the target: as far off as counts


class Choice(NamedTuple):
    """Moves and how often each is made."""

    moves: tuple[int, ...]
    repeats: tuple[int, ...]
    duration: float


@dataclass(frozen=True, eq=False)
class Goal:
    """Information per parameter of unit size: of the logs, and what counts as settled."""

    robot: Robot
    information: Information
    par: Parametrisation
    weights: FloatArray
    scale: FloatArray
    logs: FloatArray
    noise: FloatArray  # deviation of a row of weight 1, per parameter: correlation counted in
    sought: npt.NDArray[np.bool_]
    target: float

    @classmethod
    def of(
        cls,
        robot: Robot,
        information: Information,
        par: Parametrisation,
        weights: FloatArray,
        sought: npt.NDArray[np.bool_],
        target: float,
        given: bool,
    ) -> Goal:
        """The goal for logs; with `given` noise the weights are those of unit deviation."""
        found = covariance(information, par, None, weights)
        inflation = found.inflation
        scale = shown_sizes(robot, par, found)
        told = found.std < scale  # else there are no scores to judge by
        typical = float(np.median(inflation[told])) if told.any() else 1.0
        level = 1.0 if given else float(np.sqrt(np.mean((weights * found.residual_std) ** 2)))
        R = information.factor(par, weights)[:-1, :-1] * scale
        noise = level * np.where(told, inflation, typical)
        return cls(robot, information, par, weights, scale, R.T @ R, noise, sought, target)

    def added(self, motion: Motion, rate: float) -> FloatArray:
        """Information (k, k) of a motion, recorded with the rate and noise of the logs.

        What a band takes from the jumps of friction is left out of account.
        """
        zero = np.zeros_like(motion.qd)
        part = Prepared("move", motion.t, motion, zero, rate)
        new = gather(self.robot, [("move", [part])], self.par.source, workers=1)
        R = new.factor(self.par, self.weights)[:-1, :-1] * self.scale
        per_second = self.information.samples / float(self.information.seconds.sum())
        out: FloatArray = R.T @ R * per_second / rate
        return out

    def relative(self, more: FloatArray) -> FloatArray:
        """Deviations over sizes (k,) with this information besides that of the logs."""
        H = self.logs + more
        length = np.sqrt(np.maximum(np.diag(H), 0.0))
        alive = length > 1e-9 * length.max(initial=1e-300)
        unit = H[np.ix_(alive, alive)] / np.outer(length[alive], length[alive])
        values, vectors = np.linalg.eigh(unit)
        good = values > 1e-12  # squares: the rank of columns to 1e-6
        out = np.full(len(H), np.inf)
        variance = (vectors[:, good] ** 2 / values[good]).sum(axis=1)
        lost = (vectors[:, ~good] ** 2).sum(axis=1) > 1e-6
        out[alive] = np.where(lost, np.inf, np.sqrt(variance) / length[alive] * self.noise[alive])
        return out

    def settled(self, more: FloatArray) -> bool:
        """Whether all that is sought reaches the target."""
        return bool((self.relative(more)[self.sought] <= self.target).all())

    def lack(self, more: FloatArray) -> float:
        """How much is missing: the number of open parameters, then how far they are off."""
        share = np.minimum(self.relative(more)[self.sought] / self.target, FAR)
        over = share[share > 1]
        return len(over) + float(np.log(over).sum()) / (math.log(FAR) + 1) / max(len(share), 1)


def shortest(
    goal: Goal, gains: list[FloatArray], durations: list[float], longest: float
) -> Choice | None:
    """The shortest repeats of one move, or of two in a row, that settle all; None if none do."""
    best: Choice | None = None
    for i, (gain, seconds) in enumerate(zip(gains, durations, strict=True)):
        within = longest if best is None else best.duration
        most = int(within / seconds + 1e-9)
        if most < 1 or not goal.settled(most * gain):
            continue
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if goal.settled(middle * gain) else (middle, high)
        if best is None or high * seconds < best.duration:
            best = Choice((i,), (high,), high * seconds)
    for i, j in combinations(range(len(gains)), 2):
        within = longest if best is None else best.duration
        first, second = (int(within / durations[k]) * gains[k] for k in (i, j))
        if not goal.settled(first + second):
            continue  # not even with all the time for each of them
        for n, m in product(FEW, FEW):
            seconds = n * durations[i] + m * durations[j]
            if seconds > longest or (best is not None and seconds >= best.duration):
                continue
            if goal.settled(n * gains[i] + m * gains[j]):
                best = Choice((i, j), (n, m), seconds)
    return best


def most_helpful(
    goal: Goal, gains: list[FloatArray], durations: list[float], longest: float
) -> Choice | None:
    """One move, or two in a row, that leave the least open within the longest time.

    Then as few repeats of them as settle the same number of parameters.
    """
    found: Choice | None = None
    least = goal.lack(np.zeros_like(goal.logs))
    single = [(i,) for i in range(len(gains))]
    for moves in [*single, *combinations(range(len(gains)), 2)]:
        repeats = [int(longest / len(moves) / durations[i] + 1e-9) for i in moves]
        if min(repeats) < 1:
            continue
        lack = goal.lack(_sum(gains, moves, repeats))
        if lack < least - 1e-9:
            least, found = lack, _choice(durations, moves, repeats)
    return None if found is None else _fewer(goal, gains, durations, found)


def _fewer(goal: Goal, gains: list[FloatArray], durations: list[float], found: Choice) -> Choice:
    """The same moves with fewer repeats, as long as no more parameters are open."""
    repeats = list(found.repeats)
    most = math.floor(goal.lack(_sum(gains, found.moves, repeats)))
    for place in sorted(range(len(repeats)), key=lambda k: -durations[found.moves[k]]):
        while sum(repeats) > 1:
            fewer = [n - (k == place) for k, n in enumerate(repeats)]
            if min(fewer) < 0 or math.floor(goal.lack(_sum(gains, found.moves, fewer))) > most:
                break
            repeats = fewer
    kept = [(i, n) for i, n in zip(found.moves, repeats, strict=True) if n]
    return _choice(durations, [i for i, _ in kept], [n for _, n in kept])


def _sum(gains: list[FloatArray], moves: Sequence[int], repeats: Sequence[int]) -> FloatArray:
    total = np.zeros_like(gains[0])
    for i, n in zip(moves, repeats, strict=True):
        total = total + n * gains[i]
    return total


def _choice(durations: list[float], moves: Sequence[int], repeats: Sequence[int]) -> Choice:
    seconds = sum(n * durations[i] for i, n in zip(moves, repeats, strict=True))
    return Choice(tuple(moves), tuple(repeats), seconds)
