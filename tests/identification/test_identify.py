"""From recordings to a robot: truth recovered, wrong use refused, what a fit carries."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.identification.motions import recording_of, unequal

import deltadyn as dd
from deltadyn.dynamics.base import exciting_states
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification import METHODS, UnidentifiableError, identify
from deltadyn.identification.information import load_information
from deltadyn.recording import Recording
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Platform

NAMES = ("sipro-d3-1200", "abb-irb360-6-1600", "unequal-3", "unequal-4")


def make(name: str) -> Robot:
    robot = {
        "unequal-3": lambda: unequal(dd.load_robot("sipro-d3-1200")),
        "unequal-4": lambda: unequal(dd.load_robot("example-delta-4")),
    }.get(name, lambda: dd.load_robot(name))()
    return robot.with_friction(viscous=0.4, coulomb=1.2)


def perturbed(robot: Robot) -> Robot:
    """The same robot with other masses and friction: what an engineer has before a fit."""
    heavier = robot.replace(platform=Platform(robot.platform.mass * 1.3))
    return heavier.with_friction(viscous=0.1, coulomb=0.5)


@pytest.mark.parametrize("name", NAMES)
def test_noise_free_data_give_the_base_parameters_back(name: str) -> None:
    truth = make(name)
    fit = identify(perturbed(truth), recording_of(truth), "base", rates="measured", band=None)
    want = dict(zip(*_own(truth, fit), strict=True))
    for parameter, value in zip(fit.names, fit.values, strict=True):
        # exact rates and torques: what remains is rounding times the condition number
        assert value == pytest.approx(want[parameter], rel=1e-8, abs=1e-9), parameter
    assert fit.consistent
    state = exciting_states(truth, 50, 1)
    np.testing.assert_allclose(
        dd.inverse_dynamics(fit.robot, state),
        dd.inverse_dynamics(truth, state),
        rtol=1e-6,
        atol=1e-5,
    )


def _own(robot: Robot, fit: dd.identification.Fit) -> tuple[tuple[str, ...], np.ndarray]:
    from deltadyn.identification.parametrisation import parametrise

    par = parametrise(robot, fit.model, tied=fit.parametrisation.tied)
    return par.names, par.prior


@pytest.fixture(scope="module")
def truth() -> Robot:
    return make("sipro-d3-1200")


@pytest.fixture(scope="module")
def noisy(truth: Robot) -> Recording:
    return recording_of(truth, noise=0.3, seed=4)


@pytest.mark.full
@pytest.mark.parametrize("method", sorted(set(METHODS) - {"two-step", "gray-box"}))
def test_every_method_fits_the_same_data(method: str, truth: Robot, noisy: Recording) -> None:
    options = {"iterations": 60, "particles": 60, "neighbours": 12} if method == "swarm" else {}
    fit = identify(perturbed(truth), noisy, method, rates="measured", **options)  # type: ignore[arg-type]
    assert fit.method == method
    assert fit.robot.dof == 3
    assert fit.status.strip()
    level = {"swarm": 40.0, "svd": 40.0}.get(method, 12.0)  # without m_x a few N m stay
    assert (fit.residual < level).all(), fit.text
    assert np.isfinite(fit.std).all()
    assert all(name in fit.table for name in fit.names)


def test_gray_box_fits_its_own_model(truth: Robot, noisy: Recording) -> None:
    fit = identify(truth, noisy, "gray-box", rates="measured")
    assert fit.robot.gray_box.rho1 == pytest.approx(fit["rho1"])
    state = exciting_states(truth, 20, 2)
    np.testing.assert_allclose(
        fit.torque(state), dd.inverse_dynamics(fit.robot, state, model="gray-box"), atol=1e-9
    )


def test_the_default_is_certified_and_consistent(truth: Robot, noisy: Recording) -> None:
    fit = identify(perturbed(truth), noisy, rates="measured")
    assert fit.method == "convex"
    assert fit.certificate is not None
    assert fit.certificate.relative < 1e-6
    assert fit.consistent
    off = np.abs(fit.values - _own(truth, fit)[1]) / fit.std
    assert off.max() < 5  # deviations, over ten parameters
    M = dd.equations_of_motion(fit.robot, exciting_states(truth, 2000, 3)).M
    np.linalg.cholesky(M)


def test_prediction_comes_with_a_band(truth: Robot, noisy: Recording) -> None:
    fit = identify(truth, noisy, "base", rates="measured")
    state = exciting_states(truth, 40, 5)
    torque, half = fit.predict(state)
    assert (half > 0).all()
    inside = np.abs(torque - dd.inverse_dynamics(truth, state)) < half
    assert inside.mean() > 0.8


def test_several_recordings_and_their_information(truth: Robot, tmp_path: Path) -> None:
    a, b = recording_of(truth, 0.2, 1), recording_of(truth, 0.2, 2, name="b")
    both = identify(truth, [a, b], "base", rates="measured", band=None)
    assert [source.name for source in both.data] == ["a", "b"]
    from deltadyn.identification.loading import Loaded
    from deltadyn.identification.options import Preparation

    information = Loaded(truth, [a, b], Preparation(None, "measured")).information("exact")
    information.save(tmp_path / "info.npz")
    again = identify(truth, load_information(tmp_path / "info.npz"), "base")
    np.testing.assert_allclose(again.values, both.values, rtol=1e-10)
    np.testing.assert_allclose(again.std, both.std, rtol=1e-8)


def test_a_fit_is_saved_with_its_origin(truth: Robot, noisy: Recording, tmp_path: Path) -> None:
    fit = identify(perturbed(truth), noisy, rates="measured", seed=7)
    yaml, record = fit.save(tmp_path / "mine")
    again = dd.load_robot(str(yaml))
    state = exciting_states(truth, 10, 6)
    np.testing.assert_allclose(
        dd.inverse_dynamics(again, state),
        dd.inverse_dynamics(fit.robot, state),
        rtol=1e-9,
        atol=1e-9,
    )
    told = json.loads(record.read_text("utf-8"))
    assert told["provenance"]["options"]["seed"] == 7
    assert told["provenance"]["data"][0]["sha256"] == fit.data[0].sha256
    assert told["provenance"]["versions"]["deltadyn"] == dd.__version__
    assert {item["name"] for item in told["parameters"]} == set(fit.names)


def test_drive_gains_from_known_payloads(truth: Robot) -> None:
    gains = np.array([1.08, 0.93, 1.02])
    records = []
    for seed, payload in enumerate((0.0, 2.0, 3.5)):
        rec = recording_of(truth.with_payload(payload), 0.05, seed, name=f"{payload:g} kg")
        records.append(rec.replace(tau=rec.tau / gains, payload=payload))
    fit = identify(truth, records, "base", rates="measured", band=None, gains=True, check=False)
    assert fit.gains is not None
    # a tenth of a newton metre of noise leaves a few parts in a thousand
    np.testing.assert_allclose(fit.gains.values, gains, atol=4e-3)
    assert (np.abs(fit.gains.values - gains) < 5 * fit.gains.std + 1e-4).all()
    np.testing.assert_allclose(fit["M_P"], _own(truth, fit)[1][0], rtol=0.01)
    with pytest.raises(InputError, match=r"payloads of the recordings \(kg\) is \[0\]"):
        identify(truth, records[0], "base", rates="measured", gains=True, check=False)


def test_gains_are_not_biased_by_the_torques_noise(truth: Robot) -> None:
    gains = np.array([1.05, 0.95, 1.0])
    records = []
    for seed, payload in enumerate((0.0, 2.0)):
        rec = recording_of(truth.with_payload(payload), 4.0, seed, name=f"{payload:g} kg")
        records.append(rec.replace(tau=rec.tau / gains, payload=payload))
    options = {"rates": "measured", "gains": True, "check": False, "terms": "file"}
    fit = identify(truth, records, "base", **options)  # type: ignore[arg-type]
    assert fit.gains is not None
    off = np.abs(fit.gains.values - gains)
    assert (off < 4 * fit.gains.std).all()  # torque beside the parameters would be 3 % low
    assert off.max() < 0.02


def test_a_fit_that_explains_nothing_says_so(truth: Robot, noisy: Recording) -> None:
    fit = identify(truth, noisy.replace(tau=-noisy.tau), rates="measured", check=False)
    assert fit.verdict.grade == "not to be trusted"
    assert any("In its own data the fit leaves" in text for text in fit.verdict.reasons)
    assert "\nnot to be trusted: In its own data" in str(fit)
    assert fit.as_dict()["verdict"]["grade"] == "not to be trusted"


def test_an_identified_robot_has_no_new_parameter(truth: Robot, noisy: Recording) -> None:
    fit = identify(perturbed(truth), noisy, rates="measured")
    assert fit.robot.rotary_arms[0].com_offset == 0.0
    again = identify(fit.robot, noisy, rates="measured")
    assert again.names == fit.names


def test_a_fit_without_an_answer_can_be_saved(
    truth: Robot, noisy: Recording, tmp_path: Path
) -> None:
    fit = identify(truth, noisy, rates="measured", max_iterations=1)
    assert not fit.converged
    _, record = fit.save(tmp_path / "cut")
    assert json.loads(record.read_text("utf-8"))["converged"] is False


def test_a_fit_from_a_file_knows_its_file(truth: Robot, noisy: Recording, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    noisy.save(path)
    fit = identify(truth, str(path), "base")
    with pytest.raises(InputError, match=r"was not fitted to: on its own data a model looks"):
        dd.validate(fit, dd.read_recording(path, robot=truth))
    with pytest.raises(InputError, match=r"trained on these very samples"):
        identify(truth, str(path), "base", validation=dd.read_recording(path, robot=truth))


@pytest.mark.full
def test_what_cannot_be_told_is_refused_or_held() -> None:
    robot = make("example-delta-4")
    rec = recording_of(robot, 0.05, 1, turn=False)
    with pytest.raises(UnidentifiableError, match=r"psi|spindle|axis 4"):
        identify(robot, rec, "base", rates="measured")
    fit = identify(robot, rec, "base", rates="measured", unidentifiable="hold")
    assert "I_psi" in fit.held
    assert "held" in fit.table
    for method in ("base", "convex"):
        fit = identify(robot, rec, method, rates="measured", unidentifiable="hold")
        own = dict(zip(*_own(fit.robot, fit), strict=True))
        before = dict(zip(*_own(robot, fit), strict=True))
        for name in fit.held:  # what is held is in the robot, too
            assert own[name] == pytest.approx(before[name], rel=0.01, abs=1e-3), name


def test_train_and_validation_are_kept_apart(truth: Robot, noisy: Recording) -> None:
    with pytest.raises(InputError, match=r"validation is 'a'; .*trained on these very samples"):
        identify(truth, noisy, rates="measured", validation=noisy.replace())


def test_the_log_of_a_robot_with_a_spindle_is_refused(truth: Robot, tmp_path: Path) -> None:
    path = tmp_path / "four.csv"
    recording_of(make("example-delta-4"), 0.1, 1).save(path)
    log = dd.read_recording(path, robot=truth)
    with pytest.raises(
        InputError, match=r"columns of a fourth axis at .* is \['psi_rad', 'tau4_Nm"
    ):
        identify(truth, log)


def test_a_turned_torque_is_refused(truth: Robot, noisy: Recording) -> None:
    with pytest.raises(InputError, match=r"recording 'a' is 'torque sign'.*opposite sign"):
        identify(truth, noisy.replace(tau=-noisy.tau), rates="measured")


@pytest.mark.full
def test_a_payload_that_was_not_declared_is_found(truth: Robot, noisy: Recording) -> None:
    heavy = recording_of(truth.with_payload(1.5), 0.3, 9, name="heavy")
    with pytest.raises(InputError, match=r"payload of 'heavy'.*about 1\.[45]\d kg: it carried"):
        identify(truth, [noisy, heavy], rates="measured")
    fit = identify(truth, [noisy, heavy.replace(payload=1.5)], rates="measured")
    assert fit["M_P"] == pytest.approx(_own(truth, fit)[1][0], rel=0.03)
    alone = identify(truth, heavy, rates="measured")
    assert any("not declared" in text for text in alone.warnings)


def test_tied_or_not_is_said(truth: Robot) -> None:
    other = unequal(truth, 0.05)
    log = recording_of(other, 0.1, 3)
    for options in ({}, {"tied": "auto", "terms": "file"}):  # by evidence, and by a test
        fit = identify(truth, log, "base", rates="measured", **options)  # type: ignore[arg-type]
        assert not fit.parametrisation.tied
    tied = identify(truth, log, "base", rates="measured", terms="file")
    assert tied.parametrisation.tied
    assert any("limbs differ" in text for text in tied.warnings)


def test_wrong_arguments_have_their_message(truth: Robot, noisy: Recording) -> None:
    with pytest.raises(UnknownNameError, match=r"method is 'best'; allowed: one of 'swarm'"):
        identify(truth, noisy, "best")
    with pytest.raises(UnknownNameError, match=r"option of 'base' is 'particles'"):
        identify(truth, noisy, "base", particles=3)
    with pytest.raises(UnknownNameError, match=r"model for 'convex' is 'virtual-work'"):
        identify(truth, noisy, model="virtual-work")
    with pytest.raises(UnknownNameError, match=r"model for 'base' is 'magic'"):
        identify(truth, noisy, "base", model="magic")
    with pytest.raises(InputError, match=r"weights is 'some'; allowed: 'covariance', 'equal' or 3"):
        identify(truth, noisy, "base", weights="some", rates="measured")
    with pytest.raises(InputError, match=r"weights is \[1, 2\]; allowed: 3 numbers above 0"):
        identify(truth, noisy, "base", weights=[1.0, 2.0], rates="measured")
    with pytest.raises(InputError, match=r"tied is 'maybe'"):
        identify(truth, noisy, "base", tied="maybe", rates="measured")
    with pytest.raises(InputError, match=r"unidentifiable is 'drop'"):
        identify(truth, noisy, "base", unidentifiable="drop")
    with pytest.raises(InputError, match=r"recordings is 2; .*two|recordings is 1; allowed: two"):
        identify(dd.load_robot("telescopic-delta"), noisy, "two-step")
    with pytest.raises(InputError, match=r"axes of the recording"):
        identify(dd.load_robot("telescopic-delta"), noisy)
