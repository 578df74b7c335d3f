"""Fits with parameters of the log beside the robot's, rows left out, and priors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.identification.motions import RATE, recording_of, swing

import deltadyn as dd
from deltadyn.arrays import BoolArray, FloatArray, contract
from deltadyn.dynamics.base import exciting_states
from deltadyn.errors import InputError
from deltadyn.identification import Fit, covariance, identify, load_information, parametrise
from deltadyn.identification.extra import Extra
from deltadyn.identification.identifiability import identifiability, untold
from deltadyn.identification.identify import _Work
from deltadyn.identification.information import Information, gather, triangle
from deltadyn.identification.loading import Loaded
from deltadyn.identification.methods.base import axis_weights, least
from deltadyn.identification.methods.registry import method_of
from deltadyn.identification.methods.stribeck import settle_stribeck
from deltadyn.identification.options import FitOptions
from deltadyn.identification.prior import prior_rows, prior_without
from deltadyn.identification.problem import Problem, Solver, eliminated, rows_of
from deltadyn.recording import Recording
from deltadyn.recording.prepare.data import Prepared
from deltadyn.report import compare_fits
from deltadyn.robot import Robot
from deltadyn.validation import torque_spread

OFFSET = np.array([0.8, -0.5, 0.3])  # N m
DRIFT = 0.2  # N m/s
NAMES = ("offset1", "offset2", "offset3", "drift")
UNITS = ("N m", "N m", "N m", "N m/s")
NOISE = 0.05  # N m
SLOW = 1.5  # rad/s
SQUARES = ("base", "convex", "log-cholesky", "robust", "rls", "damped", "svd")


def columns(part: Prepared) -> FloatArray:
    """An offset per axis, and one column that grows with time."""
    dof = part.tau.shape[1]
    offsets = np.broadcast_to(np.eye(dof), (len(part), dof, dof))
    return np.concatenate([offsets, np.repeat(part.t[:, None, None], dof, axis=1)], axis=2)


def moving(part: Prepared) -> BoolArray:
    """Rows of axes that move."""
    return np.asarray(np.abs(part.limited(part.state.qd)) > SLOW)


EXTRA = Extra(NAMES, UNITS, columns)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return dd.load_robot("sipro-d3-1200").with_friction(viscous=1.4, coulomb=3.0, smoothing=0.05)


@pytest.fixture(scope="module")
def clean(robot: Robot) -> Recording:
    return recording_of(robot, noise=NOISE)


@pytest.fixture(scope="module")
def log(clean: Recording) -> Recording:
    return clean.replace(tau=clean.tau + OFFSET + DRIFT * clean.t[:, None])


def fitted(
    robot: Robot,
    log: Recording,
    method: str = "base",
    extra: Extra = EXTRA,
    priors: Mapping[str, tuple[float, float]] | None = None,
    of_method: Mapping[str, Any] | None = None,
    **options: Any,
) -> Fit:
    """A fit of a log with columns of its own."""
    asked = FitOptions(**{"model": "exact", "band": None, "check": False} | options)
    loaded = Loaded(robot, log, asked)
    loaded.extra = extra
    information = loaded.information("rigid" if asked.model == "rigid" else "exact")
    way = method_of(method, of_method or {})
    assert isinstance(way, Solver)
    return _Work(loaded.robot, information, loaded, way, asked, priors=priors or {}).fit()


@pytest.fixture(scope="module")
def whole(robot: Robot, log: Recording) -> Fit:
    return fitted(robot, log, extra=replace(EXTRA, keep=moving))


def truth(robot: Robot) -> FloatArray:
    return np.concatenate([parametrise(robot).prior, OFFSET, [DRIFT]])


def close(fit: Fit, want: FloatArray, deviations: float = 5.0) -> bool:
    return bool((np.abs(fit.values - want) <= deviations * fit.std + 1e-12).all())


# Parameters


def test_parameters_of_a_log_have_no_torque_in_a_prediction(robot: Robot) -> None:
    par = parametrise(robot)
    more = par.with_extra(NAMES, UNITS, [1.0, 2.0, 3.0, 4.0])
    state = exciting_states(robot, 20)
    assert more.names == par.names + NAMES
    assert more.own == len(par.names)
    np.testing.assert_array_equal(more.wide(more.prior)[-4:], [1, 2, 3, 4])
    Y = more.columns(robot, state)
    np.testing.assert_array_equal(Y[..., : more.own], par.columns(robot, state))
    assert not Y[..., more.own :].any()
    np.testing.assert_array_equal(
        more.torque(robot, state, more.prior), par.torque(robot, state, par.prior)
    )
    fewer = more.without(["offset2", "A"])
    assert fewer.names[-3:] == ("offset1", "offset3", "drift")
    assert fewer.own == len(par.names) - 1
    np.testing.assert_allclose(fewer.wide(fewer.prior), more.wide(more.prior))


def test_names_of_the_robot_are_refused(robot: Robot) -> None:
    par = parametrise(robot)
    with pytest.raises(InputError, match="none of the robot's"):
        par.with_extra(["Fv1"], ["1"])
    with pytest.raises(InputError, match="units and prior of extra parameters"):
        par.with_extra(["a"], ["1"], [1.0, 2.0])


# Methods


@pytest.mark.parametrize("method", [*SQUARES, "l1"])
def test_a_log_with_offsets_and_drift_is_told(robot: Robot, log: Recording, method: str) -> None:
    weak = {"damped": {"damping": 1e-9}, "svd": {"tolerance": 1e-6}}
    fit = fitted(robot, log, method, of_method=weak.get(method))
    assert fit.converged
    assert fit.log_names == NAMES
    assert close(fit, truth(robot), 7.0 if method == "l1" else 5.0)
    assert fit.residual == pytest.approx(NOISE, rel=0.05)


def test_without_its_columns_the_log_is_told_wrongly(robot: Robot, log: Recording) -> None:
    fit = identify(robot, log, "base", band=None, check=False)
    assert (fit.residual > 5 * NOISE).all()


def test_the_swarm_keeps_what_least_squares_found(robot: Robot, log: Recording) -> None:
    options = {"particles": 20, "neighbours": 4, "iterations": 5}
    fit = fitted(robot, log, "swarm", of_method=options)
    base = fitted(robot, log)
    np.testing.assert_allclose(fit.values[-4:], base.values[-4:])
    assert "offset1, offset2, offset3, drift stayed where least squares put it" in fit.status


def test_the_gray_box_refuses_columns_of_a_log(robot: Robot, log: Recording) -> None:
    with pytest.raises(InputError, match="another one where a log has columns of its own"):
        fitted(robot, log, "gray-box", model="gray-box")


@pytest.mark.full
@pytest.mark.parametrize("method", [*SQUARES, "l1"])
def test_rows_that_are_left_out_are_never_seen(robot: Robot, clean: Recording, method: str) -> None:
    """Most rows are spoiled by kilonewtonmetres; those that are kept are not."""
    assert clean.qd is not None
    slow = np.abs(clean.qd) <= SLOW
    assert slow.mean(axis=0).max() > 0.4
    spoiled = clean.replace(tau=clean.tau + np.where(slow, 1000.0, 0.0))
    weak = {"damped": {"damping": 1e-9}, "svd": {"tolerance": 1e-6}}
    extra = Extra(keep=moving)
    fits = [fitted(robot, item, method, extra, None, weak.get(method)) for item in (spoiled, clean)]
    np.testing.assert_allclose(fits[0].values, fits[1].values, rtol=1e-6)
    assert fits[0].residual == pytest.approx(NOISE, rel=0.05)
    np.testing.assert_array_equal(fits[0].left_out, slow.sum(axis=0))


def test_robust_deviations_are_those_of_kept_rows(robot: Robot, clean: Recording) -> None:
    """With three quarters of the rows left out a median over all of them would be 0."""

    def few(part: Prepared) -> BoolArray:
        return np.broadcast_to(np.arange(len(part)) % 4 == 0, part.tau.T.shape).T

    fit = fitted(robot, clean, "robust", Extra(keep=few))
    assert fit.solver_details["light_share"] == pytest.approx(0.18, abs=0.02)  # of normal residuals


def test_rows_of_a_problem_have_the_columns_of_the_log(robot: Robot, log: Recording) -> None:
    loaded = Loaded(robot, log, FitOptions(band=40.0, check=False))
    loaded.extra = replace(EXTRA, keep=moving)
    information = loaded.information("exact")
    par = information.extended(parametrise(robot))
    weights = axis_weights(information, par)
    problem = Problem(loaded.robot, par, information, weights, loaded.parts, extra=loaded.extra)
    Y, tau = problem.stacked()
    assert len(tau) == information.rows.sum()
    flat = triangle(np.column_stack([Y, tau]))
    R = problem.factor()
    np.testing.assert_allclose(flat.T @ flat, R.T @ R, atol=1e-10 * np.abs(R.T @ R).max())
    (block,) = list(problem.rows())
    assert not block.Y[~block.keep].any()
    part = next(loaded.parts())
    seen = rows_of(loaded.robot, par, information, part, loaded.extra)
    assert seen.tau[~seen.keep].all()  # the page of a fit shows them
    with pytest.raises(InputError, match="extra columns"):
        rows_of(loaded.robot, par, information, part)


# Priors


def test_priors_are_rows_of_least_squares(robot: Robot, log: Recording) -> None:
    known = {"offset1": (0.5, 0.01), "A": (0.08, 0.001)}
    fit = fitted(robot, log, priors=known, weights="equal")
    loaded = Loaded(robot, log, FitOptions(band=None, check=False))
    loaded.extra = EXTRA
    information = loaded.information("exact")
    par = fit.parametrisation
    problem = Problem(loaded.robot, par, information, np.ones(3), loaded.parts, extra=EXTRA)
    Y, tau = problem.stacked()
    more = np.zeros((2, len(par.names)))
    more[0, par.names.index("offset1")], more[1, par.names.index("A")] = 100.0, 1000.0
    want = np.linalg.lstsq(
        np.concatenate([Y, more]), np.concatenate([tau, [50.0, 80.0]]), rcond=None
    )[0]
    np.testing.assert_allclose(fit.values, want, rtol=1e-7)


@pytest.mark.parametrize("method", [*SQUARES, "l1", "swarm"])
def test_every_method_minds_a_sure_prior(robot: Robot, log: Recording, method: str) -> None:
    weak: dict[str, dict[str, Any]] = {
        "damped": {"damping": 1e-9},
        "svd": {"tolerance": 1e-9},
        "swarm": {"particles": 20, "neighbours": 4, "iterations": 5},
    }
    sure = {"offset1": (0.55, 1e-4)}  # the log tells it to some 3e-3
    fit = fitted(robot, log, method, priors=sure, of_method=weak.get(method))
    assert fit["offset1"] == pytest.approx(0.55, abs=1e-3)


def test_a_problem_checks_its_prior(robot: Robot, whole: Fit) -> None:
    par = parametrise(robot)
    information = gather(robot, [("a", [_part(robot)])])
    with pytest.raises(InputError, match="shape of the prior rows"):
        Problem(robot, par, information, np.ones(3), prior_rows=np.ones((1, 3)))
    with pytest.raises(InputError, match=r"prior of A is \[0.1, 0\]"):
        prior_rows(par, {"A": (0.1, 0.0)})
    assert prior_rows(par, {"elsewhere": (0.0, 1.0)}).shape == (0, len(par.names) + 1)


def _part(robot: Robot, noise: float = NOISE, seed: int = 0, count: int = 2000) -> Prepared:
    state = exciting_states(robot, count, seed)
    tau = dd.inverse_dynamics(robot, state)
    tau = tau + noise * np.random.default_rng(seed).standard_normal(tau.shape)
    return Prepared("a", np.arange(count) / RATE, state, tau, RATE)


def test_a_prior_counts_in_the_bread_of_the_covariance(robot: Robot) -> None:
    """White noise: H^-1 Y'Y H^-1 with H = Y'Y + P'P, in units of the residual's deviation."""
    part = _part(robot)
    information = gather(robot, [("a", [part])], extra=EXTRA)
    par = information.extended(parametrise(robot))
    weights = np.full(3, 1 / NOISE)
    R = information.factor(par, weights)[:-1, :-1]
    own = np.sqrt(np.diag(np.linalg.inv(R.T @ R)))
    j = par.names.index("offset1")
    rows = prior_rows(par, {"offset1": (0.0, own[j]), "drift": (0.0, 1e-3 * own[-1])})
    P = rows[:, :-1]
    H = np.linalg.inv(R.T @ R + P.T @ P)
    want = H @ (R.T @ R) @ H
    found = covariance(information, par, None, weights, rows)
    right = R.T @ information.factor(par, weights)[:-1, -1] + P.T @ rows[:, -1]
    np.testing.assert_allclose(found.x, H @ right, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(np.sqrt(np.diag(found.white)), np.sqrt(np.diag(want)), rtol=0.05)
    assert found.std[j] == pytest.approx(np.sqrt(want[j, j]), rel=0.3)
    assert found.std[-1] < 0.01 * own[-1]
    assert not found.unknown.any()
    free = covariance(information, par, None, weights)
    none = covariance(information, par, None, weights, np.zeros((0, len(par.names) + 1)))
    np.testing.assert_array_equal(free.known, none.known)
    # a very weak prior changes nothing but rounding
    loose = prior_rows(par, {"offset1": (0.0, 1e6 * own[j])})
    np.testing.assert_allclose(
        covariance(information, par, None, weights, loose).known, free.known, rtol=1e-6, atol=1e-14
    )


def test_held_parameters_leave_their_prior(robot: Robot) -> None:
    par = parametrise(robot).with_extra(["a", "b"], ["1", "1"], [2.0, 0.0])
    rows = np.zeros((2, len(par.names) + 1))
    rows[0, -3:], rows[1, -3], rows[1, -1] = (1.0, 3.0, 5.0), 1.0, 7.0
    held = np.array([name == "a" for name in par.names])
    left = prior_without(rows, held, par.prior)
    assert left.shape == (1, len(par.names))
    np.testing.assert_array_equal(left[0, -2:], [3.0, 3.0])  # 3 b = 5 - 1 a


# Elimination, the cones, and what cannot be told


def test_elimination_is_the_joint_minimum() -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 9))
    rows[:, 6] = rows[:, 5]  # two columns that cannot be told apart
    factor = triangle(rows)
    left, back = eliminated(factor, 4)
    x = rng.standard_normal(4)
    y, *_ = np.linalg.lstsq(rows[:, 4:8], rows[:, 8] - rows[:, :4] @ x, rcond=1e-10)
    best = np.linalg.norm(rows[:, :4] @ x + rows[:, 4:8] @ y - rows[:, 8])
    assert np.linalg.norm(left @ np.append(x, -1.0)) == pytest.approx(best)
    np.testing.assert_allclose(back @ np.append(x, -1.0), y, atol=1e-12)
    same, none = eliminated(factor, 8)
    assert same is factor
    assert none.shape == (0, 9)


@pytest.mark.full
@pytest.mark.parametrize("model", ["exact", "rigid"])
def test_the_cone_program_finds_the_joint_optimum(robot: Robot, model: str) -> None:
    """Beside cvxpy with robot's and log's parameters in one program, noise pushing to a border."""
    cp = pytest.importorskip("cvxpy")
    part = _part(robot, noise=30.0, count=60, seed=2)
    part = replace(part, tau=part.tau + OFFSET + DRIFT * part.t[:, None])
    information = gather(robot, [("a", [part])], model, extra=EXTRA)
    par = information.extended(parametrise(robot, model))
    rows = prior_rows(par, {"offset1": (0.5, 0.2), "drift": (0.0, 0.1)})
    problem = Problem(robot, par, information, np.full(3, 1 / 30.0), prior_rows=rows)
    method = method_of("convex", {"regularisation": None})
    assert isinstance(method, Solver)
    found = method.solve(problem)
    assert found.converged
    assert found.certificate is not None
    assert found.certificate.holds(1e-6)
    assert found.details["active"]  # the constraints matter here
    bodies, K = problem.bodies()
    R, own = problem.factor(), par.own
    S = bodies.T * bodies.scale
    length = np.linalg.norm(R[:, own:-1], axis=0)
    u, y = cp.Variable(S.shape[1]), cp.Variable(len(NAMES))
    misfit = R[:, :own] @ K @ S @ u + (R[:, own:-1] / length) @ y - R[:, -1]
    constraints = []
    for cone in bodies.cones:
        sizes = np.outer(cone.size, cone.size)
        F = contract("mij,mk->kij", cone.F / sizes, S[list(cone.columns)])
        matrix: Any = sum((u[k] * F[k] for k in range(len(F))), cone.constant / sizes)
        constraints.append(matrix >> 0 if len(sizes) > 1 else matrix[0, 0] >= 0)
    task = cp.Problem(cp.Minimize(cp.sum_squares(misfit) / 2), constraints)
    best = float(task.solve(solver="CLARABEL"))
    assert found.certificate.primal == pytest.approx(best, rel=1e-6)
    squares = np.linalg.norm(R @ np.append(found.x, -1.0)) ** 2 / 2
    assert squares == pytest.approx(found.certificate.primal, rel=1e-9)
    np.testing.assert_allclose(found.x[own:], y.value / length, atol=1e-3)


@pytest.mark.parametrize("model", ["exact", "rigid"])
@pytest.mark.parametrize("method", ["base", "convex"])
def test_a_robot_comes_of_a_fit_with_a_log(
    robot: Robot, log: Recording, model: str, method: str
) -> None:
    fit = fitted(robot, log, method, model=model)
    state = exciting_states(robot, 30)
    want = dd.inverse_dynamics(robot, state)
    np.testing.assert_allclose(fit.torque(state), want, atol=0.02 * np.abs(want).max())
    got = dd.inverse_dynamics(fit.robot, state)
    np.testing.assert_allclose(got, want, atol=0.02 * np.abs(want).max())
    assert fit["drift"] == pytest.approx(DRIFT, abs=0.01)


def doubled(part: Prepared) -> FloatArray:
    """The offset of axis 1 twice, and a column of zeros."""
    found = np.zeros((*part.tau.shape, 4))
    found[:, 0, 0] = 1.0
    found[:, 0, 1] = 3.0
    found[:, 1, 2] = np.tanh(part.state.qd[:, 1] / 0.05)  # the column of Fc2
    return found


DOUBLED = Extra(("offset1", "again1", "coulomb2", "nothing"), ("1",) * 4, doubled)


@pytest.mark.parametrize("method", ["base", "convex"])
def test_columns_that_cannot_be_told_are_held_with_a_word(
    robot: Robot, log: Recording, method: str
) -> None:
    fit = fitted(robot, log, method, DOUBLED)
    assert fit.log_names == ("offset1",)
    assert fit.held == ("again1", "coulomb2", "nothing")
    assert any("again1, coulomb2, nothing stay at their values" in text for text in fit.warnings)
    assert fit.identifiability is not None
    assert fit.identifiability.names == parametrise(robot).names
    assert fit.identifiability.complete


def test_what_a_prior_tells_is_not_held(robot: Robot, log: Recording) -> None:
    priors = {"again1": (0.0, 1.0), "coulomb2": (0.0, 0.1), "nothing": (0.0, 1.0)}
    fit = fitted(robot, log, "convex", DOUBLED, priors)
    assert fit.log_names == DOUBLED.names
    assert fit["nothing"] == pytest.approx(0.0, abs=1e-9)
    assert not fit.held


def test_identifiability_names_no_parameter_of_a_log(robot: Robot, log: Recording) -> None:
    loaded = Loaded(robot, log, FitOptions(band=None, check=False))
    loaded.extra = DOUBLED
    information = loaded.information("exact")
    par = information.extended(parametrise(robot))
    assert untold(information, par) == ("again1", "coulomb2", "nothing")
    found = identifiability(robot, information, par)
    assert set(found.missing) == {"Fc2"}  # its column is in the log, too
    plain = identifiability(robot, information, par.without(DOUBLED.names))
    less = identifiability(robot, information, par.without(("again1", "coulomb2", "nothing")))
    assert less.names == plain.names
    j = plain.names.index("Fc1")
    assert less.std[j] > 0
    assert less.rank == plain.rank == len(plain.names)


@pytest.mark.parametrize("method", ["base", "convex"])
def test_unidentifiable_robots_parameters_are_still_held(method: str) -> None:
    robot = dd.load_robot("example-delta-4").with_friction(viscous=0.4, coulomb=1.2, smoothing=0.05)
    log = recording_of(robot, noise=0.01, turn=False)  # psi rests
    log = log.replace(tau=log.tau + DRIFT * log.t[:, None])
    names = (*NAMES[:3], "offset4", "drift")
    fit = fitted(robot, log, method, Extra(names, ("1",) * 5, columns), unidentifiable="hold")
    assert {"I_psi", "Fv4", "Fc4"} <= set(fit.held)
    assert not {*names} & {*fit.held}
    assert fit.log_names == names
    assert fit["drift"] == pytest.approx(DRIFT, abs=0.01)


def test_limbs_that_the_log_tells_apart_are_not_compared(robot: Robot, log: Recording) -> None:
    def contrasts(part: Prepared) -> FloatArray:
        Y = dd.regressor(robot, part.state, tied=False, com_offset=True)
        chosen = [j for j, name in enumerate(Y.names) if name[:-1] in ("A", "G", "m_x", "G_s")]
        found = Y.Y[..., chosen]
        return found.reshape(*found.shape[:2], -1)

    names = tuple(f"limb{j}" for j in range(12))
    fit = fitted(
        robot,
        log,
        extra=Extra(names, ("1",) * 12, contrasts),
        priors=dict.fromkeys(names, (0.0, 1e-3)),
    )
    assert fit.limbs is None


def test_stribeck_velocities_are_found_beside_a_log(robot: Robot) -> None:
    truth = robot.with_friction(stribeck=4.0, stribeck_velocity=0.4)
    log = recording_of(truth, noise=NOISE)
    log = log.replace(tau=log.tau + OFFSET + DRIFT * log.t[:, None])
    loaded = Loaded(robot, log, FitOptions(band=None, check=False))
    loaded.extra = EXTRA
    found = settle_stribeck(loaded, "exact", None)
    assert found.velocity == pytest.approx(0.4, rel=0.05)


# The fit


def test_a_fit_shows_the_robots_parameters_first(
    whole: Fit, robot: Robot, log: Recording, tmp_path: Path
) -> None:
    assert close(whole, truth(robot))
    own = len(whole.names) - len(NAMES)
    assert whole.names[own:] == whole.log_names == NAMES
    assert whole.units[own:] == UNITS
    lines = whole.table.splitlines()
    assert lines[1 + own] == "of the log:"
    assert lines[2 + own].split()[0] == "offset1"
    assert log.qd is not None
    out = int((np.abs(log.qd[:, 0]) <= SLOW).sum())
    assert f"axis 1: {out} of 4000 rows at rest left out" in whole.text
    _, path = whole.save(tmp_path / "fit")
    record = json.loads(path.read_text())
    assert [row["of"] for row in record["parameters"]] == ["robot"] * own + ["log"] * 4
    assert record["rows_left_out"][0] == out
    assert record["rows"][0] == 4000 - out
    found = compare_fits({"one": path, "two": path})
    assert {item.parameter for item in found.changes} == set(whole.names[:own])
    whole.report(tmp_path / "fit.html")
    page = (tmp_path / "fit.html").read_text()
    assert "What belongs to the log" in page
    assert "rows at rest left out" in page


def test_a_prediction_leaves_the_log_out(whole: Fit, robot: Robot) -> None:
    state = exciting_states(robot, 10)
    torque, half = whole.predict(state)
    want = dd.inverse_dynamics(whole.robot, state)
    np.testing.assert_allclose(torque, want, atol=1e-6 * np.abs(want).max())
    assert np.isfinite(half).all()
    spread = torque_spread(whole, swing(robot, seconds=0.2), draws=4, seed=1)
    assert np.isfinite(spread.mean).all()


def test_saved_information_is_fitted_with_its_log(
    robot: Robot, log: Recording, tmp_path: Path
) -> None:
    loaded = Loaded(robot, log, FitOptions(band=None, check=False))
    loaded.extra = EXTRA
    information: Information = loaded.information("exact")
    information.save(tmp_path / "information.npz")
    fit = identify(robot, load_information(tmp_path / "information.npz"), check=False)
    want = fitted(robot, log, "convex")
    assert fit.log_names == NAMES
    np.testing.assert_allclose(fit.values, want.values, rtol=1e-6)


def test_payloads_are_checked_beside_a_prior(robot: Robot, clean: Recording) -> None:
    """Two logs of which one carries more than is said, with columns that only a prior tells."""
    heavy = recording_of(robot.with_payload(2.0), noise=NOISE, seed=1, name="b")
    priors = {"again1": (0.0, 1.0), "coulomb2": (0.0, 0.1), "nothing": (0.0, 1.0)}
    with pytest.raises(InputError, match=r"payload of 'b'"):
        fitted(robot, [clean, heavy], "base", DOUBLED, priors, check=True)  # type: ignore[arg-type]
    light = recording_of(robot, noise=NOISE, seed=1, name="b")
    fitted(robot, [clean, light], "base", DOUBLED, priors, check=True)  # type: ignore[arg-type]


def test_least_squares_of_a_problem_is_that_of_its_factor(robot: Robot, log: Recording) -> None:
    loaded = Loaded(robot, log, FitOptions(band=None, check=False))
    loaded.extra = EXTRA
    information = loaded.information("exact")
    par = information.extended(parametrise(robot))
    problem = Problem(loaded.robot, par, information, axis_weights(information, par))
    x = least(problem.factor())
    np.testing.assert_allclose(problem.completed(x[: par.own]), x, rtol=1e-8)
