"""The fastest pace along one stretch of a path, with friction."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.robot import Robot
from deltadyn.sizing.path_limits import PathLimits, Row, at_ends, path_limits, with_friction
from deltadyn.sizing.reachability import StuckError, allowed_sets, fastest_pace
from deltadyn.sizing.stretches import Stretch
from deltadyn.sizing.time_law import Pace

ROUNDS = 30  # of the tangent of friction, at most
SETTLED = 1e-8  # of the largest sd^2: the change of a round that ends them


@dataclass(frozen=True, eq=False)
class Part:
    """A stretch, its limits and a pace: x = sd^2 (n,) at the nodes, u = sdd (n - 1,) between."""

    stretch: Stretch
    limits: PathLimits
    x: FloatArray
    u: FloatArray

    @property
    def times(self) -> FloatArray:
        """Seconds (n - 1,) in each interval."""
        v = np.sqrt(self.x)
        lasting: FloatArray = 2 * np.diff(self.stretch.s) / (v[:-1] + v[1:])
        return lasting

    def with_pace(self, x: FloatArray) -> Part:
        """The same at another pace."""
        return Part(self.stretch, self.limits, x, np.diff(x) / (2 * np.diff(self.stretch.s)))


def fastest_part(
    robot: Robot, stretch: Stretch, share: float, ceiling: FloatArray | None = None
) -> Part:
    """The fastest pace within `share` of the limits that hold at every place.

    `ceiling` (n,) is a pace x that must not be passed, on top of the limits.
    """
    limits = path_limits(robot, stretch, share)
    if ceiling is not None:
        limits = replace(limits, cap=np.minimum(limits.cap, ceiling))
    spacing = np.diff(stretch.s)
    part = Part(stretch, limits, np.zeros(len(stretch.s)), np.zeros(len(spacing)))
    begins = True
    for _ in range(ROUNDS):
        ends, rubs = with_friction(robot, stretch, limits, part.x, None if begins else part.u)
        sets = allowed_sets(spacing, ends, limits.cone_u, limits.cone_x, limits.cap)
        try:
            new = fastest_pace(sets)
        except StuckError:
            if begins:
                raise
            part = part.with_pace(part.x / 4)  # the tangent of friction at half the speed is lower
            continue
        before, part, begins = part.x, part.with_pace(new), False
        if not rubs or np.abs(part.x - before).max() <= SETTLED * part.x.max():
            break
    return part


def paced(robot: Robot, part: Part) -> Pace:
    """The pace of a part, with the limit that is nearest in each interval."""
    limits, x = part.limits, at_ends(part.x[:, None])  # (n - 1, 2, 1)
    u = part.u[:, None, None]
    ends, _ = with_friction(robot, part.stretch, limits, part.x, part.u)
    uses = [
        np.abs(ends.alpha * u + ends.beta * x + ends.gamma).max(axis=1),
        np.sqrt((x / at_ends(limits.cap_each)).max(axis=1)),
    ]
    rows = [*limits.rows, *limits.caps]
    if limits.cone_u is not None and limits.cone_x is not None:
        vector = at_ends(limits.cone_u) * u + at_ends(limits.cone_x) * x
        uses.append(np.linalg.norm(vector, axis=2).max(axis=1)[:, None])
        rows.append(Row("platform_acceleration", ""))
    every = np.concatenate(uses, axis=1)
    active = tuple(rows[k] for k in every.argmax(axis=1))
    return Pace(part.stretch, np.sqrt(part.x), part.u, every.max(axis=1), active)
