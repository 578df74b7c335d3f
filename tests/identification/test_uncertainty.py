"""Standard deviations that hold with correlated residuals: coverage, bootstrap, bands, limits."""

from dataclasses import replace

import numpy as np
import pytest
from tests.identification.coloured import SIGMA, Experiment, fourier_state

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.identification import uncertainty as scores
from deltadyn.identification.information import joined
from deltadyn.identification.parametrisation import Parametrisation, parametrise
from deltadyn.identification.uncertainty import (
    Covariance,
    bootstrap,
    covariance,
    t_quantile,
    torque_band,
)
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot

ROBOT = dd.load_robot("example-delta")
WEIGHTS = 1 / SIGMA[:3]
TRIALS = 200


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return Experiment.of(ROBOT, *fourier_state(ROBOT))


def trials(
    made: Experiment, par: Parametrisation, weights: FloatArray, count: int, memory: float = 0.005
) -> list[Covariance]:
    """Covariances of repeated experiments that differ in their noise."""
    rng, clean = np.random.default_rng(0), made.torque()
    return [
        covariance(made.information(clean + made.noise(rng, memory)), par, None, weights)
        for _ in range(count)
    ]


def coverage(found: list[Covariance], truth: FloatArray) -> float:
    """Share of the 95 % intervals that hold the truth, all parameters pooled."""
    ends = np.array([item.interval(0.95) for item in found])
    return float(((ends[..., 0] <= truth) & (truth <= ends[..., 1])).mean())


def test_experiment_equals_gather(experiment: Experiment) -> None:
    # The quick factors of these tests differ from those of gather by a rotation of rows alone.
    tau = experiment.torque() + experiment.noise(np.random.default_rng(1))
    a, b = experiment.information(tau).factors, experiment.gathered(ROBOT, tau).factors
    gram = [f.swapaxes(-1, -2) @ f for f in (a, b)]
    assert np.allclose(gram[0], gram[1], rtol=1e-9, atol=1e-9 * np.abs(gram[1]).max())


@pytest.mark.full
@pytest.mark.parametrize("band", [None, 20.0])
def test_intervals_hold_the_truth(band: float | None, experiment: Experiment) -> None:
    par = parametrise(ROBOT)
    made = experiment if band is None else Experiment.of(ROBOT, *fourier_state(ROBOT), band=band)
    found = trials(made, par, WEIGHTS, TRIALS)
    # 2000 intervals, correlated within a trial: 95 % with a deviation of about 0.7 %.
    assert 0.93 < coverage(found, par.prior) < 0.97
    # The mean variance is that of the estimates themselves; 200 trials know it to 10 %.
    spread = np.std([item.x for item in found], axis=0)
    ratio = np.sqrt(np.mean([item.std**2 for item in found], axis=0)) / spread
    assert np.abs(ratio - 1).max() < 0.25
    if band is None:  # AR(1): sqrt((1 + rho) / (1 - rho)) = 3.17 for a slow regressor
        assert np.median([item.inflation for item in found]) == pytest.approx(3.17, rel=0.1)
        white = [replace(item, known=item.white) for item in found]
        assert coverage(white, par.prior) < 0.6


def test_intervals_hold_with_no_more_blocks_than_parameters() -> None:
    par = parametrise(ROBOT)
    made = Experiment.of(ROBOT, *fourier_state(ROBOT, 2.0))
    found = trials(made, par, WEIGHTS, TRIALS)
    assert found[0].blocks == len(par.names) == 10
    # 92 % without the correction of the scores, 87 % with normal quantiles besides.
    assert 0.93 < coverage(found, par.prior) < 0.97


def test_intervals_hold_on_a_spindle_robot_and_unknown_weights() -> None:
    robot = dd.load_robot("example-delta-4")
    made = Experiment.of(robot, *fourier_state(robot, rate=500.0))
    par = parametrise(robot)
    # 22 parameters, 50 blocks, and weights that ignore the noise of psi: 1100 intervals.
    found = trials(made, par, np.ones(4), 50)
    assert 0.92 < coverage(found, par.prior) < 0.98


def test_residuals_that_outlast_a_block_use_neighbours() -> None:
    made = Experiment.of(ROBOT, *fourier_state(ROBOT, 40.0, 250.0, frequency=0.05))
    par = parametrise(ROBOT)
    found = trials(made, par, WEIGHTS, 60, memory=0.5)
    assert all(item.correlation > 0.3 for item in found)
    assert "with Bartlett weights over" in found[0].status
    # Kernel estimates stay a little low; without neighbours coverage is 72 %.
    assert 0.87 < coverage(found, par.prior) < 0.98


