"""Nominal torque and payload column of one sample, as straight-line Python over floats.

The torque without payload and the column c with tau = tau_0 + m c come from the one source of the
exact model. On floats this takes some ten microseconds; arrays of one sample take a millisecond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from deltadyn.arrays import Component
from deltadyn.dynamics.exact import inverse_dynamics
from deltadyn.dynamics.parameters import ExactParameters, SpindleParameters, exact_parameters
from deltadyn.payload.dual import Dual, dual_namespace
from deltadyn.robot import Robot
from deltadyn.simulation.mechanism import pose_of
from deltadyn.simulation.passive import Pose, passive_torque
from deltadyn.simulation.straight_line import SYMBOLS, Function, straight_line

SHARP = 1e-6  # rad/s: of passive joints whose friction names no smoothing

Floats = tuple[float, ...]
Vector = tuple[Component, ...]


class Answer(NamedTuple):
    """Torque without payload (N m), what one kg adds (N m/kg), square of the speed (m^2/s^2).

    Both are (dof,). Of the momentum form the two are the parts without an acceleration, and
    `momentum`, `momentum_column` (N m s, N m s/kg) are those whose rate is to be added.
    """

    torque: Floats
    column: Floats
    speed2: float
    momentum: Floats = ()
    momentum_column: Floats = ()


@dataclass(frozen=True, eq=False)
class SampleModel:
    """The exact model of a robot, its friction, and a payload at the robot's payload offset.

    tau = torque + m column                       with `at(q, qd, qdd, direction)`
    tau = torque + m column + d/dt (momentum + m momentum_column)     with `momentum_at(q, qd, ...)`
    `direction` (dof,) is the sign of every joint rate, as a number from -1 to 1.
    """

    dof: int
    accelerated: Function
    moving: Function

    @classmethod
    def of(cls, robot: Robot) -> SampleModel:
        """The model of a robot whose own payload counts as part of it."""
        return _compiled(robot)

    def at(
        self, q: Sequence[float], qd: Sequence[float], qdd: Sequence[float], s: Sequence[float]
    ) -> Answer:
        """One sample, each (dof,). ValueError or ZeroDivisionError where no loop closes."""
        n = self.dof
        out = self.accelerated(*q, *qd, *qdd, *s)
        return Answer(out[:n], out[n : 2 * n], out[2 * n])

    def momentum_at(self, q: Sequence[float], qd: Sequence[float], s: Sequence[float]) -> Answer:
        """One sample without an acceleration, each (dof,)."""
        n = self.dof
        out = self.moving(*q, *qd, *s)
        return Answer(
            out[:n], out[n : 2 * n], out[2 * n], out[2 * n + 1 : 3 * n + 1], out[3 * n + 1 :]
        )


@lru_cache(maxsize=16)
def _compiled(robot: Robot) -> SampleModel:
    dof = robot.dof

    def parts(inputs: Sequence[Any], count: int) -> list[tuple[Any, ...]]:
        return [tuple(inputs[k * dof : (k + 1) * dof]) for k in range(count)]

    return SampleModel(
        dof,
        straight_line(4 * dof, lambda x: _accelerated(robot, *parts(x, 4))),
        straight_line(3 * dof, lambda x: _moving(robot, *parts(x, 3))),
    )


def payload_parameters(robot: Robot) -> ExactParameters:
    """The exact model's parameters of one kg at the robot's payload offset, and nothing else."""
    par, (x, y, _) = exact_parameters(robot), robot.payload.offset
    spindle = None
    if par.spindle is not None:
        none = dict.fromkeys(("H", "kappa", "mu", "I_axial"), 0.0)
        own = SpindleParameters(par.spindle.pivot_z, h_x=x, h_y=y, I_psi=x**2 + y**2, **none)
        spindle = own
    zero = (0.0, 0.0, 0.0)
    return replace(par, M_P=1.0, m_x=zero, A=zero, G=zero, G_s=zero, spindle=spindle)


def _accelerated(robot: Robot, q: Vector, qd: Vector, qdd: Vector, s: Vector) -> list[Component]:
    par = exact_parameters(robot)
    pose = pose_of(SYMBOLS, par.limbs, q, qd)
    pdd = tuple(pose.pdd[k] + _along(pose, qdd, k) for k in range(robot.dof))

    def torque(parameters: ExactParameters) -> list[Component]:
        return inverse_dynamics(SYMBOLS, parameters, pose.c, pose.s, qd, qdd, pose.p, pose.pd, pdd)

    tau, column = torque(par), torque(payload_parameters(robot))
    rotor = robot.drives.output_inertia
    through = [tau[i] - rotor[i] * qdd[i] for i in range(robot.dof)]
    tau, column = _with_friction(robot, pose, qd, s, tau, column, through)
    return [*tau, *column, _square(pose.pd)]


def _moving(robot: Robot, q: Vector, qd: Vector, s: Vector) -> list[Component]:
    """tau = d/dt (M qd) - Md qd + h, where Md qd is the rate of M(q) v at v = qd held."""
    par, dof = exact_parameters(robot), robot.dof
    pose, zero = pose_of(SYMBOLS, par.limbs, q, qd), (0.0,) * dof
    xp = dual_namespace(SYMBOLS)
    moving = pose_of(
        xp,
        par.limbs,
        tuple(Dual(q[i], qd[i]) for i in range(dof)),
        tuple(Dual(qd[i]) for i in range(dof)),
    )
    held = tuple(Dual(qd[i]) for i in range(dof))

    def terms(parameters: ExactParameters) -> tuple[list[Component], list[Component]]:
        h = inverse_dynamics(
            SYMBOLS, parameters, pose.c, pose.s, qd, zero, pose.p, pose.pd, pose.pdd
        )
        weightless = replace(parameters, gravity=0.0)
        rest = inverse_dynamics(
            xp, weightless, moving.c, moving.s, zero, held, moving.p, zero, moving.pd
        )
        both = [x if isinstance(x, Dual) else Dual(x) for x in rest]
        return [h[i] - both[i].rate for i in range(dof)], [x.value for x in both]

    tau, momentum = terms(par)
    column, momentum_column = terms(payload_parameters(robot))
    tau, column = _with_friction(robot, pose, qd, s, tau, column, tau)
    return [*tau, *column, _square(pose.pd), *momentum, *momentum_column]


def _with_friction(
    robot: Robot,
    pose: Pose,
    qd: Vector,
    s: Vector,
    tau: list[Component],
    column: list[Component],
    load: list[Component],
) -> tuple[list[Component], list[Component]]:
    """Torque and column with friction; `load` is what goes through the gears without payload."""
    friction, xp = robot.friction, SYMBOLS
    if friction.passive:
        sharp = friction if friction.smoothing else replace(friction, smoothing=SHARP)
        pivot_z = 0.0 if robot.spindle is None else robot.spindle.pivot_z
        limbs = exact_parameters(robot).limbs
        passive = passive_torque(xp, sharp, limbs, pivot_z, pose, qd)
        tau = [a + b for a, b in zip(tau, passive, strict=True)]
        load = [a + b for a, b in zip(load, passive, strict=True)]
    out, columns = [], []
    for i in range(robot.dof):
        dry: Component = friction.coulomb[i]
        if friction.coulomb_negative is not None:
            dry = xp.where(s[i] < 0.0, friction.coulomb_negative[i], dry)
        if friction.stribeck is not None and friction.stribeck_velocity is not None:
            ratio = qd[i] / friction.stribeck_velocity[i]
            half = xp.tanh(ratio * ratio / 2)
            dry = dry + friction.stribeck[i] * ((1 - half) / (1 + half))  # exp(-ratio^2)
        total = tau[i] + friction.viscous[i] * qd[i] + dry * s[i]
        own = column[i]
        if friction.offset is not None:
            total = total + friction.offset[i]
        if friction.load is not None:
            share = friction.load[i] * s[i] * xp.where(load[i] < 0.0, -1.0, 1.0)
            total, own = total + share * load[i], own + share * own
        out.append(total)
        columns.append(own)
    return out, columns


def _along(pose: Pose, qdd: Vector, k: int) -> Component:
    return sum((pose.J[j][k] * qdd[j] for j in range(1, len(qdd))), pose.J[0][k] * qdd[0])


def _square(pd: Vector) -> Component:
    return pd[0] * pd[0] + pd[1] * pd[1] + pd[2] * pd[2]
