"""Messages on an alarm: a POST of JSON to a webhook, or a message to an MQTT topic.

A message that cannot be sent is an answer of its own, a sentence, and loses nothing of the result.
"""

from __future__ import annotations

import asyncio
import base64
import json
import math
import ssl
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, unquote, urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from deltadyn.errors import InputError, extra_module
from deltadyn.history.drift.result import Change, Drift
from deltadyn.streams.transports import MqttAddress
from deltadyn.systems import run_loop

TIMEOUT = 10.0  # s
MAX_REDIRECTS = 5  # addresses that a webhook may send a message on to
SAME_REQUEST = (307, 308)  # redirects that ask for the same method and the same body


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
    """POST a record as JSON; empty where the server took it, else why not.

    A redirect by 307 or 308 is followed with the same body. One by 301, 302 or 303 is a failure:
    clients ask there without a body, and the message would be lost at an address that answers 200.
    """
    body, opener = json_body(record), build_opener(_NoRedirect)
    place = urlsplit(check_webhook(url)).hostname
    try:
        for _ in range(1 + MAX_REDIRECTS):
            try:
                with opener.open(_request(url, body), timeout=timeout):
                    return ""
            except HTTPError as error:
                with error:
                    url = _next_address(url, error)
        problem = f"more than {MAX_REDIRECTS} redirects"
    except (URLError, HTTPException, OSError, ValueError) as error:
        problem = str(error)
    return f"the webhook at {place} did not take the message: {problem}"


class _NoRedirect(HTTPRedirectHandler):
    """Leaves every redirect to `post`: the library's own would ask again without the body."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _request(url: str, body: bytes) -> Request:
    """A POST of JSON; a user and a password in the address go into its head."""
    parts = urlsplit(url)
    head = {"Content-Type": "application/json", "User-Agent": "deltadyn"}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        head["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode('ascii')}"
    open_url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return Request(open_url, data=body, headers=head, method="POST")


def _next_address(url: str, error: HTTPError) -> str:
    """Where a redirect sends a message on to; any other answer is raised."""
    location = error.headers.get("Location")
    if not 300 <= error.code < 400 or not location:
        raise error
    target = urlsplit(urljoin(url, location))
    shown = f"{target.scheme}://{target.netloc.rpartition('@')[2]}{target.path}"[:200]
    if error.code not in SAME_REQUEST:
        problem = f"HTTP {error.code} sends it on to {shown} without its content: give that address"
        raise ValueError(problem)
    if target.scheme != "https" and target.scheme != urlsplit(url).scheme:
        raise ValueError(f"HTTP {error.code} sends it on to {shown}, which is not encrypted")
    return _with_user(urlsplit(url), target)


def _with_user(before: SplitResult, target: SplitResult) -> str:
    """The address of a redirect; user and password stay with the host that they were given for."""
    user, at, _ = before.netloc.rpartition("@")
    host = target.netloc.rpartition("@")[2]
    same = before.hostname == target.hostname
    return target._replace(netloc=f"{user}{at}{host}" if same else host).geturl()


def json_body(record: Any) -> bytes:
    """A record as JSON; a number that is not finite is null."""
    return json.dumps(_finite(record), allow_nan=False).encode()


def _finite(record: Any) -> Any:
    """A record in which None stands for every number that is not finite."""
    if isinstance(record, float):
        return record if math.isfinite(record) else None
    if isinstance(record, dict):
        return {key: _finite(value) for key, value in record.items()}
    return [_finite(item) for item in record] if isinstance(record, list | tuple) else record


def publish(address: str, record: Any, timeout: float = TIMEOUT) -> str:
    """Send a record as JSON to an MQTT topic, at least once; empty where the broker took it."""
    place = check_mqtt(address)
    library = extra_module("aiomqtt", "a message over MQTT", "mqtt")
    body = json_body(record)
    try:
        run_loop(asyncio.wait_for(_publish(library, place, body, timeout), timeout))
    except (library.MqttError, OSError, TimeoutError, ssl.SSLError) as error:
        why = str(error) or "no answer"
        return f"the broker at {place} did not take the message: {why}"
    return ""


async def _publish(library: Any, place: MqttAddress, body: bytes, timeout: float) -> None:
    client = library.Client(
        place.host,
        place.port,
        username=place.username,
        password=place.password,
        tls_params=library.TLSParameters() if place.tls else None,
        timeout=timeout,
    )
    async with client:
        await client.publish(place.topic, body, qos=1)
