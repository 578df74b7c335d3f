"""Scenarios: the moves by which Delta robots are measured and compared, on any robot.

They are laid out in shares of the robot's workspace cylinder, so each is feasible wherever the
cylinder is. The published ones are known by words and figures, not by numbers: what is ours is said
in each docstring.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.kinematics.workspace import psi_range, working_cylinder
from deltadyn.motion.arguments import check_count, check_positive, dwell_times, is_real
from deltadyn.motion.paths import BEND_SAMPLES, spline_course
from deltadyn.motion.pick_place import overlapped_gate
from deltadyn.motion.planned import Hold, Leg, Plan, PlannedMotion, line, planned, reverse
from deltadyn.motion.profiles import PROFILES
from deltadyn.robot import Robot
from deltadyn.robot.robot import remembered
from deltadyn.robot.settings import Workspace

ADEPT = (0.305, 0.025)  # m across, m up and down
ADEPT_ROOM = 0.9  # share of the cylinder that the cycle may take before it shrinks
LINE_SAMPLES = 80  # of a straight quintic, to find its peaks
RISE, OVERLAP = 0.3, 1.0  # of the quick gates: the way across begins with the lift


def adept_cycle(
    robot: Robot,
    *,
    cycles_per_minute: float | None = None,
    turn: float | None = None,
    rate: float = 2000.0,
    share: float = 1.0,
) -> PlannedMotion:
    """The Adept cycle: 25 mm up, 305 mm across, 25 mm down, and back the same way.

    It lies along x in the middle of the workspace and shrinks in proportion on a robot whose
    workspace is too small for it. Lift and drop overlap the way across. A robot with psi turns it
    by `turn` (rad, by default a quarter) there, and back. Without `cycles_per_minute` the cycle is
    as short as `share` of the robot's limits allow: 60 / motion.duration are its cycles per minute.
    """
    cylinder = working_cylinder(robot)
    psi = _turn(robot, turn)
    if cycles_per_minute is not None:
        check_positive(cycles_per_minute=cycles_per_minute)
    size = min(
        1.0,
        ADEPT_ROOM * 2 * cylinder.radius / ADEPT[0],
        ADEPT_ROOM * (cylinder.z_max - cylinder.z_min) / ADEPT[1],
    )
    width, lift = size * ADEPT[0], size * ADEPT[1]
    z = (cylinder.z_min + cylinder.z_max - lift) / 2
    a, b = _pose(robot, -width / 2, 0.0, z), _pose(robot, width / 2, 0.0, z, psi)
    there = overlapped_gate(a, b, lift, OVERLAP, RISE)
    plan = Plan((Leg(there), Leg(reverse(there))))
    duration = None if cycles_per_minute is None else 60.0 / float(cycles_per_minute)
    return planned(robot, plan, duration, rate, share)


def y1(
    robot: Robot,
    *,
    picks: int = 4,
    turn: float | None = None,
    dwell: float = 0.05,
    seed: int = 0,
    belt: float = 0.45,
    stroke: float = 0.25,
    azimuth: float = 0.0,
    duration: float | None = None,
    rate: float = 2000.0,
    share: float = 1.0,
) -> PlannedMotion:
    """Pick and place between two belts [falezza2022, Y1]: quick ways across, slow strokes down.

    Two belts run along y at `belt` of the radius on both sides of the robot; the layout is turned
    about z by `azimuth` (rad). `picks` objects lie at random (by `seed`) along 0.7 of the radius of
    the first and, on a robot with psi, at random angles up to `turn` (rad, by default a quarter);
    they go to random places of the second at angle 0. The robot hovers above a belt, goes down
    `stroke` of the workspace's height with a quarter of the acceleration, waits `dwell` (s), and up
    again. It ends where it began, along the belt. Layout and times are ours: the paper shows a
    figure without numbers.
    """
    check_count("picks", picks, 1)
    check_positive(belt=belt, stroke=stroke)
    cylinder, psi = working_cylinder(robot), _turn(robot, turn)
    _, wait = dwell_times((0.0, dwell))
    rng = _rng(seed)
    stroke_down = np.zeros(robot.dof)
    down = stroke * (cylinder.z_max - cylinder.z_min)
    stroke_down[robot.coordinates.index("z")] = -down
    ca, sa = math.cos(azimuth), math.sin(azimuth)

    def hover(across: float, beside: float, angle: float = 0.0) -> FloatArray:
        x, y = across * ca - beside * sa, across * sa + beside * ca
        return _place(robot, cylinder, x, y, 0.5, angle)

    lift = 0.4 * down
    slow = 2 * math.sqrt(down)
    quintic = PROFILES["quintic"]
    home = at = hover(belt, 0.0)
    parts: list[Leg | Hold] = []
    for side in (-belt, belt) * picks:
        angle = rng.uniform(-psi, psi) if side < 0 else 0.0
        above = hover(side, rng.uniform(-0.35, 0.35), angle)
        parts += [
            _quick_gate(at, above, lift),
            Leg(line(above, above + stroke_down, quintic), slow, LINE_SAMPLES),
            Hold(above + stroke_down, wait),
            Leg(line(above + stroke_down, above, quintic), slow, LINE_SAMPLES),
        ]
        at = above
    if not robot.planar:  # along the belt; a gate over a short way would slow down all
        parts.append(_straight(at, home))
    return planned(robot, Plan(tuple(parts)), duration, rate, share)


def y2(
    robot: Robot,
    *,
    turn: float | None = None,
    seed: int | None = None,
    ease: float = 3.5,
    duration: float | None = None,
    rate: float = 2000.0,
    share: float = 1.0,
) -> PlannedMotion:
    """High and low accelerations in the middle of the workspace [falezza2022, Y2].

    First slow gates between places 1/12 to 1/6 of the radius from the centre (5 to 10 cm on the
    D3-1200, as the paper says), then quick changes of direction along a quintic spline through
    such places, with 5 to 10 times the acceleration. Directions and times are ours: with a `seed`
    the places are drawn at random between the same radii, and `ease` is how much slower the gates
    are. A robot with psi turns it by up to `turn` (rad, by default a quarter).
    """
    check_positive(ease=ease)
    cylinder, psi = working_cylinder(robot), _turn(robot, turn)
    lift = 0.1 * (cylinder.z_max - cylinder.z_min)

    def around(places: Sequence[tuple[float, float, float, float]]) -> list[FloatArray]:
        """Places by azimuth (degrees), radius, depth and part of the turn."""
        found = []
        for k, (degrees, radius, depth, part) in enumerate(places):
            x, y = (radius * f(math.radians(degrees)) for f in (math.cos, math.sin))
            if robot.planar:  # right and left in turn
                x = radius * (-1) ** k
            found.append(_place(robot, cylinder, x, y, depth, part * psi))
        return found

    (centre,) = around([(0, 0.0, 0.6, 0.0)])
    slow_places = [(20.0, 1 / 6, 0.6, 1.0), (160, 1 / 8, 0.6, -0.5), (265, 1 / 6, 0.6, 0.5)]
    quick_places = [
        (70.0, 1 / 6, 0.7, 0.1),
        (250, 1 / 6, 0.5, -0.1),
        (10, 1 / 8, 0.6, 0.1),
        (190, 1 / 6, 0.7, -0.1),
        (310, 1 / 12, 0.5, 0.1),
        (130, 1 / 6, 0.6, -0.1),
    ]
    if seed is not None:
        rng = _rng(seed)
        slow_places, quick_places = (
            _random_places(rng, [part for *_, part in places])
            for places in (slow_places, quick_places)
        )
    slow, quick = around(slow_places), around(quick_places)
    parts: list[Leg | Hold] = []
    at = centre
    for point in (*slow, centre):
        width = float(np.linalg.norm((point - at)[:3]))
        parts.append(Leg(overlapped_gate(at, point, lift, OVERLAP, 0.45), ease * math.sqrt(width)))
        at = point
    knots = np.array([centre, *quick, centre])
    steps = np.sqrt(np.linalg.norm(np.diff(knots[:, :3], axis=0), axis=1))
    u = np.concatenate([[0.0], np.cumsum(steps)]) / steps.sum()
    course = spline_course(u, knots, 5, "rest")
    parts.append(Leg(course, float(steps.sum()), BEND_SAMPLES * (len(knots) - 1)))
    return planned(robot, Plan(tuple(parts)), duration, rate, share)


def y3(
    robot: Robot,
    *,
    dwell: float = 2.0,
    turn: float | None = None,
    seed: int | None = None,
    duration: float | None = None,
    rate: float = 2000.0,
    share: float = 1.0,
) -> PlannedMotion:
    """Stops at three places near the limits of the workspace [falezza2022, Y3].

    From the centre straight to 0.95 of the radius at azimuths of 30, 150 and 270 degrees, at 0.3,
    0.6 and 0.95 of the depth, with `dwell` seconds at each, and back to the centre. A robot with
    psi turns it by up to `turn` (rad, by default a quarter). Places and times are ours: the paper
    names three targets, high accelerations between them and stops of a few seconds. With a `seed`
    the layout is turned at random and the depths are drawn from all of the workspace.
    """
    cylinder, psi = working_cylinder(robot), _turn(robot, turn)
    _, wait = dwell_times((0.0, dwell))
    centre = _place(robot, cylinder, 0.0, 0.0, 0.5)
    ahead, depths = math.radians(30), [0.3, 0.6, 0.95]
    if seed is not None:
        rng = _rng(seed)
        ahead, depths = rng.uniform(0, 2 * math.pi), rng.uniform(0.05, 0.95, 3).tolist()
    azimuths = [ahead + k * 2 * math.pi / 3 for k in range(3)]
    targets = [
        _place(robot, cylinder, 0.95 * math.cos(a), 0.95 * math.sin(a), depth, part * psi)
        for a, depth, part in zip(azimuths, depths, (1.0, -1.0, 0.5), strict=True)
    ]
    parts: list[Leg | Hold] = []
    at = centre
    for target in targets:
        parts += [_straight(at, target), Hold(target, wait)]
        at = target
    parts.append(_straight(at, centre))
    return planned(robot, Plan(tuple(parts)), duration, rate, share)


def telescopic_gate(
    robot: Robot,
    *,
    turn: float = 0.0,
    duration: float | None = 0.6,
    rate: float = 2000.0,
    share: float = 1.0,
) -> PlannedMotion:
    """The gate of 0.6 s by which the model with a telescopic rod was simulated [telescopic2022].

    On its robot from x = -0.2 to 0.2 m at y = 0 and z = -0.8 m, up to -0.77 m, as the axes of its
    figure 7 show; on another robot in proportion to the radius, at the same share of the height.
    Lift and drop take 0.2 of the time each and overlap the way across by half of that, which meets
    the figure's peaks of 1.5 m/s across and 0.5 m/s up; the paper gives no law of motion. psi turns
    by `turn` (rad) on the way across, on a robot that has it.
    """
    cylinder = working_cylinder(robot)
    psi = _turn(robot, turn)
    size = cylinder.radius / 0.5  # m, the radius of that robot's workspace
    a = _place(robot, cylinder, -0.4, 0.0, 0.4)
    b = _place(robot, cylinder, 0.4, 0.0, 0.4, psi)
    lift = min(0.03 * size, 0.3 * (cylinder.z_max - cylinder.z_min))
    plan = Plan((Leg(overlapped_gate(a, b, lift, overlap=0.5, rise=0.2)),))
    return planned(robot, plan, duration, rate, share)


def _place(
    robot: Robot, cylinder: Workspace, x: float, y: float, depth: float, psi: float = 0.0
) -> FloatArray:
    """A position (dof,): x, y in radii of the cylinder, depth from its top (0) to its floor (1)."""
    z = cylinder.z_max - depth * (cylinder.z_max - cylinder.z_min)
    return _pose(robot, x * cylinder.radius, y * cylinder.radius, z, psi)


def _pose(robot: Robot, x: float, y: float, z: float, psi: float = 0.0) -> FloatArray:
    """The pose (dof,) in the robot's coordinates; y is left out in a plane."""
    values = {"x": x, "y": y, "z": z, "psi": psi}
    return np.array([values[name] for name in robot.coordinates])


