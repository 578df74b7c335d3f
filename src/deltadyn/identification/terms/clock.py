"""What viscous friction drifts with: the temperature where logs have it, else slow time.

Both run from -1 to 1 over all that was looked at, where the drift's polynomials are orthogonal.
Time is that of the machine: logs follow each other in their order, without the pauses between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.recording.prepare.data import Prepared

LEAST_WARMING = 2.0  # K over all logs: less tells no more than time does


class _Log(NamedTuple):
    """A log: its name, its first and last time (s) that were seen, and the time before it (s)."""

    name: str
    first: float
    last: float
    before: float

    @property
    def after(self) -> float:
        """The time (s) before the next one."""
        return self.before + self.last - self.first


@dataclass(frozen=True, eq=False)
class Clock:
    """The clock of the drift over some parts of logs.

    `warmth` are the lowest and the highest temperature (degrees C); None where the clock is time.
    """

    logs: tuple[_Log, ...]
    warmth: tuple[float, float] | None = None

    @classmethod
    def over(cls, parts: Sequence[Prepared]) -> Clock:
        """The clock of these parts, in the order of time."""
        logs: list[_Log] = []
        begun = np.inf
        for part in parts:
            first, last = float(part.t[0]), float(part.t[-1])
            known = logs[-1] if logs else None
            if known is not None and known.name == part.name and first > begun:
                logs[-1] = known._replace(last=max(last, known.last))
            else:
                logs.append(_Log(part.name, first, last, 0.0 if known is None else known.after))
            begun = first
        return cls(tuple(logs), _warmth(parts))

    @property
    def span(self) -> float | None:
        """K from -1 to 1; None where the clock is time."""
        return None if self.warmth is None else self.warmth[1] - self.warmth[0]

    def __call__(self, part: Prepared) -> FloatArray:
        """The clock (N,) at the samples of a part, at its ends beyond what was looked at."""
        if self.warmth is not None and part.temperature is not None:
            low, high = self.warmth
            along = (part.temperature - low) / (high - low)
        else:
            log = self._log_of(part)
            along = (part.t - log.first + log.before) / max(self.logs[-1].after, 1e-9)
        out: FloatArray = np.clip(2 * along - 1, -1.0, 1.0)
        return out

    def _log_of(self, part: Prepared) -> _Log:
        """The log that a part is from: by its name, of equal names by the time it begins."""
        own = [log for log in self.logs if log.name == part.name] or list(self.logs[:1])
        begun = [log for log in own if log.first <= part.t[0] + 1e-9]
        return begun[-1] if begun else own[0]


def _warmth(parts: Sequence[Prepared]) -> tuple[float, float] | None:
    """The range of temperature, where all parts have it and it changes enough."""
    values = [part.temperature for part in parts]
    if any(value is None or not np.isfinite(value).all() for value in values):
        return None
    low = min(float(value.min()) for value in values if value is not None)
    high = max(float(value.max()) for value in values if value is not None)
    return (low, high) if high - low >= LEAST_WARMING else None
