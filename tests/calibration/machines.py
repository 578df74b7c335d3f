"""Robots with geometric errors, written independently of the library: rotation matrices and a
numerical closure of the loops.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deltadyn.robot import Robot

Array = NDArray[np.float64]
ARM = ("radius", "tangential", "height", "yaw", "roll", "arm", "offset", "strut", "gain")
RAIL = ("radius", "tangential", "height", "pitch", "roll", "strut", "gain")


def about(axis: int, angle: float) -> Array:
    """The rotation about one of the three axes."""
    c, s = np.cos(angle), np.sin(angle)
    j, k = (axis + 1) % 3, (axis + 2) % 3
    out = np.eye(3)
    out[j, j] = out[k, k] = c
    out[j, k], out[k, j] = -s, s
    return out


def points(robot: Robot, errors: dict[str, Array], q: Array) -> Array:
    """Platform points (N, 3) of a robot with errors (3,) by kind: Newton on strut lengths."""
    g: Any = robot.geometry
    elbows, lengths = [], []
    for i in range(3):

        def err(kind: str, i: int = i) -> float:
            return float(errors.get(kind, np.zeros(3))[i])

        base = about(2, g.azimuth[i])
        own = (1 + err("gain")) * q[:, i]
        if robot.linear:
            c = np.array([g.base_radius[i] - g.platform_radius[i], g.rail_tangential[i],
                          g.rail_height[i]])  # fmt: skip
            turn = about(1, g.rail_pitch[i] + err("pitch")) @ about(0, g.rail_roll[i] + err("roll"))
            arm = np.outer(own, [0.0, 0.0, 1.0])
        else:
            c = np.array([g.base_radius[i] - g.platform_radius[i], g.shoulder_tangential[i],
                          g.shoulder_height[i]])  # fmt: skip
            turn = about(2, g.axis_yaw[i] + err("yaw")) @ about(0, g.axis_roll[i] + err("roll"))
            angle = own + err("offset")
            length = g.arm_length[i] + err("arm")
            arm = length * np.stack([np.cos(angle), 0 * angle, -np.sin(angle)], axis=1)
        c = c + np.array([err("radius"), err("tangential"), err("height")])
        elbows.append((c + arm @ turn.T) @ base.T)
        lengths.append(g.strut_length[i] + err("strut"))
    E = np.stack(elbows, axis=1)  # (N, 3, 3)
    p = E.mean(axis=1) - np.array([0, 0, 0.8 * max(lengths)])
    for _ in range(50):
        s = p[:, None] - E
        off = np.linalg.norm(s, axis=2) - np.array(lengths)
        step = np.linalg.solve(s / np.linalg.norm(s, axis=2)[..., None], -off[..., None])[..., 0]
        p = p + step
        if np.abs(step).max() < 1e-14:
            break
    out: Array = p
    return out


def errors(
    robot: Robot, rng: np.random.Generator, length: float = 1e-3, angle: float = np.radians(0.3),
    gain: float = 0.0,
) -> dict[str, Array]:  # fmt: skip
    """Errors of every kind, each limb its own."""
    sizes = {"gain": gain, "yaw": angle, "roll": angle, "pitch": angle, "offset": angle}
    kinds = RAIL if robot.linear else ARM
    return {kind: sizes.get(kind, length) * rng.standard_normal(3) for kind in kinds}


def cylinder(robot: Robot, rng: np.random.Generator, count: int) -> Array:
    """Random points of the robot's working cylinder."""
    box = robot.limits.workspace
    assert box is not None
    radius, angle = box.radius * np.sqrt(rng.random(count)), 2 * np.pi * rng.random(count)
    z = box.z_min + (box.z_max - box.z_min) * rng.random(count)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=1)


def placed(rng: np.random.Generator) -> tuple[Array, Array]:
    """A frame somewhere."""
    turn = (
        about(0, rng.uniform(-3, 3)) @ about(1, rng.uniform(-1, 1)) @ about(2, rng.uniform(-3, 3))
    )
    return turn, rng.uniform(-2, 2, 3)
