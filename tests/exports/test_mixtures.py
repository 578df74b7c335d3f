"""Files of two exports of one robot do not compile together: a fingerprint covers the options."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.exports.st_evaluator import StructuredTextError, load

import deltadyn as dd
from deltadyn.exports import c, fmu, mjcf, structured_text, urdf
from deltadyn.exports.common import ExportFiles
from deltadyn.robot import Robot

ROBOT = dd.load_robot("example-delta")
NAME = "example_delta_delta"
HEAVIER = ROBOT.with_payload(2.5)
#: What differs between two exports in C: the robot or an option.
PAIRS: dict[str, tuple[tuple[Robot, dict[str, Any]], tuple[Robot, dict[str, Any]]]] = {
    "rate": ((ROBOT, {"rate": 500.0}), (ROBOT, {"rate": 2000.0})),
    "payload": ((ROBOT, {}), (HEAVIER, {})),
    "precision": ((ROBOT, {}), (ROBOT, {"precision": "float"})),
    "estimator": ((ROBOT, {}), (ROBOT, {"estimator": "least-squares"})),
}


def compile_folder(folder: Path) -> dict[str, str]:
    """What the compiler says of each source that it refuses."""
    refused = {}
    for source in sorted(folder.glob("*.c")):
        command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", source.name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            refused[source.name] = done.stderr
    return refused


@pytest.mark.parametrize("what", PAIRS)
def test_c_of_two_exports_does_not_compile(tmp_path: Path, what: str) -> None:
    """Whichever file is of the other one; each of them alone does."""
    (robot, options), (other, others) = PAIRS[what]
    one, two = c.files(robot, c.Options(**options)), c.files(other, c.Options(**others))
    assert one.fingerprint != two.fingerprint
    parts = (f"{NAME}.c", "example.c", "self_test.c") if what == "rate" else ()
    for mixed in (*parts, f"{NAME}.h"):
        folder = tmp_path / mixed
        folder.mkdir()
        for name, text in one.items():
            (folder / name).write_text(str(two[name] if name == mixed else text))
        refused = compile_folder(folder)
        sources = {name for name in one if name.endswith(".c")}
        assert set(refused) == (sources if mixed.endswith(".h") else {mixed})
        assert all("is of another export than this file" in text for text in refused.values())
    (folder / f"{NAME}.h").write_text(str(one[f"{NAME}.h"]))
    assert compile_folder(folder) == {}


def test_newer_times_of_old_files_keep_no_old_file(tmp_path: Path) -> None:
    """Also where only some are ahead: all files are those of the last export."""
    place = tmp_path / "ctl"
    first = dd.export(ROBOT, "c", place)
    for ahead in (first.files, first.files[::2], first.files[1:2]):
        for path in ahead:
            os.utime(path, (4e9, 4e9))
        last = dd.export(ROBOT.with_payload(len(ahead) / 10), "c", place)
        for path in last.files:
            assert last.fingerprint in path.read_text()
    assert compile_folder(place) == {}


BLOCK = re.compile(r"^FUNCTION_BLOCK (\w+)$.*?^END_FUNCTION_BLOCK$", re.M | re.S)


@lru_cache(maxsize=4)
def structured_texts(rate: float) -> ExportFiles:
    return structured_text.files(ROBOT, structured_text.Options(name="Own", rate=rate))


def blocks_of(texts: Mapping[str, Any]) -> dict[str, str]:
    return {match[1]: match[0] for match in BLOCK.finditer(str(texts["Own.st"]))}


def test_structured_text_blocks_of_two_exports_do_not_compile() -> None:
    """Wherever a block has one of another export inside; each export alone does."""
    one, two = (blocks_of(structured_texts(rate)) for rate in (500.0, 2000.0))
    load("\n".join(one.values()))
    used = {name for name in one for text in one.values() if re.search(rf": {name};", text)}
    assert len(used) > 3
    for name in used:
        mixed = {**one, name: two[name]}
        with pytest.raises((StructuredTextError, KeyError), match=r"(?i)export_"):
            load("\n".join(mixed.values()))


def test_statements_of_another_export_do_not_fit_their_declarations() -> None:
    """As in a B&R library, whose declarations are a file of their own."""
    one, two = structured_texts(500.0), structured_texts(2000.0)
    declared = {m[1]: m[0] for m in BLOCK.finditer(str(one["br/Own.fun"]))}
    assert len(declared) > 5
    for name, declaration in declared.items():
        for texts in (one, two):
            said = re.sub(r"(?s)^\(\*.*?\*\)\n*FUNCTION_BLOCK \w+\n", "", texts[f"br/{name}.st"])
            block = declaration.removesuffix("END_FUNCTION_BLOCK") + said
            library = {**blocks_of(one), name: block}
            if texts is one:
                load("\n".join(library.values()))
            else:
                with pytest.raises((StructuredTextError, KeyError), match=r"(?i)export_"):
                    load("\n".join(library.values()))


def test_a_model_of_another_export_fails_its_self_test(tmp_path: Path) -> None:
    """MuJoCo's file decides alone; its check points are of one export."""
    pytest.importorskip("mujoco")
    one, two = mjcf.files(ROBOT), mjcf.model_files(ROBOT, 1e-3)
    for name, content in {**one, "example_delta.xml": two["example_delta.xml"]}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(str(content))
    script = [sys.executable, "-I", str(tmp_path / "example_delta_self_test.py")]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "NOT GOOD" in done.stdout


def test_the_fingerprint_covers_options_of_every_target() -> None:
    steps = [fmu.files(ROBOT, fmu.Options(timestep=t, binary=False)) for t in (1e-4, 2e-4)]
    names = [urdf.files(ROBOT, urdf.Options(package=name)) for name in ("one", "two")]
    limits = [c.files(ROBOT, c.Options(rate=rate)) for rate in (500.0, 1000.0, 2000.0)]
    for exports in (steps, names, limits):
        assert all(a.fingerprint != b.fingerprint for a, b in pairwise(exports))
    assert c.files(ROBOT).fingerprint == c.files(ROBOT).fingerprint


def test_the_record_of_exports_says_the_fingerprint(tmp_path: Path) -> None:
    done = dd.export(ROBOT, "structured-text", tmp_path)
    record = json.loads((tmp_path / "deltadyn-export.json").read_text())["structured-text"]
    assert record["fingerprint"] == done.fingerprint == done.as_dict()["fingerprint"]
    assert all(done.fingerprint in path.read_text() for path in done.files)
