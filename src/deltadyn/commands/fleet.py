"""`deltadyn fleet`: many robots, many days."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deltadyn.commands.common import (
    ANSWER_NO,
    bands,
    complete_robot,
    guarded,
    json_option,
    log_options,
    method_option,
    model_option,
    no_check_option,
    note_frictionless,
    page_option,
    reading_options,
    robot_argument,
    robot_of,
    seed_option,
    show,
    terms_of,
    terms_option,
    written,
)
from deltadyn.commands.project import DefaultGroup
from deltadyn.errors import InputError
from deltadyn.files import file_set

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
    with file_set():
        files = {} if save is None else {"files": [str(path) for path in found.save(save)]}
        page = {} if out is None else {"page": str(found.page(out))}
    show(found, as_json, **page, **files)
    if out is not None and not as_json:
        click.echo(f"\n{written(out)}")
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


# Any number of logs: by robot and period.


def run_options(period: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options of commands that go through the logs of a source."""
    options = [
        click.option(
            "--period",
            type=click.Choice(["day", "week", "month", "all"]),
            default=period,
            help="What becomes one result of a robot.",
        ),
        click.option(
            "--pattern",
            default=None,
            metavar="PATH",
            help="Where serial number and date are in the path of a log, e.g. "
            "'{serial}/{date}.csv'; default: the first folder, the first date.",
        ),
        click.option("--workers", default=1, help="Processes of this machine."),
        click.option(
            "--scheduler",
            default=None,
            metavar="tcp://HOST:PORT",
            help="A dask scheduler, whose workers are taken instead; needs --work.",
        ),
        click.option(
            "--work",
            default=None,
            metavar="FOLDER",
            help="Folder that keeps what was made of every log: a run that was stopped goes on.",
        ),
        click.option("--strict", is_flag=True, help="Stop at a log that cannot be used."),
        click.option(
            "--storage",
            multiple=True,
            metavar="KEY=VALUE",
            help="Options of an object store, e.g. endpoint_url=http://nas:9000; credentials "
            "belong into the environment.",
        ),
    ]

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


source_argument = click.argument("source")


def _storage(given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InputError("--storage", text, "KEY=VALUE, e.g. endpoint_url=http://nas:9000")
        found[key] = value
    return found


def _run_of(options: dict[str, Any], as_json: bool) -> dict[str, Any]:
    """Fields of `RunOptions` from the options of a command."""
    reading = reading_options(options.pop("columns"), options.pop("read"))
    storage = _storage(options.pop("storage"))
    return {**options, "read": reading, "storage": storage, "progress": _draws(as_json)}


def _draws(as_json: bool) -> bool:
    return not as_json and sys.stderr.isatty()


def _tell(found: Any, as_json: bool, **more: Any) -> None:
    for note in found.notes:
        click.echo(f"note: {note}", err=True)
    show(found, as_json, **more)


def fit_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of commands that fit."""
    options: list[Callable[..., Any]] = [
        method_option,
        model_option,
        click.option("--band", default="auto", help="Hz of fits, auto (of each robot) or none."),
        click.option(
            "--chunk", default=12_800_000, help="Samples of a long log that become one factor."
        ),
        no_check_option,
        log_options,
        click.option("--save", default=None, metavar="FOLDER", help="Where to write every fit."),
        seed_option(),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@fleet.command(
    epilog="Example: deltadyn fleet identify mine.yaml s3://plant/logs --period day --work work/ "
    "--workers 8 --save robots/"
)
@robot_argument
@source_argument
@run_options("all")
@fit_options
@json_option
@guarded
def identify(
    name: str,
    source: str,
    band: str,
    no_check: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """One fit per robot and period, from any number of logs in SOURCE.

    SOURCE is a folder, a glob, or a URL such as s3://bucket/prefix (extra "cloud"). Each log
    becomes factors, those of a robot and period are merged; memory does not grow with the logs.
    Terms are those of the robot file. Exit status 1 where a robot has no fit.
    """
    from deltadyn.fleet import identify_fleet

    run = _run_of(options, as_json)
    found = identify_fleet(robot_of(name), source, band=bands(band), check=not no_check, **run)
    _tell(found, as_json)
    if any(fit.problem is not None for fit in found.fits) or not found.fits:
        sys.exit(ANSWER_NO)


@fleet.command(
    epilog="Example: deltadyn fleet payload mine.yaml logs/ --period day --empty empty.csv "
    "--work work/ --workers 8"
)
@robot_argument
@source_argument
@run_options("day")
@click.option("--empty", default=None, metavar="LOG", help="Log without load, for the noise.")
@click.option("--longest", default=10.0, help="Seconds; a longer pick is doubtful.")
@click.option("--rate", type=float, default=None, help="Hz of the samples; default: theirs.")
@no_check_option
@log_options
@json_option
@guarded
def payload(name: str, source: str, no_check: bool, as_json: bool, **options: Any) -> None:
    """Picks of every robot and period, with masses and deviations, from the logs in SOURCE.

    ROBOT is the identified one. SOURCE is as in `fleet identify`. Exit status 1 where there is no
    pick.
    """
    from deltadyn.fleet import payload_fleet

    robot = robot_of(name)
    note_frictionless(robot)
    found = payload_fleet(robot, source, check=not no_check, **_run_of(options, as_json))
    _tell(found, as_json)
    if not any(row.picks for row in found.rows):
        sys.exit(ANSWER_NO)


@fleet.command(
    epilog="Example, every night: deltadyn fleet drift mine.yaml s3://plant/logs --work work/ "
    "--band 40 --since 2026-05-01 --out drift.html"
)
@robot_argument
@source_argument
@run_options("day")
@fit_options
@click.option(
    "--years-per-alarm",
    default=20.0,
    help="Years of a robot between two false alarms, over all its parameters.",
)
@click.option("--smallest", default=0.02, help="Least change to tell, as a share.")
@click.option(
    "--since",
    default=None,
    metavar="TIME",
    help="Only alarms raised since then count for exit status and messages; default: all.",
)
@click.option("--zone", default="UTC", help="The plant's, such as Europe/Berlin.")
@click.option(
    "--store",
    default=None,
    metavar="PATH|URL",
    help="History to keep the fits in; what is told then rests on all that it has.",
)
@click.option("--webhook", default=None, metavar="URL", help="POST alarms there as JSON.")
@click.option("--mqtt", default=None, metavar="URL", help="Send them to mqtt://host/topic.")
@page_option
@json_option
@guarded
def drift(
    name: str,
    source: str,
    band: str,
    no_check: bool,
    since: str | None,
    webhook: str | None,
    mqtt: str | None,
    out: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Fit every robot in every period, and tell what changed in each, and since when.

    SOURCE is as in `fleet identify`, the rest as in `history drift`. Exit status 1 where there is
    an alarm.
    """
    from deltadyn.commands.drift import tell
    from deltadyn.fleet import drift_fleet
    from deltadyn.history.drift.alarms import check_mqtt, check_webhook
    from deltadyn.history.times import edge

    if webhook is not None:
        check_webhook(webhook)
    if mqtt is not None:
        check_mqtt(mqtt)
    begin = edge(since, options["zone"], "--since")
    run = _run_of(options, as_json)
    found = drift_fleet(robot_of(name), source, band=bands(band), check=not no_check, **run)
    fits = found.fits
    for text in (*(f"note: {note}" for note in found.notes), fits.status, *fits.left_out):
        click.echo(text, err=True)
    if tell(found.robots, begin, out, as_json, webhook=webhook, mqtt=mqtt):
        sys.exit(ANSWER_NO)
