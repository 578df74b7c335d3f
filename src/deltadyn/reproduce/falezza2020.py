"""[falezza2020] section 6 on the virtual bench: M_KH, M_Id, M_Id+F, table 1, and the payload.

Sections 5 and 6 with payload (eqs. 9-11, figures 7 and 8, table 2) follow at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import exact_parameters, inverse_dynamics, regressor
from deltadyn.dynamics.lumped import half_half_parameters
from deltadyn.identification.identify import identify
from deltadyn.identification.methods.gray_box import M_ID, M_ID_F, M_KH, GrayBoxResult, gray_box
from deltadyn.kinematics import State, jacobian
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.motion import LimitError, Motion, spline_move, y1, y2, y3
from deltadyn.payload import NoiseModel, PayloadEstimator, payload_column
from deltadyn.payload.forgetting import FORGETTING, forgetting_masses, printed_matrices
from deltadyn.payload.front_end import even_rows
from deltadyn.reproduce.result import Cell, Check, Reproduction, Table
from deltadyn.reproduce.trials import (
    BAND,
    BAND_STATEMENT,
    BENCH_STATEMENT,
    CALIBRATION_STATEMENT,
    JOINTS,
    RATE,
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

# [falezza2020] table 1: mean and standard deviation (N m) of joints 1, 2, 3 over v_F.
TABLE_1 = {
    M_KH: ((14.32, 7.98, 6.62), (23.97, 20.30, 20.23)),
    M_ID: ((3.62, -1.09, -2.10), (11.89, 11.55, 11.91)),
    M_ID_F: ((3.94, -1.11, -1.49), (5.67, 5.79, 6.06)),
}
EXACT = "exact, identified"
REDUCTION = 3.0  # times: the paper's smallest is 3.3
MEETING = 1e-5  # of the grid and the closed form: ten spacings of the last grid
COUNT = 12  # trajectories, as in the paper
SHARES = (1.0, 0.7, 0.45)  # of the robot's limits
PLACES = 12  # of a spline
SHRINK = 0.95  # a spline that leaves the workspace is made smaller until it stays inside

TRAJECTORY_STATEMENT = (
    "The paper names 12 trajectories without describing them. Ours are four kinds, each at 1, 0.7 "
    "and 0.45 of the robot's limits: pick and place between two belts, quick and slow moves in the "
    "middle, moves to three places near the border, and a spline through random places. v_F is a "
    "spline through places near the border at the limits of the robot, and was not used for the "
    "fit; the paper does not say whether its v_F was."
)

MASS = 3.8  # kg, as in the paper
PAYLOAD_SHARE = 0.7  # of the robot's limits: with 3.8 kg the drives stay below their peak torque
PAYLOAD_PICKS = 2
WITHOUT, WITH, OURS = "M_Id+F, m_P = 0", "M_Id+F, eq. 11", "exact, PayloadEstimator"
# [falezza2020] table 2: mean and standard deviation (N m) of joints 1, 2, 3 over v_P.
TABLE_2 = {
    WITHOUT: ((13.91, 7.27, 5.88), (13.27, 16.52, 5.96)),
    WITH: ((0.42, -0.02, 0.27), (7.39, 7.49, 5.40)),
}
TENTH = 0.1  # of the mean error without estimation: what ours may leave
SETTLED = 0.5  # s after which the estimates are compared with the true mass
PRINTED = 200  # samples over which eq. 11 is run as printed
RIGHT = 0.05  # of the mass: how far the mean of eq. 11, mended, may be off


@dataclass(frozen=True, eq=False)
class PayloadData:
    """What was found on v_P: torques (N, dof), errors, and masses over time (N,) in kg."""

    trial: Trial
    torques: dict[str, FloatArray]
    found: dict[str, Errors]
    masses: FloatArray  # eq. 11, mended, on the measured torque
    simulated: FloatArray  # the same on the model's own torque
    mass: FloatArray  # PayloadEstimator
    std: FloatArray
    matrices: FloatArray  # (N, 3, 3)


@dataclass(frozen=True, eq=False)
class Found:
    """What was found on v_F: every model's torque (N, dof), its errors, the fit; the payload."""

    unseen: Trial
    torques: dict[str, FloatArray]
    found: dict[str, Errors]
    result: GrayBoxResult
    load: PayloadData


