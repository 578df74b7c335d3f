"""Feedforward that learns its payload: an estimator inside the loop.

The estimator is any object with `update(q, qd, qdd, tau)`, `mass` and `reset()`, as
`deltadyn.payload.PayloadEstimator` is. Angles and torques come from one window of time through
filters of the same delay, so that what the estimator is told belongs to one instant; one that has
such filters itself is told the samples as they are.
"""

from __future__ import annotations

import inspect
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.dynamics.models import model_by_name
from deltadyn.errors import InputError
from deltadyn.robot import Robot
from deltadyn.simulation.controllers.feedforward import PD, Law, check_axes, feedback_of, led
from deltadyn.simulation.drive.reference import Task
from deltadyn.simulation.plant.machine import PlantStoppedError
from deltadyn.simulation.plant.numerics import Floats
from deltadyn.simulation.presets import setting
from deltadyn.simulation.run import Run

# The tracking error of a run, pick by pick.


@dataclass(frozen=True, eq=False)
class PickError:
    """A stretch of a run with one payload: RMS and largest tracking error (dof,), in rad."""

    start: float  # s
    end: float  # s
    mass: float  # kg
    rms: FloatArray
    largest: FloatArray


def pick_errors(run: Run) -> tuple[PickError, ...]:
    """The run cut where its payload changes, each stretch with its tracking error at the arms."""
    mass, t = run.truth.payload, run.truth.t
    cuts = [0, *(np.flatnonzero(np.diff(mass)) + 1).tolist(), len(t)]
    picks = []
    for first, last in pairwise(cuts):
        error = run.tracking_error[first:last]
        picks.append(
            PickError(
                float(t[first]),
                float(t[last - 1]),
                float(mass[first]),
                np.sqrt(np.mean(error**2, axis=0)),
                np.abs(error).max(axis=0),
            )
        )
    return tuple(picks)


WINDOW = 0.01  # s: the estimator hears of a pick half of it late
LEAST = 5  # samples of a window that tells an acceleration
REST_SPEED = 0.15  # m/s of the reference: loads are released where it is slower
DOUBT = 0.1  # s of motion behind such a place until an old load is believed again
LIGHT = 0.05  # kg: what counts as a load
USUAL = 1.5  # kg: deviation of what is picked, before anything is known of it


class PayloadEstimate(Protocol):
    """What the controller asks of an estimator; angles, rates, torques are (dof,), SI units."""

    @property
    def mass(self) -> float:
        """The payload as it is believed now, in kg."""

    def update(self, q: Any, qd: Any, qdd: Any, tau: Any) -> Any:
        """Another sample; what it answers is not read. Without a window qd and qdd are None."""

    def reset(self) -> None:
        """Forget all, before a run."""


Grip = tuple[float, float]


