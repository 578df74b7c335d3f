"""The units' libraries for Windows under Wine, against the package and the library for Linux."""

from __future__ import annotations

import os
import subprocess
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.deploy.programs import program
from tests.exports.fmu_units import axes, fmpy, opened, robots, units
from tests.exports.test_fmu_inverse import motion_of
from tests.waits import PATIENCE

import deltadyn as dd
from deltadyn.arrays import FloatArray

DRIVER = Path(__file__).parent / "fmu_windows.c"
COMPILER = "x86_64-w64-mingw32-gcc"
STEPS, TICK = 20, 1e-3
ROBOTS = robots()


@dataclass(frozen=True)
class Windows:
    """Wine with a driver for each version of the standard, and the units of one robot each."""

    wine: str
    folder: Path
    units: Mapping[str, Mapping[str, Path]]

    def values(
        self,
        fmi: str,
        model: str,
        given: Mapping[str, FloatArray],
        names: Sequence[str],
        steps: int,
    ) -> FloatArray:
        """The named groups of variables after so many steps, by the driver under Wine."""
        unit = fmpy.read_model_description(str(self.units[fmi][model]))
        places = {item.name: item.valueReference for item in unit.modelVariables}
        (dll,) = (self.folder / f"{fmi}{model}").glob("binaries/*/*.dll")
        call = [self.wine, str(self.folder / f"driver{fmi[0]}.exe"), str(dll), unit.guid]
        call += [str(steps), repr(TICK)]
        if fmi == "2.0":
            scalars = {key: x for name, row in given.items() for key, x in axes(name, row).items()}
            call += [f"{places[name]}={value!r}" for name, value in scalars.items()]
            dof = len(next(iter(given.values())))
            wanted = [f"{name}[{i + 1}]" for name in names for i in range(dof)]
            call += ["get", *(str(places[name]) for name in wanted)]
        else:
            rows = {name: ",".join(map(repr, row.tolist())) for name, row in given.items()}
            call += [f"{places[name]}={row}" for name, row in rows.items()]
            sizes = {item.name: item.shape for item in unit.modelVariables}
            call += ["get", *(f"{places[name]}:{sizes[name][0]}" for name in names)]
        done = subprocess.run(
            call, env=environment(self.folder), capture_output=True, text=True, timeout=PATIENCE
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return np.array([float(line) for line in done.stdout.split()])


def environment(folder: Path) -> dict[str, str]:
    """A prefix of Wine of its own; no debugger, no browser, no fonts."""
    own = {"WINEPREFIX": str(folder / "wine"), "WINEDEBUG": "-all"}
    return os.environ | own | {"WINEDLLOVERRIDES": "mscoree,mshtml="}


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Windows:
    compiler, wine = program(COMPILER), program("wine64", "wine")
    folder = tmp_path_factory.mktemp("windows")
    made = {}
    for dof, fmi in ((3, "2.0"), (4, "3.0")):
        made[fmi] = units(ROBOTS[dof], folder / fmi, fmi=fmi, windows=True)
        for model, path in made[fmi].items():
            with zipfile.ZipFile(path) as archive:
                archive.extractall(folder / f"{fmi}{model}")
        driver = folder / f"driver{fmi[0]}.exe"
        flags = ["-std=gnu99", "-Wall", "-Wextra", "-Werror", f"-DVERSION={fmi[0]}"]
        subprocess.run([compiler, *flags, str(DRIVER), "-o", str(driver)], check=True)
    return Windows(wine, folder, made)


@pytest.mark.parametrize(("dof", "fmi"), [(3, "2.0"), (4, "3.0")])
def test_torques_of_the_library_are_those_of_the_package(
    windows: Windows, dof: int, fmi: str
) -> None:
    motion = motion_of(ROBOTS[dof])
    tau = dd.inverse_dynamics(ROBOTS[dof], motion)
    for k in (7, 31):
        given = {f"{name}_ref": getattr(motion, name)[k] for name in ("p", "pd", "pdd")}
        found = windows.values(fmi, "inverse", given, ["tau"], 1)
        # another C library's cosines: rounding
        np.testing.assert_allclose(found, tau[k], rtol=0, atol=1e-12 * np.abs(tau).max())


@pytest.mark.parametrize(("dof", "fmi"), [(3, "2.0"), (4, "3.0")])
def test_the_plant_moves_as_its_library_for_linux(windows: Windows, dof: int, fmi: str) -> None:
    torques = np.array([12.0, 8.0, 10.0, 0.3])[:dof]
    found = windows.values(fmi, "plant", {"tau": torques}, ["q", "qd"], STEPS)
    with opened(windows.units[fmi]["plant"]) as unit:
        unit.begin(**axes("tau", torques))
        for k in range(STEPS):
            unit.step(k * TICK, TICK)
        expected = np.concatenate([unit.row("q", dof), unit.row("qd", dof)])
    assert np.abs(expected[dof:]).max() > 0.1  # it moved
    # rounding of another C library's functions, grown along 20 ms
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_a_library_needs_windows_alone(windows: Windows) -> None:
    lister = program("x86_64-w64-mingw32-objdump")
    for dll in windows.folder.glob("*/binaries/*/*.dll"):
        shown = subprocess.run([lister, "-p", str(dll)], capture_output=True, text=True, check=True)
        lines = [line.split() for line in shown.stdout.splitlines()]
        needed = {row[-1].lower() for row in lines if row[:2] == ["DLL", "Name:"]}
        assert needed == {"kernel32.dll", "msvcrt.dll"}


def test_equal_sources_give_equal_bytes(windows: Windows, tmp_path: Path) -> None:
    again = units(ROBOTS[3], tmp_path, fmi="2.0", windows=True)
    for model, path in windows.units["2.0"].items():
        assert path.read_bytes() == again[model].read_bytes()
