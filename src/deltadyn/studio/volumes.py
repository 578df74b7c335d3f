"""The tab Volumes: workspace, singularity margin and limits as coloured surfaces.

The wall of the workspace is seen from its middle, with flat slices of it, coloured by singularity
margin, holding torque, or the limit met.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import inverse_dynamics
from deltadyn.errors import DeltadynError, InputError, UnknownNameError
from deltadyn.kinematics import State, WorkspaceBoundary, singularity, workspace
from deltadyn.kinematics.workspace import (
    REASONS,
    RULES,
    WorkspaceRules,
    broken_rules,
    leaving,
    ring_faces,
)
from deltadyn.robot import Robot
from deltadyn.studio.drawing import Colour, Shape, robot_parts
from deltadyn.studio.page import Tab, paragraph

if TYPE_CHECKING:
    import viser

    from deltadyn.studio.server import Window

# The workspace as coloured surfaces, its wall seen from the middle and flat slices of it: by
# singularity margin, holding torque, or the limit met.
#
# `kinematics.workspace` gives the radius over the height, which has jumps where the ceiling of the
# workspace bends down. For a picture the wall is looked for along rays in all directions instead.


AZIMUTHS, LATITUDES = 108, 67  # of the wall
RINGS = 24  # of a slice
STEPS = 26  # to the farthest radius; a gap thinner than a step is not seen


def wall_of(robot: Robot, rules: WorkspaceRules) -> Shape:
    """Where rays from the middle of the workspace first leave it; in a plane the sheet to there."""
    middle = _middle(robot, rules)
    if robot.planar:
        return _sheet(robot, rules, middle, "xz")
    around = np.linspace(0.0, 2 * math.pi, AZIMUTHS, endpoint=False)
    up = np.linspace(-math.pi / 2, math.pi / 2, LATITUDES + 2)[1:-1, None]
    flat = np.cos(up)
    rays = np.stack(
        [flat * np.cos(around), flat * np.sin(around), np.sin(up) + 0 * around], axis=-1
    ).reshape(-1, 3)
    rays = np.concatenate([rays, [[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]])
    vertices = (
        middle + rays * leaving(robot, rules, np.tile(middle, (len(rays), 1)), rays, STEPS)[:, None]
    )
    # the same net of triangles as that of a surface over height and azimuth
    net = WorkspaceBoundary(
        np.arange(LATITUDES, dtype=np.float64), around, np.ones((LATITUDES, AZIMUTHS)), ""
    )
    return Shape(vertices, net.faces)


def slice_of(robot: Robot, rules: WorkspaceRules, height: float) -> Shape | None:
    """A flat disc inside the wall at this height (m); None where the axis is outside there."""
    centre = np.array([0.0, 0.0, height])
    if robot.planar or broken_rules(robot, centre[None], rules).any():
        return None
    return _sheet(robot, rules, centre, "xy")


def _sheet(robot: Robot, rules: WorkspaceRules, centre: FloatArray, plane: str) -> Shape:
    """What rays from a point inside cover in a plane, "xy" or "xz", before they first leave."""
    rays = _rays(plane)
    radius = leaving(robot, rules, np.tile(centre, (AZIMUTHS, 1)), rays, STEPS)
    shares = np.linspace(0.0, 1.0, RINGS)[:, None, None]
    vertices = (centre + shares * radius[:, None] * rays).reshape(-1, 3)
    return Shape(vertices, ring_faces(RINGS, AZIMUTHS)[:, ::-1])


def _rays(plane: str) -> FloatArray:
    """Directions (AZIMUTHS, 3) all around in a plane."""
    around = np.linspace(0.0, 2 * math.pi, AZIMUTHS, endpoint=False)
    rays = np.zeros((AZIMUTHS, 3))
    for name, part in zip(plane, (np.cos(around), np.sin(around)), strict=True):
        rays[:, "xyz".index(name)] = part
    return rays


def _ribbon(sheet: Shape, width: float) -> Shape:
    """The rim of a sheet in the plane y = 0 as a band across it, faces outward (m)."""
    rim = sheet.vertices[-AZIMUTHS:]
    half = np.array([0.0, width / 2, 0.0])
    return Shape(np.concatenate([rim + half, rim - half]), ring_faces(2, AZIMUTHS))


def _middle(robot: Robot, rules: WorkspaceRules) -> FloatArray:
    """The middle of the largest cylinder inside: from there most of the wall is in sight."""
    found = workspace(robot, rules=rules, heights=41, azimuths=24)
    cylinder = found.largest_cylinder()
    if cylinder is None:
        raise InputError("workspace", "empty", f"a smaller margin: {found.status}")
    return np.array([0.0, 0.0, (cylinder.z_min + cylinder.z_max) / 2])


def _points(robot: Robot, xyz: FloatArray, psi: float) -> FloatArray:
    """Poses (N, dof) at positions (N, 3)."""
    columns = dict(zip("xyz", xyz.T, strict=True), psi=np.full(len(xyz), psi))
    return np.stack([columns[name] for name in robot.coordinates], axis=-1)


KINDS = ("singularity margin", "holding torque", "limits")
BANDS = 9  # colours of a scale
NEAR_SINGULAR = 3.0  # deg of margin
BEYOND = (2e-3, 1e-2, 3e-2)  # m beyond the wall: there the rule that ends the workspace breaks
DARK, MIDDLE, LIGHT = (68, 1, 84), (33, 145, 140), (253, 231, 37)  # readable without red and green
CYLINDER_COLOUR: Colour = (60, 160, 90)
OTHER, OTHER_COLOUR = "the base plane, or a gap", (210, 212, 216)
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
    robot: Robot,
    kind: str,
    *,
    margin: float = 0.0,
    height: float | None = None,
    psi: float = 0.0,
) -> Volume:
    """The workspace with at least `margin` (rad) to singular poses, cut at `height` (m).

    Without `height` there is no slice. Where limbs turn the tool it is that of one angle `psi`
    (rad); in a plane it is an area without slices.
    """
    if kind not in KINDS:
        raise UnknownNameError("volume", kind, KINDS)
    rules = WorkspaceRules(singularity=margin, psi=psi)
    wall = wall_of(robot, rules)
    low, high = wall.vertices[:, 2].min(), wall.vertices[:, 2].max()
    size = f"{wall.area:.3g} m² in the plane" if robot.planar else f"{wall.volume:.3g} m³"
    status = (
        f"{size} between z = {low:.3f} and {high:.3f} m, "
        f"radius up to {np.hypot(*wall.vertices[:, :2].T).max():.3f} m"
    )
    if carries_psi(robot):
        status += f", at psi = {math.degrees(psi):.0f} deg"
    cut = None if height is None else slice_of(robot, rules, height)
    if kind == "limits":
        across = 0.2 * robot.geometry.size
        bands = _by_rule(robot, rules, _ribbon(wall, across) if robot.planar else wall)
        found = {band.label: Key(band.colour, band.label) for band in bands}
        return Volume(kind, bands, (), tuple(found.values()), status)
    return _by_value(robot, kind, wall, cut, status, psi)


def carries_psi(robot: Robot) -> bool:
    """Whether the limbs turn the tool, so that the workspace depends on its angle."""
    return robot.turns and robot.spindle is None


def cylinder_mesh(robot: Robot) -> Band | None:
    """The working cylinder of the robot's limits, in a plane its rectangle; None without one."""
    limit = robot.limits.workspace
    if limit is None:
        return None
    if robot.planar:
        x, low, high = limit.radius, limit.z_min, limit.z_max
        corners = np.array([[-x, 0, low], [x, 0, low], [x, 0, high], [-x, 0, high]])
        return Band(corners, np.array([[0, 1, 2], [0, 2, 3]]), CYLINDER_COLOUR, "working area")
    azimuths = np.linspace(0.0, 2 * math.pi, AZIMUTHS, endpoint=False)
    heights = np.array([limit.z_min, limit.z_max])
    wall = WorkspaceBoundary(heights, azimuths, np.full((2, AZIMUTHS), limit.radius), "limits")
    return Band(wall.vertices, wall.faces, CYLINDER_COLOUR, "working cylinder")


