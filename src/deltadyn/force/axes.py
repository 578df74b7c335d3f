"""The axes' residuals: what slowly changes on them, what friction hides, and how far they stray.

Each axis has four slow states x that the model does not know: viscous friction, Coulomb friction,
offset, scale of the torque. They wander while the machine warms up. A Kalman filter per axis
follows them while the axis moves and nothing touches it:

    x_k+1 = x_k + w,    r_k = Z_k x_k + v,    var v = n^2

Behind them the residual e = r - Z x is compared with

    z = (|e| - held rest) / s,    s^2 = n^2 + (n_rest rest)^2 + Z P Z^T

`held` is what an axis at rest carries by its friction, P the covariance of the states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.force.rows import STATES, ForceRows
from deltadyn.force.settings import CHANGE, GATE, WALK, ForceOptions
from deltadyn.robot import Robot

MOVES, RESTS = 0.2, 0.5  # of `rest`: below it an axis moves, above it rests
CALMER = 4.0  # the residual's structure repeats: its rows count as so many times more noise
FEWEST_ROWS = 50  # steps of the states in which an axis moves
LEAST_NOISE = 1e-3  # of the RMS torque
LEAST_FRICTION = 0.01  # of the RMS torque, for what friction may change by
OFTEN, SELDOM, EDGE = 0.9, 0.99, 0.999  # quantiles of what friction holds at rest
BEYOND = 0.5  # of the way between the first two: the deviation of what lies beyond the edge


@dataclass(frozen=True, eq=False)
class Axes:
    """Numbers of the axes: the slow states with their spread, noise, and what friction holds.

    `states`, `spread` (one deviation when a log begins) and `walk` (per square root of a second)
    are (dof, 4) in N m s, N m, N m and 1. `noise`, `rest_noise` and `held` are (dof,) in N m.
    """

    states: FloatArray
    spread: FloatArray
    walk: FloatArray
    noise: FloatArray
    rest_noise: FloatArray
    held: FloatArray

    @classmethod
    def of(cls, robot: Robot, parts: Sequence[ForceRows], options: ForceOptions) -> Axes:
        """The axes of filtered rows without contact."""
        missing, _, known, rest, _ = (
            np.concatenate(part) for part in zip(*(x.parts for x in parts), strict=True)
        )
        held = holding(robot)
        torque = np.sqrt(np.mean(known[..., 3] ** 2, axis=0))
        viscous, coulomb = (
            np.maximum(np.asarray(x), LEAST_FRICTION * torque)
            for x in (robot.friction.viscous, robot.friction.coulomb)
        )
        ones = np.ones_like(coulomb)
        spread, walk = (
            np.stack([a * viscous, b * coulomb, c * coulomb, d * ones], axis=1)
            for a, b, c, d in (CHANGE, WALK)
        )
        noise, rest_noise, states = np.zeros(robot.dof), np.zeros(robot.dof), np.zeros_like(spread)
        for i in range(robot.dof):
            moves, rests = rest[:, i] < MOVES, rest[:, i] > RESTS
            r, Z, least = missing[:, i], known[:, i], LEAST_NOISE * float(torque[i])
            few = slice(None, None, options.every)
            if len(r[moves][few]) >= FEWEST_ROWS:
                states[i] = _ridge(Z[moves][few], r[moves][few], spread[i])
                error = r - Z @ states[i]
                noise[i] = max(least, float(np.sqrt(np.mean(error[moves] ** 2))))
            else:  # an axis that the empty run does not move
                error = r
                noise[i] = max(least, float(np.std(r)))
            if rests.any():
                carried = np.abs(error[rests]) / rest[rests, i]
                often, seldom, edge = np.quantile(carried, [OFTEN, SELDOM, EDGE])
                step = seldom - often  # per decade, as far as the tail is exponential
                held[i], rest_noise[i] = max(held[i], edge, seldom + step), BEYOND * step
        return cls(states, spread, walk, noise, rest_noise, held)


@dataclass(frozen=True, eq=False)
class Judged:
    """Residuals of rows behind the slow states, each (N, dof) in N m.

    `held` is what friction may carry at rest, `noise` the deviation of the rest, `std` that with
    what the states may be off by.
    """

    residual: FloatArray
    held: FloatArray
    noise: FloatArray
    std: FloatArray

    @property
    def parts(self) -> tuple[FloatArray, ...]:
        """All fields in order."""
        return self.residual, self.held, self.noise, self.std

    def at(self, rows: slice) -> Judged:
        """Some of the rows."""
        return Judged(*(x[rows] for x in self.parts))

    @property
    def z(self) -> FloatArray:
        """What is beyond the held, in deviations (N, dof)."""
        found: FloatArray = (np.abs(self.residual) - self.held) / self.std
        return found


class SlowStates:
    """The Kalman filters of the axes: states (dof, 4) and their covariance (dof, 4, 4)."""

    def __init__(self, axes: Axes, options: ForceOptions) -> None:
        self.axes, self.every = axes, options.every
        self._step = self.every / options.rate  # s
        self.reset()

    def reset(self) -> None:
        """Back to the states of the empty run, with all that may have changed since."""
        self.states = self.axes.states.copy()
        self.covariance = self.axes.spread[:, :, None] ** 2 * np.eye(STATES)
        self._rows = 0

    def wait(self, seconds: float) -> None:
        """Time without samples: what is not known grows to the spread, as it does row by row.

        dP/dt = W (1 - P / P_0) on the diagonal, so P_0 - P decays by exp(-W t / P_0).
        """
        own = np.einsum("ijj->ij", self.covariance)
        most = self.axes.spread**2
        kept = np.exp(-seconds * self.axes.walk**2 / most)
        own[...] = most - (most - own) * kept

    def judge(self, rows: ForceRows, unsure: float = 0.0) -> Judged:
        """Rows by the states as they are; `unsure` (kg) is the deviation of a known payload."""
        Z, axes = rows.known, self.axes
        residual = rows.missing - np.einsum("nij,ij->ni", Z, self.states)
        spread = np.einsum("nij,ijk,nik->ni", Z, self.covariance, Z)
        if unsure:
            # what is wrong with a load's force may act along any direction: timing, wind-up
            square = unsure**2 * np.einsum("nj,nj->n", rows.pull, rows.pull)
            J = rows.jacobian[:, :3]
            spread = spread + square[:, None] * np.einsum("nji,nji->ni", J, J)
        noise = np.sqrt(axes.noise**2 + (axes.rest_noise * rows.rest) ** 2)
        return Judged(residual, axes.held * rows.rest, noise, np.sqrt(noise**2 + spread))

    def follow(self, rows: ForceRows, unsure: float = 0.0) -> Judged:
        """Judge rows in order, and step the states after every so many of them."""
        found, at, count = [], 0, len(rows.missing)
        while at < count:
            step = min(self.every - self._rows, count - at)
            part = rows.at(slice(at, at + step))
            judged = self.judge(part, unsure)
            found.append(judged)
            self._rows += step
            if self._rows == self.every:
                self._learn(part, judged)
                self._rows = 0
            at += step
        return Judged(*map(np.concatenate, zip(*(x.parts for x in found), strict=True)))

    def _learn(self, rows: ForceRows, judged: Judged) -> None:
        """A step with the last row: what is not known grows to the spread, what is seen counts.

        P += W (1 - P / P_0) on the diagonal; then the usual update with the scalar innovation e.
        """
        P, axes = self.covariance, self.axes
        own = np.einsum("ijj->ij", P)  # its diagonal, to write to
        own += self._step * axes.walk**2 * (1 - own / axes.spread**2)
        if judged.z[-1].max() > GATE:
            return
        for i, e in enumerate(judged.residual[-1]):
            if rows.rest[-1, i] > RESTS:
                continue
            h = rows.known[-1, i]
            Ph = P[i] @ h
            gain = Ph / (h @ Ph + CALMER * judged.noise[-1, i] ** 2)
            self.states[i] += gain * e
            P[i] -= gain[:, None] * Ph

    @property
    def learned(self) -> Axes:
        """The axes with the states as they are now."""
        return replace(self.axes, states=self.states.copy())


def holding(robot: Robot) -> FloatArray:
    """What the friction of each axis holds at rest (dof,) in N m: Coulomb and Stribeck friction."""
    coulomb, peak = np.array(robot.friction.coulomb, dtype=np.float64), robot.friction.stribeck
    found: FloatArray = coulomb if peak is None else coulomb + np.maximum(np.asarray(peak), 0.0)
    return found


def _ridge(Z: FloatArray, r: FloatArray, spread: FloatArray) -> FloatArray:
    """States by least squares, weakly held to 0 by their spread."""
    noise = float(np.var(r)) / 100
    weight = np.diag(noise / spread**2)
    found: FloatArray = np.asarray(np.linalg.solve(Z.T @ Z + weight, Z.T @ r), dtype=np.float64)
    return found
