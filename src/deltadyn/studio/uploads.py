"""Files that a browser sends: bounded in size, never opened by the name they bring."""

from __future__ import annotations

import dataclasses
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TypeVar

from deltadyn.errors import DeltadynError, InputError
from deltadyn.motion.motion import Motion, read_motion
from deltadyn.recording import read_recording
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot

T = TypeVar("T")
MEGABYTE = 1_000_000
LONGEST_NAME = 60


class UploadError(DeltadynError):
    """A file that cannot be used; the message names the upload and not a path of this machine."""


@dataclass(frozen=True)
class Upload:
    """What a browser sent: a name, for messages only, and bytes."""

    name: str
    content: bytes

    @property
    def shown(self) -> str:
        """The name without folders and without what is no letter, digit, dot, dash or blank."""
        bare = PureWindowsPath(PurePosixPath(self.name).name).name
        kept = re.sub(r"[^\w.() -]", "_", bare).strip()
        return kept[:LONGEST_NAME] or "upload"


def check_size(name: str, size: int, limit: int) -> None:
    """Refuse a file larger than `limit` bytes."""
    if size > limit:
        raise UploadError(
            f"{name} has {size / MEGABYTE:.1f} MB; allowed: up to {limit / MEGABYTE:g} MB "
            "(start the studio with a larger --max-upload, or identify it with `deltadyn identify`)"
        )


def parse_upload(upload: Upload, limit: int, suffix: str, read: Callable[[Path], T]) -> T:
    """What `read` makes of the upload, through a temporary file with a name of our own."""
    check_size(upload.shown, len(upload.content), limit)
    with tempfile.TemporaryDirectory(prefix="deltadyn-") as folder:
        path = Path(folder) / f"upload{suffix}"
        path.write_bytes(upload.content)
        try:
            return read(path)
        except (DeltadynError, OSError, UnicodeDecodeError) as error:
            text = str(error).replace(str(path), upload.shown).replace(path.name, upload.shown)
            text = text.replace(f"{folder}/", "")
            raise UploadError(
                text if upload.shown in text else f"{upload.shown}: {text}"
            ) from error


def robot_upload(upload: Upload, limit: int) -> Robot:
    """The robot of an uploaded robot file."""
    return parse_upload(upload, limit, ".yaml", load_robot)


def motion_upload(upload: Upload, robot: Robot, limit: int) -> Motion:
    """The motion of an uploaded CSV file, as `deltadyn excite` writes it."""
    motion = parse_upload(upload, limit, ".csv", lambda path: read_motion(path, robot))
    if len(motion) < 2:
        raise UploadError(f"{upload.shown} has {len(motion)} sample; allowed: at least 2")
    return motion


def log_upload(
    upload: Upload,
    robot: Robot,
    limit: int,
    *,
    columns: Upload | None = None,
    payload: float | None = None,
) -> Recording:
    """The recording of an uploaded log, by the reader of the command line.

    `columns` is an uploaded column map; `payload` (kg) is used where the file does not say it.
    """
    stem = Path(upload.shown).stem or "upload"

    def read(path: Path) -> Recording:
        if columns is None:
            return read_recording(path, robot, name=stem)
        own = path.with_name("columns.yaml")
        own.write_bytes(columns.content)
        return read_recording(path, robot, name=stem, columns=own)

    if columns is not None:
        check_size(columns.shown, len(columns.content), MEGABYTE)
    found = parse_upload(upload, limit, _suffix(upload.shown), read)
    if found.payload is None and payload:
        found = found.replace(payload=payload)
    provenance = dataclasses.replace(found.provenance, file=upload.shown)
    return found.replace(provenance=provenance)


def _suffix(name: str) -> str:
    """The ending of a log, where it is one that readers look at."""
    known = (".csv", ".txt", ".tsv", ".mat", ".parquet", ".tdms", ".mcap", ".db3", ".bag")
    ending = Path(name).suffix.lower()
    return ending if ending in known else ".csv"


def refuse_dof(recording: Recording, robot: Robot) -> None:
    """Refuse a recording with another number of axes than the robot's."""
    if recording.dof != robot.dof:
        raise InputError(
            "axes of the recording", recording.dof, f"{robot.dof}, as robot {robot.name!r} has"
        )
