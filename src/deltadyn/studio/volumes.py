"""The workspace as coloured surfaces: by singularity margin, holding torque, or the limit met."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import inverse_dynamics
from deltadyn.errors import UnknownNameError
from deltadyn.kinematics import State, WorkspaceBoundary, singularity
from deltadyn.kinematics.workspace_rules import REASONS, RULES, WorkspaceRules, broken_rules
from deltadyn.robot import Robot
from deltadyn.studio.drawing import Colour
from deltadyn.studio.surfaces import AZIMUTHS, Surface, slice_of, wall_of

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
