"""Results of a reproduction as a section of a Markdown page, from the record of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deltadyn.report.papers import CLAIM_COLUMNS
from deltadyn.reproduce.claims import Claim
from deltadyn.reproduce.result import Table


def results_markdown(record: Mapping[str, Any]) -> str:
    """Claims, tables, statements and checks of `Reproduction.as_dict()`.

    `record` also has `written_with`: the seed and the version of the sources.
    """
    claims = [Claim.from_dict(claim) for claim in record["claims"]]
    blocks = [f"Written by `deltadyn reproduce {record['paper']}`, {record['written_with']}."]
    if claims:
        blocks.append(markdown_table(CLAIM_COLUMNS, [list(c.as_dict().values()) for c in claims]))
    tables = [Table.from_dict(table) for table in record["tables"]]
    if any("far" in table.grades().values() for table in tables):
        blocks.append("Numbers of ours in italics are far from the paper's.")
    for table in tables:
        blocks += [f"**{escape_markdown(table.title)}**", table_markdown(table)]
        if table.note:
            blocks.append(escape_markdown(table.note))
    statements = [f"- {escape_markdown(text)}" for text in record["statements"]]
    if statements:
        blocks.append("\n".join(["Assumed and noticed:", "", *statements]))
    if record["checks"]:
        rows = [
            [
                check["what"],
                f"{check['value']:.4g}" if check["value"] is not None else "-",
                check["allowed"],
                check["unit"],
                "yes" if check["passed"] else "**no**",
            ]
            for check in record["checks"]
        ]
        blocks.append(markdown_table(("check", "value", "allowed", "unit", "passed"), rows))
    return "\n\n".join(blocks) + "\n"


def table_markdown(table: Table) -> str:
    """A table; our numbers that are far from the paper's in italics."""
    head, *body = table.texts()
    for (row, column), verdict in table.grades().items():
        if verdict == "far":
            body[row][column] = f"*{body[row][column]}*"
    return markdown_table(head, body)


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A pipe table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        f"| {' | '.join(escape_markdown(cell, emphasis=True) for cell in row)} |" for row in lines
    )


def escape_markdown(text: str, *, emphasis: bool = False) -> str:
    """Text whose bars, underscores and angle brackets show as they are.

    With `emphasis` asterisks are left as they are.
    """
    for mark in "\\|_<" if emphasis else "\\|_<*":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())
