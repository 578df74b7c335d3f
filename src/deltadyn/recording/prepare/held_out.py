"""The rows of a log beside a model: the same for a prediction, a validation, a verdict and a page.

What a fit takes out of its log before it looks at torque is taken out of every log that the fit is
held against: the delay of the torque, the waves of the encoders, the wind-up of the gears, and the
rows at which an axis rests. Both torques pass one filter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.errors import InputError
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare import gears
from deltadyn.recording.prepare.band import OVERSAMPLING, choose_band
from deltadyn.recording.prepare.corrections import corrected
from deltadyn.recording.prepare.data import (
    AT_REST,
    Prepared,
    Rates,
    checked_band,
    parts_in_band,
    prepared_parts,
)
from deltadyn.recording.prepare.moving import moving_rows, rest_rates
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot

Torque = Callable[[State, float | None, float], FloatArray]
Band = float | Literal["auto"] | None
MIN_ROWS = 32  # that must be left in the band
FINE = 4  # times as many rows for figures and extremes as a fit of the same band needs


# A model along a log.


@dataclass(frozen=True, eq=False)
class LogModel:
    """A model as it is held against a log: its torque, and what it knows of the log.

    `torque` gives the true torque (N, dof) of a state with rigid gears; it also takes the payload
    (kg, None: the robot's own) and the standard deviation of the rates (rad/s, 0 where they are not
    estimated). `log_values` are the delay and the waves of the encoders by the names of a fit's
    parameters, `gains` (dof,) the true torque per reported torque.
    """

    robot: Robot
    torque: Torque
    gains: FloatArray
    log_values: Mapping[str, float] = field(default_factory=dict)

    def see(self, part: Prepared) -> Prepared:
        """A part of a log as the model's torque holds for it, in reported torque.

        It has neither the delay nor the waves of the encoders, and the motion of the arms behind
        elastic gears.
        """
        seen = corrected(self.robot, part, self.log_values) if self.log_values else part
        if self.robot.drives.stiffness is None:
            return seen
        robot = with_smoothing(self.robot, rate_noise(part))
        arms = gears.behind_gears(robot, replace(seen, tau=seen.tau * self.gains))
        return replace(arms, tau=arms.tau / self.gains)

    def along(self, part: Prepared, payload: float | None) -> FloatArray:
        """The torque (N, dof) that the drives would report along a part of a log."""
        return self.reported(part, self.see(part), payload)

    def reported(self, part: Prepared, seen: Prepared, payload: float | None) -> FloatArray:
        """The same of a part that is `seen` already."""
        own = np.asarray(self.torque(seen.state, payload, rate_noise(part)), dtype=np.float64)
        return own / self.gains + (part.tau - seen.tau)


def loaded_torque(robot: Robot, torque: Callable[[State], FloatArray]) -> Torque:
    """A torque of a state that a payload changes as it changes that of the robot."""

    def with_payload(state: State, payload: float | None, noise: float) -> FloatArray:
        own, loaded = np.asarray(torque(state), dtype=np.float64), carrying(robot, payload)
        if loaded is robot:
            return own
        return own + inverse_dynamics(loaded, state) - inverse_dynamics(robot, state)

    return with_payload


def carrying(robot: Robot, payload: float | None) -> Robot:
    """The robot with this payload (kg) where its own is; None leaves it as it is."""
    if payload is None or payload == robot.payload.mass:
        return robot
    return robot.with_payload(payload, robot.payload.offset, robot.payload.inertia_zz)


def with_smoothing(robot: Robot, noise: float) -> Robot:
    """The robot with a direction of friction that fades below the noise (rad/s) of the rates."""
    if noise > 0 and robot.friction.smoothing is None:
        return robot.with_friction(smoothing=AT_REST * noise)
    return robot


def rate_noise(part: Prepared) -> float:
    """Standard deviation of the noisiest rate in rad/s; 0 where rates were not estimated."""
    return 0.0 if part.rate_noise is None else float(np.nanmax(part.rate_noise))


# The stretches of logs, in one band, and the rows at which axes move.


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Recordings made ready for any number of models, all in one band.

    `parts` holds the stretches without gaps of each recording, `rest` (dof,) the rate in rad/s
    below which an axis rests.
    """

    recordings: tuple[Recording, ...]
    parts: tuple[tuple[Prepared, ...], ...]
    rest: FloatArray

    @property
    def band(self) -> float | None:
        """Hz of the comparison; None: the samples as they are."""
        return self.parts[0][0].band

    def all_parts(self) -> list[Prepared]:
        """The stretches of all recordings."""
        return [part for own in self.parts for part in own]

    def moving(self, part: Prepared) -> BoolArray:
        """The rows (M, dof) of a part at which an axis moves."""
        return moving_rows(part, self.rest)


def prepare_held_out(
    robot: Robot,
    recordings: Sequence[Recording],
    band: Band = "auto",
    rates: Rates = "auto",
    rest: Sequence[float] | None = None,
) -> HeldOutRows:
    """Recordings made ready for models of a robot.

    `band` and `rates` are those of `validate`. `rest` are the rates below which a fit has found its
    axes at rest.
    """
    if isinstance(band, str) and band != "auto":
        raise InputError("band", band, "'auto', a frequency above 0 Hz, or None")
    parts = [
        tuple(prepared_parts(robot, recording, rates=rates, size=None)) for recording in recordings
    ]
    for recording, own in zip(recordings, parts, strict=True):
        if not own:
            allowed = "at least 8 samples in a row without a gap"
            raise InputError("longest stretch", "shorter", allowed, where=repr(recording.name))
    every = [part for own in parts for part in own]
    if not isinstance(band, str):
        chosen = checked_band(band)
    elif robot.drives.stiffness is not None:
        rate = min(part.rate for part in every)
        chosen = min(gears.BAND, rate / OVERSAMPLING)
    else:
        chosen = choose_band(robot, every)
    limited = tuple(parts_in_band(own, chosen) for own in parts)
    for recording, own in zip(recordings, limited, strict=True):
        left = sum(len(finer(part).times) for part in own)
        if left < MIN_ROWS:
            allowed = f"at least {MIN_ROWS}; take a wider band, or None"
            raise InputError("samples left in the band", left, allowed, where=repr(recording.name))
    return HeldOutRows(tuple(recordings), limited, rest_rates(robot, every, rest))


def finer(part: Prepared) -> Prepared:
    """The same stretch in the same band with more rows."""
    if part.filter is None:
        return part
    step = part.filter.step
    fine = max(d for d in range(1, step + 1) if step % d == 0 and (d == 1 or d * FINE <= step))
    return replace(part, filter=replace(part.filter, step=fine))
