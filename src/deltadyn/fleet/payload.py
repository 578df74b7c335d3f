"""`payload_fleet`: the picks of any number of logs, by robot and period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.errors import DeltadynError, InputError, MissingExtraError
from deltadyn.files import file_digest
from deltadyn.fleet.factors import CHECKED
from deltadyn.fleet.run import LeftOut, RunOptions, Session, left_out_text, session
from deltadyn.fleet.schedule import Died
from deltadyn.fleet.sources import FleetLog, reading_text
from deltadyn.fleet.work import Work, WorkFolderError, attempt, key_of
from deltadyn.options import merged
from deltadyn.payload.estimator import PayloadEstimator
from deltadyn.payload.events import LOST_GRIP, Pick
from deltadyn.payload.front_end import sampling_rate
from deltadyn.payload.noise import NoiseModel
from deltadyn.payload.offline import product_mass, stream_picks
from deltadyn.payload.settings import LONGEST, EstimatorOptions
from deltadyn.recording.checks import refuse_spoiled
from deltadyn.recording.read import read_recording
from deltadyn.robot import Robot
from deltadyn.units import counted


@dataclass(frozen=True, eq=False)
class PayloadOptions(RunOptions):
    """How picks are found, beside how the logs are gone through.

    `empty` is the path of a log without load, from which the noise is known; without it deviations
    are assumed. A pick that lasts longer than `longest` (s) is doubtful. `rate` (Hz) is that of the
    samples, of each log where it is left out. `check` refuses logs with a wrong sign or unit.
    """

    empty: str | Path | None = None
    longest: float = LONGEST
    rate: float | None = None
    check: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.longest > 0:
            raise InputError("longest", self.longest, "above 0 s")
        if self.rate is not None and not self.rate > 0:
            raise InputError("rate", self.rate, "above 0 Hz")


@dataclass(frozen=True, eq=False)
class PeriodPicks:
    """The picks of one robot in one period, each with the name of its log.

    `mass` and `std` (kg) are those of one product, were all picks of one; None without a pick.
    """

    serial: str
    period: str
    logs: tuple[str, ...]
    seconds: float
    picks: tuple[tuple[str, Pick], ...]
    mass: float | None
    std: float | None

    @property
    def lost(self) -> int:
        """How many were lost on the way."""
        return sum(pick.ended == LOST_GRIP for _, pick in self.picks)

    @property
    def doubtful(self) -> int:
        """How many have a note."""
        return sum(bool(pick.note) for _, pick in self.picks)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        names = ("serial", "period", "seconds", "mass", "std", "lost", "doubtful")
        picks = [{"log": log, **vars(pick), "latency": pick.latency} for log, pick in self.picks]
        own = {name: getattr(self, name) for name in names}
        return {**own, "logs": list(self.logs), "picks": picks}


@dataclass(frozen=True, eq=False)
class FleetPicks:
    """What `payload_fleet` found: the picks of every robot and period, and logs left out."""

    robot: str
    period: str
    noise: str
    rows: tuple[PeriodPicks, ...]
    left_out: tuple[LeftOut, ...] = ()
    others: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        """What was found, in a sentence."""
        count = sum(len(row.picks) for row in self.rows)
        robots = len({row.serial for row in self.rows})
        hours = sum(row.seconds for row in self.rows) / 3600
        text = f"{counted(count, 'pick')} of {counted(robots, 'robot')} in {hours:.4g} h"
        text += left_out_text(self.left_out)
        return f"{text}. {self.noise}"

    @property
    def table(self) -> str:
        """A line per robot and period: picks, mass and its deviation, their range."""
        first = max([5, *(len(row.serial) for row in self.rows)]) + 2
        head = f"{'robot':<{first}}{'period':<12}{'logs':>6}{'picks':>8}{'lost':>6}{'doubtful':>10}"
        lines = [f"{head}{'mass kg':>10}{'std kg':>9}{'lightest':>10}{'heaviest':>10}"]
        for row in self.rows:
            text = f"{row.serial:<{first}}{row.period:<12}{len(row.logs):>6}{len(row.picks):>8}"
            text += f"{row.lost:>6}{row.doubtful:>10}"
            if row.mass is not None and row.std is not None:
                masses = [pick.mass for _, pick in row.picks]
                text += f"{row.mass:>10.3f}{row.std:>9.3f}{min(masses):>10.3f}{max(masses):>10.3f}"
            lines.append(text)
        return "\n".join(lines)

    def __str__(self) -> str:
        return "\n".join([self.status, *map(str, self.left_out), "", self.table])

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "robot": self.robot,
            "status": self.status,
            "period": self.period,
            "rows": [row.as_dict() for row in self.rows],
            "left_out": [vars(item).copy() for item in self.left_out],
            "others": list(self.others),
        }


def payload_fleet(
    robot: Robot,
    source: str | Path | Sequence[FleetLog],
    options: PayloadOptions | None = None,
    **keywords: Any,
) -> FleetPicks:
    """Find the picks in every log of a source; a table of them by robot and period.

    `robot` is the identified robot. The fields of `PayloadOptions` are `options`, or keywords.
    """
    asked = merged(PayloadOptions, options, keywords)
    noise, mark = _noise(robot, asked)
    chosen = EstimatorOptions(rate=asked.rate or 0.0, longest=asked.longest)
    with session(source, asked) as run:
        pairs = [(serial, log) for serial in run.logs for log in run.logs[serial]]
        tasks = [(robot, log, chosen, noise, mark, asked.check, run.work) for _, log in pairs]
        found: dict[str, LogPicks] = {}
        for number, item in run.results("logs", log_picks, tasks):
            serial, log = pairs[number]
            if isinstance(item, Died):
                run.leave_out(serial, log.name, str(item))
                continue
            run.notes += item.told
            if item.problem is not None:
                run.leave_out(serial, log.name, item.problem)
            else:
                found[log.name] = item
        rows = _rows(run, robot, chosen, noise, found)
        words = "Deviations by the empty log." if noise else "Deviations are assumed: no empty log."
        return FleetPicks(
            robot.name,
            asked.period,
            words,
            rows,
            tuple(sorted(run.left_out, key=lambda item: (item.serial, item.log))),
            run.others,
            tuple(dict.fromkeys(run.notes)),
        )


def _noise(robot: Robot, asked: PayloadOptions) -> tuple[NoiseModel | None, str]:
    """The noise of the empty log, and what it depends on."""
    if asked.empty is None:
        return None, ""
    log = read_recording(asked.empty, robot, asked.read)
    if asked.check:
        refuse_spoiled(robot, log)
    mark = f"{file_digest(asked.empty)}-{reading_text(asked.read)}"
    return NoiseModel.of(robot, log, rate=asked.rate, estimator="bank"), mark


@dataclass(frozen=True)
class LogPicks:
    """The picks of one log (`rate` in Hz), or a problem."""

    picks: tuple[Pick, ...] = ()
    seconds: float = 0.0
    rate: float = 0.0
    problem: str | None = None
    told: tuple[str, ...] = ()


def log_picks(
    robot: Robot,
    log: FleetLog,
    options: EstimatorOptions,
    noise: NoiseModel | None,
    mark: str,
    check: bool,
    work: Work,
) -> LogPicks:
    """The picks of a log, from the work folder where they are known."""
    told: list[str] = []
    try:
        key = key_of("picks", log.fingerprint(), robot, vars(options), mark, check)
        for record in attempt(partial(work.recall, "picks", key), told):
            return _log_picks(record, told)
        with log.opened(robot) as streamed:
            if check:
                refuse_spoiled(robot, streamed.head.rows(0, min(CHECKED, len(streamed.head))))
            rate = options.rate or (sampling_rate(streamed.head) if noise is None else None)
            rate = rate or (noise.grid.rate if noise is not None else 0.0)
            own = replace(options, rate=rate)
            picks = stream_picks(robot, streamed.pieces(), own, noise=noise)
            record = {
                "picks": [vars(pick) for pick in picks],
                "seconds": streamed.source.duration,
                "rate": rate,
            }
        work.keep("picks", key, record)
        return _log_picks(record, told)
    except (MissingExtraError, WorkFolderError):
        raise
    except (DeltadynError, OSError) as error:
        return LogPicks(problem=str(error), told=tuple(told))


def _log_picks(record: dict[str, Any], told: list[str]) -> LogPicks:
    picks = tuple(Pick(**pick) for pick in record["picks"])
    return LogPicks(picks, record["seconds"], record["rate"], told=tuple(told))


def _rows(
    run: Session,
    robot: Robot,
    options: EstimatorOptions,
    noise: NoiseModel | None,
    found: dict[str, LogPicks],
) -> tuple[PeriodPicks, ...]:
    """The picks by robot and period."""
    rows = []
    for serial in sorted(run.logs):
        for period, logs in run.by_period(serial).items():
            names = [log.name for log in logs if log.name in found]
            if not names:
                continue
            picks = [(name, pick) for name in names for pick in found[name].picks]
            mass, std = None, None
            if picks:
                own = replace(options, rate=found[names[0]].rate)
                known = noise or PayloadEstimator(robot, own).noise
                mass, std = map(float, product_mass([pick for _, pick in picks], known))
            seconds = float(np.sum([found[name].seconds for name in names]))
            rows.append(PeriodPicks(serial, period, tuple(names), seconds, tuple(picks), mass, std))
    return tuple(rows)
