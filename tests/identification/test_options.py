"""Options of methods and fits: values with checks, and keywords that mean the same."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import deltadyn as dd
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification import (
    L1,
    METHODS,
    Convex,
    FitOptions,
    LogCholesky,
    Preparation,
    Robust,
    Swarm,
    identify,
)
from deltadyn.identification.loading import Loaded
from deltadyn.identification.methods.registry import method_of
from deltadyn.motion import y1

ROBOT = dd.load_robot("sipro-d3-1200")


@pytest.fixture(scope="module")
def log() -> dd.Recording:
    truth = ROBOT.with_friction(viscous=1.5, coulomb=3.0)
    motion = y1(ROBOT, share=0.5)
    noise = np.random.default_rng(0).normal(0, 0.2, motion.qd.shape)
    tau = dd.inverse_dynamics(truth, motion) + noise
    return dd.Recording(motion.t, motion.q, tau, qd=motion.qd, qdd=motion.qdd, name="log")


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_method_is_a_frozen_value_with_its_facts(name: str) -> None:
    kind = METHODS[name]
    assert "__dataclass_fields__" in vars(kind)
    assert kind.name == name
    assert kind.model in kind.models
    assert kind.source
    method = method_of(name, {})
    assert isinstance(method, kind)
    for option in kind.option_names():
        with pytest.raises(FrozenInstanceError):
            setattr(method, option, None)
    with pytest.raises(UnknownNameError, match=f"option of '{name}' is 'colour'; allowed: one of"):
        method_of(name, {"colour": 1})


def test_a_method_and_its_name_with_keywords_are_the_same_fit(log: dd.Recording) -> None:
    information = Loaded(ROBOT, log, Preparation(30.0)).information("exact")
    one = identify(ROBOT, information, "convex", strength=1e-3, tied=False, weights="equal")
    options = FitOptions(tied=False, weights="equal")
    two = identify(ROBOT, information, Convex(strength=1e-3), options)
    assert np.array_equal(one.values, two.values)
    assert one.options == two.options
    assert one.options["strength"] == 1e-3
    assert one.options["weights"] == "equal"
    assert one.options["method"] == "convex"
    three = identify(ROBOT, information, Convex(strength=1.0), options, strength=1e-3)
    assert np.array_equal(one.values, three.values)


def test_a_keyword_that_nobody_knows_is_refused(log: dd.Recording) -> None:
    with pytest.raises(UnknownNameError, match="option of 'l1' is 'strength'; allowed: one of '"):
        identify(ROBOT, log, "l1", strength=1.0)
    with pytest.raises(UnknownNameError, match="option of 'l1' is 'strength'; allowed: one of '"):
        identify(ROBOT, log, L1(), strength=1.0)
    with pytest.raises(UnknownNameError, match=r"option of 'base' is 'tide'; .*'tied'"):
        identify(ROBOT, log, "base", tide=False)
    with pytest.raises(UnknownNameError, match="model for 'convex' is 'gray-box'; allowed: one of"):
        identify(ROBOT, log, Convex(), model="gray-box")
    with pytest.raises(InputError, match=r"options is 'dict'; allowed: FitOptions\(\.\.\.\)"):
        identify(ROBOT, log, "base", {"tied": False})  # type: ignore[arg-type]


def test_wrong_options_are_refused_when_they_are_made() -> None:
    with pytest.raises(InputError, match="threshold is 0; allowed: a number of deviations above 0"):
        Robust(threshold=0.0)
    with pytest.raises(InputError, match="passes is 0; allowed: a whole number, at least 1"):
        Robust(passes=0)
    with pytest.raises(InputError, match="weight is 1; allowed: None where a strength is given"):
        Convex(strength=1.0, weight=1.0)
    with pytest.raises(InputError, match="max_iterations is 0; allowed: a whole number"):
        Convex(max_iterations=0)
    with pytest.raises(UnknownNameError, match="regularisation is 'l2'; allowed: one of 'euclid"):
        Convex(regularisation="l2")
    with pytest.raises(UnknownNameError, match="guess is 'cad'; allowed: one of 'nominal'"):
        LogCholesky(guess="cad")
    with pytest.raises(InputError, match="neighbours is 300; allowed: an even number below"):
        Swarm(neighbours=300)
    with pytest.raises(InputError, match="unidentifiable is 'drop'; allowed: 'raise' or 'hold'"):
        FitOptions(unidentifiable="drop")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="tied is 'yes'; allowed: True, False, 'auto' or None"):
        FitOptions(tied="yes")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="seed is -1; allowed: a whole number, at least 0"):
        FitOptions(seed=-1)
