"""Monte Carlo: what doubt in the parameters does to torque and to tracking, without linearising.

Machines are drawn from a covariance of the parameters, and each is computed on its own: its torque
along a motion, or its run under a controller. The draws are NumPy's, so that the same seed gives
the same machines on a GPU and without JAX. `predicted_tracking` answers the second question by a
linear loop, in a second and with delays; here the machine is nonlinear and its drives are ideal.

The drawn parameters x are those of a regressor: masses, inertias and friction, never the geometry.
All machines therefore share the kinematics of the motion, and with the regressor Y (N dof, K) of
the motion, x = centre + S z and standard normal z,

    tau = Y centre + (Y S) z.

One small product Y S serves all machines, and one large product (N dof, k) (k, draws) gives all
torques. Friction that grows with the load adds mu |load| sign(qd), with load = Y x - rotor qdd of
the regressor without friction: a second product of the same kind.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.backends.components import (
    FrictionTerms,
    directions,
    friction_terms,
    packed_torque,
    pose_of_platform,
)
from deltadyn.backends.layout import COUNT, PLACES
from deltadyn.backends.packed import LIMB, packed_parameters, packing
from deltadyn.dynamics.inverse import check_state
from deltadyn.dynamics.motor import motor_torque
from deltadyn.dynamics.regressor import regressor
from deltadyn.errors import InputError
from deltadyn.kinematics.actuation import actuation
from deltadyn.motion.arguments import check_count, check_level
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot
from deltadyn.simulation.controllers.feedforward import PD, PDFeedforward
from deltadyn.simulation.presets import setting
from deltadyn.simulation.rollout import rollout
from deltadyn.tracing import chosen_backend, doubles, jax_numpy, jitted, split
from deltadyn.validation.evidence import knows_its_doubt

if TYPE_CHECKING:
    from deltadyn.identification.fit import Fit

ROOM = {"numpy": 200_000, "jax": 60_000_000}  # torques in memory at a time


#: Entries of the packed numbers in which the torque is linear; the shares of a load are apart.
LINEAR = (
    "M_P",
    *LIMB,
    "viscous",
    "coulomb",
    "coulomb_negative",
    "stribeck",
    "thinning",
    "offset",
    "ripple_cos",
    "ripple_sin",
)
BLOCK = 16_384  # machines that one stream of random numbers draws
SECTIONS = 8  # parts into which a pass cuts the range that holds a quantile
PASSES = 19  # 8**-19 of the range is below the rounding of its ends


@dataclass(frozen=True, eq=False)
class Doubt:
    """The robot that is believed, and machines drawn about it.

    The packed numbers of the machines are centre + directions root z: `centre` (COUNT,),
    `directions` (COUNT, k) of the doubtful parameters, `root` (k, k) of their covariance, and
    standard normal z, a row of `normal` (draws, k) each.
    """

    robot: Robot
    centre: FloatArray
    directions: FloatArray
    root: FloatArray
    normal: FloatArray

    def machines(self) -> FloatArray:
        """Packed numbers (draws, COUNT)."""
        return self.centre + (self.normal @ self.root.T) @ self.directions.T


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
    return _doubt(model, draws, seed, covariance, names).machines()


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
    found = _moments_of_motion(doubt, motion, (1 - level) / 2, chosen_backend(backend))
    return TorqueSpread(*found, level, draws)


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
    are as for `draw_machines` and `rollout`; the controller sees the true rates.
    """
    check_level(level)
    doubt = _doubt(model, draws, seed, covariance, names)
    check_state(doubt.robot, motion)
    deployed = PDFeedforward(doubt.robot) if controller is None else controller
    run = rollout(
        doubt.robot,
        dt=1 / setting("rate", rate, low=0.0, strict=True, unit="Hz"),
        motion=motion,
        controller=deployed,
        numbers=doubt.machines(),
        rates="true",
        substeps=substeps,
        backend=chosen_backend(backend),
    )
    assert run.rms is not None
    found = np.asarray(np.isfinite(run.q + run.rms).all(axis=1))
    rms = np.where(found[:, None], run.rms, np.nan)
    sound = rms[found]
    if not len(sound):
        raise InputError("machines that left the workspace", draws, "fewer than all of them")
    tail = (1 - level) / 2
    low, high = np.quantile(sound, [tail, 1 - tail], axis=0)
    expected = np.sqrt(np.mean(sound**2, axis=0))
    return TrackingSpread(rms, expected, low, high, level, int((~found).sum()))


