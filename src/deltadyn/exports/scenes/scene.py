"""What every simulator's format needs of a robot, read from its MJCF tree.

The tree of `mjcf/tree.py` says it once: bodies with their inertias at home, joints, loops and what
is seen. Formats whose joints have one coordinate each get a massless carrier between two joints of
a body: a strut swings and sways, a platform slides along x, y and z.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.exports.scenes.mesh import Mesh, hull, wavefront
from deltadyn.simulation.plant.mjcf import SMALLEST_INERTIA

Element = ET.Element
BASE = "base"


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame in another one: x' = R x + t."""

    R: FloatArray  # (3, 3)
    t: FloatArray  # (3,), m

    def __matmul__(self, other: Frame) -> Frame:
        return Frame(self.R @ other.R, self.R @ other.t + self.t)

    @property
    def inverse(self) -> Frame:
        """The other frame in this one."""
        return Frame(self.R.T, -self.R.T @ self.t)

    def at(self, point: FloatArray) -> FloatArray:
        """A point of this frame in the other one."""
        return np.asarray(self.R @ point + self.t)


IDENTITY = Frame(np.eye(3), np.zeros(3))


@dataclass(frozen=True, eq=False)
class Inertial:
    """Mass, COM in the body's frame, and inertia (3, 3) about the COM along the body's axes."""

    mass: float
    com: FloatArray
    inertia: FloatArray

    def __add__(self, other: Inertial) -> Inertial:
        mass = self.mass + other.mass
        if mass == 0:
            return Inertial(0.0, np.zeros(3), self.inertia + other.inertia)
        com = (self.mass * self.com + other.mass * other.com) / mass
        inertia = sum(
            (part.inertia + part.mass * _spread(part.com - com) for part in (self, other)),
            np.zeros((3, 3)),
        )
        return Inertial(mass, com, inertia)

    def moved(self, frame: Frame) -> Inertial:
        """The same body in the frame around."""
        return Inertial(self.mass, frame.at(self.com), frame.R @ self.inertia @ frame.R.T)


def _spread(arm: FloatArray) -> FloatArray:
    """Inertia of 1 kg at a point, about the origin."""
    return np.asarray(arm @ arm * np.eye(3) - np.outer(arm, arm))


NOTHING = Inertial(0.0, np.zeros(3), np.zeros((3, 3)))


@dataclass(frozen=True, eq=False)
class Shape:
    """Something to look at, in its body's frame; cylinders and capsules stand along their z.

    `size`: half the edges of a box; radius and half the length (of a capsule without its ends);
    radius of a sphere.
    """

    name: str
    kind: str  # "box", "cylinder", "capsule", "sphere" or "mesh"
    frame: Frame
    size: tuple[float, ...]
    colour: tuple[float, float, float]
    mesh: Mesh | None = None

    def _half_edges(self) -> tuple[float, ...]:
        """Half the edges of the box around a shape that is no mesh, along its own axes."""
        if self.kind == "box":
            return self.size
        radius = self.size[0]
        if self.kind == "sphere":
            return radius, radius, radius
        return radius, radius, self.size[1] + (radius if self.kind == "capsule" else 0.0)

    def corners(self) -> FloatArray:
        """Points (n, 3) in the body's frame whose hull holds the shape."""
        if self.mesh is not None:
            own = self.mesh.points
        else:
            x, y, z = self._half_edges()
            own = np.array(
                [(a * x, b * y, c * z) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]
            )
        return np.asarray(own @ self.frame.R.T + self.frame.t)


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body at home."""

    name: str
    world: Frame
    inertial: Inertial
    shapes: tuple[Shape, ...]
    sites: Mapping[str, FloatArray]  # points by name, in the body's frame


@dataclass(frozen=True, eq=False)
class Joint:
    """A turn or slide between two bodies; the origin of the child is on its axis.

    At `home` (rad or m) the bodies are where their frames say. Units N m or N per rate.
    """

    name: str
    kind: str  # "hinge" or "slide"
    parent: str
    child: str
    axis: FloatArray  # (3,) of length 1, in the child's frame
    home: float
    limits: tuple[float, float] | None
    viscous: float
    coulomb: float
    armature: float  # kg m^2 or kg
    driven: bool
    effort: float | None  # N m or N at most, of a drive


@dataclass(frozen=True, eq=False)
class Loop:
    """Two points of bodies that are held together, free to turn."""

    sites: tuple[str, str]
    bodies: tuple[str, str]
    points: tuple[FloatArray, FloatArray]  # each in its body's frame, m


@dataclass(frozen=True, eq=False)
class Coupling:
    """Two joints held together: joint = start + slope * other."""

    joint: str
    other: str
    start: float
    slope: float


@dataclass(frozen=True, eq=False)
class Scene:
    """Bodies with the base first, parents before children; `joints[k]` carries `bodies[k + 1]`."""

    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    loops: tuple[Loop, ...]
    couplings: tuple[Coupling, ...]
    gravity: float  # m/s^2

    def body(self, name: str) -> Body:
        """The body of that name."""
        return next(item for item in self.bodies if item.name == name)

    def placed(self, joint: Joint) -> Frame:
        """The child at home in its parent."""
        return self.body(joint.parent).world.inverse @ self.body(joint.child).world

    def at_zero(self, joint: Joint) -> Frame:
        """The child in its parent where the joint's coordinate is 0."""
        return self.placed(joint) @ moved(joint, -joint.home)

    def points(self) -> FloatArray:
        """Points (n, 3) of the world whose hull holds all that is seen of the robot."""
        found = [
            shape.corners() @ item.world.R.T + item.world.t
            for item in self.bodies
            for shape in item.shapes
        ]
        return np.concatenate(found)


