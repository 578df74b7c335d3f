"""The virtual test bench: plants, drives, sensors and controllers, closed at the drive's rate."""

from deltadyn.simulation.batch import traced_rollout
from deltadyn.simulation.controllers.adaptive import (
    AdaptiveFeedforward,
    PayloadEstimate,
    PickError,
    pick_errors,
)
from deltadyn.simulation.controllers.contact import ContactStop, ForceEstimate, HandGuiding
from deltadyn.simulation.controllers.feedforward import (
    PD,
    Controller,
    Law,
    PDFeedforward,
    TorqueLaw,
)
from deltadyn.simulation.controllers.gains import LoopCheck, check_gains
from deltadyn.simulation.controllers.state import AugmentedPD, ComputedTorque, PDGravity
from deltadyn.simulation.drive.reference import Task
from deltadyn.simulation.plant.compiled import robot_numbers
from deltadyn.simulation.plant.reactions import MujocoReactions, mujoco_reactions
from deltadyn.simulation.presets import PRESETS, Preset
from deltadyn.simulation.rollout import BatchRun, Rollout, rollout, simulate_batch
from deltadyn.simulation.run import EnergyBooks, Run, Truth
from deltadyn.simulation.simulate import PLANTS, simulate
from deltadyn.simulation.touch import Touch, Wall

__all__ = [
    "PD",
    "PLANTS",
    "PRESETS",
    "AdaptiveFeedforward",
    "AugmentedPD",
    "BatchRun",
    "ComputedTorque",
    "ContactStop",
    "Controller",
    "EnergyBooks",
    "ForceEstimate",
    "HandGuiding",
    "Law",
    "LoopCheck",
    "MujocoReactions",
    "PDFeedforward",
    "PDGravity",
    "PayloadEstimate",
    "PickError",
    "Preset",
    "Rollout",
    "Run",
    "Task",
    "TorqueLaw",
    "Touch",
    "Truth",
    "Wall",
    "check_gains",
    "mujoco_reactions",
    "pick_errors",
    "robot_numbers",
    "rollout",
    "simulate",
    "simulate_batch",
    "traced_rollout",
]
