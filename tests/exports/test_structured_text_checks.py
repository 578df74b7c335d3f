"""The self-test of exported kinematics and torques, executed."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import pytest
from tests.dynamics.factory import rich_drives
from tests.exports.st_cases import RESERVED, own_robot
from tests.exports.st_evaluator import Instance, instance
from tests.family.robots import make

from deltadyn.exports.common import INTERFACE_VERSION, write_fingerprint
from deltadyn.exports.structured_text import model_blocks, plain
from deltadyn.exports.structured_text.blocks import named
from deltadyn.robot import Robot

POINTS = ("inclined", "vertical", "rails", "level", "vertical_spindle")
PLANES = ("planar", "planar_rails", "beam")
HALVES = ("par4", "par4_rails", "heli4", "heli4_rails")
KINDS = ("3-dof", "4-dof", *POINTS, *PLANES, *HALVES)
BLOCKS = ("InverseKinematics", "ForwardKinematics", "Feedforward", "FeedforwardJoints")


DIGITS = "0123456789abcdef"  # of a fingerprint


@lru_cache(maxsize=32)
def robot_of(kind: str) -> Robot:
    return rich_drives(own_robot(int(kind[0]))) if kind.endswith("-dof") else make(kind)


@lru_cache(maxsize=32)
def text_of(kind: str) -> str:
    robot = robot_of(kind)
    text = plain(robot, [named(block, "Own") for block in model_blocks(robot)])
    return write_fingerprint(text, DIGITS)


def run_of(text: str, *, single: bool = False) -> Instance:
    """The self-test behind its last call."""
    block = instance(text, "FB_Own_SelfTest", single=single)
    for k in range(6):
        assert (block.Done, block.Sample) == (False, k)
        block(Run=True)
    assert block.Done
    block(Run=True)
    assert block.Sample == 6
    return block


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_passes(kind: str) -> None:
    """All blocks agree with Python, a point out of reach is refused; no name is a keyword."""
    block = run_of(text_of(kind))
    for name, source in block.library.items():
        assert not {name, *source.variables} & set(RESERVED.split())
    assert (block.Passed, block.Failed, block.Bits) == (True, 0, 64)
    assert block.Error < 1e-11
    assert block.Gap < 1e-13
    block(Run=False)
    assert (block.Done, block.Passed, block.Sample) == (False, False, 0)


@pytest.mark.parametrize("kind", ["3-dof", "4-dof", "vertical", "beam"])
def test_an_lreal_of_32_bits_has_its_own_tolerance(kind: str) -> None:
    """The block tells how many bits there are, and what they allow."""
    block = run_of(text_of(kind), single=True)
    assert (block.Passed, block.Bits) == (True, 32)
    assert 1e-9 < block.Error < 2e-4


@pytest.mark.parametrize("kind", ["par4"])
def test_a_followed_pose_needs_64_bits(kind: str) -> None:
    block = run_of(text_of(kind), single=True)
    assert (block.Passed, block.Failed, block.Bits) == (False, 1, 32)


def test_version_and_fingerprint_are_there_before_a_run() -> None:
    block = instance(text_of("3-dof"), "FB_Own_SelfTest")()
    parts = [getattr(block, f"Fingerprint{k}") for k in range(1, 5)]
    assert "".join(f"{part:04x}" for part in parts) == DIGITS
    assert block.InterfaceVersion == INTERFACE_VERSION
    assert not block.Done


def numbers_of(text: str, name: str) -> list[re.Match[str]]:
    """Numbers of the robot in a block: those with many digits, without those of an arctangent."""
    start = text.index(f"FUNCTION_BLOCK FB_Own_{name}\n")
    end = text.index("END_FUNCTION_BLOCK", start)
    found = re.compile(r"\b\d+\.\d{5,}(?:E-?\d+)?").finditer(text, start, end)
    return [match for match in found if match[0] not in ("1.5707963267948966", "3.141592653589793")]


@pytest.mark.parametrize(
    ("kind", "name"),
    [("4-dof", name) for name in BLOCKS] + [("par4", "PoseStep"), ("par4", "TorqueAtPose")],
)
def test_a_changed_number_is_found(kind: str, name: str) -> None:
    """Any number of the model, off by 1e-5 of its size."""
    text = text_of(kind)
    places = numbers_of(text, name)
    for place in np.random.default_rng(1).choice(len(places), 3, replace=False):
        match = places[place]
        other = repr(float(match[0]) * (1 + 1e-5)).replace("e", "E")
        block = run_of(text[: match.start()] + other + text[match.end() :])
        assert not block.Passed, match[0]
        assert 1 <= block.Failed <= 5
