"""`deltadyn bench`: how fast this machine is, beside MuJoCo and Pinocchio."""

from __future__ import annotations

import sys

import click

from deltadyn.commands.common import ANSWER_NO, guarded, show


@click.command(epilog="Example: deltadyn bench --full --json > bench.json")
@click.option("--full", is_flag=True, help="More repeats: steadier figures, some minutes.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
@guarded
def bench(full: bool, as_json: bool) -> None:
    """Measure speed beside MuJoCo and Pinocchio; exit status 1 where a target is not met.

    The peers' own C and C++ programs are compiled once where their headers are there, and their
    torques are compared with ours before any time is believed.
    """
    from deltadyn.bench import run_benchmark

    def tell(text: str) -> None:
        if not as_json:
            click.echo(f"bench: {text}", err=True)

    found = run_benchmark(full=full, tell=tell)
    show(found, as_json)
    if not found.passed:
        sys.exit(ANSWER_NO)
