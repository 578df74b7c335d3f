"""Every symbol that a table shows has a meaning, and each meaning is another one."""

from __future__ import annotations

import pytest

import deltadyn as dd
from deltadyn.identification.meanings import JOINTS, meaning
from deltadyn.identification.parametrisation import SOURCES, parametrise
from deltadyn.robot.settings import PASSIVE_JOINTS

FRICTION = {
    "viscous": 1.0,
    "coulomb": 1.0,
    "stribeck": 0.1,
    "stribeck_velocity": 0.1,
    "thinning": 0.1,
    "thinning_velocity": 1.0,
    "offset": 0.1,
    "load": 0.02,
}


@pytest.mark.parametrize("model", SOURCES)
@pytest.mark.parametrize("name", ["sipro-d3-1200", "example-delta-4"])
def test_every_parameter_of_every_model_has_its_own_meaning(name: str, model: str) -> None:
    robot = dd.load_robot(name).with_friction(**FRICTION)
    for tied in (True, False):
        names = parametrise(robot, model, tied=tied).names
        told = [meaning(symbol) for symbol in names]
        assert all(told), names[told.index("")]
        assert len(set(told)) == len(told)


def test_both_directions_and_the_motors_share_have_a_meaning() -> None:
    robot = dd.load_robot("sipro-d3-1200").with_friction(
        coulomb=1.0, coulomb_negative=1.1, motor_load=0.02
    )
    assert all(meaning(name) for name in parametrise(robot).names)


@pytest.mark.parametrize(
    ("symbol", "words"),
    [
        ("mu", "first moment of the upper spindle rod"),
        ("mu1", "share of the torque through the gear that is lost, axis 1"),
        ("A2", "inertia about the motor axis"),
        ("ripple64.cos3", "torque ripple, 64 per turn of axis 3, cosine part"),
        ("eccentricity1.sin2", "eccentric encoder, 1 per turn of axis 2, sine part"),
        ("drift2", "change of viscous friction over the log, shape 2"),
        ("other.q sign.1", "smooth torque without a name on axis 1, shape q sign"),
        ("ratio.1", "torque constants that differ"),
        ("homing3", "stands off its logged angle, axis 3"),
        ("strut_length2", "error of the strut's length, axis 2"),
        ("m_x.1", "limbs that differ in m_x"),
        ("prismatic.Fv", "viscous friction between the spindle's rods"),
        ("arm2.mcx", "first moment of the arm 2 along x"),
        ("effector.Izz", "inertia of the effector with payload, entry zz"),
    ],
)
def test_symbols_in_words(symbol: str, words: str) -> None:
    assert words in meaning(symbol)


def test_what_is_not_known_has_none() -> None:
    for name in ("", "xyz", "Fv", "A5", "other.x", "box.m", "arm.weight"):
        assert meaning(name) == ""
    assert set(JOINTS) == set(PASSIVE_JOINTS)
