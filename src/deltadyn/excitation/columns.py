"""The exact model's base regressor over components, real or complex, all samples at once.

The columns are those of `dynamics.columns`, through which a complex step passes: Im f(x + i h) / h
is the derivative to rounding. The pose is this module's own, because its root is continued beyond
the reach. Every array ends in (D, N): D directions of the step, or D motions, and N samples; the
limbs come first where there is one for each. The arrays may be those of JAX.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, namespace
from deltadyn.dynamics.columns import has_sine, inertial_columns, inertial_values, is_zero
from deltadyn.dynamics.friction import (
    MOTOR_LOAD,
    along,
    direction,
    drive_terms,
    friction_names,
    sliding,
)
from deltadyn.dynamics.motor import motor_torque
from deltadyn.dynamics.parameters import ExactParameters, exact_parameters
from deltadyn.dynamics.passive import joint_columns, pose_with_rods
from deltadyn.kinematics.limbs import Limb, acceleration_of, limbs
from deltadyn.kinematics.platform import POINT
from deltadyn.kinematics.singularity import strut_planes
from deltadyn.kinematics.struts import arm_axes
from deltadyn.robot import Robot
from deltadyn.robot.settings import PassiveFriction
from deltadyn.small import normals_of_rows
from deltadyn.tracing import put

#: Real or complex components.
Field = npt.NDArray[Any]
Vector = tuple[Field, Field, Field]

_SOFT = 1e-3  # share of l2^2 below which the root of the inverse kinematics is continued


@dataclass(frozen=True)
class _SoftRoot:
    """A namespace whose `sqrt` goes on below `floor`, so that a search can step out of reach.

    sqrt(x) for x >= floor, sqrt(floor^2 / (2 floor - x)) below: positive, with a continuous slope.
    """

    floor: float
    xp: Any = np

    def sqrt(self, x: Field) -> Field:
        xp = self.xp
        below = xp.real(x) < self.floor
        if xp is not np or below.any():
            x = xp.where(below, self.floor**2 / (2 * self.floor - x), x)
        root: Field = xp.sqrt(x)
        return root


@dataclass(frozen=True)
class Pose:
    """Platform and limbs of D x N samples; limbs first: (legs, D, N)."""

    p: Field  # (dof, D, N)
    pd: Field
    pdd: Field
    cos_q: Field
    sin_q: Field
    qd: Field  # (dof, D, N)
    qdd: Field
    d: Field
    rod: Vector  # strut vectors s_i in base axes, each component (legs, D, N)
    sideways: Field  # their parts along the joints' pins
    breadth: Field  # |n_i| with det S = s_i.n_i: of three limbs n_1 = s_2 x s_3
    determinant: Field  # (D, N), of the strut vectors
    J: tuple[Field, ...]  # J[k][i] = d p_k / d q_i


def limb_arrays(robot: Robot) -> Limb:
    """The constants of the limbs as arrays (legs, 1, 1), so that one call serves all."""
    own: Any = limbs(robot)
    columns = zip(*own, strict=True)
    limb: Limb = type(own[0])(*(np.array(values)[:, None, None] for values in columns))
    return limb


def pose_of(robot: Robot, x: Field) -> Pose:
    """Inverse kinematics of x (3 dof, D, N): p, pd and pdd on top of each other, elbows out."""
    dof = robot.dof
    p, pd, pdd = x[:dof], x[dof : 2 * dof], x[2 * dof :]
    limb, xp = limb_arrays(robot), namespace(x)
    soft = _SoftRoot(_SOFT * min(robot.geometry.strut_length) ** 2, xp)
    carrier, legs = limbs(robot).carrier, robot.legs
    place = carrier.place(xp, tuple(p))
    point, speed, push = _attachments(xp, robot, place, tuple(p), tuple(pd), tuple(pdd))
    c, s = limb.position(soft, point)
    rod = limb.strut(c, s, point)
    arms = limb.rates(c, s, point, speed, push)
    qd, qdd = (xp.concatenate([a, b[legs:]]) for a, b in zip(arms, (pd, pdd), strict=True))
    base = limb.in_base(rod)
    rods = [tuple(part[i] for part in base) for i in range(legs)]
    J: tuple[Field, ...]
    if carrier is POINT:
        normals, determinant = normals_of_rows(rods)
        normal = tuple(xp.stack([own[k] for own in normals]) for k in range(3))
        breadth = xp.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2)
        scale = rod.d / determinant
        J = (normal[0] * scale, normal[1] * scale, normal[2] * scale)
    else:
        determinant, squares = strut_planes(carrier, place, rods)
        breadth = xp.sqrt(xp.stack(squares))
        inverse = carrier.inverse(place, rods)
        columns = [inverse.column(i, rod.d[i]) for i in range(legs)]
        J = tuple(xp.stack([column[k] for column in columns]) for k in range(legs))
    _, pins = arm_axes(robot)
    sideways = sum(base[k] * pins[:, k, None, None] for k in range(3))
    return Pose(p, pd, pdd, c, s, qd, qdd, rod.d, base, sideways, breadth, determinant, J)


def _attachments(
    xp: Any, robot: Robot, place: Any, p: Any, pd: Any, pdd: Any
) -> tuple[Vector, Vector, Vector]:
    """a, ad, add of the struts, each component (legs, D, N); of a point those of the platform."""
    carrier = limbs(robot).carrier
    if carrier is POINT:
        return p, pd, pdd
    moving = [
        (
            carrier.attachment(place, i, p),
            carrier.velocity(place, i, pd),
            acceleration_of(carrier, place, i, pd, pdd),
        )
        for i in range(robot.legs)
    ]
    zero = 0.0 * p[0]  # what does not move is a plain 0.0
    a, ad, add = (
        tuple(xp.stack([own[order][k] + zero for own in moving]) for k in range(3))
        for order in range(3)
    )
    return a, ad, add


def joint_angles(robot: Robot, pose: Pose) -> Field:
    """q (dof, D, N) in rad; arctan2 with its complex step, d theta = c ds - s dc. In m on rails."""
    c, s, xp = pose.cos_q, pose.sin_q, namespace(pose.cos_q)
    if robot.linear:
        places: Field = xp.concatenate([c, pose.p[robot.legs :]])
        return places
    theta = xp.arctan2(xp.real(s), xp.real(c))
    if xp.iscomplexobj(c):
        size = np.real(c) ** 2 + np.real(s) ** 2
        turn = (np.real(c) * np.imag(s) - np.real(s) * np.imag(c)) / size
        theta = theta + 1j * turn
    q: Field = xp.concatenate([theta, pose.p[robot.legs :]])
    return q


def exact_regressor(robot: Robot, pose: Pose, *, tied: bool, friction: bool = True) -> Field:
    """Y (n, dof, D, N) with the columns of `dynamics.regressor(model="exact")` in their order."""
    par, xp = exact_parameters(robot), namespace(pose.p)
    J = [tuple(part[i] for part in pose.J) for i in range(robot.legs)]
    motion = (pose.cos_q, pose.sin_q, pose.qd, pose.qdd, pose.p, pose.pd, pose.pdd)
    columns = inertial_columns(
        xp, par, J, *(tuple(part) for part in motion), tied=tied, sine=has_sine(par)
    )
    Y: Field = xp.stack([_whole(xp, column, pose.qd) for column in columns])
    if not friction:
        return _reported(robot, Y)
    both: Field = xp.concatenate([Y, _friction_columns(robot, pose, Y, exact_values(par, tied))])
    return _reported(robot, both)


def _reported(robot: Robot, Y: Field) -> Field:
    """Y (n, dof, D, N) in the scale of the drives."""
    if robot.plain_drives:
        return Y
    scaled: Field = Y * np.asarray(robot.sensors.torque_ratio)[:, None, None]
    return scaled


def _whole(xp: Any, column: list[Any], like: Field) -> Field:
    """A column (dof, D, N), zeros among its components."""
    zero = xp.zeros_like(like[0])  # constants, such as weights on vertical rails, are spread too
    whole: Field = xp.stack([zero if is_zero(part) else part + zero for part in column])
    return whole


def exact_values(par: ExactParameters, tied: bool) -> FloatArray:
    """The inertial base parameters of the robot in the order of the columns."""
    return inertial_values(par, tied, has_sine(par))[2]


def _friction_columns(robot: Robot, pose: Pose, inertial: Field, values: FloatArray) -> Field:
    """Drive friction and ripple per axis, then passive joints: `dynamics.friction_columns`."""
    friction, qd, xp, dof = robot.friction, pose.qd, namespace(pose.qd), robot.dof
    passive = [_passive_columns(robot, pose, item) for item in friction.passive]
    load = None
    if friction.load is not None:
        load = xp.tensordot(values, inertial, axes=1)
        for item, columns in zip(friction.passive, passive, strict=True):
            load = load + item.viscous * columns[0] + item.coulomb * columns[1]
        load = load - np.array(robot.drives.output_inertia)[:, None, None] * pose.qdd
    slide = sliding(xp, friction, qd, load, axis=0)
    like = xp.ones_like(qd)
    known = drive_terms(friction)
    zero = 0.0 * like
    terms = [zero if term is MOTOR_LOAD else term.column(xp, slide) * like for term in known]
    if robot.drives.ripple:
        angles = joint_angles(robot, pose)
        for wave in robot.drives.ripple:
            terms += [turn(wave.order * angles) for turn in (xp.cos, xp.sin)]
    if friction.motor_load is not None:
        needed = xp.tensordot(values, inertial, axes=1)
        amounts = friction_names(robot)[2]
        for j, term in enumerate(terms):
            needed = needed + amounts[j * dof : (j + 1) * dof][:, None, None] * term
        for item, columns in zip(friction.passive, passive, strict=True):
            needed = needed + item.viscous * columns[0] + item.coulomb * columns[1]
        tau = motor_torque(xp, needed, along(friction.motor_load, qd, 0), slide.direction)
        terms[known.index(MOTOR_LOAD)] = MOTOR_LOAD.column(xp, slide._replace(motor=tau))
    Y = xp.zeros((len(terms), dof, *qd.shape), dtype=qd.dtype)
    for axis in range(dof):
        for j, term in enumerate(terms):
            Y = put(Y, (j, axis, axis), term[axis])
    whole: Field = xp.concatenate([Y.reshape(-1, *qd.shape), *passive])
    return whole


def _passive_columns(robot: Robot, pose: Pose, item: PassiveFriction) -> Field:
    """B^T B qd and B^T sign(B qd) of a passive joint, as (2, dof, D, N)."""
    smoothing, xp = robot.friction.smoothing, namespace(pose.p)
    motion = (pose.cos_q, pose.sin_q, pose.p, pose.pd, pose.qd)
    known = pose_with_rods(robot, *(tuple(part) for part in motion))
    columns = joint_columns(xp, item.joint, known, lambda rate: direction(rate, smoothing))
    found: Field = xp.stack([xp.stack(column) for column in columns])
    return found
