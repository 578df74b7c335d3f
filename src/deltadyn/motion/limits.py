"""Every limit of a robot along a motion: how close, when, on which axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray, columns, contract
from deltadyn.dynamics.inverse import check_state, external_wrench, inverse_dynamics
from deltadyn.dynamics.loads import pair_loads
from deltadyn.errors import DeltadynError, InputError, UnknownNameError
from deltadyn.kinematics.actuation import levers
from deltadyn.kinematics.limbs import limbs
from deltadyn.kinematics.singularity import strut_sine
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import LimbGeometry, LocalStruts, arm_axes
from deltadyn.motion.arguments import check_share, is_real
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot

# The report of a check: one line per limit, what binds, and a table.


OK, EXCEEDED = "ok", "exceeded"
UNNAMED = "unknown: the robot names no limit"
NO_SAMPLE = "unknown: no sample has a value"

ROUNDING = 1e-9  # of a limit: a motion that touches it must not fail by the last digits


@dataclass(frozen=True)
class Limit:
    """One limit and the sample of a motion that comes closest to it.

    `use` is the share of the limit that the motion takes: 1 at the limit, more beyond it. A
    quantity with a range takes 0 in the middle of it and 1 at both ends; a quantity that must stay
    above a bound takes bound / worst. `margin` is what is left in `unit`, negative beyond.
    """

    name: str
    worst: float
    allowed: float | None  # None where the robot names no limit
    unit: str
    margin: float | None
    use: float | None
    time: float | None  # s; None where no single sample decides
    axis: str  # of the drive or arm, empty where there is none
    status: str  # "ok", "exceeded", or "unknown: ..." with the reason

    @property
    def exceeded(self) -> bool:
        """Whether the motion goes beyond this limit."""
        return self.status == EXCEEDED

    @property
    def known(self) -> bool:
        """Whether worst value and limit are both known."""
        return self.use is not None

    def __str__(self) -> str:
        """One sentence: quantity, axis, time, value, allowed and by how much."""
        return self.sentence("" if self.time is None else f"{self.time:.6g} s")

    def sentence(self, place: str) -> str:
        """The same with another word for the place."""
        axis = f" of axis {self.axis}" if self.axis else ""
        at = f" at {place}" if place else ""
        text = f"{self.name}{axis}{at} is {self.worst:.6g} {self.unit}"
        if self.allowed is None or self.margin is None:
            return f"{text}; {self.status}"
        left = f"{abs(self.margin):.4g} {self.unit} {'beyond' if self.exceeded else 'left'}"
        return f"{text}; allowed: {self.allowed:.6g} {self.unit}, {left}"


class LimitError(DeltadynError):
    """A motion that breaks a limit at every duration: which, where and by how much.

    `position` is that of the platform where `limit` is exceeded most, None where no single sample
    decides.
    """

    def __init__(
        self, robot: str, limit: Limit, position: tuple[float, ...] | None, reason: str
    ) -> None:
        self.robot = robot
        self.limit = limit
        self.position = position
        self.reason = reason
        place = ""
        if position is not None:
            place = f"platform position [{', '.join(f'{x:.4g}' for x in position)}]"
        super().__init__(f"{limit.sentence(place)} (robot {robot!r}); {reason}")


@dataclass(frozen=True)
class LimitReport:
    """Every limit of a robot along a motion, in the order of the table that `str` gives."""

    robot: str
    model: str
    duration: float  # s
    samples: int
    share: float  # of the limits on rates, accelerations, torques and forces
    limits: tuple[Limit, ...]

    @property
    def ok(self) -> bool:
        """Whether no known limit is exceeded."""
        return not self.exceeded

    @property
    def exceeded(self) -> tuple[Limit, ...]:
        """The limits that the motion goes beyond."""
        return tuple(limit for limit in self.limits if limit.exceeded)

    @property
    def binding(self) -> Limit | None:
        """The known limit of which the motion takes the largest share."""
        known = [limit for limit in self.limits if limit.use is not None]
        return max(known, key=lambda limit: limit.use or 0.0, default=None)

    def __getitem__(self, name: str) -> Limit:
        """The limit of that name."""
        for limit in self.limits:
            if limit.name == name:
                return limit
        raise UnknownNameError("limit", name, (limit.name for limit in self.limits))

    @property
    def summary(self) -> str:
        """One sentence: kept or not, and what binds."""
        count = len(self.exceeded)
        if count:
            plural = "limit is" if count == 1 else "limits are"
            verdict = f"{count} {plural} exceeded: {', '.join(x.name for x in self.exceeded)}"
        else:
            verdict = "every known limit is kept"
        closest = self.binding
        if closest is None or closest.use is None:
            return "the robot names no limit"
        axis = f" of axis {closest.axis}" if closest.axis else ""
        return f"{verdict}; {closest.name}{axis} binds with {_percent(closest.use)}"

    def __str__(self) -> str:
        """The table, with units."""
        head = ("limit", "worst", "allowed", "unit", "margin", "used", "at", "axis", "status")
        rows = [head, *(_cells(limit) for limit in self.limits)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
        right = (1, 2, 4, 5, 6)
        lines = [
            "  ".join(
                cell.rjust(width) if k in right else cell.ljust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        share = "" if self.share == 1 else f", {_percent(self.share)} of the limits that time sets"
        title = (
            f"{self.robot}, {self.samples} samples in {self.duration:.6g} s, model {self.model!r}"
            f"{share}: {self.summary}"
        )
        return "\n".join([title, *lines])


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %" if math.isfinite(share) else "all and more"


def _cells(limit: Limit) -> tuple[str, ...]:
    def text(value: float | None) -> str:
        return "" if value is None else f"{value:.4g}"

    used = "" if limit.use is None else _percent(limit.use)
    time = "" if limit.time is None else f"{limit.time:.4f} s"
    numbers = (text(limit.worst), text(limit.allowed), limit.unit, text(limit.margin))
    return (limit.name, *numbers, used, time, limit.axis, limit.status)


# Lines of a limit report from values over time.


def upper_row(
    name: str,
    unit: str,
    t: FloatArray,
    values: FloatArray,
    allowed: float | Sequence[float] | None,
    axes: tuple[str, ...],
    share: float = 1.0,
    *,
    timeless: bool = False,
) -> Limit:
    """A quantity (N, k) that must not pass its limit of each column."""
    most = None
    if allowed is not None:
        most = share * np.broadcast_to(np.asarray(allowed, dtype=np.float64), values.shape[1])
    use = values if most is None else values / most
    row, column = worst_place(use)
    worst = float(values[row, column])
    at = None if timeless else float(t[row])
    if most is None:
        return limit_row(name, worst, None, unit, None, None, at, axes[column])
    bound = float(most[column])
    share_used = float(use[row, column])
    return limit_row(name, worst, bound, unit, share_used, bound - worst, at, axes[column])


def range_rows(
    low_name: str,
    high_name: str,
    unit: str,
    t: FloatArray,
    values: FloatArray,
    low: float | Sequence[float] | None,
    high: float | Sequence[float] | None,
    axes: tuple[str, ...],
) -> list[Limit]:
    """A quantity (N, k) that must stay between two bounds of each column: one row per bound.

    The share used counts from the middle; where only one bound is known, from half a turn inside.
    """
    rows = []
    both = low is not None and high is not None
    for name, bound, sign in ((low_name, low, -1.0), (high_name, high, 1.0)):
        if bound is None:
            row, column = worst_place(sign * values)
            worst, at = float(values[row, column]), float(t[row])
            rows.append(limit_row(name, worst, None, unit, None, None, at, axes[column]))
            continue
        edge = np.broadcast_to(np.asarray(bound, dtype=np.float64), values.shape[1])
        half = np.subtract(high, low) / 2 if both else np.pi  # type: ignore[arg-type]
        margin = sign * (edge - values)
        use = 1 - margin / half
        row, column = worst_place(use)
        worst, left, at = (float(x) for x in (values[row, column], margin[row, column], t[row]))
        used, most = float(use[row, column]), float(edge[column])
        rows.append(limit_row(name, worst, most, unit, used, left, at, axes[column]))
    return rows


def worst_place(use: FloatArray) -> tuple[int, int]:
    """Row and column of the largest value; the first where there is none."""
    filled = np.where(np.isnan(use), -np.inf, use)
    row, column = divmod(int(np.argmax(filled)), use.shape[1])
    return row, column


def limit_row(
    name: str,
    worst: float,
    allowed: float | None,
    unit: str,
    use: float | None,
    margin: float | None,
    time: float | None = None,
    axis: str = "",
) -> Limit:
    """A line of the report, with its status."""
    if allowed is None:
        return Limit(name, worst, None, unit, None, None, time, axis, UNNAMED)
    if use is None or math.isnan(use):
        return Limit(name, worst, allowed, unit, None, None, None, "", NO_SAMPLE)
    status = EXCEEDED if use > 1 + ROUNDING else OK
    return Limit(name, worst, allowed, unit, margin, max(use, 0.0), time, axis, status)


SINGULARITY_MARGIN = math.radians(10.0)  # half of what the tightest catalogue workspace leaves


def check_motion(
    robot: Robot,
    motion: Motion,
    *,
    model: str = "exact",
    share: float = 1.0,
    singularity_margin: float = SINGULARITY_MARGIN,
    external_force: npt.ArrayLike | None = None,
) -> LimitReport:
    """Compare a motion with every limit of the robot.

    `share` (0 to 1) scales the limits that a slower motion keeps more easily: rate, acceleration,
    torque_peak, torque_rms, platform_speed, platform_acceleration, strut_force. The pose must stay
    `singularity_margin` (rad, see `kinematics.Singularity.margin`) from singular ones.
    `external_force` acts on the platform as in `inverse_dynamics`. Rows of a motion that cannot be
    reached break the limit `reach`; the other limits look at the remaining rows.
    """
    if not isinstance(motion, Motion):
        raise InputError("motion", type(motion).__name__, "a Motion, which has times")
    check_state(robot, motion)
    check_share(share)
    if not is_real(singularity_margin) or not 0 <= singularity_margin < math.pi / 2:
        raise InputError("singularity_margin", singularity_margin, "from 0 to below pi/2 rad")
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = (
            *_pose_limits(robot, motion, singularity_margin),
            *_rate_limits(robot, motion, share),
            *_load_limits(robot, motion, share, model, external_force),
        )
    return LimitReport(robot.name, model, motion.duration, len(motion), share, rows)


class Reach(NamedTuple):
    """Per limb (N, legs): share used, whether p is rather too far than too near, and lengths in m.

    `needed` is the least strut that bridges to p, or the longest that has room, where too near.
    """

    use: FloatArray
    far: BoolArray
    needed: FloatArray
    margin: FloatArray


def limb_reach(robot: Robot, p: FloatArray) -> Reach:
    """How the limbs reach p (N, dof).

    With D the shoulder's distance in the arm's plane and w the tangential coordinate, the elbow's
    circle is hypot(D - l1, w) to hypot(D + l1, w) away; the strut must be as long as one of these.
    A rail must not be farther away than the strut is long.
    """
    g = robot.geometry
    frames, own = g.frames, np.asarray(g.strut_length)
    away = _attachments(robot, p) - np.array([frame.shoulder for frame in frames])
    if robot.linear:
        along = np.array([frame.z for frame in frames])
        across = away - contract("nik,ik->ni", away, along)[..., None] * along
        needed = np.linalg.norm(across, axis=-1)
        return Reach(needed / own, np.ones_like(needed, dtype=bool), needed, own - needed)
    pins, l1 = arm_axes(robot)[1], np.asarray(robot.rotary.arm_length)
    w = contract("nik,ik->ni", away, pins)
    D = np.linalg.norm(away - w[..., None] * pins, axis=-1)
    nearest, farthest = np.hypot(D - l1, w), np.hypot(D + l1, w)
    far = nearest / own >= own / farthest
    return Reach(
        np.where(far, nearest / own, own / farthest),
        far,
        np.where(far, nearest, farthest),
        np.where(far, own - nearest, farthest - own),
    )


def _attachments(robot: Robot, p: FloatArray) -> FloatArray:
    """a_i (N, legs, 3) of the struts, less their offsets (shrunk base), in m."""
    own, x = limbs(robot).carrier, columns(p)
    place = own.place(np, x)
    ends = [own.attachment(place, i, x)[:3] for i in range(robot.legs)]
    return np.stack([np.stack(np.broadcast_arrays(*end), axis=-1) for end in ends], axis=1)


# Rows that the poses alone decide.


def _pose_limits(robot: Robot, motion: Motion, least: float) -> list[Limit]:
    t, p, limits = motion.t, motion.p, robot.limits
    geometry = LimbGeometry.of(robot, p, motion.cos_q, motion.sin_q)
    rows = [_reach(robot, motion)]
    cylinder = limits.workspace
    space, arms = robot.in_space(p), limb_names(robot)
    radius = np.hypot(space[:, 0], space[:, 1])[:, None]
    most, low, high = None, None, None
    if cylinder is not None:
        most, low, high = cylinder.radius, cylinder.z_min, cylinder.z_max
    rows.append(upper_row("workspace_radius", "m", t, radius, most, ("",)))
    z = space[:, 2:]
    rows += range_rows("workspace_z_min", "workspace_z_max", "m", t, z, low, high, ("",))
    names = robot.axis_names()
    bounds = limits.angle_min, limits.angle_max
    unit = robot.axis_units("q")[0]
    rows += range_rows("angle_min", "angle_max", unit, t, motion.q, *bounds, names)
    tangential = np.abs(LocalStruts.of(robot, geometry).tangential)
    sway = np.arcsin(np.minimum(tangential / robot.geometry.strut_length, 1.0))
    rows.append(upper_row("ball_joint_angle", "rad", t, sway, limits.ball_joint_angle, arms))
    rows.append(_singularity(robot, motion, geometry, least))
    if robot.spindle is not None:
        rows.append(_stroke(robot, motion))
    mass = np.array([[robot.payload.mass]])
    rows.append(upper_row("payload", "kg", t, mass, limits.payload, ("",), timeless=True))
    return rows


def _reach(robot: Robot, motion: Motion) -> Limit:
    """The limb whose strut is most nearly too short or too long.

    The distance to bridge against the strut, or the strut against the room that there is for it.
    """
    use, far, needed, margin = limb_reach(robot, motion.p)
    use[np.isnan(use)] = np.inf
    missing = np.isnan(motion.cos_q).any(axis=1) & (use.max(axis=1) <= 1 + ROUNDING)
    use[missing] = 1 + 2 * ROUNDING  # just out of reach by rounding
    row, arm = worst_place(use)
    strut, length = float(robot.geometry.strut_length[arm]), float(needed[row, arm])
    left, at = float(margin[row, arm]), float(motion.t[row])
    worst, allowed = (length, strut) if far[row, arm] else (strut, length)
    name = limb_names(robot)[arm]
    return limit_row("reach", worst, allowed, "m", float(use[row, arm]), left, at, name)


def limb_names(robot: Robot) -> tuple[str, ...]:
    """The limbs by their number, as tables and messages call them."""
    return tuple(str(i + 1) for i in range(robot.legs))


def _singularity(robot: Robot, motion: Motion, geometry: LimbGeometry, least: float) -> Limit:
    """The smallest angle of a strut to a singular pose; 0 where the motion passes one."""
    g = robot.geometry
    length = np.asarray(g.strut_length)
    sine = geometry.d / (np.asarray(levers(robot)) * length)  # (N, legs)
    _, own = strut_sine(robot, geometry)
    sines = np.concatenate([sine, own[:, None]], axis=1)
    angle = np.arcsin(np.clip(np.abs(sines), 0.0, 1.0))
    angle[np.isnan(angle).any(axis=1)] = np.nan
    finite = np.flatnonzero(np.isfinite(own))
    signs = np.sign(sines[finite])
    passed: BoolArray = np.diff(signs, axis=0, prepend=signs[:1]) != 0
    angle[finite] = np.where(passed, 0.0, angle[finite])
    if not finite.size:
        return limit_row("singularity_margin", math.nan, least, "rad", None, None)
    flat = np.nanargmin(angle)
    row, column = divmod(int(flat), angle.shape[1])
    worst = float(angle[row, column])
    use = least / worst if worst > 0 else math.inf
    axis, at = (*limb_names(robot), "")[column], float(motion.t[row])
    return limit_row("singularity_margin", worst, least, "rad", use, worst - least, at, axis)


def _stroke(robot: Robot, motion: Motion) -> Limit:
    """The telescope's length against the end of its stroke that is nearer."""
    assert robot.spindle is not None
    p = motion.p
    l = np.sqrt(p[:, 0] ** 2 + p[:, 1] ** 2 + (p[:, 2] - robot.spindle.pivot_z) ** 2)[:, None]
    stroke = robot.spindle.stroke
    low, high = (None, None) if stroke is None else stroke
    short, long = range_rows("spindle_stroke", "spindle_stroke", "m", motion.t, l, low, high, ("",))
    return short if (short.use or 0.0) > (long.use or 0.0) else long


