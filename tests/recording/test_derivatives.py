"""Rates and accelerations: references, exactness, ends, targets of the benchmark, wrong calls."""

from __future__ import annotations

from math import factorial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from benchmarks.derivatives import BENCHES, measure
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import butter, sosfiltfilt

from deltadyn import backends
from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.recording import Recording
from deltadyn.recording.rates.constant_jerk import (
    likelihood_even,
    likelihood_uneven,
    smooth_even,
    smooth_gaps,
    smooth_uneven,
)
from deltadyn.recording.rates.differentiate import METHODS, Derivatives, differentiate, fit_fourier
from deltadyn.recording.rates.sampling import samples

RATE = 2000.0
FEW = 20  # the condition of the dense reference grows as their seventh power
FIXED: dict[str, dict[str, Any]] = {  # options with which every method is linear in x
    "kalman": {"bandwidth": 40.0},
    "zero-phase": {"bandwidth": 40.0},
    "spline": {"bandwidth": 40.0},
    "fourier": {"period": 0.1, "harmonics": 4},
    "central": {},
}


class Truth(NamedTuple):
    """A motion with its derivatives, each (N, 2)."""

    t: FloatArray
    x: FloatArray
    xd: FloatArray
    xdd: FloatArray


def sines(count: int = 4000, jitter: FloatArray | None = None) -> Truth:
    """Sums of sines below 6 Hz, as an arm moves, at even times plus a jitter (N,)."""
    t = np.arange(count) / RATE + (0.0 if jitter is None else jitter)
    w = 2 * np.pi * np.array([1.3, 3.1, 5.7])
    size = np.array([[0.5, 0.2, 0.05], [0.3, -0.1, 0.08]])
    angle = np.multiply.outer(t, w) + np.array([0.3, 1.1, 2.0])
    s, c = np.sin(angle), np.cos(angle)
    return Truth(t, s @ size.T, c @ (w * size).T, -s @ (w**2 * size).T)


def rms(error: FloatArray) -> float:
    return float(np.sqrt(np.mean(error**2)))


def posterior(t: FloatArray, y: FloatArray, h: float) -> tuple[FloatArray, float]:
    """Dense Gaussian regression: x, xd, xdd (3, N) and -2 ln of the restricted likelihood.

    A cubic with unknown coefficients and four-fold integrated white noise of q = h^8 beside noise
    of variance 1, samples about 1 apart. Independent of every recursion of the library.
    """
    nodes, weights = np.polynomial.legendre.leggauss(6)  # exact up to degree 11
    s = t - t[0]
    upper = np.minimum.outer(s, s)
    u = upper[..., None] * (nodes + 1) / 2
    seen = (s[None, :, None] - u) ** 3 / 6
    K = np.empty((3, len(t), len(t)))
    polynomial = np.zeros((3, len(t), 4))
    for m in range(3):
        kernel = (s[:, None, None] - u) ** (3 - m) / factorial(3 - m) * seen
        K[m] = h**8 * upper / 2 * (kernel @ weights)
        for j in range(m, 4):
            polynomial[m, :, j] = s ** (j - m) / factorial(j - m)
    V = K[0] + np.eye(len(t))
    X = polynomial[0]
    inverse = np.linalg.inv(V)
    information = X.T @ inverse @ X
    b = np.linalg.solve(information, X.T @ inverse @ y)
    rest = inverse @ (y - X @ b)
    R = float(y @ rest) / (len(t) - 4)
    value = (len(t) - 4) * np.log(R) + sum(np.linalg.slogdet(m)[1] for m in (V, information))
    return polynomial @ b + K @ rest, float(value)


@pytest.fixture(scope="module")
def noisy() -> tuple[FloatArray, FloatArray]:
    """Some samples of anything, unevenly spaced by up to a third of a step."""
    rng = np.random.default_rng(3)
    t = np.arange(FEW) + rng.uniform(-0.33, 0.33, FEW)
    return t, np.cumsum(np.cumsum(rng.standard_normal(FEW))) / 10 + rng.standard_normal(FEW)


