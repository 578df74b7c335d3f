"""What drift found in the history of one robot."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.doors import write_page
from deltadyn.units import counted

#: Causes that are no new fault: told, but no alarm.
QUIET = ("back", "ended")


@dataclass(frozen=True)
class Move:
    """How far one parameter moved in a change, in its unit, with the deviation of that.

    For a ramp it is how far it came until `Change.until`. `percent` is None for a parameter whose
    value is about 0, such as an offset.
    """

    parameter: str
    unit: str
    before: float
    size: float
    std: float
    percent: float | None
    percent_std: float | None
    z: float

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "parameter": self.parameter,
            "unit": self.unit,
            "before": self.before,
            "after": self.before + self.size,
            "size": self.size,
            "std": self.std,
            "percent": self.percent,
            "percent_std": self.percent_std,
        }


@dataclass(frozen=True)
class Change:
    """A change: since when, of what, how far, and what it may be.

    `date` is the first night of a step or the begin of a ramp, `low` to `high` the interval of
    that at the level asked for, `raised` the night on which it was found, `until` the last night
    of the new level. `moves` are the parameters that moved together, the one that showed it first.
    `cause` is a key of `CAUSES` of `words.py`, or empty.
    """

    kind: str  # "step" or "ramp"
    date: datetime
    low: datetime
    high: datetime
    raised: datetime
    until: datetime
    moves: tuple[Move, ...]
    cause: str
    words: str

    @property
    def parameter(self) -> str:
        """The parameter that raised the alarm."""
        return self.moves[0].parameter

    @property
    def alarm(self) -> bool:
        """Whether it is a new fault; a repair and the end of a ramp are told, and no alarm."""
        return self.cause not in QUIET

    def __str__(self) -> str:
        return self.words

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON, times in UTC."""
        times = ("date", "low", "high", "raised", "until")
        return {
            "parameter": self.parameter,
            "kind": self.kind,
            **{name: getattr(self, name).isoformat() for name in times},
            "words": self.words,
            "cause": self.cause,
            "alarm": self.alarm,
            "moves": [move.as_dict() for move in self.moves],
        }


@dataclass(frozen=True)
class OddNight:
    """A night whose log does not fit to those before and after it, in these parameters."""

    date: datetime
    parameters: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"date": self.date.isoformat(), "parameters": list(self.parameters)}


@dataclass(frozen=True, eq=False)
class Track:
    """A parameter over the nights (n,), in its unit; NaN where a night does not show it.

    `std` is the deviation found from the nights themselves, `level` the line of its level with the
    changes, `fitted` the same with temperature. `per_kelvin` is the share by which it changes with
    a kelvin, with its deviation; None where no temperature is recorded or the value is about 0.
    """

    name: str
    unit: str
    values: FloatArray
    std: FloatArray
    level: FloatArray
    fitted: FloatArray
    per_kelvin: tuple[float, float] | None
    memory: float

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        slope = None if self.per_kelvin is None else list(self.per_kelvin)
        return {
            "name": self.name,
            "unit": self.unit,
            "values": _plain(self.values),
            "std": _plain(self.std),
            "level": _plain(self.level),
            "fitted": _plain(self.fitted),
            "per_kelvin": slope,
            "memory": self.memory,
        }