# Rows that the pace decides: `share` scales their limits.


def _rate_limits(robot: Robot, motion: Motion, share: float) -> list[Limit]:
    t, limits, names = motion.t, robot.limits, robot.axis_names()
    paces = (robot.in_space(x) for x in (motion.pd, motion.pdd))
    speed, pull = (np.sqrt(contract("nk,nk->n", x, x))[:, None] for x in paces)
    rate, acceleration = np.abs(motion.qd), np.abs(motion.qdd)
    first, second = robot.axis_units("qd")[0], robot.axis_units("qdd")[0]
    return [
        upper_row("rate", first, t, rate, limits.rate, names, share),
        upper_row("acceleration", second, t, acceleration, limits.acceleration, names, share),
        upper_row("platform_speed", "m/s", t, speed, limits.platform_speed, ("",), share),
        upper_row(
            "platform_acceleration", "m/s^2", t, pull, limits.platform_acceleration, ("",), share
        ),
    ]


def _load_limits(
    robot: Robot, motion: Motion, share: float, model: str, external_force: npt.ArrayLike | None
) -> list[Limit]:
    t, limits, names = motion.t, robot.limits, robot.axis_names()
    tau = inverse_dynamics(robot, motion, model, external_force=external_force)
    tau = tau.reshape(len(motion), robot.dof)
    rms = _rms(t, tau)[None, :]
    unit = robot.axis_units("tau")[0]
    thermal = upper_row("torque_rms", unit, t, rms, limits.torque_rms, names, share, timeless=True)
    external = external_wrench(robot, external_force, len(motion))
    force = rod_force(robot, motion, external)
    return [
        upper_row("torque_peak", unit, t, np.abs(tau), limits.torque_peak, names, share),
        thermal,
        upper_row("strut_force", "N", t, force, limits.strut_force, limb_names(robot), share),
    ]


