"""Design of excitation: Fourier coefficients and base frequency for the best identification."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from deltadyn.excitation.criteria import Prediction, predict
from deltadyn.excitation.problem import Problem
from deltadyn.excitation.request import Design, Prepared, Request, SearchOptions, prepared
from deltadyn.excitation.result import Excitation, PredictedParameter
from deltadyn.excitation.search import (
    Found,
    Start,
    Task,
    Workers,
    best_starts,
    default_jobs,
    random_motion,
)
from deltadyn.motion.fourier import FourierSeries, fourier_motion
from deltadyn.motion.limits import Limit, LimitError, LimitReport, check_motion
from deltadyn.motion.motion import Motion
from deltadyn.options import merged, names_of, parted
from deltadyn.progress import Bar
from deltadyn.robot import Robot

POLISHED = 4  # searches that go on in the second round
MOVED = 2  # of them also go on with numbers of periods between those of the first round
FIRST_ROUND = 0.55  # of the time for the search
RESERVE = 5.0  # s of the time limit for what follows the search, less where the limit is short


class Round(NamedTuple):
    """How finely a round of searches looks at a motion, and for how many iterations."""

    per_harmonic: int  # samples of a period for each harmonic
    least: int  # samples of a period in any case
    sharpness: float  # of the limits
    iterations: int

    def samples(self, harmonics: int) -> int:
        """Of a period."""
        return max(self.per_harmonic * harmonics, self.least)


COARSE = Round(16, 48, 80.0, 100)
FINE_ROUND = Round(32, 96, 300.0, 300)


def design_excitation(
    robot: Robot,
    duration: float = 10.0,
    harmonics: int = 5,
    design: Design | None = None,
    search: SearchOptions | None = None,
    **keywords: Any,
) -> Excitation:
    """The periodic motion that identifies a model best, within all limits of the robot.

    min over coefficients and base frequency of J - w ||qd|| [gnad2024] eqs. 8-11, with J one of
    the criteria (see `excitation.criteria`) and w a weight on the root mean square of the rates as
    shares of their limits. The motion has whole periods in `duration` (s) and ramps in and out
    besides. Limits that the robot does not name are skipped, and the result says so. Parameters
    that no such motion identifies raise `UnidentifiableError` before the search, or are left out
    with unidentifiable="drop". The result is the same for the same seed on one machine, unless the
    time limit ends the search early: `.status` says. Another processor or another version of NumPy
    or SciPy rounds otherwise, which can lead the search to another motion, as good within some per
    cent: keep the motion (`save`), not its seed.

    The fields of `Design` and `SearchOptions` are `design` and `search`, or keywords:

        periods, criterion, velocity_weight, model, tied, friction, weights, noise_std,
        noise_correlation, share, singularity_margin, highest_frequency, still, unidentifiable, rate
        starts, seed, jobs, time_limit, screened, progress

    With `screened`, the starts are the best of so many random motions (exact model alone), all
    judged at once on JAX where it is installed, else on NumPy (see `screen_starts`): 4096 take
    seconds.
    """
    began = time.time()
    of_search, of_design = parted(SearchOptions, keywords)
    request = Request(
        robot,
        duration,
        harmonics,
        merged(Design, design, of_design, besides=names_of(SearchOptions)),
        merged(SearchOptions, search, of_search),
    )
    return _designed(request, began)


def _designed(request: Request, began: float) -> Excitation:
    """Two rounds of searches, and the result of the best one."""
    search = request.search
    deadline = began + search.time_limit - min(RESERVE, 0.4 * search.time_limit)
    jobs = default_jobs() if search.jobs is None else search.jobs
    text = f"excitation of {request.robot.name}"
    with Workers(jobs) as workers, Bar(search.progress, text, unit="searches") as bar:
        ready = prepared(request)  # while the workers start
        half_time = began + FIRST_ROUND * (deadline - began)
        tasks = _first_round(request, ready, half_time)
        first = _run(workers, bar, text, tasks)
        more = _second_round(request, ready, first, deadline)
        second = _run(workers, bar, text, more)
    best = min(second, key=lambda item: (item.value, item.periods, item.seed))
    late = len(tasks + more) - sum(item.in_time for item in first + second)
    return finished(request, ready, best, Searches(len(tasks + more), late, second), began)


def _first_round(request: Request, ready: Prepared, deadline: float) -> list[Task]:
    """Random starts for every number of periods, on coarse samples."""
    middle = ready.ladder[len(ready.ladder) // 2]
    screened = {periods: screened_starts(request, ready, periods) for periods in ready.ladder}
    return [
        Task(
            ready.setting,
            periods,
            (request.search.seed, periods, start),
            COARSE.samples(request.harmonics),
            COARSE.sharpness,
            COARSE.iterations,
            deadline,
            screened[periods][start].x if start < len(screened[periods]) else None,
            needed=start == 0 and periods == middle,
        )
        for start in range(request.search.starts)
        for periods in ready.ladder
    ]


def screened_starts(
    request: Request, ready: Prepared, periods: int, backend: str = "auto"
) -> list[Start]:
    """The best of the random motions that are to be screened; none where none are."""
    search = request.search
    if not search.screened:
        return []
    samples = COARSE.samples(request.harmonics)
    problem = Problem(ready.setting, periods, samples, COARSE.sharpness)
    return best_starts(problem, search.screened, search.starts, search.seed, backend)


def _second_round(
    request: Request, ready: Prepared, found: list[Found], deadline: float
) -> list[Task]:
    """The best of the first round on finer samples, also with numbers of periods beside theirs."""
    best = sorted(found, key=lambda item: (item.value, item.periods, item.seed))[:POLISHED]
    starts = [(item.periods, item) for item in best]
    if request.design.periods is None:
        for item in best[:MOVED]:
            starts += [(periods, item) for periods in _neighbours(item.periods, ready.ladder)]
    return [
        Task(
            ready.setting,
            periods,
            item.seed,
            FINE_ROUND.samples(request.harmonics),
            FINE_ROUND.sharpness,
            FINE_ROUND.iterations,
            deadline,
            item.x,
            needed=place == 0,
        )
        for place, (periods, item) in enumerate(starts)
    ]


def _neighbours(periods: int, ladder: tuple[int, ...]) -> list[int]:
    """Numbers of periods between one of the ladder and those next to it."""
    place = ladder.index(periods)
    near = ladder[max(place - 1, 0) : place + 2]
    middles = {round(math.sqrt(periods * other)) for other in near}
    return sorted(middles - set(ladder))


def _run(workers: Workers, bar: Bar, text: str, tasks: list[Task]) -> list[Found]:
    """Results of tasks in an order that does not depend on the machine."""
    bar.expect(len(tasks))
    results: list[Found] = []
    for found in workers.run(tasks):
        results.append(found)
        bar.step(f"{text}, best {min(item.value for item in results):.3f}")
    return sorted(results, key=lambda item: (item.periods, item.seed))


# After the search: ramps, the check of all limits on fine samples, predictions, the result.


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
    until = began + request.search.time_limit - LAST
    series, ramp = within_limits(request, problem.series(best.x), until)
    hurried = searches.late > 0 or time.time() > until
    robot = request.robot
    motion = fourier_motion(
        robot, series, periods=best.periods, rate=float(request.design.rate), ramp=ramp
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
        model=request.design.model,
        criterion=request.design.criterion,
        series=series,
        periods=best.periods,
        ramp=ramp,
        motion=motion,
        parameters=parameters,
        prediction=after,
        before=before,
        random_motions=count,
        report=_checked(request, motion),
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
    rate = max(float(request.design.rate), FINE * series.harmonics * series.frequency)
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
    report = _checked(request, fourier_motion(request.robot, series, rate=rate, ramp=ramp))
    exceeded = [limit for limit in report.exceeded if limit.name != "payload"]
    return max(exceeded, key=_excess, default=None)


def _checked(request: Request, motion: Motion) -> LimitReport:
    """All limits along a motion."""
    design = request.design
    return check_motion(
        request.robot,
        motion,
        model=design.model,
        share=design.share,
        singularity_margin=design.singularity_margin,
    )


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
        request.design.model,
        request.equal,
        phases=phases,
    )


def _typical(
    request: Request, ready: Prepared, periods: int, until: float
) -> tuple[Prediction, int]:
    """The prediction for the random motion of median condition number, and of how many."""
    problem = Problem(ready.setting, periods, max(16 * ready.setting.harmonics, 48), 1.0)
    rng = np.random.default_rng((request.search.seed, periods))
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
            f"The time limit of {request.search.time_limit:g} s cut {searches.late} of "
            f"{searches.planned} searches short: more time may find a better motion, another "
            "machine another one."
        )
    values = sorted(item.value for item in searches.last)
    gap = ""
    if len(values) > 1:
        gap = f", the best two {100 * math.expm1(values[1] - values[0]):.2g} % apart"
    return f"All {searches.planned} searches were completed{gap}."


# The best of thousands of random motions, for a look or for a search of your own.


@dataclass(frozen=True, eq=False)
class ScreenedStart:
    """A periodic motion that touches a limit, with its objective (smaller is better)."""

    periods: int
    series: FourierSeries
    value: float


def screen_starts(
    robot: Robot,
    duration: float = 10.0,
    harmonics: int = 5,
    design: Design | None = None,
    *,
    starts: int = 4096,
    keep: int = 8,
    seed: int = 0,
    backend: str = "auto",
    **keywords: Any,
) -> list[ScreenedStart]:
    """The best `keep` motions, of `starts` random ones for every number of periods, best first.

    `design`, or its fields as keywords, says what makes a motion good: `periods`, `criterion`,
    `share` and so on. Every motion is as wide as the limits allow; the force in the
    struts is not looked at. The `backend` is "jax", "numpy" or "auto"; both give the same motions.
    """
    search = SearchOptions(starts=keep, seed=seed, screened=starts)
    asked = merged(Design, design, keywords, what="setting")
    request = Request(robot, duration, harmonics, asked, search)
    ready = prepared(request)
    found: list[ScreenedStart] = []
    for periods in ready.ladder:
        problem = Problem(ready.setting, periods, 1, 1.0)
        found += [
            ScreenedStart(periods, problem.series(start.x), start.value)
            for start in screened_starts(request, ready, periods, backend)
        ]
    return sorted(found, key=lambda item: (item.value, item.periods))[:keep]
