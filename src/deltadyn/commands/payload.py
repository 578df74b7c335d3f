"""`deltadyn payload`: the picks of logs, or of a live stream."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from deltadyn.payload.noise import NoiseModel
    from deltadyn.payload.offline import PickLog
    from deltadyn.recording import ReadOptions
    from deltadyn.robot import Robot


@click.command(
    epilog="Example: deltadyn payload mine.yaml shift.csv --empty empty.csv --out picks.html. "
    "With the gripper's signal: deltadyn payload mine.yaml shift.csv --holding Gripper.Closed. "
    "Live: deltadyn payload mine.yaml --live mqtt://localhost:1883/topic, or "
    "--live ads://5.12.82.20.1.1:851/q=GVL.q,tau=GVL.tau"
)
@robot_argument
@click.argument("logs", nargs=-1, metavar="[LOG...]")
@click.option("--empty", default=None, metavar="LOG", help="Log without load, for the noise.")
@click.option(
    "--holding",
    default=None,
    metavar="COLUMN",
    help="Column of the logs with the gripper's signal, e.g. 0 and 1: evidence of when loads come "
    "and go; its delay is learned.",
)
@click.option(
    "--estimator",
    type=click.Choice(["bank", "least-squares"]),
    default="bank",
    help="Hypotheses about the load with friction that drifts (default), or least squares.",
)
@click.option(
    "--longest", type=float, default=None, help="Seconds; a longer pick is flagged (default 10)."
)
@click.option("--rate", type=float, default=None, help="Hz of the samples; default: theirs.")
@convention_option
@log_options
@no_check_option
@click.option("--out", default=None, help="HTML page with figure and table to write (logs).")
@live_options("payload")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; live: one line each.")
@guarded
def payload(
    name: str,
    logs: tuple[str, ...],
    empty: str | None,
    holding: str | None,
    estimator: str,
    longest: float | None,
    rate: float | None,
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
    as_json: bool,
) -> None:
    """Masses of picks with their deviation, from logs or from a stream.

    Exit status 1 where logs hold no pick, or where no sample came over a stream. Ctrl-C ends a
    stream with a summary; --reconnect limits how long it waits for one that is away (status 2).
    """
    refuse_mixed(
        logs,
        live,
        of_streams={
            "--node": node,
            "--publish": publish,
            "--every": every,
            "--seconds": seconds,
            "--reconnect": reconnect,
        },
        of_logs={"--out": out, "--holding": holding},  # batches have their own signal
    )
    robot = robot_of(name)
    note_frictionless(robot)
    options = reading_options(columns, read)
    if convention is not None:
        options = replace(options, convention=convention)
    noise = None
    if empty is not None:
        noise = _noise(robot, empty, rate, options, estimator, check=not no_check)
    own: dict[str, Any] = {"estimator": estimator}
    if longest is not None:
        own["longest"] = longest
    if rate is not None:
        own["rate"] = rate
    if live is None:
        _show_logs(robot, logs, noise, own, options, holding, out, as_json, check=not no_check)
        return

    from deltadyn.payload.live import LiveEstimator

    stream = stream_of(live, node, "payload" if publish else None, limit=reconnect)
    watched = LiveEstimator(
        robot, noise=noise, every=every, convention=convention or "controller", **own
    )
    follow(watched, stream, seconds, as_json)


def _noise(
    robot: Robot,
    empty: str,
    rate: float | None,
    options: ReadOptions,
    estimator: str,
    *,
    check: bool,
) -> NoiseModel:
    """The noise of an empty log."""
    from deltadyn.payload.noise import NoiseModel

    log = checked_log(robot, empty, options, check)
    return NoiseModel.of(robot, log, rate=rate, estimator=estimator)


def _show_logs(
    robot: Robot,
    logs: tuple[str, ...],
    noise: NoiseModel | None,
    own: dict[str, Any],
    options: ReadOptions,
    holding: str | None,
    out: str | None,
    as_json: bool,
    *,
    check: bool,
) -> None:
    from deltadyn.payload.offline import find_picks
    from deltadyn.recording.signal import read_switch

    def find(path: str) -> PickLog:
        recording = checked_log(robot, path, options, check)
        held = None if holding is None else read_switch(path, holding, recording, options).tolist()
        return find_picks(robot, recording, noise=noise, holding=held, **own)

    records = show_logs(robot, logs, find, out, as_json)
    if not any(record["picks"] for record in records):
        sys.exit(ANSWER_NO)
