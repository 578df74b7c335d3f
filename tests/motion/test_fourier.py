"""Fourier series of the platform: derivatives, periods, and ramps from rest to rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.motion.fourier import (
    FourierSeries,
    fourier_basis,
    fourier_motion,
    ramped,
    smooth_step,
)

D3 = dd.load_robot("sipro-d3-1200")
ABB = dd.load_robot("abb-irb360-6-1600")
STEP = 1e-5  # s: central differences of a few hertz leave STEP^2 w^2 = 1e-7 of the derivative


def series_of(seed: int, dof: int = 3, harmonics: int = 4, frequency: float = 0.8) -> FourierSeries:
    """A random series in the middle of both robots' workspaces."""
    rng = np.random.default_rng(seed)
    z = -0.78 if dof == 3 else -0.95
    offset = np.array([0.02, -0.03, z, 0.4])[:dof]
    sine, cosine = 0.015 * rng.standard_normal((2, dof, harmonics))
    return FourierSeries(frequency, offset, sine, cosine)


def slopes(values: FloatArray) -> FloatArray:
    """Central differences of rows that are STEP apart."""
    return (values[2:] - values[:-2]) / (2 * STEP)


@given(st.integers(0, 10**6), st.sampled_from([3, 4]), st.integers(1, 7), st.floats(0.1, 3.0))
def test_rates_are_derivatives(seed: int, dof: int, harmonics: int, frequency: float) -> None:
    series = series_of(seed, dof, harmonics, frequency)
    t = 0.37 + STEP * np.arange(5)
    p, pd, pdd = series.at(t)
    size = 1 + np.abs(pdd).max() * harmonics * frequency
    np.testing.assert_allclose(pd[1:-1], slopes(p), atol=1e-6 * size)
    np.testing.assert_allclose(pdd[1:-1], slopes(pd), atol=1e-6 * size)


def test_the_series_is_that_of_the_paper() -> None:
    series = series_of(1)
    t = np.array([0.0, 0.31, 0.9])
    w = 2 * np.pi * series.frequency
    expected = np.tile(series.offset, (3, 1))
    for k in range(series.harmonics):
        expected += np.outer(np.sin((k + 1) * w * t), series.sine[:, k])
        expected += np.outer(np.cos((k + 1) * w * t), series.cosine[:, k])
    np.testing.assert_allclose(series.at(t).p, expected, atol=1e-15)
    basis = fourier_basis(t, series.frequency, series.harmonics)
    assert basis.shape == (3, 3, 2 * series.harmonics + 1)


def test_it_is_periodic() -> None:
    series = series_of(2, dof=4)
    t = np.linspace(0.0, 0.7, 9)
    for now, later in zip(series.at(t), series.at(t + 3 * series.period), strict=True):
        np.testing.assert_allclose(later, now, rtol=1e-12, atol=1e-12)


def test_scaling_and_shifting() -> None:
    series = series_of(3)
    t = np.linspace(0.0, 1.0, 7)
    np.testing.assert_allclose(
        series.scaled(0.5).at(t).p - series.offset, (series.at(t).p - series.offset) / 2, atol=1e-15
    )
    for order in range(3):
        later = series.at(t + 0.123)[order]
        np.testing.assert_allclose(series.shifted(0.123).at(t)[order], later, atol=1e-12)


@pytest.mark.parametrize("robot", [D3, ABB], ids=lambda robot: robot.name)
def test_the_motion_enters_and_leaves_at_rest(robot: dd.Robot) -> None:
    series = series_of(4, robot.dof)
    motion = fourier_motion(robot, series, periods=2, rate=500.0, ramp=0.6)
    assert motion.duration == pytest.approx(2 * series.period + 1.2, abs=1 / 500)
    for end in (0, -1):
        np.testing.assert_allclose(motion.p[end], series.offset, atol=1e-15)
        for rates in (motion.pd, motion.pdd, motion.qd, motion.qdd):
            np.testing.assert_allclose(rates[end], 0.0, atol=1e-12)
    inside = (motion.t > 0.6) & (motion.t < 0.6 + 2 * series.period)
    np.testing.assert_allclose(motion.p[inside], series.at(motion.t[inside] - 0.6).p, atol=1e-15)


