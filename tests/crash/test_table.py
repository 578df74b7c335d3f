"""Every command that writes is in the table of cases."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from tests.crash.cases import CASES, NOTHING, SAME

from deltadyn.cli import main
from deltadyn.commands.common import OUTPUTS
from deltadyn.exports.export import TARGETS


def commands(group: click.Group = main, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """All commands with their names; a group counts by its own."""
    for key, command in group.commands.items():
        whole = f"{name}{key}"
        if isinstance(command, click.Group):
            yield from commands(command, f"{whole} ")
        else:
            yield whole, command


def calls(name: str) -> list[tuple[str, ...]]:
    """The calls of the table that run a command."""
    words = tuple(name.split())
    found = [case.new for case in CASES.values() if case.call is None]
    return [call for call in found if call[: len(words)] == words]


@pytest.mark.parametrize("name", [name for name, _ in commands()])
def test_a_command_is_in_the_table_or_writes_nothing(name: str) -> None:
    """And every option that names an output is used there."""
    if name in NOTHING:
        assert not calls(name)
        return
    if name in SAME:
        assert SAME[name] in CASES
        return
    assert calls(name), f"{name}: give a case in tests/crash/cases.py, or say that it writes none"
    options = [item for item in dict(commands())[name].params if isinstance(item, click.Option)]
    for option in options:
        writes = option.name in OUTPUTS or "to write" in (option.help or "").lower()
        if writes and not option.is_flag:
            used = any(flag in call for flag in option.opts for call in calls(name))
            assert used, f"{name} {option.opts[0]}: no case writes it"


def test_every_export_target_is_in_the_table() -> None:
    assert {call[2] for call in calls("export") if call[1] != "."} == set(TARGETS)


def test_what_writes_nothing_is_there() -> None:
    names = [name for name, _ in commands()]
    assert {*NOTHING, *SAME} <= set(names)
