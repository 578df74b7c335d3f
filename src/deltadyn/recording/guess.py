"""Which columns of a file a recording is made of: what each was taken for, and why.

A column map comes first, then what the headers say (`columns.py`), then what the values tell where
a header is silent: a time step of 1 is a millisecond and not a second, an arm does not turn by
2000 degrees. `read_recording` reads by this guess; `guess_columns` shows it.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, RecordingFileError
from deltadyn.recording.column_maps import read_column_map
from deltadyn.recording.columns import (
    AXES,
    COUNTED,
    QUANTITIES,
    RATED,
    SAYS_FORCE,
    Column,
    Understood,
    found_text,
    is_linear,
    time_unit,
    understood,
    units_of,
    unknown_unit,
)
from deltadyn.recording.readers import Table
from deltadyn.recording.recording import ColumnUse, channel_name
from deltadyn.robot import Robot
from deltadyn.robot.checks import ARMS, each

if TYPE_CHECKING:
    from deltadyn.recording.read import ReadOptions  # it reads by this guess

ROWS = 20_000  # from the beginning, whose values are looked at
PIECES, PIECE_ROWS = 16, 250  # spread over the file in their place, where it allows it
SHORTEST_STEP, LONGEST_STEP = 2e-5, 0.2  # s between rows of a log
WIDEST = math.radians(200)  # of an arm's motion
USUAL = math.radians(15)  # of an arm's motion: what a log shows at least
FARTHEST = 2 * math.pi  # of an arm's angle from the controller's zero
LONGEST_RAIL = 20.0  # m
DIFFERENT, LARGE = 10, 20  # whole numbers that are no torques in N m

Key = tuple[str, int | None]


@dataclass(frozen=True)
class GuessedColumn:
    """A column of a file, `number` from 1: what it was taken for, or None, and why."""

    name: str
    number: int
    use: ColumnUse | None
    why: tuple[str, ...]
    is_time: bool = False  # the times of one of several clocks

    @property
    def text(self) -> str:
        """What it was taken for: "q1 in deg at the motor", "time", "unused"."""
        if self.use is None:
            return "time" if self.is_time else "unused"
        side = f" at the {self.use.side}" if self.use.side else ""
        return f"{self.use.target} in {self.use.unit}{side}"


@dataclass(frozen=True)
class Assignment:
    """Which columns a recording is made of, and which are left."""

    uses: tuple[ColumnUse, ...]
    ignored: tuple[str, ...]
    dof: int
    linear: bool = False  # whether the limbs' axes are carriages on rails
    legs: int = 3  # axes that move limbs

    def slides(self, axis: int | None) -> bool:
        """Whether an axis is a carriage on a rail."""
        return self.linear and axis is not None and axis < self.legs

    def place(self, use: ColumnUse) -> int:
        """The column of a channel that a use fills: in a plane the pose has x and z alone."""
        axis = use.axis or 0
        return axis // 2 if use.quantity == "p" and self.dof == 2 else axis

    def of(self, quantity: str) -> tuple[ColumnUse, ...]:
        """The columns of a quantity in the order of their axes."""
        found = [use for use in self.uses if use.quantity == quantity]
        return tuple(sorted(found, key=lambda use: use.axis or 0))


@dataclass(frozen=True, eq=False)
class ColumnGuess:
    """What the columns of a file were taken for.

    A file may lack torques (`has_torque`). `problems` are what `read_recording` refuses the file
    for: a channel without a column, two columns for one, a unit that is not known, an option that
    is asked for. It raises the first of them.
    """

    path: str
    reader: str
    columns: tuple[GuessedColumn, ...]
    assignment: Assignment
    table: tuple[Column, ...]  # the columns with their clocks
    problems: tuple[InputError, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the file can be read as it was understood."""
        return not self.problems

    @property
    def has_torque(self) -> bool:
        """Whether there are columns for torques, or for currents in their place."""
        return bool(self.assignment.of("tau") or self.assignment.of("current"))

    @property
    def unused(self) -> tuple[GuessedColumn, ...]:
        """The columns that nothing is taken from."""
        return tuple(item for item in self.columns if item.use is None and not item.is_time)

    def __str__(self) -> str:
        width = max((len(item.name) for item in self.columns), default=0) + 2
        taken = max((len(item.text) for item in self.columns), default=0) + 2
        lines = [f"{self.path} ({self.reader}), {self.assignment.dof} axes"]
        lines += [
            f"{item.number:>4} {item.name:<{width}}{item.text:<{taken}}{'; '.join(item.why)}"
            for item in self.columns
        ]
        return "\n".join([*lines, *(f"problem: {error}" for error in self.problems)])

    def yaml(self) -> str:
        """The guess as a column map: the text of a `columns.yaml` to edit and to read with."""
        repeated = Counter(item.name.strip() for item in self.columns)
        lines = ["# What each column is; columns with null are left out.", "columns:"]
        for item in self.columns:
            once = item.name.strip() and repeated[item.name.strip()] == 1
            key = json.dumps(item.name, ensure_ascii=False) if once else str(item.number)
            why = f"  # {'; '.join(item.why)}" if item.why else ""
            if item.is_time:
                lines.append(f"  # {key}: found by its name{why}")
            else:
                lines.append(f"  {key}: {_entry(item.use)}{why}".replace("\n", " "))
        return "\n".join(lines) + "\n"


