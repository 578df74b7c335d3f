"""What a motion asks of drives, bearings, struts and ball joints, and the margin to every limit."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, contract
from deltadyn.doors import write_page
from deltadyn.dynamics.inverse import check_robot, check_state, inverse_dynamics
from deltadyn.dynamics.loads import CUP_HALF_ANGLE, ConstraintLoads, constraint_loads
from deltadyn.errors import InputError
from deltadyn.kinematics.struts import arm_axes
from deltadyn.motion.arguments import is_real
from deltadyn.motion.limits import LimitReport, check_motion, limb_names
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot
from deltadyn.units import on_axis

NO_FRICTION = (
    "note: the robot has no friction, so these are the torques and powers of a machine without it"
)


@dataclass(frozen=True, eq=False)
class DriveLoads:
    """What a motion asks of the drives, at the output side of the gears, each (dof,).

    Power counts positive where the drive works, negative where it brakes; `energy_returned` is what
    it brakes away during the motion, as a positive number, before losses of gear and inverter that
    are not in the robot's friction.
    """

    torque_peak: FloatArray  # N m, size
    torque_rms: FloatArray  # N m, over the time of the motion
    speed_peak: FloatArray  # rad/s, size
    power_peak: FloatArray  # W, most that is drawn
    power_returned: FloatArray  # W, most that is returned, as a positive number
    energy_drawn: FloatArray  # J
    energy_returned: FloatArray  # J

    @property
    def energy_net(self) -> FloatArray:
        """Work of the drives (dof,), in J."""
        return self.energy_drawn - self.energy_returned


@dataclass(frozen=True, eq=False)
class MotorLoads:
    """What the motors do, each (dof,): torques and rates of the axes behind gear, screw or pulley.

    A force on a carriage asks its motor for force x lead / (2 pi ratio), or x radius / ratio. The
    rotor's own inertia is in it, losses of the gear where the robot names them.
    """

    torque_peak: FloatArray  # N m
    torque_rms: FloatArray  # N m
    speed_peak: FloatArray  # rad/s


@dataclass(frozen=True, eq=False)
class BearingLoads:
    """What the shoulders carry, each (legs,); the axis of a bearing is the motor axis of its arm.

    The moment is None in a plane and under halves with bars: see `ConstraintLoads.undetermined`.
    """

    radial_peak: FloatArray  # N
    radial_mean: FloatArray  # N: cubic mean over the way turned, for the life of ball bearings
    axial_peak: FloatArray  # N, size
    moment_peak: FloatArray | None  # N m, tilting


@dataclass(frozen=True, eq=False)
class StrutLoads:
    """What rods and ball joints carry, in N.

    `rod_max` and `rod_min` (legs, r) are the most and the least tension of each rod (compression is
    negative): r = 2 where geometry.rod_spacing and the pairs' couples are known; else r = 1, a
    rod's share of its pair, and the rest is None. `ball_elbow` and `ball_platform` (legs, 2) are
    the largest forces between ball and socket with springs of just `preload_elbow` and
    `preload_platform`.
    """

    rod_max: FloatArray
    rod_min: FloatArray
    ball_elbow: FloatArray | None
    ball_platform: FloatArray | None
    preload_elbow: float | None
    preload_platform: float | None
    cup_half_angle: float  # rad: of the sockets, on which the preload depends

    @property
    def preload(self) -> float | None:
        """Smallest spring force (N) that keeps every ball in its socket."""
        if self.preload_elbow is None or self.preload_platform is None:
            return None
        return max(self.preload_elbow, self.preload_platform)


@dataclass(frozen=True, eq=False)
class MotionLoads:
    """Loads of a motion: drives, bearings, struts, the spindle's joints, and every limit.

    `torque` (N, dof) is that of `model`; `constraint` are the forces over time, by the exact model.
    """

    robot: Robot
    motion: Motion
    model: str
    torque: FloatArray
    constraint: ConstraintLoads
    drives: DriveLoads
    bearings: BearingLoads
    struts: StrutLoads
    spindle_upper: float | None  # N, largest force in the upper joint
    spindle_lower: float | None
    limits: LimitReport

    @property
    def power(self) -> FloatArray:
        """Power of each drive (N, dof), in W."""
        return self.torque * self.motion.qd

    @property
    def motors(self) -> MotorLoads | None:
        """What the motors do behind gear, screw or pulley; None where the robot names none."""
        turns = np.asarray(self.robot.drives.motor_turns)
        if (turns == 1).all():
            return None
        drives = self.drives
        return MotorLoads(
            drives.torque_peak / turns, drives.torque_rms / turns, drives.speed_peak * turns
        )

    @property
    def half_force(self) -> FloatArray | None:
        """Largest force (2,) in N on each half of a platform by bars, or screw, and tool."""
        halves = self.constraint.halves
        return None if halves is None else np.linalg.norm(halves, axis=2).max(axis=0)

    @property
    def cycles_per_minute(self) -> float:
        """How often the motion runs in a minute, one after the other."""
        return 60.0 / self.motion.duration

    @property
    def mean_power(self) -> tuple[float, float]:
        """Mean power of all drives in W: with nothing, and with all of the returned energy used."""
        drawn, net = float(self.drives.energy_drawn.sum()), float(self.drives.energy_net.sum())
        return drawn / self.motion.duration, net / self.motion.duration

    @property
    def text(self) -> str:
        """Tables with units, and the margin to every limit."""
        without, with_all = self.mean_power
        lines = [
            f"{self.robot.name}, payload {self.robot.payload.mass:g} kg, motion of "
            f"{self.motion.duration:.4g} s ({self.cycles_per_minute:.4g} a minute), "
            f"model {self.model!r}",
            "",
            *drive_lines(self),
            *([] if self.motors is None else _row_lines(self.motors, MOTOR_ROWS)),
            f"  mean power of all drives: {_number(without)} W, or {_number(with_all)} W where "
            "what is returned is used",
            "",
            *arm_lines(self),
            "",
            _preload_line(self),
        ]
        if self.spindle_upper is not None and self.spindle_lower is not None:
            lines.append(
                f"  spindle, largest joint force: {self.spindle_upper:.4g} N at the base, "
                f"{self.spindle_lower:.4g} N at the platform"
            )
        if self.half_force is not None:
            first, second = self.half_force
            joined = f"{first:.4g} N on half 1, {second:.4g} N on half 2"
            lines.append(f"  platform, largest force of what joins its halves: {joined}")
        if self.robot.friction.absent:
            lines.append(f"  {NO_FRICTION}")
        return "\n".join([*lines, "", str(self.limits)])

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """Every number with its unit in the key, for JSON."""
        struts = self.struts
        without, with_all = self.mean_power
        balls = {"ball_elbow_N": struts.ball_elbow, "ball_platform_N": struts.ball_platform}
        record = {
            "robot": self.robot.name,
            "payload_kg": self.robot.payload.mass,
            "friction": not self.robot.friction.absent,
            "model": self.model,
            "duration_s": self.motion.duration,
            "cycles_per_minute": self.cycles_per_minute,
            "axes": list(self.robot.axis_names()),
            "drives": _rows_dict(self.drives, DRIVE_ROWS),
            "mean_power_W": without,
            "mean_power_with_returned_W": with_all,
            "bearings": _rows_dict(self.bearings, BEARING_ROWS),
            "struts": {
                "rod_max_N": struts.rod_max.tolist(),
                "rod_min_N": struts.rod_min.tolist(),
                **{key: None if value is None else value.tolist() for key, value in balls.items()},
                "preload_elbow_N": struts.preload_elbow,
                "preload_platform_N": struts.preload_platform,
                "cup_half_angle_rad": struts.cup_half_angle,
            },
            "spindle_upper_N": self.spindle_upper,
            "spindle_lower_N": self.spindle_lower,
            "half_force_N": None if self.half_force is None else self.half_force.tolist(),
            "limits": limits_dict(self.limits),
        }
        motors = None if self.motors is None else _rows_dict(self.motors, MOTOR_ROWS)
        return {**self.robot.record(record), "motors": motors}  # motors turn, also on rails

    def page(self, path: str | PathLike[str]) -> Path:
        """Write one HTML file with tables and curves, to open without a network."""
        return write_page("loads", self, path)


def carrying(robot: Robot, payload: float | None) -> Robot:
    """The robot with a payload (kg) at its platform point; as it is with None."""
    check_robot(robot)
    if payload is None:
        return robot
    if not is_real(payload) or payload < 0:
        raise InputError("payload", payload, "a number of kg from 0, or None")
    return robot.with_payload(float(payload))


def check_in_reach(robot: Robot, motion: Motion, name: str, least: int) -> None:
    """Refuse a motion with fewer than `least` samples, or with one out of reach."""
    check_state(robot, motion)
    if len(motion) < least:
        raise InputError(f"samples of {name}", len(motion), f"at least {least}")
    bad = np.flatnonzero(~np.isfinite(motion.qdd).all(axis=1))
    if bad.size:
        raise InputError(name, "out of reach", "a motion in reach", where=f"row {int(bad[0])}")


def motion_loads(
    robot: Robot,
    motion: Motion,
    *,
    model: str = "exact",
    payload: float | None = None,
    share: float = 1.0,
    external_force: npt.ArrayLike | None = None,
    cup_half_angle: float = CUP_HALF_ANGLE,
) -> MotionLoads:
    """Loads of a motion, which may be one of many that follow each other.

    Torques, powers and energies are those of `model`; forces in struts and joints those of the
    exact one. `payload` (kg) replaces that of the robot. `share` scales limits as `check_motion`
    does, `external_force` acts on the platform as in `inverse_dynamics`, `cup_half_angle` (rad) is
    that of the sockets as in `constraint_loads`.
    """
    robot = carrying(robot, payload)
    if not isinstance(motion, Motion):
        raise InputError("motion", type(motion).__name__, "a Motion, which has times")
    check_in_reach(robot, motion, "motion", 2)
    tau = inverse_dynamics(robot, motion, model, external_force=external_force)
    forces = constraint_loads(robot, motion, external_force, cup_half_angle)
    spindle = (forces.spindle_upper, forces.spindle_lower)
    upper, lower = (None if f is None else float(np.linalg.norm(f, axis=1).max()) for f in spindle)
    return MotionLoads(
        robot,
        motion,
        model,
        tau,
        forces,
        drive_loads(motion.t, tau, motion.qd),
        _bearings(robot, motion, forces),
        _struts(robot, forces, cup_half_angle),
        upper,
        lower,
        check_motion(robot, motion, model=model, share=share, external_force=external_force),
    )


def drive_loads(t: FloatArray, tau: FloatArray, qd: FloatArray) -> DriveLoads:
    """Peaks, RMS and energies of torques and rates (N, dof) at times t (N,) in s.

    Between two samples torque squared and power go in straight lines.
    """
    power = tau * qd
    drawn, returned = _signed_areas(t, power)
    return DriveLoads(
        np.abs(tau).max(axis=0),
        np.sqrt(np.trapezoid(tau**2, t, axis=0) / (t[-1] - t[0])),
        np.abs(qd).max(axis=0),
        np.maximum(power.max(axis=0), 0.0),
        np.maximum(-power.min(axis=0), 0.0),
        drawn,
        returned,
    )


def _signed_areas(t: FloatArray, power: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Areas (dof,) above and below zero of straight lines between samples."""
    one, two, h = power[:-1], power[1:], np.diff(t)[:, None]
    crossing = one * two < 0
    whole = h * (one + two) / 2
    height = np.where(one > 0, one, two)  # of the end above zero
    above = np.divide(
        h * height**2 / 2, np.abs(one - two), out=np.zeros_like(whole), where=crossing
    )
    drawn = np.where(crossing, above, np.maximum(whole, 0.0)).sum(axis=0)
    returned: FloatArray = drawn - whole.sum(axis=0)
    return drawn, np.maximum(returned, 0.0)  # no less than 0 by rounding


