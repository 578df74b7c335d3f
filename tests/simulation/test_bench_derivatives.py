"""Rates from the logs of the industrial bench: what the smoother is worth, against the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, make_interp_spline
from scipy.optimize import minimize_scalar
from scipy.signal import butter, sosfiltfilt

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.recording.rates.differentiate import differentiate

ROBOT = dd.load_robot("sipro-d3-1200")
INSIDE = slice(600, -600)  # 0.3 s from the ends, where a filter has data on one side only


def rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values[INSIDE] ** 2)))


def tuned_error(x: FloatArray, truth: FloatArray, dt: float) -> float:
    """RMS of a zero-phase filter whose bandwidth is chosen per channel against the truth."""
    squares = []
    for column, true in zip(x.T, truth.T, strict=True):

        def error(hz: float, column: FloatArray = column, true: FloatArray = true) -> float:
            smooth = sosfiltfilt(butter(4, hz, fs=1 / dt, output="sos"), column)
            return rms(np.gradient(np.gradient(smooth, dt), dt) - true)

        squares.append(minimize_scalar(error, bounds=(10, 400), method="bounded").fun ** 2)
    return float(np.sqrt(np.mean(squares)))


@pytest.mark.parametrize("seed", [1, 2])
def test_smoother_on_the_industrial_bench(seed: int) -> None:
    """At least 10 times nearer than central differences, at most 10 % off the tuned filter."""
    run = dd.simulate(ROBOT, dd.motion.y1(ROBOT, seed=seed), preset="industrial", seed=seed)
    log, true_rate = run.recording, make_interp_spline(run.truth.t, run.truth.qd_motor, k=5)
    truth = true_rate(log.t, 1)
    smoothed = rms(differentiate(log.t, log.q, method="kalman").xdd - truth)
    central = rms(differentiate(log.t, log.q, method="central").xdd - truth)
    assert central > 10 * smoothed
    dt = float(np.median(np.diff(log.t)))
    grid = log.t[0] + dt * np.arange(round((log.t[-1] - log.t[0]) / dt) + 1)  # drops filled in
    tuned = tuned_error(CubicSpline(log.t, log.q)(grid), true_rate(grid, 1), dt)
    assert smoothed < 1.1 * tuned
