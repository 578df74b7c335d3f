"""What was found of a log's convention: numbers, the block for the robot file, the column map."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, overload

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.recording.columns import units_of
from deltadyn.recording.conventions.candidates import (
    Candidate,
    Reading,
    as_logged,
    motor_turns,
    turns_words,
)
from deltadyn.recording.conventions.fourth import Fourth, axis_factor
from deltadyn.recording.conventions.homing import Homing, UncertainOffset
from deltadyn.recording.recording import ColumnUse, Recording, channel_name
from deltadyn.robot import Robot
from deltadyn.robot.settings import Controller

USUAL = 2.5  # a torque up to so many times the model's is in the model's unit
FOREIGN = 5.0  # and beyond so many times in another
NEAR = 1.6  # of a unit's factor, to be called by its name
NO_FOURTH = Fourth()
TURNED = 30.0  # degrees that an arm is turned, or mm that a carriage is moved, to tell units apart


def as_told(robot: Robot, offset: Any) -> FloatArray:
    """Offsets (..., axes) in rad or m as they are told: in degrees, of carriages in mm."""
    values = np.asarray(offset, dtype=np.float64)
    return values * _told_factors(robot, values.shape[-1])


def from_told(robot: Robot, told: FloatArray) -> FloatArray:
    """Offsets (..., axes) in rad or m of those that are told in degrees or mm."""
    return told / _told_factors(robot, told.shape[-1])


def _told_factors(robot: Robot, axes: int) -> FloatArray:
    slides = robot.linear & (np.arange(axes) < robot.legs)
    return np.where(slides, 1e3, 180 / math.pi)


#: Fields of a convention that are offsets, told with their unit.
OFFSETS = ("offset", "offset_fit", "offset_deviation", "common_offset", "common_deviation")


class Arms(NamedTuple):
    """The candidate that was chosen for the arms, with the offsets to set, and their homing."""

    candidate: Candidate
    homing: Homing


class TorqueUnit(NamedTuple):
    """Unit and side of the torques; `scale` is the logged torque over the model's.

    `factor` turns them into N m (N on rails) at the output; None where no unit fits, as with
    currents.
    """

    unit: str
    side: str
    factor: float | None
    scale: float

    @property
    def foreign(self) -> bool:
        """Whether the torque is plainly not in N m at the output."""
        return self.scale > 0 and not 1 / FOREIGN < self.scale < FOREIGN

    @classmethod
    def of(cls, robot: Robot, scale: float) -> TorqueUnit:
        """The unit of torques that are `scale` times the model's."""
        plain = torque_word(robot)
        if not scale > 0 or 1 / USUAL < scale < USUAL:
            return cls(plain, "output", 1.0, scale)
        gear = motor_turns(robot)
        known = [("mNm", "output", 1e-3), ("Ncm", "output", 1e-2), ("kNm", "output", 1e3)]
        if robot.linear:
            known = [("mN", "output", 1e-3), ("kN", "output", 1e3)]
        if gear is not None:
            known += [("Nm", "motor", gear), ("mNm", "motor", 1e-3 * gear)]
            known += [(plain, "output, taken as motor", 1 / gear)]
        unit, side, factor = min(known, key=lambda item: abs(math.log(scale * item[2])))
        if abs(math.log(scale * factor)) > math.log(NEAR):
            return cls("unknown", "unknown", None, scale)
        return cls(unit, side, factor, scale)

    def axis_factor(self, robot: Robot, axis: int) -> float:
        """From the torque of an axis as read to N m at the output; 1 where it is not foreign."""
        if not self.foreign or self.factor is None:
            return 1.0
        turns = robot.drives.motor_turns
        ratio = float(turns[axis]) / float(turns[0])
        if self.side == "output":
            return self.factor
        return self.factor * ratio if self.side == "motor" else self.factor / ratio

    def text(self, robot: Robot) -> str:
        """The unit in words."""
        if self.factor is None:
            return "no unit of torque: a current whose torque constant is not known?"
        names = {"Nm": "N m", "mNm": "mN m", "Ncm": "N cm", "kNm": "kN m"}
        gear = f" ({turns_words(robot)})" if self.side == "motor" else ""
        return f"{names.get(self.unit, self.unit)} at the {self.side} side{gear}?"


