"""What ordinary production logs tell of a robot, and the shortest extra move for the rest.

Information adds up: a move repeated n times adds n times its own to that of the logs. So every
move of a small family is judged before it is made, by the deviations that logs and move together
would leave, with the noise that the logs show.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.advice import levels_of_samples
from deltadyn.identification.data import Prepared
from deltadyn.identification.data_checks import STILL
from deltadyn.identification.extra_move import Goal, most_helpful, shortest
from deltadyn.identification.identifiability import WEAK, Identifiability, identifiability
from deltadyn.identification.information import Information, gather
from deltadyn.identification.least_squares import axis_weights
from deltadyn.identification.loading import Loaded
from deltadyn.identification.moves import Move, check_rate, joined, short_moves
from deltadyn.identification.parametrisation import SOURCES, Parametrisation, parametrise
from deltadyn.kinematics.state import State
from deltadyn.motion.limit_report import LimitReport
from deltadyn.motion.limits import check_motion
from deltadyn.motion.motion import Motion
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot


@dataclass(frozen=True, eq=False)
class LogReport:
    """What logs tell, what stays at the robot's values, and the move that would settle it.

    `told` are known to `target` of their size or better, `open` are not. `motion` settles them all
    but `unsettled`, None where nothing is open or no move helps; `move` says it in words, `limits`
    is its check. `expected` (k,) are the deviations over sizes with the logs and the move.
    """

    robot: str
    target: float
    longest: float
    seconds: float
    recordings: tuple[str, ...]
    known: Identifiability
    told: tuple[str, ...]
    open: tuple[str, ...]
    motion: Motion | None
    move: str
    limits: LimitReport | None
    expected: FloatArray
    unsettled: tuple[str, ...]

    @property
    def duration(self) -> float:
        """Of the extra move, in s; 0 without one."""
        return 0.0 if self.motion is None else self.motion.duration

    @property
    def held(self) -> tuple[str, ...]:
        """Parameters that stay at the robot's own values in a fit of the logs alone."""
        return self.known.held

    @property
    def text(self) -> str:
        """The report in plain words."""
        names = self.known.names
        goal = f"{100 * self.target:.3g} %"
        logs = f"{len(self.recordings)} log{'s' if len(self.recordings) != 1 else ''}"
        lines = [
            f"{logs} of {self.robot}, {self.seconds:.3g} s: {len(self.told)} of {len(names)} "
            f"parameters are told to {goal} of their size or better: {_listed(self.told)}."
        ]
        if self.held:
            lines.append(f"They stay at the robot's own values: {_listed(self.held)}.")
        if not self.open:
            return "\n".join([*lines, "Nothing is missing: no extra move is needed."])
        lines.append(f"Open: {_listed(self.open)}.")
        lines += [f"  {text}." for text in self.known.advice + self.known.weak_advice]
        if self.motion is None:
            return "\n".join([*lines, self.move])
        x, y, z = self.motion.p[0, :3]
        kind = "Most helpful" if self.unsettled else "Shortest"
        lines.append(
            f"{kind} extra move found, {self.duration:.3g} s from rest to rest at "
            f"({x:.3g}, {y:.3g}, {z:.3g}) m: {self.move}."
        )
        share = dict(zip(names, self.expected, strict=True))
        settled = [name for name in self.open if name not in self.unsettled]
        parts = [f"{name} {_percent(share[name])}" for name in settled]
        if parts:
            lines.append(f"With it the deviations will be: {', '.join(parts)}.")
        if self.unsettled:
            parts = [f"{name} {_percent(share[name])}" for name in self.unsettled]
            text = f"No move that was tried settles within {self.longest:g} s"
            lines.append(f"{text}: {', '.join(parts)}.")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text


