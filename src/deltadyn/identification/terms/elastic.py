"""Elastic gears: their compliance, and the motion of the arms behind them.

All terms of a drive sit before the spring, th is the logged angle of the motor, s = sign(th'):

    tau = R th'' + fr(th') + rip(th) + mu s |tL| + tL,   tL = k w + d w' = Y(q) x,   w = th - q

At a point, u = tau - R th'' - fr - rip goes through the gear, tL = u / (1 + mu s sign u), and the
gear winds up by w = c (tL - T tL') with the compliance c = 1/k and T = d/k. So the motion of the
arms is q = th - w. With D z = M z'' + C z' + K z, the change of the load's torque where the arms
are at q + z, the columns are

    bodies                Y(q) (1 + mu s sign tL)
    a drive's torque z    z + D(c z): what the drive takes, the gear is not wound up by
    encoder, th + z       D(-z), and the rotor's R (-z'')
    c, T                  -D(tm - T tm'),  D(c tm'),   tm = Y(q) x

The columns of c, T and of the loss are made of the model's torque tm, not of the measured tL: its
noise would be in column and residual alike, and pull c towards the inverse of the inertia. The sum
A of arm and rotor stays the base parameter, so that R's column is its own less that of A.

Work is done at a few hundred samples a second: what the gears do is slow beside the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.identification.parametrisation import payload_direction, wide_columns, widest
from deltadyn.identification.terms.library import (
    ARMS,
    Column,
    Parameter,
    Point,
    Sample,
    Term,
    every,
)
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare.band import LowPass
from deltadyn.recording.prepare.data import Prepared
from deltadyn.robot import Robot

BAND = 24.0  # Hz of the comparison: above, jitter in th'' counts more than the gears do
SMOOTH, STOP = 60.0, 140.0  # Hz up to which motion and torque are kept, and from which they are not
FAST = 400.0  # samples per second, at least, at which columns are made
LOWEST_GEAR = 40.0  # Hz, of an arm on its gear: the prior deviation of the compliance
ROTOR_SIZE = 0.3  # of A, where the robot's file gives none
KNOWN_ROTOR_SIZE = 0.05  # of the file's
RELAXATION_SIZE = 2e-4  # s
LOAD_SIDE = ("limbs", "geometry")  # terms of the bodies behind the gears


# Derivatives of even samples, exact to the sixth order.


FIRST = np.array([-1.0, 9.0, -45.0, 0.0, 45.0, -9.0, 1.0]) / 60
SECOND = np.array([2.0, -27.0, 270.0, -490.0, 270.0, -27.0, 2.0]) / 180


def derivatives(z: FloatArray, rate: float) -> tuple[FloatArray, FloatArray]:
    """z' and z'' of even samples z (N, ...); beyond the ends z goes on straight."""
    half = len(FIRST) // 2
    steps = np.arange(1, half + 1).reshape(-1, *(1,) * (z.ndim - 1))
    ahead = z[-1] + steps * (z[-1] - z[-2])
    behind = z[0] - steps[::-1] * (z[1] - z[0])
    wide = np.concatenate([behind, z, ahead])
    count = len(z)
    first, second = np.zeros_like(z), SECOND[half] * z
    for k in range(half):
        low, high = wide[k : k + count], wide[2 * half - k : 2 * half - k + count]
        first += FIRST[2 * half - k] * (high - low)
        second += SECOND[k] * (high + low)
    return first * rate, second * rate**2


# A part at the rate of the work.


