"""The tab Log: upload, check, identify in a thread, judge, and the files to take away."""

from __future__ import annotations

import io
import math
import os
import tempfile
import threading
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltadyn.errors import DeltadynError, UnknownNameError
from deltadyn.exports.export import TARGETS, export
from deltadyn.identification.methods.registry import METHODS
from deltadyn.identification.summary import robot_file_text
from deltadyn.recording.checks import check_recording
from deltadyn.recording.checks.findings import Findings
from deltadyn.recording.conventions import Conventions
from deltadyn.recording.recording import Recording
from deltadyn.report.study import Study, study
from deltadyn.robot import Robot
from deltadyn.studio.columns import draft_html
from deltadyn.studio.forms import MARK, Form, Values
from deltadyn.studio.page import Tab, message_box, paragraph, preformatted, table, verdict_box
from deltadyn.studio.plots import TORQUE, TimePlot, track_channels
from deltadyn.studio.robot import file_stem, robot_bytes

if TYPE_CHECKING:
    from deltadyn.studio.motion import Track
    from deltadyn.studio.server import Window
    from deltadyn.studio.session import Upload

#: Methods that take one log; "two-step" needs another log without the rod.
STUDIO_METHODS = tuple(name for name in dict.fromkeys(("convex", *METHODS)) if name != "two-step")
ZIP_TIME = (2020, 1, 1, 0, 0, 0)  # the same files make the same archive


@dataclass(frozen=True, eq=False)
class CheckedLog:
    """A recording and what its checks found."""

    recording: Recording
    findings: Findings

    @property
    def conventions(self) -> Conventions | None:
        """How the log counts: signs, offsets, units, sides and order, as its torques tell."""
        return self.findings.conventions

    @property
    def summary(self) -> str:
        """One line: name, samples, seconds, rate, payload."""
        log = self.recording
        rate = (len(log) - 1) / log.duration if log.duration > 0 else 0.0
        carried = "payload not given" if log.payload is None else f"payload {log.payload:g} kg"
        return f"{log.name}: {len(log)} samples, {log.duration:.2f} s at {rate:.4g} Hz, {carried}"


def checked(recording: Recording, robot: Robot) -> CheckedLog:
    """The recording with its checks."""
    return CheckedLog(recording, check_recording(recording, robot))


def finding_rows(log: CheckedLog) -> list[tuple[str, ...]]:
    """Rows severity, where, sentence with advice; what could not be checked comes last."""
    rows: list[tuple[str, ...]] = [
        (item.severity, f"{item.kind} {item.channel or ''}".strip(), f"{item.text} {item.advice}")
        for item in log.findings
    ]
    rows += [("info", "not checked", text) for text in log.findings.skipped]
    return rows


def identify_log(
    robot: Robot,
    log: Recording,
    held_out: Recording | None,
    method: str,
    others: Sequence[str],
    tell: Tell,
) -> Study:
    """Identify by `method`, with `others` beside it, and judge on the held-out log.

    What the data do not identify stays at the robot's value, and the verdict says so.
    """
    names = list(dict.fromkeys([method, *others]))
    for name in names:
        if name not in STUDIO_METHODS:
            raise UnknownNameError("method", name, STUDIO_METHODS)
    steps = len(names) + 2
    done = iter(range(1, steps))

    def hear(text: str) -> None:
        tell(next(done, steps - 1) / steps, text)

    tell(0.0, "prepare the log")
    found = study(
        robot,
        [log],
        held_out=None if held_out is None else [held_out],
        methods=names,
        tell=hear,
    )
    tell(1.0, "done")
    return found


def report_files(found: Study, name: str = "report") -> tuple[bytes, bytes]:
    """The report's page and its numbers (JSON)."""
    with tempfile.TemporaryDirectory(prefix="deltadyn-") as folder:
        page = found.report(Path(folder) / f"{name}.html")
        return page.read_bytes(), page.with_suffix(".json").read_bytes()


