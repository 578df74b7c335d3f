"""CODESYS SoftMotion: the model as a block that implements `ISMDynamics` of library SM3_Dynamics.

An axis group that has such a block (`SMC_GroupSetDynamics`, SoftMotion 4.13 and newer) gives set
torques to the drives in every cycle and keeps torque limits when it plans. Public pages name the
interface, its one method and the types; the arguments of the method are on none, see `ASSUMED`.
"""

from __future__ import annotations

import math

from deltadyn.exports.common import filled, platform_kind, speech
from deltadyn.exports.sheets import MM, NotExpressibleError, symmetric_layout
from deltadyn.exports.structured_text.blocks import EXPORT_NAME, Variable, load_variables
from deltadyn.exports.structured_text.code import literal
from deltadyn.kinematics.actuation import HALVES
from deltadyn.robot import Robot

NAME = "Dynamics"
#: Arguments of `AxesStateToTorque` as the exported text has them: section, name, type, meaning.
#: AXISPOS_REF (a0 to a5) and the return type are those of SoftMotion's kinematics; the names of
#: the arguments and their order are assumed.
ASSUMED = (
    ("VAR_IN_OUT CONSTANT", "params", "SMDYN.DynamicsParams", "not read"),
    ("VAR_IN_OUT CONSTANT", "aPos", "TRAFO.AXISPOS_REF", "positions of the axes"),
    ("VAR_IN_OUT CONSTANT", "aVel", "TRAFO.AXISPOS_REF", "their velocities"),
    ("VAR_IN_OUT CONSTANT", "aAcc", "TRAFO.AXISPOS_REF", "their accelerations"),
    ("VAR_IN_OUT", "aTorque", "TRAFO.AXISPOS_REF", "their torques"),
)
FAILED = "SMC_ERROR.SMC_TRAFO_INVALID_CONSTELLATION"  # out of reach, singular, no number
DONE = "SMC_ERROR.SMC_NO_ERROR"


def axis_order(robot: Robot) -> tuple[int, ...]:
    """Our axis on each axis of the group, counted from 0: that of Kin_Tripod_Rotary if it fits."""
    own = tuple(range(robot.dof))
    if robot.linear or robot.legs != 3:
        return own
    try:
        return (*symmetric_layout(robot, math.pi).order, *own[3:])
    except NotExpressibleError:
        return own


def codesys_files(robot: Robot, own: str, head: str) -> dict[str, str]:
    """The block and what to know of it, by the names of their files."""
    name = f"FB_{own}_{NAME}"
    words = {
        "head": head,
        "export_name": EXPORT_NAME,
        "name": name,
        "joints": f"FB_{own}_FeedforwardJoints",
        "inputs": "\n".join(_declared(v) for v in _inputs(robot)),
        "arguments": "\n".join(_arguments()),
        "call": ",\n       ".join(_call(robot)),
        "failed": FAILED,
        "done": DONE,
        "results": "\n".join(_results(robot)),
    }
    text = filled("structured_text", "codesys_dynamics.st", words)
    return {
        f"codesys/{name}.st": text,
        "codesys/README-dynamics.md": _readme(robot, own, name),
    }


def _inputs(robot: Robot) -> list[Variable]:
    unit = Variable("LengthUnit", "LREAL := 0.001", "m of a user unit u of the axes")
    return [*load_variables(robot), *([unit] if robot.linear else [])]


def _declared(variable: Variable) -> str:
    return f"    {variable.name} : {variable.kind}; (* {variable.comment} *)"


def _arguments() -> list[str]:
    lines: list[str] = []
    section = ""
    for own, name, kind, what in ASSUMED:
        if own != section:
            lines += ["END_VAR"] if section else []
            lines.append(own)
            section = own
        lines.append(f"    {name} : {kind}; (* {what} *)")
    return [*lines, "END_VAR"]


def _scale(robot: Robot, axis: int) -> str:
    """What makes SI of a unit of an axis: deg, or u of a carriage."""
    linear = robot.linear and axis < robot.legs
    return "LengthUnit" if linear else literal(math.pi / 180)


def _call(robot: Robot) -> list[str]:
    """q_controller = sign * q + offset of our axes, which stand in the group's order."""
    place = {arm: k for k, arm in enumerate(axis_order(robot))}
    own = robot.controller
    rows = []
    for kind, group in (("Q", "aPos"), ("QD", "aVel"), ("QDD", "aAcc")):
        for axis in range(robot.dof):
            minus, offset = "-" if own.sign[axis] < 0 else "", own.offset[axis]
            value = f"{minus}{group}.a{place[axis]} * {_scale(robot, axis)}"
            value += f" + {literal(offset)}" if kind == "Q" and offset else ""
            rows.append(f"{kind}{axis + 1} := {value}")
    rows += [f"{v.name} := {v.name}" for v in load_variables(robot)]
    return [*rows, *(["Reset := TRUE"] if platform_kind(robot) in HALVES else [])]


def _results(robot: Robot) -> list[str]:
    signs = robot.controller.sign
    return [
        f"aTorque.a{k} := {'-' if signs[axis] < 0 else ''}Torque.Tau{axis + 1};"
        for k, axis in enumerate(axis_order(robot))
    ]


def _readme(robot: Robot, own: str, name: str) -> str:
    order, limits = axis_order(robot), robot.limits.torque_peak
    units = robot.axis_units("tau")
    rows = []
    for k, axis in enumerate(order):
        linear = robot.linear and axis < robot.legs
        most = "not in the robot file" if limits is None else f"{limits[axis]:g} {units[axis]}"
        rows.append(
            f"| a{k} | axis {axis + 1} | {'u' if linear else 'deg'} | {units[axis]} | {most} |"
        )
    signature = "\n".join(f"| {s} | `{n}` | {kind} | {what} |" for s, n, kind, what in ASSUMED)
    words = {
        "robot": robot.name,
        "name": name,
        "own": own,
        "axes": "\n".join(rows),
        "signature": signature,
        "torques": speech(robot)["torques"],
        "gravity": f"{-robot.gravity * MM:.9g}",
    }
    return filled("structured_text", "README-codesys-dynamics.md", words)
