"""Geometric errors of a robot as parameters: what enters the loop, and nothing that enters only as
a sum.

A limb knows its shoulder less the platform's joint, c, its axis, arm, homing offset and strut; base
radius, platform radius and azimuth enter through c alone, so that only c is free. With B_i the axes
(e_r, t, z) of the limb's azimuth and Q = (1 + gain) q + offset:

    arms    E = B_i c + B_i Rz(yaw) Rx(roll) l1 (cos Q, 0, -sin Q)     8 a limb, 9 with the gain
    rails   E = B_i c + B_i Ry(pitch) Rx(roll) (1 + gain) q z          6 a limb, 7 with the gain

On rails the endstop is the height of c. Four limbs under an articulated platform have the length of
its bars besides: a = p + sigma n(phi), of which phi0 and the gears tell psi alone, not p. Every
strut keeps its length, |a - E| = l2, which gives one linear row per limb, s.da = s.dE + l2 dl2, and
the platform's coordinates by S^-1. All numbers are deviations from the robot file's, in m and rad.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray, columns
from deltadyn.errors import InputError
from deltadyn.kinematics.actuation import limbs_of
from deltadyn.kinematics.assemblies import followed_pose, home_pose
from deltadyn.kinematics.limbs import Limb, Limbs, carrier, pairs_of, platform_point, rods_of
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform, Geometry, RailGeometry
from deltadyn.robot.fields import value_at
from deltadyn.robot.settings import Source
from deltadyn.small import Vector, cross, dot

ARM_KINDS = ("radius", "tangential", "height", "yaw", "roll", "arm", "offset", "strut")
RAIL_KINDS = ("radius", "tangential", "height", "pitch", "roll", "strut")
ANGLES = ("yaw", "roll", "pitch", "offset")
#: Fields of the geometry that a parameter is added to; offsets and gains belong to the drives.
FIELDS = {
    False: {
        "radius": "base_radius",
        "tangential": "shoulder_tangential",
        "height": "shoulder_height",
        "yaw": "axis_yaw",
        "roll": "axis_roll",
        "arm": "arm_length",
        "strut": "strut_length",
    },
    True: {
        "radius": "base_radius",
        "tangential": "rail_tangential",
        "height": "rail_height",
        "pitch": "rail_pitch",
        "roll": "rail_roll",
        "strut": "strut_length",
    },
}
#: The models from small to large: which kinds are free per limb, and which are one for all limbs.
LADDER = ("homing", "sizes", "all")


@dataclass(frozen=True)
class Tolerances:
    """Standard deviations of the geometry about the robot file, before anything is measured.

    `length` (m) is of places and lengths, `angle` (rad) of axes, `homing` (rad; m on rails) of the
    drives' zeros, `gain` (1) of their gear ratios. `strut` (m) is of struts that were made on one
    jig, or measured, and are closer to each other than the rest, `rod` (m) of half the difference
    of a pair's two rods.
    """

    length: float = 1e-3
    angle: float = float(np.radians(0.3))
    homing: float | None = None  # `angle`, on rails `length`
    gain: float = 1e-3
    strut: float | None = None  # `length`
    rod: float = 1e-4

    def __post_init__(self) -> None:
        for name in ("length", "angle", "homing", "gain", "strut", "rod"):
            value = getattr(self, name)
            if value is None and name in ("homing", "strut"):
                continue
            if not np.isfinite(value) or value <= 0:
                raise InputError(f"tolerances.{name}", value, "a number above 0")

    def of(self, kind: str, linear: bool) -> float:
        """The deviation of a kind of parameter."""
        if kind in ("gain", "rod"):
            return self.gain if kind == "gain" else self.rod
        if kind == "strut" and self.strut is not None:
            return self.strut
        homing = self.length if linear else self.angle
        if kind == ("height" if linear else "offset"):
            return homing if self.homing is None else self.homing
        return self.angle if kind in ANGLES else self.length


@dataclass(frozen=True)
class Parameter:
    """One number that calibration finds: a kind, and the limb that it belongs to (from 0).

    The platform's own has no limb: -1.
    """

    kind: str
    limb: int

    @property
    def name(self) -> str:
        return self.kind if self.limb < 0 else f"{self.kind}{self.limb + 1}"

    @property
    def unit(self) -> str:
        return "" if self.kind == "gain" else "rad" if self.kind in ANGLES else "m"


@dataclass(frozen=True, eq=False)
class Geometric:
    """A robot's geometric parameters: x (n,) in m and rad, deviations from the robot file.

    `rods` frees half the difference of the two rods of every pair, which tilts the platform.
    """

    robot: Robot
    gains: bool = False
    rods: bool = False

    def __post_init__(self) -> None:
        if self.rods and (self.robot.legs != 3 or self.robot.geometry.rod_spacing is None):
            allowed = "a robot with three limbs whose file has geometry.rod_spacing"
            raise InputError("robot with rods of their own", self.robot.name, allowed)
        if self.robot.planar:
            allowed = "a robot with three or four limbs: calibration in a plane is not there"
            raise InputError("robot", self.robot.name, allowed)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        own = RAIL_KINDS if self.robot.linear else ARM_KINDS
        own = (*own, "gain") if self.gains else own
        return (*own, "rod") if self.rods else own

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        own = [Parameter(kind, i) for i in range(self.robot.legs) for kind in self.kinds]
        if isinstance(self.robot.platform, ArticulatedPlatform):
            own.append(Parameter("bar", -1))
        return tuple(own)

    @property
    def count(self) -> int:
        return len(self.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters)

    def scales(self, tolerances: Tolerances) -> FloatArray:
        """Standard deviations (n,) before the measurement."""
        linear = self.robot.linear
        return np.array([tolerances.of(item.kind, linear) for item in self.parameters])

    def of_kind(self, x: FloatArray, kind: str) -> FloatArray:
        """The limbs' values (legs,) of one kind."""
        return self._by_limb(x)[:, self.kinds.index(kind)]

    def _by_limb(self, x: FloatArray) -> FloatArray:
        """The limbs' numbers (legs, kinds), without the platform's."""
        legs = self.robot.legs
        return x[: legs * len(self.kinds)].reshape(legs, -1)

    def subset(self, model: str) -> FloatArray:
        """T (n, k): x = T y of a model of the ladder.

        "homing" frees the drives' zeros; "sizes" one radius and one length more (arm, or strut on
        rails), alike on all limbs; "all" everything.
        """
        if model not in LADDER:
            raise InputError("model", model, "one of " + ", ".join(map(repr, LADDER)))
        if model == "all":
            return np.eye(self.count)
        zero, length = ("height", "strut") if self.robot.linear else ("offset", "arm")
        own = [[float(item.kind == zero and item.limb == i) for item in self.parameters]
               for i in range(self.robot.legs)]  # fmt: skip
        if model == "sizes":
            own += [
                [float(item.kind == kind) for item in self.parameters]
                for kind in ("radius", length)
            ]
        return np.array(own).T

    def at(self, x: FloatArray) -> Geometry | RailGeometry:
        """The geometry with these deviations; homing and gains stay with the drives."""
        g, values = self.robot.geometry, self._by_limb(x)
        changes: dict[str, Any] = {
            field: tuple(
                old + float(new)
                for old, new in zip(
                    getattr(g, field), values[:, self.kinds.index(kind)], strict=True
                )
            )
            for kind, field in FIELDS[self.robot.linear].items()
        }
        return replace(g, **changes)

    def _limbs(self, g: Geometry | RailGeometry, x: FloatArray) -> Limbs:
        robot = self.robot
        if isinstance(robot.platform, ArticulatedPlatform):
            robot = replace(robot, platform=self._platform(x))
        return Limbs(limbs_of(g, "rail" if g.linear else "inclined"), carrier(robot))

    def _platform(self, x: FloatArray) -> Any:
        """The platform with its own deviation."""
        platform = self.robot.platform
        if not isinstance(platform, ArticulatedPlatform):
            return platform
        return replace(platform, bar_length=platform.bar_length + float(x[-1]))

    def mended(self, x: FloatArray, source: str = "calibrated") -> Robot:
        """The calibrated robot: its geometry, and the homing offsets in its controller block.

        The controller shows sign q + offset, and the true angle is q + off: the new offset is the
        old one less sign off. A gain is no field: it belongs into the drive's gear ratio.
        """
        changes: dict[str, Any] = {"geometry": self.at(x), "platform": self._platform(x)}
        if not self.robot.linear:
            controller, off = self.robot.controller, np.zeros(self.robot.dof)
            off[: self.robot.legs] = self.of_kind(x, "offset")
            new = np.asarray(controller.offset) - np.asarray(controller.sign) * off
            changes["controller"] = replace(controller, offset=tuple(float(v) for v in new))
        found = self.robot.replace(**changes)
        fields = [f"geometry.{name}" for name in FIELDS[self.robot.linear].values()]
        fields += [] if self.robot.linear else ["controller.offset"]
        fields += ["platform.bar_length"] if self.parameters[-1].kind == "bar" else []
        own = {
            path: Source(source)
            for path in fields
            if value_at(found, path) != value_at(self.robot, path)
        }
        return found.replace(sources={**found.sources, **own})

    def driven(self, x: FloatArray, q: FloatArray) -> FloatArray:
        """Q (N, legs): the true coordinates where the robot file's convention says q (N, dof)."""
        own = q[:, : self.robot.legs]
        if self.gains:
            own = own * (1 + self.of_kind(x, "gain"))
        return own if self.robot.linear else own + self.of_kind(x, "offset")

    def points(self, x: FloatArray, q: FloatArray) -> FloatArray:
        """Platform points (N, 3); NaN where the loop does not close."""
        if self.rods:
            return self.slopes(x, q)[0]
        return np.stack(self._pose(x, q)[3][:3], axis=-1)

    def _pose(self, x: FloatArray, q: FloatArray) -> tuple[Limbs, Vector, Vector, Vector]:
        """The limbs, the pairs (c, s) of their drives, and the platform's coordinates."""
        g, driven = self.at(x), self.driven(x, q)
        legs = self._limbs(g, x)
        c, s = pairs_of(np, legs, columns(driven))
        if legs.carrier.carried == 4:
            robot = replace(self.robot, geometry=g, platform=self._platform(x))
            return legs, c, s, columns(followed_pose(robot, driven, self._nominal(q)))
        with np.errstate(invalid="ignore"):
            return legs, c, s, platform_point(np, legs, c, s)

    def _nominal(self, q: FloatArray) -> FloatArray:
        """Nominal poses of q, from which others are followed; NaN ones start at home."""
        known: dict[bytes, FloatArray] = self.__dict__.setdefault("_poses", {})
        key = q.tobytes()
        if key not in known:
            found = followed_pose(self.robot, q)
            known[key] = np.where(np.isnan(found), home_pose(self.robot), found)
        return known[key]

    def slopes(
        self, x: FloatArray, q: FloatArray, tool: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Platform points (N, 3) and dp/dx (N, 3, n), from the rows of the struts.

        Column i of S^-1 times s_i.dE_i is what limb i's errors move the platform by. Where rods
        tilt the platform, the points are those of a `tool` (m) less the tool.
        """
        g, wide = self.at(x), len(self.kinds)
        legs, c, s, p = self._pose(x, q)
        with np.errstate(invalid="ignore", divide="ignore"):
            rods = rods_of(np, legs, c, s, p)
            inverse = [np.stack(np.broadcast_arrays(*column[:3])) for column in
                       rods.inverse.columns()]  # fmt: skip
        out = np.empty((len(q), 3, self.count))
        for i, limb in enumerate(legs):
            elbow, slope = (
                np.stack(part) for part in (limb.elbow(c[i], s[i]), _wide(limb, c, s, i))
            )
            rows = self._rows(g, i, np.stack(rods.base[i]), elbow, slope, q[:, i])
            out[:, :, i * wide : (i + 1) * wide] = (inverse[i][:, None] * rows[None]).transpose(
                2, 0, 1
            )
        if self.parameters[-1].kind == "bar":
            # a_i moves by its share of the bar's length along n; S dx = -s.da
            share = self._platform(x).tool_fraction
            shares = (share, share, share - 1, share - 1)
            moved = [-shares[i] * dot(rods.base[i], rods.place.n) for i in range(4)]
            out[:, :, -1] = np.stack(np.broadcast_arrays(*rods.inverse.solve(moved)[:3]), axis=-1)
        points = np.stack(p[:3], axis=-1)
        if self.rods:
            tilted = self._tilted(g, rods, inverse, np.zeros(3) if tool is None else tool)
            out[:, :, self._of_rods] = tilted
            points = points + tilted @ self.of_kind(x, "rod")
        return points, out

    @property
    def _of_rods(self) -> list[int]:
        return [k for k, item in enumerate(self.parameters) if item.kind == "rod"]

    def turns(self, x: FloatArray, q: FloatArray) -> FloatArray:
        """How the platform is turned (N, 3) in rad, where the rods of a pair differ."""
        g = self.at(x)
        legs, c, s, p = self._pose(x, q)
        tilts = self._tilts(g, rods_of(np, legs, c, s, p))
        out: FloatArray = tilts @ self.of_kind(x, "rod")
        return out

    def _tilts(self, g: Any, rods: Any) -> FloatArray:
        """dw/d(rod) (N, 3, 3): u_i.(w x t_i) spacing / 2 = rod_i, t_i along the pair's joints."""
        rows = []
        for i, frame in enumerate(g.frames):
            along = cross(frame.z, frame.x)
            rows.append(np.stack(cross(along, np.stack(rods.base[i]) / g.strut_length[i])))
        matrix = np.moveaxis(np.stack(rows), 2, 0)
        out: FloatArray = np.linalg.inv(matrix) / (g.rod_spacing / 2)
        return out

    def _tilted(self, g: Any, rods: Any, inverse: list[FloatArray], tool: FloatArray) -> FloatArray:
        """d(p + w x tool)/d(rod) (N, 3, 3): a turn w moves the pairs' joints b_j by w x b_j, and
        the platform gives way, S dp = -s_j.(w x b_j).
        """
        tilts = self._tilts(g, rods)
        out: FloatArray = np.cross(tilts, tool[None, :, None], axisa=1, axisb=1, axisc=1)
        for j, (azimuth, radius) in enumerate(zip(g.azimuth, g.platform_radius, strict=True)):
            joint = radius * np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
            swung = np.cross(tilts, joint[None, :, None], axisa=1, axisb=1, axisc=1)
            along = np.einsum("kn,nki->ni", np.stack(rods.base[j]), swung)
            out = out - inverse[j].T[:, :, None] * along[:, None, :]
        return out

    def _rows(
        self, g: Any, i: int, rod: FloatArray, elbow: FloatArray, slope: FloatArray, q: FloatArray
    ) -> FloatArray:
        """s.dE/dx of limb i's kinds (kinds, N), and l2 of the strut.

        A turn about the unit vector a moves the elbow by a x (E - J0), and s.(a x w) = a.(w x s).
        """
        frame, azimuth = g.frames[i], g.azimuth[i]
        ca, sa = float(np.cos(azimuth)), float(np.sin(azimuth))
        away = elbow - np.array(frame.shoulder)[:, None]
        moment = np.stack(cross(away, rod))
        along = dot(rod, slope)
        found = {
            "radius": ca * rod[0] + sa * rod[1],
            "tangential": ca * rod[1] - sa * rod[0],
            "height": rod[2],
            "roll": dot(frame.x, moment),
            "strut": g.strut_length[i],
            "gain": along * q,
            "rod": 0.0,
        }
        if g.linear:
            found["pitch"] = ca * moment[1] - sa * moment[0]
        else:
            found |= {"yaw": moment[2], "offset": along, "arm": dot(rod, away) / g.arm_length[i]}
        return np.stack([np.broadcast_to(found[kind], along.shape) for kind in self.kinds])


def _wide(limb: Limb, c: Vector, s: Vector, i: int) -> list[FloatArray]:
    """E' with every component as an array: a rail's is one vector for all poses."""
    return [np.broadcast_to(part, np.shape(c[i])) for part in limb.slope(c[i], s[i])]
