"""`deltadyn fleet`: many robots, many days."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deltadyn.commands.common import (
    ANSWER_NO,
    complete_robot,
    guarded,
    json_option,
    log_options,
    method_option,
    page_option,
    reading_options,
    robot_argument,
    robot_of,
    seed_option,
    show_with_page,
    terms_of,
    terms_option,
)
from deltadyn.commands.project import DefaultGroup
from deltadyn.errors import InputError

if TYPE_CHECKING:
    from deltadyn.recording import ReadOptions

HIDDEN = (".", "_")


class _WithRobots(DefaultGroup):
    """Completes robots, too: they may come without the name of a command."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        return [*super().shell_complete(ctx, incomplete), *complete_robot(ctx, None, incomplete)]


@click.group(
    cls=_WithRobots,
    default="compare",
    subcommand_metavar="[COMMAND] ROBOT SOURCE",
    epilog="Example: deltadyn fleet sipro-d3-1200 logs/ --out fleet.html",
)
def fleet() -> None:
    """Robots of one type: compared, or identified day by day from any number of logs.

    Without COMMAND it is `compare`.
    """


# Robots side by side.


@fleet.command(epilog="Example: deltadyn fleet compare sipro-d3-1200 logs/ --out fleet.html")
@robot_argument
@click.argument("folder")
@method_option
@terms_option
@click.option("--workers", default=1, help="Processes that read logs.")
@click.option("--strict", is_flag=True, help="Stop at a log that cannot be read.")
@log_options
@page_option
@click.option("--save", default=None, metavar="FOLDER", help="Folder for every robot's file.")
@seed_option()
@json_option
@guarded
def compare(
    name: str,
    folder: str,
    method: str,
    terms: str | None,
    workers: int,
    strict: bool,
    columns: str | None,
    read: tuple[str, ...],
    out: str | None,
    save: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Fit robots of one type from the logs in FOLDER; exit status 1 where one stands out.

    `deltadyn fleet ROBOT FOLDER` is this command.

    FOLDER holds a folder of logs, or one log, for every robot; its name is that of the robot.
    """
    from deltadyn.fleet import fleet as run

    robot = robot_of(name)
    logs = _logs(Path(folder), reading_options(columns, read))
    found = run(
        robot, logs, method, workers=workers, seed=seed, strict=strict, terms=terms_of(terms)
    )
    files = {} if save is None else {"files": [str(path) for path in found.save(save)]}
    show_with_page(found, out, as_json, **files)
    if found.outliers:
        sys.exit(ANSWER_NO)


def _logs(folder: Path, options: ReadOptions) -> dict[str, Any]:
    """The logs of every robot, by its name."""
    from deltadyn.fleet import LogFile

    if not folder.is_dir():
        raise InputError("folder", str(folder), "a folder with a log or a folder for every robot")
    found: dict[str, Any] = {}
    for item in sorted(folder.iterdir()):
        if item.name.startswith(HIDDEN):
            continue
        files = sorted(item.iterdir()) if item.is_dir() else [item]
        logs = [file for file in files if file.is_file() and not file.name.startswith(HIDDEN)]
        member = item.name if item.is_dir() else item.stem
        if member in found:
            raise InputError("name of a robot", member, "one folder or one log of that name")
        if not logs:
            raise InputError("logs", 0, "at least 1", where=str(item))
        found[member] = [LogFile(str(file), options) for file in logs]
    return found
