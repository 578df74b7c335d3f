"""Design of excitation: Fourier coefficients and base frequency for the best identification."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.errors import UnknownNameError
from deltadyn.excitation.parameters import Prediction, predict
from deltadyn.excitation.problem import Problem
from deltadyn.excitation.request import Prepared, Request, prepared
from deltadyn.excitation.result import Excitation, PredictedParameter
from deltadyn.excitation.screen import Start, best_starts
from deltadyn.excitation.search import Found, Task, Workers, default_jobs, random_motion
from deltadyn.motion.arguments import check_flag
from deltadyn.motion.fourier import FourierSeries, fourier_motion
from deltadyn.motion.limits import SINGULARITY_MARGIN, Limit, LimitError, check_motion
from deltadyn.progress import Bar
from deltadyn.robot import Robot

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


COARSE = (16, 48, 80.0, 100)  # samples per harmonic, at least; sharpness of limits; iterations
FINE_ROUND = (32, 96, 300.0, 300)  # the same in the second round
POLISHED = 4  # searches that go on in the second round
MOVED = 2  # of them also go on with numbers of periods between those of the first round
FIRST_ROUND = 0.55  # of the time for the search
RESERVE = 5.0  # s of the time limit for what follows the search, less where the limit is short


def design_excitation(
    robot: Robot,
    duration: float = 10.0,
    harmonics: int = 5,
    *,
    periods: int | None = None,
    criterion: str = "balanced",
    velocity_weight: float = 0.1,
    model: str = "exact",
    tied: bool | None = None,
    friction: bool = True,
    weights: npt.ArrayLike | None = None,
    noise_std: npt.ArrayLike | None = None,
    noise_correlation: float = 0.005,
    share: float = 0.9,
    singularity_margin: float = SINGULARITY_MARGIN,
    highest_frequency: float = 10.0,
    still: Sequence[str] = (),
    unidentifiable: Literal["raise", "drop"] = "raise",
    rate: float = 1000.0,
    starts: int = 4,
    seed: int = 0,
    jobs: int | None = None,
    time_limit: float = 60.0,
    screened: int = 0,
    progress: bool = False,
) -> Excitation:
    """The periodic motion that tells a model's parameters best, within all limits of the robot.

    min over coefficients and base frequency of J - w ||qd|| [gnad2024] eqs. 8-11, with J one of
    the criteria "balanced", "std", "D", "A", "E", "condition", "raw-condition" (see
    `excitation.criteria`) and w = `velocity_weight` on the root mean square of the rates as shares
    of their limits. The motion has whole periods in `duration` (s) and ramps in and out besides.

    `periods` fixes the number of periods, which is free by default as long as the highest harmonic
    stays below `highest_frequency` (Hz). `share` of the limits on rates, accelerations, torques and
    forces may be used; limits that the robot does not name are skipped, and the result says so.
    `weights` per axis (1/(N m)) weigh the rows of the regressor, by default 1 / `noise_std`;
    `noise_std` is the expected residual per axis (N m), by default 0.5 % of the peak torque, with
    the correlation time `noise_correlation` (s). `friction=False` leaves friction out of what is
    to be identified. Coordinates named in `still` ("x", "y", "z", "psi") do not move. Parameters
    that no such motion can tell raise `UnidentifiableError` before the search, or are left out with
    unidentifiable="drop".

    `starts` random motions per number of periods are improved in `jobs` processes. With `screened`
    they are the best of so many random motions (exact model alone), all judged at once on JAX where
    it is installed, else on NumPy (see `screen_starts`): 4096 take seconds. The result is the same
    for the same `seed`, unless `time_limit` (s) ends the search early: `.status` says.
    """
    began = time.time()
    request = Request(
        robot=robot,
        duration=duration,
        harmonics=harmonics,
        periods=periods,
        criterion=criterion,
        velocity_weight=velocity_weight,
        model=model,
        tied=tied,
        friction=friction,
        weights=weights,
        noise_std=noise_std,
        noise_correlation=noise_correlation,
        share=share,
        singularity_margin=singularity_margin,
        highest_frequency=highest_frequency,
        still=still,
        unidentifiable=unidentifiable,
        rate=rate,
        starts=starts,
        seed=seed,
        jobs=default_jobs() if jobs is None else jobs,
        time_limit=time_limit,
        screened=screened,
    )
    check_flag("progress", progress)
    return _designed(request, began, progress)


def _designed(request: Request, began: float, progress: bool) -> Excitation:
    """Two rounds of searches, and the result of the best one."""
    deadline = began + request.time_limit - min(RESERVE, 0.4 * request.time_limit)
    with Workers(request.jobs) as workers, Bar(progress, request.robot.name) as bar:
        ready = prepared(request)  # while the workers start
        half_time = began + FIRST_ROUND * (deadline - began)
        tasks = _first_round(request, ready, half_time)
        first = _run(workers, bar, tasks)
        more = _second_round(request, ready, first, deadline)
        second = _run(workers, bar, more)
    best = min(second, key=lambda item: (item.value, item.periods, item.seed))
    late = len(tasks + more) - sum(item.in_time for item in first + second)
    return finished(request, ready, best, Searches(len(tasks + more), late, second), began)


def _first_round(request: Request, ready: Prepared, deadline: float) -> list[Task]:
    """Random starts for every number of periods, on coarse samples."""
    per_harmonic, least, sharpness, iterations = COARSE
    middle = ready.ladder[len(ready.ladder) // 2]
    screened = {periods: screened_starts(request, ready, periods) for periods in ready.ladder}
    return [
        Task(
            ready.setting,
            periods,
            (request.seed, periods, start),
            max(per_harmonic * request.harmonics, least),
            sharpness,
            iterations,
            deadline,
            screened[periods][start].x if start < len(screened[periods]) else None,
            needed=start == 0 and periods == middle,
        )
        for start in range(request.starts)
        for periods in ready.ladder
    ]


def screened_starts(
    request: Request, ready: Prepared, periods: int, backend: str = "auto"
) -> list[Start]:
    """The best of the random motions that are to be screened; none where none are."""
    if not request.screened:
        return []
    per_harmonic, least, sharpness, _ = COARSE
    samples = max(per_harmonic * request.harmonics, least)
    problem = Problem(ready.setting, periods, samples, sharpness)
    return best_starts(problem, request.screened, request.starts, request.seed, backend)


def _second_round(
    request: Request, ready: Prepared, found: list[Found], deadline: float
) -> list[Task]:
    """The best of the first round on finer samples, also with numbers of periods beside theirs."""
    best = sorted(found, key=lambda item: (item.value, item.periods, item.seed))[:POLISHED]
    starts = [(item.periods, item) for item in best]
    if request.periods is None:
        for item in best[:MOVED]:
            starts += [(periods, item) for periods in _neighbours(item.periods, ready.ladder)]
    per_harmonic, least, sharpness, iterations = FINE_ROUND
    return [
        Task(
            ready.setting,
            periods,
            item.seed,
            max(per_harmonic * request.harmonics, least),
            sharpness,
            iterations,
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


def _run(workers: Workers, bar: Bar, tasks: list[Task]) -> list[Found]:
    """Results of tasks in an order that does not depend on the machine."""
    bar.expect(len(tasks))
    results = []
    for found in workers.run(tasks):
        results.append(found)
        bar.step(found.value)
    return sorted(results, key=lambda item: (item.periods, item.seed))


# The best of thousands of random motions, for a look or for a search of your own.


UNUSED = ("progress", "screened", "starts", "jobs", "time_limit")  # of the search alone


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
    *,
    starts: int = 4096,
    keep: int = 8,
    seed: int = 0,
    backend: str = "auto",
    **settings: Any,
) -> list[ScreenedStart]:
    """The best `keep` motions, of `starts` random ones for every number of periods, best first.

    `settings` are those of `design_excitation` that tell what makes a motion good: `periods`,
    `criterion`, `share` and so on. Every motion is as wide as the limits allow; the force in the
    struts is not looked at. The `backend` is "jax", "numpy" or "auto"; both give the same motions.
    """
    defaults = {
        name: item.default
        for name, item in signature(design_excitation).parameters.items()
        if name not in (*UNUSED, "robot", "duration", "harmonics", "seed")
    }
    for name in settings:
        if name not in defaults:
            raise UnknownNameError("setting", name, defaults)
    request = Request(
        robot=robot,
        duration=duration,
        harmonics=harmonics,
        seed=seed,
        starts=keep,
        screened=starts,
        jobs=1,
        time_limit=60.0,
        **{**defaults, **settings},
    )
    ready = prepared(request)
    found: list[ScreenedStart] = []
    for periods in ready.ladder:
        problem = Problem(ready.setting, periods, 1, 1.0)
        found += [
            ScreenedStart(periods, problem.series(start.x), start.value)
            for start in screened_starts(request, ready, periods, backend)
        ]
    return sorted(found, key=lambda item: (item.value, item.periods))[:keep]
