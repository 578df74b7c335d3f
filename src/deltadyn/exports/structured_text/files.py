"""Function blocks as files: plain IEC text, TwinCAT 3, PLCopen XML and B&R Automation Studio."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from importlib.metadata import version
from xml.sax.saxutils import escape, quoteattr

from deltadyn.exports.common import commented, filled, fingerprint, provenance
from deltadyn.exports.structured_text.blocks import FunctionBlock, Variable
from deltadyn.robot import Robot

#: Root of the identifiers of TwinCAT objects: the same robot gives the same ones.
ROOT = uuid.uuid5(uuid.NAMESPACE_URL, "deltadyn/structured-text")
EPOCH = "2000-01-01T00:00:00"  # the format wants a time; the same robot gives the same file
ELEMENTARY = ("LREAL", "DINT", "BOOL")
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
    elif variable.kind in ELEMENTARY:
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
