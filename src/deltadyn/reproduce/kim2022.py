"""[kim2022] on the virtual bench: the swarm, its baselines as printed and on its own columns.

The baselines run on the 14-parameter regression of eqs. 37-40. Its columns come from eq. 1 with
the Lagrange multipliers taken for constants and without friction. Both hold for a robot that
stands still: a multiplier is half of the force in a strut pair over its length, and follows the
acceleration of the platform. Whatever estimator fits these columns is handicapped by them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, contract, matching_samples
from deltadyn.dynamics import Regressor, inverse_dynamics, regressor
from deltadyn.dynamics.friction import Columns
from deltadyn.dynamics.inverse import check_state
from deltadyn.dynamics.lumped import half_half_parameters, virtual_work_parameters
from deltadyn.errors import InputError, UnreachableError
from deltadyn.identification.methods.l1 import L1Result, least_absolute
from deltadyn.identification.methods.recursive import (
    damped_least_squares,
    recursive_least_squares,
    truncated_svd,
)
from deltadyn.identification.methods.swarm import SwarmResult, swarm
from deltadyn.kinematics import State
from deltadyn.kinematics.struts import LimbGeometry
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.motion import (
    FourierSeries,
    LimitError,
    Motion,
    check_motion,
    fourier_motion,
    spline_move,
)
from deltadyn.recording.prepare.data import Prepared
from deltadyn.reproduce.audit.kim2022 import LagrangeSlip, lagrange_torque
from deltadyn.reproduce.result import Cell, Check, Reproduction, Table
from deltadyn.reproduce.trials import JOINTS, RATE, progress_bar, trial, whole_number
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
TABLE_1_PRINTED = "table 1, eq. 1 as printed"
TABLE_1_MENDED = "table 1, eq. 1 mended"
TABLE_1_RUBBED = "table 1, eq. 1 mended, and the swarm's friction"
PRINTED, ELEVEN, WHOLE = "14, eqs. 37-38", "11, eq. 30", "exact"

Solve = Callable[[FloatArray, FloatArray], FloatArray]

# [kim2022] table 2: fitness of joints 1, 2, 3 on the validation motion.
TABLE_2 = {
    "proposed (swarm)": (0.9240, 0.9053, 0.9228),
    "RLS as printed": (0.8724, 0.8679, 0.8761),
    "DLS as printed": (0.8714, 0.8684, 0.8751),
    "SVD as printed": (0.8545, 0.8001, 0.8604),
}
# [kim2022] eq. 36 in our convention: friction enters eq. 22 with a minus, so both signs turn.
EQ_36 = (4.3963, 5.3480, 0.3823, 0.3237, 0.3047, -3.2111, -1.1688, -3.1343, 9.1037, 7.6127, 9.2628)
#: Fits that are shown on the identification motion: figures 6 to 9, and ours.
SHOWN = (PROPOSED, "RLS as printed", "DLS as printed", "SVD as printed", EXACT)
FRICTION = ("Fv1", "Fv2", "Fv3", "Fc1", "Fc2", "Fc3")
BETTER, MUCH_BETTER = 0.75, 0.5  # of the error of RLS as printed: the paper's own is 0.60 to 0.72
GIVEN = 2.0  # times the swarm's error, that table 1's data leave: figure 3a against 3b
NEAR = 1e-3  # of the objective, the swarm above its proven optimum

MOTION_STATEMENT = (
    "The paper shows its motions as figures without numbers. Ours: for identification a Fourier "
    "series of 5 harmonics and 2 s about the middle of the workspace with random coefficients, as "
    "wide as 0.8 of the robot's limits allow, repeated; for validation a spline through 16 random "
    "places of the workspace, as fast as 0.8 of the limits allow. How far the methods lie apart "
    "depends on these motions."
)
BENCH_STATEMENT = (
    "The bench cannot know the paper's robot: the length of its struts is not published (0.8 m is "
    "ours), nor are its friction, its sampling and its gears. The simulated machine has the masses "
    "and rotors of table 1, Stribeck and load-dependent friction, unequal arms, elastic gears, "
    "ripple and noise of the preset 'industrial', and its mechanism is the exact model. So the "
    "sizes of the fitness here say nothing about the paper's robot; what can be compared is the "
    "order of the methods on one set of data, and why."
)
VOLTAGE_STATEMENT = (
    "Figure 3 shows the square root of the torque as a voltage, because the paper takes the square "
    "of the motor voltage for the torque. A square has no sign: at {share:.0f} % of the samples of "
    "joint 1 the torque is negative and has no such voltage. The bench logs a torque with its "
    "sign, and figure 3 is drawn as a torque."
)
BAND_STATEMENT = (
    "All methods see the same data: rates by the Kalman smoother (the paper takes central "
    "differences), columns and torque low-passed alike at 30 Hz, below the resonance of the gears. "
    "The table of errors shows the samples as recorded, too."
)
SETTING_STATEMENT = (
    "The paper gives no region in which the swarm starts (ours: plus and minus 20 in SI units), no "
    "start of RLS (covariance 1e6, zero), no damping (1e-3 of the columns' squares) and no cut of "
    "the SVD (a tenth of the largest singular value, which keeps {kept} of 14 directions; uncut "
    "it is least squares). One pair of random numbers moves a particle, as eq. 34 is printed."
)

BLOCK = 256  # instants of one update: the same estimates, sooner
THETA_NAMES = tuple(f"theta{number}" for number in range(1, 15))
# of theta 1 and 5, then 2L_1 lambda_i cos, 2L_1 lambda_i sin, 2L_1 lambda_i, 2L_1 lambda_i (R - r)
THETA_UNITS = tuple(
    {1: "kg m^2", 5: "N m", 6: "N m", 10: "N m", 14: "N m"}.get(number, "N")
    for number in range(1, 15)
)
ARM_COLUMNS = ((1, 2, 3, 5), (6, 7, 8, 9), (10, 11, 12, 13))  # columns of one arm: x, y, z, R - r


@dataclass(frozen=True, eq=False)
class Outcome:
    """One method on one set of columns: parameters, objective (33), time, and what it predicts."""

    name: str
    columns: str
    x: FloatArray
    objective: float  # N m, on the identification data
    above: float  # of the optimum of the same columns, a share
    seconds: float
    seen_torque: FloatArray  # (M, 3) in the band, on the identification motion
    seen: Metrics
    torque: FloatArray  # (M, 3) in the band, on the validation motion
    found: Metrics
    everything: Metrics  # of the samples as recorded


@dataclass(frozen=True, eq=False)
class Given:
    """A model that is not fitted, with table 1's data, on the identification motion (figure 3a)."""

    name: str
    torque: FloatArray  # (M, 3) in the band
    found: Metrics


