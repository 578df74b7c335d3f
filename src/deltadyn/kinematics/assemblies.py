"""Forward kinematics of platforms of two halves: no closed form, followed from the home pose.

Newton's method on |a_i(x) - E_i|^2 = l2_i^2, whose slopes are 2 S, finds the assembly next to where
it starts. It starts at the home pose, or at a hint, and the joints are led from there to where they
are in steps: the platform then stays in the assembly that the robot was built in, as long as the
way crosses no singular pose. Joints that close no loop can lead Newton's method anywhere, so a pose
is good only where the loops are closed, det S has the sign that it had at the start, the inverse
kinematics gives the joints back, and the pose is near the start (`is_good`). The exports follow
poses in the same way, with the same bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import Component, FloatArray, columns
from deltadyn.backends import limbs as packed
from deltadyn.backends import run as run_kernel
from deltadyn.errors import InputError
from deltadyn.kinematics.actuation import limb_kernel
from deltadyn.kinematics.limbs import (
    Limbs,
    arm_directions,
    coordinates_of,
    limbs,
    pairs_of,
    rods_of,
)
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform
from deltadyn.robot.robot import remembered
from deltadyn.small import Vector, dot
from deltadyn.tracing import held, repeat

STEPS = 24  # from home to the joints
STRIDE = 0.05  # rad of an arm, or of its size on rails: so far Newton's method goes in one step
ROUNDS, LAST = 3, 8  # of Newton's method, on the way and at the end
SETTLED = 1e-12  # of l2^2: one step more leaves roundings alone
CLOSED = 1e-9  # of l2^2: what is left where the loop is closed
#: Of l2: how far elbows of the joints may be from those of the inverse kinematics. Next to an arm's
#: dead point a gap of `CLOSED` moves them by some 1e-4; another working mode by more than this.
ELBOW_TOLERANCE = 0.005
#: Largest moved^2 / (l2 travel), see `platform_excess`.
MAX_FOLD_RATIO = 16.0
SCREW_TURNS = 2.0  # of a tool on a screw, from a pose to one that is followed from it
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


class NewtonStep(NamedTuple):
    """The next pose; |s_i|^2 - l2_i^2 and det S, each of the pose before."""

    x: Vector
    left: Vector
    determinant: Component


Pairs = tuple[Vector, Vector]  # (c, s) of joints
Stepper = Callable[[Vector, Vector], NewtonStep]  # of q and x


def newton_step(xp: Any, legs: Limbs, c: Vector, s: Vector, x: Vector) -> NewtonStep:
    """One step of Newton's method towards the pose of pairs c, s: 2 S dx = l2_i^2 - |s_i|^2."""
    rods = rods_of(xp, legs, c, s, x)
    left = [dot(rod, rod) - limb.l2 * limb.l2 for rod, limb in zip(rods.base, legs, strict=True)]
    back = rods.inverse.solve([part / 2 for part in left])
    ahead = tuple(a - b for a, b in zip(x, back, strict=True))
    return NewtonStep(ahead, tuple(left), rods.inverse.determinant)


def followed(xp: Any, legs: Limbs, q: Vector, start: Vector, step: Stepper | None = None) -> Vector:
    """x of joint coordinates q in the assembly of the poses `start`; NaN where none is found.

    `step` may be a quicker `newton_step`. JAX differentiates the last steps alone: there the pose
    is known, and a step from it has the slope of the pose itself.
    """

    def closed_form(q: Vector, x: Vector) -> NewtonStep:
        return newton_step(xp, legs, *pairs_of(xp, legs, q), x)

    step = step or closed_form
    like = 0.0 * (q[0] + q[1] + q[2] + q[3])
    x: Any = tuple(part + like for part in start)
    start, before = x, arm_directions(xp, legs, x)
    first = coordinates_of(xp, legs, *before)
    side = xp.sign(step(first, x).determinant)
    way = tuple(b - a for a, b in zip(first, q, strict=True))
    if legs[0].turns:
        way = tuple(xp.remainder(part + np.pi, 2 * np.pi) - np.pi for part in way)
    if xp is np:
        x = _led(step, np.stack(first), np.stack(way), np.stack(x), legs)
    else:
        x = _led_on_jax(xp, step, first, way, x, like)
    end = step(q, held(xp, x))
    x = end.x if xp is np else step(q, end.x).x  # twice: second slopes are exact too
    sizes = [limb.l2 * limb.l2 for limb in legs]
    sound = xp.sign(end.determinant) == side
    for part in end.left:
        sound = sound & (xp.abs(part) <= CLOSED * sum(sizes) / len(sizes))
    sound = sound & is_good(xp, legs, before, pairs_of(xp, legs, q), start, x)
    return tuple(xp.where(sound, part, np.nan) for part in x)


