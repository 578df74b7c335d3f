"""What M_s and M_f cost [falezza2022] tables 6-7: operations, and evaluations a second."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from deltadyn.backends import switched_off as kernels_switched_off
from deltadyn.dynamics import inverse_dynamics
from deltadyn.kinematics import State
from deltadyn.motion import y2
from deltadyn.reproduce.audit.operations import TABLE_6, Count
from deltadyn.reproduce.tables import Table
from deltadyn.robot import Robot

M_S, M_F = "M_s", "M_f"
TABLE_7 = {M_S: 32.10, M_F: 4.65}  # kHz, average on one core of 2.5 GHz
SAMPLES, SINGLES = 20_000, 300  # evaluations that are timed: in arrays, one by one


def operations_table(counts: dict[str, Count]) -> Table:
    """Scalar operations of both models, counted by running them on numbers that count."""
    ours = {M_S: "M_s by the paper's route", M_F: "exact, 3-DOF"}
    rows = [
        (
            model,
            TABLE_6[model].total,
            ours[model],
            count.inputs,
            count.written.total,
            count.shared.total,
        )
        for model, count in ((model, counts[name]) for model, name in ours.items())
    ]
    return Table(
        "Table 6: scalar operations of one evaluation",
        ("model", "paper", "ours", "from", "as written", "equal ones shared"),
        tuple(rows),
        "The exact model starts from the platform's motion and includes the inverse kinematics.",
    )


def rates_table(robot: Robot, machine: Robot) -> Table:
    """How often a second both models are computed by this Python, on one core."""
    motion = y2(robot)
    rows = np.arange(SAMPLES) % len(motion)
    p, pd, pdd = (array[rows] for array in (motion.p, motion.pd, motion.pdd))
    turned = robot.with_rotor_inertia(machine.drives.output_inertia)
    out = []
    for model, user, name in ((M_S, robot, "half-half"), (M_F, turned, "exact")):

        def arrays(user: Robot = user, name: str = name) -> int:
            inverse_dynamics(user, State.from_platform(user, p, pd, pdd), name, friction=False)
            return SAMPLES

        def singles(user: Robot = user, name: str = name) -> int:
            for row in range(SINGLES):
                one = State.from_platform(user, p[row], pd[row], pdd[row])
                inverse_dynamics(user, one, name, friction=False)
            return SINGLES

        with kernels_switched_off():  # both models by the same means
            out.append((model, TABLE_7[model], _kilohertz(arrays), _kilohertz(singles)))
    return Table(
        "Table 7: evaluations a second (kHz)",
        ("model", "paper, C++ at 2.5 GHz", "ours, arrays", "ours, one by one"),
        tuple(out),
        "Ours is Python with NumPy on the computer that made this table, from p, pd, pdd, and "
        "changes from run to run. One by one it pays for the calls, not for the arithmetic.",
    )


def _kilohertz(work: Callable[[], int]) -> float:
    """The best of three runs."""
    best = 0.0
    for _ in range(3):
        start = perf_counter()
        count = work()
        best = max(best, count / (perf_counter() - start) / 1e3)
    return best
