"""A PostgreSQL server for tests, with its own data, on 127.0.0.1; root becomes postgres for it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER = "postgres"


def programs() -> Path | None:
    """The folder of initdb and pg_ctl, from PATH or where Debian puts them."""
    found = shutil.which("pg_ctl")
    if found is not None:
        return Path(found).resolve().parent
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    return places[-1].parent if places else None


def reason() -> str | None:
    """Why there is no server; None where one can be started."""
    if programs() is None:
        return "no PostgreSQL: neither pg_ctl on the PATH nor /usr/lib/postgresql"
    if os.geteuid() == 0:
        try:
            pwd.getpwnam(USER)
        except KeyError:
            return f"PostgreSQL does not run as root, and there is no user {USER}"
    return None


@contextmanager
def server() -> Iterator[str]:
    """The URL of a server with an empty database, which ends with the block."""
    bin_folder = programs()
    assert bin_folder is not None
    folder = Path(tempfile.mkdtemp(prefix="deltadyn-postgresql-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, USER)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        data = folder / "data"
        setup = ("-A", "trust", "-U", USER, "-E", "UTF8", "--locale=C", "--no-sync")
        _run(str(bin_folder / "initdb"), "-D", str(data), *setup)
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c fsync=off -k {folder}"
        control = (str(bin_folder / "pg_ctl"), "-D", str(data))
        _run(*control, "-l", str(folder / "log"), "-o", options, "-w", "start")
        try:
            yield f"postgresql+psycopg://{USER}@127.0.0.1:{port}/postgres"
        finally:
            _run(*control, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(*command: str) -> None:
    as_user = ("runuser", "-u", USER, "--") if os.geteuid() == 0 else ()
    done = subprocess.run(
        [*as_user, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        cwd="/",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