def _by_value(
    robot: Robot,
    kind: str,
    wall: Shape,
    cut: Shape | None,
    status: str,
    psi: float,
) -> Volume:
    meshes = [wall] if cut is None else [wall, cut]
    values = [_values(robot, kind, mesh.vertices, psi) for mesh in meshes]
    every = np.concatenate(values)
    if kind == "holding torque":  # beyond all bounds near singular poses: the scale is without them
        margins = [_values(robot, KINDS[0], mesh.vertices, psi) for mesh in meshes]
        away = np.concatenate(margins) > NEAR_SINGULAR
        every = every[away] if away.any() else every
    every = every[np.isfinite(every)]
    low, high = float(every.min()), float(np.quantile(every, 0.99))
    edges = np.linspace(low, max(high, low + 1e-9), BANDS + 1)
    unit = "deg" if kind == "singularity margin" else robot.axis_units("tau")[0]
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


def _values(robot: Robot, kind: str, vertices: FloatArray, psi: float) -> FloatArray:
    """Margin in deg, or the largest holding torque of the limbs, at points (V, 3)."""
    p = _points(robot, vertices, psi)
    if kind == "singularity margin":
        return np.degrees(singularity(robot, p, unreachable="nan").margin)
    state = State.from_platform(robot, p, unreachable="nan")
    with np.errstate(invalid="ignore", divide="ignore"):
        torque = np.abs(inverse_dynamics(robot, state)[:, : robot.legs])
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
            found.append(Band(*_welded(own), colours[k], labels[k]))
    return tuple(found)


