"""Poses that units follow: of joints that close no loop there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exports.fmu_units import CallError, axes, needs_compiler, opened, units
from tests.exports.followed_cases import check, jumps, to_edge
from tests.exports.test_platforms import robot_of

import deltadyn as dd
from deltadyn.arrays import FloatArray


@needs_compiler
@pytest.mark.parametrize(("kind", "fmi"), [("par4", "2.0"), ("heli4_rails", "3.0")])
def test_units_answer_poses_of_the_joints_alone(kind: str, fmi: str, tmp_path: Path) -> None:
    robot, given = robot_of(kind), jumps(kind)
    found: list[FloatArray | None] = []
    with opened(units(robot, tmp_path, fmi=fmi)["inverse"]) as inverse:
        inverse.switch("from_joints", on=True)
        inverse.begin(**axes("q_ref", given.first[0]))
        for q, start, first in zip(given.q, given.start, given.first, strict=True):
            inverse.set(axes("q_ref", first))
            np.testing.assert_allclose(inverse.row("p", 4), start, rtol=0, atol=1e-9)
            found.append(_outputs(inverse, q))
        check(kind, found)
        for x in to_edge(kind, 2):
            inverse.set(axes("q_ref", dd.inverse_kinematics(robot, x)))
            np.testing.assert_allclose(inverse.row("p", 4), x, rtol=0, atol=1e-9)


def _outputs(inverse: Any, q: FloatArray) -> FloatArray | None:
    """The unit's pose of joints; None where it has a status instead."""
    inverse.set(axes("q_ref", q))
    try:
        x: FloatArray = np.array(inverse.row("p", 4))
    except CallError:  # discarded
        return None
    return x if inverse.status() == 0 else None
