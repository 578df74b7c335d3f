"""A motion: the kinematic state over time."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import (
    FloatArray,
    Unreachable,
    as_float,
    as_samples,
    check_increasing,
    matching_samples,
)
from deltadyn.errors import FileError, InputError
from deltadyn.kinematics.inverse import Elbows
from deltadyn.kinematics.state import ARRAYS, State
from deltadyn.robot import Robot
from deltadyn.robot.convention import Angles, from_controller
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
            time, points = _timed(t, p, robot.dof, "p", unreachable, robot.coordinates)
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
        hint: npt.ArrayLike | None = None,
    ) -> Self:
        """A motion of joint angles over time; rates left out come from a quintic spline.

        `hint` (dof,) or (N, dof) is a pose nearby, as `forward_kinematics` takes it.
        """
        if on_jax(t, q, qd, qdd):
            time, angles = _timed_on_jax(t, q, qd, qdd, robot.dof, "q")
        else:
            time, angles = _timed(t, q, robot.dof, "q", unreachable)
            qd, qdd = estimated_rates(time, angles, qd, qdd, "q")
        state = State.from_joints(
            robot, angles, qd, qdd, platform=platform, unreachable=unreachable, hint=hint
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
    t: npt.ArrayLike,
    x: npt.ArrayLike,
    dof: int,
    name: str,
    unreachable: str,
    coordinates: tuple[str, ...] = (),
) -> tuple[FloatArray, FloatArray]:
    time = as_float(t, "t")
    nan = unreachable == "nan"
    samples, single = as_samples(x, dof, name, allow_nan=nan, coordinates=coordinates)
    if time.ndim != 1 or single:
        raise InputError("shape of t", time.shape, f"(N,), with {name} as (N, {dof})")
    if len(time) != len(samples):
        raise InputError("samples of t", len(time), f"{len(samples)}, as {name} has")
    if not len(time):
        raise InputError("samples of t", 0, "at least 1")
    check_increasing(time)
    return time, samples


# Motions from the tables that are written for controllers: time and positions in a CSV file.


_UNITS = {"rad": 1.0, "deg": math.pi / 180, "m": 1.0, "mm": 1e-3}
_COLUMN = re.compile(r"(q|x|y|z|psi)(d{0,2})([1-4]?)_(rad|deg|m|mm)(|_s|_s2)")
_ORDER_SUFFIX = ("", "_s", "_s2")


def read_motion(path: str | PathLike[str], robot: Robot) -> Motion:
    """The motion in a CSV file with columns t_s and q1_rad, q2_rad, q3_rad [, psi_rad], or x_m, ...

    This is what `Excitation.save` writes: joint angles are the controller's own, in rad or deg,
    carriages' places (q1_m) and platform positions in m or mm, as many as the robot has axes and
    `robot.coordinates`. Rates and accelerations (qd1_rad_s, qdd1_rad_s2) are taken where the file
    has them, else they come from a quintic spline.
    """
    names, table = _table(Path(path))
    if "t_s" not in names:
        raise FileError("columns", names, "t_s among them, the time in s", path=str(path))
    t = table[:, names.index("t_s")]
    joints = any(name.startswith("q") for name in names)
    stems = joint_stems(robot) if joints else robot.coordinates
    own_unit = ("m", "mm") if robot.linear else ("rad", "deg")
    for name in names:
        match = _COLUMN.fullmatch(name)
        if match is None:
            continue
        if match[1] != "q" and not joints and match[1] not in stems:
            allowed = f"one of robot.coordinates: {', '.join(stems)}"
            raise FileError("column", name, allowed, path=str(path))
        carried = match[1] == "q" and int(match[3] or 0) <= robot.legs
        if carried and match[4] not in own_unit:
            raise FileError("column", name, f"in {' or '.join(own_unit)}", path=str(path))
    orders = [_order(names, table, stems, order, path) for order in range(3)]
    position = orders[0]
    if position is None:
        wanted = ", ".join(stems)
        raise FileError("columns", names, f"positions {wanted} with their units", path=str(path))
    # psi is a joint in both where an axis drives it; where limbs carry it, it is none
    own = slice(0, robot.dof) if joints else slice(robot.legs if robot.spindle else 4, robot.dof)
    if orders[1] is None:
        orders[2] = None  # an acceleration alone says nothing
    read = Angles(*(None if values is None else values[:, own] for values in orders))
    for values, part in zip(orders, from_controller(robot, read, own), strict=True):
        if values is not None:
            values[:, own] = part
    build = Motion.from_joints if joints else Motion.from_platform
    return build(robot, t, position, orders[1], orders[2])


def joint_stems(robot: Robot) -> tuple[str, ...]:
    """The joints as columns call them: q1, q2, ... and psi of an axis that drives it."""
    return tuple(f"q{name}" if name.isdigit() else name for name in robot.axis_names())


def _order(
    names: list[str],
    table: FloatArray,
    stems: tuple[str, ...],
    order: int,
    path: str | PathLike[str],
) -> FloatArray | None:
    """The columns of one order of all coordinates (N, dof) in SI units; None without any."""
    found: dict[str, FloatArray] = {}
    for k, name in enumerate(names):
        match = _COLUMN.fullmatch(name)
        if match is None:
            continue
        letters, dots, axis, unit, suffix = match.groups()
        if len(dots) == order and suffix == _ORDER_SUFFIX[order]:
            stem = f"{letters}{axis}"
            if stem in found:
                allowed = f"one column of {stem}{dots and f' ({dots})'}: there is another"
                raise FileError("column", name, allowed, path=str(path))
            found[stem] = table[:, k] * _UNITS[unit]
    if not found:
        return None
    missing = [stem for stem in stems if stem not in found]
    if missing:
        allowed = f"{', '.join(missing)} among them"
        raise FileError("columns", names, allowed, path=str(path))
    return np.stack([found[stem] for stem in stems], axis=-1)


def _table(path: Path) -> tuple[list[str], FloatArray]:
    """Header and numbers of a CSV file."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            return _rows(csv.reader(file), path)
    except UnicodeDecodeError as error:
        raise FileError("file", str(path), f"UTF-8 text ({error})", path=str(path)) from None
    except csv.Error as error:
        raise FileError("file", str(path), f"a CSV file ({error})", path=str(path)) from None
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise FileError.of_file(str(path), problem, "a CSV file") from error


def _rows(rows: Any, path: Path) -> tuple[list[str], FloatArray]:
    names = [name.strip() for name in next(rows, [])]
    if not names:
        raise FileError("file", str(path), "a CSV file with a header", path=str(path))
    values: list[list[float]] = []
    for row in rows:
        try:
            numbers = [_finite(cell) for cell in row]
        except ValueError:
            raise FileError(
                "row", row, "finite numbers", path=str(path), line=rows.line_num
            ) from None
        if len(numbers) != len(names):
            allowed = f"{len(names)}, as the header has"
            raise FileError("cells", len(numbers), allowed, path=str(path), line=rows.line_num)
        values.append(numbers)
    if not values:
        raise FileError("rows", 0, "at least one row of numbers", path=str(path))
    return names, np.array(values)


def _finite(cell: str) -> float:
    """The number of a cell; "inf", "nan" and Python's 1_0 are none."""
    value = float(cell)
    if "_" in cell or not math.isfinite(value):
        raise ValueError(cell)
    return value
