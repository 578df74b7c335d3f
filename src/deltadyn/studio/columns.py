"""From the columns of an uploaded log to a recording: a table of choices with the guess marked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

from deltadyn.errors import InputError
from deltadyn.recording.columns import QUANTITIES, units_of
from deltadyn.recording.guess import ColumnGuess, GuessedColumn
from deltadyn.recording.recording import ColumnUse, channel_name
from deltadyn.studio.forms import Values, choice, number

if TYPE_CHECKING:
    from deltadyn.studio.session import Upload

#: Options of `read_recording` that units of columns ask for, and what they are called.
ASKED = {
    "sample_time": "time between rows (s)",
    "rated_torque": "rated torque (N m)",
    "rated_current": "rated current (A)",
    "counts_per_turn": "counts per turn",
    "torque_constant": "torque constant (N m/A)",
}
#: Options that mend a log, and what they are called; 1 stands for yes.
MENDING = {
    "start": "from (s)",
    "stop": "to (s)",
    "repair": "fill NaN, up to 5 in a row",
    "interpolate": "take other clocks at the times of q1",
}
UNUSED = ""
SIDED = ("q", "q_command", "qd", "qdd", "tau", "tau_command")

Uses = dict[int, ColumnUse | None]


@dataclass(frozen=True, eq=False)
class Draft:
    """An uploaded log with its columns, by number from 1, as they are chosen.

    `guess` is what they were taken for; `asked` are options of `read_recording` by name;
    `problems` are pairs of a quantity and why the log cannot be read yet; `whole` are the uses with
    the options in them, e.g. the rated torque as a factor.
    """

    upload: Upload
    guess: ColumnGuess
    uses: Uses
    asked: dict[str, float] = field(default_factory=dict)
    problems: tuple[tuple[str, str], ...] = ()
    whole: Uses = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether something else than the guess was chosen."""
        return bool(self.asked) or any(
            self.uses[item.number] != item.use for item in self._choosable
        )

    @property
    def options(self) -> dict[str, Any]:
        """How `read_recording` reads it: by its own guess, or by what was chosen instead."""
        if not self.changed:
            return {}
        return {"columns": column_map(self.uses), **reading_of(self.asked)}

    @property
    def _choosable(self) -> Iterator[GuessedColumn]:
        return (item for item in self.guess.columns if not item.is_time)

    def chosen(self, values: Values) -> Draft:
        """The draft with the choices of the form; a channel of another column is exchanged."""
        uses: Uses = {
            item.number: _use(item, self.uses[item.number], values) for item in self._choosable
        }
        for mine, use in uses.items():
            before = self.uses[mine]
            if use is None or (before is not None and before.target == use.target):
                continue
            for other, same in uses.items():
                if other != mine and same is not None and same.target == use.target:
                    uses[other] = None if before is None else _placed(same, before)
        asked = {
            name: value
            for name, text in (ASKED | MENDING).items()
            if (value := _number(values.get(f"asked.{name}"), text)) is not None
        }
        return replace(self, uses=uses, asked=asked)

    def mapped(self, entries: Mapping[str, Mapping[str, Any]]) -> Draft:
        """The draft with entries of a column map, by the names of the columns."""
        uses = dict(self.uses)
        for item in self._choosable:
            entry = entries.get(item.name)
            if entry is None:
                continue
            use = uses[item.number] or ColumnUse(item.name, item.number - 1, "", None, "")
            values = {key: value for key, value in entry.items() if key != "axis"}
            found = replace(use, **{"sign": 1.0, "offset": 0.0, "scale": 1.0, **values})
            uses[item.number] = replace(found, axis=int(entry["axis"]) - 1, assumed=False)
        return replace(self, uses=uses)

    def like(self, other: Draft) -> Draft:
        """The draft with what was chosen for the columns of the same names in another one."""
        if not other.changed:
            return self
        theirs = {item.name: other.uses[item.number] for item in other._choosable}
        uses: Uses = {
            item.number: _moved(theirs.get(item.name, item.use), item) for item in self._choosable
        }
        return replace(self, uses=uses, asked=other.asked)

    def text(self) -> str:
        """The text of a `columns.yaml` with these choices."""
        columns = tuple(
            item if item.is_time else replace(item, use=self.whole[item.number])
            for item in self.guess.columns
        )
        return replace(self.guess, columns=columns).yaml()


