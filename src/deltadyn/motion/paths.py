"""Paths by arc length: polylines whose corners are rounded without a jump of the curvature.

A circular arc would make the curvature jump, and with it the acceleration of what moves along. Here
the heading turns through a corner of angle phi along the length L like a quintic of sigma = s / L,

    theta = phi (10 sigma^3 - 15 sigma^4 + 6 sigma^5),    kappa = 30 phi sigma^2 (1 - sigma)^2 / L

so the curvature and its slope are zero at both ends, and p(s) has three continuous derivatives. The
largest curvature is 15/8 phi / L. With X, Y the integrals of cos and sin of theta over sigma, the
corner is cut at the distance L (X - Y / tan(phi)) before and after it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev

from deltadyn.arrays import FloatArray, as_float, as_samples, check_increasing
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.motion.planned import Course, Leg, Plan, PlannedMotion, planned
from deltadyn.motion.profiles import quintic
from deltadyn.robot import Robot

#: p, dp/ds and d2p/ds2 at N arc lengths, each (N, 3).
Place = tuple[FloatArray, FloatArray, FloatArray]

DEGREE = 40  # of the Chebyshev series of cos and sin of theta: exact to rounding for any corner
STRAIGHT = 1e-6  # rad: less is no corner, its cut is below rounding
SHARPEST = math.radians(175.0)  # beyond, the cut is 20 times the length of the curve


@dataclass(frozen=True, eq=False)
class Piece:
    """A straight line (angle 0) or a corner, from `origin` along `along`, turning to `across`."""

    begin: float  # m, arc length at which it begins
    length: float
    origin: FloatArray  # (3,)
    along: FloatArray  # (3,), unit
    across: FloatArray  # (3,), unit, normal to `along`
    angle: float  # rad

    def at(self, s: FloatArray) -> Place:
        """p, p', p'' (N, 3) at arc lengths s of the whole path."""
        if self.angle == 0:
            p = self.origin + (s - self.begin)[:, None] * self.along
            return p, np.tile(self.along, (len(s), 1)), np.zeros((len(s), 3))
        sigma = (s - self.begin) / self.length
        turn, slope, _ = quintic(sigma)
        c, s_ = np.cos(self.angle * turn)[:, None], np.sin(self.angle * turn)[:, None]
        x, y = _corner_series(self.angle)
        x_, y_ = (chebyshev.chebval(2 * sigma - 1, series)[:, None] for series in (x, y))
        p = self.origin + self.length * (x_ * self.along + y_ * self.across)
        kappa = (self.angle / self.length * slope)[:, None]
        return p, c * self.along + s_ * self.across, kappa * (c * self.across - s_ * self.along)


@dataclass(frozen=True, eq=False)
class RoundedPath:
    """A polyline with rounded corners, by arc length from 0 to `length` (m)."""

    pieces: tuple[Piece, ...]

    @property
    def length(self) -> float:
        """The whole arc length (m)."""
        last = self.pieces[-1]
        return last.begin + last.length

    def at(self, s: FloatArray) -> Place:
        """p, p' (a unit vector) and p'' (of the size of the curvature) at s (N,), each (N, 3)."""
        begins = np.array([piece.begin for piece in self.pieces])
        which = np.clip(np.searchsorted(begins, s, side="right") - 1, 0, len(begins) - 1)
        out = tuple(np.empty((len(s), 3)) for _ in range(3))
        for index, piece in enumerate(self.pieces):
            rows = which == index
            for whole, part in zip(out, piece.at(s[rows]), strict=True):
                whole[rows] = part
        return out[0], out[1], out[2]


def corner_length(angle: float, cut: float) -> float:
    """Length (m) of the curve that rounds a corner of `angle` (rad), cut by `cut` (m) each side."""
    x, y = (float(chebyshev.chebval(1.0, series)) for series in _corner_series(angle))
    return cut / (x - y / math.tan(angle))


