"""Equal limbs or limbs of their own: power, false alarms on coloured noise, words."""

import numpy as np
import pytest
from tests.identification.coloured import Experiment, fourier_state
from tests.identification.motions import unequal

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.identification.parametrisation import wide_columns
from deltadyn.identification.selection import compare_limbs
from deltadyn.robot import Robot

DELTA = dd.load_robot("example-delta")
TRIALS = 150


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return Experiment.of(DELTA, *fourier_state(DELTA, 10.0, 500.0))


def differing(robot: Robot, share: float) -> FloatArray:
    """Wide parameters whose arms 1 and 3 have inertia and gravity off by this share."""
    wide = wide_columns(robot, "exact")
    values = wide.values.copy()
    for name, factor in (
        ("A1", 1 + share),
        ("G1", 1 + share),
        ("A3", 1 - share),
        ("G3", 1 - share),
    ):
        values[wide.names.index(name)] *= factor
    return values


def test_equal_limbs_stay_tied(experiment: Experiment) -> None:
    tau = experiment.torque() + 0.2 * experiment.noise(np.random.default_rng(0))
    found = compare_limbs(DELTA, experiment.information(tau))
    assert found.tied
    assert found.choice == "tied"
    assert found.p_value > 0.05
    assert found.q == 6  # m_x, A and G of two more arms
    assert found.own.parameters - found.equal.parameters == 6
    assert found.own.squares < found.equal.squares
    assert found.recommendation.startswith(
        "Tied limbs: the data do not speak against equal limbs (F = "
    )
    assert "AIC tied, AICc tied, BIC tied" in str(found)
    # AR(1) with 5 ms at 500 Hz: (1 + rho) / (1 - rho) = 5.1 samples count as one.
    assert found.samples == 15000
    assert found.effective_samples == pytest.approx(15000 / 5.1, rel=0.3)
    assert f"15000 samples count as {found.effective_samples:.0f}" in found.recommendation


def test_noise_free_data(experiment: Experiment) -> None:
    assert compare_limbs(DELTA, experiment.information(experiment.torque())).choice == "tied"
    tau = experiment.torque(differing(DELTA, 1e-3))
    assert compare_limbs(DELTA, experiment.information(tau)).choice == "per arm"


def test_arms_that_differ_by_five_per_cent(experiment: Experiment) -> None:
    tau = experiment.torque(differing(DELTA, 0.05))
    tau = tau + 0.2 * experiment.noise(np.random.default_rng(0))
    found = compare_limbs(DELTA, experiment.information(tau))
    assert not found.tied
    assert found.choice == "per arm"
    assert found.p_value < 1e-3
    assert found.own.aicc < found.equal.aicc
    assert found.own.bic < found.equal.bic
    assert found.recommendation.startswith("Limbs of their own, per arm: the data speak against")
    assert " % off the mean of the arms." in found.recommendation


@pytest.mark.full
def test_false_alarms_on_coloured_noise_are_as_many_as_promised(experiment: Experiment) -> None:
    from scipy.special import fdtrc

    rng, clean = np.random.default_rng(1), experiment.torque()
    p_values, white = [], []
    for _ in range(TRIALS):
        found = compare_limbs(DELTA, experiment.information(clean + experiment.noise(rng)))
        p_values.append(found.p_value)
        dof = found.samples - found.own.parameters
        gain = (found.equal.squares - found.own.squares) / found.q
        white.append(float(fdtrc(found.q, dof, gain / (found.own.squares / dof))))
    alarms = float(np.mean(np.array(p_values) < 0.05))
    # 150 trials at 5 %: a deviation of 1.8 %.
    assert 0.01 <= alarms <= 0.1
    assert np.median(p_values) == pytest.approx(0.5, abs=0.12)  # even over 0..1
    # The textbook's test takes all samples for independent: it cries wolf nearly always.
    assert np.mean(np.array(white) < 0.05) > 0.8


def test_small_differences_are_not_worth_their_parameters(experiment: Experiment) -> None:
    # Between the F-test's 5 % and AICc there is a gap only for many parameters: rigid bodies.
    made = Experiment.of(DELTA, *fourier_state(DELTA, 10.0, 250.0), source="rigid")
    rng = np.random.default_rng(0)
    texts = [
        compare_limbs(DELTA, made.information(made.torque() + made.noise(rng)), "rigid")
        for _ in range(3)
    ]
    assert all(found.tied for found in texts)
    assert all(found.q == 22 for found in texts)  # 34 base parameters against 12


def test_a_robot_whose_file_has_unequal_limbs() -> None:
    robot = unequal(DELTA)
    made = Experiment.of(robot, *fourier_state(robot, 10.0, 500.0))
    tau = made.torque() + 0.2 * made.noise(np.random.default_rng(0))
    assert compare_limbs(robot, made.information(tau)).choice == "per arm"
    # Its own values differ, those of the machine do not.
    wide = wide_columns(robot, "exact")
    values = wide.values.copy()
    for family in ("m_x", "A", "G", "G_s"):
        rows = [wide.names.index(f"{family}{i}") for i in (1, 2, 3)]
        values[rows] = values[rows].mean()
    tau = made.torque(values) + 0.2 * made.noise(np.random.default_rng(0))
    assert compare_limbs(robot, made.information(tau)).choice == "tied"


def test_weights_are_taken(experiment: Experiment) -> None:
    tau = experiment.torque() + experiment.noise(np.random.default_rng(2))
    information = experiment.information(tau)
    one, two = (compare_limbs(DELTA, information, weights=w * np.ones(3)) for w in (1.0, 7.0))
    assert pytest.approx(two.F, rel=1e-9) == one.F
    assert two.own.squares == pytest.approx(49 * one.own.squares, rel=1e-9)


def test_models_without_limbs_of_their_own_are_refused(experiment: Experiment) -> None:
    with pytest.raises(InputError, match="model is 'gray-box'; allowed: one with parameters of"):
        compare_limbs(DELTA, experiment.template, "gray-box")
    with pytest.raises(InputError, match=r"model is 'nothing'; allowed: one of 'exact'"):
        compare_limbs(DELTA, experiment.template, "nothing")