def reading_of(asked: Mapping[str, float]) -> dict[str, Any]:
    """Options of `read_recording` by what was asked for: numbers, and 1 for what is switched on."""
    options: dict[str, Any] = dict(asked)
    if "repair" in options:
        options["repair"] = ["nan"] if options["repair"] else []
    if "interpolate" in options:
        options["interpolate"] = bool(options["interpolate"])
    return options


def draft_of(upload: Upload, guess: ColumnGuess) -> Draft:
    """The draft as it was guessed."""
    return Draft(upload, guess, uses_of(guess))


def uses_of(guess: ColumnGuess) -> Uses:
    """What the columns are, by number; times of several clocks cannot be chosen."""
    return {item.number: item.use for item in guess.columns if not item.is_time}


def column_map(uses: Mapping[int, ColumnUse | None]) -> dict[int, dict[str, Any] | None]:
    """A column map, by the numbers of the columns."""
    found: dict[int, dict[str, Any] | None] = {}
    for mine, use in uses.items():
        if use is None:
            found[mine] = None
            continue
        entry = {"quantity": use.quantity, "unit": use.unit, "scale": use.scale, "sign": use.sign}
        entry |= {"offset": use.offset, "side": use.side, "torque_constant": use.torque_constant}
        if use.axis is not None:
            entry["axis"] = use.axis + 1
        found[mine] = {key: value for key, value in entry.items() if value is not None}
    return found


def _use(item: GuessedColumn, now: ColumnUse | None, values: Values) -> ColumnUse | None:
    """What the form says of a column; another channel begins with the units of the guess, or SI."""
    key = f"{item.number}"
    wanted = values.get(f"{key}.is", UNUSED)
    if wanted == UNUSED:
        return None
    name, _, place = str(wanted).partition(":")
    axis = int(place) if place else None
    if now is None or (now.quantity, now.axis) != (name, axis):
        for known in (now, item.use):
            if known is not None and known.quantity == name:
                return replace(known, axis=axis)
        return ColumnUse(item.name, item.number - 1, name, axis, units_of(name, axis).si.name)
    found = replace(
        now,
        unit=str(values.get(f"{key}.unit", now.unit)),
        side=str(values.get(f"{key}.side", now.side or "")) or None,
        sign=float(values.get(f"{key}.sign", now.sign)),
        offset=_number(values.get(f"{key}.offset", now.offset), f"offset of {item.name}") or 0.0,
        torque_constant=_number(
            values.get(f"{key}.constant", now.torque_constant), f"torque constant of {item.name}"
        ),
    )
    return now if _same(found, now) else replace(found, assumed=False)


def _moved(use: ColumnUse | None, item: GuessedColumn) -> ColumnUse | None:
    return None if use is None else replace(use, name=item.name, index=item.number - 1)


def _same(one: ColumnUse, two: ColumnUse) -> bool:
    """Whether two uses are the same; no side is the output side."""
    return replace(one, side=one.side or "output") == replace(two, side=two.side or "output")


def _placed(use: ColumnUse, like: ColumnUse) -> ColumnUse:
    """The use of a column for the channel of another one; the units of its quantity stay."""
    if use.quantity == like.quantity:
        return replace(use, axis=like.axis)
    return replace(use, quantity=like.quantity, axis=like.axis, unit=like.unit, side=like.side)


def _number(given: Any, what: str) -> float | None:
    if given is None or given == "":
        return None
    value = float(given)
    if not math.isfinite(value):
        raise InputError(what, value, "a finite number")
    return value


# The table.


def draft_html(draft: Draft, dof: int) -> str:
    """A row for every column: what it is and why, then unit, side, sign, offset, constant."""
    wanted = {name for name, _ in draft.problems} | set(draft.asked)
    asked = "".join(
        f'<label style="margin-right:1em">{escape(text)} '
        f"{number(f'asked.{name}', draft.asked.get(name), label=text)}</label>"
        for name, text in ASKED.items()
        if name in wanted
    )
    asked += "".join(_mending(draft, name, text) for name, text in MENDING.items())
    rows = "".join(_row(draft, item, dof) for item in draft.guess.columns)
    above = f'<div style="margin:4px 8px;font-size:0.8em">{asked}</div>'
    look = "margin:4px 8px;max-height:46vh;overflow:auto;border:1px solid #e3e6ea;font-size:0.76em"
    head = "".join(f"<b>{text}</b>" for text in HEAD)
    top = "position:sticky;top:0;background:#f4f6f8;padding:3px 6px"
    return f'{above}<div style="{look}"><div style="{top};{_GRID}">{head}</div>{rows}</div>'


