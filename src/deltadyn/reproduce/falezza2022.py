"""[falezza2022] section 5 on the virtual bench: M_s against M_f on Y1, Y2, Y3, and their cost."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

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
    Count,
    c_function,
    exact_from_platform,
    operation_counts,
    simplified_from_platform,
)
from deltadyn.reproduce.result import Cell, Check, Reproduction, Table
from deltadyn.reproduce.trials import (
    BAND,
    BAND_STATEMENT,
    BENCH_STATEMENT,
    CALIBRATION_STATEMENT,
    JOINTS,
    ROBOT,
    Errors,
    Trial,
    errors,
    progress_bar,
    trial,
    whole_number,
)
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot

M_S, M_F = "M_s", "M_f"
MORE = M_S_ROTOR, M_F_FRICTION = "M_s and rotor", "M_f and friction"
PaperErrors = dict[str, tuple[tuple[float, ...], tuple[float, ...]]]

# [falezza2022] tables 3-5: mean and standard deviation (N m) of joints 1, 2, 3.
TABLES: dict[str, PaperErrors] = {
    "Y1": {
        M_S: ((10.17, 5.74, 4.85), (11.66, 13.23, 9.51)),
        M_F: ((0.63, -2.99, -3.77), (6.42, 7.79, 6.61)),
    },
    "Y2": {
        M_S: ((12.13, 7.25, 6.02), (27.72, 23.74, 23.87)),
        M_F: ((2.41, -1.43, -2.18), (14.27, 12.62, 11.60)),
    },
    "Y3": {
        M_S: ((11.01, 4.93, 7.36), (2.36, 3.37, 2.68)),
        M_F: ((1.46, -3.69, -1.76), (2.17, 2.95, 2.52)),
    },
}
SLOW = 0.5  # of the robot's limits: Y1 and Y3 once more
BETTER = 1.0  # times: the paper claims that M_f is better; how much depends on the motion
PICKS, LAYOUTS = 2, 8  # of Y1: objects, and layouts with which the one in use is compared
FORCE = (15.0, -10.0, -30.0)  # N, on the platform
EXPLAINED = 0.15  # of what M_f takes off M_s: how far it may be from the torque between them
SPLIT = 0.25  # of the paper's M_f in table 5: how far it may be from what its M_s asks for
SAME = 1e-9  # N m: compiled and interpreted code round differently
STATIC = 1.0  # N m: above the largest difference of right models at rest, which is 0.9
TABLE_7 = {M_S: (32.10, 35.97), M_F: (4.65, 5.02)}  # kHz, average and maximum, one core
SAMPLES, SINGLES, RUNS = 10_000, 200, 3  # evaluations that are timed: in arrays, one by one

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
        return _taken_off(self.found[M_S].std, self.found[M_F].std)

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
    plans: list[tuple[str, Motion]] = [
        ("Y1", y1(robot, picks=PICKS, seed=seed)),
        ("Y2", y2(robot)),
        ("Y3", y3(robot, dwell=dwell)),
    ]
    cases = {}
    with progress_bar(list(enumerate(plans)), progress, len(plans)) as bar:
        for k, (name, motion) in bar:
            cases[name] = _case(robot, trial(robot, name, motion, 10 * seed + k))
    again = {"Y1": y1(robot, picks=PICKS, seed=seed, share=SLOW)}
    again["Y3"] = y3(robot, dwell=dwell, share=SLOW)
    slow = {
        name: _case(robot, trial(robot, f"{name}, slow", motion, 10 * seed + 4 + k))
        for k, (name, motion) in enumerate(again.items())
    }
    found = Found(cases, slow)
    machine = cases["Y1"].trial.run.truth.robot
    static = largest_static_difference(robot)
    pushed = _force_case(robot, seed)
    built = build(robot, machine, plans[1][1])
    counts = {
        count.name: count for count in operation_counts(robot, load_robot("telescopic-delta"))
    }
    return Reproduction(
        paper="falezza2022",
        title="the simplified model M_s against the complete model M_f, on the virtual bench",
        tables=(
            *(_error_table(name, number, cases[name]) for number, name in enumerate(TABLES, 3)),
            _ratios(cases),
            _places_table(found),
            _stops_table(found),
            operations_table(counts),
            rates_table(robot, machine, [motion for _, motion in plans], built),
            _force_table(pushed),
        ),
        statements=_statements(robot, found, machine, static),
        checks=(
            *_checks(cases, static, counts["exact, 3-DOF"].written.total, pushed),
            *_row_checks(found, built),
        ),
        data=found,
    )


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


def _error_table(name: str, number: int, case: Case) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for model, ours in case.found.items():
        mean, std = TABLES[name].get(model, ((None,) * 3, (None,) * 3))
        for i, joint in enumerate(JOINTS):
            own = (ours.mean[i], std[i], ours.std[i], ours.mean_all[i], ours.std_all[i])
            rows.append((model, joint, mean[i], *own))
    t = case.trial.prepared.t
    return Table(
        f"Table {number}: torque error on {name} (N m), {t[-1] - t[0]:.1f} s with "
        f"{_liveliness(case.trial.run.reference):.1f} m/s^2 RMS",
        ("model", "joint", "mean paper", "ours", "std paper", "ours", "mean all", "std all"),
        tuple(rows),
    )


def _ratios(cases: dict[str, Case]) -> Table:
    rows = []
    for name, case in cases.items():
        for i, joint in enumerate(JOINTS):
            paper = TABLES[name][M_S][1][i] / TABLES[name][M_F][1][i]
            found = case.found
            rotor, friction = (found[M_S].std[i] / found[model].std[i] for model in MORE)
            ours = found[M_S].std[i] / found[M_F].std[i]
            rows.append((name, joint, paper, ours, rotor, friction))
    return Table(
        "How many times smaller the standard deviation is than that of M_s",
        ("trajectory", "joint", "M_f paper", "M_f ours", *(f"{model} ours" for model in MORE)),
        tuple(rows),
        f"Below {BAND:g} Hz.",
    )


def _taken_off(simple: Sequence[float], complete: Sequence[float]) -> FloatArray:
    """sqrt(std_s^2 - std_f^2): right where the rest of the error does not go with it."""
    square: FloatArray = np.square(simple) - np.square(complete)
    return np.sqrt(np.maximum(square, 0.0))


def _places_table(found: Found) -> Table:
    """Why Y1 and Y2 change places: M_s errs by the rotors' torque."""
    first, slow, second = found.cases["Y1"], found.slow["Y1"], found.cases["Y2"]
    rows: list[tuple[Cell, ...]] = []
    for name, case, printed in (
        ("Y1", first, True),
        (f"Y1 at {SLOW:g} of the limits", slow, False),
        ("Y2", second, True),
    ):
        paper = TABLES[name[:2]]
        rotor = case.trial.run.truth.robot.drives.output_inertia[0] * case.acceleration
        own = (case.taken_off, case.between, rotor, case.acceleration)
        theirs = _taken_off(paper[M_S][1], paper[M_F][1])
        for i, joint in enumerate(JOINTS):
            cells = (paper[M_S][1][i], float(theirs[i])) if printed else (None, None)
            numbers = (case.found[M_S].std[i], *(float(part[i]) for part in own))
            rows.append((name, joint, *cells, *numbers))
    return Table(
        "Why Y1 and Y2 change places: standard deviations (N m)",
        (
            "trajectory",
            "joint",
            "M_s paper",
            "taken off paper",
            "M_s ours",
            "taken off ours",
            "M_f less M_s",
            "rotor x qdd",
            "qdd (rad/s^2)",
        ),
        tuple(rows),
        f"Below {BAND:g} Hz. 'taken off': sqrt(std^2 of M_s - std^2 of M_f), what M_f gains; 'M_f "
        "less M_s': the torque by which the two models differ.",
    )


