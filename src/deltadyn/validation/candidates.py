"""What a residual may consist of: one column per parameter that a model may lack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics.friction import direction
from deltadyn.dynamics.terms import platform_map
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.validation.evidence import Piece, rate_noise
from deltadyn.validation.predictor import Predictor, carrying

STEP = 1e-3  # rad, of the differences for homing
SMOOTH = 0.01  # of the largest rate: within it the direction changes, unless the robot says
STRIBECK = 0.06  # of the largest rate: the Stribeck velocity, unless the robot says


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
        ("offset", "constant torque", "N m", np.ones_like(piece.raw)),
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
    own, qd = robot.friction, state.qd
    moving = np.maximum(peak, 1e-12)
    width = SMOOTH * moving if own.smoothing is None else np.full(robot.dof, own.smoothing)
    s = direction(qd / width, 1.0)
    slow = STRIBECK * moving if own.stribeck_velocity is None else own.stribeck_velocity
    yield "friction", "viscous", "N m s/rad", qd
    yield "friction", "coulomb", "N m", s
    yield "friction", "stribeck", "N m", s * np.exp(-((qd / np.asarray(slow)) ** 2))


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
