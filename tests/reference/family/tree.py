"""The open tree of a member and the loops that close it, for any rigid-body engine.

Every joint is a hinge or a slide with one coordinate. With all coordinates zero the axes of every
body are those of the base, so axes and points are written in the base frame. Each rod is a body of
its own on a universal joint (about the pair's line, then across the rod), and a ball joint at its
other end closes a loop. A platform that should not turn may turn: six coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from tests.reference.engines.spec import Array, EngineBody

from .members import (
    Z_HAT,
    Arm,
    Articulated,
    Helical,
    Member,
    Rail,
    Rod,
    Spindle,
    Strut,
)
from .poses import attachments

X_HAT, Y_HAT = np.eye(3)[0], np.eye(3)[1]
DOWNWARD = np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
"""Axes (b, v x b, v) of a spindle's rod that hangs down at psi = 0."""


@dataclass(frozen=True, eq=False)
class Joint:
    """One coordinate of the tree: a hinge or a slide about or along a unit vector."""

    name: str
    slide: bool
    axis: Array
    armature: float = 0.0


@dataclass(frozen=True, eq=False)
class Link:
    """A moving body: its joints in order from the parent, and rigid parts in its own frame."""

    name: str
    parent: str  # "" is the base
    origin: Array  # in the parent's frame, with all coordinates zero
    joints: tuple[Joint, ...]
    parts: tuple[EngineBody, ...]


@dataclass(frozen=True, eq=False)
class Meet:
    """A point of one body meets a point of another, along the rows of `along` (k, 3)."""

    first: str
    first_point: Array
    second: str
    second_point: Array
    along: Array


@dataclass(frozen=True, eq=False)
class Normal:
    """A direction fixed in one body stays normal to a direction fixed in another."""

    first: str
    first_axis: Array
    second: str
    second_axis: Array


@dataclass(frozen=True, eq=False)
class Ratio:
    """A gear, screw or belt: the sum of factor * coordinate is a constant."""

    factors: Mapping[str, float]
    constant: float = 0.0


