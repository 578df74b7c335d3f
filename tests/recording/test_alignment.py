"""Delays between channels: known shifts, honest deviations, friction, wrong calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.recording.alignment import (
    autocorrelation,
    correlation_factor,
    estimate_delay,
    remove_delay,
    variance_of_sum,
)

RATE = 2000.0
T = np.arange(6000) / RATE


def torque(t: FloatArray) -> FloatArray:
    """Three torques (N, 3) made of sines, at any time."""
    w = 2 * np.pi * np.array([0.8, 2.1, 5.3, 9.7])
    size = np.array([[20, 8, 4, 2], [15, -9, 5, 1], [18, 3, -6, 2]], dtype=float)
    phase = np.array([[0, 1, 2, 3], [1, 0.5, 3, 2], [2, 1.5, 0, 1]], dtype=float)
    return np.stack(
        [np.sin(np.multiply.outer(t, w) + p) @ s for s, p in zip(size, phase, strict=True)], axis=1
    )


@pytest.mark.full
@settings(max_examples=15)
@given(st.floats(-0.02, 0.02))
def test_a_known_delay_is_found_to_a_small_part_of_a_sample(delay: float) -> None:
    found = estimate_delay(T, 1.2 * torque(T - delay) - 3.0, torque(T))
    assert found.seconds == pytest.approx(delay, abs=1e-8)  # the spline's error: 1e-5 samples
    assert found.converged
    assert found.explained == pytest.approx([1, 1, 1], abs=1e-9)


@pytest.mark.full
def test_deviations_are_honest_with_correlated_noise() -> None:
    """Noise of 5 ms correlation: the spread over trials is what the fit says, within a third."""
    rng = np.random.default_rng(0)
    t = T[:3000]
    delay, trials = 0.0013, 40
    estimates, deviations = [], []
    for _ in range(trials):
        e = lfilter([np.sqrt(1 - 0.9**2)], [1.0, -0.9], rng.standard_normal((3000, 3)), axis=0)
        found = estimate_delay(t, torque(t - delay) + e, torque(t), max_delay=0.01)
        estimates.append(found.seconds)
        deviations.append(found.std)
    spread = float(np.std(estimates))
    assert np.mean(estimates) == pytest.approx(delay, abs=4 * spread / np.sqrt(trials))
    assert np.mean(deviations) == pytest.approx(spread, rel=1 / 3)


def test_axes_may_differ() -> None:
    true = np.array([0.001, 0.001, 0.00125])
    measured = np.stack([torque(T - d)[:, i] for i, d in enumerate(true)], axis=1)
    measured += 0.05 * np.random.default_rng(1).standard_normal(measured.shape)
    found = estimate_delay(T, measured, torque(T))
    assert np.abs(found.axis_seconds - true).max() < 4 * found.axis_std.max()
    assert "axes differ from the common delay: " in found.status
    assert "2 (1.25" in found.status
    alone = estimate_delay(T, measured[:, 2], torque(T)[:, 2])
    assert alone.seconds == pytest.approx(found.axis_seconds[2], abs=1e-9)


def test_friction_that_the_model_lacks_does_not_look_like_a_delay() -> None:
    """Inertia alone as the model; measured with friction. Without rates the delay is off."""
    w = 2 * np.pi * 2.0
    qd, qdd = np.cos(w * T) + 0.4 * np.cos(2.6 * w * T), -w * np.sin(w * T)
    qdd = qdd - 2.6 * w * 0.4 * np.sin(2.6 * w * T)
    delay = 0.0008
    at = T - delay
    late = -w * np.sin(w * at) - 2.6 * w * 0.4 * np.sin(2.6 * w * at)
    rate = np.cos(w * at) + 0.4 * np.cos(2.6 * w * at)
    measured = late + 1.5 * rate + 2.0 * np.sign(rate)
    measured += 0.1 * np.random.default_rng(2).standard_normal(len(T))
    plain, aware = estimate_delay(T, measured, qdd), estimate_delay(T, measured, qdd, qd=qd)
    assert abs(plain.seconds - delay) > 0.005
    assert abs(aware.seconds - delay) < 4 * aware.std
    assert aware.std < 1e-4


def test_the_status_says_what_is_wrong() -> None:
    rng = np.random.default_rng(3)
    noise = estimate_delay(T, rng.standard_normal(len(T)), torque(T)[:, 0])
    assert "measured and model hardly agree" in noise.status
    far = estimate_delay(T, torque(T - 0.05), torque(T), max_delay=0.02)
    assert "at the edge of the search" in far.status
    assert "leads the model by 2" in estimate_delay(T, torque(T + 0.002), torque(T)).status


def test_removing_a_delay_makes_no_samples_up() -> None:
    late = torque(T - 0.0123)
    aligned = remove_delay(T, late, 0.0123)
    assert np.abs(aligned.x - torque(aligned.t)).max() < 1e-8 * 30
    assert aligned.rows == slice(0, 6000 - 25)  # 24.6 samples at the end have no successor
    assert np.array_equal(aligned.t, T[aligned.rows])
    early = remove_delay(T, late, -0.0123)
    assert early.rows == slice(25, 6000)
    found = estimate_delay(T, late, torque(T))
    assert remove_delay(T, late[:, 0], found).x.shape == (5975,)
    each = remove_delay(T, late, [0.0123, 0.0, -0.0123])
    assert each.rows == slice(25, 5975)
    assert np.abs(each.x[:, 1] - late[25:5975, 1]).max() < 1e-9


def test_the_variance_of_a_sum_knows_its_correlation() -> None:
    rng = np.random.default_rng(4)
    sums, claims = [], []
    for _ in range(300):
        e = lfilter([1.0], [1.0, -0.8], rng.standard_normal(2000))
        sums.append(float(e.sum()))
        claims.append(variance_of_sum(e))
    assert np.mean(claims) == pytest.approx(np.var(sums), rel=0.25)  # 300 trials: 8 %, bias 5 %
    assert variance_of_sum(np.zeros(10)) == 0.0


def test_autocorrelation_and_its_sum() -> None:
    e = lfilter([1.0], [1.0, -0.8], np.random.default_rng(5).standard_normal(200_000))[:, None]
    rho = autocorrelation(e, 50)
    assert rho[:5, 0] == pytest.approx(0.8 ** np.arange(5), abs=0.01)
    assert correlation_factor(rho) == pytest.approx([9.0], rel=0.05)  # (1 + 0.8) / (1 - 0.8)
    short = np.array([[1.0], [2.0], [-1.0]])
    direct = np.array([6.0, 0.0, -1.0]) / 6.0
    assert autocorrelation(short, 2)[:, 0] == pytest.approx(direct, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": T[:-1]}, "samples of model is 5999; allowed: 6000, as t has"),
        ({"model": torque(T)}, "channels of model is 3; allowed: 1, as measured"),
        (
            {"model": np.ones(6000)},
            "model at channel 0 is 'constant'; allowed: a channel that moves",
        ),
        ({"measured": np.ones(6000)}, "measured at channel 0 is 'constant'"),
        ({"t": T**2 + T}, "needs even sampling"),
        ({"max_delay": 0.0}, "max_delay is 0; allowed: a number above 0, in s"),
        ({"max_delay": 2.0}, "max_delay is 2; allowed: at most 0.7475 s, a quarter of the record"),
        ({"qd": np.ones((6000, 2))}, "channels of qd is 2; allowed: 1, as measured"),
        ({"measured": np.full(6000, np.nan)}, "measured at row 0 is nan; allowed: finite numbers"),
    ],
)
def test_wrong_calls_are_refused(change: dict[str, Any], message: str) -> None:
    call: dict[str, Any] = {"t": T, "measured": torque(T)[:, 0], "model": torque(T)[:, 0]} | change
    with pytest.raises(InputError) as caught:
        estimate_delay(**call)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("delay", "message"),
    [
        (5.0, "delay is 5; allowed: within the record of 2.9995 s"),
        ([0.1, 0.2], "allowed: one number or (3,), in s"),
        (np.nan, "delay is nan"),
        ("late", "delay is 'late'; allowed: an array of real numbers"),
    ],
)
def test_wrong_delays_are_refused(delay: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        remove_delay(T, torque(T), delay)
    assert message in str(caught.value)
