"""The closed mechanism as a MuJoCo model (MJCF).

A tree of arms with their struts, the platform on three slides, and with a spindle the chain of
upper joint, telescope, lower joint and effector. The tree is closed by constraints: every strut's
tip meets its joint on the platform, and the effector's axis meets the platform's in two points,
which keeps it upright. Struts and rods are the bodies of the robot file, of any shape. On rails
carriages slide in place of the arms; a counterweight slides beside its carriage, held to the
opposite way by a constraint.

In a plane the platform has two slides. A platform of two halves has a body at the tool's axis on
three slides. Under it hang the bars, which turn by phi and meet both halves, each on slides of its
own, and the tool, whose joint is geared to the bars' by a constraint; or both halves, of which one
rises by sigma psi, with the other and the tool's joint held to it by constraints as the screw does.

Body frames: an arm's x runs along it and y along its motor axis; a carriage's z runs along its
rail; a strut's x runs from elbow to platform; z of a telescope rod runs down the rod; the effector
stands upright at the lower joint; x of the bars runs along n(phi).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.robot.bodies import (
    Arm,
    ArticulatedPlatform,
    Carriage,
    HelicalPlatform,
    Spindle,
    TenParameters,
)
from deltadyn.simulation.drive.drivetrain import Gears

SMALLEST_INERTIA = 1e-9  # kg m^2: MuJoCo's compiler wants some about every axis
UPRIGHT = 0.1  # m between the two points that keep the effector upright
TILT_INERTIA = 1e-3  # kg m^2 about axes around which the effector cannot turn
SOLREF = 2.0  # time constant of a constraint, in steps
SOLIMP = 0.9999  # share of a constraint's error that the solver must take away

ARM_JOINTS = ("theta_1", "theta_2", "theta_3")
DRIVEN = (*ARM_JOINTS, "psi")  # of three limbs; `driven_joints` knows all robots
RIGID = Gears((), ())


def driven_joints(robot: Robot) -> tuple[str, ...]:
    """The names of the driven joints (dof), in the order of the axes."""
    arms = tuple(f"theta_{i + 1}" for i in range(robot.legs))
    return arms if robot.spindle is None else (*arms, "psi")


def coordinate_joints(robot: Robot) -> tuple[str, ...]:
    """The slides of the platform's point: x, y, z, in a plane x, z."""
    return tuple(name for name in robot.coordinates if name != "psi")


def tool_joint(robot: Robot) -> tuple[str, float]:
    """The joint of a platform of halves that moves with psi, and its way per psi (rad or m)."""
    platform = robot.platform
    if isinstance(platform, ArticulatedPlatform):
        return "bars", 1 / platform.ratio
    assert isinstance(platform, HelicalPlatform)
    k = _rising(platform)
    return f"rise_{k + 1}", platform.sigma[k]


def _rising(platform: HelicalPlatform) -> int:
    """The half that rises most as the tool turns."""
    first, second = map(abs, platform.sigma)
    return int(second > first)