def is_good(xp: Any, legs: Limbs, first: Pairs, pairs: Pairs, start: Vector, x: Vector) -> Any:
    """Whether poses x that close the loops of joints `pairs` belong to them.

    They are near poses `start` of joints `first`, and the inverse kinematics gives the joints back.
    """
    good = platform_excess(xp, legs, first, pairs, start, x) <= 0.0
    good = good & (turn_share(xp, legs.carrier, start, x) <= 1.0)
    for excess in elbow_excess(xp, legs, arm_directions(xp, legs, x), pairs):
        good = good & (excess <= 0.0)
    return good


def elbow_excess(xp: Any, legs: Limbs, back: Pairs, pairs: Pairs) -> Vector:
    """By how much elbows are farther apart than the same joints could be, per limb (m)."""
    gaps = _elbow_travel(xp, legs, back, pairs)
    return tuple(gap - ELBOW_TOLERANCE * limb.l2 for limb, gap in zip(legs, gaps, strict=True))


def platform_excess(
    xp: Any, legs: Limbs, first: Pairs, pairs: Pairs, start: Vector, x: Vector
) -> Component:
    """By how much poses x of `pairs` are too far from `start` of `first` (m^2).

    Beside a fold of the loops, which is the worst place, the platform moves as
    moved^2 = 2 R travel: `travel` of the elbows, R about the length l2 of the struts. `moved` is
    the sum of x, y, z and of what the halves move apart.
    """
    travel, strut = sum(_elbow_travel(xp, legs, first, pairs)), sum(limb.l2 for limb in legs) / 4
    dx, dy, dz, turn = (xp.abs(b - a) for a, b in zip(start, x, strict=True))
    moved = dx + dy + dz + turn_length(legs.carrier) * turn
    return moved * moved - MAX_FOLD_RATIO * strut * (travel + CLOSED * strut)


def turn_share(xp: Any, carrier: Any, start: Vector, x: Vector) -> Component:
    """The turn between poses, as a share of the farthest that can be followed.

    Bars that turned by more than half a turn are where they would be with a turn less. A screw is
    elsewhere after each turn; it is followed over `SCREW_TURNS`.
    """
    return xp.abs(x[3] - start[3]) / most_turn(carrier)


def most_turn(carrier: Any) -> Any:
    """The farthest that psi is followed from a pose (rad)."""
    if not hasattr(carrier, "rate"):
        return SCREW_TURNS * 2 * math.pi
    return math.pi / (carrier.rate * carrier.rate) ** 0.5


def _elbow_travel(xp: Any, legs: Limbs, first: Pairs, second: Pairs) -> Vector:
    """How far the elbow of each limb moves between joints (m), the sum along two directions."""
    ways = zip(legs, *first, *second, strict=True)
    return tuple(limb.lever * (xp.abs(c - a) + xp.abs(s - b)) for limb, a, b, c, s in ways)


def turn_length(carrier: Any) -> Any:
    """How far the halves move apart, or around each other, with psi (m/rad)."""
    way = (carrier.sigma_1 - carrier.sigma_2) * getattr(carrier, "rate", 1.0)
    return (way * way) ** 0.5


def _led(step: Stepper, first: FloatArray, way: FloatArray, x: FloatArray, legs: Limbs) -> Vector:
    """x (4, N) led with the joints from `first` all the `way`; the last rounds stop when closed."""
    steps = _strides(legs, way)
    pose: Any = x
    for k in range(1, steps):
        now: Any = first + way * (k / steps)
        for _ in range(ROUNDS):
            pose = step(now, pose).x
    now, least = first + way, SETTLED * min(float(np.min(limb.l2)) for limb in legs) ** 2
    for _ in range(LAST):
        found = step(now, pose)
        pose = found.x
        if not np.any(np.abs(found.left) > least):
            break
    led: Vector = pose
    return led


