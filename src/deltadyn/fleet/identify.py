"""`identify_fleet`: one fit per robot and period from any number of logs, by way of their factors.

Every log becomes factors, those of a robot and period are merged, and one fit is made of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.errors import DeltadynError, InputError
from deltadyn.files import file_name
from deltadyn.fleet.factors import (
    BLOCKS,
    Cut,
    Done,
    First,
    Settings,
    Tally,
    factors,
    first_factors,
    unpacked,
)
from deltadyn.fleet.run import LeftOut, RunOptions, Session, left_out_text, session
from deltadyn.fleet.schedule import Died
from deltadyn.fleet.sources import FleetLog
from deltadyn.fleet.work import Work, attempt, key_of
from deltadyn.history.entry import deviations
from deltadyn.identification.fit import Fit
from deltadyn.identification.identify import identify
from deltadyn.identification.information import Information
from deltadyn.identification.methods.registry import method_by_name
from deltadyn.identification.options import FitOptions
from deltadyn.identification.parametrisation import SOURCES
from deltadyn.options import merged
from deltadyn.recording.prepare.data import CHUNK, Rates, checked_band
from deltadyn.robot import Robot
from deltadyn.units import counted


@dataclass(frozen=True, eq=False)
class IdentifyOptions(RunOptions):
    """What is fitted, beside how the logs are gone through.

    `method` and `model` are those of `identify`, which are fitted with the robot file's terms.
    `band` (Hz) is found in the first log of each robot where it is "auto"; a number makes robots
    comparable, and keeps factors when an older log is added. `chunk` is how many samples of a long
    log become one factor: what a run that was stopped loses at most. `check` refuses logs with a
    wrong sign or unit. `save` is a folder for a robot file and a record of every fit.
    """

    method: str = "convex"
    model: str | None = None
    band: Any = "auto"
    rates: Rates = "auto"
    check: bool = True
    seed: int = 0
    chunk: int = 128 * CHUNK
    part: int = CHUNK
    save: str | Path | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("chunk", "part"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1000:
                raise InputError(name, value, "a whole number of at least 1000 samples")
        if self.band != "auto":
            checked_band(self.band)

    @property
    def cut(self) -> Cut:
        """What becomes of a log."""
        chosen = method_by_name(self.method)
        if chosen.by_recording:
            allowed = "one that fits information, such as 'convex' or 'base'"
            raise InputError("method", self.method, allowed)
        model = self.model or chosen.model
        if model not in SOURCES:
            raise InputError("model", model, f"one of {', '.join(SOURCES)}")
        return Cut(SOURCES[model], self.rates, self.band, self.check, self.chunk, self.part)

    @property
    def fit(self) -> FitOptions:
        """What `identify` is asked for."""
        return FitOptions(
            model=self.model,
            band=self.band,
            unidentifiable="hold",
            terms="file",
            check=self.check,
            seed=self.seed,
        )


@dataclass(frozen=True, eq=False)
class PeriodFit:
    """The fit of one robot in one period, or the `problem` that there is none.

    `days` are those of its logs that have one. `record` holds the parameters by name (`values`,
    `std`, `units`) with their `covariance`, residuals, verdict, and the mean temperature.
    """

    serial: str
    period: str
    days: tuple[date, ...]
    logs: tuple[str, ...]
    samples: int
    seconds: float
    record: dict[str, Any]
    problem: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        own = {name: getattr(self, name) for name in ("serial", "period", "samples", "seconds")}
        days = [day.isoformat() for day in self.days]
        texts = {"days": days, "logs": list(self.logs), "problem": self.problem}
        return {**own, **texts, **self.record}


@dataclass(frozen=True, eq=False)
class FleetFits:
    """What `identify_fleet` found: a fit per robot and period, and the logs that were left out.

    `notes` say what was not as usual on the way; they are no part of the result.
    """

    robot: str
    period: str
    fits: tuple[PeriodFit, ...]
    left_out: tuple[LeftOut, ...] = ()
    others: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        """What was done, in a sentence."""
        good = [fit for fit in self.fits if fit.problem is None]
        robots = len({fit.serial for fit in self.fits})
        samples = sum(fit.samples for fit in self.fits)
        text = f"{counted(len(good), 'fit')} of {counted(robots, 'robot')} from {samples:,} samples"
        text += left_out_text(self.left_out)
        if len(good) < len(self.fits):
            text += f"; {counted(len(self.fits) - len(good), 'period')} without a fit"
        return f"{text}."

    @property
    def table(self) -> str:
        """A line per fit: samples, RMS residual, then the parameters."""
        names = list(dict.fromkeys(n for fit in self.fits for n in fit.record.get("values", ())))
        first = max([5, *(len(fit.serial) for fit in self.fits)]) + 2
        head = f"{'robot':<{first}}{'period':<12}{'samples':>12}{'residual':>10}"
        lines = [head + "".join(f"{name:>10}" for name in names)]
        for fit in self.fits:
            text = f"{fit.serial:<{first}}{fit.period:<12}{fit.samples:>12,}"
            if fit.problem is not None:
                lines.append(f"{text}  {fit.problem}")
                continue
            values, residual = fit.record["values"], np.mean(fit.record["residual"])
            cells = (f"{values[name]:>10.4g}" if name in values else f"{'-':>10}" for name in names)
            lines.append(f"{text}{residual:>10.3g}{''.join(cells)}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return "\n".join([self.status, *map(str, self.left_out), "", self.table])

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the same after a run that went on as after one that was never stopped."""
        return {
            "robot": self.robot,
            "status": self.status,
            "period": self.period,
            "fits": [fit.as_dict() for fit in self.fits],
            "left_out": [vars(item).copy() for item in self.left_out],
            "others": list(self.others),
        }


