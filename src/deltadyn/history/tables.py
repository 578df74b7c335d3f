"""Tables of entries for other programs: one row per entry, and one per entry and parameter."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from deltadyn.errors import UnknownNameError, extra_module
from deltadyn.files import write_together
from deltadyn.history.entry import Entry
from deltadyn.history.times import local, stored

FORMATS = ("csv", "parquet")
AXES = 4  # most that a robot has
TEXTS = ("method", "model", "grade", "verdict", "note", "log", "code")

#: The columns of the two tables and their kinds.
ENTRIES = {
    "entry": int,
    "time": datetime,
    "local_time": str,
    "zone": str,
    "robot": str,
    "serial": str,
    "kind": str,
    "temperature_degC": float,
    "payload_kg": float,
    **dict.fromkeys(TEXTS, str),
    **{f"residual_rms_{axis}": float for axis in range(1, AXES + 1)},
    **{f"torque_rms_{axis}": float for axis in range(1, AXES + 1)},
}
PARAMETERS = {
    "entry": int,
    "time": datetime,
    "robot": str,
    "serial": str,
    "kind": str,
    "parameter": str,
    "value": float,
    "std": float,
    "unit": str,
    "temperature_degC": float,
    "grade": str,
}
Cells = dict[str, Any]
FORMULA_MARKS = ("=", "+", "-", "@")  # with which a formula begins in a spreadsheet


def write_tables(
    entries: Sequence[Entry], folder: str | os.PathLike[str], format: str = "csv"
) -> tuple[Path, ...]:
    """Write entries.csv and parameters.csv, or .parquet, into a folder; both are new, or none.

    Times are in UTC. In CSV a text that begins with = + - or @ gets ' in front, so that no
    spreadsheet takes it for a formula; numbers stay numbers. A number that is not finite is left
    empty: an infinite `std` tells that the log does not show a parameter.
    """
    if format not in FORMATS:
        raise UnknownNameError("format", format, FORMATS)
    tables = {
        "entries": (ENTRIES, [_entry_cells(item) for item in entries]),
        "parameters": (PARAMETERS, [row for item in entries for row in _parameter_cells(item)]),
    }
    written = _parquet if format == "parquet" else _csv
    return write_together(
        folder, {f"{name}.{format}": written(kinds, rows) for name, (kinds, rows) in tables.items()}
    )


def _entry_cells(entry: Entry) -> Cells:
    """One row of the table of entries."""
    axes: Cells = {}
    for title, numbers in (("residual", entry.residual), ("torque", entry.torque_level)):
        axes |= {f"{title}_rms_{k}": _finite(v) for k, v in enumerate(numbers, start=1)}
    return {
        **_common(entry),
        "local_time": local(entry.time, entry.zone),
        "zone": entry.zone,
        "payload_kg": entry.payload,
        **{name: getattr(entry, name) for name in TEXTS},
        **axes,
    }


def _parameter_cells(entry: Entry) -> list[Cells]:
    """The rows of an entry in the table of parameters."""
    common = _common(entry) | {"grade": entry.grade}
    rows = zip(entry.names, entry.values, entry.std, entry.units, strict=True)
    return [
        {**common, "parameter": name, "value": _finite(x), "std": _finite(s), "unit": unit}
        for name, x, s, unit in rows
    ]


def _common(entry: Entry) -> Cells:
    texts = {name: getattr(entry, name) for name in ("time", "robot", "serial", "kind")}
    return {"entry": entry.number, **texts, "temperature_degC": entry.temperature}


def _csv(kinds: dict[str, type], rows: list[Cells]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(kinds)
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in kinds])
    return text.getvalue().encode("utf-8")


def _cell(value: Any) -> Any:
    """A cell of a CSV file; a text that a spreadsheet would run as a formula begins with '."""
    if isinstance(value, datetime):
        return stored(value)
    if isinstance(value, str) and value.lstrip()[:1] in FORMULA_MARKS and value.strip():
        return f"'{value}"
    return repr(value) if isinstance(value, float) else value


def _parquet(kinds: dict[str, type], rows: list[Cells]) -> bytes:
    arrow: Any = extra_module("pyarrow", "a Parquet file", "parquet")
    parquet: Any = extra_module("pyarrow.parquet", "a Parquet file", "parquet")
    types = {
        int: arrow.int64(),
        float: arrow.float64(),
        str: arrow.string(),
        datetime: arrow.timestamp("us", tz="UTC"),
    }
    schema = arrow.schema([(name, types[kind]) for name, kind in kinds.items()])
    columns = [[row.get(name) for row in rows] for name in kinds]
    arrays = [
        arrow.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)
    ]
    file = io.BytesIO()
    parquet.write_table(arrow.Table.from_arrays(arrays, schema=schema), file)
    return file.getvalue()


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
