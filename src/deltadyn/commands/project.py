"""A project: a folder with a robot file, a column map, recordings, results and `deltadyn.toml`.

The head of `deltadyn.toml` is the user's: the robot, how logs are read, defaults of commands by
option. Its tail is written by every run and lets `deltadyn repeat` run a command again exactly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date, time
from pathlib import Path
from typing import Any

import click

from deltadyn.errors import FileError, InputError
from deltadyn.files import file_digest, folder_writer
from deltadyn.messages import HIDDEN, hide_passwords, is_secret_name

FILE = "deltadyn.toml"
MOST_BYTES = 1_000_000
MARK = "# ---- the last run of each command; deltadyn writes what follows ----"
RUN_TABLE = re.compile(r"\[\s*runs\s*[.\]]")
LEFT_OUT = ("debug", "as_json", "progress")  # they do not change a result
NOT_RECORDED = (
    *("demo", "robots", "init", "repeat", "bench", "studio", "completion", "reproduce"),
    "history",  # what it keeps is the record
)


class DefaultGroup(click.Group):
    """A group whose command `default` may be called without its name."""

    def __init__(self, *args: Any, default: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name in front where there is none."""
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = [self.default, *args]
        return super().parse_args(ctx, args)


def read_project(folder: Path | None = None) -> dict[str, Any] | None:
    """What the project file of a folder says; None where there is none."""
    import tomllib

    path = (folder or Path()) / FILE
    try:
        if path.stat().st_size > MOST_BYTES:
            allowed = f"a file of at most {MOST_BYTES} bytes"
            raise FileError("project file", str(path), allowed, path=str(path))
        found = tomllib.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        return None
    except OSError as error:
        allowed = f"a file that can be read ({error.strerror or error})"
        raise FileError("project file", str(path), allowed, path=str(path)) from None
    except RecursionError:
        allowed = "TOML that is not nested so deeply"
        raise FileError("project file", str(path), allowed, path=str(path)) from None
    except ValueError as error:  # syntax, text that is not UTF-8, numbers of 5,000 digits
        raise FileError("project file", str(path), f"TOML ({error})", path=str(path)) from None
    for name, table in found.items():
        if not isinstance(table, dict):
            raise FileError(name, table, "a table, as [project]", path=str(path))
    for name, run in found.get("runs", {}).items():
        _check_run(f"runs.{name}", run, str(path))
    return found


def _check_run(name: str, run: Any, path: str) -> None:
    """Refuse a run that `record_run` did not write."""
    if not isinstance(run, dict):
        raise FileError(name, run, "a table, as deltadyn writes it", path=path)
    arguments, inputs = run.get("arguments"), run.get("inputs", {})
    if not isinstance(arguments, list) or not all(isinstance(item, str) for item in arguments):
        raise FileError(f"{name}.arguments", arguments, "a list of texts", path=path)
    if not isinstance(run.get("deltadyn", ""), str):
        raise FileError(f"{name}.deltadyn", run["deltadyn"], "a version, as a text", path=path)
    if not isinstance(inputs, dict) or not all(isinstance(v, str) for v in inputs.values()):
        raise FileError(f"{name}.inputs", inputs, "a table of paths with checksums", path=path)


def project_robot() -> str:
    """The robot of the project in this folder."""
    found = read_project()
    if found is None:
        raise InputError(
            "robot", ".", f"a name or a path; '.' needs {FILE} here, as `deltadyn init` makes it"
        )
    robot = found.get("project", {}).get("robot")
    if not isinstance(robot, str):
        raise FileError("project.robot", robot, "a name or a path", path=FILE)
    return robot


def project_history() -> str | None:
    """Where the project of this folder keeps its history; None where it does not say."""
    place = (read_project() or {}).get("project", {}).get("history")
    if place is not None and not (isinstance(place, str) and place):
        raise FileError("project.history", place, "a path or a URL", path=FILE)
    return place


def defaults(group: click.Group) -> dict[str, Any]:
    """Defaults of all commands by the project file; unknown tables and options are refused."""
    found = read_project()
    if found is None:
        return {}
    for name in found:
        if name not in ("project", "reading", "runs", *group.commands):
            raise FileError("table", name, "project, reading, runs or a command", path=FILE)
    tables = {
        name: _defaults_of(command, name, found.get(name, {}), found)
        for name, command in group.commands.items()
    }
    return {name: table for name, table in tables.items() if table}


