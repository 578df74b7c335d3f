"""The constant-jerk smoother with its bandwidth, from the data alone by one of two criteria.

"acceleration" minimises the expected squared error of the acceleration. Let X be the spectrum of
the true second differences, P the periodogram of the measured ones, S the spectrum of the noise on
x, u = 2 - 2 cos(w dt) the gain of second differences and H that of the smoother, at a frequency w.
The smoother errs by (1 - H) of the motion and passes H of the noise,

    error = (1 - H)^2 X + H^2 S u^2

X is not known, but P is X + S u^2 in the mean. Put in, and but for a constant,

    sum over w of (1 - H)^2 P + 2 H S u^2                                     (an unbiased risk)

"likelihood" maximises the likelihood of the innovations of the constant-jerk model. The motion of a
robot is no random walk of jerk: smooth motions are given too much bandwidth, and vibration beside
noise too little. The first criterion asks for what is wanted and holds for any motion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray, contract
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.recording.rates.constant_jerk import (
    HIGHEST,
    LARGEST_STEP,
    Response,
    likelihood_even,
    likelihood_uneven,
    noise_gains,
    smooth_even,
    smooth_gaps,
    smooth_uneven,
)
from deltadyn.recording.rates.sampling import (
    Estimate,
    RateOptions,
    Samples,
    Times,
    listed,
    noise_level,
    per_channel,
    samples,
)

# The spectrum of the measurement noise below a motion, white or not.
#
# Drives filter and interpolate positions, so noise is rarely white. Above the band of the motion
# the logarithm of the spectrum is fitted by a low pass and a few cosines, and carried on to lower
# frequencies:
#
#     ln S(w) = -ln(1 + r^2 - 2 r cos(w dt)) + c_0 + c_1 cos(w dt) + ... + c_n cos(n w dt)
#
# r and n <= 4 are those of Bayes' information criterion; r = n = 0 is white noise. Bins that stand
# out, as those of a vibration do, are given little or no weight. Where there is no noise, what lies
# above the motion is its own decay, and carried on it would swallow the motion: a spectrum that
# falls more steeply than filtered noise does is taken for white noise of its lowest level.
#
# Noise is part of what was measured: a floor that comes far above the measured spectrum where it is
# carried on is that of something else, such as a gear that swings, and is not taken.


ORDER = 4
PASSES = np.array([0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, -0.2, -0.4, -0.6])  # r
PER_BIN = 32  # ordinates: the logarithm of their mean is near to normal
BINS = 64
OUTLIER = 4.685  # standard deviations at which Tukey's weight is zero
STEPS = 8
LEAST = 1e-3  # scatter of a logarithm: no spectrum is known better
FAR_ABOVE = 2.0  # times a measured level, whose scatter is a fifth
REFUTED = 1e6  # cost of a floor above that: the others come first
STEEPEST = 5.0  # power of 1/w: two filters of first order leave 4, a smooth motion 6 and more


def noise_floor(angle: FloatArray, S: FloatArray, start: float) -> FloatArray:
    """The floor (F,) at `angle` = w dt (F,) of a spectrum S (F,), fitted where angle >= start."""
    used = angle >= start
    centres, levels = _bins(angle[used], S[used])
    if np.any(levels == 0):
        return np.zeros_like(angle)
    if len(levels) > 2 and np.polyfit(np.log(centres), np.log(levels), 1)[0] < -STEEPEST:
        return np.full_like(angle, float(levels.min()))
    logs = np.log(levels) - _passed(centres, PASSES)  # (r, m)
    orders = range(min(ORDER, len(levels) // 8) + 1)
    fits = [_robust(_cosines(centres, order), logs) for order in orders]  # (r, order + 1) each
    rests = np.stack(
        [logs - fit @ _cosines(centres, order).T for order, fit in zip(orders, fits, strict=True)]
    )  # (order, r, m)
    scatter = max(float(np.median(_scatter(rests[-1]))), np.sqrt(len(levels) / used.sum()))
    ratio = rests / (OUTLIER * scatter)
    bounded = OUTLIER**2 / 3 * (1 - np.clip(1 - ratio**2, 0.0, 1.0) ** 3)
    numbers = 1 + np.arange(len(fits))[:, None] + (PASSES != 0)
    cost = bounded.sum(axis=2) + numbers * np.log(len(levels))
    cost += REFUTED * _above(angle[~used], S[~used], fits)
    order, r = np.unravel_index(int(np.argmin(cost)), cost.shape)
    best = _cosines(angle, int(order)) @ fits[order][r] + _passed(angle, PASSES[r : r + 1])[0]
    floor: FloatArray = np.exp(best)
    return floor


def _above(angle: FloatArray, S: FloatArray, fits: Sequence[FloatArray]) -> FloatArray:
    """By how much (order, r) floors are above a measured spectrum, in the logarithm, at most."""
    if not len(angle):
        return np.zeros((len(fits), len(PASSES)))
    centres, levels = _bins(angle, S)
    room = np.log(FAR_ABOVE * np.maximum(levels, 1e-300)) - _passed(centres, PASSES)  # (r, m)
    over = [fit @ _cosines(centres, order).T - room for order, fit in enumerate(fits)]
    most: FloatArray = np.maximum(np.stack(over).max(axis=2), 0.0)
    return most


def _bins(angle: FloatArray, S: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean angle and mean level of bins of equal counts."""
    count = int(np.clip(len(S) // PER_BIN, 1, BINS))
    starts = np.arange(count) * len(S) // count
    sizes = np.diff(np.append(starts, len(S)))
    return np.add.reduceat(angle, starts) / sizes, np.add.reduceat(S, starts) / sizes


def _cosines(angle: FloatArray, order: int) -> FloatArray:
    columns: FloatArray = np.cos(np.multiply.outer(angle, np.arange(order + 1)))
    return columns


def _passed(angle: FloatArray, r: FloatArray) -> FloatArray:
    """Logarithm (r, m) of what a first-order low pass, or high pass for r < 0, leaves."""
    left: FloatArray = -np.log((1 + r**2)[:, None] - 2 * np.multiply.outer(r, np.cos(angle)))
    return left


def _robust(A: FloatArray, Y: FloatArray) -> FloatArray:
    """Least squares A fit = y for every row y of Y (r, m) with Tukey's weights, from medians on."""
    fit: FloatArray = np.zeros((len(Y), A.shape[1]))
    fit[:, 0] = np.median(Y, axis=1)
    for _ in range(STEPS):
        rest = Y - fit @ A.T
        weights = np.clip(1 - (rest / (OUTLIER * _scatter(rest)[:, None])) ** 2, 0.0, None) ** 2
        normal = contract("rm,mi,mj->rij", weights, A, A)
        right = contract("rm,mi,rm->ri", weights, A, Y)
        inverse: FloatArray = np.linalg.inv(normal).astype(np.float64, copy=False)
        fit = contract("rij,rj->ri", inverse, right)
    return fit


def _scatter(rest: FloatArray) -> FloatArray:
    """Standard deviation along the last axis, from the median of absolute values."""
    return np.maximum(1.4826 * np.median(np.abs(rest), axis=-1), LEAST)


CRITERIA = ("acceleration", "likelihood")
FEWEST = 32  # samples: fewer say nothing about a spectrum
TAPER = 0.2  # share of the record under the cosine flanks of the window
SPACING = 1.25  # between neighbours of the first search
LOWEST = 1e-4  # of the sampling rate: the narrowest smoother that is tried
ABOVE = 1.5  # bandwidths of the likelihood: noise alone beyond
DITHER = 0.45  # of a quantum: noise below it does not whiten the rounding

Cost = Callable[[FloatArray], FloatArray]  # steps h (G,) -> (G, k)


@dataclass(frozen=True, eq=False)
class Bandwidth:
    """What the data say: bandwidth `hz` (k,), the one for the ends `end_hz` (k,), the noise (k,).

    At an end of the record there is data on one side only, and a smoother as narrow as inside would
    bend the motion; `end_hz` is the larger of `hz` and the bandwidth of the likelihood. `noise` is
    a standard deviation in the unit of x, `passing` that of white noise as strong within `hz`.
    """

    hz: FloatArray
    end_hz: FloatArray
    noise: FloatArray
    passing: FloatArray
    criterion: str
    status: str


def choose_bandwidth(
    t: Times, x: npt.ArrayLike | None = None, *, criterion: str = "acceleration"
) -> Bandwidth:
    """The bandwidth of x (N,) or (N, k) over t, or of a recording's q, per channel."""
    return bandwidth_of(samples(t, x, FEWEST), criterion)


def chosen_bandwidth(signal: Samples, options: RateOptions) -> Bandwidth:
    """The bandwidth that the options give, with the noise of the samples, or that of the data."""
    if options.bandwidth is None:
        return bandwidth_of(signal, options.criterion)
    if options.criterion is not None:
        raise InputError("criterion", options.criterion, "left out where the bandwidth is given")
    highest = HIGHEST * signal.rate
    hz = per_channel(options.bandwidth, signal.channels, "bandwidth", 0.0, highest)
    if signal.places is not None:
        noise = noise_level(signal.filled().x)
    else:
        R = likelihood_uneven(signal.t, signal.x, hz, signal.dt)[1]
        noise = np.sqrt(np.diagonal(R))
    status = f"bandwidth {listed(hz, 'Hz')} as given, noise {listed(noise, '')}"
    return Bandwidth(hz, hz, noise, noise, "given", status)


def bandwidth_of(signal: Samples, criterion: str | None) -> Bandwidth:
    """The same for checked samples; the criterion left out is "acceleration"."""
    criterion = criterion or "acceleration"
    if criterion not in CRITERIA:
        raise UnknownNameError("criterion", criterion, CRITERIA)
    if len(signal) < FEWEST:
        allowed = f"at least {FEWEST} to find the bandwidth, or give the bandwidth"
        raise InputError("samples of x", len(signal), allowed)
    measured, signal = signal.x, signal.filled()
    missing = len(signal) - len(measured)
    notes = [f"{missing} missing samples filled by a spline to find it"] if missing else []
    likely, noise = _most_likely(signal)
    steps, passing = likely, noise
    if criterion == "acceleration":
        spectrum = Spectrum.of(signal.x if signal.even else _moved_to_grid(signal, likely))
        floor = spectrum.floor(likely)
        noise = np.sqrt(np.mean(floor, axis=0))
        steps = _minimise(lambda h: spectrum.risk(h, floor), _grid(signal), signal.channels)
        rough = undithered(measured, noise)
        notes += _numbered(rough, "rounded without noise, so at most as likely")
        steps = np.where(rough, np.minimum(steps, likely), steps)
        passing = spectrum.passing(steps, floor)
    still = noise == 0
    steps = np.where(still, LARGEST_STEP, steps)
    notes += _numbered(still, "without any noise, so nothing is smoothed")
    notes += _numbered(~still & (steps >= LARGEST_STEP), "at the highest that sampling allows")
    hz = steps / (2 * np.pi * signal.dt)
    end_hz = np.maximum(steps, likely) / (2 * np.pi * signal.dt)
    status = f"bandwidth {listed(hz, 'Hz')} by {criterion}, noise {listed(noise, '')}"
    return Bandwidth(hz, end_hz, noise, passing, criterion, "; ".join([status, *notes]))


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Periodogram P (F, k) of the tapered second differences at angle = w dt (F,), in x^2.

    u (F,) = 2 - 2 cos(angle) is the gain of second differences. Frequency 0 is left out.
    """

    angle: FloatArray
    u: FloatArray
    P: FloatArray

    @classmethod
    def of(cls, x: FloatArray) -> Spectrum:
        """The spectrum of even samples x (N, k)."""
        from scipy.signal.windows import tukey  # takes longer than the rest of the import

        second = np.diff(x, 2, axis=0)
        window = tukey(len(second), TAPER)
        window /= np.sqrt(np.sum(window**2))
        P = np.abs(np.fft.rfft(second * window[:, None], axis=0)) ** 2
        angle = 2 * np.pi * np.arange(1, len(P)) / len(second)
        return cls(angle, 2 - 2 * np.cos(angle), P[1:])

    def floor(self, steps: FloatArray) -> FloatArray:
        """Spectrum (F, k) of the noise on x, from above the bandwidths of these steps (k,)."""
        columns = [
            noise_floor(self.angle, S, min(ABOVE * float(h), np.pi / 2))
            for S, h in zip((self.P / self.u[:, None] ** 2).T, steps, strict=True)
        ]
        return np.column_stack(columns)

    def passing(self, steps: FloatArray, floor: FloatArray) -> FloatArray:
        """Standard deviation (k,) of white noise that would leave as much in the acceleration."""
        response = Response.at(self.angle)
        weights = np.column_stack([response.gain(float(h), 2) ** 2 for h in steps])
        level: FloatArray = np.sum(weights * floor, axis=0) / np.sum(weights, axis=0)
        return np.sqrt(level)

    def risk(self, steps: FloatArray, floor: FloatArray) -> FloatArray:
        """Expected squared error (G, k) of the acceleration, but for a constant, in x^2."""
        response = Response.at(self.angle)
        out = np.empty((len(steps), self.P.shape[1]))
        for row, h in enumerate(steps):
            H = response.gain(float(h), 2) / self.u
            out[row] = (H * (H - 2)) @ self.P + 2 * (H * self.u**2) @ floor
        return out


def undithered(x: FloatArray, noise: FloatArray) -> BoolArray:
    """Which channels (k,) are rounded to steps that their noise does not hide.

    The error of such rounding is slow where the motion is slow: no white noise.
    """
    rough = np.zeros(x.shape[1], dtype=np.bool_)
    for channel, column in enumerate(x.T):
        jumps = np.abs(np.diff(column))
        if not np.any(jumps > 0):
            continue
        quantum = float(jumps[jumps > 0].min())
        ratios = jumps / quantum
        whole = np.round(ratios)
        on_grid = bool(np.all(np.abs(ratios - whole) < 0.01)) and len(np.unique(whole)) > 1
        rough[channel] = on_grid and noise[channel] < DITHER * quantum
    return rough


# Both criteria are functions of the step h = 2 pi fc dt alone. The likelihood comes first: it needs
# no noise spectrum, and above 1.5 of its bandwidth there is noise alone, from which the floor S of
# the second criterion is fitted.


def _most_likely(signal: Samples) -> tuple[FloatArray, FloatArray]:
    """Step h (k,) of the largest likelihood and the noise (k,) there."""

    def evaluate(steps: FloatArray) -> tuple[FloatArray, FloatArray]:
        if not signal.even:
            hz = steps / (2 * np.pi * signal.dt)
            return likelihood_uneven(signal.t, signal.x, hz, signal.dt)
        pairs = [likelihood_even(signal.x, float(h)) for h in steps]
        return np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])

    best = _minimise(lambda steps: evaluate(steps)[0], _grid(signal), signal.channels)
    R = evaluate(best)[1]
    return best, np.sqrt(np.diagonal(R))


def _moved_to_grid(signal: Samples, steps: FloatArray) -> FloatArray:
    """Even samples (M, k) with the spectrum of uneven ones, for the choice of a bandwidth only.

    On the curve of the smoother of these steps (k,), with what the nearest sample leaves beside it.
    """
    from scipy.interpolate import make_interp_spline  # takes longer than the rest of the import

    hz = steps / (2 * np.pi * signal.dt)
    curve = make_interp_spline(signal.t, smooth_uneven(signal.t, signal.x, hz, signal.dt)[0], k=3)
    grid = np.linspace(signal.t[0], signal.t[-1], len(signal))
    after = np.clip(np.searchsorted(signal.t, grid), 1, len(signal) - 1)
    nearest = after - (grid - signal.t[after - 1] < signal.t[after] - grid)
    moved: FloatArray = curve(grid) + (signal.x - curve(signal.t))[nearest]
    return moved


def _grid(signal: Samples) -> FloatArray:
    """Steps h from two periods in the record to the highest that sampling allows."""
    lowest = 2 * np.pi * min(max(2 / len(signal), LOWEST), HIGHEST / 4)
    count = int(np.ceil(np.log(LARGEST_STEP / lowest) / np.log(SPACING))) + 1
    return np.geomspace(lowest, LARGEST_STEP, count)


def _minimise(cost: Cost, grid: FloatArray, channels: int) -> FloatArray:
    """The step (k,) of the least cost: a grid, a finer one per channel, then a parabola.

    Grids, since the uneven likelihood tries many steps at the price of one and costs may have
    several minima.
    """
    places = np.argmin(cost(grid), axis=0)
    low, high = grid[np.maximum(places - 1, 0)], grid[np.minimum(places + 1, len(grid) - 1)]
    fine = np.geomspace(low, high, 9)  # (9, k)
    values = cost(fine.ravel()).reshape(9, channels, channels)
    best = np.empty(channels)
    for channel in range(channels):
        own = values[:, channel, channel]
        i = int(np.argmin(own))
        best[channel] = fine[i, channel]
        if 0 < i < 8 and np.all(np.isfinite(own[i - 1 : i + 2])):
            left, middle, right = own[i - 1 : i + 2]
            bend = left - 2 * middle + right
            ratio = fine[1, channel] / fine[0, channel]
            shift = 0.5 * (left - right) / bend if bend > 0 else 0.0
            best[channel] *= ratio**shift
    return best


def _numbered(which: BoolArray, text: str) -> list[str]:
    """One note that names the channels it is about, or none."""
    names = ", ".join(str(int(i)) for i in np.flatnonzero(which))
    return [f"channel {names}: {text}"] if names else []


# The method "kalman": the constant-jerk smoother with its bandwidth given or from the data.


END_ALONE, END_BLENDED = 0.5, 1.0  # periods of fc from an end of the record


def kalman(signal: Samples, options: RateOptions) -> Estimate:
    """Smooth by the constant-jerk model; q / R = (2 pi fc)^8 dt [falezza2022].

    With the bandwidth from the data, the ends are smoothed with their own, wider one.
    """
    chosen = chosen_bandwidth(signal, options)
    smoothed = _smooth(signal, chosen.hz)
    if np.any(chosen.end_hz > chosen.hz):
        share = _end_share(signal, chosen.hz)
        smoothed = smoothed + share * (_smooth(signal, chosen.end_hz) - smoothed)
    steps = 2 * np.pi * chosen.hz * signal.dt
    gains = np.array([noise_gains(float(h), signal.dt) for h in steps]).T
    x, xd, xdd = smoothed
    return Estimate(x, xd, xdd, chosen.hz, chosen.noise, gains * chosen.passing, chosen.status)


def _smooth(signal: Samples, hz: FloatArray) -> FloatArray:
    """x, xd, xdd as (3, N, k)."""
    steps = 2 * np.pi * hz * signal.dt
    if signal.even:
        return smooth_even(signal.x, steps, signal.dt)
    fast = smooth_gaps(signal, steps)
    return smooth_uneven(signal.t, signal.x, hz, signal.dt) if fast is None else fast


def _end_share(signal: Samples, hz: FloatArray) -> FloatArray:
    """Weight (N, k) of the ends' own smoother: 1 at the ends, 0 a period of fc away from them."""
    from_end = np.minimum(signal.t - signal.t[0], signal.t[-1] - signal.t)
    periods = np.multiply.outer(from_end, hz)
    share: FloatArray = np.clip((END_BLENDED - periods) / (END_BLENDED - END_ALONE), 0.0, 1.0)
    return share
