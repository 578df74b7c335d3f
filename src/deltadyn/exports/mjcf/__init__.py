"""`mjcf`: the robot as a MuJoCo model that closes its loops and can be looked at."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from importlib.util import find_spec

from deltadyn.errors import DeltadynError, InputError
from deltadyn.exports.common import identifier, provenance
from deltadyn.exports.mjcf.check import acceleration_error
from deltadyn.exports.mjcf.readme import readme
from deltadyn.exports.mjcf.tree import add_look, model_tree
from deltadyn.robot import Robot

TIMESTEP = 5e-4  # s
LONGEST = 2e-3  # s: measured up to here, 5e-6 rad after 1 s of simulation
SHORTEST = 1e-6  # s
ALLOWED = 2e-3  # of the acceleration


def files(robot: Robot, *, timestep: float = TIMESTEP) -> dict[str, str]:
    """The model and its README; refused where MuJoCo shows an acceleration error above 0.2 %."""
    step = _checked_step(timestep)
    _check_mass(robot)
    name = f"{identifier(robot)}.xml"
    error = None if find_spec("mujoco") is None else acceleration_error(robot, step)
    if error is not None and not error.largest < ALLOWED:
        raise DeltadynError(
            f"the MuJoCo model of {robot.name} would have an acceleration error of "
            f"{100 * error.largest:.2g} %, above {100 * ALLOWED:g} %: its moving platform is too "
            "light for MuJoCo's soft constraints; a payload or the effector's mass helps"
        )
    written = xml_text(robot, step)
    return {"README-mjcf.md": readme(robot, name, step, error, left_out(robot)), name: written}


def xml_text(robot: Robot, timestep: float = TIMESTEP) -> str:
    """The MJCF document."""
    root = model_tree(robot, timestep)
    add_look(root, robot)
    lines = provenance(robot, "MuJoCo model of a Delta robot with closed loops")
    lines += ["angles and torques are this project's own, not the controller's: see the README"]
    lines += [f"not in the model: {item}" for item in left_out(robot)]
    note = "\n".join(lines).replace("--", "- -")
    root.insert(0, ET.Comment(f"\n{note}\n"))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def left_out(robot: Robot) -> list[str]:
    """Terms of the robot file for which MuJoCo has no equal."""
    friction = robot.friction
    given = {
        "friction.stribeck (MuJoCo has no Stribeck term)": friction.stribeck,
        "friction.load (MuJoCo has no friction that grows with the load)": friction.load,
        "friction.offset (add it to the torque)": friction.offset,
    }
    items = [name for name, value in given.items() if value is not None and any(value)]
    if friction.coulomb_negative is not None and friction.coulomb_negative != friction.coulomb:
        items.append("the difference of friction.coulomb and coulomb_negative (their mean is in)")
    if friction.smoothing is not None:
        items.append("friction.smoothing (frictionloss is Coulomb friction with a soft start)")
    return items


def _checked_step(timestep: float) -> float:
    allowed = f"{SHORTEST:g} to {LONGEST:g} s, where the accuracy of 0.2 % is known to hold"
    if isinstance(timestep, bool) or not isinstance(timestep, float | int):
        raise InputError("timestep", timestep, allowed)
    if not math.isfinite(timestep) or not SHORTEST <= timestep <= LONGEST:
        raise InputError("timestep", float(timestep), allowed)
    return float(timestep)


def _check_mass(robot: Robot) -> None:
    if robot.platform.mass <= 0:
        raise InputError("platform.mass", robot.platform.mass, "above 0 kg for target 'mjcf'")
    for i, strut in enumerate(robot.struts):
        if strut.mass <= 0:
            raise InputError(
                f"struts[{i}].mass", strut.mass, "above 0 kg for target 'mjcf': MuJoCo moves bodies"
            )
    for i, arm in enumerate(robot.arms):
        if arm.mass <= 0 and arm.elbow_mass <= 0:
            raise InputError(f"arms[{i}].mass", arm.mass, "above 0 kg for target 'mjcf'")
    if robot.spindle is not None:
        for side, rod in (("upper", robot.spindle.upper), ("lower", robot.spindle.lower)):
            if rod.mass <= 0:
                raise InputError(f"spindle.{side}.mass", rod.mass, "above 0 kg for target 'mjcf'")
