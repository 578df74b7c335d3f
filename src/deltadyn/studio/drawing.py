"""The robot and its workspace as triangles.

A part's shape is made once; a pose moves and turns it. So a page that shows the robot gets a few
numbers per pose and no new shapes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull

from deltadyn.arrays import FloatArray
from deltadyn.kinematics.struts import Skeleton, arm_axes, attachments_of, skeleton
from deltadyn.kinematics.workspace import ring_faces, working_cylinder
from deltadyn.report.picture import (
    bar_hinge,
    drawn_rails,
    drawn_spacing,
    half_centres,
    has_brackets,
    rods_apart,
    screw_room,
)
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform, HelicalPlatform

# Small solid shapes as triangles, and the rotations that put them in their place.


SIDES = 16  # of a round bar
LAYERS, MOST_TURNS = 16, 12  # of a screw: layers of a turn, and turns that are drawn


@dataclass(frozen=True, eq=False)
class Shape:
    """Triangles: vertices (V, 3) in m and faces (F, 3), anticlockwise seen from outside."""

    vertices: FloatArray
    faces: npt.NDArray[np.int64]

    def __add__(self, other: Shape) -> Shape:
        faces = np.concatenate([self.faces, other.faces + len(self.vertices)])
        return Shape(np.concatenate([self.vertices, other.vertices]), faces)

    def moved(self, offset: npt.ArrayLike) -> Shape:
        """The same shape elsewhere (m)."""
        return Shape(self.vertices + np.asarray(offset, dtype=float), self.faces)

    def turned(self, rotation: FloatArray) -> Shape:
        """The same shape turned by a rotation matrix (3, 3) about the origin."""
        return Shape(self.vertices @ rotation.T, self.faces)

    @property
    def volume(self) -> float:
        """What a closed shape holds (m^3)."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return float((a * np.cross(b, c)).sum() / 6)

    @property
    def area(self) -> float:
        """The area of all triangles (m^2)."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)


def prism(outline: npt.ArrayLike, top: npt.ArrayLike, low: float, high: float) -> Shape:
    """A solid between the polygon `outline` (n, 2) at z = low and `top` (n, 2) at z = high.

    Both are convex and run anticlockwise. The ends have their own vertices, so that edges look
    sharp in a viewer that smooths normals over shared vertices.
    """
    below, above = np.asarray(outline, dtype=float), np.asarray(top, dtype=float)
    count = len(below)
    rings = [
        np.column_stack([below, np.full(count, low)]),
        np.column_stack([above, np.full(count, high)]),
    ]
    here = np.arange(count)
    there = (here + 1) % count
    sides = [
        np.stack([here, there, count + there], axis=-1),
        np.stack([here, count + there, count + here], axis=-1),
    ]
    fan = np.stack([np.zeros(count - 2, int), here[1:-1], here[2:]], axis=-1)
    caps = [fan[:, ::-1] + 2 * count, fan + 3 * count]
    return Shape(np.concatenate([*rings, *rings]), np.concatenate([*sides, *caps]))


def bar(length: float, radius: float, end_radius: float | None = None) -> Shape:
    """A round bar from the origin along +z; it tapers to `end_radius` (all in m)."""
    around = np.arange(SIDES) * (2 * math.pi / SIDES)
    circle = np.stack([np.cos(around), np.sin(around)], axis=-1)
    return prism(circle * radius, circle * (end_radius or radius), 0.0, length)


def box(length: float, width: float, depth: float, end: float = 1.0) -> Shape:
    """A box along +z, `width` in x and `depth` in y (m), `end` times as large at its end."""
    half = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * np.array([width, depth]) / 2
    return prism(half, half * end, 0.0, length)


def plate(points: npt.ArrayLike, low: float, high: float) -> Shape:
    """A plate over the convex hull of points (n, 2 or 3) in the plane, from z = low to high."""
    flat = np.asarray(points, dtype=float)[:, :2]
    outline = flat[ConvexHull(flat).vertices]  # anticlockwise
    return prism(outline, outline, low, high)


def twisted(length: float, width: float, pitch: float) -> Shape:
    """A square bar along +z that winds once per `pitch`: a screw (all in m)."""
    turns = min(length / abs(pitch), MOST_TURNS)
    layers = max(round(turns * LAYERS), 1) + 1
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * width / 2
    angle = math.copysign(2 * math.pi * turns, pitch) * np.linspace(0, 1, layers)
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    x, y = corners.T
    z = np.broadcast_to(np.linspace(0, length, layers)[:, None], (layers, 4))
    rings = np.stack([c * x - s * y, s * x + c * y, z], axis=-1)
    ends = np.array([[0, 2, 1], [0, 3, 2]]), np.array([[0, 1, 2], [0, 2, 3]]) + 4 * (layers - 1)
    return Shape(rings.reshape(-1, 3), np.concatenate([ring_faces(layers, 4), *ends]))


def frame_along(direction: npt.ArrayLike, side: npt.ArrayLike) -> FloatArray:
    """Rotation matrix (3, 3) that turns z to `direction` and x as near to `side` as it can."""
    z = np.asarray(direction, dtype=float)
    z = z / np.linalg.norm(z)
    x = np.asarray(side, dtype=float)
    x = x - z * (x @ z)
    if np.linalg.norm(x) < 1e-9:  # along the direction: any side will do
        x = np.cross(z, [1.0, 0.0, 0.0] if abs(z[0]) < 0.9 else [0.0, 1.0, 0.0])
    x = x / np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=-1)


def quaternion(rotation: FloatArray) -> FloatArray:
    """Unit quaternion (w, x, y, z) of a rotation matrix, by its largest component."""
    m = rotation
    squares = np.array(
        [
            1 + m[0, 0] + m[1, 1] + m[2, 2],
            1 + m[0, 0] - m[1, 1] - m[2, 2],
            1 - m[0, 0] + m[1, 1] - m[2, 2],
            1 - m[0, 0] - m[1, 1] + m[2, 2],
        ]
    )
    k = int(squares.argmax())
    twice = math.sqrt(squares[k])
    rows = (
        [squares[0], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]],
        [m[2, 1] - m[1, 2], squares[1], m[1, 0] + m[0, 1], m[0, 2] + m[2, 0]],
        [m[0, 2] - m[2, 0], m[1, 0] + m[0, 1], squares[2], m[2, 1] + m[1, 2]],
        [m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[2, 1] + m[1, 2], squares[3]],
    )
    return np.array(rows[k]) / (2 * twice)


Colour = tuple[int, int, int]
Place = tuple[FloatArray, FloatArray]  # position (3,) in m, quaternion w, x, y, z

BASE: Colour = (92, 99, 110)
MOTOR: Colour = (60, 65, 74)
ARM: Colour = (45, 116, 196)
STRUT: Colour = (150, 156, 165)
PLATFORM: Colour = (218, 112, 36)
OTHER_HALF: Colour = (236, 168, 84)
SPINDLE: Colour = (112, 128, 144)
EFFECTOR: Colour = (46, 50, 57)
PAYLOAD: Colour = (88, 150, 74)
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True, eq=False)
class Part:
    """A shape with its colour; `movable` parts get a place at every pose."""

    shape: Shape
    colour: Colour
    movable: bool = True


def robot_parts(robot: Robot) -> dict[str, Part]:
    """The parts of a robot by name: base, motors, arms or carriages, pins, rods, platform with its
    halves, bars or screw, spindle, effector.
    """
    unit = thickness(robot)
    spacing = drawn_spacing(robot)
    parts = {
        "base": Part(_base(robot, unit, spacing), BASE, movable=False),
        "motors": Part(_motors(robot, unit, spacing), MOTOR, movable=False),
        **_platform_parts(robot, unit, spacing),
        "effector": Part(_effector(unit), EFFECTOR),
    }
    wide = 3.0 * unit + (spacing if robot.planar else 0.0)
    deep = 3.0 * unit if robot.planar else spacing
    for i in range(robot.legs):
        strut = robot.geometry.strut_length[i]
        carriage = box(4.0 * unit, wide, deep).moved([0, 0, -2.0 * unit])
        arm = carriage if robot.linear else _arm(robot.rotary.arm_length[i], unit)
        parts[f"arm {i + 1}"] = Part(arm, ARM)
        pin = bar(spacing, 0.45 * unit).moved([0, 0, -spacing / 2])
        parts[f"pin {i + 1}"] = Part(pin, MOTOR)
        for side in ("a", "b"):
            parts[f"rod {i + 1}{side}"] = Part(bar(strut, 0.38 * unit), STRUT)
        if has_brackets(robot):
            parts[f"bracket {i + 1}"] = Part(_bracket(unit, spacing), MOTOR)
            length = robot.rotary.arm_length[i]
            parts[f"rod {i + 1}c"] = Part(bar(length, 0.38 * unit), STRUT)
    if robot.spindle is not None:
        upper, lower = _telescope_lengths(robot)
        parts["spindle upper"] = Part(bar(upper, 0.75 * unit), SPINDLE)
        parts["spindle lower"] = Part(bar(lower, 0.5 * unit), STRUT)
    if robot.payload.mass > 0:
        edge = min(0.08 * robot.payload.mass ** (1 / 3), 8 * unit)
        parts["payload"] = Part(box(edge, edge, edge).moved([0, 0, -edge]), PAYLOAD)
    return parts


def robot_places(robot: Robot, p: npt.ArrayLike) -> dict[str, Place]:
    """Where the movable parts are with the platform at p (dof,), which the robot must reach."""
    pose = skeleton(robot, p)
    spacing = drawn_spacing(robot)
    psi = float(np.asarray(p)[3]) if robot.turns else 0.0
    turned = np.array([math.cos(psi / 2), 0.0, 0.0, math.sin(psi / 2)])
    unit = thickness(robot)
    places: dict[str, Place] = {
        **_platform_places(robot, pose, turned),
        "effector": (pose.platform - [0.0, 0.0, _tool_below(robot)], turned),
    }
    apart = rods_apart(robot, pose)
    for i in range(robot.legs):
        if robot.linear:
            rail = np.asarray(robot.geometry.frames[i].z)
            places[f"arm {i + 1}"] = (pose.elbows[i], _turn(rail, np.cross(pose.pins[i], rail)))
        else:
            along = pose.elbows[i] - pose.shoulders[i]
            places[f"arm {i + 1}"] = (pose.shoulders[i], _turn(along, pose.pins[i]))
            if has_brackets(robot):
                above = np.array([0.0, 0.0, spacing])
                places[f"rod {i + 1}c"] = (pose.shoulders[i] + above, _turn(along, pose.pins[i]))
                places[f"bracket {i + 1}"] = (pose.elbows[i], UPRIGHT)
        places[f"pin {i + 1}"] = (pose.elbows[i], _turn(apart[i], [0.0, 0.0, 1.0]))
        rod = _turn(pose.joints[i] - pose.elbows[i], pose.pins[i])
        for side, name in ((-0.5, "a"), (0.5, "b")):
            places[f"rod {i + 1}{name}"] = (pose.elbows[i] + side * spacing * apart[i], rod)
    places.update(_telescope_places(pose))
    if robot.payload.mass > 0:
        offset = np.asarray(robot.payload.offset) - [0.0, 0.0, 3.0 * unit + _tool_below(robot)]
        places["payload"] = (pose.platform + _about_z(psi, offset), turned)
    return places


def arm_labels(robot: Robot, places: Mapping[str, Place]) -> dict[str, FloatArray]:
    """Where the numbers of the arms stand, each (3,): above the elbows."""
    above = np.array([0.0, 0.0, 3.0 * thickness(robot)])
    return {f"number {i}": places[f"pin {i}"][0] + above for i in range(1, robot.legs + 1)}


def home(robot: Robot) -> FloatArray:
    """A pose (dof,) in the middle of the robot's working cylinder, psi = 0."""
    cylinder = working_cylinder(robot)
    p = np.zeros(robot.dof)
    p[robot.coordinates.index("z")] = (cylinder.z_min + cylinder.z_max) / 2
    return p


