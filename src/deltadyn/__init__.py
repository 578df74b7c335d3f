"""deltadyn: dynamic models of Delta robots, from a robot description to a model to deploy."""

from typing import TYPE_CHECKING, Any

from deltadyn import dynamics, kinematics, motion, recording, simulation
from deltadyn.dynamics import (
    equations_of_motion,
    forward_dynamics,
    inverse_dynamics,
    regressor,
)
from deltadyn.errors import DeltadynError
from deltadyn.excitation import design_excitation
from deltadyn.kinematics import State, forward_kinematics, inverse_kinematics, jacobian
from deltadyn.motion import Motion
from deltadyn.recording import Recording, read_recording, write_recording
from deltadyn.robot import Robot
from deltadyn.robot_file import load_robot, robot_names
from deltadyn.simulation import (
    PD,
    AdaptiveFeedforward,
    AugmentedPD,
    ComputedTorque,
    PDFeedforward,
    PDGravity,
    simulate,
)

if TYPE_CHECKING:
    from deltadyn import identification, payload, sizing, validation
    from deltadyn.identification import identify
    from deltadyn.payload import PayloadEstimator
    from deltadyn.sizing import fastest, motion_loads
    from deltadyn.validation import predicted_tracking, validate

__version__ = "0.1.0"

__all__ = [
    "PD",
    "AdaptiveFeedforward",
    "AugmentedPD",
    "ComputedTorque",
    "DeltadynError",
    "Motion",
    "PDFeedforward",
    "PDGravity",
    "PayloadEstimator",
    "Recording",
    "Robot",
    "State",
    "design_excitation",
    "dynamics",
    "equations_of_motion",
    "fastest",
    "forward_dynamics",
    "forward_kinematics",
    "identification",
    "identify",
    "inverse_dynamics",
    "inverse_kinematics",
    "jacobian",
    "kinematics",
    "load_robot",
    "motion",
    "motion_loads",
    "payload",
    "predicted_tracking",
    "read_recording",
    "recording",
    "regressor",
    "robot_names",
    "simulate",
    "simulation",
    "sizing",
    "validate",
    "validation",
    "write_recording",
]


def __getattr__(name: str) -> Any:
    """Identification and what comes behind it are loaded when they are first used."""
    from importlib import import_module

    homes = {
        "identify": "identification",
        "validate": "validation",
        "predicted_tracking": "validation",
        "fastest": "sizing",
        "motion_loads": "sizing",
        "PayloadEstimator": "payload",
    }
    if name in homes:
        return getattr(import_module(f"deltadyn.{homes[name]}"), name)
    if name in homes.values():
        return import_module(f"deltadyn.{name}")
    raise AttributeError(f"module 'deltadyn' has no attribute {name!r}")
