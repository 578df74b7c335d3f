"""A robot as the open tree that the peers' engines take: plain numbers, and the same as MJCF.

Arm or carriage and strut of each limb, and with a spindle its two rods and the effector. A body's
frame is at its joint: an arm's x runs along it and y along its motor axis, a strut's x runs from
elbow to platform, z of a rod runs down the rod, the effector stands upright at the lower joint. The
platform is a point mass, so it is a number and no body; so are two halves with what turns between
them, whose force is a closed form.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.kinematics import State
from deltadyn.kinematics.actuation import actuation
from deltadyn.robot import Robot
from deltadyn.robot.bodies import (
    ArticulatedPlatform,
    HelicalPlatform,
    LimbFrame,
    Spindle,
    TenParameters,
)

SPARE = 3  # places for the spindle's bodies in closure.h; robots without one leave them empty
SMALLEST_INERTIA = 1e-14  # kg m^2: MuJoCo's compiler wants some; mujoco_race.c takes it away again


@dataclass(frozen=True, eq=False)
class TreeBody:
    """Mass (kg), COM (3,) in m and inertia (3, 3) about the COM in kg m^2."""

    mass: float
    com: FloatArray
    inertia: FloatArray

    def numbers(self) -> list[float]:
        """The ten numbers in the order of closure.h."""
        I = self.inertia
        six = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[1, 2], I[0, 2])
        return [self.mass, *map(float, self.com), *map(float, six)]


@dataclass(frozen=True, eq=False)
class Tree:
    """The bodies of a robot's open tree and the point mass of its platform (kg)."""

    robot: Robot
    bodies: tuple[TreeBody, ...]
    platform_mass: float

    @classmethod
    def of(cls, robot: Robot) -> Tree:
        """The tree of a robot with thin or other struts; friction is no part of it."""
        if robot.linear and any(getattr(rail, "counterweight", 0.0) for rail in robot.arms):
            raise InputError(
                "carriage.counterweight", robot.name, "0 kg: the tree has no such body"
            )
        bodies: list[TreeBody] = []
        for i in range(robot.legs):
            bodies += [_arm(robot, i), _strut(robot, i)]
        mass = robot.platform.mass
        if robot.spindle is None:
            mass += robot.effector.mass + robot.payload.mass
        else:
            spindle = robot.spindle
            bodies += [_from_ten(spindle.upper.body(1)), _from_ten(spindle.lower.body(-1))]
            bodies.append(_effector(robot, spindle))
        return cls(robot, tuple(bodies), mass)

    @property
    def kind(self) -> str:
        """What moves the limbs and what they carry, one of `backends.layout.KINDS`."""
        return actuation(self.robot).replace("vertical", "rail")

    def numbers(self, state: State) -> FloatArray:
        """What closure.h reads: the robot, then p, pd, pdd of every sample."""
        robot, spindle = self.robot, self.robot.spindle
        joints = (0.0, 0.0) if spindle is None else (spindle.upper_joint_z, spindle.lower_joint_z)
        head = [robot.dof, len(state), robot.gravity, self.platform_mass, *joints]
        rotors = [*robot.drives.output_inertia, 0.0, 0.0][:4]
        limbs = [value for i in range(robot.legs) for value in _limb_shape(robot, i)]
        bodies = [value for body in self.bodies for value in body.numbers()]
        empty = [0.0] * (10 * (2 * robot.legs + SPARE - len(self.bodies)))
        states = np.concatenate([state.p, state.pd, state.pdd], axis=1)
        return np.concatenate([head, rotors, _halves(robot), limbs, bodies, empty, states.ravel()])

    def mjcf(self) -> str:
        """The tree as a MuJoCo model, without any site, geom or constraint."""
        limbs = "".join(self._limb(i) for i in range(self.robot.legs))
        spindle = "" if self.robot.spindle is None else self._spindle(self.robot.spindle)
        return f"""<mujoco>
  <compiler angle="radian" autolimits="false"/>
  <option gravity="0 0 {-self.robot.gravity!r}">
    <flag constraint="disable" contact="disable"/>
  </option>
  <worldbody>{limbs}{spindle}</worldbody>
</mujoco>
"""

    def _limb(self, i: int) -> str:
        place, turned = self._shoulder(i)
        l1 = 0.0 if self.robot.linear else self.robot.rotary.arm_length[i]
        drive = 'type="slide" axis="0 0 1"' if self.robot.linear else 'axis="0 1 0"'
        sway = "" if self.robot.planar else '<joint axis="0 0 1"/>'
        return f"""<body pos="{_text(place)}" quat="{_text(turned)}">
      <joint {drive}/>{_inertial(self.bodies[2 * i])}
      <body pos="{l1!r} 0 0">
        <joint axis="0 1 0"/>{sway}{_inertial(self.bodies[2 * i + 1])}
      </body>
    </body>"""

    def _shoulder(self, i: int) -> tuple[Iterable[float], Iterable[float]]:
        """Place and quaternion of a limb's axes."""
        if not self.robot.linear and self.robot.rotary.standard:
            ca, sa, shoulder, *_ = _limb_shape(self.robot, i)
            half = self.robot.geometry.azimuth[i] / 2
            return (shoulder * ca, shoulder * sa, 0.0), (math.cos(half), 0.0, 0.0, math.sin(half))
        from scipy.spatial.transform import Rotation

        frame = self.robot.geometry.frames[i]
        x, y, z, w = Rotation.from_matrix(_axes(frame).T).as_quat().tolist()
        return frame.shoulder, (w, x, y, z)

    def _spindle(self, spindle: Spindle) -> str:
        """The quaternion 0 1 -1 0 maps (x, y, z) to (-y, -x, -z): the rod hangs down at psi = 0."""
        upper, lower, effector = (_inertial(body) for body in self.bodies[6:])
        return f"""<body pos="0 0 {spindle.upper_joint_z!r}" quat="0 1 -1 0">
      <joint axis="0 0 -1"/><joint axis="0 -1 0"/><joint axis="1 0 0"/>{upper}
      <body>
        <joint type="slide" axis="0 0 1"/>{lower}
        <body quat="0 1 -1 0">
          <joint axis="0 -1 0"/><joint axis="1 0 0"/>{effector}
        </body>
      </body>
    </body>"""


