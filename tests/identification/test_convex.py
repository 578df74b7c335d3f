"""Consistent least squares: beside an independent formulation in cvxpy, and its certificate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.identification.factors import ROBOTS_3, ROBOTS_4, Problem, problem, random_variables

import deltadyn as dd
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.bodies.bodies import Bodies
from deltadyn.identification.bodies.cone_program import ConeProgram
from deltadyn.identification.bodies.consistency import consistency
from deltadyn.identification.bodies.realise import robot_from_standard
from deltadyn.identification.methods import convex as module
from deltadyn.identification.methods.convex import Answer, _better, solve_convex
from deltadyn.identification.problem import Certificate

TEN = ("m", "mcx", "mcy", "mcz", "Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Ixz")
SAME = 1e-6  # of the objective: cvxpy solves unscaled problems to 1e-8 or so


def _solve(cp: Any, objective: Any, constraints: list[Any]) -> float:
    task = cp.Problem(cp.Minimize(objective), constraints)
    return float(task.solve(solver="CLARABEL"))


def _full_oracle(cp: Any, given: Problem) -> float:
    """The rigid problem as it is defined: ten parameters and a 4x4 matrix for every body."""
    names, R = given.bodies.names, given.factor
    scale = 1 / np.maximum(np.linalg.norm(R[:, :-1], axis=0), 1e-3 * np.abs(R).max())
    w = cp.Variable(len(names))
    v = dict(zip(names, cp.multiply(scale, w), strict=True))
    constraints = []
    for body in {name.partition(".")[0] for name in names if name.endswith(".m")}:
        m, hx, hy, hz, xx, yy, zz, xy, yz, xz = (v[f"{body}.{entry}"] for entry in TEN)
        half = (xx + yy + zz) / 2
        constraints.append(
            cp.bmat(
                [
                    [half - xx, -xy, -xz, hx],
                    [-xy, half - yy, -yz, hy],
                    [-xz, -yz, half - zz, hz],
                    [hx, hy, hz, m],
                ]
            )
            >> 0
        )
    constraints += [v[n] >= 0 for n in names if n.endswith(("Fv", "Fc")) or "." not in n]
    misfit = R[:-1, :-1] @ cp.multiply(scale, w) - R[:-1, -1]
    return _solve(cp, cp.sum_squares(misfit) / 2, constraints) + float(R[-1, -1] ** 2) / 2


def _thin_oracle(cp: Any, given: Problem) -> float:
    """The exact problem in two-point masses, planar arms and thin rods."""
    g = given.robot.geometry
    names = given.bodies.names
    v: dict[str, Any] = dict.fromkeys(names, 0.0)
    constraints = []
    l2 = g.strut_length[0]
    me, mx, mc = (cp.Variable(nonneg=True) for _ in range(3))
    constraints.append(cp.bmat([[me, mx], [mx, mc]]) >> 0)
    v |= {"strut.m": me + 2 * mx + mc, "strut.mcx": l2 * (mx + mc)}
    v |= {"strut.Iyy": l2**2 * mc, "strut.Izz": l2**2 * mc}
    planar = {"arm": ("mcx", "mcz", "Iyy")}
    if given.robot.spindle is not None:
        planar["effector"] = ("mcx", "mcy", "Izz")
        for body, side in (("upper", 1), ("lower", -1)):
            m, h, s, axial = (cp.Variable(nonneg=True) for _ in range(4))
            constraints.append(cp.bmat([[m, h], [h, s]]) >> 0)
            v |= {f"{body}.m": m, f"{body}.mcz": side * h, f"{body}.Izz": axial}
            v |= {f"{body}.Ixx": s + axial / 2, f"{body}.Iyy": s + axial / 2}
    for body, (first, second, about) in planar.items():
        m, h1, h2, inertia = (cp.Variable() for _ in range(4))
        constraints.append(cp.bmat([[inertia, h1, h2], [h1, m, 0], [h2, 0, m]]) >> 0)
        v |= {f"{body}.m": m, f"{body}.{first}": h1, f"{body}.{second}": h2}
        v |= {f"{body}.{about}": inertia}
    for name in names:
        if name == "platform.m" or name.endswith(("Fv", "Fc")) or "." not in name:
            v[name] = cp.Variable(nonneg=True)
    R = given.factor
    x = given.K @ cp.hstack([v[name] for name in names])
    misfit = R[:-1, :-1] @ x - R[:-1, -1]
    return _solve(cp, cp.sum_squares(misfit) / 2, constraints) + float(R[-1, -1] ** 2) / 2


def _regularised_oracle(cp: Any, given: Problem, kind: str, weight: float) -> float:
    """With hulls and a regularisation of an absolute weight, over the bodies' own cones."""
    b, R = given.bodies, given.factor
    S = b.T * b.scale
    u = cp.Variable(S.shape[1])
    v = S @ u
    u0 = b.prior_variables / b.scale
    constraints, total = [], 0
    free = np.ones(u0.size, dtype=bool)
    start = 0
    for body in b.bodies:
        own = slice(start, start + len(body.variables))
        start = own.stop
        entropic = kind == "entropic" and body.kind not in ("friction", "offset")
        free[own] = not entropic
        for cone in body.cones:
            size = np.outer(cone.size, cone.size)
            M = (
                sum(v[j] * (F / size) for j, F in zip(cone.columns, cone.F, strict=True))
                + cone.constant / size
            )
            constraints.append((M >> 0) if cone.order > 1 else (M[0, 0] >= 0))
            if entropic and cone.kind == "inertia":
                values, vectors = np.linalg.eigh(cone.matrix(b.prior) / size)
                P0 = (vectors * np.maximum(values, 1e-3)) @ vectors.T
                total += cp.trace(np.linalg.inv(P0) @ M) - cp.log_det(M)
                total += float(np.linalg.slogdet(P0)[1]) - cone.order
    total += cp.sum_squares(u[free] - u0[free]) / 2
    misfit = (R[:-1, :-1] @ given.K @ S) @ u - R[:-1, -1]
    fit = cp.sum_squares(misfit) / 2 + float(R[-1, -1] ** 2) / 2
    return _solve(cp, fit + weight * total, constraints)


