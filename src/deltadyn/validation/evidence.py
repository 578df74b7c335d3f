"""A model beside a recording: measured and predicted torque in the same band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.identification.band import choose_band
from deltadyn.identification.data import Prepared, Rates, checked_band, prepared_parts
from deltadyn.identification.lowpass import LowPass
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot
from deltadyn.validation.predictor import Predictor
from deltadyn.validation.segments import Course, Mask, segment_masks

Band = float | Literal["auto"] | None
FEWEST = 32  # samples that must be left in the band
FINE = 4  # times as many samples for figures and extremes as a fit of the same band needs


@dataclass(frozen=True, eq=False)
class Piece:
    """A stretch of a recording without a gap, beside a model.

    `raw` (N, dof) is the predicted torque at the recorded samples. `measured` and `predicted`
    (M, dof) are both torques at the times t (M,) of the compared band, in N m, close enough to show
    every peak. `prepared.limited` thins out further, to samples that are nearly independent.
    """

    prepared: Prepared
    fine: Prepared
    payload: float | None
    raw: FloatArray
    t: FloatArray
    measured: FloatArray
    predicted: FloatArray

    def thinned_residual(self) -> FloatArray:
        """Measured minus predicted torque at the samples that `prepared.limited` keeps."""
        return self.prepared.limited(self.prepared.tau - self.raw)

    def raw_residual(self) -> FloatArray:
        """Measured minus predicted torque at the recorded rate, on an even grid."""
        e = self.prepared.tau - self.raw
        return e if self.prepared.grid is None else self.prepared.grid(e)

    def masks(self, robot: Robot) -> tuple[Mask, ...]:
        """The segments of the compared samples."""
        state, limited = self.prepared.state, self.fine.limited
        names = ("q", "qd", "qdd", "p", "pd", "pdd")
        values = {name: limited(getattr(state, name)) for name in names}
        return segment_masks(robot, Course(t=self.t, tau=self.measured, **values))


def prepared_recordings(
    robot: Robot, recordings: Sequence[Recording], band: Band, rates: Rates
) -> list[tuple[Prepared, ...]]:
    """The stretches without gaps of every recording, all in one band."""
    if isinstance(band, str) and band != "auto":
        raise InputError("band", band, "'auto', a frequency above 0 Hz, or None")
    parts = [
        tuple(prepared_parts(robot, recording, rates=rates, size=None)) for recording in recordings
    ]
    for recording, own in zip(recordings, parts, strict=True):
        if not own:
            allowed = "at least 8 samples in a row without a gap"
            raise InputError("longest stretch", "shorter", allowed, where=repr(recording.name))
    if isinstance(band, str):
        chosen = choose_band(robot, [part for own in parts for part in own])
    else:
        chosen = checked_band(band)
    limited = [_in_band(own, chosen) for own in parts]
    for recording, own in zip(recordings, limited, strict=True):
        left = sum(len(finer(part).times) for part in own)
        if left < FEWEST:
            allowed = f"at least {FEWEST}; take a wider band, or None"
            raise InputError("samples left in the band", left, allowed, where=repr(recording.name))
    return limited


def _in_band(parts: tuple[Prepared, ...], band: float | None) -> tuple[Prepared, ...]:
    """The stretches that outlast the filter; the longest one must."""
    longest = max(parts, key=len).with_band(band)
    kept = [part for part in parts if longest.filter is None or _outlasts(part, longest.filter)]
    return tuple(part.with_band(band) for part in kept)


def _outlasts(part: Prepared, chosen: LowPass) -> bool:
    even = len(part) if part.grid is None else len(part.grid.t)
    return chosen.length(even) >= 2


def rate_noise(part: Prepared) -> float:
    """Standard deviation of the noisiest rate in rad/s; 0 where rates were not estimated."""
    return 0.0 if part.rate_noise is None else float(np.nanmax(part.rate_noise))


def finer(part: Prepared) -> Prepared:
    """The same stretch in the same band with more samples."""
    if part.filter is None:
        return part
    step = part.filter.step
    fine = max(d for d in range(1, step + 1) if step % d == 0 and (d == 1 or d * FINE <= step))
    return replace(part, filter=replace(part.filter, step=fine))


def pieces_of(
    model: Predictor, recording: Recording, parts: Sequence[Prepared]
) -> tuple[Piece, ...]:
    """The model's torque along every stretch, in the band of the stretch."""
    return tuple(_piece(model, recording.payload, part) for part in parts)


def _piece(model: Predictor, payload: float | None, part: Prepared) -> Piece:
    raw = np.asarray(model.torque(part.state, payload, rate_noise(part)), dtype=np.float64)
    if raw.shape != part.tau.shape:
        raise InputError("shape of the model's torque", raw.shape, f"{part.tau.shape}")
    bad = np.flatnonzero(~np.isfinite(raw).all(axis=1))
    if bad.size:
        place = f"{part.name!r}, t = {part.t[bad[0]]:.6g} s"
        allowed = "a finite torque at every sample"
        raise InputError("torque of the model", raw[bad[0]], allowed, where=place)
    fine = finer(part)
    return Piece(part, fine, payload, raw, fine.times, fine.limited(part.tau), fine.limited(raw))
