"""The server behind the page, and its windows."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from deltadyn.errors import DeltadynError, InputError
from deltadyn.robot import Robot
from deltadyn.studio.access import LOOPBACK, Access, warning
from deltadyn.studio.calibration import CalibrationTab
from deltadyn.studio.drawing import thickness
from deltadyn.studio.force import ForceArrow
from deltadyn.studio.forms import PAGE_SCRIPT, run_script
from deltadyn.studio.log import LogTab
from deltadyn.studio.motion import MotionTab, Track
from deltadyn.studio.page import RobotScene, Tab, floor, look_at_robot, message_box
from deltadyn.studio.pose import OutOfReachError, PoseTab, pose_at
from deltadyn.studio.project import ProjectTab, open_project
from deltadyn.studio.robot import RobotTab
from deltadyn.studio.session import Session, Upload, UploadError, check_size
from deltadyn.studio.volumes import VolumesTab

if TYPE_CHECKING:
    import viser


T = TypeVar("T", bound=Tab)

TITLE = "deltadyn studio"
PANEL_WIDTH = 440  # pixels
BRAND = (31, 95, 168)
M_ARENA_MAX = -8  # of glibc's malloc.h
THREADS = max(8, 4 * (os.cpu_count() or 1))  # for what the users of all windows do


class Studio:
    """A running studio; `stop` ends it."""

    def __init__(
        self,
        robot: Robot,
        port: int = 8080,
        max_upload: float = 200.0,
        project: str | None = None,
        host: str = LOOPBACK,
    ) -> None:
        if not max_upload > 0:
            raise InputError("--max-upload", max_upload, "above 0 MB")
        self._robot, self._max_upload, self._project = robot, max_upload, project
        share_memory()
        self._session()  # what cannot be shown is refused before a page opens
        self._windows: dict[int, Window] = {}
        self._unswept, self._sweeping = False, threading.Lock()
        self._access = Access.to(host, port)
        self._server = _listen(self._access)
        # Shadows take most of the time of a frame where there is no graphics card.
        self._server.scene.configure_default_lights(cast_shadow=False)
        self._server.gui.configure_theme(
            show_logo=False, show_share_button=False, brand_color=BRAND
        )
        self._server.gui.set_panel_label(TITLE)
        self._server.gui.main_panel.dock_right()
        self._server.gui.main_panel.set_width(PANEL_WIDTH)
        self._server.on_client_connect(self._connect)
        self._server.on_client_disconnect(self._disconnect)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.get_port())

    @property
    def address(self) -> str:
        """What to type into a browser."""
        return self._access.address

    @property
    def warning(self) -> str:
        """What others can do; empty where only this machine reaches it."""
        return "" if self._access.token is None else warning(self._access)

    @property
    def windows(self) -> int:
        """How many windows are open."""
        return len(self._windows)

    def stop(self) -> None:
        """End all sessions and the server."""
        for window in list(self._windows.values()):
            window.close()
        self._windows.clear()
        with _silence():
            self._server.stop()

    def _session(self) -> Session:
        """The session with which a window begins: the robot, or that of the project."""
        session = Session(self._robot, self._max_upload)
        if self._project is not None:
            open_project(session, self._project)
        return session

    def _connect(self, client: viser.ClientHandle) -> None:
        try:
            _set_title(client)
            session = self._session()
            window = Window(client, session, self._project or "")
            self._windows[client.client_id] = window
            limit_uploads(client, session.limit, window)
            if client.client_id not in self._server._websock_server._live_connections:
                self._disconnect(client)  # gone while its window was made: nobody else tells
        except Exception as error:  # one window's trouble must not end the others
            print(f"{TITLE}: window {client.client_id}: {error!r}", file=sys.stderr)

    def _disconnect(self, client: viser.ClientHandle) -> None:
        window = self._windows.pop(client.client_id, None)
        if window is not None:
            window.close()
            del window
            self._sweep()

    def _sweep(self) -> None:
        """Give back the memory of windows that closed; once for those that close together."""
        self._unswept = True
        while self._unswept and self._sweeping.acquire(blocking=False):
            try:
                self._unswept = False
                gc.collect()  # a window and its controls know each other
                give_back_memory()
            finally:
                self._sweeping.release()


def share_memory() -> None:
    """Let all threads take memory from the same two places.

    glibc gives every thread a place of its own, which keeps 10 MB or so of what it once held.
    """
    _call_c_library("mallopt", M_ARENA_MAX, 2)


def give_back_memory() -> None:
    """Let the C library return free memory to the system."""
    _call_c_library("malloc_trim", 0)


def _call_c_library(name: str, *values: int) -> None:
    """Call a function that glibc has; elsewhere nothing is done."""
    if sys.platform == "linux":
        function = getattr(ctypes.CDLL(None), name, None)
        if function is not None:
            function(*values)


def limit_uploads(client: viser.ClientHandle, limit: int, window: Window) -> None:
    """Refuse uploads that say, or turn out, to be larger than `limit` bytes before they are whole.

    viser gathers the parts of uploads in memory. What is too large is let go at its first part, and
    all uploads of a window that are under way together have the same limit.
    """
    from viser import _messages

    states = client.gui._current_file_upload_states
    interface = client.gui._websock_interface

    def refuse(
        transfer: str, component: str, name: str, size: int, told: int, *, several: bool
    ) -> None:
        if states.pop(transfer, None) is None:
            return
        interface.queue_message(  # the page waits for this to let go of the button
            _messages.FileTransferPartAck(
                source_component_uuid=component,
                transfer_uuid=transfer,
                transferred_bytes=told,
                total_bytes=told,
            )
        )
        try:
            shown = Upload(name, b"").shown
            check_size(f"{shown}, with uploads under way," if several else shown, size, limit)
        except UploadError as error:
            window.complain(error)

    def started(_client: Any, message: Any) -> None:
        own = states.get(message.transfer_uuid)
        others = sum(state["total_bytes"] for state in list(states.values()) if state is not own)
        if message.size_bytes + others > limit:
            size = message.size_bytes + others
            name, part = message.filename, message.source_component_uuid
            refuse(message.transfer_uuid, part, name, size, size, several=others > 0)

    def part_came(_client: Any, message: Any) -> None:
        state = states.get(message.transfer_uuid)
        size = sum(each["transferred_bytes"] for each in list(states.values()))
        if state is not None and size > limit:
            told = state["total_bytes"]
            component = message.source_component_uuid or ""
            several = size > state["transferred_bytes"]
            name = state["filename"]
            refuse(message.transfer_uuid, component, name, size, told, several=several)

    interface.register_handler(_messages.FileTransferStartUpload, started)
    interface.register_handler(_messages.FileTransferPart, part_came)


def _listen(access: Access) -> viser.ViserServer:
    try:
        import viser
    except ImportError as error:
        raise DeltadynError(
            "the studio needs viser, which is not installed: pip install 'deltadyn[studio]'"
        ) from error
    port = access.port
    with _silence(), access.guarding():
        server = viser.ViserServer(host=access.host, port=port, label=TITLE, verbose=False)
    if server.get_port() != port:  # taken between the look and the start
        found = server.get_port()
        server.stop()
        raise InputError("--port", port, f"a port that is free (the next one is {found})")
    # viser has 32, which is more than the cores can serve.
    server._thread_executor._max_workers = THREADS
    # A page could ask viser to publish the studio through a server on the internet: never.
    server.request_share_url = _no_share  # type: ignore[method-assign]
    return server


def _no_share(verbose: bool = True) -> None:
    print(f"{TITLE}: it is not shared beyond this machine", file=sys.stderr)


@contextlib.contextmanager
def _silence() -> Any:
    """viser greets on stdout; the command says what is needed itself."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def _set_title(client: viser.ClientHandle) -> None:
    """The title of the page in the browser's tab; viser has no call for it."""
    source = f"document.title = {TITLE!r}; document.documentElement.lang = 'en';"
    run_script(client, source + PAGE_SCRIPT)


