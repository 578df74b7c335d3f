"""The constant-jerk model: jerk driven by white noise, observed by noisy positions.

States are (x, xd/w, xdd/w^2, xddd/w^3) with w = 2 pi fc, so that every number is of the size of the
position whatever the bandwidth. With h = w dt the covariances below are in units of the noise
variance R:

    x'''' = white noise of intensity q,   y_k = x(t_k) + noise of variance R,   w^8 = q / (R dt)

The smoother of this model [falezza2022] is a zero-phase filter 1 / (1 + (f / fc)^8), a Butterworth
filter of order 4 that runs forward and backward, and also the smoothing spline of degree 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import factorial

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray

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