def _bearings(robot: Robot, motion: Motion, forces: ConstraintLoads) -> BearingLoads:
    _, axis = arm_axes(robot)
    axial = contract("nik,ik->ni", forces.shoulder_force, axis)
    radial = np.linalg.norm(forces.shoulder_force - axial[..., None] * axis, axis=2)
    rate = np.abs(motion.qd[:, : robot.legs])
    way = np.trapezoid(rate, motion.t, axis=0)
    cubes = np.trapezoid(rate * radial**3, motion.t, axis=0)
    mean = np.divide(cubes, way, out=np.max(radial, axis=0) ** 3, where=way > 0) ** (1 / 3)
    moment = None
    if forces.shoulder_moment is not None:
        moment = np.linalg.norm(forces.shoulder_moment, axis=2).max(axis=0)
    return BearingLoads(radial.max(axis=0), mean, np.abs(axial).max(axis=0), moment)


def _struts(robot: Robot, forces: ConstraintLoads, half_angle: float) -> StrutLoads:
    rods = forces.rods
    if rods is None:
        split = np.array([1 / strut.rods for strut in robot.struts])
        most, least = forces.axial_max.max(axis=0), forces.axial_min.min(axis=0)
        pair = ((split * most)[:, None], (split * least)[:, None])
        return StrutLoads(*pair, None, None, None, None, half_angle)
    _, pin = arm_axes(robot)
    outward = np.stack([pin, -pin], axis=1)  # (3, 2, 3)
    preloads = float(rods.preload_elbow.max()), float(rods.preload_platform.max())
    elbow, platform = (
        np.linalg.norm(force + preload * outward, axis=3).max(axis=0)
        for force, preload in zip((rods.elbow, rods.platform), preloads, strict=True)
    )
    most, least = rods.axial_max.max(axis=0), rods.axial_min.min(axis=0)
    return StrutLoads(most, least, elbow, platform, *preloads, half_angle)


