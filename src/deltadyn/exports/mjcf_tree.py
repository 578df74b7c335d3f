"""The exported MuJoCo model as an XML tree, made from the simulator's own model.

Bodies and their inertias are those of plant 'mujoco'. What changes: the telescope hangs under the
platform, so that one connection at its top closes it; the strut's tips sit on bodies of their own;
and the model is written at home, so that MuJoCo starts with closed loops.

Why the telescope may hang there: both universal joints are in phase, so the upper fork always
turns by the effector's psi. Its drive and rotor act on that joint alike.

Why tips have bodies: a constraint's softness is a share of MuJoCo's estimate of how easily its
bodies move. At the elbow a strut moves less than in its middle, so the constraint is harder.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping

from deltadyn.exports.common import identifier
from deltadyn.exports.mjcf_pose import home_angles, joint_values
from deltadyn.robot import Robot
from deltadyn.robot_bodies import Spindle
from deltadyn.simulation.mujoco_model import DRIVEN, SOLIMP, SOLREF, mjcf

Element = ET.Element
UPSIDE_DOWN = "0 1 -1 0"  # z of a telescope rod runs down


def model_tree(robot: Robot, timestep: float) -> Element:
    """The mechanism with its constraints, drives and sensors; nothing to look at yet."""
    root = ET.fromstring(mjcf(robot.replace(name=identifier(robot)), timestep))
    if robot.spindle is not None:
        _rehang_spindle(root, robot, robot.spindle)
    for i in (1, 2, 3):
        _own_tip(root, i)
    home = _home(robot)
    _write_at(root, home)
    _limit(root, robot)
    _rub(root, robot)
    _harden_friction(root, timestep)
    _drive(root, robot)
    _sense(root, robot)
    _keep_home(root, home)
    return root


def _home(robot: Robot) -> dict[str, float]:
    """Joints at home; rounding errors on the robot's axis are 0."""
    values = joint_values(robot, home_angles(robot))
    return {name: value if abs(value) > 1e-12 else 0.0 for name, (value, _) in values.items()}


def body(root: Element, name: str) -> Element:
    """The body of that name."""
    return next(item for item in root.iter("body") if item.get("name") == name)


def add(parent: Element, tag: str, **attributes: str | float | Iterable[float]) -> Element:
    """A new element; numbers are written so that they read back as the same doubles."""
    return ET.SubElement(parent, tag, {k.rstrip("_"): text(v) for k, v in attributes.items()})


def text(value: str | float | Iterable[float]) -> str:
    """A number, or numbers with spaces between them."""
    if isinstance(value, str):
        return value
    if isinstance(value, float | int):
        return repr(float(value))
    return " ".join(repr(float(item)) for item in value)


def child(root: Element, tag: str) -> Element:
    """The root's element of that tag, made where there is none."""
    found = root.find(tag)
    return add(root, tag) if found is None else found


def _rehang_spindle(root: Element, robot: Robot, spindle: Spindle) -> None:
    """Platform, effector, lower rod, upper rod; and a pivot that holds the top."""
    world = child(root, "worldbody")
    platform, effector = body(root, "platform"), body(root, "effector")
    upper, lower = body(root, "upper"), body(root, "lower")
    world.remove(upper)
    upper.remove(lower)
    lower.remove(effector)
    for part in (upper, lower, effector):
        inertial = part.find("inertial")
        name = part.get("name", "")
        part.clear()
        part.set("name", name)
        if inertial is not None:
            part.append(inertial)
    effector.set("pos", text((0.0, 0.0, spindle.lower_joint_z)))
    rotor = robot.drives.output_inertia[3]
    effector.insert(0, ET.Element("joint", name="psi", axis="0 0 1", armature=text(rotor)))
    lower.set("quat", UPSIDE_DOWN)
    lower.insert(0, ET.Element("joint", name="fork", axis="0 -1 0"))
    lower.insert(1, ET.Element("joint", name="cross", axis="1 0 0"))
    upper.insert(0, ET.Element("joint", name="slide", type="slide", axis="0 0 -1"))
    add(upper, "site", name="top")
    add(world, "site", name="pivot", pos=(0.0, 0.0, spindle.upper_joint_z))
    platform.append(effector)
    effector.append(lower)
    lower.append(upper)
    _reconnect(child(root, "equality"))


def _reconnect(equality: Element) -> None:
    """The effector stands upright by its joint now; what is left to hold is the top."""
    for item in equality.findall("connect"):
        if item.get("site1") == "held_above":
            equality.remove(item)
        elif item.get("site1") == "held":
            item.set("site1", "top")
            item.set("site2", "pivot")


def _own_tip(root: Element, i: int) -> None:
    """Move the strut's tip to a massless body whose centre is the elbow."""
    strut = body(root, f"strut_{i}")
    tip = next(site for site in strut.findall("site") if site.get("name") == f"tip_{i}")
    strut.remove(tip)
    end = add(strut, "body", name=f"end_{i}")
    add(end, "inertial", pos="0 0 0", mass="0", diaginertia="0 0 0")
    end.append(tip)


def _write_at(root: Element, home: Mapping[str, float]) -> None:
    """Place the bodies as they are at home and tell the joints; sway, fork, cross are 0 there.

    Only the first joint of a body, or slides, may be away from 0: turns do not commute.
    """
    for item in root.iter("body"):
        for joint in item.findall("joint"):
            value = home[joint.get("name", "")]
            if value == 0:
                continue
            joint.set("ref", text(value))
            axis = [float(part) for part in joint.get("axis", "").split()]
            if joint.get("type") == "slide":
                place = [float(part) for part in item.get("pos", "0 0 0").split()]
                item.set("pos", text(a + value * b for a, b in zip(place, axis, strict=True)))
            else:
                turn = [float(part) for part in item.get("quat", "1 0 0 0").split()]
                item.set("quat", text(_turned(turn, axis, value)))


