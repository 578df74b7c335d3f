"""[falezza2020] on the virtual bench, in the paper's order: models, table 1, payload, feedforward.

The paper counts torques the other way: a weight on the platform makes its mean errors positive and
those of the bench negative. Mean errors in the tables are turned to the paper's sign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.dynamics import exact_parameters, half_half_parameters, inverse_dynamics
from deltadyn.identification import Fit, GrayBoxResult, gray_box, identify
from deltadyn.kinematics import State, jacobian
from deltadyn.motion import Motion, y1, y2, y3
from deltadyn.payload import (
    NoiseModel,
    PayloadEstimator,
    Pick,
    forgetting_masses,
    forgetting_matrices,
    payload_column,
)
from deltadyn.reproduce.audit.falezza import SimpleSlip, simplified_parts
from deltadyn.reproduce.claims import Claim
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
    PRESET,
    RATE,
    ROBOT,
    WORDS,
    Errors,
    Trial,
    errors,
    random_spline,
    trial,
    trials,
    whole_number,
)
from deltadyn.robot import Robot, load_robot
from deltadyn.simulation import PD, PDFeedforward, Run, simulate

M_KH, M_ID, M_ID_F, EXACT = "M_KH", "M_Id", "M_Id+F", "exact, identified"
TRAJECTORIES = 12  # as in the paper
LIMIT_SHARES = (1.0, 0.7, 0.45)  # of the robot's limits
SPLINE_POINTS = 12
FREE_MOTIONS = 5  # per trajectory, that could have been v_F
FREE_MOTION_RATE_HZ = 200.0

PAYLOAD_KG = 3.8  # as in the paper
PAYLOAD_LIMIT_SHARE = 0.7  # of the robot's limits: with 3.8 kg the drives stay below their peak
PICKS = 3
MEMORY_S = 0.25  # of eq. 11; the paper gives no forgetting factor
MEMORIES_S = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
MATRIX_MEMORY_S = 0.02  # with which the matrix follows an offset
FIRST_P_KG2 = 1000.0  # of eq. 11: nothing is known at the start
PLACEMENTS = 12  # of the belts, turned by 30 degrees each
PRINTED_SAMPLES = 200  # over which eq. 11 is run as printed
TOLERANCE = 0.05  # of the payload

PAPER = Paper(
    "falezza2020",
    BAND=BAND,
    MEMORY=MEMORY_S,
    PAYLOAD=PAYLOAD_KG,
    PAYLOAD_SHARE=PAYLOAD_LIMIT_SHARE,
    PICKS=PICKS,
    PRINTED=PRINTED_SAMPLES,
    TOLERANCE=100 * TOLERANCE,
    **WORDS,
)
TABLE_1, TABLE_2 = PAPER.numbers["table_1"], PAPER.numbers["table_2"]
MEANS = np.array([TABLE_1[name][0] for name in (M_KH, M_ID, M_ID_F)])  # (models, joints)
WITHOUT, WITH = "M_Id+F, m_P = 0", "M_Id+F, eq. 11"
WITH_MATRIX = "M_Id+F, eq. 11 with its matrix"
EXACT_WITHOUT, WITH_BANK = "exact, m_P = 0", "exact, PayloadEstimator"


@dataclass(frozen=True, eq=False)
class Section:
    """What a section of the experiment shows; `values` enter the statements, `data` the figures."""

    tables: tuple[Table, ...] = ()
    claims: tuple[Claim, ...] = ()
    checks: tuple[Check, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    data: Any = None


@dataclass(frozen=True, eq=False)
class Experiment:
    """What the figures of the page are drawn from."""

    free_motion: FreeMotion
    factors: GrayBoxResult
    means: MeanErrors
    payload: PayloadRuns
    tracking: dict[str, Run]


def falezza2020(
    *, seed: int = 0, trajectories: int = TRAJECTORIES, progress: bool = False
) -> Reproduction:
    """Run the experiments of the paper on the virtual bench, section by section.

    Another `seed` gives other places and another noise. Fewer `trajectories` than 12 save time:
    the fast ones come first.
    """
    bench = record_trajectories(seed, trajectories, progress)  # section 6
    models = identify_models(bench)  # sections 3 and 4
    loads = run_payload(bench, models, seed)  # section 5
    sections = (
        torque_errors(bench, models),  # figures 3 to 6a, table 1
        identified_factors(bench, models),  # section 4
        mean_errors(bench, models, seed),  # the means of table 1
        table_2(loads),  # figures 6b and 7, table 2
        figure_8(loads),  # section 5, figure 8
        forgetting_costs(loads),  # section 5
        feedforward(bench, models, seed),  # figure 9
    )
    free_motion, factors, means, tracking = (
        section.data for section in sections if section.data is not None
    )
    values = {name: value for section in sections for name, value in section.values.items()}
    return PAPER.reproduction(
        [table for section in sections for table in section.tables],
        PAPER.statements(**values),
        tuple(check for section in sections for check in section.checks),
        Experiment(free_motion, factors, means, loads, tracking),
        claims=[claim for section in sections for claim in section.claims],
        seed=seed,
    )


def payload_only(*, seed: int = 0, trajectories: int = 4) -> Reproduction:
    """Section 5 alone, with models of the four fast trajectories, in some 4 s.

    Tables, claims, checks and figures are those of `falezza2020`; it has no statements.
    """
    bench = record_trajectories(seed, trajectories, False)
    loads = run_payload(bench, identify_models(bench), seed)
    sections = (table_2(loads), figure_8(loads), forgetting_costs(loads))
    return PAPER.reproduction(
        [table for section in sections for table in section.tables],
        (),
        tuple(check for section in sections for check in section.checks),
        loads,
        claims=[claim for section in sections for claim in section.claims],
        seed=seed,
    )


# Section 6: the trajectories


@dataclass(frozen=True, eq=False)
class Bench:
    """The nominal robot, the trajectories for the identification, and v_F."""

    robot: Robot
    training: list[Trial]
    v_F: Trial

    @property
    def machine(self) -> Robot:
        """What the bench was built with."""
        return self.v_F.run.truth.robot


def record_trajectories(seed: int, trajectories: int, progress: bool) -> Bench:
    """Record the trajectories of the identification and v_F, which is not used for it."""
    whole_number("seed", seed, 0)
    whole_number("trajectories", trajectories, 1)
    robot = load_robot(ROBOT)
    plans = [identification_motion(robot, k, seed) for k in range(trajectories)]
    plans.append(("v_F", free_motion(robot, 0.7, 0.9, 1.0, 1000 * seed + 999)))
    numbered = [(name, motion, 1000 * seed + k) for k, (name, motion) in enumerate(plans)]
    *training, v_F = trials(robot, numbered, progress)
    return Bench(robot, training, v_F)


def identification_motion(robot: Robot, index: int, seed: int) -> tuple[str, Motion]:
    """Trajectory `index`: four kinds in turn, each round slower than the last; then from anew."""
    share = LIMIT_SHARES[index // 4 % len(LIMIT_SHARES)]
    number = 1000 * seed + index
    kinds: tuple[tuple[str, Callable[[], Motion]], ...] = (
        ("two belts", lambda: y1(robot, picks=1, seed=number, share=share)),
        ("middle", lambda: y2(robot, share=share)),
        ("border", lambda: y3(robot, dwell=0.1, share=share)),
        ("random places", lambda: free_motion(robot, 0.2, 0.7, share, number)),
    )
    name, make = kinds[index % 4]
    return f"{name}, {share:g}", make()


def free_motion(robot: Robot, low: float, high: float, share: float, seed: int) -> Motion:
    """A spline through random places at `low` to `high` of the workspace's radius."""
    rng, height = np.random.default_rng(seed), 0.35
    return random_spline(
        robot, rng, SPLINE_POINTS, (low, high), height, shrink=0.95, anywhere=True, share=share
    )


