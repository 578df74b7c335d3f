"""Kinematics and dynamics of JAX arrays: the same closed forms, compiled and mapped by JAX.

Under a trace values do not exist: what cannot be reached is NaN. The other models, and friction in
passive joints, are for NumPy arrays.
"""

from __future__ import annotations

from functools import reduce
from importlib import import_module
from operator import or_
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, restore
from deltadyn.backends import components
from deltadyn.backends.components import FrictionTerms, Pose, friction_terms
from deltadyn.backends.limbs import (
    arms,
    jacobian_columns,
    joint_state,
    limbs_of,
    packed_limbs,
    platform_state,
    pose,
)
from deltadyn.backends.packed import packed_parameters
from deltadyn.dynamics.columns import inertial_columns as inertial_columns_of
from deltadyn.dynamics.models import MODELS
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.kinematics.actuation import actuation
from deltadyn.kinematics.limbs import coordinates_of, pairs_of
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.tracing import common_float, floats, jax_numpy, jitted, joined, rows, split, traced

# Kinematics of JAX arrays: the same closed forms, compiled, mapped and differentiated by JAX.
#
# Under a trace values do not exist, so what cannot be reached is NaN, whatever `unreachable` says.
# Outside of one, unreachable="raise" raises as it does for NumPy arrays.


Array = Any
#: p, pd, pdd, cos_q, sin_q, qd, qdd
Seven = tuple[Array, Array, Array, Array, Array, Array, Array]
Modes = tuple[int, ...]


class StateParts(NamedTuple):
    """A state under a trace: components (N,) of every quantity, put side by side when asked for.

    What is computed from the state reads the components. Arrays (N, dof) in between would be made
    in full, row by row, although nobody looks at them.
    """

    cos_q: tuple[Array, ...]
    sin_q: tuple[Array, ...]
    qd: tuple[Array, ...]
    qdd: tuple[Array, ...]
    p: tuple[Array, ...]
    pd: tuple[Array, ...]
    pdd: tuple[Array, ...]

    def array(self, name: str) -> Array:
        """One quantity (N, dof) or (N, 3)."""
        return joined(getattr(self, name))[0]


def platform_parts(
    robot: Robot, p: Array, pd: Array | None, pdd: Array | None, modes: Modes
) -> tuple[StateParts, dict[str, Any]]:
    """The components of a platform motion under a trace, and the fields that are known at once."""
    dtype = common_float(p, pd, pdd)
    points, single = rows(p, robot.dof, "p", dtype=dtype)
    given = points, _rates(pd, points, "pd"), _rates(pdd, points, "pdd")
    par, kind = split(_par(robot, dtype, modes)), actuation(robot)
    place, speed, push = map(split, given)
    c, s, qd, qdd = _platform_groups(par, place, speed, push, kind)
    known = dict(zip(("p", "pd", "pdd"), given, strict=True), single=single, linear=robot.linear)
    return StateParts(c, s, qd, qdd, place, speed, push), known


def inverse_kinematics(robot: Robot, p: Array, modes: Modes) -> FloatArray:
    """q (N, dof) or (dof,) of platform positions p, in rad."""
    points, single = rows(p, robot.dof, "p")
    par, kind = _par(robot, points.dtype, modes), actuation(robot)
    return restore(jitted(_inverse, ("kind",))(par, points, kind=kind), single)


def forward_kinematics(robot: Robot, q: Array, side: int) -> FloatArray:
    """p (N, dof) or (dof,) of joint angles q, in m."""
    angles, single = rows(q, robot.dof, "q")
    par, kind = _par(robot, angles.dtype, side=side), actuation(robot)
    return restore(jitted(_forward, ("kind",))(par, angles, kind=kind), single)


def jacobian(robot: Robot, p: Array, modes: Modes) -> FloatArray:
    """J (N, dof, dof) or (dof, dof) with pd = J qd."""
    points, single = rows(p, robot.dof, "p")
    par, kind = _par(robot, points.dtype, modes), actuation(robot)
    return restore(jitted(_jacobian, ("kind",))(par, points, kind=kind), single)