def mjcf(robot: Robot, timestep: float, gears: Gears = RIGID, *, hard_tips: bool = False) -> str:
    """The model in steps of `timestep` seconds; behind elastic gears the rotors are bodies.

    With `hard_tips` the struts' tips sit on massless bodies whose centres are the elbows. A
    constraint gives way by a share of MuJoCo's estimate of how easily its bodies move, and at the
    elbow a strut moves less than in its middle.
    """
    rotor = robot.drives.output_inertia
    on_arms = (0.0,) * robot.legs if gears.stiffness else rotor
    limbs = "".join(_limb(robot, i, on_arms[i], hard_tips) for i in range(robot.legs))
    motors = "".join(_motor(robot, i, rotor[i]) for i in range(len(gears.stiffness)))
    spindle = "" if robot.spindle is None else _spindle(robot, robot.spindle, rotor[3])
    return f"""<mujoco model={quoteattr(robot.name)}>
  <compiler angle="radian" autolimits="false"/>
  <option timestep="{timestep!r}" gravity="0 0 {-robot.gravity!r}" integrator="RK4"
    solver="Newton" tolerance="1e-14" iterations="50" jacobian="dense">
    <flag contact="disable"/>
  </option>
  <worldbody>
    {limbs}
    {_platform(robot)}
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


def _platform(robot: Robot) -> str:
    """The platform, in one piece or of two halves, with the sockets of the struts."""
    platform = robot.platform
    if isinstance(platform, ArticulatedPlatform | HelicalPlatform):
        if min(platform.half_mass) <= 0:
            allowed = "above 0 kg for plant 'mujoco'"
            raise InputError("platform.half_mass", platform.half_mass, allowed)
        if isinstance(platform, ArticulatedPlatform):
            return _articulated(robot, platform)
        return _helical(robot, platform)
    mass, _ = platform_masses(robot)
    if mass <= 0:
        raise InputError("platform.mass", platform.mass, "above 0 kg for plant 'mujoco'")
    slides = [_slide(name, name) for name in coordinate_joints(robot)]
    return f"""<body name="platform">
      {"".join(slides)}
      <inertial pos="0 0 0" mass="{mass!r}" diaginertia="{_text([SMALLEST_INERTIA] * 3)}"/>
      {_sockets(robot, range(robot.legs))}
      <site name="seat"/>
      <site name="seat_above" pos="0 0 {UPRIGHT!r}"/>
    </body>"""


def _slide(name: str, along: str) -> str:
    axis = _text([float(letter == along) for letter in "xyz"])
    return f'<joint name="{name}" type="slide" axis="{axis}"/>'


def _articulated(robot: Robot, platform: ArticulatedPlatform) -> str:
    """Bars at the tool's axis, the tool under them, and the halves that they carry.

    Both bars are one body. Half of a half's mass is a point on the bars where they meet it: it
    moves alike, and the solver has an easy task.
    """
    (first, second), light = platform.sigma, np.diag([0.0, 0.0, platform.bar_inertia])
    middle = first - platform.bar_com * platform.bar_length
    points = [
        (platform.half_mass[0] / 2, np.array([first, 0.0, 0.0])),
        (platform.half_mass[1] / 2, np.array([second, 0.0, 0.0])),
        (platform.bar_mass, np.array([middle, 0.0, 0.0])),
        (platform.gear_mass, np.array([*platform.gear_place, 0.0])),
    ]
    mass = sum(point[0] for point in points)
    com = sum((m * at for m, at in points), np.zeros(3)) / mass
    inertia = light - mass * (com @ com * np.eye(3) - np.outer(com, com))
    for m, at in points:
        inertia = inertia + m * (at @ at * np.eye(3) - np.outer(at, at))
    tilt = max(float(inertia[2, 2]), TILT_INERTIA)  # the bars stay level
    inertia = np.diag([tilt, tilt, float(inertia[2, 2])])
    halves = "".join(
        f"""<body name="half_{k + 1}">
      {"".join(_slide(f"half_{k + 1}_{name}", name) for name in "xyz")}
      {_inertial(platform.half_mass[k] / 2, np.zeros(3), np.zeros((3, 3)))}
      {_sockets(robot, (2 * k, 2 * k + 1))}
      <site name="hinge_{k + 1}"/>
    </body>"""
        for k in range(2)
    )
    return f"""<body name="platform">
      {"".join(_slide(name, name) for name in "xyz")}
      <joint name="bars" axis="0 0 1" armature="{platform.gear_inertia!r}"/>
      {_inertial(mass, com, inertia)}
      <site name="bar_1" pos="{first!r} 0 0"/>
      <site name="bar_2" pos="{second!r} 0 0"/>
      {_tool(robot, "tool")}
    </body>
    {halves}"""


def _helical(robot: Robot, platform: HelicalPlatform) -> str:
    """The tool at its axis, and the halves that rise and fall as it turns.

    A screw makes a turning tool heavy: I / sigma^2 is many times the mass of a half. Where a
    constraint alone held it, the half would give way. So the inertia about the tool's COM is a mass
    on the slide of the half that rises most; the COM itself still turns with psi.
    """
    most = _rising(platform)
    halves = ""
    for k, (mass, sigma) in enumerate(zip(platform.half_mass, platform.sigma, strict=True)):
        turning = _about_tool(robot) / sigma**2 if k == most else 0.0
        slide = f'<joint name="rise_{k + 1}" type="slide" axis="0 0 1" armature="{turning!r}"/>'
        halves += f"""<body name="half_{k + 1}">
        {slide if sigma else ""}
        {_inertial(mass, np.zeros(3), np.zeros((3, 3)))}
        {_sockets(robot, (2 * k, 2 * k + 1))}
      </body>"""
    least = np.full(3, SMALLEST_INERTIA)
    return f"""<body name="platform">
      {"".join(_slide(name, name) for name in "xyz")}
      <inertial pos="0 0 0" mass="{SMALLEST_INERTIA!r}" diaginertia="{_text(least)}"/>
      {_tool(robot, "psi", _about_tool(robot))}
      {halves}
    </body>"""


def _tool(robot: Robot, joint: str, elsewhere: float = 0.0) -> str:
    """Effector and payload on their joint at the tool's axis, less inertia that is elsewhere."""
    return f"""<body name="effector">
        <joint name="{joint}" axis="0 0 1"/>
        {_effector(robot, 0.0, 0.0, elsewhere)}
      </body>"""


