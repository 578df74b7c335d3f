"""Wrong input is refused with the quantity, the place, the value and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.sizing.cases import FOUR, THREE, with_limits

import deltadyn as dd
from deltadyn.errors import DeltadynError
from deltadyn.motion import LimitError, Motion, adept_cycle, stretch
from deltadyn.robot.settings import Limits
from deltadyn.sizing import cycle_rates, fastest, motion_loads, sizing_table

WAY = adept_cycle(THREE, cycles_per_minute=60.0, rate=500.0)
STILL = Motion.from_platform(THREE, np.arange(8.0), np.tile([0.0, 0, -0.85], (8, 1)))
OUT = Motion.from_platform(
    THREE,
    np.arange(8.0),
    np.tile([0.0, 0, -0.85], (8, 1)) + np.arange(8)[:, None] * [0.3, 0, 0],
    np.tile([0.3, 0, 0], (8, 1)),
    np.zeros((8, 3)),
    unreachable="nan",
)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fastest("sipro", WAY), "robot is 'sipro'; allowed: a Robot"),  # type: ignore[arg-type]
        (lambda: fastest(THREE, "way"), "path is 'way'; allowed: a Motion, or points (K, 3)"),
        (lambda: fastest(THREE, [0.0, 1.0]), "allowed: a Motion, or points (K, 3) with K from 2"),
        (lambda: fastest(FOUR, WAY), "coordinates of the motion is 3; allowed: 4 coordinates"),
        (
            lambda: fastest(THREE, WAY, payload=-1.0),
            "payload is -1; allowed: a number of kg from 0",
        ),
        (lambda: fastest(THREE, WAY, share=0.0), "share is 0; allowed: a number above 0"),
        (lambda: fastest(THREE, WAY, samples=10), "samples is 10; allowed: a whole number of at"),
        (lambda: fastest(THREE, WAY, rate=0.0), "rate is 0; allowed: a number above 0"),
        (lambda: fastest(THREE, WAY, limits=3), "limits is 'int'; allowed: Limits of a robot"),  # type: ignore[arg-type]
        (lambda: fastest(THREE, STILL), "allowed: above 1e-09 m: a path leads somewhere"),
        (
            lambda: fastest(THREE, OUT),
            "path at row 3 is 'out of reach'; allowed: a motion in reach",
        ),
        (
            lambda: fastest(THREE, WAY, limits=Limits(rate=[3.0] * 3, workspace=None)),
            "limits is \"those of robot 'sipro-d3-1200'\"; allowed: a robot that names one of torq",
        ),
        (lambda: motion_loads(THREE, WAY.q), "motion is 'ndarray'; allowed: a Motion, which has"),  # type: ignore[arg-type]
        (lambda: motion_loads(THREE, WAY, payload="2"), "payload is '2'; allowed: a number of kg"),  # type: ignore[arg-type]
        (
            lambda: motion_loads(THREE, WAY, model="best"),
            "model is 'best'; allowed: one of 'exact'",
        ),
        (
            lambda: motion_loads(THREE, OUT),
            "motion at row 3 is 'out of reach'; allowed: a motion in",
        ),
        (
            lambda: motion_loads(THREE, WAY, cup_half_angle=2.0),
            "cup_half_angle is 2; allowed: above",
        ),
        (lambda: sizing_table(THREE, [], [60]), "payloads is []; allowed: at least one number"),
        (lambda: sizing_table(THREE, 1.0, [60]), "payloads is 1; allowed: several numbers"),  # type: ignore[arg-type]
        (
            lambda: sizing_table(THREE, [0, -1], [60]),
            "payloads at place 1 is -1; allowed: a number",
        ),
        (
            lambda: sizing_table(THREE, [0], [0]),
            "cycle_rates at place 0 is 0; allowed: a number ab",
        ),
        (
            lambda: sizing_table(THREE, [0], [60], motion=5),  # type: ignore[arg-type]
            "motion is 'int'; allowed: a Motion, a function, or None",
        ),
        (
            lambda: sizing_table(THREE, [0], [60]).case(0, 61),
            "case is [0, 61]; allowed: payloads [0",
        ),
        (
            lambda: cycle_rates(THREE, share=2.0),
            "share is 2; allowed: a number above 0 and at most 1",
        ),
        (lambda: cycle_rates(None), "robot is None; allowed: a Robot"),  # type: ignore[arg-type]
    ],
)
def test_message(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(DeltadynError, match=re.escape(message)):
        call()


def test_a_path_that_no_pace_can_pass_names_its_limit() -> None:
    with pytest.raises(
        LimitError, match=r"payload is 5 kg; allowed: 4 kg.*no duration changes that"
    ):
        fastest(THREE, WAY, payload=5.0)
    weak = with_limits(THREE, torque_peak=0.5)
    with pytest.raises(LimitError, match=r"torque_peak of axis . .*however slow the motion is"):
        fastest(weak, WAY)
    wide = stretch(THREE, dd.motion.y3(THREE), duration=20.0)
    small = with_limits(THREE, workspace=dd.robot.settings.Workspace(0.2, -1.0, -0.7))
    with pytest.raises(LimitError, match=r"workspace_radius.*platform position"):
        fastest(small, wide)


def test_too_few_samples_between_two_stops() -> None:
    sparse = adept_cycle(THREE, cycles_per_minute=60.0, rate=8.0)
    with pytest.raises(
        DeltadynError, match=r"samples of path at 0 to 0.5 s is 3; allowed: at least 4"
    ):
        fastest(THREE, sparse)
