"""Least squares from a triangular factor, written about its unconstrained optimum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.identification.bodies import Bodies

NOISE_FLOOR = 1e-12  # of |tau|^2: an objective below it is rounding
NO_INFORMATION = 1e-13  # of the largest singular value


@dataclass(frozen=True, eq=False)
class FactorFit:
    """f(u) = 1/2 |B u - c|^2 + floor: half the squared residuals by scaled free variables u (k,).

    B (rank, k) has orthogonal rows, so that `floor` is the least f without constraints.
    `reference` is the floor, or what rounding leaves of the torque where that is more.
    """

    B: FloatArray
    c: FloatArray
    floor: float
    reference: float

    @classmethod
    def of(cls, factor: FloatArray, K: FloatArray, bodies: Bodies) -> FactorFit:
        """Of a factor [[R1, r], [0, rho]] of [Y tau] and x = K v, with v = T (scale * u)."""
        R1, r, rho = _split(factor, K, bodies)
        U, s, Vt = np.linalg.svd(R1 @ K @ (bodies.T * bodies.scale), full_matrices=False)
        if s[0] == 0:
            raise InputError("factor", 0.0, "columns with data: every parameter's column is zero")
        keep = s > NO_INFORMATION * s[0]
        c = U[:, keep].T @ r
        rest = r - U[:, keep] @ c
        floor = (float(rest @ rest) + rho**2) / 2
        least = NOISE_FLOOR * (float(r @ r) + rho**2) / 2
        return cls(s[keep, None] * Vt[keep], c, floor, max(floor, least, 1e-300))

    def value(self, u: FloatArray) -> float:
        """f at scaled free variables (k,)."""
        misfit = self.B @ u - self.c
        return float(misfit @ misfit) / 2 + self.floor


def prior_vector(bodies: Bodies, prior: Mapping[str, float] | FloatArray | None) -> FloatArray:
    """Prior values (n,) of the standard parameters: the robot's own where none are given."""
    if prior is None:
        return bodies.prior
    if isinstance(prior, Mapping):
        return bodies.vector(prior)
    values = np.asarray(prior, dtype=np.float64)
    if values.shape != (len(bodies.names),) or not np.all(np.isfinite(values)):
        raise InputError("prior", prior, f"{len(bodies.names)} finite numbers, or a mapping")
    return values


def _split(
    factor: FloatArray, K: FloatArray, bodies: Bodies
) -> tuple[FloatArray, FloatArray, float]:
    R = np.asarray(factor, dtype=np.float64)
    if R.ndim != 2 or R.shape[0] != R.shape[1] or len(R) < 2:
        raise InputError("shape of factor", R.shape, "(b + 1, b + 1)")
    if not np.all(np.isfinite(R)):
        row, column = (int(i) for i in np.argwhere(~np.isfinite(R))[0])
        raise InputError(
            "factor", float(R[row, column]), "finite numbers", where=f"row {row}, column {column}"
        )
    allowed = (len(R) - 1, len(bodies.names))
    if np.shape(K) != allowed:
        raise InputError(
            "shape of K", np.shape(K), f"{allowed}: the factor's by the standard parameters"
        )
    return R[:-1, :-1], R[:-1, -1], float(R[-1, -1])