def torque_word(robot: Robot) -> str:
    """The unit of the arms' torques in a recording: "Nm", "N" on rails."""
    return "N" if robot.linear else "Nm"


class Alternative(NamedTuple):
    """Another candidate that fits almost as well, and its residual.

    A twin differs in a unit alone whose factor is almost the same.
    """

    candidate: Candidate
    residual: float
    twin: bool


class Axes(NamedTuple):
    """How each axis of the robot comes from the log: q = gain x[order] + offset, and its torque."""

    order: tuple[int, ...]
    gain: FloatArray
    offset: FloatArray
    torque_order: tuple[int, ...]
    torque_sign: FloatArray
    torque_factor: FloatArray  # to N m at the output


@dataclass(frozen=True, eq=False)
class Conventions:
    """The convention of a log, as torques and angles tell it.

    `sign` (1 or -1) and `offset` per axis are those of a robot file's `controller:` block,
    `torque_sign` the signs of the torques where they differ from `sign`, else None. `order` and
    `torque_order` give the log's axis, from 1, that holds the angle and the torque of each axis.
    `unit`, `side`, `torque_unit` and `torque_side` are those of the log's own numbers. Offsets are
    in degrees (`offset_deg` and so on), those of carriages in mm (`offset_mm`); beside rails a
    spindle's is in degrees.

    `residual_before` and `residual_after` are RMS residual over RMS torque of the base parameters'
    fit as logged and under this convention; `margin` is the next candidate's cost over this one's,
    None where no other was looked at. `settled` is False where others fit almost as well
    (`alternatives`), or nothing fits; `decided` also where the log does not show whether an axis is
    homed off or has a constant torque (`uncertain_homing`). Offsets to set are 0 then. `offset_fit`
    is each arm's beside those that are set, with its deviation.
    """

    recording: str
    sign: tuple[int, ...]
    offset: tuple[float, ...]
    torque_sign: tuple[int, ...] | None
    order: tuple[int, ...]
    torque_order: tuple[int, ...]
    unit: str
    side: str
    angle_factor: float  # from the angles as read to rad of the arms
    torque_unit: str
    torque_side: str
    torque_constant: float | None  # N m/A at the motor, of currents
    torque_scale: float | None  # logged torque over the model's with the robot file's masses
    columns: dict[str, dict[str, Any]]
    residual_before: float | None
    residual_after: float | None
    residual_refined: float | None  # with all offsets as fitted
    margin: float | None
    decided: bool
    alternatives: tuple[dict[str, Any], ...]
    changed: tuple[str, ...]  # kinds of findings: "angle sign", "angle unit", ...
    offset_fit: tuple[float, ...]  # of each arm's own angle, beside those that are set
    offset_deviation: tuple[float, ...]
    common_offset: float  # that all arms share
    common_deviation: float
    linear: bool = False  # whether the arms are carriages
    settled: bool = False  # all but the homing of the axes below is decided
    uncertain_homing: tuple[dict[str, Any], ...] = ()  # homing of an axis, or a constant torque
    unseen: tuple[str, ...] = ()  # what no torque of this robot shows, and how to see it
    status: str = ""
    axes: Axes | None = field(default=None, repr=False)
    angle_words: str = field(default="", repr=False)
    torque_words: str = field(default="", repr=False)
    controller: Controller = field(default_factory=Controller, repr=False)

    def __getattr__(self, name: str) -> Any:
        """`offset_deg` and the like by their unit; on rails `offset_mm`."""
        stem, _, unit = name.rpartition("_")
        if stem not in OFFSETS or unit not in ("deg", "mm"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if unit != self.offset_unit:
            words = "carriages stand off in mm" if self.linear else "arms stand off in degrees"
            raise InputError(name, None, f"{stem}_{self.offset_unit}: {words}")
        return getattr(self, stem)

    @property
    def offset_unit(self) -> str:
        """The unit in which offsets of the arms are told: "deg", "mm" on rails."""
        return "mm" if self.linear else "deg"

    @property
    def as_logged(self) -> bool:
        """Whether the log stands as it was read."""
        return not self.changed

    @property
    def clear(self) -> bool:
        """Whether it is decided but for units that are almost the same."""
        return self.settled or (not self.status and all(item["twin"] for item in self.alternatives))

    @property
    def block(self) -> str:
        """The robot file's `controller:` block to paste (YAML)."""
        arms = len(self.offset_fit)
        signs = ", ".join(str(value) for value in self.sign)
        own = self.offset[:arms] if self.linear else self.offset
        offsets = ", ".join(f"{value:.9g}" for value in own)
        text = f"controller:\n  sign: [{signs}]\n  offset_{self.offset_unit}: [{offsets}]\n"
        for value in self.offset[len(own) :]:  # of a spindle beside rails
            text += f"  offset_deg: {value:.9g}\n"
        return text

    @property
    def column_map(self) -> str:
        """The column map to paste (YAML); empty where the columns stand as they were read."""
        lines = []
        for name, entry in self.columns.items():
            inside = ", ".join(f"{key}: {_plain(value)}" for key, value in entry.items())
            lines.append(f"{_key(name)}: {{{inside}}}\n")
        return "".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """All of it for JSON."""
        names = (
            *("sign", "offset", "torque_sign", "order", "torque_order", "unit", "side"),
            *(
                "angle_factor",
                "torque_unit",
                "torque_side",
                "torque_scale",
                "columns",
                "residual_before",
            ),
            *("residual_after", "margin", "decided", "alternatives", "as_logged", "changed"),
            *("offset_fit", "offset_deviation", "common_offset"),
            *("common_deviation", "status", "settled", "uncertain_homing"),
        )
        found = {
            f"{name}_{self.offset_unit}" if name in OFFSETS else name: getattr(self, name)
            for name in names
        }
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in found.items()
        } | {"block": self.block}

    def of_any_size(self) -> Conventions:
        """The same for torques whose size is not known, as of currents: no unit is told."""
        kept = tuple(kind for kind in self.changed if kind != "torque unit")
        axes = self.axes
        if axes is not None:
            axes = axes._replace(torque_factor=np.ones_like(axes.torque_factor))
        return replace(self, changed=kept, axes=axes)

    @overload
    def apply(self, what: Robot) -> Robot: ...
    @overload
    def apply(self, what: Recording) -> Recording: ...
    def apply(self, what: Robot | Recording) -> Robot | Recording:
        """A robot with this `controller:` block, or the log under this convention.

        A robot reads the log's file again, with `columns` as the column map; a log that was read
        is put right at once.
        """
        if isinstance(what, Robot):
            return what.replace(controller=self.controller)
        if not isinstance(what, Recording):
            raise InputError("what", type(what).__name__, "a Robot or a Recording")
        if self.axes is None or self.as_logged:
            return what
        return _applied(what, self.axes, ", ".join(self.changed))

    def __str__(self) -> str:
        lines = [f"{self.recording}: {self.summary()}"]
        if self.changed:
            lines += ["", self.block.rstrip()]
            if self.columns:
                lines += ["", "columns (column map):", self.column_map.rstrip()]
        for item in self.alternatives:
            lines.append(f"or: {item['text']} (residual {item['residual']:.3g}). {item['move']}")
        lines += [f"either: {item['text']}. {item['move']}" for item in self.uncertain_homing]
        return "\n".join(lines)

    def summary(self) -> str:
        """One sentence."""
        if self.residual_before is None or self.residual_after is None:
            return f"conventions not found: {self.status}"
        before, after = 100 * self.residual_before, 100 * self.residual_after
        axes = [str(item["axis"]) for item in self.uncertain_homing]
        homing = f"; the homing of axis {', '.join(axes)} is not decided" if axes else ""
        if self.as_logged:
            tail = f"; {self.status}" if self.status else homing
            return f"as logged, {before:.3g} % of the torque is left{tail}"
        told = ", ".join(self.changed)
        tail = homing if self.settled else "; not decided"
        return f"{told}: {before:.3g} % of the torque is left as logged, {after:.3g} % so{tail}"


