"""What a residual looks like, and its likely cause in words.

`diagnose` makes a column for every parameter that a model may lack (`candidates`), takes one cause
after the other that explains the residual (`explain`), adds what shows only at the recorded rate
(`spectrum`), and says it in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics.friction import (
    COULOMB,
    OFFSET,
    STRIBECK,
    VISCOUS,
    Sliding,
    direction,
    stribeck_shape,
)
from deltadyn.dynamics.terms import platform_map
from deltadyn.kinematics.state import State
from deltadyn.recording.alignment import variance_of_sum
from deltadyn.robot import Robot
from deltadyn.validation.evidence import Piece, Predictor, carrying, rate_noise
from deltadyn.validation.metrics import Whiteness, plain, whiteness
from deltadyn.validation.spectrum import (
    Peak,
    Ripple,
    Spectrum,
    find_peaks,
    find_ripple,
    residual_spectrum,
)

FEWEST = 20  # samples that are nearly independent, from which causes are told apart
CLEAR = 0.25  # share of the residual's power on some axis: below it a cause is a part of it
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


# What a residual may consist of: one column per parameter that a model may lack.


STEP = 1e-3  # rad, of the differences for homing
SMOOTH = 0.01  # of the largest rate: within it the direction changes, unless the robot says
SLOW = 0.06  # of the largest rate: the Stribeck velocity, unless the robot says

#: The friction terms that may be missing; the constant torque is a cause of its own.
FRICTION = (VISCOUS, COULOMB, STRIBECK)


@dataclass(frozen=True)
class Parameter:
    """A parameter that may be missing: its cause, name, unit, and axis (None: all of them)."""

    cause: str
    name: str
    unit: str
    axis: int | None = None


@dataclass(frozen=True, eq=False)
class Candidates:
    """Columns Y (M, dof, K) of all parameters, in the band in which the torques are compared."""

    parameters: tuple[Parameter, ...]
    Y: FloatArray

    @property
    def causes(self) -> tuple[str, ...]:
        """The causes that can be told, each once."""
        return tuple(dict.fromkeys(item.cause for item in self.parameters))

    def places(self, cause: str) -> list[int]:
        """The columns of a cause."""
        return [k for k, item in enumerate(self.parameters) if item.cause == cause]


def candidates(model: Predictor, pieces: Sequence[Piece]) -> Candidates:
    """The columns of every cause along all stretches."""
    peak = np.max([np.abs(piece.prepared.state.qd).max(axis=0) for piece in pieces], axis=0)
    parts = [list(_columns(model, piece, peak)) for piece in pieces]
    usable = [all(np.isfinite(part[k][1]).all() for part in parts) for k in range(len(parts[0]))]
    kept = [k for k, good in enumerate(usable) if good]
    blocks = [np.stack([part[k][1] for k in kept], axis=2) for part in parts]
    return Candidates(tuple(parts[0][k][0] for k in kept), np.concatenate(blocks))


def _columns(
    model: Predictor, piece: Piece, peak: FloatArray
) -> Iterator[tuple[Parameter, FloatArray]]:
    """Each parameter with its column (M, dof); made at the recorded rate, then band-limited."""
    robot, part = carrying(model.robot, piece.payload), piece.prepared
    state, limited = part.state, part.limited
    slope = -np.gradient(piece.raw, part.t, axis=0)
    for cause, name, unit, values in (
        *_friction(robot, state, peak),
        ("inertia", "inertia", "kg m^2", state.qdd),
        ("inertia", "moment", "kg m", _arm_gravity(robot, state)),
        ("drive gain", "gain", "1", piece.raw),
        ("delay", "lag", "s", slope),
    ):
        reduced = limited(np.asarray(values))
        for axis in range(robot.dof):
            column = np.zeros_like(reduced)
            column[:, axis] = reduced[:, axis]
            yield Parameter(cause, name, unit, axis), column
    yield Parameter("payload", "mass", "kg"), limited(_payload_column(robot, state))
    for axis, column in enumerate(_homing(model, piece)):
        yield Parameter("homing", f"angle {axis + 1}", "rad"), limited(column)


def _friction(
    robot: Robot, state: State, peak: FloatArray
) -> Iterator[tuple[str, str, str, FloatArray]]:
    """The friction terms of the drives, and their constant torque."""
    own, qd = robot.friction, state.qd
    moving = np.maximum(peak, 1e-12)
    width = SMOOTH * moving if own.smoothing is None else np.full(robot.dof, own.smoothing)
    slow = SLOW * moving if own.stribeck_velocity is None else np.asarray(own.stribeck_velocity)
    slide = Sliding(qd, direction(qd / width, 1.0), stribeck_shape(np, qd, slow))
    for term in FRICTION:
        yield "friction", term.field, term.unit, term.column(np, slide)
    constant = OFFSET.column(np, slide) * np.ones_like(qd)
    yield "offset", "constant torque", OFFSET.unit, constant


def _arm_gravity(robot: Robot, state: State) -> FloatArray:
    """Torque (N, dof) per kg m that an arm's mass has about its axis; none on a spindle."""
    out = np.zeros_like(state.qd)
    out[:, :3] = -robot.gravity * state.cos_q
    return out


