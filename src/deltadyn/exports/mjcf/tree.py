"""The exported MuJoCo model, and what it looks like: geoms without mass or contact, a light.

A strut's two rods stay parallel to each other and keep apart along the elbow's axis, which turns
with the arm and not with the strut. So they are drawn as tendons without force, straight from the
pin at the elbow to the pin on the platform.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from deltadyn.exports.common import (
    home_angles,
    identifier,
    number,
    standard,
    template,
    working_height,
)
from deltadyn.exports.mjcf.pose import joint_values
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform, Spindle
from deltadyn.simulation.plant.mjcf import SOLIMP, SOLREF, driven_joints, mjcf

# The exported MuJoCo model as an XML tree, made from the simulator's own model.
#
# Bodies and their inertias are those of plant 'mujoco'. What changes: the telescope hangs under the
# platform, so that one connection at its top closes it; the strut's tips sit on bodies of their
# own; and the model is written at home, so that MuJoCo starts with closed loops.
#
# Why the telescope may hang there: both universal joints are in phase, so the upper fork always
# turns by the effector's psi. Its drive and rotor act on that joint alike.
#
# Why tips have bodies: a constraint's softness is a share of MuJoCo's estimate of how easily its
# bodies move. At the elbow a strut moves less than in its middle, so the constraint is harder.


Element = ET.Element
UPSIDE_DOWN = "0 1 -1 0"  # z of a telescope rod runs down


def model_tree(robot: Robot, timestep: float) -> Element:
    """The mechanism with its constraints, drives and sensors; nothing to look at yet."""
    root = ET.fromstring(mjcf(robot.replace(name=identifier(robot)), timestep))
    if robot.spindle is not None:
        _rehang_spindle(root, robot, robot.spindle)
    for i in range(robot.legs):
        _own_tip(root, i + 1)
    for item in root.iter("body"):
        for joint in item.findall("joint"):
            joint.set("axis", " ".join(f"{x:g}" for x in _numbers(joint, "axis", "0 0 1")))
    home = _home(robot)
    _write_at(root, home)
    _couple_from(root, home)
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
    return number(value) if isinstance(value, float | int) else " ".join(map(number, value))


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
    """Place the bodies as they are at home, with the joints' reference.

    A joint's axis is written in the body's own frame: a turn about a later joint of the body turns
    that frame away from the axes of the joints before it, so they are turned back.
    """
    for item in root.iter("body"):
        joints = item.findall("joint")
        for place_of, joint in enumerate(joints):
            value = home[joint.get("name", "")]
            if value == 0:
                continue
            joint.set("ref", text(value))
            axis = _numbers(joint, "axis", "")
            turn = _numbers(item, "quat", "1 0 0 0")
            if joint.get("type") == "slide":
                place, way = _numbers(item, "pos", "0 0 0"), _rotated(turn, axis)
                item.set("pos", text(a + value * b for a, b in zip(place, way, strict=True)))
                continue
            item.set("quat", text(_turned(turn, axis, value)))
            back = _turned([1.0, 0.0, 0.0, 0.0], axis, -value)
            for earlier in joints[:place_of]:
                own = _numbers(earlier, "axis", "")
                earlier.set("axis", text(_rotated(back, own)))


def _couple_from(root: Element, home: Mapping[str, float]) -> None:
    """Joints that are coupled count from their references: y - y0 = a + b (x - x0)."""
    for item in child(root, "equality").findall("joint"):
        one, two = item.get("joint1", ""), item.get("joint2", "")
        start, slope, *rest = _numbers(item, "polycoef", "")
        gap = start + slope * home[two] - home[one]
        if start:
            item.set("polycoef", text([gap if abs(gap) > 1e-12 else 0.0, slope, *rest]))


def _numbers(item: Element, name: str, otherwise: str) -> list[float]:
    return [float(part) for part in item.get(name, otherwise).split()]


def _rotated(quaternion: list[float], vector: list[float]) -> list[float]:
    """The vector turned by a rotation."""
    if quaternion == [1.0, 0.0, 0.0, 0.0]:
        return vector
    w, x, y, z = quaternion
    a, b, c = vector
    tx, ty, tz = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return [
        a + w * tx + y * tz - z * ty,
        b + w * ty + z * tx - x * tz,
        c + w * tz + x * ty - y * tx,
    ]


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
        for axis, name in enumerate(driven_joints(robot)):
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
    for axis, name in enumerate(driven_joints(robot)):
        coulomb = friction.coulomb[axis]
        if friction.coulomb_negative is not None:
            coulomb = (coulomb + friction.coulomb_negative[axis]) / 2
        _resist(_joint(root, name), friction.viscous[axis], coulomb)
    for item in friction.passive:
        if item.joint == "platform_swing":
            for i in range(1, robot.legs + 1):
                tendon = add(child(root, "tendon"), "fixed", name=f"platform_swing_{i}")
                _resist(tendon, item.viscous, item.coulomb)
                add(tendon, "joint", joint=f"theta_{i}", coef="1")
                add(tendon, "joint", joint=f"swing_{i}", coef="1")
        else:
            joints, count = _PASSIVE[item.joint]
            for name in joints:
                for i in range(robot.legs if "{}" in name else 1):
                    joint = _joint(root, name.format(i + 1))
                    _resist(joint, count * item.viscous, count * item.coulomb)


#: Joints that carry a passive joint's friction, and how many real joints each stands for.
_PASSIVE: dict[str, tuple[tuple[str, ...], int]] = {
    "elbow_swing": (("swing_{}",), 1),
    "elbow_sway": (("sway_{}",), 1),
    "platform_sway": (("sway_{}",), 1),
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
    for axis, name in enumerate(driven_joints(robot)):
        motor = add(actuators, "motor", name=f"torque_{name}", joint=name, gear="1")
        if peak is not None:
            motor.set("ctrllimited", "true")
            motor.set("ctrlrange", text((-peak[axis], peak[axis])))


def _sense(root: Element, robot: Robot) -> None:
    """Angle, rate and torque of the drives; where the platform is and how it moves."""
    sensors, names = child(root, "sensor"), driven_joints(robot)
    for name in names:
        add(sensors, "jointpos", name=f"q_{name}", joint=name)
    for name in names:
        add(sensors, "jointvel", name=f"qd_{name}", joint=name)
    for name in names:
        add(sensors, "actuatorfrc", name=f"tau_{name}", actuator=f"torque_{name}")
    platform = body(root, "platform")
    if all(site.get("name") != "seat" for site in platform.findall("site")):
        add(platform, "site", name="seat")
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


Point = tuple[float, float, float]
FLOOR_GAP = 0.15  # m below the workspace


def add_look(root: Element, robot: Robot) -> None:
    """Everything to be seen."""
    _surroundings(root, robot)
    if standard(robot):
        _base(root, robot)
    for i in range(robot.legs):
        _limb(root, robot, i)
    if robot.legs == 3:
        _platform(root, robot)
    else:
        _other_platform(root, robot)
    if robot.spindle is not None:
        _telescope(root, robot, robot.spindle)
    _payload(root, robot)


def _surroundings(root: Element, robot: Robot) -> None:
    """Defaults, materials, light and floor."""
    for place, part in enumerate(ET.fromstring(template("mjcf", "look.xml")), start=1):
        root.insert(place, part)
    size, z = _size(robot), working_height(robot)
    world = child(root, "worldbody")
    space = robot.limits.workspace
    floor = (z if space is None else space.z_min) - FLOOR_GAP
    add(world, "light", pos=(size, -size, 2 * size), dir="-1 1 -2", diffuse="0.7 0.7 0.7")
    add(world, "geom", name="floor", type="plane", pos=(0.0, 0.0, floor), size="3 3 0.1",
        material="floor")  # fmt: skip


def _size(robot: Robot) -> float:
    g = robot.geometry
    return float(max(g.base_radius) + g.size)


def _base(root: Element, robot: Robot) -> None:
    """A hexagonal plate above the shoulders, with a motor and its bracket for each arm."""
    world, g = child(root, "worldbody"), robot.geometry
    thick, radius = _motor(robot)
    low, high = 1.3 * radius, 1.3 * radius + 0.03
    wide, narrow = 1.15 * max(g.base_radius), 0.35 * max(g.base_radius) + 0.03
    corners = [_around(a, wide, side * narrow) for a in g.azimuth for side in (-1, 1)]
    _prism(root, "base", corners, low, high)
    add(world, "geom", name="base", type="mesh", mesh="base", material="white")
    for i, azimuth in enumerate(g.azimuth):
        x, y = _around(azimuth, g.base_radius[i], 0.0)
        inner, outer = (_around(azimuth, g.base_radius[i], s * thick) for s in (-1, 1))
        add(world, "geom", name=f"motor_{i + 1}", type="cylinder", material="dark",
            fromto=(*inner, 0.0, *outer, 0.0), size=(radius,))  # fmt: skip
        add(world, "geom", name=f"bracket_{i + 1}", type="box", material="dark",
            pos=(x, y, (radius + low) / 2), quat=_about_z(azimuth),
            size=(0.6 * radius, 0.8 * thick, (low - 0.5 * radius) / 2))  # fmt: skip


def _motor(robot: Robot) -> tuple[float, float]:
    """Half length and radius of a motor drawn (m)."""
    length = robot.geometry.size
    return 0.16 * length, 0.11 * length


def _around(azimuth: float, radial: float, tangential: float) -> tuple[float, float]:
    c, s = math.cos(azimuth), math.sin(azimuth)
    return radial * c - tangential * s, radial * s + tangential * c


def _about_z(angle: float) -> tuple[float, float, float, float]:
    return math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2)


def _prism(
    root: Element, name: str, corners: list[tuple[float, float]], low: float, high: float
) -> None:
    """A mesh from its corners; MuJoCo takes their convex hull."""
    assets = child(root, "asset")
    points = [part for z in (low, high) for x, y in corners for part in (x, y, z)]
    add(assets, "mesh", name=name, vertex=points)


def _limb(root: Element, robot: Robot, i: int) -> None:
    """A tapered arm or a carriage on its rail, the pin at the elbow, and the rods."""
    rods, half = robot.struts[i].rods, _half_spacing(robot)
    length = 0.0 if robot.linear else robot.rotary.arm_length[i]
    if robot.linear:
        _rail(root, robot, i)
    else:
        _arm(root, robot, i)
    driven = body(root, f"arm_{i + 1}")
    _pin(driven, f"elbow_{i + 1}", (length, 0.0, 0.0), (0.0, 1.0, 0.0), half, rods)
    azimuth, radius = robot.geometry.azimuth[i], robot.geometry.platform_radius[i]
    at = (*_around(azimuth, radius, 0.0), 0.0)
    along = tuple(float(x) for x in np.cross(*(getattr(_frame(robot, i), k) for k in "zx")))
    owner = "platform" if robot.legs != 4 else f"half_{1 + i // 2}"
    _pin(body(root, owner), f"ball_{i + 1}", at, (along[0], along[1], along[2]), half, rods)
    tendons = child(root, "tendon")
    for side in range(rods):
        rod = add(tendons, "spatial", name=f"rod_{i + 1}_{side + 1}", material="carbon",
                  width=(0.009 * robot.geometry.strut_length[i],))  # fmt: skip
        add(rod, "site", site=f"elbow_{i + 1}_{side + 1}")
        add(rod, "site", site=f"ball_{i + 1}_{side + 1}")


def _frame(robot: Robot, i: int) -> Any:
    return robot.geometry.frames[i]


def _rail(root: Element, robot: Robot, i: int) -> None:
    """A rail as far as the carriage goes around home, and the carriage."""
    g, carriage = robot.geometry, body(root, f"arm_{i + 1}")
    at, along = _numbers(carriage, "pos", ""), _frame(robot, i).z
    reach, thick = 0.6 * g.strut_length[i], 0.02 * g.strut_length[i]
    ends = [[a + side * reach * b for a, b in zip(at, along, strict=True)] for side in (-1, 1)]
    add(child(root, "worldbody"), "geom", name=f"rail_{i + 1}", type="capsule", material="white",
        fromto=(*ends[0], *ends[1]), size=(thick,))  # fmt: skip
    add(carriage, "geom", name=f"carriage_{i + 1}", type="box", material="orange",
        size=(2.0 * thick, 2.5 * thick, 3.0 * thick))  # fmt: skip
    counters = [x for x in root.iter("body") if x.get("name") == f"counter_{i + 1}"]
    for counter in counters:
        add(counter, "geom", name=f"weight_{i + 1}", type="sphere", material="dark",
            pos=(4.0 * thick, 0.0, 0.0), size=(2.0 * thick,))  # fmt: skip


def _arm(root: Element, robot: Robot, i: int) -> None:
    """A tapered arm."""
    length, arm = robot.rotary.arm_length[i], body(root, f"arm_{i + 1}")
    assets = child(root, "asset")
    thick = 0.09 * length
    root_end, tip_end = (thick, 0.8 * thick), (0.45 * thick, 0.4 * thick)
    points: list[float] = []
    for x, (y, z) in ((0.0, root_end), (length, tip_end)):
        points += [part for a in (-1, 1) for b in (-1, 1) for part in (x, a * y, b * z)]
    add(assets, "mesh", name=f"arm_{i + 1}", vertex=points)
    add(arm, "geom", name=f"arm_{i + 1}", type="mesh", mesh=f"arm_{i + 1}", material="orange")
    add(arm, "geom", name=f"hub_{i + 1}", type="cylinder", material="steel",
        fromto=(0.0, -1.15 * thick, 0.0, 0.0, 1.15 * thick, 0.0), size=(1.1 * thick,))  # fmt: skip


def _half_spacing(robot: Robot) -> float:
    """Half the distance of a pair's rods; a guess for the picture where the file has none."""
    spacing = robot.geometry.rod_spacing
    return (0.12 * robot.geometry.size if spacing is None else spacing) / 2


