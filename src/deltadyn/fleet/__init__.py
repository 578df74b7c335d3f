"""Many robots, many days: robots side by side, and logs that become factors, fits and histories."""

from deltadyn.fleet.compare import FEWEST, Damaged, Fleet, LogFile, Outlier, fleet
from deltadyn.fleet.drift import FleetDrift, drift_fleet, fleet_entries
from deltadyn.fleet.identify import FleetFits, IdentifyOptions, PeriodFit, identify_fleet
from deltadyn.fleet.payload import FleetPicks, PayloadOptions, PeriodPicks, payload_fleet
from deltadyn.fleet.run import LeftOut, RunOptions
from deltadyn.fleet.sources import FleetLog, StoredLog, find_logs
from deltadyn.fleet.spread import Spread

__all__ = [
    "FEWEST",
    "Damaged",
    "Fleet",
    "FleetDrift",
    "FleetFits",
    "FleetLog",
    "FleetPicks",
    "IdentifyOptions",
    "LeftOut",
    "LogFile",
    "Outlier",
    "PayloadOptions",
    "PeriodFit",
    "PeriodPicks",
    "RunOptions",
    "Spread",
    "StoredLog",
    "drift_fleet",
    "find_logs",
    "fleet",
    "fleet_entries",
    "identify_fleet",
    "payload_fleet",
]
