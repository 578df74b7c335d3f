"""The open tree in Pinocchio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .closure import Frame
from .spec import Array, EngineBody, EngineRobot, EngineSpindle

try:
    import pinocchio as pin
except ModuleNotFoundError:  # `make test` compares with its stored answers
    pin = None
WORLD_AXES = getattr(pin, "LOCAL_WORLD_ALIGNED", None)
DOWNWARD = np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
"""Orientation (b, v x b, v) of the hanging rod at psi = 0; its own inverse."""


@dataclass(frozen=True, eq=False)
class PinocchioEngine:
    """Kinematics and dynamics of the open tree by Pinocchio; build it with `pinocchio_engine`."""

    robot: EngineRobot
    model: Any
    data: Any

    def frames(self, x: Array, names: Sequence[str]) -> Mapping[str, Frame]:
        """Frames with their Jacobians."""
        pin.computeJointJacobians(self.model, self.data, x)
        return {name: self._frame(name) for name in names}

    def drifts(self, x: Array, xd: Array, names: Sequence[str]) -> Mapping[str, Array]:
        """Accelerations of the frames at xdd = 0, Jd xd: (6,), linear over angular."""
        pin.forwardKinematics(self.model, self.data, x, xd, np.zeros_like(xd))
        return {name: self._acceleration(name) for name in names}

    def mass_matrix(self, x: Array) -> Array:
        """Mass matrix (n, n) of the open tree with its rotors."""
        upper: Array = np.triu(pin.crba(self.model, self.data, x))
        return upper + np.triu(upper, 1).T

    def inverse_dynamics(self, x: Array, xd: Array, xdd: Array) -> Array:
        """Generalised forces (n,) of the open tree with its rotors."""
        return np.array(pin.rnea(self.model, self.data, x, xd, xdd))

    def energy(self, x: Array, xd: Array) -> tuple[float, float]:
        """Kinetic energy with rotors, and potential energy, 0 for a mass in the base plane."""
        kinetic = pin.computeKineticEnergy(self.model, self.data, x, xd)
        return float(kinetic), float(pin.computePotentialEnergy(self.model, self.data, x))

    def _frame(self, name: str) -> Frame:
        frame = self.model.getFrameId(name)
        placement = pin.updateFramePlacement(self.model, self.data, frame)
        jacobian = pin.getFrameJacobian(self.model, self.data, frame, WORLD_AXES)
        return Frame(placement.translation.copy(), placement.rotation.copy(), jacobian)

    def _acceleration(self, name: str) -> Array:
        frame = self.model.getFrameId(name)
        motion = pin.getFrameClassicalAcceleration(self.model, self.data, frame, WORLD_AXES)
        return np.array(motion.vector)


def pinocchio_engine(robot: EngineRobot) -> PinocchioEngine:
    """Build the open tree of the robot in Pinocchio."""
    model = pin.Model()
    model.gravity.linear = np.array([0.0, 0.0, -robot.gravity])
    for i in range(3):
        _add_limb(model, robot, i)
    _add_platform(model, robot)
    if robot.spindle is not None:
        _add_spindle(model, robot, robot.spindle)
    armature = np.zeros(model.nv)
    armature[[0, 3, 6, 12][: robot.dof]] = robot.rotor_inertia
    model.armature = armature
    return PinocchioEngine(robot, model, model.createData())


def _add_limb(model: Any, robot: EngineRobot, i: int) -> None:
    shoulder = robot.base_radius[i] * robot.radial[i]
    turned = np.column_stack([robot.radial[i], robot.tangential[i], [0.0, 0.0, 1.0]])
    arm = _add_joint(model, 0, pin.JointModelRY(), pin.SE3(turned, shoulder))
    _add_body(model, arm, f"arm_{i + 1}", robot.arms[i])
    elbow = _add_joint(model, arm, pin.JointModelRY(), _shift([robot.arm_length[i], 0.0, 0.0]))
    strut = _add_joint(model, elbow, pin.JointModelRZ(), pin.SE3.Identity())
    _add_body(model, strut, f"strut_{i + 1}", robot.struts[i])
    _add_frame(model, strut, f"tip_{i + 1}", _shift([robot.strut_length[i], 0.0, 0.0]))


def _add_platform(model: Any, robot: EngineRobot) -> None:
    joint = 0
    for slide in (pin.JointModelPX(), pin.JointModelPY(), pin.JointModelPZ()):
        joint = _add_joint(model, joint, slide, pin.SE3.Identity())
    point = EngineBody(robot.platform_mass, np.zeros(3), np.zeros((3, 3)))
    _add_body(model, joint, "platform", point)
    if robot.spindle is None:
        _add_payload(model, joint, robot.payload_mass, pin.SE3.Identity())


def _add_spindle(model: Any, robot: EngineRobot, spindle: EngineSpindle) -> None:
    """Spindle: about z_hat, a and b (the rod's own x), along v, about b, about the lower a."""
    to_rod = pin.SE3(DOWNWARD, np.zeros(3))
    joint = _add_joint(model, 0, pin.JointModelRZ(), _shift([0.0, 0.0, spindle.z_upper]))
    joint = _add_joint(model, joint, pin.JointModelRX(), pin.SE3.Identity())
    joint = _add_joint(model, joint, pin.JointModelRX(), to_rod)
    _add_body(model, joint, "upper", spindle.upper)
    joint = _add_joint(model, joint, pin.JointModelPZ(), pin.SE3.Identity())
    _add_body(model, joint, "lower", spindle.lower)
    joint = _add_joint(model, joint, pin.JointModelRX(), pin.SE3.Identity())
    joint = _add_joint(model, joint, pin.JointModelRX(), to_rod)
    to_point = _shift([0.0, 0.0, -spindle.z_lower])
    _add_body(model, joint, "effector", spindle.effector, to_point)
    _add_payload(model, joint, robot.payload_mass, to_point * _shift(robot.payload_offset))


def _add_joint(model: Any, parent: int, joint: Any, placement: Any) -> int:
    return int(model.addJoint(parent, joint, placement, f"joint_{model.njoints}"))


def _add_body(model: Any, joint: int, name: str, body: EngineBody, placement: Any = None) -> None:
    """Append a body, and a frame of its name, at a placement in the joint's frame."""
    placement = pin.SE3.Identity() if placement is None else placement
    inertia = pin.Inertia(body.mass, body.com, body.inertia_com)
    model.appendBodyToJoint(joint, inertia, placement)
    _add_frame(model, joint, name, placement)


def _add_payload(model: Any, joint: int, mass: float, placement: Any) -> None:
    point = pin.Inertia(mass, np.zeros(3), np.zeros((3, 3)))
    model.appendBodyToJoint(joint, point, placement)


def _add_frame(model: Any, joint: int, name: str, placement: Any) -> None:
    model.addFrame(pin.Frame(name, joint, 0, placement, pin.FrameType.OP_FRAME))


def _shift(offset: Sequence[float]) -> Any:
    return pin.SE3(np.eye(3), np.array(offset))