def jacobian_rate(robot: Robot, p: Array, pd: Array, modes: Modes) -> FloatArray:
    """Jd (N, dof, dof) or (dof, dof) with pdd = J qdd + Jd qd."""
    dtype = common_float(p, pd)
    points, single = rows(p, robot.dof, "p", dtype=dtype)
    speed, _ = rows(pd, robot.dof, "pd", count=len(points), dtype=dtype)
    par, kind = _par(robot, dtype, modes), actuation(robot)
    return restore(jitted(_jacobian_rate, ("kind",))(par, points, speed, kind=kind), single)


def platform_motion(
    robot: Robot, p: Array, pd: Array | None, pdd: Array | None, modes: Modes
) -> tuple[Seven, bool]:
    """p, pd, pdd, cos_q, sin_q, qd, qdd of a state, and whether one sample was given."""
    dtype = common_float(p, pd, pdd)
    points, single = rows(p, robot.dof, "p", dtype=dtype)
    speed, push = _rates(pd, points, "pd"), _rates(pdd, points, "pdd")
    par, kind = _par(robot, dtype, modes), actuation(robot)
    c, s, qd, qdd = jitted(_from_platform, ("kind",))(par, points, speed, push, kind=kind)
    return (points, speed, push, c, s, qd, qdd), single


def joint_motion(
    robot: Robot, q: Array, qd: Array | None, qdd: Array | None, side: int
) -> tuple[Seven, Array, bool]:
    """p, pd, pdd, cos_q, sin_q, qd, qdd of a state, its angles, and whether one was given."""
    dtype = common_float(q, qd, qdd)
    angles, single = rows(q, robot.dof, "q", dtype=dtype)
    speed, push = _rates(qd, angles, "qd"), _rates(qdd, angles, "qdd")
    par, kind = _par(robot, dtype, side=side), actuation(robot)
    c, s, p, pd, pdd = jitted(_from_joints, ("kind",))(par, angles, speed, push, kind=kind)
    return (p, pd, pdd, c, s, speed, push), angles, single


def joint_angles(p: Array, c: Array, s: Array, linear: bool) -> FloatArray:
    """q (..., dof) in rad or m, NaN in the whole row where an arm cannot reach."""
    jnp = jax_numpy()
    missing = jnp.isnan(c).any(axis=-1, keepdims=True)
    own = c if linear else jnp.arctan2(s, c)
    angles = jnp.concatenate([own, p[..., c.shape[-1] :]], axis=-1)
    q: FloatArray = jnp.where(missing, jnp.nan, angles)
    return q


def sound(*arrays: Array) -> bool:
    """Whether nothing is to be refused: the values are finite, or do not exist yet."""
    return traced(*arrays) or bool(jitted(_finite)(*arrays))


def _finite(*arrays: Array) -> Array:
    jnp = jax_numpy()
    return jnp.stack([jnp.isfinite(array).all() for array in arrays]).all()


def _par(robot: Robot, dtype: Any, modes: Modes | None = None, side: int = -1) -> Array:
    return np.asarray(packed_limbs(robot, modes, side), dtype=dtype)


def _rates(value: Array | None, partner: Array, name: str) -> Array:
    if value is None:
        return jax_numpy().zeros_like(partner)
    count, width = partner.shape
    return rows(value, width, name, count=count, dtype=partner.dtype)[0]


def _inverse(par: Array, p: Array, kind: str) -> Array:
    c, s = arms(jax_numpy(), split(par), split(p), kind)
    angles = coordinates_of(jax_numpy(), limbs_of(split(par), kind), c, s)
    return joined(_blank(_missing(c), (*angles, *split(p)[len(c) :])))[0]


def _forward(par: Array, q: Array, kind: str) -> Array:
    jnp = jax_numpy()
    c, s = pairs_of(jnp, limbs_of(split(par), kind), split(q))
    p = pose(jnp, split(par), split(q), c, s, kind)
    return joined(_blank(_missing(p[: len(c)]), p))[0]


def _jacobian(par: Array, p: Array, kind: str) -> Array:
    c, s = arms(jax_numpy(), split(par), split(p), kind)
    return _matrix(split(par), c, s, split(p), 1.0, kind)


