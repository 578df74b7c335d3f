"""[gnad2024] again, in its order: excitation, identification, surrogate, the industrial robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import equations_of_motion, regressor
from deltadyn.errors import InputError
from deltadyn.identification import (
    Bodies,
    LogCholesky,
    Prepared,
    geometric_guess,
    prepare,
    robot_from_standard,
)
from deltadyn.kinematics import WorkspaceBoundary, in_workspace, workspace
from deltadyn.motion import FourierSeries, Motion, check_motion, fourier_motion, gate_move
from deltadyn.progress import Bar
from deltadyn.reproduce.claims import Claim
from deltadyn.reproduce.ladder import rms
from deltadyn.reproduce.reactions import (
    fitted_reactions,
    largest_difference,
    reaction_rows,
    reaction_table,
)
from deltadyn.reproduce.result import Check, Paper, Reproduction, Table
from deltadyn.reproduce.trials import whole_number
from deltadyn.robot import Robot, load_robot
from deltadyn.simulation import PD, AugmentedPD, PDFeedforward, simulate

PAPER = Paper("gnad2024")
TABLE_1 = PAPER.numbers["table_1"]
ROBOT = "abb-irb360-6-1600"
SAMPLE_RATE_HZ = 500.0
NOISE_SHARE = 0.005  # of the peak torque, on the surrogate
BENCH_BAND_HZ = 20.0
LOOP_BANDWIDTH_HZ = 8.0  # of the drives: with 2 ms of delay, 20 Hz would swing

# Axis 4 moves as section VIII-C says: peak rate (rad/s) and acceleration (rad/s^2).
FAST_SPINDLE = (np.radians(2760.0), np.radians(13800.0))
SLOW_SPINDLE = (np.radians(175.0), np.radians(500.0))
#: Of the surrogate, whose 0.5 N m s/rad at 2760 deg/s are 24 N m: the drive has 5.
SURROGATE_SPINDLE = (np.radians(140.0), np.radians(1400.0))

#: Of the base frequency at which axis 4 turns mainly: the arms have slower terms, for gravity.
SPINDLE_HARMONIC = 3

#: gamma_p / gamma_tau of eq. 15, from which the data choose.
WEIGHT_RATIOS = 10.0 ** np.arange(-9.0, -1.5, 1.0)

CROSS_VALIDATION, L_CURVE, EVIDENCE = "cross validation", "L-curve", "evidence"

RG1, RG2, RG_GEOM, RG_SIMPLE = "RG1, below", "RG2, above", "table I, RG geom", "table I, RG simple"
BELOW, ABOVE = 0.7, 1.4  # of the nominal values, as RG1 and RG2 lie in figure 3

# What the bench's axis 4 has: Coulomb, a little Stribeck, and friction that thins with the rate.
# Chosen such that viscous and Coulomb friction, fitted at FAST_SPINDLE, are what the paper found
# there, and fitted at SLOW_SPINDLE about 5 and 0.75 times as much.
VISCOUS_4, COULOMB_4, STRIBECK_4 = 0.0183, 0.538, 0.05  # N m s/rad, N m, N m
THINNING_4, THINNING_VELOCITY = 0.306, 2.0  # N m, rad/s
STRIBECK_SHARE, STRIBECK_VELOCITY = 0.25, 0.3  # of the arms' Coulomb friction, rad/s
TUNED = (5.0, 0.75)  # the paper's factors on Fv4 and Fc4

SIMPLE, GEOMETRIC = "simple", "geom"
BASE, BY_HAND, THINNING = (
    "base parameters",
    "ID geom, Fv4 x 5 and Fc4 x 0.75",
    "ID geom with a thinning term",
)

REACTION_RATE_HZ = 200.0  # of the motion along which reactions are compared

#: Entries of table I below 1e-4 kg m^2, which no torque of the bench shows, and the strut's own.
TINY = ("strut.Ixx", "upper.Izz", "lower.Izz")


@dataclass(frozen=True, eq=False)
class Part:
    """What a section of the paper shows."""

    tables: tuple[Table, ...] = ()
    claims: tuple[Claim, ...] = ()
    checks: tuple[Check, ...] = ()
    statements: Mapping[str, Any] | None = None  # what the statements name


@dataclass(frozen=True, eq=False)
class Results:
    """What the figures are drawn from."""

    space: TaskSpace
    surrogate: Surrogate
    bench: Bench


def gnad2024(
    *,
    seed: int = 0,
    progress: bool = False,
    tries: int = 40,
    periods: int = 5,
    bench_periods: int = 2,
) -> Reproduction:
    """Reproduce excitation, surrogate and industrial robot of [gnad2024] on the bench.

    `tries` series are compared for every excitation. `periods` of it move the surrogate,
    `bench_periods` the bench. The defaults take some 15 s.
    """
    whole_number("seed", seed, 0)
    for name, value in {"tries": tries, "periods": periods, "bench_periods": bench_periods}.items():
        whole_number(name, value, 1)
    with Bar(progress, PAPER.key, 3) as bar:
        space = task_space(seed, tries)
        bar.step("excitation")
        surrogate = run_surrogate(space, seed, periods)
        bar.step("surrogate")
        bench = run_bench(space, seed, bench_periods)
        bar.step("bench")
    return report(Results(space, surrogate, bench), seed)


def report(results: Results, seed: int) -> Reproduction:
    """What the sections of the paper show, in its order."""
    space, surrogate, bench = results.space, results.surrogate, results.bench
    parts = (
        figure_2(space),
        section_4(space),
        section_6(surrogate),
        section_7(surrogate),
        section_8a(),
        table_1(bench),
        two_sets(space),
        section_8b(bench),
        section_8c(bench),
        conclusion(bench),
        reaction_forces(space, surrogate),
    )
    words: dict[str, Any] = {}
    for part in parts:
        words |= part.statements or {}
    return PAPER.reproduction(
        [table for part in parts for table in part.tables],
        PAPER.statements(**words),
        tuple(check for part in parts for check in part.checks),
        results,
        claims=[claim for part in parts for claim in part.claims],
        seed=seed,
    )


# Section IV: persistent excitation.


@dataclass(frozen=True)
class Hemisphere:
    """A half ball below a point of the axis at height z: B of eq. 10 and figure 2.

    `covered` is the share of the workspace that lies in it, `reachable` its own share that lies in
    the workspace, `overlap` the volume of both together over that of either.
    """

    z: float  # m
    radius: float  # m
    covered: float
    reachable: float
    overlap: float

    @classmethod
    def from_workspace(cls, space: WorkspaceBoundary, z: float, radius: float) -> Hemisphere:
        """Its shares, by the integral over heights and azimuths of the workspace's boundary."""
        below = np.where(space.heights <= z, radius**2 - (z - space.heights) ** 2, 0.0)
        squares = np.minimum(np.maximum(below, 0.0)[:, None], space.radius**2)
        common = float(np.trapezoid(np.pi * squares.mean(axis=1), space.heights))
        whole, half = space.quadrature_volume, 2 / 3 * np.pi * radius**3
        return cls(z, radius, common / whole, common / half, common / (whole + half - common))


def fit_hemisphere(space: WorkspaceBoundary) -> Hemisphere:
    """The hemisphere with the largest overlap, on a grid that is refined about its best point."""
    heights = np.linspace(space.heights[0], space.heights[-1], 300)
    radius = [np.interp(heights, space.heights, one) for one in space.radius.T]
    fine = replace(space, heights=heights, radius=np.stack(radius, axis=1))
    low, high = float(heights[0]), float(heights[-1])
    z, r, width = (low + high) / 2, high - low, (high - low) / 2
    for _ in range(4):
        tried = [
            Hemisphere.from_workspace(fine, a, b)
            for a in np.linspace(z - width, z + width, 13)
            for b in np.linspace(max(r - width, 0.01), r + width, 13)
        ]
        best = max(tried, key=lambda item: item.overlap)
        z, r, width = best.z, best.radius, width / 4
    return best