def rod_force(robot: Robot, motion: State, external: FloatArray) -> FloatArray:
    """Largest axial force (N, legs) of one rod of each arm, in tension or compression, in N.

    Where geometry.rod_spacing and the pair's couple kappa are known, kappa loads one rod by
    kappa / spacing more; else a rod is taken to carry half of the pair. A single rod carries all.
    """
    pairs = pair_loads(robot, motion, external)
    split = np.array([1 / strut.rods for strut in robot.struts])
    spacing = robot.geometry.rod_spacing
    more: FloatArray = np.zeros_like(pairs.axial_max)
    if spacing is not None and pairs.couple is not None:
        more = np.where(split < 1, np.abs(pairs.couple) / spacing, 0.0)
    # one rod of the pair has `more` tension than its half, the other has as much less
    most, least = split * pairs.axial_max + more, split * pairs.axial_min - more
    force: FloatArray = np.maximum(np.abs(most), np.abs(least))
    return force


def _rms(t: FloatArray, tau: FloatArray) -> FloatArray:
    """Root of the mean square over time (dof,), trapezoidal, over the rows that have a value."""
    good = np.isfinite(tau).all(axis=1)
    if not good.any():
        return np.full(tau.shape[1], np.nan)
    t, square = t[good], tau[good] ** 2
    mean: FloatArray = square[0]
    if len(t) > 1:
        mean = np.trapezoid(square, t, axis=0) / (t[-1] - t[0])
    rms: FloatArray = np.sqrt(mean)
    return rms
