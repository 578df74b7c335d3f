"""jit, vmap and grad go through the public functions and through the packed model."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import make_robot, make_states
from tests.traced.cases import circle, close, jax, jnp, rubbing

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.backends.components import (
    packed_acceleration,
    packed_joint_torque,
    packed_torque,
    torque_components,
)
from deltadyn.backends.layout import COUNT, PLACES
from deltadyn.backends.packed import packed_places, packing
from deltadyn.dynamics import FrictionTerms, packed_parameters
from deltadyn.errors import InputError

pytestmark = pytest.mark.full  # JAX

# Central differences of step h err by h^2 and by rounding over h: 1e-7 of the largest slope.
DIFFERENCED = 1e-6


def differences(function: Any, x: FloatArray, step: float) -> FloatArray:
    """Slopes of a scalar function by central differences."""
    moves = step * np.eye(x.size).reshape(x.size, *x.shape)
    both = [(function(x + move), function(x - move)) for move in moves]
    return np.array([(a - b) / (2 * step) for a, b in both]).reshape(x.shape)


def joint_torque(par: Any, q: Any, qd: Any, qdd: Any) -> Any:
    """Torques of a joint motion."""
    return packed_torque(par, q=q, qd=qd, qdd=qdd)


def test_the_old_name_warns_and_gives_the_same() -> None:
    robot = make_robot(3, True)
    state, par = make_states(robot, 5), packed_parameters(robot)
    motion = (state.q, state.qd, state.qdd)
    with pytest.warns(DeprecationWarning, match="packed_joint_torque is packed_torque"):
        old = packed_joint_torque(par, *motion)
    np.testing.assert_array_equal(old, joint_torque(par, *motion))


def test_a_motion_is_of_the_platform_or_of_the_joints() -> None:
    robot = make_robot(3, True)
    state, par = make_states(robot, 5), packed_parameters(robot)
    with pytest.raises(InputError, match="p, pd, pdd or q, qd, qdd"):
        packed_torque(par, state.p, state.pd, state.pdd, q=state.q)
    with pytest.raises(InputError, match="p, pd, pdd or q, qd, qdd"):
        packed_torque(par, state.p, state.pd)


def test_a_torque_alone_needs_no_rows_of_a_state() -> None:
    """The state's other arrays are not made: no more work than for components alone."""
    robot = make_robot(3, True)
    state = make_states(robot, 64)

    def torque(p: Any, pd: Any, pdd: Any) -> Any:
        return dd.inverse_dynamics(robot, dd.State.from_platform(robot, p, pd, pdd))

    def lean(p: Any, pd: Any, pdd: Any) -> Any:
        parts = (tuple(x[:, k] for k in range(3)) for x in (p, pd, pdd))
        return torque_components(tuple(packed_parameters(robot).tolist()), *parts)

    motion = [jnp(x) for x in (state.p, state.pd, state.pdd)]
    work = [jax().jit(way).lower(*motion).compile().cost_analysis() for way in (torque, lean)]
    assert work[0]["flops"] < 1.5 * work[1]["flops"]  # the rest puts axes side by side
    close(jax().jit(torque)(*motion), dd.inverse_dynamics(robot, state))


def test_jit_takes_and_returns_states() -> None:
    robot = make_robot(3, True)
    state = make_states(robot, 40)
    ours = jax().jit(partial(dd.State.from_platform, robot))(state.p, state.pd, state.pdd)
    assert isinstance(ours, dd.State)
    tau = jax().jit(partial(dd.inverse_dynamics, robot))(ours)
    close(tau, dd.inverse_dynamics(robot, state))
    # a state of NumPy arrays goes in as well
    close(jax().jit(partial(dd.inverse_dynamics, robot))(state), np.asarray(tau))
    eom = jax().jit(partial(dd.equations_of_motion, robot))(ours)
    close(eom.M, dd.equations_of_motion(robot, state).M)
    found = jax().jit(partial(dd.regressor, robot, friction=False))(ours)
    assert found.names == dd.regressor(robot, state, friction=False).names
    static = jax().jit(dd.inverse_kinematics, static_argnums=0)
    close(static(robot, state.p), state.q)


def test_states_and_motions_are_pytrees() -> None:
    robot = make_robot(4, True)
    motion = circle(robot, 11)
    for value in (make_states(robot, 3), motion):
        leaves, shape = jax().tree_util.tree_flatten(value)
        again = jax().tree_util.tree_unflatten(shape, leaves)
        assert type(again) is type(value)
        for name in ("p", "qdd", "q"):
            np.testing.assert_array_equal(getattr(again, name), getattr(value, name))
        assert again.single == value.single
    doubled = jax().tree_util.tree_map(lambda x: 2 * x, motion)
    np.testing.assert_array_equal(doubled.t, 2 * motion.t)


def test_vmap_over_samples() -> None:
    robot = rubbing(3)
    state = make_states(robot, 7)

    def one(p: Any, pd: Any, pdd: Any) -> Any:
        return dd.inverse_dynamics(robot, dd.State.from_platform(robot, p, pd, pdd))

    tau = dd.inverse_dynamics(robot, state)
    close(jax().jit(jax().vmap(one))(state.p, state.pd, state.pdd), tau)