# Sections 3 and 4: the models


@dataclass(frozen=True, eq=False)
class Models:
    """The gray box with its three models, and the exact model, identified on the same data."""

    gray: GrayBoxResult
    fit: Fit

    def torques(self, state: State) -> dict[str, FloatArray]:
        """The torque (N, dof) of every model in N m."""
        torques = {
            name: inverse_dynamics(robot, state, "gray-box")
            for name, robot in self.gray.robots.items()
        }
        return {**torques, EXACT: inverse_dynamics(self.fit.robot, state)}


def identify_models(bench: Bench) -> Models:
    """M_KH, M_Id and M_Id+F by eqs. 6 to 8, and the exact model by least squares."""
    prepared = [item.prepared for item in bench.training]
    gray = gray_box(
        bench.robot,
        [(item.state, item.tau) for item in prepared],
        limit=[item.limited for item in prepared],
    )
    recordings = [item.run.recording for item in bench.training]
    return Models(gray, identify(bench.robot, recordings, "base", band=BAND, terms="file"))


# Section 6, figures 3 to 6a and table 1


@dataclass(frozen=True, eq=False)
class FreeMotion:
    """v_F with the torque of every model (N, dof), and its errors in the paper's sign."""

    trial: Trial
    torques: dict[str, FloatArray]
    errors: dict[str, Errors]


def torque_errors(bench: Bench, models: Models) -> Section:
    """Figures 3, 4, 5 and 6a, and table 1."""
    prepared = bench.v_F.prepared
    torques = models.torques(prepared.state)
    found = {name: turned(errors(prepared, tau)) for name, tau in torques.items()}
    std = {name: item.std_all for name, item in found.items()}
    paper = {name: np.array(TABLE_1[name][1]) for name in (M_KH, M_ID, M_ID_F)}
    ratios = {name: (paper[M_KH] / paper[name], std[M_KH] / std[name]) for name in (M_ID, M_ID_F)}
    below = found[M_KH].std / found[M_ID_F].std
    underestimated = rms(torques[M_KH]) / rms(prepared.tau)
    state, reference = prepared.state, bench.v_F.run.reference
    return Section(
        tables=(
            PAPER.table("table_1", error_rows(found, TABLE_1)),
            PAPER.table(
                "reductions",
                by_joint(
                    JOINTS,
                    *ratios[M_ID],
                    *ratios[M_ID_F],
                    below,
                    std[M_KH] / std[EXACT],
                    found[M_KH].std / found[EXACT].std,
                ),
            ),
        ),
        claims=(
            PAPER.claim(
                "underestimates",
                "yes",
                PAPER.text("{x:.0f} % of it", x=100 * underestimated),
                bool(max(underestimated) < 1),
                share=100 * underestimated,
            ),
            PAPER.claim("std_kh", paper[M_KH], std[M_KH], band=found[M_KH].std),
            PAPER.claim("std_id", paper[M_ID], std[M_ID], band=found[M_ID].std),
            PAPER.claim("std_id_f", paper[M_ID_F], std[M_ID_F], band=found[M_ID_F].std),
            PAPER.claim("ratio_id", *ratios[M_ID], band=found[M_KH].std / found[M_ID].std),
            PAPER.claim("ratio_id_f", *ratios[M_ID_F], band=below),
        ),
        checks=PAPER.checks(
            reduction=dict(zip(JOINTS, below, strict=True)),
            reduction_all=min(ratios[M_ID_F][1]),
            exact=max(found[EXACT].std / found[M_ID_F].std),
        ),
        values={
            "radius": np.hypot(state.p[:, 0], state.p[:, 1]).max(),
            "largest": np.linalg.norm(reference.pdd, axis=1).max(),
        },
        data=FreeMotion(bench.v_F, torques, found),
    )


def turned(found: Errors) -> Errors:
    """Errors with their means in the paper's sign."""
    return replace(found, mean=-found.mean, mean_all=-found.mean_all)


def error_rows(found: Mapping[str, Errors], paper: Mapping[str, Any]) -> list[Any]:
    """Model, joint, mean of the paper and ours, deviation of both, and ours below the band."""
    rows = []
    for name, item in found.items():
        mean, std = paper.get(name, (None, None))
        parts = (mean, item.mean_all, std, item.std_all, item.mean, item.std)
        rows += by_joint(name, JOINTS, *parts)
    return rows


def rms(values: FloatArray) -> FloatArray:
    """Root of the mean square over time of every joint."""
    return np.asarray(np.sqrt(np.mean(values[:, :3] ** 2, axis=0)))


# Section 4: factors and friction


