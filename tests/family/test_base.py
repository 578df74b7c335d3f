"""Base parameters of the family: how many there are, and what the words say about rails."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.family.random_robots import make_robot
from tests.family.robots import OTHER_PLATFORMS, make
from tests.reference.family import random_member
from tests.reference.family.convert import to_robot
from tests.reference.family.formulas import limb_parameters, shares

import deltadyn as dd
from deltadyn.dynamics import base_parameters
from deltadyn.dynamics.base import exact_base_map, exciting_states, level_rails, numerical_rank
from deltadyn.dynamics.parameters import exact_parameters
from deltadyn.identification.meanings import meaning
from deltadyn.identification.parametrisation import parametrise
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform

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


OTHER_RANKS = {  # tied, per limb; with G_s tied, per limb
    "planar": (4, 7, 5, 9),
    "planar_rails": (4, 7),
    "beam": (3, 4),
    "par4": (9, 18, 10, 22),
    "par4_rails": (9, 18),
    "heli4": (8, 17, 9, 21),
    "heli4_rails": (8, 17),
}


@pytest.mark.parametrize("kind", OTHER_PLATFORMS)
def test_ranks_of_two_and_four_limbs(kind: str) -> None:
    """Those of the table that theory gives; per limb on one beam a column is another's."""
    robot = make(kind)
    found = [base_parameters(robot, tied=tied) for tied in (True, False)]
    if not robot.linear:
        found += [base_parameters(robot, "exact", tied, True) for tied in (True, False)]
    assert tuple(item.rank for item in found) == OTHER_RANKS[kind]
    assert all(item.gap > 1e6 for item in found)
    assert [item.dependent for item in found[:2]] == [(), ("m_x2",) if kind == "beam" else ()]
    assert all(item.meaning for item in found[1].parameters)


@pytest.mark.parametrize(("tied", "rank"), [(True, 8), (False, 17)])
def test_rank_of_bars_with_nothing_beside_them(tied: bool, rank: int) -> None:
    """Without the columns of G_s and S_s."""
    robot = make("par4")
    found = dd.regressor(robot, exciting_states(robot, 60), tied=tied, friction=False)
    kept = [name != "S_s" for name in found.names]
    Y = found.stacked()[:, kept]
    assert numerical_rank(Y / np.linalg.norm(Y, axis=0))[0] == rank == sum(kept)


def geared(ratio: float = 1.0) -> Robot:
    """A Par4 with something beside its bars, which stand askew at psi = 0."""
    robot = make("par4")
    assert isinstance(robot.platform, ArticulatedPlatform)
    changes: dict[str, Any] = {
        "ratio": ratio,
        "phi0": 0.3,
        "gear_mass": 0.05,
        "gear_place": (0.01, 0.02),
    }
    return robot.replace(platform=replace(robot.platform, **changes))


def test_bars_that_turn_with_the_tool_join_its_moments() -> None:
    """k = 1: h_x + S cos phi0 - S_s sin phi0 and its like are all that shows, tied or not."""
    one, two = geared(), geared(2.0)
    for tied, rank in ((True, 9), (False, 18)):
        found = base_parameters(one, tied=tied)
        assert (base_parameters(two, tied=tied).rank, found.rank) == (rank, rank - 2)
        assert found.dependent == ("S", "S_s")
        assert "with ratio 1 the bars turn with the tool" in found.text
    own = exact_parameters(one).halves
    assert own is not None
    values = {item.name: item for item in base_parameters(one).parameters}
    c, s = np.cos(0.3), np.sin(0.3)
    assert values["h_x"].value == pytest.approx(own.h_x + c * own.S - s * own.S_s)
    assert values["h_y"].value == pytest.approx(own.h_y + s * own.S + c * own.S_s)
    assert values["h_x"].expression == "h_x + 0.9553 S - 0.2955 S_s"
    par = parametrise(one)
    assert par.unseen == ("S", "S_s")
    assert dict(zip(par.names, par.prior, strict=True))["h_y"] == pytest.approx(values["h_y"].value)


def test_words_of_halves_and_bars() -> None:
    text = base_parameters(make("par4")).text
    for words in (
        "half_mass_1 sigma_1 + half_mass_2 sigma_2 + bar_mass bar_x + gear_mass gear_x",
        "4 Ie/l2^2",
        "first moment of what sits on the bars across them",
        "I_bars: bars and gears about the tool's axis",
    ):
        assert words in text
    screw = base_parameters(make("heli4"))
    assert "along the screw, per rad of psi" in screw.text
    assert "S_s" not in screw.independent
    assert (
        "A1 + m_x1, A2 + m_x2 and m_x1 + m_x2 show"
        in base_parameters(make("beam"), tied=False).text
    )
    for name in ("S", "S_s", "half_a.m", "bars.Izz", "m_x4", "strut4.m", "A4"):
        assert meaning(name)


@pytest.mark.parametrize("kind", ["vertical", "rails", "level", *OTHER_PLATFORMS, "ratio one"])
@pytest.mark.parametrize("tied", [True, False])
def test_groups_are_those_of_the_bodies(kind: str, tied: bool) -> None:
    """The rows of K give the exact values from the bodies, and Y_exact K = Y_rigid."""
    if kind == "ratio one":
        robot = geared()
    else:
        robot = make(kind) if kind in OTHER_PLATFORMS else make_robot(kind, 3, equal=True)
    found = base_parameters(robot, tied=tied)
    state = exciting_states(robot, 20)
    rigid = dd.regressor(robot, state, "rigid", tied=tied, friction=False)
    values = dict(zip(rigid.names, rigid.parameters, strict=True))
    standard = np.array([values[name] for name in found.standard])
    expected = [item.value for item in found.parameters]
    np.testing.assert_allclose(found.matrix @ standard, expected, rtol=1e-12, atol=1e-15)
    exact = dd.regressor(robot, state, tied=tied, friction=False)
    seen = [exact.names.index(name) for name in found.independent]
    np.testing.assert_allclose(
        exact.Y[:, :, seen] @ found.matrix @ standard, rigid.Y @ rigid.parameters, atol=1e-10
    )
    np.testing.assert_allclose(
        exact_base_map(robot, found.independent, found.standard, tied), found.matrix, atol=1e-12
    )
    if robot.linear and not robot.turns:
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
    note = base_parameters(make_robot("rails", 0)).note
    assert note == "No motion tells the payload's offset: nothing turns on this robot."
    assert base_parameters(make("rails")).note == ""


@pytest.mark.parametrize(
    "kind",
    [
        "linear any rails",
        "rotary inclined",
        "spindle linear",
        "planar rotary",
        "par4 inclined k=3",
        "par4 rails k=2",
        "heli4 rails",
    ],
)
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
