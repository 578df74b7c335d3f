"""Where the logs of a fleet are: a folder, a glob, or a prefix of an object store; whose, and when.

The robot of a log is the first folder of its path within the source, its day is the date in that
path. A pattern such as "{serial}/{date}.csv" says it for other layouts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import date
from glob import glob, has_magic
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Protocol, runtime_checkable

from deltadyn.errors import InputError
from deltadyn.files import file_digest
from deltadyn.fleet.remote import Store, is_remote
from deltadyn.options import names_of
from deltadyn.recording.prepare.stream import Streamed
from deltadyn.recording.read import ReadOptions
from deltadyn.robot import Robot
from deltadyn.systems import path_of_url

HIDDEN = (".", "_")
PERIODS = ("day", "week", "month", "all")
DATE = re.compile(r"(?<!\d)(\d{4})([-_/.]?)(\d{2})\2(\d{2})(?!\d)")


@runtime_checkable
class FleetLog(Protocol):
    """A log of a fleet; it travels to other processes."""

    @property
    def name(self) -> str:
        """Its path within the source: logs are ordered by it."""

    @property
    def serial(self) -> str:
        """The robot's."""

    @property
    def day(self) -> date | None:
        """When it was recorded."""

    def fingerprint(self) -> str:
        """Another one for other samples, or for another way to read them."""

    def opened(self, robot: Robot) -> AbstractContextManager[Streamed]:
        """The log, to be read in pieces within the block."""


@dataclass(frozen=True, eq=False)
class StoredLog:
    """A log in a file or in an object store (`store`); `mark` is what the store says of it."""

    name: str
    serial: str
    day: date | None
    place: str
    store: Store | None = None
    mark: str = ""
    size: int = 0
    options: ReadOptions | None = None

    def fingerprint(self) -> str:
        """Of the content, or the mark and the size of an object; and how it is read.

        An object of a store that tells only times is brought here for it: a time says nothing.
        """
        if self.store is not None and self.mark:
            own = f"{self.mark}-{self.size}"
        else:
            with self.file() as path:
                own = file_digest(path)
        return f"{own}-{reading_text(self.options)}"

    @contextmanager
    def opened(self, robot: Robot) -> Iterator[Streamed]:
        """The log; an object is brought to a file first, which is gone after the block."""
        with self.file() as path:
            yield Streamed(robot, path, self._named())

    @contextmanager
    def file(self) -> Iterator[str]:
        """The path of the log on this machine."""
        if self.store is None:
            yield self.place
            return
        with self.store.brought(self.place, self.size) as path:
            yield path

    def _named(self) -> ReadOptions | None:
        """A temporary file has a name of its own."""
        if self.store is None or (self.options is not None and self.options.name):
            return self.options
        return replace(self.options or ReadOptions(), name=PurePosixPath(self.name).stem)


def reading_text(options: ReadOptions | None) -> str:
    """How logs are read, as a text; of a column map in a file its checksum."""
    usual, told = ReadOptions(), []
    for name in names_of(ReadOptions):
        value = getattr(usual if options is None else options, name)
        if value is getattr(usual, name):
            continue
        if name == "columns" and not isinstance(value, Mapping):
            value = file_digest(value)
        told.append(f"{name}={value!r}")
    return ";".join(told)


@dataclass(frozen=True)
class Layout:
    """Whose a log is and of which day, by its path within the source."""

    pattern: str | None = None

    def __post_init__(self) -> None:
        if self.pattern is not None and "{serial}" not in self.pattern:
            allowed = 'a path with {serial} and, where logs have a day, {date}; "*" is any name'
            raise InputError("pattern", self.pattern, allowed)

    def of(self, name: str, root: str = "") -> tuple[str, date | None] | None:
        """Serial and day of a log in a source whose folder has the name `root`; None: no log."""
        if self.pattern is None:
            return self._serial(name, root), found_date(name)
        fits = self._expression.fullmatch(name)
        if fits is None:
            return None
        parts = fits.groupdict()
        return parts["serial"], found_date(parts["date"]) if parts.get("date") else None

    @staticmethod
    def _serial(name: str, root: str) -> str:
        """The first folder; of a log outside of any, its name without a date, or the source's."""
        folder, _, rest = name.partition("/")
        if rest:
            return folder
        stem = PurePosixPath(name).stem
        return DATE.sub("", stem).strip("-_. ") or root or stem

    @property
    def _expression(self) -> re.Pattern[str]:
        known = {
            "{serial}": "(?P<serial>[^/]+?)",
            "{date}": r"(?P<date>\d{4}[-_/.]?\d{2}[-_/.]?\d{2})",
            "**": ".*",
            "*": "[^/]*",
        }
        parts = re.split(r"(\{serial\}|\{date\}|\*\*|\*)", self.pattern or "")
        return re.compile("".join(known.get(part, re.escape(part)) for part in parts))