def test_bootstrap_agrees(experiment: Experiment) -> None:
    par = parametrise(ROBOT)
    tau = experiment.torque() + experiment.noise(np.random.default_rng(3))
    information = experiment.information(tau)
    found = covariance(information, par, None, WEIGHTS)
    drawn = bootstrap(information, par, WEIGHTS, resamples=500, seed=1)
    # 500 draws know a deviation to 3 %; both estimates share their blocks.
    assert np.abs(drawn.std / found.std - 1).max() < 0.2
    assert np.allclose(drawn.x, found.x, rtol=1e-9)
    assert drawn.status == "500 draws of 50 blocks of time, 1 in a row."
    low, high = drawn.interval().T
    assert ((low < drawn.x) & (drawn.x < high)).all()
    again = bootstrap(information, par, WEIGHTS, resamples=500, seed=1)
    assert np.array_equal(again.samples, drawn.samples)
    assert drawn.matrix.shape == (10, 10)


def test_bootstrap_draws_neighbours_of_slow_noise() -> None:
    made = Experiment.of(ROBOT, *fourier_state(ROBOT, 40.0, 250.0, frequency=0.05))
    par = parametrise(ROBOT)
    information = made.information(made.torque() + made.noise(np.random.default_rng(0), 0.5))
    drawn = bootstrap(information, par, WEIGHTS, resamples=300)
    found = covariance(information, par, None, WEIGHTS)
    assert drawn.span > 1
    assert f"{drawn.span} in a row" in drawn.status
    assert 0.7 < np.median(drawn.std / found.std) < 1.3


def test_status_counts_blocks_and_warns_of_few() -> None:
    par = parametrise(ROBOT)
    made = Experiment.of(ROBOT, *fourier_state(ROBOT, 3.0))
    information = made.information(made.torque() + made.noise(np.random.default_rng(0)))
    found = covariance(information, par, None, WEIGHTS)
    assert "counted by the scores of 15 blocks of 0.2 s" in found.status
    assert "Only 15 blocks for 10 parameters: the deviations are rough below 20 blocks, 4 s" in (
        found.status
    )
    assert (found.dof < 15).all()  # Student's t is wider for it
    one = covariance(joined(information, 1), par, None, WEIGHTS)
    assert one.blocks == 1
    assert "could not be handled: there is one block of time" in one.status
    assert np.allclose(one.std, np.sqrt(np.diag(one.white)))


def test_what_one_block_tells_takes_the_inflation_of_the_rest() -> None:
    t, state = fourier_state(ROBOT, 6.0)
    qd = state.qd.copy()
    qd[:, 2] = 0.0
    qd[1020:1180, 2] = 1.0  # axis 3 shows its friction inside the sixth block alone
    made = Experiment.of(ROBOT, t, State.from_joints(ROBOT, state.q, qd, state.qdd))
    par = parametrise(ROBOT).without(("Fv3",))
    tau = made.torque() + made.noise(np.random.default_rng(0))
    found = covariance(made.information(tau), par, None, WEIGHTS)
    assert "Fc3 is told by one block alone: the inflation of the others was taken." in found.status
    index = par.names.index("Fc3")
    assert np.isfinite(found.std[index])
    assert found.inflation[index] == pytest.approx(np.median(found.inflation), rel=0.3)


def test_parameters_without_information_have_infinite_deviation() -> None:
    robot = dd.load_robot("example-delta-4")
    t, state = fourier_state(robot, rate=500.0, turn=0.0)
    made = Experiment.of(robot, t, state)
    information = made.information(made.torque() + made.noise(np.random.default_rng(0)))
    par, weights = parametrise(robot), 1 / SIGMA
    found = covariance(information, par, None, weights)
    lost = {name for name, std in zip(par.names, found.std, strict=True) if np.isinf(std)}
    assert lost == {"I_psi", "Fv4", "Fc4"}
    rest = covariance(information, par.without(tuple(lost)), None, weights)
    keep = [j for j, name in enumerate(par.names) if name not in lost]
    assert np.allclose(found.std[keep], rest.std, rtol=1e-6)
    assert np.isinf(np.diag(found.matrix)).sum() == 3
    assert np.isnan(found.inflation).sum() == 3
    with pytest.raises(InputError, match=r"parameters is .*'Fv4'.*hold the others"):
        bootstrap(information, par, weights)
    torque, half = torque_band(par, robot, state, par.prior, found)
    assert np.isfinite(half).all()  # psi stands still here as well
    turning = State.from_platform(robot, state.p, state.pd + np.eye(4)[3], state.pdd)
    torque, half = torque_band(par, robot, turning, par.prior, found)
    assert np.isinf(half[:, 3]).all()
    assert np.isfinite(half[:, :3]).all()
    assert np.isfinite(torque).all()


