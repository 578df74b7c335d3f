"""The trees of the family: two engines agree, mobility is found, platforms do not turn."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.engines.spec import Array

from . import KINDS, Member, States, random_member, states
from .stored import MEMBERS, pinocchio_states, stored_states

STATES = 12
AGREEMENT = 1e-11  # relative; 1e-14 is usual, 1e-12 where a screw of small lead is driven by struts


@pytest.fixture(scope="module", params=KINDS)
def member(request: pytest.FixtureRequest) -> Member:
    return random_member(request.param, 0)


@pytest.fixture(scope="module")
def pair(member: Member) -> tuple[States, States]:
    return states(member, STATES, 1, "mujoco"), states(member, STATES, 1, "pinocchio")


@pytest.mark.full
@pytest.mark.parametrize("drawn", MEMBERS, ids=str)
def test_stored_states_are_those_of_pinocchio(drawn: tuple[str, int, bool]) -> None:
    stored, now = stored_states(*drawn), pinocchio_states(*drawn)
    for name in ("q", "qd", "qdd", "x", "xd", "xdd", "tau", "M", "c", "g", "J"):
        assert worst(getattr(stored, name), getattr(now, name)) < AGREEMENT, name


def worst(ours: Array, reference: Array) -> float:
    """Largest difference over the largest value."""
    return float(np.max(np.abs(ours - reference)) / np.max(np.abs(reference)))


@pytest.mark.full
def test_engines_agree(pair: tuple[States, States]) -> None:
    first, second = pair
    for name in ("q", "qd", "qdd", "x", "xd", "xdd", "tau", "M", "c", "g", "J"):
        assert worst(getattr(first, name), getattr(second, name)) < AGREEMENT, name


@pytest.mark.full
def test_mobility_is_found_and_nothing_turns(member: Member, pair: tuple[States, States]) -> None:
    for found in pair:
        assert np.all(found.mobility == member.dof)
        assert np.max(found.turning) < 1e-10


@pytest.mark.full
def test_torque_is_the_sum_of_its_terms(pair: tuple[States, States]) -> None:
    for found in pair:
        tau = np.einsum("nij,nj->ni", found.M, found.qdd) + found.c + found.g
        assert worst(tau, found.tau) < AGREEMENT
        assert np.all(np.linalg.eigvalsh(found.M) > 0)
