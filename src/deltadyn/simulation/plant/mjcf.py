"""The closed mechanism as a MuJoCo model (MJCF).

A tree of arms with their struts, the platform on three slides, and with a spindle the chain of
upper joint, telescope, lower joint and effector. The tree is closed by constraints: every strut's
tip meets its joint on the platform, and the effector's axis meets the platform's in two points,
which keeps it upright. Struts and rods are the bodies of the robot file, of any shape. On rails
carriages slide in place of the arms; a counterweight slides beside its carriage, held to the
opposite way by a constraint.

Body frames: an arm's x runs along it and y along its motor axis; a carriage's z runs along its
rail; a strut's x runs from elbow to platform; z of a telescope rod runs down the rod; the effector
stands upright at the lower joint.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from xml.sax.saxutils import quoteattr

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Arm, Carriage, Spindle, TenParameters
from deltadyn.simulation.drive.drivetrain import Gears

SMALLEST_INERTIA = 1e-9  # kg m^2: MuJoCo's compiler wants some about every axis
UPRIGHT = 0.1  # m between the two points that keep the effector upright
TILT_INERTIA = 1e-3  # kg m^2 about axes around which the effector cannot turn
SOLREF = 2.0  # time constant of a constraint, in steps
SOLIMP = 0.9999  # share of a constraint's error that the solver must take away

ARM_JOINTS = ("theta_1", "theta_2", "theta_3")
DRIVEN = (*ARM_JOINTS, "psi")
RIGID = Gears((), ())


def mjcf(robot: Robot, timestep: float, gears: Gears = RIGID) -> str:
    """The model in steps of `timestep` seconds; behind elastic gears the rotors are bodies."""
    rotor = robot.drives.output_inertia
    on_arms = (0.0,) * 3 if gears.stiffness else rotor
    limbs = "".join(_limb(robot, i, on_arms[i]) for i in range(3))
    motors = "".join(_motor(robot, i, rotor[i]) for i in range(len(gears.stiffness)))
    spindle = "" if robot.spindle is None else _spindle(robot, robot.spindle, rotor[3])
    mass, _ = platform_masses(robot)
    if mass <= 0:
        raise InputError("platform.mass", robot.platform.mass, "above 0 kg for plant 'mujoco'")
    return f"""<mujoco model={quoteattr(robot.name)}>
  <compiler angle="radian" autolimits="false"/>
  <option timestep="{timestep!r}" gravity="0 0 {-robot.gravity!r}" integrator="RK4"
    solver="Newton" tolerance="1e-14" iterations="50" jacobian="dense">
    <flag contact="disable"/>
  </option>
  <worldbody>
    {limbs}
    <body name="platform">
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="y" type="slide" axis="0 1 0"/>
      <joint name="z" type="slide" axis="0 0 1"/>
      <inertial pos="0 0 0" mass="{mass!r}" diaginertia="{_text([SMALLEST_INERTIA] * 3)}"/>
      {"".join(_platform_site(robot, i) for i in range(3))}
      <site name="seat"/>
      <site name="seat_above" pos="0 0 {UPRIGHT!r}"/>
    </body>
    {spindle}
    {motors}
  </worldbody>
  <tendon>
    {"".join(_gear(i, gears) for i in range(len(gears.stiffness)))}
  </tendon>
  <equality>
    {_constraints(robot, timestep)}
  </equality>