@dataclass(frozen=True)
class AdaptiveFeedforward(PD):
    """PD, the model's torque for the reference, and that of the estimated payload.

    tau = tau_ref(empty) + mass tau_ref(1 kg) + PD: the robot's own payload is not used, the
    estimator's mass is, at the robot's payload offset, between `lightest` and `heaviest` (kg; by
    default 0 and the robot's payload limit where it has one). The estimator is told angles, rates,
    accelerations and torques of the middle of the last `window` seconds, all through the same
    quadratic fit; with `window=None` the measured angles and torques, and None for the rates. A run
    begins with `estimator.reset()`. `lead` as in `PDFeedforward`.

    `grips` is the gripper's signal: pairs of the times (s) at which it closes and opens. The
    estimator is told it as `holding` where its `update` takes that; without a grip no mass is used,
    and while it lasts the last mass stays where the estimator takes the load for gone. Without
    `grips` a load may go unseen wherever the reference rests: a mass from before is used again only
    after `doubt` seconds of motion, in which the estimator would have noticed.

    `rise` (s) is a time constant with which the mass is followed. A torque that jumps when a load
    is found shakes the gears; 0.01 s help an estimator that takes this for another load.

    Where the estimator has a standard deviation `std`, the mass is weighed with it against what is
    usually picked, N(0, (1.5 kg)^2): mass / (1 + (std / 1.5 kg)^2), so that its first guesses count
    little.
    """

    estimator: PayloadEstimate
    model: str = "exact"
    window: float | None = field(default=WINDOW, kw_only=True)  # s
    lightest: float = field(default=0.0, kw_only=True)  # kg
    heaviest: float | None = field(default=None, kw_only=True)  # kg
    lead: float = field(default=0.0, kw_only=True)  # s
    grips: Sequence[Grip] | None = field(default=None, kw_only=True)  # s
    doubt: float = field(default=DOUBT, kw_only=True)  # s
    rise: float = field(default=0.0, kw_only=True)  # s

    def __post_init__(self) -> None:
        super().__post_init__()
        model_by_name(self.model)
        wanted = ("update", "reset")
        if not all(callable(getattr(self.estimator, name, None)) for name in wanted) or not hasattr(
            self.estimator, "mass"
        ):
            allowed = "an estimator with update(q, qd, qdd, tau), mass and reset()"
            raise InputError("estimator", type(self.estimator).__name__, allowed)
        if self.window is not None:
            setting("window", self.window, low=0.0, strict=True, unit="s")
        setting("lead", self.lead, low=0.0, unit="s")
        low = setting("lightest", self.lightest, unit="kg")
        if self.heaviest is not None:
            setting("heaviest", self.heaviest, low=low, unit="kg")
        setting("doubt", self.doubt, low=0.0, unit="s")
        if self.grips is not None:
            object.__setattr__(self, "grips", checked_grips(self.grips))
        setting("rise", self.rise, low=0.0, unit="s")

    def prepare(self, task: Task) -> Law:
        """The law of this task, with the estimator as if new."""
        check_axes(self.robot, task)
        self.estimator.reset()
        empty, one = (_loaded(self.robot, mass) for mass in (0.0, 1.0))
        ahead = led(self.robot, task, self.lead)
        forward = inverse_dynamics(empty, ahead, self.model)
        plain = inverse_dynamics(empty, ahead, self.model, friction=False)
        per_kg = inverse_dynamics(one, ahead, self.model, friction=False) - plain
        trust = _Grip(self, task) if self.grips is not None else Doubt(self.doubt, task)
        return _AdaptiveLaw(self, feedback_of(self, task), forward, per_kg, task.rate, trust)


def checked_grips(grips: Any) -> tuple[Grip, ...]:
    """Pairs of increasing times in s."""
    found: list[Grip] = []
    last = -math.inf
    for index, pair in enumerate(grips):
        try:
            close, opened = (float(x) for x in pair)
        except (TypeError, ValueError):
            allowed = "a pair of times in s: the gripper closes, and opens"
            raise InputError(f"grips[{index}]", pair, allowed) from None
        if not last <= close < opened:
            allowed = f"a pair of increasing times from {max(last, 0.0):g} s on"
            raise InputError(f"grips[{index}]", (close, opened), allowed)
        found.append((close, opened))
        last = opened
    return tuple(found)


# When the estimator's mass is believed: while the gripper holds, or by what the reference does.


class _Grip:
    """The gripper's signal at the ticks."""

    def __init__(self, controller: AdaptiveFeedforward, task: Task) -> None:
        closed = np.zeros(len(task.now.t), dtype=bool)
        for close, opened in controller.grips or ():
            closed |= (task.now.t >= close) & (task.now.t < opened)
        self.closed: list[bool] = closed.tolist()
        update = controller.estimator.update
        self.told = "holding" in inspect.signature(update).parameters
        self.last = 0.0  # kg, of this grip

    def news(self, k: int) -> dict[str, bool]:
        """What the estimator is told beside a sample."""
        return {"holding": self.closed[k]} if self.told else {}

    def believed(self, k: int, mass: float) -> float:
        """The mass that is used, in kg: none without a grip, and the last one while it lasts."""
        if not self.closed[k]:
            self.last = 0.0
        elif mass > LIGHT:
            self.last = mass
        return max(mass, self.last) if self.closed[k] else 0.0


class Doubt:
    """Doubts a load from before the reference rested, until the robot has moved for a while.

    A place of rest begins where the reference has slowed down to 0.15 m/s and slows down no more.
    """

    def __init__(self, seconds: float, task: Task) -> None:
        speed = np.linalg.norm(task.now.pd[:, :3], axis=1)
        slow = (speed < REST_SPEED) & (np.gradient(speed) >= 0)
        self.rests: list[bool] = slow.tolist()
        self.ticks = round(seconds * task.rate)
        self.left = 0  # ticks of motion for which the load is doubted
        self.loaded = False  # when the reference last moved

    def news(self, k: int) -> dict[str, bool]:
        """Nothing: there is no signal."""
        return {}

    def believed(self, k: int, mass: float) -> float:
        """The mass where it is that of now, else 0, in kg."""
        if mass <= LIGHT:
            self.left, self.loaded = 0, False  # what comes later is a new load
        elif self.rests[k]:
            self.left = self.ticks if self.loaded else 0
        else:
            self.loaded, self.left = True, max(self.left - 1, 0)
        return 0.0 if self.left else mass


