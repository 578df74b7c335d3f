"""Fleets: robots of one type side by side, their common model, and which of them stand out."""

from deltadyn.fleet.fleet import Fleet, LogFile, Outlier, Spread, fleet

__all__ = ["Fleet", "LogFile", "Outlier", "Spread", "fleet"]
