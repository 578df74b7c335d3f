"""Validate a model, or compare several, on recordings that they have not seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.doors import write_page
from deltadyn.errors import InputError
from deltadyn.recording.alignment import variance_of_sum
from deltadyn.recording.prepare.data import Rates, as_recordings
from deltadyn.recording.prepare.held_out import Band, HeldOutRows
from deltadyn.recording.recording import Recording
from deltadyn.validation.evidence import (
    Model,
    Piece,
    Predictor,
    pieces_of,
    predictor,
    prepare_for,
    refuse_training_data,
)
from deltadyn.validation.metrics import metrics, plain, pooled_masks, segments_of
from deltadyn.validation.result import Validation, number

INDEPENDENT = 2.5  # samples per second and Hz of the band: more tell nothing new
SURE = 3.0  # standard deviations of the difference: beyond it a ranking is not chance
SHOWN = {"rms": ("RMS", "N m"), "fitness": ("fitness", "1"), "r_squared": ("R^2", "1")}


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

    `model` is a Robot, whose `dynamics` is a model by name (by default "gray-box" where the robot
    has its parameters, else "exact"), or a fit. Both torques are low-passed alike below `band` Hz:
    "auto" takes the band of a fit, else it finds the one in which a rigid model can explain the
    torque; None compares the samples as they are. A fit's own delay, waves of the encoders and
    wind-up of the gears are taken out as in `identify`, and metrics are those of the rows at which
    an axis moves. `rates` "measured" takes the recording's qd and qdd, "kalman" estimates them,
    "auto" takes the measured ones where both are there. The payload that a recording declares is
    put on the robot; where it declares none, the robot's own holds. Recordings that a fit was made
    from are refused unless `training` is True.
    """
    chosen = predictor(model, dynamics, name)
    given = as_recordings(recordings)
    if not training:
        refuse_training_data(chosen.name, chosen.trained_on, given)
    return validation_of(chosen, prepare_for([chosen], given, band, rates))


def validation_of(model: Predictor, rows: HeldOutRows) -> Validation:
    """The validation of recordings that were made ready, each by itself and all together."""
    pieces = pieces_of(model, rows)
    each = [
        _validation(model, [recording], own)
        for recording, own in zip(rows.recordings, pieces, strict=True)
    ]
    if len(each) == 1:
        return each[0]
    every = [item for own in pieces for item in own]
    return _validation(model, rows.recordings, every, tuple(each))


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
    moving = np.concatenate([piece.moving for piece in pieces])
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
        metrics=metrics(measured, predicted, moving),
        moving=moving,
        segments=segments_of(masks, measured, predicted),
        starts=tuple(int(n) for n in np.cumsum([0, *lengths[:-1]])),
        payloads=tuple(own if item.payload is None else item.payload for item in recordings),
        parts=parts,
        compared=(model, pieces),
    )


# Any number of models on the same recordings.


@dataclass(frozen=True, eq=False)
class Comparison:
    """The validations of several models by name, and their ranking.

    `ranking` goes by the RMS over the axes of rms / RMS of the measured torque while they move, the
    best first. `beyond_chance` tells of each model whether the best one is better than it beyond
    chance, for residuals with any autocorrelation; False for the best itself.
    """

    validations: Mapping[str, Validation]
    ranking: tuple[str, ...]
    beyond_chance: Mapping[str, bool]

    @property
    def best(self) -> str:
        """The name of the first in the ranking."""
        return self.ranking[0]

    def __getitem__(self, name: str) -> Validation:
        return self.validations[name]

    def __len__(self) -> int:
        return len(self.validations)

    @property
    def verdict(self) -> str:
        """Which model is the best, and which cannot be told from it."""
        if len(self) == 1:
            return f"{self.best} is the only model."
        alike = [name for name in self.ranking[1:] if not self.beyond_chance[name]]
        behind = [name for name in self.ranking[1:] if self.beyond_chance[name]]
        parts = []
        if behind:
            parts.append(f"{self.best} is better than {', '.join(behind)} beyond chance.")
        if alike:
            parts.append(f"On these recordings {self.best} cannot be told from {', '.join(alike)}.")
        return " ".join(parts)

    @property
    def text(self) -> str:
        """The table: a line per model and number, the best model first."""
        first = self.validations[self.best]
        names = first.robot.axis_names()
        band = "as recorded" if first.band is None else f"below {first.band:.3g} Hz"
        width = max(len("model"), *(len(name) for name in self.ranking))
        heads = [f"{title} {name}" for title, _ in SHOWN.values() for name in names]
        size = max(9, *(len(head) + 2 for head in heads))
        lines = [
            f"{len(self)} models on {', '.join(first.recordings)}",
            f"{len(first.t)} samples at {first.rate:.4g} Hz, torques {band}; RMS in "
            f"{first.robot.axis_unit('tau')}; relative: "
            "RMS over all axes, each over its torque's RMS while it moves",
            "",
            f"{'model':<{width}}{'relative':>10}" + "".join(f"{head:>{size}}" for head in heads),
        ]
        for name in self.ranking:
            found = self.validations[name]
            pairs = [(value, SHOWN[field][1]) for field in SHOWN for value in getattr(found, field)]
            row = "".join(f"{number(value, unit):>{size}}" for value, unit in pairs)
            lines.append(f"{name:<{width}}{number(found.relative_rms):>10}{row}")
        lines += ["", self.verdict]
        lines += [f"  {name}: {self.validations[name].diagnosis.status}" for name in self.ranking]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """Everything but the samples, for JSON."""
        return {
            "ranking": list(self.ranking),
            "relative_rms": {
                name: plain(self.validations[name].relative_rms) for name in self.ranking
            },
            "best_is_better_beyond_chance": dict(self.beyond_chance),
            "verdict": self.verdict,
            "models": {name: found.as_dict() for name, found in self.validations.items()},
        }

    def page(self, path: str | PathLike[str]) -> Path:
        """Write one HTML file with the table and figures, to open without a network."""
        return write_page("comparison", self, path)


