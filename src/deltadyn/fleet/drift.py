"""`drift_fleet`: fits of every robot and period as a history, and what changed in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.errors import InputError
from deltadyn.fleet.identify import FleetFits, IdentifyOptions, PeriodFit, identify_fleet
from deltadyn.fleet.sources import FleetLog
from deltadyn.history.drift import Drift, DriftOptions, by_robot, drift
from deltadyn.history.entry import Entry
from deltadyn.history.results import code_fingerprint
from deltadyn.history.store import History
from deltadyn.history.times import zone_of
from deltadyn.options import merged, parted
from deltadyn.robot import Robot
from deltadyn.units import counted

NOON = time(12)


@dataclass(frozen=True, eq=False)
class FleetDrift:
    """What `drift_fleet` found: the fits, and the drift of every robot that has one."""

    fits: FleetFits
    robots: tuple[Drift, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was not as usual on the way."""
        return self.fits.notes

    def __str__(self) -> str:
        lines = [self.fits.status, *map(str, self.fits.left_out)]
        return "\n\n".join(["\n".join(lines), *map(str, self.robots)])

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"fits": self.fits.as_dict(), "robots": [item.as_dict() for item in self.robots]}


def drift_fleet(
    robot: Robot,
    source: str | Path | Sequence[FleetLog],
    options: IdentifyOptions | None = None,
    *,
    zone: str = "UTC",
    store: str | Path | None = None,
    **keywords: Any,
) -> FleetDrift:
    """Fit every robot in every period, and tell what changed in each since when.

    Options and keywords are those of `identify_fleet` (by default a fit a day) and of `drift`. The
    dates of logs are those of the plant's `zone`. With a `store`, the history of that path or URL,
    fits are kept there, and what is told rests on all that it knows of these robots.
    """
    watching, others = parted(DriftOptions, keywords)
    asked = merged(IdentifyOptions, options, {"period": "day", **others})
    if asked.period == "all":
        raise InputError("period", "all", "day, week or month: changes are between periods")
    zone_of(zone)
    watch = DriftOptions(**watching)
    found = identify_fleet(robot, source, asked)
    entries = fleet_entries(found, zone)
    if store is not None:
        entries = _with_history(store, entries)
    robots = [drift(own, watch) for own in by_robot(entries).values()] if entries else []
    return FleetDrift(found, tuple(robots))


def fleet_entries(found: FleetFits, zone: str = "UTC") -> list[Entry]:
    """The fits as entries of a history, each at noon in the middle of the days of its logs."""
    return [
        _entry(found.robot, fit, zone) for fit in found.fits if fit.problem is None and fit.days
    ]


def _entry(robot: str, fit: PeriodFit, zone: str) -> Entry:
    record = fit.record
    names = tuple(record["values"])
    middle = fit.days[0] + timedelta(days=(fit.days[-1] - fit.days[0]).days // 2)
    moment = datetime.combine(middle, NOON, zone_of(zone))

    def column(name: str, unknown: float) -> Any:
        return np.array([unknown if x is None else x for x in record[name].values()])

    return Entry(
        robot=robot,
        serial=fit.serial,
        time=moment.astimezone(UTC),
        kind="log",
        names=names,
        units=tuple(record["units"][name] for name in names),
        values=column("values", np.nan),
        std=column("std", np.inf),
        covariance=np.array(record["covariance"]),
        residual=np.array(record["residual"]),
        torque_level=np.array(record["torque_level"]),
        grade=record["grade"],
        verdict=record["verdict"],
        method=record["method"],
        model=record["model"],
        temperature=record["temperature_degC"],
        zone=zone,
        log=record["fingerprint"],
        code=code_fingerprint(),
        note=f"{fit.period}: {counted(len(fit.logs), 'log')}",
    )


def _with_history(store: str | Path, entries: Sequence[Entry]) -> list[Entry]:
    """Keep entries; all fits and logs that the store then has of these robots."""
    with History(store, create=True) as kept:
        kept.add_entries(entries)
        serials = dict.fromkeys((entry.robot, entry.serial) for entry in entries)
        return [
            entry
            for robot, serial in serials
            for entry in kept.entries(robot=robot, serial=serial)
            if entry.kind != "validation"
        ]
