"""What the export to MuJoCo refuses, and what it says it leaves out."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.exports.mujoco_cases import loaded, of_files

import deltadyn as dd
from deltadyn.errors import DeltadynError, InputError
from deltadyn.exports import mjcf
from deltadyn.exports.mjcf import Options, files
from deltadyn.robot.bodies import Platform
from deltadyn.robot.settings import Friction

ROBOT = dd.load_robot("sipro-d3-1200")


@pytest.mark.parametrize("step", [0.0, -1e-3, 0.01, float("nan"), True, "fast"])
def test_time_steps_beyond_the_known_are_refused(step: object) -> None:
    with pytest.raises(InputError, match=r"timestep is .*; allowed: 1e-06 to 0.002 s, where"):
        files(ROBOT, Options(timestep=step))  # type: ignore[arg-type]


def test_bodies_without_mass_are_refused() -> None:
    with pytest.raises(InputError, match=r"platform.mass is 0; allowed: above 0 kg for target 'mj"):
        files(ROBOT.replace(platform=Platform(0.0)))
    strut = replace(ROBOT.struts[0], mass=0.0, inertia=0.0)
    with pytest.raises(InputError, match=r"struts\[1\].mass is 0; allowed: above 0 kg"):
        files(ROBOT.replace(struts=(ROBOT.struts[0], strut, ROBOT.struts[2])))
    arm = replace(ROBOT.rotary_arms[0], mass=0.0, elbow_mass=0.0)
    with pytest.raises(InputError, match=r"arms\[0\].mass is 0; allowed: above 0 kg"):
        files(ROBOT.replace(arms=(arm, *ROBOT.arms[1:])))
    four = dd.load_robot("example-delta-4")
    assert four.spindle is not None
    light = replace(
        four.spindle, lower=replace(four.spindle.lower, mass=0.0, inertia=0.0, axial_inertia=0.0)
    )
    with pytest.raises(InputError, match=r"spindle.lower.mass is 0; allowed: above 0 kg"):
        files(four.replace(spindle=light))


def test_a_platform_too_light_for_soft_constraints_is_refused() -> None:
    pytest.importorskip("mujoco")
    light = ROBOT.replace(platform=Platform(0.02))
    with pytest.raises(DeltadynError, match=r"an acceleration error of \d.* %, above 0.2 %"):
        files(light)


def test_without_mujoco_the_model_is_written_unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mjcf, "find_spec", lambda name: None)
    assert "Not measured at this export: mujoco is not installed" in files(ROBOT)["README-mjcf.md"]


def test_terms_without_an_equal_are_named_in_both_files() -> None:
    friction = Friction(
        viscous=1.0, coulomb=2.0, coulomb_negative=1.0, stribeck=0.5, stribeck_velocity=0.1,
        offset=0.3, load=0.05, smoothing=0.01,
    )  # fmt: skip
    written = files(ROBOT.replace(friction=friction))
    for name in ("README-mjcf.md", "sipro_d3_1200.xml"):
        text = written[name]
        for term in ("friction.stribeck", "friction.load", "friction.offset", "coulomb_negative"):
            assert term in text
    assert 'frictionloss="1.5"' in written["sipro_d3_1200.xml"]
    assert "Not in the model" not in files(ROBOT)["README-mjcf.md"]


def test_any_name_gives_a_document() -> None:
    pytest.importorskip("mujoco")
    robot = ROBOT.replace(name='a "robot" <of> mine -- & yours')
    assert loaded(robot).nv == 12


def test_the_controllers_signs_are_in_the_readme() -> None:
    sign = replace(ROBOT.controller, sign=(-1.0, 1.0, 1.0), offset=(0.5, 0.0, 0.0))
    text = files(ROBOT.replace(controller=sign))["README-mjcf.md"]
    assert "| 1 | -1 | 0.5 |" in text
    assert "q_controller = sign * q + offset" in text


@pytest.mark.parametrize("name", ["sipro-d3-1200", "example-delta-4"])
def test_the_readmes_code_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mujoco = pytest.importorskip("mujoco")
    readme = dd.export(dd.load_robot(name), "mjcf", tmp_path).files[0]
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", readme.read_text(), re.S):
        exec(code, scope)
    assert capsys.readouterr().out.startswith("[")
    mujoco.mj_forward(scope["model"], scope["data"])
    tip, socket = (scope["data"].site(site).xpos for site in ("tip_1", "socket_1"))
    assert max(abs(tip - socket)) < 1e-12  # closed in the second pose too
    assert scope["data"].sensor("p").data[0] == pytest.approx(0.1)


def test_a_workspace_out_of_reach_is_refused() -> None:
    assert ROBOT.limits.workspace is not None
    space = replace(ROBOT.limits.workspace, z_min=-9.0, z_max=-8.0)
    robot = ROBOT.replace(limits=replace(ROBOT.limits, workspace=space))
    with pytest.raises(InputError, match=r"limits.workspace is -8.5; allowed: heights that the ro"):
        files(robot)


def test_a_robot_without_limits_is_exported() -> None:
    mujoco = pytest.importorskip("mujoco")
    robot = ROBOT.replace(
        limits=type(ROBOT.limits)(), geometry=replace(ROBOT.geometry, rod_spacing=None)
    )
    model = of_files(mujoco, files(robot))
    assert not model.jnt_limited.any()
    assert not model.actuator_ctrllimited.any()
