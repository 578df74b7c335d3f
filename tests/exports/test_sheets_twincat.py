"""TwinCAT's dynamic parameters: what they hold exactly, what they leave out, in a sheet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.dynamics.factory import make_robot
from tests.exports.st_cases import CONVENTION, own_robot

import deltadyn as dd
from deltadyn.exports.model_test import model_test
from deltadyn.exports.sheets import files
from deltadyn.exports.sheets_twincat import dynamic_lines, errors, matched, reduced
from deltadyn.robot import Robot
from deltadyn.robot.settings import Controller, Drives

SHEET = "twincat-3d-delta-type-1.txt"


def held(**changes: object) -> Robot:
    """A robot of which TwinCAT's parameters say everything: rods without mass, arms' middles."""
    sign, offset = (values[:3] for values in CONVENTION)
    robot = make_robot(3, True, controller=Controller(sign, offset))
    arm = replace(robot.rotary_arms[0], com=robot.rotary.arm_length[0] / 2, com_offset=0.0)
    strut = replace(robot.struts[0], mass=0.0, inertia=0.0)
    drives = Drives(gear_ratio=20.0, rotor_inertia=1e-4, rotor_side="motor_side")
    robot = robot.replace(arms=(arm,) * 3, struts=(strut,) * 3, drives=drives, **changes)
    return robot.with_friction(viscous=0.4, coulomb=1.5).with_payload(0.0)


def test_a_robot_that_the_parameters_hold_has_no_error() -> None:
    """Masses, inertias, rotors behind a gear, Coulomb and viscous friction, the payload's mass."""
    robot = held()
    worst, most = errors(robot, reduced(robot))
    assert worst < 1e-12 * most
    assert matched(robot, reduced(robot)) is not None
    text = "\n".join(dynamic_lines(robot))
    assert "Drive moment of inertia   = 100 kg mm^2" in text
    assert "Ratio                     = 20 " in text
    assert "Coulomb friction          = 1.5 Nm" in text
    assert "Stokes friction           = 0.4 Nms" in text
    assert "off by at most" in text


def test_rods_with_half_of_their_mass_at_each_end_have_no_error() -> None:
    """I = m l2^2 / 4 is a rod whose mass sits in its ends: no coupling, m_x = m/4 - I/l2^2 = 0."""
    robot = held()
    length = robot.geometry.strut_length[0]
    strut = replace(robot.struts[0], mass=0.2, com_fraction=0.5, inertia=0.2 * length**2 / 4)
    robot = robot.replace(struts=(strut,) * 3)
    worst, most = errors(robot, reduced(robot))
    assert worst < 1e-12 * most
    uniform = replace(strut, inertia=0.2 * length**2 / 12)
    other = robot.replace(struts=(uniform,) * 3)
    assert errors(other, reduced(other))[0] > 0.1


def test_matched_masses_give_the_exact_gravity() -> None:
    """Arms and rods whose centres of mass are off their middles, at rest."""
    robot = held()
    arm = replace(robot.rotary_arms[0], com=0.1, elbow_mass=0.3)
    strut = replace(robot.struts[0], mass=0.2, com_fraction=0.42, inertia=0.01)
    robot = robot.replace(arms=(arm,) * 3, struts=(strut,) * 3)
    plain = reduced(robot)
    better = matched(robot, plain)
    assert better is not None
    rest = model_test(robot).checks[0]
    exact = np.asarray(robot.controller.sign) * rest.torque
    assert np.abs(better.torque(robot, rest) - exact).max() < 1e-12
    assert np.abs(plain.torque(robot, rest) - exact).max() > 0.1
    assert errors(robot, better)[0] < errors(robot, plain)[0]


def test_masses_that_would_be_negative_are_not_written() -> None:
    robot = held()
    strut = replace(robot.struts[0], mass=2.0, com_fraction=0.9, inertia=0.01)
    robot = robot.replace(struts=(strut,) * 3)
    assert matched(robot, reduced(robot)) is None
    assert "values below" not in "\n".join(dynamic_lines(robot))


@pytest.mark.parametrize("name", ["sipro-d3-1200", "telescopic-delta"])
def test_the_sheet_says_what_is_left_out_and_how_far_off_it_is(name: str) -> None:
    robot = dd.load_robot(name)
    text = files(robot)[SHEET]
    worst, most = errors(robot, reduced(robot))
    assert f"off by at most {worst:.3g} N m of {most:.4g} N m" in text
    assert "- the rods' inertia" in text
    assert ("- the spindle's rods" in text) == (robot.spindle is not None)
    for word in ("P_3C2", "Type 3", "Stokes friction", "Drive moment of inertia"):
        assert word in text


def test_limbs_that_differ_are_left_out() -> None:
    assert dynamic_lines(own_robot(3))[0].startswith("left out")
