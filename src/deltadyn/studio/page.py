"""Pieces of the page: HTML in the tabs, and the robot in the 3-D view."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.report.html import is_number, items_html
from deltadyn.report.picture import drawn_rails
from deltadyn.report.verdict import BAD, CARE, GOOD, Verdict
from deltadyn.robot import Robot
from deltadyn.studio.drawing import arm_labels, robot_parts, robot_places

if TYPE_CHECKING:
    import viser

    from deltadyn.studio.server import Window


# HTML: every text is escaped, because names and cells come from uploaded files.

#: Text and ground of a box; the contrast is above 4.5 : 1.
BOXES = {
    "error": ("#8f1d1d", "#fdecec"),
    "warning": ("#7a4b00", "#fff4dd"),
    "info": ("#1f3f66", "#eaf2fb"),
    "good": ("#1d5c2a", "#e9f6ec"),
}
_CELL = "padding:1px 6px;border-bottom:1px solid #e3e6ea;vertical-align:top;"


def message_box(kind: str, text: str) -> str:
    """A box with a text; nothing for an empty one."""
    return _box(kind, escape(text)) if text else ""


def verdict_box(verdict: Verdict) -> str:
    """The verdict: word and colour say the grade."""
    kind = {GOOD: "good", CARE: "warning", BAD: "error"}.get(verdict.grade, "info")
    reasons = items_html([*verdict.reasons, *verdict.notes])
    return _box(kind, f"<b>Verdict: {escape(verdict.grade)}</b>{reasons}")


def _box(kind: str, html: str) -> str:
    ink, ground = BOXES[kind]
    return (
        '<div role="status" style="margin:4px 8px 8px;padding:6px 10px;overflow-wrap:anywhere;'
        f"border-left:4px solid {ink};color:{ink};background:{ground};font-size:0.85em"
        f'">{html}</div>'
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> str:
    """A table; numbers stand to the right, but in the first column."""
    above = "".join(
        f'<th scope="col" style="{_CELL}text-align:left">{escape(x)}</th>' for x in head
    )
    body = "".join(
        f"<tr>{''.join(_cell(text, k == 0) for k, text in enumerate(row))}</tr>" for row in rows
    )
    name = f'<caption style="text-align:left;font-weight:600">{escape(title)}</caption>'
    return (
        '<div style="margin:4px 8px;overflow-x:auto"><table style="border-collapse:collapse;'
        f'font-size:0.8em;width:100%">{name if title else ""}<thead><tr>{above}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def paragraph(text: str) -> str:
    """A small paragraph."""
    return f'<p style="margin:4px 8px;font-size:0.85em;overflow-wrap:anywhere">{escape(text)}</p>'


def preformatted(text: str) -> str:
    """A text in columns."""
    return (
        '<pre style="margin:4px 8px;font-size:0.68em;overflow-x:auto;line-height:1.35">'
        f"{escape(text)}</pre>"
    )


def _cell(text: str, first: bool) -> str:
    side = "right" if not first and is_number(text) else "left"
    return f'<td style="{_CELL}text-align:{side}">{escape(text)}</td>'


class Tab:
    """A tab of a window, and the controls of the page."""

    def __init__(self, window: Window, tab: Any) -> None:
        self.window, self._tab = window, tab
        self._gui: Any = window.client.gui


# The 3-D view of one window: parts made once, then moved.

GHOST = 0.25  # opacity of the robot before the changes


class RobotScene:
    """The parts of one robot under a name of the scene's tree."""

    def __init__(self, client: viser.ClientHandle, root: str, *, ghost: bool = False) -> None:
        self._client, self._root, self._ghost = client, root, ghost
        self._nodes: dict[str, Any] = {}
        self.robot: Robot | None = None

    def show(self, robot: Robot, p: FloatArray) -> None:
        """Make the parts of a robot, in place of those that were there."""
        self.clear()
        places = robot_places(robot, p)
        for name, part in robot_parts(robot).items():
            position, wxyz = places.get(name, (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])))
            self._nodes[name] = self._client.scene.add_mesh_simple(
                f"{self._root}/{name}",
                part.shape.vertices,
                part.shape.faces,
                color=part.colour,
                opacity=GHOST if self._ghost else None,
                flat_shading=not name.startswith(("rod", "pin", "spindle", "motors")),
                side="double",
                cast_shadow=False,
                receive_shadow=False,
                position=position,
                wxyz=wxyz,
            )
        if not self._ghost:
            for name, place in arm_labels(robot, places).items():
                self._nodes[name] = self._client.scene.add_label(
                    f"{self._root}/{name}",
                    name.split()[-1],
                    position=place,
                    font_screen_scale=1.2,
                    anchor="center-center",
                )
        self.robot = robot

    def move(self, p: FloatArray) -> None:
        """Put the parts where they are with the platform at p (dof,)."""
        if self.robot is None:
            return
        places = robot_places(self.robot, p)
        labels = {} if self._ghost else arm_labels(self.robot, places)
        with self._client.atomic():
            for name, place in labels.items():
                self._nodes[name].position = place
            for name, (position, wxyz) in places.items():
                node = self._nodes[name]
                node.position, node.wxyz = position, wxyz

    def place(self, robot: Robot, p: FloatArray) -> None:
        """Move the parts; make them where there are none."""
        if self._nodes:
            self.move(p)
        else:
            self.show(robot, p)

    def clear(self) -> None:
        """Take all parts away."""
        for node in self._nodes.values():
            node.remove()
        self._nodes.clear()
        self.robot = None

    def platform_nodes(self) -> list[Any]:
        """The nodes of the platform and its halves, to hear of drags."""
        return [
            self._nodes[name] for name in ("platform", "half 1", "half 2") if name in self._nodes
        ]


