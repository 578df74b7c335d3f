"""Commands that are killed, refused by the disk, or meet another writer, at some of their writes.

`python -m tests.crash.campaign` tries all of them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.crash.campaign import FAILURES, Bench, Ready, run_case, spread
from tests.crash.cases import NOTHING, ROBOT
from tests.crash.harness import Action, state_of

from deltadyn.cli import main

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("gcc") is None,
    reason="the shim is for Linux and needs gcc",
)
KILLS, FAILED = 2, 1  # of a case
QUICK = (
    "init",
    "export c",
    pytest.param("simulate to Parquet", marks=pytest.mark.full),  # needs pyarrow
    "calibrate --plan",
    "export in a project",
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    made = Bench(tmp_path_factory.mktemp("crash").resolve())
    yield made
    made.close()


@pytest.mark.full
@pytest.mark.parametrize("name", QUICK)
def test_results_are_whole_at_some_writes(bench: Bench, name: str) -> None:
    tried, broken = run_case(bench, name, KILLS, FAILED)
    assert not broken
    assert tried["killed"] == KILLS
    assert set(FAILURES) <= set(tried)


@pytest.mark.full
def test_a_fit_is_old_or_new_on_both_sides_of_its_journal(bench: Bench) -> None:
    """Robot file, JSON and page: killed just before the journal counts, and in the middle after."""
    with bench.ready("identify") as ready:
        assert set(ready.new) == {"mine.yaml", "mine.json", "mine.html"}
        renames = [k for k, call in enumerate(ready.clean.calls, 1) if " rename " in call]
        assert len(renames) == 4  # the journal, then the three files
        for point, named in ((renames[0], "mine.yaml"), (renames[2], "mine.html")):
            bench.restore(ready.old)
            assert ready.session.run(Action.KILL, point).status == -9
            found = state_of(bench.work)
            assert found.temporaries
            assert found.files["mine.json"] == ready.old["mine.json"]
            whole = ready.new if point > renames[0] else ready.old
            ready.check(named)
            assert state_of(bench.work).files == whole
        ready.again("identify")


def test_a_broken_result_is_seen(bench: Bench) -> None:
    """The check itself: half a file, a mixed set, and a temporary that stays."""
    with bench.ready("export c") as ready:
        name = next(name for name in ready.new if ready.new[name] != ready.old[name])
        for files, said in (
            ({**ready.old, name: ready.new[name][:-1]}, "neither the old nor the new"),
            ({**ready.old, name: ready.new[name]}, "partly old and partly new"),
        ):
            bench.restore(files)
            with pytest.raises(AssertionError, match=said):
                ready.check("made up")
        assert _left(bench, ready) == (f"model/.x.{'0' * 32}.0.part",)


def _left(bench: Bench, ready: Ready) -> tuple[str, ...]:
    bench.restore({**ready.new, f"model/.x.{'0' * 32}.0.part": b""})
    return state_of(bench.work).temporaries


def test_points_are_spread_by_a_seed() -> None:
    assert spread(5, None, 0) == [1, 2, 3, 4, 5]
    assert spread(100, 3, 7) == spread(100, 3, 7) != spread(100, 3, 8)


@pytest.mark.parametrize("call", ["robots", "completion bash"])
def test_what_only_prints_writes_nothing(bench: Bench, call: str) -> None:
    assert call.split()[0] in NOTHING
    bench.restore({"deltadyn.toml": b""})
    with bench.server.session(call.split(), bench.work, bench.work) as session:
        assert session.run().count == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 200 kB, where one can be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small disk can be mounted by root only, where mounting is allowed")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_real_disk_that_is_full_or_read_only(small_disk: Path) -> None:
    """The old result stays, nothing is left beside it, and the error says what the disk said."""
    log, page = small_disk / "log.csv", small_disk / "loads.html"
    log.write_text("old")
    call = ["simulate", ROBOT, "--out", str(log), "--loads-page", str(page)]
    done = CliRunner().invoke(main, call)
    assert done.exit_code == 2
    assert "No space left on device" in done.output
    assert "choose another place with --out" in done.output
    assert state_of(small_disk).files == {"log.csv": b"old"}
    assert not state_of(small_disk).temporaries
    remount = ["mount", "-o", "remount,ro", str(small_disk)]
    subprocess.run(remount, check=True)
    done = CliRunner().invoke(main, call)
    assert done.exit_code == 2
    assert "Read-only file system" in done.output
    assert state_of(small_disk).files == {"log.csv": b"old"}
