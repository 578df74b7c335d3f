"""Stribeck friction: linear fits in turn with a small search for the Stribeck velocities.

Fs s exp(-(qd/vs)^2) is linear in Fs and not in vs. With the torque of all else from the last fit,
vs of each drive is found by itself, where [qd, s, s exp(-(qd/vs)^2)] explains best what is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.friction import direction
from deltadyn.errors import InputError
from deltadyn.identification.extra import Extra
from deltadyn.identification.information import triangle, wide_regressor
from deltadyn.identification.loading import Loaded
from deltadyn.identification.methods.base import axis_weights, least
from deltadyn.identification.parametrisation import SOURCES, Parametrisation, parametrise
from deltadyn.recording.prepare.data import Prepared
from deltadyn.robot import Robot

FIRST = 0.1  # of an axis' highest rate: where the search starts
LOWEST, HIGHEST = 0.01, 0.5  # of an axis' highest rate: below, no sample is slow enough
GRID = 24  # velocities that are tried before the best is refined
ROUNDS = 12
GAIN = 1e-3  # share of the squares that the best velocity must save against the worst
SETTLED = 0.01  # relative change of the velocities that ends the rounds
READ = 200_000  # samples that are looked at


@dataclass(frozen=True, eq=False)
class Stribeck:
    """Velocities (dof,) in rad/s, the rounds it took, and a sentence."""

    velocity: FloatArray
    rounds: int
    status: str


def settle_stribeck(loaded: Loaded, model: str, tied: bool | None) -> Stribeck:
    """Give the robot of the data a Stribeck term on every drive, with velocities from the data."""
    if SOURCES.get(model) is None:
        raise InputError("model", model, "one of " + ", ".join(SOURCES))
    parts = _some(loaded)
    robot = loaded.robot
    if robot.friction.stribeck_velocity is None:
        highest = np.max([np.abs(part.state.qd).max(axis=0) for part in parts], axis=0)
        robot = _with_velocity(robot, FIRST * highest)
    rounds, change = 0, np.inf
    while rounds < ROUNDS and change >= SETTLED:
        rounds += 1
        loaded.robot = robot
        information = loaded.information(SOURCES[model])
        par = information.extended(parametrise(robot, model, tied=tied))
        x = least(information.factor(par, axis_weights(information, par)))
        before = np.asarray(robot.friction.stribeck_velocity)
        after = np.array(
            [_best(robot, par, x, parts, axis, loaded.extra) for axis in range(robot.dof)]
        )
        robot = _with_velocity(robot, after)
        change = float(np.abs(after / before - 1).max())
    loaded.robot = robot
    text = ", ".join(f"{v:.3g}" for v in after)
    ending = "settled" if change < SETTLED else f"still moved by {100 * change:.2g} %"
    return Stribeck(
        after, rounds, f"Stribeck velocities {text} rad/s, {ending} in {rounds} rounds."
    )


def _with_velocity(robot: Robot, velocity: FloatArray) -> Robot:
    level = robot.friction.stribeck
    return robot.with_friction(
        stribeck=(0.0,) * robot.dof if level is None else level,
        stribeck_velocity=tuple(float(v) for v in velocity),
    )


def _best(
    robot: Robot,
    par: Parametrisation,
    x: FloatArray,
    parts: list[Prepared],
    axis: int,
    extra: Extra | None = None,
) -> float:
    """The velocity in rad/s at which an axis' friction explains best what the others leave.

    No coefficient is negative. Where no velocity explains more than none, the present one stays.
    """
    from scipy.optimize import minimize_scalar, nnls  # takes longer than the rest of the import

    friction = [
        name in (f"Fv{axis + 1}", f"Fc{axis + 1}", f"Fs{axis + 1}") for name in par.wide_names
    ]
    wide = np.where(friction, 0.0, par.wide(x))
    left, rates, used = [], [], []
    for part in parts:
        rest = part.tau[:, axis] - wide_regressor(robot, part, par.source, extra)[:, axis] @ wide
        keep = None if extra is None else extra.kept(part)
        used.append(slice(None) if keep is None else keep[:, axis])
        left.append(part.limited(rest)[used[-1]])
        rates.append(part.state.qd[:, axis])
    highest = max(float(np.abs(rate).max()) for rate in rates)
    target = np.concatenate(left)

    def misfit(log_velocity: float) -> float:
        rows = [
            part.limited(_columns(rate, float(np.exp(log_velocity)), robot.friction.smoothing))[own]
            for part, rate, own in zip(parts, rates, used, strict=True)
        ]
        R = triangle(np.column_stack([np.concatenate(rows), target]))
        return float(nnls(R[:, :3], R[:, 3])[1]) ** 2

    grid = np.linspace(np.log(LOWEST * highest), np.log(HIGHEST * highest), GRID)
    values = [misfit(point) for point in grid]
    best = int(np.argmin(values))
    if values[best] > (1 - GAIN) * max(values):
        return float(np.asarray(robot.friction.stribeck_velocity)[axis])
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, GRID - 1)]
    return float(np.exp(minimize_scalar(misfit, bounds=(low, high), method="bounded").x))


def _columns(rate: FloatArray, velocity: float, smoothing: float | None) -> FloatArray:
    s = direction(rate, smoothing)
    return np.column_stack([rate, s, s * np.exp(-((rate / velocity) ** 2))])


def _some(loaded: Loaded) -> list[Prepared]:
    """Parts of the recordings, up to a number of samples."""
    kept: list[Prepared] = []
    for part in loaded.parts():
        kept.append(part)
        if sum(map(len, kept)) >= READ:
            break
    return kept