def base_columns(robot: Robot, ball: Hemisphere) -> tuple[int, ...]:
    """Columns of nu_B independent parameters, by QR at random states of B [gnad2024] IV-A."""
    from scipy.linalg import qr  # takes longer than the rest of the import

    rng = np.random.default_rng(0)
    point = rng.normal(size=(1000, 4))
    share = rng.random((1000, 1)) ** (1 / 3) / np.linalg.norm(point[:, :3], axis=1, keepdims=True)
    point[:, :3] *= ball.radius * share
    point[:, 2] = ball.z - np.abs(point[:, 2])
    point = point[in_workspace(robot, point)]
    rates, t = rng.normal(size=(2, *point.shape)), np.arange(float(len(point)))
    motion = Motion.from_platform(robot, t, point, rates[0], 10 * rates[1])
    Y = regressor(robot, motion, "rigid", tied=True).stacked()
    size = np.linalg.norm(Y, axis=0)
    Y = Y[:, size > 1e-10 * size.max()] / size[size > 1e-10 * size.max()]
    R, order = qr(Y, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(R[: len(order)]))
    chosen = np.flatnonzero(size > 1e-10 * size.max())[order]
    return tuple(sorted(chosen[: int((diagonal > 1e-8 * diagonal[0]).sum())].tolist()))


class Excitation(NamedTuple):
    """The series that eq. 9 chose and its condition number; `random` is the median of the tries."""

    series: FourierSeries
    condition: float
    random: float
    binding: str  # the limit of eq. 11 that it uses most


def design_series(
    robot: Robot,
    ball: Hemisphere,
    spindle: tuple[float, float],
    seed: int,
    *,
    tries: int,
    harmonics: int = 10,
) -> Excitation:
    """Minimise eq. 9 under eqs. 10-11: random series, then random steps from the best one.

    J is the condition number of the row-weighted, column-normalised base regressor, and the rates
    count by their limits (w = 1).
    """
    rng = np.random.default_rng(seed)
    free = unbounded_spindle(robot)
    columns = list(base_columns(robot, ball))
    best, least, start = None, np.inf, np.zeros((4, 2 * harmonics + 1))
    conditions = []
    for k in range(tries):
        share = 1.0 if k < tries // 2 else 0.3
        x = (0.0 if share == 1.0 else start) + share * rng.normal(size=(4, 2 * harmonics + 1))
        series = series_in(ball, x, spindle)
        for _ in range(10):
            motion = fourier_motion(robot, series, rate=60 / series.period, ramp=0.0)
            report = check_motion(free, motion, model="rigid")
            if report.ok:
                break
            series = narrower(series)
        else:
            continue
        Y = regressor(robot, motion, "rigid", tied=True)
        torque = Y.Y @ Y.parameters
        rows = (Y.Y / np.abs(torque).max(axis=0)[None, :, None])[:, :, columns].reshape(
            -1, len(columns)
        )
        condition = float(np.linalg.cond(rows / np.linalg.norm(rows, axis=0)))
        conditions.append(condition)
        speed = float(np.sqrt(np.mean((motion.qd / np.array(robot.limits.rate)) ** 2)))
        value = np.log10(condition) - speed
        if value < least:
            binding = report.binding
            assert binding is not None
            best = Excitation(series, condition, 0.0, binding.name)
            least, start = value, x
    if best is None:
        raise InputError("tries", tries, "enough for one motion within the limits")
    return best._replace(random=float(np.median(conditions)))


def unbounded_spindle(robot: Robot) -> Robot:
    """The robot whose axis 4 turns without end, and whose region is B alone."""
    low, high = (np.asarray(x) for x in (robot.limits.angle_min, robot.limits.angle_max))
    limits = replace(
        robot.limits, angle_min=(*low[:3], -99.0), angle_max=(*high[:3], 99.0), workspace=None
    )
    return robot.replace(limits=limits)


def series_in(ball: Hemisphere, x: FloatArray, spindle: tuple[float, float]) -> FourierSeries:
    """The series of numbers x (4, 2 H + 1) whose curve fills B and whose axis 4 has its pair.

    With psi = a s(w t) the peaks are a w max|s'| and a w^2 max|s''|: w and a follow.
    """
    harmonics = x.shape[1] // 2
    order = np.arange(1, harmonics + 1)
    sine, cosine = (part / order for part in (x[:, 1 : harmonics + 1], x[:, harmonics + 1 :]))
    turn = 2 * np.pi * np.arange(96) / 96 * order[:, None]  # (H, M)
    s, c = np.sin(turn), np.cos(turn)
    shape_sine, shape_cosine = 0.05 * sine[3] / order, 0.05 * cosine[3] / order
    shape_sine[SPINDLE_HARMONIC - 1] += 1.0
    first = (shape_sine * order) @ c - (shape_cosine * order) @ s
    second = -(shape_sine * order**2) @ s - (shape_cosine * order**2) @ c
    rate, acceleration = np.abs(first).max(), np.abs(second).max()
    w = spindle[1] / spindle[0] * rate / acceleration
    sine[3], cosine[3] = (part * spindle[0] / (w * rate) for part in (shape_sine, shape_cosine))
    curve = (sine[:3] @ s + cosine[:3] @ c).T  # (M, 3) about its middle
    middle = np.array([0.0, 0.0, ball.z - 0.5 * ball.radius])
    middle += 0.1 * ball.radius * np.tanh(x[:3, 0])
    top = (ball.z - middle[2]) / np.maximum(curve[:, 2], 1e-9)
    a, b = np.sum(curve**2, axis=1), curve @ (middle - [0, 0, ball.z])
    off = ball.radius**2 - np.sum((middle - [0, 0, ball.z]) ** 2)
    edge = (-b + np.sqrt(b**2 + a * off)) / a
    width = 0.97 * float(min(top[top > 0].min(), edge.min()))  # the curve between its samples
    sine[:3] *= width
    cosine[:3] *= width
    return FourierSeries(w / (2 * np.pi), np.append(middle, 0.0), sine, cosine)


def narrower(series: FourierSeries) -> FourierSeries:
    """The same series with the platform's curve 0.8 times as wide."""
    factor = np.array([0.8, 0.8, 0.8, 1.0])[:, None]
    return replace(series, sine=factor * series.sine, cosine=factor * series.cosine)


@dataclass(frozen=True, eq=False)
class TaskSpace:
    """Figure 2 and section IV: the workspace, B, the base parameters and the excitations."""

    boundary: WorkspaceBoundary
    ball: Hemisphere
    columns: tuple[int, ...]  # of the base parameters
    surrogate: tuple[Excitation, ...]  # to fit and to choose the weight
    bench: tuple[Excitation, ...]  # to fit, to choose the weight, to verify


def task_space(seed: int, tries: int) -> TaskSpace:
    """The workspace within the catalogue's limits, B, and the motions of eqs. 8-11."""
    robot = load_robot(ROBOT)
    boundary = workspace(robot, heights=61)
    ball = fit_hemisphere(boundary)
    spindles = (FAST_SPINDLE, FAST_SPINDLE, SLOW_SPINDLE)
    return TaskSpace(
        boundary,
        ball,
        base_columns(robot, ball),
        tuple(
            design_series(surrogate_robot(), ball, SURROGATE_SPINDLE, 10 * seed + k, tries=tries)
            for k in range(2)
        ),
        tuple(
            design_series(robot, ball, spindle, 10 * seed + 2 + k, tries=tries)
            for k, spindle in enumerate(spindles)
        ),
    )


