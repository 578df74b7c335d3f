"""A fit on motion that it has not seen, as its user would compare it: by the fitted robot.

Angles are smoothed and differentiated here and not by the library's estimators, measured and
predicted torque pass a filter of this file, and only rows count at which an axis moves by a rule of
this file. What the fit knows of a log (delay, encoders, gears) it takes out itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.ndimage import minimum_filter1d
from scipy.signal import butter, sosfiltfilt

import deltadyn as dd
from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.identification import Fit
from deltadyn.kinematics import State
from deltadyn.recording.prepare.data import Prepared

COMPARED = 30.0  # Hz
STATES = 100.0  # Hz, of the angles before they are differentiated
MOVING = 0.1  # rad/s: slower axes may stick
REACH = 0.02  # s about an instant that must be moving, too
ENDS = 0.1  # s at both ends of a log that the filters spoil
LEVEL = 0.95  # of torque bands


class HeldOut(NamedTuple):
    """RMS error in percent of the RMS torque, the share of rows in the torque band, its half width.

    The half width is in percent of the RMS torque, a mean over rows.
    """

    error: float
    inside: float
    half: float


def judge(fit: Fit, log: dd.Recording) -> HeldOut:
    """How well a fit predicts a log."""
    part = measured_part(fit.robot, log)
    seen = fit.log_model.see(part)
    tau = fit.log_model.reported(part, seen, log.payload)
    rows = moving_rows(log.t, seen.state.qd)
    gap, level = limited(log, log.tau - tau, COMPARED), limited(log, log.tau, COMPARED)
    error = _relative(gap, level, rows)
    half = fit.half_width(seen, tau, LEVEL)
    own = log.tau - tau if fit.band is None else limited(log, log.tau - tau, fit.band)
    inside = np.abs(own) <= half
    shares = [half[own, i].mean() / _rms(level[own, i]) for i, own in enumerate(rows.T)]
    return HeldOut(100 * error, 100 * float(inside[rows].mean()), 100 * float(np.mean(shares)))


def noise_level(log: dd.Recording, quiet: FloatArray, qd: FloatArray) -> float:
    """What the torque's noise alone makes of the error, in percent, by the torque without it."""
    rows = moving_rows(log.t, qd)
    noise, level = limited(log, log.tau - quiet, COMPARED), limited(log, log.tau, COMPARED)
    return 100 * _relative(noise, level, rows)


def measured_part(robot: dd.Robot, log: dd.Recording) -> Prepared:
    """The log with smoothed angles and their central differences."""
    step = float(np.median(np.diff(log.t)))
    q = sosfiltfilt(butter(4, STATES, fs=1 / step, output="sos"), log.q, axis=0)
    qdd = np.zeros_like(q)
    qdd[1:-1] = (q[2:] - 2 * q[1:-1] + q[:-2]) / step**2
    state = State.from_joints(robot, q, np.gradient(q, step, axis=0), qdd)
    return Prepared(log.name, log.t, state, log.tau, 1 / step)


def moving_rows(t: FloatArray, qd: FloatArray) -> BoolArray:
    """The rows (N, dof) at which an axis moves, without the ends of the log."""
    step = float(np.median(np.diff(t)))
    slowest = minimum_filter1d(np.abs(qd), 2 * round(REACH / step) + 1, axis=0, mode="nearest")
    inner = (t >= t[0] + ENDS) & (t <= t[-1] - ENDS)
    rows: BoolArray = (slowest >= MOVING) & inner[:, None]
    return rows


def limited(log: dd.Recording, values: FloatArray, band: float) -> FloatArray:
    """Values (N, dof) below a band in Hz, without a shift in time."""
    rate = 1 / float(np.median(np.diff(log.t)))
    out: FloatArray = sosfiltfilt(butter(4, band, fs=rate, output="sos"), values, axis=0)
    return out


def _relative(gap: FloatArray, level: FloatArray, rows: BoolArray) -> float:
    """RMS of a gap over that of the torque, a quadratic mean over the axes."""
    shares = [_rms(gap[own, i]) / _rms(level[own, i]) for i, own in enumerate(rows.T)]
    return float(np.sqrt(np.mean(np.square(shares))))


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))
