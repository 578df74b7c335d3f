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
