"""Finds the peers' headers, compiles their programs and keeps the result in the user's cache."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from deltadyn.errors import DeltadynError

HERE = Path(__file__).resolve().parent
SHARED = ("closure.h", "race.h")
OPTIMISED = ("-O3", "-march=native", "-DNDEBUG")  # a peer's best case; ours is the shipped build
TIME_LIMIT = 600.0  # s for one compilation
CACHE = "XDG_CACHE_HOME"

Tell = Callable[[str], None]


class PeerMissingError(DeltadynError):
    """A peer that cannot be measured here; `peer` is its name, `reason` a sentence."""

    def __init__(self, peer: str, reason: str) -> None:
        self.peer = peer
        self.reason = reason
        super().__init__(f"{peer} cannot be measured: {reason}")


@dataclass(frozen=True)
class Recipe:
    """How a peer's program is compiled."""

    peer: str
    language: str
    compiler: str
    source: str
    arguments: tuple[str, ...]  # headers and libraries


@dataclass(frozen=True)
class Program:
    """A compiled peer."""

    peer: str
    language: str
    path: Path
    compiler: str  # its own words
    flags: tuple[str, ...]


def mujoco_recipe() -> Recipe:
    """MuJoCo as its wheel ships it: headers and one shared library."""
    folder = _package("mujoco", "MuJoCo")
    if not (folder / "include" / "mujoco" / "mujoco.h").is_file():
        raise PeerMissingError("MuJoCo", "its wheel holds no include/mujoco/mujoco.h")
    libraries = sorted([*folder.glob("libmujoco*.so*"), *folder.glob("libmujoco*.dylib")])
    if not libraries:
        raise PeerMissingError("MuJoCo", "its wheel holds no libmujoco")
    found = (f"-I{folder / 'include'}", str(libraries[0]), f"-Wl,-rpath,{folder}", "-lm")
    return Recipe("MuJoCo", "C", "gcc", "mujoco_race.c", ("-std=c99", *found))


def pinocchio_recipe() -> Recipe:
    """Pinocchio by its headers alone, so that all of it is compiled for this processor."""
    folder = _package("pinocchio", "Pinocchio")
    roots = [parent / "include" for parent in folder.parents]
    roots += [parent / "cmeel.prefix" / "include" for parent in folder.parents]
    headers = _first(roots, "pinocchio/algorithm/rnea.hpp")
    if headers is None:
        raise PeerMissingError("Pinocchio", "there is no pinocchio/algorithm/rnea.hpp beside it")
    places = [headers, headers / "eigen3", *_system_headers("eigen3")]
    casadi = find_spec("casadi")
    if casadi is not None and casadi.origin is not None:  # its wheel ships Eigen's headers
        places.append(Path(casadi.origin).parent / "include" / "eigen3")
    eigen = _first(places, "Eigen/Core")
    if eigen is None:
        raise PeerMissingError("Pinocchio", "there are no headers of Eigen (Eigen/Core)")
    if _first([headers, *_system_headers("")], "boost/variant.hpp") is None:
        raise PeerMissingError("Pinocchio", "there are no headers of Boost (boost/variant.hpp)")
    found = ("-isystem", str(headers), "-isystem", str(eigen))
    return Recipe("Pinocchio", "C++", "g++", "pinocchio_race.cpp", ("-std=c++17", "-w", *found))


RECIPES: dict[str, Callable[[], Recipe]] = {
    "MuJoCo": mujoco_recipe,
    "Pinocchio": pinocchio_recipe,
}


def build(recipe: Recipe, folder: Path | None = None, tell: Tell = lambda text: None) -> Program:
    """Compile a peer into `folder`, or take it from there where nothing has changed.

    The default folder is the user's cache, or a temporary one where that cannot be written.
    """
    compiler = shutil.which(recipe.compiler)
    if compiler is None:
        raise PeerMissingError(recipe.peer, f"there is no {recipe.compiler} to compile it")
    version = _output([compiler, "--version"], recipe.peer).splitlines()[0]
    place = _cache() if folder is None else folder
    program = place / f"{recipe.source.partition('.')[0]}-{_digest(recipe, version)}"
    flags = (*OPTIMISED, *[word for word in recipe.arguments if word.startswith("-std")])
    if not program.is_file():
        tell(f"compiling {recipe.peer}'s {recipe.language} program (once)")
        place.mkdir(parents=True, exist_ok=True)
        half = place / f"{program.name}.{os.getpid()}"  # others may build the same just now
        source = str(HERE / recipe.source)
        # the source comes before the libraries that it needs
        _output([compiler, *OPTIMISED, "-o", str(half), source, *recipe.arguments], recipe.peer)
        half.replace(program)
    return Program(recipe.peer, recipe.language, program, version, flags)


def _output(command: Sequence[str], peer: str) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIME_LIMIT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerMissingError(peer, f"{Path(command[0]).name} did not run: {error}") from None
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        said = (errors or done.stderr.splitlines() or ["without a word"])[0]
        raise PeerMissingError(peer, f"{Path(command[0]).name} failed: {said.strip()[:200]}")
    return done.stdout


def _digest(recipe: Recipe, version: str) -> str:
    """Of all that the program depends on: sources, flags, compiler, peer's files, processor."""
    made = hashlib.sha256()
    for name in (recipe.source, *SHARED):
        made.update((HERE / name).read_bytes())
    words = [*OPTIMISED, *recipe.arguments, version, processor()]
    for word in recipe.arguments:
        path = Path(word.removeprefix("-I"))
        words += [str(path.stat().st_mtime_ns)] if path.exists() else []
    made.update("\n".join(words).encode())
    return made.hexdigest()[:16]


def processor() -> str:
    """The processor's name, as the system gives it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _cache() -> Path:
    base = os.environ.get(CACHE) or str(Path.home() / ".cache")
    folder = Path(base) / "deltadyn" / "bench"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return Path(tempfile.mkdtemp(prefix="deltadyn-bench-"))


def _package(name: str, peer: str) -> Path:
    """The folder of an installed package, without an import of it."""
    found = find_spec(name)
    if found is None or found.origin is None:
        raise PeerMissingError(peer, f"the Python package {name} is not installed")
    return Path(found.origin).resolve().parent


def _first(folders: Sequence[Path], inside: str) -> Path | None:
    return next((folder for folder in folders if (folder / inside).is_file()), None)


def _system_headers(below: str) -> list[Path]:
    return [Path(base) / below for base in ("/usr/include", "/usr/local/include")]
