"""What drift is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deltadyn.errors import InputError


@dataclass(frozen=True)
class DriftOptions:
    """How a history is watched.

    `years_per_alarm` is the stated false-alarm rate: on average so many years of one robot pass
    between two false alarms, over all of its parameters together. `smallest` is the least change
    that is worth an alarm, as a share of the parameter: smaller ones are left alone however sure
    they are. `burn_in` is the number of nights that a parameter needs before it is watched.
    `parameters` are the names to watch, by default all. `residuals` watches the residual of each
    axis beside them, `temperature` explains what temperature can. `level` is that of intervals.
    """

    years_per_alarm: float = 20.0
    smallest: float = 0.02
    burn_in: int = 14
    parameters: Sequence[str] | None = None
    residuals: bool = True
    temperature: bool = True
    level: float = 0.95

    def __post_init__(self) -> None:
        if not (np.isfinite(self.years_per_alarm) and self.years_per_alarm > 0):
            raise InputError("years_per_alarm", self.years_per_alarm, "years above 0")
        if not 0 <= self.smallest < 1:
            raise InputError("smallest", self.smallest, "a share from 0 to below 1")
        if isinstance(self.burn_in, bool) or not self.burn_in >= 10:
            raise InputError("burn_in", self.burn_in, "a whole number of nights, at least 10")
        if not 0 < self.level < 1:
            raise InputError("level", self.level, "between 0 and 1")
