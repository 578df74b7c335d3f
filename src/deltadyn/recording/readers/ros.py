"""ROS bags and MCAP files: sensor_msgs/JointState, one column per joint and field.

A bag may bring definitions of its messages, from which rosbags makes code, and views and triggers
of a database. Neither is used: messages are read by the definitions of ROS itself, and a bag with
others is refused.
"""

from __future__ import annotations

import bz2
import re
import shutil
import sqlite3
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache, partial
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, RecordingFileError, extra_module
from deltadyn.recording.columns import Column
from deltadyn.recording.readers import Head, Reader, Table, damaged
from deltadyn.recording.readers.bounded import BoundedFile, BoundedPath, refuse_unpacked
from deltadyn.recording.readers.text import date_time

JOINT_STATE = "sensor_msgs/msg/JointState"
POSE_STAMPED = "geometry_msgs/msg/PoseStamped"
FIELDS = {"position": "rad", "velocity": "rad/s", "effort": "Nm"}
_WHAT = "a ROS bag"
_SQLITE, _MCAP = b"SQLite format 3\0", b"\x89MCAP0"
_MAGIC = (_MCAP, _SQLITE, b"#ROSBAG V")
_CHUNK = 6  # the kind of a record of MCAP that holds others, packed or not
MOST_CHUNK = 2**28  # bytes of a chunk or message when unpacked; recorders make them of some 10**6
MOST_BAG = 2**32  # bytes of the files of a bag that are packed as a whole, when unpacked
_Chunk = tuple[int, str, int]  # place in the file, packing, bytes as packed
#: Tables and indices of a database that hold rows and nothing to compute.
_PLAIN = re.compile(r"CREATE (TABLE|(UNIQUE )?INDEX)\b(?!.*\b(GENERATED|AS)\b)", re.I | re.S)
CLOCK = 10**18  # ns since 1970, of the year 2001: below, a clock counts from something else


def is_ros(head: Head) -> bool:
    """Whether a file or a folder is a bag."""
    if Path(head.path).is_dir():
        return (Path(head.path) / "metadata.yaml").is_file()
    return head.start.startswith(_MAGIC)


def open_ros(head: Head) -> Table:
    """The table of a bag's joint states, timed by their headers.

    Joints keep their names: "joint_1.position" is q1; others need a column map.
    """
    messages = _Messages(head.path, head.options.topic)
    names, fields = messages.contents()
    columns = [Column("t", "s", 0, True)]
    for field in fields:
        columns += [Column(f"{name}.{field}", FIELDS[field]) for name in names]

    def blocks(rows: int, used: Sequence[int]) -> Iterator[FloatArray]:
        return messages.blocks(names, fields, rows, used)

    return Table(
        head.path,
        "ros",
        tuple(columns),
        blocks,
        notes=lambda: messages.notes,
        start=lambda: messages.start,
    )


def stamped(path: str, kind: str, topic: str | None = None) -> Iterator[tuple[float, Any]]:
    """Time in s and message of every message of one kind, e.g. `POSE_STAMPED`.

    Times are those of the headers, or of the arrival in the bag where a header has none.
    """
    for arrived, message in _Messages(path, topic, kind).each():
        stamp = message.header.stamp
        yield (stamp.sec + stamp.nanosec / 1e9 or arrived / 1e9), message


@cache
def _types(first: bool) -> Any:
    """The messages of ROS 1 or 2, which makes their code once."""
    types: Any = extra_module("rosbags.typesys", _WHAT, "ros")
    return types.get_typestore(types.Stores.ROS1_NOETIC if first else types.Stores.ROS2_HUMBLE)