def _payload_column(robot: Robot, state: State) -> FloatArray:
    """Torque (N, dof) per kg at the platform point: the column of M_P."""
    _, platform = platform_map(robot, state)
    lifted = state.pdd[:, :3] + np.array([0.0, 0.0, robot.gravity])
    return contract("nkd,nk->nd", platform.J, lifted)


def _homing(model: Predictor, piece: Piece) -> Iterator[FloatArray]:
    """Torque (N, dof) per rad by which each arm's angle is larger than the recorded one."""
    state = piece.prepared.state
    for axis in range(3):
        ends = []
        for step in (STEP, -STEP):
            q = state.q.copy()
            q[:, axis] += step
            moved = State.from_joints(model.robot, q, state.qd, state.qdd, unreachable="nan")
            ends.append(model.torque(moved, piece.payload, rate_noise(piece.prepared)))
        yield (ends[0] - ends[1]) / (2 * STEP)


# Which causes explain a residual: a regression that takes one cause after the other.
#
# At each step the cause is taken that raises the likelihood most, less what as many parameters
# would raise it by chance (BIC with the number of independent samples). A cause counts only if it
# explains a good part of the residual of some axis and stands out of the noise, whose correlation
# in time the standard deviations hold.


LEAST = 0.1  # share of the residual's power on some axis that a cause must explain
SURE = 4.0  # standard deviations from zero that a parameter of it must have
FLOOR = 1e-10  # of the power: what is left below it is rounding


@dataclass(frozen=True)
class Value:
    """A parameter of a cause with its standard deviation, for residuals with any correlation."""

    parameter: Parameter
    value: float
    std: float

    @property
    def sure(self) -> bool:
        """Whether it stands out of the noise."""
        return abs(self.value) > SURE * self.std


@dataclass(frozen=True, eq=False)
class Explanation:
    """A cause: share (dof,) of each axis's residual power that it adds, and its parameters."""

    cause: str
    share: FloatArray
    values: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class _Fit:
    x: FloatArray  # (k,)
    left: FloatArray  # (dof,) sum of squares


