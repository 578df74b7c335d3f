"""`export`: a robot's model for a target, written as a whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from deltadyn.errors import DeltadynError, FileError, InputError, UnknownNameError
from deltadyn.exports.common import ExportFiles, comment_text, fingerprint, limb_kind
from deltadyn.exports.left_out import LeftOutTerm
from deltadyn.files import folder_writer
from deltadyn.options import merged
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform, HelicalPlatform, PlanarPlatform

#: Name of a target, and where its class `Options` and its function `files(robot, options)` live.
TARGETS = {
    "c": "c",
    "structured-text": "structured_text",
    "mjcf": "mjcf",
    "urdf": "urdf",
    "sdf": "sdf",
    "usd": "usd",
    "fmu": "fmu",
    "sheets": "sheets",
}
MANIFEST = "deltadyn-export.json"

#: Kinds of robots that a target holds: platform, and what moves the limbs.
ALL_LIMBS = ("arms", "inclined arms", "rails")
PLATFORMS = ("translation", "spindle", "planar", "articulated", "helical")
HELD: dict[str, dict[str, tuple[str, ...]]] = {
    "c": {
        "translation": ALL_LIMBS,
        "spindle": ALL_LIMBS,
        "planar": ("arms", "rails"),
        "articulated": ("arms", "rails"),
        "helical": ("arms", "rails"),
    },
    "structured-text": {
        "translation": ALL_LIMBS,
        "spindle": ALL_LIMBS,
        "planar": ("arms", "rails"),
        "articulated": ("arms", "rails"),
        "helical": ("arms", "rails"),
    },
    "mjcf": dict.fromkeys(PLATFORMS, ALL_LIMBS),
    "urdf": dict.fromkeys(("translation", "spindle", "planar"), ALL_LIMBS),
    "sdf": dict.fromkeys(("translation", "spindle"), ALL_LIMBS),
    "usd": dict.fromkeys(("translation", "spindle", "planar"), ALL_LIMBS),
    "fmu": {
        "translation": ALL_LIMBS,
        "spindle": ALL_LIMBS,
        "planar": ("arms", "rails"),
        "articulated": ("arms", "rails"),
        "helical": ("arms", "rails"),
    },
    "sheets": {
        "translation": ALL_LIMBS,
        "spindle": ALL_LIMBS,
        "planar": ("arms",),
    },
}

Files = Mapping[str, str | bytes]


@dataclass(frozen=True)
class Export:
    """What was written: the target, the folder, and the files in it, the README first.

    `fingerprint` is of robot and options; `left_out` are terms of the robot that are not in it.
    """

    robot: str
    target: str
    folder: Path
    files: tuple[Path, ...]
    fingerprint: str = ""
    left_out: tuple[LeftOutTerm, ...] = ()

    def __str__(self) -> str:
        names = "\n".join(f"  {path.relative_to(self.folder)}" for path in self.files)
        text = f"{self.target} of {self.robot} in {self.folder}:\n{names}"
        terms = "".join(f"\n  {term}" for term in self.left_out)
        return f"{text}\nnot in this export, RMS of the torque:{terms}" if terms else text

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "robot": self.robot,
            "target": self.target,
            "folder": str(self.folder),
            "files": [str(path) for path in self.files],
            "fingerprint": self.fingerprint,
            "left_out": [term.as_dict() for term in self.left_out],
        }


def export(
    robot: Any,
    target: str,
    folder: str | os.PathLike[str],
    options: Any = None,
    *,
    overwrite: bool = False,
    **single: Any,
) -> Export:
    """Write the model of a robot, or of a fit, for a target, in any case, into a folder.

    Files of an earlier export are replaced; a file that was changed since, or that is not from an
    export, is kept and named in an error unless `overwrite` is set. `options` are the target's own,
    such as `deltadyn.exports.c.Options`; keywords are single fields of it.
    """
    own = getattr(robot, "robot", robot)
    if not isinstance(own, Robot):
        raise InputError("robot", type(robot).__name__, "a Robot, or a fit with .robot")
    own = own.replace(name=comment_text(own.name)) if own.name != comment_text(own.name) else own
    target = target.lower() if isinstance(target, str) else target
    if target not in TARGETS:
        raise UnknownNameError("target", target, TARGETS)
    refuse_kind(own, target)
    module = import_module(f"deltadyn.exports.{TARGETS[target]}")
    write: Callable[[Robot, Any], ExportFiles] = module.files
    chosen = merged(module.Options, options, single, what=f"option of target {target!r}")
    files = write(own, chosen)
    place = Path(folder)
    _check_place(place)
    with folder_writer(place) as write_set:
        records = _read_manifest(place)
        if not overwrite:
            _refuse_changed(place, files, records)
        records[target] = {
            "robot": own.name,
            "fingerprint": files.fingerprint,
            "robot_fingerprint": fingerprint(own),
            "deltadyn": version("deltadyn"),
            "left_out": [term.as_dict() for term in files.left_out],
            "files": {name: _digest(content) for name, content in files.items()},
        }
        write_set({**files, MANIFEST: json.dumps(records, indent=2) + "\n"})
    names = sorted(files, key=lambda name: (not name.startswith("README"), name))
    paths = tuple(place / name for name in names)
    return Export(own.name, target, place, paths, files.fingerprint, files.left_out)


def kind_key(robot: Robot) -> tuple[str, str]:
    """Platform and limbs of a robot, as `HELD` names them."""
    own = {PlanarPlatform: "planar", ArticulatedPlatform: "articulated", HelicalPlatform: "helical"}
    usual = "translation" if robot.spindle is None else "spindle"
    limbs = {"rotary": "arms", "inclined": "inclined arms"}.get(limb_kind(robot), "rails")
    return own.get(type(robot.platform), usual), limbs


def held_kinds() -> str:
    """Which targets hold which kinds of robots, as a table in plain text."""
    rows = [("platform", "limbs", "targets")]
    for platform in PLATFORMS:
        for limbs in ALL_LIMBS:
            targets = [name for name in TARGETS if limbs in HELD[name].get(platform, ())]
            if targets:
                rows.append((platform, limbs, ", ".join(targets)))
    wide = [max(len(row[k]) for row in rows) for k in (0, 1)]
    return "\n".join(f"{a:<{wide[0]}}  {b:<{wide[1]}}  {c}" for a, b, c in rows)


def refuse_kind(robot: Robot, target: str) -> None:
    """Refuse a robot of a kind that a target does not hold."""
    platform, limbs = kind_key(robot)
    if limbs in HELD[target].get(platform, ()):
        return
    held = "; ".join(f"{name} with {', '.join(own)}" for name, own in HELD[target].items())
    raise InputError(f"kind of robot for target {target!r}", f"{platform} with {limbs}", held)


def _check_place(place: Path) -> None:
    if place.exists() and not place.is_dir():
        raise InputError("folder", str(place), "a folder, or a path at which to make one")
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError("folder", str(place), f"one that can be made ({reason})") from error
    if not os.access(place, os.W_OK | os.X_OK):
        raise InputError("folder", str(place), "one that can be written")


def _read_manifest(place: Path) -> dict[str, Any]:
    """What earlier exports wrote here; targets may share a folder."""
    path = place / MANIFEST
    if not path.exists():
        return {}
    try:
        records = json.loads(path.read_text("utf-8"))
        if not isinstance(records, dict) or not all("files" in row for row in records.values()):
            raise ValueError
    except (ValueError, TypeError):
        allowed = "as written by export; move it away"
        raise FileError("record of earlier exports", str(path), allowed, path=str(path)) from None
    return records


def _refuse_changed(place: Path, files: Files, records: Mapping[str, Any]) -> None:
    """Keep what somebody else wrote."""
    own = [row["files"] for row in records.values()]
    for name, content in files.items():
        path = place / name
        if not path.exists():
            continue
        if not path.is_file():  # a pipe would be waited for
            raise InputError("file to write", str(path), "a file, no folder, pipe or device")
        there = _digest(path.read_bytes())
        if there != _digest(content) and all(row.get(name) != there for row in own):
            raise DeltadynError(
                f"{path} was not written by export, or was changed since; nothing was written. "
                "Choose another folder, or replace it with overwrite=True (--force)"
            )


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _digest(content: str | bytes) -> str:
    return hashlib.sha256(_bytes(content)).hexdigest()
