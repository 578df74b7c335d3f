"""Inertia coupling of the drives, at points and over the workspace [kim2022].

How much the axes load each other is read from the mass matrix in the joint coordinates,

    coupling_ij = |M_ij| / sqrt(M_ii M_jj)      0: independent, towards 1: two axes move one mass
    felt_i      = M_ii                          inertia at drive i while the others hold still
    free_i      = 1 / (M^-1)_ii                 inertia at drive i while the others let go

felt >= free, and they meet where an axis is not coupled at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, Unreachable, restore
from deltadyn.dynamics.models import model_by_name
from deltadyn.errors import InputError
from deltadyn.kinematics.state import State
from deltadyn.kinematics.workspace import in_workspace, psi_range, working_cylinder
from deltadyn.robot import Robot
from deltadyn.robot.settings import Workspace

Pairs = tuple[tuple[int, int], ...]

CYLINDER_SAMPLES = 13  # heights and radii; 3 times as many azimuths, one psi each


@dataclass(frozen=True, eq=False)
class InertiaCoupling:
    """Coupling of the axes in `pairs`, counted from 1, (N, P), and inertias (N, dof) in kg m^2.

    In kg of a carriage on rails.
    """

    pairs: Pairs
    coupling: FloatArray
    felt: FloatArray
    free: FloatArray


@dataclass(frozen=True, eq=False)
class CouplingSummary:
    """Minimum, median and maximum, in rows, over the volume of a cylinder of the workspace.

    `points` were looked at, `left_out` more could not be reached.
    """

    cylinder: Workspace
    pairs: Pairs
    coupling: FloatArray  # (3, P)
    felt: FloatArray  # (3, dof), kg m^2; kg of a carriage
    free: FloatArray  # (3, dof)
    points: int
    left_out: int
    units: tuple[str, ...]  # of the inertias, one per axis

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON: [least, median, largest] by pair and by axis."""
        axes = [str(axis + 1) for axis in range(self.felt.shape[1])]
        return {
            "cylinder": {
                name: getattr(self.cylinder, name) for name in ("radius", "z_min", "z_max")
            },
            "points": self.points,
            "left_out": self.left_out,
            "coupling": {
                f"{i}-{j}": values
                for (i, j), values in zip(self.pairs, self.coupling.T.tolist(), strict=True)
            },
            "felt": dict(zip(axes, self.felt.T.tolist(), strict=True)),
            "free": dict(zip(axes, self.free.T.tolist(), strict=True)),
            "units": dict(zip(axes, self.units, strict=True)),
        }

    def __str__(self) -> str:
        names = [f"coupling {i}-{j}" for i, j in self.pairs]
        for kind in ("felt", "free"):
            names += [f"{kind} inertia {i + 1}, {unit}" for i, unit in enumerate(self.units)]
        values = np.concatenate([self.coupling, self.felt, self.free], axis=1).T
        c = self.cylinder
        lines = [
            f"over a cylinder of radius {c.radius:.4g} m from z = {c.z_min:.4g} to {c.z_max:.4g} m",
            f"{self.points} points, {self.left_out} more out of reach",
            f"{'':24}{'min':>10}{'median':>10}{'max':>10}",
        ]
        rows = zip(names, values, strict=True)
        lines += [f"{name:24}" + "".join(f"{v:10.4g}" for v in row) for name, row in rows]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class CouplingMap:
    """A horizontal picture: arrays over y (rows) and x (columns), NaN outside the workspace."""

    x: FloatArray  # (X,), m
    y: FloatArray  # (Y,), m
    z: float  # m
    pairs: Pairs
    coupling: FloatArray  # (P, Y, X)
    felt: FloatArray  # (dof, Y, X), kg m^2
    free: FloatArray  # (dof, Y, X), kg m^2
    summary: CouplingSummary


