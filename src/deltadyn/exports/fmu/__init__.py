"""Target `fmu`: the plant and the inverse model as units for co-simulation, FMI 2.0 or 3.0."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence

from deltadyn.errors import InputError, UnknownNameError
from deltadyn.exports.common import identifier
from deltadyn.exports.fmu.description import TOKEN, build_description, description
from deltadyn.exports.fmu.readme import readme
from deltadyn.exports.fmu.sources import FOLDERS, archive, compiled, compiler, source_files
from deltadyn.exports.fmu.variables import (
    LEAST_STEP,
    LONGEST_STEP,
    Variable,
    inverse_variables,
    plant_variables,
)
from deltadyn.robot import Robot

LAYERS = {"2.0": "fmi2.c", "3.0": "fmi3.c"}


def files(
    robot: Robot, *, fmi: str = "2.0", timestep: float = 1e-4, binary: bool = True
) -> Mapping[str, str | bytes]:
    """The units of a robot: `<robot>_plant.fmu`, `<robot>_inverse.fmu` and README-fmu.md.

    `timestep` (s) is the plant's longest integration step. `binary` adds a library for x86-64
    Linux where there is a C compiler; the sources are always inside.
    """
    step = _checked(fmi, timestep, binary)
    command = compiler() if binary else None
    name = identifier(robot)
    tables = {"plant": plant_variables(robot, step), "inverse": inverse_variables(robot)}
    units = {
        f"{name}_{model}.fmu": _unit(robot, model, fmi, command, table)
        for model, table in tables.items()
    }
    held = "no" if not binary else ("none" if command is None else "yes")
    text = readme(robot, name, fmi, step, held, tables, LAYERS[fmi])
    return {**units, "README-fmu.md": text}


def _checked(fmi: object, timestep: object, binary: object) -> float:
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
