"""One browser window: its session, its 3-D view and its tabs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from deltadyn.errors import DeltadynError
from deltadyn.studio.html import message_box
from deltadyn.studio.pose import OutOfReachError
from deltadyn.studio.scene import RobotScene, floor, look_at_robot
from deltadyn.studio.session import Session
from deltadyn.studio.tabs.log import LogTab
from deltadyn.studio.tabs.motion import MotionTab
from deltadyn.studio.tabs.pose import PoseTab
from deltadyn.studio.tabs.robot import RobotTab
from deltadyn.studio.tabs.volumes import VolumesTab
from deltadyn.studio.uploads import Upload

if TYPE_CHECKING:
    import viser

NOTICE_SECONDS = 8.0


class Window:
    """The page of one client; `close` ends what it started."""

    def __init__(self, client: viser.ClientHandle, session: Session) -> None:
        self.client, self.session = client, session
        self.closed = False
        self.scene = RobotScene(client, "/robot")
        self.ghost = RobotScene(client, "/before", ghost=True)
        self.show_before = False
        self._grip: Any = None
        self._grab: np.ndarray[Any, Any] | None = None
        self._message = client.gui.add_html("")
        tabs = client.gui.add_tab_group()
        with tabs.add_tab("Robot") as tab:
            self.robot_tab = RobotTab(self, tab)
        with tabs.add_tab("Pose") as tab:
            self.pose_tab = PoseTab(self, tab)
        with tabs.add_tab("Volumes") as tab:
            self.volumes_tab = VolumesTab(self, tab)
        with tabs.add_tab("Motion") as tab:
            self.motion_tab = MotionTab(self, tab)
        with tabs.add_tab("Log") as tab:
            self.log_tab = LogTab(self, tab)
        self.robot_changed(new=True)

    # messages and errors

    def say(self, text: str, kind: str = "info") -> None:
        """Show a message above the tabs; an empty one takes it away."""
        self._message.content = message_box(kind, text)

    def complain(self, error: BaseException | str) -> None:
        """Show what went wrong, and log it in one line; the studio lives on."""
        known = isinstance(error, DeltadynError | str)
        text = str(error) if known else f"unexpected {type(error).__name__}: {error}"
        self.say(text, "error")
        if isinstance(error, OutOfReachError):
            return  # a drag asks for such poses all the time
        self.client.add_notification(
            "Error", text[:400], color="red", auto_close_seconds=NOTICE_SECONDS
        )
        line = " ".join(text.split())
        print(f"deltadyn studio: window {self.client.client_id}: {line}", file=sys.stderr)

    def guarded(self, act: Callable[[Any], None], *, locked: bool = True) -> Callable[[Any], None]:
        """`act` for a callback of the page: only the user's own acts count, errors are shown."""

        def call(event: Any) -> None:
            if self.closed or getattr(event, "client_id", 0) is None:
                return
            try:
                if locked:
                    with self.session.lock:
                        act(event)
                else:
                    act(event)
            except Exception as error:  # one window's trouble must not end the others
                self.complain(error)

        return call

    def uploaded(self, event: Any) -> Upload:
        """What an upload button received; the button lets go of it."""
        import viser

        value = event.target.value
        event.target._impl.value = viser.UploadedFile("", b"")  # else it lives as long as the page
        return Upload(value.name, value.content)

    # what changed

    def robot_changed(self, *, new: bool = False) -> None:
        """Draw the robot again and refresh all tabs; a new robot also moves the camera."""
        session = self.session
        self.scene.show(session.robot, session.pose.p)
        self._draw_before()
        self._place_grip(new)
        platform = self.scene.node("platform")
        platform.on_drag(self.guarded(self._dragged_platform))
        if new:
            look_at_robot(self.client, session.robot)
            floor(self.client, session.robot)
            self.log_tab.cancel()
            self.log_tab.refresh()
        self.robot_tab.refresh()
        self.pose_tab.rebuild()
        self.volumes_tab.robot_changed()
        self.motion_tab.refresh()
        self.pose_changed()

    def pose_changed(self, *, grip: bool = True, held: Any = None) -> None:
        """Move the robot to the session's pose and refresh the numbers, not the slider `held`."""
        session = self.session
        self.scene.move(session.pose.p)
        if self.ghost.robot is not None:
            self._move_ghost()
        if grip and self._grip is not None:
            self._grip.position = session.pose.p[:3]
        self.pose_tab.refresh(held)

    def set_before(self, visible: bool) -> None:
        """Show or hide the robot before the changes."""
        self.show_before = visible
        self._draw_before()

    def close(self) -> None:
        """The client is gone: end what runs for it."""
        self.closed = True
        self.motion_tab.close()
        self.log_tab.cancel()

    # drags

    def _place_grip(self, new: bool) -> None:
        session = self.session
        if self._grip is not None and not new:
            self._grip.position = session.pose.p[:3]
            return
        if self._grip is not None:
            self._grip.remove()
        reach = float(np.mean(session.robot.geometry.arm_length))
        self._grip = self.client.scene.add_transform_controls(
            "/grip",
            scale=0.4 * reach,
            line_width=3.0,
            disable_rotations=True,
            disable_sliders=True,  # the platform itself can be dragged in the plane of the view
            depth_test=False,
            position=session.pose.p[:3],
        )
        self._grip.on_update(self.guarded(self._dragged_grip))

    def _dragged_grip(self, event: Any) -> None:
        target = np.asarray(self._grip.position, dtype=float)  # the latest: callbacks may queue
        if np.allclose(target, self.session.pose.p[:3], rtol=0, atol=1e-7):
            return
        self.motion_tab.pause()
        self._drag(target, released=event.phase == "end")

    def _dragged_platform(self, event: Any) -> None:
        if event.phase == "start" or self._grab is None:
            self._grab = np.asarray(event.start_position) - self.session.pose.p[:3]
            self.motion_tab.pause()
        if event.phase != "start":
            self._drag(np.asarray(event.end_position) - self._grab, released=True)
        if event.phase == "end":
            self._grab = None

    def _drag(self, target: np.ndarray[Any, Any], *, released: bool) -> None:
        try:
            self.session.drag(target)
            self.say("")
        except OutOfReachError as error:
            self.complain(error)
        self.pose_changed(grip=released)

    def _draw_before(self) -> None:
        session = self.session
        self.ghost.clear()
        if self.show_before and session.reference != session.robot:
            self.ghost.robot = session.reference
            self._move_ghost()

    def _move_ghost(self) -> None:
        """The robot before the changes at the same platform pose, where it reaches it."""
        from deltadyn.studio.pose import pose_at

        session = self.session
        try:
            p = pose_at(session.reference, session.pose.p[: session.reference.dof]).p
        except DeltadynError:
            self.ghost.clear()
            self.ghost.robot = session.reference
            return
        self.ghost.place(session.reference, p)
