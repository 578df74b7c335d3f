"""How short the steps of a rollout must be: friction about rest must stay stable."""

from __future__ import annotations

import math

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.kernels import layout
from deltadyn.kernels.plant_layout import PLACES
from deltadyn.robot import Robot
from deltadyn.simulation.ideal import FRICTION_STEP, SLOW_RATE
from deltadyn.simulation.machine import home_angles
from deltadyn.simulation.rollout_numpy import drive_friction, equations_at

RUBBING = ("viscous", "coulomb", "coulomb_negative", "stribeck")


def friction_substeps(robot: Robot, numbers: FloatArray, dt: float) -> int:
    """Integration steps in dt seconds, from the fastest rate of any robot at rest, as `ideal`."""
    dof, table = robot.dof, np.atleast_2d(numbers)
    places = [*(layout.PLACES[name] for name in RUBBING), PLACES["passive_viscous"]]
    places.append(PLACES["passive_coulomb"])
    if not any(table[:, place].any() for place in places):
        return 1
    table = np.unique(table, axis=0) if len(table) <= 10_000 else table
    home = np.broadcast_to(home_angles(robot), (len(table), dof))
    still = np.zeros((len(table), dof))
    with np.errstate(all="ignore"):
        rest = equations_at(table, home, still, still)
        brake = np.empty((len(table), dof, dof))
        smoothing = table[:, [layout.PLACES["smoothing"].start]]
        for axis in range(dof):
            slow = still.copy()
            slow[:, axis] = SLOW_RATE
            moved = equations_at(table, home, slow, still).h - rest.h
            brake[:, :, axis] = moved / SLOW_RATE
        pair = [np.full_like(still, rate) for rate in (SLOW_RATE, -SLOW_RATE)]
        forth, back = (drive_friction(table, rate, np.tanh(rate / smoothing)) for rate in pair)
    axes = np.arange(dof)
    brake[:, axes, axes] += (forth - back) / (2 * SLOW_RATE)
    sound = np.isfinite(rest.M).all(axis=(1, 2)) & np.isfinite(brake).all(axis=(1, 2))
    if not sound.any():
        return 1  # no robot closes its loop there; the rollout will say so
    rates = np.abs(np.linalg.eigvals(np.linalg.solve(rest.M[sound], brake[sound])))
    return max(1, math.ceil(dt * float(rates.max()) / FRICTION_STEP))