@pytest.mark.parametrize("h", [0.25, 0.5, 0.9])
def test_the_smoother_is_the_posterior_mean_at_every_sample(
    h: float, noisy: tuple[FloatArray, FloatArray]
) -> None:
    """Also at the ends. Tolerance: the dense reference loses up to 1e-8 to its condition."""
    t, y = noisy
    even = np.arange(float(FEW))
    dense, _ = posterior(even, y, h)
    ours = smooth_even(y[:, None], np.array([h]))[:, :, 0]
    assert np.abs(ours - dense).max() < 1e-7 * np.abs(dense).max()
    mean = float(np.mean(np.diff(t)))
    dense, _ = posterior(t / mean, y, h)
    uneven = smooth_uneven(t / mean, y[:, None], np.array([h / (2 * np.pi)]), 1.0)[:, :, 0]
    assert np.abs(uneven - dense).max() < 1e-7 * np.abs(dense).max()


def test_the_likelihood_is_the_restricted_one(noisy: tuple[FloatArray, FloatArray]) -> None:
    t, y = noisy
    mean = float(np.mean(np.diff(t)))
    for h in (0.3, 0.7, 1.2):
        even = likelihood_even(y[:, None], h)[0][0]
        assert even == pytest.approx(posterior(np.arange(float(FEW)), y, h)[1], abs=1e-5)
        uneven = likelihood_uneven(t / mean, y[:, None], np.array([h / (2 * np.pi)]), 1.0)[0][0, 0]
        assert uneven == pytest.approx(posterior(t / mean, y, h)[1], abs=1e-5)


def test_even_samples_give_the_same_step_by_step() -> None:
    m = sines(800)
    rng = np.random.default_rng(0)
    y = m.x + 1e-4 * rng.standard_normal(m.x.shape)
    hz = np.array([15.0, 40.0])
    steps = 2 * np.pi * hz / RATE
    one = smooth_even(y, steps) * (RATE ** np.arange(3))[:, None, None]
    other = smooth_uneven(m.t, y, hz, 1 / RATE)
    for a, b in zip(one, other, strict=True):
        assert np.abs(a - b).max() < 1e-9 * np.abs(a).max()  # 800 steps of rounding


@pytest.mark.parametrize("count", [5, 40, 3000])
def test_the_compiled_smoother_gives_the_bits_of_numpy(count: int) -> None:
    rng = np.random.default_rng(count)
    y = rng.standard_normal((count, 3)).cumsum(axis=0) + 5.0
    steps = np.array([0.05, 1.1, 0.05])
    compiled = smooth_even(y, steps, 1 / RATE)
    with backends.switched_off():
        assert np.array_equal(smooth_even(y, steps, 1 / RATE), compiled)


def test_the_smoother_is_a_butterworth_filter_at_the_bandwidth_of_q_and_r() -> None:
    """fc = (q / (R dt))^(1/8) / (2 pi), away from the ends.

    The bilinear map of the digital filter bends its band by (w dt)^2 / 12 = 3e-3 at 100 Hz.
    """
    dt, R, q = 1 / RATE, 1e-10, 5.0e5
    fc = (q / (R * dt)) ** (1 / 8) / (2 * np.pi)
    assert 20 < fc < 100
    y = np.random.default_rng(1).standard_normal(8000)
    ours = differentiate(np.arange(8000) * dt, y, bandwidth=fc).x
    theirs = sosfiltfilt(butter(4, fc, fs=RATE, output="sos"), y)
    inside = slice(1000, -1000)
    assert rms((ours - theirs)[inside]) < 0.005 * rms(theirs[inside])


