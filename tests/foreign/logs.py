"""Log files of such machines: other axes, signs, zeros, units and sides, in many vendors' words.

    angle of axis k = unit * gear (sign q + offset) of arm k
    torque of axis k = the torque of arm order[k]

Axes that are numbered otherwise, angles and torques alike, cannot be told from dynamics where the
arms are alike: such a robot is the same after a turn by 120 degrees or in a mirror. What can be
told is which torque belongs to which angle. A fourth axis that counts backwards, angle and torque
alike, is such a mirror too: axis 4 is never reversed here, but its torque alone may be.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tests.reference.engines.spec import Array

from deltadyn import Robot
from deltadyn.robot import save_robot

from .machine import Motion, Owned, owned

DEGREES = 180 / np.pi


@dataclass(frozen=True)
class Style:
    """How a tool writes a log. {k} is the axis from 1, {u} its unit in brackets or nothing."""

    name: str
    time: str
    position: str
    torque: str
    current: str
    brackets: str = " [{}]"
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    degree: str = "deg"
    time_unit: str = "s"
    second_row: bool = False  # units stand in a row of their own
    rate: str | None = None  # a column that nobody needs
    title: tuple[str, ...] = ()  # lines before the header


STYLES = (
    Style(
        "scope, German",
        "Zeit{u}",
        "Achse{k}.ActPos{u}",
        "Achse{k}.ActTorque{u}",
        "Achse{k}.ActCurrent{u}",
        separator=";",
        decimal=",",
        encoding="cp1252",
        degree="°",
        time_unit="ms",
        rate="Achse{k}.SetPos{u}",
    ),
    Style("plain", "time{u}", "pos_{k}{u}", "torque_{k}{u}", "current_{k}{u}", "_{}"),
    Style(
        "CODESYS trace",
        "Time{u}",
        "Axis_{k}.fActPosition{u}",
        "Axis_{k}.fActTorque{u}",
        "Axis_{k}.fActCurrent{u}",
        " ({})",
        ";",
        time_unit="us",
    ),
    Style(
        "ROS",
        "time{u}",
        "joint_{k}.position{u}",
        "joint_{k}.effort{u}",
        "joint_{k}.current{u}",
    ),
    Style(
        "Italian",
        "Tempo{u}",
        "Asse {k} Posizione attuale{u}",
        "Asse {k} Coppia attuale{u}",
        "Asse {k} Corrente{u}",
        separator=";",
        decimal=",",
        degree="°",
        encoding="cp1252",
        time_unit="ms",
    ),
    Style(
        "French",
        "Temps{u}",
        "Axe{k} Position réelle{u}",
        "Axe{k} Couple réel{u}",
        "Axe{k} Courant{u}",
        separator="\t",
        decimal=",",
        degree="°",
        encoding="cp1252",
    ),
    Style(
        "Spanish",
        "Tiempo{u}",
        "Eje {k} Posición real{u}",
        "Eje {k} Par real{u}",
        "Eje {k} Corriente{u}",
        separator=";",
        degree="grados",
    ),
    Style("Chinese", "时间{u}", "轴{k}实际位置{u}", "轴{k}实际转矩{u}", "轴{k}电流{u}", "({})"),
    Style(
        "second header row",
        "t",
        "AxisPosition{k}",
        "AxisTorque{k}",
        "AxisCurrent{k}",
        "{}",
        second_row=True,
        time_unit="ms",
    ),
    Style(
        "German, title lines",
        "Zeitstempel{u}",
        "A{k} Istposition{u}",
        "A{k} Istmoment{u}",
        "A{k} Iststrom{u}",
        separator=";",
        decimal=",",
        degree="Grad",
        time_unit="ms",
        title=("Aufzeichnung 7", "Anlage;Linie 3"),
    ),
)


@dataclass(frozen=True)
class Truth:
    """Conventions of a log, per arm of the robot file where they are per axis.

    `torque_sign` is that of the torque beside `sign`: -1 where a drive counts its torque against
    its own angle.
    """

    sign: tuple[int, ...]
    offset_deg: tuple[float, ...]
    torque_sign: tuple[int, ...]
    order: tuple[int, ...]  # the k-th torque belongs to the angle order[k], from 0
    unit: str  # "rad" or "deg"
    side: str  # "motor" or "output"
    torque_unit: str  # "Nm" or "A"
    torque_side: str
    torque_constant: float | None  # N m/A at the motor
    stated: bool  # the header names the units

    @property
    def right(self) -> bool:
        """Whether a plain reading of the file is right."""
        plain = self.stated and (self.side, self.torque_side, self.torque_unit) == (
            "output",
            "output",
            "Nm",
        )
        return plain and self == _plain(len(self.sign), self.unit)


@dataclass(frozen=True)
class Foreign:
    """A log, the robot file of its owner, and what is true."""

    robot: Robot
    path: Path
    style: Style
    truth: Truth
    motion: Motion = field(repr=False)

    def save_robot(self) -> Path:
        """Write the robot file beside the log."""
        path = self.path.with_suffix(".yaml")
        save_robot(self.robot, path)
        return path


def foreign_log(folder: Path, seed: int, *, right: bool = False) -> Foreign:
    """Write a log of a random machine; `right` keeps to the conventions of the robot file."""
    rng = np.random.default_rng([seed, 140 + right])
    machine = owned(seed, 4 if rng.random() < 0.25 else 3)
    motion = machine.move(float(rng.uniform(8.0, 20.0)), float(rng.choice([250.0, 500.0, 1000.0])))
    style = STYLES[int(rng.integers(len(STYLES)))]
    dof = machine.engine.dof
    unit = str(rng.choice(["rad", "deg"]))
    truth = _plain(dof, unit)
    while not right and truth.right:
        truth = _drawn(rng, machine, unit)
    path = folder / f"log{seed}.csv"
    _write(path, style, truth, machine, motion, rng)
    return Foreign(machine.file, path, style, truth, motion)


def _plain(dof: int, unit: str) -> Truth:
    ones = (1,) * dof
    return Truth(
        sign=ones,
        offset_deg=(0.0,) * dof,
        torque_sign=ones,
        order=tuple(range(dof)),
        unit=unit,
        side="output",
        torque_unit="Nm",
        torque_side="output",
        torque_constant=None,
        stated=True,
    )


def _drawn(rng: np.random.Generator, machine: Owned, unit: str) -> Truth:
    dof = machine.engine.dof
    geared = machine.file.drives.gear_ratio[0] != 1.0
    sign = np.where(rng.random(dof) < 0.3, -1, 1)
    sign[3:] = 1
    torque_sign = np.full(dof, -1 if rng.random() < 0.15 else 1)
    offset = np.zeros(dof)
    homing = rng.random()
    if homing < 0.4:
        offset[rng.integers(3)] = rng.choice([-1, 1]) * rng.uniform(20.0, 40.0)
    elif homing < 0.6:
        offset[:3] = rng.uniform(-35.0, 35.0, 3)
    order = np.arange(dof)
    if rng.random() < 0.4:
        order[:3] = rng.permutation(3)
    current = rng.random() < 0.3
    return Truth(
        sign=tuple(sign.tolist()),
        offset_deg=tuple(offset.tolist()),
        torque_sign=tuple(torque_sign.tolist()),
        order=tuple(order.tolist()),
        unit=unit,
        side="motor" if geared and rng.random() < 0.5 else "output",
        torque_unit="A" if current else "Nm",
        torque_side="motor" if current or (geared and rng.random() < 0.4) else "output",
        torque_constant=float(rng.uniform(0.2, 2.0)) if current else None,
        stated=bool(rng.random() < 0.6),
    )


def _write(
    path: Path,
    style: Style,
    truth: Truth,
    machine: Owned,
    motion: Motion,
    rng: np.random.Generator,
) -> None:
    gears, dof = np.array(machine.file.drives.gear_ratio), machine.engine.dof
    sign, offset = np.array(truth.sign), np.radians(truth.offset_deg)
    position = sign * (motion.q + rng.normal(0, 3e-6, motion.q.shape)) + offset
    position *= gears if truth.side == "motor" else 1.0
    position = np.round(position * DEGREES, 5) if truth.unit == "deg" else np.round(position, 7)
    noise = rng.uniform(0.005, 0.02) * np.sqrt(np.mean(motion.tau**2, axis=0))
    measured = motion.tau + noise * rng.normal(size=motion.tau.shape)
    torque = sign * np.array(truth.torque_sign) * measured
    torque = torque / (gears if truth.torque_side == "motor" else 1.0)
    torque = np.round(torque / (truth.torque_constant or 1.0), 5)[:, list(truth.order)]
    keep = np.ones(len(motion.t), dtype=bool)
    keep[rng.choice(np.arange(10, len(keep) - 10), 20, replace=False)] = rng.random() < 0.6
    t = motion.t * {"s": 1.0, "ms": 1e3, "us": 1e6}[style.time_unit]
    columns = [t, *position.T, *torque.T]
    angle = style.degree if truth.unit == "deg" else "rad"
    shown = "A" if truth.torque_unit == "A" else "Nm"
    word = style.current if truth.torque_unit == "A" else style.torque
    axes = range(1, dof + 1)
    names = [style.time, *(style.position.replace("{k}", str(k)) for k in axes)]
    names += [word.replace("{k}", str(k)) for k in axes]
    units = [style.time_unit, *[angle] * dof, *[shown] * dof]
    if style.rate is not None:  # a commanded position that lags nothing: nobody asked for it
        names += [style.rate.replace("{k}", str(k)) for k in axes]
        units += [angle] * dof
        columns += list(np.round(position, 3).T)
    _text(path, style, names, units if truth.stated else [style.time_unit], columns, keep)


def _text(
    path: Path,
    style: Style,
    names: list[str],
    units: list[str],
    columns: list[Array],
    keep: NDArray[np.bool_],
) -> None:
    """Units that are not known are left out of the header."""
    known = [*units, *[""] * (len(names) - len(units))]
    bracketed = [style.brackets.format(unit) if unit else "" for unit in known]
    lines = list(style.title)
    if style.second_row:
        lines += [style.separator.join(names), style.separator.join(known)]
    else:
        lines.append(
            style.separator.join(
                name.replace("{u}", unit) for name, unit in zip(names, bracketed, strict=True)
            )
        )
    for row in np.column_stack(columns)[keep]:
        lines.append(
            style.separator.join(f"{x:.10g}".replace(".", style.decimal) for x in row.tolist())
        )
    path.write_text("\n".join(lines) + "\n", encoding=style.encoding)