def rounded_path(corners: FloatArray, cuts: FloatArray) -> RoundedPath:
    """The polyline through corners (K, 3), cut by `cuts` (K - 2,) in m on both sides of each."""
    steps = np.diff(corners, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    if not (lengths > 0).all():
        row = int(np.argmin(lengths))
        raise InputError("corners", corners[row], "apart from the next one", where=f"row {row}")
    headings = steps / lengths[:, None]
    trims = np.concatenate([[0.0], cuts, [0.0]])
    _check_cuts(lengths, trims)
    pieces: list[Piece] = []
    begin = 0.0
    for i, length in enumerate(lengths):
        straight = max(float(length - trims[i] - trims[i + 1]), 0.0)
        origin = corners[i] + trims[i] * headings[i]
        pieces.append(Piece(begin, straight, origin, headings[i], headings[i], 0.0))
        begin += straight
        if i + 1 < len(lengths):
            corner = _corner(begin, corners[i + 1], headings[i], headings[i + 1], trims[i + 1])
            pieces.append(corner)
            begin += corner.length
    return RoundedPath(tuple(piece for piece in pieces if piece.length > 0))


def _corner(
    begin: float, corner: FloatArray, before: FloatArray, after: FloatArray, cut: float
) -> Piece:
    """The curve that turns from one heading to the next."""
    cosine = float(before @ after)
    normal = after - cosine * before
    sine = float(np.linalg.norm(normal))
    angle = math.atan2(sine, cosine)
    if angle < STRAIGHT:
        return Piece(begin, 2 * cut, corner - cut * before, before, before, 0.0)
    if angle > SHARPEST or not cut > 0:
        allowed = "a cut above 0 m" if angle <= SHARPEST else "turned by at most 175 deg"
        turned = f"cut by {cut:g} m, turned by {math.degrees(angle):.4g} deg"
        raise InputError("corner", turned, allowed, where=f"{np.round(corner, 6).tolist()} m")
    return Piece(
        begin, corner_length(angle, cut), corner - cut * before, before, normal / sine, angle
    )


def _check_cuts(lengths: FloatArray, trims: FloatArray) -> None:
    needed = trims[:-1] + trims[1:]
    for i in np.flatnonzero(needed > lengths * (1 + 1e-12)):
        raise InputError(
            "cuts of the corners",
            float(needed[i]),
            f"together at most {lengths[i]:g} m, the length of the side",
            where=f"side {int(i) + 1}",
        )


@lru_cache(maxsize=64)
def _corner_series(angle: float) -> tuple[FloatArray, FloatArray]:
    """Chebyshev series in 2 sigma - 1 of the integrals of cos and sin of theta from 0 to sigma."""
    nodes = chebyshev.chebpts1(DEGREE + 1)
    heading = angle * quintic((nodes + 1) / 2)[0]
    series = []
    for values in (np.cos(heading), np.sin(heading)):
        fitted = chebyshev.chebfit(nodes, values, DEGREE)
        series.append(np.asarray(chebyshev.chebint(fitted, lbnd=-1, scl=0.5), dtype=np.float64))
    return series[0], series[1]


# Splines through points with times.


DEGREES = {"quintic": 5, "cubic": 3}

#: Derivatives that are zero at both ends, by the name of the ends and the degree.
ZERO: dict[str, dict[int, tuple[int, ...]]] = {
    "rest": {5: (1, 2), 3: (1,)},
    "natural": {5: (3, 4), 3: (2,)},
}
ENDS = (*ZERO, "periodic")

BEND_SAMPLES = 60  # between two points, to find the peaks

CLOSED = 1e-9  # m and rad: the last point of a periodic spline may differ from the first by this

Keep = Literal["times"]


def spline_move(
    robot: Robot,
    points: npt.ArrayLike,
    times: npt.ArrayLike | None = None,
    *,
    kind: str = "quintic",
    ends: str = "rest",
    duration: float | Keep | None = "times",
    rate: float = 2000.0,
    share: float = 1.0,
) -> PlannedMotion:
    """A spline through points (K, dof) at times (K,) in s, with a continuous acceleration.

    The "quintic" spline has four continuous derivatives, the "cubic" one two. `ends`: "rest" has no
    speed at both ends, and no acceleration with the quintic (a cubic starts with a jump of it);
    "natural" leaves the speed free and has no second (cubic) or third and fourth (quintic)
    derivative there; "periodic" closes the curve, for motions that repeat.

    The motion keeps the times as they are, begins at 0 s, and takes a `duration` in s or, with
    None, the shortest within `share` of the robot's limits, with all times stretched alike. Without
    `times` the intervals go with the roots of the distances, in radii of the workspace and half
    turns, and the default is the shortest duration.
    """
    rows, single = as_samples(points, robot.dof, "points", coordinates=robot.coordinates)
    if single or len(rows) < 2:
        raise InputError("shape of points", np.shape(points), f"(K, {robot.dof}) with K from 2")
    degree = _degree(kind)
    if times is None:
        knots = _even_times(robot, rows)
        chosen = None if isinstance(duration, str) and duration == "times" else duration
    else:
        knots = _checked_times(times, len(rows))
        chosen = float(knots[-1]) if isinstance(duration, str) and duration == "times" else duration
    if isinstance(chosen, str):
        raise InputError("duration", chosen, "a number above 0, None or 'times'")
    course = spline_course(knots / knots[-1], rows, degree, ends)
    leg = Leg(course, samples=BEND_SAMPLES * max(len(rows) - 1, 4))
    return planned(robot, Plan((leg,)), chosen, rate, share)


def spline_course(u: FloatArray, points: FloatArray, degree: int, ends: str) -> Course:
    """The spline through points (K, dof) at unit times u from 0 to 1."""
    if not isinstance(ends, str) or ends not in ENDS:
        raise UnknownNameError("ends", ends, ENDS)
    from scipy.interpolate import make_interp_spline  # takes longer than the rest of the import

    boundary: Any = "periodic"
    if ends == "periodic":
        points = _closed(points, degree)
    else:
        zero = [(order, np.zeros(points.shape[1])) for order in ZERO[ends][degree]]
        boundary = (zero, zero)
    spline = make_interp_spline(u, points, k=degree, bc_type=boundary)

    def course(at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return spline(at), spline(at, 1), spline(at, 2)

    return course


def _degree(kind: str) -> int:
    if not isinstance(kind, str) or kind not in DEGREES:
        raise UnknownNameError("kind", kind, DEGREES)
    return DEGREES[kind]


def _closed(points: FloatArray, degree: int) -> FloatArray:
    """Points whose last is exactly the first."""
    if len(points) <= degree:
        raise InputError("points", len(points), f"at least {degree + 1} for a periodic spline")
    off = np.abs(points[-1] - points[0])
    if off.max() > CLOSED:
        axis = int(off.argmax())
        raise InputError(
            "points",
            float(points[-1, axis]),
            f"{points[0, axis]:g}, as the first of a periodic spline",
            where=f"row {len(points) - 1}, axis {axis}",
        )
    return np.concatenate([points[:-1], points[:1]])


def _checked_times(times: npt.ArrayLike, count: int) -> FloatArray:
    """The times (K,) from 0 on."""
    knots = as_float(times, "times")
    if knots.shape != (count,):
        raise InputError("shape of times", knots.shape, f"({count},), as points has rows")
    check_increasing(knots, "times")
    since: FloatArray = knots - knots[0]
    return since


def _even_times(robot: Robot, points: FloatArray) -> FloatArray:
    """Times that grow with the roots of the distances, so that accelerations are alike."""
    steps = np.diff(points, axis=0)
    size = _radius(robot)
    distance = np.hypot(
        np.linalg.norm(steps[:, :3], axis=1) / size, np.linalg.norm(steps[:, 3:], axis=1) / np.pi
    )
    for row in np.flatnonzero(distance == 0) + 1:
        allowed = "apart from its predecessor, or times for all points"
        raise InputError("points", points[row], allowed, where=f"row {int(row)}")
    return np.concatenate([[0.0], np.cumsum(np.sqrt(distance))])


def _radius(robot: Robot) -> float:
    """Radius (m) of the workspace, or the arm's length where the robot names none."""
    cylinder = robot.limits.workspace
    return cylinder.radius if cylinder is not None else robot.geometry.size
