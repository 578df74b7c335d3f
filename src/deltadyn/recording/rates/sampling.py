"""Sampled signals at the boundary: shapes, times, and whether the samples are evenly spaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, as_float, check_increasing
from deltadyn.errors import InputError
from deltadyn.motion.arguments import is_real

EVEN = 0.01  # of a step: how far a time may lie from the even grid (rounded time stamps)
MISSING = 0.3  # share of the grid: a log with more missing rows is uneven
LONGEST_GAP = 32  # steps of the grid between two rows; beyond it the log is uneven
IntArray = npt.NDArray[np.intp]


class TimedAngles(Protocol):
    """What has times and joint angles: a Recording, a Motion."""

    @property
    def t(self) -> FloatArray:
        """Times (N,) in s."""

    @property
    def q(self) -> FloatArray:
        """Joint angles (N, dof) in rad."""


Times = npt.ArrayLike | TimedAngles


@dataclass(frozen=True, eq=False)
class Samples:
    """t (N,) in s and x (N, k), with the step dt in s of their even grid or else their mean step.

    `places` (N,) are the rows' places on the even grid, with some left out where rows are missing;
    None where the times follow no grid. `single` says that x was given as (N,).
    """

    t: FloatArray
    x: FloatArray
    dt: float
    places: IntArray | None
    single: bool

    @property
    def even(self) -> bool:
        """Whether the times follow a grid, and no row is missing."""
        return self.places is not None and int(self.places[-1]) == len(self.t) - 1

    def __len__(self) -> int:
        return len(self.t)

    @property
    def channels(self) -> int:
        """The number k of channels."""
        return int(self.x.shape[1])

    @property
    def rate(self) -> float:
        """Sampling rate in Hz."""
        return 1.0 / self.dt

    @property
    def duration(self) -> float:
        """From the first sample to the last, in s."""
        return float(self.t[-1] - self.t[0])

    def like_given(self, array: FloatArray) -> FloatArray:
        """(N, k) in the shape in which x was given."""
        return array[:, 0] if self.single else array

    def require_even(self, purpose: str) -> None:
        """Refuse uneven sampling, and say where the first uneven step is."""
        if self.even:
            return
        row = int(np.argmax(np.abs(np.diff(self.t) - self.dt))) + 1
        hint = "" if self.places is None else ", and `repair` fills missing rows"
        allowed = f"{self.dt:.6g} s everywhere: {purpose} needs even sampling{hint}"
        raise InputError("step of t", float(np.diff(self.t)[row - 1]), allowed, where=f"row {row}")

    def filled(self) -> Samples:
        """The even samples that these are part of, the missing ones on a cubic spline."""
        from scipy.interpolate import make_interp_spline  # takes longer than the rest of the import

        if self.places is None or self.even:
            return self
        grid = self.t[0] + self.dt * np.arange(int(self.places[-1]) + 1)
        x = make_interp_spline(self.t, self.x, k=3)(grid)
        x[self.places] = self.x
        return Samples(grid, x, self.dt, np.arange(len(grid)), self.single)


def samples(t: Times, x: npt.ArrayLike | None, needed: int, name: str = "x") -> Samples:
    """`t` and `x` checked, or the times and joint angles of a recording where x is None."""
    if x is None:
        if not _has_angles(t):
            raise InputError(name, None, f"an array beside t, or a Recording in place of t, {name}")
        return samples(t.t, t.q, needed, "q")
    time = as_float(t, "t")  # type: ignore[arg-type]  # a recording beside x is refused
    if time.ndim != 1:
        raise InputError("shape of t", time.shape, "(N,)")
    signal = as_float(x, name)
    if signal.ndim not in (1, 2) or (signal.ndim == 2 and signal.shape[1] == 0):
        raise InputError(f"shape of {name}", signal.shape, "(N,) or (N, k)")
    single = signal.ndim == 1
    columns = signal[:, None] if single else signal
    if len(columns) != len(time):
        raise InputError(f"samples of {name}", len(columns), f"{len(time)}, as t has")
    if len(time) < needed:
        raise InputError(f"samples of {name}", len(time), f"at least {needed}")
    check_increasing(time)
    _check_finite(columns, name)
    dt, places = _on_grid(time)
    return Samples(time, columns, dt, places, single)


def _on_grid(t: FloatArray) -> tuple[float, IntArray | None]:
    """The step of the even grid on which all times lie, and their places; else the mean step."""
    if len(t) < 2:
        return 0.0, np.zeros(len(t), dtype=np.intp)
    span = float(t[-1] - t[0])
    mean = span / (len(t) - 1)
    count = round(span / float(np.median(np.diff(t))))
    for last in sorted({len(t) - 1, count}):
        if len(t) < (1 - MISSING) * (last + 1):
            continue
        dt = span / last
        places = np.round((t - t[0]) / dt).astype(np.intp)
        gaps = np.diff(places)
        near = np.abs(t - t[0] - dt * places) <= EVEN * dt
        if np.all(near) and gaps.min() > 0 and gaps.max() <= LONGEST_GAP:
            return dt, places
    return mean, None


def per_channel(
    value: npt.ArrayLike, channels: int, name: str, low: float, high: float
) -> FloatArray:
    """One number for all channels or one each, within (low, high], in Hz."""
    given = as_float(value, name)
    if given.shape not in ((), (channels,)):
        raise InputError(f"shape of {name}", given.shape, f"one number or ({channels},)")
    bad = ~((given > low) & (given <= high))
    if bad.any():
        first = float(given[bad][0]) if given.ndim else float(given)
        raise InputError(name, first, f"above {low:.4g} and at most {high:.4g} Hz")
    return np.broadcast_to(given, (channels,)).copy()


def positive(value: Any, name: str, unit: str) -> float:
    """A finite number above 0."""
    if not is_real(value) or not value > 0:
        raise InputError(name, value, f"a number above 0, in {unit}")
    return float(value)


def _has_angles(value: object) -> TypeGuard[TimedAngles]:
    return hasattr(value, "t") and hasattr(value, "q")


def _check_finite(array: FloatArray, name: str) -> None:
    finite = np.isfinite(array)
    if not finite.all():
        row, channel = (int(index) for index in np.argwhere(~finite)[0])
        place = f"row {row}" if array.shape[1] == 1 else f"row {row}, channel {channel}"
        raise InputError(name, float(array[row, channel]), "finite numbers", where=place)


# What every method of differentiation takes and hands back.


DIFFERENCE_GAIN = 70.0  # white noise of variance 1 has this variance in its fourth differences


@dataclass(frozen=True, eq=False)
class RateOptions:
    """Options of the methods of differentiation; each method takes some of them."""

    bandwidth: npt.ArrayLike | None = None  # Hz, for all channels or one each; None: from the data
    criterion: str | None = None  # by which the bandwidth is found
    period: float | None = None  # s; None: it is found
    harmonics: int | None = None  # of a periodic motion; None: by an information criterion


class Estimate(NamedTuple):
    """x, xd, xdd (N, k), bandwidth (k,) in Hz, noise of x (k,), what is left of it (3, k)."""

    x: FloatArray
    xd: FloatArray
    xdd: FloatArray
    bandwidth: FloatArray
    noise: FloatArray
    std: FloatArray
    status: str


def noise_level(x: FloatArray) -> FloatArray:
    """Standard deviation (k,) of the white noise on x (N, k) with even steps.

    From fourth differences: a motion that is slow beside the sampling rate leaves nothing in them.
    """
    if len(x) < 5:
        return np.full(x.shape[1], np.nan)
    fourth = np.diff(x, 4, axis=0)
    level: FloatArray = np.sqrt(np.mean(fourth**2, axis=0) / DIFFERENCE_GAIN)
    return level


def noise_through(response: Callable[[FloatArray], Sequence[FloatArray]]) -> FloatArray:
    """Standard deviations (3,) that white noise of 1 leaves behind filters of x, xd and xdd.

    sqrt(mean of |H(angle)|^2 over 0 < angle = w dt < pi), of the gains that `response` gives.
    """
    angle = np.pi * np.arange(0.5, 8192) / 8192
    return np.array([np.sqrt(np.mean(gain**2)) for gain in response(angle)])


def listed(values: FloatArray, unit: str, digits: int = 3) -> str:
    """Numbers for a sentence: one where all are alike."""
    texts = [f"{value:.{digits}g}" for value in values]
    return (texts[0] if len(set(texts)) == 1 else ", ".join(texts)) + (f" {unit}" if unit else "")