def identified_factors(bench: Bench, models: Models) -> Section:
    """The factors and friction of section 4, which the paper does not print."""
    result, machine = models.gray, bench.machine
    nominal, true = half_half_parameters(bench.robot), exact_parameters(machine)

    def deviation(name: str) -> FloatArray:
        each = [getattr(fit, name) for fit in result.per_trajectory]
        return np.asarray(np.std(each, axis=0))

    rows: list[Any] = [
        (name, "1", getattr(result, name), deviation(name), np.mean(np.divide(a, b)))
        for name, a, b in (("rho1", true.A, nominal.A), ("rho2", true.G, nominal.G))
    ]
    for name, unit in (("viscous", "N m s/rad"), ("coulomb", "N m")):
        numbers = (getattr(result, name), deviation(name), getattr(machine.friction, name))
        rows += by_joint([f"{name} {axis + 1}" for axis in range(3)], unit, *numbers)
    trajectories = [
        (
            item.name,
            item.prepared.t[-1] - item.prepared.t[0],
            (fit.rho1, fit.rho2, *fit.least_squares, fit.rms_before, fit.rms_after),
        )
        for item, fit in zip(bench.training, result.per_trajectory, strict=True)
    ]
    each = np.array([[fit.viscous, fit.coulomb] for fit in result.per_trajectory])
    status = result.status.capitalize()
    return Section(
        tables=(
            PAPER.table("factors", rows),
            PAPER.table("per_trajectory", trajectories, status=status),
        ),
        claims=(
            PAPER.claim("factors", "not given", count=len(bench.training), rho1=result.rho1),
            PAPER.claim(
                "grid",
                "it does",
                PAPER.text("{x:.1g} apart", x=result.grid_gap),
                result.grid_gap < 1e-5,
                gap=result.grid_gap,
            ),
        ),
        checks=PAPER.checks(grid=result.grid_gap),
        values={
            "rotor": machine.drives.output_inertia[0],
            "negative": int((each < 0).sum()),
            "coefficients": each.size,
        },
        data=result,
    )


# The means of table 1

ARM_WEIGHT = "printed sign of the arm's weight"
RODS = "both rods taken for one"
MASS = "platform mass missing"
OFFSET = "one torque offset"
OFFSETS = "torque offset per joint"
FORCE = "constant force on the platform"
SLIP_CAUSES = {
    ARM_WEIGHT: SimpleSlip.ARM_GRAVITY,
    "wrong sign of the platform's weight": SimpleSlip.PLATFORM_GRAVITY,
    "printed sign of r in k_ii": SimpleSlip.RADIUS_IN_K,
    "printed sign of r in a_1i": SimpleSlip.RADIUS_IN_A,
    "printed sign of l1 in a_3i": SimpleSlip.HEIGHT_IN_A,
    "printed sign of z in k_ii": SimpleSlip.HEIGHT_IN_K,
    "l1 missing in k_ii": SimpleSlip.LENGTH_IN_K,
}
OFFSET_SCALES_NM = (3.0, 5.0, 10.0)
CAUSES = (
    *map(Cause, SLIP_CAUSES),
    Cause(RODS),
    Cause(MASS, (2.0,), "kg"),
    Cause(OFFSET, OFFSET_SCALES_NM, "N m", family="constant"),
    Cause(OFFSETS, OFFSET_SCALES_NM, "N m", family="constant"),
    Cause(FORCE, (10.0, 20.0, 40.0), "N", family="constant"),
)
TORQUE_OF = {MASS: slice(1, 2), OFFSETS: slice(2, 5), FORCE: slice(5, 8)}  # in MotionTerms


@dataclass(frozen=True, eq=False)
class MotionTerms:
    """A motion with the torques (N, 3, 8) that may be in its record.

    First the torque itself, then what one unit of a cause adds to it: 1 kg on the platform, 1 N m
    at joint 1, 2 or 3, 1 N on the platform along x, y or z.
    """

    state: State
    torques: FloatArray

    @classmethod
    def from_state(
        cls, robot: Robot, state: State, torque: FloatArray | None = None
    ) -> MotionTerms:
        """With a measured torque (N, 3), or that of the exact model without friction."""
        if torque is None:
            torque = inverse_dynamics(robot, state, friction=False)
        first = np.stack([torque, payload_column(robot, state)], axis=2)
        joints = np.broadcast_to(np.eye(3), (len(state), 3, 3))
        forces = np.swapaxes(jacobian(robot, state.p), 1, 2)
        return cls(state, np.concatenate([first, joints, forces], axis=2))


@dataclass(frozen=True, eq=False)
class MeanErrors:
    """All explanations, the smallest, and its nine means (models, joints) on the bench."""

    explanations: tuple[Explanation, ...]
    smallest: Explanation
    bench: FloatArray
    explained: FloatArray


def mean_errors(bench: Bench, models: Models, seed: int) -> Section:
    """What makes the mean errors of table 1: which of the printed slips, offsets and masses.

    v_F is not published. So a set of causes is judged on many motions that could have been it, with
    the model's torque; then the smallest set is put into the recorded torque of the bench.
    """
    robot, step = bench.robot, round(RATE / FREE_MOTION_RATE_HZ)
    training = [
        MotionTerms.from_state(robot, thin_state(robot, item.run.reference, step))
        for item in bench.training
    ]
    motions = possible_motions(robot, FREE_MOTIONS * len(training), seed)
    deviations = slip_deviations(robot, motions)
    largest = max(TABLE_1[M_ID_F][1])

    @cache
    def predict(fixed: frozenset[str]) -> Prediction | None:
        if deviations[slips_of(fixed)] > largest:
            return None
        means = mean_responses(
            [gray_columns(robot, item, fixed) for item in training],
            [gray_columns(robot, item, fixed) for item in motions],
        )
        numbers = {name: means[:, :, part] for name, part in TORQUE_OF.items()}
        numbers[OFFSET] = numbers[OFFSETS].sum(axis=2, keepdims=True)
        return Prediction(means[:, :, 0], numbers)

    explanations = compare_causes(-MEANS.ravel(), CAUSES, predict)
    smallest = smallest_explanation(explanations)
    plain = np.array(
        [
            -np.mean(bench.v_F.prepared.tau - tau, axis=0)
            for name, tau in models.torques(bench.v_F.prepared.state).items()
            if name != EXACT
        ]
    )
    explained = means_with_causes(bench, smallest)
    result = MeanErrors(explanations, smallest, plain, explained)
    values = {
        **describe_means(bench, models),
        **describe_explanations(result),
        **describe_slips(deviations, largest),
    }
    alone = [e for e in explanations if len(e.causes) <= 1 and e not in explanations[:6]]
    causes = [
        (" + ".join(e.causes) or "none", e.numbers, e.probability, e.rms, causes_text(e))
        for e in (*explanations[:6], *alone)
    ]
    rows = [
        row
        for k, name in enumerate((M_KH, M_ID, M_ID_F))
        for row in by_joint(
            name, JOINTS, MEANS[k], plain[k], explained[k], -smallest.means[3 * k :]
        )
    ]
    falls = explained[0] - explained[1]
    return Section(
        tables=(
            PAPER.table("causes", causes, count=len(explanations), motions=len(motions)),
            PAPER.table("means", rows, smallest=values["smallest"]),
        ),
        claims=(
            PAPER.claim("means", MEANS.ravel(), plain.ravel(), largest=np.abs(plain).max()),
            PAPER.claim("falls", MEANS[0] - MEANS[1], falls, **values),
            PAPER.claim(
                "means_explained",
                MEANS.ravel(),
                explained.ravel(),
                off=np.abs(explained - MEANS).max(),
                **values,
            ),
        ),
        checks=PAPER.checks(
            constant=values["constant_probability"],
            explained=smallest.rms,
        ),
        values=values,
        data=result,
    )


