"""The two-step identification as a fit: two recordings in, one fit out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.base import exciting_states
from deltadyn.dynamics.regressor import regressor
from deltadyn.errors import InputError
from deltadyn.identification.consistency import consistency
from deltadyn.identification.data import Prepared, as_recordings, prepare
from deltadyn.identification.fit import DataSource, Fit
from deltadyn.identification.parametrisation import Parametrisation
from deltadyn.identification.two_step import two_step
from deltadyn.identification.two_step_robot import (
    parameter,
    with_parameters,
    with_prismatic,
    without_rod,
)
from deltadyn.identification.uncertainty import Covariance
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot


def two_step_fit(
    robot: Robot, recordings: Recording | Iterable[Recording], given: dict[str, Any]
) -> Fit:
    """[telescopic2022]: the legs from the first recording, the rod from the second."""
    records = as_recordings(recordings)
    if len(records) != 2:
        raise InputError(
            "recordings",
            len(records),
            "two: the first made with the rod removed, the second with the rod",
        )
    for name, plain in (("gains", False), ("stribeck", False), ("unidentifiable", "raise")):
        if given[name] != plain:
            raise InputError(name, given[name], f"{plain!r} for the method 'two-step'")
    weights = given["weights"]
    legs, rod = (_prepared(robot, item, given) for item in records)
    found = two_step(
        robot,
        legs,
        rod,
        model=given["model"],
        tied=given["tied"] if isinstance(given["tied"], bool) else None,
        hold=given.get("hold"),
        weights="residual" if isinstance(weights, str) and weights == "covariance" else weights,
    )
    names = found.legs.names + found.rod.names
    units = found.legs.units + found.rod.units
    values = np.concatenate([found.legs.values, found.rod.values])
    std = np.concatenate([found.legs.std, found.rod.std])
    par = _parametrisation(with_prismatic(robot), given["model"], names, units)
    count = len(names)
    residual = np.append(found.rod.rms, np.nan)
    spread = Covariance(
        x=values,
        known=np.diag(std**2),
        white=np.diag(std**2),
        dof=np.full(count, np.inf),
        unknown=np.zeros(count, dtype=np.bool_),
        null=np.zeros((count, 0)),
        residual_std=residual,
        blocks=0,
        correlation=np.nan,
        status="Standard deviations from the scatter of blocks of time; the second step's hold "
        "what the first leaves open. Correlations between parameters are not kept.",
    )
    return Fit(
        method="two-step",
        robot=found.robot,
        nominal=with_prismatic(robot),
        parametrisation=par,
        values=values,
        uncertainty=spread,
        residual=residual,
        torque_level=np.append(found.rod.torque_rms, np.nan),
        weights=np.full(robot.dof, np.nan),
        identifiability=None,
        consistency=consistency(found.robot),
        status=found.status,
        converged=True,
        consistent=True,
        data=tuple(DataSource.of(item) for item in records),
        band=None,
        options=given,
        held=found.held,
        details=found.as_dict(),
    )


def _prepared(robot: Robot, recording: Recording, given: dict[str, Any]) -> Recording | Prepared:
    """The recording of a step, made ready as asked for; by default `two_step` does it."""
    chosen = {name: given[name] for name in ("band", "rates", "bandwidth")}
    if chosen == {"band": "auto", "rates": "auto", "bandwidth": None}:
        return recording
    if recording.dof == robot.dof:
        return prepare(robot, recording, **chosen)
    return prepare(without_rod(robot), recording, **chosen)


def _parametrisation(
    robot: Robot, model: str, names: tuple[str, ...], units: tuple[str, ...]
) -> Parametrisation:
    """One number per body and drive, as a map into the model's widest regressor: it is linear."""
    state = exciting_states(robot, 1)
    offset = True if model == "exact" else None

    def wide(changed: Robot) -> FloatArray:
        return regressor(changed, state, model, tied=False, com_offset=offset).parameters

    wide_names = regressor(robot, state, model, tied=False, com_offset=offset).names
    zero = wide(with_parameters(robot, dict.fromkeys(names, 1.0)))
    T = np.column_stack(
        [
            wide(with_parameters(robot, {**dict.fromkeys(names, 1.0), name: 2.0})) - zero
            for name in names
        ]
    )
    prior = np.array([parameter(robot, name) for name in names])
    known = zero - T.sum(axis=1)
    return Parametrisation(
        model, model, wide_names, names, units, prior, T, known, robot.equal_limbs
    )
