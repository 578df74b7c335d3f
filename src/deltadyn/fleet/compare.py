"""`fleet`: one fit per robot, one of all together from their merged factors, and who stands out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from deltadyn.doors import write_page
from deltadyn.errors import FileError, InputError
from deltadyn.files import file_name, file_set, with_ending
from deltadyn.fleet.spread import Spread
from deltadyn.history.entry import deviations
from deltadyn.identification.fit import Fit
from deltadyn.identification.identify import identify, looks_for_terms
from deltadyn.identification.information import Information
from deltadyn.identification.loading import Loaded
from deltadyn.identification.methods.registry import method_by_name
from deltadyn.identification.options import FitOptions, Preparation
from deltadyn.identification.parametrisation import SOURCES
from deltadyn.identification.problem import Method
from deltadyn.identification.terms.library import NEAR
from deltadyn.options import merged, parted
from deltadyn.recording.prepare.stream import Streamed
from deltadyn.recording.read import ReadOptions
from deltadyn.recording.recording import DataSource, Recording
from deltadyn.robot import Robot
from deltadyn.units import counted

#: Recordings and files of one robot; files may come with options of the reader.
MemberLogs = Sequence["Recording | str | os.PathLike[str] | LogFile"]

FEWEST = 3  # robots, of which two show how robots scatter and one is judged
LIMIT = 3.5  # deviations from the other robots
MATTERS = 0.05  # relative: a smaller difference changes nothing that a user sees


@dataclass(frozen=True)
class LogFile:
    """A file and the options of `read_recording` for it; it may travel to another process."""

    path: str
    options: ReadOptions | None = None

    def open(self, robot: Robot) -> Streamed:
        """The log, to be read in pieces."""
        return Streamed(robot, self.path, self.options)


@dataclass(frozen=True)
class Outlier:
    """A parameter in which a robot stands out from the others."""

    member: str
    parameter: str
    value: float
    others: float
    unit: str
    z: float

    @property
    def change(self) -> float:
        """Relative to the others; infinite where theirs is 0."""
        return (self.value - self.others) / abs(self.others) if self.others else np.inf

    def __str__(self) -> str:
        way = "above" if self.value > self.others else "below"
        share = f"{100 * abs(self.change):.0f} % {way}" if np.isfinite(self.change) else way
        return (
            f"{self.member}: {self.parameter} is {self.value:.4g} {self.unit}, {share} the other "
            f"robots' {self.others:.4g} ({abs(self.z):.1f} deviations)"
        )


@dataclass(frozen=True)
class Damaged:
    """A log that cannot be read: the member that it belongs to, its path, and why."""

    member: str
    log: str
    reason: str

    def __str__(self) -> str:
        return f"{self.member}: a log was left out: {self.reason}"


@dataclass(frozen=True, eq=False)
class Fleet:
    """What `fleet` found: a fit per member, the common one, every parameter's spread, outliers."""

    robot: Robot
    members: dict[str, Fit]
    common: Fit
    spreads: tuple[Spread, ...]
    outliers: tuple[Outlier, ...]
    band: float | None
    damaged: tuple[Damaged, ...] = ()  # logs that were left out

    @property
    def status(self) -> str:
        """The verdict in a sentence."""
        count = len(self.members)
        odd = list(dict.fromkeys(item.member for item in self.outliers))
        if count < FEWEST:
            return f"{counted(count, 'robot')}: too few to say which one is odd; it takes {FEWEST}."
        if not odd:
            return f"{count} robots: none stands out."
        return f"{count} robots: {', '.join(odd)} stand{'s' if len(odd) == 1 else ''} out."

    @property
    def table(self) -> str:
        """Every parameter: the fleet's mean, what robots differ by, then each member."""
        names = list(self.members)
        wide = max(10, *(len(name) + 2 for name in names))
        first = max(9, *(len(item.name) for item in self.spreads)) + 1
        head = f"{'parameter':<{first}}{'mean':>10}{'between':>10}{'p':>8}"
        lines = [head + "".join(f"{name:>{wide}}" for name in names) + "  unit"]
        for item in self.spreads:
            text = (
                f"{item.name:<{first}}{item.mean:>10.4g}{item.between:>10.2g}{item.p_value:>8.2g}"
            )
            for name, value in zip(names, item.values, strict=True):
                mark = "!" if self._is_outlier(item.name, name) else " "
                cell = f"{value:.4g}{mark}" if np.isfinite(value) else "- "
                text += f"{cell:>{wide}}"
            lines.append(f"{text}  {item.unit}")
        return "\n".join(lines)

    def _is_outlier(self, parameter: str, member: str) -> bool:
        return any(o.parameter == parameter and o.member == member for o in self.outliers)

    def __str__(self) -> str:
        left = "; ".join(
            f"{name} {', '.join(f'{value:.2g}' for value in fit.residual)}"
            for name, fit in self.members.items()
        )
        lines = [self.status, *map(str, (*self.outliers, *self.damaged)), "", self.table, ""]
        return "\n".join([*lines, f"RMS residual: {left} {self.robot.axis_unit('tau')}"])

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "robot": self.robot.name,
            "status": self.status,
            "band_Hz": self.band,
            "outliers": [{**vars(item), "change": _finite(item.change)} for item in self.outliers],
            "damaged": [vars(item) for item in self.damaged],
            "parameters": [
                {
                    "name": item.name,
                    "unit": item.unit,
                    "mean": _finite(item.mean),
                    "mean_std": _finite(item.mean_std),
                    "between": item.between,
                    "p_value": _finite(item.p_value),
                    "values": dict(zip(self.members, map(_finite, item.values), strict=True)),
                    "std": dict(zip(self.members, map(_finite, item.std), strict=True)),
                }
                for item in self.spreads
            ],
            "members": {name: fit.as_dict() for name, fit in self.members.items()},
            "common": self.common.as_dict(),
        }

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the robot and the record of every member, and the common ones."""
        place = Path(folder)
        fits = [*self.members.items(), ("fleet", self.common)]
        places: dict[str, str] = {}
        for name, _ in fits:
            own = with_ending(place / file_name("name of a robot", name), ".yaml").name
            if own in places:
                allowed = f"another than {places[own]!r} has: both would be saved as {own}"
                raise InputError("name of a robot", name, allowed)
            places[own] = name
        with file_set():
            return [path for name, fit in fits for path in fit.save(place / name)]

    def page(self, path: str | os.PathLike[str]) -> Path:
        """Write one HTML page with the verdict, the spreads as figures and the table."""
        return write_page("fleet", self, path)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


@dataclass(frozen=True)
class _Look:
    """What a first look at a member's logs gives; `damaged` are their numbers, with the reason."""

    band: float | None
    smoothing: float | None
    damaged: dict[int, str]


