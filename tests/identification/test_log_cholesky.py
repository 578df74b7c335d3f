"""The log-Cholesky method: its charts, its derivative, and its optimum beside the convex one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.identification.factors import Problem, problem, random_variables

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.bodies.bodies import Bodies
from deltadyn.identification.bodies.charts import LEAST, Chart, charts
from deltadyn.identification.bodies.consistency import consistency, pseudo_inertia
from deltadyn.identification.bodies.guesses import geometric_guess
from deltadyn.identification.bodies.realise import robot_from_standard
from deltadyn.identification.methods import log_cholesky as module
from deltadyn.identification.methods.convex import solve_convex
from deltadyn.identification.methods.log_cholesky import (
    DescentSettings,
    LogCholesky,
    relative_scale,
    solve_log_cholesky,
)

CASES = [
    ("sipro-d3-1200", "exact", False),
    ("sipro-d3-1200", "rigid", False),
    ("sipro-d3-1200", "reduced", True),
    ("example-delta-4", "exact", False),
    ("example-delta-4", "rigid", False),
    ("example-delta-4", "reduced", True),
]


def _bodies(name: str, family: str) -> Bodies:
    robot = dd.load_robot(name)
    if robot.dof == 4:
        robot = robot.with_payload(0.5, (0.05, -0.02, 0.0), 0.001)
    return Bodies.of(robot, None, family, hull=False)


def _each(
    bodies: Bodies, parts: tuple[Chart, ...], u: FloatArray
) -> list[tuple[Chart, FloatArray]]:
    out, start = [], 0
    for part, body in zip(parts, bodies.bodies, strict=True):
        out.append((part, u[start : start + len(body.variables)]))
        start += len(body.variables)
    return out


@pytest.mark.parametrize(("name", "family", "reduction"), CASES)
def test_derivative_is_analytic(name: str, family: str, reduction: bool) -> None:
    """Against the complex step, which has no cancellation."""
    bodies = _bodies(name, family)
    u = random_variables(bodies, 0) / bodies.scale
    rng = np.random.default_rng(0)
    for part, own in _each(bodies, charts(bodies, u, reduction), u):
        pi = part.start(own, LEAST) + 0.3 * rng.normal(size=len(part.names))
        _, D = part.map(pi)
        for j in range(len(pi)):
            step = pi.astype(complex)
            step[j] += 1e-30j
            slope = part.map(step)[0].imag / 1e-30
            np.testing.assert_allclose(D[:, j], slope, rtol=1e-12, atol=1e-14)  # rounding


@pytest.mark.parametrize(("name", "family", "reduction"), CASES)
def test_every_parameter_gives_consistent_bodies(name: str, family: str, reduction: bool) -> None:
    bodies = _bodies(name, family)
    u = bodies.interior / bodies.scale
    parts = charts(bodies, u, reduction)
    rng = np.random.default_rng(1)
    for _ in range(20):
        values = [
            part.map(part.start(own, LEAST) + 2 * rng.normal(size=len(part.names)))[0]
            for part, own in _each(bodies, parts, u)
        ]
        standard = bodies.standard(np.concatenate(values) * bodies.scale)
        report = consistency(standard, robot=bodies.robot, hull=False)
        assert report.consistent, report.text


@pytest.mark.parametrize(("name", "family"), [case[:2] for case in CASES if not case[2]])
def test_charts_reach_every_body_inside(name: str, family: str) -> None:
    bodies = _bodies(name, family)
    for seed in range(5):
        u = random_variables(bodies, seed) / bodies.scale
        for part, own in _each(bodies, charts(bodies, u, False), u):
            back = part.map(part.start(own, LEAST))[0]
            np.testing.assert_allclose(back, own, atol=3e-5)  # a start on the border moves inside


@pytest.mark.parametrize(("name", "family", "reduction"), CASES)
def test_start_is_the_inverse_inside(name: str, family: str, reduction: bool) -> None:
    bodies = _bodies(name, family)
    u = bodies.interior / bodies.scale
    rng = np.random.default_rng(4)
    for part, own in _each(bodies, charts(bodies, u, reduction), u):
        start = part.start(own, LEAST)
        inside = part.map(start + 0.5 * rng.normal(size=start.size))[0]
        back = part.map(part.start(inside, 1e-14))[0]
        np.testing.assert_allclose(back, inside, rtol=1e-10, atol=1e-12)  # rounding


def test_solid_chart_is_the_map_of_the_paper() -> None:
    """Mass and first moments as printed in [gnad2024] eq. 14, inertia from the factor."""
    bodies = _bodies("sipro-d3-1200", "rigid")
    strut = next(k for k, body in enumerate(bodies.bodies) if body.name == "strut")
    u = bodies.interior / bodies.scale
    part, _ = _each(bodies, charts(bodies, u, False), u)[strut]
    assert part.names[0] == "strut.alpha"
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = p = np.random.default_rng(3).normal(size=10)
    e1, e2, e3 = np.exp([d1, d2, d3])
    m, hx, hy, hz, Sxx, Syy, Szz, Sxy, Syz, Sxz = part.map(p)[0] * np.exp(-2 * alpha)
    assert m == pytest.approx(t1**2 + t2**2 + t3**2 + 1)
    assert hx == pytest.approx(t1 * e1)
    assert hy == pytest.approx(t1 * s12 + t2 * e2)
    assert hz == pytest.approx(t1 * s13 + t2 * s23 + t3 * e3)
    assert Syy + Szz == pytest.approx(s12**2 + s23**2 + s13**2 + e2**2 + e3**2)  # I_xx
    assert Sxx + Szz == pytest.approx(s13**2 + s23**2 + e1**2 + e3**2)  # I_yy, mended
    assert Sxx + Syy == pytest.approx(s12**2 + e1**2 + e2**2)  # I_zz, missing there
    assert (-Sxy, -Syz, -Sxz) == pytest.approx((-s12 * e1, -s12 * s13 - s23 * e2, -s13 * e1))


def test_reduction_has_36_variables() -> None:
    """[gnad2024] section VI: 25 of bodies, one rotor, ten of friction."""
    given = problem("abb-irb360-6-1600", "rigid", states=60)
    found = solve_log_cholesky(given.factor, given.K, given.bodies, max_evaluations=50)
    assert len(found.parameters) == 36
    arm = [name for name in found.parameters if name.startswith("arm.")]
    assert arm == ["arm.alpha", "arm.t1", "arm.t3", "arm.d"]
    assert "log rotor4" in found.parameters
    assert "log rotor" not in found.parameters
    strut = np.array([found.standard[f"strut.{e}"] for e in ("Ixy", "Iyz", "Ixz", "mcy", "mcz")])
    assert not strut.any()
    full = solve_log_cholesky(
        given.factor, given.K, given.bodies, reduction=False, max_evaluations=5
    )
    assert len(full.parameters) == 51


def _convex_total(given: Problem, bodies: Bodies, prior: FloatArray, strength: float) -> float:
    found = solve_convex(
        given.factor, given.K, bodies, prior, strength=strength, scale=relative_scale(bodies, prior)
    )
    assert found.converged, found.status
    return found.objective + found.regularisation


@pytest.mark.full
def test_100_random_starts_come_to_the_convex_optimum() -> None:
    """Same objective, same constraints, one minimum: every start ends there."""
    given = problem("sipro-d3-1200", "exact", hull=False, states=100)
    best = _convex_total(given, given.bodies, given.bodies.prior, 1e-6)
    for seed in range(100):
        found = solve_log_cholesky(given.factor, given.K, given.bodies, guess="random", seed=seed)
        assert found.converged, found.status
        total = found.objective + found.regularisation
        assert total == pytest.approx(best, rel=1e-8)  # the convex solve's own gap


#: p_reg over the robot's own values, the weight of eq. 15, and the arm's first moment.
VALLEYS = [
    pytest.param(0.7, 1e-2, id="below"),
    pytest.param(1.4, 1e-2, id="above"),
    pytest.param(0.7, 1e-5, id="below, weak"),
    pytest.param("geometric", 1e-5, id="geometric, weak"),
    pytest.param("geometric", 1.0, id="geometric"),
]


@pytest.mark.parametrize(("prior", "weight"), VALLEYS)
def test_a_flat_valley_is_followed_to_its_end(prior: float | str, weight: float) -> None:
    """What data do not identify is drawn by a weight 1e9 times weaker than they are.

    A descent that stops where J falls no faster than its rounding ends anywhere in the valley, with
    a COM behind the shoulder; the parameters are those of the proven optimum.
    """
    given = problem("abb-irb360-6-1600", "rigid", hull=False, noise=0.02, states=300)
    if prior == "geometric":
        values = geometric_guess(given.robot) | {"rotor": 0.0}
    else:
        own = given.bodies.prior.tolist()
        values = {n: float(prior) * v for n, v in zip(given.bodies.names, own, strict=True)}
    args = (given.factor, given.K, given.bodies, values)
    found = solve_log_cholesky(*args, weight=weight)
    proved = solve_log_cholesky(*args, weight=weight, finish="convex")
    assert found.converged, found.status
    assert found.certificate is None
    assert proved.certificate is not None
    total = found.objective + found.regularisation
    above = total - found.unconstrained  # where the valley is
    assert total <= proved.certificate.primal + 1e-7 * above
    assert total >= proved.certificate.dual - 1e-7 * above  # no bodies have less
    assert proved.certificate.gap < 1e-6 * above
    for name in ("arm.mcx", "arm.Iyy", "strut.mcx", "platform.m", "upper.mcz", "lower.m"):
        size = abs(values[name])
        assert found.standard[name] == pytest.approx(proved.standard[name], abs=0.03 * size)


@pytest.mark.parametrize(
    "settings",
    [
        DescentSettings(decrease=0.02),
        DescentSettings(decrease=0.3),
        DescentSettings(max_decrement=1e-4),
        DescentSettings(max_gap=1e-11),
        DescentSettings(max_steps=200),
    ],
)
def test_settings_of_the_descent_do_not_move_the_optimum(
    settings: DescentSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = problem("example-delta-4", "rigid", hull=False, states=60)
    usual = solve_log_cholesky(given.factor, given.K, given.bodies, weight=1.0)
    monkeypatch.setattr(LogCholesky, "settings", settings)
    found = solve_log_cholesky(given.factor, given.K, given.bodies, weight=1.0)
    assert found.converged, found.status
    total = found.objective + found.regularisation
    assert total == pytest.approx(usual.objective + usual.regularisation, rel=1e-9)
    np.testing.assert_allclose(found.x, usual.x, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "family", "guess"),
    [
        ("nt-robot", "rigid", "nominal"),
        ("nt-robot", "reduced", "random"),
        ("example-delta-4", "reduced", "geometric"),
    ],
)
def test_other_bodies_come_to_the_convex_optimum(name: str, family: str, guess: str) -> None:
    given = problem(name, family, hull=False, states=100)
    found = solve_log_cholesky(given.factor, given.K, given.bodies, guess=guess, reduction=False)
    assert found.converged, found.status
    assert consistency(found.standard, robot=given.robot, hull=False).consistent
    prior = given.bodies.prior
    if guess == "geometric":  # the guess is p_reg, too
        prior = given.bodies.vector(geometric_guess(given.robot))
    best = _convex_total(given, given.bodies, prior, 1e-6)
    assert found.objective + found.regularisation == pytest.approx(best, rel=1e-3)


def test_border_is_said_and_convex_proves_the_optimum() -> None:
    """Data of thin struts have their optimum on the border."""
    given = problem("nt-robot", "rigid", hull=False, states=100)
    found = solve_log_cholesky(given.factor, given.K, given.bodies)
    assert "strut" in found.border
    assert "border of consistency" in found.status
    assert found.certificate is None
    ended = solve_log_cholesky(given.factor, given.K, given.bodies, finish="convex")
    assert ended.certificate is not None
    assert ended.certificate.holds(1e-6)
    assert "Ended by the convex solve" in ended.status
    total = ended.objective + ended.regularisation
    assert found.objective + found.regularisation == pytest.approx(total, rel=1e-8)


def test_rounding_that_stops_the_descent_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    given = problem("sipro-d3-1200", "exact", states=50)
    monkeypatch.setattr(module, "_search", lambda *args: (None, 1))
    found = solve_log_cholesky(given.factor, given.K, given.bodies, guess="geometric")
    assert not found.converged
    assert found.status.startswith("The descent ended before an optimum")


def test_inside_nothing_is_said_of_a_border() -> None:
    given = problem("example-delta-4", "exact", noise=0.001)
    found = solve_log_cholesky(given.factor, given.K, given.bodies)
    assert found.border == ()
    assert "border" not in found.status
    assert found.objective == pytest.approx(found.unconstrained, rel=1e-4)
    robot_from_standard(given.robot, found.standard)


def test_limit_is_said() -> None:
    given = problem("sipro-d3-1200", "exact", states=50)
    found = solve_log_cholesky(
        given.factor, given.K, given.bodies, guess="geometric", max_evaluations=5
    )
    assert not found.converged
    assert found.status.startswith("The descent stopped at its limit of 5 evaluations")


def test_guess_and_prior_by_value() -> None:
    given = problem("sipro-d3-1200", "exact", states=100)
    names = given.bodies.names
    prior = dict(zip(names, given.bodies.prior, strict=True)) | {"arm.m": 2.0}
    found = solve_log_cholesky(given.factor, given.K, given.bodies, prior, guess=prior)
    assert found.standard["arm.m"] == pytest.approx(2.0, rel=0.01)
    same = solve_log_cholesky(given.factor, given.K, given.bodies, prior, weight=1e3)
    assert same.regularisation > 0
    np.testing.assert_array_equal(found.x, given.K @ found.vector)


def test_effector_stays_above_the_payload() -> None:
    robot = dd.load_robot("example-delta-4").with_payload(0.8, (0.1, 0.0, 0.0), 0.002)
    given = problem(robot, "rigid", states=60)
    found = solve_log_cholesky(given.factor, given.K, given.bodies)
    assert found.standard["effector.m"] > 0.8
    P = pseudo_inertia(np.array([found.standard[f"effector.{e}"] for e in _TEN]))
    assert np.linalg.eigvalsh(P)[0] >= -1e-12
    assert robot_from_standard(robot, found.standard).payload == robot.payload


_TEN = ("m", "mcx", "mcy", "mcz", "Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Ixz")


def test_bad_calls() -> None:
    given = problem("sipro-d3-1200", "exact", states=20)
    args = (given.factor, given.K, given.bodies)
    with pytest.raises(UnknownNameError, match=r"guess is 'cad'; allowed: one of 'nominal'"):
        solve_log_cholesky(*args, guess="cad")
    with pytest.raises(UnknownNameError, match=r"finish is 'swarm'; allowed: one of 'convex'"):
        solve_log_cholesky(*args, finish="swarm")
    with pytest.raises(InputError, match=r"regularisation is -1; allowed: a number of at least 0"):
        solve_log_cholesky(*args, regularisation=-1)
    with pytest.raises(InputError, match=r"max_evaluations is 0; allowed: a whole number"):
        solve_log_cholesky(*args, max_evaluations=0)


def test_regularisation_does_not_depend_on_the_unit_of_torque() -> None:
    given = problem("example-delta-4", "exact", noise=0.001, states=20)
    one, other = (
        solve_log_cholesky(size * given.factor, given.K, given.bodies, regularisation=0.1)
        for size in (1.0, 30.0)
    )
    assert other.regularisation == pytest.approx(900 * one.regularisation, rel=1e-3)
    assert other.objective == pytest.approx(900 * one.objective, rel=1e-6)
