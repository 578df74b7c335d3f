"""How far a parameter scatters from night to night, found from the nights themselves.

A fit states a deviation s_i, but nights differ by more than the noise of a log (another motion,
another load, grease), or by less where s_i covers models that remain. So with the stated s_i only
as a shape, drawn half-way to its median (a night that claims to be exact is not believed), the
deviation of night i is

    sigma_i^2 = kappa^2 (s_i^2 + v),   kappa = 1, v >= 0  or  kappa <= 1, v = 0,

and the one free number comes from differences of neighbouring nights, which a step meets once and a
ramp hardly: of d_i = y_i - y_(i-1) the M-scale with rho(x) = min(x^2, c^2) is 1. One bad night in
ten changes it little. Scatter has a memory: its correlation over a night is phi, and from lag 1
and lag 2

    var(y_i - y_(i-1)) = 2 sigma^2 (1 - phi),  var(y_i - y_(i-2)) = 2 sigma^2 (1 - phi^2),

so that phi = (lag 2)/(lag 1) - 1. One parameter shows it poorly: it is drawn to the mean of all.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from deltadyn.arrays import FloatArray

CLIP = 2.5  # c, in deviations
# E min(x^2, c^2) for a standard normal x: 1 - 2 c phi(c) - 2 (1 - c^2) Phi(-c)
EXPECTED = float(
    1 - 2 * CLIP * np.exp(-(CLIP**2) / 2) / np.sqrt(2 * np.pi) - 2 * (1 - CLIP**2) * ndtr(-CLIP)
)
MOST_MEMORY = 0.8
TRUSTED = 60.0  # nights at which a parameter's own phi counts as much as the mean of all


@dataclass(frozen=True, eq=False)
class Noise:
    """The numbers kappa, v, phi (k,) of each parameter, and slopes (m, k) on warmth.

    `usual` (k,) is the median of the stated deviations.
    """

    usual: FloatArray
    kappa: FloatArray
    v: FloatArray
    phi: FloatArray
    slope: FloatArray

    def sigma(self, s: FloatArray) -> FloatArray:
        """Deviations (n, k) of nights with stated deviations s (n, k)."""
        size = self.kappa * np.sqrt(_stated(s, self.usual) ** 2 + self.v)
        return np.asarray(size / np.sqrt(1 - self.phi))


def noise_of(y: FloatArray, s: FloatArray, warmth: FloatArray, prior: FloatArray) -> Noise:
    """The noise of series y (n, k) with stated deviations s (n, k).

    `warmth` (n, m) is explained first, with slopes about 0 of deviation `prior` (m, k).
    """
    usual = _usual(np.where(np.isfinite(y), s, np.nan))
    stated = np.where(np.isfinite(y), _stated(s, usual), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # parameters that no night shows yet
        kappa, v = _sizes(differences(y, 1), stated)
        slope = np.zeros((warmth.shape[1], y.shape[1]))
        if warmth.shape[1]:
            size = kappa * np.sqrt(stated**2 + v)
            slope = _slopes(differences(y, 1), differences(warmth, 1), size, prior)
            y = y - warmth @ slope
            kappa, v = _sizes(differences(y, 1), stated)
        size = kappa * np.sqrt(stated**2 + v)
        phi = _memory(differences(y, 1), differences(y, 2), size)
    return Noise(usual, kappa, np.where(np.isfinite(v), v, 1.0), phi, slope)


def _usual(s: FloatArray) -> FloatArray:
    """The median (k,) of the stated deviations; 0 where no night states one."""
    found = np.zeros(s.shape[1])
    for k in range(s.shape[1]):
        known = s[np.isfinite(s[:, k]) & (s[:, k] > 0), k]
        found[k] = np.median(known) if len(known) else 0.0
    return found


def _stated(s: FloatArray, usual: FloatArray) -> FloatArray:
    """The stated deviations (n, k), half-way to their median in square."""
    known = np.where(np.isfinite(s) & (s > 0), s, usual)
    return np.asarray(np.sqrt((known**2 + usual**2) / 2))


def differences(x: FloatArray, lag: int) -> FloatArray:
    """x_i - x_(i-lag) (n, k), NaN in the first rows."""
    out = np.full_like(x, np.nan)
    if len(x) > lag:
        out[lag:] = x[lag:] - x[:-lag]
    return out


def _sizes(d: FloatArray, stated: FloatArray) -> tuple[FloatArray, FloatArray]:
    """kappa and v (k,) such that d_i^2 is that of two independent nights."""
    both = stated**2 + np.vstack([stated[:1], stated[:-1]]) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = m_scale(np.where(both > 0, d / np.sqrt(both), np.nan))
    over = np.isfinite(kappa) & (kappa < 1)  # stated too large
    least = (1e-9 * np.nanmax(np.abs(d), axis=0, initial=0.0)) ** 2 + 1e-24
    v = np.where(over, 0.0, np.maximum(_beyond(d, both), least))
    return np.where(over, np.maximum(kappa, 1e-3), 1.0), v


def _beyond(d: FloatArray, both: FloatArray) -> FloatArray:
    """v (k,), the variance beyond the stated one, by bisection on the M-scale."""
    high = 2 * m_scale(d) ** 2 + 1e-300
    low = np.zeros_like(high)
    for _ in range(25):
        v = (low + high) / 2
        large = _mean_rho(d**2 / (both + 2 * v)) > EXPECTED
        low, high = np.where(large, v, low), np.where(large, high, v)
    return (low + high) / 2


def m_scale(x: FloatArray) -> FloatArray:
    """The scale (k,) at which the mean of min((x/scale)^2, c^2) is that of a standard normal."""
    size = np.nanmean(np.sqrt(np.abs(x)), axis=0) ** 2 / 0.676 + 1e-300
    for _ in range(8):
        size = size * np.sqrt(np.maximum(_mean_rho((x / size) ** 2), 1e-6) / EXPECTED)
    return np.asarray(size)


def _mean_rho(square: FloatArray) -> FloatArray:
    """The mean (k,) of min(x^2, c^2) over the nights that have an x."""
    known = np.isfinite(square)
    total = np.where(known, np.minimum(square, CLIP**2), 0.0).sum(axis=0)
    return np.asarray(total / np.maximum(known.sum(axis=0), 1))


def _slopes(d: FloatArray, dw: FloatArray, size: FloatArray, prior: FloatArray) -> FloatArray:
    """Slopes (m, k) on warmth from differences, each drawn to 0 as far as its prior asks."""
    m, count = dw.shape[1], d.shape[1]
    out = np.zeros((m, count))
    reach = CLIP * np.sqrt(2.0) * size
    for k in range(count):
        rows = np.isfinite(d[:, k]) & np.isfinite(dw).all(axis=1) & np.isfinite(size[:, k])
        rows &= size[:, k] > 0
        A = dw[rows] / size[rows, k, None]
        b = np.clip(d[rows, k], -reach[rows, k], reach[rows, k]) / size[rows, k]
        out[:, k] = np.linalg.solve(A.T @ A / 2 + np.diag(prior[:, k] ** -2.0), A.T @ b / 2)
    return out


def _memory(first: FloatArray, second: FloatArray, size: FloatArray) -> FloatArray:
    """phi (k,) of each parameter."""
    with np.errstate(divide="ignore", invalid="ignore"):
        own = (m_scale(second / size) / m_scale(first / size)) ** 2 - 1
    own = np.where(np.isfinite(own), own, 0.0)
    nights = np.isfinite(first).sum(axis=0)
    mean = float(np.mean(np.clip(own, -0.2, MOST_MEMORY))) if len(own) else 0.0
    share = nights / (nights + TRUSTED)
    return np.asarray(np.clip(share * own + (1 - share) * mean, 0.0, MOST_MEMORY))
