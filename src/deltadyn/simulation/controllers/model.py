"""A model's torque at one state, as quick as Python allows: for controllers that ask at every tick.

Models that are the exact one with other parameters become straight-line code on floats, at 5 to
25 us a call; the others ("rigid", "projected-rod") go through NumPy one sample at a time, which
takes 20 to 100 times as long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import Component, FloatArray
from deltadyn.backends.direct import inverse_dynamics_joints
from deltadyn.backends.loader import available
from deltadyn.backends.packed import packed_numbers
from deltadyn.backends.straight_line import SYMBOLS, straight_line
from deltadyn.dynamics import lumped
from deltadyn.dynamics.exact import inverse_dynamics
from deltadyn.dynamics.models import model_by_name
from deltadyn.dynamics.parameters import ExactParameters, exact_parameters
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.simulation.plant.mechanism import pose_of
from deltadyn.simulation.plant.numerics import Floats
from deltadyn.simulation.plant.plant import PlantStoppedError

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
    """Torques (dof,) of a model at one state, without friction, in N m."""

    #: M(q) qdd + C(q, qd) qd + g(q) of (q, qd, qdd)
    inverse: Callable[[Floats, Floats, Floats], Floats]
    #: M(q) a + C(q, qd) v + g(q) of (q, qd, v, a), with Md - 2C skew
    augmented: Callable[[Floats, Floats, Floats, Floats], Floats]


def model_at_state(robot: Robot, model: str) -> ModelAtState:
    """The model of that name, for single states; raises PlantStoppedError where no state is."""
    model_by_name(model)
    if model in SPECIAL_CASES:
        return _compiled(robot, SPECIAL_CASES[model](robot))
    return _sampled(robot, model)


# The kernel gives the inverse where the extension is in use (3-DOF: 4 us, straight line 10 us). The
# straight line stays beside it for two reasons. Without the extension NumPy's arrays of one state
# take 90 times as long. And `augmented` needs the C of Christoffel's symbols: on the 4-DOF robot
# the kernels give another C with Md - 2C skew, whose torque differs by 1e-5 N m.


def _compiled(robot: Robot, par: ExactParameters) -> ModelAtState:
    n = robot.dof

    def inverse(x: Sequence[Any]) -> list[Component]:
        q, qd, qdd = (tuple(x[k * n : (k + 1) * n]) for k in range(3))
        return _torque(par, q, qd, qdd)

    def augmented(x: Sequence[Any]) -> list[Component]:
        q, qd, v, a = (tuple(x[k * n : (k + 1) * n]) for k in range(4))
        return _polarised(par, q, qd, v, a)

    plain, bilinear = straight_line(3 * n, inverse), straight_line(4 * n, augmented)
    numbers = packed_numbers(robot, par)
    whole = (n == 4) == (par.spindle is not None)  # a kernel of 4 axes has a spindle

    def inverse_at(q: Floats, qd: Floats, qdd: Floats) -> Floats:
        if whole and available():
            state = np.array(q), np.array(qd), np.array(qdd)
            tau = inverse_dynamics_joints(numbers, *state, friction=False).tolist()
            if not math.isfinite(sum(tau)):
                raise PlantStoppedError(NO_STATE)
            return tuple(tau)
        try:
            return plain(*q, *qd, *qdd)
        except (ValueError, ArithmeticError):
            raise PlantStoppedError(NO_STATE) from None

    def augmented_at(q: Floats, qd: Floats, v: Floats, a: Floats) -> Floats:
        try:
            return bilinear(*q, *qd, *v, *a)
        except (ValueError, ArithmeticError):
            raise PlantStoppedError(NO_STATE) from None

    return ModelAtState(inverse_at, augmented_at)


def _torque(par: ExactParameters, q: Vector, qd: Vector, qdd: Vector) -> list[Component]:
    """The exact model from joint coordinates: pdd is that at qdd = 0, and J qdd."""
    pose = pose_of(SYMBOLS, par.limbs, q, qd)
    pdd = tuple(
        sum((column[k] * a for column, a in zip(pose.J, qdd, strict=True)), start)
        for k, start in enumerate(pose.pdd)
    )
    return inverse_dynamics(SYMBOLS, par, pose.c, pose.s, qd, qdd, pose.p, pose.pd, pdd)


def _polarised(
    par: ExactParameters, q: Vector, qd: Vector, v: Vector, a: Vector
) -> list[Component]:
    """M a + C(q, qd) v + g with the C of Christoffel's symbols, which is bilinear and symmetric.

    So C(q, qd) v = c((qd + v) / 2) - c((qd - v) / 2) with c(qd) = C(q, qd) qd: the model's own
    velocity torque, and no matrix, is needed.
    """
    middle = tuple((x + y) * 0.5 for x, y in zip(qd, v, strict=True))
    apart = tuple((x - y) * 0.5 for x, y in zip(qd, v, strict=True))
    weightless = replace(par, gravity=0.0)
    still = (0.0,) * len(q)
    whole = _torque(par, q, middle, a)
    less = _torque(weightless, q, apart, still)
    return [x - y for x, y in zip(whole, less, strict=True)]


def _sampled(robot: Robot, model: str) -> ModelAtState:
    chosen = model_by_name(model)

    def torque(q: Floats, qd: Floats, v: Floats, a: Floats) -> Floats:
        state = State.from_joints(robot, np.array([q]), np.array([qd]), unreachable="nan")
        terms = chosen.terms(robot, state)
        tau: FloatArray = terms.M[0] @ a + terms.C[0] @ v + terms.g[0]
        if not np.isfinite(tau).all():
            raise PlantStoppedError(NO_STATE)
        return tuple(tau.tolist())

    return ModelAtState(lambda q, qd, qdd: torque(q, qd, qd, qdd), torque)
