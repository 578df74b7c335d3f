"""The machine's name, for the head of every benchmark."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def machine_name() -> str:
    """Processor, cores and Python, as one line."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"
