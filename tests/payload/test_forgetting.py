"""[falezza2020] eq. 11: weighted least squares with + before the gain, divergence as printed."""

from __future__ import annotations

import numpy as np
import pytest
from tests.payload.cases import D3, FOUR, case, robot_of

from deltadyn.errors import InputError
from deltadyn.payload.forgetting import ForgettingEstimator, forgetting_masses, forgetting_matrices

RNG = np.random.default_rng(0)
X = RNG.normal(0, 5, (300, 3)) + np.array([0.0, 0.0, 9.81])
Y = 2.5 * X + RNG.normal(0, 1, (300, 3))


@pytest.mark.parametrize("forgetting", [1.0, 0.99, 0.9])
def test_it_is_least_squares_with_fading_weights(forgetting: float) -> None:
    masses = forgetting_masses(X, Y, forgetting=forgetting, start=1e9)
    for count in (1, 10, 300):
        weights = forgetting ** np.arange(count)[::-1]
        top = weights @ (X[:count] * Y[:count]).sum(1)
        batch = top / (weights @ (X[:count] ** 2).sum(1))
        assert masses[count - 1] == pytest.approx(batch, rel=1e-7)  # the start's 1e-9 is left


def test_as_printed_it_diverges_and_mended_it_finds_the_mass() -> None:
    printed = forgetting_matrices(X, Y, forgetting=0.99, sign=-1.0)
    mended = forgetting_matrices(X, Y, forgetting=0.99, sign=1.0)
    assert np.abs(printed[-1]).max() > 1e3 * 2.5
    assert np.diag(mended[-1]) == pytest.approx([2.5] * 3, abs=0.1)  # noise of 1 N on 10 m/s^2


@pytest.mark.parametrize("four", [False, True])
def test_the_mass_on_a_robot(four: bool) -> None:
    robot = robot_of(four, dry=False)
    found = case(2, masses=(1.5, 1.5), deviation=0.0, four=four, dry=False, rates=True)
    rec, estimator = found.recording, ForgettingEstimator(robot)
    assert rec.qd is not None
    assert rec.qdd is not None
    masses = [estimator.update(*row) for row in zip(rec.q, rec.qd, rec.qdd, rec.tau, strict=True)]
    cycle = found.plan.cycles[0]
    last = round(cycle.end * 2000) - 1
    held = last - round(cycle.pick * 2000)
    forgotten = 0.998**held  # what is left of the empty time before, at least
    assert masses[last] == pytest.approx(1.5, abs=1.5 * 2 * forgotten)
    assert masses[round(cycle.pick * 2000) - 1] == pytest.approx(0.0, abs=1e-6)
    estimator.reset()
    assert (estimator.mass, estimator.P) == (0.0, 1e3)


def test_wrong_calls() -> None:
    with pytest.raises(InputError, match="forgetting is 0; allowed: above 0 and at most 1"):
        ForgettingEstimator(D3, forgetting=0.0)
    with pytest.raises(InputError, match=r"start is 0; allowed: above 0 kg\^2"):
        ForgettingEstimator(D3, start=0.0)
    with pytest.raises(InputError, match="robot is 'int'; allowed: a Robot"):
        ForgettingEstimator(3)  # type: ignore[arg-type]
    estimator = ForgettingEstimator(FOUR)
    zero = [0.0] * 4
    with pytest.raises(InputError, match=r"shape of q is \[3\]; allowed: \(4,\), as robot"):
        estimator.update(zero[:3], zero, zero, zero)
    with pytest.raises(InputError, match=r"tau is \[nan, 0, 0, 0\]; allowed: finite numbers"):
        estimator.update(zero, zero, zero, [float("nan"), 0.0, 0.0, 0.0])