def compare(
    models: Mapping[str, Model],
    recordings: Recording | Iterable[Recording],
    *,
    band: Band = "auto",
    rates: Rates = "auto",
    dynamics: Mapping[str, str] | None = None,
    training: bool = False,
) -> Comparison:
    """Validate any number of models on the same recordings, in the same band.

    `models` are robots or fits by name; `dynamics` gives the model by which a robot of that name
    moves, else its own as in `validate`. `band`, `rates` and `training` are those of `validate`.
    """
    chosen = _checked(models)
    laws = _laws(chosen, dynamics)
    given = as_recordings(recordings)
    found = [predictor(model, laws.get(name), name) for name, model in chosen.items()]
    for item in found:
        if item.robot.dof != found[0].robot.dof:
            allowed = f"{found[0].robot.dof}, as {found[0].name!r} has"
            raise InputError(f"axes of model {item.name!r}", item.robot.dof, allowed)
        if not training:
            refuse_training_data(item.name, item.trained_on, given)
    validations = {}
    first = prepare_for(found, given, band, rates)
    for item in found:  # lengths may differ: band and rates at rest are the same for all
        rows = first if item is found[0] else prepare_for([item], given, first.band, rates)
        validations[item.name] = validation_of(item, replace(rows, rest=first.rest))
    ranking = sorted(validations, key=lambda name: validations[name].relative_rms)
    best = validations[ranking[0]]
    beyond = {name: _is_better(best, validations[name]) for name in ranking}
    return Comparison(validations, tuple(ranking), beyond)


def _is_better(best: Validation, other: Validation) -> bool:
    """Whether the mean difference of squared residuals stands out of its noise.

    The test of Diebold and Mariano: each axis in units of its torque, any autocorrelation, at the
    rows where some axis moves.
    """
    size, used = best.torque_level, best.torque_level > 0
    squares = [
        (np.where(best.moving, item.residual, 0.0)[:, used] / size[used]) ** 2
        for item in (other, best)
    ]
    apart = 1 if best.band is None else max(1, round(best.rate / (INDEPENDENT * best.band)))
    rows = best.moving[:, used].any(axis=1)
    difference = (squares[0] - squares[1]).sum(axis=1)[rows][::apart]
    if len(difference) < 2:
        return False
    mean = float(difference.mean())
    deviation = float(np.sqrt(variance_of_sum(difference - mean))) / len(difference)
    return mean > SURE * deviation


def _checked(models: object) -> dict[str, Model]:
    if not isinstance(models, Mapping) or not models:
        raise InputError("models", models, "robots or fits by name, at least one")
    for name in models:
        if not isinstance(name, str) or not name.strip():
            raise InputError("name of a model", name, "a text")
    return dict(models)


def _laws(models: Mapping[str, Model], dynamics: Mapping[str, str] | None) -> Mapping[str, str]:
    laws = {} if dynamics is None else dict(dynamics)
    for name in laws:
        if name not in models:
            known = ", ".join(repr(item) for item in models)
            raise InputError("name in dynamics", name, f"one of the models: {known}")
    return laws
