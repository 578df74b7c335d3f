"""`deltadyn force`: external force and contacts in logs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from deltadyn.commands.common import (
    ANSWER_NO,
    echo_json,
    guarded,
    log_options,
    read_logs,
    reading_options,
    robot_argument,
    robot_of,
    written,
)
from deltadyn.errors import InputError


@click.command(
    epilog="Example: deltadyn force mine.yaml shift.csv --empty empty.csv --out force.html"
)
@robot_argument
@click.argument("logs", nargs=-1, metavar="LOG...")
@click.option(
    "--empty", required=True, metavar="LOG", help="Log of usual motion without contact and load."
)
@click.option("--false-alarms", type=float, default=1.0, show_default=True, help="Per hour.")
@click.option(
    "--bandwidth", type=float, default=60.0, show_default=True, help="Of the force, in 1/s."
)
@click.option(
    "--delay-ms",
    type=float,
    default=0.0,
    show_default=True,
    help="By which the torque is logged after its angle, as `identify` finds it.",
)
@log_options
@click.option("--out", default=None, help="HTML page with figure and table to write.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@guarded
def force(
    name: str,
    logs: tuple[str, ...],
    empty: str,
    false_alarms: float,
    bandwidth: float,
    delay_ms: float,
    columns: str | None,
    read: tuple[str, ...],
    out: str | None,
    as_json: bool,
) -> None:
    """Force on the platform, and contacts with their place and kind.

    It is no safety function. Exit status 1 where a log holds a contact.
    """
    from deltadyn.force import ForceOptions, Tare, find_contacts

    if not logs:
        raise InputError("logs", "none", "at least one")
    robot = robot_of(name)
    options = reading_options(columns, read)
    chosen = ForceOptions(bandwidth=bandwidth, false_alarms=false_alarms, delay=delay_ms / 1e3)
    tare = Tare.of(robot, read_logs(robot, [empty], None, options), chosen)
    records, texts = [], []
    for number, path in enumerate(logs, start=1):
        (recording,) = read_logs(robot, [path], None, options)
        found = find_contacts(robot, recording, tare)
        page = None
        if out is not None:
            place = Path(out)
            if len(logs) > 1:  # a page for each log
                place = place.with_name(f"{place.stem}-{number}{place.suffix}")
            page = str(found.page(place))
        records.append({"log": path, **found.as_dict(), "page": page})
        texts.append(str(found) + (f"\n{written(page)}" if page else ""))
    if as_json:
        echo_json({"robot": robot.name, "logs": records})
    else:
        click.echo("\n\n".join(texts))
    if any(record["contacts"] for record in records):
        sys.exit(ANSWER_NO)
