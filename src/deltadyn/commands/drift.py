"""`deltadyn history drift`: what changed in each robot of a history, for a nightly job."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deltadyn.commands.common import (
    ANSWER_NO,
    echo_json,
    guarded,
    json_option,
    page_option,
    spoken,
    written,
)
from deltadyn.commands.history import (
    open_history,
    serial_option,
    store_option,
    type_option,
    zone_option,
)
from deltadyn.errors import InputError

if TYPE_CHECKING:
    from deltadyn.history import Drift, DriftOptions, Entry


@click.command(
    epilog="Example, every night: deltadyn history drift --since 2026-05-01 --out drift.html "
    "--mqtt mqtt://broker/plant/drift"
)
@store_option
@type_option
@serial_option
@click.option(
    "--years-per-alarm",
    type=float,
    default=20.0,
    help="Years of a robot between two false alarms, over all its parameters.",
)
@click.option("--smallest", type=float, default=0.02, help="Least change to tell, as a share.")
@click.option(
    "--since",
    default=None,
    metavar="TIME",
    help="Only alarms raised since then count for exit status and messages; default: all.",
)
@zone_option
@click.option("--webhook", default=None, metavar="URL", help="POST alarms there as JSON.")
@click.option("--mqtt", default=None, metavar="URL", help="Send them to mqtt://host/topic.")
@page_option
@json_option
@guarded
def drift(
    store: str | None,
    robot: str | None,
    serial: str | None,
    years_per_alarm: float,
    smallest: float,
    since: str | None,
    zone: str | None,
    webhook: str | None,
    mqtt: str | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Tell what changed in the parameters of each robot, since when, and what it may be.

    Exit status 1 where there is an alarm. With several robots --out writes a page for each, with
    its serial number in the name. A message that cannot be sent is said, and changes nothing else.
    """
    from deltadyn.history.drift import DriftOptions
    from deltadyn.history.drift.alarms import check_mqtt, check_webhook
    from deltadyn.history.times import edge

    if webhook is not None:
        check_webhook(webhook)
    if mqtt is not None:
        check_mqtt(mqtt)
    begin = edge(since, zone, "--since")
    options = DriftOptions(years_per_alarm=years_per_alarm, smallest=smallest)
    with open_history(store) as kept:
        entries = kept.entries(robot=robot, serial=serial)
    found = watch_all(entries, options)
    alarmed = tell(found, begin, out, as_json, webhook=webhook, mqtt=mqtt)
    if alarmed:
        sys.exit(ANSWER_NO)


def watch_all(entries: Sequence[Entry], options: DriftOptions) -> list[Drift]:
    """The drift of every robot among the entries that has a fit or a log."""
    from deltadyn.history.drift import by_robot
    from deltadyn.history.drift import drift as watch

    robots = by_robot(entry for entry in entries if entry.kind != "validation")
    if not robots:
        raise InputError("history", f"{len(entries)} entries", "at least one fit or log")
    return [watch(own, options) for own in robots.values()]


def tell(
    found: Sequence[Drift],
    since: datetime | None,
    out: str | None,
    as_json: bool,
    *,
    webhook: str | None = None,
    mqtt: str | None = None,
) -> bool:
    """Print what was found, write pages, send messages; whether there was an alarm."""
    alarms = [item.raised_since(since) for item in found]
    pages = [str(item.page(page)) for item, page in _pages(found, out)]
    troubles = _send(found, alarms, webhook, mqtt)
    if as_json:
        records = [
            {**item.as_dict(), "alarms": [change.as_dict() for change in own]}
            for item, own in zip(found, alarms, strict=True)
        ]
        echo_json({"robots": records, "pages": pages, "not_sent": troubles})
    else:
        click.echo("\n\n".join(spoken(str(item)) for item in found))
        for page in pages:
            click.echo(f"\n{written(page)}")
    for text in troubles:
        click.echo(f"warning: {text}", err=True)
    return any(alarms)


def _pages(found: Sequence[Drift], out: str | None) -> list[tuple[Drift, Path]]:
    """A page per robot: the file asked for, or with several robots one beside it for each."""
    if out is None:
        return []
    if len(found) == 1:
        return [(found[0], Path(out))]
    place = Path(out)
    pages = []
    for item in found:
        name = "".join(mark if mark.isalnum() or mark in "-_." else "_" for mark in item.serial)
        pages.append((item, place.with_name(f"{place.stem}-{name}{place.suffix}")))
    names = [path for _, path in pages]
    if len(set(names)) < len(names):
        raise InputError("--out", out, "one robot at a time where serial numbers look alike")
    return pages


def _send(
    found: Sequence[Drift],
    alarms: Sequence[Sequence[Any]],
    webhook: str | None,
    mqtt: str | None,
) -> list[str]:
    """Send a message per robot with an alarm; what could not be sent, in sentences."""
    from deltadyn.history.drift.alarms import message, post, publish

    told = []
    for item, own in zip(found, alarms, strict=True):
        if own:
            record = message(item, own)
            told += [post(webhook, record)] if webhook is not None else []
            told += [publish(mqtt, record)] if mqtt is not None else []
    return [text for text in told if text]
