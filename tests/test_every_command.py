"""Every command of the command line once, in the order of a user's path through a project.

What each of them does in detail is tested in its own room.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from deltadyn.cli import main

#: Calls in order: each may read what those before it wrote. The number is the exit status.
CALLS = (
    ("robots", 0),
    ("init . --robot sipro-d3-1200", 0),
    ("excite . --duration 4 --harmonics 3 --time-limit 5 --out excite.csv", 0),
    ("simulate . --motion excite.csv --preset lab --seed 1 --out logs/D1/2026-05-03.csv", 0),
    ("simulate . --motion adept --preset lab --seed 2 --out held-out.csv", 0),
    ("check . logs/D1/2026-05-03.csv", 0),
    ("identify . logs/D1/2026-05-03.csv --terms file --out mine", 0),
    ("validate mine.yaml held-out.csv", 0),
    ("report . logs/D1/2026-05-03.csv --methods base --validate held-out.csv", 0),
    ("export mine.yaml c --out controller", 0),
    ("sizing mine.yaml --payloads 0,1 --cycles 60 --out sizing.html", 0),
    ("coupling mine.yaml --resolution 7 --out coupling.html", 0),
    ("payload mine.yaml held-out.csv", 1),  # it holds no pick
    ("force mine.yaml held-out.csv --empty logs/D1/2026-05-03.csv", 2),  # too short an empty run
    ("calibrate . --plan 12 --out poses.csv", 0),
    ("fleet compare . logs", 2),  # one robot is no fleet
    ("fleet identify . logs", 0),
    ("fleet payload . logs", 0),
    ("fleet drift . logs", 0),
    ("history add . logs/D1/2026-05-03.csv --serial D1 --time 2026-05-03T02:00Z --terms file", 0),
    ("history list", 0),
    ("history show 1", 0),
    ("history correct 1 --reason typo --note warm", 0),
    ("history refit D1", 0),
    ("history drift --serial D1", 0),
    ("history export --out tables", 0),
    ("history backup backup.db", 0),
    ("history forget --older-than 90y", 0),
    ("history remove 1 --reason typo", 0),
    ("history journal", 0),
    ("reproduce ladder", 0),
    ("completion bash", 0),
    ("repeat simulate", 0),
    ("demo --quick --out demo", 0),
    ("studio --no-such-option", 2),  # it serves until it is stopped: tests/studio
    ("bench --no-such-option", 2),  # a race of minutes: tests/bench
)
#: Commands whose run takes seconds: tests/reproduce has the core of each paper.
ELSEWHERE = {"reproduce audit", "reproduce falezza2020", "reproduce falezza2022"}
ELSEWHERE |= {"reproduce gnad2024", "reproduce kim2022", "reproduce telescopic2022"}


def commands(command: click.Command = main, name: str = "") -> Iterator[str]:
    """Names of all commands, those of groups after their group's."""
    if not isinstance(command, click.Group):
        yield name
        return
    context = click.Context(command)
    for child in command.list_commands(context):
        found = command.get_command(context, child)
        assert found is not None
        yield from commands(found, f"{name} {child}".strip())


def test_every_command_has_a_call() -> None:
    called = {name for name in commands() for call, _ in CALLS if f"{call} ".startswith(f"{name} ")}
    assert called | ELSEWHERE == set(commands())


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(commands()))
def test_help(name: str) -> None:
    result = CliRunner().invoke(main, [*name.split(), "--help"])
    assert result.exit_code == 0
    assert f" deltadyn {name}" in " ".join(result.output.split())


def test_the_path_of_a_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs" / "D1").mkdir(parents=True)
    for call, status in CALLS:
        result = CliRunner().invoke(main, call.split())
        assert result.exit_code == status, f"deltadyn {call}\n{result.output}"
        assert "Traceback" not in result.output
