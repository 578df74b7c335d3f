"""`deltadyn identify` and `deltadyn validate`."""

from __future__ import annotations

import sys
from typing import Any, Literal

import click

from deltadyn.commands.common import (
    ANSWER_NO,
    guarded,
    log_options,
    read_logs,
    reading_options,
    robot_argument,
    robot_of,
    show,
)
from deltadyn.errors import InputError

#: What --limbs means for `tied`.
LIMBS: dict[str | None, bool | Literal["auto"] | None] = {
    "tied": True,
    "own": False,
    "auto": "auto",
    None: None,
}


def _bands(value: str) -> Any:
    """ "auto", "none" or a number of Hz."""
    if value in ("auto", "none"):
        return None if value == "none" else value
    try:
        return float(value)
    except ValueError:
        raise InputError("--band", value, "auto, none or a frequency in Hz") from None


@click.command(
    epilog="Example: deltadyn identify sipro-d3-1200 log.csv --validate held-out.csv --out mine"
)
@robot_argument
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("--method", default="convex", show_default=True, help="How to fit; see the docs.")
@click.option("--model", default=None, help="What to fit: exact, rigid, virtual-work, ...")
@click.option(
    "--limbs",
    type=click.Choice(["tied", "own", "auto"]),
    default=None,
    help="Common bodies for the three limbs, their own, or by a test.",
)
@click.option("--band", default="auto", show_default=True, help="Hz of the fit, auto or none.")
@click.option("--payload", type=float, default=None, help="What the robot carried, in kg.")
@log_options
@click.option("--hold", is_flag=True, help="Keep what the logs cannot tell at the robot's values.")
@click.option("--no-check", is_flag=True, help="Take logs with a wrong sign or unit as they are.")
@click.option("--stribeck", is_flag=True, help="Add Stribeck friction to every drive.")
@click.option("--validate", "held_out", multiple=True, metavar="LOG", help="Held-out log.")
@click.option("--out", default="identified", show_default=True, help="Name of the files to write.")
@click.option("--seed", default=0, show_default=True, help="Seed of methods that draw numbers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
@guarded
def identify(
    name: str,
    logs: tuple[str, ...],
    method: str,
    model: str | None,
    limbs: str | None,
    band: str,
    payload: float | None,
    columns: str | None,
    read: tuple[str, ...],
    hold: bool,
    no_check: bool,
    stribeck: bool,
    held_out: tuple[str, ...],
    out: str,
    seed: int,
    as_json: bool,
) -> None:
    """Fit a robot's parameters to logs; writes a robot file, a JSON and a report."""
    from deltadyn.identification import FitOptions
    from deltadyn.identification import identify as run
    from deltadyn.identification.methods.two_step import without_rod
    from deltadyn.validation import validate as check

    robot, options = robot_of(name), reading_options(columns, read)
    apart = read_logs(robot, held_out, payload, options)
    # the first log of "two-step" is that of the robot without its rod
    bare = 1 if method == "two-step" else 0
    first = read_logs(without_rod(robot), logs[:bare], payload, options) if bare else []
    fit = run(
        robot,
        first + read_logs(robot, logs[bare:], payload, options),
        method,
        FitOptions(
            model=model,
            tied=LIMBS[limbs],
            band=_bands(band),
            unidentifiable="hold" if hold else "raise",
            stribeck=stribeck,
            check=not no_check,
            seed=seed,
        ),
        validation=apart or None,
        progress=not as_json,
    )
    robot_file, record = fit.save(out)
    report = fit.report(f"{out}.html")
    files = {"robot": str(robot_file), "record": str(record), "report": str(report)}
    found = check(fit, apart) if apart else None
    show(fit, as_json, files=files, validation=None if found is None else found.as_dict())
    if not as_json:
        if found is not None:
            click.echo(f"\n{found}")
        click.echo(f"\nwritten: {robot_file}, {record}, {report} (open it in a browser)")
    if not fit.converged:
        sys.exit(ANSWER_NO)


@click.command(epilog="Example: deltadyn validate identified.yaml held-out.csv --out report.html")
@robot_argument
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("--model", default="exact", show_default=True, help="The model that predicts.")
@click.option("--against", default=None, metavar="ROBOT", help="Another robot to compare with.")
@click.option("--band", default="auto", show_default=True, help="Hz that count, auto or none.")
@click.option("--payload", type=float, default=None, help="What the robot carried, in kg.")
@log_options
@click.option("--no-check", is_flag=True, help="Take logs with a wrong sign or unit as they are.")
@click.option("--out", default=None, help="HTML page to write.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
@guarded
def validate(
    name: str,
    logs: tuple[str, ...],
    model: str,
    against: str | None,
    band: str,
    payload: float | None,
    columns: str | None,
    read: tuple[str, ...],
    no_check: bool,
    out: str | None,
    as_json: bool,
) -> None:
    """How well a robot's model predicts the torque of logs, and what it misses."""
    from deltadyn.recording.checks import refuse_spoiled
    from deltadyn.validation import compare
    from deltadyn.validation import validate as run

    robot = robot_of(name)
    records = read_logs(robot, logs, payload, reading_options(columns, read))
    for record in () if no_check else records:
        refuse_spoiled(robot, record)
    found: Any
    if against is None:
        found = run(robot, records, band=_bands(band), dynamics=model)
    else:
        other = robot_of(against)
        pairs = ((name, robot), (against, other))
        names = [item.name if given == "." else given for given, item in pairs]
        both = {names[0]: robot, names[1]: other}
        found = compare(both, records, band=_bands(band), dynamics=dict.fromkeys(both, model))
    more = {"page": str(found.page(out))} if out else {}
    show(found, as_json, **more)
    if out and not as_json:
        click.echo(f"\nwritten: {out} (open it in a browser)")