def _pin(parent: Element, name: str, at: Point, along: Point, half: float, rods: int) -> None:
    """A pin with a ball and a site at each rod."""
    ends = [tuple(a + side * b for a, b in zip(at, along, strict=True)) for side in (-half, half)]
    middle = [at] if rods == 1 else ends
    add(parent, "geom", name=f"{name}_pin", type="capsule", material="steel",
        fromto=(*ends[0], *ends[1]), size=(0.12 * half,))  # fmt: skip
    for k, place in enumerate(middle, start=1):
        add(parent, "geom", type="sphere", pos=place, size=(0.25 * half,), material="dark")
        add(parent, "site", name=f"{name}_{k}", pos=place)


def _platform(root: Element, robot: Robot) -> None:
    """A plate between the pins, and a flange below it."""
    g, parent = robot.geometry, body(root, "platform")
    half, reach = _half_spacing(robot), max(g.platform_radius)
    corners = [
        _around(a, g.platform_radius[i], side * half)
        for i, a in enumerate(g.azimuth)
        for side in (-0.8, 0.8)
    ]
    thick = 0.012 * max(g.strut_length)
    _prism(root, "plate", corners, -thick, thick)
    add(parent, "geom", name="plate", type="mesh", mesh="plate", material="white")
    owner = parent if robot.spindle is None else body(root, "effector")
    down = 0.0 if robot.spindle is None else -robot.spindle.lower_joint_z
    flange = max(0.35 * reach, 0.02)
    add(owner, "geom", name="flange", type="cylinder", material="steel", size=(flange,),
        fromto=(0.0, 0.0, down - 2.5 * thick, 0.0, 0.0, down - thick))  # fmt: skip
    if robot.spindle is not None:  # a mark that shows psi
        size = (0.5 * flange, 0.2 * flange, 0.6 * thick)
        add(owner, "geom", name="mark", type="box", material="orange", size=size,
            pos=(flange, 0.0, down - 1.8 * thick))  # fmt: skip


