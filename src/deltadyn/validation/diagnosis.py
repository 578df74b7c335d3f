"""What a residual looks like, and its likely cause in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.robot import Robot
from deltadyn.validation.candidates import candidates
from deltadyn.validation.evidence import Piece
from deltadyn.validation.explain import LEAST, Explanation, Value, explain
from deltadyn.validation.metrics import plain
from deltadyn.validation.predictor import Predictor
from deltadyn.validation.resonance import Peak, Spectrum, find_peaks, residual_spectrum
from deltadyn.validation.ripple import Ripple, find_ripple
from deltadyn.validation.sentences import (
    cause_sentence,
    elasticity_sentence,
    ripple_sentence,
    whiteness_sentence,
)
from deltadyn.validation.whiteness import Whiteness, whiteness

FEWEST = 20  # samples that are nearly independent, from which causes are told apart
CLEAR = (
    0.25  # share of the residual's power on some axis: below it a cause is a part, not the cause
)
NEGLIGIBLE = 0.005  # of the measured torque's standard deviation: no cause is looked for below it

#: What a residual can be put down to.
CAUSES = (
    "friction",
    "delay",
    "elasticity",
    "ripple",
    "payload",
    "homing",
    "offset",
    "inertia",
    "drive gain",
)


@dataclass(frozen=True, eq=False)
class Cause:
    """A likely cause: `share` of the residual's power, over all axes and per axis, and a sentence.

    The shares of "elasticity" and "ripple" are of the residual as recorded, those of the others of
    the residual in the compared band. `values` are what the residual says of the parameters.
    """

    name: str
    share: float
    axis_share: FloatArray
    values: tuple[Value, ...]
    sentence: str

    def value(self, name: str) -> FloatArray:
        """Values of a parameter, one per axis, or one (1,) where it is common to all."""
        return np.array([item.value for item in self.values if item.parameter.name == name])

    def std(self, name: str) -> FloatArray:
        """Standard deviations of the same."""
        return np.array([item.std for item in self.values if item.parameter.name == name])

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "cause": self.name,
            "share": plain(self.share),
            "axis_share": plain(self.axis_share),
            "values": [
                {
                    "name": item.parameter.name,
                    "axis": item.parameter.axis,
                    "unit": item.parameter.unit,
                    "value": plain(item.value),
                    "std": plain(item.std),
                }
                for item in self.values
            ],
            "sentence": self.sentence,
        }


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Whiteness, spectrum and likely causes of a residual.

    First those in the compared band, then those that show at the recorded rate, each the strongest
    first. `status` is a sentence on the residual, which also says where no cause stands out.
    """

    whiteness: Whiteness
    spectrum: Spectrum
    peaks: tuple[Peak, ...]
    ripple: tuple[Ripple, ...]
    causes: tuple[Cause, ...]
    status: str

    @property
    def cause(self) -> str | None:
        """The first cause that explains a quarter of the residual of some axis, or None."""
        return next((item.name for item in self.causes if _is_clear(item)), None)

    def of(self, name: str) -> Cause | None:
        """The cause of that name, where it was found."""
        return next((item for item in self.causes if item.name == name), None)

    @property
    def text(self) -> str:
        """The status and a line per cause."""
        return "\n".join([self.status, *(f"  {item.sentence}" for item in self.causes)])

    def as_dict(self) -> dict[str, Any]:
        """All but the curves, for JSON."""
        return {
            "status": self.status,
            "whiteness": self.whiteness.as_dict(),
            "causes": [item.as_dict() for item in self.causes],
            "peaks": [
                {
                    "axis": peak.axis,
                    "frequency_Hz": peak.frequency,
                    "width_Hz": peak.width,
                    "rms_Nm": peak.rms,
                    "share": peak.share,
                }
                for peak in self.peaks
            ],
            "ripple": [
                {
                    "axis": item.axis,
                    "waves_per_turn": item.waves,
                    "amplitude_Nm": item.amplitude,
                    "share": item.share,
                }
                for item in self.ripple
            ],
        }


