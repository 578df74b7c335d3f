"""What data can tell, said before a fit, and what would make the rest identifiable."""

import math
import pickle

import numpy as np
import pytest
from tests.identification.coloured import Experiment, fourier_state, simulated

import deltadyn as dd
from deltadyn import errors, excitation
from deltadyn.arrays import FloatArray
from deltadyn.errors import DeltadynError
from deltadyn.identification.advice import (
    MotionLevels,
    advise,
    levels_of_information,
    levels_of_samples,
)
from deltadyn.identification.identifiability import (
    UnidentifiableError,
    hold_unidentifiable,
    identifiability,
    require_identifiable,
    sizes,
)
from deltadyn.identification.parametrisation import parametrise
from deltadyn.identification.uncertainty import covariance
from deltadyn.kinematics.state import State

DELTA = dd.load_robot("example-delta")
SPINDLE = dd.load_robot("example-delta-4")


def swings(seconds: float, frequency: float, size: FloatArray, rate: float = 500.0) -> State:
    """Joint angles that swing about 0.4 rad by size_i (rad) at slightly different frequencies."""
    t = np.arange(round(seconds * rate)) / rate
    w = 2 * np.pi * frequency * np.array([1.0, 1.13, 0.9])
    return State.from_joints(
        DELTA,
        0.4 + size * np.sin(w * t[:, None]),
        size * w * np.cos(w * t[:, None]),
        -size * w**2 * np.sin(w * t[:, None]),
    )


def times(state: State, rate: float = 500.0) -> FloatArray:
    return np.asarray(np.arange(len(state)) / rate, dtype=np.float64)


def test_good_data_tell_all() -> None:
    t, state = fourier_state(DELTA, 10.0, 500.0, frequency=1.0)
    information = simulated(DELTA, t, state, level=0.2)
    par = parametrise(DELTA)
    found = identifiability(DELTA, information, par)
    assert require_identifiable(found) is found
    assert found.complete
    assert found.rank == 10
    assert found.held == ()
    assert found.advice == ()
    assert set(found.essential) >= {"M_P", "A", "G", "Fc1", "Fv3"}
    # a value that the data show counts where it is larger than the robot's own
    np.testing.assert_allclose(found.scale, sizes(DELTA, par), rtol=0.05)
    expected = covariance(information, par, None, None)
    assert np.median(found.std / expected.std) == pytest.approx(1.0, abs=0.1)  # equal noise
    assert "10 of 10 parameters are independent in these data" in found.text
    assert "In sums only: M_P = platform.mass + payload.mass + effector.mass" in str(found)
    assert hold_unidentifiable(par, found).names == par.names


def test_condition_numbers_are_those_of_the_rows() -> None:
    t, state = fourier_state(DELTA, 4.0, 500.0)
    made = Experiment.of(DELTA, t, state)
    par, weights = parametrise(DELTA), np.array([1.0, 2.0, 0.5])
    found = identifiability(DELTA, made.template, par, weights)
    rows = (par.columns(DELTA, state) * weights[:, None]).reshape(-1, 10)
    unit = rows / np.linalg.norm(rows, axis=0)
    assert found.condition_number == pytest.approx(np.linalg.cond(unit), rel=1e-6)
    raw = np.linalg.cond(par.columns(DELTA, state).reshape(-1, 10))
    assert found.raw_condition_number == pytest.approx(raw, rel=1e-6)


