"""Motions over time."""

from deltadyn.motion.motion import Motion
from deltadyn.motion.pick_place import gate_move

__all__ = ["Motion", "gate_move"]