def _turned(quaternion: list[float], axis: list[float], angle: float) -> list[float]:
    """The rotation followed by a turn about an axis of its own frame, as w, x, y, z."""
    w, x, y, z = quaternion
    c, s = math.cos(angle / 2), math.sin(angle / 2)
    a, b, d = (s * part for part in axis)
    return [
        w * c - x * a - y * b - z * d,
        w * a + x * c + y * d - z * b,
        w * b - x * d + y * c + z * a,
        w * d + x * b - y * a + z * c,
    ]


def _joint(root: Element, name: str) -> Element:
    return next(item for item in root.iter("joint") if item.get("name") == name)


def _limit(root: Element, robot: Robot) -> None:
    """Ranges of the driven joints and the telescope's stroke, where the robot file knows them."""
    low, high = robot.limits.angle_min, robot.limits.angle_max
    if low is not None and high is not None:
        for axis, name in enumerate(DRIVEN[: robot.dof]):
            _range(root, name, low[axis], high[axis])
    if robot.spindle is not None and robot.spindle.stroke is not None:
        _range(root, "slide", *robot.spindle.stroke)


def _range(root: Element, name: str, low: float, high: float) -> None:
    joint = _joint(root, name)
    joint.set("limited", "true")
    joint.set("range", text((low, high)))


def _rub(root: Element, robot: Robot) -> None:
    """Viscous and Coulomb friction; a joint that is the sum of two gets a tendon."""
    friction = robot.friction
    for axis, name in enumerate(DRIVEN[: robot.dof]):
        coulomb = friction.coulomb[axis]
        if friction.coulomb_negative is not None:
            coulomb = (coulomb + friction.coulomb_negative[axis]) / 2
        _resist(_joint(root, name), friction.viscous[axis], coulomb)
    for item in friction.passive:
        if item.joint == "platform_swing":
            for i in (1, 2, 3):
                tendon = add(child(root, "tendon"), "fixed", name=f"platform_swing_{i}")
                _resist(tendon, item.viscous, item.coulomb)
                add(tendon, "joint", joint=f"theta_{i}", coef="1")
                add(tendon, "joint", joint=f"swing_{i}", coef="1")
        else:
            joints, count = _PASSIVE[item.joint]
            for name in joints:
                _resist(_joint(root, name), count * item.viscous, count * item.coulomb)


#: Joints that carry a passive joint's friction, and how many real joints each stands for.
_PASSIVE: dict[str, tuple[tuple[str, ...], int]] = {
    "elbow_swing": (("swing_1", "swing_2", "swing_3"), 1),
    "elbow_sway": (("sway_1", "sway_2", "sway_3"), 1),
    "platform_sway": (("sway_1", "sway_2", "sway_3"), 1),
    "prismatic": (("slide",), 1),
    "universal_fork": (("fork",), 2),
    "universal_cross": (("cross",), 2),
}


def _resist(element: Element, viscous: float, coulomb: float) -> None:
    for name, value in (("damping", viscous), ("frictionloss", coulomb)):
        if value > 0:
            element.set(name, text(float(element.get(name, "0")) + value))


def _harden_friction(root: Element, timestep: float) -> None:
    """Let friction act within two steps.

    MuJoCo brakes a joint with friction towards -rate / (its time constant); by default that is
    slow enough to push a joint on that brakes faster by itself.
    """
    for element in root.iter():
        if element.get("frictionloss") is not None:
            element.set("solreffriction", text((SOLREF * timestep, 1.0)))
            element.set("solimpfriction", text((SOLIMP, SOLIMP, 0.001, 0.5, 2.0)))


def _drive(root: Element, robot: Robot) -> None:
    """A torque motor per axis, limited where the robot file knows its peak."""
    actuators, peak = child(root, "actuator"), robot.limits.torque_peak
    for axis, name in enumerate(DRIVEN[: robot.dof]):
        motor = add(actuators, "motor", name=f"torque_{name}", joint=name, gear="1")
        if peak is not None:
            motor.set("ctrllimited", "true")
            motor.set("ctrlrange", text((-peak[axis], peak[axis])))


def _sense(root: Element, robot: Robot) -> None:
    """Angle, rate and torque of the drives; where the platform is and how it moves."""
    sensors, names = child(root, "sensor"), DRIVEN[: robot.dof]
    for name in names:
        add(sensors, "jointpos", name=f"q_{name}", joint=name)
    for name in names:
        add(sensors, "jointvel", name=f"qd_{name}", joint=name)
    for name in names:
        add(sensors, "actuatorfrc", name=f"tau_{name}", actuator=f"torque_{name}")
    add(sensors, "framepos", name="p", objtype="site", objname="seat")
    add(sensors, "framelinvel", name="pd", objtype="site", objname="seat")


def _keep_home(root: Element, home: Mapping[str, float]) -> None:
    """A keyframe with every joint in MuJoCo's order: the order of the tree."""
    world = child(root, "worldbody")
    names = [
        joint.get("name", "") for item in world.iter("body") for joint in item.findall("joint")
    ]
    key = add(child(root, "keyframe"), "key", name="home")
    key.set("qpos", text(home[name] for name in names))
