"""[falezza2022] section 5 on the virtual bench: M_s against M_f on Y1, Y2, Y3, and their cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import inverse_dynamics
from deltadyn.kernels import switched_off as kernels_switched_off
from deltadyn.kinematics import State
from deltadyn.motion import Motion, y1, y2, y3
from deltadyn.motion.scenarios import usable_cylinder
from deltadyn.reproduce.audit.operations import TABLE_6, Count, operation_counts
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
from deltadyn.robot_file import load_robot

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
BETTER = 1.0  # times: the paper claims that M_f is better; how much depends on the motion
PICKS, LAYOUTS = 2, 8  # of Y1: objects, and layouts with which the one in use is compared
FORCE = (15.0, -10.0, -30.0)  # N, on the platform
STATIC = 1.0  # N m: above the largest difference of right models at rest, which is 0.9
TABLE_7 = {M_S: 32.10, M_F: 4.65}  # kHz, average on one core of 2.5 GHz
SAMPLES, SINGLES = 20_000, 300  # evaluations that are timed: in arrays, one by one


@dataclass(frozen=True, eq=False)
class Case:
    """A trajectory on the bench with every model's torque (N, 3) and error."""

    trial: Trial
    torques: dict[str, FloatArray]
    found: dict[str, Errors]


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
    machine = cases["Y1"].trial.run.truth.robot
    static = largest_static_difference(robot)
    pushed = _force_case(robot, seed)
    counts = {
        count.name: count for count in operation_counts(robot, load_robot("telescopic-delta"))
    }
    return Reproduction(
        paper="falezza2022",
        title="the simplified model M_s against the complete model M_f, on the virtual bench",
        tables=(
            *(_error_table(name, number, cases[name]) for number, name in enumerate(TABLES, 3)),
            _ratios(cases),
            operations_table(counts),
            rates_table(robot, machine),
            _force_table(pushed),
        ),
        statements=_statements(robot, cases, machine, static),
        checks=_checks(cases, static, counts["exact, 3-DOF"].written.total, pushed),
        data=cases,
    )


def largest_static_difference(robot: Robot) -> float:
    """The largest torque (N m) between exact and half-half at rest, over the workspace."""
    cylinder = usable_cylinder(robot)
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


def _statements(
    robot: Robot, cases: dict[str, Case], machine: Robot, static: float
) -> tuple[str, ...]:
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
        f"Our Y3 stands still for {dwell:.1f} of {y3_t[-1] - y3_t[0]:.1f} s; the paper's "
        "smaller deviations on Y3 suggest longer stops or slower moves. The force is ours too.",
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


def rates_table(robot: Robot, machine: Robot) -> Table:
    """How often a second both models are computed by this Python, on one core."""
    motion = y2(robot)
    rows = np.arange(SAMPLES) % len(motion)
    p, pd, pdd = (array[rows] for array in (motion.p, motion.pd, motion.pdd))
    turned = robot.with_rotor_inertia(machine.drives.output_inertia)
    out = []
    for model, user, name in ((M_S, robot, "half-half"), (M_F, turned, "exact")):

        def arrays(user: Robot = user, name: str = name) -> int:
            inverse_dynamics(user, State.from_platform(user, p, pd, pdd), name, friction=False)
            return SAMPLES

        def singles(user: Robot = user, name: str = name) -> int:
            for row in range(SINGLES):
                one = State.from_platform(user, p[row], pd[row], pdd[row])
                inverse_dynamics(user, one, name, friction=False)
            return SINGLES

        with kernels_switched_off():  # both models by the same means
            out.append((model, TABLE_7[model], _kilohertz(arrays), _kilohertz(singles)))
    return Table(
        "Table 7: evaluations a second (kHz)",
        ("model", "paper, C++ at 2.5 GHz", "ours, arrays", "ours, one by one"),
        tuple(out),
        "Ours is Python with NumPy on the computer that made this table, from p, pd, pdd, and "
        "changes from run to run. One by one it pays for the calls, not for the arithmetic.",
    )


def _kilohertz(work: Callable[[], int]) -> float:
    """The best of three runs."""
    best = 0.0
    for _ in range(3):
        start = perf_counter()
        count = work()
        best = max(best, count / (perf_counter() - start) / 1e3)
    return best
