"""From the columns of a file to the channels of a recording: units, headers, column maps."""

from __future__ import annotations

import contextlib
import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import yaml

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, RecordingFileError, UnknownNameError
from deltadyn.recording.recording import ColumnUse, channel_name

# What a recording can hold, and the units in which a file may give it.


@dataclass(frozen=True)
class Unit:
    """A unit: SI value = x * factor / divisor + shift, exact where both are 1."""

    name: str
    factor: float = 1.0
    divisor: float = 1.0
    shift: float = 0.0

    def to_si(self, x: FloatArray) -> FloatArray:
        """Values in SI; division keeps 5 ms the very float of 0.005 s."""
        if self.factor != 1.0:
            x = x * self.factor
        if self.divisor != 1.0:
            x = x / self.divisor
        return x + self.shift if self.shift else x


DEGREE = math.pi / 180
TURN = 2 * math.pi

_TIME = {
    Unit("s"): "s sec second seconds",
    Unit("ms", divisor=1e3): "ms msec millisecond milliseconds",
    Unit("us", divisor=1e6): "us µs μs usec microsecond microseconds",
    Unit("ns", divisor=1e9): "ns nsec nanosecond nanoseconds",
    Unit("min", factor=60.0): "min minute minutes",
}
_ANGLE = {
    Unit("rad"): "rad radian radians",
    Unit("mrad", divisor=1e3): "mrad",
    Unit("deg", factor=DEGREE): "deg ° degree degrees",
    Unit("mdeg", factor=DEGREE, divisor=1e3): "mdeg m°",
    Unit("rev", factor=TURN): "rev turn turns revolution revolutions U",
}
_RATE = {
    Unit("rad/s"): "rad/s radps rad_s rad_per_s",
    Unit("mrad/s", divisor=1e3): "mrad/s mrad_s",
    Unit("deg/s", factor=DEGREE): "deg/s °/s degps deg_s deg_per_s dps",
    Unit("rpm", factor=TURN, divisor=60.0): "rpm 1/min U/min rev/min min-1 rev_min",
    Unit("rev/s", factor=TURN): "rev/s rps rev_s",
}
_ACCELERATION = {
    Unit("rad/s^2"): "rad/s^2 rad/s2 rad_s2 rad/s/s",
    Unit("deg/s^2", factor=DEGREE): "deg/s^2 °/s^2 deg/s2 °/s2 deg_s2 deg/s/s",
}
_TORQUE = {
    Unit("Nm"): "Nm N*m N.m N-m",
    Unit("mNm", divisor=1e3): "mNm mN*m",
    Unit("Ncm", divisor=1e2): "Ncm N*cm cNm",
    Unit("kNm", factor=1e3): "kNm kN*m",
    Unit("percent", divisor=1e2): "% percent pct",
    Unit("permille", divisor=1e3): "‰ permille 0.1% 1/1000",
}
_CURRENT = {Unit("A"): "A amp ampere Arms Aeff", Unit("mA", divisor=1e3): "mA mAmp"}
_LENGTH = {
    Unit("m"): "m meter metre",
    Unit("mm", divisor=1e3): "mm",
    Unit("cm", divisor=1e2): "cm",
    Unit("um", divisor=1e6): "um µm μm",
}
_MASS = {Unit("kg"): "kg", Unit("g", divisor=1e3): "g gram grams"}
_TEMPERATURE = {
    Unit("degC"): "degC °C C celsius",
    Unit("K", shift=-273.15): "K kelvin",
    Unit("degF", factor=5.0, divisor=9.0, shift=-160 / 9): "degF °F fahrenheit",
}

#: Torque units that are shares of a rated torque.
RATED = ("percent", "permille")


@dataclass(frozen=True)
class Quantity:
    """A quantity of a recording: its field, its units (SI first) and whether each axis has one."""

    name: str
    units: dict[Unit, str]
    per_axis: bool
    words: frozenset[str]  # what it may be called in a header

    @property
    def si(self) -> Unit:
        """The unit inside."""
        return next(iter(self.units))

    def unit(self, text: str) -> Unit | None:
        """The unit of this spelling; capitals matter only where they make a difference."""
        wanted = _plain(text)
        for same in (_plain, lambda word: _plain(word).lower()):
            for unit, spellings in self.units.items():
                if same(wanted) in {same(word) for word in [unit.name, *spellings.split()]}:
                    return unit
        return None


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_Q = "q theta th angle pos position phi winkel lage"
_QD = "qd dq qdot dqdt thetad dtheta thetadot omega vel velo velocity speed rate geschwindigkeit"
_TAU = "tau torque trq effort moment drehmoment mom"

