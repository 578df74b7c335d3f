"""[kim2022] on the virtual bench, section by section of the paper.

Two motions are recorded (figure 5). The swarm and its baselines are fitted to the first: the swarm
to the 11 columns of eqs. 26-30, the baselines to the 14 of eqs. 37-40 as the paper does, and to the
11. Every fit predicts the second motion (table 2). The paper's main argument, that a swarm needs no
model that is linear in its parameters, is shown on eq. 1 with lengths and a Stribeck velocity among
the unknowns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics import (
    CouplingMap,
    coupling_map,
    equations_of_motion,
    inverse_dynamics,
    packed_parameters,
    packed_torque,
    packing,
    regressor,
)
from deltadyn.errors import UnreachableError
from deltadyn.identification import (
    L1,
    AbsoluteErrorSum,
    Damped,
    Prepared,
    Rls,
    Svd,
    SwarmResult,
    swarm,
)
from deltadyn.kinematics import LimbGeometry, State, jacobian, working_cylinder
from deltadyn.motion import FourierSeries, Motion, check_motion, fourier_motion, y1
from deltadyn.reproduce.audit.kim2022 import (
    ARM_COLUMNS,
    LagrangeSlip,
    lagrange_torque,
    regression_columns,
)
from deltadyn.reproduce.claims import Claim
from deltadyn.reproduce.result import JOINTS, Check, Paper, Reproduction, Table
from deltadyn.reproduce.trials import RATE, Trial, random_spline, trials, whole_number
from deltadyn.robot import Robot, load_robot
from deltadyn.validation import Metrics, metrics

PAPER = Paper("kim2022")
ROBOT = "nt-robot"

# The motions, which the paper shows without numbers.
PERIOD_S, HARMONICS = 2.0, 5  # of the identification motion
LIMIT_SHARE = 0.8  # of the robot's limits, all motions
SPLINE_POINTS = 16  # of the validation motion
PICKS = "pick-and-place"  # a third motion, for the conditioning of the SVD

# Settings that the paper does not give.
START_WIDTH = 20.0  # SI: the swarm starts within plus and minus this, in all parameters
SVD_CUT = 0.5  # of the largest singular value: see `section_4_svd_conditioning`
SVD_CUTS = (0.01, 0.1, 0.5)
RLS_BLOCK = 256  # instants of one update: the same estimates, sooner

# Conclusion (i): the unknowns of eq. 1 with Stribeck friction, shared by the arms, between bounds.
UNKNOWNS = {
    "M_P": ("kg", 1.0, 8.0),
    "A": ("kg m^2", 0.05, 1.0),
    "G": ("kg m", 0.1, 3.0),
    "Fv": ("N m s/rad", 0.0, 10.0),
    "Fc": ("N m", 0.0, 20.0),
    "Fs": ("N m", 0.0, 20.0),
    "stribeck_velocity": ("rad/s", 0.005, 1.0),
    "arm_length": ("m", 0.25, 0.45),
    "strut_length": ("m", 0.6, 1.0),
}
TRUE_FRICTION = {"viscous": 2.0, "coulomb": 6.0, "stribeck": 3.0, "stribeck_velocity": 0.15}
NOISE_NM = 1.0
NONLINEAR_SAMPLES = 200
NONLINEAR_PARTICLES, NONLINEAR_NEIGHBOURS = 60, 12
LEAST_SQUARES, EVOLUTION, SWARM = "least_squares, many starts", "differential evolution", "swarm"

PRINTED, ELEVEN, EXACT_TEN = "14, eqs. 37-38", "11, eq. 30", "10, exact"
PROPOSED, OPTIMUM, EXACT = "proposed (swarm)", "optimum of eq. 33", "exact model"
CURRENT, STAR = "swarm, current positions", "swarm, star"
TABLE_1_PRINTED = "table 1, eq. 1 as printed"
TABLE_1_CORRECTED = "table 1, eq. 1 corrected"
TABLE_1_FRICTION = "table 1, eq. 1 corrected, with the swarm's friction"
#: Fits that are shown on both motions: figures 6 to 10, and ours.
SHOWN = (PROPOSED, "RLS as printed", "DLS as printed", "SVD as printed", EXACT)

TABLE_2 = PAPER.numbers["table_2"]
NAMES = ("m_P", "T_g", "I1", "I2", "I3", "Fv1", "Fv2", "Fv3", "Fc1", "Fc2", "Fc3")  # eq. 30
UNITS = ("kg", "N m", *("kg m^2",) * 3, *("N m s/rad",) * 3, *("N m",) * 3)
FRICTION = NAMES[5:]
# In our convention friction has a plus, so both signs turn.
EQ_36 = np.array(
    [
        *PAPER.numbers["eq_36"]["inertial"],
        *(-value for kind in ("viscous", "coulomb") for value in PAPER.numbers["eq_36"][kind]),
    ]
)

Solve = Callable[[FloatArray, FloatArray], FloatArray]
BASELINES: dict[str, Solve] = {
    "RLS": lambda Y, tau: Rls().estimate(Y, tau, block=RLS_BLOCK).x,
    "DLS": lambda Y, tau: Damped().estimate(Y, tau).x,
    "SVD": lambda Y, tau: Svd(SVD_CUT).estimate(Y, tau).x,
}


def kim2022(
    *,
    seed: int = 0,
    iterations: int = 1000,
    periods: int = 4,
    swarm_seeds: int = 3,
    progress: bool = False,
) -> Reproduction:
    """Repeat the paper on the virtual bench: its fits, its baselines, and what they rest on.

    Another `seed` gives other motions, another noise and other swarms. The identification motion
    repeats 2 s `periods` times; swarms of `iterations` run with `swarm_seeds` seeds.
    """
    whole_number("seed", seed, 0)
    whole_number("iterations", iterations, 1)
    whole_number("periods", periods, 1)
    whole_number("swarm_seeds", swarm_seeds, 1)
    data = record_motions(seed, periods, progress)
    fits = fit_methods(data, seed, iterations, swarm_seeds, progress)
    nonlinear = minimise_nonlinear(data, seed, max(iterations // 4, 1))
    sections = (
        section_2_manufacturers_data(data, fits),
        section_3_inertia_coupling(data, fits),
        section_3_identification(data, fits),
        figure_5_motions(data),
        section_3_remark_1(fits),
        section_4_baselines(data, fits),
        section_4_svd_conditioning(data),
        section_4_table_2(fits),
        section_5_no_linear_form(nonlinear),
        section_5_no_base_parameters(data, seed, max(iterations // 3, 1)),
    )
    bench = Bench(data, fits, nonlinear, coupling_map(data.robot, resolution=31))
    return PAPER.reproduction(
        [table for section in sections for table in section.tables],
        PAPER.statements(),
        tuple(check for section in sections for check in section.checks),
        bench,
        claims=[claim for section in sections for claim in section.claims],
        seed=seed,
    )


class Section(NamedTuple):
    """What a section of the paper becomes."""

    tables: tuple[Table, ...] = ()
    claims: tuple[Claim, ...] = ()
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, eq=False)
class Recorded:
    """The motions, and what the drives logged of them."""

    robot: Robot
    motions: dict[str, Motion]
    trials: dict[str, Trial]

    @property
    def identification(self) -> Prepared:
        """What the fits see."""
        return self.trials["identification"].prepared

    @property
    def validation(self) -> Prepared:
        """What no fit has seen."""
        return self.trials["validation"].prepared

    @property
    def machine(self) -> Robot:
        """The simulated robot: masses that differ from table 1, friction."""
        return self.trials["identification"].run.truth.robot

    @cached_property
    def measured(self) -> FloatArray:
        """Torque (M, 3) of the identification motion below 30 Hz, in N m."""
        return self.identification.limited(self.identification.tau)

    @cached_property
    def columns(self) -> dict[str, FloatArray]:
        """The columns (M, 3, k) of the identification motion below 30 Hz."""
        prepared = self.identification
        return {
            name: prepared.limited(columns_of(self.robot, name, prepared.state))
            for name in (PRINTED, ELEVEN, EXACT_TEN)
        }

    @cached_property
    def truth(self) -> FloatArray:
        """The machine's 11 parameters (11,), half of each strut at its ends.

        Its Stribeck and load-dependent friction and its coupling m_x have no place in them.
        """
        values = eleven_parameters(self.machine)
        return np.array([values[name] for name in NAMES])


@dataclass(frozen=True, eq=False)
class MethodFit:
    """One method on one set of columns: parameters, objective (33), and what it predicts."""

    columns: str
    x: FloatArray
    objective: float  # N m, on the identification motion
    above: float  # the proven optimum of the same columns, a share
    fitted: FloatArray  # (M, 3) N m below 30 Hz, on the identification motion
    predicted: FloatArray  # (M, 3) N m below 30 Hz, on the validation motion
    identification: Metrics
    validation: Metrics
    all_samples: Metrics  # of the validation motion, without the filter


@dataclass(frozen=True, eq=False)
class Fits:
    """All methods, and the swarm again with other seeds."""

    methods: dict[str, MethodFit]
    swarms: dict[str, list[SwarmResult]]  # "cyclic" and "star", a result per seed
    bound: float  # N m: no 11 parameters have a smaller objective
    gap: float  # N m, of the optimum to that bound
    times_slower: FloatArray  # per seed: processor time of the swarm over that of the optimum

    def above(self, topology: str) -> FloatArray:
        """How far each swarm ended above the proven bound, a share."""
        return np.array([max(one.cost / self.bound - 1, 0.0) for one in self.swarms[topology]])


@dataclass(frozen=True, eq=False)
class Bench:
    """What the figures are drawn from."""

    data: Recorded
    fits: Fits
    nonlinear: Nonlinear
    coupling: CouplingMap


# Figure 5, the motions


def record_motions(seed: int, periods: int, progress: bool) -> Recorded:
    """Simulate the robot of table 1 along its motions, and prepare what its drives logged."""
    robot = load_robot(ROBOT)
    motions = {
        "identification": identification_motion(robot, seed, periods),
        "validation": validation_motion(robot, seed),
        PICKS: y1(robot, share=LIMIT_SHARE),
    }
    plans = [(name, motion, 3 * seed + k) for k, (name, motion) in enumerate(motions.items())]
    recorded = trials(robot, plans, progress)
    return Recorded(robot, motions, {item.name: item for item in recorded})


def identification_motion(robot: Robot, seed: int, periods: int) -> Motion:
    """A Fourier series about the middle of the workspace, as wide as 0.8 of the limits allow."""
    cylinder, rng = working_cylinder(robot), np.random.default_rng(seed)
    offset = np.array([0.0, 0.0, (cylinder.z_min + cylinder.z_max) / 2])
    size = np.array([cylinder.radius, cylinder.radius, (cylinder.z_max - cylinder.z_min) / 2])
    sine, cosine = rng.normal(size=(2, 3, HARMONICS)) / np.arange(1, HARMONICS + 1) * size[:, None]
    series = FourierSeries(1 / PERIOD_S, offset, sine, cosine)

    def fits(factor: float) -> bool:
        try:
            motion = fourier_motion(robot, series.scaled(factor), rate=200.0)
        except UnreachableError:
            return False
        return check_motion(robot, motion, share=LIMIT_SHARE).ok

    low, high = 0.0, 1.0
    for _ in range(10):  # to a thousandth
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return fourier_motion(robot, series.scaled(low), periods=periods, rate=RATE)


def validation_motion(robot: Robot, seed: int) -> Motion:
    """A quintic spline through random points of the workspace, in the shortest time at 0.8."""
    rng = np.random.default_rng([seed, 1])
    radii, height = (0.2, 0.7), 0.3
    return random_spline(
        robot, rng, SPLINE_POINTS, radii, height, shrink=0.9, share=LIMIT_SHARE, rate=RATE
    )


def figure_5_motions(data: Recorded) -> Section:
    """The motions in numbers; the paper's text has none."""
    rows = []
    for name, motion in data.motions.items():
        reach, height = np.hypot(motion.p[:, 0], motion.p[:, 1]).max(), motion.p[:, 2]
        rates = [np.linalg.norm(part, axis=1).max() for part in (motion.pd, motion.pdd)]
        rows.append((name, motion.t[-1], reach, height.min(), height.max(), rates))
    claim = PAPER.claim("figure_5", "two curves in space", speeds=[row[-1][0] for row in rows[:2]])
    return Section((PAPER.table("motions", rows),), (claim,))


