"""Plans: a motion as parts over unit time, to be made in any duration.

A plan moves and stands still. The seconds of a hold are fixed; the moving parts share the rest of
the duration by their weights. So a plan of the moving time T' instead of T passes the same poses
with rates T / T' and accelerations (T / T')^2 times as large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnreachableError
from deltadyn.motion.arguments import check_positive, check_share
from deltadyn.motion.limits import Limit, LimitError, LimitReport, check_motion, limb_reach
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


# The shortest duration of a motion within the limits of its robot.
#
# Poses do not depend on the pace, so limits on them are kept by every duration or by none. With the
# moving time T rates shrink as 1/T and accelerations as 1/T^2: they give the least T at once.
# Torques and forces have a part that does not shrink (gravity, Coulomb friction); from the least T
# on the time grows until they are kept, and bisection finds the edge between. Below the duration
# found the binding limit is exceeded; that no still shorter one keeps it is not proved, because a
# torque of gravity and inertia need not fall steadily.


#: Limits that the pace decides, with the power of 1/T by which the quantity shrinks, where it does.
POWERS: dict[str, int | None] = {
    "rate": 1,
    "acceleration": 2,
    "platform_speed": 1,
    "platform_acceleration": 2,
    "torque_peak": None,
    "torque_rms": None,
    "strut_force": None,
}

TOLERANCE = 1e-4  # relative, of the moving time: an acceleration within 2e-4 of its limit
SLOW = 1e3  # times the least duration: what is still exceeded then is exceeded at rest

#: The motion in a moving time.
Pace = Callable[[float], Motion]


def planned(
    robot: Robot, plan: Plan, duration: float | None, rate: float, share: float
) -> PlannedMotion:
    """A plan as a motion: in `duration` seconds, or in the shortest time within the limits."""
    check_positive(rate=rate)
    check_share(share)
    if duration is not None:
        check_positive(duration=duration)
        return sampled(robot, plan, float(duration), rate)
    coarse = reached(robot, plan.at(plan.grid(1.0), 1.0))

    def coarsely(moving: float) -> Motion:
        return repaced(coarse, moving, plan.grid(moving))

    def finely(moving: float) -> PlannedMotion:
        return sampled(robot, plan, moving + plan.held, rate)

    moving, binding = shortest(robot, coarsely, 1.0, share)
    motion = finely(moving)
    report = check_motion(robot, motion, share=share)
    if not report.ok:  # the peak of a finer sampling is a little higher
        _check_poses(robot, motion, report)
        moving, binding = _edge(robot, finely, moving, report)
    return replace(finely(moving), binding=binding)


def stretch(
    robot: Robot, motion: Motion, *, duration: float | None = None, share: float = 1.0
) -> PlannedMotion:
    """Any motion with its time axis stretched to `duration` seconds, or to the shortest time.

    The poses and the number of samples stay, so the sample rate changes. With `duration=None` the
    motion takes the shortest time in which it keeps `share` of the robot's limits, and `.binding`
    is the limit that sets it.
    """
    if not isinstance(motion, Motion):
        raise InputError("motion", type(motion).__name__, "a Motion")
    check_share(share)
    if len(motion) < 2 or not motion.duration > 0:
        raise InputError("samples of motion", len(motion), "at least 2, to be stretched")
    base = _as_planned(motion)
    since, first = motion.t - motion.t[0], float(motion.t[0])

    def at(seconds: float, binding: Limit | None = None) -> PlannedMotion:
        factor = seconds / motion.duration
        return repaced(base, factor, first + since * factor, binding)

    if duration is not None:
        check_positive(duration=duration)
        return at(float(duration))
    return at(*shortest(robot, at, motion.duration, share))


def shortest(robot: Robot, pace: Pace, moving: float, share: float) -> tuple[float, Limit]:
    """The shortest moving time (s) in which a motion keeps all limits, and the one that binds.

    `pace` gives the motion in a moving time; `moving` is any first guess.
    """
    first = pace(moving)
    report = check_motion(robot, first, share=share)
    _check_poses(robot, first, report)
    least = _least(report, moving)
    if least is None:
        least = _too_short(robot, pace, moving, share)
    report = check_motion(robot, pace(least), share=share)
    if report.ok:
        return least, _closest(report)
    slowest = pace(least * SLOW)
    for limit in check_motion(robot, slowest, share=share).exceeded:
        raise _hopeless(robot, slowest, limit, "it takes that much however slow the motion is")
    return _edge(robot, pace, least, report)


def _edge(robot: Robot, pace: Pace, short: float, report: LimitReport) -> tuple[float, Limit]:
    """The edge above a moving time that is too short, and the limit that binds there."""
    long, growth = short, TOLERANCE
    while not report.ok:
        short = long
        over = max(limit.use or 0.0 for limit in report.exceeded)
        long = short * max(1 + growth, over**0.5)
        growth *= 2  # a torque that hardly falls with the time needs long steps
        report = check_motion(robot, pace(long), share=report.share)
    while long - short > TOLERANCE * long:
        middle = (short + long) / 2
        trial = check_motion(robot, pace(middle), share=report.share)
        if trial.ok:
            long, report = middle, trial
        else:
            short = middle
    return long, _closest(report)


def _least(report: LimitReport, moving: float) -> float | None:
    """The moving time at which the tightest limit on a rate or acceleration is met exactly."""
    bounds = [
        moving * limit.use ** (1 / power)
        for limit in report.limits
        if (power := POWERS.get(limit.name)) is not None and limit.use is not None
    ]
    least = max(bounds, default=0.0)
    return least if least > 0 else None


def _too_short(robot: Robot, pace: Pace, moving: float, share: float) -> float:
    """A moving time at which a torque or force is exceeded, where no other limit is named."""
    for _ in range(40):
        if not check_motion(robot, pace(moving), share=share).ok:
            return moving
        moving /= 2
    allowed = f"a number of s: robot {robot.name!r} names no limit that bounds the pace"
    raise InputError("duration", None, allowed)


def _check_poses(robot: Robot, motion: Motion, report: LimitReport) -> None:
    """Refuse a motion whose poses break a limit."""
    for limit in report.exceeded:
        if limit.name not in POWERS:
            raise _hopeless(robot, motion, limit, "no duration changes that")


def _hopeless(robot: Robot, motion: Motion, limit: Limit, reason: str) -> LimitError:
    """The error for a limit that no duration keeps."""
    position = None
    if limit.time is not None:
        row = int(np.argmin(np.abs(motion.t - limit.time)))
        position = tuple(float(x) for x in motion.p[row])
    return LimitError(robot.name, limit, position, reason)


def _closest(report: LimitReport) -> Limit:
    """Among the limits that the pace decides, the one taken most."""
    paced = [x for x in report.limits if x.name in POWERS and x.use is not None]
    return max(paced, key=lambda limit: limit.use or 0.0)


def _as_planned(motion: Motion) -> PlannedMotion:
    values: dict[str, Any] = {item.name: getattr(motion, item.name) for item in fields(Motion)}
    new = PlannedMotion(**values)
    new.__dict__["q"] = motion.q
    return new
