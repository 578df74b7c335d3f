"""Many robots at once: Runge-Kutta of order 4 over a batch of states, torques and robots.

What `simulate` does for one machine with its drive, without log, books and gears: for
Monte-Carlo studies over parameters, for search, and for learning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray, as_float
from deltadyn.backends import layout
from deltadyn.backends.loader import plant_module, threads
from deltadyn.backends.plant_layout import JOINTS, LIMB_JOINTS, PLACES, ROBOT_COUNT
from deltadyn.dynamics.inverse import external_wrench
from deltadyn.dynamics.parameters import ExactParameters, SpindleParameters
from deltadyn.dynamics.passive import Rubbed, Rubbing, passive_torque
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.kinematics.limbs import Limb
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot
from deltadyn.simulation.controllers.feedforward import Controller, PDFeedforward, PDLaw
from deltadyn.simulation.drive.drivetrain import accelerations_with_losses
from deltadyn.simulation.drive.reference import make_task
from deltadyn.simulation.plant.compiled import robot_numbers
from deltadyn.simulation.plant.ideal import FRICTION_STEP, SLOW_RATE
from deltadyn.simulation.plant.machine import home_angles
from deltadyn.simulation.plant.mechanism import mechanism_terms, pose_of
from deltadyn.simulation.presets import Preset, setting

# Many robots in motion on NumPy: what `rollout` does where there is no extension.
#
# Components are arrays over the robots; the mechanism is the simulator's own source.


Columns = tuple[Any, ...]


class Drive(NamedTuple):
    """What drives the robots: a table (T, dof) or (N, T, dof), or a law's tables and gains."""

    torque: FloatArray | None
    ramp: bool
    law: tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None


class Equations(NamedTuple):
    """M qdd + h = tau with M (N, dof, dof) symmetric; h (N, dof) has the passive friction."""

    M: FloatArray
    h: FloatArray


