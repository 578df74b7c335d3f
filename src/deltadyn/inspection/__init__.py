"""What can be seen before anything is fitted: of a robot file, and of logs beside it."""

from deltadyn.inspection.bundle import write_bundle
from deltadyn.inspection.check import Check, check
from deltadyn.inspection.log import AxisMotion, LogCheck
from deltadyn.inspection.robot import Number, RobotCheck

__all__ = ["AxisMotion", "Check", "LogCheck", "Number", "RobotCheck", "check", "write_bundle"]
