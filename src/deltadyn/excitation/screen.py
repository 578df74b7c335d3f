"""Thousands of random motions at once, as starts for the search.

Every motion is widened until it touches a limit, as one search does it with its own start, and
judged by the criterion. All motions go through the model together: with JAX in one compiled
program, with NumPy in chunks. The draws are NumPy's, so both judge the same motions. The force in
the struts is left out here and looked at in the search.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.backends import components
from deltadyn.backends.packed import packed_parameters
from deltadyn.excitation.columns import exact_regressor, pose_of
from deltadyn.excitation.criteria import criterion_by_name
from deltadyn.excitation.problem import Problem, Row, Setting, limit_rows
from deltadyn.excitation.search import HALVINGS
from deltadyn.tracing import chosen_backend, doubles, jax_numpy, jitted, repeat

DOUBLINGS = 12  # of the width, from NARROW on: 200 times
NARROW = 0.05
CHUNK = {"numpy": 32, "jax": 4096}  # motions at a time


class Start(NamedTuple):
    """Variables of a motion that touches a limit, and its objective (smaller is better)."""

    x: FloatArray
    value: float


class Judged(NamedTuple):
    """Of S motions: how wide they may be (0: not at all), information (S, n, n), speed term."""

    width: Any
    information: Any
    speed: Any


def best_starts(
    problem: Problem, starts: int, keep: int, seed: int, backend: str = "auto"
) -> list[Start]:
    """The best `keep` of `starts` random motions, best first; fewer where fewer are feasible."""
    x = drawn(problem, starts, seed)
    still = x[:, :, :1] * problem.setting.half[:, None]  # (S, dof, 1)
    moving = np.where(np.arange(x.shape[2]) > 0, x, 0.0) * problem.setting.half[:, None]
    offset = problem.setting.centre + still[:, :, 0]
    judged = _judged(problem, offset, moving, chosen_backend(backend))
    values = _values(problem.setting, judged)
    order = np.lexsort((np.arange(starts), values))[:keep]
    wide = np.where(np.arange(x.shape[2]) > 0, judged.width[:, None, None], 1.0)
    variables = (x * wide)[:, problem.free]
    return [Start(variables[k], float(values[k])) for k in order if math.isfinite(values[k])]


def drawn(problem: Problem, starts: int, seed: int) -> FloatArray:
    """Random coefficients (S, dof, 2 H + 1), spread as those of `search.random_motion`."""
    rng = np.random.default_rng((seed, problem.periods))
    x = rng.uniform(-1.0, 1.0, (starts, *problem.free.shape)) * problem.order
    x[:, :, 0] = rng.uniform(-0.9, 0.9, x.shape[:2])
    # points of the square outside of the circle: drawn in again, along their radius
    far = np.hypot(x[:, 0, 0], x[:, 1, 0])
    x[:, :2, 0] *= np.where(far > 0.9, 0.9 / np.maximum(far, 0.9), 1.0)[:, None]
    x[:, 3:, 0] /= 2  # psi: nearer to the middle of its long range
    return np.where(problem.free, x, 0.0)


def _judged(problem: Problem, offset: FloatArray, moving: FloatArray, backend: str) -> Judged:
    setting = replace(problem.setting, rules=replace(problem.setting.rules, struts=False))
    size = CHUNK[backend]
    parts = []
    for first in range(0, len(offset), size):
        rows = slice(first, first + size)
        if backend == "jax":
            with doubles():
                basis, given = problem.basis, (offset[rows], moving[rows])
                found = jitted(_on_jax, ("setting",))(basis, *given, setting=_Same(setting))
                parts.append(Judged(*(np.asarray(part) for part in found)))
        else:
            with np.errstate(all="ignore"):
                parts.append(judge(np, setting, problem.basis, offset[rows], moving[rows]))
    return Judged(*(np.concatenate(column) for column in zip(*parts, strict=True)))


class _Same:
    """A setting by its contents, so that a compiled program serves settings that are alike."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.key = repr([getattr(setting, name) for name in vars(setting)])

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.key == self.key


