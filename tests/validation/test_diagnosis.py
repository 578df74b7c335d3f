"""The cause of a residual, on machines whose difference from the model is known."""

from __future__ import annotations

import numpy as np
import pytest
from tests.validation.bench import NOISE, RATE, log, robot, run_of

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.motion import Motion
from deltadyn.recording import Recording
from deltadyn.robot import Robot
from deltadyn.simulation.plant.machine import build_machine
from deltadyn.simulation.presets import Preset
from deltadyn.validation import CAUSES, Cause, Validation, validate


def only_cause(found: Validation, name: str) -> Cause:
    """The single cause, which must be this one."""
    assert found.diagnosis.cause == name
    (cause,) = found.diagnosis.causes
    assert name in CAUSES
    assert cause.sentence.startswith(f"{cause.title}: ")
    assert cause.sentence in found.text
    return cause


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_perfect_model_has_no_cause(seed: int) -> None:
    found = validate(robot(), log(seed, current_noise=0.02), band=None)
    assert found.diagnosis.causes == ()
    assert found.diagnosis.cause is None
    assert not found.diagnosis.missing
    assert found.diagnosis.whiteness.white.all()
    assert "Nothing is wrong: what is left does not follow the motion." in found.verdict


def test_a_negligible_residual_is_not_explained() -> None:
    found = validate(robot(), log(current_noise=0.0))
    assert found.diagnosis.causes == ()
    assert found.diagnosis.terms is None
    assert not found.diagnosis.whiteness.white.all()  # what differentiation leaves
    assert "Nothing is wrong: it is below 0.5 %" in found.verdict


def test_friction() -> None:
    found = validate(robot(), log(viscous=0.02, coulomb=0.06))
    cause = only_cause(found, "friction")
    true = run_of(viscous=0.02, coulomb=0.06).truth.robot.friction
    # the step of the tanh is not known to the test: a few percent of the Coulomb torque
    np.testing.assert_allclose(cause.value("viscous"), true.viscous, rtol=0.02)
    np.testing.assert_allclose(cause.value("coulomb"), true.coulomb, rtol=0.02)
    assert cause.share > 0.99
    assert cause.probability > 0.99
    assert np.all(cause.value("coulomb") > 20 * cause.std("coulomb"))


def test_too_much_friction_has_the_other_sign() -> None:
    found = validate(robot().with_friction(viscous=0.5, smoothing=0.02), log())
    cause = only_cause(found, "friction")
    np.testing.assert_allclose(cause.value("viscous"), -0.5, atol=0.01)  # noise of 150 rows
    assert "coulomb" not in cause.sentence


@pytest.mark.parametrize("mass", [0.2, 1.0])
def test_undeclared_payload(mass: float) -> None:
    found = validate(robot(), log(payload=mass).replace(payload=None))
    cause = only_cause(found, "payload")
    (value,), (std,) = cause.value("mass"), cause.std("mass")
    # four deviations, and 2e-3 of the mass for the filter of the rates
    assert abs(value - mass) < 4 * std + 2e-3 * mass
    assert std < 0.01
    assert found.payloads == (0.0,)
    assert "or a platform of another mass" in cause.sentence  # the log cannot tell them apart


def test_declared_payload_is_carried() -> None:
    found = validate(robot(), log(payload=1.0))
    assert found.payloads == (1.0,)
    assert found.diagnosis.causes == ()


def delayed(recording: Recording, samples: int) -> Recording:
    tau = np.concatenate([np.repeat(recording.tau[:1], samples, axis=0), recording.tau[:-samples]])
    return recording.replace(tau=tau)


@pytest.mark.full
def test_delay_and_the_error_without_it() -> None:
    found = validate(robot(), delayed(log(), 3))
    cause = only_cause(found, "delay")
    np.testing.assert_allclose(cause.value("delay"), 3 / RATE, rtol=0.01)
    # the metrics are those of the log as it is; beside them those without the delay
    late = found.diagnosis.without_delay
    assert late is not None
    assert late.delay == pytest.approx(cause.value("delay")[0])
    aligned = validate(robot(), log(), band=found.band)
    np.testing.assert_allclose(late.metrics.rms, aligned.rms, rtol=0.2)  # the ends of the log
    assert np.all(late.metrics.rms < 0.2 * found.rms)
    assert "ms removed from these logs" in found.text
    assert found.as_dict()["diagnosis"]["without_delay"]["delay_s"] == late.delay


