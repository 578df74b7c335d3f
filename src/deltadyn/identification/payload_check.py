"""Payloads that were not declared: recordings whose platform weighs more than the first's."""

from __future__ import annotations

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.identification.information import Information, IntArray, triangle
from deltadyn.identification.least_squares import solved
from deltadyn.identification.parametrisation import Parametrisation

SURE = 6.0  # standard deviations over groups of blocks
LEAST = 0.05  # kg
SHARE = 0.03  # of the platform's mass: what gear losses can make it seem
SEEMS = 0.15  # of the payload: what elastic gears and wrong gains can make it seem
GROUPS = 8


def check_payloads(
    information: Information, par: Parametrisation, weights: FloatArray, platform: float
) -> None:
    """Refuse a recording that carried another payload, against the first, than was declared."""
    present = np.unique(information.recording)
    if len(present) < 2:
        return
    mass = _masses(information, par, weights, present)
    order = np.concatenate([_groups(int((information.recording == r).sum())) for r in present])
    parts = [
        _masses(information.of_blocks(order != g), par, weights, present)
        for g in range(GROUPS)
        if (order == g).any()
    ]
    spread = np.array(parts) - np.mean(parts, axis=0)
    std = np.sqrt((len(parts) - 1) / len(parts) * (spread**2).sum(axis=0))
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


def _masses(
    information: Information, par: Parametrisation, weights: FloatArray, present: IntArray
) -> FloatArray:
    """Mass in kg that every recording after the first carried beyond what is declared."""
    reduced = information.reduced(par) * weights[:, None, None]
    push = information.factors[..., :-1] @ information.payload * weights[:, None]
    own = information.recording[:, None] == present[1:]  # (B, r)
    extra = push[..., None] * own[:, None, None, :]
    rows = np.concatenate([reduced[..., :-1], extra, reduced[..., -1:]], axis=-1)
    return solved(triangle(rows.reshape(-1, rows.shape[-1])))[len(par.names) :]


def _groups(blocks: int) -> IntArray:
    return np.arange(blocks, dtype=np.int64) * GROUPS // max(blocks, 1)
