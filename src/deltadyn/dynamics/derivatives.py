"""How the torque of a motion changes with the joints' coordinates, rates and accelerations.

The exact model's source is differentiated by the tape, operation by operation: no step is chosen.
The pose p is an input of what is differentiated and moves along its Jacobian with q, so that it
does not matter how p was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, columns, restore
from deltadyn.dynamics.friction import direction
from deltadyn.dynamics.inverse import check_robot
from deltadyn.dynamics.passive import PassivePose, joint_columns
from deltadyn.dynamics.regressor import regressor
from deltadyn.kinematics.actuation import actuation
from deltadyn.kinematics.limbs import limbs, pose_of
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.robot.robot import remembered
from deltadyn.small import Vector
from deltadyn.tape.passes import in_depth
from deltadyn.tape.simplify import Value
from deltadyn.tape.tangents import Groups, changes
from deltadyn.tape.tape import SCALARS, Function, run, trace
from deltadyn.tape.write_python import Compiled, python_function

GROUPS = ("p", "q", "qd", "qdd")


@dataclass(frozen=True, eq=False)
class TorqueDerivatives:
    """Torques tau (N, dof), and how they change, (N, dof, dof): row i, column j is dtau_i / d_j.

    `parameters` (N, dof, n) are the changes by the n parameters of `names`, those of `regressor`.
    """

    tau: FloatArray
    q: FloatArray
    qd: FloatArray
    qdd: FloatArray
    parameters: FloatArray
    names: tuple[str, ...]


def inverse_dynamics_derivatives(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    *,
    friction: bool = True,
) -> TorqueDerivatives:
    """Derivatives of `inverse_dynamics` of joint motions (N, dof) or (dof,), of the exact model.

    They are exact to rounding. Where a torque has a step or a kink (sharp friction at rest, a loss
    at a load of zero), they are those beside it.
    """
    check_robot(robot)
    state = State.from_joints(robot, q, qd, qdd)
    function = _compiled_derivatives(robot, friction)
    arrays = (getattr(state, name) for name in GROUPS)
    values = function(*(column for array in arrays for column in columns(array)))
    dof, count = robot.dof, len(state)
    whole = np.empty((len(values), count))
    for row, value in zip(whole, values, strict=True):
        row[:] = value  # a float where it is the same for all
    by = whole[dof:].reshape(3, dof, dof, count)
    slopes = (restore(np.ascontiguousarray(np.moveaxis(x, -1, 0)), state.single) for x in by)
    by_q, by_qd, by_qdd = slopes
    tau = restore(np.ascontiguousarray(whole[:dof].T), state.single)
    linear = regressor(robot, state, friction=friction)
    return TorqueDerivatives(tau, by_q, by_qd, by_qdd, linear.Y, linear.names)


@remembered
def _compiled_derivatives(robot: Robot, friction: bool) -> Compiled:
    return python_function(in_depth(derivatives_function(robot, friction)), arrays=True)


def derivatives_function(robot: Robot, friction: bool) -> Function:
    """tau, then dtau/dq, dtau/dqd, dtau/dqdd row by row, of p, q, qd, qdd of one sample."""
    torque, dof = _torque_at_pose(robot, friction), robot.dof

    def code(p: Vector, q: Vector, qd: Vector, qdd: Vector) -> list[Value]:
        groups = dict(zip(GROUPS, (p, q, qd, qdd), strict=True))
        J = pose_of(SCALARS, limbs(robot), q, qd, p).J
        found = [changes(torque, groups, direction) for direction in _directions(J)]
        rows = [found[k * dof + j][i] for k in range(3) for i in range(dof) for j in range(dof)]
        return [*run(torque, **groups), *rows]

    return trace("derivatives", dict.fromkeys(GROUPS, dof), code)


def _directions(J: Sequence[Sequence[Value]]) -> Iterator[Groups]:
    """How the motion changes where q_j, then qd_j, then qdd_j changes by 1."""
    units = [tuple(float(i == j) for i in range(len(J))) for j in range(len(J))]
    for column, unit in zip(J, units, strict=True):
        yield {"q": unit, "p": column}
    for name in ("qd", "qdd"):
        yield from ({name: unit} for unit in units)


def _torque_at_pose(robot: Robot, friction: bool) -> Function:
    """The torque that drives report, of p, q, qd, qdd."""
    # Backends are written with the names of this folder.
    from deltadyn.backends import components
    from deltadyn.backends.packed import packed_parameters

    numbers, kind, dof = packed_parameters(robot), actuation(robot), robot.dof
    par: tuple[Any, ...] = tuple(numbers.tolist())
    terms = components.friction_terms(numbers) if friction else None
    legs, pivot_z = limbs(robot), 0.0 if robot.spindle is None else robot.spindle.pivot_z

    def code(p: Vector, q: Vector, qd: Vector, qdd: Vector) -> list[Value]:
        pose = pose_of(SCALARS, legs, q, qd, p)
        pdd = tuple(
            pose.pdd[k] + sum(pose.J[j][k] * qdd[j] for j in range(dof)) for k in range(dof)
        )
        known = components.Pose(pose.c, pose.s, qd, qdd, pose.p, pose.pd, pdd)
        rubbed = PassivePose(legs, pivot_z, p, pose.pd, qd, pose.rods, pose.e1, pose.J)
        passive = _passive_torque(robot, rubbed) if friction else ()
        tau = components.torque(SCALARS, par, known, terms, kind=kind, passive=passive)
        return components.reported(par, tau)

    return trace("torque", dict.fromkeys(GROUPS, dof), code)


def _passive_torque(robot: Robot, pose: PassivePose) -> list[Value]:
    """What friction in the passive joints asks of the drives."""
    own = robot.friction
    total: list[Value] = [0.0] * len(pose.qd)
    for item in own.passive:
        parts = joint_columns(
            SCALARS, item.joint, pose, lambda rate: direction(rate, own.smoothing, SCALARS)
        )
        for i, (viscous, coulomb) in enumerate(zip(*parts, strict=True)):
            total[i] = total[i] + item.viscous * viscous + item.coulomb * coulomb
    return total
