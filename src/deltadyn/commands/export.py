"""`deltadyn export`: the model for a controller, a PLC or a simulator."""

from __future__ import annotations

from typing import Any

import click

from deltadyn.commands.common import guarded, json_option, robot_argument, robot_of, show


@click.command(epilog="Example: deltadyn export mine.yaml c --out controller --precision float")
@robot_argument
@click.argument("target", metavar="TARGET")
@click.option("--out", default=None, help="Folder to write into; default: the target's name.")
@click.option("--precision", default=None, help="double or float (target c).")
@click.option(
    "--rate", default=None, type=float, help="Hz of the payload estimator (c, structured-text)."
)
@click.option("--name", "called", default=None, help="Name of the blocks (structured-text).")
@click.option("--payload", default=None, type=float, help="kg to carry instead of the file's.")
@click.option("--timestep", default=None, type=float, help="Step in s (targets mjcf, fmu).")
@click.option("--linear-units", default=None, help="mm or inch, for LinuxCNC (target sheets).")
@click.option("--fmi", default=None, help="Version of the standard, 2.0 or 3.0 (target fmu).")
@click.option("--no-binary", is_flag=True, help="Sources alone (target fmu).")
@click.option("--force", is_flag=True, help="Replace files that an export did not write.")
@json_option
@guarded
def export(
    name: str,
    target: str,
    out: str | None,
    precision: str | None,
    rate: float | None,
    called: str | None,
    payload: float | None,
    timestep: float | None,
    linear_units: str | None,
    fmi: str | None,
    no_binary: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write a robot's model for TARGET: c, structured-text, mjcf, fmu or sheets."""
    from deltadyn.exports import export as write

    robot = robot_of(name)
    if payload is not None:
        robot = robot.with_payload(payload, robot.payload.offset)
    given: dict[str, Any] = {
        "precision": precision,
        "rate": rate,
        "name": called,
        "timestep": timestep,
        "linear_units": linear_units,
        "fmi": fmi,
        "binary": False if no_binary else None,
    }
    options = {key: value for key, value in given.items() if value is not None}
    show(write(robot, target, out or target.lower(), overwrite=force, **options), as_json)
