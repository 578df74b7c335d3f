"""Messages on an alarm: a POST of JSON to a webhook, or a message to an MQTT topic.

A message that cannot be sent is an answer of its own, a sentence, and loses nothing of the result.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from deltadyn.errors import InputError, extra_module
from deltadyn.history.drift.result import Change, Drift
from deltadyn.streams.transports import MqttAddress
from deltadyn.systems import run_loop

TIMEOUT = 10.0  # s


def message(found: Drift, changes: Sequence[Change]) -> dict[str, Any]:
    """What is sent: the robot, the sentence of its state, and the changes."""
    return {
        "robot": found.robot,
        "serial": found.serial,
        "status": found.status,
        "last_night": found.times[-1].isoformat(),
        "changes": [item.as_dict() for item in changes],
    }


def check_webhook(url: str) -> str:
    """The address of a webhook; what is no http address is refused."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError("--webhook", url.rpartition("@")[2], "http://host/path or https://...")
    return url


def check_mqtt(address: str) -> MqttAddress:
    """The address of a topic; refused where it is none, or where the library is missing."""
    extra_module("aiomqtt", "a message over MQTT", "mqtt")
    return MqttAddress.parse(address)


def post(url: str, record: Any, timeout: float = TIMEOUT) -> str:
    """POST a record as JSON; empty where the server took it, else why not."""
    text = json.dumps(record, allow_nan=False).encode()
    head = {"Content-Type": "application/json", "User-Agent": "deltadyn"}
    place = urlsplit(check_webhook(url)).hostname
    try:
        with urlopen(Request(url, data=text, headers=head, method="POST"), timeout=timeout):
            return ""
    except (URLError, HTTPException, OSError, ValueError) as error:
        return f"the webhook at {place} did not take the message: {error}"


def publish(address: str, record: Any, timeout: float = TIMEOUT) -> str:
    """Send a record as JSON to an MQTT topic, at least once; empty where the broker took it."""
    place = check_mqtt(address)
    library = extra_module("aiomqtt", "a message over MQTT", "mqtt")
    text = json.dumps(record, allow_nan=False)
    try:
        run_loop(asyncio.wait_for(_publish(library, place, text, timeout), timeout))
    except (library.MqttError, OSError, TimeoutError, ssl.SSLError) as error:
        why = str(error) or "no answer"
        return f"the broker at {place} did not take the message: {why}"
    return ""


async def _publish(library: Any, place: MqttAddress, text: str, timeout: float) -> None:
    client = library.Client(
        place.host,
        place.port,
        username=place.username,
        password=place.password,
        tls_params=library.TLSParameters() if place.tls else None,
        timeout=timeout,
    )
    async with client:
        await client.publish(place.topic, text, qos=1)
