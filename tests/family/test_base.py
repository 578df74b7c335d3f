"""Base parameters of the family: how many there are, and what the words say about rails."""

from __future__ import annotations

import numpy as np
import pytest
from tests.family.random_robots import make_robot
from tests.reference.family import random_member
from tests.reference.family.convert import to_robot
from tests.reference.family.formulas import limb_parameters, shares

import deltadyn as dd
from deltadyn.dynamics import base_parameters
from deltadyn.dynamics.base import exciting_states, level_rails
from deltadyn.identification.meanings import meaning
from deltadyn.identification.parametrisation import parametrise

RANKS = {  # tied, per limb
    ("standard", False): (5, 13),
    ("inclined", False): (5, 13),
    ("vertical", False): (4, 10),
    ("rails", False): (4, 10),
    ("level", False): (3, 7),
    ("standard", True): (12, 20),
    ("inclined", True): (12, 20),
    ("vertical", True): (11, 17),
    ("rails", True): (11, 17),
    ("level", True): (10, 14),
}


@pytest.mark.parametrize(("kind", "spindle"), RANKS)
def test_ranks(kind: str, spindle: bool) -> None:
    equal = make_robot(kind, 0, equal=True, spindle=spindle)
    own = make_robot(kind, 1, spindle=spindle)
    tied, each = base_parameters(equal), base_parameters(own)
    assert (tied.rank, each.rank) == RANKS[kind, spindle]
    for found in (tied, each):
        assert found.gap > 1e6
        assert not found.dependent


@pytest.mark.parametrize("kind", ["vertical", "rails", "level"])
@pytest.mark.parametrize("tied", [True, False])
def test_groups_of_rails_are_those_of_the_bodies(kind: str, tied: bool) -> None:
    """The rows of K give the exact values from the bodies, and Y_exact K = Y_rigid."""
    robot = make_robot(kind, 3, equal=True)
    found = base_parameters(robot, tied=tied)
    state = exciting_states(robot, 20)
    rigid = dd.regressor(robot, state, "rigid", tied=tied, friction=False)
    values = dict(zip(rigid.names, rigid.parameters, strict=True))
    standard = np.array([values[name] for name in found.standard])
    expected = [item.value for item in found.parameters]
    np.testing.assert_allclose(found.matrix @ standard, expected, rtol=1e-12)
    exact = dd.regressor(robot, state, tied=tied, friction=False)
    seen = [exact.names.index(name) for name in found.independent]
    np.testing.assert_allclose(
        exact.Y[:, :, seen] @ found.matrix @ standard, rigid.Y @ rigid.parameters, atol=1e-10
    )
    assert {item.unit for item in found.parameters} == {"kg"}


def test_words_of_rails() -> None:
    found = base_parameters(make_robot("rails", 0))
    by_name = {item.name: item for item in found.parameters}
    assert "carriage.mass + carriage.counterweight" in by_name["A2"].expression
    assert "carriage.mass - carriage.counterweight" in by_name["G2"].expression
    assert "arm" not in found.text.replace("parameters", "")
    assert "carriage" in meaning("A1", linear=True)
    assert "rail" in meaning("G3", linear=True)


def test_level_rails_say_that_their_weight_is_not_seen() -> None:
    robot = make_robot("level", 0)
    found = base_parameters(robot)
    assert level_rails(robot) == ("G1", "G2", "G3")
    assert found.no_influence[:3] == ("G1", "G2", "G3")
    assert "No motion tells G1, G2, G3: on a level rail" in found.text
    assert "carriage" in found.parameters[-1].expression
    par = parametrise(robot)
    assert not any(name.startswith("G") for name in par.names)
    lifted = parametrise(make_robot("rails", 0))
    assert {"G1", "G2", "G3"} <= set(lifted.names)
    assert base_parameters(make_robot("rails", 0)).note == ""


@pytest.mark.parametrize("kind", ["linear any rails", "rotary inclined", "spindle linear"])
def test_values_are_those_of_the_reference(kind: str) -> None:
    member = random_member(kind, 0)
    found = {item.name: item.value for item in base_parameters(to_robot(member).robot).parameters}
    pairs = zip(member.limbs, shares(member), strict=True)
    for i, (limb, share) in enumerate(pairs, start=1):
        A, G, G_s = limb_parameters(limb, share)
        assert found[f"A{i}"] == pytest.approx(A, rel=1e-12)
        assert found[f"G{i}"] == pytest.approx(G, rel=1e-12)
        assert found[f"m_x{i}"] == pytest.approx(share.x, rel=1e-12)
        assert found.get(f"G_s{i}", 0.0) == pytest.approx(G_s, rel=1e-12)