def _entry(use: ColumnUse | None) -> str:
    """A use as an entry of a column map."""
    if use is None:
        return "null"
    fields: list[tuple[str, object]] = [("quantity", use.quantity)]
    if use.axis is not None:
        fields.append(("axis", use.axis + 1))
    fields.append(("unit", json.dumps(use.unit)))
    if use.scale != 1:
        fields.append(("scale", repr(use.scale)))
    if use.sign != 1:
        fields.append(("sign", f"{use.sign:g}"))
    if use.offset:
        fields.append(("offset", repr(use.offset)))
    if use.side is not None:
        fields.append(("side", use.side))
    if use.torque_constant is not None:
        fields.append(("torque_constant", repr(use.torque_constant)))
    return "{" + ", ".join(f"{key}: {value}" for key, value in fields) + "}"


def guess(table: Table, robot: Robot | None, options: ReadOptions) -> ColumnGuess:
    """What the columns of a table are; errors of the column map itself are raised."""
    mapped, dropped = read_column_map(options.columns, table.columns, table.path)
    found = _Guess(table, robot, options)
    found.map(mapped, dropped)
    found.read_headers()
    found.settle()
    found.complete()
    if table.labels.get("convention") != "deltadyn":
        found.look_at_values({use.index for use in mapped})
    return found.result()


