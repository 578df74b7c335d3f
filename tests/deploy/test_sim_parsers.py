"""URDF and SDFormat by the parsers of their own projects."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.deploy.programs import program
from tests.exports.scene_cases import KINDS, SPATIAL, robot_of

import deltadyn as dd
from deltadyn.simulation.plant.mjcf import driven_joints


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("kind", KINDS)
def test_check_urdf_finds_one_tree(kind: str, tmp_path: Path) -> None:
    check = program("check_urdf")
    made = dd.export(robot_of(kind), "urdf", tmp_path)
    path = next(path for path in made.files if path.suffix == ".urdf")
    done = run(check, str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Successfully Parsed XML" in done.stdout
    assert "root Link: base" in done.stdout
    for i in range(robot_of(kind).legs):
        assert f"tip_{i + 1}" in done.stdout
        assert f"socket_{i + 1}" in done.stdout
    path.write_text(path.read_text("utf-8").replace('<parent link="base" />', "", 1), "utf-8")
    assert run(check, str(path)).returncode != 0


@pytest.mark.parametrize("kind", SPATIAL)
def test_libsdformat_takes_model_and_world(kind: str, tmp_path: Path) -> None:
    ign = program("ign", "gz")
    made = dd.export(robot_of(kind), "sdf", tmp_path)
    for path in (path for path in made.files if path.suffix == ".sdf"):
        done = run(ign, "sdf", "-k", str(path))
        assert "Valid." in done.stdout, done.stdout + done.stderr
    model = next(path for path in made.files if path.suffix == ".sdf")
    printed = run(ign, "sdf", "-p", str(model)).stdout  # as libsdformat read it
    for name in (*driven_joints(robot_of(kind)), "elbow_1", "tip_3"):
        assert f"<joint name='{name}'" in printed
    text = model.read_text("utf-8")
    model.write_text(text.replace("<child>platform</child>", "<child>nobody</child>"), "utf-8")
    done = run(ign, "sdf", "-k", str(model))
    assert "Valid." not in done.stdout