def test_gradient_by_the_pose() -> None:
    robot = rubbing(3, 0.3)
    state = make_states(robot, 2)

    def total(p: Any) -> Any:
        moved = dd.State.from_platform(robot, p, state.pd, state.pdd)
        return (dd.inverse_dynamics(robot, moved) ** 2).sum()

    slope = jax().jit(jax().grad(total))(jnp(state.p))
    close(slope, differences(lambda p: float(total(p)), state.p, 1e-6), DIFFERENCED)


def test_gradient_of_forward_dynamics_by_the_torque_is_the_inverse_inertia() -> None:
    robot = make_robot(3, False)
    state = make_states(robot, 1)
    q, qd = jnp(state.q[0]), jnp(state.qd[0])
    tau = jnp(dd.inverse_dynamics(robot, state)[0])
    slope = jax().jacfwd(lambda tau: dd.forward_dynamics(robot, q, qd, tau))(tau)
    M = dd.equations_of_motion(robot, state).M[0]
    close(slope, np.linalg.inv(M), 1e-11)


def test_gradients_by_parameters_are_the_regressor() -> None:
    robot = rubbing(4)
    state = make_states(robot, 5)
    motion = (state.p, state.pd, state.pdd)
    par = jnp(packed_parameters(robot))
    close(packed_torque(par, *motion), dd.inverse_dynamics(robot, state))
    # the gear's loss depends on the other parameters too, so it is not linear: left out
    terms = FrictionTerms(smooth=False, stribeck=True, load=False)
    slopes = jax().jit(jax().jacfwd(lambda par: packed_torque(par, *motion, friction=terms)))(par)
    reg = dd.regressor(robot, state)
    linear = [k for k, name in enumerate(reg.names) if not name.startswith("mu")]
    P = packing([reg.names[k] for k in linear])
    close(slopes @ P, reg.Y[:, :, linear])


def test_vmap_over_robots() -> None:
    robots = [make_robot(3, False, seed=seed) for seed in range(4)]
    state = make_states(robots[0], 1)
    motion = (state.q[0], state.qd[0], state.qdd[0])
    par = np.stack([packed_parameters(robot) for robot in robots])
    known = [dd.inverse_dynamics(r, dd.State.from_joints(r, *motion)) for r in robots]
    ours = jax().vmap(joint_torque, in_axes=(0, None, None, None))(jnp(par), *motion)
    close(ours, np.stack(known))
    close(joint_torque(jnp(par), *motion), np.stack(known))
    np.testing.assert_allclose(joint_torque(par, *motion), np.stack(known), rtol=1e-11)
    back = packed_acceleration(jnp(par), *motion[:2], ours)
    close(back, np.tile(motion[2], (4, 1)), 1e-11)


def test_components_give_the_same() -> None:
    robot = rubbing(3, 0.2)
    state = make_states(robot, 9)
    parts = [tuple(jnp(x).T) for x in (state.p, state.pd, state.pdd)]
    par = packed_parameters(robot)
    tau = dd.inverse_dynamics(robot, state)
    for numbers in (jnp(par), tuple(par.tolist())):
        ours = jax().jit(lambda *motion, n=numbers: torque_components(n, *motion))(*parts)
        close(jax().numpy.stack(ours, axis=-1), tau)


def test_a_pose_out_of_reach_is_nan_in_all_axes() -> None:
    robot = make_robot(4, True)
    p = make_states(robot, 2).p
    p[1, 0] = 5.0
    tau = packed_torque(jnp(packed_parameters(robot)), p, 0 * p, 0 * p)
    np.testing.assert_array_equal(np.isnan(np.asarray(tau)), [[False] * 4, [True] * 4])


def test_lengths_and_velocities_have_their_places() -> None:
    robot = rubbing(3, 0.2)
    names = ("arm_length2", "strut_length3", "stribeck_velocity1")
    P = packing(names)
    assert (P.sum(axis=0) == 1).all()
    numbers = packed_parameters(robot)
    velocity, struts = robot.friction.stribeck_velocity, robot.rotary.strut_length
    assert velocity is not None
    values = (robot.rotary.arm_length[1], struts[2], velocity[0])
    np.testing.assert_array_equal(numbers @ P, values)
    np.testing.assert_array_equal(numbers @ packing(["strut_length"]), [sum(struts)])


def test_names_and_shapes_of_packed_numbers() -> None:
    assert packed_places("A2") == (PLACES["A"].start + 1,)
    assert len(packed_places("m_x")) == 3
    assert packed_places("Fc1") == (PLACES["coulomb"].start, PLACES["coulomb_negative"].start)
    assert packed_places("Fc") == tuple(place for i in "123" for place in packed_places(f"Fc{i}"))
    assert packed_places("stribeck_velocity4") == (PLACES["stribeck_velocity"].start + 3,)
    for name in ("elbow_swing.Fv", "A4", "strut_length4", "arm_length5", "nosuch", ""):
        with pytest.raises(InputError, match="a parameter of the exact model"):
            packed_places(name)
    p = np.zeros((2, 3))
    with pytest.raises(InputError, match=rf"shape of par .* \(..., {COUNT}\)"):
        packed_torque(np.zeros(5), p, p, p)
    with pytest.raises(InputError, match=r"shape of pd is \[2, 4\]; allowed: \(..., 3\)"):
        packed_torque(np.zeros(COUNT), p, np.zeros((2, 4)), p)
    with pytest.raises(InputError, match="friction is 'yes'; allowed: True, False"):
        packed_torque(np.zeros(COUNT), p, p, p, friction="yes")  # type: ignore[arg-type]
