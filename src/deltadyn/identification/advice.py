"""What a motion lacks where parameters cannot be told, and which move would settle them.

Columns of the widest regressor are known quantities: that of Fv_i is the rate of axis i, that of
A_i (rotor_i in the rigid model) its acceleration. So the information itself tells how an axis
moved, without the recordings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.identification.information import Information
from deltadyn.recording.prepare.data import Prepared
from deltadyn.robot import Robot
from deltadyn.robot.settings import is_ripple
from deltadyn.units import on_axis, percent

STILL = 1e-3  # rad/s, RMS: an axis that is slower stands still
ONE_WAY = 0.95  # correlation of an axis' direction with a column of one sign
SLOW = 5.0  # rad/s^2, RMS: gravity rules below
SAME_POSE = 0.02  # rad, RMS: gravity hardly changes below
HIDING = 0.10  # of an axis' RMS torque: a residual that is no noise, and hides what is small
STEEP = math.radians(3.0)  # tilt of the spindle below which its parameters hide
#: Friction of a drive, with its axis behind.
DRIVE = ("Fv", "Fc+", "Fc-", "Fc", "Fs", "Ft", "F0", "mu", "mu_m", "ripple")
PSI = ("I_psi", "h_x", "h_y", "I_axial", "effector.Izz", "effector.mcx", "effector.mcy", "rotor4")
TURNING = ("I_psi", "effector.Izz", "rotor4")  # of no influence unless psi turns
HALVES = (
    *("S", "S_s", "h_x", "h_y", "I_psi", "effector.Izz", "effector.mcx", "effector.mcy"),
    *("bars.Izz", "bars.mcx", "bars.mcy"),
)
ROD = ("H", "kappa", "mu", "prismatic.Fv", "prismatic.Fc")
INERTIA = ("A", "m_x", "I", "rho1", "arm.Iyy", "rotor", "arm.Izz", "arm.Ixx")
GRAVITY = ("M_P", "m_P", "G", "G_s", "T_g", "rho2", "arm.mcx", "arm.mcz", "platform.m")


@dataclass(frozen=True, eq=False)
class MotionLevels:
    """How the axes moved: RMS rate (dof,) in rad/s, RMS acceleration (dof,) in rad/s^2.

    `one_way` (dof,) tells which axes never reverse, `spread` (legs,) is the RMS deviation of the
    arms from their mean pose in rad, `tilt` (rad) the spindle's largest. `residual` (dof,) is RMS
    of what the model leaves over that of the torque. What is not known is NaN. On rails all of it
    counts in m, and `radian` of it stands for a rad.
    """

    rate: FloatArray
    acceleration: FloatArray
    one_way: tuple[bool, ...]
    spread: FloatArray
    tilt: float = math.nan
    residual: FloatArray | None = None
    linear: bool = False  # carriages: in m/s, m/s^2 and m
    radian: float = 1.0
    turns: bool = False  # the limbs themselves turn the tool by psi

    def of(self, robot: Robot) -> MotionLevels:
        """The same with what the robot says of its axes."""
        own = robot.turns and robot.spindle is None
        return replace(self, linear=robot.linear, radian=robot.radian[0], turns=own)

    @property
    def legs(self) -> int:
        """Axes that move limbs; one behind them is a spindle's."""
        return len(self.spread)

    @property
    def spindle(self) -> bool:
        """Whether the last axis is a spindle's."""
        return len(self.rate) > self.legs

    @property
    def still(self) -> tuple[bool, ...]:
        """Which axes stand still."""
        least = [STILL * self.radian] * self.legs + [STILL]
        return tuple(bool(rate < slow) for rate, slow in zip(self.rate, least, strict=False))


def levels_of_information(information: Information) -> MotionLevels:
    """The levels as the columns of the factors show them, in the band of the fit."""
    dof = information.dof
    rate = np.array([_rms(information, f"Fv{a + 1}", a) for a in range(dof)])
    acceleration = np.array([_acceleration(information, a) for a in range(dof)])
    one_way = tuple(_one_way(information, a) for a in range(dof))
    spread = np.array([_spread(information, a) for a in range(_legs(information))])
    return MotionLevels(rate, acceleration, one_way, spread)


def levels_of_samples(robot: Robot, parts: Iterable[Prepared]) -> MotionLevels:
    """The levels of prepared samples, with the spindle's tilt."""
    count, tilt = 0, 0.0
    sums = np.zeros((4, robot.dof))  # of q, q^2, qd^2, qdd^2
    ways = np.zeros((2, robot.dof), dtype=np.int64)  # samples forward, backward
    for part in parts:
        q, qd, qdd, p = part.state.q, part.state.qd, part.state.qdd, part.state.p
        count += len(q)
        sums += [q.sum(axis=0), *((x**2).sum(axis=0) for x in (q, qd, qdd))]
        still = STILL * np.asarray(robot.radian)
        ways += [(qd > still).sum(axis=0), (qd < -still).sum(axis=0)]
        if robot.spindle is not None:
            along = robot.spindle.pivot_z - p[:, 2]
            tilt = max(tilt, float(np.arctan2(np.hypot(p[:, 0], p[:, 1]), along).max()))
    q, square, rate, acceleration = sums / max(count, 1)
    one_way = tuple(bool(few == 0 and many > 0) for few, many in np.sort(ways, axis=0).T)
    spread = np.sqrt(np.maximum(square - q**2, 0.0))[: robot.legs]
    found = math.nan if robot.spindle is None else tilt
    levels = MotionLevels(np.sqrt(rate), np.sqrt(acceleration), one_way, spread, found)
    return levels.of(robot)


