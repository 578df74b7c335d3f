"""Errors: one root, few children, each with its data as fields."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any, Self

from deltadyn.messages import (
    MAX_MESSAGE_CHARACTERS,
    MAX_VALUE_CHARACTERS,
    readable,
    shorten,
)


class DeltadynError(Exception):
    """Root of every error that deltadyn raises on purpose."""

    def __str__(self) -> str:
        """The message, without passwords and control characters, of at most 2,000 characters."""
        return readable(super().__str__())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the fields: errors come back whole from other processes."""
        return (_restore, (type(self), self.args, self.__dict__))


class InputError(DeltadynError, ValueError):
    """A value that a caller or a file gave cannot be used.

    The message names the quantity, the place, the value and what is allowed.
    """

    def __init__(
        self, quantity: str, value: object, allowed: str, *, where: str | None = None
    ) -> None:
        self.quantity = quantity
        self.value = value
        self.allowed = allowed
        self.where = where
        place = f" at {where}" if where else ""
        super().__init__(f"{quantity}{place} is {_show(value)}; allowed: {allowed}")


class RobotError(InputError):
    """A robot description that no robot can have; `quantity` is the field's path."""


class FileError(InputError):
    """A file that is damaged, or cannot be read or written.

    `path`, `line` (from 1, in text files) and `column` say where; `problem` says what is wrong
    where the value alone does not show it.
    """

    def __init__(
        self,
        quantity: str,
        value: object,
        allowed: str,
        *,
        path: str,
        problem: str | None = None,
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
        self.problem = problem or f"is {_show(value)}"
        self.args = (f"{place}: {quantity} {self.problem}; allowed: {allowed}",)

    @classmethod
    def of_file(cls, path: str, problem: str, allowed: str) -> Self:
        """The error of a file as a whole."""
        return cls("file", None, allowed, path=path, problem=problem)


class RobotFileError(FileError, RobotError):
    """A robot file that cannot be read or written.

    A file may have several errors: this is the first, `others` are the rest. The message has a line
    for each, as far as a message goes, and says how many more there are.
    """

    others: tuple[RobotFileError, ...] = ()

    @property
    def sentence(self) -> str:
        """This error alone, without the others."""
        return str(self).splitlines()[0] if self.others else str(self)

    @classmethod
    def together(cls, errors: Sequence[RobotFileError]) -> RobotFileError:
        """The first of some errors, with the others."""
        first, *others = errors
        first.others = tuple(others)
        sentences = [str(error) for error in errors]
        shown = len(sentences)
        while shown > 1 and len(first._lines(sentences, shown)) > MAX_MESSAGE_CHARACTERS:
            shown -= 1
        first.args = (first._lines(sentences, shown),)
        return first

    @staticmethod
    def _lines(sentences: Sequence[str], shown: int) -> str:
        """The first sentences as lines, and how many more there are."""
        more = len(sentences) - shown
        rest = f"{more} more error{'s' * (more > 1)} in this file"
        return "\n".join([*sentences[:shown], *([rest] if more else [])])


class OldFileWarning(UserWarning):
    """A file of an older version that is read, with what was taken for granted."""


class OscillationWarning(UserWarning):
    """Gains with which the loop of a drive swings on its own, with the number that shows it."""


class RecordingFileError(FileError):
    """A recording or a column map that cannot be read or written."""


class UnknownNameError(InputError):
    """A name (of a model, a robot, a joint) that does not exist."""

    def __init__(
        self, quantity: str, value: object, names: Iterable[str], *, or_else: str = ""
    ) -> None:
        self.names = tuple(names)
        allowed = "one of " + ", ".join(repr(name) for name in self.names)
        super().__init__(quantity, value, f"{allowed}, or {or_else}" if or_else else allowed)


class UnreachableError(DeltadynError):
    """Poses that the robot cannot take, asked for by a caller who wants an error."""

    def __init__(self, quantity: str, rows: Iterable[int], value: object, reason: str) -> None:
        self.quantity = quantity
        self.rows = tuple(rows)
        self.value = value
        self.reason = reason
        count = len(self.rows)
        others = f" and {count - 1} more rows" if count > 1 else ""
        super().__init__(
            f"{quantity} at row {self.rows[0]}{others} cannot be reached: "
            f"{_show(value)}: {reason}; pass unreachable='nan' to get NaN rows instead"
        )


class UnidentifiableError(DeltadynError):
    """Parameters that cannot be identified: by the recordings of a fit, or by any motion of a kind.

    It is raised before the fit and before the search for a motion. `no_influence` have no influence
    on the torque, or less than its noise; of `dependent` only combinations have one. Recordings
    say more than a kind of motion: `sums` writes the combinations out, `advice` says what would
    make them identifiable.
    """

    def __init__(
        self,
        no_influence: Iterable[str],
        dependent: Iterable[str],
        sums: Iterable[str] = (),
        advice: Iterable[str] = (),
    ) -> None:
        self.no_influence = tuple(no_influence)
        self.dependent = tuple(dependent)
        self.sums = tuple(sums)
        self.advice = tuple(advice)
        super().__init__(self._of_recordings() if self.advice else self._of_motions())

    def _of_recordings(self) -> str:
        parts = list(self.advice)
        if self.sums:
            parts.append("only these sums are identifiable: " + ", ".join(self.sums))
        return (
            f"the recordings do not identify {', '.join(self.no_influence + self.dependent)}: "
            f"{'; '.join(parts)}; or pass unidentifiable='hold' to keep what is not "
            "identifiable at the robot's own values"
        )

    def _of_motions(self) -> str:
        return (
            f"{unidentifiable_text(self.no_influence, self.dependent)}; move more coordinates, "
            "widen the limits, or pass unidentifiable='drop' to design for the other parameters"
        )


def unidentifiable_text(no_influence: Sequence[str], dependent: Sequence[str]) -> str:
    """A sentence on what no motion of a kind can identify."""
    parts = []
    if no_influence:
        verb = "has" if len(no_influence) == 1 else "have"
        parts.append(f"{', '.join(no_influence)} {verb} no influence on the torque")
    if dependent:
        parts.append(f"{', '.join(dependent)} are linearly dependent")
    return " and ".join(parts) + " in any motion of this kind"


def _restore(
    kind: type[DeltadynError], args: tuple[Any, ...], fields: dict[str, Any]
) -> DeltadynError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


def _show(value: object) -> str:
    """A short text for a value: arrays as lists with six digits, strings in quotes."""
    tolist = getattr(value, "tolist", None)
    if callable(tolist):
        value = tolist()
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return shorten("[" + ", ".join(map(_show, value)) + "]", MAX_VALUE_CHARACTERS)
    return shorten(repr(value), MAX_VALUE_CHARACTERS)


# Libraries that are extras of deltadyn.


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
