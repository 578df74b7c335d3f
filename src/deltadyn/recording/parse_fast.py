"""Lines of plain numbers to an array at more than a million rows a second.

The numbers are read by scipy's Matrix Market reader, which is compiled, exact and uses all cores;
but it stops at the first character that does not belong to a number. So every character is looked
at before: what is not certainly a rectangle of plain numbers is left to the careful parser.
"""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray

_DIGIT, _POINT, _SIGN, _EXPONENT, _NEXT, _END, _OTHER, _POWER_SIGN = range(8)


def parse_plain(text: bytes, separator: bytes, count: int, used: list[int]) -> FloatArray | None:
    """The used columns (len(used), n) of lines with `count` cells each; None where in doubt.

    `text` ends with a line feed; the decimal mark is a point.
    """
    if not text:
        return np.empty((len(used), 0))
    text = _without_blanks(text, separator)
    if len(used) < count:
        chosen = _chosen_cells(text, separator, count, used)
        if chosen is None:
            return None
        text = chosen
    rows = _plain_rows(text, separator, len(used))
    if rows is None:
        return None
    from scipy.io import mmread  # takes longer than the rest of the import

    head = b"%%%%MatrixMarket matrix array real general\n%d %d\n" % (len(used), rows)
    try:
        block = mmread(io.BytesIO(head + text.replace(separator, b"\n")))
    except ValueError:  # a lone point, for instance
        return None
    return np.asarray(block, dtype=np.float64)


def _without_blanks(text: bytes, separator: bytes) -> bytes:
    """Blanks beside separators and at the ends of lines taken out; one within a cell stays."""
    if separator == b" " or b" " not in text:
        return text
    for mark in (separator, b"\n"):
        while b" " + mark in text:
            text = text.replace(b" " + mark, mark)
        while mark + b" " in text:
            text = text.replace(mark + b" ", mark)
    return text.lstrip(b" ")


def _plain_rows(text: bytes, separator: bytes, count: int) -> int | None:
    """The number of lines, if every line has `count` cells and every cell is a plain number."""
    kinds = np.frombuffer((b"\n" + text).translate(_kinds(separator)), np.uint8)
    at = np.flatnonzero(kinds != 0)  # everything but digits; on truth values it is fast
    kind = kinds[at]
    power = (kind[1:] == _SIGN) & (kind[:-1] == _EXPONENT)
    if power.any():
        kind[1:][power] = _POWER_SIGN
    pair = kind[:-1] * np.uint8(8)
    pair += kind[1:]
    pair += (np.diff(at) == 1).view(np.uint8) * np.uint8(64)
    if _forbidden()[pair].any():
        return None
    marks = kind[1:][(kind[1:] == _NEXT) | (kind[1:] == _END)]
    return len(marks) // count if _rectangle(marks, count) else None


def _rectangle(marks: npt.NDArray[np.uint8], count: int) -> bool:
    """Whether separators and line ends come as lines of `count` cells."""
    if marks.size % count:
        return False
    lines = marks.reshape(-1, count)
    return bool((lines[:, -1] == _END).all() and (lines[:, :-1] == _NEXT).all())


def _chosen_cells(text: bytes, separator: bytes, count: int, used: list[int]) -> bytes | None:
    """The same lines with the used cells alone; None where the lines are no rectangle."""
    raw = np.frombuffer(text, np.uint8)
    marks = np.flatnonzero((raw == separator[0]) | (raw == 10))
    is_end = raw[marks] == 10
    if not _rectangle(np.where(is_end, np.uint8(_END), np.uint8(_NEXT)), count) or b'"' in text:
        return None
    ends = marks.reshape(-1, count)
    starts = np.empty_like(ends)
    starts.flat[0] = 0
    starts.flat[1:] = ends.flat[:-1] + 1
    step = np.zeros(raw.size + 1, np.int8)
    step[starts[:, used].ravel()] += 1
    step[ends[:, used].ravel() + 1] -= 1  # the mark after a cell goes with it
    raw = raw.copy()
    raw[ends[:, used[:-1]]] = separator[0]
    raw[ends[:, used[-1]]] = 10
    return bytes(raw[np.cumsum(step[:-1], dtype=np.int8) == 1])


@cache
def _kinds(separator: bytes) -> bytes:
    """The kind of every byte; 0 is a digit, so that digits drop out."""
    table = bytearray([_OTHER]) * 256
    for letters, kind in (
        (b"0123456789", _DIGIT),
        (b".", _POINT),
        (b"+-", _SIGN),
        (b"eE", _EXPONENT),
        (b"\n", _END),
        (separator, _NEXT),
    ):
        for letter in letters:
            table[letter] = kind
    return bytes(table)


@cache
def _forbidden() -> BoolArray:
    """Which marks may not follow each other, apart (0..63) and side by side (64..127).

    Digits stand between two marks that are apart. Allowed is:
    [sign] digits [. digits] [e [sign] digits].
    """
    allowed = np.zeros((2, 8, 8), dtype=bool)
    apart, beside, both = 0, 1, slice(None)
    stops = [_NEXT, _END]
    for stop in stops:
        allowed[beside, stop, _SIGN] = True
    for before in (*stops, _SIGN):
        allowed[both, before, _POINT] = True
        allowed[apart, before, _EXPONENT] = True
        allowed[apart, before, stops] = True
    allowed[both, _POINT, _EXPONENT] = True
    allowed[both, _POINT, stops] = True
    allowed[beside, _EXPONENT, _POWER_SIGN] = True
    allowed[apart, _EXPONENT, stops] = True
    allowed[apart, _POWER_SIGN, stops] = True
    return ~allowed.ravel()