def describe_means(bench: Bench, models: Models) -> dict[str, Any]:
    """What the paper's means say by themselves, and what rho2 can do of their fall."""
    gravity = bench.robot.gravity * np.array(half_half_parameters(bench.robot).G)
    arm_weight = (gravity * bench.v_F.prepared.state.cos_q).mean(axis=0)
    fall, without = MEANS[0] - MEANS[1], np.array(TABLE_2[WITHOUT][0])
    return {
        "fall": fall,
        "needed": 1 + fall / arm_weight,
        "sign_alone": (1 + models.gray.rho2) * arm_weight,
        "sums": without.sum(),
        "repeated": np.abs(MEANS[2] - MEANS[1]).max(),
        "additive": additive_rms(MEANS),
        "joints": np.std(without),
        "joints_without": np.std(without - MEANS[2]),
    }


def describe_explanations(result: MeanErrors) -> dict[str, Any]:
    """What the comparison of the causes says."""
    smallest, likely = result.smallest, cause_probabilities(result.explanations)
    alone = {e.causes: e for e in result.explanations if len(e.causes) <= 1}
    offsets = alone[(OFFSETS,)]
    return {
        "smallest": " and ".join(smallest.causes),
        "numbers": causes_text(smallest),
        "probability": smallest.probability,
        "rms": smallest.rms,
        "constant_probability": likely[OFFSETS] + likely[FORCE],
        "force_probability": likely[FORCE],
        "arm_probability": likely[ARM_WEIGHT],
        "offsets_rms": offsets.rms,
        "offsets_odds": np.exp(smallest.log_evidence - offsets.log_evidence),
        "mass_rms": alone[(MASS,)].rms,
        "one_rms": alone[(OFFSET,)].rms,
    }


def describe_slips(
    deviations: Mapping[frozenset[SimpleSlip], float], largest: float
) -> dict[str, Any]:
    """Which printed slips the paper's own standard deviations rule out."""
    possible = {slip for slips, value in deviations.items() if value <= largest for slip in slips}
    refused = set(SimpleSlip) - possible
    least = min(value for slips, value in deviations.items() if slips & refused)
    return {"refused": len(refused), "least_refused": least, "largest_std": largest}


def thin_state(robot: Robot, motion: Motion, step: int = 1) -> State:
    """Every `step`-th sample of a motion."""
    part = (getattr(motion, name)[::step] for name in ("q", "qd", "qdd"))
    return State.from_joints(robot, *part, hint=motion.p[::step])


def possible_motions(robot: Robot, count: int, seed: int) -> list[MotionTerms]:
    """Free motions that could have been v_F: 3 to 12 random places near and far from the middle."""
    rng = np.random.default_rng((seed, 6))
    motions = []
    for _ in range(count):
        places, low = int(rng.integers(3, SPLINE_POINTS + 1)), rng.uniform(0.0, 0.8)
        radii, rate = (low, 0.9), FREE_MOTION_RATE_HZ
        motion = random_spline(
            robot, rng, places, radii, 0.35, shrink=0.95, anywhere=True, rate=rate
        )
        motions.append(MotionTerms.from_state(robot, thin_state(robot, motion)))
    return motions


def slips_of(causes: Iterable[str]) -> frozenset[SimpleSlip]:
    """The printed slips among the causes."""
    return frozenset(SLIP_CAUSES[name] for name in causes if name in SLIP_CAUSES)


def slip_deviations(
    robot: Robot, motions: Sequence[MotionTerms]
) -> dict[frozenset[SimpleSlip], float]:
    """What every set of printed slips leaves of the exact torque, as a standard deviation in N m.

    With the best factors of these very motions and without friction: no less can be left.
    """
    step = 8  # 25 Hz is enough for a deviation
    q, qd, qdd, p = (
        np.concatenate([getattr(item.state, name)[::step, :3] for item in motions])
        for name in ("q", "qd", "qdd", "p")
    )
    state = State.from_joints(robot, q, qd, qdd, hint=p)
    exact = inverse_dynamics(robot, state, friction=False)
    deviations = {}
    for count in range(len(SimpleSlip) + 1):
        for slips in map(frozenset, combinations(SimpleSlip, count)):
            parts = simplified_parts(robot, state, slips)
            columns = np.stack([parts.inertia.ravel(), parts.weight.ravel()], axis=1)
            target = (exact - parts.platform).ravel()
            rest = target - columns @ np.linalg.lstsq(columns, target, rcond=None)[0]
            deviations[slips] = float(np.std(rest.reshape(-1, 3), axis=0).max())
    return deviations


class GrayColumns(NamedTuple):
    """A trajectory for eqs. 6 to 8: columns of rho1 and rho2 (N, 3, 2), of friction (N, 3, 2).

    `torques` (N, 3, k) are those of a `MotionTerms`, the first without -2 K lambda.
    """

    factors: FloatArray
    friction: FloatArray
    torques: FloatArray


def gray_columns(robot: Robot, item: MotionTerms, causes: Iterable[str]) -> GrayColumns:
    """The columns of a motion by the model with the slips among these causes."""
    rods = 2 * robot.struts[0].rods * robot.struts[0].mass if RODS in causes else None
    parts = simplified_parts(robot, item.state, slips_of(causes), strut_mass=rods)
    torques, qd = item.torques.copy(), item.state.qd
    torques[:, :, 0] -= parts.platform
    factors = np.stack([parts.inertia, parts.weight], axis=2)
    return GrayColumns(factors, np.stack([qd, np.sign(qd)], axis=2), torques)


