"""What was found about each robot over the years: entries, where they are kept, and drift."""

from deltadyn.history.drift import Change, Drift, DriftOptions, Move, OddNight, Track, drift
from deltadyn.history.entry import Entry

__all__ = ["Change", "Drift", "DriftOptions", "Entry", "Move", "OddNight", "Track", "drift"]
