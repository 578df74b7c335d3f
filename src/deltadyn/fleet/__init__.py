"""Many robots, many days: robots side by side, and logs that become factors, fits and histories."""

from deltadyn.fleet.compare import FEWEST, Damaged, Fleet, LogFile, Outlier, fleet
from deltadyn.fleet.identify import FleetFits, IdentifyOptions, PeriodFit, identify_fleet
from deltadyn.fleet.run import LeftOut, RunOptions
from deltadyn.fleet.sources import FleetLog, StoredLog, find_logs
from deltadyn.fleet.spread import Spread

__all__ = [
    "FEWEST",
    "Damaged",
    "Fleet",
    "FleetFits",
    "FleetLog",
    "IdentifyOptions",
    "LeftOut",
    "LogFile",
    "Outlier",
    "PeriodFit",
    "RunOptions",
    "Spread",
    "StoredLog",
    "find_logs",
    "fleet",
    "identify_fleet",
]
