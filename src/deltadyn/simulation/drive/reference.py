"""The commanded motion at the drive's ticks, and at the instants at which torque acts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot
from deltadyn.simulation.presets import PRESETS, Preset


@dataclass(frozen=True, eq=False)
class Task:
    """What a controller knows before the run: the reference of every tick.

    `now` is the reference at the ticks, `ahead` at the instant at which a torque commanded then is
    in force without the delay of the bus: the next tick where the drive ramps, half a tick later
    where it steps. `qd_seen` (N, dof) is `now.qd` as the drive's own velocity estimate shows it.
    `preset` says what the drive does: its delay, its filter, how it reaches a torque.
    """

    now: Motion
    ahead: Motion
    qd_seen: FloatArray
    rate: float  # Hz
    preset: Preset = PRESETS["ideal"]


def make_task(robot: Robot, motion: Motion, rate: float, preset: Preset) -> Task:
    """The task of following a motion at the drive's rate; the end is held."""
    count = int(np.floor(motion.duration * rate * (1 + 1e-12) + 1e-9)) + 1
    if count < 2:
        raise InputError(
            "rate", rate, f"at least one tick within the motion, {1 / motion.duration:g} Hz"
        )
    t = motion.t[0] + np.arange(count) / rate
    lead = 1.0 if preset.hold == "linear" else 0.5
    now = resampled(robot, motion, t)
    estimator = VelocityEstimator(rate, preset.velocity_filter, now.q[0], now.qd[0])
    ahead = resampled(robot, motion, t + lead / rate)
    return Task(now, ahead, estimator.course(now.q), rate, preset)


def resampled(robot: Robot, motion: Motion, t: FloatArray) -> Motion:
    """The motion at other instants, by quintic Hermite interpolation of q, qd, qdd.

    Before its first and after its last sample the motion stays as it is there.
    """
    if len(motion.t) == len(t) and np.array_equal(motion.t, t):
        return motion
    return Motion.from_joints(robot, t, *joints_at(motion, t), hint=poses_near(motion, t))


def poses_near(motion: Motion, t: FloatArray) -> FloatArray:
    """Poses (N, dof) of the samples before instants t (N,), from which those there are followed."""
    before = np.searchsorted(motion.t, t, side="right") - 1
    return motion.p[np.clip(before, 0, len(motion.t) - 1)]


def joints_at(motion: Motion, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """q, qd, qdd (N, dof) of a motion at instants t (N,); before and after it those of its ends."""
    inside = np.clip(t, motion.t[0], motion.t[-1])
    left = np.clip(np.searchsorted(motion.t, inside, side="right") - 1, 0, len(motion.t) - 2)
    h = (motion.t[left + 1] - motion.t[left])[:, None]
    u = (inside - motion.t[left])[:, None] / h
    x, xd, xdd = ((a[left], a[left + 1]) for a in (motion.q, motion.qd, motion.qdd))
    return quintic_hermite(u, h, x, xd, xdd)


def quintic_hermite(
    u: FloatArray,
    h: FloatArray,
    x: tuple[FloatArray, FloatArray],
    xd: tuple[FloatArray, FloatArray],
    xdd: tuple[FloatArray, FloatArray],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """x, xd, xdd at the share u of an interval of length h, from their values at its ends."""
    a0, a1, a2 = x[0], h * xd[0], h**2 * xdd[0] / 2
    b0 = x[1] - a0 - a1 - a2
    b1 = h * xd[1] - a1 - 2 * a2
    b2 = h**2 * xdd[1] - 2 * a2
    a3 = 10 * b0 - 4 * b1 + b2 / 2
    a4 = -15 * b0 + 7 * b1 - b2
    a5 = 6 * b0 - 3 * b1 + b2 / 2
    value = a0 + u * (a1 + u * (a2 + u * (a3 + u * (a4 + u * a5))))
    first = a1 + u * (2 * a2 + u * (3 * a3 + u * (4 * a4 + u * 5 * a5)))
    second = 2 * a2 + u * (6 * a3 + u * (12 * a4 + u * 20 * a5))
    return value, first / h, second / h**2


class VelocityEstimator:
    """Backward difference of the measured angles, behind a first-order low-pass where asked.

    y += a (difference - y), a = 1 - exp(-2 pi f / rate)
    """

    def __init__(self, rate: float, cutoff: float | None, q: FloatArray, qd: FloatArray) -> None:
        self.rate = rate
        self.gain = 1.0 if cutoff is None else float(-np.expm1(-2 * np.pi * cutoff / rate))
        self.before = tuple((q - qd / rate).tolist())
        self.y = tuple(qd.tolist())

    def course(self, q: FloatArray) -> FloatArray:
        """The rates (N, dof) after each of N measurements (N, dof), as `update` gives them."""
        before = np.concatenate([[self.before], q[:-1]])
        raw, gain = (q - before) * self.rate, self.gain
        rates: FloatArray = np.empty(raw.shape)
        for axis, y in enumerate(self.y):
            values = []
            for difference in raw[:, axis].tolist():
                y = y + gain * (difference - y)
                values.append(y)
            rates[:, axis] = values
        self.before, self.y = tuple(q[-1].tolist()), tuple(rates[-1].tolist())
        return rates

    def update(self, q: tuple[float, ...]) -> tuple[float, ...]:
        """The rate (dof,) after another measurement, in rad/s."""
        gain, rate = self.gain, self.rate
        values = zip(self.y, q, self.before, strict=True)
        self.y = tuple([y + gain * ((new - old) * rate - y) for y, new, old in values])
        self.before = q
        return self.y
