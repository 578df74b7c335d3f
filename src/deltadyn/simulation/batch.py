"""Many robots at once: Runge-Kutta rollouts of machines that each have their own numbers.

The plant is the exact model with the drives' friction and stiff gears; the controller is PD with a
torque from a table, computed at every tick and held until the next. With JAX the whole run is one
compiled loop, on a GPU for a million machines; with NumPy it is the same arithmetic in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import Component, FloatArray
from deltadyn.backends import components
from deltadyn.backends.components import FrictionTerms, friction_terms
from deltadyn.backends.layout import COUNT
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.errors import InputError
from deltadyn.motion.arguments import check_count
from deltadyn.motion.motion import Motion
from deltadyn.simulation.controllers.feedforward import PD, PDFeedforward
from deltadyn.simulation.drive.reference import resampled
from deltadyn.simulation.presets import setting
from deltadyn.tracing import chosen_backend, doubles, jax_numpy, jitted, scan, split

Components = tuple[Component, ...]
AHEAD = (0.0, 0.5, 0.5, 1.0)  # where the stages of Runge-Kutta look, in steps
WEIGHT = (1 / 6, 1 / 3, 1 / 3, 1 / 6)


@dataclass(frozen=True, eq=False)
class BatchRun:
    """Where N machines ended, and how well they followed.

    `q`, `qd` (N, dof) are those after the last tick, `rms` and `peak` (N, dof) the tracking errors
    at the ticks in rad. `q_ticks` (K, N, dof) holds the angles at the K ticks, None unless asked
    for. Rows of machines that left the workspace are NaN; `lost` counts them.
    """

    q: FloatArray
    qd: FloatArray
    rms: FloatArray
    peak: FloatArray
    t: FloatArray  # (K,), s
    q_ticks: FloatArray | None

    @property
    def lost(self) -> int:
        """Machines that left the workspace."""
        return int((~np.isfinite(self.q).all(axis=-1)).sum())


class Course(NamedTuple):
    """What the drives know of every tick: reference q, qd and torque fed forward, (K, dof)."""

    q: Any
    qd: Any
    tau: Any


class Inputs(NamedTuple):
    """Numbers (N, COUNT), first q and qd (N, dof), the course, gains (2, dof), seconds a tick."""

    par: Any
    q: Any
    qd: Any
    course: Course
    gains: Any
    step: Any


class Results(NamedTuple):
    """q, qd (N, dof) at the end, errors (N, dof), angles of all ticks (K, N, dof) or None."""

    q: Any
    qd: Any
    rms: Any
    peak: Any
    q_ticks: Any


class Plan(NamedTuple):
    """Settings that choose the compiled program."""

    substeps: int
    friction: FrictionTerms | None
    keep: bool


def simulate_batch(
    par: FloatArray,
    motion: Motion,
    controller: PD,
    *,
    rate: float = 2000.0,
    substeps: int = 1,
    q: Any = None,
    qd: Any = None,
    torque: Any = None,
    friction: bool | FrictionTerms = True,
    keep: bool = False,
    backend: str = "auto",
) -> BatchRun:
    """Let N machines with the numbers `par` (N, COUNT) follow a motion under one controller.

    `par` comes from `packed_parameters`, a row per machine. The controller is `PD` or
    `PDFeedforward`; its gains, and the torque that its own robot would need in the middle of the
    tick, are the same for all. `torque` (K, dof) replaces that torque, one row per tick. Machines
    begin on the motion, or at `q`, `qd` (N, dof). Every tick at `rate` hertz is integrated by
    `substeps` Runge-Kutta steps of order 4. Give friction a smoothing velocity: a jump at rest
    makes small steps chatter. `keep` holds the angles of all ticks. In float64 in any case.
    """
    numbers = _numbers(par)
    rate = setting("rate", rate, low=0.0, strict=True, unit="Hz")
    check_count("substeps", substeps, 1)
    if type(controller) not in (PD, PDFeedforward):
        raise InputError("controller", type(controller).__name__, "PD or PDFeedforward")
    count = int(np.floor(motion.duration * rate * (1 + 1e-12) + 1e-9))
    if count < 1:
        raise InputError("rate", rate, f"at least one tick, {1 / motion.duration:g} Hz")
    t = motion.t[0] + np.arange(count) / rate
    course = _course(controller, motion, t, 0.5 / rate, torque)
    start = [
        _start(x, name, len(numbers), getattr(course, name)[0])
        for x, name in ((q, "q"), (qd, "qd"))
    ]
    plan = Plan(substeps, _terms(numbers, friction), keep)
    gains = np.stack([np.asarray(controller.stiffness), np.asarray(controller.damping)])
    given = Inputs(numbers, start[0], start[1], course, gains, np.float64(1 / rate))
    if chosen_backend(backend) == "jax":
        with doubles():
            found = jitted(_on_jax, ("plan",))(given, plan=plan)
            found = Results(*(None if x is None else np.asarray(x) for x in found))
    else:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            found = _rollout(np, given, plan)
    if np.ndim(par) == 1:
        kept = None if found.q_ticks is None else found.q_ticks[:, 0]
        found = Results(found.q[0], found.qd[0], found.rms[0], found.peak[0], kept)
    return BatchRun(found.q, found.qd, found.rms, found.peak, t, found.q_ticks)


def traced_rollout(
    par: Any,
    q: Any,
    qd: Any,
    course: tuple[Any, Any, Any],
    gains: Any,
    step: Any,
    *,
    substeps: int = 1,
    friction: bool | FrictionTerms = True,
    keep: bool = False,
) -> Results:
    """The core of `simulate_batch` on JAX arrays, for programs of your own under `jit` and `grad`.

    `par` (N, COUNT), q, qd (N, dof), `course` = reference q, qd and torque, each (K, dof), `gains`
    (2, dof) = stiffness and damping, `step` in s. float32 stays float32.
    """
    given = Inputs(par, q, qd, Course(*course), gains, step)
    return _rollout(jax_numpy(), given, Plan(substeps, _terms(par, friction), keep))


def _on_jax(given: Inputs, plan: Plan) -> Results:
    return _rollout(jax_numpy(), given, plan)


def _rollout(xp: Any, given: Inputs, plan: Plan) -> Results:
    par, q, qd, course, gains, step = given
    numbers, stiffness, damping = split(par), gains[0], gains[1]
    dof, h = q.shape[-1], step / plan.substeps

    def slope(q: Components, qd: Components, tau: Components) -> Components:
        return tuple(components.acceleration(xp, numbers, q, qd, tau, plan.friction))

    def tick(carry: Any, row: Any) -> Any:
        q, qd, squares, peaks = carry
        want, rate, feed = row
        error = tuple(want[i] - q[i] for i in range(dof))
        tau = tuple(
            feed[i] + stiffness[i] * error[i] + damping[i] * (rate[i] - qd[i]) for i in range(dof)
        )
        out = q if plan.keep else None
        squares = tuple(squares[i] + error[i] * error[i] for i in range(dof))
        peaks = tuple(xp.maximum(peaks[i], xp.abs(error[i])) for i in range(dof))
        for _ in range(plan.substeps):
            q, qd = runge_kutta(xp, slope, q, qd, tau, h)
        return (q, qd, squares, peaks), out

    still = tuple(xp.zeros_like(part) for part in split(q))
    start = (split(q), split(qd), still, still)
    (q, qd, squares, peaks), kept = scan(xp, tick, start, tuple(course))
    rms = [xp.sqrt(part / len(course.q)) for part in squares]
    parts = (q, qd, rms, peaks, kept)
    return Results(*(None if part is None else xp.stack(part, axis=-1) for part in parts))


def runge_kutta(
    xp: Any, slope: Any, q: Components, qd: Components, tau: Components, h: Any
) -> tuple[Components, Components]:
    """One step of order 4 of qdd = slope(q, qd, tau), h seconds long.

    The four stages are a loop, so that the model is compiled once.
    """
    zero = tuple(xp.zeros_like(part) for part in q)

    def stage(carry: Any, row: Any) -> Any:
        rate, push, rates, pushes = carry
        ahead, weight = row
        v = _ahead(qd, push, ahead * h)
        a = slope(_ahead(q, rate, ahead * h), v, tau)
        return (v, a, _ahead(rates, v, weight), _ahead(pushes, a, weight)), None

    table = (xp.asarray(AHEAD, dtype=q[0].dtype), xp.asarray(WEIGHT, dtype=q[0].dtype))
    (_, _, rates, pushes), _ = scan(xp, stage, (zero, zero, zero, zero), table)
    return _ahead(q, rates, h), _ahead(qd, pushes, h)


def _ahead(x: Components, rate: Components, share: Any) -> Components:
    return tuple(a + share * b for a, b in zip(x, rate, strict=True))


def _numbers(par: Any) -> FloatArray:
    numbers = np.atleast_2d(np.asarray(par, dtype=np.float64))
    if numbers.ndim != 2 or numbers.shape[1] != COUNT:
        raise InputError("shape of par", np.shape(par), f"(N, {COUNT}), from packed_parameters")
    return numbers


def _terms(par: Any, friction: bool | FrictionTerms) -> FrictionTerms | None:
    if isinstance(friction, FrictionTerms):
        return friction
    if not friction:
        return None
    return friction_terms(par) if isinstance(par, np.ndarray) else FrictionTerms()


def _course(controller: PD, motion: Motion, t: FloatArray, later: float, torque: Any) -> Course:
    now = resampled(controller.robot, motion, t)
    if torque is not None:
        given = np.asarray(torque, dtype=np.float64)
        if given.shape != now.q.shape:
            raise InputError("shape of torque", given.shape, f"{now.q.shape}, a row per tick")
        return Course(now.q, now.qd, given)
    if isinstance(controller, PDFeedforward):
        ahead = resampled(controller.robot, motion, t + later + controller.lead)
        return Course(now.q, now.qd, inverse_dynamics(controller.robot, ahead, controller.model))
    return Course(now.q, now.qd, np.zeros_like(now.q))


def _start(value: Any, name: str, count: int, default: FloatArray) -> FloatArray:
    start = default if value is None else np.asarray(value, dtype=np.float64)
    if start.shape not in ((len(default),), (count, len(default))):
        allowed = f"({len(default)},) or ({count}, {len(default)})"
        raise InputError(f"shape of {name}", start.shape, allowed)
    return np.broadcast_to(start, (count, len(default)))
