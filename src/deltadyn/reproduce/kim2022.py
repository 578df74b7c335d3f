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
from deltadyn.motion import FourierSeries, Motion, check_motion, fourier_motion
from deltadyn.recording.prepare.data import Prepared
from deltadyn.reproduce.audit.kim2022 import (
    ARM_COLUMNS,
    LagrangeSlip,
    lagrange_torque,
    regression_columns,
)
from deltadyn.reproduce.result import JOINTS, Check, Paper, Reproduction, Table
from deltadyn.reproduce.trials import RATE, random_spline, trials, whole_number
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
#: Fits that are shown on the identification motion: figures 6 to 9, and ours.
SHOWN = (PROPOSED, "RLS as printed", "DLS as printed", "SVD as printed", EXACT)
FRICTION = ("Fv1", "Fv2", "Fv3", "Fc1", "Fc2", "Fc3")

PAPER = Paper("kim2022")
TABLE_2 = PAPER.numbers["table_2"]
# In our convention friction has a plus, so both signs turn.
EQ_36 = (
    *PAPER.numbers["eq_36"]["inertial"],
    *(-value for kind in ("viscous", "coulomb") for value in PAPER.numbers["eq_36"][kind]),
)

Solve = Callable[[FloatArray, FloatArray], FloatArray]
BASELINES: dict[str, Solve] = {
    "RLS": lambda Y, tau: recursive_least_squares(Y, tau).x,
    "DLS": lambda Y, tau: damped_least_squares(Y, tau).x,
    "SVD": lambda Y, tau: truncated_svd(Y, tau, CUT).x,
}

