"""What can be seen before anything is fitted: of a robot file, and of logs beside it."""

from deltadyn.inspection.check import Check, check
from deltadyn.inspection.robot import Number, RobotCheck

__all__ = ["Check", "Number", "RobotCheck", "check"]
