"""What is validated: a robot with one of the dynamic models, or a fit with its own torque."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.dynamics.models import model_by_name
from deltadyn.errors import InputError
from deltadyn.identification.data import AT_REST
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.validation.held_out import trained_on


@runtime_checkable
class FitLike(Protocol):
    """What a fit must have: the robot that it found, and the torque of a state."""

    @property
    def robot(self) -> Robot:
        """The robot that was identified."""

    def torque(self, state: State) -> FloatArray:
        """Torque (N, dof) in N m with the robot's own payload."""


Model = Robot | FitLike
Torque = Callable[[State, float | None, float], FloatArray]


@dataclass(frozen=True, eq=False)
class Predictor:
    """A model by name, with its torque (N, dof) of a state.

    The torque also takes the payload (kg, None: the robot's own) and the standard deviation of the
    rates (rad/s, 0 where they are not estimated).
    """

    name: str
    robot: Robot
    torque: Torque
    trained_on: frozenset[str]


def predictor(model: Model, dynamics: str | None = None, name: str | None = None) -> Predictor:
    """The predictor of a robot or a fit; `dynamics` chooses the model of a robot, "exact" first."""
    if isinstance(model, Robot):
        chosen = "exact" if dynamics is None else dynamics
        model_by_name(chosen)
        label = f"{model.name}, {chosen}" if name is None else name
        return Predictor(label, model, _robot_torque(model, chosen), frozenset())
    given: object = model  # what a caller without types may hand in
    if not isinstance(given, FitLike) or not isinstance(given.robot, Robot):
        allowed = "a Robot, or a fit with .robot and .torque(state)"
        raise InputError("model", type(model).__name__, allowed)
    if dynamics is not None:
        raise InputError("dynamics", dynamics, "None for a fit: it has its own model")
    label = f"{model.robot.name}, {_method(model)}" if name is None else name
    return Predictor(label, model.robot, _fit_torque(model), trained_on(model))


def carrying(robot: Robot, payload: float | None) -> Robot:
    """The robot with this payload (kg) where its own is; None leaves it as it is."""
    if payload is None or payload == robot.payload.mass:
        return robot
    return robot.with_payload(payload, robot.payload.offset, robot.payload.inertia_zz)


def _robot_torque(robot: Robot, dynamics: str) -> Torque:
    """The robot's torque; the direction of friction fades where noise hides that of the rate."""

    def torque(state: State, payload: float | None, noise: float) -> FloatArray:
        loaded = carrying(robot, payload)
        if noise > 0 and robot.friction.smoothing is None:
            loaded = loaded.with_friction(smoothing=AT_REST * noise)
        return inverse_dynamics(loaded, state, dynamics)

    return torque


def _fit_torque(fit: FitLike) -> Torque:
    """The torque that the drives would report, by the fit.

    The payload of the recording changes it as it changes that of the fit's robot. Where the fit
    found the drives' gains (true torque per reported torque), they divide it.
    """
    gains = getattr(getattr(fit, "gains", None), "values", None)

    def torque(state: State, payload: float | None, noise: float) -> FloatArray:
        own, loaded = fit.robot, carrying(fit.robot, payload)
        tau = fit.torque(state)
        if loaded is not own:
            tau = tau + inverse_dynamics(loaded, state) - inverse_dynamics(own, state)
        return tau if gains is None else tau / np.asarray(gains)

    return torque


def _method(fit: FitLike) -> str:
    method = getattr(fit, "method", None)
    return f"fit {method!r}" if isinstance(method, str) else "fit"