def at_rest(names: Sequence[str], levels: MotionLevels) -> tuple[bool, ...]:
    """Which parameters need the motion of an axis that stands still: rates there are noise."""

    def rests(name: str) -> bool:
        turning = name in TURNING and levels.spindle
        axis = 4 if turning else _axis_of(name)
        drive = turning or (_family(name) in DRIVE and _family(name) != "F0")
        return drive and axis is not None and axis <= len(levels.rate) and levels.still[axis - 1]

    return tuple(rests(name) for name in names)


def advise(names: Sequence[str], levels: MotionLevels, *, poorly: bool = False) -> tuple[str, ...]:
    """Sentences: what these parameters lack in the data, and what would settle them.

    `poorly` says that they are told, but badly.
    """
    left = list(names)
    sentences: list[str] = []
    for rule in (_hidden, _psi, _drives, _rods, _inertias, _gravity):
        for finding in rule(left, levels):
            mine = ", ".join(finding.names)
            be = "is" if len(finding.names) == 1 else "are"
            said = f"{be} told poorly" if poorly else f"cannot be told{finding.beside}"
            sentences.append(f"{finding.cause}: {mine} {said}; {finding.remedy}")
            left = [name for name in left if name not in finding.names]
    if left:
        be = "is" if len(left) == 1 else "are"
        lack = f"{be} told poorly" if poorly else "cannot be told"
        sentences.append(
            f"{', '.join(left)} {lack} in this motion; move all axes at once, both ways, over more "
            "of the workspace"
        )
    return tuple(sentences)


class _Finding(NamedTuple):
    names: list[str]
    cause: str
    remedy: str
    beside: str = ""


def _hidden(names: list[str], levels: MotionLevels) -> list[_Finding]:
    """Arms that move well beside a large residual: another motion would leave as much."""
    shares = [] if levels.residual is None else levels.residual[: levels.legs].tolist()
    if not any(share > HIDING for share in shares):
        return []
    moving = [a for a in range(len(shares)) if not (levels.still[a] or levels.one_way[a])]
    mine = [name for name in names if (_axis_of(name) or 0) - 1 in moving]
    if not mine:
        return []
    told = ", ".join(f"{percent(share)} on axis {a + 1}" for a, share in enumerate(shares))
    remedy = (
        "before another motion, check signs, units and homing of the log, and what the robot file "
        "lacks"
    )
    return [_Finding(mine, f"the model leaves {told} of the torque", remedy, " beside it")]


def _psi(names: list[str], levels: MotionLevels) -> list[_Finding]:
    if levels.turns:
        mine = [name for name in names if name in HALVES]
        remedy = "turn the tool faster, both ways, while the platform accelerates"
        return [_Finding(mine, "psi turns too little beside the rest", remedy)] if mine else []
    if not levels.spindle:
        return []
    mine = [name for name in names if name in PSI or _axis_of(name) == 4]
    if not mine:
        return []
    if levels.still[3]:
        return [_Finding(mine, "psi never turns", "turn the spindle")]
    cause = (
        f"psi turns at {levels.rate[3]:.2g} rad/s and {levels.acceleration[3]:.2g} rad/s^2 (RMS)"
    )
    also = " while the platform accelerates" if {"h_x", "h_y", "I_axial"} & set(mine) else ""
    return [_Finding(mine, cause, f"turn the spindle faster, both ways{also}, or for longer")]


def _drives(names: list[str], levels: MotionLevels) -> list[_Finding]:
    found = []
    for axis in range(levels.legs):
        number = axis + 1
        mine = [name for name in names if _axis_of(name) == number]
        friction = [name for name in mine if _family(name) in DRIVE]
        if levels.still[axis] and mine:
            found.append(_Finding(mine, f"axis {number} stands still", f"move axis {number}"))
        elif levels.one_way[axis] and friction:
            cause, remedy = f"axis {number} never reverses", f"move axis {number} both ways"
            found.append(_Finding(friction, cause, remedy, " from an offset or from gravity"))
        elif friction:
            unit = on_axis("rad/s", levels.linear)
            cause = f"axis {number} moves at {levels.rate[axis]:.2g} {unit} (RMS)"
            remedy = f"move axis {number} both ways, slowly and quickly, or for longer"
            found.append(_Finding(friction, cause, remedy))
    return found


def _rods(names: list[str], levels: MotionLevels) -> list[_Finding]:
    mine = [n for n in names if n in ROD or n.partition(".")[0] in ("upper", "lower")]
    if not mine:
        return []
    if levels.tilt < STEEP:
        cause = f"the spindle's tilt stays below {math.degrees(levels.tilt):.2g} deg"
    else:
        cause = "the spindle swings too little"
    remedy = "move far from the centre, up and down, with high accelerations"
    return [_Finding(mine, cause, remedy)]