# Section 2: eq. 1 with the manufacturer's data (figure 3a)


def section_2_manufacturers_data(data: Recorded, fits: Fits) -> Section:
    """Figure 3a and, with figures 6 to 9, the error on the identification motion."""
    error = {
        name: metrics(data.measured, tau) for name, tau in manufacturers_torques(data, fits).items()
    }
    error |= {name: fits.methods[name].identification for name in SHOWN}
    swarm_rms = error[PROPOSED].rms
    ratio = float((error[TABLE_1_CORRECTED].rms / swarm_rms).min())
    claims = (
        PAPER.claim(
            "figure_3a",
            "a visible discrepancy",
            f"{ratio:.1f} times the swarm's error or more",
            holds=ratio >= 2.0,
            ratio=ratio,
        ),
        PAPER.claim(
            "figure_3a_cause",
            "the parameters",
            rms=error[TABLE_1_CORRECTED].rms,
            friction=error[TABLE_1_FRICTION].rms,
            swarm=swarm_rms,
        ),
        PAPER.claim(
            "figure_3_voltage",
            "curves in volts",
            share=100 * float((data.measured[:, 0] < 0).mean()),
        ),
    )
    rows = [(name, item.fitness, item.rms) for name, item in error.items()]
    return Section((PAPER.table("identification", rows),), claims, PAPER.checks(given=ratio))


