"""The arms behind elastic gears, from a log of their motors.

All terms of a drive sit before the spring. With th the logged angle of the motor, s = sign(th'):

    tau = R th'' + fr(th') + rip(th) + mu s |tL| + tL,   tL = k w + d w',   w = th - q

So u = tau - R th'' - fr - rip is what goes into the gear, tL = u / (1 + mu s sign u) goes through
it, and it winds up by w = c (tL - T tL') with the compliance c = 1/k and T = d/k. The arms are at
q = th - w. A rigid model holds along q for tau - (drive(th) - drive(q)), what the drives take at
their own motion in place of that of the arms.

Wind-up is made at a few hundred samples a second and without what is faster than gears swing:
q'' has four derivatives of the angles, and the noise of the torque is in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.friction import LOADED, TERMS, direction, drive_friction, ripple_of
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare.band import LowPass
from deltadyn.recording.prepare.data import Prepared
from deltadyn.robot import Robot

BAND = 28.0  # Hz of a comparison: above, noise of the motors' acceleration counts more than gears
SMOOTH, STOP = 60.0, 140.0  # Hz up to which motion and torque are kept, and from which not
FAST = 400.0  # samples per second, at least, at which gears are looked at


# Derivatives of even samples, exact to the sixth order.


FIRST = np.array([-1.0, 9.0, -45.0, 0.0, 45.0, -9.0, 1.0]) / 60
SECOND = np.array([2.0, -27.0, 270.0, -490.0, 270.0, -27.0, 2.0]) / 180
EDGE = 3  # samples at each end that have the derivative of their neighbour
SPOILT = 3 * EDGE  # samples at each end that derivatives of derivatives spoil


def derivatives(z: FloatArray, rate: float, axis: int = 0) -> tuple[FloatArray, FloatArray]:
    """z' and z'' of even samples along an axis."""
    from scipy.ndimage import correlate1d  # takes longer than the rest of the import

    first = correlate1d(z, FIRST * rate, axis=axis)
    second = correlate1d(z, SECOND * rate**2, axis=axis)
    for found in (first, second):
        rows = np.moveaxis(found, axis, 0)
        rows[:EDGE], rows[-EDGE:] = rows[EDGE], rows[-EDGE - 1]
    return first, second


# What goes through a gear, and what it does to the arms.


PerAxis = float | FloatArray  # one number, or (dof,)


def through_gears(u: FloatArray, mu: PerAxis, turn: FloatArray) -> FloatArray:
    """tL (N, dof) of the torque u that goes into the gears: u / (1 + mu s sign u)."""
    out: FloatArray = u / (1 + mu * turn * np.sign(u))
    return out


def wound_up(robot: Robot, load: FloatArray, c: PerAxis, T: PerAxis, rate: float) -> FloatArray:
    """w (N, dof) in rad of a torque tL through the gears at even samples: c (tL - T tL').

    A spindle's drive is rigid.
    """
    w: FloatArray = c * (load - T * derivatives(load, rate)[0])
    w[:, robot.legs :] = 0.0
    return w


def behind(robot: Robot, motors: State, w: FloatArray, rate: float) -> State:
    """The motion of the arms where the gears are wound up by w (N, dof)."""
    wd, wdd = derivatives(w, rate)
    return State.from_joints(robot, motors.q - w, motors.qd - wd, motors.qdd - wdd, hint=motors.p)


# A part at the rate of the work.


