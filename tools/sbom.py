"""The bill of materials (SBOM) of the package with all its extras, as CycloneDX JSON.

Run: python -m tools.sbom FILE

It names what this environment holds: names, versions, licences and who needs whom. There is no
path of the machine, no address and no time in it: the same environment gives the same file.
"""

from __future__ import annotations

import argparse
import json
import uuid
from collections.abc import Mapping
from importlib.metadata import Distribution, version
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deltadyn.files import write_whole
from tools.dependencies import NAME, declared, extras, installed
from tools.licences import READ, TOOLS, licence_of

SPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "deltadyn.bill-of-materials")  # of serial numbers


def bill(packages: Mapping[str, Distribution], direct: list[str]) -> dict[str, Any]:
    """The bill of packages by name; `direct` are those that deltadyn itself asks for."""
    names = {name: _reference(name, item.version) for name, item in packages.items()}
    own = _reference(NAME, version(NAME))
    needs = {own: sorted(names[name] for name in {*direct} & {*names})}
    for name, item in packages.items():
        asked = {canonicalize_name(Requirement(text).name) for text in item.requires or ()}
        needs[names[name]] = sorted(names[other] for other in asked & {*names})
    components = [_component(name, item, names[name]) for name, item in packages.items()]
    serial = uuid.uuid5(SPACE, json.dumps([components, needs], sort_keys=True))
    root = {"type": "library", "name": NAME, "version": version(NAME), "bom-ref": own}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": root | {"licenses": [{"license": {"name": "Apache-2.0"}}]}},
        "components": components,
        "dependencies": [{"ref": ref, "dependsOn": others} for ref, others in needs.items()],
    }


def _reference(name: str, number: str) -> str:
    """The name of a package in a bill (package URL)."""
    return f"pkg:pypi/{name}@{number}"


def _component(name: str, item: Distribution, reference: str) -> dict[str, Any]:
    found = {"type": "library", "name": name, "version": item.version, "bom-ref": reference}
    licence = READ.get(name, "") or licence_of(item)
    return found | {"purl": reference, "licenses": [{"license": {"name": licence}}]}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    given = parser.parse_args(arguments)
    wanted = declared(*(extra for extra in extras() if extra not in TOOLS))
    packages = installed(wanted)
    found = bill(packages, [canonicalize_name(item.name) for item in wanted])
    write_whole(given.file, json.dumps(found, indent=1) + "\n")
    print(f"{given.file}: {len(packages)} packages")


if __name__ == "__main__":
    main()
