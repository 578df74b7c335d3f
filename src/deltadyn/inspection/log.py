"""A log before anything is fitted: its columns, clock, motion and convention, and its worth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.dynamics import regressor
from deltadyn.errors import DeltadynError, InputError, RecordingFileError
from deltadyn.identification import Identifiability, gather, identifiability, parametrise
from deltadyn.inspection.robot import by_severity, finding_dict
from deltadyn.kinematics import State
from deltadyn.recording.checks import FATAL, check_recording
from deltadyn.recording.checks.findings import Finding, ranges_where
from deltadyn.recording.conventions import Conventions
from deltadyn.recording.guess import ColumnGuess, GuessedColumn
from deltadyn.recording.prepare.band import choose_band
from deltadyn.recording.prepare.data import parts_in_band, prepared_parts
from deltadyn.recording.read import ReadOptions, guess_columns, read_recording
from deltadyn.recording.recording import Recording, channel_name
from deltadyn.recording.stretch import smooth_stretch
from deltadyn.robot import Robot

WINDOW = 0.01  # s to both sides, over which a rate is taken
REST = 0.005  # of an axis's largest rate, and 2 mrad/s: below it an axis rests
SLOWEST = 2e-3
STILL = math.radians(1.0)  # an axis whose angle stays within it does not move
STUCK = 0.1  # s at rest
PULLED = 0.2  # of the range of its torque, while it rests: the drive pulls and the axis sticks
MOSTLY = 0.7  # of the rows at rest
WARMER = 5.0  # K between the first and the last tenth of a log
PIECES, PIECE = 3, 6000  # rows that are looked at for what the log tells

#: Every kind of finding that is looked for here: severity, and what to do.
KINDS = {
    "not read": ("error", "Name the columns in a column map: --write-columns writes one to edit."),
    "asked for": ("error", "Give it with --read, or for each column in a column map."),
    "still axis": ("warning", "Record a motion of all axes: nothing is learned of this one."),
    "rest": ("info", "Cut the log, or record more motion: rows at rest tell only of gravity."),
    "sticking": (
        "info",
        "A fit leaves these rows out: at rest the drive may pull against friction.",
    ),
    "warming": (
        "warning",
        "Friction changes with temperature: warm the robot up first, or keep logs of one "
        "temperature apart.",
    ),
}
#: Options that scale the torque: what they are, with the value that stands in for a missing one.
SCALES = {"torque_constant": "N m/A", "rated_torque": "N m", "rated_current": "A"}


@dataclass(frozen=True)
class AxisMotion:
    """How an axis moved: its angles (rad), largest rate (rad/s), share of rows at rest, torques."""

    name: str
    low: float
    high: float
    rate: float
    rest: float
    torque: tuple[float, float] | None  # N m, lowest and highest
    slides: bool = False  # a carriage: in m, m/s and N

    @property
    def ends(self) -> tuple[float, float]:
        """Lowest and highest in the unit to show: deg, or mm."""
        low, high = np.multiply(1e3, (self.low, self.high)) if self.slides else np.degrees(
            (self.low, self.high))  # fmt: skip
        return float(low), float(high)

    def __str__(self) -> str:
        low, high = self.ends
        shown, rate, torque = ("mm", "m/s", "N") if self.slides else ("deg", "rad/s", "N m")
        text = f"axis {self.name}: {low:.1f} to {high:.1f} {shown}, up to {self.rate:.3g} {rate}"
        if self.torque is not None:
            text += f", {self.torque[0]:.3g} to {self.torque[1]:.3g} {torque}"
        return f"{text}, {100 * self.rest:.0f} % at rest"


@dataclass(frozen=True, eq=False)
class Explained:
    """Torques (n, dof) at times (n,), and what a fit of all base parameters makes of them."""

    t: FloatArray
    measured: FloatArray
    predicted: FloatArray
    parameters: FloatArray  # (k,), of the robot's regressor

    @property
    def residual(self) -> float:
        """RMS of what is left over RMS of the torque."""
        left = self.measured - self.predicted
        return float(np.sqrt(np.mean(left**2) / np.mean(self.measured**2)))


@dataclass(frozen=True, eq=False)
class LogCheck:
    """What a log says before a fit.

    `recording` is None where the file cannot be read; `guess` is None where a recording was given.
    `stand_in` names options that were not given and taken as 1: all but the size of the torque is
    right then. `told` says what the log can identify, `untold` why that is not known.
    """

    source: str
    robot: Robot
    recording: Recording | None
    guess: ColumnGuess | None
    findings: tuple[Finding, ...]
    skipped: tuple[str, ...] = ()
    conventions: Conventions | None = None
    motion: tuple[AxisMotion, ...] = ()
    rest: float = 0.0
    stand_in: tuple[str, ...] = ()
    told: Identifiability | None = None
    untold: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing of severity "error" was found."""
        return not any(item.severity == "error" for item in self.findings)

    @property
    def columns(self) -> tuple[GuessedColumn, ...]:
        """What each column was taken for, and why."""
        return () if self.guess is None else self.guess.columns

    @property
    def rate(self) -> float | None:
        """Samples per second."""
        step = math.nan if self.recording is None else self.recording.sample_time
        return 1 / step if step > 0 else None

    @property
    def has_torque(self) -> bool:
        """Whether there are torques to compare a model with."""
        return self.recording is not None and self.recording.has_torque

    @property
    def gaps(self) -> int:
        """Places at which samples are missing."""
        return sum(item.count for item in self.findings if item.kind == "gap")

    @property
    def changed(self) -> bool:
        """Whether another convention than the one that was read explains the log, for sure."""
        found = self.conventions
        return found is not None and found.settled and bool(found.changed)

    @cached_property
    def put_right(self) -> Recording | None:
        """The recording under the convention that was found; as it was read where none was."""
        if self.recording is None or self.conventions is None or not self.changed:
            return self.recording
        return self.conventions.apply(self.recording)

    @cached_property
    def explained(self) -> tuple[Explained | None, Explained | None]:
        """The torque as a fit explains it: of the log as it was read, and under its convention.

        Both with the parameters that fit best under the convention.
        """
        if self.recording is None or self.put_right is None:
            return None, None
        after = explain(self.robot, self.put_right)
        if after is None or not self.changed:
            return after, after
        return explain(self.robot, self.recording, after.parameters), after

    def column_map(self) -> str:
        """The text of a `columns.yaml`: every column, and the convention that was found."""
        if self.guess is None:
            raise InputError("log", self.source, "a file: a recording has no columns to name")
        found = self.conventions.columns if self.changed and self.conventions is not None else {}
        columns = tuple(_with_convention(item, found.get(item.name)) for item in self.columns)
        return replace(self.guess, columns=columns).yaml()

    @property
    def text(self) -> str:
        """All of it in words."""
        lines = [f"log {self.source}"]
        if self.recording is not None and self.rate is not None:
            missing = f", {self.gaps} gaps" if self.gaps else ""
            lines.append(
                f"  {len(self.recording)} rows, {self.recording.duration:.4g} s at "
                f"{self.rate:.4g} Hz{missing}; the robot rests in {100 * self.rest:.0f} % of them"
            )
        lines += [f"  {item}" for item in self.motion]
        width = max((len(item.name) for item in self.columns), default=0)
        taken = max((len(item.text) for item in self.columns), default=0)
        for item in self.columns:
            why = "; ".join(item.why)
            lines.append(f"  column {item.name:<{width}}  {item.text:<{taken}}  {why}".rstrip())
        lines += [f"  {finding}" for finding in self.findings]
        lines += [f"  not checked: {reason}" for reason in self.skipped]
        if self.conventions is not None:
            lines += [f"  {line}".rstrip() for line in _convention_lines(self.conventions)]
        lines += [f"  {line}" for line in self.told_lines]
        return "\n".join(lines)

    @property
    def told_lines(self) -> list[str]:
        """What the log can identify."""
        found = self.told
        if found is None:
            return [f"what it can identify is not known: {self.untold}"] if self.untold else []
        lines = [
            f"it tells {found.rank - len(found.drowned)} of {len(found.names)} parameters"
            + (f"; well: {', '.join(found.essential)}" if found.essential else "")
        ]
        for words, names in (
            ("not at all", found.no_influence + found.drowned),
            ("only in sums", found.sums),
            ("weakly", found.weak),
        ):
            if names:
                lines.append(f"{words}: {', '.join(names)}")
        return [*lines, *found.advice, *found.weak_advice]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        recording, told = self.recording, self.told
        return {
            "file": self.source,
            "ok": self.ok,
            "rows": None if recording is None else len(recording),
            "duration_s": None if recording is None else recording.duration,
            "rate_Hz": self.rate,
            "gaps": self.gaps,
            "rest": self.rest,
            "columns": [
                {"name": item.name, "number": item.number, "taken_for": item.text,
                 "why": list(item.why)}
                for item in self.columns
            ],
            "motion": [
                {"axis": item.name, f"low_{'mm' if item.slides else 'deg'}": item.ends[0],
                 f"high_{'mm' if item.slides else 'deg'}": item.ends[1],
                 f"rate_{'m' if item.slides else 'rad'}_per_s": item.rate, "rest": item.rest}
                for item in self.motion
            ],
            "findings": [finding_dict(item) for item in self.findings],
            "skipped": list(self.skipped),
            "stand_in": list(self.stand_in),
            "conventions": None if self.conventions is None else self.conventions.as_dict(),
            "identifiable": None
            if told is None
            else {
                "parameters": list(told.names),
                "well": list(told.essential),
                "weak": list(told.weak),
                "not_told": list(told.missing),
                "sums": list(told.sums),
                "advice": list(told.advice + told.weak_advice),
            },
        }  # fmt: skip