@pytest.mark.parametrize("share", [0.3, 0.8, 1.0, 1.5])
def test_the_gain_of_a_sine_is_that_of_the_formula(share: float) -> None:
    fc = 40.0
    t = np.arange(8000) / RATE
    w = 2 * np.pi * share * fc
    found = differentiate(t, np.sin(w * t), bandwidth=fc)
    gain = 1 / (1 + share**8)
    inside = slice(2000, -2000)
    parts = (found.x, found.xd / w, -found.xdd / w**2)
    for part, truth in zip(parts, (np.sin(w * t), np.cos(w * t), np.sin(w * t)), strict=True):
        assert np.abs(part - gain * truth)[inside].max() < 1e-6  # aliases: (w dt / 2 pi)^8


@given(
    st.lists(st.floats(-2, 2), min_size=4, max_size=4),
    st.floats(3.0, 600.0),
    st.integers(5, 300),
    st.booleans(),
)
def test_the_smoother_is_exact_on_cubics(
    c: list[float], bandwidth: float, count: int, even: bool
) -> None:
    t = np.linspace(-0.5, 0.5, count) + 3.0
    if not even:
        t = t + 0.3 / count * np.sin(np.arange(count))
    rate = count - 1
    s = t - 3.0
    x, xd = np.polyval(c, s), np.polyval(np.polyder(c), s)
    xdd = np.polyval(np.polyder(c, 2), s)
    w = 2 * np.pi * min(bandwidth, 0.3 * rate)
    found = differentiate(t, x, bandwidth=w / (2 * np.pi))
    scale = (
        1e-16 * max(np.abs(x).max(), 1e-3) * max(rate, 10.0)
    )  # rounding of x, spread over a step
    # 500: twice the worst of 6000 random cases, the acceleration from five samples
    for estimate, truth, order in ((found.x, x, 0), (found.xd, xd, 1), (found.xdd, xdd, 2)):
        assert np.abs(estimate - truth).max() < 500 * scale * max(w, 2 * np.pi) ** order + 1e-13


@given(st.lists(st.floats(-2, 2), min_size=3, max_size=3), st.integers(3, 60), st.integers(0, 9))
def test_central_differences_are_exact_on_parabolas(c: list[float], count: int, seed: int) -> None:
    t = np.cumsum(np.random.default_rng(seed).uniform(0.5, 1.5, count)) / count
    found = differentiate(t, np.polyval(c, t), "central")
    assert np.abs(found.xd - np.polyval(np.polyder(c), t)).max() < 1e-10
    assert np.abs(found.xdd - np.polyval(np.polyder(c, 2), t)).max() < 1e-8 * count


@pytest.mark.parametrize("method", ["spline", "zero-phase"])
def test_the_other_filters_are_exact_on_lines(method: str) -> None:
    t = np.arange(400) / 400
    found = differentiate(t, 0.3 + 2 * t, method, bandwidth=20.0)
    assert np.abs(found.x - 0.3 - 2 * t).max() < 1e-9
    assert np.abs(found.xd - 2).max() < 1e-6  # solvers of scipy leave 1e-10 in x, times the rate
    assert np.abs(found.xdd).max() < 1e-3


@pytest.mark.full
@pytest.mark.parametrize("method", METHODS)
@given(st.floats(-3, 3), st.floats(-3, 3), st.integers(0, 99))
def test_every_method_is_linear_at_a_given_bandwidth(
    method: str, a: float, b: float, seed: int
) -> None:
    t = np.arange(250) / RATE
    x, y = np.random.default_rng(seed).standard_normal((2, 250))
    parts = [differentiate(t, z, method, **FIXED[method]) for z in (x, y, a * x + b * y)]
    for name in ("x", "xd", "xdd"):
        one, two, both = (getattr(part, name) for part in parts)
        size = (np.abs(one) + np.abs(two)).max() * 10
        assert np.abs(a * one + b * two - both).max() < 1e-9 * size, name