</mujoco>"""


def _motor(robot: Robot, i: int, rotor: float) -> str:
    """A rotor on its own axis, at the output side of the gear: on rails a mass that slides."""
    kind = "slide" if robot.linear else "hinge"
    return f"""<body name="motor_{i + 1}">
      <joint name="motor_{i + 1}" type="{kind}" axis="0 1 0" armature="{rotor!r}"/>
      <inertial pos="0 0 0" mass="{SMALLEST_INERTIA!r}"
        diaginertia="{_text([SMALLEST_INERTIA] * 3)}"/>
    </body>"""


def _gear(i: int, gears: Gears) -> str:
    """Spring and damper on the angle (or way) from arm to motor."""
    return f"""<fixed stiffness="{gears.stiffness[i]!r}" damping="{gears.damping[i]!r}"
      springlength="0">
      <joint joint="motor_{i + 1}" coef="1"/><joint joint="theta_{i + 1}" coef="-1"/>
    </fixed>"""


def platform_masses(robot: Robot) -> tuple[float, float]:
    """Mass on the platform's slides and, with a spindle, the share of it that the effector takes.

    Both move alike; with mass on the effector's side of the constraint the solver has an easy task.
    """
    if robot.spindle is None:
        return robot.platform.mass + robot.effector.mass + robot.payload.mass, 0.0
    return robot.platform.mass / 2, robot.platform.mass / 2


def _limb(robot: Robot, i: int, rotor: float) -> str:
    g, arm, strut = robot.geometry, robot.arms[i], robot.struts[i]
    frame, l2 = g.frames[i], g.strut_length[i]
    begin = np.asarray(frame.shoulder) + _platform_joint(robot, i)  # the base is not shrunk here
    axes = np.stack([frame.x, np.cross(frame.z, frame.x), frame.z], axis=-1)
    place = f'pos="{_text(begin)}" quat="{_text(_quaternion(axes))}"'
    driven = _carriage(i, arm, rotor) if isinstance(arm, Carriage) else _arm(robot, i, arm, rotor)
    length = 0.0 if robot.linear else float(robot.rotary.arm_length[i])
    beside = ""
    if isinstance(arm, Carriage) and arm.counterweight > 0:
        beside = f"""<body name="counter_{i + 1}" {place}>
      <joint name="counter_{i + 1}" type="slide" axis="0 0 1"/>
      {_inertial(arm.counterweight, np.zeros(3), np.zeros((3, 3)))}
    </body>"""
    return f"""<body name="arm_{i + 1}" {place}>
      {driven}
      <body name="strut_{i + 1}" pos="{length!r} 0 0">
        <joint name="swing_{i + 1}" axis="0 1 0"/>
        <joint name="sway_{i + 1}" axis="0 0 1"/>
        {_body(strut.body(l2), strut.rods)}
        <site name="tip_{i + 1}" pos="{l2!r} 0 0"/>
      </body>
    </body>{beside}"""


def _arm(robot: Robot, i: int, arm: Arm, rotor: float) -> str:
    """Joint and body of an arm, with what sits in its elbow."""
    inertia = np.diag([SMALLEST_INERTIA, arm.inertia, arm.inertia])
    elbow = ""
    if arm.elbow_mass > 0:
        place = np.array([robot.rotary.arm_length[i], 0.0, 0.0])
        elbow = f"<body>{_inertial(arm.elbow_mass, place, np.zeros((3, 3)))}</body>"
    return f"""<joint name="theta_{i + 1}" axis="0 1 0" armature="{rotor!r}"/>
      {_inertial(arm.mass, np.array([arm.com, 0.0, arm.com_offset]), inertia)}
      {elbow}"""


def _carriage(i: int, carriage: Carriage, rotor: float) -> str:
    """Joint and body of a carriage; the rotor is a mass in kg here."""
    return f"""<joint name="theta_{i + 1}" type="slide" axis="0 0 1" armature="{rotor!r}"/>
      {_inertial(carriage.mass, np.zeros(3), np.zeros((3, 3)))}"""


def _spindle(robot: Robot, spindle: Spindle, rotor: float) -> str:
    """The quaternion 0 1 -1 0 maps (x, y, z) to (-y, -x, -z) and is its own inverse.

    With it the upper rod hangs down at psi = fork = cross = 0. Fork axis a and cross axis b are
    -y and +x of the upper rod; for the lower joint b and a are -y and +x of the effector.
    """
    return f"""<body name="upper" pos="0 0 {spindle.upper_joint_z!r}" quat="0 1 -1 0">
      <joint name="psi" axis="0 0 -1" armature="{rotor!r}"/>
      <joint name="fork" axis="0 -1 0"/>
      <joint name="cross" axis="1 0 0"/>
      {_body(spindle.upper.body(1), 1)}
      <body name="lower">
        <joint name="slide" type="slide" axis="0 0 1"/>
        {_body(spindle.lower.body(-1), 1)}
        <body name="effector" quat="0 1 -1 0">
          <joint name="cross_low" axis="0 -1 0"/>
          <joint name="fork_low" axis="1 0 0"/>
          {_effector(robot, spindle)}
          <site name="held" pos="0 0 {-spindle.lower_joint_z!r}"/>
          <site name="held_above" pos="0 0 {UPRIGHT - spindle.lower_joint_z!r}"/>
        </body>
      </body>
    </body>"""


def _effector(robot: Robot, spindle: Spindle) -> str:
    """Effector, payload and half of the platform's mass as one body in the effector's frame."""
    effector, payload = robot.effector, robot.payload
    parts = [
        (platform_masses(robot)[1], np.zeros(3), 0.0),
        (effector.mass, np.array(effector.com), effector.inertia_zz),
        (payload.mass, np.array(payload.offset), payload.inertia_zz),
    ]
    mass = sum(part[0] for part in parts)
    com = sum((part[0] * part[1] for part in parts), np.zeros(3)) / mass
    about_axis = sum(m * (p[0] ** 2 + p[1] ** 2) + turning for m, p, turning in parts)
    about_com = about_axis - mass * (com[0] ** 2 + com[1] ** 2)
    tilt = max(about_com, TILT_INERTIA)
    inertia = np.diag([tilt, tilt, about_com])
    return _inertial(mass, com - np.array([0.0, 0.0, spindle.lower_joint_z]), inertia)


def _platform_joint(robot: Robot, i: int) -> FloatArray:
    """Where strut i meets the platform, from the platform's point (m)."""
    radius, azimuth = robot.geometry.platform_radius[i], robot.geometry.azimuth[i]
    return np.array([radius * math.cos(azimuth), radius * math.sin(azimuth), 0.0])


