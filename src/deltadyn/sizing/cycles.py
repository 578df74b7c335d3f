"""Cycles per minute of the Adept cycle: its own law of motion, the fastest pace, the maker's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from deltadyn.motion.arguments import check_share
from deltadyn.motion.limits import Limit
from deltadyn.motion.scenarios import adept_cycle
from deltadyn.robot import Robot
from deltadyn.sizing.fastest import FastMotion, fastest
from deltadyn.sizing.payloads import carrying


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
