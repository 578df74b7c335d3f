"""`deltadyn export`: the model for a controller, a PLC or a simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from deltadyn.commands.common import (
    checked_log,
    guarded,
    json_option,
    log_options,
    no_check_option,
    reading_options,
    robot_argument,
    robot_of,
    show,
)
from deltadyn.errors import InputError

if TYPE_CHECKING:
    from deltadyn.recording.recording import Recording
    from deltadyn.robot import Robot

CODE = ("c", "structured-text")  # targets with estimator and observer


def _tell_kinds(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    """Print the kinds that the targets hold."""
    if not asked or context.resilient_parsing:
        return
    from deltadyn.exports.export import held_kinds

    click.echo(held_kinds())
    context.exit()


@click.command(
    epilog="Example: deltadyn export mine.yaml c --out controller --precision float. With payload "
    "deviations and force observer of an empty run: deltadyn export mine.yaml c --empty empty.csv"
)
@robot_argument
@click.argument("target", metavar="TARGET")
@click.option("--out", default=None, help="Folder to write into; default: the target's name.")
@click.option("--precision", default=None, help="double or float (target c).")
@click.option(
    "--rate", default=None, type=float, help="Hz of the payload estimator (c, structured-text)."
)
@click.option(
    "--estimator", default=None, help="Of the payload: bank or least-squares (c, structured-text)."
)
@click.option(
    "--empty",
    default=None,
    metavar="LOG",
    help="Log of usual motion without contact and load: gives the payload's deviations, and adds "
    "the force observer (c, structured-text).",
)
@click.option("--name", "called", default=None, help="Name of the blocks (structured-text).")
@click.option(
    "--codesys-dynamics",
    is_flag=True,
    help="Also a block for CODESYS' SMC_GroupSetDynamics (structured-text).",
)
@click.option("--payload", default=None, type=float, help="kg to carry instead of the file's.")
@click.option("--timestep", default=None, type=float, help="Step in s (targets mjcf, fmu).")
@click.option("--linear-units", default=None, help="mm or inch, for LinuxCNC (target sheets).")
@click.option("--package", default=None, help="ROS package that holds the meshes (target urdf).")
@click.option("--fmi", default=None, help="Version of the standard, 2.0 or 3.0 (target fmu).")
@click.option("--no-binary", is_flag=True, help="Sources alone (target fmu).")
@click.option("--no-windows", is_flag=True, help="No library for Windows (target fmu).")
@log_options
@no_check_option
@click.option("--force", is_flag=True, help="Replace files that an export did not write.")
@click.option(
    "--kinds",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_tell_kinds,
    help="Say which targets hold which kinds of robots, and end.",
)
@json_option
@guarded
def export(
    name: str,
    target: str,
    out: str | None,
    precision: str | None,
    rate: float | None,
    estimator: str | None,
    empty: str | None,
    called: str | None,
    codesys_dynamics: bool,
    payload: float | None,
    timestep: float | None,
    linear_units: str | None,
    package: str | None,
    fmi: str | None,
    no_binary: bool,
    no_windows: bool,
    columns: str | None,
    read: tuple[str, ...],
    no_check: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write a robot's model for TARGET: c, structured-text, mjcf, urdf, sdf, usd, fmu or sheets.

    c, structured-text and fmu hold every kind of robot, but planar, articulated and helical ones
    with inclined arms; mjcf holds all; urdf and usd those without gears and screws in the platform,
    sdf those of three limbs; sheets those that a controller has a transformation for. --kinds lists
    them.
    """
    from deltadyn.exports import export as write

    robot = robot_of(name)
    if payload is not None:
        robot = robot.with_payload(payload, robot.payload.offset)
    given: dict[str, Any] = {
        "precision": precision,
        "rate": rate,
        "estimator": estimator,
        "name": called,
        "codesys_dynamics": True if codesys_dynamics else None,
        "timestep": timestep,
        "linear_units": linear_units,
        "package": package,
        "fmi": fmi,
        "binary": False if no_binary else None,
        "windows": False if no_windows else None,
    }
    options = {key: value for key, value in given.items() if value is not None}
    if empty is not None:
        if target.lower() not in CODE:
            raise InputError("--empty", empty, f"with a target of {', '.join(CODE)}")
        log = checked_log(robot, empty, reading_options(columns, read), not no_check)
        options |= _of_empty_run(robot, log, rate, estimator)
    show(write(robot, target, out or target.lower(), overwrite=force, **options), as_json)


def _of_empty_run(
    robot: Robot, log: Recording, rate: float | None, estimator: str | None
) -> dict[str, Any]:
    """Payload estimator and tare of the force observer by an empty run."""
    from deltadyn.force import Tare
    from deltadyn.payload import PayloadEstimator
    from deltadyn.payload.settings import EstimatorOptions

    chosen = EstimatorOptions().estimator if estimator is None else estimator
    own = PayloadEstimator.from_fit(robot, log, rate=rate, estimator=chosen)
    return {"estimator": own, "tare": Tare.of(robot, log)}
