"""Write recordings: CSV with all digits, or Parquet with units in the metadata."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import RecordingFileError, UnknownNameError, extra_module
from deltadyn.files import replacing
from deltadyn.recording.recording import Recording, channel_name

FORMATS = ("csv", "parquet")
_ROWS = 20_000  # of text in memory at a time
_UNITS = {
    "t": "s",
    "q": "rad",
    "tau": "Nm",
    "current": "A",
    "q_command": "rad",
    "qd": "rad_s",
    "qdd": "rad_s2",
    "tau_command": "Nm",
    "p": "m",
    "temperature": "degC",
}


def write_recording(
    recording: Recording, path: str | PathLike[str], *, format: str | None = None
) -> None:
    """Write a CSV or Parquet file, by `format` or by the path's ending; CSV where in doubt.

    The file is written whole or left as it was. Reading it gives back equal arrays, name, robot
    and payload; the provenance is not kept.
    """
    shown = fspath(path)
    if format is not None and format not in FORMATS:
        raise UnknownNameError("format", format, FORMATS)
    kind = format or ("parquet" if Path(shown).suffix in (".parquet", ".pq") else "csv")
    columns = named_columns(recording)
    try:
        with replacing(shown) as file:
            if kind == "parquet":
                _write_parquet(recording, columns, file)
            else:
                _write_csv(recording, columns, file)
    except OSError as error:
        raise RecordingFileError(
            "file",
            shown,
            "a path in a folder that can be written",
            path=shown,
            problem=f"cannot be written: {error.strerror or error}",
        ) from error


def named_columns(recording: Recording) -> dict[str, FloatArray]:
    """Every column of a recording under its default name, t_s first: t_s, q1_rad, tau1_Nm, ..."""
    columns = {"t_s": recording.t}
    for name, array in recording.channels().items():
        if name == "t":
            continue
        if array.ndim == 1:
            columns[f"{name}_{_UNITS[name]}"] = array
            continue
        for axis in range(array.shape[1]):
            columns[_column_name(name, axis)] = array[:, axis]
    return columns


def _column_name(name: str, axis: int) -> str:
    if name == "q" and axis == 3:
        return "psi_rad"
    if name == "p" and axis == 3:
        return "platform_psi_rad"
    return f"{channel_name(name, axis)}_{_UNITS[name]}"


def _labels(recording: Recording) -> dict[str, str]:
    """What a file says about itself; angles and torques are in deltadyn's convention."""
    labels = {"convention": "deltadyn", "name": " ".join(recording.name.split())}
    if recording.robot is not None:
        labels["robot"] = recording.robot
    if recording.payload is not None:
        labels["payload_kg"] = repr(float(recording.payload))
    return {key: text for key, text in labels.items() if text}


def _write_csv(recording: Recording, columns: dict[str, FloatArray], file: IO[bytes]) -> None:
    lines = [f"# {key}: {text}" for key, text in _labels(recording).items()]
    file.write(("\n".join([*lines, ",".join(columns)]) + "\n").encode("utf-8"))
    line = ",".join(["%r"] * len(columns))
    for start in range(0, len(recording), _ROWS):
        part = [array[start : start + _ROWS].tolist() for array in columns.values()]
        rows = "\n".join(line % row for row in zip(*part, strict=True))
        file.write((rows + "\n").encode("ascii"))


def _write_parquet(recording: Recording, columns: dict[str, FloatArray], file: IO[bytes]) -> None:
    pyarrow: Any = extra_module("pyarrow", "a Parquet file", "parquet")
    parquet: Any = extra_module("pyarrow.parquet", "a Parquet file", "parquet")
    fields = [
        pyarrow.field(name, pyarrow.float64(), metadata={"unit": _unit_of(name)})
        for name in columns
    ]
    labels = {f"deltadyn.{key}": text for key, text in _labels(recording).items()}
    schema = pyarrow.schema(fields, metadata=labels)
    arrays = [pyarrow.array(np.ascontiguousarray(array)) for array in columns.values()]
    parquet.write_table(pyarrow.Table.from_arrays(arrays, schema=schema), file)


def _unit_of(column: str) -> str:
    """The unit in a default column name: "qd1_rad_s" is in rad/s."""
    unit = max((u for u in _UNITS.values() if column.endswith(f"_{u}")), key=len)
    return {"rad_s": "rad/s", "rad_s2": "rad/s^2"}.get(unit, unit)
