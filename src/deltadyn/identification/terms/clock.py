"""What viscous friction drifts with: the temperature where logs have it, else slow time.

Time is that of the machine, which warms up from log to log without the pauses between them, or
that within each log, where every log begins as the first one did. On both, drift is a sum of
Legendre polynomials P1, P2, P3 over -1 to 1, less their mean over all samples: so a drift cannot
take the mean of viscous friction away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.recording.prepare.data import Prepared

LEAST_WARMING = 2.0  # K over all logs: less tells no more than time does
DEGREES = 3  # of the polynomials
CLOCKS = ("machine", "log")  # whose time it is


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
    """The clocks of the drift over some parts of logs.

    `warmth` are the lowest and the highest temperature (degrees C); None where the clock is time.
    `mean` (2, 3) are the means of the polynomials by `CLOCKS`.
    """

    logs: tuple[_Log, ...]
    warmth: tuple[float, float] | None
    mean: FloatArray

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
        clock = cls(tuple(logs), _warmth(parts), np.zeros((len(CLOCKS), DEGREES)))
        totals = [clock(part).sum(axis=0) for part in parts]
        return replace(clock, mean=np.sum(totals, axis=0) / sum(map(len, parts)))

    @property
    def span(self) -> float | None:
        """K from -1 to 1; None where the clock is time."""
        return None if self.warmth is None else self.warmth[1] - self.warmth[0]

    @property
    def restarts(self) -> bool:
        """Whether time within each log differs from that of the machine."""
        return self.warmth is None and len(self.logs) > 1

    def __call__(self, part: Prepared) -> FloatArray:
        """The polynomials (N, 2, 3) at the samples of a part, by clock, without their means."""
        t = np.stack([self.machine_time(part), self.log_time(part)], axis=1)
        polynomials = np.stack([t, (3 * t**2 - 1) / 2, (5 * t**3 - 3 * t) / 2], axis=2)
        out: FloatArray = polynomials - self.mean
        return out

    def machine_time(self, part: Prepared) -> FloatArray:
        """Temperature or time (N,) over all logs, from -1 to 1, and its ends beyond them."""
        if self.warmth is not None and part.temperature is not None:
            low, high = self.warmth
            share = (part.temperature - low) / (high - low)
        else:
            log = self._log_of(part)
            share = (part.t - log.first + log.before) / max(self.logs[-1].after, 1e-9)
        out: FloatArray = np.clip(2 * share - 1, -1.0, 1.0)
        return out

    def log_time(self, part: Prepared) -> FloatArray:
        """Time (N,) since a log's beginning, from -1 to 1 at the end of the longest one."""
        longest = max(log.last - log.first for log in self.logs)
        share = (part.t - self._log_of(part).first) / max(longest, 1e-9)
        out: FloatArray = np.clip(2 * share - 1, -1.0, 1.0)
        return out

    def _log_of(self, part: Prepared) -> _Log:
        """The log that a part is from: by its name, of equal names by the time it begins."""
        own = [log for log in self.logs if log.name == part.name] or list(self.logs[:1])
        begun = [log for log in own if log.first <= part.t[0] + 1e-9]
        return begun[-1] if begun else own[0]


def drift_at_times(t: FloatArray, known: FloatArray, drift: FloatArray) -> FloatArray:
    """Polynomials (M, 2, 3) at times t (M,), of those (N, 2, 3) at known times (N,)."""
    place = np.interp(t, known, np.arange(len(known)))
    low = np.clip(place.astype(np.int64), 0, max(len(known) - 2, 0))
    share = (place - low)[:, None, None]
    out: FloatArray = (1 - share) * drift[low] + share * drift[np.minimum(low + 1, len(known) - 1)]
    return out


def _warmth(parts: Sequence[Prepared]) -> tuple[float, float] | None:
    """The range of temperature, where all parts have it and it changes enough."""
    values = [part.temperature for part in parts]
    if any(value is None or not np.isfinite(value).all() for value in values):
        return None
    low = min(float(value.min()) for value in values if value is not None)
    high = max(float(value.max()) for value in values if value is not None)
    return (low, high) if high - low >= LEAST_WARMING else None
