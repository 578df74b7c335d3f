"""Target `structured-text`: function blocks for CODESYS, TwinCAT 3 and B&R Automation Studio."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from xml.sax.saxutils import escape, quoteattr

from deltadyn.errors import InputError
from deltadyn.exports.bank import BankExport
from deltadyn.exports.common import (
    ExportFiles,
    PayloadNumbers,
    axis_lines,
    commented,
    filled,
    fingerprint,
    kind_of,
    payload_estimator,
    platform_kind,
    provenance,
    speech,
    stamp_fingerprint,
    standard,
)
from deltadyn.exports.force import ForceExport, force_export
from deltadyn.exports.left_out import drop_terms, left_out_section
from deltadyn.exports.model_test import model_test
from deltadyn.exports.payload_test import payload_test
from deltadyn.exports.structured_text.bank import bank_blocks
from deltadyn.exports.structured_text.blocks import (
    ELEMENTARY,
    EXPORT_NAME,
    SHORT,
    FunctionBlock,
    Variable,
    kinematic_blocks,
    named,
    short_name,
    torque_blocks,
)
from deltadyn.exports.structured_text.checks import CLOSE, SINGLE, model_test_block
from deltadyn.exports.structured_text.codesys import codesys_files
from deltadyn.exports.structured_text.force import AGREEMENT, force_blocks
from deltadyn.exports.structured_text.payload import payload_blocks
from deltadyn.exports.structured_text.self_test import payload_test_block
from deltadyn.force import Tare
from deltadyn.kinematics.actuation import HALVES
from deltadyn.payload.bank_estimator import BankEstimator
from deltadyn.payload.estimator import PayloadEstimator
from deltadyn.robot import Robot

ARM_FRAME = "shoulder axes, z up, the platform at\nnegative z"
RAIL_FRAME = "rails' points of q = 0, z up"
ARM_ASSEMBLY = "elbows outward and the platform\nbelow them"
RAIL_ASSEMBLY = "carriages above the\nplatform, outward of it on level rails,"
README = "README-structured-text.md"
EVIDENCE = """is evidence of when a load comes and goes; its
delay (50 ms early to 150 ms late) is learned, and a stuck or noisy one does no harm."""
COMMAND = "is a pick or a release at once: it must\nbe on time."
BYTES = {"LREAL": 8, "DINT": 4, "BOOL": 1}


@dataclass(frozen=True)
class Options:
    """Options of target `structured-text`.

    `name` stands in the names of the blocks, FB_<name>_Feedforward; else it is the robot's.
    `rate` (Hz) is that of the task which calls the payload estimator; `estimator` gives its noise
    and thresholds, measured ones where it has them, and its own rate. With a `tare` the force
    observer of that empty run is written too. With `codesys_dynamics` there is a block that
    implements `ISMDynamics` of CODESYS SoftMotion.
    """

    name: str | None = None
    rate: float = 2000.0
    estimator: PayloadEstimator | str | None = None
    tare: Tare | None = None
    codesys_dynamics: bool = False


def files(robot: Robot, options: Options | None = None) -> ExportFiles:
    """Names and texts of the export."""
    complete = robot
    robot, dropped = drop_terms(robot, passive="the function blocks have that of the drives alone")
    chosen = Options() if options is None else options
    own = short_name(robot) if chosen.name is None else _checked(chosen.name)
    texts = _blocks(robot, own, chosen, complete)
    if chosen.codesys_dynamics:
        what = "Dynamics for CODESYS SoftMotion"
        texts |= codesys_files(robot, own, head(robot, what))
    texts[README] += left_out_section(complete, dropped)
    return stamp_fingerprint(texts, dropped)


def _blocks(robot: Robot, own: str, chosen: Options, complete: Robot) -> dict[str, str]:
    """The blocks that all tools take."""
    if robot.legs != 3:
        return _without_estimators(robot, own, chosen)
    estimator = payload_estimator(robot, chosen.estimator, rate=chosen.rate, complete=complete)
    force = force_export(robot, chosen.tare)
    bare = [*model_blocks(robot), *_weighing(robot, estimator)]
    work = {block.name: block.operations for block in bare}
    test = payload_test(robot, estimator)
    most = work["FeedforwardJoints"] + work["PayloadEstimator"]
    bare.append(payload_test_block(robot, test, estimator.grid.rate, most))
    bare += force_blocks(robot, force)
    blocks = [with_export(named(block, own)) for block in bare]
    return _texts(robot, own, blocks, _readme(robot, own, estimator, blocks, force))


def _without_estimators(robot: Robot, own: str, chosen: Options) -> dict[str, str]:
    """Kinematics and torques alone: payload and force are exported for three limbs."""
    for name, value in (("estimator", chosen.estimator), ("tare", chosen.tare)):
        if value is not None:
            allowed = f"none for {robot.legs} limbs: payload and force are exported for three"
            raise InputError(f"{name} of an export", type(value).__name__, allowed)
    bare = model_blocks(robot)
    blocks = [with_export(named(block, own)) for block in bare]
    names = [name.capitalize() for name in robot.coordinates]
    offset = ", ".join(f"{value:g}" for value in robot.payload.offset)
    followed = FOLLOWED if platform_kind(robot) in HALVES else ""
    words = {
        "robot": robot.name,
        "own": own,
        "kind": f"A {kind_of(robot)}. {'; '.join(axis_lines(robot))}.",
        "provenance": "\n".join(f"    {line}" for line in provenance(robot, "Function blocks")),
        "Feedforward": f"FB_{own}_Feedforward",
        "point": ", ".join(f"{name} := {name}" for name in names),
        "rest": _rest_of_call(robot),
        "payload": f"{robot.payload.mass:g} kg at ({offset}) m from the platform point",
        "assembly": RAIL_ASSEMBLY if robot.linear else ARM_ASSEMBLY,
        "followed": followed,
        "blocks": "\n".join(_row(block) for block in blocks),
        "tables": "\n\n".join(_variables(block) for block in blocks),
        **_self_test_words(robot, own),
    }
    return _texts(robot, own, blocks, filled("structured_text", "README-model.md", words))


def _self_test_words(robot: Robot, own: str) -> dict[str, str]:
    """What a README says of the self-test of the model."""
    return {
        "SelfTest": f"FB_{own}_SelfTest",
        "said_torques": speech(robot)["torques"],
        "self_tolerance": f"{CLOSE:g} of the largest number",
        "self_single": f"{SINGLE:g}",
        "placed": PLACED if robot.turns else "",
    }


PLACED = """ `FeedforwardLoad` and `JointsLoad` are the same with the load's own place,
`PayloadX` and `PayloadY`, instead of the file's: m from the platform point, in the frame that
turns by psi. Its inertia matters: 0.05 kg m^2 at 100 rad/s^2 are 5 N m."""
FOLLOWED = """\
The pose of the joints has no closed form: `ForwardKinematics` follows it from that of the call
before by Newton's method, in the same assembly. Call it in every cycle; set `Reset` for one call
after the joints have moved elsewhere in between. After a failure it begins anew at the middle of
the reach. `FeedforwardJoints` has one of its own inside. The operations below are those of the
longest way; in a cycle in which the joints moved little it takes 2 to 4 steps of `PoseStep`.

