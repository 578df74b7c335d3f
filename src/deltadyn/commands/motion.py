"""Motions: `deltadyn excite` designs, `simulate` runs, and `sizing` loads the robot with them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import click

from deltadyn.commands.common import (
    ANSWER_NO,
    echo_json,
    guarded,
    json_option,
    robot_argument,
    robot_of,
    seed_option,
    show,
    written,
)
from deltadyn.errors import DeltadynError, InputError, OscillationWarning
from deltadyn.files import file_set

if TYPE_CHECKING:
    from deltadyn.motion import Motion
    from deltadyn.robot import Robot


@click.command(
    epilog="Example: deltadyn excite sipro-d3-1200 --duration 10 --out excite.csv --page page.html"
)
@robot_argument
@click.option("--duration", default=10.0, help="Length of the motion in s.")
@click.option("--harmonics", default=5, help="Harmonics of the Fourier series.")
@click.option("--criterion", default="balanced", help="What to optimise.")
@click.option("--share", default=0.9, help="Share of the robot's limits to use.")
@click.option("--out", default="excite.csv", help="CSV file for the controller.")
@click.option("--page", default=None, help="HTML page to write.")
@click.option("--rate", default=1000.0, help="Rows per second of the file.")
@click.option(
    "--coordinates",
    type=click.Choice(["joints", "platform"]),
    default="joints",
    help="Coordinates of the file; joint angles in the controller's own signs and offsets.",
)
@click.option("--degrees", is_flag=True, help="Angles in degrees instead of rad.")
@click.option("--screened", default=0, help="Random motions to choose the starts from.")
@click.option("--time-limit", default=60.0, help="Longest search in s.")
@seed_option("the random starts")
@json_option
@guarded
def excite(
    name: str,
    duration: float,
    harmonics: int,
    criterion: str,
    share: float,
    out: str,
    page: str | None,
    rate: float,
    coordinates: Literal["joints", "platform"],
    degrees: bool,
    screened: int,
    time_limit: float,
    seed: int,
    as_json: bool,
) -> None:
    """Design the motion that identifies a robot's parameters best, within all its limits.

    Parameters that no motion of this kind identifies are left out and named.
    """
    from deltadyn.excitation import design_excitation

    found = design_excitation(
        robot_of(name),
        duration,
        harmonics,
        criterion=criterion,
        share=share,
        seed=seed,
        time_limit=time_limit,
        screened=screened,
        unidentifiable="drop",
        progress=not as_json,
    )
    with file_set():
        files = {"file": out} if page is None else {"file": out, "page": str(found.page(page))}
        found.save(out, rate=rate, coordinates=coordinates, angle_unit="deg" if degrees else "rad")
    show(found, as_json, **files)
    if not as_json:
        click.echo(f"\nwritten: {out}" if page is None else f"\n{written(out, page)}")


MOTIONS = ("adept", "y1", "y2", "y3", "gate")


@click.command(
    epilog="Example: deltadyn simulate sipro-d3-1200 --motion excite.csv --preset industrial"
)
@robot_argument
@click.option(
    "--motion",
    "motion_name",
    default="adept",
    help=f"One of {', '.join(MOTIONS)}, or a CSV file as `deltadyn excite` writes it.",
)
@click.option("--repeat", default=1, help="Times that the motion is run, without a stop.")
@click.option("--preset", default="industrial", help="ideal, lab or industrial.")
@click.option("--plant", default="ideal", help="ideal or mujoco.")
@click.option("--controller", type=click.Choice(["feedforward", "pd"]), default="feedforward")
@click.option(
    "--bandwidth",
    type=float,
    default=None,
    help="Of the controller, in Hz; 20, or what the drive bears. Gains that swing are warned of.",
)
@click.option("--payload", default=0.0, help="What the robot carries, in kg.")
@click.option("--rate", default=2000.0, help="The drive's rate in Hz.")
@click.option("--out", default="log.csv", help="The recording, .csv or .parquet.")
@seed_option("noise and faults")
@click.option("--loads", is_flag=True, help="Print torques, powers, forces and limits of the run.")
@click.option("--loads-page", default=None, help="HTML page with the loads to write.")
@json_option
@guarded
def simulate(
    name: str,
    motion_name: str,
    repeat: int,
    preset: str,
    plant: str,
    controller: str,
    bandwidth: float | None,
    payload: float,
    rate: float,
    out: str,
    seed: int,
    loads: bool,
    loads_page: str | None,
    as_json: bool,
) -> None:
    """Run a motion on the virtual test bench and write what a drive would log."""
    import numpy as np

    from deltadyn.recording import write_recording
    from deltadyn.simulation import PD, PDFeedforward
    from deltadyn.simulation import simulate as run_simulation
    from deltadyn.sizing import motion_loads

    robot = robot_of(name)
    laws = {"feedforward": PDFeedforward, "pd": PD}
    motion = _repeated(robot, _motion(robot, motion_name), repeat)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", OscillationWarning)
        run = run_simulation(
            robot.with_payload(payload) if payload else robot,
            motion,
            laws[controller](robot, bandwidth=bandwidth),
            plant,
            preset,
            rate=rate,
            seed=seed,
            progress=not as_json,
        )
    said = [str(item.message) for item in told]
    found = None
    if len(run.truth.t) > 1:  # a run that failed at once has no loads
        found = motion_loads(run.truth.robot, run.truth.motion())
    with file_set():
        page = None if loads_page is None or found is None else str(found.page(loads_page))
        write_recording(run.recording, out)
    if as_json:
        error = np.sqrt(np.mean(run.tracking_error**2, axis=0))
        record = {
            "file": out,
            "rows": len(run.recording),
            "completed": run.completed,
            "status": run.status,
            "warnings": said,
            "tracking_error_rms_rad": error.tolist(),
            "loads": None if found is None else found.as_dict(),
            "loads_page": page,
        }
        echo_json(run.truth.robot.record(record))
    else:
        click.echo(str(run))
        for text in said:
            click.echo(f"warning: {text}")
        if loads and found is not None:
            click.echo(f"\nloads of the true motion:\n{found}\n")
        click.echo(f"written: {out}, {len(run.recording)} rows")
        if page is not None:
            click.echo(f"loads: {page} (open it in a browser)")
    if not run.completed:
        sys.exit(ANSWER_NO)


def _motion(robot: Robot, name: str) -> Motion:
    """A scenario by name, or the motion in a file."""
    from deltadyn import motion

    scenarios: dict[str, Callable[[Robot], Motion]] = {
        "adept": motion.adept_cycle,
        "y1": motion.y1,
        "y2": motion.y2,
        "y3": motion.y3,
        "gate": motion.telescopic_gate,
    }
    chosen = scenarios.get(name)
    return motion.read_motion(name, robot) if chosen is None else chosen(robot)


def _repeated(robot: Robot, motion: Motion, times: int) -> Motion:
    """A motion so many times, one after the other."""
    import numpy as np

    from deltadyn.motion import Motion

    if times < 1:
        raise InputError("--repeat", times, "at least 1")
    if times == 1:
        return motion
    apart = float(np.abs(motion.p[-1] - motion.p[0]).max())
    if apart > 1e-6:
        allowed = f"1 for a motion that ends {apart:.3g} m from its begin"
        raise InputError("--repeat", times, allowed)
    rows = np.tile(np.arange(len(motion) - 1), times)  # the last sample is the next one's first
    t = motion.t[rows] + motion.duration * (np.arange(len(rows)) // (len(motion) - 1))
    return Motion.from_platform(robot, t, motion.p[rows], motion.pd[rows], motion.pdd[rows])


def _numbers(option: str, text: str) -> list[float]:
    """Numbers between commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(option, text, "numbers with commas between them") from None


