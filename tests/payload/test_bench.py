"""The picks of the virtual bench."""

from __future__ import annotations

import numpy as np
import pytest
from tests.payload.cases import D3, FOUR

from deltadyn.errors import InputError
from deltadyn.motion import check_motion
from deltadyn.payload.bench import pick_plan


@pytest.mark.parametrize("robot", [D3, FOUR])
def test_cycles_are_smooth_and_within_the_paces(robot: object) -> None:
    plan = pick_plan(robot, 6, seed=1)  # type: ignore[arg-type]
    motion = plan.motion
    assert len(plan.cycles) == 6
    np.testing.assert_allclose(np.diff(motion.t), 1 / 2000, rtol=1e-9)
    # the rates are the derivatives of the angles: no jump where moves meet
    step = np.diff(motion.p, axis=0) * 2000 - (motion.pd[1:] + motion.pd[:-1]) / 2
    assert np.abs(step).max() < 5e-3
    for cycle in plan.cycles:
        assert 60.0 <= cycle.per_minute <= 120.0
        assert 0.1 <= cycle.mass <= 4.0
        k = round(cycle.pick * 2000)
        assert np.abs(motion.pd[k]).max() == 0.0


def test_the_d3_stays_within_its_limits() -> None:
    report = check_motion(D3, pick_plan(D3, 6, seed=1).motion)
    assert report.ok, str(report)


def test_lost_loads_go_on_the_way() -> None:
    plan = pick_plan(D3, 20, seed=2, lost=0.5)
    lost = [cycle for cycle in plan.cycles if cycle.lost]
    assert 4 < len(lost) < 16
    for cycle in lost:
        assert np.linalg.norm(plan.motion.pd[round(cycle.end * 2000)]) > 0.5
    assert plan.empty.payload == ()
    assert pick_plan(D3, 20, seed=2, lost=0.5).payload == plan.payload


def test_wrong_calls() -> None:
    with pytest.raises(InputError, match="cycles is 0; allowed: a whole number, at least 1"):
        pick_plan(D3, 0)
    with pytest.raises(InputError, match=r"masses is \[2, 1\]; allowed: two numbers above 0 kg"):
        pick_plan(D3, 1, masses=(2.0, 1.0))
    with pytest.raises(InputError, match=r"per_minute is .*; allowed: two numbers above 0"):
        pick_plan(D3, 1, per_minute=(100.0, 900.0))
