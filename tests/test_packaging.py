"""How the package is built and delivered: setup.py by compiler, recipes against pyproject.toml."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "deltadyn" / "backends" / "source"


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@pytest.fixture
def setup(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of setup.py, and under "given" what it hands to setuptools."""
    setuptools = pytest.importorskip("setuptools")
    given: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, "setup", lambda **options: given.update(options))
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"__name__": "setup"}
    exec(compile((ROOT / "setup.py").read_text("utf-8"), "setup.py", "exec"), names)
    return {**names, "given": given}


class Compiler:
    """A compiler that keeps what it is asked, and refuses some words."""

    def __init__(self, kind: str, refused: tuple[str, ...] = ()) -> None:
        self.compiler_type = kind
        self.refused = refused
        self.calls: dict[str, list[str]] = {}

    def compile(self, sources: list[str], **options: Any) -> list[str]:
        (source,) = sources
        words = options.get("extra_postargs") or []
        if set(words) & set(self.refused):
            raise import_module("setuptools.errors").CompileError(f"unknown argument: {words}")
        self.calls[Path(source).stem] = words
        return [f"{source}.o"]


def build(
    setup: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    compiler: Compiler,
    inplace: bool = False,
) -> SimpleNamespace:
    """What `build_extension` of setup.py asks of a compiler; setuptools' own part is left out."""
    (extension,) = setup["given"]["ext_modules"]
    base = setup["BuildTogether"].__mro__[1]

    def compile_all(self: Any, ext: Any) -> None:
        self.objects = self.compiler.compile(ext.sources, extra_postargs=[])

    monkeypatch.setattr(base, "build_extension", compile_all)
    space = setup["BuildTogether"].build_extension.__globals__
    monkeypatch.setitem(space, "write_traced_headers", lambda folder: "digest")
    builder = object.__new__(setup["BuildTogether"])
    builder.__dict__.update(compiler=compiler, build_temp="temp", force=False)
    builder.__dict__.update(stays=inplace, libraries_there=["no such library"])
    monkeypatch.setattr(base, "get_ext_fullpath", lambda *_: "no such library")
    builder.build_extension(extension)
    return SimpleNamespace(extension=extension, objects=builder.objects, calls=compiler.calls)


