"""Windows, as far as another system can show it: names, drives, locks, missing calls.

`tests/deploy/test_windows.py` runs a Python of Windows under wine.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Callable
from pathlib import Path, PureWindowsPath

import pytest

import deltadyn as dd
from deltadyn import files, systems
from deltadyn.commands import common
from deltadyn.commands.live import stream_of
from deltadyn.errors import DeltadynError, FileError, InputError
from deltadyn.files import JOURNAL, file_name, locked, settle, with_ending, write_whole
from deltadyn.fleet.remote import is_remote
from deltadyn.fleet.sources import find_logs
from deltadyn.history.store import open_database
from deltadyn.recording.readers import apart

FREE, TAKEN = 0, 2  # of msvcrt: LK_UNLCK, LK_NBLCK


class Locks(types.ModuleType):
    """The one function of `msvcrt` that locks need: a file of the same place is locked once."""

    LK_UNLCK, LK_NBLCK = FREE, TAKEN

    def __init__(self) -> None:
        super().__init__("msvcrt")
        self.held: set[int] = set()

    def locking(self, number: int, mode: int, _bytes: int) -> None:
        place = os.fstat(number).st_ino
        if mode == FREE:
            self.held.remove(place)
        elif place in self.held:
            raise PermissionError(13, "Permission denied")
        else:
            self.held.add(place)


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> Locks:
    """Locks and names as on Windows."""
    locks = Locks()
    monkeypatch.setattr(systems, "WINDOWS", True)
    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", locks)
    return locks


# Names.


@pytest.mark.parametrize(
    "name", ["NUL", "nul", "aux.html", "CON", "com1.csv", "LPT9", "C:\\logs\\prn.txt", "nul .txt"]
)
def test_names_of_devices(name: str) -> None:
    assert systems.is_device(name)


@pytest.mark.parametrize("name", ["null", "aux2.html", "console.csv", "com.csv", "lpt10", "a.nul"])
def test_names_that_only_look_like_devices(name: str) -> None:
    assert not systems.is_device(name)


@pytest.mark.parametrize("name", ["D3:0117", "a?", "mine.", "mine ", "aux", 'x"y', "a|b", "a\tb"])
def test_a_name_that_windows_bars_is_refused_there(name: str, windows: Locks) -> None:
    with pytest.raises(InputError, match=r"serial number is .*Windows"):
        file_name("serial number", name)


@pytest.mark.parametrize("name", ["D3:0117", "mine.", "aux"])
def test_other_systems_keep_their_names(name: str) -> None:
    assert file_name("serial number", name) == name


def test_a_name_of_a_robot_is_a_name_on_windows(windows: Locks) -> None:
    for name in (*dd.robot_names(), "D3-0117", "Mühle 3", "a.b.c"):
        assert file_name("name", name) == name


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("C:\\a.b\\mine", "C:\\a.b\\mine.yaml"),
        ("C:\\robots\\mine.json", "C:\\robots\\mine.yaml"),
        ("\\\\server\\share\\mine.v2", "\\\\server\\share\\mine.v2.yaml"),
        ("C:mine", "C:mine.yaml"),
    ],
)
def test_endings_of_windows_paths(
    given: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "Path", PureWindowsPath)
    assert str(with_ending(given, ".yaml")) == expected


def test_nothing_is_put_in_the_place_of_a_device(tmp_path: Path, windows: Locks) -> None:
    with pytest.raises(InputError, match=r"aux\.html.*another name"):
        write_whole(tmp_path / "aux.html", "page")
    assert list(tmp_path.iterdir()) == []
    write_whole(tmp_path / "nul", "nothing")  # on Windows written through, whatever the folder
    assert [item.name for item in tmp_path.iterdir()] == ["nul"]


# Drives and schemes.


@pytest.mark.parametrize("place", ["C:\\logs", "c:/logs", "c://logs", "\\\\server\\share", "C:"])
def test_a_drive_is_no_scheme(place: str) -> None:
    assert not is_remote(place)
    with pytest.raises(InputError, match=r"source is .*that is there"):
        find_logs(place)
    with pytest.raises(FileError, match="does not exist"):
        open_database(place, create=False)
    with pytest.raises(InputError, match="--live"):
        stream_of(place, None, None)


@pytest.mark.parametrize("place", ["s3://plant/logs", "memory://x", "gs+v2://a", "file:///C:/a"])
def test_schemes(place: str) -> None:
    assert is_remote(place)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("file:///C:/logs/a b", "C:/logs/a b"),
        ("file://server/share/logs", "//server/share/logs"),
        ("file:///logs", "/logs"),
    ],
)
def test_files_by_url(url: str, path: str, windows: Locks) -> None:
    assert systems.path_of_url(url) == path
    assert PureWindowsPath(path).as_posix() == path


def test_files_by_url_elsewhere() -> None:
    assert systems.path_of_url("file:///C:/logs") == "/C:/logs"


def test_a_robot_file_of_a_drive_is_a_path() -> None:
    with pytest.raises(FileError, match=r"C:\\robots\\mine\.yaml"):
        dd.load_robot("C:\\robots\\mine.yaml")


# Files that are written whole.


def test_a_folder_is_locked_by_a_file_elsewhere(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    windows: Locks,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A second writer waits; one that may not wait long gets an error that names the folder."""
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    order: list[str] = []

    def second() -> None:
        with locked(tmp_path):
            order.append("second")

    waiting = threading.Thread(target=second)
    with locked(tmp_path):
        with locked(tmp_path.parent):  # another folder has a lock of its own
            assert len(windows.held) == 2
        waiting.start()
        with pytest.raises(TimeoutError, match=tmp_path.name), locked(tmp_path, 0.06):
            pass
        order.append("first")
        assert list(tmp_path.iterdir()) == []
    waiting.join()
    assert order == ["first", "second"]
    assert windows.held == set()
    assert list(temporary.iterdir()) == []


