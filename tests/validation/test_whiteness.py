"""White noise passes, coloured noise does not, filtering does not disturb; peaks are found."""

from __future__ import annotations

import numpy as np
import pytest

from deltadyn.arrays import FloatArray
from deltadyn.recording.prepare.band import LowPass
from deltadyn.validation.metrics import whiteness
from deltadyn.validation.spectrum import Spectrum, find_peaks

RATE = 1000.0


def noise(count: int, axes: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(count, axes))


def autoregressive(count: int, axes: int, rho: float, seed: int = 0) -> FloatArray:
    e = noise(count, axes, seed)
    for n in range(1, count):
        e[n] += rho * e[n - 1]
    return e


def test_white_noise_is_ruled_out_as_often_as_the_test_says() -> None:
    found = whiteness([noise(500, 2000)], RATE, None)
    # 2000 axes: 1 % of them with a standard deviation of 0.22 %; the test is slightly too kind
    assert 0.003 < (found.probability < 0.01).mean() < 0.017
    assert 0.07 < (found.probability < 0.1).mean() < 0.12


def test_filtering_does_not_make_noise_coloured() -> None:
    low = LowPass.of(RATE, 50.0)
    reduced = low(noise(20_000, 400))
    found = whiteness([reduced], RATE / low.step, 50.0)
    # 1 % of 400 with a standard deviation of 0.5 %; without the band half would be ruled out
    assert (found.probability < 0.01).mean() < 0.03
    assert (whiteness([reduced], RATE / low.step, None).probability < 0.01).mean() > 0.3


def test_coloured_noise_is_ruled_out() -> None:
    rho = 0.9
    found = whiteness([autoregressive(4000, 200, rho)], RATE, None)
    assert not found.white.any()
    # (1 + rho) / (1 - rho) samples of 1 ms; an estimate from 210 independent values of 200 axes
    assert found.correlation_time.mean() == pytest.approx(0.019, rel=0.1)
    assert found.effective.mean() == pytest.approx(4000 / 19, rel=0.15)


def test_stretches_are_taken_together() -> None:
    parts = [noise(300, 300, seed=k) for k in range(4)]
    assert (whiteness(parts, RATE, None).probability < 0.01).mean() < 0.03
    parts[2] = autoregressive(300, 300, 0.95)
    assert (whiteness(parts, RATE, None).probability < 0.01).mean() > 0.9


def test_nothing_is_white() -> None:
    found = whiteness([np.zeros((100, 3))], RATE, None)
    assert found.white.all()
    assert np.isfinite(found.autocorrelation).all()


def spectrum(e: FloatArray, motion: float) -> Spectrum:
    from scipy.signal import welch

    size = 500
    frequency, density = welch(e, RATE, nperseg=size, axis=0)
    return Spectrum(frequency, density, motion, 2 * len(e) / size - 1)


def test_a_narrow_peak_is_found_with_its_frequency_and_size() -> None:
    t = np.arange(4000) / RATE
    e = 0.3 * noise(4000, 3)
    e[:, 1] += 0.5 * np.sin(2 * np.pi * 73.0 * t)
    (peak,) = find_peaks(spectrum(e, 10.0))
    assert peak.axis == 1
    assert peak.frequency == pytest.approx(73.0, abs=2.0)  # resolution 2 Hz
    assert peak.rms == pytest.approx(0.5 / np.sqrt(2), rel=0.1)  # noise of the estimate
    assert peak.share == pytest.approx(0.125 / (0.125 + 0.09), rel=0.1)


def test_no_peak_in_noise_nor_in_the_motion() -> None:
    t = np.arange(4000) / RATE
    # 1e-4 per spectrum: 40 of them hold a peak with a probability of 0.4 %
    assert find_peaks(spectrum(noise(4000, 40), 10.0)) == ()
    e = 0.3 * noise(4000, 1) + np.sin(2 * np.pi * 12.0 * t)[:, None]
    assert find_peaks(spectrum(e, 10.0)) == ()  # below four times the motion's band
    assert len(find_peaks(spectrum(e, 2.0))) == 1


def test_a_wide_hump_is_no_peak() -> None:
    from scipy.signal import butter, sosfilt

    wide = sosfilt(butter(2, [40.0, 160.0], "bandpass", fs=RATE, output="sos"), noise(8000, 4).T).T
    assert find_peaks(spectrum(0.05 * noise(8000, 4, 1) + wide, 10.0)) == ()
