"""[falezza2022] on the virtual bench: M_s against M_f, their equations, errors, means and cost.

Torques are counted as the paper counts them, positive where the drive raises the arm; this library
counts them the other way.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray, contract
from deltadyn.dynamics import equations_of_motion, inverse_dynamics
from deltadyn.errors import InputError
from deltadyn.exports import c_compiler, compile_c
from deltadyn.kinematics import State
from deltadyn.motion import Motion, y1, y2, y3
from deltadyn.progress import Bar
from deltadyn.reproduce.audit.falezza import (
    AS_PRINTED,
    SINGULAR,
    SimpleSlip,
    simplified_torque,
    transcribed_torque,
)
from deltadyn.reproduce.audit.falezza_derivatives import CompleteSlip, DerivativeSlip
from deltadyn.reproduce.audit.operations import (
    TABLE_6,
    Operations,
    Tape,
    c_function,
    complete_as_written,
    complete_folded,
    exact_from_platform,
    simplified_as_written,
    simplified_folded,
)
from deltadyn.reproduce.audit.records import Cost, Slip
from deltadyn.reproduce.claims import NEAR, Claim
from deltadyn.reproduce.mean_causes import (
    Cause,
    Explanation,
    Prediction,
    cause_probabilities,
    compare_causes,
    smallest_explanation,
)
from deltadyn.reproduce.result import JOINTS, Check, Paper, Reproduction, Table, by_joint
from deltadyn.reproduce.trials import (
    BAND,
    ROBOT,
    WORDS,
    Errors,
    Trial,
    errors,
    trial,
    whole_number,
)
from deltadyn.robot import Robot, load_robot

M_S, M_F = "M_s", "M_f"
MORE = M_S_ROTOR, M_F_FRICTION = "M_s and rotor", "M_f and friction"
Y1_SHARE, Y3_SHARE = 0.7, 0.4  # of the robot's limits, so that M_s errs as in tables 3 and 5
Y1_AZIMUTH = 2 * np.pi / 3  # rad, across the belts: along arm 2, which errs most in table 3
FORCE = (15.0, -10.0, -30.0)  # N, on the platform
Y1_LIMITS, Y2_EMPTY = "Y1 at the limits", "Y2 without payload"
SLOWEST = 2.0  # times as long as at the limits, of random Y1
MEAN_MOTIONS = 16  # random layouts on which the means are compared
LAYOUT_RATE = 100.0  # Hz
SAMPLES, SINGLES = 10_000, 20  # evaluations that are timed: in arrays, one by one
RUNS, C_RUNS = 3, 20  # of NumPy and of compiled code, on each trajectory

PAPER = Paper(
    "falezza2022",
    BAND=BAND,
    FORCE=FORCE,
    M_F_FRICTION=M_F_FRICTION,
    M_S_ROTOR=M_S_ROTOR,
    C_RUNS=C_RUNS,
    RUNS=RUNS,
    SAMPLES=SAMPLES,
    SLOWEST=SLOWEST,
    Y1_SHARE=Y1_SHARE,
    Y3_SHARE=Y3_SHARE,
    **WORDS,
)
TABLES, TABLE_7 = PAPER.numbers["errors"], PAPER.numbers["rates"]


@dataclass
class Section:
    """What a section of the paper gives: tables, claims, checks, and values for statements."""

    tables: list[Table] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)


def falezza2022(
    *, seed: int = 0, dwell: float = 6.0, layouts: int = 200, progress: bool = False
) -> Reproduction:
    """Compare M_s and M_f with the torques of the virtual bench on Y1, Y2, Y3.

    `seed` is that of Y1's places, of the noise and of the random layouts; `dwell` (s) is how long
    Y3 stops; `layouts` is how many random layouts of Y1 and Y2 are compared.
    """
    whole_number("seed", seed, 0)
    whole_number("layouts", layouts, 1)
    robot = load_robot(ROBOT)
    equations = compare_equations(robot)  # sections 2 and 3
    random = random_layouts(robot, layouts, seed, dwell)
    load = load_from_means(robot, random)
    bench = run_bench(robot, seed, dwell, load, progress)  # section 4
    accuracy = compare_errors(bench)  # section 5.1
    order = compare_order(bench, random, load)
    stops = split_table_5(bench)
    means = explain_means(robot, random)
    force = push_platform(robot, seed)
    complexity = compare_complexity(robot, bench)  # section 5.2
    sections = [equations, accuracy, order, stops, means, force, complexity]
    values = {name: value for section in sections for name, value in section.values.items()}
    return PAPER.reproduction(
        [table for section in sections for table in section.tables],
        PAPER.statements(dwell=dwell, **values),
        tuple(check for section in sections for check in section.checks),
        FigureData(bench.cases, Stops.of(bench.cases["Y3"]), means.values["explanation"]),
        claims=[claim for section in sections for claim in section.claims],
        seed=seed,
    )


# Sections 2 and 3: the models


def compare_equations(robot: Robot) -> Section:
    """M_s and M_f as printed, in part corrected and corrected, on Y2; remark 1."""
    motion = y2(robot, rate=200.0)
    exact = inverse_dynamics(robot, motion, friction=False)
    half = inverse_dynamics(robot, motion, "half-half", friction=False)
    printed, in_part = AS_PRINTED, AS_PRINTED - SINGULAR
    rows, costs = [], {}
    for name, torque, right in (
        ("M_s, eqs. 4-5 as printed", simplified_torque(robot, motion, set(SimpleSlip)), half),
        ("M_s corrected", simplified_torque(robot, motion), half),
        ("M_f, eqs. 12, 19-30 as printed", transcribed_torque(robot, motion, printed), exact),
        ("M_f, only A, K and n_i corrected", transcribed_torque(robot, motion, in_part), exact),
        ("M_f corrected", transcribed_torque(robot, motion), exact),
    ):
        costs[name] = cost = Cost.of(torque, right)
        rows.append((name, 100 * cost.share, cost.rms_Nm, cost.peak_Nm))
    first, _, whole, part, corrected = costs.values()
    eom = equations_of_motion(robot.with_friction(viscous=0.0, coulomb=0.0), motion)
    compact = np.abs(contract("nij,nj->ni", eom.M, motion.qdd) + eom.c + eom.g - exact).max()
    # CONSTRAINT is the slips of A and K once more
    count = len(SimpleSlip) + len(CompleteSlip) - 1 + len(DerivativeSlip)
    return Section(
        [PAPER.table("equations", rows)],
        [
            PAPER.claim(
                "equations",
                "complete",
                f"{part.rms_Nm:.1f} N m RMS",
                holds=part.rms_Nm < 1.0,
                count=count,
                derivatives=len(DerivativeSlip),
                simple=first.rms_Nm,
                share=100 * whole.share,
                part=part.rms_Nm,
            ),
            PAPER.claim(
                "corrected",
                "without simplifications",
                "the exact model",
                holds=corrected.peak_Nm < 1e-9,
                peak=corrected.peak_Nm,
            ),
            PAPER.claim("compact", "impossible", "possible", holds=False, compact=compact),
        ],
        list(PAPER.checks(corrected=corrected.peak_Nm, printed=part.rms_Nm, compact=compact)),
        {"slips": count},
    )


# Section 4: the bench


@dataclass(frozen=True, eq=False)
class Case:
    """A trajectory on the bench with every model's torque (N, 3) and error."""

    trial: Trial
    torques: dict[str, FloatArray]
    errors: dict[str, Errors]

    @property
    def taken_off(self) -> FloatArray:
        """What M_f takes off the error of M_s (3,): sqrt(std_s^2 - std_f^2), in N m."""
        return taken_off(self.errors[M_S].std, self.errors[M_F].std)

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
class Bench:
    """The runs of section 5.1 by name, and the machine that made them."""

    robot: Robot
    machine: Robot
    cases: dict[str, Case]
    load: float  # kg, on Y2