def _led_on_jax(xp: Any, step: Stepper, first: Vector, way: Vector, x: Vector, like: Any) -> Vector:
    """The same in one loop, which is compiled once."""

    def onward(carry: Any) -> Any:
        done, x = carry
        share = xp.minimum(xp.floor(done / ROUNDS) + 1, STEPS) / STEPS
        now = tuple(a + b * share for a, b in zip(first, way, strict=True))
        return done + 1, step(now, x).x

    led: Vector = repeat(xp, (STEPS - 1) * ROUNDS + LAST, onward, (like, x))[1]
    return led


def _strides(legs: Limbs, way: FloatArray) -> int:
    """Steps for the longest way of all samples."""
    radian = 1.0 if legs[0].turns else min(float(np.min(limb.l2)) for limb in legs) / 2
    far = np.nanmax(np.abs(way), initial=0.0) / radian / STRIDE
    return int(np.clip(np.ceil(far), 1, STEPS))


def followed_pose(robot: Robot, q: FloatArray, hint: FloatArray | None = None) -> FloatArray:
    """x (N, 4) of joint coordinates q (N, 4); NaN where the loop does not close.

    `hint` (4,) or (N, 4) is a pose nearby, for instance that of the sample before.
    """
    if hint is not None:
        return _followed(robot, q, hint)
    home = home_pose(robot)
    x = _followed(robot, q, home)
    size = robot.geometry.size
    for aside, ahead, turn in STARTS:
        lost = np.isnan(x[:, 0])
        if not lost.any():
            break
        start = home + np.array([aside * size, ahead * size, 0.0, turn * _tool_turns(robot)])
        if _side(robot, start) == _side(robot, home):
            x[lost] = _followed(robot, q[lost], start)
    return _from_neighbours(robot, q, x)


def _side(robot: Robot, x: FloatArray) -> float:
    """The sign of det S at a pose (4,), by which assemblies differ; NaN out of reach."""
    legs = limbs(robot)
    with np.errstate(invalid="ignore", divide="ignore"):
        pairs = arm_directions(np, legs, tuple(x))
        return float(np.sign(rods_of(np, legs, *pairs, tuple(x)).inverse.determinant))


def _from_neighbours(robot: Robot, q: FloatArray, x: FloatArray) -> FloatArray:
    """Rows that were not found from home, from the pose of the row beside them, as far as it leads.

    In a log a screw may have turned many times: there only the samples before lead to a pose.
    """
    gained = True
    while gained:
        lost = np.isnan(x[:, 0])
        after = np.flatnonzero(lost[1:] & ~lost[:-1]) + 1
        before = np.flatnonzero(lost[:-1] & ~lost[1:])
        rows = np.concatenate([after, before])
        if not len(rows):
            break
        found = _followed(robot, q[rows], x[np.concatenate([after - 1, before + 1])])
        good = ~np.isnan(found[:, 0])
        x[rows[good]] = found[good]
        gained = bool(good.any())
    return x


def _followed(robot: Robot, q: FloatArray, start: FloatArray) -> FloatArray:
    """The poses of q, followed from poses (4,) or (N, 4) in the same assembly."""
    begin = columns(np.array(np.broadcast_to(start, q.shape)))
    step = None
    if packed.compiled(robot):
        step = compiled_step(limb_kernel(robot, "pose_step"), packed.packed_limbs(robot), len(q))
    with np.errstate(all="ignore"):
        return np.stack(followed(np, limbs(robot), columns(q), begin, step), axis=-1)


def compiled_step(name: str, par: FloatArray, count: int) -> Stepper:
    """`newton_step` of `count` samples by the kernel of that name, for packed numbers."""

    def step(q: Vector, x: Vector) -> NewtonStep:
        given = [np.asarray(values).T for values in (x, q)]
        ahead, left, determinant = (np.empty((width, count)) for width in (4, 4, 1))
        run_kernel(name, par, given, [ahead.T, left.T, determinant.T])
        return NewtonStep(ahead, left, determinant[0])  # type: ignore[arg-type]  # rows

    return step


def _tool_turns(robot: Robot) -> float:
    """Turns of the tool in one of the bars."""
    platform = robot.platform
    return platform.ratio if isinstance(platform, ArticulatedPlatform) else 1.0
