"""What explains the seasons: temperature where it is recorded, else what all axes do alike.

Friction falls with temperature, about exponentially, and torque constants change a little, so that
every parameter has a line and a parabola in w = (T - mean)/(10 K). Their slopes are not known
before a season has passed. They have normal priors about 0 of the size that machines show (3 % per
K of friction, 0.2 % per K of anything else), and a change is tested against what they leave open:
a cold week after a warm month is no alarm, and a fault during a season is still one.

Without a record, viscous friction itself is the thermometer: w = u/0.3 with u the median over the
axes of log(Fv/its median). The median of three or four axes does not follow a fault of one. What
all axes do alike is then taken for the weather, and cannot be found as a fault. An axis whose
friction is known to have changed is left out: even a median moves a little with it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.history.drift.series import RESIDUAL, VISCOUS, Series

UNIT = 10.0  # K
FRICTION = (0.3, 0.05)  # deviations of the line and the parabola: of friction, as a share
RESIDUALS = (0.15, 0.03)  # of what the model leaves
OTHERS = (0.02, 0.004)  # of the rest
FEWEST_AXES = 3  # with a viscous friction, for a median that a fault of one does not move


@dataclass(frozen=True, eq=False)
class Warmth:
    """Columns (n, m) that explain temperature, and the deviations (m, k) of their slopes."""

    source: str  # "recorded", "friction of all axes" or ""
    columns: FloatArray
    prior: FloatArray


def warmth_of(series: Series, asked: bool = True, moved: Collection[str] = ()) -> Warmth:
    """What explains the temperature of a series in which these parameters moved."""
    if asked and series.recorded:
        source, w = "recorded", (series.temperature - np.nanmean(series.temperature)) / UNIT
    elif asked and (common := _common(series, moved)) is not None:
        source, w = "friction of all axes", common
    else:
        return Warmth("", np.zeros((len(series.days), 0)), np.zeros((0, len(series.names))))
    w = _filled(series.days, w)
    columns = np.column_stack([w, w**2 - np.mean(w**2)])
    return Warmth(source, columns, _priors(series))


def _common(series: Series, moved: Collection[str]) -> FloatArray | None:
    """The median over the axes of log viscous friction about its median, in units of 10 K."""
    axes = [k for k, name in enumerate(series.names) if VISCOUS.fullmatch(name) and series.ratio[k]]
    if len(axes) < FEWEST_AXES:
        return None
    axes = [k for k in axes if series.names[k] not in moved] or axes
    y = series.y[:, axes]
    y = y - np.nanmedian(y, axis=0)
    out = np.full(len(y), np.nan)
    rows = np.isfinite(y).any(axis=1)
    out[rows] = np.nanmedian(y[rows], axis=1) / FRICTION[0]
    return out


def _filled(days: FloatArray, w: FloatArray) -> FloatArray:
    """Nights without a temperature get that between their neighbours."""
    known = np.isfinite(w)
    return np.interp(days, days[known], w[known])


def _priors(series: Series) -> FloatArray:
    """Deviations (2, k) of the slopes, in the units of `series.y`."""
    out = np.empty((2, len(series.names)))
    friction = series.is_friction()
    for k, name in enumerate(series.names):
        share = FRICTION if friction[k] else RESIDUALS if RESIDUAL.fullmatch(name) else OTHERS
        size = 1.0
        if not series.ratio[k]:
            size = float(np.nanmedian(np.abs(series.values[:, k]) + series.std[:, k]))
        out[:, k] = np.array(share) * (size or 1.0)
    return out