def _other_platform(root: Element, robot: Robot) -> None:
    """A bar between the pins in a plane; plates for the halves, and the bars between them."""
    g, parent = robot.geometry, body(root, "platform")
    thick = 0.015 * max(g.strut_length)
    pairs = ((0, 1),) if robot.planar else ((0, 1), (2, 3))
    for k, pair in enumerate(pairs):
        owner = parent if robot.planar else body(root, f"half_{k + 1}")
        ends = [(*_around(g.azimuth[i], g.platform_radius[i], 0.0), 0.0) for i in pair]
        add(owner, "geom", name=f"plate_{k + 1}", type="capsule", material="white",
            fromto=(*ends[0], *ends[1]), size=(thick,))  # fmt: skip
    platform = robot.platform
    if isinstance(platform, ArticulatedPlatform):
        first, second = platform.sigma
        add(parent, "geom", name="bars_seen", type="capsule", material="steel",
            fromto=(first, 0.0, 0.0, second, 0.0, 0.0), size=(0.7 * thick,))  # fmt: skip
    if robot.turns:
        add(body(root, "effector"), "geom", name="mark", type="box", material="orange",
            size=(2.5 * thick, 0.7 * thick, 0.7 * thick),
            pos=(2.0 * thick, 0.0, -2.0 * thick))  # fmt: skip


