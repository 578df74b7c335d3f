"""The peers' compiled programs: how they are built, and how they race against ours.

A peer's headers are found beside its Python package, its program is compiled once and kept in the
user's cache. It gets our states, its torques are compared first, then it runs by turns with ours.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Self

import numpy as np

from benchmarks.cases import Case
from benchmarks.machine import processor, timed
from benchmarks.peers.tree import Tree
from deltadyn.arrays import FloatArray
from deltadyn.errors import DeltadynError
from deltadyn.kinematics.actuation import parts_of

HERE = Path(__file__).resolve().parent
SHARED = ("closure.h", "race.h")
OPTIMISED = ("-O3", "-march=native", "-DNDEBUG")  # a peer's best case; ours is the shipped build
TIME_LIMIT = 600.0  # s for one compilation
CACHE = "XDG_CACHE_HOME"
OWN_PASSES = 20  # of ours in a round; the peer has its many blocks
SAME = 1e-9  # of the largest torque: below it the peer has done the same work

#: What moves the limbs and what they carry: of each pair a program of its own.
LIMBS = {"rotary": (), "inclined": ("-DLIMBS=INCLINED",), "rail": ("-DLIMBS=RAILS",)}
PLATFORMS = {
    "": (),
    "planar": ("-DPLATFORM=PLANE",),
    "articulated": ("-DPLATFORM=ARTICULATED",),
    "helical": ("-DPLATFORM=HELICAL",),
}

Tell = Callable[[str], None]
Way = Literal["whole", "open"]


class PeerMissingError(DeltadynError):
    """A peer that cannot be measured here; `peer` is its name, `reason` a sentence."""

    def __init__(self, peer: str, reason: str) -> None:
        self.peer = peer
        self.reason = reason
        super().__init__(f"{peer} cannot be measured: {reason}")


class DifferentTorqueError(DeltadynError):
    """A peer whose torques are not ours: its time says nothing."""

    def __init__(self, peer: str, way: str, difference: float) -> None:
        self.peer, self.way, self.difference = peer, way, difference
        super().__init__(
            f"{peer}'s torques ({way}) differ from ours by {difference:.1e} of the largest; "
            f"allowed: {SAME:.0e}; its time is not believed"
        )


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

    def as_dict(self) -> dict[str, Any]:
        """What a figure of it depends on, for JSON."""
        return {
            "peer": self.peer,
            "language": self.language,
            "compiler": self.compiler,
            "flags": list(self.flags),
        }


def mujoco_recipe(kind: str = "rotary") -> Recipe:
    """MuJoCo as its wheel ships it: headers and one shared library."""
    folder = _package("mujoco", "MuJoCo")
    if not (folder / "include" / "mujoco" / "mujoco.h").is_file():
        raise PeerMissingError("MuJoCo", "its wheel holds no include/mujoco/mujoco.h")
    libraries = sorted([*folder.glob("libmujoco*.so*"), *folder.glob("libmujoco*.dylib")])
    if not libraries:
        raise PeerMissingError("MuJoCo", "its wheel holds no libmujoco")
    found = (f"-I{folder / 'include'}", str(libraries[0]), f"-Wl,-rpath,{folder}", "-lm")
    return Recipe("MuJoCo", "C", "gcc", "mujoco_race.c", ("-std=c99", *_macros(kind), *found))


def pinocchio_recipe(kind: str = "rotary") -> Recipe:
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
    words = ("-std=c++17", "-w", *_macros(kind), *found)
    return Recipe("Pinocchio", "C++", "g++", "pinocchio_race.cpp", words)


def _macros(kind: str) -> tuple[str, ...]:
    arm, platform = parts_of(kind)
    return *LIMBS[arm], *PLATFORMS[platform]


RECIPES: dict[str, Callable[..., Recipe]] = {
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


@dataclass(frozen=True)
class Times:
    """Seconds per sample in one interleaved run, the best of several rounds."""

    own: float
    whole: float
    open: float
    difference: float  # of the torques, relative to the largest


class Race:
    """A peer's program with the states loaded; use it as a context."""

    def __init__(self, program: Program, case: Case) -> None:
        self.program, self.case = program, case
        self._folder = tempfile.TemporaryDirectory(prefix="deltadyn-race-")
        folder, tree = Path(self._folder.name), Tree.of(case.robot)
        numbers, model = folder / "numbers", folder / "model.xml"
        self._torques = folder / "torques"
        tree.numbers(case.state).tofile(numbers)
        words = [str(program.path), str(numbers), str(self._torques)]
        if program.peer == "MuJoCo":
            model.write_text(tree.mjcf(), "utf-8")
            words.append(str(model))
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,  # where MuJoCo leaves its log
        )
        if self._answer() != "ready":
            said = _pipe(self._process.stderr).read().strip()
            self.__exit__(None, None, None)
            raise PeerMissingError(program.peer, f"its program failed: {said}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _pipe(self._process.stdin).close()
        self._process.wait(60)
        for pipe in (self._process.stdout, self._process.stderr):
            _pipe(pipe).close()
        self._folder.cleanup()

    def torques(self) -> dict[Way, FloatArray]:
        """The peer's torques (N, dof) by both ways, in N m."""
        whole, open_tree = np.fromfile(self._torques).reshape(2, -1, self.case.robot.dof)
        return {"whole": whole, "open": open_tree}

    def difference(self) -> float:
        """The largest difference from our torques, relative to the largest; refused above SAME."""
        ours = self.case.torque()
        worst = 0.0
        for way, theirs in self.torques().items():
            found = float(np.abs(theirs - ours).max() / np.abs(ours).max())
            if not found <= SAME:
                raise DifferentTorqueError(self.program.peer, way, found)
            worst = max(worst, found)
        return worst

    def seconds(self, way: Way) -> float:
        """Seconds per sample in the fastest block of one pass over all samples."""
        pipe = _pipe(self._process.stdin)
        pipe.write(f"{way}\n")
        pipe.flush()
        answer = self._answer()
        if not answer:
            raise PeerMissingError(self.program.peer, "its program stopped before the end")
        return float(answer)

    def run(self, own: Callable[[], object], rounds: int) -> Times:
        """Our function and the peer by turns, after the comparison of the torques."""
        difference = self.difference()
        ours, whole, open_tree = [], [], []
        for _ in range(rounds):
            ours += [timed(own) for _ in range(OWN_PASSES)]
            whole.append(self.seconds("whole"))
            open_tree.append(self.seconds("open"))
        return Times(min(ours) / len(self.case.p), min(whole), min(open_tree), difference)

    def _answer(self) -> str:
        return str(_pipe(self._process.stdout).readline()).strip()


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


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None  # all three are pipes
    return pipe