@pytest.mark.full
def test_homing() -> None:
    offset = np.array([0.0, 0.02, 0.0])
    recording = log()
    found = validate(robot(), recording.replace(q=recording.q + offset))
    cause = only_cause(found, "homing")
    # the truth stands below the record; noise: 5e-4 rad
    np.testing.assert_allclose(cause.value("homing"), -offset, atol=1e-3)


def test_constant_torque() -> None:
    recording = log()
    found = validate(robot(), recording.replace(tau=recording.tau + np.array([0.0, 1.0, 0.0])))
    cause = only_cause(found, "offset")
    assert cause.value("F0")[1] == pytest.approx(1.0, abs=0.01)
    assert cause.axis_share[1] > 0.99


def test_gain_of_one_drive_is_a_ratio_and_a_scale() -> None:
    recording = log()
    found = validate(robot(), recording.replace(tau=recording.tau * np.array([1.0, 1.1, 1.0])))
    assert {item.name for item in found.diagnosis.causes} == {"torque_ratio", "torque_scale"}
    ratio, scale = (found.diagnosis.of(name) for name in ("torque_ratio", "torque_scale"))
    assert ratio is not None
    assert scale is not None
    assert found.diagnosis.of("drive gain") is ratio  # its name before
    whole = (1 + scale.value("gain")) * (1 + ratio.value("ratio"))
    np.testing.assert_allclose(whole, [1.0, 1.1, 1.0], atol=0.005)  # second order of the ratio


def test_a_common_gain_is_not_taken_for_masses() -> None:
    recording = log()
    found = validate(robot(), recording.replace(tau=1.1 * recording.tau))
    cause = only_cause(found, "torque_scale")
    assert cause.value("gain")[0] == pytest.approx(0.1, abs=0.001)
    assert "or all masses and friction" in cause.sentence


def test_rotor_inertia() -> None:
    motion = run_of().reference
    machine = robot().with_rotor_inertia(0.1)
    run = dd.simulate(machine, motion, rate=RATE, current_noise=NOISE)
    found = validate(robot(), run.recording)
    cause = only_cause(found, "inertia")
    np.testing.assert_allclose(cause.value("A"), 0.1, rtol=0.01)


@pytest.mark.full
def test_a_heavier_arm_is_a_limb_that_differs() -> None:
    found = validate(robot(), log(arm_scale=(1.3, 1.0, 1.0), encoder_counts=2.0**22))
    limbs, inertia = (found.diagnosis.of(name) for name in ("limbs", "inertia"))
    assert limbs is not None
    assert inertia is not None
    assert len(found.diagnosis.causes) == 2
    arm = robot().rotary_arms[0]
    G = dd.regressor(robot(), run_of().reference)
    mean = G.parameters[G.names.index("G")]
    moment = 0.3 * arm.mass * arm.com
    # the mean grows by a third of it; the first limb is above the mean by the other two thirds
    assert inertia.value("G")[0] == pytest.approx(moment / 3, rel=0.1)
    assert limbs.value("G")[0] * (mean + moment / 3) == pytest.approx(2 / 3 * moment, rel=0.1)


def test_two_causes_are_told_apart() -> None:
    found = validate(robot(), log(payload=2.0, viscous=0.02, coulomb=0.06).replace(payload=None))
    assert [item.name for item in found.diagnosis.causes] == ["payload", "friction"]
    payload, friction = found.diagnosis.causes
    assert payload.value("mass")[0] == pytest.approx(2.0, rel=0.002)
    true = run_of(payload=2.0, viscous=0.02, coulomb=0.06).truth.robot.friction
    np.testing.assert_allclose(friction.value("viscous"), true.viscous, rtol=0.02)
    assert "What is wrong, with its probability: payload (1.00), friction (1.00)." in found.verdict
    assert payload.share + friction.share == pytest.approx(1.0, abs=0.01)  # shares add up
    assert found.diagnosis.of("friction") is friction
    assert found.diagnosis.of("delay") is None


