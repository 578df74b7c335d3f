"""Many robots, many days: robots side by side, and logs that become factors, fits and histories."""

from deltadyn.fleet.compare import FEWEST, Damaged, Fleet, LogFile, Outlier, fleet
from deltadyn.fleet.spread import Spread

__all__ = ["FEWEST", "Damaged", "Fleet", "LogFile", "Outlier", "Spread", "fleet"]