def manufacturers_torques(data: Recorded, fits: Fits) -> dict[str, FloatArray]:
    """Torque (M, 3) by eq. 1 with table 1: as printed, corrected, and with the swarm's friction."""
    robot, state = data.robot, data.identification.state
    corrected = inverse_dynamics(robot, state, "euler-lagrange", friction=False)
    friction = columns_of(robot, ELEVEN, state)[:, :, 5:] @ fits.methods[PROPOSED].x[5:]
    torques = {
        TABLE_1_PRINTED: lagrange_torque(robot, state, frozenset(LagrangeSlip)),
        TABLE_1_CORRECTED: corrected,
        TABLE_1_FRICTION: corrected + friction,
    }
    return {name: data.identification.limited(tau) for name, tau in torques.items()}


# Section 3: the model by virtual work and its inertia matrix (eq. 27)


def inertia_matrix(robot: Robot, state: State, x: FloatArray) -> FloatArray:
    """D = diag(I_1, I_2, I_3) + m_P J^T J (N, 3, 3) [kim2022] eq. 27 of the 11 parameters x."""
    J = jacobian(robot, state.p)
    D: FloatArray = np.diag(x[2:5]) + x[0] * contract("nki,nkj->nij", J, J)
    return D


def section_3_inertia_coupling(data: Recorded, fits: Fits) -> Section:
    """What the elements of D off its diagonal do along the identification motion."""
    state = data.identification.state
    matrices = {
        "eq. 27 with the paper's eq. 36": inertia_matrix(data.robot, state, EQ_36),
        "eq. 27, swarm": inertia_matrix(data.robot, state, fits.methods[PROPOSED].x),
        "machine, exact": equations_of_motion(data.machine, state).M,
    }
    rows, median, torque_share = [], {}, {}
    for name, D in matrices.items():
        diagonal = np.sqrt(contract("nii->ni", D))
        coupling = np.abs(D) / (diagonal[:, :, None] * diagonal[:, None, :])
        pairs = np.stack([coupling[:, i, j] for i, j in ((0, 1), (0, 2), (1, 2))], axis=1)
        full = contract("nij,nj->ni", D, state.qdd)
        coupled = full - contract("nii,ni->ni", D, state.qdd)
        median[name] = np.median(pairs, axis=0)
        torque_share[name] = np.sqrt((coupled**2).mean(axis=0) / (full**2).mean(axis=0))
        rows.append((name, median[name], pairs.max(axis=0), 100 * torque_share[name]))
    paper, ours, exact = matrices
    claims = (
        PAPER.claim(
            "coupling_matters",
            "examined, no number",
            f"{100 * torque_share[exact].min():.0f} to {100 * torque_share[exact].max():.0f} % of "
            "the inertia torque",
            holds=bool((torque_share[exact] > 0.05).all()),
            share=100 * torque_share[exact],
        ),
        PAPER.claim(
            "coupling_size",
            median[paper].tolist(),
            median[ours].tolist(),
            paper_mass=EQ_36[0],
            paper_arms=EQ_36[2:5].mean(),
            mass=fits.methods[PROPOSED].x[0],
            arms=fits.methods[PROPOSED].x[2:5].mean(),
        ),
    )
    return Section((PAPER.table("coupling", rows),), claims)


