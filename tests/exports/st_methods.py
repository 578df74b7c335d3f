"""Blocks with methods: a stub of CODESYS' interface of dynamics, and such a block as a plain one.

The stub is what this project takes the interface for. A block that implements it becomes a plain
function block which the evaluator runs: members of structures get names of their own, and what the
method returns is an output.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

STUB = """
INTERFACE ISMDynamics
METHOD AxesStateToTorque : SMC_ERROR
VAR_IN_OUT CONSTANT
    params : SMDYN.DynamicsParams;
    aPos : TRAFO.AXISPOS_REF;
    aVel : TRAFO.AXISPOS_REF;
    aAcc : TRAFO.AXISPOS_REF;
END_VAR
VAR_IN_OUT
    aTorque : TRAFO.AXISPOS_REF;
END_VAR
END_METHOD
END_INTERFACE
"""
MEMBERS = [f"a{k}" for k in range(6)]  # of AXISPOS_REF
ERRORS = {"SMC_ERROR.SMC_NO_ERROR": 0, "SMC_ERROR.SMC_TRAFO_INVALID_CONSTELLATION": 1}
SECTION = re.compile(r"^(VAR\w*(?: CONSTANT)?)\n(.*?)^END_VAR$", re.M | re.S)
METHOD = re.compile(r"^METHOD (\w+) : (\w+)\n(.*?)^END_METHOD$", re.M | re.S)
VARIABLE = re.compile(r"^\s*(\w+) : ([\w.]+)(?: := [\d.]+)?;", re.M)


@dataclass(frozen=True)
class Method:
    """Name, type of the result, variables (section, name, type) and statements."""

    name: str
    kind: str
    variables: tuple[tuple[str, str, str], ...]
    body: str

    @property
    def arguments(self) -> list[tuple[str, str, str]]:
        """The variables that a caller sees."""
        return [variable for variable in self.variables if variable[0] != "VAR"]


def methods(text: str) -> list[Method]:
    """The methods of a block or an interface."""
    return [
        Method(match[1], match[2], _variables(match[3]), match[3][match[3].rindex("END_VAR") + 7 :])
        for match in METHOD.finditer(text)
    ]


def _variables(text: str) -> tuple[tuple[str, str, str], ...]:
    found = SECTION.findall(text)
    return tuple((s, name, kind) for s, own in found for name, kind in VARIABLE.findall(own))


def check_implements(text: str) -> Method:
    """The only method of a block that implements the stub, with the stub's own signature."""
    assert re.search(r"^FUNCTION_BLOCK \w+ IMPLEMENTS SMDYN\.ISMDynamics$", text, re.M)
    (wanted,), (found,) = methods(STUB), methods(text)
    assert (found.name, found.kind) == (wanted.name, wanted.kind)
    assert found.arguments == wanted.arguments
    return found


def plain_block(text: str) -> str:
    """The method of a block as a plain function block `Lowered`; the result is `Result`."""
    method = check_implements(text)
    start = text.index("FUNCTION_BLOCK")
    own = _variables(text[start : text.index("METHOD", start)])
    lines: dict[str, list[str]] = {"VAR_INPUT": [], "VAR_OUTPUT": ["Result : DINT;"], "VAR": []}
    inner = [variable for variable in method.variables if variable[0] == "VAR"]
    for section, name, kind in (*own, *inner):
        lines[section].append(f"{name} : {kind};")
    body = method.body.replace(f"{method.name} :=", "Result :=")
    for section, name, kind in method.arguments:
        if not kind.endswith("AXISPOS_REF"):
            assert name not in body  # a structure whose members nobody knows
            continue
        to = "VAR_INPUT" if section.endswith("CONSTANT") else "VAR_OUTPUT"
        lines[to] += [f"{name}_{member} : LREAL;" for member in MEMBERS]
        body = re.sub(rf"\b{name}\.(a\d)\b", rf"{name}_\1", body)
    for name, value in ERRORS.items():
        body = body.replace(name, str(value))
    sections = [f"{name}\n" + "\n".join(rows) + "\nEND_VAR" for name, rows in lines.items()]
    return "\n".join(["FUNCTION_BLOCK Lowered", *sections, body, "END_FUNCTION_BLOCK\n"])
