"""What keeps parameters that data cannot tell at their prior: a distance of bodies.

"euclidean": 1/2 w |G (u - u0)|^2 in scaled free variables, or in standard parameters over a scale
of their own [gnad2024] eq. 15. "entropic": w times the log-det divergences of the pseudo-inertias
(`divergence`), and squares for friction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.bodies import Bodies
from deltadyn.identification.cone_program import ConeProgram
from deltadyn.identification.divergence import Divergence, divergences

REGULARISATIONS = ("euclidean", "entropic")


@dataclass(frozen=True, eq=False)
class Regulariser:
    """weight * (1/2 |G u - target|^2 + sum of divergences); `count` terms make up a mean."""

    G: FloatArray  # (m, k)
    target: FloatArray  # (m,)
    divergences: tuple[Divergence, ...] = ()
    weight: float = 1.0

    @classmethod
    def of(
        cls, bodies: Bodies, prior: FloatArray, kind: str | None, scale: FloatArray | None = None
    ) -> Regulariser:
        """The distance from prior standard values (n,), with weight 1."""
        if kind is not None and kind not in REGULARISATIONS:
            raise UnknownNameError("regularisation", kind, REGULARISATIONS, or_else="None")
        k = len(bodies.scale)
        G = np.eye(k)
        u0 = bodies.variables_of(prior) / bodies.scale
        if kind is None:
            return cls(G[:0], u0[:0])
        if kind == "entropic":
            parts, covered = divergences(bodies, prior)
            rest = [j for j in range(k) if j not in covered]
            return cls(G[rest], u0[rest], parts)
        if scale is None:
            return cls(G, u0)
        if np.shape(scale) != prior.shape or not np.all(np.asarray(scale) > 0):
            raise InputError("scale", scale, f"{len(prior)} numbers above 0")
        used = bodies.T.any(axis=1)
        G = (bodies.T * bodies.scale)[used] / np.asarray(scale)[used, None]
        return cls(G, (prior / scale)[used])

    @property
    def count(self) -> int:
        """Number of terms: squares, and the orders of the matrices."""
        return len(self.G) + sum(part.order for part in self.divergences)

    def weighted(self, weight: float) -> Regulariser:
        """The same distance with another weight."""
        return replace(self, weight=weight)

    def distance(self, u: FloatArray) -> float:
        """The distance at scaled free variables (k,), without the weight."""
        off = self.G @ u - self.target
        return float(off @ off) / 2 + sum(part.value(u) for part in self.divergences)

    def value(self, u: FloatArray) -> float:
        """weight * distance at scaled free variables (k,)."""
        return self.weight * self.distance(u) if self.weight and self.count else 0.0

    def tangent(
        self, u: FloatArray, duals: tuple[FloatArray, ...], unit: float
    ) -> tuple[FloatArray, float]:
        """Slope (k,) of a plane below `value`, and how far below it lies at u.

        `duals` are those of the divergences' cones in a program with that unit.
        """
        slope: FloatArray = self.G.T @ (self.G @ u - self.target)
        below, start = 0.0, 0
        for part in self.divergences:
            own = duals[start : start + part.parts]
            start += part.parts
            more, gap = part.tangent(u, part.witness(own, self.weight / unit, u))
            slope, below = slope + more, below + gap
        return self.weight * slope, self.weight * below

    @property
    def extra(self) -> int:
        """Variables that the divergences add to a program."""
        return sum(part.extra for part in self.divergences)

    def add(self, program: ConeProgram, start: int, unit: float) -> float:
        """Add weight / unit times the distance to a program; returns its constant part."""
        k, share = self.G.shape[1], self.weight / unit
        program.P[:k, :k] += share * self.G.T @ self.G
        program.q[:k] -= share * self.G.T @ self.target
        constant = share * float(self.target @ self.target) / 2
        for part in self.divergences:
            constant += part.add(program, start, share)
            start += part.extra
        return constant
