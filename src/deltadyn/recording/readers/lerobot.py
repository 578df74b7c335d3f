"""LeRobot datasets (v3, and v2 with a file for each episode): Parquet with a vector a row.

A dataset is a folder with `meta/info.json` and `data/chunk-000/file-000.parquet`, ... Each row is a
frame: `observation.state` and `action` are vectors, whose elements the metadata may name,
`timestamp` is the time in its episode in s. An episode is a recording; `action` is the command.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import RecordingFileError, extra_module
from deltadyn.recording.columns import AXES, Column
from deltadyn.recording.readers import Head, Reader, Table, damaged, regrouped
from deltadyn.recording.readers.parquet import ALLOWED as WHOLE_FILE

STATE, ACTION, TIME = "observation.state", "action", "timestamp"
EPISODE, FRAME = "episode_index", "frame_index"
INFO = Path("meta", "info.json")
_ALLOWED = f"a LeRobot dataset: a folder with {INFO.as_posix()} and data/*/*.parquet"
_FOOTER = 1 << 16  # bytes at the end of a Parquet file that hold the names of its columns
_TOLERANCE = 1e-4  # s between a time stamp and the frame's number over the frame rate
#: What the elements are where their names say no more than the axis ("motor_0"), or nothing.
_USUAL = {STATE: "actual position", ACTION: "command position"}


@dataclass(frozen=True)
class _Feature:
    """A column of the Parquet files; `names` are those of a vector's elements, "" for a number."""

    name: str
    names: tuple[str, ...]


def is_lerobot(head: Head) -> bool:
    """Whether a folder is a dataset, or a Parquet file has its columns."""
    path = Path(head.path)
    if path.is_dir():
        return (path / INFO).is_file()
    if not head.start.startswith(b"PAR1"):
        return False
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _FOOTER, 0))
        end = file.read()
    return STATE.encode() in end and EPISODE.encode() in end


def open_lerobot(head: Head) -> Table:
    """The table of one episode; `episode=` chooses among several."""
    path = Path(head.path)
    root = path if path.is_dir() else path.parents[2] if len(path.parents) > 2 else path.parent
    info = _info(root, required=path.is_dir())
    files = sorted(path.glob("data/**/*.parquet")) if path.is_dir() else [path]
    if not files:
        raise RecordingFileError.of_file(head.path, "has no data/*/*.parquet", _ALLOWED)
    rows = _Rows(head.path, files, info)
    episode = rows.chosen(head.options.episode)
    features = rows.features()
    columns = tuple(_columns(features))
    places = [(number, k) for number, item in enumerate(features) for k in range(len(item.names))]

    def blocks(count: int, used: Sequence[int]) -> Iterator[FloatArray]:
        yield from regrouped(
            rows.blocks(features, [places[index] for index in used], episode), count
        )

    name = f"{(root if path.is_dir() else path).stem}, episode {episode}"
    notes = [f"episode {episode} of {len(rows.episodes)}"]
    if rows.rate:
        notes.append(f"times are frame numbers over {rows.rate:g} frames a second")
    unnamed = [item.name for item in features if _told(item)]
    notes += [f"{text}: elements without names, taken for the angles" for text in unnamed]
    return Table(
        head.path, "lerobot", columns, blocks, labels={"name": name}, notes=lambda: tuple(notes)
    )


def _info(root: Path, *, required: bool) -> Mapping[str, Any]:
    file = root / INFO
    if not required and not file.is_file():
        return {}
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RecordingFileError.of_file(str(file), f"cannot be read: {error}", _ALLOWED) from error
    if not isinstance(found, dict):
        raise RecordingFileError.of_file(str(file), "is no JSON object", _ALLOWED)
    features = found.get("features", {})
    if not isinstance(features, dict) or not all(isinstance(v, dict) for v in features.values()):
        raise RecordingFileError.of_file(str(file), "has features that are no objects", _ALLOWED)
    return found


def _columns(features: Sequence[_Feature]) -> Iterator[Column]:
    """A column for each element: "observation.state.joint_1.pos", "action[0]", "timestamp"."""
    for item in features:
        for k, name in enumerate(item.names):
            if not name and len(item.names) == 1:
                yield Column(item.name, "s" if item.name == TIME else None)
                continue
            told = item.name in _USUAL and (name or _told(item))
            alias = f"{_USUAL[item.name]} {name or k + 1}" if told else ""
            yield Column(f"{item.name}.{name}" if name else f"{item.name}[{k}]", alias=alias)


def _told(item: _Feature) -> bool:
    """Whether a vector without names has as many elements as a robot has axes."""
    return item.name in _USUAL and not any(item.names) and len(item.names) in (AXES - 1, AXES)


