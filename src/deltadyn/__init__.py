"""deltadyn: dynamic models of Delta robots, from a robot description to a model to deploy."""

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
from deltadyn.simulation import PD, PDFeedforward, simulate

__version__ = "0.1.0"

__all__ = [
    "PD",
    "DeltadynError",
    "Motion",
    "PDFeedforward",
    "Recording",
    "Robot",
    "State",
    "design_excitation",
    "dynamics",
    "equations_of_motion",
    "forward_dynamics",
    "forward_kinematics",
    "inverse_dynamics",
    "inverse_kinematics",
    "jacobian",
    "kinematics",
    "load_robot",
    "motion",
    "read_recording",
    "recording",
    "regressor",
    "robot_names",
    "simulate",
    "simulation",
    "write_recording",
]
