"""Two-step identification: exact data give the truth, wrong input is refused by name."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import deltadyn as dd
from deltadyn.dynamics import inverse_dynamics
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.methods import two_step as module
from deltadyn.identification.methods.two_step import (
    TwoStep,
    TwoStepResult,
    _arm,
    _not_negative,
    _prepared,
    _shaped,
    arms_alone,
    parameter,
    two_step,
    with_parameters,
    with_prismatic,
    without_rod,
)
from deltadyn.kinematics import State
from deltadyn.motion import Motion, fourier_motion
from deltadyn.recording.prepare.data import prepare
from deltadyn.reproduce.ladder import random_states
from deltadyn.reproduce.telescopic2022 import EXCITATION
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Arm, Effector

EXACT = 1e-8  # least squares on exact data err by rounding, 1e-14 times a condition below 1e3
TRUE_VALUES = {
    "platform.m": 0.8,
    "arm.m": 0.5,
    "strut.m": 0.3,
    "rotor": 0.01,
    "upper.m": 0.2,
    "lower.m": 0.35,
    "prismatic.Fv": 0.4,
}
Pair = tuple[State, Any]


def nominal() -> Robot:
    return dd.load_robot("telescopic-delta")


def true_robot(**friction: Any) -> Robot:
    """Other masses than the nominal robot's, and friction."""
    terms: dict[str, Any] = {
        "viscous": (0.40, 0.50, 0.45, 0.01),
        "coulomb": (0.8, 0.9, 0.7, 0.02),
        **friction,
    }
    return with_parameters(with_prismatic(nominal().with_friction(**terms)), TRUE_VALUES)


def experiments(robot: Robot, model: str = "exact", samples: int = 300) -> tuple[Pair, Pair]:
    """Exact torques at random states without and with the rod."""
    bare = without_rod(robot)
    legs, rod = random_states(bare, samples), random_states(robot, samples, seed=2)
    return (legs, inverse_dynamics(bare, legs, model)), (rod, inverse_dynamics(robot, rod, model))


def largest_error(result: TwoStepResult, robot: Robot) -> float:
    names = result.legs.names + result.rod.names
    return max(abs(result.value(name) - parameter(robot, name)) for name in names)


@pytest.mark.parametrize("model", ["exact", "projected-rod"])
@pytest.mark.parametrize("tied", [True, False])
def test_exact_data_give_the_truth(model: str, tied: bool) -> None:
    robot = true_robot()
    known = {"platform.m": 0.8} if tied else {"rotor": 0.01}  # what the paper's model is given
    start = nominal() if model == "exact" else with_parameters(nominal(), known)
    result = two_step(start, *experiments(robot, model), model=model, tied=tied)
    assert largest_error(result, robot) < EXACT
    for step in result.steps:
        assert step.rms.max() < EXACT
        assert step.std.max() < EXACT
    assert result.status.startswith("No mass, inertia or friction is negative.")


def test_the_identified_robot_predicts_the_torque() -> None:
    robot = true_robot()
    result = two_step(nominal(), *experiments(robot))
    states = random_states(robot, 50, seed=9)
    found = inverse_dynamics(result.robot, states)[:, :3]
    assert np.abs(found - inverse_dynamics(robot, states)[:, :3]).max() < EXACT


def test_unequal_limbs_are_found_one_by_one() -> None:
    robot = with_parameters(true_robot(), {"arm2.m": 0.6, "strut3.m": 0.25, "rotor1": 0.02})
    result = two_step(nominal(), *experiments(robot), tied=False)
    assert "arm2.m" in result.legs.names
    assert largest_error(result, robot) < EXACT


def test_every_friction_term_of_the_model_is_found_or_held() -> None:
    """A gear's loss is held as given, though it grows with the torque that is being fitted."""
    terms: dict[str, Any] = {
        "stribeck": (0.2, 0.3, 0.1, 0.0),
        "stribeck_velocity": 1.5,
        "offset": (-0.1, 0.2, 0.05, 0.0),
        "load": 0.05,
    }
    robot = true_robot(**terms)
    given = {"stribeck": 0.1, "stribeck_velocity": 1.5, "offset": 0.0, "load": 0.05}
    result = two_step(nominal().with_friction(**given), *experiments(robot))
    assert {"Fv1", "Fc2", "Fs3", "F01"} <= set(result.legs.names)
    assert largest_error(result, robot) < EXACT
    assert result.legs.value("F01") == pytest.approx(-0.1)