def falezza2020(
    *, seed: int = 0, trajectories: int = COUNT, progress: bool = False
) -> Reproduction:
    """Identify the gray box on the virtual bench and judge the three models on v_F, unseen.

    Then estimate a payload of 3.8 kg on v_P with them.

    Another `seed` gives other places and another noise. Fewer `trajectories` than 12 save time:
    the fast ones come first.
    """
    whole_number("seed", seed, 0)
    whole_number("trajectories", trajectories, 1)
    robot = load_robot(ROBOT)
    plans = [identification_motion(robot, k, seed) for k in range(trajectories)]
    plans.append(("v_F", _spline(robot, 0.7, 0.9, 1.0, 1000 * seed + 999)))
    with progress_bar(list(enumerate(plans)), progress, len(plans)) as bar:
        trials = [trial(robot, name, motion, 1000 * seed + k) for k, (name, motion) in bar]
    *seen, unseen = trials
    result = gray_box(
        robot,
        [(item.prepared.state, item.prepared.tau) for item in seen],
        limit=[item.prepared.limited for item in seen],
    )
    state = unseen.prepared.state
    torques = {
        name: inverse_dynamics(model, state, "gray-box") for name, model in result.robots.items()
    }
    torques[EXACT] = exact_torque(robot, seen)(unseen)
    found = {name: errors(unseen.prepared, tau) for name, tau in torques.items()}
    load = payload_part(robot, seen, result, seed)
    return Reproduction(
        paper="falezza2020",
        title="gray-box identification and payload estimation on the virtual bench",
        tables=(
            _table_1(found),
            _reductions(found),
            _factors(robot, result, unseen.run.truth.robot),
            _per_trajectory(seen, result),
            *load.tables,
        ),
        statements=(*_statements(robot, unseen, result), *load.statements),
        checks=(*_checks(found, result), *load.checks),
        data=Found(unseen, torques, found, result, load.data),
    )


