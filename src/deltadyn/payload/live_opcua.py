"""Batches from an OPC UA server: one node whose value is a packed batch, with reconnection.

One ByteString node, and not one node per quantity: values of different nodes arrive at different
times, and a subscription cannot follow single samples at 2 kHz. A value is a whole batch, the
server's queue keeps those between two publications, and the number in it tells what is missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

from deltadyn.errors import InputError
from deltadyn.payload.live import Backoff, persistent
from deltadyn.payload.updates import Connection
from deltadyn.recording.failures import extra_module

PERIOD = 20.0  # ms between publications
QUEUE = 1000  # values that may wait at the server, and here; the oldest is dropped, a gap shows
WATCH = 1.0  # s without a value after which the server is asked whether it is there
TIMEOUT = 4.0  # s, of an answer


class OpcuaStream:
    """Values of the node `node`, such as "ns=2;s=Robot.Batches", a ByteString or a String.

    A ByteString holds a packed batch, a String a JSON message. The value that a server has when
    the subscription begins counts, unless it is empty.
    """

    def __init__(self, url: str, node: str, *, backoff: Backoff | None = None) -> None:
        try:
            parts = urlsplit(url)
            sound = parts.scheme == "opc.tcp" and parts.hostname and parts.port is not None
        except ValueError:
            sound = False
        if not sound:
            raise InputError("address", _place(url), "opc.tcp://host:port[/path]")
        self._library = extra_module("asyncua", "a stream over OPC UA", "opcua")
        ua = self._library.ua
        try:
            self.node = ua.NodeId.from_string(node)
        except (ua.UaError, ValueError):
            raise InputError("node", node, "a node id such as ns=2;s=Robot.Batches") from None
        self.url = url
        self.backoff = backoff or Backoff()

    def __str__(self) -> str:
        """Address and node, without user and password."""
        return f"opc.tcp://{_place(self.url)}, node {self.node.to_string()}"

    def items(self) -> AsyncIterator[object]:
        """Values and changes of the connection, without end."""
        errors = (self._library.ua.UaError, OSError, asyncio.TimeoutError)
        return persistent(self._session, errors, self.backoff)

    async def _session(self) -> AsyncIterator[object]:
        inbox = _Inbox()
        client = self._library.Client(self.url, timeout=TIMEOUT)
        async with client:
            subscription = await client.create_subscription(PERIOD, inbox)
            await subscription.subscribe_data_change(
                client.get_node(self.node), queuesize=QUEUE, sampling_interval=0.0
            )
            yield Connection(True, str(self))
            first = True
            while True:
                try:
                    async with asyncio.timeout(WATCH):
                        value = await inbox.values.get()
                except TimeoutError:
                    await client.nodes.server_state.read_value()  # fails where the server is away
                    continue
                if value or not first:
                    yield value
                first = False


class _Inbox:
    """Takes values from the subscription, in their order."""

    def __init__(self) -> None:
        self.values: asyncio.Queue[object] = asyncio.Queue(QUEUE)

    def datachange_notification(self, node: Any, value: object, data: Any) -> None:
        """Called for every value of the node."""
        if self.values.full():
            self.values.get_nowait()
        self.values.put_nowait(value)


def _place(url: str) -> str:
    """An address without scheme, user and password."""
    return url.rpartition("@")[2].removeprefix("opc.tcp://")