def advance(
    numbers: FloatArray,
    y: FloatArray,
    wrench: FloatArray,
    drive: Drive,
    dt: float,
    substeps: int,
    steps: int,
    every: int,
    course: FloatArray | None,
) -> None:
    """Move y (N, 2 dof) by `steps` ticks in place, as `plant_rollout` of the extension."""
    dof = y.shape[1] // 2
    before = y[:, :dof] - dt * y[:, dof:]
    with np.errstate(all="ignore"):  # NaN marks a loop that is open
        for t in range(steps):
            if course is not None and t % every == 0:
                course[:, t // every] = y
            if drive.law is None:
                assert drive.torque is not None
                start = drive.torque[..., t, :]
                end = drive.torque[..., t + 1, :] if drive.ramp else start
            else:
                forward, reference, rates, gains = drive.law
                q = y[:, :dof]
                error, slip = reference[t] - q, rates[t] - (q - before) / dt
                start = end = forward[t] + gains[:dof] * error + gains[dof:] * slip
                before = q.copy()
            _tick(numbers, y, wrench, start, end, dt, substeps)
        if course is not None and steps % every == 0:
            course[:, steps // every] = y


def _tick(
    numbers: FloatArray,
    y: FloatArray,
    wrench: FloatArray,
    start: FloatArray,
    end: FloatArray,
    dt: float,
    substeps: int,
) -> None:
    h = dt / substeps
    for k in range(substeps):
        torques = [start + (k + place) / substeps * (end - start) for place in (0.0, 0.5, 1.0)]
        k1 = _slope(numbers, y, torques[0], wrench)
        k2 = _slope(numbers, y + h / 2 * k1, torques[1], wrench)
        k3 = _slope(numbers, y + h / 2 * k2, torques[1], wrench)
        k4 = _slope(numbers, y + h * k3, torques[2], wrench)
        y += h / 6 * (k1 + 2 * (k2 + k3) + k4)


def _slope(
    numbers: FloatArray, y: FloatArray, torque: FloatArray, wrench: FloatArray
) -> FloatArray:
    dof = y.shape[1] // 2
    q, qd = y[:, :dof], y[:, dof:]
    equations = equations_at(numbers, q, qd, wrench)
    s = np.tanh(qd / _entry(numbers, "smoothing", 1))
    given = torque - drive_friction(numbers, qd, s)
    losses = _entry(numbers, "load", dof) * s
    if losses.any():
        qdd = _with_losses(equations, given, losses, _entry(numbers, "rotor", dof))
    else:
        qdd = solve_positive(equations.M, given - equations.h)
    return np.concatenate([qd, qdd], axis=1)


def equations_at(
    numbers: FloatArray, q: FloatArray, qd: FloatArray, wrench: FloatArray
) -> Equations:
    """M and h of every robot; NaN where the loop does not close."""
    count, dof = q.shape
    par = _parameters(numbers, dof)
    angles, rates = _columns(q), _columns(qd)
    pose = pose_of(np, par.limbs, angles, rates)
    terms = mechanism_terms(np, par, pose, _columns(np.broadcast_to(wrench, q.shape)), rates)
    M = np.empty((count, dof, dof))
    for i, row in enumerate(terms.rows):
        for j, value in enumerate(row):
            M[:, i, j] = M[:, j, i] = value
    h = np.empty((count, dof))
    for i, value in enumerate(terms.h):
        h[:, i] = value
    pivot_z = 0.0 if par.spindle is None else par.spindle.pivot_z
    extra = passive_torque(np, _rubbing(numbers, dof), par.limbs, pivot_z, pose, rates)
    for i, value in enumerate(extra):
        h[:, i] += value
    return Equations(M, h)


def drive_friction(numbers: FloatArray, qd: FloatArray, s: FloatArray) -> FloatArray:
    """Friction of the drives without the gears' loss (N, dof), in N m."""
    dof = qd.shape[1]
    viscous, forth, back, size, velocity, offset = (
        _entry(numbers, name, dof)
        for name in (
            "viscous",
            "coulomb",
            "coulomb_negative",
            "stribeck",
            "stribeck_velocity",
            "offset",
        )
    )
    ratio = qd / np.where(size != 0, velocity, 1.0)
    dry = np.where(s > 0, forth, back) + size * np.exp(-ratio * ratio)
    friction: FloatArray = viscous * qd + dry * s + offset
    return friction


def solve_positive(M: FloatArray, right: FloatArray) -> FloatArray:
    """x (N, dof) of M x = b by M = L D L^T; NaN where M is not positive definite."""
    n = right.shape[1]
    lower, x = M.copy(), right.copy()
    for j in range(n):
        pivot = lower[:, j, j]
        for k in range(j):
            pivot = pivot - lower[:, j, k] ** 2 * lower[:, k, k]
        pivot = np.where(pivot > 0, pivot, np.nan)
        lower[:, j, j] = pivot
        for i in range(j + 1, n):
            value = lower[:, i, j]
            for k in range(j):
                value = value - lower[:, i, k] * lower[:, j, k] * lower[:, k, k]
            lower[:, i, j] = value / pivot
            x[:, i] -= lower[:, i, j] * x[:, j]
    for j in range(n - 1, -1, -1):
        x[:, j] /= lower[:, j, j]
        for i in range(j + 1, n):
            x[:, j] -= lower[:, i, j] * x[:, i]
    return x


def _with_losses(
    equations: Equations, given: FloatArray, losses: FloatArray, rotor: FloatArray
) -> FloatArray:
    """Accelerations of gears that lose a share of their load, robot by robot."""
    qdd = np.full_like(given, np.nan)
    sound: BoolArray = np.asarray(np.isfinite(given + equations.h).all(axis=1))
    losses, rotor = (np.broadcast_to(value, given.shape) for value in (losses, rotor))
    for k in np.flatnonzero(sound):
        rows = (equations.M[k], equations.h[k], given[k], losses[k], rotor[k])
        try:
            qdd[k] = accelerations_with_losses(*(row.tolist() for row in rows))
        except ArithmeticError:
            continue  # stays NaN
    return qdd


def _parameters(numbers: FloatArray, dof: int) -> ExactParameters:
    def entry(name: str) -> Any:
        columns = _columns(numbers[..., layout.PLACES[name]])
        return columns[0] if len(columns) == 1 else columns

    limb = _columns(numbers[..., layout.PLACES["limb"]])
    first, second, third = (Limb(*limb[5 * i : 5 * i + 5]) for i in range(3))
    return ExactParameters(
        limbs=(first, second, third),
        **{name: entry(name) for name in ("gravity", "M_P", "m_x", "A", "G", "G_s")},
        spindle=SpindleParameters(*entry("spindle")) if dof == 4 else None,
    )


def _rubbing(numbers: FloatArray, dof: int) -> Rubbing:
    viscous, coulomb = (
        _columns(numbers[..., PLACES[name]]) for name in ("passive_viscous", "passive_coulomb")
    )
    items = tuple(
        Rubbed(name, viscous[i], coulomb[i])
        for i, name in enumerate(JOINTS if dof == 4 else LIMB_JOINTS)
        if np.any(viscous[i]) or np.any(coulomb[i])
    )
    return Rubbing(items, numbers[..., layout.PLACES["smoothing"].start])


def _entry(numbers: FloatArray, name: str, width: int) -> FloatArray:
    start = layout.PLACES[name].start
    return numbers[..., start : start + width]


def _columns(values: FloatArray) -> Columns:
    return tuple(values[..., i] for i in range(values.shape[-1]))


# How short the steps of a rollout must be: friction about rest must stay stable.


RUBBING = ("viscous", "coulomb", "coulomb_negative", "stribeck")


def friction_substeps(robot: Robot, numbers: FloatArray, dt: float) -> int:
    """Integration steps in dt seconds, from the fastest rate of any robot at rest, as `ideal`."""
    dof, table = robot.dof, np.atleast_2d(numbers)
    places = [*(layout.PLACES[name] for name in RUBBING), PLACES["passive_viscous"]]
    places.append(PLACES["passive_coulomb"])
    if not any(table[:, place].any() for place in places):
        return 1
    table = np.unique(table, axis=0) if len(table) <= 10_000 else table
    home = np.broadcast_to(home_angles(robot), (len(table), dof))
    still = np.zeros((len(table), dof))
    with np.errstate(all="ignore"):
        rest = equations_at(table, home, still, still)
        brake = np.empty((len(table), dof, dof))
        smoothing = table[:, [layout.PLACES["smoothing"].start]]
        for axis in range(dof):
            slow = still.copy()
            slow[:, axis] = SLOW_RATE
            moved = equations_at(table, home, slow, still).h - rest.h
            brake[:, :, axis] = moved / SLOW_RATE
        pair = [np.full_like(still, rate) for rate in (SLOW_RATE, -SLOW_RATE)]
        forth, back = (drive_friction(table, rate, np.tanh(rate / smoothing)) for rate in pair)
    axes = np.arange(dof)
    brake[:, axes, axes] += (forth - back) / (2 * SLOW_RATE)
    sound = np.isfinite(rest.M).all(axis=(1, 2)) & np.isfinite(brake).all(axis=(1, 2))
    if not sound.any():
        return 1  # no robot closes its loop there; the rollout will say so
    rates = np.abs(np.linalg.eigvals(np.linalg.solve(rest.M[sound], brake[sound])))
    return max(1, math.ceil(dt * float(rates.max()) / FRICTION_STEP))


PIECE = 2048  # robots that a thread takes at a time
THREADED = 20_000  # robots times steps from which threads pay
HOLDS = ("step", "linear")
PLAIN = Preset()


@dataclass(frozen=True, eq=False)
class Rollout:
    """Where the robots are at the end: q (N, dof) in rad and qd in rad/s, NaN after a loop opened.

    `course_q` and `course_qd` (N, K, dof) are their states at the instants t (K,) in s, empty
    unless asked for. One robot with one torque has no axis N.
    """

    q: FloatArray
    qd: FloatArray
    t: FloatArray
    course_q: FloatArray
    course_qd: FloatArray

    @property
    def closed(self) -> BoolArray:
        """Which robots have gone all the way (N,): their loop never opened."""
        return np.asarray(np.isfinite(self.q).all(axis=-1) & np.isfinite(self.qd).all(axis=-1))


class _Batch(NamedTuple):
    """The arrays of a rollout; those with a row per robot say so by their dimensions."""

    numbers: FloatArray  # (ROBOT_COUNT,) or (N, ROBOT_COUNT)
    y: FloatArray  # (N, 2 dof)
    wrench: FloatArray  # (dof,) or (N, dof)
    drive: Drive
    steps: int
    single: bool


def rollout(
    robot: Robot | Sequence[Robot],
    q: npt.ArrayLike,
    qd: npt.ArrayLike | None = None,
    torque: npt.ArrayLike | None = None,
    *,
    dt: float,
    hold: str = "step",
    motion: Motion | None = None,
    controller: Controller | None = None,
    numbers: npt.ArrayLike | None = None,
    external_force: npt.ArrayLike | None = None,
    substeps: int | None = None,
    every: int | None = None,
) -> Rollout:
    """Integrate N robots from the states q, qd (N, dof) under torques or a controller.

    `torque` (T, dof), or (N, T, dof), is in N m: with hold="step" a row acts for `dt` seconds, with
    "linear" it goes to the next row within that time, so there are T - 1 steps. Instead of it, a
    `motion` is followed by a `controller` of PD form (PDFeedforward(robot) unless another is
    given), once per `dt`, as in `simulate` with hold="step" on the ideal preset.

    `robot` is one for all or one per state; `numbers` (N, n), rows as `robot_numbers` gives them,
    takes the place of robots in large studies. `external_force` is (3,), (4,) with a spindle, or
    a row per robot. A step of `dt` is cut into `substeps`, by default as many as friction needs.
    With `every` the states of every that many steps are kept. Friction is that of the robots, with
    tanh(qd / 0.02 rad/s) for the sign where they name no smoothing; gears are rigid.
    """
    step = setting("dt", dt, low=0.0, strict=True, unit="s")
    nominal = _nominal(robot)
    kept = _whole("every", every) if every is not None else 0
    drive, steps = _drive(nominal, torque, step, hold, motion, controller)
    batch = _batch(robot, nominal, q, qd, numbers, external_force, drive, steps)
    if substeps is None:
        cut = friction_substeps(nominal, batch.numbers, step)
    else:
        cut = _whole("substeps", substeps)
    course = np.empty((len(batch.y), steps // kept + 1, batch.y.shape[1])) if kept else None
    _run(batch, step, cut, kept, course)
    return _result(batch, nominal.dof, step, kept, course)


def _run(batch: _Batch, dt: float, substeps: int, every: int, course: FloatArray | None) -> None:
    module, count = plant_module(), len(batch.y)
    if module is None:
        advance(
            batch.numbers,
            batch.y,
            batch.wrench,
            batch.drive,
            dt,
            substeps,
            batch.steps,
            every,
            course,
        )
        return
    drive, dof = batch.drive, batch.y.shape[1] // 2
    shared = (batch.numbers.ndim == 1, batch.wrench.ndim == 1)
    own_torque = drive.torque is not None and drive.torque.ndim == 3
    own = (not shared[0]) + 2 * (not shared[1]) + 4 * own_torque

    def piece(start: int) -> None:
        rows = slice(start, start + PIECE)
        module.plant_rollout(
            dof,
            own,
            dt,
            substeps,
            batch.steps,
            drive.ramp,
            batch.numbers if shared[0] else batch.numbers[rows],
            batch.wrench if shared[1] else batch.wrench[rows],
            batch.y[rows],
            drive.torque[rows] if own_torque and drive.torque is not None else drive.torque,
            drive.law,
            every,
            None if course is None else course[rows],
        )

    starts = range(0, count, PIECE)
    workers = min(threads(), len(starts)) if count * batch.steps > THREADED else 1
    if workers <= 1:
        for start in starts:
            piece(start)
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(piece, starts))


def _result(batch: _Batch, dof: int, dt: float, every: int, course: FloatArray | None) -> Rollout:
    if course is None:
        course = np.empty((len(batch.y), 0, 2 * dof))
    t: FloatArray = np.arange(course.shape[1], dtype=np.float64) * (every * dt)
    final, path = (batch.y[0], course[0]) if batch.single else (batch.y, course)
    return Rollout(final[..., :dof], final[..., dof:], t, path[..., :dof], path[..., dof:])


def _nominal(robot: Robot | Sequence[Robot]) -> Robot:
    robots = [robot] if isinstance(robot, Robot) else list(robot)
    if not robots or not all(isinstance(item, Robot) for item in robots):
        raise InputError("robot", type(robot).__name__, "a Robot, or one Robot per state")
    axes = sorted({item.dof for item in robots})
    if len(axes) > 1:
        raise InputError("axes of the robots", axes, "the same for all")
    return robots[0]


def _drive(
    robot: Robot,
    torque: npt.ArrayLike | None,
    dt: float,
    hold: str,
    motion: Motion | None,
    controller: Controller | None,
) -> tuple[Drive, int]:
    """What drives the robots, and the number of steps."""
    if hold not in HOLDS:
        raise UnknownNameError("hold", hold, HOLDS)
    if (torque is None) == (motion is None):
        given = "neither" if torque is None else "both"
        raise InputError("torque and motion", given, "one of them")
    if motion is not None:
        if hold != "step":
            raise InputError("hold", hold, "'step' where a motion is followed")
        return _law(robot, motion, controller, dt)
    if controller is not None:
        raise InputError("controller", type(controller).__name__, "a motion to follow with it")
    assert torque is not None
    table = np.ascontiguousarray(as_float(torque, "torque"))
    ramp = hold == "linear"
    dof, least = robot.dof, 1 + ramp
    if table.ndim not in (2, 3) or table.shape[-1] != dof or table.shape[-2] < least:
        allowed = f"(T, {dof}) or (N, T, {dof}) with T at least {least}"
        raise InputError("shape of torque", table.shape, allowed)
    _check_finite("torque", table)
    return Drive(table, ramp, None), table.shape[-2] - ramp


def _law(robot: Robot, motion: Any, controller: Controller | None, dt: float) -> tuple[Drive, int]:
    if not isinstance(motion, Motion):
        allowed = "a Motion, made by Motion.from_platform or Motion.from_joints"
        raise InputError("motion", type(motion).__name__, allowed)
    task = make_task(robot, motion, 1 / dt, PLAIN.with_switches(hold="step"))
    law = (PDFeedforward(robot) if controller is None else controller).prepare(task)
    if type(law) is not PDLaw:
        allowed = "PD, PDFeedforward or another whose law is a PDLaw; simulate runs all others"
        raise InputError("controller", type(controller).__name__, allowed)
    gains = np.array([*law.stiffness, *law.damping], dtype=np.float64)
    forward, reference, rates = (
        np.ascontiguousarray(table) for table in (law.forward, law.reference, law.rates)
    )
    return Drive(None, False, (forward, reference, rates, gains)), len(task.now.t) - 1


def _batch(
    robot: Robot | Sequence[Robot],
    nominal: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike | None,
    numbers: npt.ArrayLike | None,
    external_force: npt.ArrayLike | None,
    drive: Drive,
    steps: int,
) -> _Batch:
    """All arrays with as many rows as the one that has most."""
    dof = nominal.dof
    rows = {"q": _state("q", q, dof)}
    rows["qd"] = np.zeros(dof) if qd is None else _state("qd", qd, dof)
    table = _numbers(robot, nominal, numbers)
    rows["numbers" if numbers is not None else "robot"] = table
    force = np.zeros(dof) if external_force is None else as_float(external_force, "external_force")
    rows["external_force"] = force
    counts = {name: len(value) for name, value in rows.items() if value.ndim == 2}
    if drive.torque is not None and drive.torque.ndim == 3:
        counts["torque"] = len(drive.torque)
    count = max(counts.values(), default=1)
    for name, own in counts.items():
        if own != count:
            raise InputError(f"rows of {name}", own, f"{count}, as its partners have, or one")
    if external_force is not None:
        wrench = external_wrench(nominal, force, count)
        force = wrench if force.ndim == 2 else wrench[0]
    y = np.empty((count, 2 * dof))
    y[:, :dof], y[:, dof:] = rows["q"], rows["qd"]
    return _Batch(table, y, np.ascontiguousarray(force), drive, steps, not counts)


def _numbers(
    robot: Robot | Sequence[Robot], nominal: Robot, numbers: npt.ArrayLike | None
) -> FloatArray:
    if numbers is None:
        if isinstance(robot, Robot):
            return robot_numbers(robot, PLAIN.smoothing)
        return np.array([robot_numbers(item, PLAIN.smoothing) for item in robot])
    if not isinstance(robot, Robot):
        raise InputError("numbers", "given beside several robots", "given beside one robot")
    table = np.ascontiguousarray(as_float(numbers, "numbers"))
    if table.ndim not in (1, 2) or table.shape[-1] != ROBOT_COUNT:
        allowed = f"({ROBOT_COUNT},) or (N, {ROBOT_COUNT}), rows from robot_numbers"
        raise InputError("shape of numbers", table.shape, allowed)
    _check_finite("numbers", table)
    return table


def _state(name: str, value: npt.ArrayLike, dof: int) -> FloatArray:
    array = as_float(value, name)
    if array.ndim not in (1, 2) or array.shape[-1] != dof or not array.size:
        raise InputError(f"shape of {name}", array.shape, f"({dof},) or (N, {dof})")
    _check_finite(name, array)
    return array


def _check_finite(name: str, array: FloatArray) -> None:
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        place = tuple(bad[0].tolist())
        raise InputError(name, float(array[place]), "finite numbers", where=f"place {place}")


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(name, value, "a whole number, at least 1")
    return int(value)
