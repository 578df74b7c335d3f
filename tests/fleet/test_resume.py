"""Runs that are killed, work folders that are damaged, workers that die: the same result."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.fleet.conftest import PARTS
from tests.fleet.deaths import die_or_count

import deltadyn as dd
from deltadyn.commands.fleet import fleet as command
from deltadyn.errors import FileError
from deltadyn.fleet import FleetLog, find_logs, identify_fleet
from deltadyn.fleet.schedule import TRIES, Died, running
from deltadyn.recording.prepare.stream import Streamed

OPTIONS: dict[str, Any] = {**PARTS, "chunk": 8000, "period": "day"}
SCRIPT = """
import sys
import deltadyn as dd
from deltadyn.fleet import identify_fleet
robot, source, work = sys.argv[1:]
identify_fleet(dd.load_robot(robot), source, work=work, {options})
"""


def text_of(robot: dd.Robot, source: Any, **options: Any) -> str:
    return json.dumps(identify_fleet(robot, source, **{**OPTIONS, **options}).as_dict())


@dataclass(frozen=True)
class DyingLog:
    """A log that kills its process when it is opened, until it did so `times` times."""

    log: FleetLog
    folder: str
    times: int = 1

    @property
    def name(self) -> str:
        return self.log.name

    @property
    def serial(self) -> str:
        return self.log.serial

    @property
    def day(self) -> date | None:
        return self.log.day

    def fingerprint(self) -> str:
        return self.log.fingerprint()

    @contextmanager
    def opened(self, robot: dd.Robot) -> Iterator[Streamed]:
        if len(list(Path(self.folder).iterdir())) < self.times:
            (Path(self.folder) / str(time.time_ns())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        with self.log.opened(robot) as found:
            yield found


@pytest.fixture(scope="module")
def kept(robot: dd.Robot, plant: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work folder of a whole run."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "result.json").write_text(text_of(robot, plant, work=folder / "work"))
    return folder


@pytest.mark.full
def test_a_killed_run_goes_on(robot: dd.Robot, plant: Path, kept: Path, tmp_path: Path) -> None:
    """Killed in the middle of a log: the factor that is there is taken, and all bits are equal."""
    work = tmp_path / "work"
    robot.save(tmp_path / "robot.yaml")
    code = SCRIPT.format(options=", ".join(f"{key}={value!r}" for key, value in OPTIONS.items()))
    arguments = [str(tmp_path / "robot.yaml"), str(plant), str(work)]
    # a process group of its own: nothing of it stays
    run = subprocess.Popen([sys.executable, "-c", code, *arguments])
    while run.poll() is None and not list(work.glob("factors/*/*.npz")):
        time.sleep(0.005)
    run.kill()
    assert run.wait() == -signal.SIGKILL
    made = {path: path.stat().st_mtime_ns for path in work.glob("factors/*/*.npz")}
    assert 0 < len(made) < len(list(kept.glob("work/factors/*/*.npz")))
    # what the killed process wrote has a name by content, as here: the same robot file
    own = dd.load_robot(tmp_path / "robot.yaml")
    assert text_of(own, plant, work=work) == (kept / "result.json").read_text()
    assert {path: path.stat().st_mtime_ns for path in made} == made  # none was made again
    names = {path.relative_to(work) for path in work.rglob("*") if path.is_file()}
    assert names == {
        path.relative_to(kept / "work") for path in kept.glob("work/**/*") if path.is_file()
    }


def test_a_damaged_work_folder(robot: dd.Robot, plant: Path, kept: Path, tmp_path: Path) -> None:
    """A factor cut short, one with a wrong byte, a missing one, and records with a wrong digit."""
    work = tmp_path / "work"
    shutil.copytree(kept / "work", work)
    first, second, third, *_ = sorted(work.glob("factors/*/*.npz"))
    content = first.read_bytes()
    first.write_bytes(content[: len(content) // 2])
    content = second.read_bytes()
    second.write_bytes(content[:5000] + bytes([content[5000] ^ 1]) + content[5001:])
    third.unlink()
    for kind in ("settings", "fits", "logs"):
        record = sorted(work.glob(f"{kind}/*/*.json"))[0]
        record.write_text(record.read_text().replace("0", "1", 1))
    found = identify_fleet(robot, plant, work=work, **OPTIONS)
    assert json.dumps(found.as_dict()) == (kept / "result.json").read_text()
    told = "\n".join(found.notes)
    for path in (first, second):
        assert f"made again: {path}" in told
        assert path.read_bytes() == (kept / "work" / path.relative_to(work)).read_bytes()
    assert told.count("it is damaged") == 3
    assert third.exists()
    again = identify_fleet(robot, plant, work=work, **OPTIONS)
    assert again.notes == ()


@pytest.mark.full
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("kind", ["settings", "factors"])
def test_a_work_folder_that_cannot_be_written_is_no_fault_of_a_log(
    robot: dd.Robot, plant: Path, tmp_path: Path, kind: str, workers: int
) -> None:
    (tmp_path / kind).write_text("a file in the place of a folder")
    with pytest.raises(FileError, match=r"work folder is .*; allowed: a folder with room"):
        identify_fleet(robot, plant, work=tmp_path, workers=workers, **OPTIONS)


def test_what_was_made_again_is_said(robot: dd.Robot, plant: Path, tmp_path: Path) -> None:
    robot.save(tmp_path / "robot.yaml")
    call = ["identify", str(tmp_path / "robot.yaml"), f"{plant}/D3-007/*.csv", "--band", "40"]
    call += ["--work", str(tmp_path / "work"), "--json"]
    one = CliRunner().invoke(command, call)
    factor = next((tmp_path / "work").glob("factors/*/*.npz"))
    factor.write_bytes(b"")
    two = CliRunner().invoke(command, call)
    assert one.exit_code == two.exit_code == 0
    assert one.stdout == two.stdout
    assert "note: made again" in two.stderr
    assert "note" not in one.stderr


def test_another_program_robot_or_option_is_another_factor(
    robot: dd.Robot, plant: Path, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(kept / "work", tmp_path / "work")
    source = plant / "D3-007"
    count = len(list(tmp_path.glob("work/factors/*/*.npz")))
    monkeypatch.setattr("deltadyn.fleet.work.program", lambda: "another")
    identify_fleet(robot, source, work=tmp_path / "work", **OPTIONS)
    assert len(list(tmp_path.glob("work/factors/*/*.npz"))) == count + 4


@pytest.mark.full
def test_a_dead_worker_costs_its_log(
    robot: dd.Robot, plant: Path, kept: Path, tmp_path: Path
) -> None:
    """One log kills its process once, another one always."""
    (tmp_path / "once").mkdir()
    (tmp_path / "always").mkdir()
    first, second, third, fourth = find_logs(plant).logs
    logs = [first, DyingLog(second, str(tmp_path / "once")), third, fourth]
    assert text_of(robot, logs, workers=2) == (kept / "result.json").read_text()
    assert len(list((tmp_path / "once").iterdir())) == 1
    tasks = [(str(tmp_path / "always"), TRIES + 5), (str(tmp_path / "once"), 0), ("", 0)]
    with running(2, None) as run:
        found = dict(run(die_or_count, tasks))
    assert found == {0: Died(TRIES), 1: 1, 2: -1}
    assert "its worker died 3 times" in str(found[0])


# The same on a dask cluster.


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "host": "127.0.0.1"}
    with distributed.LocalCluster(**options, dashboard_address=None) as found:
        yield found.scheduler_address


@pytest.mark.full
def test_a_cluster_gives_the_same_bits(
    robot: dd.Robot, plant: Path, kept: Path, tmp_path: Path, cluster: str
) -> None:
    """With a worker that dies on the way."""
    (tmp_path / "once").mkdir()
    first, *others = find_logs(plant).logs
    logs = [DyingLog(first, str(tmp_path / "once")), *others]
    found = text_of(robot, logs, scheduler=cluster, work=tmp_path / "work")
    assert found == (kept / "result.json").read_text()
    assert len(list((tmp_path / "once").iterdir())) == 1


@pytest.mark.full
def test_a_scheduler_that_does_not_answer(
    robot: dd.Robot, plant: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deltadyn.fleet.schedule.ANSWERS_IN", 0.3)
    with pytest.raises(dd.DeltadynError, match="scheduler is 'tcp://127"):
        identify_fleet(robot, plant, scheduler="tcp://127.0.0.1:9", work=tmp_path)
