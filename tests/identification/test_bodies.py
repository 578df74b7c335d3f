"""Consistency cones of bodies, and the report on what can exist."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.identification.factors import ROBOTS_3, ROBOTS_4, random_variables

import deltadyn as dd
from deltadyn.dynamics.base import exciting_states, thin_bodies
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.bodies.bodies import Bodies, standard_parameters
from deltadyn.identification.bodies.body import Hull
from deltadyn.identification.bodies.consistency import consistency, pseudo_inertia
from deltadyn.robot.settings import Friction

ROBOTS = ROBOTS_3 + ROBOTS_4
TEN = ("m", "mcx", "mcy", "mcz", "Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Ixz")


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("family", ["exact", "rigid", "reduced"])
def test_prior_is_reproduced_and_interior_is_inside(name: str, family: str) -> None:
    robot = dd.load_robot(name)
    for tied in (True, False):
        bodies = Bodies.of(robot, None, family, tied=tied)
        assert bodies.margin(bodies.T @ bodies.interior) > 0.01
        own = bodies.complete(bodies.T @ bodies.prior_variables)
        if family == "exact" and name.startswith("abb"):
            continue  # its struts are not thin
        np.testing.assert_allclose(own, bodies.prior, atol=1e-14)  # rounding of numbers near 1


@pytest.mark.parametrize("name", ROBOTS)
def test_thin_family_spans_thin_bodies(name: str) -> None:
    """The exact family's struts and rods are those of the thin directions of the base map."""
    bodies = Bodies.of(dd.load_robot(name), None, "exact")
    thin = thin_bodies(bodies.names)
    rows = [j for j, n in enumerate(bodies.names) if n.split(".")[0] in ("strut", "upper", "lower")]
    projector = thin @ np.linalg.pinv(thin)
    np.testing.assert_allclose(projector @ bodies.T[:, :], bodies.T, atol=1e-12)  # rounding
    rank = np.linalg.matrix_rank(bodies.T[rows])
    assert rank == np.linalg.matrix_rank(thin[rows])


@pytest.mark.parametrize("name", ["sipro-d3-1200", "example-delta-4"])
@pytest.mark.parametrize("family", ["exact", "rigid"])
def test_values_inside_the_cones_have_positive_semidefinite_pseudo_inertias(
    name: str, family: str
) -> None:
    """The reduced cones of arms, effector and thin bodies mean a consistent 4x4 of all ten."""
    robot = dd.load_robot(name)
    bodies = Bodies.of(robot, None, family, tied=False)
    for seed in range(20):
        values = bodies.standard(random_variables(bodies, seed))
        for body in {n.partition(".")[0] for n in bodies.names if n.endswith(".m")}:
            ten = np.array([values[f"{body}.{entry}"] for entry in TEN])
            P = pseudo_inertia(ten)
            assert np.linalg.eigvalsh(P)[0] >= -1e-12 * np.abs(P).max()  # rounding


def test_planar_cone_is_the_shadow_of_the_full_one() -> None:
    """An arm whose 3x3 matrix is indefinite has no completion to a consistent body."""
    bodies = Bodies.of(dd.load_robot("sipro-d3-1200"), None, "rigid", hull=False)
    cone = bodies.bodies[0].cones[0]
    rng = np.random.default_rng(1)
    for _ in range(200):  # any mass distribution lies inside
        points, masses = rng.normal(size=(5, 3)), rng.uniform(0.1, 1, 5)
        values = np.zeros(len(bodies.names))
        for entry, amount in {
            "m": masses.sum(),
            "mcx": masses @ points[:, 0],
            "mcz": masses @ points[:, 2],
            "Iyy": masses @ (points[:, 0] ** 2 + points[:, 2] ** 2),
        }.items():
            values[bodies.names.index(f"arm.{entry}")] = amount
        assert cone.margin(values) >= 0


