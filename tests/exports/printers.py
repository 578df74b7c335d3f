"""Readers of printers' configurations, with each firmware's kinematics, apart from the exports.

Written from the firmwares' sources and references: Klipper v0.13.0-730-g84104bb, Marlin 2.1.2.4,
RepRapFirmware 3.5.3. Lengths are in mm; a motor's position is mm above the bed for a tower, and
the arm's angle upward from the horizontal for an arm, in rad (Klipper) or deg (RepRapFirmware).
"""

from __future__ import annotations

import configparser
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Solve = Callable[[Array, Array], Array]  # knees (3, 3) and rods (3,) to a point
PLACES = np.array([210.0, 330.0, 90.0])


@dataclass(frozen=True, eq=False)
class Printer:
    """`motors(point)` and `tool(motors)` of a firmware, and `home`, its motors at the end stops."""

    motors: Callable[[Array], Array]
    tool: Callable[[Array], Array]
    home: Array
    degrees: float = 1.0  # of an angle in deg: what a motor's unit is


def read_klipper(text: str) -> Printer:
    """A printer.cfg with kinematics delta or rotary_delta."""
    file = configparser.RawConfigParser(strict=False, inline_comment_prefixes=(";", "#"))
    file.read_string(text)
    printer, steppers = file["printer"], [file[f"stepper_{name}"] for name in "abc"]

    def each(name: str) -> Array:
        return np.array([float(section[name]) for section in steppers])

    angle, stops = np.radians(each("angle")), each("position_endstop")
    if printer["kinematics"] == "delta":
        radius, rods = float(printer["delta_radius"]), each("arm_length")
        assert (rods > radius).all()  # it takes no other
        return _towers(_at(angle, np.full(3, radius)), rods, stops + np.sqrt(rods**2 - radius**2))
    assert printer["kinematics"] == "rotary_delta"
    radius, height = float(printer["shoulder_radius"]), float(printer["shoulder_height"])
    upper, lower = each("upper_arm_length"), each("lower_arm_length")
    for section in steppers:
        teeth, other = section["gear_ratio"].split(":")  # must be there
        assert float(teeth) / float(other) > 0

    def theta(arm: int, point: Array) -> float:
        """By elbow_y = c1 - c2 elbow_x and the outer of the two elbows."""
        x = math.cos(angle[arm]) * point[0] + math.sin(angle[arm]) * point[1] - radius
        aside = math.cos(angle[arm]) * point[1] - math.sin(angle[arm]) * point[0]
        y = point[2] - height
        rod2 = lower[arm] ** 2 - aside**2
        c1, c2 = (x * x + y * y + upper[arm] ** 2 - rod2) / (2 * y), x / y
        scale = c2 * c2 + 1
        out = (c1 * c2 + math.sqrt(scale * upper[arm] ** 2 - c1 * c1)) / scale
        return math.atan2(c1 - c2 * out, out)

    def tool(motors: Array) -> Array:
        reach = radius + upper * np.cos(motors)
        up = height + upper * np.sin(motors)
        return _spheres(np.column_stack([_at(angle, reach), up]), lower)

    home = np.array([theta(arm, np.array([0.0, 0.0, z])) for arm, z in enumerate(stops)])
    return Printer(
        lambda point: np.array([theta(arm, point) for arm in range(3)]), tool, home, math.pi / 180
    )


def read_marlin(text: str) -> Printer:
    """A Configuration.h with DELTA."""
    defines: dict[str, list[float]] = {}
    for line in text.splitlines():
        found = re.match(r"#define (\w+)(.*)", line.partition("//")[0])
        if found:
            defines[found[1]] = [float(x) for x in found[2].strip(" {}").split(",") if x.strip()]
    assert "DELTA" in defines
    angle = np.radians(PLACES + defines["DELTA_TOWER_ANGLE_TRIM"])
    radii = defines["DELTA_RADIUS"] + np.array(defines["DELTA_RADIUS_TRIM_TOWER"])
    rods = defines["DELTA_DIAGONAL_ROD"] + np.array(defines["DELTA_DIAGONAL_ROD_TRIM_TOWER"])
    adjust = np.array(defines["DELTA_ENDSTOP_ADJ"])
    assert adjust.max() <= 0  # M666 takes no other: a carriage runs back down from its switch
    home = defines["DELTA_HEIGHT"] + np.sqrt(rods**2 - radii**2)
    return _towers(_at(angle, radii), rods, home - adjust)


