"""The spindle: length and direction of its telescope, and the shaft's spin through its joints.

The upper joint is at o = (0, 0, pivot_z), the lower one is the platform point p; v points from o to
p, downward. The closed forms over components are those of `platform`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import (
    FloatArray,
    as_samples,
    columns,
    contract,
    matching_samples,
    restore,
)
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.kinematics.platform import spin_map, spin_map_rate, telescope, telescope_rate
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Spindle


@dataclass(frozen=True, eq=False)
class SpindleGeometry:
    """What the spindle of N samples looks like and how it changes, for the dynamics.

    B = dv/dp = (1 - v v^T) / l, R has the columns b, v x b, v (the shaft's axes), and
    spin = n_p . pd + n_psi psid (rad/s about the downward v). Names in `d` or `_rate` are time
    rates. Rows are not finite where p is the pivot or the rod lies along the fork's pin.
    """

    l: FloatArray  # (N,)
    v: FloatArray  # (N, 3)
    ld: FloatArray  # (N,)
    vd: FloatArray  # (N, 3)
    B: FloatArray  # (N, 3, 3)
    Bd: FloatArray  # (N, 3, 3)
    n_p: FloatArray  # (N, 3)
    n_psi: FloatArray  # (N,)
    n_p_rate: FloatArray  # (N, 3)
    n_psi_rate: FloatArray  # (N,)
    spin: FloatArray  # (N,)
    a: FloatArray  # (N, 3)
    b: FloatArray  # (N, 3)
    R: FloatArray  # (N, 3, 3)

    @classmethod
    def of(cls, robot: Robot, p: FloatArray, pd: FloatArray) -> SpindleGeometry:
        """The spindle at platform positions and rates p, pd (N, 4)."""
        pivot_z = spindle_of(robot).pivot_z
        point, speed = columns(p), columns(pd)
        c, s, psid = np.cos(point[3]), np.sin(point[3]), speed[3]
        with np.errstate(divide="ignore", invalid="ignore"):
            rod = telescope(np, pivot_z, point)
            rate = telescope_rate(rod, speed)
            n, nd = spin_map(rod, c, s), spin_map_rate(rod, rate, c, s, psid)
            l, v, vd = rod.l, np.stack(rod.v, axis=-1), np.stack(rate.v, axis=-1)
            B = (np.eye(3) - v[:, :, None] * v[:, None, :]) / l[:, None, None]
            turn = v[:, :, None] * vd[:, None, :]
            Bd = -(turn + turn.transpose(0, 2, 1) + rate.l[:, None, None] * B) / l[:, None, None]
            a = np.stack([c, s, np.zeros_like(c)], axis=-1)
            b = np.cross(v, a)
            b /= np.linalg.norm(b, axis=1, keepdims=True)
            n_p, n_psi = np.stack(n.n_p, axis=-1), n.n_psi
            spin = contract("nk,nk->n", n_p, pd[:, :3]) + n_psi * psid
            R = np.stack([b, np.cross(v, b), v], axis=-1)
        rates = (np.stack(nd.n_p, axis=-1), nd.n_psi)
        return cls(l, v, rate.l, vd, B, Bd, n_p, n_psi, *rates, spin, a, b, R)

    @property
    def omega(self) -> FloatArray:
        """The shaft's angular velocity v x vd + spin v (N, 3), in rad/s."""
        return np.cross(self.v, self.vd) + self.spin[:, None] * self.v


@dataclass(frozen=True, eq=False)
class SpindleMotion:
    """The spindle of a robot in motion, in a user's words.

    `spin_ratio` is d spin / d psid = v_z / (1 - e^2): between cos(tilt) and 1 / cos(tilt) in size
    and negative, because a positive psid about the upward z is a negative turn about the downward
    v. `stroke_margin` is what the telescope can still shorten or lengthen, the smaller of the two:
    negative outside the stroke and infinite where the robot's rods have no lengths.
    """

    length: FloatArray  # (N,), m
    length_rate: FloatArray  # (N,), m/s
    direction: FloatArray  # (N, 3), v
    direction_rate: FloatArray  # (N, 3), 1/s
    tilt: FloatArray  # (N,), rad between v and straight down
    spin: FloatArray  # (N,), rad/s about v
    spin_ratio: FloatArray  # (N,)
    rotation: FloatArray  # (N, 3, 3), columns b, v x b, v
    stroke_margin: FloatArray  # (N,), m


def spindle_motion(
    robot: Robot, p: npt.ArrayLike, pd: npt.ArrayLike | None = None
) -> SpindleMotion:
    """Length, direction, spin and stroke of the spindle at p (N, 4), at rest without pd."""
    points, single = as_samples(p, spindle_width(robot), "p")
    count = points.shape[0]
    speed = np.zeros_like(points) if pd is None else matching_samples(pd, count, 4, "pd")
    rod = SpindleGeometry.of(robot, points, speed)
    tilt = np.arctan2(np.hypot(rod.v[:, 0], rod.v[:, 1]), -rod.v[:, 2])
    margin = stroke_margin(robot, rod.l)
    fields = (rod.l, rod.ld, rod.v, rod.vd, tilt, rod.spin, rod.n_psi, rod.R, margin)
    return SpindleMotion(*(restore(field, single) for field in fields))


def stroke_margin(robot: Robot, l: FloatArray) -> FloatArray:
    """min(l - shortest, longest - l) of the telescope (m); infinite where it is not known."""
    stroke = spindle_of(robot).stroke
    if stroke is None:
        return np.full_like(l, np.inf)
    return np.minimum(l - stroke[0], stroke[1] - l)


def spindle_of(robot: Robot) -> Spindle:
    """The robot's spindle; refuses a robot that has none."""
    if robot.spindle is None:
        raise InputError("robot", robot.name, "a robot with a spindle")
    return robot.spindle


def spindle_width(robot: Robot) -> int:
    """Coordinates of p on a robot with a spindle; refuses a robot that has none."""
    spindle_of(robot)
    return robot.dof


# The telescope in the two coordinate systems of [telescopic2022], their Jacobians, singularities.
#
# With x, y, z counted from the upper joint and the platform below it (z < 0):
#
#     "polar"      l, theta between rod and -z, phi azimuth:
#                  x = l sin(theta) cos(phi), y = l sin(theta) sin(phi), z = -l cos(theta)
#     "projected"  l, theta and phi between -z and the rod's projections on XZ and YZ:
#                  z = -l / sqrt(1 + tan(theta)^2 + tan(phi)^2), x = -z tan(theta), y = -z tan(phi)
#
# These are [telescopic2022] eqs. 3-5 and 15-16 with the signs corrected: as printed, eq. 3 has the
# platform above the pivot, eq. 5 gives x and y the wrong sign and lacks the root, and the last
# column of J_t1 lacks the minus of -l sin(theta) sin(phi).


System = Literal["polar", "projected"]
SYSTEMS: tuple[System, ...] = get_args(System)


def spindle_coordinates(robot: Robot, p: npt.ArrayLike, system: System = "projected") -> FloatArray:
    """(l, theta, phi) (N, 3) of p (N, 4) in m and rad: [telescopic2022] eqs. 15-16.

    On the axis the polar azimuth does not exist and is given as 0; the projected angles exist
    below the upper joint only.
    """
    _check(system)
    points, single = as_samples(p, spindle_width(robot), "p")
    x, y, z = points[:, 0], points[:, 1], points[:, 2] - spindle_of(robot).pivot_z
    across = np.hypot(x, y)
    if system == "polar":
        theta, phi = np.arctan2(across, -z), np.arctan2(y, x)
    else:
        _check_below(points[:, 2], spindle_of(robot).pivot_z)
        theta, phi = np.arctan2(x, -z), np.arctan2(y, -z)
    return restore(np.stack([np.hypot(across, z), theta, phi], axis=-1), single)


def spindle_point(
    robot: Robot, coordinates: npt.ArrayLike, system: System = "projected"
) -> FloatArray:
    """The platform point (x, y, z) (N, 3) of (l, theta, phi): [telescopic2022] eqs. 3 and 5."""
    values, single = _checked(coordinates, system)
    l, theta, phi = values.T
    if system == "polar":
        across, depth = l * np.sin(theta), l * np.cos(theta)
        x, y = across * np.cos(phi), across * np.sin(phi)
    else:
        depth = l / np.sqrt(1 + np.tan(theta) ** 2 + np.tan(phi) ** 2)
        x, y = depth * np.tan(theta), depth * np.tan(phi)
    return restore(np.stack([x, y, spindle_of(robot).pivot_z - depth], axis=-1), single)


def spindle_jacobian(coordinates: npt.ArrayLike, system: System = "projected") -> FloatArray:
    """J_t (N, 3, 3) with (xd, yd, zd) = J_t (ld, thetad, phid): [telescopic2022] eqs. 20-21.

    det J_t1 = -l^2 sin(theta) vanishes on the axis; det J_t2 = -l^2 sec(theta)^2 sec(phi)^2 /
    (1 + tan(theta)^2 + tan(phi)^2)^(3/2) vanishes nowhere below the pivot.
    """
    values, single = _checked(coordinates, system)
    l, theta, phi = values.T
    matrix = _polar_jacobian(l, theta, phi) if system == "polar" else _projected(l, theta, phi)
    return restore(matrix, single)


def spindle_determinant(coordinates: npt.ArrayLike, system: System = "projected") -> FloatArray:
    """det J_t (N,) in closed form (m^2): [telescopic2022] eq. 22."""
    values, single = _checked(coordinates, system)
    l, theta, phi = values.T
    if system == "polar":
        return restore(-(l**2) * np.sin(theta), single)
    a, b = np.tan(theta) ** 2, np.tan(phi) ** 2
    return restore(-(l**2) * (1 + a) * (1 + b) / (1 + a + b) ** 1.5, single)


@dataclass(frozen=True, eq=False)
class SpindleSingularity:
    """How well each coordinate system describes the telescope along a path of N samples.

    A condition number is that of J_t with its angle columns divided by l, so it has no unit; for
    the polar system it is 1 / sin(theta) up to theta = pi/2. A step is the largest change of an
    angle, the shorter way round, between neighbouring samples: on a path through the axis the polar
    azimuth turns by pi at once, which is [telescopic2022] figure 6.
    """

    polar: FloatArray  # (N, 3)
    projected: FloatArray  # (N, 3)
    polar_determinant: FloatArray  # (N,), m^2
    projected_determinant: FloatArray
    polar_condition: FloatArray  # (N,), infinite on the axis
    projected_condition: FloatArray
    polar_step: float  # rad
    projected_step: float

    @property
    def status(self) -> str:
        """What the path means for the two systems."""
        worst = float(np.max(self.polar_condition, initial=1.0))
        best = float(np.max(self.projected_condition, initial=1.0))
        state = "singular" if np.isinf(worst) else f"conditioned by at most {worst:.3g}"
        return (
            f"the polar system is {state} and its angles jump by up to {self.polar_step:.3g} rad; "
            f"the projected system is conditioned by at most {best:.3g} and its angles step by up "
            f"to {self.projected_step:.3g} rad"
        )


def spindle_singularity(robot: Robot, p: npt.ArrayLike) -> SpindleSingularity:
    """Both coordinate systems along a path p (N, 4): [telescopic2022] section 2.4 and figure 6."""
    points, _ = as_samples(p, spindle_width(robot), "p")
    polar = spindle_coordinates(robot, points, "polar")
    projected = spindle_coordinates(robot, points, "projected")
    return SpindleSingularity(
        polar,
        projected,
        spindle_determinant(polar, "polar"),
        spindle_determinant(projected, "projected"),
        _condition(polar, "polar"),
        _condition(projected, "projected"),
        _largest_step(polar),
        _largest_step(projected),
    )


def _check(system: str) -> None:
    if system not in SYSTEMS:
        raise UnknownNameError("system", system, SYSTEMS)


def _check_below(z: FloatArray, pivot_z: float) -> None:
    above = np.flatnonzero(z >= pivot_z)
    if above.size:
        where, allowed = f"row {above[0]}, axis 2", f"below the upper joint, z < {pivot_z:g} m"
        raise InputError("p", float(z[above[0]]), allowed, where=where)


def _checked(coordinates: npt.ArrayLike, system: System) -> tuple[FloatArray, bool]:
    """(l, theta, phi) as (N, 3); projected angles reach a right angle nowhere below the joint."""
    _check(system)
    values, single = as_samples(coordinates, 3, "coordinates")
    wide = np.argwhere(np.abs(values[:, 1:]) >= np.pi / 2)
    if system == "projected" and len(wide):
        row, axis = int(wide[0, 0]), int(wide[0, 1]) + 1
        where, allowed = f"row {row}, axis {axis}", "projected angles between -pi/2 and pi/2"
        raise InputError("coordinates", float(values[row, axis]), allowed, where=where)
    return values, single


def _polar_jacobian(l: FloatArray, theta: FloatArray, phi: FloatArray) -> FloatArray:
    ct, st, cp, sp = np.cos(theta), np.sin(theta), np.cos(phi), np.sin(phi)
    by_l = np.stack([st * cp, st * sp, -ct], axis=-1)
    by_theta = np.stack([l * ct * cp, l * ct * sp, l * st], axis=-1)
    by_phi = np.stack([-l * st * sp, l * st * cp, np.zeros_like(l)], axis=-1)
    return np.stack([by_l, by_theta, by_phi], axis=-1)


def _projected(l: FloatArray, theta: FloatArray, phi: FloatArray) -> FloatArray:
    """Columns of (w tan(theta), w tan(phi), -w) with w = l T^(-1/2), T = 1 + tan^2 + tan^2."""
    a, b = np.tan(theta), np.tan(phi)
    T = 1 + a**2 + b**2
    w = l / np.sqrt(T)
    row = np.stack([a, b, -np.ones_like(a)], axis=-1)
    by_l = row / np.sqrt(T)[:, None]
    by_theta = row * (-w * a * (1 + a**2) / T)[:, None]
    by_phi = row * (-w * b * (1 + b**2) / T)[:, None]
    by_theta[:, 0] += w * (1 + a**2)
    by_phi[:, 1] += w * (1 + b**2)
    return np.stack([by_l, by_theta, by_phi], axis=-1)


def _condition(coordinates: FloatArray, system: System) -> FloatArray:
    unit = coordinates.copy()
    unit[:, 0] = 1.0  # J_t is linear in l but for its first column, which has no l
    values = np.linalg.svd(spindle_jacobian(unit, system), compute_uv=False)
    with np.errstate(divide="ignore"):
        condition: FloatArray = values[:, 0] / values[:, 2]
    return condition


def _largest_step(coordinates: FloatArray) -> float:
    change = np.diff(coordinates[:, 1:], axis=0)
    change = np.abs(np.remainder(change + np.pi, 2 * np.pi) - np.pi)
    return float(change.max(initial=0.0))
