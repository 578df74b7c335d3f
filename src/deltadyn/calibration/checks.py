"""What is wrong with measurements, found before and after the fit, with the number that shows it.

What makes a fit senseless is refused; what a person should know is a finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.calibration.estimate import MEDIANS, Solution
from deltadyn.calibration.measurements import (
    Distances,
    Frame,
    Heights,
    Measured,
    Positions,
    kabsch_of_most,
)
from deltadyn.calibration.parameters import Geometric
from deltadyn.calibration.result import Finding
from deltadyn.errors import InputError

THOUSAND = 30.0  # a ratio of lengths beyond this, or below 1 / this, is one of units
BETTER = 5.0  # by what another reading of the data must be better to be said
SAME_POSE = 1e-4  # rad or m
AT_REST = 1e-3  # m/s
SURE = 4.0  # deviations


def check_measurements(
    geometric: Geometric, sets: Sequence[Measured], scales: FloatArray
) -> list[Finding]:
    """Findings about the data alone, against the nominal robot; raises for what cannot be used."""
    found: list[Finding] = []
    for item in sets:
        found += _joint_units(geometric, item)
        if isinstance(item, Positions):
            found += [Finding("file", text) for text in item.notes]
            found += _positions(geometric, item, scales)
        if isinstance(item, Heights):
            found += _heights(geometric, item, scales)
        if isinstance(item, Distances):
            _refuse_distance_units(geometric, item)
        found += _copies(item)
    return found


def check_fit(solution: Solution) -> list[Finding]:
    """Findings about what the fit left."""
    found: list[Finding] = []
    for index, item in enumerate(solution.measured):
        chi, freedom = float(solution.chi[index]), float(solution.freedom[index])
        if item.sigma_given and freedom > 5 and chi > 1 + SURE / np.sqrt(2 * freedom):
            text = (
                f"residuals of the {item.kind} are {chi:.2f} times the deviations that were given: "
                "the instrument is worse than said, or the robot has errors that are no lengths "
                "and angles of its limbs (unequal rods, play, bending)"
            )
            found.append(Finding("model", text))
        if isinstance(item, Positions):
            found += _backlash(solution, index)
            found += _tilt(solution, index)
    return found


def _joint_units(geometric: Geometric, item: Measured) -> list[Finding]:
    robot = geometric.robot
    largest = float(np.abs(item.q[:, : robot.legs]).max())
    limit = 20.0 if robot.linear else 2 * np.pi
    if largest > limit:
        unit, other = ("m", "mm") if robot.linear else ("rad", "deg")
        raise InputError(
            "q", f"{largest:.4g} {unit} at its largest", f"at most {limit:.3g} {unit}; in {other}?"
        )
    return []


def _positions(geometric: Geometric, item: Positions, scales: FloatArray) -> list[Finding]:
    p = geometric.points(np.zeros(geometric.count), item.q)
    closed = np.asarray(np.isfinite(p).all(axis=1))
    needed = 4 if item.frame == "fit" else 1
    if len(p) < needed:
        raise InputError("poses", len(p), f"at least {needed} where the frame is fitted")
    p, y = p[closed] + item.tool, item.p[closed]
    if len(p) < needed:
        return []  # the fit says which pose does not close
    found: list[Finding] = []
    _refuse_units(item, p, y, closed)
    found += _refuse_spread(item, p)
    size = float(np.linalg.norm(p - p.mean(axis=0), axis=1).mean())
    if item.frame == "fit" and len(p) >= 5:
        _refuse_mirror(geometric, item, p, y, size)
    if item.frame == "base":
        found += _offset(p, y, scales)
        _refuse_turned(p, y, size)
    found += _moving(item, p)
    return found


def _refuse_units(item: Positions, p: FloatArray, y: FloatArray, closed: BoolArray) -> None:
    """m beside mm: all points, or some of them."""
    if len(p) < 3:
        return
    if item.frame == "fit":
        near, far = p - np.median(p, axis=0), y - np.median(y, axis=0)
    else:
        near, far = p, y
    ratio = float(np.median(np.linalg.norm(far, axis=1)) / np.median(np.linalg.norm(near, axis=1)))
    if not 1 / THOUSAND < ratio < THOUSAND:
        raise InputError(
            "p", f"{ratio:.4g} times as far apart as the robot's own points",
            "points in m: a file's unit is its columns' suffix, x_mm or x_m",
        )  # fmt: skip
    each = np.linalg.norm(far, axis=1) / float(np.median(np.linalg.norm(far, axis=1)))
    reach = float(np.linalg.norm(near, axis=1).max() / np.median(np.linalg.norm(near, axis=1)))
    odd = np.flatnonzero(each > THOUSAND * max(reach, 1.0))
    if item.frame == "base":
        odd = np.union1d(odd, _other_unit(p, y))
    if odd.size:
        row = int(np.flatnonzero(closed)[odd[0]])
        raise InputError(
            "p", item.p[row].tolist(), "one unit in all rows: m and mm seem mixed",
            where=f"pose {item.names[row]} and {odd.size - 1} more",
        )  # fmt: skip


def _other_unit(p: FloatArray, y: FloatArray) -> Any:
    """Rows of y (N, 3) that fit p (N, 3) a thousand times larger or smaller, and not as they are.

    A point near the origin is small and fits.
    """
    off = np.linalg.norm(y - p, axis=1)
    scaled = [np.linalg.norm(y * scale - p, axis=1) for scale in (1e3, 1e-3)]
    far = off > 0.1 * float(np.median(np.linalg.norm(p, axis=1)))
    return np.flatnonzero(far & (np.minimum(*scaled) < 0.1 * off))


def _refuse_spread(item: Positions, p: FloatArray) -> list[Finding]:
    """Poses on a point, a line or a plane show little."""
    values = np.linalg.svd(p - p.mean(axis=0), compute_uv=False) / np.sqrt(len(p))
    if item.frame == "fit" and values[1] < 1e-3:
        raise InputError(
            "poses", f"on a line: they leave it by {values[1] * 1e3:.3g} mm",
            "poses spread over the workspace, so that the frame can be found",
        )  # fmt: skip
    if values[2] < 0.02 * values[0]:
        text = (
            f"the poses lie nearly in a plane: {values[2] * 1e3:.2g} mm across it, "
            f"{values[0] * 1e3:.3g} mm along; measure at the top and the bottom of the workspace"
        )
        return [Finding("degenerate", text)]
    return []


def _rms(frame: Frame, p: FloatArray, y: FloatArray) -> float:
    """How well a frame carries p to y; the median, so that an outlier does not decide."""
    return float(np.median(np.linalg.norm(frame.seen(p) - y, axis=1)))


def _refuse_mirror(
    geometric: Geometric, item: Positions, p: FloatArray, y: FloatArray, size: float
) -> None:
    """A left-handed frame, or drives in another order than the robot file's."""
    right, left = _rms(kabsch_of_most(p, y), p, y), _rms(kabsch_of_most(p, y, mirrored=True), p, y)
    if right < 0.02 * size:
        return
    if left * BETTER < right:
        raise InputError(
            "p", f"mirrored: {right * 1e3:.3g} mm off as given, {left * 1e3:.3g} mm with one axis "
            "turned round",
            "a right-handed frame (x, y and z not swapped, no sign lost), and drives in the order "
            "of the robot file",
        )  # fmt: skip
    legs = geometric.robot.legs
    for order in permutations(range(legs)):
        q = item.q.copy()
        q[:, :legs] = item.q[:, order]
        other = geometric.points(np.zeros(geometric.count), q) + item.tool
        if (
            np.isfinite(other).all()
            and _rms(kabsch_of_most(other, item.p), other, item.p) * BETTER < right
        ):
            raise InputError(
                "q", f"{right * 1e3:.3g} mm off as given, {BETTER:g} times less with the drives in "
                f"the order {', '.join(str(k + 1) for k in order)}",
                "drives in the order of the robot file",
            )  # fmt: skip
    raise InputError(
        "p", f"{right * 1e3:.3g} mm off the robot's own points, in the frame that fits best",
        "points of this robot: look at signs and offsets of the controller's angles, units, and "
        "whether poses and points are in the same order",
    )  # fmt: skip