# Section 3: identification by the swarm (eqs. 31-36, figures 3b and 6)


def fit_methods(
    data: Recorded, seed: int, iterations: int, swarm_seeds: int, progress: bool
) -> Fits:
    """Fit the swarm, its baselines, the proven optimum and the exact model."""
    seconds, optimum = processor_seconds(
        lambda: L1().minimise(data.columns[ELEVEN], data.measured), repeats=3
    )
    bounds = {ELEVEN: optimum.bound}
    for name in (PRINTED, EXACT_TEN):
        bounds[name] = L1().minimise(data.columns[name], data.measured).bound

    def run_swarm(swarm_seed: int, **options: Any) -> SwarmResult:
        width = np.full(len(EQ_36), START_WIDTH)
        return swarm(
            AbsoluteErrorSum(data.columns[ELEVEN], data.measured),
            -width,
            width,
            vectorized=True,
            seed=swarm_seed,
            progress=progress,
            bounds="start",
            iterations=iterations,
            **options,
        )

    seeds = [seed + 10 * k for k in range(swarm_seeds)]
    timed = [processor_seconds(partial(run_swarm, one)) for one in seeds]
    swarms = {
        "cyclic": [result for _, result in timed],
        "star": [run_swarm(one, topology="star") for one in seeds],
    }
    solutions: dict[str, tuple[str, FloatArray]] = {
        PROPOSED: (ELEVEN, swarms["cyclic"][0].position),
        CURRENT: (ELEVEN, run_swarm(seed, neighbours_best="current").position),
        STAR: (ELEVEN, swarms["star"][0].position),
    }
    for words, columns in (("as printed", PRINTED), ("on 11 columns", ELEVEN)):
        for name, solve in BASELINES.items():
            solutions[f"{name} {words}"] = columns, solve(data.columns[columns], data.measured)
    solutions[OPTIMUM] = ELEVEN, optimum.x
    solutions[EXACT] = EXACT_TEN, Svd(0.0).estimate(data.columns[EXACT_TEN], data.measured).x
    methods = {
        name: evaluate_fit(data, columns, x, bounds[columns])
        for name, (columns, x) in solutions.items()
    }
    slower = np.array([duration / seconds for duration, _ in timed])
    return Fits(methods, swarms, optimum.bound, optimum.gap, slower)


