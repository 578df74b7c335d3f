"""[falezza2022] section 5 on the virtual bench: M_s against M_f on Y1, Y2, Y3, and their cost."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.backends import switched_off as kernels_switched_off
from deltadyn.dynamics import inverse_dynamics
from deltadyn.errors import InputError
from deltadyn.exports.fmu import compiled, compiler
from deltadyn.kinematics import State
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.motion import Motion, y1, y2, y3
from deltadyn.reproduce.audit.operations import (
    TABLE_6,
    c_function,
    exact_from_platform,
    operation_counts,
    simplified_from_platform,
)
from deltadyn.reproduce.result import JOINTS, Check, Paper, Reproduction, Table, by_joint
from deltadyn.reproduce.trials import (
    BAND,
    ROBOT,
    WORDS,
    Errors,
    Trial,
    error_rows,
    errors,
    trial,
    trials,
    whole_number,
)
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot

M_S, M_F = "M_s", "M_f"
MORE = M_S_ROTOR, M_F_FRICTION = "M_s and rotor", "M_f and friction"
SLOW = 0.5  # of the robot's limits: Y1 and Y3 once more
PICKS, LAYOUTS = 2, 8  # of Y1: objects, and layouts with which the one in use is compared
FORCE = (15.0, -10.0, -30.0)  # N, on the platform
SAMPLES, SINGLES, RUNS = 10_000, 200, 3  # evaluations that are timed: in arrays, one by one

PAPER = Paper(
    "falezza2022",
    BAND=BAND,
    FORCE=FORCE,
    LAST=LAYOUTS - 1,
    M_F_FRICTION=M_F_FRICTION,
    M_S_ROTOR=M_S_ROTOR,
    OPERATIONS=TABLE_6[M_F].total,
    RUNS=RUNS,
    SAMPLES=SAMPLES,
    SLOW=SLOW,
    **WORDS,
)
TABLES, TABLE_7 = PAPER.numbers["errors"], PAPER.numbers["rates"]

Work = Callable[[], int]  # gives the number of evaluations that it made


@dataclass(frozen=True, eq=False)
class Case:
    """A trajectory on the bench with every model's torque (N, 3) and error."""

    trial: Trial
    torques: dict[str, FloatArray]
    found: dict[str, Errors]

    @property
    def taken_off(self) -> FloatArray:
        """What M_f takes off the error of M_s (3,): sqrt(std_s^2 - std_f^2), in N m."""
        return taken_off(self.found[M_S].std, self.found[M_F].std)

    @property
    def between(self) -> FloatArray:
        """Standard deviation (3,) of the torque of M_f less that of M_s below the band, in N m."""
        apart = self.trial.prepared.limited(self.torques[M_F] - self.torques[M_S])
        return np.asarray(apart.std(axis=0))

    @property
    def acceleration(self) -> FloatArray:
        """Standard deviation (3,) of the joints' acceleration below the band, in rad/s^2."""
        prepared = self.trial.prepared
        return np.asarray(prepared.limited(prepared.state.qdd).std(axis=0))

    @property
    def rotor(self) -> FloatArray:
        """The rotors' inertia times that acceleration (3,), in N m."""
        return self.trial.run.truth.robot.drives.output_inertia[0] * self.acceleration

    @property
    def moving(self) -> BoolArray:
        """At which of the compared samples the motion moves."""
        reference = self.trial.run.reference
        speed = np.abs(reference.qd).max(axis=1)
        return np.asarray(np.interp(self.trial.prepared.times, reference.t, speed) > 0)

    def std_where(self, model: str, rows: BoolArray) -> FloatArray:
        """Standard deviation (3,) of a model's error at some of the compared samples, in N m."""
        prepared = self.trial.prepared
        error = prepared.limited(prepared.tau - self.torques[model])[rows]
        return np.asarray(error.std(axis=0))


@dataclass(frozen=True, eq=False)
class Found:
    """The trajectories as they are, and Y1 and Y3 at half of the limits."""

    cases: dict[str, Case]
    slow: dict[str, Case]


