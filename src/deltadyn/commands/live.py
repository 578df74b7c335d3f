"""What commands that follow a stream do alike: its options, the stream, updates until the end."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from deltadyn.commands.common import ANSWER_NO, WRONG_CALL, error_record
from deltadyn.errors import InputError
from deltadyn.messages import hide_passwords, readable
from deltadyn.systems import run_loop

if TYPE_CHECKING:
    import asyncio

    from deltadyn.streams.ads import AdsStream
    from deltadyn.streams.live import LiveModel
    from deltadyn.streams.transports import MqttStream, OpcuaStream

SILENCE = 2.0  # s without a message on a connection after which that is said
MANY = 3  # notices of a kind that are all shown; then the 10th, the 100th and so on


def live_options(results: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options of a stream; results go to the topic of this name below that of the batches."""
    options = (
        click.option(
            "--live",
            default=None,
            metavar="URL",
            help="mqtt://host/topic, opc.tcp://host:port or ads://AMSNETID:851/q=GVL.q,tau=GVL.tau.",
        ),
        click.option(
            "--node", default=None, help="Node with the batches, as ns=2;s=Batches (OPC UA)."
        ),
        click.option(
            "--publish", is_flag=True, help=f"Send results to TOPIC/{results} as JSON (MQTT)."
        ),
        click.option("--every", type=float, default=None, help="Seconds between readings (live)."),
        click.option("--seconds", type=float, default=None, help="Stop after so long (live)."),
        click.option(
            "--reconnect",
            type=float,
            default=None,
            metavar="SECONDS",
            help="Give up after so long without a connection; default: never (live).",
        ),
    )

    def added(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return added


def refuse_mixed(
    logs: Sequence[str],
    live: str | None,
    *,
    of_streams: Mapping[str, Any],
    of_logs: Mapping[str, Any],
) -> None:
    """Refuse a call with both logs and a stream or neither, and options of the other kind."""
    if bool(logs) == (live is not None):
        raise InputError("call", "both" if logs else "neither", "logs, or a stream with --live")
    for option, value in (of_streams if live is None else of_logs).items():
        if value is not None and value is not False:
            kind = "without" if live is None else "with"
            raise InputError(option, value, f"left out {kind} --live")
    seconds, limit = of_streams["--seconds"], of_streams["--reconnect"]
    if seconds is not None and not seconds > 0:
        raise InputError("--seconds", seconds, "above 0")
    if limit is not None and not limit >= 0:
        raise InputError("--reconnect", limit, "at least 0 s")


def stream_of(
    url: str,
    node: str | None,
    results: str | None,
    *,
    resets: str | None = None,
    reset_node: str | None = None,
    limit: float | None = None,
) -> MqttStream | OpcuaStream | AdsStream:
    """The stream of an address.

    `results` and `resets` are the topics for updates and for resets, below that of the batches;
    `reset_node` is the node or symbol for resets, `limit` (s) how long it may be without
    a connection.
    """
    if url.startswith(("mqtt://", "mqtts://")):
        from deltadyn.streams.transports import MqttStream

        if node is not None:
            raise InputError("--node", node, "left out with MQTT, whose address has the topic")
        if reset_node is not None:
            allowed = f"left out with MQTT, where TOPIC/{resets} resets"
            raise InputError("--reset-node", reset_node, allowed)
        return MqttStream(url, results=results, resets=resets, limit=limit)
    if url.startswith("opc.tcp://"):
        from deltadyn.streams.transports import OpcuaStream

        if results is not None:
            raise InputError("--publish", True, "left out with OPC UA")
        if node is None:
            raise InputError("--node", None, "the node with the batches, as ns=2;s=Robot.Batches")
        return OpcuaStream(url, node, reset=reset_node, limit=limit)
    if url.startswith("ads://"):
        from deltadyn.streams.ads import AdsStream

        if results is not None:
            raise InputError("--publish", True, "left out with ADS")
        if node is not None:
            raise InputError("--node", node, "left out with ADS, whose address has the symbols")
        return AdsStream(url, reset=reset_node, limit=limit)
    allowed = "mqtt://host[:port]/topic, mqtts://..., opc.tcp://host:port[/path] or ads://..."
    raise InputError("--live", url.rpartition("@")[2], allowed)


def follow(
    model: LiveModel[Any],
    stream: MqttStream | OpcuaStream | AdsStream,
    seconds: float | None,
    as_json: bool,
) -> None:
    """Show updates until the time is over or a signal comes, then the summary.

    A stream that has a topic for results gets them, too. One that gave up to reconnect raises its
    error after the summary.
    """
    import asyncio
    import logging
    import signal
    from contextlib import aclosing, suppress

    from deltadyn.streams.live import GaveUpError, stop, watched
    from deltadyn.streams.transports import MqttStream

    logging.getLogger("asyncua").setLevel(logging.CRITICAL)  # lost connections are notices here
    logging.getLogger("mqtt").setLevel(logging.CRITICAL)
    publishing = stream if isinstance(stream, MqttStream) and stream.results else None

    async def watch() -> None:
        async with aclosing(watched(stream.items(), SILENCE)) as items:
            async for item in items:
                for update in model.take(item):
                    _show(update, as_json)
                    if publishing is not None:
                        await publishing.publish(json.dumps(update.as_dict(), allow_nan=False))

    async def run() -> None:
        loop, signalled = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(ValueError, RuntimeError):  # not the main thread
                try:
                    loop.add_signal_handler(number, signalled.set)
                except NotImplementedError:  # Windows
                    signal.signal(number, lambda *_: loop.call_soon_threadsafe(signalled.set))
        tasks = [loop.create_task(watch()), loop.create_task(_wait(signalled))]
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            await stop(task)

    gave_up: GaveUpError | None = None
    try:
        run_loop(run())
    except GaveUpError as error:
        gave_up = error
    counts, unpublished = model.counts, getattr(stream, "unpublished", 0)
    if as_json:
        click.echo(json.dumps({**counts.as_dict(), "unpublished": unpublished}))
    elif publishing is not None:
        click.echo(f"{counts}, results not published {unpublished}")
    else:
        click.echo(str(counts))
    if gave_up is not None and as_json:  # one line each, also of the error
        click.echo(json.dumps(error_record(gave_up, "")))
        sys.exit(WRONG_CALL)
    if gave_up is not None:
        raise gave_up
    if not counts.samples:
        sys.exit(ANSWER_NO)


async def _wait(signalled: asyncio.Event) -> None:
    await signalled.wait()


def _show(update: Any, as_json: bool) -> None:
    """Events and readings on stdout; notices on stderr, and with JSON among the lines."""
    from deltadyn.streams.live import Notice

    notice = update if isinstance(update, Notice) else None
    if notice is not None and notice.count > MANY and str(notice.count).strip("0") != "1":
        return
    if as_json:
        click.echo(hide_passwords(json.dumps(update.as_dict(), allow_nan=False)))
    else:
        click.echo(readable(str(update)), err=notice is not None)
