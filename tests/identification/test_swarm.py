"""The swarm: its neighbourhood, its objective, and how near it comes to the optimum."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.identification.motions import swing

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification import AbsoluteErrorSum, SwarmResult, swarm
from deltadyn.identification.methods import swarm as module
from deltadyn.identification.methods.l1 import least_absolute
from deltadyn.identification.methods.swarm import _box, ring_minimum
from deltadyn.recording import Recording
from deltadyn.robot import Robot

TRUTH = np.array([4.4, -5.3, 0.38, 3.2, 9.1])


def case(count: int = 600, seed: int = 0, noise: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Columns of unlike size and a torque with heavy-tailed noise."""
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(count, 5)) * np.array([10.0, 1.0, 50.0, 2.0, 1.0])
    return Y, Y @ TRUTH + noise * rng.standard_t(3, size=count)


def run(Y: FloatArray, tau: FloatArray, **changes: Any) -> SwarmResult:
    options: dict[str, Any] = {"particles": 80, "neighbours": 16, "iterations": 250} | changes
    cost = AbsoluteErrorSum(Y, tau)
    return swarm(cost, np.full(5, -20.0), np.full(5, 20.0), vectorized=True, **options)


@pytest.mark.parametrize("neighbours_best", ["best", "current"])
def test_reaches_the_proven_optimum(neighbours_best: str) -> None:
    Y, tau = case(1500)
    found = run(Y, tau, neighbours_best=neighbours_best, iterations=500)
    optimum = least_absolute(Y, tau)
    # the swarm stops where it has drawn together; 1e-6 is far below what noise does to x
    assert optimum.bound * (1 - 1e-12) <= found.cost <= optimum.objective * (1 + 1e-6)
    assert found.neighbours_best == neighbours_best
    assert neighbours_best in found.status


def test_the_cost_is_that_of_the_position_at_all_rows() -> None:
    Y, tau = case()
    found = run(Y, tau)
    # sums of 600 rows, most of them added up before
    assert found.cost == pytest.approx(np.abs(tau - Y @ found.position).sum(), rel=1e-11)
    assert found.history[-1] == found.cost
    assert (np.diff(found.history) <= 0).all()
    assert found.evaluations == 80 * 251


def test_few_rows_are_read_and_the_search_is_the_same() -> None:
    Y, tau = case(400)
    few = AbsoluteErrorSum(Y, tau)
    options: dict[str, Any] = {"particles": 40, "neighbours": 8, "iterations": 120}
    first = swarm(few, np.full(5, -20.0), np.full(5, 20.0), vectorized=True, **options)
    assert 0 < few.rows_read < 1

    def all_rows(x: FloatArray) -> float:
        return float(np.abs(tau - Y @ x).sum())

    second = swarm(all_rows, np.full(5, -20.0), np.full(5, 20.0), **options)
    assert first.cost == pytest.approx(second.cost, rel=1e-6)  # rounding may turn a choice


@given(seed=st.integers(0, 10**6), width=st.floats(-9, 3))
def test_the_sum_with_few_rows_is_the_sum_of_all(seed: int, width: float) -> None:
    rng = np.random.default_rng(seed)
    Y, tau = case(200, seed)
    few = AbsoluteErrorSum(Y, tau)
    points = TRUTH + 10**width * rng.normal(size=(30, 5))
    for _ in range(3):
        whole = np.abs(tau - points @ Y.T).sum(axis=1)
        assert few(points) == pytest.approx(whole, rel=1e-11)  # rounding of sums of 1e3 N m
        points = points + 0.5 * 10**width * rng.normal(size=(30, 5))  # some leave the ellipsoid


def test_points_drawn_together_need_few_rows() -> None:
    Y, tau = case(2000)
    few = AbsoluteErrorSum(Y, tau)
    few(TRUTH + 1e-6 * np.random.default_rng(0).normal(size=(30, 5)))
    assert few.rows_read < 0.01


def test_a_swarm_on_one_point_is_evaluated() -> None:
    Y, tau = case(50)
    points = np.tile(TRUTH, (4, 1))
    expected = np.full(4, np.abs(tau - Y @ TRUTH).sum())
    assert AbsoluteErrorSum(Y, tau)(points) == pytest.approx(expected)


@given(seed=st.integers(0, 10**6), count=st.integers(3, 40), half=st.integers(1, 25))
def test_the_ring_minimum_is_that_of_the_window(seed: int, count: int, half: int) -> None:
    values = np.random.default_rng(seed).normal(size=count)
    found = ring_minimum(values, half)
    for i in range(count):
        window = [(i + step) % count for step in range(-half, half + 1)]
        assert found[i] == min(window, key=lambda place: float(values[place]))


