"""`deltadyn payload`: the picks of logs, or of a live stream."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

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
    import asyncio

    from deltadyn.payload.live import LiveEstimator, Update
    from deltadyn.payload.noise import NoiseModel
    from deltadyn.payload.offline import PickLog
    from deltadyn.payload.streams import MqttStream, OpcuaStream
    from deltadyn.recording import ReadOptions
    from deltadyn.robot import Robot

MANY = 3  # notices of a kind that are all shown; then the 10th, the 100th and so on


@click.command(
    epilog="Example: deltadyn payload mine.yaml shift.csv --empty empty.csv --out picks.html. "
    "With the gripper's signal: deltadyn payload mine.yaml shift.csv --holding Gripper.Closed. "
    "Live: deltadyn payload mine.yaml --live mqtt://localhost:1883/topic"
)
@robot_argument
@click.argument("logs", nargs=-1, metavar="[LOG...]")
@click.option("--empty", default=None, metavar="LOG", help="Log without load, for the noise.")
@click.option(
    "--holding",
    default=None,
    metavar="COLUMN",
    help="Column of the logs that tells when the gripper holds something, e.g. 0 and 1.",
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
@click.option(
    "--convention",
    type=click.Choice(["controller", "deltadyn"]),
    default=None,
    help="Whose angles and torques the data hold; default: the controller's.",
)
@log_options
@no_check_option
@click.option("--out", default=None, help="HTML page with figure and table to write (logs).")
@click.option(
    "--live", default=None, metavar="URL", help="mqtt://host/topic or opc.tcp://host:port."
)
@click.option("--node", default=None, help="Node with the batches, as ns=2;s=Batches (OPC UA).")
@click.option("--publish", is_flag=True, help="Send results to TOPIC/payload as JSON (MQTT).")
@click.option("--every", type=float, default=None, help="Seconds between readings (live).")
@click.option("--seconds", type=float, default=None, help="Stop after so long (live).")
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
    as_json: bool,
) -> None:
    """Masses of picks with their deviation, from logs or from a stream.

    Exit status 1 where logs hold no pick, or where no sample came over a stream. Ctrl-C ends a
    stream with a summary.
    """
    if bool(logs) == (live is not None):
        raise InputError("call", "both" if logs else "neither", "logs, or a stream with --live")
    given = {"--node": node, "--publish": publish, "--every": every, "--seconds": seconds}
    of_logs = {"--out": out, "--holding": holding}  # batches of a stream have their own signal
    for option, value in given.items() if live is None else of_logs.items():
        if value:
            raise InputError(
                option, value, f"left out {'without' if live is None else 'with'} --live"
            )
    if seconds is not None and not seconds > 0:
        raise InputError("--seconds", seconds, "above 0")
    robot = robot_of(name)
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

    stream = _stream(live, node, publish)
    watched = LiveEstimator(
        robot, noise=noise, every=every, convention=convention or "controller", **own
    )
    _follow(watched, stream, publish, seconds, as_json)


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


def _stream(url: str, node: str | None, publish: bool) -> MqttStream | OpcuaStream:
    """The stream of an address."""
    if url.startswith(("mqtt://", "mqtts://")):
        from deltadyn.payload.streams import MqttStream

        if node is not None:
            raise InputError("--node", node, "left out with MQTT, whose address has the topic")
        return MqttStream(url)
    if url.startswith("opc.tcp://"):
        from deltadyn.payload.streams import OpcuaStream

        if publish:
            raise InputError("--publish", True, "left out with OPC UA")
        if node is None:
            raise InputError("--node", None, "the node with the batches, as ns=2;s=Robot.Batches")
        return OpcuaStream(url, node)
    allowed = "mqtt://host[:port]/topic, mqtts://... or opc.tcp://host:port[/path]"
    raise InputError("--live", url.rpartition("@")[2], allowed)


def _follow(
    estimator: LiveEstimator,
    stream: MqttStream | OpcuaStream,
    publish: bool,
    seconds: float | None,
    as_json: bool,
) -> None:
    """Show updates until the time is over or a signal comes, then the summary."""
    import asyncio
    import logging
    import signal
    from contextlib import aclosing, suppress

    from deltadyn.payload.live import stop

    logging.getLogger("asyncua").setLevel(logging.CRITICAL)  # lost connections are notices here
    logging.getLogger("mqtt").setLevel(logging.CRITICAL)

    async def watch() -> None:
        async with aclosing(stream.items()) as items:  # type: ignore[type-var]
            async for item in items:
                for update in estimator.take(item):
                    _show(update, as_json)
                    if publish:
                        await stream.publish(json.dumps(update.as_dict()))  # type: ignore[union-attr]

    async def run() -> None:
        loop, signalled = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(ValueError, RuntimeError, NotImplementedError):  # not the main thread
                loop.add_signal_handler(number, signalled.set)
        tasks = [loop.create_task(watch()), loop.create_task(_wait(signalled))]
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            await stop(task)

    asyncio.run(run())
    counts, unpublished = estimator.counts, getattr(stream, "unpublished", 0)
    if as_json:
        click.echo(json.dumps({**counts.as_dict(), "unpublished": unpublished}))
    else:
        click.echo(f"{counts}, results not published {unpublished}" if publish else str(counts))
    if not counts.samples:
        sys.exit(ANSWER_NO)


async def _wait(signalled: asyncio.Event) -> None:
    await signalled.wait()


def _show(update: Update, as_json: bool) -> None:
    """Events and readings on stdout; notices on stderr, and with JSON among the lines."""
    from deltadyn.payload.live import Notice

    notice: Any = update if isinstance(update, Notice) else None
    if notice is not None and notice.count > MANY and str(notice.count).strip("0") != "1":
        return
    if as_json:
        click.echo(json.dumps(update.as_dict(), allow_nan=False))
    else:
        click.echo(str(update), err=notice is not None)
