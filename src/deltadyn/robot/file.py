"""Robot files: load by catalogue name or path, save, and list the catalogue."""

from __future__ import annotations

import codecs
import difflib
from importlib import resources
from importlib.resources.abc import Traversable
from os import PathLike, fspath
from pathlib import Path

from deltadyn.errors import InputError, RobotFileError, UnknownNameError
from deltadyn.files import settle
from deltadyn.robot.read import read_robot
from deltadyn.robot.robot import Robot
from deltadyn.robot.write import robot_text, save_robot

__all__ = ["load_robot", "robot_from_text", "robot_names", "robot_text", "save_robot"]

_SUFFIX = ".yaml"
_MOST_BYTES = 1_000_000  # a robot file is some kilobytes; a log given by mistake is not parsed


def load_robot(name_or_path: str | PathLike[str]) -> Robot:
    """The robot of a catalogue name, e.g. "sipro-d3-1200", or of a robot file's path."""
    if not isinstance(name_or_path, str | PathLike):
        raise InputError("robot", name_or_path, "a catalogue name or the path of a robot file")
    text = fspath(name_or_path)
    if isinstance(name_or_path, str) and text in robot_names():
        return read_robot(_content(_catalogue() / f"{text}{_SUFFIX}", f"{text}{_SUFFIX}"), text)
    path = Path(text)
    if isinstance(name_or_path, str) and _is_only_a_name(text):
        nearest = difflib.get_close_matches(text, robot_names(), n=1)
        hint = f" (did you mean {nearest[0]!r}?)" if nearest else ""
        raise UnknownNameError(
            "robot", text, robot_names(), or_else=f"the path of a robot file{hint}"
        )
    settle(path.parent)
    return read_robot(_content(path, text), text)


def robot_from_text(text: str, name: str = "robot file") -> Robot:
    """The robot that the text of a robot file describes; `name` stands for the file in messages."""
    return read_robot(text, name)


def robot_names() -> tuple[str, ...]:
    """The names of the catalogue's robots, in alphabetical order."""
    files = (item.name for item in _catalogue().iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX)))


def _catalogue() -> Traversable:
    return resources.files("deltadyn.robot") / "catalogue"


def _is_only_a_name(text: str) -> bool:
    """Whether a text names no file: then it was meant as a name of the catalogue."""
    bare = not any(mark in text for mark in "/\\.\0")
    return not text.strip() or (bare and not Path(text).exists())


def _content(path: Traversable, shown: str) -> str:
    """The text of a file, or an error that says why there is none."""
    problem = None
    try:
        if path.is_dir():
            problem = "is a folder"
        elif isinstance(path, Path) and path.stat().st_size > _MOST_BYTES:
            problem = f"is larger than {_MOST_BYTES} bytes"
        else:
            content = path.read_bytes()
            wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            return content.decode("utf-16" if wide else "utf-8-sig")  # PowerShell's > writes wide
    except FileNotFoundError:
        problem = "does not exist"
    except UnicodeDecodeError as error:
        kind = "UTF-16" if "16" in error.encoding else "UTF-8"
        problem = f"is not a text in {kind}: byte {error.start} is wrong"
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
    except ValueError as error:  # a path with a NUL byte
        problem = f"cannot be read: {error}"
    raise RobotFileError("robot file", shown, "a YAML file", path=shown, problem=problem)
