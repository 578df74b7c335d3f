"""The state in which a run begins: on the reference, with the torque that keeps it there."""

from __future__ import annotations

from typing import NamedTuple

from deltadyn.motion.motion import Motion
from deltadyn.simulation.drive.drivetrain import Drivetrain, Gears, bearing
from deltadyn.simulation.plant.machine import Machine
from deltadyn.simulation.plant.mechanism import Mechanism
from deltadyn.simulation.plant.numerics import Floats, times_symmetric

ROUNDS = 10  # each shrinks the error by the share of gravity in the gear's stiffness, 1e-2 or less


class Start(NamedTuple):
    """Arms and motors (rad), their common rate (rad/s), the motors' torque (N m); each (dof,)."""

    q: Floats
    q_motor: Floats
    qd: Floats
    tau: Floats


def start_on(machine: Machine, reference: Motion, wrench: Floats) -> Start:
    """Motors on the reference, everything about to accelerate with it: at rest the holding torque.

    Elastic gears are wound up by their load, so the arms hang behind the motors.
    """
    q, qd, qdd = (tuple(x[0].tolist()) for x in (reference.q, reference.qd, reference.qdd))
    drives, gears = Drivetrain(machine), Gears.of(machine)
    mechanism = Mechanism.plain(bearing(machine.robot, machine.robot.dof))
    arms = q
    load = _load(mechanism, arms, qd, qdd, wrench)
    for _ in range(ROUNDS if gears.stiffness else 0):
        twists = zip(q, load, gears.stiffness, strict=False)
        wound = tuple(a - b / k for a, b, k in twists)
        arms = (*wound, *q[len(wound) :])
        load = _load(mechanism, arms, qd, qdd, wrench)
    parts = zip(load, drives.rotor, qdd, drives.losses(qd), drives.friction(qd), strict=True)
    tau = tuple(a + j * b + mu * abs(a) + f for a, j, b, mu, f in parts)
    return Start(arms, q, qd, tau)


def _load(mechanism: Mechanism, q: Floats, qd: Floats, qdd: Floats, wrench: Floats) -> list[float]:
    """What goes through the gears: M qdd + h and the friction of the passive joints."""
    terms = mechanism.terms(q, qd, wrench)
    turned = times_symmetric(terms.M, qdd)
    return [sum(parts) for parts in zip(turned, terms.h, terms.passive, strict=True)]
