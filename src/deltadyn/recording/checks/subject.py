"""What is checked: a recording, its robot, and stretches on which models can be evaluated."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import inverse_dynamics
from deltadyn.kinematics import State
from deltadyn.recording.checks.findings import GAP, Finding
from deltadyn.recording.prepare.band import EvenGrid
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot

WINDOW = 0.02  # s over which a cubic is fitted for the rates
LEAST_POINTS = 7
EVEN = 0.02  # of a time step: below, the clock is taken as even
PIECES = 12
PIECE_ROWS = 4000
MOST_SAMPLES = 3000


@dataclass(eq=False)
class Subject:
    """A recording with its robot, and what the checks before have found."""

    recording: Recording
    robot: Robot | None
    found: list[Finding] = field(default_factory=list)

    def has(self, *kinds: str) -> bool:
        """Whether something of these kinds was found."""
        return any(item.kind in kinds for item in self.found)

    @property
    def machine(self) -> Robot:
        """The robot, for checks that are made with one only."""
        if self.robot is None:
            raise LookupError("robot")
        return self.robot

    @cached_property
    def stretch(self) -> Stretch | None:
        """Smooth samples with rates; None where no piece of the recording is long enough."""
        return smooth_stretch(self.recording)

    @property
    def smooth(self) -> Stretch:
        """The stretch, for checks that are made with one only."""
        if self.stretch is None:
            raise LookupError("stretch")
        return self.stretch

    @cached_property
    def model(self) -> FloatArray:
        """The model's torque (n, dof) along the stretch; NaN where the loop does not close."""
        return model_torque(self.machine, self.smooth.q, self.smooth.qd, self.smooth.qdd)


@dataclass(frozen=True, eq=False)
class Stretch:
    """Samples (n, dof) with rates by local cubics, and the rows they came from."""

    row: npt.NDArray[np.intp]
    q: FloatArray
    qd: FloatArray
    qdd: FloatArray
    tau: FloatArray


def smooth_stretch(recording: Recording) -> Stretch | None:
    """Up to some thousand samples spread over the recording; None where no piece is long enough.

    Rates are crude but unbiased for motions up to some 20 Hz, and good enough to tell signs, units
    and axes apart.
    """
    step = recording.sample_time
    if not step > 0:
        return None
    points = max(LEAST_POINTS, 2 * round(WINDOW / step / 2) + 1)
    pieces = [
        _piece(recording, start, stop, step, points)
        for start, stop in _chosen(recording, step, points)
    ]
    if not pieces:
        return None
    whole = [np.concatenate(parts) for parts in zip(*pieces, strict=True)]
    stride = max(1, len(whole[0]) // MOST_SAMPLES)
    row, q, qd, qdd, tau = (array[::stride] for array in whole)
    return Stretch(row.astype(np.intp), q, qd, qdd, tau)


def _chosen(recording: Recording, step: float, points: int) -> list[tuple[int, int]]:
    """Pieces without gaps and missing values, evenly spread over the recording."""
    steps = np.diff(recording.t)
    with np.errstate(invalid="ignore"):
        good = (steps > 0) & (steps <= GAP * step)
    both = np.concatenate([recording.q, recording.tau], axis=1)
    finite = np.asarray(np.isfinite(both).all(axis=1))
    good &= finite[1:] & finite[:-1]
    breaks = np.flatnonzero(~good) + 1
    bounds = np.concatenate([[0], breaks, [len(recording)]])
    least = 4 * points
    whole = [(int(a), int(b)) for a, b in pairwise(bounds) if b - a >= least]
    total = sum(b - a for a, b in whole)
    if total <= PIECES * PIECE_ROWS:
        return whole
    cut = [
        (start, min(start + PIECE_ROWS, b)) for a, b in whole for start in range(a, b, PIECE_ROWS)
    ]
    cut = [(a, b) for a, b in cut if b - a >= least]
    picked = np.unique(np.linspace(0, len(cut) - 1, PIECES).round().astype(int))
    return [cut[index] for index in picked]


def _piece(
    recording: Recording, start: int, stop: int, step: float, points: int
) -> tuple[FloatArray, ...]:
    """Rows, q, qd, qdd and tau of one piece, at even steps."""
    from scipy.signal import savgol_filter  # takes longer than the rest of the import

    row = np.arange(start, stop, dtype=np.float64)
    t, q, tau = (array[start:stop] for array in (recording.t, recording.q, recording.tau))
    if np.ptp(np.diff(t)) > EVEN * step:  # the clock jitters
        grid = EvenGrid.of(t, step)
        row, q, tau = np.round(grid(row)), grid(q), grid(tau)
    rates = [savgol_filter(q, points, 3, deriv=order, delta=step, axis=0) for order in range(3)]
    inside = slice(points // 2, len(row) - points // 2)
    return (row[inside], *(x[inside] for x in rates), tau[inside])


def model_torque(robot: Robot, q: FloatArray, qd: FloatArray, qdd: FloatArray) -> FloatArray:
    """The exact model's torque (n, dof) of the robot; NaN where the loop does not close."""
    state = State.from_joints(robot, q, qd, qdd, unreachable="nan")
    return np.asarray(inverse_dynamics(robot, state))
