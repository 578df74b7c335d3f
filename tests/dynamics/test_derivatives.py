"""Derivatives of the torque beside complex steps through the model's source, of every kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.kernels.states import ROBOTS

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.backends import components
from deltadyn.backends.packed import packed_parameters
from deltadyn.dynamics import inverse_dynamics_derivatives
from deltadyn.errors import InputError
from deltadyn.kinematics.actuation import actuation
from deltadyn.kinematics.assemblies import home_pose, newton_step
from deltadyn.kinematics.limbs import limbs, pairs_of, platform_rates, rods_of
from deltadyn.robot import Robot
from deltadyn.robot.settings import Friction, Ripple

H = 1e-150  # no difference is taken: the step costs no digit


def with_terms(robot: Robot, grows: str) -> Robot:
    """The robot with all friction of its drives and ripple; one of the two losses grows."""
    dof = robot.dof
    rising = np.linspace(1.0, 1.4, dof)
    friction = Friction(
        viscous=tuple(0.3 * rising),
        coulomb=tuple(0.8 * rising),
        coulomb_negative=tuple(0.7 * rising),
        stribeck=tuple(0.4 * rising),
        stribeck_velocity=tuple(0.6 * rising),
        offset=tuple(0.2 * rising),
        thinning=tuple(0.3 * rising),
        thinning_velocity=tuple(0.9 * rising),
        smoothing=0.1,
        **{grows: tuple(0.05 * rising)},
    )
    wave = Ripple(3.0, tuple(0.05 * rising), tuple(0.03 * rising))
    drives = replace(robot.drives, ripple=(wave,))
    return robot.replace(friction=friction, drives=drives)


def motion_of(robot: Robot, count: int = 4) -> dd.State:
    rng = np.random.default_rng(robot.dof)
    spread = np.full(robot.dof, 0.1 * robot.geometry.size)
    p = home_pose(robot) + rng.uniform(-1, 1, (8 * count, robot.dof)) * spread
    p = p[dd.kinematics.reachable(robot, p)][:count]
    pd, pdd = rng.normal(size=p.shape), 10 * rng.normal(size=p.shape)
    return dd.State.from_platform(robot, p, pd, pdd)


class Complex:
    """NumPy, with an angle that takes complex steps."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def arctan2(s: Any, c: Any) -> Any:
        """The angle of s and c with s^2 + c^2 = 1."""
        return np.arctan2(s.real, c.real) + 1j * (c.real * s.imag - s.real * c.imag)


def stepped_torque(
    robot: Robot, p: FloatArray, q: FloatArray, qd: FloatArray, qdd: FloatArray
) -> FloatArray:
    """tau (dof, N) of complex joint motions near a real pose p, by the model's source on NumPy.

    One step of Newton's method carries the pose along, exactly to first order.
    """
    legs, par = limbs(robot), packed_parameters(robot)
    n = legs.carrier.carried
    c, s = pairs_of(np, legs, tuple(q))
    at = newton_step(np, legs, c, s, tuple(x + 0j for x in p[:n])).x
    x = (*at, *q[n:])
    pd, pdd = platform_rates(legs, rods_of(np, legs, c, s, x), c, s, tuple(qd), tuple(qdd))
    pose = components.Pose(c, s, tuple(qd), tuple(qdd), x, pd, pdd)
    terms = components.friction_terms(par)
    tau = components.torque(Complex(), tuple(par), pose, terms, kind=actuation(robot))
    return np.array(components.reported(tuple(par), tau))


@pytest.mark.parametrize("kind", ROBOTS, ids=lambda kind: f"{kind[0]}-{kind[1]}")
@pytest.mark.parametrize("grows", ["load", "motor_load"])
def test_derivatives_are_those_of_complex_steps(kind: tuple[str, int], grows: str) -> None:
    robot = with_terms(ROBOTS[kind](), grows)
    state = motion_of(robot)
    found = inverse_dynamics_derivatives(robot, state.q, state.qd, state.qdd)
    scale = np.abs(dd.inverse_dynamics(robot, state)).max()
    np.testing.assert_allclose(
        found.tau, dd.inverse_dynamics(robot, state), rtol=0, atol=1e-12 * scale
    )
    for name in ("q", "qd", "qdd"):
        slopes = getattr(found, name)
        for j in range(robot.dof):
            motion = {own: np.array(getattr(state, own).T, complex) for own in ("q", "qd", "qdd")}
            motion[name][j] += 1j * H
            expected = stepped_torque(robot, state.p.T, **motion).imag.T / H
            np.testing.assert_allclose(
                slopes[:, :, j], expected, rtol=0, atol=1e-12 * np.abs(slopes).max()
            )


@pytest.mark.parametrize("name", ["abb-irb360-6-1600", "quattro-s650-like", "klipper-deltesian"])
@pytest.mark.parametrize("friction", [True, False])
def test_derivatives_of_catalogue_robots_beside_differences(name: str, friction: bool) -> None:
    """Robots as they are, with sharp friction and friction in passive joints where they have it."""
    robot = dd.load_robot(name)
    state = motion_of(robot, 1)
    own = [state.q[0], state.qd[0], state.qdd[0]]
    found = inverse_dynamics_derivatives(robot, *own, friction=friction)
    assert found.tau.shape == (robot.dof,)
    h = 1e-5

    def torque(motion: list[FloatArray]) -> FloatArray:
        return dd.inverse_dynamics(robot, dd.State.from_joints(robot, *motion), friction=friction)

    for place, slopes in enumerate((found.q, found.qd, found.qdd)):
        assert slopes.shape == (robot.dof, robot.dof)
        for j in range(robot.dof):
            two = []
            for step in (h, -h):
                motion = [x.copy() for x in own]
                motion[place][j] += step
                two.append(torque(motion))
            expected = (two[0] - two[1]) / (2 * h)
            # a difference over h is good to the square of h, and to 1e-16 / h by rounding
            np.testing.assert_allclose(
                slopes[:, j], expected, rtol=0, atol=1e-7 * np.abs(slopes).max()
            )


def test_mass_matrix_and_parameters() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    state = motion_of(robot)
    found = inverse_dynamics_derivatives(robot, state.q, state.qd, state.qdd, friction=False)
    terms = dd.equations_of_motion(robot, state)
    np.testing.assert_allclose(found.qdd, terms.M, rtol=0, atol=1e-12 * terms.M.max())
    regressor = dd.regressor(robot, state, friction=False)
    assert found.names == regressor.names
    np.testing.assert_allclose(
        found.parameters, regressor.Y, rtol=0, atol=1e-12 * regressor.Y.max()
    )


def test_wrong_arguments_are_refused() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    with pytest.raises(InputError, match="robot"):
        inverse_dynamics_derivatives("sipro", [0.3] * 3, [0.0] * 3, [0.0] * 3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="shape of qd"):
        inverse_dynamics_derivatives(robot, [0.3] * 3, [0.0] * 2, [0.0] * 3)
