"""The spindle: length and direction of its telescope, and the shaft's spin through its joints.

The upper joint is at o = (0, 0, pivot_z), the lower one is the platform point p; v points from o to
p, downward. The first functions use arithmetic and `sqrt` alone, over components, so one source
runs on floats, NumPy and JAX arrays and CasADi symbols.

Why the shaft does not turn at psid: the drive turns the fork, whose pin a = (cos psi, sin psi, 0)
is horizontal. The cross turns about a, so its other pin b, which is fixed to the shaft, is normal
to both a and v: b = v x a / |v x a|. The shaft's spin is the rate of b about v.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import (
    Component,
    FloatArray,
    as_samples,
    columns,
    contract,
    matching_samples,
    restore,
)
from deltadyn.errors import InputError
from deltadyn.kinematics.limbs import cross, dot
from deltadyn.robot import Robot
from deltadyn.robot_bodies import Spindle

Vector = tuple[Component, Component, Component]


class Telescope(NamedTuple):
    """Length l (m) and direction v of the rod."""

    l: Component
    v: Vector


class SpinMap(NamedTuple):
    """spin = n_p . pd + n_psi psid."""

    n_p: Vector
    n_psi: Component


def telescope(xp: Any, pivot_z: Any, p: tuple[Component, ...]) -> Telescope:
    """l = |p - o| and v = (p - o) / l."""
    x, y, z = p[0], p[1], p[2] - pivot_z
    l = xp.sqrt(x * x + y * y + z * z)
    return Telescope(l, (x / l, y / l, z / l))


def telescope_rate(rod: Telescope, pd: tuple[Component, ...]) -> Telescope:
    """ld = v . pd and vd = (pd - ld v) / l."""
    ld = dot(rod.v, pd)
    x, y, z = ((pd[k] - ld * rod.v[k]) / rod.l for k in range(3))
    return Telescope(ld, (x, y, z))


def spin_map(rod: Telescope, c: Component, s: Component) -> SpinMap:
    """The shaft's spin about v = (v_z psid - e (v x a) . vd) / (1 - e^2), with e = a . v.

    c, s are cos and sin of psi. (v x a) is normal to v, so (v x a) . vd = (v x a) . pd / l.
    """
    v = rod.v
    e = c * v[0] + s * v[1]
    over = 1 / (1 - e * e)
    normal = cross(v, (c, s, 0.0))
    x, y, z = (-e * over / rod.l * normal[k] for k in range(3))
    return SpinMap((x, y, z), v[2] * over)


def spin_map_rate(
    rod: Telescope, rate: Telescope, c: Component, s: Component, psid: Component
) -> SpinMap:
    """Time rate of `spin_map`, with the fork turning at psid."""
    v, vd = rod.v, rate.v
    e = c * v[0] + s * v[1]
    ed = c * vd[0] + s * vd[1] + psid * (c * v[1] - s * v[0])
    over = 1 / (1 - e * e)
    growth = 2 * e * ed * over  # relative rate of `over`
    normal = cross(v, (c, s, 0.0))
    turned, moved = cross(v, (-s * psid, c * psid, 0.0)), cross(vd, (c, s, 0.0))
    along = -(ed + e * growth - e * rate.l / rod.l) * over / rod.l
    across = -e * over / rod.l
    x, y, z = (along * normal[k] + across * (turned[k] + moved[k]) for k in range(3))
    return SpinMap((x, y, z), (vd[2] + v[2] * growth) * over)


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