def _limb_shape(robot: Robot, i: int) -> tuple[float, ...]:
    """cos and sin of the azimuth, base radius, base less platform radius, l1, l2.

    Of inclined arms and rails the limb's axes in rows, its shoulder on the shrunk base, l1, l2.
    """
    g = robot.geometry
    if robot.linear or not robot.rotary.standard:
        frame, l1 = g.frames[i], 0.0 if robot.linear else robot.rotary.arm_length[i]
        return (*_axes(frame).ravel().tolist(), *frame.shoulder, l1, g.strut_length[i])
    azimuth, base = g.azimuth[i], g.base_radius[i]
    shrunk = base - g.platform_radius[i]
    return (
        math.cos(azimuth),
        math.sin(azimuth),
        base,
        shrunk,
        robot.rotary.arm_length[i],
        g.strut_length[i],
    )


def _halves(robot: Robot) -> list[float]:
    """phi0, 1/k, both sigma, S, S_s, h_x, h_y, I_psi of the platform and what it carries."""
    platform = robot.platform
    if not isinstance(platform, ArticulatedPlatform | HelicalPlatform):
        return [0.0] * 9
    phi0, rate = 0.0, 1.0
    if isinstance(platform, ArticulatedPlatform):
        phi0, rate = platform.phi0, 1 / platform.ratio
    S, S_s, squares = platform.moments()
    parts = ((robot.effector, robot.effector.com), (robot.payload, robot.payload.offset))
    h_x, h_y = (sum(body.mass * place[k] for body, place in parts) for k in range(2))
    own = (body.inertia_zz + body.mass * (at[0] ** 2 + at[1] ** 2) for body, at in parts)
    return [phi0, rate, *platform.sigma, S, S_s, h_x, h_y, sum(own) + rate**2 * squares]


