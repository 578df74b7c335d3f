"""Causes by the pattern of what moved, and sentences for the shop floor."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from deltadyn.history.drift import Move
from deltadyn.history.drift.words import CAUSES, HITS, SURE, cause_of, sentence, title

DAY = datetime(2026, 5, 3, 2, tzinfo=UTC)


def moves(**percents: float) -> list[Move]:
    return [
        Move(name, "kg", 2.0, share / 50, 0.01, share, 0.5, share * 2)
        for name, share in percents.items()
    ]


@pytest.mark.parametrize(
    ("moved", "cause"),
    [
        ({"Fc2": 38.0}, "friction"),
        ({"Fv3": 20.0, "Fc3": 35.0}, "friction"),
        ({"Fc1": -30.0, "m_x2": 5.0, "residual1": 20.0}, "belt"),
        ({"m_x1": 20.0, "M_P": 2.1}, "strut"),
        ({"M_P": 2.1, "m_x1": 20.0, "A1": 2.0, "G1": 6.0}, "strut"),
        ({"M_P": 7.0}, "tool"),
        ({"G2": 12.0}, "counterweight"),
        ({"G2": 12.0, "A2": -2.2}, "counterweight"),
        ({"A3": 6.0}, "inertia"),
        ({"Fc1": 9.0, "Fv1": 8.0, "A1": 10.0}, "torque"),
        ({"Fv1": 9.0, "Fv2": 8.0, "Fv3": 10.0}, "common"),
        ({"residual2": 40.0}, "unmodelled"),
        ({"F01": 10.0}, ""),
        ({"G": 12.0}, "counterweight"),
    ],
)
def test_the_pattern_of_what_moved_names_the_cause(moved: dict[str, float], cause: str) -> None:
    assert cause_of(moves(**moved)) == cause


def test_a_sentence_says_what_how_far_since_when_and_why() -> None:
    text = sentence("step", DAY, DAY, "Europe/Berlin", moves(Fc2=38.2), "friction")
    assert text.startswith("Coulomb friction of axis 2 up 38 % since 3 May: ")
    assert text.endswith("belt tension or bearing")
    last = datetime(2027, 1, 1, tzinfo=UTC)
    assert "since 3 May 2026" in sentence("step", DAY, last, "UTC", moves(Fc2=-3.25), "")
    ramp = sentence("ramp", DAY, DAY, "UTC", moves(Fv1=-12.0), "belt")
    assert ramp.startswith("Viscous friction of axis 1 falling since about 3 May, down 12 % so far")


def test_a_cause_is_said_outright_only_where_its_hit_rate_backs_it() -> None:
    for cause, (right, told) in HITS.items():
        said = sentence("step", DAY, DAY, "UTC", moves(Fc2=10.0), cause)
        assert ("perhaps" in said) == (right / told < SURE)
        assert 0 <= right <= told
    unmeasured = next(cause for cause in CAUSES if cause not in HITS)
    assert "perhaps" in sentence("step", DAY, DAY, "UTC", moves(A1=10.0), unmeasured)


def test_names_without_a_short_one_use_their_meaning() -> None:
    assert title("M_P") == "mass at the platform"
    assert title("h_x") == "first moment of effector and payload along its x axis (h_x)"
    assert title("something") == "something"
