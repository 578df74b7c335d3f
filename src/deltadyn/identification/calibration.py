"""A fit along a log, and its torque band from motion that the fit has not seen.

Split conformal prediction: with n errors |e| / scale of held-out rows, the ceil((n + 1) level)-th
smallest holds the error of one more row at this level, whatever the model and the noise, as long as
the new motion is of the kind of the held-out one. Rows of one log are correlated: the level holds
over many logs, and not exactly within one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.identification.loading import Data, Loaded, refuse_shared
from deltadyn.identification.options import Preparation
from deltadyn.identification.parametrisation import payload_direction, widest
from deltadyn.identification.terms.corrections import corrected
from deltadyn.identification.terms.intervals import NORMAL, Scatter, Waves
from deltadyn.identification.terms.rows import at_rows, slowest_rates
from deltadyn.recording.prepare.data import Prepared
from deltadyn.recording.prepare.gears import behind_gears

if TYPE_CHECKING:
    from deltadyn.identification.fit import Fit

REST = 0.05  # rad/s: below, an axis counts as at rest where the fit has not found its own rate
FEWEST = 40  # moving rows of an axis that a band needs


def calibrated_scatter(fit: Fit, recordings: Data) -> Scatter:
    """The fit's scatter with the errors on these recordings."""
    loaded = Loaded(fit.nominal, recordings, Preparation(band=fit.band))
    refuse_shared(fit.data, recordings)
    rest = np.full(fit.robot.dof, REST) if fit.terms is None else np.array(fit.terms.rest)
    errors, tau, qd, used = [], [], [], []
    for part in loaded.parts():
        seen = put_right(fit, part)
        predicted = torque_along(fit, part, seen)
        tau.append(part.limited(predicted))
        errors.append(part.limited(part.tau - predicted))
        qd.append(at_rows(part, seen.state.qd))
        used.append(at_rows(part, slowest_rates(seen)) >= rest)
    moving = np.concatenate(used)
    few = np.flatnonzero(moving.sum(axis=0) < FEWEST)
    if few.size:
        axis = fit.robot.axis_names()[int(few[0])]
        count = int(moving[:, few[0]].sum())
        allowed = f"at least {FEWEST}; record a longer motion"
        raise InputError(f"moving rows of axis {axis}", count, allowed)
    start = _plain(fit) if fit.terms is None else fit.terms.scatter
    return start.calibrated(np.concatenate(errors), np.concatenate(tau), np.concatenate(qd), moving)


def put_right(fit: Fit, part: Prepared) -> Prepared:
    """The part as the fit's model of rigid gears holds for it, in reported torque.

    It has neither the delay nor the encoders' waves that the fit found, and the motion of the arms
    behind elastic gears.
    """
    found = dict(zip(fit.names, fit.values.tolist(), strict=True))
    log = {n: v for n, v in found.items() if n == "delay" or n.startswith("eccentricity")}
    seen = corrected(fit.nominal, part, log) if log else part
    if fit.robot.drives.stiffness is None:
        return seen
    gains = 1.0 if fit.gains is None else fit.gains.values
    arms = behind_gears(fit.robot, replace(seen, tau=seen.tau * gains))
    return replace(arms, tau=arms.tau / gains)


def torque_along(fit: Fit, part: Prepared, seen: Prepared) -> FloatArray:
    """The torque (N, dof) that the drives would report, with the payload of the recording.

    `seen` is the part put right.
    """
    tau = fit.torque(seen.state)
    if part.extra:
        source = fit.parametrisation.source
        Y = widest(fit.nominal, seen.state, source).Y
        tau = tau + Y @ (part.extra * payload_direction(fit.nominal, source))
    own = tau if fit.gains is None else tau / fit.gains.values
    return own + (part.tau - seen.tau)


def _plain(fit: Fit) -> Scatter:
    """The scatter of a fit that has looked for no terms: that of its residual, at any torque."""
    dof = fit.robot.dof
    square = np.maximum(fit.residual, 1e-9 * fit.torque_level) ** 2
    return Scatter(square, np.zeros(dof), np.full(dof, NORMAL), np.zeros(dof), Waves.none(dof))
