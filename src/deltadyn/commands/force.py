"""`deltadyn force`: external force and contacts in logs, or in a live stream."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from deltadyn.commands.common import (
    ANSWER_NO,
    checked_log,
    convention_option,
    guarded,
    log_options,
    no_check_option,
    note_frictionless,
    reading_options,
    robot_argument,
    robot_of,
    show_logs,
)
from deltadyn.commands.live import follow, live_options, refuse_mixed, stream_of
from deltadyn.errors import InputError

if TYPE_CHECKING:
    from deltadyn.force import ForceLog


@click.command(
    epilog="Example: deltadyn force mine.yaml shift.csv --empty empty.csv --out force.html. "
    "Live: deltadyn force mine.yaml --empty empty.csv --live mqtt://localhost:1883/topic"
)
@robot_argument
@click.argument("logs", nargs=-1, metavar="[LOG...]")
@click.option(
    "--empty",
    multiple=True,
    metavar="LOG",
    help="Log of usual motion without contact and load, 16 s or more; several are taken together.",
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
@click.option(
    "--payload",
    type=float,
    default=None,
    help="What the robot carries, in kg; in a stream with a gripper's signal, while it holds.",
)
@convention_option
@log_options
@no_check_option
@click.option("--out", default=None, help="HTML page with figure and table to write (logs).")
@live_options("force")
@click.option(
    "--reset-node",
    default=None,
    help="Boolean node, or BOOL of a PLC, that resets the alarm, as ns=2;s=Reset or GVL.Reset.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON; live: one line each.")
@guarded
def force(
    name: str,
    logs: tuple[str, ...],
    empty: tuple[str, ...],
    false_alarms: float,
    bandwidth: float,
    delay_ms: float,
    payload: float | None,
    convention: str | None,
    columns: str | None,
    read: tuple[str, ...],
    no_check: bool,
    out: str | None,
    live: str | None,
    node: str | None,
    publish: bool,
    every: float | None,
    seconds: float | None,
    reconnect: float | None,
    reset_node: str | None,
    as_json: bool,
) -> None:
    """Force on the platform, and contacts with their place and kind, from logs or a stream.

    It is no safety function. Exit status 1 where a log holds a contact, or where no sample came
    over a stream. An alarm of a stream stays until a message on TOPIC/force/reset (MQTT), or true
    on --reset-node (OPC UA, ADS), resets it. Ctrl-C ends a stream with a summary;
    --reconnect limits how long it waits for one that is away (status 2).
    """
    from deltadyn.force import ForceOptions, Tare, find_contacts

    if not empty:
        raise InputError("--empty", None, "a log of usual motion without contact and load")
    of_streams = {"--node": node, "--publish": publish, "--every": every, "--seconds": seconds}
    refuse_mixed(
        logs,
        live,
        of_streams={**of_streams, "--reset-node": reset_node, "--reconnect": reconnect},
        of_logs={"--out": out},
    )
    stream = None
    if live is not None:
        results = "force" if publish else None
        stream = stream_of(
            live, node, results, resets="force/reset", reset_node=reset_node, limit=reconnect
        )
    robot = robot_of(name)
    note_frictionless(robot)
    options = reading_options(columns, read)
    if convention is not None:
        options = replace(options, convention=convention)
    chosen = ForceOptions(bandwidth=bandwidth, false_alarms=false_alarms, delay=delay_ms / 1e3)
    empty_runs = [checked_log(robot, path, options, not no_check) for path in empty]
    tare = Tare.of(robot, empty_runs, chosen)
    if stream is not None:
        from deltadyn.force.live import LiveForce

        own = convention or "controller"
        follow(
            LiveForce(robot, tare, payload=payload, every=every, convention=own),
            stream,
            seconds,
            as_json,
        )
        return

    def find(path: str) -> ForceLog:
        log = checked_log(robot, path, options, not no_check)
        carrying = log if payload is None else log.replace(payload=payload)
        return find_contacts(robot, carrying, tare)

    records = show_logs(robot, logs, find, out, as_json)
    if any(record["contacts"] for record in records):
        sys.exit(ANSWER_NO)
