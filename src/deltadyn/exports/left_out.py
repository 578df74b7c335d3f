"""Terms of a robot file that an export does not hold, each with its size in torque."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.exports.states import random_states, states_in_words
from deltadyn.motion import Motion
from deltadyn.robot import Robot
from deltadyn.robot.convention import Angles, from_controller, to_controller

STATES, SEED = 200, 3


@dataclass(frozen=True)
class LeftOutTerm:
    """A term that is not in an export, and what the drives' torque lacks by it.

    `rms` and `largest` (dof,) are of the difference over random states, in the units of the axes.
    """

    field: str
    reason: str
    rms: tuple[float, ...]
    largest: tuple[float, ...]
    units: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.field} ({self.reason}): {self.size}"

    @property
    def size(self) -> str:
        """Its size on every axis in words."""
        if not any(self.largest):
            return "no part of the torque of a rigid motion"
        rows = zip(self.rms, self.largest, self.units, strict=True)
        return ", ".join(f"{rms:.2g} (at most {most:.2g}) {unit}" for rms, most, unit in rows)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "field": self.field,
            "reason": self.reason,
            "rms": list(self.rms),
            "largest": list(self.largest),
            "units": list(self.units),
        }


def measure_term(robot: Robot, reduced: Robot, field: str, reason: str) -> LeftOutTerm:
    """The size of what a reduced robot lacks: tau(robot) - tau(reduced) at the same readings.

    The reduced robot takes an encoder's reading for its own, and a drive's torque likewise.
    """
    q, qd, qdd = random_states(robot, STATES, SEED)
    taken = from_controller(reduced, to_controller(robot, Angles(q, qd, qdd)))
    lack = _reported_torque(robot, (q, qd, qdd)) - _reported_torque(reduced, taken)
    rms, largest = np.sqrt(np.mean(lack**2, axis=0)), np.abs(lack).max(axis=0)
    units = tuple(robot.axis_units("tau"))
    return LeftOutTerm(field, reason, tuple(rms.tolist()), tuple(largest.tolist()), units)


def _reported_torque(robot: Robot, motion: Sequence[Any]) -> FloatArray:
    """tau (N, dof) as the drives report it."""
    time = np.arange(STATES, dtype=float)
    tau = inverse_dynamics(robot, Motion.from_joints(robot, time, *motion))
    return np.asarray(tau * np.asarray(robot.sensors.torque_ratio))


def drop_eccentricity(robot: Robot) -> Robot:
    """The robot with encoders that read their angle as it is."""
    return robot.replace(sensors=replace(robot.sensors, eccentricity=()))


def drop_terms(
    robot: Robot, *, passive: str | None = None
) -> tuple[Robot, tuple[LeftOutTerm, ...]]:
    """The robot without what exported code does not hold, and the size of each such term.

    That is the eccentricity of encoders; friction in passive joints where `passive` gives a reason.
    """
    terms: list[LeftOutTerm] = []
    kept = robot
    if robot.sensors.eccentricity:
        kept = drop_eccentricity(kept)
        reason = "let the drive compensate it: readings are taken for angles"
        terms.append(measure_term(robot, kept, "sensors.eccentricity", reason))
    if passive is not None and robot.friction.passive:
        whole, kept = kept, kept.with_friction(passive=())
        terms.append(measure_term(whole, kept, "friction.passive", passive))
    return kept, tuple(terms)


def left_out_section(robot: Robot, terms: Iterable[LeftOutTerm]) -> str:
    """What a README says of the terms; empty where there are none."""
    rows = "".join(f"- `{term.field}` ({term.reason}): {term.size}.\n" for term in terms)
    if not rows:
        return ""
    return (
        "\n## Not in this export\n\nThe robot file has terms that the export leaves out. Their "
        f"size is the root mean square of the torque on every axis over {STATES} random states "
        f"({states_in_words(robot)}).\n\n{rows}"
    )