def test_the_seed_decides() -> None:
    Y, tau = case(100)
    first, second, other = (run(Y, tau, seed=seed, iterations=20) for seed in (1, 1, 2))
    assert np.array_equal(first.position, second.position)
    assert np.array_equal(first.history, second.history)
    assert not np.array_equal(first.position, other.position)


def test_a_star_draws_together_sooner_and_can_stop_short() -> None:
    Y, tau = case(400)
    ring, star = (run(Y, tau, topology=name, iterations=150) for name in ("cyclic", "star"))
    assert star.topology == "star"
    assert star.spread < ring.spread


def test_bounds_are_for_the_start_or_kept() -> None:
    Y, tau = case(300)
    limits: dict[str, Any] = {"lower": np.full(5, -1.0), "upper": np.full(5, 3.0)}
    options: dict[str, Any] = {"particles": 60, "neighbours": 12, "iterations": 300, **limits}
    cost = AbsoluteErrorSum(Y, tau)
    free = swarm(cost, vectorized=True, bounds="start", **options)
    kept = swarm(cost, vectorized=True, **options)
    assert free.position[4] > 3  # the truth, 9.1, is outside
    assert (kept.position >= -1).all()
    assert (kept.position <= 3).all()
    optimum = least_absolute(Y, tau, **limits)
    assert kept.cost == pytest.approx(optimum.objective, rel=1e-3)  # walls slow the swarm
    assert kept.cost >= optimum.bound * (1 - 1e-12)


def test_rows_of_axes_may_come_together() -> None:
    Y, tau = case(300)
    flat = run(Y, tau, iterations=30)
    shaped = run(Y.reshape(100, 3, 5), tau.reshape(100, 3), iterations=30)
    assert np.array_equal(flat.position, shaped.position)


def test_a_bar_shows_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    Y, tau = case(50)
    run(Y, tau, iterations=3, progress=True)
    assert "3/3 iterations" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"particles": 1}, r"particles is 1; allowed: a whole number, at least 2"),
        ({"neighbours": 80}, r"neighbours is 80; allowed: an even number below .* particles, 80"),
        ({"neighbours": 7}, r"neighbours is 7; allowed: an even number"),
        ({"iterations": 0}, r"iterations is 0; allowed: a whole number, at least 1"),
        ({"c0": -1.0}, r"c0 is -1; allowed: a number from 0 on"),
        ({"c1": "two"}, r"c1 is 'two'; allowed: a number from 0 on"),
        ({"c2": np.nan}, r"c2 is nan"),
        ({"inertia": 0.7}, r"option of swarm is 'inertia'; allowed: .*'c0'"),
        ({"seed": -1}, r"seed is -1; allowed: a whole number, at least 0"),
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    Y, tau = case(20)
    with pytest.raises(InputError, match=message):
        run(Y, tau, **changes)


@pytest.mark.parametrize("name", ["topology", "neighbours_best", "draws", "bounds"])
def test_unknown_names_are_refused(name: str) -> None:
    Y, tau = case(20)
    with pytest.raises(UnknownNameError, match=f"{name} is 'ring'; allowed: one of '"):
        run(Y, tau, **{name: "ring"})


def test_wrong_arrays_are_refused() -> None:
    Y, tau = case(20)
    low, high = np.zeros(5), np.ones(5)
    cost = AbsoluteErrorSum(Y, tau)
    with pytest.raises(InputError, match=r"shape of tau is \[19\]; allowed: \(20,\)"):
        AbsoluteErrorSum(Y, tau[1:])
    with pytest.raises(InputError, match=r"shape of Y is \[5\]; allowed: \(N, k\)"):
        AbsoluteErrorSum(Y[0], tau[:1])
    with pytest.raises(InputError, match=r"shape of lower is \[4\]; allowed: \(5,\)"):
        swarm(cost, low[1:], high, vectorized=True)
    with pytest.raises(InputError, match=r"upper at parameter 2 is -1; allowed: more than lower"):
        swarm(cost, low, np.where(np.arange(5) == 2, -1.0, high), vectorized=True)
    with pytest.raises(InputError, match=r"lower at parameter 0 is -inf; allowed: finite"):
        swarm(cost, -np.inf, high, vectorized=True)
    with pytest.raises(InputError, match=r"Y is .*; allowed: an array of real numbers"):
        AbsoluteErrorSum("Y", tau)
    Y[3, 1] = np.nan
    with pytest.raises(InputError, match=r"Y at row 3, column 1 is nan; allowed: finite"):
        AbsoluteErrorSum(Y, tau)
    tau[2] = np.inf
    with pytest.raises(InputError, match=r"tau at row 2 is inf; allowed: finite"):
        AbsoluteErrorSum(np.ones((20, 5)), tau)


