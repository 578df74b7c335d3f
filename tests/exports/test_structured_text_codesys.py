"""The block for CODESYS' dynamics, run against a stub of the interface."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from tests.dynamics.factory import make_robot
from tests.exports.st_cases import CONVENTION, own_robot
from tests.exports.st_evaluator import Instance, instance
from tests.exports.st_methods import check_implements, plain_block
from tests.family.robots import make

import deltadyn as dd
from deltadyn.exports import export
from deltadyn.exports.common import write_fingerprint
from deltadyn.exports.model_test import model_test
from deltadyn.exports.sheets import symmetric_layout
from deltadyn.exports.structured_text import head, model_blocks, plain, with_export
from deltadyn.exports.structured_text.blocks import named
from deltadyn.exports.structured_text.codesys import axis_order, codesys_files
from deltadyn.robot import Robot
from deltadyn.robot.settings import Controller

KINDS = ("symmetric", "4-dof", "vertical", "planar", "par4_rails")
NAME = "codesys/FB_Own_Dynamics.st"


@lru_cache(maxsize=8)
def robot_of(kind: str) -> Robot:
    if kind != "symmetric":
        return own_robot(int(kind[0])) if kind.endswith("-dof") else make(kind)
    sign, offset = (values[:3] for values in CONVENTION)
    robot = make_robot(3, True, controller=Controller(sign, offset))
    clockwise = tuple(-k * 2 * np.pi / 3 for k in range(3))  # Kin_Tripod_Rotary goes the other way
    return robot.replace(geometry=replace(robot.rotary, azimuth=clockwise))


DIGITS = "0123456789abcdef"


@lru_cache(maxsize=8)
def texts_of(kind: str) -> dict[str, str]:
    robot = robot_of(kind)
    texts = codesys_files(robot, "Own", head(robot, "Dynamics"))
    return {name: write_fingerprint(text, DIGITS) for name, text in texts.items()}


def block_of(kind: str) -> Instance:
    robot = robot_of(kind)
    own = [with_export(named(block, "Own")) for block in model_blocks(robot)]
    blocks = write_fingerprint(plain(robot, own), DIGITS)
    return instance(blocks + plain_block(texts_of(kind)[NAME]), "Lowered")


@pytest.mark.parametrize("kind", KINDS)
def test_the_method_gives_pythons_torques(kind: str) -> None:
    """In the order, units and signs of the axis group, whatever `robot.controller` says."""
    robot, block = robot_of(kind), block_of(kind)
    order = axis_order(robot)
    scale = [1e3 if robot.linear and axis < robot.legs else 180 / np.pi for axis in order]
    test = model_test(robot)
    more = {"LengthUnit": 1e-3} if robot.linear else {}
    for check in test.checks:
        state = dd.State.from_platform(robot, check.p, check.pd, check.pdd)
        given = {
            f"{name}_a{k}": float(np.ravel(values)[axis] * scale[k])
            for name, values in (("aPos", state.q), ("aVel", state.qd), ("aAcc", state.qdd))
            for k, axis in enumerate(order)
        }
        load = {"PayloadMass": check.mass}
        load |= {"PayloadInertia": check.inertia} if robot.turns else {}
        block(**given, **load, **more)
        assert (block.Result, block.Status) == (0, 0)
        torque = np.asarray(robot.controller.sign) * check.torque
        found = [getattr(block, f"aTorque_a{k}") for k in range(robot.dof)]
        atol = 1e-9 * test.torque_scale
        np.testing.assert_allclose(found, torque[list(order)], rtol=0, atol=atol)


def test_a_bad_state_is_an_error_and_leaves_the_torques() -> None:
    block = block_of("3-dof")
    block(aPos_a0=30.0, aPos_a1=30.0, aPos_a2=30.0)
    assert block.Result == 0
    before = [getattr(block, f"aTorque_a{k}") for k in range(3)]
    block(aPos_a0=1e9)
    assert (block.Result, block.Status) == (1, 1)
    assert [getattr(block, f"aTorque_a{k}") for k in range(3)] == before


def test_axes_stand_as_in_the_kinematics_of_the_sheets() -> None:
    robot = robot_of("symmetric")
    assert axis_order(robot) == symmetric_layout(robot, np.pi).order == (0, 2, 1)
    assert axis_order(robot_of("3-dof")) == (0, 1, 2)  # no such kinematics holds it


def test_another_signature_is_found() -> None:
    text = texts_of("3-dof")[NAME]
    check_implements(text)
    for right, wrong in (("aVel : TRAFO", "aRate : TRAFO"), (": SMC_ERROR", ": DINT")):
        with pytest.raises(AssertionError):
            check_implements(text.replace(right, wrong))


def test_the_readme_says_what_is_not_known() -> None:
    text = texts_of("vertical")["codesys/README-dynamics.md"]
    assert "Not tested in CODESYS" in text
    assert "On no public\npage were found" in text
    assert "SMC_GroupSetDynamics" in text


def test_the_option_writes_the_block(tmp_path: Path) -> None:
    robot = make("planar")
    done = export(robot, "structured-text", tmp_path, name="Own", codesys_dynamics=True)
    names = [path.name for path in done.files]
    assert "FB_Own_Dynamics.st" in names
    assert "README-dynamics.md" in names
