"""Criteria: what they mean, that units do not matter, and their gradients."""

from __future__ import annotations

import numpy as np
import pytest

from deltadyn.arrays import FloatArray
from deltadyn.errors import UnknownNameError
from deltadyn.excitation.criteria import CRITERIA, criterion_by_name

RNG = np.random.default_rng(3)
Y = RNG.standard_normal((200, 6)) @ (np.eye(6) + 0.4 * RNG.standard_normal((6, 6)))
M = Y.T @ Y / len(Y)
SCALE = RNG.uniform(0.2, 3.0, 6)


def value(name: str, matrix: FloatArray = M, scale: FloatArray = SCALE) -> float:
    return criterion_by_name(name)(matrix, scale).value


def test_values_are_what_they_say() -> None:
    C = np.linalg.inv(M)
    relative = np.sqrt(np.diag(C)) / SCALE
    unit = Y / np.linalg.norm(Y, axis=0)
    assert value("std") == pytest.approx(np.log(np.sqrt(np.diag(C))).mean())
    assert value("D") == pytest.approx(-np.linalg.slogdet(M)[1] / 12)
    assert value("A") == pytest.approx(np.log(np.sqrt((relative**2).mean())))
    scaled = C / np.outer(SCALE, SCALE)
    assert value("E") == pytest.approx(np.log(np.linalg.eigvalsh(scaled)[-1]) / 2)
    assert value("condition") == pytest.approx(np.log(np.linalg.cond(unit)))
    assert value("raw-condition") == pytest.approx(np.log(np.linalg.cond(Y)))
    assert value("balanced") == pytest.approx(value("std") + value("condition") / 2)


def test_units_change_the_raw_condition_number_alone() -> None:
    units = np.array([1.0, 1e3, 1.0, 1e-2, 1.0, 5.0])
    other, scale = M * np.outer(units, units), SCALE / units
    for name in ("A", "E", "condition"):
        assert value(name, other, scale) == pytest.approx(value(name), abs=1e-9)
    shift = np.log(units).mean()
    for name in ("std", "D", "balanced"):  # the unit of the deviations, nothing else
        assert value(name, other, scale) == pytest.approx(value(name) - shift, abs=1e-9)
    assert value("raw-condition", other, scale) > value("raw-condition") + 1


@pytest.mark.parametrize("name", CRITERIA)
def test_gradients(name: str) -> None:
    rng = np.random.default_rng(5)
    found = criterion_by_name(name)(M, SCALE)
    np.testing.assert_allclose(found.gradient, found.gradient.T, atol=1e-12)
    for _ in range(5):
        direction = rng.standard_normal(M.shape)
        direction = 1e-6 * (direction + direction.T)
        rise = (value(name, M + direction) - value(name, M - direction)) / 2
        assert rise == pytest.approx(float((found.gradient * direction).sum()), rel=1e-6, abs=1e-13)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="criterion is 'F'; allowed: one of 'balanced'"):
        criterion_by_name("F")