def _convention_lines(found: Conventions) -> list[str]:
    """The summary, and what to paste where the convention is another one."""
    lines = str(found).splitlines()
    first, *rest = lines
    return [f"convention: {first.partition(': ')[2]}", *rest]


def _with_convention(item: GuessedColumn, entry: dict[str, Any] | None) -> GuessedColumn:
    """A column as a convention has it; what the guess knew beside it stays."""
    if entry is None or item.use is None:
        return item
    axis = entry.get("axis")
    use = replace(
        item.use,
        quantity=entry["quantity"],
        axis=None if axis is None else axis - 1,
        unit=entry.get("unit", item.use.unit),
        scale=entry.get("scale", 1.0),
        sign=entry.get("sign", 1.0),
        offset=entry.get("offset", 0.0),
        side=entry.get("side", item.use.side),
    )
    return replace(item, use=use, why=(*item.why, "convention found from the data"))


# Reading, then looking.


def check_log(
    robot: Robot, log: Recording | str | PathLike[str], options: ReadOptions | None = None
) -> LogCheck:
    """Look at a log; a file that does not exist is an error of the call."""
    if isinstance(log, Recording):
        return _looked(robot, log, log.name, None, ())
    path = Path(fspath(log))
    if not path.exists():
        raise RecordingFileError.of_file(str(path), "does not exist", "a log")
    given = options or ReadOptions()
    guess = None
    try:
        guess = guess_columns(path, robot, given)
        asked = [p.quantity for p in guess.problems if p.quantity in SCALES]
        stand_in: dict[str, Any] = dict.fromkeys(asked, 1.0)
        recording = read_recording(path, robot, replace(given, **stand_in))
    except DeltadynError as error:
        text = str(error).replace(str(path), path.name)
        return LogCheck(path.name, robot, None, guess, (_finding("not read", None, f"{text}."),))
    return _looked(robot, recording, path.name, guess, tuple(asked))


