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
    assert cause.sentence.startswith(f"{name}: ")
    assert cause.sentence in found.text
    return cause


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_perfect_model_has_no_cause(seed: int) -> None:
    found = validate(robot(), log(seed, current_noise=0.02), band=None)
    assert found.diagnosis.causes == ()
    assert found.diagnosis.cause is None
    assert found.diagnosis.whiteness.white.all()
    assert "looks like sensor noise: no cause stands out" in found.verdict


def test_a_negligible_residual_is_not_explained() -> None:
    found = validate(robot(), log(current_noise=0.0))
    assert found.diagnosis.causes == ()
    assert not found.diagnosis.whiteness.white.all()  # what differentiation leaves
    assert "no cause is looked for" in found.verdict


def test_friction() -> None:
    found = validate(robot(), log(viscous=0.02, coulomb=0.06))
    cause = only_cause(found, "friction")
    true = run_of(viscous=0.02, coulomb=0.06).truth.robot.friction
    # the step of the tanh is not known to the test: a few percent of the Coulomb torque
    np.testing.assert_allclose(cause.value("viscous"), true.viscous, rtol=0.02)
    np.testing.assert_allclose(cause.value("coulomb"), true.coulomb, rtol=0.05)
    assert cause.share > 0.99
    assert np.all(cause.value("coulomb") > 20 * cause.std("coulomb"))


def test_too_much_friction_has_the_other_sign() -> None:
    found = validate(robot().with_friction(viscous=0.5, smoothing=0.02), log())
    cause = only_cause(found, "friction")
    np.testing.assert_allclose(cause.value("viscous"), -0.5, atol=0.01)  # noise of 60 samples
    assert "coulomb" not in cause.sentence


def test_stribeck_shape_is_told() -> None:
    found = validate(robot(), log(viscous=0.02, coulomb=0.06, stribeck=0.5))
    cause = only_cause(found, "friction")
    assert "stribeck" in cause.sentence
    half = 0.5 * np.array(
        run_of(viscous=0.02, coulomb=0.06, stribeck=0.5).truth.robot.friction.coulomb
    )
    # the Stribeck velocity is taken as 6 % of the largest rate, the machine's is 0.3 rad/s
    np.testing.assert_allclose(cause.value("stribeck"), half, rtol=0.5)


@pytest.mark.parametrize("mass", [0.2, 1.0])
def test_undeclared_payload(mass: float) -> None:
    found = validate(robot(), log(payload=mass).replace(payload=None))
    cause = only_cause(found, "payload")
    (value,), (std,) = cause.value("mass"), cause.std("mass")
    # four deviations, and 1e-3 of the mass for the filter of the rates
    assert abs(value - mass) < 4 * std + 1e-3 * mass
    assert std < 0.01
    assert found.payloads == (0.0,)


def test_declared_payload_is_carried() -> None:
    found = validate(robot(), log(payload=1.0))
    assert found.payloads == (1.0,)
    assert found.diagnosis.causes == ()


def delayed(recording: Recording, samples: int) -> Recording:
    tau = np.concatenate([np.repeat(recording.tau[:1], samples, axis=0), recording.tau[:-samples]])
    return recording.replace(tau=tau)


def test_delay() -> None:
    found = validate(robot(), delayed(log(), 3))
    cause = only_cause(found, "delay")
    # the series in the delay ends after its first term: (omega d)^2 / 6 at 3 Hz is 5e-4
    np.testing.assert_allclose(cause.value("lag"), 3 / RATE, rtol=0.02)


def test_homing() -> None:
    offset = np.array([0.0, 0.02, 0.0])
    recording = log()
    found = validate(robot(), recording.replace(q=recording.q + offset))
    cause = only_cause(found, "homing")
    angles = [cause.value(f"angle {axis}")[0] for axis in (1, 2, 3)]
    # the truth stands below the record; second order of the offset and the noise: 5e-4 rad
    np.testing.assert_allclose(angles, -offset, atol=1e-3)


def test_constant_torque() -> None:
    recording = log()
    found = validate(robot(), recording.replace(tau=recording.tau + np.array([0.0, 1.0, 0.0])))
    cause = only_cause(found, "offset")
    assert cause.value("constant torque")[1] == pytest.approx(1.0, abs=0.01)
    assert cause.axis_share[1] > 0.99


def test_drive_gain() -> None:
    recording = log()
    found = validate(robot(), recording.replace(tau=recording.tau * np.array([1.0, 1.1, 1.0])))
    cause = only_cause(found, "drive gain")
    np.testing.assert_allclose(cause.value("gain"), [0.0, 0.1, 0.0], atol=0.002)


def test_rotor_inertia() -> None:
    motion = run_of().reference
    machine = robot().with_rotor_inertia(0.1)
    run = dd.simulate(machine, motion, rate=RATE, current_noise=NOISE)
    found = validate(robot(), run.recording)
    cause = only_cause(found, "inertia")
    np.testing.assert_allclose(cause.value("inertia"), 0.1, rtol=0.01)


