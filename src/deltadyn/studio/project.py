"""The tab Project: a session saved and opened as a project folder, as `deltadyn init` makes one.

robot.yaml, reference.yaml    the robot, and the robot before its changes
columns.yaml                  what the columns of the logs are
recordings/                   the log, the held-out log and the empty run, as they were uploaded
results/                      the identified robot, the report and its numbers
motion.csv                    the uploaded motion
deltadyn.toml                 for the command line: `deltadyn identify . recordings/log.csv`
studio.json                   pose, motion and names of the session
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltadyn.errors import DeltadynError, FileError, InputError
from deltadyn.files import settle, write_together
from deltadyn.identification.summary import robot_file_text
from deltadyn.robot.file import load_robot
from deltadyn.studio.columns import MENDING, Draft, reading_of
from deltadyn.studio.log import report_files
from deltadyn.studio.page import Tab, paragraph
from deltadyn.studio.robot import robot_bytes
from deltadyn.studio.session import Session, Upload, known_ending

if TYPE_CHECKING:
    from deltadyn.studio.server import Window

FILE, VERSION = "studio.json", 1
ROBOT, REFERENCE, COLUMNS, MOTION = "robot.yaml", "reference.yaml", "columns.yaml", "motion.csv"
TOML = """# A deltadyn project, saved by the studio. Commands that run in this folder read it:
#   deltadyn identify . {log}

