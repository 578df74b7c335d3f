"""The best of thousands of random motions, for a look or for a search of your own."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Any

from deltadyn.errors import UnknownNameError
from deltadyn.excitation.design import design_excitation, screened_starts
from deltadyn.excitation.prepare import prepared
from deltadyn.excitation.problem import Problem
from deltadyn.excitation.request import Request
from deltadyn.motion.fourier import FourierSeries
from deltadyn.robot import Robot

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