def identify_fleet(
    robot: Robot,
    source: str | Path | Sequence[FleetLog],
    options: IdentifyOptions | None = None,
    **keywords: Any,
) -> FleetFits:
    """Fit every robot of a source in every period; any number of logs, of any length.

    `source` is a folder, a glob, a URL such as s3://bucket/prefix, or logs. The fields of
    `IdentifyOptions` are `options`, or keywords. The parameters do not depend on the number of
    workers, on a stop on the way, nor, but for rounding, on the length of chunks.
    """
    asked = merged(IdentifyOptions, options, keywords)
    cut = asked.cut
    with session(source, asked) as run:
        done = _all_factors(run, robot, cut)
        fits = _all_fits(run, robot, asked, done)
        order = sorted(run.left_out, key=lambda item: (item.serial, item.log))
        notes = tuple(dict.fromkeys(run.notes))
        return FleetFits(robot.name, asked.period, fits, tuple(order), run.others, notes)


@dataclass(frozen=True)
class _Robot:
    """The settings of a robot, and its logs that could be read, by name."""

    settings: Settings
    logs: dict[str, Done]


def _all_factors(run: Session, robot: Robot, cut: Cut) -> dict[str, _Robot]:
    """The factors of all logs, in the work folder, by robot."""
    serials = list(run.logs)
    found: dict[str, _Robot] = {}
    tasks = [(robot, run.logs[serial], cut, run.work) for serial in serials]
    for number, first in run.results("first logs", first_factors, tasks):
        serial = serials[number]
        if isinstance(first, Died):
            run.leave_out(serial, run.logs[serial][0].name, str(first))
            continue
        assert isinstance(first, First)
        good = {item.name: item for item in first.done if _usable(run, serial, item)}
        if first.settings is not None:
            found[serial] = _Robot(first.settings, good)
    rest = [
        (serial, log)
        for serial in serials
        if serial in found
        for log in run.logs[serial]
        if log.name not in found[serial].logs and not _is_out(run, serial, log)
    ]
    others = [(robot, log, found[serial].settings, cut, run.work) for serial, log in rest]
    for number, item in run.results("logs", factors, others):
        serial, log = rest[number]
        if isinstance(item, Died):
            run.leave_out(serial, log.name, str(item))
        elif _usable(run, serial, item):
            found[serial].logs[log.name] = item
    return found


def _usable(run: Session, serial: str, item: Done) -> bool:
    """Whether a log has factors; one without is named."""
    run.notes += item.told
    if item.problem is not None:
        run.leave_out(serial, item.name, item.problem)
    return item.problem is None


def _is_out(run: Session, serial: str, log: FleetLog) -> bool:
    return any(item.serial == serial and item.log == log.name for item in run.left_out)


def _all_fits(
    run: Session,
    robot: Robot,
    asked: IdentifyOptions,
    done: dict[str, _Robot],
) -> tuple[PeriodFit, ...]:
    """One fit for every robot and period."""
    tasks = []
    for serial in sorted(done):
        own = done[serial]
        for period, logs in run.by_period(serial).items():
            good = [own.logs[log.name] for log in logs if log.name in own.logs]
            if good:
                days = {log.day for log in logs if log.name in own.logs and log.day is not None}
                job = FitJob(
                    serial, period, tuple(sorted(days)), tuple(good), own.settings, asked.method
                )
                tasks.append((robot, job, asked.fit, _folder(asked), run.work))
    fits: dict[int, PeriodFit] = {}
    for number, item in run.results("fits", period_fit, tasks):
        job = tasks[number][1]
        fits[number] = job.failed(str(item)) if isinstance(item, Died) else item[0]
        run.notes += [] if isinstance(item, Died) else item[1]
    return tuple(fits[number] for number in sorted(fits))


