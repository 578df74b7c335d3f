"""Sheets of rails and of the plane: each firmware's own formula gives our numbers."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.family.robots import make

import deltadyn as dd
from deltadyn.errors import DeltadynError
from deltadyn.exports.sheets import README, files
from deltadyn.robot import Robot
from deltadyn.robot.bodies import RailGeometry

Array = npt.NDArray[np.float64]
KLIPPER, MARLIN, REPRAP = "klipper-delta.cfg", "marlin-delta.h", "reprapfirmware-delta.g"
TOP = 0.55  # m: where the end stops are


def printer(**geometry: Any) -> Robot:
    """A printer with end stops, and other geometry where it is given."""
    robot = make("vertical")
    limits = replace(robot.limits, angle_min=-0.1, angle_max=(TOP, TOP - 0.002, TOP - 0.003))
    own = replace(robot.geometry, rod_spacing=0.04, **geometry)
    return robot.replace(geometry=own, limits=limits)


def uneven() -> Robot:
    """Rods and towers of their own, numbered clockwise, with rails that begin at heights."""
    return printer(
        strut_length=(0.5, 0.502, 0.499),
        azimuth=tuple(np.radians([40.0, 281.0, 159.0])),
        rail_height=(0.0, 0.01, -0.005),
    )


def carriages(point: Array, towers: Array, rods: Array) -> Array:
    """The one formula that the firmwares share: heights of the carriages above the bed (mm)."""
    away = towers - point[:2]
    return np.asarray(point[2] + np.sqrt(rods**2 - np.sum(away**2, axis=1)))


def at(degrees: Array, radius: Array) -> Array:
    turn = np.radians(degrees)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1)


def numbers(text: str, name: str) -> list[float]:
    row = re.search(rf"^(?:#define )?{name}:? *\{{?([-\d., ]+)", text, re.M)
    assert row is not None, name
    return [float(x) for x in row[1].split(",") if x.strip()]


def of_klipper(text: str) -> tuple[Array, Array, Array]:
    """Towers, rods and heights of the end stops, by klippy/kinematics/delta.py's definitions."""
    (radius,) = numbers(text, "delta_radius")
    parts = text.split("[stepper_")[1:]
    rods = np.array([numbers(part, "arm_length")[0] for part in parts])
    angles = np.array([numbers(part, "angle")[0] for part in parts])
    stops = np.array([numbers(part, "position_endstop")[0] for part in parts])
    return at(angles, np.full(3, radius)), rods, stops + np.sqrt(rods**2 - radius**2)


def of_marlin(text: str) -> tuple[Array, Array, Array]:
    """The same by Marlin's delta.cpp: towers next to 210, 330 and 90 degrees, with trims."""
    (rod,), (radius,) = numbers(text, "DELTA_DIAGONAL_ROD"), numbers(text, "DELTA_RADIUS")
    angles = np.array([210.0, 330.0, 90.0]) + numbers(text, "DELTA_TOWER_ANGLE_TRIM")
    radii = radius + np.array(numbers(text, "DELTA_RADIUS_TRIM_TOWER"))
    rods = rod + np.array(numbers(text, "DELTA_DIAGONAL_ROD_TRIM_TOWER"))
    (height,), adjust = numbers(text, "DELTA_HEIGHT"), numbers(text, "DELTA_ENDSTOP_ADJ")
    assert max(adjust) <= 0  # M666 takes no other
    home = height + np.sqrt(rods**2 - radii**2)
    return at(angles, radii), rods, home - adjust


def of_reprap(text: str) -> tuple[Array, Array, Array]:
    """The same by RepRapFirmware's linear delta: M665 and M666."""
    line = re.search(r"^M665 L([\d.:]+) R(\S+) H(\S+) B(\S+) X(\S+) Y(\S+) Z(\S+)$", text, re.M)
    stops = re.search(r"^M666 X(\S+) Y(\S+) Z(\S+)$", text, re.M)
    assert line is not None
    assert stops is not None
    rods = np.array([float(x) for x in line[1].split(":")])
    radius, height = float(line[2]), float(line[3])
    angles = np.array([210.0, 330.0, 90.0]) + [float(x) for x in line.groups()[4:]]
    adjust = np.array([float(x) for x in stops.groups()])
    assert abs(adjust.sum()) < 1e-5
    home = height + np.sqrt(rods**2 - radius**2) + adjust
    return at(angles, np.full(3, radius)), rods, home


READERS = {KLIPPER: of_klipper, MARLIN: of_marlin, REPRAP: of_reprap}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("make_robot", [printer, uneven])
def test_the_firmwares_formula_gives_our_positions(name: str, make_robot: object) -> None:
    robot: Robot = make_robot()  # type: ignore[operator]
    text = files(robot)[name]
    towers, rods, stops = READERS[name](text)
    turn, bed = re.search(r"Rz\((\S+) deg\) p \+ \(0, 0, (\S+) mm\)", text).groups()  # type: ignore[union-attr]
    order = re.search(r"our limbs (\d), (\d), (\d)", text).groups()  # type: ignore[union-attr]
    limbs = [int(x) - 1 for x in order]
    c, s = math.cos(math.radians(float(turn))), math.sin(math.radians(float(turn)))
    rng = np.random.default_rng(2)
    p = rng.uniform([-0.1, -0.1, -0.2], [0.1, 0.1, 0.1], (50, 3))
    lift = np.array([frame.shoulder[2] for frame in robot.geometry.frames])
    heights = (dd.inverse_kinematics(robot, p) + lift) * 1e3 + float(bed)
    turned = p @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) * 1e3
    turned[:, 2] += float(bed)
    for point, wanted in zip(turned, heights[:, limbs], strict=True):
        # six decimals of a mm in the sheet
        np.testing.assert_allclose(carriages(point, towers, rods), wanted, atol=1e-5)
    tops = (np.array(robot.limits.angle_max) + lift) * 1e3 + float(bed)
    np.testing.assert_allclose(stops, tops[limbs], atol=1e-5)