#: Units, whether every axis has one, and what it may be called.
_TABLE = {
    "t": (_TIME, False, "t time zeit timestamp clock"),
    "q": (_ANGLE, True, _Q),
    "tau": (_TORQUE, True, _TAU),
    "current": (_CURRENT, True, "current cur i iq strom"),
    "q_command": (_ANGLE, True, _Q),
    "qd": (_RATE, True, _QD),
    "qdd": (_ACCELERATION, True, "qdd ddq qddot thetadd ddtheta acc acceleration alpha"),
    "tau_command": (_TORQUE, True, _TAU),
    "p": (_LENGTH, True, "x y z"),
    "payload": (_MASS, False, "payload load nutzlast"),
    "temperature": (_TEMPERATURE, False, "temperature temp temperatur"),
}
QUANTITIES = {
    name: Quantity(name, units, per_axis, _words(words))
    for name, (units, per_axis, words) in _TABLE.items()
}

ANGLE = QUANTITIES["q"]  # psi of the platform is an angle among lengths


def _plain(text: str) -> str:
    """One spelling of a unit: no spaces, * for every multiplication sign, ^2 for ²."""
    text = re.sub(r"[·⋅∙×•]", "*", text.strip()).replace("²", "^2")
    return re.sub(r"\s+", "*" if re.search(r"N\s+c?m$", text) else "", text)


# Headers: which quantity, axis and unit the name of a column tells.


AXES = 4

_COMMAND = _words("cmd command commanded set setpoint target ref reference des desired soll demand")
# Words that say nothing about which quantity it is.
_NOISE = _words(
    "act actual axis axes joint motor drive arm meas measured fb feedback value val ist nc mc main "
    "gvl plc to from st f fl lr lreal j a m robot delta rob state states data log channel stamp"
)
_POSE = _words("p pos position platform tcp tool pose")
_GREEK = {"θ": "theta", "τ": "tau", "ψ": "psi", "φ": "phi", "ω": "omega", "ϑ": "theta"}
_NO_UNIT = frozenset(["", "-", "none", "1", "(none)", "n/a"])

_BRACKETS = re.compile(r"(.*?)\s*[\[({<]\s*([^\[\](){}<>]*?)\s*[\])}>]\s*")
_SLASH = re.compile(r"(.*\S)\s+(?:in|/)\s+(\S+)")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")


@dataclass(frozen=True)
class Column:
    """A column of a file: its name, its unit where the file states one apart from the name.

    Files with several clocks number them; `is_time` marks the time column of a clock. `alias` is
    a second name, such as the symbol of a TwinCAT channel.
    """

    name: str
    unit: str | None = None
    clock: int = 0
    is_time: bool = False
    alias: str = ""


@dataclass(frozen=True)
class Assignment:
    """Which columns a recording is made of, and which are left."""

    uses: tuple[ColumnUse, ...]
    ignored: tuple[str, ...]
    dof: int

    def of(self, quantity: str) -> tuple[ColumnUse, ...]:
        """The columns of a quantity in the order of their axes."""
        found = [use for use in self.uses if use.quantity == quantity]
        return tuple(sorted(found, key=lambda use: use.axis or 0))


def recognised(column: Column, index: int, path: str) -> ColumnUse | None:
    """What a column is, by its name and unit; None where the name says nothing known."""
    readings = (*_readings(column.name), *_readings(column.alias))
    for base, text, certain in readings:
        found = _classified(base)
        if found is None:
            continue
        name, axis = found
        quantity = units_of(name, axis)
        unit = None if text is None else quantity.unit(text)
        if unit is None and text is not None:
            if certain:
                raise unknown_unit(column.name, name, axis, text, path)
            continue
        unit = _agreed(column, name, axis, unit, path)
        chosen = unit or quantity.si
        return ColumnUse(column.name, index, name, axis, chosen.name, assumed=unit is None)
    return None


@lru_cache(maxsize=1024)
def quietly_recognised(column: Column, index: int) -> ColumnUse | None:
    """The same where a wrong unit is no reason to stop yet: a column map may state another."""
    try:
        return recognised(column, index, "")
    except RecordingFileError:
        return None


def units_of(name: str, axis: int | None) -> Quantity:
    """The quantity with the units of this axis: psi of a pose is an angle."""
    return ANGLE if name == "p" and axis == AXES - 1 else QUANTITIES[name]