@pytest.mark.full
@pytest.mark.parametrize("method", METHODS)
@given(st.floats(-1e3, 1e3), st.floats(-10, 10))
def test_every_method_forgets_the_origins_of_time_and_position(
    method: str, later: float, offset: float
) -> None:
    m = sines(300)
    here = differentiate(m.t, m.x, method, **FIXED[method])
    there = differentiate(m.t + later, m.x + offset, method, **FIXED[method])
    # Times of 1e3 s are rounded to 1e-13 s, positions of 10 rad to 1e-15: differences show it.
    assert np.abs(there.x - offset - here.x).max() < 1e-8
    assert np.abs(there.xd - here.xd).max() < 1e-5
    assert np.abs(there.xdd - here.xdd).max() < 0.05


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_the_same_backward_in_time(method: str) -> None:
    t = np.arange(400) / RATE
    x = np.random.default_rng(2).standard_normal(400)
    ahead = differentiate(t, x, method, **FIXED[method])
    back = differentiate(t, x[::-1].copy(), method, **FIXED[method])
    for part, sign in (("x", 1), ("xd", -1), ("xdd", 1)):
        one, other = getattr(ahead, part), sign * getattr(back, part)[::-1]
        if method == "fourier":  # its series begins at the first sample, periods do not end there
            continue
        assert np.abs(one - other).max() < 1e-6 * np.abs(one).max(), part


def test_channels_do_not_mix() -> None:
    m = sines(600)
    both = differentiate(m.t, m.x, bandwidth=[30.0, 60.0])
    for channel, hz in enumerate((30.0, 60.0)):
        alone = differentiate(m.t, m.x[:, channel], bandwidth=hz)
        assert alone.xdd.shape == (600,)
        assert np.array_equal(alone.xdd, both.xdd[:, channel])
    assert both.bandwidth.tolist() == [30.0, 60.0]


def test_fast_recursions_hold_at_very_low_bandwidths() -> None:
    """h = 2 pi fc dt down to 1e-3, where banded equations would have lost all digits to h^-8."""
    count = 200_000
    for h in (1e-2, 1e-3):
        w = 0.2 * h
        truth = np.sin(w * np.arange(count))
        found = smooth_even(truth[:, None], np.array([h]))[:, :, 0]
        inside = slice(60_000, -60_000)
        assert np.abs(found[0] - truth)[inside].max() < 1e-5  # 0.2^8 = 2.6e-6 is filtered
        assert np.abs(found[2] / w**2 + truth)[inside].max() < 1e-5


@pytest.mark.full
@pytest.mark.parametrize("name", ["pick-and-place", "long rests", "Fourier", "Fourier, humming"])
def test_the_smoother_meets_its_targets(name: str) -> None:
    """Ten times better than central differences, within 10 % of a filter tuned with the truth."""
    (row,) = measure(name, BENCHES[name](11), (("kalman", "kalman", None),))
    assert row.central > 10 * row.xdd
    assert row.xdd < 1.1 * row.tuned
    assert row.inside < 1.1 * row.inside_tuned


def test_the_ends_are_as_good_as_the_data_allow() -> None:
    """A record cut in the middle of a motion: the zero-phase filter bends it at its ends."""
    m = sines(6000)
    y = m.x + 1e-5 * np.random.default_rng(5).standard_normal(m.x.shape)
    smoother, filtered = differentiate(m.t, y), differentiate(m.t, y, "zero-phase")
    for end in (slice(0, 40), slice(-40, None)):
        ours, theirs = (rms((d.xdd - m.xdd)[end]) for d in (smoother, filtered))
        assert ours < 0.2 * theirs
        assert ours < 0.05 * rms(m.xdd)


def test_the_noise_left_is_known() -> None:
    """On a motion without bias at the chosen bandwidth; 15 %: some hundred independent samples."""
    m = sines(20_000)
    y = m.x + 2e-5 * np.random.default_rng(6).standard_normal(m.x.shape)
    options: dict[str, dict[str, Any]] = {
        "kalman": {"bandwidth": 40.0},
        "zero-phase": {"bandwidth": 40.0},
        "central": {},
        "spline": {"bandwidth": 60.0},
    }
    for method, given_options in options.items():
        found = differentiate(m.t, y, method, **given_options)
        assert found.noise == pytest.approx([2e-5, 2e-5], rel=0.05)
        inside = slice(500, -500)
        quiet = differentiate(m.t, m.x, method, **given_options)
        for order, part in enumerate(("x", "xd", "xdd")):
            error = (getattr(found, part) - getattr(quiet, part))[inside]
            assert found.std[order] == pytest.approx(np.std(error, axis=0), rel=0.15), (
                method,
                part,
            )


