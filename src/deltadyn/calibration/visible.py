"""What measurements can see of a geometry: ranks, and what is not seen, in words.

The rows of a data set by (x, own) have a rank; what it lacks are directions in which the geometry
can change while no residual does. Most are motions of the whole robot, which have names: along and
about the axes of the base, and its scale. They are found as the x that move the platform's points
like that motion, and tested against the data. The rest is told by its largest parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.calibration.estimate import system
from deltadyn.calibration.field import with_psi, workspace_points
from deltadyn.calibration.measurements import Measured
from deltadyn.calibration.parameters import Geometric
from deltadyn.kinematics import inverse_kinematics

MOTIONS = ("x", "y", "z", "turn about x", "turn about y", "turn about z", "scale")
SMALLEST = 1e-10  # singular values over the largest that count as rank, by rounding
UNSEEN = 1e-7  # response over the data's largest, by rounding and the poses' conditioning


@dataclass(frozen=True)
class Visible:
    """What a data set sees: `rank` of `unknowns` numbers, `count` of them the geometry's.

    `seen` directions of the geometry are known better from the data than from the tolerances.
    `unseen` says which motions, or combinations of parameters, no residual depends on.
    """

    rank: int
    unknowns: int
    count: int
    geometry_rank: int
    seen: int
    unseen: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every number of the geometry is seen."""
        return self.geometry_rank == self.count

    def __str__(self) -> str:
        lost = ", ".join(self.unseen) if self.unseen else "nothing"
        return (
            f"rank {self.rank} of {self.unknowns}; {self.geometry_rank} of {self.count} numbers of "
            f"the geometry are seen, {self.seen} better than its tolerances; not seen: {lost}"
        )


def visible(
    geometric: Geometric,
    measured: Sequence[Measured],
    scales: FloatArray,
    x: FloatArray | None = None,
    own: Sequence[Any] | None = None,
    *,
    held: bool = False,
) -> Visible:
    """What these measurements see; `held` keeps the instrument's frame."""
    x = np.zeros(geometric.count) if x is None else x
    if own is None:
        own = [item.start(geometric.points(x, item.q)) for item in measured]
    rows = system(geometric, measured, np.eye(geometric.count), x, own, held)
    n = geometric.count
    by_x, by_own = rows.slopes[:, :n] * scales, rows.slopes[:, n:]
    size = np.linalg.norm(by_own, axis=0)
    by_own = by_own / np.where(size > 0, size, 1.0) * (np.linalg.norm(by_x) / np.sqrt(n))
    values = np.linalg.svd(np.concatenate([by_x, by_own], axis=1), compute_uv=False)
    if by_own.shape[1]:  # what the instruments' own numbers can take up is not seen
        basis = np.linalg.qr(by_own)[0]
        by_x = by_x - basis @ (basis.T @ by_x)
    own_values = np.linalg.svd(by_x, compute_uv=False)
    own_rank = int((own_values > SMALLEST * own_values[0]).sum())
    return Visible(
        int((values > SMALLEST * values[0]).sum()),
        n + by_own.shape[1],
        n,
        own_rank,
        int((own_values > 1).sum()),
        tuple(_unseen_words(geometric, scales, x, by_x, own_rank)),
    )


def motion_directions(geometric: Geometric, x: FloatArray, scales: FloatArray) -> FloatArray:
    """Directions (n, 7) of x, in tolerances, that move all points as `MOTIONS` say; NaN if none.

    A scale is no change of geometry where a rail's q is in m.
    """
    q = spread_poses(geometric)
    p, slopes = geometric.slopes(x, q)
    left = (slopes * scales).reshape(-1, geometric.count)
    turns = np.stack([np.cross(axis, p) for axis in np.eye(3)], axis=-1)  # (N, 3, 3)
    shifts = np.broadcast_to(np.eye(3), (len(p), 3, 3))
    right = np.concatenate([shifts, turns, p[:, :, None]], axis=2).reshape(-1, len(MOTIONS))
    found = np.linalg.lstsq(left, right, rcond=1e-12)[0]
    off = np.linalg.norm(left @ found - right, axis=0) / np.linalg.norm(right, axis=0)
    out: FloatArray = np.where(off > 1e-6, np.nan, found)
    return out


def spread_poses(geometric: Geometric, count: int = 80) -> FloatArray:
    """Joint coordinates (count, dof) spread over the workspace, always the same."""
    robot = geometric.robot
    return inverse_kinematics(robot, with_psi(robot, workspace_points(robot, count)))


def _unseen_words(
    geometric: Geometric, scales: FloatArray, x: FloatArray, by_x: FloatArray, rank: int
) -> list[str]:
    """Names of unseen motions, then what else is unseen by its largest parameters."""
    missing = geometric.count - rank
    if not missing:
        return []
    vectors = np.linalg.svd(by_x, full_matrices=True)[2]
    null = vectors[rank:].T  # (n, missing), orthonormal
    motions, words, taken = motion_directions(geometric, x, scales), [], []
    response = by_x @ np.nan_to_num(motions)
    size = float(np.linalg.norm(by_x, axis=0).max())
    lost = np.linalg.norm(response, axis=0) < UNSEEN * size * np.linalg.norm(motions, axis=0)
    response[:, lost] = 0.0
    for k, name in enumerate(MOTIONS):
        if not np.isfinite(motions[:, k]).all():
            continue
        direction = motions[:, k]
        if name == "scale":  # about any point: beside a plate it is the plate's height
            rigid = np.linalg.lstsq(response[:, :k], response[:, k], rcond=1e-9)[0]
            direction = direction - motions[:, :k] @ rigid
        unit = direction / np.linalg.norm(direction)
        if np.linalg.norm(by_x @ unit) < UNSEEN * size:
            words.append(name)
            taken.append(unit)
    if taken:
        basis = np.linalg.qr(np.column_stack(taken))[0]
        null = null - basis @ (basis.T @ null)
    left, values, _ = np.linalg.svd(null, full_matrices=False)
    rest = left[:, values > 0.5][:, : missing - len(words)]
    words += [combination(geometric, column) for column in rest.T]
    return words


def combination(geometric: Geometric, direction: FloatArray, most: int = 4) -> str:
    """A direction of x, in tolerances, as a sum of its largest parameters."""
    unit = direction / np.abs(direction).max()
    order = np.argsort(-np.abs(unit))[:most]
    parts = [f"{unit[k]:+.2g} {geometric.names[k]}" for k in order if abs(unit[k]) > 0.1]
    return " ".join(parts)
