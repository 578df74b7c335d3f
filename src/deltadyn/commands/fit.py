"""`deltadyn identify` and `deltadyn validate`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from deltadyn.commands.common import ANSWER_NO, guarded, show
from deltadyn.errors import InputError

if TYPE_CHECKING:
    from deltadyn.recording import Recording
    from deltadyn.robot import Robot


def _bands(value: str) -> Any:
    """ "auto", "none" or a number of Hz."""
    if value in ("auto", "none"):
        return None if value == "none" else value
    try:
        return float(value)
    except ValueError:
        raise InputError("--band", value, "auto, none or a frequency in Hz") from None


def _read(
    robot: Robot, paths: tuple[str, ...], payload: float | None, bare: Robot | None = None
) -> list[Recording]:
    """The logs; the first is that of the robot without its rod where `bare` is given."""
    from deltadyn.recording import read_recording

    robots = [robot if index or bare is None else bare for index in range(len(paths))]
    records = [read_recording(path, robot=own) for path, own in zip(paths, robots, strict=True)]
    if payload is None:
        return records
    return [item.replace(payload=payload) for item in records]


@click.command(
    epilog="Example: deltadyn identify sipro-d3-1200 log.csv --validate held-out.csv --out mine"
)
@click.argument("name", metavar="ROBOT")
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
@click.option("--hold", is_flag=True, help="Keep what the logs cannot tell at the robot's values.")
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
    hold: bool,
    stribeck: bool,
    held_out: tuple[str, ...],
    out: str,
    seed: int,
    as_json: bool,
) -> None:
    """Fit a robot's parameters to logs; writes a robot file, a JSON and a report."""
    from deltadyn.identification import identify as run
    from deltadyn.identification.two_step import without_rod
    from deltadyn.robot_file import load_robot
    from deltadyn.validation import validate as check

    robot = load_robot(name)
    apart = _read(robot, held_out, payload)
    fit = run(
        robot,
        _read(robot, logs, payload, without_rod(robot) if method == "two-step" else None),
        method,
        model=model,
        tied={"tied": True, "own": False, "auto": "auto", None: None}[limbs],
        band=_bands(band),
        unidentifiable="hold" if hold else "raise",
        stribeck=stribeck,
        validation=apart or None,
        seed=seed,
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
@click.argument("name", metavar="ROBOT")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("--model", default="exact", show_default=True, help="The model that predicts.")
@click.option("--against", default=None, metavar="ROBOT", help="Another robot to compare with.")
@click.option("--band", default="auto", show_default=True, help="Hz that count, auto or none.")
@click.option("--payload", type=float, default=None, help="What the robot carried, in kg.")
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
    out: str | None,
    as_json: bool,
) -> None:
    """How well a robot's model predicts the torque of logs, and what it misses."""
    from deltadyn.robot_file import load_robot
    from deltadyn.validation import compare
    from deltadyn.validation import validate as run

    robot = load_robot(name)
    records = _read(robot, logs, payload)
    found: Any
    if against is None:
        found = run(robot, records, band=_bands(band), dynamics=model)
    else:
        both = {name: robot, against: load_robot(against)}
        found = compare(both, records, band=_bands(band), dynamics=dict.fromkeys(both, model))
    more = {"page": str(found.page(out))} if out else {}
    show(found, as_json, **more)
    if out and not as_json:
        click.echo(f"\nwritten: {out} (open it in a browser)")
