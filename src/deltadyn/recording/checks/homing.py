"""A hint at homing errors: offsets of the angles that no parameter of the model can explain."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import regressor
from deltadyn.errors import UnreachableError
from deltadyn.kinematics import State
from deltadyn.recording.checks.findings import Finding
from deltadyn.recording.checks.robot import model_torque
from deltadyn.recording.checks.stretch import Stretch
from deltadyn.recording.recording import channel_name
from deltadyn.robot import Robot

SAMPLES = 600
ITERATIONS = 4
STEP = 1e-3  # rad, of the differences
LEAST = math.radians(1.0)  # smaller offsets are not told apart from an imperfect model
LARGEST = math.radians(25.0)
EXPLAINED = 0.5  # share of the squared residual that the offsets must remove
RANK = 1e-10  # eigenvalues below this share of the largest are zero
NOTICEABLE = 0.01  # residual without offsets, as a share of the torque


def check_homing(stretch: Stretch, robot: Robot) -> Iterator[Finding]:
    """Offsets of the arm angles by Gauss-Newton steps, beside all linear parameters and friction.

    The residual is that of tau = Y(q + offset) parameters + friction; what other masses, inertias
    or friction would explain is never called an offset.
    """
    stride = max(1, len(stretch.row) // SAMPLES)
    q, qd, qdd, tau = (
        array[::stride] for array in (stretch.q, stretch.qd, stretch.qdd, stretch.tau)
    )
    offset = np.zeros(3)
    before = residual = math.inf
    for number in range(ITERATIONS):
        shifted = q.copy()
        shifted[:, :3] += offset
        fitted = _step(robot, shifted, qd, qdd, tau)
        if fitted is None:
            return
        without, residual, change = fitted
        if number == 0:
            before = without
            if before < NOTICEABLE * math.sqrt(float(np.mean(tau**2))):
                return
        offset = offset + change
        if not np.abs(offset).max() < LARGEST:
            return
    if residual**2 > (1 - EXPLAINED) * before**2 or np.abs(offset).max() < LEAST:
        return
    axis = int(np.abs(offset).argmax())
    told = ", ".join(f"q{i + 1} {math.degrees(x):+.2f} deg" for i, x in enumerate(offset))
    yield Finding(
        "homing",
        "info",
        channel_name("q", axis),
        f"Offsets of the angles ({told}) would lower the residual torque from {before:.3g} to "
        f"{residual:.3g} N m whatever the masses and the friction are.",
        "Check the homing of the axes, or correct the offsets in the controller section of the "
        "robot file.",
        value=float(offset[axis]),
    )


def _step(
    robot: Robot, q: FloatArray, qd: FloatArray, qdd: FloatArray, tau: FloatArray
) -> tuple[float, float, FloatArray] | None:
    """RMS of the arms' residual without and with offsets, and the offsets of a linear step."""
    try:
        state = State.from_joints(robot, q, qd, qdd)
    except UnreachableError:  # another check reports loops that do not close
        return None
    Y = np.asarray(regressor(robot, state).Y)  # (n, dof, k)
    count = len(q)
    friction = np.zeros((count, robot.dof, 3 * robot.dof))
    for axis in range(robot.dof):
        for place, column in enumerate((qd[:, axis], np.sign(qd[:, axis]), np.ones(count))):
            friction[:, axis, 3 * axis + place] = column
    slopes = np.empty((count, robot.dof, 3))
    for axis in range(3):
        moved = np.zeros(robot.dof)
        moved[axis] = STEP
        up, down = (model_torque(robot, q + sign * moved, qd, qdd) for sign in (1, -1))
        slopes[:, :, axis] = (up - down) / (2 * STEP)
    if not np.isfinite(slopes).all():
        return None
    plain = np.concatenate([Y, friction], axis=2)[:, :3].reshape(3 * count, -1)
    full = np.concatenate([plain, slopes[:, :3].reshape(3 * count, 3)], axis=1)
    target = tau[:, :3].reshape(-1)
    without, _ = _least_squares(plain, target)
    residual, solution = _least_squares(full, target)
    return without, residual, solution[-3:]


def _least_squares(a: FloatArray, b: FloatArray) -> tuple[float, FloatArray]:
    """RMS residual and solution, by the normal equations: a hint needs no more digits."""
    scale = np.linalg.norm(a, axis=0)
    scale[scale == 0] = 1.0
    scaled = a / scale
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    kept = values > RANK * values[-1]
    basis = vectors[:, kept]
    x = basis @ ((basis.T @ (scaled.T @ b)) / values[kept])
    rest = b - scaled @ x
    return math.sqrt(float(np.mean(rest**2))), x / scale
