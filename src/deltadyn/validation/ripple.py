"""Waves of a residual over the angle of its axis: cogging, the mesh of teeth, a bent shaft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.validation.evidence import Piece
from deltadyn.validation.resonance import ABOVE

LONGEST = 10_000  # samples of a stretch that are looked at
WAVES = 3.0  # that must fit into the travel of the axis: slower ones are a shape, not a ripple
MOST = 1000  # waves per turn of the axis
CHANCE = 3.0  # times as strong as the strongest wave of white noise


@dataclass(frozen=True)
class Ripple:
    """The strongest wave over the angle of one axis.

    Waves per turn of the axis, amplitude in N m, share of the power of the residual as recorded.
    """

    axis: int
    waves: int
    amplitude: float
    share: float


def find_ripple(pieces: Sequence[Piece], motion: float) -> tuple[Ripple, ...]:
    """The wave of every axis that has one beyond chance, in the longest stretch.

    Only what is faster than four times the `motion` (Hz) counts: slower parts of a residual follow
    the motion, and any of them looks like a wave over some angle.
    """
    piece = max(pieces, key=lambda item: len(item.prepared))
    part = piece.prepared
    q = part.state.q if part.grid is None else part.grid(part.state.q)
    e = piece.raw_residual()
    first = max(0, len(e) - LONGEST) // 2
    rows = slice(first, first + LONGEST)
    q, e = q[rows], e[rows] - e[rows].mean(axis=0)
    slow = np.fft.rfftfreq(len(e), 1 / part.rate) < ABOVE * motion
    found = (_strongest(axis, q[:, axis], e[:, axis], slow) for axis in range(e.shape[1]))
    return tuple(item for item in found if item is not None)


def _strongest(axis: int, q: FloatArray, e: FloatArray, slow: BoolArray) -> Ripple | None:
    travel, whole = float(np.ptp(q)), float(e @ e)
    fewest = int(np.ceil(WAVES * 2 * np.pi / travel)) if travel > 0 else MOST
    if not whole > 0 or fewest >= MOST:
        return None
    fast = _without(e, slow)
    best = (0.0, 0)
    phase, turn = np.exp(1j * fewest * q), np.exp(1j * q)
    for waves in range(fewest, MOST + 1):
        best = max(best, (float(np.abs(fast @ phase)), waves))
        phase *= turn
    power = 2 * best[0] ** 2 / len(e)
    # of white noise the strongest of so many waves has ln(MOST) times the mean power of one
    if power < CHANCE * 2 * np.log(MOST) * float(fast @ fast) / len(e):
        return None
    waves = best[1]
    columns = np.stack([_without(wave(waves * q), slow) for wave in (np.cos, np.sin)], axis=1)
    amplitude = float(np.linalg.norm(np.linalg.lstsq(columns, fast, rcond=None)[0]))
    return Ripple(axis, waves, amplitude, amplitude**2 / 2 * len(e) / whole)


def _without(x: FloatArray, slow: BoolArray) -> FloatArray:
    """x (N,) without its slow frequencies."""
    spectrum = np.fft.rfft(x)
    spectrum[slow] = 0.0
    return np.fft.irfft(spectrum, len(x))
