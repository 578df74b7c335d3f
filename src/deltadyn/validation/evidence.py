"""A model beside a recording: measured and predicted torque in the same band."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.dynamics.models import model_by_name, model_of
from deltadyn.errors import InputError
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare import gears
from deltadyn.recording.prepare.band import OVERSAMPLING, LowPass, choose_band
from deltadyn.recording.prepare.data import AT_REST, Prepared, Rates, checked_band, prepared_parts
from deltadyn.recording.recording import Recording, fingerprint
from deltadyn.robot import Robot
from deltadyn.validation.metrics import Course, Mask, segment_masks

# Keep the data of a fit out of its validation.


def trained_on(fit: object) -> frozenset[str]:
    """The fingerprints of the recordings in `fit.data`, which the fit was made from."""
    data = getattr(fit, "data", ())
    items = data if isinstance(data, Iterable) else ()
    texts = (getattr(item, "sha256", None) for item in items)
    return frozenset(text for text in texts if isinstance(text, str))


def refuse_training_data(
    name: str, trained: frozenset[str], recordings: Iterable[Recording]
) -> None:
    """Refuse recordings that the model was fitted to."""
    for number, recording in enumerate(recordings):
        file = recording.provenance  # a fit from a file knows the file's digest
        whole = file.sha256 is not None and not file.edits and file.sha256 in trained
        if whole or fingerprint(recording) in trained:
            raise InputError(
                f"recording {number}",
                recording.name,
                f"one that {name!r} was not fitted to: on its own data a model looks better than "
                "it is. Record another motion, or pass training=True to see the fit itself",
            )


# What is validated: a robot with one of the dynamic models, or a fit with its own torque.


@runtime_checkable
class FitLike(Protocol):
    """What a fit must have: the robot that it found, and the torque of a state."""

    @property
    def robot(self) -> Robot:
        """The robot that was identified."""

    def torque(self, state: State) -> FloatArray:
        """Torque (N, dof) in N m with the robot's own payload."""


def knows_its_doubt(model: object) -> bool:
    """Whether this is a fit with the covariance of its parameters, told by what it has.

    The class of a fit is not asked for, so that identification need not be loaded.
    """
    return isinstance(model, FitLike) and all(
        hasattr(model, name) for name in ("nominal", "parametrisation", "uncertainty", "residual")
    )


Model = Robot | FitLike
Torque = Callable[[State, float | None, float], FloatArray]


@dataclass(frozen=True, eq=False)
class Predictor:
    """A model by name, with its torque (N, dof) of a state.

    The torque also takes the payload (kg, None: the robot's own) and the standard deviation of the
    rates (rad/s, 0 where they are not estimated). `exact` says that it is the exact model's, with
    the robot's parameters or with those in `values`; `gains` (dof,) are the drives' (true torque
    per reported torque). The torque is that of rigid gears: along a log of a robot with elastic
    ones the state is that of the arms (`seen`).
    """

    name: str
    robot: Robot
    torque: Torque
    trained_on: frozenset[str]
    exact: bool
    values: Mapping[str, float]
    gains: FloatArray

    def seen(self, part: Prepared) -> Prepared:
        """A part of a log as the model's torque holds for it, in reported torque."""
        if self.robot.drives.stiffness is None:
            return part
        robot = _smoothed(self.robot, rate_noise(part))
        found = gears.behind_gears(robot, replace(part, tau=part.tau * self.gains))
        return replace(found, tau=found.tau / self.gains)

    def along(self, part: Prepared, payload: float | None) -> FloatArray:
        """The torque (N, dof) that the drives would report along a part of a log."""
        seen = self.seen(part)
        tau = np.asarray(self.torque(seen.state, payload, rate_noise(part)), dtype=np.float64)
        return tau if seen is part else tau + (part.tau - seen.tau)