def test_a_simplified_model_is_named() -> None:
    found = validate(robot(), log(), dynamics="half-half")
    cause = only_cause(found, "model")
    assert cause.share > 0.99


def test_a_short_log_says_that_it_is_short() -> None:
    short = log(viscous=0.02, coulomb=0.06).take(np.arange(800), "0.8 s")
    found = validate(robot(), short)
    assert found.diagnosis.causes == ()
    assert "too little to tell causes apart" in found.verdict


def modes(machine: Robot, motion: Motion, preset: Preset) -> FloatArray:
    """Frequencies (N, 3) in Hz at which arms and rotors swing against each other, lowest first."""
    stiffness = build_machine(machine, preset).stiffness
    assert stiffness is not None
    M = dd.equations_of_motion(machine.with_rotor_inertia(0.0), motion).M
    give = np.linalg.inv(M) + np.diag(1 / np.array(machine.drives.output_inertia))
    squares = np.sort(np.linalg.eigvals(give * stiffness).real, axis=1)
    frequency: FloatArray = np.sqrt(squares) / (2 * np.pi)
    return frequency


@pytest.mark.full
def test_elastic_gears() -> None:
    """A rough force shakes the arms; a soft controller lets them swing on their gears."""
    machine, motion = robot().with_rotor_inertia(0.39), run_of().reference
    preset = Preset(gear_frequency=60.0, current_noise=NOISE)
    force = np.random.default_rng(0).normal(scale=5.0, size=(len(motion), 3))
    run = dd.simulate(
        machine,
        motion,
        dd.PDFeedforward(machine, stiffness=300.0, damping=10.0),
        rate=RATE,
        preset=preset,
        external_force=lambda t: force[round(t * RATE)],
    )
    found = validate(machine, run.recording)
    assert "it has a narrow peak above the motion" in found.verdict
    own = modes(machine, motion, preset)
    for peak in found.diagnosis.peaks:
        # within the lower modes along the motion, and the resolution of the spectrum
        assert own[:, 0].min() - 1.25 < peak.frequency < own[:, 1].max() + 1.25
        assert f"axis {peak.axis + 1} at {peak.frequency:.3g} Hz" in found.verdict
    assert len(found.diagnosis.peaks) == 3


@pytest.mark.full
def test_ripple() -> None:
    machine, motion = robot().with_rotor_inertia(0.39), run_of().reference
    preset = Preset(ripple=0.02, ripple_waves=64.0, current_noise=NOISE)
    run = dd.simulate(machine, motion, rate=RATE, preset=preset)
    found = validate(machine, run.recording)
    cause = only_cause(found, "ripple")
    waves = float(cause.title.removeprefix("ripple"))
    assert waves == pytest.approx(64, abs=1)  # the travel of 1.2 rad resolves five
    true = np.abs(run.truth.ripple).max(axis=0)
    np.testing.assert_allclose(cause.value("amplitude"), true, rtol=0.1)  # smoothed rates


def test_as_dict_holds_the_causes() -> None:
    found = validate(robot(), log(viscous=0.02, coulomb=0.06)).diagnosis.as_dict()
    (cause,) = found["causes"]
    assert cause["cause"] == "friction"
    assert {item["name"] for item in cause["values"]} == {"viscous", "coulomb"}
    assert cause["probability"] > 0.99
    assert found["missing"] is False
    assert found["whiteness"]["white"] == [False, False, False]


def test_values_of_a_fit_are_those_compared() -> None:
    """A fit whose parameters no robot can have is judged by its own parameters."""
    fit = dd.identify(robot(), log(1, viscous=0.02, coulomb=0.06), "base", terms="file")
    found = validate(fit, log(2, viscous=0.02, coulomb=0.06))
    assert found.diagnosis.of("model") is None