@dataclass(frozen=True, eq=False)
class Bench:
    """The recorded motions and what the fits made of them."""

    robot: Robot
    machine: Robot
    motions: dict[str, Motion]
    seen: Prepared
    unseen: Prepared
    outcomes: dict[str, Outcome]
    given: dict[str, Given]
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
        data=bench,
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
        outcomes[name] = _judged(robot, name, columns, x, seconds, data, optima, seen, unseen)
    machine = trials[0].run.truth.robot
    eleven = regressor(robot, seen.state, "virtual-work")
    return Bench(
        robot=robot,
        machine=machine,
        motions={name: motion for name, motion, _ in plans},
        seen=seen,
        unseen=unseen,
        outcomes=outcomes,
        given=manufacturers_data(robot, seen, eleven, outcomes[PROPOSED].x),
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
    cylinder, rng = working_cylinder(robot), np.random.default_rng(seed)
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
    cylinder, rng = working_cylinder(robot), np.random.default_rng([seed, 1])
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


def manufacturers_data(
    robot: Robot, seen: Prepared, eleven: Regressor, x: FloatArray
) -> dict[str, Given]:
    """Figure 3a: eq. 1 with the data of table 1, as printed, mended, and with a fit's friction."""
    state, rubbing = seen.state, [name in FRICTION for name in eleven.names]
    mended = inverse_dynamics(robot, state, "euler-lagrange", friction=False)
    torques = {
        TABLE_1_PRINTED: lagrange_torque(robot, state, frozenset(LagrangeSlip)),
        TABLE_1_MENDED: mended,
        TABLE_1_RUBBED: mended + eleven.Y[:, :, rubbing] @ x[rubbing],
    }
    measured = seen.limited(seen.tau)
    shown = {name: seen.limited(tau) for name, tau in torques.items()}
    return {name: Given(name, tau, metrics(measured, tau)) for name, tau in shown.items()}


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
    seen: Prepared,
    unseen: Prepared,
) -> Outcome:
    Y, tau = data[columns]
    fitted = Y @ x
    objective = float(np.abs(tau - fitted).sum())
    every = columns_of(robot, columns, unseen.state) @ x
    torque = unseen.limited(every)
    return Outcome(
        name,
        columns,
        x,
        objective,
        objective / optima[columns].bound - 1,
        seconds,
        fitted,
        metrics(tau, fitted),
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


# The regression of eqs. 37-40


@dataclass(frozen=True, eq=False)
class Handicap:
    """What eqs. 37-38 leave out on a set of data, in figures; torques are root mean squares."""

    torque: float  # N m, measured
    printed: float  # N m, left by recursive least squares on the 14 columns
    ours: float  # N m, left by the same on the 11 columns of eqs. 26-30
    multipliers: tuple[tuple[float, float], ...]  # least and largest 2 L_1 lambda per arm, N
    friction: float  # N m, that the friction of the 11 columns explains
    text: str

    def __str__(self) -> str:
        return self.text


def kim_columns(robot: Robot, state: State) -> Columns:
    """The columns of [kim2022] eq. 40, Y (N, 3, 14), in its order.

    Two signs are mended to make it a regression in our frame: the paper's equations hold with z
    down, so its P_z is our -z, while its theta and the torque are ours; and theta_5, which lacks
    gravity in eq. 38, is a torque here. Neither changes what a fit can reach. `values` holds
    theta_1 and theta_5 of the robot and, in place of the constants that do not exist, the mean of
    2 L_1 lambda_i over the states.
    """
    check_state(robot, state)
    if robot.dof != 3:
        raise InputError("robot.dof", robot.dof, "3: the regression of kim2022 has no spindle")
    c, s = state.cos_q, state.sin_q
    x, y, z = (state.p[:, k, None] for k in range(3))
    Y = np.zeros((len(state), 3, 14))
    Y[:, :, 0], Y[:, :, 4] = state.qdd[:, :3], -c
    own = np.stack([-x * s, -y * s, -z * c, s], axis=-1)  # (N, arm, 4)
    for arm, where in enumerate(ARM_COLUMNS):
        Y[:, arm, where] = own[:, arm]
    return Columns(Y, THETA_NAMES, THETA_UNITS, _theta(robot, state))


def multipliers(robot: Robot, state: State) -> FloatArray:
    """2 L_1 lambda (N, 3) in N, by [kim2022] eq. 2 with the platform's weight along -z."""
    par = half_half_parameters(robot, uniform_arm=False)
    limbs = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
    force = par.M_P * (state.pdd[:, :3] + np.array([0.0, 0.0, par.gravity]))
    twice: FloatArray = contract("nki,nk->ni", limbs.s_inverse, force)
    return np.asarray(robot.geometry.arm_length) * twice


def why_handicapped(
    robot: Robot,
    state: State,
    tau: npt.ArrayLike,
    *,
    limit: Callable[[FloatArray], FloatArray] = np.asarray,
) -> Handicap:
    """Recursive least squares on the 14 printed and on the 11 columns of eqs. 26-30, compared.

    `limit` is a linear filter over samples, for columns and torque alike.
    """
    torque = limit(matching_samples(tau, len(state), 3, "tau"))
    columns = limit(kim_columns(robot, state).Y)
    printed = recursive_least_squares(columns, torque, block=BLOCK)
    eleven = regressor(robot, state, "virtual-work")
    Y = limit(eleven.Y)
    ours = recursive_least_squares(Y, torque, block=BLOCK)
    rubbing = [name.startswith("F") for name in eleven.names]
    friction = float(np.sqrt(np.mean((Y[:, :, rubbing] @ ours.x[rubbing]) ** 2)))
    varying = multipliers(robot, state)
    ranges = tuple(
        (float(low), float(high))
        for low, high in zip(varying.min(axis=0), varying.max(axis=0), strict=True)
    )
    size = float(np.sqrt(np.mean(torque**2)))
    spans = ", ".join(f"{low:.3g} to {high:.3g}" for low, high in ranges)
    text = (
        f"Recursive least squares leaves {printed.residual:.3g} N m of {size:.3g} N m (RMS) on the "
        f"14 columns of eqs. 37-38 and {ours.residual:.3g} N m on the 11 of eqs. 26-30. The first "
        f"take 2 L_1 lambda for constants, which vary over {spans} N on arms 1, 2, 3, and have no "
        f"friction, which is {friction:.3g} N m here."
    )
    return Handicap(size, printed.residual, ours.residual, ranges, friction, text)


def _theta(robot: Robot, state: State) -> FloatArray:
    par, geometry = half_half_parameters(robot, uniform_arm=False), robot.geometry
    mean = multipliers(robot, state).mean(axis=0)
    azimuth = np.asarray(geometry.azimuth)
    shrunk = np.asarray(geometry.base_radius) - np.asarray(geometry.platform_radius)
    values = np.zeros(14)
    values[0], values[4] = np.mean(par.A), par.gravity * np.mean(par.G)
    for arm, where in enumerate(ARM_COLUMNS):
        factors = (np.cos(azimuth[arm]), np.sin(azimuth[arm]), 1.0, shrunk[arm])
        values[list(where)] = mean[arm] * np.array(factors)
    return values


# Tables, statements and checks


def friction_signs(
    names: Sequence[str], values: FloatArray | Sequence[float], whose: str
) -> str | None:
    """A sentence on friction that drives instead of braking, or None where all of it brakes.

    In our convention friction adds Fv qd + Fc sign(qd) to the torque of the drive.
    """
    found = dict(zip(names, (float(value) for value in values), strict=True))
    axes = sorted({name[2:] for name in found if name[:2] in ("Fv", "Fc")})
    viscous = [axis for axis in axes if found.get(f"Fv{axis}", 0.0) < 0]
    coulomb = [axis for axis in axes if found.get(f"Fc{axis}", 0.0) < 0]
    if not viscous and not coulomb:
        return None
    parts = []
    for kind, key, wrong in (("viscous", "Fv", viscous), ("Coulomb", "Fc", coulomb)):
        if wrong:
            shown = ", ".join(f"{found[key + axis]:.3g}" for axis in wrong)
            parts.append(f"negative {kind} friction on joint {', '.join(wrong)} ({shown})")
    mixed = [axis for axis in axes if (axis in viscous) != (axis in coulomb)]
    text = f"{whose} has {' and '.join(parts)}: such friction feeds energy in."
    if mixed:
        text += (
            f" On joint {', '.join(mixed)} the two have opposite signs, which no sign convention "
            "mends."
        )
    return text


def tables(bench: Bench) -> tuple[Table, ...]:
    """Table 2 beside ours, errors, objectives, the parameters of eq. 36, figures 3 to 9."""
    return (
        _fitness(bench),
        _measured(bench),
        _objectives(bench),
        _parameters(bench),
        _identification(bench),
        _motions(bench),
    )


def _fitness(bench: Bench) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, item in bench.outcomes.items():
        paper = TABLE_2.get(name, (None,) * 3)
        rows.append((name, item.columns, *paper, *(float(value) for value in item.found.fitness)))
    heads = tuple(f"{kind} {axis}" for kind in ("paper", "ours") for axis in (1, 2, 3))
    return Table(
        "Table 2: fitness on the validation motion (eq. 41), joints 1, 2, 3",
        ("method", "columns", *heads),
        tuple(rows),
        "By the range of the predicted torque, as in eq. 41; below by that of the measured one.",
        digits=4,
    )


def _measured(bench: Bench) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for item in bench.outcomes.values():
        parts = (item.found.fitness_measured, item.found.rms, item.everything.rms)
        rows.append((item.name, *(float(value) for part in parts for value in part)))
    heads = tuple(f"{kind} {axis}" for kind in ("fitness", "rms", "all") for axis in (1, 2, 3))
    return Table(
        "Fitness by the range of the measured torque, and the error (N m, root mean square)",
        ("method", *heads),
        tuple(rows),
        "Below 30 Hz; 'all': error of the samples as recorded, at 2 kHz.",
        digits=3,
    )


def _identification(bench: Bench) -> Table:
    """Figures 3a and 6 to 9 in numbers."""
    pairs = [(item.name, item.found) for item in bench.given.values()]
    pairs += [(name, bench.outcomes[name].seen) for name in SHOWN]
    rows: list[tuple[Cell, ...]] = []
    for name, found in pairs:
        numbers = (*found.fitness.tolist(), *found.rms.tolist())
        rows.append((name, *numbers))
    heads = tuple(f"{kind} {axis}" for kind in ("fitness", "rms") for axis in (1, 2, 3))
    return Table(
        "Figures 3 and 6 to 9: the identification motion, fitness and error (N m)",
        ("torque", *heads),
        tuple(rows),
        "Below 30 Hz. The paper shows curves without numbers.",
        digits=3,
    )


def _motions(bench: Bench) -> Table:
    """Figure 5 in numbers."""
    rows: list[tuple[Cell, ...]] = []
    for name, motion in bench.motions.items():
        reach = float(np.hypot(motion.p[:, 0], motion.p[:, 1]).max())
        low, high = (float(f(motion.p[:, 2])) for f in (np.min, np.max))
        speed, lively = (
            float(np.linalg.norm(part, axis=1).max()) for part in (motion.pd, motion.pdd)
        )
        rows.append((name, float(motion.t[-1]), reach, low, high, speed, lively))
    return Table(
        "Figure 5: the motions",
        ("motion", "s", "radius (m)", "lowest z (m)", "highest z", "m/s", "m/s^2"),
        tuple(rows),
        "The largest radius, speed and acceleration of the platform. The paper shows curves "
        "without numbers: these motions are ours.",
    )


def _objectives(bench: Bench) -> Table:
    rows = [
        (
            item.name,
            item.columns,
            item.objective / 1000,
            f"{max(item.above, 0.0):.1e}",
            f"{1000 * item.seconds:.1f}",
        )
        for item in bench.outcomes.values()
    ]
    count = bench.seen.limited(bench.seen.tau).size
    return Table(
        f"Objective (eq. 33) on the identification data, {count} rows",
        ("method", "columns", "objective (kN m)", "above the optimum", "time (ms)"),
        tuple(rows),
        "'above the optimum': over the proven lower bound of the same columns, less 1. Least "
        "squares minimises another sum and is above it by design.",
        digits=4,
    )


def _parameters(bench: Bench) -> Table:
    found = [bench.outcomes[name].x for name in ("proposed (swarm)", "optimum of eq. 33")]
    rows = tuple(
        (name, unit, EQ_36[j], float(found[0][j]), float(found[1][j]), float(bench.truth[j]))
        for j, (name, unit) in enumerate(zip(bench.names, bench.units, strict=True))
    )
    return Table(
        "The 11 parameters (eq. 36), friction with a plus in the drive's torque",
        ("parameter", "unit", "paper", "swarm", "optimum", "bench"),
        rows,
        "'bench': the simulated machine, half of each strut at its ends; its Stribeck and "
        "load-dependent friction and its coupling m_x have no place in the 11.",
        digits=4,
    )


def statements(bench: Bench) -> tuple[str, ...]:
    """What was assumed, what the bench cannot know, what was noticed."""
    outcomes = bench.outcomes
    swarm, optimum = outcomes["proposed (swarm)"], outcomes["optimum of eq. 33"]
    paper = friction_signs(FRICTION, EQ_36[5:], "The paper's eq. 36")
    own = [
        friction_signs(bench.names, item.x, f"The fit {item.name!r}")
        for item in outcomes.values()
        if item.columns.startswith("11")
    ]
    convex = (
        f"The objective is convex, so that its optimum can be proven: least_absolute gives it in "
        f"{1000 * optimum.seconds:.0f} ms with a gap of {bench.optimum.gap:.1e} N m, the swarm "
        f"comes within {max(swarm.above, 0.0):.1e} of it after {bench.swarm.evaluations} "
        f"evaluations in {swarm.seconds:.1f} s, without knowing how near it is. Its leaders go by "
        f"their {bench.swarm.neighbours_best} positions; the paper prints 'current'."
    )
    same = (
        "On the 11 columns RLS, DLS and SVD predict as well as the swarm: the gain of the paper's "
        "method over its baselines is that of its model, not of its algorithm."
    )
    exact = (1 - outcomes["exact model"].found.fitness) / (1 - swarm.found.fitness)
    gain = (
        "The exact model with ten parameters by least squares has "
        f"{', '.join(f'{ratio:.2f}' for ratio in exact)} times the error (1 - fitness) of the "
        "swarm's 11 on joints 1, 2, 3."
    )
    voltage = VOLTAGE_STATEMENT.format(share=100 * _no_voltage(bench))
    others = [outcomes[f"{name} on its columns"] for name in ("RLS", "DLS", "SVD")]
    errors = [1 - item.found.fitness for item in (swarm, *others)]
    if max(float((error / errors[0]).max()) for error in errors) > 1.2:
        same = "On the 11 columns RLS, DLS and SVD do not predict as well as the swarm."
    return tuple(
        text
        for text in (
            BENCH_STATEMENT,
            MOTION_STATEMENT,
            voltage,
            _given_sentence(bench),
            BAND_STATEMENT,
            SETTING_STATEMENT.format(kept=bench.kept),
            convex,
            same,
            gain,
            str(bench.handicap),
            paper,
            *(own if any(own) else ["All friction that was identified here brakes."]),
        )
        if text
    )


def _no_voltage(bench: Bench) -> float:
    """The share of samples at which the torque of joint 1 has no real square root."""
    return float((bench.seen.limited(bench.seen.tau)[:, 0] < 0).mean())


def _given_sentence(bench: Bench) -> str:
    """What the discrepancy of figure 3a consists of, on the bench."""
    printed, mended, rubbed = (
        bench.given[name].found.rms for name in (TABLE_1_PRINTED, TABLE_1_MENDED, TABLE_1_RUBBED)
    )
    swarm = bench.outcomes[PROPOSED].seen.rms
    return (
        "Figure 3a: with the manufacturer's data eq. 1 errs by "
        f"{_listed(printed)} N m as printed and by {_listed(mended)} mended, the swarm by "
        f"{_listed(swarm)} (joints 1, 2, 3). The paper blames the data. Here table 1 is the "
        f"machine's own to a few per cent, and with the swarm's friction eq. 1 errs by "
        f"{_listed(rubbed)}: what it lacks is mostly friction. How far table 1 is from the real "
        "robot the bench cannot show."
    )


def _listed(values: FloatArray) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def checks(bench: Bench) -> tuple[Check, ...]:
    """What must hold on the validation motion, which no fit has seen."""
    error = {name: 1 - item.found.fitness for name, item in bench.outcomes.items()}
    base = error["RLS as printed"]
    found = []
    for name, bound in (("proposed (swarm)", BETTER), ("exact model", MUCH_BETTER)):
        for axis, joint in enumerate(JOINTS):
            what = f"1 - fitness of {name} over that of RLS as printed, {joint}"
            found.append(Check.at_most(what, float(error[name][axis] / base[axis]), bound))
    swarm = bench.outcomes["proposed (swarm)"]
    friction = np.array([name in FRICTION for name in bench.names])
    given = bench.given[TABLE_1_MENDED].found.rms / swarm.seen.rms
    fitted = [swarm.seen.rms / bench.outcomes[f"{name} as printed"].seen.rms for name in BASELINES]
    return (
        *found,
        Check.at_least(
            "figure 3: error of eq. 1 with table 1 over that of the swarm, smallest joint",
            float(given.min()),
            GIVEN,
        ),
        Check.at_most(
            "figures 7 to 9: error of the swarm over that of a baseline as printed, largest",
            float(np.max(fitted)),
            BETTER,
        ),
        Check.at_most("objective of the swarm above the proven optimum", swarm.above, NEAR),
        Check.at_least(
            "least friction coefficient of the swarm", float(swarm.x[friction].min()), 0.0
        ),
    )