class _Data:
    """Products of all columns and the residual per axis, and the least-squares fit of some."""

    def __init__(self, found: Candidates, residual: FloatArray, noticeable: FloatArray) -> None:
        self.found, self.residual = found, residual
        self.counted = np.sqrt(np.mean(residual**2, axis=0)) > noticeable
        Z = np.concatenate([found.Y, residual[:, :, None]], axis=2).transpose(1, 0, 2)
        self.size = np.sqrt(np.einsum("ank,ank->k", Z, Z))
        self.size[self.size == 0] = 1.0
        Z = Z / self.size
        self.G = Z.transpose(0, 2, 1) @ Z  # (dof, K + 1, K + 1)
        self.whole = self.G[:, -1, -1]
        level = len(residual) * (noticeable / self.size[-1]) ** 2
        # causes may not spoil the axes that need none
        self.floor = np.where(self.counted, FLOOR * self.whole, level) + 1e-300

    def fit(self, places: Sequence[int]) -> _Fit:
        """Axes weighted by what is left on them."""
        k = list(places)
        left, x = self.whole.copy(), np.zeros(len(k))
        for _ in range(3 if k else 0):
            weight = 1 / np.maximum(left, self.floor)
            A = np.einsum("a,aij->ij", weight, self.G[:, k][:, :, k])
            b = np.einsum("a,ai->i", weight, self.G[:, k, -1])
            x = np.linalg.lstsq(A, b, rcond=1e-10)[0]
            square = np.einsum("i,aij,j->a", x, self.G[:, k][:, :, k], x)
            left = np.maximum(self.whole - 2 * self.G[:, k, -1] @ x + square, 0.0)
        return _Fit(x, left)

    def natural(self, places: Sequence[int], x: FloatArray) -> FloatArray:
        """Coefficients of the columns as they were given."""
        scaled: FloatArray = x * self.size[-1] / self.size[list(places)]
        return scaled

    def deviations(self, places: Sequence[int], fit: _Fit) -> FloatArray:
        """Standard deviation (k,) of the natural coefficients, with the residual's correlation."""
        k = list(places)
        Y = self.found.Y[:, :, k]
        rest = self.residual - Y @ self.natural(k, fit.x)
        weight = 1 / np.maximum(fit.left, self.floor)
        weighted = Y * weight[:, None]
        scale = self.size[k]
        A = np.einsum("nai,naj->ij", weighted / scale, Y / scale)
        back = np.linalg.pinv(A, rcond=1e-10, hermitian=True) / scale[:, None] / scale
        scores = np.einsum("nai,na->ni", weighted, rest) @ back
        deviation: FloatArray = np.sqrt([variance_of_sum(column) for column in scores.T])
        return deviation


def explain(
    found: Candidates, residual: FloatArray, effective: FloatArray, noticeable: FloatArray
) -> tuple[Explanation, ...]:
    """The causes of a residual (M, dof), the strongest first; none where none stands out.

    `effective` (dof,) are the independent samples of each axis, `noticeable` (dof,) the RMS in N m
    above which an axis is worth a cause.
    """
    data = _Data(found, residual, noticeable)
    taken: list[str] = []
    while True:
        best = _next(data, taken, effective)
        if best is None:
            return _explanations(data, taken)
        taken.append(best)


def _next(data: _Data, taken: list[str], effective: FloatArray) -> str | None:
    """The cause to take next."""
    before = data.fit(_places(data, taken))
    best, highest = None, 0.0
    for cause in data.found.causes:
        if cause in taken:
            continue
        places = _places(data, [*taken, cause])
        after = data.fit(places)
        gain = _likelihood(data, before, after, effective)
        gain -= len(data.found.places(cause)) * np.log(max(2.0, float(effective.sum())))
        if gain > highest and _counts(data, cause, places, before, after):
            best, highest = cause, gain
    return best


def _likelihood(data: _Data, before: _Fit, after: _Fit, effective: FloatArray) -> float:
    ratio = np.maximum(before.left, data.floor) / np.maximum(after.left, data.floor)
    return float(effective @ np.log(ratio))


def _counts(data: _Data, cause: str, places: list[int], before: _Fit, after: _Fit) -> bool:
    """Whether a cause explains enough of some axis, with a parameter that is not zero."""
    share = (before.left - after.left)[data.counted] / data.whole[data.counted]
    if share.max() < LEAST:
        return False
    deviation = data.deviations(places, after)
    natural = data.natural(places, after.x)
    own = [n for n, place in enumerate(places) if data.found.parameters[place].cause == cause]
    return bool(np.any(np.abs(natural[own]) > SURE * deviation[own]))


def _explanations(data: _Data, taken: list[str]) -> tuple[Explanation, ...]:
    places = _places(data, taken)
    final = data.fit(places)
    natural, deviation = data.natural(places, final.x), data.deviations(places, final)
    parameters = [data.found.parameters[place] for place in places]
    rows = zip(parameters, natural, deviation, strict=True)
    values = [Value(item, float(x), float(std)) for item, x, std in rows]
    out = []
    for number, cause in enumerate(taken):
        before = data.fit(_places(data, taken[:number]))
        after = data.fit(_places(data, taken[: number + 1]))
        share = (before.left - after.left) / np.where(data.whole > 0, data.whole, 1.0)
        own = tuple(value for value in values if value.parameter.cause == cause)
        out.append(Explanation(cause, share, own))
    return tuple(out)


