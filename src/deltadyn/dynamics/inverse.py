"""Inverse dynamics and the equations of motion, of every model by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, contract, matching_samples, restore
from deltadyn.backends import kernels
from deltadyn.dynamics.friction import friction_torque, reported
from deltadyn.dynamics.models import model_by_name
from deltadyn.errors import InputError
from deltadyn.kinematics.state import State, StateRow
from deltadyn.robot import Robot
from deltadyn.tracing import on_jax, pytree


@pytree(("M", "C", "c", "g", "f"))
@dataclass(frozen=True, eq=False)
class EquationsOfMotion:
    """tau = M qdd + C qd + g + f, with Md - 2C skew-symmetric.

    M, C are (N, dof, dof), c = C qd, g and the friction f are (N, dof).
    """

    M: FloatArray
    C: FloatArray
    c: FloatArray
    g: FloatArray
    f: FloatArray


def inverse_dynamics(
    robot: Robot,
    motion: State,
    model: str = "exact",
    *,
    external_force: npt.ArrayLike | None = None,
    friction: bool = True,
) -> FloatArray:
    """Drive torques (N, dof) at the output side that make this motion, in N m.

    `external_force` acts on the platform: (3,) or (N, 3) in N, with the moment about z in N m as
    a fourth value on the 4-DOF robot. `friction=False` leaves all friction and ripple out. Torques
    are in the drives' own scale, `sensors.torque_ratio` times the true ones.
    """
    check_state(robot, motion)
    if model == "exact" and external_force is None:
        quick = kernels.row_torque(robot, motion.source, friction)
        if quick is not None:
            return quick
    if on_jax(motion.p, external_force):
        from deltadyn.backends import jax as traced

        traced.check_model(model)
        return traced.inverse_dynamics(robot, motion, external_force, friction)
    chosen = model_by_name(model)
    external = external_wrench(robot, external_force, len(motion))
    tau = (
        kernels.compiled_torque(robot, motion, external, friction=friction)
        if model == "exact"
        else None
    )
    if tau is None:
        tau = chosen.torque(robot, motion, external)
        if friction:
            tau = tau + friction_torque(robot, motion, tau)
    return restore(reported(robot, tau), motion.single)


def equations_of_motion(robot: Robot, motion: State, model: str = "exact") -> EquationsOfMotion:
    """M(q), C(q, qd), g(q) and friction f of a model along a motion.

    Friction that grows with the load through the gear takes the load from the motion's own qdd. The
    terms are true torques, whatever the drives report, and f holds the ripple.
    """
    check_state(robot, motion)
    if on_jax(motion.p):
        from deltadyn.backends import jax as traced

        traced.check_model(model)
        return EquationsOfMotion(*traced.equations_of_motion(robot, motion))
    terms = model_by_name(model).terms(robot, motion)
    c = contract("nij,nj->ni", terms.C, motion.qd)
    frictionless = contract("nij,nj->ni", terms.M, motion.qdd) + c + terms.g
    f = friction_torque(robot, motion, frictionless)
    values = (restore(array, motion.single) for array in (terms.M, terms.C, c, terms.g, f))
    return EquationsOfMotion(*values)


def external_wrench(robot: Robot, value: npt.ArrayLike | None, count: int) -> FloatArray:
    """Force and moment (N, dof) on the platform; zero where none is given."""
    if value is None:
        return np.zeros((count, robot.dof))
    try:
        shape = np.shape(value)
    except ValueError:  # rows of different lengths
        shape = ()
    width = shape[-1] if len(shape) in (1, 2) else 0
    few = min(3, robot.dof)
    if width not in (few, robot.dof):
        more = ", or with 4 values" if robot.dof == 4 else ""
        allowed = f"({few},) or (N, {few}){more}"
        raise InputError("shape of external_force", shape, allowed)
    wrench = np.zeros((count, robot.dof))
    wrench[:, :width] = matching_samples(value, count, width, "external_force")
    return wrench


def check_robot(robot: object) -> None:
    """Refuse what is not a robot, a name or a path among them."""
    if not isinstance(robot, Robot):
        raise InputError("robot", robot, "a Robot, as load_robot gives it")


def check_state(robot: Robot, motion: object) -> None:
    """Refuse what is not a motion of this robot."""
    check_robot(robot)
    if not isinstance(motion, State):
        allowed = "a Motion or a State, made by from_platform or from_joints"
        raise InputError("motion", type(motion).__name__, allowed)
    source = motion.source
    if type(source) is StateRow and source.dof == robot.dof:
        return
    if motion.p.ndim != 2:
        allowed = "2, samples and coordinates; map over more of them with jax.vmap"
        raise InputError("dimensions of the motion", motion.p.ndim, allowed)
    if motion.p.shape[1] != robot.dof:
        allowed = f"{robot.dof} coordinates, as robot {robot.name!r} has"
        raise InputError("coordinates of the motion", motion.p.shape[1], allowed)
