"""`deltadyn history`: what was found about each robot over the years."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deltadyn.commands.common import (
    ANSWER_NO,
    WRONG_CALL,
    carried_option,
    echo_json,
    guarded,
    json_option,
    log_options,
    logs_argument,
    method_option,
    model_option,
    no_check_option,
    read_logs,
    reading_options,
    robot_argument,
    robot_of,
    show,
    spoken,
    terms_of,
    terms_option,
)
from deltadyn.commands.project import project_history
from deltadyn.errors import DeltadynError, InputError
from deltadyn.units import counted

if TYPE_CHECKING:
    from deltadyn.history import Added, History
    from deltadyn.robot import Robot

store_option = click.option(
    "--store",
    default=None,
    metavar="PATH|URL",
    help="SQLite file, or postgresql+psycopg://user@host/name; default: `history` of [project] in "
    "deltadyn.toml, else deltadyn-history.db.",
)
zone_option = click.option(
    "--zone", default=None, metavar="ZONE", help="The plant's, such as Europe/Berlin."
)
serial_option = click.option("--serial", default=None, help="Serial number of the robot.")
type_option = click.option("--robot", default=None, metavar="TYPE", help="Name in the robot file.")


def period_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options `--from` and `--to`, and the zone that they are local in."""
    start = click.option("--from", "start", default=None, metavar="TIME", help="Date, or time.")
    end = click.option("--to", "end", default=None, metavar="TIME", help="The same; not included.")
    return start(end(zone_option(command)))


def choice_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose entries."""
    kind = click.option(
        "--kind", type=click.Choice(["fit", "validation", "log"]), default=None, help="Of entries."
    )
    return type_option(serial_option(period_options(kind(command))))


def open_history(store: str | None, *, create: bool = False) -> History:
    """The history of `--store`, of the project, or of this folder."""
    from deltadyn.history import History
    from deltadyn.history.store import DEFAULT

    return History(store or project_history() or DEFAULT, create=create)


@click.group()
def history() -> None:
    """Keep fits, validations and nightly logs of each robot, and look at them again."""


@history.command(
    epilog="Example: deltadyn history add mine.yaml night.csv --serial D3-0117 "
    "--time 2026-05-03T02:00:00 --zone Europe/Berlin"
)
@robot_argument
@logs_argument
@click.option("--serial", required=True, help="Serial number of the robot.")
@click.option(
    "--time",
    default=None,
    metavar="TIME",
    help="When the log was recorded, with its offset or local in the zone; default: the dates "
    "in the file.",
)
@zone_option
@click.option("--temperature", type=float, default=None, help="In degrees Celsius.")
@click.option("--note", default="", help="What else is to be remembered.")
@click.option(
    "--kind",
    type=click.Choice(["log", "validation"]),
    default="log",
    help="Identify the log, or hold the robot file's model against it.",
)
@method_option
@model_option
@terms_option
@carried_option
@log_options
@no_check_option
@store_option
@json_option
@guarded
def add(
    name: str,
    logs: tuple[str, ...],
    time: str | None,
    store: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Identify the robot from each LOG, and keep what was found with its factors.

    A log that is there already is not added again; where its time, payload or temperature is
    given otherwise now, that is said, and `history correct` or `history remove` mends it. Of
    several logs one that cannot be added costs itself, and the exit status is 2. It is 1 where a
    new fit is not to be trusted.
    """
    from deltadyn.identification.verdict import BAD

    if time is not None and len(logs) > 1:
        raise InputError("--time", time, "left out with several logs, or one log at a time")
    robot = robot_of(name)
    found: dict[str, Added] = {}
    lost: dict[str, str] = {}
    with open_history(store, create=True) as kept:
        for path in logs:
            try:
                found[path] = _added(kept, robot, path, time, given)
            except (DeltadynError, OSError) as error:
                if len(logs) == 1:
                    raise
                lost[path] = str(error)
        _show_added(kept.place, found, lost, as_json)
    if lost:
        sys.exit(WRONG_CALL)
    if any(item.new and item.entry.grade == BAD for item in found.values()):
        sys.exit(ANSWER_NO)


def _show_added(place: str, found: dict[str, Added], lost: dict[str, str], as_json: bool) -> None:
    if as_json:
        items = [
            {
                "log": path,
                "new": item.new,
                "entry": item.entry.as_dict(),
                "notes": list(item.notes),
            }
            for path, item in found.items()
        ]
        errors = [{"log": path, "message": text} for path, text in lost.items()]
        echo_json({"history": place, "added": items, "lost": errors})
        return
    for path, item in found.items():
        click.echo(f"{path}: {item}")
        if item.new:
            click.echo(item.entry.line)
    for path, text in lost.items():
        click.echo(f"{path}: not added: {spoken(text)}", err=True)