def _defaults_of(
    command: click.Command, title: str, given: Any, found: dict[str, Any]
) -> dict[str, Any]:
    """Defaults of one command from the table [`title`]; of a group's commands by their names.

    [fleet] without more is the table of the command that is called without its name, too.
    """
    if not isinstance(given, dict):
        raise FileError(title, given, f"a table, as [{title}]", path=FILE)
    inner = command.commands if isinstance(command, click.Group) else {}
    usual = command.default if isinstance(command, DefaultGroup) else None
    own = {key: value for key, value in given.items() if key not in inner}
    nested: dict[str, Any] = {}
    for name, part in inner.items():
        table = given.get(name, {})
        if name == usual and isinstance(table, dict):
            table, own = {**own, **table}, {}
        nested[name] = _defaults_of(part, f"{title}.{name}", table, found)
    names = _names(command)
    parameters = {parameter.name: parameter for parameter in command.params}
    for key, value in own.items():
        if key not in names:
            known = ", ".join(sorted([*names, *inner]))
            raise FileError(f"option [{title}] {key}", value, known, path=FILE)
    chosen = {
        names[key]: _default(parameters[names[key]], f"option [{title}] {key}", value)
        for key, value in own.items()
    }
    return (
        chosen
        | _of_logs(names, found, chosen)
        | {name: table for name, table in nested.items() if table}
    )


def _default(parameter: click.Parameter, what: str, value: Any) -> Any:
    """A value of the project file as the command line would have it: a text, read by the option."""
    if isinstance(parameter, click.Option) and parameter.is_flag:
        if not isinstance(value, bool):
            raise FileError(what, value, "true or false", path=FILE)
        return value
    if parameter.nargs == 1 and not parameter.multiple:
        return _default_text(what, value)
    items = value if isinstance(value, list) else [value]
    if parameter.nargs > 1 and len(items) != parameter.nargs:
        raise FileError(what, value, f"a list of {parameter.nargs} values", path=FILE)
    return [_default_text(what, item) for item in items]


def _default_text(what: str, value: Any) -> str:
    """One value as a text; dates and times as TOML has them."""
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bool) or not isinstance(value, str | int | float) or "\0" in str(value):
        raise FileError(what, value, "a text or a number", path=FILE)
    return str(value)


def _of_logs(names: dict[str, str], found: dict[str, Any], table: dict[str, Any]) -> dict[str, Any]:
    """How a project's logs are read, for a command that reads some and does not say it itself."""
    project, reading = found.get("project", {}), found.get("reading", {})
    more: dict[str, Any] = {}
    if "columns" in names and "columns" in project:
        more["columns"] = _default_text("project.columns", project["columns"])
    if "read" in names and reading:
        for key, value in reading.items():
            if isinstance(value, date | time):
                raise FileError(f"reading.{key}", value, "a text, a number or a list", path=FILE)
        more["read"] = [f"{key}={json.dumps(value)}" for key, value in reading.items()]
    return {key: value for key, value in more.items() if key not in table}


def _names(command: click.Command) -> dict[str, str]:
    """What the project file may name, and the parameter that is meant."""
    names = {}
    for parameter in command.params:
        own = parameter.name or ""
        if isinstance(parameter, click.Option):
            names[max(parameter.opts, key=len).lstrip("-")] = own
        else:
            names["robot" if parameter.metavar == "ROBOT" else own] = own
    return {key: own for key, own in names.items() if own not in LEFT_OUT}


def record_run(context: click.Context) -> None:
    """Write the choices of a run into the project file, where the folder has one."""
    name = _called(context)
    if not name or name.split()[0] in NOT_RECORDED or not Path(FILE).exists():
        return
    from importlib.metadata import version

    run = {
        "arguments": list(_arguments(context)),
        "deltadyn": version("deltadyn"),
        "inputs": {path: file_digest(path) for path in _inputs(context)},
    }
    with folder_writer("") as write:  # nobody else records a run in between
        before = read_project() or {}
        runs = {**before.get("runs", {}), name: run}
        head = "\n".join(_lines_of_user(Path(FILE).read_text("utf-8-sig"))).rstrip()
        text = "\n".join([head, "", MARK, *_tables(runs), ""])
        _refuse_loss(before, text)
        write({FILE: text})


