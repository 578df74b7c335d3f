"""A Pinocchio model of the robot: the open tree, its loop constraints, and closed states.

The tree has the joints of the exported MuJoCo model, by the same names: each arm with its strut,
the platform on its slides, and with a spindle the effector and the telescope under the platform.
Every strut's tip is held at its joint on the platform, the telescope's top at its pivot, each by a
constraint on three coordinates. On a platform of halves gears and screws are joints that mimic
others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import DeltadynError, InputError
from deltadyn.exports.mjcf.pose import joint_values
from deltadyn.robot import Robot
from deltadyn.robot.bodies import (
    ArticulatedPlatform,
    Carriage,
    HelicalPlatform,
    Spindle,
    TenParameters,
)
from deltadyn.simulation.plant.mjcf import coordinate_joints, driven_joints

DOWNWARD = np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])  # a hanging rod's axes


class MissingPinocchioError(DeltadynError, ImportError):
    """Pinocchio is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "pinocchio_model needs the library 'pinocchio', which is not installed; "
            "install it with: pip install pin"
        )


@dataclass(frozen=True, eq=False)
class PinocchioDelta:
    """The open tree, its constraints, and closed full coordinates from the driven ones.

    `constraint_models` goes into pinocchio.constraintDynamics; `actuated` are the places of
    the driven joints in a vector of the tree, which has nq = nv. Friction is not part of it;
    rotors are `model.armature`.
    """

    robot: Robot
    model: Any
    constraint_models: Any
    actuated: tuple[int, ...]

    def configuration(self, q: npt.ArrayLike) -> FloatArray:
        """All joints (nq,) of driven q (dof,), with closed loops; m and rad."""
        return self._column(joint_values(self.robot, self._checked("q", q)), 0)

    def velocity(self, q: npt.ArrayLike, qd: npt.ArrayLike) -> FloatArray:
        """Rates of all joints (nv,) of driven q, qd (dof,)."""
        values = joint_values(self.robot, self._checked("q", q), self._checked("qd", qd))
        return self._column(values, 1)

    def acceleration(self, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike) -> FloatArray:
        """Accelerations of all joints (nv,) from J a + Jd v = 0 of the constraints."""
        x, xd = self.configuration(q), self.velocity(q, qd)
        J, drift = self._constraints(x, xd)
        a = np.zeros(self.model.nv)
        a[list(self.actuated)] = self._checked("qdd", qdd)
        rest = [i for i in range(self.model.nv) if i not in self.actuated]
        a[rest] = np.linalg.solve(J[:, rest], -drift - J @ a)
        return a

    def projection(self, q: npt.ArrayLike) -> FloatArray:
        """(nv, dof) with v = projection qd: torques of the drives = its transpose times rnea."""
        x = self.configuration(q)
        J, _ = self._constraints(x, np.zeros(self.model.nv))
        driven = list(self.actuated)
        rest = [i for i in range(self.model.nv) if i not in driven]
        full = np.zeros((self.model.nv, self.robot.dof))
        full[driven] = np.eye(self.robot.dof)
        full[rest] = np.linalg.solve(J[:, rest], -J[:, driven])
        return full

    def _constraints(self, x: FloatArray, xd: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Jacobian (m, nv) of the gaps in the base frame, and their acceleration at a = 0."""
        pin, model = import_module("pinocchio"), self.model
        data = model.createData()
        pin.computeJointJacobians(model, data, x)
        pin.forwardKinematics(model, data, x, xd, np.zeros(model.nv))
        pin.updateFramePlacements(model, data)
        world = pin.LOCAL_WORLD_ALIGNED
        rows, drift = [], []
        for pair in _loops(self.robot):
            ids = [model.getFrameId(name) for name in pair]
            J = [pin.getFrameJacobian(model, data, i, world)[:3] for i in ids]
            a = [pin.getFrameClassicalAcceleration(model, data, i, world).linear for i in ids]
            rows.append(J[0] - J[1])
            drift.append(a[0] - a[1])
        return np.concatenate(rows), np.concatenate(drift)

    def _column(self, values: dict[str, tuple[float, float]], which: int) -> FloatArray:
        return np.array([values[name][which] for name in _own_names(self.model)])

    def _checked(self, name: str, value: npt.ArrayLike) -> FloatArray:
        array = np.asarray(value, dtype=float)
        if array.shape != (self.robot.dof,):
            raise InputError(f"shape of {name}", array.shape, f"({self.robot.dof},): one sample")
        return array


def pinocchio_model(robot: Robot) -> PinocchioDelta:
    """The robot as a Pinocchio model; needs the package `pin`.

    On rails coordinates and efforts of the drives are in m and N. Gears and screws of a platform of
    halves are joints that mimic others: they have no coordinate of their own.
    """
    try:
        pin = import_module("pinocchio")
    except ImportError as error:
        raise MissingPinocchioError from error
    tree = _Tree(pin, robot)
    tree.limbs()
    platform = tree.platform()
    if robot.spindle is not None:
        tree.spindle(platform, robot.spindle)
    if isinstance(robot.platform, ArticulatedPlatform):
        tree.articulated(platform, robot.platform)
    elif isinstance(robot.platform, HelicalPlatform):
        tree.helical(platform, robot.platform)
    tree.couple()
    tree.settings()
    model = tree.model
    actuated = tuple(
        int(model.joints[model.getJointId(name)].idx_v) for name in driven_joints(robot)
    )
    return PinocchioDelta(robot, model, tree.constraints(), actuated)


def _loops(robot: Robot) -> tuple[tuple[str, str], ...]:
    tips = tuple((f"tip_{i + 1}", f"socket_{i + 1}") for i in range(robot.legs))
    return tips if robot.spindle is None else (*tips, ("top", "pivot"))


def _own_names(model: Any) -> list[str]:
    """Joints with a coordinate of their own, in the order of the coordinates."""
    pairs = zip(list(model.names)[1:], list(model.joints)[1:], strict=True)
    return [name for name, joint in pairs if joint.nq == 1]


class _Tree:
    """Builds the model joint by joint."""

    def __init__(self, pin: Any, robot: Robot) -> None:
        self.pin, self.robot = pin, robot
        self.model = pin.Model()
        self.model.name = robot.name
        self.model.gravity.linear = np.array([0.0, 0.0, -robot.gravity])
        self.coupled: list[tuple[str, str, float, float]] = []  # joint = scale other + offset

    def limbs(self) -> None:
        """Arm or carriage, and strut, of every limb."""
        pin, g = self.pin, self.robot.geometry
        for i, strut in enumerate(self.robot.struts):
            frame, (x, y) = g.frames[i], self._socket(i)
            axes = np.stack([frame.x, np.cross(frame.z, frame.x), frame.z], axis=-1)
            shoulder = pin.SE3(axes, np.asarray(frame.shoulder) + np.array([x, y, 0.0]))
            upper, elbow = self._driven(i, shoulder)
            swing = self._joint(upper, pin.JointModelRY(), self._at(elbow), f"swing_{i + 1}")
            sway = self._joint(swing, pin.JointModelRZ(), self._at(), f"sway_{i + 1}")
            for _ in range(strut.rods):
                self._ten(sway, strut.body(g.strut_length[i]))
            self._frame(sway, f"tip_{i + 1}", (g.strut_length[i], 0.0, 0.0))

    def _driven(self, i: int, shoulder: Any) -> tuple[int, FloatArray]:
        """The joint of a drive with its arm or carriage, and where its elbow is."""
        pin, arm, zero = self.pin, self.robot.arms[i], np.zeros((3, 3))
        if isinstance(arm, Carriage):
            # a counterweight moves the opposite way: it takes its mass off the weight and adds it
            # to the inertia, so the body is lighter by it and the armature heavier by twice that
            if arm.counterweight >= arm.mass > 0:
                allowed = "below the mass of its carriage, for a tree of bodies"
                raise InputError(f"arms[{i}].counterweight", arm.counterweight, allowed)
            joint = self._joint(0, pin.JointModelPZ(), shoulder, f"theta_{i + 1}")
            self._body(joint, arm.mass - arm.counterweight, np.zeros(3), zero)
            return joint, np.zeros(3)
        joint = self._joint(0, pin.JointModelRY(), shoulder, f"theta_{i + 1}")
        spread = np.diag([0.0, arm.inertia, arm.inertia])
        self._body(joint, arm.mass, np.array([arm.com, 0.0, arm.com_offset]), spread)
        elbow = np.array([self.robot.rotary.arm_length[i], 0.0, 0.0])
        self._body(joint, arm.elbow_mass, elbow, zero)
        return joint, elbow

    def _socket(self, i: int) -> tuple[float, float]:
        """Where strut i meets the platform, from the platform's point."""
        radius, azimuth = self.robot.geometry.platform_radius[i], self.robot.geometry.azimuth[i]
        return radius * math.cos(azimuth), radius * math.sin(azimuth)

    def platform(self) -> int:
        """The platform on its slides."""
        pin, robot, joint = self.pin, self.robot, 0
        slides = {"x": pin.JointModelPX(), "y": pin.JointModelPY(), "z": pin.JointModelPZ()}
        for name in coordinate_joints(robot):
            joint = self._joint(joint, slides[name], self._at(), name)
        self._frame(joint, "platform", (0.0, 0.0, 0.0))
        if robot.legs == 4:  # its halves follow
            return joint
        carried = 0.0 if robot.spindle else robot.effector.mass + robot.payload.mass
        self._body(joint, robot.platform.mass + carried, np.zeros(3), np.zeros((3, 3)))
        for i in range(robot.legs):
            self._frame(joint, f"socket_{i + 1}", (*self._socket(i), 0.0))
        return joint

    def articulated(self, platform: int, own: ArticulatedPlatform) -> None:
        """Bars at the tool's axis, halves at their ends that do not turn, and the geared tool."""
        pin, (first, second) = self.pin, own.sigma
        bars = self._joint(platform, pin.JointModelRZ(), self._at(), "bars")
        middle = np.array([first - own.bar_com * own.bar_length, 0.0, 0.0])
        self._body(bars, own.bar_mass, middle, np.diag([0.0, 0.0, own.bar_inertia]))
        self._body(bars, own.gear_mass, np.array([*own.gear_place, 0.0]), np.zeros((3, 3)))
        for k, sigma in enumerate((first, second)):
            place = self._at((sigma, 0.0, 0.0))
            half = self._joint(bars, pin.JointModelRZ(), place, f"half_{k + 1}")
            self.coupled.append((f"half_{k + 1}", "bars", -1.0, 0.0))
            self._half(half, k, own.half_mass[k])
        if own.ratio == 1:  # the tool turns with the bars
            c, s = math.cos(own.phi0), -math.sin(own.phi0)
            turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
            self._tool(bars, pin.SE3(turn, np.zeros(3)))
            return
        tool = self._joint(bars, pin.JointModelRZ(), self._at(), "tool")
        self.coupled.append(("tool", "bars", own.ratio - 1.0, -own.ratio * own.phi0))
        self._tool(tool, pin.SE3.Identity())

    def helical(self, platform: int, own: HelicalPlatform) -> None:
        """The tool, and the halves that a screw lifts as it turns."""
        pin = self.pin
        psi = self._joint(platform, pin.JointModelRZ(), self._at(), "psi")
        self._tool(psi, pin.SE3.Identity())
        for k, sigma in enumerate(own.sigma):
            half = platform
            if sigma:
                half = self._joint(platform, pin.JointModelPZ(), self._at(), f"rise_{k + 1}")
                self.coupled.append((f"rise_{k + 1}", "psi", sigma, 0.0))
            self._half(half, k, own.half_mass[k])

    def _half(self, joint: int, k: int, mass: float) -> None:
        """A half with the sockets of its two struts."""
        self._body(joint, mass, np.zeros(3), np.zeros((3, 3)))
        for i in (2 * k, 2 * k + 1):
            self._frame(joint, f"socket_{i + 1}", (*self._socket(i), 0.0))

    def _tool(self, joint: int, placement: Any) -> None:
        """Effector and payload on a joint about the tool's axis."""
        robot = self.robot
        for part, com in (
            (robot.effector, robot.effector.com),
            (robot.payload, robot.payload.offset),
        ):
            if part.mass > 0 or part.inertia_zz > 0:
                disc = part.inertia_zz * np.diag([0.5, 0.5, 1.0])
                body = self.pin.Inertia(part.mass, np.array(com), disc)
                self.model.appendBodyToJoint(joint, body, placement)

    def couple(self) -> None:
        """Make joints that gears or a screw move mimic those that they follow."""
        for name, other, scale, offset in self.coupled:
            ids = [self.model.getJointId(joint) for joint in (other, name)]
            self.model = self.pin.transformJointIntoMimic(self.model, *ids, scale, offset)

    def spindle(self, platform: int, spindle: Spindle) -> None:
        """Effector, lower rod and upper rod; see `mjcf/tree.py` on why they may hang here."""
        pin, robot = self.pin, self.robot
        effector = self._joint(platform, pin.JointModelRZ(), self._at(), "psi")
        for part, com in (
            (robot.effector, robot.effector.com),
            (robot.payload, robot.payload.offset),
        ):
            disc = part.inertia_zz * np.diag([0.5, 0.5, 1.0])
            self._body(effector, part.mass, np.array(com), disc)
        joint = pin.SE3(DOWNWARD, np.array([0.0, 0.0, spindle.lower_joint_z]))
        fork = pin.JointModelRevoluteUnaligned(0.0, -1.0, 0.0)
        lower = self._joint(effector, fork, joint, "fork")
        lower = self._joint(lower, pin.JointModelRX(), self._at(), "cross")
        self._ten(lower, spindle.lower.body(-1))
        slide = pin.JointModelPrismaticUnaligned(0.0, 0.0, -1.0)
        upper = self._joint(lower, slide, self._at(), "slide")
        self._ten(upper, spindle.upper.body(1))
        self._frame(upper, "top", (0.0, 0.0, 0.0))
        self._frame(0, "pivot", (0.0, 0.0, spindle.upper_joint_z))

    def settings(self) -> None:
        """Rotors and limits of the drives."""
        model, robot, limits = self.model, self.robot, self.robot.limits
        names = driven_joints(robot)
        places = [int(model.joints[model.getJointId(name)].idx_v) for name in names]
        belts = [2 * arm.counterweight if isinstance(arm, Carriage) else 0.0 for arm in robot.arms]
        rotors = np.array(robot.drives.output_inertia)
        rotors[: robot.legs] += belts
        fields = {
            "armature": rotors,
            "lowerPositionLimit": limits.angle_min,
            "upperPositionLimit": limits.angle_max,
        }
        for name, values in fields.items():
            if values is not None:
                vector = np.array(getattr(model, name))
                vector[places] = values
                setattr(model, name, vector)
        if isinstance(robot.platform, ArticulatedPlatform):
            armature = np.array(model.armature)
            place = int(model.joints[model.getJointId("bars")].idx_v)
            armature[place] += robot.platform.gear_inertia
            model.armature = armature

    def constraints(self) -> Any:
        """One constraint on three coordinates per loop, in the form of constraintDynamics."""
        pin, model = self.pin, self.model
        found = pin.StdVec_RigidConstraintModel()
        for pair in _loops(self.robot):
            one, two = (model.frames[model.getFrameId(name)] for name in pair)
            found.append(
                pin.RigidConstraintModel(
                    pin.ContactType.CONTACT_3D,
                    model,
                    one.parentJoint,
                    one.placement,
                    two.parentJoint,
                    two.placement,
                    pin.ReferenceFrame.LOCAL,
                )
            )
            found[len(found) - 1].name = "-".join(pair)
        return found

    def _joint(self, parent: int, joint: Any, placement: Any, name: str) -> int:
        return int(self.model.addJoint(parent, joint, placement, name))

    def _body(self, joint: int, mass: float, com: FloatArray, inertia: FloatArray) -> None:
        """Append a body by its COM and its inertia about it."""
        if mass > 0 or inertia.any():
            body = self.pin.Inertia(mass, com, inertia)
            self.model.appendBodyToJoint(joint, body, self.pin.SE3.Identity())

    def _ten(self, joint: int, ten: TenParameters) -> None:
        """Append a body by its ten parameters about the joint's origin."""
        if ten.mass <= 0:
            return
        com = np.array(ten.first_moment) / ten.mass
        xx, yy, zz, xy, yz, xz = ten.inertia
        about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        shift = ten.mass * (com @ com * np.eye(3) - np.outer(com, com))
        self._body(joint, ten.mass, com, about_origin - shift)

    def _frame(self, joint: int, name: str, place: Sequence[float]) -> None:
        pin = self.pin
        frame = pin.Frame(name, joint, 0, self._at(place), pin.FrameType.OP_FRAME)
        self.model.addFrame(frame)

    def _at(self, place: Sequence[float] | FloatArray = (0.0, 0.0, 0.0)) -> Any:
        return self.pin.SE3(np.eye(3), np.array(place))