def test_ramps_have_consistent_rates_and_no_jumps() -> None:
    series, ramp = series_of(5), 0.7
    total = 2 * series.period + 2 * ramp
    for place in (0.2, ramp, ramp + 0.4, total - ramp, total - 0.3):
        t = place + STEP * np.linspace(-3.0, 3.0, 7)
        p, pd, pdd = ramped(series, t, 2, ramp)
        np.testing.assert_allclose(pd[1:-1], slopes(p), atol=1e-6)
        np.testing.assert_allclose(pdd[1:-1], slopes(pd), atol=1e-4)
    # the acceleration is continuous over the whole motion: steps shrink with the step of time
    t = np.linspace(0.0, total, round(1e4 * total))
    pdd = ramped(series, t, 2, ramp).pdd
    assert np.abs(np.diff(pdd, axis=0)).max() < 2e-3 * np.abs(pdd).max()


def test_smooth_step_is_flat_at_both_ends() -> None:
    u = np.array([-0.5, 0.0, 0.5, 1.0, 1.5])
    s, sd, sdd = smooth_step(u)
    np.testing.assert_allclose(s, [0.0, 0.0, 0.5, 1.0, 1.0], atol=1e-14)
    np.testing.assert_allclose(sd, [0.0, 0.0, 35 / 16, 0.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(sdd, 0.0, atol=1e-14)


def test_samples_lie_on_the_rate_and_end_at_rest() -> None:
    series = series_of(6, frequency=0.77)
    motion = fourier_motion(D3, series, rate=333.0, ramp=0.501)
    np.testing.assert_allclose(motion.t * 333.0, np.arange(len(motion)), atol=1e-9)
    assert motion.t[-1] >= series.period + 2 * 0.501
    np.testing.assert_array_equal(motion.pd[-1], 0.0)


def test_without_a_ramp_the_periods_stand_alone() -> None:
    series = series_of(7)
    motion = fourier_motion(D3, series, ramp=0.0, rate=400.0)
    np.testing.assert_allclose(motion.p, series.at(motion.t).p, atol=1e-15)
    default = fourier_motion(D3, series, rate=400.0)
    assert default.duration == pytest.approx(3 * series.period, abs=1 / 400)


def test_a_series_does_not_change_with_the_callers_arrays() -> None:
    offset = np.array([0.0, 0.0, -0.8])
    series = FourierSeries(1.0, offset, np.ones((3, 1)), np.zeros((3, 1)))
    offset[2] = 0.0
    assert series.offset[2] == -0.8
    with pytest.raises(ValueError, match="read-only"):
        series.sine[0, 0] = 2.0


ONES = np.ones((3, 2))
OFFSET = (0.0, 0.0, -0.8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, OFFSET, ONES, ONES), "frequency is 0; allowed: a number above 0"),
        ((1.0, (0.0,), ONES, ONES), r"shape of offset is .1.; allowed: \(2,\), \(3,\) or \(4,\)"),
        ((1.0, OFFSET, np.ones(3), ONES), r"shape of sine is .3.; allowed: \(3, H\)"),
        ((1.0, OFFSET, ONES, np.ones((3, 1))), r"shape of cosine .* allowed: \(3, 2\)"),
        ((1.0, OFFSET, ONES, np.full((3, 2), np.nan)), r"cosine at \[0, 0\] is nan"),
        ((1.0, "here", ONES, ONES), "offset is 'here'; allowed: an array of real numbers"),
    ],
)
def test_a_wrong_series_is_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        FourierSeries(*arguments)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"series": "sine"}, "series is 'str'; allowed: a FourierSeries"),
        ({"robot": ABB}, "coordinates of the series is 3; allowed: 4"),
        ({"periods": 0}, "periods is 0; allowed: a whole number of at least 1"),
        ({"periods": 1.5}, "periods is 1.5; allowed: a whole number"),
        ({"rate": -1.0}, "rate is -1; allowed: a number above 0"),
        ({"rate": 0.1}, "rate is 0.1; allowed: at least"),
        ({"ramp": -0.1}, "ramp is -0.1; allowed: at least 0 s"),
    ],
)
def test_a_wrong_call_is_refused(changes: dict[str, Any], message: str) -> None:
    call: dict[str, Any] = {"robot": D3, "series": series_of(8), **changes}
    with pytest.raises(InputError, match=message):
        fourier_motion(call.pop("robot"), call.pop("series"), **call)
