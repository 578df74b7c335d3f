"""Elastic gears of the arms: a spring and a damper between each motor and its arm.

The drive of the spindle is rigid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deltadyn.robot import Robot
from deltadyn.simulation.linear import Floats
from deltadyn.simulation.machine import Machine


@dataclass(frozen=True)
class Gears:
    """Stiffness (N m/rad) and damping (N m s/rad) of elastic gears; empty where all are rigid."""

    stiffness: Floats
    damping: Floats

    @classmethod
    def of(cls, machine: Machine) -> Gears:
        """The elastic gears of a machine."""
        if machine.stiffness is None or machine.damping is None:
            return cls((), ())
        return cls(tuple(machine.stiffness.tolist()), tuple(machine.damping.tolist()))

    def torque(
        self,
        q: Sequence[float],
        qd: Sequence[float],
        q_motor: Sequence[float],
        qd_motor: Sequence[float],
    ) -> tuple[list[float], list[float]]:
        """K (q_m - q) and D (qd_m - qd), which the gears pass on to the arms, in N m."""
        twists = zip(self.stiffness, q_motor, q, strict=False)
        slips = zip(self.damping, qd_motor, qd, strict=False)
        return [k * (a - b) for k, a, b in twists], [d * (a - b) for d, a, b in slips]


def bearing(robot: Robot, motors: int) -> Robot:
    """What the mechanism bears: the robot without the rotors behind its first elastic gears."""
    if not motors:
        return robot
    rotor = robot.drives.output_inertia
    return robot.with_rotor_inertia(((0.0,) * motors) + rotor[motors:])
