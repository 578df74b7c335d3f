"""Many robots in motion on NumPy: what `rollout` does where there is no extension.

Components are arrays over the robots; the mechanism is the simulator's own source.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.dynamics.parameters import ExactParameters, SpindleParameters
from deltadyn.kernels import layout
from deltadyn.kernels.plant_layout import JOINTS, LIMB_JOINTS, PLACES
from deltadyn.kinematics.limbs import Limb
from deltadyn.simulation.drivetrain import accelerations_with_losses
from deltadyn.simulation.mechanism import mechanism_terms, pose_of
from deltadyn.simulation.passive import Rubbed, Rubbing, passive_torque

Columns = tuple[Any, ...]


class Drive(NamedTuple):
    """What drives the robots: a table (T, dof) or (N, T, dof), or a law's tables and gains."""

    torque: FloatArray | None
    ramp: bool
    law: tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None


class Equations(NamedTuple):
    """M qdd + h = tau with M (N, dof, dof) symmetric; h (N, dof) has the passive friction."""

    M: FloatArray
    h: FloatArray


def advance(
    numbers: FloatArray,
    y: FloatArray,
    wrench: FloatArray,
    drive: Drive,
    dt: float,
    substeps: int,
    steps: int,
    every: int,
    course: FloatArray | None,
) -> None:
    """Move y (N, 2 dof) by `steps` ticks in place, as `plant_rollout` of the extension."""
    dof = y.shape[1] // 2
    before = y[:, :dof] - dt * y[:, dof:]
    with np.errstate(all="ignore"):  # NaN marks a loop that is open
        for t in range(steps):
            if course is not None and t % every == 0:
                course[:, t // every] = y
            if drive.law is None:
                assert drive.torque is not None
                start = drive.torque[..., t, :]
                end = drive.torque[..., t + 1, :] if drive.ramp else start
            else:
                forward, reference, rates, gains = drive.law
                q = y[:, :dof]
                error, slip = reference[t] - q, rates[t] - (q - before) / dt
                start = end = forward[t] + gains[:dof] * error + gains[dof:] * slip
                before = q.copy()
            _tick(numbers, y, wrench, start, end, dt, substeps)
        if course is not None and steps % every == 0:
            course[:, steps // every] = y


def _tick(
    numbers: FloatArray,
    y: FloatArray,
    wrench: FloatArray,
    start: FloatArray,
    end: FloatArray,
    dt: float,
    substeps: int,
) -> None:
    h = dt / substeps
    for k in range(substeps):
        torques = [start + (k + place) / substeps * (end - start) for place in (0.0, 0.5, 1.0)]
        k1 = _slope(numbers, y, torques[0], wrench)
        k2 = _slope(numbers, y + h / 2 * k1, torques[1], wrench)
        k3 = _slope(numbers, y + h / 2 * k2, torques[1], wrench)
        k4 = _slope(numbers, y + h * k3, torques[2], wrench)
        y += h / 6 * (k1 + 2 * (k2 + k3) + k4)


def _slope(
    numbers: FloatArray, y: FloatArray, torque: FloatArray, wrench: FloatArray
) -> FloatArray:
    dof = y.shape[1] // 2
    q, qd = y[:, :dof], y[:, dof:]
    equations = equations_at(numbers, q, qd, wrench)
    s = np.tanh(qd / _entry(numbers, "smoothing", 1))
    given = torque - drive_friction(numbers, qd, s)
    losses = _entry(numbers, "load", dof) * s
    if losses.any():
        qdd = _with_losses(equations, given, losses, _entry(numbers, "rotor", dof))
    else:
        qdd = solve_positive(equations.M, given - equations.h)
    return np.concatenate([qd, qdd], axis=1)


def equations_at(
    numbers: FloatArray, q: FloatArray, qd: FloatArray, wrench: FloatArray
) -> Equations:
    """M and h of every robot; NaN where the loop does not close."""
    count, dof = q.shape
    par = _parameters(numbers, dof)
    angles, rates = _columns(q), _columns(qd)
    pose = pose_of(np, par.limbs, angles, rates)
    terms = mechanism_terms(np, par, pose, _columns(np.broadcast_to(wrench, q.shape)), rates)
    M = np.empty((count, dof, dof))
    for i, row in enumerate(terms.rows):
        for j, value in enumerate(row):
            M[:, i, j] = M[:, j, i] = value
    h = np.empty((count, dof))
    for i, value in enumerate(terms.h):
        h[:, i] = value
    pivot_z = 0.0 if par.spindle is None else par.spindle.pivot_z
    extra = passive_torque(np, _rubbing(numbers, dof), par.limbs, pivot_z, pose, rates)
    for i, value in enumerate(extra):
        h[:, i] += value
    return Equations(M, h)


def drive_friction(numbers: FloatArray, qd: FloatArray, s: FloatArray) -> FloatArray:
    """Friction of the drives without the gears' loss (N, dof), in N m."""
    dof = qd.shape[1]
    viscous, forth, back, size, velocity, offset = (
        _entry(numbers, name, dof)
        for name in (
            "viscous",
            "coulomb",
            "coulomb_negative",
            "stribeck",
            "stribeck_velocity",
            "offset",
        )
    )
    ratio = qd / np.where(size != 0, velocity, 1.0)
    dry = np.where(s > 0, forth, back) + size * np.exp(-ratio * ratio)
    friction: FloatArray = viscous * qd + dry * s + offset
    return friction


def solve_positive(M: FloatArray, right: FloatArray) -> FloatArray:
    """x (N, dof) of M x = b by M = L D L^T; NaN where M is not positive definite."""
    n = right.shape[1]
    lower, x = M.copy(), right.copy()
    for j in range(n):
        pivot = lower[:, j, j]
        for k in range(j):
            pivot = pivot - lower[:, j, k] ** 2 * lower[:, k, k]
        pivot = np.where(pivot > 0, pivot, np.nan)
        lower[:, j, j] = pivot
        for i in range(j + 1, n):
            value = lower[:, i, j]
            for k in range(j):
                value = value - lower[:, i, k] * lower[:, j, k] * lower[:, k, k]
            lower[:, i, j] = value / pivot
            x[:, i] -= lower[:, i, j] * x[:, j]
    for j in range(n - 1, -1, -1):
        x[:, j] /= lower[:, j, j]
        for i in range(j + 1, n):
            x[:, j] -= lower[:, i, j] * x[:, i]
    return x


def _with_losses(
    equations: Equations, given: FloatArray, losses: FloatArray, rotor: FloatArray
) -> FloatArray:
    """Accelerations of gears that lose a share of their load, robot by robot."""
    qdd = np.full_like(given, np.nan)
    sound: BoolArray = np.asarray(np.isfinite(given + equations.h).all(axis=1))
    losses, rotor = (np.broadcast_to(value, given.shape) for value in (losses, rotor))
    for k in np.flatnonzero(sound):
        rows = (equations.M[k], equations.h[k], given[k], losses[k], rotor[k])
        try:
            qdd[k] = accelerations_with_losses(*(row.tolist() for row in rows))
        except ArithmeticError:
            continue  # stays NaN
    return qdd


def _parameters(numbers: FloatArray, dof: int) -> ExactParameters:
    def entry(name: str) -> Any:
        columns = _columns(numbers[..., layout.PLACES[name]])
        return columns[0] if len(columns) == 1 else columns

    limb = _columns(numbers[..., layout.PLACES["limb"]])
    first, second, third = (Limb(*limb[5 * i : 5 * i + 5]) for i in range(3))
    return ExactParameters(
        limbs=(first, second, third),
        **{name: entry(name) for name in ("gravity", "M_P", "m_x", "A", "G", "G_s")},
        spindle=SpindleParameters(*entry("spindle")) if dof == 4 else None,
    )


def _rubbing(numbers: FloatArray, dof: int) -> Rubbing:
    viscous, coulomb = (
        _columns(numbers[..., PLACES[name]]) for name in ("passive_viscous", "passive_coulomb")
    )
    items = tuple(
        Rubbed(name, viscous[i], coulomb[i])
        for i, name in enumerate(JOINTS if dof == 4 else LIMB_JOINTS)
        if np.any(viscous[i]) or np.any(coulomb[i])
    )
    return Rubbing(items, numbers[..., layout.PLACES["smoothing"].start])


def _entry(numbers: FloatArray, name: str, width: int) -> FloatArray:
    start = layout.PLACES[name].start
    return numbers[..., start : start + width]


def _columns(values: FloatArray) -> Columns:
    return tuple(values[..., i] for i in range(values.shape[-1]))
