"""Files are whole or as they were before."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import deltadyn as dd
from deltadyn.errors import DeltadynError, FileError, InputError
from deltadyn.files import (
    JOURNAL,
    file_name,
    file_set,
    folder_writer,
    liveness_mark,
    remove_abandoned_mark,
    replacing,
    settle,
    with_ending,
    write_together,
    write_whole,
)


def test_a_file_and_its_folder_are_written(tmp_path: Path) -> None:
    path = write_whole(tmp_path / "new" / "page.html", "text ü")
    assert path.read_text("utf-8") == "text ü"
    assert write_whole(path, b"bytes").read_bytes() == b"bytes"
    assert [item.name for item in path.parent.iterdir()] == ["page.html"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_what_was_there_stays_when_the_writing_breaks_off(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = write_whole(tmp_path / "log.csv", "before")

    def break_off() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        break_off()
    assert path.read_text() == "before"
    assert [item.name for item in tmp_path.iterdir()] == ["log.csv"]


def test_a_link_and_permissions_are_kept(tmp_path: Path) -> None:
    path = write_whole(tmp_path / "robot.yaml", "before")
    path.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    write_whole(link, "after")
    assert link.is_symlink()
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_pipe_and_a_device_are_written_through(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[bytes] = []
    listener = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    listener.start()
    write_whole(pipe, "told")
    listener.join()
    assert heard == [b"told"]
    assert pipe.is_fifo()
    write_whole("/dev/null", "nothing")
    assert Path("/dev/null").is_char_device()


def test_endings_stand_behind_the_whole_name() -> None:
    names = {"mine": "mine.yaml", "mine.json": "mine.yaml", "mine.v2": "mine.v2.yaml"}
    names |= {"cell.1": "cell.1.yaml", ".yaml": ".yaml.yaml", "a/b.YAML": "a/b.yaml"}
    for given, told in names.items():
        assert with_ending(given, ".yaml") == Path(told)


@pytest.mark.parametrize("name", ["../../x", "a/b", "a\\b", "..", "", "a\0"])
def test_a_name_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="name of a robot"):
        file_name("name of a robot", name)


# A process is killed before each of its calls that change the disk, one after the other.

ROBOT = "example-delta"
CHANGES = ("replace", "unlink", "fsync", "open", "mkdir", "rename")


def killed_at(point: int, work: Callable[[], Any]) -> bool:
    """Run the work in a process of its own and kill it at the point; whether it came that far."""
    child = os.fork()
    if child == 0:
        count = 0

        def watched(real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*values: Any, **named: Any) -> Any:
                nonlocal count
                count += 1
                if count == point:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*values, **named)

            return call

        for name in CHANGES:
            setattr(os, name, watched(getattr(os, name)))
        Path.open = watched(Path.open)  # type: ignore[method-assign]
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.full
def test_a_killed_process_leaves_all_or_none_of_a_set_new(tmp_path: Path) -> None:
    """At every point; and the next one writes as if nothing had been."""
    old = {"a.yaml": "old a", "sub/b.json": "old b"}
    new = {"a.yaml": "new a", "sub/b.json": "new b", "c.txt": "new c"}
    outcomes = []
    for point in range(1, 100):
        folder = tmp_path / str(point)
        write_together(folder, old)
        if not killed_at(point, lambda place=folder: write_together(place, new)):  # type: ignore[misc]
            break
        settle(folder)
        seen = {name: text for name, text in contents(folder).items() if name in new}
        assert seen in (old, new), point
        outcomes.append(seen == new)
        write_together(folder, new)
        assert contents(folder) == new, point
    else:
        pytest.fail("the work never ended")
    assert set(outcomes) == {False, True}  # kills before and after the journal
    assert len(outcomes) > 10


@pytest.mark.full
def test_a_killed_process_leaves_one_file_whole_and_nothing_stays(tmp_path: Path) -> None:
    for point in range(1, 20):
        path = write_whole(tmp_path / str(point) / "log.csv", "before")
        if not killed_at(point, lambda place=path: write_whole(place, "after")):  # type: ignore[misc]
            break
        assert path.read_text() in ("before", "after")
        write_whole(path, "last")
        assert contents(path.parent) == {"log.csv": "last"}
    assert point > 3


def _write_often(folder: str, text: str) -> None:
    for _ in range(20):
        write_together(folder, dict.fromkeys(("a", "b", "c"), text))


def test_two_processes_write_one_set_after_the_other(tmp_path: Path) -> None:
    start = multiprocessing.get_context("fork").Process
    both = [start(target=_write_often, args=(str(tmp_path), text)) for text in ("one", "two")]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    assert len(set(contents(tmp_path).values())) == 1
    assert set(contents(tmp_path)) == {"a", "b", "c"}


def test_a_failure_before_the_journal_leaves_the_set_as_it_was(tmp_path: Path) -> None:
    write_together(tmp_path, {"a": "old"})
    (tmp_path / "b").mkdir()
    with pytest.raises(IsADirectoryError):
        write_together(tmp_path, {"a": "new", "b": "new"})
    assert contents(tmp_path) == {"a": "old"}
    assert not (tmp_path / JOURNAL).exists()


def test_files_of_a_block_take_their_places_at_its_end(tmp_path: Path) -> None:
    path = write_whole(tmp_path / "a.csv", "old")
    with file_set():
        write_whole(path, "new")
        write_together(tmp_path / "sub", {"b.json": "new"})
        assert path.read_text() == "old"
    assert contents(tmp_path) == {"a.csv": "new", "sub/b.json": "new"}

    def break_off() -> None:
        with file_set():
            write_whole(path, "newer")
            write_together(tmp_path / "sub", {"b.json": "newer"})
            raise DeltadynError("later")

    with pytest.raises(DeltadynError, match="later"):
        break_off()
    assert contents(tmp_path) == {"a.csv": "new", "sub/b.json": "new"}


def left_behind(folder: Path, files: dict[str, str]) -> None:
    """What a process leaves that is killed when all is written and nothing is in its place."""

    def work() -> None:
        with folder_writer(folder) as write:
            write(files)

    point = 1
    while not (folder / JOURNAL).exists():
        assert killed_at(point, work)
        point += 1


@pytest.mark.full
@pytest.mark.parametrize("hours", [-24, 0, 24])
def test_what_a_person_wrote_after_the_kill_is_kept(tmp_path: Path, hours: float) -> None:
    """Its content says so, whatever the times of the files are."""
    write_together(tmp_path, {"mine.yaml": "old", "mine.json": "old"})
    left_behind(tmp_path, {"mine.yaml": "new", "mine.json": "new", "c": "new"})
    assert (tmp_path / "mine.yaml").read_text() == "old"
    (tmp_path / "mine.yaml").write_text("edited")
    shift_times(tmp_path, hours)
    settle(tmp_path)
    assert contents(tmp_path) == {"mine.yaml": "edited", "mine.json": "new", "c": "new"}


def shift_times(folder: Path, hours: float) -> None:
    """Move the times of all files, as a clock that was wrong or a copied folder has them."""
    for path in folder.rglob("*"):
        there = path.stat()
        ahead = int(hours * 3.6e12)
        os.utime(path, ns=(there.st_atime_ns + ahead, there.st_mtime_ns + ahead))


@pytest.mark.parametrize("ahead", [("a",), ("b", "c"), ("a", "b", "c")])
def test_files_with_times_ahead_give_way_to_new_ones(tmp_path: Path, ahead: tuple[str]) -> None:
    """Also where only some are ahead, and where the set is finished by another process."""
    write_together(tmp_path, dict.fromkeys("abc", "old"))
    for name in ahead:
        os.utime(tmp_path / name, (4e9, 4e9))
    write_together(tmp_path, dict.fromkeys("abc", "new"))
    assert contents(tmp_path) == dict.fromkeys("abc", "new")
    left_behind(tmp_path, dict.fromkeys("abc", "newer"))
    for name in ahead:
        os.utime(tmp_path / name, (4e9, 4e9))
    settle(tmp_path)
    assert contents(tmp_path) == dict.fromkeys("abc", "newer")


@pytest.mark.full
def test_a_pipe_that_came_after_the_kill_is_kept(tmp_path: Path) -> None:
    write_together(tmp_path, {"a": "old", "b": "old"})
    left_behind(tmp_path, {"a": "new", "b": "new"})
    (tmp_path / "a").unlink()
    os.mkfifo(tmp_path / "a")
    settle(tmp_path)
    assert contents(tmp_path) == {"b": "new"}
    assert (tmp_path / "a").is_fifo()


def test_marks_of_the_living_stay(tmp_path: Path) -> None:
    """A killed process holds no lock; a living one does, whatever its number is."""
    mark = tmp_path / "mark"
    with liveness_mark(mark):
        assert not remove_abandoned_mark(mark)
        assert mark.exists()
    assert not mark.exists()

    def hold() -> None:
        with liveness_mark(mark):
            os.kill(os.getpid(), signal.SIGKILL)

    process = multiprocessing.get_context("fork").Process(target=hold)
    process.start()
    process.join()
    assert mark.exists()
    assert remove_abandoned_mark(mark)
    assert not mark.exists()
    assert remove_abandoned_mark(mark)


@pytest.mark.full
def test_one_file_is_not_overtaken_by_an_older_set(tmp_path: Path) -> None:
    write_together(tmp_path, {"a": "old", "b": "old"})
    left_behind(tmp_path, {"a": "new", "b": "new"})
    write_whole(tmp_path / "a", "newest")
    settle(tmp_path)
    assert contents(tmp_path) == {"a": "newest", "b": "new"}


@pytest.mark.full
def test_a_set_below_does_not_take_parts_of_a_set_above_for_abandoned(tmp_path: Path) -> None:
    left_behind(tmp_path, {"a": "new", "sub/b": "new"})
    write_together(tmp_path / "sub", {"c": "other", "d": "other"})
    settle(tmp_path)
    assert contents(tmp_path) == {"a": "new", "sub/b": "new", "sub/c": "other", "sub/d": "other"}


HEX = "0123456789abcdef" * 2


@pytest.mark.parametrize(
    "moves",
    [
        [["../secret", "stolen", None]],
        [[f"../.x.{HEX}.1.part", "../x", None]],
        [[f".b.{HEX}.0.part", "a", None]],
        [[f".a.{HEX}.1.part", "a", None]],
        [[f"/.a.{HEX}.0.part", "/a", None]],
        [[f"away/.a.{HEX}.1.part", "away/a", None]],
        [[f".link.{HEX}.0.part", "link", None]],
        [[f".a.{HEX}.0.part", "a"]],
        [[f".a.{HEX}.0.part", "a", 7]],
        [["a"]],
        [[1, 2, 3]],
        7,
        None,
    ],
)
def test_a_journal_moves_only_what_a_set_has_written(tmp_path: Path, moves: Any) -> None:
    """A folder may come from anybody: a journal in it gives no power over other files."""
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "folder"
    write_together(folder, {"a": "old", "b": "old"})
    for name in (f".a.{HEX}.0.part", f".b.{HEX}.0.part", f".a.{HEX}.1.part"):
        (folder / name).write_text("planted")
    (tmp_path / f".x.{HEX}.1.part").write_text("planted")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / f".a.{HEX}.1.part").write_text("planted")
    (folder / "away").symlink_to(tmp_path / "outside")
    (folder / f".link.{HEX}.0.part").symlink_to(tmp_path / "secret")
    before = contents(tmp_path)
    journal = folder / JOURNAL
    journal.write_text("{" if moves is None else json.dumps(moves))
    for work in (settle, lambda place: write_together(place, {"a": "new", "b": "new"})):
        with pytest.raises(FileError, match="journal"):
            work(folder)
        assert {
            key: text for key, text in contents(tmp_path).items() if JOURNAL not in key
        } == before


def test_a_journal_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / JOURNAL)
    with pytest.raises(FileError, match="journal"):
        settle(tmp_path)


def test_a_set_follows_links_and_never_replaces_a_pipe(tmp_path: Path) -> None:
    elsewhere = write_whole(tmp_path / "elsewhere" / "real.yaml", "old")
    folder = tmp_path / "folder"
    write_together(folder, {"b": "old"})
    (folder / "a.yaml").symlink_to(elsewhere)
    write_together(folder, {"a.yaml": "new", "b": "new"})
    assert (folder / "a.yaml").is_symlink()
    assert elsewhere.read_text() == "new"
    os.mkfifo(folder / "pipe")
    with pytest.raises(InputError, match="no folder, pipe"):
        write_together(folder, {"b": "newer", "pipe": "newer"})
    assert (folder / "pipe").is_fifo()
    assert (folder / "b").read_text() == "new"


@pytest.mark.full
def test_two_exports_into_one_folder_are_both_recorded(tmp_path: Path) -> None:
    """And a third one of either is no change by somebody else."""
    call = "import deltadyn as dd, sys; dd.export(dd.load_robot('{}'), sys.argv[1], sys.argv[2])"
    code = call.format(ROBOT)
    runs = [
        subprocess.Popen([sys.executable, "-c", code, target, str(tmp_path)])
        for target in ("c", "structured-text")
    ]
    assert [run.wait() for run in runs] == [0, 0]
    (record,) = tmp_path.glob("*.json")
    assert set(json.loads(record.read_text())) == {"c", "structured-text"}
    dd.export(dd.load_robot(ROBOT), "c", tmp_path)