def _folder(asked: IdentifyOptions) -> str | None:
    return None if asked.save is None else str(Path(asked.save).absolute())


@dataclass(frozen=True)
class FitJob:
    """One robot and period: the logs whose factors are merged, and how they are fitted."""

    serial: str
    period: str
    days: tuple[date, ...]
    logs: tuple[Done, ...]
    settings: Settings
    method: str

    def failed(self, problem: str) -> PeriodFit:
        """No fit, and why."""
        return self.result({}, problem)

    def result(self, record: dict[str, Any], problem: str | None = None) -> PeriodFit:
        """With what was found."""
        return PeriodFit(
            self.serial,
            self.period,
            self.days,
            tuple(item.name for item in self.logs),
            sum(item.samples for item in self.logs),
            sum(item.seconds for item in self.logs),
            record,
            problem,
        )

    def merged(self, work: Work) -> Information:
        """The factors of all logs in one; those of a few hundred blocks are in memory at once."""
        tally = Tally(BLOCKS)
        for log, item in enumerate(self.logs):
            for number in item.chunks:
                factor = work.factor(item.key, number)
                if factor is None:
                    path = str(work.path("factors", item.key, f"-{number:04d}.npz"))
                    allowed = "a work folder that all workers share, and that nobody empties"
                    raise InputError("factor", path, allowed)
                chunk, level, _ = unpacked(factor)
                tally.add(chunk, level, log)
        return tally.information([item.name for item in self.logs])


def period_fit(
    robot: Robot, job: FitJob, options: FitOptions, save: str | None, work: Work
) -> tuple[PeriodFit, list[str]]:
    """The fit of one robot and period from the factors in the work folder, and what is told."""
    told: list[str] = []
    keys = [(item.key, item.chunks) for item in job.logs]
    key = key_of("fit", keys, robot, job.settings, job.method, vars(options))
    if save is None:
        for record in attempt(partial(work.recall, "fits", key), told):
            return job.result(record), told
    try:
        fit = fitted(robot, job, options, work)
    except InputError as error:
        if error.quantity == "factor":
            raise
        return job.failed(str(error)), told
    except DeltadynError as error:
        return job.failed(str(error)), told
    record = _record(fit, job)
    work.keep("fits", key, record)
    if save is not None:
        folder = Path(save) / file_name("serial number", job.serial)
        folder.mkdir(parents=True, exist_ok=True)
        fit.save(folder / f"{job.period}.yaml")
    return job.result(record), told


def fitted(robot: Robot, job: FitJob, options: FitOptions, work: Work) -> Fit:
    """The fit itself."""
    own = job.settings.robot(robot)
    fit = identify(own, job.merged(work), job.method, options)
    return replace(fit, band=job.settings.band)


def _record(fit: Fit, job: FitJob) -> dict[str, Any]:
    """What is kept of a fit: parameters, deviations of their intervals, residuals, the verdict."""

    def named(values: Any) -> dict[str, float | None]:
        pairs = zip(fit.names, np.asarray(values).tolist(), strict=True)
        return {name: value if np.isfinite(value) else None for name, value in pairs}

    return {
        "method": fit.method,
        "model": fit.model,
        "band_Hz": fit.band,
        "grade": fit.verdict.grade,
        "verdict": fit.verdict.text,
        "values": named(fit.values),
        "std": named(deviations(fit)),
        "units": dict(zip(fit.names, fit.units, strict=True)),
        "covariance": fit.covariance.tolist(),
        "held": list(fit.held),
        "residual": fit.residual.tolist(),
        "torque_level": fit.torque_level.tolist(),
        "skipped_s": sum(item.skipped for item in job.logs),
        "temperature_degC": _temperature(job.logs),
        "fingerprint": sha256("\n".join(item.mark for item in job.logs).encode()).hexdigest(),
        "warnings": [*fit.warnings, *dict.fromkeys(f for item in job.logs for f in item.findings)],
    }


def _temperature(logs: Sequence[Done]) -> float | None:
    """The mean over logs, by their seconds; None where none has it."""
    pairs = [(item.temperature, item.seconds) for item in logs if item.temperature is not None]
    total = sum(seconds for _, seconds in pairs)
    return sum(degrees * seconds for degrees, seconds in pairs) / total if total > 0 else None