@dataclass(frozen=True, eq=False)
class Stops:
    """Table 5 in its two parts: errors (3,) in N m while Y3 moves and while it stands.

    `share` of the time moving gives M_s the deviation that the paper has, `complete` is that of M_f
    at the same share.
    """

    moving: dict[str, FloatArray]
    standing: dict[str, FloatArray]
    share: FloatArray
    complete: FloatArray
    seconds: float  # of moving

    @classmethod
    def of(cls, case: Case) -> Stops:
        """var = w var_moving + (1 - w) var_standing, solved for w with the paper's M_s."""
        rows = case.moving
        moving, standing = (
            {model: case.std_where(model, part) for model in (M_S, M_F)} for part in (rows, ~rows)
        )
        square = np.square(TABLES["Y3"][M_S][1]) - standing[M_S] ** 2
        share = square / (moving[M_S] ** 2 - standing[M_S] ** 2)
        complete = np.sqrt(share * moving[M_F] ** 2 + (1 - share) * standing[M_F] ** 2)
        times = case.trial.prepared.times
        return cls(moving, standing, share, complete, float(rows.mean() * (times[-1] - times[0])))

    @property
    def dwell(self) -> FloatArray:
        """How long (3,) each of three stops would have to last, in s."""
        stops: FloatArray = self.seconds * (1 / self.share - 1) / 3
        return stops

    @property
    def off(self) -> float:
        """How far M_f is from the paper's at that share, the largest joint."""
        return float(np.abs(self.complete / TABLES["Y3"][M_F][1] - 1).max())


def falezza2022(*, seed: int = 0, dwell: float = 2.0, progress: bool = False) -> Reproduction:
    """Compare M_s and M_f with the torques of the virtual bench on Y1, Y2, Y3.

    `seed` is that of Y1's places and of the noise; `dwell` (s) is how long Y3 stops.
    """
    whole_number("seed", seed, 0)
    robot = load_robot(ROBOT)
    plans: list[tuple[str, Motion, int]] = [
        ("Y1", y1(robot, picks=PICKS, seed=seed), 10 * seed),
        ("Y2", y2(robot), 10 * seed + 1),
        ("Y3", y3(robot, dwell=dwell), 10 * seed + 2),
        ("Y1, slow", y1(robot, picks=PICKS, seed=seed, share=SLOW), 10 * seed + 4),
        ("Y3, slow", y3(robot, dwell=dwell, share=SLOW), 10 * seed + 5),
    ]
    cases = [_case(robot, done) for done in trials(robot, plans, progress)]
    found = Found(dict(zip(TABLES, cases[:3], strict=True)), {"Y1": cases[3], "Y3": cases[4]})
    machine = cases[0].trial.run.truth.robot
    static, pushed = largest_static_difference(robot), _pushed(robot, seed)
    motions = [motion for _, motion, _ in plans[:3]]
    built = build(robot, machine, motions[1])
    counts = {
        count.name: count for count in operation_counts(robot, load_robot("telescopic-delta"))
    }
    tables = (
        *(_error_table(number, *item) for number, item in enumerate(found.cases.items(), 3)),
        PAPER.table("ratios", _ratios(found.cases)),
        PAPER.table("places", _places(found)),
        PAPER.table("stops", _stops(found)),
        PAPER.table("operations", _operations(counts)),
        rates_table(robot, machine, motions, built),
        PAPER.table("force", _force(pushed)),
    )
    values = _values(robot, found, machine)
    exact = counts["exact, 3-DOF"].written.total
    checks = _checks(found, static, exact, pushed, built)
    return PAPER.reproduction(tables, PAPER.statements(static=static, **values), checks, found)


def largest_static_difference(robot: Robot) -> float:
    """The largest torque (N m) between exact and half-half at rest, over the workspace."""
    cylinder = working_cylinder(robot)
    shares = np.meshgrid(
        np.linspace(0, cylinder.radius, 13),
        np.linspace(0, 2 * np.pi, 72, endpoint=False),
        np.linspace(cylinder.z_min, cylinder.z_max, 9),
    )
    radius, azimuth, z = (grid.ravel() for grid in shares)
    points = np.stack([radius * np.cos(azimuth), radius * np.sin(azimuth), z], axis=1)
    state = State.from_platform(robot, points)
    one, two = (
        inverse_dynamics(robot, state, model, friction=False) for model in ("exact", "half-half")
    )
    return float(np.abs(one - two).max())


