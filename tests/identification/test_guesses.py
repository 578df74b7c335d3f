"""Geometric guesses of bodies."""

from __future__ import annotations

from math import pi

import numpy as np
import pytest

import deltadyn as dd
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.bodies.bodies import Bodies, standard_parameters
from deltadyn.identification.bodies.consistency import consistency
from deltadyn.identification.bodies.guesses import geometric_guess, hollow_cylinder
from deltadyn.identification.bodies.realise import robot_from_standard


def test_hollow_cylinder_by_integration() -> None:
    """Against a sum over small pieces of the tube."""
    L, R, r, rho = 0.7, 0.03, 0.02, 1600.0
    x = (np.arange(60) + 0.5) / 60 * L
    radius = r + (np.arange(60) + 0.5) / 60 * (R - r)
    angle = np.arange(24) / 24 * 2 * pi
    X, A, P = np.meshgrid(x, radius, angle, indexing="ij")
    dm = rho * A * (L / 60) * ((R - r) / 60) * (2 * pi / 24)
    Y, Z = A * np.cos(P), A * np.sin(P)
    tube = hollow_cylinder(L, R, r, rho)
    assert tube.mass == pytest.approx(dm.sum(), rel=1e-3)  # 60 pieces: 1e-4
    assert tube.first_moment == pytest.approx(((dm * X).sum(), 0, 0), rel=1e-3, abs=1e-12)
    inertia = ((dm * (Y**2 + Z**2)).sum(), (dm * (X**2 + Z**2)).sum())
    assert tube.inertia[:2] == pytest.approx(inertia, rel=1e-3)
    assert tube.inertia[1] == tube.inertia[2]


def test_thin_tube_is_a_uniform_rod() -> None:
    tube = hollow_cylinder(1.0, 1e-4, 0.0, 1e6)
    assert tube.inertia[1] == pytest.approx(tube.mass / 3, rel=1e-6)


@pytest.mark.parametrize("name", ["sipro-d3-1200", "abb-irb360-6-1600", "example-delta-4"])
@pytest.mark.parametrize("tied", [True, False])
def test_guess_is_a_consistent_robot(name: str, tied: bool) -> None:
    robot = dd.load_robot(name).with_payload(0.4, (0.02, 0.01, -0.05), 0.001)
    values = geometric_guess(robot, tied=tied)
    assert tuple(values) == standard_parameters(robot, tied).names
    report = consistency(values, robot=robot, hull=False)
    assert report.consistent, report.text
    new = robot_from_standard(robot, values)
    assert new.payload == robot.payload
    bodies = Bodies.of(robot, None, "rigid", tied=tied, hull=False)
    assert bodies.margin(bodies.vector(values)) >= -1e-12


def test_guess_uses_no_mass_of_the_robot_file() -> None:
    light, heavy = dd.load_robot("sipro-d3-1200"), dd.load_robot("sipro-d3-1200")
    heavy = robot_from_standard(heavy, {"arm.m": 5.0, "platform.m": 9.0, "Fv1": 3.0})
    assert geometric_guess(light) == geometric_guess(heavy)


def test_guess_is_near_the_paper() -> None:
    """[gnad2024] table I "RG geom": struts of 0.249 kg with a moment of 0.129 kg m."""
    robot = dd.load_robot("abb-irb360-6-1600")
    values = geometric_guess(robot, radii={"strut": (0.0115, 0.0105)}, density={"strut": 1600.0})
    assert values["strut.m"] == pytest.approx(0.249, rel=0.1)
    assert values["strut.mcx"] == pytest.approx(0.129, rel=0.1)
    assert values["upper.mcz"] > 0 > values["lower.mcz"]


def test_density_of_all() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    one, two = (geometric_guess(robot, density=rho) for rho in (1000.0, 2000.0))
    assert two["arm.m"] == pytest.approx(2 * one["arm.m"])
    assert two["strut.Iyy"] == pytest.approx(2 * one["strut.Iyy"])


def test_bad_calls() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    with pytest.raises(InputError, match=r"inner_radius is 0\.03; allowed: at least 0 and below"):
        hollow_cylinder(1.0, 0.02, 0.03, 1000.0)
    with pytest.raises(InputError, match=r"length is 0; allowed: above 0"):
        hollow_cylinder(0, 0.02, 0.01, 1000.0)
    with pytest.raises(UnknownNameError, match=r"radii of body is 'leg'; allowed: one of 'arm'"):
        geometric_guess(robot, radii={"leg": (0.1, 0.0)})
    with pytest.raises(InputError, match=r"density is -1; allowed: above 0"):
        geometric_guess(robot, density=-1.0)
