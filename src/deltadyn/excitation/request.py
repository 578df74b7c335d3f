"""What a caller asks of the design, checked once, and what follows from it before the search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.models import model_by_name
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.excitation.columns import pose_of
from deltadyn.excitation.criteria import (
    Chosen,
    Noise,
    UnidentifiableError,
    choose_parameters,
    criterion_by_name,
    identifiability,
    unidentifiable_text,
)
from deltadyn.excitation.problem import Problem, Rules, Setting, smoothed, strut_forces
from deltadyn.excitation.search import random_motion
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.kinematics.workspace import WorkspaceRules, psi_range, workspace
from deltadyn.motion.arguments import (
    check_between,
    check_count,
    check_flag,
    check_positive,
    check_share,
    is_real,
)
from deltadyn.motion.limits import SINGULARITY_MARGIN
from deltadyn.robot import Robot

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
class Design:
    """What a motion shall identify, and what it may be; every field may be left out."""

    #: Whole periods in the duration; left out, it is free up to `highest_frequency`.
    periods: int | None = None
    #: What makes a motion good, see `excitation.criteria`: "balanced", "std", "D", "A", "E",
    #: "condition" or "raw-condition".
    criterion: str = "balanced"
    #: Of the root mean square of the rates, as shares of their limits, in the objective.
    velocity_weight: float = 0.1
    #: The model whose parameters are to be identified.
    model: str = "exact"
    #: Whether the limbs share their parameters; left out, they do where the robot's are equal.
    tied: bool | None = None
    #: Whether friction is to be identified.
    friction: bool = True
    #: Of the rows of the regressor, per axis, 1/(N m); left out, 1 / `noise_std`.
    weights: npt.ArrayLike | None = None
    #: Expected residual per axis, N m; left out, 0.5 % of the peak torque.
    noise_std: npt.ArrayLike | None = None
    #: Correlation time of the residual, s.
    noise_correlation: float = 0.005
    #: Of the limits on rates, accelerations, torques and forces that may be used.
    share: float = 0.9
    #: Least angle to singular poses, rad.
    singularity_margin: float = SINGULARITY_MARGIN
    #: Of the highest harmonic, Hz.
    highest_frequency: float = 10.0
    #: Coordinates that do not move: "x", "y", "z", "psi".
    still: Sequence[str] = ()
    #: "raise" where no such motion identifies a parameter, or "drop" it.
    unidentifiable: Literal["raise", "drop"] = "raise"
    #: Samples per second of the motion, Hz.
    rate: float = 1000.0

    def __post_init__(self) -> None:
        check_positive(highest_frequency=self.highest_frequency, rate=self.rate)
        if self.periods is not None:
            check_count("periods", self.periods, 1)
        check_share(self.share)
        check_between("singularity_margin", self.singularity_margin, 0.0, 1.0, "rad")
        if isinstance(self.still, str):
            raise InputError("still", self.still, "a list of coordinates, such as ['psi']")
        model_by_name(self.model)
        criterion_by_name(self.criterion)
        if not is_real(self.velocity_weight) or self.velocity_weight < 0:
            raise InputError("velocity_weight", self.velocity_weight, "a number of at least 0")
        check_flag("friction", self.friction)
        if self.tied is not None:
            check_flag("tied", self.tied)
        if not is_real(self.noise_correlation) or self.noise_correlation < 0:
            raise InputError("noise_correlation", self.noise_correlation, "at least 0 s")
        if self.unidentifiable not in ("raise", "drop"):
            raise InputError("unidentifiable", self.unidentifiable, "'raise' or 'drop'")


@dataclass(frozen=True)
class SearchOptions:
    """How long and how widely a motion is searched for; every field may be left out."""

    #: Random motions per number of periods that are improved.
    starts: int = 4
    #: Of the random motions: the same seed gives the same result on the same machine.
    seed: int = 0
    #: Processes; left out, one for each processor.
    jobs: int | None = None
    #: s after which the search ends with the best that it has.
    time_limit: float = 60.0
    #: Random motions of which the starts are the best ones; 0: the starts are random themselves.
    screened: int = 0
    #: Whether a bar on the standard error shows how far the search is.
    progress: bool = False

    def __post_init__(self) -> None:
        check_count("starts", self.starts, 1)
        check_count("seed", self.seed, 0)
        check_count("screened", self.screened, 0)
        if self.screened and self.screened < self.starts:
            raise InputError("screened", self.screened, f"0, or at least starts = {self.starts}")
        if self.jobs is not None:
            check_count("jobs", self.jobs, 1)
        if not is_real(self.time_limit) or self.time_limit < LEAST_TIME:
            raise InputError("time_limit", self.time_limit, f"at least {LEAST_TIME:g} s")
        check_flag("progress", self.progress)


@dataclass(frozen=True, eq=False)
class Request:
    """One call of `design_excitation`: a duration (s), and options that suit the robot."""

    robot: Robot
    duration: float
    harmonics: int
    design: Design = field(default_factory=Design)
    search: SearchOptions = field(default_factory=SearchOptions)

    def __post_init__(self) -> None:
        if not isinstance(self.robot, Robot):
            raise InputError("robot", type(self.robot).__name__, "a Robot, from load_robot")
        if all(getattr(self.robot.limits, name) is None for name in PACE_LIMITS):
            allowed = f"one of {', '.join(PACE_LIMITS)} at least: nothing else bounds the pace"
            raise InputError(f"limits of robot {self.robot.name!r}", None, allowed)
        self._check_periods()
        self._check_axes()
        if self.search.screened and self.design.model != "exact":
            raise InputError("model", self.design.model, "'exact' where motions are screened")

    @cached_property
    def most_periods(self) -> int:
        """The most whole periods whose highest harmonic keeps `highest_frequency`."""
        highest = self.design.highest_frequency
        return math.floor(highest * self.duration / self.harmonics + 1e-9)

    @cached_property
    def equal(self) -> bool:
        """Whether the limbs share their parameters."""
        tied = self.design.tied
        return self.robot.equal_limbs if tied is None else bool(tied)

    @cached_property
    def still_axes(self) -> tuple[int, ...]:
        """Coordinates that do not move, by number."""
        return tuple(self.robot.coordinates.index(name) for name in self.design.still)

    def per_axis(self, name: Literal["weights", "noise_std"]) -> FloatArray | None:
        """`weights` or `noise_std` as (dof,); one number stands for all axes."""
        value = getattr(self.design, name)
        return None if value is None else _per_axis(name, value, self.robot.dof)

    def _check_periods(self) -> None:
        check_positive(duration=self.duration)
        check_count("harmonics", self.harmonics, 1)
        highest, periods = self.design.highest_frequency, self.design.periods
        if self.most_periods < 1:
            least = self.harmonics / self.duration
            allowed = f"at least harmonics / duration = {least:g} Hz, for one period"
            raise InputError("highest_frequency", highest, allowed)
        if periods is not None and periods > self.most_periods:
            allowed = (
                f"at most {self.most_periods}, so that harmonic {self.harmonics} stays below "
                f"highest_frequency = {highest:g} Hz"
            )
            raise InputError("periods", periods, allowed)

    def _check_axes(self) -> None:
        names, still = self.robot.coordinates, self.design.still
        for name in still:
            if name not in names:
                raise UnknownNameError("still", name, names)
        if set(still) == set(names):
            raise InputError("still", list(still), "at least one coordinate that moves")
        if self.design.tied and not self.robot.equal_limbs:
            allowed = "False: the limbs of this robot are not equal"
            raise InputError("tied", self.design.tied, allowed)
        self.per_axis("weights")
        self.per_axis("noise_std")


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


# Before the search: region, reference motions, weights, what can be identified, what may bind.


NOISE_SHARE = 0.005  # of the peak torque: residuals of a good model, where the caller says nothing
LEAST_SHARE = 0.01  # of the peak torque: what contributes less needs no relative precision
STRUTS_MATTER = 0.5  # of the strut force: below, the search leaves it to the final check
SAMPLES = 80  # of a reference motion
MOTIONS = 4  # reference motions per number of periods
LADDER = 7  # numbers of periods to try
SPAN = 20.0  # ratio of the most periods to the fewest


@dataclass(frozen=True, eq=False)
class Prepared:
    """What the search and the result need besides the request."""

    setting: Setting
    chosen: Chosen
    noise: Noise
    weights: FloatArray
    ladder: tuple[int, ...]
    unidentifiable: str


def prepared(request: Request) -> Prepared:
    """Reference motions within the limits, and what follows from them."""
    chosen = choose_parameters(
        request.robot, request.design.model, request.equal, request.design.friction
    )
    ladder = period_ladder(request)
    setting = _first_setting(request, chosen)
    spread = sorted({ladder[0], ladder[len(ladder) // 2], ladder[-1]})
    reference = _reference(setting, spread)
    Y, peak = reference.Y, _torque_scale(request.robot, reference.peaks)
    given = request.per_axis("noise_std")
    std = NOISE_SHARE * peak if given is None else given
    weights = request.per_axis("weights")
    weights = 1 / std if weights is None else weights
    chosen, text = _identifiable(request, chosen, Y, weights)
    share = Y[:, :, chosen.index] / peak[:, None]
    size = np.sqrt((share**2).sum(axis=1).mean(axis=0))  # (n,), torque share per unit
    limit = request.robot.limits.strut_force
    struts = limit is not None and reference.force > STRUTS_MATTER * request.design.share * limit
    setting = replace(
        setting,
        chosen=chosen.index,
        scale=np.maximum(np.abs(chosen.values), LEAST_SHARE / size),
        weights=weights,
        rules=replace(setting.rules, struts=struts),
    )
    noise = Noise(std, float(request.design.noise_correlation), float(request.design.rate))
    return Prepared(setting, chosen, noise, weights, ladder, text)


def period_ladder(request: Request) -> tuple[int, ...]:
    """Numbers of periods for the first round: the one asked for, or a geometric row."""
    if request.design.periods is not None:
        return (request.design.periods,)
    most = request.most_periods
    row = np.geomspace(max(most / SPAN, 1.0), most, LADDER)
    return tuple(sorted({round(value) for value in row}))


def region(robot: Robot, margin: float) -> tuple[FloatArray, FloatArray]:
    """Centre and half widths (dof,) of where the platform may be, for scales and starts.

    The robot's cylinder, or the largest one that its geometry has; psi within its limits, or one
    turn to both sides. Where limbs carry psi, within what they reach all over the cylinder.
    """
    cylinder = robot.limits.workspace
    if cylinder is None:
        rules = WorkspaceRules(singularity=margin)
        cylinder = workspace(robot, rules=rules, heights=61, azimuths=72).largest_cylinder()
    if cylinder is None:
        raise InputError("robot", robot.name, "a robot whose workspace is not empty")
    low, high = cylinder.z_min, cylinder.z_max
    spans = {"x": (0.0, cylinder.radius), "y": (0.0, cylinder.radius)}
    spans["z"] = ((low + high) / 2, (high - low) / 2)
    if robot.turns:
        a, b = _turned(robot, margin)
        spans["psi"] = ((a + b) / 2, (b - a) / 2)
    centre, half = zip(*(spans[name] for name in robot.coordinates), strict=True)
    return np.array(centre), np.array(half)


def _turned(robot: Robot, margin: float) -> tuple[float, float]:
    """Lowest and highest psi (rad), at most a turn to both sides where nothing bounds it."""
    turn = 2 * np.pi
    if robot.spindle is None:
        rules = WorkspaceRules(singularity=margin)
        ranges = [psi_range(robot, rules=rules), psi_range(robot, home_pose(robot), rules)]
        for low, high in ranges:  # that of the middle where the cylinder's rim has none
            if low < high:
                return max(float(low), -turn), min(float(high), turn)
        allowed = f"one that is {margin:g} rad from singular poses in its middle at psi = 0"
        raise InputError("robot", robot.name, allowed)
    ends = robot.limits.angle_min, robot.limits.angle_max
    a = -turn if ends[0] is None else ends[0][3]
    b = turn if ends[1] is None else ends[1][3]
    if a >= b:  # one end is given, and far off
        a, b = (b - 2 * turn, b) if ends[0] is None else (a, a + 2 * turn)
    return float(a), float(b)


def _first_setting(request: Request, chosen: Chosen) -> Setting:
    """A setting that judges which motions are feasible; weights and scales follow from these."""
    design = request.design
    centre, half = region(request.robot, design.singularity_margin)
    return Setting(
        robot=smoothed(request.robot),
        model=design.model,
        tied=request.equal,
        duration=float(request.duration),
        harmonics=int(request.harmonics),
        values=chosen.all_values,
        chosen=chosen.index,
        scale=np.ones(len(chosen.names)),
        weights=np.ones(request.robot.dof),
        criterion=design.criterion,
        velocity_weight=float(design.velocity_weight),
        rules=Rules(float(design.share), float(design.singularity_margin), struts=False),
        centre=centre,
        half=half,
        still=request.still_axes,
    )


class _Reference(NamedTuple):
    """Y (N, dof, m) of random motions, their peak torques (dof,) and largest strut force (N)."""

    Y: FloatArray
    peaks: FloatArray
    force: float


def _reference(setting: Setting, periods: list[int]) -> _Reference:
    """Random motions within the limits.

    They do not depend on the seed, so neither do weights and predicted deviations.
    """
    blocks, peaks, forces = [], [], []
    for count in periods:
        problem = Problem(setting, count, SAMPLES, 1.0)
        rng = np.random.default_rng(count)
        for _ in range(MOTIONS):
            x = random_motion(problem, rng)
            pose = pose_of(setting.robot, problem.motion(x)[:, None])
            Y = problem.regressor(pose)[:, :, 0]  # (m, dof, N)
            blocks.append(Y.transpose(2, 1, 0))
            peaks.append(np.abs(np.tensordot(setting.values, Y, axes=1)).max(axis=1))
            forces.append(float(np.real(strut_forces(setting.robot, pose)).max()))
    return _Reference(np.concatenate(blocks), np.max(peaks, axis=0), max(forces))


def _torque_scale(robot: Robot, peaks: FloatArray) -> FloatArray:
    """Peak torques (dof,) in N m: the robot's limits, or those of the reference motions."""
    limit = robot.limits.torque_peak
    if limit is not None:
        return np.asarray(limit, dtype=np.float64)
    return np.where(peaks > 0, peaks, 1.0)  # an axis without any torque


def _identifiable(
    request: Request, chosen: Chosen, Y: FloatArray, weights: FloatArray
) -> tuple[Chosen, str]:
    """The parameters that can be identified, and a sentence on the others."""
    stacked = (Y[:, :, chosen.index] * weights[:, None]).reshape(-1, len(chosen.names))
    found = identifiability(chosen.names, stacked)
    if found.complete:
        return chosen, ""
    if request.design.unidentifiable == "raise":
        raise UnidentifiableError(found.no_influence, found.dependent)
    return chosen.kept(found.keep), unidentifiable_text(found.no_influence, found.dependent)