def test_coulomb_friction_of_both_directions() -> None:
    robot = true_robot(coulomb_negative=(0.7, 0.8, 0.9, 0.02))
    start = nominal().with_friction(coulomb_negative=0.0)
    result = two_step(start, *experiments(robot))
    assert {"Fc+1", "Fc-2"} <= set(result.legs.names)
    assert largest_error(result, robot) < EXACT


def test_effector_and_payload_stay_as_given() -> None:
    effector = Effector(mass=0.4, com=(0.03, -0.02, -0.05), inertia_zz=0.002)
    robot = true_robot().replace(effector=effector).with_payload(0.5)
    start = nominal().replace(effector=effector).with_payload(0.5)
    result = two_step(start, *experiments(robot))
    assert largest_error(result, robot) < EXACT
    assert "effector's mass cannot be told from the platform's" in result.status


def test_a_fourth_axis_without_rod_is_left_out() -> None:
    robot = true_robot()
    bare = without_rod(robot, axes=4)
    four = random_states(bare, 300)
    legs, rod = (four, inverse_dynamics(bare, four)), experiments(robot)[1]
    result = two_step(nominal(), legs, rod)
    assert largest_error(result, robot) < EXACT


def test_recordings_with_rates_are_taken_as_they_are() -> None:
    """Below the band both sides are filtered alike, so exact data stay exact."""
    robot = true_robot()
    motion = fourier_motion(robot, EXCITATION, rate=400.0)
    bare = without_rod(robot, axes=4)

    def recorded(machine: Robot) -> dd.Recording:
        tau = inverse_dynamics(machine, motion)
        return dd.Recording(motion.t, motion.q, tau, qd=motion.qd, qdd=motion.qdd)

    logs = recorded(bare), recorded(robot)
    assert largest_error(two_step(nominal(), *logs), robot) < EXACT
    ready = prepare(bare, logs[0], band=30.0), prepare(robot, logs[1], band=30.0)
    result = two_step(nominal(), *ready)
    assert largest_error(result, robot) < EXACT
    assert result.legs.samples < len(motion.t) / 3


def test_identify_runs_both_steps() -> None:
    """The same numbers through `identify`, with the record of what was asked for."""
    robot = true_robot()
    motion = fourier_motion(robot, EXCITATION, rate=400.0)
    logs = [
        dd.Recording(
            motion.t, motion.q, inverse_dynamics(machine, motion), qd=motion.qd, qdd=motion.qdd
        )
        for machine in (without_rod(robot, axes=4), robot)
    ]
    fit = dd.identify(nominal(), logs, TwoStep(hold=("platform.m",)))
    alone = two_step(nominal(), logs[0], logs[1], hold="platform.m")
    assert fit.names == alone.legs.names + alone.rod.names
    assert fit["lower.m"] == alone.value("lower.m")
    assert fit.held == ("platform.m",)
    assert fit.options["method"] == "two-step"
    assert fit.options["hold"] == ("platform.m",)
    states = random_states(robot, 20, seed=4)
    own = inverse_dynamics(fit.robot, states)[:, :3]
    assert np.abs(fit.torque(states)[:, :3] - own).max() < EXACT


def test_a_declared_payload_counts() -> None:
    robot = true_robot()
    motion = fourier_motion(robot, EXCITATION, rate=400.0)

    def recorded(machine: Robot, payload: float) -> dd.Recording:
        tau = inverse_dynamics(machine.with_payload(payload), motion)
        return dd.Recording(motion.t, motion.q, tau, qd=motion.qd, qdd=motion.qdd, payload=payload)

    legs, rod = recorded(without_rod(robot, axes=4), 0.3), recorded(robot, 1.0)
    result = two_step(nominal(), legs, rod)
    assert largest_error(result, robot) < EXACT
    assert result.robot.payload.mass == 0.0