def thinned(robot: Robot, part: Prepared) -> Prepared:
    """The part on an even grid with fewer samples, without what is faster than `SMOOTH`.

    Estimated rates are made again from the angles: at missing rows those of a wide smoother have
    lost the noise that their neighbours would cancel.
    """
    step = max(1, int(part.rate / FAST))
    state, rate = part.state, part.rate / step
    given = [state.q, state.qd, state.qdd] if part.rate_noise is None else [state.q]
    moved, t = [*given, part.tau], part.t
    if part.grid is not None:
        from scipy.interpolate import CubicSpline  # takes longer than the rest of the import

        moved = np.split(CubicSpline(t, np.concatenate(moved, axis=1))(part.grid.t), len(moved), 1)
        t = part.grid.t
    if part.rate > 2 * STOP:
        first = _smoother(part.rate, step)
        moved, t = [first(a) for a in moved], first.times(t)
    q, *rates, tau = moved
    qd, qdd = rates or derivatives(q, rate)
    slow = replace(
        part, t=t, state=State.from_joints(robot, q, qd, qdd), tau=tau, rate=rate, grid=None
    )
    return slow.with_band(min(BAND, rate / 3))


def _smoother(rate: float, step: int) -> LowPass:
    """Passes `SMOOTH` and stops `STOP`: the loss takes absolute values, which noise would lift."""
    from scipy.signal import firwin, kaiserord

    stop = min(STOP, rate / step - SMOOTH)
    count, beta = kaiserord(60.0, 2 * (stop - SMOOTH) / rate)
    half = step * int(np.ceil((count - 1) / 2 / step))
    taps = firwin(2 * half + 1, (SMOOTH + stop) / 2, window=("kaiser", beta), fs=rate)
    return LowPass(rate, SMOOTH, step, np.asarray(taps, dtype=np.float64))


# The model at a point.


@dataclass(frozen=True, eq=False)
class Gears:
    """Compliance c (rad/(N m)), rotor inertia R (dof,) at the output and T = d/k (s)."""

    c: float
    R: FloatArray
    T: float

    @classmethod
    def of(cls, robot: Robot, point: Point) -> Gears:
        """The gears of a point; its `rotor` is beyond that of the robot's file."""
        R = np.array(robot.drives.output_inertia, dtype=np.float64)
        R[:ARMS] += point.values.get("rotor", 0.0)
        values = point.values
        return cls(values.get("compliance", 0.0), R, values.get("relaxation", 0.0))


