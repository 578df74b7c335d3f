"""The least sum of absolute residuals: against a linear program, and its own proof."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.identification.methods import l1 as module
from deltadyn.identification.methods.l1 import L1Result, least_absolute


def by_highs(
    Y: FloatArray,
    tau: FloatArray,
    w: FloatArray,
    low: FloatArray | None = None,
    high: FloatArray | None = None,
) -> float:
    """The same optimum as a linear program in x and both parts of the residuals."""
    count, k = Y.shape
    limits: list[tuple[float | None, float | None]] = [
        (None if low is None else float(low[j]), None if high is None else float(high[j]))
        for j in range(k)
    ]
    solve: Any = linprog  # its stubs do not know sparse matrices
    result = solve(
        np.concatenate([np.zeros(k), w, w]),
        A_eq=sparse.hstack([sparse.csr_matrix(Y), sparse.eye(count), -sparse.eye(count)]),
        b_eq=tau,
        bounds=limits + [(0, None)] * (2 * count),
        method="highs",
    )
    return float(result.fun)


def check_proof(
    found: L1Result,
    Y: FloatArray,
    tau: FloatArray,
    w: FloatArray,
    low: FloatArray | None = None,
    high: FloatArray | None = None,
) -> None:
    """The multipliers alone, by the formula of the dual, must give the bound."""
    y = found.multipliers
    assert (np.abs(y) <= w * (1 + 1e-12)).all()
    slope = Y.T @ y
    size = float(w @ np.abs(tau)) + 1e-300
    bound = float(tau @ y)
    if low is None or high is None:
        assert np.abs(slope) @ np.abs(found.x) <= 1e-10 * size
    else:
        bound -= float(np.where(slope > 0, slope * high, slope * low).sum())
    assert found.bound == pytest.approx(bound, rel=1e-9, abs=1e-9 * size)
    assert found.objective == pytest.approx(w @ np.abs(tau - Y @ found.x), rel=1e-12, abs=1e-12)
    assert found.bound <= found.objective
    assert found.gap == pytest.approx(found.objective - found.bound, abs=1e-14 * size)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(5, 150),
    k=st.integers(1, 8),
    kind=st.sampled_from(["plain", "weighted", "bounded", "rounded", "outliers"]),
)
def test_equals_the_linear_program(seed: int, count: int, k: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(count, k)) * 10.0 ** rng.uniform(-2, 2, k)
    x = rng.normal(size=k)
    tau = Y @ x + rng.standard_t(1 if kind == "outliers" else 4, size=count)
    w, low, high = np.ones(count), None, None
    if kind == "weighted":
        w = rng.uniform(0.0, 3.0, count)
    if kind == "bounded":
        low = x + rng.normal(size=k)
        high = low + rng.uniform(0.0, 1.0, k)
    if kind == "rounded":  # many rows alike: degenerate vertices
        Y, tau = np.round(Y), np.round(tau)
    found = least_absolute(Y, tau, weights=w, lower=low, upper=high)
    expected = by_highs(Y, tau, w, low, high)
    size = float(w @ np.abs(tau)) + 1e-300
    assert found.converged, found.status
    assert found.objective == pytest.approx(expected, rel=1e-9, abs=1e-12 * size)
    check_proof(found, Y, tau, w, low, high)
    if low is not None and high is not None:
        assert (found.x >= low).all()
        assert (found.x <= high).all()


@pytest.mark.full
@pytest.mark.parametrize("bounded", [False, True])
def test_long_data_equal_the_linear_program(bounded: bool, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "WHOLE", 500)  # the way of long data, on short ones
    rng = np.random.default_rng(5)
    Y = rng.normal(size=(4500, 11))
    x = np.arange(11.0)
    tau = Y @ x + rng.standard_t(2, size=4500)
    low, high = (np.full(11, -1.0), np.full(11, 8.0)) if bounded else (None, None)
    found = least_absolute(Y, tau, lower=low, upper=high)
    assert found.objective == pytest.approx(by_highs(Y, tau, np.ones(4500), low, high), rel=1e-9)
    assert found.converged
    check_proof(found, Y, tau, np.ones(4500), low, high)


def test_long_data_with_a_bad_first_guess(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "WHOLE", 60)
    rng = np.random.default_rng(2)
    Y = rng.normal(size=(3000, 4))
    Y[::50] *= 100.0  # rows that rule the fit and are rare in a random choice
    tau = Y @ np.arange(4.0) + rng.standard_t(1, size=3000) * np.linspace(0.01, 30, 3000)
    found = least_absolute(Y, tau)
    assert found.objective == pytest.approx(by_highs(Y, tau, np.ones(3000)), rel=1e-9)
    check_proof(found, Y, tau, np.ones(3000))


def test_a_vertex_meets_as_many_rows_as_there_are_parameters() -> None:
    rng = np.random.default_rng(1)
    Y = rng.normal(size=(300, 6))
    tau = rng.normal(size=300)
    found = least_absolute(Y, tau)
    assert len(found.met) == 6
    assert np.abs(tau - Y @ found.x)[list(found.met)].max() < 1e-12  # rounding of 6 products


def test_the_median_is_the_simplest_case() -> None:
    tau = np.array([5.0, 1.0, 2.0, 100.0, 3.0])
    found = least_absolute(np.ones((5, 1)), tau)
    assert found.x == pytest.approx([3.0])
    assert found.objective == pytest.approx(2 + 2 + 1 + 97)
    assert found.status.startswith("optimal: the gap to the lower bound is ")


def test_an_exact_fit_is_said() -> None:
    Y = np.random.default_rng(3).normal(size=(50, 3))
    found = least_absolute(Y, Y @ np.array([1.0, 2.0, 3.0]))
    assert found.x == pytest.approx([1.0, 2.0, 3.0])
    assert found.status == "optimal: the residuals are zero to rounding"


def test_a_deficient_rank_is_said_and_the_objective_is_still_optimal() -> None:
    rng = np.random.default_rng(4)
    Y = rng.normal(size=(80, 3))
    Y = np.column_stack([Y, Y[:, 0] - Y[:, 2]])
    tau = rng.normal(size=80)
    found = least_absolute(Y, tau)
    assert found.rank == 3
    assert found.status.endswith("; rank 3 of 4: x is one of many")
    assert found.objective == pytest.approx(by_highs(Y, tau, np.ones(80)), rel=1e-9)


def test_rows_without_weight_do_not_count() -> None:
    rng = np.random.default_rng(6)
    Y, tau = rng.normal(size=(60, 3)), rng.normal(size=60)
    w = (np.arange(60) < 40).astype(float)
    tau[50] = 1e6
    found, short = least_absolute(Y, tau, weights=w), least_absolute(Y[:40], tau[:40])
    assert found.x == pytest.approx(short.x)
    assert found.multipliers[40:] == pytest.approx(np.zeros(20))


def test_wrong_arguments_are_refused() -> None:
    Y, tau = np.ones((4, 2)), np.zeros(4)
    with pytest.raises(InputError, match=r"shape of tau is \[3\]; allowed: \(4,\), as Y has rows"):
        least_absolute(Y, tau[1:])
    with pytest.raises(InputError, match=r"weights at row 1 is -1; allowed: numbers from 0 on"):
        least_absolute(Y, tau, weights=[1.0, -1.0, 1.0, 1.0])
    with pytest.raises(InputError, match=r"weights is '0 in all rows'"):
        least_absolute(Y, tau, weights=np.zeros(4))
    with pytest.raises(InputError, match=r"shape of weights is \[3\]; allowed: \(4,\)"):
        least_absolute(Y, tau, weights=np.ones(3))
    with pytest.raises(InputError, match=r"upper at parameter 1 is 0; allowed: from lower, 2"):
        least_absolute(Y, tau, lower=[0.0, 2.0], upper=[1.0, 0.0])
    with pytest.raises(InputError, match=r"lower at parameter 0 is nan; allowed: a number or no"):
        least_absolute(Y, tau, lower=np.nan)
    with pytest.raises(InputError, match=r"tolerance is 0; allowed: a number above 0"):
        least_absolute(Y, tau, tolerance=0.0)
    with pytest.raises(InputError, match=r"tau at row 2 is nan; allowed: finite numbers"):
        least_absolute(Y, [0.0, 1.0, np.nan, 1.0])


def test_the_simplex_method_helps_where_the_interior_point_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(5)
    Y = rng.normal(size=(60, 3))
    tau = Y @ [1.0, -2.0, 3.0] + rng.standard_t(3, size=60)
    plain = least_absolute(Y, tau)
    asked: list[str] = []
    solve: Any = linprog

    def failing(c: Any, method: str, **call: Any) -> Any:
        asked.append(method)
        found = solve(c, method=method, **call)
        if method == "highs-ipm":
            found.status = 4  # numerical trouble
        return found

    monkeypatch.setattr("scipy.optimize.linprog", failing)
    found = least_absolute(Y, tau)
    assert asked[:2] == ["highs-ipm", "highs-ds"]
    assert found.objective == pytest.approx(plain.objective, rel=1e-12)
    np.testing.assert_allclose(found.x, plain.x, rtol=1e-9)


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_the_optimum_has_no_unit(size: float) -> None:
    """Tolerances of a linear program are absolute, those of the optimum are not."""
    rng = np.random.default_rng(6)
    Y = rng.normal(size=(60, 3))
    tau = Y @ [1.0, -2.0, 3.0] + rng.standard_t(3, size=60)
    plain, found = least_absolute(Y, tau), least_absolute(Y, size * tau)
    np.testing.assert_allclose(found.x / size, plain.x, rtol=1e-9)
    assert found.objective == pytest.approx(size * plain.objective, rel=1e-12)