def thickness(robot: Robot) -> float:
    """The size of details (m): a share of the arm."""
    return 0.045 * robot.geometry.size


def _turn(direction: npt.ArrayLike, side: npt.ArrayLike) -> FloatArray:
    return quaternion(frame_along(direction, side))


def _about_z(angle: float, vector: FloatArray) -> FloatArray:
    c, s = math.cos(angle), math.sin(angle)
    x, y, z = vector
    return np.array([c * x - s * y, s * x + c * y, z])


def _arm(length: float, unit: float) -> Shape:
    return box(length, 1.6 * unit, 2.4 * unit, 0.55)


def _shoulders(robot: Robot) -> FloatArray:
    """The shoulders' joint centres (legs, 3) in m."""
    starts = np.array([frame.shoulder for frame in robot.geometry.frames])
    found: FloatArray = starts + attachments_of(robot)
    return found


def _base(robot: Robot, unit: float, spacing: float) -> Shape:
    """A plate above the shoulders: it ends where the motors begin. Or the rails."""
    if robot.linear:
        rails = []
        for low, high, pin in zip(*drawn_rails(robot), arm_axes(robot)[1], strict=True):
            along = high - low
            beam = box(float(np.linalg.norm(along)), 1.2 * unit, 0.6 * spacing)
            rails.append(beam.turned(frame_along(along, np.cross(pin, along))).moved(low))
        return _joined(rails)
    _, tangential = arm_axes(robot)
    centres = _shoulders(robot)
    centres[:, :2] *= np.maximum(1.0, 3 * unit / np.hypot(*centres[:, :2].T))[:, None]
    half, top = 0.5 * spacing + 2 * unit, float(centres[:, 2].max())
    corners = [centres + side * half * tangential for side in (-1, 1)]
    return plate(np.concatenate(corners), top + 1.8 * unit, top + 2.8 * unit)