def _on_jax(basis: Any, offset: Any, moving: Any, setting: _Same) -> Judged:
    return judge(jax_numpy(), setting.setting, basis, offset, moving)


def judge(xp: Any, setting: Setting, basis: Any, offset: Any, moving: Any) -> Judged:
    """Width, information and speed of motions about offsets (S, dof), coefficients (S, dof, m)."""
    wave = xp.einsum("dnm,sam->dasn", basis, moving)  # (3, dof, S, N)
    rest = xp.zeros_like(wave[0]) + offset.T[:, :, None]

    def motion(width: Any) -> Any:
        z = wave * width[:, None]
        z = xp.concatenate([z[:1] + rest, z[1:]])
        return z.reshape(-1, *z.shape[2:])

    def use(width: Any) -> Any:
        pose = pose_of(setting.robot, motion(width))
        return _worst(
            xp, limit_rows(setting.robot, pose, _torque(xp, setting, pose), setting.rules)
        )

    nothing = xp.zeros_like(offset[:, 0])

    def step(carry: Any) -> Any:
        k, low, high, going = carry
        doubling = k <= DOUBLINGS
        trial = xp.where(k == 0, 0.0, xp.where(doubling, high, (low + high) / 2))
        fits = use(trial) <= 1
        going = going & fits
        wider = xp.where(going & (k > 0), 2 * high, high)
        high = xp.where(doubling, wider, xp.where(fits, high, trial))
        low = xp.where(fits & (going | ~doubling), trial, low)
        return k + 1, low, xp.where(k == 0, xp.where(fits, NARROW, 0.0), high), going

    start = (xp.asarray(0), nothing, nothing, nothing == 0)
    _, width, _, _ = repeat(xp, 1 + DOUBLINGS + HALVINGS, step, start)
    pose = pose_of(setting.robot, motion(width))
    Y = _columns(setting, pose)[setting.chosen] * setting.weights[:, None, None]
    information = xp.einsum("jdsn,kdsn->sjk", Y, Y) / Y.shape[-1]
    return Judged(width, information, _speed(xp, setting, pose))


def _columns(setting: Setting, pose: Any) -> Any:
    return exact_regressor(setting.robot, pose, tied=setting.tied)


def _torque(xp: Any, setting: Setting, pose: Any) -> Any:
    """Torque (dof, S, N) in N m; through the columns where friction sits in passive joints."""
    robot = setting.robot
    if robot.friction.passive:
        return xp.tensordot(setting.values, _columns(setting, pose), axes=1)
    par = packed_parameters(robot)
    names = ("cos_q", "sin_q", *components.Pose._fields[2:])
    state = components.Pose(*(tuple(getattr(pose, name)) for name in names))
    return xp.stack(components.torque(xp, tuple(par), state, components.friction_terms(par)))


def _worst(xp: Any, rows: list[Row]) -> Any:
    """The largest g (S,) of all rows; infinite where one does not exist."""
    peaks = [(row.g.mean(axis=-1) if row.mean else row.g.max(axis=-1)).max(axis=0) for row in rows]
    most = xp.stack(peaks).max(axis=0)
    return xp.where(xp.isfinite(most), most, xp.inf)


def _speed(xp: Any, setting: Setting, pose: Any) -> Any:
    rate = setting.robot.limits.rate
    if rate is None or setting.velocity_weight == 0:
        return xp.zeros_like(pose.p[0, :, 0])
    share = pose.qd / np.asarray(rate)[:, None, None]
    return setting.velocity_weight * xp.sqrt((share**2).mean(axis=(0, 2)))


def _values(setting: Setting, judged: Judged) -> FloatArray:
    """Criterion less the speed term (S,); infinite for motions that are not feasible."""
    criterion = criterion_by_name(setting.criterion)
    values = np.full(len(judged.width), np.inf)
    sound = (judged.width > 0) & np.isfinite(judged.information).all(axis=(1, 2))
    sound &= (contract("sii->si", judged.information) > 0).all(axis=1)
    with np.errstate(all="ignore"):
        for k in np.flatnonzero(sound):
            value = criterion(judged.information[k], setting.scale).value - judged.speed[k]
            values[k] = value if math.isfinite(value) else np.inf
    return values