@dataclass(frozen=True, eq=False)
class Thinned:
    """A part with few samples and without fast noise, and as it is, on an even grid.

    Friction jumps where a motor turns back: it is made at all samples of `fine`, then thinned.
    """

    robot: Robot
    part: Prepared
    fine: Prepared
    filter: LowPass | None

    @classmethod
    def of(cls, robot: Robot, part: Prepared) -> Self:
        """A part without what is faster than `STOP`.

        Estimated rates are made again from the angles: where a row is missing, those of a wide
        smoother lack the noise that would cancel their neighbours'.
        """
        state, rate = part.state, part.rate
        dof, t = robot.dof, part.t
        moved = np.concatenate([state.q, state.qd, state.qdd, part.tau], axis=1)
        if part.grid is not None:
            from scipy.interpolate import CubicSpline  # takes longer than the rest of the import

            t, moved = part.grid.t, CubicSpline(t, moved)(part.grid.t)
            state = State.from_joints(robot, *np.split(moved[:, : 3 * dof], 3, axis=1))
        fine = replace(
            part, t=t, state=state, tau=moved[:, 3 * dof :], grid=None, filter=None,
            temperature=None,
        )  # fmt: skip
        step = max(1, int(rate / FAST))
        smoother = _smoother(rate, step) if rate > 2 * STOP else None
        slow = fine
        if smoother is not None:
            q, qd, qdd, tau = np.split(smoother(moved), 4, axis=1)
            if part.rate_noise is not None:
                qd, qdd = derivatives(q, rate / step)
            state = State.from_joints(robot, q, qd, qdd)
            slow = replace(fine, t=smoother.times(t), state=state, tau=tau, rate=rate / step)
        return cls(robot, slow, fine, smoother)

    def thin(self, values: FloatArray) -> FloatArray:
        """Values (N, ...) at the samples of `fine`, at those of the thinned part."""
        return values if self.filter is None else self.filter(values)

    def seen(self, arms: State, more: FloatArray, part: Prepared) -> Prepared:
        """The whole part with the motion of the arms, and `more` (N, dof) taken off its torque.

        Both are given at the samples of the thinned part; near its ends and beyond them gears stay
        wound up as they were before.
        """
        from scipy.interpolate import CubicSpline  # takes longer than the rest of the import

        good = slice(SPOILT, -SPOILT)
        slow, t = np.column_stack([arms.q, arms.qd, arms.qdd, more])[good], self.part.t[good]
        moved = CubicSpline(t, slow)(np.clip(part.t, t[0], t[-1]))
        logged, w = part.state, (self.part.state.q - arms.q)[good]
        for rows, end in ((part.t < t[0], 0), (part.t > t[-1], -1)):
            q, count = logged.q[rows] - w[end], int(rows.sum())
            still = np.zeros((count, more.shape[1]))
            moved[rows] = np.column_stack([q, logged.qd[rows], logged.qdd[rows], still])
        q, qd, qdd, more = np.split(moved, 4, axis=1)
        state = State.from_joints(self.robot, q, qd, qdd)
        return replace(part, state=state, tau=part.tau - more)


def _smoother(rate: float, step: int) -> LowPass:
    """Passes `SMOOTH` and stops `STOP`: noise above would lift the absolute values of the loss."""
    from scipy.signal import firwin, kaiserord  # takes longer than the rest of the import

    stop = min(STOP, rate / step - SMOOTH)
    count, beta = kaiserord(60.0, 2 * (stop - SMOOTH) / rate)
    half = step * int(np.ceil((count - 1) / 2 / step))
    taps = firwin(2 * half + 1, (SMOOTH + stop) / 2, window=("kaiser", beta), fs=rate)
    return LowPass(rate, SMOOTH, step, np.asarray(taps, dtype=np.float64))


# A log of a robot whose gears are known.


def behind_gears(robot: Robot, part: Prepared) -> Prepared:
    """The part as a rigid model of the robot sees it; with rigid gears it is the part itself.

    It has the motion of the arms, and the torque without drive(th) - drive(q). A part that does not
    outlast the filter of the gears (0.1 s) stays as it is.
    """
    if robot.drives.stiffness is None or not _outlasts(part):
        return part
    k, ratio = np.asarray(robot.drives.stiffness), np.asarray(robot.sensors.torque_ratio)
    d = np.zeros_like(k) if robot.drives.damping is None else np.asarray(robot.drives.damping)
    thin = Thinned.of(robot, part)
    motors, fine, rate = thin.part.state, thin.fine.state, thin.part.rate
    tau = thin.part.tau / ratio
    turn = thin.thin(direction(fine.qd, robot.friction.smoothing))
    taken = thin.thin(_rubbed(robot, fine)) + _turned(robot, motors, tau, turn)
    mu = np.zeros(robot.dof) if robot.friction.load is None else np.asarray(robot.friction.load)
    w = wound_up(robot, through_gears(tau - taken, mu, turn), 1 / k, d / k, rate)
    arms = behind(robot, motors, w, rate)
    here, there = (
        _rubbed(robot, s) + _turned(robot, s, tau, direction(s.qd, robot.friction.smoothing))
        for s in (motors, arms)
    )
    return thin.seen(arms, (here - there) * ratio, part)


def _outlasts(part: Prepared) -> bool:
    """Whether enough samples are left of a part that is thinned."""
    rate, step = part.rate, max(1, int(part.rate / FAST))
    even = len(part) if part.grid is None else len(part.grid.t)
    left = _smoother(rate, step).length(even) if rate > 2 * STOP else even
    return left >= 2 * SPOILT + 2


def _rubbed(robot: Robot, state: State) -> FloatArray:
    """Friction and ripple (N, dof) of the drives, without what grows with a load."""
    rubbed = drive_friction(robot.friction, state.qd, [t for t in TERMS if t not in LOADED])
    out: FloatArray = rubbed + ripple_of(robot, state.q)
    return out


def _turned(robot: Robot, state: State, tau: FloatArray, turn: FloatArray) -> FloatArray:
    """What turns the rotors, and what the motors lose of their torque (N, dof)."""
    out: FloatArray = np.asarray(robot.drives.output_inertia) * state.qdd
    if robot.friction.motor_load is not None:
        out = out + np.asarray(robot.friction.motor_load) * turn * np.abs(tau)
    return out
