"""The demonstration's export: C, compiled and run where there is a compiler."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from deltadyn.exports import Export, export
from deltadyn.exports.common import identifier
from deltadyn.identification import Fit

FLAGS = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic")


@dataclass(frozen=True)
class Exported:
    """The files, and what the example program printed; None where there is no compiler."""

    files: Export
    compiler: str | None
    printed: str | None


def export_c(fit: Fit, folder: Path) -> Exported:
    """Write the model as C and try it."""
    written = export(fit, "c", folder, overwrite=True)
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return Exported(written, None, None)
    program, source = folder / "example", f"{identifier(fit.robot)}_delta.c"
    command = [
        compiler,
        *FLAGS,
        "-o",
        str(program),
        str(folder / "example.c"),
        str(folder / source),
    ]
    subprocess.run([*command, "-lm"], check=True, capture_output=True)
    done = subprocess.run([str(program.resolve())], check=True, capture_output=True, text=True)
    return Exported(written, Path(compiler).name, done.stdout.strip())
