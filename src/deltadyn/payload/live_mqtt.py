"""Batches from an MQTT broker, with reconnection; results go back to it where asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from deltadyn.errors import InputError
from deltadyn.payload.live import Backoff, persistent
from deltadyn.payload.updates import Connection
from deltadyn.recording.failures import extra_module

if TYPE_CHECKING:
    import aiomqtt

PORTS = {"mqtt": 1883, "mqtts": 8883}
FORM = "mqtt://[user[:password]@]host[:port]/topic, or mqtts:// with TLS"
QUEUE = 10_000  # messages that may wait here; later ones are dropped, and counted as a gap
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


class MqttStream:
    """Messages of a topic; `publish` sends to `<topic>/payload`.

    The subscription has quality of service 1, so the sender's choice between 0 and 1 holds. What
    is published while the connection is down is lost and shows as a gap: late samples are of no
    use to a live estimate.
    """

    def __init__(self, address: str | MqttAddress, *, backoff: Backoff | None = None) -> None:
        self.address = MqttAddress.parse(address) if isinstance(address, str) else address
        self.backoff = backoff or Backoff()
        self._library = extra_module("aiomqtt", "a stream over MQTT", "mqtt")
        self._client: aiomqtt.Client | None = None
        self.unpublished = 0

    def items(self) -> AsyncIterator[bytes | Connection]:
        """Messages and changes of the connection, without end."""
        return persistent(self._session, (self._library.MqttError, OSError), self.backoff)

    async def publish(self, text: str) -> bool:
        """Send a text to `<topic>/payload`; False, and counted, where the broker is away."""
        try:
            if self._client is None:
                raise self._library.MqttError("not connected")
            await self._client.publish(f"{self.address.topic}/payload", text, qos=0)
        except (self._library.MqttError, OSError):
            self.unpublished += 1
            return False
        return True

    async def _session(self) -> AsyncIterator[bytes | Connection]:
        address = self.address
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
        )
        async with client:
            await client.subscribe(address.topic, qos=1)
            self._client = client
            try:
                yield Connection(True, str(address))
                async for message in client.messages:
                    yield bytes(message.payload or b"")
            finally:
                self._client = None


def _shown(url: str) -> str:
    """An address without what stands before @, which may be a password."""
    scheme, mark, rest = url.rpartition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"