def unknown_unit(
    column: str, name: str, axis: int | None, text: str, path: str
) -> RecordingFileError:
    """The error for a unit that its quantity does not have."""
    return RecordingFileError(
        f"unit of {channel_name(name, axis)}",
        text,
        ", ".join(unit.name for unit in units_of(name, axis).units),
        path=path,
        column=column,
        problem=f"is {text!r}",
    )


def assign(
    columns: Sequence[Column],
    mapped: Iterable[ColumnUse],
    dropped: Iterable[int],
    *,
    path: str,
    dof: int | None,
    needs_time: bool,
) -> Assignment:
    """The columns to use: those of the column map, then those whose names are known."""
    uses = {(use.quantity, use.axis): use for use in mapped}
    from_map = set(uses)
    taken = {use.index for use in uses.values()} | set(dropped)
    for index, column in enumerate(columns):
        if index in taken or column.is_time:
            continue
        use = recognised(column, index, path)
        if use is None or (use.quantity, use.axis) in from_map:
            continue
        other = uses.setdefault((use.quantity, use.axis), use)
        if other is not use:
            raise _ambiguous(other, use, path)
    axes = dof or _axes_found(uses)
    kept = {key: use for key, use in uses.items() if use.axis is None or use.axis < axes}
    _check_complete(kept, columns, path=path, dof=axes, needs_time=needs_time)
    kept = {key: use for key, use in kept.items() if _whole(kept, key[0], axes)}
    used = {use.index for use in kept.values()}
    ignored = tuple(
        column.name
        for index, column in enumerate(columns)
        if index not in used and not column.is_time and column.name
    )
    return Assignment(tuple(sorted(kept.values(), key=lambda use: use.index)), ignored, axes)


def _ambiguous(one: ColumnUse, two: ColumnUse, path: str) -> RecordingFileError:
    places = f"columns {one.index + 1} and {two.index + 1}"
    if one.name == two.name:
        problem = f"is given twice: {places} are both named {one.name!r}"
    else:
        problem = f"could be {one.name!r} or {two.name!r} ({places})"
    allowed = "one column for each; a column map chooses, by the column's name or number"
    return RecordingFileError(one.target, [one.name, two.name], allowed, path=path, problem=problem)


def found_text(columns: Sequence[Column], most: int = 40) -> str:
    """The columns of a file for a message."""
    names = [repr(column.name) for column in columns if column.name]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) + more) or "no names"


def _readings(name: str) -> Iterator[tuple[str, str | None, bool]]:
    """Ways to split a header into name and unit; the last says whether the unit is certain."""
    text = "".join(_GREEK.get(letter, letter) for letter in name).strip()
    index = ""
    inside = _BRACKETS.fullmatch(text)
    if inside is not None and _is_whole(inside[2]):
        text, index = inside[1], inside[2]
        inside = _BRACKETS.fullmatch(text)
    if inside is not None:
        unit = None if inside[2].lower() in _NO_UNIT else inside[2]
        yield from ((base + index, unit, True) for base in _tails(inside[1]))
        return
    slash = _SLASH.fullmatch(text)
    if slash is not None:
        yield from ((base + index, slash[2], False) for base in _tails(slash[1]))
    pieces = text.split("_")
    for count in (3, 2, 1):
        if len(pieces) > count:
            base, unit = "_".join(pieces[:-count]), "_".join(pieces[-count:])
            yield from ((tail + index, unit, False) for tail in _tails(base))
    yield from ((base + index, None, True) for base in _tails(text))


def _is_whole(text: str) -> bool:
    """Whether a text is a number in digits; "²" is none."""
    return text.isascii() and text.isdigit()


def _tails(base: str) -> list[str]:
    """A dotted path whole, then its last two parts, then its last part."""
    parts = re.split(r"[./\\:|]", base)
    return list(dict.fromkeys([base, ".".join(parts[-2:]), parts[-1]]))


def _classified(base: str) -> tuple[str, int | None] | None:
    """Quantity and axis of a name without its unit, if every word of it is understood."""
    words = [word.lower() for word in _WORD.findall(base)]
    numbers = [word for word in words if _is_whole(word)]
    words = [word for word in words if not _is_whole(word)]
    if len(numbers) > 1:
        return None
    axis = int(numbers[0]) - 1 if numbers else None
    if axis is not None and not 0 <= axis < AXES:
        return None
    if "psi" in words:
        words.remove("psi")
        if axis is not None:
            return None
        axis = AXES - 1
        if "platform" in words or "tcp" in words:
            return ("p", axis) if set(words) <= _POSE | _NOISE else None
        words = words if _quantities(words) else [*words, "q"]
    pose = [word for word in words if word in "xyz" and len(word) == 1]
    if pose:
        others = set(words) - set(pose)
        fits = len(pose) == 1 and axis is None and others <= _POSE | _NOISE
        return ("p", "xyz".index(pose[0])) if fits else None
    return _plain_quantity(words, axis)