def _lines_of_user(text: str) -> Iterator[str]:
    """The lines of a project file without the tables of runs, wherever a user's own stand."""
    ours = False
    for line in text.splitlines():
        if line.strip() == MARK:
            ours = True
        elif line.lstrip().startswith("["):
            ours = RUN_TABLE.match(line.lstrip()) is not None
        if not ours or (line.lstrip().startswith("#") and line.strip() != MARK):
            yield line


def _refuse_loss(before: dict[str, Any], text: str) -> None:
    """Refuse to write a project file whose tables, but for those of runs, are not as before."""
    import tomllib

    try:
        after = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        after = {}
    if {**after, "runs": {}} != {**before, "runs": {}}:
        allowed = f"your tables above the line {MARK!r}; the file was left as it is"
        raise FileError("runs", "mixed with other tables", allowed, path=FILE)


def _is_file(path: str) -> bool:
    """Whether a text is the path of a file; one that no system takes is none."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def changed_inputs(run: dict[str, Any]) -> list[str]:
    """Input files of a run that are no longer what they were, in words."""
    told = []
    for path, digest in run.get("inputs", {}).items():
        if not _is_file(path):
            told.append(f"{path} is gone")
        elif file_digest(path) != digest:
            told.append(f"{path} has changed")
    return told


def _called(context: click.Context) -> str:
    """The name of a command behind `deltadyn`, with that of its group: "fleet identify"."""
    name, parent = context.command.name or "", context.parent
    if parent is None or parent.parent is None:  # of the program itself, or a test's call
        return name
    group = parent.command
    if isinstance(group, DefaultGroup) and name == group.default:
        return group.name or ""
    return f"{group.name} {name}"


def _arguments(context: click.Context) -> Iterator[str]:
    """The call in full: every option with its value, then the arguments."""
    for parameter in context.command.params:
        name = parameter.name or ""
        value = context.params.get(name)
        if not isinstance(parameter, click.Option) or name in LEFT_OUT or value is None:
            continue
        if parameter.is_flag:
            if value:
                yield parameter.opts[0]
            continue
        for item in value if parameter.multiple else [value]:
            yield from (parameter.opts[0], _without_secrets(name, str(item)))
    yield "--"
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if isinstance(parameter, click.Argument) and value is not None:
            items = map(str, value if isinstance(value, tuple) else [value])
            yield from (_without_secrets(parameter.name or "", item) for item in items)


def _without_secrets(name: str, text: str) -> str:
    """A value as it is recorded; the whole path of a webhook is a key that lets anybody send."""
    if name == "webhook":
        scheme, mark, rest = text.partition("://")
        return f"{scheme}{mark}{re.split('[/?#]', rest.rpartition('@')[2])[0]}/{HIDDEN}"
    if name == "storage" and is_secret_name(text.partition("=")[0]):
        return f"{text.partition('=')[0]}={HIDDEN}"
    return hide_passwords(text)


def refuse_hidden(run: dict[str, Any]) -> None:
    """Refuse to repeat a run whose passwords or keys were not kept."""
    for text in run["arguments"]:
        if HIDDEN in text and ("://" in text or text.endswith(f"={HIDDEN}")):
            allowed = "a call with all it needs: passwords and keys are not kept, so give it again"
            raise InputError("run", text, allowed)


def _inputs(context: click.Context) -> Iterator[str]:
    """The files that the call names and that it did not write."""
    for name, value in context.params.items():
        if name in ("out", "loads_page"):
            continue
        for item in value if isinstance(value, tuple | list) else [value]:
            text = project_robot() if name == "name" and item == "." else item
            if isinstance(text, str) and _is_file(text):
                yield text


def _tables(runs: dict[str, Any]) -> Iterator[str]:
    for name, run in sorted(runs.items()):
        yield f"\n[runs.{_key(name)}]"
        for key, value in run.items():
            if not isinstance(value, dict):
                yield f"{_key(key)} = {_toml(value)}"
        if run.get("inputs"):
            yield f"[runs.{_key(name)}.inputs]"
            yield from (f"{_key(path)} = {_toml(value)}" for path, value in run["inputs"].items())


def _key(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else json.dumps(text, ensure_ascii=False)


def _toml(value: Any) -> str:
    """A value as TOML: what JSON writes for texts, numbers, booleans and lists of them is that."""
    return json.dumps(value, ensure_ascii=False)
