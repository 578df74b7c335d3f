"""A million states in C that was compiled as if there were no NaN."""

from __future__ import annotations

import pytest
from tests.exports.test_c_fast_math import no_answer_is_nan


@pytest.mark.parametrize(("compiler", "name"), [("gcc", "plain"), ("clang", "full-4")])
def test_no_answer_of_a_million_is_nan(compiler: str, name: str) -> None:
    no_answer_is_nan(compiler, name, 1_000_000)
