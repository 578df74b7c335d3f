"""Recursive, damped and truncated least squares against batch least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.identification.methods.recursive import (
    Svd,
    damped_least_squares,
    recursive_least_squares,
    truncated_svd,
)


def case(count: int = 120, k: int = 6, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Rows of three axes and their torque, with noise."""
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(count, 3, k)) * np.linspace(0.5, 8, k)
    return Y, Y @ rng.normal(size=k) + 0.1 * rng.normal(size=(count, 3))


def batch(Y: FloatArray, tau: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.lstsq(Y.reshape(-1, Y.shape[-1]), tau.ravel(), rcond=None)[0])


@given(seed=st.integers(0, 10**6), block=st.integers(1, 50))
def test_recursion_without_forgetting_is_batch_least_squares(seed: int, block: int) -> None:
    Y, tau = case(seed=seed)
    found = recursive_least_squares(Y, tau, block=block)
    # the start weighs 1e-6 beside some 100 of a column's squares: 1e-8, and rounding below that
    assert found.x == pytest.approx(batch(Y, tau), rel=1e-6, abs=1e-7)
    gram = np.einsum("nik,nil->kl", Y, Y)
    assert found.covariance == pytest.approx(np.linalg.inv(gram), rel=1e-3, abs=1e-8)


@given(seed=st.integers(0, 10**6), block=st.integers(2, 30))
def test_blocks_and_single_rows_forget_alike(seed: int, block: int) -> None:
    Y, tau = case(60, seed=seed)
    one = recursive_least_squares(Y, tau, forgetting=0.95)
    many = recursive_least_squares(Y, tau, forgetting=0.95, block=block)
    assert many.x == pytest.approx(one.x, rel=1e-6, abs=1e-8)
    assert many.covariance == pytest.approx(one.covariance, rel=1e-5, abs=1e-10)
    assert len(one.history) == 60
    assert len(many.history) == -(-60 // block)


def test_forgetting_is_weighted_least_squares_with_a_fading_start() -> None:
    Y, tau = case(40)
    keep, start, prior = 0.9, 3.0, np.arange(6.0)
    found = recursive_least_squares(Y, tau, forgetting=keep, initial_covariance=start, prior=prior)
    weight = keep ** np.arange(39, -1, -1.0)
    gram = np.einsum("n,nik,nil->kl", weight, Y, Y) + keep**40 / start * np.eye(6)
    right = np.einsum("n,nik,ni->k", weight, Y, tau) + keep**40 / start * prior
    assert found.x == pytest.approx(np.linalg.solve(gram, right), rel=1e-9)  # rounding


def test_forgetting_follows_a_change() -> None:
    Y, tau = case(400)
    tau[200:] += Y[200:] @ np.ones(6)
    after = batch(Y[200:], tau[200:])
    forgetful = recursive_least_squares(Y, tau, forgetting=0.95).x
    stubborn = recursive_least_squares(Y, tau).x
    assert np.abs(forgetful - after).max() < 0.1 < np.abs(stubborn - after).max()


def test_damping_draws_towards_zero_and_none_is_least_squares() -> None:
    Y, tau = case()
    assert damped_least_squares(Y, tau, 0.0).x == pytest.approx(batch(Y, tau), rel=1e-9)
    lengths = [
        float(np.linalg.norm(damped_least_squares(Y, tau, share).x)) for share in (0, 0.01, 0.1, 1)
    ]
    assert lengths == sorted(lengths, reverse=True)
    flat, D = Y.reshape(-1, 6), np.linalg.norm(Y.reshape(-1, 6), axis=0)
    by_hand = np.linalg.solve(flat.T @ flat + 0.1 * np.diag(D**2), flat.T @ tau.ravel())
    assert damped_least_squares(Y, tau, 0.1).x == pytest.approx(by_hand, rel=1e-9)


def test_truncation_leaves_weak_directions_out() -> None:
    Y, tau = case()
    Y[:, :, 5] = Y[:, :, 4] * (1 + 1e-5 * np.random.default_rng(1).normal(size=(120, 3)))
    whole = truncated_svd(Y, tau, 0.0)
    cut = truncated_svd(Y, tau, 1e-3)
    assert (whole.kept, cut.kept) == (6, 5)
    assert whole.x == pytest.approx(batch(Y, tau), rel=1e-4)  # condition number 1e5
    assert np.linalg.norm(cut.x) < np.linalg.norm(whole.x)
    assert cut.x[4] == pytest.approx(cut.x[5], rel=1e-3)  # two columns alike share their effect
    assert cut.status == "5 of 6 directions kept, those above 0.001 of the largest"


def test_units_do_not_matter_to_damping_and_truncation() -> None:
    Y, tau = case()
    scale = 10.0 ** np.arange(-3, 3)
    methods: tuple[Any, ...] = (damped_least_squares, truncated_svd)
    for method in methods:
        assert method(Y * scale, tau, 0.3).x * scale == pytest.approx(method(Y, tau, 0.3).x)


def test_a_column_of_zeros_gets_zero() -> None:
    Y, tau = case()
    Y[:, :, 2] = 0.0
    for found in (damped_least_squares(Y, tau), truncated_svd(Y, tau)):
        assert found.x[2] == 0.0
        assert np.isfinite(found.x).all()


def test_the_residual_is_the_root_mean_square() -> None:
    Y, tau = case()
    for found in (recursive_least_squares(Y, tau), truncated_svd(Y, tau)):
        assert found.residual == pytest.approx(np.sqrt(np.mean((tau - Y @ found.x) ** 2)))


def test_wrong_arguments_are_refused() -> None:
    Y, tau = case(5)
    with pytest.raises(InputError, match=r"shape of tau is \[5, 2\]; allowed: \(5, 3\)"):
        recursive_least_squares(Y, tau[:, :2])
    with pytest.raises(InputError, match=r"forgetting is 1.1; allowed: a number above 0 to 1"):
        recursive_least_squares(Y, tau, forgetting=1.1)
    with pytest.raises(InputError, match=r"initial_covariance is 0; allowed: a number above 0"):
        recursive_least_squares(Y, tau, initial_covariance=0.0)
    with pytest.raises(InputError, match=r"shape of prior is \[2\]; allowed: \(6,\)"):
        recursive_least_squares(Y, tau, prior=np.zeros(2))
    with pytest.raises(InputError, match=r"prior is .*nan.*; allowed: finite numbers"):
        recursive_least_squares(Y, tau, prior=np.full(6, np.nan))
    with pytest.raises(InputError, match=r"block is 0; allowed: a whole number, at least 1"):
        recursive_least_squares(Y, tau, block=0)
    with pytest.raises(InputError, match=r"damping is -1; allowed: a number from 0 on"):
        damped_least_squares(Y, tau, -1.0)
    with pytest.raises(InputError, match=r"tolerance is 2; allowed: a number from 0 to 1"):
        truncated_svd(Y, tau, 2.0)
    with pytest.raises(InputError, match=r"Y at row 0, column 0 is nan; allowed: finite numbers"):
        truncated_svd(np.full((5, 3, 6), np.nan), tau)


def test_columns_may_be_cut_as_they_are() -> None:
    """Of columns of length 100 and 1 the short one is a weak direction until both have length 1."""
    rng = np.random.default_rng(0)
    Y = np.linalg.qr(rng.normal(size=(50, 2)))[0] * np.array([100.0, 1.0])
    tau = Y @ np.array([2.0, 3.0])
    both, one = Svd(0.1).estimate(Y, tau), Svd(0.1, normalised=False).estimate(Y, tau)
    assert (both.kept, one.kept) == (2, 1)
    np.testing.assert_allclose(both.x, [2.0, 3.0], rtol=1e-12)
    np.testing.assert_allclose(one.x, [2.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(one.singular_values, [100.0, 1.0], rtol=1e-12)
    whole = Svd(0.0, normalised=False).estimate(Y, tau)
    np.testing.assert_allclose(whole.x, both.x, rtol=1e-10)
    with pytest.raises(InputError, match="normalised is 'no'; allowed: True or False"):
        Svd(normalised="no")  # type: ignore[arg-type]
