"""Exported C whose self-test and functions are called one by one."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.dynamics.factory import rich_drives
from tests.exports.c_build import ROBOTS, STRICT, library_of, need, run, sources_of
from tests.family.robots import make

from deltadyn.robot import Robot
from deltadyn.robot.settings import Controller

#: Every kind of robot that target `c` holds, each with a controller of its own.
KINDS = (
    "rich-3",
    "rich-4",
    "inclined",
    "vertical",
    "rails",
    "vertical_spindle",
    "planar",
    "planar_rails",
    "par4",
    "par4_rails",
    "heli4",
    "heli4_rails",
)


@lru_cache(maxsize=16)
def robot_of(kind: str) -> Robot:
    """A robot of a kind with all terms of its drives, a payload and a controller of its own."""
    if kind in ROBOTS:
        return ROBOTS[kind]
    robot = make(kind).with_payload(0.4, (0.02, -0.01, -0.05), 1e-3)
    n = robot.dof
    own = Controller((-1.0, 1.0, -1.0, 1.0)[:n], (0.3, -0.2, 1.1, 0.05)[:n])
    return rich_drives(robot.replace(controller=own))


@lru_cache(maxsize=32)
def folder_of(kind: str, precision: str = "double") -> Path:
    """A folder with the export of a kind; the estimator is the one that is made fastest."""
    robot = robot_of(kind)
    more = {"estimator": "least-squares", "rate": 500.0} if robot.legs == 3 else {}
    return sources_of(robot, precision, **more)


class Points:
    """A compiled export."""

    def __init__(self, path: Path, own: str, precision: str) -> None:
        self.code, self.own = ctypes.CDLL(str(path)), own
        self.real: Any = ctypes.c_double if precision == "double" else ctypes.c_float

    def function(self, name: str) -> Any:
        return getattr(self.code, f"{self.own}_{name}")

    def self_test(self) -> tuple[int, float]:
        """What the self-test of the model returns, and its error."""
        error = self.real()
        failed = self.function("self_test")(ctypes.byref(error))
        assert failed == self.function("self_test")(None)
        return failed, float(error.value)

    def array(self, values: Any) -> Any:
        return (self.real * len(values))(*(float(x) for x in values))

    def call(self, name: str, width: int, *given: Any) -> Any:
        """An output (width,) of a function; arrays, numbers, None and lists go in as they are."""
        out = (self.real * width)()
        inputs = [self.array(x) if isinstance(x, np.ndarray) else x for x in given]
        assert self.function(name)(*inputs, out) == 0, name
        return np.array(list(out))

    def load(self, *numbers: float) -> Any:
        """A pointer to a load: mass, inertia, x, y."""
        return ctypes.byref(self.array(numbers))


def compiled(
    folder: Path, precision: str, compiler: str, *flags: str, out: str = "points.so"
) -> Points:
    """The export in a folder as a library."""
    source = library_of(folder)
    command = [need(compiler), *STRICT, *flags, "-shared", "-fPIC", source.name, "-o", out, "-lm"]
    run(command, folder)
    return Points(folder / out, source.stem.removesuffix("_delta"), precision)
