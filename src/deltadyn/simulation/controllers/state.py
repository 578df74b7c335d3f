"""Controllers that ask a model at the measured state: gravity, computed torque, augmented PD.

The model is asked where the robot will be when the torque acts: at the reference of that instant,
less the error that is measured now. So a loop that follows perfectly gives the feedforward torque,
and a velocity filter alone makes no error.

    q = ahead.q - (now.q - q_measured),    qd = ahead.qd - (qd_seen - qd_measured)

Friction is that of the reference: the sign of a measured rate about rest is that of its noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.dynamics.models import model_by_name
from deltadyn.dynamics.parameters import ExactParameters
from deltadyn.errors import InputError
from deltadyn.robot import Robot
from deltadyn.simulation.controllers.feedforward import (
    PD,
    Law,
    PDLaw,
    check_axes,
    default_damping,
    feedback_of,
)
from deltadyn.simulation.controllers.model import SPECIAL_CASES, model_at_state
from deltadyn.simulation.drive.reference import Task
from deltadyn.simulation.plant.numerics import Floats
from deltadyn.simulation.presets import settings

Expected = Callable[[int, Floats, Floats], tuple[Floats, Floats]]


@dataclass(frozen=True)
class PDGravity(PD):
    """PD and the gravity torque g(q) of a model at the measured angles."""

    model: str = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        model_by_name(self.model)

    def prepare(self, task: Task) -> Law:
        """The law with gravity, and without friction."""
        check_axes(self.robot, task)
        parameters = SPECIAL_CASES.get(self.model)
        return GravityLaw(
            feedback_of(self, task),
            task.ahead.q - task.now.q,
            model_at_state(self.robot, self.model).inverse,
            None if parameters is None else parameters(self.robot),
        )


@dataclass(frozen=True, eq=False)
class GravityLaw:
    """The law of `PDGravity`: g(q + leads) + feedback, with the table `leads` (N, dof) in rad.

    `parameters` are those of the exact model where the model is a case of it: then compiled code
    can run the law.
    """

    feedback: PDLaw
    leads: FloatArray
    torque: Callable[[Floats, Floats, Floats], Floats]
    parameters: ExactParameters | None

    @cached_property
    def _rows(self) -> list[Floats]:
        return _rows(self.leads)

    def __call__(self, k: int, q: Floats, qd: Floats) -> Floats:
        """The torque of tick k, in N m."""
        still = (0.0,) * len(q)
        gravity = self.torque(_sum(self._rows[k], q), still, still)
        return _sum(gravity, self.feedback(k, q, qd))


@dataclass(frozen=True)
class AugmentedPD(PD):
    """tau = M(q) qdd_ref + C(q, qd) qd_ref + g(q) + f + PD, with Md - 2C skew [gnad2024].

    The skew-symmetry makes the error's energy 1/2 ed' M ed + 1/2 e' K e fall at the rate of the
    damping, whatever the motion: M ed' + C ed + D ed + K e = 0 with the right model.
    """

    model: str = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        model_by_name(self.model)

    def prepare(self, task: Task) -> Law:
        """The law with the model at the measured state."""
        check_axes(self.robot, task)
        torque, feedback = model_at_state(self.robot, self.model).augmented, feedback_of(self, task)
        expected = expected_state(task)
        rates, accelerations = _rows(task.ahead.qd), _rows(task.ahead.qdd)
        friction = _rows(reference_friction(self.robot, task, self.model))

        def law(k: int, q: Floats, qd: Floats) -> Floats:
            there, moving = expected(k, q, qd)
            forward = torque(there, moving, rates[k], accelerations[k])
            return _sum(forward, friction[k], feedback(k, q, qd))

        return law


@dataclass(frozen=True)
class ComputedTorque:
    """tau = M(q) (qdd_ref + b (qd_ref - qd) + a (q_ref - q)) + C(q, qd) qd + g(q) + f.

    With the right model every axis is its own spring-mass-damper with the position gain a (1/s^2)
    and the rate gain b (1/s), wherever the robot is. Where not given, they are those of `PD` over
    the axis's inertia: critical damping at `bandwidth` hertz, 20 or less.
    """

    robot: Robot
    model: str = "exact"
    bandwidth: float | None = field(default=None, kw_only=True)  # Hz
    position_gain: Any = field(default=None, kw_only=True)  # 1/s^2, one number or (dof,)
    rate_gain: Any = field(default=None, kw_only=True)  # 1/s, one number or (dof,)

    def __post_init__(self) -> None:
        if not isinstance(self.robot, Robot):
            raise InputError("robot", type(self.robot).__name__, "a Robot")
        model_by_name(self.model)
        inertia, damping = default_damping(self.robot, self.bandwidth)
        rate = damping / inertia
        for name, default in (("position_gain", rate**2 / 4), ("rate_gain", rate)):
            given = getattr(self, name)
            gain = settings(name, default if given is None else given, self.robot.dof, low=0.0)
            object.__setattr__(self, name, gain)

    def prepare(self, task: Task) -> Law:
        """The law with the model at the measured state."""
        check_axes(self.robot, task)
        torque, expected = model_at_state(self.robot, self.model).inverse, expected_state(task)
        friction = _rows(reference_friction(self.robot, task, self.model))
        now, seen, ahead = _rows(task.now.q), _rows(task.qd_seen), _rows(task.ahead.qdd)
        stiff, damp = self.position_gain, self.rate_gain

        def law(k: int, q: Floats, qd: Floats) -> Floats:
            axes = zip(ahead[k], stiff, now[k], q, damp, seen[k], qd, strict=True)
            wanted = tuple([z + a * (x - y) + b * (v - w) for z, a, x, y, b, v, w in axes])
            return _sum(torque(*expected(k, q, qd), wanted), friction[k])

        return law


def expected_state(task: Task) -> Expected:
    """Angles and rates at the instant at which the torque of tick k acts, from the measured."""
    leads = _rows(task.ahead.q - task.now.q), _rows(task.ahead.qd - task.qd_seen)

    def expected(k: int, q: Floats, qd: Floats) -> tuple[Floats, Floats]:
        return _sum(leads[0][k], q), _sum(leads[1][k], qd)

    return expected


def reference_friction(robot: Robot, task: Task, model: str) -> FloatArray:
    """Friction (N, dof) of the reference when the torque acts, in N m."""
    whole, plain = (
        inverse_dynamics(robot, task.ahead, model, friction=rubbed) for rubbed in (True, False)
    )
    difference: FloatArray = whole - plain
    return difference


def _sum(*torques: Floats) -> Floats:
    return tuple([sum(parts) for parts in zip(*torques, strict=True)])


def _rows(values: FloatArray) -> list[Floats]:
    return [tuple(row) for row in np.asarray(values).tolist()]
