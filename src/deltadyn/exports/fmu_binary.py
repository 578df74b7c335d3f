"""The compiled part of an FMU, and the archive around all its files."""

from __future__ import annotations

import io
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from deltadyn.errors import DeltadynError, InputError

COMPILERS = ("gcc", "clang", "cc")
# No fast-math: NaN marks what does not exist. No contraction: every processor gives the same bits.
FLAGS = (
    "-std=c99",
    "-O2",
    "-g0",
    "-fPIC",
    "-shared",
    "-s",
    "-fvisibility=hidden",
    "-fno-math-errno",
    "-ffp-contract=off",
)
FOLDERS = {"2.0": "linux64", "3.0": "x86_64-linux"}
FIRST_DATE = (1980, 1, 1, 0, 0, 0)  # of all files in the archive: equal robots give equal bytes


def compiler() -> list[str] | None:
    """The compiler's command: $CC, or gcc, clang, cc; None where there is none for x86-64 Linux."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return None
    asked = shlex.split(os.environ.get("CC", ""))
    if asked:
        found = shutil.which(asked[0])
        if found is None:
            raise InputError("CC in the environment", asked[0], "a compiler that can be run")
        return [found, *asked[1:]]
    for name in COMPILERS:
        found = shutil.which(name)
        if found is not None:
            return [found]
    return None


def compiled(command: list[str], sources: Mapping[str, str], layer: str) -> bytes:
    """The shared library of the sources; a failure shows what the compiler said."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in sources.items():
            (Path(folder) / name).write_text(text, "utf-8")
        call = [*command, *FLAGS, "-o", "unit.so", layer, "-lm"]
        # Relative names in a folder of its own: its path is not in the library.
        done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip()
            raise DeltadynError(
                f"the FMU's sources do not compile with {shlex.join(command)} "
                f"(exit status {done.returncode}); pass binary=False for sources alone:\n{said}"
            )
        return (Path(folder) / "unit.so").read_bytes()


def archive(files: Mapping[str, str | bytes]) -> bytes:
    """A zip file whose bytes depend on its contents alone."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, FIRST_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            target.writestr(entry, files[name])
    return buffer.getvalue()
