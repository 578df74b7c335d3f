"""A fit on motion that it has not seen, as its user would compare it: by the fitted robot.

Angles are smoothed and differentiated here and not by the library's estimators, measured and
predicted torque pass one filter, and only rows count at which an axis moves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import minimum_filter1d
from scipy.signal import butter, sosfiltfilt

import deltadyn as dd
from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.identification import Fit
from deltadyn.recording.prepare.corrections import waves

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
    values = dict(zip(fit.names, fit.values, strict=True))
    motion = motion_of(fit.robot, log, values)
    if fit.model in ("exact", "rigid"):
        tau = predicted(fit.robot, log, motion, fit.model)
    else:  # a paper's model, which no robot holds
        tau = fit.torque(motion)
    rows = moving_rows(log.t, motion.qd)
    gap, level = limited(log, log.tau - tau, COMPARED), limited(log, log.tau, COMPARED)
    error = _relative(gap, level, rows)
    half = fit.predict(motion, LEVEL)[1]
    own = log.tau - tau if fit.band is None else limited(log, log.tau - tau, fit.band)
    inside = np.abs(own) <= half
    shares = [half[own, i].mean() / _rms(level[own, i]) for i, own in enumerate(rows.T)]
    return HeldOut(100 * error, 100 * float(inside[rows].mean()), 100 * float(np.mean(shares)))


def noise_level(log: dd.Recording, quiet: FloatArray, qd: FloatArray) -> float:
    """What the torque's noise alone makes of the error, in percent, by the torque without it."""
    rows = moving_rows(log.t, qd)
    noise, level = limited(log, log.tau - quiet, COMPARED), limited(log, log.tau, COMPARED)
    return 100 * _relative(noise, level, rows)


def motion_of(robot: dd.Robot, log: dd.Recording, values: dict[str, float]) -> dd.Motion:
    """The motion behind a log, with the delay and the errors of encoders that were found."""
    step = float(np.median(np.diff(log.t)))
    q = sosfiltfilt(butter(4, STATES, fs=1 / step, output="sos"), log.q, axis=0)
    late = values.get("delay", 0.0)
    if late:  # the torque at t belongs to the angle at t - late
        q = CubicSpline(log.t, q)(np.clip(log.t - late, log.t[0], log.t[-1]))
    for order, amplitude in waves(robot.dof, values, "eccentricity").items():
        q = q - amplitude[:, 0] * np.cos(order * q) - amplitude[:, 1] * np.sin(order * q)
    return differentiated(robot, log.t, q)


def differentiated(robot: dd.Robot, t: FloatArray, q: FloatArray) -> dd.Motion:
    """The motion of angles, by central differences."""
    step = float(np.median(np.diff(t)))
    qdd = np.zeros_like(q)
    qdd[1:-1] = (q[2:] - 2 * q[1:-1] + q[:-2]) / step**2
    return dd.Motion.from_joints(robot, t, q, np.gradient(q, step, axis=0), qdd)


def predicted(
    robot: dd.Robot, log: dd.Recording, motion: dd.Motion, model: str = "exact"
) -> FloatArray:
    """Torque (N, dof) of a robot along the motion of its motors.

    Where gears are elastic, the arms are behind by the wind-up w = (l - d/k l') / k of the load l.
    The load is the measured torque less what the drives take.
    """
    tau = dd.inverse_dynamics(robot, motion, model)
    if robot.drives.stiffness is None:
        return tau
    ratio = np.asarray(robot.sensors.torque_ratio)
    rotors = ratio * np.asarray(robot.drives.output_inertia)
    bodies = dd.inverse_dynamics(robot, motion, model, friction=False) - rotors * motion.qdd
    load = limited(log, log.tau - (tau - bodies), STATES) / ratio
    k = np.asarray(robot.drives.stiffness)
    d = np.asarray(robot.drives.damping or np.zeros_like(k))
    step = float(np.median(np.diff(log.t)))
    wind = (load - d / k * np.gradient(load, step, axis=0)) / k
    wind[:, robot.legs :] = 0.0  # a spindle's drive is rigid
    arms = differentiated(robot, log.t, motion.q - wind)
    moved = dd.inverse_dynamics(robot, arms, model, friction=False) - rotors * arms.qdd
    out: FloatArray = tau - bodies + moved
    return out


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
