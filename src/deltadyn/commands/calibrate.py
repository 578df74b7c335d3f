"""`deltadyn calibrate`: where to measure a robot, and its geometry from what was measured."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deltadyn.commands.common import guarded, robot_argument, robot_of
from deltadyn.errors import InputError

if TYPE_CHECKING:
    from deltadyn.calibration import Calibration
    from deltadyn.robot import Robot


@click.command(
    epilog="Example: deltadyn calibrate mine.yaml --plan 30 --instrument tracker --out poses.csv; "
    "then deltadyn calibrate mine.yaml measured.csv --sigma-mm 0.02 --out calibrated"
)
@robot_argument
@click.argument("files", nargs=-1, metavar="[FILE...]")
@click.option("--plan", type=int, default=None, metavar="N", help="Choose N poses to measure.")
@click.option(
    "--instrument",
    type=click.Choice(["tracker", "camera", "lattice", "probe", "distances"]),
    default="tracker",
    show_default=True,
    help="For which instrument a plan is.",
)
@click.option(
    "--log",
    default=None,
    metavar="FILE",
    help="Log of commands and encoders: t_s, q1_deg, x_cmd_mm.",
)
@click.option("--sigma-mm", type=float, default=None, help="Standard deviation of the instrument.")
@click.option(
    "--unit",
    type=click.Choice(["mm", "m", "cm"]),
    default=None,
    help="Unit of lengths whose headings have none, as in SpatialAnalyzer's text.",
)
@click.option(
    "--poses", default=None, metavar="FILE", help="Table of poses, for a file without joints."
)
@click.option(
    "--frame",
    type=click.Choice(["fit", "base"]),
    default="fit",
    show_default=True,
    help="Whether the instrument's frame is found, or is the robot's base.",
)
@click.option(
    "--tool-mm",
    type=(float, float, float),
    default=(0.0, 0.0, 0.0),
    metavar="X Y Z",
    help="From the platform point to the ball, probe or target.",
)
@click.option("--camera-moves", is_flag=True, help="The camera sits on the platform.")
@click.option(
    "--plate-mm", type=float, multiple=True, help="Height of a plate, for a plan of a probe."
)
@click.option(
    "--sight-from-mm",
    type=(float, float, float),
    default=None,
    metavar="X Y Z",
    help="Where the instrument stands in the robot's base: a plan keeps to poses in its sight.",
)
@click.option(
    "--model",
    type=click.Choice(["auto", "homing", "sizes", "all"]),
    default="auto",
    show_default=True,
    help="What is free; auto takes the smallest that meets left-out places.",
)
@click.option("--gains", is_flag=True, help="Free the drives' gear ratios too.")
@click.option("--rods", is_flag=True, help="Free the two rods of every pair too, with a prior.")
@click.option(
    "--tolerance-mm", type=float, default=1.0, show_default=True, help="Of lengths and places."
)
@click.option(
    "--tolerance-strut-mm", type=float, default=None, help="Of struts, where they are made better."
)
@click.option("--tolerance-deg", type=float, default=0.3, show_default=True, help="Of axes.")
@click.option(
    "--convention",
    type=click.Choice(["controller", "deltadyn"]),
    default="controller",
    show_default=True,
    help="Whose joint coordinates the files have.",
)
@click.option("--out", default=None, help="CSV of a plan; folder for robot file, JSON and page.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@guarded
def calibrate(
    name: str,
    files: tuple[str, ...],
    plan: int | None,
    log: str | None,
    out: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Geometric calibration: plan the poses, then find the geometry from what was measured.

    FILE is CSV with a row per pose (q1_deg, q2_deg, q3_deg, x_mm, y_mm, z_mm; z_mm alone for
    heights), SpatialAnalyzer's text, or a table of a camera's detections; several files are taken
    together, each with its own deviations. A log of commands and encoders shows what the
    controller takes for its geometry, not the robot.
    """
    asked = [plan is not None, bool(files), log is not None]
    if sum(asked) != 1:
        allowed = "one of --plan N, files of measured poses, or --log FILE"
        raise InputError("calibrate", "given none or several", allowed)
    robot = robot_of(name)
    if plan is not None:
        _plan(robot, plan, given, out, as_json)
        return
    _show(_calibrated(robot, files, log, given), out, as_json, log is not None)


def _plan(robot: Robot, poses: int, given: dict[str, Any], out: str | None, as_json: bool) -> None:
    from deltadyn.calibration import plan_calibration

    sight, sigma = given["sight_from_mm"], given["sigma_mm"]
    found = plan_calibration(
        robot,
        given["instrument"],
        poses,
        gains=given["gains"],
        tolerances=_tolerances(given),
        sigma=None if sigma is None else sigma / 1e3,
        plates=tuple(z / 1e3 for z in given["plate_mm"]),
        sight_from=None if sight is None else tuple(v / 1e3 for v in sight),
        tool=tuple(v / 1e3 for v in given["tool_mm"]),
    )
    if out is not None:
        found.save(out)
    if as_json:
        click.echo(json.dumps(found.as_dict(), indent=1))
        return
    click.echo(f"{found}.")
    if out is None:
        click.echo(",".join(found.columns()))
        for row in found.rows():
            click.echo(",".join(str(value) for value in row))
    else:
        click.echo(f"Poses in the controller's coordinates: {out}")


def _calibrated(
    robot: Robot, files: tuple[str, ...], log: str | None, given: dict[str, Any]
) -> Calibration:
    from deltadyn.calibration import FileOptions, read_command_log, read_measurements
    from deltadyn.calibration import calibrate as fit

    sigma, tool = given["sigma_mm"], given["tool_mm"]
    reading = FileOptions(
        unit=given["unit"],
        sigma=None if sigma is None else sigma / 1e3,
        tool=(tool[0] / 1e3, tool[1] / 1e3, tool[2] / 1e3),
        poses=given["poses"],
        frame=given["frame"],
        camera_moves=given["camera_moves"],
        convention=given["convention"],
    )
    if log is not None:
        sets: list[Any] = [read_command_log(log, robot, reading)]
    else:
        sets = [item for path in files for item in read_measurements(path, robot, reading)]
    return fit(
        robot,
        sets,
        model=given["model"],
        gains=given["gains"],
        rods=given["rods"],
        tolerances=_tolerances(given),
    )


def _tolerances(given: dict[str, Any]) -> Any:
    from deltadyn.calibration import Tolerances

    strut = given["tolerance_strut_mm"]
    return Tolerances(
        given["tolerance_mm"] / 1e3,
        math.radians(given["tolerance_deg"]),
        strut=None if strut is None else strut / 1e3,
    )


def _show(result: Calibration, out: str | None, as_json: bool, log: bool) -> None:
    written = () if out is None else result.save(out)
    if as_json:
        record = result.as_dict() | {"written": [str(path) for path in written]}
        click.echo(json.dumps(record, indent=1))
        return
    click.echo(str(result))
    click.echo(f"data: {result.visible}")
    if log:
        click.echo(
            "This is the geometry that the controller computes with. Whether the robot has it, "
            "only an instrument can tell."
        )
    for path in written:
        click.echo(f"written: {Path(path)}")
