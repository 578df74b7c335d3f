"""The MuJoCo model in dm_control, MJX and mujoco-usd-converter."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.family.robots import make

import deltadyn as dd

ROBOTS = ("sipro-d3-1200", "example-delta-4", "rails", "heli4")
CATALOGUE = ("sipro-d3-1200", "example-delta-4")
LIMIT = 600  # s for an installation


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Exported models by the names of their robots."""
    found = {}
    for name in ROBOTS:
        robot = dd.load_robot(name) if name in CATALOGUE else make(name)
        made = dd.export(robot, "mjcf", tmp_path_factory.mktemp(name))
        found[name] = next(path for path in made.files if path.suffix == ".xml")
    return found


def environment(folder: Path, *packages: str) -> Path:
    """The interpreter of an environment of its own with packages; skipped without them."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    command = [str(python), "-m", "pip", "install", "--quiet", *packages]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{', '.join(packages)}: not installed within {LIMIT} s")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        pytest.skip(f"{', '.join(packages)} cannot be installed: {last}")
    return python


def run(python: Path, code: str, *arguments: Path) -> Any:
    """What a script prints as JSON in its last line."""
    command = [str(python), "-I", "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


CONVERT = """
import json, sys, mujoco_usd_converter
from pxr import Usd, UsdPhysics
found = []
for path in sys.argv[2:]:
    name = path.rsplit("/", 1)[1].removesuffix(".xml")
    asset = mujoco_usd_converter.Converter().convert(path, f"{sys.argv[1]}/{name}")
    stage = Usd.Stage.Open(asset.path)
    prims = list(stage.Traverse())
    heavy = [UsdPhysics.MassAPI(p) for p in prims if p.HasAPI(UsdPhysics.MassAPI)]
    mass = sum(item.GetMassAttr().Get() for item in heavy)
    joints = [p.GetName() for p in prims if p.IsA(UsdPhysics.Joint)]
    found.append([mass, joints, [p.GetName() for p in prims if p.GetTypeName() == "Mesh"]])
print(json.dumps(found))
"""


def test_the_usd_converter_takes_bodies_joints_and_meshes(
    models: dict[str, Path], tmp_path: Path
) -> None:
    """It asks for a mujoco of its own."""
    mujoco = pytest.importorskip("mujoco")
    python = environment(tmp_path / "own", "mujoco-usd-converter")
    answers = run(python, CONVERT, tmp_path, *models.values())
    for path, (mass, joints, meshes) in zip(models.values(), answers, strict=True):
        model = mujoco.MjModel.from_xml_path(str(path))
        assert mass == pytest.approx(float(model.body_mass.sum()), rel=1e-5)  # floats in USD
        assert {model.joint(k).name for k in range(model.njnt)} <= set(joints)
        assert {model.mesh(k).name for k in range(model.nmesh)} <= set(meshes)


STEPS = """
import json, sys
from dm_control import mjcf, mujoco
found = []
for path in sys.argv[1:]:
    physics = mujoco.Physics.from_xml_path(path)
    parsed = mjcf.Physics.from_mjcf_model(mjcf.from_path(path))
    for each in (physics, parsed):
        each.reset(0)
        for _ in range(20):
            each.step()
    found.append([physics.data.qpos.tolist(), parsed.data.qpos.tolist()])
print(json.dumps(found))
"""


def test_dm_control_steps_as_mujoco_does(models: dict[str, Path], tmp_path: Path) -> None:
    """By its own loader and by its parser; where it does not fit the mujoco here, in its own."""
    mujoco = pytest.importorskip("mujoco")
    python = Path(sys.executable)
    probe = "from dm_control import mujoco; mujoco.Physics.from_xml_string('<mujoco/>').data.qpos"
    command = [sys.executable, "-I", "-c", probe]
    if subprocess.run(command, capture_output=True, timeout=300, check=False).returncode:
        python = environment(tmp_path / "own", "dm_control", "mujoco<4")
    answers = run(python, STEPS, *models.values())
    for path, answer in zip(models.values(), answers, strict=True):
        model = mujoco.MjModel.from_xml_path(str(path))
        data = mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, data, 0)
        for _ in range(20):
            mujoco.mj_step(model, data)
        for found in answer:
            np.testing.assert_allclose(found, data.qpos, atol=1e-7)  # rad, m; other versions


def test_mjx_has_mujocos_acceleration(models: dict[str, Path]) -> None:
    """In double precision; compiling takes a minute, so one robot."""
    mujoco, jax = pytest.importorskip("mujoco"), pytest.importorskip("jax")
    mjx = pytest.importorskip("mujoco.mjx")
    model = mujoco.MjModel.from_xml_path(str(models["sipro-d3-1200"]))
    data = mujoco.MjData(model)
    data.ctrl[:] = [5.0, -3.0, 2.0]
    with jax.enable_x64(True):
        there = mjx.put_model(model)
        found = np.array(jax.jit(mjx.forward)(there, mjx.put_data(model, data)).qacc)
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(found, data.qacc, atol=1e-7 * np.abs(data.qacc).max())