@dataclass(frozen=True, eq=False)
class FigureData:
    """What the figures of the page are drawn from."""

    cases: dict[str, Case]
    stops: Stops
    means: Explanation


def run_bench(robot: Robot, seed: int, dwell: float, load: float, progress: bool) -> Bench:
    """Y1, Y2 and Y3 on the bench, and what shows why Y1 and Y2 change places."""
    plans: dict[str, tuple[Motion, dict[str, Any]]] = {
        "Y1": (y1(robot, picks=2, seed=seed, azimuth=Y1_AZIMUTH, share=Y1_SHARE), {}),
        "Y2": (y2(robot), {"payload": [(0.0, load)]}),
        "Y3": (y3(robot, dwell=dwell, share=Y3_SHARE), {}),
        Y1_LIMITS: (y1(robot, picks=2, seed=seed, azimuth=Y1_AZIMUTH), {}),
        Y2_EMPTY: (y2(robot), {}),
    }
    cases = {}
    with Bar(progress, "bench", len(plans)) as bar:
        for index, (name, (motion, options)) in enumerate(plans.items()):
            cases[name] = _case(robot, trial(robot, name, motion, 10 * seed + index, **options))
            bar.step()
    return Bench(robot, cases["Y1"].trial.run.truth.robot, cases, load)


def _case(robot: Robot, recorded: Trial) -> Case:
    """Both models as the paper uses them, and two that show where the difference comes from."""
    machine, state = recorded.run.truth.robot, recorded.prepared.state
    turned = robot.with_rotor_inertia(machine.drives.output_inertia)
    torques = {
        M_S: inverse_dynamics(robot, state, "half-half", friction=False),
        M_F: inverse_dynamics(turned, state, "exact", friction=False),
        M_S_ROTOR: inverse_dynamics(turned, state, "half-half", friction=False),
        M_F_FRICTION: inverse_dynamics(turned.replace(friction=machine.friction), state, "exact"),
    }
    by_model = {name: raised(errors(recorded.prepared, tau)) for name, tau in torques.items()}
    return Case(recorded, torques, by_model)


def raised(error: Errors) -> Errors:
    """Errors of torques that are counted as the paper counts them."""
    return replace(error, mean=-error.mean, mean_all=-error.mean_all)


def taken_off(simple: Sequence[float] | FloatArray, complete: Any) -> FloatArray:
    """sqrt(std_s^2 - std_f^2): right where the rest of the error does not go with it."""
    square: FloatArray = np.square(simple) - np.square(complete)
    return np.sqrt(np.maximum(square, 0.0))


# Section 5.1: accuracy, tables 3 to 5 and figures 6 to 10


