"""Controllers that ask a model at the measured state: gravity, computed torque, augmented PD.

The model is asked where the robot will be when the torque acts: at the reference of that instant,
less the error that is measured now. So a loop that follows perfectly gives the feedforward torque,
and a velocity filter alone makes no error.

    q = ahead.q - (now.q - q_measured),    qd = ahead.qd - (qd_seen - qd_measured)

Friction is that of the reference: the sign of a measured rate about rest is that of its noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import numpy as np

from deltadyn.arrays import Component, FloatArray
from deltadyn.backends.limbs import ROTARY
from deltadyn.backends.loader import available, inverse_dynamics_joints
from deltadyn.backends.packed import packed_numbers
from deltadyn.dynamics import exact, lumped
from deltadyn.dynamics.friction import reported
from deltadyn.dynamics.inverse import equations_of_motion, inverse_dynamics
from deltadyn.dynamics.models import model_by_name
from deltadyn.dynamics.parameters import ExactParameters, exact_parameters
from deltadyn.errors import InputError
from deltadyn.kinematics.actuation import actuation
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.robot.checks import ARMS
from deltadyn.simulation.controllers.feedforward import (
    PD,
    Law,
    PDLaw,
    check_axes,
    default_damping,
    drive_shares,
    feedback_of,
)
from deltadyn.simulation.drive.reference import Task
from deltadyn.simulation.plant.machine import PlantStoppedError
from deltadyn.simulation.plant.mechanism import Follower, follows, pose_of
from deltadyn.simulation.plant.numerics import Floats
from deltadyn.simulation.presets import Preset, preset_by_name, settings
from deltadyn.tape.tape import SCALARS
from deltadyn.tape.write_python import straight_line

# A model's torque at one state, as quick as Python allows. Models that are the exact one with other
# parameters take 5 to 25 us a call; "rigid" and "projected-rod" go through NumPy one state at a
# time, which takes 20 to 100 times as long.


Vector = tuple[Component, ...]
Parameters = Callable[[Robot], ExactParameters]
NO_STATE = "the controller's model has no state there: its struts do not meet, or lie in one plane"

#: Models that are the exact one with these parameters.
SPECIAL_CASES: dict[str, Parameters] = {
    "exact": exact_parameters,
    "half-half": lumped.half_half_parameters,
    "gray-box": lumped.gray_box_parameters,
    "virtual-work": lumped.virtual_work_parameters,
    "euler-lagrange": partial(lumped.half_half_parameters, uniform_arm=False),
}


class ModelAtState(NamedTuple):
    """Torques (dof,) of a model at one state, without friction, in N m, in the drives' scale."""

    #: M(q) qdd + C(q, qd) qd + g(q) of (q, qd, qdd)
    inverse: Callable[[Floats, Floats, Floats], Floats]
    #: M(q) a + C(q, qd) v + g(q) of (q, qd, v, a), with Md - 2C skew
    augmented: Callable[[Floats, Floats, Floats, Floats], Floats]


def model_at_state(robot: Robot, model: str, near: FloatArray | None = None) -> ModelAtState:
    """The model of that name, for single states; raises PlantStoppedError where no state is.

    `near` (dof,) is a pose near the first state: a platform of two halves is followed from it.
    """
    model_by_name(model)
    if model in SPECIAL_CASES:
        return _compiled(robot, SPECIAL_CASES[model](robot), near)
    return _sampled(robot, model, near)


# The kernel gives the inverse where the extension is in use (3-DOF: 4 us, straight line 10 us). The
# straight line stays beside it for two reasons. Without the extension NumPy's arrays of one state
# take 90 times as long. And `augmented` needs the C of Christoffel's symbols: on the 4-DOF robot
# the kernels give another C with Md - 2C skew, whose torque differs by 1e-5 N m.