def test_thin_strut_cone_is_that_of_the_two_point_masses() -> None:
    """[[m_e, m_x], [m_x, m_c]] >= 0 and m_x >= 0, in other coordinates."""
    robot = dd.load_robot("sipro-d3-1200")
    bodies = Bodies.of(robot, None, "exact", hull=False)
    l2 = robot.geometry.strut_length[0]
    strut = next(body for body in bodies.bodies if body.name == "strut")
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(300):
        m_e, m_x, m_c = rng.normal((0.5, 0.1, 0.5))
        fits = m_e >= 0 and m_c >= 0 and m_x >= 0 and m_e * m_c >= m_x**2
        values = np.zeros(len(bodies.names))
        for entry, amount in {
            "m": m_e + 2 * m_x + m_c,
            "mcx": (m_x + m_c) * l2,
            "Iyy": m_c * l2**2,
            "Izz": m_c * l2**2,
        }.items():
            values[bodies.names.index(f"strut.{entry}")] = amount
        assert (min(cone.margin(values) for cone in strut.cones) >= 0) == fits
        seen.add(fits)
    assert seen == {True, False}


def test_payload_and_effector_are_lower_bounds() -> None:
    three = dd.load_robot("sipro-d3-1200").with_payload(2.0)
    bodies = Bodies.of(three)
    below = bodies.vector({**dict(zip(bodies.names, bodies.prior, strict=True)), "platform.m": 1.9})
    assert bodies.margin(bodies.prior) >= 0 > bodies.margin(below)
    four = dd.load_robot("example-delta-4").with_payload(1.0, (0.1, 0.0, 0.0), 0.01)
    bodies = Bodies.of(four)
    values = dict(zip(bodies.names, bodies.prior, strict=True))
    assert bodies.margin(bodies.prior) >= 0
    less = bodies.vector({**values, "effector.Izz": 0.0199})  # the payload alone has 0.02
    assert bodies.margin(less) < 0
    text = next(b for b in bodies.bodies if b.name == "effector").cones[0].text
    assert "without the payload of 1 kg" in text


def test_hull_bounds_what_consistency_does_not() -> None:
    """[gnad2024]'s strut of 0.3 m gyration radius is consistent and not inside a strut."""
    report = consistency(dd.load_robot("abb-irb360-6-1600"))
    strut = next(body for body in report.bodies if body.name == "strut")
    assert strut.consistent
    assert strut.inside is False
    assert "within 0.03318 m of its axis" in strut.sentence
    assert report.consistent
    assert not report.inside
    free = consistency(dd.load_robot("abb-irb360-6-1600"), hull=False)
    assert all(body.inside is None for body in free.bodies)
    wide = Hull(arm_overhang=2.0, strut_radius=0.3)
    assert consistency(dd.load_robot("abb-irb360-6-1600"), hull=wide).inside


@pytest.mark.parametrize("name", ROBOTS)
def test_every_robot_of_the_catalogue_is_consistent(name: str) -> None:
    robot = dd.load_robot(name)
    report = consistency(robot)
    assert report.consistent, report.text
    base = dd.regressor(robot, exciting_states(robot, 2, 0), "exact")
    values = dict(zip(base.names, base.parameters.tolist(), strict=True))
    assert consistency(values, robot=robot).consistent


def test_report_on_values_that_no_robot_accepts() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    bad = {"arm.Iyy": 0.001, "strut.m": -0.1, "rotor": -0.01}
    report = consistency(bad, robot=robot)
    arm, strut, platform = report.bodies
    assert not arm.consistent
    assert not arm.triangle
    assert "triangle inequality" in arm.sentence
    assert strut.mass == -0.1
    assert strut.com is None
    assert "its mass is negative" in strut.sentence
    assert platform.consistent
    assert any("no rotor has a negative inertia" in text for text in report.findings)
    assert "Not consistent" in str(report)


def test_triangle_inequality_of_a_strut() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    report = consistency({"strut.Ixx": 0.2}, robot=robot, hull=False)
    strut = next(body for body in report.bodies if body.name == "strut")
    assert not strut.triangle
    assert strut.eigenvalues[0] < 0
    assert not strut.consistent