class _Messages:
    """The messages of one kind on one topic: joint states, if nothing else is said."""

    def __init__(self, path: str, topic: str | None, kind: str = JOINT_STATE) -> None:
        first = Path(path).suffix == ".bag"  # of ROS 1
        module = "rosbags.rosbag1" if first else "rosbags.rosbag2"
        self._reader_kind: Any = extra_module(module, _WHAT, "ros").Reader
        store = _types(first)
        self._deserialize = store.deserialize_ros1 if first else store.deserialize_cdr
        self._digest = store.generate_msgdef(kind)[1] if first else store.hash_rihs01(kind)
        self.path, self.kind = path, kind
        self.allowed = f"a ROS bag or MCAP file with one topic of {kind}, or topic=..."
        self.notes: tuple[str, ...] = ()
        self._chunks: dict[str, set[_Chunk]] = {}
        with damaged(path, self.allowed):
            self._place = place = self._plain(Path(path))
            for file in place.iterdir() if place.is_dir() else [place]:
                if file.is_file():
                    _check_database(file)
                    self._chunks[file.name] = _checked_chunks(file)
        self.start: str | None = None
        self.topic = self._topic(topic)

    def _plain(self, bag: Path) -> Path:
        """A bag, or its copy where its files are packed as a whole: the copy goes with this."""
        if not (bag / "metadata.yaml").is_file():
            return bag
        yaml = extra_module("ruamel.yaml", _WHAT, "ros").YAML(typ="safe")
        told = yaml.load((bag / "metadata.yaml").read_text())
        own = told["rosbag2_bagfile_information"]
        if str(own.get("compression_mode", "")).lower() != "file":
            return bag
        copy = Path(tempfile.mkdtemp(prefix="deltadyn-bag-"))
        weakref.finalize(self, shutil.rmtree, copy, ignore_errors=True)
        names, left = [PurePath(name).name for name in own["relative_file_paths"]], MOST_BAG
        for name in names:
            left -= _unpack_file(bag / name, copy / PurePath(name).stem, left)
        own["relative_file_paths"] = [PurePath(name).stem for name in names]
        own["compression_mode"] = own["compression_format"] = ""
        with (copy / "metadata.yaml").open("w", encoding="utf-8") as file:
            yaml.dump(told, file)
        return copy

    def contents(self) -> tuple[list[str], list[str]]:
        """The joints of the first message, and the fields that it fills."""
        for _, message in self.each():
            names = list(message.name)
            return names, [word for word in FIELDS if len(getattr(message, word)) == len(names)]
        raise self._failure(f"has no messages on the topic {self.topic!r}")

    def blocks(
        self, names: Sequence[str], fields: Sequence[str], rows: int, used: Sequence[int]
    ) -> Iterator[FloatArray]:
        """Blocks of joint states; what a message leaves out is NaN."""
        place = {name: index for index, name in enumerate(names)}
        width = 1 + len(fields) * len(names)
        chosen = list(used)
        block, filled = np.full((rows, width), np.nan), 0
        origin: int | None = None
        for stamp, message in self.each():
            time = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
            if time == 0:
                time = stamp
                self.notes = ("messages without a stamp are timed by their arrival in the bag",)
            if origin is None:
                # a simulator's clock begins near 0
                origin, self.start = time, date_time(time, True) if time > CLOCK else None
            block[filled, 0] = (time - origin) / 1e9
            _fill(block[filled], message, place, fields)
            filled += 1
            if filled == rows:
                yield np.ascontiguousarray(block[:, chosen].T)
                block, filled = np.full((rows, width), np.nan), 0
        if filled:
            yield np.ascontiguousarray(block[:filled, chosen].T)

    def _topic(self, wanted: str | None) -> str:
        with self._reader() as reader, damaged(self.path, self.allowed):
            own = [c for c in reader.connections if c.msgtype == self.kind]
            topics = sorted({c.topic for c in own})
            if any(c.digest not in ("", None, self._digest) for c in own):
                raise self._failure(f"has another definition of {self.kind}")
            others = sorted({f"{c.topic} ({c.msgtype})" for c in reader.connections})
        if wanted is not None:
            if wanted not in topics:
                raise InputError(
                    "topic",
                    wanted,
                    f"one of {', '.join(map(repr, topics)) or 'none'}: {self.kind}",
                )
            return wanted
        if len(topics) == 1:
            return str(topics[0])
        if topics:
            problem = f"has several topics of {self.kind}: {', '.join(topics)}"
        else:
            problem = f"has no topic of {self.kind}; found: {', '.join(others) or 'nothing'}"
        raise self._failure(problem)

    def each(self) -> Iterator[tuple[int, Any]]:
        """Time of arrival in ns and message, in the order of the bag."""
        with self._reader() as reader:
            chosen = [
                c for c in reader.connections if c.topic == self.topic and c.msgtype == self.kind
            ]
            messages = reader.messages(connections=chosen)
            while True:
                with damaged(self.path, self.allowed):
                    found = next(messages, None)
                    if found is None:
                        return
                    connection, stamp, raw = found
                    if connection.msgtype != self.kind:
                        raise ValueError(f"{self.topic} has messages of another kind")
                    message = self._deserialize(self._unpack(raw), connection.msgtype)
                yield stamp, message

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        with damaged(self.path, self.allowed):
            reader = self._reader_kind(BoundedPath(self._place))
            reader.open()
            self._unpack = _bounded(reader, self._chunks)
        try:
            yield reader
        finally:
            reader.close()

    def _failure(self, problem: str) -> RecordingFileError:
        return RecordingFileError.of_file(self.path, problem, self.allowed)


def _check_database(file: Path) -> None:
    """Refuse a database with more than rows: a view may never end."""
    with file.open("rb") as opened:
        if opened.read(len(_SQLITE)) != _SQLITE:
            return
    address = f"{file.resolve().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as base:
        for kind, name, text in base.execute("SELECT type, name, sql FROM sqlite_master"):
            if text is not None and not _PLAIN.match(str(text)):
                raise ValueError(f"it has the {kind} {name!r}, where a bag has plain tables")