def test_psi_that_never_turns() -> None:
    t, state = fourier_state(SPINDLE, 10.0, 500.0, frequency=1.0, turn=0.0)
    information = simulated(SPINDLE, t, state, level=0.3)
    par = parametrise(SPINDLE)
    found = identifiability(SPINDLE, information, par)
    assert found.no_influence == ("I_psi", "Fv4", "Fc4")
    assert found.rank == 19
    assert math.isinf(found.raw_condition_number)
    assert found.drowned == ("I_axial",)  # the shaft turns a little as it tilts
    assert found.advice == (
        "psi never turns: I_axial, I_psi, Fv4, Fc4 cannot be told; turn the spindle",
    )
    with pytest.raises(UnidentifiableError) as caught:
        require_identifiable(found)
    error = caught.value
    assert isinstance(error, DeltadynError)
    assert error.no_influence == ("I_psi", "Fv4", "Fc4", "I_axial")
    assert error.dependent == ()
    assert str(error) == (
        "the recordings do not identify I_psi, Fv4, Fc4, I_axial: psi never turns: I_axial, I_psi, "
        "Fv4, Fc4 cannot be told; turn the spindle; or pass unidentifiable='hold' to keep what "
        "is not identifiable at the robot's own values"
    )
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.advice == error.advice
    rest = hold_unidentifiable(par, found)
    assert {"I_psi", "Fv4", "Fc4"}.isdisjoint(rest.names)
    held = rest.offset[[rest.wide_names.index(name) for name in ("I_psi", "Fv4", "Fc4")]]
    assert np.array_equal(held, par.prior[[par.names.index(n) for n in ("I_psi", "Fv4", "Fc4")]])
    assert np.isfinite(covariance(information, rest, None, np.ones(4)).std).all()
    # The effector's moment shows on axis 4 while psi stands: it is told alone, its inertia is not.
    assert {"effector.mcx", "effector.mcy", "arm.mcz"} <= set(found.separable)
    assert {"effector.Izz", "rotor4"} <= set(found.silent)


def test_noise_of_an_axis_at_rest_is_no_motion() -> None:
    t, state = fourier_state(SPINDLE, 10.0, 500.0, frequency=1.0, turn=0.0)
    rng = np.random.default_rng(0)
    jitter = (
        np.eye(4)[3] * rng.standard_normal((2, len(t), 1)) * np.array([5e-4, 0.05])[:, None, None]
    )
    shaky = State.from_joints(SPINDLE, state.q, state.qd + jitter[0], state.qdd + jitter[1])
    found = identifiability(SPINDLE, simulated(SPINDLE, t, shaky, level=0.3), parametrise(SPINDLE))
    assert found.no_influence == ("I_psi", "Fv4", "Fc4")
    assert np.isinf(found.std[found.names.index("Fc4")])  # sign(noise) would tell it to a per cent
    with pytest.raises(UnidentifiableError, match="psi never turns: "):
        require_identifiable(found)


def test_axis_that_stands_still() -> None:
    state = swings(8.0, 1.5, np.array([0.25, 0.0, 0.2]))
    information = simulated(DELTA, times(state), state, level=0.3)
    found = identifiability(DELTA, information, parametrise(DELTA, tied=False))
    assert {"Fv2", "Fc2"} <= set(found.no_influence)
    assert levels_of_information(information).still == (False, True, False)
    with pytest.raises(
        UnidentifiableError, match=r"axis 2 stands still: .*Fv2, Fc2 cannot be told; move axis 2"
    ):
        require_identifiable(found)


def test_axes_that_never_reverse() -> None:
    robot = DELTA.with_friction(offset=(0.1, 0.0, -0.1))
    t = np.arange(4000) / 500.0
    turn = np.array([0.09, 0.1, 0.11])
    w = 2 * np.pi * np.array([1.5, 1.7, 1.3])
    ripple = 0.9 * turn / w  # the rate stays above a tenth of its mean
    q = -0.2 + turn * t[:, None] + ripple * np.sin(w * t[:, None])
    qd = turn + ripple * w * np.cos(w * t[:, None])
    qdd = -ripple * w**2 * np.sin(w * t[:, None])
    state = State.from_joints(robot, q, qd, qdd)
    information = simulated(robot, t, state, level=0.01)
    found = identifiability(robot, information, parametrise(robot))
    assert found.dependent == ("Fc1", "Fc2", "Fc3", "F01", "F02", "F03")
    assert found.sums == ("Fc1 + F01", "Fc2 + F02", "Fc3 + F03")
    assert len(found.held) >= 3  # one of each pair
    with pytest.raises(UnidentifiableError) as caught:
        require_identifiable(found)
    assert (
        "axis 1 never reverses: Fc1, F01 cannot be told from an offset or from gravity; move axis "
        "1 both ways"
    ) in caught.value.advice
    assert "only these sums are identifiable: Fc1 + F01, Fc2 + F02, Fc3 + F03" in str(caught.value)
    assert "Told in sums only: Fc1 + F01, Fc2 + F02, Fc3 + F03." in found.text
    # Without a parameter for the offset the sign is seen in the gravity column.
    plain = simulated(DELTA, t, State.from_joints(DELTA, q, qd, qdd))
    assert levels_of_information(plain).one_way == (True, True, True)
    part = Experiment.of(DELTA, t, State.from_joints(DELTA, q, qd, qdd)).part
    assert levels_of_samples(DELTA, [part]).one_way == (True, True, True)


