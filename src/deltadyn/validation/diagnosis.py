"""What a residual looks like, and what is wrong with the model, in words.

The causes come from the search for terms on the log (`causes`); whiteness, spectrum and peaks
describe the residual as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.robot import Robot
from deltadyn.validation.causes import (
    GROUPS,
    NEGLIGIBLE,
    SHORTEST,
    Found,
    Part,
    Rival,
    Value,
    look_for_causes,
)
from deltadyn.validation.evidence import Piece, Predictor, inside_band
from deltadyn.validation.metrics import (
    Metrics,
    Whiteness,
    metrics,
    plain,
    torque_level,
    whiteness,
)
from deltadyn.validation.spectrum import Peak, Spectrum, find_peaks, residual_spectrum

if TYPE_CHECKING:  # identification is loaded when causes are looked for
    from deltadyn.identification.terms.found import Terms

STATED = 0.85  # share of moving rows in a fit's 95 % band from which on it states what is left
LIKELY = 0.05  # probability from which on a rival is named
ADDED = 0.3  # the same where it only adds to what is named
SMALL = 1e-3  # share of the residual's power that is not told in digits
PEAK = 0.1  # share of the power of the residual as recorded: a smaller peak is not named

#: What may be wrong: groups of the model's own parameters, then terms that it lacks.
CAUSES = (
    *GROUPS,
    "offset",
    "stribeck",
    "thinning",
    "load",
    "motor_load",
    "limbs",
    "torque_ratio",
    "delay",
    "drift",
    "ripple",
    "eccentricity",
    "elastic",
    "geometry",
    "homing",
    "other",
)
#: Names that causes had before.
BEFORE = {"elasticity": ("elastic",), "drive gain": ("torque_ratio", "torque_scale")}


@dataclass(frozen=True, eq=False)
class Cause:
    """A likely cause: `share` of the residual's power, over all axes and per axis, and a sentence.

    `title` is the name with the order of a wave. `probability` is that of the evidence. Shares of
    all causes and of the noise add up to 1; one is below 0 where a cause hides another. `torque`
    (dof,) is its RMS torque in N m, `values` are what the log says of its parameters.
    """

    name: str
    title: str
    probability: float
    share: float
    axis_share: FloatArray
    torque: FloatArray
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
            "title": self.title,
            "probability": plain(self.probability),
            "share": plain(self.share),
            "axis_share": plain(self.axis_share),
            "torque_rms_Nm": plain(self.torque),
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
class WithoutDelay:
    """The metrics that the model would have on these logs without the delay (s) found in them."""

    delay: float
    metrics: Metrics
    unit: str = "N m"  # of the torque


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Whiteness, spectrum and likely causes of a residual, the strongest cause first.

    `status` is a sentence on the residual, which also says where nothing is wrong, or where a term
    is `missing`: more than the noise is left and no cause explains it. `rivals` are other sets of
    causes with their probability. `terms` is what the search found; None where none was made.
    `peaks` are narrow peaks of the residual as recorded, above the motion.
    """

    whiteness: Whiteness
    spectrum: Spectrum
    peaks: tuple[Peak, ...]
    causes: tuple[Cause, ...]
    rivals: tuple[Rival, ...]
    status: str
    missing: bool = False
    terms: Terms | None = None
    without_delay: WithoutDelay | None = None

    @property
    def follows(self) -> str:
        """What the residual follows where a term is missing, in words; else nothing."""
        return self.terms.follows if self.missing and self.terms is not None else ""

    @property
    def cause(self) -> str | None:
        """The name of the strongest cause, or None."""
        return self.causes[0].name if self.causes else None

    def of(self, name: str) -> Cause | None:
        """The cause of that name or title, where it was found."""
        names = BEFORE.get(name, (name,))
        return next((c for c in self.causes if c.name in names or c.title in names), None)

    @property
    def text(self) -> str:
        """The status and a line per cause."""
        return "\n".join([self.status, *self.lines])

    @property
    def lines(self) -> tuple[str, ...]:
        """A line per cause and rival, and one on the delay."""
        found = [f"  {item.sentence}" for item in self.causes]
        for titles, probability in self.rivals:
            names = ", ".join(titles) or "none"
            found.append(f"  a rival set of causes, with probability {probability:.2f}: {names}")
        if self.without_delay is not None:
            rms = ", ".join(f"{value:.3g}" for value in self.without_delay.metrics.rms)
            found.append(
                f"  With the delay of {1e3 * self.without_delay.delay:.2f} ms removed from these "
                f"logs the model would leave {rms} {self.without_delay.unit} RMS."
            )
        return tuple(found)

    def as_dict(self) -> dict[str, Any]:
        """All but the curves, for JSON."""
        late = self.without_delay
        return {
            "status": self.status,
            "whiteness": self.whiteness.as_dict(),
            "causes": [item.as_dict() for item in self.causes],
            "rivals": [{"causes": list(t), "probability": plain(p)} for t, p in self.rivals],
            "missing": self.missing,
            "unexplained": None if self.terms is None else plain(np.array(self.terms.unexplained)),
            "follows": "" if self.terms is None else self.terms.follows,
            "without_delay": None
            if late is None
            else {"delay_s": late.delay, "metrics": late.metrics.as_dict()},
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
        }


