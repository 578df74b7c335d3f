"""Singular poses of both kinds, and how far a pose is from them.

First kind (inverse): an arm cannot move the platform in some direction, because the strut lies in
the plane of the arm and its motor axis, or is normal to its rail. Second kind (forward): det S = 0,
so that the platform can move while the drives stand still and cannot hold it. With the unit strut
directions u_i that is

    three struts     det(u_1, u_2, u_3): they lie in one plane or are parallel to one
    in a plane       det(u_1, u_2): they are parallel
    two halves       (u_1 x u_2).((u_3 x u_4) x a): the planes of both pairs meet in a line normal
                     to a, the direction in which psi moves the halves apart

The column of psi in S is taken per m that the halves move apart, L/k times psi, so that all of S
has one unit and the lengths of the bars or the lead do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, Component, FloatArray, Unreachable, restore
from deltadyn.errors import InputError
from deltadyn.kinematics.actuation import levers
from deltadyn.kinematics.inverse import Elbows
from deltadyn.kinematics.limbs import Limb, Strut, limbs
from deltadyn.kinematics.platform import Articulated, Carrier, Helical
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import LimbGeometry, limb_geometry
from deltadyn.robot import Robot
from deltadyn.small import PairsInverse, PlaneInverse, Vector, cross, dot, times

SINGULAR = 1e-6  # rad: rounding of p moves the margin of a singular pose by about sqrt(1e-16)


@dataclass(frozen=True, eq=False)
class Singularity:
    """How far N poses are from singular ones; NaN rows where a pose cannot be taken.

    `arm_sine` is d_i / (l1 l2) = cos(gamma) sin(beta - theta), in [-1, 1]: the sine of the angle
    between strut i and the plane of arm i and its motor axis, positive with the elbow outward.
    `strut_angle` is the smallest turn of one strut that makes det S vanish, with three of them the
    smallest angle between one and the plane of the other two.
    `margin` is the smallest of all these angles, in rad: the least turn of a single strut that
    would make the pose singular. It is 0 at a singular pose and at most pi/2; `first_kind`,
    `second_kind` and `singular` mark angles that are not above the tolerance of the call. The
    condition number of J is no substitute: it stays small where all limbs stretch alike.
    """

    arm_sine: FloatArray  # (N, legs)
    arm_angle: FloatArray  # (N, legs), rad, not negative
    strut_determinant: FloatArray  # (N,), det S of the unit strut directions, in [-1, 1]
    strut_sigma: FloatArray  # (N,), the smallest singular value of that S, in [0, 1]
    strut_angle: FloatArray  # (N,), rad, not negative
    condition: FloatArray  # (N,), of J, psi as above; infinite where J is singular or not there
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
    determinant, strut = strut_sine(robot, geometry)
    strut_angle = np.arcsin(np.clip(np.abs(strut), 0.0, 1.0))
    margin = np.minimum(arm_angle.min(axis=1), strut_angle)
    first = np.asarray((arm_angle <= tolerance).any(axis=1))
    second = strut_angle <= tolerance
    return Singularity(
        arm_sine=restore(sine, single),
        arm_angle=restore(arm_angle, single),
        strut_determinant=restore(determinant, single),
        strut_sigma=restore(_singular_values(_unit_rows(robot, geometry))[:, -1], single),
        strut_angle=restore(strut_angle, single),
        condition=restore(_condition(robot, geometry, np.isnan(margin)), single),
        margin=restore(margin, single),
        first_kind=first[0] if single else first,
        second_kind=second[0] if single else second,
    )


def unit_struts(legs: Sequence[Limb], rods: Sequence[Strut]) -> tuple[Vector, ...]:
    """Unit directions u_i of the struts in the base frame, from their limbs' axes."""
    return tuple(
        times(limb.in_base(rod), 1 / limb.l2) for limb, rod in zip(legs, rods, strict=True)
    )


def strut_planes(
    carrier: Carrier, place: Any, units: Sequence[Vector]
) -> tuple[Component, tuple[Component, ...]]:
    """det S of unit struts, and |n_i|^2 where det S = u_i.n_i, one per strut.

    |det| / |n_i| is the sine of the angle by which strut i alone is off a singular pose: with three
    struts n_1 = u_2 x u_3 is normal to the other two.
    """
    inverse = carrier.inverse(place, units)
    if isinstance(inverse, PlaneInverse):
        normals: Sequence[Vector] = (units[1], units[0])
    elif isinstance(inverse, PairsInverse):
        (n12, n34), a = inverse.normals, inverse.along
        one, two = cross(n34, a), cross(a, n12)  # det = N12.one = N34.two
        normals = (
            cross(units[1], one),
            cross(one, units[0]),
            cross(units[3], two),
            cross(two, units[2]),
        )
    else:
        normals = inverse.normals
    return inverse.determinant, tuple(dot(n, n) for n in normals)


def psi_lever(robot: Robot) -> float:
    """How far the halves of a platform move apart per rad of psi (m): L/k, or the lead over 2 pi.

    1 where limbs do not carry psi.
    """
    own = limbs(robot).carrier
    match own:
        case Articulated():
            return float((own.sigma_1 - own.sigma_2) * own.rate)
        case Helical():
            return float(own.sigma_1 - own.sigma_2)
        case _:
            return 1.0


def _units(robot: Robot, geometry: LimbGeometry) -> list[Vector]:
    unit = geometry.s / np.asarray(robot.geometry.strut_length)[:, None]  # (N, legs, 3)
    return [tuple(unit[:, i, k] for k in range(3)) for i in range(robot.legs)]


def strut_sine(robot: Robot, geometry: LimbGeometry) -> tuple[FloatArray, FloatArray]:
    """det S (N,) of unit struts, and the sine (N,) of the smallest turn of one of them that makes
    it vanish, with the sign of det S.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        units = _units(robot, geometry)
        determinant, squares = strut_planes(geometry.carrier, geometry.place, units)
    widest = np.sqrt(np.max(squares, axis=0))
    return determinant, determinant / np.where(widest > 0, widest, 1.0)  # all parallel: 0


def _unit_rows(robot: Robot, geometry: LimbGeometry) -> FloatArray:
    """S (N, n, n) of unit struts, psi by the way that the halves move apart."""
    own, place = geometry.carrier, geometry.place
    rows = [own.pull(place, i, unit) for i, unit in enumerate(_units(robot, geometry))]
    S = np.stack([np.stack(np.broadcast_arrays(*row), axis=-1) for row in rows], axis=1)
    S[:, :, 3:] /= psi_lever(robot)
    return S


def _singular_values(matrix: FloatArray) -> FloatArray:
    """Singular values (N, n), NaN where the matrix is not finite."""
    out = np.full(matrix.shape[:2], np.nan)
    good = np.isfinite(matrix).all(axis=(1, 2))
    out[good] = np.linalg.svd(matrix[good], compute_uv=False)
    return out


def _condition(robot: Robot, geometry: LimbGeometry, missing: BoolArray) -> FloatArray:
    """Condition number of J (N,): infinite where J does not exist, NaN where the pose does not."""
    J = geometry.jacobian.copy()
    J[:, 3:] *= psi_lever(robot)
    values = _singular_values(J)
    with np.errstate(divide="ignore", invalid="ignore"):
        condition = values[:, 0] / values[:, -1]
    condition[np.isnan(condition)] = np.inf
    condition[missing] = np.nan
    return condition