def _case(robot: Robot, done: Trial) -> Case:
    """Both models as the paper uses them, and two that show where the difference comes from."""
    machine, state = done.run.truth.robot, done.prepared.state
    turned = robot.with_rotor_inertia(machine.drives.output_inertia)
    torques = {
        M_S: inverse_dynamics(robot, state, "half-half", friction=False),
        M_F: inverse_dynamics(turned, state, "exact", friction=False),
        M_S_ROTOR: inverse_dynamics(turned, state, "half-half", friction=False),
        M_F_FRICTION: inverse_dynamics(turned.replace(friction=machine.friction), state, "exact"),
    }
    return Case(done, torques, {name: errors(done.prepared, tau) for name, tau in torques.items()})


def _pushed(robot: Robot, seed: int) -> dict[str, Errors]:
    """The errors of M_f where a constant force pushes the platform along Y2."""
    done = trial(robot, "Y2, pushed", y2(robot), 10 * seed + 3, external_force=FORCE)
    turned = robot.with_rotor_inertia(done.run.truth.robot.drives.output_inertia)
    state = done.prepared.state
    torques = {
        f"M_f {how} the force": inverse_dynamics(turned, state, friction=False, external_force=push)
        for how, push in (("without", None), ("with", FORCE))
    }
    return {name: errors(done.prepared, tau) for name, tau in torques.items()}


def taken_off(simple: Sequence[float] | FloatArray, complete: Any) -> FloatArray:
    """sqrt(std_s^2 - std_f^2): right where the rest of the error does not go with it."""
    square: FloatArray = np.square(simple) - np.square(complete)
    return np.sqrt(np.maximum(square, 0.0))


def _error_table(number: int, name: str, case: Case) -> Table:
    t, lively = case.trial.prepared.t, _liveliness(case.trial.run.reference)
    rows = error_rows(case.found, TABLES[name])
    seconds = t[-1] - t[0]
    return PAPER.table("errors", rows, number=number, name=name, seconds=seconds, lively=lively)


def _ratios(cases: dict[str, Case]) -> list[Any]:
    rows = []
    for name, case in cases.items():
        paper = np.divide(TABLES[name][M_S][1], TABLES[name][M_F][1])
        ours = [case.found[M_S].std / case.found[model].std for model in (M_F, *MORE)]
        rows += by_joint(name, JOINTS, paper, *ours)
    return rows


def _places(found: Found) -> list[Any]:
    """Why Y1 and Y2 change places: M_s errs by the rotors' torque."""
    rows = []
    for name, case in (
        ("Y1", found.cases["Y1"]),
        (f"Y1 at {SLOW:g} of the limits", found.slow["Y1"]),
        ("Y2", found.cases["Y2"]),
    ):
        paper = TABLES.get(name)
        theirs: tuple[Any, Any] = (None, None)
        if paper is not None:
            theirs = (paper[M_S][1], taken_off(paper[M_S][1], paper[M_F][1]))
        own = (case.found[M_S].std, case.taken_off, case.between, case.rotor, case.acceleration)
        rows += by_joint(name, JOINTS, *theirs, *own)
    return rows


def _stops(found: Found) -> list[Any]:
    """Table 5 in its parts: what moves and what stands."""
    rows = []
    for name, case in (("Y3", found.cases["Y3"]), (f"Y3 at {SLOW:g}", found.slow["Y3"])):
        stops = Stops.of(case)
        parts = [part[model] for model in (M_S, M_F) for part in (stops.moving, stops.standing)]
        own = (100 * stops.share, stops.complete)
        rows += by_joint(name, JOINTS, *parts, *own, TABLES["Y3"][M_F][1])
    return rows


def _force(pushed: dict[str, Errors]) -> list[Any]:
    return [
        row for name, own in pushed.items() for row in by_joint(name, JOINTS, own.mean, own.std)
    ]


