"""`deltadyn init`, `repeat` and `completion`: projects, exact repetition, the shell."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from deltadyn.commands.common import guarded
from deltadyn.commands.project import FILE, changed_inputs, read_project
from deltadyn.errors import DeltadynError, InputError, UnknownNameError

PROJECT = """\
# A deltadyn project. Commands that run in this folder read it; `.` names its robot:
#   deltadyn excite . --out recordings/excite.csv
#   deltadyn identify . recordings/log.csv --validate recordings/held-out.csv
# `deltadyn repeat identify` runs the last `deltadyn identify` again, exactly.

[project]
robot = "robot.yaml"
columns = "columns.yaml"

# How the logs are to be read, by the keywords of `read_recording`.
[reading]
# torque_side = "motor"        # torques are on the motor's side of the gear
# sample_time = 0.001          # s, where a log has no time column

# Defaults of a command, by its long options.
[identify]
out = "results/identified"

[excite]
out = "results/excite.csv"
"""

COLUMNS = """\
# What the columns of your logs are: name in the file, then quantity, axis and unit.
# Columns with names such as t_s, q1_rad, tau1_Nm or `theta1 [deg]` need no entry.
# Left side: the name in the file, or its number from 1. Remove the braces below and write, e.g.:
#   Axis1.ActPos: q1_deg
#   Axis1.ActTorque: {quantity: tau, axis: 1, unit: Nm, sign: -1}
#   Reserve: null                # leave this column out
{}
"""


@click.command(epilog="Example: deltadyn init my-robot --robot sipro-d3-1200")
@click.argument("folder")
@click.option(
    "--robot",
    "name",
    default="sipro-d3-1200",
    show_default=True,
    help="Catalogue robot, or robot file, to begin with.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
@guarded
def init(folder: str, name: str, as_json: bool) -> None:
    """Make a project folder: robot file, column map, places for recordings and results."""
    from deltadyn.files import write_whole
    from deltadyn.robot.file import load_robot, robot_text

    robot, place = load_robot(name), Path(folder)
    files = {
        FILE: PROJECT,
        "robot.yaml": robot_text(robot),
        "columns.yaml": COLUMNS,
    }
    there = [str(place / item) for item in files if (place / item).exists()]
    if there:
        raise DeltadynError(f"{there[0]} is there already; nothing was written")
    for part in ("recordings", "results"):
        (place / part).mkdir(parents=True, exist_ok=True)
    for item, text in files.items():
        write_whole(place / item, text)
    if as_json:
        record = {"folder": str(place), "robot": robot.name, "files": list(files)}
        click.echo(json.dumps(record, indent=2))
        return
    click.echo(
        f"{place}: {robot.name} in robot.yaml, columns.yaml for the logs, {FILE} for choices\n"
        f"next: put your robot's numbers into {place / 'robot.yaml'}, then\n"
        f"  cd {place}\n"
        "  deltadyn excite .                     # the motion to run on the robot\n"
        "  deltadyn identify . recordings/LOG    # once its log is there"
    )


@click.command(epilog="Example: deltadyn repeat identify")
@click.argument("command")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
@guarded
def repeat(command: str, as_json: bool) -> None:
    """Run the last COMMAND of this project again, with every choice as it was."""
    from importlib.metadata import version

    found = read_project()
    if found is None:
        raise InputError("folder", str(Path.cwd()), f"one with {FILE}, as `deltadyn init` makes it")
    runs = found.get("runs", {})
    if command not in runs:
        if not runs:
            raise InputError("command", command, f"one that was run before; {FILE} records none")
        raise UnknownNameError("command", command, runs)
    run = runs[command]
    for told in changed_inputs(run):
        click.echo(f"note: {told} since that run; the result may differ", err=True)
    if run.get("deltadyn") != version("deltadyn"):
        told = f"that run was made by deltadyn {run.get('deltadyn')}, this is {version('deltadyn')}"
        click.echo(f"note: {told}", err=True)
    root = click.get_current_context().find_root()
    assert isinstance(root.command, click.Group)
    arguments = [*(["--json"] if as_json else []), *run["arguments"]]
    chosen = root.command.commands[command]
    with chosen.make_context(command, arguments, parent=root) as context:
        chosen.invoke(context)


@click.command(
    epilog="Example: deltadyn completion bash > ~/.local/share/bash-completion/completions/deltadyn"
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
@guarded
def completion(shell: str, as_json: bool) -> None:
    """Print the script that completes commands, options and robots in a shell."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    root = click.get_current_context().find_root()
    if found is None:
        raise UnknownNameError("shell", shell, ("bash", "zsh", "fish"))
    script = found(root.command, {}, "deltadyn", "_DELTADYN_COMPLETE").source()
    click.echo(json.dumps({"shell": shell, "script": script}, indent=2) if as_json else script)
    if sys.stdout.isatty():
        click.echo("# write this into a file that your shell reads", err=True)
