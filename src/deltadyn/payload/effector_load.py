"""What hangs on the effector of a 4-DOF robot: mass, offset of its COM and inertia about its axis.

The torque is linear in m, m x, m y and I, where (x, y) is the COM in the effector's frame and I the
inertia about the axis: they add to M_P, h_x, h_y and I_psi of the exact model. The platform never
tilts, so the height of the COM has no influence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.dynamics.regressor import regressor
from deltadyn.errors import InputError
from deltadyn.payload.front_end import check_recording_of
from deltadyn.recording.prepare.data import prepare
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot

NAMES = ("M_P", "h_x", "h_y", "I_psi")
ORDER = 2  # of the noise's autoregression
PASSES = 3  # of whitening and solving
ARM = 0.05  # m: the offset of a usual load; what is known to half of that is told


@dataclass(frozen=True, eq=False)
class EffectorLoad:
    """Mass (kg), offset (x, y) (m) and inertia about the COM (kg m^2), each with its deviation.

    What the motion does not excite is None in `offset` or `inertia`; `status` says so.
    """

    mass: float
    mass_std: float
    offset: tuple[float, float] | None
    offset_std: tuple[float, float] | None
    inertia: float | None
    inertia_std: float | None
    values: FloatArray  # (4,): m, m x, m y, inertia about the axis; NaN where not told
    covariance: FloatArray  # (4, 4)
    status: str

    def __str__(self) -> str:
        lines = [self.status, f"mass {self.mass:.4f} kg +- {self.mass_std:.4f}"]
        if self.offset is not None and self.offset_std is not None:
            pairs = zip("xy", self.offset, self.offset_std, strict=True)
            lines += [f"offset {a} {1e3 * v:.2f} mm +- {1e3 * s:.2f}" for a, v, s in pairs]
        if self.inertia is not None:
            lines.append(f"inertia {self.inertia:.3e} kg m^2 +- {self.inertia_std:.1e}")
        return "\n".join(lines)


def effector_load(model: Any, recording: Recording, *, band: float | None = 30.0) -> EffectorLoad:
    """The load of a recording throughout which it was carried, beyond the model's own payload.

    `model` is the identified robot whose tool turns, without the load, or its fit; `band` (Hz)
    limits both sides of the comparison.
    """
    robot = getattr(model, "robot", model)
    if not isinstance(robot, Robot):
        raise InputError("model", type(model).__name__, "a Robot, or a fit with .robot")
    if not robot.turns:
        allowed = "one whose tool turns: nothing else tells offset and inertia"
        raise InputError("robot", robot.name, allowed)
    check_recording_of(robot, recording)
    ready = prepare(robot, recording, band=band)
    full = regressor(robot, ready.state, "exact", friction=False)
    chosen = [full.names.index(name) for name in NAMES]
    Y = ready.limited(full.Y[:, :, chosen])  # (M, 4, 4)
    r = ready.limited(ready.tau - inverse_dynamics(robot, ready.state))
    values, covariance = _whitened_fit(Y, r)
    return _load(values, covariance)


def _whitened_fit(Y: FloatArray, r: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least squares, whitening by an autoregression of the residual, and again."""
    count, dof = r.shape
    if count < 20 * ORDER:
        raise InputError("samples in the band", count, f"at least {20 * ORDER}")
    told = np.abs(Y).max(axis=(0, 1)) > 1e-9
    a, sigma = np.zeros((dof, ORDER)), r.std(axis=0) + 1e-12
    values = np.full(Y.shape[2], np.nan)
    for _ in range(PASSES):
        rows, right = _whiten(Y[:, :, told], a) / sigma[:, None], _whiten(r, a) / sigma
        A, b = rows.reshape(-1, rows.shape[2]), right.ravel()
        x = np.linalg.lstsq(A, b, rcond=1e-10)[0]
        e = r - Y[:, :, told] @ x
        for axis in range(dof):
            past = np.stack([e[ORDER - k : -k, axis] for k in range(1, ORDER + 1)], axis=1)
            a[axis] = np.linalg.lstsq(past, e[ORDER:, axis], rcond=None)[0]
            sigma[axis] = np.std(e[ORDER:, axis] - past @ a[axis]) + 1e-12
        values[told] = x
    covariance = np.full((Y.shape[2],) * 2, np.inf)
    covariance[np.ix_(told, told)] = np.linalg.pinv(A.T @ A, rcond=1e-12)
    return values, covariance


def _whiten(x: FloatArray, a: FloatArray) -> FloatArray:
    """x_k - a1 x_(k-1) - a2 x_(k-2) per axis (second index)."""
    out: FloatArray = x[ORDER:].copy()
    for k in range(1, ORDER + 1):
        scale = a[:, k - 1] if x.ndim == 2 else a[:, k - 1, None]
        out -= scale * x[ORDER - k : -k]
    return out


def _load(values: FloatArray, covariance: FloatArray) -> EffectorLoad:
    m, hx, hy, I = values
    std = np.sqrt(np.diagonal(covariance))
    mass = max(abs(m), 1e-9)
    offset = offset_std = None
    missing = []
    if max(std[1], std[2]) < 0.5 * ARM * mass:
        offset = (hx / m, hy / m)
        slopes = [
            np.array([-x / m, *unit]) / m for x, unit in zip(offset, ((1, 0), (0, 1)), strict=True)
        ]
        part = covariance[:3, :3]
        offset_std = tuple(math.sqrt(float(g @ part @ g)) for g in slopes)
    else:
        missing.append("the offset of the COM (accelerate along x and y)")
    inertia = inertia_std = None
    if offset is not None and std[3] < 0.5 * mass * ARM**2:
        inertia = float(I - (hx**2 + hy**2) / m)
        slope = np.array([(hx**2 + hy**2) / m**2, -2 * hx / m, -2 * hy / m, 1.0])
        inertia_std = math.sqrt(float(slope @ covariance @ slope))
    else:
        missing.append("the inertia (turn psi with acceleration)")
    status = "the motion tells mass, offset and inertia"
    if missing:
        status = "the motion does not tell " + " nor ".join(missing)
    return EffectorLoad(
        float(m),
        float(std[0]),
        offset,
        offset_std,  # type: ignore[arg-type]
        inertia,
        inertia_std,
        values,
        covariance,
        status,
    )
