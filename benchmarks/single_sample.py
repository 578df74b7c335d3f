"""The public functions on one sample, as a controller calls them: microseconds per call.

Run: python -m benchmarks.single_sample [--repeats 7]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import deltadyn as dd
from deltadyn.dynamics.base import exciting_states
from deltadyn.robot import Robot

ROBOT = "sipro-d3-1200"
CALLS = 2000  # in a repeat
#: Microseconds that each is to stay below on a quiet machine.
TARGETS = {
    "state and torque": 6.0,
    "forward_dynamics": 5.0,
    "inverse_kinematics": 3.0,
    "forward_kinematics": 3.0,
    "regressor": 10.0,
}


class Row(NamedTuple):
    """A public name, its time and the target where there is one, in microseconds."""

    name: str
    microseconds: float
    target: float | None


def calls(robot: Robot) -> dict[str, Callable[[], object]]:
    """The calls of one sample by name."""
    state = exciting_states(robot, 1)
    p, pd, pdd = (np.array(x[0]) for x in (state.p, state.pd, state.pdd))
    q, qd, qdd = (np.array(x[0]) for x in (state.q, state.qd, state.qdd))
    one = dd.State.from_platform(robot, p, pd, pdd)
    tau = dd.inverse_dynamics(robot, one)
    return {
        "State.from_platform": lambda: dd.State.from_platform(robot, p, pd, pdd),
        "State.from_joints": lambda: dd.State.from_joints(robot, q, qd, qdd),
        "inverse_dynamics": lambda: dd.inverse_dynamics(robot, one),
        "state and torque": lambda: dd.inverse_dynamics(
            robot, dd.State.from_platform(robot, p, pd, pdd)
        ),
        "inverse_kinematics": lambda: dd.inverse_kinematics(robot, p),
        "forward_kinematics": lambda: dd.forward_kinematics(robot, q),
        "forward_dynamics": lambda: dd.forward_dynamics(robot, q, qd, tau),
        "equations_of_motion": lambda: dd.equations_of_motion(robot, one),
        "regressor": lambda: dd.regressor(robot, one),
    }


def measured(function: Callable[[], object], repeats: int) -> float:
    """Microseconds of a call, the shortest of some repeats, in time of this process."""
    shortest = float("inf")
    for _ in range(repeats + 1):  # the first warms up
        began = time.process_time()
        for _ in range(CALLS):
            function()
        shortest = min(shortest, (time.process_time() - began) / CALLS)
    return 1e6 * shortest


def rows(robot: Robot, repeats: int = 7) -> list[Row]:
    """A row per public name."""
    return [
        Row(name, measured(function, repeats), TARGETS.get(name))
        for name, function in calls(robot).items()
    ]


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--robot", default=ROBOT)
    parser.add_argument("--repeats", type=int, default=7)
    chosen = parser.parse_args()
    print("| one sample | us | target |\n|---|---|---|")
    for row in rows(dd.load_robot(chosen.robot), chosen.repeats):
        target = "" if row.target is None else f"{row.target:g}"
        print(f"| {row.name} | {row.microseconds:.2f} | {target} |")


if __name__ == "__main__":
    main()
