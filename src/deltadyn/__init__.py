"""deltadyn: dynamic models of Delta robots, from a robot description to a model to deploy."""

from deltadyn import kinematics
from deltadyn.errors import DeltadynError
from deltadyn.kinematics import State, forward_kinematics, inverse_kinematics, jacobian
from deltadyn.robot import Robot
from deltadyn.robot_file import load_robot, robot_names

__version__ = "0.1.0"

__all__ = [
    "DeltadynError",
    "Robot",
    "State",
    "forward_kinematics",
    "inverse_kinematics",
    "jacobian",
    "kinematics",
    "load_robot",
    "robot_names",
]
