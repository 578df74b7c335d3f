"""The nearest robot that a controller's transformation can hold, and the error that is left.

A calibrated robot has a shoulder and an axis of its own per limb. A transformation with fewer
numbers takes those that bring its positions nearest to the robot's over the workspace: the fit of a
calibration whose measured points are the robot's own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.calibration.estimate import fit_model
from deltadyn.calibration.field import with_psi, workspace_points
from deltadyn.calibration.measurements import Positions
from deltadyn.calibration.parameters import FIELDS, Geometric, Tolerances
from deltadyn.errors import InputError
from deltadyn.kinematics import forward_kinematics, inverse_kinematics
from deltadyn.robot import Robot
from deltadyn.robot.bodies import RailGeometry

POINTS = 200  # of the workspace
UPRIGHT = math.radians(3.0)  # rails that lean by less are meant to be vertical
EXACT = 1e-6  # m: what is nearer than this is held


@dataclass(frozen=True, eq=False)
class Held(Geometric):
    """The parameters that a transformation has: `each` a number per limb, `common` one for all."""

    each: tuple[str, ...] = ()
    common: tuple[str, ...] = ()

    def subset(self, model: str) -> FloatArray:
        """T (n, k): x = T y of these parameters alone, whatever the model is called."""
        rows = [
            [float(item.kind == kind and limb in (None, item.limb)) for item in self.parameters]
            for kinds, limbs in ((self.each, range(self.robot.legs)), (self.common, (None,)))
            for kind in kinds
            for limb in limbs
        ]
        return np.array(rows).T


@dataclass(frozen=True, eq=False)
class Nearest:
    """The robot that a transformation holds, and how far its positions are off (m)."""

    robot: Robot
    rms: float
    worst: float

    @property
    def exact(self) -> bool:
        """Whether nothing is lost."""
        return self.worst < EXACT

    def __str__(self) -> str:
        return (
            f"positions are off by {self.rms * 1e3:.3f} mm (rms over the workspace), "
            f"{self.worst * 1e3:.3f} mm at the worst point"
        )


def nearest_robot(
    robot: Robot,
    each: tuple[str, ...],
    common: tuple[str, ...] = (),
    *,
    azimuths: bool = False,
    levelled: bool = False,
) -> Nearest:
    """The robot nearest to this one among those with these numbers, and the error left.

    `each` and `common` name kinds of `Geometric.kinds`: "radius", "arm", "strut", "offset" and so
    on; all others are 0, or alike on all limbs. With `azimuths` a tangential place per limb is held
    as a turn of its azimuth, with `levelled` a vertical rail's height as an offset of its axis.
    """
    held = Held(_plain(robot, (*each, *common)), each=each, common=common)
    unknown = [kind for kind in (*each, *common) if kind not in held.kinds]
    if unknown:
        raise InputError("parameters of a transformation", unknown, ", ".join(held.kinds))
    points = workspace_points(robot, POINTS)
    q = inverse_kinematics(robot, with_psi(robot, points))
    shown = np.asarray(robot.to_controller(q))
    own = np.asarray(held.robot.from_controller(shown))
    measured = Positions(own, points, sigma=EXACT, frame="base")
    scales = held.scales(Tolerances(1.0, 1.0, 1.0, 1.0))  # nothing is preferred
    found = held.mended(fit_model(held, [measured], scales, huber=None).x)
    if azimuths:
        found = _turned(found)
    if levelled:
        found = _levelled(found)
    p = forward_kinematics(found, np.asarray(found.from_controller(shown)))[:, :3]
    off = np.linalg.norm(p - points, axis=1)
    return Nearest(found, float(np.sqrt((off**2).mean())), float(off.max()))


def _plain(robot: Robot, kinds: tuple[str, ...]) -> Robot:
    """The robot with what cannot be held at 0 (places, axes) or at the mean of the limbs."""
    geometry = robot.geometry
    changes: dict[str, Any] = {}
    for kind, field in FIELDS[robot.linear].items():
        values = getattr(geometry, field)
        if kind in ("radius", "arm", "strut", "pitch"):
            mean = float(np.mean(values))
            upright = kind == "pitch" and abs(mean) < UPRIGHT
            changes[field] = (0.0 if upright else mean,) * robot.legs
        elif kind not in kinds or kind != "height":
            changes[field] = (0.0,) * robot.legs
    return robot.replace(geometry=replace(geometry, **changes))


def _turned(robot: Robot) -> Robot:
    """Tangential places as turns of the azimuths: atan2(tangential, radius)."""
    geometry = robot.geometry
    field = FIELDS[robot.linear]["tangential"]
    turns = [
        math.atan2(aside, radius)
        for aside, radius in zip(getattr(geometry, field), geometry.shrunk_radius, strict=True)
    ]
    azimuth = tuple(a + turn for a, turn in zip(geometry.azimuth, turns, strict=True))
    changes: dict[str, Any] = {field: (0.0,) * robot.legs, "azimuth": azimuth}
    return robot.replace(geometry=replace(geometry, **changes))


def _levelled(robot: Robot) -> Robot:
    """Heights of vertical rails as offsets of their axes: q counts from the base plane then.

    With q' = q + height the controller's sign q + offset is sign q' + (offset - sign height).
    """
    geometry, controller = robot.geometry, robot.controller
    if not isinstance(geometry, RailGeometry) or any(geometry.rail_pitch + geometry.rail_roll):
        raise InputError("robot", robot.name, "one on vertical rails, whose heights are offsets")
    offset = np.array(controller.offset)
    height = np.array(geometry.rail_height)
    offset[: robot.legs] -= np.array(controller.sign)[: robot.legs] * height
    limits = robot.limits
    moved: dict[str, Any] = {
        name: None if values is None else tuple(np.add(values, np.resize(height, len(values))))
        for name, values in (("angle_min", limits.angle_min), ("angle_max", limits.angle_max))
    }
    return robot.replace(
        geometry=replace(geometry, rail_height=0.0),
        controller=replace(controller, offset=tuple(offset.tolist())),
        limits=replace(limits, **moved),
    )
