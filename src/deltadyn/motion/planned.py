"""Plans: a motion as parts over unit time, to be made in any duration.

A plan moves and stands still. The seconds of a hold are fixed; the moving parts share the rest of
the duration by their weights. So a plan of the moving time T' instead of T passes the same poses
with rates T / T' and accelerations (T / T')^2 times as large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnreachableError
from deltadyn.motion.limit_report import Limit
from deltadyn.motion.limits import limb_reach
from deltadyn.motion.motion import Motion
from deltadyn.motion.profiles import Profile
from deltadyn.robot import Robot

#: p, dp/du and d2p/du2 (N, dof) at unit times u (N,) from 0 to 1.
Course = Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]]

LEG_SAMPLES = 240  # a smooth peak between two of them is about 1e-4 higher


@dataclass(frozen=True, eq=False)
class PlannedMotion(Motion):
    """A motion that a generator made.

    `binding` is the limit that set its duration, None where the caller did.
    """

    binding: Limit | None = None


@dataclass(frozen=True, eq=False)
class Leg:
    """A moving part: its course over unit time, and the weight of its time among all legs.

    `samples` show its peaks: a leg of many bends needs more.
    """

    course: Course
    weight: float = 1.0
    samples: int = LEG_SAMPLES


@dataclass(frozen=True, eq=False)
class Hold:
    """A part that stands at a point (dof,) for some seconds."""

    point: FloatArray
    seconds: float


class Samples(NamedTuple):
    """t (N,) and p, pd, pdd (N, dof)."""

    t: FloatArray
    p: FloatArray
    pd: FloatArray
    pdd: FloatArray


@dataclass(frozen=True, eq=False)
class Plan:
    """Parts one after the other; holds of no time are left out."""

    parts: tuple[Leg | Hold, ...]

    def __post_init__(self) -> None:
        kept = (part for part in self.parts if isinstance(part, Leg) or part.seconds > 0)
        object.__setattr__(self, "parts", tuple(kept))

    @property
    def held(self) -> float:
        """Seconds in which the plan stands still."""
        return sum(part.seconds for part in self.parts if isinstance(part, Hold))

    def times(self, moving: float) -> FloatArray:
        """Time (s) at which each part begins, and the end, for this moving time."""
        weight = sum(part.weight for part in self.parts if isinstance(part, Leg))
        lasting = [
            part.seconds if isinstance(part, Hold) else moving * part.weight / weight
            for part in self.parts
        ]
        return np.concatenate([[0.0], np.cumsum(lasting)])

    def at(self, t: FloatArray, moving: float) -> Samples:
        """The plan at times t (N,); where two parts meet the later one counts."""
        edges = self.times(moving)
        which = np.clip(np.searchsorted(edges, t, side="right") - 1, 0, len(self.parts) - 1)
        width = self._width()
        p, pd, pdd = (np.zeros((len(t), width)) for _ in range(3))
        for index, part in enumerate(self.parts):
            rows = which == index
            if isinstance(part, Hold):
                p[rows] = part.point
                continue
            lasting = edges[index + 1] - edges[index]
            u = np.clip((t[rows] - edges[index]) / lasting, 0.0, 1.0)
            x, xd, xdd = part.course(u)
            p[rows], pd[rows], pdd[rows] = x, xd / lasting, xdd / lasting**2
        return Samples(t, p, pd, pdd)

    def grid(self, moving: float) -> FloatArray:
        """Times (s) that show the peaks of each leg; a hold has one."""
        edges = self.times(moving)
        counts = [1 if isinstance(part, Hold) else part.samples for part in self.parts]
        inside = [
            np.linspace(edges[i], edges[i + 1], count, endpoint=False)
            for i, count in enumerate(counts)
        ]
        return np.concatenate([*inside, edges[-1:]])

    def _width(self) -> int:
        first = self.parts[0]
        if isinstance(first, Hold):
            return len(first.point)
        return int(first.course(np.zeros(1))[0].shape[1])


def line(a: FloatArray, b: FloatArray, profile: Profile) -> Course:
    """Straight from a to b (dof,), psi with them."""

    def course(u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        s, sd, sdd = (value[:, None] for value in profile(u))
        return a + s * (b - a), sd * (b - a), sdd * (b - a)

    return course


def reverse(course: Course) -> Course:
    """The same way back."""

    def back(u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        p, pd, pdd = course(1 - u)
        return p, -pd, pdd

    return back


def sampled(robot: Robot, plan: Plan, duration: float, rate: float) -> PlannedMotion:
    """The plan in `duration` seconds, at the rate next to `rate` (Hz) that meets the end."""
    if duration * rate < 1:
        raise InputError("rate", rate, f"at least 1 / duration = {1 / duration:g} Hz")
    if duration <= plan.held:
        raise InputError("duration", duration, f"above the {plan.held:g} s of standing still")
    t = np.linspace(0.0, duration, round(duration * rate) + 1)
    return reached(robot, plan.at(t, duration - plan.held))


def reached(robot: Robot, samples: Samples) -> PlannedMotion:
    """The motion of these samples; where it cannot be reached the error says by how much."""
    try:
        return PlannedMotion.from_platform(robot, *samples)
    except UnreachableError as error:
        raise _out_of_reach(robot, samples, error) from None


def _out_of_reach(robot: Robot, samples: Samples, error: UnreachableError) -> UnreachableError:
    """The same error in the words of a motion: when, and by how much where it is worst."""
    reach = limb_reach(robot, samples.p)
    row, arm = divmod(int(np.argmax(reach.use)), reach.use.shape[1])
    if not reach.margin[row, arm] < 0:  # a singular pose, which has no distance
        row, reason = error.rows[0], error.reason
    else:
        side = "at least" if reach.far[row, arm] else "at most"
        reason = (
            f"arm {arm + 1} needs a strut of {side} {reach.needed[row, arm]:.4g} m and has "
            f"{robot.geometry.strut_length[arm]:.4g} m, {-reach.margin[row, arm]:.2g} m off"
        )
    new = UnreachableError(error.quantity, error.rows, samples.p[row], reason)
    point = ", ".join(f"{x:.6g}" for x in samples.p[row])
    new.args = (
        f"platform position [{point}] at {samples.t[row]:.6g} s cannot be reached: {reason}; "
        f"{len(error.rows)} of {len(samples.t)} samples are out of reach",
    )
    return new


def repaced(
    motion: PlannedMotion, factor: float, t: FloatArray, binding: Limit | None = None
) -> PlannedMotion:
    """The same poses at times t, `factor` times as slow."""
    new = replace(
        motion,
        t=t,
        pd=motion.pd / factor,
        pdd=motion.pdd / factor**2,
        qd=motion.qd / factor,
        qdd=motion.qdd / factor**2,
        binding=binding,
    )
    new.__dict__["q"] = motion.q  # keeps angles beyond one turn, which directions do not show
    return new
