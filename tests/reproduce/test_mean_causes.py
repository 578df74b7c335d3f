"""Causes of published means: the subset that made them is the most probable, and no larger one."""

from __future__ import annotations

import numpy as np
import pytest

from deltadyn.errors import InputError
from deltadyn.reproduce.mean_causes import (
    Cause,
    Prediction,
    cause_probabilities,
    compare_causes,
    smallest_explanation,
)

MOTIONS, COUNT = 40, 9
RNG = np.random.default_rng(5)
BASE = RNG.normal(0.0, 0.3, (MOTIONS, COUNT))
SLIP = np.array([4.0, 4, 4, 0, 0, 0, 0, 0, 0])
MASS = np.repeat([[3.0, 2, 1]], 3, axis=0).ravel() + RNG.normal(0.0, 0.1, (MOTIONS, COUNT))
OFFSETS = np.tile(np.eye(3), (3, 1))
CAUSES = (
    Cause("slip"),
    Cause("mass", (2.0,), "kg"),
    Cause("common offset", (3.0, 10.0), "N m", family="offset"),
    Cause("offset per joint", (3.0, 10.0), "N m", family="offset"),
)


def predict(fixed: frozenset[str]) -> Prediction:
    base = BASE + SLIP if "slip" in fixed else BASE
    ones = np.ones((MOTIONS, COUNT, 1))
    each = np.broadcast_to(OFFSETS, (MOTIONS, COUNT, 3))
    return Prediction(
        base, {"mass": MASS[:, :, None], "common offset": ones, "offset per joint": each}
    )


@pytest.mark.parametrize(
    ("truth", "causes"),
    [
        (BASE[3], ()),
        (BASE[3] + SLIP, ("slip",)),
        (BASE[7] + 2.5 * MASS[7], ("mass",)),
        (BASE[9] + SLIP + OFFSETS @ [6.0, -3.0, -4.0], ("slip", "offset per joint")),
    ],
)
def test_what_made_the_means_is_found(
    truth: np.ndarray[tuple[int], np.dtype[np.float64]], causes: tuple[str, ...]
) -> None:
    explanations = compare_causes(truth, CAUSES, predict)
    assert smallest_explanation(explanations).causes == causes
    assert explanations[0].causes == causes
    assert sum(item.probability for item in explanations) == pytest.approx(1.0)
    probabilities = cause_probabilities(explanations)
    for name in probabilities:
        assert (probabilities[name] > 0.5) == (name in causes)


def test_the_numbers_of_the_causes_are_found_with_their_deviations() -> None:
    truth = BASE[7] + 2.5 * MASS[7]
    best = compare_causes(truth, CAUSES, predict)[0]
    assert best.numbers == 1
    assert abs(best.values["mass"][0] - 2.5) < 3 * best.deviations["mass"][0] < 1.0
    assert best.rms < 0.5  # N m, of means of 5: the motion adds 0.3
    np.testing.assert_allclose(best.means + best.residual, truth)


def test_causes_of_a_family_exclude_each_other_and_may_be_ruled_out() -> None:
    explanations = compare_causes(BASE[0], CAUSES, predict)
    both = {"common offset", "offset per joint"}
    assert len(explanations) == 12  # 2 * 2 * 3 subsets
    assert not any(both <= set(item.causes) for item in explanations)
    assert len(compare_causes(BASE[0], CAUSES, predict, most=1)) == 5
    without = compare_causes(BASE[0], CAUSES, lambda fixed: None if fixed else predict(fixed))
    assert not any("slip" in item.causes for item in without)
    with pytest.raises(InputError, match="a subset that is not ruled out"):
        compare_causes(BASE[0], CAUSES, lambda fixed: None)
    with pytest.raises(InputError, match="finite numbers"):
        compare_causes([np.nan], CAUSES, predict)


def test_evidence_is_the_integral_of_the_likelihood() -> None:
    """One mean, one motion, one number: against a sum over the number and sigma."""
    from deltadyn.reproduce.mean_causes import CAUSE_PROBABILITY, NOISE_RANGE_NM, NOISE_STEPS

    cause, y, x, base = Cause("a", (2.0,)), 3.0, 1.5, 0.4
    prediction = Prediction(np.array([[base]]), {"a": np.array([[[x]]])})
    (one, none) = sorted(
        compare_causes([y], [cause], lambda fixed: prediction), key=lambda item: -len(item.causes)
    )
    theta = np.linspace(-30, 30, 60001)
    prior = np.exp(-0.5 * (theta / 2) ** 2) / (2 * np.sqrt(2 * np.pi))
    total, alone = 0.0, 0.0
    for sigma in np.geomspace(*NOISE_RANGE_NM, NOISE_STEPS):
        scale = 1 / (sigma * np.sqrt(2 * np.pi))
        likelihood = scale * np.exp(-0.5 * ((y - base - x * theta) / sigma) ** 2)
        total += float(np.sum(likelihood * prior) * (theta[1] - theta[0])) / NOISE_STEPS
        alone += scale * np.exp(-0.5 * ((y - base) / sigma) ** 2) / NOISE_STEPS
    assert one.log_evidence == pytest.approx(np.log(total * CAUSE_PROBABILITY), abs=1e-6)
    assert none.log_evidence == pytest.approx(np.log(alone * (1 - CAUSE_PROBABILITY)), abs=1e-12)
