"""Random members of every kind, with sane proportions and consistent bodies."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from tests.reference.engines.spec import Array, EngineBody, EngineSpindle

from .members import (
    Z_HAT,
    Arm,
    Articulated,
    Gear,
    Helical,
    Member,
    Planar,
    Platform,
    Rail,
    Rod,
    Spindle,
    Strut,
    Translation,
)

KINDS = (
    "rotary",
    "rotary inclined",
    "linear vertical",
    "linear any rails",
    "linear horizontal",
    "linear parallel",
    "planar rotary",
    "planar linear",
    "planar beam",
    "par4 k=1",
    "par4 k=2",
    "par4 k=4",
    "par4 k=-2",
    "par4 inclined k=3",
    "par4 rails k=2",
    "heli4 rotary",
    "heli4 rails",
    "spindle linear",
    "spindle inclined",
)


@lru_cache  # the same member again: what is kept per member is found
def random_member(kind: str, seed: int, *, equal: bool = False) -> Member:
    """Draw a member of a kind; with `equal` its limbs share every number and stand evenly.

    Inclined axes and arbitrary rails are drawn per limb, so these kinds are never equal in
    directions. The platform's bodies and the payload have COM and inertia about all axes.
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; allowed are {', '.join(KINDS)}")
    rng = np.random.default_rng([zlib.crc32(kind.encode()), seed, equal])
    draw = _Draw(kind, rng, equal)
    if kind.startswith("planar"):
        return _planar(draw)
    limbs = 4 if kind.startswith(("par4", "heli4")) else 3
    straight = any(word in kind for word in ("linear", "rails"))
    drives, struts = _rails(draw, limbs) if straight else _arms(draw, limbs)
    radius = [draw.near(0.05, 0.1) for _ in range(limbs)] if not equal else [0.06] * limbs
    b = np.array([r * e for r, e in zip(radius, draw.radial(limbs), strict=True)])
    if not equal:
        b = b + rng.uniform(-0.02, 0.02, (limbs, 3))
    payload = draw.solid(rng.uniform(0.2, 3.0), 0.05)
    return Member(kind, draw.gravity, drives, struts, _platform(draw, b), payload)


@dataclass(eq=False)
class _Draw:
    """Numbers of one member; those of its limbs differ unless it is equal."""

    kind: str
    rng: np.random.Generator
    equal: bool

    def __post_init__(self) -> None:
        self.gravity = float(self.rng.uniform(9.5, 10.0))
        self.azimuth = float(self.rng.uniform(-np.pi, np.pi))
        self.kept: dict[str, float] = {}

    def near(self, nominal: float, spread: float) -> float:
        return float(nominal * self.rng.uniform(1 - spread, 1 + spread))

    def of_limb(self, name: str, low: float, high: float, spread: float = 0.1) -> float:
        """A number of a limb: the same for all, or one near the common one."""
        if name not in self.kept:
            self.kept[name] = float(self.rng.uniform(low, high))
        return self.kept[name] if self.equal else self.near(self.kept[name], spread)

    def radial(self, limbs: int) -> Array:
        """Outward directions (limbs, 3); the pairs of four limbs stand at 45 degrees."""
        if not self.kept.get("turned"):
            self.turn = np.zeros(limbs) if self.equal else self.rng.uniform(-0.1, 0.1, limbs)
            self.kept["turned"] = 1.0
        first = 0.0 if limbs == 3 else -np.pi / 4
        angle = self.azimuth + first + 2 * np.pi / limbs * np.arange(limbs) + self.turn
        return np.column_stack([np.cos(angle), np.sin(angle), np.zeros(limbs)])

    def rod(self, length: float, low: float, high: float, name: str) -> Rod:
        mass = self.of_limb(f"{name} mass", low, high, 0.3)
        com = length * self.of_limb(f"{name} com", 0.4, 0.6, 0.1)
        return Rod(mass, com, mass * length**2 * self.of_limb(f"{name} inertia", 0.05, 0.1, 0.2))

    def solid(self, mass: float, size: float, centre: Array | None = None) -> EngineBody:
        """Eight point masses as a body: J = sum m_k (|r_k|^2 1 - r_k r_k^T)."""
        weights = mass * self.rng.dirichlet(np.full(8, 3.0))
        points = size * self.rng.standard_normal((8, 3))
        points += np.zeros(3) if centre is None else centre
        com = weights @ points / mass
        r = points - com
        second = (weights[:, None] * r).T @ r
        return EngineBody(float(mass), com, np.trace(second) * np.eye(3) - second)

    def rotation(self, largest: float) -> Array:
        """A turn about a random axis by up to `largest` rad (Rodrigues)."""
        axis = self.rng.standard_normal(3)
        x, y, z = axis / np.linalg.norm(axis)
        K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        angle = self.rng.uniform(-largest, largest)
        turn: Array = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
        return turn


