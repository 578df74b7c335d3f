"""The peers' own programs: they compile, give our torques, and say why where they cannot."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.cases import Case, family, standard_case
from benchmarks.peers import benchmark, programs
from benchmarks.peers.programs import (
    RECIPES,
    SAME,
    DifferentTorqueError,
    PeerMissingError,
    Program,
    Race,
    Recipe,
    build,
)
from benchmarks.peers.tree import Tree
from tests.dynamics.factory import make_robot

from deltadyn.errors import InputError
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Carriage

FEW = 300
SAYS_NO = """#!/bin/sh
if [ "$1" = --version ]; then echo fake 1; else echo 'x.c: error: no' >&2; exit 1; fi
"""


def program(name: str, kind: str = "rotary") -> Program:
    """A peer from the user's cache, so that Pinocchio's compiling is spent once.

    Torques are compared, not times: without optimisation it compiles in two thirds of the time.
    """
    try:
        recipe = RECIPES[name](kind)
        return build(replace(recipe, arguments=("-O0", *recipe.arguments)))
    except PeerMissingError as error:
        pytest.skip(str(error))


@pytest.mark.full
@pytest.mark.parametrize("robot", family().values(), ids=list(family()))
def test_mujoco_gives_our_torques_of_the_family(robot: Robot) -> None:
    """Pinocchio compiles for a minute: `deltadyn bench` compares its torques too."""
    case = Case.of(robot, FEW)
    with Race(program("MuJoCo", Tree.of(robot).kind), case) as race:
        assert 0 < race.difference() < SAME


def test_a_counterweight_is_refused() -> None:
    robot = family()["vertical rails"]
    heavy = robot.replace(arms=Carriage(0.2, counterweight=0.1))
    with pytest.raises(InputError, match="counterweight"):
        Tree.of(heavy)


#: Pinocchio's headers compile for more than a minute: `make tools-test` does it.
PEERS = [pytest.param(name, marks=[pytest.mark.tools] * (name == "Pinocchio")) for name in RECIPES]


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("dof", [3, 4])
def test_a_compiled_peer_gives_our_torques(name: str, dof: int) -> None:
    """By both ways, on a robot in which every number of the dynamics is its own."""
    case = Case.of(make_robot(dof, False), FEW)
    ours = case.torque()
    with Race(program(name), case) as race:
        for theirs in race.torques().values():
            assert theirs.shape == (FEW, dof)
            np.testing.assert_allclose(theirs, ours, rtol=0, atol=SAME * np.abs(ours).max())
        assert 0 < race.difference() < SAME
        times = race.run(case.torque, rounds=1)
    assert min(times.own, times.whole, times.open) > 0


def test_a_race_against_other_torques_is_refused() -> None:
    """A gram on the platform is enough to be caught."""
    case = standard_case(3, FEW)
    other = Case(case.robot.with_payload(0.001), case.p, case.pd, case.pdd)
    with Race(program("MuJoCo"), case) as race:
        race.case = other
        with pytest.raises(
            DifferentTorqueError, match=r"MuJoCo's torques \(whole\) differ"
        ) as found:
            race.run(case.torque, rounds=1)
    assert found.value.way == "whole"
    assert found.value.difference > SAME


def test_a_second_build_takes_the_first(tmp_path: Path) -> None:
    try:
        recipe = RECIPES["MuJoCo"]()
        lines: list[str] = []
        first = build(recipe, tmp_path, lines.append)
    except PeerMissingError as error:
        pytest.skip(str(error))
    assert lines == ["compiling MuJoCo's C program (once)"]
    assert build(recipe, tmp_path, lines.append) == first
    assert len(lines) == 1
    assert [path.name for path in tmp_path.iterdir()] == [first.path.name]
    assert "-O3" in first.flags
    assert "-march=native" in first.flags


def test_without_a_compiler_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PATH without gcc: reference figures for three axes, nothing for four."""
    monkeypatch.setenv("PATH", str(tmp_path))
    compiled, missing = benchmark.compiled_peers(lambda text: None)
    assert compiled == {}
    installed = {name: reason for name, reason in missing.items() if "compile it" in reason}
    if "MuJoCo" in installed:
        assert installed["MuJoCo"] == "there is no gcc to compile it"
    if "Pinocchio" in installed:
        assert installed["Pinocchio"] == "there is no g++ to compile it"
    (row,) = benchmark.reference_rows(standard_case(3, 1), "MuJoCo", "no gcc", 66e-9)
    assert row.seconds == 1.73e-6
    assert row.ratio == pytest.approx(1.73e-6 / 66e-9)
    assert row.met
    assert not row.measured
    assert "reference figure of the project" in row.note
    assert row.note.endswith(": no gcc")
    (row,) = benchmark.reference_rows(standard_case(4, 1), "MuJoCo", "no gcc", 66e-9)
    assert row.seconds is None
    assert row.verdict == "not measured"


def test_a_compiler_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "gcc"
    fake.write_text(SAYS_NO, "utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    recipe = Recipe("Peer", "C", "gcc", "mujoco_race.c", ())
    with pytest.raises(PeerMissingError, match="Peer cannot be measured: gcc failed") as raised:
        build(recipe, tmp_path / "cache")
    assert raised.value.reason == "gcc failed: x.c: error: no"
    assert not list((tmp_path / "cache").iterdir())


def test_a_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "find_spec", lambda name: None)
    for name, package in (("MuJoCo", "mujoco"), ("Pinocchio", "pinocchio")):
        with pytest.raises(PeerMissingError) as raised:
            RECIPES[name]()
        assert raised.value.peer == name
        assert raised.value.reason == f"the Python package {package} is not installed"


def test_headers_that_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Found:
        origin = str(tmp_path / "mujoco" / "__init__.py")

    monkeypatch.setattr(programs, "find_spec", lambda name: Found)
    with pytest.raises(PeerMissingError, match=r"holds no include/mujoco/mujoco\.h"):
        RECIPES["MuJoCo"]()
    with pytest.raises(PeerMissingError, match=r"there is no pinocchio/algorithm/rnea\.hpp"):
        RECIPES["Pinocchio"]()


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder", "utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    folder = programs._cache()
    assert folder.is_dir()
    assert blocked not in folder.parents
    os.rmdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert programs._cache() == tmp_path / "deltadyn" / "bench"


def test_a_program_that_fails_is_quoted(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho out of order >&2\nexit 2\n", "utf-8")
    broken.chmod(0o755)
    bad = Program("Peer", "C", broken, "none", ())
    with pytest.raises(PeerMissingError, match="its program failed: out of order"):
        Race(bad, standard_case(3, 2))
    broken.write_text("#!/bin/sh\necho ready\nread way\n", "utf-8")
    with (
        Race(bad, standard_case(3, 2)) as race,
        pytest.raises(PeerMissingError, match="its program stopped before the end"),
    ):
        race.seconds("whole")
    broken.write_text("#!/bin/sh\necho out of order >&2\nexit 2\n", "utf-8")
    rows = benchmark.compiled_rows(
        standard_case(3, 2), Program("MuJoCo", "C", broken, "none", ()), rounds=1
    )
    assert [row.verdict for row in rows] == ["not measured", ""]
    assert rows[0].note == "not measured: its program failed: out of order"