class _AdaptiveLaw:
    """The law of one run; it holds the window."""

    def __init__(
        self,
        controller: AdaptiveFeedforward,
        feedback: Law,
        forward: FloatArray,
        per_kg: FloatArray,
        rate: float,
        trust: _Grip | Doubt,
    ) -> None:
        self.feedback, self.estimator, self.trust = feedback, controller.estimator, trust
        self.forward, self.per_kg = forward.tolist(), per_kg.tolist()
        limit = controller.robot.limits.payload
        heaviest = limit if controller.heaviest is None else controller.heaviest
        self.low, self.high = controller.lightest, math.inf if heaviest is None else heaviest
        self.window = None if controller.window is None else Window(controller.window, rate)
        self.share = -math.expm1(-1 / (controller.rise * rate)) if controller.rise else 1.0
        self.used: float | None = None  # kg
        self.tau: Floats | None = None

    def measured(self, tau: Floats) -> None:
        """The torque of this tick."""
        self.tau = tau

    def __call__(self, k: int, q: Floats, qd: Floats) -> Floats:
        news = self.trust.news(k)
        if self.tau is not None and self.window is None:
            self.estimator.update(q, None, None, self.tau, **news)
        elif self.tau is not None and self.window is not None:
            sample = self.window.add(q, self.tau)
            if sample is not None:
                self.estimator.update(*sample, **news)
        mass = float(self.estimator.mass)
        if not math.isfinite(mass):
            raise PlantStoppedError(f"the payload estimator answers a mass of {mass} kg")
        mass = self.trust.believed(k, self._weighed(mass))
        mass = max(self.low, min(self.high, mass))
        before = mass if self.used is None else self.used
        mass = self.used = before + self.share * (mass - before)
        parts = zip(self.forward[k], self.per_kg[k], self.feedback(k, q, qd), strict=True)
        return tuple([a + mass * b + c for a, b, c in parts])

    def _weighed(self, mass: float) -> float:
        """The mass by its own deviation, against what is usually picked."""
        std = getattr(self.estimator, "std", None)
        return mass if std is None else mass / (1 + (std / USUAL) ** 2)


class Middle(NamedTuple):
    """q, qd, qdd, tau (dof,) of the middle of a window: rad, rad/s, rad/s^2, N m."""

    q: Floats
    qd: Floats
    qdd: Floats
    tau: Floats


class Window:
    """The last samples of angles and torques, and what they say about their middle.

    A parabola is fitted to both: its value, slope and curvature in the middle are a low-pass filter
    and two differentiators of linear phase, so angles, rates, accelerations and torques keep time.
    """

    def __init__(self, seconds: float, rate: float) -> None:
        half = round(seconds * rate / 2)
        self.count = 2 * half + 1
        if self.count < LEAST:
            least = (LEAST - 1) / rate
            raise InputError("window", seconds, f"at least {least:g} s at {rate:g} Hz")
        t = np.arange(-half, half + 1) / rate
        fit = np.linalg.pinv(np.stack([np.ones_like(t), t, t**2 / 2], axis=1))
        self.kernels: FloatArray = fit  # (3, count): value, first and second derivative
        self.q: deque[Floats] = deque(maxlen=self.count)
        self.tau: deque[Floats] = deque(maxlen=self.count)

    def add(self, q: Floats, tau: Floats) -> Middle | None:
        """What the samples say of the middle, once the window is full."""
        self.q.append(q)
        self.tau.append(tau)
        if len(self.q) < self.count:
            return None
        angle, rate, acceleration = (self.kernels @ np.array(self.q)).tolist()
        torque = (self.kernels[0] @ np.array(self.tau)).tolist()
        return Middle(tuple(angle), tuple(rate), tuple(acceleration), tuple(torque))


def _loaded(robot: Robot, mass: float) -> Robot:
    return robot.with_payload(mass, robot.payload.offset)
