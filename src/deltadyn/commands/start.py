"""The first steps: `deltadyn demo`, `robots`, `init`, `repeat` and `completion`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deltadyn.commands.common import (
    complete_robot,
    echo_json,
    guarded,
    json_option,
    json_text,
    robot_option,
    seed_option,
)
from deltadyn.commands.project import (
    FILE,
    NOT_RECORDED,
    changed_inputs,
    read_project,
    refuse_hidden,
)
from deltadyn.errors import DeltadynError, InputError, UnknownNameError
from deltadyn.files import write_whole

if TYPE_CHECKING:
    from deltadyn.demo import Demo, Learned

# The demonstration.

ROBOT = "autonox-rl5-1450"


@click.command(epilog="Example: deltadyn demo --robot abb-irb360-6-1600 --out demo")
@robot_option(ROBOT, "Robot to show.")
@click.option("--out", default="demo", help="Folder for the results.")
@seed_option("points, search and bench")
@click.option("--quick", is_flag=True, help="Without the path from a log to a model.")
@json_option
@guarded
def demo(name: str, out: str, seed: int, quick: bool, as_json: bool) -> None:
    """The whole path: excite, measure on the virtual bench, identify, validate, weigh, export."""
    from deltadyn.demo import STAGES, run_demo
    from deltadyn.robot.file import load_robot

    robot = load_robot(name)
    with _stages(len(STAGES[:1] if quick else STAGES), quiet=as_json) as tell:
        result = run_demo(robot, out, seed=seed, learn=not quick, tell=tell)
    record = _record(result)
    if result.learned is not None:
        write_whole(Path(out) / "demo.json", json_text(record) + "\n")
    if as_json:
        echo_json(record)
        return
    _show_models(result)
    if result.learned is not None:
        _show_learned(result.learned)


@contextmanager
def _stages(count: int, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A bar over the stages, on the terminal's error stream."""
    if quiet:
        yield lambda stage: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<36}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=count)
        begun = False

        def tell(stage: str) -> None:
            nonlocal begun
            bar.update(task, description=stage, advance=1 if begun else 0)
            begun = True

        yield tell
        bar.update(task, description="done", completed=count)


def _show_models(result: Demo) -> None:
    click.echo(f"{result.robot.name}, {result.robot.dof} degrees of freedom")
    click.echo(
        f"kinematics: {result.points} points of the workspace, "
        f"largest |FK(IK(p)) - p| = {result.round_trip:.1e} m"
    )
    peaks = ", ".join(f"{peak:.1f}" for peak in result.torque_peak)
    click.echo(
        f"move: pick and place in {result.motion.duration:g} s, "
        f"peak torques {peaks} {result.robot.axis_unit('tau')} (exact model)\n"
    )
    click.echo(str(result.ladder))
    click.echo(f"\npicture: {result.picture} (open it in a browser)")
    click.echo(f"loads of the move: {result.loads_page}")


def _show_learned(learned: Learned) -> None:
    width = max(len(what) for what, _ in _summary(learned))
    click.echo("\nthe path from a log to a model, on the virtual bench, preset industrial, 2 kHz")
    for what, found in _summary(learned):
        click.echo(f"  {what:<{width}}  {found}")
    click.echo(f"\n{learned.study.verdict}")
    names = ("log", "held-out", "picks", "robot", "record")
    click.echo("\nwritten: " + ", ".join(str(learned.files[name]) for name in names))
    click.echo(f"C code: {learned.exported.files.folder}")
    click.echo(f"report: {learned.files['report']} (open it in a browser)")