def _looked(
    robot: Robot,
    recording: Recording,
    source: str,
    guess: ColumnGuess | None,
    stand_in: tuple[str, ...],
) -> LogCheck:
    machine = robot
    if stand_in:  # torques of a size that is not known reach no limit
        machine = robot.replace(limits=replace(robot.limits, torque_peak=None))
    findings = check_recording(recording, machine)
    conventions = findings.conventions
    if stand_in and conventions is not None:
        conventions = conventions.of_any_size()
    found = [item for item in findings if not (stand_in and item.kind == "torque unit")]
    found += [_asked_for(option, findings.conventions) for option in stand_in]
    motion, rest, at_rest = _motion(robot, recording)
    if stand_in:
        motion = tuple(replace(axis, torque=None) for axis in motion)
    found += _motion_findings(robot, recording, motion, rest, at_rest)
    found += _temperature(recording)
    log = LogCheck(
        source,
        robot,
        recording,
        guess,
        by_severity(found),
        findings.skipped,
        conventions,
        motion,
        rest,
        stand_in,
    )
    told, untold = _told(log)
    return replace(log, told=told, untold=untold)


def _finding(
    kind: str,
    channel: str | None,
    text: str,
    rows: tuple[tuple[int, int], ...] = (),
    value: float | None = None,
) -> Finding:
    severity, advice = KINDS[kind]
    return Finding(kind, severity, channel, text, advice, rows, len(rows), value)


