"""Messages of alarms against a server and a broker of the machine itself."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.history.drift_cases import history, step
from tests.payload.streams import free_port, running_broker
from tests.waits import PATIENCE

from deltadyn.errors import InputError
from deltadyn.history.drift import Drift, drift
from deltadyn.history.drift.alarms import message, post, publish


@pytest.fixture(scope="module")
def worn() -> Drift:
    return drift(history(60, factors={"Fc2": step(40, 0.38)}))


@contextmanager
def server(status: int = 200) -> Iterator[tuple[str, list[Any]]]:
    """A webhook on the loopback, and what it received: path, type of content, record."""
    received: list[Any] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.path, self.headers["Content-Type"], json.loads(body)))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    served = HTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{served.server_port}", received
    finally:
        served.shutdown()
        served.server_close()
        thread.join(PATIENCE)


def test_a_webhook_gets_the_alarm(worn: Drift) -> None:
    record = message(worn, worn.changes)
    with server() as (url, received):
        assert post(f"{url}/alarm", record) == ""
    ((path, kind, got),) = received
    assert (path, kind) == ("/alarm", "application/json")
    assert got["serial"] == "cell-7"
    assert got["changes"][0]["parameter"] == "Fc2"
    assert got["changes"][0]["words"] == worn.changes[0].words


def test_a_webhook_that_fails_is_said(worn: Drift) -> None:
    with server(status=500) as (url, _):
        assert "127.0.0.1 did not take the message: HTTP Error 500" in post(url, {"a": 1})
    nobody = post(f"http://user:secret@127.0.0.1:{free_port()}/x", {}, timeout=2.0)
    assert "did not take the message" in nobody
    assert "secret" not in nobody


@pytest.mark.parametrize("url", ["ftp://host/x", "file:///etc/passwd", "host/x", ""])
def test_what_is_no_webhook_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="http"):
        post(url, {})


@pytest.mark.full
def test_a_broker_gets_the_alarm(worn: Drift, tmp_path: Path) -> None:
    aiomqtt = pytest.importorskip("aiomqtt")
    with running_broker(tmp_path) as broker:

        async def heard() -> Any:
            async with aiomqtt.Client("127.0.0.1", broker.port) as client:
                await client.subscribe("cell/robot", qos=1)
                sent = asyncio.create_task(
                    asyncio.to_thread(publish, broker.url, message(worn, worn.changes))
                )
                async with asyncio.timeout(PATIENCE):
                    said = await sent
                    got = await anext(aiter(client.messages))
                    return said, json.loads(bytes(got.payload))

        said, got = asyncio.run(heard())
    assert said == ""
    assert got["changes"][0]["words"] == worn.changes[0].words


@pytest.mark.full
def test_a_broker_that_is_away_is_said() -> None:
    pytest.importorskip("aiomqtt")
    said = publish(f"mqtt://user:secret@127.0.0.1:{free_port()}/cell", {}, timeout=2.0)
    assert "did not take the message" in said
    assert "secret" not in said


@contextmanager
def redirecting(status: int, target: str | None = None) -> Iterator[tuple[str, list[Any]]]:
    """A webhook whose path /old is redirected to /new, or to `target`; bodies by path."""
    received: list[Any] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.path, self.headers["Authorization"], json.loads(body)))
            self.send_response(status if self.path == "/old" else 200)
            if self.path == "/old":
                self.send_header("Location", target or "/new")
            self.end_headers()

        def do_GET(self) -> None:  # a page of a log-in answers so, and takes no message
            received.append((self.path, None, None))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    served = HTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{served.server_port}", received
    finally:
        served.shutdown()
        served.server_close()
        thread.join(PATIENCE)


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_is_followed_with_the_same_body(status: int) -> None:
    with redirecting(status) as (url, received):
        address = url.replace("://", "://user:secret@") + "/old"
        assert post(address, {"a": 1}) == ""
    head = "Basic dXNlcjpzZWNyZXQ="
    assert received == [("/old", head, {"a": 1}), ("/new", head, {"a": 1})]


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_drops_the_body_is_a_failure(status: int) -> None:
    with redirecting(status) as (url, received):
        said = post(f"{url}/old", {"a": 1})
        assert f"did not take the message: HTTP {status} sends it on to {url}/new" in said
    assert [path for path, *_ in received] == ["/old"]


def test_redirects_end_and_keep_passwords_to_their_host() -> None:
    with redirecting(308, "/old") as (url, received):
        assert "more than 5 redirects" in post(f"{url}/old", {})
        assert len(received) == 6
    with redirecting(200) as (other, received):
        elsewhere = other.replace("127.0.0.1", "localhost") + "/new"
        with redirecting(307, elsewhere) as (url, _):
            assert post(url.replace("://", "://user:secret@") + "/old", {"a": 1}) == ""
    assert received == [("/new", None, {"a": 1})]


def test_a_number_that_is_not_finite_is_sent_as_null() -> None:
    with server() as (url, received):
        assert post(url, {"a": math.nan, "b": [math.inf, 1.5], "c": {"d": -math.inf}}) == ""
    assert received[0][2] == {"a": None, "b": [None, 1.5], "c": {"d": None}}
