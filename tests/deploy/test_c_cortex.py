"""Exported C on an emulated Cortex-M7: self-test, instructions per call, stack of call chains.

The emulator counts instructions, not cycles: what memory and pipeline cost is not in it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import pytest
from tests.deploy.programs import program
from tests.exports.c_build import library_of, run, sources_of

import deltadyn as dd
from deltadyn.exports.common import middle
from deltadyn.robot import Robot

HERE = Path(__file__).resolve().parent / "cortex"
DOCS = Path(__file__).resolve().parents[2] / "docs" / "export-c-rules.md"
CORE = ("-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-d16", "-O2", "-std=gnu99")
ROBOTS = {"3-DOF": "sipro-d3-1200", "4-DOF": "example-delta-4"}
CASES = [(name, precision) for name in ROBOTS for precision in ("double", "float")]
cases = pytest.mark.parametrize(("name", "precision"), CASES)
CALLS = (
    "inverse_kinematics",
    "forward_kinematics",
    "feedforward",
    "feedforward_joints",
    "forward_dynamics",
    "payload_update",
)


@lru_cache(maxsize=4)
def exported(name: str, precision: str) -> tuple[Robot, Path]:
    robot = dd.load_robot(ROBOTS[name])
    return robot, sources_of(robot, precision, rate=1000.0)


def stated(title: str, name: str, precision: str) -> list[int]:
    """The numbers of a robot's row in a table of the documentation."""
    section = DOCS.read_text("utf-8").split(f"## {title}")[1]
    row = re.search(rf"^\| {name}, {precision} \|(.*)\|$", section, re.M)
    assert row is not None
    return [int(number) for number in row[1].split("|")]


@cases
def test_it_passes_its_self_test_and_takes_the_stated_instructions(
    name: str, precision: str
) -> None:
    robot, folder = exported(name, precision)
    source = library_of(folder)
    own = source.stem.removesuffix("_delta")
    place = ", ".join(f"{x:g}" for x in middle(robot))
    words = [f'-DHEADER="{source.name[:-2]}.h"', f"-DID={own}", f"-DIDUP={own.upper()}"]
    command = [program("arm-none-eabi-gcc"), *CORE, "--specs=rdimon.specs", "-nostartfiles"]
    command += ["-T", str(HERE / "an500.ld"), *words, f"-DPLACE={{{place}}}", "-I."]
    command += [str(HERE / "start.c"), str(HERE / "count.c"), source.name]
    run([*command, "-lm", "-o", "count.elf"], folder)
    machine = [program("qemu-system-arm"), "-M", "mps2-an500", "-nographic", "-icount", "shift=8"]
    machine += ["-semihosting-config", "enable=on,target=native", "-kernel", "count.elf"]
    said = [line.split() for line in run(machine, folder).splitlines()]
    assert said[0][:2] == ["self_test", "0"]
    assert 0 < float(said[0][2]) < {"double": 1e-10, "float": 1e-5}[precision]
    most = {line[0]: int(line[1]) for line in said[1:]}
    assert most["nothing"] < 10
    # of another version of the compiler or of newlib: within a tenth
    for call, number in zip(CALLS, stated("Instructions", name, precision), strict=True):
        assert 0.9 * number < most[call] < 1.1 * number, (call, most[call])


def call_chains(graph: str) -> dict[str, int]:
    """Bytes of the deepest chain of calls from each function of a call graph of gcc."""
    bytes_of = {
        found[1]: int(found[2])
        for found in re.finditer(r'node: \{ title: "([^"]+)" label: "[^"]*?(\d+) bytes', graph)
    }
    calls: dict[str, set[str]] = {}
    edges = r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"'
    for found in re.finditer(edges, graph):
        calls.setdefault(found[1], set()).add(found[2])

    def depth(function: str, above: tuple[str, ...]) -> int:
        assert function not in above, "a function calls itself"
        inner = [depth(other, (*above, function)) for other in calls.get(function, ())]
        return bytes_of.get(function, 0) + max(inner, default=0)

    return {function: depth(function, ()) for function in bytes_of}


@cases
def test_the_stack_of_the_deepest_call_is_stated(name: str, precision: str) -> None:
    _, folder = exported(name, precision)
    source = library_of(folder)
    own = source.stem.removesuffix("_delta")
    command = [program("arm-none-eabi-gcc"), *CORE, "-fcallgraph-info=su", "-c", source.name]
    run([*command, "-o", "stack.o"], folder)
    deepest = call_chains((folder / "stack.ci").read_text())
    for call, number in zip(CALLS, stated("Stack", name, precision), strict=True):
        assert 0.9 * number < deepest[f"{own}_{call}"] < 1.1 * number, (call, deepest)
