"""Sheets of rails and of the plane: the sheets' check points close the loops."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from tests.family.robots import make

from deltadyn.exports.sheets import README, files
from deltadyn.robot.bodies import RailGeometry

Array = npt.NDArray[np.float64]


def test_controllers_of_rails_have_geometry_and_check_points() -> None:
    robot = make("vertical")
    robot = robot.replace(geometry=replace(robot.geometry, rod_spacing=0.04))
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
