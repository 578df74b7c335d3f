"""The sum of absolute residuals at many points, exact, with few rows where the points are close."""

from __future__ import annotations

import numpy as np

from deltadyn.arrays import FloatArray

BLOCK = 256  # rows at once: residuals of 300 points in 0.6 MB stay in the second-level cache
MARGIN = 1.5  # of the ellipsoid around the points, so that it serves some moves
RENEW = 10  # evaluations, after which the ellipsoid is drawn anew
STRAY = 0.02  # share of points outside the ellipsoid at which it is drawn anew at once
ROUNDING = 1e-10  # of a row's torques: residuals as small as this keep their row


class SignedSum:
    """f(x) = sum_i |tau_i - Y_i x| for points x (P, k).

    With m and S the mean and the covariance of the points, every x of the ellipsoid
    |S^-1/2 (x - m)| <= radius has |Y_i (x - m)| <= radius |Y_i S^1/2|. Rows with a larger residual
    at m have one sign there, and their sum is linear in x. Points outside are summed over all rows.
    """

    def __init__(self, Y: FloatArray, tau: FloatArray) -> None:
        self._rows = np.concatenate([Y, tau[:, None]], axis=1)  # (N, k + 1)
        self._size = np.abs(self._rows).sum(axis=1)
        self._age = RENEW
        self._read = 0.0
        self._points = 0

    @property
    def rows_read(self) -> float:
        """The share of rows read one by one, over all points so far."""
        return self._read / max(1, self._points * len(self._rows))

    def __call__(self, x: FloatArray) -> FloatArray:
        """f at all points (P, k)."""
        if self._age >= RENEW:
            self._draw(x)
        away = self._outside(x)
        if self._age and away.sum() > STRAY * len(x):
            self._draw(x)
            away = self._outside(x)
        value = self._sum(self._active, x)
        value += self._constant + (x - self._centre) @ self._slope
        if away.any():
            value[away] = self._sum(self._rows, x[away])
        self._age += 1
        self._points += len(x)
        self._read += len(self._active) * len(x) + len(self._rows) * int(away.sum())
        return value

    def _draw(self, x: FloatArray) -> None:
        """Find the ellipsoid around the points and the rows that change their sign in it."""
        self._age = 0
        centre = x.mean(axis=0)
        offset = x - centre
        tiny = 1e-14 * (np.abs(x).max(axis=0) + 1e-300)  # keeps a collapsed swarm invertible
        S = offset.T @ offset / len(x) + np.diag(tiny**2)
        scale = np.sqrt(np.diag(S))
        factor = np.linalg.cholesky(S / np.outer(scale, scale) + 1e-12 * np.eye(len(S)))
        self._centre = centre
        self._to_ball = np.linalg.inv(factor) / scale  # (k, k)
        self._radius = MARGIN * float(np.linalg.norm(offset @ self._to_ball.T, axis=1).max())
        Y = self._rows[:, :-1]
        reach = self._radius * np.linalg.norm(Y @ (factor * scale[:, None]), axis=1)
        residual = self._rows[:, -1] - Y @ centre
        size = self._size * (1.0 + float(np.abs(centre).max()))
        sure = np.abs(residual) > reach + ROUNDING * size
        sign = np.sign(residual[sure])
        self._constant = float(np.abs(residual[sure]).sum())
        self._slope = -(sign @ Y[sure])
        self._active = self._rows[~sure]

    def _outside(self, x: FloatArray) -> FloatArray:
        distance = np.linalg.norm((x - self._centre) @ self._to_ball.T, axis=1)
        outside: FloatArray = distance > self._radius
        return outside

    def _sum(self, rows: FloatArray, x: FloatArray) -> FloatArray:
        """The sum over some rows, block by block."""
        points = np.empty((x.shape[1] + 1, len(x)))
        points[:-1], points[-1] = -x.T, 1.0
        total, ones = np.zeros(len(x)), np.ones(BLOCK)
        buffer = np.empty((min(BLOCK, len(rows)), len(x)))
        for start in range(0, len(rows), BLOCK):
            block = rows[start : start + BLOCK]
            residual = np.matmul(block, points, out=buffer[: len(block)])
            np.abs(residual, out=residual)
            total += ones[: len(block)] @ residual
        return total
