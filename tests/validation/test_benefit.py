"""The predicted benefit of a model, against the virtual bench."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.simulation.factory import excitation, strokes

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, OscillationWarning, UnknownNameError
from deltadyn.identification import Fit
from deltadyn.motion import Motion
from deltadyn.robot import Robot
from deltadyn.simulation import (
    PD,
    AdaptiveFeedforward,
    AugmentedPD,
    ComputedTorque,
    Controller,
    PDFeedforward,
    PDGravity,
    Preset,
    Run,
    simulate,
)
from deltadyn.simulation.drive.reference import make_task
from deltadyn.validation import predicted_tracking
from deltadyn.validation.benefit import Loop, Predictable, moved

ROBOT = dd.load_robot("sipro-d3-1200")
GAINS = PD(ROBOT)
OWN: dict[str, Any] = {"stiffness": GAINS.stiffness, "damping": GAINS.damping}
#: What the prediction may be off by where it knows the torque error (it is of first order in the
#: tracking error, which is 1e-2 here), and with a fit, where the residual holds sensor noise that
#: moves nothing and ripple that is not random.
KNOWN, FITTED = 0.02, 2.0


@cache
def move() -> Motion:
    return strokes(ROBOT)[0]


@cache
def fit_of(preset: str) -> Fit:
    log = simulate(ROBOT, excitation(ROBOT, 2.5), preset=preset, seed=1).recording
    return dd.identify(ROBOT, log)


def at_motors(run: Run) -> FloatArray:
    """RMS tracking error (dof,) that the encoders see."""
    error: FloatArray = run.reference.q - run.truth.q_motor
    out: FloatArray = np.sqrt(np.mean(error**2, axis=0))
    return out


def simulated(controller: Controller, **settings: Any) -> FloatArray:
    return at_motors(simulate(ROBOT, move(), controller, seed=3, **settings))


@pytest.mark.full
@pytest.mark.parametrize("preset", ["lab", "industrial"])
def test_a_fit_is_worth_what_was_predicted(preset: str) -> None:
    fit = fit_of(preset)
    found = predicted_tracking(fit, move(), preset=preset)
    assert found.file is not None
    alone = simulated(GAINS, preset=preset)
    file = simulated(PDFeedforward(ROBOT, **OWN), preset=preset)
    fitted = simulated(PDFeedforward(fit.robot, **OWN), preset=preset)
    np.testing.assert_allclose(found.alone, alone, rtol=KNOWN)
    np.testing.assert_allclose(found.file, file, rtol=KNOWN)
    assert np.all(found.expected < FITTED * fitted)
    assert np.all(found.expected > fitted / FITTED)
    assert np.all(found.low <= found.expected)
    assert np.all(found.expected <= found.high)
    assert np.all(found.over_alone > 10.0)
    assert found.over_file is not None
    np.testing.assert_allclose(found.over_file, found.file / found.expected)


def test_on_mujoco_too() -> None:
    """The loop's response is that of a rigid robot, whoever moves it."""
    t = slice(0, 400)
    short = Motion.from_joints(ROBOT, move().t[t], move().q[t], move().qd[t], move().qdd[t])
    found = predicted_tracking(ROBOT, short, GAINS)
    run = simulate(ROBOT, short, GAINS, plant="mujoco")
    np.testing.assert_allclose(found.expected, at_motors(run), rtol=KNOWN)


@pytest.mark.parametrize(
    "controller",
    [
        GAINS,
        PDGravity(ROBOT),
        PDFeedforward(ROBOT, "half-half"),
        AugmentedPD(ROBOT, "half-half"),
        ComputedTorque(ROBOT, "half-half"),
        PDFeedforward(ROBOT.with_payload(1.0)),
        PD(ROBOT, bandwidth=8.0),
    ],
    ids=lambda c: type(c).__name__,
)
@pytest.mark.parametrize("late_ticks", [0, 3])
def test_every_controller_on_a_known_robot(controller: Predictable, late_ticks: int) -> None:
    """Without doubt the prediction is a number, and the bench says the same."""
    found = predicted_tracking(ROBOT, move(), controller, delay=late_ticks, velocity_filter=200.0)
    error = simulated(controller, delay=late_ticks, velocity_filter=200.0)
    np.testing.assert_allclose(found.expected, error, rtol=KNOWN)
    np.testing.assert_array_equal(found.low, found.high)
    assert found.file is None
    assert found.over_file is None
    assert not found.by_doubt.any()
    assert "believed to be right" in found.status
    if late_ticks and type(controller) is not PD:
        assert np.all(found.by_delay > 0)


