"""All assemblies of an articulated platform from its joint coordinates, in closed form.

At a height z, half 1 lies on the line in which the spheres about its two elbows meet: at P1(z) +-
sqrt(Q1(z)) t1, with P1 linear and Q1 quadratic in z; half 2 likewise. Their distance L,

    A + r1 B + r2 C + r1 r2 D = 0,   r1^2 = Q1, r2^2 = Q2

squared twice, is a polynomial of degree 8 in z.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.polynomial import Polynomial
from tests.reference.engines.spec import Array

from .members import Articulated, Member
from .poses import attachments, elbows

REAL = 1e-6  # a root counts as real below this imaginary part, m
OFF = 1e-4  # a root of the squared equation belongs to signs whose distance errs less, m


def articulated_assemblies(member: Member, q: Array) -> Array:
    """Poses (k, 4) of joint coordinates (4,), the lowest first; bars within half a turn of home."""
    platform = member.platform
    assert isinstance(platform, Articulated)
    centres = elbows(member, q[None])[0] - platform.attachments
    lengths = np.array([strut.length for strut in member.struts])
    P1, Q1, t1 = _half(centres[:2], lengths[:2])
    P2, Q2, t2 = _half(centres[2:], lengths[2:])
    gap = [one - two for one, two in zip(P1, P2, strict=True)]
    A = gap[0] ** 2 + gap[1] ** 2 + Q1 + Q2 - platform.length**2
    B, C, D = (
        2 * (gap[0] * t1[0] + gap[1] * t1[1]),
        -2 * (gap[0] * t2[0] + gap[1] * t2[1]),
        -2 * t1 @ t2,
    )
    U, V = A**2 + Q1 * B**2 - Q2 * (C**2 + Q1 * D**2), 2 * (A * B - Q2 * C * D)
    poses = []
    for root in (U**2 - Q1 * V**2).roots():
        z = root.real
        if abs(root.imag) > REAL or min(Q1(z), Q2(z)) < 0:
            continue
        ends = [
            (
                np.array([P1[c](z) + s1 * np.sqrt(Q1(z)) * t1[c] for c in range(2)]),
                np.array([P2[c](z) + s2 * np.sqrt(Q2(z)) * t2[c] for c in range(2)]),
            )
            for s1, s2 in product((1, -1), repeat=2)
        ]
        misses = [abs(np.linalg.norm(one - two) - platform.length) for one, two in ends]
        if min(misses) < OFF:
            poses.append(_pose(platform, *ends[int(np.argmin(misses))], z))
    return np.array(sorted(poses, key=lambda pose: pose[2]))


def _half(centres: Array, lengths: Array) -> tuple[list[Polynomial], Polynomial, Array]:
    """P (two coordinates), Q and t of a half: the plane in which two spheres meet, at a height."""
    n = centres[1] - centres[0]
    level = (lengths[0] ** 2 - lengths[1] ** 2 + centres[1] @ centres[1]) / 2
    level -= centres[0] @ centres[0] / 2
    flat = n[:2] @ n[:2]
    foot = Polynomial([(level - n[:2] @ centres[0, :2]) / flat, -n[2] / flat])
    P = [centres[0, c] + n[c] * foot for c in range(2)]
    Q = lengths[0] ** 2 - flat * foot**2 - Polynomial([-centres[0, 2], 1.0]) ** 2
    return P, Q, np.array([-n[1], n[0]]) / np.sqrt(flat)


def _pose(platform: Articulated, first: Array, second: Array, z: float) -> Array:
    bar = first - second
    phi = np.arctan2(bar[1], bar[0]) - platform.phi0
    phi -= 2 * np.pi * np.round(phi / (2 * np.pi))
    return np.array([*(first - platform.tool_fraction * bar), z, platform.ratio * phi])


def bar_volume(member: Member, q: Array, x: Array) -> float:
    """N12.(N34 x n'): det S without its factor L/k; its sign tells the side of the singularity."""
    platform = member.platform
    assert isinstance(platform, Articulated)
    s1, s2, s3, s4 = (attachments(member, x[None]) - elbows(member, q[None]))[0]
    phi = platform.phi0 + x[3] / platform.ratio
    across = np.array([-np.sin(phi), np.cos(phi), 0.0])
    return float(np.cross(s1, s2) @ np.cross(np.cross(s3, s4), across))