def _platform_site(robot: Robot, i: int) -> str:
    return f'<site name="socket_{i + 1}" pos="{_text(_platform_joint(robot, i))}"/>'


def _constraints(robot: Robot, timestep: float) -> str:
    pairs = [(f"tip_{i}", f"socket_{i}") for i in (1, 2, 3)]
    if robot.spindle is not None:
        pairs += [("held", "seat"), ("held_above", "seat_above")]
    stiff = f'solref="{SOLREF * timestep!r} 1" solimp="{SOLIMP!r} {SOLIMP!r} 0.001 0.5 2"'
    loops = [f'<connect site1="{a}" site2="{b}" {stiff}/>' for a, b in pairs]
    belts = [
        f'<joint joint1="counter_{i}" joint2="theta_{i}" polycoef="0 -1 0 0 0" {stiff}/>'
        for i, arm in enumerate(robot.arms, start=1)
        if isinstance(arm, Carriage) and arm.counterweight > 0
    ]
    return "".join(loops + belts)


def _body(ten: TenParameters, copies: int) -> str:
    """Inertial element of equal bodies side by side that move as one."""
    mass = copies * ten.mass
    com = np.array(ten.first_moment) / ten.mass if ten.mass else np.zeros(3)
    xx, yy, zz, xy, yz, xz = ten.inertia
    about_origin = copies * np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    shift = mass * (com @ com * np.eye(3) - np.outer(com, com))
    return _inertial(mass, com, about_origin - shift)


def _inertial(mass: float, com: FloatArray, inertia: FloatArray) -> str:
    """Inertial element by principal axes; `inertia` (3, 3) is about the COM."""
    moments, axes = np.linalg.eigh(inertia)
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    moments = np.maximum(moments, SMALLEST_INERTIA)
    return (
        f'<inertial pos="{_text(com)}" quat="{_text(_quaternion(axes))}" '
        f'mass="{float(mass)!r}" diaginertia="{_text(moments)}"/>'
    )


def _quaternion(rotation: FloatArray) -> list[float]:
    """w, x, y, z of a rotation matrix."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(rotation).as_quat().tolist()
    return [w, x, y, z]


def _text(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