@pytest.mark.full
@pytest.mark.parametrize("name", ["nt-robot", "example-delta-4"])
def test_rigid_optimum_is_that_of_full_bodies(name: str) -> None:
    """Reduced cones for arms, platform and effector lose nothing against ten parameters each."""
    cp = pytest.importorskip("cvxpy")
    given = problem(name, "rigid", hull=False)
    found = solve_convex(given.factor, given.K, given.bodies)
    assert found.converged, found.status
    assert found.objective == pytest.approx(_full_oracle(cp, given), rel=SAME)


@pytest.mark.full
@pytest.mark.parametrize("name", ["sipro-d3-1200", "example-delta-4"])
def test_exact_optimum_is_that_of_thin_bodies(name: str) -> None:
    cp = pytest.importorskip("cvxpy")
    given = problem(name, "exact", hull=False)
    found = solve_convex(given.factor, given.K, given.bodies)
    assert found.converged, found.status
    assert found.objective == pytest.approx(_thin_oracle(cp, given), rel=SAME)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["euclidean", "entropic"])
@pytest.mark.parametrize("family", ["exact", "rigid"])
@pytest.mark.parametrize("name", ["sipro-d3-1200", "telescopic-delta"])
def test_regularised_optimum(name: str, family: str, kind: str) -> None:
    cp = pytest.importorskip("cvxpy")
    given = problem(name, family)
    weight = 1.0  # half squares per squared scale: some 1e-3 of the objective
    found = solve_convex(given.factor, given.K, given.bodies, regularisation=kind, weight=weight)
    assert found.converged, found.status
    total = found.objective + found.regularisation
    assert total == pytest.approx(_regularised_oracle(cp, given, kind, weight), rel=SAME)
    assert found.certificate.holds(1e-7)  # the solver's tolerance is 1e-9 of the program's terms


