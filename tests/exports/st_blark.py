"""Calls of blark, a parser of TwinCAT's dialect of IEC 61131-3 that others wrote."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.exports.st_evaluator import load

KEPT = "IF|THEN|ELSIF|ELSE|END_IF|NOT|RETURN|ABS|SQRT|EXP|ATAN|SIN|COS"
SHAPELESS = re.compile(rf"\b(?!(?:{KEPT})\b)[A-Za-z]\w*|\d+\.\d+(?:E-?\d+)?")


def parts(text: str) -> dict[str, str]:
    """The function blocks of a text, by name; the head goes with the first."""
    found = {}
    for part in re.split(r"(?<=END_FUNCTION_BLOCK\n)", text)[:-1]:
        found[re.findall(r"^FUNCTION_BLOCK (\w+)", part, re.M)[0]] = part
    return found


def check_text(text: str) -> Any:
    """Parse a text; the parser's tree of its only block."""
    from blark.parse import parse_source_code

    result = parse_source_code(text)
    if result.exception is not None:
        raise result.exception
    (block,) = result.transform().items
    return block


def one_of_each_shape(text: str) -> str:
    """The block with the first statement of every shape: names and numbers do not count.

    Straight-line code says the same few things hundreds of times, and blark takes 0.4 s per 1000
    characters.
    """
    end = text.rindex("END_VAR") + len("END_VAR\n")
    lines = text[end:].removesuffix("END_FUNCTION_BLOCK\n").strip().splitlines()
    shapes: dict[str, str] = {}
    statement, depth = "", 0
    for line in lines:
        depth += len(re.findall(r"\bIF\b", line)) - len(re.findall(r"\bEND_IF\b", line))
        statement += f"{line}\n"
        if depth == 0 and statement.count("(") == statement.count(")"):  # calls span lines
            shapes.setdefault(SHAPELESS.sub("", statement), statement)
            statement = ""
    assert not statement
    return f"{text[:end]}{''.join(shapes.values())}END_FUNCTION_BLOCK\n"


def check_block(text: str) -> None:
    """Parse a block; the parser finds the name and the variables that the evaluator finds."""
    block = check_text(text)
    head = f"{text[: text.rindex('END_VAR')]} END_VAR END_FUNCTION_BLOCK"
    (own,) = load(head).values()
    assert str(block.name) == own.name
    names = [
        str(variable.name).lower()
        for section in block.declarations
        for item in section.items
        for variable in item.variables
    ]
    assert names == list(own.variables)
    assert len(block.body.statements) >= 10


def twincat_parts(path: Path) -> list[str]:
    """What the parser finds in a TwinCAT object, by its own reader of the format."""
    from blark.parse import parse

    results = list(parse(path))
    for result in results:
        if result.exception is not None:
            raise result.exception
    return [str(result.identifier).rpartition("/")[2] for result in results]
