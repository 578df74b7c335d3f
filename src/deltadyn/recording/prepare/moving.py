"""Which rows of a log move, per axis: those that a fit uses and a model is graded on.

An axis at rest or sticking gives whatever torque holds it, up to its Coulomb friction: no model can
predict it. The filter of the band smears an instant at rest over its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.recording.prepare.data import AT_REST, STILL, Prepared
from deltadyn.robot import Robot

REACH_PERIODS = 1.8  # of the band, before and after an instant at rest, that the filter smears
MAX_REACH_S = 0.045  # at most: rows that are left out say nothing
REST_RATE_RAD_S = 0.05  # below it an axis counts as at rest where no fit has found its own rate
REST_SHARE = 0.1  # of an axis' largest rate in the logs: never more counts as rest


def at_rows(part: Prepared, values: FloatArray) -> FloatArray:
    """Values (N, ...) of smooth quantities at the rows that the filter gives."""
    even = values if part.grid is None else part.grid(values)
    if part.filter is None:
        return even
    return even[part.filter.margin :: part.filter.step][: part.filter.length(len(even))]


def slowest_rates(part: Prepared, reach: float | None = None) -> FloatArray:
    """The lowest |qd| (N, dof) within `reach` seconds, by default those that the filter smears."""
    from scipy.ndimage import minimum_filter1d  # takes longer than the rest of the import

    if reach is None:
        reach = min(REACH_PERIODS / part.band, MAX_REACH_S) if part.band is not None else 0.0
    width = 2 * int(reach * part.rate + 1e-6) + 1  # times are rounded
    out: FloatArray = minimum_filter1d(np.abs(part.state.qd), width, axis=0, mode="nearest")
    return out


def moving_rows(part: Prepared, rest: FloatArray, reach: float | None = None) -> BoolArray:
    """Rows (M, dof) of a part in its band at which an axis is faster than `rest` (dof,)."""
    return np.asarray(at_rows(part, slowest_rates(part, reach)) >= rest)


def rest_rates(
    robot: Robot, parts: Sequence[Prepared], given: Sequence[float] | None = None
) -> FloatArray:
    """The rate (dof,) in rad/s (m/s) below which axes rest in these parts of logs.

    `given` are those that a fit has found. A slow log does not rest as a whole, noise of a rate is
    no motion, and an axis that keeps its angle rests all the time.
    """
    usual = REST_RATE_RAD_S * np.asarray(robot.radian) if given is None else np.asarray(given)
    fastest = np.max([np.abs(part.state.qd).max(axis=0) for part in parts], axis=0)
    noise = np.max([_rate_noise(part) for part in parts], axis=0)
    travel = np.max([np.ptp(part.state.q, axis=0) for part in parts], axis=0)
    rest = np.maximum(np.minimum(usual, REST_SHARE * fastest), AT_REST * noise)
    return np.where(travel > STILL * np.asarray(robot.radian), rest, np.inf)


def _rate_noise(part: Prepared) -> FloatArray:
    """Standard deviation (dof,) of the noise of estimated rates; 0 where they were measured."""
    if part.rate_noise is None:
        return np.zeros(part.tau.shape[1])
    return np.nan_to_num(np.asarray(part.rate_noise, dtype=np.float64))
