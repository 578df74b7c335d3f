"""What deltadyn depends on: the lock, the lower bounds, licences and the bill of materials."""

from __future__ import annotations

import json
import re
from importlib.metadata import PackageNotFoundError, distribution, version

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tools.dependencies import builders, declared, extras, installed, lowest
from tools.licences import READ, Row, kinds_of, licence_of, licences
from tools.lock import LOCK, lock_text
from tools.lowest import CORE, constraints
from tools.sbom import bill

ENTRY = re.compile(r"([a-z0-9-]+)==([^ ]+)((?: --hash=sha256:[0-9a-f]{64})+)")


def locked() -> dict[str, str]:
    """Versions of the lock by name."""
    lines = [line for line in LOCK.read_text("utf-8").splitlines() if not line.startswith("#")]
    found = {}
    for line in lines:
        entry = ENTRY.fullmatch(line)
        assert entry is not None, f"{line!r} has no version or no hash"
        assert entry[1] not in found
        found[entry[1]] = entry[2]
    return found


def test_the_lock_has_versions_and_hashes_and_no_address() -> None:
    assert len(locked()) > 100
    text = LOCK.read_text("utf-8")
    for address in ("://", "index", "find-links", "file:", "@", "/opt", "/home", "/root"):
        assert address not in text


def test_the_lock_covers_what_is_declared() -> None:
    """Every extra, with versions that the bounds allow."""
    found = locked()
    for item in [*declared(*extras()), *builders()]:
        if item.marker is None or item.marker.evaluate({"extra": ""}):
            name = canonicalize_name(item.name)
            assert name in found, f"{name}: run `make lock`"
            assert item.specifier.contains(found[name], prereleases=True), str(item)


def test_a_lock_is_made_of_names_and_hashes_alone() -> None:
    where = {"url": "file:///opt/a.whl", "archive_info": {"hashes": {"sha256": "0" * 64}}}
    item = {"metadata": {"name": "A_b", "version": "1.2"}, "download_info": where}
    text = lock_text({"install": [item], "environment": {"python_version": "3.11"}})
    assert text.splitlines()[-1] == f"a-b==1.2 --hash=sha256:{'0' * 64}"
    assert "file:" not in text


def test_every_dependency_of_the_core_has_a_lower_bound() -> None:
    assert dict(lowest(declared()))["clarabel"] == "0.10"  # 0.9 has no limit of threads
    assert len(constraints().splitlines()) == len(declared())
    with pytest.raises(ValueError, match="one lower bound"):
        list(lowest([Requirement("numpy<3")]))
    root = LOCK.parent
    assert all((root / path).exists() for path in CORE)


@pytest.mark.parametrize(
    ("licence", "tool", "allowed"),
    [
        ("MIT", False, True),
        ("Apache Software License", False, True),
        ("BSD-3-Clause AND MIT", False, True),
        ("GNU Lesser General Public License v3 (LGPLv3)", False, True),
        ("MPL-2.0", False, True),
        ("GPL-3.0-or-later", False, False),
        ("GNU General Public License v2 or later (GPLv2+)", False, False),
        ("GPL-3.0-or-later", True, True),
        ("AGPL-3.0", False, False),
        ("MIT AND GPL-2.0-only", False, False),
        ("GPL-2.0-only OR MIT", False, True),
        ("Proprietary", True, False),
        ("", True, False),
    ],
)
def test_licences_that_fit(licence: str, tool: bool, allowed: bool) -> None:
    assert Row("a", "1", licence, kinds_of(licence), tool).allowed is allowed


def test_what_users_load_has_licences_that_fit() -> None:
    """The core here; all extras in `make nightly`."""
    rows = licences((package, False) for package in installed(declared()).values())
    assert len(rows) >= len(declared())
    assert [row for row in rows if not row.allowed] == []


def test_the_bill_names_packages_licences_and_needs() -> None:
    packages = installed(declared())
    found = bill(packages, [canonicalize_name(item.name) for item in declared()])
    assert found == bill(packages, [canonicalize_name(item.name) for item in declared()])
    names = {item["name"]: item for item in found["components"]}
    assert names["numpy"]["version"] == version("numpy")
    assert all(item["licenses"][0]["license"]["name"] for item in found["components"])
    needs = {row["ref"]: row["dependsOn"] for row in found["dependencies"]}
    assert names["numpy"]["bom-ref"] in needs[names["scipy"]["bom-ref"]]
    assert {need for row in needs.values() for need in row} <= set(needs)
    text = json.dumps(found)
    assert not re.search(r"://|file:|/(root|home|work|tmp|opt)/", text)


@pytest.mark.full
def test_a_licence_is_found_by_every_finder_of_packages() -> None:
    """One that a package replaces the standard one by raises for fields that are absent."""
    finder = pytest.importorskip("importlib_metadata", reason="needs importlib_metadata")
    assert kinds_of(licence_of(finder.distribution("numpy"))) == ("permissive",)
    for name in installed(declared()):
        assert licence_of(finder.distribution(name)) == licence_of(distribution(name))


def test_licences_read_by_hand_are_still_needed() -> None:
    """A package that says its licence by now is not to be overruled."""
    for name in READ:
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        assert not kinds_of(licence_of(package)), name
