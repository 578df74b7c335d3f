"""Straight-line code as data: traced from ordinary code, transformed, written in C, ST and Python.

Knows nothing of robots. `tape` records what code does to numbers, `simplify` works out what is
known, `tangents` differentiates, `passes` orders for speed, and a writer per language prints.
"""