def test_torque_band_holds_the_true_torque(experiment: Experiment) -> None:
    par = parametrise(ROBOT)
    _, other = fourier_state(ROBOT, 2.0, 20.0, seed=5)
    truth = par.torque(ROBOT, other, par.prior)
    found = trials(experiment, par, WEIGHTS, 100)
    inside = []
    for item in found:
        torque, half = torque_band(par, ROBOT, other, item.x, item)
        inside.append(np.abs(torque - truth) <= half)
    assert 0.92 < np.mean(inside) < 0.98  # 100 trials of some 10 independent torques
    torque, half = torque_band(par, ROBOT, other, found[0].x, found[0])
    _, wide = torque_band(par, ROBOT, other, found[0].x, found[0], prediction=True)
    # The residual's own deviation is 1 N m: 1.96 N m beside the band, root of squares.
    assert np.allclose(wide**2 - half**2, (1.96 * found[0].residual_std) ** 2, rtol=1e-3)
    assert found[0].residual_std == pytest.approx(np.ones(3), rel=0.1)
    _, narrow = torque_band(par, ROBOT, other, found[0].x, found[0], level=0.5)
    assert (narrow < half).all()


def test_covariance_does_not_depend_on_the_unit_of_weights_or_the_joining_of_blocks(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    par = parametrise(ROBOT)
    information = experiment.information(
        experiment.torque() + experiment.noise(np.random.default_rng(4))
    )
    found = covariance(information, par, None, WEIGHTS)
    scaled = covariance(information, par, None, 1e3 * np.tile(WEIGHTS, (information.blocks, 1)))
    assert np.allclose(scaled.matrix, found.matrix, rtol=1e-6)
    assert np.allclose(covariance(information, par, found.x, WEIGHTS).matrix, found.matrix)
    monkeypatch.setattr(scores, "MOST_BLOCKS", 25)
    fewer = covariance(information, par, None, WEIGHTS)
    assert fewer.blocks == 25
    assert "25 blocks of 0.4 s" in fewer.status
    # Variances from 25 instead of 50 blocks of one record: alike to some 20 %.
    assert np.abs(np.log(fewer.std / found.std)).max() < 0.5
    assert np.median(fewer.dof / found.dof) < 0.7


def test_constant_factors_of_the_t_quantile() -> None:
    # Tables of Student's t: 2.228 with 10 degrees of freedom, 1.960 with infinitely many.
    assert t_quantile(0.95, np.array([10.0, np.inf])) == pytest.approx([2.2281, 1.9600], abs=1e-4)


def test_noise_free_data_have_no_deviation(experiment: Experiment) -> None:
    par = parametrise(ROBOT)
    found = covariance(experiment.information(experiment.torque()), par)
    assert np.allclose(found.x, par.prior, rtol=1e-9)
    assert (found.std < 1e-9 * np.abs(par.prior)).all()


def test_refusals(experiment: Experiment) -> None:
    par = parametrise(ROBOT)
    information = experiment.information(experiment.torque())
    with pytest.raises(InputError, match=r"x is .*allowed: 10 finite numbers, one per parameter"):
        covariance(information, par, np.zeros(3))
    with pytest.raises(InputError, match=r"shape of the weights is \[2\]; allowed: \(3,\) or"):
        covariance(information, par, None, np.ones(2))
    with pytest.raises(InputError, match=r"weights is .*allowed: finite numbers of at least 0"):
        covariance(information, par, None, [-1.0, 1.0, 1.0])
    with pytest.raises(InputError, match=r"level is 1\.5; allowed: above 0 and below 1"):
        covariance(information, par).interval(1.5)
    with pytest.raises(InputError, match="resamples is 1; allowed: a whole number of at least 2"):
        bootstrap(information, par, resamples=1)


def test_robots_differ() -> None:
    """A parametrisation of other columns is refused by the information itself."""
    other: Robot = dd.load_robot("example-delta-4")
    made = Experiment.of(ROBOT, *fourier_state(ROBOT, 2.0))
    with pytest.raises(InputError, match=r"parametrisation is .*allowed: the columns"):
        covariance(made.template, parametrise(other))