def _operations(counts: dict[str, Any]) -> list[Any]:
    """Scalar operations of both models, counted by running them on numbers that count."""
    rows = []
    for model, name in ((M_S, "M_s by the paper's route"), (M_F, "exact, 3-DOF")):
        own = counts[name]
        total = TABLE_6[model].total
        rows.append((model, total, name, own.inputs, own.written.total, own.shared.total))
    return rows


def _values(robot: Robot, found: Found, machine: Robot) -> dict[str, Any]:
    """What the statements show."""
    cases = list(found.cases.values())
    first, second, third = cases
    slow, fast = found.slow["Y1"], Stops.of(third)
    halved, t = Stops.of(found.slow["Y3"]), third.trial.prepared.t
    paper = [taken_off(TABLES[name][M_S][1], TABLES[name][M_F][1]) for name in ("Y1", "Y2")]
    std = [{name: own.std for name, own in case.found.items()} for case in cases]
    means = [case.found[M_S].mean_all - case.found[M_F].mean_all for case in cases]
    return {
        "shift": [np.subtract(table[M_S][0], table[M_F][0]) for table in TABLES.values()],
        "apart": np.abs(means).max(),
        "rotor": machine.drives.output_inertia[0],
        "rotors": [100 * (x[M_S] - x[M_S_ROTOR]) / (x[M_S] - x[M_F]) for x in std],
        "friction": [x[M_F] / x[M_F_FRICTION] for x in std],
        "dwell": _still(third.trial),
        "seconds": t[-1] - t[0],
        "theirs": paper[1] / paper[0],
        "ours": second.taken_off / first.taken_off,
        "first": first.acceleration,
        "slow": slow.acceleration,
        "second": second.acceleration,
        "errs": slow.found[M_S].std / second.found[M_S].std,
        "printed": np.divide(TABLES["Y1"][M_S][1], TABLES["Y2"][M_S][1]),
        **left_by_complete(found),
        "share": 100 * fast.share,
        "slow_share": 100 * halved.share,
        "stops": halved.dwell,
        "off": 100 * fast.off,
        "slow_off": 100 * halved.off,
        "lively": _liveliness(first.trial.run.reference),
        "others": [_liveliness(y1(robot, picks=PICKS, seed=seed)) for seed in range(LAYOUTS)],
    }


def left_by_complete(found: Found) -> dict[str, FloatArray]:
    """How many times (3,) as much M_f errs on Y2 as on Y1: the paper's, and ours."""
    own = [found.cases[name].found[M_F].std for name in ("Y1", "Y2")]
    left = np.divide(TABLES["Y2"][M_F][1], TABLES["Y1"][M_F][1])
    return {"left": left, "own": own[1] / own[0]}


def _liveliness(motion: Motion) -> float:
    """RMS acceleration of the platform, in m/s^2."""
    return float(np.sqrt(np.mean(np.sum(motion.pdd[:, :3] ** 2, axis=1))))


def _still(done: Trial) -> float:
    """Seconds of a motion at which nothing moves."""
    reference = done.run.reference
    return float((np.abs(reference.qd).max(axis=1) == 0).mean() * reference.t[-1])


def _checks(
    found: Found, static: float, operations: int, pushed: dict[str, Errors], built: Built
) -> tuple[Check, ...]:
    """What must hold; the compiled models of table 7 where there is a compiler."""
    first, slow, second = found.cases["Y1"], found.slow["Y1"], found.cases["Y2"]
    explained = [np.abs(x.taken_off / x.between - 1).max() for x in (first, slow, second)]
    own = {name: case.found for name, case in found.cases.items()}
    code = {} if built.difference is None else {"compiled": built.difference}
    return PAPER.checks(
        better={name: min(model[M_S].std / model[M_F].std) for name, model in own.items()},
        static=static,
        operations=operations,
        force=np.abs(pushed["M_f with the force"].mean).max(),
        explained=max(explained),
        slow=max(slow.found[M_S].std / second.found[M_S].std),
        split=Stops.of(found.slow["Y3"]).off,
        **code,
    )


# Table 7


