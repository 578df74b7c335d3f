"""Motions to play: scenarios, uploads, logs; their torques, thinned for the plots; the player."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import DeltadynError, InputError, UnknownNameError
from deltadyn.identification.fit import Fit
from deltadyn.motion import Motion, adept_cycle, telescopic_gate, y1, y2, y3
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot
from deltadyn.studio.editing import torque_along
from deltadyn.validation.evidence import finer, pieces_of, predictor, prepared_recordings

SCENARIOS: dict[str, Callable[..., Motion]] = {
    "gate": telescopic_gate,
    "Adept cycle": adept_cycle,
    "Y1: two belts": y1,
    "Y2: quick and slow": y2,
    "Y3: stops at the rim": y3,
}
UPLOADED, FROM_LOG = "uploaded motion", "log"
PLOT_POINTS = 900  # of a curve: two per pixel of a plot
SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1", "2")


@dataclass(frozen=True, eq=False)
class Track:
    """A motion with torque curves by name, each (N, dof) in N m; `notes` say what is missing."""

    name: str
    motion: Motion
    curves: dict[str, FloatArray]
    notes: tuple[str, ...] = ()
    about: str = ""

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


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves of one axis for a plot: t (M,) in s from 0, and values (M,) by name."""

    t: FloatArray
    values: dict[str, FloatArray]

    @property
    def span(self) -> tuple[float, float]:
        """Lowest and highest value with some room, for the plot's axis."""
        every = np.concatenate(list(self.values.values()))
        low, high = float(every.min()), float(every.max())
        room = 0.05 * (high - low) or 1.0
        return low - room, high + room

    def cursor(self, seconds: float) -> FloatArray:
        """A curve (M,) that shows this time as an upright line: a needle from far below `span`."""
        low, high = self.span
        line = np.full(len(self.t), low - 50 * (high - low))
        line[min(int(np.searchsorted(self.t, seconds)), len(self.t) - 1)] = high + 50 * (high - low)
        return line


def scenario_track(robot: Robot, name: str, before: Robot | None = None) -> Track:
    """A scenario with the torques of the exact and the half-half model, and of `before`."""
    if name not in SCENARIOS:
        raise UnknownNameError("motion", name, SCENARIOS)
    return motion_track(robot, name, SCENARIOS[name](robot), before)


def motion_track(robot: Robot, name: str, motion: Motion, before: Robot | None = None) -> Track:
    """Any motion with its torques; `before` is the robot before it was edited."""
    curves = {
        "exact": torque_along(robot, motion),
        "half-half": torque_along(robot, motion, "half-half"),
    }
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
    band: float | Literal["auto"] | None = "auto" if fit is None else fit.band
    (parts,) = prepared_recordings(robot, [log], band, "auto")
    part = max(parts, key=len)
    fine = finer(part)
    q, qd, qdd = (fine.limited(values) for values in (part.state.q, part.state.qd, part.state.qdd))
    motion = Motion.from_joints(robot, fine.times, q, qd, qdd)
    models: dict[str, Robot | Fit] = {"robot file": robot}
    if fit is not None:
        models["identified"] = fit
    curves: dict[str, FloatArray] = {}
    for name, model in models.items():
        (piece,) = pieces_of(predictor(model), log, [part])
        curves.setdefault("measured", piece.measured)
        curves[name] = piece.predicted
    limit = "as recorded" if part.band is None else f"below {part.band:.3g} Hz"
    return Track(FROM_LOG, motion, curves, (), f"torques {limit}")


def plot_curves(track: Track, axis: int, points: int = PLOT_POINTS) -> Curves:
    """The curves of an axis at the same few samples: those where one of them is extreme.

    The samples are cut into intervals; of each the first curve's largest and smallest are kept, so
    that no peak is lost.
    """
    t = np.asarray(track.motion.t - track.motion.t[0])
    first = next(iter(track.curves.values()))[:, axis]
    if len(t) <= points:
        rows = np.arange(len(t))
    else:
        edges = np.linspace(0, len(t), points // 2 + 1).astype(int)
        picks = [0, len(t) - 1]
        for start, stop in pairwise(edges.tolist()):
            part = first[start:stop]
            picks += [start + int(part.argmin()), start + int(part.argmax())]
        rows = np.unique(picks)
    return Curves(t[rows], {name: tau[rows, axis] for name, tau in track.curves.items()})


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
