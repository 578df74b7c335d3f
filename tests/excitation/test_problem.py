"""The search problem: gradients, limits as `check_motion` has them, feasible random motions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.excitation.cases import ABB, D3, problem, with_limits

import deltadyn as dd
from deltadyn.excitation.columns import pose_of
from deltadyn.excitation.criteria import CRITERIA
from deltadyn.excitation.problem import Problem, Row, aggregate, limit_rows, worst
from deltadyn.excitation.search import Task, improve, random_motion, run_task, within_limits
from deltadyn.motion.fourier import fourier_motion
from deltadyn.motion.limits import check_motion
from deltadyn.robot import Robot

LOADED = with_limits(D3, strut_force=60.0)  # a limit that binds


def check_slopes(case: Problem, seed: int = 0) -> None:
    """Objective and limits against central differences along random directions."""
    rng = np.random.default_rng(seed)
    x = random_motion(case, rng)
    found = case.evaluate(x)
    assert found is not None
    assert found.value == pytest.approx(case.objective(x), abs=1e-9)
    for _ in range(3):
        step = 1e-6 * rng.standard_normal(len(x))
        ends = case.evaluate(x + step), case.evaluate(x - step)
        assert ends[0] is not None
        assert ends[1] is not None
        rise = (ends[0].value - ends[1].value) / 2
        # curvature: friction and aggregates turn within 1e-2 of the variables; rounding: the raw
        # condition number of M is up to 1e8, so its smallest eigenvalue is known to 1e-8
        rounding = 1e-8 if case.setting.criterion == "raw-condition" else 1e-11
        assert rise == pytest.approx(float(found.gradient @ step), rel=1e-4, abs=rounding)
        climbs = (ends[0].limits - ends[1].limits) / 2
        slopes = found.jacobian @ step
        np.testing.assert_allclose(climbs, slopes, atol=1e-5 * np.abs(slopes).max())


@pytest.mark.full
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("robot", [D3, ABB], ids=lambda robot: robot.name)
def test_gradients(robot: Robot, criterion: str) -> None:
    check_slopes(problem(robot, criterion=criterion)[0])


def test_gradients_of_every_limit() -> None:
    """Limits with one end, the force in the struts by differences, a coordinate that stands."""
    robot = with_limits(LOADED, angle_min=None)
    case, ready = problem(robot, still=("y",))
    assert ready.setting.rules.struts
    check_slopes(case, 1)
    check_slopes(problem(with_limits(D3, angle_max=None))[0], 2)


@pytest.mark.parametrize("model", ["rigid", "virtual-work"])
def test_gradients_of_other_models(model: str) -> None:
    check_slopes(problem(D3, samples=24, model=model)[0])


@pytest.mark.parametrize("robot", [D3, ABB, LOADED], ids=["D3", "ABB", "loaded"])
def test_limits_are_those_of_check_motion(robot: Robot) -> None:
    """The same shares of the same limits, on the same samples."""
    samples = 200
    case, ready = problem(robot, samples=samples)
    x = random_motion(case, np.random.default_rng(7))
    pose = pose_of(ready.setting.robot, case.motion(x)[:, None])
    tau = np.tensordot(ready.setting.values, case.regressor(pose), axes=1)
    rows = limit_rows(ready.setting.robot, pose, tau, ready.setting.rules)
    series = case.series(x)
    motion = fourier_motion(ready.setting.robot, series, rate=samples * series.frequency, ramp=0.0)
    report = check_motion(ready.setting.robot, motion, share=0.9)
    for name in ("rate", "acceleration", "torque_peak", "platform_speed", "workspace_radius"):
        assert _share(rows, name) == pytest.approx(report[name].use, rel=1e-9)
    for name in ("angle", "workspace_z"):
        ends = [report[f"{name}_min"].use, report[f"{name}_max"].use]
        assert _share(rows, name) == pytest.approx(max(end or 0.0 for end in ends), rel=1e-9)
    assert _share(rows, "torque_rms") == pytest.approx(report["torque_rms"].use, rel=1e-3)
    if ready.setting.rules.struts:
        assert _share(rows, "strut_force") == pytest.approx(report["strut_force"].use, rel=1e-9)
    margin = math.radians(10) / (report["singularity_margin"].use or 1.0)
    least = max(float(np.real(row.g).max()) for row in rows if row.name == "singularity_margin")
    assert math.asin(1 + math.sin(math.radians(10)) - least) == pytest.approx(margin, rel=1e-9)


def _share(rows: list[Row], name: str) -> float:
    """The largest share of a limit whose rows are squares."""
    return math.sqrt(max(worst(np, [row])[0] for row in rows if row.name == name))


def test_the_aggregate_is_just_above_the_largest() -> None:
    rng = np.random.default_rng(0)
    g = rng.uniform(0.0, 1.0, (4, 1, 90))
    values, _ = aggregate([Row("any", g), Row("mean", g, mean=True)], 100.0)
    top = g[:, 0].max(axis=1)
    assert (values[:4] >= top).all()
    assert (values[:4] <= top + math.log(90) / 100).all()
    np.testing.assert_allclose(values[4:], g[:, 0].mean(axis=1))


@pytest.mark.parametrize("robot", [D3, ABB], ids=lambda robot: robot.name)
def test_random_motions_touch_a_limit(robot: Robot) -> None:
    case, _ = problem(robot)
    rng = np.random.default_rng(2)
    for _ in range(5):
        use = case.use(random_motion(case, rng))
        assert 0.99 < use <= 1.0


def test_variables_and_series_are_the_same_thing() -> None:
    case, _ = problem(ABB)
    x = np.random.default_rng(0).standard_normal(int(case.free.sum()))
    np.testing.assert_allclose(case.variables(case.series(x)), x, atol=1e-12)
    t = np.arange(case.samples) / (case.samples * case.frequency)
    p, pd, pdd = case.series(x).at(t)
    np.testing.assert_allclose(np.concatenate([p.T, pd.T, pdd.T]), case.motion(x), atol=1e-9)


def test_a_search_ends_within_the_limits_and_is_no_worse() -> None:
    case, _ = problem(D3)
    x = random_motion(case, np.random.default_rng(4))
    ends, iterations, in_time = improve(case, x, 40, math.inf)
    better = within_limits(case, ends[0])
    assert in_time
    assert iterations <= 40
    assert case.use(better) <= 1
    assert case.objective(better) < case.objective(x) - 0.2


def test_what_is_out_of_reach_is_brought_back() -> None:
    case, _ = problem(D3)
    x = np.zeros(int(case.free.sum()))
    x[0] = 3.0  # an offset far outside the cylinder
    assert case.use(x) > 1
    assert case.use(within_limits(case, x)) <= 1
    wide = case.scaled(random_motion(case, np.random.default_rng(1)), 50.0)
    assert case.use(within_limits(case, wide)) <= 1


def test_a_search_without_time_returns_its_start() -> None:
    _, ready = problem(D3)
    task: dict[str, Any] = {"setting": ready.setting, "periods": 3, "seed": (1, 2, 3)}
    task |= {"samples": 48, "sharpness": 50.0, "iterations": 50}
    found = run_task(Task(deadline=0.0, **task))
    assert not found.in_time
    assert found.iterations == 0
    again = run_task(Task(deadline=math.inf, **task))
    assert again.value < found.value
    dd.inverse_kinematics(D3, Problem(ready.setting, 3, 48, 1.0).series(again.x).at([0.0]).p)
