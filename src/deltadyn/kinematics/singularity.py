"""Singular poses of both kinds, and how far a pose is from them.

First kind (inverse): an arm cannot move the platform in some direction, because the strut lies in
the plane of the arm and its motor axis. Second kind (forward): the struts lie in one plane or are
parallel, so that the platform can move while the arms stand still and the drives cannot hold it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, Component, FloatArray, Unreachable, restore
from deltadyn.errors import InputError
from deltadyn.kinematics.actuation import levers
from deltadyn.kinematics.inverse import Elbows
from deltadyn.kinematics.limbs import Limb, Strut
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import LimbGeometry, limb_geometry
from deltadyn.robot import Robot
from deltadyn.small import dot, normals_of_rows, times

SINGULAR = 1e-6  # rad: rounding of p moves the margin of a singular pose by about sqrt(1e-16)


@dataclass(frozen=True, eq=False)
class Singularity:
    """How far N poses are from singular ones; NaN rows where a pose cannot be taken.

    `arm_sine` is d_i / (l1 l2) = cos(gamma) sin(beta - theta), in [-1, 1]: the sine of the angle
    between strut i and the plane of arm i and its motor axis, positive with the elbow outward.
    `strut_angle` is the smallest angle between one strut and the plane of the other two.
    `margin` is the smallest of all these angles, in rad: the least turn of a single strut that
    would make the pose singular. It is 0 at a singular pose and at most pi/2; `first_kind`,
    `second_kind` and `singular` mark angles that are not above the tolerance of the call. The
    condition number of J is no substitute: it stays small where all limbs stretch alike.
    """

    arm_sine: FloatArray  # (N, 3)
    arm_angle: FloatArray  # (N, 3), rad, not negative
    strut_determinant: FloatArray  # (N,), of the unit strut directions, in [-1, 1]
    strut_sigma: FloatArray  # (N,), their smallest singular value, in [0, 1]
    strut_angle: FloatArray  # (N,), rad, not negative
    condition: FloatArray  # (N,), of J; infinite where J is singular or does not exist
    margin: FloatArray  # (N,), rad
    first_kind: BoolArray  # (N,)
    second_kind: BoolArray  # (N,)

    @property
    def singular(self) -> BoolArray:
        """Poses of either kind (N,)."""
        return self.first_kind | self.second_kind

    @property
    def status(self) -> npt.NDArray[np.str_]:
        """ "regular", "first kind", "second kind", "both kinds" or "unreachable" of each pose."""
        conditions = [
            np.isnan(self.margin),
            self.first_kind & self.second_kind,
            self.first_kind,
            self.second_kind,
        ]
        words = ["unreachable", "both kinds", "first kind", "second kind"]
        return np.select(conditions, words, "regular")


def singularity(
    robot: Robot,
    p: npt.ArrayLike | State,
    *,
    elbows: Elbows = "out",
    unreachable: Unreachable = "raise",
    tolerance: float = SINGULAR,
) -> Singularity:
    """How far platform positions p (N, dof), or a state's, are from singularities of both kinds.

    A singular pose never raises. A pose counts as singular of a kind where the angle of that kind
    is at most `tolerance` (rad).
    """
    if not tolerance >= 0:
        raise InputError("tolerance", tolerance, "at least 0 rad")
    geometry, _, single = limb_geometry(robot, p, elbows, unreachable)
    g = robot.geometry
    sine = geometry.d / (np.asarray(levers(robot)) * np.asarray(g.strut_length))
    arm_angle = np.arcsin(np.clip(np.abs(sine), 0.0, 1.0))  # rounding can pass 1 by 1e-16
    unit = geometry.s / np.asarray(g.strut_length)[:, None]  # (N, 3, 3)
    determinant, strut_angle = _strut_angle(unit)
    margin = np.minimum(arm_angle.min(axis=1), strut_angle)
    first = np.asarray((arm_angle <= tolerance).any(axis=1))
    second = strut_angle <= tolerance
    return Singularity(
        arm_sine=restore(sine, single),
        arm_angle=restore(arm_angle, single),
        strut_determinant=restore(determinant, single),
        strut_sigma=restore(_singular_values(unit)[:, 2], single),
        strut_angle=restore(strut_angle, single),
        condition=restore(_condition(geometry, np.isnan(margin)), single),
        margin=restore(margin, single),
        first_kind=first[0] if single else first,
        second_kind=second[0] if single else second,
    )


def unit_struts(
    three: Sequence[Limb], rods: tuple[Strut, Strut, Strut]
) -> tuple[tuple[Component, ...], ...]:
    """Unit directions u_i of the struts in the base frame, from their limbs' axes."""
    return tuple(
        times(limb.in_base(rod), 1 / limb.l2) for limb, rod in zip(three, rods, strict=True)
    )


def strut_planes(
    units: tuple[tuple[Component, ...], ...],
) -> tuple[Component, tuple[Component, Component, Component]]:
    """det(u_1, u_2, u_3) and |u_2 x u_3|^2, |u_3 x u_1|^2, |u_1 x u_2|^2.

    |det| / |u_j x u_k| is the sine of the angle between strut i and the plane of the other two.
    """
    (n1, n2, n3), determinant = normals_of_rows(units)
    return determinant, (dot(n1, n1), dot(n2, n2), dot(n3, n3))


def _strut_angle(unit: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Determinant (N,) and smallest angle (N,) of a strut to the plane of the other two."""
    units = tuple(tuple(unit[:, i, k] for k in range(3)) for i in range(3))
    determinant, squares = strut_planes(units)
    widest = np.sqrt(np.max(squares, axis=0))
    sine = np.abs(determinant) / np.where(widest > 0, widest, 1.0)  # all parallel: 0
    return determinant, np.arcsin(np.clip(sine, 0.0, 1.0))


def _singular_values(matrix: FloatArray) -> FloatArray:
    """Singular values (N, 3), NaN where the matrix is not finite."""
    out = np.full(matrix.shape[:2], np.nan)
    good = np.isfinite(matrix).all(axis=(1, 2))
    out[good] = np.linalg.svd(matrix[good], compute_uv=False)
    return out


def _condition(geometry: LimbGeometry, missing: BoolArray) -> FloatArray:
    """Condition number of J (N,): infinite where J does not exist, NaN where the pose does not."""
    values = _singular_values(geometry.jacobian)
    with np.errstate(divide="ignore", invalid="ignore"):
        condition = values[:, 0] / values[:, 2]
    condition[np.isnan(condition)] = np.inf
    condition[missing] = np.nan
    return condition