@dataclass(frozen=True, eq=False)
class Tree:
    """Links, loops, driven coordinates, and the body and rows that the pose x is read from.

    `pose_rows` are rows of (x, y, z, w_x, w_y, w_z) of the link `pose`; `upright` names the links
    that must not turn.
    """

    member: Member
    links: tuple[Link, ...]
    meets: tuple[Meet, ...]
    normals: tuple[Normal, ...]
    ratios: tuple[Ratio, ...]
    driven: tuple[str, ...]
    pose: str
    pose_rows: tuple[int, ...]
    upright: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Coordinates in their order."""
        return tuple(joint.name for link in self.links for joint in link.joints)

    @property
    def closing(self) -> tuple[str, ...]:
        """Links whose motion the closure needs."""
        ends = [name for loop in self.meets for name in (loop.first, loop.second)]
        ends += [name for loop in self.normals for name in (loop.first, loop.second)]
        return tuple(dict.fromkeys([*ends, self.pose, *self.upright]))


@dataclass(eq=False)
class _Build:
    links: list[Link] = field(default_factory=list)
    meets: list[Meet] = field(default_factory=list)
    normals: list[Normal] = field(default_factory=list)
    ratios: list[Ratio] = field(default_factory=list)
    driven: list[str] = field(default_factory=list)

    def link(
        self, name: str, parent: str, origin: Array, joints: list[Joint], *parts: EngineBody
    ) -> str:
        self.links.append(Link(name, parent, origin, tuple(joints), parts))
        return name

    def free(self, name: str, *parts: EngineBody) -> str:
        """A body with six coordinates."""
        slides = [Joint(f"{name} {c}", True, e) for c, e in zip("xyz", np.eye(3), strict=True)]
        turns = [Joint(f"{name} w{c}", False, e) for c, e in zip("xyz", np.eye(3), strict=True)]
        return self.link(name, "", np.zeros(3), slides + turns, *parts)


def build_tree(member: Member) -> Tree:
    """The open tree with its loops."""
    build = _Build()
    if len(member.limbs) == 2:
        return _planar(build, member)
    carriers = [_drive(build, i, limb) for i, limb in enumerate(member.limbs)]
    platform = member.platform
    if isinstance(platform, Articulated):
        pose, upright = _articulated(build, member, platform)
    elif isinstance(platform, Helical):
        pose, upright = _helical(build, member, platform)
    elif isinstance(platform, Spindle):
        pose, upright = _spindle(build, member, platform)
    else:
        pose = build.free("platform", platform.body, member.payload)
        upright = ("platform",)
    for i, strut in enumerate(member.struts):
        held = upright[member.halves[i]]
        for k, shift in enumerate((-strut.pair / 2, strut.pair / 2)):
            carrier, at = carriers[i]
            tip = _rod(build, f"rod {i}{k}", carrier, at + shift, strut, _rod_zero(member, i))
            goal = platform.attachments[i] + shift
            build.meets.append(Meet(f"rod {i}{k}", tip, held, goal, np.eye(3)))
    rows = (0, 1, 2) if member.dof == 3 else (0, 1, 2, 5)
    return _finished(build, member, pose, rows, upright)


def _finished(
    build: _Build, member: Member, pose: str, rows: tuple[int, ...], upright: tuple[str, ...]
) -> Tree:
    return Tree(
        member,
        tuple(build.links),
        tuple(build.meets),
        tuple(build.normals),
        tuple(build.ratios),
        tuple(build.driven),
        pose,
        rows,
        upright,
    )


def _drive(build: _Build, i: int, limb: Arm | Rail) -> tuple[str, Array]:
    """Arm or carriage; returns the link that carries the strut, and the elbow in its frame."""
    build.driven.append(f"q{i}")
    if isinstance(limb, Arm):
        axes = np.column_stack([limb.e1, limb.t, -limb.e2])
        elbow = limb.length * limb.e1
        parts = [turned(limb.body, axes)]
        if limb.elbow_mass:
            parts.append(point_mass(limb.elbow_mass, elbow))
        joint = Joint(f"q{i}", False, limb.t, limb.rotor)
        return build.link(f"arm {i}", "", limb.shoulder, [joint], *parts), elbow
    slide = Joint(f"q{i}", True, limb.direction, limb.rotor)
    build.link(f"carriage {i}", "", limb.point, [slide], point_mass(limb.carriage))
    if limb.counterweight:
        back = Joint(f"weight {i}", True, limb.direction)
        build.link(f"weight {i}", "", limb.point, [back], point_mass(limb.counterweight))
        build.ratios.append(Ratio({f"q{i}": 1.0, f"weight {i}": 1.0}))
    return f"carriage {i}", np.zeros(3)


def _rod(build: _Build, name: str, parent: str, at: Array, strut: Strut, zero: Array) -> Array:
    """A rod of a pair on a universal joint; returns its tip in its own frame."""
    line = strut.pair / np.linalg.norm(strut.pair)
    joints = [
        Joint(f"{name} swing", False, line),
        Joint(f"{name} sway", False, np.cross(zero, line)),
    ]
    build.link(name, parent, at, joints, thin(strut.rod, zero))
    return strut.length * zero


def _rod_zero(member: Member, i: int) -> Array:
    """Direction of a rod whose coordinates are zero: along the arm, or down from a carriage.

    Below a carriage whose pair stands upright it is level.
    """
    limb, strut = member.limbs[i], member.struts[i]
    if isinstance(limb, Arm):
        return limb.e1
    if len(member.limbs) == 2:
        return -Z_HAT
    line = strut.pair / np.linalg.norm(strut.pair)
    aim = -Z_HAT if abs(line[2]) < 0.9 else X_HAT
    down = aim - (line @ aim) * line
    zero: Array = down / np.linalg.norm(down)
    return zero


def _planar(build: _Build, member: Member) -> Tree:
    """Everything turns about y; brackets on arms, or carriages, keep the platform parallel."""
    platform = member.platform
    slides = [Joint("platform x", True, X_HAT), Joint("platform z", True, Z_HAT)]
    turn = Joint("platform wy", False, Y_HAT)
    assert not isinstance(platform, Articulated | Helical)
    build.link("platform", "", np.zeros(3), [*slides, turn], platform.body, member.payload)
    plane = np.array([X_HAT, Z_HAT])
    for i, (limb, strut) in enumerate(zip(member.limbs, member.struts, strict=True)):
        carrier, elbow = _drive(build, i, limb)
        axis = limb.t if isinstance(limb, Arm) else Y_HAT
        if isinstance(limb, Arm) and limb.bracket is not None:
            assert limb.holder is not None
            hinge = Joint(f"bracket {i}", False, axis)
            carrier = build.link(f"bracket {i}", carrier, elbow, [hinge], limb.bracket)
            base = limb.shoulder + limb.holder_offset
            hinge = Joint(f"holder {i}", False, axis)
            build.link(f"holder {i}", "", base, [hinge], thin(limb.holder, limb.e1))
            at = limb.holder_offset
            build.meets.append(Meet(f"holder {i}", elbow, f"bracket {i}", at, plane))
            elbow = np.zeros(3)
        zero = _rod_zero(member, i)
        shifts = (-strut.pair / 2, strut.pair / 2) if strut.rods == 2 else (np.zeros(3),)
        for k, shift in enumerate(shifts):
            hinge = Joint(f"rod {i}{k} swing", False, axis)
            name = build.link(f"rod {i}{k}", carrier, elbow + shift, [hinge], thin(strut.rod, zero))
            goal = platform.attachments[i] + shift
            build.meets.append(Meet(name, strut.length * zero, "platform", goal, plane))
    return _finished(build, member, "platform", (0, 2), ("platform",))


def _upright(name: str) -> Joint:
    return Joint(name, False, Z_HAT)


def _articulated(
    build: _Build, member: Member, platform: Articulated
) -> tuple[str, tuple[str, ...]]:
    """Half 1, the bars on it, half 2 on the first bar; the second bar closes the parallelogram."""
    other_end = np.array([-platform.length, 0.0, 0.0])
    build.free("half 1", platform.halves[0])
    build.link("bar 1", "half 1", np.zeros(3), [_upright("bar 1")], platform.bars[0])
    build.link("half 2", "bar 1", other_end, [_upright("half 2")], platform.halves[1])
    hinge = platform.second_hinge
    build.link("bar 2", "half 1", hinge, [_upright("bar 2")], platform.bars[1])
    build.meets.append(Meet("bar 2", other_end, "half 2", hinge, np.eye(3)))
    at = other_end * platform.tool_fraction
    build.link("tool", "bar 1", at, [_upright("tool")], platform.tool, member.payload)
    # psi = k (phi - phi0), and the tool's coordinate is psi - phi
    k = platform.ratio
    build.ratios.append(Ratio({"tool": 1.0, "bar 1": 1.0 - k}, -k * platform.phi0))
    for j, gear in enumerate(platform.gears):
        spot = np.array([*gear.at, 0.0])
        parent, carried = ("bar 1", 1.0) if gear.on_bars else ("half 1", 0.0)
        origin = spot + at if gear.on_bars else spot
        wheel = EngineBody(gear.mass, np.zeros(3), np.diag([0.5, 0.5, 1.0]) * gear.inertia)
        build.link(f"gear {j}", parent, origin, [_upright(f"gear {j}")], wheel)
        build.ratios.append(Ratio({f"gear {j}": 1.0, "bar 1": carried - gear.rate}))
    return "tool", ("half 1", "half 2")


def _helical(build: _Build, member: Member, platform: Helical) -> tuple[str, tuple[str, ...]]:
    """Half 1, on its axis the tool and half 2, each free to slide and turn; two nuts."""
    first, second = platform.sigma
    build.free("half 1", platform.halves[0])
    joints = [Joint("half 2 z", True, Z_HAT), _upright("half 2")]
    build.link("half 2", "half 1", np.zeros(3), joints, platform.halves[1])
    joints = [Joint("tool z", True, Z_HAT), _upright("tool")]
    build.link("tool", "half 1", np.zeros(3), joints, platform.tool, member.payload)
    build.ratios.append(Ratio({"tool z": 1.0, "tool": first}))
    nut = {"half 2 z": 1.0, "tool z": -1.0, "tool": -second, "half 2": second}
    build.ratios.append(Ratio(nut))
    return "tool", ("half 1", "half 2")


def _spindle(build: _Build, member: Member, platform: Spindle) -> tuple[str, tuple[str, ...]]:
    """Two universal joints with a telescope between them; the effector's axis meets p upright."""
    spindle = platform.spindle
    build.free("platform", platform.body)
    joints = [
        Joint("psi", False, Z_HAT, platform.rotor),
        Joint("upper fork", False, X_HAT),
        Joint("upper cross", False, -Y_HAT),
    ]
    at = spindle.z_upper * Z_HAT
    build.link("upper", "", at, joints, turned(spindle.upper, DOWNWARD))
    stroke = Joint("stroke", True, -Z_HAT)
    build.link("lower", "upper", np.zeros(3), [stroke], turned(spindle.lower, DOWNWARD))
    joints = [Joint("lower cross", False, -Y_HAT), Joint("lower fork", False, X_HAT)]
    down = -spindle.z_lower * Z_HAT
    parts = [shifted(body, down) for body in (spindle.effector, member.payload)]
    build.link("effector", "lower", np.zeros(3), joints, *parts)
    # a link without mass, so that the pose is read at p
    build.link("tool", "effector", down, [])
    build.meets.append(Meet("tool", np.zeros(3), "platform", np.zeros(3), np.eye(3)))
    for axis in (X_HAT, Y_HAT):
        build.normals.append(Normal("tool", Z_HAT, "platform", axis))
    build.driven.append("psi")
    return "tool", ("platform",)