"""


def with_export(block: FunctionBlock) -> FunctionBlock:
    """The block with an output that names the export, set from that of the blocks inside.

    A compiler finds no such name in a block, or in declarations, of another export.
    """
    inside = [f"{v.name}.{EXPORT_NAME}" for v in block.inner if not ELEMENTARY.search(v.kind)]
    output = Variable(EXPORT_NAME, "BOOL", "names the export: blocks of another do not compile")
    joined = "\n    AND ".join(inside)
    line = f"{EXPORT_NAME} := {joined or 'TRUE'};"
    return replace(block, outputs=(*block.outputs, output), lines=(line, *block.lines))


def _texts(robot: Robot, own: str, blocks: Sequence[FunctionBlock], readme: str) -> dict[str, str]:
    """README and blocks in the files of all tools."""
    texts = {
        README: readme,
        f"{own}.st": plain(robot, blocks),
        f"{own}.plcopen.xml": plcopen(robot, own, blocks),
        f"br/{own}.fun": br_declarations(robot, blocks),
    }
    for block in blocks:
        texts[f"twincat/{block.name}.TcPOU"] = twincat(robot, block)
        texts[f"br/{block.name}.st"] = br_statements(robot, block)
    return texts


def model_blocks(robot: Robot) -> list[FunctionBlock]:
    """Kinematics, torques, and the self-test of both."""
    blocks = [*kinematic_blocks(robot), *torque_blocks(robot)]
    work = sum(block.operations for block in blocks)
    return [*blocks, model_test_block(robot, model_test(robot), work)]


def _weighing(robot: Robot, estimator: PayloadEstimator) -> list[FunctionBlock]:
    """The blocks of a payload estimator."""
    if isinstance(estimator, BankEstimator):
        return bank_blocks(robot, BankExport.of(estimator))
    return payload_blocks(robot, PayloadNumbers.of(robot, estimator.numbers))


def _cycles(estimator: PayloadEstimator) -> str:
    """Which calls of an estimator do what."""
    if isinstance(estimator, BankEstimator):
        n, keep = estimator.row_numbers, estimator.bank_numbers.keep
        return (
            f"It is the bank of {keep} hypotheses, with room for {keep + 8}. Its model runs in\n"
            f"every {n.step}th call, the hypotheses in every {n.step * n.every}th, "
            "which takes the longest."
        )
    return (
        f"Its model runs in every {estimator.numbers.step}th call, the filter behind it in the\n"
        "next one, the search for changes in another."
    )


def _checked(name: str) -> str:
    """A name that every tool takes."""
    found = re.fullmatch(r"[A-Za-z](?:_?[A-Za-z0-9])*", name)
    if found is None or len(name) > SHORT:
        allowed = f"1 to {SHORT} letters, digits and single underscores, a letter first"
        raise InputError("name", name, allowed)
    return name


def _readme(
    robot: Robot,
    own: str,
    estimator: PayloadEstimator,
    blocks: Sequence[FunctionBlock],
    force: ForceExport | None,
) -> str:
    names = {name: f"FB_{own}_{name}" for name in ("Feedforward", "PayloadEstimator")}
    offset = ", ".join(f"{value:g}" for value in robot.payload.offset)
    usual, said = standard(robot), speech(robot)
    words = {
        **names,
        **_self_test_words(robot, own),
        "kind": "" if usual else f"A {kind_of(robot)}. {'; '.join(axis_lines(robot))}.\n\n",
        "units": "N m" if usual else "N, N m",
        "frame": RAIL_FRAME if robot.linear else ARM_FRAME,
        "assembly": RAIL_ASSEMBLY if robot.linear else ARM_ASSEMBLY,
        "Angles": said["Angles"],
        "torque": said["torque"],
        "angles_said": said["angles"],
        "torques_said": said["torques"],
        "robot": robot.name,
        "own": own,
        "provenance": "\n".join(f"    {line}" for line in provenance(robot, "Function blocks")),
        "blocks": "\n".join(_row(block) for block in blocks),
        "tables": "\n\n".join(_variables(block) for block in blocks),
        "psi": ", Psi := Psi" if robot.turns else "",
        "rest": _rest_of_call(robot),
        "angles": ", ".join(f"Q{i} := Actual{i}" for i in range(1, robot.dof + 1)),
        "torques": ", ".join(f"Tau{i} := Torque{i}" for i in range(1, robot.dof + 1)),
        "rate": f"{estimator.grid.rate:g}",
        "milliseconds": f"{1e3 / estimator.grid.rate:g}",
        "cycles": _cycles(estimator),
        "signal": EVIDENCE if isinstance(estimator, BankEstimator) else COMMAND,
        "PayloadSelfTest": f"FB_{own}_PayloadSelfTest",
        "payload": f"{robot.payload.mass:g} kg at ({offset}) m from the platform point",
    }
    words["force"] = "" if force is None else _force_section(robot, own, force, words)
    return filled("structured_text", "README.md", words)


def _force_section(robot: Robot, own: str, force: ForceExport, words: Mapping[str, object]) -> str:
    """What the README says of the force observer."""
    numbers, test = force.numbers, force.test
    inertia = ", PayloadInertia := 0.0" if robot.dof == 4 else ""
    more = {
        "ForceObserver": f"FB_{own}_ForceObserver",
        "ForceSelfTest": f"FB_{own}_ForceSelfTest",
        "force_load": f"PayloadMass := 0.0{inertia}, PayloadStd := 0.0",
        "force_rate": f"{numbers.rate:g}",
        "force_milliseconds": f"{1e3 / numbers.rate:g}",
        "force_look": f"{1e3 * numbers.look / numbers.rate:.0f}",
        "force_settle": f"{1e3 * numbers.settle / numbers.rate:.0f}",
        "force_limit": f"{numbers.limit:.2f}",
        "force_samples": test.samples,
        "force_checks": len(test.checks),
        "force_tolerance": f"{AGREEMENT * test.scale:.2g}",
    }
    return filled("structured_text", "README-force.md", {**words, **more})


def _rest_of_call(robot: Robot) -> str:
    names = [name.capitalize() for name in robot.coordinates]
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


# Function blocks as files: plain IEC text, TwinCAT 3, PLCopen XML and B&R Automation Studio.

#: Root of the identifiers of TwinCAT objects: the same robot gives the same ones.
ROOT = uuid.uuid5(uuid.NAMESPACE_URL, "deltadyn/structured-text")
EPOCH = "2000-01-01T00:00:00"  # the format wants a time; the same robot gives the same file
PLAIN = ("LREAL", "DINT", "BOOL")
SECTIONS = (("VAR_INPUT", "inputs"), ("VAR_OUTPUT", "outputs"), ("VAR", "inner"))
ARRAY = re.compile(r"ARRAY\[(\d+)\.\.(\d+)\] OF (\w+)")


def head(robot: Robot, what: str) -> str:
    """The comment at the head of a text."""
    text = "\n".join(provenance(robot, what))
    for mark in ("(*", "*)", "]]>"):  # what would begin or end a comment or the text of a file
        text = text.replace(mark, " ".join(mark))
    return commented(text.split("\n"), "(*", "  ", "*)")


def plain(robot: Robot, blocks: Sequence[FunctionBlock]) -> str:
    """All blocks in one text, declarations and statements together."""
    texts = [f"{declaration(block)}\n{statements(block)}\nEND_FUNCTION_BLOCK\n" for block in blocks]
    return "\n".join([head(robot, "Function blocks in IEC 61131-3 Structured Text"), *texts])


def declaration(block: FunctionBlock, per_line: int = 12) -> str:
    """FUNCTION_BLOCK and its variables; so many temporaries per line."""
    lines = [f"(* {block.purpose}. *)", f"FUNCTION_BLOCK {block.name}"]
    for keyword, field in SECTIONS:
        variables: tuple[Variable, ...] = getattr(block, field)
        if variables:
            lines += [keyword, *_declared(variables, per_line), "END_VAR"]
    return "\n".join(lines)


def _declared(variables: Sequence[Variable], per_line: int) -> list[str]:
    """One line each; the temporaries of straight-line code may share lines."""
    bare = [v for v in variables if not v.comment]
    lines = [f"    {v.name} : {v.kind}; (* {v.comment} *)" for v in variables if v.comment]
    for k in range(0, len(bare), per_line):
        names = ", ".join(v.name for v in bare[k : k + per_line])
        lines.append(f"    {names} : LREAL; (* temporaries *)")
    return lines


def statements(block: FunctionBlock) -> str:
    """The body of a block."""
    return "\n".join(block.lines)


def twincat(robot: Robot, block: FunctionBlock) -> str:
    """A block as a TwinCAT 3 object."""
    words = {
        "name": block.name,
        "id": uuid.uuid5(ROOT, f"{fingerprint(robot)}/{block.name}"),
        "head": head(robot, block.purpose),
        "declaration": declaration(block),
        "statements": statements(block),
    }
    return filled("structured_text", "pou.TcPOU", words)


def plcopen(robot: Robot, own: str, blocks: Sequence[FunctionBlock]) -> str:
    """All blocks in the exchange format of PLCopen (TC6, version 2.01)."""
    words = {
        "own": own,
        "release": version("deltadyn"),
        "epoch": EPOCH,
        "description": quoteattr("; ".join(provenance(robot, "Function blocks"))),
        "pous": "\n".join(_pou(block) for block in blocks),
    }
    return filled("structured_text", "plcopen.xml", words)


def _pou(block: FunctionBlock) -> str:
    sections = (("inputVars", "inputs"), ("outputVars", "outputs"), ("localVars", "inner"))
    lines = [f'      <pou name="{block.name}" pouType="functionBlock">', "        <interface>"]
    for tag, field in sections:
        variables: tuple[Variable, ...] = getattr(block, field)
        if variables:
            rows = [f"            {_variable(v)}" for v in variables]
            lines += [f"          <{tag}>", *rows, f"          </{tag}>"]
    return "\n".join(
        [
            *lines,
            "        </interface>",
            '        <body><ST><xhtml:p xml:space="preserve">'
            f"{escape(statements(block))}\n</xhtml:p></ST></body>",
            "      </pou>",
        ]
    )


def _variable(variable: Variable) -> str:
    array = ARRAY.fullmatch(variable.kind)
    if array is not None:
        low, high, kind = array.groups()
        inner = f'<dimension lower="{low}" upper="{high}" />'
        kind_text = f"<array>{inner}<baseType><{kind} /></baseType></array>"
    elif variable.kind in PLAIN:
        kind_text = f"<{variable.kind} />"
    else:
        kind_text = f'<derived name="{variable.kind}" />'
    text = ""
    if variable.comment:
        note = escape(variable.comment)
        text = f"<documentation><xhtml:p>{note}</xhtml:p></documentation>"
    return f'<variable name="{variable.name}"><type>{kind_text}</type>{text}</variable>'


def br_declarations(robot: Robot, blocks: Sequence[FunctionBlock]) -> str:
    """The .fun file of a B&R library, with one variable per line as its editor writes them."""
    texts = [f"{declaration(block, 1)}\nEND_FUNCTION_BLOCK\n" for block in blocks]
    return "\n".join([head(robot, "Declarations of the function blocks, B&R"), *texts])


def br_statements(robot: Robot, block: FunctionBlock) -> str:
    """The .st file of a block in a B&R library; numbers name their type."""
    typed = re.sub(r"(?<![\w.#])(\d+\.\d+(?:E[-+]?\d+)?)", r"LREAL#\1", statements(block))
    lines = [head(robot, block.purpose), f"FUNCTION_BLOCK {block.name}", typed]
    return "\n".join([*lines, "END_FUNCTION_BLOCK", ""])
