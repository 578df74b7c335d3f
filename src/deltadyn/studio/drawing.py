"""The robot and its workspace as triangles.

A part's shape is made once; a pose moves and turns it. So a page that shows the robot gets a few
numbers per pose and no new shapes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.kinematics.struts import Skeleton, arm_axes, attachments_of, skeleton
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.report.picture import drawn_rails, drawn_spacing
from deltadyn.robot import Robot

# Small solid shapes as triangles, and the rotations that put them in their place.


SIDES = 16  # of a round bar


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
    """A plate over the convex polygon of points (n, 2 or 3) in the plane, from z = low to high."""
    flat = np.asarray(points, dtype=float)[:, :2]
    middle = flat.mean(axis=0)
    order = np.argsort(np.arctan2(*(flat - middle).T[::-1]))
    return prism(flat[order], flat[order], low, high)


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
    """The parts of a robot by name: base, motors, arms, pins, rods, platform, spindle, effector."""
    unit = thickness(robot)
    spacing = drawn_spacing(robot)
    parts = {
        "base": Part(_base(robot, unit, spacing), BASE, movable=False),
        "motors": Part(_motors(robot, unit, spacing), MOTOR, movable=False),
        "platform": Part(_platform(robot, unit, spacing), PLATFORM),
        "effector": Part(_effector(unit), EFFECTOR),
    }
    for i in range(3):
        strut = robot.geometry.strut_length[i]
        carriage = box(4.0 * unit, 3.0 * unit, spacing).moved([0, 0, -2.0 * unit])
        arm = carriage if robot.linear else _arm(robot.rotary.arm_length[i], unit)
        parts[f"arm {i + 1}"] = Part(arm, ARM)
        pin = bar(spacing, 0.45 * unit).moved([0, 0, -spacing / 2])
        parts[f"pin {i + 1}"] = Part(pin, MOTOR)
        for side in ("a", "b"):
            parts[f"rod {i + 1}{side}"] = Part(bar(strut, 0.38 * unit), STRUT)
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
    psi = float(np.asarray(p)[3]) if robot.dof == 4 else 0.0
    turned = np.array([math.cos(psi / 2), 0.0, 0.0, math.sin(psi / 2)])
    unit = thickness(robot)
    places: dict[str, Place] = {
        "platform": (pose.platform, UPRIGHT),
        "effector": (pose.platform, turned),
    }
    for i in range(3):
        if robot.linear:
            rail = np.asarray(robot.geometry.frames[i].z)
            places[f"arm {i + 1}"] = (pose.elbows[i], _turn(rail, np.cross(pose.pins[i], rail)))
        else:
            along = pose.elbows[i] - pose.shoulders[i]
            places[f"arm {i + 1}"] = (pose.shoulders[i], _turn(along, pose.pins[i]))
        places[f"pin {i + 1}"] = (pose.elbows[i], _turn(pose.pins[i], [0.0, 0.0, 1.0]))
        rod = _turn(pose.joints[i] - pose.elbows[i], pose.pins[i])
        for side, name in ((-0.5, "a"), (0.5, "b")):
            places[f"rod {i + 1}{name}"] = (pose.elbows[i] + side * spacing * pose.pins[i], rod)
    places.update(_telescope_places(pose))
    if robot.payload.mass > 0:
        offset = np.asarray(robot.payload.offset) - [0.0, 0.0, 3.0 * unit]
        places["payload"] = (pose.platform + _about_z(psi, offset), turned)
    return places


def arm_labels(robot: Robot, places: Mapping[str, Place]) -> dict[str, FloatArray]:
    """Where the numbers of the arms stand, each (3,): above the elbows."""
    above = np.array([0.0, 0.0, 3.0 * thickness(robot)])
    return {f"number {i}": places[f"pin {i}"][0] + above for i in (1, 2, 3)}


def home(robot: Robot) -> FloatArray:
    """A pose (dof,) in the middle of the robot's working cylinder, psi = 0."""
    cylinder = working_cylinder(robot)
    p = np.zeros(robot.dof)
    p[2] = (cylinder.z_min + cylinder.z_max) / 2
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
    """The shoulders' joint centres (3, 3) in m."""
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
        return rails[0] + rails[1] + rails[2]
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
    return found[0] + found[1] + found[2]


def _platform(robot: Robot, unit: float, spacing: float) -> Shape:
    turns = np.asarray(robot.geometry.azimuth)
    radial = np.stack([np.cos(turns), np.sin(turns), np.zeros(3)], axis=-1)
    tangential = np.stack([-radial[:, 1], radial[:, 0], np.zeros(3)], axis=-1)
    radius = np.maximum(np.asarray(robot.geometry.platform_radius), unit)[:, None]
    corners = [radius * radial + side * 0.5 * spacing * tangential for side in (-1, 1)]
    return plate(np.concatenate(corners), -0.5 * unit, 0.5 * unit)


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
