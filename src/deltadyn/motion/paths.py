"""Paths by arc length: polylines whose corners are rounded without a jump of the curvature.

A circular arc would make the curvature jump, and with it the acceleration of what moves along. Here
the heading turns through a corner of angle phi along the length L like a quintic of sigma = s / L,

    theta = phi (10 sigma^3 - 15 sigma^4 + 6 sigma^5),    kappa = 30 phi sigma^2 (1 - sigma)^2 / L

so the curvature and its slope are zero at both ends, and p(s) has three continuous derivatives. The
largest curvature is 15/8 phi / L. With X, Y the integrals of cos and sin of theta over sigma, the
corner is cut at the distance L (X - Y / tan(phi)) before and after it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.motion.profiles import quintic

#: p, dp/ds and d2p/ds2 at N arc lengths, each (N, 3).
Place = tuple[FloatArray, FloatArray, FloatArray]

DEGREE = 40  # of the Chebyshev series of cos and sin of theta: exact to rounding for any corner
STRAIGHT = 1e-6  # rad: less is no corner, its cut is below rounding
SHARPEST = math.radians(175.0)  # beyond, the cut is 20 times the length of the curve


@dataclass(frozen=True, eq=False)
class Piece:
    """A straight line (angle 0) or a corner, from `origin` along `along`, turning to `across`."""

    begin: float  # m, arc length at which it begins
    length: float
    origin: FloatArray  # (3,)
    along: FloatArray  # (3,), unit
    across: FloatArray  # (3,), unit, normal to `along`
    angle: float  # rad

    def at(self, s: FloatArray) -> Place:
        """p, p', p'' (N, 3) at arc lengths s of the whole path."""
        if self.angle == 0:
            p = self.origin + (s - self.begin)[:, None] * self.along
            return p, np.tile(self.along, (len(s), 1)), np.zeros((len(s), 3))
        sigma = (s - self.begin) / self.length
        turn, slope, _ = quintic(sigma)
        c, s_ = np.cos(self.angle * turn)[:, None], np.sin(self.angle * turn)[:, None]
        x, y = _corner_series(self.angle)
        x_, y_ = (chebyshev.chebval(2 * sigma - 1, series)[:, None] for series in (x, y))
        p = self.origin + self.length * (x_ * self.along + y_ * self.across)
        kappa = (self.angle / self.length * slope)[:, None]
        return p, c * self.along + s_ * self.across, kappa * (c * self.across - s_ * self.along)


@dataclass(frozen=True, eq=False)
class RoundedPath:
    """A polyline with rounded corners, by arc length from 0 to `length` (m)."""

    pieces: tuple[Piece, ...]

    @property
    def length(self) -> float:
        """The whole arc length (m)."""
        last = self.pieces[-1]
        return last.begin + last.length

    def at(self, s: FloatArray) -> Place:
        """p, p' (a unit vector) and p'' (of the size of the curvature) at s (N,), each (N, 3)."""
        begins = np.array([piece.begin for piece in self.pieces])
        which = np.clip(np.searchsorted(begins, s, side="right") - 1, 0, len(begins) - 1)
        out = tuple(np.empty((len(s), 3)) for _ in range(3))
        for index, piece in enumerate(self.pieces):
            rows = which == index
            for whole, part in zip(out, piece.at(s[rows]), strict=True):
                whole[rows] = part
        return out[0], out[1], out[2]


def corner_length(angle: float, cut: float) -> float:
    """Length (m) of the curve that rounds a corner of `angle` (rad), cut by `cut` (m) each side."""
    x, y = (float(chebyshev.chebval(1.0, series)) for series in _corner_series(angle))
    return cut / (x - y / math.tan(angle))


def rounded_path(corners: FloatArray, cuts: FloatArray) -> RoundedPath:
    """The polyline through corners (K, 3), cut by `cuts` (K - 2,) in m on both sides of each."""
    steps = np.diff(corners, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    if not (lengths > 0).all():
        row = int(np.argmin(lengths))
        raise InputError("corners", corners[row], "apart from the next one", where=f"row {row}")
    headings = steps / lengths[:, None]
    trims = np.concatenate([[0.0], cuts, [0.0]])
    _check_cuts(lengths, trims)
    pieces: list[Piece] = []
    begin = 0.0
    for i, length in enumerate(lengths):
        straight = max(float(length - trims[i] - trims[i + 1]), 0.0)
        origin = corners[i] + trims[i] * headings[i]
        pieces.append(Piece(begin, straight, origin, headings[i], headings[i], 0.0))
        begin += straight
        if i + 1 < len(lengths):
            corner = _corner(begin, corners[i + 1], headings[i], headings[i + 1], trims[i + 1])
            pieces.append(corner)
            begin += corner.length
    return RoundedPath(tuple(piece for piece in pieces if piece.length > 0))


def _corner(
    begin: float, corner: FloatArray, before: FloatArray, after: FloatArray, cut: float
) -> Piece:
    """The curve that turns from one heading to the next."""
    cosine = float(before @ after)
    normal = after - cosine * before
    sine = float(np.linalg.norm(normal))
    angle = math.atan2(sine, cosine)
    if angle < STRAIGHT:
        return Piece(begin, 2 * cut, corner - cut * before, before, before, 0.0)
    if angle > SHARPEST or not cut > 0:
        allowed = "a cut above 0 m" if angle <= SHARPEST else "turned by at most 175 deg"
        turned = f"cut by {cut:g} m, turned by {math.degrees(angle):.4g} deg"
        raise InputError("corner", turned, allowed, where=f"{np.round(corner, 6).tolist()} m")
    return Piece(
        begin, corner_length(angle, cut), corner - cut * before, before, normal / sine, angle
    )


def _check_cuts(lengths: FloatArray, trims: FloatArray) -> None:
    needed = trims[:-1] + trims[1:]
    for i in np.flatnonzero(needed > lengths * (1 + 1e-12)):
        raise InputError(
            "cuts of the corners",
            float(needed[i]),
            f"together at most {lengths[i]:g} m, the length of the side",
            where=f"side {int(i) + 1}",
        )


@lru_cache(maxsize=64)
def _corner_series(angle: float) -> tuple[FloatArray, FloatArray]:
    """Chebyshev series in 2 sigma - 1 of the integrals of cos and sin of theta from 0 to sigma."""
    nodes = chebyshev.chebpts1(DEGREE + 1)
    heading = angle * quintic((nodes + 1) / 2)[0]
    series = []
    for values in (np.cos(heading), np.sin(heading)):
        fitted = chebyshev.chebfit(nodes, values, DEGREE)
        series.append(np.asarray(chebyshev.chebint(fitted, lbnd=-1, scl=0.5), dtype=np.float64))
    return series[0], series[1]
