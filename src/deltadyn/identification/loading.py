"""Recordings on their way into a fit: checked, cut into parts, with one band for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.identification.extra import Extra
from deltadyn.identification.information import Information, gather
from deltadyn.identification.options import Preparation
from deltadyn.kinematics.state import State
from deltadyn.progress import Bar
from deltadyn.recording.checks import refuse_spoiled
from deltadyn.recording.prepare.band import (
    LONGEST,
    OUTLASTS,
    OVERSAMPLING,
    EvenGrid,
    LowPass,
    choose_band,
)
from deltadyn.recording.prepare.data import (
    AT_REST,
    CHUNK,
    SHORTEST,
    Cutting,
    Prepared,
    Rates,
    as_recordings,
    check_usable,
    checked_band,
    deferred_parts,
    stretches,
    too_short,
)
from deltadyn.recording.prepare.stream import FilePath, Streamed, file_digest, row_bytes
from deltadyn.recording.recording import DataSource, Recording, concatenate, fingerprint
from deltadyn.robot import Robot
from deltadyn.units import counted

#: What a fit is made from: recordings, files, and logs that are read in pieces.
Log = Recording | FilePath | Streamed
Data = Log | Iterable[Log]

KEPT = 500_000  # samples whose parts are kept for methods that read them again
BAND_FROM = 3  # recordings, the longest ones, from which the band is found


class Loaded:
    """Recordings made ready: the robot of the fit, its band in Hz, the parts and their origin.

    Where rates are estimated and the robot's friction has no smoothing, the direction of a joint
    that rests is noise; friction then gets a smoothing of three deviations of the rate.

    `extra` may be set: then the parts are those that it corrects, and the information has its
    columns and lacks the rows that it leaves out.
    """

    def __init__(
        self,
        robot: Robot,
        recordings: Data,
        preparation: Preparation | None = None,
        *,
        progress: bool = False,
    ) -> None:
        asked = preparation or Preparation()
        self._given = as_logs(robot, recordings)
        self.recordings = tuple(
            (item.whole or item) if isinstance(item, Streamed) else item for item in self._given
        )
        self._findings: tuple[str, ...] = ()
        if asked.check:
            for recording in self.recordings:
                self._findings += refuse_spoiled(robot, _head(recording)).sentences
        self._progress = progress
        self._rates: Rates = asked.rates
        self._bandwidth = asked.bandwidth
        self._cuttings: dict[int, Cutting] = {}  # by the id of a head, which the recording keeps
        self.extra: Extra | None = None
        self._kept: list[list[Prepared]] | None = None
        self._corrected: tuple[Extra, list[list[Prepared]]] | None = None
        self.robot = robot
        longest = sorted(map(_head, self.recordings), key=len, reverse=True)[:BAND_FROM]
        first = [self._first_part(item) for item in longest]
        noise = max(
            (float(p.rate_noise.max()) for p in first if p.rate_noise is not None), default=0.0
        )
        if noise > 0 and robot.friction.smoothing is None:
            self.robot = robot.with_friction(smoothing=AT_REST * noise)
        automatic = asked.band == "auto"
        self.band = self._common_band(first) if automatic else checked_band(asked.band)

    @cached_property
    def sources(self) -> tuple[DataSource, ...]:
        """Where the samples come from; a file that was not read to its end is read now."""
        return tuple(
            item.source if isinstance(item, Streamed) else DataSource.of(item)
            for item in self._given
        )

    @property
    def findings(self) -> tuple[str, ...]:
        """Sentences on the recordings."""
        return (*self._findings, *self._short_stretches())

    @property
    def bandwidth(self) -> npt.ArrayLike | None:
        """Hz of the smoother of the first recording; None where its rates were measured."""
        return self._cutting(self.recordings[0]).bandwidth

    def parts(self) -> Iterator[Prepared]:
        """All parts of all recordings, each in the band and corrected by `extra`."""
        for _, parts in self.by_recording():
            yield from parts

    def first_part(self) -> Prepared:
        """The first part, corrected by `extra`; a file is not read again for it."""
        kept = self._small_corrected()
        if kept is not None:
            return kept[0][0]
        return self._correct(next(self._parts(_head(self.recordings[0])))())

    def by_recording(self) -> Iterator[tuple[str, Iterable[Prepared]]]:
        """The name of every recording with its parts, corrected by `extra`."""
        names = self.names()
        kept = self._small_corrected()
        correct = self._correct
        for index, (name, recording) in enumerate(zip(names, self.recordings, strict=True)):
            if kept is not None:
                yield name, kept[index]
            else:
                yield name, (correct(make()) for make in self._parts(recording))

    def names(self) -> list[str]:
        """The recordings' names, numbered where several share one."""
        names = [item.name for item in self.recordings]
        if len(set(names)) == len(names):
            return names
        return [f"{name} ({index})" for index, name in enumerate(names)]

    def information(self, source: str) -> Information:
        """The information of all recordings for the widest regressor of a kind."""
        kept = self._small_corrected()
        if kept is not None:
            extra = None if self.extra is None else replace(self.extra, corrected=None)
            return gather(self.robot, zip(self.names(), kept, strict=True), source, extra=extra)
        with Bar(self._progress, "reading", self._seconds(), "s") as bar:
            parts = (self._parts(item, bar) for item in self.recordings)
            named = zip(self.names(), parts, strict=True)
            return gather(self.robot, named, source, extra=self.extra)

    def compare_up_to(self, band: float) -> None:
        """Take this band in Hz, where rate and length of all recordings allow it."""
        for recording in map(_head, self.recordings):
            rate = 1 / recording.sample_time
            if band > rate / OVERSAMPLING or len(recording) < OUTLASTS * rate / band:
                return
        if band != self.band:
            self.band, self._kept, self._corrected = band, None, None

    def stretches(self, samples: int, length: int) -> tuple[list[Prepared], float]:
        """Uncorrected parts of at most about `samples` samples in all, and their share of all.

        Where there are more, stretches of `length` are spread over the recordings. Of a text file
        these rows alone are read; another log that is read in pieces is read once for it, in
        bounded memory; one that can be read only once gives its head.
        """
        kept = self._small()
        if kept is not None and sum(len(part) for parts in kept for part in parts) <= samples:
            return [part for parts in kept for part in parts], 1.0
        each = max(1, samples // length // len(self.recordings))
        found: list[Prepared] = []
        total = 0
        for recording in self.recordings:
            several = self._excerpts(recording, each, length)
            if several is not None:
                found += several[0]
                total += several[1]
                continue
            once = isinstance(recording, Streamed) and not recording.again
            makers, count = _spread(self._parts(_head(recording) if once else recording), each)
            own = [make() for make in makers]
            total += round(count / len(own) * sum(map(len, own)))
            per_part = max(1, each // len(own))
            for part in own:
                lows = np.linspace(0, max(len(part) - length, 0), per_part).astype(int)
                rows = [slice(low, low + length) for low in np.unique(lows).tolist()]
                found += [cut(self.robot, part, own) for own in rows]
        return found, min(1.0, sum(map(len, found)) / max(total, 1))

    def _excerpts(
        self, recording: Recording | Streamed, count: int, length: int
    ) -> tuple[list[Prepared], int] | None:
        """Parts of `length` samples from pieces of a long log, and the samples of the whole log.

        None where there are no such pieces, or gaps cut them.
        """
        if not isinstance(recording, Streamed):
            return None
        cutting = self._cutting(recording)
        several = recording.excerpts(count, length + 2 * cutting.settle)
        if several is None:
            return None
        pieces, share = several
        name = self._name_of(recording)
        found = []
        for piece in pieces:
            longest = _longest_stretch(piece.t, cutting.step)
            start, stop = longest
            if stop - start < length:
                return None
            low = (start + stop - length) // 2
            part = cutting.part(self.robot, piece, (low, low + length), longest)
            found.append(replace(part.with_band(self.band), name=name))
        return found, round(sum(map(len, pieces)) / share)

    def _seconds(self) -> float | None:
        """The duration of all recordings; None where a stream's is not known yet."""
        durations = [item.duration for item in self.recordings if isinstance(item, Recording)]
        return sum(durations) if len(durations) == len(self.recordings) else None

    def _small(self) -> list[list[Prepared]] | None:
        """The parts of all recordings, where these are few."""
        if self._kept is None:
            whole = [item for item in self.recordings if isinstance(item, Recording)]
            if len(whole) == len(self.recordings) and sum(map(len, whole)) <= KEPT:
                self._kept = [[make() for make in self._parts(item)] for item in whole]
        return self._kept

    def _correct(self, part: Prepared) -> Prepared:
        return part if self.extra is None else self.extra.correct(part)

    def _small_corrected(self) -> list[list[Prepared]] | None:
        """The same, corrected; kept until another `extra` is set."""
        kept, extra = self._small(), self.extra
        if kept is None or extra is None or extra.corrected is None:
            return kept
        if self._corrected is None or self._corrected[0] is not extra:
            self._corrected = extra, [[extra.correct(part) for part in parts] for parts in kept]
        return self._corrected[1]

    def _parts(
        self, recording: Recording | Streamed, bar: Bar | None = None
    ) -> Iterator[Callable[[], Prepared]]:
        """Functions that prepare a part each, of stretches that outlast the filter of the band."""
        head, chosen = _head(recording), self._filter(recording)
        asked: dict[str, Any] = {
            "rates": self._rates,
            "bandwidth": self._cutting(recording).bandwidth,
            "size": CHUNK,
            "overlap": 0.0 if chosen is None else 2 * chosen.margin / chosen.rate,
            "shortest": SHORTEST if chosen is None else chosen.shortest,
        }
        if isinstance(recording, Streamed):
            parts = recording.parts(robot=self.robot, **asked)
        else:
            parts = deferred_parts(self.robot, recording, **asked)
        name, used = self._name_of(recording), False
        for make in parts:
            used = True
            yield partial(_in_band, make, name, self.band, asked["overlap"], bar)
        if chosen is not None and not used:
            start, stop = _longest_stretch(head.t, head.sample_time)
            raise too_short(name, (stop - start) * head.sample_time, chosen)

    def _filter(self, recording: Recording | Streamed) -> LowPass | None:
        """The filter of the band at the rate of a recording."""
        rate = 1 / _head(recording).sample_time
        return None if self.band is None else LowPass.of(rate, self.band)

    def _short_stretches(self) -> Iterator[str]:
        """A sentence on each recording of which stretches are too short for the band."""
        for recording in self.recordings:
            chosen = self._filter(recording)
            if chosen is None or isinstance(recording, Streamed):
                continue
            step = recording.sample_time
            rows = [stop - start for start, stop in stretches(recording.t, step)]
            short = [count for count in rows if count < chosen.shortest]
            if short:
                these = counted(len(short), "stretch", "stretches")
                yield (
                    f"{recording.name}: {these} between gaps, "
                    f"{sum(short) * step:.3g} s in all, left out: shorter than "
                    f"{chosen.shortest * step:.3g} s, which a band of {chosen.band:.3g} Hz takes."
                )

    def _name_of(self, recording: Recording | Streamed) -> str:
        """Its name, numbered where several share one."""
        head = _head(recording)
        both = zip(self.recordings, self.names(), strict=True)
        return next((name for item, name in both if _head(item) is head), recording.name)

    def _cutting(self, recording: Recording | Streamed) -> Cutting:
        """How one part is cut out of a recording; its bandwidth is found once."""
        head = _head(recording)
        if id(head) not in self._cuttings:
            check_usable(self.robot, head)
            self._cuttings[id(head)] = Cutting.of(
                self.robot, head, self._rates, self._bandwidth, None, 0.0
            )
        return self._cuttings[id(head)]

    def _first_part(self, recording: Recording) -> Prepared:
        """The first part of the longest stretch, which tells most of the band."""
        cutting = replace(self._cutting(recording), size=LONGEST)
        longest = _longest_stretch(recording.t, cutting.step)
        if longest[1] - longest[0] < SHORTEST:
            raise InputError(
                f"recording {recording.name!r}", "gaps everywhere", f"{SHORTEST} samples in a row"
            )
        rows = longest[0], cutting.end(*longest)
        return cutting.part(self.robot, recording, rows, longest)

    def _common_band(self, parts: list[Prepared]) -> float | None:
        found = [choose_band(self.robot, [part]) for part in parts]
        limits = [hz for hz in found if hz is not None]
        return min(limits) if limits else None


def refuse_shared(sources: Iterable[DataSource], validation: Data | None) -> None:
    """Raise where a recording or a file is meant for training and for validation."""
    if validation is None:
        return
    trained = list(sources)
    for item in several(validation):
        path = Path(item) if isinstance(item, str | PathLike) else None
        name = item.name if isinstance(item, Recording | Streamed) else str(item)
        own = _digests(item)
        for source in trained:
            same = (
                path is not None and source.file and Path(source.file).resolve() == path.resolve()
            )
            if same or source.sha256 in own:
                raise InputError(
                    "validation",
                    name,
                    "another recording: the fit is trained on these very samples "
                    f"({source.name!r})",
                )


def _digests(item: Log) -> tuple[str | None, ...]:
    """What a source of these samples may have as its checksum."""
    if isinstance(item, Streamed):
        return (item.source.sha256,)
    if isinstance(item, str | PathLike):
        return (file_digest(item),) if Path(item).is_file() else ()
    (recording,) = as_recordings([item])
    rows = sha256(row_bytes(recording)).hexdigest()
    return (fingerprint(recording), rows, recording.provenance.sha256)


def several(data: Data) -> tuple[Log, ...]:
    """One log or more."""
    if isinstance(data, Recording | Streamed | str | PathLike):
        return (data,)
    return tuple(data)


def as_logs(robot: Robot, data: Data) -> tuple[Recording | Streamed, ...]:
    """One log or several: recordings as they are, files and streams to be read in pieces."""
    found: list[Recording | Streamed] = []
    for item in several(data):
        if isinstance(item, str | PathLike):
            found.append(Streamed(robot, item))
        elif isinstance(item, Streamed):
            found.append(item)
        else:
            found += as_recordings([item])
    return tuple(found) or as_recordings(())


def in_memory(robot: Robot, data: Data) -> tuple[Recording, ...]:
    """The same as recordings, for methods that want them whole."""
    return tuple(
        concatenate(list(item.pieces())) if isinstance(item, Streamed) else item
        for item in as_logs(robot, data)
    )


def _spread(
    items: Iterator[Callable[[], Prepared]], most: int
) -> tuple[list[Callable[[], Prepared]], int]:
    """At most `most` items, spread evenly over all, and how many there were.

    Every other one is dropped whenever twice as many are kept: the number of items is not known
    before the last one came.
    """
    kept: list[Callable[[], Prepared]] = []
    step, count = 1, 0
    for item in items:
        if count % step == 0:
            kept.append(item)
            if len(kept) > 2 * most:
                kept, step = kept[::2], 2 * step
        count += 1
    places = np.unique(np.linspace(0, len(kept) - 1, most).round().astype(int))
    return [kept[place] for place in places.tolist()], count


def cut(robot: Robot, part: Prepared, rows: slice) -> Prepared:
    """Some samples of a part; itself where these are all."""
    if rows.start == 0 and rows.stop >= len(part):
        return part
    state, t = part.state, part.t[rows]
    own = State.from_joints(robot, state.q[rows], state.qd[rows], state.qdd[rows])
    grid = None if part.grid is None else EvenGrid.of(t, 1 / part.rate)
    warmth = None if part.temperature is None else part.temperature[rows]
    return replace(part, t=t, state=own, tau=part.tau[rows], grid=grid, temperature=warmth)


def _longest_stretch(t: FloatArray, step: float) -> tuple[int, int]:
    """The rows of the longest stretch without a gap, the first of several."""
    return max(stretches(t, step), key=lambda rows: rows[1] - rows[0])


def _head(recording: Recording | Streamed) -> Recording:
    return recording.head if isinstance(recording, Streamed) else recording


def _in_band(
    make: Callable[[], Prepared], name: str, band: float | None, overlap: float, bar: Bar | None
) -> Prepared:
    part = replace(make().with_band(band), name=name)
    if bar is not None:
        seconds = float(part.t[-1] - part.t[0]) - overlap  # its neighbour has it, too
        bar.step(f"reading {part.name}", seconds)
    return part
