"""Predicted standard deviations against simulated estimates, and the condition numbers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.excitation.cases import ABB, D3, problem

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.excitation.criteria import Noise, Prediction, predict
from deltadyn.excitation.problem import Problem
from deltadyn.excitation.request import Prepared
from deltadyn.excitation.search import random_motion
from deltadyn.motion.fourier import FourierSeries
from deltadyn.robot import Robot


def predicted(ready: Prepared, series: FourierSeries, noise: Noise, robot: Robot) -> Prediction:
    duration = ready.setting.duration
    return predict(
        robot, series, duration, ready.chosen, ready.weights, noise, "exact", robot.equal_limbs
    )


def case_of(robot: Robot) -> tuple[Problem, Prepared, FourierSeries]:
    case, ready = problem(robot)
    return case, ready, case.series(random_motion(case, np.random.default_rng(11)))


def weighted_regressor(
    ready: Prepared, robot: Robot, series: FourierSeries, rate: float
) -> FloatArray:
    """W Y (N dof, n) of all periods, sampled at `rate` hertz."""
    t = np.arange(round(ready.setting.duration * rate)) / rate
    state = dd.State.from_platform(robot, *series.at(t))
    Y = dd.regressor(robot, state).Y[:, :, ready.chosen.index]
    return (Y * ready.weights[:, None]).reshape(-1, Y.shape[2])


@pytest.mark.full
@pytest.mark.parametrize("correlation", [0.0, 0.004])
def test_deviations_are_those_of_simulated_estimates(correlation: float) -> None:
    """400 weighted least-squares estimates with first-order noise at 500 Hz."""
    rate, trials = 500.0, 400
    _, ready, series = case_of(D3)
    noise = Noise(np.array([0.9, 0.5, 1.3]), correlation, rate)
    expected = predicted(ready, series, noise, D3)
    A = weighted_regressor(ready, D3, series, rate)
    solve = np.linalg.solve(A.T @ A, A.T)
    rng = np.random.default_rng(0)
    count = len(A) // 3
    rho = np.exp(-1 / (rate * correlation)) if correlation else 0.0
    errors = []
    for _ in range(trials):
        white = rng.standard_normal((count, 3))
        residual = np.empty_like(white)
        residual[0] = white[0]
        for k in range(1, count):
            residual[k] = rho * residual[k - 1] + np.sqrt(1 - rho**2) * white[k]
        errors.append(solve @ (residual * noise.std * ready.weights).ravel())
    found = np.std(errors, axis=0)
    # 400 trials leave 1 / sqrt(800) = 3.5 % of each deviation, 3 of these for the worst of ten;
    # signs of friction change quickly, so correlated noise disturbs Fc a little less than predicted
    np.testing.assert_allclose(found, expected.std, rtol=0.11)


def test_slow_correlated_noise_counts_as_few_samples() -> None:
    assert Noise(np.ones(3), 0.0, 1000.0).inflation == 1.0
    assert Noise(np.ones(3), 0.005, 1000.0).inflation == pytest.approx(10.0, rel=0.01)
    # the rate does not matter once it is well above 1 / correlation
    _, ready, series = case_of(D3)
    stds = [predicted(ready, series, Noise(np.ones(3), 0.01, rate), D3).std for rate in (1e3, 4e3)]
    np.testing.assert_allclose(stds[0], stds[1], rtol=5e-3)


@pytest.mark.parametrize("robot", [D3, ABB], ids=lambda robot: robot.name)
def test_condition_numbers(robot: Robot) -> None:
    _, ready, series = case_of(robot)
    found = predicted(ready, series, ready.noise, robot)
    A = weighted_regressor(ready, robot, series, 1500.0)  # whole periods, 2000 samples each
    normalised = A / np.linalg.norm(A, axis=0)
    # the sharp friction's columns jump, so that sampling matters to 1e-3
    assert found.condition_number == pytest.approx(np.linalg.cond(normalised), rel=5e-3)
    raw = (A.reshape(-1, robot.dof, A.shape[1]) / ready.weights[:, None]).reshape(A.shape)
    assert found.raw_condition_number == pytest.approx(np.linalg.cond(raw), rel=5e-3)
    assert found.paper_condition_number == pytest.approx(found.raw_condition_number**2)
    assert found.condition_number < found.raw_condition_number


def test_weights_other_than_the_noise_cost_precision() -> None:
    _, ready, series = case_of(D3)
    noise = Noise(np.array([0.3, 1.0, 3.0]), 0.005, 1000.0)
    arguments = (D3, series, 4.0, ready.chosen)
    best = predict(*arguments, 1 / noise.std, noise, "exact", True).std
    for weights in (np.ones(3), noise.std):
        assert (predict(*arguments, weights, noise, "exact", True).std > 0.999 * best).all()
