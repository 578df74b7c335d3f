"""`mjcf`: the robot as a MuJoCo model that closes its loops and can be looked at."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.errors import DeltadynError, extra_module
from deltadyn.exports.common import (
    EXPORT_MARK,
    INTERFACE_VERSION,
    ExportFiles,
    checked_step,
    filled,
    identifier,
    kind_of,
    middle,
    provenance,
    speech,
    stamp_fingerprint,
    standard,
)
from deltadyn.exports.mjcf.pose import joint_values
from deltadyn.exports.mjcf.states import check_files, check_points
from deltadyn.exports.mjcf.tree import add, add_look, model_tree
from deltadyn.exports.mjcf.view import aim, refer_to_meshes
from deltadyn.exports.scenes.checks import check_masses, left_out
from deltadyn.exports.scenes.scene import mesh_files, read_scene
from deltadyn.exports.states import random_states, rates_of, states_in_words
from deltadyn.motion import Motion
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform, Carriage, HelicalPlatform
from deltadyn.robot.settings import Friction, Sensors
from deltadyn.simulation.plant.mjcf import coordinate_joints, driven_joints

TIMESTEP = 5e-4  # s
LONGEST = 2e-3  # s: measured up to here, 5e-6 rad after 1 s of simulation
SHORTEST = 1e-6  # s
ALLOWED = 2e-3  # of the acceleration
ALLOWED_HALVES = 5e-3  # the same on a platform of halves
SPINDLE_JOINTS = """\
| `psi` | driven: effector about z up |
| `fork`, `cross` | lower universal joint of the telescope |
| `slide` | distance between the telescope's joints |
"""
RIGID = """\
This robot has bodies given by ten parameters. They are in the model as they are, so
the reference is the model 'rigid'; 'exact' takes thin rods instead.
"""


@dataclass(frozen=True)
class AccelerationError:
    """|qdd of MuJoCo - qdd| / |qdd| over random states."""

    states: int
    largest: float
    median: float
    largest_moving: float  # of states in which every axis moves
    reference: str  # the model's name


@dataclass(frozen=True)
class Options:
    """Options of target `mjcf`."""

    timestep: float = TIMESTEP  # s, of MuJoCo


def files(robot: Robot, options: Options | None = None) -> ExportFiles:
    """Model, meshes, check points with their test, README; refused at an error above 0.2 %.

    The error is that of MuJoCo's acceleration; 0.5 % on a platform of halves, where the force of a
    strut passes two soft constraints.
    """
    chosen = Options() if options is None else options
    allowed = f"{SHORTEST:g} to {LONGEST:g} s, where the accuracy of 0.2 % is known to hold"
    step = checked_step(chosen.timestep, SHORTEST, LONGEST, allowed)
    check_masses(robot, "mjcf")
    name = f"{identifier(robot)}.xml"
    measured = find_spec("mujoco") is not None
    error = acceleration_error(robot, step) if measured else None
    rubbed = acceleration_error(robot, step, states=100, friction=True) if measured else None
    most = allowed_error(robot)
    if error is not None and not error.largest < most:
        raise DeltadynError(
            f"the MuJoCo model of {robot.name} would have an acceleration error of "
            f"{100 * error.largest:.2g} %, above {100 * most:g} %: its moving platform is too "
            "light for MuJoCo's soft constraints; a payload or the effector's mass helps"
        )
    own, bare = identifier(robot), _bare(robot)
    points = {"fingerprint": EXPORT_MARK, **check_points(bare, reference_model(robot), most)}
    return stamp_fingerprint(
        {
            "README-mjcf.md": _readme(robot, name, step, error, rubbed),
            **_model_texts(robot, step),
            **check_files(own, points),
        },
        left_out(robot),
    )


def allowed_error(robot: Robot) -> float:
    """The largest error of the acceleration that is let through."""
    return ALLOWED if robot.legs != 4 else ALLOWED_HALVES


def model_files(robot: Robot, timestep: float = TIMESTEP) -> ExportFiles:
    """The MJCF document and the meshes that it reads, by their places in a folder."""
    return stamp_fingerprint(_model_texts(robot, timestep))


def _model_texts(robot: Robot, timestep: float) -> dict[str, str]:
    """The same with the mark of the fingerprint."""
    own = identifier(robot)
    root = model_tree(robot, timestep)
    add_look(root, robot)
    aim(root)
    lines = provenance(robot, "MuJoCo model of a Delta robot with closed loops")
    meshes = mesh_files(
        read_scene(root), f"{own}_meshes", [f"mesh of {line}" for line in lines[1:2]]
    )
    refer_to_meshes(root, f"{own}_meshes")
    told = add(root, "custom")
    add(told, "text", name="deltadyn", data=version("deltadyn"))
    add(told, "text", name="interface", data=str(INTERFACE_VERSION))
    add(told, "text", name="fingerprint", data=EXPORT_MARK)
    words = speech(robot)
    own_words = f"{words['angles']} and {words['torques']} are this project's own"
    lines += [f"{own_words}, not the controller's: see the README"]
    lines += [f"not in the model: {item}" for item in left_out(robot)]
    note = "\n".join(lines).replace("--", "- -")
    root.insert(0, ET.Comment(f"\n{note}\n"))
    ET.indent(root)
    return {f"{own}.xml": ET.tostring(root, encoding="unicode") + "\n", **meshes}


def _readme(
    robot: Robot,
    file: str,
    timestep: float,
    error: AccelerationError | None,
    rubbed: AccelerationError | None,
) -> str:
    """How to load the model, what is in it, how accurate it is."""
    signs = zip(robot.axis_names(), robot.controller.sign, robot.controller.offset, strict=True)
    words = {
        "robot": robot.name,
        "quoted": repr(robot.name),
        "provenance": "\n".join(
            provenance(robot, "MuJoCo model of a Delta robot with closed loops")
        ),
        "file": file,
        **speech(robot),
        "units": "N m" if standard(robot) else "N, N m",
        "kind": "" if standard(robot) else f"A {kind_of(robot)}. ",
        "frame": "rails' points of q = 0" if robot.linear else "shoulder axes",
        "driven": RAIL_JOINT if robot.linear else ARM_JOINT,
        "elbow_axis": "its carriage" if robot.linear else "arm about the elbow axis",
        "sway": "across" if robot.linear else "out of the arm's plane",
        "counters": _counters(robot),
        "zeros": ", ".join(["0.0"] * robot.dof),
        "telescope": "" if robot.spindle is None else " and at the top of the telescope",
        "spindle_joints": _tool_joints(robot),
        "arms": f"1..{robot.legs}",
        "slides": ", ".join(f"`{name}`" for name in coordinate_joints(robot)),
        "count": {2: "two", 3: "three"}[len(coordinate_joints(robot))],
        "point": ", ".join(_somewhere(robot)),
        "timestep": f"{timestep:g}",
        "measured": _measured(robot, error, rubbed),
        "own": identifier(robot),
        "rigid": RIGID if reference_model(robot) == "rigid" else "",
        "signs": "\n".join(f"| {axis} | {s:+g} | {offset:.9g} |" for axis, s, offset in signs),
        "left_out": "".join(f"- Not in the model: {item}.\n" for item in left_out(robot)),
    }
    return filled("mjcf", "README.md", words)


ARM_JOINT = "0 = arm horizontal and outward, positive downward"
RAIL_JOINT = "a carriage's way along its rail in m, upward, outward on a level rail"


def _tool_joints(robot: Robot) -> str:
    """What the README says of the joints that turn the tool."""
    if robot.spindle is not None:
        return SPINDLE_JOINTS
    return PLATFORM_JOINTS.get(type(robot.platform), "")


PLATFORM_JOINTS = {
    ArticulatedPlatform: """\
