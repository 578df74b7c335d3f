"""Force and contacts of a whole recording."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.doors import write_page
from deltadyn.force.axes import Judged, SlowStates
from deltadyn.force.contact import Contact, Force, Watch
from deltadyn.force.filtering import Filtered, filtered_rows, robot_of
from deltadyn.force.rows import ForceRows
from deltadyn.force.settings import SCALE
from deltadyn.force.tare import Tare
from deltadyn.recording.recording import Recording

CALM = 0.25  # s below the limit after which a new contact may begin


@dataclass(frozen=True, eq=False)
class ForceLog:
    """Force on the platform over a recording, and the contacts in it.

    `t` (N,) s, `force` and `std` (N, dof) in N (N m about z), `statistic` (N,) is the largest z,
    `threshold` (N,) in N the size of a force below which no direction raises an alarm.
    """

    recording: Recording
    tare: Tare
    t: FloatArray
    force: FloatArray
    std: FloatArray
    statistic: FloatArray
    threshold: FloatArray
    contacts: tuple[Contact, ...]

    @property
    def limit(self) -> float:
        """z above which there is an alarm."""
        return self.tare.limit()

    @property
    def table(self) -> str:
        """A line per contact."""
        axes = "x, z" if self.recording.dof == 2 else "x, y, z"
        lines = [f"{'time s':>9}  {'kind':<8}{'where':<10}{f'force {axes} in N':>24}"]
        for item in self.contacts:
            force = " ".join(f"{x:7.1f}" for x in item.force[:3])
            lines.append(f"{item.time:>9.3f}  {item.kind:<8}{item.where:<10}{force:>24}")
        return "\n".join(lines)

    def __str__(self) -> str:
        if not self.contacts:
            return f"no contact in {self.recording.duration:.1f} s"
        return self.table

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "recording": self.recording.name,
            "limit": self.limit,
            "false_alarms_per_hour": self.tare.options.false_alarms,
            "contacts": [
                {
                    "time_s": item.time,
                    "kind": item.kind,
                    "where": item.where,
                    "force_N": item.force[:3].tolist(),
                    "std_N": item.std[:3].tolist(),
                    "statistic": item.statistic,
                }
                for item in self.contacts
            ],
        }

    def page(self, path: str | os.PathLike[str]) -> Path:
        """Write a page with the force over time and the contacts."""
        return write_page("force", self, path)


def find_contacts(
    robot: Any, recording: Recording, tare: Tare | Recording | Sequence[Recording]
) -> ForceLog:
    """Force and contacts of a recording; `tare` is that of the robot, or its empty run.

    After an alarm the next one can begin when the statistic has been below the limit for 0.25 s.
    """
    own = tare if isinstance(tare, Tare) else Tare.of(robot, tare)
    model, _ = robot_of(robot, [recording], own.options)
    parts = filtered_rows(model, recording, own.options)
    states = SlowStates(own.axes, own.options)
    contacts: list[Contact] = []
    forces, statistic, threshold = [], [], []
    for part in parts:
        judged = states.follow(part.rows, SCALE * (recording.payload or 0.0))
        seen = Force.of(part.rows, judged)
        contacts += _contacts(own, part, judged, seen)
        forces.append(seen)
        statistic.append(judged.z.max(axis=1))
        threshold.append(least_force(part.rows, judged, own.limit()))
    return ForceLog(
        recording,
        own,
        np.concatenate([part.t for part in parts]),
        np.concatenate([seen.force for seen in forces]),
        np.concatenate([seen.std for seen in forces]),
        np.concatenate(statistic),
        np.concatenate(threshold),
        tuple(contacts),
    )


def least_force(rows: ForceRows, judged: Judged, limit: float) -> FloatArray:
    """The smallest force (N,) in N that raises an alarm in some direction.

    z of axis i is at its limit where |(J^T F)_i| = held_i + limit std_i; the shortest F of that
    kind lies along the axis' column of J.
    """
    lever = np.linalg.norm(rows.jacobian[:, :3], axis=1)  # (N, dof) m: 0 of an axis that only turns
    at_limit = judged.held + limit * judged.std
    found: FloatArray = np.min(at_limit / np.maximum(lever, 1e-12), axis=1)
    return found


def _contacts(tare: Tare, part: Filtered, judged: Judged, seen: Force) -> list[Contact]:
    """The contacts of a stretch, by the same watch that the observer has."""
    z = judged.z.max(axis=1)
    watch = Watch(tare)
    over = np.flatnonzero(z > watch.limit)
    calm = round(CALM * tare.options.rate)
    found: list[Contact] = []
    at = 0
    while at < len(over):
        row = int(over[at])
        watch.reset()
        last = row
        while row < len(z) and (row == over[at] or watch.open):
            one = slice(row, row + 1)
            force = Force(seen.force[one], seen.std[one])
            watch.step(float(part.t[row]), part.rows.at(one), judged.at(one), force)
            row += 1
        if watch.contact is not None:
            found.append(watch.contact)
        at += 1
        while at < len(over) and (over[at] < row or over[at] - last <= calm):
            last = max(int(over[at]), last)
            at += 1
    return found