def diagnose(model: Predictor, pieces: Sequence[Piece]) -> Diagnosis:
    """What the residual of a model along these stretches consists of."""
    robot = model.robot
    residuals = [piece.thinned_residual() for piece in pieces]
    columns = [(piece.measured, piece.predicted, piece.moving) for piece in pieces]
    measured, predicted, moving = map(np.concatenate, zip(*columns, strict=True))
    first = pieces[0].prepared
    white = whiteness(residuals, first.limited_rate, first.band)
    size = torque_level(measured, moving)
    rms = np.nan_to_num(metrics(measured, predicted, moving).rms)
    inside = inside_band(pieces)
    spectrum = residual_spectrum(pieces)
    peaks = tuple(
        peak
        for peak in find_peaks(spectrum)
        if peak.share >= PEAK and peak.rms > NEGLIGIBLE * size[peak.axis]
    )
    said = [whiteness_sentence(robot, white)]
    found = None
    if not np.any(rms > np.maximum(NEGLIGIBLE * size, 1e-9 * size.max())):
        most = 100 * float(np.max(rms / np.where(size > 0, size, np.inf)))
        said.append(
            f"Nothing is wrong: it is below {100 * NEGLIGIBLE:g} % of the torque while the axes "
            f"move (largest {most:.2g} %)."
        )
    elif inside is not None and np.nanmin(inside, initial=1.0) >= STATED:
        least = percent(float(np.nanmin(inside, initial=1.0)))
        said.append(
            "What is left is what the fit states: its 95 % band holds at least "
            f"{least} of the rows that move on every axis."
        )
    else:
        found = look_for_causes(model, pieces)
        said.append(_status(found))
    if peaks:
        said.append(peaks_sentence(robot, peaks))
    causes = () if found is None else _causes(found, model.robot.axis_unit("tau"))
    return Diagnosis(
        white,
        spectrum,
        peaks,
        causes,
        () if found is None else _rivals(found),
        " ".join(said),
        found is not None and found.terms.missing,
        None if found is None else found.terms,
        _without_delay(model, pieces, found),
    )


def _causes(found: Found, unit: str) -> tuple[Cause, ...]:
    """The parts of a residual as causes, the strongest first."""
    e, power = found.residual, (found.residual**2).sum(axis=0)
    out = []
    for part in found.strongest:
        axis_share = (e * part.torque).sum(axis=0) / np.where(power > 0, power, 1.0)
        share = float((e * part.torque).sum() / power.sum())
        torque = np.sqrt((part.torque**2).sum(axis=0) / np.maximum(found.rows, 1.0))
        sentence = cause_sentence(part, share, torque, unit)
        cause = Cause(
            part.name,
            part.title,
            part.probability,
            share,
            axis_share,
            torque,
            part.values,
            sentence,
        )
        out.append(cause)
    return tuple(out)


def _rivals(found: Found) -> tuple[Rival, ...]:
    """Sets that do without a named cause, and probable ones that add to those named."""
    named = {part.title for part in found.parts}
    terms = {part.title for part in found.parts if part.name not in GROUPS}
    out = []
    for titles, share in found.rivals:
        own = named - terms if set(titles) & set(GROUPS) else terms
        if share >= (ADDED if set(titles) >= own else LIKELY):
            out.append((titles, share))
    return tuple(out)


def _without_delay(
    model: Predictor, pieces: Sequence[Piece], found: Found | None
) -> WithoutDelay | None:
    if found is None or not found.delay:
        return None
    from deltadyn.recording.prepare.corrections import corrected

    measured, predicted, moving = [], [], []
    for piece in pieces:
        part = corrected(model.robot, piece.prepared, {"delay": found.delay})
        measured.append(piece.measured)
        predicted.append(piece.fine.limited(model.log.along(part, piece.payload)))
        moving.append(piece.moving)
    both = metrics(*(np.concatenate(rows) for rows in (measured, predicted, moving)))
    return WithoutDelay(found.delay, both, model.robot.axis_unit("tau"))


def _status(found: Found | None) -> str:
    """What is wrong, or that nothing is, or that it cannot be told."""
    if found is None:
        return (
            f"The motion is too little to tell causes apart: less than {SHORTEST:g} s or at rest."
        )
    said = []
    if found.parts:
        told = ", ".join(f"{part.title} ({part.probability:.2f})" for part in found.strongest)
        said.append(f"What is wrong, with its probability: {told}.")
    if found.terms.missing:
        said.append(
            f"A term is missing: up to {100 * max(found.terms.unexplained):.0f} % of the variance "
            f"of what is left follows {found.terms.follows}, and nothing that was tried explains "
            "it."
        )
    elif not found.parts and found.long_enough:
        said.append("Nothing is wrong: what is left does not follow the motion.")
    elif not found.parts:
        said.append("Nothing that was tried is wrong; the log is too short to tell more.")
    return " ".join(said)


