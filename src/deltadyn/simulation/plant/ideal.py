"""The ideal plant: the exact model's forward dynamics, integrated by Runge-Kutta of order 4.

A run begins on the reference, with the torque that keeps it there: `start_on`, for all plants.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot
from deltadyn.simulation.drive.drivetrain import (
    Drivetrain,
    Gears,
    accelerations_with_losses,
    bearing,
)
from deltadyn.simulation.plant.machine import Machine, PlantStoppedError, Sample, home_angles
from deltadyn.simulation.plant.mechanism import Mechanism
from deltadyn.simulation.plant.numerics import Floats, rk4, solve_symmetric, times_symmetric

ROUNDS = 10  # each shrinks the error by the share of gravity in the gear's stiffness, 1e-2 or less


class Start(NamedTuple):
    """Arms and motors (rad), their common rate (rad/s), the motors' torque (N m), and a pose of
    the platform nearby (m, rad); each (dof,).
    """

    q: Floats
    q_motor: Floats
    qd: Floats
    tau: Floats
    near: Floats | None = None


def start_on(machine: Machine, reference: Motion, wrench: Floats) -> Start:
    """Motors on the reference, everything about to accelerate with it: at rest the holding torque.

    Elastic gears are wound up by their load, so the arms hang behind the motors.
    """
    q, qd, qdd = (tuple(x[0].tolist()) for x in (reference.q, reference.qd, reference.qdd))
    drives, gears = Drivetrain(machine), Gears.of(machine)
    near = tuple(reference.p[0].tolist())
    mechanism = Mechanism.plain(bearing(machine.robot, machine.robot.dof), near)
    arms = q
    load = _load(mechanism, arms, qd, qdd, wrench)
    for _ in range(ROUNDS if gears.stiffness else 0):
        twists = zip(q, load, gears.stiffness, strict=False)
        wound = tuple(a - b / k for a, b, k in twists)
        arms = (*wound, *q[len(wound) :])
        load = _load(mechanism, arms, qd, qdd, wrench)
    parts = zip(load, drives.rotor, qdd, drives.losses(qd), drives.friction(qd), strict=True)
    needed = [a + j * b + mu * abs(a) + f for a, j, b, mu, f in parts]
    needed = [a + b for a, b in zip(needed, drives.own_ripple(q), strict=True)]
    return Start(arms, q, qd, drives.motor_torque(needed, qd), near)


def _load(mechanism: Mechanism, q: Floats, qd: Floats, qdd: Floats, wrench: Floats) -> list[float]:
    """What goes through the gears: M qdd + h and the friction of the passive joints."""
    terms = mechanism.terms(q, qd, wrench)
    turned = times_symmetric(terms.M, qdd)
    return [sum(parts) for parts in zip(turned, terms.h, terms.passive, strict=True)]


# The plant.


# A step's product with the fastest rates: vibration is followed closely; the steep part of
# tanh friction about rest needs to be stable only (Runge-Kutta of order 4: below 2.78).
VIBRATION_STEP = 0.5
FRICTION_STEP = 1.5
SLOW_RATE = 1e-4  # rad/s, far below the smoothing of friction


class Rates(NamedTuple):
    """What moves the plant at one instant."""

    qdd: list[float]
    qdd_motor: list[float]  # of the elastic gears
    p: Floats
    ripple: list[float]
    friction: list[float]
    passive: Floats
    powers: Floats  # W, as in `Work`


class IdealPlant:
    """State q, qd of the axes, of the motors of elastic gears, and the work done so far."""

    def __init__(self, machine: Machine, start: Start, dt: float) -> None:
        self.machine, self.dof, self.dt = machine, machine.robot.dof, dt
        self.drives = Drivetrain(machine)
        self.gears = Gears.of(machine)
        self.motors = len(self.gears.stiffness)
        self.mechanism = Mechanism.of(bearing(machine.robot, self.motors), start.near)
        self.substeps = substeps(machine, dt)
        swung = (*start.q_motor[: self.motors], *start.qd[: self.motors])
        self.y: Floats = (*start.q, *start.qd, *swung, *(0.0,) * 5)

    @property
    def q_motor(self) -> Floats:
        """The angles that the encoders see."""
        n, m = self.dof, self.motors
        return (*self.y[2 * n : 2 * n + m], *self.y[m:n])

    @property
    def arms(self) -> tuple[Floats, Floats]:
        """Angles and rates at the arms."""
        return self.y[: self.dof], self.y[self.dof : 2 * self.dof]

    @property
    def qd_motor(self) -> Floats:
        """The rates of the motors."""
        n, m = self.dof, self.motors
        return (*self.y[2 * n + m : 2 * (n + m)], *self.y[n + m : 2 * n])

    def carry(self, robot: Robot) -> None:
        """Go on with this robot: another payload."""
        near = None if self.mechanism.follower is None else self.mechanism.follower.x
        self.mechanism = Mechanism.of(bearing(robot, self.motors), near)

    def sample(self, torque: Floats, wrench: Floats) -> Sample:
        """The state now, under this torque."""
        return self._sample(self._rates(self.y, torque, wrench), torque)

    def advance(self, start: Floats, end: Floats, wrench: Floats) -> Sample:
        """Go one tick further; the state at its beginning."""
        try:
            first = self._rates(self.y, start, wrench)
            sample = self._sample(first, start)
            for k in range(self.substeps):
                torques = [_between(start, end, (k + a) / self.substeps) for a in (0, 0.5, 1)]
                self._step(torques, wrench, first if k == 0 else None)
        except (ValueError, ArithmeticError) as error:
            raise PlantStoppedError("the struts do not meet, or lie in one plane") from error
        if not all(map(math.isfinite, self.y)):
            raise PlantStoppedError("the motion grew without bound")
        heat = zip(sample.friction, sample.qd_motor, strict=True)
        self.drives.heat([f * rate for f, rate in heat], self.dt)
        return sample

    def _step(self, torques: list[Floats], wrench: Floats, first: Rates | None) -> None:
        """One integration step; `torques` act at its begin, middle and end.

        `first` are the rates at the begin where they are known already.
        """
        n, m = self.dof, self.motors

        def slope(y: Floats, share: float) -> Floats:
            known = first if share == 0 else None
            rates = known or self._rates(y, torques[round(2 * share)], wrench)
            moved = y[2 * n + m : 2 * (n + m)]
            return (*y[n : 2 * n], *rates.qdd, *moved, *rates.qdd_motor, *rates.powers)

        self.y = rk4(np, slope, self.y, self.dt / self.substeps)

    def _rates(self, y: Floats, torque: Floats, wrench: Floats) -> Rates:
        """M qdd + h = given, and J qdd_m = tau + ripple - friction - gear at elastic gears.

        A rigid axis is given tau + ripple - friction, an elastic one the gear's K twist + D slip.
        """
        n, m, drives, gears = self.dof, self.motors, self.drives, self.gears
        q, qd = y[:n], y[n : 2 * n]
        angle, rate = q, qd
        if m:
            angle = (*y[2 * n : 2 * n + m], *q[m:])
            rate = (*y[2 * n + m : 2 * (n + m)], *qd[m:])
        terms = self.mechanism.terms(q, qd, wrench)
        ripple = drives.ripple(angle) if drives.rippled else [0.0] * n
        dry = drives.friction(rate, torque)
        given = [a + b - c for a, b, c in zip(torque, ripple, dry, strict=True)]
        losses = drives.losses(rate) if drives.lossy else [0.0] * n
        qdd_motor: list[float] = []
        damped = 0.0
        if m:
            spring, damper = gears.torque(q, qd, angle, rate)
            damped = sum([d * (a - b) for d, a, b in zip(damper, rate, qd, strict=False)])
            for i in range(m):
                gear = spring[i] + damper[i]
                dry[i] += losses[i] * abs(gear)
                qdd_motor.append((torque[i] + ripple[i] - dry[i] - gear) / drives.rotor[i])
                given[i], losses[i] = gear, 0.0
        needed = [a + b for a, b in zip(terms.h, terms.passive, strict=True)]
        if any(losses):
            qdd = accelerations_with_losses(terms.M, needed, given, losses, drives.rotor)
            turned = times_symmetric(terms.M, qdd)
            for i in range(m, n):
                dry[i] += given[i] - turned[i] - needed[i]
        else:
            qdd = solve_symmetric(terms.M, [a - b for a, b in zip(given, needed, strict=True)])
        powers = (
            _inner(torque, rate),
            _inner(ripple, rate),
            _inner(wrench, terms.pd),
            _inner(dry, rate) + _inner(terms.passive, qd),
            damped,
        )
        return Rates(qdd, qdd_motor, terms.p, ripple, dry, terms.passive, powers)

    def _sample(self, rates: Rates, torque: Floats) -> Sample:
        n, y = self.dof, self.y
        return Sample(
            y[:n],
            y[n : 2 * n],
            tuple(rates.qdd),
            self.q_motor,
            self.qd_motor,
            rates.p,
            torque,
            tuple(rates.ripple),
            tuple(rates.friction),
            rates.passive,
            tuple(self.drives.temperature),
            y[-5:],
        )


def substeps(machine: Machine, dt: float) -> int:
    """Integration steps in a tick of dt seconds, from the machine's fastest rates at rest."""
    gears, dof = Gears.of(machine), machine.robot.dof
    m = len(gears.stiffness)
    home, still = tuple(home_angles(machine.robot).tolist()), (0.0,) * dof
    mechanism = Mechanism.plain(bearing(machine.robot, m))
    lower = np.array(mechanism.terms(home, still, still).M)
    over = np.linalg.inv(lower + np.tril(lower, -1).T)
    slow = SLOW_RATE * np.eye(dof)
    passive = [mechanism.terms(home, tuple(row), still).passive for row in slow]
    brake = np.array(passive).T / SLOW_RATE
    forth, back = (
        np.array(Drivetrain(machine).friction((rate,) * dof)) for rate in (SLOW_RATE, -SLOW_RATE)
    )
    drives = (forth - back) / (2 * SLOW_RATE)
    brake[range(m, dof), range(m, dof)] += drives[m:]
    rates = [_fastest(over @ brake) / FRICTION_STEP]
    if m:
        rotor = np.asarray(machine.robot.drives.output_inertia[:m])
        swing = (over[:m, :m] + np.diag(1 / rotor)) * np.asarray(gears.stiffness)
        rates.append(math.sqrt(_fastest(swing)) / VIBRATION_STEP)
        rates.append(float(np.max(drives[:m] / rotor)) / FRICTION_STEP)
    return max(1, math.ceil(dt * max(rates)))


def _fastest(matrix: FloatArray) -> float:
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def _between(start: Floats, end: Floats, share: float) -> Floats:
    if share == 0:
        return start
    return tuple(a + share * (b - a) for a, b in zip(start, end, strict=True))


def _inner(a: Floats | list[float], b: Floats | list[float]) -> float:
    return sum([x * y for x, y in zip(a, b, strict=True)])