class _Guess:
    """A guess in the making."""

    def __init__(self, table: Table, robot: Robot | None, options: ReadOptions) -> None:
        self.table, self.robot, self.options = table, robot, options
        self.columns = list(table.columns)
        self.uses: dict[Key, ColumnUse] = {}
        self.from_map: set[Key] = set()
        self.why: dict[int, list[str]] = {}
        self.problems: list[InputError] = []
        self.candidates: dict[Key, list[tuple[ColumnUse, Understood]]] = {}
        self.dof = ARMS if robot is None else robot.dof
        self.legs = ARMS if robot is None else robot.legs
        self.linear = robot is not None and robot.linear

    # What a map and the headers say.

    def map(self, mapped: Sequence[ColumnUse], dropped: Sequence[int]) -> None:
        """The columns of the map, and those that it leaves out."""
        for use in mapped:
            self.uses[use.quantity, use.axis] = use
            self.why[use.index] = ["column map"]
        self.from_map = set(self.uses)
        self.why |= {index: ["left out by the column map"] for index in dropped}

    def read_headers(self) -> None:
        """What the header of every other column says."""
        self._find_clocks()
        zero = self._counted_from_zero()
        for index, column in enumerate(self.columns):
            if index in self.why or column.is_time:
                continue
            try:
                first = 0 if _stem(column.name) in zero else 1
                read = understood(column, index, self.table.path, first)
            except RecordingFileError as error:
                self.problems.append(error)
                self.why[index] = [f"{error.quantity} {error.problem}"]
                continue
            self.why[index] = [*read.why, *(["axes count from 0"] if first == 0 else [])]
            use = read.use
            if use is None:
                continue
            if (use.quantity, use.axis) in self.from_map:
                self.why[index] = [f"the column map has another for {use.target}"]
                continue
            self.candidates.setdefault((use.quantity, use.axis), []).append((use, read))

    def _counted_from_zero(self) -> set[str]:
        """Names, without their numbers, whose axes are numbered 0, 1, 2."""
        numbers: dict[str, set[int]] = {}
        for index, column in enumerate(self.columns):
            if index in self.why or column.is_time:
                continue
            try:
                use = understood(column, index, self.table.path, 0).use
            except RecordingFileError:
                continue
            if use is not None and use.axis is not None and use.quantity != "p":
                numbers.setdefault(_stem(column.name), set()).add(use.axis)
        dof = AXES if self.robot is None else self.dof
        return {name for name, axes in numbers.items() if 0 in axes and max(axes) < dof}

    def _find_clocks(self) -> None:
        """Number the clocks of a file with a time column for each channel or each axis."""
        if any(column.is_time for column in self.columns) or ("t", None) in self.from_map:
            return
        times = {
            index: unit
            for index, column in enumerate(self.columns)
            if index not in self.why and (unit := time_unit(column)) is not None
        }
        names = {_stem(self.columns[index].name) for index in times}
        if len(times) < 2 or len(names) > 1:
            return
        interleaved = 0 in times and not any(index + 1 in times for index in times)
        numbers = {_number(self.columns[index].name): index for index in times}
        if not interleaved and (None in numbers or len(numbers) < len(times)):
            return
        clocks = {index: clock for clock, index in enumerate(times)}
        for index, unit in times.items():
            column = self.columns[index]
            text = unit.name if column.unit or unit.name != "s" else None
            self.columns[index] = replace(column, unit=text, clock=clocks[index], is_time=True)
            self.why[index] = ["a time column of its own for each channel or axis"]
        for index, column in enumerate(self.columns):
            if index in times:
                continue
            left = max((other for other in times if other < index), default=0)
            owner = left if interleaved else numbers.get(_number(column.name), min(times))
            self.columns[index] = replace(column, clock=clocks[owner])

    # Which of several, and whether all are there.

    def settle(self) -> None:
        """One column for each channel."""
        if self.robot is None:
            self.linear = self._has_carriages()
            self.legs = self._limbs()
        for key, use in self.uses.items():
            self.uses[key] = self._in_kind(use)
            if not self._fits(use):
                self.problems.append(self._wrong_kind(use))
        for key, found in self.candidates.items():
            found = [(self._in_kind(use), read) for use, read in found]
            right = [item for item in found if self._fits(item[0])]
            if not right and not self.linear and all(map(_of_carriage, found)):
                for use, _ in found:  # a sensor's, beside axes that turn
                    self.why[use.index].append("the axes turn")
                continue
            if not right:
                self.problems.append(self._wrong_kind(found[0][0]))
            rest = _preferred(right or found)
            if len(rest) > 1:
                self.problems.append(_ambiguous(rest[0][0], rest[1][0], self.table.path))
            chosen = rest[0][0]
            self.uses[key] = chosen
            for use, read in found:
                if use is not chosen:
                    self._second(use, read, chosen)

    def _has_carriages(self) -> bool:
        """Whether a file without a robot is one of carriages: places and no angles."""
        found = [use for some in self.candidates.values() for use, _ in some]
        uses = [*self.uses.values(), *found]
        kinds = {is_linear(use) for use in uses if use.quantity == "q" and use.axis != AXES - 1}
        return True in kinds and False not in kinds

    def _limbs(self) -> int:
        """The limbs of a file without a robot: what it says itself; axis 4 in m is a carriage too.

        Two where no column is about another axis.
        """
        said = self.table.labels.get("limbs", "")
        if said in ("2", "3", "4"):
            return int(said)
        uses = [*self.uses.values(), *(use for some in self.candidates.values() for use, _ in some)]
        fourth = [use for use in uses if use.quantity == "q" and use.axis == AXES - 1]
        if self.linear and any(is_linear(use) for use in fourth):
            return AXES
        moved = {(use.quantity, use.axis) for use in uses if use.quantity != "p"}
        axes = {axis for _, axis in moved if axis is not None}
        torque = "tau" if ("tau", 0) in moved else "current"
        pair = {(name, axis) for name in ("q", torque) for axis in (0, 1)}
        return 2 if axes == {0, 1} and pair <= moved else ARMS

    def _in_kind(self, use: ColumnUse) -> ColumnUse:
        """A column without a unit has the SI unit of its axis."""
        if not use.assumed:
            return use
        return replace(use, unit=units_of(use.quantity, use.axis, self._carriage(use)).si.name)

    def _carriage(self, use: ColumnUse) -> bool:
        """Whether a column is about an axis that is a carriage, or about its motor."""
        return self.linear and use.axis is not None and use.axis < self.legs

    def _fits(self, use: ColumnUse) -> bool:
        """Whether a column's unit is that of its axis: that of an angle at a carriage's motor."""
        kind = is_linear(use)
        return kind is None or kind == self._slides(use)

    def _slides(self, use: ColumnUse) -> bool:
        """Whether a column is about the carriage itself."""
        torque = use.quantity in ("tau", "tau_command")
        side = use.side or (self.options.torque_side if torque else self.options.angle_side)
        return self._carriage(use) and side != "motor"

    def _wrong_kind(self, use: ColumnUse) -> RecordingFileError:
        slides = self._slides(use)
        whose = "the file" if self.robot is None else f"robot {self.robot.name!r}"
        what = "slides on a rail" if slides else "turns"
        note = f"; axis {(use.axis or 0) + 1} of {whose} {what}"
        if slides:
            note += ", and angles or torques are taken at the motor side alone"
        elif self._carriage(use):
            note = "; the motor of a carriage turns"
        about = (use.name, use.quantity, use.axis, use.unit, self.table.path)
        return unknown_unit(*about, slides=slides, note=note)

    def _second(self, use: ColumnUse, read: Understood, chosen: ColumnUse) -> None:
        """A column beside the measured one: without a word for measured it is the command."""
        name = {"q": "q_command", "tau": "tau_command"}.get(use.quantity)
        if name is not None and not read.marked and (name, use.axis) not in self.candidates:
            key = (name, use.axis)
            if key not in self.uses:
                self.uses[key] = replace(use, quantity=name)
                text = f"{chosen.name!r} says measured, so this is the command"
                self.why[use.index].append(text)
                return
        self.why[use.index] = [f"{chosen.name!r} is taken for {chosen.target}"]

    def complete(self) -> None:
        """Axes of the robot or of the file; quantities that lack an axis are left out."""
        if self.robot is None:
            fourth = {quantity for quantity, axis in self.uses if axis == AXES - 1}
            torques = {"tau", "current"} & {quantity for quantity, _ in self.uses}
            spun = "q" in fourth and (fourth & torques or not torques)
            self.dof = AXES if self.legs == ARMS and spun else self.legs
        for key, use in list(self.uses.items()):
            if use.quantity == "p":
                if self.dof == 2 and use.axis not in (0, 2):
                    self._leave(key, "the robot moves in the plane of x and z")
            elif use.axis is not None and use.axis >= self.dof:
                self._leave(key, f"the robot has {self.dof} axes")
        self._check_complete()
        for key in list(self.uses):
            if not self._whole(key[0]):
                self._leave(key, "other axes have no such column")

    def _whole(self, name: str) -> bool:
        """Whether an optional quantity has a column for every axis it needs.

        A pose beside a spindle may come without psi, which is that of axis 4.
        """
        if not QUANTITIES[name].per_axis:
            return True
        axes = range(self.dof)
        if name == "p":
            axes = range(0, 3, 2) if self.dof == 2 else range(self.legs)
        return all((name, axis) in self.uses for axis in axes)

    def _leave(self, key: Key, text: str) -> None:
        self.why[self.uses[key].index].append(text)
        del self.uses[key]

    def _check_complete(self) -> None:
        timed = any(column.is_time for column in self.columns)
        needs_time = not timed and self.options.sample_time is None
        wanted: list[Key] = [("t", None)] if needs_time else []
        given = {name for name, _ in self.uses}
        torques = [name for name in ("tau", "current") if name in given][:1]
        wanted += [(name, axis) for name in ("q", *torques) for axis in range(self.dof)]
        missing = [channel_name(*key) for key in wanted if key not in self.uses]
        known = self._assignment()
        if missing and not torques:  # a log may lack torques, but it is no log that lacks all
            missing += [channel_name("tau", axis) for axis in range(self.dof)]
        if missing:
            self.problems.append(
                RecordingFileError(
                    ", ".join(missing),
                    None,
                    f"columns such as {_examples(missing, known)}, or a column map that names them",
                    path=self.table.path,
                    problem=f"{'has' if len(missing) == 1 else 'have'} no column; "
                    f"found: {found_text(self.columns)}",
                )
            )

    # What the values say.

    def look_at_values(self, mapped: set[int]) -> None:
        """Units and sides on which the headers are silent."""
        times = [i for i, c in enumerate(self.columns) if c.is_time and c.unit is None]
        uses = [use for use in self.uses.values() if use.index not in mapped]
        geared = self.robot is not None and max(self.robot.drives.gear_ratio) > 1
        doubtful = [use for use in uses if use.assumed or (use.quantity == "q" and geared)]
        values = self._values(sorted({*times, *(use.index for use in doubtful)}))
        for index in times:
            unit, why = _time_unit(values.get(index))
            self.columns[index] = replace(self.columns[index], unit=unit)
            self.why[index] += why
        for use in [use for use in doubtful if use.quantity == "t"]:
            unit, why = _time_unit(values.get(use.index))
            self._change(use, why, unit=unit)
        self._places([use for use in uses if use.quantity == "q" and use.assumed], values)
        angles = [use for use in uses if use.quantity == "q"]
        if not self.linear:
            self._angles(angles, values)
        elif self.options.angle_side is not None:
            side = self.options.angle_side
            for use in angles:
                self._change(use, [f"angle_side={side!r}"], side=side)
            self._follow(angles, None, side)
        for use in uses:
            if use.quantity in ("tau", "tau_command") and use.assumed and _coarse(values, use):
                text = "whole numbers without a unit, so per mille of the rated torque"
                self._change(use, [text], unit="permille")

    def _change(self, use: ColumnUse, why: Sequence[str], **changes: str | None) -> None:
        key = (use.quantity, use.axis)
        if key in self.uses and why:
            kept = [text for text in self.why[use.index] if not text.startswith("no unit")]
            self.why[use.index] = [*kept, *why]
            self.uses[key] = replace(self.uses[key], **changes)  # type: ignore[arg-type]

    def _values(self, wanted: Sequence[int]) -> dict[int, FloatArray]:
        """Values of some columns; nothing where they cannot be read."""
        if not wanted:
            return {}
        try:
            block = self._spread(wanted)
            if block is None:
                block = next(iter(self.table.blocks(ROWS, wanted)), None)
        except RecordingFileError:  # it is raised again where the rows are read
            return {}
        return {} if block is None else dict(zip(wanted, block, strict=True))

    def _spread(self, wanted: Sequence[int]) -> FloatArray | None:
        """Rows from all over a long text, which need not be read for it."""
        if self.table.excerpt is None or self.table.reader != "csv":
            return None
        pieces = []
        for k in range(PIECES):
            found = self.table.excerpt((k + 0.5) / PIECES, PIECE_ROWS, wanted)
            if found is None or found[1] > 1 / PIECES / 2:  # a short file is read from its start
                return None
            pieces.append(found[0])
        return np.concatenate(pieces, axis=1)

    def _angles(self, uses: Sequence[ColumnUse], values: Mapping[int, FloatArray]) -> None:
        """Unit and side of the angles: those that an arm can reach."""
        arms = [use for use in uses if use.axis is not None and use.axis < self.legs]
        known = [use for use in arms if np.isfinite(values.get(use.index, np.nan)).any()]
        assumed = all(use.assumed for use in uses)
        side = self.options.angle_side
        unit: str | None = None
        why: list[str] = []
        if side is not None:
            why = [f"angle_side={side!r}"]
        elif known and not any(use.side for use in uses):
            unit, side, why = self._fitting(known, values, assumed)
        for use in uses:
            self._change(use, why, unit=unit or use.unit, side=side or use.side)
        units = {use.unit for use in uses if not use.assumed}
        self._follow(uses, unit or (units.pop() if len(units) == 1 else None), side)

    def _places(self, uses: Sequence[ColumnUse], values: Mapping[int, FloatArray]) -> None:
        """Places of carriages without a unit: no rail is as long as their numbers in m."""
        known = [use for use in uses if self._slides(use) and use.index in values]
        most = max((float(np.nanmax(np.abs(values[use.index]))) for use in known), default=0.0)
        if most > LONGEST_RAIL:
            for use in known:
                self._change(use, [f"values up to {most:.4g} can only be mm"], unit="mm")
            self._follow(known, "mm", None)

    def _fitting(
        self, arms: Sequence[ColumnUse], values: Mapping[int, FloatArray], assumed: bool
    ) -> tuple[str | None, str | None, list[str]]:
        """Unit and side with which all arms turn as an arm can, and why; None is as it is.

        Where several fit the first is taken, and `why` names all of them.
        """
        low = min(float(np.nanmin(values[use.index])) for use in arms)
        high = max(float(np.nanmax(values[use.index])) for use in arms)
        seen = f"values from {low:.4g} to {high:.4g}"
        whole = all(_is_whole(values[use.index]) for use in arms)
        candidates: list[tuple[str, str | None]] = [("", None), ("", "motor")]
        if assumed:
            candidates = [("", None), ("deg", None)]
            candidates += [] if whole else [("deg", "motor"), ("rad", "motor"), ("rev", "motor")]
        ways = {item: self._way(arms, values, *item) for item in candidates}
        fitting = {item: way for item, way in ways.items() if way is not None}
        if not fitting:
            counted = [f"whole numbers, {seen}, can only be counts of an encoder"]
            return ("counts", None, counted) if assumed and whole else (None, None, [])
        if ("", None) in fitting:
            return None, None, []
        far = [item for item, way in fitting.items() if way >= USUAL] or list(fitting)
        told = [f"{unit or arms[0].unit}{' at the motor' if side else ''}" for unit, side in far]
        unit, side = far[0]
        text = f"can only be {told[0]}"
        if len(far) > 1:
            text = f"may be {' or '.join(told)}; {told[0]} is taken"
        return unit or None, side, [f"{seen} {text}"]

    def _way(
        self,
        arms: Sequence[ColumnUse],
        values: Mapping[int, FloatArray],
        unit: str,
        side: str | None,
    ) -> float | None:
        """The longest way of an arm in rad in this unit and at this side; None: no arm can."""
        ways = []
        for use in arms:
            scale = self._scale(use, unit, side)
            if scale is None:
                return None
            low, high = (float(end(values[use.index])) * scale for end in (np.nanmin, np.nanmax))
            near = (not unit and not use.assumed) or max(abs(low), abs(high)) <= FARTHEST
            if not near or high - low > WIDEST:
                return None
            ways.append(high - low)
        return max(ways)

    def _scale(self, use: ColumnUse, unit: str, side: str | None) -> float | None:
        """rad at the output of one in this unit at this side; 0 while the counts are not known."""
        axis = use.axis or 0
        gear = 1.0
        if side == "motor":
            gear = 1.0 if self.robot is None else float(self.robot.drives.gear_ratio[axis])
            if gear <= 1:
                return None
        found = QUANTITIES["q"].unit(unit or use.unit)
        factor = 1.0 if found is None else found.factor / found.divisor
        if (unit or use.unit) in COUNTED:
            per_turn = self.options.counts_per_turn
            if per_turn is None:
                return 0.0
            factor /= each("counts_per_turn", per_turn, self.dof)[axis]
        return factor / gear

    def _follow(self, uses: Sequence[ColumnUse], unit: str | None, side: str | None) -> None:
        """Commands and rates are given as the angles are."""
        axes = {use.axis for use in uses}
        rates = {"q_command": unit or "", "qd": f"{unit}/s", "qdd": f"{unit}/s^2"}
        for use in list(self.uses.values()):
            if (use.quantity, use.axis) in self.from_map or use.axis not in axes:
                continue
            if use.quantity not in rates:
                continue
            found = units_of(use.quantity, use.axis, self._carriage(use)).unit(rates[use.quantity])
            own = use.unit if found is None or not use.assumed else found.name
            if (own, use.side or side) != (use.unit, use.side):
                self._change(use, ["as the angles"], unit=own, side=use.side or side)

    def _assignment(
        self, uses: tuple[ColumnUse, ...] = (), ignored: tuple[str, ...] = ()
    ) -> Assignment:
        return Assignment(uses, ignored, self.dof, self.linear, self.legs)

    def result(self) -> ColumnGuess:
        """The guess."""
        by_index = {use.index: use for use in self.uses.values()}
        items = tuple(
            GuessedColumn(
                column.name,
                index + 1,
                by_index.get(index),
                tuple(self.why.get(index, ())),
                column.is_time,
            )
            for index, column in enumerate(self.columns)
        )
        ignored = tuple(
            item.name for item in items if item.use is None and not item.is_time and item.name
        )
        uses = tuple(sorted(self.uses.values(), key=lambda use: use.index))
        return ColumnGuess(
            self.table.path,
            self.table.reader,
            items,
            self._assignment(uses, ignored),
            tuple(self.columns),
            tuple(self.problems),
        )