def starting_points(tree: Tree, x: Array, q: Array) -> Array:
    """Tree coordinates (N, n) of poses x (N, dof) and joint coordinates q, by plain geometry."""
    member, platform = tree.member, tree.member.platform
    value = {name: np.zeros(len(x)) for name in tree.names}
    value |= dict(zip(tree.driven, q.T, strict=True))
    p = x[:, :3] if x.shape[1] > 2 else np.insert(x, 1, 0.0, axis=1)
    held = attachments(member, x)
    reference = held - platform.attachments  # (N, limbs, 3)
    for j, name in enumerate(tree.upright):
        at = reference[:, 0 if j == 0 else -1]
        for c, rows in zip("xyz", at.T, strict=True):
            if f"{name} {c}" in value and name != "half 2":
                value[f"{name} {c}"] = rows
    if isinstance(platform, Articulated):
        phi = platform.phi0 + x[:, 3] / platform.ratio
        value["bar 1"] = value["bar 2"] = phi
        value["half 2"] = -phi
        value["tool"] = x[:, 3] - phi
        for j, gear in enumerate(platform.gears):
            value[f"gear {j}"] = (gear.rate - gear.on_bars) * phi
    elif isinstance(platform, Helical):
        first, second = platform.sigma
        value["half 2 z"] = (second - first) * x[:, 3]
        value["tool z"] = -first * x[:, 3]
        value["tool"] = x[:, 3]
    elif isinstance(platform, Spindle):
        psi = x[:, 3]
        shaft = p + Z_HAT * (platform.spindle.z_lower - platform.spindle.z_upper)
        along = np.cos(psi) * shaft[:, 0] + np.sin(psi) * shaft[:, 1]
        across = -np.sin(psi) * shaft[:, 0] + np.cos(psi) * shaft[:, 1]
        value["upper fork"] = np.arctan2(across, -shaft[:, 2])
        value["upper cross"] = np.arctan2(along, np.hypot(across, shaft[:, 2]))
        value["stroke"] = np.linalg.norm(shaft, axis=1)
        value["lower fork"], value["lower cross"] = -value["upper fork"], -value["upper cross"]
    for i, limb in enumerate(member.limbs):
        _limb_start(value, member, i, limb, q[:, i], held[:, i])
    return np.column_stack([value[name] for name in tree.names])