def conventions_of(
    robot: Robot,
    recording: Recording,
    *,
    arms: Arms | None = None,
    torque: TorqueUnit | None = None,
    fourth: Fourth = NO_FOURTH,
    residual_before: float | None = None,
    residual_after: float | None = None,
    residual_refined: float | None = None,
    margin: float | None = None,
    settled: bool = False,
    alternatives: tuple[Alternative, ...] = (),
    status: str = "",
) -> Conventions:
    """The result in the terms of the robot file and of the log's columns."""
    still = np.zeros(robot.legs)
    candidate, homing = arms or Arms(as_logged(robot), Homing(still, still, still, 0.0, 0.0, ()))
    uncertain = () if status else homing.uncertain
    torque = torque or TorqueUnit(torque_word(robot), "output", 1.0, math.nan)
    axes = _axes(robot, candidate, fourth, torque)
    controller, torque_sign = _controller(robot, axes)
    changed = _changed(robot, candidate, torque, fourth)
    angle = _of_numbers(robot, recording, candidate.reading)
    units = _torque_of_numbers(robot, recording, torque)
    sign = tuple(int(value) for value in controller.sign)
    return Conventions(
        recording=recording.name,
        sign=sign,
        offset=tuple(np.round(as_told(robot, controller.offset), 9).tolist()),
        torque_sign=None if torque_sign == sign else torque_sign,
        order=tuple(axis + 1 for axis in axes.order),
        torque_order=tuple(axis + 1 for axis in axes.torque_order),
        unit=angle[0],
        side=angle[1],
        angle_factor=candidate.reading.factor,
        torque_unit=units[0],
        torque_side=units[1],
        torque_constant=_constant(robot, recording, torque),
        torque_scale=None if math.isnan(torque.scale) else torque.scale,
        columns=_columns(robot, recording, axes, candidate.reading, torque, torque_sign, sign)
        if set(changed) - {"homing", "angle sign"} or torque_sign != sign
        else {},
        residual_before=residual_before,
        residual_after=residual_after,
        residual_refined=residual_refined,
        margin=None if margin is None or math.isinf(margin) else margin,
        decided=settled and not uncertain,
        settled=settled,
        uncertain_homing=tuple(_uncertain_told(robot, torque, item) for item in uncertain),
        alternatives=tuple(
            _told(robot, recording, item, candidate, fourth) for item in alternatives
        ),
        changed=changed,
        offset_fit=tuple(as_told(robot, homing.each).tolist()),
        offset_deviation=tuple(as_told(robot, homing.deviation).tolist()),
        common_offset=float(as_told(robot, [homing.common])[0]),
        common_deviation=float(as_told(robot, [homing.common_deviation])[0]),
        linear=robot.linear,
        unseen=_unseen(robot, recording, fourth),
        status=status,
        axes=axes,
        angle_words=candidate.reading.words,
        torque_words=torque.text(robot),
        controller=controller,
    )


