"""The Cramér-Rao bound: closed forms, the figures of the design, and an estimator that meets it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.payload.cases import D3, RATE, case

from deltadyn.errors import InputError
from deltadyn.motion import adept_cycle
from deltadyn.payload.bound import ColouredNoise, bound_over_time, cramer_rao, payload_column
from deltadyn.robot.file import load_robot

BARE = load_robot("sipro-d3-1200")
ADEPT = adept_cycle(BARE, cycles_per_minute=100.0)
COLUMN = payload_column(BARE, ADEPT)


def test_white_noise_has_the_closed_form() -> None:
    noise = ColouredNoise.white(0.7, RATE, 0.2)
    expected = 0.7 / np.sqrt((COLUMN[:400] ** 2).sum())
    assert cramer_rao(COLUMN[:400], noise) == pytest.approx(expected, rel=1e-5)  # its diagonal


def test_an_exponential_autocovariance_has_the_closed_form() -> None:
    """For AR(1) noise: c_0^2 and the squares of c_k - rho c_(k-1) over 1 - rho^2."""
    noise, rho = ColouredNoise.exponential(1.0, 5e-3, RATE, 0.3), np.exp(-0.1)
    c = COLUMN[:300]
    information = (c[0] ** 2).sum() + ((c[1:] - rho * c[:-1]) ** 2).sum() / (1 - rho**2)
    assert cramer_rao(c, noise) == pytest.approx(information**-0.5, rel=1e-4)


def test_the_adept_cycle_at_100_a_minute() -> None:
    """1 N m with 5 ms: some ten grams after 150 ms; friction unknown, half as much again."""
    noise = ColouredNoise.exponential(1.0, 5e-3, RATE, 0.3)
    alone = bound_over_time(COLUMN, noise, (0.05, 0.1, 0.15))
    np.testing.assert_allclose(alone, [0.0559, 0.0376, 0.0355], atol=2e-4)
    with_friction = [cramer_rao(COLUMN[:n], noise, qd=ADEPT.qd[:n]) for n in (100, 200, 300)]
    assert all(b > 1.4 * a for a, b in zip(alone, with_friction, strict=True))
    white = cramer_rao(COLUMN[:300], ColouredNoise.white(1.0, RATE, 0.3))
    assert 3.5 < alone[2] / white < 5.0  # what white formulas understate


def test_the_noise_of_a_recording() -> None:
    found = case(12, seed=5, empty=True, dry=False)
    noise = ColouredNoise.of(D3.with_friction(coulomb=0.0), found.recording, duration=0.3)
    known = ColouredNoise.exponential(0.3, 5e-3, RATE, 0.3)
    assert noise.rate == pytest.approx(RATE)
    # 15 %: 8.6 s hold some 900 correlation times
    np.testing.assert_allclose(noise.autocovariance[:10], known.autocovariance[:10], rtol=0.15)
    ratio = cramer_rao(COLUMN[:300], noise) / cramer_rao(COLUMN[:300], known)
    assert ratio == pytest.approx(1.0, abs=0.2)


def test_generalised_least_squares_meets_it() -> None:
    """The best unbiased estimator over many draws of the noise varies as the bound says."""
    rho, n = np.exp(-0.1), 300
    noise = ColouredNoise.exponential(1.0, 5e-3, RATE, 0.3)
    R = rho ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    weights = np.linalg.solve(R, COLUMN[:n]) * cramer_rao(COLUMN[:n], noise) ** 2
    draws = np.random.default_rng(1).standard_normal((400, n, 3))
    masses = np.einsum("kni,ni->k", np.linalg.cholesky(R) @ draws, weights)
    # 10 %: the deviation of 400 draws is known to 3.5 %
    assert masses.std() == pytest.approx(cramer_rao(COLUMN[:n], noise), rel=0.1)


def test_wrong_calls() -> None:
    noise = ColouredNoise.white(1.0, RATE, 0.1)
    with pytest.raises(InputError, match="samples is 300; allowed: at most 201, the lags"):
        cramer_rao(COLUMN[:300], noise)
    with pytest.raises(InputError, match="duration is 30; allowed: below half of the recording"):
        ColouredNoise.of(D3, case(12, seed=5, empty=True).recording, duration=30.0)
    assert cramer_rao(np.zeros((10, 3)), noise) == np.inf
