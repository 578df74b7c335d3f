"""Batches from an MQTT broker or an OPC UA server, with reconnection.

A server has one ByteString node for them, and not one node per quantity: values of different nodes
arrive at different times, and a subscription cannot follow single samples at 2 kHz. A value is a
whole batch, the server's queue keeps those between two publications, and the number in it tells
what is missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from deltadyn.errors import InputError, extra_module
from deltadyn.streams.live import Backoff, Connection, Dropped, Reset, persistent

if TYPE_CHECKING:
    import aiomqtt


# Batches from an MQTT broker, with reconnection; results go back to it where asked.


PORTS = {"mqtt": 1883, "mqtts": 8883}
FORM = "mqtt://[user[:password]@]host[:port]/topic, or mqtts:// with TLS"
QUEUE = 10_000  # messages that may wait here, and their bytes; of more the older half is dropped
QUEUE_BYTES = 64 << 20
TIMEOUT = 5.0  # s, of an answer of the broker
KEEPALIVE = 10  # s after which a silent broker is asked whether it is there


@dataclass(frozen=True)
class MqttAddress:
    """A broker and a topic on it."""

    host: str
    port: int
    topic: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: bool = False

    @classmethod
    def parse(cls, url: str) -> MqttAddress:
        """The address in mqtt://user:password@host:port/topic; user, port are optional."""
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            raise InputError("port", _shown(url), "0 to 65535") from None
        topic = unquote(parts.path.removeprefix("/"))
        if parts.scheme not in PORTS or not parts.hostname or parts.query or parts.fragment:
            raise InputError("address", _shown(url), FORM)
        if not topic or any(mark in topic for mark in "+#\0"):
            raise InputError("topic", topic, "one topic, without + and #: a stream is of one robot")
        return cls(
            parts.hostname,
            PORTS[parts.scheme] if port is None else port,
            topic,
            None if parts.username is None else unquote(parts.username),
            None if parts.password is None else unquote(parts.password),
            parts.scheme == "mqtts",
        )

    def __str__(self) -> str:
        """The address without user and password."""
        return f"mqtt{'s' if self.tls else ''}://{self.host}:{self.port}/{self.topic}"