def _matrix(par: Any, c: Any, s: Any, p: Any, corner: float, kind: str) -> Array:
    """(..., dof, dof) with `corner` where psi meets psi."""
    jnp = jax_numpy()
    J = jnp.stack(joined(*jacobian_columns(jnp, par, c, s, p, kind)), axis=-1)
    if len(p) == len(c):
        return J
    wide = jnp.pad(J, [(0, 0)] * (J.ndim - 2) + [(0, 1), (0, 1)])
    return wide.at[..., 3, 3].set(corner)


def _jacobian_rate(par: Array, p: Array, pd: Array, kind: str) -> Array:
    """The slope of J along the motion at pd."""
    jnp, numbers = jax_numpy(), split(par)
    zero = tuple(jnp.zeros_like(x) for x in split(p))
    c, s, qd, _ = platform_state(jnp, numbers, split(p), split(pd), zero, kind)
    three = limbs_of(numbers, kind)
    pairs = (limb.pair_rate(c[i], s[i], qd[i]) for i, limb in enumerate(three))
    turned = tuple(zip(*pairs, strict=True))

    def J(c: Any, s: Any, p: Any) -> Array:
        return _matrix(numbers, c, s, p, 0.0, kind)

    _, rate = import_module("jax").jvp(J, (c, s, split(p)), (*turned, split(pd)))
    return rate


def _from_platform(par: Array, p: Array, pd: Array, pdd: Array, kind: str) -> tuple[Array, ...]:
    return joined(*_platform_groups(split(par), split(p), split(pd), split(pdd), kind))


def _platform_groups(
    par: Any, p: Any, pd: Any, pdd: Any, kind: str
) -> tuple[tuple[Array, ...], ...]:
    """c, s, qd, qdd as components, NaN in whole rows where they do not exist."""
    c, s, qd, qdd = platform_state(jax_numpy(), par, p, pd, pdd, kind)
    lost, still = _missing(c), _endless((*qd, *qdd))
    return _blank(lost, c), _blank(lost, s), _blank(still, qd), _blank(still, qdd)


def _from_joints(par: Array, q: Array, qd: Array, qdd: Array, kind: str) -> tuple[Array, ...]:
    motion = split(q), split(qd), split(qdd)
    c, s, p, pd, pdd = joint_state(jax_numpy(), split(par), *motion, kind)
    still = _endless((*pd, *pdd))
    return joined(c, s, _blank(_missing(p), p), _blank(still, pd), _blank(still, pdd))


def _missing(parts: Any) -> Array:
    """Where one of the components is NaN."""
    return reduce(or_, (jax_numpy().isnan(part) for part in parts))


def _endless(parts: Any) -> Array:
    """Where one of the components is not finite."""
    return reduce(or_, (~jax_numpy().isfinite(part) for part in parts))


def _blank(lost: Array, parts: Any) -> tuple[Array, ...]:
    """The components with NaN in lost rows."""
    return tuple(jax_numpy().where(lost, np.nan, part) for part in parts)


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
    motion, dtype = _motion(state, external)
    tau = jitted(_torque, ("terms", "pushed", "kind"))(
        _numbers(robot, dtype),
        *motion,
        _wrench(robot, external, len(state), dtype),
        terms=terms,
        pushed=external is not None,
        kind=actuation(robot),
    )
    return restore(tau, state.single)


def equations_of_motion(robot: Robot, state: State) -> Terms:
    """M, C, c, g and f along a motion."""
    terms = _terms(robot, True)
    assert terms is not None
    motion, dtype = _motion(state)
    arrays = jitted(_equations, ("terms", "kind"))(
        _numbers(robot, dtype), *motion, terms=terms, kind=actuation(robot)
    )
    return Terms(*(restore(array, state.single) for array in arrays))