def _compiled(robot: Robot, par: ExactParameters, near: FloatArray | None) -> ModelAtState:
    n, halves = robot.dof, follows(robot)
    follower = Follower(robot, None if near is None else tuple(near.tolist())) if halves else None

    def inverse(x: Sequence[Any]) -> list[Component]:
        q, qd, qdd, *pose = (tuple(x[k * n : (k + 1) * n]) for k in range(3 + halves))
        return _scaled(robot, _torque(par, q, qd, qdd, *pose))

    def augmented(x: Sequence[Any]) -> list[Component]:
        q, qd, v, a, *pose = (tuple(x[k * n : (k + 1) * n]) for k in range(4 + halves))
        return _scaled(robot, _polarised(par, q, qd, v, a, *pose))

    plain = straight_line((3 + halves) * n, inverse)
    bilinear = straight_line((4 + halves) * n, augmented)
    whole = (n == 4) == (par.spindle is not None)  # a kernel of 4 axes has a spindle
    whole = whole and robot.legs == ARMS and (n == ARMS or actuation(robot) == ROTARY)
    numbers = packed_numbers(robot, par) if whole else None

    def pose(q: Floats) -> Floats:
        return () if follower is None else follower.pose(q)

    def inverse_at(q: Floats, qd: Floats, qdd: Floats) -> Floats:
        if numbers is not None and available():
            state = np.array(q), np.array(qd), np.array(qdd)
            tau = inverse_dynamics_joints(numbers, *state, friction=False).tolist()
            if not math.isfinite(sum(tau)):
                raise PlantStoppedError(NO_STATE)
            return tuple(tau)
        try:
            return plain(*q, *qd, *qdd, *pose(q))
        except (ValueError, ArithmeticError):
            raise PlantStoppedError(NO_STATE) from None

    def augmented_at(q: Floats, qd: Floats, v: Floats, a: Floats) -> Floats:
        try:
            return bilinear(*q, *qd, *v, *a, *pose(q))
        except (ValueError, ArithmeticError):
            raise PlantStoppedError(NO_STATE) from None

    return ModelAtState(inverse_at, augmented_at)


def _scaled(robot: Robot, tau: Sequence[Component]) -> list[Component]:
    return [ratio * x for ratio, x in zip(robot.sensors.torque_ratio, tau, strict=True)]


def _torque(
    par: ExactParameters, q: Vector, qd: Vector, qdd: Vector, x: Vector | None = None
) -> list[Component]:
    """The exact model from joint coordinates: pdd is that at qdd = 0, and J qdd."""
    pose = pose_of(SCALARS, par.limbs, q, qd, x)
    pdd = tuple(
        sum((column[k] * a for column, a in zip(pose.J, qdd, strict=True)), start)
        for k, start in enumerate(pose.pdd)
    )
    return exact.inverse_dynamics(SCALARS, par, pose.c, pose.s, qd, qdd, pose.p, pose.pd, pdd)


def _polarised(
    par: ExactParameters,
    q: Vector,
    qd: Vector,
    v: Vector,
    a: Vector,
    x: Vector | None = None,
) -> list[Component]:
    """M a + C(q, qd) v + g with the C of Christoffel's symbols, which is bilinear and symmetric.

    So C(q, qd) v = c((qd + v) / 2) - c((qd - v) / 2) with c(qd) = C(q, qd) qd: the model's own
    velocity torque, and no matrix, is needed.
    """
    middle = tuple((b + c) * 0.5 for b, c in zip(qd, v, strict=True))
    apart = tuple((b - c) * 0.5 for b, c in zip(qd, v, strict=True))
    weightless = replace(par, gravity=0.0)
    still = (0.0,) * len(q)
    whole = _torque(par, q, middle, a, x)
    less = _torque(weightless, q, apart, still, x)
    return [b - c for b, c in zip(whole, less, strict=True)]