def _plain_quantity(words: Sequence[str], axis: int | None) -> tuple[str, int | None] | None:
    names = _quantities(words)
    if len(names) != 1:
        return None
    name = names[0]
    others = set(words) - QUANTITIES[name].words
    if not others <= _COMMAND | _NOISE:
        return None
    if others & _COMMAND:
        name = {"q": "q_command", "tau": "tau_command"}.get(name, "")
    if not name or (axis is not None) != QUANTITIES[name].per_axis:
        return None
    return name, axis


def _quantities(words: Sequence[str]) -> list[str]:
    """Quantities that one of the words names; commands share the words of what they command."""
    return [
        name
        for name in QUANTITIES
        if not name.endswith("_command") and name != "p" and QUANTITIES[name].words & set(words)
    ]


def _agreed(
    column: Column, name: str, axis: int | None, unit: Unit | None, path: str
) -> Unit | None:
    """The unit of the name and the unit that the file states beside it must be the same."""
    stated = (column.unit or "").strip()
    if stated.lower() in _NO_UNIT:
        return unit
    other = units_of(name, axis).unit(stated)
    if other is None:
        raise unknown_unit(column.name, name, axis, stated, path)
    if unit is not None and unit != other:
        raise RecordingFileError(
            f"unit of {channel_name(name, axis)}",
            stated,
            "one unit; a column map chooses",
            path=path,
            column=column.name,
            problem=f"is {unit.name} by its name and {other.name} by the file's own unit",
        )
    return other


def _axes_found(uses: Mapping[tuple[str, int | None], ColumnUse]) -> int:
    """4 where the file has angle and torque of a fourth axis, else 3."""
    fourth = {quantity for quantity, axis in uses if axis == AXES - 1}
    return AXES if "q" in fourth and fourth & {"tau", "current"} else AXES - 1


def _check_complete(
    uses: Mapping[tuple[str, int | None], ColumnUse],
    columns: Sequence[Column],
    *,
    path: str,
    dof: int,
    needs_time: bool,
) -> None:
    wanted: list[tuple[str, int | None]] = [("t", None)] if needs_time else []
    given = {name for name, _ in uses}
    torque = "current" if "current" in given and "tau" not in given else "tau"
    wanted += [(name, axis) for name in ("q", torque) for axis in range(dof)]
    missing = [channel_name(name, axis) for name, axis in wanted if (name, axis) not in uses]
    if missing:
        raise RecordingFileError(
            ", ".join(missing),
            None,
            f"columns such as {_examples(missing)}, or a column map that names them",
            path=path,
            problem=f"{'has' if len(missing) == 1 else 'have'} no column; "
            f"found: {found_text(columns)}",
        )


def _examples(missing: Sequence[str]) -> str:
    return ", ".join(f"{name}_{QUANTITIES[name.rstrip('1234')].si.name}" for name in missing[:2])


def _whole(uses: Mapping[tuple[str, int | None], ColumnUse], name: str, dof: int) -> bool:
    """Whether an optional quantity has a column for every axis it needs."""
    if not QUANTITIES[name].per_axis:
        return True
    axes = range(3) if name == "p" else range(dof)
    return all((name, axis) in uses for axis in axes)


# Column maps: what the columns of a foreign file are, as a dictionary or a YAML file.


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
        tree = yaml.safe_load(Path(shown).read_text("utf-8-sig"))
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise _map_error(shown, problem) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise _map_error(shown, f"is not YAML: {error}".replace("\n", " ")) from error
    if isinstance(tree, dict) and isinstance(tree.get("columns"), dict) and len(tree) == 1:
        tree = tree["columns"]
    if not isinstance(tree, dict):
        raise _map_error(shown, f"holds {type(tree).__name__}")
    return tree


def _map_error(path: str, problem: str) -> RecordingFileError:
    allowed = "a YAML mapping: name of the column in the file, then what it is"
    return RecordingFileError("column map", path, allowed, path=path, problem=problem)


def _index(key: Any, columns: Sequence[Column], path: str) -> int:
    """The column that a key names, or counts from 1."""
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
    units = units_of(name, axis)
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