def found_date(text: str) -> date | None:
    """The first date in a text, such as 2026-05-03, 20260503 or 2026/05/03."""
    for year, _, month, day in DATE.findall(text):
        try:
            return date(int(year), int(month), int(day))
        except ValueError:
            continue
    return None


def period_of(day: date | None, period: str) -> str | None:
    """The name of a day's period: 2026-05-03, 2026-W18, 2026-05 or all; None without a day."""
    if period == "all":
        return "all"
    if day is None:
        return None
    if period == "week":
        year, week, _ = day.isocalendar()
        return f"{year}-W{week:02d}"
    return day.isoformat() if period == "day" else f"{day.year}-{day.month:02d}"


@dataclass(frozen=True, eq=False)
class Found:
    """The logs of a source in the order of their names, and those that the pattern does not fit."""

    logs: tuple[FleetLog, ...]
    others: tuple[str, ...] = ()


def find_logs(
    source: str | Path | Sequence[FleetLog],
    *,
    pattern: str | None = None,
    options: ReadOptions | None = None,
    storage: Mapping[str, object] | None = None,
) -> Found:
    """The logs below a folder, of a glob, or below a URL such as s3://bucket/prefix.

    Names that begin with "." or "_" are left out. `storage` are options of the store, such as
    endpoint_url. A sequence of logs is taken as it is.
    """
    if not isinstance(source, str | Path):
        return Found(tuple(sorted(source, key=lambda log: log.name)))
    layout, place = Layout(pattern), str(source)
    if options is not None and isinstance(options.columns, str | PathLike):
        options = replace(options, columns=str(Path(options.columns).absolute()))
    if place.startswith("file://"):
        place = path_of_url(place)
    logs: list[FleetLog] = []
    others = []
    if is_remote(place):
        store = Store.of(place, storage or {})
        root, items = store.listed()
    else:
        store = None
        root, files = _files(place)
        items = [(name, str(path), "", 0) for name, path in files]
    for name, path, mark, size in sorted(items):
        if any(part.startswith(HIDDEN) for part in name.split("/")):
            continue
        found = layout.of(name, root)
        if found is None:
            others.append(name)
        else:
            logs.append(StoredLog(name, *found, path, store, mark, size, options))
    if not logs:
        allowed = "a folder, a glob or a URL with at least one log"
        if others:
            allowed += f" of the pattern {pattern!r}; {others[0]!r} is none"
        raise InputError("source", place, allowed)
    return Found(tuple(logs), tuple(others))


def _files(place: str) -> tuple[str, list[tuple[str, Path]]]:
    """The name of a folder, or of the one around a glob, and files with their names within it."""
    if Path(place).is_dir():
        root = Path(place)
        found = [path for path in root.rglob("*") if path.is_file()]
    elif has_magic(place):
        fixed = []
        for part in Path(place).parts[:-1]:
            if has_magic(part):
                break
            fixed.append(part)
        root = Path(*fixed)
        found = [Path(path) for path in glob(place, recursive=True) if Path(path).is_file()]
    elif Path(place).is_file():
        root, found = Path(place).parent, [Path(place)]
    else:
        allowed = "a folder, a glob or a URL (s3://bucket/prefix) that is there"
        raise InputError("source", place, allowed)
    own = [(path.relative_to(root).as_posix(), path.absolute()) for path in found]
    return root.absolute().name, own
