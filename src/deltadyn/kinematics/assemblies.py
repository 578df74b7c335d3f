"""Forward kinematics of platforms of two halves: no closed form, followed from the home pose.

Newton's method on |a_i(x) - E_i|^2 = l2_i^2, whose slopes are 2 S, finds the assembly next to where
it starts. It starts at the home pose, or at a hint, and the joints are led from there to where they
are in steps: the platform then stays in the assembly that the robot was built in, as long as the
way crosses no singular pose. The sign of det S tells whether it did.
"""

from __future__ import annotations

import numpy as np

from deltadyn.arrays import FloatArray, columns
from deltadyn.errors import InputError
from deltadyn.kinematics.limbs import (
    Limbs,
    Rods,
    arm_directions,
    coordinates_of,
    limbs,
    pairs_of,
    rods_of,
)
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform
from deltadyn.robot.robot import remembered

STEPS = 24  # from home to the joints
STRIDE = 0.05  # rad of an arm, or of its size on rails: so far Newton's method goes in one step
ROUNDS, LAST = 3, 8  # of Newton's method, on the way and at the end
FARTHEST = 4 * np.pi  # rad of the bars or the screw from the start: beyond is another assembly
CLOSED = 1e-9  # of l2^2: what is left where the loop is closed
HEIGHTS = 401  # tried on the axis for the home pose
#: Other places to start, where the straight way from home fails: x, y in the robot's own size, and
#: rad of the bars.
STARTS = (
    *((0.0, 0.0, turn) for turn in (0.4, -0.4, 0.8, -0.8, 2.0, -2.0)),
    *((x, y, 0.0) for x in (-0.5, 0.5) for y in (-0.5, 0.5)),
)


@remembered
def home_pose(robot: Robot) -> FloatArray:
    """A pose (dof,) with psi = 0 amid what the limbs reach on the robot's axis, far from singular.

    In the middle of the workspace's height where the robot names a workspace, else below the elbows
    where the limbs reach there: level rails reach as far above.
    """
    frames, g = robot.geometry.frames, robot.geometry
    reach = max(g.strut_length) + (0.0 if robot.linear else max(robot.rotary.arm_length))
    heights = [frame.shoulder[2] for frame in frames]
    low, high = min(heights) - reach, max(heights) + (reach if robot.linear else 0.0)
    cylinder, legs = robot.limits.workspace, limbs(robot)
    z = np.linspace(low, high, HEIGHTS)
    if cylinder is not None:
        z = np.array([(cylinder.z_min + cylinder.z_max) / 2])
    zero = np.zeros_like(z)
    x = (zero, z) if robot.dof == 2 else (zero, zero, z, zero)[: robot.dof]
    with np.errstate(invalid="ignore", divide="ignore"):
        c, s = arm_directions(np, legs, x)
        apart = np.abs(rods_of(np, legs, c, s, x).inverse.determinant)
        elbow = np.mean([limb.elbow(c[i], s[i])[2] + zero for i, limb in enumerate(legs)], axis=0)
    reached = np.isfinite(apart)
    hangs = reached & (z < elbow)
    inside = np.flatnonzero(hangs if hangs.any() else reached)
    if not inside.size:
        raise InputError("robot", robot.name, "a robot whose limbs all reach a point of its axis")
    middle = inside[inside.size // 4 : inside.size - inside.size // 4]
    pose = np.zeros(robot.dof)
    pose[1 if robot.dof == 2 else 2] = z[middle[np.argmax(apart[middle])]]
    pose.flags.writeable = False
    return pose


def followed_pose(robot: Robot, q: FloatArray, hint: FloatArray | None = None) -> FloatArray:
    """x (N, 4) of joint coordinates q (N, 4); NaN where the loop does not close.

    `hint` (4,) or (N, 4) is a pose nearby, for instance that of the sample before.
    """
    if hint is not None:
        return _followed(robot, q, np.array(np.broadcast_to(hint, q.shape)))
    home = home_pose(robot)
    x = _followed(robot, q, np.array(np.broadcast_to(home, q.shape)))
    size = robot.geometry.size
    for aside, ahead, turn in STARTS:
        lost = np.isnan(x[:, 0])
        if not lost.any():
            break
        start = home + np.array([aside * size, ahead * size, 0.0, turn * _tool_turns(robot)])
        x[lost] = _followed(robot, q[lost], np.array(np.broadcast_to(start, (lost.sum(), 4))))
    return x


def _followed(robot: Robot, q: FloatArray, x: FloatArray) -> FloatArray:
    """The poses of q, followed from poses x (N, 4) in the same assembly."""
    legs = limbs(robot)
    with np.errstate(all="ignore"):
        c, s = arm_directions(np, legs, columns(x))
        start = np.stack(coordinates_of(np, legs, c, s), axis=-1)
        side = np.sign(_rods(legs, start, x).inverse.determinant)
        way, turned = q - start, x[:, 3].copy()
        if not robot.linear:
            way = np.remainder(way + np.pi, 2 * np.pi) - np.pi
        far = np.nanmax(np.abs(way) / robot.radian, initial=0.0) / STRIDE
        steps = int(np.clip(np.ceil(far), 1, STEPS))
        for k in range(1, steps + 1):
            now = start + way * (k / steps)
            for _ in range(ROUNDS if k < steps else LAST):
                rods = _rods(legs, now, x)
                step = rods.inverse.solve([part / 2 for part in _open(legs, rods)])
                x = x - np.stack(np.broadcast_arrays(*step), axis=-1)
        rods = _rods(legs, q, x)
        left = np.max(np.abs(_open(legs, rods)), axis=0)
        closed = left <= CLOSED * max(robot.geometry.strut_length) ** 2
        near = np.abs(x[:, 3] - turned) <= FARTHEST * abs(_tool_turns(robot))
        x[~(closed & near & (np.sign(rods.inverse.determinant) == side))] = np.nan
    return x


def _tool_turns(robot: Robot) -> float:
    """Turns of the tool in one of the bars."""
    platform = robot.platform
    return platform.ratio if isinstance(platform, ArticulatedPlatform) else 1.0


def _rods(legs: Limbs, q: FloatArray, x: FloatArray) -> Rods:
    c, s = pairs_of(np, legs, columns(q))
    return rods_of(np, legs, c, s, columns(x))


def _open(legs: Limbs, rods: Rods) -> list[FloatArray]:
    """|s_i|^2 - l2_i^2, each (N,)."""
    pairs = zip(rods.base, legs, strict=True)
    return [rod[0] ** 2 + rod[1] ** 2 + rod[2] ** 2 - limb.l2**2 for rod, limb in pairs]
