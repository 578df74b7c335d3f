"""Readers: a file per format, each gives a table of columns."""
