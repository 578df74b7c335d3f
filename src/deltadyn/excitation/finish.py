"""After the search: ramps, the check of all limits on fine samples, predictions, the result."""

from __future__ import annotations

import itertools
import math
import time
from typing import NamedTuple

import numpy as np

from deltadyn.excitation.prediction import Prediction, predict
from deltadyn.excitation.prepare import Prepared
from deltadyn.excitation.problem import Problem
from deltadyn.excitation.request import Request
from deltadyn.excitation.result import Excitation, PredictedParameter
from deltadyn.excitation.search import Found, random_motion
from deltadyn.motion.fourier import FourierSeries, fourier_motion
from deltadyn.motion.limit_report import Limit, LimitError
from deltadyn.motion.limits import check_motion

COARSE_PHASES, FINE_PHASES = 500, 2000  # samples of a period for typical and final predictions
RANDOM_MOTIONS = 25  # of which the median stands for "before"
LEAST_MOTIONS = 5  # where time is short
RAMPS = (1.0, 1.5, 2.0, 3.0, 4.0)  # of the shortest ramp
SHORTEST_RAMP = (0.5, 2.0)  # s: one period within these
PHASES = 8  # of a period at which the motion may be entered
LAST = 1.5  # s of the time limit: for the last narrowing, the predictions and the check
SLACK = 0.003  # of the width, for the ramps
NARROWER = 0.002  # at least, of the width, where a limit is exceeded
ATTEMPTS = 200
FINE = 60  # samples of the highest harmonic's period: its peak is caught to 1.4e-3


class Searches(NamedTuple):
    """How many searches there were to be, how many time cut short, and the last round's results."""

    planned: int
    late: int
    last: list[Found]


def finished(
    request: Request, ready: Prepared, best: Found, searches: Searches, began: float
) -> Excitation:
    """The result of the best search."""
    problem = Problem(ready.setting, best.periods, 1, 1.0)
    until = began + request.time_limit - LAST
    series, ramp = within_limits(request, problem.series(best.x), until)
    hurried = searches.late > 0 or time.time() > until
    robot = request.robot
    motion = fourier_motion(
        robot, series, periods=best.periods, rate=float(request.rate), ramp=ramp
    )
    after = _predict(request, ready, series)
    before, count = _typical(request, ready, best.periods, until + LAST / 2)
    parameters = tuple(
        PredictedParameter(*item)
        for item in zip(
            ready.chosen.names,
            ready.chosen.units,
            (float(value) for value in ready.chosen.values),
            (float(value) for value in after.std),
            (float(value) for value in before.std),
            strict=True,
        )
    )
    return Excitation(
        robot=robot,
        model=request.model,
        criterion=request.criterion,
        series=series,
        periods=best.periods,
        ramp=ramp,
        motion=motion,
        parameters=parameters,
        prediction=after,
        before=before,
        random_motions=count,
        report=check_motion(
            robot,
            motion,
            model=request.model,
            share=request.share,
            singularity_margin=request.singularity_margin,
        ),
        noise=ready.noise,
        weights=ready.weights,
        unidentifiable=ready.unidentifiable,
        searches=searches.planned,
        seconds=time.time() - began,
        status=_status(request, searches, hurried),
    )


def within_limits(
    request: Request, series: FourierSeries, until: float = math.inf
) -> tuple[FourierSeries, float]:
    """The series narrowed until periods and ramps keep all limits, and the ramp (s).

    The search looks at fewer samples, and not at the ramps. A better ramp is looked for `until` a
    time (of time.time()).
    """
    series = _narrowed(request, series, 0.0).scaled(1 - SLACK)
    series, ramp = _entered(request, series, until)
    return _narrowed(request, series, ramp), ramp


def _narrowed(request: Request, series: FourierSeries, ramp: float) -> FourierSeries:
    """The series as wide as the limits allow for one period with this ramp."""
    rate = max(float(request.rate), FINE * series.harmonics * series.frequency)
    for _ in range(ATTEMPTS):
        limit = _exceeded(request, series, ramp, rate)
        if limit is None:
            return series
        series = series.scaled(1 - min(max(NARROWER, _excess(limit) / 2), 0.2))
    assert limit is not None
    raise LimitError(request.robot.name, limit, None, "no width of the motion keeps it")


def _entered(request: Request, series: FourierSeries, until: float) -> tuple[FourierSeries, float]:
    """The series from a phase at which the shortest ramp keeps the limits, and that ramp (s).

    Where a ramp meets the periods its own speed adds to theirs, so the motion is best entered and
    left where little of the limits is used.
    """
    rate = FINE * series.harmonics * series.frequency
    shortest = float(np.clip(series.period, *SHORTEST_RAMP))
    choices: list[tuple[float, int, FourierSeries, float]] = []
    for factor, k in itertools.product(RAMPS, range(PHASES)):
        shifted, ramp = series.shifted(k * series.period / PHASES), factor * shortest
        limit = _exceeded(request, shifted, ramp, rate)
        if limit is None:
            return shifted, ramp
        choices.append((_excess(limit), len(choices), shifted, ramp))
        if time.time() > until:
            break
    _, _, shifted, ramp = min(choices)
    return shifted, ramp


def _exceeded(request: Request, series: FourierSeries, ramp: float, rate: float) -> Limit | None:
    """The limit that one period with this ramp exceeds most; the payload's is none of motion."""
    motion = fourier_motion(request.robot, series, rate=rate, ramp=ramp)
    report = check_motion(
        request.robot,
        motion,
        model=request.model,
        share=request.share,
        singularity_margin=request.singularity_margin,
    )
    exceeded = [limit for limit in report.exceeded if limit.name != "payload"]
    return max(exceeded, key=_excess, default=None)


def _excess(limit: Limit) -> float:
    """By which share a limit is exceeded."""
    return (limit.use or 0.0) - 1.0


def _predict(
    request: Request, ready: Prepared, series: FourierSeries, phases: int = FINE_PHASES
) -> Prediction:
    return predict(
        request.robot,
        series,
        float(request.duration),
        ready.chosen,
        ready.weights,
        ready.noise,
        request.model,
        request.equal,
        phases=phases,
    )


def _typical(
    request: Request, ready: Prepared, periods: int, until: float
) -> tuple[Prediction, int]:
    """The prediction for the random motion of median condition number, and of how many."""
    problem = Problem(ready.setting, periods, max(16 * ready.setting.harmonics, 48), 1.0)
    rng = np.random.default_rng((request.seed, periods))
    several: list[Prediction] = []
    while len(several) < RANDOM_MOTIONS and (len(several) < LEAST_MOTIONS or time.time() < until):
        series = problem.series(random_motion(problem, rng))
        several.append(_predict(request, ready, series, COARSE_PHASES))
    several.sort(key=lambda item: item.condition_number)
    return several[len(several) // 2], len(several)


def _status(request: Request, searches: Searches, hurried: bool) -> str:
    """A sentence on how the search ended."""
    if hurried:
        return (
            f"The time limit of {request.time_limit:g} s cut {searches.late} of "
            f"{searches.planned} searches short: more time may find a better motion, another "
            "machine another one."
        )
    values = sorted(item.value for item in searches.last)
    gap = ""
    if len(values) > 1:
        gap = f", the best two {100 * math.expm1(values[1] - values[0]):.2g} % apart"
    return f"All {searches.planned} searches were completed{gap}."
