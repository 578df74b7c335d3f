"""Which parameters a motion shall identify, and whether it can: said before the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.base import base_parameters, exciting_states
from deltadyn.dynamics.regressor import regressor
from deltadyn.errors import DeltadynError
from deltadyn.excitation.problem import IntArray
from deltadyn.robot import Robot

NO_INFLUENCE = 1e-10  # of the longest column
DEPENDENT = 1e-8  # of the largest singular value, columns of unit length; rounding leaves 1e-15
NAMED = 0.05  # of a unit vector: parameters below take no part in a dependency


class UnidentifiableError(DeltadynError):
    """Parameters that no motion of the kind asked for can tell; said before the search.

    `no_influence` holds those without influence on the torque, `dependent` those of which only
    combinations have one.
    """

    def __init__(self, no_influence: Sequence[str], dependent: Sequence[str]) -> None:
        self.no_influence = tuple(no_influence)
        self.dependent = tuple(dependent)
        super().__init__(
            f"{unidentifiable_text(self.no_influence, self.dependent)}; move more coordinates, "
            "widen the limits, or pass unidentifiable='drop' to design for the other parameters"
        )


@dataclass(frozen=True, eq=False)
class Chosen:
    """The base parameters to identify: columns `index` of the model's regressor.

    `all_values` holds the values of all its columns, for the torque.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: FloatArray
    index: IntArray
    all_values: FloatArray

    def kept(self, keep: Sequence[int]) -> Chosen:
        """Only these."""
        rows = np.asarray(keep, dtype=np.int64)
        names, units = (tuple(part[j] for j in rows) for part in (self.names, self.units))
        return Chosen(names, units, self.values[rows], self.index[rows], self.all_values)


@dataclass(frozen=True)
class Identifiability:
    """What random motions of the kind asked for can tell: `keep` are independent columns."""

    keep: tuple[int, ...]
    no_influence: tuple[str, ...]
    dependent: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every parameter can be identified."""
        return not (self.no_influence or self.dependent)


def choose_parameters(robot: Robot, model: str, tied: bool, friction: bool) -> Chosen:
    """All parameters of the exact model; of another model its base parameters.

    Friction is part of the torque in any case; without `friction` it is not to be identified.
    """
    state = exciting_states(robot, 3)
    full = regressor(robot, state, model, tied=tied)
    without = regressor(robot, state, model, tied=tied, friction=False).names
    if model == "exact":
        names = full.names if friction else without
        values = full.parameters[: len(names)]
    else:
        base = base_parameters(robot, model, tied, friction=friction)
        names = base.independent
        values = np.array([item.value for item in base.parameters])
    index = np.array([full.names.index(name) for name in names], dtype=np.int64)
    units = tuple(full.units[j] for j in index)
    return Chosen(tuple(names), units, values, index, full.parameters)


def identifiability(names: tuple[str, ...], Y: FloatArray) -> Identifiability:
    """Rank check of a weighted regressor (rows, n) stacked over random motions."""
    from scipy.linalg import qr  # takes longer than the rest of the import

    length = np.linalg.norm(Y, axis=0)
    alive = np.flatnonzero(length > NO_INFLUENCE * length.max())
    dead = tuple(name for j, name in enumerate(names) if j not in alive)
    unit = np.linalg.qr(Y[:, alive] / length[alive], mode="r")  # all that the rank depends on
    _, singular, vectors = np.linalg.svd(unit, full_matrices=False)
    rank = int((singular > DEPENDENT * singular[0]).sum())
    lost = np.abs(vectors[rank:]).max(axis=0, initial=0.0) > NAMED
    _, _, order = qr(unit, mode="economic", pivoting=True)
    keep = tuple(int(j) for j in np.sort(alive[order[:rank]]))
    return Identifiability(keep, dead, tuple(names[j] for j in alive[lost]))


def unidentifiable_text(no_influence: Sequence[str], dependent: Sequence[str]) -> str:
    """A sentence on what cannot be identified."""
    parts = []
    if no_influence:
        verb = "has" if len(no_influence) == 1 else "have"
        parts.append(f"{', '.join(no_influence)} {verb} no influence on the torque")
    if dependent:
        parts.append(f"{', '.join(dependent)} cannot be told apart")
    return " and ".join(parts) + " in any motion of this kind"