@dataclass(frozen=True, eq=False)
class Drift:
    """The history of one robot, watched: parameters over time, changes, odd nights.

    `times` are those of the nights in UTC, `temperature` (n,) in degrees Celsius with NaN where it
    is not recorded. `explained` says what stands for temperature: "recorded", "friction of all
    axes" or "". `threshold` is the |z| beyond which a change is an alarm, for the stated rate of
    one false alarm in `years_per_alarm` years of this robot. `skipped` are parameters that too few
    nights show, `left_out` counts entries by another method or model than the newest, and of logs
    that are there twice.
    """

    robot: str
    serial: str
    zone: str
    times: tuple[datetime, ...]
    temperature: FloatArray
    explained: str
    tracks: tuple[Track, ...]
    changes: tuple[Change, ...]
    odd: tuple[OddNight, ...]
    skipped: tuple[str, ...]
    threshold: float
    years_per_alarm: float
    level: float
    burn_in: int
    left_out: int = 0

    @property
    def watched(self) -> bool:
        """Whether there are nights enough to watch anything."""
        return bool(self.tracks)

    @property
    def status(self) -> str:
        """What was found, in a sentence."""
        count, nights = len(self.changes), len(self.times)
        if not self.watched:
            be = "is" if nights == 1 else "are"
            return (
                f"{counted(nights, 'night')} {be} too few to watch {self.serial}: "
                f"it takes {self.burn_in} that show a parameter."
            )
        span = f"in {nights} nights from {self.day(self.times[0])} to {self.day(self.times[-1])}"
        if not count:
            return f"No change of {self.serial} {span}."
        return f"{counted(count, 'change')} of {self.serial} {span}."

    def raised_since(self, since: datetime | None) -> tuple[Change, ...]:
        """The alarms that were raised at or after a time; all without one."""
        found = (item for item in self.changes if item.alarm)
        return tuple(item for item in found if since is None or item.raised >= since)

    def day(self, time: datetime) -> str:
        """A day in the plant's zone, with the year."""
        return day_of(time, self.zone)

    def __getitem__(self, name: str) -> Track:
        for track in self.tracks:
            if track.name == name:
                return track
        raise KeyError(name)

    def __str__(self) -> str:
        lines = [f"{self.robot} {self.serial}: {self.status}"]
        for item in self.changes:
            lines += [f"- {item.words}", *(f"    {text}" for text in self._details(item))]
        for night in self.odd:
            names = ", ".join(night.parameters)
            lines.append(f"- odd night {self.day(night.date)}, not a change: {names}")
        if self.skipped:
            lines.append(f"- not watched, too few nights show them: {', '.join(self.skipped)}")
        if self.left_out:
            why = "by another method or model than the newest, or a log twice"
            lines.append(f"- entries left out, {why}: {self.left_out}")
        lines.append(self.how)
        return "\n".join(lines)

    @property
    def how(self) -> str:
        """How sure that is, and what explains temperature."""
        warm = {
            "recorded": "temperature as recorded",
            "friction of all axes": "no temperature recorded: what viscous friction of all axes "
            "does alike counts as weather, and a fault of all axes would",
        }.get(self.explained, "temperature not considered")
        return (
            f"(one false alarm in {self.years_per_alarm:g} years of a robot, "
            f"|z| > {self.threshold:.2f}; {warm})"
        )

    def _details(self, item: Change) -> list[str]:
        span = f"{self.day(item.low)} to {self.day(item.high)}"
        first = (
            f"{item.kind}, date within {span} ({100 * self.level:g} %), "
            f"alarm on {self.day(item.raised)}"
        )
        return [first, *(_move_text(move) for move in item.moves)]

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON, times in UTC."""
        return {
            "robot": self.robot,
            "serial": self.serial,
            "zone": self.zone,
            "status": self.status,
            "nights": len(self.times),
            "times": [time.isoformat() for time in self.times],
            "temperature": _plain(self.temperature),
            "explained": self.explained,
            "changes": [item.as_dict() for item in self.changes],
            "odd": [item.as_dict() for item in self.odd],
            "skipped": list(self.skipped),
            "left_out": self.left_out,
            "threshold": self.threshold,
            "years_per_alarm": self.years_per_alarm,
            "level": self.level,
            "parameters": [track.as_dict() for track in self.tracks],
        }

    def page(self, path: str | os.PathLike[str]) -> Path:
        """Write a page with the curves, their bands and the changes."""
        return write_page("drift", self, path)


def day_of(time: datetime, zone: str, year: bool = True) -> str:
    """A day such as "3 May 2026" in a zone."""
    try:
        local = time.astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError):
        local = time
    text = f"{local.day} {MONTHS[local.month - 1]}"
    return f"{text} {local.year}" if year else text


MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def _move_text(move: Move) -> str:
    share = ""
    if move.percent is not None and move.percent_std is not None:
        share = f", {move.percent:+.3g} % (± {1.96 * move.percent_std:.2g})"
    after = move.before + move.size
    return f"{move.parameter}: {move.before:.4g} to {after:.4g} {move.unit}{share}"


def _plain(values: FloatArray) -> list[float | None]:
    """Numbers for JSON; None for what is not there."""
    return [float(x) if math.isfinite(x) else None for x in np.asarray(values)]
