"""A copy of the package whose kernels are compiled with other flags, for tests of both."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from deltadyn.backends.kernel_models.headers import write_headers
from tools.dependencies import ROOT

BACKENDS = Path("src") / "deltadyn" / "backends"
#: -DCLONES= : one machine code. Several for one function would only be built, not run.
BASE_FLAGS = ("-std=gnu99", "-fPIC", "-fno-math-errno", "-DCLONES=")


def build_package(folder: Path, flags: Sequence[str], linked: Sequence[str] = ()) -> Path:
    """A `src` in a folder, with the extension compiled by gcc with these flags."""
    gcc = shutil.which("gcc")
    if gcc is None:
        raise SystemExit("the extension is built by gcc here, which is not installed")
    shutil.copytree(
        ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    write_headers(folder / "kernels" / "traced")
    include = [f"-I{sysconfig.get_path('include')}", f"-I{folder / 'kernels'}"]
    objects = []
    for source in sorted((folder / BACKENDS / "source").glob("*.c")):
        objects.append(folder / f"{source.stem}.o")
        words = [*BASE_FLAGS, *flags, *include, "-c", str(source), "-o", str(objects[-1])]
        subprocess.run([gcc, *words], check=True)
    library = folder / BACKENDS / "_kernels.abi3.so"
    words = ["-shared", *linked, *map(str, objects), "-o", str(library), "-lm"]
    subprocess.run([gcc, *words], check=True)
    return folder / "src"
