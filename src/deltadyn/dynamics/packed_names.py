"""Where the parameters of a regressor sit among a robot's packed numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.exact_columns import SPINDLE_NAMES
from deltadyn.errors import InputError
from deltadyn.kernels.layout import COUNT, PLACES

#: Friction parameters and the entries that hold them, an axis each.
FRICTION = {
    "Fv": ("viscous",),
    "Fc": ("coulomb", "coulomb_negative"),
    "Fc+": ("coulomb",),
    "Fc-": ("coulomb_negative",),
    "Fs": ("stribeck",),
    "F0": ("offset",),
    "mu": ("load",),
}
LIMB = ("m_x", "A", "G", "G_s")


def packed_places(name: str) -> tuple[int, ...]:
    """The places of a parameter of the exact model's regressor, such as "M_P", "A2" or "Fc1".

    A name without its arm, such as "A", stands for the three arms.
    """
    if name == "M_P":
        return (PLACES["M_P"].start,)
    if name in SPINDLE_NAMES:
        return (PLACES["spindle"].start + 1 + SPINDLE_NAMES.index(name),)
    if name in LIMB:
        return tuple(range(PLACES[name].start, PLACES[name].stop))
    kind, axis = name[:-1], name[-1:]
    if kind in LIMB and axis in ("1", "2", "3"):
        return (PLACES[kind].start + int(axis) - 1,)
    if kind in FRICTION and axis in ("1", "2", "3", "4"):
        return tuple(PLACES[entry].start + int(axis) - 1 for entry in FRICTION[kind])
    allowed = "a parameter of the exact model without friction in passive joints"
    raise InputError("parameter", name, allowed)


def packing(names: Sequence[str]) -> FloatArray:
    """P (COUNT, n) with P @ values of these parameters at their places, zero elsewhere."""
    P = np.zeros((COUNT, len(names)))
    for column, name in enumerate(names):
        P[list(packed_places(name)), column] = 1.0
    return P
