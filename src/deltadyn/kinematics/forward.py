"""Forward kinematics in closed form."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import (
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
from deltadyn.kinematics.actuation import limb_kernel
from deltadyn.kinematics.assemblies import followed_pose
from deltadyn.kinematics.limbs import limbs, platform_point
from deltadyn.robot import Robot
from deltadyn.robot.robot import remembered
from deltadyn.tracing import on_jax


def forward_kinematics(
    robot: Robot,
    q: npt.ArrayLike,
    *,
    platform: str = "below",
    unreachable: Unreachable = "raise",
    hint: npt.ArrayLike | None = None,
) -> FloatArray:
    """Platform positions p (N, dof) of joint angles q (N, dof): the meeting of three spheres.

    `platform` chooses the assembly mode: "below" the elbows' plane, or "above". Under a platform of
    two halves the assembly is the one that joins up with the home pose, or with the pose `hint`
    (dof,) or (N, dof), with all arms in the working mode of `inverse_kinematics`. Angles at which
    the loop does not close raise `UnreachableError`, or give NaN rows with unreachable="nan".
    """
    if platform == "below" and type(q) is np.ndarray and q.ndim == 1 and hint is None:
        found = _one_sample(robot, q)
        if found is not None and unreachable in ("raise", "nan"):
            return found
    check_unreachable(unreachable)
    if on_jax(q):
        from deltadyn.backends import jax as traced

        points = traced.forward_kinematics(robot, q, platform_side(platform))
        if unreachable == "raise" and not traced.sound(points):
            forward_kinematics(robot, np.asarray(q), platform=platform)  # raises, with the reason
        return points
    angles, single = as_samples(q, robot.dof, "q", allow_nan=unreachable == "nan")
    side, p, n = platform_side(platform), angles.copy(), limbs(robot).carrier.carried
    if n == 4:
        p = followed_pose(robot, angles, None if hint is None else np.asarray(hint, dtype=float))
    elif packed.compiled(robot):
        par = packed.packed_limbs(robot, side=side)
        name = limb_kernel(robot, "forward_kinematics")
        run_kernel(name, par, [angles[:, :n]], [p[:, :n]])
    else:
        p[:, :n] = platform_points(robot, *joint_pairs(robot, angles), side)
    missing = np.asarray(np.isnan(p).any(axis=1))
    if unreachable == "raise" and missing.any():
        raise_if_open(angles, missing)
    p[missing] = np.nan
    return restore(p, single)


def _one_sample(robot: Robot, q: FloatArray) -> FloatArray | None:
    """p (dof,) of one sample; None where the long way has to be taken, which says what is wrong."""
    try:
        if not packed.compiled(robot) or robot.legs == 4:  # whose pose is followed
            return None
        p, n = q.copy(), robot.legs
        name, par = _row_call(robot)
        if q.size != robot.dof or run_row(name, par, False, q[:n], p[:n]):
            return None
    except (AttributeError, TypeError, ValueError, InputError):
        return None
    return p if q.size == n or math.isfinite(p[3]) else None


@remembered
def _row_call(robot: Robot) -> tuple[str, FloatArray]:
    return limb_kernel(robot, "forward_kinematics"), packed.packed_limbs(robot)


def joint_pairs(robot: Robot, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """cos and sin (N, legs) of arm angles q (N, dof), or what stands for them on rails."""
    pairs = limbs(robot)[0].pair(np, q[:, : robot.legs])  # all limbs count alike
    return np.array(pairs[0]), np.array(pairs[1])


def platform_points(robot: Robot, c: FloatArray, s: FloatArray, side: int) -> FloatArray:
    """Platform points (N, 3) of arms at cos, sin = c, s (N, 3); NaN where the loop stays open."""
    three = limbs(robot)

    def core(cos: tuple[Component, ...], sin: tuple[Component, ...]) -> tuple[Component, ...]:
        return platform_point(np, three, cos, sin, side)

    return map_chunks(core, [c, s], three.carrier.carried)


def platform_side(platform: str) -> int:
    """-1 for a platform below the elbows' plane, +1 for one above."""
    if platform not in ("below", "above"):
        raise InputError("platform", platform, "'below' or 'above'")
    return -1 if platform == "below" else 1


def raise_if_open(angles: FloatArray, missing: npt.NDArray[np.bool_]) -> None:
    """Raise for the first row of joint angles at which the loop does not close."""
    rows = np.flatnonzero(missing)
    if rows.size:
        reason = "no platform position closes the loop at these angles"
        raise UnreachableError("q", rows.tolist(), angles[rows[0]], reason)