# One browser window: its session, its 3-D view and its tabs.

NOTICE_SECONDS = 8.0
MOST_WAITING = 1000  # acts of a window that may wait for the one before


class Turns:
    """Acts of one window, one after the other, in the order in which they came.

    All windows share the threads of the server. An act that comes while another of its window runs
    waits in a queue and not in a thread: a window that reads a long log while its user drags holds
    one thread, and the others go on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], None]] = deque()
        self._running = False

    def run(self, act: Callable[[], None]) -> None:
        """Do an act now, or after those before; refused where too many wait."""
        with self._lock:
            if len(self._waiting) >= MOST_WAITING:
                raise DeltadynError(f"{MOST_WAITING} acts wait already: this one was not done")
            self._waiting.append(act)
            if self._running:
                return
            self._running = True
        while True:
            with self._lock:
                if not self._waiting:
                    self._running = False
                    return
                act = self._waiting.popleft()
            act()


class Window:
    """The page of one client; `close` ends what it started."""

    def __init__(self, client: viser.ClientHandle, session: Session, project: str = "") -> None:
        self.client, self.session = client, session
        self.project = project  # the folder that it was opened from
        self.closed = False
        self._turns = Turns()
        self.scene = RobotScene(client, "/robot")
        self.ghost = RobotScene(client, "/before", ghost=True)
        self.arrow = ForceArrow(client, "/force")
        self.show_before = False
        self._grip: Any = None
        self._grab: np.ndarray[Any, Any] | None = None
        self._message = client.gui.add_html("")
        tabs = client.gui.add_tab_group()
        self.robot_tab = self._made(tabs, "Robot", RobotTab)
        self.pose_tab = self._made(tabs, "Pose", PoseTab)
        self.volumes_tab = self._made(tabs, "Volumes", VolumesTab)
        self.motion_tab = self._made(tabs, "Motion", MotionTab)
        self.log_tab = self._made(tabs, "Log", LogTab)
        self.calibration_tab = self._made(tabs, "Calibrate", CalibrationTab)
        self._made(tabs, "Project", ProjectTab)
        self.robot_changed(new=True)
        client.camera.on_update(self._camera_moved)

    def _made(self, tabs: Any, title: str, kind: Callable[[Window, Any], T]) -> T:
        """A new tab."""
        with tabs.add_tab(title) as tab:
            return kind(self, tab)

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
        """`act` for a callback of the page: only the user's own acts count, errors are shown.

        Those that are `locked` come one after the other and have the session for themselves.
        """

        def do(event: Any) -> None:
            if self.closed:
                return
            try:
                with self.session.lock if locked else contextlib.nullcontext():
                    act(event)
            except Exception as error:  # one window's trouble must not end the others
                self.complain(error)

        def call(event: Any) -> None:
            if self.closed or getattr(event, "client_id", 0) is None:
                return
            if not locked:
                do(event)
                return
            try:
                self._turns.run(lambda: do(event))
            except DeltadynError as error:
                self.complain(error)

        return call

    def button(
        self, label: str, act: Callable[[Any], None], *, locked: bool = True, **look: Any
    ) -> Any:
        """A button that does `act`; `look` is what viser knows of buttons."""
        made = self.client.gui.add_button(label, **look)
        made.on_click(self.guarded(act, locked=locked))
        return made

    def upload_button(self, label: str, act: Callable[[Upload], None], **look: Any) -> None:
        """A button that takes a file of the user."""
        made = self.client.gui.add_upload_button(label, **look)

        def came(event: Any) -> None:
            if not self.closed:
                upload = self.uploaded(event)  # now: the next one takes its place
                self.guarded(lambda _: act(upload))(event)

        made.on_upload(came)

    def uploaded(self, event: Any) -> Upload:
        """What an upload button received; the button lets go of it."""
        import viser

        value = event.target.value
        event.target._impl.value = viser.UploadedFile("", b"")  # else it lives as long as the page
        return Upload(value.name, value.content)

    def send(self, name: str, content: bytes) -> None:
        """Let the browser save a file under this name."""
        self.client.send_file_download(name, content, save_immediately=True)

    # what changed

    def robot_changed(self, *, new: bool = False) -> None:
        """Draw the robot again and refresh all tabs; a new robot also moves the camera."""
        session = self.session
        self.scene.show(session.robot, session.pose.p)
        self._draw_before()
        self._place_grip(new)
        for part in self.scene.platform_nodes():
            part.on_drag(self.guarded(self._dragged_platform))
        if new:
            self._look()
            floor(self.client, session.robot)
            self.log_tab.cancel()
        self.log_tab.refresh()
        self.robot_tab.refresh()
        self.pose_tab.rebuild()
        self.volumes_tab.robot_changed()
        self.calibration_tab.robot_changed()
        self.motion_tab.refresh()
        self.pose_changed()

    def _look(self) -> None:
        self._view = look_at_robot(self.client, self.session.robot)

    def _camera_moved(self, camera: Any) -> None:
        """Look again where the view has got another shape and the user has not moved in it."""
        aspect, place = self._view
        still = np.linalg.norm(camera.position - place) < 1e-3 * np.linalg.norm(place)
        if still and abs(camera.aspect - aspect) > 0.01 and not self.closed:
            self._look()

    def pose_changed(
        self,
        *,
        grip: bool = True,
        held: Any = None,
        played: tuple[Track, float] | None = None,
    ) -> None:
        """Move the robot to the session's pose and refresh the numbers, not the slider `held`.

        `played` is the motion and the time (s) that the pose is of; without it there is no force.
        """
        session = self.session
        self.scene.move(session.pose.p)
        if played is None:
            self.arrow.hide()
        else:
            self.draw_force(*played)
        if self.ghost.robot is not None:
            self._move_ghost()
        if grip and self._grip is not None:
            self._grip.position = session.robot.in_space(session.pose.p)
        self.pose_tab.refresh(held)

    def draw_force(self, track: Track, seconds: float) -> None:
        """Draw the external force at a time (s) of a motion, where it is known."""
        push = track.push(seconds)
        if push is None or track.force is None:
            self.arrow.hide()
            return
        place = self.session.robot.in_space(track.place(seconds))
        unit = thickness(self.session.robot)
        self.arrow.show(place, track.force.arrow(push), push, unit)

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
            self._grip.position = session.robot.in_space(session.pose.p)
            return
        if self._grip is not None:
            self._grip.remove()
        reach = session.robot.geometry.size
        self._grip = self.client.scene.add_transform_controls(
            "/grip",
            scale=0.4 * reach,
            line_width=3.0,
            disable_rotations=True,
            active_axes=(True, not session.robot.planar, True),
            disable_sliders=True,  # the platform itself can be dragged in the plane of the view
            depth_test=False,
            position=session.robot.in_space(session.pose.p),
        )
        self._grip.on_update(self.guarded(self._dragged_grip))

    def _place(self) -> np.ndarray[Any, Any]:
        """Where the platform is (3,) in m."""
        return self.session.robot.in_space(self.session.pose.p)

    def _dragged_grip(self, event: Any) -> None:
        target = np.asarray(self._grip.position, dtype=float)  # the latest: callbacks may queue
        if np.allclose(target, self._place(), rtol=0, atol=1e-7):
            return
        self.motion_tab.pause()
        self._drag(target, released=event.phase == "end")

    def _dragged_platform(self, event: Any) -> None:
        if event.phase == "start" or self._grab is None:
            self._grab = np.asarray(event.start_position) - self._place()
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
        session = self.session
        try:
            p = pose_at(session.reference, session.pose.p[: session.reference.dof]).p
        except DeltadynError:
            self.ghost.clear()
            self.ghost.robot = session.reference
            return
        self.ghost.place(session.reference, p)
