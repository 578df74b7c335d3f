"""Windows of the studio without a browser: a socket that speaks as viser's page does."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import msgspec
import viser
import zstandard
from tests.waits import PATIENCE
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin, Subprotocol

from deltadyn.studio.server import Studio

CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": [1.0, 0.0, 0.0, 0.0],
    "position": [1.0, 1.0, 1.0],
    "fov": 1.0,
    "near": 0.01,
    "far": 100.0,
    "image_height": 100,
    "image_width": 100,
    "look_at": [0.0, 0.0, 0.0],
    "up_direction": [0.0, 0.0, 1.0],
}
PART = 500_000  # bytes of an upload in one message


class Client:
    """A window: what its page shows, and what a user does in it.

    `parts` are the components by their id: type, and properties as they are now. `notices` are the
    texts of notifications, `downloads` the files that came, `html` every HTML text that ever came.
    `patience` (s) is how long it waits for anything.
    """

    def __init__(self, studio: Studio, patience: float = PATIENCE) -> None:
        self.studio, self.patience = studio, patience
        self.parts: dict[str, dict[str, Any]] = {}
        self.notices: list[str] = []
        self.downloads: dict[str, bytes] = {}
        self.html: list[str] = []
        self.motion = ""  # that was chosen last
        self._names: dict[str, str] = {}
        self._page: ClientConnection | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        protocol = Subprotocol(f"viser-v{viser.__version__}")
        self._page = await connect(
            self.studio.address.replace("http", "ws"),
            subprotocols=[protocol],
            origin=Origin(self.studio.address),
            max_size=None,
            open_timeout=self.patience,
        )
        self._task = asyncio.create_task(self._listen(self._page))
        await self.send(CAMERA)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._page is not None
        await self._page.close()
        if self._task is not None:
            await self._task

    def vanish(self) -> None:
        """Cut the connection without a word, as a machine that loses its power does."""
        assert self._page is not None
        self._page.transport.abort()

    async def send(self, message: dict[str, Any]) -> None:
        """Send one message of viser."""
        assert self._page is not None
        await self._page.send(msgspec.msgpack.encode(message))

    async def _listen(self, page: ClientConnection) -> None:
        zstd = zstandard.ZstdDecompressor()
        try:
            async for data in page:
                assert isinstance(data, bytes)
                size = int.from_bytes(data[8:16], "little")
                inner = msgspec.msgpack.decode(zstd.decompress(data[16 : 16 + size]))
                for message in inner["messages"]:
                    self._take(message)
        except ConnectionClosed:
            pass

    def _take(self, message: dict[str, Any]) -> None:
        kind = message["type"]
        if kind == "GuiUpdateMessage":
            own = self.parts.setdefault(message["uuid"], {"type": "", "props": {}})
            own["props"].update(message["updates"])
            self._keep_html(own["props"], message["updates"])
        elif kind == "GuiRemoveMessage":
            self.parts.pop(message["uuid"], None)
        elif kind.startswith("Gui") and "uuid" in message and "props" in message:
            self.parts[message["uuid"]] = message
            self._keep_html(message["props"], message["props"])
        elif kind == "FileTransferStartDownload":
            self._names[message["transfer_uuid"]] = message["filename"]
            self.downloads[message["filename"]] = b""
        elif kind == "FileTransferPart":
            self.downloads[self._names[message["transfer_uuid"]]] += message["content"]
        elif "Notification" in kind:
            self.notices.append(str(message.get("props", message)))

    def _keep_html(self, props: dict[str, Any], updates: dict[str, Any]) -> None:
        if "content" in updates:
            self.html.append(str(props["content"]))

    # what a user does

    def found(self, label: str) -> list[str]:
        """The ids of components with this label."""
        return [key for key, part in self.parts.items() if part["props"].get("label") == label]

    def part(self, label: str) -> str:
        """The id of the component with this label."""
        found = self.found(label)
        assert found, f"no component {label!r}"
        return found[0]

    async def until(self, true: Callable[[], bool], what: str) -> None:
        """Wait until something holds; fails after a time that is far longer than needed."""
        deadline = time.monotonic() + self.patience
        while not true():
            assert time.monotonic() < deadline, f"waited in vain: {what}\n{self.text()[-2000:]}"
            await asyncio.sleep(0.01)

    async def ready(self) -> None:
        """Wait until the page is whole: the tab Project is the last one."""

        def whole() -> bool:
            labels = {part["props"].get("label") for part in self.parts.values()}
            shown = "Struts at rest" in self.text()  # the last that a new window writes
            return shown and {"Save the session", "strut length (mm)", "z (mm)"} <= labels

        await self.until(whole, "a whole page")

    async def set(self, label: str, value: Any) -> None:
        """Change the value of a control."""
        message = {"type": "GuiUpdateMessage", "uuid": self.part(label), "updates": {}}
        await self.send({**message, "updates": {"value": value}})

    async def press(self, label: str) -> None:
        """Press a button."""
        await self.set(label, True)

    async def upload(
        self,
        label: str,
        name: str,
        content: bytes,
        *,
        told: int | None = None,
        more: int = 0,
    ) -> None:
        """Send a file to an upload button, and say that it has `told` bytes and `more` parts."""
        transfer, component = uuid.uuid4().hex, self.part(label)
        parts = [content[k : k + PART] for k in range(0, len(content), PART)]
        await self.send(
            {
                "type": "FileTransferStartUpload",
                "source_component_uuid": component,
                "transfer_uuid": transfer,
                "filename": name,
                "mime_type": "text/csv",
                "part_count": len(parts) + more,
                "size_bytes": len(content) if told is None else told,
            }
        )
        for k, part in enumerate(parts):
            await self.send(
                {
                    "type": "FileTransferPart",
                    "source_component_uuid": component,
                    "transfer_uuid": transfer,
                    "part_index": k,
                    "content": part,
                }
            )

    def text(self) -> str:
        """All HTML that the page shows now."""
        return "\n".join(
            str(part["props"]["content"])
            for part in self.parts.values()
            if "content" in part["props"]
        )

    async def says(self, text: str) -> None:
        """Wait for a text."""
        await self.until(lambda: text in self.text(), text)
