"""Small solid shapes as triangles, and the rotations that put them in their place."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray

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
