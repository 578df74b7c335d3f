"""What a force does to a sample: the torque that the model does not explain.

With d_k = (q_k - q_k-1) T^-1 all quantities are taken at the middle between two samples, so that
rate, acceleration and torque belong to one instant (a shift of half a sample costs 3 N at 3 m/s):

    q = (q_k-1 + q_k) / 2,  qd = d_k,  qdd = (d_k+1 - d_k-1) / (2 T),  tau = (tau_k-1 + tau_k) / 2

An external force F on the platform takes part of the drives' work, tau = ID(q, qd, qdd) - J^T F, so

    F = J^-T (ID(q, qd, qdd) - tau)

This is the generalised-momentum observer before its filter: p_k - p_k-1 over T is the same
difference of rates, and no acceleration needs a filter of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.force.settings import AT_REST, COULOMB_SHARE, LOAD_SHARE, VISCOUS_SHARE
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import jacobian
from deltadyn.robot import Robot

WINDOW = 4  # samples that one row is made from


@dataclass(frozen=True, eq=False)
class ForceRows:
    """Rows between the samples of an even stretch.

    `force` (N, dof) in N (the moment about z in N m on a 4-DOF robot), `jacobian` (N, dof, dof)
    with pd = J qd. In N m on each axis (N, dof): `held`, what an axis at rest may carry unseen, and
    `drift`, what its friction may have changed by since the empty run. `pull` (N, 3) in m/s^2 is
    what a carried mass feels, pdd + g z.
    """

    force: FloatArray
    jacobian: FloatArray
    held: FloatArray
    drift: FloatArray
    pull: FloatArray

    def at(self, row: int) -> ForceRows:
        """One row, still with its first axis."""
        own = (self.force, self.jacobian, self.held, self.drift, self.pull)
        return ForceRows(*(x[row : row + 1] for x in own))


def force_rows(robot: Robot, q: FloatArray, tau: FloatArray, interval: float) -> ForceRows:
    """The n - 3 rows of n even samples q (n, dof), with the torque (n - 3, dof) at their instants.

    Row j lies between the samples j + 1 and j + 2.
    """
    d = np.diff(q, axis=0) / interval
    middle, rate = (q[1:-2] + q[2:-1]) / 2, d[1:-1]
    state = State.from_joints(robot, middle, rate, (d[2:] - d[:-2]) / (2 * interval))
    J = jacobian(robot, state.p)
    missing = inverse_dynamics(robot, state) - tau
    force: FloatArray = np.linalg.solve(np.swapaxes(J, 1, 2), missing[..., None])[..., 0]
    pull = state.pdd[:, :3] + np.array([0.0, 0.0, robot.gravity])
    return ForceRows(force, J, held(robot, rate), drift(robot, rate, tau), pull)


def torque_at(tau: FloatArray, at: FloatArray) -> FloatArray:
    """Torque (M, dof) at places (M,), counted in samples, on straight lines between them."""
    low = np.clip(np.floor(at), 0, len(tau) - 2).astype(int)
    share = np.clip(at - low, 0.0, 1.0)[:, None]
    found: FloatArray = (1 - share) * tau[low] + share * tau[low + 1]
    return found


def held(robot: Robot, qd: FloatArray) -> FloatArray:
    """What an axis at rest may carry by its Coulomb friction alone (N, dof), in N m."""
    found: FloatArray = np.asarray(robot.friction.coulomb) * np.exp(-((qd / AT_REST) ** 2))
    return found


def drift(robot: Robot, qd: FloatArray, tau: FloatArray) -> FloatArray:
    """What friction may change by after the empty run (N, dof), in N m.

    Shares of the viscous and the Coulomb friction, which fall when a gear warms up, and of the
    torque.
    """
    viscous, coulomb = (np.asarray(x) for x in (robot.friction.viscous, robot.friction.coulomb))
    rubbed = VISCOUS_SHARE * viscous * np.abs(qd) + COULOMB_SHARE * coulomb
    found: FloatArray = rubbed + LOAD_SHARE * np.abs(tau)
    return found