def _changed(
    robot: Robot, candidate: Candidate, torque: TorqueUnit, fourth: Fourth
) -> tuple[str, ...]:
    """The kinds of findings by which a candidate differs from the log as it was read."""
    plain = as_logged(robot)
    kinds = {
        "angle unit": candidate.reading.factor != 1,
        "angle sign": candidate.sign != plain.sign or fourth.sign < 0,
        "swapped axes": candidate.torque_order != plain.torque_order,
        "torque sign": fourth.sign > 0 > fourth.turn or bool(torque_alone(candidate)),
        "torque unit": torque.foreign,
        "homing": bool(np.any(candidate.offset)),
    }
    return tuple(kind for kind, there in kinds.items() if there)


def _unseen(robot: Robot, recording: Recording, fourth: Fourth) -> tuple[str, ...]:
    """What angles and torques cannot show, with the move that does."""
    found = []
    if robot.equal_limbs and recording.p is None:
        limb, value = ("carriage", "place") if robot.linear else ("arm", "angle")
        found.append(
            f"which {limb} an axis is, and the direction of numbering: lower one {limb} at a time "
            f"and see which {value} changes"
        )
    if robot.spindle is not None and not fourth.seen:
        found.append(
            "the direction of axis 4: turn it by hand, seen from above against the clock; psi grows"
        )
    return tuple(found)


