"""Validation of robots and fits on recordings, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from tests.validation.bench import RATE, log, robot, run_of, with_rest

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.fit import Fit
from deltadyn.identification.identify import identify
from deltadyn.kinematics import State
from deltadyn.recording import Recording
from deltadyn.recording.recording import DataSource
from deltadyn.robot import Robot
from deltadyn.validation import metrics, validate
from deltadyn.validation.evidence import FitLike


def noisy() -> Recording:
    return log(viscous=0.02, coulomb=0.06)


@cache
def fitted() -> Fit:
    return identify(robot(), noisy(), method="base")


def test_numbers_are_those_of_the_arrays() -> None:
    found = validate(robot(), noisy())
    again = metrics(found.measured, found.torque, found.moving)
    for name in ("fitness", "fitness_measured", "r_squared", "rms", "mean", "std", "maximum"):
        value = getattr(found, name)
        assert value.shape == (3,)
        np.testing.assert_array_equal(value, getattr(again, name))
    np.testing.assert_array_equal(found.residual, found.measured - found.torque)
    assert found.t.shape == (len(found.measured),)


def test_without_a_band_the_samples_are_compared_as_they_are() -> None:
    run = run_of(viscous=0.02, coulomb=0.06)
    rec, truth = run.recording, run.truth
    given = rec.replace(qd=truth.qd, qdd=truth.qdd, q=truth.q)
    found = validate(robot(), given, band=None)
    np.testing.assert_array_equal(found.measured, rec.tau)
    # the measured rates are taken as they are: the model's torque along the true motion
    np.testing.assert_allclose(
        found.torque, dd.inverse_dynamics(robot(), truth.motion()), atol=1e-9
    )
    assert found.band is None
    assert found.rate == pytest.approx(RATE)
    assert "as recorded" in found.text


@pytest.mark.full
def test_both_torques_pass_the_same_filter() -> None:
    """A tone far above the band leaves no trace, one within it stays."""
    rec = log()
    tones = {
        hertz: rec.replace(tau=rec.tau + 5 * np.sin(2 * np.pi * hertz * rec.t)[:, None])
        for hertz in (8.0, 200.0)
    }
    plain = validate(robot(), rec, band=20.0)
    high = validate(robot(), tones[200.0], band=20.0)
    # 50 dB of 5 N m: 0.011 N m RMS
    np.testing.assert_allclose(high.torque, plain.torque, atol=1e-12)
    np.testing.assert_allclose(high.rms, plain.rms, atol=0.012)
    low = validate(robot(), tones[8.0], band=20.0)
    np.testing.assert_allclose(low.rms, 5 / np.sqrt(2), rtol=0.02)  # not whole periods
    assert low.band == 20.0
    assert "below 20 Hz" in low.text


def test_samples_are_dense_enough_for_extremes() -> None:
    found = validate(robot(), log(), band=10.0)
    assert found.rate > 99.0
    np.testing.assert_allclose(np.diff(found.t), 1 / found.rate, rtol=1e-9)


def test_segments_by_name() -> None:
    found = validate(robot(), with_rest(noisy(), 1.0), band=60.0)
    names = [item.name for item in found.segments]
    assert names == ["rest", "low speed", "high speed", "near limits"]
    rest = found.segment("rest")
    np.testing.assert_array_equal(rest.mask, ~found.moving)
    assert 0.33 < rest.share < 0.6  # one of three seconds, and where axes turn back
    assert rest.metrics.count.tolist() == rest.mask.sum(axis=0).tolist()
    high = found.segment("high speed")
    expected = np.sqrt(np.mean(found.residual[high.mask[:, 1], 1] ** 2))
    assert high.metrics.rms[1] == pytest.approx(expected, rel=1e-12)
    assert "the axis rests, or turns back, within the reach of the filter" in found.segment_table
    with pytest.raises(UnknownNameError, match="segment is 'fast'; allowed: one of 'rest'"):
        found.segment("fast")


@pytest.mark.full
def test_what_is_left_at_rest_is_not_graded_and_has_a_line_of_its_own() -> None:
    """A drive that holds with any torque within its friction says nothing against a model."""
    rec = with_rest(log(), 1.0)
    tau = rec.tau + np.where(rec.t < 1.0 - 0.1, 3.0, 0.0)[:, None]
    held, free = (validate(robot(), item, band=60.0) for item in (rec.replace(tau=tau), rec))
    np.testing.assert_allclose(held.rms, free.rms, rtol=1e-3)
    np.testing.assert_allclose(held.relative_rms, free.relative_rms, rtol=1e-3)
    assert held.rest_rms.min() > 1.5
    assert "At rest or turning back, 5" in held.verdict
    assert "cannot be predicted, and is not graded" in held.verdict
    assert held.diagnosis.causes == free.diagnosis.causes == ()


def test_friction_has_no_direction_in_the_noise_of_a_rest() -> None:
    t = np.arange(3000) / RATE
    angle = 0.3 + 0.2 * np.where(t < 1.5, np.cos(np.pi * t / 1.5), -1.0)
    q = np.repeat(angle[:, None], 3, axis=1)
    q += np.random.default_rng(0).normal(scale=1e-6, size=q.shape)
    rubbing = robot().with_friction(coulomb=2.0)
    motion = State.from_joints(robot(), q)
    rec = Recording(t, q, dd.inverse_dynamics(robot(), motion), name="stop")
    found = validate(rubbing, rec, band=None)
    later = found.t > 1.7  # a sign of noise would give 2 N m
    assert np.sqrt(np.mean(found.residual[later] ** 2)) < 1.0
    moving = (found.t > 0.5) & (found.t < 1.0)
    assert np.abs(found.residual[moving]).mean() > 1.9


@pytest.mark.full
def test_several_recordings_are_taken_together_and_each_by_itself() -> None:
    one, two = noisy(), log(1, viscous=0.02, coulomb=0.06)
    found = validate(robot(), [one, two], band=60.0)
    alone = [validate(robot(), item, band=60.0) for item in (one, two)]
    assert [part.recordings[0] for part in found.parts] == [one.name, two.name]
    for part, other in zip(found.parts, alone, strict=True):
        np.testing.assert_allclose(part.rms, other.rms, rtol=0.01)  # each rests by its own rates
    count = [part.moving.sum(axis=0) for part in found.parts]
    squares = [n * part.rms**2 for n, part in zip(count, found.parts, strict=True)]
    both = found.moving.sum(axis=0)
    np.testing.assert_array_equal(both, sum(count))
    np.testing.assert_allclose(found.rms, np.sqrt(sum(squares) / both), rtol=1e-12)
    assert found.starts == (0, len(found.parts[0].t))
    assert found.diagnosis.cause == "friction"
    assert found.text.count("RMS ") >= 3  # the table and a line per recording


def test_a_recording_with_a_gap_is_taken_in_stretches() -> None:
    rec = noisy()
    keep = np.concatenate([np.arange(900), np.arange(1000, len(rec))])
    found = validate(robot(), rec.take(keep, "a gap of 100 ms"), band=60.0)
    assert len(found.starts) == 2
    assert np.diff(found.t).max() > 0.1
    assert found.diagnosis.cause == "friction"


def test_simplified_models_by_name() -> None:
    exact, half = (validate(robot(), log(), dynamics=name) for name in ("exact", "half-half"))
    assert np.all(half.rms > 3 * exact.rms)
    assert "half-half" in half.model


def test_four_axes() -> None:
    from tests.simulation.factory import excitation

    four = dd.load_robot("abb-irb360-6-1600")
    motion = excitation(four, 2.0, rate=RATE)
    run = dd.simulate(four, motion, rate=RATE, payload=[(0.0, 0.5)], current_noise=0.005)
    found = validate(four, run.recording.replace(payload=None), band=None)
    assert found.rms.shape == (4,)
    assert "axis psi" in found.text
    cause = found.diagnosis.of("payload")
    assert cause is not None
    assert cause.value("mass")[0] == pytest.approx(0.5, abs=0.02)


@dataclass
class OwnFit:
    """A fit of another kind: constant torques."""

    robot: Robot
    level: float
    data: tuple[DataSource, ...] = ()

    def torque(self, state: State) -> FloatArray:
        return np.full((len(state), self.robot.dof), self.level)


def test_a_fit_is_asked_for_its_own_torque() -> None:
    fit = OwnFit(robot(), 3.0)
    assert isinstance(fit, FitLike)
    found = validate(fit, log(), band=None)
    np.testing.assert_array_equal(found.torque, 3.0)
    assert np.isnan(found.fitness).all()  # the predicted torque has no range
    assert "worse than a constant torque" in found.verdict
    json.dumps(found.as_dict(), allow_nan=False)


def test_a_fit_carries_the_payload_of_the_recording() -> None:
    found = validate(OwnFit(robot(), 0.0), log(payload=1.0), band=None)
    part = identified_state(log(payload=1.0))
    loaded, own = (dd.inverse_dynamics(r, part) for r in (robot().with_payload(1.0), robot()))
    np.testing.assert_allclose(found.torque, loaded - own, atol=1e-12)


def identified_state(recording: Recording) -> State:
    from deltadyn.recording.prepare.data import prepare

    return prepare(robot(), recording, band=None).state


def test_identified_robot_on_new_data() -> None:
    new = log(1, viscous=0.02, coulomb=0.06)
    found, before = validate(fitted(), new), validate(robot(), new)
    assert np.all(found.rms < 0.2 * before.rms)
    assert found.model == "sipro-d3-1200, fit 'base'"


def test_training_data_are_refused() -> None:
    message = (
        r"recording 1 is 'sipro.*; allowed: one that \"sipro-d3-1200, fit 'base'\" was not "
        r"fitted to: .*pass training=True"
    )
    new = log(1, viscous=0.02, coulomb=0.06)
    with pytest.raises(InputError, match=message):
        validate(fitted(), [new, noisy()])
    copied = Recording(noisy().t.copy(), noisy().q.copy(), noisy().tau.copy(), name="renamed")
    with pytest.raises(InputError, match="recording 0 is 'renamed'; allowed: one that"):
        validate(fitted(), copied)
    assert validate(fitted(), noisy(), training=True).rms.max() < 0.5


@pytest.mark.parametrize(
    ("band", "message"),
    [
        ("wide", "band is 'wide'; allowed: 'auto', a frequency above 0 Hz, or None"),
        (0.0, "band is 0; allowed: 'auto', a frequency above 0 Hz, or None"),
        (True, "band is True; allowed: 'auto', a frequency"),
        (600.0, "band is 600; allowed: above 0 and at most 400 Hz, or None"),
    ],
)
def test_unknown_band(band: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        validate(robot(), log(), band=band)  # type: ignore[arg-type]


def changed(row: int, axis: int, value: float) -> Recording:
    tau = log().tau.copy()
    tau[row, axis] = value
    return log().replace(tau=tau, name="holed")


def still() -> Recording:
    t = np.arange(500) / RATE
    return Recording(t, np.full((500, 3), 0.3), np.ones((500, 3)), name="standing")


def test_unusable_recordings() -> None:
    holed = r"tau at 'holed', row 7 \(t 0\.007 s\), axis 2 is nan; allowed: finite"
    with pytest.raises(InputError, match=holed):
        validate(robot(), changed(7, 1, np.nan))
    with pytest.raises(
        InputError, match=r"travel of the axes .* at 'standing' is .* a robot at rest"
    ):
        validate(robot(), still())
    with pytest.raises(
        InputError, match=r"samples of the recording at .* is 20; allowed: at least"
    ):
        validate(robot(), log().rows(0, 20))
    four = dd.load_robot("abb-irb360-6-1600")
    with pytest.raises(InputError, match=r"axes of the recording at .* is 3; allowed: 4, as robot"):
        validate(four, log())
    with pytest.raises(
        InputError, match=r"duration of .* is 0.1; allowed: at least .* s for a band"
    ):
        validate(robot(), log().rows(0, 100), band=5.0)
    with pytest.raises(InputError, match=r"samples left in the band at .* allowed: at least 32"):
        validate(robot(), log().rows(0, 1400), band=5.0)


def test_wrong_calls() -> None:
    with pytest.raises(InputError, match=r"model is 'str'; allowed: a Robot, or a fit with .robot"):
        validate("sipro-d3-1200", log())  # type: ignore[arg-type]
    with pytest.raises(InputError, match="recordings is 'none'; allowed: at least one recording"):
        validate(robot(), [])
    with pytest.raises(InputError, match="recordings is 'str'; allowed: recordings"):
        validate(robot(), ["log.csv"])  # type: ignore[list-item]
    with pytest.raises(UnknownNameError, match="model is 'exakt'; allowed: one of"):
        validate(robot(), log(), dynamics="exakt")
    with pytest.raises(InputError, match="dynamics is 'exact'; allowed: None for a fit"):
        validate(OwnFit(robot(), 1.0), log(), dynamics="exact")
    with pytest.raises(InputError, match="rates is 'central'; allowed: 'auto', 'measured'"):
        validate(robot(), log(), rates="central")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"rates at .* is 'measured'; allowed: 'kalman'"):
        validate(robot(), log(), rates="measured")


def test_a_fit_without_a_finite_torque_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"torque of the model at .* t = 0 s is .* a finite torque"
    ):
        validate(OwnFit(robot(), np.nan), log())


def test_text_and_dict() -> None:
    found = validate(robot(), noisy(), name="mine")
    text = str(found)
    assert text == found.text
    for part in ("mine on sipro", "fitness (kim2022 eq. 41)", "N m", "R^2", "rest", "payload 0 kg"):
        assert part in text
    values = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert values["metrics"]["rms"] == pytest.approx(found.rms.tolist())
    assert set(values["segments"]) == {"rest", "low speed", "high speed", "near limits"}
    assert values["segments"]["rest"]["rms"] == pytest.approx(found.rest_rms.tolist())
    assert values["axes"] == ["1", "2", "3"]


def test_validation_loads_nothing_of_identification() -> None:
    """Logs are prepared by `recording`; a fit is known by what it has, not by its class."""
    code = (
        "import sys, deltadyn.validation\n"
        "print([name for name in sys.modules if name.startswith('deltadyn.identification')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
