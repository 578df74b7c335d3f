"""[kim2022] on the virtual bench: the swarm, its baselines as printed and on its own columns."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import regressor
from deltadyn.dynamics.lumped import virtual_work_parameters
from deltadyn.errors import UnreachableError
from deltadyn.identification.kim_regression import Handicap, kim_columns, why_handicapped
from deltadyn.identification.methods.l1 import L1Result, least_absolute
from deltadyn.identification.methods.recursive import (
    damped_least_squares,
    recursive_least_squares,
    truncated_svd,
)
from deltadyn.identification.methods.swarm import SwarmResult, swarm
from deltadyn.kinematics import State
from deltadyn.motion import (
    FourierSeries,
    LimitError,
    Motion,
    check_motion,
    fourier_motion,
    spline_move,
)
from deltadyn.motion.scenarios import usable_cylinder
from deltadyn.recording.prepare.data import Prepared
from deltadyn.reproduce.kim2022_page import figures
from deltadyn.reproduce.kim2022_text import checks, statements, tables
from deltadyn.reproduce.result import Reproduction
from deltadyn.reproduce.trials import RATE, progress_bar, trial, whole_number
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot
from deltadyn.validation.metrics import Metrics, metrics

ROBOT = "nt-robot"
PERIOD, HARMONICS = 2.0, 5  # s and number, of the identification motion
SHARE = 0.8  # of the robot's limits, both motions
WIDTH = 20.0  # SI: the swarm starts within plus and minus this, in all parameters
PLACES = 16  # of the validation motion
CUT = 0.1  # of the largest singular value, of the SVD

PROPOSED = "proposed (swarm)"
OPTIMUM = "optimum of eq. 33"
EXACT = "exact model"
PRINTED, ELEVEN, WHOLE = "14, eqs. 37-38", "11, eq. 30", "exact"

Solve = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Outcome:
    """One method on one set of columns: parameters, objective (33), time, and what it predicts."""

    name: str
    columns: str
    x: FloatArray
    objective: float  # N m, on the identification data
    above: float  # of the optimum of the same columns, a share
    seconds: float
    torque: FloatArray  # (M, 3) in the band, on the validation motion
    found: Metrics
    everything: Metrics  # of the samples as recorded


@dataclass(frozen=True, eq=False)
class Bench:
    """The recorded motions and what the fits made of them."""

    robot: Robot
    machine: Robot
    seen: Prepared
    unseen: Prepared
    outcomes: dict[str, Outcome]
    swarm: SwarmResult
    optimum: L1Result
    handicap: Handicap
    kept: int  # directions of the 14 columns that the SVD keeps
    names: tuple[str, ...]
    units: tuple[str, ...]
    truth: FloatArray  # (11,) of the machine


def kim2022(
    *, seed: int = 0, iterations: int = 1000, periods: int = 8, progress: bool = False
) -> Reproduction:
    """Identify the robot of kim2022 on the virtual bench by its methods and ours, and compare them.

    Another `seed` gives another motion, another noise and another swarm. The identification motion
    repeats 2 s `periods` times; fewer save time.
    """
    whole_number("seed", seed, 0)
    whole_number("iterations", iterations, 1)
    whole_number("periods", periods, 1)
    bench = run_bench(seed, iterations, periods, progress)
    return Reproduction(
        paper="kim2022",
        title="swarm and baselines on the virtual bench",
        tables=tables(bench),
        statements=statements(bench),
        checks=checks(bench),
        figures=figures(bench),
    )


def run_bench(seed: int, iterations: int, periods: int, progress: bool) -> Bench:
    """Record both motions, fit every method to the first, predict the second."""
    robot = load_robot(ROBOT)
    plans = [
        ("identification", identification_motion(robot, seed, periods), 2 * seed),
        ("validation", validation_motion(robot, seed), 2 * seed + 1),
    ]
    with progress_bar(plans, progress, len(plans)) as bar:
        trials = [trial(robot, name, motion, number) for name, motion, number in bar]
    seen, unseen = (item.prepared for item in trials)
    data = {name: _rows(robot, name, seen) for name in (PRINTED, ELEVEN, WHOLE)}
    optima = {name: least_absolute(*rows) for name, rows in data.items()}
    options: dict[str, Any] = {"iterations": iterations, "seed": seed, "progress": progress}
    flocks: list[SwarmResult] = []

    def by_swarm(**choice: Any) -> Solve:
        def solve(Y: FloatArray, tau: FloatArray) -> FloatArray:
            flocks.append(swarm(Y, tau, -WIDTH, WIDTH, **options, **choice))
            return flocks[-1].x

        return solve

    methods: list[tuple[str, str, Solve]] = [
        (PROPOSED, ELEVEN, by_swarm()),
        ("swarm, current positions", ELEVEN, by_swarm(neighbours_best="current")),
        ("swarm, star", ELEVEN, by_swarm(topology="star")),
        *((f"{name} as printed", PRINTED, solve) for name, solve in BASELINES.items()),
        *((f"{name} on its columns", ELEVEN, solve) for name, solve in BASELINES.items()),
        (OPTIMUM, ELEVEN, lambda Y, tau: least_absolute(Y, tau).x),
        (EXACT, WHOLE, lambda Y, tau: truncated_svd(Y, tau, 0.0).x),
    ]
    outcomes = {}
    for name, columns, solve in methods:
        began = time.perf_counter()
        x = solve(*data[columns])
        seconds = time.perf_counter() - began
        outcomes[name] = _judged(robot, name, columns, x, seconds, data, optima, unseen)
    machine = trials[0].run.truth.robot
    eleven = regressor(robot, seen.state, "virtual-work")
    return Bench(
        robot=robot,
        machine=machine,
        seen=seen,
        unseen=unseen,
        outcomes=outcomes,
        swarm=flocks[0],
        optimum=optima[ELEVEN],
        handicap=why_handicapped(robot, seen.state, seen.tau, limit=seen.limited),
        kept=truncated_svd(*data[PRINTED], CUT).kept,
        names=eleven.names,
        units=eleven.units,
        truth=machine_values(machine),
    )


def identification_motion(robot: Robot, seed: int, periods: int) -> Motion:
    """A Fourier series about the middle of the workspace, as wide as 0.8 of the limits allow."""
    cylinder, rng = usable_cylinder(robot), np.random.default_rng(seed)
    offset = np.array([0.0, 0.0, (cylinder.z_min + cylinder.z_max) / 2])
    size = np.array([cylinder.radius, cylinder.radius, (cylinder.z_max - cylinder.z_min) / 2])
    sine, cosine = rng.normal(size=(2, 3, HARMONICS)) / np.arange(1, HARMONICS + 1) * size[:, None]
    series = FourierSeries(1 / PERIOD, offset, sine, cosine)

    def fits(factor: float) -> bool:
        try:
            motion = fourier_motion(robot, series.scaled(factor), rate=200.0)
        except UnreachableError:
            return False
        return check_motion(robot, motion, share=SHARE).ok

    low, high = 0.0, 1.0
    for _ in range(10):  # to a thousandth
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return fourier_motion(robot, series.scaled(low), periods=periods, rate=RATE)


def validation_motion(robot: Robot, seed: int) -> Motion:
    """A quintic spline through random places of the workspace, in the shortest time at 0.8."""
    cylinder, rng = usable_cylinder(robot), np.random.default_rng([seed, 1])
    azimuth = np.cumsum(rng.uniform(0.5, 1.0, PLACES) * np.pi)  # each far from the one before
    radius = cylinder.radius * rng.uniform(0.2, 0.7, PLACES)
    height = 0.3 * (cylinder.z_max - cylinder.z_min) * rng.uniform(-1, 1, PLACES)
    places = np.stack([radius * np.cos(azimuth), radius * np.sin(azimuth), height], axis=1)
    middle = np.array([0.0, 0.0, (cylinder.z_min + cylinder.z_max) / 2])
    while True:
        try:
            return spline_move(robot, middle + places, share=SHARE, rate=RATE)
        except LimitError:  # between its places the curve leaves the workspace
            places = 0.9 * places


def machine_values(machine: Robot) -> FloatArray:
    """The 11 parameters of eq. 30 that the simulated machine has, without its finer friction."""
    par, friction = virtual_work_parameters(machine), machine.friction
    inertial = (par.M_P, par.gravity * par.G[0], *par.A)
    return np.array([*inertial, *friction.viscous[:3], *friction.coulomb[:3]])


def columns_of(robot: Robot, name: str, state: State) -> FloatArray:
    """The columns (N, 3, k) of that name."""
    if name == PRINTED:
        return kim_columns(robot, state).Y
    return regressor(robot, state, "virtual-work" if name == ELEVEN else "exact").Y


def _rows(robot: Robot, name: str, part: Prepared) -> tuple[FloatArray, FloatArray]:
    return part.limited(columns_of(robot, name, part.state)), part.limited(part.tau)


def _judged(
    robot: Robot,
    name: str,
    columns: str,
    x: FloatArray,
    seconds: float,
    data: dict[str, tuple[FloatArray, FloatArray]],
    optima: dict[str, L1Result],
    unseen: Prepared,
) -> Outcome:
    Y, tau = data[columns]
    objective = float(np.abs(tau - Y @ x).sum())
    every = columns_of(robot, columns, unseen.state) @ x
    torque = unseen.limited(every)
    return Outcome(
        name,
        columns,
        x,
        objective,
        objective / optima[columns].bound - 1,
        seconds,
        torque,
        metrics(unseen.limited(unseen.tau), torque),
        metrics(unseen.tau, every),
    )


def _rls(Y: FloatArray, tau: FloatArray) -> FloatArray:
    return recursive_least_squares(Y, tau).x


def _dls(Y: FloatArray, tau: FloatArray) -> FloatArray:
    return damped_least_squares(Y, tau).x


def _svd(Y: FloatArray, tau: FloatArray) -> FloatArray:
    return truncated_svd(Y, tau, CUT).x


BASELINES: dict[str, Solve] = {"RLS": _rls, "DLS": _dls, "SVD": _svd}