def _arms(draw: _Draw, limbs: int) -> tuple[tuple[Arm, ...], tuple[Strut, ...]]:
    arms, struts = [], []
    first: EngineBody | None = None
    for e_r in draw.radial(limbs):
        turn = draw.rotation(0.35) if "inclined" in draw.kind else np.eye(3)
        e1, e2 = turn @ e_r, -turn @ Z_HAT
        shoulder = draw.of_limb("radius", 0.2, 0.3) * e_r
        if "inclined" in draw.kind:
            shoulder = shoulder + draw.rng.uniform(-0.05, 0.05, 3)
        length = draw.of_limb("arm", 0.3, 0.4, 0.05)
        centre = np.array([0.4 * length, 0.0, 0.02])
        body = draw.solid(draw.of_limb("arm mass", 0.8, 2.0, 0.3), 0.04, centre)
        first = first or body
        body = first if draw.equal else body
        rotor, elbow = draw.of_limb("rotor", 0.02, 0.1, 0.3), draw.of_limb("elbow", 0.0, 0.3)
        arms.append(Arm(shoulder, e1, e2, length, body, rotor, elbow))
        l2 = draw.of_limb("strut", 0.75, 0.9, 0.05)
        rod = draw.rod(l2, 0.1, 0.3, "rod")
        struts.append(Strut(l2, rod, 2, 0.1 * np.cross(e1, e2)))
    return tuple(arms), tuple(struts)


def _rails(draw: _Draw, limbs: int) -> tuple[tuple[Rail, ...], tuple[Strut, ...]]:
    rails, struts = [], []
    for i, e_r in enumerate(draw.radial(limbs)):
        l2 = draw.of_limb("strut", 0.4, 0.7, 0.05)
        point, along = 0.55 * l2 * e_r, Z_HAT
        pair = 0.08 * np.cross(Z_HAT, e_r)
        if "horizontal" in draw.kind:
            point, along = draw.of_limb("inner", 0.0, 0.1) * e_r, e_r
        elif "parallel" in draw.kind:
            # two level rails beside the platform and one above, all along x
            along = np.array([1.0, 0.0, 0.0])
            beside = np.array([(0.0, 0.6, 0.0), (0.0, -0.6, 0.0), (0.0, 0.0, 0.4)][i])
            point = l2 * beside + (0.0 if draw.equal else draw.rng.uniform(-0.02, 0.02, 3))
            pair = 0.08 * (Z_HAT if i < 2 else np.array([0.0, 1.0, 0.0]))
        elif "vertical" not in draw.kind:
            along = draw.rotation(0.6) @ Z_HAT
            along = along if along[2] > 0 else -along
            point = point + draw.rng.uniform(-0.05, 0.05, 3)
            pair = draw.rotation(0.3) @ pair
        branch = -1 if "parallel" in draw.kind and i == 2 else 1
        rails.append(_rail(draw, point, along, branch))
        struts.append(Strut(l2, draw.rod(l2, 0.05, 0.2, "rod"), 2, pair))
    return tuple(rails), tuple(struts)


def _rail(draw: _Draw, point: Array, along: Array, branch: int = 1) -> Rail:
    return Rail(
        point,
        along,
        draw.of_limb("carriage", 0.3, 1.0, 0.3),
        draw.of_limb("counterweight", 0.1, 0.5, 0.3),
        draw.of_limb("rotor", 0.2, 1.0, 0.3),
        branch,
    )


def _planar(draw: _Draw) -> Member:
    """Two limbs in the plane y = 0. Unequal: only the first limb keeps the platform parallel."""
    rng, outward = draw.rng, np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    limbs: list[Arm | Rail] = []
    struts = []
    first: EngineBody | None = None
    for i, e_r in enumerate(outward):
        rods = 2 if draw.equal or i == 0 else 1
        if draw.kind == "planar rotary":
            length = draw.of_limb("arm", 0.3, 0.4, 0.05)
            l2 = draw.of_limb("strut", 0.7, 0.85, 0.05)
            body = draw.solid(
                draw.of_limb("arm mass", 0.8, 2.0, 0.3), 0.04, np.array([0.4 * length, 0.0, 0.02])
            )
            first = first or body
            body = first if draw.equal else body
            lean = 0.0 if draw.equal else rng.uniform(-0.2, 0.2)
            e1 = np.cos(lean) * e_r + np.sin(lean) * Z_HAT
            e2 = np.sin(lean) * e_r - np.cos(lean) * Z_HAT
            shoulder = draw.of_limb("radius", 0.1, 0.2) * e_r
            rotor, elbow = draw.of_limb("rotor", 0.02, 0.1, 0.3), draw.of_limb("elbow", 0.1, 0.3)
            bracket, holder = None, None
            if rods == 2:
                bracket, elbow = draw.solid(elbow, 0.03), 0.0
                holder = draw.rod(length, 0.1, 0.3, "holder")
            at = 0.06 * Z_HAT + 0.02 * e_r
            arm = Arm(shoulder, e1, e2, length, body, rotor, elbow, bracket, holder, at)
            limbs.append(arm)
        else:
            l2 = draw.of_limb("strut", 0.4, 0.7, 0.05 if draw.kind == "planar linear" else 0.0)
            point, along = 0.02 * e_r, e_r
            if draw.kind == "planar linear":
                lean = 1.2 if draw.equal else rng.uniform(0.6, np.pi / 2)
                along = np.cos(lean) * e_r + np.sin(lean) * Z_HAT
                point = draw.of_limb("radius", 0.5, 0.6) * l2 * e_r
            limbs.append(_rail(draw, point, along))
        pair = draw.of_limb("pair", 0.05, 0.1) * (0.8 * e_r - 0.6 * Z_HAT)
        struts.append(Strut(l2, draw.rod(l2, 0.1, 0.3, "rod"), rods, pair))
    b = np.array([draw.of_limb("b", 0.03, 0.06) * e for e in outward])
    platform = Planar(draw.solid(rng.uniform(0.3, 1.0), 0.03), b)
    payload = draw.solid(rng.uniform(0.2, 3.0), 0.05)
    return Member(draw.kind, draw.gravity, tuple(limbs), tuple(struts), platform, payload)


