"""A motion: the kinematic state over time."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, Unreachable, as_samples, matching_samples
from deltadyn.errors import InputError
from deltadyn.kinematics.inverse import Elbows
from deltadyn.kinematics.state import ARRAYS, State
from deltadyn.robot import Robot
from deltadyn.tracing import floats, on_jax, pytree, traced

SPLINE_DEGREE = 5  # leaves a continuous third derivative behind the accelerations


@pytree((*ARRAYS, "t"), ("single",))
@dataclass(frozen=True, eq=False)
class Motion(State):
    """t (N,) in s beside q, qd, qdd, p, pd, pdd, each (N, dof)."""

    t: FloatArray = None  # type: ignore[assignment]  # follows a field with a default

    @classmethod
    def from_platform(  # type: ignore[override]
        cls,
        robot: Robot,
        t: npt.ArrayLike,
        p: npt.ArrayLike,
        pd: npt.ArrayLike | None = None,
        pdd: npt.ArrayLike | None = None,
        *,
        elbows: Elbows = "out",
        unreachable: Unreachable = "raise",
    ) -> Self:
        """A motion of platform positions over time; rates left out come from a quintic spline."""
        if on_jax(t, p, pd, pdd):
            time, points = _timed_on_jax(t, p, pd, pdd, robot.dof, "p")
        else:
            time, points = _timed(t, p, robot.dof, "p", unreachable)
            pd, pdd = estimated_rates(time, points, pd, pdd, "p")
        state = State.from_platform(robot, points, pd, pdd, elbows=elbows, unreachable=unreachable)
        return cls._of(time, state)

    @classmethod
    def from_joints(  # type: ignore[override]
        cls,
        robot: Robot,
        t: npt.ArrayLike,
        q: npt.ArrayLike,
        qd: npt.ArrayLike | None = None,
        qdd: npt.ArrayLike | None = None,
        *,
        platform: str = "below",
        unreachable: Unreachable = "raise",
    ) -> Self:
        """A motion of joint angles over time; rates left out come from a quintic spline."""
        if on_jax(t, q, qd, qdd):
            time, angles = _timed_on_jax(t, q, qd, qdd, robot.dof, "q")
        else:
            time, angles = _timed(t, q, robot.dof, "q", unreachable)
            qd, qdd = estimated_rates(time, angles, qd, qdd, "q")
        state = State.from_joints(
            robot, angles, qd, qdd, platform=platform, unreachable=unreachable
        )
        motion = cls._of(time, state)
        motion.__dict__["q"] = state.q
        return motion

    @classmethod
    def _of(cls, t: FloatArray, state: State) -> Self:
        values: dict[str, Any] = {item.name: getattr(state, item.name) for item in fields(State)}
        return cls(t=t, **values)

    @property
    def duration(self) -> float:
        """From the first sample to the last, in s."""
        return float(self.t[-1] - self.t[0])


def estimated_rates(
    t: FloatArray,
    x: FloatArray,
    xd: npt.ArrayLike | None,
    xdd: npt.ArrayLike | None,
    name: str,
) -> tuple[npt.ArrayLike, npt.ArrayLike]:
    """The given rates, and those of an interpolating quintic spline where they are left out.

    For smooth samples: noise is amplified. Recordings have their own estimators.
    """
    if xd is not None and xdd is not None:
        return xd, xdd
    if xdd is not None:
        raise InputError(f"{name}d", None, f"given wherever {name}dd is given")
    needed = SPLINE_DEGREE + 1
    if len(t) < needed:
        raise InputError(f"samples of {name}", len(t), f"at least {needed} to estimate rates")
    bad = np.argwhere(~np.isfinite(x))
    if bad.size:
        row, axis = (int(index) for index in bad[0])
        allowed = "finite numbers where rates are to be estimated"
        raise InputError(name, float(x[row, axis]), allowed, where=f"row {row}, axis {axis}")
    from scipy.interpolate import make_interp_spline  # takes longer than the rest of the import

    if xd is None:
        spline = make_interp_spline(t, x, k=SPLINE_DEGREE)
        return spline(t, 1), spline(t, 2)
    given = matching_samples(xd, x.shape[0], x.shape[1], f"{name}d")
    return given, make_interp_spline(t, given, k=SPLINE_DEGREE)(t, 1)


def _timed_on_jax(
    t: Any, x: Any, xd: Any, xdd: Any, dof: int, name: str
) -> tuple[FloatArray, FloatArray]:
    """Time (N,) and samples (N, dof) as JAX arrays; rates must be there, a spline is NumPy's."""
    for rate, value in ((f"{name}d", xd), (f"{name}dd", xdd)):
        if value is None:
            raise InputError(rate, None, "given: rates are not estimated from JAX arrays")
    samples = floats(x, name)
    time = floats(t, "t", samples.dtype)
    if not traced(t, x):
        _timed(np.asarray(t), np.asarray(x), dof, name, "nan")  # checks
    elif time.ndim != 1 or samples.shape != (*time.shape, dof):
        raise InputError("shape of t", time.shape, f"(N,), with {name} as (N, {dof})")
    return time, samples


def _timed(
    t: npt.ArrayLike, x: npt.ArrayLike, dof: int, name: str, unreachable: str
) -> tuple[FloatArray, FloatArray]:
    try:
        time = np.asarray(t, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("t", t, "an array of real numbers") from error
    samples, single = as_samples(x, dof, name, allow_nan=unreachable == "nan")
    if time.ndim != 1 or single:
        raise InputError("shape of t", time.shape, f"(N,), with {name} as (N, {dof})")
    if len(time) != len(samples):
        raise InputError("samples of t", len(time), f"{len(samples)}, as {name} has")
    if not len(time):
        raise InputError("samples of t", 0, "at least 1")
    bad = np.flatnonzero(~np.isfinite(time))
    if bad.size:
        raise InputError("t", float(time[bad[0]]), "finite numbers", where=f"row {bad[0]}")
    steps = np.flatnonzero(np.diff(time) <= 0)
    if steps.size:
        row = int(steps[0]) + 1
        raise InputError(
            "t", float(time[row]), f"above its predecessor {time[row - 1]:g} s", where=f"row {row}"
        )
    return time, samples
