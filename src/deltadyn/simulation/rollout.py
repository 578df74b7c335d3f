"""Many robots at once: Runge-Kutta of order 4 over a batch of states, torques and robots.

What `simulate` does for one machine with its drive, without log, books and gears: for
Monte-Carlo studies over parameters, for search, and for learning.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray, as_float
from deltadyn.dynamics.inverse import external_wrench
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.kernels.loader import threads
from deltadyn.kernels.plant import plant_module
from deltadyn.kernels.plant_layout import ROBOT_COUNT
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot
from deltadyn.simulation.checks import setting
from deltadyn.simulation.compiled import robot_numbers
from deltadyn.simulation.controllers import Controller, PDFeedforward, PDLaw
from deltadyn.simulation.presets import Preset
from deltadyn.simulation.reference import make_task
from deltadyn.simulation.rollout_numpy import Drive, advance
from deltadyn.simulation.rollout_steps import friction_substeps

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