@pytest.mark.parametrize(("share", "widest"), [(0.02, 1), (0.25, 1), (0.05, 12)])
def test_missing_rows_change_nothing_but_the_data(share: float, widest: int) -> None:
    """The fast way with conjugate gradients is the step-by-step smoother, to its tolerance."""
    m = sines(1500)
    rng = np.random.default_rng(4)
    y = m.x + 1e-4 * rng.standard_normal(m.x.shape)
    kept = np.ones(1500, dtype=bool)
    for row in rng.integers(20, 1470, round(share * 1500 / widest)):
        kept[row : row + widest] = False
    signal = samples(m.t[kept], y[kept], 2)
    hz = np.array([20.0, 60.0])
    assert signal.places is not None
    assert not signal.even
    assert signal.dt == pytest.approx(1 / RATE)
    fast = smooth_gaps(signal, 2 * np.pi * hz / RATE)
    assert fast is not None
    slow = smooth_uneven(signal.t, signal.x, hz, signal.dt)
    for order in range(3):
        size = np.abs(slow[order]).max()
        assert np.abs(fast[order] - slow[order]).max() < 1e-8 * size


def test_wide_gaps_are_left_to_the_step_by_step_smoother() -> None:
    m = sines(1200)
    kept = np.ones(1200, dtype=bool)
    kept[400:600] = False
    signal = samples(m.t[kept], m.x[kept], 2)
    assert signal.places is None
    assert smooth_gaps(signal, 2 * np.pi * np.array([60.0, 60.0]) / RATE) is None
    found = differentiate(m.t[kept], m.x[kept], bandwidth=60.0)
    assert rms((found.xdd - m.xdd[kept])[:300]) < 0.1 * rms(m.xdd)


def test_missing_and_jittered_samples() -> None:
    m = sines(3000)
    rng = np.random.default_rng(8)
    kept = rng.uniform(size=3000) > 0.2
    y = m.x[kept] + 1e-5 * rng.standard_normal(m.x[kept].shape)
    found = differentiate(m.t[kept], y)
    inside = slice(200, -200)
    assert rms((found.xdd - m.xdd[kept])[inside]) < 0.001 * rms(m.xdd)
    assert rms(found.xdd - m.xdd[kept]) < 0.01 * rms(m.xdd)
    shaken = sines(3000, rng.uniform(-0.3, 0.3, 3000) / RATE)
    late = differentiate(shaken.t, shaken.x + 1e-5 * rng.standard_normal(shaken.x.shape))
    assert rms((late.xdd - shaken.xdd)[inside]) < 0.001 * rms(m.xdd)
    rough = differentiate(m.t[kept], y, "central")
    assert rms(rough.xdd - m.xdd[kept]) > 100 * rms(found.xdd - m.xdd[kept])
    given_bandwidth = differentiate(m.t[kept], y, "spline", bandwidth=30.0)
    assert rms((given_bandwidth.xdd - m.xdd[kept])[inside]) < 0.02 * rms(m.xdd)


def test_rounded_time_stamps_count_as_even() -> None:
    m = sines(500)
    rounded = differentiate(np.round(m.t, 5), m.x, "zero-phase", bandwidth=40.0)
    assert rms(rounded.xdd - differentiate(m.t, m.x, "zero-phase", bandwidth=40.0).xdd) < 1e-2


