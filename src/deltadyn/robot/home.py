"""Whether two or four limbs hold their platform at home: on the z axis, with psi = 0.

A robot that is singular there at every height is described wrongly: halves held by the wrong pairs
of limbs, bars that lie across, rails that put both struts side by side.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import RobotError
from deltadyn.robot.bodies import (
    AnyPlatform,
    ArticulatedPlatform,
    Geometry,
    HelicalPlatform,
    LimbFrame,
    RailGeometry,
)

HEIGHTS = 65  # at which the limbs are tried
ACROSS = math.radians(8.0)  # least angle of the bars from where they swing by themselves
SINGULAR = 1e-6  # volume of unit struts: far below that of a pose that any robot can use


@lru_cache(maxsize=256)  # a robot is made anew with every change of a mass or of friction
def check_home(geometry: Geometry | RailGeometry, platform: AnyPlatform) -> None:
    """Refuse limbs that do not reach the axis, and struts that do not hold the platform there."""
    if platform.limbs == 3:
        return  # `Geometry` and `RailGeometry` look at their reach, and they always hold
    struts = home_struts(geometry, platform, _heights(geometry))  # (heights, limbs, 3)
    reached = np.isfinite(struts[:, :, 0])
    for i in np.flatnonzero(~reached.any(axis=0)):
        raise RobotError(
            f"geometry.strut_length[{i}]",
            geometry.strut_length[i],
            f"a strut with which limb {i + 1} reaches its half of the platform on the robot's axis",
        )
    units = struts[reached.all(axis=1)]
    if not len(units):
        return  # a robot that works beside its axis
    units = units / np.linalg.norm(units, axis=2, keepdims=True)
    if isinstance(platform, ArticulatedPlatform):
        _check_bars(units, geometry, platform)
    elif isinstance(platform, HelicalPlatform):
        _check_screw(units, geometry)
    else:
        _check_plane(units, geometry)


def _heights(geometry: Geometry | RailGeometry) -> FloatArray:
    """Heights (m) that hold all that the limbs reach from their zeros."""
    starts = max(math.hypot(*frame.shoulder) for frame in geometry.frames)
    far = starts + max(geometry.strut_length)
    far += max(geometry.arm_length) if isinstance(geometry, Geometry) else 0.0
    return np.linspace(-far, far, HEIGHTS)


def home_struts(
    geometry: Geometry | RailGeometry, platform: AnyPlatform, heights: FloatArray
) -> FloatArray:
    """Struts s = a - E (heights, limbs, 3) on the axis, NaN where a limb does not reach (m)."""
    offsets = np.zeros((geometry.legs, 3))
    if isinstance(platform, ArticulatedPlatform):
        n = np.array([math.cos(platform.phi0), math.sin(platform.phi0), 0.0])
        offsets = np.repeat(platform.sigma, 2)[:, None] * n
    frames = geometry.frames
    arms = geometry.arm_length if isinstance(geometry, Geometry) else (0.0,) * geometry.legs
    points = np.zeros((len(heights), 3))
    points[:, 2] = heights
    with np.errstate(invalid="ignore"):
        return np.stack(
            [
                _strut(frame, arms[i], geometry.strut_length[i], points + offsets[i])
                for i, frame in enumerate(frames)
            ],
            axis=1,
        )


def _strut(frame: LimbFrame, l1: float, l2: float, a: FloatArray) -> FloatArray:
    """One strut, of the outward elbow or of the carriage above; a rail has l1 = 0.

    E = J0 + q u with q = w.u + sqrt(l2^2 - |w|^2 + (w.u)^2), or E = J0 + l1 (cos e1 + sin e2) with
    cos = (h k + v n) / (h^2 + v^2), sin = (v k - h n) / (h^2 + v^2), where w = a - J0, h = w.e1,
    v = w.e2, k = (|w|^2 + l1^2 - l2^2) / (2 l1), n = sqrt(h^2 + v^2 - k^2).
    """
    w: FloatArray = a - np.array(frame.shoulder)
    ww, z = np.sum(w * w, axis=1), np.array(frame.z)
    if l1 == 0:
        along = w @ z
        q = along + np.sqrt(l2**2 - ww + along**2)
        elbow = q[:, None] * z
    else:
        x = np.array(frame.x)
        h, v = w @ x, -w @ z
        k = (ww + l1**2 - l2**2) / (2 * l1)
        square = h**2 + v**2
        n = np.sqrt(square - k**2)
        cos, sin = (h * k + v * n) / square, (v * k - h * n) / square
        elbow = l1 * (cos[:, None] * x - sin[:, None] * z)
    strut: FloatArray = w - elbow
    return strut


def _degrees(angles: tuple[float, ...]) -> list[float]:
    return [math.degrees(angle) for angle in angles]


def _lines(units: FloatArray) -> FloatArray:
    """N12 x N34, along the line in which the planes of the two pairs meet; one per height."""
    first = np.cross(units[:, 0], units[:, 1])
    return np.cross(first, np.cross(units[:, 2], units[:, 3]))


def _check_bars(
    units: FloatArray, geometry: Geometry | RailGeometry, platform: ArticulatedPlatform
) -> None:
    """det S = (L/k) N12.(N34 x n') = (L/k) (N12 x N34).n', and n' is level.

    Bars that lie across move the halves aside, so that the pairs' line turns with the height: at
    most heights an angle is asked for, not 0 at all of them.
    """
    lines = _lines(units)
    level, size = np.linalg.norm(lines[:, :2], axis=1), np.linalg.norm(lines, axis=1)
    if np.median(level / np.maximum(size, SINGULAR)) < math.sin(ACROSS):
        raise RobotError(
            "geometry.azimuth",
            _degrees(geometry.azimuth),
            "neighbours as limbs 1 and 2, and as 3 and 4, which hold the halves of an articulated "
            "platform: with these pairs the bars swing while the drives stand",
        )
    phi = platform.phi0
    across = np.abs(lines[:, :2] @ [-math.sin(phi), math.cos(phi)])
    if np.median(across / np.maximum(level, SINGULAR)) < math.sin(ACROSS):
        raise RobotError(
            "platform.phi0",
            math.degrees(phi),
            f"at least {math.degrees(ACROSS):g} deg from bars that lie across, normal to the "
            "bisector of limbs 1 and 2: there they swing while the drives stand",
        )


def _check_screw(units: FloatArray, geometry: Geometry | RailGeometry) -> None:
    """det S = (sigma_1 - sigma_2) (N12 x N34).z."""
    if np.abs(_lines(units)[:, 2]).max() < SINGULAR:
        raise RobotError(
            "geometry.azimuth",
            _degrees(geometry.azimuth),
            "opposite limbs as 1 and 2, and as 3 and 4, which hold the halves of a helical "
            "platform: neighbours cannot hold them apart at home",
        )


def _check_plane(units: FloatArray, geometry: Geometry | RailGeometry) -> None:
    """det S = s1x s2z - s1z s2x."""
    first, second = units[:, 0], units[:, 1]
    if np.abs(first[:, 0] * second[:, 2] - first[:, 2] * second[:, 0]).max() >= SINGULAR:
        return
    if isinstance(geometry, RailGeometry) and any(geometry.rail_pitch):
        field, value = "rail_pitch", _degrees(geometry.rail_pitch)
        words = "rails that do not run side by side"
    else:
        field, value = "base_radius", list(geometry.base_radius)
        words = "radii that differ from platform_radius"
    raise RobotError(
        f"geometry.{field}",
        value,
        f"{words}: here both struts are parallel on the whole axis, and the platform is not held",
    )
