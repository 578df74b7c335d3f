"""The server: this machine only, its own pages only, a message where it cannot start."""

import asyncio
import builtins
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner
from tests.waits import PATIENCE

import deltadyn as dd
from deltadyn.commands.studio import studio
from deltadyn.errors import InputError
from deltadyn.studio.access import LOOPBACK, free_port
from deltadyn.studio.server import Studio

viser = pytest.importorskip("viser", reason="the extra deltadyn[studio] is not installed")

START = (
    "from deltadyn.commands.studio import studio; "
    "studio(['example-delta', '--port', '0', '--no-browser', *{more!r}])"
)


@pytest.fixture(scope="module")
def running() -> Iterator[Studio]:
    server = Studio(dd.load_robot("example-delta"), 0, 5)
    yield server
    server.stop()


def test_it_listens_on_this_machine_only(running: Studio) -> None:
    with urllib.request.urlopen(running.address, timeout=PATIENCE) as page:
        assert page.status == 200
    listening = running._server._websock_server._host
    assert listening == LOOPBACK == "127.0.0.1"
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    for address in others - {"127.0.0.1", "::1"}:
        if str(address).startswith("127."):
            continue
        with pytest.raises(OSError, match=r".+"):
            socket.create_connection((str(address), running.port), timeout=1).close()


def visit(running: Studio, origin: str, cookie: str = "") -> str:
    """What a page of this origin gets: a window, or the status with which it is sent away."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import ConnectionClosed, InvalidStatus
    from websockets.typing import Origin, Subprotocol

    async def come() -> str:
        while len(running._windows):  # those before are going
            await asyncio.sleep(0.05)
        url = f"ws://127.0.0.1:{running.port}"
        async with connect(
            url,
            subprotocols=[Subprotocol(f"viser-v{viser.__version__}")],
            origin=Origin(origin),
            additional_headers={"Cookie": cookie} if cookie else None,
            max_size=None,
        ) as page:
            await page.send(_camera())  # viser tells of a client when its camera is known
            until = time.monotonic() + PATIENCE
            while time.monotonic() < until:
                try:
                    await asyncio.wait_for(page.recv(), 0.2)
                except TimeoutError:
                    pass
                except ConnectionClosed as closed:
                    return f"closed {closed.rcvd.code if closed.rcvd else None}"
                if running.windows:
                    return "window"
        return "nothing"

    try:
        return asyncio.run(come())
    except InvalidStatus as refused:
        return f"status {refused.response.status_code}"


def _camera() -> bytes:
    """What a browser says first: where its camera is."""
    import msgspec

    return msgspec.msgpack.encode(
        {
            "type": "ViewerCameraMessage",
            "wxyz": [1.0, 0.0, 0.0, 0.0],
            "position": [1.0, 1.0, 1.0],
            "fov": 1.0,
            "near": 0.01,
            "far": 100.0,
            "image_height": 100,
            "image_width": 100,
            "look_at": [0.0, 0.0, 0.0],
            "up_direction": [0.0, 0.0, 1.0],
        }
    )


def test_pages_of_other_sites_are_refused(
    running: Studio, capsys: pytest.CaptureFixture[str]
) -> None:
    assert visit(running, running.address) == "window"
    assert visit(running, f"http://localhost:{running.port}") == "window"
    clients: list[object] = []
    running._server._websock_server.on_client_connect(clients.append)
    assert visit(running, "https://example.org") == "status 403"
    assert visit(running, f"http://127.0.0.1:{running.port + 1}") == "status 403"
    assert clients == []  # refused by the handshake: viser never knew of them
    assert "was refused" in capsys.readouterr().err


@pytest.fixture(scope="module")
def open_to_all() -> Iterator[Studio]:
    """As in a container: other machines reach it."""
    server = Studio(dd.load_robot("example-delta"), 0, 5, host="0.0.0.0")
    yield server
    server.stop()


def get(url: str, cookie: str = "") -> tuple[int, dict[str, str]]:
    """Status and head of an answer; redirects are not followed."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
    try:
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", path or "/", headers={"Cookie": cookie} if cookie else {})
        answer = connection.getresponse()
        answer.read()
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}
    finally:
        connection.close()


def test_other_machines_need_the_token(open_to_all: Studio) -> None:
    address, port = open_to_all.address, open_to_all.port
    bare = f"http://127.0.0.1:{port}/"
    assert address.startswith(f"{bare}?token=")
    token = address.partition("=")[2]
    assert len(token) >= 32
    assert get(bare)[0] == 403
    assert get(f"{bare}?token=x")[0] == 403
    assert get(bare, "deltadyn-studio=x")[0] == 403
    assert get(bare, '=;"=;a b')[0] == 403
    status, head = get(address)
    assert (status, head["location"]) == (303, "/")  # the token leaves the address line
    cookie = head["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    own = cookie.partition(";")[0]
    assert get(bare, own)[0] == 200
    here = f"http://127.0.0.1:{port}"
    assert visit(open_to_all, here) == "status 403"
    assert visit(open_to_all, "http://example.org", own) == "status 403"
    assert visit(open_to_all, here, own) == "window"
    assert "without encryption" in open_to_all.warning
    assert token not in open_to_all.warning


def test_it_listens_on_all_addresses_where_asked(open_to_all: Studio) -> None:
    """As a port that a container publishes arrives: on another address than the loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; tells which address is ours
        except OSError:
            pytest.skip("this machine has no address but the loopback")
        own = probe.getsockname()[0]
    query = open_to_all.address.partition("?")[2]
    assert get(f"http://{own}:{open_to_all.port}/?{query}")[0] == 303


def test_hosts_that_are_not_ours_are_refused() -> None:
    for host in ("192.0.2.7", "no.such.host.invalid", "a b"):
        with pytest.raises(InputError, match=r"--host is .*an address"):
            Studio(dd.load_robot("example-delta"), 0, 5, host=host)


def test_it_is_never_shared(running: Studio, capsys: pytest.CaptureFixture[str]) -> None:
    assert running._server.request_share_url() is None
    assert "not shared beyond this machine" in capsys.readouterr().err


def test_a_port_in_use_is_said(running: Studio) -> None:
    with pytest.raises(InputError, match=f"--port is {running.port}; allowed: a port that is free"):
        Studio(dd.load_robot("example-delta"), running.port)
    with pytest.raises(InputError, match="--port is 70000"):
        free_port(70000)
    result = CliRunner().invoke(studio, ["example-delta", "--port", str(running.port)])
    assert result.exit_code == 2
    assert "a port that is free" in result.output


def test_wrong_calls_end_with_status_2() -> None:
    for call in (["no-such-robot"], ["example-delta", "--max-upload", "0"]):
        result = CliRunner().invoke(studio, [*call, "--no-browser", "--port", "0"])
        assert result.exit_code == 2
        assert result.output.startswith("deltadyn: ")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == "viser":
            raise ImportError("No module named 'viser'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    result = CliRunner().invoke(studio, ["example-delta", "--no-browser", "--port", "0"])
    assert result.exit_code == 2
    assert "pip install 'deltadyn[studio]'" in result.output


def test_the_help_has_an_example() -> None:
    result = CliRunner().invoke(studio, ["--help"])
    assert result.exit_code == 0
    assert "Example: deltadyn studio" in result.output


def test_ctrl_c_ends_it_with_status_0(tmp_path: Path) -> None:
    # a job in the background ignores SIGINT, and so would its children
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code = heed + START.format(more=["--json"])
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert re.fullmatch(r'\{"address": "http://127\.0\.0\.1:\d+", "port": \d+\}\n', line)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert out == ""
    assert "ended" in err
