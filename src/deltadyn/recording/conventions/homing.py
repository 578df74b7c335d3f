"""Which arms are homed off, beside constant torques: offsets that are set, and uncertain ones.

All offsets b are fitted at once beside everything that an offset can be confused with (the terms
"all" of `fit`): a constant torque of each axis, limbs that differ, losses that grow with the load,
springs. With their covariance C a set S of arms explains the log where the other offsets R may as
well be 0:

    d(S) = b_R' C_RR^-1 b_R < sigmas^2,    C = factor cov + e^2 I + c^2 1 1'

with model errors e of each arm and c of what all arms share.

The smallest such set is what is homed off, if no other of its size comes near. Where that takes
several arms, none is taken as right: all offsets are set as fitted, if what they share is known. An
arm i is then judged beside S alone, by b_i and its deviation s_i in the set S + i:

    b_i | S + i = b_i - C_iR C_RR^-1 b_R,    s_i^2 = C_ii - C_iR C_RR^-1 C_Ri

It is uncertain where it is seen without being certain, where two sets stand side by side, or where
no arm stands off and an offset of a harmful size cannot be excluded. What all arms share is weakly
known; alone it makes no arm uncertain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deltadyn.arrays import FloatArray
from deltadyn.recording.conventions.candidates import Candidate
from deltadyn.recording.conventions.fit import fit_rows, fitted
from deltadyn.recording.conventions.samples import Samples
from deltadyn.recording.conventions.search import Found, refine
from deltadyn.robot import Robot


@dataclass(frozen=True)
class HomingSettings:
    """When an offset is set, and when it is reported as uncertain; in rad at the arm.

    On rails `robot.radian` m stand for a rad. Found on logs of tests/machines.
    """

    samples: int = 1000  # more cost time, fewer leave friction and springs unknown
    #: s in which a residual stays alike: a fit of n samples has fewer independent ones. More leaves
    #: short logs open, less trusts what friction does in a single move.
    correlation_time: float = 0.05
    #: Deviation by what no term has: lengths, gears, delay. Less sets errors of the model as
    #: offsets, more hides small offsets.
    model_error_rad: float = math.radians(0.8)
    common_error_rad: float = math.radians(2.5)  # and of what all arms share
    sigmas: float = 4.0  # more leaves true offsets uncertain, fewer set false ones
    smallest_rad: float = math.radians(3.5)  # that is set
    alone_sigmas: float = 4.5  # by which no arm alone explains the log, where all are set
    seen_sigmas: float = 1.5  # from which an offset is reported: more hides errors of 5 degrees
    seen_rad: float = math.radians(3.0)  # and the least one
    #: A log that seems right must exclude this offset of an arm by two deviations, or says that it
    #: does not show the arm's homing.
    harmful_rad: float = math.radians(8.0)
    known_rad: float = math.radians(10.0)  # two deviations of all offsets, where all are set
    #: Offsets are set only where they lower the residual by this factor: less sets what a small
    #: motion takes for an offset of all arms, more leaves offsets beside strong friction uncertain.
    #: Right logs gain up to 1.03, homing errors 1.08 to 9.
    least_gain: float = 1.05
    #: The same for a log that fits worse than this residual, of the RMS torque: a load that changes
    #: moves offsets, too.
    poor_residual: float = 0.15
    poor_gain: float = 1.5


class UncertainOffset(NamedTuple):
    """An arm's offset in rad (m) that is not certain, its deviation, and what may be instead.

    `constant` is the constant torque of the axis that explains the log as well, in its unit. `seen`
    says that the log shows one of both; else it shows neither.
    """

    axis: int
    offset: float
    deviation: float
    constant: float
    seen: bool


class Homing(NamedTuple):
    """Offsets (legs,) to set in rad (m), and each arm's beside these with its deviation.

    `common` is what all arms share, with its deviation; `uncertain` are the arms of which the log
    does not show whether they are homed off.
    """

    offsets: FloatArray
    each: FloatArray
    deviation: FloatArray
    common: float
    common_deviation: float
    uncertain: tuple[UncertainOffset, ...]


class _Offsets(NamedTuple):
    """Offsets b (k,) of the moving arms with their covariance C (k, k)."""

    b: FloatArray
    C: FloatArray

    def distance(self, chosen: Sequence[int]) -> float:
        """d(S) of the equation above."""
        others = [i for i in range(len(self.b)) if i not in chosen]
        b = self.b[others]
        return float(b @ np.linalg.solve(self.C[np.ix_(others, others)], b)) if others else 0.0

    def beside(self, arm: int, chosen: Sequence[int]) -> tuple[float, float]:
        """Offset and deviation of an arm in the set S + i."""
        others = [i for i in range(len(self.b)) if i not in chosen and i != arm]
        if not others:
            return float(self.b[arm]), math.sqrt(float(self.C[arm, arm]))
        share = np.linalg.solve(self.C[np.ix_(others, others)], self.C[others, arm])
        variance = float(self.C[arm, arm] - self.C[arm, others] @ share)
        return float(self.b[arm] - self.b[others] @ share), math.sqrt(max(variance, 0.0))

    def sets(self) -> Iterator[tuple[int, ...]]:
        """All sets of arms, small ones first."""
        for size in range(len(self.b) + 1):
            yield from combinations(range(len(self.b)), size)


def judge_homing(
    robot: Robot, samples: Samples, candidate: Candidate, settings: HomingSettings | None = None
) -> Homing:
    """Which arms of a candidate are homed off; along parallel rails one is named, not its rest."""
    settings = settings or HomingSettings()
    rad, moving = robot.radian[0], np.flatnonzero(samples.moving)
    samples = samples.thinned(settings.samples)
    none = candidate.shifted(np.zeros(robot.legs))
    starts = {none.offset: none, candidate.offset: candidate}
    found = min(
        (refine(robot, samples, start, moving.tolist(), "all") for start in starts.values()),
        key=lambda item: item.cost,
    )
    b = np.asarray(found.candidate.offset)[moving]
    C = _residual_factor(samples, found, settings) * found.covariance[np.ix_(moving, moving)]
    C = C + (settings.model_error_rad * rad) ** 2 * np.eye(len(moving))
    C = C + (settings.common_error_rad * rad) ** 2
    fit = _Offsets(b, C)
    chosen, rivals = _smallest_set(fit, settings)
    if len(chosen) > 1 and _all_are_known(fit, settings, rad):
        chosen, rivals = tuple(range(len(b))), []
    if not _offsets_help(robot, samples, none, found, settings):
        chosen, rivals = (), [chosen, *rivals]
    largest = max((abs(fit.beside(i, chosen)[0]) for i in chosen), default=math.inf)
    if largest < settings.seen_rad * rad:
        chosen, rivals = (), []
    elif largest < settings.smallest_rad * rad or rivals:
        chosen, rivals = (), [chosen, *rivals]
    offsets = np.zeros(robot.legs)
    if chosen:
        start = candidate.shifted(_spread(b[list(chosen)], moving[list(chosen)], robot.legs))
        best = refine(robot, samples, start, moving[list(chosen)].tolist(), "all")
        offsets = np.asarray(best.candidate.offset)
    pairs = np.array([fit.beside(i, chosen) for i in range(len(b))]).reshape(-1, 2)
    open_arms = {
        i
        for i, (x, s) in enumerate((pairs / rad).tolist())
        if i not in chosen
        and (_is_seen(x, s, settings) or not (chosen or _excludes_harm(x, s, settings)))
    }.union(*rivals)
    if open_arms:  # an offset beside an uncertain one is uncertain
        open_arms = open_arms.union(chosen)
    constants = fit_rows(robot, samples, none, np.zeros((1, robot.legs)), "all").constants[0]
    uncertain = tuple(
        UncertainOffset(
            int(moving[i]),
            offset=float(pairs[i, 0]),
            deviation=float(pairs[i, 1]),
            constant=float(constants[moving[i]]),
            seen=bool(i in chosen or _is_seen(pairs[i, 0] / rad, pairs[i, 1] / rad, settings)),
        )
        for i in sorted(open_arms)
    )
    mean = np.full(len(b), 1 / len(b))
    each = np.where(offsets != 0, offsets, _spread(pairs[:, 0], moving, robot.legs))
    return Homing(
        offsets,
        each,
        _spread(pairs[:, 1], moving, robot.legs),
        float(np.median(b)),
        math.sqrt(float(mean @ C @ mean)),
        uncertain,
    )


def _residual_factor(samples: Samples, found: Found, settings: HomingSettings) -> float:
    """The offsets' variance over that by white residuals.

    n samples of which each k are alike hold n / k independent ones, with p parameters
    n / k - p degrees of freedom: k (n / k) / (n / k - p).
    """
    alike = max(1.0, settings.correlation_time * len(samples) / samples.seconds)
    independent = float(samples.used.sum()) / alike
    freedom = independent - found.parameters
    return alike * independent / max(freedom, 1e-3 * independent)


def _smallest_set(
    fit: _Offsets, settings: HomingSettings
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The smallest set of arms that explains the log, and others of its size that come near."""
    limit = settings.sigmas**2
    distances = {chosen: fit.distance(chosen) for chosen in fit.sets()}
    size = min(len(chosen) for chosen, value in distances.items() if value < limit)
    alike = {chosen: value for chosen, value in distances.items() if len(chosen) == size}
    best = min(alike, key=lambda chosen: alike[chosen])
    near = alike[best] + limit
    return best, [item for item, value in alike.items() if item != best and value < near]


