"""Changes in words that a maintenance person understands, and what may be behind them.

A cause is named by which parameters moved together and which way. A lighter or heavier strut moves
its own m_x with M_P; a counterweight moves the gravity moment G of its arm and not m_x; a belt that
loses its tension presses less on its bearings, so that Coulomb friction of its axis falls; friction
that grows is a bearing, a gear or a belt that is too tight. `HITS` is how often the cause named
was the planted one in `python -m benchmarks.drift`: one below `SURE` is only said to be possible.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime

from deltadyn.history.drift.result import QUIET, Move, day_of
from deltadyn.history.drift.scan import RAMP
from deltadyn.identification.meanings import meaning

#: Causes by key, in the words of the shop floor; {} is the axis or arm.
CAUSES = {
    "friction": "belt tension or bearing",
    "belt": "belt that lost its tension, or a slipping coupling",
    "strut": "strut of another mass at arm {}",
    "counterweight": "counterweight of arm {} lost or moved",
    "tool": "tool or platform of another mass, or a payload that was not declared",
    "torque": "torque constant or current sensor of axis {}",
    "inertia": "rotor, coupling or arm {}",
    "common": "lubricant or temperature of all axes",
    "back": "back to the level before, perhaps repaired",
    "ended": "the change before has come to its end",
    "unmodelled": "something new that the model does not have: play, a loose screw, a soft belt",
}
#: Alarms of planted faults with this cause: how many were right, and of how many (docs/drift.md).
HITS = {"friction": (52, 70), "belt": (49, 57), "strut": (50, 50), "counterweight": (50, 50)}
SURE = 0.9
LARGE = 5.0  # percent of Coulomb friction that no strut does

_SHORT = {
    "Fc": "Coulomb friction of axis {}",
    "Fv": "viscous friction of axis {}",
    "Fs": "Stribeck friction of axis {}",
    "Ft": "thinning friction of axis {}",
    "F0": "torque offset of axis {}",
    "m_x": "strut mass at arm {} (m_x)",
    "A": "inertia about motor {}",
    "G": "gravity moment of arm {}",
    "G_s": "gravity moment across arm {}",
    "mu": "gear loss of axis {}",
    "residual": "unexplained torque of axis {}",
}
_ALL = {
    "m_x": "strut mass (m_x)",
    "A": "inertia about the motors",
    "G": "gravity moment of the arms",
}
_ALONE = {"M_P": "mass at the platform"}
_NUMBERED = re.compile(r"(.+?)([+-]?)(\d)")


def split(name: str) -> tuple[str, str]:
    """The family of a parameter and its axis: ("Fc", "2"); the axis is empty without one."""
    found = _NUMBERED.fullmatch(name)
    if found and found[1] in _SHORT:
        return found[1], found[3]
    return name, ""


def title(name: str) -> str:
    """What a parameter is called in a sentence."""
    stem, axis = split(name)
    if axis:
        return _SHORT[stem].format(axis)
    if name in _ALONE or name in _ALL:
        return {**_ALONE, **_ALL}[name]
    known = meaning(name).partition(":")[0].partition(";")[0]
    return f"{known} ({name})" if known else name


def sentence(
    kind: str, date: datetime, last: datetime, zone: str, moves: Sequence[Move], cause: str
) -> str:
    """ "Coulomb friction of axis 2 up 38 % since 3 May: belt tension or bearing"."""
    move = moves[0]
    way = "up" if move.size > 0 else "down"
    if move.percent is None:
        size = f"{way} {abs(move.size):.2g} {move.unit}"
    else:
        size = f"{way} {_percent(move.percent)} %"
    name = title(move.parameter)
    day = day_of(date, zone, year=date.year != last.year)
    text = f"{name[0].upper()}{name[1:]} {size} since {day}"
    if cause == "ended":
        text = f"{name[0].upper()}{name[1:]} steady again since about {day}"
    elif kind == RAMP:
        going = "growing" if move.size > 0 else "falling"
        text = f"{name[0].upper()}{name[1:]} {going} since about {day}, {size} so far"
    behind = _cause_text(cause, moves)
    return f"{text}: {behind}" if behind else text


def _percent(value: float) -> str:
    return f"{abs(value):.0f}" if abs(value) >= 9.5 else f"{abs(value):.2g}"


def _cause_text(cause: str, moves: Sequence[Move]) -> str:
    if not cause:
        return ""
    text = CAUSES[cause].format(_limb(moves))
    if cause in QUIET:  # seen, not inferred
        return text
    right, told = HITS.get(cause, (0, 0))
    return text if told and right / told >= SURE else f"perhaps {text}"


def _limb(moves: Sequence[Move]) -> str:
    """The axis that most parameters name."""
    axes = [axis for _, axis in (split(move.parameter) for move in moves) if axis]
    return max(axes, key=axes.count) if axes else "?"


class _Pattern:
    """Which families moved on which axis, and which way."""

    def __init__(self, moves: Sequence[Move]) -> None:
        self.signs = {move.parameter: (1 if move.size > 0 else -1) for move in moves}
        self.sizes = {move.parameter: abs(move.percent or 0.0) for move in moves}
        found = [split(move.parameter) for move in moves]
        self.first = found[0]
        self.families = {family for family, _ in found}
        self.axes = {axis for _, axis in found if axis}

    def moved(self, family: str, axis: str) -> int:
        """+1 up, -1 down, 0 not; a common parameter stands for any axis."""
        return self.signs.get(f"{family}{axis}", self.signs.get(family, 0))


def _is_torque(p: _Pattern) -> bool:
    """All that one axis has changed by the same share: its scale of torque."""
    axis = p.first[1]
    names = [f"{family}{axis}" for family in ("Fc", "Fv", "A")]
    shares = [p.sizes[name] * p.signs[name] for name in names if name in p.sizes]
    return (
        len(shares) == 3
        and min(shares) * max(shares) > 0
        and max(map(abs, shares)) < 1.6 * min(map(abs, shares))
    )


def _is_strut(p: _Pattern) -> bool:
    """m_x of an arm moves, M_P not against it, and friction does not: a soft belt looks like it."""
    if any(p.sizes[name] > LARGE for name in p.sizes if split(name)[0] == "Fc"):
        return False
    return any(
        p.moved("m_x", axis) and p.moved("m_x", axis) != -p.moved("M_P", "")
        for axis in (p.axes or {""})
    )


def _is_counterweight(p: _Pattern) -> bool:
    """G of an arm moves without the mass at the platform."""
    return any(
        p.moved("G", axis) and not p.moved("m_x", axis) and not p.moved("M_P", "")
        for axis in (p.axes or {""})
    ) or (bool(p.first[1]) and p.first[0] == "A" and p.moved("A", p.first[1]) < 0)


def _is_common(p: _Pattern) -> bool:
    """Friction of three axes or more moves the same way."""
    for family in ("Fc", "Fv"):
        signs = [sign for name, sign in p.signs.items() if split(name)[0] == family]
        if len(signs) >= 3 and len(set(signs)) == 1:
            return True
    return False


def _friction_sign(p: _Pattern) -> int:
    """Which way Coulomb friction of the axis moved; viscous where that did not."""
    axis = p.first[1] if p.first[0] in ("Fc", "Fv") else next(iter(p.axes), "")
    return p.moved("Fc", axis) or p.moved("Fv", axis)


#: In this order: the first that holds is named.
RULES: tuple[tuple[str, Callable[[_Pattern], bool]], ...] = (
    ("torque", _is_torque),
    ("strut", _is_strut),
    ("common", _is_common),
    ("belt", lambda p: bool(p.families & {"Fc", "Fv"}) and _friction_sign(p) < 0),
    ("friction", lambda p: bool(p.families & {"Fc", "Fv"}) and _friction_sign(p) > 0),
    ("tool", lambda p: "M_P" in p.families),
    ("counterweight", _is_counterweight),
    ("inertia", lambda p: "A" in p.families),
    ("unmodelled", lambda p: p.families == {"residual"}),
)


def cause_of(moves: Sequence[Move]) -> str:
    """The key of the cause that the moves point to, or empty."""
    pattern = _Pattern(moves)
    return next((key for key, holds in RULES if holds(pattern)), "")