def test_a_series_is_found_with_its_period_and_harmonics() -> None:
    period = 0.73217  # no whole number of samples
    t = np.arange(9000) / RATE
    w = 2 * np.pi / period
    x = 0.2 + 0.4 * np.sin(w * t) + 0.1 * np.cos(3 * w * t) - 0.02 * np.sin(4 * w * t)
    y = x + 1e-4 * np.random.default_rng(9).standard_normal(9000)
    fit = fit_fourier(t, y)
    assert fit.harmonics == 4
    assert fit.period == pytest.approx(period, rel=1e-6)
    assert fit.noise == pytest.approx([1e-4], rel=0.05)
    assert fit.sines[:, 0] == pytest.approx([0, 0.4, 0, 0, -0.02], abs=1e-5)
    xdd = w**2 * (-0.4 * np.sin(w * t) - 0.9 * np.cos(3 * w * t) + 0.32 * np.sin(4 * w * t))
    found = differentiate(t, y, "fourier")
    assert rms(found.xdd - xdd) < 2 * found.std[2, 0]
    uneven = np.sort(np.random.default_rng(1).uniform(0, 4.0, 700))
    again = fit_fourier(uneven, fit(uneven), period=fit.period, harmonics=4)
    assert np.abs(again(t, 2) - found.xdd[:, None]).max() < 1e-9


def test_a_recording_or_a_motion_stands_for_its_angles() -> None:
    m = sines(200)
    both = differentiate(m.t, m.x, bandwidth=50.0)
    angles = np.column_stack([m.x, m.x[:, 0]])
    recording = Recording(m.t, angles, np.zeros_like(angles))
    for source in (SimpleNamespace(t=m.t, q=m.x), recording):
        found = differentiate(source, bandwidth=50.0)
        assert np.array_equal(found.xdd[:, :2], both.xdd)


def test_inputs_are_left_alone_and_results_do_not_share_them() -> None:
    m = sines(100)
    t, x = m.t.copy(), m.x.copy()
    for method in METHODS:
        found = differentiate(t, x, method, **(FIXED[method] if method != "fourier" else
                                               {"period": 0.02, "harmonics": 2}))  # fmt: skip
        for part in (found.t, found.x, found.xd, found.xdd):
            assert not np.shares_memory(part, x)
            assert not np.shares_memory(part, t)
    assert np.array_equal(x, m.x)


def test_the_status_is_a_sentence() -> None:
    m = sines(400)
    found = differentiate(m.t, m.x + 1e-5 * np.random.default_rng(0).standard_normal(m.x.shape))
    assert isinstance(found, Derivatives)
    assert found.status.startswith("kalman: bandwidth ")
    assert "Hz by acceleration, noise 1" in found.status
    still = differentiate(m.t, np.ones(400))
    assert "without any noise" in still.status
    assert np.abs(still.xdd).max() == 0.0


def test_twenty_thousand_samples_of_four_axes() -> None:
    """A log of the usual length; `benchmarks.derivatives` has its time."""
    rng = np.random.default_rng(0)
    t, w = np.arange(20_000) / RATE, np.array([3.0, 5.0, 7.0, 9.0])
    phase = np.multiply.outer(t, w)
    found = differentiate(t, np.sin(phase) + 1e-5 * rng.standard_normal(phase.shape))
    inside = slice(500, -500)  # the smoother sees both sides
    # twice the errors that the smoother leaves; a central difference leaves 1e-2 rad/s
    for got, truth, bound in (
        (found.x, np.sin(phase), 2e-6),
        (found.xd, w * np.cos(phase), 1e-5 * w),
        (found.xdd, -(w**2) * np.sin(phase), 1e-4 * w**2),
    ):
        error = np.sqrt(np.mean((got - truth)[inside] ** 2, axis=0))
        assert np.all(error < bound)


