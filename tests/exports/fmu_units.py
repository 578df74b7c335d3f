"""Units on fmpy: made once, opened, set and read by the names of their variables."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    if name in result.dtype.names:  # an array of FMI 3.0
        values: FloatArray = np.asarray(result[name]).reshape(-1, dof)
        return values
    return np.stack([result[f"{name}[{i + 1}]"] for i in range(dof)], axis=1)


def by_differences(outputs: Callable[[float], FloatArray], h: float) -> FloatArray:
    """Central differences, two times extrapolated: errors of h^6 and rounding over h."""

    def central(step: float) -> FloatArray:
        return (outputs(step) - outputs(-step)) / (2 * step)

    one, two, four = central(h), central(h / 2), central(h / 4)
    first, second = (4 * two - one) / 3, (4 * four - two) / 3
    return (16 * second - first) / 15


def base_of(name: str) -> str:
    """q of q[2]."""
    return name.split("[")[0]


def simulated(path: Path, dof: int, signals: Mapping[str, Any], **options: Any) -> Any:
    """fmpy's simulation under input signals, which hold "time"; every output is recorded.

    Signals and start values are named as scalars; those of arrays are gathered for FMI 3.0.
    """
    t = np.asarray(signals["time"], dtype=float)
    names = [name for name in signals if name != "time"]
    outputs, start = options.pop("output"), dict(options.pop("start_values", {}))
    if fmpy.read_model_description(str(path)).fmiVersion == "2.0":
        fields: list[Any] = [(name, float) for name in names]
        values = {name: signals[name] for name in names}
        outputs = [f"{name}[{i + 1}]" for name in outputs for i in range(dof)]
    else:
        fields, values = [], {}
        for base in dict.fromkeys(map(base_of, names)):
            values[base] = np.stack([signals[n] for n in names if base_of(n) == base], axis=1)
            fields.append((base, float, values[base].shape[1:]))
        for name in [name for name in start if "[" in name]:
            start.setdefault(base_of(name), []).append(start.pop(name))
    table = np.zeros(len(t), dtype=[("time", float), *fields])
    table["time"] = t
    for name, value in values.items():
        table[name] = value
    return fmpy.simulate_fmu(
        str(path),
        input=table,
        output=[*outputs, "status"],
        stop_time=t[-1],
        start_values=start,
        **options,
    )


def text_in(path: Path, name: str) -> str:
    """A text inside a unit."""
    with zipfile.ZipFile(path) as archive:
        return archive.read(name).decode()


class Unit:
    """An instance of a unit, for co-simulation or exchange; its messages are kept.

    Variables are named as scalars, q[1] and so on, also where FMI 3.0 has arrays.
    """

    def __init__(
        self, path: Path, folder: str, name: str = "unit", *, exchange: bool = False
    ) -> None:
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
        self.old, self.sizes = description.fmiVersion == "2.0", dict[str, int]()
        if not self.old:
            sizes = {item.name: item.shape for item in description.modelVariables}
            self.sizes = {name: int(np.prod(shape)) for name, shape in sizes.items() if shape}
        self.exchange = exchange
        if self.old:
            self.fmu = (fmi2.FMU2Model if exchange else fmi2.FMU2Slave)(**given)
            self._keep = fmi2.fmi2CallbackFunctions()
            self._keep.logger = fmi2.fmi2CallbackLoggerTYPE(self._hear_2)
            self.fmu.instantiate(callbacks=self._keep)
        else:
            self.fmu = (fmi3.FMU3Model if exchange else fmi3.FMU3Slave)(**given)
            self.fmu.instantiate(logMessage=self._hear_3)

    def _hear_2(self, _env: Any, _name: Any, _status: Any, _category: Any, message: bytes) -> None:
        self.told.append(message.decode())

    def _hear_3(self, _env: Any, _status: Any, _category: Any, message: bytes) -> None:
        self.told.append(message.decode())

    def set(self, values: Mapping[str, float]) -> None:
        """Set real variables by name."""
        if self.old:
            self.fmu.setReal([self.places[name] for name in values], list(values.values()))
            return
        whole: dict[str, list[float]] = {}
        for name, value in values.items():
            base = base_of(name)
            if base not in whole:
                whole[base] = self._array(base)
            whole[base][self._at(name)] = value
        self.fmu.setFloat64(
            [self.places[base] for base in whole], [one for row in whole.values() for one in row]
        )

    def switch(self, name: str, *, on: bool) -> None:
        """Set a Boolean by name, before the instance begins."""
        self.fmu.setBoolean([self.places[name]], [on])

    def _array(self, base: str) -> list[float]:
        return list(self.fmu.getFloat64([self.places[base]], self.sizes.get(base, 1)))

    def _at(self, name: str) -> int:
        return int(name.split("[")[1][:-1]) - 1 if "[" in name else 0

    def get(self, *names: str) -> list[float]:
        """Real variables by name."""
        if self.old:
            return [float(x) for x in self.fmu.getReal([self.places[name] for name in names])]
        whole = {base: self._array(base) for base in dict.fromkeys(map(base_of, names))}
        return [float(whole[base_of(name)][self._at(name)]) for name in names]

    def derivative(self, unknowns: Sequence[str], knowns: Mapping[str, float]) -> FloatArray:
        """The change of unknowns along that of knowns."""
        if self.old:
            places = [[self.places[name] for name in names] for names in (unknowns, knowns)]
            found = self.fmu.getDirectionalDerivative(*places, list(knowns.values()))
            return np.array(found)
        seeds: dict[str, list[float]] = {}
        for name, value in knowns.items():
            base = base_of(name)
            seeds.setdefault(base, [0.0] * self.sizes.get(base, 1))[self._at(name)] = value
        bases = list(dict.fromkeys(map(base_of, unknowns)))
        sizes = [self.sizes.get(base, 1) for base in bases]
        flat = self.fmu.getDirectionalDerivative(
            [self.places[base] for base in bases],
            [self.places[base] for base in seeds],
            [one for row in seeds.values() for one in row],
            sum(sizes),
        )
        parts = dict(zip(bases, np.split(np.array(flat), np.cumsum(sizes)[:-1]), strict=True))
        return np.array([parts[base_of(name)][self._at(name)] for name in unknowns])

    def row(self, name: str, dof: int) -> FloatArray:
        """name[1], name[2], ..."""
        return np.array(self.get(*(f"{name}[{i + 1}]" for i in range(dof))))

    def status(self, name: str = "status") -> int:
        """An integer output."""
        get = self.fmu.getInteger if self.old else self.fmu.getInt32
        return int(get([self.places[name]])[0])

    def text(self, name: str) -> str:
        """A text that the unit tells."""
        found = self.fmu.getString([self.places[name]])[0]
        return found.decode() if isinstance(found, bytes) else str(found)

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
        if self.exchange:
            update = self.fmu.newDiscreteStates if self.old else self.fmu.updateDiscreteStates
            update()
            self.fmu.enterContinuousTimeMode()

    def step(self, time: float, h: float) -> None:
        """One communication step."""
        self.fmu.doStep(currentCommunicationPoint=time, communicationStepSize=h)


@contextmanager
def opened(path: Path, name: str = "unit", *, exchange: bool = False) -> Iterator[Unit]:
    """An instance that is freed at the end."""
    with tempfile.TemporaryDirectory() as folder:
        unit = Unit(path, folder, name, exchange=exchange)
        try:
            yield unit
        finally:
            unit.fmu.freeInstance()
