"""TDMS files of LabVIEW: channels with a unit, timed by a time channel or by their waveform."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import RecordingFileError, extra_module
from deltadyn.recording.columns import Column, quietly_recognised
from deltadyn.recording.readers import Head, Reader, Table, blocks_of, damaged
from deltadyn.recording.readers.bounded import BoundedFile
from deltadyn.recording.readers.text import date_time

_UNIT_KEYS = ("unit_string", "unit", "Unit", "NI_UnitDescription")
_LONGEST = 200  # characters of a note
_STEP, _START, _BEGAN = "wf_increment", "wf_start_offset", "wf_start_time"
_ALLOWED = "a complete TDMS file with channels, or bad_rows='skip'"


def open_tdms(head: Head) -> Table:
    """The table of a TDMS file; a channel without a time channel in its group has its own clock.

    A file that is cut off is refused, or with bad_rows="skip" read as far as it goes.
    """
    path = head.path
    nptdms: Any = extra_module("nptdms", "a TDMS file", "tdms")
    columns: list[Column] = []
    values: list[FloatArray] = []
    clocks: dict[tuple[float, float, int], int] = {}
    starts: list[str | None] = []
    with damaged(path, _ALLOWED):
        file, notes = _read(nptdms, path)
        if notes and not head.options.skip:
            raise RecordingFileError.of_file(path, f"is damaged: {notes[0]}", _ALLOWED)
        groups = file.groups()
        named = [_time_channel(group) is not None for group in groups]
        for group in groups:
            for channel in group.channels():
                data = channel[:]
                if data.dtype.kind not in "fiubM" or not data.size:
                    continue
                clock = 0
                if not any(named):
                    clock = _clock(channel, len(data), clocks, columns, values, path)
                starts.append(_start(channel, data, any(named)))
                columns.append(_column(channel, data, clock, len(groups) > 1))
                values.append(_numbers(data))
    if not columns:
        raise RecordingFileError.of_file(path, "holds no channels with numbers", _ALLOWED)
    count = max(len(clocks), 1)
    start = next((text for text in starts if text is not None), None)
    return Table(
        path,
        "tdms",
        tuple(columns),
        blocks_of(values),
        count,
        notes=lambda: notes,
        start=lambda: start,
    )


def _start(channel: Any, data: Any, timed: bool) -> str | None:
    """When a channel began, which the format counts in UTC: its first stamp, or its waveform's.

    Beside a time channel of numbers, which may count from anything, it says nothing.
    """
    first = data[0] if data.dtype.kind == "M" else None if timed else channel.properties.get(_BEGAN)
    if not isinstance(first, np.datetime64) or np.isnat(first):
        return None
    return date_time(int(first.astype("datetime64[ns]").astype(np.int64)), True)


def _read(nptdms: Any, path: str) -> tuple[Any, tuple[str, ...]]:
    """The file, and what the library has to say about it: that it is cut off, for instance."""
    listener = _Listener()
    names = [name for name in logging.root.manager.loggerDict if name.startswith("nptdms")]
    logs = [logging.getLogger(name) for name in names]
    before = [(log.propagate, log.handlers) for log in logs]
    for log in logs:
        log.propagate, log.handlers = False, [listener]
    try:
        with BoundedFile(path) as opened:
            for group in nptdms.TdmsFile.read_metadata(opened).groups():
                for channel in group.channels():
                    if len(channel) > opened.bytes:
                        count = f"{len(channel)} values of channel {channel.name!r}"
                        raise ValueError(f"it says {count}, and has {opened.bytes} bytes")
            opened.seek(0)
            file = nptdms.TdmsFile.read(opened)
    finally:
        for log, (propagate, handlers) in zip(logs, before, strict=True):
            log.propagate, log.handlers = propagate, handlers
    return file, tuple(dict.fromkeys(listener.messages))


class _Listener(logging.Handler):
    """Keeps warnings."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage()[:_LONGEST])


def _column(channel: Any, data: Any, clock: int, several: bool) -> Column:
    unit = next((str(channel.properties[k]) for k in _UNIT_KEYS if k in channel.properties), None)
    if data.dtype.kind == "M":
        unit = "s"
    alias = f"{channel.group_name}.{channel.name}" if several else ""
    return Column(channel.name, unit, clock, alias=alias)


def _time_channel(group: Any) -> Any | None:
    """The channel of a group that its name says is the time."""
    for channel in group.channels():
        use = quietly_recognised(Column(channel.name), 0)
        if use is not None and use.quantity == "t":
            return channel
    return None


def _clock(
    channel: Any,
    count: int,
    clocks: dict[tuple[float, float, int], int],
    columns: list[Column],
    values: list[FloatArray],
    path: str,
) -> int:
    """The clock of a waveform; its time column is added when it is met first."""
    step = float(channel.properties.get(_STEP, 0.0))
    if step <= 0:
        raise RecordingFileError(
            f"time of channel {channel.name!r}",
            None,
            f"a time channel such as 't_s', or waveforms with the property {_STEP!r}",
            path=path,
            problem="is not in the file",
        )
    key = (step, float(channel.properties.get(_START, 0.0)), count)
    if key not in clocks:
        clocks[key] = len(clocks)
        columns.append(Column(f"time {len(clocks)}", "s", clocks[key], True))
        values.append(key[1] + step * np.arange(count, dtype=np.float64))
    return clocks[key]


def _numbers(data: Any) -> FloatArray:
    if data.dtype.kind == "M":  # time stamps: seconds since the first
        seconds: FloatArray = (data - data[0]) / np.timedelta64(1, "ns") / 1e9
        return seconds
    return np.asarray(data, dtype=np.float64)


READER = Reader("tdms", lambda head: head.start.startswith(b"TDSm"), open_tdms)
