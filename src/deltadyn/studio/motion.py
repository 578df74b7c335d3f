"""The tab Motion: motions to play, with their torques beside."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import constraint_loads
from deltadyn.dynamics.models import models_for
from deltadyn.errors import DeltadynError, InputError, UnknownNameError
from deltadyn.identification.fit import Fit
from deltadyn.kinematics import State
from deltadyn.motion import Motion, adept_cycle, telescopic_gate, y1, y2, y3
from deltadyn.recording.prepare.held_out import prepare_held_out
from deltadyn.recording.recording import Recording
from deltadyn.report.plots import axis_scales
from deltadyn.report.study import measured_motion
from deltadyn.robot import Robot
from deltadyn.studio.force import ForceTrack, Push
from deltadyn.studio.page import Tab, message_box, paragraph, table
from deltadyn.studio.plots import TimePlot, track_channels
from deltadyn.studio.pose import pose_at
from deltadyn.studio.robot import torque_along
from deltadyn.units import together
from deltadyn.validation.evidence import pieces_of, predictor, prepare_for

if TYPE_CHECKING:
    from deltadyn.studio.server import Window
    from deltadyn.studio.session import Upload

# Motions: scenarios, uploads, logs; their torques, thinned for the plots; the player.

SCENARIOS: dict[str, Callable[..., Motion]] = {
    "gate": telescopic_gate,
    "Adept cycle": adept_cycle,
    "Y1: two belts": y1,
    "Y2: quick and slow": y2,
    "Y3: stops at the rim": y3,
}
UPLOADED, FROM_LOG = "uploaded motion", "log"
SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1", "2")


@dataclass(frozen=True, eq=False)
class Track:
    """A motion with torque curves by name, each (N, dof); `notes` say what is missing."""

    name: str
    motion: Motion
    curves: dict[str, FloatArray]
    notes: tuple[str, ...] = ()
    about: str = ""
    force: ForceTrack | None = None

    @property
    def duration(self) -> float:
        """From the first sample to the last, in s."""
        return self.motion.duration

    def row(self, seconds: float) -> int:
        """The sample nearest to this time after the start."""
        t = self.motion.t - self.motion.t[0]
        right = int(np.clip(np.searchsorted(t, seconds), 1, len(t) - 1))
        return right if t[right] - seconds < seconds - t[right - 1] else right - 1

    def place(self, seconds: float) -> FloatArray:
        """The platform (dof,) at this time after the start."""
        return np.asarray(self.motion.p[self.row(seconds)])

    def push(self, seconds: float) -> Push | None:
        """The external force at this time after the start, where it is known."""
        return None if self.force is None else self.force.at(float(self.motion.t[0]) + seconds)


def scenario_track(robot: Robot, name: str, before: Robot | None = None) -> Track:
    """A scenario with the torques of the exact and the half-half model, and of `before`."""
    if name not in SCENARIOS:
        raise UnknownNameError("motion", name, SCENARIOS)
    return motion_track(robot, name, SCENARIOS[name](robot), before)


def motion_track(robot: Robot, name: str, motion: Motion, before: Robot | None = None) -> Track:
    """Any motion with its torques; `before` is the robot before it was edited.

    The half-half model is that of arms which stand as a Delta robot's do.
    """
    curves = {"exact": torque_along(robot, motion)}
    if "half-half" in models_for(robot):
        curves["half-half"] = torque_along(robot, motion, "half-half")
    notes = []
    if before is not None and before != robot:
        try:
            curves["before the changes"] = torque_along(before, motion)
        except DeltadynError as error:
            notes.append(f"the robot before the changes cannot run it: {error}")
    return Track(name, motion, curves, tuple(notes))


def log_track(robot: Robot, log: Recording, fit: Fit | None = None) -> Track:
    """The motion of a log: measured torque beside what the robot file and the fit predict.

    It is the longest stretch without a gap. All curves and the motion are in one band, as in the
    report: the fit's, or the one in which a rigid model explains the torque.
    """
    if not log.has_torque:
        return _moved_track(robot, log)
    models = [predictor(robot, name="robot file")]
    if fit is not None:
        models.insert(0, predictor(fit, name="identified"))
    rows = prepare_for(models, [log], "auto", "auto")
    part = max(rows.all_parts(), key=len)
    motion = measured_motion(robot, part)
    curves: dict[str, FloatArray] = {}
    for model in reversed(models):
        ((piece,),) = pieces_of(model, replace(rows, parts=((part,),)))
        curves.setdefault("measured", piece.measured)
        curves[model.name] = piece.predicted
    limit = "as recorded" if part.band is None else f"below {part.band:.3g} Hz"
    return Track(FROM_LOG, motion, curves, (), f"torques {limit}")


def _moved_track(robot: Robot, log: Recording) -> Track:
    """The motion of a log without torque, with that of the robot file."""
    still = log.replace(tau=np.zeros_like(log.q))  # the motion is prepared as any other
    rows = prepare_held_out(robot, [still], None)
    motion = measured_motion(robot, max(rows.all_parts(), key=len))
    curves = {"robot file": torque_along(robot, motion)}
    return Track(FROM_LOG, motion, curves, (), "the log has no torque")


@dataclass
class Player:
    """Where a motion is played: time goes on while it plays, at `speed` times the real pace."""

    duration: float
    speed: float = 1.0
    loop: bool = True
    playing: bool = False
    clock: Callable[[], float] = time.monotonic
    _at: float = field(default=0.0, repr=False)
    _since: float = field(default=0.0, repr=False)

    def play(self) -> None:
        """Go on; from the start where the end was reached."""
        if self._at >= self.duration:
            self._at = 0.0
        self._since, self.playing = self.clock(), True

    def pause(self) -> None:
        """Stop where it is."""
        self._at = self.time()
        self.playing = False

    def seek(self, seconds: float) -> None:
        """Go to a time; it goes on from there where it plays."""
        self._at = min(max(seconds, 0.0), self.duration)
        self._since = self.clock()

    def set_speed(self, speed: float) -> None:
        """Play at another pace from now on."""
        if not speed > 0:
            raise InputError("speed", speed, "above 0")
        self.seek(self.time())
        self.speed = speed

    def time(self) -> float:
        """Seconds after the start of the motion; at the end it starts again, or stops."""
        if not self.playing:
            return self._at
        at = self._at + (self.clock() - self._since) * self.speed
        if at < self.duration:
            return at
        if self.loop and self.duration > 0:
            return at % self.duration
        self._at, self.playing = self.duration, False
        return self.duration


# The tab.

CHOOSE = "(choose)"
FRAME = 1 / 25  # s between two poses
SLOW = 4  # plots and numbers follow every so many frames


class MotionTab(Tab):
    """Choice, player, numbers and plots."""

    def __init__(self, window: Window, tab: Any) -> None:
        super().__init__(window, tab)
        gui = self._gui
        names = (CHOOSE, *window.session.motion_names())
        self._choice = gui.add_dropdown("motion", names, initial_value=CHOOSE)
        self._choice.on_update(window.guarded(self._choose))
        hint = "CSV, as `deltadyn excite` writes"
        window.upload_button("Upload a motion", self._upload, hint=hint)
        self._play = window.button("Play", self._toggle, icon=None)
        self._time = gui.add_slider("time (s)", 0.0, 1.0, 0.001, 0.0)
        self._time.on_update(window.guarded(self._seek))
        self._play.disabled = self._time.disabled = True  # until there is a motion
        self._speed = gui.add_dropdown("speed", SPEEDS, initial_value="0.25")
        self._speed.on_update(window.guarded(self._pace))
        self._loop = gui.add_checkbox("loop", True)
        self._loop.on_update(window.guarded(self._pace))
        self._legend = gui.add_html("")
        self._plot = TimePlot(window, seek=self._clicked)
        self._numbers = gui.add_html("")
        self._player = Player(0.0)
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def refresh(self) -> None:
        """Show the session's track, and what can be chosen."""
        session = self.window.session
        self._play.disabled = self._time.disabled = session.track is None
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
            except Exception:  # whatever it was: show the old choice; the window shows the error
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
            return  # the button is disabled
        if self._player.playing:
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

    def _clicked(self, seconds: float) -> None:
        """A click on a curve: the robot goes there."""
        track = self.window.session.track
        if track is not None:
            self._player.seek(seconds)
            self._frame(track, min(max(seconds, 0.0), track.duration))

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
            self.window.draw_force(track, seconds)
            return
        session.pose = pose_at(session.robot, p)
        self.window.pose_changed(played=(track, seconds))
        if slider:
            self._time.value = round(seconds, 3)
        self._numbers.content = self._readout(track, seconds)
        self._plot.move_needle(seconds)

    def _readout(self, track: Track, seconds: float) -> str:
        """Angle, rate and torque of the axes and forces of the struts at this time."""
        row, robot, motion = track.row(seconds), self.window.session.robot, track.motion
        names = list(track.curves)
        rows = [
            (
                axis,
                f"{scale * motion.q[row, k]:.1f}",
                f"{scale * motion.qd[row, k]:.0f}",
                *(f"{track.curves[name][row, k]:.2f}" for name in names),
            )
            for k, (axis, (scale, _)) in enumerate(
                zip(robot.axis_names(), axis_scales(robot), strict=True)
            )
        ]
        state = State.from_platform(robot, motion.p[row], motion.pd[row], motion.pdd[row])
        loads = np.asarray(constraint_loads(robot, state).axial_max).reshape(robot.legs)
        forces = ", ".join(f"{value:.1f}" for value in loads)
        units = [unit for _, unit in axis_scales(robot)]
        torque = robot.axis_unit("tau")
        moved = together(units), together([f"{unit}/s" for unit in units])
        head = ("axis", *moved, *(f"{name} {torque}" for name in names))
        notes = "".join(message_box("warning", text) for text in track.notes)
        told = f"t = {seconds:.3f} of {track.duration:.3f} s; struts {forces} N"
        told += f"; {track.about}" if track.about else ""
        push = track.push(seconds)
        told = paragraph(told) + ("" if push is None else paragraph(push.text))
        return told + table(head, rows) + notes

    def _show(self, track: Track) -> None:
        self._player = Player(
            track.duration, speed=float(self._speed.value), loop=bool(self._loop.value)
        )
        self._play.label = "Play"
        self._time.max = round(track.duration, 3)
        self._time.value = 0.0
        session = self.window.session
        log = session.log.recording if track.name == FROM_LOG and session.log else None
        self._plot.show(track_channels(track, session.robot, log), now=0.0)
        self._numbers.content = self._readout(track, 0.0)
        self._legend.content = ""
        if track.force is not None:
            self._legend.content = track.force.legend
        elif log is not None and log.has_torque and session.empty is None:
            self._legend.content = paragraph(
                "Upload an empty run in the tab Log to see the external force."
            )

    def _clear(self) -> None:
        self._plot.show([])
        self._numbers.content = self._legend.content = ""