@dataclass(frozen=True, eq=False)
class _Member:
    information: Information
    sources: tuple[DataSource, ...]


def fleet(
    robot: Robot,
    logs: Mapping[str, MemberLogs],
    method: str | Method = "convex",
    *,
    model: str | None = None,
    band: float | Literal["auto"] | None = "auto",
    workers: int = 1,
    seed: int = 0,
    strict: bool = False,
    **options: Any,
) -> Fleet:
    """Fit every robot of a fleet and all together; say which of them differ from the others.

    `logs` gives recordings or files by the robot's name. All are compared in one band, the
    lowest that any of them asks for. What a log does not identify stays at the robot file's value
    and is not compared. A log that cannot be read is left out and named in `Fleet.damaged`, its
    member too where it has no other; `strict` stops there instead. `workers` processes read the
    logs through joblib, whose backends, dask among them, may be chosen around the call. Further
    keywords are those of `identify`. A member stands out by 3.5 deviations and 5 %.

    Terms of the machine are found as in `identify`. Robots are compared with the same terms: what
    one of them has is fitted in all. `terms="file"` keeps to the robot file's: then the common fit
    is that of the members' merged factors, and no log is read twice.
    """
    if len(logs) < 2:
        raise InputError("robots of the fleet", len(logs), "at least 2")
    if "fleet" in logs:
        raise InputError("name of a robot", "fleet", "another name: it is that of the common fit")
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError("workers", workers, "a whole number of at least 1")
    chosen = method_by_name(method) if isinstance(method, str) else method
    if chosen.by_recording:
        raise InputError(
            "method", chosen.name, "one that fits information, such as 'convex' or 'base'"
        )
    name = model or chosen.model
    data = [_items(items, whole_paths=workers > 1) for items in logs.values()]
    looks = _in_parallel(_look, [(robot, items, band, strict) for items in data], workers)
    names, data, damaged = _sound(list(logs), data, looks)
    smooth = max((look.smoothing for look in looks if look.smoothing), default=None)
    own = robot if smooth is None else robot.with_friction(smoothing=smooth)
    bands = [look.band for look in looks if look.band is not None]
    lowest = min(bands) if bands else None
    of_fit, others = parted(FitOptions, options)
    usual = FitOptions(model=name, band=band, unidentifiable="hold", seed=seed)
    asked = merged(FitOptions, usual, of_fit)
    call = _Call(own, method, asked, others)
    if looks_for_terms(chosen, asked):
        several, common = _with_terms(call, data, workers)
    else:
        several, common = _from_factors(call, data, lowest, SOURCES[name], workers)
    fits = dict(zip(names, several, strict=True))
    spreads = _spreads(fits)
    return Fleet(
        robot=robot,
        members=fits,
        common=common,
        spreads=spreads,
        outliers=tuple(_outliers(list(fits), spreads)),
        band=common.band,
        damaged=damaged,
    )