def _stops_table(found: Found) -> Table:
    """Table 5 in its parts: what moves and what stands."""
    rows: list[tuple[Cell, ...]] = []
    for name, case in (("Y3", found.cases["Y3"]), (f"Y3 at {SLOW:g}", found.slow["Y3"])):
        stops = Stops.of(case)
        for i, joint in enumerate(JOINTS):
            parts = [
                part[model][i] for model in (M_S, M_F) for part in (stops.moving, stops.standing)
            ]
            share, complete = 100 * float(stops.share[i]), float(stops.complete[i])
            paper = TABLES["Y3"][M_F][1][i]
            rows.append((name, joint, *map(float, parts), share, complete, paper))
    return Table(
        "Parts of table 5: standard deviation of the error (N m)",
        (
            "trajectory",
            "joint",
            "M_s moving",
            "standing",
            "M_f moving",
            "standing",
            "moving %",
            "M_f then",
            "M_f paper",
        ),
        tuple(rows),
        f"Below {BAND:g} Hz. 'moving %': the share of the time at which M_s has the paper's "
        "deviation; 'M_f then': that of M_f at this share.",
    )


def _force_case(robot: Robot, seed: int) -> dict[str, Errors]:
    """The errors of M_f where a constant force pushes the platform along Y2."""
    done = trial(robot, "Y2, pushed", y2(robot), 10 * seed + 3, external_force=FORCE)
    turned = robot.with_rotor_inertia(done.run.truth.robot.drives.output_inertia)
    torques = {
        "M_f without the force": inverse_dynamics(turned, done.prepared.state, friction=False),
        "M_f with the force": inverse_dynamics(
            turned, done.prepared.state, friction=False, external_force=FORCE
        ),
    }
    return {name: errors(done.prepared, tau) for name, tau in torques.items()}


