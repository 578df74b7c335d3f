"""`deltadyn studio`: the robot in the browser."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import click

from deltadyn.commands.common import complete_robot, guarded, robot_of

DEFAULT = "sipro-d3-1200"
BREATH = 0.5  # s


@click.command(epilog="Example: deltadyn studio abb-irb360-6-1600 --port 8081")
@click.argument("name", metavar="[ROBOT]", default=DEFAULT, shell_complete=complete_robot)
@click.option("--port", default=8080, help="Where to listen; 0: any free port.")
@click.option(
    "--host",
    default="127.0.0.1",
    help="Address to listen on; with one that other machines reach, such as 0.0.0.0 in a "
    "container, the page needs the token that is printed.",
)
@click.option("--no-browser", is_flag=True, help="Do not open a browser window.")
@click.option("--max-upload", default=200.0, metavar="MB", help="Largest file to take.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON for machines.")
@guarded
def studio(
    name: str, port: int, host: str, no_browser: bool, max_upload: float, as_json: bool
) -> None:
    """Open a page with the robot in 3-D: move, edit, play, upload logs, identify, download.

    ROBOT may be a folder in which the studio saved a session. Without --host it listens on this
    machine's own address only; it needs no network. Ctrl-C ends it.
    """
    from deltadyn.robot import load_robot
    from deltadyn.studio.project import FILE, ROBOT
    from deltadyn.studio.server import Studio

    saved = (Path(name) / FILE).is_file()
    robot = load_robot(Path(name) / ROBOT) if saved else robot_of(name)
    running = Studio(robot, port, max_upload, name if saved else None, host)
    try:
        if running.warning:
            click.echo(f"warning: {running.warning}", err=True)
        if as_json:
            click.echo(json.dumps({"address": running.address, "port": running.port}))
        else:
            click.echo(f"deltadyn studio: {running.address} (Ctrl-C ends it)")
        if not no_browser:
            import webbrowser

            webbrowser.open(running.address)
        never = threading.Event()
        while not never.wait(BREATH):  # a signal that comes just before a wait is seen after it
            pass
    except KeyboardInterrupt:
        click.echo("\ndeltadyn studio: ended", err=True)
    finally:
        running.stop()
