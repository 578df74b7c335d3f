"""The swarm: its neighbourhood, its objective, and how near it comes to the optimum."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.methods import swarm as module
from deltadyn.identification.methods.l1 import least_absolute
from deltadyn.identification.methods.swarm import SignedSum, SwarmResult, _box, ring_minimum, swarm

TRUTH = np.array([4.4, -5.3, 0.38, 3.2, 9.1])


def case(count: int = 600, seed: int = 0, noise: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Columns of unlike size and a torque with heavy-tailed noise."""
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(count, 5)) * np.array([10.0, 1.0, 50.0, 2.0, 1.0])
    return Y, Y @ TRUTH + noise * rng.standard_t(3, size=count)


def run(Y: FloatArray, tau: FloatArray, **changes: Any) -> SwarmResult:
    options: dict[str, Any] = {"particles": 80, "neighbours": 16, "iterations": 250} | changes
    return swarm(Y, tau, np.full(5, -20.0), np.full(5, 20.0), **options)


@pytest.mark.parametrize("neighbours_best", ["best", "current"])
def test_reaches_the_proven_optimum(neighbours_best: str) -> None:
    Y, tau = case(1500)
    found = run(Y, tau, neighbours_best=neighbours_best, iterations=500)
    optimum = least_absolute(Y, tau)
    # the swarm stops where it has drawn together; 1e-6 is far below what noise does to x
    assert optimum.bound <= found.objective <= optimum.objective * (1 + 1e-6)
    assert found.neighbours_best == neighbours_best
    assert neighbours_best in found.status


def test_the_objective_is_that_of_every_particle_at_all_rows() -> None:
    Y, tau = case()
    found = run(Y, tau)
    assert found.objective == pytest.approx(np.abs(tau - Y @ found.x).sum(), rel=1e-14)
    assert found.history[-1] == pytest.approx(found.objective, rel=1e-12)  # sums of 600 rows
    assert (np.diff(found.history) <= 0).all()
    assert found.evaluations == 80 * 251
    assert 0 < found.rows_read < 1


@given(seed=st.integers(0, 10**6), width=st.floats(-9, 3))
def test_the_sum_with_few_rows_is_the_sum_of_all(seed: int, width: float) -> None:
    rng = np.random.default_rng(seed)
    Y, tau = case(200, seed)
    few = SignedSum(Y, tau)
    points = TRUTH + 10**width * rng.normal(size=(30, 5))
    for _ in range(3):
        whole = np.abs(tau - points @ Y.T).sum(axis=1)
        assert few(points) == pytest.approx(whole, rel=1e-11)  # rounding of sums of 1e3 N m
        points = points + 0.5 * 10**width * rng.normal(size=(30, 5))  # some leave the ellipsoid


def test_points_drawn_together_need_few_rows() -> None:
    Y, tau = case(2000)
    few = SignedSum(Y, tau)
    few(TRUTH + 1e-6 * np.random.default_rng(0).normal(size=(30, 5)))
    assert few.rows_read < 0.01


def test_a_swarm_on_one_point_is_evaluated() -> None:
    Y, tau = case(50)
    points = np.tile(TRUTH, (4, 1))
    assert SignedSum(Y, tau)(points) == pytest.approx(np.full(4, np.abs(tau - Y @ TRUTH).sum()))


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
    assert np.array_equal(first.x, second.x)
    assert np.array_equal(first.history, second.history)
    assert not np.array_equal(first.x, other.x)


def test_a_star_draws_together_sooner_and_can_stop_short() -> None:
    Y, tau = case(400)
    ring, star = (run(Y, tau, topology=name, iterations=150) for name in ("cyclic", "star"))
    assert star.topology == "star"
    assert star.spread < ring.spread


def test_bounds_are_for_the_start_or_kept() -> None:
    Y, tau = case(300)
    limits: dict[str, Any] = {"lower": np.full(5, -1.0), "upper": np.full(5, 3.0)}
    options: dict[str, Any] = {"particles": 60, "neighbours": 12, "iterations": 300, **limits}
    free = swarm(Y, tau, **options)
    kept = swarm(Y, tau, bounds="keep", **options)
    assert free.x[4] > 3  # the truth, 9.1, is outside
    assert (kept.x >= -1).all()
    assert (kept.x <= 3).all()
    optimum = least_absolute(Y, tau, **limits)
    assert kept.objective == pytest.approx(optimum.objective, rel=1e-3)  # walls slow the swarm
    assert kept.objective >= optimum.bound


def test_rows_of_axes_may_come_together() -> None:
    Y, tau = case(300)
    flat = run(Y, tau, iterations=30)
    shaped = run(Y.reshape(100, 3, 5), tau.reshape(100, 3), iterations=30)
    assert np.array_equal(flat.x, shaped.x)


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
        ({"inertia": -1.0}, r"inertia is -1; allowed: a number from 0 on"),
        ({"attraction": (1.0,)}, r"attraction is \[1\]; allowed: two numbers"),
        ({"attraction": (1.0, np.nan)}, r"attraction is nan"),
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
    with pytest.raises(InputError, match=r"shape of tau is \[19\]; allowed: \(20,\)"):
        swarm(Y, tau[1:], low, high)
    with pytest.raises(InputError, match=r"shape of Y is \[5\]; allowed: \(N, k\)"):
        swarm(Y[0], tau[:1], low, high)
    with pytest.raises(InputError, match=r"shape of lower is \[4\]; allowed: \(5,\)"):
        swarm(Y, tau, low[1:], high)
    with pytest.raises(InputError, match=r"upper at parameter 2 is -1; allowed: more than lower"):
        swarm(Y, tau, low, np.where(np.arange(5) == 2, -1.0, high))
    with pytest.raises(InputError, match=r"lower at parameter 0 is -inf; allowed: finite"):
        swarm(Y, tau, -np.inf, high)
    with pytest.raises(InputError, match=r"Y is .*; allowed: an array of real numbers"):
        swarm("Y", tau, low, high)
    Y[3, 1] = np.nan
    with pytest.raises(InputError, match=r"Y at row 3, column 1 is nan; allowed: finite"):
        swarm(Y, tau, low, high)
    tau[2] = np.inf
    with pytest.raises(InputError, match=r"tau at row 2 is inf; allowed: finite"):
        swarm(np.ones((20, 5)), tau, low, high)


def test_a_swarm_starts_around_what_was_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three times the values before; friction has either sign and at most half the torque."""
    monkeypatch.setattr(module, "torque_rms", lambda _: np.array([4.0, 10.0]))
    names = ("A", "M_P", "m_x", "Fv_1", "Fc_1", "bearing.a", "never read")
    par = SimpleNamespace(own=6, names=names, prior=np.array([1.0, -2.0, 0.0, 0.1, 3.0, 0.0, 7.0]))
    low, high = _box(SimpleNamespace(par=par, information=None))  # type: ignore[arg-type]
    np.testing.assert_allclose(high, [3.0, 6.0, 9e-3, 5.0, 9.0, 5.0], rtol=1e-12)
    np.testing.assert_allclose(low, [0.0, 0.0, 0.0, -5.0, -9.0, -5.0], rtol=1e-12)
