"""`deltadyn force`: external force and contacts in logs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from deltadyn.commands.common import (
    ANSWER_NO,
    checked_log,
    guarded,
    log_options,
    no_check_option,
    reading_options,
    robot_argument,
    robot_of,
    show_logs,
)
from deltadyn.errors import InputError

if TYPE_CHECKING:
    from deltadyn.force import ForceLog


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
@no_check_option
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
    no_check: bool,
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
    tare = Tare.of(robot, checked_log(robot, empty, options, not no_check), chosen)

    def find(path: str) -> ForceLog:
        return find_contacts(robot, checked_log(robot, path, options, not no_check), tare)

    records = show_logs(robot, logs, find, out, as_json)
    if any(record["contacts"] for record in records):
        sys.exit(ANSWER_NO)
