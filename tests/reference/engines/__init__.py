"""Reference engines: the Delta robot as a rigid-body tree in MuJoCo and in Pinocchio, closed here.

Nothing here comes from the library under test.
"""

from .closure import (
    Closed,
    Energy,
    Engine,
    Frame,
    PlatformMotion,
    Terms,
    close,
    energy,
    forward_dynamics,
    inverse_dynamics,
    platform,
    starting_points,
    terms,
)
from .mujoco_delta import MujocoEngine, mjcf, mujoco_engine
from .pinocchio_delta import PinocchioEngine, pinocchio_engine
from .spec import (
    EngineBody,
    EngineRobot,
    EngineSpindle,
    States,
    arm_angles,
    random_robot,
    random_states,
)

__all__ = [
    "Closed",
    "Energy",
    "Engine",
    "EngineBody",
    "EngineRobot",
    "EngineSpindle",
    "Frame",
    "MujocoEngine",
    "PinocchioEngine",
    "PlatformMotion",
    "States",
    "Terms",
    "arm_angles",
    "close",
    "energy",
    "forward_dynamics",
    "inverse_dynamics",
    "mjcf",
    "mujoco_engine",
    "pinocchio_engine",
    "platform",
    "random_robot",
    "random_states",
    "starting_points",
    "terms",
]