@click.command(
    epilog="Example: deltadyn sizing sipro-d3-1200 --payloads 0,2,4 --cycles 60,90,120 "
    "--out sizing.html"
)
@robot_argument
@click.option("--payloads", default=None, help="kg, with commas; default: 0, half, full payload.")
@click.option("--cycles", default="60,90,120", help="Per minute, with commas.")
@click.option("--share", default=1.0, help="Share of the robot's limits to use.")
@click.option("--out", default=None, help="HTML page to write.")
@json_option
@guarded
def sizing(
    name: str, payloads: str | None, cycles: str, share: float, out: str | None, as_json: bool
) -> None:
    """Torque, speed, power and limits of the Adept cycle; exit status 1 where no case may run."""
    from deltadyn.sizing import cycle_rates, sizing_table

    robot = robot_of(name)
    if payloads is None:
        most = robot.limits.payload
        masses = [0.0] if most is None else [0.0, most / 2, most]
    else:
        masses = _numbers("--payloads", payloads)
    table = sizing_table(robot, masses, _numbers("--cycles", cycles), share=share)
    able = [mass for mass in masses if robot.limits.payload is None or mass <= robot.limits.payload]
    rates, reason = None, "no payload is within the robot's limit"
    if able:
        try:
            rates = cycle_rates(robot, able, share=share)
        except DeltadynError as error:  # a robot without limits has no fastest cycle
            reason = str(error)
    page = None if out is None else str(table.page(out))
    if as_json:
        record = {**table.as_dict(), "rates": None, "page": page}
        record |= {"rates_missing": reason} if rates is None else {"rates": rates.as_dict()}
        echo_json(record)
    else:
        click.echo(f"{table}\n\n{rates or f'no fastest cycle: {reason}'}")
        if page is not None:
            click.echo(f"\n{written(page)}")
    if not table.feasible.any():
        sys.exit(ANSWER_NO)


@click.command(epilog="Example: deltadyn coupling nt-robot --out coupling.html")
@robot_argument
@click.option("--model", default="exact", help="Whose mass matrix: exact, virtual-work, ...")
@click.option("--z", type=float, default=None, help="Height of the map in m; default: the middle.")
@click.option("--psi", default=0.0, help="Angle of a fourth axis on the map, in rad.")
@click.option("--resolution", default=61, help="Points of a side of the map.")
@click.option("--out", default=None, help="HTML page with the map to write.")
@json_option
@guarded
def coupling(
    name: str,
    model: str,
    z: float | None,
    psi: float,
    resolution: int,
    out: str | None,
    as_json: bool,
) -> None:
    """How much the drives load each other: |M_ij| / sqrt(M_ii M_jj) over the workspace.

    Beside it the inertia at a drive while the others are held, and while they are free: least,
    median and largest over the robot's working cylinder. --out draws a map at one height.
    """
    from deltadyn.dynamics import coupling_map, coupling_summary

    robot = robot_of(name)
    if out is None:
        show(coupling_summary(robot, model=model), as_json)
        return
    from deltadyn.report.sizing import coupling_page

    found = coupling_map(robot, z=z, resolution=resolution, psi=psi, model=model)
    page = str(coupling_page(robot, found, out))
    show(found.summary, as_json, page=page)
    if not as_json:
        click.echo(f"\n{written(page)}")