def _about_tool(robot: Robot) -> float:
    """Inertia of effector and payload about the vertical through their common COM, kg m^2."""
    return max(_effector_parts(robot, 0.0).about_com - SMALLEST_INERTIA, 0.0)


def platform_masses(robot: Robot) -> tuple[float, float]:
    """Mass on the platform's slides and, with a spindle, the share of it that the effector takes.

    Both move alike; with mass on the effector's side of the constraint the solver has an easy task.
    """
    if robot.spindle is None:
        return robot.platform.mass + robot.effector.mass + robot.payload.mass, 0.0
    return robot.platform.mass / 2, robot.platform.mass / 2


def _limb(robot: Robot, i: int, rotor: float, hard_tip: bool) -> str:
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
    tip = f'<site name="tip_{i + 1}" pos="{l2!r} 0 0"/>'
    if hard_tip:
        empty = '<inertial pos="0 0 0" mass="0" diaginertia="0 0 0"/>'
        tip = f'<body name="end_{i + 1}">{empty}{tip}</body>'
    return f"""<body name="arm_{i + 1}" {place}>
      {driven}
      <body name="strut_{i + 1}" pos="{length!r} 0 0">
        <joint name="swing_{i + 1}" axis="0 1 0"/>
        <joint name="sway_{i + 1}" axis="0 0 1"/>
        {_body(strut.body(l2), strut.rods)}
        {tip}
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
          {_effector(robot, platform_masses(robot)[1], spindle.lower_joint_z)}
          <site name="held" pos="0 0 {-spindle.lower_joint_z!r}"/>
          <site name="held_above" pos="0 0 {UPRIGHT - spindle.lower_joint_z!r}"/>
        </body>
      </body>
    </body>"""


class _Turning(NamedTuple):
    """What turns with the tool: mass, COM in the effector's frame, inertia about its vertical."""

    mass: float
    com: FloatArray
    about_com: float


def _effector(robot: Robot, share: float, height: float, elsewhere: float = 0.0) -> str:
    """Effector, payload and a share of the platform's mass (kg) as one body in the effector's
    frame, which is `height` (m) above the platform's point; less inertia that is elsewhere.
    """
    mass, com, about_com = _effector_parts(robot, share)
    about_com -= elsewhere
    tilt = max(about_com, TILT_INERTIA)
    inertia = np.diag([tilt, tilt, about_com])
    return _inertial(mass, com - np.array([0.0, 0.0, height]), inertia)


def _effector_parts(robot: Robot, share: float) -> _Turning:
    effector, payload = robot.effector, robot.payload
    parts = [
        (max(share, SMALLEST_INERTIA), np.zeros(3), 0.0),
        (effector.mass, np.array(effector.com), effector.inertia_zz),
        (payload.mass, np.array(payload.offset), payload.inertia_zz),
    ]
    mass = sum(part[0] for part in parts)
    com = sum((part[0] * part[1] for part in parts), np.zeros(3)) / mass
    about_axis = sum(m * (p[0] ** 2 + p[1] ** 2) + turning for m, p, turning in parts)
    return _Turning(mass, com, float(about_axis - mass * (com[0] ** 2 + com[1] ** 2)))


