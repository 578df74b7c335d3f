"""Self-tests of exported C under several compilers, by CMake, and with every number changed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.deploy.programs import program
from tests.exports.c_build import PRECISIONS, library_of, run
from tests.exports.c_points import KINDS, Points, compiled, folder_of, robot_of

TOLERANCE = {"double": 1e-9, "float": 1e-4}
LEVELS = ("-O0", "-O1", "-O2", "-O3")
#: Numbers that no function reads, or that only say which part of the code is used. The rotor's is
#: in the arms' inertia too, and read by itself only where gears lose a share of the load.
UNREAD = {"payload_offset", "actuation", "beyond", "home", "smoothing", "rotor"}
PER_AXIS = {"torque_ratio"}  # with a 1 for axes that are not there


def tiny(folder: Path, precision: str, out: str = "tcc.so") -> Points:
    """The export compiled by tcc."""
    source = library_of(folder)
    run([program("tcc"), "-std=c99", "-shared", source.name, "-o", out, "-lm"], folder)
    return Points(folder / out, source.stem.removesuffix("_delta"), precision)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_passes_its_self_test(kind: str, precision: str) -> None:
    folder = folder_of(kind, precision)
    for code in (tiny(folder, precision), compiled(folder, precision, "gcc", "-O1")):
        failed, error = code.self_test()
        assert failed == 0
        assert 0 < error < 0.1 * TOLERANCE[precision]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", LEVELS)
def test_every_level_passes_the_self_test(compiler: str, level: str, precision: str) -> None:
    folder = folder_of("rich-4", precision)
    code = compiled(folder, precision, program(compiler), level, out=f"{compiler}{level}.so")
    failed, error = code.self_test()
    assert failed == 0
    assert 0 < error < 0.1 * TOLERANCE[precision]


@pytest.mark.parametrize("kind", ["rich-3", "rich-4", "par4"])
def test_it_fails_with_any_number_changed(kind: str) -> None:
    """One number of EMPTY after the other, by a ten-thousandth."""
    folder = folder_of(kind)
    source = library_of(folder)
    text = source.read_text("utf-8")
    start = text.index("/* limb */", text.index("EMPTY[PAR_COUNT] = {"))
    stop = text.index("};", start)
    wrong = folder / "changed"
    wrong.mkdir(exist_ok=True)
    shutil.copy(source.with_suffix(".h"), wrong)
    unseen: set[str] = set()
    seen, entry, axis = 0, "", -1
    for found in re.finditer(r"(?:/\* (\w+) \*/ )|(-?[\d.]+(?:e[+-]?\d+)?)", text[start:stop]):
        if found[1]:
            entry, axis = found[1], -1
            continue
        axis += 1
        beyond = entry in PER_AXIS and axis >= robot_of(kind).dof
        if float(found[2]) == 0 or beyond:
            continue
        at = start + found.start()
        changed = f"{float(found[2]) * (1 + 1e-4)!r}"
        (wrong / source.name).write_text(text[:at] + changed + text[start + found.end() :])
        failed, _ = tiny(wrong, "double", f"changed-{at}.so").self_test()
        seen += failed > 0
        unseen |= set() if failed else {entry}
    assert seen > 30
    # a platform of halves is followed in its assembly, whatever side that is on
    assert unseen <= UNREAD | ({"side"} if robot_of(kind).legs == 4 else set())


def test_cmake_builds_and_ctest_passes(tmp_path: Path) -> None:
    for file in folder_of("par4").iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    run([program("cmake"), "-B", "build", "-S", "."], tmp_path)
    run([program("cmake"), "--build", "build"], tmp_path)
    said = run([program("ctest"), "--test-dir", "build"], tmp_path)
    assert "100% tests passed, 0 tests failed out of 2" in said