def _telescope(root: Element, robot: Robot, spindle: Spindle) -> None:
    """A tube from the upper joint down and a rod from the lower joint up."""
    distance = abs(working_height(robot) - spindle.pivot_z)
    upper, lower = (
        0.62 * distance if rod.length is None else rod.length
        for rod in (spindle.upper, spindle.lower)
    )
    wide = 0.018 * distance
    add(body(root, "upper"), "geom", name="tube", type="cylinder", material="steel",
        fromto=(0.0, 0.0, 0.0, 0.0, 0.0, upper), size=(wide,))  # fmt: skip
    add(body(root, "lower"), "geom", name="shaft", type="cylinder", material="dark",
        fromto=(0.0, 0.0, 0.0, 0.0, 0.0, -lower), size=(0.6 * wide,))  # fmt: skip
    add(body(root, "upper"), "geom", name="joint_above", type="sphere", material="dark",
        size=(1.4 * wide,))  # fmt: skip
    add(body(root, "lower"), "geom", name="joint_below", type="sphere", material="dark",
        size=(1.4 * wide,))  # fmt: skip


def _payload(root: Element, robot: Robot) -> None:
    """A cube of the payload's mass at the density of water, below where the payload acts."""
    payload, spindle = robot.payload, robot.spindle
    if payload.mass <= 0:
        return
    half = (payload.mass / 1000) ** (1 / 3) / 2
    x, y, z = payload.offset
    z -= half + 0.03 * max(robot.geometry.strut_length)
    owner = body(root, "effector" if robot.turns else "platform")
    lift = 0.0 if spindle is None else spindle.lower_joint_z
    add(owner, "geom", name="payload", type="box", material="load", pos=(x, y, z - lift),
        size=(half, half, half))  # fmt: skip