class _States(NamedTuple):
    """A platform motion, (n, dof) each."""

    p: Any
    pd: Any
    pdd: Any


class _Numbers(NamedTuple):
    """All machines as centre + spread z over the K packed numbers in which the torque is linear.

    `units` (K, COUNT) is the geometry with one of these numbers at 1 and the others at 0: its
    torque is a column of the regressor. `packed` (COUNT,) and `moved` (COUNT, k) are centre and
    spread over all packed numbers.
    """

    units: Any
    centre: Any
    spread: Any
    packed: Any
    moved: Any


class _Moments(NamedTuple):
    """Mean, standard deviation and two quantiles of the torque over all machines, (n, dof) each."""

    mean: Any
    std: Any
    low: Any
    high: Any


def _moments_of_motion(doubt: Doubt, motion: Motion, tail: float, backend: str) -> _Moments:
    """Moments of all samples; on JAX every part is queued before the first is waited for."""
    numbers = _numbers(doubt)
    terms = friction_terms(np.vstack([doubt.centre, numbers.moved.T]))
    states = (motion.p, motion.pd, motion.pdd)
    arrays = 3 if terms.load or terms.motor_load else 1  # of a torque per sample and machine
    size = ROOM[backend] // (arrays * len(doubt.normal))
    with doubles() if backend == "jax" else nullcontext():
        xp = jax_numpy() if backend == "jax" else np
        moments = (
            jitted(_moments_on_jax, ("terms", "kind")) if backend == "jax" else _moments_on_numpy
        )
        normal = xp.asarray(doubt.normal)
        parts = [
            moments(
                numbers,
                normal,
                _States(*(x[rows] for x in states)),
                tail,
                terms=terms,
                kind=actuation(doubt.robot),
            )
            for rows in _equal_parts(len(motion), size)
        ]
        columns = [[np.asarray(x) for x in part] for part in parts]
    return _Moments(*(np.concatenate(x)[: len(motion)] for x in zip(*columns, strict=True)))


