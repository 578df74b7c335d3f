"""Many windows at once: each has its own session, and what goes wrong in one stays in it."""

from __future__ import annotations

import asyncio
import gc
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.markup import EVIL, dangers
from tests.studio.cases import HEAVIER, ROBOT, log_bytes
from tests.waits import PATIENCE

import deltadyn as dd
from deltadyn.errors import DeltadynError
from deltadyn.robot.write import robot_text
from deltadyn.studio import log as log_tab
from deltadyn.studio.log import Job, Tell
from deltadyn.studio.server import MOST_WAITING, Studio, Turns

pytest.importorskip("viser", reason="the extra deltadyn[studio] is not installed")
Client = pytest.importorskip("tests.studio.clients").Client

WINDOWS = 50
LIMIT = 2  # MB


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    server = Studio(dd.load_robot(ROBOT), 0, LIMIT)
    yield server
    server.stop()


@pytest.fixture
def own_temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


class Gate:
    """An identification that waits until it may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened, self.waiting, self._real = threading.Event(), 0, log_tab.identify_log
        monkeypatch.setattr(log_tab, "identify_log", self)

    def __call__(self, *call: Any) -> Any:
        tell: Tell = call[-1]
        tell(0.01, "at the gate")
        self.waiting += 1
        self.opened.wait(PATIENCE)
        return self._real(*call)


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def jobs() -> list[threading.Thread]:
    """Threads of identifications."""
    return [thread for thread in threading.enumerate() if thread.name == "deltadyn-job"]


def test_fifty_windows(
    studio: Studio, own_temp: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    gate = Gate(monkeypatch)
    asyncio.run(fifty(studio, gate))
    assert list(own_temp.iterdir()) == []
    assert "Traceback" not in capsys.readouterr().err


async def fifty(studio: Studio, gate: Gate) -> None:
    """The life of fifty windows; at its end none is left."""
    clients = [Client(studio) for _ in range(WINDOWS)]
    await asyncio.gather(*(client.__aenter__() for client in clients))
    await asyncio.gather(*(client.ready() for client in clients))
    await clients[0].until(lambda: studio.windows == WINDOWS, "fifty sessions")
    for k, client in enumerate(clients):
        await client.set("x (mm)", float(k - 20))
    for k, client in enumerate(clients):
        await client.says(f"{k - 20:.1f}, 0.0, -600.0")
    places = sorted(round(1e3 * w.session.pose.p[0]) for w in studio._windows.values())
    assert places == [k - 20 for k in range(WINDOWS)]

    first, second, third, hurt, lying, greedy, leaving, robbed, *others = clients
    await fit_beside_damage(first, second, gate, studio)
    # a component of another window is none
    stolen = {"type": "GuiUpdateMessage", "uuid": robbed.part("y (mm)"), "updates": {"value": 9.0}}
    await third.send(stolen)
    await third.press("Download the robot file")
    await third.until(lambda: f"{ROBOT}.yaml" in third.downloads, "a download")
    # uploads that are too large, that lie about it, that are too many
    await hurt.upload("Upload a log", "large.csv", b"0" * 3_000_000)
    await hurt.says("large.csv has 3.0 MB; allowed: up to 2 MB")
    await lying.upload("Upload a log", "small.csv", b"0" * 3_000_000, told=100)
    await lying.says("small.csv has 2.5 MB; allowed: up to 2 MB")
    await greedy.upload("Upload a log", "one.csv", b"0", told=1_500_000, more=2)
    await greedy.upload("Upload a motion", "two.csv", b"0", told=1_500_000, more=2)
    await greedy.says("two.csv, with uploads under way, has 3.0 MB; allowed: up to 2 MB")
    # a window that goes in the middle of its work, without a word
    gate.opened.clear()
    await leaving.upload("Upload a log", "log.csv", log_bytes(1))
    await leaving.says("log.csv was read and checked")
    await leaving.press("Identify")
    await leaving.until(lambda: gate.waiting == 2, "work under way")
    assert len(jobs()) == 1

    before = {number: weakref.ref(window) for number, window in studio._windows.items()}
    for client in (leaving, greedy, hurt, *others[:20]):
        client.vanish()
    await first.until(lambda: studio.windows == WINDOWS - 23, "their sessions are freed")
    gate.opened.set()
    await first.until(lambda: jobs() == [], "the work of nobody ends")

    def freed() -> bool:
        gc.collect()
        return sum(window() is not None for window in before.values()) == WINDOWS - 23

    await first.until(freed, "nothing holds them")
    await robbed.set("x (mm)", 50.0)  # the others go on
    await robbed.says("50.0, 0.0, -600.0")
    # nobody saw what was another's
    for client in clients:
        assert ("Verdict" in client.text()) == (client is first)
        assert bool(client.downloads) == (client is third)
        told = [text for text in (client.text(), *client.notices) if ".csv" in text]
        assert bool(told) == (client in (first, second, hurt, lying, greedy, leaving)), told
    await asyncio.gather(*(client.__aexit__(None, None, None) for client in clients))
    await first.until(lambda: studio.windows == 0, "all sessions are freed")


async def fit_beside_damage(first: Any, second: Any, gate: Gate, studio: Studio) -> None:
    """A damaged upload in one window while the other identifies."""
    await first.upload("Upload a log", "good.csv", log_bytes(1))
    await first.says("good.csv was read and checked")
    await first.set("method", "base")
    await first.press("Identify")
    await first.until(lambda: gate.waiting == 1, "work under way")
    damaged = log_bytes(1)
    damaged = damaged[: len(damaged) // 2] + b"\x00\xff,,\n" + damaged[len(damaged) // 2 :]
    await second.upload("Upload a log", "damaged.csv", damaged)
    await second.until(lambda: any("damaged.csv" in text for text in second.notices), "a message")
    await first.upload("Upload a log", "early.csv", damaged)  # in the same window: refused
    await first.says("an identification is under way")
    gate.opened.set()
    await first.says("Verdict")
    (fit,) = [w.session.study.fit for w in studio._windows.values() if w.session.study is not None]
    before = float(fit.parametrisation.prior[fit.names.index("M_P")])
    heavier = (HEAVIER - 1) * dd.load_robot(ROBOT).platform.mass
    assert fit["M_P"] - before == pytest.approx(heavier, rel=0.02)


def test_names_are_text(studio: Studio) -> None:
    """Of robots, files and columns, in the page, in messages and in downloads."""
    robot = dd.load_robot(ROBOT).replace(name=EVIL, description=EVIL)
    lines = [line for line in log_bytes(1).splitlines() if not line.startswith(b"#")]
    head, rows = lines[0], b"\n".join(lines[1:])
    foreign = ",".join(f"{name} {EVIL.replace(chr(34), '')}" for name in head.decode().split(","))

    async def run() -> Any:
        async with Client(studio) as client:
            await client.ready()
            await client.upload("Upload a robot file", f"{EVIL}.yaml", robot_text(robot).encode())
            await client.until(lambda: "&lt;img" in client.text(), "the robot")
            await client.upload("Upload a log", f"{EVIL}.csv", foreign.encode() + b"\n" + rows)
            await client.until(lambda: "tau1_Nm &lt;img" in client.text(), "columns")
            await client.upload("Upload a motion", f"{EVIL}.csv", b"<script>alert(2)</script>")
            await client.until(lambda: bool(client.notices), "a message")
            await client.press("Download the robot file")
            await client.until(lambda: bool(client.downloads), "a download")
            return client

    client = asyncio.run(run())
    assert any("onerror" in text for text in client.html)
    for text in client.html:
        assert dangers(text) == []
    (name,) = client.downloads
    assert not set(name) & set("<>\"'/\\&")


def test_a_window_holds_one_thread_of_the_server() -> None:
    turns, go, done = Turns(), threading.Event(), list[int]()
    threads = [threading.Thread(target=turns.run, args=(lambda: go.wait(PATIENCE),))]
    threads[0].start()
    wait_until(lambda: turns._running and not turns._waiting)
    for k in range(MOST_WAITING):
        turns.run(partial(done.append, k))  # returns at once
    with pytest.raises(DeltadynError, match="acts wait already: this one was not done"):
        turns.run(lambda: None)
    assert done == []
    go.set()
    threads[0].join(PATIENCE)
    assert done == list(range(MOST_WAITING))


def test_jobs_wait_for_a_core_and_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Job, "_places", threading.BoundedSemaphore(1))
    go, ended, told = threading.Event(), list[Any](), list[str]()

    def job(work: Any) -> Job:
        return Job(
            work, tell=lambda _, text: told.append(text), done=ended.append, failed=ended.append
        )

    one, two, three = job(lambda _: go.wait(PATIENCE)), job(lambda _: 2), job(lambda _: 3)
    one.start()
    wait_until(lambda: not Job._places._value)
    two.start()
    three.start()
    wait_until(lambda: len(told) == 2)
    three.cancel()
    go.set()
    for each in (one, two, three):
        each.join(PATIENCE)
    assert [str(item) for item in ended] == ["cancelled", "True", "2"]
    assert set(told) == {"waiting for the work of other windows"}