def mean_responses(training: Sequence[GrayColumns], motions: Sequence[GrayColumns]) -> FloatArray:
    """Mean errors (motions, 9, k) of M_KH, M_Id and M_Id+F, in the bench's sign.

    The identification by closed form is linear in the torque: every one of the k torques goes
    through it alone, the first with the factors of M_KH, which are 1.
    """
    factors = np.mean(
        [
            np.linalg.lstsq(Y.reshape(-1, 2), T.reshape(-1, T.shape[2]), rcond=None)[0]
            for Y, _, T in training
        ],
        axis=0,
    )  # (2, k)
    friction = np.mean(
        [
            [np.linalg.lstsq(F[:, i], T[:, i] - Y[:, i] @ factors, rcond=None)[0] for i in range(3)]
            for Y, F, T in training
        ],
        axis=0,
    )  # (3, 2, k)
    means = []
    for item in motions:
        Y, F, T = (values.mean(axis=0) for values in item)
        first = T.copy()  # (3, k)
        first[:, 0] -= Y.sum(axis=1)
        second = T - Y @ factors
        third = second - np.einsum("if,ifk->ik", F, friction)
        means.append(np.concatenate([first, second, third]))
    return np.array(means)


def means_with_causes(bench: Bench, causes: Explanation) -> FloatArray:
    """Means (models, joints) in the paper's sign, with the causes in the record of the bench."""
    numbers = np.zeros(8)
    numbers[0] = 1.0
    for name, value in causes.values.items():
        numbers[TORQUE_OF[OFFSETS if name == OFFSET else name]] = value

    def columns(item: Trial) -> GrayColumns:
        terms = MotionTerms.from_state(bench.robot, item.prepared.state, item.prepared.tau)
        given = MotionTerms(terms.state, terms.torques @ numbers[:, None])
        return gray_columns(bench.robot, given, causes.causes)

    training = [GrayColumns(*map(item.prepared.limited, columns(item))) for item in bench.training]
    return -mean_responses(training, [columns(bench.v_F)])[0, :, 0].reshape(3, 3)


def additive_rms(means: FloatArray) -> float:
    """RMS that four numbers leave of the nine means: one per joint, and one for M_KH alone."""
    step = np.repeat([1.0, 0.0, 0.0], 3)[:, None]
    columns = np.concatenate([np.tile(np.eye(3), (3, 1)), step], axis=1)
    rest = means.ravel() - columns @ np.linalg.lstsq(columns, means.ravel(), rcond=None)[0]
    return float(np.sqrt(np.mean(rest**2)))


def causes_text(explanation: Explanation) -> str:
    """The numbers of an explanation with their deviations, torques in the paper's sign."""
    units = {cause.name: cause.unit for cause in CAUSES}
    texts = []
    for name, numbers in explanation.values.items():
        sign = -1.0 if name in (OFFSET, OFFSETS) else 1.0
        pairs = zip(sign * numbers, explanation.deviations[name], strict=True)
        texts.append(", ".join(f"{a:.1f} ± {b:.1f}" for a, b in pairs) + f" {units[name]}")
    return "; ".join(texts) or "-"


# Section 5, figures 6b, 7 and 8, table 2: the payload


@dataclass(frozen=True, eq=False)
class Carry:
    """A load from its pick to its release, in s."""

    pick: float
    release: float

    def contains(self, t: FloatArray) -> BoolArray:
        """Which times are between the two."""
        return (t >= self.pick) & (t < self.release)


@dataclass(frozen=True, eq=False)
class LoadedRun:
    """v_P with 3.8 kg: the torque of M_Id+F and of the exact model (N, dof), both without payload.

    `column` (N, dof) is what one kilogram adds, `x` (N, 3) is pdd + g z in m/s^2, `J` (N, 3, 3) the
    Jacobian of the platform, `mass` (N,) the true payload in kg.
    """

    trial: Trial
    mass: FloatArray
    gray: FloatArray
    exact: FloatArray
    column: FloatArray
    x: FloatArray
    J: FloatArray

    @property
    def t(self) -> FloatArray:
        """Times (N,) in s."""
        return self.trial.prepared.t

    @property
    def tau(self) -> FloatArray:
        """The measured torque (N, dof) in N m."""
        return self.trial.prepared.tau

    def errors(self, tau: FloatArray) -> Errors:
        """Measured minus computed torque, in the paper's sign."""
        return turned(errors(self.trial.prepared, tau))

    def scalar(self, torque: FloatArray, memory: float = MEMORY_S) -> FloatArray:
        """The mass (N,) by eq. 11 from the torque (N, dof) that the model does not explain."""
        return forgetting_masses(self.x, self.forces(torque), forgetting=sample_weight(memory))

    def matrix(self, torque: FloatArray, memory: float = MEMORY_S) -> FloatArray:
        """The same with the 3x3 matrix of the paper (N, 3, 3)."""
        return forgetting_matrices(self.x, self.forces(torque), forgetting=sample_weight(memory))

    def forces(self, torque: FloatArray) -> FloatArray:
        """y of eq. 10: the force (N, 3) at the platform that a torque error (N, dof) means."""
        transposed = np.swapaxes(self.J, 1, 2)
        return np.asarray(np.linalg.solve(transposed, torque[:, :, None])[:, :, 0])

    def matrix_torque(self, matrices: FloatArray) -> FloatArray:
        """The torque (N, dof) of the payload matrix of every instant: y^T = x^T M."""
        force = np.einsum("ni,nij->nj", self.x, matrices)
        return np.asarray(np.einsum("nki,nk->ni", self.J, force))


@dataclass(frozen=True, eq=False)
class MassCurve:
    """An estimated payload (N,) in kg over time, and its standard deviation where it has one."""

    mass: FloatArray
    std: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class PayloadRuns:
    """v_P with the load attached all the time and with picks and releases, and the estimates."""

    robot: Robot
    attached: LoadedRun
    picked: LoadedRun
    carries: tuple[Carry, ...]
    curves: dict[str, MassCurve]
    picks: tuple[Pick, ...]
    noise: str
    torques: dict[str, FloatArray]  # of `picked`
    errors: dict[str, Errors]

    def share(self, mass: FloatArray) -> float:
        """Share of the carried time in which an estimate is within 5 % of the payload."""
        during = np.any([carry.contains(self.picked.t) for carry in self.carries], axis=0)
        return float(np.mean(np.abs(mass[during] - PAYLOAD_KG) <= TOLERANCE * PAYLOAD_KG))

    def results(self, mass: FloatArray) -> list[CarryResult]:
        """How an estimate does during every carry."""
        return [carry_result(self.picked.t, mass, carry) for carry in self.carries]


