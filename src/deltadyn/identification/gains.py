"""Gains of the drives, from recordings with different known payloads.

A drive that reports g times less than its torque makes every mass look g times lighter; only a
known mass tells. With payload m known, each drive by itself reports tau_i = Y_i x_i + m Y_p / g_i:
linear in x_i = x / g_i and 1 / g_i, with the noise of the torque on the side where it does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.errors import InputError
from deltadyn.identification.information import Information, triangle
from deltadyn.identification.methods.base import least
from deltadyn.identification.parametrisation import Parametrisation

LEAST = 0.05  # kg between the lightest and the heaviest payload


@dataclass(frozen=True, eq=False)
class Gains:
    """True torque per reported torque (dof,), with standard deviations over groups of blocks."""

    values: FloatArray
    std: FloatArray
    status: str


def drive_gains(information: Information, par: Parametrisation, groups: int = 8) -> Gains:
    """The gains of all drives; refused where payloads are alike."""
    payloads = information.extra
    if np.ptp(payloads) < LEAST:
        raise InputError(
            "payloads of the recordings (kg)",
            np.unique(payloads),
            f"at least two that differ by {LEAST:g} kg: gains need a known change of mass",
        )
    values = _solved(information, par)
    order = np.arange(information.blocks) * groups // information.blocks
    parts = []
    for group in range(groups):  # leave one group of blocks out at a time (jackknife)
        rest = information.of_blocks(order != group)
        if np.ptp(rest.extra) >= LEAST:
            parts.append(_solved(rest, par))
    count = len(parts)
    spread = np.array(parts) - np.mean(parts, axis=0)
    std = np.sqrt((count - 1) / count * (spread**2).sum(axis=0))
    text = ", ".join(f"{g:.4f} ± {s:.4f}" for g, s in zip(values, std, strict=True))
    low, high = payloads.min(), payloads.max()
    return Gains(values, std, f"Drive gains {text}, from payloads {low:g} to {high:g} kg apart.")


def with_gains(information: Information, gains: FloatArray) -> Information:
    """The information of torques multiplied by the gains (dof,)."""
    factors = information.factors.copy()
    factors[..., -1] *= gains[:, None]
    return replace(information, factors=factors)


def _solved(information: Information, par: Parametrisation) -> FloatArray:
    """Gains (dof,), each from the torque of its own drive."""
    columns = information.factors[..., :-1]
    known = contract("bamn,n->bam", columns, par.offset)
    push = contract("bamn,n->bam", columns, information.payload)
    gains = np.empty(information.dof)
    for axis in range(information.dof):
        Y = columns[:, axis] @ par.T
        Y = Y[..., np.linalg.norm(Y, axis=(0, 1)) > 0]
        load = push[:, axis] * information.extra[:, None]
        offset, target = known[:, axis], information.factors[:, axis, :, -1]
        parts = [Y, load[..., None], target[..., None]]
        if offset.any():
            parts.insert(0, offset[..., None])  # what is held is seen through the gain, too
        rows = np.concatenate(parts, axis=-1)
        found = least(triangle(rows.reshape(-1, rows.shape[-1])))
        gains[axis] = 1 / found[-1]
    return gains
