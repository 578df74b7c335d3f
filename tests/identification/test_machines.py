"""What machines have beside their robot file, from a log of an independent plant to `fit.terms`.

One machine for each of a few causes; `python -m benchmarks.machines` has all causes, many seeds.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from benchmarks.machines import Asked, Trial, measure
from tests.machines import compiler

pytestmark = pytest.mark.skipif(compiler() is None, reason="the plant needs gcc (or cc)")

SEED = 1
CAUSES = ("none", "friction", "load", "arms", "delay", "offset")
COVERED = 0.8  # of a machine's parameters; 95 % is meant, and ten of them leave a chance to miss
BETTER = 0.5  # of the file's error: the causes make 3 to 20 times the noise, half leaves a margin
NEAR = 1.25  # times the error of the torque's noise alone, or of a fit that knows the terms


@cache
def trials(cause: str) -> dict[str, Trial]:
    """The machine of a cause with usual strength: by default, and by the robot file's model."""
    found = measure(Asked(cause, SEED, strength=1.0, ways=("auto", "file")))
    return {trial.way: trial for trial in found}


@pytest.mark.full
@pytest.mark.parametrize("cause", CAUSES)
def test_the_terms_of_a_machine_are_named_and_no_others(cause: str) -> None:
    found = trials(cause)["auto"]
    assert not found.broken
    assert found.found == found.true
    assert found.missing is False


@pytest.mark.parametrize("cause", CAUSES)
def test_intervals_hold_the_true_parameters(cause: str) -> None:
    found = trials(cause)["auto"]
    assert len(found.covered) >= 10
    assert np.mean(list(found.covered.values())) >= COVERED
    # an interval that is always wide would hold anything: the error itself is small, too
    assert max(abs(share) for share in found.off.values()) < 0.05


def test_intervals_hold_over_all_machines() -> None:
    inside = [held for cause in CAUSES for held in trials(cause)["auto"].covered.values()]
    assert np.mean(inside) >= 0.9


@pytest.mark.parametrize("cause", CAUSES)
def test_torque_of_unseen_motion_is_better_than_by_the_file(cause: str) -> None:
    auto, file = trials(cause)["auto"], trials(cause)["file"]
    assert auto.error is not None
    assert file.error is not None
    assert auto.error < NEAR * auto.noise
    assert auto.error < (BETTER if cause != "none" else 1.02) * file.error
    assert auto.inside is not None
    assert auto.inside > 90  # percent of the rows, of a band for 95


@pytest.mark.full
@pytest.mark.parametrize("cause", ["delay", "kt", "elastic"])
def test_a_term_that_is_kept_out_of_the_search_is_missed(cause: str) -> None:
    (found,) = measure(Asked(cause, SEED, strength=1.0, ways=("auto",), without=("cause",)))
    assert found.without == found.true
    assert not set(found.found) & set(found.true)
    assert found.missing
    assert np.mean(list(found.covered.values())) >= COVERED  # intervals are widened for it


@pytest.mark.full
def test_coloured_noise_is_no_missing_term() -> None:
    (found,) = measure(Asked("coloured", SEED, strength=1.0, ways=("auto",)))
    assert found.found == []
    assert found.missing is False
