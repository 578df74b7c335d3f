"""Batches from a TwinCAT PLC over ADS, with reconnection.

A PLC has no queue of messages: it tells values of its variables. Two ways lead to samples. Symbols
of the quantities (q, tau and what else there is) are told at every cycle by device notifications.
Each has the PLC's own time, in steps of 100 ns, and values of one cycle have one time: those with
equal times are a sample, and nothing is taken for what did not come. Or one symbol holds a packed
batch, as a node of OPC UA does, and is told when it changes.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import DeltadynError, InputError, extra_module
from deltadyn.streams.live import Backoff, Broken, Connection, Dropped, Reset, persistent
from deltadyn.streams.packing import (
    HAS_HOLDING,
    HAS_QD,
    HAS_QDD,
    HEADER,
    MAGIC,
    SEQUENCES,
    VERSION,
)
from deltadyn.streams.transports import checked_limit

FORM = "ads://AMSNETID:PORT/q=SYMBOL,tau=SYMBOL or ads://AMSNETID:PORT/SYMBOL of packed batches"
FIELDS = ("q", "qd", "qdd", "tau", "holding")  # in the order of a packed row
NUMBERS = {"LREAL": "<f8", "REAL": "<f4"}
BYTES = {"BYTE": "u1", "USINT": "u1"}
ROUTER = 48898  # TCP port of an AMS router
SYSTEM = 10_000  # AMS port of TwinCAT's system service
RUN, CONFIG = 5, 15
STATES = {1: "IDLE", 2: "RESET", 3: "INIT", 4: "START", 6: "STOP", 11: "ERROR", 13: "SUSPEND"}
STATES |= {CONFIG: "CONFIG", 16: "RECONFIG"}
TIMEOUT = 2.0  # s, of an answer
PARTING = 0.2  # s, of an answer to the end of a notification
PERIOD = 0.02  # s between looks at what came, and what the PLC may collect
WATCH = 1.0  # s without a value after which the PLC is asked whether it runs
WAITING = 100_000  # values that may wait here; of more the older half is dropped
APART = 256  # times for which not all symbols came, before that is an error
FIRST = 5  # samples that tell the sample time
SECOND = 10_000_000  # ticks of 100 ns
DAY = 86_400 * SECOND
NO_PORT, NO_MACHINE, NO_SYMBOL = 6, 7, 1808  # codes of ADS
#: Functions that were given to the library. pyads forgets one as soon as its notification ends, but
#: a thread of the library may be about to call it: they stay until very many others came.
KEPT: deque[Any] = deque(maxlen=10_000)


@dataclass(frozen=True)
class AdsAddress:
    """A PLC and its symbols: `columns` by field, or `batches`, the one with packed batches.

    A field has one symbol with an array, or several that follow each other. `ip` is that of the
    PLC's router, `cycle` (ms) how often values are asked for.
    """

    net_id: str
    port: int
    ip: str
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    batches: str | None = None
    cycle: float = 1.0

    @classmethod
    def parse(cls, url: str) -> AdsAddress:
        """The address in ads://5.12.82.20.1.1:851/q=GVL.q,tau=GVL.tau?ip=10.0.0.5&cycle_ms=0.5."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise InputError("address", url, FORM) from None
        if parts.scheme != "ads" or parts.username is not None or parts.fragment:
            raise InputError("address", url, FORM)
        net_id = parts.hostname or ""
        if not re.fullmatch(r"\d{1,3}(\.\d{1,3}){5}", net_id) or max(_numbers(net_id)) > 255:
            raise InputError("AMS Net ID", net_id, "six numbers from 0 to 255, as 5.12.82.20.1.1")
        if not port:
            raise InputError("AMS port", port, "1 to 65535; 851 is the first PLC of TwinCAT 3")
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        unknown = sorted(set(options) - {"ip", "cycle_ms"})
        if unknown:
            raise InputError("option of the address", unknown[0], "ip or cycle_ms")
        columns, batches = _symbols(unquote(parts.path.removeprefix("/")))
        ip = options.get("ip") or ".".join(net_id.split(".")[:4])
        return cls(net_id, port, ip, columns, batches, _cycle(options.get("cycle_ms", "1")))

    @property
    def symbols(self) -> list[tuple[str, str]]:
        """Field and symbol of every notification of values."""
        if self.batches is not None:
            return [("batches", self.batches)]
        return [(name, symbol) for name, symbols in self.columns for symbol in symbols]

    def __str__(self) -> str:
        path = self.batches or ",".join(f"{name}={'+'.join(own)}" for name, own in self.columns)
        return f"ads://{self.net_id}:{self.port}/{path}"