@dataclass(frozen=True, eq=False)
class Geared(Sample):
    """A thinned part with the motors' motion, seen from a point with elastic gears.

    `carried` are the terms whose values the point has. The motion of the arms is that of `link`.
    """

    carried: tuple[Term, ...] = ()

    @cached_property
    def gears(self) -> Gears:
        return Gears.of(self.robot, self.point)

    @cached_property
    def _friction(self) -> FloatArray:
        """Columns (N, dof, f) of the friction that the model itself has, at the motors."""
        both = widest(self.robot, self.state, self.par.source).Y
        return both[:, :, self._bodies :]

    @cached_property
    def _bodies(self) -> int:
        """How many wide columns belong to bodies."""
        return wide_columns(self.robot, self.par.source).inertial

    @cached_property
    def _x(self) -> FloatArray:
        """Wide parameters with the payload of the part."""
        more = self.part.extra * payload_direction(self.robot, self.par.source)
        out: FloatArray = self.par.wide(self.point.x) + more
        return out

    @cached_property
    def mu(self) -> FloatArray:
        """Loss (dof,) of the gears as a share of their load."""
        values = self.point.values
        return np.array([values.get(f"mu{axis + 1}", 0.0) for axis in range(self.robot.dof)])

    @cached_property
    def drive(self) -> FloatArray:
        """Torque (N, dof) that the drives take before the gears, without the gears' loss."""
        taken = self._friction @ self._x[self._bodies :] + self.gears.R * self.state.qdd
        for term in self.carried:
            if term.name in LOAD_SIDE or term.name in ("load", "elastic") or _corrected(term):
                continue
            own = Sample(self.robot, self.par, self.point, self.part, self.clock, self.level)
            for parameter, column in zip(term.parameters, term.columns(own), strict=True):
                value = self.point.values.get(parameter.name, 0.0)
                for axis, values in enumerate(column):
                    if values is not None and value:
                        taken[:, axis] += value * values
        return taken

    @cached_property
    def windup(self) -> FloatArray:
        """w (N, dof) in rad, from the measured torque; the drive of a spindle is rigid."""
        u = self.part.tau - self.drive
        load = u / (1 + self.mu * self.direction * np.sign(u))
        w = self.gears.c * (load - self.gears.T * derivatives(load, self.part.rate)[0])
        w[:, ARMS:] = 0.0
        return w

    @cached_property
    def link(self) -> Sample:
        """The same with the motion of the arms."""
        motor, w = self.state, self.windup
        wd, wdd = derivatives(w, self.part.rate)
        moved = State.from_joints(self.robot, motor.q - w, motor.qd - wd, motor.qdd - wdd)
        part = replace(self.part, state=moved)
        return Sample(self.robot, self.par, self.point, part, self.clock, self.level)

    @cached_property
    def _link_columns(self) -> FloatArray:
        return widest(self.robot, self.link.state, self.par.source, friction=False).Y

    @cached_property
    def load(self) -> FloatArray:
        """tm (N, dof): the bodies' torque without the rotors."""
        tm = self._link_columns @ self._x[: self._bodies]
        tm = tm - self.gears.R * self.link.state.qdd
        for term in self.carried:
            if term.name == "limbs":
                for parameter, column in zip(term.parameters, term.columns(self.link), strict=True):
                    value = self.point.values.get(parameter.name, 0.0)
                    tm = tm + value * np.stack(column, axis=1)  # type: ignore[arg-type]
        return tm

    @cached_property
    def passed(self) -> FloatArray:
        """1 + mu s sign(tm) (N, dof): torque before the gears over that behind them."""
        return 1 + self.mu * self.direction * np.sign(self.load)

    @cached_property
    def torque(self) -> FloatArray:
        """The model's torque (N, dof) at the motors."""
        return self.drive + self.passed * self.load

    @cached_property
    def slopes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """K, C and M (N, dof, dof) of the bodies behind the gears."""
        K, C, M = self.link.slopes
        return K, C, M - np.diag(self.gears.R)

    @cached_property
    def wide(self) -> FloatArray:
        """Columns (N, dof, n) of the model's own parameters."""
        bodies = self._link_columns * self.passed[:, :, None]
        friction = self._friction + self._unwound(self._friction)
        return np.concatenate([bodies, friction], axis=2)

    def _unwound(self, z: FloatArray) -> FloatArray:
        """D(c z) (N, dof, m) of drive torques z (N, dof, m)."""
        return self.gears.c * self.changed(z)

    def changed(self, z: FloatArray) -> FloatArray:
        """D z (N, dof, m) of moves z (N, dof, m) of the arms."""
        zd, zdd = derivatives(z, self.part.rate)
        out: FloatArray = np.zeros_like(z)
        for slope, moves in zip(self.slopes, (z, zd, zdd), strict=True):
            out += slope[:, :, :ARMS] @ moves[:, :ARMS]
        return out

    def columns_of(self, term: Term) -> Iterator[Column]:
        """The columns of a term, through the gears."""
        if term.name == "elastic":
            yield from map(every, self._elastic())
        elif term.name in LOAD_SIDE:
            for column in term.columns(self.link):
                yield tuple(
                    None if a is None else a * self.passed[:, i] for i, a in enumerate(column)
                )
        elif term.name == "eccentricity":
            yield from self._encoder(term)
        else:
            found = [_filled(column, self.state.q) for column in term.columns(self)]
            z = np.stack(found, axis=2)
            both = z + self._unwound(z)
            for j in range(both.shape[2]):
                yield every(both[:, :, j])

    def _elastic(self) -> list[FloatArray]:
        """Columns (N, dof) of c, R and T."""
        gears, rate = self.gears, self.part.rate
        tm = self.load
        tmd = derivatives(tm, rate)[0]
        found = self.changed(np.stack([-(tm - gears.T * tmd), gears.c * tmd], axis=2))
        arms = (np.arange(self.robot.dof) < ARMS) * 1.0
        return [found[:, :, 0], self._rotor(arms), found[:, :, 1]]

    def _rotor(self, R: FloatArray) -> FloatArray:
        """The column (N, dof) of rotors R (dof,) whose inertia is taken from that of the arms."""
        z = R * self.state.qdd
        back = self._unwound(z[:, :, None])[:, :, 0]
        out: FloatArray = z + back - R * self.passed * self.link.state.qdd
        return out

    def _encoder(self, term: Term) -> Iterator[Column]:
        """Columns of an encoder that shows th + z: -D z, and what the rotor takes less."""
        assert term.setting is not None
        n = term.setting
        q, qd, qdd = self.state.q, self.state.qd, self.state.qdd
        for axis in range(self.robot.dof):
            for wave, turned in ((np.cos, lambda a: -np.sin(a)), (np.sin, np.cos)):
                angle = n * q[:, axis]
                z, first = np.zeros_like(q), n * turned(angle)
                z[:, axis] = wave(angle)
                rotor = np.zeros_like(q)
                rotor[:, axis] = -self.gears.R[axis] * (
                    first * qdd[:, axis] - n * n * z[:, axis] * qd[:, axis] ** 2
                )
                both = self.changed(np.stack([-z, self.gears.c * rotor], axis=2))
                yield every(both[:, :, 0] + both[:, :, 1] + rotor)

    @cached_property
    def measured(self) -> FloatArray:  # type: ignore[override]
        """y (N, dof) = r + J p0, so that estimates are the whole values.

        What J p0 has in common with the model cancels. Terms that motion and torque are corrected
        for are not in it.
        """
        gears, tm = self.gears, self.load
        lost = self.mu * self.direction * np.abs(tm)
        tmd = derivatives(tm, self.part.rate)[0]
        moves = self.drive + lost - (tm - gears.T * tmd) + gears.T * tmd
        y: FloatArray = self.part.tau + gears.c * self.changed(moves[:, :, None])[:, :, 0]
        return y + lost - self._rotor(np.array(self.robot.drives.output_inertia))


