"""Every command that writes, with a call that writes anew over the result of another call.

`tests/crash/test_table.py` compares the table with the command line: a new command, option that
names an output, or export target must come here or be named among those that write nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deltadyn.commands.project import MARK

ROBOT, OTHER = "sipro-d3-1200", "autonox-rl5-1450"
LOG, HELD_OUT, POSES = "inputs/log.csv", "inputs/held-out.csv", "inputs/poses.csv"
EMPTY = "inputs/empty.csv"  # long enough to learn what no contact looks like
WORK = "work"  # the folder that is watched


@dataclass(frozen=True)
class Case:
    """A call in a folder that holds `inputs/`, and what stood there before.

    `old` is the call whose result is replaced. None: other texts under the same names, as for
    pages; an empty call: nothing. `pieces` are names of files with a fate of their own, by how they
    begin, each for itself where that ends in /; all others are one set. `again` is the exit status
    of the same call where its result is there already.
    """

    new: tuple[str, ...]
    old: tuple[str, ...] | None = None
    pieces: tuple[str, ...] = ()
    again: int | None = None
    call: str | None = None  # of the library, instead of the command line
    cwd: str = "."
    beside: bool = True  # whether the old and the new call may write at the same time
    slow: bool = False  # computes for long: for the nightly run
    before: Mapping[str, str] = field(default_factory=dict)  # files of the folder, by name
    then: Mapping[str, str] = field(default_factory=dict)  # what is changed after the old call


def _page(*call: str, slow: bool = False) -> Case:
    """A call that writes one page."""
    return Case((*call, "--out", f"{WORK}/page.html"), slow=slow)


def _export(target: str, *more: str, slow: bool = False) -> Case:
    call = ("export", ROBOT, target, "--out", f"{WORK}/model", *more)
    return Case(call, (*call, "--payload", "1.5"), slow=slow)


_CHECK = ("--out", "work/check.html", "--write-columns", "work/columns.yaml",
          "--bundle", "work/bundle.zip")  # fmt: skip
_EXCITE = ("--duration", "2", "--harmonics", "3", "--time-limit", "5", "--out", "work/excite.csv",
           "--page", "work/excite.html")  # fmt: skip
_IDENTIFY = ("identify", ROBOT, LOG, "--hold", "--terms", "file", "--out", "work/mine")
_FLEET = ("inputs/fleet", "--terms", "file", "--out", "work/fleet.html", "--save", "work/members")
_ADD = ("history", "add", ROBOT, "--serial", "7", "--terms", "file")
_STORE = ("--store", "inputs/history.db")
_PROJECT = """[project]
robot = "sipro-d3-1200"
"""
_RECORDED = f"""
{MARK}

