"""Exported robots, compiled: libraries that the tests load, and programs that they run."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import full_friction, make_robot, rich_drives

from deltadyn.arrays import FloatArray
from deltadyn.exports.c import Options, files
from deltadyn.payload.estimator import PayloadEstimator
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot
from deltadyn.robot.settings import Controller

COMPILERS = ("gcc", "clang")
PRECISIONS = ("double", "float")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
HERE = Path(__file__).resolve().parent
KINDS = (
    "inverse_kinematics",
    "forward_kinematics",
    "joint_rates",
    "platform_rates",
    "feedforward",
    "feedforward_joints",
    "gravity_torque",
    "mass_matrix",
    "forward_dynamics",
)


def _full(dof: int, smoothing: float | None) -> Robot:
    """Unequal limbs, a rotor, a payload off its axis, all friction of drives, own signs."""
    return make_robot(
        dof,
        False,
        name=f"full {dof}",
        friction=full_friction(dof, passive=(), smoothing=smoothing),
        controller=Controller((-1.0, 1.0, -1.0, -1.0)[:dof], (0.3, -0.2, 1.1, 0.7)[:dof]),
    )


def _rubbing(dof: int, smoothing: float | None) -> Robot:
    """The same with friction in all passive joints."""
    robot = _full(dof, smoothing)
    return robot.replace(friction=full_friction(dof, smoothing=smoothing), name=f"rubbing {dof}")


def _rich(dof: int) -> Robot:
    """Friction of all kinds, ripple, drives in a scale of their own and their loss."""
    return rich_drives(_rubbing(dof, 0.05)).replace(name=f"rich {dof}")


ROBOTS = {
    "rich-3": _rich(3),
    "rich-4": _rich(4),
    "full-3": _full(3, None),
    "full-4": _full(4, 0.05),
    "rubbing-3": _rubbing(3, 0.05),
    "rubbing-4": _rubbing(4, None),
    "plain": load_robot("sipro-d3-1200"),
    "bench": load_robot("sipro-d3-1200")
    .with_rotor_inertia(0.39)
    .with_friction(viscous=0.7, coulomb=2.0, smoothing=0.05),
    "bench-4": load_robot("example-delta-4").with_friction(
        viscous=[0.2, 0.2, 0.2, 0.01],
        coulomb=[0.5, 0.5, 0.5, 0.02],
        load=0.06,
        stribeck=0.1,
        stribeck_velocity=0.3,
        smoothing=0.05,
        passive=(),
    ),
}


def need(compiler: str) -> str:
    """The compiler's program; skips the test where there is none."""
    path = shutil.which(compiler)
    if path is None:
        pytest.skip(f"{compiler} is not installed")
    return path


@lru_cache(maxsize=1)
def _root() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="deltadyn-c-")


@lru_cache(maxsize=64)
def sources(name: str, precision: str, estimator: PayloadEstimator | None = None) -> Path:
    """A folder with the export of one of the robots."""
    return sources_of(ROBOTS[name], precision, estimator)


def sources_of(robot: Robot, precision: str = "double", estimator: Any = None, **more: Any) -> Path:
    """A new folder with the export of a robot."""
    folder = Path(tempfile.mkdtemp(prefix=f"{robot.dof}-", dir=_root().name))
    options = Options(precision=precision, estimator=estimator, **more)
    for file, text in files(robot, options).items():
        (folder / file).write_text(text, "utf-8")
    return folder


def library_of(folder: Path) -> Path:
    """The .c of an export."""
    return next(folder.glob("*_delta.c"))