#: What a column is, and what its numbers need to become SI values of the output side.
HEAD = ("is", "unit", "side, N m/A", "sign", "offset")
_GRID = "display:grid;grid-template-columns:8.2em 5.4em 7em 4.6em 5em;gap:2px 4px"


def _mending(draft: Draft, name: str, text: str) -> str:
    """The control of an option that mends the log: a time, or yes and no."""
    key, value = f"asked.{name}", draft.asked.get(name)
    if name in ("start", "stop"):
        control = number(key, value, label=text)
    else:
        control = choice(key, [("", "no"), ("1", "yes")], "1" if value else "", label=text)
    return f'<label style="margin-right:1em">{escape(text)} {control}</label>'


def _row(draft: Draft, item: GuessedColumn, dof: int) -> str:
    why = "; ".join(item.why)
    use = item.use if item.is_time else draft.uses[item.number]
    controls = "times" if item.is_time else _controls(item, use, dof)
    shade = "" if use is not None or item.is_time else ";color:#6b7280"
    return (
        f'<div style="padding:3px 6px;border-top:1px solid #e3e6ea{shade}">'
        f"<b>{escape(item.name) or f'column {item.number}'}</b> "
        f'<span style="color:#5a6472">{escape(why)}</span>'
        f'<div style="margin-top:2px;{_GRID}">{controls}</div></div>'
    )


def _controls(item: GuessedColumn, use: ColumnUse | None, dof: int) -> str:
    """The controls of a column, in the order of `HEAD`."""
    key, guess = f"{item.number}", item.use
    name = item.name or f"column {key}"
    parts = [choice(f"{key}.is", _channels(dof), _key(use), label=f"{name}: is", guess=_key(guess))]
    if use is None:
        return parts[0]
    same = guess if guess is not None and guess.target == use.target else None
    units = [(unit.name, unit.name) for unit in units_of(use.quantity, use.axis).units]
    guessed = None if same is None else same.unit
    parts.append(choice(f"{key}.unit", units, use.unit, label=f"{name}: unit", guess=guessed))
    if use.axis is None:
        return "".join(parts)
    if use.quantity == "current":
        label, constant = f"{name}: torque constant", use.torque_constant
        changed = constant != (None if same is None else same.torque_constant)
        parts.append(number(f"{key}.constant", constant, label=label, changed=changed))
    elif use.quantity in SIDED:
        guessed = None if same is None else same.side or "output"
        sides = [(side, side) for side in ("output", "motor")]
        label = f"{name}: side"
        parts.append(choice(f"{key}.side", sides, use.side or "output", label=label, guess=guessed))
    else:
        parts.append("<span></span>")
    signs = [("1", "+"), ("-1", "\N{MINUS SIGN}")]
    guessed = None if same is None else f"{same.sign:g}"
    label = f"{name}: sign"
    parts.append(choice(f"{key}.sign", signs, f"{use.sign:g}", label=label, guess=guessed))
    changed = use.offset != (0.0 if same is None else same.offset)
    parts.append(number(f"{key}.offset", use.offset, label=f"{name}: offset", changed=changed))
    return "".join(parts)


def _key(use: ColumnUse | None) -> str:
    if use is None:
        return UNUSED
    return use.quantity if use.axis is None else f"{use.quantity}:{use.axis}"


def _channels(dof: int) -> list[tuple[str, str]]:
    """All that a column can be."""
    found = [(UNUSED, "unused")]
    for name, quantity in QUANTITIES.items():
        if not quantity.per_axis:
            found.append((name, quantity.title))
            continue
        found += [(f"{name}:{k}", f"{channel_name(name, k)} {quantity.title}") for k in range(dof)]
    return found
