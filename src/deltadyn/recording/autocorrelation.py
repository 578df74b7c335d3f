"""How far noise resembles itself a few samples later, and what that does to standard deviations."""

from __future__ import annotations

import numpy as np

from deltadyn.arrays import FloatArray

WINDOW = 5.0  # correlation times: enough to hold the sum, few enough to keep its noise out


def fft_length(least: int) -> int:
    """The next power of two: room for lags without wrapping around."""
    return 1 << (least - 1).bit_length()


def autocorrelation(e: FloatArray, lags: int) -> FloatArray:
    """rho (lags + 1, k) of e (N, k): sum_n e_n e_{n+l} / sum_n e_n^2, without removing a mean."""
    size = fft_length(len(e) + lags)
    power = np.abs(np.fft.rfft(e, size, axis=0)) ** 2
    products = np.fft.irfft(power, size, axis=0)[: lags + 1]
    with np.errstate(invalid="ignore"):
        rho: FloatArray = products / products[0]
    return rho


def correlation_factor(rho: FloatArray) -> FloatArray:
    """1 + 2 sum rho_l (k,): the variance of a mean of n samples is this times sigma^2 / n.

    The sum ends where it spans five times its own value, so that the noise of far lags stays out.
    """
    sums = 2 * np.cumsum(rho, axis=0) - 1
    lags = np.arange(len(rho))[:, None]
    inside = lags < WINDOW * sums
    last = np.where(inside.all(axis=0), len(rho) - 1, np.argmin(inside, axis=0))
    factor: FloatArray = sums[last, np.arange(rho.shape[1])]
    return np.maximum(factor, 0.0)


def variance_of_sum(u: FloatArray) -> float:
    """Variance of sum u_n for u (N,) of mean 0 with any autocorrelation.

    Bartlett weights over a span that an AR(1) fit suggests (Andrews 1991): 1.1447 (a N)^(1/3),
    a = 4 rho^2 / (1 - rho^2)^2.
    """
    count = len(u)
    square = float(u @ u)
    if square == 0.0:
        return 0.0
    rho = min(abs(float(u[:-1] @ u[1:]) / square), 0.999)
    span = 1.1447 * (4 * rho**2 / (1 - rho**2) ** 2 * count) ** (1 / 3)
    lags = min(int(np.ceil(span)), count - 1)
    weights = 1 - np.arange(1, lags + 1) / (lags + 1)
    products = autocorrelation(u[:, None], lags)[1:, 0] * square
    return max(square + 2 * float(weights @ products), 0.0)