@pytest.mark.full
@pytest.mark.parametrize("name", ROBOTS_3 + ROBOTS_4)
@pytest.mark.parametrize("family", ["exact", "rigid"])
@pytest.mark.parametrize("kind", ["euclidean", "entropic"])
def test_every_answer_is_proved_consistent_and_makes_a_robot(
    name: str, family: str, kind: str
) -> None:
    for tied in (True, False):
        given = problem(name, family, tied=tied, seed=3, states=150)
        found = solve_convex(given.factor, given.K, given.bodies, regularisation=kind)
        assert found.converged, found.status
        assert found.certificate.holds(1e-6)
        report = consistency(found.standard, robot=given.robot)
        assert report.consistent, report.text
        assert report.inside, report.text
        np.testing.assert_array_equal(found.x, given.K @ found.vector)
        robot_from_standard(given.robot, found.standard)


@pytest.mark.parametrize("family", ["exact", "rigid"])
def test_no_consistent_bodies_go_below_the_dual(family: str) -> None:
    """The certificate is a bound for every point of the cones, found without the solver."""
    given = problem("example-delta-4", family, states=100)
    b, R = given.bodies, given.factor
    found = solve_convex(R, given.K, b, strength=1e-3)
    S, best = b.T * b.scale, b.variables_of(found.vector)
    u0, weight = b.prior_variables / b.scale, 2e-3 * found.unconstrained / len(b.scale)
    values = []
    for seed in range(200):
        z = b.inward(best + 10.0 ** -(seed % 8) * (random_variables(b, seed) - best))[0]
        assert b.margin(b.T @ z) >= -1e-14
        r = R[:-1, :-1] @ given.K @ S @ (z / b.scale) - R[:-1, -1]
        off = z / b.scale - u0
        values.append((r @ r + R[-1, -1] ** 2 + weight * off @ off) / 2)
    slack = 1e-8 * found.objective  # the solver's tolerance
    assert found.certificate.dual - slack <= min(values) <= found.certificate.primal * 1.01
    assert found.certificate.primal <= min(values) + slack


def test_good_data_of_the_exact_model_give_ordinary_least_squares() -> None:
    """Where the unconstrained optimum is consistent, no constraint is active."""
    robot = dd.load_robot("example-delta-4")
    given = problem(robot, "exact", noise=0.01)
    found = solve_convex(given.factor, given.K, given.bodies)
    R = given.factor
    ordinary = np.linalg.solve(R[:-1, :-1], R[:-1, -1])
    assert found.active == ()
    np.testing.assert_allclose(found.x, ordinary, rtol=1e-5)  # 1e-9 of f is 3e-5 of a deviation
    assert found.objective == pytest.approx(found.unconstrained, rel=1e-9)


def test_rigid_data_lie_on_the_border() -> None:
    """The truth of thin struts is on the border of the cone: constraints are active."""
    given = problem("nt-robot", "rigid")
    found = solve_convex(given.factor, given.K, given.bodies)
    touched = {item.body for item in found.active}
    assert "strut" in touched
    assert found.objective > found.unconstrained * (1 + 1e-4)
    assert all(item.price > 0 for item in found.active)
    prices = [item.price for item in found.active]
    assert prices == sorted(prices, reverse=True)


@pytest.mark.parametrize("family", ["exact", "rigid"])
@pytest.mark.parametrize("name", ["nt-robot", "example-delta-4"])
def test_without_noise_all_bodies_stay(name: str, family: str) -> None:
    """What data cannot tell stays at the prior, what they can tell is found."""
    given = problem(name, family, noise=0.0)
    found = solve_convex(given.factor, given.K, given.bodies)
    assert found.converged
    assert found.distance < 1e-4  # the square root of the solver's tolerance, and some room
    np.testing.assert_allclose(found.vector, given.bodies.prior, atol=1e-5)


