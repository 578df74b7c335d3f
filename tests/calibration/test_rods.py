"""Rods of a pair that differ: the platform tilts, and a fit that knows it finds by how much."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.calibration.machines import Array, about

import deltadyn as dd
from deltadyn.calibration import Geometric, Positions
from deltadyn.calibration.measurements import turned
from deltadyn.errors import InputError
from deltadyn.robot import Robot

ROBOT = dd.load_robot("sipro-d3-1200")
TOOL = np.array([0.03, -0.02, -0.08])
SIGMA = 2e-5


def six_rods(robot: Robot, rods: Array, q: Array) -> tuple[Array, Array]:
    """Tool points (N, 3) and turns (N, 3) with six rods of their own: Newton on p and R.

    Written by itself: nothing of the library but the robot's numbers.
    """
    g = robot.rotary
    assert g.rod_spacing is not None
    points, turns = [], []
    for angles in q:
        ends, held, lengths = [], [], []
        for i in range(3):
            base = about(2, g.azimuth[i])
            elbow = base @ (
                np.array([g.base_radius[i], 0, 0])
                + g.arm_length[i] * np.array([np.cos(angles[i]), 0, -np.sin(angles[i])])
            )
            joint = base @ np.array([g.platform_radius[i], 0, 0])
            for sign in (1.0, -1.0):
                aside = sign * g.rod_spacing / 2 * (base @ np.array([0, 1.0, 0]))
                ends.append(elbow + aside)
                held.append(joint + aside)
                lengths.append(g.strut_length[i] + sign * rods[i])
        p, turn = np.array([0, 0, -0.8]), np.eye(3)
        for _ in range(60):
            arms = np.array([turn @ joint for joint in held])
            s = p + arms - np.array(ends)
            size = np.linalg.norm(s, axis=1)
            u = s / size[:, None]
            rows = np.hstack([u, np.cross(arms, u)])
            step = np.linalg.solve(rows, np.array(lengths) - size)
            p, turn = p + step[:3], turned(step[3:]) @ turn
            if np.abs(step).max() < 1e-14:
                break
        points.append(p + turn @ TOOL)
        turns.append([turn[2, 1], turn[0, 2], turn[1, 0]])
    return np.array(points), np.array(turns)


@pytest.fixture(scope="module")
def plan() -> dd.calibration.CalibrationPlan:
    return dd.plan_calibration(ROBOT, "tracker", 40)


def test_points_and_turns_are_those_of_six_rods(plan: dd.calibration.CalibrationPlan) -> None:
    """But for the second order: 0.05 mm in a rod turns the platform by 1 mrad."""
    geometric = Geometric(ROBOT, rods=True)
    assert geometric.count == 27
    rods = np.array([5e-5, -2.5e-5, 4e-5])
    x = np.zeros(geometric.count)
    x[[k for k, item in enumerate(geometric.parameters) if item.kind == "rod"]] = rods
    points, turns = six_rods(ROBOT, rods, plan.q)
    found = geometric.slopes(x, plan.q, TOOL)[0] + TOOL
    plain = geometric.slopes(0 * x, plan.q, TOOL)[0] + TOOL
    assert np.abs(plain - points).max() > 5e-5
    np.testing.assert_allclose(found, points, atol=1.2e-6)
    np.testing.assert_allclose(geometric.turns(x, plan.q), turns, atol=1e-5)


def test_a_fit_finds_the_rods_and_the_rest(plan: dd.calibration.CalibrationPlan) -> None:
    rods = np.array([2e-4, -1e-4, 1.5e-4])
    points, _ = six_rods(ROBOT, rods, plan.q)
    noise = np.random.default_rng(1).normal(0, SIGMA, points.shape)
    measured = Positions(plan.q, points + noise, SIGMA, tool=TOOL)
    own = dd.calibrate(ROBOT, measured, rods=True, model="all")
    without = dd.calibrate(ROBOT, measured, model="all")
    assert without.reduced_chi > 1.3  # which tells that something is missing
    assert own.reduced_chi < 1.15
    geometric = own.solution.geometric
    std = np.sqrt(np.diag(own.solution.x_covariance))[geometric._of_rods]
    off = geometric.of_kind(own.solution.x, "rod") - rods
    assert (np.abs(off) < 4 * std + 5e-6).all()


def test_it_needs_the_spacing_of_the_rods() -> None:
    blind = ROBOT.replace(geometry=replace(ROBOT.geometry, rod_spacing=None))
    with pytest.raises(InputError, match="rod_spacing"):
        Geometric(blind, rods=True)
