"""The compiled part of an FMU, and the archive around all its files."""

from __future__ import annotations

import io
import math
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from deltadyn.backends.layout import COUNT, ENTRIES, PLACES
from deltadyn.backends.packed import packed_parameters
from deltadyn.errors import DeltadynError, InputError
from deltadyn.exports.common import (
    commented,
    filled,
    kernel_sources,
    number,
    provenance,
    template,
)
from deltadyn.exports.fmu.variables import Variable
from deltadyn.robot import Robot

# The C sources of an FMU: shared files, generated functions, and the robot's numbers.


#: Generated functions by model; "_DOF" stands for the number of axes.
FUNCTIONS = {
    "plant": ("joint_state", "state_torque_DOF", "friction_DOF", "passive_DOF", "mass_DOF"),
    "inverse": (
        "joint_state",
        "platform_state",
        "state_torque_DOF",
        "friction_DOF",
        "passive_DOF",
    ),
}
ROLES = {"fixed": "FIXED", "tunable": "TUNABLE"}
WIDTH = 100


def source_files(
    robot: Robot, model: str, layer: str, variables: Sequence[Variable]
) -> dict[str, str]:
    """Name and text of the files in `sources`; `layer` is fmi2.c or fmi3.c, the one to compile.

    The head of robot.h has a place @TOKEN@ for what identifies the whole unit.
    """
    shared = ("model.h", f"{model}.h", "instance.h", "layer.h", layer)
    texts = {name: _shared(robot, name) for name in shared}
    return texts | {
        "kernels.h": _kernels(robot, model),
        "robot.h": _robot(robot, model, variables),
    }


def comment(robot: Robot, what: str) -> str:
    """The head of a file; nothing in it can end the comment early."""
    lines = [safe(line) for line in provenance(robot, what)]
    return commented(lines, "/*", " * ", " */\n")


def safe(text: str) -> str:
    """One line that neither opens nor closes a comment of C, nor holds a trigraph."""
    line = " ".join(text.split())
    for pair in ("/*", "*/", "??"):
        while pair in line:
            line = line.replace(pair, f"{pair[0]} {pair[1]}")
    return line


def _shared(robot: Robot, name: str) -> str:
    return comment(robot, f"{name}: part of a functional mock-up unit") + template("fmu", name)


def _kernels(robot: Robot, model: str) -> str:
    """The generated functions that this model calls."""
    found = kernel_sources()
    names = [name.replace("DOF", str(robot.dof)) for name in FUNCTIONS[model]]
    head = comment(
        robot, "kernels.h: the exact model as straight-line code, traced from its source"
    )
    body = "\n".join(found[name] for name in names)
    return f"{head}#ifndef DELTADYN_KERNELS_H\n#define DELTADYN_KERNELS_H\n\n{body}\n#endif\n"


def _robot(robot: Robot, model: str, variables: Sequence[Variable]) -> str:
    dof = robot.dof
    reals = [item for item in variables if item.kind == "real"]
    places = (
        f"    VR_{item.symbol} = {place}" for place, item in enumerate(variables) if item.symbol
    )
    layout = (f"    PAR_{name.upper()} = {PLACES[name].start}" for name, _ in ENTRIES)
    starts = [0.0 if item.start is None else float(item.start) for item in reals]
    what = "robot.h: the robot's numbers, and the places of the variables"
    words = {
        "head": comment(robot, what).rstrip(),
        "kind": "#define INVERSE_MODEL\n" if model == "inverse" else "",
        "dof": dof,
        "places": ",\n".join(places),
        "reals": len(reals),
        "layout": ",\n".join(layout),
        "count": COUNT,
        "robot": _array(f"real ROBOT[{COUNT}]", packed_parameters(robot)),
        "sign": _array(f"real CONTROLLER_SIGN[{dof}]", robot.controller.sign),
        "offset": _array(f"real CONTROLLER_OFFSET[{dof}]", robot.controller.offset),
        "start": _array(f"real START[{len(reals)}]", starts),
        "table": ",\n".join(f"    {_row(item)}" for item in reals),
    }
    return filled("fmu", "robot.h", words)


def _row(item: Variable) -> str:
    role = "INPUT" if item.causality == "input" else ROLES.get(item.variability, "OUTPUT")
    least = "-DBL_MAX" if item.least is None else number(item.least)
    most = "DBL_MAX" if item.most is None else number(item.most)
    return f'{{ "{item.name}", {role}, {least}, {most} }}'


def _array(head: str, values: Iterable[float]) -> str:
    """An array with its numbers in lines of limited length."""
    lines, line = [], "   "
    for value in values:
        text = number(value)
        if not math.isfinite(value):  # a robot holds finite numbers only
            raise ValueError(f"{head} holds {text}")
        if len(line) + len(text) + 2 > WIDTH:
            lines.append(line)
            line = "   "
        line += f" {text},"
    body = "\n".join([*lines, line])
    return f"static const {head} = {{\n{body}\n}};\n"


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