LAW, LAW_OWN, BANK = "eq. 11", "eq. 11 on the model's own torque", "PayloadEstimator"


def run_payload(bench: Bench, models: Models, seed: int) -> PayloadRuns:
    """Carry 3.8 kg along v_P, attached all the time and picked and released, and estimate it."""
    robot = bench.robot
    motion = y1(robot, picks=PICKS, seed=seed, share=PAYLOAD_LIMIT_SHARE)
    carries = find_carries(motion)
    events = [(t, m) for c in carries for t, m in ((c.pick, PAYLOAD_KG), (c.release, 0.0))]
    attached = record_load(bench, models, motion, [(0.0, PAYLOAD_KG)], 1000 * seed + 998)
    picked = record_load(bench, models, motion, events, 1000 * seed + 997)
    noise = NoiseModel.of(models.fit, bench.training[0].run.recording, rate=RATE)
    estimator = PayloadEstimator(models.fit, noise=noise, rate=RATE)
    bank = follow_recording(estimator, picked)
    error = picked.tau - picked.gray
    matrices = picked.matrix(error)
    curves = {
        LAW: MassCurve(picked.scalar(error)),
        LAW_OWN: MassCurve(picked.scalar(picked.mass[:, None] * picked.column)),
        "eq. 11 with the exact model": MassCurve(picked.scalar(picked.tau - picked.exact)),
        "eq. 11, mean of its diagonal": MassCurve(np.trace(matrices, axis1=1, axis2=2) / 3),
        BANK: bank,
    }
    torques = {
        WITHOUT: picked.gray,
        WITH: picked.gray + curves[LAW].mass[:, None] * picked.column,
        WITH_MATRIX: picked.gray + picked.matrix_torque(matrices),
        EXACT_WITHOUT: picked.exact,
        WITH_BANK: picked.exact + bank.mass[:, None] * picked.column,
    }
    found = {name: picked.errors(tau) for name, tau in torques.items()}
    picks = tuple(estimator.picks)
    return PayloadRuns(
        robot, attached, picked, carries, curves, picks, estimator.summary, torques, found
    )


def find_carries(motion: Motion) -> tuple[Carry, ...]:
    """Picks and releases in turn, in the middle of the stops on the belts."""
    still = np.abs(motion.pd).max(axis=1) < 1e-6
    edges = np.flatnonzero(np.diff(np.concatenate([[0], still.astype(int), [0]])))
    stops = [
        (motion.t[start] + motion.t[end - 1]) / 2
        for start, end in zip(edges[::2], edges[1::2], strict=True)
        if motion.t[end - 1] - motion.t[start] > 0.035  # s: the stops on a belt have 0.05
    ]
    return tuple(Carry(*pair) for pair in zip(stops[::2], stops[1::2], strict=True))


def record_load(
    bench: Bench, models: Models, motion: Motion, events: list[tuple[float, float]], seed: int
) -> LoadedRun:
    """v_P on the bench, with a payload that changes at the events."""
    robot, item = bench.robot, trial(bench.robot, "v_P", motion, seed, payload=events)
    state = item.prepared.state
    torques = models.torques(state)
    times, masses = np.array(events).T
    after = np.searchsorted(times, item.prepared.t, side="right")
    return LoadedRun(
        item,
        np.concatenate([[0.0], masses])[after],
        torques[M_ID_F],
        torques[EXACT],
        payload_column(robot, state),
        state.pdd[:, :3] + np.array([0.0, 0.0, robot.gravity]),
        jacobian(robot, state.p),
    )


def sample_weight(memory: float) -> float:
    """The forgetting factor per sample of a memory in s."""
    return 1 - 1 / (RATE * memory)


def follow_recording(estimator: PayloadEstimator, loaded: LoadedRun) -> MassCurve:
    """Its mass and deviation at the samples of the run, estimated along the recording."""
    recording, rows = loaded.trial.run.recording, []
    for t, q, tau in zip(recording.t, recording.q, recording.tau, strict=True):
        estimator.update(q, None, None, tau, t=float(t))
        rows.append((estimator.mass, estimator.std))
    mass, std = np.array(rows).T
    finite = np.where(np.isfinite(std), std, 0.0)
    return MassCurve(*(np.interp(loaded.t, recording.t, values) for values in (mass, finite)))


def table_2(runs: PayloadRuns) -> Section:
    """Table 2 and figures 6b and 7: the load attached all the time, with the offset, and picked."""
    attached, found = runs.attached, runs.errors
    # The offset: what M_Id+F errs by on v_F in the paper, put into the measured torque of v_P.
    offset = -MEANS[2]
    error = attached.tau - attached.gray
    constant = {
        WITHOUT: attached.errors(attached.gray),
        WITH: attached.errors(attached.gray + attached.scalar(error)[:, None] * attached.column),
    }
    scalar = attached.scalar(error + offset)[:, None] * attached.column
    short, usual = (
        attached.matrix_torque(attached.matrix(error + offset, memory))
        for memory in (MATRIX_MEMORY_S, MEMORY_S)
    )
    base = attached.gray - offset
    shifted = {
        WITHOUT: attached.errors(base),
        WITH: attached.errors(base + scalar),
        WITH_MATRIX: attached.errors(base + usual),
        f"{WITH_MATRIX}, {MATRIX_MEMORY_S:g} s": attached.errors(base + short),
    }
    groups = {
        "all the time": constant,
        "the same, offset of table 1": shifted,
        "picked and released": found,
    }
    paper = {**TABLE_2, **{name: TABLE_2[WITH] for name in shifted if WITH_MATRIX in name}}
    rows = [(load, *row) for load, group in groups.items() for row in error_rows(group, paper)]
    placements = [payload_deviation(runs.robot, other) for other in range(PLACEMENTS)]
    size = {name: np.abs(item.mean_all).sum() for name, item in found.items()}
    return Section(
        tables=(PAPER.table("table_2", rows),),
        claims=(
            PAPER.claim(
                "payload_std_without",
                TABLE_2[WITHOUT][1],
                found[WITHOUT].std_all,
                count=PLACEMENTS,
                low=np.min(placements, axis=0),
                high=np.max(placements, axis=0),
            ),
            PAPER.claim(
                "payload_std_with",
                TABLE_2[WITH][1],
                found[WITH].std_all,
                attached=constant[WITH].std_all,
            ),
            PAPER.claim(
                "payload_means_without",
                TABLE_2[WITHOUT][0],
                shifted[WITHOUT].mean_all,
                total=sum(TABLE_2[WITHOUT][0]) - MEANS[2].sum(),
                weight=constant[WITHOUT].mean_all.sum(),
            ),
            PAPER.claim(
                "payload_means_with",
                TABLE_2[WITH][0],
                shifted[WITH_MATRIX].mean_all,
                scalar=shifted[WITH].mean_all,
                short=next(reversed(shifted.values())).mean_all,
                memory=MATRIX_MEMORY_S,
            ),
        ),
        checks=PAPER.checks(
            eq_11=size[WITH] / size[WITHOUT],
            ours=size[WITH_BANK] / size[EXACT_WITHOUT],
            matrix=np.abs(shifted[WITH_MATRIX].mean_all).max() / np.abs(offset).max(),
        ),
    )