def _all_are_known(fit: _Offsets, settings: HomingSettings, rad: float) -> bool:
    """Whether one arm alone surely does not explain the log, and all offsets together are known."""
    arms = range(len(fit.b))
    alone = min(fit.distance((i,)) for i in arms)
    widest = 2 * math.sqrt(float(np.diag(fit.C).max()))
    return alone > settings.alone_sigmas**2 and widest < settings.known_rad * rad


def _offsets_help(
    robot: Robot, samples: Samples, none: Candidate, found: Found, settings: HomingSettings
) -> bool:
    """Whether a log fits better with its offsets; much better, where it fits badly."""
    residual = found.fit.residual
    gain = settings.least_gain if residual <= settings.poor_residual else settings.poor_gain
    rows = fit_rows(robot, samples, none, np.zeros((1, robot.legs)), "all")
    return fitted(samples, rows).residual >= gain * residual


def _is_seen(offset: float, deviation: float, settings: HomingSettings) -> bool:
    return abs(offset) > max(settings.seen_sigmas * deviation, settings.seen_rad)


def _excludes_harm(offset: float, deviation: float, settings: HomingSettings) -> bool:
    return abs(offset) + 2 * deviation < settings.harmful_rad


def _spread(values: FloatArray, arms: NDArray[np.intp], legs: int) -> FloatArray:
    """Values of some arms among all (legs,), 0 for the others."""
    out = np.zeros(legs)
    out[arms] = values
    return out