def _added(
    kept: History, robot: Robot, path: str, time: str | None, given: dict[str, Any]
) -> Added:
    """One log in the history."""
    from deltadyn.identification import FitOptions

    about = {key: given[key] for key in ("zone", "temperature", "note")}
    options = reading_options(given["columns"], given["read"])
    if given["payload"] is not None:
        options = replace(options, payload=given["payload"])
    if given["kind"] == "log":
        asked = FitOptions(
            model=given["model"],
            terms=terms_of(given["terms"]),
            unidentifiable="hold",
            check=not given["no_check"],
        )
        return kept.add_log(
            robot,
            path,
            given["serial"],
            time=time,
            **about,
            method=given["method"],
            options=asked,
            reading=options,
        )
    return _validated(kept, robot, path, time, given, options)


def _validated(
    kept: History, robot: Robot, path: str, time: str | None, given: dict[str, Any], options: Any
) -> Added:
    """The robot file's model beside a log."""
    from deltadyn.history.logs import Night
    from deltadyn.recording.checks import refuse_spoiled
    from deltadyn.validation import validate

    (log,) = read_logs(robot, [path], None, options)
    if not given["no_check"]:
        refuse_spoiled(robot, log)
    night = Night(log)
    warm = night.temperature if given["temperature"] is None else given["temperature"]
    return kept.add(
        validate(robot, log, dynamics=given["model"]),
        given["serial"],
        time=night.recorded if time is None else time,
        zone=given["zone"],
        temperature=warm,
        note=given["note"],
    )


@history.command("list", epilog="Example: deltadyn history list --serial D3-0117 --from 2026-05-01")
@choice_options
@click.option("--robots", is_flag=True, help="The robots instead of their entries.")
@store_option
@json_option
@guarded
def list_entries(robots: bool, store: str | None, as_json: bool, **chosen: Any) -> None:
    """List entries, the oldest first, or the robots."""
    with open_history(store) as kept:
        place = kept.place
        if robots:
            members = kept.robots()
            if as_json:
                records = [asdict(item) | _span(item) for item in members]
                echo_json({"history": place, "robots": records})
                return
            for member in members:
                click.echo(str(member))
            return
        found = kept.entries(**chosen)
    if as_json:
        echo_json({"history": place, "entries": [item.as_dict() for item in found]})
        return
    for item in found:
        click.echo(item.line)
    click.echo(f"{len(found)} {'entry' if len(found) == 1 else 'entries'} in {place}")


def _span(member: Any) -> dict[str, str | None]:
    ends = {"first": member.first, "last": member.last}
    return {key: None if time is None else time.isoformat() for key, time in ends.items()}


@history.command("show", epilog="Example: deltadyn history show 17")
@click.argument("number", type=int)
@store_option
@json_option
@guarded
def show_entry(number: int, store: str | None, as_json: bool) -> None:
    """Print an entry with its parameters."""
    with open_history(store) as kept:
        show(kept.entry(number), as_json)


reason_option = click.option("--reason", required=True, help="Why the entry is wrong.")


@history.command(
    epilog='Example: deltadyn history correct 17 --serial D3-0118 --reason "the wrong cell"'
)
@click.argument("number", type=int)
@reason_option
@click.option("--serial", default=None, help="The robot that it is of, with all of its log.")
@click.option("--time", default=None, metavar="TIME", help="When the log was recorded.")
@zone_option
@click.option("--temperature", type=float, default=None, help="In degrees Celsius.")
@click.option("--note", default=None, help="What else is to be remembered.")
@store_option
@json_option
@guarded
def correct(number: int, store: str | None, as_json: bool, **given: Any) -> None:
    """Correct what was said wrongly about an entry; what it was stays in the journal.

    What was identified does not change: of a log that was read wrongly, or with another payload,
    remove the entry and add the log again.
    """
    with open_history(store) as kept:
        show(kept.correct(number, **given), as_json)


@history.command(epilog='Example: deltadyn history remove 17 --reason "payload was forgotten"')
@click.argument("number", type=int)
@reason_option
@store_option
@json_option
@guarded
def remove(number: int, reason: str, store: str | None, as_json: bool) -> None:
    """Remove an entry with its factors; its numbers stay in the journal, with the reason."""
    with open_history(store) as kept:
        entry = kept.remove(number, reason=reason)
    if as_json:
        echo_json({"removed": entry.as_dict(), "reason": reason})
    else:
        click.echo(f"removed: {spoken(entry.line.strip())}; `deltadyn history journal` shows it")


