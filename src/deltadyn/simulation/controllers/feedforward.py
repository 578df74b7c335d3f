"""Controllers: what a drive computes from reference and measurement, once per tick.

A controller is a value with settings. Before a run it is given the whole task, so that what does
not depend on measurements (feedforward) is computed at once; it answers with a law that is called
at every tick. Here are PD and PD with feedforward; `control_state` has those that ask a model at
the measured state, `control_adaptive` the one that learns its payload.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.dynamics.models import model_by_name
from deltadyn.errors import InputError
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot
from deltadyn.simulation.controllers.gains import (
    SampledLoop,
    believed_machine,
    calm_share,
    groups,
    workspace_poses,
)
from deltadyn.simulation.drive.reference import Task, resampled
from deltadyn.simulation.plant.machine import DIRECT_DRIVE, axis_inertia
from deltadyn.simulation.plant.numerics import Floats
from deltadyn.simulation.presets import Preset, preset_by_name, setting, settings

#: Torque command (dof,) in N m of tick k, measured angles (rad) and their estimated rates (rad/s).
Law = Callable[[int, Floats, Floats], Floats]


@runtime_checkable
class TorqueLaw(Protocol):
    """A law that is also told the measured torque, before it is asked at the same tick."""

    def __call__(self, k: int, q: Floats, qd: Floats) -> Floats:
        """As any law."""

    def measured(self, tau: Floats) -> None:
        """The torque (dof,) in force while the angles were read, by the current sensor, in N m."""


BANDWIDTH = 20.0  # Hz
ROTOR_RATE = 300.0  # 1/s: most that damping over rotor inertia may be, for delays of 1 ms


class Controller(Protocol):
    """What `simulate` asks of a controller."""

    def prepare(self, task: Task) -> Law:
        """The law of this task."""


@dataclass(frozen=True)
class PD:
    """tau = stiffness (q_ref - q) + damping (qd_ref - qd), each axis on its own.

    The gains, where not given, are those of a spring-mass-damper of `bandwidth` hertz with a
    damping ratio of 1, on the robot's own inertia at the middle of its workspace with its rotors.
    The bandwidth, where not given, is 20 Hz, or less where a gear's rotor is light: it must stay
    calm on its own when the gear gives way. Where nothing is given, a run lowers it further to what
    its drive bears, as `for_drive` does.
    """

    robot: Robot
    bandwidth: float | None = field(default=None, kw_only=True)  # Hz
    stiffness: Any = field(default=None, kw_only=True)  # N m/rad, one number or (dof,)
    damping: Any = field(default=None, kw_only=True)  # N m s/rad, one number or (dof,)
    by_default: bool = field(init=False, repr=False, compare=False, default=True)

    def __post_init__(self) -> None:
        if not isinstance(self.robot, Robot):
            raise InputError("robot", type(self.robot).__name__, "a Robot")
        given = (self.bandwidth, self.stiffness, self.damping)
        object.__setattr__(self, "by_default", all(value is None for value in given))
        inertia, damping = default_damping(self.robot, self.bandwidth)
        for name, default in (("stiffness", damping**2 / (4 * inertia)), ("damping", damping)):
            given = getattr(self, name)
            gain = settings(name, default if given is None else given, self.robot.dof, low=0.0)
            object.__setattr__(self, name, gain)

    def for_drive(self, rate: float, preset: str | Preset = "ideal", **switches: Any) -> Self:
        """The same with the gains of a drive of this rate (Hz), as `simulate` takes its settings.

        Gains that were given stay. Default gains are lowered until the loop has a gain margin of
        1.4 over the workspace, with the preset's rotors and gears where the robot names none.
        """
        if not self.by_default:
            return self
        chosen = preset_by_name(preset).with_switches(**switches)
        share = drive_shares(self.robot, rate, chosen, self.feedback)
        stiffness, damping = np.asarray(self.stiffness), np.asarray(self.damping)
        return replace(self, stiffness=share**2 * stiffness, damping=share * damping)

    def feedback(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Torque per error of angle and rate (dof, dof), in N m/rad and N m s/rad."""
        return np.diag(self.stiffness), np.diag(self.damping)

    def prepare(self, task: Task) -> Law:
        """The law without feedforward."""
        check_axes(self.robot, task)
        return pd_law(self, task, np.zeros_like(task.now.q))


