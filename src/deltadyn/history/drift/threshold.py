"""The threshold of |z| for a stated rate of false alarms.

Changes are sought at many lags on every night, and neighbouring tests are much alike, so that the
rate of false alarms is less than their number times the normal tail. It was simulated: series of
normal nights with a memory of 0.4 and a season through the whole of the method (noise, memory and
temperature estimated), `python -m benchmarks.drift_threshold`. Per night and parameter the rate is

    log rate(h) = A0 - A1 h^2/2,

where A1 is below 1 because the memory is not known exactly; nights without memory alarm less. With
few nights the estimated deviation is itself uncertain: |z| is then compared with the quantile of
Student's t at the same tail, with a share `FREEDOM` of the nights as degrees of freedom.

Rates of parameters add up (an upper bound, whatever their correlation). For k parameters with
eigenvalues l of the correlation of their nights the number that counts is (sum sqrt l)^2/(sum l),
which is k for independent ones and 1 for one that is shown k times.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from deltadyn.arrays import FloatArray

# The simulation gave A0 = -2.41. 195 drawn robots (`benchmarks.drift`, seed 7), whose parameters
# differ in memory and in how well they are known, had 1.7 times as many alarms: log(1.7) more.
A0, A1 = -1.88, 0.67
FREEDOM = 0.8


def threshold(rate: float) -> float:
    """|z| that independent normal nights pass at this rate per night and parameter."""
    return float(np.sqrt(2 * max(A0 - np.log(rate), 1.0) / A1))


def with_few(limit: float, nights: npt.NDArray[np.int64]) -> FloatArray:
    """The threshold where the noise is known from so many nights."""
    freedom = np.maximum(FREEDOM * nights, 3.0)
    return np.asarray(-stdtrit(freedom, ndtr(-limit)))


def as_if_known(z: FloatArray, nights: npt.NDArray[np.int64]) -> FloatArray:
    """|z| as it would be without end of nights: what `threshold` is to be compared with."""
    freedom = np.maximum(FREEDOM * nights, 3.0)
    return np.asarray(-ndtri(stdtr(freedom, -z)))


def effective_number(d: FloatArray) -> float:
    """How many independent parameters the columns of differences d (n, k) are worth.

    Few nights show correlations that are not there: the matrix is drawn to the identity.
    """
    known = np.isfinite(d)
    size = np.nanmedian(np.abs(np.where(known, d, np.nan)), axis=0) if len(d) else np.zeros(0)
    shown = (known.sum(axis=0) >= 3) & np.isfinite(size) & (size > 0)
    if not shown.any():
        return 1.0
    u = np.where(known[:, shown], np.clip(d[:, shown] / (size[shown] / 0.6745), -3, 3), 0.0)
    cross, count = u.T @ u, known[:, shown].astype(float).T @ known[:, shown].astype(float)
    R = cross / np.maximum(count, 1.0)
    scale = np.sqrt(np.diag(R))
    R = R / np.outer(scale, scale)
    k = len(R)
    share = k / (k + float(known.sum(axis=0).max()))
    values = np.maximum(np.linalg.eigvalsh((1 - share) * R + share * np.eye(k)), 0.0)
    return float(np.sqrt(values).sum() ** 2 / values.sum())