def figure_2(space: TaskSpace) -> Part:
    """B: a hemisphere in place of the task space."""
    ball = space.ball
    shares = [100 * ball.covered, 100 * ball.reachable, 100 * ball.overlap]
    return Part(
        tables=(PAPER.table("space", [(ball.z, ball.radius, shares)]),),
        claims=(
            PAPER.claim(
                "hemisphere",
                "yes",
                f"{shares[2]:.0f} % common volume",
                holds=ball.overlap >= 0.8,
                missed=100 - shares[1],
            ),
        ),
    )


def section_4(space: TaskSpace) -> Part:
    """Base parameters by QR, and the excitations of eqs. 8-11."""
    excitations = dict(zip(("surrogate, fit", "surrogate, weight"), space.surrogate, strict=True))
    excitations |= dict(
        zip(("bench, fit", "bench, weight", "bench, verification"), space.bench, strict=True)
    )
    robot = load_robot(ROBOT)
    rows, peaks, share = [], {}, 0.0
    for name, item in excitations.items():
        motion = fourier_motion(robot, item.series, rate=SAMPLE_RATE_HZ, ramp=0.0)
        off = motion.p[:, :3] - [0.0, 0.0, space.ball.z]
        share = max(share, float(np.linalg.norm(off, axis=1).max() / space.ball.radius))
        peaks[name] = np.degrees([np.abs(motion.qd[:, 3]).max(), np.abs(motion.qdd[:, 3]).max()])
        speed = np.linalg.norm(motion.pd[:, :3], axis=1).max()
        rows.append(
            (
                name,
                item.series.period,
                speed,
                peaks[name],
                item.condition,
                item.random,
                item.binding,
            )
        )
    fast, slow = peaks["bench, fit"], peaks["bench, verification"]
    gain = max(item.condition / item.random for item in excitations.values())
    return Part(
        tables=(PAPER.table("excitation", rows),),
        claims=(
            PAPER.claim("base", PAPER.numbers["base"], len(space.columns)),
            PAPER.claim("fast", PAPER.numbers["fast"], fast.tolist()),
            PAPER.claim("slow", PAPER.numbers["slow"], slow.tolist()),
        ),
        checks=PAPER.checks(base=len(space.columns), condition=gain, inside=share),
    )


# Section V: identification of physically consistent parameters.


@dataclass(frozen=True, eq=False)
class Samples:
    """Rows of tau = Y p, eq. 2: times (N,), Y (N, 4, n) and torques (N, 4)."""

    t: FloatArray
    Y: FloatArray
    tau: FloatArray
    peak: FloatArray  # (4,), tau_max of W_tau

    def factor(self) -> FloatArray:
        """The triangular factor of [Y tau], each row by tau_max and 1 / sqrt(s), as in eq. 15."""
        rows = np.concatenate([self.Y, self.tau[:, :, None]], axis=2)
        rows = rows / self.peak[None, :, None] / np.sqrt(len(self.t))
        return np.asarray(np.linalg.qr(rows.reshape(-1, rows.shape[2]), mode="r"))

    def block_errors(self, p: FloatArray, blocks: int = 20) -> FloatArray:
        """Mean squared error by tau_max^2 in blocks of time (blocks,)."""
        e = ((self.tau - self.Y @ p) / self.peak) ** 2
        return np.array([part.mean() for part in np.array_split(e, blocks)])


class Identified(NamedTuple):
    """p by name, its torques' parameters (n,), and what eq. 15 left at the optimum."""

    standard: dict[str, float]
    p: FloatArray
    fit: float  # gamma_tau part of J, without its ratio
    distance: float  # |p - p_reg|^2 by W_p
    variables: int
    evaluations: int
    converged: bool


def identify_bodies(
    bodies: Bodies, factor: FloatArray, p_reg: Mapping[str, float], ratio: float, **options: Any
) -> Identified:
    """The optimum of eq. 15 with gamma_p / gamma_tau = ratio."""
    method = LogCholesky(p_reg, weight=ratio, **options)
    found = method.minimise(factor, np.eye(len(bodies.names)), bodies)
    return Identified(
        found.standard,
        found.vector,
        2 * found.objective,
        2 * found.regularisation / ratio,
        len(found.parameters),
        found.evaluations,
        found.converged,
    )


def identify_base(factor: FloatArray, columns: Sequence[int]) -> FloatArray:
    """p_B by least squares as parameters (n,) that are 0 where a column depends on others."""
    p = np.zeros(factor.shape[1] - 1)
    R = factor[:, list(columns)]
    size = np.linalg.norm(R, axis=0)
    p[list(columns)] = np.linalg.lstsq(R / size, factor[:, -1], rcond=None)[0] / size
    return p


class WeightChoice(NamedTuple):
    """Fits for every ratio, their errors on held-out motion, and the ratio that each rule takes."""

    fits: tuple[Identified, ...]
    held_out: FloatArray  # (G,) mean squared error by tau_max^2
    evidence: FloatArray  # (G,), logarithm, but for a constant
    chosen: dict[str, int]  # by rule
    rule: str  # that is followed

    @property
    def fit(self) -> Identified:
        """The fit that the rule takes."""
        return self.fits[self.chosen[self.rule]]

    @property
    def ratio(self) -> float:
        """gamma_p / gamma_tau of that fit."""
        return float(WEIGHT_RATIOS[self.chosen[self.rule]])


def choose_weight(
    bodies: Bodies,
    factor: FloatArray,
    p_reg: Mapping[str, float],
    held_out: Samples,
    count: int,
    rule: str,
) -> WeightChoice:
    """The ratio of eq. 15 by three rules, none of which knows the truth; one is followed.

    Cross validation takes the largest ratio whose error on a held-out motion is within one standard
    error of the least, with the deviation between blocks of time. The evidence is that of `count`
    independent samples and a Gaussian prior about p_reg, by Laplace. The L-curve's corner is where
    log fit over log distance bends most.
    """
    fits = tuple(identify_bodies(bodies, factor, p_reg, float(r)) for r in WEIGHT_RATIOS)
    errors = np.array([held_out.block_errors(fit.p) for fit in fits])  # (G, blocks)
    least = int(errors.mean(axis=1).argmin())
    mean, standard_error = errors.mean(axis=1), errors[least].std(ddof=1) / np.sqrt(errors.shape[1])
    cross = int(np.flatnonzero(mean <= mean[least] + standard_error).max())
    x, y = (np.log([getattr(fit, name) for fit in fits]) for name in ("distance", "fit"))
    dx, dy = np.gradient(x), np.gradient(y)
    bend = (dx * np.gradient(dy) - dy * np.gradient(dx)) / (dx**2 + dy**2) ** 1.5
    corner = 1 + int(np.argmax(np.abs(bend[1:-1])))
    evidence = np.array(
        [
            log_evidence(bodies, factor, p_reg, float(r), fit, count)
            for r, fit in zip(WEIGHT_RATIOS, fits, strict=True)
        ]
    )
    chosen = {CROSS_VALIDATION: cross, L_CURVE: corner, EVIDENCE: int(evidence.argmax())}
    return WeightChoice(fits, mean, evidence, chosen, rule)


def log_evidence(
    bodies: Bodies,
    factor: FloatArray,
    p_reg: Mapping[str, float],
    ratio: float,
    fit: Identified,
    count: int,
) -> float:
    """-J s / v + 1/2 log det(prior precision) - 1/2 log det(posterior precision).

    v is the mean square of the residual by tau_max, s the number of independent samples.
    """
    reduced = bodies.reduced()
    T = reduced.T * reduced.scale
    size = np.abs(np.array([p_reg[name] for name in reduced.names]))
    used = T.any(axis=1) & (size > 0)
    G = T[used] / size[used, None]
    rows = np.concatenate([factor[:, :-1] @ T, np.sqrt(ratio) * G])
    singular = np.linalg.svd(rows, compute_uv=False)
    v = fit.fit / 4
    J = fit.fit + ratio * fit.distance
    return float(
        -J * count / (2 * v)
        - 2 * count * np.log(v)
        + used.sum() / 2 * np.log(ratio)
        - np.log(singular).sum()
    )