def _checked_chunks(file: Path) -> set[_Chunk]:
    """The chunks of an MCAP file; one that unpacks to more than a recorder makes is refused."""
    chunks: set[_Chunk] = set()
    total = 0  # bytes that they unpack to
    with BoundedFile(file) as opened:
        if opened.read(len(_MCAP)) != _MCAP:
            return chunks
        place = 8  # behind the magic bytes; a record has its kind in 1 byte, its length in 8
        while len(head := _at(opened, place, 9)) == 9:
            length = int.from_bytes(head[1:], "little")
            if head[0] == _CHUNK:
                # two times and the size, a checksum, the name of the packing, the length
                size = int.from_bytes(_at(opened, place + 25, 8), "little")
                name = opened.read(8)[4:]
                packing = opened.read(min(int.from_bytes(name, "little"), 16))
                packed = opened.read(int.from_bytes(opened.read(8), "little"))
                found = max(size, _unpacked(packing, packed) if packing else 0)
                if found > MOST_CHUNK:
                    raise ValueError(f"a chunk at byte {place} unpacks to more than {MOST_CHUNK}")
                total += found
                refuse_unpacked(file, total)
                chunks.add((place, packing.decode("latin-1"), len(packed)))
            place += 9 + length
    return chunks


def _bounded(reader: Any, known: dict[str, set[_Chunk]]) -> Callable[[bytes], bytes]:
    """What unpacks the messages of an open reader, which is kept from doing it without a bound.

    `known` are the chunks of MCAP files that were looked at: an index may name others.
    """
    for place, chunk in getattr(reader, "chunks", {}).items():  # of ROS 1
        reader.chunks[place] = chunk._replace(decompressor=partial(_checked, chunk.decompressor))
    storage = getattr(reader, "storage", None)
    for part in getattr(storage, "storages", [storage]):
        for item in getattr(part, "chunks", ()):
            named = (item.chunk_start_offset, item.compression, item.compressed_size)
            if named not in known[part.path.name]:
                raise ValueError(f"its index names a chunk at byte {named[0]}, which is none")
    told = getattr(storage, "metadata", None)
    if told is None or told.compression_mode != "message":
        return _as_it_is
    reader.storage.metadata = told._replace(compression_mode=None)
    return partial(_checked, extra_module(_zstd_name(), _WHAT, "ros").decompress)


def _as_it_is(message: bytes) -> bytes:
    """A message that is not packed; `bytes(...)` of a number in its place would fill all memory."""
    return message


def _checked(unpack: Callable[[bytes], bytes], packed: bytes) -> bytes:
    """Unpacked bytes, where they are not too many."""
    packing = next((name for start, name in _STARTS.items() if packed.startswith(start)), b"")
    if _unpacked(packing, packed) > MOST_CHUNK:
        raise ValueError(f"a chunk or message unpacks to more than {MOST_CHUNK} bytes")
    return unpack(packed)


def _unpack_file(packed: Path, target: Path, most: int) -> int:
    """Unpack a file of one or more frames piece by piece; how many bytes it became."""
    count = 0
    with packed.open("rb") as source, target.open("wb") as file:
        unpacker = _zstd()
        while rest := source.read(_PIECE):
            while rest or not (unpacker.eof or unpacker.needs_input):
                if unpacker.eof:
                    unpacker = _zstd()
                count += file.write(unpacker.decompress(rest, max_length=_PIECE))
                if count > most:
                    problem = f"its files unpack to more than {MOST_BAG / 2**30:g} GiB"
                    raise ValueError(f"{problem}: unpack them before, and read the bag then")
                rest = unpacker.unused_data if unpacker.eof else b""
        if not unpacker.eof:
            raise ValueError(f"{packed.name} ends within a frame")
    return count


def _at(file: BoundedFile, place: int, size: int) -> bytes:
    if place > file.bytes:
        return b""
    file.seek(place)
    return file.read(size)


def _unpacked(packing: bytes, packed: bytes) -> int:
    """How many bytes packed ones become, as far as that is allowed; 0 for an unknown packing."""
    start = _UNPACKERS.get(packing)
    if start is None:
        return 0
    count, rest = 0, packed
    while rest and count <= MOST_CHUNK:
        unpacker = start()
        count += len(unpacker.decompress(rest, max_length=_PIECE))
        while not unpacker.eof and not unpacker.needs_input and count <= MOST_CHUNK:
            count += len(unpacker.decompress(b"", max_length=_PIECE))
        rest = (unpacker.unused_data or b"") if unpacker.eof else b""
    return count


def _lz4() -> Any:
    return extra_module("lz4.frame", _WHAT, "ros").LZ4FrameDecompressor()


def _zstd_name() -> str:
    return "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


def _zstd() -> Any:
    return extra_module(_zstd_name(), _WHAT, "ros").ZstdDecompressor()


_PIECE = 1 << 20  # bytes that are unpacked at a time
_UNPACKERS = {b"lz4": _lz4, b"zstd": _zstd, b"bz2": bz2.BZ2Decompressor}
_STARTS = {b"BZh": b"bz2", b"\x04\x22\x4d\x18": b"lz4", b"\x28\xb5\x2f\xfd": b"zstd"}


def _fill(row: FloatArray, message: Any, place: dict[str, int], fields: Sequence[str]) -> None:
    """Write one message into a row: the order of joints may change from one to the next."""
    for number, field in enumerate(fields):
        values = getattr(message, field)
        for name, value in zip(message.name, values, strict=False):
            index = place.get(name)
            if index is not None:
                row[1 + number * len(place) + index] = value


READER = Reader("ros", is_ros, open_ros)
