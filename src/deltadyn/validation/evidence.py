"""A model beside a recording: measured and predicted torque in the same band."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.dynamics.models import model_by_name, model_of
from deltadyn.errors import InputError
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare.data import Prepared, Rates
from deltadyn.recording.prepare.held_out import (
    Band,
    HeldOutRows,
    LogModel,
    Torque,
    carrying,
    finer,
    loaded_torque,
    prepare_held_out,
    with_smoothing,
)
from deltadyn.recording.prepare.moving import at_rows
from deltadyn.recording.recording import Recording, fingerprint
from deltadyn.robot import Robot
from deltadyn.validation.metrics import Course, Mask, segment_masks, shares_of

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
HalfWidth = Callable[[Prepared, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Predictor:
    """A model by name, beside logs as `log` sees them.

    `exact` says that its torque is the exact model's, with the robot's parameters or with those in
    `values`. `band` (Hz) and `rest` (dof,) in rad/s are those of a fit. `half_width` gives half the
    width (N, dof) of a fit's 95 % band about its torque along a part that was seen.
    """

    name: str
    log: LogModel
    trained_on: frozenset[str]
    exact: bool
    values: Mapping[str, float]
    band: float | None = None
    rest: tuple[float, ...] | None = None
    half_width: HalfWidth | None = None

    @property
    def robot(self) -> Robot:
        """The robot of the model."""
        return self.log.robot


def predictor(model: Model, dynamics: str | None = None, name: str | None = None) -> Predictor:
    """The predictor of a robot or a fit; `dynamics` names the model of a robot, else its own."""
    if isinstance(model, Robot):
        chosen = model_of(model) if dynamics is None else dynamics
        model_by_name(chosen)
        label = f"{model.name}, {chosen}" if name is None else name
        log = LogModel(model, _robot_torque(model, chosen), np.ones(model.dof))
        return Predictor(label, log, frozenset(), chosen == "exact", {})
    given: object = model  # what a caller without types may hand in
    if not isinstance(given, FitLike) or not isinstance(given.robot, Robot):
        allowed = "a Robot, or a fit with .robot and .torque(state)"
        raise InputError("model", type(model).__name__, allowed)
    if dynamics is not None:
        raise InputError("dynamics", dynamics, "None for a fit: it has its own model")
    label = f"{model.robot.name}, {_method(model)}" if name is None else name
    if not knows_its_doubt(model):
        torque = loaded_torque(model.robot, model.torque)
        log = LogModel(model.robot, torque, np.ones(model.robot.dof))
        return Predictor(label, log, trained_on(model), False, {})
    fit: Any = model
    exact = fit.model == "exact"
    values = dict(zip(fit.names, fit.values.tolist(), strict=True)) if exact else {}
    return Predictor(
        label,
        fit.log_model,
        trained_on(model),
        exact,
        values,
        fit.band,
        None if fit.terms is None else fit.terms.rest,
        fit.half_width if fit.bounds_torque else None,
    )


def _robot_torque(robot: Robot, dynamics: str) -> Torque:
    """The robot's torque; the direction of friction fades where noise hides that of the rate."""

    def torque(state: State, payload: float | None, noise: float) -> FloatArray:
        return inverse_dynamics(with_smoothing(carrying(robot, payload), noise), state, dynamics)

    return torque


def _method(fit: FitLike) -> str:
    method = getattr(fit, "method", None)
    return f"fit {method!r}" if isinstance(method, str) else "fit"


def prepare_for(
    models: Sequence[Predictor], recordings: Sequence[Recording], band: Band, rates: Rates
) -> HeldOutRows:
    """Recordings made ready for several models of one robot, of which the first is judged.

    "auto" is the band of the first model that is a fit, where the recordings allow it; else the one
    in which a rigid model explains the torque. An axis rests below the highest rate of the fits.
    """
    first = models[0]
    rates_at_rest = [model.rest for model in models if model.rest is not None]
    rest = None if not rates_at_rest else np.max(rates_at_rest, axis=0).tolist()
    if band == "auto" and first.band is not None and first.robot.drives.stiffness is None:
        try:
            return prepare_held_out(first.robot, recordings, first.band, rates, rest)
        except InputError:  # too slow or too short for this band
            band = "auto"
    return prepare_held_out(first.robot, recordings, band, rates, rest)


@dataclass(frozen=True, eq=False)
class Piece:
    """A stretch of a recording without a gap, beside a model.

    `raw` (N, dof) is the predicted torque at the recorded samples. `measured` and `predicted`
    (M, dof) are both torques at the times t (M,) of the compared band, in N m, close enough to show
    every peak; `moving` (M, dof) are the rows at which an axis moves. `half` (M, dof) is half the
    width of the model's 95 % band, None where it has none. `prepared.limited` thins out further, to
    samples that are nearly independent.
    """

    prepared: Prepared
    fine: Prepared
    payload: float | None
    raw: FloatArray
    t: FloatArray
    measured: FloatArray
    predicted: FloatArray
    moving: BoolArray
    half: FloatArray | None = None

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
        return segment_masks(robot, Course(t=self.t, tau=self.measured, **values), self.moving)


def pieces_of(model: Predictor, rows: HeldOutRows) -> tuple[tuple[Piece, ...], ...]:
    """The model's torque along every stretch of every recording, in the band of the stretch."""
    return tuple(
        tuple(_piece(model, recording.payload, part, rows) for part in parts)
        for recording, parts in zip(rows.recordings, rows.parts, strict=True)
    )


def _piece(model: Predictor, payload: float | None, part: Prepared, rows: HeldOutRows) -> Piece:
    seen = model.log.see(part)
    raw = model.log.reported(part, seen, payload)
    if raw.shape != part.tau.shape:
        raise InputError("shape of the model's torque", raw.shape, f"{part.tau.shape}")
    bad = np.flatnonzero(~np.isfinite(raw).all(axis=1))
    if bad.size:
        place = f"{part.name!r}, t = {part.t[bad[0]]:.6g} s"
        allowed = "a finite torque at every sample"
        raise InputError("torque of the model", raw[bad[0]], allowed, where=place)
    fine = finer(part)
    half = None if model.half_width is None else at_rows(fine, model.half_width(seen, raw))
    return Piece(
        part,
        fine,
        payload,
        raw,
        fine.times,
        fine.limited(part.tau),
        fine.limited(raw),
        rows.moving(fine),
        half,
    )


def inside_band(pieces: Sequence[Piece]) -> FloatArray | None:
    """Share (dof,) of the moving rows inside the model's 95 % band; None where it has none."""
    held = [
        (np.abs(piece.measured - piece.predicted) <= piece.half) & piece.moving
        for piece in pieces
        if piece.half is not None
    ]
    if not held:
        return None
    inside = np.concatenate(held).sum(axis=0)
    count = np.concatenate([piece.moving for piece in pieces]).sum(axis=0)
    return shares_of(inside.astype(np.float64), count.astype(np.float64))
