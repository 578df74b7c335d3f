"""Poses that are followed, in every language: of joints that close no loop there is none."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exports.followed_cases import KINDS, check, jumps, to_edge
from tests.exports.st_cases import controller_angles, numbered
from tests.exports.st_evaluator import instance
from tests.exports.test_platforms import code_of, robot_of

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.backends import switched_off
from deltadyn.errors import UnreachableError
from deltadyn.exports import structured_text
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.simulation.plant.mechanism import Follower


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