def compare_errors(bench: Bench) -> Section:
    """Tables 3, 4 and 5: standard deviations of both models, and how many times smaller M_f's."""
    out, ratios = Section(), {}
    rows: list[Any] = []
    for number, (name, paper) in enumerate(TABLES.items(), 3):
        case = bench.cases[name]
        std = {model: error.std for model, error in case.errors.items()}
        table_rows: list[Any] = []
        for model, error in case.errors.items():
            theirs = paper[model][1] if model in paper else None
            table_rows += by_joint(model, JOINTS, theirs, error.std, error.std_all)
        t = case.trial.prepared.t
        lively = acceleration_rms(case.trial.run.reference)
        values = {"number": number, "name": name, "seconds": t[-1] - t[0], "lively": lively}
        out.tables.append(PAPER.table("errors", table_rows, **values))
        for model in (M_S, M_F):
            off = np.abs(std[model] / np.asarray(paper[model][1]) - 1)
            shown = {"off": 100 * off.max(), "joint": int(off.argmax()) + 1, "load": bench.load}
            claim = claim_deviations(
                name, paper[model][1], std[model], number=number, model=model, **shown
            )
            out.claims.append(claim)
        theirs = np.divide(paper[M_S][1], paper[M_F][1])
        ours = [std[M_S] / std[model] for model in (M_F, *MORE)]
        ratios[name] = (theirs, ours[0])
        rows += by_joint(name, JOINTS, theirs, *ours)
    out.tables.append(PAPER.table("ratios", rows))
    fast = [np.concatenate([ratios[name][k] for name in ("Y1", "Y2")]) for k in (0, 1)]
    out.claims += [
        PAPER.claim("better", "on all joints", "on all joints", holds=_all_above_one(ratios)),
        PAPER.claim("ratio_fast", fast[0], fast[1], off=100 * np.abs(fast[1] / fast[0] - 1).max()),
        PAPER.claim("ratio_slow", ratios["Y3"][0], ratios["Y3"][1]),
    ]
    peaks = {model: peak_ratio(bench.cases["Y1"], model) for model in (M_S, M_F)}
    text = ", ".join(f"{name} {100 * value:.0f} %" for name, value in peaks.items())
    holds = peaks[M_S] < peaks[M_F] and abs(peaks[M_F] - 1) < NEAR
    out.claims.append(PAPER.claim("peaks", "M_s too small, M_f close", text, holds=holds))
    pairs = [{m: e.std for m, e in bench.cases[name].errors.items()} for name in TABLES]
    explained = [np.abs(x.taken_off / x.between - 1).max() for x in _fast_cases(bench)]
    out.checks += PAPER.checks(
        better={name: min(ratios[name][1]) for name in ("Y1", "Y2")},
        slow_ratio=max(ratios["Y3"][1]),
        peaks=peaks[M_S] / peaks[M_F],
        explained=max(explained),
    )
    out.values = {
        "rotor": bench.machine.drives.output_inertia[0],
        "rotors": [100 * (x[M_S] - x[M_S_ROTOR]) / (x[M_S] - x[M_F]) for x in pairs],
        "friction": [x[M_F] / x[M_F_FRICTION] for x in pairs],
    }
    return out


def claim_deviations(name: str, paper: Any, ours: FloatArray, **values: Any) -> Claim:
    """The claim of a model's standard deviations on Y1, Y2 or Y3."""
    if name == "Y1":
        return PAPER.claim("std_Y1", paper, ours, **values)
    if name == "Y2":
        return PAPER.claim("std_Y2", paper, ours, **values)
    return PAPER.claim("std_Y3", paper, ours, **values)


def peak_ratio(case: Case, model: str) -> float:
    """A model's largest torque over the measured one below the band, the mean of the joints."""
    prepared = case.trial.prepared
    computed, measured = prepared.limited(case.torques[model]), prepared.limited(prepared.tau)
    return float(np.mean(np.abs(computed).max(axis=0) / np.abs(measured).max(axis=0)))


def _all_above_one(ratios: Mapping[str, Any]) -> bool:
    return all(bool(np.all(ours > 1)) for _, ours in ratios.values())


def _fast_cases(bench: Bench) -> list[Case]:
    """Those without payload, where the rotors alone are what M_f takes off."""
    return [bench.cases[name] for name in ("Y1", Y1_LIMITS, Y2_EMPTY)]


def acceleration_rms(motion: Motion) -> float:
    """RMS acceleration of the platform, in m/s^2."""
    return float(np.sqrt(np.mean(np.sum(motion.pdd[:, :3] ** 2, axis=1))))


# Which of Y1 and Y2 has the larger errors


@dataclass(frozen=True, eq=False)
class Layout:
    """Y1, Y2 and Y3 with places, belts and times drawn from what the paper's text allows.

    `slower` is how many times as long as at the limits Y1 lasts where it goes slower.
    """

    y1: Motion
    slow_y1: Motion
    y2: Motion
    y3: Motion | None
    slower: float


def random_layouts(robot: Robot, count: int, seed: int, dwell: float) -> list[Layout]:
    """Layouts in the paper's words: belts, strokes, directions, places within 5 to 10 cm, times."""
    out = []
    for k in range(count):
        rng = np.random.default_rng([seed, k])
        first = y1(
            robot,
            picks=1,
            seed=k,
            belt=rng.uniform(0.3, 0.6),
            stroke=rng.uniform(0.15, 0.4),
            azimuth=rng.uniform(0, 2 * np.pi),
            dwell=rng.uniform(0.0, 0.2),
            rate=LAYOUT_RATE,
        )
        slower = rng.uniform(1.0, SLOWEST)
        slow = Motion.from_platform(
            robot, slower * first.t, first.p, first.pd / slower, first.pdd / slower**2
        )
        second = y2(robot, seed=k, ease=rng.uniform(2.0, 5.0), rate=LAYOUT_RATE)
        third = None
        if k < MEAN_MOTIONS:
            third = y3(robot, seed=k, dwell=dwell, share=Y3_SHARE, rate=LAYOUT_RATE / 2)
        out.append(Layout(first, slow, second, third, slower))
    return out


