"""What deltadyn depends on: as pyproject.toml declares it, and as this environment holds it."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
NAME = "deltadyn"


def extras() -> tuple[str, ...]:
    """The names of the extras."""
    return tuple(_project()["optional-dependencies"])


def declared(*chosen: str) -> list[Requirement]:
    """What the package needs with these extras, as declared; an extra of extras is resolved."""
    project = _project()
    waiting = [*map(Requirement, project["dependencies"])]
    waiting += [Requirement(f"{NAME}[{','.join(chosen)}]")] if chosen else []
    found: dict[str, Requirement] = {}
    seen: set[str] = set()
    while waiting:
        item = waiting.pop(0)
        if item.name != NAME:
            found.setdefault(str(item), item)
            continue
        for extra in sorted(item.extras - seen):
            seen.add(extra)
            waiting += map(Requirement, project["optional-dependencies"][extra])
    return list(found.values())


def builders() -> list[Requirement]:
    """What builds the package."""
    return [*map(Requirement, _whole()["build-system"]["requires"])]


def installed(wanted: Iterable[Requirement]) -> dict[str, Distribution]:
    """The distributions of this environment that the requirements lead to, by name, sorted.

    A requirement that is not installed raises `PackageNotFoundError`; one whose marker does not
    hold here is left out.
    """
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(item, frozenset(item.extras)) for item in wanted if _holds(item, "")]
    while waiting:
        item, chosen = waiting.pop()
        name = canonicalize_name(item.name)
        own = found.setdefault(name, distribution(item.name))
        for extra in ("", *chosen):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            needs = [need for need in map(Requirement, own.requires or ()) if _holds(need, extra)]
            waiting += [(need, frozenset(need.extras)) for need in needs]
    return dict(sorted(found.items()))


def lowest(wanted: Iterable[Requirement]) -> Iterator[tuple[str, str]]:
    """Names with the lowest version that each requirement allows."""
    for item in wanted:
        bounds = [bound.version for bound in item.specifier if bound.operator in (">=", "==")]
        if len(bounds) != 1:
            raise ValueError(f"{item}: allowed: one lower bound, as name>=1.2")
        yield canonicalize_name(item.name), bounds[0]


def _holds(item: Requirement, extra: str) -> bool:
    return item.marker is None or item.marker.evaluate({"extra": extra})


def _project() -> dict[str, Any]:
    return dict(_whole()["project"])


def _whole() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


if __name__ == "__main__":  # what an extra needs beside the core, for pip
    print(*declared(*sys.argv[1:]), sep="\n")