class _Rows:
    """The rows of a dataset's Parquet files."""

    def __init__(self, path: str, files: Sequence[Path], info: Mapping[str, Any]) -> None:
        self.arrow: Any = extra_module("pyarrow", "a LeRobot dataset", "parquet")
        self.parquet: Any = extra_module("pyarrow.parquet", "a LeRobot dataset", "parquet")
        self.path, self.files, self.info = path, files, info
        self.kinds = (self.arrow.ArrowException, OSError, ValueError)
        with damaged(str(files[0]), WHOLE_FILE, self.kinds):
            self.schema = self.parquet.read_schema(files[0])
        missing = [name for name in (TIME, EPISODE, FRAME) if name not in self.schema.names]
        if missing:
            raise RecordingFileError.of_file(path, f"has no {', '.join(missing)}", _ALLOWED)
        self.episodes, self.rate = self._looked_at()

    def _looked_at(self) -> tuple[list[int], float]:
        """The numbers of the episodes, and the frame rate in Hz; 0 where the times say another."""
        given = self.info.get("fps")
        rate = float(given) if isinstance(given, int | float) and 0 < given < 1e9 else 0.0
        episodes: set[int] = set()
        for batch in self._batches([EPISODE, FRAME, TIME]):
            numbers = (batch.column(k).to_numpy(zero_copy_only=False) for k in range(3))
            episode, frame, time = (np.asarray(item, dtype=np.float64) for item in numbers)
            episodes |= {int(number) for number in np.unique(episode[np.isfinite(episode)])}
            # the stamps are single precision: a long log at 1 kHz would jitter
            if rate and np.abs(frame / rate - time).max(initial=0.0) > _TOLERANCE:
                rate = 0.0
        return sorted(episodes), rate

    def chosen(self, wanted: int | None) -> int:
        """The episode that is asked for, or the only one."""
        if wanted is None and len(self.episodes) == 1:
            return self.episodes[0]
        if wanted is not None and wanted in self.episodes:
            return wanted
        ends = f"{self.episodes[0]} to {self.episodes[-1]}" if self.episodes else "none"
        raise RecordingFileError(
            "episode",
            wanted,
            f"episode= one of {ends}: an episode is a recording",
            path=self.path,
            problem=f"is {wanted}; the dataset has {len(self.episodes)}",
        )

    def features(self) -> list[_Feature]:
        """The numbers and the vectors of numbers."""
        found = []
        for field in self.schema:
            kind = field.type
            if self._is_vector(kind):
                if self._is_number(kind.value_type):
                    found.append(_Feature(field.name, self._names(field.name)))
            elif self._is_number(kind):
                found.append(_Feature(field.name, ("",)))
        return found

    def _names(self, feature: str) -> tuple[str, ...]:
        """Names of a vector's elements by the metadata, else empty ones by the first row."""
        about = self.info.get("features", {}).get(feature, {})
        names = about.get("names")
        if isinstance(names, dict):  # {"motors": [...]}
            names = next(iter(names.values()), None)
        batch = next(self._batches([feature]), None)
        width = len(batch.column(0)[0].as_py() or ()) if batch is not None and batch.num_rows else 0
        if isinstance(names, list) and len(names) == width:
            return tuple(str(name) for name in names)
        return ("",) * width

    def blocks(
        self, features: Sequence[_Feature], places: Sequence[tuple[int, int]], episode: int
    ) -> Iterator[FloatArray]:
        """The chosen elements of an episode's frames, each (len(places), n)."""
        names = [features[number].name for number, _ in places]
        for batch in self._batches(list(dict.fromkeys([EPISODE, FRAME, *names]))):
            mine = np.flatnonzero(batch.column(EPISODE).to_numpy(zero_copy_only=False) == episode)
            if not mine.size:
                continue
            block = np.empty((len(places), mine.size))
            for row, (number, k) in enumerate(places):
                block[row] = self._values(batch, features[number])[mine, k]
            yield block

    def _values(self, batch: Any, item: _Feature) -> FloatArray:
        """(rows, elements) of a feature."""
        if item.name == TIME and self.rate:
            frames = batch.column(FRAME).to_numpy(zero_copy_only=False)
            return np.asarray(frames, dtype=np.float64)[:, None] / self.rate
        column = batch.column(item.name)
        if self._is_vector(column.type):
            column = column.flatten()
        values = np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
        if values.size != batch.num_rows * len(item.names):
            raise RecordingFileError(
                "length",
                values.size,
                f"{len(item.names)} elements in every row",
                path=self.path,
                column=item.name,
                problem="differs from row to row",
            )
        return values.reshape(batch.num_rows, len(item.names))

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        for file in self.files:
            with (
                damaged(str(file), WHOLE_FILE, self.kinds),
                self.parquet.ParquetFile(file) as opened,
            ):
                yield from opened.iter_batches(columns=list(columns))

    def _is_vector(self, kind: Any) -> bool:
        types = self.arrow.types
        return bool(
            types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        )

    def _is_number(self, kind: Any) -> bool:
        return bool(self.arrow.types.is_floating(kind) or self.arrow.types.is_integer(kind))


READER = Reader("lerobot", is_lerobot, open_lerobot)