def inertial_columns(robot: Robot, state: State, tied: bool, com_offset: bool) -> Array:
    """Y (N, dof, n) of the inertial base parameters, in the order of `exact_columns`."""
    motion, dtype = _motion(state)
    return jitted(_columns, ("tied", "sine", "kind"))(
        _numbers(robot, dtype), *motion, tied=tied, sine=com_offset, kind=actuation(robot)
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
    qdd = jitted(_acceleration, ("terms", "pushed", "kind"))(
        _numbers(robot, dtype),
        angles,
        *others,
        _wrench(robot, external, count, dtype),
        terms=terms,
        pushed=external is not None,
        kind=actuation(robot),
    )
    return restore(qdd, single)


def _numbers(robot: Robot, dtype: Any) -> Array:
    return np.asarray(packed_parameters(robot), dtype=dtype)


def _motion(state: State, *others: Array) -> tuple[list[Array], Any]:
    """cos_q, sin_q, qd, qdd, p, pd, pdd as arrays, or as components under a trace; their type."""
    if isinstance(state.source, StateParts):
        dtype = common_float(*state.source.p, *others)
        groups = [tuple(part.astype(dtype) for part in group) for group in state.source]
        return groups, dtype
    arrays = [getattr(state, name) for name in StateParts._fields]
    dtype = common_float(*arrays, *others)
    return [floats(array, "the motion", dtype) for array in arrays], dtype


def _parts(group: Any) -> Any:
    """The components of an array, or the components that were given."""
    return group if isinstance(group, tuple) else split(group)


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
    few = min(3, robot.dof)
    if width not in (few, robot.dof):
        allowed = f"({few},) or (N, {few})" + (", or with 4 values" if robot.dof == 4 else "")
        raise InputError("shape of external_force", shape, allowed)
    force, _ = rows(value, width, "external_force", count=count, dtype=dtype)
    return jnp.pad(force, [(0, 0), (0, robot.dof - width)])


def _torque(
    par: Array, *arrays: Array, terms: FrictionTerms | None, pushed: bool, kind: str
) -> Array:
    *motion, external = (_parts(array) for array in arrays)
    push = external if pushed else ()
    tau = components.torque(jax_numpy(), split(par), Pose(*motion), terms, push, kind)
    return joined(components.reported(split(par), tau))[0]


def _acceleration(
    par: Array, *arrays: Array, terms: FrictionTerms | None, pushed: bool, kind: str
) -> Array:
    numbers, q, qd, tau, external = (split(array) for array in (par, *arrays))
    push = external if pushed else ()
    found = components.acceleration(jax_numpy(), numbers, q, qd, tau, terms, push, kind=kind)
    return joined(found)[0]


def _equations(par: Array, *arrays: Array, terms: FrictionTerms, kind: str) -> tuple[Array, ...]:
    jnp = jax_numpy()
    state = Pose(*(_parts(array) for array in arrays))
    found = components.terms_of(jnp, split(par), state, kind)
    bare = components.torque(jnp, split(par), state, None, (), kind)
    whole = components.torque(jnp, split(par), state, terms, (), kind)
    loss = [a - b for a, b in zip(whole, bare, strict=True)]
    like = 0 * state.p[0]  # some entries are plain numbers
    M, C = ([[x + like for x in row] for row in part] for part in (found.M, found.C))
    *rows, g, f = joined(*M, *C, found.g, loss)
    dof = len(state.p)
    mass, coupling = jnp.stack(rows[:dof], axis=-2), jnp.stack(rows[dof:], axis=-2)
    speed = joined(state.qd)[0]
    return mass, coupling, jnp.einsum("nij,nj->ni", coupling, speed), g, f


def _columns(par: Array, *arrays: Array, tied: bool, sine: bool, kind: str) -> Array:
    """Y (N, dof, n) of the inertial parameters."""
    jnp = jax_numpy()
    state = Pose(*(_parts(array) for array in arrays))
    J = jacobian_columns(jnp, split(par), state.c, state.s, state.p, kind)
    known = components.parameters_of(split(par), len(state.p), kind)
    columns = inertial_columns_of(jnp, known, J, *state, tied=tied, sine=sine)
    like = 0 * state.p[0]  # some entries are plain numbers
    rows = ([column[axis] + like for column in columns] for axis in range(len(state.p)))
    return jnp.stack(joined(*rows), axis=-2)
