"""Units on fmpy: made once, opened, set and read by the names of their variables."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import rich_drives

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.exports.fmu import compiler
from deltadyn.robot import Robot
from deltadyn.robot.settings import PASSIVE_JOINTS, Controller, PassiveFriction

fmpy = pytest.importorskip("fmpy")
fmi2 = pytest.importorskip("fmpy.fmi2")
fmi3 = pytest.importorskip("fmpy.fmi3")
validation = pytest.importorskip("fmpy.validation")
CallError = pytest.importorskip("fmpy.fmi1").FMICallException
DISCARD, ERROR = 2, 3
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler for the units")


def robots() -> dict[int, Robot]:
    """A robot of three and one of four axes, with every friction term, rotors and a payload.

    Both have ripple and drives in a scale of their own; three loses a share of the torque through
    its gears, four of that of its motors.
    """
    three = dd.load_robot("sipro-d3-1200").with_friction(
        viscous=[0.5, 0.6, 0.7],
        coulomb=[2.0, 1.5, 1.0],
        coulomb_negative=[1.5, 1.6, 1.7],
        stribeck=0.5,
        stribeck_velocity=0.3,
        offset=[0.1, -0.1, 0.0],
        thinning=0.4,
        thinning_velocity=0.5,
        load=[0.05, 0.0, 0.1],
        smoothing=0.1,
    )
    four = dd.load_robot("example-delta-4").with_friction(
        smoothing=0.1,
        passive=tuple(
            PassiveFriction(joint, 0.02 + 0.01 * i, 0.05 + 0.01 * i)
            for i, joint in enumerate(PASSIVE_JOINTS)
        ),
    )
    three = rich_drives(three.with_rotor_inertia(0.02).with_payload(0.4), motor=False)
    four = rich_drives(four)
    four = four.with_payload(0.3, (0.02, -0.01, 0.0), 0.001)
    signs = [-1.0, 1.0, 1.0, -1.0]
    return {
        robot.dof: robot.replace(controller=Controller(signs[: robot.dof], 0.25))
        for robot in (three, four)
    }


@cache
def made(dof: int, fmi: str) -> dict[str, Path]:
    """The units of one of `robots()`, compiled once for all tests of a process."""
    folder = tempfile.mkdtemp(prefix="deltadyn-fmu-")
    atexit.register(shutil.rmtree, folder)
    return units(robots()[dof], Path(folder), fmi=fmi)


def units(robot: Robot, folder: Path, **options: Any) -> dict[str, Path]:
    """The two units of a robot in a folder, as "plant" and "inverse", for Linux unless said."""
    done = dd.export(robot, "fmu", folder, **{"windows": False} | options)
    return {path.stem.rsplit("_", 1)[1]: path for path in done.files if path.suffix == ".fmu"}


def axes(name: str, values: FloatArray) -> dict[str, float]:
    """name[1], name[2], ... with these values."""
    return {f"{name}[{i + 1}]": float(value) for i, value in enumerate(values)}


def columns(result: Any, name: str, dof: int) -> FloatArray:
    """(N, dof) of a result of fmpy's simulation."""
    return np.stack([result[f"{name}[{i + 1}]"] for i in range(dof)], axis=1)


def simulated(path: Path, dof: int, signals: Mapping[str, Any], **options: Any) -> Any:
    """fmpy's simulation under input signals, which hold "time"; every output is recorded."""
    rows = np.stack([np.asarray(values, dtype=float) for values in signals.values()], axis=1)
    table = np.array([tuple(row) for row in rows], dtype=[(name, float) for name in signals])
    names = [f"{name}[{i + 1}]" for name in options.pop("output") for i in range(dof)]
    return fmpy.simulate_fmu(
        str(path), input=table, output=[*names, "status"], stop_time=rows[-1, 0], **options
    )


class Unit:
    """An instance of a unit; its messages are kept."""

    def __init__(self, path: Path, folder: str, name: str = "unit") -> None:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
        self.told: list[str] = []
        description = fmpy.read_model_description(folder)
        self.places = {item.name: item.valueReference for item in description.modelVariables}
        given = {
            "guid": description.guid,
            "unzipDirectory": folder,
            "modelIdentifier": description.coSimulation.modelIdentifier,
            "instanceName": name,
        }
        self.old = description.fmiVersion == "2.0"
        if self.old:
            self.fmu = fmi2.FMU2Slave(**given)
            self._keep = fmi2.fmi2CallbackFunctions()
            self._keep.logger = fmi2.fmi2CallbackLoggerTYPE(self._hear_2)
            self.fmu.instantiate(callbacks=self._keep)
        else:
            self.fmu = fmi3.FMU3Slave(**given)
            self.fmu.instantiate(logMessage=self._hear_3)

    def _hear_2(self, _env: Any, _name: Any, _status: Any, _category: Any, message: bytes) -> None:
        self.told.append(message.decode())

    def _hear_3(self, _env: Any, _status: Any, _category: Any, message: bytes) -> None:
        self.told.append(message.decode())

    def set(self, values: Mapping[str, float]) -> None:
        """Set real variables by name."""
        references = [self.places[name] for name in values]
        put = self.fmu.setReal if self.old else self.fmu.setFloat64
        put(references, list(values.values()))

    def get(self, *names: str) -> list[float]:
        """Real variables by name."""
        references = [self.places[name] for name in names]
        values = self.fmu.getReal(references) if self.old else self.fmu.getFloat64(references)
        return [float(value) for value in values]

    def row(self, name: str, dof: int) -> FloatArray:
        """name[1], name[2], ..."""
        return np.array(self.get(*(f"{name}[{i + 1}]" for i in range(dof))))

    def status(self) -> int:
        """The integer output."""
        get = self.fmu.getInteger if self.old else self.fmu.getInt32
        return int(get([self.places["status"]])[0])

    def snapshot(self) -> tuple[Any, bytes]:
        """The state now, and the same as bytes."""
        fmu = self.fmu
        state = fmu.getFMUstate() if self.old else fmu.getFMUState()
        return state, fmu.serializeFMUstate(state) if self.old else fmu.serializeFMUState(state)

    def restore(self, state: Any) -> None:
        """Go back to a state."""
        put = self.fmu.setFMUstate if self.old else self.fmu.setFMUState
        put(state)

    def read(self, content: bytes) -> Any:
        """The state of these bytes."""
        fmu = self.fmu
        return (fmu.deSerializeFMUstate if self.old else fmu.deserializeFMUState)(content)

    def begin(self, **values: float) -> None:
        """From instantiation to the first step."""
        if self.old:
            self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.set(values)
        self.fmu.exitInitializationMode()

    def step(self, time: float, h: float) -> None:
        """One communication step."""
        self.fmu.doStep(currentCommunicationPoint=time, communicationStepSize=h)


@contextmanager
def opened(path: Path, name: str = "unit") -> Iterator[Unit]:
    """An instance that is freed at the end."""
    with tempfile.TemporaryDirectory() as folder:
        unit = Unit(path, folder, name)
        try:
            yield unit
        finally:
            unit.fmu.freeInstance()