T = np.arange(100) / 100.0
X = np.sin(T)
BAD: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("unknown method", (T, X, "savgol"), {}, "method is 'savgol'; allowed: one of 'kalman'"),
    ("method of the wrong kind", (T, X, 3), {}, "method is 3; allowed: one of"),
    ("no x", (T,), {}, "x is None; allowed: an array beside t, or a Recording"),
    ("one sample", ([0.0], [1.0]), {}, "samples of x is 1; allowed: at least 2"),
    ("three samples", (T[:3], X[:3]), {"bandwidth": 1.0}, "at least 5 for method 'kalman'"),
    ("few samples", (T[:20], X[:20]), {}, "at least 32 to find the bandwidth, or give"),
    ("two samples", (T[:2], X[:2], "central"), {}, "at least 3 for method 'central'"),
    ("short for a filter", (T[:6], X[:6], "zero-phase"), {"bandwidth": 9}, "at least 8 for"),
    ("short for a spline", (T[:4], X[:4], "spline"), {"bandwidth": 9}, "at least 5 for"),
    ("lengths", (T, X[:-1]), {}, "samples of x is 99; allowed: 100, as t has"),
    ("time as a matrix", (T[:, None], X), {}, "shape of t is [100, 1]; allowed: (N,)"),
    ("x with three axes", (T, X[:, None, None]), {}, "shape of x is [100, 1, 1]; allowed: (N,) or"),
    ("no channel", (T, np.zeros((100, 0))), {}, "shape of x is [100, 0]"),
    ("NaN", (T, np.where(T == 0.5, np.nan, X)), {}, "x at row 50 is nan; allowed: finite"),
    ("infinite time", (np.where(T == 0.5, np.inf, T), X), {}, "t at row 50 is inf"),
    ("time goes back", (T[::-1], X), {}, "t at row 1 is 0.98; allowed: above its predecessor"),
    ("text", (T, "abc"), {}, "x is 'abc'; allowed: an array of real numbers"),
    ("complex", (T, X + 1j), {}, "x is 'ndarray'; allowed: an array of real numbers"),
    ("negative bandwidth", (T, X), {"bandwidth": -1.0}, "bandwidth is -1; allowed: above 0 and at"),
    ("bandwidth beyond", (T, X), {"bandwidth": 50.0}, "at most 35.01 Hz"),
    ("bandwidth NaN", (T, X, "zero-phase"), {"bandwidth": np.nan}, "bandwidth is nan"),
    ("bandwidths", (T, X), {"bandwidth": [1.0, 2.0]}, "shape of bandwidth is [2]; allowed: one"),
    ("both", (T, X), {"bandwidth": 9.0, "criterion": "likelihood"}, "left out where the bandwidth"),
    ("criterion", (T, X), {"criterion": "best"}, "criterion is 'best'; allowed: one of 'acc"),
    ("option of another", (T, X), {"period": 1.0}, "'kalman' takes bandwidth and criterion"),
    ("central has none", (T, X, "central"), {"bandwidth": 9.0}, "'central' takes no option"),
    ("uneven filter", (T**2, X, "zero-phase"), {"bandwidth": 9.0}, "needs even sampling"),
    ("uneven spline", (T**2, X, "spline"), {}, "bandwidth is None; allowed: a number in Hz for"),
    ("no period", (T, X, "fourier"), {}, "period is None; allowed: a number in s, since none was"),
    ("period too long", (T, X, "fourier"), {"period": 9.0}, "at most the record's 0.99 s"),
    ("period zero", (T, X, "fourier"), {"period": 0.0}, "period is 0; allowed: a number above 0"),
    ("harmonics", (T, X, "fourier"), {"period": 0.5, "harmonics": 0}, "a whole number from 1"),
    ("half", (T, X, "fourier"), {"period": 0.5, "harmonics": 1.5}, "a whole number from 1 to 24"),
]  # fmt: skip


@pytest.mark.parametrize(("args", "options", "message"), [case[1:] for case in BAD],
                         ids=[case[0] for case in BAD])  # fmt: skip
def test_wrong_calls_are_refused(
    args: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        differentiate(*args, **options)
    assert message in str(caught.value)


def test_an_unknown_method_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError) as caught:
        differentiate(T, X, "savgol")
    assert caught.value.names == METHODS
