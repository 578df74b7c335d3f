"""Forward dynamics: accelerations from torques."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import (
    FloatArray,
    Unreachable,
    as_samples,
    check_unreachable,
    contract,
    matching_samples,
    restore,
)
from deltadyn.backends import kernels
from deltadyn.dynamics.friction import (
    BEYOND_TERMS,
    behind_motor,
    direction,
    drive_friction,
    passive_friction,
)
from deltadyn.dynamics.inverse import check_robot, external_wrench
from deltadyn.dynamics.models import model_by_name
from deltadyn.dynamics.terms import Terms, pushed
from deltadyn.errors import DeltadynError
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.small import GEAR_ROUNDS, accelerations_with_losses
from deltadyn.tracing import on_jax


def forward_dynamics(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    tau: npt.ArrayLike,
    *,
    model: str = "exact",
    external_force: npt.ArrayLike | None = None,
    friction: bool = True,
    unreachable: Unreachable = "raise",
) -> FloatArray:
    """Joint accelerations qdd (N, dof) of drive torques tau (N, dof) at q, qd, in rad/s^2.

    Torques are in the drives' own scale, as `inverse_dynamics` gives them.
    Joint angles at which the loop stays open raise, or give NaN rows with unreachable="nan".
    At rest (qd = 0) sharp Coulomb friction is zero here: sticking is for a simulator to decide.
    """
    check_robot(robot)
    if model == "exact" and external_force is None and unreachable in ("raise", "nan"):
        quick = kernels.row_accelerations(robot, q, qd, tau, friction)
        if quick is not None:
            return quick
    if on_jax(q, qd, tau, external_force):
        return _on_jax(robot, q, qd, tau, model, external_force, friction, unreachable)
    if model == "exact":
        found = _in_one_pass(robot, q, qd, tau, external_force, friction, unreachable)
        if found is not None:
            return found
    state = State.from_joints(robot, q, qd, unreachable=unreachable)
    count, dof = len(state), robot.dof
    torque = matching_samples(tau, count, dof, "tau")
    if not robot.plain_drives:
        torque = behind_motor(robot, state.q, state.qd, torque, friction=friction)
    chosen = model_by_name(model)
    external = external_wrench(robot, external_force, count)
    compiled = _compiled(robot, state, external) if model == "exact" else None
    if compiled is not None:
        M, needed = compiled
    elif robot.legs != 3:
        M, needed = chosen.terms(robot, state).M, chosen.torque(robot, state, external)
    else:
        M, needed = _from_terms(chosen.terms(robot, state), robot, state, external)
    if not friction:
        return restore(_solve(M, torque - needed), state.single)
    if robot.friction.passive:
        passive = kernels.compiled_passive(robot, state)
        needed += passive_friction(robot, state) if passive is None else passive
    torque = torque - drive_friction(robot.friction, state.qd)
    if robot.friction.load is None:
        return restore(_solve(M, torque - needed), state.single)
    return restore(_with_gear_loss(robot, state, M, needed, torque), state.single)


def _on_jax(
    robot: Robot,
    q: Any,
    qd: Any,
    tau: Any,
    model: str,
    external: Any,
    friction: bool,
    unreachable: Unreachable,
) -> FloatArray:
    """The accelerations of JAX arrays; raises outside of a trace where NumPy's would."""
    from deltadyn.backends import jax as traced
    from deltadyn.backends.jax import sound

    traced.check_model(model)
    check_unreachable(unreachable)
    qdd = traced.forward_dynamics(robot, q, qd, tau, external, friction)
    if unreachable == "raise" and not sound(qdd):
        motion = map(np.asarray, (q, qd, tau))
        push = None if external is None else np.asarray(external)
        forward_dynamics(robot, *motion, external_force=push, friction=friction)
    return qdd


def _in_one_pass(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike | None,
    tau: npt.ArrayLike,
    external_force: npt.ArrayLike | None,
    friction: bool,
    unreachable: Unreachable,
) -> FloatArray | None:
    """The accelerations from one kernel; None where it cannot answer or a row is to be refused."""
    if not kernels.accelerations_compiled(robot, friction):
        return None
    check_unreachable(unreachable)
    nan, dof = unreachable == "nan", robot.dof
    angles, single = as_samples(q, dof, "q", allow_nan=nan)
    count = len(angles)
    at_rest = np.zeros(dof) if qd is None else qd
    rates = matching_samples(at_rest, count, dof, "qd", allow_nan=nan)
    torque = matching_samples(tau, count, dof, "tau")
    if not robot.plain_drives:
        torque = behind_motor(robot, angles, rates, torque, friction=friction)
        if friction:
            torque = torque - drive_friction(robot.friction, rates, BEYOND_TERMS)
    external = external_wrench(robot, external_force, count)
    qdd, missing = kernels.compiled_accelerations(
        robot, (angles, rates, torque, external), friction
    )
    return None if missing and not nan else restore(qdd, single)


def _compiled(
    robot: Robot, state: State, external: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """M and the torque at qdd = 0 from the kernels; None where they cannot answer."""
    M = kernels.compiled_mass(robot, state)
    needed = kernels.compiled_torque(robot, state, external, friction=False)
    return None if M is None or needed is None else (M, needed)


def _from_terms(
    terms: Terms, robot: Robot, state: State, external: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """M and the torque at qdd = 0: C qd + g less what the external force gives."""
    held = contract("nij,nj->ni", terms.C, state.qd) + terms.g
    return terms.M, held - pushed(robot, state, external)


def _with_gear_loss(
    robot: Robot, state: State, M: FloatArray, needed: FloatArray, torque: FloatArray
) -> FloatArray:
    """Accelerations of gears that lose a share of their load; raises where none settles."""
    loss = np.asarray(robot.friction.load) * direction(state.qd, robot.friction.smoothing)
    mass, rotor = np.moveaxis(M, 0, -1), robot.drives.output_inertia
    found = accelerations_with_losses(np, mass, needed.T, torque.T, loss.T, rotor, GEAR_ROUNDS)
    qdd = np.stack(found, axis=-1)
    lost = np.flatnonzero(np.isnan(qdd).any(axis=1) & np.isfinite(needed).all(axis=1))
    if lost.size:
        raise DeltadynError(
            f"friction.load: no consistent direction of the gear loads at row {lost[0]} after "
            f"{GEAR_ROUNDS} rounds; the gear losses are too large for this state"
        )
    return qdd


def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.solve(matrix, right[..., None])[..., 0], dtype=np.float64)
