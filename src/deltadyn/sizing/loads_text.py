"""The loads of a motion in words and as a dictionary."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from deltadyn.motion.limit_report import LimitReport
from deltadyn.sizing.loads import MotionLoads

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
UNITS = {"N m": "Nm", "rad/s": "rad_per_s", "W": "W", "J": "J", "N": "N"}
ROUNDING = 1e-9  # N, N m, W, J: what symmetry makes zero
WIDE, UNIT, CELL = 32, 7, 11


def loads_text(found: MotionLoads) -> str:
    """Tables with units, and the margin to every limit."""
    robot, motion = found.robot, found.motion
    without, with_all = found.mean_power
    lines = [
        f"{robot.name}, payload {robot.payload.mass:g} kg, motion of {motion.duration:.4g} s "
        f"({found.cycles_per_minute:.4g} a minute), model {found.model!r}",
        "",
        *drive_lines(found),
        f"  mean power of all drives: {_number(without)} W, or {_number(with_all)} W where what is "
        "returned is used",
        "",
        *arm_lines(found),
        "",
        *_preload_lines(found),
    ]
    if found.spindle_upper is not None and found.spindle_lower is not None:
        lines.append(
            f"  spindle, largest joint force: {found.spindle_upper:.4g} N at the base, "
            f"{found.spindle_lower:.4g} N at the platform"
        )
    return "\n".join([*lines, "", str(found.limits)])


def drive_lines(found: MotionLoads) -> list[str]:
    """The table of the drives."""
    lines = [_row("drives, at the output side", "unit", _axes(found))]
    for field, words, unit in DRIVE_ROWS:
        lines.append(_row(f"  {words}", unit, _numbers(getattr(found.drives, field))))
    return lines


def arm_lines(found: MotionLoads) -> list[str]:
    """The table of bearings, rods and ball joints, a column per arm."""
    lines = [_row("arms", "unit", (f"arm {k}" for k in (1, 2, 3)))]
    for field, words, unit in BEARING_ROWS:
        lines.append(_row(f"  {words}", unit, _numbers(getattr(found.bearings, field))))
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


def _preload_lines(found: MotionLoads) -> list[str]:
    struts = found.struts
    if struts.preload is None:
        return [
            "  preload: not known, because the robot names no geometry.rod_spacing",
        ]
    angle = math.degrees(struts.cup_half_angle)
    return [
        f"  preload needed in cups of {angle:g} deg: {struts.preload_elbow:.4g} N at the elbows, "
        f"{struts.preload_platform:.4g} N at the platform"
    ]


def loads_dict(found: MotionLoads) -> dict[str, Any]:
    """Every number with its unit in the key."""
    drives = {
        f"{field}_{UNITS[unit]}": getattr(found.drives, field).tolist()
        for field, _, unit in DRIVE_ROWS
    }
    bearings = {
        f"{field}_{UNITS[unit]}": getattr(found.bearings, field).tolist()
        for field, _, unit in BEARING_ROWS
    }
    struts = found.struts
    without, with_all = found.mean_power
    balls = {"ball_elbow_N": struts.ball_elbow, "ball_platform_N": struts.ball_platform}
    return {
        "robot": found.robot.name,
        "payload_kg": found.robot.payload.mass,
        "model": found.model,
        "duration_s": found.motion.duration,
        "cycles_per_minute": found.cycles_per_minute,
        "axes": list(found.robot.axis_names()),
        "drives": drives,
        "mean_power_W": without,
        "mean_power_with_returned_W": with_all,
        "bearings": bearings,
        "struts": {
            "rod_max_N": struts.rod_max.tolist(),
            "rod_min_N": struts.rod_min.tolist(),
            **{key: None if value is None else value.tolist() for key, value in balls.items()},
            "preload_elbow_N": struts.preload_elbow,
            "preload_platform_N": struts.preload_platform,
            "cup_half_angle_rad": struts.cup_half_angle,
        },
        "spindle_upper_N": found.spindle_upper,
        "spindle_lower_N": found.spindle_lower,
        "limits": limits_dict(found.limits),
    }


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


def _axes(found: MotionLoads) -> list[str]:
    return [f"axis {name}" for name in found.robot.axis_names()]


def _numbers(values: Iterable[float]) -> list[str]:
    return [_number(value) for value in values]


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) > ROUNDING else "0"


def _row(words: str, unit: str, cells: Iterable[str]) -> str:
    return f"{words:<{WIDE}}{unit:<{UNIT}}" + "".join(f"{cell:>{CELL}}" for cell in cells)
