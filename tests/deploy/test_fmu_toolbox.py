"""The units under the checks of the FMU manipulation toolbox."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.exports.fmu_units import robots, units

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