def _platform(draw: _Draw, b: Array) -> Platform:
    rng = draw.rng
    if draw.kind.startswith("par4"):
        return _articulated(draw, b)
    if draw.kind.startswith("heli4"):
        halves = draw.solid(rng.uniform(0.2, 0.5), 0.03), draw.solid(rng.uniform(0.2, 0.5), 0.03)
        lead, fraction = rng.uniform(0.02, 0.06), rng.uniform(-0.2, 1.2)
        sigma = np.array([fraction, fraction - 1]) * lead / (2 * np.pi)
        tool = draw.solid(rng.uniform(0.1, 0.3), 0.03)
        # the halves do not share a height, as their struts could else not hold them apart
        b = b + np.array([0.05, 0.05, -0.05, -0.05])[:, None] * Z_HAT
        return Helical(halves, (float(sigma[0]), float(sigma[1])), tool, b)
    body = draw.solid(rng.uniform(0.3, 1.0), 0.03)
    if not draw.kind.startswith("spindle"):
        return Translation(body, b)
    upper, lower = (
        EngineBody(
            mass := float(rng.uniform(0.2, 0.6)),
            np.array([0.0, 0.0, sign * rng.uniform(0.15, 0.25)]),
            mass * np.diag([across := rng.uniform(0.01, 0.03), across, rng.uniform(1e-4, 3e-4)]),
        )
        for sign in (1.0, -1.0)
    )
    tool = draw.solid(rng.uniform(0.2, 0.5), 0.03)
    top = 0.5 if "linear" in draw.kind else float(rng.uniform(-0.05, 0.1))
    spindle = EngineSpindle(upper, lower, tool, top, float(rng.uniform(0.0, 0.08)))
    return Spindle(body, b, spindle, float(rng.uniform(0.001, 0.005)))


def _articulated(draw: _Draw, b: Array) -> Articulated:
    """Home: the bars point from half 2 to half 1, which limbs 1 and 2 hold."""
    rng = draw.rng
    ratio = float(draw.kind.split("=")[1])
    length = draw.near(0.12, 0.2)
    fraction = float(rng.choice([0.0, 0.5, 1.0, rng.uniform(0.0, 1.0)]))
    phi0 = draw.azimuth + float(rng.uniform(-0.1, 0.1))
    across = np.array([-np.sin(phi0), np.cos(phi0), 0.0])
    bars = tuple(
        EngineBody(body.mass, body.com * np.array([1.0, 1.0, 0.0]), body.inertia_com)
        for body in (
            draw.solid(rng.uniform(0.05, 0.15), 0.02, np.array([-0.5 * length, 0.01, 0.0]))
            for _ in range(2)
        )
    )
    sign = float(np.sign(ratio))
    gears = (
        Gear(0.05, 2e-5, float(rng.uniform(0.5, 3.0)), True, (-0.3 * length, 0.01)),
        Gear(0.08, 4e-5, -sign * float(rng.uniform(0.5, 3.0)), True, (0.2 * length, -0.015)),
        Gear(0.06, 3e-5, float(rng.uniform(-2.0, 2.0)), False, (0.02, 0.03)),
    )
    return Articulated(
        (draw.solid(rng.uniform(0.1, 0.3), 0.03), draw.solid(rng.uniform(0.1, 0.3), 0.03)),
        (bars[0], bars[1]),
        length,
        draw.near(0.06, 0.2) * across + 0.01 * Z_HAT,
        phi0,
        ratio,
        fraction,
        gears,
        draw.solid(rng.uniform(0.1, 0.4), 0.03),
        b,
    )
