"""What is known of a series while its nights come in: changes, noise, odd nights, threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.history.drift.noise import Noise, differences, noise_of
from deltadyn.history.drift.odd import odd_nights
from deltadyn.history.drift.options import DriftOptions
from deltadyn.history.drift.scan import FLAT, MONTH, RAMP, STEP, Bools, Ints, Sums, sums_of
from deltadyn.history.drift.series import Series
from deltadyn.history.drift.temperature import Warmth, warmth_of
from deltadyn.history.drift.threshold import effective_number, threshold

AFTERWARDS = 3  # columns of a change: level, trend and the bend of a ramp
BLURRED = 7  # nights about a step's date that are left out afterwards, at most


@dataclass(frozen=True)
class Place:
    """A change of a parameter: its kind, its first row, and the rows within its interval."""

    kind: str
    row: int
    low: int
    high: int
    z: float = 0.0
    delta: float = 0.0  # of y: the step, or the slope of the ramp per month


@dataclass(frozen=True)
class Alarm:
    """A change: who raised it on which row, and where it is in each parameter that moved."""

    raised: int
    parameter: int
    places: dict[int, Place]

    @property
    def place(self) -> Place:
        """That of the parameter that raised it."""
        return self.places[self.parameter]


@dataclass(eq=False)
class State:
    """What is known while nights come in."""

    series: Series
    warmth: Warmth
    options: DriftOptions
    y: FloatArray
    s: FloatArray
    alarms: list[Alarm] = field(default_factory=list)
    noise: Noise | None = None
    odd: Bools | None = None
    held: Bools | None = None
    limit: float = 0.0

    def begins(self) -> Ints:
        """The rows (k,) at which each parameter's present level began."""
        out = np.zeros(self.y.shape[1], dtype=np.int64)
        for alarm in self.alarms:
            for k, place in alarm.places.items():
                out[k] = max(out[k], place.row)
        return out

    def learn(self, n: int) -> None:
        """Estimate noise and threshold from the first n nights; mark odd nights."""
        series = self.series
        self.warmth = w = warmth_of(series, self.options.temperature, self._moved())
        self.noise = noise_of(self.y[:n], self.s[:n], w.columns[:n], w.prior)
        sigma = self.noise.sigma(self.s)
        flat = self.y - w.columns @ self.noise.slope
        self.odd, self.held = odd_nights(flat, sigma)
        number = effective_number(differences(flat[:n], 1))
        rate = 1 / (self.options.years_per_alarm * 365.25) * series.spacing
        self.limit = threshold(rate / number)

    def _moved(self) -> set[str]:
        """The parameters that moved so far."""
        return {self.series.names[k] for alarm in self.alarms for k in alarm.places}

    def sums(self, alarms: Sequence[Alarm], rows: int) -> Sums:
        """The sums up to a row with the levels and trends of these changes."""
        assert self.noise is not None
        assert self.odd is not None
        h, P = self._known(alarms)
        y = np.where(self.odd, np.nan, self.y)
        for alarm in alarms:
            for k, place in alarm.places.items():
                if place.kind == STEP and place.high - place.low <= BLURRED:
                    y[place.low : place.high, k] = np.nan
        days = self.series.days
        sigma = self.noise.sigma(self.s)
        return sums_of(
            *(x[:rows] for x in (y, h)),
            P,
            sigma[:rows],
            self.noise.phi,
            days[:rows],
            self.series.spacing,
        )

    def least(self) -> FloatArray:
        """The least size (k,) of y that is worth an alarm."""
        values, smallest = self.series.values, self.options.smallest
        middle = np.nanmedian(values, axis=0)
        far = np.abs(middle) > 3 * np.nanmedian(np.abs(values - middle), axis=0)
        size = np.where(far, smallest * np.abs(middle), 0.0)
        return np.where(self.series.ratio, np.log1p(smallest), size)

    def _known(self, alarms: Sequence[Alarm]) -> tuple[FloatArray, FloatArray]:
        """The known columns (n, k, p) with their precisions (k, p)."""
        w = self.warmth
        n, count = self.y.shape
        m = w.columns.shape[1]
        h = np.zeros((n, count, 1 + m + AFTERWARDS * len(alarms)))
        P = np.ones((count, h.shape[2]))
        h[..., 0], P[:, 0] = 1.0, FLAT
        h[..., 1 : 1 + m] = w.columns[:, None]
        P[:, 1 : 1 + m] = w.prior.T**-2.0
        t = self.series.days / MONTH
        for number, alarm in enumerate(alarms):
            at = 1 + m + AFTERWARDS * number
            for k, place in alarm.places.items():
                h[place.row :, k, at] = 1.0
                h[place.row :, k, at + 1] = t[place.row :] - t[place.row]
                P[k, at : at + 2] = FLAT
                if place.kind == RAMP:  # growth bends
                    h[:, k, at + 2] = h[:, k, at + 1] ** 2
                    P[k, at + 2] = FLAT
        return h, P