def torque_alone(candidate: Candidate) -> list[int]:
    """The arms whose torque is reversed and whose angle is not."""
    pairs = zip(candidate.sign, candidate.torque_turn, strict=True)
    return [arm for arm, (sign, turn) in enumerate(pairs) if sign > 0 > turn]


def _axes(
    robot: Robot, candidate: Candidate, fourth: Fourth, torque: TorqueUnit | None = None
) -> Axes:
    more = robot.dof - robot.legs
    factors = [axis_factor(robot, candidate.reading, axis) for axis in range(robot.dof)]
    sign = np.array([*candidate.sign, *[fourth.sign] * more], dtype=float)
    turn = np.array([*candidate.torque_turn, *[fourth.turn] * more], dtype=float)
    rest = tuple(range(robot.legs, robot.dof))
    return Axes(
        tuple(range(robot.dof)),
        sign * factors,
        np.array([*candidate.offset, *[0.0] * more]),
        (*candidate.torque_order, *rest),
        sign * turn,
        np.array(
            [1.0 if torque is None else torque.axis_factor(robot, k) for k in range(robot.dof)]
        ),
    )


def _controller(robot: Robot, axes: Axes) -> tuple[Controller, tuple[int, ...]]:
    """The controller's convention, and the sign of each torque in it.

    The log was read with the robot's own block, x = s0 (X - o0) for the controller's angle X. With
    q = s x + b follow X = s0 s q + o0 - s0 s b, and for torques s0 of the column they come from.
    """
    own = np.asarray(robot.controller.sign)
    zero = np.asarray(robot.controller.offset)
    order, torques = list(axes.order), list(axes.torque_order)
    s = np.sign(axes.gain)
    sign = own[order] * s
    offset = zero[order] - sign * axes.offset
    turned = own[torques] * axes.torque_sign
    controller = Controller(tuple(sign.tolist()), tuple((offset + 0.0).tolist()))
    return controller, tuple(int(value) for value in turned)


# The log's own numbers: what its columns are called, and the units that they have.


def _uses(recording: Recording, quantity: str) -> dict[int, ColumnUse]:
    """The file's columns of a quantity by their axis; none for arrays."""
    return {
        use.axis: use
        for use in recording.provenance.columns
        if use.quantity == quantity and use.axis is not None
    }


def as_read(robot: Robot, recording: Recording) -> tuple[Reading, bool]:
    """How the log's angles were read, with the factor from its numbers to rad (m).

    And whether the file states the unit.
    """
    use = _uses(recording, "q").get(0)
    unit = None if use is None else units_of("q", 0, None).unit(use.unit)
    if use is None or unit is None:
        return as_logged(robot).reading, False
    side = use.side or "output"
    gear = float(robot.drives.motor_turns[0]) if side == "motor" else 1.0
    names = {"rad": "radians", "deg": "degrees", "m": "metres", "mm": "millimetres"}
    words = names.get(use.unit, use.unit)
    words += f" of the motors ({turns_words(robot)})" if side == "motor" else ""
    return Reading(use.unit, side, unit.factor / unit.divisor / gear, words), not use.assumed


def unit_is_assumed(recording: Recording) -> bool:
    """Whether the unit of the file's angles was guessed from their size."""
    use = _uses(recording, "q").get(0)
    return use is not None and use.assumed


def _of_numbers(robot: Robot, recording: Recording, reading: Reading) -> tuple[str, str]:
    """Unit and side of the log's own angles under a reading."""
    before, _ = as_read(robot, recording)
    if reading.factor == 1:
        return before.unit, before.side
    return reading.unit, reading.side


def _torque_of_numbers(robot: Robot, recording: Recording, torque: TorqueUnit) -> tuple[str, str]:
    """Unit and side of the log's own torques."""
    plain = (torque_word(robot), "output")
    use = _uses(recording, "tau").get(0)
    if use is None and _uses(recording, "current"):
        return "A", "motor"
    stored = plain if use is None else (use.unit, use.side or "output")
    if torque.foreign and (stored == plain or torque.factor is None):
        return torque.unit, torque.side
    return stored