def test_another_error_than_a_held_lock_is_raised_at_once(
    tmp_path: Path, windows: Locks, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(windows, "locking", broken)
    with pytest.raises(OSError, match="Bad file descriptor"), locked(tmp_path):
        pass


def test_sets_are_written_without_fcntl(tmp_path: Path, windows: Locks) -> None:
    with files.file_set():
        write_whole(tmp_path / "a.txt", "one")
        write_whole(tmp_path / "deep" / "b.txt", "two")
    write_whole(tmp_path / "a.txt", "three")
    assert (tmp_path / "a.txt").read_text("utf-8") == "three"
    assert (tmp_path / "deep" / "b.txt").read_text("utf-8") == "two"
    assert sorted(item.name for item in tmp_path.rglob("*")) == ["a.txt", "b.txt", "deep"]
    assert windows.held == set()


@pytest.mark.parametrize("fails", [False, True])
def test_no_lock_stays_in_the_temporary_folder(
    tmp_path: Path, windows: Locks, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """Whether what is done under the lock succeeds or not."""
    place, temporary = tmp_path / "mine", tmp_path / "tmp"
    place.mkdir()
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with contextlib.suppress(ZeroDivisionError), locked(place):
        assert len(list(temporary.iterdir())) == 1
        assert 1 / (1 - fails)
    assert list(temporary.iterdir()) == []
    assert windows.held == set()


def refusing(times: int) -> Callable[[Path, Path], Path]:
    """`Path.replace` as Windows has it while somebody reads the target, so many times."""
    real, left = Path.replace, [times]

    def replace(self: Path, target: Path) -> Path:
        if left[0]:
            left[0] -= 1
            raise PermissionError(13, "Access is denied")
        return real(self, target)

    return replace


def test_a_rename_waits_for_a_reader(
    tmp_path: Path, windows: Locks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "replace", refusing(2))
    assert write_whole(tmp_path / "page.html", "new").read_text("utf-8") == "new"


def test_a_rename_that_stays_refused_leaves_what_was_there(
    tmp_path: Path, windows: Locks, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = write_whole(tmp_path / "page.html", "old")
    monkeypatch.setattr(files, "OPEN", 0.1)
    monkeypatch.setattr(Path, "replace", refusing(1000))
    with pytest.raises(PermissionError):
        write_whole(page, "new")
    assert page.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [page]


def test_what_a_killed_process_left_is_removed(tmp_path: Path, windows: Locks) -> None:
    """A scratch file is closed before its rename: whether it is in use says the mark beside it."""
    killed, bare, used = (tmp_path / f".a.txt.{letter * 32}.tmp" for letter in "abc")
    for item in (killed, bare, used):
        item.write_text("half", "utf-8")
        os.utime(item, (1e9, 1e9))
    killed.with_suffix(files.MARK).touch()
    lonely = tmp_path / f".a.txt.{'d' * 32}{files.MARK}"
    lonely.touch()
    with files.liveness_mark(used.with_suffix(files.MARK)):
        write_whole(tmp_path / "a.txt", "complete")
        assert sorted(tmp_path.iterdir()) == sorted(
            [used, used.with_suffix(files.MARK), tmp_path / "a.txt"]
        )


@pytest.mark.parametrize("name", ["x\\..\\..\\a", "C:a", "\\\\server\\share\\a", "a:stream"])
def test_a_journal_leads_nowhere_else_on_windows(tmp_path: Path, name: str, windows: Locks) -> None:
    part = f".{name}.{'0' * 32}.0.part"
    (tmp_path / JOURNAL).write_text(json.dumps([[part, name, None]]), "utf-8")
    with pytest.raises(FileError, match="journal"):
        settle(tmp_path)


# Processes.


def test_a_reader_that_does_not_end_is_ended_where_nothing_forks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program reads one file and ends; a clock of this process watches it."""
    log = tmp_path / "log.mat"
    log.write_bytes(b"x")
    monkeypatch.delattr(os, "fork")
    monkeypatch.setattr(apart, "_free", [])
    sleeping = "import sys, time; sys.stdin.readline(); time.sleep(600)"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", sleeping], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
    ]
    monkeypatch.setattr(apart, "_started", started.pop)
    monkeypatch.setattr(apart, "LEAST_SECONDS", 0.1)
    monkeypatch.setattr(apart, "STARTS_IN", 0.1)
    with pytest.raises(DeltadynError, match="it does not end"):
        list(apart.read_apart("matlab_5", str(log), "a MATLAB file"))


#: Modules and calls that Windows lacks; the core path is walked without them.
BARE = """
import importlib.util, os, select, signal, subprocess, sys, types
import numpy, scipy.optimize, scipy.signal, click._termui_impl, rich.progress, sqlite3

for name in ("fcntl", "resource", "pwd", "grp", "termios", "pty", "tty", "syslog"):
    sys.modules[name] = None
for module, names in (
    (os, "killpg getuid geteuid getpgid setsid sched_getaffinity mkfifo chown "
         "getloadavg nice uname sysconf statvfs pread wait3 WTERMSIG"),
    (select, "poll epoll"),
    (signal, "SIGALRM SIGKILL SIGUSR1 SIGHUP SIGQUIT setitimer alarm pthread_kill"),
):
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
os.kill = None

source = importlib.util.find_spec("deltadyn").submodule_search_locations[0]
place = os.path.join(source, "systems.py")
spec = importlib.util.spec_from_file_location("deltadyn.systems", place)
systems = importlib.util.module_from_spec(spec)
sys.modules["deltadyn.systems"] = systems
spec.loader.exec_module(systems)
systems.WINDOWS = True
msvcrt = types.ModuleType("msvcrt")
msvcrt.LK_NBLCK, msvcrt.LK_UNLCK, msvcrt.locking = 2, 0, lambda *_: None
sys.modules["msvcrt"] = msvcrt

from deltadyn.cli import main, COMMANDS
from deltadyn.files import fcntl
assert fcntl is None

def call(*words, status=0):
    try:
        main(words, prog_name="deltadyn")
    except SystemExit as end:
        assert end.code == status, (words, end.code)

for command in COMMANDS:
    call(command.name, "--help")
call("simulate", "example-delta", "--preset", "ideal", "--out", "log.csv")
call("validate", "example-delta", "log.csv")
call("export", "example-delta", "c", "--out", "c")
call("history", "add", "example-delta", "log.csv", "--store", "history.sqlite", "--serial", "1",
     "--time", "2026-05-03T02:00:00+02:00")
"""


@pytest.mark.full
def test_the_core_path_without_what_windows_lacks(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BARE], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    assert {"log.csv", "c", "history.sqlite"} <= {p.name for p in tmp_path.iterdir()}


# Texts.


def test_a_robot_file_that_powershell_wrote(tmp_path: Path) -> None:
    """Its > writes UTF-16 with a mark, and Windows' ends of lines."""
    robot = dd.load_robot("example-delta")
    plain = tmp_path / "plain.yaml"
    robot.save(plain)
    wide = tmp_path / "wide.yaml"
    content = plain.read_text("utf-8").replace("\n", "\r\n").encode("utf-16")
    wide.write_bytes(content)
    assert dd.load_robot(wide) == robot
    wide.write_bytes(content[:-1])
    with pytest.raises(FileError, match="is not a text in UTF-16"):
        dd.load_robot(wide)


def test_a_pipe_that_windows_broke_ends_a_command_quietly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Pipe:
        def flush(self) -> None:
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(systems, "WINDOWS", True)
    monkeypatch.delattr(select, "poll")
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    broken = OSError(errno.EINVAL, "Invalid argument")
    assert common._broken_pipe(broken)
    assert not common._broken_pipe(OSError(errno.ENOSPC, "No space left on device"))
    assert not common._reader_has_gone()
    monkeypatch.setattr(sys, "stdout", Pipe())
    assert common._reader_has_gone()


def test_an_output_without_greek_letters_shows_the_rest() -> None:
    """A pipe of Windows has the letters of one part of the world."""
    code = (
        "from deltadyn.systems import write_any_text; write_any_text(); "
        "import click; click.echo('\\u03c8 = 1\\u00b0')"
    )
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.stdout.decode("cp1252").strip() == "? = 1°", done.stderr


def test_a_log_is_read_apart_where_a_program_does_not_see_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with PYTHONSAFEPATH, or in an interpreter that a product of others brings along."""
    from scipy.io import savemat

    savemat(tmp_path / "log.mat", {"t_s": [0.0, 0.1, 0.2]})
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    monkeypatch.setattr(apart, "_free", [])
    found = dict(apart.read_apart("matlab_5", str(tmp_path / "log.mat"), "a MATLAB file"))
    assert list(found["t_s"]) == [0.0, 0.1, 0.2]
    for running in apart._free:
        running.communicate()
