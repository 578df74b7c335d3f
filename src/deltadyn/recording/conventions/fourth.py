"""The fourth axis, a spindle's: its direction, and that of its torque, once the arms are known.

    tau_4 = I_psi psidd + I_axial(...) + h_x (...) + h_y (...) + Fv psid + Fc sign(psid) + constant

Inertia and friction are positive, which gives the torque's sign against the angle. The direction
of psi itself shows only in the moments h of an effector whose COM is off its axis: they turn with
psi. With h = 0 both directions are the same robot in a mirror.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.columns import exact_columns, labels_of
from deltadyn.kinematics.state import State
from deltadyn.recording.conventions.candidates import Candidate, Reading
from deltadyn.recording.conventions.samples import REST
from deltadyn.recording.stretch import Stretch
from deltadyn.robot import Robot
from deltadyn.robot.checks import ARMS

PLAIN = 0.7  # of the torque that inertia and friction must explain, and of one sign
CLEAR = 1.2  # residual of one direction over the other's
MOST = 400  # samples
OWN = ("I_psi", "I_axial", "h_x", "h_y")


class Fourth(NamedTuple):
    """Direction of the fourth axis, its torque's sign against it, and whether the first is seen."""

    sign: int = 1
    turn: int = 1
    seen: bool = False


def axis_factor(robot: Robot, reading: Reading, axis: int) -> float:
    """The factor of an axis, whose gear may be another than the arms'.

    A spindle beside rails turns: its numbers stand as they are where those of carriages are in mm.
    """
    turns = robot.drives.motor_turns
    if axis < robot.legs:
        return reading.factor
    if reading.gear == 0:
        return 1.0 if robot.linear else reading.factor
    return reading.factor * (float(turns[axis]) / float(turns[0])) ** reading.gear


def fourth_axis(robot: Robot, stretch: Stretch, arms: Candidate) -> Fourth:
    """What the torque of a spindle's axis tells; as logged for a robot without it."""
    if robot.spindle is None:
        return Fourth()
    part = slice(None, None, max(1, len(stretch.row) // MOST))
    tau = stretch.tau[part, ARMS]
    power = float(np.sum((tau - tau.mean()) ** 2))
    rate = float(np.sqrt(np.mean(stretch.qd[part, ARMS] ** 2)))
    if not power > 0 or not rate > 0:
        return Fourth()
    fits = {sign: _fitted(robot, stretch, part, arms, sign, rate) for sign in (1, -1)}
    turns = {sign: -1 if fit.against else 1 for sign, fit in fits.items()}
    left = {sign: fit.squares / power for sign, fit in fits.items()}
    best = min(left, key=lambda sign: left[sign])
    if left[best] > 1 - PLAIN or left[-best] < CLEAR**2 * left[best]:
        return Fourth(1, turns[1] if left[1] < 1 - PLAIN else 1)
    return Fourth(best, turns[best], True)


class _Fit(NamedTuple):
    """The squared residual, and whether inertia and friction come out negative."""

    squares: float
    against: bool


def _fitted(
    robot: Robot, stretch: Stretch, part: slice, arms: Candidate, sign: int, rate: float
) -> _Fit:
    factor = axis_factor(robot, arms.reading, ARMS) * sign
    gain = np.array([s * arms.reading.factor for s in arms.sign] + [factor])
    offset = np.array([*arms.offset, 0.0])
    q, qd, qdd = (x[part] * gain for x in (stretch.q, stretch.qd, stretch.qdd))
    with np.errstate(all="ignore"):
        state = State.from_joints(robot, q + offset, qd, qdd, unreachable="nan")
        Y = exact_columns(robot, state, True).Y[:, ARMS]
    names = labels_of(robot, True, None, False).names
    xd = stretch.qd[part, ARMS] * sign
    friction = [xd, np.tanh(xd / (REST * rate))]
    moments = [Y[:, names.index(name)] for name in OWN]
    columns = np.column_stack([moments[0], *friction, *moments[1:], np.ones_like(xd)])
    y = stretch.tau[part, ARMS] * sign
    good = np.isfinite(columns).all(axis=1)
    columns, y = columns[good], y[good]
    lengths: FloatArray = np.linalg.norm(columns, axis=0)
    lengths[lengths == 0] = 1.0
    effects = np.linalg.lstsq(columns / lengths, y, rcond=1e-6)[0]
    rest = y - (columns / lengths) @ effects
    own = effects[:3]
    against = float(own.sum()) < -PLAIN * float(np.abs(own).sum())
    missing = float(np.sum(stretch.tau[part, ARMS][~good] ** 2))
    return _Fit(float(rest @ rest) + missing, against)
