"""Planar, articulated and helical platforms against closed trees in MuJoCo and Pinocchio.

DELTADYN_FAMILY_STATES sets the number of states of each robot; 1000 is the full comparison.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tests.family.robots import make
from tests.family.test_engines import worst
from tests.reference.family import KINDS, Member, States, random_member, states
from tests.reference.family.convert import THREE_LIMBS, Converted, to_robot
from tests.reference.family.stored import stored_states

import deltadyn as dd
from deltadyn.dynamics import power_balance
from deltadyn.errors import DeltadynError, InputError, RobotError, UnreachableError
from deltadyn.kinematics import jacobian_rate
from deltadyn.kinematics.assemblies import _from_neighbours, home_pose
from deltadyn.kinematics.limbs import limbs, rods_of
from deltadyn.robot.bodies import ArticulatedPlatform, HelicalPlatform, PlanarPlatform

STATES = int(os.environ.get("DELTADYN_FAMILY_STATES", "100"))
AGREEMENT = 1e-11
OTHERS = [kind for kind in KINDS if kind not in THREE_LIMBS]
#: Base parameters that a motion shows, of all columns: family.md's table, per limb.
RANKS = {
    "planar rotary": (9, 9),
    "planar linear": (7, 7),
    "par4 k=1": (20, 22),
    "par4 k=2": (22, 22),
    "par4 k=4": (22, 22),
    "par4 k=-2": (22, 22),
    "par4 inclined k=3": (22, 22),
    "par4 rails k=2": (18, 18),
    "heli4 rotary": (21, 21),
    "heli4 rails": (17, 17),
}


class Case(NamedTuple):
    member: Member
    converted: Converted
    reference: States
    state: dd.State


@pytest.fixture(
    scope="module",
    params=[(kind, engine) for kind in OTHERS for engine in ("mujoco", "stored")],
    ids=", ".join,
)
def case(request: pytest.FixtureRequest) -> Case:
    kind, engine = request.param
    member = random_member(kind, 0, equal=False)
    converted = to_robot(member)
    if engine == "stored":
        found = stored_states(kind, 0, False)
    else:
        found = states(member, STATES, 7, engine)
    motion = found.x, found.xd, found.xdd
    state = dd.State.from_platform(converted.robot, *motion, elbows=converted.elbows)
    return Case(member, converted, found, state)


def test_kinematics(case: Case) -> None:
    robot, elbows, zero = case.converted
    given, found = case.reference, case.state
    difference = found.q - given.q - zero
    if not robot.linear:
        difference -= 2 * np.pi * np.round(difference / (2 * np.pi))
    assert np.max(np.abs(difference)) < 1e-13
    assert worst(found.qd, given.qd) < AGREEMENT
    assert worst(found.qdd, given.qdd) < AGREEMENT
    assert worst(dd.jacobian(robot, given.x, elbows=elbows), given.J) < AGREEMENT
    Jd = jacobian_rate(robot, given.x, given.xd, elbows=elbows)
    pdd = np.einsum("nij,nj->ni", given.J, given.qdd) + np.einsum("nij,nj->ni", Jd, given.qd)
    assert worst(pdd, given.xdd) < 1e-9  # a short lead makes much of rounding


def test_forward_kinematics_stays_in_the_assembly_of_the_home_pose(case: Case) -> None:
    robot, _, zero = case.converted
    q = case.reference.q + zero
    found = dd.forward_kinematics(robot, q, unreachable="nan")
    same = np.ones(len(q), dtype=bool)
    if robot.dof == 4:  # the engine's states may lie beyond a singular pose
        home = home_pose(robot)[None]
        same = np.sign(_volume(robot, case.state.p)) == np.sign(_volume(robot, home))
    assert same.mean() > 0.7
    assert np.max(np.abs(found[same] - case.reference.x[same])) < 1e-9
    if robot.dof == 4:
        near = case.reference.x + 0.01
        hinted = dd.forward_kinematics(robot, q, hint=near)
        assert np.max(np.abs(hinted - case.reference.x)) < 1e-9
    rates = case.reference.qd[same], case.reference.qdd[same]
    back = dd.State.from_joints(robot, q[same], *rates)
    assert worst(back.pd, case.reference.xd[same]) < 1e-9
    assert worst(back.pdd, case.reference.xdd[same]) < 1e-9


def _volume(robot: dd.Robot, p: np.ndarray) -> np.ndarray:
    state = dd.State.from_platform(robot, p)
    parts = (tuple(array.T) for array in (state.cos_q, state.sin_q, state.p))
    found: np.ndarray = rods_of(np, limbs(robot), *parts).inverse.determinant
    return found


def test_torque_and_terms(case: Case) -> None:
    robot, given, found = case.converted.robot, case.reference, case.state
    assert worst(dd.inverse_dynamics(robot, found), given.tau) < AGREEMENT
    terms = dd.equations_of_motion(robot, found)
    assert worst(terms.M, given.M) < AGREEMENT
    assert worst(terms.c, given.c) < AGREEMENT
    assert worst(terms.g, given.g) < AGREEMENT


@pytest.mark.full
def test_the_other_engine(case: Case) -> None:
    robot, elbows, _ = case.converted
    given = states(case.member, STATES // 5, 11, "pinocchio")
    found = dd.State.from_platform(robot, given.x, given.xd, given.xdd, elbows=elbows)
    assert worst(dd.inverse_dynamics(robot, found), given.tau) < AGREEMENT


def test_external_force_and_forward_dynamics(case: Case) -> None:
    robot, given = case.converted.robot, case.reference
    push = np.array([13.0, -7.0, 21.0, 1.5])[: robot.dof]
    tau = dd.inverse_dynamics(robot, case.state, external_force=push)
    expected = given.tau - np.einsum("nji,j->ni", given.J, push)
    assert worst(tau, expected) < AGREEMENT
    p = dd.forward_kinematics(robot, case.state.q, unreachable="nan")
    own = np.abs(p - given.x).max(axis=1) < 1e-9
    motion = case.state.q[own], given.qd[own], tau[own]
    qdd = dd.forward_dynamics(robot, *motion, external_force=push)
    assert worst(qdd, given.qdd[own]) < 1e-9


def test_regressor(case: Case) -> None:
    robot, given = case.converted.robot, case.reference
    rows = dd.regressor(robot, case.state)
    assert worst(rows.Y @ rows.parameters, given.tau) < AGREEMENT
    if case.member.kind in RANKS:
        inertial = [k for k, name in enumerate(rows.names) if not name.startswith("F")]
        columns = rows.Y[:, :, inertial].reshape(-1, len(inertial))
        columns = columns / np.linalg.norm(columns, axis=0)
        rank, count = RANKS[case.member.kind]
        assert len(inertial) == count
        assert np.linalg.matrix_rank(columns, tol=1e-8) == rank


def test_power(case: Case) -> None:
    robot, given = case.converted.robot, case.reference
    power = power_balance(robot, case.state, given.tau)
    assert np.max(np.abs(power.residual)) < AGREEMENT * np.max(np.abs(power.drives))


def test_skew(case: Case) -> None:
    """qd.(Md - 2C) qd = 0 for any qd, with Md by a central difference along the motion."""
    robot, elbows, _ = case.converted
    state, h = case.state, 1e-6
    ahead, behind = (
        dd.equations_of_motion(
            robot, dd.State.from_platform(robot, state.p + s * h * state.pd, elbows=elbows)
        ).M
        for s in (1, -1)
    )
    N = (ahead - behind) / (2 * h) - 2 * dd.equations_of_motion(robot, state).C
    rate = np.abs(N + np.swapaxes(N, 1, 2)).max() / np.abs(ahead).max()  # 1/s
    assert rate < 1e-5


def test_the_skeleton_closes(case: Case) -> None:
    robot, elbows, _ = case.converted
    bones = dd.kinematics.skeleton(robot, case.state.p[0], elbows=elbows)
    lengths = np.linalg.norm(bones.joints - bones.elbows, axis=1)
    np.testing.assert_allclose(lengths, robot.geometry.strut_length, rtol=1e-12)


def test_bad_platforms() -> None:
    member = random_member("par4 k=2", 0)
    robot = to_robot(member).robot
    with pytest.raises(RobotError, match=r"platform\.ratio"):
        ArticulatedPlatform((1.0, 1.0), 0.1, ratio=0.0)
    with pytest.raises(RobotError, match=r"platform\.lead"):
        HelicalPlatform((1.0, 1.0), 0.0)
    with pytest.raises(RobotError, match="two limbs"):
        robot.replace(platform=PlanarPlatform(1.0))
    flat = to_robot(random_member("planar rotary", 0)).robot
    with pytest.raises(RobotError, match="four limbs"):
        flat.replace(platform=robot.platform)
    with pytest.raises(UnreachableError):
        dd.inverse_kinematics(robot, [10.0, 0.0, 0.0, 0.0])


def test_bars_nearly_across_are_nearly_singular_at_home() -> None:
    """With the bars turned by 75 degrees the halves can nearly swing while the drives stand."""
    robot = to_robot(random_member("par4 k=1", 0, equal=True)).robot
    platform = robot.platform
    assert isinstance(platform, ArticulatedPlatform)
    home = home_pose(robot)[None]
    right = abs(float(_volume(robot, home)[0]))
    from dataclasses import replace

    turned = replace(platform, phi0=platform.phi0 + np.radians(75.0))
    assert abs(float(_volume(robot.replace(platform=turned), home)[0])) < 0.4 * right
    across = replace(platform, phi0=platform.phi0 + np.pi / 2)
    with pytest.raises(RobotError, match=r"platform\.phi0 is .* lie across"):
        robot.replace(platform=across)


@pytest.mark.parametrize(("kind", "target"), [("par4 k=2", "sheets")])
def test_exports_refuse_what_their_code_does_not_hold(
    kind: str, target: str, tmp_path: Path
) -> None:
    robot = to_robot(random_member(kind, 0)).robot
    with pytest.raises(InputError, match=rf"kind of robot for target '{target}' is .* with"):
        dd.export(robot, target, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_no_sheet_holds_arms_that_stand_far_off_their_places(tmp_path: Path) -> None:
    robot = to_robot(random_member("rotary inclined", 0)).robot
    with pytest.raises(DeltadynError, match="no sheet can be written"):
        dd.export(robot, "sheets", tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["par4", "heli4_rails"])
def test_samples_that_are_not_found_are_followed_from_those_beside_them(kind: str) -> None:
    robot = make(kind)
    way = np.linspace(0.0, 1.0, 12)[:, None]
    x = home_pose(robot) + way * np.array([0.02, -0.03, 0.02, 0.3])
    q = dd.inverse_kinematics(robot, x)
    lost = x.copy()
    lost[[0, 1, 4, 7, 8, 11]] = np.nan  # at both ends, alone, in a row
    np.testing.assert_allclose(_from_neighbours(robot, q, lost), x, rtol=0, atol=1e-9)
    nothing = np.full_like(x, np.nan)
    assert np.isnan(_from_neighbours(robot, q, nothing)).all()