def payload_deviation(robot: Robot, number: int) -> FloatArray:
    """Deviation over time (dof,) in N m of the payload's torque where the belts lie otherwise.

    Placement `number` has other places on the belts, which are turned about the robot's axis.
    """
    rate, angle = FREE_MOTION_RATE_HZ, 2 * np.pi * number / PLACEMENTS
    motion = y1(robot, picks=PICKS, seed=number, share=PAYLOAD_LIMIT_SHARE, rate=rate)
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    state = State.from_platform(robot, motion.p @ R.T, motion.pd @ R.T, motion.pdd @ R.T)
    loaded = np.any([carry.contains(motion.t) for carry in find_carries(motion)], axis=0)
    column = payload_column(robot, state)
    return np.asarray(np.std(PAYLOAD_KG * loaded[:, None] * column, axis=0))


@dataclass(frozen=True, eq=False)
class CarryResult:
    """An estimate during one carry: when it first comes within 5 %, from when it stays there (s).

    None where it never does. `release_error` is that at the release, as a share.
    """

    first: float | None
    stays: float | None
    release_error: float


def carry_result(t: FloatArray, mass: FloatArray, carry: Carry) -> CarryResult:
    """How an estimate does from a pick to the release."""
    during = carry.contains(t)
    since, error = t[during] - carry.pick, mass[during] / PAYLOAD_KG - 1
    within = np.abs(error) <= TOLERANCE
    outside = np.flatnonzero(~within)
    first = float(since[np.argmax(within)]) if within.any() else None
    stays = None
    if within[-1]:
        stays = float(since[outside[-1] + 1]) if len(outside) else 0.0
    return CarryResult(first, stays, float(error[-1]))


def figure_8(runs: PayloadRuns) -> Section:
    """Figure 8: the estimates over time, and what is right and wrong with eq. 11 as printed."""
    picked, picks = runs.picked, runs.picks
    results = {name: runs.results(curve.mass) for name, curve in runs.curves.items()}
    shares = {name: 100 * runs.share(curve.mass) for name, curve in runs.curves.items()}
    rows = []
    for name, each in results.items():
        first = [item.first for item in each if item.first is not None]
        stays = [item.stays for item in each if item.stays is not None]
        worst = max((100 * item.release_error for item in each), key=abs)
        within, kept = (np.mean(x) if x else None for x in (first, stays))
        rows.append((name, within, f"{len(stays)} of {len(each)}", kept, shares[name], worst))
    error = picked.tau - picked.gray
    last = runs.attached.matrix(runs.attached.tau - runs.attached.gray)[-1]
    first_rows = slice(0, PRINTED_SAMPLES)
    printed = forgetting_matrices(
        picked.x[first_rows],
        picked.forces(error)[first_rows],
        forgetting=sample_weight(MEMORY_S),
        sign=-1.0,
    )
    law, own = results[LAW], results[LAW_OWN]
    own_masses = [PAYLOAD_KG * (1 + item.release_error) for item in own]
    late = [abs(pick.mass - PAYLOAD_KG) / pick.std for pick in picks]
    values = {
        "settles": MEMORY_S * np.log(1 / TOLERANCE),
        "carried": np.mean([carry.release - carry.pick for carry in runs.carries]),
        "law_release": [100 * item.release_error for item in law],
        "law_share": shares[LAW],
        "law_stays": sum(item.stays is not None for item in law),
        "bank_share": shares[BANK],
        "latency": 1000 * np.mean([pick.latency for pick in picks]) if picks else np.nan,
        "noise": runs.noise,
        "forgetting": sample_weight(MEMORY_S),
        "wild": np.abs(printed[-1]).max(),
        "beside": np.abs(last - np.diag(np.diag(last))).max(),
        "diagonal": np.diag(last),
    }
    return Section(
        tables=(
            PAPER.table("estimates", rows),
            PAPER.table("picks", pick_rows(runs, law, results[BANK])),
        ),
        claims=(
            PAPER.claim(
                "transient",
                "good",
                PAPER.text("{x:.0f} % of the carried time", x=shares[LAW]),
                shares[LAW] > 50,
                **values,
            ),
            PAPER.claim(
                "own_torque",
                "reaches m_p",
                PAPER.text("{x:.2f} kg at the releases", x=own_masses),
                max(abs(item.release_error) for item in own) < TOLERANCE,
                **values,
            ),
            PAPER.claim(
                "printed", "finds M_p", PAPER.text("{x:.0e} kg", x=values["wild"]), False, **values
            ),
            PAPER.claim(
                "matrix",
                "m_p on the diagonal",
                PAPER.text("{x:.2f} kg", x=np.diag(last)),
                False,
                **values,
            ),
        ),
        checks=PAPER.checks(
            picks=abs(len(picks) - len(runs.carries)),
            deviations=max(late, default=np.inf),
            own_torque=recursion_gap(picked, error),
            printed=values["wild"] / PAYLOAD_KG,
        ),
        values=values,
    )


def pick_rows(
    runs: PayloadRuns, law: Sequence[CarryResult], bank: Sequence[CarryResult]
) -> list[tuple[Any, ...]]:
    """Every carry: what eq. 11 and PayloadEstimator say at its release, and the pick's own mass."""
    rows = []
    for carry, one, two in zip(runs.carries, law, bank, strict=True):
        pick = next((p for p in runs.picks if p.start < carry.release and p.end > carry.pick), None)
        rows.append(
            (
                carry.pick,
                carry.release - carry.pick,
                PAYLOAD_KG * (1 + one.release_error),
                PAYLOAD_KG * (1 + two.release_error),
                None if pick is None else 1000 * (pick.detected - carry.pick),
                None if pick is None else pick.mass,
                None if pick is None else pick.std,
            )
        )
    return rows