def _constant(robot: Robot, recording: Recording, torque: TorqueUnit) -> float | None:
    """The torque constant (N m/A at the motor) of logged currents, by the robot file's masses."""
    use = None if _uses(recording, "tau") else _uses(recording, "current").get(0)
    if use is None or not use.torque_constant or not torque.scale > 0:
        return None
    return use.torque_constant / torque.scale


def _columns(
    robot: Robot,
    recording: Recording,
    axes: Axes,
    reading: Reading,
    torque: TorqueUnit,
    torque_sign: tuple[int, ...],
    sign: tuple[int, ...],
) -> dict[str, dict[str, Any]]:
    """Entries of a column map for the angles and torques."""
    found: dict[str, dict[str, Any]] = {}
    angles, (before, _) = _uses(recording, "q"), as_read(robot, recording)
    unit, side = _of_numbers(robot, recording, reading)
    for axis, place in enumerate(axes.order):
        use = angles.get(place)
        entry: dict[str, Any] = {"quantity": "q", "axis": axis + 1, "unit": unit, "side": side}
        if robot.linear and axis >= robot.legs and side == "output":  # a spindle beside rails
            entry["unit"] = "rad" if use is None else use.unit
        scale = 1.0 if use is None else use.scale
        if reading.factor != 1 and (unit, side) == (before.unit, before.side):
            scale *= axis_factor(robot, reading, axis)
        entry |= {} if scale == 1 else {"scale": scale}
        found[use.name if use else channel_name("q", place)] = _with_sign(entry, use, 1)
    torques = _uses(recording, "tau")
    currents = {} if torques else _uses(recording, "current")
    for axis, place in enumerate(axes.torque_order):
        use = torques.get(place) or currents.get(place)
        against = torque_sign[axis] * sign[axis]
        entry = {"quantity": "current" if currents else "tau", "axis": axis + 1}
        if currents:
            entry["unit"] = "A" if use is None else use.unit
            if use is not None and use.torque_constant is not None:
                entry["torque_constant"] = use.torque_constant
        else:
            word = torque_word(robot) if axis < robot.legs else "Nm"
            entry |= _torque_entry(torque, use, axes.torque_factor[axis], word)
        found[use.name if use else channel_name("tau", place)] = _with_sign(entry, use, against)
    return found


def _torque_entry(
    torque: TorqueUnit, use: ColumnUse | None, factor: float, word: str
) -> dict[str, Any]:
    """Unit, side and scale of a torque; `word` is the unit of its axis inside."""
    unit, side = (word, "output") if use is None else (use.unit, use.side or "output")
    scale = 1.0 if use is None else use.scale
    if torque.foreign and torque.factor is not None:
        if (unit, side) == (word, "output") and torque.side in ("output", "motor"):
            unit, side = torque.unit, torque.side
            if word == "Nm" and side == "output" and unit.endswith("N"):
                unit = f"{unit}m"  # a spindle beside rails
        else:
            scale *= factor
    entry: dict[str, Any] = {"unit": unit, "side": side}
    return entry | ({} if scale == 1 else {"scale": scale})


def _with_sign(entry: dict[str, Any], use: ColumnUse | None, against: int) -> dict[str, Any]:
    sign = int(against * (1.0 if use is None else use.sign))
    if use is not None and use.offset:
        entry = entry | {"offset": use.offset}
    return entry | ({"sign": -1} if sign < 0 else {})


def _uncertain_told(robot: Robot, torque: TorqueUnit, item: UncertainOffset) -> dict[str, Any]:
    """An uncertain offset for JSON, in words, with the motion that decides."""
    value, deviation = as_told(robot, np.array([item.offset, item.deviation])).tolist()
    unit, word = ("mm", "N") if robot.linear else ("deg", "N m")
    limb = "carriage" if robot.linear else "arm"
    constant: float | None = None  # in N m (N) where the unit of the torque is known
    if not torque.foreign or torque.factor is not None:
        constant = item.constant * torque.axis_factor(robot, item.axis)
    size = "" if constant is None else f" of {constant:+.2g} {word}"
    place = "place" if robot.linear else "angle"
    return {
        "axis": item.axis + 1,
        f"offset_{unit}": value,
        f"deviation_{unit}": deviation,
        f"constant_{word.replace(' ', '')}": constant,
        "seen": item.seen,
        "text": f"homing of axis {item.axis + 1} by {value:+.2g} +- {deviation:.2g} {unit}, or a "
        f"constant torque{size}",
        "move": f"Bring {limb} {item.axis + 1} to its home mark and read its {place}, or log a "
        "fast motion through the whole workspace.",
    }


