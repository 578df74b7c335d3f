"""[falezza2020] section 6 on the virtual bench: M_KH, M_Id, M_Id+F, table 1, and the payload.

Sections 5 and 6 with payload (eqs. 9-11, figures 7 and 8, table 2) follow at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import exact_parameters, inverse_dynamics, regressor
from deltadyn.dynamics.lumped import half_half_parameters
from deltadyn.identification.identify import identify
from deltadyn.identification.methods.gray_box import M_ID, M_ID_F, M_KH, GrayBoxResult, gray_box
from deltadyn.kinematics import State, jacobian
from deltadyn.motion import Motion, y1, y2, y3
from deltadyn.payload import EstimatorOptions, NoiseModel, PayloadEstimator, payload_column
from deltadyn.payload.forgetting import FORGETTING, forgetting_masses, printed_matrices
from deltadyn.payload.front_end import even_rows
from deltadyn.reproduce.result import JOINTS, Check, Paper, Reproduction, Table, by_joint
from deltadyn.reproduce.trials import (
    BAND,
    RATE,
    ROBOT,
    WORDS,
    Errors,
    Trial,
    error_rows,
    errors,
    random_spline,
    trial,
    trials,
    whole_number,
)
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot

EXACT = "exact, identified"
COUNT = 12  # trajectories, as in the paper
SHARES = (1.0, 0.7, 0.45)  # of the robot's limits
PLACES = 12  # of a spline

MASS = 3.8  # kg, as in the paper
PAYLOAD_SHARE = 0.7  # of the robot's limits: with 3.8 kg the drives stay below their peak torque
PAYLOAD_PICKS = 2
WITHOUT, WITH, OURS = "M_Id+F, m_P = 0", "M_Id+F, eq. 11", "exact, PayloadEstimator"
SETTLED = 0.5  # s after which the estimates are compared with the true mass
PRINTED = 200  # samples over which eq. 11 is run as printed

PAPER = Paper(
    "falezza2020",
    BAND=BAND,
    FORGETTING=FORGETTING,
    PAYLOAD_SHARE=PAYLOAD_SHARE,
    PRINTED=PRINTED,
    SETTLED=SETTLED,
    **WORDS,
)
TABLE_1, TABLE_2 = PAPER.numbers["table_1"], PAPER.numbers["table_2"]


@dataclass(frozen=True, eq=False)
class Payload:
    """What was found on v_P: torques (N, dof), errors, and masses over time (N,) in kg."""

    trial: Trial
    torques: dict[str, FloatArray]
    found: dict[str, Errors]
    plain: Errors  # of the exact model without payload
    masses: FloatArray  # eq. 11, mended, on the measured torque
    simulated: FloatArray  # the same on the model's own torque
    mass: FloatArray  # PayloadEstimator
    std: FloatArray
    noise: NoiseModel
    matrices: FloatArray  # (N, 3, 3), eq. 11 with + before the gain
    printed: FloatArray  # (PRINTED, 3, 3), with -


@dataclass(frozen=True, eq=False)
class Found:
    """What was found on v_F: every model's torque (N, dof), its errors, the fit; the payload."""

    robot: Robot
    seen: list[Trial]
    unseen: Trial
    torques: dict[str, FloatArray]
    found: dict[str, Errors]
    result: GrayBoxResult
    load: Payload


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
    *seen, unseen = trials(
        robot, [(name, motion, 1000 * seed + k) for k, (name, motion) in enumerate(plans)], progress
    )
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
    own = {name: errors(unseen.prepared, tau) for name, tau in torques.items()}
    load = estimated_payload(robot, seen, result, seed)
    found = Found(robot, seen, unseen, torques, own, result, load)
    return PAPER.reproduction(_tables(found), _statements(found), _checks(found), found)


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
    """A spline through places at `low` to `high` of the radius."""
    rng, height = np.random.default_rng(seed), 0.35
    return random_spline(
        robot, rng, PLACES, (low, high), height, shrink=0.95, anywhere=True, share=share
    )


def _tables(data: Found) -> tuple[Table, ...]:
    load = data.load
    both = {**load.found, "exact, m_P = 0": load.plain}
    status = data.result.status.capitalize()
    return (
        PAPER.table("table_1", error_rows(data.found, TABLE_1)),
        PAPER.table("reductions", _reductions(data.found)),
        PAPER.table("factors", _factors(data)),
        PAPER.table("per_trajectory", _per_trajectory(data), status=status),
        PAPER.table("table_2", error_rows(both, TABLE_2)),
        PAPER.table("estimates", _estimates(load)),
    )