def _asked_for(option: str, found: Conventions | None) -> Finding:
    """An option that scales the torque; the robot file's masses say about how large it is."""
    text = f"{option} ({SCALES[option]}) is not given; 1 was taken to look at the rest"
    size = None if found is None or not found.torque_scale else 1 / found.torque_scale
    if size is not None and size > 0:
        text += f". With the masses of the robot file it is about {size:.2g} {SCALES[option]}"
    return _finding("asked for", option, f"{text}.", value=size)


# The motion: what moves, rests and sticks.


def _rates(recording: Recording) -> FloatArray:
    """Rates (N, dof) by differences over a window; NaN at its ends."""
    step = recording.sample_time
    half = max(1, round(WINDOW / step)) if step > 0 else 1
    rates = np.full(recording.q.shape, np.nan)
    if len(recording) <= 2 * half:
        return rates
    with np.errstate(invalid="ignore", divide="ignore"):
        time = recording.t[2 * half :] - recording.t[: -2 * half]
        rates[half:-half] = (recording.q[2 * half :] - recording.q[: -2 * half]) / time[:, None]
    return rates


def _motion(robot: Robot, recording: Recording) -> tuple[tuple[AxisMotion, ...], float, BoolArray]:
    """How each axis moved, the share of rows in which all rest, and where each rests (N, dof)."""
    rates = np.abs(_rates(recording))
    known = np.isfinite(rates)
    largest = np.array(
        [np.quantile(rates[known[:, k], k], 0.999) if known[:, k].any() else 0.0
         for k in range(recording.dof)]
    )  # fmt: skip
    slowest = SLOWEST * np.array(robot.radian)
    at_rest = known & (rates < np.maximum(REST * largest, slowest))
    looked = max(int(known.all(axis=1).sum()), 1)
    axes = []
    for k, name in enumerate(robot.axis_names()):
        q = recording.q[:, k]
        q = q[np.isfinite(q)]
        low, high = (float(q.min()), float(q.max())) if q.size else (0.0, 0.0)
        share = float(at_rest[:, k].sum()) / looked
        own, slides = _range(recording, k), robot.linear and k < robot.legs
        axes.append(AxisMotion(name, low, high, float(largest[k]), share, own, slides))
    return tuple(axes), float(at_rest.all(axis=1).sum()) / looked, at_rest


def _range(recording: Recording, axis: int) -> tuple[float, float] | None:
    if not recording.has_torque:
        return None
    tau = recording.tau[:, axis]
    tau = tau[np.isfinite(tau)]
    return (float(tau.min()), float(tau.max())) if tau.size else None


def _motion_findings(
    robot: Robot,
    recording: Recording,
    motion: tuple[AxisMotion, ...],
    rest: float,
    at_rest: BoolArray,
) -> Iterator[Finding]:
    for k, axis in enumerate(motion):
        if axis.high - axis.low < STILL * robot.radian[k]:
            way = f"{axis.ends[1] - axis.ends[0]:.2g} {'mm' if axis.slides else 'deg'}"
            text = f"Axis {axis.name} moves by {way}."
            yield _finding("still axis", channel_name("q", k), text)
            continue
        stuck = _stuck(recording, at_rest[:, k], k)
        if stuck:
            rows = sum(stop - start for start, stop in stuck)
            text = (
                f"Axis {axis.name} rests at {len(stuck)} places, {rows} rows in all, while its "
                "torque changes."
            )
            yield _finding("sticking", channel_name("tau", k), text, stuck)
    if rest > MOSTLY:
        yield _finding("rest", None, f"All axes rest in {100 * rest:.0f} % of the rows.")


