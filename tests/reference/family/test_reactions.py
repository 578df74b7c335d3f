"""Reactions of every kind of robot against those of MuJoCo, in all joints of a closed tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.dynamics.factory import make_robot as make_delta
from tests.family import random_robots
from tests.family.robots import KINDS as RAIL_KINDS
from tests.family.robots import OTHER_PLATFORMS, make
from tests.reference.engines.spec import Array

import deltadyn as dd
from deltadyn.dynamics import ConstraintLoads, constraint_loads
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform, HelicalPlatform, Payload
from deltadyn.robot.settings import PassiveFriction

from . import poses
from .from_robot import SPACING, to_member, wheel_spin
from .members import Member
from .reactions import Reactions, joint_reactions

STATES = 12
# Relative to the largest value of a reaction. Both sides close the loops in double precision: 1e-13
# is usual, a screw of small lead that struts drive leaves 1e-12.
AGREEMENT = 1e-10
SMALL = 1e-3
Z = np.array([0.0, 0.0, 1.0])


def calibrated(robot: Robot, seed: int) -> Robot:
    """The robot with limbs of their own, by about what a calibration gives: 1 mm and 0.3 deg."""
    rng, g = np.random.default_rng(seed), robot.geometry
    prefix = "rail" if robot.linear else "shoulder"
    kinds = [("base_radius", 1e-3), ("strut_length", 1e-3), (f"{prefix}_height", 1e-3)]
    if not robot.planar:
        angles = ("rail_pitch", "rail_roll") if robot.linear else ("axis_yaw", "axis_roll")
        kinds += [(f"{prefix}_tangential", 1e-3), *((name, 5e-3) for name in angles)]
    if not robot.linear:
        kinds.append(("arm_length", 1e-3))
    changes: dict[str, Any] = {
        name: tuple(np.asarray(getattr(g, name)) + rng.normal(0.0, size, robot.legs))
        for name, size in kinds
    }
    return robot.replace(geometry=replace(g, **changes))


def spaced(robot: Robot) -> Robot:
    if robot.geometry.rod_spacing is not None:
        return robot
    return robot.replace(geometry=replace(robot.geometry, rod_spacing=SPACING))


def robots() -> Iterator[tuple[str, Robot]]:
    """Robots of every kind: made up, drawn, of the catalogue, calibrated."""
    for dof in (3, 4):
        yield f"delta {dof}-dof", make_delta(dof, False)
    for kind in (*RAIL_KINDS, *OTHER_PLATFORMS):
        yield kind, make(kind)
    for kind in random_robots.KINDS:
        for spindle in (False, True):
            name = f"random {kind}" + (" with a spindle" if spindle else "")
            yield name, random_robots.make_robot(kind, 3, spindle=spindle)
    for name in dd.robot_names():
        yield name, dd.load_robot(name)
    for seed, name in enumerate(
        ("sipro-d3-1200", "abb-irb360-6-1600", "kossel-2016", "codian-d2-like",
         "robnux-quattro", "veloce-like")
    ):  # fmt: skip
        yield f"{name}, calibrated", calibrated(dd.load_robot(name), seed)


ROBOTS = dict(robots())


class Case(NamedTuple):
    robot: Robot
    member: Member
    engine: Reactions
    state: dd.State
    loads: ConstraintLoads


@pytest.fixture(scope="module", params=list(ROBOTS))
def case(request: pytest.FixtureRequest) -> Case:
    return make_case(ROBOTS[request.param])


def make_case(robot: Robot, drag: tuple[PassiveFriction, ...] = ()) -> Case:
    """Motions of a robot in MuJoCo and its loads by the library."""
    robot = spaced(robot).with_friction(passive=drag)
    if robot.payload.mass == 0:
        robot = robot.replace(payload=Payload(0.5, (0.02, -0.03, -0.05), 1e-3))
    member = to_member(robot)
    joints = {
        "prismatic": ("stroke",),
        "universal_fork": ("upper fork", "lower fork"),
        "universal_cross": ("upper cross", "lower cross"),
    }
    friction = {name: (item.viscous, item.coulomb) for item in drag for name in joints[item.joint]}
    engine = joint_reactions(member, STATES, 5, friction)
    state = dd.State.from_platform(robot, engine.x, engine.xd, engine.xdd)
    return Case(robot, member, engine, state, constraint_loads(robot, state))


def errors(case: Case) -> dict[str, float]:
    """Largest difference of each reaction over its largest value.

    A reaction that is small, or zero by construction, counts against SMALL of the forces of the
    struts, or of their moment about a strut's length.
    """
    found: dict[str, float] = {}
    force = float(np.max(np.abs(case.loads.platform)))
    moment = force * float(np.mean(case.robot.geometry.strut_length))

    def compare(name: str, ours: Array | None, engine: Array, natural: float) -> None:
        assert ours is not None, name
        assert ours.shape == engine.shape, name
        largest = float(np.max(np.abs(engine)))
        found[name] = float(np.max(np.abs(ours - engine)) / max(largest, SMALL * natural))

    robot, engine, loads = case.robot, case.engine, case.loads
    legs, joints = robot.legs, engine.joints
    tips, points = rod_tips(case)
    starts = np.stack(
        [[joints[f"rod {i}{k}"].force for k in range(2)] for i in range(legs)]
    ).transpose(2, 0, 1, 3)
    compare("force at the platform", loads.platform, tips.sum(axis=2), force)
    compare("force at the elbow", loads.elbow, starts.sum(axis=2), force)

    pins = np.array([np.cross(frame.z, frame.x) for frame in robot.geometry.frames])
    u = (points.mean(axis=2) - elbows(case)) / np.asarray(robot.geometry.strut_length)[:, None]
    from_pairs = np.cross(points - points.mean(axis=2, keepdims=True), -tips).sum(axis=2)
    if legs == 3 or isinstance(robot.platform, HelicalPlatform):
        assert loads.couple is not None
        couples = loads.couple[..., None] * np.cross(np.broadcast_to(pins, u.shape), u)
        compare("couple", -couples, from_pairs, moment)
        assert loads.rods is not None
        # rod 1 of the library stands at +t, of the member at -t
        compare("force at each ball, platform", loads.rods.platform, tips[:, :, ::-1], force)
        compare("force at each ball, elbow", loads.rods.elbow, starts[:, :, ::-1], force)
    else:
        for value in (loads.couple, loads.rods, loads.shoulder_moment):
            assert value is None
    rows = [1] if robot.planar else [0, 1, 2]
    total = from_pairs.sum(axis=1)
    total[:, 2] -= wheel_spin(robot, engine.xdd[:, -1])
    compare("moment of all pairs", loads.platform_moment[:, rows], total[:, rows], moment)

    _compare_shoulders(case, compare, u, pins, (force, moment))
    if robot.spindle is not None:
        _compare_spindle(case, compare, (force, moment))
    else:
        flange = joints["tool"] if robot.turns else engine.flange
        assert flange is not None
        compare("force on the tool", loads.tool_force, flange.force, force)
        compare("moment on the tool", loads.tool_moment, flange.moment, moment)
    if isinstance(robot.platform, ArticulatedPlatform | HelicalPlatform):
        compare("force on the halves", loads.halves, half_forces(case), force)
    if isinstance(robot.platform, HelicalPlatform):
        assert loads.nut_torque is not None
        # the member's nuts: of the tool in half 1, and of half 2 against the tool
        turned = joints["tool"].moment[:, 2]
        compare("torque of the nuts", loads.nut_torque.sum(axis=1), turned, moment)
    return found


def _compare_shoulders(case: Case, compare: Any, u: Array, pins: Array, scale: Any) -> None:
    robot, loads, joints = case.robot, case.loads, case.engine.joints
    name = "carriage" if robot.linear else "arm"
    wrenches = [joints[f"{name} {i}"] for i in range(robot.legs)]
    force = np.stack([item.force for item in wrenches], axis=1)
    moment = np.stack([item.moment for item in wrenches], axis=1)
    if robot.linear:
        along = np.array([frame.z for frame in robot.geometry.frames])
        force = force - np.sum(force * along, axis=2, keepdims=True) * along
    else:
        moment = moment - np.sum(moment * pins, axis=2, keepdims=True) * pins
        if robot.planar:  # the rod along the arm stands on the base as well
            holders = [joints[f"holder {i}"].force for i in range(robot.legs)]
            force = force + np.stack(holders, axis=1)
    compare("force at the shoulder", loads.shoulder_force, force, scale[0])
    seen = u - np.sum(u * pins, axis=2, keepdims=True) * pins
    seen = seen / np.linalg.norm(seen, axis=2, keepdims=True)
    compare("tilt at the shoulder", loads.shoulder_tilt, np.sum(moment * seen, axis=2), scale[1])
    if loads.shoulder_moment is not None:
        compare("moment at the shoulder", loads.shoulder_moment, moment, scale[1])


def _compare_spindle(case: Case, compare: Any, scale: Any) -> None:
    joints, spindle = case.engine.joints, case.loads.spindle
    assert spindle is not None
    upper, slide, lower = (joints[name] for name in ("upper", "lower", "effector"))
    force, moment = scale
    compare("spindle, upper joint, force", spindle.upper_force, upper.force, force)
    compare("spindle, upper joint, moment", spindle.upper_moment, upper.moment, moment)
    compare("spindle, telescope, force", spindle.slide_force, slide.force, force)
    compare("spindle, telescope, moment", spindle.slide_moment, slide.moment, moment)
    compare("spindle, lower joint, force", spindle.lower_force, -lower.force, force)
    compare("spindle, lower joint, moment", spindle.lower_moment, -lower.moment, moment)
    bearing = next(
        loop
        for loop, meet in zip(case.engine.loops, case.engine.tree.meets, strict=False)
        if meet.first == "tool"
    )
    turns = sum(loop.moment for loop in case.engine.loops[len(case.engine.tree.meets) :])
    compare("spindle, bearing, force", spindle.bearing_force, bearing.force, force)
    compare("spindle, bearing, moment", spindle.bearing_moment, turns, moment)
    lever = case.robot.spindle.lower_joint_z * Z if case.robot.spindle else Z
    about_p = lower.moment + np.cross(np.broadcast_to(lever, lower.force.shape), lower.force)
    compare("force on the tool", case.loads.tool_force, lower.force + bearing.force, force)
    compare("moment on the tool", case.loads.tool_moment, about_p + turns, moment)


def rod_tips(case: Case) -> tuple[Array, Array]:
    """Forces of the platform on each rod (N, legs, 2, 3), and where, from the platform point."""
    tree, robot = case.engine.tree, case.robot
    count, legs = len(case.state), robot.legs
    forces, points = np.empty((2, count, legs, 2, 3))
    p, held = robot.in_space(case.engine.x), poses.attachments(case.member, case.engine.x)
    for loop, meet in zip(case.engine.loops, tree.meets, strict=False):
        if meet.first.startswith("rod "):
            i, k = map(int, meet.first.removeprefix("rod "))
            forces[:, i, k] = loop.force
            shift = (k - 0.5) * case.member.struts[i].pair
            points[:, i, k] = held[:, i] + shift - p
    return forces, points


def elbows(case: Case) -> Array:
    """Elbows (N, legs, 3) from the platform point."""
    return poses.elbows(case.member, case.engine.q) - case.robot.in_space(case.engine.x)[:, None]


def half_forces(case: Case) -> Array:
    """What joins the halves puts on each of them: all links and loops but the rods."""
    tree, out = case.engine.tree, []
    for half in ("half 1", "half 2"):
        force = case.engine.joints[half].force.copy()
        for link in tree.links:
            if link.parent == half:
                force -= case.engine.joints[link.name].force
        for loop, meet in zip(case.engine.loops, tree.meets, strict=False):
            if not meet.first.startswith("rod "):
                force += (float(meet.first == half) - float(meet.second == half)) * loop.force
        out.append(force)
    return np.stack(out, axis=1)


def test_reactions_are_those_of_mujoco(case: Case) -> None:
    assert len(case.state) == STATES
    wrong = {name: error for name, error in errors(case).items() if not error < AGREEMENT}
    assert not wrong


def test_friction_in_the_spindle() -> None:
    """Friction in its five joints changes what they pass on, as MuJoCo has it."""
    drag = tuple(
        PassiveFriction(name, 0.05 + 0.02 * k, 0.3 + 0.1 * k)
        for k, name in enumerate(("prismatic", "universal_fork", "universal_cross"))
    )
    for name in ("delta 4-dof", "random standard with a spindle"):
        rubbing, smooth = make_case(ROBOTS[name], drag), make_case(ROBOTS[name])
        assert max(errors(rubbing).values()) < AGREEMENT
        one, two = rubbing.loads.spindle, smooth.loads.spindle
        assert one is not None
        assert two is not None
        along = np.sum(one.slide_force * one.direction, axis=1)
        assert np.min(np.abs(along)) > 0.29  # the guide drags at least with its Coulomb friction
        assert np.max(np.abs(np.sum(two.slide_force * two.direction, axis=1))) < 1e-10
        moved = one.upper_moment - two.upper_moment
        assert np.max(np.abs(moved)) > 0.3


def test_the_drive_of_the_tool_turns_the_upper_joint() -> None:
    """tau_4 = rotor + moment of the base on the upper rod about the vertical."""
    for name in ("delta 4-dof", "example-delta-4", "telescopic-delta"):
        case = make_case(ROBOTS[name])
        spindle, tau = case.loads.spindle, case.engine.tau[:, 3]
        assert spindle is not None
        turned = spindle.upper_moment[:, 2]
        turned = turned + case.robot.drives.output_inertia[3] * case.engine.qdd[:, 3]
        assert np.max(np.abs(turned - tau)) < AGREEMENT * np.max(np.abs(tau))


def test_what_is_not_determined_is_named() -> None:
    for name, robot in ROBOTS.items():
        x = joint_reactions(to_member(robot), 1, 0).x
        loads = constraint_loads(robot, dd.State.from_platform(robot, x))
        fields = ("couple", "rods", "shoulder_moment")
        missing = {field for field in fields if getattr(loads, field) is None}
        assert missing == set(loads.undetermined), name


@pytest.mark.parametrize("name", ["planar", "beam", "par4", "par4_rails"])
def test_statics_leaves_couples_open_and_forces_not(name: str) -> None:
    """Loads that balance among the loops change the couples of pairs and no sum of two rods."""
    case = make_case(ROBOTS[name])
    idle = case.engine.idle
    assert idle.shape[2] > 0
    _, points = rod_tips(case)
    force, couple = np.zeros((2, len(idle), case.robot.legs, 3, idle.shape[2]))
    row = 0
    for meet in case.engine.tree.meets:
        rows = idle[:, row : row + len(meet.along)]
        row += len(meet.along)
        if not meet.first.startswith("rod "):
            continue
        i, k = map(int, meet.first.removeprefix("rod "))
        pushed = np.einsum("kc,nkj->ncj", meet.along, rows)
        force[:, i] += pushed
        arm = points[:, i, k] - points[:, i].mean(axis=1)
        couple[:, i] += np.cross(arm[..., None], pushed, axis=1)
    assert np.max(np.abs(force)) < 1e-9
    assert np.max(np.abs(couple)) > 1e-3
    assert np.max(np.abs(couple.sum(axis=1))) < 1e-9


def kind_of(robot: Robot) -> str:
    """The columns of the table in docs/sizing.md."""
    if robot.planar:
        return "planar"
    if robot.legs == 4:
        return "Par4" if isinstance(robot.platform, ArticulatedPlatform) else "Heli4"
    return ("rails" if robot.linear else "arms") + (", spindle" if robot.spindle else "")


def worst_by_kind() -> dict[str, dict[str, float]]:
    """The largest error of each reaction over the robots of each kind."""
    worst: dict[str, dict[str, float]] = {}
    for robot in ROBOTS.values():
        found = worst.setdefault(kind_of(robot), {})
        for name, error in errors(make_case(robot)).items():
            found[name] = max(error, found.get(name, 0.0))
    return worst


def print_table() -> None:
    """Reaction by kind, as Markdown."""
    worst = worst_by_kind()
    names = list(dict.fromkeys(name for found in worst.values() for name in found))
    print("| reaction |", " | ".join(worst), "|")
    print("|---" * (len(worst) + 1) + "|")
    for name in names:
        cells = [f"{found[name]:.0e}" if name in found else "-" for found in worst.values()]
        print(f"| {name} |", " | ".join(cells), "|")


if __name__ == "__main__":
    print_table()
