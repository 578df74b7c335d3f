"""The tab Motion: play a motion, with the torques beside."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from deltadyn.dynamics import constraint_loads
from deltadyn.kinematics import State
from deltadyn.studio.motions import SPEEDS, Curves, Player, Track, plot_curves, pose_at
from deltadyn.studio.page import message_box, paragraph, table

if TYPE_CHECKING:
    from deltadyn.studio.server import Window
    from deltadyn.studio.session import Upload

CHOOSE = "(choose)"
FRAME = 1 / 25  # s between two poses
SLOW = 4  # plots and numbers follow every so many frames
NOW = "#111111"
COLOURS = {
    "measured": "#b3bac3",
    "exact": "#1f5fa8",
    "robot file": "#1f5fa8",
    "half-half": "#d2691e",
    "identified": "#c0392b",
    "before the changes": "#2c8c6e",
}


class MotionTab:
    """Choice, player, numbers and plots."""

    def __init__(self, window: Window, tab: Any) -> None:
        self.window, self._tab = window, tab
        gui: Any = window.client.gui
        names = (CHOOSE, *window.session.motion_names())
        self._choice = gui.add_dropdown("motion", names, initial_value=CHOOSE)
        self._choice.on_update(window.guarded(self._choose))
        hint = "CSV, as `deltadyn excite` writes"
        window.upload_button("Upload a motion", self._upload, hint=hint)
        self._play = window.button("Play", self._toggle, icon=None)
        self._time = gui.add_slider("time (s)", 0.0, 1.0, 0.001, 0.0)
        self._time.on_update(window.guarded(self._seek))
        self._speed = gui.add_dropdown("speed", SPEEDS, initial_value="0.25")
        self._speed.on_update(window.guarded(self._pace))
        self._loop = gui.add_checkbox("again and again", True)
        self._loop.on_update(window.guarded(self._pace))
        self._numbers = gui.add_html("")
        self._plots: list[Any] = []
        self._curves: list[Curves] = []
        self._player = Player(0.0)
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def refresh(self) -> None:
        """Show the session's track, and what can be chosen."""
        session = self.window.session
        self._choice.options = (CHOOSE, *session.motion_names())
        self._choice.value = CHOOSE if session.track is None else session.track.name
        if session.track is None:
            self.pause()
            self._clear()
        else:
            self._show(session.track)

    def pause(self) -> None:
        """Stop playing."""
        self._player.pause()
        self._play.label = "Play"

    def close(self) -> None:
        """The window is gone."""
        self._player.playing = False
        self._wake.set()

    def _choose(self, _event: Any) -> None:
        self.pause()
        if self._choice.value == CHOOSE:
            self.window.session.track = None
        else:
            try:
                self.window.session.play(self._choice.value)
            except Exception:  # whatever it was: show the old choice; the window tells the error
                self.refresh()
                raise
            self.window.say("")
        self.refresh()
        self.window.robot_tab.refresh()

    def _upload(self, upload: Upload) -> None:
        self.pause()
        track = self.window.session.upload_motion(upload)
        text = f"{upload.shown}: {len(track.motion)} samples, {track.duration:.3g} s"
        self.window.say(text, "good")
        self.refresh()
        self.window.robot_tab.refresh()

    def _toggle(self, _event: Any) -> None:
        track = self.window.session.track
        if track is None:
            self.window.say("choose a motion first", "warning")
        elif self._player.playing:
            self.pause()
        else:
            self._player.play()
            self._play.label = "Pause"
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()

    def _pace(self, _event: Any) -> None:
        self._player.set_speed(float(self._speed.value))
        self._player.loop = self._loop.value

    def _seek(self, _event: Any) -> None:
        track = self.window.session.track
        if track is not None:
            self._player.seek(self._time.value)
            self._frame(track, self._time.value, slider=False)

    def _run(self) -> None:
        """Frames while the player plays; one window's trouble ends its own playing only."""
        frame = 0
        while not self.window.closed:
            began = time.monotonic()
            try:
                with self.window.session.lock:
                    track, playing = self.window.session.track, self._player.playing
                    seconds = self._player.time()
                    if track is None or not playing:
                        self._thread = None  # under the lock: the next "Play" starts another
                        return
                    slow = frame % SLOW == 0 or not self._player.playing
                    self._frame(track, seconds, slow=slow)
                    if not self._player.playing:
                        self._play.label = "Play"
            except Exception as error:  # shown on the page
                with self.window.session.lock:
                    self.pause()
                    self._thread = None
                self.window.complain(error)
                return
            frame += 1
            self._wake.wait(max(FRAME - (time.monotonic() - began), 0.005))

    def _frame(
        self, track: Track, seconds: float, *, slider: bool = True, slow: bool = True
    ) -> None:
        session = self.window.session
        p = track.place(seconds)
        if not slow:
            self.window.scene.move(p)
            return
        session.pose = pose_at(session.robot, p)
        self.window.pose_changed()
        if slider:
            self._time.value = round(seconds, 3)
        self._numbers.content = self._readout(track, seconds)
        for plot, curves in zip(self._plots, self._curves, strict=True):
            plot.data = (curves.t, *curves.values.values(), curves.cursor(seconds))

    def _readout(self, track: Track, seconds: float) -> str:
        """Angle, rate and torque of the axes and forces of the struts at this time."""
        row, robot, motion = track.row(seconds), self.window.session.robot, track.motion
        names = list(track.curves)
        rows = [
            (
                axis,
                f"{math.degrees(motion.q[row, k]):.1f}",
                f"{math.degrees(motion.qd[row, k]):.0f}",
                *(f"{track.curves[name][row, k]:.2f}" for name in names),
            )
            for k, axis in enumerate(robot.axis_names())
        ]
        state = State.from_platform(robot, motion.p[row], motion.pd[row], motion.pdd[row])
        loads = np.asarray(constraint_loads(robot, state).axial_max).reshape(3)
        forces = ", ".join(f"{value:.1f}" for value in loads)
        head = ("axis", "deg", "deg/s", *(f"{name} N m" for name in names))
        notes = "".join(message_box("warning", text) for text in track.notes)
        told = f"t = {seconds:.3f} of {track.duration:.3f} s; struts {forces} N"
        told += f"; {track.about}" if track.about else ""
        return paragraph(told) + table(head, rows) + notes

    def _show(self, track: Track) -> None:
        self._player = Player(
            track.duration, speed=float(self._speed.value), loop=bool(self._loop.value)
        )
        self._play.label = "Play"
        self._time.max = round(track.duration, 3)
        self._time.value = 0.0
        self._clear()
        robot = self.window.session.robot
        gui: Any = self.window.client.gui
        self._curves = [plot_curves(track, k) for k in range(robot.dof)]
        for k, (axis, curves) in enumerate(zip(robot.axis_names(), self._curves, strict=True)):
            self._plots.append(self._plot(gui, axis, curves, self._numbers.order + 0.01 * (k + 1)))
        self._numbers.content = self._readout(track, 0.0)

    def _plot(self, gui: Any, axis: str, curves: Curves, order: float) -> Any:
        lines = {**{name: COLOURS.get(name, "#555555") for name in curves.values}, "now": NOW}
        series = [
            {"label": "t (s)"},
            *(
                # broad: the model's line lies upon it where the two agree
                {"label": name, "stroke": ink, "width": 4.0 if name == "measured" else 1.3}
                for name, ink in lines.items()
            ),
        ]
        with self._tab:
            return gui.add_uplot(
                (curves.t, *curves.values.values(), curves.cursor(0.0)),
                tuple(series),
                title=f"axis {axis}: torque (N m)",
                scales={"x": {"time": False}, "y": {"range": curves.span}},
                axes=({"size": 28}, {"size": 44}),
                legend={"show": True, "live": False},
                height=190,
                order=order,
            )

    def _clear(self) -> None:
        for plot in self._plots:
            plot.remove()
        self._plots, self._curves = [], []
        self._numbers.content = ""
