"""Ten logs that no part of the library made: what `check` says of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.foreign import judged
from tests.foreign import foreign_log

pytest.importorskip("mujoco", reason="MuJoCo makes these logs")


@pytest.mark.full
@pytest.mark.parametrize("seed", range(900, 906))
def test_the_convention_of_a_foreign_log_is_found(seed: int, tmp_path: Path) -> None:
    case = judged(foreign_log(tmp_path, seed), True, seed)
    assert case.decided
    assert not case.wrong


@pytest.mark.full
@pytest.mark.parametrize("seed", range(900, 904))
def test_a_right_log_raises_no_alarm(seed: int, tmp_path: Path) -> None:
    case = judged(foreign_log(tmp_path, seed, right=True), False, seed)
    assert not case.changed
    assert not case.refused
    assert not case.wrong


def test_offsets_that_lower_the_residual_by_nothing_are_not_set(tmp_path: Path) -> None:
    """A right log of 8 degrees of motion: 22 degrees of all arms leave 1.30 % for 1.34 %."""
    case = judged(foreign_log(tmp_path, 31001, right=True), False, 31001)
    assert not case.changed
    assert not case.refused
    assert not case.decided  # it cannot show the homing