@dataclass(frozen=True)
class Archive:
    """A zip of exports; `written` names the targets in it, `refused` says why others are not."""

    content: bytes
    written: tuple[str, ...]
    refused: tuple[str, ...]


def export_archive(robot: Robot, targets: Sequence[str] = tuple(TARGETS)) -> Archive:
    """The robot file and the exports of all targets that can hold the robot, as a zip."""
    written, refused = [], []
    buffer = io.BytesIO()
    with (
        tempfile.TemporaryDirectory(prefix="deltadyn-") as folder,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        _add(archive, "robot.yaml", robot_bytes(robot))
        for target in targets:
            try:
                result = export(robot, target, Path(folder) / target)
            except DeltadynError as error:
                refused.append(f"{target}: {error}")
                continue
            written.append(target)
            for path in result.files:
                inside = f"{target}/{path.relative_to(result.folder).as_posix()}"
                _add(archive, inside, path.read_bytes())
        if refused:
            _add(archive, "NOT-EXPORTED.txt", ("\n".join(refused) + "\n").encode())
    return Archive(buffer.getvalue(), tuple(written), tuple(refused))


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, ZIP_TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    archive.writestr(info, content)


# One long piece of work at a time, in a thread, with progress and a way out.

WAITS = 0.2  # s between looks whether a job that waits was cancelled
Tell = Callable[[float, str], None]  # share done from 0 to 1, what is being done


class BusyError(DeltadynError):
    """Work was asked for while other work is under way."""


class CancelledError(DeltadynError):
    """The work was cancelled."""


class Job:
    """A function `work(tell)` in a thread; exactly one of the two callbacks hears how it ended.

    `cancel` lets the caller go at once: what the thread still finds is dropped, and the thread
    ends when it tells its next step. As many jobs run at once as there are cores; others wait.
    """

    _places = threading.BoundedSemaphore(max(2, os.cpu_count() or 2))

    def __init__(
        self,
        work: Callable[[Tell], Any],
        *,
        tell: Tell,
        done: Callable[[Any], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._work, self._tell, self._done, self._failed = work, tell, done, failed
        self._cancelled = threading.Event()
        self._ended = threading.Event()
        self._once = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True, name="deltadyn-job")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether somebody still waits for it."""
        return self._thread.is_alive() and not self._ended.is_set()

    def cancel(self) -> None:
        """Let go; `failed` hears a CancelledError unless the work has ended."""
        self._cancelled.set()
        self._end(lambda: self._failed(CancelledError("cancelled")))

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended."""
        self._thread.join(timeout)

    def _run(self) -> None:
        try:
            self._wait_for_place()
            try:
                found = self._work(self._hear)
            finally:
                self._places.release()
        except BaseException as error:  # a thread must report whatever ends it
            reason = error
            self._end(lambda: self._failed(reason))
        else:
            self._end(lambda: self._done(found))

    def _wait_for_place(self) -> None:
        if self._places.acquire(blocking=False):
            return
        self._hear(0.0, "waiting for the work of other windows")
        while not self._places.acquire(timeout=WAITS):
            if self._cancelled.is_set():
                raise CancelledError("cancelled")

    def _hear(self, share: float, text: str) -> None:
        if self._cancelled.is_set():
            raise CancelledError("cancelled")
        self._tell(share, text)

    def _end(self, report: Callable[[], None]) -> None:
        with self._once:
            if self._ended.is_set():
                return
            self._ended.set()
        report()


# The tab.

LITTLE = 50.0  # percent of the torque that a right convention explains at least
OTHERS = ("base", "l1")  # methods to stand beside the judged one


class LogTab(Tab):
    """A log in steps: file, columns, conventions, measured against predicted, identification."""

    def __init__(self, window: Window, tab: Any) -> None:
        super().__init__(window, tab)
        self._job: Job | None = None
        self._about: CheckedLog | None = None  # the log that the work is about
        gui = self._gui
        with gui.add_folder("1 File"):
            self._make_uploads()
        with gui.add_folder("2 Columns"):
            self._make_columns()
        with gui.add_folder("3 Conventions"):
            self._conventions = gui.add_html("")
            hint = "Into the columns above and the controller's signs and offsets of the robot"
            self._take = window.button("Take these conventions", self._take_found, hint=hint)
        with gui.add_folder("4 Measured against predicted"):
            self._compared = gui.add_html("")
            self._overlay = TimePlot(window, tree=False)
        with gui.add_folder("5 Identify"):
            self._make_work()
        with gui.add_folder("6 Take away"):
            self._make_downloads()

    def _make_uploads(self) -> None:
        gui = self._gui
        upload = self.window.upload_button
        self._payload = gui.add_number(
            "payload (kg)", 0.0, min=0.0, step=0.1, hint="Where the file does not say it"
        )
        upload("Upload a log", partial(self._upload, held_out=False), color="blue")
        hint = "Another motion, to judge the model on; its columns are read as those of the log"
        upload("Upload a held-out log", partial(self._upload, held_out=True), hint=hint)
        hint = "Usual motion without contact and load, 16 s or more: the tab Motion shows the force"
        upload("Upload an empty run", self._upload_empty, hint=hint)
        self._logs = gui.add_html("")

    def _make_columns(self) -> None:
        gui = self._gui
        self._about_columns = gui.add_html("")
        self._columns_form = Form(self.window, self._chosen)
        hint = "YAML, as the button below writes; it comes before the guess"
        self.window.upload_button("Upload a column map", self._columns, hint=hint, color="gray")
        button = self.window.button
        self._guess = button("Take the guess again", self._guess_again, color="gray")
        self._map = button("Download the column map", self._send_map, color="gray")

    def _make_work(self) -> None:
        gui = self._gui
        button = self.window.button
        self._method = gui.add_dropdown("method", STUDIO_METHODS, initial_value="convex")
        self._beside = gui.add_checkbox("also base and l1", False)
        self._start = button("Identify", self._identify, color="blue")
        self._cancel = button("Cancel", lambda _: self.cancel(), locked=False, color="gray")
        self._cancel.visible = False
        self._bar = gui.add_progress_bar(0.0, visible=False, animated=True)
        self._step = gui.add_html("")
        self._result = gui.add_html("")

    def _make_downloads(self) -> None:
        button = self.window.button
        self._of_study = (
            button("Use the identified robot", self._use),
            button("Download the report", self._report),
            button("Download its numbers (JSON)", partial(self._report, json=True)),
            button("Download the identified robot", self._robot),
        )
        button("Download the exports (zip)", self._exports, locked=False)

    def refresh(self) -> None:
        """Show the logs and the fit of the session."""
        session = self.window.session
        told = ""
        logs = {"log": session.log, "held-out log": session.held_out, "empty run": session.empty}
        for title, log in logs.items():
            told += "" if log is None else _log_html(title, log)
        self._logs.content = told or paragraph(
            f"CSV, TwinCAT Scope, MATLAB, Parquet, ROS bag, MCAP or TDMS, up to "
            f"{session.limit / 1e6:g} MB."
        )
        self._result.content = "" if session.study is None else _study_html(session.study)
        self._show_columns()
        self._conventions.content = conventions_html(session.log, session.robot.axis_names())
        self._show_overlay()
        self._enable()

    def _enable(self) -> None:
        """Only what can be done now."""
        session = self.window.session
        self._start.disabled = self.busy or not self._has_torque
        found = None if session.log is None else session.log.conventions
        self._take.disabled = self.busy or found is None or found.as_logged or not found.clear
        self._map.disabled = session.draft is None
        self._guess.disabled = session.draft is None or not session.draft.changed
        for button in self._of_study:
            button.disabled = session.study is None

    def _show_columns(self) -> None:
        session = self.window.session
        told = ""
        if session.columns is not None:
            told += paragraph(f"column map: {session.columns.shown}")
        draft = session.draft
        if draft is None:
            self._about_columns.content = told or paragraph("Upload a log to see its columns.")
            self._columns_form.show("")
            return
        told += paragraph(
            f"{draft.upload.shown} ({draft.guess.reader}): {MARK}marks what was guessed. "
            "A change is read at once."
        )
        told += "".join(message_box("error", text) for _, text in draft.problems)
        self._about_columns.content = told
        self._columns_form.show(draft_html(draft, session.robot.dof))

    def _show_overlay(self) -> None:
        """Measured and predicted torque of the log as it is read now."""
        session = self.window.session
        if session.log is None:
            self._compared.content = paragraph("There is no log that can be read yet.")
            self._overlay.show([])
            return
        try:
            track = session.overlay()
        except DeltadynError as error:
            self._compared.content = message_box("warning", f"no comparison: {error}")
            self._overlay.show([])
            return
        self._compared.content = overlay_html(track, session.robot)
        torques = [each for each in track_channels(track, session.robot) if each.group == TORQUE]
        upload = None if session.draft is None else session.draft.upload
        self._overlay.show(torques, about=upload)

    def cancel(self) -> None:
        """Let the work go: the robot it is about, or the window, is gone."""
        if self._job is not None:
            self._job.cancel()

    def _columns(self, upload: Upload) -> None:
        self._refuse_busy()
        session = self.window.session
        session.columns = upload if upload.content else None
        if session.draft is None:
            self.refresh()
        else:
            self._read(session.guess_columns, f"the log was read with {upload.shown}")

    def _upload(self, upload: Upload, *, held_out: bool) -> None:
        self._refuse_busy()

        def read() -> CheckedLog:
            payload = self._payload.value or None
            return self.window.session.upload_log(upload, held_out=held_out, payload=payload)

        self._read(read, f"{upload.shown} was read")

    def _upload_empty(self, upload: Upload) -> None:
        self._refuse_busy()
        self._read(lambda: self.window.session.upload_empty(upload), f"{upload.shown} was read")

    def _chosen(self, values: Values) -> None:
        self._refuse_busy()
        self._read(lambda: self.window.session.choose_columns(values), "the columns were read anew")

    def _guess_again(self, _event: Any) -> None:
        self._refuse_busy()
        self._read(self.window.session.guess_columns, "the columns were read as guessed")

    def _take_found(self, _event: Any) -> None:
        self._refuse_busy()
        self._read(self.window.session.take_conventions, "the log was read with these conventions")
        self.window.robot_tab.refresh()

    def _read(self, read: Callable[[], CheckedLog], text: str) -> None:
        """Read a log, and show what became of it: the log, or the columns that are not clear."""
        draft = self.window.session.draft
        try:
            log = read()
        except DeltadynError as error:
            now = self.window.session.draft
            if now is None or now is draft or not now.problems:
                raise
            self.window.say(f"columns are to be chosen in step 2: {error}", "warning")
            return
        finally:
            self.refresh()
            self.window.motion_tab.refresh()
        if self.window.session.notice:
            self.window.say(self.window.session.notice, "warning")
        elif log.findings.ok:
            self.window.say(f"{text} and checked", "good")
        else:
            self.window.say(f"{text}; its checks found errors: see below", "error")

    def _send_map(self, _event: Any) -> None:
        draft = self.window.session.draft
        if draft is not None:
            self.window.send("columns.yaml", draft.text().encode())

    def _identify(self, _event: Any) -> None:
        self._refuse_busy()
        session = self.window.session
        if session.log is None:
            raise DeltadynError("there is no log yet: upload one first")
        refuse_other_convention(session.log)
        robot, log = session.robot, session.log.recording
        apart = None if session.held_out is None else session.held_out.recording
        method, others = self._method.value, OTHERS if self._beside.value else ()

        def work(tell: Tell) -> Study:
            return identify_log(robot, log, apart, method, others, tell)

        self._about = session.log
        self._job = Job(work, tell=self._tell, done=self._done, failed=self._failed)
        self._busy(True)
        self._result.content = ""
        self._job.start()

    def _tell(self, share: float, text: str) -> None:
        self._bar.value = 100.0 * share
        self._step.content = paragraph(f"{text} ...")

    def _done(self, found: Study) -> None:
        if self.window.closed:
            return
        with self.window.session.lock:
            self._busy(False)
            if self.window.session.log is not self._about:  # another robot came in the meantime
                return
            try:
                self.window.session.keep(found)
                self.refresh()
                self.window.motion_tab.refresh()
                self.window.say(f"identified: {found.verdict.grade}", "good")
            except Exception as error:  # shown on the page
                self.window.complain(error)

    def _failed(self, error: BaseException) -> None:
        if self.window.closed:
            return
        self._busy(False)
        if isinstance(error, CancelledError):
            self.window.say("the identification was cancelled", "warning")
        else:
            self.window.complain(error)

    def _busy(self, busy: bool) -> None:
        self._start.disabled = busy or not self._has_torque
        self._cancel.visible = self._bar.visible = busy
        self._bar.value = 0.0
        self._step.content = ""

    @property
    def _has_torque(self) -> bool:
        log = self.window.session.log
        return log is not None and log.recording.has_torque

    @property
    def busy(self) -> bool:
        """Whether an identification is under way."""
        return self._job is not None and self._job.running

    def _refuse_busy(self) -> None:
        if self.busy:
            raise BusyError("an identification is under way; wait for it or cancel it")

    def _study(self) -> Study:
        found = self.window.session.study
        if found is None:
            raise DeltadynError("there is no identified model yet: identify a log first")
        return found

    def _use(self, _event: Any) -> None:
        self.window.session.use_identified()
        self.window.robot_changed()
        self.window.say("the identified robot is shown; the tab Robot compares it", "good")

    def _report(self, _event: Any, *, json: bool = False) -> None:
        found = self._study()
        name = f"{file_stem(found.robot)}-report"
        page, numbers = report_files(found, name)
        self.window.send(f"{name}.json" if json else f"{name}.html", numbers if json else page)

    def _robot(self, _event: Any) -> None:
        fit = self._study().fit
        text = robot_file_text(fit).encode()
        self.window.send(f"{file_stem(fit.robot)}-identified.yaml", text)

    def _exports(self, _event: Any) -> None:
        session = self.window.session
        robot: Robot = session.robot if session.study is None else session.study.fit.robot
        archive = export_archive(robot)
        self.window.send(f"{file_stem(robot)}-exports.zip", archive.content)
        which = "the robot" if session.study is None else "the identified robot"
        text = f"exports of {which}: {', '.join(archive.written)}"
        if archive.refused:
            self.window.say(text + "; not exported: " + "; ".join(archive.refused), "warning")
        else:
            self.window.say(text, "good")


def convention_rows(found: Conventions, axes: Sequence[str]) -> list[tuple[str, ...]]:
    """Rows axis, sign, offset to set, offset as fitted, torque from the log's axis, its sign."""
    torque_sign = found.torque_sign or found.sign
    rows: list[tuple[str, ...]] = []
    for k, axis in enumerate(axes):
        fitted = "-"
        if k < len(found.offset_fit):
            apart = found.offset_fit[k] - found.common_offset
            fitted = f"{apart:+.1f} ± {found.offset_deviation[k]:.1f}"
        rows.append(
            (
                axis,
                f"{found.sign[k]:+d}",
                f"{found.offset[k]:.4g}",
                fitted,
                str(found.torque_order[k]),
                f"{torque_sign[k]:+d}",
            )
        )
    return rows


def conventions_html(log: CheckedLog | None, axes: Sequence[str]) -> str:
    """What was found, how sure it is, and what would decide."""
    if log is None:
        return paragraph("They are looked for in a log that can be read.")
    found = log.conventions
    if found is None:
        return message_box("info", "Conventions were not looked for in this log.")
    kind = "good" if found.as_logged and not found.status else "warning"
    told = message_box(kind, f"{found.summary()}.")
    told += paragraph(
        f"{'places' if found.linear else 'angles'} in {found.unit} at the {found.side} side; "
        f"torques in {found.torque_unit} at the {found.torque_side} side"
    )
    unit = found.offset_unit
    head = ("axis", "sign", f"offset {unit}", f"from the others {unit}", "torque of", "its sign")
    told += table(head, convention_rows(found, axes))
    shared = f"{found.common_offset:+.1f} ± {found.common_deviation:.1f} {unit}"
    limbs = "carriages" if found.linear else "arms"
    told += paragraph(f"Offset that all {limbs} share: {shared}. Homing tells it better.")
    for item in found.alternatives:
        text = f"or: {item['text']} (residual {item['residual']:.3g}). {item['move']}"
        told += message_box("info", text)
    return told


def refuse_other_convention(log: CheckedLog) -> None:
    """Refuse to identify from a log that clearly counts otherwise than it was read."""
    found = log.conventions
    if found is not None and not found.as_logged and found.clear:
        raise DeltadynError(
            f"the log counts otherwise than it was read ({found.summary()}): take the conventions "
            f"of step 3 first. In the robot file they are\n{found.block}"
        )


def overlay_rows(track: Track, axes: Sequence[str]) -> list[tuple[str, ...]]:
    """Rows axis, model, RMS torque, RMS of what the model misses, share explained."""
    rows: list[tuple[str, ...]] = []
    measured = track.curves["measured"]
    for name, tau in track.curves.items():
        if name == "measured":
            continue
        missed = measured - tau
        spread = ((measured - measured.mean(axis=0)) ** 2).mean(axis=0)
        for k, axis in enumerate(axes):
            size, left = (math.sqrt(float((x[:, k] ** 2).mean())) for x in (measured, missed))
            share = 1 - left**2 / spread[k] if spread[k] > 0 else -math.inf
            told = f"{100 * share:.1f} %" if share > 0 else "nothing"
            rows.append((axis, name, f"{size:.2f}", f"{left:.2f}", told))
    return rows


def explained(row: Sequence[str]) -> float:
    """The share in percent at the end of a row."""
    return 0.0 if row[-1] == "nothing" else float(row[-1].removesuffix("%"))


def overlay_html(track: Track, robot: Robot) -> str:
    """How well the models explain the log."""
    if "measured" not in track.curves:
        text = "The log has no torque: its motion can be played, and nothing can be identified."
        return message_box("info", text)
    unit = robot.axis_unit("tau")
    head = ("axis", "model", f"torque {unit}", f"missed {unit}", "explained")
    rows = overlay_rows(track, robot.axis_names())
    told = table(head, rows, f"RMS, {track.about}")
    if any(explained(row) < LITTLE for row in rows if row[1] == "robot file"):
        text = (
            "The robot file explains little of an axis: its unit, side, sign or order may be "
            "another one. Take the conventions above, or change a column and look at the curves."
        )
        told += message_box("warning", text)
    return told


def _log_html(title: str, log: CheckedLog) -> str:
    rows = finding_rows(log)
    told = paragraph(f"{title}: {log.summary}")
    if not rows:
        return told + message_box("good", "The checks found nothing wrong.")
    return told + table(("severity", "what", "in words"), rows)


def _study_html(found: Study) -> str:
    fit = found.fit
    fields = [(item.path, item.text) for item in fit.determined.values()]
    return (
        verdict_box(found.verdict)
        + "".join(message_box("warning", text) for text in fit.far_from_file)
        + paragraph(fit.status)
        + preformatted(fit.table)
        + paragraph("What the logs identified of every field of the robot file:")
        + table(("field", "identified"), fields)
    )
