"""The search: random feasible motions, improved under all limits by sequential quadratic programs.

The limits scale the motion first: a random direction is widened until it touches one. From there
SLSQP changes all coefficients at once. What it leaves infeasible by a hair is narrowed again.
`Workers` carry out many searches in processes of joblib's loky.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, wait
from dataclasses import dataclass, replace
from itertools import islice
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.backends import components
from deltadyn.backends.layout import KINDS
from deltadyn.backends.packed import packed_parameters
from deltadyn.errors import DeltadynError, InputError
from deltadyn.excitation.columns import exact_regressor, pose_of
from deltadyn.excitation.criteria import criterion_by_name
from deltadyn.excitation.problem import Evaluation, Problem, Setting, limit_rows, worst
from deltadyn.kinematics.actuation import actuation
from deltadyn.tracing import chosen_backend, doubles, jax_numpy, jitted, repeat

DRAWS = 200  # of a random motion, before none is thought to be feasible
HALVINGS = 11  # of the factor between feasible and not: 5e-4
TOLERANCE = 1e-5  # of the objective, a logarithm: 1e-5 relative
LOST = 10.0  # added to the objective where the motion does not exist
NEARLY = 1.05  # of a limit's square: narrowing removes the rest at little cost
#: Of a worker. One thread of linear algebra: results do not depend on the number of workers. Freed
#: memory is kept, 2^28 bytes of it and for arrays up to 2^24 bytes: giving pages back to the system
#: between operations takes up to 60 % more processor time. No module from the current folder.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 28),
    "MALLOC_MMAP_THRESHOLD_": str(1 << 24),
    "PYTHONSAFEPATH": "1",
}
MOST_JOBS = 16  # there are not many more searches


@dataclass(frozen=True, eq=False)
class Task:
    """One search: from variables `start`, or from a random motion of `seed` where it is None."""

    setting: Setting
    periods: int
    seed: tuple[int, ...]
    samples: int
    sharpness: float
    iterations: int
    deadline: float  # of time.time(); a task that has not begun by then is skipped
    start: FloatArray | None = None
    needed: bool = False  # never skipped: at least its start is returned


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found: feasible variables and their objective."""

    periods: int
    seed: tuple[int, ...]
    x: FloatArray
    value: float
    iterations: int
    in_time: bool


class WorkerError(DeltadynError):
    """A worker process that ended before its answer; `reason` holds its exit code."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            "a worker process of the search ended before its answer; its own message stands above. "
            f"{reason}"
        )


class Workers:
    """Worker processes, to be used in a `with` block, at whose end they are killed.

    They do not import the caller's script, so that it needs no main guard. Inside a process that
    may have no children, a worker of `multiprocessing.Pool`, the searches run in that process.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool: Any = None
        if not multiprocessing.current_process().daemon:
            from joblib.externals.loky import ProcessPoolExecutor  # takes a while to import

            self._pool = ProcessPoolExecutor(jobs, env=ENVIRONMENT)
            for _ in range(jobs):
                self._pool.submit(_import_all)  # starts them while the caller goes on

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(kill_workers=True)

    def run(self, tasks: Sequence[Task]) -> Iterator[Found]:
        """Results as they come, in an order that depends on the machine; none of skipped tasks."""
        begun = (task for task in tasks if task.needed or time.time() < task.deadline)
        return map(run_task, begun) if self._pool is None else self._found(begun)

    def _found(self, tasks: Iterator[Task]) -> Iterator[Found]:
        # No more tasks than workers are given away: a task is skipped when its turn comes too late,
        # and loky's thread fails on tasks that wait in its own queue when the pool is killed.
        try:
            running = {self._pool.submit(run_task, task) for task in islice(tasks, self._jobs)}
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                running |= {self._pool.submit(run_task, task) for task in islice(tasks, len(done))}
                for future in done:
                    yield future.result()
        except BrokenExecutor as error:
            said = str(error).splitlines()
            codes = [line for line in said if "exit code" in line]
            raise WorkerError((codes or said or [repr(error)])[0]) from error


def default_jobs() -> int:
    """The processors that this process may use, at most 16."""
    if hasattr(os, "sched_getaffinity"):
        return min(max(len(os.sched_getaffinity(0)), 1), MOST_JOBS)
    return min(os.cpu_count() or 1, MOST_JOBS)


def _import_all() -> None:
    """Nothing: to find this function a worker imports the module and what it needs."""


class _TimeUpError(Exception):
    """The deadline has passed."""


def run_task(task: Task) -> Found:
    """Carry out a search; it ends soon after its deadline, with the best it has."""
    problem = Problem(task.setting, task.periods, task.samples, task.sharpness)
    if task.start is None:
        start = random_motion(problem, np.random.default_rng(task.seed))
    else:
        start = within_limits(problem, task.start)
    first = Found(task.periods, task.seed, start, problem.objective(start), 0, False)
    if time.time() >= task.deadline:
        return first
    improved = improve(problem, start, task.iterations, task.deadline)
    best = first
    for x in (within_limits(problem, x) for x in improved.points):
        value = problem.objective(x)
        if value < best.value:
            best = replace(first, x=x, value=value)
    return replace(best, iterations=improved.iterations, in_time=improved.in_time)