def test_a_missing_platform_makes_the_rotor_negative_and_is_said() -> None:
    """[telescopic2022] eq. 37 has no platform, and table 2 a negative rotor by eq. 36."""
    robot = with_parameters(true_robot(), {"platform.m": 0.7})
    start = with_parameters(nominal(), {"platform.m": 0.0})
    result = two_step(start, *experiments(robot, "projected-rod"), model="projected-rod")
    # By the sums that the torque holds: m_b grows by a third of the platform, m_a falls by two
    # thirds, and the rotor by the inertia of 1/9 of the platform at the elbow.
    rotor = 0.01 - 0.7 / 9 * nominal().rotary.arm_length[0] ** 2
    assert rotor < 0
    assert result.legs.forbidden == ("rotor",)
    assert result.legs.unbounded[result.legs.names.index("rotor")] == pytest.approx(
        rotor, abs=EXACT
    )
    assert result.value("rotor") == 0.0
    assert result.robot.drives.output_inertia[:3] == (0.0, 0.0, 0.0)
    assert "which no robot has" in result.status
    assert "[telescopic2022] table 2 by eq. 36" in result.status
    assert "Held as given: platform.m." in result.status


@pytest.mark.full
def test_standard_deviations_tell_the_scatter() -> None:
    """Also in the second step, whose doubt is mostly that of the legs it holds."""
    robot = true_robot()
    legs, rod = experiments(robot, samples=200)
    rng = np.random.default_rng(3)
    values, stds = [], []
    for _ in range(25):
        noisy = [(state, tau + rng.normal(0, 0.1, tau.shape)) for state, tau in (legs, rod)]
        result = two_step(nominal(), noisy[0], noisy[1])
        values.append(np.concatenate([step.values for step in result.steps]))
        stds.append(np.concatenate([step.std for step in result.steps]))
    ratio = np.std(values, axis=0) / np.mean(stds, axis=0)
    # 25 draws know a deviation to 14 %, 20 blocks to 16 %; 13 parameters within three of both
    assert np.all((ratio > 0.5) & (ratio < 1.6))


def test_the_virtual_bench_without_noise() -> None:
    """The plant is written apart from the models; what derivatives miss at reversals stays."""
    robot = true_robot(smoothing=0.02)  # as the bench takes where a robot says nothing
    bare = without_rod(robot)
    motion = fourier_motion(robot, EXCITATION, rate=1000.0)
    parts = (motion.p[:, :3], motion.pd[:, :3], motion.pdd[:, :3])
    legs = dd.simulate(bare, Motion.from_platform(bare, motion.t, *parts), rate=1000.0)
    rod = dd.simulate(robot, motion, rate=1000.0)
    assert legs.completed
    assert rod.completed
    ready = (
        prepare(bare, legs.recording, band=30.0, bandwidth=100.0),
        prepare(robot, rod.recording, band=30.0, bandwidth=100.0),
    )
    result = two_step(nominal().with_friction(smoothing=0.02), *ready)
    # A smoother of 100 Hz leaves up to 0.2 % in the rotor, the smallest of the inertias.
    for name in (*result.legs.names, *result.rod.names):
        assert result.value(name) == pytest.approx(parameter(robot, name), rel=0.01), name


def test_weights_by_number_and_name() -> None:
    robot = true_robot()
    legs, rod = experiments(robot)
    rng = np.random.default_rng(1)
    spoiled = (legs[0], legs[1] + rng.normal(0, (0.01, 0.01, 5.0), legs[1].shape))
    errors = {}
    for key, weights in {"equal": "equal", "residual": "residual", "given": (1, 1, 1e-3)}.items():
        result = two_step(nominal(), spoiled, rod, weights=weights)
        errors[key] = abs(result.value("arm.m") - 0.5)
    assert errors["residual"] < 0.2 * errors["equal"]
    assert errors["given"] < 0.2 * errors["equal"]


