"""Loads and sizing: what a motion asks of the machine, and the fastest pace along a path."""

from deltadyn.sizing.fastest import FastMotion, fastest
from deltadyn.sizing.loads import (
    BearingLoads,
    DriveLoads,
    MotionLoads,
    MotorLoads,
    StrutLoads,
    drive_loads,
    motion_loads,
)
from deltadyn.sizing.pace import Pace, TimeLaw
from deltadyn.sizing.table import (
    CycleRate,
    CycleRates,
    SizingCase,
    SizingTable,
    cycle_rates,
    sizing_table,
)

__all__ = [
    "BearingLoads",
    "CycleRate",
    "CycleRates",
    "DriveLoads",
    "FastMotion",
    "MotionLoads",
    "MotorLoads",
    "Pace",
    "SizingCase",
    "SizingTable",
    "StrutLoads",
    "TimeLaw",
    "cycle_rates",
    "drive_loads",
    "fastest",
    "motion_loads",
    "sizing_table",
]