def _motors(robot: Robot, unit: float, spacing: float) -> Shape:
    """A motor on every shoulder axis, on both sides of the arm's root, or on top of every rail."""
    _, tangential = arm_axes(robot)
    found: list[Shape] = []
    centres = drawn_rails(robot)[1] if robot.linear else _shoulders(robot)
    for i, centre in enumerate(centres):
        rotation = frame_along(tangential[i], [0.0, 0.0, 1.0])
        length = 0.6 * spacing + 2 * unit
        found.append(bar(length, 1.8 * unit).moved([0, 0, -length / 2]).turned(rotation))
        found[-1] = found[-1].moved(centre)
    return _joined(found)


def _joined(shapes: Sequence[Shape]) -> Shape:
    first, *more = shapes
    return sum(more, first)


def _platform_parts(robot: Robot, unit: float, spacing: float) -> dict[str, Part]:
    """The platform, or its halves and what joins them; "platform" is where the tool's axis is."""
    turns, own = np.asarray(robot.geometry.azimuth), robot.platform
    radial = np.stack([np.cos(turns), np.sin(turns), np.zeros(robot.legs)], axis=-1)
    tangential = np.stack([-radial[:, 1], radial[:, 0], np.zeros(robot.legs)], axis=-1)
    radius = np.maximum(np.asarray(robot.geometry.platform_radius), unit)[:, None]
    joints = radius * radial
    corners = np.stack([joints + side * 0.5 * spacing * tangential for side in (-1, 1)], axis=1)
    if robot.planar:  # the joints lie apart along the plane, pins go through its width
        ends = joints + 0.5 * spacing * radial
        corners = np.stack([ends + side * 1.5 * unit * tangential for side in (-1, 1)], axis=1)
    flat = -0.5 * unit, 0.5 * unit
    if isinstance(own, ArticulatedPlatform):
        hinge = bar_hinge(robot)
        across = hinge / np.linalg.norm(hinge)
        reach = (1 + unit / np.linalg.norm(hinge)) * hinge
        eyes = np.stack([reach, -reach])
        bars = bar(own.bar_length, 0.6 * unit)
        beam = box(2 * float(np.linalg.norm(reach)), 1.4 * unit, 0.8 * unit)
        beam = beam.turned(frame_along(across, [0.0, 0.0, 1.0])).moved(-reach)
        hub = bar(3.0 * unit, 1.1 * unit).moved([0, 0, -1.5 * unit])
        return {
            "half 1": Part(plate(np.concatenate([*corners[:2], eyes]), *flat), PLATFORM),
            "half 2": Part(plate(np.concatenate([*corners[2:], eyes]), *flat), OTHER_HALF),
            "bar 1": Part(bars, MOTOR),
            "bar 2": Part(bars, MOTOR),
            "platform": Part(beam.moved([0, 0, 1.9 * unit]) + hub, PLATFORM),
        }
    if isinstance(own, HelicalPlatform):
        room = screw_room(robot)
        length = 2 * (2 * room + 2.0 * unit)
        screw = twisted(length, 1.1 * unit, own.lead).moved([0, 0, -length / 2])
        nut = bar(2.4 * unit, 1.5 * unit).moved([0, 0, -1.2 * unit])
        return {
            "half 1": Part(_bow(joints[:2], room, unit) + nut.moved([0, 0, room]), PLATFORM),
            "half 2": Part(_bow(joints[2:], -room, unit) + nut.moved([0, 0, -room]), OTHER_HALF),
            "platform": Part(screw, MOTOR),
        }
    return {"platform": Part(plate(np.concatenate(list(corners)), *flat), PLATFORM)}


