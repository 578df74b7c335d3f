"""Convex bodies to look at: the hull of points as triangles, and as a Wavefront file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.exports.common import number


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles of a convex body, counter-clockwise when seen from outside."""

    points: FloatArray  # (n, 3), m
    faces: tuple[tuple[int, int, int], ...]  # places in `points`


def hull(points: FloatArray | Sequence[Sequence[float]]) -> Mesh:
    """The convex hull of points (n, 3)."""
    from scipy.spatial import ConvexHull

    corners = np.asarray(points, dtype=np.float64)
    found = ConvexHull(corners)
    middle = corners[found.vertices].mean(axis=0)
    faces = []
    for i, j, k in found.simplices.tolist():
        a, b, c = corners[i], corners[j], corners[k]
        outward = np.dot(np.cross(b - a, c - a), a - middle) > 0
        faces.append((i, j, k) if outward else (i, k, j))
    return Mesh(corners, tuple(sorted(faces)))


def wavefront(mesh: Mesh, lines: Sequence[str] = ()) -> str:
    """The mesh as a Wavefront file (.obj), with comment lines at its head."""
    rows = [f"# {line}" for line in lines]
    rows += ["v " + " ".join(map(number, point)) for point in mesh.points.tolist()]
    rows += ["f " + " ".join(str(i + 1) for i in face) for face in mesh.faces]
    return "\n".join(rows) + "\n"
