"""Which format a file has: by its first bytes, whatever it is called."""

from __future__ import annotations

from pathlib import Path

from deltadyn.errors import RecordingFileError, UnknownNameError
from deltadyn.recording.readers.text import TextFile
from deltadyn.recording.readers.twincat import is_twincat

FORMATS = ("csv", "twincat", "matlab", "parquet", "ros", "tdms")

_START = 600  # bytes; the header of a MATLAB 7.3 file has 512
_HDF5 = b"\x89HDF\r\n\x1a\n"
_MAGIC = (
    (b"PAR1", "parquet"),
    (b"TDSm", "tdms"),
    (b"\x89MCAP0", "ros"),
    (b"SQLite format 3\0", "ros"),
    (b"#ROSBAG V", "ros"),
    (_HDF5, "matlab73"),
    (b"MATLAB 5.0", "matlab"),
    (b"MATLAB 7.3", "matlab73"),
    (b"PK\x03\x04", "zip"),
    (b"7z\xbc\xaf", "7z"),
    (b"Rar!", "rar"),
)


def detect_format(path: str, wanted: str | None = None) -> str:
    """The format of a file: `wanted`, or what its content says; "matlab73" is HDF5."""
    if wanted is not None and wanted not in FORMATS:
        raise UnknownNameError("format", wanted, FORMATS)
    file = Path(path)
    try:
        if file.is_dir():
            return _folder(file, path)
        with file.open("rb") as stream:
            start = stream.read(_START)
    except FileNotFoundError:
        raise _failure(path, "does not exist") from None
    except (OSError, ValueError) as error:
        raise _failure(path, f"cannot be read: {error}") from error
    found = next((kind for magic, kind in _MAGIC if start.startswith(magic)), None)
    if found in ("zip", "7z", "rar"):
        raise _failure(
            path, f"is a {found} archive (or an Excel workbook): unpack it, or export it as CSV"
        )
    if wanted is not None:
        return "matlab73" if wanted == "matlab" and found == "matlab73" else wanted
    if found is not None:
        return found
    if not start.strip():
        raise _failure(path, "is empty")
    head, _ = TextFile(path).head()
    return "twincat" if is_twincat(head) else "csv"


def _folder(folder: Path, path: str) -> str:
    if (folder / "metadata.yaml").is_file():
        return "ros"
    raise _failure(path, "is a folder, and not that of a ROS 2 bag (no metadata.yaml)")


def _failure(path: str, problem: str) -> RecordingFileError:
    allowed = "a file in CSV, TwinCAT Scope, MATLAB, Parquet, ROS bag, MCAP or TDMS format"
    return RecordingFileError("file", None, allowed, path=path, problem=problem)
