"""Where the robot is: poses at rest with their loads, and motions to play with their torques."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import constraint_loads, inverse_dynamics
from deltadyn.errors import DeltadynError, InputError, UnknownNameError
from deltadyn.identification.fit import Fit
from deltadyn.kinematics import State, forward_kinematics, singularity, strut_angles
from deltadyn.kinematics.workspace import REASONS, RULES, WorkspaceRules, broken_rules
from deltadyn.motion import Motion, adept_cycle, telescopic_gate, y1, y2, y3
from deltadyn.recording.recording import Recording
from deltadyn.report.plots import extreme_rows
from deltadyn.report.study import measured_motion
from deltadyn.robot import Robot
from deltadyn.studio.editing import torque_along
from deltadyn.validation.evidence import pieces_of, predictor, prepared_recordings

# A pose at rest: what can be reached, what it takes to hold, how far limits are.

#: Rules that no pose of the studio breaks; the others are limits, which are shown and not kept.
HARD = ("loop", "singularity")


class OutOfReachError(DeltadynError):
    """A target that the robot cannot take; `reason` says why."""

    def __init__(self, target: str, reason: str) -> None:
        self.target, self.reason = target, reason
        super().__init__(f"{target} cannot be reached: {reason}; the robot stays where it was")


@dataclass(frozen=True, eq=False)
class Pose:
    """A pose at rest: p and q (dof,), holding torque (dof,) in N m, strut forces (3,) in N.

    `tension` is the largest axial force along each pair of rods, tension positive; `margin` (rad)
    the distance to singular poses; `ball` (rad) the angle of the ball joints; `broken` the limits
    that the pose breaks, in words.
    """

    robot: Robot
    p: FloatArray
    q: FloatArray
    torque: FloatArray
    tension: FloatArray
    margin: float
    ball: FloatArray
    broken: tuple[str, ...]


def pose_at(robot: Robot, p: npt.ArrayLike) -> Pose:
    """The pose with the platform at p (dof,)."""
    point = np.asarray(p, dtype=float)
    target = _shown(point, ("x", "y", "z"), "m")
    if not np.isfinite(point).all():
        raise OutOfReachError(target, "it is not a finite position")
    kept = ~broken_rules(robot, point[None], WorkspaceRules())[0]
    for name in HARD:
        if not kept[RULES.index(name)]:
            beyond = name == "singularity"
            raise OutOfReachError(
                target, "it lies beyond a singular pose" if beyond else REASONS[name]
            )
    state = State.from_platform(robot, point)
    soft = [name for name, good in zip(RULES, kept, strict=True) if not good]
    return Pose(
        robot,
        point,
        np.asarray(state.q).reshape(robot.dof),
        np.asarray(inverse_dynamics(robot, state)).reshape(robot.dof),
        np.asarray(constraint_loads(robot, state).axial_max).reshape(3),
        float(np.asarray(singularity(robot, point).margin)),
        np.abs(np.asarray(strut_angles(robot, point).ball_joint)).reshape(3),
        tuple(REASONS[name] for name in soft),
    )


def pose_of_angles(robot: Robot, q: npt.ArrayLike) -> Pose:
    """The pose with these joint angles (dof,) in rad."""
    angles = np.asarray(q, dtype=float)
    p = forward_kinematics(robot, angles, unreachable="nan")
    if not np.isfinite(p).all():
        target = _shown(np.degrees(angles[:3]), ("theta 1", "theta 2", "theta 3"), "deg")
        raise OutOfReachError(target, "the struts cannot meet at a platform")
    return pose_at(robot, p)


def axis_rows(pose: Pose) -> list[tuple[str, ...]]:
    """Rows axis, angle (deg), to limit (deg), rate, holding torque (N m), share of the peak."""
    limits = pose.robot.limits
    rows: list[tuple[str, ...]] = []
    for k, name in enumerate(pose.robot.axis_names()):
        room = _room(pose.q[k], limits.angle_min, limits.angle_max, k)
        share = "-"
        if limits.torque_peak is not None:
            share = f"{100 * abs(pose.torque[k]) / limits.torque_peak[k]:.1f} %"
        rows.append(
            (
                name,
                f"{math.degrees(pose.q[k]):.2f}",
                "-" if room is None else f"{math.degrees(room):.1f}",
                "0",
                f"{pose.torque[k]:.3f}",
                share,
            )
        )
    return rows


def strut_rows(pose: Pose) -> list[tuple[str, ...]]:
    """Rows strut, axial force of the pair (N), ball joint angle and what is left of it (deg)."""
    limit = pose.robot.limits.ball_joint_angle
    return [
        (
            str(i + 1),
            f"{pose.tension[i]:.1f}",
            f"{math.degrees(pose.ball[i]):.1f}",
            "-" if limit is None else f"{math.degrees(limit - pose.ball[i]):.1f}",
        )
        for i in range(3)
    ]


def pose_rows(pose: Pose) -> list[tuple[str, str]]:
    """Position, distance to singular poses, and distance to the wall of the working cylinder."""
    x, y, z = (1e3 * value for value in pose.p[:3])
    rows = [
        ("platform", f"{x:.1f}, {y:.1f}, {z:.1f} mm"),
        ("singularity margin", f"{math.degrees(pose.margin):.1f} deg"),
    ]
    cylinder = pose.robot.limits.workspace
    if cylinder is not None:
        room = min(
            cylinder.radius - math.hypot(pose.p[0], pose.p[1]),
            pose.p[2] - cylinder.z_min,
            cylinder.z_max - pose.p[2],
        )
        where = "inside" if room >= 0 else "outside"
        rows.append(("working cylinder", f"{1e3 * abs(room):.0f} mm {where}"))
    rows.append(("limits", "; ".join(pose.broken) if pose.broken else "all kept"))
    return rows


def _room(value: float, low: object, high: object, axis: int) -> float | None:
    """The distance (rad) to the nearer angle limit, negative beyond it."""
    gaps = []
    if low is not None:
        gaps.append(value - low[axis])  # type: ignore[index]
    if high is not None:
        gaps.append(high[axis] - value)  # type: ignore[index]
    return min(gaps) if gaps else None


def _shown(values: FloatArray, names: tuple[str, ...], unit: str) -> str:
    pairs = zip(names, values, strict=False)
    return ", ".join(f"{name} = {value:.3g} {unit}" for name, value in pairs)


# Motions: scenarios, uploads, logs; their torques, thinned for the plots; the player.

SCENARIOS: dict[str, Callable[..., Motion]] = {
    "gate": telescopic_gate,
    "Adept cycle": adept_cycle,
    "Y1: two belts": y1,
    "Y2: quick and slow": y2,
    "Y3: stops at the rim": y3,
}
UPLOADED, FROM_LOG = "uploaded motion", "log"
PLOT_POINTS = 900  # of a plot: two per pixel, the extremes of all its curves
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
    motion = measured_motion(robot, part)
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
    """The curves of an axis at the same few samples: those where one of them is extreme."""
    t = np.asarray(track.motion.t - track.motion.t[0])
    every = np.stack([tau[:, axis] for tau in track.curves.values()], axis=-1)
    rows = extreme_rows(every, points)
    return Curves(t[rows], dict(zip(track.curves, every[rows].T, strict=True)))


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