def _offset(p: FloatArray, y: FloatArray, scales: FloatArray) -> list[Finding]:
    """A constant offset that errors of the geometry would not give: a tool or ball forgotten."""
    off = y - p
    mean = off.mean(axis=0)
    size, rest = float(np.linalg.norm(mean)), float(np.linalg.norm(off - mean, axis=1).mean())
    if size > 10 * float(np.median(scales[scales < 0.1])) and size > 3 * rest:
        text = (
            f"all points are off by ({', '.join(f'{v * 1e3:.2f}' for v in mean)}) mm, "
            f"{rest * 1e3:.2f} mm about that: a tool or ball offset that was not given (tool=...)"
        )
        return [Finding("tool", text)]
    return []


def _refuse_turned(p: FloatArray, y: FloatArray, size: float) -> None:
    """Axes that are swapped, where the points were said to be in the robot's base."""
    if len(p) < 5:
        return
    as_given, frame = float(np.median(np.linalg.norm(y - p, axis=1))), kabsch_of_most(p, y)
    mirrored = kabsch_of_most(p, y, mirrored=True)
    best = min((frame, mirrored), key=lambda item: _rms(item, p, y))
    if best is frame and best.angle < np.radians(10):
        return  # an offset is no turn
    if as_given > 0.1 * size and _rms(best, p, y) * BETTER < as_given:
        kind = "turned" if best is frame else "mirrored"
        raise InputError(
            "p", f"{as_given * 1e3:.3g} mm off as given, {_rms(best, p, y) * 1e3:.3g} mm in a "
            f"frame that is {kind} by {np.degrees(best.angle):.0f} deg",
            "points in the robot's base (its x, y, z in this order), or frame='fit'",
        )  # fmt: skip