def random_motion(problem: Problem, rng: np.random.Generator) -> FloatArray:
    """Variables of a random motion that touches a limit.

    The offset is uniform in nine tenths of the region, the coefficients of all harmonics are
    uniform and alike; the motion is then widened about its offset until a limit binds.
    """
    free = problem.free
    for _ in range(DRAWS):
        x = rng.uniform(-1.0, 1.0, free.shape) * problem.order
        x[:, 0] = rng.uniform(-0.9, 0.9, len(x))
        if not problem.setting.robot.planar and np.hypot(x[0, 0], x[1, 0]) > 0.9:
            continue
        x[3:, 0] /= 2  # psi: nearer to the middle of its long range
        variables: FloatArray = x[free]
        if problem.use(problem.scaled(variables, 0.0)) < 1:
            return touching(problem, variables)
    broken = problem.broken(np.zeros(int(free.sum())))
    raise InputError(
        "limits exceeded at rest",
        list(broken) or "in all points",
        f"none: the robot must be able to stand still in its workspace, and {DRAWS} random points "
        "of it fail",
    )


def touching(problem: Problem, x: FloatArray) -> FloatArray:
    """The same motion as wide as the limits allow."""
    high = 0.05
    for _ in range(12):
        if problem.use(problem.scaled(x, high)) > 1:
            break
        high *= 2
    return problem.scaled(x, _widest(problem, x, high))


def within_limits(problem: Problem, x: FloatArray) -> FloatArray:
    """The motion itself where it keeps the limits, else narrowed about its offset until it does.

    Where even the offset breaks one, it is moved towards the middle of the region.
    """
    if problem.use(x) <= 1:
        return x
    for share in (1.0, 0.8, 0.5, 0.0):
        mask = problem.free.copy()
        mask[:, 1:] = False
        moved = np.where(mask[problem.free], share * x, x)
        if problem.use(problem.scaled(moved, 0.0)) < 1:
            return problem.scaled(moved, _widest(problem, moved, 1.0))
    return x * 0.0


class Improved(NamedTuple):
    """Where SLSQP ended and the best point on its way, its iterations, and whether in time."""

    points: list[FloatArray]
    iterations: int
    in_time: bool


def improve(problem: Problem, x: FloatArray, iterations: int, deadline: float) -> Improved:
    """Change all coefficients at once by SLSQP, from variables x."""
    from scipy.optimize import Bounds, minimize  # takes longer than the rest of the import

    memory = _Memory(problem, x)

    def watch(_: FloatArray) -> None:
        if time.time() >= deadline:
            raise _TimeUpError

    solve: Any = minimize  # its stubs ask for functions of any further arguments
    try:
        result = solve(
            lambda now: memory(now).value,
            x,
            jac=lambda now: memory(now).gradient,
            bounds=Bounds(-problem.bounds, problem.bounds),
            constraints={
                "type": "ineq",
                "fun": lambda now: 1 - memory(now).limits,
                "jac": lambda now: -memory(now).jacobian,
            },
            method="SLSQP",
            callback=watch,
            options={"maxiter": iterations, "ftol": TOLERANCE},
        )
    except _TimeUpError:
        return Improved([memory.best], iterations, False)
    return Improved([np.asarray(result.x), memory.best], int(result.nit), True)


class _Memory:
    """The last evaluation, because SLSQP asks for its four parts one by one, and the best point.

    The best point is the one of the least objective among those that all but keep the limits.
    """

    def __init__(self, problem: Problem, x: FloatArray) -> None:
        self.problem = problem
        self.best, self._least = x, np.inf
        self._x = np.full(1, np.nan)
        self._found: Evaluation | None = None

    def __call__(self, x: FloatArray) -> Evaluation:
        if self._found is None or not np.array_equal(x, self._x):
            found = self.problem.evaluate(x)
            if found is None:  # far worse than before, so that the step is cut
                found = self._lost(len(x))
            elif found.limits.max() < NEARLY and found.value < self._least:
                self.best, self._least = x.copy(), found.value
            self._x, self._found = x.copy(), found
        return self._found

    def _lost(self, size: int) -> Evaluation:
        before = self._found
        value = (before.value if before else 0.0) + LOST
        rows = len(before.limits) if before else 1
        return Evaluation(value, np.zeros(size), np.full(rows, LOST), np.zeros((rows, size)))


def _widest(problem: Problem, x: FloatArray, high: float) -> float:
    """The largest factor up to `high` that keeps the limits, by bisection."""
    if problem.use(problem.scaled(x, high)) <= 1:
        return high
    low = 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if problem.use(problem.scaled(x, middle)) <= 1:
            low = middle
        else:
            high = middle
    return low


# Thousands of random motions at once, as starts for the searches.
#
# Every motion is widened until it touches a limit, as one search does it with its own start, and
# judged by the criterion. All motions go through the model together: with JAX in one compiled
# program, with NumPy in chunks. So the widths w (S,) of all motions are bisected side by side:
#
#     k = 0                 w = 0: is the offset itself allowed?
#     k = 1 to DOUBLINGS    double w while the motion keeps the limits
#     then HALVINGS         halve between the last w that does and the first that does not
#
# The draws are NumPy's, so both judge the same motions. The force in the struts is left out here
# and looked at in the search.


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
    if not problem.setting.robot.planar:
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
        return worst(xp, limit_rows(setting.robot, pose, _torque(xp, setting, pose), setting.rules))

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
    """Torque (dof, S, N) in N m; through the columns where friction sits in passive joints, and of
    robots whose numbers are not packed.
    """
    robot = setting.robot
    if robot.friction.passive or actuation(robot) not in KINDS:
        return xp.tensordot(setting.values, _columns(setting, pose), axes=1)
    par = packed_parameters(robot)
    names = ("cos_q", "sin_q", *components.Pose._fields[2:])
    state = components.Pose(*(tuple(getattr(pose, name)) for name in names))
    terms = components.friction_terms(par)
    return xp.stack(components.torque(xp, tuple(par), state, terms, (), actuation(robot)))


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
