"""Whether the compiled kernels are of the formulas that the package has now.

The extension carries the digest of the source texts from which its C was traced. Reading them again
takes some milliseconds. Only where they differ are the formulas traced, by a process of its own:
most edits leave them as they are. What it found is remembered beside the compiled modules.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).resolve().parents[1]
REMEMBERED = Path(__file__).parent / "__pycache__" / "kernels.compared"
TRACER = "deltadyn.backends.kernel_models.headers"
LONGEST = 120.0  # s for a trace, which takes one or two


def digest_of_texts(names: Iterable[str]) -> str:
    """The digest of files of the package; without any of them, as in a frozen program, empty."""
    whole = hashlib.sha256()
    for name in names:
        try:
            text = (PACKAGE / name).read_bytes()
        except OSError:
            return ""
        whole.update(name.encode() + b"\0" + text + b"\0")
    return whole.hexdigest()[:16]


def is_stale(module: ModuleType) -> bool:
    """Whether the formulas are other ones than those that the extension was built from."""
    if not hasattr(module, "SOURCES"):
        return True
    texts = digest_of_texts(module.SOURCES.split())
    if texts in ("", module.TEXTS):
        return False
    key = f"{module.DIGEST} {texts} "
    found = _remembered(key)
    if found is None:
        found = "same" if _digest_of_formulas() == module.DIGEST else "other"
        _remember(key + found)
    return found == "other"


def _digest_of_formulas() -> str:
    """The digest of the C that the formulas give now; empty where they cannot be traced."""
    path = os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "DELTADYN_KERNELS": "off"}
    command = [sys.executable, "-P", "-m", TRACER, "--digest"]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=LONGEST
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def _remembered(key: str) -> str | None:
    try:
        text = REMEMBERED.read_text("utf-8")
    except (OSError, ValueError):
        return None
    return text.removeprefix(key) if text.startswith(key) else None


def _remember(text: str) -> None:
    try:
        REMEMBERED.parent.mkdir(exist_ok=True)
        REMEMBERED.write_text(text, "utf-8")
    except OSError:
        pass  # a folder that cannot be written to: it is traced again next time
