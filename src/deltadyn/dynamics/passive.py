"""Friction in the joints without a drive, over any components [gnad2024] eqs. 6-7.

A joint's rate is B qd; its friction f = Fv rate + Fc tanh(rate / smoothing) asks B^T f of the
drives. B is never formed: the friction is a force on the strut's attachment, mapped by J^T, and a
torque on the limb's own axis, or on axis 4 for the spindle's joints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from deltadyn.arrays import Component, namespace
from deltadyn.kinematics.limbs import Limb, jacobian_columns, limbs, rods_of
from deltadyn.kinematics.limbs import Pose as Pose
from deltadyn.kinematics.platform import POINT
from deltadyn.kinematics.struts import JointSlope, joint_slopes
from deltadyn.robot import Robot
from deltadyn.robot.settings import SPINDLE_JOINTS as SPINDLE_JOINTS
from deltadyn.robot.settings import Friction, PassiveFriction
from deltadyn.small import Vector, dot


class Rubbed(NamedTuple):
    """One passive joint with friction, over any components."""

    joint: str
    viscous: Component
    coulomb: Component


class Rubbing(NamedTuple):
    """The friction of passive joints, over any components, as `Friction` holds it."""

    passive: tuple[Rubbed, ...]
    smoothing: Component


class PassivePose(NamedTuple):
    """What the rates of passive joints depend on: limbs, spindle, pose and motion."""

    limbs: Sequence[Limb]
    pivot_z: Any
    p: Vector  # (dof,)
    pd: Vector
    qd: Vector
    rods: tuple[Vector, ...]  # strut vectors s_i, m
    e1: tuple[Vector, ...]  # E'_i, m/rad
    J: tuple[Vector, ...]  # columns of the Jacobian of the point, of the arms

    def slopes(self, xp: Any, joint: str) -> list[JointSlope]:
        """The slopes of a joint's rates: one per limb, or one of the spindle."""
        return joint_slopes(xp, joint, self.limbs, self.pivot_z, self.p, self.rods, self.e1)


def passive_torque(
    xp: Any,
    friction: Friction | Rubbing,
    limbs: Sequence[Limb],
    pivot_z: Any,
    pose: Pose,
    qd: Vector,
) -> list[Component]:
    """What the friction of all passive joints asks of the drives, (dof,) in N m."""
    known = PassivePose(limbs, pivot_z, pose.p, pose.pd, qd, pose.rods, pose.e1, pose.J)
    tau: list[Component] = [0.0] * len(qd)
    for item in friction.passive:
        for slope in known.slopes(xp, item.joint):
            rate = _rate(xp, slope, known)
            force = joint_friction(xp, item, friction.smoothing, rate)
            _ask(xp, tau, slope, known, copies(item.joint) * force)
    return tau


def joint_columns(
    xp: Any, joint: str, pose: PassivePose, direction: Callable[[Component], Component]
) -> tuple[list[Component], list[Component]]:
    """B^T B qd and B^T direction(B qd) of one joint, each (dof,): per unit of Fv and of Fc."""
    viscous: list[Component] = [0.0 * rate for rate in pose.qd]
    coulomb = list(viscous)
    for slope in pose.slopes(xp, joint):
        rate = _rate(xp, slope, pose)
        _ask(xp, viscous, slope, pose, copies(joint) * rate)
        _ask(xp, coulomb, slope, pose, copies(joint) * direction(rate))
    return viscous, coulomb


def pose_with_rods(
    robot: Robot, c: Vector, s: Vector, p: Vector, pd: Vector, qd: Vector
) -> PassivePose:
    """The pose of components, with its struts and the Jacobian."""
    three = limbs(robot)
    rods = rods_of(namespace(p[0]), three, c, s, p)
    e1 = tuple(limb.slope(c[i], s[i]) for i, limb in enumerate(three))
    pivot_z = 0.0 if robot.spindle is None else robot.spindle.pivot_z
    J = tuple(jacobian_columns(rods))
    return PassivePose(three, pivot_z, p, pd, qd, tuple(rods.base), e1, J)


def joint_friction(
    xp: Any, item: PassiveFriction | Rubbed, smoothing: Any, rate: Component
) -> Component:
    """Fv rate + Fc tanh(rate / smoothing), in N m (N in the prismatic joint)."""
    return item.viscous * rate + item.coulomb * xp.tanh(rate / smoothing)


def copies(joint: str) -> float:
    """How many joints move at this rate: the spindle has two universal joints alike."""
    return 2.0 if joint.startswith("universal") else 1.0


def passive_units(joint: str) -> list[str]:
    """The units of Fv and Fc."""
    return ["N s/m", "N"] if joint == "prismatic" else ["N m s/rad", "N m"]


def _rate(xp: Any, slope: JointSlope, pose: PassivePose) -> Component:
    """by_p . pd + own qd of the slope's axis; psi's rate is that of axis 4."""
    return dot(slope.by_p, _attached(xp, slope, pose, pose.pd)) + slope.own * pose.qd[slope.axis]


def _attached(xp: Any, slope: JointSlope, pose: PassivePose, xd: Vector) -> Vector:
    """What a slope is taken by at platform rates xd: those of its strut's attachment, or pd."""
    own = getattr(pose.limbs, "carrier", POINT)
    if own is POINT or slope.axis >= len(pose.limbs):
        return xd
    found: Vector = own.velocity(own.place(xp, pose.p), slope.axis, xd)
    return found


def _ask(
    xp: Any, tau: list[Component], slope: JointSlope, pose: PassivePose, force: Component
) -> None:
    """Add B^T f of one rate."""
    for j in range(len(pose.limbs)):
        tau[j] = tau[j] + force * dot(slope.by_p, _attached(xp, slope, pose, pose.J[j]))
    tau[slope.axis] = tau[slope.axis] + force * slope.own
