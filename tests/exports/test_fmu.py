"""The target `fmu`: what is in the files, options, compilers, and fmpy's own checks."""

from __future__ import annotations

import importlib
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.exports.fmu_units import (
    columns,
    fmpy,
    made,
    needs_compiler,
    opened,
    robots,
    simulated,
    text_in,
    units,
    validation,
)

import deltadyn as dd
from deltadyn.errors import DeltadynError, InputError
from deltadyn.exports.fmu import Options, files
from deltadyn.robot import Robot

PAGE = Path(__file__).resolve().parents[2] / "docs" / "export-fmu.md"
THREE = dd.load_robot("sipro-d3-1200")
LINUX = Options(windows=False)


def names_in(path: Path) -> set[str]:
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
@pytest.mark.parametrize("name", ["sipro-d3-1200", "abb-irb360-6-1600", "telescopic-delta"])
def test_fmpy_finds_no_problem(tmp_path: Path, name: str, fmi: str) -> None:
    for model, path in units(dd.load_robot(name), tmp_path, fmi=fmi, binary=False).items():
        assert validation.validate_fmu(str(path)) == []
        description = fmpy.read_model_description(str(path))
        assert description.fmiVersion == fmi
        assert description.coSimulation.modelIdentifier == path.stem
        outputs = {item.variable.name: item for item in description.outputs}
        inputs = {item.name for item in description.modelVariables if item.causality == "input"}
        feeds = {
            name: {item.name for item in output.dependencies} for name, output in outputs.items()
        }
        one = "[1]" if fmi == "2.0" else ""  # arrays in FMI 3.0
        assert description.modelExchange.modelIdentifier == path.stem
        if model == "inverse":
            assert feeds[f"tau{one}"] == feeds[f"q{one}"] == inputs
            assert description.numberOfContinuousStates == 0
            continue
        dof = dd.load_robot(name).dof
        many = [f"[{i + 1}]" for i in range(dof)] if fmi == "2.0" else [""]
        states = {f"{base}{at}" for base in ("q", "qd") for at in many}
        assert feeds[f"qdd{one}"] == feeds[f"pdd{one}"] == inputs | states
        assert feeds[f"q{one}"] == {f"q{one}"}
        assert feeds[f"qd{one}"] == feeds[f"controller_qd{one}"] == {f"qd{one}"}
        assert feeds[f"p{one}"] == {f"q{at}" for at in many}
        slopes = [item.variable for item in description.derivatives]
        assert [item.name for item in slopes] == [f"{b}{at}" for b in ("qd", "qdd") for at in many]
        assert [item.derivative.name for item in slopes] == [
            f"{b}{at}" for b in ("q", "qd") for at in many
        ]


@needs_compiler
def test_no_zero_has_a_sign_and_no_description_names_what_is_not_there() -> None:
    # offset -0.0 of the controller, signs of -1 on axes at rest: both gave -0.0 once
    robot = robots()[3]
    for fmi in ("2.0", "3.0"):
        for model in ("plant", "inverse"):
            text = text_in(made(3, fmi)[model], "modelDescription.xml")
            assert not re.search(r"-0\.0\b", text)
            assert "psi" not in text
            experiment = ElementTree.fromstring(text).find("DefaultExperiment")
            assert experiment is not None
            assert set(experiment.keys()) == {"startTime", "stopTime", "tolerance", "stepSize"}
    assert robot.controller.sign[0] == -1
    with opened(made(3, "2.0")["plant"]) as unit:
        unit.begin()
        values = np.concatenate([unit.row(name, 3) for name in ("qd", "pd", "controller_qd")])
        assert not np.signbit(values).any()


@needs_compiler
def test_the_files_of_both_versions() -> None:
    shared = {
        f"sources/{name}.h"
        for name in ("model", "derivatives", "instance", "layer", "kernels", "robot")
    } | {"documentation/index.html", "documentation/licenses/license.txt"}
    for fmi, own in (
        ("2.0", {"sources/fmi2.c", "binaries/linux64/sipro_d3_1200_plant.so"}),
        (
            "3.0",
            {
                "sources/fmi3.c",
                "sources/buildDescription.xml",
                "binaries/x86_64-linux/sipro_d3_1200_plant.so",
            },
        ),
    ):
        path = made(3, fmi)["plant"]
        assert names_in(path) == {"modelDescription.xml", "sources/plant.h"} | shared | own
        sources = [name for name in names_in(path) if name.endswith((".c", ".h"))]
        assert all("fingerprint" in text_in(path, name)[:400] for name in sources)
        tree = ElementTree.fromstring(text_in(path, "modelDescription.xml"))
        token = tree.get("guid") or tree.get("instantiationToken")
        assert f'#define TOKEN "{token}"' in text_in(path, "sources/robot.h")