def test_sign_problem_of_friction_is_said() -> None:
    """[kim2022] has negative Coulomb beside positive viscous coefficients."""
    robot = dd.load_robot("sipro-d3-1200")
    report = consistency({"Fc1": -1.0, "Fv1": 0.3}, robot=robot)
    assert not report.consistent
    assert "no common sign convention" in report.findings[0]
    alone = consistency({"Fv2": -0.3, "Fc2": -1.0}, robot=robot)
    assert len(alone.findings) == 2
    assert "feeds energy" in alone.findings[0]
    assert "convention" not in alone.findings[0]


def test_base_parameters_alone() -> None:
    robot = dd.load_robot("nt-robot")
    base = dd.regressor(robot, exciting_states(robot, 2, 0), "exact")
    values = dict(zip(base.names, base.parameters.tolist(), strict=True))
    l1 = robot.rotary.arm_length[0]
    least = 3 * values["m_x"] ** 2 * l1**2 / values["A"]
    assert consistency({**values, "M_P": 1.001 * least}, robot=robot).consistent
    report = consistency({**values, "M_P": 0.999 * least, "Fc1": -1.0, "Fv1": 1.0}, robot=robot)
    assert any("not positive definite" in text for text in report.findings)
    assert any("Fv1 is positive beside it" in text for text in report.findings)
    negative = consistency({**values, "m_x": -0.1, "A": -1.0}, robot=robot)
    assert any("m_x is -0.1 kg: the mass of a strut lies between" in t for t in negative.findings)
    assert any(text.startswith("A is -1 kg m^2") for text in negative.findings)


def test_base_parameters_with_a_spindle_need_more_mass() -> None:
    robot = dd.load_robot("example-delta-4")
    base = dd.regressor(robot, exciting_states(robot, 2, 0), "exact")
    values = dict(zip(base.names, base.parameters.tolist(), strict=True))
    assert consistency(values, robot=robot).consistent
    report = consistency({**values, "kappa": 1.0}, robot=robot)
    assert "kappa^2 / H" in report.findings[0]


def test_friction_terms() -> None:
    """All friction is non-negative but offsets; the gear's share has an upper end."""
    robot = dd.load_robot("sipro-d3-1200")
    friction = Friction(
        viscous=0.5, coulomb=1.0, coulomb_negative=1.2, offset=-0.3, load=0.05,
        stribeck=0.4, stribeck_velocity=0.1,
    )  # fmt: skip
    robot = replace(robot, friction=friction)
    bodies = Bodies.of(robot)
    values = dict(zip(bodies.names, bodies.prior, strict=True))
    assert bodies.margin(bodies.prior) >= 0
    for name in ("Fv1", "Fc+2", "Fc-3", "Fs1", "mu1"):
        assert bodies.margin(bodies.vector({**values, name: -0.01})) < 0
    assert bodies.margin(bodies.vector({**values, "F01": -5.0})) >= 0
    assert bodies.margin(bodies.vector({**values, "mu1": 0.95})) < 0


def test_bad_calls() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    with pytest.raises(UnknownNameError, match="family is 'thin'; allowed: one of 'rigid'"):
        Bodies.of(robot, None, "thin")
    with pytest.raises(InputError, match=r"names is 'arm9\.m'; allowed: standard parameters"):
        Bodies.of(robot, ("arm9.m",))
    with pytest.raises(InputError, match="robot is None; allowed: the robot whose parameters"):
        consistency({"arm.m": 1.0})
    with pytest.raises(InputError, match=r"standard parameter is 'arm\.q'"):
        consistency({"arm.q": 1.0}, robot=robot)
    with pytest.raises(InputError, match="a Robot, or a mapping"):
        consistency(3.0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"hull\.strut_radius is -1; allowed: a number above 0"):
        Hull(strut_radius=-1)
    with pytest.raises(InputError, match=r"hull\.heaviest is 0\.5; allowed: a number above 1"):
        Hull(heaviest=0.5)
    with pytest.raises(InputError, match=r"allowed: a value for arm\.m"):
        Bodies.of(robot).vector({"strut.m": 1.0})


def test_names_may_be_a_part() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    names = [name for name in standard_parameters(robot).names if not name.startswith("F")]
    assert Bodies.of(robot, names).names == tuple(names)