# The words for what a residual shows.


def cause_sentence(part: Part, share: float, torque: FloatArray, unit: str) -> str:
    """A cause with its values, its probability, its torque and what it explains."""
    size = ", ".join(f"{value:.2g}" for value in torque)
    return (
        f"{part.title}: {_said(part)}; probability {part.probability:.2f}, {size} {unit} RMS, "
        f"{_share(share)} of the residual's power."
    )


def peaks_sentence(robot: Robot, peaks: Sequence[Peak]) -> str:
    """Where the residual has a narrow peak."""
    names, units = robot.axis_names(), robot.axis_units("tau")
    told = ", ".join(
        f"axis {names[peak.axis]} at {peak.frequency:.3g} Hz "
        f"({peak.rms:.3g} {units[peak.axis]} RMS)"
        for peak in peaks
    )
    return (
        f"As recorded, not band-limited, it has a narrow peak above the motion, {told}: "
        "something swings there, or ripples at a steady rate."
    )


def whiteness_sentence(robot: Robot, found: Whiteness) -> str:
    """Whether the residual is white, and over which time it resembles itself."""
    names = robot.axis_names()
    coloured = [names[k] for k in range(robot.dof) if not found.white[k]]
    if not coloured:
        return "The residual is white in the compared band."
    times = found.correlation_time[~found.white] * 1e3
    low, high = (
        f"{value:.0f}" if value >= 10 else f"{value:.2g}" for value in (times.min(), times.max())
    )
    told = low if low == high else f"{low} to {high}"
    axes = "axis" if len(coloured) == 1 else "axes"
    which = "" if len(coloured) == robot.dof else f" on {axes} {', '.join(coloured)}"
    return f"The residual is not white{which}: it resembles itself over {told} ms."


def percent(share: float) -> str:
    """A share for a sentence: "7.3 %", "98 %", "99.6 %", "> 99.99 %"."""
    value = 100 * share
    if value > 99:
        digits = next((n for n in (0, 1, 2) if 100 - value >= 2 * 10.0**-n), 2)
        return f"{value:.{digits}f} %" if 100 - value >= 0.005 else "> 99.99 %"
    return f"{value:.2g} %"


def _share(value: float) -> str:
    return percent(value) if abs(value) >= SMALL else f"< {100 * SMALL:g} %"


def _said(part: Part) -> str:
    """What a cause is, with its values."""
    if part.name == "model":
        return "the model's torque differs from the exact one of its robot"
    if part.name == "payload":
        mass = part.values[0]
        word = "more" if mass.value > 0 else "less"
        return (
            f"{abs(mass.value):.3g} kg (std {mass.std:.2g}) {word} at the platform: a payload that "
            "was not declared, or a platform of another mass"
        )
    if part.name == "torque_scale":
        gain = part.values[0]
        return (
            f"all parameters are {1 + gain.value:.4g} (std {gain.std:.2g}) times the model's: the "
            "torque constant of all drives, or all masses and friction"
        )
    if part.name in ("inertia", "friction"):
        return f"missing in the model (negative: too much in it): {_by_name(part.values)}"
    from deltadyn.identification.terms.found import NAMES

    words = NAMES[part.name]
    if part.name == "delay":
        return f"{words}, {1e3 * part.values[0].value:.2f} ms (std {1e3 * part.values[0].std:.2g})"
    if part.name == "homing":
        told = _listed(part.values, float(np.rad2deg(1.0)))
        return f"{words}, by {told} degrees"
    if part.name == "torque_ratio":
        told = ", ".join(f"{1 + item.value:.4g}" for item in part.values)
        return f"{words}, reported over true torque {told}"
    if part.name in ("other", "geometry", "drift"):
        return words
    return f"{words}, {_by_name(part.values)}"


def _by_name(values: Sequence[Value]) -> str:
    """Values of all axes by name; a name is left out where none of its values is sure."""
    names = dict.fromkeys(item.parameter.name for item in values)
    told = []
    for name in names:
        own = [item for item in values if item.parameter.name == name]
        if any(item.sure for item in own):
            unit = own[0].parameter.unit
            told.append(f"{name} {_listed(own)}" + ("" if unit == "1" else f" {unit}"))
    return ", ".join(told) or "no parameter by itself is sure"


def _listed(values: Sequence[Value], scale: float = 1.0) -> str:
    """Values of the axes; those within four standard deviations of zero are put in brackets."""
    told = [f"{scale * item.value:.3g}" for item in values]
    return ", ".join(
        text if item.sure else f"({text})" for text, item in zip(told, values, strict=True)
    )
