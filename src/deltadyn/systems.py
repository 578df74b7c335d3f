"""What differs between operating systems: names of files, URLs with drives, loops, outputs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Coroutine
from pathlib import PureWindowsPath
from typing import Any, TypeVar

WINDOWS = os.name == "nt"
# Names that Windows keeps for devices, whatever their ending, and characters that no name has.
DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])", re.IGNORECASE)
NOT_IN_NAMES = re.compile(r'[<>:"|?*\x00-\x1f]')
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")

Result = TypeVar("Result")


def on_windows() -> bool:
    """Whether this is Windows."""
    return WINDOWS


# Paths.


def is_device(path: str | os.PathLike[str]) -> bool:
    """Whether Windows takes a path for a device: NUL, also aux.html."""
    first = PureWindowsPath(path).name.partition(".")[0].rstrip(" ")
    return DEVICE.fullmatch(first) is not None


def barred_by_windows(name: str) -> bool:
    """Whether no file of Windows can have that name, or another file would get its content."""
    return bool(NOT_IN_NAMES.search(name)) or name[-1:] in (".", " ") or is_device(name)


def is_url(place: str) -> bool:
    """Whether a text is a URL; c://logs is a folder of Windows, for no scheme has one letter."""
    return SCHEME.match(place) is not None


def path_of_url(url: str) -> str:
    """The path in a URL file://...; file:///C:/logs and file://server/share on Windows, too."""
    path = url.removeprefix("file://")
    if not WINDOWS:
        return path
    if re.match(r"/[A-Za-z]:", path):
        return path[1:]
    return path if path.startswith("/") else f"//{path}"


# Loops.


def run_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """`asyncio.run` on a loop that waits for sockets, as MQTT's library asks: Windows has two."""
    import asyncio  # takes a while, and few calls need it

    factory = asyncio.SelectorEventLoop if WINDOWS else None
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work)


# Texts.


def write_any_text() -> None:
    """Let the output show "?" for what its encoding lacks: a pipe of Windows has no Greek letters.

    Without it such a letter would be an error, and the rest of the text lost.
    """
    for stream in (sys.stdout, sys.stderr):
        encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("_", "-")
        if encoding not in ("utf-8", "utf8") and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
