"""The convention of a log, found from its own angles and torques.

Signs, offsets, units and sides, and the order of the torques: `find_conventions` says how a log
counts, with the block for the robot file and the column map to paste.
"""

from deltadyn.recording.conventions.find import find_conventions
from deltadyn.recording.conventions.result import Conventions

__all__ = ["Conventions", "find_conventions"]