def _welded(triangles: FloatArray) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Triangles (F, 3, 3) with shared vertices: a viewer smooths the light over these."""
    corners = triangles.reshape(-1, 3)
    _, first, index = np.unique(
        np.round(corners, 7), axis=0, return_index=True, return_inverse=True
    )
    faces = index.reshape(-1, 3)
    solid = (faces != np.roll(faces, 1, axis=1)).all(axis=1)  # a cut may leave slivers
    return corners[first], faces[solid]


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


def _by_rule(robot: Robot, rules: WorkspaceRules, wall: Shape) -> tuple[Band, ...]:
    """Faces of the wall by the rule that is broken just outside them."""
    corners = wall.vertices[wall.faces]
    centre = corners.mean(axis=1)
    if robot.planar:
        centre[:, 1] = 0.0
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    outward = normal / np.where(length > 0, length, 1.0)
    rule = np.full(len(centre), -1)
    for distance in BEYOND:
        left = np.flatnonzero(rule < 0)
        broken = broken_rules(robot, centre[left] + distance * outward[left], rules)
        some = broken.any(axis=1)
        rule[left[some]] = broken[some].argmax(axis=1)  # an open loop breaks all that follow
    looks = [(k, RULE_COLOURS[name], REASONS[name]) for k, name in enumerate(RULES)]
    found = []
    for k, colour, label in (*looks, (-1, OTHER_COLOUR, OTHER)):
        own = wall.faces[rule == k]
        if len(own):
            used, index = np.unique(own, return_inverse=True)
            found.append(Band(wall.vertices[used], index.reshape(-1, 3), colour, label))
    return tuple(found)


def _below_platform(robot: Robot, band: Band) -> Band:
    """A slice is drawn at the underside of the platform, which it would cut in two otherwise."""
    low = np.array([0.0, 0.0, float(robot_parts(robot)["platform"].shape.vertices[:, 2].min())])
    return replace(band, vertices=band.vertices + 1.1 * low)


# The tab.

NONE = "none"
INSIDE, OUTSIDE = "from inside", "from outside"
CYLINDER, SHELL = 0.25, 0.6  # opacity


class Surfaces:
    """Coloured surfaces under a name of the scene's tree."""

    def __init__(self, client: viser.ClientHandle, root: str) -> None:
        self._client, self._root = client, root
        self._nodes: list[Any] = []

    def show(
        self,
        bands: Sequence[Band],
        opacity: float | None = None,
        side: Literal["front", "back", "double"] = "double",
    ) -> None:
        """Draw these bands in place of those that were there; `side` is the one that is seen."""
        self.clear()
        for k, band in enumerate(bands):
            node = self._client.scene.add_mesh_simple(
                f"{self._root}/{k}",
                band.vertices,
                band.faces,
                color=band.colour,
                opacity=opacity,
                side=side,
                cast_shadow=False,
                receive_shadow=False,
            )
            self._nodes.append(node)

    def clear(self) -> None:
        """Take them away."""
        for node in self._nodes:
            node.remove()
        self._nodes.clear()


def legend(keys: Iterable[Key], title: str) -> str:
    """Colours and what they mean."""
    items = "".join(
        '<li style="list-style:none"><span style="display:inline-block;width:1.2em;height:0.9em;'
        f'margin-right:0.5em;vertical-align:middle;background:rgb{key.colour}"></span>'
        f"{escape(key.label)}</li>"
        for key in keys
    )
    return (
        f'<div style="margin:4px 8px;font-size:0.8em"><b>{escape(title)}</b>'
        f'<ul style="margin:2px 0;padding:0">{items}</ul></div>'
    )


