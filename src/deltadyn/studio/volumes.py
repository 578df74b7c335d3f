"""The workspace as coloured surfaces: by singularity margin, holding torque, or the limit met."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import inverse_dynamics
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.kinematics import State, WorkspaceBoundary, singularity, workspace
from deltadyn.kinematics.workspace import REASONS, RULES, WorkspaceRules, bounding_box, broken_rules
from deltadyn.robot import Robot
from deltadyn.studio.drawing import Colour

# The workspace as a surface seen from its middle, and flat slices of it.
#
# `kinematics.workspace` gives the radius over the height, which has jumps where the ceiling of the
# workspace bends down. For a picture the wall is looked for along rays in all directions instead.


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


KINDS = ("singularity margin", "holding torque", "limits")
BANDS = 9  # colours of a scale
OUTSIDE = (2e-3, 1e-2, 3e-2)  # m beyond the wall: there the rule that ends the workspace breaks
DARK, MIDDLE, LIGHT = (68, 1, 84), (33, 145, 140), (253, 231, 37)  # readable without red and green
OTHER = "the base plane, or a gap"
RULE_COLOURS: dict[str, Colour] = {
    "loop": (120, 128, 140),
    "angles": (31, 95, 168),
    "ball_joints": (140, 86, 168),
    "stroke": (44, 140, 110),
    "singularity": (218, 112, 36),
}


@dataclass(frozen=True, eq=False)
class Band:
    """Triangles of one colour; `label` is what the colour means."""

    vertices: FloatArray
    faces: npt.NDArray[np.int64]
    colour: Colour
    label: str


@dataclass(frozen=True)
class Key:
    """A colour of the legend."""

    colour: Colour
    label: str


@dataclass(frozen=True, eq=False)
class Volume:
    """Coloured bands of the wall and of a slice, with their legend; `status` says what it shows."""

    kind: str
    wall: tuple[Band, ...]
    slice: tuple[Band, ...]
    legend: tuple[Key, ...]
    status: str


def volume_of(
    robot: Robot, kind: str, *, margin: float = 0.0, height: float | None = None
) -> Volume:
    """The workspace with at least `margin` (rad) to singular poses, cut at `height` (m).

    Without `height` there is no slice.
    """
    if kind not in KINDS:
        raise UnknownNameError("volume", kind, KINDS)
    rules = WorkspaceRules(singularity=margin)
    wall = wall_of(robot, rules)
    low, high = wall.vertices[:, 2].min(), wall.vertices[:, 2].max()
    status = (
        f"{wall.volume:.3g} m³ between z = {low:.3f} and {high:.3f} m, "
        f"radius up to {np.hypot(*wall.vertices[:, :2].T).max():.3f} m"
    )
    cut = None if height is None else slice_of(robot, rules, height)
    if kind == "limits":
        bands = _by_rule(robot, rules, wall)
        found = {band.label: Key(band.colour, band.label) for band in bands}
        return Volume(kind, bands, (), tuple(found.values()), status)
    return _by_value(robot, kind, wall, cut, status)


def cylinder_mesh(robot: Robot) -> Band | None:
    """The working cylinder of the robot's limits; None where it names none."""
    limit = robot.limits.workspace
    if limit is None:
        return None
    azimuths = np.linspace(0.0, 2 * math.pi, AZIMUTHS, endpoint=False)
    heights = np.array([limit.z_min, limit.z_max])
    wall = WorkspaceBoundary(heights, azimuths, np.full((2, AZIMUTHS), limit.radius), "limits")
    return Band(wall.vertices, wall.faces, (60, 160, 90), "working cylinder")


def _by_value(
    robot: Robot,
    kind: str,
    wall: Surface,
    cut: Surface | None,
    status: str,
) -> Volume:
    meshes = [wall] if cut is None else [wall, cut]
    values = [_values(robot, kind, mesh.vertices) for mesh in meshes]
    every = np.concatenate(values)
    every = every[np.isfinite(every)]
    low, high = float(every.min()), float(np.quantile(every, 0.99))
    edges = np.linspace(low, max(high, low + 1e-9), BANDS + 1)
    unit = "deg" if kind == "singularity margin" else "N m"
    labels = [f"{a:.3g} to {b:.3g} {unit}" for a, b in pairwise(edges)]
    labels[0] = f"below {edges[1]:.3g} {unit}"
    labels[-1] = f"above {edges[-2]:.3g} {unit}"
    colours = [scale_colour((k + 0.5) / BANDS) for k in range(BANDS)]
    split = [
        _split(mesh.vertices, mesh.faces, value, edges, colours, labels)
        for mesh, value in zip(meshes, values, strict=True)
    ]
    legend = tuple(Key(colour, label) for colour, label in zip(colours, labels, strict=True))
    return Volume(kind, split[0], split[1] if cut is not None else (), legend, status)


