"""The closed mechanism, one sample at a time: mass matrix and bias from the model's one source.

tau = M(q) qdd + h(q, qd) is linear in qdd, so the exact model's inverse dynamics gives h with
qdd = 0 and, without gravity and at rest, a column of M for every unit acceleration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from deltadyn.arrays import Component
from deltadyn.backends.straight_line import SYMBOLS, Function, straight_line
from deltadyn.dynamics.exact import inverse_dynamics
from deltadyn.dynamics.parameters import ExactParameters, exact_parameters
from deltadyn.dynamics.passive import passive_torque
from deltadyn.kinematics.limbs import Pose
from deltadyn.kinematics.limbs import pose_of as pose_of
from deltadyn.robot import Robot
from deltadyn.simulation.plant.numerics import Floats, Rows


class Terms(NamedTuple):
    """drive torque without the drives' own friction = M qdd + h + passive; p, pd beside them."""

    M: Rows
    h: Floats
    passive: Floats
    p: Floats
    pd: Floats


@dataclass(frozen=True, eq=False)
class Mechanism:
    """The mechanism of a robot with its rotors."""

    dof: int
    compiled: Function

    @classmethod
    def of(cls, robot: Robot) -> Mechanism:
        """The mechanism with the robot's payload and the friction of its passive joints.

        The source becomes straight-line Python: the ideal plant without the extension asks it four
        times per step. Measured on the 3-DOF robot: 15 us, the source itself on floats 83 us,
        NumPy's arrays of one state 3 ms.
        """
        dof = robot.dof

        def trace(inputs: Sequence[Any]) -> Sequence[Any]:
            return _terms(robot, *(tuple(inputs[k * dof : (k + 1) * dof]) for k in range(3)))

        return cls(dof, straight_line(3 * dof, trace))

    @classmethod
    def plain(cls, robot: Robot) -> Mechanism:
        """The same for a few calls: ready at once, and five times slower at each."""
        dof = robot.dof

        def terms(*inputs: float) -> Floats:
            return tuple(_terms(robot, *(inputs[k * dof : (k + 1) * dof] for k in range(3))))

        return cls(dof, terms)

    def terms(self, q: Floats, qd: Floats, wrench: Floats) -> Terms:
        """M (dof, dof) and h (dof,) with an external `wrench` (dof,) on the platform (N, N m).

        Raises ValueError or ZeroDivisionError where the loop does not close or is singular.
        """
        n = self.dof
        out = self.compiled(*q, *qd, *wrench)
        M = [list(out[j * n : (j + 1) * n]) for j in range(n)]
        return Terms(M, *(out[(n + k) * n : (n + k + 1) * n] for k in range(4)))


class Symbolic(NamedTuple):
    """The mechanism's terms over any components: `rows` is the lower triangle of M."""

    rows: list[list[Component]]
    h: list[Component]
    p: tuple[Component, ...]
    pd: tuple[Component, ...]


def mechanism_terms(
    xp: Any,
    par: ExactParameters,
    pose: Pose,
    wrench: tuple[Component, ...],
    qd: tuple[Component, ...],
) -> Symbolic:
    """M, h, p and pd at a pose with an external wrench, over any components."""
    dof, c, s, p = len(qd), pose.c, pose.s, pose.p
    weightless, zero = replace(par, gravity=0.0), (0.0,) * len(qd)
    h = inverse_dynamics(xp, par, c, s, qd, zero, p, pose.pd, pose.pdd, wrench)
    rows = []
    for j in range(dof):
        unit = tuple(1.0 if i == j else 0.0 for i in range(dof))
        column = inverse_dynamics(xp, weightless, c, s, zero, unit, p, zero, pose.J[j])
        rows.append(column[: j + 1])
    return Symbolic(rows, h, p, pose.pd)


def _terms(
    robot: Robot,
    q: tuple[Component, ...],
    qd: tuple[Component, ...],
    wrench: tuple[Component, ...],
) -> list[Component]:
    """Rows of M, then h, passive friction, p and pd, each (dof,), in one list."""
    dof, par = robot.dof, exact_parameters(robot)
    pose = pose_of(SYMBOLS, par.limbs, q, qd)
    terms = mechanism_terms(SYMBOLS, par, pose, wrench, qd)
    rows = [x for row in terms.rows for x in (*row, *(0.0,) * (dof - len(row)))]
    pivot_z = 0.0 if robot.spindle is None else robot.spindle.pivot_z
    passive = passive_torque(SYMBOLS, robot.friction, par.limbs, pivot_z, pose, qd)
    return [*rows, *terms.h, *passive, *terms.p, *terms.pd]