def with_gears(stiffness: float) -> Robot:
    drives = replace(
        ROBOT.drives, rotor_inertia=0.4, rotor_side="output_side", stiffness=stiffness, damping=8.0
    )
    sensors = replace(ROBOT.sensors, torque_ratio=(1.02, 0.99, 0.99))
    return ROBOT.replace(drives=drives, sensors=sensors)


@pytest.mark.parametrize("late_ticks", [0, 2])
def test_elastic_gears_of_a_known_robot(late_ticks: int) -> None:
    """Motors with the torque of a rigid model err by what the gears wind up; so on the bench."""
    robot = with_gears(3e4)
    for controller in (PD(robot), PDFeedforward(robot)):
        found = predicted_tracking(robot, move(), controller, delay=late_ticks)
        error = at_motors(simulate(robot, move(), controller, seed=3, delay=late_ticks))
        np.testing.assert_allclose(found.expected, error, rtol=0.03)
        assert np.all(found.by_gears > 2e-5)
    assert "gears that wind up" in str(found)
    assert "Elastic gears" not in found.status


def test_stiff_gears_are_rigid_ones() -> None:
    """A spring far above the ticks' rate is followed, and winds up by nothing."""
    found = predicted_tracking(with_gears(1e9), move(), delay=2)
    rigid = with_gears(1e9)
    rigid = rigid.replace(drives=replace(rigid.drives, stiffness=None, damping=None))
    expected = predicted_tracking(rigid, move(), delay=2).expected
    np.testing.assert_allclose(found.expected, expected, rtol=1e-3)
    assert np.all(found.by_gears < 1e-3 * expected)


def test_the_right_model_without_delay_errs_by_nothing() -> None:
    found = predicted_tracking(ROBOT, move())
    assert np.abs(found.expected).max() < 1e-12
    assert np.abs(found.alone).min() > 1e-3


@pytest.mark.full
def test_doubt_grows_with_the_covariance() -> None:
    """Four times the covariance, twice the part of the error that comes from doubt."""
    fit = fit_of("lab")
    doubt = replace(fit.uncertainty, known=4 * fit.uncertainty.known)
    first, second = (
        predicted_tracking(f, move(), seed=2) for f in (fit, replace(fit, uncertainty=doubt))
    )
    np.testing.assert_allclose(second.by_doubt, 2 * first.by_doubt)
    np.testing.assert_allclose(second.unmodelled, first.unmodelled)
    assert np.all(second.high - second.low > first.high - first.low)


def test_draws_scatter_as_sampled_machines_do() -> None:
    """Machines drawn one by one and simulated by the response give the draws' mean square."""
    fit = fit_of("lab")
    quiet = replace(fit, residual=np.zeros(3))
    found = predicted_tracking(quiet, move(), samples=4000, seed=5)
    task = make_task(ROBOT, move(), 2000.0, Preset())
    loop = Loop.of(fit.robot, task, PDFeedforward(fit.robot, **OWN), Preset())
    rng = np.random.default_rng(6)
    x = rng.multivariate_normal(np.zeros(len(fit.values)), fit.uncertainty.known, size=400)
    columns = fit.parametrisation.columns(fit.nominal, task.now)
    errors = loop.response(columns @ x.T)
    direct = np.sqrt(np.mean(errors**2, axis=(0, 2)))
    np.testing.assert_allclose(found.expected, direct, rtol=0.15)  # 400 draws
    np.testing.assert_allclose(found.expected, np.sqrt(np.mean(found.draws**2, axis=0)))
    np.testing.assert_allclose(found.by_doubt, found.expected, rtol=0.05)  # 4000 draws