@history.command(epilog="Example: deltadyn history journal --entry 17")
@click.option("--entry", type=int, default=None, metavar="NUMBER", help="Of this entry alone.")
@store_option
@json_option
@guarded
def journal(entry: int | None, store: str | None, as_json: bool) -> None:
    """List what was corrected and removed, when and why, with what it was."""
    with open_history(store) as kept:
        found, place = kept.journal(entry), kept.place
    if as_json:
        echo_json({"history": place, "journal": [item.as_dict() for item in found]})
        return
    for item in found:
        click.echo(spoken(item.line))
    click.echo(f"{counted(len(found), 'act')} in the journal of {place}")


@history.command(epilog="Example: deltadyn history export --out tables --format parquet")
@choice_options
@click.option("--out", default="history", help="Folder for the tables.")
@click.option("--format", type=click.Choice(["csv", "parquet"]), default="csv", help="Of tables.")
@store_option
@json_option
@guarded
def export(out: str, format: str, store: str | None, as_json: bool, **chosen: Any) -> None:
    """Write entries and their parameters as tables: CSV or Parquet."""
    from deltadyn.history.tables import write_tables

    with open_history(store) as kept:
        found = kept.entries(**chosen)
    files = [str(path) for path in write_tables(found, out, format)]
    if as_json:
        echo_json({"entries": len(found), "files": files})
    else:
        click.echo(f"written: {', '.join(files)} ({counted(len(found), 'entry', 'entries')})")


@history.command(
    epilog="Example: deltadyn history refit D3-0117 --from 2026-05-01 --to 2026-06-01 --out may"
)
@click.argument("serial")
@type_option
@period_options
@method_option
@model_option
@click.option(
    "--terms",
    type=click.Choice(["auto", "file"]),
    default="auto",
    help="The terms that the factors hold, or none beyond the robot file.",
)
@click.option("--out", default=None, help="Name of the robot file and JSON to write.")
@store_option
@json_option
@guarded
def refit(
    serial: str,
    model: str | None,
    out: str | None,
    store: str | None,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Fit a period of a robot again from its factors, without the logs."""
    from deltadyn.identification import FitOptions

    options = FitOptions(model=model, unidentifiable="hold")
    with open_history(store) as kept:
        fit = kept.refit(serial, options=options, **chosen)
    files = [] if out is None else [str(path) for path in fit.save(out)]
    logs = () if fit.information is None else fit.information.recordings
    show(fit, as_json, files=files, logs=list(logs))
    if not as_json:
        click.echo(f"\nfrom {counted(len(logs), 'log')}")
        if files:
            click.echo(f"written: {', '.join(files)}")


@history.command(epilog="Example: deltadyn history backup /backup/history-2026-05-03.db")
@click.argument("file")
@click.option("--force", is_flag=True, help="Replace a FILE that is there without a question.")
@store_option
@json_option
@guarded
def backup(file: str, force: bool, store: str | None, as_json: bool) -> None:
    """Write a whole copy into an SQLite file, while others read and write.

    A FILE that is there is replaced after a question; where nobody can answer it is kept.
    """
    with open_history(store) as kept:
        asks = not (force or as_json) and Path(file).is_file() and sys.stdin.isatty()
        overwrite = force or (asks and click.confirm(f"Replace {file}?", err=True))
        written = kept.backup(file, overwrite=overwrite)
        place = kept.place
    if as_json:
        echo_json({"history": place, "backup": str(written)})
    else:
        click.echo(f"{place} is copied to {written}; --store {written} opens it")


@history.command(epilog="Example: deltadyn history forget --older-than 2y --factors-only --yes")
@click.option("--older-than", required=True, metavar="AGE", help="2y, 18mo, 6w, 90d, ...")
@click.option("--factors-only", is_flag=True, help="Keep entries with their parameters.")
@type_option
@serial_option
@click.option("--yes", is_flag=True, help="Do it; without, it is only said what would go.")
@store_option
@json_option
@guarded
def forget(older_than: str, yes: bool, store: str | None, as_json: bool, **chosen: Any) -> None:
    """Remove entries that are older than an age, or their factors alone."""
    with open_history(store) as kept:
        gone = kept.forget(older_than, rehearse=not yes, **chosen)
    if as_json:
        echo_json({**asdict(gone), "done": yes})
        return
    entries = counted(gone.entries, "entry", "entries")
    told = f"{entries} and {counted(gone.factors, 'archive')} of factors"
    click.echo(f"removed: {told}" if yes else f"would remove {told}; pass --yes to do it")
