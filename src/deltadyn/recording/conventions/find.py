"""Find the convention of a log: as logged where that fits, else the best of a search.

Base parameters are fitted to few samples under each candidate, with a constant torque of each axis,
and the residual is the judge:

1. As logged. Where this fits well, nothing else is tried.
2. Units and sides whose range of angles fits between the limits of the joints.
3. Which torque belongs to which angle, and their signs, by regression.
4. All directions of the arms, with offsets on a grid of 15 degrees.
5. The offsets of the best candidates, refined; masses out of all proportion count against one.
6. Those that come near the best, on more samples, beside limbs that differ, losses and springs.

As logged stands where its cost is below 1.3 times the best. `homing` then says which offsets are
set and which are uncertain.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.errors import InputError
from deltadyn.recording.conventions.candidates import (
    Candidate,
    Pairing,
    Reading,
    as_logged,
    pairings,
    readings_of,
)
from deltadyn.recording.conventions.fit import Fitted, fit_rows, fitted, torque_scale
from deltadyn.recording.conventions.fourth import fourth_axis
from deltadyn.recording.conventions.homing import judge_homing
from deltadyn.recording.conventions.result import (
    Alternative,
    Arms,
    Conventions,
    TorqueUnit,
    as_read,
    as_told,
    conventions_of,
    from_told,
    unit_is_assumed,
)
from deltadyn.recording.conventions.samples import SOME, Samples, samples_of
from deltadyn.recording.conventions.search import BEST, FOUR, Found, grid_points, refine
from deltadyn.recording.recording import Recording
from deltadyn.recording.stretch import Stretch, smooth_stretch
from deltadyn.robot import Robot

FITS = 0.15  # cost of a log as it stands, below which no other convention is looked for
FITS_WELL = 0.04  # and the same with a constant torque of each axis
ODD = 0.03  # of the cost for masses out of proportion: above, others are looked for all the same
STANDS = 1.3  # as logged stands below so many times the best cost
POOR = 0.3  # a best cost above it asks for other orders of the torques
NOTHING = 0.5  # a best residual above it: no convention explains the torque
CLEAR = 1.2  # cost of the next candidate over the best: above, the best is decided
CLOSE = 0.1  # readings whose factors differ by less are one: only a known turn tells them apart
NEAR = 1.6  # cost over the best: up to here candidates are refined beside all terms
RICH_SAMPLES = 600  # on which these are refined
DIGITS = 1  # of an offset in degrees, or in mm on rails
PAIRINGS_OF_FOUR, BEST_OF_FOUR = 3, 3  # orders that are tried, and candidates that are refined
WORTH = 0.5  # of the best pairing's score: others below are not tried

NO_TORQUE = "the log has no torque"
NO_SAMPLES = "no stretch of regular, finite samples in which the arms move is long enough"
NO_FIT = "the angles or torques are too large or too odd for any fit: did the machine lose control?"


def find_conventions(
    robot: Robot,
    log: Recording | npt.ArrayLike,
    q: npt.ArrayLike | None = None,
    tau: npt.ArrayLike | None = None,
) -> Conventions:
    """The convention of a log: signs, offsets, unit and side of the angles, order of the torques.

    `log` is a recording, or t (N,) in s with q (N, dof) and tau (N, dof) as logged, in any unit.
    The search runs only where the log as it stands fits badly.
    """
    if isinstance(log, Recording):
        if q is not None or tau is not None:
            raise InputError("q, tau", "given", "none beside a recording")
        recording = log
    else:
        if q is None or tau is None:
            raise InputError("q, tau", None, "arrays (N, dof) beside the times t (N,)")
        kind: dict[str, Any] = {"linear": robot.linear, "legs": robot.legs}
        recording = Recording(log, q, tau, **kind)  # type: ignore[arg-type]
    if recording.dof != robot.dof:
        raise InputError(
            "axes of the recording", recording.dof, f"{robot.dof}, as robot {robot.name!r} has"
        )
    return of_stretch(robot, recording, smooth_stretch(recording))


def of_stretch(robot: Robot, recording: Recording, stretch: Stretch | None) -> Conventions:
    """The convention of a recording by smooth samples of it."""
    if not recording.has_torque:
        return conventions_of(robot, recording, status=NO_TORQUE)
    samples = None if stretch is None else samples_of(stretch, robot.legs)
    if stretch is None or samples is None:
        return conventions_of(robot, recording, status=NO_SAMPLES)
    if recording.payload:
        robot = robot.with_payload(recording.payload)
    try:
        with np.errstate(all="ignore"):
            return _convention_of_samples(robot, recording, stretch, samples)
    except np.linalg.LinAlgError:
        return conventions_of(robot, recording, status=NO_FIT)


def _convention_of_samples(
    robot: Robot, recording: Recording, stretch: Stretch, samples: Samples
) -> Conventions:
    some, plain = samples.thinned(SOME), as_logged(robot)
    zero = np.zeros((1, robot.legs))
    as_it_is = fitted(some, fit_rows(robot, some, plain, zero))
    if not math.isfinite(as_it_is.cost):
        return conventions_of(robot, recording, status=NO_FIT)
    own = refine(robot, some, plain)
    without = fitted(some, fit_rows(robot, some, plain, zero, "none"))
    # large constants explain much of a wrong convention: without them, or the fit must be better
    fits = as_it_is.cost < FITS_WELL or without.cost < FITS
    fits &= not unit_is_assumed(recording)
    ranked = [own]
    if not (fits and as_it_is.cost - as_it_is.residual < ODD):
        before, stated = as_read(robot, recording)
        readings = readings_of(robot, samples, before, stated)
        ranked = _search(robot, samples, some, readings, own)
    return _judged(robot, recording, stretch, samples, _Judged(as_it_is, own, ranked))


def _search(
    robot: Robot, samples: Samples, some: Samples, readings: list[Reading], own: Found
) -> list[Found]:
    """Refined candidates, best first."""
    pairs = pairings(samples)
    if samples.arms == FOUR:
        # halves couple the axes so strongly that regression may mislead: as logged comes first
        plain = as_logged(robot)
        first = Pairing(plain.torque_order, plain.torque_turn, pairs[0].score)
        others = [item for item in pairs if item[:2] != first[:2]]
        pairs = [first, *others[: PAIRINGS_OF_FOUR - 1]]
    ranked = [own]
    for pairing in pairs:
        if pairing.score < WORTH * pairs[0].score:
            break
        ranked += _refined(robot, samples, some, readings, pairing)
        ranked.sort(key=lambda item: item.cost)
        if ranked[0].cost < POOR:
            break
    return _distinct(ranked)


def _refined(
    robot: Robot, samples: Samples, some: Samples, readings: list[Reading], pairing: Pairing
) -> list[Found]:
    points = [
        point for reading in readings for point in grid_points(robot, samples, reading, pairing)
    ]
    points.sort(key=lambda point: point.cost)
    best = BEST if samples.arms < FOUR else BEST_OF_FOUR
    return _finite([refine(robot, some, point.candidate) for point in points[:best]])


def _distinct(ranked: list[Found]) -> list[Found]:
    """The best of each discrete candidate, in order."""
    kept: dict[tuple[object, ...], Found] = {}
    for item in ranked:
        kept.setdefault(item.candidate.discrete, item)
    return list(kept.values())


class _Judged(NamedTuple):
    """The fit as logged, the same with refined offsets, and all candidates, best first."""

    as_it_is: Fitted
    own: Found
    ranked: list[Found]


def _judged(
    robot: Robot, recording: Recording, stretch: Stretch, samples: Samples, found: _Judged
) -> Conventions:
    as_it_is, own, ranked = found
    some = samples.thinned(SOME)
    stands = as_it_is.cost < STANDS * ranked[0].cost
    best, margin = (own if stands else ranked[0]), _margin(ranked)
    if not stands:
        ranked = _rank_beside_all_terms(robot, samples, ranked)
        agree = ranked[0].candidate.discrete == best.candidate.discrete
        # either of the two rankings may tell the best from the next, if both have the same best
        margin = max(margin, _margin(ranked)) if agree else _margin(ranked)
        best = ranked[0]
    others = [item for item in ranked if item.candidate.discrete != best.candidate.discrete]
    twins = [item for item in others if _same_but_close(item.candidate, best.candidate)]
    explains = best.fit.residual < NOTHING
    clear = explains and (stands or margin >= CLEAR)
    homing = judge_homing(robot, samples, best.candidate)
    told = np.zeros(robot.legs)
    if clear and not homing.uncertain:
        told = from_told(robot, np.round(as_told(robot, homing.offsets), DIGITS))
    chosen = best.candidate.shifted(told)
    after = fitted(some, fit_rows(robot, some, chosen, told[None]))
    return conventions_of(
        robot,
        recording,
        arms=Arms(chosen, homing),
        torque=TorqueUnit.of(robot, torque_scale(robot, some, chosen)),
        fourth=fourth_axis(robot, stretch, chosen),
        residual_before=as_it_is.residual,
        residual_after=after.residual,
        residual_refined=best.fit.residual,
        margin=margin,
        settled=clear and (stands or not twins),
        alternatives=tuple(
            Alternative(item.candidate, item.fit.residual, item in twins)
            for item in others
            if not stands and (item in twins or (margin < CLEAR and item.cost < CLEAR * best.cost))
        ),
        status="" if explains else "no convention explains the torque",
    )


def _margin(ranked: list[Found]) -> float:
    """The next candidate's cost over the best one's; units that are almost the same are one."""
    best = ranked[0]
    rivals = (item for item in ranked[1:] if not _same_but_close(item.candidate, best.candidate))
    rival = next(
        (item for item in rivals if item.candidate.discrete != best.candidate.discrete), None
    )
    return math.inf if rival is None else rival.cost / max(best.cost, 1e-12)


def _rank_beside_all_terms(robot: Robot, samples: Samples, ranked: list[Found]) -> list[Found]:
    """The candidates that come near the best, refined on more samples beside all terms of the axes.

    What no candidate explains, such as losses, hides how much better the right one is.
    """
    many = samples.thinned(RICH_SAMPLES)
    near = [item for item in ranked if item.cost < NEAR * ranked[0].cost]
    rich = _finite([refine(robot, many, item.candidate, terms="all") for item in near])
    return sorted(rich or near, key=lambda item: item.cost)


def _finite(found: list[Found]) -> list[Found]:
    """Those that a fit exists of: angles of 1e200 rad have none."""
    return [item for item in found if math.isfinite(item.cost)]


def _same_but_close(one: Candidate, two: Candidate) -> bool:
    """Whether two candidates differ in readings alone whose factors are almost the same."""
    same = one.discrete[1:] == two.discrete[1:]
    return same and abs(math.log(one.reading.factor / two.reading.factor)) < CLOSE
