"""What every command does alike: errors in one sentence, exit status, JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from deltadyn.errors import DeltadynError

ANSWER_NO, WRONG_CALL = 1, 2  # exit status: the answer is no; the call or its input is wrong


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Show what went wrong in one sentence and exit with 2; `--debug` shows the traceback."""

    @click.option("--debug", is_flag=True, help="Show the traceback of an error.")
    @wraps(command)
    def run(*args: Any, debug: bool, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except (DeltadynError, OSError) as error:
            if debug:
                raise
            click.echo(f"deltadyn: {error}", err=True)
            sys.exit(WRONG_CALL)

    return run


def show(result: Any, as_json: bool, **more: Any) -> None:
    """Print a result as text, or its `as_dict()` and what else belongs to it as JSON."""
    if as_json:
        click.echo(json.dumps({**result.as_dict(), **more}, indent=2, allow_nan=False))
    else:
        click.echo(str(result))