def _stuck(recording: Recording, at_rest: BoolArray, axis: int) -> tuple[tuple[int, int], ...]:
    """Stretches at rest in which the torque changes by much of its whole range."""
    if not recording.has_torque:
        return ()
    tau, step = recording.tau[:, axis], recording.sample_time
    if not (step > 0 and np.isfinite(tau).any()):
        return ()
    low, high = np.nanpercentile(tau, [1, 99])
    found = []
    for start, stop in ranges_where(at_rest):
        part = tau[start:stop]
        if (stop - start) * step >= STUCK and np.isfinite(part).all():
            ends = np.percentile(part, [2, 98])
            if ends[1] - ends[0] > PULLED * (high - low) > 0:
                found.append((int(start), int(stop)))
    return tuple(found)


def _temperature(recording: Recording) -> Iterator[Finding]:
    values = recording.temperature
    if values is None or not np.isfinite(values).any():
        return
    tenth = max(1, len(values) // 10)
    first, last = float(np.nanmedian(values[:tenth])), float(np.nanmedian(values[-tenth:]))
    if abs(last - first) > WARMER:
        text = f"The temperature goes from {first:.3g} to {last:.3g} degC."
        yield _finding("warming", "temperature", text, value=last - first)


# What the log tells.


def explain(
    robot: Robot, recording: Recording, parameters: FloatArray | None = None
) -> Explained | None:
    """Torques beside Y pi, with the parameters given or the best ones by least squares."""
    stretch = smooth_stretch(recording) if recording.has_torque else None
    if stretch is None:
        return None
    with np.errstate(invalid="ignore"):
        state = State.from_joints(robot, stretch.q, stretch.qd, stretch.qdd, unreachable="nan")
        Y = np.asarray(regressor(robot, state).Y)
    good = np.isfinite(Y).all(axis=(1, 2)) & np.isfinite(stretch.tau).all(axis=1)
    if good.sum() < Y.shape[2]:
        return None
    rows, tau = Y[good].reshape(-1, Y.shape[2]), stretch.tau[good]
    if parameters is None:
        size = np.linalg.norm(rows, axis=0)
        size[size == 0] = 1.0
        parameters = np.linalg.lstsq(rows / size, tau.ravel(), rcond=1e-8)[0] / size
    predicted = (rows @ parameters).reshape(tau.shape)
    return Explained(recording.t[stretch.row[good]], tau, predicted, parameters)


def _told(log: LogCheck) -> tuple[Identifiability | None, str]:
    """What the log can identify once its convention is put right; else why that is not known."""
    found = log.conventions
    fatal = [x.kind for x in log.findings if x.severity == "error" and x.kind in FATAL]
    if found is not None and not found.settled:
        return None, "its convention is not decided"
    left = sorted(set(fatal) - set(() if found is None else found.changed))
    if left or log.put_right is None:
        return None, f"correct {', '.join(left)} first"
    robot, recording = log.robot, log.put_right
    if not recording.has_torque:
        return None, "it has no torques"
    try:
        pieces = _pieces(recording)
        parts = [part for piece in pieces for part in prepared_parts(robot, piece)]
        band = choose_band(robot, parts)
        limited = parts_in_band(parts, band)
        information = gather(robot, [(recording.name, limited)], workers=1)
        return identifiability(robot, information, parametrise(robot)), ""
    except DeltadynError as error:
        return None, str(error)


def _pieces(recording: Recording) -> Iterator[Recording]:
    """Some stretches of a long log, spread over it: enough to see which parameters it tells."""
    count = len(recording)
    if count <= PIECES * PIECE:
        yield recording
        return
    for start in np.linspace(0, count - PIECE, PIECES).astype(int):
        yield recording.rows(int(start), int(start) + PIECE)
