"""`deltadyn sizing`: loads over payloads and cycle rates."""

from __future__ import annotations

import sys

import click

from deltadyn.commands.common import ANSWER_NO, guarded, robot_argument, robot_of
from deltadyn.errors import DeltadynError, InputError


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
@click.option("--cycles", default="60,90,120", show_default=True, help="Per minute, with commas.")
@click.option("--share", default=1.0, show_default=True, help="Share of the robot's limits to use.")
@click.option("--out", default=None, help="HTML page with heat maps to write.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
@guarded
def sizing(
    name: str, payloads: str | None, cycles: str, share: float, out: str | None, as_json: bool
) -> None:
    """Torque, speed, power and limits of the Adept cycle; exit status 1 where no case may run."""
    import json

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
        click.echo(json.dumps(record, indent=2))
    else:
        click.echo(f"{table}\n\n{rates or f'no fastest cycle: {reason}'}")
        if page is not None:
            click.echo(f"\nwritten: {page} (open it in a browser)")
    if not table.feasible.any():
        sys.exit(ANSWER_NO)