BLOCK = 256  # instants of one update: the same estimates, sooner
THETA_NAMES = tuple(f"theta{number}" for number in range(1, 15))
# of theta 1 and 5, then 2L_1 lambda_i cos, 2L_1 lambda_i sin, 2L_1 lambda_i, 2L_1 lambda_i (R - r)
THETA_UNITS = tuple(
    {1: "kg m^2", 5: "N m", 6: "N m", 10: "N m", 14: "N m"}.get(number, "N")
    for number in range(1, 15)
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """One method on one set of columns: parameters, objective (33), time, and what it predicts."""

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
class Bench:
    """The recorded motions and what the fits made of them."""

    motions: dict[str, Motion]
    seen: Prepared
    unseen: Prepared
    outcomes: dict[str, Outcome]
    given: dict[str, FloatArray]  # (M, 3) in the band: table 1's data on the identification motion
    swarm: SwarmResult
    optimum: L1Result
    handicap: Handicap
    kept: int  # directions of the 14 columns that the SVD keeps
    eleven: Regressor
    truth: FloatArray  # (11,) of the machine

    @property
    def measured(self) -> FloatArray:
        """Torque (M, 3) of the identification motion in the band, in N m."""
        return self.seen.limited(self.seen.tau)

    @property
    def no_voltage(self) -> float:
        """Percentage of samples at which the torque of joint 1 has no real square root."""
        return 100 * float((self.measured[:, 0] < 0).mean())

    def judged(self, name: str) -> Metrics:
        """How well table 1's data or a fit meet the torque of the identification motion."""
        if name in self.given:
            return metrics(self.measured, self.given[name])
        return self.outcomes[name].seen


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
    return PAPER.reproduction(_tables(bench), _statements(bench), _checks(bench), bench)


def run_bench(seed: int, iterations: int, periods: int, progress: bool) -> Bench:
    """Record both motions, fit every method to the first, predict the second."""
    robot = load_robot(ROBOT)
    plans = [
        ("identification", identification_motion(robot, seed, periods), 2 * seed),
        ("validation", validation_motion(robot, seed), 2 * seed + 1),
    ]
    done = trials(robot, plans, progress)
    seen, unseen = (item.prepared for item in done)
    target = seen.limited(seen.tau)
    data = {
        name: seen.limited(columns_of(robot, name, seen.state)) for name in (PRINTED, ELEVEN, WHOLE)
    }
    optima = {name: least_absolute(Y, target) for name, Y in data.items()}
    options: dict[str, Any] = {"iterations": iterations, "seed": seed, "progress": progress}
    flocks: list[SwarmResult] = []

    def by_swarm(**choice: Any) -> Solve:
        def solve(Y: FloatArray, tau: FloatArray) -> FloatArray:
            flocks.append(swarm(Y, tau, -WIDTH, WIDTH, **options, **choice))
            return flocks[-1].x

        return solve

    def judged(columns: str, solve: Solve) -> Outcome:
        began = time.perf_counter()
        x = solve(data[columns], target)
        seconds = time.perf_counter() - began
        fitted = data[columns] @ x
        objective = float(np.abs(target - fitted).sum())
        every = columns_of(robot, columns, unseen.state) @ x
        return Outcome(
            columns,
            x,
            objective,
            objective / optima[columns].bound - 1,
            seconds,
            fitted,
            metrics(target, fitted),
            unseen.limited(every),
            metrics(unseen.limited(unseen.tau), unseen.limited(every)),
            metrics(unseen.tau, every),
        )

    methods: dict[str, tuple[str, Solve]] = {
        PROPOSED: (ELEVEN, by_swarm()),
        "swarm, current positions": (ELEVEN, by_swarm(neighbours_best="current")),
        "swarm, star": (ELEVEN, by_swarm(topology="star")),
        **{f"{name} as printed": (PRINTED, solve) for name, solve in BASELINES.items()},
        **{f"{name} on its columns": (ELEVEN, solve) for name, solve in BASELINES.items()},
        OPTIMUM: (ELEVEN, lambda Y, tau: least_absolute(Y, tau).x),
        EXACT: (WHOLE, lambda Y, tau: truncated_svd(Y, tau, 0.0).x),
    }
    outcomes = {name: judged(*method) for name, method in methods.items()}
    eleven = regressor(robot, seen.state, "virtual-work")
    return Bench(
        motions={name: motion for name, motion, _ in plans},
        seen=seen,
        unseen=unseen,
        outcomes=outcomes,
        given=manufacturers_data(robot, seen, eleven, outcomes[PROPOSED].x),
        swarm=flocks[0],
        optimum=optima[ELEVEN],
        handicap=why_handicapped(robot, seen.state, seen.tau, limit=seen.limited),
        kept=truncated_svd(data[PRINTED], target, CUT).kept,
        eleven=eleven,
        truth=machine_values(done[0].run.truth.robot),
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
    rng = np.random.default_rng([seed, 1])
    radii, height = (0.2, 0.7), 0.3
    return random_spline(robot, rng, PLACES, radii, height, shrink=0.9, share=SHARE, rate=RATE)


def machine_values(machine: Robot) -> FloatArray:
    """The 11 parameters of eq. 30 that the simulated machine has, without its finer friction."""
    par, friction = virtual_work_parameters(machine), machine.friction
    inertial = (par.M_P, par.gravity * par.G[0], *par.A)
    return np.array([*inertial, *friction.viscous[:3], *friction.coulomb[:3]])


def manufacturers_data(
    robot: Robot, seen: Prepared, eleven: Regressor, x: FloatArray
) -> dict[str, FloatArray]:
    """Figure 3a: eq. 1 with the data of table 1, as printed, mended, and with a fit's friction."""
    state, rubbing = seen.state, [name in FRICTION for name in eleven.names]
    mended = inverse_dynamics(robot, state, "euler-lagrange", friction=False)
    torques = {
        TABLE_1_PRINTED: lagrange_torque(robot, state, frozenset(LagrangeSlip)),
        TABLE_1_MENDED: mended,
        TABLE_1_RUBBED: mended + eleven.Y[:, :, rubbing] @ x[rubbing],
    }
    return {name: seen.limited(tau) for name, tau in torques.items()}


def columns_of(robot: Robot, name: str, state: State) -> FloatArray:
    """The columns (N, 3, k) of that name."""
    if name == PRINTED:
        return kim_columns(robot, state).Y
    return regressor(robot, state, "virtual-work" if name == ELEVEN else "exact").Y


# The regression of eqs. 37-40


@dataclass(frozen=True, eq=False)
class Handicap:
    """What eqs. 37-38 leave out on a set of data, in figures; torques are root mean squares."""

    torque: float  # N m, measured
    printed: float  # N m, left by recursive least squares on the 14 columns
    ours: float  # N m, left by the same on the 11 columns of eqs. 26-30
    multipliers: tuple[tuple[float, float], ...]  # least and largest 2 L_1 lambda per arm, N
    friction: float  # N m, that the friction of the 11 columns explains

    def __str__(self) -> str:
        spans = ", ".join(f"{low:.3g} to {high:.3g}" for low, high in self.multipliers)
        return (
            f"Recursive least squares leaves {self.printed:.3g} N m of {self.torque:.3g} N m (RMS) "
            f"on the 14 columns of eqs. 37-38 and {self.ours:.3g} N m on the 11 of eqs. 26-30. The "
            f"first take 2 L_1 lambda for constants, which vary over {spans} N on arms 1, 2, 3, "
            f"and have no friction, which is {self.friction:.3g} N m here."
        )


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
    return Columns(regression_columns(state), THETA_NAMES, THETA_UNITS, _theta(robot, state))


def multipliers(robot: Robot, state: State) -> FloatArray:
    """2 L_1 lambda (N, 3) in N, by [kim2022] eq. 2 with the platform's weight along -z."""
    par = half_half_parameters(robot, uniform_arm=False)
    limbs = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
    force = par.M_P * (state.pdd[:, :3] + np.array([0.0, 0.0, par.gravity]))
    twice: FloatArray = contract("nki,nk->ni", limbs.s_inverse, force)
    return np.asarray(robot.rotary.arm_length) * twice


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
    eleven = regressor(robot, state, "virtual-work")
    Y = limit(eleven.Y)
    printed, ours = (
        recursive_least_squares(columns, torque, block=BLOCK)
        for columns in (limit(kim_columns(robot, state).Y), Y)
    )
    rubbing = [name.startswith("F") for name in eleven.names]
    friction = float(np.sqrt(np.mean((Y[:, :, rubbing] @ ours.x[rubbing]) ** 2)))
    varying = multipliers(robot, state)
    ranges = zip(varying.min(axis=0).tolist(), varying.max(axis=0).tolist(), strict=True)
    size = float(np.sqrt(np.mean(torque**2)))
    return Handicap(size, printed.residual, ours.residual, tuple(ranges), friction)


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


def _tables(bench: Bench) -> tuple[Table, ...]:
    """Table 2 beside ours, errors, objectives, the parameters of eq. 36, figures 3 to 9."""
    outcomes, eleven = bench.outcomes, bench.eleven
    fitness, measured, objectives = [], [], []
    for name, item in outcomes.items():
        paper = TABLE_2.get(name, (None,) * 3)
        fitness.append((name, item.columns, paper, item.found.fitness))
        measured.append((name, item.found.fitness_measured, item.found.rms, item.everything.rms))
        above, milliseconds = f"{max(item.above, 0.0):.1e}", f"{1000 * item.seconds:.1f}"
        objectives.append((name, item.columns, item.objective / 1000, above, milliseconds))
    parameters = zip(
        eleven.names,
        eleven.units,
        EQ_36,
        outcomes[PROPOSED].x,
        outcomes[OPTIMUM].x,
        bench.truth,
        strict=True,
    )
    judged = {name: bench.judged(name) for name in (*bench.given, *SHOWN)}
    return (
        PAPER.table("fitness", fitness),
        PAPER.table("measured", measured),
        PAPER.table("objectives", objectives, count=bench.measured.size),
        PAPER.table("parameters", parameters),
        PAPER.table("identification", [(n, item.fitness, item.rms) for n, item in judged.items()]),
        PAPER.table("motions", [_motion(*item) for item in bench.motions.items()]),
    )


def _motion(name: str, motion: Motion) -> tuple[Any, ...]:
    """Figure 5 in numbers."""
    reach, height = np.hypot(motion.p[:, 0], motion.p[:, 1]).max(), motion.p[:, 2]
    rates = [np.linalg.norm(part, axis=1).max() for part in (motion.pd, motion.pdd)]
    return (name, motion.t[-1], reach, height.min(), height.max(), rates)


def _statements(bench: Bench) -> tuple[str, ...]:
    """What was assumed, what the bench cannot know, what was noticed."""
    outcomes = bench.outcomes
    swarm, optimum = outcomes[PROPOSED], outcomes[OPTIMUM]
    error = {name: 1 - item.found.fitness for name, item in outcomes.items()}
    worst = max(float((error[f"{x} on its columns"] / error[PROPOSED]).max()) for x in BASELINES)
    same = (
        "On the 11 columns RLS, DLS and SVD predict as well as the swarm: the gain of the paper's "
        "method over its baselines is that of its model, not of its algorithm."
    )
    if worst > 1.2:
        same = "On the 11 columns RLS, DLS and SVD do not predict as well as the swarm."
    own = [
        friction_signs(bench.eleven.names, item.x, f"The fit {name!r}")
        for name, item in outcomes.items()
        if item.columns == ELEVEN
    ]
    said = PAPER.statements(
        share=bench.no_voltage,
        printed=bench.judged(TABLE_1_PRINTED).rms,
        mended=bench.judged(TABLE_1_MENDED).rms,
        rubbed=bench.judged(TABLE_1_RUBBED).rms,
        swarm=swarm.seen.rms,
        kept=bench.kept,
        milliseconds=1000 * optimum.seconds,
        gap=bench.optimum.gap,
        above=max(swarm.above, 0.0),
        seconds=swarm.seconds,
        flock=bench.swarm,
        same=same,
        exact=error[EXACT] / error[PROPOSED],
        handicap=bench.handicap,
        signs=friction_signs(FRICTION, EQ_36[5:], "The paper's eq. 36") or "",
    )
    braking = [] if any(own) else ["All friction that was identified here brakes."]
    return (*said, *(text for text in own if text), *braking)


def _checks(bench: Bench) -> tuple[Check, ...]:
    """What must hold on the validation motion, which no fit has seen."""
    error = {name: 1 - item.found.fitness for name, item in bench.outcomes.items()}
    ratio = {name: error[name] / error["RLS as printed"] for name in (PROPOSED, EXACT)}
    swarm = bench.outcomes[PROPOSED]
    friction = np.array([name in FRICTION for name in bench.eleven.names])
    fitted = [swarm.seen.rms / bench.outcomes[f"{name} as printed"].seen.rms for name in BASELINES]
    return PAPER.checks(
        swarm=dict(zip(JOINTS, ratio[PROPOSED], strict=True)),
        exact=dict(zip(JOINTS, ratio[EXACT], strict=True)),
        given=min(bench.judged(TABLE_1_MENDED).rms / swarm.seen.rms),
        fitted=np.max(fitted),
        near=swarm.above,
        friction=min(swarm.x[friction]),
    )
