"""The result of a simulation: the log, and the truth beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.motion.motion import Motion
from deltadyn.recording.recording import Recording
from deltadyn.simulation.books import EnergyBooks
from deltadyn.simulation.truth import Truth


@dataclass(frozen=True, eq=False)
class Run:
    """A simulated run: `recording` is what a drive would have logged, `truth` what was.

    A run that could not be finished is cut before the trouble; `completed` is then False and
    `status` says why.
    """

    recording: Recording
    truth: Truth
    reference: Motion  # the commanded motion at the ticks
    energy: EnergyBooks
    completed: bool
    status: str

    @property
    def tracking_error(self) -> FloatArray:
        """Reference minus true joint angles at the arms (N, dof), in rad."""
        return self.reference.q - self.truth.q

    @property
    def platform_error(self) -> FloatArray:
        """Reference minus true platform position (N, dof), in m [and rad]."""
        return self.reference.p - self.truth.p

    def __str__(self) -> str:
        rms = np.sqrt(np.mean(self.tracking_error**2, axis=0)) * 1e3
        errors = ", ".join(f"{value:.3g}" for value in rms)
        return f"{self.recording.name}: {self.status}; tracking error {errors} mrad RMS"
