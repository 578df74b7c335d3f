"""Look before anything is fitted: `deltadyn check`."""

from __future__ import annotations

import sys

import click

from deltadyn.commands.common import (
    ANSWER_NO,
    guarded,
    json_option,
    page_option,
    robot_argument,
    show_with_page,
)
from deltadyn.commands.project import project_robot


@click.command(epilog="Example: deltadyn check mine.yaml --out check.html")
@robot_argument
@page_option
@json_option
@guarded
def check(name: str, out: str | None, as_json: bool) -> None:
    """Look at a robot file before anything is fitted; exit status 1 where it has errors.

    All errors of the file, or the numbers that follow from it: reach, rotor inertia, torques.
    """
    from deltadyn.inspection import check as look

    found = look(project_robot() if name == "." else name)
    show_with_page(found, out, as_json)
    if not found.ok:
        sys.exit(ANSWER_NO)
