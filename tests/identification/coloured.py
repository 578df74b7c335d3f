"""Experiments at array level: one motion, many torque noises that are correlated in time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.identification.information import Information, gather, wide_regressor
from deltadyn.identification.parametrisation import wide_columns
from deltadyn.kinematics.state import State
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.motion import FourierSeries, Motion
from deltadyn.recording.prepare.data import Prepared
from deltadyn.robot import Robot

SIGMA = np.array([1.0, 1.0, 1.0, 0.05])  # N m


def fourier_state(
    robot: Robot,
    seconds: float = 10.0,
    rate: float = 1000.0,
    *,
    frequency: float = 0.5,
    turn: float = 1.5,
    seed: int = 0,
) -> tuple[FloatArray, State]:
    """Times and states of a seeded Fourier series in the workspace; psi within `turn` rad."""
    cylinder, rng = working_cylinder(robot), np.random.default_rng(seed)
    middle = np.array([0.0, 0.0, (cylinder.z_min + cylinder.z_max) / 2, 0.0])[: robot.dof]
    half = np.array([0.35 * cylinder.radius] * 2 + [(cylinder.z_max - cylinder.z_min) / 4, turn])
    sine, cosine = rng.standard_normal((2, robot.dof, 5)) / np.arange(1, 6)
    t = np.arange(round(seconds * rate)) / rate
    reach = np.abs(FourierSeries(frequency, middle, sine, cosine).at(t).p - middle).max(axis=0)
    size = (half[: robot.dof] / reach)[:, None]
    series = FourierSeries(frequency, middle, size * sine, size * cosine)
    return t, State.from_platform(robot, *series.at(t))


def repeated(robot: Robot, motion: Motion, times: int) -> tuple[FloatArray, State]:
    """A cyclic motion several times in a row."""
    rows = np.tile(np.arange(len(motion) - 1), times)
    state = State.from_platform(robot, motion.p[rows], motion.pd[rows], motion.pdd[rows])
    t = np.asarray(np.arange(len(rows)) * float(motion.t[1] - motion.t[0]), dtype=np.float64)
    return t, state


def noise(rng: np.random.Generator, count: int, dof: int, rate: float, memory: float) -> FloatArray:
    """AR(1) noise (count, dof) of deviation 1 that remembers `memory` seconds."""
    from scipy.signal import lfilter

    rho = np.exp(-1 / (rate * memory))
    start = rng.standard_normal((1, dof))
    e = np.sqrt(1 - rho**2) * rng.standard_normal((count, dof))
    e, _ = lfilter([1.0], [1.0, -rho], e, axis=0, zi=rho * start)
    return np.asarray(e, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Experiment:
    """A motion whose regressor is factored once: [Y tau] = Q [R Q^T tau] for any torque."""

    part: Prepared
    Y: FloatArray
    template: Information
    blocks: list[list[tuple[FloatArray, FloatArray]]]  # Q, R per block and axis
    values: FloatArray

    @classmethod
    def of(
        cls,
        robot: Robot,
        t: FloatArray,
        state: State,
        *,
        band: float | None = None,
        source: str = "exact",
    ) -> Experiment:
        """The experiment of a motion, in a band."""
        rate = 1 / float(t[1] - t[0])
        part = Prepared("a", t, state, np.zeros((len(t), robot.dof)), rate).with_band(band)
        Y = wide_regressor(robot, part, source)
        template = gather(robot, [("a", [part])], source)
        limited = part.limited(Y)
        edges = np.concatenate([[0], np.cumsum(template.rows[:, 0])])
        blocks = [
            [_factored(limited[low:high, a]) for a in range(robot.dof)]
            for low, high in pairwise(edges)
        ]
        return cls(part, Y, template, blocks, wide_columns(robot, source).values)

    def torque(self, wide: FloatArray | None = None) -> FloatArray:
        """Torque (N, dof) of wide parameters, by default the robot's."""
        out: FloatArray = self.Y @ (self.values if wide is None else wide)
        return out

    def noise(self, rng: np.random.Generator, memory: float = 0.005) -> FloatArray:
        """Coloured torque noise (N, dof)."""
        count, dof = self.part.tau.shape
        return SIGMA[:dof] * noise(rng, count, dof, self.part.rate, memory)

    def information(self, tau: FloatArray) -> Information:
        """What `gather` gives for this torque."""
        limited = self.part.limited(tau)
        n = self.Y.shape[2]
        factors = np.zeros_like(self.template.factors)
        low = 0
        for b, axes in enumerate(self.blocks):
            high = low + int(self.template.rows[b, 0])
            for a, (Q, R) in enumerate(axes):
                y = limited[low:high, a]
                z = Q.T @ y
                rest = y - Q @ z
                factors[b, a, : len(R), :n] = R
                factors[b, a, : len(R), n] = z
                factors[b, a, n, n] = np.sqrt(rest @ rest) if len(R) <= n else 0.0
            low = high
        return replace(self.template, factors=factors)

    def gathered(self, robot: Robot, tau: FloatArray) -> Information:
        """The same by `gather`, slower."""
        part = replace(self.part, tau=tau)
        return gather(robot, [("a", [part])], self.template.source)


def _factored(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    Q, R = np.linalg.qr(rows)
    return Q, R


def simulated(
    robot: Robot, t: FloatArray, state: State, *, seed: int = 0, level: float = 1.0, **kind: Any
) -> Information:
    """The information of one experiment with noise of `level` times the usual deviation."""
    made = Experiment.of(robot, t, state, **kind)
    return made.information(made.torque() + level * made.noise(np.random.default_rng(seed)))
