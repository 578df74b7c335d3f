"""What reaches a person: no password, no control character, no message that fills the screen."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import deltadyn as dd
from deltadyn.cli import main
from deltadyn.errors import DeltadynError, InputError, RobotError, UnknownNameError
from deltadyn.messages import escape_control_characters, hide_passwords, shorten


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("mqtt://user:pass@broker/cell", "mqtt://user:***@broker/cell"),
        ("opc.tcp://u:p%40x@plc:4840/a", "opc.tcp://u:***@plc:4840/a"),
        ("postgresql+psycopg://me:pa@ss@host/db", "postgresql+psycopg://me:***@host/db"),
        ("postgresql://me@host/db?password=abc&x=1", "postgresql://me@host/db?password=***&x=1"),
        ("https://TOKEN@hooks/a?sig=ab#x", "https://***@hooks/a?sig=***"),
        ("https://h/a?access_token=a&signals=3", "https://h/a?access_token=***&signals=3"),
        ("s3://key:secret@bucket/logs and ads://1.2.3.4.1.1:851/q=GVL.q,tau=GVL.tau",
         "s3://key:***@bucket/logs and ads://1.2.3.4.1.1:851/q=GVL.q,tau=GVL.tau"),
        ("no address: a@b, c:d@e", "no address: a@b, c:d@e"),
        ("see https://host/page for user@host", "see https://host/page for user@host"),
    ],
)  # fmt: skip
def test_addresses_lose_what_is_secret(given: str, shown: str) -> None:
    assert hide_passwords(given) == shown
    assert hide_passwords(shown) == shown


def test_no_error_shows_a_password() -> None:
    error = InputError("address", "mqtt://user:secret@broker", "mqtt://host/topic")
    assert "secret" not in str(error)
    assert "user:***@broker" in str(error)


def test_control_characters_are_shown_and_not_obeyed() -> None:
    assert escape_control_characters("a\x1b[31mb\r\x9b\u202ec\n\td") == (
        r"a\x1b[31mb\r\x9b\u202ec" + "\n\td"
    )


@pytest.mark.parametrize("name", ["a\x1b]0;owned\x07", "two\nlines", "\x9b31m", "\u202eabc"])
def test_a_robot_has_no_name_that_a_terminal_obeys(name: str, tmp_path: Path) -> None:
    robot = dd.load_robot("example-delta")
    with pytest.raises(RobotError, match="without control characters") as caught:
        replace(robot, name=name)
    assert "\x1b" not in str(caught.value)
    text = json.dumps(name)  # YAML reads the escapes of JSON
    path = tmp_path / "robot.yaml"
    robot.save(path)
    path.write_text(path.read_text("utf-8").replace("name: example-delta", f"name: {text}"))
    found = CliRunner().invoke(main, ["check", str(path)])
    assert found.exit_code in (1, 2)
    assert not set("\x1b\x9b\x07\u202e") & set(found.output)


def test_no_message_is_longer_than_two_thousand_characters() -> None:
    long = "x" * 50_000
    errors = [
        InputError("name", long, "a short text"),
        InputError("list", [1.5] * 20_000, "a number"),
        InputError(long, 1, "a name"),
        UnknownNameError("option", "a", [f"name{k}" for k in range(9000)], or_else="a path"),
        DeltadynError(long),
    ]
    for error in errors:
        assert len(str(error)) <= 2000
    assert "50,002 characters" in str(errors[0])  # with its quotes
    assert str(errors[0]).endswith("allowed: a short text")
    assert str(errors[3]).endswith("or a path")
    assert shorten("short") == "short"


@pytest.mark.parametrize("as_json", [True, False])
def test_wrong_calls_are_short_too(as_json: bool) -> None:
    more = ["--json"] if as_json else []
    for call in (["--seed", "7" * 5000 + "x"], ["--" + "o" * 5000]):
        found = CliRunner().invoke(main, ["identify", "a", "b", *call, *more])
        assert found.exit_code == 2
        assert len(found.output) < 2500
