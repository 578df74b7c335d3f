"""Validate a model on recordings that it has not seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from deltadyn.recording.prepare.data import Prepared, Rates, as_recordings
from deltadyn.recording.recording import Recording
from deltadyn.validation.diagnosis import diagnose
from deltadyn.validation.evidence import (
    Band,
    Model,
    Piece,
    Predictor,
    pieces_of,
    predictor,
    prepared_recordings,
    refuse_training_data,
)
from deltadyn.validation.metrics import metrics
from deltadyn.validation.result import Validation
from deltadyn.validation.segments import pooled_masks, segments_of


def validate(
    model: Model,
    recordings: Recording | Iterable[Recording],
    *,
    band: Band = "auto",
    rates: Rates = "auto",
    dynamics: str | None = None,
    training: bool = False,
    name: str | None = None,
) -> Validation:
    """How well a model's torque agrees with the measured one, and what is missing in it.

    `model` is a Robot, whose `dynamics` is a model by name ("exact" unless given), or a fit.
    Both torques are low-passed alike below `band` Hz: "auto" finds the band in which a rigid model
    can explain the torque, None compares the samples as they are. `rates` "measured" takes the
    recording's qd and qdd, "kalman" estimates them, "auto" takes the measured ones where both are
    there. The payload that a recording declares is put on the robot; where it declares none, the
    robot's own holds. Recordings that a fit was made from are refused unless `training` is True.
    """
    chosen = predictor(model, dynamics, name)
    given = as_recordings(recordings)
    if not training:
        refuse_training_data(chosen.name, chosen.trained_on, given)
    prepared = prepared_recordings(chosen.robot, given, band, rates)
    return validation_of(chosen, given, prepared)


def validation_of(
    model: Predictor, recordings: Sequence[Recording], prepared: Sequence[tuple[Prepared, ...]]
) -> Validation:
    """The validation of recordings that were made ready, each by itself and all together."""
    pieces = [
        pieces_of(model, recording, parts)
        for recording, parts in zip(recordings, prepared, strict=True)
    ]
    each = [
        _validation(model, [recording], own)
        for recording, own in zip(recordings, pieces, strict=True)
    ]
    if len(each) == 1:
        return each[0]
    return _validation(model, recordings, [item for own in pieces for item in own], tuple(each))


def _validation(
    model: Predictor,
    recordings: Sequence[Recording],
    pieces: Sequence[Piece],
    parts: tuple[Validation, ...] = (),
) -> Validation:
    robot = model.robot
    measured = np.concatenate([piece.measured for piece in pieces])
    predicted = np.concatenate([piece.predicted for piece in pieces])
    masks = pooled_masks([piece.masks(robot) for piece in pieces])
    lengths = [len(piece.t) for piece in pieces]
    own = robot.payload.mass
    return Validation(
        model=model.name,
        robot=robot,
        recordings=tuple(recording.name for recording in recordings),
        t=np.concatenate([piece.t for piece in pieces]),
        measured=measured,
        torque=predicted,
        band=pieces[0].prepared.band,
        rate=pieces[0].fine.limited_rate,
        metrics=metrics(measured, predicted),
        segments=segments_of(masks, measured, predicted),
        diagnosis=diagnose(model, pieces),
        starts=tuple(int(n) for n in np.cumsum([0, *lengths[:-1]])),
        payloads=tuple(own if item.payload is None else item.payload for item in recordings),
        parts=parts,
    )
