"""Every command's own help in the page `command-line`, so that the page cannot drift."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

PAGE = "command-line"
MARK = "<!-- the help of every command -->"
WIDTH = 88  # columns of the help


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Context]]:
    """Every command below a group, depth first, by its name and with a context for its help."""
    parent, names = None, {"help_option_names": ["-h", "--help"]}  # as the command line has them
    for name in ("deltadyn", *path):
        parent = click.Context(group, info_name=name, parent=parent, **names)
    assert parent is not None
    for name in group.list_commands(parent):
        command = group.get_command(parent, name)
        assert command is not None
        yield (
            " ".join((*path, name)),
            click.Context(command, info_name=name, parent=parent, terminal_width=WIDTH),
        )
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


def page(group: click.Group) -> str:
    """A section with the help text of every command, as Markdown."""
    sections = []
    for name, context in commands(group):
        level = "#" * (2 + name.count(" "))
        told = context.command.get_help(context)
        sections.append(f"{level} {name}\n\n```text\n{told}\n```\n")
    return "\n".join(sections)


def fill_in(app: Any, docname: str, source: list[str]) -> None:
    """Put the help texts where the page has its mark."""
    if docname != PAGE:
        return
    from deltadyn.cli import main

    if MARK not in source[0]:
        raise ValueError(f"{PAGE}.md has no line {MARK!r}")
    source[0] = source[0].replace(MARK, page(main))


def setup(app: Any) -> dict[str, Any]:
    """Listen for the page."""
    app.connect("source-read", fill_in)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
