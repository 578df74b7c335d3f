"""Monte Carlo: what doubt in the parameters does to torque and to tracking, without linearising.

Machines are drawn from a covariance of the parameters, and each is computed on its own: its torque
along a motion, or its run under a controller. The draws are NumPy's, so that the same seed gives
the same machines on a GPU and without JAX. `predicted_tracking` answers the second question by a
linear loop, in a second and with delays; here the machine is nonlinear and its drives are ideal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.backends.components import FrictionTerms, friction_terms, packed_torque
from deltadyn.backends.packed import packed_parameters, packing
from deltadyn.dynamics.inverse import check_state
from deltadyn.dynamics.regressor import regressor
from deltadyn.errors import InputError
from deltadyn.identification.fit import Fit
from deltadyn.identification.uncertainty import check_level
from deltadyn.motion.arguments import check_count
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot
from deltadyn.simulation.batch import simulate_batch
from deltadyn.simulation.controllers.feedforward import PD, PDFeedforward
from deltadyn.tracing import chosen_backend, doubles, jax_numpy, jitted

ROOM = {"numpy": 200_000, "jax": 20_000_000}  # torques in memory at a time


class Doubt(NamedTuple):
    """The robot that is believed, and machines drawn about it as packed numbers (D, COUNT)."""

    robot: Robot
    machines: FloatArray


@dataclass(frozen=True, eq=False)
class TorqueSpread:
    """Mean, standard deviation and quantiles (N, dof) of the torque along a motion, in N m.

    The torque is between `low` and `high` with the probability `level`.
    """

    mean: FloatArray
    std: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    draws: int


@dataclass(frozen=True, eq=False)
class TrackingSpread:
    """Tracking errors of drawn machines in rad: RMS over the motion, (draws, dof) in `rms`.

    `expected` (dof,) is their root mean square; the error is between `low` and `high` with the
    probability `level`. `lost` machines left the workspace and count in none of them.
    """

    rms: FloatArray
    expected: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    lost: int


def draw_machines(
    model: Fit | Robot,
    *,
    draws: int = 1000,
    seed: int = 0,
    covariance: npt.ArrayLike | None = None,
    names: tuple[str, ...] | None = None,
) -> FloatArray:
    """Packed numbers (draws, COUNT) of machines that a fit's covariance, or your own, allows.

    With a robot, `covariance` (k, k) is that of the parameters `names`, by default all of
    `regressor(robot).names`. Parameters that a fit's data do not tell stay at their values.
    """
    return _doubt(model, draws, seed, covariance, names).machines


def torque_spread(
    model: Fit | Robot,
    motion: Motion,
    *,
    draws: int = 1000,
    level: float = 0.9,
    seed: int = 0,
    covariance: npt.ArrayLike | None = None,
    names: tuple[str, ...] | None = None,
    backend: str = "auto",
) -> TorqueSpread:
    """The spread of the torque that a motion needs; arguments as for `draw_machines`."""
    check_level(level)
    doubt = _doubt(model, draws, seed, covariance, names)
    check_state(doubt.robot, motion)
    chosen, terms = chosen_backend(backend), friction_terms(doubt.machines)
    tail = (1 - level) / 2
    size = max(1, ROOM[chosen] // draws)
    parts = []
    for start in range(0, len(motion), size):
        rows = slice(start, start + size)
        states = tuple(x[rows] for x in (motion.p, motion.pd, motion.pdd))
        parts.append(_moments(chosen, doubt.machines, states, terms, tail))
    mean, std, low, high = (np.concatenate(column) for column in zip(*parts, strict=True))
    return TorqueSpread(mean, std, low, high, level, draws)


def tracking_spread(
    model: Fit | Robot,
    motion: Motion,
    controller: PD | None = None,
    *,
    rate: float = 2000.0,
    substeps: int = 1,
    draws: int = 200,
    level: float = 0.9,
    seed: int = 0,
    covariance: npt.ArrayLike | None = None,
    names: tuple[str, ...] | None = None,
    backend: str = "auto",
) -> TrackingSpread:
    """The spread of the tracking error of a controller on drawn machines.

    The controller is by default PD with the torque of the robot that is believed. Other arguments
    are as for `draw_machines` and `simulate_batch`.
    """
    check_level(level)
    doubt = _doubt(model, draws, seed, covariance, names)
    check_state(doubt.robot, motion)
    deployed = PDFeedforward(doubt.robot) if controller is None else controller
    run = simulate_batch(
        doubt.machines, motion, deployed, rate=rate, substeps=substeps, backend=backend
    )
    found = np.asarray(np.isfinite(run.q + run.rms).all(axis=1))
    rms = np.where(found[:, None], run.rms, np.nan)
    sound = rms[found]
    if not len(sound):
        raise InputError("machines that left the workspace", draws, "fewer than all of them")
    tail = (1 - level) / 2
    low, high = np.quantile(sound, [tail, 1 - tail], axis=0)
    expected = np.sqrt(np.mean(sound**2, axis=0))
    return TrackingSpread(rms, expected, low, high, level, int((~found).sum()))


def _moments(
    backend: str,
    machines: FloatArray,
    states: tuple[FloatArray, ...],
    terms: FrictionTerms,
    tail: float,
) -> tuple[FloatArray, ...]:
    """Mean, deviation and two quantiles (n, dof) over all machines."""
    if backend == "numpy":
        return _reduced(np, machines, states, terms, tail)
    with doubles():
        found = jitted(_on_jax, ("terms",))(
            jax_numpy().asarray(machines), states, tail, terms=terms
        )
        return tuple(np.asarray(x) for x in found)


def _on_jax(machines: Any, states: Any, tail: Any, terms: FrictionTerms) -> tuple[Any, ...]:
    return _reduced(jax_numpy(), machines, states, terms, tail)


def _reduced(
    xp: Any, machines: Any, states: Any, terms: FrictionTerms, tail: Any
) -> tuple[Any, ...]:
    tau: Any = packed_torque(machines[:, None], *states, friction=terms)  # (D, n, dof)
    low, high = xp.quantile(tau, xp.asarray([tail, 1 - tail]), axis=0)
    return tau.mean(axis=0), tau.std(axis=0, ddof=1), low, high


def _doubt(
    model: Fit | Robot,
    draws: int,
    seed: int,
    covariance: npt.ArrayLike | None,
    names: tuple[str, ...] | None,
) -> Doubt:
    check_count("draws", draws, 2)
    check_count("seed", seed, 0)
    if isinstance(model, Fit):
        if covariance is not None or names is not None:
            raise InputError("covariance and names", "given", "None with a Fit, which has its own")
        return _of_fit(model, draws, seed)
    if not isinstance(model, Robot):
        raise InputError("model", type(model).__name__, "a Fit or a Robot")
    if covariance is None:
        raise InputError("covariance", None, "(k, k), with a Robot")
    chosen = _names(model) if names is None else tuple(names)
    matrix = _covariance(covariance, len(chosen))
    moved = _normal(matrix, draws, seed) @ packing(chosen).T
    return Doubt(model, packed_parameters(model) + moved)


def _of_fit(fit: Fit, draws: int, seed: int) -> Doubt:
    par = fit.parametrisation
    if par.source != "exact":
        raise InputError("model of the fit", fit.model, "one with the exact model's parameters")
    P = packing(par.wide_names)
    base = np.where(P.any(axis=1), 0.0, packed_parameters(fit.nominal))
    x = fit.values + _normal(fit.uncertainty.known, draws, seed)
    return Doubt(fit.robot, base + (x @ par.T.T + par.offset) @ P.T)


def _names(robot: Robot) -> tuple[str, ...]:
    from deltadyn.dynamics.base import exciting_states

    return regressor(robot, exciting_states(robot, 1)).names


def _covariance(value: npt.ArrayLike, size: int) -> FloatArray:
    matrix = np.asarray(value, dtype=np.float64)
    if matrix.shape != (size, size):
        raise InputError("shape of covariance", matrix.shape, f"({size}, {size}), as names has")
    if not np.isfinite(matrix).all():
        raise InputError("covariance", "not finite", "finite numbers")
    return matrix


def _normal(covariance: FloatArray, draws: int, seed: int) -> FloatArray:
    """Normal deviates (draws, k) of this covariance."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = np.random.default_rng(seed).standard_normal((draws, len(root)))
    out: FloatArray = normal @ root.T
    return out