def _heights(geometric: Geometric, item: Heights, scales: FloatArray) -> list[Finding]:
    p = geometric.points(np.zeros(geometric.count), item.q)
    p = p[np.isfinite(p).all(axis=1)]
    if len(p) < 3:
        raise InputError("heights", len(item.z), "at least 3")
    off = item.z - (geometric.points(np.zeros(geometric.count), item.q)[:, 2] + item.tool[2])
    mean, rest = float(np.nanmean(off)), float(np.nanstd(off))
    size = max(geometric.robot.geometry.strut_length)
    if abs(mean) > THOUSAND * size:
        raise InputError(
            "z", f"{mean:.4g} m off the robot's own heights",
            "heights in m: a file's unit is its column's suffix, z_mm or z_m",
        )  # fmt: skip
    found = []
    if abs(mean) > 10 * float(np.median(scales[scales < 0.1])) and abs(mean) > 3 * rest:
        text = (
            f"all heights are off by {mean * 1e3:.2f} mm, {rest * 1e3:.2f} mm about that: a probe "
            "or tool offset that was not given (tool=...), or another zero of the plate"
        )
        found.append(Finding("tool", text))
    values = np.linalg.svd(p[:, :2] - p[:, :2].mean(axis=0), compute_uv=False) / np.sqrt(len(p))
    if values[1] < 0.05 * values[0]:
        text = (
            f"the heights lie on a line: {values[1] * 1e3:.2g} mm across it, "
            f"{values[0] * 1e3:.3g} mm along"
        )
        found.append(Finding("degenerate", text))
    return found


def _refuse_distance_units(geometric: Geometric, item: Distances) -> None:
    """Distances in mm that were taken for m, or the other way round."""
    p = geometric.points(np.zeros(geometric.count), item.q)
    half = len(item.distance)
    apart = np.linalg.norm(p[half:] - p[:half], axis=1)
    ratio = float(np.nanmedian(item.distance / np.maximum(apart, 1e-9)))
    if not 1 / THOUSAND < ratio < THOUSAND:
        raise InputError(
            "distance", f"{ratio:.4g} times the robot's own",
            "distances in m: a file's unit is its column's suffix, distance_mm or distance_m",
        )  # fmt: skip


