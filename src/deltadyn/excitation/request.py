"""What a caller asks of the design, checked once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.models import model_by_name
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.excitation.criteria import criterion_by_name
from deltadyn.motion.arguments import (
    check_between,
    check_count,
    check_flag,
    check_positive,
    check_share,
    is_real,
)
from deltadyn.robot import Robot

COORDINATES = ("x", "y", "z", "psi")
PACE_LIMITS = (
    "rate",
    "acceleration",
    "torque_peak",
    "torque_rms",
    "platform_speed",
    "platform_acceleration",
)
LEAST_TIME = 5.0  # s: less does not even start the workers and check the result


@dataclass(frozen=True, eq=False)
class Request:
    """The arguments of `design_excitation`, with its meaning and units."""

    robot: Robot
    duration: float
    harmonics: int
    periods: int | None
    criterion: str
    velocity_weight: float
    model: str
    tied: bool | None
    friction: bool
    weights: npt.ArrayLike | None
    noise_std: npt.ArrayLike | None
    noise_correlation: float
    share: float
    singularity_margin: float
    highest_frequency: float
    still: Sequence[str]
    unidentifiable: str
    rate: float
    starts: int
    seed: int
    jobs: int
    time_limit: float
    screened: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.robot, Robot):
            raise InputError("robot", type(self.robot).__name__, "a Robot, from load_robot")
        if all(getattr(self.robot.limits, name) is None for name in PACE_LIMITS):
            allowed = f"one of {', '.join(PACE_LIMITS)} at least: nothing else bounds the pace"
            raise InputError(f"limits of robot {self.robot.name!r}", None, allowed)
        self._check_motion()
        self._check_identification()
        check_count("starts", self.starts, 1)
        check_count("seed", self.seed, 0)
        check_count("screened", self.screened, 0)
        if self.screened and self.screened < self.starts:
            raise InputError("screened", self.screened, f"0, or at least starts = {self.starts}")
        if self.screened and self.model != "exact":
            raise InputError("model", self.model, "'exact' where motions are screened")
        check_count("jobs", self.jobs, 1)
        if not is_real(self.time_limit) or self.time_limit < LEAST_TIME:
            raise InputError("time_limit", self.time_limit, f"at least {LEAST_TIME:g} s")

    @cached_property
    def most_periods(self) -> int:
        """The most whole periods whose highest harmonic keeps `highest_frequency`."""
        return math.floor(self.highest_frequency * self.duration / self.harmonics + 1e-9)

    @cached_property
    def equal(self) -> bool:
        """Whether the limbs share their parameters."""
        return self.robot.equal_limbs if self.tied is None else bool(self.tied)

    @cached_property
    def still_axes(self) -> tuple[int, ...]:
        """Coordinates that do not move, by number."""
        return tuple(COORDINATES.index(name) for name in self.still)

    def per_axis(self, name: str) -> FloatArray | None:
        """`weights` or `noise_std` as (dof,); one number stands for all axes."""
        value = getattr(self, name)
        return None if value is None else _per_axis(name, value, self.robot.dof)

    def _check_motion(self) -> None:
        check_positive(
            duration=self.duration, highest_frequency=self.highest_frequency, rate=self.rate
        )
        check_count("harmonics", self.harmonics, 1)
        if self.most_periods < 1:
            least = self.harmonics / self.duration
            raise InputError(
                "highest_frequency",
                self.highest_frequency,
                f"at least harmonics / duration = {least:g} Hz, for one period",
            )
        if self.periods is not None:
            check_count("periods", self.periods, 1)
            if self.periods > self.most_periods:
                allowed = (
                    f"at most {self.most_periods}, so that harmonic {self.harmonics} stays below "
                    f"highest_frequency = {self.highest_frequency:g} Hz"
                )
                raise InputError("periods", self.periods, allowed)
        check_share(self.share)
        check_between("singularity_margin", self.singularity_margin, 0.0, 1.0, "rad")
        names = COORDINATES[: self.robot.dof]
        if isinstance(self.still, str):
            raise InputError("still", self.still, "a list of coordinates, such as ['psi']")
        for name in self.still:
            if name not in names:
                raise UnknownNameError("still", name, names)
        if set(self.still) == set(names):
            raise InputError("still", list(self.still), "at least one coordinate that moves")

    def _check_identification(self) -> None:
        model_by_name(self.model)
        criterion_by_name(self.criterion)
        if not is_real(self.velocity_weight) or self.velocity_weight < 0:
            raise InputError("velocity_weight", self.velocity_weight, "a number of at least 0")
        check_flag("friction", self.friction)
        if self.tied is not None:
            check_flag("tied", self.tied)
            if self.tied and not self.robot.equal_limbs:
                raise InputError("tied", self.tied, "False: the limbs of this robot are not equal")
        if not is_real(self.noise_correlation) or self.noise_correlation < 0:
            raise InputError("noise_correlation", self.noise_correlation, "at least 0 s")
        for name in ("weights", "noise_std"):
            self.per_axis(name)
        if self.unidentifiable not in ("raise", "drop"):
            raise InputError("unidentifiable", self.unidentifiable, "'raise' or 'drop'")


def _per_axis(name: str, value: npt.ArrayLike, dof: int) -> FloatArray:
    """Positive numbers (dof,), one per axis."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(name, value, f"a number, or {dof} numbers, one per axis") from error
    if array.shape not in ((), (dof,)):
        raise InputError(f"shape of {name}", array.shape, f"one number or ({dof},), one per axis")
    full = np.broadcast_to(array, (dof,)).copy()
    for axis, item in enumerate(full):
        if not (math.isfinite(item) and item > 0):
            raise InputError(name, float(item), "numbers above 0", where=f"axis {axis}")
    return full
