"""The models by name: each gives torque, terms and columns without friction."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import Component, FloatArray, contract, map_chunks
from deltadyn.backends import kernels
from deltadyn.dynamics import exact, lumped
from deltadyn.dynamics.columns import exact_columns
from deltadyn.dynamics.friction import Columns
from deltadyn.dynamics.lumped import joint_rod_terms
from deltadyn.dynamics.parameters import ExactParameters, exact_parameters
from deltadyn.dynamics.rigid import rigid_columns, rigid_terms
from deltadyn.dynamics.terms import Terms, exact_terms, platform_map, pushed
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.robot.settings import GrayBox


class Model(NamedTuple):
    """A model's three answers; `external` is (N, dof), force and moment on the platform."""

    torque: Callable[[Robot, State, FloatArray], FloatArray]
    terms: Callable[[Robot, State], Terms]
    columns: Callable[[Robot, State, bool], Columns]
    source: str


def model_by_name(name: str) -> Model:
    """The model of that name."""
    try:
        return MODELS[name]
    except (KeyError, TypeError):
        raise UnknownNameError("model", name, MODELS) from None


def models_for(robot: Robot) -> dict[str, Model]:
    """The models that apply to a robot: those of one paper know three standard arms alone."""
    try:
        robot.needs_standard_arms()
    except InputError:
        return {name: MODELS[name] for name in OF_EVERY_KIND}
    return MODELS


def model_of(robot: Robot) -> str:
    """The name of the model that a robot's numbers belong to: gray-box where it has rho1, rho2."""
    return "exact" if robot.gray_box == GrayBox() else "gray-box"


def _exact_torque(robot: Robot, state: State, external: FloatArray) -> FloatArray:
    compiled = kernels.compiled_torque(robot, state, external, friction=False)
    if compiled is not None:
        return compiled
    par = exact_parameters(robot)
    inputs = [state.cos_q, state.sin_q, state.qd, state.qdd, state.p, state.pd, state.pdd]
    if external.any():
        inputs.append(external)

    def core(*components: tuple[Component, ...]) -> list[Component]:
        return exact.inverse_dynamics(np, par, *components)

    return map_chunks(core, inputs, robot.dof)


def _exact_terms(robot: Robot, state: State) -> Terms:
    return exact_terms(robot, exact_parameters(robot), state)


def _rigid_torque(robot: Robot, state: State, external: FloatArray) -> FloatArray:
    terms = rigid_terms(robot, state)
    tau = contract("nij,nj->ni", terms.M, state.qdd) + terms.g
    tau += contract("nij,nj->ni", terms.C, state.qd)
    return tau - pushed(robot, state, external)


def _special_case(parameters: Callable[[Robot], ExactParameters]) -> Callable[..., Terms]:
    """The terms of a model that is the exact one with other parameters."""

    def terms(robot: Robot, state: State) -> Terms:
        return exact_terms(robot, parameters(robot), state)

    return terms


def _projected_rod_terms(robot: Robot, state: State) -> Terms:
    legs = exact_terms(robot, lumped.projected_rod_parameters(robot), state)
    if robot.spindle is None:
        return legs
    _, platform = platform_map(robot, state)
    rods = joint_rod_terms(robot, state, platform)
    return Terms(legs.M + rods.M, legs.C + rods.C, legs.g + rods.g)


OF_EVERY_KIND = ("exact", "rigid")
MODELS: dict[str, Model] = {
    "exact": Model(
        _exact_torque,
        _exact_terms,
        exact_columns,
        "falezza2022's intent, done exactly; telescopic2022 and gnad2024 for the spindle",
    ),
    "rigid": Model(_rigid_torque, rigid_terms, rigid_columns, "gnad2024"),
    "half-half": Model(
        lumped.half_half_torque,
        _special_case(lumped.half_half_parameters),
        partial(lumped.lumped_columns, uniform_arm=True),
        "falezza2022 M_s, falezza2020 M_KH",
    ),
    "gray-box": Model(
        lumped.gray_box_torque,
        _special_case(lumped.gray_box_parameters),
        lumped.gray_box_columns,
        "falezza2020 M_Id",
    ),
    "virtual-work": Model(
        lumped.virtual_work_torque,
        _special_case(lumped.virtual_work_parameters),
        lumped.virtual_work_columns,
        "kim2022 eqs. 22-29",
    ),
    "euler-lagrange": Model(
        lumped.euler_lagrange_torque,
        _special_case(partial(lumped.half_half_parameters, uniform_arm=False)),
        partial(lumped.lumped_columns, uniform_arm=False),
        "kim2022 eqs. 1-2",
    ),
    "projected-rod": Model(
        lumped.projected_rod_torque,
        _projected_rod_terms,
        lumped.projected_rod_columns,
        "telescopic2022 eqs. 25-40",
    ),
}
