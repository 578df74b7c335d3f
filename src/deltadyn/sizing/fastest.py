"""The fastest motion along a path within all limits of a robot, with the exact model."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.errors import InputError
from deltadyn.kinematics.state import State
from deltadyn.motion.arguments import check_count, check_positive, check_share
from deltadyn.motion.limits import Limit, LimitError, LimitReport, check_motion
from deltadyn.motion.motion import Motion
from deltadyn.motion.paths import spline_move
from deltadyn.motion.planned import POWERS, SLOW, PlannedMotion, stretch
from deltadyn.robot import Robot
from deltadyn.robot.settings import Limits
from deltadyn.sizing.loads import carrying, check_in_reach
from deltadyn.sizing.pace import Part, TimeLaw, evenly_timed, fastest_part, paced
from deltadyn.sizing.path import Linear, Way, at_ends, way_of, with_friction

TOLERANCE = 1e-5  # relative, of the moving time: where the whole is stretched
THERMAL = 1 + 1e-3  # times slower: worth another pace, where RMS torque asks for it
THERMAL_NODES = 320  # of all stretches together, for that pace: it is smooth
THERMAL_RANGE = (40, 200)  # of one stretch
LEAST_SAMPLES = 20  # intervals of a stretch
BEND_SAMPLES = 200  # of a spline, between two points


class Trial(NamedTuple):
    """A law, its motion and how that stands with the limits."""

    law: TimeLaw
    motion: PlannedMotion
    report: LimitReport

    @property
    def binding(self) -> Limit | None:
        """Among the limits that the pace decides, the one taken most."""
        paced = [item for item in self.report.limits if item.name in POWERS and item.known]
        return max(paced, key=lambda item: item.use or 0.0, default=None)

    @property
    def hot(self) -> bool:
        """Whether it is the RMS torque that asks for the slowing down."""
        return self.binding is not None and self.binding.name == "torque_rms"


@dataclass(frozen=True, eq=False)
class FastMotion(PlannedMotion):
    """A motion along a path at the fastest pace; `law` holds the pace at the nodes of the path.

    `thermal` says that RMS torque, which no single place of the path decides, shapes the pace.
    `law.slower` is above 1 where the whole was then slowed down evenly to keep its limits.
    """

    law: TimeLaw = None  # type: ignore[assignment]  # follows fields with defaults
    thermal: bool = False

    @property
    def cycles_per_minute(self) -> float:
        """How often the motion runs in a minute, one after the other."""
        return 60.0 / self.duration


def fastest(
    robot: Robot,
    path: Motion | npt.ArrayLike,
    *,
    payload: float | None = None,
    limits: Limits | None = None,
    share: float = 1.0,
    samples: int = 800,
    rate: float = 2000.0,
) -> FastMotion:
    """Pass a path as fast as torques, rates, accelerations and forces of the robot allow.

    `path` is a Motion, whose path and holds are kept and whose pace is not, or points (K, dof) for
    a quintic spline. The robot stops where the motion stops or slows down below 1 % of its largest
    speed, and at both ends. `payload` (kg) and `limits` replace those of the robot, `share` (0 to
    1) of which is used. `samples` is the number of intervals of each stretch between two stops:
    limits are kept at both ends of each, which costs some 2e-4 of the time with 800 and as much
    less as there are more. `rate` (Hz) is that of the motion returned.

    The pace is the optimum for the limits that hold at every place (see `path_limits` and
    `reachability`), or, where torque_rms binds, for these and RMS torques together (`thermal`). The
    acceleration jumps, because no limit on jerk is kept. What the motion returned takes between the
    nodes beyond a limit (usually below 1e-3 of it) slows down the whole evenly.
    """
    robot = carrying(robot, payload)
    if limits is not None:
        if not isinstance(limits, Limits):
            raise InputError("limits", type(limits).__name__, "Limits of a robot, or None")
        robot = robot.replace(limits=limits)
    check_share(share)
    check_count("samples", samples, LEAST_SAMPLES)
    check_positive(rate=rate)
    motion = _motion(robot, path)
    _check_possible(robot, motion, share)
    way = way_of(robot, motion, samples)
    parts = (fastest_part(robot, part, share) for part in way.stretches)
    law = TimeLaw(way, tuple(paced(robot, part) for part in parts))
    found = _slowed(robot, law, rate, share)
    thermal = found.law.slower > THERMAL and found.hot
    if thermal:
        cool = _slowed(robot, _thermal(robot, found, share, samples), rate, share)
        found = min(cool, found, key=lambda trial: trial.law.duration)
    values: dict[str, Any] = {
        item.name: getattr(found.motion, item.name) for item in fields(Motion)
    }
    binding = found.report["torque_rms"] if thermal else found.binding
    return FastMotion(**values, binding=binding, law=found.law, thermal=thermal)


def _motion(robot: Robot, path: Motion | npt.ArrayLike) -> Motion:
    """The motion whose path is meant."""
    if not isinstance(path, Motion):
        points = np.asarray(path) if not isinstance(path, np.ndarray) else path
        if points.ndim != 2 or points.dtype.kind not in "fiu":
            raise InputError("path", path, f"a Motion, or points (K, {robot.dof}) with K from 2")
        return spline_move(robot, points, duration=1.0, rate=BEND_SAMPLES * max(len(points) - 1, 2))
    check_in_reach(robot, path, "path", 6)
    return path


def _check_possible(robot: Robot, motion: Motion, share: float) -> None:
    """Refuse a path that breaks a limit however slowly it is passed."""
    slow = stretch(robot, motion, duration=SLOW * max(motion.duration, 1.0))
    for limit in check_motion(robot, slow, share=share).exceeded:
        position = None
        if limit.time is not None:
            row = int(np.argmin(np.abs(slow.t - limit.time)))
            position = tuple(float(value) for value in slow.p[row])
        reason = "no duration changes that"
        if limit.name in POWERS:
            reason = "it takes that much however slow the motion is"
        raise LimitError(robot.name, limit, position, reason)


def _thermal(robot: Robot, evenly: Trial, share: float, samples: int) -> TimeLaw:
    """A law that keeps RMS torques, from one that keeps them slowed down evenly."""
    law = evenly.law
    whole = sum(pace.duration for pace in law.paces)
    stretches = []
    for pace in law.paces:
        count = round(THERMAL_NODES * pace.duration / whole)
        count = min(max(count, THERMAL_RANGE[0]), THERMAL_RANGE[1], samples)
        stretches.append(evenly_timed(pace, count))
    way = Way(law.way.wait, tuple(stretches))
    parts = tuple(fastest_part(robot, stretch, share) for stretch in stretches)
    parts = thermal_pace(robot, way, parts, law.slower, share)
    fine = []
    for pace, part in zip(law.paces, parts, strict=True):
        ceiling = np.interp(pace.stretch.s, part.stretch.s, part.x)  # u is constant between nodes
        fine.append(paced(robot, fastest_part(robot, pace.stretch, share, ceiling)))
    return TimeLaw(law.way, tuple(fine))


def _slowed(robot: Robot, law: TimeLaw, rate: float, share: float) -> Trial:
    """The law, slowed down evenly as far as the sampled motion asks for it."""

    def trial(slower: float) -> Trial:
        slowed = replace(law, slower=slower)
        motion = slowed.sampled(robot, rate)
        return Trial(slowed, motion, check_motion(robot, motion, share=share))

    short, long, growth = 1.0, 1.0, TOLERANCE
    kept = trial(long)
    while not kept.report.ok:
        short = long
        over = max(item.use or 0.0 for item in kept.report.exceeded)
        long = short * max(1 + growth, over**0.5)
        growth *= 2
        kept = trial(long)
    while long - short > TOLERANCE * long:
        middle = (short + long) / 2
        tried = trial(middle)
        if tried.report.ok:
            long, kept = middle, tried
        else:
            short = middle
    return kept


# The fastest pace where the RMS torque of a drive binds: a second-order cone program.
#
# RMS torque is no limit of a place: it weighs the whole motion. With x = sd^2 at the nodes, u = sdd
# between them, the interval's time dt = 2 d / (z + z+), z <= sqrt(x), and torques at its two ends,
#
#     minimise   sum dt
#     under      the limits of each place, linear in x and u (`path`)
#                sum dt (tau^2 + tau+^2) / 2 + (that of the holds) <= tau_rms^2 T   for every drive
#
# is convex for a given T: z^2 <= x, delta (z + z+) >= 1 and eps (z + z+) >= tau^2 are rotated
# cones, all tight where they count. The least sum of dt falls as T grows; the motion sought takes T
# itself, and a secant finds it. Unknowns are in shares of the pace before, and friction is put in
# as its tangent there.

ROUNDS = 12  # of the secant
SETTLED = 1e-5  # relative, of the duration
NEAR = 0.3  # of a limit: a row that the fastest pace keeps below is left out
GAP = 1e-8  # of the cone program, relative

Indices = npt.NDArray[np.intp]


def thermal_pace(
    robot: Robot, way: Way, parts: tuple[Part, ...], slower: float, share: float
) -> tuple[Part, ...]:
    """The fastest pace with RMS torques kept, from one that keeps them `slower` times as slow."""
    assert robot.limits.torque_rms is not None
    most = share * np.asarray(robot.limits.torque_rms)
    still = _held(robot, way) / most**2  # s
    rows = tuple(_needed(robot, part) for part in parts)
    hot = _hot(robot, parts, most)
    parts = tuple(part.with_pace(part.x / slower**2) for part in parts)
    high = sum(float(part.times.sum()) for part in parts) + way.held
    guess, tried = high, []
    for _ in range(ROUNDS):
        found = _program(robot, parts, rows, hot, most, guess - still)
        if found is None:
            break
        parts = found
        took = sum(float(part.times.sum()) for part in parts) + way.held
        tried.append((guess, took - guess))
        if abs(took - guess) <= SETTLED * guess:
            break
        guess = _next(tried, took)
    return parts


def _next(tried: list[tuple[float, float]], took: float) -> float:
    """The next duration to try: the secant of the last two, or the middle at first."""
    (last, off) = tried[-1]
    if len(tried) == 1 or tried[-2][1] == off:
        return (last + took) / 2
    before, off_before = tried[-2]
    return last - off * (last - before) / (off - off_before)


def _hot(robot: Robot, parts: tuple[Part, ...], most: FloatArray) -> Indices:
    """The drives whose RMS torque comes near its limit at the fastest pace."""
    heat, seconds = np.zeros(robot.dof), 0.0
    for part in parts:
        torque = _torques(robot, part, most)
        tau = torque.alpha * part.u[:, None, None] + torque.beta * at_ends(part.x)[..., None]
        heat += np.einsum("m,mek->k", part.times / 2, (tau + torque.gamma) ** 2)
        seconds += float(part.times.sum())
    return np.flatnonzero(np.sqrt(heat / seconds) > NEAR)


def _held(robot: Robot, way: Way) -> FloatArray:
    """Torque squared by time (dof,) of the holds, in (N m)^2 s."""
    points = np.array([way.stretches[0].p[0], *(part.p[-1] for part in way.stretches)])
    seconds = np.array([way.wait, *(part.hold for part in way.stretches)])
    tau = inverse_dynamics(robot, State.from_platform(robot, points))
    total: FloatArray = seconds @ tau**2
    return total


def _needed(robot: Robot, part: Part) -> Indices:
    """The rows of a part that come near their limit at the fastest pace, torques among them."""
    ends, _ = with_friction(robot, part.stretch, part.limits, part.x, part.u)
    x = at_ends(part.x)[..., None]
    use = np.abs(ends.alpha * part.u[:, None, None] + ends.beta * x + ends.gamma)
    return np.flatnonzero(use.max(axis=(0, 1)) > NEAR)


@dataclass(eq=False)
class _Rows:
    """Rows of a sparse matrix: values at (row, column), constants, and the cones they are in."""

    count: int = 0
    row: list[Indices] = field(default_factory=list)
    column: list[Indices] = field(default_factory=list)
    value: list[FloatArray] = field(default_factory=list)
    constant: list[FloatArray] = field(default_factory=list)
    cones: list[tuple[str, int]] = field(default_factory=list)

    def add_sum(self, columns: Indices, coefficients: FloatArray, constant: float) -> None:
        """One line of many terms that must not be negative."""
        self.row.append(np.full(len(columns), self.count))
        self.column.append(columns)
        self.value.append(coefficients)
        self.constant.append(np.array([constant]))
        self.cones.append(("line", 1))
        self.count += 1

    def add(self, cone: str, width: int, lines: list[tuple[list[Any], Any]]) -> None:
        """Many cones alike: line k of every cone is sum(coefficient * unknown) + constant.

        `lines` holds per line its terms (columns (N,), coefficients) and its constant.
        """
        size = len(lines[0][0][0][0])
        constants = np.zeros((size, width))
        for k, (terms, constant) in enumerate(lines):
            at = self.count + width * np.arange(size) + k
            for column, coefficient in terms:
                self.row.append(at)
                self.column.append(column)
                self.value.append(np.broadcast_to(np.asarray(coefficient, float), at.shape))
            constants[:, k] = constant
        self.constant.append(constants.ravel())
        self.cones += [(cone, width)] * size if cone == "cone" else [(cone, width * size)]
        self.count += width * size


class _Unknowns(NamedTuple):
    """Columns of a stretch: x and z (n,) at its nodes, delta (m,) and eps (m, 2, drives) between.

    All are in shares of the pace before.
    """

    xi: Indices
    zeta: Indices
    delta: Indices
    eps: Indices


def _program(
    robot: Robot,
    parts: tuple[Part, ...],
    rows: tuple[Indices, ...],
    hot: Indices,
    most: FloatArray,
    budget: FloatArray,
) -> tuple[Part, ...] | None:
    """The fastest pace whose torques squared by time stay within a budget (dof,) in s."""
    first = 0
    held = _Rows()
    price: list[FloatArray] = []
    spent: list[tuple[Indices, FloatArray]] = []  # columns of eps (m, 2, drives), times (m,)
    places = []
    for part, needed in zip(parts, rows, strict=True):
        n = len(part.x)
        m = n - 1
        xi, zeta = first + np.arange(n), first + n + np.arange(n)
        delta = first + 2 * n + np.arange(m)
        size = 2 * m * len(hot)
        eps = first + 2 * n + m + np.arange(size).reshape(m, 2, len(hot))
        first += 2 * n + m + size
        places.append(xi)
        price += [np.zeros(2 * n), part.times, np.zeros(size)]
        spent.append((eps, part.times))
        torque = _torques(robot, part, most)
        shown = Linear(*(value[:, :, hot] for value in torque))
        _add_part(held, robot, part, needed, shown, _Unknowns(xi, zeta, delta, eps))
    for k, drive in enumerate(hot):
        columns = np.concatenate([eps[:, :, k].ravel() for eps, _ in spent])
        weights = np.concatenate([np.repeat(times / 2, 2) for _, times in spent])
        held.add_sum(columns, -weights, float(budget[drive]))
    x = _solved(held, np.concatenate(price))
    if x is None:
        return None
    return tuple(
        part.with_pace(part.x * np.maximum(x[xi], 0.0))
        for part, xi in zip(parts, places, strict=True)
    )


def _add_part(
    held: _Rows,
    robot: Robot,
    part: Part,
    needed: Indices,
    torque: Linear,
    unknowns: _Unknowns,
) -> None:
    """The rows of one stretch; see the module for the unknowns.

    A rotated cone a b >= c^2 with a, b >= 0 is the second-order cone a + b >= |(a - b, 2 c)|: every
    "cone" of three lines below is a + b, a - b, 2 c.
    """
    xi, zeta, delta, eps = unknowns
    limits = part.limits
    v = np.sqrt(part.x)
    weight = np.stack([v[:-1], v[1:]]) / (v[:-1] + v[1:])
    y = [(zeta[:-1], weight[0]), (zeta[1:], weight[1])]  # (z + z+) in shares
    minus = [(column, -coefficient) for column, coefficient in y]
    held.add("zero", 1, [([(xi[[0, -1]], 1.0)], -1.0)])  # at rest at both ends, as before
    # z^2 <= x with a = x, b = 1, c = z
    held.add("cone", 3, [([(xi, 1.0)], 1.0), ([(xi, 1.0)], -1.0), ([(zeta, 2.0)], 0.0)])
    # delta (z + z+) >= 1 with c = 1
    one = (delta, 1.0)
    held.add("cone", 3, [([one, *y], 0.0), ([one, *minus], 0.0), ([], 2.0)])
    inner = slice(1, -1)
    held.add("line", 1, [([(xi[inner], -1.0)], limits.cap[inner] / part.x[inner])])
    ends, _ = with_friction(robot, part.stretch, limits, part.x, part.u)
    over = 1 / (2 * np.diff(part.stretch.s))
    for side in (0, 1):

        def terms(alpha: FloatArray, beta: FloatArray, side: int = side) -> list[Any]:
            """alpha u + beta x of one end in the unknowns at both."""
            push = alpha * over
            left = (beta if side == 0 else 0.0) - push
            right = (beta if side == 1 else 0.0) + push
            return [(xi[:-1], left * part.x[:-1]), (xi[1:], right * part.x[1:])]

        for k in range(eps.shape[2]):
            cost = (eps[:, side, k], 1.0)  # eps (z + z+) >= tau^2
            tau = terms(2 * torque.alpha[:, side, k], 2 * torque.beta[:, side, k])
            twice = (tau, 2 * torque.gamma[:, side, k])
            held.add("cone", 3, [([cost, *y], 0.0), ([cost, *minus], 0.0), twice])
        for k in needed:
            row = terms(ends.alpha[:, side, k], ends.beta[:, side, k])
            gamma = ends.gamma[:, side, k]
            back = [(column, -coefficient) for column, coefficient in row]
            held.add("line", 1, [(row, 1 + gamma)])
            held.add("line", 1, [(back, 1 - gamma)])
        if limits.cone_u is not None and limits.cone_x is not None:
            at = slice(side, len(xi) - 1 + side)
            vector = [(terms(limits.cone_u[at, j], limits.cone_x[at, j]), 0.0) for j in range(3)]
            nothing = [(xi[:-1], 0.0)]
            held.add("cone", 4, [(nothing, 1.0), *vector])


def _torques(robot: Robot, part: Part, most: FloatArray) -> Linear:
    """Torques with friction at both ends of all intervals, in shares of the RMS limits."""
    shares = Linear(*(value / most for value in part.limits.torque))
    limits = replace(part.limits, linear=shares, torque_limit=most)
    return with_friction(robot, part.stretch, limits, part.x, part.u)[0]


def _solved(held: _Rows, price: FloatArray) -> FloatArray | None:
    """The unknowns of least price, None where the solver found none."""
    import clarabel
    from scipy import sparse

    kinds = {
        "zero": clarabel.ZeroConeT,
        "line": clarabel.NonnegativeConeT,
        "cone": clarabel.SecondOrderConeT,
    }
    entries = (np.concatenate(held.row), np.concatenate(held.column))
    size = (held.count, len(price))
    A = sparse.csc_matrix((-np.concatenate(held.value), entries), shape=size)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_rel = settings.tol_feas = GAP
    cones = [kinds[kind](width) for kind, width in held.cones]
    P = sparse.csc_matrix((len(price), len(price)))
    found = clarabel.DefaultSolver(
        P, price, A, np.concatenate(held.constant), cones, settings
    ).solve()
    if str(found.status) not in ("Solved", "AlmostSolved"):
        return None
    return np.asarray(found.x, dtype=np.float64)