def test_seeds_and_samples() -> None:
    fit = fit_of("lab")
    a, b, c = (predicted_tracking(fit, move(), seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(a.draws, b.draws)
    assert not np.array_equal(a.draws, c.draws)
    assert predicted_tracking(fit, move(), samples=7).draws.shape == (7, 3)


def test_a_pd_is_compared_with_the_files_feedforward() -> None:
    found = predicted_tracking(fit_of("lab"), move(), GAINS, preset="lab")
    np.testing.assert_allclose(found.expected, found.alone)
    assert found.file is not None
    assert np.all(found.file < found.expected)


def test_parameters_that_the_data_do_not_tell_are_named() -> None:
    fit = fit_of("lab")
    unknown = np.zeros(len(fit.values), dtype=bool)
    unknown[0] = True
    found = predicted_tracking(
        replace(fit, uncertainty=replace(fit.uncertainty, unknown=unknown)), move()
    )
    assert f"The data do not tell {fit.names[0]}" in found.status


def test_torque_beyond_the_drives_is_said() -> None:
    heavy = ROBOT.with_payload(12.0)
    assert "above the peak torque of axis 1" in predicted_tracking(heavy, move()).status


def test_an_unstable_loop_is_refused() -> None:
    """Four ticks late behind a filter of 200 Hz, 20 Hz swing: on the bench too."""
    slow: dict[str, Any] = {"delay": 4, "velocity_filter": 200.0}
    given = PD(ROBOT, **OWN)
    with pytest.raises(InputError, match=r"gains of the controller at tick 0 .* in a tick"):
        predicted_tracking(ROBOT, move(), given, **slow)
    with pytest.warns(OscillationWarning, match="2000 Hz, 4 ticks late"):
        error = np.abs(simulate(ROBOT, move(), given, **slow).tracking_error)
    calm = np.abs(simulate(ROBOT, move(), given, **{**slow, "delay": 3}).tracking_error)
    assert error[-200:].max() > 3 * calm[-200:].max()
    predicted_tracking(ROBOT, move(), PD(ROBOT, bandwidth=15.0), **slow)
    predicted_tracking(ROBOT, move(), **slow)  # default gains are those of the drive
    predicted_tracking(ROBOT, move(), PD(ROBOT, stiffness=0.0))  # it drifts, and that is no swing


def test_text_and_data() -> None:
    found = predicted_tracking(fit_of("lab"), move(), preset="lab")
    text = str(found)
    for words in (
        "expected tracking error, mrad RMS",
        "feedback alone",
        "robot file's parameters",
        "5 % are above",
        "500 machines drawn from the fit's covariance",
        "Elastic gears, torque limits and the jump of dry friction are left out.",
    ):
        assert words in text
    data = json.loads(json.dumps(found.as_dict()))
    assert data["expected"] == found.expected.tolist()
    assert data["level"] == 0.9


def test_torque_that_comes_at_another_time() -> None:
    torque, t = np.arange(4.0)[:, None], np.arange(4.0) / 2000
    np.testing.assert_array_equal(moved(torque, t, 0.0), torque)
    np.testing.assert_allclose(moved(torque, t, -2 / 2000)[:, 0], [0, 0, 0, 1], atol=1e-9)
    np.testing.assert_allclose(moved(torque, t, 1 / 2000)[:, 0], [1, 2, 3, 3], atol=1e-9)


@pytest.mark.full
def test_a_lead_meets_the_delay() -> None:
    """On the bench too: sent two ticks early, the torque is in time."""
    fit = fit_of("industrial")  # elastic gears are found
    late, timely = (PDFeedforward(fit.robot, lead=x, **OWN) for x in (0.0, 2 / 2000))
    found = [predicted_tracking(fit, move(), c, preset="industrial") for c in (late, timely)]
    assert np.all(found[0].by_delay > 1e-4)
    assert np.all(found[1].by_delay < 1e-12)
    errors = [simulated(c, preset="industrial") for c in (late, timely)]
    assert np.all(errors[1] < errors[0])
    assert np.all(found[1].by_gears > 1e-5)
    assert np.all(found[1].expected > errors[1] / FITTED)
    assert np.all(found[1].expected < errors[1] * FITTED)


def test_misuse_is_said() -> None:
    with pytest.raises(InputError, match="model is 'str'; allowed: a Fit or a Robot"):
        predicted_tracking("sipro-d3-1200", move())  # type: ignore[arg-type]
    with pytest.raises(InputError, match="samples is 1; allowed: a whole number, at least 2"):
        predicted_tracking(ROBOT, move(), samples=1)
    with pytest.raises(InputError, match=r"level is 1\.5"):
        predicted_tracking(ROBOT, move(), level=1.5)
    with pytest.raises(UnknownNameError, match="preset"):
        predicted_tracking(ROBOT, move(), preset="laboratory")
    with pytest.raises(InputError, match="coordinates of the motion is 3"):
        predicted_tracking(dd.load_robot("example-delta-4"), move())

    class Known:
        mass = 1.0

        def update(self, q: Any, qd: Any, qdd: Any, tau: Any) -> None: ...

        def reset(self) -> None: ...

    with pytest.raises(InputError, match="controller is 'AdaptiveFeedforward'; allowed: PD, PDGr"):
        predicted_tracking(ROBOT, move(), AdaptiveFeedforward(ROBOT, Known()))
