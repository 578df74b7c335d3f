"""Whether a residual is white noise, and how long it resembles itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.recording.autocorrelation import autocorrelation, correlation_factor
from deltadyn.validation.metrics import plain

LONGEST = 0.5  # s: of the lags
LEVEL = 0.01  # probability below which white noise is ruled out


@dataclass(frozen=True, eq=False)
class Whiteness:
    """How a residual (M, dof) resembles itself later; every array has one column per axis.

    `probability` is that of a spectrum as uneven as this one if the noise were white within the
    compared band (Bartlett's test of the cumulated periodogram): filtering and thinning out do not
    disturb it. `autocorrelation` (L, dof) stands at `lags` (L,) in s. `correlation_time` is the
    time in s that one independent value stands for, `effective` the number of independent values.
    """

    probability: FloatArray
    lags: FloatArray
    autocorrelation: FloatArray
    correlation_time: FloatArray
    effective: FloatArray

    @property
    def white(self) -> BoolArray:
        """(dof,): whether white noise is not ruled out at 1 %."""
        return np.asarray(self.probability >= LEVEL)

    def as_dict(self) -> dict[str, Any]:
        """All but the curves, for JSON."""
        return {
            "probability": plain(self.probability),
            "white": self.white.tolist(),
            "correlation_time_s": plain(self.correlation_time),
            "effective_samples": plain(self.effective),
        }


def whiteness(residuals: Sequence[FloatArray], rate: float, band: float | None) -> Whiteness:
    """Of residuals (M, dof) of several stretches at `rate` Hz, white up to `band` Hz or not."""
    centred = [e - e.mean(axis=0) for e in residuals]
    longest = max(centred, key=len)
    count = max(2, min(len(longest) // 4, int(LONGEST * rate)))
    rho = _autocorrelation(longest, count)
    factor = np.maximum(correlation_factor(rho), 1.0)
    total = sum(len(e) for e in centred)
    return Whiteness(
        _probability(centred, rate, band),
        np.arange(count + 1) / rate,
        rho,
        factor / rate,
        total / factor,
    )


def _autocorrelation(e: FloatArray, count: int) -> FloatArray:
    """rho (count + 1, dof); an axis without any residual counts as white."""
    rho = autocorrelation(e, count)
    empty = ~np.isfinite(rho).all(axis=0)
    rho[:, empty] = 0.0
    rho[0, empty] = 1.0
    return rho


def _probability(residuals: list[FloatArray], rate: float, band: float | None) -> FloatArray:
    """(dof,) by the largest distance of the cumulated periodogram from a straight line."""
    from scipy.special import kolmogorov  # takes longer than the rest of the import

    highest = 0.5 * rate if band is None else min(band, 0.5 * rate)
    frequency, power = [], []
    for e in residuals:
        f = np.fft.rfftfreq(len(e), 1 / rate)
        inside = (
            (f > 0) & (f <= highest) & (f < 0.5 * rate)
        )  # the last ordinate is no square of two
        frequency.append(f[inside])
        power.append(np.abs(np.fft.rfft(e, axis=0)[inside]) ** 2 / len(e))
    order = np.argsort(np.concatenate(frequency), kind="stable")
    ordinates = np.concatenate(power)[order]
    count = len(ordinates)
    if count < 2:
        return np.full(ordinates.shape[1], np.nan)
    total = ordinates.sum(axis=0)
    total[total == 0] = np.nan
    line = np.arange(1, count)[:, None] / count
    distance = np.abs(np.cumsum(ordinates, axis=0)[:-1] / total - line).max(axis=0)
    probability: FloatArray = kolmogorov(np.sqrt(count - 1) * distance)
    return np.where(np.isnan(total), 1.0, probability)