def _force_table(pushed: dict[str, Errors]) -> Table:
    rows = [
        (name, joint, found.mean[i], found.std[i])
        for name, found in pushed.items()
        for i, joint in enumerate(JOINTS)
    ]
    force = ", ".join(f"{value:g}" for value in FORCE)
    return Table(
        f"External force of ({force}) N on the platform, along Y2: torque error (N m)",
        ("model", "joint", "mean", "std"),
        tuple(rows),
        "The paper has the force in eq. 4, takes it as 0 and makes no experiment with it.",
    )


def _statements(robot: Robot, found: Found, machine: Robot, static: float) -> tuple[str, ...]:
    cases = found.cases
    y3_t, dwell = cases["Y3"].trial.prepared.t, _still(cases["Y3"].trial)
    return (
        _shift_sentence(cases, static),
        "M_s and M_f are used as in the paper: the parameters of its table 1, no friction in "
        "either, rotors in M_f alone. The paper gives no rotor inertia; M_f gets that of the "
        f"bench, {machine.drives.output_inertia[0]:.2f} kg m^2 at the output side. M_f is the "
        "exact model: what the paper intends, with rods, generic arm and rotor.",
        *_sources(cases),
        BENCH_STATEMENT,
        CALIBRATION_STATEMENT,
        "Y1, Y2 and Y3 are known from a figure without numbers; their layout and times are ours. "
        f"Our Y3 stands still for {dwell:.1f} of {y3_t[-1] - y3_t[0]:.1f} s. The force is ours, "
        "too.",
        _places_sentence(found),
        _stops_sentence(found),
        _layout_sentence(robot, cases["Y1"].trial),
        BAND_STATEMENT,
        "Rates come from the Kalman smoother, as in the paper, with its bandwidth from the data.",
    )


def _shift_sentence(cases: dict[str, Case], static: float) -> str:
    """The mean shift of tables 3-5 against what right models can differ by."""
    paper = [TABLES[name][M_S][0][i] - TABLES[name][M_F][0][i] for name in TABLES for i in range(3)]
    own = [
        abs(case.found[M_S].mean_all[i] - case.found[M_F].mean_all[i])
        for case in cases.values()
        for i in range(3)
    ]
    return (
        f"The paper's M_f shifts the mean torque of every joint by {min(paper):.1f} to "
        f"{max(paper):.1f} N m against M_s. Right rods and a right arm change the torque at rest "
        f"by at most {static:.2f} N m in the whole workspace, and a rotor changes it not at all: "
        "that part of tables 3-5 cannot come from a right model. Here the means of both models, "
        f"over whole motions, differ by at most {max(own):.2f} N m."
    )


def _sources(cases: dict[str, Case]) -> tuple[str, str]:
    """How much of the difference the rotor makes, and how much of the rest is friction."""
    rotor, friction = [], []
    for case in cases.values():
        std = {name: np.asarray(found.std) for name, found in case.found.items()}
        rotor += (100 * (std[M_S] - std[M_S_ROTOR]) / (std[M_S] - std[M_F])).tolist()
        friction += (std[M_F] / std[M_F_FRICTION]).tolist()
    return (
        f"'{M_S_ROTOR}' gives M_s the rotors of M_f: of what M_f takes off the standard deviation "
        f"of M_s, the rotors alone take off {min(rotor):.0f} to {max(rotor):.0f} %. The rods and "
        "the generic arm are the rest.",
        f"'{M_F_FRICTION}' gives M_f the friction that the bench was built with: the standard "
        f"deviation falls by another {min(friction):.1f} to {max(friction):.1f} times. The paper "
        "names friction at the joints among the causes that M_f leaves out.",
    )