@pytest.mark.parametrize("family", ["exact", "rigid"])
def test_tie_break_costs_less_than_1e_9(family: str) -> None:
    """Against the same problem without any regularisation, which hulls keep bounded."""
    given = problem("sipro-d3-1200", family)
    plain = solve_convex(given.factor, given.K, given.bodies, regularisation=None, tolerance=1e-11)
    found = solve_convex(given.factor, given.K, given.bodies)
    lowest = min(plain.objective, plain.certificate.dual)
    assert found.objective - lowest < 3e-9 * found.objective  # 1e-9, and both solvers' tolerance


def test_poor_data_do_not_run_away() -> None:
    """Four states tell next to nothing, and masses stay where bodies can be."""
    given = problem("sipro-d3-1200", "exact", states=4)
    found = solve_convex(given.factor, given.K, given.bodies)
    assert found.converged
    assert found.standard["arm.m"] <= 10 * 1.4 * (1 + 1e-6)
    assert found.distance < 5


def test_prior_strength_and_bounds() -> None:
    given = problem("sipro-d3-1200", "exact")
    prior = dict(zip(given.bodies.names, given.bodies.prior, strict=True)) | {"arm.m": 2.0}
    found = solve_convex(given.factor, given.K, given.bodies, prior)
    assert found.standard["arm.m"] == pytest.approx(2.0, rel=1e-3)  # no data on it
    strong = solve_convex(given.factor, given.K, given.bodies, strength=1e3)
    weak = solve_convex(given.factor, given.K, given.bodies, strength=1e-3)
    assert strong.distance < weak.distance
    assert strong.objective > weak.objective
    bounded = solve_convex(
        given.factor, given.K, given.bodies, bounds={"platform.m": (1.5, None), "rotor": (0, 0.01)}
    )
    assert bounded.converged
    assert bounded.standard["platform.m"] >= 1.5 - 1e-5  # 1e-6 of the way into the cones
    assert any(item.text == "platform.m is not below 1.5" for item in bounded.active)


def test_scale_in_standard_parameters() -> None:
    """[gnad2024] eq. 15 by its own sum of squares."""
    given = problem("sipro-d3-1200", "rigid", hull=False)
    size = np.maximum(np.abs(given.bodies.prior), 0.1)
    found = solve_convex(given.factor, given.K, given.bodies, weight=2.0, scale=size)
    used = given.bodies.T.any(axis=1)
    off = ((found.vector - given.bodies.prior) / size)[used]
    assert found.regularisation == pytest.approx(off @ off, rel=1e-9)


def test_each_failure_has_its_sentence() -> None:
    given = problem("sipro-d3-1200", "exact")
    args = (given.factor, given.K, given.bodies)
    none = solve_convex(*args, bounds={"platform.m": (None, -1.0)})
    assert not none.converged
    assert none.status == "No values meet all constraints: they contradict each other."
    assert none.certificate.dual == -np.inf
    cap = solve_convex(*args, max_iterations=3)
    assert not cap.converged
    assert cap.status == "The solver reached its limit of iterations before the optimum."
    endless = ConeProgram(1)
    endless.q[0] = -1.0
    endless.not_negative(np.ones((1, 1)), np.zeros(1))
    assert endless.solve(1e-9).sentence.startswith("The objective has no lower end")