def _stem(name: str) -> str:
    """A name without its numbers."""
    return re.sub(r"\d+", "#", name).strip()


def _number(name: str) -> int | None:
    """The last number of a name."""
    found = re.findall(r"\d+", re.sub(r"[\[(][^\])]*[\])]\s*$", "", name) or name)
    return int(found[-1]) if found else None


def _preferred(
    found: Sequence[tuple[ColumnUse, Understood]],
) -> list[tuple[ColumnUse, Understood]]:
    """Those that a word says are measured; of these, those whose unit is no share of another."""
    rest = list(found)
    for good in (
        lambda item: item[1].marked == "actual",
        lambda item: item[0].unit not in RATED,
    ):
        better = [item for item in rest if good(item)]
        rest = better or rest
    return rest


def _of_carriage(item: tuple[ColumnUse, Understood]) -> bool:
    """Whether a column is a force by its own word."""
    return any(SAYS_FORCE in text for text in item[1].why)


def _ambiguous(one: ColumnUse, two: ColumnUse, path: str) -> RecordingFileError:
    places = f"columns {one.index + 1} and {two.index + 1}"
    if one.name == two.name:
        problem = f"is given twice: {places} are both named {one.name!r}"
    else:
        problem = f"could be {one.name!r} or {two.name!r} ({places})"
    allowed = "one column for each; a column map chooses, by the column's name or number"
    return RecordingFileError(one.target, [one.name, two.name], allowed, path=path, problem=problem)


