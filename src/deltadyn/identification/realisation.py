"""The robot of a fit: bodies that have the fitted parameters, or come nearest to them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.identification.consistency import Consistency, consistency
from deltadyn.identification.convex import solve_convex
from deltadyn.identification.methods import bodies_of
from deltadyn.identification.nearest import nearest_consistent
from deltadyn.identification.parametrisation import LIMB_NAMES
from deltadyn.identification.problem import Problem, Solution
from deltadyn.identification.realise import robot_from_standard
from deltadyn.robot import Robot
from deltadyn.robot_settings import GrayBox

NEAR = 1e-6  # of the torque: a robot whose torque differs less has the fitted parameters


@dataclass(frozen=True, eq=False)
class Realisation:
    """A robot for a fit, whether it has its very parameters, and a sentence where it has not."""

    robot: Robot
    consistent: bool
    consistency: Consistency
    sentence: str
    standard: dict[str, float] | None


def realised(problem: Problem, solution: Solution) -> Realisation:
    """The robot of a solution; where no robot can have its parameters, the nearest that can."""
    if solution.standard is not None:
        try:
            robot = robot_from_standard(problem.robot, solution.standard)
        except InputError as error:  # consistent, and yet no part of a Delta robot
            return _instead(problem, solution.x, error)
        return Realisation(robot, True, consistency(robot), "", solution.standard)
    if problem.par.model == "gray-box":
        return _gray_box(problem, solution.x)
    return _nearest(problem, solution.x)


def _instead(problem: Problem, x: FloatArray, error: InputError) -> Realisation:
    """The nearest robot where the bodies of a method cannot be parts of one."""
    found = _nearest(problem, x)
    sentence = (
        f"The bodies found cannot be parts of a robot file ({error.quantity} is "
        f"{error.value}); the robot has others with the same torque. {found.sentence}"
    )
    return replace(found, sentence=sentence.rstrip())


def _nearest(problem: Problem, x: FloatArray) -> Realisation:
    return _rigid(problem, x) if problem.par.source == "rigid" else _exact(problem, x)


def _exact(problem: Problem, x: FloatArray) -> Realisation:
    """From the exact model's base parameters, tied or per arm."""
    par, robot = problem.par, problem.robot
    wide = dict(zip(par.wide_names, par.wide(x), strict=True))
    tied = robot.equal_limbs and all(
        len({wide[f"{family}{i}"] for i in (1, 2, 3)}) == 1 for family in LIMB_NAMES
    )
    values: dict[str, float] = {}
    for name, value in wide.items():
        family = name[:-1] if name[-1] in "123" and name[:-1] in LIMB_NAMES else ""
        if family == "G_s" and not any(wide[f"G_s{i}"] for i in (1, 2, 3)):
            continue
        values[family if family and tied else name] = float(value)
    found = nearest_consistent(robot, tuple(values), np.array(list(values.values())), tied)
    new = robot_from_standard(robot, found.standard)
    if found.exact:
        return Realisation(new, True, consistency(new), "", found.standard)
    report = consistency(values, robot=robot)
    return Realisation(new, False, report, found.sentence, found.standard)


def _rigid(problem: Problem, x: FloatArray) -> Realisation:
    """From base parameters of the rigid model: the nearest bodies in torque on the data."""
    bodies, K = bodies_of(problem)
    factor = problem.factor_with_held()
    level = float(np.linalg.norm(problem.factor()[:, -1]))
    wanted = np.concatenate([x, list(problem.held.values())])
    target = factor.copy()
    target[:-1, -1], target[-1, -1] = factor[:-1, :-1] @ wanted, 0.0
    found = solve_convex(target, K, bodies)
    apart = float(np.linalg.norm(factor[:-1, :-1] @ (found.x - wanted))) / level
    new = robot_from_standard(problem.robot, found.standard)
    sentence = ""
    if apart > NEAR:
        reasons = "; ".join(item.text for item in found.active[:3])
        sentence = (
            "No consistent bodies have these base parameters; the robot is the nearest in torque, "
            f"{100 * apart:.2g} % of it away on the data ({reasons})."
        )
    return Realisation(new, apart <= NEAR, consistency(new), sentence, found.standard)


def _gray_box(problem: Problem, x: FloatArray) -> Realisation:
    """Factors of the gray-box model, and friction as far as a robot can have it."""
    par, robot = problem.par, problem.robot
    values = dict(zip(par.names, (float(v) for v in x), strict=True))
    new = robot.replace(gray_box=GrayBox(values["rho1"], values["rho2"]))
    negative = []
    friction: dict[str, tuple[float, ...]] = {}
    for family, field in (("Fv", "viscous"), ("Fc", "coulomb")):
        fitted = [values.get(f"{family}{axis + 1}", 0.0) for axis in range(robot.dof)]
        negative += [f"{family}{axis + 1}" for axis, value in enumerate(fitted) if value < 0]
        friction[field] = tuple(max(value, 0.0) for value in fitted)
    new = new.with_friction(**friction)
    wide = {name: float(v) for name, v in zip(par.wide_names, par.wide(x), strict=True)}
    sentence = ""
    if negative:
        sentence = f"{', '.join(negative)} came out negative; the robot has 0 there."
    return Realisation(new, not negative, consistency(wide, robot=robot), sentence, None)
