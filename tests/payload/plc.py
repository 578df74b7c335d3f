"""A PLC on a loopback address of its own: pyads' test server, with errors and notifications.

The server of pyads answers requests; what a PLC does beside that is added here: an error for what
it does not know, its state, and notifications as packets, so that the library of ADS parses them.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import pytest

pytest.importorskip("pyads", reason="the extra ads is not installed")

from pyads import constants
from pyads.testserver import AdsTestServer, AdvancedHandler, PLCVariable
from pyads.testserver.handler import AmsResponseData

BEGIN = 134237088000000000  # FILETIME of 2026-05-20 00:00 UTC
NO_PORT, NO_SYMBOL = 6, 0x710
SYSTEM = 10_000


class Plc(AdvancedHandler):  # type: ignore[misc]
    """Symbols by name: type in words and value; the state, and who asked for notifications."""

    def __init__(self, symbols: Mapping[str, tuple[str, bytes]], state: int = 5) -> None:
        super().__init__()
        self.state, self.system = state, state
        self.handles: dict[str, int] = {}
        self.asked: dict[str, tuple[int, int]] = {}  # mode and cycle (100 ns)
        self.client: bytes = b""
        self.ports_closed = False
        self.sizes: dict[str, int] = {}  # that are told wrongly
        for name, (kind, value) in symbols.items():
            self.add_variable(PLCVariable(name, value, constants.ADST_VOID, kind))

    def handle_request(self, request: Any) -> AmsResponseData:
        """As the server of pyads, but with the errors of a PLC."""
        head = request.ams_header
        flags = struct.pack("<H", struct.unpack("<H", head.state_flags)[0] | 1)
        command = struct.unpack("<H", head.command_id)[0]
        port = struct.unpack("<H", head.target_port)[0]
        if self.ports_closed and port != SYSTEM:
            return AmsResponseData(flags, struct.pack("<I", NO_PORT), b"")
        if command == constants.ADSCOMMAND_READSTATE:
            state = self.system if port == SYSTEM else self.state
            return AmsResponseData(flags, head.error_code, struct.pack("<IHH", 0, state, 0))
        if command == constants.ADSCOMMAND_ADDDEVICENOTE:
            group, offset, _, mode, _, cycle = struct.unpack("<IIIIII", head.data[:24])
            name = self.get_variable_by_indices(group, offset).name
            handle = 100 + len(self.handles)
            self.handles[name], self.asked[name] = handle, (mode, cycle)
            self.client = head.source_net_id + head.source_port
            self.server = head.target_net_id + head.target_port
            return AmsResponseData(flags, head.error_code, struct.pack("<II", 0, handle))
        if command == constants.ADSCOMMAND_DELDEVICENOTE:
            return AmsResponseData(flags, head.error_code, struct.pack("<I", 0))
        try:
            answer: AmsResponseData = super().handle_request(request)
        except KeyError:
            return AmsResponseData(flags, head.error_code, struct.pack("<II", NO_SYMBOL, 0))
        group = struct.unpack("<I", head.data[:4])[0]
        if self.sizes and group == constants.ADSIGRP_SYM_INFOBYNAMEEX:
            name = head.data[16:].decode().strip("\0")
            size = struct.pack("<I", self.sizes.get(name, 0))
            if name in self.sizes:  # behind result, length, length of the entry, group and offset
                answer = answer._replace(data=answer.data[:20] + size + answer.data[24:])
        return answer


class RunningPlc:
    """A handler behind a server; `notify` tells values with their times (100 ns after BEGIN)."""

    def __init__(self, handler: Plc, ip: str) -> None:
        self.handler = handler
        self.handler.handles.clear()
        self.server = AdsTestServer(handler, ip_address=ip, logging=False)

    def notify(self, rows: list[tuple[int, dict[str, bytes]]]) -> None:
        """One packet with all rows: a time, and values by symbol."""
        stamps = b""
        for ticks, values in rows:
            stamps += struct.pack("<QI", BEGIN + ticks, len(values))
            for name, data in values.items():
                stamps += struct.pack("<II", self.handler.handles[name], len(data)) + data
        data = struct.pack("<II", len(stamps) + 4, len(rows)) + stamps
        head = self.handler.client + self.handler.server
        head += struct.pack("<HHIII", constants.ADSCOMMAND_DEVICENOTE, 4, len(data), 0, 0)
        packet = struct.pack("<HI", 0, len(head) + len(data)) + head + data
        for client in self.server.clients:
            with suppress(OSError):  # one that has gone
                client.client.sendall(packet)


def own_address() -> str:
    """An address of the loopback that nobody else has: the port of ADS is fixed."""
    return "127." + ".".join(str(random.SystemRandom().randint(1, 254)) for _ in range(3))


@contextmanager
def running(handler: Plc, ip: str) -> Iterator[RunningPlc]:
    """A server that is gone afterwards."""
    plc = RunningPlc(handler, ip)
    plc.server.server.listen(5)  # at once: its thread may begin late
    plc.server.start()
    try:
        yield plc
    finally:
        plc.server._run = False  # the thread ends by itself; then the socket is closed
        plc.server.join(5.0)
        plc.server.close()
