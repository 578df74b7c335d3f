"""The studio over a long time: windows come and go, drag, upload, fit; memory and threads stay.

Run: OMP_NUM_THREADS=1 python -m benchmarks.studio_soak [--minutes 60] [--windows 8] [--json FILE]

The windows are sockets that speak as the page does. Each lives for a few acts: poses, motions,
logs (good and damaged), identifications; half of them leave politely, half vanish in the middle.
Memory is that of the process without a window: after first windows that did every act, and at the
end. Exit status 1 where it grew by more than --grown (MB), where threads, sessions or temporary
files are left at the end, or where an act was in vain.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import faulthandler
import gc
import io
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tests.studio.cases import ROBOT, log_bytes
from tests.studio.clients import Client

import deltadyn as dd
from benchmarks.machine import machine_name
from benchmarks.soak import resident
from deltadyn.studio.server import THREADS, Studio, give_back_memory

ACTS = ("drag", "play", "good", "damaged", "fit")
LIMIT = 5  # MB


class Soak:
    """A studio, what its windows did, and the memory over the time."""

    def __init__(self, seed: int, patience: float) -> None:
        self.studio, self.patience = Studio(dd.load_robot(ROBOT), 0, LIMIT), patience
        self.rng = np.random.default_rng(seed)
        self.done: Counter[str] = Counter()
        self.memory: list[tuple[float, float]] = []  # s, MB, with windows
        self.threads = 0
        self.before = self.after = 0.0  # MB, without a window
        self.logs = [log_bytes(seed) for seed in (1, 2)]

    async def run(self, seconds: float, windows: int) -> None:
        """Windows come and go until the time is over."""
        await asyncio.gather(*(self.every_act() for _ in range(windows)))
        self.before = await self.alone()
        self.began = time.monotonic()
        self.end = self.began + seconds
        await asyncio.gather(*(self.place() for _ in range(windows)), self.watch())
        self.after = await self.alone()

    async def every_act(self) -> None:
        """A window that does everything: code is loaded, and all threads have worked."""
        async with Client(self.studio, self.patience) as client:
            await client.ready()
            for act in ACTS:
                await getattr(self, act)(client)

    async def alone(self) -> float:
        """Memory (MB) when all windows are gone and their work has ended."""
        deadline = time.monotonic() + self.patience
        while (self.studio.windows or jobs()) and time.monotonic() < deadline:
            await asyncio.sleep(0.1)
        gc.collect()
        give_back_memory()
        return resident()

    async def place(self) -> None:
        """One window after the other."""
        while time.monotonic() < self.end:
            await self.window()

    async def watch(self) -> None:
        """Memory and threads every so often."""
        while time.monotonic() < self.end:
            gc.collect()
            self.memory.append((time.monotonic() - self.began, resident()))
            self.threads = max(self.threads, threading.active_count())
            await asyncio.sleep(1.0)

    async def window(self) -> None:
        """The life of a window."""
        rng = self.rng
        client = await Client(self.studio, self.patience).__aenter__()
        await client.ready()
        chosen = rng.choice(ACTS, int(rng.integers(1, 6))).tolist()
        for act in sorted(chosen, key=ACTS.index):  # motions before logs
            await getattr(self, act)(client)
            self.done[act] += 1
        if rng.random() < 0.5:
            if rng.random() < 0.5:  # with work under way
                await client.upload("Upload a log", "log.csv", self.logs[0])
                await client.press("Identify")
            client.vanish()
            self.done["vanish"] += 1
        await client.__aexit__(None, None, None)
        self.done["window"] += 1

    async def drag(self, client: Client) -> None:
        """Pull a slider."""
        for x in self.rng.integers(-200, 200, 20).tolist():
            await client.set("x (mm)", float(x))
        await client.says(f"{x:.1f}, ")

    async def play(self, client: Client) -> None:
        """Play a motion, another one than before."""
        name = "Adept cycle" if client.motion == "gate" else "gate"
        client.motion = name
        await client.set("motion", name)
        await client.says("t = 0.000 of")
        await client.press("Play")
        await client.until(lambda: "t = 0.000 of" not in client.text(), "time goes on")
        await client.until(lambda: bool(client.found("Pause")), "a button to pause")
        await client.press("Pause")
        await client.until(lambda: bool(client.found("Play")), "it stands")

    async def good(self, client: Client) -> None:
        """A log that is read."""
        name = f"log-{int(self.rng.integers(1_000_000))}.csv"
        await client.upload("Upload a log", name, self.logs[int(self.rng.integers(2))])
        await client.says(f"{name} was read and checked")

    async def damaged(self, client: Client) -> None:
        """A log with some bytes that are not its own."""
        content = bytearray(self.logs[0])
        for k in self.rng.integers(0, len(content), 40):
            content[k] = int(self.rng.integers(256))
        name = f"bad-{int(self.rng.integers(1_000_000))}.csv"
        await client.upload("Upload a log", name, bytes(content))
        await client.until(
            lambda: any(name in text for text in (client.text(), *client.notices)), "a message"
        )

    async def fit(self, client: Client) -> None:
        """Identify a log."""
        await self.good(client)
        await client.set("method", "base")
        await client.press("Identify")
        await client.says("Verdict")

    def left(self) -> list[str]:
        """What is left when all windows are gone."""
        more = threading.active_count() - THREADS - 4  # this one, the server's, viser's own
        return [
            f"{count} {what} left"
            for count, what in (
                (self.studio.windows, "sessions"),
                (len(jobs()), "jobs"),
                (max(0, more), "threads"),
                (len(list(Path(tempfile.gettempdir()).iterdir())), "temporary files"),
            )
            if count
        ]


def jobs() -> list[threading.Thread]:
    """Threads of identifications."""
    return [each for each in threading.enumerate() if each.name == "deltadyn-job"]


async def soaked(given: argparse.Namespace) -> tuple[Soak, list[str]]:
    """Run it, and say what is wrong."""
    soak = Soak(given.seed, given.patience)
    try:
        await soak.run(60 * given.minutes, given.windows)
        wrong = soak.left()
    except AssertionError:  # an act was in vain: where every thread stands tells why
        faulthandler.dump_traceback(2, all_threads=True)
        raise
    finally:
        soak.studio.stop()
    grown = soak.after - soak.before
    if grown > given.grown:
        wrong.append(f"memory grew by {grown:.1f} MB; allowed: {given.grown:g} MB")
    return soak, wrong


def main(argv: Sequence[str] | None = None) -> None:
    """Print what was done and what it needed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--windows", type=int, default=8, help="at once")
    parser.add_argument("--grown", type=float, default=30.0, help="MB allowed")
    parser.add_argument("--patience", type=float, default=600.0, help="s for an act, then it fails")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        before, tempfile.tempdir = tempfile.tempdir, folder
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # each refused upload is a line
                soak, wrong = asyncio.run(soaked(given))
        finally:
            tempfile.tempdir = before
    done = ", ".join(f"{count} x {what}" for what, count in sorted(soak.done.items()))
    text = (
        f"{soak.done['window']} windows in {given.minutes:g} min, without a window "
        f"{soak.before:.0f} MB before and {soak.after:.0f} MB after, at most "
        f"{max(size for _, size in soak.memory):.0f} MB and {soak.threads} threads"
    )
    print(f"Soak of the studio on {machine_name()}\n{text}\n{done}")
    if given.json:
        told = {"figure": text, "reached": not wrong, "done": soak.done, "memory": soak.memory}
        Path(given.json).write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