def processor_seconds(work: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Least processor time of some runs, in s, and the result."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        seconds.append(time.process_time() - start)
    return max(min(seconds), 1e-9), result


def evaluate_fit(data: Recorded, columns: str, x: FloatArray, bound: float) -> MethodFit:
    """What parameters make of both motions."""
    fitted = data.columns[columns] @ x
    validation = data.validation
    every = columns_of(data.robot, columns, validation.state) @ x
    predicted, target = validation.limited(every), validation.limited(validation.tau)
    objective = float(np.abs(data.measured - fitted).sum())
    return MethodFit(
        columns,
        x,
        objective,
        objective / bound - 1,
        fitted,
        predicted,
        metrics(data.measured, fitted),
        metrics(target, predicted),
        metrics(validation.tau, every),
    )


def columns_of(robot: Robot, name: str, state: State) -> FloatArray:
    """The columns (N, 3, k) of that name."""
    if name == PRINTED:
        return regression_columns(state)
    return regressor(robot, state, "virtual-work" if name == ELEVEN else "exact").Y


def eleven_parameters(robot: Robot) -> dict[str, float]:
    """The robot's own values of the parameters of eq. 30, by name."""
    state = State.from_platform(robot, [[0.0, 0.0, working_cylinder(robot).z_min]])
    model = regressor(robot, state, "virtual-work")
    return dict(zip(model.names, model.parameters.tolist(), strict=True))


def section_3_identification(data: Recorded, fits: Fits) -> Section:
    """Eq. 36 beside ours, figure 6, and what the objective (33) is."""
    proposed, optimum = fits.methods[PROPOSED], fits.methods[OPTIMUM]
    parameters = zip(NAMES, UNITS, EQ_36, proposed.x, optimum.x, data.truth, strict=True)
    ours = proposed.x[5:]
    brakes = friction_signs(FRICTION, ours, "The fit") is None
    claims = (
        PAPER.claim(
            "eq_36_inertial",
            EQ_36[:5].tolist(),
            proposed.x[:5].tolist(),
            machine=data.truth[:5],
            equivalent=eleven_parameters(data.robot)["m_P"],
        ),
        PAPER.claim(
            "eq_36_friction",
            np.abs(EQ_36[5:]).tolist(),
            ours.tolist(),
            viscous=data.truth[5:8],
            coulomb=data.truth[8:],
        ),
        PAPER.claim(
            "eq_36_signs",
            "c_v > 0, c_c < 0",
            "Fv > 0, Fc > 0" if brakes else "some friction drives",
            holds=False,
            signs=friction_signs(FRICTION, EQ_36[5:], "Eq. 36"),
        ),
        PAPER.claim(
            "figure_6",
            "close to the measured torque",
            f"{100 * (1 - proposed.identification.r_squared).max():.1f} % of the variance "
            "left at most",
            holds=bool((proposed.identification.r_squared > 0.9).all()),
            share=100 * (1 - proposed.identification.r_squared),
        ),
        PAPER.claim(
            "simple_and_efficient",
            "fast search speed",
            f"{fits.swarms['cyclic'][0].evaluations} evaluations",
            holds=False,
            above=fits.above("cyclic"),
            count=len(fits.times_slower),
            slower=fits.times_slower,
            gap=fits.gap / fits.bound,
            evaluations=fits.swarms["cyclic"][0].evaluations,
        ),
    )
    objectives = [
        (name, item.columns, item.objective / 1000, f"{max(item.above, 0.0):.1e}")
        for name, item in fits.methods.items()
    ]
    tables = (
        PAPER.table("parameters", parameters),
        PAPER.table("objectives", objectives, count=data.measured.size),
    )
    checks = PAPER.checks(near=fits.above("cyclic").max(), friction=ours.min())
    return Section(tables, claims, checks)


def friction_signs(
    names: Sequence[str], values: FloatArray | Sequence[float], whose: str
) -> str | None:
    """A sentence on friction that drives instead of braking, or None where all of it brakes.

    In our convention friction adds Fv qd + Fc sign(qd) to the torque of the drive.
    """
    given = dict(zip(names, (float(value) for value in values), strict=True))
    axes = sorted({name[2:] for name in given if name[:2] in ("Fv", "Fc")})
    viscous = [axis for axis in axes if given.get(f"Fv{axis}", 0.0) < 0]
    coulomb = [axis for axis in axes if given.get(f"Fc{axis}", 0.0) < 0]
    if not viscous and not coulomb:
        return None
    parts = []
    for kind, key, wrong in (("viscous", "Fv", viscous), ("Coulomb", "Fc", coulomb)):
        if wrong:
            shown = ", ".join(f"{given[key + axis]:.3g}" for axis in wrong)
            parts.append(f"negative {kind} friction on joint {', '.join(wrong)} ({shown})")
    mixed = [axis for axis in axes if (axis in viscous) != (axis in coulomb)]
    text = f"{whose} has {' and '.join(parts)}: such friction feeds energy in."
    if mixed:
        text += (
            f" On joint {', '.join(mixed)} the two have opposite signs, which no sign convention "
            "mends."
        )
    return text


def section_3_remark_1(fits: Fits) -> Section:
    """Remark 1: the cyclic neighbourhood keeps the swarm from drawing together too soon."""
    cyclic, star = fits.above("cyclic"), fits.above("star")
    rows = [
        (name, index + 1, f"{above:.1e}", f"{result.spread:.1e}")
        for name, shares in (("cyclic", cyclic), ("star", star))
        for index, (above, result) in enumerate(zip(shares, fits.swarms[name], strict=True))
    ]
    ours = f"{cyclic.max():.1e} above the optimum at most, star {star.min():.1e} at least"
    claim = PAPER.claim(
        "remark_1",
        "cyclic escapes, star is trapped",
        ours,
        holds=bool(cyclic.max() < star.min()),
        cyclic=cyclic,
        star=star,
    )
    return Section((PAPER.table("topology", rows),), (claim,))


# Section 4: the regression of eqs. 37-40 and its estimators (figures 7 to 9)


def section_4_baselines(data: Recorded, fits: Fits) -> Section:
    """The baselines as printed beside the same estimators on the swarm's columns."""
    methods = fits.methods
    varying = multipliers(data.robot, data.identification.state)
    friction = data.columns[ELEVEN][:, :, 5:] @ methods[PROPOSED].x[5:]
    same = np.array(
        [
            (1 - methods[f"{name} on 11 columns"].validation.fitness)
            / (1 - methods[PROPOSED].validation.fitness)
            for name in ("RLS", "DLS")
        ]
    )
    ratio = np.array(
        [
            methods[PROPOSED].identification.rms / methods[f"{name} as printed"].identification.rms
            for name in BASELINES
        ]
    )
    claims = [
        PAPER.claim(
            "figures_7_to_9",
            "the swarm is closer",
            f"{ratio.min():.2f} to {ratio.max():.2f} of the baselines' error",
            holds=bool(ratio.max() < 1),
            ratio=ratio,
        ),
        PAPER.claim(
            "superiority",
            "of the identification scheme",
            f"on equal columns {same.min():.2f} to {same.max():.2f} times the swarm's error",
            holds=bool(same.min() > 1.2),
            same=same,
            low=varying.min(),
            high=varying.max(),
            friction=float(np.sqrt((friction**2).mean())),
        ),
    ]
    return Section((), tuple(claims), PAPER.checks(fitted=ratio.max(), same=same.max()))


def multipliers(robot: Robot, state: State) -> FloatArray:
    """2 L_1 lambda (N, 3) in N, by [kim2022] eq. 2 with the platform's weight along -z."""
    limbs = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
    lifted = state.pdd[:, :3] + np.array([0.0, 0.0, robot.gravity])
    force = eleven_parameters(robot)["m_P"] * lifted
    twice: FloatArray = contract("nki,nk->ni", limbs.s_inverse, force)
    return np.asarray(robot.rotary.arm_length) * twice


def regression_parameters(robot: Robot, twice_l1_lambda: FloatArray) -> FloatArray:
    """theta (N, 14) [kim2022] eq. 38 of multipliers (N, 3) in N, in a frame with z down.

    theta_5, which lacks gravity in eq. 38, is a torque here.
    """
    values, geometry = eleven_parameters(robot), robot.rotary
    azimuth = np.asarray(geometry.azimuth)
    reach = np.asarray(geometry.base_radius) - np.asarray(geometry.platform_radius)
    theta = np.zeros((len(twice_l1_lambda), 14))
    theta[:, 0] = np.mean([values[f"I{i}"] for i in (1, 2, 3)])
    theta[:, 4] = values["T_g"]
    for arm, places in enumerate(ARM_COLUMNS):
        factors = np.array([np.cos(azimuth[arm]), np.sin(azimuth[arm]), 1.0, reach[arm]])
        theta[:, list(places)] = twice_l1_lambda[:, arm, None] * factors
    return theta


def section_4_svd_conditioning(data: Recorded) -> Section:
    """Which motion, scaling of the columns and cut make the SVD the worst baseline, as in table 2.

    The error on the validation motion is over that of plain least squares on the same motion, which
    RLS and DLS meet.
    """
    Y = data.validation.limited(regression_columns(data.validation.state))
    target = data.validation.limited(data.validation.tau)
    rows, worst = [], []
    for motion in ("identification", PICKS):
        part = data.trials[motion].prepared
        columns, torque = part.limited(regression_columns(part.state)), part.limited(part.tau)
        plain = 1 - metrics(target, Y @ Svd(0.0).estimate(columns, torque).x).fitness
        for normalised in (True, False):
            for cut in SVD_CUTS:
                result = Svd(cut, normalised).estimate(columns, torque)
                ratio = (1 - metrics(target, Y @ result.x).fitness) / plain
                scaling = "length 1" if normalised else "as they are"
                rows.append((motion, scaling, f"{cut:g}", result.kept, ratio))
                if ratio.min() > 1:
                    worst.append(f"{motion}, {scaling}, {cut:g}")
    first = next(row for row in rows if row[:3] == ("identification", "length 1", f"{SVD_CUT:g}"))
    usual = next(row for row in rows if row[:3] == ("identification", "length 1", "0.01"))
    theirs = np.array(TABLE_2["SVD as printed"]), np.array(TABLE_2["RLS as printed"])
    claim = PAPER.claim(
        "svd_worst",
        ((1 - theirs[0]) / (1 - theirs[1])).tolist(),
        first[4].tolist(),
        holds=bool(first[4].min() > 1),
        cut=SVD_CUT,
        kept=first[3],
        usual=usual[3],
        ratio=first[4],
    )
    return Section((PAPER.table("svd", rows),), (claim,), PAPER.checks(svd=first[4].min()))


# Table 2 and figure 10


def section_4_table_2(fits: Fits) -> Section:
    """Fitness on the validation motion, and the error behind it."""
    fitness, measured, claims = [], [], []
    for name, item in fits.methods.items():
        paper = TABLE_2.get(name, (None,) * 3)
        fitness.append((name, item.columns, paper, item.validation.fitness))
        measured.append(
            (name, item.validation.fitness_measured, item.validation.rms, item.all_samples.rms)
        )
    error = {name: 1 - item.validation.fitness for name, item in fits.methods.items()}
    for name, paper in TABLE_2.items():
        ours = error[name]
        rms = fits.methods[name].validation.rms
        claims.append(
            PAPER.claim(
                "table_2", [1 - value for value in paper], ours.tolist(), method=name, rms=rms
            )
        )
    ratio = {name: error[name] / error["RLS as printed"] for name in (PROPOSED, EXACT)}
    order = min(float((error[f"{name} as printed"] / error[PROPOSED]).min()) for name in BASELINES)
    alike = float(np.abs(error["RLS as printed"] - error["DLS as printed"]).max())
    paper_alike = float(
        np.abs(np.array(TABLE_2["RLS as printed"]) - TABLE_2["DLS as printed"]).max()
    )
    claims += [
        PAPER.claim(
            "table_2_order",
            "the swarm is best on every joint",
            f"every baseline has {order:.1f} times its error or more",
            holds=order > 1,
            order=order,
        ),
        PAPER.claim(
            "table_2_alike",
            f"RLS and DLS differ by {paper_alike:.4f} at most",
            f"{alike:.4f}",
            holds=alike < 0.02,
            alike=alike,
        ),
    ]
    tables = (PAPER.table("fitness", fitness), PAPER.table("measured", measured))
    checks = PAPER.checks(
        swarm=dict(zip(JOINTS, ratio[PROPOSED], strict=True)),
        exact=dict(zip(JOINTS, ratio[EXACT], strict=True)),
    )
    return Section(tables, tuple(claims), checks)


# Section 5, conclusion (i): no linear form is needed


@dataclass(frozen=True, eq=False)
class Nonlinear:
    """Optimisers of eq. 33 over the unknowns, with the same number of evaluations.

    `history` holds evaluations and the best cost so far (rows, 2).
    """

    truth: FloatArray
    truth_cost: float
    x: dict[str, FloatArray]
    cost: dict[str, float]
    history: dict[str, FloatArray]
    budget: int
    starts: int
    first_evaluations: int  # of the first start of least squares
    agreeing: int  # starts of least squares that end within 1 % of the best
    machine_x: FloatArray  # the swarm on the log of the simulated machine


def eq_1_with_stribeck(
    robot: Robot, state: State
) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """The robot's unknowns (9,), and the torque (..., N, 3) of unknowns (..., 9) by eq. 1.

    Of joint motion, so that lengths change the platform's; NaN where the struts do not reach.
    `packed_torque` takes the numbers of all particles at once; m_x = 0 makes its exact model eq. 1.
    """
    P = packing(tuple(UNKNOWNS))
    fixed = np.where(P.any(axis=1) | packing(["m_x"]).any(axis=1), 0.0, packed_parameters(robot))
    parameters, friction = eleven_parameters(robot), robot.friction
    assert friction.stribeck is not None
    assert friction.stribeck_velocity is not None
    truth = np.array(
        [
            parameters["m_P"],
            parameters["I1"],
            parameters["T_g"] / robot.gravity,
            friction.viscous[0],
            friction.coulomb[0],
            friction.stribeck[0],
            friction.stribeck_velocity[0],
            robot.rotary.arm_length[0],
            robot.rotary.strut_length[0],
        ]
    )

    def torque(x: FloatArray) -> FloatArray:
        numbers = (fixed + x @ P.T)[..., None, :]
        return packed_torque(numbers, q=state.q, qd=state.qd, qdd=state.qdd)

    return truth, torque


def minimise_nonlinear(data: Recorded, seed: int, iterations: int) -> Nonlinear:
    """Fit eq. 1 with Stribeck friction to joint motion: masses, friction, lengths.

    The torque is that of the same model with noise, so that the answer is known; the swarm fits the
    log of the machine, too.
    """
    every = data.identification.state
    rows = np.linspace(0, len(every) - 1, NONLINEAR_SAMPLES).astype(int)
    state = State.from_joints(data.robot, every.q[rows], every.qd[rows], every.qdd[rows])
    truth, torque = eq_1_with_stribeck(data.robot.with_friction(**TRUE_FRICTION), state)

    def absolute_cost(tau: FloatArray) -> Callable[[FloatArray], FloatArray]:
        return lambda x: np.abs(tau - torque(x)).sum(axis=(-2, -1))

    rng = np.random.default_rng([seed, 2])
    tau = torque(truth) + NOISE_NM * rng.normal(size=(NONLINEAR_SAMPLES, 3))
    low, high = (np.array([item[k] for item in UNKNOWNS.values()]) for k in (1, 2))
    cost = absolute_cost(tau)

    def run_swarm(of_position: Callable[[FloatArray], FloatArray]) -> SwarmResult:
        return swarm(
            of_position,
            low,
            high,
            vectorized=True,
            seed=seed,
            particles=NONLINEAR_PARTICLES,
            neighbours=NONLINEAR_NEIGHBOURS,
            iterations=iterations,
        )

    flock = run_swarm(cost)
    budget = flock.evaluations
    per_step = NONLINEAR_PARTICLES * np.arange(1, len(flock.history) + 1)
    history = {SWARM: np.stack([per_step, flock.history], axis=1)}
    x, costs = {SWARM: flock.position}, {SWARM: flock.cost}
    x[EVOLUTION], history[EVOLUTION] = differential_evolution(
        cost, low, high, NONLINEAR_PARTICLES, budget, rng
    )
    x[LEAST_SQUARES], history[LEAST_SQUARES], ends = start_least_squares(
        lambda at: torque(at) - tau, cost, low, high, budget, rng
    )
    for name in (EVOLUTION, LEAST_SQUARES):
        costs[name] = float(cost(x[name]))
    on_machine = run_swarm(absolute_cost(data.identification.tau[rows]))
    return Nonlinear(
        truth,
        float(cost(truth)),
        x,
        costs,
        history,
        budget,
        len(ends),
        int(history[LEAST_SQUARES][0, 0]),
        int((np.array(ends) < 1.01 * min(ends)).sum()),
        on_machine.position,
    )


def differential_evolution(
    cost: Callable[[FloatArray], FloatArray],
    low: FloatArray,
    high: FloatArray,
    particles: int,
    budget: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """SciPy's differential evolution without its final polish: position, and history."""
    from scipy import optimize  # takes longer than the rest of the import

    minimise: Any = optimize.differential_evolution  # its stubs do not know vectorized costs
    best: list[float] = []

    def costs(columns: FloatArray) -> FloatArray:
        values = np.nan_to_num(cost(columns.T), nan=np.inf)
        best.append(float(values.min()))
        return values

    result = minimise(
        costs,
        np.stack([low, high], axis=1),
        init=low + (high - low) * rng.random((particles, len(low))),
        maxiter=budget // particles - 1,
        tol=0.0,
        atol=0.0,
        polish=False,
        vectorized=True,
        updating="deferred",
        seed=int(rng.integers(2**31)),
    )
    evaluations = particles * np.arange(1, len(best) + 1)
    return result.x, np.stack([evaluations, np.minimum.accumulate(best)], axis=1)


def start_least_squares(
    residual: Callable[[FloatArray], FloatArray],
    cost: Callable[[FloatArray], FloatArray],
    low: FloatArray,
    high: FloatArray,
    budget: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray, list[float]]:
    """SciPy's least_squares from random starts until the budget is used up.

    The loss is nearly the absolute value; slopes are differences, which count as evaluations.
    Returned are position, history, and the cost at the end of every start.
    """
    from scipy import optimize

    used, step = 0, 1e-7 * (high - low)

    def residuals(x: FloatArray) -> FloatArray:
        nonlocal used
        used += x.size // len(low)
        return np.nan_to_num(residual(x).reshape(*x.shape[:-1], -1), nan=1e3)

    def slopes(x: FloatArray) -> FloatArray:
        inward = np.where(x + step > high, -step, step)
        values = residuals(np.concatenate([x[None], x + np.diag(inward)]))
        slope: FloatArray = ((values[1:] - values[0]) / inward[:, None]).T
        return slope

    best = low
    ends: list[float] = []
    history: list[tuple[int, float]] = []
    while not ends or used < budget:
        start = low + (high - low) * rng.random(len(low))
        result = optimize.least_squares(
            residuals,
            start,
            slopes,
            bounds=(low, high),
            x_scale=high - low,
            loss="soft_l1",
            f_scale=0.1 * NOISE_NM,
            max_nfev=40,
        )
        if ends and used > budget:
            break
        end = float(np.nan_to_num(cost(result.x), nan=np.inf))
        best = result.x if end <= min(ends, default=np.inf) else best
        ends.append(end)
        history.append((used, min(ends)))
    return best, np.array(history, dtype=np.float64), ends


def section_5_no_linear_form(result: Nonlinear) -> Section:
    """Eq. 1 with lengths and Stribeck velocity unknown, by the swarm and by SciPy."""
    rows = [
        (name, unit, result.truth[k], *(x[k] for x in result.x.values()), result.machine_x[k])
        for k, (name, (unit, *_)) in enumerate(UNKNOWNS.items())
    ]
    over = {name: cost / result.truth_cost for name, cost in result.cost.items()}
    rows.append(("cost / cost of truth", "1", 1.0, *over.values(), None))
    wrong = float(np.abs(result.x[SWARM][-2:] / result.truth[-2:] - 1).max())
    claims = (
        PAPER.claim(
            "conclusion_i",
            "nonlinear equations are used as they are",
            f"cost {over[SWARM]:.3f} of that of the truth, lengths to {100 * wrong:.0f} %",
            holds=over[SWARM] <= 1.0,
            over=over[SWARM],
        ),
        PAPER.claim(
            "conclusion_i_need",
            "RLS and SVD do",
            f"least_squares takes it as it is, {result.first_evaluations} evaluations",
            holds=result.cost[LEAST_SQUARES] > 1.01 * result.cost[SWARM],
            budget=result.budget,
            first=result.first_evaluations,
            agreeing=result.agreeing,
            starts=result.starts,
            swarm=over[SWARM],
            evolution=over[EVOLUTION],
            local=over[LEAST_SQUARES],
        ),
    )
    table = PAPER.table("nonlinear", rows, budget=result.budget)
    return Section((table,), claims, PAPER.checks(nonlinear=over[SWARM]))


# Section 5, conclusion (ii): no base parameters are needed


def section_5_no_base_parameters(data: Recorded, seed: int, iterations: int) -> Section:
    """The swarm on the parameters of table 1, of which eq. 1 sees sums alone."""
    prepared = data.identification
    model = regressor(data.robot, prepared.state, "euler-lagrange")
    Y = prepared.limited(model.Y)[::4]
    target = data.measured[::4]
    width = np.full(Y.shape[2], START_WIDTH)
    results = [
        swarm(
            AbsoluteErrorSum(Y, target),
            -width,
            width,
            vectorized=True,
            seed=seed + 10 * k,
            iterations=iterations,
            bounds="start",
        )
        for k in range(3)
    ]
    rank = int(np.linalg.matrix_rank(Y.reshape(-1, Y.shape[2])))
    x = np.array([result.position for result in results])
    cost = np.array([result.cost for result in results])
    rows = [
        (name, unit, value, *x[:, k])
        for k, (name, unit, value) in enumerate(
            zip(model.names, model.units, model.parameters, strict=True)
        )
        if name not in FRICTION
    ]
    rotor = x[:, model.names.index("rotor")]
    claim = PAPER.claim(
        "conclusion_ii",
        "does not occur",
        f"rotor {rotor.min():.2f} to {rotor.max():.2f} kg m^2",
        holds=bool(np.ptp(rotor) < 0.25 * abs(data.robot.drives.output_inertia[0])),
        rotor=rotor,
        truth=data.robot.drives.output_inertia[0],
        rank=rank,
        count=Y.shape[2],
        cost=100 * (cost.max() / cost.min() - 1),
    )
    return Section((PAPER.table("redundant", rows),), (claim,))