def _reductions(found: dict[str, Errors]) -> list[Any]:
    first = found[M_KH]
    ratios = [
        ratio
        for other in (found[M_ID_F], found[EXACT])
        for ratio in (first.std / other.std, first.std_all / other.std_all)
    ]
    return by_joint(JOINTS, np.divide(TABLE_1[M_KH][1], TABLE_1[M_ID_F][1]), *ratios)


def _factors(data: Found) -> list[Any]:
    """rho1, rho2 and friction; the machine's own values beside them, which only a bench has."""
    result, machine = data.result, data.unseen.run.truth.robot
    nominal, true = half_half_parameters(data.robot), exact_parameters(machine)

    def spread(name: str) -> FloatArray:
        each = [getattr(fit, name) for fit in result.per_trajectory]
        return np.asarray(np.std(each, axis=0))

    rows: list[Any] = [
        (name, "1", "not given", getattr(result, name), spread(name), np.mean(np.divide(a, b)))
        for name, a, b in (("rho1", true.A, nominal.A), ("rho2", true.G, nominal.G))
    ]
    for name, unit in (("viscous", "N m s/rad"), ("coulomb", "N m")):
        own = (getattr(result, name), spread(name), getattr(machine.friction, name))
        titles = [f"{name} {axis + 1}" for axis in range(data.robot.dof)]
        rows += by_joint(titles, unit, "not given", *own)
    return rows


def _per_trajectory(data: Found) -> list[Any]:
    rows = []
    for item, fit in zip(data.seen, data.result.per_trajectory, strict=True):
        t, factors = item.prepared.t, (fit.rho1, fit.rho2, *fit.least_squares)
        rows.append((item.name, t[-1] - t[0], factors, fit.rms_before, fit.rms_after))
    return rows


def _statements(data: Found) -> tuple[str, ...]:
    state, machine, last = (
        data.unseen.prepared.state,
        data.unseen.run.truth.robot,
        data.load.matrices[-1],
    )
    # A factor of gravity near 1 cannot make the paper's mean errors fall as they do.
    gravity = data.robot.gravity * np.asarray(half_half_parameters(data.robot).G) * state.cos_q
    fall = np.subtract(TABLE_1[M_KH][0], TABLE_1[M_ID][0])
    return PAPER.statements(
        radius=np.hypot(state.p[:, 0], state.p[:, 1]).max(),
        largest=np.linalg.norm(data.unseen.run.reference.pdd, axis=1).max(),
        rotor=machine.drives.output_inertia[0],
        fall=fall,
        gravity=gravity.max(),
        needed=1 - fall / gravity.mean(axis=0),
        friction=_friction_sentence(data.result),
        wild=np.abs(data.load.printed[-1]).max(),
        beside=np.abs(last - np.diag(np.diag(last))).max(),
        diagonal=np.diag(last),
        noise=data.load.noise.summary,
    )


def _friction_sentence(result: GrayBoxResult) -> str:
    negative = min(result.viscous.min(), result.coulomb.min())
    each = np.array([[fit.viscous, fit.coulomb] for fit in result.per_trajectory])
    count = int((each < 0).sum())
    if negative >= 0 and count == 0:
        return "No friction coefficient came out negative, on any trajectory."
    return (
        f"{count} of {each.size} friction coefficients of single trajectories came out negative; "
        f"the smallest average is {negative:.3g}."
    )


def _checks(data: Found) -> tuple[Check, ...]:
    first, last, exact = (data.found[name] for name in (M_KH, M_ID_F, EXACT))
    load = data.load

    def size(found: Errors) -> float:
        return float(np.abs(found.mean).sum())

    return PAPER.checks(
        reduction=dict(zip(JOINTS, first.std / last.std, strict=True)),
        reduction_all=min(first.std_all / last.std_all),
        exact=max(exact.std / last.std),
        grid=data.result.grid_gap,
        eq_11=size(load.found[WITH]) / size(load.found[WITHOUT]),
        ours=size(load.found[OURS]) / size(load.plain),
        mass=abs(load.masses[_late(load)].mean() - MASS) / MASS,
        deviations=abs(load.mass[-1] - MASS) / load.std[-1],
        own_torque=np.abs(load.simulated[_late(load)] - MASS).max(),
        printed=np.abs(load.printed[-1]).max() / MASS,
    )


