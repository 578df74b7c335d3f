"""Feedforward that learns its payload: an estimator inside the loop.

The estimator is any object with `update(q, qd, qdd, tau)`, `mass` and `reset()`, as
`deltadyn.payload.PayloadEstimator` is. Angles and torques come from one window of time through
filters of the same delay, so that what the estimator is told belongs to one instant; one that has
such filters itself is told the samples as they are.
"""

from __future__ import annotations

import math
from collections import deque
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


class PayloadEstimate(Protocol):
    """What the controller asks of an estimator; angles, rates, torques are (dof,), SI units."""

    @property
    def mass(self) -> float:
        """The payload as it is believed now, in kg."""

    def update(self, q: Any, qd: Any, qdd: Any, tau: Any) -> Any:
        """Another sample; what it answers is not read. Without a window qd and qdd are None."""

    def reset(self) -> None:
        """Forget all, before a run."""


@dataclass(frozen=True)
class AdaptiveFeedforward(PD):
    """PD, the model's torque for the reference, and that of the estimated payload.

    tau = tau_ref(empty) + mass tau_ref(1 kg) + PD: the robot's own payload is not used, the
    estimator's mass is, at the robot's payload offset, between `lightest` and `heaviest` (kg; by
    default 0 and the robot's payload limit where it has one). The estimator is told angles, rates,
    accelerations and torques of the middle of the last `window` seconds, all through the same
    quadratic fit; with `window=None` the measured angles and torques, and None for the rates. A run
    begins with `estimator.reset()`. `lead` as in `PDFeedforward`.
    """

    estimator: PayloadEstimate
    model: str = "exact"
    window: float | None = field(default=WINDOW, kw_only=True)  # s
    lightest: float = field(default=0.0, kw_only=True)  # kg
    heaviest: float | None = field(default=None, kw_only=True)  # kg
    lead: float = field(default=0.0, kw_only=True)  # s

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

    def prepare(self, task: Task) -> Law:
        """The law of this task, with the estimator as if new."""
        check_axes(self.robot, task)
        self.estimator.reset()
        empty, one = (_loaded(self.robot, mass) for mass in (0.0, 1.0))
        ahead = led(self.robot, task, self.lead)
        forward = inverse_dynamics(empty, ahead, self.model)
        plain = inverse_dynamics(empty, ahead, self.model, friction=False)
        per_kg = inverse_dynamics(one, ahead, self.model, friction=False) - plain
        return _AdaptiveLaw(self, feedback_of(self, task), forward, per_kg, task.rate)


class _AdaptiveLaw:
    """The law of one run; it holds the window."""

    def __init__(
        self,
        controller: AdaptiveFeedforward,
        feedback: Law,
        forward: FloatArray,
        per_kg: FloatArray,
        rate: float,
    ) -> None:
        self.feedback, self.estimator = feedback, controller.estimator
        self.forward, self.per_kg = forward.tolist(), per_kg.tolist()
        limit = controller.robot.limits.payload
        heaviest = limit if controller.heaviest is None else controller.heaviest
        self.low, self.high = controller.lightest, math.inf if heaviest is None else heaviest
        self.window = None if controller.window is None else Window(controller.window, rate)
        self.tau: Floats | None = None

    def measured(self, tau: Floats) -> None:
        """The torque of this tick."""
        self.tau = tau

    def __call__(self, k: int, q: Floats, qd: Floats) -> Floats:
        if self.tau is not None and self.window is None:
            self.estimator.update(q, None, None, self.tau)
        elif self.tau is not None and self.window is not None:
            sample = self.window.add(q, self.tau)
            if sample is not None:
                self.estimator.update(*sample)
        mass = float(self.estimator.mass)
        if not math.isfinite(mass):
            raise PlantStoppedError(f"the payload estimator answers a mass of {mass} kg")
        mass = max(self.low, min(self.high, mass))
        parts = zip(self.forward[k], self.per_kg[k], self.feedback(k, q, qd), strict=True)
        return tuple([a + mass * b + c for a, b, c in parts])


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