def mesh_files(scene: Scene, folder: str, lines: Sequence[str]) -> dict[str, str]:
    """Wavefront files of a scene's meshes in a folder, with comment lines at their heads."""
    shapes = [shape for body in scene.bodies for shape in body.shapes]
    return {
        f"{folder}/{shape.name}.obj": wavefront(shape.mesh, lines)
        for shape in shapes
        if shape.mesh is not None
    }


def moved(joint: Joint, by: float) -> Frame:
    """The child's frame after a turn or slide, in the child's frame before."""
    if joint.kind == "slide":
        return Frame(np.eye(3), by * joint.axis)
    from scipy.spatial.transform import Rotation

    return Frame(Rotation.from_rotvec(by * joint.axis).as_matrix(), np.zeros(3))


def read_scene(root: Element) -> Scene:
    """The scene of an MJCF tree, as `mjcf/tree.py` makes it."""
    reader = _Reader(root)
    world = root.find("worldbody")
    assert world is not None
    for item in world.findall("body"):
        reader.body(item, BASE)
    reader.bodies[0] = replace(
        reader.bodies[0], shapes=reader.shapes(world), sites=reader.sites(world)
    )
    return Scene(
        tuple(reader.bodies),
        tuple(reader.joints),
        tuple(reader.loops()),
        tuple(reader.couplings()),
        -_vector(next(root.iter("option")), "gravity", "")[2],
    )


