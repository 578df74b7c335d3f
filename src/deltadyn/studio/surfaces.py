"""The workspace as a surface seen from its middle, and flat slices of it.

`kinematics.workspace` gives the radius over the height, which has jumps where the ceiling of the
workspace bends down. For a picture the wall is looked for along rays in all directions instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.kinematics import WorkspaceBoundary, workspace
from deltadyn.kinematics.workspace import bounding_box
from deltadyn.kinematics.workspace_rules import WorkspaceRules, broken_rules
from deltadyn.robot import Robot

AZIMUTHS, LATITUDES = 72, 45  # of the wall
RINGS = 24  # of a slice
STEPS = 64  # along a ray; a gap thinner than a step is not seen
BISECTIONS = 20  # of one step: 1e-7 of it


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles: vertices (V, 3) in m and faces (F, 3), anticlockwise seen from outside."""

    vertices: FloatArray
    faces: npt.NDArray[np.int64]

    @property
    def volume(self) -> float:
        """What a closed surface holds (m^3)."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return float((a * np.cross(b, c)).sum() / 6)

    @property
    def area(self) -> float:
        """The area of all triangles (m^2)."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)


def wall_of(robot: Robot, rules: WorkspaceRules) -> Surface:
    """Where rays from the middle of the workspace first leave it."""
    middle = _middle(robot, rules)
    around = np.linspace(0.0, 2 * math.pi, AZIMUTHS, endpoint=False)
    up = np.linspace(-math.pi / 2, math.pi / 2, LATITUDES + 2)[1:-1, None]
    flat = np.cos(up)
    rays = np.stack(
        [flat * np.cos(around), flat * np.sin(around), np.sin(up) + 0 * around], axis=-1
    ).reshape(-1, 3)
    rays = np.concatenate([rays, [[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]])
    vertices = middle + rays * leaving(robot, rules, np.tile(middle, (len(rays), 1)), rays)[:, None]
    # the same net of triangles as that of a surface over height and azimuth
    net = WorkspaceBoundary(
        np.arange(LATITUDES, dtype=np.float64), around, np.ones((LATITUDES, AZIMUTHS)), ""
    )
    return Surface(vertices, net.faces)


def slice_of(robot: Robot, rules: WorkspaceRules, height: float) -> Surface | None:
    """A flat disc inside the wall at this height (m); None where the axis is outside there."""
    centre = np.array([0.0, 0.0, height])
    if broken_rules(robot, _points(robot, centre[None]), rules).any():
        return None
    around = np.linspace(0.0, 2 * math.pi, AZIMUTHS, endpoint=False)
    rays = np.stack([np.cos(around), np.sin(around), np.zeros(AZIMUTHS)], axis=-1)
    radius = leaving(robot, rules, np.tile(centre, (AZIMUTHS, 1)), rays)
    shares = np.linspace(0.0, 1.0, RINGS)[:, None, None]
    vertices = (centre + shares * radius[:, None] * rays).reshape(-1, 3)
    here = np.arange(AZIMUTHS)
    there = (here + 1) % AZIMUTHS
    low = (np.arange(RINGS - 1) * AZIMUTHS)[:, None]
    a, b = low + here, low + there
    c, d = low + AZIMUTHS + there, low + AZIMUTHS + here
    faces = [np.stack([a, d, c], axis=-1), np.stack([a, c, b], axis=-1)]
    return Surface(vertices, np.concatenate([part.reshape(-1, 3) for part in faces]))


def leaving(robot: Robot, rules: WorkspaceRules, start: FloatArray, rays: FloatArray) -> FloatArray:
    """Distance (N,) at which rays (N, 3) from points inside first leave the workspace, in m."""
    low, high = bounding_box(robot)
    step = float(np.linalg.norm(high - low)) / STEPS
    inside, outside = np.zeros(len(rays)), np.full(len(rays), math.inf)
    for k in range(1, STEPS + 1):
        open_rays = np.flatnonzero(np.isinf(outside))
        if not open_rays.size:
            break
        points = start[open_rays] + k * step * rays[open_rays]
        out = broken_rules(robot, _points(robot, points), rules).any(axis=1)
        outside[open_rays[out]] = k * step
        inside[open_rays[~out]] = k * step
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        points = start + middle[:, None] * rays
        out = broken_rules(robot, _points(robot, points), rules).any(axis=1)
        outside[out] = middle[out]
        inside[~out] = middle[~out]
    return inside


def _middle(robot: Robot, rules: WorkspaceRules) -> FloatArray:
    """The middle of the largest cylinder inside: from there most of the wall is in sight."""
    found = workspace(robot, rules=rules, heights=41, azimuths=24)
    cylinder = found.largest_cylinder()
    if cylinder is None:
        raise InputError("workspace", "empty", f"a smaller margin: {found.status}")
    return np.array([0.0, 0.0, (cylinder.z_min + cylinder.z_max) / 2])


def _points(robot: Robot, xyz: FloatArray) -> FloatArray:
    """Positions (N, dof) with psi = 0."""
    p = np.zeros((len(xyz), robot.dof))
    p[:, :3] = xyz
    return p
