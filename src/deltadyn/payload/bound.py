"""The Cramér-Rao bound of a payload's mass: how well any unbiased estimator can know it.

For a residual r = m c + noise with Gaussian noise of covariance R per axis:
var(m) >= 1 / sum c^T R^-1 c, and with nuisance columns B (friction) the information of m that
they leave. The noise before the pick is not used: no gripper acts at a known instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.errors import InputError
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare.data import prepare
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot

WINDOW = 0.3  # s: where the weights of the sample autocovariance have fallen to exp(-1)
JITTER = 1e-6  # of the variance, on the diagonal: a sampled autocovariance may be singular


@dataclass(frozen=True, eq=False)
class ColouredNoise:
    """Autocovariance (L, dof) in (N m)^2 at lags 0, 1, ... of samples at `rate` Hz."""

    rate: float
    autocovariance: FloatArray

    @classmethod
    def exponential(
        cls,
        deviation: npt.ArrayLike,
        correlation: float,
        rate: float,
        duration: float,
        dof: int = 3,
    ) -> ColouredNoise:
        """deviation^2 exp(-lag / correlation), N m and s, up to `duration` s."""
        lags = np.arange(round(duration * rate) + 1) / rate
        square = np.broadcast_to(np.square(deviation), (dof,))
        return cls(rate, np.exp(-lags / correlation)[:, None] * square)

    @classmethod
    def white(
        cls, deviation: npt.ArrayLike, rate: float, duration: float, dof: int = 3
    ) -> ColouredNoise:
        """Independent samples."""
        lags = np.zeros((round(duration * rate) + 1, dof))
        lags[0] = np.broadcast_to(np.square(deviation), (dof,))
        return cls(rate, lags)

    @classmethod
    def of(
        cls, robot: Robot, recording: Recording, *, duration: float = 1.0, payload: float = 0.0
    ) -> ColouredNoise:
        """Of the residual of a robot over a recording, at all frequencies, up to `duration` s.

        Rates come from the smoother, which sees the future: it is what the torque holds beyond the
        model, not what a causal filter adds.
        """
        ready = prepare(robot, recording, band=None)
        loaded = robot.with_payload(payload, robot.payload.offset)
        residual = ready.tau - inverse_dynamics(loaded, ready.state)
        if ready.grid is not None:
            residual = ready.grid(residual)
        count, lags = len(residual), round(duration * ready.rate) + 1
        if count < 2 * lags:
            raise InputError(
                "duration", duration, f"below half of the recording's {count / ready.rate:g} s"
            )
        size = 1 << (count + lags).bit_length()
        power = np.abs(np.fft.rfft(residual, size, axis=0)) ** 2
        products = np.fft.irfft(power, size, axis=0)[:lags] / count
        fade = np.exp(-((np.arange(lags) / (WINDOW * ready.rate)) ** 2))
        return cls(ready.rate, products * fade[:, None])


def payload_column(robot: Robot, state: State) -> FloatArray:
    """What one kg of payload adds to the torque (N, dof), without friction, in N m/kg."""
    offset = robot.payload.offset
    light, heavy = robot.with_payload(0.0, offset), robot.with_payload(1.0, offset)
    column: FloatArray = inverse_dynamics(heavy, state, friction=False)
    return column - inverse_dynamics(light, state, friction=False)


def cramer_rao(column: FloatArray, noise: ColouredNoise, *, qd: FloatArray | None = None) -> float:
    """Least standard deviation of the mass in kg, from payload columns (N, dof) in N m/kg.

    With joint rates `qd` (N, dof) the viscous and Coulomb friction of every axis are unknown too.
    """
    from scipy.linalg import solve_toeplitz  # takes longer than the rest of the import

    count, dof = column.shape
    if count > len(noise.autocovariance):
        allowed = f"at most {len(noise.autocovariance)}, the lags of the noise"
        raise InputError("samples", count, allowed)
    information = 0.0
    for axis in range(dof):
        lags = noise.autocovariance[:count, axis].copy()
        lags[0] *= 1 + JITTER
        columns: Sequence[FloatArray] = [column[:, axis]]
        if qd is not None:
            columns = [*columns, qd[:, axis], np.sign(qd[:, axis])]
        B = np.stack(columns, axis=1)
        G = B.T @ solve_toeplitz(lags, B)
        taken = (
            G[0, 1:] @ np.linalg.pinv(G[1:, 1:], rcond=1e-10) @ G[1:, 0] if qd is not None else 0.0
        )
        information += float(G[0, 0] - taken)
    return float(information**-0.5) if information > 0 else float("inf")


def bound_over_time(column: FloatArray, noise: ColouredNoise, times: Sequence[float]) -> FloatArray:
    """The bound (kg) after so many seconds of the columns (N, dof), for each of `times`."""
    counts = [max(2, round(t * noise.rate)) for t in times]
    return np.array([cramer_rao(column[:count], noise) for count in counts])