class Inbox(asyncio.Queue[Any]):
    """Messages that wait, at most `maxsize` and `QUEUE_BYTES`; of more the older half is dropped.

    Half of them, and not one: what is left then runs on without a gap for a while. `dropped` counts
    them until `take_dropped`.
    """

    dropped = waiting = 0  # messages; bytes

    def put_nowait(self, item: Any) -> None:
        """Add a message; never raises."""
        self.waiting += _size(item)
        if self.full() or (self.waiting > QUEUE_BYTES and not self.empty()):
            for _ in range((self.qsize() + 1) // 2):
                self.get_nowait()
                self.dropped += 1
        super().put_nowait(item)

    def _get(self) -> Any:
        item = super()._get()
        self.waiting -= _size(item)
        return item

    def take_dropped(self) -> list[Dropped]:
        """What was dropped since the last call."""
        count, self.dropped = self.dropped, 0
        return [Dropped(count)] if count else []


def _size(item: Any) -> int:
    """Bytes of a message, a value or something small."""
    content = getattr(item, "payload", item)
    return len(content) if isinstance(content, bytes | bytearray | str) else 0


class MqttStream:
    """Messages of a topic; `publish` sends to `<topic>/<results>`.

    With `resets` a message of any content on `<topic>/<resets>` is a `Reset`; one that the broker
    retained is not: it would reset anew at each connection.

    The subscription has quality of service 1, so the sender's choice between 0 and 1 holds. What
    is published while the connection is down is lost and shows as a gap: late samples are of no
    use to a live estimate. After `limit` seconds without a connection `items` raises a GaveUpError
    (None: never).
    """

    def __init__(
        self,
        address: str | MqttAddress,
        *,
        results: str | None = "payload",
        resets: str | None = None,
        backoff: Backoff | None = None,
        limit: float | None = None,
    ) -> None:
        self.limit = checked_limit(limit)
        self.address = MqttAddress.parse(address) if isinstance(address, str) else address
        self.results, self.resets = results, resets
        self.backoff = backoff or Backoff()
        self._library = extra_module("aiomqtt", "a stream over MQTT", "mqtt")
        self._client: aiomqtt.Client | None = None
        self.unpublished = 0

    def items(self) -> AsyncGenerator[Any, None]:
        """Messages, resets and changes of the connection, without end."""
        errors = (self._library.MqttError, OSError)
        return persistent(self._session, errors, self.backoff, self.limit)

    async def publish(self, text: str) -> bool:
        """Send a text to `<topic>/<results>`; False, and counted, where the broker is away."""
        try:
            if self._client is None:
                raise self._library.MqttError("not connected")
            await self._client.publish(f"{self.address.topic}/{self.results}", text, qos=0)
        except (self._library.MqttError, OSError):
            self.unpublished += 1
            return False
        return True

    async def _session(self) -> AsyncIterator[bytes | Connection | Dropped | Reset]:
        address = self.address
        reset = None if self.resets is None else f"{address.topic}/{self.resets}"
        tls = self._library.TLSParameters() if address.tls else None
        client = self._library.Client(
            address.host,
            address.port,
            username=address.username,
            password=address.password,
            tls_params=tls,
            timeout=TIMEOUT,
            keepalive=KEEPALIVE,
            max_queued_incoming_messages=QUEUE,
            queue_type=Inbox,
        )
        inbox: Inbox = client._queue
        async with client:
            await client.subscribe(address.topic, qos=1)
            if reset is not None:
                await client.subscribe(reset, qos=1)
            self._client = client
            try:
                yield Connection(True, str(address))
                async for message in client.messages:
                    for lost in inbox.take_dropped():
                        yield lost
                    if reset is None or str(message.topic) != reset:
                        yield bytes(message.payload or b"")
                    elif not message.retain:
                        yield Reset()
            finally:
                self._client = None


def checked_limit(limit: float | None) -> float | None:
    """Seconds without a connection after which a stream gives up; None: never."""
    if limit is not None and not limit >= 0:
        raise InputError("limit of reconnection", limit, "at least 0 s, or None for no limit")
    return limit


def _shown(url: str) -> str:
    """An address without what stands before @, which may be a password."""
    scheme, mark, rest = url.rpartition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"


PERIOD = 20.0  # ms between publications
OPCUA_QUEUE = 1000  # values that may wait at the server, which drops the oldest, and here
WATCH = 1.0  # s without a value after which the server is asked whether it is there
OPCUA_TIMEOUT = 4.0  # s, of an answer


class OpcuaStream:
    """Values of the node `node`, such as "ns=2;s=Robot.Batches", a ByteString or a String.

    A ByteString holds a packed batch, a String a JSON message. The value that a server has when
    the subscription begins counts, unless it is empty. With `reset`, a Boolean node, each change
    to true is a `Reset`; what it is when the subscription begins is none. After `limit` seconds
    without a connection `items` raises a GaveUpError (None: never).
    """

    def __init__(
        self,
        url: str,
        node: str,
        *,
        reset: str | None = None,
        backoff: Backoff | None = None,
        limit: float | None = None,
    ) -> None:
        self.limit = checked_limit(limit)
        try:
            parts = urlsplit(url)
            sound = parts.scheme == "opc.tcp" and parts.hostname and parts.port is not None
        except ValueError:
            sound = False
        if not sound:
            raise InputError("address", _place(url), "opc.tcp://host:port[/path]")
        self._library = extra_module("asyncua", "a stream over OPC UA", "opcua")
        self.node = self._node("node", node, "ns=2;s=Robot.Batches")
        self.reset = None if reset is None else self._node("reset node", reset, "ns=2;s=Reset")
        self.url = url
        self.backoff = backoff or Backoff()

    def _node(self, quantity: str, name: str, example: str) -> Any:
        ua = self._library.ua
        try:
            return ua.NodeId.from_string(name)
        except (ua.UaError, ValueError):
            raise InputError(quantity, name, f"a node id such as {example}") from None

    def __str__(self) -> str:
        """Address and node, without user and password."""
        return f"opc.tcp://{_place(self.url)}, node {self.node.to_string()}"

    def items(self) -> AsyncGenerator[Any, None]:
        """Values, resets and changes of the connection, without end."""
        errors = (self._library.ua.UaError, OSError, asyncio.TimeoutError, InputError)
        return persistent(self._session, errors, self.backoff, self.limit)

    async def _session(self) -> AsyncIterator[object]:
        inbox = _Subscriber(self.reset)
        client = self._library.Client(self.url, timeout=OPCUA_TIMEOUT)
        async with client:
            subscription = await client.create_subscription(PERIOD, inbox)
            nodes = [client.get_node(self.node)]
            if self.reset is not None:
                nodes.append(client.get_node(self.reset))
                value = await nodes[1].read_value()
                if not isinstance(value, bool):
                    raise InputError("reset node", value, "a Boolean", where=str(nodes[1]))
            for node in nodes:  # one by one: of a list, wrong nodes raise nothing
                await subscription.subscribe_data_change(
                    node, queuesize=OPCUA_QUEUE, sampling_interval=0.0
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
                for lost in inbox.values.take_dropped():
                    yield lost
                if isinstance(value, Reset):
                    yield value
                    continue
                if value or not first:
                    yield value
                first = False


class _Subscriber:
    """Takes values from the subscription, in their order; true of the reset node is a Reset."""

    def __init__(self, reset: Any) -> None:
        self.values = Inbox(OPCUA_QUEUE)
        self._reset = reset
        self._armed = False  # the first value of the reset node is what it was before

    def datachange_notification(self, node: Any, value: object, data: Any) -> None:
        """Called for every value of a node."""
        if self._reset is not None and node.nodeid == self._reset:
            armed, self._armed = self._armed, True
            if not armed or value is not True:
                return
            value = Reset()
        self.values.put_nowait(value)


def _place(url: str) -> str:
    """An address without scheme, user and password."""
    return url.rpartition("@")[2].removeprefix("opc.tcp://")