def run(command: list[str], folder: Path) -> str:
    """What a command prints; its failure fails the test with what it said."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr)[-3000:]
        pytest.fail(f"{' '.join(command)} ended with {done.returncode}:\n{said}")
    return done.stdout


def compile_with(compiler: str, folder: Path, driver: str, out: str, *flags: str) -> Path:
    """A program, or a library with -shared, of a driver of the tests and an export."""
    source = library_of(folder)
    own = source.stem.removesuffix("_delta")
    defines = [f'-DHEADER="{source.stem}.h"', f"-DID={own}", f"-DPSI={int(folder.name[0]) - 3}"]
    text = [str(HERE / driver), source.name, "-I.", *defines]
    run([need(compiler), *STRICT, *flags, *text, "-o", out, "-lm"], folder)
    return folder / out


class Library:
    """An export that was compiled as a library, over rows of NumPy arrays."""

    def __init__(self, path: Path, dof: int, precision: str) -> None:
        self.dof, self.dtype = dof, np.dtype(precision.replace("float", "float32"))
        self.code = ctypes.CDLL(str(path))
        self.real = ctypes.c_double if precision == "double" else ctypes.c_float
        if hasattr(self.code, "state_size"):  # else there are no estimators
            self.state = ctypes.create_string_buffer(self.code.state_size())

    def call(
        self, kind: str, *inputs: FloatArray, payload: float = 0.0, in_place: bool = False
    ) -> Any:
        """Status (N,) and the outputs (N, dof), the first also (N, dof * dof), of a function.

        With `in_place` the outputs are the arrays of the inputs.
        """
        given = [np.array(x, self.dtype, order="C") for x in inputs]
        count = len(given[0])
        width = self.dof**2 if kind == "mass_matrix" else self.dof
        out = [np.full((count, width), np.nan, self.dtype) for _ in range(3)]
        if in_place:
            out = [given[k] if k < len(given) else out[k] for k in range(3)]
        status = np.empty(count, np.intc)
        rows = [_pointer(given[min(k, len(given) - 1)]) for k in range(3)]
        self.code.batch(
            KINDS.index(kind),
            ctypes.c_long(count),
            *rows,
            self.real(payload),
            *(_pointer(x) for x in out),
            _pointer(status),
        )
        return status, *(x.astype(float) for x in out)

    def estimate(
        self,
        q: FloatArray,
        qd: FloatArray | None,
        qdd: FloatArray | None,
        tau: FloatArray,
        holding: Any = None,
        begin: bool = True,
    ) -> tuple[FloatArray, Any]:
        """Numbers (N, 6) and flags (N, 5) of the payload estimator, see c_batch.c."""
        arrays = [None if x is None else np.ascontiguousarray(x, self.dtype) for x in (q, qd, qdd)]
        torque = np.ascontiguousarray(tau, self.dtype)
        signal = None if holding is None else np.ascontiguousarray(holding, np.intc)
        numbers = np.empty((len(torque), 6), self.dtype)
        flags = np.empty((len(torque), 5), np.intc)
        self.code.estimate(
            self.state,
            int(begin),
            ctypes.c_long(len(torque)),
            *(_pointer(x) for x in (*arrays, torque, signal, numbers, flags)),
        )
        return numbers.astype(float), flags

    def observe(
        self,
        q: FloatArray,
        tau: FloatArray,
        payload: float = 0.0,
        std: float = 0.0,
        begin: bool = True,
    ) -> tuple[FloatArray, Any]:
        """Numbers (N, 4 dof + 3) and flags (N, 4) of the force observer, see c_batch.c."""
        if begin:
            self.observer = ctypes.create_string_buffer(self.code.force_state_size())
        angles, torque = (np.ascontiguousarray(x, self.dtype) for x in (q, tau))
        numbers = np.empty((len(angles), 4 * self.dof + 3), self.dtype)
        flags = np.empty((len(angles), 4), np.intc)
        self.code.observe(
            self.observer,
            int(begin),
            ctypes.c_long(len(angles)),
            _pointer(angles),
            _pointer(torque),
            self.real(payload),
            self.real(std),
            _pointer(numbers),
            _pointer(flags),
        )
        return numbers.astype(float), flags

    def payload_self_test(self) -> tuple[int, float]:
        """What the estimator's self-test returns, and its error."""
        error = self.real()
        failed = self.code.payload_self_test(self.state, ctypes.byref(error))
        return failed, float(error.value)

    def self_test(self) -> tuple[int, float]:
        """What the observer's self-test returns, and its error."""
        state, error = ctypes.create_string_buffer(self.code.force_state_size()), self.real()
        failed = self.code.self_test(state, ctypes.byref(error))
        return failed, float(error.value)


def _pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if array is None else array.ctypes.data)


@lru_cache(maxsize=32)
def library(
    name: str, precision: str = "double", compiler: str = "gcc", estimator: Any = None
) -> Library:
    """One of the robots, compiled by a compiler with the stated flags."""
    folder = sources(name, precision, estimator)
    out = f"{compiler}.so"
    path = compile_with(compiler, folder, "c_batch.c", out, "-O2", "-shared", "-fPIC")
    return Library(path, ROBOTS[name].dof, precision)


def library_for(
    robot: Robot,
    precision: str = "double",
    compiler: str = "gcc",
    level: str = "-O2",
    **more: Any,
) -> Library:
    """Any robot, compiled; `more` are options of the export."""
    folder = sources_of(robot, precision, **more)
    flags = [level, "-shared", "-fPIC", *(("-DFORCE",) if "tare" in more else ())]
    flags += [] if "_payload_init(" in library_of(folder).read_text("utf-8") else ["-DBARE"]
    flags += ["-DHALVES"] if robot.legs == 4 else []
    path = compile_with(compiler, folder, "c_batch.c", "own.so", *flags)
    return Library(path, robot.dof, precision)
