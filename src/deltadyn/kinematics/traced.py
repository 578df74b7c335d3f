"""Kinematics of JAX arrays: the same closed forms, compiled, mapped and differentiated by JAX.

Under a trace values do not exist, so what cannot be reached is NaN, whatever `unreachable` says.
Outside of one, unreachable="raise" raises as it does for NumPy arrays.
"""

from __future__ import annotations

from functools import reduce
from importlib import import_module
from operator import or_
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray, restore
from deltadyn.kinematics.components import (
    arms,
    jacobian_columns,
    joint_state,
    platform_state,
    point,
)
from deltadyn.kinematics.packed import packed_limbs
from deltadyn.robot import Robot
from deltadyn.tracing import common_float, jax_numpy, jitted, joined, rows, split, traced

Array = Any
#: p, pd, pdd, cos_q, sin_q, qd, qdd
Seven = tuple[Array, Array, Array, Array, Array, Array, Array]
Modes = tuple[int, int, int]
OUT: Modes = (1, 1, 1)


def inverse_kinematics(robot: Robot, p: Array, modes: Modes) -> FloatArray:
    """q (N, dof) or (dof,) of platform positions p, in rad."""
    points, single = rows(p, robot.dof, "p")
    return restore(jitted(_inverse)(_par(robot, points.dtype, modes), points), single)


def forward_kinematics(robot: Robot, q: Array, side: int) -> FloatArray:
    """p (N, dof) or (dof,) of joint angles q, in m."""
    angles, single = rows(q, robot.dof, "q")
    return restore(jitted(_forward)(_par(robot, angles.dtype, side=side), angles), single)


def jacobian(robot: Robot, p: Array, modes: Modes) -> FloatArray:
    """J (N, dof, dof) or (dof, dof) with pd = J qd."""
    points, single = rows(p, robot.dof, "p")
    return restore(jitted(_jacobian)(_par(robot, points.dtype, modes), points), single)


def jacobian_rate(robot: Robot, p: Array, pd: Array, modes: Modes) -> FloatArray:
    """Jd (N, dof, dof) or (dof, dof) with pdd = J qdd + Jd qd."""
    dtype = common_float(p, pd)
    points, single = rows(p, robot.dof, "p", dtype=dtype)
    speed, _ = rows(pd, robot.dof, "pd", count=len(points), dtype=dtype)
    return restore(jitted(_jacobian_rate)(_par(robot, dtype, modes), points, speed), single)


def platform_motion(
    robot: Robot, p: Array, pd: Array | None, pdd: Array | None, modes: Modes
) -> tuple[Seven, bool]:
    """p, pd, pdd, cos_q, sin_q, qd, qdd of a state, and whether one sample was given."""
    dtype = common_float(p, pd, pdd)
    points, single = rows(p, robot.dof, "p", dtype=dtype)
    speed, push = _rates(pd, points, "pd"), _rates(pdd, points, "pdd")
    c, s, qd, qdd = jitted(_from_platform)(_par(robot, dtype, modes), points, speed, push)
    return (points, speed, push, c, s, qd, qdd), single


def joint_motion(
    robot: Robot, q: Array, qd: Array | None, qdd: Array | None, side: int
) -> tuple[Seven, Array, bool]:
    """p, pd, pdd, cos_q, sin_q, qd, qdd of a state, its angles, and whether one was given."""
    dtype = common_float(q, qd, qdd)
    angles, single = rows(q, robot.dof, "q", dtype=dtype)
    speed, push = _rates(qd, angles, "qd"), _rates(qdd, angles, "qdd")
    c, s, p, pd, pdd = jitted(_from_joints)(_par(robot, dtype, side=side), angles, speed, push)
    return (p, pd, pdd, c, s, speed, push), angles, single


def joint_angles(p: Array, c: Array, s: Array) -> FloatArray:
    """q (..., dof) in rad, NaN in the whole row where an arm cannot reach."""
    jnp = jax_numpy()
    missing = jnp.isnan(c).any(axis=-1, keepdims=True)
    angles = jnp.concatenate([jnp.arctan2(s, c), p[..., 3:]], axis=-1)
    q: FloatArray = jnp.where(missing, jnp.nan, angles)
    return q


def sound(*arrays: Array) -> bool:
    """Whether nothing is to be refused: the values are finite, or do not exist yet."""
    return traced(*arrays) or bool(jitted(_finite)(*arrays))


def _finite(*arrays: Array) -> Array:
    jnp = jax_numpy()
    return jnp.stack([jnp.isfinite(array).all() for array in arrays]).all()


def _par(robot: Robot, dtype: Any, modes: Modes = OUT, side: int = -1) -> Array:
    return np.asarray(packed_limbs(robot, modes, side), dtype=dtype)


def _rates(value: Array | None, partner: Array, name: str) -> Array:
    if value is None:
        return jax_numpy().zeros_like(partner)
    count, width = partner.shape
    return rows(value, width, name, count=count, dtype=partner.dtype)[0]


def _inverse(par: Array, p: Array) -> Array:
    c, s = arms(jax_numpy(), split(par), split(p))
    angles = (jax_numpy().arctan2(b, a) for a, b in zip(c, s, strict=True))
    return joined(_blank(_missing(c), (*angles, *split(p)[3:])))[0]


def _forward(par: Array, q: Array) -> Array:
    jnp = jax_numpy()
    c, s = (split(turn(q[..., :3])) for turn in (jnp.cos, jnp.sin))
    p = point(jnp, split(par), c, s)
    return joined(_blank(_missing(p), (*p, *split(q)[3:])))[0]


def _jacobian(par: Array, p: Array) -> Array:
    c, s = arms(jax_numpy(), split(par), split(p))
    return _matrix(split(par), c, s, split(p), 1.0)


def _matrix(par: Any, c: Any, s: Any, p: Any, corner: float) -> Array:
    """(..., dof, dof) with `corner` where psi meets psi."""
    jnp = jax_numpy()
    J = jnp.stack(joined(*jacobian_columns(par, c, s, p)), axis=-1)
    if len(p) == 3:
        return J
    wide = jnp.pad(J, [(0, 0)] * (J.ndim - 2) + [(0, 1), (0, 1)])
    return wide.at[..., 3, 3].set(corner)


def _jacobian_rate(par: Array, p: Array, pd: Array) -> Array:
    """The slope of J along the motion at pd."""
    jnp, numbers = jax_numpy(), split(par)
    zero = tuple(jnp.zeros_like(x) for x in split(p))
    c, s, qd, _ = platform_state(jnp, numbers, split(p), split(pd), zero)
    turned = tuple(-s[i] * qd[i] for i in range(3)), tuple(c[i] * qd[i] for i in range(3))

    def J(c: Any, s: Any, p: Any) -> Array:
        return _matrix(numbers, c, s, p, 0.0)

    _, rate = import_module("jax").jvp(J, (c, s, split(p)), (*turned, split(pd)))
    return rate


def _from_platform(par: Array, p: Array, pd: Array, pdd: Array) -> tuple[Array, ...]:
    motion = (split(x) for x in (p, pd, pdd))
    c, s, qd, qdd = platform_state(jax_numpy(), split(par), *motion)
    lost, still = _missing(c), _endless((*qd, *qdd))
    return joined(_blank(lost, c), _blank(lost, s), _blank(still, qd), _blank(still, qdd))


def _from_joints(par: Array, q: Array, qd: Array, qdd: Array) -> tuple[Array, ...]:
    motion = (split(x) for x in (q, qd, qdd))
    c, s, p, pd, pdd = joint_state(jax_numpy(), split(par), *motion)
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
