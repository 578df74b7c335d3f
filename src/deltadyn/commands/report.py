"""`deltadyn report`: the whole report of a fit, or several fits side by side."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from deltadyn.commands.common import (
    ANSWER_NO,
    carried_option,
    complete_robot,
    echo_json,
    guarded,
    held_out_option,
    json_option,
    log_options,
    model_option,
    read_logs,
    reading_options,
    robot_of,
    seed_option,
    show,
    stribeck_option,
    written,
)
from deltadyn.errors import InputError

if TYPE_CHECKING:
    from deltadyn.recording import Recording


@click.command(
    epilog="Example: deltadyn report mine.yaml log.csv --validate held-out.csv --out report.html. "
    "Several fits: deltadyn report --compare may.json june.json --out compare.html"
)
@click.argument("name", metavar="ROBOT", required=False, shell_complete=complete_robot)
@click.argument("logs", nargs=-1, metavar="LOG...")
@held_out_option
@click.option("--methods", default="convex,base,l1", help="With commas; the first one is judged.")
@model_option
@carried_option
@click.option("--payload-log", default=None, metavar="LOG", help="Log to cut into picks.")
@click.option("--empty", default=None, metavar="LOG", help="Log without load, for their noise.")
@log_options
@stribeck_option
@click.option("--compare", is_flag=True, help="Records of fits or reports (JSON) side by side.")
@click.option("--out", default="report.html", help="Page to write.")
@seed_option()
@json_option
@guarded
def report(
    name: str | None,
    logs: tuple[str, ...],
    held_out: tuple[str, ...],
    methods: str,
    model: str | None,
    payload: float | None,
    payload_log: str | None,
    empty: str | None,
    columns: str | None,
    read: tuple[str, ...],
    stribeck: bool,
    compare: bool,
    out: str,
    seed: int,
    as_json: bool,
) -> None:
    """Identify, judge on held-out motion, and write one page with its numbers beside it.

    Exit status 1 where the verdict is "not to be trusted". With --compare the arguments are JSON
    files as `identify` and `report` write them.
    """
    if compare:
        files = (name, *logs) if name is not None else ()
        fitted = {"--validate": held_out, "--payload-log": payload_log, "--empty": empty,
                  "--payload": payload, "--model": model, "--stribeck": stribeck}  # fmt: skip
        _compare([str(item) for item in files], fitted, out, as_json)
        return
    if name is None or not logs:
        raise InputError("call", "no log", "a robot and at least one log, or --compare with JSON")
    _refuse_json((name, *logs))
    from deltadyn.report import study

    robot, options = robot_of(name), reading_options(columns, read)

    def one(path: str | None) -> Recording | None:
        return None if path is None else read_logs(robot, [path], None, options)[0]

    found = study(
        robot,
        read_logs(robot, logs, payload, options),
        held_out=read_logs(robot, held_out, payload, options),
        methods=[part.strip() for part in methods.split(",") if part.strip()],
        payload_log=one(payload_log),
        empty=one(empty),
        seed=seed,
        tell=None if as_json else lambda text: click.echo(f"{text} ...", err=True),
        model=model,
        stribeck=stribeck,
    )
    page = found.report(out)
    verdict = found.verdict
    files_written = {"page": str(page), "numbers": str(page.with_suffix(".json"))}
    if as_json:
        echo_json({"robot": robot.name, "verdict": verdict.as_dict(), "files": files_written})
    else:
        click.echo(f"verdict: {verdict.grade}")
        for text in (*verdict.reasons, *verdict.notes):
            click.echo(f"  {text}")
        click.echo(f"\nwritten: {', '.join(files_written.values())} (open the page in a browser)")
    if verdict.grade == "not to be trusted":
        sys.exit(ANSWER_NO)


def _compare(files: list[str], fitted: dict[str, Any], out: str, as_json: bool) -> None:
    """The page of several records."""
    from deltadyn.report import compare_fits

    for option, value in fitted.items():
        if value:
            raise InputError(option, value, "left out with --compare")
    found = compare_fits(files)
    page = found.page(out)
    show(found, as_json, page=str(page))
    if not as_json:
        click.echo(f"\n{written(page)}")


def _refuse_json(names: tuple[str, ...]) -> None:
    """Records given as logs: the option was forgotten."""
    records = [name for name in names if name.endswith(".json")]
    if records:
        raise InputError("log", records[0], "a log; pass --compare to compare records")
