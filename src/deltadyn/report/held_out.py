"""Held-out recordings made ready once, and every model beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deltadyn.dynamics.models import MODELS
from deltadyn.errors import DeltadynError
from deltadyn.identification.data import Prepared
from deltadyn.identification.fit import Fit
from deltadyn.motion.motion import Motion
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot
from deltadyn.validation.evidence import finer, pieces_of, prepared_recordings
from deltadyn.validation.metrics import Metrics, metrics
from deltadyn.validation.predictor import Predictor, predictor
from deltadyn.validation.result import Validation, relative_rms
from deltadyn.validation.validate import validation_of


@dataclass(frozen=True, eq=False)
class Rung:
    """A model on the held-out recordings: `metrics` per axis, `relative` over all axes."""

    name: str
    source: str
    metrics: Metrics
    relative: float


@dataclass(frozen=True, eq=False)
class MethodResult:
    """What a method made of the same data; `held_out` is None without held-out data.

    Where it failed, `fit` is None and `trouble` says why.
    """

    name: str
    fit: Fit | None
    seconds: float | None
    held_out: Rung | None = None
    trouble: str = ""


class HeldOut:
    """Held-out recordings made ready once, for all models."""

    def __init__(self, robot: Robot, fit: Fit, recordings: tuple[Recording, ...]) -> None:
        self.robot, self.recordings = robot, recordings
        self.prepared = prepared_recordings(fit.robot, recordings, fit.band, "auto")

    def validation(self, model: Robot | Fit) -> Validation:
        """The robot file or the fit, with the causes of its residual."""
        name = "robot file" if isinstance(model, Robot) else "identified"
        return validation_of(predictor(model, None, name), self.recordings, self.prepared)

    def rung(self, name: str, source: str, model: Predictor) -> Rung:
        """Metrics alone: causes are looked for on the judged fit only."""
        pieces = [
            piece
            for recording, parts in zip(self.recordings, self.prepared, strict=True)
            for piece in pieces_of(model, recording, parts)
        ]
        measured = np.concatenate([piece.measured for piece in pieces])
        found = metrics(measured, np.concatenate([piece.predicted for piece in pieces]))
        return Rung(name, source, found, relative_rms(found.rms, measured))

    def ladder(self, identified: Robot) -> tuple[Rung, ...]:
        """The robot file, then the identified robot in every model."""
        rungs = [self.rung("robot file", "exact model, before the fit", predictor(self.robot))]
        for name, model in MODELS.items():
            rungs.append(self.rung(name, model.source, predictor(identified, name)))
        return tuple(rungs)

    def method(self, item: MethodResult) -> MethodResult:
        """A method's result with its metrics on the held-out recordings."""
        if item.fit is None:
            return item
        rung = self.rung(item.name, "", predictor(item.fit))
        return MethodResult(item.name, item.fit, item.seconds, rung)

    def motion(self) -> Motion | None:
        """The longest stretch without a gap, with its smoothed rates."""
        parts = [part for own in self.prepared for part in own]
        return _motion(self.robot, max(parts, key=len))


def first_motion(robot: Robot, logs: Sequence[Recording], band: float | None) -> Motion | None:
    """The longest stretch without a gap of the first log, with its smoothed rates."""
    if not logs:
        return None
    (parts,) = prepared_recordings(robot, [logs[0]], band, "auto")
    return _motion(robot, max(parts, key=len))


def _motion(robot: Robot, part: Prepared) -> Motion | None:
    """Angles, rates and accelerations in the band of the comparison: noise above it is no load."""
    fine = finer(part)
    q, qd, qdd = (fine.limited(values) for values in (part.state.q, part.state.qd, part.state.qdd))
    try:
        return Motion.from_joints(robot, fine.times, q, qd, qdd)
    except DeltadynError:  # a stretch that leaves the workspace can be neither drawn nor loaded
        return None
