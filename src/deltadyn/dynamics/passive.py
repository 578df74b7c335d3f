"""Friction in the joints without a drive, one sample at a time [gnad2024] eqs. 6-7.

A joint's rate is B qd; its friction f = Fv rate + Fc tanh(rate / smoothing) asks B^T f of the
drives. B is never formed: the friction is a force on the platform, mapped by J^T, and a torque on
the limb's own axis.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from deltadyn.arrays import Component
from deltadyn.kinematics.limbs import Limb, cross, dot
from deltadyn.kinematics.spindle import telescope
from deltadyn.robot.settings import Friction, PassiveFriction

Vector = tuple[Component, ...]
SPINDLE_JOINTS = ("prismatic", "universal_fork", "universal_cross")


class Pose(NamedTuple):
    """Where the mechanism is and how it moves, one sample."""

    c: Vector  # cos and sin of the arm angles
    s: Vector
    p: Vector  # (dof,), m [, rad]
    pd: Vector
    pdd: Vector  # at qdd = 0: Jd qd
    rods: tuple[Vector, ...]  # strut vectors s_i, m
    e1: tuple[Vector, ...]  # E'_i, m/rad
    J: tuple[Vector, ...]  # columns of the Jacobian, each (dof,)


class Rubbed(NamedTuple):
    """One passive joint with friction, over any components."""

    joint: str
    viscous: Component
    coulomb: Component


class Rubbing(NamedTuple):
    """The friction of passive joints, over any components, as `Friction` holds it."""

    passive: tuple[Rubbed, ...]
    smoothing: Component


def passive_torque(
    xp: Any,
    friction: Friction | Rubbing,
    limbs: tuple[Limb, Limb, Limb],
    pivot_z: Any,
    pose: Pose,
    qd: Vector,
) -> list[Component]:
    """What the friction of all passive joints asks of the drives, (dof,) in N m."""
    tau: list[Component] = [0.0] * len(qd)
    for item in friction.passive:
        if item.joint in SPINDLE_JOINTS:
            _spindle_joint(xp, item, friction.smoothing, pivot_z, pose, tau)
        else:
            for i in range(3):
                _limb_joint(xp, item, friction.smoothing, limbs[i], i, pose, qd[i], tau)
    return tau


def joint_friction(
    xp: Any, item: PassiveFriction | Rubbed, smoothing: Any, rate: Component
) -> Component:
    """Fv rate + Fc tanh(rate / smoothing), in N m (N in the prismatic joint)."""
    return item.viscous * rate + item.coulomb * xp.tanh(rate / smoothing)


def _limb_joint(
    xp: Any,
    item: PassiveFriction | Rubbed,
    smoothing: Any,
    limb: Limb,
    i: int,
    pose: Pose,
    qd: Component,
    tau: list[Component],
) -> None:
    """Swing betad = (s_z e_r - s_r z).sd / (s_r^2 + s_z^2), sway gammad = t.sd / sqrt(...)."""
    rod, e1 = pose.rods[i], pose.e1[i]
    radial = rod[0] * limb.ca + rod[1] * limb.sa
    square = radial * radial + rod[2] * rod[2]
    if item.joint.endswith("swing"):
        scale = rod[2] / square
        slope = (scale * limb.ca, scale * limb.sa, -radial / square)
    else:
        scale = 1 / xp.sqrt(square)
        slope = (-scale * limb.sa, scale * limb.ca, 0.0)
    own = -dot(slope, e1) - (1.0 if item.joint == "elbow_swing" else 0.0)
    f = joint_friction(xp, item, smoothing, dot(slope, pose.pd) + own * qd)
    for j in range(3):
        tau[j] += f * dot(slope, pose.J[j])
    tau[i] += f * own


def _spindle_joint(
    xp: Any,
    item: PassiveFriction | Rubbed,
    smoothing: Any,
    pivot_z: Any,
    pose: Pose,
    tau: list[Component],
) -> None:
    """ld = v.pd, and the universal joint's rates omega.a and (omega - psid z).b; both joints."""
    rod = telescope(xp, pivot_z, pose.p)
    v, copies, by_psi = rod.v, 2.0, 0.0
    a = (xp.cos(pose.p[3]), xp.sin(pose.p[3]), 0.0)
    e = dot(a, v)
    slope: Vector
    if item.joint == "prismatic":
        slope, copies = v, 1.0
    elif item.joint == "universal_fork":
        over = 1 / (1 - e * e)
        slope = tuple(x * over / rod.l for x in cross(a, v))
        by_psi = e * v[2] * over
    else:
        normal = cross(v, a)
        size = xp.sqrt(dot(normal, normal))
        b = tuple(x / size for x in normal)
        slope = tuple(x / rod.l for x in cross(b, v))
        by_psi = -b[2]
    f = copies * joint_friction(xp, item, smoothing, dot(slope, pose.pd) + by_psi * pose.pd[3])
    for j in range(3):
        tau[j] += f * dot(slope, pose.J[j])
    tau[3] += f * by_psi