def rates_table(robot: Robot, machine: Robot, motions: Sequence[Motion], built: Built) -> Table:
    """How often a second both models are computed on one core, in C and by this Python."""
    turned = robot.with_rotor_inertia(machine.drives.output_inertia)
    inputs = [_repeated(motion) for motion in motions]
    users = ((M_S, robot, "half-half"), (M_F, turned, "exact"))
    rows = [("paper, C++ at 2.5 GHz", *TABLE_7[M_S], *TABLE_7[M_F])]

    def timed(name: str, make: Callable[..., Work]) -> None:
        rates = [_rates([make(*user, x) for x in inputs]) for user in users]
        rows.append((name, *rates[0], *rates[1]))

    if built.library is not None:
        timed(f"C, {built.status}", lambda name, _, __, x: lambda: len(built.torque(name, x)))
    with kernels_switched_off():  # both models by the same means
        timed("NumPy, arrays", _in_arrays)
        timed("NumPy, one by one", _one_by_one)
    missing = "" if built.library else f"No row in C: {built.status}. "
    return PAPER.table("rates", [(*row, row[2] / row[4]) for row in rows], missing=missing)


@dataclass(frozen=True, eq=False)
class Built:
    """Both models as compiled C, or why there are none, and how far they are from the model."""

    library: ctypes.CDLL | None
    status: str
    difference: float | None  # N m, the largest against inverse_dynamics

    def torque(self, model: str, x: FloatArray) -> FloatArray:
        """Torques (N, 3) of rows x (N, 9): p, pd, pdd."""
        if self.library is None:
            raise InputError("compiled model", self.status, "a C compiler for this machine")
        y = np.empty((len(x), 3))
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (x, y)]
        getattr(self.library, model)(ctypes.c_long(len(x)), *pointers)
        return y


def build(robot: Robot, machine: Robot, motion: Motion) -> Built:
    """Write both models in C, compile them and compare them with `inverse_dynamics`."""
    command = compiler()
    if command is None:
        return Built(None, "no C compiler was found", None)
    turned = robot.with_rotor_inertia(machine.drives.output_inertia)
    first = tuple(tuple(part[0].tolist()) for part in (motion.p, motion.pd, motion.pdd))
    models = ((M_S, simplified_from_platform, robot), (M_F, exact_from_platform, turned))
    parts = [c_function(name, run, user, first) for name, run, user in models]
    source = "\n".join(["#include <math.h>", *parts])
    with TemporaryDirectory() as folder:
        file = Path(folder) / "models.so"
        file.write_bytes(compiled(command, {"models.c": source}, "models.c"))
        built = Built(ctypes.CDLL(str(file)), f"{Path(command[0]).name} -O2", None)
    x = np.hstack([motion.p, motion.pd, motion.pdd])
    off = [
        np.abs(built.torque(M_S, x) - inverse_dynamics(robot, motion, "half-half", friction=False)),
        np.abs(built.torque(M_F, x) - inverse_dynamics(turned, motion, "exact", friction=False)),
    ]
    return replace(built, difference=float(np.max(off)))


def _repeated(motion: Motion) -> FloatArray:
    """Rows (SAMPLES, 9) of a motion: p, pd, pdd."""
    rows = np.hstack([motion.p, motion.pd, motion.pdd])
    return np.ascontiguousarray(rows[np.arange(SAMPLES) % len(rows)])


def _in_arrays(_: str, robot: Robot, model: str, x: FloatArray) -> Work:
    def work() -> int:
        state = State.from_platform(robot, x[..., :3], x[..., 3:6], x[..., 6:])
        return len(np.atleast_2d(inverse_dynamics(robot, state, model, friction=False)))

    return work


def _one_by_one(_: str, robot: Robot, model: str, x: FloatArray) -> Work:
    works = [_in_arrays(_, robot, model, row) for row in x[:SINGLES]]
    return lambda: sum(work() for work in works)


def _rates(works: Sequence[Work]) -> tuple[float, float]:
    """Average and maximum (kHz) over runs of all works."""
    count, seconds, best = 0, 0.0, 0.0
    for work in works:
        for _ in range(RUNS):
            start = perf_counter()
            done = work()
            took = perf_counter() - start
            count, seconds = count + done, seconds + took
            best = max(best, done / took / 1e3)
    return count / seconds / 1e3, best
