"""Look before anything is fitted: `deltadyn check`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from deltadyn.commands.common import (
    ANSWER_NO,
    echo_json,
    guarded,
    json_option,
    log_options,
    page_option,
    reading_options,
    robot_argument,
    spoken,
    written,
)
from deltadyn.commands.project import project_robot
from deltadyn.errors import InputError
from deltadyn.files import file_set, write_whole

if TYPE_CHECKING:
    from deltadyn.inspection import Check


@click.command(epilog="Example: deltadyn check mine.yaml log.csv --out check.html")
@robot_argument
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@log_options
@page_option
@click.option("--write-columns", default=None, metavar="FILE", help="Column map to write (YAML).")
@click.option(
    "--bundle",
    default=None,
    metavar="FILE",
    help="Zip file to write for somebody who can help, without names of people and machines.",
)
@json_option
@guarded
def check(
    name: str,
    logs: tuple[str, ...],
    columns: str | None,
    read: tuple[str, ...],
    out: str | None,
    write_columns: str | None,
    bundle: str | None,
    as_json: bool,
) -> None:
    """Look at a robot file and at logs before anything is fitted; exit status 1 where one is wrong.

    Of the robot file: all errors, or the numbers that follow from it (reach, rotor inertia,
    torques). Of a log: what each column was taken for and why, gaps, saturation, rest, how the log
    counts (signs, offsets, units, order) and which parameters it can identify. --write-columns
    writes the column map of the first log, with the convention that was found; --bundle packs
    robot file, column maps, findings and thinned logs.
    """
    from deltadyn.inspection import check as look

    if write_columns is not None and not logs:
        raise InputError("--write-columns", write_columns, "none without a log")
    options = reading_options(columns, read)
    found = look(project_robot() if name == "." else name, logs, options)
    found = replace(found, call=_call(columns, read))
    with file_set():
        page = {} if out is None else {"page": str(found.page(out))}
        files = _written(found, write_columns, bundle) | page
    if as_json:
        echo_json({**found.as_dict(), **files})
    else:
        click.echo(spoken(str(found)))
        if out is not None:
            click.echo(f"\n{written(*files.values())}")
        elif files:
            click.echo(f"\nwritten: {', '.join(files.values())}")
    if not found.ok:
        sys.exit(ANSWER_NO)


def _call(columns: str | None, read: tuple[str, ...]) -> str:
    """The options of reading, as they were written."""
    given = [*([] if columns is None else ["--columns", columns])]
    for text in read:
        given += ["--read", text]
    return shlex.join(given)


def _written(found: Check, columns: str | None, bundle: str | None) -> dict[str, str]:
    """Write what was asked for; the names of the files by what they are."""
    from deltadyn.inspection import write_bundle

    files = {}
    if columns is not None and found.logs and found.logs[0].guess is not None:
        files["columns"] = str(write_whole(columns, found.logs[0].column_map()))
    if bundle is not None:
        files["bundle"] = str(write_bundle(found, bundle))
    return files