# The loads of a motion in words and as a dictionary.


#: Field, words and unit, in the order of the tables.
DRIVE_ROWS = (
    ("torque_peak", "torque, peak", "N m"),
    ("torque_rms", "torque, RMS", "N m"),
    ("speed_peak", "speed, peak", "rad/s"),
    ("power_peak", "power drawn, peak", "W"),
    ("power_returned", "power returned, peak", "W"),
    ("energy_drawn", "energy drawn", "J"),
    ("energy_returned", "energy returned", "J"),
)
BEARING_ROWS = (
    ("radial_peak", "shoulder, radial, peak", "N"),
    ("radial_mean", "shoulder, radial, cubic mean", "N"),
    ("axial_peak", "shoulder, axial, peak", "N"),
    ("moment_peak", "shoulder, tilting, peak", "N m"),
)
MOTOR_ROWS = (
    ("torque_peak", "motor torque, peak", "N m"),
    ("torque_rms", "motor torque, RMS", "N m"),
    ("speed_peak", "motor speed, peak", "rad/s"),
)
UNITS = {"N m": "Nm", "rad/s": "rad_per_s", "W": "W", "J": "J", "N": "N"}
ROUNDING = 1e-9  # N, N m, W, J: what symmetry makes zero
WIDE, UNIT, CELL = 32, 7, 11