def _filled(column: Column, like: FloatArray) -> FloatArray:
    """A column as (N, dof)."""
    out = np.zeros_like(like)
    for axis, values in enumerate(column):
        if values is not None:
            out[:, axis] = values
    return out


def mean_inertia(of: Sample) -> float:
    """A: inertia of an arm and its rotor at the motor's axis, the mean of the arms."""
    wide = of.par.wide(of.point.x)
    places = [of.par.wide_names.index(f"A{i + 1}") for i in range(ARMS)]
    return float(np.mean(wide[places]))


def elastic(of: Sample) -> Term:
    """Gears give way: compliance, rotor beyond the file's, and relaxation T = d/k."""
    A = max(mean_inertia(of), 1e-9)
    known = float(np.mean(np.asarray(of.robot.drives.output_inertia)[:ARMS]))
    parameters = (
        Parameter("compliance", "rad/(N m)", 1 / (A * (2 * np.pi * LOWEST_GEAR) ** 2)),
        Parameter("rotor", "kg m^2", KNOWN_ROTOR_SIZE * known if known > 0 else ROTOR_SIZE * A),
        Parameter("relaxation", "s", RELAXATION_SIZE),
    )

    def columns(sample: Sample) -> Iterator[Column]:
        geared = sample if isinstance(sample, Geared) else Geared(**vars(sample))
        yield from map(every, geared._elastic())

    return Term("elastic", "elastic", parameters, columns)


def _corrected(term: Term) -> bool:
    """Whether motion and torque are corrected for a term, and not its columns summed up."""
    return term.name in ("delay", "torque_ratio", "eccentricity", "geometry")
