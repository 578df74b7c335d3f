"""Exports in C compile without a warning however a user's compiler optimises them."""

from __future__ import annotations

import pytest
from tests.exports.c_build import ROBOTS, STRICT, need, run, sources_of
from tests.family.robots import make

from deltadyn.robot import Robot

NATIVE = ("-O3", "-march=native")  # what it inlines shows gcc more paths than -O1 does
CASES = (
    ("rich-4", "double", "bank"),
    ("rich-3", "float", "least-squares"),
    ("inclined", "double", "bank"),
    ("rails", "float", "bank"),
    ("vertical_spindle", "double", "least-squares"),
    ("planar", "double", None),
    ("planar_rails", "float", None),
    ("par4", "double", None),
    ("par4_rails", "float", None),
    ("heli4", "float", None),
    ("heli4_rails", "double", None),
)


def robot_by_name(name: str) -> Robot:
    """One of the robots of these tests, or the robot of a kind."""
    return ROBOTS[name] if name in ROBOTS else make(name)


@pytest.mark.parametrize("contract", ["fast", pytest.param("off", marks=pytest.mark.full)])
@pytest.mark.parametrize(("name", "precision", "estimator"), CASES)
def test_gcc_has_no_warning_at_its_highest_level(
    name: str, precision: str, estimator: str | None, contract: str
) -> None:
    folder = sources_of(robot_by_name(name), precision, estimator)
    sources = sorted(path.name for path in folder.glob("*.c"))
    run([need("gcc"), *STRICT, *NATIVE, f"-ffp-contract={contract}", "-c", *sources], folder)
    assert len(list(folder.glob("*.o"))) == len(sources) > 0
