"""The tracking error of a run, pick by pick."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.simulation.run import Run


@dataclass(frozen=True, eq=False)
class PickError:
    """A stretch of a run with one payload: RMS and largest tracking error (dof,), in rad."""

    start: float  # s
    end: float  # s
    mass: float  # kg
    rms: FloatArray
    largest: FloatArray


def pick_errors(run: Run) -> tuple[PickError, ...]:
    """The run cut where its payload changes, each stretch with its tracking error at the arms."""
    mass, t = run.truth.payload, run.truth.t
    cuts = [0, *(np.flatnonzero(np.diff(mass)) + 1).tolist(), len(t)]
    picks = []
    for first, last in pairwise(cuts):
        error = run.tracking_error[first:last]
        picks.append(
            PickError(
                float(t[first]),
                float(t[last - 1]),
                float(mass[first]),
                np.sqrt(np.mean(error**2, axis=0)),
                np.abs(error).max(axis=0),
            )
        )
    return tuple(picks)