def _sound(
    names: list[str], data: list[list[Any]], looks: Sequence[_Look]
) -> tuple[list[str], list[list[Any]], tuple[Damaged, ...]]:
    """Members and logs without those that cannot be read, and these."""
    damaged = tuple(
        Damaged(name, str(getattr(items[k], "path", items[k])), reason)
        for name, items, look in zip(names, data, looks, strict=True)
        for k, reason in look.damaged.items()
    )
    kept = {
        name: [item for k, item in enumerate(items) if k not in look.damaged]
        for name, items, look in zip(names, data, looks, strict=True)
    }
    kept = {name: items for name, items in kept.items() if items}
    if len(kept) < 2:
        allowed = f"at least 2 with a log that can be read; {damaged[0]}"
        raise InputError("robots of the fleet", len(kept), allowed)
    return list(kept), list(kept.values()), damaged


@dataclass(frozen=True, eq=False)
class _Call:
    """A call of `identify` but for its data; it may travel to another process."""

    robot: Robot
    method: str | Method
    options: FitOptions
    others: dict[str, Any]

    def __call__(self, data: list[Any] | Information) -> Fit:
        given = data if isinstance(data, Information) else _opened(self.robot, data)
        return identify(self.robot, given, self.method, self.options, **self.others)

    def changed(self, **options: Any) -> _Call:
        """The same with other options."""
        return replace(self, options=replace(self.options, **options))

    @property
    def together(self) -> _Call:
        """For all members: robots may differ in mass, which is no payload that was forgotten."""
        return self.changed(check=False)


def _with_terms(call: _Call, data: list[list[Any]], workers: int) -> tuple[list[Fit], Fit]:
    """A fit of every member, with the terms that any of them has, and the common one."""
    fits = _in_parallel(_fitted, [(call, items) for items in data], workers)
    titles = _common_terms(fits)
    bands = [fit.band for fit in fits if fit.band is not None]
    same = call.changed(terms=titles, band=min(bands) if bands else None)
    again = [k for k, fit in enumerate(fits) if not _has(fit, titles, same.options.band)]
    redone = _in_parallel(_fitted, [(same, data[k]) for k in again], workers)
    for k, fit in zip(again, redone, strict=True):
        fits[k] = fit
    return fits, same.together([item for items in data for item in items])


def _fitted(call: _Call, items: list[Any]) -> Fit:
    return call(items)


def _has(fit: Fit, titles: Sequence[str], band: Any) -> bool:
    """Whether a fit has these terms, in this band; one without a search has none anyway."""
    return fit.band == band and (fit.terms is None or set(fit.terms.titles) == set(titles))


def _common_terms(fits: Sequence[Fit]) -> tuple[str, ...]:
    """Terms that any member has, the most frequent first; of close orders of a wave one."""
    count = Counter(title for fit in fits if fit.terms is not None for title in fit.terms.titles)
    found: list[str] = []
    for title, _ in count.most_common():
        name = title.rstrip("0123456789")
        orders = [int(t[len(name) :]) for t in found if t.rstrip("0123456789") == name != t]
        if name == title or all(abs(int(title[len(name) :]) - n) > NEAR for n in orders):
            found.append(title)
    return tuple(found)


