"""Whether everything that deltadyn needs, with all its extras, has a licence that fits Apache-2.0.

Run: python -m tools.licences [--json FILE]

Allowed are permissive licences, the MPL (changes of its own files stay under it), and the LGPL for
libraries that are loaded as they are. Tools of development that deltadyn does not ship or load at
run time may have the GPL too. A licence that is not understood fails.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import Distribution, PackageMetadata
from pathlib import Path

from tools.dependencies import declared, extras, installed

#: Extras that no user needs.
TOOLS = ("test", "test-all", "docs", "bench", "nightly", "tools", "dev")
ABSENT = ("bench", "tools", "dev")  # extras that `make test-all` and `make nightly` do not install
#: What a licence may be called, by the kind that it is.
KINDS = {
    "permissive": (
        r"Apache|\bMIT|\bBSD|0BSD|\bISC\b|\bPSF|Python Software Foundation|\bZPL|Zope|\bHPND"
        r"|Unlicense|public domain|\bCC0|\bzlib|\bNCSA|\bBSL-1|Historical Permission|BlueOak|Qhull"
    ),
    "MPL": r"\bMPL|Mozilla Public",
    "LGPL": r"LGPL|Lesser General Public",
    "GPL": r"(?<!L)\bA?GPL|(?<!Lesser )General Public License",
}
RUNTIME = ("permissive", "MPL", "LGPL")
#: Packages whose metadata do not say it; read in the licence files that they bring.
READ = {
    "apsw": "Apache-2.0 OR any other that OSI approves",
    "cmeel-qhull": "Qhull",
    "fmpy": "BSD-2-Clause",
}


@dataclass(frozen=True)
class Row:
    """A package with its licence, of which kind that is, and whether only tools need it."""

    name: str
    version: str
    licence: str
    kinds: tuple[str, ...]
    tool: bool

    @property
    def allowed(self) -> bool:
        """Whether all of its licences may be taken, or one where there is a choice (SPDX: OR)."""
        known = (*RUNTIME, "GPL") if self.tool else RUNTIME
        chosen = any if " OR " in self.licence else all
        return bool(self.kinds) and chosen(kind in known for kind in self.kinds)


def licence_of(package: Distribution) -> str:
    """What the metadata say: the expression, else the classifiers, else the first line."""
    about = package.metadata
    if _field(about, "License-Expression"):
        return _field(about, "License-Expression")
    marks = about.get_all("Classifier") or []
    told = [mark.rpartition(" :: ")[2] for mark in marks if mark.startswith("License :: ")]
    told = [text for text in told if text != "OSI Approved"]
    lines = _field(about, "License").strip().splitlines()
    return "; ".join(told) or (lines[0] if lines else "")


def _field(about: PackageMetadata, name: str) -> str:
    """A field, or nothing: some finders of packages raise for one that is absent."""
    return str(about[name] or "") if name in about else ""


def kinds_of(licence: str) -> tuple[str, ...]:
    """The kinds that a text names; none where it is not understood."""
    return tuple(kind for kind, words in KINDS.items() if re.search(words, licence, re.IGNORECASE))


def licences(packages: Iterable[tuple[Distribution, bool]]) -> list[Row]:
    """A row for every package; the flag says whether only tools need it."""
    rows = []
    for package, tool in packages:
        text = READ.get(package.name.lower(), "") or licence_of(package)
        rows.append(Row(package.name, package.version, text, kinds_of(text), tool))
    return rows


def packages() -> list[tuple[Distribution, bool]]:
    """All packages of this environment that deltadyn leads to."""
    own = [extra for extra in extras() if extra not in TOOLS]
    runtime = installed(declared(*own))
    everything = installed(declared(*(extra for extra in extras() if extra not in ABSENT)))
    return [(package, name not in runtime) for name, package in everything.items()]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="file for the rows and the figure")
    given = parser.parse_args(arguments)
    rows = licences(packages())
    wrong = [row for row in rows if not row.allowed]
    for row in wrong:
        print(f"{row.name} {row.version}: {row.licence or 'no licence in its metadata'}")
    figure = f"{len(rows)} packages, {sum(not row.tool for row in rows)} of them at run time; "
    figure += f"{len(wrong)} with a licence that does not fit or is not known"
    print(figure)
    if given.json is not None:
        record = {"figure": figure, "reached": not wrong, "rows": [asdict(row) for row in rows]}
        given.json.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
