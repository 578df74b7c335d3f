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
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.waits import PATIENCE

import deltadyn as dd
from deltadyn.commands.studio import studio
from deltadyn.errors import InputError
from deltadyn.studio.server import HOST, Studio, free_port

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
    assert listening == HOST == "127.0.0.1"
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    for address in others - {"127.0.0.1", "::1"}:
        if str(address).startswith("127."):
            continue
        with pytest.raises(OSError, match=r".+"):
            socket.create_connection((str(address), running.port), timeout=1).close()


def visit(running: Studio, origin: str) -> str:
    """What a page of this origin gets: a window, or the code with which it is sent away."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import ConnectionClosed
    from websockets.typing import Origin, Subprotocol

    async def come() -> str:
        while len(running._windows):  # those before are going
            await asyncio.sleep(0.05)
        protocol = Subprotocol(f"viser-v{viser.__version__}")
        url = running.address.replace("http", "ws")
        async with connect(
            url, subprotocols=[protocol], origin=Origin(origin), max_size=None
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

    return asyncio.run(come())


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
    assert visit(running, "https://example.org") == "closed 1008"
    assert visit(running, f"http://127.0.0.1:{running.port + 1}") == "closed 1008"
    assert "was refused" in capsys.readouterr().err


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
