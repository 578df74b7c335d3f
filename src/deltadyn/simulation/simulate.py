"""Close the loop at the drive's rate over a plant, and log it as a drive would."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.backends.loader import plant_module
from deltadyn.backends.plant_layout import PLACES, STATE_PLACES
from deltadyn.dynamics.inverse import check_state
from deltadyn.errors import DeltadynError, InputError, UnknownNameError
from deltadyn.kinematics.state import State
from deltadyn.motion.motion import Motion
from deltadyn.recording.recording import Provenance, Recording
from deltadyn.robot import Robot
from deltadyn.simulation.controllers.feedforward import Controller, PDFeedforward, PDLaw
from deltadyn.simulation.controllers.gains import Feedback, warn_of_gains
from deltadyn.simulation.controllers.state import GravityLaw
from deltadyn.simulation.drive.drive import Drive, read_log
from deltadyn.simulation.drive.reference import Task, make_task
from deltadyn.simulation.plant.compiled import (
    TROUBLES,
    CompiledPlant,
    compiled,
    fields_of,
    model_numbers,
    put,
)
from deltadyn.simulation.plant.ideal import IdealPlant, Start, start_on
from deltadyn.simulation.plant.machine import (
    Machine,
    Plant,
    PlantStoppedError,
    Sample,
    build_machine,
)
from deltadyn.simulation.plant.numerics import Floats
from deltadyn.simulation.presets import Preset, preset_by_name, setting
from deltadyn.simulation.run import (
    Events,
    ExternalForce,
    Run,
    Truth,
    keep_books,
    payload_events,
    wrenches,
)
from deltadyn.simulation.touch import Touch, touched

# The loop of plant and drive: tick by tick, or all ticks at once in compiled code.


PIECE = 5000  # ticks of compiled code between two looks at the bar and at the keyboard


@dataclass(frozen=True, eq=False)
class Story:
    """What the loop has seen: arrays by field of `Sample`, commands (N, dof), how it ended."""

    samples: dict[str, FloatArray]
    commands: FloatArray
    trouble: str | None
    saturated: int  # ticks

    def __len__(self) -> int:
        return len(self.commands)


def follow(
    body: Plant,
    drive: Drive,
    task: Task,
    loads: dict[int, Robot],
    forces: FloatArray,
    touch: Touch | None,
    report: Callable[[int], None],
) -> Story:
    """Tick by tick under external wrenches (N, dof), until the plant cannot go on.

    Where something touches the platform, its wrenches are written to `forces`.
    """
    law = drive.law
    if isinstance(body, CompiledPlant) and touch is None:
        if type(law) is PDLaw:
            return _follow_compiled(body, drive, law, (None, None), loads, forces, report)
        if type(law) is GravityLaw and law.parameters is not None:
            gravity = (np.ascontiguousarray(law.leads), model_numbers(law.parameters))
            return _follow_compiled(body, drive, law.feedback, gravity, loads, forces, report)
    samples: list[Sample] = []
    commands: list[Floats] = []
    trouble, near = None, None
    robot, times, dt = body.machine.robot, task.now.t.tolist(), 1 / task.rate
    last, reference = len(forces) - 1, task.now.q[:, : robot.legs].tolist()
    for k, force in enumerate(map(tuple, forces.tolist())):
        if k in loads:
            body.carry(loads[k])
        if touch is not None:
            near = task.now.p[k] if near is None else near
            force, near = touched(touch, robot, times[k], body.arms, dt, near)
            forces[k] = force
        try:
            _check_distance(reference[k], body.q_motor, drive.half_turn)
            torques = drive.tick(k, body.q_motor)
            if k < last:
                samples.append(body.advance(torques.start, torques.end, force))
            else:
                samples.append(body.sample(torques.start, force))
        except PlantStoppedError as stop:
            trouble = str(stop)
            break
        commands.append(torques.command)
        report(1)
    columns = [np.array(column) for column in zip(*samples, strict=True)]
    parts = dict(zip(Sample._fields, columns, strict=True)) if samples else {}
    return Story(parts, np.array(commands), trouble, drive.saturated)


def _follow_compiled(
    body: CompiledPlant,
    drive: Drive,
    law: PDLaw,
    gravity: tuple[FloatArray, FloatArray] | tuple[None, None],
    loads: dict[int, Robot],
    forces: FloatArray,
    report: Callable[[int], None],
) -> Story:
    """The same loop in compiled code, cut where the payload changes."""
    count, dof, numbers, state = len(forces), body.dof, body.numbers, body.state
    put(numbers, PLACES["rate"], drive.estimator.rate)
    put(numbers, PLACES["filter_gain"], drive.estimator.gain)
    put(numbers, PLACES["stiffness_gain"], law.stiffness)
    put(numbers, PLACES["damping_gain"], law.damping)
    put(state, STATE_PLACES["torque"], drive.torque)
    put(state, STATE_PLACES["holding"], drive.torque)
    put(state, STATE_PLACES["before"], drive.estimator.before)
    put(state, STATE_PLACES["seen"], drive.estimator.y)
    tables = [
        np.ascontiguousarray(table, dtype=np.float64)
        for table in (law.reference, law.rates, law.forward, forces)
    ]
    commands, samples = np.empty((count, dof)), np.empty((count, body.width))
    cuts = sorted({*range(0, count, PIECE), *(k for k in loads if k < count), count})
    done, trouble = 0, 0
    for first, end in pairwise(cuts):
        if first in loads:
            body.carry(loads[first])
        ticks, trouble = body.module.plant_follow(
            numbers, state, *tables, commands, samples, first, end, count - 1, *gravity
        )
        done += ticks
        report(ticks)
        if trouble:
            break
    saturated = int(state[STATE_PLACES["saturated"].start])
    parts = fields_of(samples[:done], dof)
    return Story(parts, commands[:done], TROUBLES.get(trouble), saturated)


def _check_distance(reference: list[float], q: Floats, half_turn: float) -> None:
    """Stop where an arm is half a turn off: no loop brings it back, and no robot turns so far.

    A carriage is stopped where it is as far off as the elbow of an arm of the robot's size.
    """
    for axis, angle in enumerate(reference):
        if not abs(q[axis] - angle) < half_turn:
            limb = "arm" if half_turn == math.pi else "carriage"
            away = "half a turn" if half_turn == math.pi else f"{half_turn:.2g} m"
            raise PlantStoppedError(
                f"{limb} {axis + 1} is {away} away from its reference, the controller has lost it"
            )


PLANTS = ("ideal", "mujoco")


def simulate(
    robot: Robot,
    motion: Motion,
    controller: Controller | None = None,
    plant: str = "ideal",
    preset: str | Preset = "ideal",
    *,
    rate: float = 2000.0,
    seed: int = 0,
    payload: Sequence[tuple[float, Any]] = (),
    external_force: ExternalForce | None = None,
    progress: bool = False,
    **switches: Any,
) -> Run:
    """Let a controller follow a motion on a simulated machine, and log it as a drive would.

    `robot` is the nominal robot; `preset` says how the machine and its log differ from it, and
    `switches` change single fields of the preset. The controller is PDFeedforward(robot) unless
    another is given. The run begins on the motion, with the torque that keeps it there.

    `plant` is "ideal" (the exact model) or "mujoco" (the closed mechanism in MuJoCo), `rate` the
    drive's ticks in Hz, `payload` pairs (time in s, mass in kg) at which the load changes,
    `external_force` a force on the platform in N (with the moment on psi where the tool turns; x
    and z in a plane), a function of time that gives it, or a `Touch`, such as a `Wall`. The same
    seed gives the same run, bit for bit.
    """
    if plant not in PLANTS:
        raise UnknownNameError("plant", plant, PLANTS)
    _check_call(robot, motion, controller, seed)
    chosen = preset_by_name(preset).with_switches(**switches)
    rate = setting("rate", rate, low=0.0, strict=True, unit="Hz")
    task = make_task(robot, motion, rate, chosen)
    events = payload_events(robot, payload, task.now.t)
    forces = wrenches(robot, external_force, task.now.t)
    machine = build_machine(robot.replace(payload=events.pop(0, robot.payload)), chosen)
    touch = external_force if isinstance(external_force, Touch) else None
    if touch is not None:
        at = tuple(task.now.q[0].tolist()), tuple(task.now.qd[0].tolist())
        forces[0], _ = touched(touch, robot, float(task.now.t[0]), at, 1 / rate, task.now.p[0])
    start = start_on(machine, task.now, tuple(forces[0].tolist()))
    chosen_law: Controller = PDFeedforward(robot) if controller is None else controller
    if isinstance(chosen_law, Feedback):
        chosen_law = chosen_law.for_drive(rate, chosen)
    law = chosen_law.prepare(task)
    warn_of_gains(machine, chosen_law, task.now.q, rate)
    drive = Drive(machine, task, law, start.tau, int(seed))
    body = make_plant(plant, machine, start, 1 / rate)
    loads = {tick: machine.robot.replace(payload=load) for tick, load in events.items()}
    with _progress(progress, len(forces)) as report:
        story = follow(body, drive, task, loads, forces, touch, report)
    if len(story) < 2:
        raise DeltadynError(f"the plant stopped at once: {story.trouble}")
    kind = preset if isinstance(preset, str) else "own preset"
    changed = "".join(f", {name}={value!r}" for name, value in switches.items())
    name = f"{robot.name}, {plant} plant, {kind}{changed}, seed {seed}"
    return _result(machine, task, story, forces, events, int(seed), name)


def make_plant(name: str, machine: Machine, start: Start, dt: float) -> Plant:
    """The plant of that name, with ticks of dt seconds."""
    if name == "ideal":
        module = plant_module() if compiled(machine.robot) else None
        if module is None:
            return IdealPlant(machine, start, dt)
        return CompiledPlant(machine, start, dt, module)
    from deltadyn.simulation.plant.mujoco import MujocoPlant

    return MujocoPlant(machine, start, dt)


def _result(
    machine: Machine,
    task: Task,
    story: Story,
    forces: FloatArray,
    events: Events,
    seed: int,
    name: str,
) -> Run:
    count = len(story)
    t = task.now.t[:count]
    parts = dict(story.samples)
    parts["passive_friction"] = parts.pop("passive")
    work = parts.pop("work")
    log = read_log(machine, task.rate, parts["q_motor"], parts["qd_motor"], parts["tau"], seed)
    payload = np.full(count, machine.robot.payload.mass)
    for tick, load in sorted(events.items()):
        payload[tick:] = load.mass
    parts["force"] = forces[:count]
    truth = Truth(robot=machine.robot, t=t, payload=payload, written=log.written, **parts)
    kept = log.written
    recording = Recording(
        t=t[kept],
        q=log.q[kept],
        tau=log.tau[kept],
        q_command=task.now.q[:count][kept],
        tau_command=story.commands[kept],
        temperature=truth.temperature.mean(axis=1)[kept] if machine.preset.heating else None,
        payload=None if events else machine.robot.payload.mass,
        name=name,
        robot=machine.robot.name,
        linear=machine.robot.linear,
        legs=machine.robot.legs,
        provenance=Provenance(reader="simulate", notes=_notes(machine, task)),
    )
    return Run(
        recording=recording,
        truth=truth,
        reference=_until(task.now, count),
        energy=keep_books(machine, truth, work, events),
        completed=story.trouble is None,
        status=_status(story, t),
    )


def _status(story: Story, t: FloatArray) -> str:
    if story.trouble is None:
        text = f"completed {t[-1] - t[0]:g} s"
    else:
        text = f"stopped after t = {t[-1]:g} s: {story.trouble}"
    if story.saturated:
        text += f"; the torque was at its limit in {story.saturated} of {len(t)} ticks"
    return text


def _notes(machine: Machine, task: Task) -> tuple[str, ...]:
    """The fields of the preset that are not those of the ideal one."""
    plain, preset = Preset(), machine.preset
    pairs = [(item.name, getattr(preset, item.name)) for item in fields(preset)]
    changed = [f"{name} = {value!r}" for name, value in pairs if value != getattr(plain, name)]
    if preset.saturation is not None and machine.robot.limits.torque_peak is None:
        changed.append("no saturation: the robot names no peak torque")
    return (f"simulated at {task.rate:g} Hz", *changed)


def _until(motion: Motion, count: int) -> Motion:
    """The first samples of a motion."""
    cut: dict[str, Any] = {"t": motion.t[:count]}
    for item in fields(State):
        value = getattr(motion, item.name)
        cut[item.name] = value if item.name in ("single", "linear") else value[:count]
    return Motion(**cut)


def _check_call(robot: object, motion: object, controller: object, seed: object) -> None:
    if not isinstance(robot, Robot):
        raise InputError("robot", type(robot).__name__, "a Robot")
    if not isinstance(motion, Motion):
        allowed = "a Motion, made by Motion.from_platform or Motion.from_joints"
        raise InputError("motion", type(motion).__name__, allowed)
    check_state(robot, motion)
    if len(motion.t) < 2:
        raise InputError("samples of the motion", len(motion.t), "at least 2")
    bad = np.flatnonzero(~np.isfinite(np.concatenate([motion.q, motion.qd, motion.qdd], 1)).all(1))
    if bad.size:
        raise InputError("motion", "NaN", "a motion that can be reached", where=f"row {bad[0]}")
    if controller is not None and not callable(getattr(controller, "prepare", None)):
        allowed = "a controller: PD, PDFeedforward or an object with their method prepare"
        raise InputError("controller", type(controller).__name__, allowed)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError("seed", seed, "a whole number, at least 0")


@contextmanager
def _progress(wanted: bool, count: int) -> Iterator[Callable[[int], None]]:
    if not wanted:
        yield lambda ticks: None
        return
    import click  # only for the bar

    with click.progressbar(length=count, label="simulating") as bar:
        yield bar.update