def test_result_as_text_and_data() -> None:
    result = two_step(nominal(), *experiments(true_robot()), hold="platform.m")
    assert "platform.m" not in result.legs.names
    text = str(result)
    assert "two-step identification, model 'exact'" in text
    assert "prismatic.Fv" in text
    assert "Held as given: platform.m." in text
    data = json.loads(json.dumps(result.as_dict()))
    assert [step["title"] for step in data["steps"]] == ["legs", "rod"]
    assert data["steps"][1]["parameters"][0]["name"] == "upper.m"
    with pytest.raises(UnknownNameError, match=r"parameter is 'M_P'; allowed: one of 'arm\.m'"):
        result.value("M_P")


def test_without_rod_is_the_same_robot_below() -> None:
    robot = true_robot(passive=())
    three, four = without_rod(robot), without_rod(robot, axes=4)
    assert (three.dof, four.dof) == (3, 4)
    assert three.name == "telescopic-delta without rod"
    assert three.friction.viscous == (0.40, 0.50, 0.45)
    assert three.limits.rate == robot.limits.rate[:3]  # type: ignore[index]
    assert all(item.joint != "prismatic" for item in four.friction.passive)
    states = random_states(four, 40)
    arms = inverse_dynamics(four, states)[:, :3]
    assert np.abs(inverse_dynamics(three, arms_alone(states)) - arms).max() < 1e-12


def test_without_rod_refuses() -> None:
    with pytest.raises(InputError, match="robot is 'example-delta'; allowed: a robot with a spin"):
        without_rod(dd.load_robot("example-delta"))
    with pytest.raises(InputError, match="axes is 2; allowed: 3, or 4"):
        without_rod(nominal(), axes=2)
    with pytest.raises(InputError, match="robot is 'str'; allowed: a Robot"):
        without_rod("telescopic-delta")  # type: ignore[arg-type]


def test_wrong_choices_are_refused() -> None:
    data = experiments(true_robot())
    with pytest.raises(UnknownNameError, match="model is 'rigid'; allowed: one of 'exact', 'proj"):
        two_step(nominal(), *data, model="rigid")
    with pytest.raises(InputError, match="robot is 'example-delta'; allowed: a robot with a spin"):
        two_step(dd.load_robot("example-delta"), *data)
    with pytest.raises(UnknownNameError, match=r"hold is 'upper\.m'; allowed: one of 'platform\.m"):
        two_step(nominal(), *data, hold=["upper.m"])
    with pytest.raises(InputError, match="weights is 'hac'; allowed: 'residual', 'equal' or three"):
        two_step(nominal(), *data, weights="hac")
    with pytest.raises(InputError, match=r"weights is \[1, 1, 0\]; allowed"):
        two_step(nominal(), *data, weights=(1, 1, 0))
    massless = with_parameters(nominal(), {"upper.m": 0.0})
    with pytest.raises(InputError, match=r"mass upper\.m is 0; allowed: above 0 kg: its body's"):
        two_step(massless, *data)


def test_wrong_data_are_refused() -> None:
    legs, rod = experiments(true_robot())
    with pytest.raises(InputError, match="axes of rod is 3; allowed: 4: this recording is made"):
        two_step(nominal(), legs, legs)
    with pytest.raises(InputError, match=r"shape of torques of legs is \[300, 4\]; allowed"):
        two_step(nominal(), (legs[0], rod[1]), rod)
    with pytest.raises(InputError, match=r"samples of torques and state of rod is \[299, 300\]"):
        two_step(nominal(), legs, (rod[0], rod[1][1:]))
    tau = legs[1].copy()
    tau[7, 1] = np.nan
    with pytest.raises(InputError, match="torques of legs at row 7, axis 1 is nan; allowed: fin"):
        two_step(nominal(), (legs[0], tau), rod)
    with pytest.raises(InputError, match="legs is 'ndarray'; allowed: a pair"):
        two_step(nominal(), legs[1], rod)
    with pytest.raises(InputError, match=r"legs is 'ndarray'; allowed: \(State, torques\)"):
        two_step(nominal(), (legs[1], legs[1]), rod)
    few = random_states(without_rod(nominal()), 10)
    with pytest.raises(InputError, match="samples of step 'legs' is 10; allowed: at least 20"):
        two_step(nominal(), (few, np.zeros((10, 3))), rod)
    broken = replace(rod[0], qdd=np.full_like(rod[0].qdd, np.nan))
    with pytest.raises(InputError, match="state of rod at row 0 is 'NaN'; allowed: finite"):
        two_step(nominal(), legs, (broken, rod[1]))