def _places(data: _Data, causes: Sequence[str]) -> list[int]:
    return [k for cause in causes for k in data.found.places(cause)]


# The words for what a residual shows.


LEAST_STRIBECK = 0.2  # of the Coulomb torque: less comes from the width of its step


def cause_sentence(
    robot: Robot, cause: str, share: float, axis_share: FloatArray, values: Sequence[Value]
) -> str:
    """What a cause explains, and the parameters that it asks for."""
    explained = f"explains {percent(share)} of the residual's power ({_shares(robot, axis_share)})"
    return f"{cause}: {_said(cause, values)}; {explained}."


def elasticity_sentence(robot: Robot, peaks: Sequence[Peak]) -> str:
    """Where the residual has a narrow peak."""
    names = robot.axis_names()
    told = ", ".join(
        f"axis {names[peak.axis]} at {peak.frequency:.3g} Hz ({peak.rms:.3g} N m RMS, "
        f"{percent(peak.share)} of the power)"
        for peak in peaks
    )
    return (
        f"elasticity: the residual as recorded has a narrow peak above the motion, {told}; "
        "a gear or the frame swings there, and a rigid model cannot follow."
    )


def ripple_sentence(robot: Robot, ripple: Sequence[Ripple]) -> str:
    """Where the residual has waves over the angle."""
    names = robot.axis_names()
    told = ", ".join(
        f"axis {names[item.axis]} {item.waves} per turn with {item.amplitude:.3g} N m "
        f"({percent(min(item.share, 1.0))} of the power)"
        for item in ripple
    )
    return (
        f"ripple: the residual as recorded has waves over the angle of its axis, {told}; "
        "cogging of the motor or the mesh of the gear."
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


def _shares(robot: Robot, share: FloatArray) -> str:
    pairs = zip(robot.axis_names(), share, strict=True)
    return ", ".join(f"axis {name} {percent(max(value, 0.0))}" for name, value in pairs)


def _said(cause: str, values: Sequence[Value]) -> str:
    if cause == "friction":
        return _friction_words(values)
    if cause == "payload":
        mass = values[0]
        word = "more" if mass.value > 0 else "less"
        return f"the recording fits {abs(mass.value):.3g} kg (std {mass.std:.2g}) {word} payload"
    if cause == "delay":
        late = _listed(values, 1e3)
        return f"the measured torque lags behind the model by {late} ms (negative: it leads)"
    if cause == "homing":
        told = _listed(values, float(np.rad2deg(1.0)))
        return f"the arms seem to stand off their recorded angles by {told} degrees"
    if cause == "offset":
        told = _listed(values)
        return (
            f"a constant torque of {told} N m: a cable, a spring, the zero of the current sensor, "
            "gravity of an arm"
        )
    if cause == "inertia":
        return _inertia(values)
    return f"the drives seem to give {_listed(values, 100.0)} % more torque than modelled"


def _inertia(values: Sequence[Value]) -> str:
    inertia = [item for item in values if item.parameter.name == "inertia"]
    moment = [item for item in values if item.parameter.name == "moment"]
    told = f"the axes seem to have {_listed(inertia)} kg m^2 more inertia"
    if any(item.sure for item in moment):
        told += f" and {_listed(moment)} kg m more mass times distance"
    return f"{told} than modelled"


def _friction_words(values: Sequence[Value]) -> str:
    words, largest = [], 0.0
    for term in FRICTION:
        own = [item for item in values if item.parameter.name == term.field]
        size = max(abs(item.value) for item in own)
        if term is COULOMB:
            largest = size
        small = term is STRIBECK and size < LEAST_STRIBECK * largest
        if any(item.sure for item in own) and not small:
            words.append(f"{term.field} {_listed(own)} {term.unit}")
    return f"missing in the model (negative: too much in it): {', '.join(words)}"


def _listed(values: Sequence[Value], scale: float = 1.0) -> str:
    """Values of the axes; those within four standard deviations of zero are put in brackets."""
    told = [f"{scale * item.value:.3g}" for item in values]
    return ", ".join(
        text if item.sure else f"({text})" for text, item in zip(told, values, strict=True)
    )
