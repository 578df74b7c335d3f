"""The tab Log: upload, check, identify, judge, download."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from deltadyn.errors import DeltadynError
from deltadyn.report.study import Study
from deltadyn.robot import Robot
from deltadyn.studio.logs import (
    STUDIO_METHODS,
    BusyError,
    CancelledError,
    CheckedLog,
    Job,
    Tell,
    export_archive,
    file_stem,
    finding_rows,
    identify_log,
    report_files,
    robot_bytes,
)
from deltadyn.studio.page import message_box, paragraph, preformatted, table, verdict_box

if TYPE_CHECKING:
    from deltadyn.studio.server import Window
    from deltadyn.studio.session import Upload

OTHERS = ("base", "l1")  # methods to stand beside the judged one


class LogTab:
    """Uploads, the identification in its thread, what it found."""

    def __init__(self, window: Window, tab: Any) -> None:
        self.window, self._tab = window, tab
        self._job: Job | None = None
        self._about: CheckedLog | None = None  # the log that the work is about
        self._make_uploads()
        self._make_work()
        self._make_downloads()

    def _make_uploads(self) -> None:
        gui: Any = self.window.client.gui
        upload = self.window.upload_button
        self._payload = gui.add_number(
            "payload (kg)", 0.0, min=0.0, step=0.1, hint="Where the file does not say it"
        )
        hint = "YAML, for logs with other column names; before the log"
        upload("Upload a column map", self._columns, hint=hint)
        upload("Upload a log", partial(self._upload, held_out=False), color="blue")
        hint = "Another motion, to judge the model on"
        upload("Upload a held-out log", partial(self._upload, held_out=True), hint=hint)
        self._logs = gui.add_html("")

    def _make_work(self) -> None:
        gui: Any = self.window.client.gui
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
        with self.window.client.gui.add_folder("Take away"):
            button("Use the identified robot", self._use)
            button("Download the report", self._report)
            button("Download its numbers (JSON)", partial(self._report, json=True))
            button("Download the identified robot", self._robot)
            button("Download the exports (zip)", self._exports, locked=False)

    def refresh(self) -> None:
        """Show the logs and the fit of the session."""
        session = self.window.session
        told = ""
        if session.columns is not None:
            told += paragraph(f"column map: {session.columns.shown}")
        for title, log in (("log", session.log), ("held-out log", session.held_out)):
            told += "" if log is None else _log_html(title, log)
        self._logs.content = told or paragraph(
            f"CSV, TwinCAT Scope, MATLAB, Parquet, ROS bag, MCAP or TDMS, up to "
            f"{session.limit / 1e6:g} MB."
        )
        self._result.content = "" if session.study is None else _study_html(session.study)

    def cancel(self) -> None:
        """Let the work go: the robot it is about, or the window, is gone."""
        if self._job is not None:
            self._job.cancel()

    def _columns(self, upload: Upload) -> None:
        self.window.session.columns = upload if upload.content else None
        self.refresh()

    def _upload(self, upload: Upload, *, held_out: bool) -> None:
        self._refuse_busy()
        log = self.window.session.upload_log(
            upload, held_out=held_out, payload=self._payload.value or None
        )
        if log.findings.ok:
            self.window.say(f"{upload.shown} was read and checked", "good")
        else:
            self.window.say(f"{upload.shown} was read; its checks found errors: see below", "error")
        self.refresh()
        self.window.motion_tab.refresh()

    def _identify(self, _event: Any) -> None:
        self._refuse_busy()
        session = self.window.session
        if session.log is None:
            raise DeltadynError("there is no log yet: upload one first")
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
        self._start.disabled = busy
        self._cancel.visible = self._bar.visible = busy
        self._bar.value = 0.0
        self._step.content = ""

    def _refuse_busy(self) -> None:
        if self._job is not None and self._job.running:
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
        self._send(f"{name}.json" if json else f"{name}.html", numbers if json else page)

    def _robot(self, _event: Any) -> None:
        robot = self._study().fit.robot
        self._send(f"{file_stem(robot)}-identified.yaml", robot_bytes(robot))

    def _exports(self, _event: Any) -> None:
        session = self.window.session
        robot: Robot = session.robot if session.study is None else session.study.fit.robot
        archive = export_archive(robot)
        self._send(f"{file_stem(robot)}-exports.zip", archive.content)
        which = "the robot" if session.study is None else "the identified robot"
        text = f"exports of {which}: {', '.join(archive.written)}"
        if archive.refused:
            self.window.say(text + "; not exported: " + "; ".join(archive.refused), "warning")
        else:
            self.window.say(text, "good")

    def _send(self, name: str, content: bytes) -> None:
        self.window.client.send_file_download(name, content, save_immediately=True)


def _log_html(title: str, log: CheckedLog) -> str:
    rows = finding_rows(log)
    told = paragraph(f"{title}: {log.summary}")
    if not rows:
        return told + message_box("good", "The checks found nothing wrong.")
    return told + table(("severity", "what", "in words"), rows)


def _study_html(found: Study) -> str:
    fit = found.fit
    return verdict_box(found.verdict) + paragraph(fit.status) + preformatted(fit.table)
