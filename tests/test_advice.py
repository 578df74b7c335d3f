"""Messages advise nothing that does not exist: options of the command that runs, and no others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import deltadyn
from deltadyn.cli import main
from deltadyn.commands.common import BY_KIND, OPTION, SPOKEN, hint, spoken
from deltadyn.errors import DeltadynError, UnidentifiableError
from deltadyn.excitation.criteria import choose_parameters

SOURCE = Path(deltadyn.__file__).parent
COMPILER = {"--no-insert-timestamp"}  # options of other programs in our texts


def leaves(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    """Every command that runs, with its words."""
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from leaves(inner, (*path, name))
    else:
        yield " ".join(path), command


COMMANDS = dict(leaves(main, ()))


def options_of(command: click.Command) -> set[str]:
    return {name for item in command.params for name in (*item.opts, *item.secondary_opts)}


def texts() -> Iterator[tuple[str, str]]:
    """Every text of the source with the place where it stands."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", node.value


@pytest.mark.full
def test_every_option_in_a_text_is_an_option_of_a_command() -> None:
    known = {"--help", "--version", "--verbose", *COMPILER}
    known.add("--digest")  # of the module that traces the kernels
    known = known.union(*(options_of(command) for command in COMMANDS.values()))
    found = [(place, name) for place, text in texts() for name in OPTION.findall(text)]
    assert len(found) > 50
    assert [item for item in found if item[1] not in known] == []


@pytest.mark.full
def test_a_command_in_a_text_has_the_options_that_stand_behind_it() -> None:
    """`deltadyn export mine.yaml c --out x` and the like, in messages, help and examples."""
    words = sorted(COMMANDS, key=len, reverse=True)
    pattern = re.compile(rf"deltadyn ({'|'.join(map(re.escape, words))})\b([^`|;\n]*)")
    found = 0
    for place, text in texts():
        for command, rest in pattern.findall(" ".join(text.split())):
            for name in OPTION.findall(rest.partition(". ")[0].partition("deltadyn ")[0]):
                found += 1
                assert name in options_of(COMMANDS[command]) | {"--help"}, (place, command)
    assert found > 20


@pytest.mark.parametrize("name", COMMANDS)
def test_advice_is_for_the_command_that_runs(name: str) -> None:
    """Hints, and the library's advice in the words of the command line."""
    command = COMMANDS[name]
    known = options_of(command) | {"--help"}
    errors = [type(kind, (DeltadynError,), {})("something is wrong") for kind in BY_KIND]
    errors += [UnidentifiableError((), ("a", "b")), UnidentifiableError((), ("a",), (), ("move",))]
    errors += [DeltadynError("no good. Or pass check=False"), DeltadynError("x cannot be written")]
    with click.Context(command, info_name=name):
        lines = [hint(error, name) for error in errors]
        lines += [spoken(str(error)) for error in errors]
        lines += [spoken(f"It is so; or {said}.") for said in SPOKEN]
    for line in lines:
        assert set(OPTION.findall(re.sub("`[^`]*`", "", line))) <= known, line
        assert "check=False" not in line
        assert "unidentifiable=" not in line


def test_advice_that_a_command_cannot_follow_is_left_out() -> None:
    text = "the log is wrong. Or pass check=False. In the robot file:\nsign: 1"
    with click.Context(COMMANDS["report"]):
        assert spoken(text) == "the log is wrong. In the robot file:\nsign: 1"
    with click.Context(COMMANDS["identify"]):
        assert spoken(text) == "the log is wrong. Or pass --no-check. In the robot file:\nsign: 1"


def test_excite_designs_for_what_can_be_identified(monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue's Quattro has moments that no motion identifies; the command drops them."""
    robot = deltadyn.load_robot("robnux-quattro")
    chosen = choose_parameters(robot, "exact", False, True)
    assert {"S", "S_s", "h_x", "h_y"} <= set(chosen.names)
    options: dict[str, object] = {}

    def design(*_: object, **keywords: object) -> None:
        options.update(keywords)
        raise UnidentifiableError((), ("S", "S_s", "h_x", "h_y"))

    monkeypatch.setattr("deltadyn.excitation.design_excitation", design)
    result = CliRunner().invoke(main, ["excite", "robnux-quattro"])
    assert options["unidentifiable"] == "drop"
    assert "--hold" not in result.output
