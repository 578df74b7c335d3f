"""From the raw columns of a file to channels in SI units and deltadyn's convention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.recording.columns import Assignment, units_of
from deltadyn.recording.quantities import RATED
from deltadyn.recording.recording import ColumnUse
from deltadyn.robot import Robot

CONVENTIONS = ("controller", "deltadyn")
SIDES = ("output", "motor")
_ANGLES = ("q", "q_command", "qd", "qdd")
_TORQUES = ("tau", "tau_command")


@dataclass(frozen=True)
class Conversion:
    """What turns the numbers of a file into angles and torques of a robot.

    `torque_constant` (N m/A) holds at the motor side; `rated_torque` (N m) at `torque_side`.
    """

    robot: Robot | None
    dof: int
    convention: str
    torque_constant: tuple[float, ...] | None = None
    rated_torque: tuple[float, ...] | None = None
    torque_side: str = "output"

    def channels(self, raw: Mapping[int, FloatArray], columns: Assignment) -> dict[str, FloatArray]:
        """All channels but t: raw columns by their index, each (n,), as arrays in SI."""
        out: dict[str, FloatArray] = {}
        for name in dict.fromkeys(use.quantity for use in columns.uses):
            uses = columns.of(name)
            if name == "t":
                continue
            if uses[0].axis is None:
                out[name] = self._value(uses[0], raw)
                continue
            array = np.empty((len(raw[uses[0].index]), self.dof))
            for use in uses:
                array[:, use.axis] = self._value(use, raw)
            out[name] = array
        if "tau" not in out:
            out["tau"] = self._torque_of_current(columns.of("current"), out["current"])
        self._to_own_convention(out)
        if "p" in out and self.dof == 4 and len(columns.of("p")) == 3:
            out["p"][:, 3] = out["q"][:, 3]
        return out

    def notes(self, columns: Assignment) -> list[str]:
        """What is converted, in words."""
        notes = []
        for use in columns.uses:
            unit = units_of(use.quantity, use.axis).si.name
            steps = []
            if use.sign != 1 or use.scale != 1 or use.offset != 0:
                steps.append(f"{use.sign:+g} * {use.scale:g} * raw {use.offset:+g} {use.unit}")
            if use.unit != unit:
                steps.append(f"{use.unit} to {unit}")
            if self._side(use) == "motor":
                steps.append("motor side to output side")
            if steps:
                notes.append(f"{use.target}: {', '.join(steps)}")
        if not columns.of("tau"):
            notes.append("tau: current * torque constant * gear ratio * sign")
        robot = self.robot
        if robot is not None and self.convention == "controller" and _has_convention(robot):
            notes.append(
                f"controller's angles and torques to deltadyn's: sign {robot.controller.sign}, "
                f"offset {robot.controller.offset} rad"
            )
        if columns.of("p") and self.dof == 4 and len(columns.of("p")) == 3:
            notes.append("platform_psi: taken from q4")
        return notes

    def check(self, columns: Assignment) -> None:
        """Refuse columns for which a gear ratio, a torque constant or a rated torque is missing."""
        for use in columns.uses:
            rated = use.quantity in _TORQUES and use.unit in RATED
            if rated and self.rated_torque is None:
                raise InputError(
                    "rated_torque", None, f"N m, since column {use.name!r} is in {use.unit} of it"
                )
            if self._side(use) == "motor":
                self._gear(use)
        if columns.of("tau"):
            return
        for use in columns.of("current"):
            self._gear(use)
            if use.torque_constant is None and self.torque_constant is None:
                raise InputError(
                    "torque_constant",
                    None,
                    f"N m/A at the motor side, since column {use.name!r} is a current and there "
                    "are no torque columns",
                )

    def time(self, use: ColumnUse, raw: Mapping[int, FloatArray]) -> FloatArray:
        """Times in s."""
        return self._value(use, raw)

    def _value(self, use: ColumnUse, raw: Mapping[int, FloatArray]) -> FloatArray:
        values = raw[use.index]
        factor = use.sign * use.scale
        if factor != 1.0:
            values = values * factor
        if use.offset:
            values = values + use.offset
        unit = units_of(use.quantity, use.axis).unit(use.unit)
        if unit is None:
            raise InputError(f"unit of {use.target}", use.unit, "a unit of that quantity")
        values = unit.to_si(values)
        if use.axis is None:
            return values
        if use.quantity in _TORQUES and use.unit in RATED and self.rated_torque is not None:
            values = values * self.rated_torque[use.axis]
        if self._side(use) == "motor":
            gear = self._gear(use)
            values = values / gear if use.quantity in _ANGLES else values * gear
        return values

    def _side(self, use: ColumnUse) -> str:
        if use.side is not None:
            return use.side
        return self.torque_side if use.quantity in _TORQUES else "output"

    def _gear(self, use: ColumnUse) -> float:
        if self.robot is None:
            raise InputError("robot", None, f"a robot, whose gear ratio column {use.name!r} needs")
        return float(self.robot.drives.gear_ratio[use.axis or 0])

    def _torque_of_current(self, uses: tuple[ColumnUse, ...], current: FloatArray) -> FloatArray:
        tau = np.empty_like(current)
        for use in uses:
            axis = use.axis or 0
            constant = use.torque_constant
            if constant is None and self.torque_constant is not None:
                constant = self.torque_constant[axis]
            tau[:, axis] = current[:, axis] * ((constant or 0.0) * self._gear(use))
        return tau

    def _to_own_convention(self, out: dict[str, FloatArray]) -> None:
        if self.robot is None or self.convention == "deltadyn" or not _has_convention(self.robot):
            return
        sign = np.asarray(self.robot.controller.sign)
        for name in ("q", "q_command"):
            if name in out:
                out[name] = self.robot.from_controller(out[name])
        for name in ("qd", "qdd", *_TORQUES):
            if name in out:
                out[name] = out[name] * sign


def _has_convention(robot: Robot) -> bool:
    """Whether the controller's angles differ from ours."""
    controller = robot.controller
    return any(sign != 1 for sign in controller.sign) or any(offset for offset in controller.offset)