def _equal_parts(count: int, size: int) -> list[npt.NDArray[np.intp]]:
    """Rows in parts of one length up to `size`, for one compilation; the last row fills the end."""
    parts = -(-count // max(1, size))
    length = -(-count // parts)
    return [
        np.minimum(np.arange(start, start + length), count - 1) for start in range(0, count, length)
    ]


def _numbers(doubt: Doubt) -> _Numbers:
    moved = doubt.directions @ doubt.root
    linear = [place for name in LINEAR for place in range(COUNT)[PLACES[name]]]
    linear += range(COUNT)[PLACES["spindle"]][1:]  # the first is a length
    linear += range(COUNT)[PLACES["halves"]]
    used = [place for place in linear if doubt.centre[place] or moved[place].any()]
    fixed = doubt.centre.copy()
    fixed[linear] = 0.0
    units = fixed + np.eye(COUNT)[used]
    return _Numbers(units, doubt.centre[used], moved[used], doubt.centre, moved)


def _moments_on_numpy(
    numbers: _Numbers, normal: Any, states: _States, tail: float, terms: FrictionTerms, kind: str
) -> _Moments:
    middle, moved = _torques(np, numbers, normal, states, terms, kind)
    low, high = np.quantile(moved, [tail, 1 - tail], axis=1)
    return _reduced(middle, moved, low, high, states.p.shape)


def _moments_on_jax(
    numbers: _Numbers, normal: Any, states: _States, tail: Any, terms: FrictionTerms, kind: str
) -> _Moments:
    middle, moved = _torques(jax_numpy(), numbers, normal, states, terms, kind)
    low, high = _selected_quantiles(moved, tail)
    return _reduced(middle, moved, low, high, states.p.shape)


def _reduced(middle: Any, moved: Any, low: Any, high: Any, shape: Any) -> _Moments:
    mean, std = moved.mean(axis=1), moved.std(axis=1, ddof=1)
    found = (middle + mean, std, middle + low, middle + high)
    return _Moments(*(x.reshape(shape) for x in found))


def _torques(
    xp: Any, numbers: _Numbers, normal: Any, states: _States, terms: FrictionTerms, kind: str
) -> tuple[Any, Any]:
    """Torque (n dof,) at the centre, and what the machines add to it (n dof, draws), in N m."""

    def products(friction: FrictionTerms | bool) -> tuple[Any, Any]:
        units = xp.asarray(numbers.units)[:, None]
        columns: Any = packed_torque(units, *states, friction=friction, kind=kind)
        Y = xp.moveaxis(columns, 0, -1).reshape(-1, len(numbers.units))  # (n dof, K)
        return Y @ numbers.centre, (Y @ numbers.spread) @ normal.T

    middle, moved = products(terms._replace(load=False, motor_load=False))
    if not terms.load and not terms.motor_load:
        return middle, moved
    n, dof = states.p.shape
    packed, share = split(xp.asarray(numbers.packed)), PLACES["load"]
    if terms.motor_load:
        share = PLACES["motor_load"]
    pose = pose_of_platform(xp, packed, split(states.p), split(states.pd), split(states.pdd), kind)
    sign = xp.stack(directions(xp, packed, pose.qd, terms), axis=1).reshape(-1, 1)  # (n dof, 1)
    mu = numbers.packed[share][:dof, None] + numbers.moved[share][:dof] @ normal.T  # (dof, draws)
    lost = xp.tile(mu, (n, 1))
    if terms.motor_load:  # homogeneous: the scale of the drives does not matter
        whole = motor_torque(xp, middle[:, None] + moved, lost, sign)
        return middle, whole - middle[:, None]
    inertia = numbers.packed[PLACES["torque_ratio"]] * numbers.packed[PLACES["rotor"]]
    rotor = inertia[:dof] * xp.stack(pose.qdd, axis=1)
    rigid, rigid_moved = products(False)
    load = (rigid - rotor.reshape(-1))[:, None] + rigid_moved
    return middle, moved + lost * xp.abs(load) * sign


# Quantiles without sorting.
#
# A quantile lies between two neighbours in order, of rank r and r + 1. Sorting 1e5 torques of every
# sample to find two pairs is most of the work on a GPU. Instead a bracket (low, high] that holds
# rank r is cut into SECTIONS equal parts, one pass over the torques counts how many lie below
# every cut, and the part that holds rank r is the next bracket. Once r is the first or the last
# rank in the bracket, the torque itself is the least above `low` or the greatest up to `high`.
# Seven passes serve 1e5 draws; both quantiles share a pass. The result is that of a sort.


class _Bracket(NamedTuple):
    """Ends (R, 2) of brackets and how many torques are up to each end; number of passes so far."""

    low: Any
    high: Any
    below: Any
    upto: Any
    passes: Any


def _selected_quantiles(values: Any, tail: Any) -> tuple[Any, Any]:
    """The quantiles `tail` and 1 - `tail` (R,) of every row (R, draws), as `numpy.quantile`."""
    jnp, lax = jax_numpy(), import_module("jax.lax")
    draws = values.shape[1]
    position = (draws - 1) * jnp.stack([jnp.asarray(tail), 1 - tail])
    ranks = jnp.minimum(jnp.floor(position).astype(jnp.int32), draws - 2)
    part = jnp.arange(1, SECTIONS) / SECTIONS

    def unsettled(now: _Bracket) -> Any:
        settled = (now.below == ranks) | (now.upto == ranks + 1)
        return (now.passes < PASSES) & ~settled.all()

    def cut(now: _Bracket) -> _Bracket:
        low, high = now.low[..., None], now.high[..., None]
        cuts = low + (high - low) * part  # (R, 2, SECTIONS - 1)
        counts = _counts(values, cuts)
        place = (counts <= ranks[:, None]).sum(axis=-1, keepdims=True)
        ends = jnp.concatenate([low, cuts, high], axis=-1)
        upto = jnp.concatenate([now.below[..., None], counts, now.upto[..., None]], axis=-1)

        def chosen(array: Any, step: int) -> Any:
            return jnp.take_along_axis(array, place + step, axis=-1)[..., 0]

        return _Bracket(
            chosen(ends, 0), chosen(ends, 1), chosen(upto, 0), chosen(upto, 1), now.passes + 1
        )

    end = lax.while_loop(unsettled, cut, _whole_range(values))
    found = []
    for k in range(2):
        low, high = end.low[:, k, None], end.high[:, k, None]
        first = jnp.where(values > low, values, jnp.inf).min(axis=1)
        last = jnp.where(values <= high, values, -jnp.inf).max(axis=1)
        value = jnp.where(end.below[:, k] == ranks[k], first, last)
        above = values > value[:, None]
        tied = draws - above.sum(axis=1) > ranks[k] + 1
        after = jnp.where(tied, value, jnp.where(above, values, jnp.inf).min(axis=1))
        found.append(value + (position[k] - ranks[k]) * (after - value))
    return found[0], found[1]


def _whole_range(values: Any) -> _Bracket:
    """Brackets of all torques: their low end is a little below the least."""
    jnp = jax_numpy()
    low, high = values.min(axis=1), values.max(axis=1)
    low = low - 1e-15 * (abs(low) + (high - low) + 1e-290)
    none = jnp.zeros(len(values), dtype=jnp.int32)
    low, high, below, upto = (
        jnp.stack([x, x], axis=1) for x in (low, high, none, none + values.shape[1])
    )
    return _Bracket(low, high, below, upto, 0)


def _counts(values: Any, cuts: Any) -> Any:
    """How many values of a row (R, draws) are up to every cut (R, 2, m), in one pass over them."""
    jnp, lax = jax_numpy(), import_module("jax.lax")
    flat = cuts.reshape(len(cuts), -1)
    found = [(values <= flat[:, j, None]).astype(jnp.int32) for j in range(flat.shape[1])]
    zero = jnp.zeros((), dtype=jnp.int32)

    def add(left: Any, right: Any) -> Any:
        return tuple(a + b for a, b in zip(left, right, strict=True))

    counts = lax.reduce(tuple(found), (zero,) * len(found), add, (1,))
    return jnp.stack(counts, axis=-1).reshape(cuts.shape)


def _doubt(
    model: Fit | Robot,
    draws: int,
    seed: int,
    covariance: npt.ArrayLike | None,
    names: tuple[str, ...] | None,
) -> Doubt:
    check_count("draws", draws, 2)
    check_count("seed", seed, 0)
    if not isinstance(model, Robot):
        if not knows_its_doubt(model):
            raise InputError("model", type(model).__name__, "a Fit or a Robot")
        if covariance is not None or names is not None:
            raise InputError("covariance and names", "given", "None with a Fit, which has its own")
        return _of_fit(model, draws, seed)
    if covariance is None:
        raise InputError("covariance", None, "(k, k), with a Robot")
    chosen = _names(model) if names is None else tuple(names)
    matrix = _covariance(covariance, len(chosen))
    root, normal = covariance_root(matrix), _normal(draws, len(matrix), seed)
    return Doubt(
        model, packed_parameters(model), packing(chosen, _orders(model), model.legs), root, normal
    )


def _of_fit(fit: Fit, draws: int, seed: int) -> Doubt:
    par = fit.parametrisation
    if par.source != "exact":
        raise InputError("model of the fit", fit.model, "one with the exact model's parameters")
    own = len(par.wide_names) - len(par.log_names)  # what belongs to a log is not packed
    P = packing(par.wide_names[:own], _orders(fit.nominal), fit.nominal.legs)
    base = np.where(P.any(axis=1), 0.0, packed_parameters(fit.nominal))
    root = covariance_root(fit.uncertainty.known)
    centre = base + P @ par.wide(fit.values)[:own]
    return Doubt(fit.robot, centre, P @ par.T[:own], root, _normal(draws, len(root), seed))


def _names(robot: Robot) -> tuple[str, ...]:
    from deltadyn.dynamics.base import exciting_states

    return regressor(robot, exciting_states(robot, 1)).names


def _orders(robot: Robot) -> tuple[float, ...]:
    return tuple(wave.order for wave in robot.drives.ripple)


def _covariance(value: npt.ArrayLike, size: int) -> FloatArray:
    matrix = np.asarray(value, dtype=np.float64)
    if matrix.shape != (size, size):
        raise InputError("shape of covariance", matrix.shape, f"({size}, {size}), as names has")
    if not np.isfinite(matrix).all():
        raise InputError("covariance", "not finite", "finite numbers")
    return matrix


def covariance_root(covariance: FloatArray) -> FloatArray:
    """R with R R^T the covariance, whose negative eigenvalues count as zero."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    out: FloatArray = vectors * np.sqrt(np.maximum(values, 0.0))
    return out


def _normal(draws: int, count: int, seed: int) -> FloatArray:
    """Standard normal deviates (draws, count): blocks of rows, each with a stream of its own.

    The first block has the stream of the seed itself. NumPy draws without holding the interpreter,
    so threads draw blocks side by side, and the numbers depend on the seed alone.
    """
    out = np.empty((draws, count))
    starts = range(0, draws, BLOCK)
    streams = [seed, *np.random.SeedSequence(seed).spawn(len(starts) - 1)]

    def fill(start: int, stream: Any) -> None:
        np.random.default_rng(stream).standard_normal(out=out[start : start + BLOCK])

    if len(starts) == 1:
        fill(0, seed)
        return out
    with ThreadPoolExecutor(max_workers=min(len(starts), os.cpu_count() or 1)) as pool:
        list(pool.map(fill, starts, streams))
    return out
