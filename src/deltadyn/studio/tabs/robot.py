"""The tab Robot: choose, upload, edit, compare, download."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltadyn.errors import DeltadynError
from deltadyn.robot.file import robot_names
from deltadyn.studio.editing import differences, entries, torque_rows
from deltadyn.studio.logs import file_stem, robot_bytes
from deltadyn.studio.page import message_box, paragraph, table

if TYPE_CHECKING:
    from deltadyn.studio.server import Window
    from deltadyn.studio.session import Upload

OTHER = "(from a file)"


class RobotTab:
    """Controls of the robot."""

    def __init__(self, window: Window, tab: Any) -> None:
        self.window, self._tab = window, tab
        gui: Any = window.client.gui
        self._choice = gui.add_dropdown(
            "catalogue", (*robot_names(), OTHER), initial_value=self._name()
        )
        self._choice.on_update(window.guarded(self._choose))
        hint = "YAML, as `deltadyn robots` prints"
        window.upload_button("Upload a robot file", self._upload, hint=hint)
        self._about = gui.add_html("")
        self._numbers: dict[str, Any] = {}
        self._folder = gui.add_folder("Numbers")
        with gui.add_folder("Compare"):
            self._before = gui.add_checkbox("show the robot before", False)
            self._before.on_update(window.guarded(lambda _: window.set_before(self._before.value)))
            self._table = gui.add_html("")
        window.button("Download the robot file", self._download)

    def refresh(self) -> None:
        """Show the session's robot."""
        session = self.window.session
        self._choice.value = self._name()
        robot = session.robot
        first = robot.description.split("\n")[0].strip()
        self._about.content = paragraph(f"{robot.name}: {robot.dof} DOF. {first}")
        self._fill()
        self._table.content = self._comparison()

    def _name(self) -> str:
        name = self.window.session.reference.name
        return name if name in robot_names() else OTHER

    def _fill(self) -> None:
        """One field per number; the fields are made anew where the robot has others."""
        robot = self.window.session.robot
        gui: Any = self.window.client.gui
        wanted = {
            key: entry for key, entry in entries(robot).items() if entry.shown(robot) is not None
        }
        if list(wanted) != list(self._numbers):
            self._folder.remove()
            with self._tab:
                self._folder = gui.add_folder("Numbers", order=self._about.order + 0.5)
            with self._folder:
                self._numbers = {
                    key: gui.add_number(
                        entry.label, _rounded(entry.shown(robot)), min=0.0, step=_step(entry.label)
                    )
                    for key, entry in wanted.items()
                }
                self.window.button("Apply the changes", self._apply)
                self.window.button("Take back all changes", self._undo, color="gray")
        for key, entry in wanted.items():
            self._numbers[key].value = _rounded(entry.shown(robot))

    def _comparison(self) -> str:
        session = self.window.session
        rows = differences(session.reference, session.robot)
        if session.reference == session.robot:
            return paragraph("Change a number to compare the robot with itself before.")
        told = table(("number", "before", "now", "change"), rows, "What differs") if rows else ""
        if not rows:
            told = paragraph("Parameters differ that have no field above, e.g. friction.")
        if session.track is None:
            return told + paragraph("Choose a motion in the tab Motion to compare torques.")
        try:
            torques = torque_rows(session.reference, session.robot, session.track.motion)
        except DeltadynError as error:
            return told + message_box("warning", str(error))
        head = ("axis", "peak before", "peak now", "RMS before", "RMS now")
        return told + table(head, torques, f"Torque on {session.track.name!r} (N m)")

    def _choose(self, _event: Any) -> None:
        name = self._choice.value
        if name == OTHER:
            self._choice.value = self._name()
            return
        self.window.motion_tab.pause()
        self.window.session.choose(name)
        self.window.say("")
        self.window.robot_changed(new=True)

    def _upload(self, upload: Upload) -> None:
        self.window.motion_tab.pause()
        self.window.session.upload_robot(upload)
        self.window.say(f"{upload.shown}: the robot {self.window.session.robot.name!r}", "good")
        self.window.robot_changed(new=True)

    def _apply(self, _event: Any) -> None:
        robot = self.window.session.robot
        known = entries(robot)
        values = {
            key: field.value
            for key, field in self._numbers.items()
            if field.value != _rounded(known[key].shown(robot))  # what was not touched stays exact
        }
        if not values:
            self.window.say("no number was changed")
            return
        self.window.session.edit(values)
        self._changed(f"{len(values)} number{'s' * (len(values) > 1)} changed")

    def _undo(self, _event: Any) -> None:
        self.window.session.undo()
        self._changed("")

    def _changed(self, text: str) -> None:
        """Show the changed robot, and say where its motion had to go."""
        self.window.robot_changed()
        notice = self.window.session.notice
        self.window.say(notice or text, "warning" if notice else "good")

    def _download(self, _event: Any) -> None:
        robot = self.window.session.robot
        self.window.client.send_file_download(
            f"{file_stem(robot)}.yaml", robot_bytes(robot), save_immediately=True
        )


def _rounded(value: float | None) -> float:
    return float(f"{value or 0.0:.6g}")


def _step(label: str) -> float:
    return 0.001 if "kg" in label else 0.1
