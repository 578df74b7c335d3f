"""Inverse kinematics in closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import (
    BoolArray,
    Component,
    FloatArray,
    Unreachable,
    as_samples,
    check_unreachable,
    map_chunks,
    restore,
)
from deltadyn.backends import limbs as packed
from deltadyn.backends import run as run_kernel
from deltadyn.backends.loader import run_row
from deltadyn.errors import InputError, UnreachableError
from deltadyn.kinematics import limbs as closed_forms
from deltadyn.kinematics.actuation import limb_kernel
from deltadyn.kinematics.limbs import limbs
from deltadyn.robot import Robot
from deltadyn.robot.robot import remembered
from deltadyn.tracing import on_jax

Elbows = str | Sequence[str]


def inverse_kinematics(
    robot: Robot,
    p: npt.ArrayLike,
    *,
    elbows: Elbows = "out",
    unreachable: Unreachable = "raise",
) -> FloatArray:
    """Joint angles q (N, dof) of platform positions p (N, dof), in rad.

    `elbows` is "out" or "in" for all arms or one of them per arm: the eight assembly modes.
    Points out of reach raise `UnreachableError`, or give NaN rows with unreachable="nan".
    """
    if elbows == "out" and type(p) is np.ndarray and p.ndim == 1:
        found = _one_sample(robot, p)
        if found is not None and unreachable in ("raise", "nan"):
            return found
    check_unreachable(unreachable)
    if on_jax(p):
        from deltadyn.backends import jax as traced

        angles = traced.inverse_kinematics(robot, p, elbow_signs(elbows, robot.legs))
        if unreachable == "raise" and not traced.sound(angles):
            inverse_kinematics(robot, np.asarray(p), elbows=elbows)  # raises, with the reason
        return angles
    points, single = as_samples(
        p, robot.dof, "p", allow_nan=unreachable == "nan", coordinates=robot.coordinates
    )
    c, s = arm_directions(robot, points, elbows)
    if unreachable == "raise":
        raise_if_unreachable(points, c)
    q = points.copy()
    q[:, : robot.legs] = limbs(robot)[0].coordinate(np, c, s)  # all limbs count alike
    q[np.isnan(c).any(axis=1)] = np.nan
    return restore(q, single)


def _one_sample(robot: Robot, p: FloatArray) -> FloatArray | None:
    """q (dof,) of one sample; None where the long way has to be taken, which says what is wrong."""
    try:
        if not packed.compiled(robot):
            return None
        legs, dof = robot.legs, robot.dof
        c, s = np.empty(legs), np.empty(legs)
        point = p[:3] if dof > legs else p
        name, par = _row_call(robot)
        if p.size != dof or run_row(name, par, False, point, c, s):
            return None
    except (AttributeError, TypeError, ValueError, InputError):
        return None
    q: FloatArray = c if robot.linear else np.arctan2(s, c)
    if dof == legs:
        return q
    return np.append(q, p[3]) if math.isfinite(p[3]) else None


@remembered
def _row_call(robot: Robot) -> tuple[str, FloatArray]:
    return limb_kernel(robot, "inverse_kinematics"), packed.packed_limbs(robot)


def reachable(robot: Robot, p: npt.ArrayLike, *, elbows: Elbows = "out") -> BoolArray:
    """Mask (N,) of the positions that all three limbs reach; limits are not looked at."""
    points, single = as_samples(p, robot.dof, "p", allow_nan=True, coordinates=robot.coordinates)
    c, _ = arm_directions(robot, points, elbows)
    mask = np.asarray(~np.isnan(c).any(axis=1))
    return mask[0] if single else mask


def arm_directions(
    robot: Robot, points: FloatArray, elbows: Elbows = "out"
) -> tuple[FloatArray, FloatArray]:
    """cos and sin (N, 3) of the arm angles, NaN where an arm cannot reach."""
    modes = elbow_signs(elbows, robot.legs)
    if packed.compiled(robot):
        legs = robot.legs
        c, s = np.empty((len(points), legs)), np.empty((len(points), legs))
        name, par = limb_kernel(robot, "inverse_kinematics"), packed.packed_limbs(robot, modes)
        run_kernel(name, par, [points[:, :legs]], [c, s])
        return c, s
    three = limbs(robot)

    def core(p: tuple[Component, ...]) -> list[Component]:
        c, s = closed_forms.arm_directions(np, three, p, modes)
        return [*c, *s]

    both = map_chunks(core, [points], 2 * robot.legs)
    return both[:, : robot.legs], both[:, robot.legs :]


def elbow_signs(elbows: Elbows, legs: int = 3) -> tuple[int, ...]:
    """+1 for an elbow outward, -1 for one inward, per arm."""
    choices = tuple(elbows) if isinstance(elbows, Sequence) else ()
    if isinstance(elbows, str):
        choices = (elbows,) * legs
    if len(choices) != legs or any(choice not in ("out", "in") for choice in choices):
        raise InputError("elbows", elbows, "'out' or 'in', for all arms or one per arm")
    return tuple(1 if choice == "out" else -1 for choice in choices)


def raise_if_unreachable(points: FloatArray, c: FloatArray) -> None:
    """Raise for the first row that an arm cannot reach, and name the arm."""
    missing = np.isnan(c)
    rows = np.flatnonzero(missing.any(axis=1))
    if rows.size:
        arms = [str(arm + 1) for arm in np.flatnonzero(missing[rows[0]])]
        subject = f"arm {arms[0]} is" if len(arms) == 1 else f"arms {', '.join(arms)} are"
        raise UnreachableError(
            "p", rows.tolist(), points[rows[0]], f"{subject} too short or too long for it"
        )
