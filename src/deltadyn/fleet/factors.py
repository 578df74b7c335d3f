"""From a log to factors, chunk by chunk, and from the factors of a period to one.

Nothing that a fit sees depends on the chunks. A log is cut into parts of a fixed number of samples,
each with the samples around it that smoother and filter take up, and a part's rows are in blocks of
0.2 s. A chunk is a number of whole parts. Where there are too many blocks, neighbours are put
together in pairs, in all parts alike: blocks b and b + 1 of each part become one, level by level;
then parts of one log, then logs of one payload. The level is the lowest one at which the blocks are
few enough, and a chunk's level is never above that of the period that it belongs to, since the
period has the same blocks and more. So it does not matter where chunks begin, or when blocks were
joined: [R1; R2] = Q R holds all that R1 and R2 do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np

from deltadyn.errors import DeltadynError, InputError, MissingExtraError
from deltadyn.fleet.sources import FleetLog
from deltadyn.fleet.work import Work, WorkFolderError, attempt, key_of
from deltadyn.identification.information import Information, gather, pair_blocks
from deltadyn.identification.loading import Loaded
from deltadyn.identification.options import Preparation
from deltadyn.recording.checks import refuse_spoiled
from deltadyn.recording.prepare.band import LowPass
from deltadyn.recording.prepare.data import CHUNK, Prepared, Rates
from deltadyn.recording.prepare.stream import Streamed
from deltadyn.robot import Robot

BLOCKS = 300  # in a factor: more would not sharpen a variance, see `uncertainty.MOST_BLOCKS`
TOGETHER = 8  # parts that are gathered at once
MOST_PARTS = 256  # of a chunk: with one block each they are fewer than `BLOCKS`
CHECKED = 100_000  # samples at the start of a log that are checked for signs and units
WITHIN, ACROSS = 24, 48  # levels below which blocks of a part, parts of a log are put together
HIGHEST = 72  # level; between, logs are


@dataclass(frozen=True)
class Settings:
    """How the logs of one robot are made ready, found in its first log: Hz, rad/s, Hz per axis."""

    band: float | None
    smoothing: float | None
    bandwidth: tuple[float, ...] | None

    @classmethod
    def of(cls, robot: Robot, log: Streamed, asked: Preparation) -> Settings:
        """The settings that a log asks for."""
        loaded = Loaded(robot, log, replace(asked, check=False))
        found = loaded.bandwidth
        hz = None if found is None else tuple(map(float, np.ravel(np.asarray(found))))
        return cls(loaded.band, loaded.robot.friction.smoothing, hz)

    def robot(self, robot: Robot) -> Robot:
        """The robot with the smoothing of its friction."""
        return robot if self.smoothing is None else robot.with_friction(smoothing=self.smoothing)


@dataclass(frozen=True)
class Cut:
    """What becomes of a log: how it is prepared, the regressor, samples of parts and chunks."""

    source: str = "exact"
    rates: Rates = "auto"
    band: Any = "auto"
    check: bool = True
    chunk: int = 128 * CHUNK
    part: int = CHUNK

    @property
    def parts(self) -> int:
        """Parts of a chunk."""
        several = -(-self.chunk // (self.part * TOGETHER)) * TOGETHER
        return min(max(several, TOGETHER), MOST_PARTS)

    @property
    def preparation(self) -> Preparation:
        """As `identify` takes it."""
        return Preparation(self.band, self.rates, None, self.check)

    def key(self) -> tuple[object, ...]:
        """What the parts depend on."""
        return (self.source, self.rates, self.band, self.check, self.part)


@dataclass(frozen=True)
class Done:
    """What became of a log: its key in the work folder, the numbers of its chunks, or a problem.

    `mark` is its fingerprint. `seconds` is its duration, `skipped` what is lost in stretches
    between gaps that are shorter than the filter of the band; `temperature` is the mean in degrees
    Celsius, where it was recorded.
    """

    name: str
    key: str = ""
    mark: str = ""
    chunks: tuple[int, ...] = ()
    samples: int = 0
    seconds: float = 0.0
    skipped: float = 0.0
    temperature: float | None = None
    findings: tuple[str, ...] = ()
    problem: str | None = None
    told: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class First:
    """The settings of a robot, None where none of its logs can be read, and the logs looked at."""

    settings: Settings | None
    done: tuple[Done, ...]


def first_factors(robot: Robot, logs: Sequence[FleetLog], cut: Cut, work: Work) -> First:
    """Find the settings of a robot in its first log that can be read, and make its factors."""
    done: list[Done] = []
    for log in logs:
        told: list[str] = []
        try:
            mark = log.fingerprint()
            key = key_of("settings", mark, robot, *cut.key())
            for record in attempt(partial(work.recall, "settings", key), told):
                hz = record["bandwidth"] and tuple(record["bandwidth"])
                settings = Settings(record["band"], record["smoothing"], hz)
                job = _Job(robot, log, settings, cut, work, mark, told)
                return First(settings, (*done, job.done()))
            with log.opened(robot) as streamed:
                findings = _check(robot, streamed, cut)
                settings = Settings.of(robot, streamed, cut.preparation)
                work.keep("settings", key, vars(settings))
                job = _Job(robot, log, settings, cut, work, mark, told)
                return First(settings, (*done, job.known() or job.made(streamed, findings)))
        except (MissingExtraError, WorkFolderError):
            raise
        except (DeltadynError, OSError) as error:
            done.append(Done(log.name, problem=str(error), told=tuple(told)))
    return First(None, tuple(done))


def factors(robot: Robot, log: FleetLog, settings: Settings, cut: Cut, work: Work) -> Done:
    """Make the factors of a log that the work folder lacks; a log that cannot be read is named."""
    told: list[str] = []
    try:
        return _Job(robot, log, settings, cut, work, log.fingerprint(), told).done()
    except (MissingExtraError, WorkFolderError):
        raise
    except (DeltadynError, OSError) as error:
        return Done(log.name, problem=str(error), told=tuple(told))


@dataclass(frozen=True, eq=False)
class _Job:
    """The factors of one log; `mark` is its fingerprint, `told` what is said on the way."""

    robot: Robot
    log: FleetLog
    settings: Settings
    cut: Cut
    work: Work
    mark: str
    told: list[str]

    @cached_property
    def key(self) -> str:
        """What the factors depend on."""
        parts = (self.mark, self.robot, self.settings, self.cut.parts, *self.cut.key())
        return key_of("log", *parts)

    def done(self) -> Done:
        """What is there, or is made now."""
        known = self.known()
        if known is not None:
            return known
        with self.log.opened(self.robot) as streamed:
            return self.made(streamed, _check(self.robot, streamed, self.cut))

    def known(self) -> Done | None:
        """What an earlier run made, where all of it is there and sound."""
        for record in attempt(partial(self.work.recall, "logs", self.key), self.told):
            if all(self._seen(number) is not None for number in record["chunks"]):
                return self._result(record)
        return None

    def made(self, streamed: Streamed, findings: list[str]) -> Done:
        """Read the log; the factors of chunks that are there are not made again."""
        own = self.settings.robot(self.robot)
        parts = _Parts(own, streamed, self.settings, self.cut)
        chunks, seen, number = [], Seen(), 0
        while not parts.ended:
            own_seen = self._seen(number)
            if own_seen is not None:
                parts.pass_over(self.cut.parts)
            else:
                parts.seen, tally = Seen(), Tally(BLOCKS)
                for _ in range(0, self.cut.parts, TOGETHER):
                    usable = parts.usable(TOGETHER)
                    first = next(usable, None)
                    if first is not None:
                        tally.add(gather(own, chain([first], usable), self.cut.source, workers=1))
                own_seen = parts.seen
                if tally.blocks:
                    self.work.keep_factor(self.key, number, _packed(tally, own_seen))
            if self.work.has_factor(self.key, number):
                chunks.append(number)
            seen += own_seen
            number += 1
        if not chunks:
            allowed = "more than the filter of the band takes up"
            raise InputError(f"samples of {self.log.name!r}", streamed.source.samples, allowed)
        source = streamed.source
        record = {
            "chunks": chunks,
            "samples": source.samples,
            "seconds": source.duration,
            "skipped": seen.skipped,
            "temperature": seen.temperature,
            "findings": findings,
        }
        self.work.keep("logs", self.key, record)
        return self._result(record)

    def _seen(self, number: int) -> Seen | None:
        """What was seen of a chunk; None where its factor is not there, or broken."""
        for found in attempt(partial(self.work.factor, self.key, number), self.told):
            return unpacked(found)[2]
        return None

    def _result(self, record: dict[str, Any]) -> Done:
        tuples = {name: tuple(record[name]) for name in ("chunks", "findings")}
        told = tuple(dict.fromkeys(self.told))
        found = {**record, **tuples}
        return Done(self.log.name, self.key, self.mark, **found, told=told)


def _check(robot: Robot, streamed: Streamed, cut: Cut) -> list[str]:
    """What is said of the start of a log; one with a wrong sign or unit is refused."""
    if not cut.check:
        return []
    head = streamed.head.rows(0, min(CHECKED, len(streamed.head)))
    return list(refuse_spoiled(robot, head).sentences)


@dataclass(frozen=True)
class Seen:
    """What is told of parts beside their rows: seconds too short, sum and number of degrees."""

    skipped: float = 0.0
    degrees: float = 0.0
    counted: int = 0

    def __add__(self, other: Seen) -> Seen:
        both = zip(astuple(self), astuple(other), strict=True)
        return Seen(*(a + b for a, b in both))

    @property
    def temperature(self) -> float | None:
        """The mean, in degrees Celsius; None where it was not recorded."""
        return self.degrees / self.counted if self.counted else None


class _Parts:
    """The parts of a log in their order, numbered, and what was seen beside their rows."""

    def __init__(self, robot: Robot, log: Streamed, settings: Settings, cut: Cut) -> None:
        self.seen, self.ended = Seen(), False
        self._name, self._band = log.name, settings.band
        rate = 1 / log.head.sample_time
        self._filter = None if settings.band is None else LowPass.of(rate, settings.band)
        shared = 0 if self._filter is None else 2 * self._filter.margin
        makers = log.parts(
            robot=robot,
            rates=cut.rates,
            bandwidth=settings.bandwidth,
            size=cut.part,
            overlap=shared / rate,
        )
        self._makers = enumerate(makers)
        self._ahead = next(self._makers, None)  # the end is known when the last part was taken

    def pass_over(self, count: int) -> None:
        """Leave the next parts."""
        for _ in self._next(count):
            pass

    def usable(self, count: int) -> Iterator[tuple[str, list[Prepared]]]:
        """The next parts in the band by their numbers, without those too short for its filter."""
        for number, make in self._next(count):
            part = make()
            even = len(part) if part.grid is None else len(part.grid.t)
            if self._filter is not None and self._filter.length(even) < 2:
                self.seen += Seen(skipped=float(part.t[-1] - part.t[0]))
                continue
            if part.temperature is not None:
                known = part.temperature[np.isfinite(part.temperature)]
                self.seen += Seen(0.0, float(known.sum()), len(known))
            yield str(number), [replace(part.with_band(self._band), name=self._name)]

    def _next(self, count: int) -> Iterator[tuple[int, Callable[[], Prepared]]]:
        for _ in range(count):
            if self._ahead is None:
                break
            found, self._ahead = self._ahead, next(self._makers, None)
            yield found
        self.ended = self._ahead is None


# Blocks of several chunks and logs: few enough, in the same pairs whatever the chunks.


class Tally:
    """Information that comes bit by bit; its recordings are parts, named "log:part"."""

    def __init__(self, most: int) -> None:
        self.most, self.level = most, 0
        self._found: list[Information] = []

    def add(self, item: Information, level: int = 0, log: int = 0) -> None:
        """Take in the parts of a log, whose blocks are at a level; labels are their numbers."""
        labels = tuple(f"{log}:{label}" for label in item.recordings)
        item = replace(item, recordings=labels)
        for own in range(level, self.level):
            item = _lifted(item, own)
        while self.level < level:
            self._lift()
        self._found.append(item)
        if self.level > WITHIN:  # parts of one pair may come in different chunks
            whole = self.whole()
            self._found = [_single(_relabelled(whole, whole.recordings))]
        while self.blocks > self.most and self.level < HIGHEST:
            self._lift()

    @property
    def blocks(self) -> int:
        """So far."""
        return sum(item.blocks for item in self._found)

    def whole(self) -> Information:
        """All of it."""
        if len(self._found) > 1:
            first, *others = self._found
            self._found = [first.merge(*others)]
        return self._found[0]

    def information(self, names: Sequence[str]) -> Information:
        """All of it, with the names of the logs as recordings."""
        whole = self.whole()
        logs = [int(label.partition(":")[0]) for label in whole.recordings]
        kept = list(dict.fromkeys(logs))
        place = {log: number for number, log in enumerate(kept)}
        own = np.array([place[log] for log in logs], dtype=np.int64)
        labels = tuple(names[log] for log in kept)
        return replace(whole, recording=own[whole.recording], recordings=labels)

    def _lift(self) -> None:
        if self._found:
            self._found = [_lifted(self.whole(), self.level)]
        self.level += 1


def _packed(tally: Tally, seen: Seen) -> Information:
    """The factor of a chunk; its last label holds the level, and what was seen beside it."""
    whole = tally.whole()
    labels = [label.partition(":")[2] for label in whole.recordings]
    last = json.dumps({"level": tally.level, **asdict(seen)})
    return replace(whole, recordings=(*labels, last))


def unpacked(chunk: Information) -> tuple[Information, int, Seen]:
    """The factor of a chunk with its parts as recordings, its level, and what was seen beside."""
    *labels, last = chunk.recordings
    told = json.loads(last)
    level = told.pop("level")
    return replace(chunk, recordings=tuple(labels)), level, Seen(**told)


def _lifted(item: Information, level: int) -> Information:
    """One level up: half as many blocks, of parts, then of logs, then of neighbouring logs."""
    if level >= WITHIN:
        item = _renamed(item, level)
    if len(np.unique(item.recording)) == item.blocks:
        return item  # nothing to pair
    return pair_blocks(item)


def _single(item: Information) -> Information:
    """One block in every recording."""
    while len(np.unique(item.recording)) < item.blocks:
        item = pair_blocks(item)
    return item


def _renamed(item: Information, level: int) -> Information:
    """Parts p and p + 1 of a log, or logs l and l + 1 of one payload, become one recording."""
    pairs = [tuple(map(int, label.split(":")[:2])) for label in item.recordings]
    if level < ACROSS:
        if not any(part for _, part in pairs):
            return item
        return _relabelled(item, [f"{log}:{part >> 1}" for log, part in pairs])
    shift = level - ACROSS + 1
    carried = {int(r): float(x) for r, x in zip(item.recording, item.extra, strict=True)}
    labels = [
        f"{log >> shift << shift}:0:{carried.get(number, 0.0)!r}"
        for number, (log, _) in enumerate(pairs)
    ]
    return _relabelled(item, labels)


def _relabelled(item: Information, labels: Sequence[str]) -> Information:
    """Other labels; recordings of the same one become one."""
    kept = list(dict.fromkeys(labels))
    place = {label: number for number, label in enumerate(kept)}
    number = np.array([place[label] for label in labels], dtype=np.int64)[item.recording]
    order = np.argsort(number, kind="stable")
    renamed = replace(item.of_blocks(order), recordings=tuple(kept))
    return replace(renamed, recording=number[order])