def read_reprap(text: str) -> Printer:
    """A config.g with M665 (linear delta) or M669 K10 (rotary delta), and M666."""
    lines: dict[str, dict[str, list[float]]] = {}
    for line in text.splitlines():
        code, *words = line.partition(";")[0].split() or [""]
        number = r"-?\d+(\.\d+)?"
        assert all(re.fullmatch(rf"[A-Z]{number}(:{number})*", word) for word in words), line
        lines[code] = {word[0]: [float(x) for x in word[1:].split(":")] for word in words}
    adjust = np.array([lines["M666"][name][0] for name in "XYZ"])
    if "M665" in lines:
        given = lines["M665"]
        angle = np.radians(PLACES + [given[name][0] for name in "XYZ"])
        rods, radius = np.array(given["L"]), given["R"][0]
        home = given["H"][0] + np.sqrt(rods**2 - radius**2) + adjust
        return _towers(_at(angle, np.full(3, radius)), rods, home, _by_height)
    given = lines["M669"]
    assert given["K"] == [10.0]
    angle = np.radians(PLACES + [given[name][0] for name in "XYZ"])
    (arm,), (radius,) = given["U"], given["R"]
    rod, heights = np.array(given["L"]), np.array(given["H"])

    def motors(point: Array) -> Array:
        """By a cos + b sin = c, and the arc sine of its lower root."""
        x = np.cos(angle) * point[0] + np.sin(angle) * point[1]
        y = np.cos(angle) * point[1] - np.sin(angle) * point[0]
        out, up = radius - x, heights - point[2]
        a, b = 2 * arm * out, 2 * arm * up
        c = rod**2 - arm**2 - up**2 - out**2 - y**2
        sine = (b * c - a * np.sqrt(a**2 + b**2 - c**2)) / (a**2 + b**2)
        return np.asarray(np.degrees(np.arcsin(sine)))

    def tool(motors: Array) -> Array:
        theta = np.radians(motors)
        up = heights + arm * np.sin(theta)
        knees = np.column_stack([_at(angle, radius + arm * np.cos(theta)), up])
        return _by_height(knees, rod)

    return Printer(motors, tool, given["A"][1] + adjust)


def _towers(places: Array, rods: Array, home: Array, solve: Solve | None = None) -> Printer:
    """Towers at places (3, 2) with carriages at heights."""
    lower = solve or _spheres

    def motors(point: Array) -> Array:
        away = np.sum((places - point[:2]) ** 2, axis=1)
        return np.asarray(point[2] + np.sqrt(rods**2 - away))

    return Printer(motors, lambda high: lower(np.column_stack([places, high]), rods), home)


def _at(angle: Array, radius: Array) -> Array:
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def _spheres(knees: Array, rods: Array) -> Array:
    """Klipper and Marlin: axes along the knees; below them if these run counter-clockwise."""
    first, second, third = knees
    d = np.linalg.norm(second - first)
    ex = (second - first) / d
    i = ex @ (third - first)
    ey = third - first - i * ex
    j = np.linalg.norm(ey)
    ey = ey / j
    x = (rods[0] ** 2 - rods[1] ** 2 + d**2) / (2 * d)
    y = (rods[0] ** 2 - rods[2] ** 2 - x**2 + (x - i) ** 2 + j**2) / (2 * j)
    z = -math.sqrt(rods[0] ** 2 - x**2 - y**2)
    return np.asarray(first + x * ex + y * ey + z * np.cross(ex, ey))


def _by_height(knees: Array, rods: Array) -> Array:
    """RepRapFirmware: x and y are linear in z, and the lower root is taken."""
    square = np.sum(knees**2, axis=1) - rods**2
    rows, right = 2 * (knees[1:] - knees[0]), square[1:] - square[0]
    flat = np.linalg.solve(rows[:, :2], np.column_stack([right, -rows[:, 2]]))  # (2, 2): 1, z
    start, slope = np.append(flat[:, 0], 0.0), np.append(flat[:, 1], 1.0)
    gap = start - knees[0]
    a, half, c = slope @ slope, slope @ gap, gap @ gap - rods[0] ** 2
    return np.asarray(start + slope * (-half - math.sqrt(half**2 - a * c)) / a)
