"""The virtual test bench: plants, drives, sensors and controllers, closed at the drive's rate."""

from deltadyn.simulation.batch import BatchRun, simulate_batch, traced_rollout
from deltadyn.simulation.books import EnergyBooks
from deltadyn.simulation.compiled import robot_numbers
from deltadyn.simulation.control_adaptive import AdaptiveFeedforward, PayloadEstimate
from deltadyn.simulation.control_picks import PickError, pick_errors
from deltadyn.simulation.control_state import AugmentedPD, ComputedTorque, PDGravity
from deltadyn.simulation.controllers import PD, Controller, Law, PDFeedforward, TorqueLaw
from deltadyn.simulation.presets import PRESETS, Preset
from deltadyn.simulation.reference import Task
from deltadyn.simulation.rollout import Rollout, rollout
from deltadyn.simulation.run import Run
from deltadyn.simulation.simulate import PLANTS, simulate
from deltadyn.simulation.truth import Truth

__all__ = [
    "PD",
    "PLANTS",
    "PRESETS",
    "AdaptiveFeedforward",
    "AugmentedPD",
    "BatchRun",
    "ComputedTorque",
    "Controller",
    "EnergyBooks",
    "Law",
    "PDFeedforward",
    "PDGravity",
    "PayloadEstimate",
    "PickError",
    "Preset",
    "Rollout",
    "Run",
    "Task",
    "TorqueLaw",
    "Truth",
    "pick_errors",
    "robot_numbers",
    "rollout",
    "simulate",
    "simulate_batch",
    "traced_rollout",
]