def _platform_joint(robot: Robot, i: int) -> FloatArray:
    """Where strut i meets the platform, from the platform's point (m)."""
    radius, azimuth = robot.geometry.platform_radius[i], robot.geometry.azimuth[i]
    return np.array([radius * math.cos(azimuth), radius * math.sin(azimuth), 0.0])


def _sockets(robot: Robot, limbs: Iterable[int]) -> str:
    """The sites at which struts meet the platform, or one of its halves."""
    return "".join(
        f'<site name="socket_{i + 1}" pos="{_text(_platform_joint(robot, i))}"/>' for i in limbs
    )


def _constraints(robot: Robot, timestep: float) -> str:
    pairs = [(f"tip_{i + 1}", f"socket_{i + 1}") for i in range(robot.legs)]
    if robot.spindle is not None:
        pairs += [("held", "seat"), ("held_above", "seat_above")]
    if isinstance(robot.platform, ArticulatedPlatform):
        pairs += [("bar_1", "hinge_1"), ("bar_2", "hinge_2")]
    stiff = f'solref="{SOLREF * timestep!r} 1" solimp="{SOLIMP!r} {SOLIMP!r} 0.001 0.5 2"'
    loops = [f'<connect site1="{a}" site2="{b}" {stiff}/>' for a, b in pairs]
    belts = [
        f'<joint joint1="counter_{i}" joint2="theta_{i}" polycoef="0 -1 0 0 0" {stiff}/>'
        for i, arm in enumerate(robot.arms, start=1)
        if isinstance(arm, Carriage) and arm.counterweight > 0
    ]
    couplings = [
        f'<joint joint1="{a}" joint2="{b}" polycoef="{start!r} {slope!r} 0 0 0" {stiff}/>'
        for a, b, start, slope in _couplings(robot)
    ]
    return "".join(loops + belts + couplings)


def _couplings(robot: Robot) -> list[tuple[str, str, float, float]]:
    """Joints a and b with a = start + slope b: gears and screws of the tool.

    The tool's joint counts from the bars: psi - phi = (k - 1) phi - k phi0.
    """
    platform = robot.platform
    if isinstance(platform, ArticulatedPlatform):
        k = platform.ratio
        return [("tool", "bars", -k * platform.phi0, k - 1)]
    if isinstance(platform, HelicalPlatform):
        joint, sigma = tool_joint(robot)
        other = 1 - _rising(platform)
        found = [("psi", joint, 0.0, 1 / sigma)]
        if platform.sigma[other]:
            found.append((f"rise_{other + 1}", joint, 0.0, platform.sigma[other] / sigma))
        return found
    return []


def platform_joints(robot: Robot, state: State) -> dict[str, tuple[float, float]]:
    """Value and rate of the platform's own joints at the first sample of a state, by name."""
    p, pd = state.p[0].tolist(), state.pd[0].tolist()
    values = {name: (p[k], pd[k]) for k, name in enumerate(coordinate_joints(robot))}
    platform = robot.platform
    if isinstance(platform, HelicalPlatform):
        values["psi"] = p[3], pd[3]
        for k, sigma in enumerate(platform.sigma):
            values[f"rise_{k + 1}"] = sigma * p[3], sigma * pd[3]
    if isinstance(platform, ArticulatedPlatform):
        phi, rate = platform.phi0 + p[3] / platform.ratio, pd[3] / platform.ratio
        values |= {"bars": (phi, rate), "tool": (p[3] - phi, pd[3] - rate)}
        n, across = (math.cos(phi), math.sin(phi), 0.0), (-math.sin(phi), math.cos(phi), 0.0)
        for k, sigma in enumerate(platform.sigma):
            for i, name in enumerate("xyz"):
                place = p[i] + sigma * n[i], pd[i] + sigma * rate * across[i]
                values[f"half_{k + 1}_{name}"] = place
    return values


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