def many_valleys(x: FloatArray) -> FloatArray:
    """Rastrigin's function about (1, -2), of positions (k,) or (P, k)."""
    away = x - np.array([1.0, -2.0])
    return np.asarray((away**2 + 10 * (1 - np.cos(2 * np.pi * away))).sum(axis=-1))


@pytest.mark.parametrize("topology", ["cyclic", "star"])
@pytest.mark.parametrize("seed", range(5))
def test_any_cost_is_minimised(topology: str, seed: int) -> None:
    """121 valleys, of which one is the deepest."""
    found = swarm(
        many_valleys, [-5.0, -5.0], [5.0, 5.0], vectorized=True, seed=seed, topology=topology,
        iterations=200,
    )  # fmt: skip
    np.testing.assert_allclose(found.position, [1.0, -2.0], atol=1e-6)
    assert found.cost == pytest.approx(0.0, abs=1e-9)
    assert found.evaluations == 300 * 201
    assert "no proof of optimality" in found.status


def test_one_position_or_all_at_once_is_the_same_search() -> None:
    calls = []

    def one(x: FloatArray) -> float:
        calls.append(x.shape)
        return float(many_valleys(x))

    options: dict[str, Any] = {"particles": 20, "neighbours": 4, "iterations": 15}
    single = swarm(one, [-5, -5], [5, 5], **options)
    together = swarm(many_valleys, [-5, -5], [5, 5], vectorized=True, **options)
    assert set(calls) == {(2,)}
    assert len(calls) == single.evaluations == 20 * 16
    assert np.array_equal(single.position, together.position)
    assert np.array_equal(single.history, together.history)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_position_that_the_model_does_not_have_is_never_the_best(value: float) -> None:
    def half(x: FloatArray) -> FloatArray:
        return np.where(x[:, 0] > 0.5, (x**2).sum(axis=1), value)

    found = swarm(
        half, [-1, -1], [1, 1], vectorized=True, particles=30, neighbours=6, iterations=200,
        bounds="start",
    )  # fmt: skip
    assert found.position[0] > 0.5
    assert found.cost == pytest.approx(0.25, rel=1e-3)
    assert np.isfinite(found.history).all()
    nowhere = swarm(lambda x: value, [0.0], [1.0], particles=4, neighbours=2, iterations=2)
    assert nowhere.cost == np.inf
    assert nowhere.status == "2 iterations done; no particle met a finite cost"


def test_a_cost_may_not_change_the_particles() -> None:
    def spoil(x: FloatArray) -> float:
        value = float(many_valleys(x))
        x[:] = 77.0
        return value

    options: dict[str, Any] = {"particles": 20, "neighbours": 4, "iterations": 15}
    spoiled = swarm(spoil, [-5, -5], [5, 5], **options)
    plain = swarm(many_valleys, [-5, -5], [5, 5], vectorized=True, **options)
    assert np.array_equal(spoiled.position, plain.position)


@pytest.mark.parametrize(
    ("cost", "vectorized", "message"),
    [
        (3.0, False, r"cost is 3; allowed: a function of a position"),
        (lambda x: x, False, r"shape of the value of cost is \[2\]; allowed: \(\): a number"),
        (lambda x: x, True, r"shape of the value of cost is \[4, 2\]; allowed: \(4,\)"),
        (lambda x: "much", False, r"value of cost is .*; allowed: a real number per position"),
    ],
)
def test_wrong_costs_are_refused(cost: Any, vectorized: bool, message: str) -> None:
    with pytest.raises(InputError, match=message):
        swarm(cost, [0, 0], [1, 1], vectorized=vectorized, particles=4, neighbours=2)


# A cost of the residuals of `identify`.

COMMON: dict[str, Any] = {"rates": "measured", "band": None, "weights": "equal"}
SEARCH: dict[str, Any] = {"particles": 100, "neighbours": 10, "iterations": 300}


@pytest.fixture(scope="module")
def robot() -> Robot:
    return dd.load_robot("nt-robot").with_friction(viscous=2.0, coulomb=6.0)