# The payload


def estimated_payload(
    robot: Robot, seen: Sequence[Trial], result: GrayBoxResult, seed: int
) -> Payload:
    """Estimate 3.8 kg on v_P with the models of the trajectories `seen` without payload.

    By eq. 11 with the gray box, and by our estimator with the exact model.
    """
    motion = y1(robot, picks=PAYLOAD_PICKS, seed=seed, share=PAYLOAD_SHARE)
    loaded = trial(robot, "v_P", motion, 1000 * seed + 998, payload=[(0.0, MASS)])
    state, tau = loaded.prepared.state, loaded.prepared.tau
    gray = inverse_dynamics(result.robots[M_ID_F], state, "gray-box")
    column = payload_column(robot, state)
    x, y = force_pairs(robot, state, tau - gray)
    masses = forgetting_masses(x, y)
    fit = identify(robot, [item.run.recording for item in seen], "base", band=BAND, terms="file")
    noise = NoiseModel.of(fit, seen[0].run.recording, rate=RATE, estimator="least-squares")
    own = EstimatorOptions(estimator="least-squares", rate=RATE, events=False)
    mass, std = _followed(PayloadEstimator(fit, own, noise=noise), loaded)
    exact = inverse_dynamics(fit.robot, state)
    torques = {
        WITHOUT: gray,
        WITH: gray + masses[:, None] * column,
        OURS: exact + mass[:, None] * column,
    }
    return Payload(
        loaded,
        torques,
        {name: errors(loaded.prepared, value) for name, value in torques.items()},
        errors(loaded.prepared, exact),
        masses,
        forgetting_masses(*force_pairs(robot, state, MASS * column)),
        mass,
        std,
        noise,
        printed_matrices(x, y, forgetting=FORGETTING, sign=1.0),
        printed_matrices(x[:PRINTED], y[:PRINTED], forgetting=FORGETTING, sign=-1.0),
    )


def _followed(estimator: PayloadEstimator, loaded: Trial) -> tuple[FloatArray, FloatArray]:
    """Mass and its deviation (N,) in kg at the samples of the trial, estimated along it."""
    trace = []
    for t, row, _ in even_rows(loaded.run.recording, RATE):
        estimator.update(*row)
        std = estimator.std
        trace.append((t, estimator.mass, std if np.isfinite(std) else np.nan))
    t, mass, std = np.array(trace).T
    return np.interp(loaded.prepared.t, t, mass), np.interp(loaded.prepared.t, t, std)


def force_pairs(robot: Robot, state: State, error: FloatArray) -> tuple[FloatArray, FloatArray]:
    """x = pdd + g z and y = J^-T (torque error) of eq. 10, each (N, 3), in m/s^2 and N."""
    x = state.pdd[:, :3] + np.array([0.0, 0.0, robot.gravity])
    J = jacobian(robot, state.p)
    y = np.linalg.solve(np.swapaxes(J, 1, 2), error[:, :, None])[:, :, 0]
    return x, np.asarray(y, dtype=np.float64)


def _late(load: Payload) -> FloatArray:
    """Which samples are compared with the true mass."""
    t = load.trial.prepared.t
    return np.asarray(t - t[0] > SETTLED)


def _estimates(load: Payload) -> list[Any]:
    t, late = load.trial.prepared.t, _late(load)
    diagonal = np.trace(load.matrices, axis1=1, axis2=2) / 3
    rows = []
    for name, mass, std in (
        ("eq. 11, mended, scalar", load.masses, None),
        ("eq. 11, mended, mean of the 3x3 matrix's diagonal", diagonal, None),
        ("eq. 11 on the model's own torque", load.simulated, None),
        ("PayloadEstimator", load.mass, load.std[-1]),
    ):
        within = np.flatnonzero(np.abs(mass - MASS) > 0.05 * MASS)
        known = t[min(within[-1] + 1, len(t) - 1)] - t[0] if len(within) else 0.0
        rows.append((name, mass[late].mean(), mass[late].std(), std, known))
    return rows
