"""The units' C under sanitizers, called in any order with any values; and what they link to."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from tests.exports.fmu_units import fmi2, fmi3, fmpy, made, needs_compiler, robots, units
from tests.waits import PATIENCE

FUZZ = Path(__file__).parent / "fmu_fuzz.c"
SANITIZED = (
    "-std=c99 -O1 -g -Wall -Wextra -Werror -pedantic -fno-omit-frame-pointer "
    "-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all"
)
STRICT = "-std=c99 -O2 -Wall -Wextra -Werror -pedantic -Wshadow -Wmissing-prototypes"
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
ROUNDS = 20_000

pytestmark = needs_compiler


def unpacked(path: Path, folder: Path) -> Path:
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    return folder


def built(*command: str | Path) -> None:
    done = subprocess.run([str(item) for item in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]


@pytest.mark.parametrize("model", ["plant", "inverse"])
@pytest.mark.parametrize(("dof", "fmi"), [(3, "2.0"), (4, "3.0")])
def test_no_call_breaks_a_unit(tmp_path: Path, dof: int, fmi: str, model: str) -> None:
    source = unpacked(made(dof, fmi)[model], tmp_path) / "sources" / f"fmi{fmi[0]}.c"
    program = tmp_path / "fuzz"
    built(
        COMPILERS[0],
        *SANITIZED.split(),
        f"-DVERSION={fmi[0]}",
        "-DMOST_STEPS=50",
        FUZZ,
        source,
        "-o",
        program,
        "-lm",
    )
    description = fmpy.read_model_description(str(tmp_path))
    variables = max(item.valueReference for item in description.modelVariables) + 1
    states = 2 * dof if model == "plant" else 0
    done = subprocess.run(
        [str(program), description.guid, *map(str, (ROUNDS, variables, dof, states))],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    good, discarded, wrong = map(int, done.stdout.split())
    # all three ways were taken often
    assert min(good, discarded, wrong) > ROUNDS / 100


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
def test_sources_compile_without_a_warning(tmp_path: Path, compiler: str, fmi: str) -> None:
    for dof, robot in robots().items():
        for model, path in units(robot, tmp_path / str(dof), fmi=fmi, binary=False).items():
            folder = unpacked(path, tmp_path / f"{dof}{model}") / "sources"
            layer = folder / f"fmi{fmi[0]}.c"
            flags = [*STRICT.split(), f"-DFMI{fmi[0]}_FUNCTION_PREFIX=own_"]
            check = ["-c", "-o", tmp_path / "object.o"] if dof == 4 else ["-fsyntax-only"]
            built(compiler, *flags, layer, *check)


@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm")
@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
def test_a_library_exports_the_standard_and_needs_the_c_library_alone(
    tmp_path: Path, fmi: str
) -> None:
    library = next(unpacked(made(4, fmi)["plant"], tmp_path).glob("binaries/*/*.so"))
    listed = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    given = {row[-1] for row in rows if row[-2] == "T"}
    assert all(name.startswith(f"fmi{fmi[0]}") for name in given)
    own, layer = ("FMU2", fmi2) if fmi == "2.0" else ("FMU3", fmi3)
    classes = (getattr(layer, f"{own}Slave"), getattr(layer, f"{own}Model"))
    assert given >= {
        name for kind in classes for name in dir(kind) if name.startswith(f"fmi{fmi[0]}")
    }
    assert not [row for row in rows if row[-2] in ("B", "D", "b", "d")]  # no variables
    known = "sin cos sincos tanh exp ceil fmax fmin fabs sqrt calloc free memcpy memmove memcmp "
    known += "memset strlen strcmp vsnprintf __stack_chk_fail"
    needed = {row[-1].split("@")[0] for row in rows if row[-2] == "U"}
    assert needed <= set(known.split())