def mean_per_kg(robot: Robot, motion: Motion) -> FloatArray:
    """Mean torque (3,) of 1 kg on the platform, counted as in the paper (N m)."""
    loaded = inverse_dynamics(robot.with_payload(1.0), motion, friction=False)
    empty = inverse_dynamics(robot, motion, friction=False)
    return -np.asarray((loaded - empty).mean(axis=0))


def load_from_means(robot: Robot, layouts: Sequence[Layout]) -> float:
    """The payload (kg) on Y2 by which the mean error of M_f grows from Y1 to Y2 in the paper.

    M_f has the weights right, so what changes its mean between two trajectories is a load.
    """
    change = np.subtract(TABLES["Y2"][M_F][0], TABLES["Y1"][M_F][0])
    per_kg = np.mean([mean_per_kg(robot, item.y2) for item in layouts[:MEAN_MOTIONS]], axis=0)
    return float(np.mean(change / per_kg))


@dataclass(frozen=True, eq=False)
class ErrorParts:
    """Parts of the torque (N, 3) of a rigid machine on a motion: what a model may lack."""

    rods: FloatArray  # exact less half-half
    rotor: FloatArray
    friction: FloatArray
    per_kg: FloatArray

    @classmethod
    def of(cls, bench: Bench, motion: Motion) -> ErrorParts:
        """Of the bench's rotors and friction, without its elastic gears and sensors."""
        robot, machine = bench.robot, bench.machine
        exact = inverse_dynamics(robot, motion, friction=False)
        half = inverse_dynamics(robot, motion, "half-half", friction=False)
        friction = inverse_dynamics(robot.replace(friction=machine.friction), motion) - exact
        loaded = inverse_dynamics(robot.with_payload(1.0), motion, friction=False)
        rotor = np.asarray(machine.drives.output_inertia) * motion.qdd
        return cls(exact - half, rotor, friction, loaded - exact)

    def deviations(self, load: float) -> tuple[FloatArray, FloatArray]:
        """Standard deviations (3,) of the errors of M_s and M_f with a payload of `load` kg."""
        complete = self.friction + load * self.per_kg
        return (self.rods + self.rotor + complete).std(axis=0), complete.std(axis=0)


@dataclass(frozen=True)
class OrderCount:
    """How many layouts (shares) have an order of Y1 and Y2 on all three joints.

    Pairs are of M_s and M_f. `both` is the share in which both err more on Y2, `near` that in which
    all twelve deviations are near tables 3 and 4.
    """

    slow: bool  # Y1
    load: float  # kg, on Y2
    more: tuple[float, float]
    less: tuple[float, float]
    both: float
    near: float
    median: tuple[float, float]  # of Y2 over Y1

    def row(self) -> tuple[Any, ...]:
        """The row of the table, in per cent."""
        speed = f"1 to {SLOWEST:g} times slower" if self.slow else "at the limits"
        shares = (*self.more, *self.less, self.both)
        return (speed, self.load, *(100 * share for share in shares), *self.median)


def count_orders(parts: Sequence[Sequence[ErrorParts]], slow: bool, load: float) -> OrderCount:
    """Count the layouts, each with its Y1 at the limits, its slower Y1 and its Y2."""
    std = np.array(
        [
            [(slower if slow else first).deviations(0.0), second.deviations(load)]
            for first, slower, second in parts
        ]
    )  # (layouts, trajectory, model, joint)
    paper = np.array([[TABLES[name][m][1] for m in (M_S, M_F)] for name in ("Y1", "Y2")])
    ratio = std[:, 1] / std[:, 0]
    more, less = (ratio > 1).all(axis=2), (ratio < 1).all(axis=2)
    near = (np.abs(std / paper - 1) <= NEAR).all(axis=(1, 2, 3))
    shares = [tuple(x.mean(axis=0).tolist()) for x in (more, less)]
    median = tuple(np.median(ratio, axis=(0, 2)).tolist())
    both = float(more.all(axis=1).mean())
    return OrderCount(slow, load, shares[0], shares[1], both, float(near.mean()), median)


def compare_order(bench: Bench, layouts: Sequence[Layout], load: float) -> Section:
    """How often M_s and M_f err more on Y2 than on Y1, on the bench and over random layouts."""
    cases = bench.cases
    rows: list[Any] = []
    for name in (Y1_LIMITS, "Y1", Y2_EMPTY, "Y2"):
        case, paper = cases[name], TABLES.get(name)
        theirs = (None, None) if paper is None else (paper[M_S][1], paper[M_F][1])
        ours = (case.errors[M_S].std, case.errors[M_F].std, case.taken_off, case.between)
        rows += by_joint(name, JOINTS, *theirs, *ours, case.rotor, case.acceleration)

    parts = [[ErrorParts.of(bench, m) for m in (i.y1, i.slow_y1, i.y2)] for i in layouts]
    orders = [
        count_orders(parts, slow, kilograms)
        for slow in (False, True)
        for kilograms in (0.0, load, 2 * load)
    ]
    at_limits, loaded, twice = orders[0], orders[4], orders[5]

    def ratio(model: str, first: str, second: str) -> FloatArray:
        return np.asarray(cases[second].errors[model].std / cases[first].errors[model].std)

    grows = {m: np.divide(TABLES["Y2"][m][1], TABLES["Y1"][m][1]) for m in (M_S, M_F)}
    grown = {m: ratio(m, "Y1", "Y2") for m in (M_S, M_F)}
    alike = {m: ratio(m, Y1_LIMITS, Y2_EMPTY) for m in (M_S, M_F)}
    rigid = _rigid_against_bench(bench)
    values = {
        "theirs": grows[M_S],
        "alike": alike[M_S],
        "load": load,
        "change": np.subtract(TABLES["Y2"][M_F][0], TABLES["Y1"][M_F][0]),
        "count": len(layouts),
        "never": 100 * at_limits.both,
        "often": 100 * loaded.both,
        "rigid": 100 * rigid,
        "near": [100 * loaded.near, 100 * twice.near],
    }
    claims = [
        PAPER.claim(
            "order",
            grows[model],
            grown[model],
            holds=bool(np.all(grown[model] > 1)),
            model=model,
            load=load,
            never=values["never"],
            count=len(layouts),
        )
        for model in (M_S, M_F)
    ]
    claims += [
        PAPER.claim(
            "order_size", grows[M_S], grown[M_S], load=load, twice=2 * load, median=twice.median[0]
        ),
        PAPER.claim(
            "order_text",
            "better on Y2",
            alike[M_S],
            holds=bool(np.all(alike[M_S] < 1)),
            theirs=grows[M_S],
        ),
    ]
    checks = PAPER.checks(
        order={model: float(grown[model].min()) for model in (M_S, M_F)},
        order_limits=at_limits.both,
        order_loaded=loaded.both,
        rigid=rigid,
    )
    tables = [
        PAPER.table("places", rows, load=load),
        PAPER.table("layouts", [item.row() for item in orders], count=len(layouts)),
    ]
    return Section(tables, claims, list(checks), values)