def _examples(missing: Sequence[str], known: Assignment) -> str:
    names = [(name, name.rstrip("1234")) for name in missing[:2]]
    axes = [None if name == word else int(name[len(word) :]) - 1 for name, word in names]
    return ", ".join(
        f"{name}_{units_of(word, axis, known.slides(axis)).si.name}"
        for (name, word), axis in zip(names, axes, strict=True)
    )


def _time_unit(values: FloatArray | None) -> tuple[str, list[str]]:
    """The unit with which rows follow each other as in a log; s where nothing tells."""
    steps = np.diff(values) if values is not None else np.empty(0)
    steps = steps[np.isfinite(steps) & (steps > 0)]
    if not steps.size:
        return "s", []
    step = float(np.median(steps))
    for name in ("s", "ms", "us", "ns"):
        unit = QUANTITIES["t"].unit(name)
        seconds = step if unit is None else step / unit.divisor
        if SHORTEST_STEP <= seconds <= LONGEST_STEP:
            return name, [] if name == "s" else [f"no unit; steps of {step:.4g} can only be {name}"]
    return "s", []


def _is_whole(values: FloatArray) -> bool:
    known = values[np.isfinite(values)]
    return bool(known.size) and bool(np.all(known == np.round(known)))


def _coarse(values: Mapping[int, FloatArray], use: ColumnUse) -> bool:
    """Whether the values are whole numbers, and many and large ones."""
    column = values.get(use.index)
    if column is None or not _is_whole(column):
        return False
    known = column[np.isfinite(column)]
    return len(np.unique(known)) >= DIFFERENT and float(np.abs(known).max()) >= LARGE
