"""Logs of machines that somebody else built, written as their tools write them.

The torque comes from MuJoCo with its own model of the robot. Nothing here knows how a convention is
found.
"""

from .logs import Foreign, Truth, foreign_log

__all__ = ["Foreign", "Truth", "foreign_log"]