def _summary(learned: Learned) -> list[tuple[str, str]]:
    """What was done and what came out, line by line."""
    excitation, study, tracking = learned.excitation, learned.study, learned.tracking
    lines = [
        (
            "excitation",
            f"condition number {excitation.condition_number:.3g}, "
            f"{excitation.before.condition_number:.3g} of a random motion",
        )
    ]
    own, file = study.validation, study.file_validation
    assert own is not None
    assert file is not None
    unit = own.robot.axis_unit("tau")
    lines.append(("held-out torque error, robot file", f"{_axes(file.rms)} {unit} RMS"))
    for method in study.methods:
        if method.held_out is None:
            lines.append((f"  {method.name}", method.trouble or "not validated"))
        else:
            lines.append((f"  {method.name}", f"{_axes(method.held_out.metrics.rms)} {unit} RMS"))
    known, missed = learned.truth
    told = f"; missed: {', '.join(missed)}" if missed else ""
    lines.append(("truth in the 95 % intervals", f"{known - len(missed)} of {known}{told}"))
    masses = ", ".join(f"{item.found:.2f} ({item.true:.2f})" for item in learned.weighed)
    lines.append(("payloads found (true)", f"{masses} kg"))
    lines.append(
        (
            "tracking error on held-out motion",
            f"PD {tracking.without:.2f}, feedforward of the file {tracking.file:.2f}, "
            f"identified {tracking.identified:.2f} {'mm' if own.robot.linear else 'mrad'} RMS",
        )
    )
    exported = learned.exported
    told = "no compiler here" if exported.compiler is None else f"compiled by {exported.compiler}"
    lines.append(("C export", f"{told}; {(exported.printed or '-').splitlines()[0]}"))
    return lines


def _axes(values: Any) -> str:
    return ", ".join(f"{value:.3g}" for value in values)


def _record(result: Demo) -> dict[str, Any]:
    record: dict[str, Any] = {
        "robot": result.robot.name,
        "points": result.points,
        "round_trip_m": result.round_trip,
        "ladder": result.ladder.as_dict(),
        "picture": str(result.picture),
        "loads": result.loads.as_dict(),
        "learned": None,
    }
    learned = result.learned
    if learned is not None:
        verdict = learned.study.verdict
        record["learned"] = {
            "verdict": verdict.grade,
            "reasons": list(verdict.reasons),
            "fit": learned.fit.as_dict(),
            "truth": {"known": learned.truth[0], "missed": list(learned.truth[1])},
            "payloads_kg": [asdict(item) for item in learned.weighed],
            f"tracking_error_{'mm' if result.robot.linear else 'mrad'}": asdict(learned.tracking),
            "export": learned.exported.files.as_dict(),
            "files": {name: str(path) for name, path in learned.files.items()},
        }
    return record


# The catalogue.


@click.command(epilog="Example: deltadyn robots sipro-d3-1200")
@click.argument("name", required=False, shell_complete=complete_robot)
@json_option
@guarded
def robots(name: str | None, as_json: bool) -> None:
    """List the catalogue, or print one robot's file with the source of every value."""
    from deltadyn.robot.catalogue import catalogue_table
    from deltadyn.robot.file import load_robot, robot_text

    if name is not None:
        robot = load_robot(name)
        text = robot_text(robot)
        _echo(text, {"name": robot.name, "file": text}, as_json)
        return
    rows = catalogue_table()
    if as_json:
        echo_json([asdict(row) for row in rows])
        return
    heading = (
        f"{'name':<22}{'kind':<24}{'dof':>3}{'payload kg':>12}{'reach m':>9}{'cycles/min':>12}"
    )
    click.echo(f"{heading}  source")
    for row in rows:
        numbers = f"{_or_dash(row.payload):>12}{_or_dash(row.reach):>9}{_or_dash(row.cycles):>12}"
        values = f"{row.sourced} values sourced, {row.assumed} assumed"
        click.echo(f"{row.name:<22}{row.kind:<24}{row.dof:>3}{numbers}  {row.source} ({values})")


def _echo(text: str, record: dict[str, str], as_json: bool) -> None:
    if as_json:
        echo_json(record)
    else:
        click.echo(text)


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


# A project and its repetition; the shell.


