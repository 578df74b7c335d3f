"""Motions over time: generators, scaling to the limits of a robot, and the check of limits."""

from deltadyn.motion.fourier import FourierSeries, fourier_motion
from deltadyn.motion.limits import Limit, LimitError, LimitReport, check_motion
from deltadyn.motion.motion import Motion, read_motion
from deltadyn.motion.paths import spline_move
from deltadyn.motion.pick_place import gate_move, pick_and_place, spindle_turn, with_turn
from deltadyn.motion.planned import PlannedMotion, stretch
from deltadyn.motion.profiles import PROFILES, Profile, profile_by_name
from deltadyn.motion.scenarios import adept_cycle, telescopic_gate, y1, y2, y3

__all__ = [
    "PROFILES",
    "FourierSeries",
    "Limit",
    "LimitError",
    "LimitReport",
    "Motion",
    "PlannedMotion",
    "Profile",
    "adept_cycle",
    "check_motion",
    "fourier_motion",
    "gate_move",
    "pick_and_place",
    "profile_by_name",
    "read_motion",
    "spindle_turn",
    "spline_move",
    "stretch",
    "telescopic_gate",
    "with_turn",
    "y1",
    "y2",
    "y3",
]