class VolumesTab(Tab):
    """What is drawn around the robot."""

    def __init__(self, window: Window, tab: Any) -> None:
        super().__init__(window, tab)
        gui = self._gui
        self._kind = gui.add_dropdown("colour by", (NONE, *KINDS), initial_value=NONE)
        self._margin = gui.add_slider("least singularity margin (deg)", 0.0, 45.0, 1.0, 0.0)
        self._wall = gui.add_dropdown(
            "wall",
            (INSIDE, OUTSIDE, NONE),
            initial_value=INSIDE,
            hint="From inside only the far wall is drawn, so that the robot stays in sight",
        )
        self._cut = gui.add_checkbox("slice at the platform", True)
        self._limit = gui.add_checkbox("working cylinder", False)
        self._again = gui.add_button("Slice here", hint="At the platform's height now")
        self._again.disabled = True  # until something is drawn
        self._legend = gui.add_html("")
        self._wall_surface = Surfaces(window.client, "/volume/wall")
        self._slice_surface = Surfaces(window.client, "/volume/slice")
        self._cylinder_surface = Surfaces(window.client, "/volume/cylinder")
        draw = window.guarded(self._draw, locked=False)
        for control in (self._kind, self._margin, self._wall, self._cut, self._limit):
            control.on_update(draw)
        self._again.on_click(draw)
        self._drawing = self._stale = False  # one draw at a time; what changed since is drawn next

    def robot_changed(self) -> None:
        """Draw for the new robot, where something is drawn."""
        try:
            self._draw(None)
        except DeltadynError as error:
            self.window.complain(error)

    def _draw(self, _event: Any) -> None:
        """Draw what is chosen; where a draw is under way, that one does it once more.

        A slider that is pulled asks for many volumes: one thread computes, and only the last one.
        """
        lock = self.window.session.lock
        with lock:
            self._stale = True
            if self._drawing:
                return
            self._drawing = True
        while True:
            with lock:
                if not self._stale or self.window.closed:
                    self._drawing = False
                    return
                self._stale = False
            try:
                self._draw_once()
            except Exception:  # of any kind: the next draw must not wait for this one for ever
                with lock:
                    if not self._stale:  # else it is out of date, and the next draw tells
                        self._drawing = False
                        raise

    def _draw_once(self) -> None:
        session = self.window.session
        with session.lock:
            self._show_cylinder()
            drawn = self._kind.value not in (NONE, "limits")  # limits have no slice
            self._again.disabled = not (drawn and self._cut.value)
            if self._kind.value == NONE:
                self._wall_surface.clear()
                self._slice_surface.clear()
                self._legend.content = ""
                return
        self._legend.content = paragraph("computing ...")
        pose, robot = session.pose.p, session.robot
        height = float(robot.in_space(pose)[2]) if self._cut.value else None
        psi = float(pose[3]) if carries_psi(robot) else 0.0
        try:
            margin = math.radians(self._margin.value)
            found = session.volume(self._kind.value, margin, height, psi)
        except Exception:  # e.g. no pose keeps the margin; the window shows it
            self._legend.content = ""
            self._wall_surface.clear()
            self._slice_surface.clear()
            raise
        with session.lock:
            if self._stale or self.window.closed:
                return
            wall = self._wall.value
            bands = () if wall == NONE else found.wall
            with self.window.client.atomic():  # all colours in one frame
                if robot.planar:
                    self._wall_surface.show(bands, SHELL)
                elif wall == INSIDE:
                    self._wall_surface.show(bands, side="back")
                else:  # the platform is seen through it
                    self._wall_surface.show(bands, SHELL, "front")
                self._slice_surface.show([_below_platform(session.robot, x) for x in found.slice])
            text = found.status
            if self._cut.value and found.kind == "limits" and not robot.planar:
                text += "; limits have no slice"
            self._legend.content = paragraph(text) + legend(found.legend, found.kind)

    def _show_cylinder(self) -> None:
        band = cylinder_mesh(self.window.session.robot)
        if self._limit.value and band is None:
            self.window.say("the robot file names no limits.workspace", "warning")
        self._cylinder_surface.show([band] if self._limit.value and band else [], CYLINDER)