def test_friction_terms_that_say_the_same_are_named() -> None:
    """Fc+ max(s, 0) + Fc- min(s, 0) can be any offset."""
    start = nominal().with_friction(coulomb_negative=0.5, offset=0.0)
    with pytest.raises(InputError, match=r"rank of step 'legs' is 13; .*Fc\+1.*Fc-1.*F01"):
        two_step(start, *experiments(true_robot()))


def test_what_cannot_be_told_is_named() -> None:
    legs, rod = experiments(true_robot(), "projected-rod")
    with pytest.raises(InputError, match="rank of step 'legs' is 9; allowed: 10: these") as caught:
        two_step(nominal(), legs, rod, model="projected-rod", hold=())
    assert "platform.m, arm.m, strut.m, rotor; hold some of them" in str(caught.value)
    still = State.from_platform(without_rod(nominal()), legs[0].p)
    with pytest.raises(InputError, match=r"parameters of step 'legs' is .*'rotor', 'Fv1'"):
        two_step(nominal(), (still, legs[1]), rod)


def test_inertia_goes_with_the_mass_where_there_was_one() -> None:
    robot = nominal()
    arm, strut = robot.arms[0], robot.struts[0]
    assert isinstance(arm, Arm)
    assert _arm(arm, 3 * arm.mass).inertia == pytest.approx(3 * arm.inertia, rel=1e-14)
    assert _shaped(strut, 2 * strut.mass).inertia == pytest.approx(2 * strut.inertia, rel=1e-14)
    light = replace(arm, mass=0.0, inertia=0.002)
    assert (_arm(light, 0.5).mass, _arm(light, 0.5).inertia) == (0.5, 0.002)


@pytest.mark.parametrize("asked", [{"band": 30.0}, {"rates": "differences"}, {"bandwidth": 50.0}])
def test_whatever_is_asked_for_is_prepared(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording goes on as it is only where all is left to `two_step`."""
    called: list[dict[str, Any]] = []
    monkeypatch.setattr(module, "prepare", lambda *_, **options: called.append(options))
    robot = nominal()
    t = np.arange(5) / 100
    recording = dd.Recording(t, np.zeros((5, robot.dof)), np.zeros((5, robot.dof)))
    settings = {"band": "auto", "rates": "auto", "bandwidth": None}
    left: Any = SimpleNamespace(**settings)
    assert _prepared(robot, recording, left) is recording
    assert not called
    changed: Any = SimpleNamespace(**(settings | asked))
    _prepared(robot, recording, changed)
    assert called == [settings | asked]


def test_the_arms_move_as_before_without_axis_4() -> None:
    state = random_states(nominal(), 20)
    found = arms_alone(state)
    for name in ("p", "pd", "pdd", "qd", "qdd"):
        np.testing.assert_array_equal(getattr(found, name), getattr(state, name)[:, :3])
    np.testing.assert_array_equal(found.cos_q, state.cos_q)
    assert arms_alone(found) is found


def test_least_squares_without_negative_values() -> None:
    """By the conditions of the optimum: no slope where free, none that points inward at 0."""
    rng = np.random.default_rng(4)
    Y = rng.normal(size=(40, 4)) * [1.0, 1e3, 1e-3, 1.0]
    names = ("arm.m", "strut.m", "rotor", "F01")
    tau = Y @ [1.0, -2e-3, 3e3, -4.0] + 0.01 * rng.normal(size=40)
    x = _not_negative(np.asarray(np.linalg.qr(np.column_stack([Y, tau]), mode="r")), names)
    slope = Y.T @ (Y @ x - tau) / np.linalg.norm(Y, axis=0)
    assert x[1] == 0.0
    assert slope[1] > 1.0
    np.testing.assert_allclose(slope[[0, 2, 3]], 0.0, atol=1e-9)
    assert x[3] < 0  # an offset has either sign
