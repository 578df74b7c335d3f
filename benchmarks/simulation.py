"""Speed of the virtual test bench and of rollouts, beside MuJoCo's own stepping of the same robot.

Run: OMP_NUM_THREADS=1 python -m benchmarks.simulation [--repeats N] [--json]

The robot follows Adept cycles at 2 kHz under PD and feedforward. Ours is the bench's whole loop:
encoders, law, Runge-Kutta of order 4, energy books and the table of samples. MuJoCo does nothing
but the law and its step of the closed mechanism, as one compiled program where gcc and its wheel's
headers are there, else from Python. The acceleration error is the root mean square of a simulator's
acceleration less that of the exact model at the same state and torque, as a share of the latter.
All rows are of one run on one core; on a machine that is busy elsewhere the ratios hold better than
the rates.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import ROBOTS
from benchmarks.machine import best, machine_name, threads, timed
from benchmarks.peers.programs import PeerMissingError, Program, Recipe, build, mujoco_recipe
from deltadyn import backends as kernels
from deltadyn.arrays import FloatArray
from deltadyn.dynamics.forward import forward_dynamics
from deltadyn.motion import Motion, adept_cycle
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot
from deltadyn.robot.settings import Friction
from deltadyn.simulation import PDFeedforward, rollout, simulate
from deltadyn.simulation.controllers.feedforward import PDLaw
from deltadyn.simulation.drive.drive import Drive
from deltadyn.simulation.drive.reference import Task, make_task
from deltadyn.simulation.plant.compiled import robot_numbers
from deltadyn.simulation.plant.ideal import start_on
from deltadyn.simulation.plant.machine import build_machine, home_angles
from deltadyn.simulation.plant.mjcf import mjcf
from deltadyn.simulation.presets import preset_by_name
from deltadyn.simulation.simulate import Story, follow, make_plant

RATE = 2000.0  # Hz
CYCLES = 2  # Adept cycles in a row, 100 a minute
BATCH = (1024, 50)  # robots, steps
SEED = 1
TIME_LIMIT = 300.0  # s for one program of the peer
LOOP_TARGET = 5.0  # times MuJoCo's quickest stepping
ERROR_TARGET = 1e-3  # of MuJoCo's acceleration error
BATCH_TARGET = 1e6  # Runge-Kutta steps per second and core
PRESETS = ("ideal", "lab", "industrial")
#: The peer's quick settings, then those of the MJCF that deltadyn writes.
SETTINGS = (
    ("default", "Euler"),
    ("default", "implicitfast"),
    ("default", "RK4"),
    ("accurate", "Euler"),
    ("accurate", "RK4"),
)


@dataclass(frozen=True)
class Speed:
    """A simulator's steps per second on one core, and its acceleration error where it is known."""

    robot: str
    what: str
    per_second: float
    error: float | None = None


@dataclass(frozen=True)
class Comparison:
    """The compiled loop beside MuJoCo's quickest stepping of the same robot."""

    ours: Speed
    mujoco: Speed

    @property
    def ratio(self) -> float:
        """How many times faster ours is."""
        return self.ours.per_second / self.mujoco.per_second

    @property
    def error_ratio(self) -> float:
        """Our acceleration error over MuJoCo's."""
        assert self.ours.error is not None
        assert self.mujoco.error is not None
        return self.ours.error / self.mujoco.error

    @property
    def met(self) -> bool:
        """At least 5 times faster at a thousandth of the error."""
        return self.ratio >= LOOP_TARGET and self.error_ratio <= ERROR_TARGET


def cycles(robot: Robot) -> Motion:
    """Adept cycles one after the other."""
    one = adept_cycle(robot, cycles_per_minute=100)
    parts = [slice(None, -1)] * (CYCLES - 1) + [slice(None)]
    t = np.concatenate([one.t[part] + k * one.duration for k, part in enumerate(parts)])
    q, qd, qdd = (
        np.concatenate([getattr(one, name)[part] for part in parts]) for name in ("q", "qd", "qdd")
    )
    return Motion.from_joints(robot, t, q, qd, qdd)


def loop_speed(robot: Robot, preset: str = "ideal", repeats: int = 10) -> Speed:
    """The whole loop of plant, PD and feedforward, in compiled code where that is in use."""
    chosen, motion = preset_by_name(preset), cycles(robot)
    task = make_task(robot, motion, RATE, chosen)
    machine = build_machine(robot, chosen)
    forces = np.zeros((len(task.now.t), robot.dof))
    start = start_on(machine, task.now, (0.0,) * robot.dof)
    law = PDFeedforward(robot).prepare(task)
    shortest, story = float("inf"), None
    for _ in range(repeats):
        body = make_plant("ideal", machine, start, 1 / RATE)
        drive = Drive(machine, task, law, start.tau)
        found: list[Story] = []
        seconds = timed(lambda: found.append(_followed(body, drive, task, forces)))  # noqa: B023
        shortest, story = min(shortest, seconds), found[0]
    assert story is not None
    error = None
    if preset == "ideal":
        parts = story.samples
        error = acceleration_error(
            machine.robot, parts["q"], parts["qd"], parts["tau"], parts["qdd"]
        )
    return Speed(robot.name, f"loop, {preset}", len(story) / shortest, error)


