"""Column maps: what the columns of a foreign file are, as a dictionary or a YAML file."""

from __future__ import annotations

import contextlib
import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from deltadyn.errors import InputError, RecordingFileError, UnknownNameError
from deltadyn.recording.columns import (
    AXES,
    QUANTITIES,
    Column,
    found_text,
    recognised,
    units_of,
    unknown_unit,
)
from deltadyn.recording.recording import ColumnUse
from deltadyn.robot.tree import Text, read_entries

#: Name in the file (or its number from 1) to what it is; None leaves a column out.
ColumnMap = Mapping[Any, Any] | str | PathLike[str]

KEYS = ("quantity", "axis", "unit", "scale", "sign", "offset", "side", "torque_constant")
SIDES = ("output", "motor")
_MOST_BYTES = 1_000_000


def read_column_map(
    given: ColumnMap | None, columns: Sequence[Column], path: str
) -> tuple[list[ColumnUse], list[int]]:
    """The columns that a map names, and the indices of those that it leaves out."""
    uses: list[ColumnUse] = []
    dropped: list[int] = []
    for key, entry in _entries(given).items():
        index = _index(key, columns, path)
        if entry is None:
            dropped.append(index)
            continue
        use = _use(key, entry, columns[index], index, path)
        for other in uses:
            if other.target == use.target:
                raise InputError(
                    f"column map entry {key!r}",
                    use.target,
                    f"every channel once; column {other.name!r} is {use.target} already",
                )
        uses.append(use)
    return uses, dropped


def _entries(given: ColumnMap | None) -> dict[Any, Any]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    if not isinstance(given, str | PathLike):
        raise InputError("columns", given, "a dictionary or the path of a YAML file")
    shown = fspath(given)
    try:
        if Path(shown).stat().st_size > _MOST_BYTES:
            raise InputError("column map", shown, f"a YAML file of at most {_MOST_BYTES} bytes")
        text = Path(shown).read_text("utf-8-sig")
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise _map_error(shown, problem) from error
    except UnicodeDecodeError as error:
        raise _map_error(shown, f"is not UTF-8: {error}") from error
    except ValueError as error:  # no path of any system
        raise _map_error(shown, f"cannot be read: {error}") from error
    root, errors = read_entries(text, Text(shown, "column map", RecordingFileError))
    if errors:
        raise errors[0]
    tree = _whole(root.shown)
    if isinstance(tree, dict) and isinstance(tree.get("columns"), dict) and len(tree) == 1:
        tree = tree["columns"]
    if not isinstance(tree, dict):
        raise _map_error(shown, f"holds {type(tree).__name__}")
    return tree


def _whole(value: Any) -> Any:
    """The same value with whole numbers where YAML has them: axis 1, not 1.0."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _map_error(path: str, problem: str) -> RecordingFileError:
    allowed = "a YAML mapping: name of the column in the file, then what it is"
    return RecordingFileError("column map", path, allowed, path=path, problem=problem)


def _index(key: Any, columns: Sequence[Column], path: str) -> int:
    """The column that a key names, or counts from 1."""
    if isinstance(key, str) and key.isdecimal() and len(key) < 7:  # a number, as YAML gives it
        key = key if any(column.name == key for column in columns) else int(key)
    if isinstance(key, int) and not isinstance(key, bool):
        if not 1 <= key <= len(columns):
            raise InputError("column map", key, f"a column number from 1 to {len(columns)}")
        return key - 1
    names = [column.name for column in columns]
    exact = [index for index, name in enumerate(names) if name == key]
    loose = [
        index
        for index, column in enumerate(columns)
        if str(key).strip() in (column.name.strip(), column.alias)
    ]
    hits = exact or loose
    if len(hits) == 1:
        return hits[0]
    if hits:
        numbers = ", ".join(str(index + 1) for index in hits)
        raise InputError(
            "column map", key, f"a name that occurs once; it names columns {numbers}: use a number"
        )
    close = difflib.get_close_matches(str(key), names, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise RecordingFileError(
        "column map",
        key,
        f"one of {found_text(columns)}{hint}",
        path=path,
        problem=f"names the column {key!r}, which the file does not have",
    )


def _use(key: Any, entry: Any, column: Column, index: int, path: str) -> ColumnUse:
    if isinstance(entry, str):
        use = recognised(Column(entry), index, path)
        if use is None:
            allowed = "a name such as 'q1_deg', 'tau2_Nm' or 't_ms', a mapping, or None"
            raise InputError(f"column map entry {key!r}", entry, allowed)
        return replace(use, name=column.name)
    if not isinstance(entry, Mapping):
        raise InputError(
            f"column map entry {key!r}", entry, "a name such as 'q1_deg', or a mapping"
        )
    for word in entry:
        if word not in KEYS:
            raise UnknownNameError(f"key of column map entry {key!r}", word, KEYS)
    name, axis = _quantity(key, entry)
    units = units_of(name, axis, None)
    text = entry.get("unit", column.unit)
    unit = units.si if text is None else units.unit(str(text))
    if unit is None:
        raise unknown_unit(column.name, name, axis, str(text), path)
    sign = _number(key, entry, "sign", 1.0)
    if sign not in (1.0, -1.0):
        raise InputError(f"sign of column map entry {key!r}", sign, "1 or -1")
    side = entry.get("side")
    if side is not None and side not in SIDES:
        raise UnknownNameError(f"side of column map entry {key!r}", side, SIDES)
    scale = _number(key, entry, "scale", 1.0)
    if scale == 0:
        raise InputError(f"scale of column map entry {key!r}", scale, "a number that is not 0")
    constant = entry.get("torque_constant")
    return ColumnUse(
        column.name,
        index,
        name,
        axis,
        unit.name,
        scale,
        sign,
        _number(key, entry, "offset", 0.0),
        side,
        None if constant is None else _number(key, entry, "torque_constant", 0.0),
        text is None,
    )


def _quantity(key: Any, entry: Mapping[str, Any]) -> tuple[str, int | None]:
    word = entry.get("quantity")
    if word in QUANTITIES:
        name, axis = str(word), entry.get("axis")
        if not QUANTITIES[name].per_axis:
            if axis is not None:
                raise InputError(f"axis of column map entry {key!r}", axis, f"none for {name}")
            return name, None
        if axis == "psi":
            axis = AXES
        if isinstance(axis, bool) or not isinstance(axis, int) or not 1 <= axis <= AXES:
            raise InputError(f"axis of column map entry {key!r}", axis, f"1 to {AXES}, or 'psi'")
        return name, axis - 1
    use = recognised(Column(str(word)), 0, "column map") if isinstance(word, str) else None
    if use is None or "axis" in entry:
        raise UnknownNameError(
            f"quantity of column map entry {key!r}", word, QUANTITIES, or_else="a name such as 'q1'"
        )
    return use.quantity, use.axis


def _number(key: Any, entry: Mapping[str, Any], word: str, default: float) -> float:
    value = entry.get(word, default)
    if isinstance(value, str):  # YAML 1.1 takes 1e-3 for a text
        with contextlib.suppress(ValueError):
            value = float(value)
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not math.isfinite(value):
        raise InputError(f"{word} of column map entry {key!r}", value, "a finite number")
    return float(value)
