"""The constant-jerk model: jerk driven by white noise, observed by noisy positions.

States are (x, xd/w, xdd/w^2, xddd/w^3) with w = 2 pi fc, so that every number is of the size of the
position whatever the bandwidth. With h = w dt the covariances below are in units of the noise
variance R:

    x'''' = white noise of intensity q,   y_k = x(t_k) + noise of variance R,   w^8 = q / (R dt)

The smoother of this model [falezza2022] is a zero-phase filter 1 / (1 + (f / fc)^8), a Butterworth
filter of order 4 that runs forward and backward, and also the smoothing spline of degree 7.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import factorial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray, chunks
from deltadyn.backends.loader import smooth
from deltadyn.recording.rates.sampling import Samples

ComplexArray = npt.NDArray[np.complex128]

STATES = 4
LARGEST_STEP = 2.2  # w dt; poles are complex pairs up to 3, and little is smoothed beyond 2
HIGHEST = LARGEST_STEP / (2 * np.pi)  # bandwidth as a share of the sampling rate
# Samples of the B-spline of degree 7, written in u = z + 1/z - 2: 1 + u/3 + u^2/40 + u^3/5040.
EULER_FROBENIUS = (1.0, 1 / 3, 1 / 40, 1 / 5040)


@dataclass(frozen=True, eq=False)
class SteadyFilter:
    """The Kalman filter of even samples after it has settled, for one step h = 2 pi fc dt.

    Poles z = exp(s) in two pairs, of which `s` holds one each; L = Phi - K H = V diag(z) V^-1 leads
    one prediction to the next, K is the gain of the predictor, S the variance of an innovation and
    P the covariance of a prediction.
    """

    h: float
    s: ComplexArray  # (2,), the other two poles are conjugate
    V: ComplexArray  # (4, 2), first row 1
    W: ComplexArray  # (2, 4), the matching rows of V^-1
    K: FloatArray
    S: float
    P: FloatArray

    @property
    def memory(self) -> int:
        """Samples after which the start has faded to below rounding."""
        return int(np.ceil(40.0 / -self.s.real.max()))


def transition(h: FloatArray) -> FloatArray:
    """Phi (..., 4, 4) over steps h (...): h^(j-i) / (j-i)! above the diagonal."""
    Phi = np.zeros((*h.shape, STATES, STATES))
    for i in range(STATES):
        for j in range(i, STATES):
            Phi[..., i, j] = h ** (j - i) / factorial(j - i)
    return Phi


def process_noise(h: FloatArray, mean_step: FloatArray) -> FloatArray:
    """Q (..., 4, 4) over steps h, in units of R, where R belongs to samples `mean_step` apart."""
    Q = np.empty((*h.shape, STATES, STATES))
    for i in range(STATES):
        for j in range(STATES):
            scale = (7 - i - j) * factorial(3 - i) * factorial(3 - j)
            Q[..., i, j] = mean_step * h ** (7 - i - j) / scale
    return Q


def log_poles(h: float) -> ComplexArray:
    """ln z of the two settled poles in the upper half plane.

    They solve u^4 + h^8 (1 + u/3 + u^2/40 + u^3/5040) = 0, u = z + 1/z - 2. With u = h^2 v and
    u = (2 sinh(s/2))^2 nothing cancels however small h is; v^4 = -1 are the Butterworth poles.
    """
    lower = [c * h ** (2 * j) for j, c in enumerate(EULER_FROBENIUS)]
    v = np.roots([1.0, *reversed(lower)]).astype(np.complex128)
    s = 2 * np.arcsinh(h * np.sqrt(v) / 2)
    s = np.where(s.real > 0, -s, s)
    upper: ComplexArray = s[s.imag > 0]
    return upper


@lru_cache(maxsize=256)
def steady_filter(h: float) -> SteadyFilter:
    """The settled filter: poles first, then the gain that places them, then its covariance.

    K solves H (Phi - z_i)^-1 K = 1 for every pole, P the linear equation P = Phi P L^T + Q, and
    S = 1 / prod z_i by the spectral factorisation.
    """
    half = log_poles(h)
    s = np.concatenate([half, half.conj()])
    step = np.array(h)
    Phi, Q = transition(step), process_noise(step, step)
    one = np.eye(STATES)
    resolvents = [np.linalg.inv((Phi - one) - np.expm1(pole) * one) for pole in s]
    K = np.linalg.solve(np.array([R[0] for R in resolvents]), np.ones(STATES)).real
    V = np.array([R @ K for R in resolvents]).T
    L = Phi - np.outer(K, one[0])
    P = np.linalg.solve(np.eye(STATES**2) - np.kron(Phi, L), Q.ravel()).reshape(STATES, STATES)
    return SteadyFilter(
        h, half, V[:, :2], np.linalg.inv(V)[:2], K, float(np.exp(-s.sum().real)), (P + P.T) / 2
    )


def start_responses(settled: SteadyFilter, count: int) -> ComplexArray:
    """z^k (n, 4) for the samples k in which the unknown start of the record is still felt.

    The last two columns are the conjugates of the first two.
    """
    rows = np.arange(min(count, settled.memory))
    half = np.exp(np.multiply.outer(rows, settled.s))
    return np.concatenate([half, half.conj()], axis=1)


@dataclass(frozen=True, eq=False)
class Response:
    """Gains of the smoother over frequencies, `angle` = 2 pi f dt, for any step h.

    x 1 / (1 + (f / fc)^8) with the aliases of sampling;  xd and xdd that times angle^order
    """

    u4: FloatArray
    shapes: tuple[FloatArray, FloatArray, FloatArray]  # of x, of xd over i, of -xdd

    @classmethod
    def at(cls, angle: FloatArray) -> Response:
        """The response at these angles: samples of the B-spline of degree 7, its slope and bend."""
        u = 2 * np.cos(angle) - 2
        B: FloatArray = np.polynomial.polynomial.polyval(u, EULER_FROBENIUS)
        sines = 245 * np.sin(angle) + 56 * np.sin(2 * angle) + np.sin(3 * angle)
        return cls(u**4, (B, sines / 360, -u * (1 + u / 4 + u**2 / 120)))

    def gain(self, h: float, order: int) -> FloatArray:
        """For x, xd dt or xdd dt^2, without the phase of a derivative."""
        value: FloatArray = h**8 * self.shapes[order] / (h**8 * self.shapes[0] + self.u4)
        return value


def noise_gains(h: float, dt: float) -> FloatArray:
    """Standard deviations (3,) that white noise of 1 leaves in x, xd, xdd inside a record."""
    share = min(1.0, 8 * h / np.pi)  # of the band up to Nyquist: nothing passes beyond 8 fc
    angle = share * np.pi * np.arange(0.5, 2048) / 2048
    response = Response.at(angle)
    powers = [share * np.mean(response.gain(h, order) ** 2) for order in range(3)]
    gains: FloatArray = np.sqrt(powers) / dt ** np.arange(3)
    return gains


# The constant-jerk Kalman smoother of even samples, exact to the ends and fast.
#
# The filter starts in its settled covariance with an unknown mean b, which generalised least
# squares finds afterwards. That is the same as knowing nothing about the start, and makes the
# filter time-invariant from the first sample on:
#
#     forward    x_{k+1} = L x_k + K y_k,  e_k = y_k - H x_k            b: min sum (e_k - H L^k b)^2
#     backward   r_{k-1} = L^T r_k + H^T e_k / S,  smoothed x_k + P r_{k-1}      [falezza2022]
#
# With L = V diag(z) V^-1 the states x = V m are modes m that do not act on each other,
#
#     m_{k+1} = z m_k + (V^-1 K) y_k,
#
# one first-order recursion each. The four poles are two conjugate pairs, and so are the modes: two
# complex recursions forward and two backward are all, and x = 2 Re(V m) of one mode of each pair.


PIECE = 16384  # samples whose temporaries stay in the cache


def smooth_even(y: FloatArray, steps: FloatArray, dt: float = 1.0) -> FloatArray:
    """Smoothed x, xd, xdd as (3, N, k) of samples y (N, k), h = 2 pi fc dt per channel.

    Rates are per unit of time in which a step takes `dt`.
    """
    out = np.empty((3, *y.shape))
    powers = np.asarray(dt ** np.arange(3), dtype=np.float64)
    for h in np.unique(steps):
        settled = steady_filter(float(h))
        (same,) = np.nonzero(steps == h)
        start = _start_modes(y[:, same], settled)
        numbers = _packed(settled, powers)
        for channel, own in zip(same, np.moveaxis(start, 2, 0), strict=True):
            pairs = np.ascontiguousarray(own).view(np.float64).reshape(2, -1, 2)
            if not smooth(y[:, channel], numbers, pairs, out[:, :, channel]):
                break
        else:
            continue
        out[:, :, same] = _smooth(y[:, same], settled, start) / powers[:, None, None]
    return out


def likelihood_even(y: FloatArray, h: float) -> tuple[FloatArray, FloatArray]:
    """-2 log likelihood (k,) of the innovations at step h, and the noise variance R (k,) there.

    With the start of the record unknown, R the best one and constants left out:

        (N - 4) ln R + N ln S + ln det(E^T E / S),   R = sum e_k^2 / (S (N - 4))
    """
    settled = steady_filter(h)
    count = len(y)
    e = _innovations(y - y[0], settled)
    E = start_responses(settled, count)
    information = E.T @ E  # of the start, in modes: transposed without conjugation
    b = np.linalg.solve(information, E.T @ e[: len(E)])
    e[: len(E)] -= (E @ b).real
    R = (e * e).sum(axis=0) / (settled.S * (count - STATES))
    # The start as x, xd dt, ...: modes -> scaled states by V, those -> samples by h^i.
    V = np.concatenate([settled.V, settled.V.conj()], axis=1)
    log_det = (
        np.linalg.slogdet(information)[1]
        - 2 * np.linalg.slogdet(V)[1]
        - STATES * (STATES - 1) * np.log(h)
        - STATES * np.log(settled.S)
    )
    with np.errstate(divide="ignore"):
        value = (count - STATES) * np.log(R) + count * np.log(settled.S) + log_det
    return value, R


def _innovations(y: FloatArray, settled: SteadyFilter) -> FloatArray:
    """Innovations of a filter that starts at zero: (1 - 1/z)^4 / prod (1 - z_i / z)."""
    from scipy.signal import sosfilt  # takes longer than the rest of the import

    z = np.exp(settled.s)
    sections = np.array([[1.0, -2.0, 1.0, 1.0, -2 * pole.real, abs(pole) ** 2] for pole in z])
    e: FloatArray = sosfilt(sections, y, axis=0)
    return e


def _start_modes(y: FloatArray, settled: SteadyFilter) -> ComplexArray:
    """What the start that fits best adds to the modes (2, n, k), as long as it is felt."""
    E = start_responses(settled, len(y))
    shifted = y[: len(E)] - y[0]
    e = shifted - _real_sum(_modes(shifted, settled))
    b = np.linalg.solve(E.T @ E, E.T @ e)  # (4, k), modes of the start
    part: ComplexArray = np.einsum("nm,mk->mnk", E[:, :2], b[:2])
    return part


def _modes(shifted: FloatArray, settled: SteadyFilter) -> ComplexArray:
    """The modes (2, N, k) of a filter that starts at zero."""
    from scipy.signal import lfilter  # takes longer than the rest of the import

    modes = np.zeros((2, *shifted.shape), dtype=np.complex128)
    for i, (gain, pole) in enumerate(zip(settled.W @ settled.K, np.exp(settled.s), strict=True)):
        modes[i, 1:] = lfilter([gain], [1.0, -pole], shifted[:-1], axis=0)
    return modes


def _smooth(y: FloatArray, settled: SteadyFilter, start: ComplexArray) -> FloatArray:
    """Smoothed x, xd dt, xdd dt^2 as (3, N, k); `start` (2, n, k) is added to the modes."""
    from scipy.signal import lfilter

    origin, felt = y[0], start.shape[1]
    shifted = y - origin
    modes = _modes(shifted, settled)
    e = shifted - _real_sum(modes)
    modes[:, :felt] += start
    e[:felt] -= _real_sum(start)
    back = np.empty_like(modes)
    for i, pole in enumerate(np.exp(settled.s)):
        back[i] = lfilter([1 / settled.S], [1.0, -pole], e[::-1], axis=0)[::-1]
    smoothed = _real_products(settled.V[:3], modes) + _real_products(_correction(settled), back)
    smoothed *= settled.h ** np.arange(3)[:, None, None]
    smoothed[0] += origin
    result: FloatArray = smoothed
    return result


def _correction(settled: SteadyFilter) -> ComplexArray:
    """(3, 2): P times r, where r = 2 Re(W^T modes)."""
    rows: ComplexArray = settled.P[:3] @ settled.W.T
    return rows


def _packed(settled: SteadyFilter, divisors: FloatArray) -> FloatArray:
    """The numbers of the filter in the order of the compiled smoother."""
    rows = (np.exp(settled.s), settled.W @ settled.K, settled.V[:3], _correction(settled))
    poles, gains, forward, backward = (
        np.ascontiguousarray(part).view(np.float64).ravel() for part in rows
    )
    scale = settled.h ** np.arange(3)
    return np.concatenate([poles, gains, [1 / settled.S], forward, backward, scale, divisors])


def _real_sum(modes: ComplexArray) -> FloatArray:
    """H x of modal states: the first row of V is 1, and each pair of modes is conjugate."""
    total: FloatArray = 2 * modes.sum(axis=0).real
    return total


def _real_products(rows: ComplexArray, modes: ComplexArray) -> FloatArray:
    """2 Re(rows @ modes) as (3, N, k), of rows (3, 2) and modes (2, N, k).

    Not by matrix products: those of many rows start threads that wait for each other.
    """
    flat = modes.reshape(2, -1)
    out = np.empty((3, flat.shape[1]))
    for part in chunks(flat.shape[1], PIECE):
        pairs = [(2 * mode[part].real, 2 * mode[part].imag) for mode in flat]
        for row, total in zip(rows, out[:, part], strict=True):
            np.multiply(pairs[0][0], row[0].real, out=total)
            total -= pairs[0][1] * row[0].imag
            total += pairs[1][0] * row[1].real
            total -= pairs[1][1] * row[1].imag
    return out.reshape(3, *modes.shape[1:])


# The constant-jerk smoother of even samples of which some are missing.
#
# A missing sample that lies on the smoothed curve changes nothing: with A the smoother of all
# samples and z the missing ones, A_mm z + A_mo y = z. The matrix I - A_mm is symmetric and positive
# definite, so conjugate gradients find z with a few runs of the fast smoother.


STEPS = 60
CONVERGED = 1e-12  # of the first deviation, or of the size of x


def smooth_gaps(signal: Samples, steps: FloatArray) -> FloatArray | None:
    """Smoothed x, xd, xdd as (3, N, k) at the rows there are, h = 2 pi fc dt per channel.

    None where the missing samples are not found: gaps wider than the smoother reaches.
    """
    if signal.places is None:
        return None
    full = signal.filled().x
    missing = np.ones(len(full), dtype=np.bool_)
    missing[signal.places] = False
    found = _missing(full, missing, steps)
    if found is None:
        return None
    full = full.copy()
    full[missing] = found
    smoothed: FloatArray = smooth_even(full, steps, signal.dt)[:, signal.places]
    return smoothed


def _missing(full: FloatArray, missing: BoolArray, steps: FloatArray) -> FloatArray | None:
    """Conjugate gradients for (I - A_mm) z = A_mo y, all channels (m, k) at once."""
    z = full[missing]
    r = smooth_even(full, steps)[0][missing] - z
    p = r.copy()
    square = np.sum(r**2, axis=0)
    enough = (CONVERGED * (np.sqrt(square) + np.ptp(full, axis=0))) ** 2
    sparse = np.zeros_like(full)
    for _ in range(STEPS):
        if np.all(square <= enough):
            return z
        sparse[missing] = p
        turned = p - smooth_even(sparse, steps)[0][missing]
        bend = np.sum(p * turned, axis=0)
        length = np.divide(square, bend, out=np.zeros_like(bend), where=bend > 0)
        z = z + length * p
        r = r - length * turned
        before, square = square, np.sum(r**2, axis=0)
        p = r + np.divide(square, before, out=np.zeros_like(before), where=before > 0) * p
    return None


# The constant-jerk Kalman smoother of unevenly spaced samples: the same model, step by step.
#
# Samples may be missing or jittered. The filter is linear in its start b, so what it makes of data
# and start is x_k = x_k^y + X_k b: the four columns X_k, each the response to one state at the
# start, go through the filter beside the data. The innovations e_k^y + E_k b then tell b,
#
#     b = -(sum E_k^T E_k / S_k)^-1 sum E_k^T e_k^y / S_k
#
# by generalised least squares, and nothing has to be assumed about the start.


BLOCK = 512  # steps whose transitions are formed at once


class _Step(NamedTuple):
    """One sample: prediction x (G, 4, C), P (G, 4, 4), innovation e (G, C), its variance S (G,)."""

    x: FloatArray
    P: FloatArray
    e: FloatArray
    S: FloatArray


def smooth_uneven(t: FloatArray, y: FloatArray, bandwidth: FloatArray, dt: float) -> FloatArray:
    """Smoothed x, xd, xdd as (3, N, k), in units of x and s; bandwidth (k,) in Hz.

    q / R = (2 pi fc)^8 dt: the noise is that of samples dt apart.
    """
    count, channels = y.shape
    w = 2 * np.pi * bandwidth
    gaps = np.diff(t)
    Phi = transition(np.multiply.outer(gaps, w))  # (N-1, k, 4, 4)
    steps = list(_filter(gaps, (y - y[0])[:, :, None], w, dt))
    innovations = np.stack([step.e for step in steps])  # (N, k, 1 + 4)
    variances = np.stack([step.S for step in steps])
    start = _start(innovations, variances)  # (k, 1 + 4): weights of the columns
    out = np.empty((count, channels, 3))
    r = np.zeros((channels, STATES))
    for k in range(count - 1, -1, -1):
        x, P, e, S = steps[k]
        own = np.einsum("gc,gc->g", e, start)
        r = np.einsum("gij,gi->gj", Phi[k], r) if k < count - 1 else r
        r[:, 0] += (own - np.einsum("gi,gi->g", P[:, :, 0], r)) / S
        state = np.einsum("gic,gc->gi", x, start) + np.einsum("gij,gj->gi", P, r)
        out[k] = state[:, :3]
    smoothed = np.moveaxis(out, 2, 0) * w ** np.arange(3)[:, None, None]
    smoothed[0] += y[0]
    return smoothed


def likelihood_uneven(
    t: FloatArray, y: FloatArray, bandwidths: FloatArray, dt: float
) -> tuple[FloatArray, FloatArray]:
    """-2 log likelihood (G, k) of y (N, k) at bandwidths (G,) in Hz, noise variance R (G, k)."""
    count, channels = y.shape
    w = 2 * np.pi * bandwidths
    steps = list(_filter(np.diff(t), (y - y[0])[:, None, :], w, dt))
    e = np.stack([step.e for step in steps])  # (N, G, k + 4)
    S = np.stack([step.S for step in steps])  # (N, G)
    E = e[:, :, channels:]
    start = np.einsum("ngi,ngj,ng->gij", E, E, 1 / S)
    score = np.einsum("ngi,ngc,ng->gic", E, e[:, :, :channels], 1 / S)
    left = e[:, :, :channels] - np.einsum("ngi,gic->ngc", E, np.linalg.solve(start, score))
    R = np.einsum("ngc,ngc,ng->gc", left, left, 1 / S) / (count - STATES)
    step = w * dt  # the start counts in x, xd dt, xdd dt^2, xddd dt^3
    log_det = np.linalg.slogdet(start)[1] - STATES * (STATES - 1) * np.log(step)
    with np.errstate(divide="ignore"):
        value = (count - STATES) * np.log(R) + (np.log(S).sum(axis=0) + log_det)[:, None]
    return value, R


def _filter(gaps: FloatArray, y: FloatArray, w: FloatArray, dt: float) -> Iterator[_Step]:
    """Predictions and innovations of y (N, G or 1, C) for G rates w, with four columns more."""
    mean = dt * w
    groups, own = len(w), y.shape[2]
    P = np.stack([steady_filter(float(h)).P for h in mean])
    x = np.zeros((groups, STATES, own + STATES))
    x[:, :, own:] = np.eye(STATES)
    for k, sample in enumerate(y):
        if k:
            place = (k - 1) % BLOCK
            if place == 0:
                h = np.multiply.outer(gaps[k - 1 : k - 1 + BLOCK], w)
                Phis, Qs = transition(h), process_noise(h, mean)
            Phi = Phis[place]
            x = Phi @ x
            P = Phi @ P @ Phi.transpose(0, 2, 1) + Qs[place]
        e = -x[:, 0, :]
        e[:, :own] += sample
        S = 1.0 + P[:, 0, 0]
        yield _Step(x, P, e, S)
        K = P[:, :, 0] / S[:, None]
        x = x + K[:, :, None] * e[:, None, :]
        P = P - K[:, :, None] * P[:, None, 0, :]


def _start(e: FloatArray, S: FloatArray) -> FloatArray:
    """Weights (k, 1 + 4) of the columns: 1 for the data, and the start that fits them best."""
    whole = np.einsum("ngc,ngd,ng->gcd", e, e, 1 / S)
    b = -np.linalg.solve(whole[:, 1:, 1:], whole[:, 1:, :1])[:, :, 0]
    return np.concatenate([np.ones((len(b), 1)), b], axis=1)