def _numbers(net_id: str) -> list[int]:
    return [int(x) for x in net_id.split(".")]


def _symbols(path: str) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], str | None]:
    """The symbols of an address by field, in the order of `FIELDS`, or the one of batches."""
    if not path:
        raise InputError("symbols", path, FORM)
    if "=" not in path:
        return (), path
    given: dict[str, tuple[str, ...]] = {}
    for part in path.split(","):
        name, _, symbols = part.partition("=")
        own = tuple(symbol.strip() for symbol in symbols.split("+"))
        if name not in FIELDS or name in given or not all(own):
            raise InputError("symbols", part, f"{', '.join(FIELDS)}, each once, as q=GVL.q")
        given[name] = own
    for name in ("q", "tau", *(("qd",) if "qdd" in given else ())):
        if name not in given:
            raise InputError("symbols", path, f"one for {name}, as {name}=GVL.{name}")
    return tuple((name, given[name]) for name in FIELDS if name in given), None


def _cycle(text: str) -> float:
    try:
        cycle = float(text)
    except ValueError:
        cycle = 0.0
    if not 0.01 <= cycle <= 1000.0:
        raise InputError("cycle_ms", text, "from 0.01 to 1000 ms")
    return cycle


_Handles = list[tuple[int, int]]


class AdsStream:
    """Samples of a PLC's symbols, or packed batches of one; `address` is an ADS address.

    Times are seconds since 00:00 UTC of the day on which the first sample was taken, by the PLC's
    clock. The sample time is that of the stamps, so the PLC's own. With `reset`, a BOOL symbol,
    each change to true is a `Reset`; what it is when the connection comes is none. After `limit`
    seconds without a connection `items` raises a GaveUpError (None: never).
    """

    def __init__(
        self,
        address: str | AdsAddress,
        *,
        reset: str | None = None,
        backoff: Backoff | None = None,
        limit: float | None = None,
    ) -> None:
        self.limit = checked_limit(limit)
        self.address = AdsAddress.parse(address) if isinstance(address, str) else address
        self.reset = reset
        self.backoff = backoff or Backoff()
        self._library = _library()
        self._clock = _Clock()
        # one thread for all calls of the library, which block: a connection is closed before the
        # next one is opened, also where a call was given up
        self._worker = ThreadPoolExecutor(1, "ads")

    def __str__(self) -> str:
        return str(self.address)

    def items(self) -> AsyncGenerator[Any, None]:
        """Messages, resets and changes of the connection, without end."""
        errors = (self._library.ADSError, OSError, asyncio.TimeoutError, InputError)
        return persistent(self._session, errors, self.backoff, self.limit)

    async def _session(self) -> AsyncIterator[object]:
        address = self.address
        await self._find_router()
        plc = self._library.Connection(address.net_id, address.port, address.ip)
        inlet, handles = _Inlet(), _Handles()
        try:
            columns = await self._call(self._begin, plc, inlet, handles)
            made = _Batches() if address.batches is not None else _Rows(columns, self._clock)
            yield Connection(True, str(self))
            last, armed = time.monotonic(), False
            while True:
                await asyncio.sleep(PERIOD)
                values, dropped = inlet.take()
                if dropped:
                    yield Dropped(dropped)
                if values:
                    last = time.monotonic()
                elif time.monotonic() - last > WATCH:
                    await self._call(self._check_runs, plc)
                    last = time.monotonic()
                own = [value for value in values if value.column is not None]
                for value in values:
                    if value.column is None:  # the reset's
                        if armed and any(value.data):
                            yield Reset()
                        armed = True
                for item in made.take(own):
                    yield item
        finally:
            inlet.close()
            self._worker.submit(self._end, plc, handles)

    async def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._worker, function, *arguments)

    async def _find_router(self) -> None:
        """Look whether a router answers: the library would wait for minutes, or say a number.

        On Windows the library asks TwinCAT's own router, which knows the way.
        """
        if sys.platform == "win32":
            return
        place = f"{self.address.ip}:{ROUTER}"
        try:
            async with asyncio.timeout(TIMEOUT):
                _, writer = await asyncio.open_connection(self.address.ip, ROUTER)
        except TimeoutError:
            raise ConnectionError(
                f"no AMS router answers at {place} within {TIMEOUT:g} s"
            ) from None
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise ConnectionError(f"no AMS router at {place}: {reason}") from None
        writer.close()

    def _begin(self, plc: Any, inlet: _Inlet, handles: _Handles) -> list[_Column]:
        """Connect, look at state and symbols, and ask for notifications."""
        ads, address = self._library, self.address
        try:
            plc.open()
        except ads.ADSError as error:
            where = f"{address.net_id} at {address.ip}"
            raise ConnectionError(f"no route to {where}: {_plain(error)}") from error
        plc.set_timeout(int(TIMEOUT * 1e3))
        self._check_runs(plc)
        columns = [self._column(plc, name, symbol) for name, symbol in address.symbols]
        if address.batches is None:
            _check_axes(columns)
        mode = ads.ADSTRANS_SERVERCYCLE if address.batches is None else ads.ADSTRANS_SERVERONCHA
        wanted: list[tuple[int | None, _Column, int]] = [
            (number, column, mode) for number, column in enumerate(columns)
        ]
        if self.reset is not None:
            own = self._column(plc, "reset", self.reset)
            wanted.append((None, own, ads.ADSTRANS_SERVERONCHA))
        for number, column, how in wanted:
            attributes = ads.NotificationAttrib(column.size, how, PERIOD * 1e3, address.cycle)
            call = inlet.callback(number)
            handle = plc.add_device_notification(column.place, attributes, call)
            handles.append(handle)
            KEPT.append(ads.pyads_ex.callback_store.get((plc._adr, handle[0])))
        return columns

    def _end(self, plc: Any, handles: _Handles) -> None:
        """Close the connection, notifications first.

        The library of pyads 3.6 for Linux ends the program where a route goes before them. A PLC
        that is away is not waited for.
        """
        ads = self._library
        if handles:
            plc.set_timeout(int(PARTING * 1e3))
        for handle in handles:
            with suppress(ads.ADSError):
                plc.del_device_notification(*handle)
        with suppress(ads.ADSError):
            plc.close()

    def _check_runs(self, plc: Any) -> None:
        """Refuse a PLC that does not run: its notifications would be of values that stand still."""
        ads, address = self._library, self.address
        place = f"{address.net_id}:{address.port}"
        try:
            state = plc.read_state()[0]
        except ads.ADSError as error:
            code = getattr(error, "err_code", None)
            if code == NO_PORT:
                raise ConnectionError(self._no_program()) from error
            if code == NO_MACHINE:
                raise ConnectionError(
                    f"{place} is not known to the router: add a route between the PLC and this "
                    f"machine ({error})"
                ) from error
            raise ConnectionError(f"{place} does not tell its state: {_plain(error)}") from error
        if state != RUN:
            said = STATES.get(state, str(state))
            raise ConnectionError(f"the PLC at {place} is in {said}, not in RUN")

    def _no_program(self) -> str:
        """Why there is nothing at the PLC's port: TwinCAT in CONFIG mode has no PLC."""
        address, ads = self.address, self._library
        system = ads.Connection(address.net_id, SYSTEM, address.ip)
        try:
            system.open()
            state = system.read_state()[0]
        except ads.ADSError:
            state = None
        finally:
            system.close()
        if state == CONFIG:
            return f"TwinCAT at {address.net_id} is in CONFIG mode: set it to RUN"
        return f"no PLC program at AMS port {address.port} of {address.net_id}"

    def _column(self, plc: Any, name: str, symbol: str) -> _Column:
        """What a symbol is, by the PLC."""
        ads = self._library
        try:
            entry = plc.read_write(
                ads.constants.ADSIGRP_SYM_INFOBYNAMEEX,
                0,
                ads.structs.SAdsSymbolEntry,
                symbol,
                ads.PLCTYPE_STRING,
            )
        except ads.ADSError as error:
            if getattr(error, "err_code", None) == NO_SYMBOL:
                where = f"{self.address.net_id}:{self.address.port}"
                allowed = "a symbol of the PLC, with its path, as GVL.q or MAIN.q"
                raise InputError(f"symbol for {name}", symbol, allowed, where=where) from error
            raise ConnectionError(f"{symbol} of {self.address}: {_plain(error)}") from error
        return _column_of(name, symbol, entry)