def _places_sentence(found: Found) -> str:
    """Why M_s errs more on Y2 in the paper and more on Y1 here."""
    first, slow, second = found.cases["Y1"], found.slow["Y1"], found.cases["Y2"]
    paper = [_taken_off(TABLES[name][M_S][1], TABLES[name][M_F][1]) for name in ("Y1", "Y2")]
    theirs, ours = paper[1] / paper[0], second.taken_off / first.taken_off
    left = np.divide(TABLES["Y2"][M_F][1], TABLES["Y1"][M_F][1])
    own = np.divide(second.found[M_F].std, first.found[M_F].std)
    return (
        "M_s errs more on Y2 in the paper and more on Y1 here, because it lacks the rotors and "
        "errs by their inertia times the joints' acceleration. The paper's Y2 has "
        f"{_span(theirs)} times what M_f takes off on Y1, ours {_span(ours)} times: our Y1 goes at "
        f"the limits of the robot, with {_span(first.acceleration, 0)} rad/s^2 at the joints. At "
        f"{SLOW:g} of the limits it has {_span(slow.acceleration, 0)} beside "
        f"{_span(second.acceleration, 0)} of Y2, and M_s errs by "
        f"{_span(np.divide(slow.found[M_S].std, second.found[M_S].std))} of what it does on Y2 "
        "(paper: "
        f"{_span(np.divide(TABLES['Y1'][M_S][1], TABLES['Y2'][M_S][1]))}). What the bench does not "
        f"show: the paper's M_f errs {_span(left)} times as much on Y2 as on Y1, ours "
        f"{_span(own)} times. Friction, which is left here, hardly grows with acceleration."
    )


def _stops_sentence(found: Found) -> str:
    """What table 5 says about the paper's Y3."""
    fast, slow = Stops.of(found.cases["Y3"]), Stops.of(found.slow["Y3"])
    return (
        "Table 5: where the robot stands M_s and M_f err alike, where it moves they do not. The "
        f"paper's M_s needs a Y3 that moves {_span(100 * fast.share, 1)} % of the time at the "
        f"limits, or {_span(100 * slow.share, 1)} % at {SLOW:g} of them (stops of "
        f"{_span(slow.dwell, 0)} s). At the limits M_f would then be off the paper's by up to "
        f"{100 * fast.off:.0f} %, at {SLOW:g} by up to {100 * slow.off:.0f} %. So the paper's Y3 "
        "is likely to move slowly and to stand most of the time."
    )


def _span(values: FloatArray, digits: int = 2) -> str:
    """From the least to the largest."""
    return f"{values.min():.{digits}f} to {values.max():.{digits}f}"


def _layout_sentence(robot: Robot, done: Trial) -> str:
    """How lively this Y1 is among other layouts: what M_f gains depends on it."""
    own = _liveliness(done.run.reference)
    others = [_liveliness(y1(robot, picks=PICKS, seed=seed)) for seed in range(LAYOUTS)]
    return (
        f"How much M_f gains depends on the motion: rotor torque goes with acceleration, friction "
        f"does not. This Y1 has {own:.1f} m/s^2 RMS; the layouts of seeds 0 to {LAYOUTS - 1} have "
        f"{min(others):.1f} to {max(others):.1f}."
    )


def _liveliness(motion: Motion) -> float:
    """RMS acceleration of the platform, in m/s^2."""
    return float(np.sqrt(np.mean(np.sum(motion.pdd[:, :3] ** 2, axis=1))))


def _still(done: Trial) -> float:
    """Seconds of a motion at which nothing moves."""
    reference = done.run.reference
    return float((np.abs(reference.qd).max(axis=1) == 0).mean() * reference.t[-1])


def _checks(
    cases: dict[str, Case], static: float, operations: int, pushed: dict[str, Errors]
) -> tuple[Check, ...]:
    better = [
        Check.at_least(
            f"standard deviation of M_s over that of M_f on {name}, the smallest joint",
            min(case.found[M_S].std[i] / case.found[M_F].std[i] for i in range(3)),
            BETTER,
        )
        for name, case in cases.items()
    ]
    given = pushed["M_f with the force"]
    return (
        *better,
        Check.at_most("largest difference of M_f and M_s at rest", static, STATIC, "N m"),
        Check.at_most("operations of the exact model", operations, TABLE_6[M_F].total),
        Check.at_most(
            "mean error of M_f under a known force, the largest joint",
            max(abs(value) for value in given.mean),
            1.0,
            "N m",
        ),
    )