def drive_lines(found: MotionLoads) -> list[str]:
    """The table of the drives."""
    axes = [f"axis {name}" for name in found.robot.axis_names()]
    head = _row("drives, at the output side", "unit", axes)
    return [head, *_row_lines(found.drives, drive_rows(found.robot))]


def drive_rows(robot: Robot) -> list[tuple[str, str, str]]:
    """`DRIVE_ROWS` in the units of the robot's first axis: force and m/s on rails."""
    return [
        (
            field,
            words.replace("torque", "force") if robot.linear else words,
            on_axis(unit, robot.linear),
        )
        for field, words, unit in DRIVE_ROWS
    ]


def _row_lines(loads: object, rows: Iterable[tuple[str, str, str]]) -> list[str]:
    known = [(row, values) for row in rows if (values := getattr(loads, row[0])) is not None]
    return [_row(f"  {words}", unit, _numbers(values)) for (_, words, unit), values in known]


def arm_lines(found: MotionLoads) -> list[str]:
    """The table of bearings, rods and ball joints, a column per arm."""
    lines = [_row("arms", "unit", (f"arm {name}" for name in limb_names(found.robot)))]
    lines += _row_lines(found.bearings, BEARING_ROWS)
    struts = found.struts
    both = struts.rod_max.shape[1] == 2
    for r in range(struts.rod_max.shape[1]):
        name = f"rod {r + 1}" if both else "rod, share of its pair"
        lines.append(_row(f"  {name}, most tension", "N", _numbers(struts.rod_max[:, r])))
        lines.append(_row(f"  {name}, least tension", "N", _numbers(struts.rod_min[:, r])))
    for place, balls in (("elbow", struts.ball_elbow), ("platform", struts.ball_platform)):
        if balls is not None:
            lines.append(_row(f"  ball joints, {place}, peak", "N", _numbers(balls.max(axis=1))))
    return lines


def _preload_line(found: MotionLoads) -> str:
    struts = found.struts
    if struts.preload is None:
        return f"  preload: not known, because {found.constraint.undetermined['rods']}"
    return (
        f"  preload needed in cups of {math.degrees(struts.cup_half_angle):g} deg: "
        f"{struts.preload_elbow:.4g} N at the elbows, {struts.preload_platform:.4g} N at the "
        "platform"
    )


def _rows_dict(
    loads: object, rows: Iterable[tuple[str, str, str]]
) -> dict[str, list[float] | None]:
    values = {f"{field}_{UNITS[unit]}": getattr(loads, field) for field, _, unit in rows}
    return {key: None if value is None else value.tolist() for key, value in values.items()}


def limits_dict(report: LimitReport) -> dict[str, Any]:
    """Every limit of a report by its name, and whether all are kept."""
    rows = {
        row.name: {
            "worst": _json(row.worst),
            "allowed": row.allowed,
            "unit": row.unit,
            "margin": _json(row.margin),
            "use": _json(row.use),
            "time_s": row.time,
            "axis": row.axis,
            "status": row.status,
        }
        for row in report.limits
    }
    return {"ok": report.ok, "share": report.share, "summary": report.summary, "rows": rows}


def _json(value: float | None) -> float | None:
    """JSON has no infinity: what is not finite is null."""
    return value if value is not None and math.isfinite(value) else None


def _numbers(values: Iterable[float]) -> list[str]:
    return [_number(value) for value in values]


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) > ROUNDING else "0"


def _row(words: str, unit: str, cells: Iterable[str]) -> str:
    return f"{words:<{WIDE}}{unit:<{UNIT}}" + "".join(f"{cell:>{CELL}}" for cell in cells)