def simulate_speed(robot: Robot, preset: str = "ideal", repeats: int = 3) -> Speed:
    """Ticks of a whole call of `simulate`, with its preparation, log and energy books."""
    motion = cycles(robot)
    ticks = len(make_task(robot, motion, RATE, preset_by_name(preset)).now.t)
    seconds = best(lambda: simulate(robot, motion, preset=preset, rate=RATE), repeats).seconds
    return Speed(robot.name, f"simulate, {preset}", ticks / seconds)


def batch_speed(robot: Robot, *, own: bool = False, repeats: int = 20) -> Speed:
    """Runge-Kutta steps of a batch on one core; `own`: every robot has its own numbers."""
    rng, (count, steps) = np.random.default_rng(SEED), BATCH
    q = home_angles(robot) + 0.05 * rng.standard_normal((count, robot.dof))
    qd, torque = rng.standard_normal((count, robot.dof)), np.zeros((steps, robot.dof))
    numbers = np.tile(robot_numbers(robot, 0.02), (count, 1)) if own else None

    def work() -> object:
        return rollout(robot, q, qd, torque, dt=1 / RATE, numbers=numbers, substeps=1)

    with threads(1):
        seconds = best(work, repeats).seconds
    kind = "own numbers each" if own else "one robot's numbers"
    return Speed(robot.name, f"batch, {kind}", count * steps / seconds)


def mujoco_speeds(robot: Robot, repeats: int = 5) -> list[Speed]:
    """MuJoCo's own stepping in C under every setting; PeerMissingError where it cannot be."""
    found = mujoco_recipe()
    recipe = Recipe("MuJoCo", "C", "gcc", "mujoco_steps.c", found.arguments)
    program = build(recipe)
    bare = robot.replace(friction=Friction().checked(robot.dof))
    with tempfile.TemporaryDirectory(prefix="deltadyn-steps-") as folder:
        place = Path(folder)
        (place / "model.xml").write_text(mjcf(bare, 1 / RATE), "utf-8")
        _peer_numbers(bare).tofile(place / "numbers")
        return [_stepping(program, bare, place, *setting, repeats) for setting in SETTINGS]


def mujoco_python_speed(robot: Robot) -> Speed:
    """`mj_step` from Python with the accurate settings, where nothing can be compiled."""
    import mujoco

    bare = robot.replace(friction=Friction().checked(robot.dof))
    model, data = _peer_state(bare)
    qpos, qvel = data.qpos.copy(), data.qvel.copy()

    def steps() -> None:
        data.qpos[:], data.qvel[:] = qpos, qvel  # under the torque that holds it there
        for _ in range(400):
            mujoco.mj_step(model, data)

    return Speed(robot.name, "MuJoCo from Python, accurate, RK4", 400 / best(steps, 5).seconds)


def compare(robot: Robot, repeats: int = 10) -> tuple[Comparison, list[Speed]]:
    """The compiled loop beside the quickest of MuJoCo's settings, and all of them."""
    bare = robot.replace(friction=Friction().checked(robot.dof))
    ours = loop_speed(bare, repeats=repeats)
    peers = mujoco_speeds(bare, repeats)
    again = loop_speed(bare, repeats=repeats)  # before and after: the machine may be shared
    ours = max(ours, again, key=lambda speed: speed.per_second)
    return Comparison(ours, max(peers, key=lambda speed: speed.per_second)), peers


def acceleration_error(
    robot: Robot, q: FloatArray, qd: FloatArray, tau: FloatArray, qdd: FloatArray
) -> float:
    """Root mean square of qdd less the exact model's, as a share of the exact one's."""
    with kernels.switched_off():  # the exact model by another way than the compiled plant
        exact = forward_dynamics(robot, q, qd, tau, unreachable="nan")
    return float(np.sqrt(np.nanmean((qdd - exact) ** 2) / np.nanmean(exact**2)))


def _followed(body: Any, drive: Drive, task: Task, forces: FloatArray) -> Story:
    return follow(body, drive, task, {}, forces, None, lambda ticks: None)


def _peer_state(robot: Robot) -> tuple[Any, Any]:
    """MuJoCo's model and data at the start of the cycles."""
    from deltadyn.simulation.plant.mujoco import MujocoPlant

    machine = build_machine(robot, preset_by_name("ideal"))
    rest = (0.0,) * robot.dof
    start = start_on(machine, adept_cycle(robot, cycles_per_minute=100), rest)
    plant = MujocoPlant(machine, start, 1 / RATE)
    plant.sample(start.tau, rest)
    return plant.model, plant.data


