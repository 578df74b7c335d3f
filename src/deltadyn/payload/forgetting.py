"""[falezza2020] eqs. 9-11: recursive least squares of the payload with a forgetting factor."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.backends.straight_line import SYMBOLS
from deltadyn.dynamics.friction import direction
from deltadyn.errors import InputError
from deltadyn.kinematics.limbs import limbs
from deltadyn.payload.front_end import SampleModel
from deltadyn.robot import Robot
from deltadyn.robot.checks import ARMS
from deltadyn.simulation.plant.mechanism import pose_of
from deltadyn.simulation.plant.numerics import Floats

FORGETTING = 0.998  # per sample at 2 kHz: a memory of 0.25 s
START = 1e3  # kg^2: nothing is known at the start


class ForgettingEstimator:
    """The estimator of [falezza2020], done right: one scalar mass, and + before the gain.

    eq. 10: y = S^T (Delta tau / d) = m x with x = pdd + g z, the force on the platform (N).
    eq. 11 for a scalar: P <- P / (sigma + P x.x), m <- m + P x.(y - m x). As printed it has -,
    which diverges, and estimates a 3x3 matrix of which only the mean diagonal means a mass.
    Every sample counts alike whatever it says, and the estimate has no deviation.
    """

    def __init__(
        self, robot: Robot, *, forgetting: float = FORGETTING, start: float = START
    ) -> None:
        """`forgetting` is sigma, above 0 and at most 1; `start` the first P in kg^2."""
        if not isinstance(robot, Robot):
            raise InputError("robot", type(robot).__name__, "a Robot")
        if robot.legs != ARMS:
            raise InputError("robot", robot.name, "a robot with three limbs, as the paper's")
        if not 0 < forgetting <= 1:
            raise InputError("forgetting", forgetting, "above 0 and at most 1")
        if not 0 < start < math.inf:
            raise InputError("start", start, "above 0 kg^2")
        self.robot, self.forgetting, self.start = robot, float(forgetting), float(start)
        self.model = SampleModel.of(robot.with_payload(0.0, robot.payload.offset))
        self.limbs = limbs(robot)
        self.reset()

    def reset(self) -> None:
        """Begin with no payload and no knowledge."""
        self.mass = 0.0
        self.P = self.start

    def update(
        self, q: Sequence[float], qd: Sequence[float], qdd: Sequence[float], tau: Sequence[float]
    ) -> float:
        """Take a sample (rad, rad/s, rad/s^2, N m; each (dof,)) and give the mass in kg."""
        rows = [
            _checked(name, x, self.robot) for name, x in zip(NAMES, (q, qd, qdd, tau), strict=True)
        ]
        x, y = self.force(*rows)
        self.mass, self.P = forgetting_step(self.mass, self.P, x, y, self.forgetting)
        return self.mass

    def force(
        self, q: Sequence[float], qd: Sequence[float], qdd: Sequence[float], tau: Sequence[float]
    ) -> tuple[Floats, Floats]:
        """x = pdd + g z (m/s^2) and y (N) of eq. 10."""
        s = direction(np.asarray(qd), self.robot.friction.smoothing).tolist()
        torque = self.model.at(q, qd, qdd, s).torque
        pose = pose_of(SYMBOLS, self.limbs, tuple(q), tuple(qd))
        x, y = [0.0, 0.0, self.robot.gravity], [0.0, 0.0, 0.0]
        for k in range(3):
            x[k] += pose.pdd[k] + sum(pose.J[j][k] * qdd[j] for j in range(3))
            for i in range(3):
                lever = sum(a * b for a, b in zip(pose.rods[i], pose.e1[i], strict=True))
                y[k] += pose.rods[i][k] * (tau[i] - torque[i]) / lever
        return tuple(x), tuple(y)


NAMES = ("q", "qd", "qdd", "tau")


def _checked(name: str, values: Sequence[float], robot: Robot) -> list[float]:
    x = np.asarray(values, dtype=float)
    if x.shape != (robot.dof,):
        allowed = f"({robot.dof},), as robot {robot.name!r} has axes"
        raise InputError(f"shape of {name}", x.shape, allowed)
    if not np.isfinite(x).all():
        raise InputError(name, x, "finite numbers; the sample was not used")
    out: list[float] = x.tolist()
    return out


def forgetting_step(
    mass: float, P: float, x: Sequence[float], y: Sequence[float], forgetting: float
) -> tuple[float, float]:
    """Mass (kg) and P (kg^2) of eq. 11 for a scalar, after x (m/s^2) and y (N), each (3,)."""
    square = x[0] * x[0] + x[1] * x[1] + x[2] * x[2]
    along = x[0] * y[0] + x[1] * y[1] + x[2] * y[2]
    P = P / (forgetting + P * square)
    return mass + P * (along - mass * square), P


def forgetting_masses(
    x: FloatArray, y: FloatArray, *, forgetting: float = FORGETTING, start: float = START
) -> FloatArray:
    """The payload (N,) in kg by [falezza2020] eq. 11 for a scalar, corrected, after every sample.

    Parameters
    ----------
    x : array (N, 3)
        Acceleration of the platform with gravity, pdd + g z, in m/s^2.
    y : array (N, 3)
        Force that the torque error means at the platform, in N: eq. 10.
    forgetting : float
        sigma, the weight of a sample relative to the next one.
    start : float
        First P in kg^2.

    Examples
    --------
    >>> import numpy as np
    >>> from deltadyn.payload import forgetting_masses
    >>> x = np.tile([0.0, 0.0, 9.81], (3, 1))
    >>> forgetting_masses(x, 2.0 * x).round(3).tolist()
    [2.0, 2.0, 2.0]
    """
    mass, P, out = 0.0, start, []
    for row, force in zip(x.tolist(), y.tolist(), strict=True):
        mass, P = forgetting_step(mass, P, row, force, forgetting)
        out.append(mass)
    return np.array(out)


def forgetting_matrices(
    x: FloatArray,
    y: FloatArray,
    *,
    forgetting: float = FORGETTING,
    sign: float = 1.0,
    start: float = START,
) -> FloatArray:
    """[falezza2020] eq. 11 with its 3x3 matrix (N, 3, 3) in kg, where one mass is meant.

    Parameters
    ----------
    x, y : arrays (N, 3)
        As `forgetting_masses` takes them.
    forgetting, start : float
        As there.
    sign : float
        Before the gain: -1 as printed, which diverges, +1 corrected.

    Examples
    --------
    >>> import numpy as np
    >>> from deltadyn.payload import forgetting_matrices
    >>> x = np.tile([0.0, 0.0, 9.81], (3, 1))
    >>> float(forgetting_matrices(x, 2.0 * x)[-1, 2, 2].round(3))
    2.0
    """
    M, P, gain = np.zeros((3, 3)), start * np.eye(3), np.zeros(3)
    out = np.empty((len(x), 3, 3))
    for k in range(len(x)):
        P = P if k == 0 else (np.eye(3) - np.outer(gain, x[k - 1])) @ P / forgetting
        gain = P @ x[k] / (forgetting + x[k] @ P @ x[k])
        M = M + sign * np.outer(gain, y[k] - x[k] @ M)
        out[k] = M
    return out
