"""Robots from standard parameters, and the nearest consistent bodies of base parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.identification.factors import ROBOTS_3, ROBOTS_4, random_variables

import deltadyn as dd
from deltadyn.dynamics.base import exact_base_map, exciting_states
from deltadyn.errors import InputError
from deltadyn.identification.bodies.bodies import Bodies, standard_parameters
from deltadyn.identification.bodies.consistency import consistency
from deltadyn.identification.bodies.realise import nearest_consistent, robot_from_standard
from deltadyn.robot import Robot
from deltadyn.robot.settings import Drives, Friction

ROUNDING = 1e-12  # of the torque, as agreed; sums of some hundred products leave 1e-15


@pytest.mark.full
@pytest.mark.parametrize("name", ROBOTS_3 + ROBOTS_4)
@pytest.mark.parametrize("family", ["exact", "rigid"])
@pytest.mark.parametrize("tied", [True, False])
def test_torque_is_that_of_the_parameters(name: str, family: str, tied: bool) -> None:
    robot = dd.load_robot(name)
    bodies = Bodies.of(robot, None, family, tied=tied)
    state = exciting_states(robot, 20, 1)
    found = dd.regressor(robot, state, "rigid", tied=tied)
    for seed in range(3):
        values = bodies.standard(random_variables(bodies, seed))
        tau = found.Y @ np.array([values[key] for key in found.names])
        new = robot_from_standard(robot, values)
        assert new.equal_limbs == tied
        size = np.abs(tau).max()
        assert np.abs(dd.inverse_dynamics(new, state, "rigid") - tau).max() < ROUNDING * size
        if family == "exact":
            assert np.abs(dd.inverse_dynamics(new, state, "exact") - tau).max() < ROUNDING * size
        assert consistency(new).consistent


@pytest.mark.parametrize("name", ROBOTS_3 + ROBOTS_4)
def test_own_parameters_give_the_same_robot(name: str) -> None:
    robot = dd.load_robot(name)
    for tied in (True, False):
        found = standard_parameters(robot, tied)
        values = dict(zip(found.names, found.parameters.tolist(), strict=True))
        assert robot_from_standard(robot, values) == robot


def test_payload_elbow_mass_and_sources_stay() -> None:
    robot = dd.load_robot("example-delta-4").with_payload(0.7, (0.05, 0.01, 0.0), 0.001)
    new = robot_from_standard(robot, {"effector.m": 1.1, "effector.Izz": 0.01, "arm.m": 1.2})
    assert new.payload == robot.payload
    assert new.effector.mass == pytest.approx(0.4)
    assert new.effector.com[2] == robot.effector.com[2]
    assert new.rotary_arms[0].elbow_mass == robot.rotary_arms[0].elbow_mass > 0
    assert new.arms[0].mass == pytest.approx(1.15)
    assert new.struts == robot.struts
    lost = set(robot.sources) - set(new.sources)
    assert lost
    assert all(path.startswith(("effector", "arm")) for path in lost)
    three = dd.load_robot("sipro-d3-1200").with_payload(2.0)
    assert robot_from_standard(three, {"platform.m": 3.0}).platform.mass == pytest.approx(1.0)


def test_elbow_mass_goes_where_the_rest_would_be_no_body() -> None:
    robot = dd.load_robot("example-delta-4")
    state = exciting_states(robot, 10, 0)
    values = {"arm.m": 0.06, "arm.mcx": 0.002, "arm.mcz": 0.0, "arm.Iyy": 0.0002}
    new = robot_from_standard(robot, values)
    assert new.rotary_arms[0].elbow_mass == 0
    found = dd.regressor(robot, state, "rigid")
    own = dict(zip(found.names, found.parameters.tolist(), strict=True))
    tau = found.Y @ np.array([{**own, **values}[key] for key in found.names])
    assert np.abs(dd.inverse_dynamics(new, state) - tau).max() < ROUNDING * np.abs(tau).max()


def test_friction_of_every_kind_and_rotors_at_the_motor() -> None:
    friction = Friction(
        viscous=0.5, coulomb=1.0, coulomb_negative=1.2, offset=-0.3,
        stribeck=0.4, stribeck_velocity=0.1,
    )  # fmt: skip
    drives = Drives((20.0, 20.0, 20.0), (1e-4, 1e-4, 1e-4), "motor_side")
    robot = replace(dd.load_robot("sipro-d3-1200"), friction=friction, drives=drives)
    new = robot_from_standard(
        robot, {"Fv1": 0.7, "Fc+2": 2.0, "Fc-3": 3.0, "Fs1": 0.1, "F02": 0.5, "rotor": 0.08}
    )
    assert new.friction.viscous == (0.7, 0.5, 0.5)
    assert new.friction.coulomb == (1.0, 2.0, 1.0)
    assert new.friction.coulomb_negative == (1.2, 1.2, 3.0)
    assert new.friction.stribeck == (0.1, 0.4, 0.4)
    assert new.friction.offset == (-0.3, 0.5, -0.3)
    assert new.drives.rotor_side == "motor_side"
    assert new.drives.rotor_inertia == pytest.approx((2e-4, 2e-4, 2e-4))
    four = dd.load_robot("example-delta-4")
    passive = robot_from_standard(four, {"prismatic.Fv": 7.0}).friction.passive[0]
    assert (passive.viscous, passive.coulomb) == (7.0, four.friction.passive[0].coulomb)


def test_per_arm_values_make_limbs_of_their_own() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    new = robot_from_standard(robot, {"arm2.m": 1.5, "rotor3": 0.01})
    assert not new.equal_limbs
    assert new.arms[0] == robot.arms[0]
    assert new.arms[1].mass == 1.5
    assert new.drives.output_inertia == (0.0, 0.0, 0.01)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"arm.Iyy": 0.001}, r"inertia of arm about its COM is -0\.01.*no body has these"),
        ({"strut.m": -0.1}, r"strut\.m is -0\.1; allowed: at least 0"),
        ({"strut.mcx": 0.3}, r"COM of strut as a share of its length is 1\.7"),
        ({"platform.m": -1.0}, r"platform\.m is -1"),
        ({"rotor": -0.1}, r"rotor is -0\.1; allowed: at least 0"),
        ({"Fc1": -0.1}, r"friction\.coulomb\[0\] is -0\.1"),
        ({"arm.m": float("nan")}, r"arm\.m is nan; allowed: a finite number"),
        ({"leg.m": 1.0}, r"standard parameter is 'leg\.m'; allowed: one of arm\.m"),
        ({"arm.m": 1.0, "arm1.m": 1.0}, "tied or per arm, not both"),
    ],
)
def test_what_no_robot_has_is_refused(values: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        robot_from_standard(dd.load_robot("sipro-d3-1200"), values)


def _base(robot: Robot, tied: bool) -> tuple[tuple[str, ...], np.ndarray]:
    found = dd.regressor(robot, exciting_states(robot, 2, 0), "exact", tied=tied)
    return found.names, found.parameters


@pytest.mark.parametrize("name", ROBOTS_3 + ROBOTS_4)
@pytest.mark.parametrize("tied", [True, False])
def test_nearest_consistent_bodies_give_the_base_parameters(name: str, tied: bool) -> None:
    robot = dd.load_robot(name)
    names, base = _base(robot, tied)
    wanted = base * (1 + 0.02 * np.random.default_rng(0).normal(size=base.size))
    found = nearest_consistent(robot, names, wanted, tied)
    assert found.exact, found.sentence
    K = exact_base_map(robot, names, tuple(found.standard), tied)
    x = K @ np.array(list(found.standard.values()))
    np.testing.assert_allclose(x, wanted, atol=1e-7)  # the solver's tolerance, 1e-9 of sizes to 10
    report = consistency(found.standard, robot=robot)
    assert report.consistent
    assert report.inside
    new = robot_from_standard(robot, found.standard)
    state = exciting_states(robot, 10, 3)
    regressor = dd.regressor(robot, state, "exact", tied=tied)
    tau = regressor.Y @ wanted
    assert np.abs(dd.inverse_dynamics(new, state) - tau).max() < 1e-6 * np.abs(tau).max()


def test_own_base_parameters_give_the_own_bodies() -> None:
    robot = dd.load_robot("example-delta-4")
    names, base = _base(robot, True)
    found = nearest_consistent(robot, names, base)
    assert found.exact
    assert found.distance < 1e-6  # the square root of the solver's tolerance
    own = standard_parameters(robot)
    for key, value in zip(own.names, own.parameters, strict=True):
        assert found.standard[key] == pytest.approx(value, abs=1e-6)


def test_base_parameters_without_bodies_say_what_is_in_the_way() -> None:
    robot = dd.load_robot("example-delta-4")
    names, base = _base(robot, True)
    impossible = base.copy()
    impossible[names.index("M_P")] *= 0.1
    found = nearest_consistent(robot, names, impossible)
    assert not found.exact
    assert "No consistent bodies give these base parameters" in found.sentence
    assert "platform.m is not negative" in found.sentence
    assert consistency(found.standard, robot=robot).consistent
    negative = base.copy()
    negative[names.index("Fc1")] = -1.0
    found = nearest_consistent(robot, names, negative)
    assert "Fc1 is not negative" in found.sentence
    assert found.standard["Fc1"] == pytest.approx(0.0, abs=1e-6)


def test_nearest_refuses_what_is_no_base_parameter() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    with pytest.raises(InputError, match="base_names is 'half'"):
        nearest_consistent(robot, ("M_P", "half"), [1.0, 2.0])
    with pytest.raises(InputError, match=r"base_values is .*2 finite numbers"):
        nearest_consistent(robot, ("M_P", "A"), [1.0])