def _bow(joints: FloatArray, room: float, unit: float) -> Shape:
    """A half of a helical platform: a beam at the height `room`, with posts to its two joints."""
    a, b = joints
    high = np.array([0.0, 0.0, room])
    beam = box(float(np.linalg.norm(b - a)), 1.6 * unit, 1.2 * unit)
    beam = beam.turned(frame_along(b - a, [0.0, 0.0, 1.0])).moved(a + high)
    post = box(abs(room), 1.6 * unit, 1.6 * unit).turned(frame_along(high, b - a))
    return beam + post.moved(a) + post.moved(b)


def _platform_places(robot: Robot, pose: Skeleton, turned: FloatArray) -> dict[str, Place]:
    own, unit = robot.platform, thickness(robot)
    places: dict[str, Place] = {"platform": (pose.platform, UPRIGHT)}
    if not isinstance(own, ArticulatedPlatform | HelicalPlatform):
        return places
    first, second = half_centres(robot, pose)
    places |= {"half 1": (first, UPRIGHT), "half 2": (second, UPRIGHT)}
    if isinstance(own, HelicalPlatform):
        places["platform"] = (pose.platform, turned)
        return places
    hinge, above = bar_hinge(robot), np.array([0.0, 0.0, 1.1 * unit])
    rotation = _turn(first - second, [0.0, 0.0, 1.0])
    for side, name in ((-1, "bar 1"), (1, "bar 2")):
        places[name] = (second + side * hinge + above, rotation)
    return places


