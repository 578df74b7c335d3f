"""The nights of one robot side by side: times, values, deviations and temperature as arrays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.history.entry import Entry

SHOWN = 8.0  # deviations from 0: a parameter that is better known is watched as a ratio
RECORDED = 0.8  # share of the nights with a temperature: with fewer it counts as not recorded
FRICTION = re.compile(r"(.*\.)?F[vcst][+-]?\d?")
VISCOUS = re.compile(r"Fv\d")
RESIDUAL = re.compile(r"residual\d")
UNWATCHED = re.compile(r"(ripple|eccentricity|other|drift|delay).*")  # phases and nuisances


@dataclass(frozen=True, eq=False)
class Series:
    """What the nights of one robot say, oldest first.

    `days` (n,) count from `start`; `y` (n, k) are the logarithms of the values where a parameter is
    a `ratio` (k,), else the values; `s` (n, k) are their stated deviations. NaN where a night does
    not show a parameter. `warmth` (n, m) explains temperature: degrees Celsius about their mean in
    units of 10 K, or what stands for them (see `temperature.py`); m is 0 where nothing does.
    """

    robot: str
    serial: str
    zone: str
    start: datetime
    days: FloatArray
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: FloatArray
    std: FloatArray
    ratio: npt.NDArray[np.bool_]
    temperature: FloatArray  # (n,) degrees Celsius, NaN where it is not recorded
    skipped: tuple[str, ...]
    left_out: int = 0  # entries by another method or model, or of a log that is there twice

    @property
    def y(self) -> FloatArray:
        """What is watched (n, k): logarithms of ratios, values of others."""
        with np.errstate(invalid="ignore", divide="ignore"):
            logarithm = np.log(self.values)
        return np.where(self.ratio, logarithm, self.values)

    @property
    def s(self) -> FloatArray:
        """The stated deviations of `y` (n, k)."""
        return np.where(self.ratio, self.std / np.abs(self.values), self.std)

    @property
    def recorded(self) -> bool:
        """Whether enough nights have a temperature."""
        return bool(np.mean(np.isfinite(self.temperature)) >= RECORDED)

    @property
    def spacing(self) -> float:
        """Days between two nights, the median."""
        gaps = np.diff(self.days)
        gaps = gaps[gaps > 0]
        return float(np.median(gaps)) if len(gaps) else 1.0

    def when(self, day: float) -> datetime:
        """The time of a day, in UTC."""
        return self.start + timedelta(days=float(day))

    def is_friction(self) -> npt.NDArray[np.bool_]:
        """Which parameters (k,) are friction."""
        return np.array([bool(FRICTION.fullmatch(name)) for name in self.names], dtype=bool)


def by_robot(entries: Iterable[Entry]) -> dict[tuple[str, str], list[Entry]]:
    """Entries by type of robot and serial number, in the order of their first appearance."""
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        found.setdefault((entry.robot, entry.serial), []).append(entry)
    return found


def series_of(
    entries: Sequence[Entry],
    *,
    parameters: Sequence[str] | None = None,
    residuals: bool = True,
    fewest: int = 14,
) -> Series:
    """The series of the fits and logs among the entries of one robot.

    A parameter that fewer than `fewest` nights show is skipped, and named in the result.
    """
    given = sorted((e for e in entries if e.kind != "validation"), key=lambda e: e.time)
    nights = _alike(given)
    if not nights:
        raise InputError("entries", len(entries), "at least one fit or log of a robot")
    robots = [" ".join(key) for key in by_robot(nights)]
    if len(robots) > 1:
        allowed = "entries of one robot (one type, one serial number)"
        raise InputError("entries", ", ".join(robots), allowed)
    names, units = _names(nights, parameters, residuals)
    values, std = _table(nights, names)
    shown = np.isfinite(values) & np.isfinite(std)
    values[~shown] = std[~shown] = np.nan
    enough = shown.sum(axis=0) >= fewest
    skipped = tuple(name for name, ok in zip(names, enough, strict=True) if not ok)
    values, std = values[:, enough], std[:, enough]
    start = nights[0].time
    return Series(
        robot=nights[-1].robot,
        serial=nights[-1].serial,
        zone=nights[-1].zone,
        start=start.astimezone(UTC),
        days=np.array([(entry.time - start).total_seconds() / 86400 for entry in nights]),
        names=tuple(name for name, ok in zip(names, enough, strict=True) if ok),
        units=tuple(unit for unit, ok in zip(units, enough, strict=True) if ok),
        values=values,
        std=std,
        ratio=_ratios(values, std),
        temperature=np.array(
            [np.nan if e.temperature is None else float(e.temperature) for e in nights]
        ),
        skipped=skipped,
        left_out=len(given) - len(nights),
    )


def _alike(entries: Sequence[Entry]) -> list[Entry]:
    """The entries by the method and model of the newest, one per log.

    Another method is no change of the robot, and one log twice is not two nights that agree.
    """
    newest: dict[str, Entry] = {}
    for number, entry in enumerate(entries):
        if (entry.method, entry.model) == (entries[-1].method, entries[-1].model):
            newest[entry.log or f"entry {number}"] = entry
    return sorted(newest.values(), key=lambda entry: entry.time)


def _names(
    nights: Sequence[Entry], parameters: Sequence[str] | None, residuals: bool
) -> tuple[list[str], list[str]]:
    """All names that are watched, with their units; those of any night."""
    units: dict[str, str] = {}
    for entry in nights:
        units |= dict(zip(entry.names, entry.units, strict=True))
    names = [name for name in units if not UNWATCHED.fullmatch(name)]
    if parameters is not None:
        for name in parameters:
            if name not in units:
                raise UnknownNameError("parameter", name, sorted(units))
        names = list(parameters)
    found = [units[name] for name in names]
    if residuals and parameters is None:
        axes = max(len(entry.residual) for entry in nights)
        names += [f"residual{axis + 1}" for axis in range(axes)]
        found += ["of the torque"] * axes
    return names, found


def _table(nights: Sequence[Entry], names: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """Values and deviations (n, k); NaN where a night has none.

    A residual counts as a share of the axis' torque, and its deviation is found from its scatter.
    """
    values = np.full((len(nights), len(names)), np.nan)
    std = np.full_like(values, np.nan)
    for row, entry in enumerate(nights):
        place = {name: k for k, name in enumerate(entry.names)}
        for column, name in enumerate(names):
            if name in place:
                values[row, column] = entry.values[place[name]]
                std[row, column] = entry.std[place[name]]
            elif RESIDUAL.fullmatch(name) and int(name[8:]) <= len(entry.residual):
                axis = int(name[8:]) - 1
                level = float(entry.torque_level[axis])
                if level > 0 and entry.residual[axis] > 0:
                    values[row, column] = entry.residual[axis] / level
                    std[row, column] = 0.0
    return values, std


def _ratios(values: FloatArray, std: FloatArray) -> npt.NDArray[np.bool_]:
    """Which parameters (k,) are watched as ratios: above 0 on all nights, and well known."""
    out = np.zeros(values.shape[1], dtype=bool)
    for k in range(values.shape[1]):
        x, s = values[:, k], std[:, k]
        x, s = x[np.isfinite(x)], s[np.isfinite(s)]
        # of differences: a step is no scatter
        scatter = 1.05 * float(np.median(np.abs(np.diff(x)))) if len(x) > 1 else 0.0
        small = max(float(np.median(s)) if len(s) else 0.0, scatter)
        out[k] = bool(len(x)) and bool((x > 0).all()) and float(np.median(x)) > SHOWN * small
    return out
