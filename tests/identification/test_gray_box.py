"""The gray box: factors by a grid that meets least squares, friction, and what it refuses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import inverse_dynamics
from deltadyn.errors import InputError
from deltadyn.identification.methods.gray_box import MEETING, Grid, _grid_problem, gray_box, search
from deltadyn.kinematics import State
from deltadyn.motion import Motion, y1, y2, y3
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot
from deltadyn.robot.settings import GrayBox

D3 = load_robot("sipro-d3-1200")
TELESCOPIC = load_robot("telescopic-delta")
MOTIONS: tuple[Motion, ...] = (
    y1(D3, picks=1, rate=400),
    y2(D3, rate=400),
    y3(D3, rate=400, dwell=0.1),
)
TRUE = D3.replace(gray_box=GrayBox(4.2, 0.7)).with_friction(
    viscous=(1.6, 1.2, 1.5), coulomb=(4.5, 3.5, 4.3)
)


def torques(robot: Robot, *, friction: bool, noise: float = 0.0) -> list[tuple[State, FloatArray]]:
    rng = np.random.default_rng(5)
    pairs: list[tuple[State, FloatArray]] = []
    for motion in MOTIONS:
        tau = inverse_dynamics(robot, motion, "gray-box", friction=friction)
        pairs.append((motion, tau + rng.normal(0.0, noise or 1e-300, tau.shape)))
    return pairs


def test_factors_of_the_model_itself_are_found() -> None:
    found = gray_box(D3, torques(TRUE, friction=False))
    # 2e-6: two spacings of the last grid
    assert found.rho1 == pytest.approx(4.2, abs=2e-6)
    assert found.rho2 == pytest.approx(0.7, abs=2e-6)
    assert found.converged
    assert found.status.startswith("converged: grids of ")
    for fit in found.per_trajectory:
        np.testing.assert_allclose(fit.least_squares, (4.2, 0.7), atol=1e-9)  # roundings
    # what is left is rounding and the spacing times torques of 100 N m
    np.testing.assert_allclose(found.viscous, 0.0, atol=1e-3)
    np.testing.assert_allclose(found.coulomb, 0.0, atol=1e-3)


def test_the_grid_meets_least_squares_and_the_papers_cost() -> None:
    pairs = torques(TRUE, friction=True, noise=2.0)
    found = gray_box(D3, pairs)
    # 1e-5: the cost is flat to rounding over some 1e-7 times the spread of the residual
    assert found.grid_gap < 1e-5
    for (motion, tau), fit in zip(pairs, found.per_trajectory, strict=True):

        def cost(rho1: float, rho2: float, motion: State = motion, tau: FloatArray = tau) -> float:
            robot = D3.replace(gray_box=GrayBox(rho1, rho2))
            error = tau - inverse_dynamics(robot, motion, "gray-box", friction=False)
            return float(np.sqrt(np.mean(error**2)))

        best = cost(fit.rho1, fit.rho2)
        assert best == pytest.approx(fit.rms_after, rel=1e-9)  # eq. 7, by the model itself
        assert cost(1.0, 1.0) == pytest.approx(fit.rms_before, rel=1e-9)
        for step in ((0.01, 0), (-0.01, 0), (0, 0.01), (0, -0.01), (0.01, 0.01), (-0.01, 0.01)):
            assert cost(fit.rho1 + step[0], fit.rho2 + step[1]) > best
    assert found.rho1 == pytest.approx(np.mean([fit.rho1 for fit in found.per_trajectory]))
    assert found.rho2 == pytest.approx(np.mean([fit.rho2 for fit in found.per_trajectory]))


def test_friction_is_what_least_squares_of_the_rest_give() -> None:
    pairs = torques(TRUE, friction=True, noise=0.5)
    found = gray_box(D3, pairs)
    for (motion, tau), fit in zip(pairs, found.per_trajectory, strict=True):
        rest = tau - inverse_dynamics(found.robots["M_Id"], motion, "gray-box")
        for axis in range(3):
            qd = motion.qd[:, axis]
            columns = np.stack([qd, np.sign(qd)], axis=1)
            viscous, coulomb = np.linalg.solve(columns.T @ columns, columns.T @ rest[:, axis])
            assert fit.viscous[axis] == pytest.approx(viscous, rel=1e-9)
            assert fit.coulomb[axis] == pytest.approx(coulomb, rel=1e-9)
    mean = np.mean([fit.coulomb for fit in found.per_trajectory], axis=0)
    np.testing.assert_allclose(found.coulomb, mean)
    # 20 %: rho1 and rho2 are fitted first and take a part of the friction with them
    np.testing.assert_allclose(found.viscous, TRUE.friction.viscous, rtol=0.2)
    np.testing.assert_allclose(found.coulomb, TRUE.friction.coulomb, rtol=0.2)


def test_the_three_models_are_robots_that_predict() -> None:
    pairs = torques(TRUE, friction=True)
    robots = gray_box(D3, pairs).robots
    assert list(robots) == ["M_KH", "M_Id", "M_Id+F"]
    motion, tau = pairs[1]
    plain = inverse_dynamics(robots["M_KH"], motion, "gray-box")
    # 1e-10 N m: roundings of 100 N m
    np.testing.assert_allclose(plain, inverse_dynamics(D3, motion, "half-half"), atol=1e-10)
    rms = [
        float(np.sqrt(np.mean((tau - inverse_dynamics(robot, motion, "gray-box")) ** 2)))
        for robot in robots.values()
    ]
    # rho1 takes the inertia, 4 of friction are left; then what the factors took by mistake
    assert rms[0] > 1.5 * rms[1]
    assert rms[1] > 5 * rms[2]


def test_without_friction_there_are_two_models() -> None:
    found = gray_box(D3, torques(TRUE, friction=True), friction=False)
    assert list(found.robots) == ["M_KH", "M_Id"]
    assert np.isnan(found.viscous).all()
    assert np.isnan(found.coulomb).all()


def test_a_filter_of_both_sides_changes_no_clean_factor() -> None:
    def mean_of_nine(values: FloatArray) -> FloatArray:
        sums = np.cumsum(values, axis=0)
        out: FloatArray = (sums[9::4] - sums[:-9:4]) / 9
        return out

    found = gray_box(D3, torques(TRUE, friction=False), limit=[mean_of_nine] * 3)
    assert found.rho1 == pytest.approx(4.2, abs=2e-6)  # two spacings
    assert found.rho2 == pytest.approx(0.7, abs=2e-6)
    assert found.per_trajectory[0].samples < len(MOTIONS[0]) / 3


def test_negative_friction_is_told_and_kept() -> None:
    pairs = [
        (state, tau - [3.0, 0.0, 0.0] * state.qd) for state, tau in torques(TRUE, friction=True)
    ]
    found = gray_box(D3, pairs)
    assert found.viscous[0] < -0.5
    robot = found.robots["M_Id+F"]
    assert robot.friction.viscous[0] == 0.0
    assert robot.friction.viscous[1] == pytest.approx(found.viscous[1])
    text = f"viscous friction of axis 1 came out as {found.viscous[0]:.3g} N m s/rad"
    assert f"{text}, which would feed energy in: the robot has 0" in found.status
    refitted = robot.friction.coulomb[0]
    assert refitted != pytest.approx(found.coulomb[0], rel=1e-3)
    assert f"Coulomb friction, fitted again alone, is {refitted:.3g} N m" in found.status


def test_friction_that_the_robot_had_is_not_used_and_told() -> None:
    own = D3.with_friction(viscous=9.0, coulomb=9.0)
    pairs = torques(TRUE, friction=True)
    found, plain = gray_box(own, pairs), gray_box(D3, pairs)
    assert found.rho1 == plain.rho1
    np.testing.assert_array_equal(found.viscous, plain.viscous)
    assert "the friction that sipro-d3-1200 had is not used" in found.status
    assert "not used" not in plain.status


def test_a_robot_with_a_spindle() -> None:
    true = TELESCOPIC.replace(gray_box=GrayBox(2.0, 0.8)).with_friction(
        viscous=0.0, coulomb=(0.0, 0.0, 0.0, 0.3)
    )
    motion = y2(TELESCOPIC, rate=400)
    tau = inverse_dynamics(true, motion, "gray-box")
    found = gray_box(true, [(motion, tau)])
    assert found.rho1 == pytest.approx(2.0, abs=2e-6)  # two spacings
    assert found.coulomb[3] == pytest.approx(0.3, abs=1e-9)  # axis 4 has no factor


def test_a_grid_that_is_too_small_is_told() -> None:
    found = gray_box(D3, torques(TRUE, friction=False), grid=Grid(rho1=(0.5, 3.0)))
    assert not found.converged
    assert found.rho1 == pytest.approx(3.0)
    expected = (
        "the best factors of trajectory 1, 2, 3 lie on the border of the grid "
        "(rho1 0.5 to 3, rho2 -2 to 4): give a wider one"
    )
    assert found.status.startswith(expected)


def test_a_slanted_valley_is_followed() -> None:
    # Columns at 6 degrees: the best point of the first grid is not beside the minimum.
    R = np.array([[1.0, 1.0, 5.0 + 1.5], [0.0, 0.1, 0.15], [0.0, 0.0, 0.01]])
    found = search(R, Grid())
    assert found.converged
    # 2e-5: 20 spacings, the valley being 20 times as long as wide
    assert (found.rho1, found.rho2) == pytest.approx((5.0, 1.5), abs=2e-5)


def test_a_motion_that_hardly_tells_the_factors_apart_is_told() -> None:
    # The arms' acceleration goes with their gravity: the columns lie at less than 0.1 degrees.
    p = np.tile([0.0, 0.0, -0.8], (40, 1)) + np.linspace(0, 1e-3, 40)[:, None] * [1.0, 0.3, -0.2]
    at_rest = State.from_platform(D3, p)
    state = State.from_joints(D3, at_rest.q, qdd=20 * np.cos(at_rest.q))
    rng = np.random.default_rng(1)
    tau = inverse_dynamics(TRUE, state, "gray-box") + rng.normal(0, 1e-4, (40, 3))
    wiggled = State.from_joints(
        D3, at_rest.q, qdd=state.qdd * (1 + 1e-3 * rng.normal(size=(40, 3)))
    )
    found = gray_box(D3, [(wiggled, tau)], grid=Grid(rho1=(0.05, 50.0), rho2=(-50.0, 50.0)))
    assert not found.converged
    assert found.grid_gap > 1e-4
    text = f"the grid of trajectory 1 ended {found.grid_gap:.2g} from its closed-form factors"
    assert text in found.status


def test_the_table_shows_every_trajectory_and_the_average() -> None:
    found = gray_box(D3, torques(TRUE, friction=True))
    lines = str(found).splitlines()
    assert lines[0].startswith("gray-box: factors, RMS error over the arms (N m)")
    assert len(lines) == 2 + 3 + 1 + 1
    assert lines[5].split()[:2] == ["average", f"{found.rho1:.3f}"]
    assert lines[-1] == found.status


def test_no_trajectory() -> None:
    with pytest.raises(InputError, match="trajectories is 0; allowed: at least one pair"):
        gray_box(D3, [])


def test_torque_of_another_length() -> None:
    pairs = torques(TRUE, friction=False)
    state, tau = pairs[1]
    pairs[1] = (state, tau[:-2])
    text = f"rows of torque of trajectory 2 is {len(tau) - 2}; allowed: {len(tau)}, as its state"
    with pytest.raises(InputError, match=text):
        gray_box(D3, pairs)


def test_torque_that_is_not_finite() -> None:
    pairs = torques(TRUE, friction=False)
    pairs[2][1][7, 1] = np.nan
    with pytest.raises(InputError, match="torque of trajectory 3 at row 7, axis 1 is nan"):
        gray_box(D3, pairs)


def test_a_robot_at_rest_tells_no_factor() -> None:
    still = State.from_platform(D3, np.tile([0.0, 0.0, -0.8], (50, 1)))
    pairs = [*torques(TRUE, friction=False), (still, inverse_dynamics(D3, still))]
    text = (
        "condition number of the columns of rho1 and rho2 at trajectory 4 is inf; "
        "allowed: at most 1e\\+06: a motion that accelerates the arms"
    )
    with pytest.raises(InputError, match=text):
        gray_box(D3, pairs)


def test_one_filter_per_trajectory() -> None:
    with pytest.raises(InputError, match="limit is 1; allowed: 3, one per trajectory"):
        gray_box(D3, torques(TRUE, friction=False), limit=[lambda values: values])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rho1": (3.0, 1.0)}, r"grid.rho1 is \[3, 1\]; allowed: two finite numbers, low before"),
        ({"rho2": (0.0, np.inf)}, r"grid.rho2 is \[0, inf\]; allowed: two finite numbers"),
        ({"rho1": (0.0, 5.0)}, r"grid.rho1 is \[0, 5\]; allowed: above 0"),
        ({"points": 4}, "grid.points is 4; allowed: at least 7"),
        ({"spacing": 0.0}, "grid.spacing is 0; allowed: above 0"),
    ],
)
def test_a_grid_that_cannot_be(options: dict[str, object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        Grid(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("spacing", [1e-6, 1e-3])
def test_a_grid_is_trusted_where_it_meets_the_closed_form(spacing: float) -> None:
    def fit(gap: float, converged: bool = True, on_border: bool = False) -> Any:
        end = SimpleNamespace(converged=converged, on_border=on_border)
        return SimpleNamespace(grid=end, grid_gap=gap)

    grid, limit = Grid(spacing=spacing), MEETING * spacing
    near, far = fit(0.9 * limit), fit(1.1 * limit)
    assert _grid_problem([near, near], grid) is None
    assert "of trajectory 2 ended" in str(_grid_problem([near, far], grid))
    assert _grid_problem([near, fit(0.0, converged=False)], grid) is not None
    assert "trajectory 1, 3 lie on the border" in str(
        _grid_problem([fit(0.0, on_border=True), near, fit(0.0, on_border=True)], grid)
    )
