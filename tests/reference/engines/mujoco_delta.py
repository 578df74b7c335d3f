"""The open tree in MuJoCo."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from .closure import Frame
from .spec import Array, EngineBody, EngineRobot, EngineSpindle

SMALLEST_INERTIA = 1e-14  # MuJoCo's compiler refuses a moving body without it about some axis


@dataclass(frozen=True, eq=False)
class MujocoEngine:
    """Kinematics and dynamics of the open tree by MuJoCo; build it with `mujoco_engine`."""

    robot: EngineRobot
    model: Any
    data: Any

    def frames(self, x: Array, names: Sequence[str]) -> Mapping[str, Frame]:
        """Frames with their Jacobians."""
        self._place(x, np.zeros_like(x))
        return {name: self._frame(name) for name in names}

    def drifts(self, x: Array, xd: Array, names: Sequence[str]) -> Mapping[str, Array]:
        """Accelerations of the frames at xdd = 0, Jd xd: (6,), linear over angular."""
        self._place(x, xd)
        return {name: self._jacobian_rate(name) @ xd for name in names}

    def mass_matrix(self, x: Array) -> Array:
        """Mass matrix (n, n) of the open tree with its rotors."""
        self._place(x, np.zeros_like(x))
        mujoco.mj_makeM(self.model, self.data)
        mass = np.empty((len(x), len(x)))
        mujoco.mj_fullM(self.model, self.data, mass)
        return mass

    def inverse_dynamics(self, x: Array, xd: Array, xdd: Array) -> Array:
        """Generalised forces (n,) of the open tree; mj_rne leaves the rotors to its caller."""
        self._place(x, xd)
        self.data.qacc[:] = xdd
        tau = np.empty(len(x))
        mujoco.mj_rne(self.model, self.data, 1, tau)
        return tau + np.asarray(self.model.dof_armature) * xdd

    def energy(self, x: Array, xd: Array) -> tuple[float, float]:
        """Kinetic energy with rotors, and potential energy, 0 for a mass in the base plane."""
        self._place(x, xd)
        mujoco.mj_makeM(self.model, self.data)
        mujoco.mj_energyPos(self.model, self.data)
        mujoco.mj_energyVel(self.model, self.data)
        return float(self.data.energy[1]), float(self.data.energy[0])

    def _place(self, x: Array, xd: Array) -> None:
        self.data.qpos[:] = x
        self.data.qvel[:] = xd
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_comVel(self.model, self.data)

    def _frame(self, name: str) -> Frame:
        site = self.model.site(name).id
        jacobian = np.zeros((6, self.model.nv))
        mujoco.mj_jacSite(self.model, self.data, jacobian[:3], jacobian[3:], site)
        rotation = self.data.site_xmat[site].reshape(3, 3).copy()
        return Frame(self.data.site_xpos[site].copy(), rotation, jacobian)

    def _jacobian_rate(self, name: str) -> Array:
        site = self.model.site(name).id
        rate = np.zeros((6, self.model.nv))
        mujoco.mj_jacDot(
            self.model,
            self.data,
            rate[:3],
            rate[3:],
            self.data.site_xpos[site],
            self.model.site_bodyid[site],
        )
        return rate


def mujoco_engine(robot: EngineRobot) -> MujocoEngine:
    """Build the open tree of the robot in MuJoCo."""
    model = mujoco.MjModel.from_xml_string(mjcf(robot))
    model.body_inertia[model.body_inertia <= SMALLEST_INERTIA] = 0.0  # its algorithms do not mind
    return MujocoEngine(robot, model, mujoco.MjData(model))


def mjcf(robot: EngineRobot) -> str:
    """MJCF of the open tree; every frame of the closure is a site of its name."""
    limbs = "".join(_limb(robot, i) for i in range(3))
    spindle = robot.spindle
    payload = _payload(robot.payload_mass, np.zeros(3)) if spindle is None else ""
    platform = EngineBody(robot.platform_mass, np.zeros(3), np.zeros((3, 3)))
    return f"""<mujoco>
  <compiler angle="radian" autolimits="false"/>
  <option gravity="0 0 {-robot.gravity!r}"><flag constraint="disable" contact="disable"/></option>
  <worldbody>
    {limbs}
    <body>
      <joint type="slide" axis="1 0 0"/>
      <joint type="slide" axis="0 1 0"/>
      <joint type="slide" axis="0 0 1"/>
      {_inertial(platform, np.zeros(3))}
      <site name="platform"/>
      {payload}
    </body>
    {"" if spindle is None else _spindle(robot, spindle)}
  </worldbody>
</mujoco>"""


def _limb(robot: EngineRobot, i: int) -> str:
    half = robot.azimuth[i] / 2
    shoulder = robot.base_radius[i] * robot.radial[i]
    return f"""<body pos="{_text(shoulder)}" quat="{_text([np.cos(half), 0, 0, np.sin(half)])}">
      <joint axis="0 1 0" armature="{robot.rotor_inertia[i]!r}"/>
      {_inertial(robot.arms[i], np.zeros(3))}
      <site name="arm_{i + 1}"/>
      <body pos="{robot.arm_length[i]!r} 0 0">
        <joint axis="0 1 0"/>
        <joint axis="0 0 1"/>
        {_inertial(robot.struts[i], np.zeros(3))}
        <site name="strut_{i + 1}"/>
        <site name="tip_{i + 1}" pos="{robot.strut_length[i]!r} 0 0"/>
      </body>
    </body>"""


def _spindle(robot: EngineRobot, spindle: EngineSpindle) -> str:
    """Spindle; the quaternion 0 1 -1 0 maps (x, y, z) to (-y, -x, -z), and is its own inverse.

    With it the upper rod hangs down at psi = phi = eta = 0. The joint axes of a body are given in
    its own frame: z_hat, a and b are -z, -y and +x of the upper rod, b and a are -y and +x of the
    effector.
    """
    to_point = np.array([0.0, 0.0, -spindle.z_lower])
    payload = _payload(robot.payload_mass, to_point + np.array(robot.payload_offset))
    return f"""<body pos="0 0 {spindle.z_upper!r}" quat="0 1 -1 0">
      <joint axis="0 0 -1" armature="{robot.rotor_inertia[3]!r}"/>
      <joint axis="0 -1 0"/>
      <joint axis="1 0 0"/>
      {_inertial(spindle.upper, np.zeros(3))}
      <site name="upper"/>
      <body>
        <joint type="slide" axis="0 0 1"/>
        {_inertial(spindle.lower, np.zeros(3))}
        <site name="lower"/>
        <body quat="0 1 -1 0">
          <joint axis="0 -1 0"/>
          <joint axis="1 0 0"/>
          {_inertial(spindle.effector, to_point)}
          <site name="effector" pos="{_text(to_point)}"/>
          {payload}
        </body>
      </body>
    </body>"""


def _inertial(body: EngineBody, origin: Array) -> str:
    """Inertial element in principal axes, for a body frame at `origin` in MuJoCo's body."""
    moments, axes = np.linalg.eigh(body.inertia_com)
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, axes.flatten())
    return (
        f'<inertial pos="{_text(origin + body.com)}" quat="{_text(quaternion)}" '
        f'mass="{body.mass!r}" diaginertia="{_text(np.maximum(moments, SMALLEST_INERTIA))}"/>'
    )


def _payload(mass: float, position: Array) -> str:
    if mass == 0.0:
        return ""
    point = EngineBody(mass, np.zeros(3), np.zeros((3, 3)))
    return f'<body pos="{_text(position)}">{_inertial(point, np.zeros(3))}</body>'


def _text(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
