"""Errors of recordings: a file that cannot be read, a library that is not installed."""

from __future__ import annotations

import importlib
from types import ModuleType

from deltadyn.errors import DeltadynError, InputError


class RecordingFileError(InputError):
    """A recording that cannot be read or written.

    `path`, `line` (from 1, in text files) and `column` say where; `problem` says what is wrong.
    """

    def __init__(
        self,
        quantity: str,
        value: object,
        allowed: str,
        *,
        path: str,
        problem: str,
        line: int | None = None,
        column: str | None = None,
    ) -> None:
        place = path
        if line is not None:
            place += f", line {line}"
        if column is not None:
            place += f", column {column!r}"
        super().__init__(quantity, value, allowed, where=place)
        self.path = path
        self.line = line
        self.column = column
        self.problem = problem
        self.args = (f"{place}: {quantity} {problem}; allowed: {allowed}",)


class MissingExtraError(DeltadynError, ImportError):
    """A format whose library is an extra of deltadyn that is not installed."""

    def __init__(self, what: str, library: str, extra: str) -> None:
        self.what = what
        self.library = library
        self.extra = extra
        super().__init__(
            f"{what} needs the library {library!r}, which is not installed; "
            f"install it with: pip install 'deltadyn[{extra}]'"
        )


def extra_module(name: str, what: str, extra: str) -> ModuleType:
    """The module of an extra, or an error that names the extra to install."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtraError(what, name.partition(".")[0], extra) from error