def test_a_heavier_arm_is_inertia_and_gravity() -> None:
    found = validate(robot(), log(arm_scale=(1.3, 1.0, 1.0), encoder_counts=2.0**22))
    cause = only_cause(found, "inertia")
    arm = robot().arms[0]
    moment = 0.3 * arm.mass * arm.com
    assert cause.value("moment")[0] == pytest.approx(moment, rel=0.1)
    assert cause.axis_share[0] > 0.9


def test_two_causes_are_told_apart() -> None:
    found = validate(robot(), log(payload=2.0, viscous=0.02, coulomb=0.06).replace(payload=None))
    assert [item.name for item in found.diagnosis.causes] == ["payload", "friction"]
    payload, friction = found.diagnosis.causes
    assert payload.value("mass")[0] == pytest.approx(2.0, rel=0.002)
    true = run_of(payload=2.0, viscous=0.02, coulomb=0.06).truth.robot.friction
    np.testing.assert_allclose(friction.value("viscous"), true.viscous, rtol=0.02)
    assert "Likely cause: payload, then friction." in found.verdict
    assert found.diagnosis.of("friction") is friction
    assert found.diagnosis.of("delay") is None


def modes(machine: Robot, motion: Motion, preset: Preset) -> FloatArray:
    """Frequencies (N, 3) in Hz at which arms and rotors swing against each other, lowest first."""
    stiffness = build_machine(machine, preset).stiffness
    assert stiffness is not None
    M = dd.equations_of_motion(machine.with_rotor_inertia(0.0), motion).M
    give = np.linalg.inv(M) + np.diag(1 / np.array(machine.drives.output_inertia))
    squares = np.sort(np.linalg.eigvals(give * stiffness).real, axis=1)
    frequency: FloatArray = np.sqrt(squares) / (2 * np.pi)
    return frequency


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
    cause = only_cause(found, "elasticity")
    assert np.all(cause.axis_share > 0.3)
    assert "as recorded, not band-limited, shows elasticity." in found.verdict
    own = modes(machine, motion, preset)
    for peak in found.diagnosis.peaks:
        # within the lower modes along the motion, and the resolution of the spectrum
        assert own[:, 0].min() - 1.25 < peak.frequency < own[:, 1].max() + 1.25
        assert f"axis {peak.axis + 1} at {peak.frequency:.3g} Hz" in cause.sentence


@pytest.mark.parametrize("gear", [None, 60.0])
def test_ripple_is_not_taken_for_elasticity(gear: float | None) -> None:
    machine, motion = robot().with_rotor_inertia(0.39), run_of().reference
    preset = Preset(ripple=0.02, ripple_waves=64.0, gear_frequency=gear, current_noise=NOISE)
    run = dd.simulate(machine, motion, rate=RATE, preset=preset)
    found = validate(machine, run.recording)
    cause = found.diagnosis.of("ripple")
    assert cause is not None
    assert found.diagnosis.cause == "ripple"
    waves = [item.waves for item in found.diagnosis.ripple]
    np.testing.assert_allclose(waves, 64, atol=1)  # the travel of 1.2 rad resolves five
    if gear is None:  # a gear that swings with it changes its amplitude
        assert found.diagnosis.of("elasticity") is None
        true = np.abs(run.truth.ripple).max(axis=0)
        amplitudes = [item.amplitude for item in found.diagnosis.ripple]
        np.testing.assert_allclose(amplitudes, true, rtol=0.1)  # smoothed rates take a part of it
    assert f"axis 1 {waves[0]} per turn" in cause.sentence


def test_noise_alone_never_gets_a_clear_cause() -> None:
    """A hundred residuals of coloured noise that has to do with nothing."""
    from deltadyn.validation.diagnosis import candidates, explain
    from deltadyn.validation.evidence import pieces_of, predictor, prepared_recordings
    from deltadyn.validation.metrics import whiteness

    recording = log(viscous=0.02, coulomb=0.06)
    model = predictor(robot())
    ((part,),) = prepared_recordings(robot(), [recording], 60.0, "auto")
    found = candidates(model, pieces_of(model, recording, (part,)))
    rng = np.random.default_rng(0)
    named = 0
    for _ in range(100):
        e = rng.normal(size=found.Y.shape[:2])
        for n in range(1, len(e)):
            e[n] += 0.8 * e[n - 1]
        effective = whiteness([e], part.limited_rate, None).effective
        named += len(explain(found, e, effective, np.full(3, 0.01))) > 0
    assert named <= 2  # of 100: four deviations, eight causes, correlated over 9 samples


def test_as_dict_holds_the_causes() -> None:
    found = validate(robot(), log(viscous=0.02, coulomb=0.06)).diagnosis.as_dict()
    (cause,) = found["causes"]
    assert cause["cause"] == "friction"
    assert {item["name"] for item in cause["values"]} == {"viscous", "coulomb", "stribeck"}
    assert found["whiteness"]["white"] == [False, False, False]