def independent_samples(samples: Samples, p: FloatArray) -> int:
    """Samples over the mean correlation length of the residual, by axis."""
    e = samples.tau - samples.Y @ p
    e = e - e.mean(axis=0)
    lengths = []
    for column in e.T:
        correlation = np.correlate(column, column, "full")[len(column) - 1 :] / (column @ column)
        first = int(np.argmax(correlation < 0)) or len(correlation)
        lengths.append(1 + 2 * correlation[1:first].sum())
    return int(len(e) / np.mean(lengths))


def own_values(robot: Robot) -> dict[str, float]:
    """The robot's own standard parameters by name."""
    found = regressor(robot, still_motion(robot), "rigid", tied=True)
    return dict(zip(found.names, found.parameters.tolist(), strict=True))


def printed(column: str) -> dict[str, float]:
    """A column of table I: RG geom, ID geom, RG simple or ID simple."""
    return {name: row[column] for name, row in TABLE_1.items()}


# Section VI: parameter reduction.


def section_6(surrogate: Surrogate) -> Part:
    """36 variables, and 61 where all bodies are full: what the reduction costs."""
    names = surrogate.nominal
    full = [n for n in names if not n.startswith("effector") and n != "rotor"]
    fit = surrogate.choices[RG1].fit
    whole = surrogate.unreduced
    held = [float(np.sqrt(surrogate.held_out.block_errors(p).mean())) for p in (fit.p, whole.p)]
    rows = [
        (
            "reduced (eq. 16)",
            PAPER.numbers["variables"],
            fit.variables,
            fit.evaluations,
            fit.fit,
            held[0],
        ),
        (
            "full bodies",
            PAPER.numbers["full"],
            whole.variables,
            whole.evaluations,
            whole.fit,
            held[1],
        ),
    ]
    return Part(
        tables=(PAPER.table("reduction", rows),),
        claims=(
            PAPER.claim("variables", PAPER.numbers["variables"], fit.variables),
            PAPER.claim("full", PAPER.numbers["full"], len(full), whole=whole.variables),
            PAPER.claim(
                "reduction_costs",
                "improves the result",
                f"{held[0] / held[1]:.4f} of the held-out error",
                holds=held[0] <= 1.01 * held[1],
                share=held[0] / held[1],
            ),
        ),
        checks=PAPER.checks(variables=fit.variables, reduction=held[0] / held[1]),
    )


