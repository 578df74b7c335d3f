"""The committed C is what the model's source gives today, and plain C99."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from deltadyn.backends.generated import table as generated_table

FOLDER = Path(generated_table.__file__).parent


@pytest.mark.full
def test_generated_files_are_up_to_date() -> None:
    pytest.importorskip("casadi", reason="the generator needs CasADi")
    table = FOLDER / "table.py"
    (made_with,) = re.findall(r"with CasADi ([\d.]+);", table.read_text("utf-8"))
    if version("casadi") != made_with:
        pytest.skip(f"made with CasADi {made_with}, here is {version('casadi')}")
    from tools.generate_kernels import generated_files

    files = generated_files()
    assert sorted(files) == sorted(
        path.name
        for path in FOLDER.iterdir()
        if path.suffix in {".h", ".py"} and path.name != "__init__.py"
    )
    for name, text in files.items():
        assert (FOLDER / name).read_bytes() == text.encode(), (
            f"{name} is not what the model gives: run python -m tools.generate_kernels"
        )


def test_one_digest_in_c_and_python() -> None:
    text = (FOLDER / "table.h").read_text("utf-8")
    assert f'#define DELTADYN_DIGEST "{generated_table.DIGEST}"' in text
    rows, torques = text.split("#define DELTADYN_TORQUE_KERNELS")
    assert re.findall(r"X\((\w+),", rows) == list(generated_table.KERNELS)
    assert set(re.findall(r"X\((\w+),", torques)) < set(generated_table.KERNELS)


def test_generated_functions_are_straight_lines() -> None:
    """No branch, no loop, no call but sqrt and fabs: what vectors and controllers can run."""
    statement = re.compile(
        r"    (const real v\d+ = [^;{}]+;|y\[\d+ \* stride\] = [^;{}]+;|\(void\)\w+;)"
    )
    inside, count = False, 0
    paths = [path for path in FOLDER.glob("*.h") if "table" not in path.name]
    assert len(paths) >= 7
    for path in paths:
        for line in path.read_text("utf-8").splitlines():
            if line in "{}" and line:
                inside = line == "{"
            elif inside:
                assert statement.fullmatch(line), f"{path.name}: {line}"
                calls = set(re.findall(r"(\w+)\(", line))
                assert calls <= {"REAL_SQRT", "REAL_ABS", "void"}, line
                count += 1
    assert count > 1000


@pytest.mark.parametrize("kind", ["double", "float"])
def test_generated_c_compiles_without_a_warning(kind: str, tmp_path: Path) -> None:
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler")
    source = tmp_path / "all.c"
    suffix = "f" if kind == "float" else ""
    names = sorted(path.name for path in FOLDER.glob("*.h"))
    lines = [
        "#include <math.h>",
        "#include <stddef.h>",
        f"typedef {kind} real;",
        f"#define REAL_SQRT(value) sqrt{suffix}(value)",
        f"#define REAL_ABS(value) fabs{suffix}(value)",
        "#define INLINE",
        *(f'#include "{name}"' for name in names),
    ]
    source.write_text("\n".join(lines) + "\n", "utf-8")
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wdouble-promotion"]
    done = subprocess.run(
        [compiler, *flags, f"-I{FOLDER}", "-fsyntax-only", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
