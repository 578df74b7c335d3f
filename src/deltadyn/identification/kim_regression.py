"""The 14-parameter regression of [kim2022] eqs. 37-40, on which it runs its baselines.

Its columns come from eq. 1 with the Lagrange multipliers taken for constants and without friction.
Both hold for a robot that stands still: a multiplier is half of the force in a strut pair over its
length, and follows the acceleration of the platform. Whatever estimator fits these columns is
handicapped by them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, contract, matching_samples
from deltadyn.dynamics.friction import Columns
from deltadyn.dynamics.inverse import check_state
from deltadyn.dynamics.lumped import half_half_parameters
from deltadyn.dynamics.regressor import regressor
from deltadyn.errors import InputError
from deltadyn.identification.methods.recursive import recursive_least_squares
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import LimbGeometry
from deltadyn.robot import Robot

BLOCK = 256  # instants of one update: the same estimates, sooner
NAMES = tuple(f"theta{number}" for number in range(1, 15))
# of theta 1 and 5, then 2L_1 lambda_i cos, 2L_1 lambda_i sin, 2L_1 lambda_i, 2L_1 lambda_i (R - r)
UNITS = tuple(
    {1: "kg m^2", 5: "N m", 6: "N m", 10: "N m", 14: "N m"}.get(number, "N")
    for number in range(1, 15)
)
OWN = ((1, 2, 3, 5), (6, 7, 8, 9), (10, 11, 12, 13))  # columns of one arm: x, y, z, R - r


@dataclass(frozen=True, eq=False)
class Handicap:
    """What eqs. 37-38 leave out on a set of data, in figures; torques are root mean squares."""

    torque: float  # N m, measured
    printed: float  # N m, left by recursive least squares on the 14 columns
    ours: float  # N m, left by the same on the 11 columns of eqs. 26-30
    multipliers: tuple[tuple[float, float], ...]  # least and largest 2 L_1 lambda per arm, N
    friction: float  # N m, that the friction of the 11 columns explains
    text: str

    def __str__(self) -> str:
        return self.text


def kim_columns(robot: Robot, state: State) -> Columns:
    """The columns of [kim2022] eq. 40, Y (N, 3, 14), in its order.

    Two signs are mended to make it a regression in our frame: the paper's equations hold with z
    down, so its P_z is our -z, while its theta and the torque are ours; and theta_5, which lacks
    gravity in eq. 38, is a torque here. Neither changes what a fit can reach. `values` holds
    theta_1 and theta_5 of the robot and, in place of the constants that do not exist, the mean of
    2 L_1 lambda_i over the states.
    """
    check_state(robot, state)
    if robot.dof != 3:
        raise InputError("robot.dof", robot.dof, "3: the regression of kim2022 has no spindle")
    c, s = state.cos_q, state.sin_q
    x, y, z = (state.p[:, k, None] for k in range(3))
    Y = np.zeros((len(state), 3, 14))
    Y[:, :, 0], Y[:, :, 4] = state.qdd[:, :3], -c
    own = np.stack([-x * s, -y * s, -z * c, s], axis=-1)  # (N, arm, 4)
    for arm, where in enumerate(OWN):
        Y[:, arm, where] = own[:, arm]
    return Columns(Y, NAMES, UNITS, _values(robot, state))


def multipliers(robot: Robot, state: State) -> FloatArray:
    """2 L_1 lambda (N, 3) in N, by [kim2022] eq. 2 with the platform's weight along -z."""
    par = half_half_parameters(robot, uniform_arm=False)
    limbs = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
    force = par.M_P * (state.pdd[:, :3] + np.array([0.0, 0.0, par.gravity]))
    twice: FloatArray = contract("nki,nk->ni", limbs.s_inverse, force)
    return np.asarray(robot.geometry.arm_length) * twice


def why_handicapped(
    robot: Robot,
    state: State,
    tau: npt.ArrayLike,
    *,
    limit: Callable[[FloatArray], FloatArray] = np.asarray,
) -> Handicap:
    """Recursive least squares on the 14 printed and on the 11 columns of eqs. 26-30, compared.

    `limit` is a linear filter over samples, for columns and torque alike.
    """
    torque = limit(matching_samples(tau, len(state), 3, "tau"))
    columns = limit(kim_columns(robot, state).Y)
    printed = recursive_least_squares(columns, torque, block=BLOCK)
    eleven = regressor(robot, state, "virtual-work")
    Y = limit(eleven.Y)
    ours = recursive_least_squares(Y, torque, block=BLOCK)
    rubbing = [name.startswith("F") for name in eleven.names]
    friction = float(np.sqrt(np.mean((Y[:, :, rubbing] @ ours.x[rubbing]) ** 2)))
    varying = multipliers(robot, state)
    ranges = tuple(
        (float(low), float(high))
        for low, high in zip(varying.min(axis=0), varying.max(axis=0), strict=True)
    )
    size = float(np.sqrt(np.mean(torque**2)))
    spans = ", ".join(f"{low:.3g} to {high:.3g}" for low, high in ranges)
    text = (
        f"Recursive least squares leaves {printed.residual:.3g} N m of {size:.3g} N m (RMS) on the "
        f"14 columns of eqs. 37-38 and {ours.residual:.3g} N m on the 11 of eqs. 26-30. The first "
        f"take 2 L_1 lambda for constants, which vary over {spans} N on arms 1, 2, 3, and have no "
        f"friction, which is {friction:.3g} N m here."
    )
    return Handicap(size, printed.residual, ours.residual, ranges, friction, text)


def _values(robot: Robot, state: State) -> FloatArray:
    par, geometry = half_half_parameters(robot, uniform_arm=False), robot.geometry
    mean = multipliers(robot, state).mean(axis=0)
    azimuth = np.asarray(geometry.azimuth)
    shrunk = np.asarray(geometry.base_radius) - np.asarray(geometry.platform_radius)
    values = np.zeros(14)
    values[0], values[4] = np.mean(par.A), par.gravity * np.mean(par.G)
    for arm, where in enumerate(OWN):
        factors = (np.cos(azimuth[arm]), np.sin(azimuth[arm]), 1.0, shrunk[arm])
        values[list(where)] = mean[arm] * np.array(factors)
    return values
