"""The closed mechanism, one sample at a time: mass matrix and bias from the model's one source.

Under a platform of two halves the pose of q has no closed form: it is followed from the call
before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import Component
from deltadyn.dynamics.mechanism import mechanism_terms
from deltadyn.dynamics.parameters import exact_parameters
from deltadyn.dynamics.passive import passive_torque
from deltadyn.kinematics.assemblies import (
    elbow_excess,
    followed_pose,
    platform_excess,
    turn_share,
)
from deltadyn.kinematics.limbs import (
    Limbs,
    arm_directions,
    limbs,
    pairs_of,
    rods_of,
)
from deltadyn.kinematics.limbs import pose_of as pose_of
from deltadyn.robot import Robot
from deltadyn.simulation.plant.numerics import Floats, Rows
from deltadyn.tape.tape import SCALARS
from deltadyn.tape.write_python import Compiled, straight_line


class Terms(NamedTuple):
    """drive torque without the drives' own friction = M qdd + h + passive; p, pd beside them."""

    M: Rows
    h: Floats
    passive: Floats
    p: Floats
    pd: Floats


CLOSE = 1e-9  # m and rad: a step of Newton's method so small leaves rounding alone
ROUNDS = 20  # of it; two or three from a pose nearby


class Follower:
    """The pose of joint coordinates under a platform of two halves, from that of the call before.

    Newton's method on |a_i(x) - E_i|^2 = l2_i^2. Beyond a singular pose, where det S has another
    sign, is another assembly, which no robot reaches in motion. A pose is good as it is in
    `kinematics.assemblies`: near the one before, with all arms in their working mode.
    """

    def __init__(self, robot: Robot, x: Floats | None = None) -> None:
        legs, dof = limbs(robot), robot.dof

        def trace(inputs: Sequence[Any]) -> Sequence[Any]:
            return _newton(legs, tuple(inputs[:dof]), tuple(inputs[dof:]))

        def compare(inputs: Sequence[Any]) -> Sequence[Any]:
            return _distances(legs, *(tuple(inputs[k : k + dof]) for k in range(0, 3 * dof, dof)))

        self.robot, self.x, self.side = robot, x, 0.0
        self.newton = straight_line(2 * dof, trace)
        self.distances = straight_line(3 * dof, compare)

    def pose(self, q: Floats) -> Floats:
        """x (dof,) of joint coordinates q; ValueError where the loop does not close."""
        if self.x is None:
            self.x = tuple(followed_pose(self.robot, np.array([q]))[0].tolist())
        x, n = self.x, len(q)
        for _ in range(ROUNDS):
            *step, side = self.newton(*x, *q)
            x = tuple([a - b for a, b in zip(x, step, strict=True)])
            if max(map(abs, step)) < CLOSE:
                break
            if not all(map(math.isfinite, step)):
                raise ValueError("the pose cannot be followed")
        else:
            raise ValueError("the loop does not close")
        x = x[:n]
        *gaps, far, turn = self.distances(*self.x, *x, *q)
        if side * self.side < 0 or far > 0 or turn > 1 or not max(gaps) <= 0:
            raise ValueError("the platform is in another assembly")
        self.x, self.side = x, side
        return self.x


def _newton(legs: Limbs, x: tuple[Component, ...], q: tuple[Component, ...]) -> list[Component]:
    """Newton's step (dof,) of |s_i|^2 = l2_i^2, whose slopes are 2 S, and det S behind it."""
    rods = rods_of(SCALARS, legs, *pairs_of(SCALARS, legs, q), x)
    missing = [
        (rod[0] * rod[0] + rod[1] * rod[1] + rod[2] * rod[2] - limb.l2 * limb.l2) / 2
        for rod, limb in zip(rods.base, legs, strict=True)
    ]
    return [*rods.inverse.solve(missing), rods.inverse.determinant]


