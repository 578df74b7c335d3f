"""The command line."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import click

from deltadyn.commands.bench import bench
from deltadyn.commands.calibrate import calibrate
from deltadyn.commands.check import check
from deltadyn.commands.common import WRONG_CALL, echo_json, error_record
from deltadyn.commands.drift import drift
from deltadyn.commands.export import export
from deltadyn.commands.fit import identify, report, validate
from deltadyn.commands.fleet import fleet
from deltadyn.commands.force import force
from deltadyn.commands.history import history
from deltadyn.commands.motion import coupling, excite, simulate, sizing
from deltadyn.commands.payload import payload
from deltadyn.commands.project import defaults
from deltadyn.commands.reproduce import reproduce
from deltadyn.commands.start import completion, demo, init, repeat, robots
from deltadyn.commands.studio import studio
from deltadyn.errors import DeltadynError
from deltadyn.messages import readable
from deltadyn.systems import write_any_text

AS_JSON = "deltadyn.as_json"  # in a context: whether the call asks for JSON
LIBRARIES = ("numpy", "scipy", "clarabel")
VERBOSE = "deltadyn.verbose"  # whether it asks for more than the version


class _InOrder(click.Group):
    """A group that lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **more: Any,
    ) -> click.Context:
        asked = "--json" in args
        context = super().make_context(info_name, args, parent, **more)
        context.meta[AS_JSON] = asked
        return context

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[VERBOSE] = "--verbose" in args  # --version ends the parsing, wherever it stands
        write_any_text()
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """A wrong call is told as JSON where that was asked for."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            vars(error)["message"] = readable(error.message)  # a value may have any length
            if not ctx.meta[AS_JSON]:
                raise
            path = ctx.command_path if error.ctx is None else error.ctx.command_path
            record = {"kind": type(error).__name__, "message": error.format_message()}
            echo_json({"error": {**record, "hint": f"`{path} --help` shows an example"}})
            sys.exit(WRONG_CALL)


def _show_version(context: click.Context, _parameter: click.Parameter, asked: bool) -> None:
    """Print the version, and what it runs on; then end."""
    if not asked or context.resilient_parsing:
        return
    click.echo(f"deltadyn, version {version('deltadyn')}")
    if context.meta[VERBOSE]:
        for line in _environment():
            click.echo(line)
    context.exit()


def _environment() -> Iterator[str]:
    """Lines of what a report of a problem needs: interpreter, system, libraries, kernels."""
    from deltadyn.backends.loader import absence

    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    yield f"Python {platform.python_version()}, {system}"
    yield f"libraries: {', '.join(f'{name} {version(name)}' for name in LIBRARIES)}"
    yield f"kernels: {absence() or 'compiled'}"


@click.group(
    cls=_InOrder, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.option("--verbose", is_flag=True, help="With --version: the system, libraries and kernels.")
@click.pass_context
def main(context: click.Context, verbose: bool) -> None:
    """Dynamic models of Delta robots, from a robot description to a model to deploy.

    ROBOT is a catalogue name, a robot file, or "." for the robot of the project in this folder.

    Exit status: 0 done; 1 the answer is no; 2 the call or its input is wrong; 3 the memory is used
    up; 130 stopped by Ctrl-C.
    """
    if verbose:
        raise click.UsageError("--verbose goes with --version")
    try:
        context.default_map = defaults(main)
    except DeltadynError as error:
        if context.meta[AS_JSON]:
            echo_json(error_record(error, ""))
        else:
            click.echo(f"deltadyn: {error}", err=True)
        sys.exit(WRONG_CALL)


#: Commands in the order of their use, with what the list of commands says of each.
COMMANDS = {
    demo: "The whole path on a catalogue robot, with a report.",
    init: "Make a project folder.",
    robots: "List the catalogue, or print a robot's file.",
    check: "Look at a robot file and logs before anything is fitted.",
    calibrate: "Geometry from measured poses, and where to measure.",
    excite: "Design the motion to learn from.",
    simulate: "Run a motion on the virtual test bench.",
    identify: "Fit a robot's parameters to logs.",
    validate: "Check a model on held-out logs.",
    report: "Judge a fit on held-out logs: one page with its numbers.",
    payload: "Masses of picks, from logs or live.",
    force: "External force and contacts, from logs.",
    sizing: "Torques, powers and limits over payload and pace.",
    coupling: "How much the drives load each other, over the workspace.",
    fleet: "Many robots, many days: compared, identified, watched.",
    history: "Each robot over the years: add, list, correct, drift, refit.",
    export: "Write the model for a controller or simulator.",
    studio: "The robot in the browser: move, edit, play, identify.",
    reproduce: "Reproduce and check the five papers.",
    bench: "Speed beside MuJoCo and Pinocchio, in one run.",
    repeat: "Run a project's last command again, exactly.",
    completion: "Print the completion script of a shell.",
}
history.add_command(drift)
for _command, _text in COMMANDS.items():
    _command.short_help = _text
    main.add_command(_command)