def _copies(item: Measured) -> list[Finding]:
    """Rows that are there twice, to the last digit."""
    value = getattr(item, "p", getattr(item, "z", None))
    if value is None or len(item.q) != len(value):
        return []
    rows = np.column_stack([item.q, value])
    if len(rows) > 5000:
        return []
    count = len(rows) - len(np.unique(rows, axis=0))
    if not count:
        return []
    text = f"{count} of {len(rows)} rows are exact copies of others: they are no second measurement"
    return [Finding("copies", text)]


def _moving(item: Positions, p: FloatArray) -> list[Finding]:
    """Points taken while the robot moved, where times were given."""
    if item.times is None or len(item.times) != len(p) or len(p) < 3:
        return []
    dt = np.diff(item.times)
    if (dt <= 0).any():
        raise InputError("times", float(dt.min()), "growing times")
    speed = np.linalg.norm(np.diff(p, axis=0), axis=1) / dt
    # a robot that stands between poses moves in less than the whole time between them
    quick = (dt < 0.5) & (speed > AT_REST)
    if not quick.any():
        return []
    row = int(np.flatnonzero(quick)[0])
    text = (
        f"{int(quick.sum())} of {len(p)} points were taken less than 0.5 s after another pose, at "
        f"up to {float(speed[quick].max()) * 1e3:.1f} mm/s (first: pose {item.names[row + 1]}): "
        "the robot has to stand still"
    )
    return [Finding("moving", text)]


def _backlash(solution: Solution, index: int) -> list[Finding]:
    """Play of an axis: residuals that follow the side from which the axis came.

    The side is read from the order of the poses; half the play is a homing offset of that sign.
    """
    item = solution.measured[index]
    geometric = solution.geometric
    legs, p = geometric.robot.legs, item.q
    if len(p) < 15:
        return []
    came = np.sign(np.diff(p[:, :legs], axis=0, prepend=p[:1, :legs]))
    came[np.abs(np.diff(p[:, :legs], axis=0, prepend=p[:1, :legs])) < SAME_POSE] = 0
    kind = "height" if geometric.robot.linear else "offset"
    places = [geometric.names.index(f"{kind}{i + 1}") for i in range(legs)]
    rows = item.rows(*geometric.slopes(solution.x, p), solution.own[index])
    own = solution.sets[index]
    root = np.sqrt(solution.weights[own])
    columns = np.stack(
        [
            rows.by_x[:, place] * np.repeat(came[:, i], item.per_point)
            for i, place in enumerate(places)
        ],
        axis=1,
    )
    # what the fitted numbers take up of these columns is taken off, in the metric of the fit
    left = solution.slopes[own] * root[:, None]
    extra = columns * root[:, None]
    inner = extra - left @ (solution.factor @ (left.T @ extra))
    normal = inner.T @ extra
    if np.linalg.cond(normal) > 1e8:
        return []
    value = -np.linalg.solve(normal, inner.T @ (solution.residual[own] * root))
    spread = max(1.0, float(solution.chi[index]))
    std = np.sqrt(np.diag(np.linalg.inv(normal))) * spread
    found = []
    for axis in range(legs):
        if abs(value[axis]) > SURE * std[axis]:
            factor, unit = (1e3, "mm") if geometric.robot.linear else (180 / np.pi, "deg")
            play, error = 2 * abs(value[axis]) * factor, 2 * std[axis] * factor
            text = (
                f"axis {axis + 1} has a play of {play:.4f} ± {1.96 * error:.4f} {unit}: its points "
                "depend on the side it came from; reach all poses from one side"
            )
            found.append(Finding("backlash", text))
    return found


def _tilt(solution: Solution, index: int) -> list[Finding]:
    """The platform's tilt that a camera saw: unequal rods."""
    item = solution.measured[index]
    if not isinstance(item, Positions) or item.rotations is None:
        return []
    tilt = solution.points_of(index)[:, 3:] * item.turn_sigma
    size = np.linalg.norm(tilt, axis=1) / np.sqrt(3)
    spread = float(np.median(size)) / MEDIANS[3]
    if spread < 2 * item.turn_sigma:
        return []
    text = (
        f"the platform turns by {np.degrees(spread):.3f} deg (std) over the poses, the camera's "
        f"deviation is {np.degrees(item.turn_sigma):.3f}: the rods of a pair are not equal"
    )
    return [Finding("rods", text)]