def _from_factors(
    call: _Call, data: list[list[Any]], band: float | None, source: str, workers: int
) -> tuple[list[Fit], Fit]:
    """A fit of every member and the common one, from their factors."""
    found = _in_parallel(
        _information, [(call.robot, items, band, source) for items in data], workers
    )
    plain = call.changed(terms="file") if call.options.terms is None else call
    fits = [replace(plain(item.information), data=item.sources, band=band) for item in found]
    first, *rest = (item.information for item in found)
    sources = tuple(source for item in found for source in item.sources)
    common = plain.together(first.merge(*rest))
    return fits, replace(common, data=sources, band=band)


def _items(data: MemberLogs, *, whole_paths: bool) -> list[Any]:
    """The logs of a member; another process may be in another folder, so paths are made whole."""
    items = [data] if isinstance(data, Recording | str | os.PathLike | LogFile) else list(data)
    if not whole_paths:
        return items
    found: list[Any] = []
    for item in items:
        if isinstance(item, LogFile):
            found.append(replace(item, path=os.path.abspath(item.path)))
        else:
            found.append(os.path.abspath(item) if isinstance(item, str | os.PathLike) else item)
    return found


def _opened(robot: Robot, items: list[Any]) -> list[Any]:
    return [item.open(robot) if isinstance(item, LogFile) else item for item in items]


def _look(
    robot: Robot, data: list[Any], band: float | Literal["auto"] | None, strict: bool
) -> _Look:
    try:
        return _seen(robot, data, band, {})
    except (FileError, OSError):
        if strict:
            raise
    damaged: dict[int, str] = {}
    for k, item in enumerate(data):
        try:
            _seen(robot, [item], band, {})
        except (FileError, OSError) as error:
            damaged[k] = str(error)
    sound = [item for k, item in enumerate(data) if k not in damaged]
    return _seen(robot, sound, band, damaged) if sound else _Look(None, None, damaged)


def _seen(
    robot: Robot,
    data: list[Any],
    band: float | Literal["auto"] | None,
    damaged: dict[int, str],
) -> _Look:
    loaded = Loaded(robot, _opened(robot, data), Preparation(band))
    return _Look(loaded.band, loaded.robot.friction.smoothing, damaged)


def _information(robot: Robot, data: list[Any], band: float | None, source: str) -> _Member:
    loaded = Loaded(robot, _opened(robot, data), Preparation(band))
    return _Member(loaded.information(source), loaded.sources)


def _in_parallel(work: Any, tasks: list[tuple[Any, ...]], workers: int) -> list[Any]:
    if workers == 1:
        return [work(*task) for task in tasks]
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs=workers)(delayed(work)(*task) for task in tasks))


def _spreads(fits: dict[str, Fit]) -> tuple[Spread, ...]:
    """The robots' parameters that at least one member's log identifies, in their order.

    Deviations are those of the intervals, which cover the models that remain. Waves of ripple are
    left out: their phase is that of the encoder's zero.
    """
    units: dict[str, str] = {}
    for fit in fits.values():
        own = fit.parametrisation.own
        units |= dict(zip(fit.names[:own], fit.units[:own], strict=True))
    units = {name: unit for name, unit in units.items() if not name.startswith("ripple")}
    tables = [
        dict(zip(fit.names, zip(fit.values, deviations(fit), strict=True), strict=True))
        for fit in fits.values()
    ]
    found = []
    for name, unit in units.items():
        pairs = [table.get(name, (np.nan, np.inf)) for table in tables]
        values, std = (np.array(column) for column in zip(*pairs, strict=True))
        found.append(Spread.of(name, unit, values, std))
    return tuple(found)


def _outliers(members: list[str], spreads: tuple[Spread, ...]) -> list[Outlier]:
    found = []
    for item in spreads:
        for index, member in enumerate(members):
            known = np.delete(item.values, index)
            known = known[~np.isnan(known)]
            if not known.size:  # no other robot has this parameter
                continue
            others = float(np.median(known))
            odd = Outlier(
                member,
                item.name,
                float(item.values[index]),
                others,
                item.unit,
                float(item.z[index]),
            )
            if abs(odd.z) > LIMIT and abs(odd.change) > MATTERS:
                found.append(odd)
    return sorted(found, key=lambda odd: -abs(odd.z))
