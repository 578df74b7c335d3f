"""The virtual test bench: plants, drives, sensors and controllers, closed at the drive's rate."""

from deltadyn.simulation.books import EnergyBooks
from deltadyn.simulation.controllers import PD, Controller, Law, PDFeedforward
from deltadyn.simulation.presets import PRESETS, Preset
from deltadyn.simulation.reference import Task
from deltadyn.simulation.run import Run
from deltadyn.simulation.simulate import PLANTS, simulate
from deltadyn.simulation.truth import Truth

__all__ = [
    "PD",
    "PLANTS",
    "PRESETS",
    "Controller",
    "EnergyBooks",
    "Law",
    "PDFeedforward",
    "Preset",
    "Run",
    "Task",
    "Truth",
    "simulate",
]
