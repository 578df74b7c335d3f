"""What known masses tell: the gains of the drives, and payloads that were not declared.

A drive that reports g times less than its torque makes every mass look g times lighter; only a
known mass tells. With payload m known, each drive by itself reports tau_i = Y_i x_i + m Y_p / g_i:
linear in x_i = x / g_i and 1 / g_i, with the noise of the torque on the side where it does no harm.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.errors import InputError
from deltadyn.identification.information import Information, IntArray, triangle
from deltadyn.identification.methods.base import least, solved
from deltadyn.identification.parametrisation import Parametrisation
from deltadyn.identification.prior import checked_prior, with_prior

LEAST = 0.05  # kg between payloads that count as different
GROUPS = 8  # of blocks, for deviations
SURE = 6.0  # standard deviations over groups of blocks
SHARE = 0.03  # of the platform's mass: what gear losses can make it seem
_NUMBER = re.compile(r" \(\d+\)$")  # of recordings that share a name
SEEMS = 0.15  # of the payload: what elastic gears and wrong gains can make it seem


@dataclass(frozen=True, eq=False)
class Gains:
    """True torque per reported torque (dof,), with standard deviations over groups of blocks."""

    values: FloatArray
    std: FloatArray
    status: str


def drive_gains(information: Information, par: Parametrisation, groups: int = GROUPS) -> Gains:
    """The gains of all drives; refused where payloads are alike."""
    payloads = information.extra
    if np.ptp(payloads) < LEAST:
        raise InputError(
            "payloads of the recordings (kg)",
            np.unique(payloads),
            f"at least two that differ by {LEAST:g} kg: gains need a known change of mass",
        )
    values = _gains(information, par)
    order = _order(information.blocks, groups)
    rests = [information.of_blocks(order != group) for group in range(groups)]
    std = _jackknife(lambda rest: _gains(rest, par), [r for r in rests if np.ptp(r.extra) >= LEAST])
    text = ", ".join(f"{g:.4f} ± {s:.4f}" for g, s in zip(values, std, strict=True))
    low, high = payloads.min(), payloads.max()
    return Gains(values, std, f"Drive gains {text}, from payloads {low:g} to {high:g} kg apart.")


def with_gains(information: Information, gains: FloatArray) -> Information:
    """The information of torques multiplied by the gains (dof,)."""
    factors = information.factors.copy()
    factors[..., -1] *= gains[:, None]
    return replace(information, factors=factors)


def check_payloads(
    information: Information,
    par: Parametrisation,
    weights: FloatArray,
    platform: float,
    prior_rows: FloatArray | None = None,
) -> None:
    """Refuse a recording that carried another payload, against the first, than was declared.

    Short recordings of one name and payload are stretches of one log and judged together; what is
    still too short for a deviation is not judged.
    """
    information = replace(information, recording=_logs(information))
    labels, counts = np.unique(information.recording, return_counts=True)
    present = labels[counts >= GROUPS]
    if len(present) < 2:
        return
    before = checked_prior(prior_rows, par)
    mass = _masses(information, par, weights, present, before)
    order = np.empty(information.blocks, dtype=np.int64)
    for label, count in zip(labels, counts, strict=True):
        order[information.recording == label] = _order(int(count), GROUPS)
    rests = [information.of_blocks(order != g) for g in range(GROUPS)]
    std = _jackknife(lambda rest: _masses(rest, par, weights, present, before), rests)
    extra = [float(information.extra[information.recording == r][0]) for r in present]
    for r, declared, more, doubt in zip(present[1:], extra[1:], mass, std, strict=True):
        carried = max(abs(declared), abs(extra[0]))
        if abs(more) > max(LEAST, SHARE * platform, SEEMS * carried, SURE * float(doubt)):
            first, name = (information.recordings[index] for index in (present[0], r))
            raise InputError(
                f"payload of {name!r} (kg beyond the robot's own)",
                declared,
                f"about {declared + more:.2f} kg: it carried {more:+.2f} kg "
                f"(± {doubt:.2f}) against what is declared for it and {first!r}; "
                "set `payload` of the recordings, or pass check=False",
            )


def _logs(information: Information) -> IntArray:
    """The recording (B,) of each block, the first of its kind for short ones of one log."""
    logs = information.recording.copy()
    first: dict[tuple[str, float], int] = {}
    for label, count in zip(*np.unique(logs, return_counts=True), strict=True):
        mine = logs == label
        if count < GROUPS:
            name = _NUMBER.sub("", information.recordings[label])
            key = (name, float(information.extra[mine][0]))
            logs[mine] = first.setdefault(key, int(label))
    return logs


def _jackknife(
    estimate: Callable[[Information], FloatArray], rests: list[Information]
) -> FloatArray:
    """Standard deviations of an estimate, from data that leave out one group of blocks each."""
    parts = [estimate(rest) for rest in rests]
    spread = np.array(parts) - np.mean(parts, axis=0)
    std: FloatArray = np.sqrt((len(parts) - 1) / len(parts) * (spread**2).sum(axis=0))
    return std


def _order(blocks: int, groups: int) -> IntArray:
    """The group (B,) of each block: neighbours in time go together."""
    return np.arange(blocks, dtype=np.int64) * groups // max(blocks, 1)


def _gains(information: Information, par: Parametrisation) -> FloatArray:
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


def _masses(
    information: Information,
    par: Parametrisation,
    weights: FloatArray,
    present: IntArray,
    before: FloatArray,
) -> FloatArray:
    """Mass in kg that every recording after the first carried beyond what is declared."""
    reduced = information.reduced(par) * weights[:, None, None]
    push = information.factors[..., :-1] @ information.payload * weights[:, None]
    own = information.recording[:, None] == present[1:]  # (B, r)
    extra = push[..., None] * own[:, None, None, :]
    rows = np.concatenate([reduced[..., :-1], extra, reduced[..., -1:]], axis=-1)
    known = np.insert(before, [len(par.names)] * (len(present) - 1), 0.0, axis=1)
    return solved(with_prior(triangle(rows.reshape(-1, rows.shape[-1])), known))[len(par.names) :]