class _Reader:
    """Walks through the tree, parents first."""

    def __init__(self, root: Element) -> None:
        self.root = root
        self.bodies = [Body(BASE, IDENTITY, NOTHING, (), {})]
        self.joints: list[Joint] = []
        self.colours = {
            item.get("name", ""): item.get("rgba", "0.7 0.7 0.7 1")
            for item in root.iter("material")
        }
        self.meshes = {
            item.get("name", ""): hull(_vector(item, "vertex", "").reshape(-1, 3))
            for item in root.iter("mesh")
            if item.get("vertex")
        }
        motors = list(root.iter("motor"))
        self.efforts = {
            item.get("joint", ""): None
            if item.get("ctrlrange") is None
            else float(_vector(item, "ctrlrange", "")[1])
            for item in motors
        }

    def body(self, item: Element, parent: str) -> None:
        """A body, the carriers of all its joints but the last, and what hangs below it."""
        own, name = _frame(item), item.get("name", "")
        world = self._of(parent).world @ own
        joints = item.findall("joint")
        for k, joint in enumerate(joints, start=1):
            last = k == len(joints)
            child = name if last else f"{name}_carrier_{k}"
            self.joints.append(self._joint(joint, parent, child))
            inertial = _inertial(item) if last else NOTHING
            self.bodies.append(Body(child, world, inertial, (), {}))
            parent = child
        if joints:
            found = self.bodies[-1]
            self.bodies[-1] = replace(found, shapes=self.shapes(item), sites=self.sites(item))
        else:
            self._merge(item, parent, own)
            name = parent
        for below in item.findall("body"):
            self.body(below, name)

    def _merge(self, item: Element, parent: str, own: Frame) -> None:
        """A body without a joint is part of its parent."""
        place = next(k for k, body in enumerate(self.bodies) if body.name == parent)
        host = self.bodies[place]
        shapes = tuple(replace(shape, frame=own @ shape.frame) for shape in self.shapes(item))
        sites = {name: own.at(point) for name, point in self.sites(item).items()}
        self.bodies[place] = replace(
            host,
            inertial=host.inertial + _inertial(item, part=True).moved(own),
            shapes=(*host.shapes, *shapes),
            sites={**host.sites, **sites},
        )

    def _of(self, name: str) -> Body:
        return next(body for body in self.bodies if body.name == name)

    def _joint(self, item: Element, parent: str, child: str) -> Joint:
        name, limits = item.get("name", ""), _vector(item, "range", "")
        axis = _vector(item, "axis", "0 0 1")
        return Joint(
            name,
            item.get("type", "hinge"),
            parent,
            child,
            axis / np.linalg.norm(axis),
            float(item.get("ref", "0")),
            (float(limits[0]), float(limits[1])) if len(limits) else None,
            float(item.get("damping", "0")),
            float(item.get("frictionloss", "0")),
            float(item.get("armature", "0")),
            name in self.efforts,
            self.efforts.get(name),
        )

    def shapes(self, item: Element) -> tuple[Shape, ...]:
        """What is seen of a body; the floor is not of the robot."""
        found = []
        for k, geom in enumerate(item.findall("geom"), start=1):
            kind = geom.get("type", "sphere")
            if kind == "plane":
                continue
            frame, size = _frame(geom), tuple(_vector(geom, "size", "").tolist())
            ends = _vector(geom, "fromto", "")
            if len(ends):
                frame, length = between(ends[:3], ends[3:])
                size = (size[0], length / 2)
            red, green, blue, _ = map(float, self.colours[geom.get("material", "")].split())
            name = geom.get("name", f"{item.get('name', BASE)}_ball_{k}")
            mesh = self.meshes.get(geom.get("mesh", ""))
            found.append(Shape(name, kind, frame, size, (red, green, blue), mesh))
        return tuple(found)

    def sites(self, item: Element) -> dict[str, FloatArray]:
        """Named points of a body."""
        return {
            site.get("name", ""): _vector(site, "pos", "0 0 0") for site in item.findall("site")
        }

    def loops(self) -> list[Loop]:
        """Points that are held together."""
        where = {name: body for body in self.bodies for name in body.sites}
        found = []
        for item in self.root.iter("connect"):
            one, two = item.get("site1", ""), item.get("site2", "")
            bodies = where[one].name, where[two].name
            found.append(Loop((one, two), bodies, (where[one].sites[one], where[two].sites[two])))
        return found

    def couplings(self) -> list[Coupling]:
        """Joints that gears, screws or belts hold together, by their own coordinates."""
        homes = {joint.name: joint.home for joint in self.joints}
        found = []
        for item in self.root.iterfind("equality/joint"):
            one, two = item.get("joint1", ""), item.get("joint2", "")
            start, slope = _vector(item, "polycoef", "")[:2].tolist()
            # MuJoCo counts from the references: y - y0 = a + b (x - x0)
            found.append(Coupling(one, two, homes[one] + start - slope * homes[two], slope))
        return found


def _vector(item: Element, name: str, otherwise: str) -> FloatArray:
    return np.array([float(part) for part in item.get(name, otherwise).split()])


def rotation(quaternion: FloatArray) -> FloatArray:
    """The matrix (3, 3) of w, x, y, z."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_quat(np.roll(quaternion, -1)).as_matrix())


def quaternion(R: FloatArray) -> tuple[float, float, float, float]:
    """w, x, y, z of a matrix, w not negative."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(R).as_quat(canonical=True).tolist()
    return w, x, y, z


def _frame(item: Element) -> Frame:
    return Frame(rotation(_vector(item, "quat", "1 0 0 0")), _vector(item, "pos", "0 0 0"))


def between(one: FloatArray, two: FloatArray) -> tuple[Frame, float]:
    """A frame in the middle of two points with z from one to the other, and their distance."""
    length = float(np.linalg.norm(two - one))
    return Frame(along_z((two - one) / length), (one + two) / 2), length


def along_z(way: FloatArray) -> FloatArray:
    """A rotation (3, 3) whose z is a given direction; none where it is z already."""
    x, y, z = way.tolist()
    if math.hypot(x, y) < 1e-12:
        return np.diag([1.0, math.copysign(1.0, z), math.copysign(1.0, z)])
    across = np.array([-y, x, 0.0]) / math.hypot(x, y)  # z x way: the axis of the shortest turn
    return np.stack([np.cross(across, way), across, way], axis=-1)


def _inertial(item: Element, part: bool = False) -> Inertial:
    """Mass and inertia of a body; the least inertia that MuJoCo wants is none in a part of one."""
    found = item.find("inertial")
    if found is None:
        return NOTHING
    axes = rotation(_vector(found, "quat", "1 0 0 0"))
    moments = _vector(found, "diaginertia", "")
    if part:
        moments = np.where(moments > SMALLEST_INERTIA, moments, 0.0)
    mass = float(found.get("mass", "0"))
    return Inertial(mass, _vector(found, "pos", "0 0 0"), axes @ np.diag(moments) @ axes.T)
