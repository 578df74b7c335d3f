"""Stores for tests of the history: an SQLite file, and a schema of a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.history.servers import reason, server

NUMBERS = count()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a server; skips where none can be started."""
    why = reason()
    if why is not None:
        pytest.skip(why)
    pytest.importorskip("psycopg")
    pytest.importorskip("sqlalchemy")
    with server() as url:
        yield url


@pytest.fixture
def schema(postgresql: str) -> str:
    """The URL of an empty schema of the server."""
    import psycopg

    name = f"test{next(NUMBERS)}"
    with psycopg.connect(postgresql.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    return f"{postgresql}?options=-csearch_path%3D{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a history may be made."""
    if request.param == "sqlite":
        return str(tmp_path / "history.db")
    return str(request.getfixturevalue("schema"))