@pytest.fixture(scope="module")
def log(robot: Robot) -> Recording:
    """A short log of the exact model with heavy-tailed noise, rates and all."""
    motion = swing(robot, seconds=3.0)
    tau = dd.inverse_dynamics(robot, motion)
    tau += np.random.default_rng(0).standard_t(3, size=tau.shape)
    few = slice(0, None, 10)
    return Recording(motion.t[few], motion.q[few], tau[few], qd=motion.qd[few], qdd=motion.qdd[few])


def test_the_papers_cost_may_be_given_as_a_function(robot: Robot, log: Recording) -> None:
    shapes = set()

    def absolute(residual: FloatArray) -> float:
        shapes.add(residual.shape)
        return float(np.abs(residual).sum())

    few = SEARCH | {"iterations": 30}
    given = dd.identify(robot, log, "swarm", cost=absolute, **COMMON, **few)
    fit = dd.identify(robot, log, "swarm", **COMMON, **few)
    assert shapes == {(len(log.t), 3)}
    np.testing.assert_allclose(given.values, fit.values, rtol=1e-8)  # another order of the sum
    assert given.status == fit.status
    record = json.loads(json.dumps(given.as_dict()))
    name = f"{__name__}.test_the_papers_cost_may_be_given_as_a_function.<locals>.absolute"
    assert record["provenance"]["options"]["cost"] == name


def test_squares_meet_least_squares(robot: Robot, log: Recording) -> None:
    squares = dd.identify(
        robot, log, "swarm", cost=lambda residual: float((residual**2).sum()), **COMMON, **SEARCH
    )
    least = dd.identify(robot, log, "base", model="virtual-work", terms="file", **COMMON)
    # a share of a deviation of the parameters: the swarm has not quite drawn together
    assert np.abs(squares.values - least.values).max() < 0.05 * least.std.max()
    assert (np.abs(squares.values - least.values) < 0.2 * least.std).all()


def test_another_cost_has_another_optimum(robot: Robot, log: Recording) -> None:
    """The largest residual, in N m: no other fit has a smaller one."""

    def largest(residual: FloatArray) -> float:
        return float(np.abs(residual).max())

    Y = dd.regressor(robot, log_state(robot, log), "virtual-work").Y
    fits = {
        "swarm": dd.identify(robot, log, "swarm", cost=largest, **COMMON, **SEARCH),
        "l1": dd.identify(robot, log, "l1", model="virtual-work", terms="file", **COMMON),
        "base": dd.identify(robot, log, "base", model="virtual-work", terms="file", **COMMON),
    }
    size = {name: largest(log.tau - Y @ fit.values) for name, fit in fits.items()}
    assert fits["swarm"].solver_details["objective"] == pytest.approx(size["swarm"], rel=1e-9)
    assert size["swarm"] < 0.95 * min(size["l1"], size["base"])


def log_state(robot: Robot, log: Recording) -> dd.State:
    return dd.State.from_joints(robot, log.q, log.qd, log.qdd)


def test_wrong_costs_of_the_residual_are_refused(robot: Robot, log: Recording) -> None:
    options: dict[str, Any] = COMMON | {"particles": 10, "neighbours": 2, "iterations": 2}
    with pytest.raises(InputError, match=r"cost is 'absolute'; allowed: a function of the resid"):
        dd.identify(robot, log, "swarm", cost="absolute", **options)
    with pytest.raises(InputError, match=r"shape of the value of cost is \[\d+, 3\]"):
        dd.identify(robot, log, "swarm", cost=np.abs, **options)
    fit = dd.identify(robot, log, "swarm", cost=lambda residual: np.nan, **options)
    assert not fit.converged
    assert "no particle met a finite cost" in fit.status


def test_a_swarm_starts_around_what_was_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three times the values before; friction has either sign and at most half the torque."""
    monkeypatch.setattr(module, "torque_rms", lambda _: np.array([4.0, 10.0]))
    names = ("A", "M_P", "m_x", "Fv_1", "Fc_1", "bearing.a", "never read")
    par = SimpleNamespace(own=6, names=names, prior=np.array([1.0, -2.0, 0.0, 0.1, 3.0, 0.0, 7.0]))
    low, high = _box(SimpleNamespace(par=par, information=None))  # type: ignore[arg-type]
    np.testing.assert_allclose(high, [3.0, 6.0, 9e-3, 5.0, 9.0, 5.0], rtol=1e-12)
    np.testing.assert_allclose(low, [0.0, 0.0, 0.0, -5.0, -9.0, -5.0], rtol=1e-12)