def _inertias(names: list[str], levels: MotionLevels) -> list[_Finding]:
    mine = [n for n in names if _family(n) in INERTIA or n == "rho1" or n.startswith("strut")]
    if not mine:
        return []
    own = levels.acceleration[: levels.legs]
    known = own[np.isfinite(own)]
    level = float(known.max(initial=0.0))
    pace = f"{level:.2g} {on_axis('rad/s^2', levels.linear)} (RMS)"
    who = "the carriages" if levels.linear else "the arms"
    if level < SLOW * levels.radian:
        cause = f"{who} accelerate by {pace} only"
        return [_Finding(mine, cause, "move faster", " from gravity (G, M_P)")]
    cause = f"{who} accelerate by {pace}, too much alike"
    remedy = "accelerate more, in several directions, up and down as well as across"
    return [_Finding(mine, cause, remedy, " from other inertias")]


def _gravity(names: list[str], levels: MotionLevels) -> list[_Finding]:
    mine = [name for name in names if _family(name) in GRAVITY or name == "rho2"]
    if not mine:
        return []
    who = "the carriages" if levels.linear else "the arms"
    if all(levels.still[: levels.legs]):
        return [_Finding(mine, f"{who} stand still", "move the platform")]
    spread = float(np.nan_to_num(levels.spread, nan=math.inf).max(initial=0.0))
    if spread < SAME_POSE * levels.radian:
        size = f"{1e3 * spread:.2g} mm" if levels.linear else f"{spread:.2g} rad"
        cause = f"{who} stay within {size} (RMS) of one pose"
        return [_Finding(mine, cause, "move over more of the workspace")]
    return []


def _family(name: str) -> str:
    """A name without the number of its limb or axis: A2 -> A, arm3.Iyy -> arm.Iyy."""
    if is_ripple(name):
        return "ripple"
    body, dot, entry = name.partition(".")
    return body.rstrip("1234") + dot + entry


def _axis_of(name: str) -> int | None:
    """The axis of a drive's friction or a limb's parameter."""
    if is_ripple(name):
        return int(name[-1])
    body = name.partition(".")[0]
    return (
        int(body[-1])
        if body[-1:] in "1234" and body[:-1] and body not in ("rho1", "rho2")
        else None
    )


def _legs(information: Information) -> int:
    """Limbs whose parameters the wide columns hold."""
    limbs = {"A", "arm.m", "carriage.m"}
    return sum(_family(name) in limbs and _axis_of(name) is not None for name in information.names)


def _column(information: Information, name: str, axis: int) -> FloatArray | None:
    """A wide column's factors (B, n + 1) on an axis."""
    if name not in information.names:
        return None
    return information.factors[:, axis, :, information.names.index(name)]


def _rms(information: Information, name: str, axis: int) -> float:
    column = _column(information, name, axis)
    if column is None:
        return math.nan
    return math.sqrt(float((column**2).sum()) / int(information.counts[axis]))


def _acceleration(information: Information, axis: int) -> float:
    """RMS acceleration of an axis from the column of an inertia on it."""
    for name in (f"A{axis + 1}", f"rotor{axis + 1}", "I_psi" if axis == 3 else ""):
        value = _rms(information, name, axis)
        if math.isfinite(value):
            return value
    return math.nan


def _one_way(information: Information, axis: int) -> bool:
    """Whether an axis moves in one direction only: its sign is like a column of one sign."""
    if _column(information, f"Fc+{axis + 1}", axis) is not None:
        both = [_rms(information, f"Fc{sign}{axis + 1}", axis) for sign in "+-"]
        return min(both) < 1e-3 * max(both)
    direction = _column(information, f"Fc{axis + 1}", axis)
    for name in (f"F0{axis + 1}", f"G{axis + 1}", f"arm{axis + 1}.mcx"):
        other = _column(information, name, axis)
        if direction is None or other is None:
            continue
        product = abs(float(contract("bm,bm->", direction, other)))
        size = float(np.linalg.norm(direction) * np.linalg.norm(other))
        return size > 0 and product > ONE_WAY * size
    return False


def _spread(information: Information, axis: int) -> float:
    """RMS deviation of an arm from its mean pose, by the columns g cos(theta), g sin(theta).

    NaN on rails, where gravity does not change with the pose.
    """
    for names in ((f"G{axis + 1}", f"G_s{axis + 1}"), (f"arm{axis + 1}.mcx", f"arm{axis + 1}.mcz")):
        pair = [_column(information, name, axis) for name in names]
        if pair[0] is None or pair[1] is None:
            continue
        both = np.stack([column.reshape(-1) for column in pair if column is not None])
        if not both[1].any():
            return math.nan
        values = np.linalg.eigvalsh(both @ both.T)
        total = float(values.sum())
        return math.sqrt(max(float(values[0]), 0.0) / total) if total > 0 else math.nan
    return math.nan
