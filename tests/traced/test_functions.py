"""The public functions give on JAX arrays what they give on NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import full_friction, make_robot, make_states
from tests.traced.cases import circle, close, jax, jnp, rubbing

import deltadyn as dd
from deltadyn.errors import InputError, UnreachableError
from deltadyn.kinematics import jacobian_rate

pytestmark = pytest.mark.full  # JAX

FIELDS = ("p", "pd", "pdd", "cos_q", "sin_q", "qd", "qdd", "q")
DOFS = (3, 4)


def same_state(ours: dd.State, expected: dd.State) -> None:
    assert ours.single == expected.single
    for name in FIELDS:
        close(getattr(ours, name), getattr(expected, name))


@pytest.mark.parametrize("dof", DOFS)
def test_kinematics(dof: int) -> None:
    robot = make_robot(dof, False)
    state = make_states(robot, 40)
    p, pd, pdd, q, qd, qdd = (
        jnp(x) for x in (state.p, state.pd, state.pdd, state.q, state.qd, state.qdd)
    )
    close(dd.inverse_kinematics(robot, p), dd.inverse_kinematics(robot, state.p))
    close(dd.forward_kinematics(robot, q), dd.forward_kinematics(robot, state.q))
    close(dd.jacobian(robot, p), dd.jacobian(robot, state.p))
    close(jacobian_rate(robot, p, pd), jacobian_rate(robot, state.p, state.pd))
    same_state(dd.State.from_platform(robot, p, pd, pdd), state_again(robot, state))
    same_state(dd.State.from_joints(robot, q, qd, qdd), state)
    at_rest = dd.State.from_platform(robot, p, elbows=("out", "in", "out"), unreachable="nan")
    known = dd.State.from_platform(robot, state.p, elbows=("out", "in", "out"), unreachable="nan")
    same_state(at_rest, known)


def state_again(robot: dd.Robot, state: dd.State) -> dd.State:
    return dd.State.from_platform(robot, state.p, state.pd, state.pdd)


@pytest.mark.parametrize(("dof", "smoothing"), [(3, None), (4, 0.3)], ids=["sign", "tanh"])
def test_dynamics(dof: int, smoothing: float | None) -> None:
    robot = rubbing(dof, smoothing)
    state = make_states(robot, 40)
    ours = dd.State.from_joints(robot, *(jnp(x) for x in (state.q, state.qd, state.qdd)))
    tau = dd.inverse_dynamics(robot, state)
    close(dd.inverse_dynamics(robot, ours), tau)
    force = np.arange(1.0, dof + 1)
    for value in (force, force[:3], np.outer(np.linspace(-1, 1, 40), force)):
        pushed = dd.inverse_dynamics(robot, ours, external_force=jnp(value), friction=False)
        given = dd.inverse_dynamics(robot, state, external_force=value, friction=False)
        close(pushed, given)
    found, known = dd.equations_of_motion(robot, ours), dd.equations_of_motion(robot, state)
    for name in ("M", "C", "c", "g", "f"):
        close(getattr(found, name), getattr(known, name))
    reached = dd.forward_dynamics(robot, ours.q, ours.qd, jnp(tau))
    # the solve loses what the condition of M takes, below 1e2
    close(reached, state.qdd, 1e-11)


def test_forward_dynamics_under_a_push() -> None:
    robot = make_robot(3, False)
    state = make_states(robot, 40)
    tau, force = dd.inverse_dynamics(robot, state), np.arange(1.0, 4.0)
    known = dd.forward_dynamics(robot, state.q, state.qd, tau, external_force=force)
    close(
        dd.forward_dynamics(robot, jnp(state.q), state.qd, tau, external_force=force), known, 1e-11
    )


@pytest.mark.parametrize(
    ("dof", "settings"), [(3, {"com_offset": False, "friction": False}), (4, {})]
)
def test_regressor(dof: int, settings: dict[str, Any]) -> None:
    robot = rubbing(dof)
    state = make_states(robot, 40)
    ours = dd.State.from_joints(robot, *(jnp(x) for x in (state.q, state.qd, state.qdd)))
    found = dd.regressor(robot, ours, **settings)
    known = dd.regressor(robot, state, **settings)
    close(found.Y, known.Y)
    close(found.parameters, known.parameters)
    assert (found.names, found.units) == (known.names, known.units)


def test_tied_limbs_have_common_columns() -> None:
    robot = make_robot(4, True)
    state = make_states(robot, 40)
    ours = dd.State.from_joints(robot, *(jnp(x) for x in (state.q, state.qd, state.qdd)))
    close(dd.regressor(robot, ours, tied=True).Y, dd.regressor(robot, state, tied=True).Y)


def test_one_sample() -> None:
    robot = rubbing(3)
    state = make_states(robot, 40)
    one = dd.State.from_joints(robot, state.q[1], state.qd[1], state.qdd[1])
    ours = dd.State.from_joints(robot, *(jnp(x[1]) for x in (state.q, state.qd, state.qdd)))
    assert ours.single
    close(dd.inverse_dynamics(robot, ours), dd.inverse_dynamics(robot, one))
    close(dd.inverse_kinematics(robot, jnp(state.p[1])), state.q[1])
    close(dd.forward_kinematics(robot, jnp(state.q[1])), state.p[1])
    close(dd.jacobian(robot, jnp(state.p[1])), dd.jacobian(robot, state.p[1]))
    tau = dd.inverse_dynamics(robot, one, friction=False)
    reached = dd.forward_dynamics(robot, ours.q[0], ours.qd[0], tau, friction=False)
    close(reached, state.qdd[1], 1e-11)


def test_motions_take_their_rates() -> None:
    robot = make_robot(3, True)
    motion = circle(robot, 40)
    t, p, pd, pdd = (jnp(x) for x in (motion.t, motion.p, motion.pd, motion.pdd))
    ours = dd.Motion.from_platform(robot, t, p, pd, pdd)
    same_state(ours, motion)
    close(ours.t, motion.t)
    joints = dd.Motion.from_joints(robot, t, *(jnp(x) for x in (motion.q, motion.qd, motion.qdd)))
    close(joints.p, motion.p)
    with pytest.raises(InputError, match="pdd is None; allowed: given: rates are not estimated"):
        dd.Motion.from_platform(robot, t, p, pd)
    with pytest.raises(InputError, match=r"t at row 1 .* above its predecessor"):
        dd.Motion.from_platform(robot, t[::-1], p, pd, pdd)


def test_a_numpy_partner_follows() -> None:
    robot = make_robot(3, True)
    state = make_states(robot, 40)
    mixed = dd.State.from_platform(robot, jnp(state.p, "float32"), state.pd, state.pdd)
    assert {str(getattr(mixed, name).dtype) for name in FIELDS} == {"float32"}


def test_float32_stays_float32() -> None:
    robot = rubbing(3, 0.3)
    state = make_states(robot, 40)
    motion = [jnp(x, "float32") for x in (state.q, state.qd, state.qdd)]
    ours = dd.State.from_joints(robot, *motion)
    tau = dd.inverse_dynamics(robot, ours)
    kinds = (ours.p, ours.q, tau, dd.jacobian(robot, ours.p))
    assert {str(x.dtype) for x in kinds} == {"float32"}
    # 1.2e-7 a rounding, some tens of them, and the condition of the struts
    close(tau, dd.inverse_dynamics(robot, state), 1e-4)


def test_what_cannot_be_reached_raises_as_with_numpy() -> None:
    robot = make_robot(3, True)
    state = make_states(robot, 40)
    far = state.p.copy()
    far[2, 0] = 9.0
    for call in (dd.inverse_kinematics, dd.State.from_platform, dd.jacobian):
        with pytest.raises(UnreachableError, match="p at row 2 cannot be reached") as ours:
            call(robot, jnp(far))
        with pytest.raises(UnreachableError) as known:
            call(robot, far)
        assert str(ours.value) == str(known.value)
    with pytest.raises(InputError, match="p at row 0, axis 1 is nan"):
        dd.State.from_platform(robot, jnp(state.p).at[0, 1].set(np.nan))
    close(
        dd.inverse_kinematics(robot, jnp(far), unreachable="nan"),
        dd.inverse_kinematics(robot, far, unreachable="nan"),
    )
    lost = dd.State.from_platform(robot, jnp(far), unreachable="nan")
    tau = np.asarray(dd.inverse_dynamics(robot, lost))
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(tau).all(axis=1)), [2])


def test_under_a_trace_what_cannot_be_reached_is_nan() -> None:
    robot = make_robot(3, True)
    far = make_states(robot, 40).p
    far[1, 2] = -5.0
    q = jax().jit(lambda p: dd.inverse_kinematics(robot, p))(far)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(np.asarray(q)).all(axis=1)), [1])


def test_wrong_use_is_told() -> None:
    robot = make_robot(3, True, friction=full_friction(3))
    state = make_states(robot, 40)
    ours = dd.State.from_platform(robot, jnp(state.p))
    with pytest.raises(InputError, match="model is 'rigid'; allowed: 'exact' with JAX arrays"):
        dd.inverse_dynamics(robot, ours, "rigid")
    with pytest.raises(InputError, match="model is 'nosuch'; allowed: one of 'exact'"):
        dd.equations_of_motion(robot, ours, "nosuch")
    for call in (dd.inverse_dynamics, dd.regressor, dd.equations_of_motion):
        with pytest.raises(InputError, match=r"friction in passive joints .* pass friction=False"):
            call(robot, ours)
    with pytest.raises(InputError, match=r"shape of p is \[40, 2\]; allowed: \(3,\) or \(N, 3\)"):
        dd.State.from_platform(robot, jnp(state.p)[:, :2])
    with pytest.raises(InputError, match="rows of pd is 3; allowed: 40, as its partners have"):
        dd.State.from_platform(robot, jnp(state.p), jnp(state.p)[:3])
    with pytest.raises(InputError, match="type of p is 'complex128'; allowed: real numbers"):
        dd.inverse_kinematics(robot, jnp(state.p) + 0j)
    with pytest.raises(InputError, match="shape of external_force"):
        dd.inverse_dynamics(robot, ours, external_force=jnp([1.0, 2.0]), friction=False)
    many = jax().vmap(lambda p: dd.State.from_platform(robot, p))(jnp(state.p))
    with pytest.raises(InputError, match=r"dimensions of the motion is 3; .* jax.vmap"):
        dd.inverse_dynamics(robot, many, friction=False)
