"""What a force does to a sample: the torque that the model does not explain.

With d_k = (q_k - q_k-1) T^-1 all quantities are taken at the middle between two samples, so that
rate, acceleration and torque belong to one instant (a shift of half a sample costs 3 N at 3 m/s):

    q = (q_k-1 + q_k) / 2,  qd = d_k,  qdd = (d_k+1 - d_k-1) / (2 T),  tau = (tau_k-1 + tau_k) / 2

An external force F on the platform takes part of the drives' work, and an axis has slow states x
that the model does not know (its friction, an offset, the scale of its torque):

    r = (ID(q, qd, qdd) - tau) / g = J^T F + Z x,    Z = (qd, tanh(qd / e), 1, ID)

g is what the reported torque grows by per N m of load: 1, but for the gear's losses. The torque in
Z is the model's: a measured one holds the noise of r, which would pass for a wrong scale.

Every part of a row passes the same filter of two equal stages, so this holds behind it too. That is
the generalised-momentum observer: p_k - p_k-1 over T is the same difference of rates, and no
acceleration needs a filter of its own. Behind one stage the noise of an angle e stays M K e / T at
any rate of samples; behind two it falls with K T.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.force.settings import REVERSAL, SMOOTH
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import jacobian
from deltadyn.robot import Robot

WINDOW = 4  # samples that one row is made from
STATES = 4  # slow ones of an axis


@dataclass(frozen=True, eq=False)
class ForceRows:
    """Rows between the samples of an even stretch.

    `missing` (N, dof) in N m is r, `jacobian` (N, dof, dof) with pd = J qd, `known` (N, dof, 4) is
    Z. `rest` (N, dof) is 1 where an axis rests and 0 where it moves. `pull` (N, 3) in m/s^2, in a
    plane (N, 2), is what a carried mass feels, pdd + g z.
    """

    missing: FloatArray
    jacobian: FloatArray
    known: FloatArray
    rest: FloatArray
    pull: FloatArray

    @property
    def parts(self) -> tuple[FloatArray, ...]:
        """All fields in order."""
        return self.missing, self.jacobian, self.known, self.rest, self.pull

    def at(self, rows: slice) -> ForceRows:
        """Some of the rows."""
        return ForceRows(*(x[rows] for x in self.parts))

    def towards(self, new: ForceRows, gain: float) -> ForceRows:
        """The step of a stage of the filter."""
        pairs = zip(self.parts, new.parts, strict=True)
        return ForceRows(*(a + gain * (b - a) for a, b in pairs))


def force_rows(
    robot: Robot,
    q: FloatArray,
    tau: FloatArray,
    interval: float,
    hint: FloatArray | None = None,
) -> ForceRows:
    """The n - 3 rows of n even samples q (n, dof), with the torque (n - 3, dof) at their instants.

    Row j lies between the samples j + 1 and j + 2. `hint` (dof,) is a pose nearby, where one is
    known.
    """
    d = np.diff(q, axis=0) / interval
    middle, rate = (q[1:-2] + q[2:-1]) / 2, d[1:-1]
    qdd = (d[2:] - d[:-2]) / (2 * interval)
    state = State.from_joints(robot, middle, rate, qdd, hint=hint)
    model = inverse_dynamics(robot, state)
    missing = (model - tau) / per_load(robot, rate, state.qdd, tau)
    radian = np.asarray(robot.radian)
    known = np.stack([rate, np.tanh(rate / (SMOOTH * radian)), np.ones_like(rate), model], axis=-1)
    rest = 1 - np.abs(np.tanh(rate / (REVERSAL * radian)))
    up = [robot.gravity if name == "z" else 0.0 for name in robot.coordinates[:3]]
    pull = state.pdd[:, :3] + np.array(up)
    return ForceRows(missing, jacobian(robot, state.p), known, rest, pull)


def per_load(robot: Robot, qd: FloatArray, qdd: FloatArray, tau: FloatArray) -> FloatArray:
    """What the reported torque grows by for each N m that the gear carries more (N, dof).

    A gear that loses a share of its load reports a push too large or too small by it. The load's
    sign is that of the measured torque without the rotor's.
    """
    through = tau - np.asarray(robot.drives.output_inertia) * qdd
    turn = np.tanh(qd / (SMOOTH * np.asarray(robot.radian))) * np.sign(through)
    grown: FloatArray = np.asarray(robot.sensors.torque_ratio) * np.ones_like(tau)
    if robot.friction.load is not None:
        grown = grown * (1 + np.asarray(robot.friction.load) * turn)
    if robot.friction.motor_load is not None:
        grown = grown / (1 - np.asarray(robot.friction.motor_load) * turn)
    return grown


def torque_at(tau: FloatArray, at: FloatArray) -> FloatArray:
    """Torque (M, dof) at places (M,), counted in samples, on straight lines between them."""
    low = np.clip(np.floor(at), 0, len(tau) - 2).astype(int)
    share = np.clip(at - low, 0.0, 1.0)[:, None]
    found: FloatArray = (1 - share) * tau[low] + share * tau[low + 1]
    return found