def _library() -> Any:
    try:
        return extra_module("pyads", "a stream over ADS", "ads")
    except OSError as error:  # pyads brings the library of ADS along, but not for Windows
        raise DeltadynError(
            f"a stream over ADS needs TwinCAT's TcAdsDll.dll beside pyads: {error}"
        ) from error


def _plain(error: Exception) -> str:
    return str(error).removeprefix("ADSError: ").strip().rstrip(".")


@dataclass(frozen=True)
class _Column:
    """A symbol: its field, `count` numbers of `kind` (a NumPy type), `size` bytes, its place."""

    field: str
    symbol: str
    kind: str
    count: int
    size: int
    place: tuple[int, int]


def _column_of(name: str, symbol: str, entry: Any) -> _Column:
    """Refuses a symbol of another type or size."""
    text = entry.symbol_type.strip("\0 ").upper()
    found = re.fullmatch(r"(?:ARRAY *\[ *(-?\d+) *\.\. *(-?\d+) *\] *OF +)?(\w+)", text)
    count = 1
    if found is not None and found[1] is not None:
        count = int(found[2]) - int(found[1]) + 1
    base = "" if found is None else found[3]
    kinds, allowed, counts = NUMBERS, "LREAL or REAL, or an ARRAY of up to 4", range(1, 5)
    if name in ("holding", "reset"):
        kinds, allowed, counts = {"BOOL": "u1"}, "a BOOL", range(1, 2)
    elif name == "batches":
        kinds, allowed, counts = BYTES, "an ARRAY OF BYTE or USINT", range(2, 1 << 31)
    if base not in kinds or count not in counts:
        shown = entry.symbol_type.strip("\0 ")
        raise InputError(f"type of {symbol}, for {name},", shown, allowed)
    kind = kinds[base]
    size = count * np.dtype(kind).itemsize
    if entry.size != size:
        raise InputError(f"size of {symbol}", entry.size, f"{size} bytes, of {text}")
    return _Column(name, symbol, kind, count, size, (entry.iGroup, entry.iOffs))


