"""Fourier series in task space, and the motion that enters and leaves one at rest.

    p(t) = offset + sum_k sine_k sin(k w t) + cosine_k cos(k w t),   k = 1..H     [gnad2024] eq. 8

with w = 2 pi f and the base frequency f. A drive cannot jump into a periodic motion: the ramps
before and after the periods blend the oscillation in and out, p = offset + s(t) (series - offset)
with s a smooth step, so the motion begins and ends at rest at the offset.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.motion.arguments import check_count, check_positive, is_real
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot

ROUNDING = 1e-9  # s: a sample this close to the end is at the end


class Course(NamedTuple):
    """p, pd, pdd (N, dof) at given times."""

    p: FloatArray
    pd: FloatArray
    pdd: FloatArray


@dataclass(frozen=True, eq=False)
class FourierSeries:
    """A truncated Fourier series of the platform's coordinates [gnad2024] eq. 8.

    `frequency` is the base frequency in Hz; offset (dof,), sine and cosine (dof, H) are in m, and
    in rad for psi.
    """

    frequency: float
    offset: FloatArray
    sine: FloatArray
    cosine: FloatArray

    def __post_init__(self) -> None:
        check_positive(frequency=self.frequency)
        offset = _numbers("offset", self.offset)
        if offset.ndim != 1 or offset.size not in (2, 3, 4):
            raise InputError("shape of offset", offset.shape, "(2,), (3,) or (4,)")
        values = {"offset": offset}
        for name in ("sine", "cosine"):
            values[name] = _numbers(name, getattr(self, name))
            shape = values[name].shape
            if len(shape) != 2 or shape[0] != offset.size or shape[1] < 1:
                raise InputError(f"shape of {name}", shape, f"({offset.size}, H) with H >= 1")
        if values["sine"].shape != values["cosine"].shape:
            allowed = f"{values['sine'].shape}, as sine has"
            raise InputError("shape of cosine", values["cosine"].shape, allowed)
        for name, array in values.items():
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "frequency", float(self.frequency))

    @property
    def harmonics(self) -> int:
        """H, the number of harmonics."""
        return int(self.sine.shape[1])

    @property
    def period(self) -> float:
        """1 / frequency, in s."""
        return 1 / self.frequency

    def scaled(self, factor: float) -> FourierSeries:
        """The same series with its oscillation about the offset `factor` times as wide."""
        return FourierSeries(self.frequency, self.offset, factor * self.sine, factor * self.cosine)

    def shifted(self, seconds: float) -> FourierSeries:
        """The same motion begun `seconds` later on its way: p_new(t) = p(t + seconds)."""
        turn = 2 * np.pi * self.frequency * seconds * np.arange(1, self.harmonics + 1)
        cos, sin = np.cos(turn), np.sin(turn)
        sine, cosine = self.sine * cos - self.cosine * sin, self.sine * sin + self.cosine * cos
        return FourierSeries(self.frequency, self.offset, sine, cosine)

    def at(self, t: npt.ArrayLike) -> Course:
        """p, pd, pdd (N, dof) at times t (N,) in s, in m, m/s and m/s^2 (rad for psi)."""
        time = np.atleast_1d(np.asarray(t, dtype=np.float64))
        coefficients = np.concatenate([self.offset[:, None], self.sine, self.cosine], axis=1)
        p, pd, pdd = fourier_basis(time, self.frequency, self.harmonics) @ coefficients.T
        return Course(p, pd, pdd)


def fourier_basis(t: FloatArray, frequency: float, harmonics: int) -> FloatArray:
    """B (3, N, 2 H + 1): p, pd, pdd = B @ (offset, sine_1..H, cosine_1..H)."""
    w = 2 * np.pi * frequency * np.arange(1, harmonics + 1)  # (H,)
    sin, cos = np.sin(t[:, None] * w), np.cos(t[:, None] * w)
    one, zero = np.ones((len(t), 1)), np.zeros((len(t), 1))
    return np.stack(
        [
            np.hstack([one, sin, cos]),
            np.hstack([zero, w * cos, -w * sin]),
            np.hstack([zero, -(w**2) * sin, -(w**2) * cos]),
        ]
    )


def fourier_motion(
    robot: Robot,
    series: FourierSeries,
    *,
    periods: int = 1,
    rate: float = 1000.0,
    ramp: float | None = None,
) -> Motion:
    """Whole periods of a series, with a ramp of `ramp` seconds before and after, from rest to rest.

    Sampled at `rate` hertz. The default ramp is one period; ramp=0 gives the periods alone, which
    do not begin at rest. The periods begin at t = ramp.
    """
    if not isinstance(series, FourierSeries):
        raise InputError("series", type(series).__name__, "a FourierSeries")
    if series.offset.size != robot.dof:
        names = ", ".join(robot.coordinates)
        allowed = f"{robot.dof}, as robot {robot.name!r} has: robot.coordinates are {names}"
        raise InputError("coordinates of the series", series.offset.size, allowed)
    check_count("periods", periods, 1)
    check_positive(rate=rate)
    if ramp is None:
        ramp = series.period
    elif not is_real(ramp) or ramp < 0:
        raise InputError("ramp", ramp, "at least 0 s")
    total = periods * series.period + 2 * ramp
    if total * rate < 2:
        raise InputError("rate", rate, f"at least {2 / total:g} Hz, for 3 samples")
    t = np.arange(math.ceil((total - ROUNDING) * rate) + 1) / rate
    return Motion.from_platform(robot, t, *ramped(series, t, periods, ramp))


def ramped(series: FourierSeries, t: FloatArray, periods: int, ramp: float) -> Course:
    """The series with its ramps at times t (N,); at rest at the offset before and after."""
    p, pd, pdd = series.at(t - ramp)
    if ramp == 0:
        return Course(p, pd, pdd)
    total = periods * series.period + 2 * ramp
    rising = t < total / 2
    since = np.where(rising, t, total - t) / ramp  # 0 at rest, 1 inside
    sign = np.where(rising, 1.0, -1.0)
    s, sd, sdd = smooth_step(since)
    s, sd, sdd = s[:, None], (sign * sd)[:, None] / ramp, sdd[:, None] / ramp**2
    wide = p - series.offset
    return Course(
        series.offset + s * wide,
        s * pd + sd * wide,
        s * pdd + 2 * sd * pd + sdd * wide,
    )


def smooth_step(u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """35 u^4 - 84 u^5 + 70 u^6 - 20 u^7 on [0, 1] with two derivatives, held outside.

    Its first three derivatives vanish at both ends, so that even the jerk is continuous.
    """
    v = np.clip(u, 0.0, 1.0)
    s = v**4 * (35 + v * (-84 + v * (70 - 20 * v)))
    return s, 140 * (v * (1 - v)) ** 3, 420 * (v * (1 - v)) ** 2 * (1 - 2 * v)


def _numbers(name: str, value: npt.ArrayLike) -> FloatArray:
    """A copy as floats; refuses what is not finite."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(name, value, "an array of real numbers") from error
    bad = np.argwhere(~np.isfinite(array))
    if bad.size:
        where = ", ".join(str(index) for index in bad[0])
        raise InputError(name, float(array[tuple(bad[0])]), "finite numbers", where=f"[{where}]")
    return array
