"""The server behind the page: on this machine's own address only, one session per window."""

from __future__ import annotations

import asyncio
import contextlib
import io
import socket
import sys
from typing import TYPE_CHECKING, Any

from deltadyn.errors import DeltadynError, InputError
from deltadyn.robot import Robot
from deltadyn.studio.session import Session
from deltadyn.studio.uploads import Upload, UploadError, check_size

if TYPE_CHECKING:
    import viser

    from deltadyn.studio.window import Window

HOST = "127.0.0.1"
TITLE = "deltadyn studio"
PANEL_WIDTH = 440  # pixels
BRAND = (31, 95, 168)


class Studio:
    """A running studio; `stop` ends it."""

    def __init__(self, robot: Robot, port: int = 8080, max_upload: float = 200.0) -> None:
        if not max_upload > 0:
            raise InputError("--max-upload", max_upload, "above 0 MB")
        Session(robot, max_upload)  # a robot that cannot be shown is refused before a page opens
        self._robot, self._max_upload = robot, max_upload
        self._windows: dict[int, Window] = {}
        self._server = _listen(free_port(port))
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
        return f"http://{HOST}:{self.port}"

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

    def _connect(self, client: viser.ClientHandle) -> None:
        from deltadyn.studio.window import Window

        if not self._own_page(client):
            return
        try:
            _set_title(client)
            session = Session(self._robot, self._max_upload)
            window = Window(client, session)
            self._windows[client.client_id] = window
            limit_uploads(client, session.limit, window)
        except Exception as error:  # one window's trouble must not end the others
            print(f"{TITLE}: window {client.client_id}: {error!r}", file=sys.stderr)

    def _disconnect(self, client: viser.ClientHandle) -> None:
        window = self._windows.pop(client.client_id, None)
        if window is not None:
            window.close()

    def _own_page(self, client: viser.ClientHandle) -> bool:
        """Whether the page comes from this studio: other sites may not talk to it.

        A browser lets any site open a socket to this machine, and names the site in `Origin`.
        """
        connection = self._server._websock_server._live_connections.get(client.client_id)
        if connection is None or connection.request is None:  # gone already
            return False
        origin = connection.request.headers.get("Origin")
        if origin in (None, self.address, f"http://localhost:{self.port}"):
            return True
        print(f"{TITLE}: a page of {origin!r:.80} was refused", file=sys.stderr)
        asyncio.run_coroutine_threadsafe(
            connection.close(1008, "not this studio's page"), self._server.get_event_loop()
        )
        return False


def free_port(port: int) -> int:
    """The port, or one that is free for 0; an error where somebody listens there already."""
    if not 0 <= port <= 65535:
        raise InputError("--port", port, "0 to 65535")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            reason = "a port that is free" if port >= 1024 else "a port of at least 1024"
            raise InputError("--port", port, f"{reason} ({error.strerror})") from error
        return int(probe.getsockname()[1])


def limit_uploads(client: viser.ClientHandle, limit: int, window: Window) -> None:
    """Refuse uploads that say, or turn out, to be larger than `limit` bytes before they are whole.

    viser gathers the parts of an upload in memory; what is too large is let go at its first part.
    """
    from viser import _messages

    states = client.gui._current_file_upload_states
    interface = client.gui._websock_interface

    def refuse(transfer: str, component: str, name: str, size: int, told: int) -> None:
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
            check_size(Upload(name, b"").shown, size, limit)
        except UploadError as error:
            window.complain(error)

    def started(_client: Any, message: Any) -> None:
        if message.size_bytes > limit:
            size = message.size_bytes
            name, part = message.filename, message.source_component_uuid
            refuse(message.transfer_uuid, part, name, size, size)

    def part_came(_client: Any, message: Any) -> None:
        state = states.get(message.transfer_uuid)
        if state is not None and state["transferred_bytes"] > limit:
            size, told = state["transferred_bytes"], state["total_bytes"]
            component = message.source_component_uuid or ""
            refuse(message.transfer_uuid, component, state["filename"], size, told)

    interface.register_handler(_messages.FileTransferStartUpload, started)
    interface.register_handler(_messages.FileTransferPart, part_came)


def _listen(port: int) -> viser.ViserServer:
    try:
        import viser
    except ImportError as error:
        raise DeltadynError(
            "the studio needs viser, which is not installed: pip install 'deltadyn[studio]'"
        ) from error
    with _silence():
        server = viser.ViserServer(host=HOST, port=port, label=TITLE, verbose=False)
    if server.get_port() != port:  # taken between the look and the start
        found = server.get_port()
        server.stop()
        raise InputError("--port", port, f"a port that is free (the next one is {found})")
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
    from viser import _messages

    source = f"document.title = {TITLE!r}; document.documentElement.lang = 'en';"
    client.gui._websock_interface.queue_message(_messages.RunJavascriptMessage(source=source))
