"""The single rods of the pairs and the springs that press their sockets on the balls.

Rod 1 of a pair sits at +w/2 t, rod 2 at -w/2 t. Both move alike, so they share the pair's
transverse forces; the couple kappa = w delta of the pair adds delta to the tension of rod 1:

    f_P = f_P,pair / 2 +- delta u,    f_E = f_E,pair / 2 -+ delta u

The sockets of a pair are pressed on their balls from outside, by a spring at each end that pulls
the two rods together along the pin axis t. With o = +-t outward and P the spring's force, a ball
pushes its socket with f + P o, and must push within the cup: no further than the half angle from
the cup's axis. About the pin axis that is

    |f - (f.o) o| <= tan(half angle) (f.o + P)    =>    P = max(0, |f_perp| / tan(half angle) - f.o)

A cup bored square to the rod has its axis a = (o - (o.u) u) / |o - (o.u) u| tilted by the sway;
P is then the smallest with a.(f + P o) >= cos(half angle) |f + P o|, infinite where the sway
reaches the half angle, because there the spring itself pulls across the rim.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics.loads_pairs import PairLoads
from deltadyn.errors import InputError
from deltadyn.robot import Robot

CupAxis = Literal["pin", "rod"]

SIDES = np.array([1.0, -1.0])  # rod 1 at +t, rod 2 at -t


@dataclass(frozen=True, eq=False)
class RodLoads:
    """Loads of the single rods, in N: arms in the second place, rods at +t and -t in the third.

    A spring serves both rods of a pair, so an end needs the larger of its two preloads.
    """

    axial_elbow: FloatArray  # (N, 3, 2), tension positive
    axial_platform: FloatArray  # (N, 3, 2)
    axial_max: FloatArray  # (N, 3, 2), most tension along the rod
    axial_min: FloatArray  # (N, 3, 2)
    elbow: FloatArray  # (N, 3, 2, 3), of the arm on the rod: ball and spring together
    platform: FloatArray  # (N, 3, 2, 3), of the platform on the rod
    preload_elbow: FloatArray  # (N, 3, 2), smallest spring force that keeps the ball in its socket
    preload_platform: FloatArray  # (N, 3, 2)

    @property
    def preload(self) -> float:
        """Smallest spring force (N) that suits every ball joint during the whole motion."""
        return float(max(np.max(self.preload_elbow), np.max(self.preload_platform)))

    @property
    def largest_force(self) -> float:
        """Largest axial force (N) of a rod during the motion, in tension or compression."""
        return float(max(np.max(np.abs(self.axial_max)), np.max(np.abs(self.axial_min))))


def rod_loads(robot: Robot, pairs: PairLoads, half_angle: float, axis: CupAxis) -> RodLoads | None:
    """The loads of each rod; None where the robot does not say how far apart they are."""
    spacing = robot.geometry.rod_spacing
    if spacing is None:
        return None
    more = (pairs.couple / spacing)[..., None] * SIDES  # (N, 3, 2)
    push = more[..., None] * pairs.u[:, :, None, :]
    elbow, platform = pairs.elbow[:, :, None] / 2 - push, pairs.platform[:, :, None] / 2 + push
    outward = np.broadcast_to(pairs.t[:, None] * SIDES[:, None], elbow.shape)
    cup = outward
    if axis == "rod":
        along = pairs.u[:, :, None, :]
        cup = outward - np.sum(outward * along, axis=-1, keepdims=True) * along
        cup = cup / np.linalg.norm(cup, axis=-1, keepdims=True)
    return RodLoads(
        -contract("nirk,nik->nir", elbow, pairs.u),
        contract("nirk,nik->nir", platform, pairs.u),
        pairs.axial_max[..., None] / 2 + more,
        pairs.axial_min[..., None] / 2 + more,
        elbow,
        platform,
        least_preload(elbow, outward, cup, half_angle),
        least_preload(platform, outward, cup, half_angle),
    )


def least_preload(
    force: FloatArray, spring: FloatArray, cup: FloatArray, half_angle: float
) -> FloatArray:
    """Smallest P >= 0 with cup.(f + P spring) >= cos(half angle) |f + P spring|, in N.

    With c = cup.spring, L = cos(half angle), f_perp across the spring and w = cup.f_perp:
    P + f.spring = (L sqrt(w^2 + (c^2 - L^2) |f_perp|^2) - c w) / (c^2 - L^2). Directions are unit
    vectors in the last axis; infinite where cup and spring are the half angle apart or more.
    """
    L = math.cos(half_angle)
    along = np.sum(force * spring, axis=-1)
    across = force - along[..., None] * spring
    c, w = np.sum(cup * spring, axis=-1), np.sum(cup * across, axis=-1)
    k = np.maximum(c**2 - L**2, 0.0)
    root = L * np.sqrt(w**2 + k * np.sum(across**2, axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.maximum((root - c * w) / k - along, 0.0)
    return np.where(k > 0, least, np.where(np.isnan(along), np.nan, np.inf))


def check_cup(half_angle: float, axis: str) -> None:
    """Refuse a cup that is none."""
    if not (math.isfinite(half_angle) and 0 < half_angle < math.pi / 2):
        raise InputError("cup_half_angle", half_angle, "above 0 and below pi/2 rad")
    if axis not in ("pin", "rod"):
        raise InputError("cup_axis", axis, "'pin' or 'rod'")