| `bars` | the bars' angle phi about z up; psi = ratio (phi - phi0) |
| `tool` | tool against the bars, held to them by the gears |
| `half_1_x` ... `half_2_z` | the two halves, held to the bars' ends |
""",
    HelicalPlatform: """\
| `psi` | the tool about z up |
| `rise_1`, `rise_2` | the halves, held to psi by the screw |
""",
}


def _counters(robot: Robot) -> str:
    """What the README says of counterweights."""
    if not any(isinstance(arm, Carriage) and arm.counterweight > 0 for arm in robot.arms):
        return ""
    names = f"`counter_1..{robot.legs}`"
    return f"| {names} | counterweights, held to the opposite way of their carriages |\n"


def _somewhere(robot: Robot) -> list[str]:
    if not standard(robot):
        return [f"{value:g}" for value in middle(robot)]
    space = robot.limits.workspace
    z = -0.8 if space is None else (space.z_min + space.z_max) / 2
    return ["0.1", "0.0", f"{z:g}", "0.0"][: robot.dof]


def _measured(
    robot: Robot, error: AccelerationError | None, rubbed: AccelerationError | None
) -> str:
    """What the README says of the accuracy, without friction and with what the model holds."""
    if error is None or rubbed is None:
        return "Not measured at this export: mujoco is not installed."
    text = (
        f"Measured at this export over {error.states} random states and torques without "
        f"friction, against the model '{error.reference}': largest error of the acceleration "
        f"{100 * error.largest:.2g} %, median {100 * error.median:.2g} %.\n\n"
    )
    if robot.friction.absent:
        return f"{text}States that this figure covers: {states_in_words(robot)}."
    slow = ", ".join(f"{rate:.2g}" for rate in _moving_rates(robot))
    median, moving, largest = (
        f"{100 * value:.2g} %" for value in (rubbed.median, rubbed.largest_moving, rubbed.largest)
    )
    return (
        f"{text}With the friction that the model holds, over {rubbed.states} states: median "
        f"{median}, largest {moving} where every axis moves faster than {slow} (rad/s or m/s), "
        f"{largest} over all: near rest "
        "MuJoCo's `frictionloss` sticks, softly.\n\nStates that these figures cover: "
        f"{states_in_words(robot)}."
    )


# How far MuJoCo's acceleration is from that of the model it was made from.


def reference_model(robot: Robot) -> str:
    """The model whose bodies the export has: 'rigid' where a body has ten parameters."""
    tens = [strut.ten for strut in robot.struts]
    if robot.spindle is not None:
        tens += [robot.spindle.upper.ten, robot.spindle.lower.ten]
    return "exact" if all(ten is None for ten in tens) else "rigid"


def _bare(robot: Robot) -> Robot:
    """The robot without friction, ripple and errors of its sensors."""
    return _with_held_friction(robot).replace(friction=Friction())


def _with_held_friction(robot: Robot) -> Robot:
    """The robot as MuJoCo has it: viscous and Coulomb friction, the same both ways."""
    own = robot.friction
    negative = own.coulomb if own.coulomb_negative is None else own.coulomb_negative
    mean = tuple((a + b) / 2 for a, b in zip(own.coulomb, negative, strict=True))
    kept = Friction(viscous=own.viscous, coulomb=mean, passive=own.passive)
    drives = replace(robot.drives, ripple=())
    return robot.replace(friction=kept, sensors=Sensors(), drives=drives)


MOVING = 0.05  # of the largest rate of the states: slower axes are near rest


def _moving_rates(robot: Robot) -> list[float]:
    """The rates (dof,) above which an axis moves."""
    return [float(rate) for rate in MOVING * rates_of(robot)]


def acceleration_error(
    robot: Robot, timestep: float, states: int = 200, seed: int = 1, *, friction: bool = False
) -> AccelerationError:
    """Ask MuJoCo for the acceleration of random states, rates and torques; needs mujoco.

    With `friction` model and torques have what the exported model holds of it.
    """
    engine = extra_module("mujoco", "the check of an exported MuJoCo model", "mujoco")
    held = _with_held_friction(robot) if friction else _bare(robot)
    root = model_tree(held, timestep)
    model: Any = engine.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
    q, qd, qdd = random_states(held, states, seed)
    name = reference_model(robot)
    motion = Motion.from_joints(held, np.arange(states, dtype=float), q, qd, qdd)
    tau = inverse_dynamics(held, motion, model=name)
    got = np.array(
        [_acceleration(engine, model, held, *row) for row in zip(q, qd, tau, strict=True)]
    )
    error = np.linalg.norm(got - qdd, axis=1) / np.linalg.norm(qdd, axis=1)
    moving = error[(np.abs(qd) > _moving_rates(robot)).all(axis=1)]
    return AccelerationError(
        states, float(error.max()), float(np.median(error)), float(moving.max(initial=0.0)), name
    )


def _acceleration(
    engine: ModuleType, model: Any, robot: Robot, q: FloatArray, qd: FloatArray, tau: FloatArray
) -> FloatArray:
    data: Any = engine.MjData(model)
    values = joint_values(robot, q, qd)
    for i in range(model.njnt):  # turns and slides: one coordinate and one rate per joint
        data.qpos[i], data.qvel[i] = values[model.joint(i).name]
    driven = [model.joint(name).id for name in driven_joints(robot)]
    data.qfrc_applied[driven] = tau
    engine.mj_forward(model, data)
    return np.array(data.qacc[driven])
