"""What holds after a command was killed, or refused by the disk, at any of its writes.

`python -m tests.crash.campaign --out build/nightly/crash.json` tries every write of every command.
"""

from __future__ import annotations

import argparse
import errno
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner
from tests.crash.cases import CASES, EMPTY, HELD_OUT, LOG, POSES, ROBOT, WORK, Case
from tests.crash.harness import (
    Action,
    Outcome,
    Rows,
    Server,
    Session,
    State,
    StoppedError,
    state_of,
)
from tests.identification.motions import swing

import deltadyn as dd
from deltadyn.calibration import plan_calibration
from deltadyn.cli import main as command_line
from deltadyn.files import settle

WRONG = 2  # exit status
#: What a disk says, and whether it says it once, to all who ask for room, or to all.
FAILURES = {
    "disk full": (Action.FAIL_ROOM, errno.ENOSPC),
    "input/output error": (Action.FAIL_ONCE, errno.EIO),
    "read-only": (Action.FAIL_ALL, errno.EROFS),
    "not permitted": (Action.FAIL_ALL, errno.EACCES),
}
PATIENCE = 0.5  # s that the second of two processes may need, where it need not wait for the first


class Bench:
    """A folder with inputs, the folder that commands write into, and the server that runs them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / WORK
        self.work.mkdir()
        own = folder / "server"
        own.mkdir()
        self.server = Server(own)

    def close(self) -> None:
        """End the server."""
        self.server.close()

    def session(self, case: Case, arguments: tuple[str, ...]) -> AbstractContextManager[Session]:
        """A call of a case, at its first look into the folder."""
        for name in arguments:
            if name.startswith("inputs/"):
                _make_input(self.folder, name)
        if case.call is None and arguments:  # without a progress bar: a thread is not forked along
            last = 2 if arguments[0] in ("reproduce", "history", "fleet") else 1
            arguments = (*arguments[:last], "--json", *arguments[last:])
        return self.server.session(arguments, self.work, self.folder / case.cwd, case.call)

    def restore(self, files: dict[str, bytes]) -> None:
        """Let the folder hold these files alone."""
        for item in self.work.iterdir():
            shutil.rmtree(item) if item.is_dir() else item.unlink()
        for name, content in files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.file if isinstance(content, Rows) else content)

    @contextmanager
    def ready(self, name: str) -> Iterator[Ready]:
        """A case with its old and its new result."""
        case = CASES[name]
        before = {key: text.encode() for key, text in case.before.items()}
        self.restore(before)
        if case.old:
            with self.session(case, case.old) as first:
                done = first.run()
            assert done.status in (0, 1), f"{name}, the call before: {done.text}"
            before = state_of(self.work).files
            before |= {key: text.encode() for key, text in case.then.items()}
            self.restore(before)
        with self.session(case, case.new) as session:
            clean = session.run()
            assert clean.status in (0, 1), f"{name}: {clean.text}"
            new = state_of(self.work)
            assert not new.temporaries, f"{name}: left {new.temporaries}"
            if case.old is None:
                before = {key: b"old " + key.encode() for key in new.files}
            assert new.files != before, f"{name}: writes what was there before"
            yield Ready(self, name, case, session, before, new.files, clean)


@dataclass(frozen=True)
class Ready:
    """A case that can be run over its old result again and again."""

    bench: Bench
    name: str
    case: Case
    session: Session
    old: dict[str, bytes]
    new: dict[str, bytes]
    clean: Outcome

    def check(self, what: str) -> None:
        """Every file is an old or a new one; of a set all are, once anybody looks at it."""
        found = state_of(self.bench.work).files
        for name, content in found.items():
            known = content in (self.old.get(name), self.new.get(name))
            assert known, f"{what}: {name} is neither the old nor the new file"
        for folder in [self.bench.work, *self.bench.work.rglob("*")]:
            if folder.is_dir():
                settle(folder)
        found = state_of(self.bench.work).files
        for piece, names in self._pieces().items():
            sets = [{name: files.get(name) for name in names} for files in (self.old, self.new)]
            there = {name: found.get(name) for name in names}
            assert there in sets, f"{what}: {piece or 'the set'} is partly old and partly new"

    def check_old(self, what: str) -> None:
        """Nothing of the old result was lost, and nothing else is there but whole pieces."""
        self.check(what)
        assert not state_of(self.bench.work).temporaries, f"{what}: left temporaries"

    def again(self, what: str) -> None:
        """The same call succeeds and leaves what an undisturbed one leaves."""
        there = state_of(self.bench.work).files == self.new
        done = self.session.run()
        wanted = self.case.again if there and self.case.again is not None else self.clean.status
        assert done.status == wanted, f"{what}: the next run ends with {done.status}: {done.text}"
        state = state_of(self.bench.work)
        assert state == State(self.new, ()), f"{what}: the next run leaves {state.temporaries}"

    def _pieces(self) -> dict[str, list[str]]:
        pieces: dict[str, list[str]] = {}
        for name in sorted({*self.old, *self.new}):
            own = next((piece for piece in self.case.pieces if name.startswith(piece)), "")
            own = name if own.endswith("/") else own
            pieces.setdefault(own, []).append(name)
        return pieces

    # What is tried.

    def kill(self, point: int) -> None:
        """Kill the process before the call with this number."""
        what = f"{self.name}, killed at {point} of {self.clean.count}"
        self.bench.restore(self.old)
        done = self.session.run(Action.KILL, point)
        assert done.status == -9, f"{what}: ended with {done.status}"
        self.check(f"{what} ({done.calls[-1]})")
        self.again(what)

    def fail(self, how: str, point: int) -> None:
        """Let the disk refuse the call with this number, and maybe what follows."""
        action, number = FAILURES[how]
        self.bench.restore(self.old)
        done = self.session.run(action, point, number)
        what = f"{self.name}, {how} at {point} of {self.clean.count}"
        assert "Traceback" not in done.text, f"{what}: {done.text}"
        if done.status == self.clean.status:
            assert state_of(self.bench.work).files == self.new, f"{what}: no word of it"
        else:
            assert done.status == WRONG, f"{what}: ended with {done.status}: {done.text}"
            assert "deltadyn: " in done.text or '"error"' in done.text, f"{what}: {done.text}"
            self.check(what)
            if action == Action.FAIL_ROOM or point == 1:
                left = state_of(self.bench.work).temporaries
                assert not left, f"{what}: left {left}"
        self.again(what)

    def beside(self, other: Session, point: int) -> bool:
        """Another call writes the same while this one stands at a call; whether it had to wait."""
        what = f"{self.name}, another writer at {point} of {self.clean.count}"
        self.bench.restore(self.old)
        self.session.begin(Action.STOP, point)
        try:
            self.session.wait()
        except StoppedError as stopped:
            other.begin()
            first = other.wait(PATIENCE)
            stopped.go()
        mine = self.session.wait()
        second = first or other.wait()
        assert mine is not None
        assert second is not None
        for done in (mine, second):
            assert done.status in (0, 1), f"{what}: {done.status}: {done.text}"
        state = state_of(self.bench.work)
        assert not state.temporaries, f"{what}: left {state.temporaries}"
        self.check(what)
        return first is None


def _make_input(folder: Path, name: str) -> None:
    """A log, the record of a fit, measured poses or a fleet, where it is not there yet."""
    path, robot = folder / name, dd.load_robot(ROBOT)
    path.parent.mkdir(exist_ok=True)
    if path.exists():
        return
    if name in (LOG, HELD_OUT, EMPTY):
        seed = 1 if name == LOG else 2
        law = dd.PD(robot, bandwidth=8.0)  # stable at 1 kHz
        motion = swing(robot, 25.0 if name == EMPTY else 2.0, seed=seed)
        run = dd.simulate(robot, motion, law, preset="lab", rate=1000.0, seed=seed)
        run.recording.save(path)
    elif name == POSES:
        plan = plan_calibration(robot, poses=12).save(path)
        plan.write_text(plan.read_text().replace("_cmd_mm", "_mm"))  # as an ideal instrument sees
    else:
        logs = {"one": LOG, "two": HELD_OUT}
        for log in logs.values():
            _make_input(folder, log)
        if path.suffix == ".db":
            for day, log in enumerate(logs.values(), 1):
                call = f"history add {ROBOT} {folder / log} --serial 7 --terms file --store {path}"
                call += f" --method base --time 2020-05-{day:02d}T00:00:00+00:00"
                CliRunner().invoke(command_line, call.split(), catch_exceptions=False)
        elif path.suffix == ".json":
            read = dd.read_recording(folder / logs[path.stem], robot)
            dd.identify(robot, read, "base", terms="file", unidentifiable="hold").save(path)
        elif path.name == "nights":
            for day, log in enumerate(logs.values(), 1):
                (path / "7").mkdir(parents=True, exist_ok=True)
                shutil.copy(folder / log, path / "7" / f"2020-05-{day:02d}.csv")
        else:
            path.mkdir()
            for number, log in enumerate((LOG, HELD_OUT, LOG), 1):
                shutil.copy(folder / log, path / f"cell.{number}.csv")


# The whole campaign.


def spread(count: int, most: int | None, seed: int) -> list[int]:
    """Numbers from 1 to `count`: all, or so many of them, drawn by a seed."""
    import random

    points = list(range(1, count + 1))
    return points if most is None else sorted(random.Random(seed).sample(points, min(most, count)))


def run_case(
    bench: Bench, name: str, kills: int | None = None, failures: int | None = None
) -> tuple[Counter[str], list[str]]:
    """Try a case at all of its points, or at so many; how often each was tried, and what broke."""
    tried: Counter[str] = Counter()
    broken: list[str] = []

    def attempt(kind: str, points: Iterable[int], work: object) -> None:
        for point in points:
            tried[kind] += 1
            try:
                work(point)  # type: ignore[operator]
            except AssertionError as error:
                broken.append(str(error)[:500])

    with bench.ready(name) as ready:
        count = ready.clean.count
        attempt("killed", spread(count, kills, 0), ready.kill)
        for how in FAILURES:
            points = spread(count, failures, 1) if FAILURES[how][0] != Action.FAIL_ALL else [1]
            attempt(how, points, lambda point, how=how: ready.fail(how, point))
        if ready.case.old and ready.case.beside:
            with bench.session(ready.case, ready.case.old) as other:
                attempt("two writers", spread(count, failures, 2), lambda n: ready.beside(other, n))
    tried["writes"] = count
    return tried, broken


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="JSON with the counts")
    parser.add_argument("--kills", type=int, default=None, help="per case; default: all")
    parser.add_argument(
        "--failures", type=int, default=None, help="per case and kind; default: all"
    )
    parser.add_argument("names", nargs="*", help="cases; default: all")
    given = parser.parse_args(arguments)
    record, worst = {}, 0
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder).resolve())
        for name in given.names or CASES:
            begun = time.monotonic()
            try:
                tried, broken = run_case(bench, name, given.kills, given.failures)
            except AssertionError as error:
                tried, broken = Counter(), [str(error)[:500]]
            seconds = round(time.monotonic() - begun, 1)
            record[name] = {**tried, "broken": broken, "seconds": seconds}
            counts = ", ".join(f"{key} {value}" for key, value in tried.items())
            print(f"{name:<24} {counts}; broken {len(broken)}; {seconds} s", flush=True)
            for text in broken[:5]:
                print(f"    {text}", flush=True)
            worst += len(broken)
            total += tried
        bench.close()
    print(f"{len(record)} cases: {dict(total)}; broken {worst}")
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        done = ", ".join(f"{count} {kind}" for kind, count in total.items() if kind != "writes")
        figure = f"{len(record)} calls, {total['writes']} writes: {done}; {worst} not whole"
        found = {"figure": figure, "reached": not worst, "cases": record, "total": total}
        given.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
