"""Cycles over payloads: what a rate asks of the robot, and the highest rate that it allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.doors import write_page
from deltadyn.errors import InputError
from deltadyn.motion.arguments import check_share, is_real
from deltadyn.motion.limits import Limit
from deltadyn.motion.motion import Motion
from deltadyn.motion.planned import POWERS, stretch
from deltadyn.motion.scenarios import adept_cycle
from deltadyn.robot import Robot
from deltadyn.sizing.fastest import FastMotion, fastest
from deltadyn.sizing.loads import NO_FRICTION, MotionLoads, carrying, motion_loads

#: A cycle of a robot by cycles per minute.
Cycle = Callable[[Robot, float], Motion]


@dataclass(frozen=True, eq=False)
class SizingCase:
    """One payload (kg) at one rate (1/min): its loads, what binds, and whether it may run."""

    payload: float
    cycles: float
    loads: MotionLoads

    @property
    def feasible(self) -> bool:
        """Whether no known limit is exceeded."""
        return self.loads.limits.ok

    @property
    def binding(self) -> Limit | None:
        """The limit of which the cycle takes the largest share.

        Among those exceeded, or else among those that pace and payload decide: the poses are the
        same in all cases.
        """
        report = self.loads.limits
        rows = report.exceeded or tuple(x for x in report.limits if x.name in POWERS)
        known = [limit for limit in rows if limit.use is not None]
        return max(known, key=lambda limit: limit.use or 0.0, default=None)

    def as_dict(self) -> dict[str, Any]:
        """The numbers of one line, with units in the keys."""
        drives, binding = self.loads.drives, self.binding
        use = None if binding is None else binding.use
        return {
            "payload_kg": self.payload,
            "cycles_per_minute": self.cycles,
            "torque_peak_Nm": drives.torque_peak.tolist(),
            "torque_rms_Nm": drives.torque_rms.tolist(),
            "speed_peak_rad_per_s": drives.speed_peak.tolist(),
            "power_peak_W": drives.power_peak.tolist(),
            "energy_drawn_J": drives.energy_drawn.tolist(),
            "energy_returned_J": drives.energy_returned.tolist(),
            "preload_N": self.loads.struts.preload,
            "binding": None if binding is None else binding.name,
            "use": use if use is not None and math.isfinite(use) else None,
            "exceeded": [limit.name for limit in self.loads.limits.exceeded],
            "feasible": self.feasible,
        }


@dataclass(frozen=True, eq=False)
class SizingTable:
    """Cases (payloads x cycle rates), payload by payload."""

    robot: Robot
    what: str
    payloads: tuple[float, ...]
    cycles: tuple[float, ...]
    cases: tuple[SizingCase, ...]
    share: float

    def case(self, payload: float, cycles: float) -> SizingCase:
        """The case of this payload (kg) and rate (1/min)."""
        for item in self.cases:
            if item.payload == payload and item.cycles == cycles:
                return item
        allowed = f"payloads {list(self.payloads)} kg, cycles {list(self.cycles)} a minute"
        raise InputError("case", [payload, cycles], allowed)

    @property
    def feasible(self) -> npt.NDArray[np.bool_]:
        """Whether each case may run, (payloads, cycles)."""
        flat = np.array([item.feasible for item in self.cases])
        return flat.reshape(len(self.payloads), len(self.cycles))

    @property
    def text(self) -> str:
        """One line per case, worst axis of arms and of the spindle's drive."""
        torque, speed = (self.robot.axis_units(name)[0] for name in ("tau", "qd"))
        head = (
            "payload kg",
            "cycles/min",
            f"peak {torque}",
            f"RMS {torque}",
            f"speed {speed}",
            "power W",
            "returned J",
            "preload N",
            "used",
            "verdict",
        )
        rows = [head, *(_cells(item) for item in self.cases)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
        lines = [
            "  ".join(
                cell.rjust(width) if k < len(head) - 1 else cell
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        spindle = " of the arms" if self.robot.spindle is not None else ""
        title = f"{self.robot.name}, {self.what}: largest values{spindle}, energies of a cycle"
        note = [NO_FRICTION] if self.robot.friction.absent else []
        return "\n".join([title, *lines, *note])

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """Every case, for JSON."""
        record = {
            "robot": self.robot.name,
            "motion": self.what,
            "share": self.share,
            "friction": not self.robot.friction.absent,
            "axes": list(self.robot.axis_names()),
            "cases": [item.as_dict() for item in self.cases],
        }
        return self.robot.record(record)

    def page(self, path: str | PathLike[str]) -> Path:
        """Write one HTML file with verdict, figure and tables, to open without a network."""
        return write_page("sizing table", self, path)


def sizing_table(
    robot: Robot,
    payloads: Iterable[float],
    cycle_rates: Iterable[float],
    *,
    motion: Motion | Cycle | None = None,
    share: float = 1.0,
    rate: float = 1000.0,
) -> SizingTable:
    """Loads of a cycle for every payload (kg) and rate (cycles per minute).

    The cycle is the Adept cycle, sampled at `rate` hertz; or a `motion`, stretched as a whole to
    60 / cycles seconds; or a function of robot and cycles per minute. `share` scales limits as in
    `check_motion`. A case beyond the robot's limits is a line like any other, not an error.
    """
    masses = _numbers("payloads", payloads, 0.0, "a number of kg from 0")
    rates = _numbers("cycle_rates", cycle_rates, None, "a number above 0 per minute")
    cycle: Cycle
    if motion is None:
        what = "Adept cycle"

        def cycle(robot: Robot, cycles: float) -> Motion:
            return adept_cycle(robot, cycles_per_minute=cycles, rate=rate)
    elif isinstance(motion, Motion):
        given, what = motion, "the motion given, stretched"

        def cycle(robot: Robot, cycles: float) -> Motion:
            return stretch(robot, given, duration=60.0 / cycles)
    elif callable(motion):
        cycle, what = motion, getattr(motion, "__name__", "the motion given")
    else:
        raise InputError("motion", type(motion).__name__, "a Motion, a function, or None")
    cases = tuple(
        SizingCase(mass, cycles, motion_loads(loaded, cycle(loaded, cycles), share=share))
        for mass in masses
        for loaded in (carrying(robot, mass),)
        for cycles in rates
    )
    return SizingTable(robot, what, masses, rates, cases, share)


def _numbers(name: str, values: Iterable[float], least: float | None, allowed: str) -> Any:
    try:
        found = tuple(values)
    except TypeError:
        raise InputError(name, values, "several numbers") from None
    if not found:
        raise InputError(name, found, "at least one number")
    for k, value in enumerate(found):
        if not is_real(value) or (value <= 0 if least is None else value < least):
            raise InputError(name, value, allowed, where=f"place {k}")
    return tuple(float(value) for value in found)


def _cells(item: SizingCase) -> tuple[str, ...]:
    drives, binding, preload = item.loads.drives, item.binding, item.loads.struts.preload
    arms = [
        float(getattr(drives, name)[: item.loads.robot.legs].max())
        for name in ("torque_peak", "torque_rms", "speed_peak", "power_peak")
    ]
    used = "-"
    verdict = "no limit known"
    if binding is not None and binding.use is not None:
        axis = f" of axis {binding.axis}" if binding.axis else ""
        used = f"{100 * binding.use:.0f} %" if math.isfinite(binding.use) else "beyond"
        verdict = f"{'ok' if item.feasible else 'no'}: {binding.name}{axis} binds"
    return (
        f"{item.payload:g}",
        f"{item.cycles:g}",
        *(f"{value:.4g}" for value in arms),
        f"{drives.energy_returned.sum():.4g}",
        "-" if preload is None else f"{preload:.4g}",
        used,
        verdict,
    )


# Cycles per minute of the Adept cycle: its own law of motion, the fastest pace, the maker's.


@dataclass(frozen=True, eq=False)
class CycleRate:
    """Cycles per minute with one payload (kg): quintics stretched evenly, and the fastest pace."""

    payload: float
    even: float
    even_binding: Limit | None
    fastest: float
    motion: FastMotion

    @property
    def binding(self) -> Limit | None:
        """The limit that sets the fastest pace."""
        return self.motion.binding


@dataclass(frozen=True, eq=False)
class CycleRates:
    """Cycles per minute by payload, beside the maker's figure (None where there is none)."""

    robot: str
    rated: float | None
    share: float
    rows: tuple[CycleRate, ...]

    @property
    def text(self) -> str:
        """One line per payload."""
        rated = "not known" if self.rated is None else f"{self.rated:g}"
        lines = [
            f"{self.robot}, Adept cycle, cycles per minute (rated by its maker: {rated})",
            f"{'payload kg':>10}  {'quintics':>8}  {'fastest':>8}  what binds the fastest",
        ]
        for row in self.rows:
            what = "" if row.binding is None else row.binding.name
            if row.binding is not None and row.binding.axis:
                what += f" of axis {row.binding.axis}"
            lines.append(f"{row.payload:>10g}  {row.even:>8.1f}  {row.fastest:>8.1f}  {what}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """Every line, for JSON."""
        rows = [
            {
                "payload_kg": row.payload,
                "quintics_per_minute": row.even,
                "fastest_per_minute": row.fastest,
                "quintics_binding": None if row.even_binding is None else row.even_binding.name,
                "fastest_binding": None if row.binding is None else row.binding.name,
            }
            for row in self.rows
        ]
        return {
            "robot": self.robot,
            "rated_per_minute": self.rated,
            "share": self.share,
            "rows": rows,
        }


def cycle_rates(
    robot: Robot, payloads: Iterable[float] | None = None, *, share: float = 1.0
) -> CycleRates:
    """How often a minute the robot can run the Adept cycle, by payload (kg).

    "Quintics" is `adept_cycle`, stretched evenly to the shortest time; "fastest" passes the same
    path at the pace of `fastest`. By default without payload and with the largest one that the
    robot allows.
    """
    check_share(share)
    if payloads is None:
        carrying(robot, None)
        most = robot.limits.payload
        payloads = (0.0,) if most is None else (0.0, most)
    rows = []
    for mass in payloads:
        loaded = carrying(robot, mass)
        even = adept_cycle(loaded, share=share)
        quick = fastest(loaded, even, share=share)
        rows.append(
            CycleRate(
                float(mass), 60.0 / even.duration, even.binding, quick.cycles_per_minute, quick
            )
        )
    return CycleRates(robot.name, robot.limits.cycles, share, tuple(rows))