def identification_motion(robot: Robot, index: int, seed: int) -> tuple[str, Motion]:
    """Trajectory `index`: four kinds in turn, each round slower than the last; then from anew."""
    share = SHARES[index // 4 % len(SHARES)]
    own = 1000 * seed + index
    kinds: tuple[tuple[str, Callable[[], Motion]], ...] = (
        ("two belts", lambda: y1(robot, picks=1, seed=own, share=share)),
        ("middle", lambda: y2(robot, share=share)),
        ("border", lambda: y3(robot, dwell=0.1, share=share)),
        ("random places", lambda: _spline(robot, 0.2, 0.7, share, own)),
    )
    name, make = kinds[index % 4]
    return f"{name}, {share:g}", make()


def exact_torque(robot: Robot, trials: Sequence[Trial]) -> Callable[[Trial], FloatArray]:
    """The exact model by least squares: ten inertial parameters, six of friction, all trials."""

    def columns(item: Trial) -> FloatArray:
        return regressor(robot, item.prepared.state, "exact", tied=False).Y

    left = [item.prepared.limited(columns(item)) for item in trials]
    right = [item.prepared.limited(item.prepared.tau) for item in trials]
    Y, tau = np.concatenate(left), np.concatenate(right)
    values = np.linalg.lstsq(Y.reshape(-1, Y.shape[-1]), tau.ravel(), rcond=None)[0]
    return lambda item: columns(item) @ values


def _spline(robot: Robot, low: float, high: float, share: float, seed: int) -> Motion:
    """A spline through places at `low` to `high` of the radius, each far from the one before."""
    cylinder, rng = working_cylinder(robot), np.random.default_rng(seed)
    azimuth = np.cumsum(rng.uniform(0.5, 1.0, PLACES) * np.pi) + rng.uniform(0, 2 * np.pi)
    radius = cylinder.radius * rng.uniform(low, high, PLACES)
    centre = np.array([0.0, 0.0, (cylinder.z_min + cylinder.z_max) / 2])
    z = 0.35 * (cylinder.z_max - cylinder.z_min) * rng.uniform(-1, 1, PLACES)
    places = np.stack([radius * np.cos(azimuth), radius * np.sin(azimuth), z], axis=1)
    while True:
        try:
            return spline_move(robot, places + centre, share=share)
        except LimitError:
            places = SHRINK * places


def _table_1(found: dict[str, Errors]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, ours in found.items():
        mean, std = TABLE_1.get(name, ((None,) * 3, (None,) * 3))
        for i, joint in enumerate(JOINTS):
            own = (ours.mean[i], std[i], ours.std[i], ours.mean_all[i], ours.std_all[i])
            rows.append((name, joint, mean[i], *own))
    return Table(
        "Table 1: torque error on v_F (N m), measured minus computed",
        ("model", "joint", "mean paper", "ours", "std paper", "ours", "mean all", "std all"),
        tuple(rows),
        f"Ours below {BAND:g} Hz; 'all': the samples as they are. The exact model is not in the "
        "paper: ten inertial parameters and six of friction by least squares over the same "
        "trajectories.",
    )


def _reductions(found: dict[str, Errors]) -> Table:
    rows = []
    for i, joint in enumerate(JOINTS):
        paper = TABLE_1[M_KH][1][i] / TABLE_1[M_ID_F][1][i]
        first, last, exact = found[M_KH], found[M_ID_F], found[EXACT]
        ours = (first.std[i] / last.std[i], first.std_all[i] / last.std_all[i])
        beyond = (first.std[i] / exact.std[i], first.std_all[i] / exact.std_all[i])
        rows.append((joint, paper, *ours, *beyond))
    return Table(
        "How many times smaller the standard deviation is than that of M_KH",
        ("joint", "M_Id+F paper", "M_Id+F ours", "all", "exact ours", "all"),
        tuple(rows),
    )


def _factors(robot: Robot, result: GrayBoxResult, machine: Robot) -> Table:
    """rho1, rho2 and friction; the machine's own values beside them, which only a bench has."""
    nominal, true = half_half_parameters(robot), exact_parameters(machine)
    own = [float(np.mean(np.divide(a, b))) for a, b in ((true.A, nominal.A), (true.G, nominal.G))]
    spread = [
        float(np.std([getattr(fit, name) for fit in result.per_trajectory]))
        for name in ("rho1", "rho2")
    ]
    rows: list[tuple[Cell, ...]] = [
        ("rho1", "1", "not given", result.rho1, spread[0], own[0]),
        ("rho2", "1", "not given", result.rho2, spread[1], own[1]),
    ]
    for name, unit in (("viscous", "N m s/rad"), ("coulomb", "N m")):
        each = np.array([getattr(fit, name) for fit in result.per_trajectory])
        for i in range(robot.dof):
            mean = float(getattr(result, name)[i])
            value = float(getattr(machine.friction, name)[i])
            cells = ("not given", mean, float(each[:, i].std()), value)
            rows.append((f"{name} {i + 1}", unit, *cells))
    return Table(
        "Factors and friction: averages over trajectories, and their spread",
        ("parameter", "unit", "paper", "ours", "std over trajectories", "machine"),
        tuple(rows),
        "'machine' is what the bench was built with: arm inertia with rotor, and arm gravity, over "
        "those of M_KH, averaged over the arms; friction at 25 degrees C without its Stribeck and "
        "load-dependent parts, which the fit spreads over its two terms. The factors also take up "
        "the coupling m_x of the struts, which M_KH lacks.",
        digits=3,
    )


def _per_trajectory(trials: Sequence[Trial], result: GrayBoxResult) -> Table:
    rows = []
    for item, fit in zip(trials, result.per_trajectory, strict=True):
        duration = float(item.prepared.t[-1] - item.prepared.t[0])
        factors = (fit.rho1, fit.rho2, *fit.least_squares)
        rows.append((item.name, duration, *factors, fit.rms_before, fit.rms_after))
    return Table(
        "Each trajectory: its factors by the grid and in closed form, RMS error (N m)",
        (
            "kind, share of limits",
            "s",
            "rho1",
            "rho2",
            "rho1 LS",
            "rho2 LS",
            "M_KH",
            "best factors",
        ),
        tuple(rows),
        result.status.capitalize() + ".",
        digits=3,
    )


def _statements(robot: Robot, unseen: Trial, result: GrayBoxResult) -> tuple[str, ...]:
    state, machine = unseen.prepared.state, unseen.run.truth.robot
    radius = float(np.hypot(state.p[:, 0], state.p[:, 1]).max())
    largest = np.linalg.norm(unseen.run.reference.pdd, axis=1).max()
    return (
        BENCH_STATEMENT,
        CALIBRATION_STATEMENT,
        TRAJECTORY_STATEMENT,
        f"v_F reaches {radius:.2f} m from the axis and {largest:.0f} m/s^2.",
        BAND_STATEMENT,
        "rho1 stands for the rotor above all: M_KH has none, and the rotors of the bench have "
        f"{machine.drives.output_inertia[0]:.2f} kg m^2 at the output side. Those of the real "
        "robot are not published, nor are the factors and the friction that the paper found.",
        _mean_sentence(robot, state),
        "The paper pairs the columns [rate, sign] with [f_c, f_v]; here they are paired with "
        "[f_v, f_c].",
        *_friction_sentence(result),
    )


def _mean_sentence(robot: Robot, state: State) -> str:
    """Why the paper's mean errors cannot come from a factor of gravity near 1."""
    gravity = robot.gravity * np.asarray(half_half_parameters(robot).G) * state.cos_q
    fall = np.subtract(TABLE_1[M_KH][0], TABLE_1[M_ID][0])
    needed = 1 - fall / gravity.mean(axis=0)
    falls, factors = (", ".join(f"{x:.1f}" for x in values) for values in (fall, needed))
    return (
        "The paper's mean errors are not reproduced: the torque of the bench has no offset. From "
        f"M_KH to M_Id its means fall by {falls} N m. rho1 cannot do that, because the mean "
        "acceleration from rest to rest is 0. rho2 scales an arm gravity of at most "
        f"{gravity.max():.1f} N m, and would have to be {factors} on this v_F."
    )


def _friction_sentence(result: GrayBoxResult) -> tuple[str, ...]:
    negative = min(result.viscous.min(), result.coulomb.min())
    each = np.array([[fit.viscous, fit.coulomb] for fit in result.per_trajectory])
    count = int((each < 0).sum())
    if negative >= 0 and count == 0:
        return ("No friction coefficient came out negative, on any trajectory.",)
    return (
        f"{count} of {each.size} friction coefficients of single trajectories came out negative; "
        f"the smallest average is {negative:.3g}.",
    )


def _checks(found: dict[str, Errors], result: GrayBoxResult) -> tuple[Check, ...]:
    first, last, exact = found[M_KH], found[M_ID_F], found[EXACT]
    fell = [
        Check.at_least(
            f"standard deviation of M_KH over that of M_Id+F, {joint}",
            first.std[i] / last.std[i],
            REDUCTION,
        )
        for i, joint in enumerate(JOINTS)
    ]
    raw = min(first.std_all[i] / last.std_all[i] for i in range(3))
    better = max(exact.std[i] / last.std[i] for i in range(3))
    return (
        *fell,
        Check.at_least("the same with all frequencies, the smallest joint", raw, REDUCTION),
        Check.at_most(
            "standard deviation of the exact model over that of M_Id+F, the largest joint",
            better,
            1.0,
        ),
        Check.at_most(
            "distance of the grid from the closed-form least squares", result.grid_gap, MEETING
        ),
    )


@dataclass(frozen=True, eq=False)
class PayloadPart:
    """What the payload adds to the reproduction."""

    tables: tuple[Table, ...]
    statements: tuple[str, ...]
    checks: tuple[Check, ...]
    data: PayloadData


def payload_part(
    robot: Robot, seen: Sequence[Trial], result: GrayBoxResult, seed: int
) -> PayloadPart:
    """Estimate 3.8 kg on v_P with the models of the trajectories `seen` without payload."""
    motion = y1(robot, picks=PAYLOAD_PICKS, seed=seed, share=PAYLOAD_SHARE)
    loaded = trial(robot, "v_P", motion, 1000 * seed + 998, payload=[(0.0, MASS)])
    state, tau = loaded.prepared.state, loaded.prepared.tau
    gray = inverse_dynamics(result.robots[M_ID_F], state, "gray-box")
    column = payload_column(robot, state)
    x, y = force_pairs(robot, state, tau - gray)
    masses = forgetting_masses(x, y)
    simulated = forgetting_masses(*force_pairs(robot, state, MASS * column))
    printed = printed_matrices(x[:PRINTED], y[:PRINTED], forgetting=FORGETTING, sign=-1.0)
    matrices = printed_matrices(x, y, forgetting=FORGETTING, sign=1.0)
    mine = _ours(robot, seen, loaded)
    torques = {
        WITHOUT: gray,
        WITH: gray + masses[:, None] * column,
        OURS: mine.torque + mine.mass[:, None] * column,
    }
    plain = errors(loaded.prepared, mine.torque)
    found = {name: errors(loaded.prepared, value) for name, value in torques.items()}
    data = PayloadData(loaded, torques, found, masses, simulated, mine.mass, mine.std, matrices)
    return PayloadPart(
        (_table_2(found, plain), _estimates(data, loaded.prepared.t)),
        _payload_statements(matrices, printed, mine),
        _payload_checks(data, plain, printed, loaded.prepared.t),
        data,
    )


@dataclass(frozen=True, eq=False)
class Ours:
    """Our estimate over time (N,) in kg, and the torque (N, dof) of the robot without payload."""

    mass: FloatArray
    std: FloatArray
    torque: FloatArray
    noise: NoiseModel


def _ours(robot: Robot, seen: Sequence[Trial], loaded: Trial) -> Ours:
    """The exact model identified on all trajectories, and the default estimator on v_P."""
    fit = identify(robot, [item.run.recording for item in seen], "base", band=BAND)
    noise = NoiseModel.of(fit, seen[0].run.recording, rate=RATE)
    estimator = PayloadEstimator(fit, noise=noise, rate=RATE, events=False)
    trace = []
    for t, row, _ in even_rows(loaded.run.recording, RATE):
        estimator.update(*row)
        std = estimator.std
        trace.append((t, estimator.mass, std if np.isfinite(std) else np.nan))
    t, mass, std = np.array(trace).T
    own = loaded.prepared.t
    torque = inverse_dynamics(fit.robot, loaded.prepared.state)
    return Ours(np.interp(own, t, mass), np.interp(own, t, std), torque, noise)


def force_pairs(robot: Robot, state: State, error: FloatArray) -> tuple[FloatArray, FloatArray]:
    """x = pdd + g z and y = J^-T (torque error) of eq. 10, each (N, 3), in m/s^2 and N."""
    x = state.pdd[:, :3] + np.array([0.0, 0.0, robot.gravity])
    J = jacobian(robot, state.p)
    y = np.linalg.solve(np.swapaxes(J, 1, 2), error[:, :, None])[:, :, 0]
    return x, np.asarray(y, dtype=np.float64)


def _table_2(found: dict[str, Errors], plain: Errors) -> Table:
    rows: list[tuple[Cell, ...]] = []
    everything = {**found, "exact, m_P = 0": plain}
    for name, ours in everything.items():
        mean, std = TABLE_2.get(name, ((None,) * 3, (None,) * 3))
        for i, joint in enumerate(JOINTS):
            own = (ours.mean[i], std[i], ours.std[i], ours.mean_all[i], ours.std_all[i])
            rows.append((name, joint, mean[i], *own))
    return Table(
        "Table 2: torque error on v_P with 3.8 kg (N m), measured minus computed",
        ("model", "joint", "mean paper", "ours", "std paper", "ours", "mean all", "std all"),
        tuple(rows),
        f"Ours below {BAND:g} Hz; 'all': the samples as they are. The mass is that of each "
        "instant, from the samples until then; its transient is counted.",
    )


def _estimates(data: PayloadData, t: FloatArray) -> Table:
    late = t - t[0] > SETTLED
    rows: list[tuple[Cell, ...]] = []
    for name, mass, std in (
        ("eq. 11, mended, scalar", data.masses, None),
        ("eq. 11, mended, mean of the 3x3 matrix's diagonal", _diagonal(data.matrices), None),
        ("eq. 11 on the model's own torque", data.simulated, None),
        ("PayloadEstimator", data.mass, float(data.std[-1])),
    ):
        within = np.flatnonzero(np.abs(mass - MASS) > 0.05 * MASS)
        known = float(t[min(within[-1] + 1, len(t) - 1)] - t[0]) if len(within) else 0.0
        rows.append((name, float(mass[late].mean()), float(mass[late].std()), std, known))
    return Table(
        "Figure 8 in numbers: the estimated payload (kg), 3.8 kg were carried",
        ("estimator", f"mean after {SETTLED:g} s", "std over time", "own std", "within 5 % from s"),
        tuple(rows),
        "'own std' is what the estimator says of itself at the end; eq. 11 says nothing.",
        digits=3,
    )


def _diagonal(matrices: FloatArray) -> FloatArray:
    mean: FloatArray = np.trace(matrices, axis1=1, axis2=2) / 3
    return mean


def _payload_statements(matrices: FloatArray, printed: FloatArray, mine: Ours) -> tuple[str, ...]:
    last = matrices[-1]
    beside = np.abs(last - np.diag(np.diag(last))).max()
    return (
        "v_P is a pick-and-place motion between two belts with the 3.8 kg attached all the time, "
        f"at {PAYLOAD_SHARE:g} of the robot's limits; the paper describes it in words only.",
        "Eq. 11 is run with + before the gain and for a scalar. As printed, with -, it diverges: "
        f"after {PRINTED} samples its matrix has entries of {np.abs(printed[-1]).max():.2g} kg.",
        "Its 3x3 matrix, mended, ends with entries beside the diagonal of up to "
        f"{beside:.2g} kg and diagonal entries {', '.join(f'{v:.2f}' for v in np.diag(last))} kg, "
        "where one number is meant: it fits the friction's and the model's errors with its eight "
        "others.",
        "The paper counts torques the other way: its means have the other sign where a weight "
        "hangs on the arms.",
        f"The forgetting factor is not given; ours is {FORGETTING:g} per sample at 2 kHz, a memory "
        "of 0.25 s.",
        f"PayloadEstimator has the exact model, identified without payload; {mine.noise.summary}.",
    )


def _payload_checks(
    data: PayloadData, plain: Errors, printed: FloatArray, t: FloatArray
) -> tuple[Check, ...]:
    late = t - t[0] > SETTLED

    def size(found: Errors) -> float:
        return float(np.abs(found.mean).sum())

    return (
        Check.at_most(
            "mean torque error with eq. 11 over that without payload, all joints",
            size(data.found[WITH]) / size(data.found[WITHOUT]),
            0.5,
        ),
        Check.at_most(
            "mean torque error with PayloadEstimator over that without payload, all joints",
            size(data.found[OURS]) / size(plain),
            TENTH,
        ),
        Check.at_most(
            "error of the mean mass by eq. 11, mended",
            abs(float(data.masses[late].mean()) - MASS) / MASS,
            RIGHT,
        ),
        Check.at_most(
            "error of the mass by PayloadEstimator at the end, in its standard deviations",
            abs(float(data.mass[-1]) - MASS) / float(data.std[-1]),
            3.0,
        ),
        Check.at_most(
            "error of eq. 11, mended, on the model's own torque",
            float(np.abs(data.simulated[late] - MASS).max()),
            1e-6,
            "kg",
        ),
        Check.at_least(
            "growth of eq. 11 as printed, largest entry over the payload",
            float(np.abs(printed[-1]).max()) / MASS,
            10.0,
        ),
    )
