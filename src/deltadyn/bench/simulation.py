"""The rows of the simulators; simulation_speed.py measures them."""

from __future__ import annotations

from deltadyn.backends import available, status
from deltadyn.bench import simulation_speed as speed
from deltadyn.bench.cases import ROBOTS
from deltadyn.bench.compiler import PeerMissingError
from deltadyn.bench.rows import Row, Target, not_measured
from deltadyn.bench.simulation_speed import Comparison, Speed
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot
from deltadyn.robot.settings import Friction

LOOP_TARGET = Target("at least", speed.LOOP_TARGET, "ratio")
ERROR_TARGET = Target("below", speed.ERROR_TARGET, "error")
BATCH_TARGET = Target("at least", speed.BATCH_TARGET, "rate")
LOOP = "deltadyn, loop of plant, PD and feedforward"
BATCH = "deltadyn, batch, Runge-Kutta steps"
QUICK, FULL = 10, 40  # repeats


def simulation_rows(full: bool) -> list[Row]:
    """The loop of one robot beside MuJoCo's stepping, and a batch, both on one core."""
    rows: list[Row] = []
    for name in ROBOTS.values():
        robot = load_robot(name)
        rows += robot_rows(robot, FULL if full else QUICK)
    return rows


def robot_rows(robot: Robot, repeats: int) -> list[Row]:
    """The rows of one robot."""
    group = f"simulation of {robot.name}, steps"
    if not available():
        reason = f"the kernels are {status()}"
        loop = not_measured(group, [LOOP], reason, ERROR_TARGET)
        return [*loop, *not_measured(group, [BATCH], reason, BATCH_TARGET)]
    batch = speed.batch_speed(robot, repeats=max(3, repeats // 2))
    rows = [Row(group, BATCH, 1 / batch.per_second, target=BATCH_TARGET)]
    try:
        found, peers = speed.compare(robot, repeats)
    except PeerMissingError as error:
        return [*without_peer(group, robot, error.reason, repeats), *rows]
    return [*loop_rows(group, found, peers), *rows]


def loop_rows(group: str, found: Comparison, peers: list[Speed]) -> list[Row]:
    """Ours with the target of its error, and MuJoCo's settings: the target is on the quickest."""
    ours = Row(
        group,
        LOOP,
        1 / found.ours.per_second,
        1.0,
        ERROR_TARGET,
        error=found.ours.error,
        error_ratio=found.error_ratio,
    )
    rows = [ours]
    for peer in peers:
        target = LOOP_TARGET if peer == found.mujoco else None
        ratio = found.ours.per_second / peer.per_second
        rows.append(Row(group, peer.what, 1 / peer.per_second, ratio, target, error=peer.error))
    return rows


def without_peer(group: str, robot: Robot, reason: str, repeats: int) -> list[Row]:
    """Ours alone, where MuJoCo's program cannot be had; without friction, as beside it."""
    bare = robot.replace(friction=Friction().checked(robot.dof))
    ours = speed.loop_speed(bare, repeats=repeats)
    missing = not_measured(group, ["MuJoCo in C, its own stepping"], reason, LOOP_TARGET)
    return [Row(group, LOOP, 1 / ours.per_second, 1.0, error=ours.error), *missing]