def _values(robot: Robot, kind: str, vertices: FloatArray) -> FloatArray:
    """Margin in deg, or the largest holding torque of the arms in N m, at points (V, 3)."""
    p = np.zeros((len(vertices), robot.dof))
    p[:, :3] = vertices
    if kind == "singularity margin":
        return np.degrees(singularity(robot, p, unreachable="nan").margin)
    state = State.from_platform(robot, p, unreachable="nan")
    with np.errstate(invalid="ignore", divide="ignore"):
        torque = np.abs(inverse_dynamics(robot, state)[:, :3])
    found: FloatArray = torque.max(axis=1)
    return found


def scale_colour(share: float) -> Colour:
    """A colour from dark (0) over green to light (1)."""
    a, b, part = (DARK, MIDDLE, 2 * share) if share < 0.5 else (MIDDLE, LIGHT, 2 * share - 1)
    r, g, b_ = (round(x + (y - x) * part) for x, y in zip(a, b, strict=True))
    return r, g, b_


def _split(
    vertices: FloatArray,
    faces: npt.NDArray[np.int64],
    values: FloatArray,
    edges: FloatArray,
    colours: list[Colour],
    labels: list[str],
) -> tuple[Band, ...]:
    """The surface cut along the lines of equal value; what has no value is the lowest band."""
    known = np.nan_to_num(values, nan=float(edges[0]))
    corners = np.concatenate([vertices, known[:, None]], axis=1)[faces]  # (F, 3, 4)
    found = []
    for k in range(BANDS):
        low = -np.inf if k == 0 else edges[k]
        high = np.inf if k == BANDS - 1 else edges[k + 1]
        inside = ((corners[..., 3] >= low) & (corners[..., 3] <= high)).all(axis=1)
        apart = (corners[..., 3] < low).all(axis=1) | (corners[..., 3] > high).all(axis=1)
        pieces = [corners[inside, :, :3]]
        for corner in corners[~inside & ~apart]:
            polygon = _clipped(_clipped(corner, low, 1.0), high, -1.0)[:, :3]
            pieces += [polygon[[0, i, i + 1]][None] for i in range(1, len(polygon) - 1)]
        own = np.concatenate(pieces)
        if len(own):
            index = np.arange(3 * len(own)).reshape(-1, 3)
            found.append(Band(own.reshape(-1, 3), index, colours[k], labels[k]))
    return tuple(found)


def _clipped(polygon: FloatArray, level: float, sign: float) -> FloatArray:
    """The part of a polygon (n, 4) with sign * value >= sign * level; values are in column 3."""
    if not np.isfinite(level):
        return polygon
    kept: list[FloatArray] = []
    height = sign * (polygon[:, 3] - level)
    for i in range(len(polygon)):
        j = (i + 1) % len(polygon)
        if height[i] >= 0:
            kept.append(polygon[i])
        if height[i] * height[j] < 0:
            share = height[i] / (height[i] - height[j])
            kept.append(polygon[i] + share * (polygon[j] - polygon[i]))
    return np.array(kept).reshape(-1, 4)


def _by_rule(robot: Robot, rules: WorkspaceRules, wall: Surface) -> tuple[Band, ...]:
    """Faces of the wall by the rule that is broken just outside them."""
    corners = wall.vertices[wall.faces]
    centre = corners.mean(axis=1)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    outward = normal / np.where(length > 0, length, 1.0)
    rule = np.full(len(centre), -1)
    for distance in OUTSIDE:
        left = np.flatnonzero(rule < 0)
        broken = broken_rules(robot, centre[left] + distance * outward[left], rules)
        some = broken.any(axis=1)
        rule[left[some]] = broken[some].argmax(axis=1)  # an open loop breaks all that follow
    found = []
    for k, name in enumerate(RULES):
        own = wall.faces[rule == k]
        if len(own):
            used, index = np.unique(own, return_inverse=True)
            faces = index.reshape(-1, 3)
            found.append(Band(wall.vertices[used], faces, RULE_COLOURS[name], REASONS[name]))
    own = wall.faces[rule < 0]
    if len(own):
        used, index = np.unique(own, return_inverse=True)
        found.append(Band(wall.vertices[used], index.reshape(-1, 3), (210, 212, 216), OTHER))
    return tuple(found)
