"""`deltadyn fleet`: robots of one type side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from deltadyn.commands.common import (
    ANSWER_NO,
    guarded,
    log_options,
    reading_options,
    robot_argument,
    robot_of,
    show,
)
from deltadyn.errors import InputError

HIDDEN = (".", "_")


@click.command(epilog="Example: deltadyn fleet sipro-d3-1200 logs/ --out fleet.html")
@robot_argument
@click.argument("folder")
@click.option("--method", default="convex", show_default=True, help="How to fit; see the docs.")
@click.option("--workers", default=1, show_default=True, help="Processes that read logs.")
@log_options
@click.option("--out", default=None, help="HTML page to write.")
@click.option("--save", default=None, metavar="FOLDER", help="Folder for every robot's file.")
@click.option("--seed", default=0, show_default=True, help="Seed of methods that draw numbers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
@guarded
def fleet(
    name: str,
    folder: str,
    method: str,
    workers: int,
    columns: str | None,
    read: tuple[str, ...],
    out: str | None,
    save: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Fit robots of one type from the logs in FOLDER; exit status 1 where one stands out.

    FOLDER holds a folder of logs, or one log, for every robot; its name is that of the robot.
    """
    from deltadyn.fleet import fleet as run

    robot = robot_of(name)
    logs = _logs(Path(folder), reading_options(columns, read))
    found = run(robot, logs, method, workers=workers, seed=seed)
    more: dict[str, Any] = {} if out is None else {"page": str(found.page(out))}
    if save is not None:
        more["files"] = [str(path) for path in found.save(save)]
    show(found, as_json, **more)
    if out is not None and not as_json:
        click.echo(f"\nwritten: {out} (open it in a browser)")
    if found.outliers:
        sys.exit(ANSWER_NO)


def _logs(folder: Path, options: dict[str, Any]) -> dict[str, Any]:
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
