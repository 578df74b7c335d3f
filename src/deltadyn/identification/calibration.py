"""A fit's torque band from motion that the fit has not seen.

Split conformal prediction: with n errors |e| / scale of held-out rows, the ceil((n + 1) level)-th
smallest holds the error of one more row at this level, whatever the model and the noise, as long as
the new motion is of the kind of the held-out one. Rows of one log are correlated: the level holds
over many logs, and not exactly within one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deltadyn.errors import InputError
from deltadyn.identification.loading import Data, Loaded, refuse_shared
from deltadyn.identification.options import Preparation
from deltadyn.identification.terms.intervals import NORMAL, Scatter, Waves
from deltadyn.recording.prepare.moving import at_rows, moving_rows, rest_rates

if TYPE_CHECKING:
    from deltadyn.identification.fit import Fit

FEWEST = 40  # moving rows of an axis that a band needs


def calibrated_scatter(fit: Fit, recordings: Data) -> Scatter:
    """The fit's scatter with the errors on these recordings."""
    loaded = Loaded(fit.nominal, recordings, Preparation(band=fit.band))
    refuse_shared(fit.data, recordings)
    parts = list(loaded.parts())
    rest = rest_rates(fit.robot, parts, None if fit.terms is None else fit.terms.rest)
    model = fit.log_model
    errors, tau, qd, used = [], [], [], []
    for part in parts:
        seen = model.see(part)
        predicted = model.reported(part, seen, part.extra + fit.nominal.payload.mass)
        tau.append(part.limited(predicted))
        errors.append(part.limited(part.tau - predicted))
        qd.append(at_rows(part, seen.state.qd))
        used.append(moving_rows(part, rest))
    moving = np.concatenate(used)
    few = np.flatnonzero(moving.sum(axis=0) < FEWEST)
    if few.size:
        axis = fit.robot.axis_names()[int(few[0])]
        count = int(moving[:, few[0]].sum())
        allowed = f"at least {FEWEST}; record a longer motion"
        raise InputError(f"moving rows of axis {axis}", count, allowed)
    start = _plain(fit) if fit.terms is None else fit.terms.scatter
    return start.calibrated(np.concatenate(errors), np.concatenate(tau), np.concatenate(qd), moving)


def _plain(fit: Fit) -> Scatter:
    """The scatter of a fit that has looked for no terms: that of its residual, at any torque."""
    dof = fit.robot.dof
    square = np.maximum(fit.residual, 1e-9 * fit.torque_level) ** 2
    return Scatter(square, np.zeros(dof), np.full(dof, NORMAL), np.zeros(dof), Waves.none(dof))