def _rigid_against_bench(bench: Bench) -> float:
    """How far the deviations of the rigid computation are from the bench's, the largest."""
    off = []
    for name, load in (("Y1", 0.0), (Y1_LIMITS, 0.0), ("Y2", bench.load), (Y2_EMPTY, 0.0)):
        case = bench.cases[name]
        rigid = ErrorParts.of(bench, case.trial.run.reference).deviations(load)
        off += [
            np.abs(a / case.errors[m].std - 1).max() for a, m in zip(rigid, (M_S, M_F), strict=True)
        ]
    return float(max(off))


# Table 5


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
    moved: float  # share of the time that our Y3 moves
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
        times, moved = case.trial.prepared.times, float(rows.mean())
        return cls(moving, standing, share, complete, moved, moved * (times[-1] - times[0]))

    @property
    def dwell(self) -> FloatArray:
        """How long (3,) each of three stops would have to last, in s."""
        stops: FloatArray = self.seconds * (1 / self.share - 1) / 3
        return stops


def split_table_5(bench: Bench) -> Section:
    """Where Y3 stands both models err alike; at one share of moving both are the paper's."""
    stops, paper = Stops.of(bench.cases["Y3"]), np.asarray(TABLES["Y3"][M_F][1])
    parts = [part[model] for model in (M_S, M_F) for part in (stops.moving, stops.standing)]
    rows = by_joint("Y3", JOINTS, *parts, 100 * stops.share, stops.complete, paper)
    off = float(np.abs(stops.complete / paper - 1).max())
    still = [stops.standing[m] / stops.moving[m] for m in (M_S, M_F)]
    values = {
        "moved": 100 * stops.moved,
        "share": 100 * stops.share,
        "stops": stops.dwell,
        "off": 100 * off,
        "standing": [stops.standing[M_S], stops.standing[M_F]],
    }
    claim = PAPER.claim("stops", paper, stops.complete, stops=stops.dwell)
    checks = PAPER.checks(split=off, standing=float(np.max(still)))
    return Section([PAPER.table("stops", rows)], [claim], list(checks), values)


# The means of tables 3 to 5

#: Slips that change a mean torque, as causes.
UPWARD = "torques counted upward"
SLIPS: dict[str, Slip] = {
    "M_s: sign of the arm's weight, eq. 5": SimpleSlip.ARM_GRAVITY,
    "M_s: sign of g, eq. 4": SimpleSlip.PLATFORM_GRAVITY,
    "M_f: z grows with sin(theta), eqs. 6-16": CompleteSlip.HEIGHT,
    "M_f: dV/dz": CompleteSlip.PLATFORM_WEIGHT,
    "M_f: arm's COM in dV/dtheta": CompleteSlip.ARM_MOMENT,
}
PLATFORM_MASS, PAYLOAD_Y2 = "a mass on the platform", "a payload on Y2"
OFFSET, OFFSETS = "an offset of all joints", "an offset of each joint"
CAUSES = (
    Cause(UPWARD),
    *map(Cause, SLIPS),
    Cause(PLATFORM_MASS, (2.0,), "kg"),
    Cause(PAYLOAD_Y2, (2.0,), "kg"),
    Cause(OFFSET, (5.0,), "N m", family="offset"),
    Cause(OFFSETS, (5.0,), "N m", family="offset"),
)
MOST_CAUSES = 5


def paper_means() -> FloatArray:
    """The means of tables 3 to 5 (18,): Y1, Y2, Y3; in each M_s, then M_f."""
    return np.array([TABLES[name][model][0] for name in TABLES for model in (M_S, M_F)]).ravel()