def predictor(model: Model, dynamics: str | None = None, name: str | None = None) -> Predictor:
    """The predictor of a robot or a fit; `dynamics` names the model of a robot, else its own."""
    if isinstance(model, Robot):
        chosen = model_of(model) if dynamics is None else dynamics
        model_by_name(chosen)
        label = f"{model.name}, {chosen}" if name is None else name
        torque = _robot_torque(model, chosen)
        alike = np.ones(model.dof)
        return Predictor(label, model, torque, frozenset(), chosen == "exact", {}, alike)
    given: object = model  # what a caller without types may hand in
    if not isinstance(given, FitLike) or not isinstance(given.robot, Robot):
        allowed = "a Robot, or a fit with .robot and .torque(state)"
        raise InputError("model", type(model).__name__, allowed)
    if dynamics is not None:
        raise InputError("dynamics", dynamics, "None for a fit: it has its own model")
    label = f"{model.robot.name}, {_method(model)}" if name is None else name
    exact = getattr(model, "model", None) == "exact" and hasattr(model, "parametrisation")
    values = {}
    if exact:
        pairs = zip(getattr(model, "names", ()), getattr(model, "values", ()), strict=True)
        values = {str(key): float(value) for key, value in pairs}
    gains = _gains(model)
    return Predictor(
        label, model.robot, _fit_torque(model), trained_on(model), exact, values, gains
    )


def carrying(robot: Robot, payload: float | None) -> Robot:
    """The robot with this payload (kg) where its own is; None leaves it as it is."""
    if payload is None or payload == robot.payload.mass:
        return robot
    return robot.with_payload(payload, robot.payload.offset, robot.payload.inertia_zz)


def _robot_torque(robot: Robot, dynamics: str) -> Torque:
    """The robot's torque; the direction of friction fades where noise hides that of the rate."""

    def torque(state: State, payload: float | None, noise: float) -> FloatArray:
        return inverse_dynamics(_smoothed(carrying(robot, payload), noise), state, dynamics)

    return torque


def _smoothed(robot: Robot, noise: float) -> Robot:
    """The robot with a direction of friction that fades below the noise (rad/s) of the rates."""
    if noise > 0 and robot.friction.smoothing is None:
        return robot.with_friction(smoothing=AT_REST * noise)
    return robot


def _fit_torque(fit: FitLike) -> Torque:
    """The torque that the drives would report, by the fit.

    The payload of the recording changes it as it changes that of the fit's robot. Where the fit
    found the drives' gains (true torque per reported torque), they divide it.
    """
    gains = _gains(fit)

    def torque(state: State, payload: float | None, noise: float) -> FloatArray:
        own, loaded = fit.robot, carrying(fit.robot, payload)
        tau = fit.torque(state)
        if loaded is not own:
            tau = tau + inverse_dynamics(loaded, state) - inverse_dynamics(own, state)
        return tau / gains

    return torque


def _gains(fit: FitLike) -> FloatArray:
    """The drives' gains (dof,) where a fit found them, else 1."""
    gains = getattr(getattr(fit, "gains", None), "values", None)
    return np.ones(fit.robot.dof) if gains is None else np.asarray(gains, dtype=np.float64)


def _method(fit: FitLike) -> str:
    method = getattr(fit, "method", None)
    return f"fit {method!r}" if isinstance(method, str) else "fit"


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
    if isinstance(band, str) and robot.drives.stiffness is not None:
        rate = min(part.rate for own in parts for part in own)
        chosen: float | None = min(gears.BAND, rate / OVERSAMPLING)
    elif isinstance(band, str):
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
    raw = model.along(part, payload)
    if raw.shape != part.tau.shape:
        raise InputError("shape of the model's torque", raw.shape, f"{part.tau.shape}")
    bad = np.flatnonzero(~np.isfinite(raw).all(axis=1))
    if bad.size:
        place = f"{part.name!r}, t = {part.t[bad[0]]:.6g} s"
        allowed = "a finite torque at every sample"
        raise InputError("torque of the model", raw[bad[0]], allowed, where=place)
    fine = finer(part)
    return Piece(part, fine, payload, raw, fine.times, fine.limited(part.tau), fine.limited(raw))