def _tool_below(robot: Robot) -> float:
    """How far the tool is drawn below the platform point: under the lower half (m)."""
    own, unit = robot.platform, thickness(robot)
    if isinstance(own, HelicalPlatform):
        return 2 * screw_room(robot) + 1.5 * unit
    return unit if isinstance(own, ArticulatedPlatform) else 0.0


def _bracket(unit: float, spacing: float) -> Shape:
    """The elbow of a planar robot: a triangle in its plane that joins three rods."""
    corners = [[-0.5 * spacing, 0.0], [0.5 * spacing, 0.0], [0.0, -spacing]]
    flat = plate(np.array(corners), -0.5 * unit, 0.5 * unit)
    return flat.turned(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]))


def _effector(unit: float) -> Shape:
    """A flange below the platform with a pointer that shows psi."""
    flange = bar(2.5 * unit, 1.1 * unit, 0.8 * unit).moved([0, 0, -3.0 * unit])
    pointer = box(2.6 * unit, 0.7 * unit, 0.7 * unit).turned(
        frame_along([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    )
    return flange + pointer.moved([0, 0, -2.2 * unit])


def _telescope_lengths(robot: Robot) -> tuple[float, float]:
    """Lengths of both rods (m); without them in the file, what the home pose needs and a bit."""
    assert robot.spindle is not None
    spindle = robot.spindle
    reach = abs(spindle.pivot_z - float(home(robot)[2]))
    upper = spindle.upper.length or 0.6 * reach
    return upper, spindle.lower.length or 0.6 * reach


def _telescope_places(pose: Skeleton) -> dict[str, Place]:
    if pose.pivot is None or pose.spindle_end is None:
        return {}
    down = pose.spindle_end - pose.pivot
    side = [1.0, 0.0, 0.0]
    return {
        "spindle upper": (pose.pivot, _turn(down, side)),
        "spindle lower": (pose.spindle_end, _turn(-down, side)),
    }
