"""A real broker on a free port, a stream that is followed, and waits with a deadline."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.payload.cases import D3
from tests.waits import PATIENCE

from deltadyn.payload.live import Event, LiveEstimator, Update
from deltadyn.streams.live import Backoff, LiveModel, Notice, Used, stop
from deltadyn.streams.packing import Batch

SAMPLE_TIME = 5e-4  # s, of the sink
QUICK = Backoff(first=0.05, cap=0.2)
PLACES = ("/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto")  # sbin is on root's path only


def mosquitto() -> str:
    """The broker's program; skips the test where there is none."""
    for name in ("mosquitto", *PLACES):
        path = shutil.which(name)
        if path is not None:
            return path
    pytest.skip("no MQTT broker found: mosquitto is not installed")


def free_port() -> int:
    """A port of the loopback that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Broker:
    """mosquitto on the loopback; it can be stopped and started again on the same port."""

    def __init__(self, folder: Path) -> None:
        self.program, self.folder, self.port = mosquitto(), folder, free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address of the topic of the tests."""
        return f"mqtt://127.0.0.1:{self.port}/cell/robot"

    def start(self) -> None:
        """Start it and wait until it answers."""
        config = self.folder / "mosquitto.conf"
        config.write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous true\n", "utf-8")
        self.process = subprocess.Popen(
            [self.program, "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        deadline = time.monotonic() + PATIENCE
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1.0):
                return
            if self.process.poll() is not None or time.monotonic() > deadline:
                said = self.stop()
                pytest.fail(f"mosquitto did not start on port {self.port}: {said}")
            time.sleep(0.01)

    def stop(self) -> str:
        """Kill it; gives what it said."""
        process, self.process = self.process, None
        if process is None:
            return ""
        process.kill()
        return process.communicate()[1].decode("utf-8", "replace")


class Sink(LiveModel[Any]):
    """Keeps the times of all samples and estimates nothing."""

    noun = "sink"
    rate = 1 / SAMPLE_TIME

    def __init__(self) -> None:
        super().__init__(D3, every=None, convention="deltadyn")
        self.times: list[float] = []

    def _use(self, batch: Batch) -> Used[Any]:
        self.times += batch.t.tolist()
        return Used([])

    def _restart(self, reason: str) -> list[Any]:
        return []


@contextmanager
def running_broker(folder: Path) -> Iterator[Broker]:
    """A broker that is gone afterwards, whatever happens."""
    broker = Broker(folder)
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


class Stream(Protocol):
    """What is followed."""

    def items(self) -> AsyncIterator[Any]: ...


class Follower:
    """A live model behind a stream, and all of its updates."""

    def __init__(self, live: LiveModel[Any]) -> None:
        self.live = live
        self.updates: list[Any] = []
        self.task: asyncio.Task[None] | None = None

    async def follow(self, stream: Stream) -> None:
        """Take all items."""
        async for item in stream.items():
            self.updates += self.live.take(item)

    async def until(self, true: Callable[[], bool], what: str) -> None:
        """Wait until something holds; fails after a time that is far longer than needed."""
        deadline = time.monotonic() + PATIENCE
        while not true():
            if self.task is not None and self.task.done():
                self.task.result()
                pytest.fail("the stream ended")
            if time.monotonic() > deadline:
                pytest.fail(f"waited in vain: {what}\n{self.live.counts}\n{self.notices()}")
            await asyncio.sleep(0.005)

    async def samples(self, count: int) -> None:
        """Wait for so many samples."""
        await self.until(lambda: self.live.counts.samples >= count, f"{count} samples")

    async def connected(self, times: int = 1) -> None:
        """Wait until the stream was connected so often."""

        def is_connected() -> bool:
            said = self.notices("connection")
            return sum(text.startswith("connected") for text in said) >= times

        await self.until(is_connected, f"connected {times} times")

    def notices(self, kind: str | None = None) -> list[str]:
        """The sentences of notices of a kind."""
        found = [update for update in self.updates if isinstance(update, Notice)]
        return [notice.text for notice in found if kind in (None, notice.kind)]

    def events(self) -> list[Event]:
        """The events."""
        return events_of(self.updates)


@asynccontextmanager
async def following(live: LiveModel[Any], stream: Stream) -> AsyncIterator[Follower]:
    """Follow a stream in the background."""
    follower = Follower(live)
    follower.task = asyncio.create_task(follower.follow(stream))
    try:
        yield follower
    finally:
        await stop(follower.task)


def events_of(updates: list[Update]) -> list[Event]:
    """The events among updates."""
    return [update for update in updates if isinstance(update, Event)]


def fed(live: LiveEstimator, batches: list[Batch]) -> list[Update]:
    """All updates of batches."""
    return [update for batch in batches for update in live.feed(batch)]


def notices_of(updates: list[Update]) -> list[tuple[str, str]]:
    """Kind and sentence of notices."""
    return [(update.kind, update.text) for update in updates if isinstance(update, Notice)]
