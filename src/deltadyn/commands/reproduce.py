"""`deltadyn reproduce`: the papers' experiments and checks."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from deltadyn.commands.common import (
    ANSWER_NO,
    guarded,
    json_option,
    robot_option,
    seed_option,
    show,
    show_with_page,
)

PAPERS = {
    "kim2022": "virtual-work model, the swarm against its baselines and the proven optimum",
    "falezza2022": "the simplified against the complete model on Y1, Y2, Y3",
    "falezza2020": "M_KH, M_Id and M_Id+F over twelve trajectories, and a payload of 3.8 kg",
    "gnad2024": "consistent identification of the 4-DOF robot: surrogate, bench, spindle",
    "telescopic2022": "two steps: the legs, then the rod; feedforward with and without it",
}


@click.group()
def reproduce() -> None:
    """Reproduce and check the papers behind deltadyn."""


@reproduce.command(epilog="Example: deltadyn reproduce audit --out audit.html")
@click.option("--out", default=None, help="Page to write: HTML, or Markdown where it ends in .md.")
@json_option
@guarded
def audit(out: str | None, as_json: bool) -> None:
    """Each paper's equations as printed, corrected and exact, and what each slip costs in N m."""
    from deltadyn.reproduce.audit import audit as run_audit

    show_with_page(run_audit(), out, as_json)


@reproduce.command(epilog="Example: deltadyn reproduce ladder --robot nt-robot")
@robot_option("sipro-d3-1200", "Robot to take.")
@json_option
@guarded
def ladder(name: str, as_json: bool) -> None:
    """The error of every model against the exact one on a pick-and-place move."""
    from deltadyn.reproduce.ladder import ladder as run_ladder
    from deltadyn.reproduce.ladder import pick_and_place
    from deltadyn.robot.file import load_robot

    robot = load_robot(name)
    result = run_ladder(robot, pick_and_place(robot), name="pick-and-place move")
    show(result, as_json)


def _paper(name: str, text: str) -> click.Command:
    """The command of one paper: its tables beside ours, its figures as a page."""

    @click.command(
        name,
        help=f"{name}: {text}. Exit status 1 where a check fails.",
        epilog=f"Example: deltadyn reproduce {name} --out {name}.html",
    )
    @click.option("--out", default=None, help="HTML page with the figures to write.")
    @seed_option("bench and search")
    @json_option
    @guarded
    def run(out: str | None, seed: int, as_json: bool) -> None:
        function = getattr(import_module(f"deltadyn.reproduce.{name}"), name)
        found = function(seed=seed, progress=not as_json)
        show_with_page(found, out, as_json)
        if not found.passed:
            sys.exit(ANSWER_NO)

    return run


for _name, _text in PAPERS.items():
    reproduce.add_command(_paper(_name, _text))
