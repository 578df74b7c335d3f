"""The C of every kernel is what its source gives on NumPy, bit for bit, and plain C99."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tests.kernels.comparison import needs_kernels
from tests.kernels.states import SAMPLES, columns_of

from deltadyn.arrays import FloatArray
from deltadyn.backends import loader, stale
from deltadyn.backends.kernel_models.headers import MANY_ROBOTS, headers, write_headers
from deltadyn.backends.kernel_models.kernels import (
    inner_models,
    kernel_function,
    kernels,
    models_by_name,
    split,
    widths_of,
)
from deltadyn.backends.kernel_models.motion import Model, Namespace

MODELS = models_by_name()
LOOP = """
void run_{0}(const real *par, const real *restrict x, real *restrict y, size_t n)
{{
    for (size_t k = 0; k < n; k++)
        deltadyn_{0}(par, {1}x + k, y + k, n);
}}
"""
HEAD = """
#include <math.h>
#include <stddef.h>
typedef {kind} real;
#define REAL_SQRT(value) sqrt{suffix}(value)
#define REAL_ABS(value) fabs{suffix}(value)
#define INLINE static inline
"""


def compiler() -> str:
    found = shutil.which("gcc") or shutil.which("clang")
    if found is None:
        pytest.skip("there is no C compiler")
    return found


def text_of_all(files: dict[str, str], kind: str = "double") -> str:
    suffix = "f" if kind == "float" else ""
    head = HEAD.format(kind=kind, suffix=suffix)
    return head + "".join(text for name, text in files.items() if name != "table.h")


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return headers()


@pytest.fixture(scope="module")
def library(files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """All kernels with a loop over columns around each; no product is contracted with a sum."""
    folder = tmp_path_factory.mktemp("traced")
    loops = (
        LOOP.format(name, "1, " if model.many_robots else "") for name, model in MODELS.items()
    )
    (folder / "all.c").write_text(text_of_all(files) + "".join(loops), "utf-8")
    flags = ["-std=c99", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
    words = [compiler(), *flags, str(folder / "all.c"), "-o", str(folder / "all.so"), "-lm"]
    subprocess.run(words, check=True)
    return ctypes.CDLL(str(folder / "all.so"))


def by_numpy(model: Model, par: FloatArray, x: FloatArray) -> FloatArray:
    """The source of a kernel, run on NumPy's arrays."""
    with np.errstate(all="ignore"):
        out = model.trace(tuple(par), split(x, widths_of(model)))
    whole = np.empty((len(out), SAMPLES))
    for row, value in zip(whole, out, strict=True):
        row[:] = value
    return whole


@pytest.fixture
def on_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sqrt", "abs", "where"):
        monkeypatch.setattr(Namespace, name, staticmethod(getattr(np, name)))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.usefixtures("on_numpy")
def test_the_c_is_the_source_on_numpy_bit_for_bit(name: str, library: ctypes.CDLL) -> None:
    model = MODELS[name]
    par, x = columns_of(model)
    expected = by_numpy(model, par, x)
    assert np.isfinite(expected).all()
    found = np.full(expected.shape, np.nan)
    arrays = (array.ctypes.data_as(ctypes.c_void_p) for array in (par, x, found))
    getattr(library, f"run_{name}")(*arrays, ctypes.c_size_t(SAMPLES))
    np.testing.assert_array_equal(found, expected)


def test_no_divisor_divides_twice() -> None:
    """A division costs as much as ten products: the source says 1 / b where b divides again."""
    for name in MODELS:
        entries = kernel_function(name).entries
        divisors = Counter(entry[2] for entry in entries if entry[0] == "/")
        assert max(divisors.values(), default=0) <= 1, name


def test_functions_are_straight_lines(files: dict[str, str]) -> None:
    """No branch, no loop, no call but sqrt and fabs: what vectors and controllers can run."""
    statement = re.compile(
        r"    (const real v\d+ = [^;{}]+;|y\[\d+ \* stride\] = [^;{}]+;|\(void\)\w+;)"
    )
    inside, count = False, 0
    for name, text in files.items():
        for line in text.splitlines():
            if line in "{}" and line:
                inside = line == "{"
            elif inside:
                assert statement.fullmatch(line), f"{name}: {line}"
                calls = set(re.findall(r"(\w+)\(", line))
                assert calls <= {"REAL_SQRT", "REAL_ABS", "void"}, line
                count += 1
    assert count > 10_000


@pytest.mark.parametrize("kind", ["double", "float"])
def test_the_c_compiles_without_a_warning(kind: str, files: dict[str, str], tmp_path: Path) -> None:
    source = tmp_path / "all.c"
    text = text_of_all(files, kind).replace("#define INLINE static inline", "#define INLINE")
    source.write_text(text + files["table.h"], "utf-8")
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wdouble-promotion"]
    done = subprocess.run(
        [compiler(), *flags, "-fsyntax-only", str(source)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_plants_numbers_have_a_step(files: dict[str, str]) -> None:
    assert MANY_ROBOTS == {"par": "step", "x": "stride", "y": "stride"}
    (line,) = re.findall(r"deltadyn_plant_3\(\n(.*)\)", files["mechanism.h"])
    assert line == "    const real *par, size_t step, const real *x, real *y, size_t stride"
    assert "par[0 * step]" in files["mechanism.h"]


@needs_kernels
def test_the_extension_has_the_kernels_in_their_order() -> None:
    names = [model.name for part in kernels().values() for model in part]
    assert loader._module().KERNELS.split() == names
    assert not {model.name for part in inner_models().values() for model in part} & set(names)


# Kernels of other formulas.


def module_of(folder: Path) -> ModuleType:
    """What the extension says of itself after a build from the sources as they are."""
    write_headers(folder)
    text = (folder / "digest.h").read_text("utf-8")
    module = ModuleType("kernels")
    module.DIGEST, module.TEXTS = re.findall(r'DELTADYN_(?:DIGEST|TEXTS) "(\w+)"', text)  # type: ignore[attr-defined]
    module.SOURCES = "\n".join(re.findall(r'"(\S+)\\n"', text))  # type: ignore[attr-defined]
    return module


def test_kernels_of_other_formulas_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = module_of(tmp_path)
    for name in ("dynamics/exact.py", "backends/layout.py", "robot/settings.py", "tape/tape.py"):
        assert name in module.SOURCES.split()
    asked: list[str] = []
    given: list[str] = [module.DIGEST, "0" * 16, ""]

    def formulas() -> str:
        asked.append("once")
        return given[len(asked) - 1]

    monkeypatch.setattr(stale, "REMEMBERED", tmp_path / "cache" / "kernels.compared")
    monkeypatch.setattr(stale, "_digest_of_formulas", formulas)
    assert not stale.is_stale(module)
    assert not asked  # the texts are the same: nothing is traced

    for texts, expected in (("of another comment", False), ("other formulas", True), ("-", True)):
        monkeypatch.setattr(stale, "digest_of_texts", lambda _, texts=texts: texts)
        before = len(asked)
        assert stale.is_stale(module) is expected
        assert stale.is_stale(module) is expected
        assert len(asked) == before + 1  # the second answer is remembered
    monkeypatch.setattr(stale, "digest_of_texts", lambda _: "")
    assert not stale.is_stale(module)  # a program without source texts
    del module.SOURCES
    assert stale.is_stale(module)  # a build of an older package


def test_a_trace_tells_the_digest_of_the_formulas(tmp_path: Path) -> None:
    assert stale._digest_of_formulas() == module_of(tmp_path).DIGEST
