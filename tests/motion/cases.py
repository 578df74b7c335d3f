"""What the tests of the generators share: robots, generators by name, finite differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from deltadyn import motion as m
from deltadyn.arrays import FloatArray
from deltadyn.motion import Motion, PlannedMotion
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot

THREE = load_robot("sipro-d3-1200")
FOUR = load_robot("example-delta-4")
ROBOTS = {3: THREE, 4: FOUR}

#: Inside both workspaces, which overlap from -0.7 to -0.68 m; psi for the 4-DOF robot.
START = np.array([-0.15, 0.05, -0.697, 0.3])
END = np.array([0.18, -0.06, -0.695, -0.9])
POINTS = np.array(
    [
        [-0.15, 0.05, -0.697, 0.3],
        [0.05, 0.12, -0.69, 0.8],
        [0.16, -0.04, -0.685, -0.4],
        [-0.02, -0.14, -0.695, 0.1],
        [-0.15, 0.05, -0.697, 0.3],
    ]
)


class Generator(NamedTuple):
    """A generator with its points filled in, called with the common keywords."""

    make: Callable[..., PlannedMotion]
    lasting: float  # s, a comfortable duration


def generators(dof: int) -> dict[str, Generator]:
    """Every generator of a robot with so many degrees of freedom, on the robot of `ROBOTS`."""
    robot = ROBOTS[dof]
    a, b, points = START[:dof], END[:dof], POINTS[:, :dof]

    def adept(**keywords: Any) -> PlannedMotion:
        duration = keywords.pop("duration", None)
        cycles = None if duration is None else 60 / duration
        return m.adept_cycle(robot, cycles_per_minute=cycles, **keywords)

    table = {
        "gate_move": Generator(lambda **k: m.gate_move(robot, a, b, lift=0.012, **k), 0.4),
        "pick_and_place": Generator(lambda **k: m.pick_and_place(robot, a, b, lift=0.01, **k), 0.5),
        "there and back": Generator(
            lambda **k: m.pick_and_place(
                robot, a, b, lift=0.01, profile="modified-sine", back=True, dwell=(0.02, 0.05), **k
            ),
            1.0,
        ),
        "quintic spline": Generator(lambda **k: m.spline_move(robot, points, **k), 1.0),
        "cubic spline": Generator(lambda **k: m.spline_move(robot, points, kind="cubic", **k), 1.0),
        "adept_cycle": Generator(adept, 0.6),
        "y1": Generator(lambda **k: m.y1(robot, picks=1, **k), 2.5),
        "y2": Generator(lambda **k: m.y2(robot, **k), 2.5),
        "y3": Generator(lambda **k: m.y3(robot, dwell=0.1, **k), 2.0),
        "telescopic_gate": Generator(lambda **k: m.telescopic_gate(robot, **k), 0.6),
    }
    if dof == 4:
        table["spindle_turn"] = Generator(
            lambda **k: m.spindle_turn(robot, a, [1.5, -0.4], dwell=0.03, **k), 0.6
        )
    return table


GENERATORS = [(dof, name) for dof in (3, 4) for name in generators(dof)]


def limited(robot: Robot, **changes: Any) -> Robot:
    """The robot with other limits."""
    return robot.replace(limits=replace(robot.limits, **changes))


def largest_steps(motion: Motion, name: str) -> FloatArray:
    """Largest difference between samples of a field, per column."""
    out: FloatArray = np.max(np.abs(np.diff(getattr(motion, name), axis=0)), axis=0)
    return out


def assert_derivatives(motion: Motion) -> None:
    """pd, pdd and qd, qdd are the derivatives of p and q, by central differences.

    With the jerk bounded by J (from the samples) Taylor bounds the errors by J h^2 / 6 and J h / 2;
    a quarter more is for a J that jumps between two samples.
    """
    h = motion.t[1] - motion.t[0]
    for name in ("p", "q"):
        x, xd, xdd = (getattr(motion, name + suffix) for suffix in ("", "d", "dd"))
        jerk = 1.25 * largest_steps(motion, name + "dd") / h
        rounding = 1e-15 * np.max(np.abs(x), axis=0) / h
        speed = np.abs((x[2:] - x[:-2]) / (2 * h) - xd[1:-1])
        assert np.all(speed <= jerk * h**2 / 6 + 8 * rounding), name
        bend = np.abs((xd[2:] - xd[:-2]) / (2 * h) - xdd[1:-1])
        peak = np.max(np.abs(xdd), axis=0)
        assert np.all(bend <= jerk * h / 2 + 1e-9 * peak + 1e-9), name
        # where the jerk does not jump the error is of second order
        assert np.all(np.median(bend, axis=0) <= 5e-4 * peak + 1e-9), name
