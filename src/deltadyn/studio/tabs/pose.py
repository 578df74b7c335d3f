"""The tab Pose: sliders both ways, and what holds the robot there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from deltadyn.kinematics import workspace
from deltadyn.studio.motions import OutOfReachError, axis_rows, pose_rows, strut_rows
from deltadyn.studio.page import table

if TYPE_CHECKING:
    from deltadyn.studio.server import Window

PLATFORM = ("x (mm)", "y (mm)", "z (mm)", "psi (deg)")
JOINTS = ("theta 1 (deg)", "theta 2 (deg)", "theta 3 (deg)", "psi (deg)")
WIDE = (-90.0, 120.0)  # deg, of an arm without limits
BEYOND = 10.0  # deg that a slider reaches beyond a limit, so that the limit can be seen


class PoseTab:
    """Sliders of the platform and of the joints, and the live tables."""

    def __init__(self, window: Window, tab: Any) -> None:
        self.window, self._tab = window, tab
        gui: Any = window.client.gui
        self._folders: list[Any] = []
        self._platform: list[Any] = []
        self._joints: list[Any] = []
        self._table = gui.add_html("")

    def rebuild(self) -> None:
        """New sliders: the ranges are the robot's."""
        gui: Any = self.window.client.gui
        for folder in self._folders:
            folder.remove()
        robot = self.window.session.robot
        with self._tab:
            platform = gui.add_folder("Platform", order=self._table.order - 2)
            joints = gui.add_folder("Joints", order=self._table.order - 1)
        with platform:
            spans = self._spans()
            self._platform = [
                gui.add_slider(PLATFORM[k], *spans[k], 0.1 if k == 3 else 1.0, sum(spans[k]) / 2)
                for k in range(robot.dof)
            ]
        with joints:
            self._joints = [
                gui.add_slider(JOINTS[k], *self._turn(k), 0.1, sum(self._turn(k)) / 2)
                for k in range(3)
            ]
        self._folders = [platform, joints]
        for k, slider in enumerate(self._platform):
            slider.on_update(self.window.guarded(self._moved(k)))
        for k, slider in enumerate(self._joints):
            slider.on_update(self.window.guarded(self._turned(k)))

    def refresh(self, held: Any = None) -> None:
        """Show the session's pose; a slider that is `held` may be ahead of it and stays."""
        pose = self.window.session.pose
        for k, slider in enumerate(self._platform):
            if slider is not held:
                _set(slider, math.degrees(pose.p[3]) if k == 3 else 1e3 * float(pose.p[k]))
        for k, slider in enumerate(self._joints):
            if slider is not held:
                _set(slider, math.degrees(pose.q[k]))
        head = ("axis", "angle deg", "to limit deg", "rate", "holding N m", "of peak")
        struts = ("strut", "force N (tension +)", "ball joint deg", "left deg")
        self._table.content = (
            table(("pose", ""), pose_rows(pose))
            + table(head, axis_rows(pose), "Axes at rest")
            + table(struts, strut_rows(pose), "Struts at rest")
        )

    def _spans(self) -> list[tuple[float, float]]:
        """Ranges of x, y, z (mm) and psi (deg): those of the workspace, all around."""
        robot = self.window.session.robot
        wall = workspace(robot, heights=21, azimuths=36)
        if wall.heights.size:
            radius = float(np.ceil(1e3 * wall.radius.max()))
            low, high = (float(np.round(1e3 * z)) for z in wall.heights[[0, -1]])
        else:
            here = 1e3 * self.window.session.pose.p
            radius, low, high = 500.0, float(here[2]) - 500.0, 0.0
        return [(-radius, radius), (-radius, radius), (low, high), (-180.0, 180.0)]

    def _turn(self, axis: int) -> tuple[float, float]:
        limits = self.window.session.robot.limits
        low, high = WIDE
        if limits.angle_min is not None:
            low = math.floor(math.degrees(limits.angle_min[axis])) - BEYOND
        if limits.angle_max is not None:
            high = math.ceil(math.degrees(limits.angle_max[axis])) + BEYOND
        return float(low), float(high)

    def _moved(self, axis: int) -> Any:
        def act(_event: Any) -> None:
            slider = self._platform[axis]
            target = math.radians(slider.value) if axis == 3 else 1e-3 * slider.value
            self._try(lambda: self.window.session.move_axis(axis, target), slider)

        return act

    def _turned(self, axis: int) -> Any:
        def act(_event: Any) -> None:
            slider = self._joints[axis]
            target = math.radians(slider.value)
            self._try(lambda: self.window.session.turn_joint(axis, target), slider)

        return act

    def _try(self, move: Any, slider: Any) -> None:
        self.window.motion_tab.pause()
        try:
            move()
            self.window.say("")
        except OutOfReachError as error:
            self.window.complain(error)
            slider = None  # it goes back
        self.window.pose_changed(held=slider)


def _set(slider: Any, value: float) -> None:
    """Move a slider without moving the one that the user holds."""
    if abs(slider.value - value) > 0.51 * slider.step:
        slider.value = min(max(round(value, 1), slider.min), slider.max)
