"""Every kind of robot on JAX arrays beside NumPy: kinematics, torque, regressor, gradients."""

from __future__ import annotations

from typing import Any

import pytest
from tests.family.robots import make, waves
from tests.traced.cases import close, jax, jnp

import deltadyn as dd

SAMPLES = 4


@pytest.fixture(scope="module", params=["planar", "planar_rails", "par4", "heli4_rails"])
def case(request: pytest.FixtureRequest) -> Any:
    robot = make(request.param)
    m = waves(robot, 0.05)
    return robot, dd.State.from_platform(robot, *(x[:SAMPLES] for x in (m.p, m.pd, m.pdd)))


def test_a_platform_motion_in_one_program(case: Any) -> None:
    """Inverse kinematics, torque with friction and regressor, under jit and vmap."""
    robot, m = case

    def both(p: Any, pd: Any, pdd: Any) -> Any:
        state = dd.State.from_platform(robot, p, pd, pdd)
        return state.q, dd.inverse_dynamics(robot, state), dd.regressor(robot, state).Y

    given = [jnp(x) for x in (m.p, m.pd, m.pdd)]
    found = jax().jit(both)(*given)
    expected = m.q, dd.inverse_dynamics(robot, m), dd.regressor(robot, m).Y
    for ours, known in zip(found, expected, strict=True):
        close(ours, known)
    one = jax().vmap(lambda p, pd, pdd: both(p, pd, pdd)[1])(*given)
    close(one, expected[1])


def test_a_pose_and_its_slope(case: Any) -> None:
    """Forward kinematics, by Newton's method under halves, has the Jacobian as its slope."""
    robot, m = case

    def pose(q: Any) -> Any:
        return dd.forward_kinematics(robot, q, unreachable="nan")

    close(pose(jnp(m.q)), m.p)
    close(jax().jacrev(pose)(jnp(m.q[2])), dd.jacobian(robot, m.p[2]))


def test_accelerations(case: Any) -> None:
    robot, m = case
    tau = dd.inverse_dynamics(robot, m)
    qdd = dd.forward_dynamics(robot, *(jnp(x) for x in (m.q, m.qd, tau)))
    close(qdd, m.qdd, 1e-11)  # M is inverted