@dataclass(frozen=True)
class PDFeedforward(PD):
    """PD and the torque that a model of the robot asks for the reference [telescopic2022].

    The torque is that of `lead` seconds after the instant at which it would act on a bus without
    delay: give the bus's delay, and it is in time.
    """

    model: str = "exact"
    lead: float = field(default=0.0, kw_only=True)  # s

    def __post_init__(self) -> None:
        super().__post_init__()
        model_by_name(self.model)
        setting("lead", self.lead, low=0.0, unit="s")

    def prepare(self, task: Task) -> Law:
        """The law with the torque of the instant at which it acts."""
        check_axes(self.robot, task)
        ahead = led(self.robot, task, self.lead)
        return pd_law(self, task, inverse_dynamics(self.robot, ahead, self.model))


def default_damping(robot: Robot, bandwidth: float | None) -> tuple[FloatArray, FloatArray]:
    """Inertia (kg m^2) and critical damping (N m s/rad) of the axes, each (dof,)."""
    rotor, moved = np.asarray(robot.drives.output_inertia), axis_inertia(robot)
    inertia = moved + rotor
    if bandwidth is not None:
        hertz = setting("bandwidth", bandwidth, low=0.0, strict=True, unit="Hz")
        return inertia, 4 * np.pi * hertz * inertia
    damping = 4 * np.pi * BANDWIDTH * inertia
    arms = slice(0, robot.legs)
    geared = rotor[arms] >= DIRECT_DRIVE * moved[arms]
    softer = np.minimum(damping[arms], ROTOR_RATE * rotor[arms])
    damping[arms] = np.where(geared, softer, damping[arms])
    return inertia, damping


def drive_shares(
    robot: Robot, rate: float, preset: Preset, feedback: Callable[[FloatArray], Any]
) -> FloatArray:
    """Shares (dof,) of the default gains that a drive bears: 1, or less at a slow or late one."""
    machine, q, shares = believed_machine(robot, preset), workspace_poses(robot), np.ones(robot.dof)
    stiffness, damping = feedback(q)
    for axes in groups(robot):
        loop = SampledLoop.of(machine, q, rate, axes)
        own = (..., axes, axes)
        shares[axes] = calm_share(loop, stiffness[own], damping[own])
    return shares


def check_axes(robot: Robot, task: Task) -> None:
    """Refuse a task with other axes than the controller's robot has."""
    axes = task.now.q.shape[1]
    if robot.dof != axes:
        raise InputError("axes of the controller's robot", robot.dof, f"{axes}, as the motion has")


def led(robot: Robot, task: Task, lead: float) -> Motion:
    """The reference `lead` seconds after the instants at which torque acts; its end is held."""
    return resampled(robot, task.now, task.ahead.t + lead) if lead else task.ahead


@dataclass(frozen=True, eq=False)
class PDLaw:
    """tau = forward + stiffness (reference - q) + damping (rates - qd), tables (N, dof) by tick.

    A law of which nothing but numbers is to be known, so compiled code can run it.
    """

    forward: FloatArray  # N m
    reference: FloatArray  # rad
    rates: FloatArray  # rad/s
    stiffness: Floats
    damping: Floats

    @cached_property
    def _rows(self) -> tuple[list[list[float]], list[list[float]], list[list[float]]]:
        return self.forward.tolist(), self.reference.tolist(), self.rates.tolist()

    def __call__(self, k: int, q: Floats, qd: Floats) -> Floats:
        """The torque of tick k, in N m."""
        forward, reference, rates = self._rows
        axes = zip(
            forward[k], self.stiffness, reference[k], q, self.damping, rates[k], qd, strict=True
        )
        return tuple([f + (kp * (a - b) + kd * (c - d)) for f, kp, a, b, kd, c, d in axes])


def pd_law(gains: PD, task: Task, forward: FloatArray) -> PDLaw:
    """The law of a PD with the torque `forward` (N, dof) of every tick, in N m."""
    own = gains.for_drive(task.rate, task.preset)
    return PDLaw(forward, task.now.q, task.qd_seen, own.stiffness, own.damping)


def feedback_of(gains: PD, task: Task) -> PDLaw:
    """stiffness (q_ref - q) + damping (qd_ref - qd), both of now, in N m."""
    return pd_law(gains, task, np.zeros_like(task.now.q))