def _sampled(robot: Robot, model: str, near: FloatArray | None) -> ModelAtState:
    chosen = model_by_name(model)

    def torque(q: Floats, qd: Floats, v: Floats, a: Floats) -> Floats:
        nonlocal near
        angles, rates = np.array([q]), np.array([qd])
        state = State.from_joints(robot, angles, rates, unreachable="nan", hint=near)
        near = state.p[0]
        terms = chosen.terms(robot, state)
        tau: FloatArray = terms.M[0] @ a + terms.C[0] @ v + terms.g[0]
        if not np.isfinite(tau).all():
            raise PlantStoppedError(NO_STATE)
        return tuple(reported(robot, tau).tolist())

    return ModelAtState(lambda q, qd, qdd: torque(q, qd, qd, qdd), torque)


# The controllers.


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
        if set(self.robot.sensors.torque_ratio) != {1.0}:
            parameters = None  # the compiled law has true torques
        return GravityLaw(
            feedback_of(self, task),
            task.ahead.q - task.now.q,
            model_at_state(self.robot, self.model, task.now.p[0]).inverse,
            None if parameters is None else parameters(self.robot),
        )


@dataclass(frozen=True, eq=False)
class GravityLaw:
    """The law of `PDGravity`: g(q + leads) + feedback, with the table `leads` (N, dof) in rad.

    `parameters` are those of the exact model where the model is a case of it and torques are true
    ones: then compiled code can run the law.
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
        torque = model_at_state(self.robot, self.model, task.now.p[0]).augmented
        feedback, expected = feedback_of(self, task), expected_state(task)
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
    the axis's inertia: critical damping at `bandwidth` hertz, 20 or less. Where nothing is given, a
    run lowers it to what its drive bears, as `for_drive` does.
    """

    robot: Robot
    model: str = "exact"
    bandwidth: float | None = field(default=None, kw_only=True)  # Hz
    position_gain: Any = field(default=None, kw_only=True)  # 1/s^2, one number or (dof,)
    rate_gain: Any = field(default=None, kw_only=True)  # 1/s, one number or (dof,)
    by_default: bool = field(init=False, repr=False, compare=False, default=True)

    def __post_init__(self) -> None:
        if not isinstance(self.robot, Robot):
            raise InputError("robot", type(self.robot).__name__, "a Robot")
        model_by_name(self.model)
        given = (self.bandwidth, self.position_gain, self.rate_gain)
        object.__setattr__(self, "by_default", all(value is None for value in given))
        inertia, damping = default_damping(self.robot, self.bandwidth)
        rate = damping / inertia
        for name, default in (("position_gain", rate**2 / 4), ("rate_gain", rate)):
            given = getattr(self, name)
            gain = settings(name, default if given is None else given, self.robot.dof, low=0.0)
            object.__setattr__(self, name, gain)

    def for_drive(self, rate: float, preset: str | Preset = "ideal", **switches: Any) -> Self:
        """As `PD.for_drive`."""
        if not self.by_default:
            return self
        chosen = preset_by_name(preset).with_switches(**switches)
        share = drive_shares(self.robot, rate, chosen, self.feedback)
        position, rates = np.asarray(self.position_gain), np.asarray(self.rate_gain)
        return replace(self, position_gain=share**2 * position, rate_gain=share * rates)

    def feedback(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Torque per error of angle and rate (P, dof, dof): M(q) times the gains."""
        state = State.from_joints(self.robot, q)
        M = equations_of_motion(self.robot, state, self.model).M
        scaled = np.asarray(self.robot.sensors.torque_ratio)[:, None] * M
        return scaled * np.asarray(self.position_gain), scaled * np.asarray(self.rate_gain)

    def prepare(self, task: Task) -> Law:
        """The law with the model at the measured state."""
        check_axes(self.robot, task)
        own = self.for_drive(task.rate, task.preset)
        torque = model_at_state(self.robot, self.model, task.now.p[0]).inverse
        expected = expected_state(task)
        friction = _rows(reference_friction(self.robot, task, self.model))
        now, seen, ahead = _rows(task.now.q), _rows(task.qd_seen), _rows(task.ahead.qdd)
        stiff, damp = own.position_gain, own.rate_gain

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
