"""Where to measure: poses that leave the smallest position deviation over the workspace.

I-optimality: with M = sum A_c^T A_c + P over the chosen poses, the mean variance of positions over
the workspace is tr(M^-1 V), V the mean of their slopes' squares. It has no question of scaling. A
pose c added to M takes off

    tr((1 + A_c M^-1 A_c^T)^-1 A_c M^-1 V M^-1 A_c^T)

Poses are taken one by one where they take off most, then exchanged one by one until none is better
elsewhere. The tolerances P make M regular for instruments that do not see everything.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray, contract
from deltadyn.calibration.field import reached, with_psi, workspace_points
from deltadyn.calibration.measurements import Distances, Heights, Measured, Positions, skew
from deltadyn.calibration.parameters import Geometric, Tolerances
from deltadyn.calibration.visible import Visible, visible
from deltadyn.errors import InputError
from deltadyn.files import write_whole
from deltadyn.kinematics import inverse_kinematics
from deltadyn.kinematics.inverse import arm_directions
from deltadyn.kinematics.limbs import limbs
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.options import merged
from deltadyn.robot import Robot

#: What an instrument is called, and its usual standard deviation (m).
INSTRUMENTS = {"tracker": 2e-5, "camera": 2e-4, "lattice": 1e-4, "probe": 1e-5, "distances": 5e-5}
RANDOM, SPREAD, PASSES = 300, 120, 12
RINGS = ((1.0, 24), (0.66, 16), (0.33, 8), (0.0, 1))  # radius over the workspace's, poses


@dataclass(frozen=True)
class PlanOptions:
    """What a plan is for.

    `sigma` is the instrument's deviation (m), `plates` are the heights (m) at which a probe
    touches, in the middle of the workspace where none is given. `sight_from` is the place (m, in
    the robot's base) from which an instrument looks at the tool; arms and struts may not come
    nearer to that line than `clearance` (m).
    """

    gains: bool = False
    tolerances: Tolerances = field(default_factory=Tolerances)
    sigma: float | None = None
    plates: Sequence[float] = ()
    sight_from: Sequence[float] | None = None
    clearance: float = 0.03
    tool: Sequence[float] = (0.0, 0.0, 0.0)
    seed: int = 0


@dataclass(frozen=True, eq=False)
class CalibrationPlan:
    """Poses to measure, in the order of a short path.

    q (N, dof) and p (N, 3) in the robot file's convention; `pairs` (M, 2) are the rows between
    which distances are measured. `rms` and `worst` are the predicted deviations of positions over
    the workspace (m), for an instrument of deviation `sigma`.
    """

    robot: Robot
    instrument: str
    sigma: float
    q: FloatArray
    p: FloatArray
    pairs: npt.NDArray[np.intp] | None
    rms: float
    worst: float
    before: float
    visible: Visible

    @property
    def path_length(self) -> float:
        """The way from the first pose to the last (m)."""
        return float(np.linalg.norm(np.diff(self.p, axis=0), axis=1).sum())

    def __str__(self) -> str:
        return (
            f"{len(self.p)} poses for a {self.instrument} of {self.sigma * 1e3:g} mm, a path of "
            f"{self.path_length:.2f} m; expected over the workspace {self.rms * 1e3:.4f} mm, worst "
            f"point {self.worst * 1e3:.4f} mm (tolerances alone {self.before * 1e3:.3f} mm); "
            f"not seen: {', '.join(self.visible.unseen) or 'nothing'}"
        )

    def as_dict(self) -> dict[str, Any]:
        """The plan's numbers and poses, for JSON."""
        return {
            "robot": self.robot.name,
            "instrument": self.instrument,
            "sigma_mm": self.sigma * 1e3,
            "poses": [dict(zip(self.columns(), row, strict=True)) for row in self.rows()],
            "path_length_m": self.path_length,
            "expected_rms_mm": self.rms * 1e3,
            "expected_worst_mm": self.worst * 1e3,
            "tolerances_rms_mm": self.before * 1e3,
            "rank": self.visible.rank,
            "unseen": list(self.visible.unseen),
        }

    def columns(self) -> list[str]:
        """Headings of `save`: the pose, the controller's coordinates, the nominal point."""
        robot = self.robot
        unit = "mm" if robot.linear else "deg"
        names = [f"q{i + 1}_{unit}" for i in range(robot.legs)]
        if robot.dof > robot.legs:
            names.append("psi_deg")
        point = ["x_cmd_mm", "y_cmd_mm", "z_cmd_mm"]
        return ["pose", *names, *point, *(["pair"] if self.pairs is not None else [])]

    def rows(self) -> list[list[Any]]:
        """One row per pose, under `columns`."""
        robot = self.robot
        q = np.asarray(robot.to_controller(self.q))
        factors = np.full(robot.dof, 180 / np.pi)
        if robot.linear:
            factors[: robot.legs] = 1e3
        out: list[list[Any]] = []
        for k, (angles, point) in enumerate(zip(q * factors, self.p * 1e3, strict=True)):
            row: list[Any] = [k + 1, *(round(float(v), 6) for v in (*angles, *point))]
            if self.pairs is not None:
                row.append(k // 2 + 1)
            out.append(row)
        return out

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the table of poses for the controller, as CSV."""
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(self.columns())
        writer.writerows(self.rows())
        return write_whole(path, text.getvalue())


def plan_calibration(
    robot: Robot,
    instrument: str = "tracker",
    poses: int = 30,
    options: PlanOptions | None = None,
    **keywords: Any,
) -> CalibrationPlan:
    """Poses at which to measure a robot, inside its workspace and limits, and in sight.

    `instrument` is "tracker", "camera", "lattice" (touched points), "probe" (heights on plates) or
    "distances" (half as many pairs of poses). Every keyword is a field of `PlanOptions`.
    """
    given = merged(PlanOptions, options, keywords)
    if instrument not in INSTRUMENTS:
        raise InputError("instrument", instrument, "one of " + ", ".join(map(repr, INSTRUMENTS)))
    least = 6 if instrument == "distances" else 4
    if not isinstance(poses, int) or poses < least:
        raise InputError("poses", poses, f"a whole number, at least {least}")
    geometric = Geometric(robot, given.gains)
    scales = geometric.scales(given.tolerances)
    sigma = INSTRUMENTS[instrument] if given.sigma is None else given.sigma
    if not sigma > 0:
        raise InputError("sigma", sigma, "a number above 0 m")
    points = candidates(robot, instrument, given)
    if len(points) < poses:
        allowed = (
            f"at least {poses}: a larger workspace, another place to see from, or a target further "
            "below the platform (tool)"
        )
        raise InputError("poses in reach and in sight", len(points), allowed)
    q = inverse_kinematics(robot, with_psi(robot, points))
    x = np.zeros(geometric.count)
    _, slopes = geometric.slopes(x, q)
    goal = _goal(geometric, instrument, points, scales)
    pairs = None
    if instrument == "distances":
        pairs, rows = pair_rows(points, slopes * scales / sigma, given.seed)
        chosen = exchange(rows, goal, poses // 2)
        kept = pairs[chosen]
        rest = rows[chosen]
        order = kept.reshape(-1)
    else:
        whole = slopes * scales / sigma
        rows = whole[:, 2:3] if instrument == "probe" else whole
        chosen = exchange(rows, goal, poses)
        chosen = chosen[short_path(points[chosen])]
        rest, order = rows[chosen], chosen
    values = _predicted(geometric, rest, scales, instrument, points)
    return CalibrationPlan(
        robot, instrument, sigma, q[order], points[order],
        None if pairs is None else np.arange(len(order)).reshape(-1, 2),
        *values, _seen(geometric, instrument, q[order], points[order], scales, sigma),
    )  # fmt: skip


def candidates(robot: Robot, instrument: str, given: PlanOptions) -> FloatArray:
    """Points (N, 3) to choose from: rings on the workspace's rim and inside, and random ones."""
    box = robot.limits.workspace or working_cylinder(robot)
    if instrument == "probe":
        heights = np.array(given.plates or [(box.z_min + box.z_max) / 2], dtype=float)
    else:
        heights = np.linspace(box.z_min, box.z_max, 3)
    rng = np.random.default_rng(given.seed)
    rings = [
        (share * box.radius * np.cos(a), share * box.radius * np.sin(a), z)
        for z in heights
        for share, count in RINGS
        for a in 2 * np.pi * np.arange(count) / count
    ]
    radius, angle = box.radius * np.sqrt(rng.random(RANDOM)), 2 * np.pi * rng.random(RANDOM)
    z = box.z_min + (box.z_max - box.z_min) * rng.random(RANDOM)
    if instrument == "probe":
        z = heights[rng.integers(len(heights), size=RANDOM)]
    inside = np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=1)
    points = np.concatenate([np.array(rings), inside])
    points = points[reached(robot, points)]
    if given.sight_from is not None:
        points = points[in_sight(robot, points, given)]
    return points


def in_sight(robot: Robot, points: FloatArray, given: PlanOptions) -> BoolArray:
    """Mask (N,) of points whose tool an instrument sees past arms and struts.

    Every arm and strut is a row of points that must keep the clearance from the line of sight.
    """
    eye = np.asarray(given.sight_from, dtype=float)
    if eye.shape != (3,) or not np.isfinite(eye).all():
        raise InputError("sight_from", given.sight_from, "three numbers in m, in the robot's base")
    tool = points + np.asarray(given.tool, dtype=float)
    along = eye - tool
    g = robot.geometry
    c, s = arm_directions(robot, with_psi(robot, points))
    free = np.ones(len(points), dtype=bool)
    share = np.linspace(0.0, 1.0, 25)[:, None, None]
    for i, limb in enumerate(limbs(robot)):
        held = g.platform_radius[i] * np.array([np.cos(g.azimuth[i]), np.sin(g.azimuth[i]), 0.0])
        elbow = np.stack(np.broadcast_arrays(*limb.elbow(c[:, i], s[:, i])), axis=-1) + held
        shoulder = elbow if robot.linear else np.array(g.frames[i].shoulder) + held
        parts = [(points + held) + share * (elbow - points - held)]
        parts.append(elbow + share * (shoulder - elbow))
        for part in parts:
            away = part - tool
            t = np.clip((away * along).sum(-1) / (along * along).sum(-1), 0.0, 1.0)
            gap = np.linalg.norm(away - t[..., None] * along, axis=-1).min(axis=0)
            free &= gap >= given.clearance
    return free


def exchange(rows: FloatArray, goal: FloatArray, count: int) -> Any:
    """Indices (count,) of the rows (N, m, n) that make tr(M^-1 goal) small."""
    n = rows.shape[2]
    squares = rows.transpose(0, 2, 1) @ rows  # (N, n, n)
    matrix, chosen = np.eye(n), []
    free = np.ones(len(rows), dtype=bool)
    for _ in range(count):
        best = int(np.argmax(np.where(free, gains_of(rows, matrix, goal), -np.inf)))
        chosen.append(best)
        free[best] = False
        matrix = matrix + squares[best]
    for _ in range(PASSES):
        moved = False
        for place, old in enumerate(chosen):
            without = matrix - squares[old]
            free[old] = True
            gains = np.where(free, gains_of(rows, without, goal), -np.inf)
            best = int(np.argmax(gains))
            if gains[best] <= gains[old] * (1 + 1e-9):
                best = old
            moved |= best != old
            chosen[place], matrix = best, without + squares[best]
            free[best] = False
        if not moved:
            break
    return np.array(chosen)


def gains_of(rows: FloatArray, matrix: FloatArray, goal: FloatArray) -> FloatArray:
    """What each pose takes off tr(M^-1 goal)."""
    count, m, n = rows.shape
    inverse = np.linalg.inv(matrix)
    through = (rows.reshape(-1, n) @ inverse).reshape(count, m, n)
    inner = np.eye(m) + through @ rows.transpose(0, 2, 1)
    outer = (through.reshape(-1, n) @ goal).reshape(count, m, n) @ through.transpose(0, 2, 1)
    if m == 1:
        out: FloatArray = (outer / inner)[:, 0, 0]
        return out
    traces: FloatArray = np.einsum("nii->n", np.linalg.solve(inner, outer))
    return traces


def pair_rows(
    points: FloatArray, slopes: FloatArray, seed: int, count: int = 1500
) -> tuple[Any, FloatArray]:
    """Pairs (M, 2) of poses far enough apart, and the rows (M, 1, n) of their distances."""
    rng = np.random.default_rng(seed + 1)
    pairs = rng.integers(len(points), size=(4 * count, 2))
    apart = points[pairs[:, 1]] - points[pairs[:, 0]]
    length = np.linalg.norm(apart, axis=1)
    kept = np.flatnonzero(length > 0.3 * float(np.ptp(points[:, 0])))[:count]
    u = apart[kept] / length[kept, None]
    by = slopes[pairs[kept, 1]] - slopes[pairs[kept, 0]]
    return pairs[kept], contract("ni,nik->nk", u, by)[:, None]


def _goal(
    geometric: Geometric, instrument: str, points: FloatArray, scales: FloatArray
) -> FloatArray:
    """V (n, n): the mean of the squares of position slopes, in tolerances."""
    slopes = goal_slopes(geometric, instrument, points) * scales
    out: FloatArray = np.einsum("nij,nik->jk", slopes, slopes) / len(slopes)
    return out


def goal_slopes(geometric: Geometric, instrument: str, points: FloatArray) -> FloatArray:
    """Slopes of positions over the workspace; of heights on the plates for a probe.

    Distances see no motion of the whole: positions count after the best alignment.
    """
    robot = geometric.robot
    probe = instrument == "probe"
    where = points if probe else workspace_points(robot, SPREAD)
    q = inverse_kinematics(robot, with_psi(robot, where))
    p, slopes = geometric.slopes(np.zeros(geometric.count), q)
    if instrument == "distances":
        whole = np.concatenate(
            [np.broadcast_to(np.eye(3), slopes[:, :, :3].shape), skew(p)], axis=2
        )
        basis = np.linalg.qr(whole.reshape(-1, 6))[0]
        flat = slopes.reshape(len(basis), -1)
        slopes = (flat - basis @ (basis.T @ flat)).reshape(slopes.shape)
    return slopes[:, 2:3] if probe else slopes


def _predicted(
    geometric: Geometric,
    rows: FloatArray,
    scales: FloatArray,
    instrument: str,
    points: FloatArray,
) -> tuple[float, float, float]:
    """Predicted deviations (m): mean and worst after the measurement, mean of the tolerances."""
    slopes = goal_slopes(geometric, instrument, points) * scales
    flat = rows.reshape(-1, rows.shape[2])
    inverse = np.linalg.inv(flat.T @ flat + np.eye(rows.shape[2]))
    variance = np.einsum("nij,jk,nik->n", slopes, inverse, slopes)
    before = np.einsum("nij,nij->n", slopes, slopes)
    return (
        float(np.sqrt(variance.mean())),
        float(np.sqrt(variance.max())),
        float(np.sqrt(before.mean())),
    )


def _seen(
    geometric: Geometric,
    instrument: str,
    q: FloatArray,
    p: FloatArray,
    scales: FloatArray,
    sigma: float,
) -> Visible:
    data: Measured
    if instrument == "probe":
        data = Heights(q, p[:, 2], sigma)
    elif instrument == "distances":
        length = np.linalg.norm(p[1::2] - p[::2], axis=1)
        data = Distances(q[::2], q[1::2], length, sigma)
    else:
        data = Positions(q, p, sigma)
    return visible(geometric, [data], scales, held=geometric.robot.legs == 3)


def short_path(points: FloatArray) -> Any:
    """An order (N,) of points with a short path: the nearest next, then two-opt."""
    count = len(points)
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    start = int(np.argmax(points[:, 2]))
    order, left = [start], set(range(count)) - {start}
    while left:
        nearest = min(left, key=lambda k: (apart[order[-1], k], k))
        order.append(nearest)
        left.remove(nearest)
    for _ in range(20):
        better = False
        for i in range(count - 2):
            for j in range(i + 2, count):
                a, b, c = order[i], order[i + 1], order[j]
                old, new = apart[a, b], apart[a, c]
                if j + 1 < count:
                    d = order[j + 1]
                    old, new = old + apart[c, d], new + apart[b, d]
                if new < old - 1e-12:
                    order[i + 1 : j + 1] = order[i + 1 : j + 1][::-1]
                    better = True
        if not better:
            break
    return np.array(order)
