"""The noise model: found again in noise of known colour, and deviations that hold."""

from __future__ import annotations

import numpy as np
import pytest
from tests.payload.cases import D3, FOUR, RATE, case, coloured

from deltadyn.errors import InputError
from deltadyn.payload.bound import payload_column
from deltadyn.payload.front_end import NARROW, STAGES, Grid, recorded_grid
from deltadyn.payload.noise import NoiseModel, filtered_autocovariance, window_scores
from deltadyn.robot.bodies import Platform


@pytest.fixture(scope="module")
def noise() -> NoiseModel:
    return NoiseModel.of(D3, case(12, seed=5, empty=True).recording)


def test_the_colour_of_the_noise_is_found(noise: NoiseModel) -> None:
    rho = filtered_autocovariance(Grid.of(RATE), 5e-3)
    expected = np.linalg.solve([[rho[0], rho[1]], [rho[1], rho[0]]], rho[1:])
    # 10 %: some 2000 residuals of which 50 are independent, and the model's own errors
    np.testing.assert_allclose(noise.coefficients, [expected] * 3, rtol=0.1)
    level = 0.3 * np.sqrt(rho[0] * (1 - np.exp(-0.2)))  # the filter's share of 0.3 N m
    np.testing.assert_allclose(noise.level, level, rtol=0.25)  # friction at turns comes on top
    assert 1.0 <= noise.dispersion < 1.7  # two coefficients do not whiten eight poles wholly
    assert 1.0 <= noise.tails < 1.6
    assert "case, " in noise.source
    assert "dispersion" in noise.summary


def test_one_by_one_is_as_all_at_once(noise: NoiseModel) -> None:
    series = recorded_grid(D3, case(4).recording)
    s, i = noise.weigh_all(series.r, series.c, series.qd, series.starts)
    whitener = noise.whitener()
    rows = zip(series.r.tolist(), series.c.tolist(), series.qd.tolist(), strict=True)
    found = [whitener.weigh(*row) for row in rows]
    assert found[:2] == [None, None]
    np.testing.assert_allclose([x.s for x in found[2:] if x], s[2:], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose([x.i for x in found[2:] if x], i[2:], rtol=1e-9)


def test_the_deviation_counts_the_correlation() -> None:
    """Masses of 0.2 s windows over fresh noise vary as the noise model says, white ones do not."""
    from scipy.signal import lfilter

    series = recorded_grid(D3, case(12, seed=6, empty=True, deviation=0.0).recording)
    noise = NoiseModel.assumed(D3, level=0.3 / 69.0 / 0.9, correlation=5e-3)
    grid, width = Grid.of(RATE), 50
    errors, said, white = [], [], []
    for seed in range(12):
        y = coloured(len(series.r) * 8, 3, 0.3, 5e-3, 100 + seed)
        for _ in range(STAGES):
            y = lfilter([grid.gain], [1, grid.gain - 1], y, axis=0)
        r = y[::8]
        for _ in range(NARROW):
            r = lfilter([grid.narrow_gain], [1, grid.narrow_gain - 1], r, axis=0)
        s, i = noise.weigh_all(r, series.c, series.qd)
        errors.append(s.reshape(-1)[: len(s) // width * width].reshape(-1, width).sum(1))
        said.append(i[: len(i) // width * width].reshape(-1, width).sum(1))
        plain = (series.c**2).sum(1)[: len(i) // width * width].reshape(-1, width).sum(1)
        naive = (series.c * r).sum(1)[: len(i) // width * width].reshape(-1, width).sum(1)
        white.append(naive / np.sqrt(plain) / r.std())
    S, I = np.concatenate(errors), np.concatenate(said)
    moving = np.quantile(I, 0.2) < I
    z = S[moving] / np.sqrt(I[moving])
    # reversals are weighed down although this noise knows none, so the deviation errs to the safe
    assert 0.5 < z.std() < 1.1
    assert np.std(np.concatenate(white)[moving]) > 2.0  # what a white formula would understate


def test_an_axis_at_rest_says_nothing(noise: NoiseModel) -> None:
    whitener = noise.whitener()
    for _ in range(3):
        out = whitener.weigh([1.0] * 3, [5.0] * 3, [0.0, 0.01, -0.02])
    assert out == (0.0, 0.0)
    told = [whitener.weigh([1.0] * 3, [5.0] * 3, [rate, 0.0, 0.0]) for rate in (0.1, 0.5, 3.0)]
    information = [x.i for x in told if x is not None]
    assert information == sorted(information)
    assert information[0] > 0


def test_assumed_noise_is_relative_to_the_robot() -> None:
    arm, four = NoiseModel.assumed(D3), NoiseModel.assumed(FOUR)
    assert len(four.deviation) == 4
    assert arm.level[0] == pytest.approx(1.38, abs=0.1)  # N m: 2 % of (0.30 + 0.39) 100 rad/s^2
    assert NoiseModel.assumed(D3, level=0.04).deviation[0] == pytest.approx(2 * arm.deviation[0])
    assert arm.std(0.0, 1.0) == float("inf")
    assert arm.std(1e9, 2.0) == pytest.approx(np.hypot(0.04, 0.005), rel=1e-3)
    assert "assumed: 2 % of the reference torque, 5 ms" in arm.summary


@pytest.mark.full
def test_a_known_payload_is_taken_out() -> None:
    empty = case(6, masses=(2.0, 2.0), seed=8, empty=True)
    plain = NoiseModel.of(D3, empty.recording)
    tau = empty.recording.tau + 2.0 * payload_column(D3, empty.plan.motion)
    loaded = empty.recording.replace(tau=tau)
    assert NoiseModel.of(D3, loaded).level[0] > 3 * plain.level[0]
    for known in (
        NoiseModel.of(D3, loaded, payload=2.0),
        NoiseModel.of(D3, loaded.replace(payload=2.0)),
    ):
        np.testing.assert_allclose(known.level, plain.level, rtol=0.02)  # filters' errors


@pytest.mark.full
def test_what_an_empty_robot_weighs_is_tared() -> None:
    """A model whose platform is 50 g too light shows them as a payload of an empty robot."""
    light = D3.replace(platform=Platform(D3.platform.mass - 0.05))
    found = case(12, seed=5, empty=True).recording
    noise, right = NoiseModel.of(light, found), NoiseModel.of(D3, found)
    assert noise.tare - right.tare == pytest.approx(0.05, abs=3e-3)  # other weights
    assert noise.zero > right.zero
    series = recorded_grid(light, found)
    s, i = noise.weigh_all(series.r, series.c, series.qd, series.starts)
    assert s.sum() / i.sum() == pytest.approx(0.0, abs=1e-9)


def test_window_scores() -> None:
    s, i = np.array([1.0, 2.0, 0.0, 3.0]), np.array([1.0, 3.0, 0.0, 0.0])
    np.testing.assert_allclose(window_scores(s, i, 2), [1.5, 2 / np.sqrt(3)])
    assert len(window_scores(s, i, 5)) == 0


def test_wrong_calls() -> None:
    with pytest.raises(InputError, match="level is -1; allowed: above 0"):
        NoiseModel.assumed(D3, level=-1.0)
    short = case(3, empty=True).recording.rows(0, 1000)
    with pytest.raises(InputError, match=r"residuals of the recording is .*at least 200"):
        NoiseModel.of(D3, short)
