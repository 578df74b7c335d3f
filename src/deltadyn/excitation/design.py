"""Design of excitation: Fourier coefficients and base frequency for the best identification."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Literal

import numpy.typing as npt

from deltadyn.excitation.finish import Searches, finished
from deltadyn.excitation.prepare import Prepared, prepared
from deltadyn.excitation.problem import Problem
from deltadyn.excitation.progress import Bar
from deltadyn.excitation.request import Request
from deltadyn.excitation.result import Excitation
from deltadyn.excitation.screen import Start, best_starts
from deltadyn.excitation.search import Found, Task, Workers, default_jobs
from deltadyn.motion.arguments import check_flag
from deltadyn.motion.limits import SINGULARITY_MARGIN
from deltadyn.robot import Robot

COARSE = (16, 48, 80.0, 100)  # samples per harmonic, at least; sharpness of limits; iterations
FINE = (32, 96, 300.0, 300)  # the same in the second round
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
    per_harmonic, least, sharpness, iterations = FINE
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
