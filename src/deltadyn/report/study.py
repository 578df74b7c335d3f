"""A study: a fit, what it is worth on held-out motion, other methods, picks and loads."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.calibration.result import Calibration
from deltadyn.doors import write_page
from deltadyn.dynamics.models import model_of, models_for
from deltadyn.errors import DeltadynError, InputError
from deltadyn.excitation.result import Excitation
from deltadyn.identification.fit import Fit
from deltadyn.identification.identify import identify
from deltadyn.identification.methods.registry import method_by_name
from deltadyn.identification.options import FitOptions
from deltadyn.identification.shared import Shared
from deltadyn.identification.verdict import Evidence, Verdict, evidence_of, judge
from deltadyn.kinematics import forward_kinematics
from deltadyn.motion.motion import Motion
from deltadyn.options import merged, parted
from deltadyn.payload.noise import NoiseModel
from deltadyn.payload.offline import PickLog, find_picks
from deltadyn.recording import read_recording
from deltadyn.recording.prepare.data import Prepared
from deltadyn.recording.prepare.held_out import carrying, finer, prepare_held_out
from deltadyn.recording.recording import Recording
from deltadyn.report.plots import extreme_rows
from deltadyn.robot import Robot
from deltadyn.sizing.loads import MotionLoads, motion_loads
from deltadyn.validation.evidence import (
    Predictor,
    pieces_of,
    predictor,
    prepare_for,
    refuse_training_data,
    trained_on,
)
from deltadyn.validation.judge import evidence_with
from deltadyn.validation.metrics import Metrics, metrics, shares_of, torque_level
from deltadyn.validation.result import Validation, relative_rms
from deltadyn.validation.validate import validation_of

# Held-out recordings made ready once, and every model beside them.


@dataclass(frozen=True, eq=False)
class Rung:
    """A model on the held-out recordings: `metrics` per axis, `relative` over all axes."""

    name: str
    source: str
    metrics: Metrics
    relative: float


@dataclass(frozen=True, eq=False)
class MethodResult:
    """What a method made of the same data; `held_out` is None without held-out data.

    Where it failed, `fit` is None and `trouble` says why.
    """

    name: str
    fit: Fit | None
    seconds: float | None
    held_out: Rung | None = None
    trouble: str = ""


class HeldOut:
    """Held-out recordings made ready once, for all models."""

    def __init__(self, robot: Robot, fit: Fit, recordings: tuple[Recording, ...]) -> None:
        self.robot = robot
        self.rows = prepare_for([predictor(fit)], recordings, "auto", "auto")

    def validation(self, model: Robot | Fit) -> Validation:
        """The robot file or the fit, with the causes of its residual."""
        name = "robot file" if isinstance(model, Robot) else "identified"
        return validation_of(predictor(model, None, name), self.rows)

    def rung(self, name: str, source: str, model: Predictor) -> Rung:
        """Metrics alone: causes are looked for on the judged fit only."""
        pieces = [piece for own in pieces_of(model, self.rows) for piece in own]
        columns = [(piece.measured, piece.predicted, piece.moving) for piece in pieces]
        measured, predicted, moving = map(np.concatenate, zip(*columns, strict=True))
        found = metrics(measured, predicted, moving)
        shares = shares_of(found.rms, torque_level(measured, moving))
        return Rung(name, source, found, relative_rms(shares))

    def ladder(self, identified: Robot) -> tuple[Rung, ...]:
        """The robot file, then the identified robot in every model that applies."""
        source = f"{model_of(self.robot)} model, before the fit"
        rungs = [self.rung("robot file", source, predictor(self.robot))]
        for name, model in models_for(identified).items():
            rungs.append(self.rung(name, model.source, predictor(identified, name)))
        return tuple(rungs)

    def method(self, item: MethodResult) -> MethodResult:
        """A method's result with its metrics on the held-out recordings."""
        if item.fit is None:
            return item
        rung = self.rung(item.name, "", predictor(item.fit))
        return MethodResult(item.name, item.fit, item.seconds, rung)

    def motion(self) -> Motion | None:
        """The longest stretch without a gap, with its smoothed rates."""
        return _motion(self.robot, self.rows.all_parts())


def first_motion(robot: Robot, logs: Sequence[Recording], band: float | None) -> Motion | None:
    """The longest stretch without a gap of the first log, with its smoothed rates."""
    if not logs:
        return None
    return _motion(robot, prepare_held_out(robot, [logs[0]], band).all_parts())


