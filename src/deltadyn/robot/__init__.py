"""The robot: bodies, drives, friction, limits, sensors; robot files and the catalogue."""

from deltadyn.robot.bodies import (
    Arm,
    Effector,
    Geometry,
    Payload,
    Platform,
    Spindle,
    Strut,
)
from deltadyn.robot.file import load_robot, robot_from_text, robot_names
from deltadyn.robot.robot import STANDARD_GRAVITY, Robot
from deltadyn.robot.settings import (
    Controller,
    Drives,
    Eccentricity,
    Friction,
    GrayBox,
    Limits,
    PassiveFriction,
    Ripple,
    Sensors,
    Source,
)
from deltadyn.robot.write import robot_text, save_robot

__all__ = [
    "STANDARD_GRAVITY",
    "Arm",
    "Controller",
    "Drives",
    "Eccentricity",
    "Effector",
    "Friction",
    "Geometry",
    "GrayBox",
    "Limits",
    "PassiveFriction",
    "Payload",
    "Platform",
    "Ripple",
    "Robot",
    "Sensors",
    "Source",
    "Spindle",
    "Strut",
    "load_robot",
    "robot_from_text",
    "robot_names",
    "robot_text",
    "save_robot",
]