[runs.export]
arguments = ["--out", "results/model", "--", ".", "sheets"]
deltadyn = "0.1.0"
"""

CASES: dict[str, Case] = {
    "demo": Case(
        ("demo", "--quick", "--robot", ROBOT, "--out", "work/demo"),
        ("demo", "--quick", "--robot", OTHER, "--out", "work/demo"),
        pieces=("demo/picture", "demo/loads"),
    ),
    "init": Case(("init", "work/project", "--robot", ROBOT), (), again=2),
    "check": Case(("check", ROBOT, LOG, *_CHECK), ("check", ROBOT, HELD_OUT, *_CHECK)),
    "calibrate --plan": Case(
        ("calibrate", ROBOT, "--plan", "12", "--out", "work/poses.csv"),
        ("calibrate", OTHER, "--plan", "12", "--out", "work/poses.csv"),
    ),
    "calibrate": Case(
        ("calibrate", ROBOT, POSES, "--model", "homing", "--out", "work/mine"),
        ("calibrate", ROBOT, POSES, "--model", "sizes", "--out", "work/mine"),
    ),
    "excite": Case(("excite", ROBOT, *_EXCITE), ("excite", OTHER, *_EXCITE), slow=True),
    "simulate": Case(
        ("simulate", ROBOT, "--out", "work/log.csv", "--loads-page", "work/loads.html"),
        ("simulate", OTHER, "--out", "work/log.csv", "--loads-page", "work/loads.html"),
    ),
    "simulate to Parquet": Case(
        ("simulate", ROBOT, "--out", "work/log.parquet"),
        ("simulate", OTHER, "--out", "work/log.parquet"),
    ),
    "identify": Case(_IDENTIFY, (*_IDENTIFY, "--method", "base")),
    "validate": _page("validate", ROBOT, LOG),
    "report": Case(
        ("report", ROBOT, LOG, "--validate", HELD_OUT, "--methods", "base", "--out", "work/r.html"),
        ("report", ROBOT, HELD_OUT, "--validate", LOG, "--methods", "base", "--out", "work/r.html"),
        slow=True,
    ),
    "report --compare": Case(
        ("report", "--compare", "inputs/one.json", "inputs/two.json", "--out", "work/r.html"),
        ("report", "--compare", "inputs/two.json", "inputs/one.json", "--out", "work/r.html"),
    ),
    "payload": _page("payload", ROBOT, LOG, "--empty", HELD_OUT, slow=True),
    "force": _page("force", ROBOT, LOG, "--empty", EMPTY, slow=True),
    "sizing": _page("sizing", ROBOT, "--cycles", "60"),
    "coupling": _page("coupling", ROBOT, "--resolution", "5"),
    "fleet compare": Case(
        ("fleet", "compare", ROBOT, *_FLEET),
        ("fleet", "compare", ROBOT, *_FLEET, "--method", "base"),
        pieces=("members",),  # a folder of its own, with a journal of its own
        slow=True,
    ),
    "fleet identify": Case(
        (
            "fleet",
            "identify",
            ROBOT,
            "inputs/fleet",
            "--method",
            "base",
            "--work",
            "work/kept",
            "--save",
            "work/fits",
        ),
        (),
        pieces=("kept/", "fits/"),
        slow=True,
    ),
    "fleet payload": Case(
        ("fleet", "payload", ROBOT, "inputs/nights", "--work", "work/kept"),
        (),
        pieces=("kept/",),
        slow=True,
    ),
    "fleet drift": Case(
        (
            "fleet",
            "drift",
            ROBOT,
            "inputs/nights",
            "--work",
            "work/kept",
            "--save",
            "work/fits",
            "--out",
            "work/d.html",
        ),
        (),
        pieces=("kept/", "fits/", "d.html"),
        slow=True,
    ),
    "history add": Case(
        (*_ADD, HELD_OUT, "--time", "2020-05-02T00:00:00+00:00", "--store", "work/history.db"),
        (*_ADD, LOG, "--time", "2020-05-01T00:00:00+00:00", "--store", "work/history.db"),
        again=0,
    ),
    "history forget": Case(
        ("history", "forget", "--older-than", "1y", "--yes", "--store", "work/history.db"),
        (*_ADD, LOG, "--time", "2020-05-01T00:00:00+00:00", "--store", "work/history.db"),
        beside=False,
        slow=True,
    ),
    "history correct": Case(
        ("history", "correct", "1", "--note", "b", "--reason", "r", "--store", "work/history.db"),
        (*_ADD, LOG, "--time", "2020-05-01T00:00:00+00:00", "--store", "work/history.db"),
        beside=False,
        slow=True,
    ),
    "history remove": Case(
        ("history", "remove", "1", "--reason", "r", "--store", "work/history.db"),
        (*_ADD, LOG, "--time", "2020-05-01T00:00:00+00:00", "--store", "work/history.db"),
        beside=False,
        slow=True,
        again=2,
    ),
    "history export": Case(("history", "export", "--out", "work/tables", *_STORE), slow=True),
    "history refit": Case(("history", "refit", "7", "--out", "work/mine", *_STORE), slow=True),
    "history backup": Case(("history", "backup", "work/copy.db", *_STORE), (), slow=True),
    "history drift": _page("history", "drift", *_STORE, slow=True),
    "export c": _export("c"),
    "export structured-text": _export("structured-text"),
    "export mjcf": _export("mjcf", slow=True),
    "export urdf": _export("urdf", slow=True),
    "export sdf": _export("sdf", slow=True),
    "export usd": _export("usd", slow=True),
    "export fmu": _export("fmu", "--no-binary", slow=True),
    "export sheets": _export("sheets"),
    "reproduce audit": _page("reproduce", "audit", slow=True),
    # in a project every run is recorded in deltadyn.toml once its result is there
    "export in a project": Case(
        ("export", ".", "sheets", "--out", "results/model"),
        ("export", ".", "sheets", "--out", "results/model", "--payload", "1.5"),
        pieces=("deltadyn.toml",),
        cwd=WORK,
        before={"deltadyn.toml": _PROJECT},
    ),
    "repeat": Case(
        ("repeat", "export"),
        ("export", ".", "sheets", "--out", "results/model", "--payload", "1.5"),
        pieces=("deltadyn.toml",),
        cwd=WORK,
        beside=False,
        before={"deltadyn.toml": _PROJECT},
        then={"deltadyn.toml": _PROJECT + _RECORDED},
    ),
    "project of the studio": Case(
        ("work/project", ROBOT, LOG), ("work/project", ROBOT, HELD_OUT), call="save_project"
    ),
    "information": Case(
        ("work/information.npz", LOG), ("work/information.npz", HELD_OUT), call="save_information"
    ),
}

#: Commands that write no file, and why.
NOTHING = {
    "history journal": "prints",
    "history list": "prints",
    "history show": "prints",
    "robots": "prints",
    "completion": "prints",
    "bench": "prints; what it compiles lies in the user's cache",
    "studio": "a server; what it saves is the case `project of the studio`",
    "reproduce ladder": "prints",
}
#: Commands with the same code for writing as another, which compute for many minutes.
SAME = {
    "reproduce kim2022": "reproduce audit",
    "reproduce falezza2022": "reproduce audit",
    "reproduce falezza2020": "reproduce audit",
    "reproduce gnad2024": "reproduce audit",
    "reproduce telescopic2022": "reproduce audit",
}


# Calls of the library that write, other than through a command.


def save_project(folder: str, robot: str, log: str) -> None:
    """A session of the studio with a log."""
    from deltadyn.robot import load_robot
    from deltadyn.studio.project import save_project as save
    from deltadyn.studio.session import Session, Upload

    session = Session(load_robot(robot))
    session.upload_log(Upload(Path(log).name, Path(log).read_bytes()))
    save(session, folder)


def save_information(path: str, log: str) -> None:
    """The factors of a log."""
    from deltadyn.identification import identify
    from deltadyn.recording import read_recording
    from deltadyn.robot import load_robot

    robot = load_robot(ROBOT)
    fit = identify(robot, read_recording(log, robot), "base", terms="file", unidentifiable="hold")
    assert fit.information is not None
    fit.information.save(path)


CALLS: dict[str, Callable[..., None]] = {
    "save_project": save_project,
    "save_information": save_information,
}
