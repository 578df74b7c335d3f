"""The machine and the versions that a run of the benchmark belongs to."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from deltadyn.backends import status
from deltadyn.backends import threads as usable_threads
from deltadyn.bench.compiler import Program, processor

PACKAGES = ("deltadyn", "numpy", "mujoco", "pin")


def machine_name() -> str:
    """Processor, cores and Python, as one line."""
    return f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def machine(programs: Iterable[Program] = ()) -> dict[str, Any]:
    """Everything that a figure depends on: processor, cores, versions, compilers and flags."""
    return {
        "name": machine_name(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "usable_threads": usable_threads(),
        "system": f"{platform.system()} {platform.release()}",
        "load_1_minute": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
        "kernels": status(),
        "programs": [
            {
                "peer": program.peer,
                "language": program.language,
                "compiler": program.compiler,
                "flags": list(program.flags),
            }
            for program in programs
        ],
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
