"""The filter of both sides: what passes, what stops, and that it is linear."""

import numpy as np
import pytest

from deltadyn.errors import InputError
from deltadyn.recording.prepare.band import REJECTION, EvenGrid, LowPass

RATE = 2000.0


def tone(frequency: float, seconds: float = 2.0) -> np.ndarray:
    t = np.arange(int(seconds * RATE)) / RATE
    return np.sin(2 * np.pi * frequency * t)


def test_a_slow_signal_passes_at_the_middle_of_the_windows() -> None:
    low_pass = LowPass.of(RATE, 30.0)
    t = np.arange(4000) / RATE
    out = low_pass(np.sin(2 * np.pi * 10 * t))
    # 10 Hz is inside the band: the ripple of a 50 dB Kaiser window is 0.3 %
    np.testing.assert_allclose(out, np.sin(2 * np.pi * 10 * low_pass.times(t)), atol=4e-3)
    assert len(out) == low_pass.length(4000) == len(low_pass.times(t))


@pytest.mark.parametrize("frequency", [60.0, 100.0, 333.0, 900.0])
def test_what_would_fold_back_is_stopped(frequency: float) -> None:
    low_pass = LowPass.of(RATE, 30.0)
    assert np.abs(low_pass(tone(frequency))).max() < 2 * 10 ** (-REJECTION / 20)


def test_it_is_linear_in_the_columns() -> None:
    rng = np.random.default_rng(0)
    Y, x = rng.standard_normal((1500, 3, 5)), rng.standard_normal(5)
    low_pass = LowPass.of(RATE, 50.0)
    # both sides of tau = Y x: rounding alone remains
    np.testing.assert_allclose(low_pass(Y) @ x, low_pass(Y @ x), atol=1e-13)


def test_parts_that_share_the_filters_length_give_the_whole() -> None:
    low_pass = LowPass.of(RATE, 40.0)
    x = np.random.default_rng(1).standard_normal((6000, 2))
    cut = 2 * low_pass.margin + 40 * low_pass.step + 1
    whole = low_pass(x)
    first, second = low_pass(x[:cut]), low_pass(x[cut - 1 - 2 * low_pass.margin + low_pass.step :])
    joined = np.concatenate([first, second])
    np.testing.assert_allclose(joined, whole[: len(joined)], atol=1e-14)
    assert len(joined) == len(whole)


def test_too_short_a_signal_leaves_nothing() -> None:
    low_pass = LowPass.of(RATE, 5.0)
    assert low_pass(np.zeros((100, 3))).shape == (0, 3)


@pytest.mark.parametrize("band", [0.0, -3.0, 801.0])
def test_an_impossible_band_is_refused(band: float) -> None:
    with pytest.raises(InputError, match=r"band is .*; allowed: above 0 and at most 800 Hz"):
        LowPass.of(RATE, band)


def test_missing_rows_are_interpolated_alike_on_both_sides() -> None:
    rng = np.random.default_rng(2)
    t = np.delete(np.arange(1000) / RATE, [10, 11, 500])
    Y, x = rng.standard_normal((len(t), 3, 4)), rng.standard_normal(4)
    grid = EvenGrid.of(t, 1 / RATE)
    assert len(grid.t) == 1000
    np.testing.assert_allclose(grid(Y) @ x, grid(Y @ x), atol=1e-13)
    line = 3.0 + 2.0 * t
    np.testing.assert_allclose(grid(line), 3.0 + 2.0 * np.arange(1000) / RATE, atol=1e-12)
