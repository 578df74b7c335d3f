"""Dynamics of JAX arrays: the exact model's torque, terms, regressor and accelerations.

Under a trace values do not exist: what cannot be reached is NaN. The other models, and friction in
passive joints, are for NumPy arrays.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, restore
from deltadyn.dynamics import components, exact
from deltadyn.dynamics.components import FrictionTerms, Pose, friction_terms
from deltadyn.dynamics.models import MODELS
from deltadyn.dynamics.packed import packed_parameters
from deltadyn.dynamics.parameters import ExactParameters, SpindleParameters, Three
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.tracing import common_float, floats, jax_numpy, jitted, joined, rows, split

Array = Any


class Terms(NamedTuple):
    """M, C (N, dof, dof), c = C qd, g and friction f (N, dof)."""

    M: Array
    C: Array
    c: Array
    g: Array
    f: Array


def check_model(model: str) -> None:
    """Refuse models that have no form for JAX arrays."""
    if not isinstance(model, str) or model not in MODELS:
        raise UnknownNameError("model", model, MODELS)
    if model != "exact":
        raise InputError("model", model, "'exact' with JAX arrays; the others take NumPy arrays")


def check_passive(robot: Robot) -> None:
    """Refuse friction in passive joints, which JAX arrays do not have."""
    joints = [item.joint for item in robot.friction.passive]
    if joints:
        allowed = "none with JAX arrays; pass friction=False or NumPy arrays"
        raise InputError("friction in passive joints", joints, allowed)


def inverse_dynamics(robot: Robot, state: State, external: Array, friction: bool) -> FloatArray:
    """Drive torques (N, dof) or (dof,), in N m."""
    terms = _terms(robot, friction)
    dtype = common_float(*_arrays(state), external)
    tau = jitted(_torque, ("terms", "pushed"))(
        _par(robot, dtype),
        *(floats(x, "the motion", dtype) for x in _arrays(state)),
        _wrench(robot, external, len(state), dtype),
        terms=terms,
        pushed=external is not None,
    )
    return restore(tau, state.single)


def equations_of_motion(robot: Robot, state: State) -> Terms:
    """M, C, c, g and f along a motion."""
    terms = _terms(robot, True)
    assert terms is not None
    dtype = common_float(*_arrays(state))
    arrays = jitted(_equations, ("terms",))(
        _par(robot, dtype), *(floats(x, "the motion", dtype) for x in _arrays(state)), terms=terms
    )
    return Terms(*(restore(array, state.single) for array in arrays))


def inertial_columns(robot: Robot, state: State, tied: bool, com_offset: bool) -> Array:
    """Y (N, dof, n) of the inertial base parameters, in the order of `exact_columns`."""
    dtype = common_float(*_arrays(state))
    return jitted(_columns, ("tied", "sine"))(
        _par(robot, dtype),
        *(floats(x, "the motion", dtype) for x in _arrays(state)),
        tied=tied,
        sine=com_offset,
    )


def forward_dynamics(
    robot: Robot, q: Array, qd: Array, tau: Array, external: Array, friction: bool
) -> FloatArray:
    """Joint accelerations (N, dof) or (dof,), in rad/s^2."""
    terms = _terms(robot, friction)
    dtype = common_float(q, qd, tau, external)
    angles, single = rows(q, robot.dof, "q", dtype=dtype)
    count = len(angles)
    others = [
        rows(x, robot.dof, name, count=count, dtype=dtype)[0]
        for x, name in ((qd, "qd"), (tau, "tau"))
    ]
    qdd = jitted(_acceleration, ("terms", "pushed"))(
        _par(robot, dtype),
        angles,
        *others,
        _wrench(robot, external, count, dtype),
        terms=terms,
        pushed=external is not None,
    )
    return restore(qdd, single)


def _par(robot: Robot, dtype: Any) -> Array:
    return np.asarray(packed_parameters(robot), dtype=dtype)


def _arrays(state: State) -> tuple[Array, ...]:
    return tuple(getattr(state, name) for name in ("cos_q", "sin_q", *Pose._fields[2:]))


def _terms(robot: Robot, friction: bool) -> FrictionTerms | None:
    if not friction:
        return None
    check_passive(robot)
    return friction_terms(packed_parameters(robot))


def _wrench(robot: Robot, value: Array, count: int, dtype: Any) -> Array:
    """Force and moment (N, dof) on the platform; zero where none is given."""
    jnp = jax_numpy()
    if value is None:
        return jnp.zeros((1, robot.dof), dtype=dtype)
    shape = np.shape(value)
    width = shape[-1] if len(shape) in (1, 2) else 0
    if width not in (3, robot.dof):
        allowed = "(3,) or (N, 3)" + (", or with 4 values" if robot.dof == 4 else "")
        raise InputError("shape of external_force", shape, allowed)
    force, _ = rows(value, width, "external_force", count=count, dtype=dtype)
    return jnp.pad(force, [(0, 0), (0, robot.dof - width)])


def _torque(par: Array, *arrays: Array, terms: FrictionTerms | None, pushed: bool) -> Array:
    *motion, external = (split(array) for array in arrays)
    push = external if pushed else ()
    return joined(components.torque(jax_numpy(), split(par), Pose(*motion), terms, push))[0]


def _acceleration(par: Array, *arrays: Array, terms: FrictionTerms | None, pushed: bool) -> Array:
    numbers, q, qd, tau, external = (split(array) for array in (par, *arrays))
    push = external if pushed else ()
    return joined(components.acceleration(jax_numpy(), numbers, q, qd, tau, terms, push))[0]


def _equations(par: Array, *arrays: Array, terms: FrictionTerms) -> tuple[Array, ...]:
    jnp = jax_numpy()
    pose = Pose(*(split(array) for array in arrays))
    found = components.terms_of(jnp, split(par), pose)
    bare = components.torque(jnp, split(par), pose, None)
    whole = components.torque(jnp, split(par), pose, terms)
    loss = [a - b for a, b in zip(whole, bare, strict=True)]
    like = 0 * pose.p[0]  # some entries are plain numbers
    M, C = ([[x + like for x in row] for row in part] for part in (found.M, found.C))
    *rows, g, f = joined(*M, *C, found.g, loss)
    dof = len(pose.p)
    mass, coupling = jnp.stack(rows[:dof], axis=-2), jnp.stack(rows[dof:], axis=-2)
    return mass, coupling, jnp.einsum("nij,nj->ni", coupling, arrays[2]), g, f


def _columns(par: Array, *arrays: Array, tied: bool, sine: bool) -> Array:
    """The slope of the torque by its parameters, in which it is linear."""
    jnp, jax = jax_numpy(), import_module("jax")
    pose = Pose(*(split(array) for array in arrays))
    known = components.parameters_of(split(par), len(pose.p))
    arms = 1 if tied else 3
    widths = [1, *[arms] * (4 if sine else 3), 7 if known.spindle is not None else 0]

    def torque(values: Array) -> Array:
        numbers = with_values(known, split(values), arms, sine)
        return joined(exact.inverse_dynamics(jnp, numbers, *pose))[0]

    zero = jnp.zeros(sum(widths), dtype=pose.p[0].dtype)
    return jax.jacfwd(torque)(zero)


def with_values(
    known: ExactParameters, values: tuple[Array, ...], arms: int, sine: bool
) -> ExactParameters:
    """The same geometry and gravity with other inertial parameters, in the columns' order."""

    def three(block: int) -> Three:
        first = 1 + block * arms
        last = first + arms - 1
        return values[first], values[(first + last) // 2], values[last]

    end = 1 + (4 if sine else 3) * arms
    spindle = known.spindle
    if spindle is not None:
        spindle = SpindleParameters(spindle.pivot_z, *values[end:])
    G_s = three(3) if sine else (0.0, 0.0, 0.0)
    return ExactParameters(
        known.limbs, known.gravity, values[0], three(0), three(1), three(2), G_s, spindle
    )
