"""The kinematic state of many samples: joints and platform, positions to accelerations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import (
    Component,
    FloatArray,
    Unreachable,
    as_samples,
    check_unreachable,
    map_chunks,
    matching_samples,
)
from deltadyn.backends import limbs as packed
from deltadyn.backends import run as run_kernel
from deltadyn.backends.loader import run_row
from deltadyn.errors import InputError, UnreachableError
from deltadyn.kinematics.actuation import kernel, limb_kernel
from deltadyn.kinematics.assemblies import followed_pose
from deltadyn.kinematics.forward import (
    joint_pairs,
    platform_points,
    platform_side,
    raise_if_open,
)
from deltadyn.kinematics.inverse import Elbows, elbow_signs, raise_if_unreachable
from deltadyn.kinematics.limbs import arm_directions, joint_rates, limbs, platform_rates, rods_of
from deltadyn.robot import Robot
from deltadyn.robot.robot import remembered
from deltadyn.tracing import on_jax, pytree, register_pytrees
from deltadyn.tracing import traced as is_traced

#: What a state holds; its angles are among them where they were given or asked for.
FIELDS = ("p", "pd", "pdd", "cos_q", "sin_q", "qd", "qdd")
ARRAYS = (*FIELDS, "q")
ROW_ORDER = ("cos_q", "sin_q", "qd", "qdd", "p", "pd", "pdd")
NOTHING = {dof: np.zeros(dof) for dof in (2, 3, 4)}


@pytree(ARRAYS, ("single", "linear"))
@dataclass(frozen=True, eq=False)
class State:
    """Consistent q, qd, qdd and p, pd, pdd of N samples, each (N, dof).

    The arm directions are kept as cos_q, sin_q (N, 3), because the closed forms need no angle;
    where carriages move the limbs (`linear`) cos_q holds their places and sin_q zeros. `single`
    says that one sample (dof,) was given; results are then returned without the row.
    With unreachable="nan" what does not exist is NaN in the whole row: all that was asked for
    where the pose cannot be taken, its rates where the pose is singular.
    """

    p: FloatArray
    pd: FloatArray
    pdd: FloatArray
    cos_q: FloatArray
    sin_q: FloatArray
    qd: FloatArray
    qdd: FloatArray
    single: bool = False
    linear: bool = False

    def __post_init__(self) -> None:
        register_pytrees()

    def __getattr__(self, name: str) -> Any:
        """An array that was not asked for yet, where the state was built without them."""
        source = self.__dict__.get("_source")
        if source is None or name not in FIELDS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = self.__dict__[name] = source.array(name)
        return found

    @cached_property
    def q(self) -> FloatArray:
        """Joint coordinates (N, dof): angles in rad, places of carriages in m."""
        if on_jax(self.p):
            from deltadyn.backends.jax import joint_angles

            return joint_angles(self.p, self.cos_q, self.sin_q, self.linear)
        angles = self.p.copy()
        legs = self.cos_q.shape[1]
        angles[:, :legs] = self.cos_q if self.linear else np.arctan2(self.sin_q, self.cos_q)
        angles[np.isnan(self.cos_q).any(axis=1)] = np.nan
        return angles

    def __len__(self) -> int:
        return int(self.p.shape[0])

    @property
    def source(self) -> Any:
        """Where arrays come from that were not asked for yet: a `StateRow`, parts, or None."""
        return self.__dict__.get("_source")

    @classmethod
    def from_platform(
        cls,
        robot: Robot,
        p: npt.ArrayLike,
        pd: npt.ArrayLike | None = None,
        pdd: npt.ArrayLike | None = None,
        *,
        elbows: Elbows = "out",
        unreachable: Unreachable = "raise",
    ) -> Self:
        """The state of platform positions, at rest where no rates are given."""
        if elbows == "out" and unreachable == "raise":
            found: Self | None = _one_sample(cls, "platform_row", robot, p, pd, pdd)
            if found is not None:
                return found
        check_unreachable(unreachable)
        nan = unreachable == "nan"
        if on_jax(p, pd, pdd):
            from deltadyn.backends import jax as traced

            if is_traced(p, pd, pdd) and cls is State:
                parts, known = traced.platform_parts(
                    robot, p, pd, pdd, elbow_signs(elbows, robot.legs)
                )
                state = object.__new__(cls)
                state.__dict__.update(_source=parts, **known)
                return state
            motion, single = traced.platform_motion(
                robot, p, pd, pdd, elbow_signs(elbows, robot.legs)
            )
            if not nan and not traced.sound(*motion):  # raises, with the reason
                State.from_platform(robot, *map(np.asarray, motion[:3]), elbows=elbows)
            return cls(*motion, single, robot.linear)
        dof = robot.dof
        points, single = as_samples(p, dof, "p", allow_nan=nan, coordinates=robot.coordinates)
        points = points.copy()  # a state does not change with the caller's array
        count = points.shape[0]
        speed = _rates(pd, count, dof, "pd", nan)
        acceleration = _rates(pdd, count, dof, "pdd", nan)
        modes = elbow_signs(elbows, robot.legs)
        c, s, qd, qdd, sound = _joints(robot, modes, points, speed, acceleration)
        if not nan and not sound:
            raise_if_unreachable(points, c)
            _raise_if_singular("p", points, qdd, "an arm and its strut are in line")
        if nan:
            missing = np.isnan(c).any(axis=1)
            c[missing], s[missing] = np.nan, np.nan
            _blank(qd, qdd)
        return cls(points, speed, acceleration, c, s, qd, qdd, single, robot.linear)

    @classmethod
    def from_joints(
        cls,
        robot: Robot,
        q: npt.ArrayLike,
        qd: npt.ArrayLike | None = None,
        qdd: npt.ArrayLike | None = None,
        *,
        platform: str = "below",
        unreachable: Unreachable = "raise",
        hint: npt.ArrayLike | None = None,
    ) -> Self:
        """The state of joint angles, at rest where no rates are given.

        `hint` (dof,) or (N, dof) is a pose nearby, as `forward_kinematics` takes it.
        """
        if platform == "below" and unreachable == "raise":
            found: Self | None = _one_sample(cls, "joint_row", robot, q, qd, qdd)
            if found is not None:
                found.__dict__["q"] = np.array(q, ndmin=2)
                return found
        check_unreachable(unreachable)
        nan = unreachable == "nan"
        if on_jax(q, qd, qdd):
            from deltadyn.backends import jax as traced

            motion, angles, single = traced.joint_motion(robot, q, qd, qdd, platform_side(platform))
            if not nan and not traced.sound(*motion):  # raises, with the reason
                given = map(np.asarray, (angles, *motion[5:]))
                State.from_joints(robot, *given, platform=platform)
            state = cls(*motion, single, robot.linear)
            state.__dict__["q"] = angles
            return state
        dof = robot.dof
        angles, single = as_samples(q, dof, "q", allow_nan=nan)
        angles = angles.copy()
        count = angles.shape[0]
        speed = _rates(qd, count, dof, "qd", nan)
        acceleration = _rates(qdd, count, dof, "qdd", nan)
        side = platform_side(platform)
        near = None if hint is None else np.asarray(hint, dtype=float)
        c, s, p, pd, pdd, sound = _platform(robot, side, angles, speed, acceleration, near)
        if not nan and not sound:
            raise_if_open(angles, np.asarray(np.isnan(p).any(axis=1)))
            _raise_if_singular("q", angles, pdd, "the struts lie in one plane or are parallel")
        if nan:
            p[np.isnan(p).any(axis=1)] = np.nan
            _blank(pd, pdd)
        state = cls(p, pd, pdd, c, s, speed, acceleration, single, robot.linear)
        state.__dict__["q"] = angles
        return state


# One sample goes a short way: the kernel checks its arrays and puts the whole state into one row,
# from which further kernels read. Whatever it refuses, and what does not come out finite, goes the
# long way, which says what is wrong.


class StateRow(NamedTuple):
    """One sample (1, 2 legs + 6 dof): the arrays of `ROW_ORDER` and an external force of 0."""

    row: FloatArray
    dof: int
    legs: int

    def array(self, name: str) -> FloatArray:
        """One quantity (1, dof) or (1, legs)."""
        k, dof, legs = ROW_ORDER.index(name), self.dof, self.legs
        start = legs * k if k < 2 else 2 * legs + (k - 2) * dof
        return self.row[:, start : start + (legs if k < 2 else dof)]


def _one_sample(cls: Any, name: str, robot: Robot, x: Any, xd: Any, xdd: Any) -> Any:
    """The state of one sample in arrays of NumPy; None where it has to go the long way."""
    if type(x) is not np.ndarray or x.ndim != 1 or cls is not State:
        return None
    try:
        if not packed.compiled(robot):
            return None
        ready = _row_calls(robot)[name]
        row = np.empty(ready.shape)
        nothing = ready.nothing
        xd, xdd = nothing if xd is None else xd, nothing if xdd is None else xdd
        if run_row(ready.kernel, ready.par, False, x, xd, xdd, row):
            return None
    except (AttributeError, KeyError, TypeError, ValueError, InputError):
        return None  # KeyError: no such kernel, as for joints under a platform of halves
    state = object.__new__(State)
    own = state.__dict__
    own["_source"] = StateRow(row, ready.dof, ready.legs)
    own["single"], own["linear"] = True, ready.linear
    return state


class _RowCall(NamedTuple):
    """What a call for one sample needs of a robot, gathered once."""

    kernel: str
    par: FloatArray
    shape: tuple[int, int]
    nothing: FloatArray
    dof: int
    legs: int
    linear: bool


@remembered
def _row_calls(robot: Robot) -> dict[str, _RowCall]:
    """By the name of the kernel."""
    dof, legs = robot.dof, robot.legs
    own = packed.packed_limbs(robot), (1, 2 * legs + 6 * dof), NOTHING[dof], dof, legs, robot.linear
    return {name: _RowCall(kernel(robot, name), *own) for name in ("platform_row", "joint_row")}


class _Joints(NamedTuple):
    c: FloatArray
    s: FloatArray
    qd: FloatArray
    qdd: FloatArray
    sound: bool  # all of it is known to be finite


class _Platform(NamedTuple):
    c: FloatArray
    s: FloatArray
    p: FloatArray
    pd: FloatArray
    pdd: FloatArray
    sound: bool


def _joints(
    robot: Robot,
    modes: tuple[int, ...],
    p: FloatArray,
    pd: FloatArray,
    pdd: FloatArray,
) -> _Joints:
    """Arm directions and joint rates of platform motions."""
    three = limbs(robot)
    n, legs = three.carrier.carried, len(three)
    c, s = np.empty((len(p), legs)), np.empty((len(p), legs))
    qd, qdd = _with_psi(pd, n), _with_psi(pdd, n)
    inputs, outputs = (p[:, :n], pd[:, :n], pdd[:, :n]), (c, s, qd[:, :n], qdd[:, :n])
    if packed.compiled(robot):
        name, par = limb_kernel(robot, "platform_state"), packed.packed_limbs(robot, modes)
        bad = run_kernel(name, par, inputs, outputs)
        return _Joints(c, s, qd, qdd, not bad)

    def core(*motion: tuple[Component, ...]) -> list[Component]:
        c, s = arm_directions(np, three, motion[0], modes)
        qd, qdd = joint_rates(np, three, c, s, *motion)
        return [*c, *s, *qd, *qdd]

    joined = map_chunks(core, inputs, 4 * legs)
    for out, columns in zip(outputs, np.split(joined, 4, axis=1), strict=True):
        out[:] = columns
    return _Joints(c, s, qd, qdd, False)


def _platform(
    robot: Robot,
    side: int,
    q: FloatArray,
    qd: FloatArray,
    qdd: FloatArray,
    hint: FloatArray | None,
) -> _Platform:
    """Arm directions, platform positions and rates of joint motions; psi passes through."""
    if packed.compiled(robot):
        n = robot.legs
        c, s = np.empty((len(q), n)), np.empty((len(q), n))
        p, pd, pdd = (_with_psi(values, n) for values in (q, qd, qdd))
        inputs = [q[:, :n], qd[:, :n], qdd[:, :n]]
        outputs = [c, s, p[:, :n], pd[:, :n], pdd[:, :n]]
        if n == 4:  # its pose is followed first
            p[:] = followed_pose(robot, q, hint)
            inputs, outputs = [p, *inputs], [c, s, pd, pdd]
        name, par = limb_kernel(robot, "joint_state"), packed.packed_limbs(robot, side=side)
        bad = run_kernel(name, par, inputs, outputs)
        return _Platform(c, s, p, pd, pdd, not bad)
    c, s = joint_pairs(robot, q)
    three = limbs(robot)
    n, p = three.carrier.carried, q.copy()
    if n == 4:
        p = followed_pose(robot, q, hint)
    else:
        p[:, :n] = platform_points(robot, c, s, side)

    def core(*motion: tuple[Component, ...]) -> list[Component]:
        point, cos, sin, speed, push = motion
        rods = rods_of(np, three, cos, sin, point)
        rates = platform_rates(three, rods, cos, sin, speed, push)
        return [*rates[0], *rates[1]]

    dof = q.shape[1]
    joined = map_chunks(core, (p, c, s, qd, qdd), 2 * dof)
    return _Platform(c, s, p, joined[:, :dof].copy(), joined[:, dof:].copy(), False)


def _with_psi(values: FloatArray, n: int) -> FloatArray:
    """Room for (N, dof) in which what is behind the first n, psi, is that of `values` already."""
    room = np.empty_like(values)
    room[:, n:] = values[:, n:]
    return room


def _rates(
    value: npt.ArrayLike | None, count: int, dof: int, name: str, allow_nan: bool
) -> FloatArray:
    if value is None:
        return np.zeros((count, dof))
    return matching_samples(value, count, dof, name, allow_nan=allow_nan).copy()


def _blank(first: FloatArray, second: FloatArray) -> None:
    """Make the rows NaN in which a rate does not exist."""
    bad = ~(np.isfinite(first).all(axis=1) & np.isfinite(second).all(axis=1))
    first[bad], second[bad] = np.nan, np.nan


def _raise_if_singular(name: str, rows: FloatArray, rates: FloatArray, reason: str) -> None:
    bad = np.flatnonzero(~np.isfinite(rates).all(axis=1))
    if bad.size:
        raise UnreachableError(name, bad.tolist(), rows[bad[0]], f"singular pose, {reason}")
