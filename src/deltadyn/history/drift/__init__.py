"""Drift: changes in a robot's history with date, size and cause, at a stated false-alarm rate."""

from deltadyn.history.drift.method import drift
from deltadyn.history.drift.options import DriftOptions
from deltadyn.history.drift.result import Change, Drift, Move, OddNight, Track
from deltadyn.history.drift.series import by_robot

__all__ = ["Change", "Drift", "DriftOptions", "Move", "OddNight", "Track", "by_robot", "drift"]
