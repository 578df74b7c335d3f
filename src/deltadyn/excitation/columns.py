"""The exact model's base regressor over components, real or complex, all samples at once.

The same columns as `dynamics.regressor`, in the same order, written with arithmetic alone so that a
complex step passes through: Im f(x + i h) / h is the derivative to rounding. Every array ends in
(D, N): D directions of the step, or D motions, and N samples; the three limbs come first where
there are three. The arrays may be those of JAX.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, namespace
from deltadyn.dynamics.columns import SPINDLE_NAMES
from deltadyn.dynamics.exact import spindle_forces, telescope_acceleration
from deltadyn.dynamics.parameters import ExactParameters, SpindleParameters, exact_parameters
from deltadyn.kinematics.limbs import Limb, arm_direction, cross, dot, joint_rates, limbs, strut
from deltadyn.kinematics.spindle import Telescope, spin_map, telescope, telescope_rate
from deltadyn.robot import Robot
from deltadyn.robot.settings import PassiveFriction
from deltadyn.tracing import put

#: Real or complex components.
Field = npt.NDArray[Any]
Vector = tuple[Field, Field, Field]

_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])  # the limbs after and before each limb
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
    """Platform and limbs of D x N samples; limbs first: (3, D, N)."""

    p: Field  # (dof, D, N)
    pd: Field
    pdd: Field
    cos_q: Field
    sin_q: Field
    qd: Field  # (dof, D, N)
    qdd: Field
    d: Field
    rod: Vector  # strut vectors s_i in base axes, each component (3, D, N)
    local: Vector  # the same in the limbs' axes: radial, tangential, z
    normal: Vector  # s_j x s_k of the other two limbs
    determinant: Field  # (D, N), of the strut vectors
    J: Vector  # J[k][i] = d p_k / d q_i

    def to_joints(self, force: tuple[Field, ...], psi: Field | float = 0.0) -> Field:
        """J^T force, with a torque about psi, as (dof, D, N)."""
        arms: Field = self.J[0] * force[0] + self.J[1] * force[1] + self.J[2] * force[2]
        if self.p.shape[0] == 3:
            return arms
        out = namespace(arms).empty((4, *arms.shape[1:]), dtype=arms.dtype)
        both: Field = put(put(out, slice(3), arms), 3, psi)
        return both


def limb_arrays(robot: Robot) -> Limb:
    """The constants of the three limbs as arrays (3, 1, 1), so that one call serves all."""
    fields = zip(*limbs(robot), strict=True)
    return Limb(*(np.array(values)[:, None, None] for values in fields))


def pose_of(robot: Robot, x: Field) -> Pose:
    """Inverse kinematics of x (3 dof, D, N): p, pd and pdd on top of each other, elbows out."""
    dof = robot.dof
    p, pd, pdd = x[:dof], x[dof : 2 * dof], x[2 * dof :]
    limb, xp = limb_arrays(robot), namespace(x)
    soft = _SoftRoot(_SOFT * min(robot.geometry.strut_length) ** 2, xp)
    point, speed, push = tuple(p), tuple(pd), tuple(pdd)
    c, s = arm_direction(soft, limb, point)
    rod = strut(limb, c, s, point)
    arms = joint_rates(limb, c, s, point, speed, push)
    qd, qdd = (xp.concatenate([a, b[3:]]) for a, b in zip(arms, (pd, pdd), strict=True))
    base = (
        rod.radial * limb.ca - rod.tangential * limb.sa,
        rod.radial * limb.sa + rod.tangential * limb.ca,
        rod.z,
    )
    ahead, behind = ([part[order] for part in base] for order in (_NEXT, _LAST))
    normal = cross(tuple(ahead), tuple(behind))
    determinant = base[0][0] * normal[0][0] + base[1][0] * normal[1][0] + base[2][0] * normal[2][0]
    scale = rod.d / determinant
    J = (normal[0] * scale, normal[1] * scale, normal[2] * scale)
    local = (rod.radial, rod.tangential, rod.z)
    return Pose(p, pd, pdd, c, s, qd, qdd, rod.d, base, local, normal, determinant, J)


def exact_regressor(robot: Robot, pose: Pose, *, tied: bool, friction: bool = True) -> Field:
    """Y (n, dof, D, N) with the columns of `dynamics.regressor(model="exact")` in their order."""
    par, xp = exact_parameters(robot), namespace(pose.p)
    parts = [_limb_columns(robot, par, pose, tied)]
    if par.spindle is not None:
        parts.append(_spindle_columns(par.spindle, par.gravity, pose))
    if friction:
        values = exact_values(par, tied)
        parts.append(_friction_columns(robot, pose, xp.concatenate(parts), values))
    Y: Field = xp.concatenate(parts)
    return Y


def exact_values(par: ExactParameters, tied: bool) -> FloatArray:
    """The inertial base parameters of the robot in the order of the columns."""
    blocks = [par.m_x, par.A, par.G] + ([par.G_s] if any(par.G_s) else [])
    values = [par.M_P] + [value for block in blocks for value in (block[:1] if tied else block)]
    if par.spindle is not None:
        values += [getattr(par.spindle, name) for name in SPINDLE_NAMES]
    return np.array(values, dtype=np.float64)


def _limb_columns(robot: Robot, par: ExactParameters, pose: Pose, tied: bool) -> Field:
    """M_P, then m_x, A, G [, G_s], tied or per arm (equations in `dynamics.exact`)."""
    limb, g = limb_arrays(robot), par.gravity
    c, s, shape = pose.cos_q, pose.sin_q, pose.d.shape[1:]
    qdd, rate2 = pose.qdd[:3], pose.qd[:3] ** 2
    pdd = tuple(pose.pdd[:3])
    radial = -limb.l1 * (s * qdd + c * rate2)
    elbow = (radial * limb.ca, radial * limb.sa, limb.l1 * (s * rate2 - c * qdd) + g)
    along = -limb.l1 * (s * (limb.ca * pdd[0] + limb.sa * pdd[1]) + c * pdd[2])  # E'.pdd
    own = [along, qdd, -g * c] + ([-g * s] if any(par.G_s) else [])
    dtype, dof, xp = pose.d.dtype, robot.dof, namespace(pose.d)
    platform = pose.to_joints((pdd[0], pdd[1], pdd[2] + g))
    if tied:
        Y = xp.zeros((1 + len(own), dof, *shape), dtype=dtype)
        for j, diagonal in enumerate(own):
            Y = put(Y, (1 + j, slice(3)), diagonal)
        Y = put(Y, 1, Y[1] + pose.to_joints(tuple(part.sum(axis=0) for part in elbow)))
    else:
        Y = xp.zeros((1 + 3 * len(own), dof, *shape), dtype=dtype)
        for j, diagonal in enumerate(own):
            for i in range(3):
                Y = put(Y, (1 + 3 * j + i, i), diagonal[i])
        for i in range(3):
            Y = put(Y, 1 + i, Y[1 + i] + pose.to_joints(tuple(part[i] for part in elbow)))
    whole: Field = put(Y, 0, platform)
    return whole


def _spindle_columns(par: SpindleParameters, g: float, pose: Pose) -> Field:
    """H, kappa, mu, I_axial, h_x, h_y, I_psi (equations in `dynamics.exact.spindle_forces`)."""
    p, pd, pdd = tuple(pose.p), tuple(pose.pd), tuple(pose.pdd)
    xp = namespace(pose.p)
    rod = telescope(xp, par.pivot_z, p)
    rate = telescope_rate(rod, pd)
    vdd = telescope_acceleration(rod, rate, pd, pdd).v

    def across(a: tuple[Field, ...]) -> list[Field]:  # B a = (a - v v.a) / l
        along = dot(rod.v, a)
        return [(a[k] - rod.v[k] * along) / rod.l for k in range(3)]

    lift = [-g * rod.v[k] * rod.v[2] / rod.l for k in range(3)]
    lift[2] = lift[2] + g / rod.l
    drawn = across(pdd)
    unit = replace(par, **{name: float(name == "I_axial") for name in SPINDLE_NAMES})
    shaft = spindle_forces(xp, unit, 0.0, p, pd, pdd)
    c, s = xp.cos(p[3]), xp.sin(p[3])
    turn2, zero = pd[3] ** 2, xp.zeros_like(c)
    Y: Field = xp.stack(
        [
            pose.to_joints(tuple(across(vdd))),
            pose.to_joints(tuple(-drawn[k] - vdd[k] - lift[k] for k in range(3))),
            pose.to_joints(tuple(lift)),
            pose.to_joints(shaft.force, shaft.torque),
            *(
                pose.to_joints(
                    (-hy * pdd[3] - hx * turn2, hx * pdd[3] - hy * turn2, zero),
                    hx * pdd[1] - hy * pdd[0],
                )
                for hx, hy in ((c, s), (-s, c))
            ),
            pose.to_joints((zero, zero, zero), pdd[3]),
        ]
    )
    return Y


def _friction_columns(robot: Robot, pose: Pose, inertial: Field, values: FloatArray) -> Field:
    """Drive friction per axis, then passive joints, as in `dynamics.friction_columns`."""
    friction, qd, xp = robot.friction, pose.qd, namespace(pose.qd)
    sign = _direction(qd, friction.smoothing)
    passive = [_passive_columns(robot, pose, item) for item in friction.passive]
    terms = [qd]
    if friction.coulomb_negative is None:
        terms.append(sign)
    else:
        ahead = xp.real(qd) > 0
        terms += [xp.where(ahead, sign, 0.0), xp.where(ahead, 0.0, sign)]
    if friction.stribeck is not None:
        ratio = qd / np.array(friction.stribeck_velocity)[:, None, None]
        terms.append(sign * xp.exp(-(ratio**2)))
    if friction.offset is not None:
        terms.append(xp.ones_like(qd))
    if friction.load is not None:
        load = xp.tensordot(values, inertial, axes=1)
        for item, columns in zip(friction.passive, passive, strict=True):
            load = load + item.viscous * columns[0] + item.coulomb * columns[1]
        load = load - np.array(robot.drives.output_inertia)[:, None, None] * pose.qdd
        terms.append(load * xp.sign(xp.real(load)) * sign)
    dof = robot.dof
    Y = xp.zeros((len(terms), dof, *qd.shape), dtype=qd.dtype)
    for axis in range(dof):
        for j, term in enumerate(terms):
            Y = put(Y, (j, axis, axis), term[axis])
    whole: Field = xp.concatenate([Y.reshape(-1, *qd.shape), *passive])
    return whole


def _passive_columns(robot: Robot, pose: Pose, item: PassiveFriction) -> Field:
    """B^T B qd and B^T sign(B qd) of a passive joint [gnad2024] eqs. 6-7, as (2, dof, D, N)."""
    smoothing, xp = robot.friction.smoothing, namespace(pose.p)
    if item.joint in ("prismatic", "universal_fork", "universal_cross"):
        by_p, by_psi = _spindle_rate(robot, pose, item.joint)
        rate = dot(by_p, tuple(pose.pd)) + by_psi * pose.pd[3]
        copies = 1.0 if item.joint == "prismatic" else 2.0
        unit = copies * pose.to_joints(by_p, by_psi)
        pair: Field = xp.stack([unit * rate, unit * _direction(rate, smoothing)])
        return pair
    limb = limb_arrays(robot)
    radial, _, z = pose.local
    square = radial**2 + z**2
    if item.joint.endswith("sway"):
        over = 1 / xp.sqrt(square)
        by_r, by_t, by_z, own = 0.0 * over, over, 0.0 * over, 0.0 * over
    else:
        by_r, by_t, by_z = z / square, 0.0 * z, -radial / square
        own = limb.l1 * (pose.sin_q * by_r + pose.cos_q * by_z)
        if item.joint == "elbow_swing":
            own = own - 1.0
    by_p = (by_r * limb.ca - by_t * limb.sa, by_r * limb.sa + by_t * limb.ca, by_z)
    rate = by_p[0] * pose.pd[0] + by_p[1] * pose.pd[1] + by_p[2] * pose.pd[2] + own * pose.qd[:3]
    columns = []
    for strength in (rate, _direction(rate, smoothing)):
        force = tuple((part * strength).sum(axis=0) for part in by_p)
        column = pose.to_joints(force)
        columns.append(put(column, slice(3), column[:3] + own * strength))
    found: Field = xp.stack(columns)
    return found


def _spindle_rate(robot: Robot, pose: Pose, joint: str) -> tuple[Vector, Field]:
    """by_p and by_psi with rate = by_p . pd + by_psi psid (equations in `kinematics.passive`)."""
    assert robot.spindle is not None
    xp = namespace(pose.p)
    rod: Telescope = telescope(xp, robot.spindle.pivot_z, tuple(pose.p))
    if joint == "prismatic":
        return rod.v, xp.zeros_like(rod.l)
    c, s = xp.cos(pose.p[3]), xp.sin(pose.p[3])
    fork = (c, s, xp.zeros_like(c))
    e = dot(fork, rod.v)
    if joint == "universal_fork":
        over = 1 / (rod.l * (1 - e * e))
        x, y, z = (part * over for part in cross(fork, rod.v))
        return (x, y, z), e * spin_map(rod, c, s).n_psi
    pin = cross(rod.v, fork)
    size = xp.sqrt(dot(pin, pin))
    x, y, z = (part / (size * rod.l) for part in cross(pin, rod.v))
    return (x, y, z), -pin[2] / size


def _direction(rate: Field, smoothing: float | None) -> Field:
    """sign(rate), or tanh(rate / smoothing)."""
    xp = namespace(rate)
    sign: Field = xp.sign(xp.real(rate)) if smoothing is None else xp.tanh(rate / smoothing)
    return sign