# Section VII: the surrogate.


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Largest errors of an identified model against the nominal one, per cent [gnad2024] VII.

    Of M: the largest |M_nom - M| along the motion over the mean of |M_nom|. Of torques: the largest
    difference over the largest nominal torque of the same term.
    """

    friction: float
    diagonal: float
    off_diagonal: float
    acceleration: float
    coriolis: float
    gravity: float
    least_eigenvalue: float  # of M, kg m^2

    @property
    def errors(self) -> tuple[float, ...]:
        """All that are in per cent."""
        return (
            self.friction,
            self.diagonal,
            self.off_diagonal,
            self.acceleration,
            self.coriolis,
            self.gravity,
        )


@dataclass(frozen=True, eq=False)
class Surrogate:
    """The simulation study of section VII."""

    robot: Robot
    motion: Motion
    nominal: dict[str, float]
    noise: FloatArray  # (4,), N m
    held_out: Samples
    p_reg: dict[str, dict[str, float]]
    choices: dict[str, WeightChoice]
    accuracy: dict[str, Accuracy]
    cross_validated: float  # largest error with the ratio of cross validation, %
    unreduced: Identified  # RG1 with full bodies


def surrogate_robot() -> Robot:
    """Table I, "ID geom", with the nominal friction of section VII."""
    return load_robot(ROBOT).with_friction(**PAPER.numbers["surrogate_friction"])


def run_surrogate(space: TaskSpace, seed: int, periods: int) -> Surrogate:
    """Torques of the nominal robot with noise, and its bodies from every regularisation."""
    robot = surrogate_robot()
    rng = np.random.default_rng(seed)
    fit, held_out = (
        simulated_samples(robot, item.series, periods, rng) for item in space.surrogate
    )
    motion = fourier_motion(robot, space.surrogate[0].series, rate=SAMPLE_RATE_HZ, ramp=0.0)
    nominal = own_values(robot)
    names = tuple(nominal)
    bodies = Bodies.of(robot, names, "rigid", tied=True, hull=False)
    p_reg = {
        RG1: {name: BELOW * value for name, value in nominal.items()},
        RG2: {name: ABOVE * value for name, value in nominal.items()},
        RG_GEOM: nominal | printed("RG geom"),
        RG_SIMPLE: nominal | printed("RG simple"),
    }
    factor = fit.factor()
    choices = {
        name: choose_weight(bodies, factor, values, held_out, len(fit.t), EVIDENCE)
        for name, values in p_reg.items()
    }
    first = choices[RG1]
    unreduced = identify_bodies(bodies, factor, p_reg[RG1], first.ratio, reduction=False)
    accuracy = {name: judge(choice.fit, robot, nominal, motion) for name, choice in choices.items()}
    others = [
        judge(choice.fits[choice.chosen[CROSS_VALIDATION]], robot, nominal, motion)
        for choice in choices.values()
    ]
    return Surrogate(
        robot,
        motion,
        nominal,
        NOISE_SHARE * fit.peak,
        held_out,
        p_reg,
        choices,
        accuracy,
        max(max(item.errors) for item in others),
        unreduced,
    )


def simulated_samples(
    robot: Robot, series: FourierSeries, periods: int, rng: np.random.Generator
) -> Samples:
    """Rows of eq. 2 with white noise of a share of the peak torque."""
    motion = fourier_motion(robot, series, periods=periods, rate=SAMPLE_RATE_HZ)
    columns = regressor(robot, motion, "rigid", tied=True)
    torque = columns.Y @ columns.parameters
    peak = np.abs(torque).max(axis=0)
    noise = NOISE_SHARE * peak * rng.standard_normal(torque.shape)
    return Samples(motion.t, columns.Y, torque + noise, peak)


def judge(fit: Identified, robot: Robot, nominal: Mapping[str, float], motion: Motion) -> Accuracy:
    """Compare the identified model with the nominal one along a motion."""
    ours = equations_of_motion(robot_from_standard(robot, fit.standard), motion, model="rigid")
    true = equations_of_motion(robot, motion, model="rigid")
    friction = [abs(fit.standard[n] / nominal[n] - 1) for n in nominal if is_friction(n)]
    mass = np.abs(true.M - ours.M).max(axis=0) / np.abs(true.M.mean(axis=0))
    acceleration = (
        np.einsum("nij,nj->ni", true.M, motion.qdd),
        np.einsum("nij,nj->ni", ours.M, motion.qdd),
    )
    terms = [acceleration, (true.c, ours.c), (true.g, ours.g)]
    torque = [
        (np.abs(b - a)[:, :3].max(axis=0) / np.abs(a)[:, :3].max(axis=0)).max() for a, b in terms
    ]
    errors = [
        max(friction),
        np.diag(mass).max(),
        mass[:3, :3][np.triu_indices(3, 1)].max(),
        *torque,
    ]
    least = float(np.linalg.eigvalsh(ours.M)[:, 0].min())
    worst, diagonal, off_diagonal, *torques = (100 * float(item) for item in errors)
    return Accuracy(worst, diagonal, off_diagonal, torques[0], torques[1], torques[2], least)


def is_friction(name: str) -> bool:
    """Whether a parameter is a coefficient of friction."""
    return name.startswith(("Fv", "Fc")) or name.endswith((".Fv", ".Fc"))


def section_7(surrogate: Surrogate) -> Part:
    """Figures 3 to 6: parameters, mass matrix and terms from RG1 and RG2."""
    numbers, both = PAPER.numbers["accuracy"], [surrogate.accuracy[name] for name in (RG1, RG2)]
    largest = [max(item.errors[k] for item in both) for k in range(6)]
    every = [max(item.errors[k] for item in surrogate.accuracy.values()) for k in range(5)]
    rows: list[tuple[Any, ...]] = [("paper: at most", numbers, None)]
    rows += [
        (name, it.errors, 1e3 * it.least_eigenvalue) for name, it in surrogate.accuracy.items()
    ]
    nominal = surrogate.nominal
    parameters = [
        (
            name,
            nominal[name],
            *(
                x
                for key in (RG1, RG2)
                for x in (surrogate.p_reg[key][name], surrogate.choices[key].fit.standard[name])
            ),
        )
        for name in (*TABLE_1, *(n for n in nominal if is_friction(n)), "rotor4")
    ]
    platform = [surrogate.choices[name].fit.standard["platform.m"] for name in (RG1, RG2)]
    terms = (
        ("section VII", "friction"),
        ("figure 4", "diagonal of M"),
        ("figure 4", "off-diagonal of M"),
        ("figure 6", "torques of acceleration"),
        ("figure 5", "Coriolis torques"),
    )
    claims = [
        PAPER.claim(
            "surrogate",
            f"below {bound:g} %",
            f"{value:.2g} %",
            holds=value <= bound,
            value=value,
            figure=figure,
            term=term,
        )
        for (figure, term), bound, value in zip(terms, numbers, largest, strict=False)
    ]
    definite = min(item.least_eigenvalue for item in surrogate.accuracy.values())
    weak = WEIGHT_RATIOS < 2e-5
    held = [choice.held_out[weak] for choice in surrogate.choices.values()]
    spread = max(float(item.max() / item.min()) - 1 for item in held)
    similar = all(value <= bound for value, bound in zip(every, numbers, strict=False))
    off = abs(platform[0] / nominal["platform.m"] - 1)
    claims += [
        PAPER.claim(
            "definite",
            "positive definite",
            f"least eigenvalue {definite:.2g} kg m^2",
            holds=definite > 0,
        ),
        PAPER.claim("several", "similar results", f"at most {max(every):.2g} %", holds=similar),
        PAPER.claim(
            "platform_differs",
            "does not converge with RG1",
            f"{platform[0]:.2f} kg of {nominal['platform.m']:.2f}",
            holds=off > 0.05,
        ),
    ]
    checks = PAPER.checks(definite=definite)
    for name, item in surrogate.accuracy.items():
        torque = max(item.errors[3:])
        checks += PAPER.checks(
            friction={name: item.friction},
            diagonal={name: item.diagonal},
            off_diagonal={name: item.off_diagonal},
            terms={name: torque},
        )
    return Part(
        tables=(
            PAPER.table("accuracy", rows),
            PAPER.table("weights", weight_rows(surrogate.choices)),
            PAPER.table("figure_3", parameters),
        ),
        claims=tuple(claims),
        checks=checks,
        statements={
            "crossed": surrogate.cross_validated,
            "spread": 100 * spread,
            "seconds": surrogate.held_out.t[-1],
            "noise": surrogate.noise,
            "percent": 100 * NOISE_SHARE,
        },
    )


def weight_rows(choices: Mapping[str, WeightChoice]) -> list[tuple[Any, ...]]:
    """The ratio of every rule, and how far from p_reg the fit is (root mean square, relative)."""
    return [
        (
            name,
            *(
                f"{WEIGHT_RATIOS[choice.chosen[rule]]:.0e}"
                for rule in (EVIDENCE, CROSS_VALIDATION, L_CURVE)
            ),
            float(np.sqrt(choice.fit.fit / 4)) * 100,
            f"{choice.fit.distance:.3g}",
        )
        for name, choice in choices.items()
    ]


# Section VIII: the industrial robot.


class Log(NamedTuple):
    """A run on the bench: its samples in the band, and the prepared recording."""

    samples: Samples
    prepared: Prepared


@dataclass(frozen=True, eq=False)
class Bench:
    """The runs, the fits from both regularisations, and what they predict."""

    robot: Robot
    machine: dict[str, float]  # standard parameters of the machine that ran, means over its limbs
    logs: tuple[Log, ...]  # fit, choice of the weight, verification
    p_reg: dict[str, dict[str, float]]
    base: FloatArray  # (n,)
    choices: dict[str, WeightChoice]
    torques: dict[str, FloatArray]  # of the verification (M, 4), in the band
    thinning: tuple[float, float, float, float]  # Fv4, Fc4, Ft4 (N m), velocity (rad/s)
    tracking: dict[str, float]  # RMS error of the arms, deg, by control law
    control_ratio: float  # gamma_p / gamma_tau of the laws' model
    least_eigenvalue: float  # of M of both fits along the verification, kg m^2

    @property
    def errors(self) -> dict[str, FloatArray]:
        """RMS torque error on the verification (4,), N m."""
        tau = self.logs[2].samples.tau
        return {name: rms(tau - torque) for name, torque in self.torques.items()}


def bench_robot() -> Robot:
    """The catalogue's robot with the bench's friction."""
    robot = load_robot(ROBOT)
    viscous, coulomb = robot.friction.viscous, robot.friction.coulomb
    return robot.with_friction(
        viscous=(*viscous[:3], VISCOUS_4),
        coulomb=(*coulomb[:3], COULOMB_4),
        stribeck=(*(STRIBECK_SHARE * value for value in coulomb[:3]), STRIBECK_4),
        stribeck_velocity=(STRIBECK_VELOCITY,) * 4,
        thinning=(0.0, 0.0, 0.0, THINNING_4),
        thinning_velocity=(1.0, 1.0, 1.0, THINNING_VELOCITY),
    )


def first_guesses(robot: Robot) -> dict[str, dict[str, float]]:
    """p_reg of section VIII-A: by geometry with the paper's split of the bar, and table I's two.

    What table I has not (arm's mass, effector, motor, friction) is the catalogue's mass, and 1 for
    all friction.
    """
    bar = TABLE_1["upper.m"]["RG geom"] + TABLE_1["lower.m"]["RG geom"]
    plain = geometric_guess(robot, density=1.0)
    guess = geometric_guess(
        robot,
        density={"upper": 0.6 * bar / plain["upper.m"], "lower": 0.4 * bar / plain["lower.m"]},
    )
    known = own_values(robot) | {name: 1.0 for name in guess if is_friction(name)}
    return {
        "own": guess,
        SIMPLE: known | printed("RG simple"),
        GEOMETRIC: known | printed("RG geom"),
    }


def run_bench(space: TaskSpace, seed: int, periods: int) -> Bench:
    """Three motions: to identify, to choose the weight, to verify; then two control laws."""
    robot, machine = load_robot(ROBOT), bench_robot()
    law = PDFeedforward(robot, bandwidth=LOOP_BANDWIDTH_HZ)
    logs = []
    for k, item in enumerate(space.bench):
        motion = fourier_motion(robot, item.series, periods=periods if k == 0 else 1, rate=1000.0)
        run = run_law(machine, motion, law, 10 * seed + k)
        prepared = prepare(robot, run.recording, band=BENCH_BAND_HZ, rates="kalman")
        logs.append(Log(bench_samples(robot, prepared), prepared))
        true = machine_values(run.truth.robot)
    fit, weight, verification = (log.samples for log in logs)
    p_reg = first_guesses(robot)
    bodies = Bodies.of(robot, tuple(p_reg["own"]), "rigid", tied=True, hull=False)
    factor = fit.factor()
    base = identify_base(factor, space.columns)
    count = independent_samples(fit, base)
    choices = {
        name: choose_weight(bodies, factor, p_reg[name], weight, count, CROSS_VALIDATION)
        for name in (SIMPLE, GEOMETRIC)
    }
    torques = {BASE: verification.Y @ base}
    torques |= {f"ID {name}": verification.Y @ choice.fit.p for name, choice in choices.items()}
    place = {name: j for j, name in enumerate(bodies.names)}
    by_hand = torques["ID geom"].copy()
    for name, factor_4 in zip(("Fv4", "Fc4"), TUNED, strict=True):
        own = choices[GEOMETRIC].fit.standard[name]
        by_hand[:, 3] += (factor_4 - 1) * own * verification.Y[:, 3, place[name]]
    thinning, torque_4 = fit_thinning(logs[0], logs[2], (place["Fv4"], place["Fc4"]))
    with_thinning = torques["ID geom"].copy()
    with_thinning[:, 3] = torque_4
    torques |= {BY_HAND: by_hand, THINNING: with_thinning}
    slow = fourier_motion(robot, space.bench[2].series, rate=20.0, ramp=0.0)
    least = min(
        float(np.linalg.eigvalsh(mass_matrices(robot, slow, choice.fit.p))[:, 0].min())
        for choice in choices.values()
    )
    identified, ratio = realisable_robot(robot, choices[GEOMETRIC])
    laws = {
        "PD": PD(identified, bandwidth=LOOP_BANDWIDTH_HZ),
        "augmented PD": AugmentedPD(identified, model="rigid", bandwidth=LOOP_BANDWIDTH_HZ),
    }
    tracking = {}
    move = gate_move(
        robot, (-0.2, 0.1, -0.95, 0.0), (0.2, -0.1, -0.95, 0.5), duration=0.5, rate=1000.0
    )
    for name, one in laws.items():
        run = run_law(machine, move, one, 10 * seed + 5)
        off = run.truth.q - run.reference.q
        tracking[name] = float(np.degrees(np.sqrt(np.mean(off[:, :3] ** 2))))
    return Bench(
        robot, true, tuple(logs), p_reg, base, choices, torques, thinning, tracking, ratio, least
    )


def mass_matrices(robot: Robot, motion: Motion, p: FloatArray) -> FloatArray:
    """M (N, 4, 4) of any parameters (n,): torques of unit accelerations at rest."""
    rest = np.zeros_like(motion.q)

    def torque(acceleration: FloatArray) -> FloatArray:
        moved = Motion.from_joints(robot, motion.t, motion.q, rest, rest + acceleration)
        return regressor(robot, moved, "rigid", tied=True).Y @ p

    gravity = torque(np.zeros(4))
    M = np.stack([torque(unit) - gravity for unit in np.eye(4)], axis=2)
    return np.asarray((M + M.transpose(0, 2, 1)) / 2)


def realisable_robot(robot: Robot, choice: WeightChoice) -> tuple[Robot, float]:
    """The robot of the least ratio, from the chosen one upward, that a robot file can hold.

    Bodies that are consistent by eq. 12 can have a rod's COM on the wrong side of its joint.
    """
    for index in range(choice.chosen[choice.rule], len(WEIGHT_RATIOS)):
        try:
            found = robot_from_standard(robot, choice.fits[index].standard)
        except InputError:
            continue
        return found, float(WEIGHT_RATIOS[index])
    raise InputError("identified bodies", "none", "those that a robot file can hold")


def machine_values(machine: Robot) -> dict[str, float]:
    """Standard parameters of a machine; of what each limb has its own, the mean."""
    found = regressor(machine, still_motion(machine), "rigid", tied=False)
    parts: dict[str, list[float]] = {}
    for name, value in zip(found.names, found.parameters.tolist(), strict=True):
        body, dot, entry = name.partition(".")
        common = body.rstrip("123") if dot or body.startswith("rotor") else body
        parts.setdefault(common + dot + entry, []).append(value)
    return {name: float(np.mean(values)) for name, values in parts.items()}


def still_motion(robot: Robot) -> Motion:
    """A motion that hardly moves: parameters need a state, whichever."""
    little = np.full((4, 1), 1e-3)
    series = FourierSeries(1.0, np.array([0.0, 0.0, -0.9, 0.0]), little, little)
    return fourier_motion(robot, series, rate=4.0)


def run_law(machine: Robot, motion: Motion, law: Any, seed: int) -> Any:
    """A run; the rotors are part of the arms' inertia in table I, so the preset adds none."""
    run = simulate(
        machine, motion, law, preset="industrial", rate=1000.0, seed=seed, rotor_inertia=0.0
    )
    if not run.completed:
        raise InputError("run on the bench", run.status, "a motion that the bench completes")
    return run


def bench_samples(robot: Robot, prepared: Prepared) -> Samples:
    """Rows of eq. 2 below the band's limit."""
    Y = regressor(robot, prepared.state, "rigid", tied=True).Y
    tau = prepared.limited(prepared.tau)
    return Samples(prepared.times, prepared.limited(Y), tau, np.abs(tau).max(axis=0))


def fit_thinning(
    fit: Log, verification: Log, friction: tuple[int, int]
) -> tuple[tuple[float, float, float, float], FloatArray]:
    """Axis 4 by its own columns and tanh(qd / v), v by least squares: numbers and torque (M,)."""

    def rows(log: Log, velocity: float) -> FloatArray:
        thin = log.prepared.limited(np.tanh(log.prepared.state.qd[:, 3] / velocity))
        return np.column_stack([log.samples.Y[:, 3], thin])

    def solve(velocity: float) -> tuple[FloatArray, float]:
        A = rows(fit, velocity)
        size = np.linalg.norm(A, axis=0)
        size[size < 1e-12 * size.max()] = np.inf
        x = np.linalg.lstsq(A / size, fit.samples.tau[:, 3], rcond=1e-10)[0] / size
        return x, float(np.linalg.norm(A @ x - fit.samples.tau[:, 3]))

    highest = float(np.abs(fit.prepared.state.qd[:, 3]).max())
    velocities = highest * np.geomspace(0.005, 0.3, 25)
    velocity = float(min(velocities, key=lambda v: solve(float(v))[1]))
    x = solve(velocity)[0]
    numbers = (float(x[friction[0]]), float(x[friction[1]]), float(x[-1]), velocity)
    return numbers, rows(verification, velocity) @ x


def section_8a() -> Part:
    """First guesses from geometry."""
    robot = load_robot(ROBOT)
    guess = first_guesses(robot)["own"]
    names = [name for name in TABLE_1 if name.partition(".")[0] in ("upper", "lower")]
    rows = [(name, row["unit"], row["RG geom"], guess[name]) for name, row in TABLE_1.items()]
    return Part(
        tables=(PAPER.table("guesses", rows),),
        claims=(
            PAPER.claim(
                "guess_bar",
                [TABLE_1[n]["RG geom"] for n in names if "zz" not in n],
                [guess[n] for n in names if "zz" not in n],
            ),
            PAPER.claim(
                "guess_axial",
                [1e6 * TABLE_1[n]["RG geom"] for n in names if "zz" in n],
                [1e6 * guess[n] for n in names if "zz" in n],
            ),
            PAPER.claim(
                "guess_arm",
                [TABLE_1["arm.mcx"]["RG geom"], TABLE_1["arm.Iyy"]["RG geom"]],
                [guess["arm.mcx"], guess["arm.Iyy"]],
                ratio=TABLE_1["arm.Iyy"]["RG geom"] / guess["arm.Iyy"],
            ),
            PAPER.claim(
                "guess_strut",
                [TABLE_1["strut.m"]["RG geom"], TABLE_1["strut.Iyy"]["RG geom"]],
                [guess["strut.m"], guess["strut.Iyy"]],
                ratio=TABLE_1["strut.m"]["RG geom"] / guess["strut.m"],
            ),
        ),
    )


def table_1(bench: Bench) -> Part:
    """All bodies from both regularisations beside the paper's and the truth."""
    own, errors = bench.machine, bench.errors
    ratios = {k: float((errors[f"ID {k}"] / errors[BASE]).max()) for k in (SIMPLE, GEOMETRIC)}
    fits = {name: choice.fit.standard for name, choice in bench.choices.items()}
    names = reduced_names(own)
    rows = []
    for name in names:
        row = TABLE_1.get(name, {})
        paper = [row.get(kind) for kind in ("RG simple", "ID simple", "RG geom", "ID geom")]
        true = true_value(name, own)
        ours = [fits[SIMPLE][name], fits[GEOMETRIC][name]]
        rows.append((name, *map(significant, [*paper[:2], ours[0], *paper[2:], ours[1], true])))
    geom, simple = fits[GEOMETRIC], fits[SIMPLE]
    claims = []
    bodies = {"arm": "arm", "strut": "strut", "platform": "platform"}
    bodies |= {"upper": "upper part of the bar", "lower": "lower part of the bar"}
    for key, body in bodies.items():
        parts = [n for n in TABLE_1 if n.startswith(key + ".") and n not in TINY]
        for kind, fit in (("ID geom", geom), ("ID simple", simple)):
            off = {n: fit[n] - TABLE_1[n][kind] for n in parts}
            worst = max(parts, key=lambda n: abs(off[n] / TABLE_1[n][kind]))
            claims.append(
                PAPER.claim(
                    "table_1",
                    [TABLE_1[n][kind] for n in parts],
                    [fit[n] for n in parts],
                    kind=kind,
                    body=body,
                    entries=", ".join(n.partition(".")[2] for n in parts),
                    worst=worst,
                    paper_worst=TABLE_1[worst][kind],
                    ours_worst=fit[worst],
                    held=bench.p_reg[kind.partition(" ")[2]][worst],
                    true=own[worst],
                    ratio=ratios[kind.partition(" ")[2]],
                )
            )
    sums = [bench_sums(values, bench.robot) for values in (own, simple, geom)]
    claims += [
        PAPER.claim(
            "table_1_axial",
            "17.4 and 24.6 g m^2",
            f"{1e3 * simple['strut.Ixx']:.3g} and {1e3 * geom['strut.Ixx']:.3g} g m^2",
            holds=False,
            gyration=np.sqrt(TABLE_1["strut.Ixx"]["ID geom"] / TABLE_1["strut.m"]["ID geom"]),
            axial=1e3 * geom["strut.Ixx"],
        ),
        PAPER.claim(
            "platform_rises",
            "+26 %, +23 %",
            ", ".join(
                f"{100 * (fits[k]['platform.m'] / bench.p_reg[k]['platform.m'] - 1):+.0f} %"
                for k in (SIMPLE, GEOMETRIC)
            ),
            holds=all(
                fits[k]["platform.m"] > bench.p_reg[k]["platform.m"] for k in (SIMPLE, GEOMETRIC)
            ),
            geom=geom["platform.m"],
        ),
        PAPER.claim(
            "lower_falls",
            "−24 %, −20 %",
            ", ".join(
                f"{100 * (fits[k]['lower.m'] / bench.p_reg[k]['lower.m'] - 1):+.0f} %"
                for k in (SIMPLE, GEOMETRIC)
            ),
            holds=all(fits[k]["lower.m"] < bench.p_reg[k]["lower.m"] for k in (SIMPLE, GEOMETRIC)),
            lower=geom["lower.m"],
            total=sums[2][0],
            true=sums[0][0],
        ),
    ]
    labels = (
        "platform + lower + effector + 3 of 2 struts' far ends (kg)",
        "arm, A (kg m^2)",
        "arm, G (kg m)",
        "telescope, H (kg m^2)",
        "telescope, kappa + mu (kg m)",
    )
    sum_rows = [(label, *values) for label, *values in zip(labels, *sums, strict=True)]
    agreement = max(abs(a / b - 1) for a, b in zip(*sums[1:], strict=True))
    summands = ("arm.mcx", "arm.Iyy", "strut.m", "strut.mcx", "strut.Iyy", "platform.m", "lower.m")
    checks = PAPER.checks(
        agree=agreement / max(abs(simple[n] / geom[n] - 1) for n in summands),
        upper=min(fits[k]["upper.m"] / own["upper.m"] for k in fits),
    )
    return Part(
        tables=(
            PAPER.table("table_1", rows),
            PAPER.table("sums", sum_rows),
            PAPER.table("bench_weights", weight_rows(bench.choices)),
        ),
        claims=tuple(claims),
        checks=checks,
    )


def two_sets(space: TaskSpace) -> Part:
    """ID simple and ID geom, found on one robot: their torques on the surrogate's motion.

    Table I has no effector: `more` (kg) of it beside ID simple bring the two nearest.
    """
    robot = load_robot(ROBOT)
    motion = fourier_motion(robot, space.surrogate[0].series, rate=100.0, ramp=0.0)
    columns = regressor(robot, motion, "rigid", tied=True)
    geom = own_values(robot)
    simple = geom | printed("ID simple")
    apart = columns.Y @ np.array([geom[name] - simple[name] for name in columns.names])
    mass = columns.Y[:, :, columns.names.index("effector.m")]
    more = float((mass * apart).sum() / (mass**2).sum())
    both, residual = rms(apart)[:3], rms(apart - more * mass)[:3]
    rows = [
        ("ID geom less ID simple", both),
        (f"with {more:.2f} kg more effector beside ID simple", residual),
        ("error of the fit on the real robot, paper", PAPER.numbers["rms"]["ID geom"][:3]),
    ]
    return Part(
        tables=(PAPER.table("two_sets", rows),),
        claims=(
            PAPER.claim(
                "two_sets",
                "both describe one robot",
                f"{both.max():.1f} N m apart",
                holds=bool(both.max() <= 2.2),
                apart=both,
                more=more,
                residual=residual,
            ),
        ),
    )


def reduced_names(own: Mapping[str, float]) -> list[str]:
    """The values behind the 36 variables; the effector's five give four."""
    arm = ("arm.m", "arm.mcx", "arm.mcz", "arm.Iyy")
    effector = ("effector.m", "effector.mcx", "effector.mcy", "effector.Izz")
    rest = [n for n in TABLE_1 if not n.startswith("arm.")]
    return [*arm, *rest, *effector, "rotor4", *(n for n in own if is_friction(n))]


def true_value(name: str, own: Mapping[str, float]) -> float | None:
    """The bench's own value; its friction of axis 4 has no viscous and Coulomb part alone."""
    return None if name in ("Fv4", "Fc4") else own[name]


def significant(value: float | None) -> str:
    """Three significant digits."""
    return "-" if value is None else f"{value:.3g}"


def bench_sums(p: Mapping[str, float], robot: Robot) -> tuple[float, ...]:
    """What the torque of thin struts shows of the bodies: M_P, A, G, H, kappa + mu."""
    l1, l2 = robot.rotary.arm_length[0], robot.geometry.strut_length[0]
    m, h, I = (2 * p[f"strut.{name}"] for name in ("m", "mcx", "Iyy"))  # two rods
    total = p["platform.m"] + p["lower.m"] + p["effector.m"] + 3 * I / l2**2
    A = p["arm.Iyy"] + l1**2 * (m - 2 * h / l2 + I / l2**2)
    G = p["arm.mcx"] + l1 * (m - h / l2)
    return total, A, G, p["upper.Ixx"] + p["lower.Ixx"], p["upper.mcz"] - p["lower.mcz"]


def section_8b(bench: Bench) -> Part:
    """Friction and the inertia of motor 4."""
    fit, numbers = bench.choices[GEOMETRIC].fit.standard, PAPER.numbers
    viscous, coulomb = ([fit[f"{kind}{i}"] for i in (1, 2, 3, 4)] for kind in ("Fv", "Fc"))
    prismatic = [fit["prismatic.Fv"], fit["prismatic.Fc"]]
    true = [bench.machine[f"Fv{i}"] for i in (1, 2, 3)]
    return Part(
        claims=(
            PAPER.claim("motor", 1e3 * numbers["motor"], 1e3 * fit["rotor4"]),
            PAPER.claim("viscous", numbers["viscous"], viscous, true=true),
            PAPER.claim("coulomb", numbers["coulomb"], coulomb, worst=max(coulomb)),
            PAPER.claim("prismatic", numbers["prismatic"], prismatic),
        ),
        checks=PAPER.checks(motor=abs(fit["rotor4"] / numbers["motor"] - 1)),
    )


def section_8c(bench: Bench) -> Part:
    """Figures 7 and 8: torques on the verification motion."""
    errors, numbers = bench.errors, PAPER.numbers["rms"]
    rows = []
    for name, error in errors.items():
        if name in (BY_HAND, THINNING):
            continue
        if name in numbers:
            rows.append((name, "paper, real robot", numbers[name]))
        rows.append((name, "ours", error))
    spindle = {
        "base parameters": numbers[BASE][3],
        "ID geom": numbers["ID geom"][3],
        BY_HAND: PAPER.numbers["by_hand"],
    }
    friction = axis_4(bench)
    rows_8 = [
        (name, *friction[name], spindle.get(name), errors[name][3])
        for name in (BASE, "ID geom", BY_HAND, THINNING)
    ]
    rates = np.array([30.0, 90.0, 175.0, 500.0, 1500.0, 2760.0])
    curves = [("machine", machine_friction(np.radians(rates)))]
    curves += [
        (name, friction_curve(friction[name], np.radians(rates), bench.thinning[3]))
        for name in ("ID geom", BY_HAND, THINNING)
    ]
    ratio = max((errors[f"ID {k}"] / errors[BASE]).max() for k in (SIMPLE, GEOMETRIC))
    apart = float(np.abs(errors["ID simple"] / errors["ID geom"] - 1).max())
    hand, thin = (errors[name][3] / errors["ID geom"][3] for name in (BY_HAND, THINNING))
    return Part(
        tables=(
            PAPER.table("figure_7", rows),
            PAPER.table("figure_8", rows_8, velocity=bench.thinning[3]),
            PAPER.table("curve", curves),
        ),
        claims=(
            PAPER.claim("rms_base", numbers[BASE], errors[BASE].tolist(), axis_4=errors[BASE][3]),
            PAPER.claim(
                "rms_identified",
                numbers["ID geom"],
                errors["ID geom"].tolist(),
                axis_4=errors["ID geom"][3],
            ),
            PAPER.claim(
                "consistent_costs",
                "close to base parameters",
                f"at most {ratio:.3f} of them",
                holds=ratio <= 1.1,
                ratio=ratio,
            ),
            PAPER.claim(
                "spindle_by_hand",
                "0.15 of 0.20 N m (0.75)",
                f"{errors[BY_HAND][3]:.3f} of {errors['ID geom'][3]:.3f} N m ({hand:.2f})",
                holds=hand <= 0.9,
                hand=hand,
            ),
            PAPER.claim(
                "friction_model",
                "an improved model is needed",
                f"a thinning term leaves {thin:.2f} of the error",
                holds=thin <= 0.75,
                thin=thin,
            ),
        ),
        checks=PAPER.checks(validation=ratio, apart=apart, by_hand=hand, thinning=thin),
        statements={"thinning": bench.thinning},
    )


def axis_4(bench: Bench) -> dict[str, tuple[float, float, float | None]]:
    """Fv4 (N m s/rad), Fc4 and the thinning term (N m) of every prediction."""
    fit = bench.choices[GEOMETRIC].fit.standard
    place = {name: j for j, name in enumerate(fit)}
    base = (float(bench.base[place["Fv4"]]), float(bench.base[place["Fc4"]]), None)
    own = (fit["Fv4"], fit["Fc4"], None)
    by_hand = (TUNED[0] * own[0], TUNED[1] * own[1], None)
    return {BASE: base, "ID geom": own, BY_HAND: by_hand, THINNING: bench.thinning[:3]}


def friction_curve(
    numbers: tuple[float, float, float | None], rate: FloatArray, velocity: float
) -> FloatArray:
    """Friction (N,) at rates (N,) above 0, N m."""
    viscous, coulomb, thin = numbers
    return np.asarray(viscous * rate + coulomb + (thin or 0.0) * np.tanh(rate / velocity))


def machine_friction(rate: FloatArray) -> FloatArray:
    """Friction of the bench's axis 4 (N,) at rates (N,) above 0 and 25 degrees C, N m."""
    own = friction_curve((VISCOUS_4, COULOMB_4, THINNING_4), rate, THINNING_VELOCITY)
    return np.asarray(own + STRIBECK_4 * np.exp(-((rate / STRIBECK_VELOCITY) ** 2)))


def conclusion(bench: Bench) -> Part:
    """Model-based control with the identified model."""
    plain, augmented = bench.tracking["PD"], bench.tracking["augmented PD"]
    return Part(
        tables=(PAPER.table("control", list(bench.tracking.items()), ratio=bench.control_ratio),),
        claims=(
            PAPER.claim(
                "control_definite",
                "M is positive definite",
                f"least eigenvalue {bench.least_eigenvalue:.2g} kg m^2",
                holds=bench.least_eigenvalue > 0,
            ),
            PAPER.claim(
                "augmented",
                "a basis for augmented PD",
                f"{augmented:.3f} deg, PD alone {plain:.3f} deg",
                holds=augmented < 0.5 * plain,
            ),
        ),
        checks=PAPER.checks(bench_definite=bench.least_eigenvalue, augmented=augmented / plain),
    )


def reaction_forces(space: TaskSpace, surrogate: Surrogate) -> Part:
    """What the conclusion leaves to future work: reactions need the values of each single body."""
    robot = surrogate.robot
    motion = fourier_motion(robot, space.surrogate[1].series, rate=REACTION_RATE_HZ, ramp=0.0)
    fits = {name: realisable_robot(robot, choice)[0] for name, choice in surrogate.choices.items()}
    errors = fitted_reactions(robot, fits, motion)
    torque = max(float(row[1] or 0.0) for row in errors.rows)
    worst = {
        name: max(float(row[k] or 0.0) for row in errors.rows)
        for k, name in enumerate(errors.columns[2:], start=2)
    }
    name, largest = max(worst.items(), key=lambda item: item[1])
    rows = reaction_rows(robot, motion)
    difference = largest_difference(rows)
    claims = [
        PAPER.claim(
            "reactions_need_bodies",
            "correct values of each body are needed",
            f"torque within {torque:.2f} %, {name} off by up to {largest:.0f} %",
            holds=largest > 5 * torque,
        ),
        PAPER.claim("force_measurements", "are to identify each body", largest=largest, name=name),
    ]
    if difference is None:
        claims.append(PAPER.claim("reactions_unchecked", "future work"))
    else:
        claims.append(
            PAPER.claim(
                "reactions",
                "future work",
                f"{len(rows)} reactions, MuJoCo's constraint forces differ by {difference:.0e}",
                holds=difference < 1e-6,
            )
        )
    return Part(
        tables=(reaction_table(robot, motion, rows=rows), errors),
        claims=tuple(claims),
        checks=PAPER.checks(reactions=largest / torque),
    )
