"""A database of a history, whichever it is.

All take the same statements, with values by name (:serial). They differ in a few words, in how a
transaction begins, and in how a copy is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NoReturn

from deltadyn.errors import FileError

#: The table that says which version the tables of a history have.
META = "history_meta"

Row = dict[str, Any]


class Database(ABC):
    """The statements of a history against one database; `place` is its name in messages."""

    place: str
    words: ClassVar[Mapping[str, str]]

    def rows(self, sql: str, **values: Any) -> list[Row]:
        """Run a statement with values by name; what it gives."""
        with self.named():
            return self._rows(self._worded(sql), values)

    def _worded(self, sql: str) -> str:
        for word, own in self.words.items():
            sql = sql.replace(f"{{{word}}}", own)
        return sql

    @abstractmethod
    def each(self, sql: str, values: Iterable[Row]) -> None:
        """Run a statement for each of some rows."""

    @abstractmethod
    def tables(self) -> set[str]:
        """Names of the tables that are there."""

    def refuse_without_history(self) -> NoReturn:
        """Raise for a store that has no tables where none are to be made."""
        allowed = "a history that `deltadyn history add` began"
        raise FileError.of_file(self.place, "holds no history", allowed)

    @abstractmethod
    def refuse_foreign(self, tables: set[str]) -> None:
        """Raise where a store that is no history yet belongs to something else."""

    @abstractmethod
    def writing(self) -> Any:
        """A transaction that writes: all of it is kept, or nothing."""

    @abstractmethod
    def reading(self) -> Any:
        """A transaction that sees the rows of one instant."""

    @abstractmethod
    def changing(self) -> Any:
        """A transaction that changes tables; one at a time."""

    @abstractmethod
    def shrink(self) -> None:
        """Give back the space of what was removed."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    @abstractmethod
    def named(self) -> Any:
        """Errors of the database as errors of ours, which name the store."""

    @abstractmethod
    def _rows(self, sql: str, values: Row) -> list[Row]: ...