def test_slow_motion_hides_inertia_in_gravity() -> None:
    state = swings(20.0, 0.05, np.array([0.3, 0.25, 0.2]))
    information = simulated(DELTA, times(state), state, level=0.3)
    found = identifiability(DELTA, information, parametrise(DELTA))
    assert found.drowned == ("A",)
    assert "m_x" in found.weak  # at rest it weighs as M_P and G do, and cannot be told from them
    assert found.no_influence == ()
    with pytest.raises(
        UnidentifiableError,
        match=r"the arms accelerate by 0\.02\d? rad/s\^2 \(RMS\) only: m_x, A cannot be told from "
        r"gravity \(G, M_P\); move faster",
    ):
        require_identifiable(found)
    assert "Hidden by noise: A." in found.text
    assert {"m_x", "A"} <= set(found.held)


def test_levels_of_samples_are_those_of_the_columns() -> None:
    t, state = fourier_state(SPINDLE, 6.0, 500.0)
    made = Experiment.of(SPINDLE, t, state)
    from_columns = levels_of_information(made.template)
    from_samples = levels_of_samples(SPINDLE, [made.part])
    assert from_columns.rate == pytest.approx(from_samples.rate, rel=1e-9)
    assert from_columns.acceleration == pytest.approx(from_samples.acceleration, rel=1e-9)
    assert from_columns.one_way == from_samples.one_way == (False,) * 4
    # cos and sin span the spread of an angle to second order of 0.2 rad.
    assert from_columns.spread == pytest.approx(from_samples.spread, rel=0.05)
    assert math.isnan(from_columns.tilt)
    assert 0.05 < from_samples.tilt < 0.4
    rigid = Experiment.of(SPINDLE, t, state, source="rigid")
    other = levels_of_information(rigid.template)
    assert other.rate == pytest.approx(from_samples.rate, rel=1e-9)
    assert other.acceleration == pytest.approx(from_samples.acceleration, rel=1e-9)


def test_advice_follows_the_levels() -> None:
    def levels(rate: float = 1.0, tilt: float = 0.2, spread: float = 0.2) -> MotionLevels:
        four = np.full(4, 1.0)
        return MotionLevels(rate * four, 10 * four, (False,) * 4, np.full(3, spread), tilt)

    (text,) = advise(["H", "mu"], levels(tilt=math.radians(1.0)))
    assert text == (
        "the spindle's tilt stays below 1 deg: H, mu cannot be told; move far from the centre, up "
        "and down, with high accelerations"
    )
    (text,) = advise(["I_psi"], levels(), poorly=True)
    assert text == (
        "psi turns at 1 rad/s and 10 rad/s^2 (RMS): I_psi is told poorly; turn the spindle faster, "
        "both ways, or for longer"
    )
    (text,) = advise(["G", "M_P"], levels(spread=0.001))
    assert text == (
        "the arms stay within 0.001 rad (RMS) of one pose: G, M_P cannot be told; move over more "
        "of the workspace"
    )
    (text,) = advise(["G"], levels(rate=0.0))
    assert text == "the arms stand still: G cannot be told; move the platform"
    (text,) = advise(["mu2"], levels())
    assert text.startswith("axis 2 moves at 1 rad/s (RMS): mu2 cannot be told; move axis 2 both")
    (text,) = advise(["A2"], levels(rate=0.0))
    assert text == "axis 2 stands still: A2 cannot be told; move axis 2"
    (text,) = advise(["m_x"], levels())
    assert text.startswith("the arms accelerate by 10 rad/s^2 (RMS), too much alike: m_x cannot be")
    (text,) = advise(["rho2"], levels(), poorly=True)
    assert text.startswith("rho2 is told poorly in this motion; move all axes at once")
    assert advise([], levels()) == ()