def _limb_start(
    value: dict[str, Array], member: Member, i: int, limb: Arm | Rail, q: Array, held: Array
) -> None:
    strut, zero = member.struts[i], _rod_zero(member, i)
    flat = len(member.limbs) == 2
    parallel = isinstance(limb, Rail)
    if isinstance(limb, Arm):
        elbow = limb.shoulder + limb.length * (
            np.cos(q)[:, None] * limb.e1 + np.sin(q)[:, None] * limb.e2
        )
        line = limb.t
        if limb.bracket is not None:
            value[f"bracket {i}"], value[f"holder {i}"] = -q, q
            parallel = True
    else:
        elbow = limb.point + q[:, None] * limb.direction
        value[f"weight {i}"] = -q
        line = Y_HAT if flat else strut.pair / np.linalg.norm(strut.pair)
    u = (held - elbow) / strut.length
    # u = cos sway (cos swing zero + sin swing line x zero) + sin sway line
    swing = np.arctan2(u @ np.cross(line, zero), u @ zero) - (0.0 if parallel else q)
    for k in range(strut.rods):
        value[f"rod {i}{k} swing"] = swing
        if not flat:
            value[f"rod {i}{k} sway"] = np.arcsin(u @ line)


def point_mass(mass: float, at: Array | None = None) -> EngineBody:
    return EngineBody(mass, np.zeros(3) if at is None else at, np.zeros((3, 3)))


def thin(rod: Rod, direction: Array) -> EngineBody:
    """A rod as a body: no inertia about its own line."""
    across = np.eye(3) - np.outer(direction, direction)
    return EngineBody(rod.mass, rod.com * direction, rod.inertia * across)


def turned(body: EngineBody, axes: Array) -> EngineBody:
    """The body in a frame in which its own axes are the columns of `axes`."""
    return EngineBody(body.mass, axes @ body.com, axes @ body.inertia_com @ axes.T)


def shifted(body: EngineBody, by: Array) -> EngineBody:
    return EngineBody(body.mass, body.com + by, body.inertia_com)