def _distances(
    legs: Limbs, start: tuple[Component, ...], x: tuple[Component, ...], q: tuple[Component, ...]
) -> list[Component]:
    """What is above its bound where positive: elbows' gaps of the inverse kinematics, and the way
    from `start`; behind them the turn as a share of its bound."""
    pairs, back = pairs_of(SCALARS, legs, q), arm_directions(SCALARS, legs, x)
    before = arm_directions(SCALARS, legs, start)
    return [
        *elbow_excess(SCALARS, legs, back, pairs),
        platform_excess(SCALARS, legs, before, pairs, start, x),
        turn_share(SCALARS, legs.carrier, start, x),
    ]


@dataclass(frozen=True, eq=False)
class Mechanism:
    """The mechanism of a robot with its rotors; `follower` has its pose where no formula does."""

    dof: int
    compiled: Compiled
    follower: Follower | None = None

    @classmethod
    def of(cls, robot: Robot, x: Floats | None = None) -> Mechanism:
        """The mechanism with the robot's payload and the friction of its passive joints.

        `x` (dof,) is a pose near the first that is asked for, where one is known.

        The source becomes straight-line Python: the ideal plant without the extension asks it four
        times per step. Measured on the 3-DOF robot: 15 us, the source itself on floats 83 us,
        NumPy's arrays of one state 3 ms.
        """
        dof, parts = robot.dof, 3 + follows(robot)

        def trace(inputs: Sequence[Any]) -> Sequence[Any]:
            return _terms(robot, *(tuple(inputs[k * dof : (k + 1) * dof]) for k in range(parts)))

        follower = Follower(robot, x) if follows(robot) else None
        return cls(dof, straight_line(parts * dof, trace), follower)

    @classmethod
    def plain(cls, robot: Robot, x: Floats | None = None) -> Mechanism:
        """The same for a few calls: ready at once, and five times slower at each."""
        dof, parts = robot.dof, 3 + follows(robot)

        def terms(*inputs: float) -> Floats:
            return tuple(_terms(robot, *(inputs[k * dof : (k + 1) * dof] for k in range(parts))))

        return cls(dof, terms, Follower(robot, x) if follows(robot) else None)

    def terms(self, q: Floats, qd: Floats, wrench: Floats) -> Terms:
        """M (dof, dof) and h (dof,) with an external `wrench` (dof,) on the platform (N, N m).

        Raises ValueError or ZeroDivisionError where the loop does not close or is singular.
        """
        n = self.dof
        if self.follower is None:
            out = self.compiled(*q, *qd, *wrench)
        else:
            out = self.compiled(*q, *qd, *wrench, *self.follower.pose(q))
        M = [list(out[j * n : (j + 1) * n]) for j in range(n)]
        return Terms(M, *(out[(n + k) * n : (n + k + 1) * n] for k in range(4)))


def follows(robot: Robot) -> bool:
    """Whether the pose of the robot's joints has no closed form: a platform of two halves."""
    return limbs(robot).carrier.carried == 4


def _terms(
    robot: Robot,
    q: tuple[Component, ...],
    qd: tuple[Component, ...],
    wrench: tuple[Component, ...],
    x: tuple[Component, ...] | None = None,
) -> list[Component]:
    """Rows of M, then h, passive friction, p and pd, each (dof,), in one list.

    `x` (dof,) is the pose where it has no closed form.
    """
    dof, par = robot.dof, exact_parameters(robot)
    pose = pose_of(SCALARS, par.limbs, q, qd, x)
    terms = mechanism_terms(SCALARS, par, pose, wrench, qd)
    rows = [x for row in terms.rows for x in (*row, *(0.0,) * (dof - len(row)))]
    pivot_z = 0.0 if robot.spindle is None else robot.spindle.pivot_z
    passive = passive_torque(SCALARS, robot.friction, par.limbs, pivot_z, pose, qd)
    return [*rows, *terms.h, *passive, *terms.p, *terms.pd]
