"""The columns of a file: quantities and units, and what a header says."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise

from deltadyn.arrays import FloatArray
from deltadyn.errors import RecordingFileError
from deltadyn.recording import words as vocabulary
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
    Unit("s"): "s sec second seconds sek secondi sekunde 秒",
    Unit("ms", divisor=1e3): "ms msec millisecond milliseconds 毫秒",
    Unit("us", divisor=1e6): "us µs μs usec microsecond microseconds 微秒",
    Unit("ns", divisor=1e9): "ns nsec nanosecond nanoseconds",
    Unit("min", factor=60.0): "min minute minutes",
}
_ANGLE = {
    Unit("rad"): "rad radian radians 弧度",
    Unit("mrad", divisor=1e3): "mrad",
    Unit("deg", factor=DEGREE): "deg ° º degree degrees grad gradi grados degre degres 度",
    Unit("mdeg", factor=DEGREE, divisor=1e3): "mdeg m°",
    Unit(
        "rev", factor=TURN
    ): "rev turn turns revolution revolutions U umdr giri giro tour tours 转",
    Unit("counts", factor=TURN): "counts count cnt cts ct inc incr increments ink inkremente "
    "inkr pulse pulses pls ticks impulsi impulsions pulsos 脉冲",
}
_RATE = {
    Unit("rad/s"): "rad/s radps rad_s rad_per_s rad/sec",
    Unit("mrad/s", divisor=1e3): "mrad/s mrad_s",
    Unit("deg/s", factor=DEGREE): "deg/s °/s º/s degps deg_s deg_per_s dps deg/sec °/sec grad/s "
    "度/秒",
    Unit("rpm", factor=TURN, divisor=60.0): "rpm 1/min U/min rev/min min-1 min^-1 rev_min r/min "
    "tr/min giri/min upm 转/分",
    Unit("rev/s", factor=TURN): "rev/s rps rev_s 1/s U/s r/s",
    Unit("counts/s", factor=TURN): "counts/s cnt/s cts/s inc/s counts/sec cnt/sec ink/s pulse/s "
    "counts/second",
}
_ACCELERATION = {
    Unit("rad/s^2"): "rad/s^2 rad/s2 rad_s2 rad/s/s rad/sec^2",
    Unit("deg/s^2", factor=DEGREE): "deg/s^2 °/s^2 deg/s2 °/s2 deg_s2 deg/s/s deg/sec^2",
}
_SHARES = {
    Unit("percent", divisor=1e2): "% percent pct prozent",
    Unit("permille", divisor=1e3): "‰ permille promille 0.1% 0,1% 1/1000 per_mille %o",
}
_TORQUE = {
    Unit("Nm"): "Nm N*m N.m N-m 牛米 牛顿米",
    Unit("mNm", divisor=1e3): "mNm mN*m",
    Unit("Ncm", divisor=1e2): "Ncm N*cm cNm",
    Unit("kNm", factor=1e3): "kNm kN*m",
    **_SHARES,
}
_CURRENT = {
    Unit("A"): "A amp amps ampere Arms Aeff Apk Apeak A_rms A_peak 安 安培",
    Unit("mA", divisor=1e3): "mA mAmp",
    **_SHARES,
}
_LENGTH = {
    Unit("m"): "m meter metre",
    Unit("mm", divisor=1e3): "mm 毫米",
    Unit("cm", divisor=1e2): "cm",
    Unit("um", divisor=1e6): "um µm μm",
}
_SPEED = {
    Unit("m/s"): "m/s mps m_s m/sec",
    Unit("mm/s", divisor=1e3): "mm/s mm_s mm/sec",
    Unit("m/min", divisor=60.0): "m/min m_min",
    Unit("mm/min", divisor=6e4): "mm/min mm_min",
}
_PUSH = {
    Unit("m/s^2"): "m/s^2 m/s2 m_s2 m/s/s m/sec^2",
    Unit("mm/s^2", divisor=1e3): "mm/s^2 mm/s2 mm_s2 mm/s/s mm/sec^2",
}
_FORCE = {
    Unit("N"): "N newton newtons 牛 牛顿",
    Unit("mN", divisor=1e3): "mN",
    Unit("kN", factor=1e3): "kN",
    **_SHARES,
}
_MASS = {Unit("kg"): "kg", Unit("g", divisor=1e3): "g gram grams"}
_TEMPERATURE = {
    Unit("degC"): "degC °C ºC ℃ C celsius",
    Unit("K", shift=-273.15): "K kelvin",
    Unit("degF", factor=5.0, divisor=9.0, shift=-160 / 9): "degF °F fahrenheit",
}

#: Units that are shares of a rated torque or a rated current.
RATED = ("percent", "permille")
#: Units that count the marks of an encoder: a turn has `counts_per_turn` of them.
COUNTED = ("counts", "counts/s")


@dataclass(frozen=True)
class Quantity:
    """A quantity of a recording: its field, its units (SI first) and whether each axis has one."""

    name: str
    title: str  # in a sentence
    units: dict[Unit, str]
    per_axis: bool

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


QUANTITIES = {
    item.name: item
    for item in (
        Quantity("t", "time", _TIME, False),
        Quantity("q", "angle", _ANGLE, True),
        Quantity("tau", "torque", _TORQUE, True),
        Quantity("current", "current", _CURRENT, True),
        Quantity("q_command", "commanded angle", _ANGLE, True),
        Quantity("qd", "speed", _RATE, True),
        Quantity("qdd", "acceleration", _ACCELERATION, True),
        Quantity("tau_command", "commanded torque", _TORQUE, True),
        Quantity("p", "position of the platform", _LENGTH, True),
        Quantity("payload", "payload", _MASS, False),
        Quantity("temperature", "temperature", _TEMPERATURE, False),
    )
}

ANGLE = QUANTITIES["q"]  # psi of the platform is an angle among lengths

#: Quantities of an axis that is a carriage on a rail.
ON_RAILS = {
    item.name: item
    for item in (
        Quantity("q", "place", _LENGTH, True),
        Quantity("tau", "force", _FORCE, True),
        Quantity("q_command", "commanded place", _LENGTH, True),
        Quantity("qd", "speed", _SPEED, True),
        Quantity("qdd", "acceleration", _PUSH, True),
        Quantity("tau_command", "commanded force", _FORCE, True),
    )
}
#: The same with the units of both kinds, those of an angle first: what a header may name.
_EITHER = {
    name: replace(QUANTITIES[name], units={**QUANTITIES[name].units, **item.units})
    for name, item in ON_RAILS.items()
}


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    """One spelling of a unit: no spaces, * for every multiplication sign, ^2 for ²."""
    text = re.sub(r"[·⋅∙×•]", "*", text.strip()).replace("²", "^2")
    return re.sub(r"\s+", "*" if re.search(r"N\s+c?m$", text) else "", text)


# Headers: which quantity, axis and unit the name of a column tells, and why.


AXES = 4

_POSE = frozenset(["p", "pos", "position", "platform", "tcp", "tool", "pose"])
_GREEK = {"θ": "theta", "τ": "tau", "ψ": "psi", "φ": "phi", "ω": "omega", "ϑ": "theta"}
_NO_UNIT = frozenset(["", "-", "none", "1", "(none)", "n/a", "units", "unit"])

_BRACKETS = re.compile(r"(.*?)\s*[\[({<【（]\s*([^\[\](){}<>]*?)\s*[\])}>】）]\s*")
_SLASH = re.compile(r"(.*\S)\s+(?:in|/)\s+(\S+)")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")

#: What two quantities in one name mean: "torque-producing current" is a current.
_BOTH = {
    frozenset(("tau", "current")): "current",
    frozenset(("q", "qd")): "qd",
    frozenset(("q", "qdd")): "qdd",
}
_NO_CHANNEL = "a recording has no such channel"
_NOTHING = "the name says nothing known"
SAYS_FORCE = "says force of a carriage"
#: Quantities that a unit alone tells, where the name says only which axis it is.
_TOLD_BY_UNIT = ("q", "tau", "current", "qd", "qdd")
_COMMANDS = {"q": "q_command", "tau": "tau_command"}
_SIDED = ("q", "q_command", "qd", "qdd", "tau", "tau_command")


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
class Understood:
    """What the header of a column says; `use` is None where that is no channel of a recording.

    `marked` is "actual" or "command" where a word says so. `why` holds a text a reason, or why it
    has no use.
    """

    use: ColumnUse | None = None
    marked: str = ""
    why: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Meaning:
    """Quantity and axis that the words of a name tell; quantity None: no channel, for `why`."""

    quantity: str | None
    axis: int | None = None
    side: str | None = None
    marked: str = ""
    unit: str | None = None  # that one of the words or the drive's symbol names
    why: list[str] = field(default_factory=list)


def understood(column: Column, index: int, path: str, first: int = 1) -> Understood:
    """What a column is, by its name and unit; axes count from `first` in the name."""
    reasons: list[str] = []
    for name in dict.fromkeys((column.name, column.alias or column.name)):
        for base, text, certain in _readings(name):
            told = text if certain or _is_force(text) else None
            found = _meaning(base, told, column, first)
            if found.quantity is None:
                reasons += found.why
                continue
            quantity = units_of(found.quantity, found.axis, None)
            wanted = text or found.unit
            unit = None if wanted is None else quantity.unit(wanted)
            if unit is None and wanted is not None:
                if certain and (found.axis is not None) == QUANTITIES[found.quantity].per_axis:
                    raise unknown_unit(column.name, found.quantity, found.axis, wanted, path)
                continue
            return _taken(column, index, path, found, unit, wanted)
    known = [text for text in reasons if text.endswith(_NO_CHANNEL)]
    return Understood(why=tuple((known or reasons[-1:] or [_NOTHING])[:1]))


def _taken(
    column: Column, index: int, path: str, found: _Meaning, unit: Unit | None, text: str | None
) -> Understood:
    """A column whose name is understood, with its unit and where that stands."""
    name = found.quantity or ""
    quantity = units_of(name, found.axis, None)
    why = list(found.why)
    stated = _agreed(column, name, found.axis, unit, path)
    if unit is not None:
        defined = text == found.unit and why and "is the drive's" in why[0]
        why.append(f"its unit is {text}" if defined else f"unit {text!r} in the name")
    elif stated is not None:
        why.append(f"unit {(column.unit or '').strip()!r} beside the name")
    per_axis = QUANTITIES[name].per_axis
    if (found.axis is not None) != per_axis:
        title = QUANTITIES[name].title
        missing = f"{title} without the number of its axis"
        extra = f"{title} of one axis: a recording has one for all"
        text = missing if per_axis else extra
        return Understood(None, found.marked, (*why, text))
    chosen = stated or quantity.si
    if stated is None:
        why.append(f"no unit, so {chosen.name}")
    use = ColumnUse(
        column.name,
        index,
        name,
        found.axis,
        chosen.name,
        side=found.side if name in _SIDED else None,
        assumed=stated is None,
    )
    return Understood(use, found.marked, tuple(why))


def recognised(column: Column, index: int, path: str) -> ColumnUse | None:
    """What a column is, by its name and unit; None where the name says nothing known."""
    return understood(column, index, path).use


@lru_cache(maxsize=1024)
def quietly_recognised(column: Column, index: int) -> ColumnUse | None:
    """The same where a wrong unit is no reason to stop yet: a column map may state another."""
    try:
        return recognised(column, index, "")
    except RecordingFileError:
        return None


@lru_cache(maxsize=4096)
def time_unit(column: Column) -> Unit | None:
    """The unit of a time column, of all axes or of a numbered one; None for any other column.

    Without a unit it is the second.
    """
    for base, text, _ in _readings(column.name):
        words = [word for word in _tokens(base) if not _is_whole(word)]
        if _plain_quantity(words, None, None).quantity == "t":
            stated = (column.unit or "").strip()
            wanted = text if stated.lower() in _NO_UNIT else stated
            return QUANTITIES["t"].unit(wanted or "s")
    return None


def units_of(name: str, axis: int | None, slides: bool | None = False) -> Quantity:
    """The quantity with the units of this axis: psi of a pose is an angle.

    `slides` tells that the axis is a carriage on a rail; None: it may be or not, and has the units
    of both.
    """
    if name == "p" and axis == AXES - 1:
        return ANGLE
    if name in ON_RAILS and axis is not None and slides is not False:
        return ON_RAILS[name] if slides else _EITHER[name]
    return QUANTITIES[name]


def is_linear(use: ColumnUse) -> bool | None:
    """Whether the unit of a column is one of a carriage; None where it tells nothing."""
    if use.quantity not in ON_RAILS or use.unit in RATED or use.assumed:
        return None
    return QUANTITIES[use.quantity].unit(use.unit) is None


def unknown_unit(
    column: str,
    name: str,
    axis: int | None,
    text: str,
    path: str,
    slides: bool = False,
    note: str = "",
) -> RecordingFileError:
    """The error for a unit that its quantity does not have."""
    return RecordingFileError(
        f"unit of {channel_name(name, axis)}",
        text,
        ", ".join(unit.name for unit in units_of(name, axis, slides).units) + note,
        path=path,
        column=column,
        problem=f"is {text!r}",
    )


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
        text, index = inside[1], f"[{inside[2]}]"
        inside = _BRACKETS.fullmatch(text)
    if inside is not None:
        unit = None if inside[2].lower() in _NO_UNIT else inside[2]
        yield from ((base, unit, True) for base in _tails(inside[1] + index))
        if unit is not None and not is_unit(unit):  # "Position (axis 1)"
            yield f"{inside[1]} {inside[2]} {index}", None, True
        return
    slash = _SLASH.fullmatch(text)
    if slash is not None:
        yield from ((base, slash[2], False) for base in _tails(slash[1] + index))
    pieces = text.split("_")
    for count in (3, 2, 1):
        if len(pieces) > count:
            base, unit = "_".join(pieces[:-count]), "_".join(pieces[-count:])
            if is_unit(unit):
                yield from ((tail, unit, False) for tail in _tails(base + index))
    middle = _BRACKETS.match(text)
    if middle is not None and is_unit(middle[2]):  # "Position [deg] axis 1"
        yield f"{middle[1]} {text[middle.end() :]}{index}", middle[2], True
    yield from ((base, None, True) for base in _tails(text + index))


@lru_cache(maxsize=1024)
def is_unit(text: str) -> bool:
    """Whether a text is a unit of any quantity."""
    return any(item.unit(text) for item in (*QUANTITIES.values(), *ON_RAILS.values()))


def _is_whole(text: str) -> bool:
    """Whether a text is a number in digits; "²" is none, nor what is too long to count with."""
    return text.isascii() and text.isdigit() and len(text) < 10


def _tails(base: str) -> list[str]:
    """A dotted path whole, its last two parts, the axis before its last part, its last part.

    The axis is the one number of the last part with a number, whatever that part is called.
    """
    parts = re.split(r"[./\\:|]", base)
    tails = [base, ".".join(parts[-2:])]
    for part in reversed(parts[:-1]):
        tokens = _tokens(part)
        numbers = [word for word in tokens if _is_whole(word)]
        if numbers:
            if len(numbers) == 1 and not any(_has(word, "other") for word in tokens):
                tails.append(f"axis {numbers[0]} {parts[-1]}")
            break
    return list(dict.fromkeys([*tails, parts[-1]]))


def _tokens(base: str) -> list[str]:
    """The words and numbers of a name, joined words taken apart."""
    found = (word.lower() for word in _WORD.findall(vocabulary.plain(base)))
    return [part for word in found for part in vocabulary.split(word)]


def _meaning(base: str, unit: str | None, column: Column, first: int) -> _Meaning:
    """Quantity and axis of a name without its unit, if every word of it is understood."""
    stated = unit or (None if (column.unit or "").lower() in _NO_UNIT else column.unit)
    symbol = vocabulary.symbol(base)
    if symbol is not None:
        name, text, own = symbol
        found = _of_words(_tokens(text), stated, first)
        if found.quantity is None:
            return found
        why = [f"{name!r} is the drive's {vocabulary.SYMBOLS[name][0]}"]
        return replace(found, why=why, unit=own if own and stated is None else None)
    return _of_words(_tokens(base), stated, first)


def _of_words(tokens: Sequence[str], unit: str | None, first: int) -> _Meaning:
    axis, words, problem = _axis(tokens, first)
    if problem:
        return _Meaning(None, why=[problem])
    forces = [word for word in words if word in vocabulary.FORCES]
    if forces and axis is not None and _is_force(unit):
        found = _plain_quantity(["torque", *(w for w in words if w not in forces)], axis, unit)
        said = [f"{forces[0]!r} {SAYS_FORCE}", *found.why[1:]]
        return found if found.quantity is None else replace(found, why=said)
    if "psi" in words:
        words.remove("psi")
        if axis is not None:
            return _Meaning(None, why=["psi is the fourth axis, and the name has another number"])
        axis = AXES - 1
        if "platform" in words or "tcp" in words:
            return _pose(words, AXES - 1)
        words = words if _named(words) else [*words, "q"]
    letters = [word for word in words if word in ("x", "y", "z")]
    if letters:
        if len(letters) > 1 or axis is not None:
            return _Meaning(None, why=["several axes in one name"])
        return _pose([word for word in words if word != letters[0]], "xyz".index(letters[0]))
    return _plain_quantity(words, axis, unit)


def _is_force(unit: str | None) -> bool:
    """Whether a unit is one of a force, and no share of a rated one."""
    found = None if unit is None else ON_RAILS["tau"].unit(unit)
    return found is not None and found.name not in RATED


def _pose(words: Sequence[str], axis: int) -> _Meaning:
    unknown = [w for w in words if w not in _POSE and not _has(w, "actual", "axis", "plain")]
    if unknown:
        return _Meaning(None, why=[_not_known(unknown)])
    return _Meaning("p", axis, why=[f"{'xyz'[axis : axis + 1] or 'psi'} of the platform"])


def _axis(tokens: Sequence[str], first: int) -> tuple[int | None, list[str], str]:
    """The axis that a name tells, the words without it, and what is wrong."""
    numbers = {place: int(word) for place, word in enumerate(tokens) if _is_whole(word)}
    words = [word for word in tokens if not _is_whole(word)]
    if not numbers:
        for place, (before, letter) in enumerate(pairwise(tokens)):
            marked = len(before) > 1 and _has(before, "axis", "motor")
            if marked and letter in ("a", "b", "c", "d"):
                return "abcd".index(letter), [*words[: place + 1], *words[place + 2 :]], ""
        return None, words, ""
    if len(set(numbers.values())) > 1:
        after = {
            number
            for place, number in numbers.items()
            if place and _has(tokens[place - 1], "axis", "motor")
        }
        if len(after) != 1:
            return None, words, "several numbers in one name"
        numbers = {0: after.pop()}
    axis = next(iter(numbers.values())) - first
    if not 0 <= axis < AXES:
        return None, words, f"there is no axis {axis + first}"
    return axis, words, ""


def _plain_quantity(words: Sequence[str], axis: int | None, unit: str | None) -> _Meaning:
    names = _named(words)
    present = len(names) > 1 and "current" in words and "tau" not in names
    if present:  # "current position" is the present one
        names = [name for name in names if name != "current"]
    loaded = len(names) > 1 and "payload" in names
    if loaded:  # "load torque" is one behind the gear
        names = [name for name in names if name != "payload"]
    name = _BOTH.get(frozenset(names), names[0] if len(names) == 1 else None)
    said = [word for word in words if name and _is(word, name)][:1]
    why = [f"{word!r} says {QUANTITIES[name or ''].title}" for word in said]
    others = [w for w in words if not any(_is(w, found) for found in _named(words))]
    if name is None and not names and axis is not None:
        name = _by_unit(unit)
        why = [f"the unit {unit!r} says {QUANTITIES[name].title}"] if name else []
    if name is None:
        beyond = [word for word in words if _has(word, "other")]
        text = f"{' '.join(beyond)!r}: {_NO_CHANNEL}" if beyond else _not_known(words)
        return _Meaning(None, why=["several quantities in one name" if names else text])
    strange = [word for word in others if word not in vocabulary.KNOWN]
    named_unit = None
    if strange and units_of(name, axis, None).unit("_".join(strange)):
        named_unit, strange = "_".join(strange), []
    if strange:
        return _Meaning(None, why=[_not_known(strange)])
    beyond = [word for word in others if _has(word, "other") and not _has(word, "plain")]
    if beyond:
        return _Meaning(None, why=[f"{' '.join(beyond)!r}: {_NO_CHANNEL}"])
    commanded = [w for w in others if _has(w, "command")]
    actual = [w for w in others if _has(w, "actual") and not _has(w, "plain")]
    if commanded and actual:
        return _Meaning(None, why=[f"{commanded[0]!r} and {actual[0]!r} in one name"])
    if commanded:
        if name not in _COMMANDS:
            title = QUANTITIES[name].title
            return _Meaning(None, why=[f"a commanded {title}: {_NO_CHANNEL}"])
        name = _COMMANDS[name]
        why.append(f"{commanded[0]!r} says commanded")
    elif actual or present:
        why.append(f"{(actual or ['current'])[0]!r} says measured")
    side = None
    if loaded or any(_has(word, "output") for word in others):
        side = "output"
        why.append("a word says behind the gear")
    marked = "command" if commanded else "actual" if actual or present else ""
    return _Meaning(name, axis, side, marked, named_unit, why)


def _not_known(words: Sequence[str]) -> str:
    return f"not known: {' '.join(words)!r}" if words else _NOTHING


def _by_unit(unit: str | None) -> str | None:
    """The quantity that a unit alone tells; shares of a rated value tell none."""
    text = (unit or "").strip()
    if text.lower() in _NO_UNIT:
        return None
    for name in _TOLD_BY_UNIT:
        found = QUANTITIES[name].unit(text)
        if found is not None:
            return None if found.name in RATED else name
    return None


def _has(word: str, *roles: str) -> bool:
    return any(word in vocabulary.ROLES[role] for role in roles)


def _is(word: str, quantity: str) -> bool:
    return word in vocabulary.QUANTITIES[quantity]


def _named(words: Sequence[str]) -> list[str]:
    """Quantities that one of the words names; commands share the words of what they command."""
    return [name for name, known in vocabulary.QUANTITIES.items() if known & set(words)]


def _agreed(
    column: Column, name: str, axis: int | None, unit: Unit | None, path: str
) -> Unit | None:
    """The unit of the name and the unit that the file states beside it must be the same."""
    stated = (column.unit or "").strip()
    if stated.lower() in _NO_UNIT:
        return unit
    other = units_of(name, axis, None).unit(stated)
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
