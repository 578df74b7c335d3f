"""Other platforms on JAX arrays beside NumPy: kinematics, torque, regressor, gradients."""

from __future__ import annotations

from typing import Any

import pytest
from tests.family.robots import make, waves
from tests.traced.cases import close, jax, jnp

import deltadyn as dd

pytestmark = pytest.mark.full  # JAX

SAMPLES = 4


def case_of(kind: str) -> Any:
    """A robot and a few samples of its motion."""
    robot = make(kind)
    m = waves(robot, 0.05)
    return robot, dd.State.from_platform(robot, *(x[:SAMPLES] for x in (m.p, m.pd, m.pdd)))


@pytest.mark.parametrize("kind", ["planar_rails", "par4"])
def test_a_platform_motion_in_one_program(kind: str) -> None:
    """Inverse kinematics and torque with friction, mapped over samples and compiled as one."""
    robot, m = case_of(kind)

    def torque(p: Any, pd: Any, pdd: Any) -> Any:
        state = dd.State.from_platform(robot, p, pd, pdd)
        return state.q[0], dd.inverse_dynamics(robot, state)

    found = jax().jit(jax().vmap(torque))(*(jnp(x) for x in (m.p, m.pd, m.pdd)))
    close(found[0], m.q)
    close(found[1], dd.inverse_dynamics(robot, m))


def test_regressor_terms_and_accelerations_of_a_planar_robot() -> None:
    robot, m = case_of("planar")
    state = dd.State.from_joints(robot, *(jnp(x) for x in (m.q, m.qd, m.qdd)))
    close(dd.regressor(robot, state).Y, dd.regressor(robot, m).Y)
    ours, known = dd.equations_of_motion(robot, state), dd.equations_of_motion(robot, m)
    close(ours.M, known.M)
    close(ours.C, known.C)
    tau = dd.inverse_dynamics(robot, m)
    qdd = dd.forward_dynamics(robot, *(jnp(x) for x in (m.q, m.qd, tau)))
    close(qdd, m.qdd, 1e-11)  # M is inverted


@pytest.mark.parametrize("kind", ["planar", "heli4_rails"])
def test_a_pose_and_its_slope(kind: str) -> None:
    """Forward kinematics, by Newton's method under halves, has the Jacobian as its slope."""
    robot, m = case_of(kind)

    def pose(q: Any) -> Any:
        found = dd.forward_kinematics(robot, q, unreachable="nan")
        return found, found

    slope, p = jax().jit(jax().vmap(jax().jacfwd(pose, has_aux=True)))(jnp(m.q))
    close(p, m.p)
    close(slope, dd.jacobian(robot, m.p))
