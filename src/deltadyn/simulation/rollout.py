"""Many robots at once: one name for batches of states, torques and robots, on any of three paths.

What `simulate` does for one machine with its drive, without log, books and gears: for Monte-Carlo
studies over parameters, for search, and for learning. JAX computes where an argument is an array of
JAX or `backend="jax"`; else the extension where it is in use; else NumPy. All give the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray, as_float
from deltadyn.backends.components import FrictionTerms
from deltadyn.backends.layout import COUNT
from deltadyn.backends.layout import PLACES as NUMBERS
from deltadyn.backends.limbs import ROTARY
from deltadyn.backends.loader import plant_module, threads
from deltadyn.backends.plant_layout import ROBOT_COUNT
from deltadyn.dynamics.inverse import external_wrench
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.kinematics.actuation import actuation
from deltadyn.motion.arguments import check_count
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot
from deltadyn.simulation.batch import (
    Course,
    Ended,
    Given,
    Held,
    Plan,
    advance,
    friction_substeps,
    joints_in,
    terms_in,
)
from deltadyn.simulation.controllers.feedforward import PD, Controller, PDFeedforward, PDLaw
from deltadyn.simulation.drive.reference import make_task
from deltadyn.simulation.plant.compiled import robot_numbers
from deltadyn.simulation.presets import Preset, setting
from deltadyn.tracing import (
    chosen_backend,
    common_float,
    doubles,
    jax_numpy,
    jitted,
    on_jax,
    traced,
)

PIECE = 2048  # robots that a thread takes at a time
ROOM = 1 << 21  # numbers of the states of all ticks that a thread holds at a time
THREADED = 20_000  # robots times steps from which threads pay
HOLDS = ("step", "linear")
RATES = ("measured", "true")
PLAIN = Preset()


@dataclass(frozen=True, eq=False)
class Rollout:
    """Where the robots are at the end: q (N, dof) in rad and qd in rad/s, NaN after a loop opened.

    `course_q` and `course_qd` (N, K, dof) are their states at the instants t (K,) in s, empty
    unless asked for. `rms` and `peak` (N, dof) are the tracking errors at the ticks in rad, None
    where no motion is followed. One robot with one torque has no axis N.
    """

    q: FloatArray
    qd: FloatArray
    t: FloatArray
    course_q: FloatArray
    course_qd: FloatArray
    rms: FloatArray | None = None
    peak: FloatArray | None = None

    @property
    def closed(self) -> BoolArray:
        """Which robots have gone all the way (N,): their loop never opened."""
        return np.asarray(np.isfinite(self.q).all(axis=-1) & np.isfinite(self.qd).all(axis=-1))

    @property
    def lost(self) -> int:
        """Robots whose loop opened."""
        return int((~self.closed).sum())


class _Batch(NamedTuple):
    """The arrays of a rollout; those with a row per robot say so by their dimensions."""

    numbers: Any  # (ROBOT_COUNT,) or (N, ROBOT_COUNT)
    q: Any  # (N, dof)
    qd: Any
    wrench: Any  # (dof,) or (N, dof), None where there is none
    joints: tuple[str, ...]  # passive joints with friction
    single: bool
    kind: str  # what moves the limbs


class _Drive(NamedTuple):
    """What drives the robots: torques (T, dof) or (N, T, dof), or a course with gains (2, dof)."""

    torque: Any
    ramp: bool
    course: Course | None = None
    gains: FloatArray | None = None

    @property
    def steps(self) -> int:
        """Ticks of the run."""
        if self.course is not None:
            return len(self.course.q)
        return int(self.torque.shape[-2]) - self.ramp


class _Timing(NamedTuple):
    """Length of a tick in s, its integration steps, ticks between kept states (0 keeps none)."""

    dt: float
    substeps: int
    every: int


def rollout(
    robot: Robot | Sequence[Robot],
    q: npt.ArrayLike | None = None,
    qd: npt.ArrayLike | None = None,
    torque: npt.ArrayLike | None = None,
    *,
    dt: float,
    hold: str = "step",
    motion: Motion | None = None,
    controller: Controller | None = None,
    forward: npt.ArrayLike | None = None,
    numbers: npt.ArrayLike | None = None,
    external_force: npt.ArrayLike | None = None,
    rates: str = "measured",
    substeps: int | None = None,
    every: int | None = None,
    backend: str = "auto",
) -> Rollout:
    """Integrate N robots from the states q, qd (N, dof) under torques or a controller.

    `torque` (T, dof), or (N, T, dof), is in N m: with hold="step" a row acts for `dt` seconds, with
    "linear" it goes to the next row within that time, so there are T - 1 steps. Instead of it, a
    `motion` is followed by a `controller` of PD form (PDFeedforward(robot) unless another is
    given), once per `dt`, as in `simulate` with hold="step" on the ideal preset; `forward`
    (T, dof) in N m takes the place of its own feedforward. Robots begin on the motion where q is
    left out. The controller sees the backward difference of the angles, with rates="true" the
    true rates.

    `robot` is one for all or one per state; `numbers` (N, n), rows as `robot_numbers` or
    `packed_parameters` gives them, takes the place of robots in large studies. `external_force` is
    (3,), (4,) where the tool turns, (2,) in a plane, or a row per robot. A step of `dt` is cut into
    `substeps`, by default as many as friction needs. With `every` the states of every that many
    steps are kept. Friction is that of the robots, with tanh(qd / 0.02 rad/s) for the sign where
    they name no smoothing; gears are rigid.

    The run is on JAX where q, qd, torque, numbers or external_force is an array of JAX, with its
    float type and through `jit` and `grad`, or with backend="jax", in float64. Else it is compiled
    where the extension is in use and the rates are measured, and else on NumPy.
    """
    step = setting("dt", dt, low=0.0, strict=True, unit="s")
    nominal = _nominal(robot)
    kept = _whole("every", every) if every is not None else 0
    if rates not in RATES:
        raise UnknownNameError("rates", rates, RATES)
    true_rates = rates == "true"
    drive = _drive(nominal, torque, step, hold, motion, controller, forward, true_rates)
    if q is None:
        if drive.course is None or motion is None:
            raise InputError("q", None, "the angles at the start, where no motion is followed")
        q = drive.course.q[0]
        qd = motion.qd[0] if qd is None else qd
    batch = _batch(robot, nominal, q, qd, numbers, external_force, drive)
    if substeps is not None:
        cut = _whole("substeps", substeps)
    elif traced(batch.numbers):
        raise InputError("substeps", None, "a whole number where numbers are traced by JAX")
    else:
        cut = friction_substeps(nominal, np.asarray(batch.numbers), step)
    timing = _Timing(step, cut, kept)
    if on_jax(batch.numbers, batch.q, batch.qd, batch.wrench, drive.torque):
        found = _on_jax(batch, drive, timing, true_rates)
    elif backend != "auto" and chosen_backend(backend) == "jax":
        with doubles():
            arrays = _on_jax(batch, drive, timing, true_rates)
            found = Ended(*(None if x is None else np.asarray(x) for x in arrays))
    elif (
        plant_module() is None or batch.kind != ROTARY or (true_rates and drive.course is not None)
    ):
        with np.errstate(all="ignore"):  # NaN marks a loop that is open
            found = advance(np, _given(batch, drive, step), _plan(batch, timing, true_rates))
    else:
        found = _compiled(batch, drive, timing)
    return _result(found, batch, timing)


def _given(batch: _Batch, drive: _Drive, step: Any) -> Given:
    """The arrays as `advance` wants them, with the ticks first."""
    ticks: Course | Held
    if drive.course is not None:
        ticks = drive.course
    else:
        table = drive.torque
        table = table.swapaxes(0, 1) if table.ndim == 3 else table
        ticks = Held(table[:-1], table[1:]) if drive.ramp else Held(table, table)
    return Given(batch.numbers, batch.q, batch.qd, batch.wrench, ticks, drive.gains, step)


def _plan(batch: _Batch, timing: _Timing, true_rates: bool) -> Plan:
    terms = terms_in(batch.numbers)
    return Plan(timing.substeps, terms, batch.joints, timing.every, true_rates, batch.kind)


def _on_jax(batch: _Batch, drive: _Drive, timing: _Timing, true_rates: bool) -> Ended:
    """The run as one compiled loop, in the float type of the arrays of JAX, or in float64."""
    jnp, arrays = jax_numpy(), (batch.numbers, batch.q, batch.qd, batch.wrench, drive.torque)
    kind = common_float(*arrays) if on_jax(*arrays) else np.float64
    plan = _plan(batch, timing, true_rates)

    def cast(value: Any) -> Any:
        return None if value is None else jnp.asarray(value, dtype=kind)

    given = _given(batch, drive, timing.dt)
    ticks = type(given.ticks)(*(cast(table) for table in given.ticks))
    numbers, q, qd, wrench = (cast(x) for x in given[:4])
    whole = Given(numbers, q, qd, wrench, ticks, cast(given.gains), cast(given.step))
    found: Ended = jitted(_advance_jax, ("plan",))(whole, plan=plan)
    return found


def _advance_jax(given: Given, plan: Plan) -> Ended:
    return advance(jax_numpy(), given, plan)


# The compiled path. Every array that `plant_rollout` reads lies in one piece in memory: numbers
# (N, ROBOT_COUNT) or one row for all, y (N, 2 dof) = q, qd, which it moves in place, the wrench and
# the torques; `own` says by its bits which of numbers, wrench and torques have a row per robot.


def _compiled(batch: _Batch, drive: _Drive, timing: _Timing) -> Ended:
    """The run in pieces of robots, in threads where that pays.

    With a law a piece is held tick by tick until its tracking errors are known.
    """
    (count, dof), steps, every = batch.q.shape, drive.steps, timing.every
    y = np.ascontiguousarray(np.concatenate([batch.q, batch.qd], axis=1))
    course = np.empty((count, steps // every + 1, 2 * dof)) if every else None
    follows = drive.course is not None
    rms, peak = np.empty((2, count, dof)) if follows else (None, None)
    size = min(PIECE, max(1, ROOM // ((steps + 1) * 2 * dof))) if follows else PIECE
    call = _compiled_call(batch, drive, timing)

    def piece(start: int) -> None:
        rows = slice(start, start + size)
        if drive.course is None or rms is None or peak is None:
            call(rows, y[rows], every, None if course is None else course[rows])
            return
        ticks = np.empty((len(y[rows]), steps + 1, 2 * dof))
        call(rows, y[rows], 1, ticks)
        error = drive.course.q - ticks[:, :-1, :dof]
        rms[rows] = np.sqrt(np.mean(error**2, axis=1))
        peak[rows] = np.abs(error).max(axis=1)
        if course is not None:
            course[rows] = ticks[:, ::every]

    starts = range(0, count, size)
    workers = min(threads(), len(starts)) if count * steps > THREADED else 1
    if workers <= 1:
        for start in starts:
            piece(start)
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(piece, starts))
    states = None if course is None else course.swapaxes(0, 1)
    return Ended(y[:, :dof], y[:, dof:], rms, peak, states)


def _compiled_call(
    batch: _Batch, drive: _Drive, timing: _Timing
) -> Callable[[slice, FloatArray, int, FloatArray | None], None]:
    """`plant_rollout` of some rows of robots, with their states and the states that it keeps."""
    module: Any = plant_module()
    dof, steps = batch.q.shape[1], drive.steps
    # each with the number of dimensions that it has with a row per robot
    force = np.zeros(dof) if batch.wrench is None else batch.wrench
    arrays = [(batch.numbers, 2), (force, 2), (drive.torque, 3)]
    own = [array is not None and array.ndim == full for array, full in arrays]
    bits = own[0] + 2 * own[1] + 4 * own[2]
    tables = [None if array is None else np.ascontiguousarray(array) for array, _ in arrays]
    law = None
    if drive.course is not None and drive.gains is not None:
        course = drive.course
        parts = (course.tau, course.q, course.qd, drive.gains.ravel())
        law = tuple(np.ascontiguousarray(part) for part in parts)

    def call(rows: slice, y: FloatArray, every: int, kept: FloatArray | None) -> None:
        numbers, wrench, torque = (
            table[rows] if each and table is not None else table
            for table, each in zip(tables, own, strict=True)
        )
        module.plant_rollout(
            dof,
            bits,
            timing.dt,
            timing.substeps,
            steps,
            drive.ramp,
            numbers,
            wrench,
            y,
            torque,
            law,
            every,
            kept,
        )

    return call


def _result(found: Ended, batch: _Batch, timing: _Timing) -> Rollout:
    dof = batch.q.shape[-1]
    if found.course is None:
        course = np.empty((len(batch.q), 0, 2 * dof))
    else:
        course = found.course.swapaxes(0, 1)
    t: FloatArray = np.arange(course.shape[1], dtype=np.float64) * (timing.every * timing.dt)
    parts = [found.q, found.qd, course, found.rms, found.peak]
    if batch.single:
        parts = [None if part is None else part[0] for part in parts]
    q, qd, path, rms, peak = parts
    return Rollout(q, qd, t, path[..., :dof], path[..., dof:], rms, peak)


# The arguments.


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
    forward: npt.ArrayLike | None,
    true_rates: bool,
) -> _Drive:
    """What drives the robots."""
    if hold not in HOLDS:
        raise UnknownNameError("hold", hold, HOLDS)
    if (torque is None) == (motion is None):
        given = "neither" if torque is None else "both"
        raise InputError("torque and motion", given, "one of them")
    if motion is not None:
        if hold != "step":
            raise InputError("hold", hold, "'step' where a motion is followed")
        return _law(robot, motion, controller, dt, forward, true_rates)
    for name, value in (("controller", controller), ("forward", forward)):
        if value is not None:
            raise InputError(name, type(value).__name__, "a motion to follow with it")
    table = _array("torque", torque)
    ramp = hold == "linear"
    dof, least = robot.dof, 1 + ramp
    if table.ndim not in (2, 3) or table.shape[-1] != dof or table.shape[-2] < least:
        allowed = f"(T, {dof}) or (N, T, {dof}) with T at least {least}"
        raise InputError("shape of torque", table.shape, allowed)
    _check_finite("torque", table)
    return _Drive(table, ramp)


def _law(
    robot: Robot,
    motion: Any,
    controller: Controller | None,
    dt: float,
    forward: Any,
    true_rates: bool,
) -> _Drive:
    if not isinstance(motion, Motion):
        allowed = "a Motion, made by Motion.from_platform or Motion.from_joints"
        raise InputError("motion", type(motion).__name__, allowed)
    task = make_task(robot, motion, 1 / dt, PLAIN.with_switches(hold="step"))
    law = (PDFeedforward(robot) if controller is None else controller).prepare(task)
    if type(law) is not PDLaw:
        allowed = "PD, PDFeedforward or another whose law is a PDLaw; simulate runs all others"
        raise InputError("controller", type(controller).__name__, allowed)
    seen = task.now.qd if true_rates else law.rates  # the reference, as the controller sees rates
    tables = [table[:-1] for table in (law.reference, seen, law.forward)]  # the end is held
    if forward is not None:
        tables[2] = as_float(forward, "forward")
        if tables[2].shape != tables[0].shape:
            allowed = f"{tables[0].shape}, a row per tick"
            raise InputError("shape of forward", tables[2].shape, allowed)
        _check_finite("forward", tables[2])
    return _Drive(None, False, Course(*tables), np.array([law.stiffness, law.damping], np.float64))


def _batch(
    robot: Robot | Sequence[Robot],
    nominal: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike | None,
    numbers: npt.ArrayLike | None,
    external_force: npt.ArrayLike | None,
    drive: _Drive,
) -> _Batch:
    """All arrays with as many rows as the one that has most."""
    dof = nominal.dof
    rows = {"q": _state("q", q, dof)}
    rows["qd"] = np.zeros(dof) if qd is None else _state("qd", qd, dof)
    table = _numbers(robot, numbers)
    rows["numbers" if numbers is not None else "robot"] = table
    force = None
    if external_force is not None:
        force = rows["external_force"] = _array("external_force", external_force)
    counts = {name: len(value) for name, value in rows.items() if value.ndim == 2}
    if drive.torque is not None and drive.torque.ndim == 3:
        counts["torque"] = len(drive.torque)
    count = max(counts.values(), default=1)
    for name, own in counts.items():
        if own != count:
            raise InputError(f"rows of {name}", own, f"{count}, as its partners have, or one")
    if force is not None and not on_jax(force):
        wrench = external_wrench(nominal, force, count)
        force = wrench if force.ndim == 2 else wrench[0]
    angles, speeds = (_repeated(rows[name], (count, dof)) for name in ("q", "qd"))
    packed = numbers is not None and np.shape(numbers)[-1] == COUNT  # without passive joints
    joints = () if packed else joints_in(table, nominal.spindle is not None)
    kinds = {actuation(item) for item in ([robot] if isinstance(robot, Robot) else robot)}
    if len(kinds) > 1:
        raise InputError("robots", sorted(kinds), "robots whose limbs are moved in one way")
    return _Batch(table, angles, speeds, force, joints, not counts, kinds.pop())


def _numbers(robot: Robot | Sequence[Robot], numbers: npt.ArrayLike | None) -> Any:
    if numbers is None:
        if isinstance(robot, Robot):
            return robot_numbers(robot, PLAIN.smoothing)
        return np.array([robot_numbers(item, PLAIN.smoothing) for item in robot])
    if not isinstance(robot, Robot):
        raise InputError("numbers", "given beside several robots", "given beside one robot")
    table = _array("numbers", numbers)
    if table.ndim not in (1, 2) or table.shape[-1] not in (COUNT, ROBOT_COUNT):
        allowed = f"({ROBOT_COUNT},) or (N, {ROBOT_COUNT}), rows from robot_numbers"
        allowed += f", or {COUNT} wide from packed_parameters"
        raise InputError("shape of numbers", table.shape, allowed)
    _check_finite("numbers", table)
    if table.shape[-1] == ROBOT_COUNT:
        return table
    xp = jax_numpy() if on_jax(table) else np
    place = NUMBERS["smoothing"]
    smoothing = xp.where(table[..., place] == 0, PLAIN.smoothing, table[..., place])
    none = xp.zeros((*table.shape[:-1], ROBOT_COUNT - COUNT), dtype=table.dtype)
    parts = [table[..., : place.start], smoothing, table[..., place.stop :], none]
    return xp.concatenate(parts, axis=-1)  # no friction in passive joints


def _state(name: str, value: npt.ArrayLike, dof: int) -> Any:
    array = _array(name, value)
    if array.ndim not in (1, 2) or array.shape[-1] != dof or not array.size:
        raise InputError(f"shape of {name}", array.shape, f"({dof},) or (N, {dof})")
    _check_finite(name, array)
    return array


def _array(name: str, value: Any) -> Any:
    """Numbers as an array: one of JAX as it is, all else as doubles."""
    return value if on_jax(value) else as_float(value, name)


def _repeated(array: Any, shape: tuple[int, int]) -> Any:
    return (jax_numpy() if on_jax(array) else np).broadcast_to(array, shape)


def _check_finite(name: str, array: Any) -> None:
    """Refuse what is not finite; values of JAX may be traced and are not looked at."""
    if on_jax(array):
        return
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        place = tuple(bad[0].tolist())
        raise InputError(name, float(array[place]), "finite numbers", where=f"place {place}")


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(name, value, "a whole number, at least 1")
    return int(value)


# The name of 0.1 for rollouts of robots with their own numbers on JAX; it goes with 0.3.


@dataclass(frozen=True, eq=False)
class BatchRun:
    """Where N machines ended, and how well they followed: what `simulate_batch` gives.

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
    """Deprecated: `rollout` with numbers=par, rates="true" and dt=1/rate does the same.

    `torque` is its `forward`, `keep` its every=1; `friction` leaves friction terms of `par` out.
    """
    text = "simulate_batch is now rollout(robot, motion=..., numbers=par, rates='true', ...)"
    warnings.warn(f"{text}; the old name goes with the next release", DeprecationWarning, 2)
    numbers = np.asarray(par, dtype=np.float64)
    if numbers.ndim not in (1, 2) or numbers.shape[-1] != COUNT:
        raise InputError("shape of par", np.shape(par), f"(N, {COUNT}), from packed_parameters")
    if type(controller) not in (PD, PDFeedforward):
        raise InputError("controller", type(controller).__name__, "PD or PDFeedforward")
    rate = setting("rate", rate, low=0.0, strict=True, unit="Hz")
    check_count("substeps", substeps, 1)
    found = rollout(
        controller.robot,
        q,
        qd,
        dt=1 / rate,
        motion=motion,
        controller=controller,
        forward=torque,
        numbers=_without(numbers, friction),
        rates="true",
        substeps=substeps,
        every=1 if keep else None,
        backend=chosen_backend(backend),
    )
    assert found.rms is not None
    assert found.peak is not None
    ticks = np.moveaxis(found.course_q, -2, 0)[:-1] if keep else None
    count = int(np.floor(motion.duration * rate * (1 + 1e-12) + 1e-9))
    t = motion.t[0] + np.arange(count) / rate
    return BatchRun(found.q, found.qd, found.rms, found.peak, t, ticks)


def _without(numbers: FloatArray, friction: bool | FrictionTerms) -> FloatArray:
    """Numbers without the friction that is not wanted."""
    numbers = numbers.copy()
    terms = friction if isinstance(friction, FrictionTerms) else FrictionTerms()
    places = {name: name for name in ("stribeck", "load", "thinning", "motor_load")}
    places["ripple"] = "ripple_order"
    left_out = [place for name, place in places.items() if not getattr(terms, name)]
    if friction is False:
        left_out = ["viscous", "coulomb", "coulomb_negative", "offset", *places.values()]
    for name in left_out:
        numbers[..., NUMBERS[name]] = 0.0
    return numbers