def test_equal_robots_give_equal_bytes_and_others_another_guid(tmp_path: Path) -> None:
    first, second = files(THREE, LINUX), files(dd.load_robot("sipro-d3-1200"), LINUX)
    assert first == second
    heavier = files(THREE.with_payload(1.0), Options(binary=False))
    pattern = re.compile(r'guid="(\{[0-9a-f-]{36}\})"')
    guids = set()
    for content in (first, heavier):
        for name, value in content.items():
            if name.endswith(".fmu"):
                assert isinstance(value, bytes)
                (tmp_path / name).write_bytes(value)
                found = pattern.search(text_in(tmp_path / name, "modelDescription.xml"))
                assert found is not None
                guids.add(found[1])
    assert len(guids) == 4


@needs_compiler
@pytest.mark.skipif(shutil.which("cmake") is None, reason="fmpy builds with CMake")
@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
def test_sources_alone_are_compiled_by_fmpy_and_give_the_same_motion(
    tmp_path: Path, fmi: str
) -> None:
    build = importlib.import_module("fmpy.build")
    path = units(robots()[3], tmp_path / "out", fmi=fmi, binary=False)["plant"]
    assert not [name for name in names_in(path) if name.startswith("binaries")]
    folder = tmp_path / "unpacked"
    fmpy.extract(str(path), unzipdir=str(folder))
    build.build_platform_binary(folder)
    t = np.linspace(0.0, 0.05, 26)
    signals = {"time": t} | {f"tau[{i + 1}]": 5.0 * np.sin(60 * t + i) for i in range(3)}
    results = [
        simulated(source, 3, signals, output=["q", "qd"], output_interval=t[1])
        for source in (folder, made(3, fmi)["plant"])
    ]
    for name in ("q", "qd"):
        # another compiler setting: rounding, grown along the way
        fresh, shipped = (columns(item, name, 3) for item in results)
        np.testing.assert_allclose(fresh, shipped, atol=1e-11)


def test_without_a_compiler_there_are_sources_and_the_readme_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "")
    path = units(THREE, tmp_path)["plant"]
    assert not [name for name in names_in(path) if name.startswith("binaries")]
    assert "sources/fmi2.c" in names_in(path)
    assert "no compiler for x86-64 Linux was found" in (tmp_path / "README-fmu.md").read_text()


def test_a_compiler_that_fails_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'fmi2.c:1: error: no space' >&2\nexit 4\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    with pytest.raises(
        DeltadynError, match=r"(?s)do not compile with .*broken \(exit status 4\).*no space"
    ):
        dd.export(THREE, "fmu", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(InputError, match="CC in the environment is 'no-such-compiler'; allowed: a"):
        dd.export(THREE, "fmu", tmp_path / "out")
    dd.export(THREE, "fmu", tmp_path / "out", binary=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fmi": "1.0"}, "fmi is '1.0'; allowed: one of '2.0', '3.0'"),
        ({"fmi": 2.0}, "fmi is 2; allowed: one of '2.0', '3.0'"),
        ({"timestep": 0.0}, "timestep is 0; allowed: a number of seconds from 1e-07 to 1"),
        ({"timestep": float("nan")}, "timestep is nan; allowed: a number of seconds"),
        ({"timestep": "fast"}, "timestep is 'fast'; allowed: a number of seconds"),
        ({"timestep": True}, "timestep is True; allowed: a number of seconds"),
        ({"binary": "yes"}, "binary is 'yes'; allowed: True or False"),
        ({"windows": 1}, "windows is 1; allowed: True or False"),
        ({"precision": "float"}, "option of target 'fmu' is 'precision'; allowed: one of 'fmi'"),
    ],
)
def test_wrong_options(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        dd.export(THREE, "fmu", tmp_path, **options)
    assert list(tmp_path.iterdir()) == []


@needs_compiler
def test_the_name_of_a_robot_breaks_nothing(tmp_path: Path) -> None:
    robot: Robot = THREE.replace(name='"*/ ??/ /* <&> %s @TOKEN@ é')
    for path in units(robot, tmp_path).values():
        assert validation.validate_fmu(str(path)) == []
        assert [name for name in names_in(path) if name.endswith(".so")]


@needs_compiler
def test_the_page_of_the_documentation_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PAGE.read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) == 2
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    for block in blocks:
        exec(block, space)
    # 0.013 mm on one machine: torques held for 1 ms, and friction's tanh beside its sign
    assert space["worst"] < 5e-5


@needs_compiler
def test_the_readme_holds_the_variables_and_its_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = units(THREE, tmp_path, timestep=2e-4)["plant"]
    text = (tmp_path / "README-fmu.md").read_text()
    page = text_in(path, "documentation/index.html")
    for item in fmpy.read_model_description(str(path)).modelVariables:
        name = re.sub(r".[0-9]+.$", "[1..", item.name)
        assert f"| `{name}" in text
        assert f"<td>{name}" in page
    assert "`step` (0.0002 s" in text
    example = re.search(r"```python\n(.*?)```", text, re.S)
    assert example is not None
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    exec(example[1], space)
    assert len(space["result"]) == 201
    assert space["result"]["q[1]"][-1] > space["result"]["q[1]"][0]  # it falls
    capsys.readouterr()