def log_report(
    robot: Robot,
    logs: Recording | Iterable[Recording] | Information,
    *,
    model: str = "exact",
    tied: bool | None = None,
    target: float = WEAK,
    settle: Sequence[str] | None = None,
    noise: npt.ArrayLike | None = None,
    longest: float = 20.0,
    share: float = 0.9,
    rate: float = 1000.0,
    band: float | Literal["auto"] | None = "auto",
    check: bool = True,
    seed: int = 0,
) -> LogReport:
    """What logs tell of a model's parameters, and the shortest extra move that settles the rest.

    Parameters shall be known to `target` of their size; `settle` names those that matter, by
    default all. `noise` (dof,) in N m replaces the deviation of the logs' residuals. The move takes
    at most `longest` seconds and `share` of the robot's limits, is sampled at `rate` (Hz), and is
    the shortest of a small seeded family, alone, repeated, or two of them in a row.
    """
    if not isinstance(target, int | float) or not target > 0:
        raise InputError("target", target, "a share of the parameters' size above 0")
    if not isinstance(longest, int | float) or not longest > 0:
        raise InputError("longest", longest, "above 0 s")
    check_rate(rate)
    if model not in SOURCES:
        raise UnknownNameError("model", model, SOURCES)
    levels = None
    if isinstance(logs, Information):
        information = logs
    else:
        loaded = Loaded(robot, logs, band, check=check)
        robot = loaded.robot
        source = ((name, _stilled(robot, parts)) for name, parts in loaded.by_recording())
        information = gather(robot, source, SOURCES[model])
        levels = levels_of_samples(robot, _stilled(robot, loaded.parts()))
    par = parametrise(robot, model, tied=tied)
    weights = axis_weights(information, par) if noise is None else 1 / _noise(noise, robot.dof)
    known = identifiability(robot, information, par, weights, levels=levels)
    sought = _sought(par, settle)
    goal = Goal.of(robot, information, par, weights, sought, float(target), noise is not None)
    before = goal.relative(np.zeros_like(goal.logs))
    missing = sought & ~(before <= target)
    report = LogReport(
        robot=robot.name,
        target=float(target),
        longest=float(longest),
        seconds=float(information.seconds.sum()),
        recordings=information.recordings,
        known=known,
        told=tuple(n for n, r in zip(par.names, before, strict=True) if r <= target),
        open=tuple(n for n, yes in zip(par.names, missing, strict=True) if yes),
        motion=None,
        move="",
        limits=None,
        expected=before,
        unsettled=(),
    )
    return (
        report if not missing.any() else _with_move(robot, report, goal, longest, share, rate, seed)
    )


def _with_move(
    robot: Robot,
    report: LogReport,
    goal: Goal,
    longest: float,
    share: float,
    rate: float,
    seed: int,
) -> LogReport:
    moves = [move for move in short_moves(robot, share, rate, seed) if move.duration <= longest]
    gains = [goal.added(move.motion, rate) for move in moves]
    durations = [move.duration for move in moves]
    choice = shortest(goal, gains, durations, longest) or most_helpful(
        goal, gains, durations, longest
    )
    if choice is None:
        text = f"No move of the family helps within {longest:g} s and the robot's limits."
        return replace(report, move=text, unsettled=report.open)
    sequence: list[Move] = []
    more = np.zeros_like(goal.logs)
    for index, count in zip(choice.moves, choice.repeats, strict=True):
        sequence += [moves[index]] * count
        more = more + count * gains[index]
    motion = joined(robot, sequence, rate)
    expected = goal.relative(more)
    after = dict(zip(goal.par.names, expected, strict=True))
    words = [
        moves[i].words + ("" if n == 1 else ", twice" if n == 2 else f", {n} times")
        for i, n in zip(choice.moves, choice.repeats, strict=True)
    ]
    return replace(
        report,
        motion=motion,
        move="; then ".join(words),
        limits=check_motion(robot, motion),
        expected=expected,
        unsettled=tuple(name for name in report.open if not after[name] <= report.target),
    )


def _sought(par: Parametrisation, settle: Sequence[str] | None) -> npt.NDArray[np.bool_]:
    if settle is None:
        return np.ones(len(par.names), dtype=np.bool_)
    for name in settle:
        if name not in par.names:
            raise UnknownNameError("settle", name, par.names)
    return np.isin(par.names, list(settle))


def _noise(value: npt.ArrayLike, dof: int) -> FloatArray:
    noise = np.asarray(value, dtype=np.float64)
    if noise.shape != (dof,) or not (np.isfinite(noise) & (noise > 0)).all():
        raise InputError("noise", noise, f"{dof} deviations above 0 N m")
    return noise


def _stilled(robot: Robot, parts: Iterable[Prepared]) -> Iterable[Prepared]:
    """Parts with the rates of axes that stand still set to 0: what was estimated is noise."""
    for part in parts:
        still = np.ptp(part.state.q, axis=0) < STILL
        if not still.any() or part.rate_noise is None:
            yield part
            continue
        qd, qdd = (np.where(still, 0.0, rates) for rates in (part.state.qd, part.state.qdd))
        yield replace(part, state=State.from_joints(robot, part.state.q, qd, qdd))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"


def _percent(share: float) -> str:
    if not math.isfinite(share):
        return "unknown"
    return f"{100 * share:.2g} %" if share < 1 else f"{share:.2g} times its size"
