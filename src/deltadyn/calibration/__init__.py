"""Geometric calibration: from measured poses to a robot whose kinematics is the measured one."""

from deltadyn.calibration.calibrate import CalibrationOptions, calibrate
from deltadyn.calibration.field import ErrorField
from deltadyn.calibration.measurements import BallBar, Commanded, Distances, Heights, Positions
from deltadyn.calibration.parameters import Geometric, Tolerances
from deltadyn.calibration.plan import CalibrationPlan, PlanOptions, plan_calibration
from deltadyn.calibration.read import FileOptions, read_command_log, read_measurements
from deltadyn.calibration.result import Calibration
from deltadyn.calibration.visible import Visible, visible

__all__ = [
    "BallBar",
    "Calibration",
    "CalibrationOptions",
    "CalibrationPlan",
    "Commanded",
    "Distances",
    "ErrorField",
    "FileOptions",
    "Geometric",
    "Heights",
    "PlanOptions",
    "Positions",
    "Tolerances",
    "Visible",
    "calibrate",
    "plan_calibration",
    "read_command_log",
    "read_measurements",
    "visible",
]
