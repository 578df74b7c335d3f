"""What ordinary production logs tell of a robot, and the shortest extra move for the rest.

Information adds up: a move repeated n times adds n times its own to that of the logs. So every
move of a small family is judged before it is made, by the deviations that logs and move together
would leave, with the noise that the logs show.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations, pairwise, product
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.advice import levels_of_samples
from deltadyn.identification.identifiability import (
    WEAK,
    Identifiability,
    identifiability,
    shown_sizes,
)
from deltadyn.identification.information import Information, gather
from deltadyn.identification.loading import Loaded
from deltadyn.identification.methods.base import axis_weights
from deltadyn.identification.options import Preparation
from deltadyn.identification.parametrisation import SOURCES, Parametrisation, parametrise
from deltadyn.identification.uncertainty import covariance
from deltadyn.kinematics.state import State
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.motion.fourier import FourierSeries, fourier_motion
from deltadyn.motion.limits import LimitError, LimitReport, check_motion
from deltadyn.motion.motion import Motion
from deltadyn.motion.planned import Leg, Plan, line, planned, stretch
from deltadyn.motion.profiles import PROFILES
from deltadyn.recording.prepare.data import STILL, Prepared
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot

# Short moves from the middle of the workspace and back, each to excite something.
#
# All begin and end at rest at the same place, so they can be repeated and put one after the other.


COARSE = 250.0  # Hz, of the search for the shortest time
SLACK = 1.002  # of the time: the peaks of a finer sampling are a little higher
TURNS = (math.pi / 2, math.pi)  # rad, of the spindle
ROOM = 0.9  # share of the workspace that moves take
HARMONICS = 4
PERIODS = (1, 3)
SIZES = ((1.0, "over the whole workspace"), (0.3, "in the middle third"))
SLOW = 0.3  # of the limits: a pace at which viscous friction and inertia matter less


@dataclass(frozen=True, eq=False)
class Move:
    """A motion from the middle and back, and what it does in words."""

    words: str
    motion: Motion

    @property
    def duration(self) -> float:
        """In s, with the step to the next move."""
        return self.motion.duration


def short_moves(robot: Robot, share: float, rate: float, seed: int = 0) -> Iterator[Move]:
    """A small family of moves as quick as `share` of the limits allow, and some slow ones."""
    cylinder = working_cylinder(robot)
    middle = np.zeros(robot.dof)
    middle[robot.coordinates.index("z")] = (cylinder.z_min + cylinder.z_max) / 2
    half_height = (cylinder.z_max - cylinder.z_min) / 2
    sizes = {"x": cylinder.radius, "y": cylinder.radius, "z": half_height, "psi": 1.0}
    size = np.array([sizes[name] for name in robot.coordinates])
    for words, offsets, slower in _ways(robot):
        places = [middle + offset * size for offset in offsets]
        motion = _lines(robot, middle, places, size, slower * share, rate)
        yield from _made(robot, words, motion)
    half = ROOM * size
    if robot.turns:
        half[3] = max((angle for angle in TURNS if _turns(robot, angle)), default=0.0)
    for wide, text in SIZES:
        for periods in PERIODS:
            count = "1 period" if periods == 1 else f"{periods} periods"
            words = f"{count} of a sum of sines on all axes, {text}"
            motion = _sines(robot, middle, wide * half, periods, share, rate, seed)
            yield from _made(robot, words, motion)


def _ways(robot: Robot) -> Iterator[tuple[str, list[FloatArray], float]]:
    """Places to go to, in shares of the workspace and rad of psi, with the share of the pace."""
    unit = dict(zip(robot.coordinates, ROOM * np.eye(robot.dof), strict=True))
    x, z = unit["x"], unit["z"]
    y = unit.get("y", 0 * x)
    who = "spindle" if robot.spindle is not None else "tool"
    axes = "x and z" if robot.planar else "x, y and z"
    turns = [angle for angle in TURNS if robot.turns and _turns(robot, angle)]
    for angle in turns:
        psi = angle * np.eye(4)[3]
        text = f"turn the {who} to {angle:.2f} and {-angle:.2f} rad in the middle"
        yield text, [psi, -psi], 1.0
        yield f"{text}, slowly", [psi, -psi], SLOW
    for wide, text in SIZES:
        a, b, c = wide * x, wide * y, wide * z
        yield f"go along x, {text}", [a, -a], 1.0
        if not robot.planar:
            yield f"go along y, {text}", [b, -b], 1.0
        yield f"go up and down, {text}", [c, -c], 1.0
        yield f"go along {axes}, {text}", [a + c, -a - c, b - c, c - b], 1.0
        yield f"go along {axes} slowly, {text}", [a + c, -a - c, b - c, c - b], SLOW
        for angle in turns:
            psi = angle * np.eye(4)[3]
            words = f"go along {axes}, {text}, and turn the {who} by {angle:.2f} rad on the way"
            yield words, [a + c + psi, -a - c - psi, b - c + psi, c - b - psi], 1.0


def joined(robot: Robot, moves: Sequence[Move], rate: float) -> Motion:
    """Moves one after the other as one motion."""
    parts = [move.motion for move in moves]
    rows = [slice(0 if i == 0 else 1, None) for i in range(len(parts))]
    p, pd, pdd = (
        np.concatenate([getattr(m, name)[r] for m, r in zip(parts, rows, strict=True)])
        for name in ("p", "pd", "pdd")
    )
    return Motion.from_platform(robot, np.arange(len(p)) / rate, p, pd, pdd)


def _made(robot: Robot, words: str, motion: Motion | None) -> Iterator[Move]:
    if motion is not None and check_motion(robot, motion).ok:
        yield Move(words, motion)


def _lines(
    robot: Robot,
    middle: FloatArray,
    places: list[FloatArray],
    size: FloatArray,
    share: float,
    rate: float,
) -> Motion | None:
    """Straight from place to place and back to the middle; None where limits forbid it."""
    legs = []
    for a, b in pairwise([middle, *places, middle]):
        way = float((np.abs(b - a) / size).max())  # quick legs take the root of their length
        legs.append(Leg(line(a, b, PROFILES["quintic"]), math.sqrt(way)))
    plan = Plan(tuple(legs))
    try:
        quickest = planned(robot, plan, None, COARSE, share).duration
    except LimitError:
        return None
    return planned(robot, plan, math.ceil(SLACK * quickest * rate) / rate, rate, share)


def _sines(
    robot: Robot,
    middle: FloatArray,
    half: FloatArray,
    periods: int,
    share: float,
    rate: float,
    seed: int,
) -> Motion | None:
    """A seeded sum of sines that stays within the workspace, at the shortest period."""
    rng = np.random.default_rng(seed)
    sine, cosine = rng.standard_normal((2, robot.dof, HARMONICS)) / np.arange(1, HARMONICS + 1)
    t = np.linspace(0.0, 1.0, 400)
    wide = FourierSeries(1.0, middle, sine, cosine)
    reach = np.abs(wide.at(t).p - middle).max(axis=0)
    factor = (half / reach)[:, None]
    if not robot.planar:
        factor[:2] /= math.sqrt(2)  # the workspace is round
    series = FourierSeries(1.0, middle, factor * sine, factor * cosine)
    try:
        slow = fourier_motion(robot, series, periods=periods, rate=COARSE, ramp=1.0)
        seconds = stretch(robot, slow, share=share).duration * SLACK
    except LimitError:
        return None
    period = seconds / slow.duration
    quick = FourierSeries(1 / period, middle, series.sine, series.cosine)
    return fourier_motion(robot, quick, periods=periods, rate=rate, ramp=period)


def _turns(robot: Robot, angle: float) -> bool:
    """Whether the tool may turn by this angle to both sides.

    Limbs that turn it themselves have no limit of psi: the motion is checked against theirs.
    """
    if robot.spindle is None:
        return True
    low, high = robot.limits.angle_min, robot.limits.angle_max
    least = -math.inf if low is None else low[3]
    most = math.inf if high is None else high[3]
    return least <= -angle and angle <= most


def check_rate(rate: float) -> float:
    """A sample rate in Hz that shows the moves."""
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not rate >= 100:
        raise InputError("rate", rate, "at least 100 Hz")
    return float(rate)


# How much a move would add to the information of logs, and the shortest that adds enough.


FEW = (1, 2, 3, 4, 6, 8, 12, 16)  # repeats of two moves that are tried one after the other
FAR = 1e6  # times the target: as far off as counts


class Choice(NamedTuple):
    """Moves and how often each is made."""

    moves: tuple[int, ...]
    repeats: tuple[int, ...]
    duration: float


@dataclass(frozen=True, eq=False)
class Goal:
    """Information per parameter of unit size: of the logs, and what counts as settled."""

    robot: Robot
    information: Information
    par: Parametrisation
    weights: FloatArray
    scale: FloatArray
    logs: FloatArray
    noise: FloatArray  # deviation of a row of weight 1, per parameter: correlation counted in
    sought: npt.NDArray[np.bool_]
    target: float

    @classmethod
    def of(
        cls,
        robot: Robot,
        information: Information,
        par: Parametrisation,
        weights: FloatArray,
        asked: LogRequest,
    ) -> Goal:
        """The goal for logs; where noise is given the weights are those of unit deviation."""
        sought, target, given = asked.sought(par), float(asked.target), asked.noise is not None
        found = covariance(information, par, None, weights)
        inflation = found.inflation
        scale = shown_sizes(robot, par, found)
        told = found.std < scale  # else there are no scores to judge by
        typical = float(np.median(inflation[told])) if told.any() else 1.0
        level = 1.0 if given else float(np.sqrt(np.mean((weights * found.residual_std) ** 2)))
        R = information.factor(par, weights)[:-1, :-1] * scale
        noise = level * np.where(told, inflation, typical)
        return cls(robot, information, par, weights, scale, R.T @ R, noise, sought, target)

    def added(self, motion: Motion, rate: float) -> FloatArray:
        """Information (k, k) of a motion, recorded with the rate and noise of the logs.

        What a band takes from the jumps of friction is left out of account.
        """
        zero = np.zeros_like(motion.qd)
        part = Prepared("move", motion.t, motion, zero, rate)
        new = gather(self.robot, [("move", [part])], self.par.source, workers=1)
        R = new.factor(self.par, self.weights)[:-1, :-1] * self.scale
        per_second = self.information.samples / float(self.information.seconds.sum())
        out: FloatArray = R.T @ R * per_second / rate
        return out

    def relative(self, more: FloatArray) -> FloatArray:
        """Deviations over sizes (k,) with this information besides that of the logs."""
        H = self.logs + more
        length = np.sqrt(np.maximum(np.diag(H), 0.0))
        alive = length > 1e-9 * length.max(initial=1e-300)
        unit = H[np.ix_(alive, alive)] / np.outer(length[alive], length[alive])
        values, vectors = np.linalg.eigh(unit)
        good = values > 1e-12  # squares: the rank of columns to 1e-6
        out = np.full(len(H), np.inf)
        variance = (vectors[:, good] ** 2 / values[good]).sum(axis=1)
        lost = (vectors[:, ~good] ** 2).sum(axis=1) > 1e-6
        out[alive] = np.where(lost, np.inf, np.sqrt(variance) / length[alive] * self.noise[alive])
        return out

    def settled(self, more: FloatArray) -> bool:
        """Whether all that is sought reaches the target."""
        return bool((self.relative(more)[self.sought] <= self.target).all())

    def lack(self, more: FloatArray) -> float:
        """How much is missing: the number of open parameters, then how far they are off."""
        share = np.minimum(self.relative(more)[self.sought] / self.target, FAR)
        over = share[share > 1]
        return len(over) + float(np.log(over).sum()) / (math.log(FAR) + 1) / max(len(share), 1)


def shortest(
    goal: Goal, gains: list[FloatArray], durations: list[float], longest: float
) -> Choice | None:
    """The shortest repeats of one move, or of two in a row, that settle all; None if none do."""
    best: Choice | None = None
    for i, (gain, seconds) in enumerate(zip(gains, durations, strict=True)):
        within = longest if best is None else best.duration
        most = int(within / seconds + 1e-9)
        if most < 1 or not goal.settled(most * gain):
            continue
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if goal.settled(middle * gain) else (middle, high)
        if best is None or high * seconds < best.duration:
            best = Choice((i,), (high,), high * seconds)
    for i, j in combinations(range(len(gains)), 2):
        within = longest if best is None else best.duration
        first, second = (int(within / durations[k]) * gains[k] for k in (i, j))
        if not goal.settled(first + second):
            continue  # not even with all the time for each of them
        for n, m in product(FEW, FEW):
            seconds = n * durations[i] + m * durations[j]
            if seconds > longest or (best is not None and seconds >= best.duration):
                continue
            if goal.settled(n * gains[i] + m * gains[j]):
                best = Choice((i, j), (n, m), seconds)
    return best


def most_helpful(
    goal: Goal, gains: list[FloatArray], durations: list[float], longest: float
) -> Choice | None:
    """One move, or two in a row, that leave the least open within the longest time.

    Then as few repeats of them as settle the same number of parameters.
    """
    found: Choice | None = None
    least = goal.lack(np.zeros_like(goal.logs))
    single = [(i,) for i in range(len(gains))]
    for moves in [*single, *combinations(range(len(gains)), 2)]:
        repeats = [int(longest / len(moves) / durations[i] + 1e-9) for i in moves]
        if min(repeats) < 1:
            continue
        lack = goal.lack(_sum(gains, moves, repeats))
        if lack < least - 1e-9:
            least, found = lack, _choice(durations, moves, repeats)
    return None if found is None else _fewer(goal, gains, durations, found)


def _fewer(goal: Goal, gains: list[FloatArray], durations: list[float], found: Choice) -> Choice:
    """The same moves with fewer repeats, as long as no more parameters are open."""
    repeats = list(found.repeats)
    most = math.floor(goal.lack(_sum(gains, found.moves, repeats)))
    for place in sorted(range(len(repeats)), key=lambda k: -durations[found.moves[k]]):
        while sum(repeats) > 1:
            fewer = [n - (k == place) for k, n in enumerate(repeats)]
            if min(fewer) < 0 or math.floor(goal.lack(_sum(gains, found.moves, fewer))) > most:
                break
            repeats = fewer
    kept = [(i, n) for i, n in zip(found.moves, repeats, strict=True) if n]
    return _choice(durations, [i for i, _ in kept], [n for _, n in kept])


def _sum(gains: list[FloatArray], moves: Sequence[int], repeats: Sequence[int]) -> FloatArray:
    total = np.zeros_like(gains[0])
    for i, n in zip(moves, repeats, strict=True):
        total = total + n * gains[i]
    return total


def _choice(durations: list[float], moves: Sequence[int], repeats: Sequence[int]) -> Choice:
    seconds = sum(n * durations[i] for i, n in zip(moves, repeats, strict=True))
    return Choice(tuple(moves), tuple(repeats), seconds)


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


@dataclass(frozen=True, eq=False)
class LogRequest:
    """What `log_report` is asked for.

    Parameters of `model` shall be known to `target` of their size; `settle` names those that
    matter, by default all. `tied` is that of `identify`, as are `band` and `check`. `noise` (dof,)
    in N m replaces the deviation of the logs' residuals. The move takes at most `longest` seconds
    and `share` of the robot's limits, is sampled at `rate` (Hz, at least 100), and is the shortest
    of a small family drawn by `seed`, alone, repeated, or two of them in a row.
    """

    model: str = "exact"
    tied: bool | None = None
    target: float = WEAK
    settle: Sequence[str] | None = None
    noise: npt.ArrayLike | None = None
    longest: float = 20.0
    share: float = 0.9
    rate: float = 1000.0
    band: float | Literal["auto"] | None = "auto"
    check: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.target, int | float) or not self.target > 0:
            raise InputError("target", self.target, "a share of the parameters' size above 0")
        if not isinstance(self.longest, int | float) or not self.longest > 0:
            raise InputError("longest", self.longest, "above 0 s")
        check_rate(self.rate)
        if self.model not in SOURCES:
            raise UnknownNameError("model", self.model, SOURCES)

    def sought(self, par: Parametrisation) -> npt.NDArray[np.bool_]:
        """Which parameters (k,) matter."""
        if self.settle is None:
            return np.ones(len(par.names), dtype=np.bool_)
        for name in self.settle:
            if name not in par.names:
                raise UnknownNameError("settle", name, par.names)
        return np.isin(par.names, list(self.settle))

    def weights(self, information: Information, par: Parametrisation) -> FloatArray:
        """Weights (dof,) of the axes: one over the noise, or over the logs' residuals."""
        if self.noise is None:
            return axis_weights(information, par)
        noise = np.asarray(self.noise, dtype=np.float64)
        dof = information.dof
        if noise.shape != (dof,) or not (np.isfinite(noise) & (noise > 0)).all():
            raise InputError("noise", noise, f"{dof} deviations above 0 N m")
        return 1 / noise


