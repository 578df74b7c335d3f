"""The robot in the 3-D view of one window: parts made once, then moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.robot import Robot
from deltadyn.studio.drawing import robot_parts, robot_places
from deltadyn.studio.volumes import Band

if TYPE_CHECKING:
    import viser

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
        self.robot = robot

    def move(self, p: FloatArray) -> None:
        """Put the parts where they are with the platform at p (dof,)."""
        if self.robot is None:
            return
        places = robot_places(self.robot, p)
        with self._client.atomic():
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

    def node(self, name: str) -> Any:
        """The node of a part, to hear of drags."""
        return self._nodes[name]


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


def look_at_robot(client: viser.ClientHandle, robot: Robot) -> None:
    """Put the camera where the whole robot is seen."""
    reach = float(np.max(robot.geometry.arm_length) + np.max(robot.geometry.strut_length))
    middle = -0.4 * reach
    client.camera.up_direction = (0.0, 0.0, 1.0)
    client.camera.position = (0.78 * reach, -0.62 * reach, middle + 0.3 * reach)
    client.camera.look_at = (0.0, 0.0, middle)


def floor(client: viser.ClientHandle, robot: Robot) -> None:
    """A grid below the robot, a decimetre per cell."""
    reach = float(np.max(robot.geometry.arm_length) + np.max(robot.geometry.strut_length))
    client.scene.add_grid(
        "/floor",
        width=1.6,
        height=1.6,
        cell_size=0.1,
        section_size=0.5,
        cell_color=(236, 238, 241),
        section_color=(216, 220, 226),
        position=(0.0, 0.0, -0.95 * reach),
        shadow_opacity=0.0,
    )
