"""Rates and accelerations of measured positions: a file per method."""
