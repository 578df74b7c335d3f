"""Splines through points with times."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, as_samples
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.motion.planned import Course, Leg, Plan, PlannedMotion
from deltadyn.motion.scaling import planned
from deltadyn.robot import Robot

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
    rows, single = as_samples(points, robot.dof, "points")
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
    given = np.asarray(times)
    if given.ndim != 1 or given.dtype.kind not in "fiu":
        raise InputError("times", times, "an array of real numbers (K,)")
    if len(given) != count:
        raise InputError("samples of times", len(given), f"{count}, as points has rows")
    knots = given.astype(np.float64)
    for row in np.flatnonzero(~np.isfinite(knots)):
        raise InputError("times", float(knots[row]), "finite numbers", where=f"row {int(row)}")
    for row in np.flatnonzero(np.diff(knots) <= 0) + 1:
        allowed = f"above its predecessor {knots[row - 1]:g} s"
        raise InputError("times", float(knots[row]), allowed, where=f"row {int(row)}")
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
    return cylinder.radius if cylinder is not None else float(min(robot.geometry.arm_length))