def _check_axes(columns: Iterable[_Column]) -> None:
    """Refuse quantities of another number of axes than q has."""
    axes: dict[str, int] = {}
    for column in columns:
        axes[column.field] = axes.get(column.field, 0) + column.count
    if axes["q"] not in (2, 3, 4):
        raise InputError("numbers of q", axes["q"], "2, 3 or 4, one per axis")
    for name in ("qd", "qdd", "tau"):
        if axes.get(name, axes["q"]) != axes["q"]:
            raise InputError(f"numbers of {name}", axes[name], f"{axes['q']}, as q has")


@dataclass(frozen=True)
class _Value:
    """A notification: the number of its column (None: the reset), FILETIME and bytes."""

    column: int | None
    stamp: int
    data: bytes


class _Inlet:
    """Values from the library's thread, in their order; of too many the older half is dropped."""

    def __init__(self) -> None:
        self._values: deque[_Value] = deque()
        self._lock = threading.Lock()
        self._dropped = 0
        self._open = True

    def callback(self, column: int | None) -> Callable[[Any, Any], None]:
        """What the library calls for each notification of a column."""

        def take(notification: Any, _: Any) -> None:
            head = notification.contents
            place = ctypes.addressof(head) + type(head).data.offset
            data = ctypes.string_at(place, head.cbSampleSize)
            self.put(_Value(column, int(head.nTimeStamp), data))

        return take

    def put(self, value: _Value) -> None:
        """Add a value; never raises."""
        with self._lock:
            if not self._open:
                return
            if len(self._values) >= WAITING:
                for _ in range(WAITING // 2):
                    self._values.popleft()
                self._dropped += WAITING // 2
            self._values.append(value)

    def take(self) -> tuple[list[_Value], int]:
        """What came since the last call, and how much of it was dropped."""
        with self._lock:
            values, dropped = list(self._values), self._dropped
            self._values.clear()
            self._dropped = 0
        return values, dropped

    def close(self) -> None:
        """Take nothing more."""
        with self._lock:
            self._open = False
            self._values.clear()


class _Batches:
    """Packed batches of one symbol; an array of zeros that is there already is none."""

    def __init__(self) -> None:
        self._first = True

    def take(self, values: list[_Value]) -> Iterable[object]:
        """The messages of values."""
        for value in values:
            first, self._first = self._first, False
            if any(value.data) or not first:
                yield value.data


@dataclass
class _Clock:
    """What outlives a connection: the day that times count from, and the number of messages."""

    origin: int | None = None
    sequence: int = 0

    def seconds(self, stamp: int) -> float:
        """Seconds since 00:00 UTC of the first sample's day: exact to 100 ns for years."""
        if self.origin is None:
            self.origin = stamp - stamp % DAY
        return (stamp - self.origin) / SECOND

    def number(self) -> int:
        """The number of the next message."""
        number, self.sequence = self.sequence, (self.sequence + 1) % SEQUENCES
        return number


@dataclass
class _Rows:
    """Samples of values with equal times, packed as messages of even steps."""

    columns: list[_Column]
    clock: _Clock
    pending: dict[int, dict[int, bytes]] = field(default_factory=dict)
    rows: list[tuple[int, list[bytes]]] = field(default_factory=list)
    step: int = 0  # ticks of 100 ns
    begun: bool = False

    def take(self, values: list[_Value]) -> Iterable[object]:
        """The messages of values, and what is no sample."""
        for value in values:
            yield from self._add(value)
        if len(self.rows) >= (FIRST if not self.step else 1):
            yield from self._messages()

    def _add(self, value: _Value) -> Iterable[Broken]:
        assert value.column is not None
        column = self.columns[value.column]
        if len(value.data) != column.size:
            text = f"{column.symbol} came with {len(value.data)} bytes; allowed: {column.size}"
            yield Broken(text)
            return
        parts = self.pending.setdefault(value.stamp, {})
        if value.column in parts:
            yield Broken(f"{column.symbol} came twice for one time: the second is not used")
            return
        parts[value.column] = value.data
        if len(parts) < len(self.columns):
            if len(self.pending) > APART:
                names = ", ".join(column.symbol for column in self.columns)
                allowed = "the same: symbols of one task, written in one cycle"
                raise InputError(f"times of {names}", "different", allowed)
            return
        del self.pending[value.stamp]
        self.rows.append((value.stamp, [parts[i] for i in range(len(self.columns))]))
        for stamp in [stamp for stamp in self.pending if stamp < value.stamp]:
            missing = [c.symbol for i, c in enumerate(self.columns) if i not in self.pending[stamp]]
            del self.pending[stamp]
            if self.begun:  # what comes before the first sample is the beginning of a subscription
                yield Broken(f"{', '.join(missing)} did not come for one time: no sample")
        self.begun = True

    def _messages(self) -> Iterable[bytes]:
        """Packed batches of rows at even steps; any other step begins the next batch."""
        stamps = np.array([stamp for stamp, _ in self.rows], np.int64)
        steps = np.diff(stamps)
        ahead = steps[steps > 0]
        if len(ahead) and (not self.step or len(ahead) >= FIRST):
            self.step = int(np.median(ahead))
        if not self.step:  # no two times in order yet
            self.rows.clear()
            return
        begin = 0
        for end in range(1, len(stamps) + 1):
            even = (
                end < len(stamps)
                and abs(stamps[end] - stamps[begin] - (end - begin) * self.step) < 0.5 * self.step
            )
            if not even:
                yield self._packed(self.rows[begin:end])
                begin = end
        self.rows.clear()

    def _packed(self, rows: list[tuple[int, list[bytes]]]) -> bytes:
        values: list[FloatArray] = []
        for number, column in enumerate(self.columns):
            data = b"".join(parts[number] for _, parts in rows)
            values.append(np.frombuffer(data, column.kind).reshape(-1, column.count).astype(float))
        given = {column.field for column in self.columns}
        flags = sum(
            bit
            for name, bit in (("qd", HAS_QD), ("qdd", HAS_QDD), ("holding", HAS_HOLDING))
            if name in given
        )
        axes = sum(column.count for column in self.columns if column.field == "q")
        t0, step = self.clock.seconds(rows[0][0]), self.step / SECOND
        head = HEADER.pack(MAGIC, VERSION, axes, flags, 0, self.clock.number(), len(rows), t0, step)
        return head + np.concatenate(values, axis=1).astype("<f8").tobytes()