def recursion_gap(run: LoadedRun, error: FloatArray) -> float:
    """Largest distance in kg of eq. 11 from the weighted mean that it computes step by step.

    m = sum sigma^(n-k) x_k . y_k / (sum sigma^(n-k) x_k . x_k + sigma^n / P_0): at every sample the
    same memory, however much has been seen.
    """
    forgetting, y, masses = sample_weight(MEMORY_S), run.forces(error), run.scalar(error)
    v, square = np.einsum("nk,nk->n", run.x, y), np.einsum("nk,nk->n", run.x, run.x)
    gaps = []
    for end in range(97, len(v), 97):
        weights = forgetting ** np.arange(end)[::-1]
        first = forgetting**end / FIRST_P_KG2
        gaps.append(masses[end - 1] - weights @ v[:end] / (weights @ square[:end] + first))
    return float(np.abs(gaps).max())


def forgetting_costs(runs: PayloadRuns) -> Section:
    """What sigma trades: transient against a deviation that never ends."""
    rows = [forgetting_row(runs, memory) for memory in MEMORIES_S]
    best = max(rows, key=lambda row: row["share"])
    usual = rows[MEMORIES_S.index(MEMORY_S)]
    ratios = [row["derived"] / row["measured"] for row in rows if 0.05 <= row["memory"] <= 0.5]
    bank = runs.share(runs.curves[BANK].mass)
    values = {
        "memories": len(rows),
        "best_memory": best["memory"],
        "best_share": 100 * best["share"],
        "best_first": 1000 * best["first"],
        "best_measured": best["measured"],
        "measured": usual["measured"],
        "colour": usual["derived"] / usual["white"],
    }
    return Section(
        tables=(PAPER.table("forgetting", [tuple(row.values()) for row in rows]),),
        claims=(
            PAPER.claim(
                "fine_tuned",
                "very fast",
                PAPER.text("{x:.0f} % of the carried time", x=100 * best["share"]),
                best["share"] > 0.9,
                **values,
            ),
        ),
        checks=PAPER.checks(
            share=bank / best["share"], variance_low=min(ratios), variance_high=max(ratios)
        ),
        values=values,
    )


def forgetting_row(runs: PayloadRuns, memory: float) -> dict[str, float]:
    """Transient and deviation of eq. 11 with a memory in s.

    The law is linear in the torque: its estimate is that of the payload's own torque, which is the
    transient, and that of the rest of the torque, which would be there without a load. With
    v = x . y of the rest over the mean of x . x, of autocovariance c_l at a lag of l samples,

        var = (1 - sigma) / (1 + sigma) (c_0 + 2 sum sigma^l c_l)

    and c_0 alone if the rest were white.
    """
    run, forgetting = runs.picked, sample_weight(memory)
    own = run.mass[:, None] * run.column
    rest = run.tau - run.gray - own
    load, error = run.scalar(own, memory), run.scalar(rest, memory)
    first = [item.first for item in runs.results(load)]
    reached = [x for x in first if x is not None]
    v = np.einsum("nk,nk->n", run.x, run.forces(rest))
    v = (v - v.mean()) / np.mean(np.sum(run.x**2, axis=1))
    size = 1 << (2 * len(v)).bit_length()
    c = np.fft.irfft(np.abs(np.fft.rfft(v, size)) ** 2, size)[: len(v)] / len(v)
    gain = (1 - forgetting) / (1 + forgetting)
    sums = float(c[1:] @ forgetting ** np.arange(1, len(c)))
    return {
        "memory": memory,
        "sigma": forgetting,
        "first": float(np.mean(reached)) if len(reached) == len(first) else float("nan"),
        "share": runs.share(load + error),
        "measured": float(np.std(error[run.t - run.t[0] > memory])),
        "derived": float(np.sqrt(gain * (c[0] + 2 * sums))),
        "white": float(np.sqrt(gain * c[0])),
    }


def payload_spread(seeds: int = 20) -> Table:
    """The least and the largest value of every check of the payload over seeds, and its fails."""
    runs = [payload_only(seed=seed).checks for seed in range(seeds)]
    rows = [
        (
            each[0].what,
            min(check.value for check in each),
            max(check.value for check in each),
            each[0].allowed,
            sum(not check.passed for check in each),
        )
        for each in zip(*runs, strict=True)
    ]
    return PAPER.table("spread", rows, seeds=seeds)


# Figure 9: feedforward


def feedforward(bench: Bench, models: Models, seed: int) -> Section:
    """Figure 9 on v_F: PD alone, and with the torque of each model; the same gains for all."""
    robot = bench.robot
    gains = PD(robot).for_drive(RATE, PRESET)
    given = {"stiffness": gains.stiffness, "damping": gains.damping}
    controllers: dict[str, PD] = {
        "PD alone": PD(robot, **given),
        **{
            name: PDFeedforward(model, "gray-box", **given)
            for name, model in models.gray.robots.items()
        },
        EXACT: PDFeedforward(models.fit.robot, **given),
    }
    motion = bench.v_F.run.reference
    runs = {
        name: simulate(robot, motion, controller, preset=PRESET, rate=RATE, seed=1000 * seed + 996)
        for name, controller in controllers.items()
    }
    tracking = {name: 1000 * rms(run.tracking_error) for name, run in runs.items()}
    rows = [
        (
            name,
            tracking[name],
            1000 * np.abs(run.tracking_error).max(axis=0),
            1000 * np.sqrt(np.mean(np.sum(run.platform_error**2, axis=1))),
        )
        for name, run in runs.items()
    ]
    order = ("PD alone", M_KH, M_ID, M_ID_F)
    falls = [max(tracking[after] / tracking[before]) for before, after in pairwise(order)]
    return Section(
        tables=(
            PAPER.table(
                "feedforward", rows, stiffness=gains.stiffness[0], damping=gains.damping[0]
            ),
        ),
        claims=(
            PAPER.claim(
                "feedforward",
                "future work",
                PAPER.text(
                    "{a:.2f} mrad with M_KH, {b:.2f} with M_Id+F",
                    a=float(tracking[M_KH].mean()),
                    b=float(tracking[M_ID_F].mean()),
                ),
                max(falls) < 1,
            ),
        ),
        checks=PAPER.checks(
            feedforward=max(falls),
            tracking=max(tracking[M_ID_F] / tracking[M_KH]),
        ),
        data=runs,
    )
