"""Target `fmu`: the plant and the inverse model as units for co-simulation, FMI 2.0 or 3.0."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from deltadyn.errors import InputError, UnknownNameError
from deltadyn.exports.common import filled, identifier, provenance
from deltadyn.exports.fmu.description import TOKEN, build_description, description
from deltadyn.exports.fmu.sources import (
    FLAGS,
    FOLDERS,
    archive,
    compiled,
    compiler,
    safe,
    source_files,
)
from deltadyn.exports.fmu.variables import (
    DEFAULT_SMOOTHING,
    LEAST_STEP,
    LONGEST_STEP,
    Variable,
    inverse_variables,
    plant_variables,
)
from deltadyn.robot import Robot

LAYERS = {"2.0": "fmi2.c", "3.0": "fmi3.c"}
BINARY = {
    "yes": "Each holds a library for x86-64 Linux in `binaries/{folder}`, and its C sources.",
    "none": "Each holds **C sources alone**: no compiler for x86-64 Linux was found at the export. "
    "Compile them as below, or export again where there is one.",
    "no": "Each holds **C sources alone**, as asked with `binary=False`. Compile them as below.",
}


@dataclass(frozen=True)
class Options:
    """Options of target `fmu`."""

    fmi: str = "2.0"  # or "3.0"
    timestep: float = 1e-4  # s, the plant's longest integration step
    binary: bool = True  # add a library for x86-64 Linux where there is a C compiler


def files(robot: Robot, options: Options | None = None) -> Mapping[str, str | bytes]:
    """The units of a robot: `<robot>_plant.fmu`, `<robot>_inverse.fmu` and README-fmu.md.

    The sources are always inside.
    """
    chosen = Options() if options is None else options
    fmi, binary, step = chosen.fmi, chosen.binary, _checked_step(chosen)
    command = compiler() if binary else None
    name = identifier(robot)
    tables = {"plant": plant_variables(robot, step), "inverse": inverse_variables(robot)}
    units = {
        f"{name}_{model}.fmu": _unit(robot, model, fmi, command, table)
        for model, table in tables.items()
    }
    held = "no" if not binary else ("none" if command is None else "yes")
    text = _readme(robot, name, fmi, step, held, tables)
    return {**units, "README-fmu.md": text}


def _checked_step(options: Options) -> float:
    fmi, timestep, binary = options.fmi, options.timestep, options.binary
    if fmi not in LAYERS:
        raise UnknownNameError("fmi", fmi, LAYERS)
    allowed = f"a number of seconds from {LEAST_STEP:g} to {LONGEST_STEP:g}"
    if isinstance(timestep, bool) or not isinstance(timestep, int | float):
        raise InputError("timestep", timestep, allowed)
    if not math.isfinite(timestep) or not LEAST_STEP <= timestep <= LONGEST_STEP:
        raise InputError("timestep", timestep, allowed)
    if not isinstance(binary, bool):
        raise InputError("binary", binary, "True or False")
    return float(timestep)


def _unit(
    robot: Robot, model: str, fmi: str, command: list[str] | None, variables: Sequence[Variable]
) -> bytes:
    """One .fmu file; what identifies it follows from all of its text."""
    name, layer = f"{identifier(robot)}_{model}", LAYERS[fmi]
    sources = source_files(robot, model, layer, variables)
    told = description(robot, model, name, fmi, layer, variables)
    digest = hashlib.sha256()
    for text in (told, *(sources[key] for key in sorted(sources))):
        digest.update(text.encode())
    token = _guid(digest.hexdigest())
    sources["robot.h"] = sources["robot.h"].replace(TOKEN, token)
    inside: dict[str, str | bytes] = {"modelDescription.xml": told.replace(TOKEN, token)}
    inside |= {f"sources/{key}": text for key, text in sources.items()}
    if fmi == "3.0":
        inside["sources/buildDescription.xml"] = build_description(name, layer)
    if command is not None:
        inside[f"binaries/{FOLDERS[fmi]}/{name}.so"] = compiled(command, sources, layer)
    return archive(inside)


def _guid(digest: str) -> str:
    parts = (digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32])
    return "{" + "-".join(parts) + "}"


def _readme(
    robot: Robot,
    name: str,
    fmi: str,
    timestep: float,
    binary: str,
    tables: Mapping[str, Sequence[Variable]],
) -> str:
    """README-fmu.md; `binary` is "yes", "none" (no compiler) or "no" (not asked for)."""
    folder, own = FOLDERS[fmi], robot.friction.smoothing
    lines = [safe(line) for line in provenance(robot, "Functional mock-up units of a Delta robot")]
    if own is None:
        used = f"The robot names none: here it is {DEFAULT_SMOOTHING:g} rad/s."
    else:
        used = f"The robot names {own:g} rad/s."
    status = next(item for item in tables["plant"] if item.symbol == "STATUS")
    words = {
        "title": f"{safe(robot.name)}: functional mock-up units (FMI {fmi})",
        "head": "  \n".join(lines[1:]),
        "name": name,
        "fmi": fmi,
        "folder": folder,
        "binary": BINARY[binary].format(folder=folder),
        "torques": "[" + ", ".join(["0.0"] * robot.dof) + "]",
        "names": ", ".join(f'"tau[{i + 1}]"' for i in range(robot.dof)),
        "flags": " ".join(FLAGS),
        "layer": LAYERS[fmi],
        "moment": " and `moment_z`" if robot.dof == 4 else "",
        "sign": ", ".join(f"{value:+g}" for value in robot.controller.sign),
        "offset": ", ".join(f"{value:g}" for value in robot.controller.offset),
        "plant": "\n".join(_table(tables["plant"])),
        "inverse": "\n".join(_table(_own(tables["inverse"], tables["plant"]))),
        "timestep": f"{timestep:g}",
        "smoothing": used,
        "meaning": status.description,
    }
    return filled("fmu", "README.md", words)


def _own(variables: Sequence[Variable], others: Sequence[Variable]) -> list[Variable]:
    """Those that the others do not have under the same name and causality."""
    known = {(item.name, item.causality) for item in others}
    return [item for item in variables if (item.name, item.causality) not in known]


def _table(variables: Sequence[Variable]) -> Iterator[str]:
    """One row per group of variables that differ by their number alone."""
    yield "| variable | causality | unit | start | what |"
    yield "|---|---|---|---|---|"
    groups: dict[str, list[Variable]] = {}
    for item in variables:
        groups.setdefault(re.sub(r"\[\d+\]$", "", item.name), []).append(item)
    for base, items in groups.items():
        first, last = items[0], items[-1]
        name = base if len(items) == 1 and "[" not in first.name else f"{base}[1..{len(items)}]"
        unit = first.unit if first.unit == last.unit else f"{first.unit}, [4] {last.unit}"
        start = ", ".join(_start(item) for item in items if item.start is not None)
        text = re.sub(r"\b1\b", "i", first.description) if len(items) > 1 else first.description
        yield f"| `{name}` | {first.causality} | {unit} | {start} | {text} |"


def _start(item: Variable) -> str:
    return str(item.start).lower() if isinstance(item.start, bool) else f"{item.start:.6g}"