def _axes(frame: LimbFrame) -> FloatArray:
    """Rows (3, 3): the arm's direction at 0, the joints' pins, up or along the rail."""
    return np.array([frame.x, np.cross(frame.z, frame.x), frame.z])


def _arm(robot: Robot, i: int) -> TreeBody:
    """Arm and elbow mass as one body; it turns about y alone, so one moment is all it has.

    A carriage does not turn at all.
    """
    if robot.linear:
        return TreeBody(robot.arms[i].mass, np.zeros(3), np.zeros((3, 3)))
    arm, l1 = robot.rotary_arms[i], robot.rotary.arm_length[i]
    parts = [(arm.mass, np.array([arm.com, 0.0, arm.com_offset]), arm.inertia)]
    parts.append((arm.elbow_mass, np.array([l1, 0.0, 0.0]), 0.0))
    mass, com, about_y = _joined(parts, axis=1)
    return TreeBody(mass, com, about_y * np.eye(3))


def _strut(robot: Robot, i: int) -> TreeBody:
    strut = robot.struts[i]
    return _from_ten(strut.body(robot.geometry.strut_length[i]), strut.rods)


def _effector(robot: Robot, spindle: Spindle) -> TreeBody:
    """Effector and payload; they turn about z alone. Its frame is at the lower joint."""
    e, load = robot.effector, robot.payload
    parts = [
        (e.mass, np.array(e.com), e.inertia_zz),
        (load.mass, np.array(load.offset), load.inertia_zz),
    ]
    mass, com, about_z = _joined(parts, axis=2)
    lowered = com - np.array([0.0, 0.0, spindle.lower_joint_z])
    return TreeBody(mass, lowered, about_z * np.eye(3))


def _joined(
    parts: Sequence[tuple[float, FloatArray, float]], axis: int
) -> tuple[float, FloatArray, float]:
    """Mass, COM and moment about one axis through the COM of bodies (mass, COM, own moment)."""
    mass = sum(part[0] for part in parts)
    if mass == 0.0:
        return 0.0, np.zeros(3), sum(part[2] for part in parts)
    com: FloatArray = sum((m * place for m, place, _ in parts), np.zeros(3)) / mass
    across = [k for k in range(3) if k != axis]
    moments = (own + m * float(np.sum((place - com)[across] ** 2)) for m, place, own in parts)
    return mass, com, sum(moments)


def _from_ten(ten: TenParameters, copies: int = 1) -> TreeBody:
    """Equal bodies side by side that move as one."""
    mass = copies * ten.mass
    com = np.array(ten.first_moment) / ten.mass if ten.mass else np.zeros(3)
    xx, yy, zz, xy, yz, xz = ten.inertia
    about_origin = copies * np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return TreeBody(mass, com, about_origin - mass * (com @ com * np.eye(3) - np.outer(com, com)))


def _inertial(body: TreeBody) -> str:
    """Inertial element by principal axes."""
    from scipy.spatial.transform import Rotation

    moments, axes = np.linalg.eigh(body.inertia)
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    x, y, z, w = Rotation.from_matrix(axes).as_quat().tolist()
    # the roundings of a moment that is 0 would be a moment of their own
    moments = np.where(moments < 1e-12 * moments.max(), 0.0, moments)
    return (
        f'<inertial pos="{_text(body.com)}" quat="{_text((w, x, y, z))}" '
        f'mass="{max(body.mass, SMALLEST_INERTIA)!r}" '
        f'diaginertia="{_text(np.maximum(moments, SMALLEST_INERTIA))}"/>'
    )


def _text(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
