"""Jumps and motions of robots whose pose is followed, and which answers belong to the joints.

Newton's method from infeasible joints ends anywhere, where roundings send it. What is answered as
good must be a pose of these joints, in the assembly and the working mode of the pose that it was
followed from, and near it. A motion that stays in reach is never refused.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from tests.exports.test_platforms import robot_of

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.kinematics.limbs import arm_directions, limbs, rods_of
from deltadyn.robot import Robot

KINDS = ("par4", "par4_rails", "heli4", "heli4_rails")
#: rad of the tool: half a turn of bars that are geared down by 2, two turns of a screw.
MOST_TURN = {"par4": 2 * math.pi, "par4_rails": 2 * math.pi}
MOST_TURN |= {"heli4": 4 * math.pi, "heli4_rails": 4 * math.pi}
APART = {"par4": 0.06, "par4_rails": 0.06, "heli4": 0.04 / (2 * math.pi)}  # m/rad: psi moves halves
APART["heli4_rails"] = APART["heli4"]
SAME_ARM = 0.03  # rad, or of the robot's size: another working mode is farther
#: moved <= FOLD_FACTOR sqrt(l2 travel), in the norms used here, which are wider than the code's.
FOLD_FACTOR = 5.0


class Jumps(NamedTuple):
    """Poses (N, 4) and joints (N, 4) to go to from them, most of which close no loop."""

    start: FloatArray
    first: FloatArray
    q: FloatArray


def determinants(robot: Robot, x: FloatArray) -> FloatArray:
    """det S of poses (N, 4); NaN out of reach."""
    legs, columns = limbs(robot), tuple(x.T)
    with np.errstate(all="ignore"):
        pairs = arm_directions(np, legs, columns)
        found: FloatArray = rods_of(np, legs, *pairs, columns).inverse.determinant
    return found


@lru_cache(maxsize=8)
def jumps(kind: str, count: int = 120, seed: int = 0) -> Jumps:
    """Random poses within the workspace, and joints 0.05 to 3 rad away, or as far on rails."""
    robot, rng = robot_of(kind), np.random.default_rng(seed)
    space = robot.limits.workspace
    assert space is not None
    x = rng.uniform(-1, 1, (count, 4)) * [0.7 * space.radius, 0.7 * space.radius, 0.0, 0.8]
    x[:, 2] = rng.uniform(space.z_min, space.z_max, count)
    first = dd.inverse_kinematics(robot, x)
    far = 10 ** rng.uniform(math.log10(0.05), math.log10(3.0), (count, 1)) * robot.radian[0]
    q = first + far * rng.uniform(-1, 1, (count, 4))
    if not robot.linear:
        q[:4] = [[3.0, -3.0, 1.0, -1.0], [-3.0, 3.0, 3.0, -3.0], [2.5] * 4, [-2.5] * 4]
    return Jumps(x, first, q)


def turned(robot: Robot, difference: FloatArray) -> FloatArray:
    """Joints apart, arms the shorter way around."""
    if robot.linear:
        return np.abs(difference)
    return np.abs(np.remainder(difference + np.pi, 2 * np.pi) - np.pi)


def belongs(kind: str, q: FloatArray, start: FloatArray, first: FloatArray, x: FloatArray) -> bool:
    """Whether pose x (4,) is of joints q, and can be followed from `start` of joints `first`."""
    robot = robot_of(kind)
    l2, l1 = max(robot.geometry.strut_length), 1.0 if robot.linear else robot.rotary.arm_length[0]
    back = dd.inverse_kinematics(robot, x, unreachable="nan")
    if not (turned(robot, back - q) <= SAME_ARM * robot.radian[0]).all():
        return False
    sides = np.sign(determinants(robot, np.array([start, x])))
    travel = 4 * l1 * turned(robot, q - first).max()
    moved = np.linalg.norm((x - start)[:3]) + APART[kind] * abs(x[3] - start[3])
    turn = abs(x[3] - start[3]) <= MOST_TURN[kind]
    return bool(sides[0] == sides[1] and moved <= FOLD_FACTOR * math.sqrt(l2 * travel) and turn)


def check(kind: str, found: list[FloatArray | None], least: int = 10) -> None:
    """What is answered belongs to the joints; of the jumps some are answered and some are not."""
    given = jumps(kind)
    rows = list(zip(found, given.q, given.start, given.first, strict=False))
    answered = [row for row in rows if row[0] is not None]
    assert min(len(answered), len(rows) - len(answered)) >= least
    wrong = [
        (q, x) for x, q, start, first in answered
        if x is not None and not belongs(kind, q, start, first, x)
    ]  # fmt: skip
    assert not wrong


@lru_cache(maxsize=64)
def to_edge(kind: str, seed: int) -> FloatArray:
    """Poses (N, 4) from home to the edge of reach and back, a few mm and hundredths of a rad apart.

    At the edge a strut is normal to its drive's way up to 3 %, or det S falls to 3 %.
    """
    robot, rng = robot_of(kind), np.random.default_rng(seed)
    way = rng.normal(size=4) * [1.0, 1.0, 1.0, 0.3 / APART[kind]]
    way /= np.linalg.norm(way * [1.0, 1.0, 1.0, APART[kind]])
    line = home_pose(robot) + np.linspace(0.0, 2.0, 1001)[:, None] * way
    if kind.startswith("par4"):
        line[:, 3] = np.clip(line[:, 3], -1.5, 1.5)
    levers = np.abs(margins(robot, line)).min(axis=1)
    sides = determinants(robot, line) / determinants(robot, line[:1])
    with np.errstate(invalid="ignore"):
        out = np.flatnonzero(~((levers > 0.03) & (sides > 0.03)))
    forth = line[: out[0]]
    return np.concatenate([forth, forth[::-1]])


def margins(robot: Robot, x: FloatArray) -> FloatArray:
    """s.E' of the limbs as shares of l1 l2 (N, 4): 0 where a strut is normal to its drive's way."""
    legs, columns = limbs(robot), tuple(x.T)
    with np.errstate(all="ignore"):
        c, s = arm_directions(np, legs, columns)
        local = rods_of(np, legs, c, s, columns).local
    return np.stack(
        [rod.d / (limb.lever * limb.l2) for rod, limb in zip(local, legs, strict=True)], -1
    )
