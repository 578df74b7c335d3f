"""The torque band holds measured torque of machines that the library did not make."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Machine, compiler, make_machine

import deltadyn as dd
from deltadyn.errors import InputError
from deltadyn.identification import Fit
from deltadyn.recording import Recording
from deltadyn.recording.prepare.data import prepare
from deltadyn.recording.prepare.moving import at_rows, moving_rows, rest_rates

pytestmark = pytest.mark.skipif(compiler() is None, reason="the plant needs gcc (or cc)")
ROBOT = dd.load_robot("sipro-d3-1200")


def covered(fit: Fit, recording: Recording, level: float = 0.95) -> tuple[float, float]:
    """The share of moving rows that the band holds, and its mean half width over the torque."""
    part = prepare(fit.nominal, recording, band=fit.band)
    torque, half = fit.predict(part.state, level)
    given = None if fit.terms is None else fit.terms.rest
    moving = moving_rows(part, rest_rates(fit.robot, [part], given))
    error, width = np.abs(part.limited(part.tau - torque)), at_rows(part, half)
    size = np.sqrt(np.mean(part.limited(part.tau) ** 2))
    return float((error <= width)[moving].mean()), float(width[moving].mean() / size)


def machine_and_fit(cause: str, seed: int, terms: str = "auto") -> tuple[Machine, Fit]:
    machine = make_machine(ROBOT, cause, 1.0, seed)
    return machine, dd.identify(ROBOT, machine.record(motions=4, seconds=4.0), terms=terms)


@pytest.mark.full
@pytest.mark.parametrize("cause", ["none", "offset", "friction"])
def test_the_band_of_a_fit_with_terms_holds_held_out_torque(cause: str) -> None:
    machine, fit = machine_and_fit(cause, 1)
    share, width = covered(fit, machine.record_picks(seconds=4.0))
    assert share > 0.9  # of 95 %: picks are another motion than that of the fit
    assert width < 0.025  # of the RMS torque


def test_a_model_that_lacks_terms_is_calibrated_by_held_out_motion() -> None:
    machine, fit = machine_and_fit("friction", 2, terms="file")
    held_out = machine.record_picks(seconds=4.0, first=7)
    assert covered(fit, held_out)[0] < 0.7  # it knows nothing of what it lacks
    better = fit.calibrated(machine.record_picks(seconds=4.0))
    assert better.values is fit.values
    for level in (0.8, 0.95):
        share, _ = covered(better, held_out, level)
        assert abs(share - level) < 0.06  # two logs of 4 s, of which 50 rows count as one
    half = [np.mean(better.predict(_state(fit, held_out), level)[1]) for level in (0.8, 0.95)]
    assert half[0] < half[1]


def _state(fit: Fit, recording: Recording) -> dd.kinematics.State:
    return prepare(fit.nominal, recording, band=fit.band).state


def test_data_of_the_fit_and_short_logs_are_refused() -> None:
    machine = make_machine(ROBOT, "none", 1.0, 3)
    logs = machine.record(motions=2, seconds=4.0)
    fit = dd.identify(ROBOT, logs, terms="file")
    with pytest.raises(InputError, match="trained on these very samples"):
        fit.calibrated(logs[0])
    short = machine.record_picks(seconds=4.0).take(np.arange(400, 700), "0.3 s")
    with pytest.raises(InputError, match=r"moving rows of axis 1 is \d+; allowed: at least 40"):
        fit.calibrated(short)