def test_bad_calls() -> None:
    given = problem("sipro-d3-1200", "exact", states=10)
    R, K, b = given.factor, given.K, given.bodies
    with pytest.raises(UnknownNameError, match=r"regularisation is 'ridge'.*'entropic', or None"):
        solve_convex(R, K, b, regularisation="ridge")
    with pytest.raises(InputError, match=r"shape of factor is \[11, 10\]"):
        solve_convex(R[:, :-1], K, b)
    with pytest.raises(InputError, match=r"shape of K is \[10, 36\]; allowed: \(10, 37\)"):
        solve_convex(R, K[:, 1:], b)
    broken = R.copy()
    broken[2, 3] = np.nan
    with pytest.raises(InputError, match="factor at row 2, column 3 is nan"):
        solve_convex(broken, K, b)
    with pytest.raises(InputError, match="strength is -1; allowed: a number of at least 0"):
        solve_convex(R, K, b, strength=-1)
    with pytest.raises(UnknownNameError, match=r"bounds is 'leg\.m'"):
        solve_convex(R, K, b, bounds={"leg.m": (0, 1)})
    with pytest.raises(InputError, match=r"bounds of arm\.m is \[2, 1\]; allowed: low <= high"):
        solve_convex(R, K, b, bounds={"arm.m": (2, 1)})
    with pytest.raises(InputError, match=r"bounds is 'strut\.Ixx'; allowed: a parameter that"):
        solve_convex(R, K, b, bounds={"strut.Ixx": (0, 1)})
    with pytest.raises(InputError, match=r"prior is .*37 finite numbers"):
        solve_convex(R, K, b, np.ones(3))
    with pytest.raises(InputError, match=r"scale is .*37 numbers above 0"):
        solve_convex(R, K, b, scale=np.zeros(37))
    with pytest.raises(InputError, match=r"weight is 1; allowed: None where a strength is given"):
        solve_convex(R, K, b, strength=1.0, weight=1.0)
    with pytest.raises(InputError, match=r"scale is .*None for a regularisation other than"):
        solve_convex(R, K, b, regularisation="entropic", scale=np.ones(37))
    with pytest.raises(InputError, match="every parameter's column is zero"):
        solve_convex(np.zeros_like(R), K, b)


def test_certificate() -> None:
    proof = Certificate.of(2.0, 1.5)
    assert proof.gap == 0.5
    assert proof.relative == 0.25
    assert proof.holds(0.3)
    assert not proof.holds(0.2)
    assert "no answer to this problem goes below 1.5" in str(proof)
    assert Certificate.of(1e-20, -1e-12, reference=1.0).holds(1e-9)


def test_untied_family_has_a_body_per_arm() -> None:
    bodies = Bodies.of(dd.load_robot("sipro-d3-1200"), None, "exact", tied=False)
    assert [body.name for body in bodies.bodies[:6]] == [
        "arm1", "arm2", "arm3", "strut1", "strut2", "strut3",
    ]  # fmt: skip


def test_the_proof_with_the_smaller_gap_is_kept() -> None:
    """Of several attempts; one that is in trouble replaces none, and is replaced by any."""
    program = ConeProgram(1)
    program.not_negative(np.ones((1, 1)), np.zeros(1))
    solution = program.solve(1e-9)

    def answer(gap: float, trouble: str = "") -> Answer:
        return Answer(np.zeros(1), (), Certificate.of(1.0, 1.0 - gap), solution, trouble)

    near, far, lost = answer(1e-9), answer(1e-3), answer(1e-12, "no optimum")
    assert _better(near, far)
    assert not _better(far, near)
    assert not _better(near, near)
    assert _better(far, lost)
    assert not _better(lost, far)


def test_strength_does_not_depend_on_the_unit_of_torque() -> None:
    given = problem("sipro-d3-1200", "exact")
    one, other = (
        solve_convex(size * given.factor, given.K, given.bodies, strength=0.1)
        for size in (1.0, 30.0)
    )
    assert one.distance == pytest.approx(other.distance, rel=1e-6)  # both proved to 1e-8 or so
    np.testing.assert_allclose(
        one.vector, other.vector, rtol=0, atol=1e-5 * np.abs(one.vector).max()
    )


def test_an_answer_outside_the_cones_is_said_and_moved_in(monkeypatch: pytest.MonkeyPatch) -> None:
    given = problem("sipro-d3-1200", "exact")
    plain = solve_convex(given.factor, given.K, given.bodies)
    monkeypatch.setattr(module, "MOST_INWARD", -1.0)  # every answer is too far outside
    found = solve_convex(given.factor, given.K, given.bodies)
    assert not found.converged
    assert "Its answer lies outside the cones" in found.status
    # as good a fit; which of the bodies that fit alike is nearest is asked of an optimum alone
    assert found.objective == pytest.approx(plain.objective, rel=1e-6)
