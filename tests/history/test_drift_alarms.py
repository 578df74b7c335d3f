"""Messages of alarms against a server and a broker of the machine itself."""

from __future__ import annotations

import asyncio
import json
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


def test_a_broker_that_is_away_is_said() -> None:
    pytest.importorskip("aiomqtt")
    said = publish(f"mqtt://user:secret@127.0.0.1:{free_port()}/cell", {}, timeout=2.0)
    assert "did not take the message" in said
    assert "secret" not in said