def log_report(
    robot: Robot,
    logs: Recording | Iterable[Recording] | Information,
    request: LogRequest | None = None,
    **keywords: Any,
) -> LogReport:
    """What logs tell of a model's parameters, and the shortest extra move that settles the rest.

    Each field of `LogRequest` may be given as a keyword.
    """
    known_names = [item.name for item in fields(LogRequest)]
    for name in keywords:
        if name not in known_names:
            raise UnknownNameError("option of log_report", name, known_names)
    asked = replace(request or LogRequest(), **keywords)
    levels = None
    if isinstance(logs, Information):
        information = logs
    else:
        loaded = Loaded(robot, logs, Preparation(asked.band, check=asked.check))
        robot = loaded.robot
        source = ((name, _stilled(robot, parts)) for name, parts in loaded.by_recording())
        information = gather(robot, source, SOURCES[asked.model])
        levels = levels_of_samples(robot, _stilled(robot, loaded.parts()))
    par = parametrise(robot, asked.model, tied=asked.tied)
    weights = asked.weights(information, par)
    known = identifiability(robot, information, par, weights, levels=levels)
    goal = Goal.of(robot, information, par, weights, asked)
    before = goal.relative(np.zeros_like(goal.logs))
    missing = goal.sought & ~(before <= asked.target)
    report = LogReport(
        robot=robot.name,
        target=float(asked.target),
        longest=float(asked.longest),
        seconds=float(information.seconds.sum()),
        recordings=information.recordings,
        known=known,
        told=tuple(n for n, r in zip(par.names, before, strict=True) if r <= asked.target),
        open=tuple(n for n, yes in zip(par.names, missing, strict=True) if yes),
        motion=None,
        move="",
        limits=None,
        expected=before,
        unsettled=(),
    )
    return report if not missing.any() else _with_move(robot, report, goal, asked)


def _with_move(robot: Robot, report: LogReport, goal: Goal, asked: LogRequest) -> LogReport:
    longest, rate = asked.longest, asked.rate
    family = short_moves(robot, asked.share, rate, asked.seed)
    moves = [move for move in family if move.duration <= longest]
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


def _stilled(robot: Robot, parts: Iterable[Prepared]) -> Iterable[Prepared]:
    """Parts with the rates of axes that stand still set to 0: what was estimated is noise."""
    for part in parts:
        still = np.ptp(part.state.q, axis=0) < STILL
        if not still.any() or part.rate_noise is None:
            yield part
            continue
        qd, qdd = (np.where(still, 0.0, rates) for rates in (part.state.qd, part.state.qdd))
        yield replace(
            part, state=State.from_joints(robot, part.state.q, qd, qdd, hint=part.state.p)
        )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"


def _percent(share: float) -> str:
    if not math.isfinite(share):
        return "unknown"
    return f"{100 * share:.2g} %" if share < 1 else f"{share:.2g} times its size"