class MeanModel:
    """What causes predict for the means, on every layout that has a Y3."""

    def __init__(self, robot: Robot, layouts: Sequence[Layout]) -> None:
        self.robot = robot
        self.motions = [(x.slow_y1, x.y2, x.y3) for x in layouts if x.y3 is not None]
        self.exact = self._means(lambda m: inverse_dynamics(robot, m, friction=False))
        self.simple = cache(lambda slips: self._means(lambda m: simplified_torque(robot, m, slips)))
        self.complete = cache(
            lambda slips: self._means(lambda m: transcribed_torque(robot, m, slips))
        )
        self.per_kg = np.array([[mean_per_kg(robot, m) for m in row] for row in self.motions])

    def _means(self, torque: Callable[[Any], FloatArray]) -> FloatArray:
        """Mean torque (layouts, trajectories, 3), counted as here."""
        return np.array([[torque(m).mean(axis=0) for m in row] for row in self.motions])

    def predict(self, fixed: frozenset[str]) -> Prediction:
        """Mean errors with these slips; a mass is known to add to the torque that lifts it."""
        slips = {SLIPS[name] for name in fixed if name in SLIPS}
        simple = frozenset(slip for slip in slips if isinstance(slip, SimpleSlip))
        complete = frozenset(slips) - simple
        sign = -1.0 if UPWARD in fixed else 1.0
        pair = (self.exact - self.simple(simple), self.exact - self.complete(complete))
        n = len(self.motions)
        base = sign * np.stack(pair, axis=2).reshape(n, -1)
        mass = -sign * np.repeat(self.per_kg[:, :, None], 2, axis=2)
        on_y2 = mass * np.array([0.0, 1.0, 0.0])[:, None, None]
        columns = {
            PLATFORM_MASS: mass.reshape(n, -1, 1),
            PAYLOAD_Y2: on_y2.reshape(n, -1, 1),
            OFFSET: np.ones((n, base.shape[1], 1)),
            OFFSETS: np.tile(np.eye(3), (n, base.shape[1] // 3, 1)),
        }
        return Prediction(base, columns)


def explain_means(robot: Robot, layouts: Sequence[Layout]) -> Section:
    """Which few causes give the means: the sign of torque, printed slips, masses, offsets."""
    model, paper = MeanModel(robot, layouts), paper_means()
    ranked = compare_causes(paper, CAUSES, model.predict, most=MOST_CAUSES)
    best, chances = smallest_explanation(ranked), cause_probabilities(ranked)
    nothing = next(item for item in ranked if not item.causes)
    rival = next(item for item in ranked if UPWARD not in item.causes)
    # The shift from M_s to M_f, in which an offset and a mass cancel.
    printed = frozenset({UPWARD, *list(SLIPS)[:2]})
    base = model.predict(printed).base.reshape(-1, 3, 2, 3)
    spread = base[:, :, 0] - base[:, :, 1]  # (layouts, trajectories, joints)
    theirs = np.array([np.subtract(t[M_S][0], t[M_F][0]) for t in TABLES.values()])
    right = model.predict(frozenset({UPWARD})).base.reshape(-1, 3, 2, 3).mean(axis=0)
    ours = spread.mean(axis=0)

    rows = []
    names = [(name, m) for name in TABLES for m in (M_S, M_F)]
    for (name, m), mean, unslipped, explained in zip(
        names, paper.reshape(-1, 3), right.reshape(-1, 3), best.means.reshape(-1, 3), strict=True
    ):
        rows += by_joint(name, m, JOINTS, mean, unslipped, explained, mean - explained)
    causes = [
        (
            name,
            "yes" if name in best.causes else "no",
            100 * chances[name],
            ", ".join(f"{x:.1f}" for x in best.values.get(name, ())),
            cause.unit if name in best.values else "",
        )
        for cause in CAUSES
        for name in (cause.name,)
    ]
    first = list(TABLES.values())[:2]
    grown = [np.subtract(first[1][m][0], first[0][m][0]) for m in (M_S, M_F)]
    values = {
        "explanation": best,
        "shift": theirs,
        "printed_shift": ours,
        "right_shift": right[:, 0] - right[:, 1],
        "given_sign": 100 * best.probability / chances[UPWARD],
        "rival": ", ".join(rival.causes),
        "rival_rms": rival.rms,
        "rival_probability": 100 * rival.probability,
        "probability": 100 * best.probability,
        "payload_probability": 100 * chances[PAYLOAD_Y2],
        "rms": best.rms,
        "rms_before": nothing.rms,
        "offsets": best.values.get(OFFSETS, best.values.get(OFFSET, np.zeros(1))),
        "upward": 100 * chances[UPWARD],
        "grown": grown,
    }
    spans = (spread[:, 2].min(), spread[:, 2].max())
    claims = [
        PAPER.claim("shift_fast", theirs[:2].ravel(), ours[:2].ravel()),
        PAPER.claim("shift_y3", theirs[2], ours[2], spans=spans),
        PAPER.claim("means", paper, best.means, digits=1, **values),
    ]
    shift_off = float(np.abs(ours[:2] / theirs[:2] - 1).max())
    checks = PAPER.checks(shift=shift_off, means=best.rms / nothing.rms, sign=chances[UPWARD])
    tables = [
        PAPER.table("means", rows),
        PAPER.table("causes", causes, rms=best.rms, count=len(ranked)),
    ]
    return Section(tables, claims, list(checks), values)


# Eq. 4: an external force


def push_platform(robot: Robot, seed: int) -> Section:
    """The errors of M_f where a constant force pushes the platform along Y2."""
    pushed = trial(robot, "Y2, pushed", y2(robot), 10 * seed + 9, external_force=FORCE)
    turned = robot.with_rotor_inertia(pushed.run.truth.robot.drives.output_inertia)
    state = pushed.prepared.state
    rows, means = [], {}
    for how, push in (("without", None), ("with", FORCE)):
        tau = inverse_dynamics(turned, state, friction=False, external_force=push)
        error = raised(errors(pushed.prepared, tau))
        rows += by_joint(f"M_f {how} the force", JOINTS, error.mean, error.std)
        means[how] = float(np.abs(error.mean).max())
    holds = means["with"] < 0.2 * means["without"]
    text = f"{means['without']:.1f} N m becomes {means['with']:.1f}"
    claim = PAPER.claim("force", "enters eq. 4", text, holds=holds, **means)
    checks = PAPER.checks(force=means["with"] / means["without"])
    return Section([PAPER.table("force", rows)], [claim], list(checks))


# Section 5.2: complexity, tables 6 and 7


def compare_complexity(robot: Robot, bench: Bench) -> Section:
    """Operations and rates of the paper's M_s and M_f, by its own equations."""
    turned = robot.with_rotor_inertia(bench.machine.drives.output_inertia)
    motion = y2(robot, rate=200.0)
    state = evaluation_state(motion, len(motion.t) // 3)
    rows: list[Any] = []
    counts: dict[str, Operations] = {}
    for model in (M_S, M_F):
        rows.append((f"{model}, paper", "table 6", *_cells(TABLE_6[model])))
        for name, how, run, shared in COUNTED[model]:
            tape = Tape(shared=shared)
            run(tape, turned, state)
            counts[name] = tape.operations()
            rows.append((name, how, *_cells(counts[name])))
    inverse = Tape(shared=False)
    simplified_as_written(inverse, robot, state, folded=True)
    simple, complete, exact = counts[S_WRITTEN], counts[F_WRITTEN], counts[EXACT]
    paper = TABLE_6[M_F]
    rest = [count.total - count.div for count in (paper, complete)]

    built = build_models(robot, turned, motion)
    motions = [bench.cases[name].trial.run.reference for name in TABLES]
    rates, compiled = compare_rates(robot, turned, motions, built)
    speed = TABLE_7[M_F][0] / TABLE_7[M_S][0]
    by_count = TABLE_6[M_S].total / paper.total
    values: dict[str, Any] = {
        "folded": counts[S_FOLDED].total,
        "written": simple.total,
        "more": simple.total - counts[S_FOLDED].total,
        "between": simple.total - inverse.operations().total,
        "inverse": inverse.operations().total - counts[S_FOLDED].total,
        "divisions": complete.div,
        "factor": paper.total / exact.total,
        "by_count": by_count,
        "our_count": simple.total / complete.total,
        "by_digits": [_digit_time(TABLE_6[M_S], n) / _digit_time(paper, n) for n in (8, 16)],
        "coefficient": paper.complexity[0],
        **time_per_operation(),
    }
    claims = [
        PAPER.claim("operations_s", TABLE_6[M_S].total, simple.total, **values),
        PAPER.claim("operations_f", paper.total, complete.total, **values),
        PAPER.claim("operations_rest", rest[0], rest[1]),
        PAPER.claim("operations_exact", paper.total, exact.total, **values),
        PAPER.claim("complexity_s", PAPER.numbers["complexity"][M_S], simple.complexity, **values),
        PAPER.claim(
            "complexity_f", PAPER.numbers["complexity"][M_F], complete.complexity, **values
        ),
        PAPER.claim(
            "complexity_table",
            PAPER.numbers["complexity"][M_F][0],
            paper.complexity[0],
            holds=False,
            **values,
        ),
    ]
    if compiled:
        # the fastest runs: averages hold what else the computer did
        ours, rate = compiled[M_F][1] / compiled[M_S][1], compiled[M_F][0]
        claims += [
            PAPER.claim("speed_up", speed, ours, **values),
            PAPER.claim("rates", (TABLE_7[M_S][0], TABLE_7[M_F][0]), compiled=rate / 1e3),
            PAPER.claim("real_time", "above 4 kHz", f"{rate:.0f} kHz in C", holds=rate > 4),
        ]
    code = {} if built.difference is None else {"compiled": built.difference}
    checks = PAPER.checks(
        count_s=abs(simple.total / TABLE_6[M_S].total - 1),
        count_f=abs(rest[1] / rest[0] - 1),
        exact=exact.total / complete.total,
        **code,
    )
    return Section([PAPER.table("operations", rows), rates], claims, list(checks), values)


def _digit_time(count: Operations, n: int) -> float:
    """Steps for numbers of n digits by the formula of section 5.2."""
    a, b, c = count.complexity
    return float(a * n + b * n**2 + c * n**2.5)


S_WRITTEN, S_FOLDED = "M_s, eqs. 4-5", "M_s, parameters known"
F_WRITTEN, F_CORRECTED = "M_f, eqs. 12, 19-30", "M_f, corrected"
F_FOLDED, EXACT = "M_f, parameters known", "exact"
C_NAMES = {M_S: "simplified", M_F: "complete", EXACT: "exact"}
Run = Callable[[Tape, Robot, Any], list[Any]]


def _printed(tape: Tape, robot: Robot, state: Any) -> list[Any]:
    return complete_as_written(tape, robot, state, AS_PRINTED - SINGULAR)


#: What is counted for table 6: name, how, the code, and whether equal operations are shared.
COUNTED: dict[str, tuple[tuple[str, str, Run, bool], ...]] = {
    M_S: (
        (S_WRITTEN, "line by line", simplified_as_written, False),
        (S_FOLDED, "by Cramer's rule", simplified_folded, False),
    ),
    M_F: (
        (F_WRITTEN, "line by line, as printed", _printed, False),
        (F_CORRECTED, "line by line", complete_as_written, False),
        (F_FOLDED, "corrected, equal ones shared", complete_folded, True),
        (EXACT, "without passive angles", exact_from_platform, False),
    ),
}


def _cells(count: Operations) -> tuple[int, ...]:
    root = count.sqrt + count.arc
    return (count.add, count.sub, count.mul, count.div, count.sin, count.cos, root, count.total)


def time_per_operation() -> dict[str, float]:
    """What table 7 says of table 6: time (ns) per operation and besides (us), from both models."""
    times = [1e6 / TABLE_7[model][0] for model in (M_S, M_F)]  # ns
    totals = [TABLE_6[model].total for model in (M_S, M_F)]
    each = (times[1] - times[0]) / (totals[1] - totals[0])
    return {"each_ns": each, "besides_us": (times[0] - each * totals[0]) / 1e3}


@dataclass(frozen=True, eq=False)
class Built:
    """The models as compiled C, or why there are none, and how far they are from the library's."""

    library: ctypes.CDLL | None
    status: str
    difference: float | None  # N m, the largest against inverse_dynamics

    def torque(self, model: str, x: FloatArray) -> FloatArray:
        """Torques (N, 3) of rows x (N, 18): p, pd, pdd, q, qd, qdd."""
        if self.library is None:
            raise InputError("compiled model", self.status, "a C compiler for this machine")
        y = np.empty((len(x), 3))
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (x, y)]
        getattr(self.library, C_NAMES[model])(ctypes.c_long(len(x)), *pointers)
        return y


def build_models(robot: Robot, turned: Robot, motion: Motion) -> Built:
    """Write the paper's models and the exact one in C, compile and compare them.

    M_s stands for eqs. 4-5, M_f for eqs. 12 and 19-30, corrected; `turned` has rotors.
    """
    command = c_compiler()
    if command is None:
        return Built(None, "no C compiler was found", None)
    models = (
        (M_S, simplified_folded, robot),
        (M_F, complete_folded, turned),
        (EXACT, exact_from_platform, turned),
    )
    rows = evaluation_rows(motion)
    first = evaluation_state(motion, 0)
    parts = [c_function(C_NAMES[name], run, user, first) for name, run, user in models]
    source = "\n".join(["#include <math.h>", *parts])
    with TemporaryDirectory() as folder:
        file = Path(folder) / "models.so"
        file.write_bytes(compile_c(command, {"models.c": source}, "models.c"))
        built = Built(ctypes.CDLL(str(file)), f"{Path(command[0]).name} -O2", None)
    half = inverse_dynamics(robot, motion, "half-half", friction=False)
    exact = inverse_dynamics(turned, motion, "exact", friction=False)
    off = [
        np.abs(built.torque(name, rows) - right).max()
        for name, right in ((M_S, half), (M_F, exact), (EXACT, exact))
    ]
    return replace(built, difference=float(max(off)))


def evaluation_rows(motion: Motion) -> FloatArray:
    """Rows (N, 18) of a motion: p, pd, pdd, q, qd, qdd."""
    parts = (motion.p, motion.pd, motion.pdd, motion.q, motion.qd, motion.qdd)
    return np.ascontiguousarray(np.hstack(parts))


def evaluation_state(motion: Motion, index: int) -> tuple[tuple[float, ...], ...]:
    """The same at one sample, each a tuple."""
    row = evaluation_rows(motion)[index].tolist()
    return tuple(tuple(row[3 * k : 3 * k + 3]) for k in range(6))


def compare_rates(
    robot: Robot, turned: Robot, motions: Sequence[Motion], built: Built
) -> tuple[Table, dict[str, tuple[float, float]]]:
    """How often a second M_s and M_f are computed on one core: a table, and the rates in C."""
    samples = [evaluation_rows(motion)[np.arange(SAMPLES) % len(motion.t)] for motion in motions]
    rows: list[Any] = [("paper, C++ at 2.5 GHz", *TABLE_7[M_S], *TABLE_7[M_F])]
    compiled: dict[str, tuple[float, float]] = {}
    if built.library is not None:
        for name in (M_S, M_F, EXACT):
            compiled[name] = measure_rates(
                [partial(built.torque, name, x) for x in samples], SAMPLES, C_RUNS
            )
        rows.append((f"C, {built.status}", *compiled[M_S], *compiled[M_F]))
        rows.append((f"C, {built.status}, exact for M_f", *compiled[M_S], *compiled[EXACT]))
    for name, count in (("NumPy, arrays", SAMPLES), ("NumPy, one by one", 1)):
        works: dict[str, list[Callable[[], Any]]] = {M_S: [], M_F: []}
        for x in samples:
            starts = range(SINGLES) if count == 1 else (0,)
            for start in starts:
                state = State.from_platform(
                    robot, *np.split(x[start : start + count, :9], 3, axis=1)
                )
                works[M_S].append(partial(simplified_torque, robot, state))
                works[M_F].append(partial(transcribed_torque, turned, state))
        rates = [measure_rates(works[model], count, RUNS) for model in (M_S, M_F)]
        rows.append((name, *rates[0], *rates[1]))
    missing = "" if built.library else f"No row in C: {built.status}. "
    table = PAPER.table("rates", [(*row, row[3] / row[1]) for row in rows], missing=missing)
    return table, compiled


def measure_rates(works: Sequence[Callable[[], Any]], count: int, runs: int) -> tuple[float, float]:
    """Average and maximum (kHz) over runs of all works of `count` evaluations each."""
    seconds = []
    for work in works:
        for _ in range(runs):
            start = perf_counter()
            work()
            seconds.append(perf_counter() - start)
    return count / float(np.mean(seconds)) / 1e3, count / min(seconds) / 1e3
