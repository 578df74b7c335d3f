"""Find the convention of a log: as logged where that fits, else the best of a search.

Base parameters are fitted to few samples under each candidate, and the residual is the judge:

1. As logged. Where this fits well, nothing else is tried.
2. Units and sides whose range of angles fits between the limits of the joints.
3. Which torque belongs to which angle, and their signs, by regression.
4. All directions of the arms, with offsets on a grid of 15 degrees.
5. The offsets of the best candidates, refined; masses out of all proportion count against one.

As logged stands where its cost is below 1.3 times the best. Offsets: their common part is known
weakly, their differences well. One is set only where it stands out.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.recording.conventions.candidates import (
    Candidate,
    Pairing,
    Reading,
    as_logged,
    pairings,
    readings_of,
)
from deltadyn.recording.conventions.fit import Fitted, fit_rows, fitted
from deltadyn.recording.conventions.fourth import fourth_axis
from deltadyn.recording.conventions.result import (
    Alternative,
    Arms,
    Conventions,
    Doubt,
    Offsets,
    TorqueUnit,
    as_read,
    as_told,
    conventions_of,
    from_told,
)
from deltadyn.recording.conventions.samples import SOME, Samples, samples_of
from deltadyn.recording.conventions.search import BEST, FOUR, Found, grid_points, refine
from deltadyn.recording.recording import Recording
from deltadyn.recording.stretch import Stretch, smooth_stretch
from deltadyn.robot import Robot

FITS = 0.15  # cost of a log as it stands, below which no other convention is looked for
FITS_WELL = 0.04  # and the same with a constant torque of each axis
NO_CONSTANT = 100.0  # price of a constant torque with which there is none
ODD = 0.03  # of the cost for masses out of proportion: above, others are looked for all the same
STANDS = 1.3  # as logged stands below so many times the best cost
POOR = 0.3  # a best cost above it asks for other orders of the torques
NOTHING = 0.5  # a best residual above it: no convention explains the torque
CLEAR = 1.2  # cost of the next candidate over the best: above, the best is decided
CLOSE = 0.1  # readings whose factors differ by less are one: only a known turn tells them apart
MANY = 1000  # samples on which offsets are judged
SURE = 4.0  # deviations of an offset that is set
LEAST_SET = math.radians(3.5)  # and the least one
DOUBT = math.radians(2.5)  # an offset, or its deviation, from which it is told if it is not sure
OUTSTANDING = math.radians(12.0)  # an arm's offset from the median arm that is set
COMMON = math.radians(20.0)  # a common offset that is set
HELPS_MUCH = 1.5  # residual without the offsets over that with them, where the log fits badly
#: Deviation in rad of an arm's offset by what the rich model lacks, too: geometry, gears, delay.
OWN_DEVIATION = math.radians(0.8)
PARALLEL = 1e-6  # of 1 - cos of the angle between rails
DIGITS = 1  # of an offset in degrees, or in mm on rails
CORRELATED = 10.0  # rows of a residual for one that is independent
PAIRINGS_OF_FOUR, BEST_OF_FOUR = 3, 3  # orders that are tried, and candidates that are refined
WORTH = 0.5  # of the best pairing's score: others below are not tried

NO_TORQUE = "the log has no torque"
NO_SAMPLES = "no stretch of regular, finite samples in which the arms move is long enough"


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
    some, plain = samples.thinned(SOME), as_logged(robot)
    with np.errstate(all="ignore"):
        as_it_is = fitted(some, fit_rows(robot, some, plain, np.zeros((1, robot.legs))))
        own = refine(robot, some, plain)
        stiff = fitted(some, fit_rows(robot, some, plain, np.zeros((1, robot.legs)), NO_CONSTANT))
        # large constants explain much of a wrong convention: they do not count here, or must do well
        fits = as_it_is.cost < FITS_WELL or stiff.cost < FITS
        if fits and as_it_is.cost - as_it_is.residual < ODD:
            ranked = [own]
        else:
            before, stated = as_read(robot, recording)
            readings = readings_of(robot, samples, before, stated)
            ranked = _search(robot, samples, some, readings, own)
        many = samples.thinned(MANY)
        return _judged(robot, recording, stretch, (some, many), _Judged(as_it_is, own, ranked))


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
    return [refine(robot, some, point.candidate) for point in points[:best]]


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
    robot: Robot,
    recording: Recording,
    stretch: Stretch,
    samples: tuple[Samples, Samples],
    found: _Judged,
) -> Conventions:
    as_it_is, own, ranked = found
    some, many = samples
    stands = as_it_is.cost < STANDS * ranked[0].cost
    best = own if stands else ranked[0]
    others = [item for item in ranked if item.candidate.discrete != best.candidate.discrete]
    twins = [item for item in others if _same_but_close(item.candidate, best.candidate)]
    rivals = [item for item in others if item not in twins]
    margin = rivals[0].cost / max(best.cost, 1e-12) if rivals else math.inf
    if not stands:
        best = _again(robot, some, best)
    offsets, doubts = _offsets(robot, many, best)
    chosen = best.candidate.shifted(offsets.set)
    after = fitted(some, fit_rows(robot, some, chosen, offsets.set[None]))
    explains = after.residual < NOTHING
    asked = not stands and bool(twins)
    return conventions_of(
        robot,
        recording,
        arms=Arms(chosen, offsets),
        torque=TorqueUnit.of(robot, after.scale),
        fourth=fourth_axis(robot, stretch, chosen),
        residual_before=as_it_is.residual,
        residual_after=after.residual,
        residual_refined=best.fit.residual,
        margin=margin,
        decided=explains and not asked and (margin >= CLEAR or stands),
        doubts=doubts if explains else (),
        alternatives=tuple(
            Alternative(item.candidate, item.fit.residual, item in twins)
            for item in others
            if not stands and (item in twins or item.cost < CLEAR * best.cost)
        ),
        status="" if explains else "no convention explains the torque",
    )


def _same_but_close(one: Candidate, two: Candidate) -> bool:
    """Whether two candidates differ in readings alone whose factors are almost the same."""
    same = one.discrete[1:] == two.discrete[1:]
    return same and abs(math.log(one.reading.factor / two.reading.factor)) < CLOSE


def _again(robot: Robot, some: Samples, best: Found) -> Found:
    """The better of the candidate and of one refined from the offsets that stand out alone.

    The common part is so weak that a step of the grid may end in a valley of its own.
    """
    other = refine(robot, some, best.candidate.shifted(_standing_out(robot, some, best)))
    return min(best, other, key=lambda item: item.cost)


def _standing_out(robot: Robot, some: Samples, best: Found) -> FloatArray:
    """The offset (legs,) of the arm that stands out from the median one, and a large common one.

    Where several stand out there is no common part to count from: those that are large are taken.
    """
    b, moving, rad = _known_offsets(robot, some, best), some.moving, robot.radian[0]
    common = float(np.median(b[moving]))
    out = moving & (np.abs(b - common) > OUTSTANDING * rad)
    if out.sum() > 1:
        return np.where(moving & (np.abs(b) > OUTSTANDING * rad), b, 0.0)
    shared = common if abs(common) > COMMON * rad else 0.0
    return np.where(out, b - common, 0.0) + np.where(moving, shared, 0.0)


def _known_offsets(robot: Robot, some: Samples, best: Found) -> FloatArray:
    """The offsets (legs,) as fitted, without what all share where nothing shows it.

    Along parallel rails the robot is the same everywhere.
    """
    b = np.asarray(best.candidate.offset)
    return b - float(np.median(b[some.moving])) if _common_unseen(robot) else b


def _common_unseen(robot: Robot) -> bool:
    along = np.array([frame.z for frame in robot.geometry.frames])
    return robot.linear and bool(np.all(along @ along[0] > 1 - PARALLEL))


def _offsets(robot: Robot, many: Samples, best: Found) -> tuple[Offsets, tuple[Doubt, ...]]:
    """The offsets to set, all of them with their deviations, and the doubtful ones.

    They are judged beside a constant torque of each axis, arms that differ and friction that grows
    with the load: whatever these explain as well is no offset. One that is set has to be many
    deviations; one that is less is told with the constant torque that may stand in its place.
    """
    rad, moving = robot.radian[0], many.moving
    whole = refine(robot, many, best.candidate, moving, rich=True)
    b = _known_offsets(robot, many, whole)
    own, shared = _deviations(whole.covariance, rad)
    spread = np.sqrt(CORRELATED * np.diag(whole.covariance) + (OWN_DEVIATION * rad) ** 2)
    if _common_unseen(robot):
        spread = own
    sure = moving & (np.abs(b) > np.maximum(SURE * spread, LEAST_SET * rad))
    zero = fitted(many, fit_rows(robot, many, best.candidate, np.zeros((1, robot.legs)), rich=True))
    if whole.fit.residual > FITS and zero.residual < HELPS_MUCH * whole.fit.residual:
        sure[:] = False
    wanted = np.zeros(robot.legs)
    if sure.any():
        start = best.candidate.shifted(np.where(sure, b, 0.0))
        wanted = np.asarray(refine(robot, many, start, sure, rich=True).candidate.offset)
    told = from_told(robot, np.round(as_told(robot, wanted), DIGITS))
    rows = fit_rows(robot, many, best.candidate, told[None], rich=True)
    open_axes = moving & ~sure & (np.maximum(np.abs(b), spread) > DOUBT * rad)
    doubts = tuple(
        Doubt(int(axis), float(b[axis]), float(spread[axis]), float(rows.constants[0, axis]))
        for axis in np.flatnonzero(open_axes)
    )
    common = float(np.median(b[moving]))
    return Offsets(told, b, common, spread, shared), doubts


def _deviations(covariance: FloatArray, rad: float) -> tuple[FloatArray, float]:
    """Deviations of each arm's offset from the mean of all (legs,), and of that mean, in rad (m).

    `rad` is what stands for a rad on the axes.
    """
    n = len(covariance)
    mean = np.full(n, 1 / n)
    apart = np.eye(n) - mean
    own = CORRELATED * np.einsum("ij,jk,ik->i", apart, covariance, apart)
    shared = CORRELATED * float(mean @ covariance @ mean)
    usual = OWN_DEVIATION * rad
    return np.sqrt(own + usual**2), math.sqrt(shared + usual**2)
