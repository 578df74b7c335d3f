"""Poses that are followed, in every language: of joints that close no loop there is none.

Newton's method from infeasible joints ends anywhere, where roundings send it. What is answered as
good must be a pose of these joints, in the assembly and the working mode of the pose that it was
followed from, and near it. A motion that stays in reach is never refused.
"""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.exports.fmu_units import CallError, axes, needs_compiler, opened, units
from tests.exports.st_cases import controller_angles, numbered
from tests.exports.st_evaluator import instance
from tests.exports.test_platforms import code_of, robot_of

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.backends import switched_off
from deltadyn.errors import UnreachableError
from deltadyn.exports import structured_text
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.kinematics.limbs import arm_directions, limbs, rods_of
from deltadyn.robot import Robot
from deltadyn.simulation.plant.mechanism import Follower

KINDS = ("par4", "par4_rails", "heli4", "heli4_rails")
#: rad of the tool: half a turn of bars that are geared down by 2, two turns of a screw.
MOST_TURN = {"par4": 2 * math.pi, "par4_rails": 2 * math.pi}
MOST_TURN |= {"heli4": 4 * math.pi, "heli4_rails": 4 * math.pi}
APART = {"par4": 0.06, "par4_rails": 0.06, "heli4": 0.04 / (2 * math.pi)}  # m/rad: psi moves halves
APART["heli4_rails"] = APART["heli4"]
SAME_ARM = 0.03  # rad, or of the robot's size: another working mode is farther
LEGS = 4.0  # moved <= LEGS sqrt(l2 travel): twice a fold of the loops, in the norms used here


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
    return bool(sides[0] == sides[1] and moved <= LEGS * math.sqrt(l2 * travel) and turn)


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


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_python_answers_poses_of_the_joints_alone(kind: str, kernels: bool) -> None:
    robot, given = robot_of(kind), jumps(kind)

    def all_found() -> list[FloatArray | None]:
        found = [
            dd.forward_kinematics(robot, q, hint=start, unreachable="nan")
            for q, start in zip(given.q, given.start, strict=True)
        ]
        return [x if np.isfinite(x).all() else None for x in found]

    if kernels:
        check(kind, all_found())
    else:
        with switched_off():
            check(kind, all_found())
    together = dd.forward_kinematics(robot, given.q, hint=given.start, unreachable="nan")
    check(kind, [x if np.isfinite(x).all() else None for x in together])


@pytest.mark.parametrize("kind", KINDS)
def test_the_plant_follows_poses_of_the_joints_alone(kind: str) -> None:
    robot, given = robot_of(kind), jumps(kind)
    found: list[FloatArray | None] = []
    for q, start in zip(given.q, given.start, strict=True):
        follower = Follower(robot, tuple(start))
        follower.pose(tuple(dd.inverse_kinematics(robot, start)))
        try:
            found.append(np.array(follower.pose(tuple(q))))
        except (ValueError, ArithmeticError):
            found.append(None)
    check(kind, found)
    for x in (path := to_edge(kind, 5)):
        follower = follower if x is not path[0] else Follower(robot, tuple(x))
        np.testing.assert_allclose(
            follower.pose(tuple(dd.inverse_kinematics(robot, x))), x, rtol=0, atol=1e-7
        )


@pytest.mark.parametrize(
    ("kind", "precision"), [*((kind, "double") for kind in KINDS), ("par4", "float")]
)
def test_c_answers_poses_of_the_joints_alone(kind: str, precision: str) -> None:
    robot, given, code = robot_of(kind), jumps(kind), code_of(kind, precision)
    found: list[FloatArray | None] = []
    for q, start in zip(given.q, given.start, strict=True):
        status, x = code.call("forward_kinematics", controller_angles(robot, q), near=start)
        found.append(x if status == 0 else None)
        assert status == 0 or np.isnan(x).all()
    check(kind, found)
    close = 1e-9 if precision == "double" else 2e-3
    for path in (to_edge(kind, seed) for seed in range(6)):
        angles = controller_angles(robot, dd.inverse_kinematics(robot, path))
        for q, near, x in zip(angles[1:], path, path[1:], strict=False):
            status, followed = code.call("forward_kinematics", q, near=near)
            assert status == 0
            np.testing.assert_allclose(followed, x, rtol=0, atol=close)


