"""What all exports say alike: names that any language takes, numbers, and where they come from."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.metadata import version
from importlib.resources import files
from string import Template

from deltadyn.robot import Robot
from deltadyn.robot.file import robot_text


def identifier(robot: Robot) -> str:
    """The robot's name as an identifier in lower case: letters, digits, single underscores."""
    words = re.sub(r"[^a-z0-9]+", "_", robot.name.lower()).strip("_")
    return words if words[:1].isalpha() else f"robot_{words}".rstrip("_")


def fingerprint(robot: Robot) -> str:
    """The first 16 digits of the SHA-256 of the robot's file: equal for equal robots."""
    return hashlib.sha256(robot_text(robot).encode()).hexdigest()[:16]


def number(value: float) -> str:
    """A number that reads back as the same double, with a point or an exponent."""
    return repr(float(value))


def provenance(robot: Robot, what: str) -> list[str]:
    """Lines for the head of a file: what it is, of which robot, by which version, in which units.

    No date: the same robot gives the same file.
    """
    signs = ", ".join(f"{sign:+g}" for sign in robot.controller.sign)
    offsets = ", ".join(f"{offset:g}" for offset in robot.controller.offset)
    sourced = sum(not source.assumed for source in robot.sources.values())
    assumed = len(robot.sources) - sourced
    return [
        what,
        f"robot: {robot.name}, {robot.dof} degrees of freedom, fingerprint {fingerprint(robot)}",
        f"values with a source: {sourced}, assumed: {assumed}; payload {robot.payload.mass:g} kg",
        f"written by deltadyn {version('deltadyn')}; do not edit, export again instead",
        "units: m, rad, s, kg, N, N m; torques at the output side of the gears",
        f"controller's angles: q_controller = sign * q + offset; sign {signs}; "
        f"offset {offsets} rad",
    ]


def commented(lines: Iterable[str], first: str, each: str, last: str) -> str:
    """Lines as a comment of a language."""
    return "\n".join([first, *(f"{each}{line}".rstrip() for line in lines), last])


def template(target: str, name: str) -> str:
    """The text of a template of a target."""
    return (files("deltadyn.exports") / "templates" / target / name).read_text("utf-8")


def filled(target: str, name: str, words: Mapping[str, object]) -> str:
    """A template whose `$words` are replaced; a word that is missing raises."""
    return Template(template(target, name)).substitute(words)


FUNCTION = re.compile(r"^(/\*[^\n]*\*/\nINLINE void deltadyn_(\w+)\(.*?^}\n)", re.M | re.S)


@lru_cache(maxsize=1)
def kernel_sources() -> Mapping[str, str]:
    """Every generated function of the model by its name, as the package compiles it."""
    found: dict[str, str] = {}
    for source in sorted(files("deltadyn.backends.generated").iterdir(), key=lambda x: x.name):
        if source.name.endswith(".h"):
            found |= {item[2]: item[1] for item in FUNCTION.finditer(source.read_text("utf-8"))}
    return found
