"""Many robots in motion over any array namespace: what `rollout` does on NumPy and on JAX.

Robots are rows of numbers; every coordinate is an array over the robots. The model is the exact one
with the drives' friction and that of the passive joints, gears are rigid. With JAX the whole run is
one compiled loop. The compiled plant of the extension does the same for NumPy's arrays, faster.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import Component, FloatArray
from deltadyn.backends import components, layout
from deltadyn.backends.components import FrictionTerms, friction_terms
from deltadyn.backends.limbs import ROTARY, limbs_of, pose
from deltadyn.backends.plant_layout import JOINTS, LIMB_JOINTS, PLACES
from deltadyn.dynamics.passive import Rubbed, Rubbing, passive_torque
from deltadyn.kinematics.actuation import HALVES, actuation, parts_of
from deltadyn.kinematics.limbs import pairs_of
from deltadyn.robot import Robot
from deltadyn.simulation.plant.ideal import FRICTION_STEP, SLOW_RATE
from deltadyn.simulation.plant.machine import home_angles
from deltadyn.simulation.plant.mechanism import pose_of
from deltadyn.simulation.plant.numerics import rk4
from deltadyn.tracing import jax_numpy, repeat, scan, split, traced

Components = tuple[Component, ...]


class Course(NamedTuple):
    """What the drives know of every tick: reference q, qd and torque fed forward, (K, dof)."""

    q: Any
    qd: Any
    tau: Any


class Held(NamedTuple):
    """Torques (K, dof), or (K, N, dof), at the begin and at the end of every tick, in N m."""

    start: Any
    end: Any


class Given(NamedTuple):
    """Arrays of a run: numbers (n,) or (N, n), first q and qd (N, dof).

    `wrench` (dof,) or (N, dof) is the external one, None where there is none. `ticks` is a `Course`
    with `gains` (2, dof), stiffness over damping, or torques `Held` with None; `step` is the length
    of a tick in s.
    """

    numbers: Any
    q: Any
    qd: Any
    wrench: Any
    ticks: Course | Held
    gains: Any
    step: Any


class Plan(NamedTuple):
    """Settings that choose the compiled program."""

    substeps: int
    friction: FrictionTerms | None
    joints: tuple[str, ...] = ()  # passive joints with friction
    every: int = 0  # ticks between the states that are kept; 0 keeps none
    true_rates: bool = False  # the controller sees qd; else the backward difference of q
    kind: str = ROTARY  # what moves the limbs


class Results(NamedTuple):
    """q, qd (N, dof) at the end, errors (N, dof), angles of all ticks (K, N, dof) or None."""

    q: Any
    qd: Any
    rms: Any
    peak: Any
    q_ticks: Any


class Ended(NamedTuple):
    """q, qd (N, dof) at the end, errors (N, dof) or None, kept states (C, N, 2 dof) or None."""

    q: Any
    qd: Any
    rms: Any
    peak: Any
    course: Any


class _Carry(NamedTuple):
    """Components between two ticks: state (2 dof), angles of the tick before, sums of errors, and
    the pose of the tick before where it is followed.

    What a run does not need is empty.
    """

    x: Components
    before: Components
    squares: Components
    peaks: Components
    near: Components = ()


def traced_rollout(
    par: Any,
    q: Any,
    qd: Any,
    course: Any,
    gains: Any,
    step: Any,
    *,
    substeps: int = 1,
    friction: bool | FrictionTerms = True,
    keep: bool = False,
    kind: str = ROTARY,
) -> Results:
    """The core of `rollout` on JAX arrays, for programs of your own under `jit` and `grad`.

    `par` (N, COUNT), q, qd (N, dof), `course` = reference q, qd and torque, each (K, dof), `gains`
    (2, dof) = stiffness and damping, `step` in s. The controller sees the true rates. float32
    stays float32.
    """
    terms = terms_in(par) if friction is True else friction or None
    dof = q.shape[-1]
    given = Given(par, q, qd, None, Course(*course), gains, step)
    found = advance(jax_numpy(), given, Plan(substeps, terms, (), int(keep), True, kind))
    kept = found.course[:-1, ..., :dof] if keep else None
    return Results(found.q, found.qd, found.rms, found.peak, kept)


def advance(xp: Any, given: Given, plan: Plan) -> Ended:
    """Move all robots through all ticks; NaN marks a robot whose loop has opened."""
    numbers, wrench = split(given.numbers), () if given.wrench is None else split(given.wrench)
    dof, h = given.q.shape[-1], given.step / plan.substeps
    follows = isinstance(given.ticks, Course)

    halves = parts_of(plan.kind)[1] in HALVES

    def followed(carry: _Carry) -> tuple[Components, Components]:
        """The robots' numbers for a tick, and the pose at its begin.

        A platform of halves is followed from that pose, which has the place of the home pose.
        """
        if not halves:
            return numbers, ()
        own = _at_home(numbers, carry.near)
        q = carry.x[:dof]
        near = pose(xp, own, q, *pairs_of(xp, limbs_of(own, plan.kind), q), plan.kind)
        return _at_home(numbers, near), near

    def slope(own: Components, x: Components, tau: Components) -> Components:
        q, qd = x[:dof], x[dof:]
        rubbed = passive(xp, own, q, qd, plan.joints, plan.kind)
        qdd = components.acceleration(xp, own, q, qd, tau, plan.friction, wrench, rubbed, plan.kind)
        return (*qd, *qdd)

    def integrated(
        own: Components, x: Components, start: Components, end: Components
    ) -> Components:
        def substep(carry: Any) -> Any:
            k, x = carry

            def at(x: Components, share: Any) -> Components:
                part = (k + share) / plan.substeps
                tau = tuple(a + part * (b - a) for a, b in zip(start, end, strict=True))
                return slope(own, x, tau)

            def constant(x: Components, share: Any) -> Components:
                return slope(own, x, start)

            return k + 1, rk4(xp, constant if start is end else at, x, h)

        _, moved = repeat(xp, plan.substeps, substep, (0, x))
        return moved  # type: ignore[no-any-return]

    def follow(carry: _Carry, row: Any) -> Any:
        x, before, squares, peaks, _ = carry
        own, near = followed(carry)
        want, rate, feed = (split(part) for part in row)
        q = x[:dof]
        seen = x[dof:]
        if not plan.true_rates:
            seen = tuple((a - b) / given.step for a, b in zip(q, before, strict=True))
        error = tuple(a - b for a, b in zip(want, q, strict=True))
        slip = tuple(a - b for a, b in zip(rate, seen, strict=True))
        stiffness, damping = given.gains[0], given.gains[1]
        tau = tuple(feed[i] + stiffness[i] * error[i] + damping[i] * slip[i] for i in range(dof))
        squares = tuple(a + b * b for a, b in zip(squares, error, strict=True))
        peaks = tuple(xp.maximum(a, xp.abs(b)) for a, b in zip(peaks, error, strict=True))
        before = () if plan.true_rates else q
        return _Carry(integrated(own, x, tau, tau), before, squares, peaks, near), None

    def push(carry: _Carry, row: Any) -> Any:
        start, end = (split(part) for part in row)
        own, near = followed(carry)
        return carry._replace(x=integrated(own, carry.x, start, end), near=near), None

    tick, rows = follow if follows else push, tuple(given.ticks)
    steps, q, qd = len(rows[0]), split(given.q), split(given.qd)
    still = tuple(xp.zeros_like(part) for part in q) if follows else ()
    before: Components = ()
    if follows and not plan.true_rates:
        before = tuple(a - given.step * b for a, b in zip(q, qd, strict=True))
    home: Components = ()
    if halves:
        home = tuple(part + xp.zeros_like(q[0]) for part in numbers[layout.PLACES["home"]])
    carry = _Carry((*q, *qd), before, still, still, home)
    course, whole = None, 0
    if plan.every:
        # blocks of `every` ticks, of each of which only the first state is kept
        whole = steps // plan.every * plan.every

        def block(carry: _Carry, rows: Any) -> Any:
            return scan(xp, tick, carry, rows)[0], carry.x

        shape = (whole // plan.every, plan.every)
        blocks = tuple(table[:whole].reshape(*shape, *table.shape[1:]) for table in rows)
        carry, kept = scan(xp, block, carry, blocks)
        last = xp.stack(carry.x, axis=-1)[None]
        course = last if kept is None else xp.concatenate([xp.stack(kept, axis=-1), last])
    carry, _ = scan(xp, tick, carry, tuple(table[whole:] for table in rows))
    q, qd = (xp.stack(part, axis=-1) for part in (carry.x[:dof], carry.x[dof:]))
    if not follows:
        return Ended(q, qd, None, None, course)
    rms = xp.stack([xp.sqrt(part / steps) for part in carry.squares], axis=-1)
    return Ended(q, qd, rms, xp.stack(carry.peaks, axis=-1), course)


def _at_home(numbers: Components, pose: Components) -> Components:
    """Numbers of robots with another home pose."""
    place = layout.PLACES["home"]
    return (*numbers[: place.start], *pose, *numbers[place.stop :])


def passive(
    xp: Any,
    numbers: Components,
    q: Components,
    qd: Components,
    joints: tuple[str, ...],
    kind: str = ROTARY,
) -> list[Component]:
    """What friction in these passive joints asks of the drives, in N m; empty without joints."""
    if not joints:
        return []
    limbs = limbs_of(numbers, kind)
    x = None
    if parts_of(kind)[1] in HALVES:
        x = pose(xp, numbers, q, *pairs_of(xp, limbs, q), kind)
    at = pose_of(xp, limbs, q, qd, x)
    viscous, coulomb = (numbers[PLACES[name]] for name in ("passive_viscous", "passive_coulomb"))
    places = [JOINTS.index(name) for name in joints]
    items = tuple(Rubbed(JOINTS[i], viscous[i], coulomb[i]) for i in places)
    smoothing, pivot_z = (numbers[layout.PLACES[name].start] for name in ("smoothing", "spindle"))
    return passive_torque(xp, Rubbing(items, smoothing), limbs, pivot_z, at, qd)


# What the numbers themselves say: which terms they need, and how short the steps must be.


def terms_in(numbers: Any) -> FrictionTerms:
    """The friction terms that numbers have; all where they are traced and cannot be looked at."""
    return FrictionTerms() if traced(numbers) else friction_terms(np.asarray(numbers))


def joints_in(numbers: Any, spindle: bool) -> tuple[str, ...]:
    """The passive joints with friction; all where the numbers cannot be looked at."""
    known = JOINTS if spindle else LIMB_JOINTS
    if traced(numbers):
        return known
    table = np.asarray(numbers)
    viscous, coulomb = (table[..., PLACES[n]] for n in ("passive_viscous", "passive_coulomb"))
    found = ((viscous != 0) | (coulomb != 0)).reshape(-1, len(JOINTS)).any(axis=0)
    return tuple(name for i, name in enumerate(known) if found[i])


RUBBING = ("viscous", "coulomb", "coulomb_negative", "stribeck", "thinning")


def friction_substeps(robot: Robot, numbers: FloatArray, dt: float) -> int:
    """Integration steps in dt seconds: friction about rest must stay stable, as in `ideal`.

    At rest M d(qd)/dt = -B qd, where B is what slow rates ask of friction, per rate. Its fastest
    rate is the largest eigenvalue of M^-1 B over all robots.
    """
    dof, table, kind = robot.dof, np.atleast_2d(numbers), actuation(robot)
    joints = joints_in(table, robot.spindle is not None)
    if not joints and not any(table[:, layout.PLACES[name]].any() for name in RUBBING):
        return 1
    table = np.unique(table, axis=0) if len(table) <= 10_000 else table
    par, home, still = split(table), tuple(home_angles(robot).tolist()), (0.0,) * dof
    M, brake = np.zeros((2, len(table), dof, dof))
    with np.errstate(all="ignore"):
        at = components.pose_of_joints(np, par, home, still, still, kind)
        forth, back = (
            components.drive_friction(np, par, (rate,) * dof, FrictionTerms())
            for rate in (SLOW_RATE, -SLOW_RATE)
        )
        for i, row in enumerate(components.terms_of(np, par, at, kind).M):
            for j, value in enumerate(row):
                M[:, i, j] = value
            brake[:, i, i] = (forth[i] - back[i]) / (2 * SLOW_RATE)
        for axis in range(dof):
            slow = tuple(SLOW_RATE if i == axis else 0.0 for i in range(dof))
            for i, value in enumerate(passive(np, par, home, slow, joints, kind)):
                brake[:, i, axis] += value / SLOW_RATE
    sound = np.isfinite(M).all(axis=(1, 2)) & np.isfinite(brake).all(axis=(1, 2))
    if not sound.any():
        return 1  # no robot closes its loop there; the rollout will say so
    rates = np.abs(np.linalg.eigvals(np.linalg.solve(M[sound], brake[sound])))
    return max(1, math.ceil(dt * float(rates.max()) / FRICTION_STEP))
