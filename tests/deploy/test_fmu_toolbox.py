"""The units under the checks of the FMU manipulation toolbox, and of fmuCheck where it is."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.deploy.programs import program
from tests.exports.fmu_units import needs_compiler, robots, units

pytest.importorskip("fmu_manipulation_toolbox")


def checked(path: Path) -> subprocess.CompletedProcess[str]:
    """Its checks of schema and semantics; the exit status is 0 where there is no error."""
    code = "from fmu_manipulation_toolbox.cli.fmutool import fmutool; fmutool()"
    call = [sys.executable, "-c", code, "-input", str(path), "-check"]
    return subprocess.run(call, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
@pytest.mark.parametrize("dof", [3, 4])
def test_units_pass_the_toolbox_s_checks(tmp_path: Path, dof: int, fmi: str) -> None:
    for path in units(robots()[dof], tmp_path, fmi=fmi, binary=False).values():
        done = checked(path)
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        assert f"compliant with FMI-{fmi}" in said
        assert f"No semantic error against the FMI-{fmi[0]} standard" in said


def test_a_damaged_unit_does_not_pass(tmp_path: Path) -> None:
    path = units(robots()[3], tmp_path, binary=False)["plant"]
    damaged = tmp_path / "damaged.fmu"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(damaged, "w") as target:
        for name in source.namelist():
            text = source.read(name)
            if name == "modelDescription.xml":
                text = text.replace(b'<Unknown index="', b'<Unknown index="9', 1)
            target.writestr(name, text)
    assert checked(damaged).returncode != 0


@needs_compiler
@pytest.mark.parametrize("dof", [3, 4])
def test_fmucheck_finds_nothing_in_exchange_and_cosimulation(tmp_path: Path, dof: int) -> None:
    checker = program("fmuCheck.linux64", "fmuCheck")  # of FMI 2.0 alone; nothing installs it
    for path in units(robots()[dof], tmp_path, fmi="2.0").values():
        call = [checker, "-h", "1e-3", "-s", "0.02", "-o", str(tmp_path / "out.csv"), str(path)]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        assert said.count("Simulation finished successfully at time 0.02") == 2
        assert "0 warning(s) and error(s)" in said
        assert "0 Warning(s)" in said
        assert "0 Error(s)" in said