def test_microsofts_compiler_gets_its_own_words(
    setup: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = build(setup, monkeypatch, Compiler("msvc"))
    assert set(found.calls) == {path.stem for path in SOURCES.glob("*.c")}
    assert found.extension.libraries == []
    assert found.extension.include_dirs == [str(ROOT / "temp" / "kernels")]
    for words in found.calls.values():
        assert {"/O2", "/fp:precise", "/std:c11"} <= set(words)
        assert not [word for word in words if word.startswith("-")]


def test_clang_is_spared_what_it_does_not_know(
    setup: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = "-fvect-cost-model=dynamic"
    gcc = build(setup, monkeypatch, Compiler("unix"))
    clang = build(setup, monkeypatch, Compiler("unix", (refused,)))
    assert gcc.extension.libraries == clang.extension.libraries == ["m"]
    for name in ("_platforms", "_text"):
        assert [word for word in gcc.calls[name] if word != refused] == clang.calls[name]
        assert refused in gcc.calls[name]
    assert "-O3" in gcc.calls["_kernels"]
    assert "-ffp-contract=off" in clang.calls["_kernels"]
    order = [Path(name).name.removesuffix(".o") for name in gcc.objects]
    assert order == sorted(path.name for path in SOURCES.glob("*.c"))


def test_an_installation_that_stays_is_compiled_for_its_processor(
    setup: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = setup["words_of_processor"]
    new = "avx2 bmi1 bmi2 fma movbe avx512f avx512bw avx512cd avx512dq avx512vl"
    assert words(f"model name: x\nflags : fpu {new}\n")[0] == "-march=x86-64-v4"
    assert words("flags : avx2 bmi1 bmi2 fma movbe\nbugs : avx512f")[0] == "-march=x86-64-v3"
    assert words("flags : sse2") == words("Features : asimd") == ()
    space = setup["BuildTogether"].build_extension.__globals__
    monkeypatch.setitem(space, "words_of_processor", lambda _: ("-march=x86-64-v3",))
    for inplace in (True, False):
        found = build(setup, monkeypatch, Compiler("unix"), inplace)
        assert ("-march=x86-64-v3" in found.calls["_kernels"]) is inplace
    refused = build(setup, monkeypatch, Compiler("unix", ("-march=x86-64-v3",)), True)
    assert "-march=x86-64-v3" not in refused.calls["_kernels"]


def test_the_build_traces_the_formulas_and_compiles_other_ones_alone(
    setup: dict[str, Any], tmp_path: Path
) -> None:
    headers = tmp_path / "traced"
    digest = setup["write_traced_headers"](str(headers))
    names = {path.name for path in headers.glob("*.h")}
    assert {f"{name}.h" for name in ("table", "delta", "actuations", "platforms")} < names
    assert f'"{digest}"' in (headers / "digest.h").read_text("utf-8")

    library, source = tmp_path / "kernels.so", tmp_path / "written.c"
    assert not setup["is_built"](str(library), digest, [])
    source.write_text("int x;")
    library.write_bytes(b"\0" + digest.encode() + b"\0")
    os.utime(source, (1, 1))
    assert setup["is_built"](str(library), digest, [str(source)])
    assert not setup["is_built"](str(library), "0" * 16, [str(source)])
    os.utime(library, (0, 0))
    assert not setup["is_built"](str(library), digest, [str(source)])


def test_the_trace_does_not_depend_on_the_start_of_python(
    setup: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip's own start-up of a build drops the sources that are installed already as editable."""
    text = "import sys\nsys.path[:] = [path for path in sys.path if not path.endswith('src')]\n"
    (tmp_path / "sitecustomize.py").write_text(text, "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    digest = setup["write_traced_headers"](str(tmp_path / "traced"))
    assert f'"{digest}"' in (tmp_path / "traced" / "digest.h").read_text("utf-8")


def test_every_source_keeps_to_the_stable_interface(setup: dict[str, Any]) -> None:
    """The word comes before Python's header; with it, Windows links python3.dll."""
    version = project()["project"]["requires-python"].removeprefix(">=").split(".")
    word = f"#define Py_LIMITED_API 0x{int(version[0]):02X}{int(version[1]):02X}0000"
    using = [path for path in SOURCES.glob("*.c") if "<Python.h>" in path.read_text("utf-8")]
    assert using
    for path in using:
        assert word in path.read_text("utf-8").partition("<Python.h>")[0], path.name
    options = setup["given"]["options"]["bdist_wheel"]
    assert options == {"py_limited_api": "cp" + "".join(version)}


def test_versions_are_the_same_everywhere() -> None:
    import deltadyn

    version = project()["project"]["version"]
    assert deltadyn.__version__ == version
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"] == version
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8"))
    assert recipe["context"]["version"] == version


def test_the_conda_recipe_has_the_needs_of_the_package() -> None:
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8"))
    table = project()["project"]

    def needs(texts: list[str]) -> dict[str, str]:
        return {item.name: str(item.specifier) for item in map(Requirement, texts)}

    run = needs(recipe["requirements"]["run"])
    assert run.pop("python") == table["requires-python"]
    assert run == needs(table["dependencies"])
    host = needs([text for text in recipe["requirements"]["host"] if "abi3" not in text])
    assert needs(project()["build-system"]["requires"]).items() <= host.items()
    for name in ("numpy", "pyyaml"):  # what traces the kernels
        assert host[name] == run[name]
    (entry,) = recipe["build"]["python"]["entry_points"]
    assert entry == f"deltadyn = {table['scripts']['deltadyn']}"
    files = [name for test in recipe["tests"] for name in test.get("files", {}).get("source", [])]
    assert files
    assert all((ROOT / name).is_file() for name in files)


def test_the_workflow_builds_by_the_configuration_here() -> None:
    text = (ROOT / ".github" / "workflows" / "wheels.yml").read_text("utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    systems = {row["os"].split("-")[0] for row in jobs["wheel"]["strategy"]["matrix"]["include"]}
    assert systems == {"ubuntu", "macos", "windows"}
    assert any("cibuildwheel" in step.get("run", "") for step in jobs["wheel"]["steps"])
    settings = project()["tool"]["cibuildwheel"]
    first = settings["build"][0]
    assert (
        first
        == f"cp{project()['project']['requires-python'].removeprefix('>=').replace('.', '')}-*"
    )
    script = settings["test-command"].split()[1].replace("{project}", str(ROOT))
    assert Path(script).is_file()
    for step in jobs["sdist"]["steps"]:
        for path in re.findall(r"tests/\S+", step.get("run", "")):
            assert (ROOT / path).exists(), path


def test_the_image_gets_what_the_wheel_is_built_from() -> None:
    """Files that the build reads pass .dockerignore; others, such as an environment, do not."""
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]

    def passes(name: str) -> bool:
        kept = True
        for rule in rules:
            pattern = rule.removeprefix("!").removeprefix("**/")
            parts = [name, *(str(parent) for parent in Path(name).parents), Path(name).name]
            if any(fnmatch(part, pattern) for part in parts if part != "."):
                kept = rule.startswith("!")
        return kept

    table = project()["project"]
    for name in (
        *("pyproject.toml", "setup.py", "MANIFEST.in", table["readme"], *table["license-files"]),
        *(
            "src/deltadyn/backends/source/_text.c",
            "src/deltadyn/robot/catalogue/sipro-d3-1200.yaml",
        ),
    ):
        assert (ROOT / name).is_file()
        assert passes(name), name
    for name in (".venv/bin/python", ".git/config", "tests/conftest.py", "demo/report.html"):
        assert not passes(name), name
    assert not passes("src/deltadyn/backends/_kernels.abi3.so")
    text = (ROOT / "Dockerfile").read_text("utf-8")
    base = re.search(r"^FROM python:(\d+)\.(\d+)-slim$", text, re.MULTILINE)
    assert base is not None
    assert (int(base[1]), int(base[2])) >= (3, 11)


def test_the_archive_of_sources_names_every_folder() -> None:
    """`tests/deploy/test_wheel.py` builds it and compares all files."""
    done = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip("the sources are not in a git checkout")
    lines = (ROOT / "MANIFEST.in").read_text("utf-8").splitlines()
    named = {word for line in lines for word in line.split()[1:]}
    standard = {"pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in"}
    missing = {name.partition("/")[0] for name in done.stdout.splitlines()} - named - standard
    assert missing == set()
