"""Motions of planar robots and of those whose limbs carry psi."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.family.robots import OTHER_PLATFORMS, make, waves

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.errors import FileError, InputError
from deltadyn.kinematics import psi_range
from deltadyn.motion import (
    FourierSeries,
    PlannedMotion,
    adept_cycle,
    check_motion,
    fourier_motion,
    gate_move,
    pick_and_place,
    read_motion,
    spindle_turn,
    spline_move,
    stretch,
    telescopic_gate,
    with_turn,
    y1,
    y2,
    y3,
)
from deltadyn.robot import Robot

every = pytest.mark.parametrize("kind", OTHER_PLATFORMS)


def pose(robot: Robot, x: float, y: float, depth: float, psi: float = 0.0) -> FloatArray:
    """A pose: x, y in radii of the workspace, depth from its top (0) to its floor (1)."""
    cylinder = robot.limits.workspace
    assert cylinder is not None
    z = cylinder.z_max - depth * (cylinder.z_max - cylinder.z_min)
    values = {"x": x * cylinder.radius, "y": y * cylinder.radius, "z": z, "psi": psi}
    return np.array([values[name] for name in robot.coordinates])


def moves(robot: Robot) -> list[PlannedMotion]:
    a, b = pose(robot, -0.6, 0.0, 0.6), pose(robot, 0.6, 0.1, 0.5, 0.5)
    return [
        pick_and_place(robot, a, b, lift=0.03, rate=500.0),
        gate_move(robot, a, b, lift=0.03, duration=None, rate=500.0),
        spline_move(robot, [a, pose(robot, 0.2, 0.5, 0.3, -0.4), b], rate=500.0),
        adept_cycle(robot, rate=500.0),
        y1(robot, picks=2, rate=500.0),
        y2(robot, rate=500.0),
        y3(robot, dwell=0.1, rate=500.0),
        telescopic_gate(robot, duration=None, rate=500.0),
    ]


@pytest.mark.full
@every
def test_generators_fit_every_kind_to_its_limits(kind: str) -> None:
    robot = make(kind)
    for motion in moves(robot):
        report = check_motion(robot, motion)
        assert report.ok, report.summary
        assert motion.binding is not None
        use = report[motion.binding.name].use
        assert use is not None
        assert use > 0.95  # samples of 2 ms may miss a peak that the plan's own have seen
        again = dd.State.from_platform(robot, motion.p, motion.pd, motion.pdd)
        np.testing.assert_allclose(again.q, motion.q, atol=1e-12)


@every
def test_reach_is_that_of_the_inverse_kinematics(kind: str) -> None:
    from deltadyn.motion.limits import limb_reach

    robot = make(kind)
    rng = np.random.default_rng(1)
    far = {"x": 1.5, "y": 1.5, "z": 1.5, "psi": 2.0}
    p = np.stack([rng.uniform(-far[n], far[n], 300) for n in robot.coordinates], axis=-1)
    found = (limb_reach(robot, p).use <= 1).all(axis=1)
    np.testing.assert_array_equal(found, dd.kinematics.reachable(robot, p))
    assert 0 < found.sum() < 300


@every
def test_a_slower_motion_takes_less(kind: str) -> None:
    robot = make(kind)
    motion = waves(robot, 1.0, rate=200.0)
    quick = stretch(robot, motion)
    assert check_motion(robot, quick).ok
    assert quick.binding is not None
    assert not check_motion(robot, stretch(robot, motion, duration=0.97 * quick.duration)).ok


@pytest.mark.parametrize("kind", ["par4", "heli4_rails"])
def test_limbs_carry_a_turn(kind: str) -> None:
    robot = make(kind)
    at = pose(robot, 0.1, 0.2, 0.5)
    turn = spindle_turn(robot, at, [0.5, -0.2], back=True, rate=500.0)
    assert turn.binding is not None
    assert turn.binding.name in ("rate", "torque_peak")  # of axes: psi itself has no drive
    np.testing.assert_allclose(turn.p[:, :3], np.tile(at[:3], (len(turn), 1)), atol=1e-15)
    moved = np.ptp(turn.q, axis=0) > 1e-4
    assert moved.tolist() == [kind == "par4"] * 2 + [True] * 2  # p moves with half 1 of the Heli4
    motion = adept_cycle(robot, turn=0.0, rate=500.0)
    turned = with_turn(robot, motion, 0.4)
    assert turned.p[-1, 3] == pytest.approx(0.4)
    np.testing.assert_allclose(dd.forward_kinematics(robot, turned.q), turned.p, atol=1e-9)


def test_a_turn_beyond_the_bars_breaks_the_margin() -> None:
    robot = make("par4")
    at = pose(robot, 0.0, 0.0, 0.5)
    _, high = psi_range(robot, at)
    with pytest.raises(dd.motion.LimitError, match="singularity_margin"):
        spindle_turn(robot, at, float(high) + 0.1)


@pytest.mark.parametrize("kind", ["planar", "planar_rails", "par4_rails", "heli4"])
def test_motion_tables(kind: str, tmp_path: Path) -> None:
    """Columns x_m, z_m of a planar robot, psi_rad of the others; q4_m of a fourth carriage."""
    robot = make(kind)
    motion = waves(robot, 0.2, rate=500.0)
    units = ["rad" if name == "psi" else "m" for name in robot.coordinates]
    heads = {
        "platform": [f"{n}_{unit}" for n, unit in zip(robot.coordinates, units, strict=True)],
        "joints": [f"q{k + 1}_{robot.axis_units('q')[k]}" for k in range(robot.dof)],
    }
    for name, values in (("platform", motion.p), ("joints", motion.q)):
        path = tmp_path / f"{name}.csv"
        table = np.column_stack([motion.t, values])
        head = ",".join(["t_s", *heads[name]])
        np.savetxt(path, table, fmt="%.15g", delimiter=",", header=head, comments="")
        read = read_motion(path, robot)
        np.testing.assert_allclose(read.p, motion.p, atol=1e-9)
        # a spline of 500 Hz through waves of 2.5 Hz
        np.testing.assert_allclose(read.pd[9:-9], motion.pd[9:-9], atol=1e-5)


def test_wrong_coordinates_name_those_of_the_robot(tmp_path: Path) -> None:
    flat, par4, delta = make("planar"), make("par4"), make("vertical")
    t = np.arange(10) / 100
    three = np.zeros((10, 3))
    for call in (
        lambda: dd.Motion.from_platform(flat, t, three),
        lambda: dd.State.from_platform(flat, [0.0, 0.0, -0.7]),
        lambda: dd.kinematics.in_workspace(flat, three),
        lambda: pick_and_place(flat, [0.0, 0.0, -0.7], [0.1, -0.7]),
        lambda: spline_move(flat, three),
        lambda: fourier_motion(flat, FourierSeries(1.0, np.zeros(3), three[:3, :1], three[:3, :1])),
        lambda: adept_cycle(flat, turn=0.5),
        lambda: spindle_turn(flat, [0.0, -0.7], 0.5),
    ):
        with pytest.raises(InputError, match=r"robot\.coordinates are x, z"):
            call()
    with pytest.raises(InputError, match=r"robot\.coordinates are x, y, z, psi"):
        dd.Motion.from_platform(par4, t, three)
    for call in (
        lambda: dd.Motion.from_platform(delta, t, np.zeros((10, 4))),
        lambda: y3(delta, turn=0.5),
        lambda: with_turn(delta, waves(delta, 0.1), 0.5),
    ):
        with pytest.raises(InputError, match=r"robot\.coordinates are x, y, z$"):
            call()
    path = tmp_path / "motion.csv"
    path.write_text("t_s,x_m,y_m,z_m\n0,0,0,-0.7\n")
    with pytest.raises(FileError, match=r"'y_m'.*robot\.coordinates: x, z"):
        read_motion(path, flat)
    path.write_text("t_s,q1_rad,q2_rad\n0,0,0\n")
    with pytest.raises(FileError, match="in m or mm"):
        read_motion(path, make("planar_rails"))