def _random_places(
    rng: np.random.Generator, parts: Sequence[float]
) -> list[tuple[float, float, float, float]]:
    """Azimuth (degrees), radius and depth near the centre, each across from the one before."""
    degrees = rng.uniform(0, 360)
    places = []
    for part in parts:
        degrees += rng.uniform(90, 270)
        places.append((degrees, rng.uniform(1 / 12, 1 / 6), rng.uniform(0.4, 0.7), part))
    return places


def _quick_gate(a: FloatArray, b: FloatArray, lift: float) -> Leg:
    """An overlapped gate whose time grows with the root of its width."""
    width = float(np.linalg.norm((b - a)[:3]))
    return Leg(overlapped_gate(a, b, lift, OVERLAP, RISE), math.sqrt(width))


def _straight(a: FloatArray, b: FloatArray) -> Leg:
    """A straight move whose time grows with the root of its length."""
    length = float(np.linalg.norm((b - a)[:3]))
    return Leg(line(a, b, PROFILES["quintic"]), math.sqrt(length))


def _turn(robot: Robot, turn: float | None) -> float:
    """The turn of psi (rad): a quarter by default, none on a robot without psi.

    Where limbs carry psi the default is no more than half of what they reach in all the workspace.
    """
    if turn is None:
        return _quarter(robot) if robot.turns else 0.0
    if not is_real(turn):
        raise InputError("turn", turn, "a number of rad")
    if not robot.turns and turn != 0:
        names = ", ".join(robot.coordinates)
        allowed = f"0 rad: robot {robot.name!r} has no psi, its robot.coordinates are {names}"
        raise InputError("turn", turn, allowed)
    return float(turn)


@remembered
def _quarter(robot: Robot) -> float:
    if robot.spindle is not None:
        return math.pi / 2
    halves = [abs(float(end)) / 2 for end in psi_range(robot)]
    return min([math.pi / 2, *(half for half in halves if math.isfinite(half))])


def _rng(seed: object) -> np.random.Generator:
    check_count("seed", seed, 0)
    return np.random.default_rng(seed)  # type: ignore[arg-type]