def measured_motion(robot: Robot, part: Prepared) -> Motion:
    """Angles, rates and accelerations in the band of the comparison: noise above it is no load."""
    fine = finer(part)
    q, qd, qdd = (fine.limited(values) for values in (part.state.q, part.state.qd, part.state.qdd))
    return Motion.from_joints(robot, fine.times, q, qd, qdd)


def _motion(robot: Robot, parts: Sequence[Prepared]) -> Motion | None:
    """The motion of the longest stretch; one outside the workspace is neither drawn nor loaded."""
    try:
        return measured_motion(robot, max(parts, key=len))
    except DeltadynError:
        return None


Log = Recording | str | os.PathLike[str]
Logs = Log | Iterable[Log]
METHODS = ("convex", "base", "l1")
PATH_POINTS = 3000  # of the platform's path that is drawn


@dataclass(frozen=True, eq=False)
class Study:
    """All that a report shows; what was not looked at is None or empty.

    `validation` is the fit on `held_out`, `file_validation` the robot file on the same. `ladder`
    holds every model with the identified robot. `motion` is replayed, and the one of `loads`; that
    of a recording is its longest stretch without a gap, in the band of the fit.
    `path` (M, 3) in m is that of the platform in the data of the fit. `truth` is the machine
    itself, where it is a simulated one.
    """

    robot: Robot
    fit: Fit
    held_out: tuple[Recording, ...] = ()
    validation: Validation | None = None
    file_validation: Validation | None = None
    ladder: tuple[Rung, ...] = ()
    methods: tuple[MethodResult, ...] = ()
    excitation: Excitation | None = None
    calibration: Calibration | None = None
    picks: PickLog | None = None
    loads: MotionLoads | None = None
    motion: Motion | None = None
    motion_source: str = ""  # which motion it is, in words
    path: FloatArray | None = None
    seed: int = 0
    truth: Robot | None = None

    @property
    def evidence(self) -> Evidence:
        """What the verdict rests on."""
        own = evidence_of(self.fit)
        found = self.validation
        return own if found is None else evidence_with(found, own, self._against_file())

    @property
    def verdict(self) -> Verdict:
        """What to think of the fit."""
        return judge(self.evidence)

    def _against_file(self) -> float | None:
        if self.validation is None or self.file_validation is None:
            return None
        own, file = self.validation.relative_rms, self.file_validation.relative_rms
        return own / file if file > 0 else None

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, and its numbers as JSON beside it."""
        return write_page("study", self, path)


def study(
    robot: Robot,
    logs: Logs,
    options: FitOptions | None = None,
    *,
    held_out: Logs | None = None,
    methods: Sequence[str] = METHODS,
    excitation: Excitation | None = None,
    calibration: Calibration | None = None,
    payload_log: Log | None = None,
    empty: Log | None = None,
    motion: Motion | None = None,
    tell: Callable[[str], None] | None = None,
    **keywords: Any,
) -> Study:
    """Identify by every method, then look at all that a report shows.

    The first method is the one that is judged; the others stand beside it. Logs are prepared and
    terms looked for once for all methods, in the time of the first that needs it. `payload_log` is
    cut into picks, `empty` gives their noise. `motion` is replayed and loads the robot; by default
    it is that of the held-out recording. `calibration` is where the robot's geometry is from.
    `options`, and the fields of `FitOptions` or of the
    methods as keywords, are those of `identify`; without `options`, what the data cannot identify
    is held unless `unidentifiable` says otherwise. `tell` is called with a line on each step.
    """
    common, of_method = parted(FitOptions, keywords)
    asked = merged(FitOptions, options or FitOptions(unidentifiable="hold"), common)
    names = _checked_methods(methods)
    told = tell or (lambda _text: None)
    data = [_read(robot, item) for item in _several(logs)]
    apart = tuple(_read(robot, item) for item in _several(held_out))
    results: dict[str, MethodResult] = {}
    shared = Shared(robot, data)
    for name in names:
        told(f"identify by {name}")
        fit = partial(identify, robot, shared, name, asked, validation=apart or None, **of_method)
        results[name] = _timed(name, fit, required=name == names[0])
    told("validate")
    first = results[names[0]].fit
    assert first is not None
    picks = None
    if payload_log is not None:
        told("find picks")
        picks = _picks(robot, first, payload_log, empty)
    elif empty is not None:
        raise InputError("empty", "given", "left out without a payload_log")
    return study_of(
        robot,
        results,
        logs=data,
        held_out=apart,
        excitation=excitation,
        calibration=calibration,
        picks=picks,
        motion=motion,
        seed=asked.seed,
    )


def judged_on(fit: Fit, held_out: Sequence[Recording]) -> Study:
    """The study of one fit, judged on held-out recordings."""
    apart = tuple(held_out)
    if not apart:
        return Study(fit.before, fit, seed=fit.options.get("seed", 0))
    refuse_training_data("identified", trained_on(fit), apart)
    judged = HeldOut(fit.before, fit, apart)
    return Study(
        robot=fit.before,
        fit=fit,
        held_out=apart,
        validation=judged.validation(fit),
        file_validation=judged.validation(fit.before),
        seed=fit.options.get("seed", 0),
    )


def study_of(
    robot: Robot,
    fits: Mapping[str, Fit | MethodResult],
    *,
    logs: Sequence[Recording] = (),
    held_out: Recording | Sequence[Recording] = (),
    excitation: Excitation | None = None,
    calibration: Calibration | None = None,
    picks: PickLog | None = None,
    motion: Motion | None = None,
    seed: int = 0,
) -> Study:
    """The study of fits that are there already, by the name of their method; the first is judged.

    `robot` is the one before the fit; `logs` are the data of the fits, for the picture of the path.
    """
    results = {
        name: item if isinstance(item, MethodResult) else MethodResult(name, item, None)
        for name, item in fits.items()
    }
    first = next((item.fit for item in results.values()), None)
    if first is None:
        raise InputError("fits", list(fits), "at least one fit by name, the judged one first")
    if calibration is not None and calibration.robot.geometry != robot.geometry:
        allowed = f"that of {robot.name} itself: identify with the robot that was calibrated"
        raise InputError("calibration", calibration.robot.name, allowed)
    apart = (held_out,) if isinstance(held_out, Recording) else tuple(held_out)
    for item in results.values():
        if item.fit is not None:
            refuse_training_data(item.name, trained_on(item.fit), apart)
    judged = HeldOut(robot, first, apart) if apart else None
    payload, source = None, "the given motion"
    if motion is None:
        motion = judged.motion() if judged else first_motion(robot, logs, first.band)
        payload = next((item.payload for item in (*apart, *logs)), None)
        source = "the held-out motion" if judged else "the motion of the first log"
        if first.band is not None:
            source += f" below {first.band:.3g} Hz"
    return Study(
        robot=robot,
        fit=first,
        held_out=apart,
        validation=judged.validation(first) if judged else None,
        file_validation=judged.validation(robot) if judged else None,
        ladder=judged.ladder(first.robot) if judged else (),
        methods=tuple(judged.method(item) if judged else item for item in results.values()),
        excitation=excitation,
        calibration=calibration,
        picks=picks,
        loads=None if motion is None else motion_loads(carrying(first.robot, payload), motion),
        motion=motion,
        motion_source=source,
        path=_path(robot, logs),
        seed=seed,
    )


def _timed(name: str, run: Callable[[], Fit], *, required: bool) -> MethodResult:
    """A timed fit; the trouble of a method that is not the judged one is a line of the table."""
    began = time.perf_counter()
    try:
        fit = run()
    except DeltadynError as error:
        if required:
            raise
        return MethodResult(name, None, time.perf_counter() - began, None, str(error))
    return MethodResult(name, fit, time.perf_counter() - began)


def _picks(robot: Robot, fit: Fit, log: Log, empty: Log | None) -> PickLog:
    noise = None if empty is None else NoiseModel.of(fit, _read(robot, empty))
    return find_picks(fit, _read(robot, log), noise=noise)


def _path(robot: Robot, logs: Sequence[Recording]) -> FloatArray | None:
    """Where the platform was in the data of the fit, thinned out for the picture."""
    if not logs:
        return None
    q = np.concatenate([item.q for item in logs])
    rows = q[extreme_rows(q, PATH_POINTS)]
    p: FloatArray = robot.in_space(forward_kinematics(robot, rows, unreachable="nan"))
    return p[np.isfinite(p).all(axis=1)]


def _several(logs: Logs | None) -> list[Log]:
    if logs is None:
        return []
    return [logs] if isinstance(logs, Recording | str | os.PathLike) else list(logs)


def _read(robot: Robot, item: Log) -> Recording:
    return item if isinstance(item, Recording) else read_recording(item, robot=robot)


def _checked_methods(methods: Sequence[str]) -> tuple[str, ...]:
    names = (methods,) if isinstance(methods, str) else tuple(methods)
    if not names:
        raise InputError("methods", names, "at least one, the judged one first")
    for name in names:
        method_by_name(name)
        if names.count(name) > 1:
            raise InputError("methods", name, "each one once")
    return names
