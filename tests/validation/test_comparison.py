"""Several models on the same recordings."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from tests.validation.bench import log, robot, run_of

import deltadyn as dd
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.robot import Robot
from deltadyn.validation import Comparison, compare, validate


def true_robot() -> Robot:
    return run_of(viscous=0.02, coulomb=0.06).truth.robot


@cache
def compared() -> Comparison:
    models = {"without": robot(), "simple": robot(), "true": true_robot()}
    return compare(
        models, log(viscous=0.02, coulomb=0.06), dynamics={"simple": "half-half"}, band=60.0
    )


def test_ranking() -> None:
    found = compared()
    assert found.ranking == ("true", "without", "simple")
    assert found.best == "true"
    relative = [found[name].relative_rms for name in found.ranking]
    assert relative == sorted(relative)
    assert found.beyond_chance == {"true": False, "without": True, "simple": True}
    assert found.verdict == "true is better than without, simple beyond chance."


def test_same_data_and_same_numbers_as_one_by_one() -> None:
    found = compared()
    assert len({found[name].band for name in found.ranking}) == 1
    for name in found.ranking:
        np.testing.assert_array_equal(found[name].measured, found["true"].measured)
    alone = validate(true_robot(), log(viscous=0.02, coulomb=0.06), band=60.0)
    np.testing.assert_array_equal(found["true"].rms, alone.rms)


def test_the_band_is_found_once() -> None:
    other = true_robot().replace(geometry=robot().geometry)
    found = compare({"a": robot(), "b": other}, log(viscous=0.02, coulomb=0.06))
    assert found["a"].band == found["b"].band is not None


def test_models_that_cannot_be_told_apart() -> None:
    near = true_robot().with_friction(viscous=float(true_robot().friction.viscous[0]) * 1.0001)
    found = compare({"one": true_robot(), "other": near}, log(viscous=0.02, coulomb=0.06))
    assert not any(found.beyond_chance.values())
    assert "cannot be told from" in found.verdict


def test_text_and_dict() -> None:
    found = compared()
    lines = str(found).splitlines()
    rows = [line.split()[0] for line in lines if line.startswith(("true ", "without ", "simple "))]
    assert rows[:3] == ["true", "without", "simple"]
    assert "RMS 1" in found.text
    assert "R^2 3" in found.text
    values = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert values["ranking"] == ["true", "without", "simple"]
    assert values["models"]["without"]["diagnosis"]["causes"][0]["cause"] == "friction"


def test_one_model_is_a_comparison_too() -> None:
    found = compare({"only": robot()}, log())
    assert found.verdict == "only is the only model."
    assert len(found) == 1


def test_wrong_calls() -> None:
    with pytest.raises(InputError, match=r"models is .*; allowed: robots or fits by name"):
        compare({}, log())
    with pytest.raises(InputError, match="name of a model is 3; allowed: a text"):
        compare({3: robot()}, log())  # type: ignore[dict-item]
    four = dd.load_robot("abb-irb360-6-1600")
    with pytest.raises(InputError, match="axes of model 'b' is 4; allowed: 3, as 'a' has"):
        compare({"a": robot(), "b": four}, log())
    with pytest.raises(
        InputError, match="name in dynamics is 'c'; allowed: one of the models: 'a'"
    ):
        compare({"a": robot()}, log(), dynamics={"c": "exact"})
    with pytest.raises(UnknownNameError, match="model is 'c'; allowed: one of"):
        compare({"a": robot()}, log(), dynamics={"a": "c"})


def test_training_data_are_refused_by_the_name_of_the_model() -> None:
    from tests.validation.test_validate import OwnFit

    from deltadyn.recording.recording import DataSource

    fit = OwnFit(robot(), 1.0, data=(DataSource.of(log()),))
    with pytest.raises(InputError, match="one that 'mine' was not fitted to"):
        compare({"other": robot(), "mine": fit}, log())
    assert len(compare({"other": robot(), "mine": fit}, log(), training=True)) == 2