def test_a_printers_drive_and_what_is_not_known() -> None:
    text = files(printer())[KLIPPER]
    assert numbers(text, "rotation_distance")[0] == pytest.approx(2 * math.pi * 20.0, abs=1e-5)
    robot = printer()
    blind = robot.replace(limits=replace(robot.limits, angle_min=None, angle_max=None))
    for name in READERS:
        text = files(blind)[name]
        assert "limits.position_max of the robot file is not given" in text
        assert not re.search(r"^(position_endstop|#define DELTA_HEIGHT|M666)", text, re.M)


def test_towers_at_other_distances_are_for_marlin_alone() -> None:
    """The others get the nearest robot that they hold, and say how far off it is."""
    robot = printer(base_radius=(0.3, 0.301, 0.3))
    written = files(robot)
    for name in (KLIPPER, REPRAP):
        off = re.search(r"nearest here: off by (\S+) mm rms, (\S+) mm worst", written[name])
        assert off is not None
        assert 0.01 < float(off[1]) < float(off[2]) < 0.5
    assert "Klipper has one delta_radius" in written[README]
    assert "nearest" not in written[MARLIN]
    towers, rods, _ = of_marlin(written[MARLIN])
    np.testing.assert_allclose(np.hypot(*towers.T), [240.0, 241.0, 240.0], atol=1e-6)
    np.testing.assert_allclose(rods, 500.0)


def test_inclined_rails_have_no_sheet() -> None:
    with pytest.raises(DeltadynError, match=r"rail_pitch is .* vertical towers alone") as caught:
        files(make("rails"))
    for name in ("Klipper", "Marlin", "RepRapFirmware", "Kin_Tripod_Linear", "3D-Tripod"):
        assert name in str(caught.value)


def test_controllers_of_rails_have_geometry_and_check_points() -> None:
    robot = printer()
    written = files(robot)
    codesys = written["codesys-kin-tripod-linear.st"]
    for name, value in (("dOuterRadius", 300.0), ("dInnerRadius", 60.0), ("dLength", 500.0)):
        assert f"{name} := {value}" in codesys
    assert "NOT VERIFIED" in codesys
    twincat = written["twincat-3d-tripod-type-1.txt"]
    rows = re.findall(r"^Rail \d ([XY])-position += (\S+) mm", twincat, re.M)
    places = np.array([float(value) for _, value in rows]).reshape(3, 2)
    np.testing.assert_allclose(np.hypot(*places.T), 300.0, rtol=1e-8)
    number = r"(-?\d+\.\d+)"
    triple = rf"{number}, {number}, {number}"
    for text, sign in ((codesys, -1.0), (twincat, 1.0)):
        found = np.array(re.findall(rf"^\s+{triple}   {triple}$", text, re.M), dtype=float)
        assert found.shape == (3, 6)
        # the sphere of a rod about each carriage's joint, less the platform's
        for x, y, z, *axes in found:
            joints = places * (240.0 / 300.0)
            gap = (x - joints[:, 0]) ** 2 + (y - joints[:, 1]) ** 2
            gap = gap + (z - sign * np.array(axes)) ** 2
            np.testing.assert_allclose(np.sqrt(gap), 500.0, atol=1e-3)
    assert isinstance(robot.geometry, RailGeometry)
    assert "moved by carriages on vertical rails" in written[README]


def test_the_planar_sheet_closes_both_loops() -> None:
    written = files(make("planar"))
    text = written["twincat-2d-kinematics-type-2.txt"]
    values = dict(re.findall(r"^([\w ]+?) += (\S+) mm", text, re.M))
    inner, outer, base, link = (
        float(values[name])
        for name in ("Inner arm length", "Outer arm length", "Displacement", "TCP link distance")
    )
    rows = re.findall(r"^\s+(-?\d+\.\d+), (-?\d+\.\d+)\s+(-?\d+\.\d+), (-?\d+\.\d+)$", text, re.M)
    assert len(rows) == 3
    for row in np.array(rows, dtype=float):
        x, z, q = row[0], row[1], np.radians(row[2:])
        for side, angle in ((1.0, q[0]), (-1.0, q[1])):
            elbow = side * (base + inner * math.cos(angle)), -inner * math.sin(angle)
            rod = math.hypot(x + side * link / 2 - elbow[0], z - elbow[1])
            assert rod == pytest.approx(outer, abs=1e-3)
    assert "Kin_Bipod_Rotary" in written[README]