def _told(
    robot: Robot, recording: Recording, item: Alternative, chosen: Candidate, fourth: Fourth
) -> dict[str, Any]:
    """An alternative for JSON, with the small move that tells it from the one chosen."""
    axes = _axes(robot, item.candidate, fourth)
    controller, torque_sign = _controller(robot, axes)
    unit, side = _of_numbers(robot, recording, item.candidate.reading)
    sign = tuple(int(value) for value in controller.sign)
    what = "places" if robot.linear else "angles"
    text = f"{what} in {unit} at the {side} side, sign {list(sign)}"
    if item.candidate.torque_order != as_logged(robot).torque_order:
        text += f", torques of axes {[k + 1 for k in item.candidate.torque_order]}"
    return {
        "sign": list(sign),
        f"offset_{'mm' if robot.linear else 'deg'}": np.round(
            as_told(robot, controller.offset), 3
        ).tolist(),
        "torque_sign": list(torque_sign),
        "torque_order": [axis + 1 for axis in axes.torque_order],
        "unit": unit,
        "side": side,
        "residual": item.residual,
        "twin": item.twin,
        "text": text,
        "move": deciding_move(item.candidate, chosen, robot.linear),
    }


def deciding_move(one: Candidate, two: Candidate, linear: bool = False) -> str:
    """The small move of the machine that tells two candidates apart, in words."""
    if one.reading.factor != two.reading.factor:
        turned = TURNED / 1e3 if linear else math.radians(TURNED)
        ways = sorted(turned / abs(c.reading.factor) for c in (one, two))
        move = f"Turn arm 1 by {TURNED:g} degrees, measured at the arm"
        if linear:
            move = f"Move carriage 1 by {TURNED:g} mm, measured at the rail"
        return f"{move}: the log then changes by {ways[0]:.4g} or by {ways[1]:.4g}."
    arms = [i + 1 for i in range(len(one.sign)) if one.sign[i] != two.sign[i]]
    if arms and linear:
        return (
            f"Raise carriage {arms[0]} by a few mm, on a level rail move it outward: in our "
            "convention its place grows; see whether the logged one grows or falls."
        )
    if arms:
        return (
            f"Lower arm {arms[0]} by a few degrees: in our convention its angle grows; see whether "
            "the logged one grows or falls."
        )
    limb, answer = ("carriage", "force") if linear else ("arm", "torque")
    text = f"Push one {limb} by hand while the drives hold: the {answer} that answers is that of"
    return f"{text} the {limb}."


def _applied(recording: Recording, axes: Axes, what: str) -> Recording:
    """The recording with its angles and torques put right."""
    order, torques = list(axes.order), list(axes.torque_order)
    changes: dict[str, Any] = {}
    for name in ("q", "q_command", "qd", "qdd"):
        value = getattr(recording, name)
        if value is not None:
            offset = axes.offset if name in ("q", "q_command") else 0.0
            changes[name] = value[:, order] * axes.gain + offset
    for name in ("tau", "tau_command"):
        value = getattr(recording, name)
        if value is not None:
            changes[name] = value[:, torques] * (axes.torque_sign * axes.torque_factor)
    if recording.current is not None:
        changes["current"] = recording.current[:, torques]
    provenance = recording.provenance.with_repair(f"convention put right: {what}")
    return replace(recording, provenance=provenance, **changes)


def _plain(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _key(name: str) -> str:
    """A name as a YAML key; quoted where it is more than a word."""
    if name.replace("_", "").isalnum() and name.isascii() and not name[0].isdigit():
        return name
    return "'" + name.replace("'", "''") + "'"