@pytest.mark.parametrize("kind", KINDS)
def test_structured_text_answers_poses_of_the_joints_alone(kind: str) -> None:
    robot, given = robot_of(kind), jumps(kind)
    text = structured_text.files(robot, structured_text.Options(name="Own"))["Own.st"]
    forward = instance(text, "FB_Own_ForwardKinematics")
    names, found = ("X", "Y", "Z", "Psi"), list[FloatArray | None]()

    def pose() -> FloatArray:
        return np.array([getattr(forward, name) for name in names])

    for q, start, first in list(zip(given.q, given.start, given.first, strict=True))[:40]:
        forward(**numbered("Q", controller_angles(robot, first)), Reset=True)
        assert forward.Status == 0
        np.testing.assert_allclose(pose(), start, rtol=0, atol=1e-9)
        forward(**numbered("Q", controller_angles(robot, q)), Reset=False)
        found.append(pose() if forward.Status == 0 else None)
        if forward.Status != 0:  # outputs stay
            np.testing.assert_allclose(pose(), start, rtol=0, atol=1e-9)
    check(kind, found, least=4)
    for k, x in enumerate(path := to_edge(kind, 2)):
        angles = controller_angles(robot, dd.inverse_kinematics(robot, x))
        forward(**numbered("Q", angles), Reset=k == 0)
        assert forward.Status == 0
        np.testing.assert_allclose(pose(), path[k], rtol=0, atol=1e-9)


@needs_compiler
@pytest.mark.parametrize(("kind", "fmi"), [("par4", "2.0"), ("heli4_rails", "3.0")])
def test_units_answer_poses_of_the_joints_alone(kind: str, fmi: str, tmp_path: Path) -> None:
    robot, given = robot_of(kind), jumps(kind)
    found: list[FloatArray | None] = []
    with opened(units(robot, tmp_path, fmi=fmi)["inverse"]) as inverse:
        inverse.switch("from_joints", on=True)
        inverse.begin(**axes("q_ref", given.first[0]))
        for q, start, first in zip(given.q, given.start, given.first, strict=True):
            inverse.set(axes("q_ref", first))
            np.testing.assert_allclose(inverse.row("p", 4), start, rtol=0, atol=1e-9)
            found.append(_outputs(inverse, q))
        check(kind, found)
        for x in to_edge(kind, 2):
            inverse.set(axes("q_ref", dd.inverse_kinematics(robot, x)))
            np.testing.assert_allclose(inverse.row("p", 4), x, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_motion_to_the_edge_of_reach_is_followed_in_python(kind: str) -> None:
    robot = robot_of(kind)
    for path in (to_edge(kind, seed) for seed in range(20)):
        q = dd.inverse_kinematics(robot, path)
        followed = dd.forward_kinematics(robot, q[1:], hint=path[:-1])
        np.testing.assert_allclose(followed, path[1:], rtol=0, atol=1e-8)


def test_joints_of_another_working_mode_are_refused_with_the_reason() -> None:
    robot = robot_of("par4")
    x = home_pose(robot)
    inward = dd.inverse_kinematics(robot, x, elbows=("out", "out", "in", "in"))
    with pytest.raises(UnreachableError, match="no platform position closes the loop"):
        dd.forward_kinematics(robot, inward, hint=x)


def _outputs(inverse: Any, q: FloatArray) -> FloatArray | None:
    """The unit's pose of joints; None where it has a status instead."""
    inverse.set(axes("q_ref", q))
    try:
        x: FloatArray = np.array(inverse.row("p", 4))
    except CallError:  # discarded
        return None
    return x if inverse.status() == 0 else None