def diagnose(model: Predictor, pieces: Sequence[Piece]) -> Diagnosis:
    """What the residual of a model along these stretches consists of."""
    robot = model.robot
    residuals = [piece.thinned_residual() for piece in pieces]
    residual = np.concatenate(residuals)
    measured = np.concatenate([piece.measured for piece in pieces])
    first = pieces[0].prepared
    found = whiteness(residuals, first.limited_rate, first.band)
    size = measured.std(axis=0)
    rms = np.sqrt(np.mean(residual**2, axis=0))
    noticeable = np.maximum(NEGLIGIBLE * size, 1e-9 * size.max())
    counted = rms > noticeable
    explained: tuple[Explanation, ...] = ()
    if counted.any() and len(residual) >= FEWEST:
        explained = explain(candidates(model, pieces), residual, found.effective, noticeable)
    causes = _sorted([_cause(robot, item, rms) for item in explained])
    spectrum = residual_spectrum(pieces)
    peaks, ripple = find_peaks(spectrum), find_ripple(pieces, spectrum.motion)
    recorded = _sorted(_recorded(robot, spectrum, peaks, ripple, size))
    status = _status(robot, found, causes, counted, rms, size, len(residual))
    if recorded:
        told = ", then ".join(item.name for item in recorded)
        status += f" The residual as recorded, not band-limited, shows {told}."
    return Diagnosis(found, spectrum, peaks, ripple, (*causes, *recorded), status)


def _sorted(causes: Sequence[Cause]) -> list[Cause]:
    return sorted(causes, key=lambda item: -float(item.axis_share.max()))


def _cause(robot: Robot, found: Explanation, rms: FloatArray) -> Cause:
    share = float(found.share @ rms**2 / (rms @ rms))
    sentence = cause_sentence(robot, found.cause, share, found.share, found.values)
    return Cause(found.cause, share, found.share, found.values, sentence)


def _is_clear(cause: Cause) -> bool:
    return bool(cause.axis_share.max() >= CLEAR)


def _recorded(
    robot: Robot,
    spectrum: Spectrum,
    peaks: Sequence[Peak],
    ripple: Sequence[Ripple],
    size: FloatArray,
) -> list[Cause]:
    """Causes that show at the recorded rate: enough of the residual, and of the torque.

    Ripple at a steady speed makes a narrow peak too, so that a peak counts as elasticity only where
    it is stronger than the ripple.
    """
    waves = [item for item in ripple if item.share >= LEAST]
    waves = [item for item in waves if item.amplitude > NEGLIGIBLE * size[item.axis]]
    stronger = {item.axis: item.share for item in waves}
    swings = [peak for peak in peaks if peak.share >= max(LEAST, stronger.get(peak.axis, 0.0))]
    swings = [peak for peak in swings if peak.rms > NEGLIGIBLE * size[peak.axis]]
    power = spectrum.density.sum(axis=0)
    out = []
    for name, found, sentence in (
        ("elasticity", swings, elasticity_sentence(robot, swings)),
        ("ripple", waves, ripple_sentence(robot, waves)),
    ):
        share = np.zeros(robot.dof)
        for item in found:
            share[item.axis] = min(item.share, 1.0)
        if found:
            out.append(Cause(name, float(share @ power / power.sum()), share, (), sentence))
    return out


def _status(
    robot: Robot,
    found: Whiteness,
    causes: Sequence[Cause],
    counted: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    rms: FloatArray,
    size: FloatArray,
    count: int,
) -> str:
    parts = [whiteness_sentence(robot, found)]
    if causes:
        told = ", then ".join(item.name for item in causes)
        clear = _is_clear(causes[0])
        parts.append(f"Likely cause: {told}." if clear else f"No clear cause; a part is {told}.")
    elif not counted.any():
        most = 100 * float(np.max(rms / np.where(size > 0, size, np.inf)))
        parts.append(
            f"It is below {100 * NEGLIGIBLE:g} % of the torque's standard deviation "
            f"(largest {most:.2g} %): no cause is looked for."
        )
    elif count < FEWEST:
        parts.append(f"{count} samples in the band are too few to tell causes apart.")
    elif found.white[counted].all():
        parts.append("It looks like sensor noise: no cause stands out.")
    else:
        parts.append(
            f"No clear cause: nothing that was tried explains {100 * LEAST:g} % of it "
            "beyond chance."
        )
    return " ".join(parts)
