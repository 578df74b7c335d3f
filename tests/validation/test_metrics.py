"""The numbers of a validation, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from deltadyn.errors import InputError
from deltadyn.validation.metrics import metrics, plain

# Residuals 1, -1, 1, 3 on the first axis: sum 4, squares 12, RMS sqrt(3). Predicted 0 ... 10,
# measured 1 ... 13 with mean 6 and squared deviations 25, 4, 1, 49: variance 79 / 4.
MEASURED = np.array([[1.0, 0.0], [4.0, 0.0], [5.0, 0.0], [13.0, 0.0]])
PREDICTED = np.array([[0.0, 2.0], [5.0, 2.0], [4.0, 2.0], [10.0, 2.0]])


def test_numbers_by_hand() -> None:
    found = metrics(MEASURED, PREDICTED)
    # exact but for the last bits of a root and a quotient
    np.testing.assert_allclose(found.rms, [np.sqrt(3.0), 2.0], rtol=1e-14)
    np.testing.assert_allclose(found.mean, [1.0, -2.0], rtol=1e-14)
    np.testing.assert_allclose(found.std, [np.sqrt(2.0), 0.0], rtol=1e-14)
    np.testing.assert_allclose(found.maximum, [3.0, 2.0], rtol=1e-14)
    assert found.fitness[0] == pytest.approx(1 - np.sqrt(3.0) / 10.0, rel=1e-14)  # predicted range
    assert found.fitness_measured[0] == pytest.approx(1 - np.sqrt(3.0) / 12.0, rel=1e-14)
    mean = (1 + 4 + 5 + 13) / 4
    variance = sum((x - mean) ** 2 for x in (1, 4, 5, 13)) / 4
    assert found.r_squared[0] == pytest.approx(1 - 3.0 / variance, rel=1e-14)
    assert found.count.tolist() == [4, 4]


def test_what_does_not_exist_is_nan() -> None:
    found = metrics(MEASURED, PREDICTED)
    assert np.isnan([found.fitness[1], found.fitness_measured[1], found.r_squared[1]]).all()
    none = metrics(MEASURED, PREDICTED, np.zeros((4, 2), dtype=bool))
    assert none.count.tolist() == [0, 0]
    assert np.isnan(none.rms).all()
    assert none.as_dict()["rms"] == [None, None]


def test_mask_picks_samples_per_axis() -> None:
    mask = np.array([[True, False], [True, True], [False, False], [False, False]])
    found = metrics(MEASURED, PREDICTED, mask)
    assert found.count.tolist() == [2, 1]
    np.testing.assert_allclose(found.rms, [1.0, 2.0], rtol=1e-14)
    np.testing.assert_allclose(found.mean, [0.0, -2.0], atol=1e-14)


def test_fitness_divides_by_the_predicted_range() -> None:
    """A model that predicts twice the torque looks better by eq. 41 than by the measured range."""
    tau = np.sin(np.linspace(0.0, 6.0, 50))[:, None]
    found = metrics(tau, 2 * tau)
    assert found.fitness[0] > found.fitness_measured[0]


@pytest.mark.parametrize(
    ("measured", "predicted", "mask", "message"),
    [
        (MEASURED, PREDICTED[:3], None, r"shape of predicted is \[3, 2\]; allowed: \(4, 2\)"),
        (MEASURED[:, 0], PREDICTED, None, r"measured is .*real numbers of shape \(N, dof\)"),
        (MEASURED, PREDICTED, np.ones((4, 2)), "mask is .*truth values of shape"),
        (
            np.where(MEASURED == 13.0, np.nan, MEASURED),
            PREDICTED,
            None,
            "measured at row 3, axis 0 is nan; allowed: finite numbers",
        ),
    ],
)
def test_wrong_arrays(measured: object, predicted: object, mask: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        metrics(measured, predicted, mask)  # type: ignore[arg-type]


def test_plain_numbers_for_json() -> None:
    assert plain([1.0, np.nan, np.inf]) == [1.0, None, None]
    assert plain(2.0) == 2.0
