"""The reproduction of gnad2024: its parts by themselves, and the whole on five seeds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deltadyn import Robot, equations_of_motion, load_robot
from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.identification import Bodies
from deltadyn.kinematics import WorkspaceBoundary, workspace
from deltadyn.motion import check_motion, fourier_motion
from deltadyn.report.papers import figures_of
from deltadyn.reproduce.gnad2024 import (
    CROSS_VALIDATION,
    EVIDENCE,
    FAST_SPINDLE,
    ROBOT,
    SLOW_SPINDLE,
    SURROGATE_SPINDLE,
    TABLE_1,
    WEIGHT_RATIOS,
    Hemisphere,
    Identified,
    Samples,
    WeightChoice,
    base_columns,
    bench_robot,
    choose_weight,
    design_series,
    first_guesses,
    fit_hemisphere,
    gnad2024,
    identify_base,
    identify_bodies,
    independent_samples,
    judge,
    machine_friction,
    machine_values,
    mass_matrices,
    own_values,
    realisable_robot,
    series_in,
    simulated_samples,
    surrogate_robot,
    unbounded_spindle,
)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot(ROBOT)


@pytest.fixture(scope="module")
def ball(robot: Robot) -> Hemisphere:
    return fit_hemisphere(workspace(robot, heights=31))


@pytest.fixture(scope="module")
def surrogate(ball: Hemisphere) -> tuple[Bodies, Samples, Samples]:
    """Bodies, a motion to fit and one to choose the weight, one period each."""
    robot, rng = surrogate_robot(), np.random.default_rng(0)
    fit, held_out = (
        simulated_samples(
            robot, design_series(robot, ball, SURROGATE_SPINDLE, k, tries=6).series, 1, rng
        )
        for k in range(2)
    )
    bodies = Bodies.of(robot, tuple(own_values(robot)), "rigid", tied=True, hull=False)
    return bodies, fit, held_out


@pytest.mark.full
@pytest.mark.parametrize("seed", range(5))
def test_every_check_holds(seed: int, tmp_path: Path) -> None:
    """The whole experiment, with excitation, noise and bench of that seed."""
    result = gnad2024(seed=seed)
    failed = [str(check) for check in result.checks if not check.passed]
    assert failed == []
    verdicts = {claim.what: claim.verdict for claim in result.claims}
    assert sum(verdict == "near" for verdict in verdicts.values()) >= 20
    assert len(result.claims) == 47
    json.dumps(result.as_dict(), allow_nan=False)
    if seed == 0:
        page = result.page(tmp_path / "gnad.html").read_text(encoding="utf-8")
        assert len(figures_of(result)) == 8
        for figure in figures_of(result):
            assert figure.title in page
        assert "<script src" not in page  # nothing is fetched
        (table,) = [t for t in result.tables if t.title.startswith("Table I on the bench: all")]
        assert len(table.rows) == 35  # the effector's five variables give four values


def test_catalogue_is_table_1(robot: Robot) -> None:
    own = own_values(robot)
    for name, row in TABLE_1.items():
        assert own[name] == pytest.approx(row["ID geom"], abs=1e-12)  # mass times COM


def test_base_parameters_are_the_papers(robot: Robot, ball: Hemisphere) -> None:
    assert len(base_columns(robot, ball)) == 37


def test_a_hemisphere_in_a_ball_comes_back() -> None:
    """A workspace that is a half ball: the search gives it back, with all shares 1."""
    heights = np.linspace(-1.2, -0.7, 401)
    radius = np.sqrt(np.maximum(0.5**2 - (heights + 0.7) ** 2, 0.0))[:, None] * np.ones(8)
    around = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    best = fit_hemisphere(WorkspaceBoundary(heights, around, radius, "made"))
    assert (best.z, best.radius) == pytest.approx((-0.7, 0.5), abs=0.01)
    assert min(best.covered, best.reachable, best.overlap) > 0.97


@pytest.mark.parametrize("spindle", [FAST_SPINDLE, SLOW_SPINDLE])
def test_series_fill_the_ball_and_axis_4_has_its_pair(
    robot: Robot, ball: Hemisphere, spindle: tuple[float, float]
) -> None:
    rng = np.random.default_rng(1)
    for _ in range(5):
        series = series_in(ball, rng.normal(size=(4, 21)), spindle)
        course = series.at(np.linspace(0, series.period, 2000))
        peaks = np.abs(course.pd[:, 3]).max(), np.abs(course.pdd[:, 3]).max()
        np.testing.assert_allclose(peaks, spindle, rtol=0.01)  # 96 samples miss the peaks
        off = course.p[:, :3] - [0.0, 0.0, ball.z]
        assert np.linalg.norm(off, axis=1).max() == pytest.approx(ball.radius, rel=0.05) or (
            course.p[:, 2].max() == pytest.approx(ball.z, abs=0.02)
        )


def test_an_excitation_keeps_the_limits_and_beats_a_random_one(
    robot: Robot, ball: Hemisphere
) -> None:
    found = design_series(robot, ball, FAST_SPINDLE, 0, tries=12)
    assert found.condition < found.random
    motion = fourier_motion(robot, found.series, rate=200.0, ramp=0.0)
    report = check_motion(unbounded_spindle(robot), motion, model="rigid")
    assert all(item.use is None or item.use < 1.02 for item in report.limits)  # between samples
    assert {item.name for item in check_motion(robot, motion).exceeded} >= {"angle_max"}
    with pytest.raises(InputError, match="tries"):
        design_series(robot, ball, (48.0, 1e4), 0, tries=1)  # rad/s^2: beyond the drive's limit


def test_first_guesses_have_the_papers_split(robot: Robot) -> None:
    guess = first_guesses(robot)["own"]
    bar = guess["upper.m"] + guess["lower.m"]
    assert guess["upper.m"] == pytest.approx(0.6 * bar)
    for name in ("upper.mcz", "upper.Ixx", "lower.mcz", "lower.Ixx", "upper.Izz", "lower.Izz"):
        assert guess[name] == pytest.approx(TABLE_1[name]["RG geom"], rel=5e-3)  # as printed


def test_a_weight_from_the_data_leaves_the_model_right(
    surrogate: tuple[Bodies, Samples, Samples], ball: Hemisphere
) -> None:
    """From 1.4 times the truth, on one period; a wrong weight draws the friction along."""
    bodies, fit, held_out = surrogate
    robot = surrogate_robot()
    nominal = own_values(robot)
    p_reg = {name: 1.4 * value for name, value in nominal.items()}
    choice = choose_weight(bodies, fit.factor(), p_reg, held_out, len(fit.t), EVIDENCE)
    assert all(item.converged for item in choice.fits)
    assert choice.fit.variables == 36
    assert set(choice.chosen) == {CROSS_VALIDATION, EVIDENCE, "L-curve"}
    distances = [item.distance for item in choice.fits]
    assert np.all(np.diff(distances) < 0)  # a larger weight draws nearer
    fits = [item.fit for item in choice.fits]
    assert np.all(np.diff(fits) > -1e-9 * np.array(fits[1:]))
    series = design_series(robot, ball, SURROGATE_SPINDLE, 0, tries=6).series
    motion = fourier_motion(robot, series, rate=100.0, ramp=0.0)
    good, drawn = (judge(item, robot, nominal, motion) for item in (choice.fit, choice.fits[-1]))
    assert good.diagonal < 2.0
    assert good.off_diagonal < 2.0
    assert good.least_eigenvalue > 0
    assert drawn.friction > 3 * good.friction
    assert WEIGHT_RATIOS[-1] > choice.ratio


def test_base_parameters_fit_best(
    surrogate: tuple[Bodies, Samples, Samples], ball: Hemisphere
) -> None:
    bodies, fit, _ = surrogate
    robot = surrogate_robot()
    columns = base_columns(robot, ball)
    factor = fit.factor()
    p = identify_base(factor, columns)
    least = float(np.sum((factor[:, :-1] @ p - factor[:, -1]) ** 2))
    full = identify_bodies(bodies, factor, own_values(robot), 1e-8, reduction=False)
    assert least <= full.fit
    assert full.fit < 1.02 * least
    assert full.variables == 51
    white = independent_samples(fit, p)
    assert 0.7 * len(fit.t) < white <= len(fit.t)


def test_independent_samples_of_a_correlated_residual() -> None:
    """An autoregressive residual with correlation a has (1 - a) / (1 + a) of its samples."""
    rng = np.random.default_rng(2)
    e = rng.normal(size=(20000, 4))
    for k in range(1, len(e)):
        e[k] += 0.8 * e[k - 1]
    samples = Samples(np.arange(20000.0), np.zeros((20000, 4, 1)), e, np.ones(4))
    assert independent_samples(samples, np.zeros(1)) == pytest.approx(20000 / 9, rel=0.3)


def test_friction_of_the_bench_needs_the_papers_factors() -> None:
    t = np.linspace(0, 2 * np.pi, 20001)

    def fitted(speed: float) -> FloatArray:
        rate = np.radians(speed) * np.cos(t)
        columns = np.column_stack([rate, np.sign(rate)])
        torque = np.sign(rate) * machine_friction(np.abs(rate))
        return np.asarray(np.linalg.lstsq(columns, torque, rcond=None)[0])

    fast, slow = fitted(2760.0), fitted(175.0)
    np.testing.assert_allclose(fast, [0.019, 0.807], rtol=0.02)  # section VIII-B
    np.testing.assert_allclose(slow / fast, [5.0, 0.75], rtol=0.03)  # section VIII-C
    friction = bench_robot().friction
    np.testing.assert_array_equal(np.asarray(friction.thinning) > 0, [False, False, False, True])


def test_mass_matrices_of_the_robots_own_parameters(robot: Robot, ball: Hemisphere) -> None:
    series = series_in(replace(ball, radius=0.3), np.ones((4, 21)), SLOW_SPINDLE)
    motion = fourier_motion(robot, series, rate=5.0, ramp=0.0)
    known = equations_of_motion(robot, motion, model="rigid").M
    found = mass_matrices(robot, motion, np.array(list(own_values(robot).values())))
    np.testing.assert_allclose(found, known, atol=1e-9)  # rounding of torques of 100 N m


def test_a_robot_that_no_file_holds_is_passed_over(robot: Robot) -> None:
    """A COM of the bar's upper part above its joint is consistent by eq. 12."""
    own = own_values(robot)
    p = np.array(list(own.values()))

    def fit(values: dict[str, float]) -> Identified:
        return Identified(values, p, 1.0, 1.0, 36, 1, True)

    wrong = own | {"upper.mcz": -0.1}
    fits = (*(fit(wrong) for _ in WEIGHT_RATIOS[:-1]), fit(own))
    choice = WeightChoice(fits, np.ones(len(fits)), np.ones(len(fits)), {EVIDENCE: 2}, EVIDENCE)
    found, ratio = realisable_robot(robot, choice)
    assert own_values(found) == own
    assert ratio == WEIGHT_RATIOS[-1]
    with pytest.raises(InputError, match="identified bodies"):
        realisable_robot(robot, choice._replace(fits=(fit(wrong),) * len(fits)))


def test_machine_values_are_means_over_limbs(robot: Robot) -> None:
    same = machine_values(robot)
    own = own_values(robot)
    assert same.keys() == own.keys()
    for name, value in own.items():
        assert same[name] == pytest.approx(value)


def test_wrong_arguments_are_named() -> None:
    for name in ("tries", "periods", "bench_periods"):
        with pytest.raises(InputError, match=name):
            gnad2024(**{name: 0})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="seed"):
        gnad2024(seed=-1)