def look_at_robot(client: viser.ClientHandle, robot: Robot) -> tuple[float, FloatArray]:
    """Put the camera where the whole robot is seen, farther away in a narrow view.

    Gives the view's width over its height and the place (3,) of the camera.
    """
    middle, reach = _extent(robot)
    aspect = float(client.camera.aspect)
    away = reach * max(1.0, 0.75 / max(aspect, 0.3))
    place = middle + away * _eye(robot)
    client.camera.up_direction = (0.0, 0.0, 1.0)
    client.camera.position = place
    client.camera.look_at = middle
    return aspect, place


def _eye(robot: Robot) -> FloatArray:
    """Where the eye is from the middle of the robot (3,); no limb stands before another."""
    if robot.legs != 4:
        return np.array((0.34, -0.93, 0.3) if robot.planar else (0.78, -0.62, 0.3))
    first = math.radians(20.0) - robot.geometry.azimuth[0]
    turn = -math.radians(20.0) - math.remainder(first - math.radians(20.0), math.pi / 2)
    return np.array([math.cos(turn), math.sin(turn), 0.3])


def _extent(robot: Robot) -> tuple[FloatArray, float]:
    """The middle (3,) of the robot and how far away its view is taken (m)."""
    if not robot.linear:
        reach = robot.geometry.size + float(np.max(robot.geometry.strut_length))
        return np.array([0.0, 0.0, -0.4 * reach]), reach
    points = np.concatenate([*drawn_rails(robot), robot.in_space(home_pose(robot))[None]])
    low, high = points.min(axis=0), points.max(axis=0)
    return (low + high) / 2, float(np.linalg.norm(high - low)) * 0.85


def _lowest(robot: Robot) -> float:
    """Where the floor is drawn (m)."""
    reach = robot.geometry.size + float(np.max(robot.geometry.strut_length))
    if not robot.linear:
        return -0.95 * reach
    tool = float(robot.in_space(home_pose(robot))[2]) - 0.4 * reach
    return min(tool, float(drawn_rails(robot)[0][:, 2].min()))


def floor(client: viser.ClientHandle, robot: Robot) -> None:
    """A grid below the robot, a decimetre per cell."""
    client.scene.add_grid(
        "/floor",
        width=1.6,
        height=1.6,
        cell_size=0.1,
        section_size=0.5,
        cell_color=(236, 238, 241),
        section_color=(216, 220, 226),
        position=(0.0, 0.0, _lowest(robot)),
        shadow_opacity=0.0,
    )
