"""What was found about each robot over the years: entries, where they are kept, and drift."""

from deltadyn.history.drift import Change, Drift, DriftOptions, Move, OddNight, Track, drift
from deltadyn.history.entry import Entry
from deltadyn.history.journal import JournalRecord
from deltadyn.history.queries import Added, Forgotten, Member
from deltadyn.history.store import History
from deltadyn.history.tables import write_tables

__all__ = [
    "Added",
    "Change",
    "Drift",
    "DriftOptions",
    "Entry",
    "Forgotten",
    "History",
    "JournalRecord",
    "Member",
    "Move",
    "OddNight",
    "Track",
    "drift",
    "write_tables",
]
