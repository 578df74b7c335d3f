"""Robots, settings and problems that the tests of the excitation share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import deltadyn as dd
from deltadyn.excitation.problem import Problem
from deltadyn.excitation.request import Design, Prepared, Request, prepared
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Effector
from deltadyn.robot.settings import PassiveFriction

D3 = dd.load_robot("sipro-d3-1200")
ABB = dd.load_robot("abb-irb360-6-1600")


def with_limits(robot: Robot, **changes: Any) -> Robot:
    """The robot with other limits."""
    return robot.replace(limits=replace(robot.limits, **changes))


def with_all_friction(robot: Robot, smoothing: float | None) -> Robot:
    """The robot with every friction term there is, and an effector off its axis."""
    joints = ["elbow_swing", "elbow_sway", "platform_swing", "platform_sway"]
    if robot.spindle is not None:
        joints += ["prismatic", "universal_fork", "universal_cross"]
        robot = robot.replace(effector=Effector(0.4, (0.03, 0.02, 0.1), 0.01))
    joints = [] if robot.linear else joints  # modelled beside arms alone
    return robot.with_friction(
        viscous=0.5,
        coulomb=1.0,
        coulomb_negative=0.7,
        stribeck=0.3,
        stribeck_velocity=2.0,
        offset=0.1,
        load=0.05,
        smoothing=smoothing,
        passive=tuple(PassiveFriction(joint, 0.2, 0.1) for joint in joints),
    )


def request(
    robot: Robot, duration: float = 4.0, harmonics: int = 3, periods: int = 3, **changes: Any
) -> Request:
    """A small design, as `design_excitation` hands it on."""
    return Request(robot, duration, harmonics, Design(periods=periods, **changes))


def problem(
    robot: Robot, samples: int = 60, sharpness: float = 50.0, **changes: Any
) -> tuple[Problem, Prepared]:
    """The search problem of a small design."""
    asked = request(robot, **changes)
    ready = prepared(asked)
    assert asked.design.periods is not None
    return Problem(ready.setting, asked.design.periods, samples, sharpness), ready
