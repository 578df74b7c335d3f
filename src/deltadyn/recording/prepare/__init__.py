"""Recordings made ready for a model: stretches, band, low-pass filter, streams."""