[project]
robot = "{robot}"
"""


def save_project(session: Session, folder: str) -> Path:
    """Write a session to a folder that is new or empty, or that was saved so before."""
    path = _folder(folder)
    if path.exists() and not (path / FILE).is_file() and any(path.iterdir()):
        raise InputError("folder", folder, f"a new or empty folder, or one with {FILE}")
    state: dict[str, Any] = {"version": VERSION, "pose": session.pose.p.tolist()}
    state["motion"] = None if session.track is None else session.track.name
    state["payload"] = session.payload
    files: dict[str, bytes] = {ROBOT: robot_bytes(session.robot)}
    files[REFERENCE] = robot_bytes(session.reference)
    if session.motion_file is not None:
        files[MOTION] = session.motion_file.content
        state["motion file"] = session.motion_file.name
    reading: dict[str, float] = {}
    drafts = {
        "log": session.draft,
        "held-out": session.held_out_draft,
        "empty": session.empty_draft,
    }
    for key, draft in drafts.items():
        if draft is None:
            continue
        name = f"recordings/{key}{known_ending(draft.upload.shown)}"
        files[name] = draft.upload.content
        state[key] = {"file": name, "name": draft.upload.name}
        if key == "log":
            files[COLUMNS] = draft.text().encode()
            reading = _reading(draft)
            state["reading"] = reading
    if session.study is not None:
        page, numbers = report_files(session.study)
        files |= {"results/report.html": page, "results/report.json": numbers}
        files["results/identified.yaml"] = robot_file_text(session.study.fit).encode()
    if not (path / "deltadyn.toml").exists():
        files["deltadyn.toml"] = _toml(state, reading).encode()
    try:
        write_together(path, {**files, FILE: json.dumps(state, indent=2) + "\n"})
    except OSError as error:
        raise InputError("folder", folder, f"one that can be written ({error.strerror})") from error
    return path.resolve()


def open_project(session: Session, folder: str) -> Path:
    """Take the session of a folder; the one before is left as it was where that fails."""
    path = _folder(folder)
    state = _state(path)
    found = Session(load_robot(path / REFERENCE), session.limit / 1e6)
    found.replace_robot(load_robot(path / ROBOT))
    if (path / COLUMNS).is_file():
        found.columns = Upload(COLUMNS, (path / COLUMNS).read_bytes())
    found.reading = {key: float(value) for key, value in state.get("reading", {}).items()}
    payload = state.get("payload")
    for key in ("log", "held-out"):
        if key in state:
            found.upload_log(_upload(path, state[key]), held_out=key == "held-out", payload=payload)
    if "empty" in state:
        found.upload_empty(_upload(path, state["empty"]))
    if (path / MOTION).is_file():
        found.upload_motion(
            Upload(str(state.get("motion file", MOTION)), (path / MOTION).read_bytes())
        )
        found.track = None
    if state.get("motion"):
        found.play(state["motion"])
    if len(state["pose"]) != found.robot.dof:
        allowed = f"{found.robot.dof} numbers, as robot {found.robot.name!r} has coordinates"
        raise FileError("pose", state["pose"], allowed, path=str(path / FILE))
    found.move(state["pose"])
    session.take(found)
    return path.resolve()


def _folder(text: str) -> Path:
    if not text.strip():
        raise InputError("folder", text, "the path of a folder on this machine")
    path = Path(text.strip()).expanduser()
    if path.exists() and not path.is_dir():
        raise InputError("folder", text, "a folder, not a file")
    return path


def _state(path: Path) -> dict[str, Any]:
    file = path / FILE
    settle(path)
    try:
        state = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError("folder", str(path), f"a folder with {FILE}, as Save makes it") from None
    except (OSError, ValueError, RecursionError) as error:
        problem = "JSON that the studio wrote"
        raise FileError("project", str(file), problem, path=str(file)) from error
    if not isinstance(state, dict) or state.get("version") != VERSION:
        version = state.get("version") if isinstance(state, dict) else state
        raise FileError("version", version, str(VERSION), path=str(file))
    for name, (allowed, sound) in FIELDS.items():
        if name == "pose" or name in state:
            value = state.get(name)
            if not sound(value):
                raise FileError(name, value, allowed, path=str(file))
    return state


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST


def _is_text(value: Any) -> bool:
    """Whether a value is a text that can be written as UTF-8; half of a surrogate pair cannot."""
    return isinstance(value, str) and not any("\ud800" <= mark <= "\udfff" for mark in value)


def _is_log(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_text(value.get(key)) for key in ("file", "name"))


LARGEST = 1e300  # a number in studio.json
#: What a field of studio.json holds, in words, and whether a value is that.
FIELDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "pose": (
        "a list of numbers",
        lambda value: isinstance(value, list) and all(map(_is_number, value)),
    ),
    "motion": ("the name of a motion, or null", lambda value: value is None or _is_text(value)),
    "motion file": ("the name of a file", _is_text),
    "payload": ("a number of kg, or null", lambda value: value is None or _is_number(value)),
    "reading": (
        "a table of numbers by option",
        lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
    ),
    **dict.fromkeys(("log", "held-out", "empty"), ("a table with file and name", _is_log)),
}


def _upload(path: Path, entry: Mapping[str, str]) -> Upload:
    """A log of the project; only files of its own folder are read."""
    try:
        file = (path / entry["file"]).resolve()
        inside = file.is_relative_to((path / "recordings").resolve()) and file.is_file()
    except (OSError, ValueError, RuntimeError):  # no path of any system, or links in a circle
        inside = False
    if not inside:
        raise FileError("recording", entry["file"], "a file in recordings/", path=str(path / FILE))
    return Upload(entry["name"], file.read_bytes())


def _reading(draft: Draft) -> dict[str, float]:
    """Options that a column map cannot hold."""
    kept = ("sample_time", *MENDING)
    return {key: value for key, value in draft.asked.items() if key in kept}


def _toml(state: Mapping[str, Any], reading: Mapping[str, float]) -> str:
    log = state["log"]["file"] if "log" in state else "recordings/log.csv"
    text = TOML.format(robot=ROBOT, log=log)
    if "log" in state:
        text += f'columns = "{COLUMNS}"\n'
    if reading:
        options = reading_of(reading).items()
        text += "\n[reading]\n" + "".join(f"{key} = {json.dumps(v)}\n" for key, v in options)
    return text


# The tab.


class ProjectTab(Tab):
    """Save and open."""

    def __init__(self, window: Window, tab: Any) -> None:
        super().__init__(window, tab)
        gui = self._gui
        hint = "A path on this machine; ~ is your home"
        self._path = gui.add_text("folder", window.project, hint=hint)
        self._path.on_update(window.guarded(lambda _: self._enable()))
        self._save = window.button("Save the session", self._saved)
        self._open = window.button("Open a project", self._opened, color="gray")
        self._about = gui.add_html(
            paragraph(
                "Robot, changes, pose, motion, logs, their columns and results go to a folder "
                "that `deltadyn` commands read too. An opened log is read and checked anew; "
                "identify it again."
            )
        )
        self._enable()

    def _enable(self) -> None:
        self._save.disabled = self._open.disabled = not self._path.value.strip()

    def _saved(self, _event: Any) -> None:
        path = save_project(self.window.session, self._path.value)
        self.window.say(f"saved in {path}", "good")

    def _opened(self, _event: Any) -> None:
        if self.window.log_tab.busy:
            raise DeltadynError("an identification is under way; wait for it or cancel it")
        self.window.motion_tab.pause()
        path = open_project(self.window.session, self._path.value)
        self.window.robot_changed(new=True)
        self.window.say(f"opened {path}", "good")