def _peer_numbers(robot: Robot) -> FloatArray:
    """What mujoco_steps.c reads."""
    from deltadyn.simulation.plant.mjcf import DRIVEN

    model, data = _peer_state(robot)
    task = make_task(robot, cycles(robot), RATE, preset_by_name("ideal"))
    law = PDFeedforward(robot).prepare(task)
    assert isinstance(law, PDLaw)
    addresses = [float(model.joint(name).qposadr[0]) for name in DRIVEN[: robot.dof]]
    heads = [float(model.nq), float(robot.dof), float(len(law.forward)), *addresses]
    parts = [heads, law.stiffness, law.damping, data.qpos, data.qvel]
    parts += [law.reference, task.now.qd, law.forward]
    return np.concatenate([np.asarray(part, dtype=np.float64).reshape(-1) for part in parts])


def _stepping(
    program: Program, robot: Robot, place: Path, settings: str, integrator: str, repeats: int
) -> Speed:
    states = place / f"{settings}-{integrator}"
    words = [str(program.path), "model.xml", "numbers", settings, integrator, str(repeats)]
    done = subprocess.run(
        [*words, states.name],
        capture_output=True,
        text=True,
        cwd=place,
        timeout=TIME_LIMIT,
        check=False,
    )
    if done.returncode != 0:
        said = (done.stderr.splitlines() or ["without a word"])[0]
        raise PeerMissingError("MuJoCo", f"its program failed: {said[:200]}")
    q, qd, tau, qdd = np.split(np.fromfile(states).reshape(-1, 4 * robot.dof), 4, axis=1)
    error = acceleration_error(robot, q, qd, tau, qdd)
    return Speed(
        robot.name, f"MuJoCo in C, {settings}, {integrator}", 1 / float(done.stdout), error
    )


def own_speeds(robot: Robot, repeats: int) -> list[Speed]:
    """Loops of all presets, the whole of `simulate`, and batches."""
    rows = [loop_speed(robot, preset, repeats) for preset in PRESETS]
    rows += [simulate_speed(robot, preset) for preset in PRESETS[::2]]
    rows += [batch_speed(robot, own=own) for own in (False, True)]
    with kernels.switched_off():
        slow = loop_speed(robot, "ideal", 1)
    return [*rows, Speed(slow.robot, f"{slow.what}, without the extension", slow.per_second)]


def peer_speeds(robot: Robot, repeats: int) -> tuple[Comparison | None, list[Speed], str]:
    """The comparison, all of MuJoCo's rows, and why one of them is missing."""
    try:
        comparison, rows = compare(robot, repeats)
        return comparison, [comparison.ours, *rows], ""
    except PeerMissingError as error:
        reason = str(error)
    try:
        return None, [mujoco_python_speed(robot)], reason
    except ImportError:
        return None, [], reason


def verdicts(robot: Robot, comparison: Comparison | None, rows: list[Speed]) -> list[str]:
    """The targets, and whether they are met."""
    lines = []
    if comparison is not None:
        lines.append(
            f"{robot.name}: loop {comparison.ratio:.1f} times {comparison.mujoco.what}, the "
            f"quickest, at {comparison.error_ratio:.0e} of its acceleration error; target "
            f"{LOOP_TARGET:g} times at {ERROR_TARGET:g}: {_word(comparison.met)}"
        )
    batches = [row for row in rows if robot.dof == 3 and row.what.startswith("batch")]
    return lines + [
        f"{robot.name}: {row.what}, {row.per_second / 1e6:.2f} million Runge-Kutta steps/s on one "
        f"core; target {BATCH_TARGET / 1e6:g}: {_word(row.per_second >= BATCH_TARGET)}"
        for row in batches
    ]


def _word(met: bool) -> str:
    return "met" if met else "NOT met"


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=20, help="the best of so many runs counts")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(argv)
    if not kernels.available():
        raise SystemExit(f"nothing to measure, the kernels are {kernels.status()}")
    rows: list[Speed] = []
    targets: list[str] = []
    missing = ""
    for name in ROBOTS.values():
        robot = load_robot(name)
        own = own_speeds(robot, given.repeats)
        comparison, peers, missing = peer_speeds(robot, given.repeats)
        rows += [*own, *(Speed(row.robot, f"race: {row.what}", *_rest(row)) for row in peers)]
        targets += verdicts(robot, comparison, own)
    if given.json:
        record: dict[str, Any] = {"machine": machine_name(), "rows": [asdict(row) for row in rows]}
        print(json.dumps({**record, "targets": targets, "missing": missing}, indent=2))
        return
    print(f"Steps of simulators on one core, drives at 2 kHz, on {machine_name()}")
    for row in rows:
        error = "" if row.error is None else f"   acceleration error {row.error:.1e}"
        print(f"  {row.robot:<18}{row.what:<44}{row.per_second:>12,.0f} per second{error}")
    print("\n".join([*targets, *([missing] if missing else [])]))


def _rest(row: Speed) -> tuple[float, float | None]:
    return row.per_second, row.error


if __name__ == "__main__":
    main()