def test_weak_parameters_and_those_that_hang_together() -> None:
    t, state = fourier_state(SPINDLE, 10.0, 500.0)
    found = identifiability(SPINDLE, simulated(SPINDLE, t, state), parametrise(SPINDLE))
    share = dict(zip(found.names, found.relative, strict=True))
    assert all(share[name] > 0.3 for name in found.weak)
    assert all(share[name] < 0.1 for name in found.essential)
    assert {"H", "kappa", "I_axial"} <= set(found.weak)
    assert ("H", "kappa") in found.together
    assert "Weak because they hang together:" in found.text
    assert "I_axial" in found.held  # far weaker than its size: the robot's value is better
    rest = hold_unidentifiable(parametrise(SPINDLE), found)
    after = identifiability(SPINDLE, simulated(SPINDLE, t, state), rest)
    assert after.held == ()


def test_sizes_of_parameters_that_the_robot_file_sets_to_zero() -> None:
    robot = DELTA.with_friction(viscous=(0.0,) * 3, coulomb=(0.0,) * 3)
    par = parametrise(robot)
    size = dict(zip(par.names, sizes(robot, par), strict=True))
    assert size["A"] == par.prior[par.names.index("A")]
    assert 0.05 < size["Fc1"] < 5.0  # N m: 1 % of the torque at 5 g
    assert size["Fv1"] > 0


def test_rigid_model_holds_small_terms_but_does_not_refuse() -> None:
    t, state = fourier_state(DELTA, 10.0, 500.0, frequency=1.0)
    found = identifiability(
        DELTA, simulated(DELTA, t, state, source="rigid"), parametrise(DELTA, "rigid")
    )
    assert found.drowned
    assert require_identifiable(found) is found
    assert set(found.drowned) <= set(found.held)
    assert any(text.startswith("arm.Iyy = arm.Iyy + ") for text in found.grouped)


def test_lumped_models_name_no_bodies() -> None:
    t, state = fourier_state(DELTA, 4.0, 500.0, frequency=1.0)
    found = identifiability(
        DELTA, simulated(DELTA, t, state, level=0.1), parametrise(DELTA, "virtual-work")
    )
    assert found.grouped == ("the parameters of 'virtual-work' lump the bodies together",)
    assert found.complete


def test_without_gravity_the_gravity_moments_have_no_influence() -> None:
    robot = DELTA.replace(gravity=0.0)
    t, state = fourier_state(robot, 6.0, 500.0, frequency=1.0)
    found = identifiability(robot, simulated(robot, t, state, level=0.1), parametrise(robot))
    assert found.no_influence == ("G",)
    assert set(found.held) == {"G"}


def test_friction_that_the_file_leaves_out_counts_by_what_the_data_show() -> None:
    t, state = fourier_state(DELTA, 10.0, 500.0, frequency=1.0)
    information = simulated(DELTA, t, state, level=1.0)
    bare = DELTA.with_friction(viscous=0.0, coulomb=0.0)
    found = identifiability(bare, information, parametrise(bare))
    assert found.complete
    shown = dict(zip(found.names, found.scale, strict=True))
    assert shown["Fc1"] == pytest.approx(1.5, rel=0.2)
    assert "Fc1" not in found.weak


def test_there_is_one_error_for_what_cannot_be_identified() -> None:
    assert excitation.UnidentifiableError is errors.UnidentifiableError
    assert UnidentifiableError is errors.UnidentifiableError
    error = UnidentifiableError(["a"], ["b", "c"], ["b + 2 c"], ["axis 1 stands still"])
    assert pickle.loads(pickle.dumps(error)).sums == ("b + 2 c",)
    assert str(error).startswith("the recordings do not identify a, b, c: axis 1 stands still; ")