@click.command(epilog="Example: deltadyn init my-robot --robot sipro-d3-1200")
@click.argument("folder")
@robot_option("sipro-d3-1200", "Catalogue robot, or robot file, to begin with.")
@json_option
@guarded
def init(folder: str, name: str, as_json: bool) -> None:
    """Make a project folder: robot file, column map, places for recordings and results."""
    from importlib.resources import files as resources

    from deltadyn.files import settle, write_together
    from deltadyn.robot.file import load_robot, robot_text

    robot, place = load_robot(name), Path(folder)
    kept = resources("deltadyn.commands") / "new"
    files = {
        FILE: (kept / "deltadyn.toml").read_text("utf-8"),
        "robot.yaml": robot_text(robot),
        "columns.yaml": (kept / "columns.yaml").read_text("utf-8"),
    }
    if place.is_dir():
        settle(place)
    there = [str(place / item) for item in files if (place / item).exists()]
    if there:
        raise DeltadynError(f"{there[0]} is there already; nothing was written")
    for part in ("recordings", "results"):
        (place / part).mkdir(parents=True, exist_ok=True)
    write_together(place, files)
    if as_json:
        echo_json({"folder": str(place), "robot": robot.name, "files": list(files)})
        return
    click.echo(
        f"{place}: {robot.name} in robot.yaml, columns.yaml for the logs, {FILE} for choices\n"
        f"next: put your robot's numbers into {place / 'robot.yaml'}, then\n"
        f"  cd {place}\n"
        "  deltadyn excite .                     # the motion to run on the robot\n"
        "  deltadyn identify . recordings/LOG    # once its log is there"
    )


@click.command(epilog="Example: deltadyn repeat identify")
@click.argument("command", nargs=-1, required=True, metavar="COMMAND")
@json_option
@guarded
def repeat(command: tuple[str, ...], as_json: bool) -> None:
    """Run the last COMMAND of this project again, with every choice as it was."""
    from importlib.metadata import version

    name = " ".join(command)  # of a group: "fleet identify"
    found = read_project()
    if found is None:
        raise InputError("folder", str(Path.cwd()), f"one with {FILE}, as `deltadyn init` makes it")
    runs = found.get("runs", {})
    if name not in runs:
        if not runs:
            raise InputError("command", name, f"one that was run before; {FILE} records none")
        raise UnknownNameError("command", name, runs)
    run = runs[name]
    refuse_hidden(run)
    for told in changed_inputs(run):
        click.echo(f"note: {told} since that run; the result may differ", err=True)
    if run.get("deltadyn") != version("deltadyn"):
        told = f"that run was made by deltadyn {run.get('deltadyn')}, this is {version('deltadyn')}"
        click.echo(f"note: {told}", err=True)
    root = click.get_current_context().find_root()
    assert isinstance(root.command, click.Group)
    arguments = [*command[1:], *(["--json"] if as_json else []), *run["arguments"]]
    repeatable = set(root.command.commands) - set(NOT_RECORDED)
    if command[0] not in repeatable:
        raise UnknownNameError("command", command[0], sorted(repeatable))
    chosen = root.command.commands[command[0]]
    with chosen.make_context(command[0], arguments, parent=root) as context:
        chosen.invoke(context)


@click.command(
    epilog="Example: deltadyn completion bash > ~/.local/share/bash-completion/completions/deltadyn"
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
@guarded
def completion(shell: str, as_json: bool) -> None:
    """Print the script that completes commands, options and robots in a shell."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    root = click.get_current_context().find_root()
    if found is None:
        raise UnknownNameError("shell", shell, ("bash", "zsh", "fish"))
    script = found(root.command, {}, "deltadyn", "_DELTADYN_COMPLETE").source()
    _echo(script, {"shell": shell, "script": script}, as_json)
    if sys.stdout.isatty():
        click.echo("# write this into a file that your shell reads", err=True)
