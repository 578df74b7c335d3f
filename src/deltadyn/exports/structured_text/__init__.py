"""Target `structured-text`: function blocks for CODESYS, TwinCAT 3 and B&R Automation Studio."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from deltadyn.errors import InputError
from deltadyn.exports.common import filled, provenance
from deltadyn.exports.payload_numbers import PayloadNumbers, payload_numbers
from deltadyn.exports.structured_text.blocks import (
    SHORT,
    FunctionBlock,
    kinematic_blocks,
    named,
    short_name,
    torque_blocks,
)
from deltadyn.exports.structured_text.files import (
    br_declarations,
    br_statements,
    plain,
    plcopen,
    twincat,
)
from deltadyn.exports.structured_text.payload import payload_blocks
from deltadyn.payload.estimator import PayloadEstimator
from deltadyn.robot import Robot

BYTES = {"LREAL": 8, "DINT": 4, "BOOL": 1}


@dataclass(frozen=True)
class Options:
    """Options of target `structured-text`.

    `name` stands in the names of the blocks, FB_<name>_Feedforward; else it is the robot's.
    `rate` (Hz) is that of the task which calls the payload estimator; `estimator` gives its noise
    and thresholds, measured ones where it has them, and its own rate.
    """

    name: str | None = None
    rate: float = 2000.0
    estimator: PayloadEstimator | None = None


def files(robot: Robot, options: Options | None = None) -> dict[str, str]:
    """Names and texts of the export."""
    _refuse_passive(robot)
    chosen = Options() if options is None else options
    own = short_name(robot) if chosen.name is None else _checked(chosen.name)
    numbers = payload_numbers(robot, chosen.estimator, rate=chosen.rate)
    bare = [*kinematic_blocks(robot), *torque_blocks(robot), *payload_blocks(robot, numbers)]
    blocks = [named(block, own) for block in bare]
    texts = {
        "README-structured-text.md": _readme(robot, own, numbers, blocks),
        f"{own}.st": plain(robot, blocks),
        f"{own}.plcopen.xml": plcopen(robot, own, blocks),
        f"br/{own}.fun": br_declarations(robot, blocks),
    }
    for block in blocks:
        texts[f"twincat/{block.name}.TcPOU"] = twincat(robot, block)
        texts[f"br/{block.name}.st"] = br_statements(robot, block)
    return texts


def _refuse_passive(robot: Robot) -> None:
    if robot.friction.passive:
        raise InputError(
            "friction.passive",
            robot.friction.passive[0].joint,
            "no friction in passive joints, which the function blocks do not have: identify the "
            "robot without it, or export robot.with_friction(passive=())",
        )


def _checked(name: str) -> str:
    """A name that every tool takes."""
    found = re.fullmatch(r"[A-Za-z](?:_?[A-Za-z0-9])*", name)
    if found is None or len(name) > SHORT:
        allowed = f"1 to {SHORT} letters, digits and single underscores, a letter first"
        raise InputError("name", name, allowed)
    return name


def _readme(
    robot: Robot, own: str, numbers: PayloadNumbers, blocks: Sequence[FunctionBlock]
) -> str:
    names = {name: f"FB_{own}_{name}" for name in ("Feedforward", "PayloadEstimator")}
    offset = ", ".join(f"{value:g}" for value in robot.payload.offset)
    words = {
        **names,
        "robot": robot.name,
        "own": own,
        "provenance": "\n".join(f"    {line}" for line in provenance(robot, "Function blocks")),
        "blocks": "\n".join(_row(block) for block in blocks),
        "tables": "\n\n".join(_variables(block) for block in blocks),
        "psi": ", Psi := Psi" if robot.dof == 4 else "",
        "rest": _rest_of_call(robot),
        "angles": ", ".join(f"Q{i} := Actual{i}" for i in range(1, robot.dof + 1)),
        "torques": ", ".join(f"Tau{i} := Torque{i}" for i in range(1, robot.dof + 1)),
        "rate": f"{numbers.rate:g}",
        "milliseconds": f"{1e3 / numbers.rate:g}",
        "step": numbers.step,
        "payload": f"{robot.payload.mass:g} kg at ({offset}) m from the platform point",
    }
    return filled("structured_text", "README.md", words)


def _rest_of_call(robot: Robot) -> str:
    names = ("X", "Y", "Z", "Psi")[: robot.dof]
    rates = [f"{kind}{name} := {kind}{name}" for kind in ("V", "A") for name in names]
    return ", ".join(rates)


def _row(block: FunctionBlock) -> str:
    size = sum(_size(v.kind) for v in (*block.inputs, *block.outputs, *block.inner))
    return f"| `{block.name}` | {block.purpose} | {block.operations} | {size} |"


def _size(kind: str) -> int:
    """Bytes of a variable; of an instance none, it has its own row."""
    if not kind.startswith("ARRAY"):
        return BYTES.get(kind, 0)
    bounds, _, element = kind.removeprefix("ARRAY[0..").partition("] OF ")
    return (int(bounds) + 1) * BYTES[element]


def _variables(block: FunctionBlock) -> str:
    rows = [f"### {block.name}", "", "| | variable | type | |", "|---|---|---|---|"]
    for word, variables in (("in", block.inputs), ("out", block.outputs)):
        rows += [f"| {word} | `{v.name}` | {v.kind} | {v.comment} |" for v in variables]
    return "\n".join(rows)
