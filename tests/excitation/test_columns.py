"""The regressor over components: the very columns of the model, and exact derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from tests.excitation.cases import ABB, D3, with_all_friction

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.dynamics.base import exciting_states
from deltadyn.dynamics.parameters import exact_parameters
from deltadyn.excitation.columns import exact_regressor, exact_values, joint_angles, pose_of
from deltadyn.excitation.problem import STEP
from deltadyn.robot import Robot

ROUNDING = 1e-12  # of a column: the same closed forms in another order


def stacked(state: dd.State) -> FloatArray:
    """p, pd, pdd as (3 dof, 1, N)."""
    return np.concatenate([state.p.T, state.pd.T, state.pdd.T])[:, None]


def columns_of(robot: Robot, x: FloatArray, tied: bool) -> FloatArray:
    """Y (N, dof, n) by the lean path."""
    Y = exact_regressor(robot, pose_of(robot, x), tied=tied)
    return np.real(Y[:, :, 0]).transpose(2, 1, 0)


@pytest.mark.parametrize("smoothing", [None, 0.3])
@pytest.mark.parametrize("name", dd.robot_names())
def test_columns_are_those_of_the_regressor(name: str, smoothing: float | None) -> None:
    robot = with_all_friction(dd.load_robot(name), smoothing)
    state = exciting_states(robot, 20)
    for tied in {robot.equal_limbs, False}:
        expected = dd.regressor(robot, state, tied=tied)
        found = columns_of(robot, stacked(state), tied)
        size = np.abs(expected.Y).max(axis=(0, 1))
        assert found.shape == expected.Y.shape
        assert (np.abs(found - expected.Y) <= ROUNDING * size).all()
        inertial = exact_values(exact_parameters(robot), tied)
        np.testing.assert_allclose(inertial, expected.parameters[: len(inertial)], rtol=1e-15)


@pytest.mark.parametrize("robot", [D3, ABB], ids=lambda robot: robot.name)
def test_complex_steps_are_derivatives(robot: Robot) -> None:
    robot = with_all_friction(robot, 0.5)
    state = exciting_states(robot, 6)
    x = stacked(state)
    size = len(x)
    steps = np.repeat(x.astype(complex), size, axis=1)
    steps[np.arange(size), np.arange(size)] += 1j * STEP
    pose = pose_of(robot, steps)
    Y = exact_regressor(robot, pose, tied=robot.equal_limbs)
    angles = joint_angles(robot, pose)
    widths = np.repeat([1e-6, 1e-5, 1e-4], robot.dof)
    for direction, width in enumerate(widths):
        ends = []
        for sign in (1.0, -1.0):
            moved = x.copy()
            moved[direction] += sign * width
            p, pd, pdd = np.split(moved[:, 0], 3)
            at = dd.State.from_platform(robot, p.T, pd.T, pdd.T)
            ends.append((dd.regressor(robot, at).Y, at.q))
        slope = (ends[0][0] - ends[1][0]) / (2 * width)
        exact = np.imag(Y[:, :, direction]).transpose(2, 1, 0) / STEP
        scale = np.abs(exact).max(axis=(0, 1)) + np.abs(np.real(Y)).max(axis=(1, 2, 3))
        # central differences: rounding 1e-16 / 1e-6, curvature of tanh(qd / 0.5) 1e-10 / 0.5^2
        assert (np.abs(exact - slope) <= 2e-7 * scale).all()
        turn = (ends[0][1] - ends[1][1]) / (2 * width)
        np.testing.assert_allclose(np.imag(angles[:, direction]).T / STEP, turn, atol=1e-7)


def test_out_of_reach_the_columns_stay_finite() -> None:
    x = np.zeros((9, 1, 3))
    x[2, 0] = [-0.8, -1.4, -2.0]  # the arms reach down to about -1.26
    pose = pose_of(D3, x)
    Y = exact_regressor(D3, pose, tied=True)
    assert np.isfinite(Y).all()
    sine = pose.d[:, 0] / (0.375 * 0.9)
    assert (np.diff(sine, axis=1) < 0).all()  # further out is worse: a search finds its way back
