"""What a motion will tell: condition numbers and standard deviations before anything is measured.

With residuals of the standard deviation sigma_i on axis i, sampled at the rate f and correlated
over the time tau_c (first order), a slow regressor sees as many independent samples as

    N_eff = N (1 - rho) / (1 + rho),    rho = exp(-1 / (f tau_c))

and the weighted estimate has the covariance C = B (Y^T W^2 Sigma W^2 Y) B N / N_eff with
B = (Y^T W^2 Y)^-1, which is (Y^T Sigma^-1 Y)^-1 N / N_eff for the weights 1 / sigma.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics.regressor import regressor
from deltadyn.excitation.parameters import Chosen
from deltadyn.kinematics.state import State
from deltadyn.motion.fourier import FourierSeries
from deltadyn.robot import Robot

PHASES = 2000  # samples of a period: jumps of sharp friction are met to 1e-3


@dataclass(frozen=True, eq=False)
class Noise:
    """Residual torque: deviation per axis (N m), correlation time (s), sample rate (Hz)."""

    std: FloatArray
    correlation: float
    rate: float

    @property
    def inflation(self) -> float:
        """N / N_eff = (1 + rho) / (1 - rho)."""
        if self.correlation == 0:
            return 1.0
        return 1 / math.tanh(1 / (2 * self.rate * self.correlation))


@dataclass(frozen=True, eq=False)
class Prediction:
    """Condition numbers of the base regressor, and the covariance (n, n) of the parameters.

    `condition_number` is that of the weighted rows and columns of unit length,
    `raw_condition_number` that of Y as it is, and `paper_condition_number` that of Y^T Y, the index
    of [gnad2024] section IV-B.
    """

    condition_number: float
    raw_condition_number: float
    paper_condition_number: float
    covariance: FloatArray

    @property
    def std(self) -> FloatArray:
        """Standard deviations (n,), in the parameters' units."""
        return np.sqrt(np.diag(self.covariance))


def predict(
    robot: Robot,
    series: FourierSeries,
    duration: float,
    chosen: Chosen,
    weights: FloatArray,
    noise: Noise,
    model: str,
    tied: bool,
    *,
    phases: int = PHASES,
) -> Prediction:
    """Condition numbers and covariance for whole periods of a series during `duration` seconds.

    The mean over a period is taken at `phases` samples of it.
    """
    t = np.arange(phases) / (phases * series.frequency)
    state = State.from_platform(robot, *series.at(t))
    Y = regressor(robot, state, model, tied=tied).Y[:, :, chosen.index]  # (N, dof, n)
    flat = Y.reshape(-1, Y.shape[2])
    weighted = (Y * weights[:, None]).reshape(flat.shape)
    normalised = weighted / np.linalg.norm(weighted, axis=0)
    raw = _condition(flat)
    samples = duration * noise.rate / noise.inflation
    return Prediction(
        _condition(normalised), raw, raw**2, _covariance(Y, weights, noise.std) / samples
    )


def _condition(matrix: FloatArray) -> float:
    """Condition number of a tall matrix, that of its triangular factor."""
    return float(np.linalg.cond(np.linalg.qr(matrix, mode="r")))


def _covariance(Y: FloatArray, weights: FloatArray, std: FloatArray) -> FloatArray:
    """Covariance of one effective sample of the mean information."""
    weighted = Y * weights[:, None]
    length = np.sqrt(contract("nij,nij->j", weighted, weighted) / len(Y))
    unit = (weighted / length).reshape(-1, Y.shape[2])
    noisy = (weighted * (weights * std)[:, None] / length).reshape(unit.shape)
    B = np.linalg.inv(unit.T @ unit / len(Y))
    covariance: FloatArray = B @ (noisy.T @ noisy / len(Y)) @ B / np.outer(length, length)
    return covariance