def _row_checks(found: Found, built: Built) -> tuple[Check, ...]:
    """Table 5, the places of Y1 and Y2, and the compiled models of table 7."""
    explained = [
        np.abs(case.taken_off / case.between - 1).max()
        for case in (found.cases["Y1"], found.slow["Y1"], found.cases["Y2"])
    ]
    slow, second = found.slow["Y1"].found[M_S].std, found.cases["Y2"].found[M_S].std
    checks = [
        Check.at_most(
            "what M_f takes off against the torque between the models, largest relative error",
            max(explained),
            EXPLAINED,
        ),
        Check.at_most(
            f"standard deviation of M_s on Y1 at {SLOW:g} of the limits over that on Y2, largest",
            float(np.divide(slow, second).max()),
            1.0,
        ),
        Check.at_most(
            f"table 5 from Y3 at {SLOW:g} of the limits: M_f against the paper's, largest error",
            Stops.of(found.slow["Y3"]).off,
            SPLIT,
        ),
    ]
    if built.difference is not None:
        what = "models in C against inverse_dynamics, largest difference"
        checks.append(Check.at_most(what, built.difference, SAME, "N m"))
    return tuple(checks)


def operations_table(counts: dict[str, Count]) -> Table:
    """Scalar operations of both models, counted by running them on numbers that count."""
    ours = {M_S: "M_s by the paper's route", M_F: "exact, 3-DOF"}
    rows = [
        (
            model,
            TABLE_6[model].total,
            ours[model],
            count.inputs,
            count.written.total,
            count.shared.total,
        )
        for model, count in ((model, counts[name]) for model, name in ours.items())
    ]
    return Table(
        "Table 6: scalar operations of one evaluation",
        ("model", "paper", "ours", "from", "as written", "equal ones shared"),
        tuple(rows),
        "The exact model starts from the platform's motion and includes the inverse kinematics.",
    )


def rates_table(robot: Robot, machine: Robot, motions: Sequence[Motion], built: Built) -> Table:
    """How often a second both models are computed on one core, in C and by this Python."""
    turned = robot.with_rotor_inertia(machine.drives.output_inertia)
    inputs = [_repeated(motion) for motion in motions]
    users = ((M_S, robot, "half-half"), (M_F, turned, "exact"))
    rows: list[tuple[Cell, ...]] = [("paper, C++ at 2.5 GHz", *TABLE_7[M_S], *TABLE_7[M_F])]
    if built.library is not None:
        rates = [_rates([_in_c(built, model, x) for x in inputs]) for model, _, _ in users]
        rows.append((f"C, {built.status}", *rates[0], *rates[1]))
    with kernels_switched_off():  # both models by the same means
        for name, make in (("NumPy, arrays", _in_arrays), ("NumPy, one by one", _one_by_one)):
            rates = [_rates([make(user, model, x) for x in inputs]) for _, user, model in users]
            rows.append((name, *rates[0], *rates[1]))
    heads = [f"{model} {what}" for model in (M_S, M_F) for what in ("average", "maximum")]
    return Table(
        "Table 7: evaluations a second (kHz), from p, pd, pdd",
        ("code", *heads, "M_s over M_f, maxima"),
        tuple((*row, float(row[2]) / float(row[4])) for row in rows),  # type: ignore[arg-type]
        ("" if built.library else f"No row in C: {built.status}. ")
        + "C: the operations of table 6 with equal ones shared, one a line. NumPy: this package "
        f"without its compiled kernels, in arrays of {SAMPLES} and one by one, where it pays for "
        f"the calls. Over {RUNS} runs on each of Y1, Y2, Y3, on the computer that made this table; "
        "the rates change from run to run.",
        digits=1,
    )


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


def _in_c(built: Built, model: str, x: FloatArray) -> Work:
    def work() -> int:
        built.torque(model, x)
        return len(x)

    return work


def _in_arrays(robot: Robot, model: str, x: FloatArray) -> Work:
    def work() -> int:
        state = State.from_platform(robot, x[:, :3], x[:, 3:6], x[:, 6:])
        inverse_dynamics(robot, state, model, friction=False)
        return len(x)

    return work


def _one_by_one(robot: Robot, model: str, x: FloatArray) -> Work:
    def work() -> int:
        for row in x[:SINGLES]:
            one = State.from_platform(robot, row[:3], row[3:6], row[6:])
            inverse_dynamics(robot, one, model, friction=False)
        return SINGLES

    return work


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
