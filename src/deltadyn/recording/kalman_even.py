"""The constant-jerk Kalman smoother of even samples, exact to the ends and fast.

The filter starts in its settled covariance with an unknown mean b, which generalised least squares
finds afterwards. That is the same as knowing nothing about the start, and makes the filter
time-invariant from the first sample on: two complex first-order recursions forward, two backward.

    forward    x_{k+1} = L x_k + K y_k,  e_k = y_k - H x_k            b: min sum (e_k - H L^k b)^2
    backward   r_{k-1} = L^T r_k + H^T e_k / S,  smoothed x_k + P r_{k-1}      [falezza2022]
"""

from __future__ import annotations

import numpy as np

from deltadyn.arrays import FloatArray, chunks
from deltadyn.recording.constant_jerk import (
    STATES,
    ComplexArray,
    SteadyFilter,
    start_responses,
    steady_filter,
)

PIECE = 16384  # samples whose temporaries stay in the cache


def smooth_even(y: FloatArray, steps: FloatArray) -> FloatArray:
    """Smoothed x, xd dt, xdd dt^2 as (3, N, k) of samples y (N, k), h = 2 pi fc dt per channel."""
    out = np.empty((3, *y.shape))
    for h in np.unique(steps):
        same = steps == h
        out[:, :, same] = _smooth(y[:, same], steady_filter(float(h)))
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


def _smooth(y: FloatArray, settled: SteadyFilter) -> FloatArray:
    from scipy.signal import lfilter

    origin = y[0]
    shifted = y - origin
    z = np.exp(settled.s)
    modes = np.zeros((2, *y.shape), dtype=np.complex128)
    for i, gain in enumerate(settled.W @ settled.K):
        modes[i, 1:] = lfilter([gain], [1.0, -z[i]], shifted[:-1], axis=0)
    e = shifted - _real_sum(modes)
    E = start_responses(settled, len(y))
    b = np.linalg.solve(E.T @ E, E.T @ e[: len(E)])  # (4, k), modes of the start
    part = np.einsum("nm,mk->mnk", E[:, :2], b[:2])
    modes[:, : len(E)] += part
    e[: len(E)] -= _real_sum(part)
    back = np.empty_like(modes)
    for i, pole in enumerate(z):
        back[i] = lfilter([1 / settled.S], [1.0, -pole], e[::-1], axis=0)[::-1]
    correction = settled.P[:3] @ settled.W.T  # (3, 2): P times r, r = 2 Re(W^T modes)
    smoothed = _real_products(settled.V[:3], modes) + _real_products(correction, back)
    smoothed *= settled.h ** np.arange(3)[:, None, None]
    smoothed[0] += origin
    result: FloatArray = smoothed
    return result


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