def inertia_coupling(
    robot: Robot, p: npt.ArrayLike, model: str = "exact", *, unreachable: Unreachable = "raise"
) -> InertiaCoupling:
    """Coupling and inertias at platform positions p (N, dof) [kim2022].

    free = det M / det (M without axis i). NaN where the pose is singular, and where an axis has no
    inertia at all.
    """
    state = State.from_platform(robot, p, unreachable=unreachable)
    M = model_by_name(model).terms(robot, state).M
    M[~np.isfinite(M).all(axis=(1, 2))] = np.nan  # all of a row, also axis 4
    axes = np.arange(robot.dof)
    pairs = _pairs(robot.dof)
    felt = M[:, axes, axes]
    first, second = (np.array(side) - 1 for side in zip(*pairs, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        coupling = np.abs(M[:, first, second]) / np.sqrt(felt[:, first] * felt[:, second])
        whole = np.linalg.det(M)
        others = [np.ix_(np.arange(len(M)), axes != i, axes != i) for i in axes]
        free = np.stack([whole / np.linalg.det(M[keep]) for keep in others], axis=-1)
    return InertiaCoupling(pairs, *(restore(a, state.single) for a in (coupling, felt, free)))


def coupling_map(
    robot: Robot,
    *,
    z: float | None = None,
    extent: float | None = None,
    resolution: int = 61,
    psi: float = 0.0,
    model: str = "exact",
) -> CouplingMap:
    """Coupling over the square |x|, |y| <= extent (m) at height z, `resolution` points a side.

    By default the middle height and the radius of the robot's workspace cylinder, which the
    summary is about. NaN where a point breaks the robot's own limits or cannot be reached.
    """
    if isinstance(resolution, bool) or not isinstance(resolution, int) or resolution < 2:
        raise InputError("resolution", resolution, "a whole number of at least 2")
    if robot.planar:
        allowed = "one that moves in space: `coupling_summary` is there for a planar robot"
        raise InputError("robot", robot.name, allowed)
    cylinder = working_cylinder(robot)
    height = (cylinder.z_min + cylinder.z_max) / 2 if z is None else float(z)
    half = cylinder.radius if extent is None else float(extent)
    if not (np.isfinite(half) and half > 0):
        raise InputError("extent", half, "above 0 m")
    axis = np.linspace(-half, half, resolution)
    x, y = np.meshgrid(axis, axis)
    p = np.stack([x.ravel(), y.ravel(), np.full(x.size, height)], axis=-1)
    if robot.dof == 4:
        p = np.concatenate([p, np.full((len(p), 1), float(psi))], axis=1)
    found = inertia_coupling(robot, p, model, unreachable="nan")
    outside = ~in_workspace(robot, p)

    def picture(values: FloatArray) -> FloatArray:
        values[outside] = np.nan
        return np.ascontiguousarray(values.T).reshape(-1, resolution, resolution)

    return CouplingMap(
        x=axis,
        y=axis,
        z=height,
        pairs=found.pairs,
        coupling=picture(found.coupling),
        felt=picture(found.felt),
        free=picture(found.free),
        summary=coupling_summary(robot, cylinder, model),
    )


def coupling_summary(
    robot: Robot,
    cylinder: Workspace | None = None,
    model: str = "exact",
    *,
    samples: int = CYLINDER_SAMPLES,
) -> CouplingSummary:
    """Least, median and largest coupling and inertias over a cylinder, every volume alike.

    By default the robot's limits.workspace, or the largest cylinder of its workspace. psi runs
    once around over the samples, or where limbs carry it through what they reach all over the
    robot's own cylinder. Points that cannot be reached are left out.
    """
    cylinder = cylinder or working_cylinder(robot)
    p = _cylinder_points(robot, cylinder, samples)
    found = inertia_coupling(robot, p, model, unreachable="nan")
    arrays = (found.coupling, found.felt, found.free)
    kept = np.all([np.isfinite(values).all(axis=1) for values in arrays], axis=0)
    count = int(kept.sum())
    if not count:
        raise InputError("cylinder", cylinder, "a cylinder with points that can be reached")
    levels = (np.quantile(values[kept], [0.0, 0.5, 1.0], axis=0) for values in arrays)
    coupling, felt, free = levels
    left_out = len(p) - count
    units = robot.axis_units("inertia")
    return CouplingSummary(cylinder, found.pairs, coupling, felt, free, count, left_out, units)


def _cylinder_points(robot: Robot, cylinder: Workspace, samples: int) -> FloatArray:
    """Points (n, dof) of the cylinder, rim and ends included, with equal shares of its volume."""
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 2:
        raise InputError("samples", samples, "a whole number of at least 2")
    around = np.arange(3 * samples) * (2 * np.pi / (3 * samples))
    share = np.linspace(0.0, 1.0, samples)
    if robot.planar:  # both sides, every area alike
        wide = np.linspace(-cylinder.radius, cylinder.radius, 2 * samples - 1)
        x, z = np.meshgrid(wide, np.linspace(cylinder.z_min, cylinder.z_max, samples))
        return np.stack([x.ravel(), z.ravel()], axis=-1)
    radius, phi, z = np.meshgrid(
        cylinder.radius * np.sqrt(share),
        around,
        np.linspace(cylinder.z_min, cylinder.z_max, samples),
        indexing="ij",
    )
    p = np.stack([radius * np.cos(phi), radius * np.sin(phi), z], axis=-1).reshape(-1, 3)
    if robot.dof == 3:
        return p
    golden = (np.arange(len(p)) * ((np.sqrt(5) - 1) / 2)) % 1.0  # even along any stretch of samples
    low, high = 0.0, 2 * np.pi
    if robot.spindle is None:
        low, high = np.clip(psi_range(robot), -2 * np.pi, 2 * np.pi)
    return np.concatenate([p, low + (high - low) * golden[:, None]], axis=1)


def _pairs(dof: int) -> Pairs:
    """(1, 2), (1, 3), (2, 3), and each arm with axis 4 where there is one."""
    return tuple((i, j) for j in range(2, dof + 1) for i in range(1, j))
